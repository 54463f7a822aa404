/* The whole way of a candidate, through real compilers and real child processes: right ones are
   timed, wrong and hostile ones are named for what they are, and the next one does not notice. */
#include "worker_fixture.h"

#include <signal.h>

#include "pool_fixture.h"
#include "worker/process.h"

/* A hang costs its time-out; the rest must have room on a slow, busy machine. */
#define LAUNCH_TIMEOUT_NS (8 * AK_SECOND_NS)

static ak_pool *open_pool(const ak_task *task, const volatile int *cancel)
{
    ak_pool_options options = {
        .compile_workers = 2, .launch_timeout_ns = LAUNCH_TIMEOUT_NS, .cancel = cancel};
    ak_error err = AK_ERROR_INIT;
    ak_pool *pool = NULL;
    if (ak_pool_open(&pool, task, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return pool;
}

static void submit(ak_pool *pool, const ak_task *task, ak_job_kind kind, int mode)
{
    ak_error err = AK_ERROR_INIT;
    ak_job job = {.kind = kind,
                  .id = (uint64_t)mode,
                  .config = fixture_config(task, mode),
                  .timer = {.budget_ns = 20 * AK_MS_NS}};
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static const struct {
    int mode;
    ak_trial_status status;
    const char *reason; /* a part of it */
} expected[] = {
    {MODE_OK, AK_TRIAL_OK, NULL},
    {MODE_WRONG, AK_TRIAL_WRONG_RESULT, "Y[0]"},
    {MODE_CRASH, AK_TRIAL_CRASHED, "signal 11"},
    {MODE_HANG, AK_TRIAL_TIMED_OUT, "no answer within 8 s"},
    {MODE_FORK, AK_TRIAL_REJECTED, "system call"},
    {MODE_BEYOND, AK_TRIAL_WRONG_RESULT, "outside of Y, behind its end"},
    {MODE_BEFORE, AK_TRIAL_WRONG_RESULT, "outside of Y, before its start"},
    {MODE_MUTATE, AK_TRIAL_WRONG_RESULT, "changes its input X"},
    {MODE_UNWRITTEN, AK_TRIAL_WRONG_RESULT, "Y["},
    {MODE_EXIT, AK_TRIAL_CRASHED, "exit code 3"},
    {MODE_NO_COMPILE, AK_TRIAL_COMPILE_ERROR, "this is not to be compiled"},
    {MODE_PHASES, AK_TRIAL_WRONG_RESULT, "Y["},
    {MODE_REMEMBER, AK_TRIAL_WRONG_RESULT, "Y["},
    {MODE_RECITE, AK_TRIAL_WRONG_RESULT, "Y["}, /* what it computed for other inputs */
    {MODE_ABORT, AK_TRIAL_CRASHED, "signal 6"},
    {MODE_FORGE, AK_TRIAL_REJECTED, "pipe"},
    {MODE_SOCKET, AK_TRIAL_REJECTED, "system call"},
    {MODE_NO_SYMBOL, AK_TRIAL_LAUNCH_ERROR, "ak_kernel"},
    {MODE_WORKSPACE, AK_TRIAL_WRONG_RESULT, "workspace"},
    {MODE_NAN, AK_TRIAL_WRONG_RESULT, "Y["},
    {MODE_THREADS, AK_TRIAL_OK, NULL},
    {MODE_STACK, AK_TRIAL_CRASHED, "signal 11"},
    {MODE_WRITE_FILE, AK_TRIAL_OK, NULL}, /* the file is not written, and that is all */
    {MODE_EARLY, AK_TRIAL_WRONG_RESULT, "never written"},
};
enum { EXPECTED = sizeof expected / sizeof expected[0] };

/* Who says too early that it is done is stopped in the middle and found with an unfinished result;
   if this process was slow to stop it, with bytes too many in the pipe. */
static bool is_caught_early(const ak_result *result)
{
    return result->id == MODE_EARLY && result->trial.status == AK_TRIAL_REJECTED;
}

/* Where seccomp is not in force, as under the sanitizers, these do no harm that could be seen. */
static bool needs_seccomp(int mode)
{
    return mode == MODE_FORK || mode == MODE_SOCKET;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WITHOUT_SECCOMP 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WITHOUT_SECCOMP 1
#endif
#endif
#ifndef WITHOUT_SECCOMP
#define WITHOUT_SECCOMP 0
#endif

static void every_fate_is_named(void **state)
{
    (void)state;
    (void)unlink("autokernel-escaped"); /* of an earlier, worse run */
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    for (size_t i = 0; i < EXPECTED; i++) {
        submit(pool, task, AK_JOB_TRIAL, expected[i].mode);
    }
    assert_int_equal(ak_pool_pending(pool), EXPECTED);
    bool seen[MODE_COUNT] = {false};
    for (size_t n = 0; n < EXPECTED; n++) {
        ak_result result = wait_one(pool);
        size_t i = 0;
        while (i < EXPECTED && (uint64_t)expected[i].mode != result.id) {
            i++;
        }
        assert_true(i < EXPECTED && !seen[result.id]);
        seen[result.id] = true;
        char mode[32];
        (void)snprintf(mode, sizeof mode, "mode %d", expected[i].mode);
        if (!(WITHOUT_SECCOMP && needs_seccomp(expected[i].mode)) && !is_caught_early(&result)) {
            expect_fate(&result, mode, expected[i].status, expected[i].reason);
        }
        if (result.trial.status == AK_TRIAL_OK) {
            assert_true(result.trial.sample_count >= 1);
            assert_true(result.trial.median_ms > 0.0);
            assert_true(result.trial.ci_low_ms <= result.trial.median_ms);
            assert_true(result.trial.max_error < 1.0);
            assert_int_equal(strlen(result.artifact_hash), 32);
        } else {
            assert_int_equal(result.trial.sample_count, 0);
        }
        if (result.id == MODE_NO_COMPILE) {
            assert_non_null(result.log);
            assert_null(strchr(result.log, '\033'));
        }
        ak_result_clear(&result);
    }
    assert_int_equal(ak_pool_pending(pool), 0);
    assert_false(ak_fs_is_file("autokernel-escaped"));
    ak_result none;
    assert_int_equal(ak_pool_wait(&none, pool, 0, NULL), AK_NOT_FOUND);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void a_check_covers_the_awkward_sizes(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_CHECK, MODE_ONLY_BIG); /* passes a trial's awkward size, not these */
    ak_result result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_WRONG_RESULT);
    assert_non_null(strstr(result.trial.reason, "at N=1: "));
    ak_result_clear(&result);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    assert_int_equal(result.trial.sample_count, 0);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void equal_code_is_measured_once(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    submit(pool, task, AK_JOB_TRIAL, MODE_SAME);
    ak_result first = wait_one(pool), second = wait_one(pool);
    assert_string_equal(first.artifact_hash, second.artifact_hash);
    assert_false(first.repeated);
    assert_true(second.repeated);
    assert_int_equal(second.trial.status, AK_TRIAL_OK);
    assert_int_equal(first.trial.sample_count, second.trial.sample_count);
    assert_memory_equal(first.trial.samples_ms, second.trial.samples_ms,
                        first.trial.sample_count * sizeof(double));
    ak_result_clear(&first);
    ak_result_clear(&second);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* What has not begun goes without a result; asked for again, it is done after all. */
static void what_has_not_begun_can_be_taken_back(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    static const int modes[] = {MODE_OK, MODE_WRONG, MODE_UNWRITTEN, MODE_MUTATE, MODE_NAN};
    enum { MODES = sizeof modes / sizeof modes[0] };
    for (size_t i = 0; i < MODES; i++) {
        submit(pool, task, AK_JOB_TRIAL, modes[i]);
    }
    ak_pool_withdraw(pool);
    size_t begun = ak_pool_pending(pool); /* no more than there are compilers */
    assert_true(begun <= 2);
    for (size_t i = 0; i < begun; i++) {
        ak_result result = wait_one(pool);
        ak_result_clear(&result);
    }
    assert_int_equal(ak_pool_pending(pool), 0);
    submit(pool, task, AK_JOB_TRIAL, MODE_NAN);
    ak_result result = wait_one(pool);
    assert_int_equal(result.id, MODE_NAN);
    assert_int_equal(result.trial.status, AK_TRIAL_WRONG_RESULT);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void a_duel_pairs_its_rounds(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    ak_config good = fixture_config(task, MODE_OK), threads = fixture_config(task, MODE_THREADS);
    ak_config wrong = fixture_config(task, MODE_WRONG),
              broken = fixture_config(task, MODE_NO_COMPILE);
    const ak_duelist duelists[] = {{.config = &good},
                                   {.config = &broken},
                                   {.config = &threads},
                                   {.config = &wrong},
                                   {.baseline = "nonsense"}};
    ak_job job = {.kind = AK_JOB_DUEL,
                  .id = 99,
                  .duelists = duelists,
                  .duelist_count = 5,
                  .plan = {.seconds = 0.05}};
    assert_int_equal(ak_pool_submit(pool, &job, NULL), AK_OK);
    ak_result result = wait_one(pool);
    assert_int_equal(result.id, 99);
    assert_int_equal(result.entry_count, 5);
    assert_int_equal(result.entries[0].status, AK_TRIAL_OK);
    assert_int_equal(result.entries[1].status, AK_TRIAL_COMPILE_ERROR);
    assert_non_null(strstr(result.entries[1].reason, "not to be compiled"));
    assert_int_equal(result.entries[2].status, AK_TRIAL_OK);
    assert_int_equal(result.entries[3].status, AK_TRIAL_WRONG_RESULT);
    assert_int_equal(result.entries[4].status, AK_TRIAL_LAUNCH_ERROR);
    assert_true(result.entries[0].sample_count >= 9);
    assert_int_equal(result.entries[0].sample_count, result.entries[2].sample_count);
    for (size_t i = 0; i < result.entries[0].sample_count; i++) {
        assert_true(result.entries[0].samples_ms[i] > 0.0);
    }
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void a_loose_tolerance_is_refused(void **state)
{
    (void)state;
    fixture_problem_with("8*eps", "10.0");
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    ak_result result;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "affine"));
    ak_pool_close(pool);
    ak_task_close(task);
    fixture_problem_with("8*eps", "8*eps");
}

static void a_broken_reference_is_the_problems_fault(void **state)
{
    (void)state;
    fixture_write("reference.c", "void ak_reference(const ak_host_call *call) { not C }\n");
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    ak_ceilings ceilings;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_pool_ceilings(&ceilings, pool, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "reference.c does not compile"));
    ak_pool_close(pool);
    ak_task_close(task);
    fixture_write("reference.c", fixture_reference);
}

static void ceilings_and_baselines_are_told(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    ak_ceilings ceilings = {0};
    ak_baseline_info *infos = NULL;
    size_t count = 1;
    assert_int_equal(ak_pool_ceilings(&ceilings, pool, NULL), AK_OK);
    assert_true(ceilings.measured);
    assert_true(ceilings.peak_tflops > 0.0 && ceilings.copy_gbs > 0.0);
    assert_true(ceilings.triad_gbs > 0.0 && ceilings.read_gbs > 0.0);
    assert_int_equal(ak_pool_baselines(&infos, &count, pool, NULL), AK_OK);
    assert_int_equal(count, 0); /* no library computes this */
    ak_baseline_info_free(infos, count);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void cancelling_ends_a_wait(void **state)
{
    (void)state;
    volatile int cancel = 0;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, &cancel);
    submit(pool, task, AK_JOB_TRIAL, MODE_HANG);
    cancel = 1;
    ak_result result;
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, NULL), AK_CANCELLED);
    assert_int_equal(ak_pool_pending(pool), 1);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* The only child of this process that is a device worker of the pool. */
static pid_t child_with(const char *role)
{
    char path[64], *children = NULL;
    pid_t found = 0;
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    if (ak_fs_read(&children, NULL, path, 65536, NULL) != AK_OK) {
        return 0;
    }
    for (char *at = strtok(children, " \n"); at != NULL; at = strtok(NULL, " \n")) {
        char *line = NULL;
        size_t length = 0;
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", at);
        if (ak_fs_read(&line, &length, path, 65536, NULL) == AK_OK &&
            memmem(line, length, role, strlen(role)) != NULL) {
            found = (pid_t)atoi(at);
        }
        ak_free(line);
    }
    ak_free(children);
    return found;
}

static void a_dead_worker_costs_one_job(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    ak_ceilings ceilings;
    assert_int_equal(ak_pool_ceilings(&ceilings, pool, NULL), AK_OK); /* the device is open */
    pid_t device = child_with("--device"), compiler = child_with("--compile");
    if (device == 0 || compiler == 0) {
        ak_pool_close(pool);
        ak_task_close(task);
        skip(); /* a kernel without /proc/.../children */
    }
    submit(pool, task, AK_JOB_TRIAL, MODE_HANG);
    assert_int_equal(kill(compiler, SIGKILL), 0);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    assert_int_equal(kill(device, SIGKILL), 0);
    size_t good = 0, bad = 0;
    for (int i = 0; i < 2; i++) {
        ak_result result = wait_one(pool);
        good += result.trial.status == AK_TRIAL_OK ? 1 : 0;
        bad += result.trial.status == AK_TRIAL_CRASHED || result.trial.status == AK_TRIAL_TIMED_OUT
                   ? 1
                   : 0;
        ak_result_clear(&result);
    }
    assert_int_equal(good + bad, 2);
    submit(pool, task, AK_JOB_TRIAL, MODE_THREADS); /* both have been started again */
    ak_result result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
    assert_int_equal(child_with("--device"), 0);
    assert_int_equal(child_with("--compile"), 0);
}

static void compiling_needs_no_device(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool_options options = {.compile_workers = 1, .no_device = true};
    ak_pool *pool = NULL;
    ak_ceilings ceilings;
    assert_int_equal(ak_pool_open(&pool, task, &options, NULL), AK_OK);
    assert_int_equal(ak_pool_ceilings(&ceilings, pool, NULL), AK_INVALID);
    submit(pool, task, AK_JOB_TRIAL, MODE_CRASH);
    assert_int_equal(ak_pool_compiling(pool), 1);
    ak_result result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    assert_true(result.trial.compile_ns > 0);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void the_machine_is_described(void **state)
{
    (void)state;
    json_t *probe = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_pool_probe(&probe, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    const json_t *device = json_array_get(json_object_get(probe, "devices"), 0);
    assert_string_equal(json_string_value(json_object_get(device, "device")), "host");
    assert_true(json_integer_value(json_object_get(device, "cpu_threads")) >= 1);
    assert_true(json_array_size(json_object_get(probe, "compilers")) >= 1);
    assert_true(json_array_size(json_object_get(probe, "libraries")) >= 4);
    json_decref(probe);
}

static void a_missing_worker_is_said(void **state)
{
    (void)state;
    char *kept = ak_strdup(getenv("AUTOKERNEL_WORKER"));
    (void)setenv("AUTOKERNEL_WORKER", "/nowhere/autokernel", 1);
    json_t *probe = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_pool_probe(&probe, &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/autokernel"));
    (void)setenv("AUTOKERNEL_WORKER", kept, 1);
    ak_free(kept);
}

static void memory_may_run_out_while_opening(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    bool opened = false;
    for (size_t n = 1; n < 2000 && !opened; n++) {
        ak_pool *pool = NULL;
        ak_pool_options options = {.compile_workers = 1, .no_device = true};
        ak_alloc_fail_at(n);
        ak_status status = ak_pool_open(&pool, task, &options, NULL);
        ak_alloc_fail_at(0);
        opened = status == AK_OK;
        ak_pool_close(pool);
    }
    assert_true(opened);
    ak_task_close(task);
}

int main(int argc, char **argv)
{
    int code;
    if (fixture_main(&code, argc, argv)) {
        return code;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fate_is_named),
        cmocka_unit_test(a_check_covers_the_awkward_sizes),
        cmocka_unit_test(equal_code_is_measured_once),
        cmocka_unit_test(what_has_not_begun_can_be_taken_back),
        cmocka_unit_test(a_duel_pairs_its_rounds),
        cmocka_unit_test(a_loose_tolerance_is_refused),
        cmocka_unit_test(a_broken_reference_is_the_problems_fault),
        cmocka_unit_test(ceilings_and_baselines_are_told),
        cmocka_unit_test(cancelling_ends_a_wait),
        cmocka_unit_test(a_dead_worker_costs_one_job),
        cmocka_unit_test(compiling_needs_no_device),
        cmocka_unit_test(the_machine_is_described),
        cmocka_unit_test(a_missing_worker_is_said),
        cmocka_unit_test(memory_may_run_out_while_opening),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
