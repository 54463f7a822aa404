/*
 * test_pool.c: tests the way of a candidate through real compilers and real child processes.
 * Correct candidates are timed. Wrong and hostile ones get the status that fits what they did, and
 * the next trial is not affected.
 */
#include "worker_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "pool_fixture.h"
#include "worker/pool_state.h"
#include "worker/process.h"

/* Time limit of a launch, for a slow and busy machine. A hang ends earlier, because submit() says
   how fast other candidates are. */
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
    ak_job job = {
        .kind = kind,
        .id = (uint64_t)mode,
        .config = fixture_config(task, mode),
        .timer = {.budget_ns = 20 * AK_MS_NS, .give_up_ms = mode == MODE_HANG ? 0.01 : 0}};
    if (ak_pool_submit(pool, &job, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static ak_result wait_trial(ak_pool *pool, const ak_task *task)
{
    for (int asked = 1;; asked++) {
        ak_result result = wait_one(pool);
        if (asked == UNJUDGED_MAX || !is_unjudged(result.trial.status, result.trial.reason)) {
            return result;
        }
        submit(pool, task, AK_JOB_TRIAL, (int)result.id);
        ak_result_clear(&result);
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
    {MODE_HANG, AK_TRIAL_TIMED_OUT, "no answer within 2 s"},
    {MODE_FORK, AK_TRIAL_REJECTED, " of a library"},
    {MODE_BEYOND, AK_TRIAL_WRONG_RESULT, "outside of Y, behind its end"},
    {MODE_BEFORE, AK_TRIAL_WRONG_RESULT, "outside of Y, before its start"},
    {MODE_MUTATE, AK_TRIAL_WRONG_RESULT, "changes its input X"},
    {MODE_UNWRITTEN, AK_TRIAL_WRONG_RESULT, "Y["},
    {MODE_EXIT, AK_TRIAL_CRASHED, "exit code 3"},
    {MODE_NO_COMPILE, AK_TRIAL_COMPILE_ERROR, "this is not to be compiled"},
    {MODE_PHASES, AK_TRIAL_REJECTED, "keeps state between calls"},
    {MODE_REMEMBER, AK_TRIAL_WRONG_RESULT, "at N=1023: Y["}, /* what it finds there */
    {MODE_RECITE, AK_TRIAL_REJECTED, "keeps state between calls"},
    {MODE_ABORT, AK_TRIAL_CRASHED, "signal 6"},
    {MODE_FORGE, AK_TRIAL_REJECTED, "write of a library"},
    {MODE_SOCKET, AK_TRIAL_REJECTED, "socket of a library"},
    {MODE_NO_SYMBOL, AK_TRIAL_LAUNCH_ERROR, "ak_kernel"},
    {MODE_WORKSPACE, AK_TRIAL_WRONG_RESULT, "workspace"},
    {MODE_NAN, AK_TRIAL_WRONG_RESULT, "Y["},
    {MODE_THREADS, AK_TRIAL_OK, NULL},
    {MODE_STACK, AK_TRIAL_CRASHED, "signal 11"},
    {MODE_WRITE_FILE, AK_TRIAL_REJECTED, "open of a library"},
    {MODE_EARLY, AK_TRIAL_REJECTED, "write of a library"},
};
enum { EXPECTED = sizeof expected / sizeof expected[0] };

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
        ak_result result = wait_trial(pool, task);
        size_t i = 0;
        while (i < EXPECTED && (uint64_t)expected[i].mode != result.id) {
            i++;
        }
        assert_true(i < EXPECTED && !seen[result.id]);
        seen[result.id] = true;
        char mode[32];
        (void)snprintf(mode, sizeof mode, "mode %d", expected[i].mode);
        expect_fate(&result, mode, expected[i].status, expected[i].reason);
        if (result.trial.status == AK_TRIAL_OK) {
            assert_true(result.trial.sample_count >= 1);
            assert_true(result.trial.median_ms > 0.0);
            assert_true(result.trial.ci_low_ms <= result.trial.median_ms);
            assert_true(result.trial.max_error < 1.0);
            assert_int_equal(strlen(result.artifact_hash), AK_HASH_BYTES - 1);
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

/* As long as it is not known how fast other candidates are, a hang ends only at the longest
   time-out. */
static void a_hang_costs_its_time_out(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool_options options = {.compile_workers = 1, .launch_timeout_ns = AK_SECOND_NS};
    ak_pool *pool = NULL;
    assert_int_equal(ak_pool_open(&pool, task, &options, NULL), AK_OK);
    ak_job job = {.kind = AK_JOB_TRIAL, .id = 1, .config = fixture_config(task, MODE_HANG)};
    assert_int_equal(ak_pool_submit(pool, &job, NULL), AK_OK);
    ak_result result = wait_one(pool);
    expect_fate(&result, "a hang", AK_TRIAL_TIMED_OUT, "no answer within 1 s");
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void a_check_covers_the_edge_cases(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_CHECK,
           MODE_ONLY_BIG); /* passes a trial's edge-case size, not these */
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

static void an_exchanged_artifact_is_not_run(void **state)
{
    (void)state;
    char path[AK_PATH_MAX], *file = NULL;
    size_t length = 0;
    ak_config config;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    ak_result result = wait_trial(pool, task);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    ak_result_clear(&result);
    assert_int_equal(ak_config_parse(&config, task->space, "MODE=0", NULL), AK_OK);
    assert_true(ak_pool_artifact(path, pool, &config));
    assert_int_equal(ak_fs_read(&file, &length, path, 1u << 24, NULL), AK_OK);
    file[length] = 'x'; /* in place of the final 0: the loader does not read so far */
    assert_int_equal(ak_fs_write(path, file, length + 1, NULL), AK_OK);
    ak_free(file);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    result = wait_one(pool);
    assert_int_equal(result.trial.status, AK_TRIAL_REJECTED);
    assert_string_equal(result.trial.reason, "its artifact is not the file that was looked at");
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Tries two configurations of the same code, of which the first is measured. `launch` may be NULL.
   Workers of the host do not read it. */
static void try_equal_code(ak_result *first, ak_result *second, json_t *launch)
{
    ak_task *task = fixture_task("5000");
    ((ak_implementation_spec *)(uintptr_t)task->implementation)->launch = launch;
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    *first = wait_trial(pool, task);
    submit(pool, task, AK_JOB_TRIAL, MODE_SAME);
    *second = wait_one(pool);
    assert_string_equal(first->artifact_hash, second->artifact_hash);
    assert_false(first->trial.same_code);
    ak_pool_close(pool);
    ak_task_close(task);
}

static void equal_code_is_measured_once(void **state)
{
    (void)state;
    ak_result first, second;
    try_equal_code(&first, &second, NULL);
    assert_true(second.trial.same_code);
    assert_int_equal(second.trial.status, AK_TRIAL_OK);
    assert_int_equal(first.trial.sample_count, second.trial.sample_count);
    assert_memory_equal(first.trial.samples_ms, second.trial.samples_ms,
                        first.trial.sample_count * sizeof(double));
    ak_result_clear(&first);
    ak_result_clear(&second);
}

/* A time that has waits for a processor has them for each configuration that gets it. */
static void equal_code_has_waited_as_long(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    ak_result first = wait_trial(pool, task);
    assert_int_equal(pool->outcome_count, 1);
    assert_int_equal(pool->outcomes[0].waited, first.waited);
    pool->outcomes[0].waited = !first.waited;
    submit(pool, task, AK_JOB_TRIAL, MODE_SAME);
    ak_result second = wait_one(pool);
    assert_true(second.trial.same_code);
    assert_int_equal(second.waited, !first.waited);
    ak_result_clear(&first);
    ak_result_clear(&second);
    ak_pool_close(pool);
    ak_task_close(task);
}

/* Writes the fixture's space with other texts in the place of one. */
static void write_space(const char *old, const char *new)
{
    char text[sizeof fixture_space + 256];
    const char *at = strstr(fixture_space, old);
    assert_non_null(at);
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - fixture_space), fixture_space, new,
                   at + strlen(old));
    fixture_write("host.json", text);
}

/* Equal code of another configuration is measured again if a trial would check or launch it in
   another way at one of its shapes: the edge cases N=1, 7, 1023, or 5000. */
static void equal_code_that_is_run_otherwise_is_measured_again(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new;
        bool shared;
    } rows[] = {
        {"\"Conditions\": []",
         "\"Conditions\": [{\"Expression\": \"MODE != 0 or N != 1023\", \"EverySize\": true}]",
         false},
        {"\"Conditions\": []",
         "\"Conditions\": [{\"Expression\": \"MODE != 20 or N > 7\", \"EverySize\": true}]", false},
        {"\"Conditions\": []",
         "\"Conditions\": [{\"Expression\": \"MODE != 0 or N < 6000\", \"EverySize\": true}]",
         true},
        {"\"64\"", "\"64 if MODE == 0 or N != 7 else 128\"", false},
        {"\"64\"", "\"64 if MODE == 0 or N != 5000 else 128\"", false},
        {"\"64\"", "\"64 if MODE == 0 or N != 2000 else 128\"", true},
        {"\"Threads\": \"2\"", "\"Threads\": \"2 if MODE == 0 or N != 1 else 1\"", false},
        {"\"Threads\": \"2\"", "\"Threads\": \"2 if MODE == 0 or N != 2000 else 1\"", true},
        /* It has no value: the reason names the configuration. */
        {"\"64\"", "\"64 if MODE == 0 or N != 1023 else 0 - 1\"", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        write_space(rows[i].old, rows[i].new);
        ak_result first, second;
        try_equal_code(&first, &second, NULL);
        if ((second.trial.same_code != 0) != rows[i].shared) {
            fail_msg("%s: %s", rows[i].new, second.trial.same_code ? "shared" : "measured again");
        }
        ak_result_clear(&first);
        ak_result_clear(&second);
    }
    fixture_write("host.json", fixture_space);
}

/* With a launch, equal code shares a time where the launch is the same at all of these shapes. */
static void equal_code_with_equal_launches_is_measured_once(void **state)
{
    (void)state;
    static const struct {
        const char *grid, *block, *passed;
        bool shared;
    } rows[] = {
        {"N + 31", "32", "N", true},
        {"N + MODE", "32", "N", false},
        {"N if MODE == 0 or N != 7 else 1", "32", "N", false},
        {"N if MODE == 0 or N != 2000 else 1", "32", "N", true},
        {"N", "32 if MODE == 0 else 64", "N", false},
        {"N", "32", "N - MODE", false},
        {"resident_clusters", "32", "N", false}, /* only a worker knows it */
        {"N // (MODE - 20)", "32", "N", false},  /* it has no value */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *launch = json_pack("{s:[s], s:[s], s:[{s:s}]}", "Grid", rows[i].grid, "Block",
                                   rows[i].block, "Arguments", "Int32", rows[i].passed);
        ak_result first, second;
        try_equal_code(&first, &second, launch);
        if ((second.trial.same_code != 0) != rows[i].shared) {
            fail_msg("%s: %s", rows[i].grid, second.trial.same_code ? "shared" : "measured again");
        }
        ak_result_clear(&first);
        ak_result_clear(&second);
        json_decref(launch);
    }
}

/* A job that has not begun can be withdrawn, and then gives no result. If it is submitted again, it
   is done. */
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

static void a_comparison_pairs_its_rounds(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    ak_config good = fixture_config(task, MODE_OK), threads = fixture_config(task, MODE_THREADS);
    ak_config wrong = fixture_config(task, MODE_WRONG),
              broken = fixture_config(task, MODE_NO_COMPILE);
    const ak_comparison_candidate candidates[] = {{.config = &good},
                                                  {.config = &broken},
                                                  {.config = &threads},
                                                  {.config = &wrong},
                                                  {.baseline = "nonsense"}};
    ak_job job = {.kind = AK_JOB_COMPARISON,
                  .id = 99,
                  .candidates = candidates,
                  .candidate_count = 5,
                  .plan = {.seconds = 0.05}};
    ak_result result = {0};
    bool unjudged = true;
    for (int asked = 0; unjudged && asked < UNJUDGED_MAX; asked++) {
        ak_result_clear(&result);
        assert_int_equal(ak_pool_submit(pool, &job, NULL), AK_OK);
        result = wait_one(pool);
        unjudged = false;
        for (size_t i = 0; i < result.entry_count; i++) {
            unjudged = unjudged || is_unjudged(result.entries[i].status, result.entries[i].reason);
        }
    }
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

/* Returns the only child of this process that is a worker with this role. */
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
    ak_result result = wait_trial(pool, task);
    assert_int_equal(result.trial.status, AK_TRIAL_OK);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
    assert_int_equal(child_with("--device"), 0);
    assert_int_equal(child_with("--compile"), 0);
}

/* How a candidate ended is known even if the program that uses the library ignores SIGCHLD. */
static void fates_are_named_where_sigchld_is_ignored(void **state)
{
    (void)state;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    static const struct {
        int mode;
        ak_trial_status status;
        const char *reason;
    } cases[] = {{MODE_CRASH, AK_TRIAL_CRASHED, "signal 11"},
                 {MODE_EXIT, AK_TRIAL_CRASHED, "exit code 3"},
                 {MODE_NO_COMPILE, AK_TRIAL_COMPILE_ERROR, "this is not to be compiled"},
                 {MODE_OK, AK_TRIAL_OK, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        submit(pool, task, AK_JOB_TRIAL, cases[i].mode);
        ak_result result = wait_trial(pool, task);
        expect_fate(&result, "where SIGCHLD is ignored", cases[i].status, cases[i].reason);
        ak_result_clear(&result);
    }
    ak_pool_close(pool);
    ak_task_close(task);
    (void)signal(SIGCHLD, before);
}

typedef struct opening {
    ak_task *task;
    ak_pool *pool;
} opening;

static void *open_and_end(void *context)
{
    opening *o = context;
    o->pool = open_pool(o->task, NULL);
    return NULL;
}

/* Workers live until the process ends, and not only as long as the thread that started them. */
static void a_pool_outlives_the_thread_that_opened_it(void **state)
{
    (void)state;
    pthread_t thread;
    opening o = {.task = fixture_task("5000")};
    assert_int_equal(pthread_create(&thread, NULL, open_and_end, &o), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    submit(o.pool, o.task, AK_JOB_TRIAL, MODE_OK);
    ak_result result = wait_trial(o.pool, o.task);
    expect_fate(&result, "after its thread", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    ak_ceilings ceilings;
    assert_int_equal(ak_pool_ceilings(&ceilings, o.pool, NULL), AK_OK);
    /* One that is open already gets its signal while it is idle. */
    ak_pool *first = o.pool;
    assert_int_equal(pthread_create(&thread, NULL, open_and_end, &o), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    submit(first, o.task, AK_JOB_TRIAL, MODE_THREADS);
    result = wait_trial(first, o.task);
    expect_fate(&result, "beside another", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    ak_pool_close(first);
    ak_pool_close(o.pool);
    ak_task_close(o.task);
}

/* If a tuner is killed during a trial that hangs and during compilations, all its descendants end.
   This process adopts them, so that it can wait for them. `threaded`: the pool was opened in a
   second thread. */
static void expect_no_orphans(bool threaded)
{
    int told[2];
    assert_int_equal(pipe(told), 0);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t program = fork();
    if (program == 0) {
        pthread_t thread;
        opening o = {.task = fixture_task("5000")};
        if (!threaded) {
            (void)open_and_end(&o);
        } else if (pthread_create(&thread, NULL, open_and_end, &o) == 0) {
            (void)pthread_join(thread, NULL);
        }
        ak_ceilings ceilings;
        (void)ak_pool_ceilings(&ceilings, o.pool, NULL); /* the device is open */
        submit(o.pool, o.task, AK_JOB_TRIAL, MODE_HANG);
        submit(o.pool, o.task, AK_JOB_TRIAL, MODE_OK);
        ak_result result;
        (void)ak_pool_wait(&result, o.pool, 2 * AK_SECOND_NS, NULL);
        (void)!write(told[1], "x", 1);
        for (;;) {
            (void)pause();
        }
    }
    char byte;
    (void)close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 1);
    (void)close(told[0]);
    assert_int_equal(kill(program, SIGKILL), 0);
    int64_t end = ak_clock_ns() + WAIT_NS;
    pid_t done = 0;
    while (done >= 0 && ak_clock_ns() < end) {
        done = waitpid(-1, NULL, WNOHANG);
        ak_clock_sleep_ns(done == 0 ? 10 * AK_MS_NS : 0);
    }
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    if (done >= 0) {
        fail_msg("a process outlives the program that started it");
    }
}

static void a_killed_program_leaves_nobody_behind(void **state)
{
    (void)state;
    expect_no_orphans(false);
    expect_no_orphans(true);
}

/* Puts a script in the place of the compiler "cc", first in PATH. Returns the former PATH. */
static char *use_compiler(const char *script)
{
    char path[AK_PATH_MAX], all[2 * AK_PATH_MAX];
    char *kept = ak_strdup(getenv("PATH"));
    fixture_write("cc", script);
    assert_int_equal(ak_fs_join(path, fixture_folder, "cc", NULL), AK_OK);
    assert_int_equal(chmod(path, 0755), 0);
    (void)snprintf(all, sizeof all, "%s:%s", fixture_folder, kept);
    (void)setenv("PATH", all, 1);
    return kept;
}

static void use_path(char *kept)
{
    (void)setenv("PATH", kept, 1);
    ak_free(kept);
}

/* On a busy machine, a compiler that runs with SCHED_IDLE may get no time at all. It is then
   restarted with the usual priority. */
static void a_starved_compiler_is_given_a_share(void **state)
{
    (void)state;
    char path[AK_PATH_MAX];
    if (!ak_fs_which(path, "chrt")) {
        skip();
    }
    char *kept = use_compiler("#!/bin/sh\n"
                              "if chrt -p $$ | grep -q SCHED_IDLE; then sleep 1000; fi\n"
                              "exec gcc \"$@\"\n");
    ak_task *task = fixture_task("5000");
    ak_pool_options options = {.compile_workers = 1, .compile_timeout_ns = 6 * AK_SECOND_NS};
    ak_pool *pool = NULL;
    assert_int_equal(ak_pool_open(&pool, task, &options, NULL), AK_OK);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    ak_result result = wait_trial(pool, task);
    expect_fate(&result, "starved", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
    use_path(kept);
}

/* A full disk is not the fault of a configuration: no trial fails for it, and the configuration is
   compiled as soon as there is room. */
static void a_full_disk_is_no_compile_error(void **state)
{
    (void)state;
    char flag[AK_PATH_MAX], script[2 * AK_PATH_MAX];
    fixture_write("full", "");
    assert_int_equal(ak_fs_join(flag, fixture_folder, "full", NULL), AK_OK);
    (void)snprintf(script, sizeof script,
                   "#!/bin/sh\ncase \"$*\" in *MODE=0*) [ ! -e %s ] || { "
                   "echo 'as: error writing to x.s: No space left on device' >&2; exit 1; };; "
                   "esac\nexec gcc \"$@\"\n",
                   flag);
    char *kept = use_compiler(script);
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    ak_result result;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_IO);
    assert_non_null(strstr(err.text, "No space left on device"));
    assert_non_null(strstr(err.text, "TMPDIR"));
    assert_int_equal(ak_pool_pending(pool), 0);
    submit(pool, task, AK_JOB_TRIAL, MODE_OK); /* tried again with pauses: there may be room soon */
    (void)unlink(flag);
    result = wait_trial(pool, task);
    expect_fate(&result, "with room", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
    use_path(kept);
}

/* If compiled code has disappeared when the device needs it, the job gives no result, and the
   device remains usable for the next. */
static void code_that_is_gone_is_no_launch_error(void **state)
{
    (void)state;
    ak_task *task = fixture_task("5000");
    ak_pool *pool = open_pool(task, NULL);
    char away[AK_PATH_MAX + 8];
    submit(pool, task, AK_JOB_TRIAL, MODE_OK);
    ak_result result = wait_one(pool);
    ak_result_clear(&result);
    (void)snprintf(away, sizeof away, "%s-away", pool->folder.path);
    assert_int_equal(rename(pool->folder.path, away), 0);
    submit(pool, task, AK_JOB_CHECK, MODE_OK); /* it is compiled already */
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_pool_wait(&result, pool, WAIT_NS, &err), AK_IO);
    assert_non_null(strstr(err.text, "TMPDIR"));
    assert_int_equal(rename(away, pool->folder.path), 0);
    submit(pool, task, AK_JOB_CHECK, MODE_OK);
    result = wait_one(pool);
    expect_fate(&result, "back again", AK_TRIAL_OK, NULL);
    ak_result_clear(&result);
    ak_pool_close(pool);
    ak_task_close(task);
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
    assert_int_equal(count_compiling(pool), 1);
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
    for (int ceilings = 0; ceilings < 2; ceilings++) {
        json_t *probe = NULL;
        ak_error err = AK_ERROR_INIT;
        if (ak_pool_probe(&probe, ceilings != 0, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        size_t i;
        const json_t *device = NULL, *one;
        json_array_foreach(json_object_get(probe, "devices"), i, one) {
            bool host = strcmp(json_string_value(json_object_get(one, "device")), "host") == 0;
            device = host ? one : device;
        }
        assert_non_null(device);
        assert_true(json_integer_value(json_object_get(device, "cpu_threads")) >= 1);
        assert_int_equal(json_object_get(device, "ceilings") != NULL, ceilings);
        assert_true(json_array_size(json_object_get(probe, "compilers")) >= 1);
        assert_true(json_array_size(json_object_get(probe, "libraries")) >= 4);
        json_decref(probe);
    }
}

static void a_missing_worker_is_said(void **state)
{
    (void)state;
    char *kept = ak_strdup(getenv("AUTOKERNEL_WORKER"));
    (void)setenv("AUTOKERNEL_WORKER", "/nowhere/autokernel", 1);
    json_t *probe = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_pool_probe(&probe, false, &err), AK_NOT_FOUND);
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
        cmocka_unit_test(a_hang_costs_its_time_out),
        cmocka_unit_test(a_check_covers_the_edge_cases),
        cmocka_unit_test(equal_code_is_measured_once),
        cmocka_unit_test(equal_code_has_waited_as_long),
        cmocka_unit_test(equal_code_that_is_run_otherwise_is_measured_again),
        cmocka_unit_test(equal_code_with_equal_launches_is_measured_once),
        cmocka_unit_test(an_exchanged_artifact_is_not_run),
        cmocka_unit_test(what_has_not_begun_can_be_taken_back),
        cmocka_unit_test(a_comparison_pairs_its_rounds),
        cmocka_unit_test(a_loose_tolerance_is_refused),
        cmocka_unit_test(a_broken_reference_is_the_problems_fault),
        cmocka_unit_test(ceilings_and_baselines_are_told),
        cmocka_unit_test(cancelling_ends_a_wait),
        cmocka_unit_test(a_dead_worker_costs_one_job),
        cmocka_unit_test(fates_are_named_where_sigchld_is_ignored),
        cmocka_unit_test(a_pool_outlives_the_thread_that_opened_it),
        cmocka_unit_test(a_killed_program_leaves_nobody_behind),
        cmocka_unit_test(a_starved_compiler_is_given_a_share),
        cmocka_unit_test(a_full_disk_is_no_compile_error),
        cmocka_unit_test(code_that_is_gone_is_no_launch_error),
        cmocka_unit_test(compiling_needs_no_device),
        cmocka_unit_test(the_machine_is_described),
        cmocka_unit_test(a_missing_worker_is_said),
        cmocka_unit_test(memory_may_run_out_while_opening),
    };
    return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
