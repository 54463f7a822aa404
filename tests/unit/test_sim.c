/*
 * test_sim.c: tests the backend `sim`, which takes results from a recording: its contract, that
 * each configuration has the time that a simulation uses, and that equal seeds give equal bytes. No
 * process is started.
 */
#include "archive_fixture.h"

#include <unistd.h>

#include "backend/backend.h"
#include "backend/sim/sim.h"
#include "recording/recording.h"
#include "worker/pool.h"

#define TINY   AK_TEST_DATA "/recordings/tiny.json"
#define DEVICE "sim:" TINY
#define MATMUL AK_TEST_DATA "/../../bench/recordings/matmul.json.gz"
#define H200   AK_TEST_DATA "/../../bench/recordings/h200"

static ak_task *open_task(const char *kernel, const char *device, uint64_t seed)
{
    ak_task *task = NULL;
    ak_task_spec spec = {.kernel = kernel, .device = device, .seed = seed};
    assert_ok(ak_task_open(&task, &spec, err));
    return task;
}

static ak_recording *open_recording(void)
{
    ak_recording *recording = NULL;
    assert_ok(ak_recording_open(&recording, TINY, err));
    return recording;
}

/* ---- the backend ------------------------------------------------------------------------------
 */

static void visit(void *context, const char *device, const char *description)
{
    (void)device;
    (void)description;
    ++*(int *)context;
}

static void test_contract(void **state)
{
    (void)state;
    const ak_backend_ops *sim = NULL;
    char name[AK_PATH_MAX];
    int listed = 0;
    assert_ok(ak_backend_find(&sim, "sim", err));
    assert_ok(sim->probe(visit, &listed, err));
    assert_int_equal(listed, 0); /* so that auto never takes it */
    assert_ok(ak_backend_device(&sim, name, sizeof name, DEVICE, err));
    assert_string_equal(name, DEVICE);
    assert_refused(ak_backend_device(&sim, name, sizeof name, "sim:/no/where", err), AK_NOT_FOUND,
                   "no such recording");
    assert_refused(ak_backend_device(&sim, name, 8, DEVICE, err), AK_LIMIT, "too long");
    json_t *first = NULL, *again = NULL;
    assert_ok(sim->environment(&first, DEVICE, err));
    assert_ok(sim->environment(&again, DEVICE, err));
    assert_true(json_equal(first, again));
    json_decref(first);
    json_decref(again);
    ak_task *task = open_task(TINY, "sim", 1);
    assert_string_equal(ak_task_device(task), "sim:a device"); /* not where it lies */
    assert_string_equal(ak_problem_name(ak_task_problem(task)), "tiny");
    assert_int_equal(ak_space_count(ak_task_space(task)), 36);
    ak_task_close(task);
    task = open_task("tiny", DEVICE, 1);                       /* as its trials are called */
    assert_string_equal(ak_task_device(task), "sim:a device"); /* not where it lies */
    ak_task_close(task);
}

/* The task uses the rank in the recording, and not the present one of the kernel. */
static void test_stated_rank(void **state)
{
    (void)state;
    ak_task *task = open_task("matmul_act", "sim:" H200 "/matmul_act.json.gz", 1);
    const char *todays = task->implementation->rank;
    assert_non_null(task->rank);
    assert_string_not_equal(task->rank, todays);
    assert_true(strncmp(task->rank, "1503 +", 6) == 0);
    ak_task_close(task);
    task = open_task("softmax", "sim:" H200 "/softmax.json.gz", 1);
    assert_string_equal(task->rank, task->implementation->rank);
    ak_task_close(task);
}

static void test_refused(void **state)
{
    (void)state;
    ak_task *task = NULL;
    const struct {
        ak_task_spec spec;
        ak_status status;
        const char *part;
    } rows[] = {
        {{.kernel = "matmul", .device = "sim"}, AK_INVALID, "needs a recording"},
        {{.kernel = "nothing", .device = DEVICE}, AK_NOT_FOUND, "nothing"},
        {{.kernel = "matmul", .device = DEVICE}, AK_INVALID, "was not recorded"},
        {{.kernel = TINY, .device = "sim", .fix = "x=1"}, AK_INVALID, "cannot be fixed"},
        {{.kernel = "matmul_act", .device = "sim:" MATMUL}, AK_INVALID, "of the kernel matmul"},
        {{.kernel = "matmul", .device = "sim:" MATMUL, .size = "64"}, AK_INVALID, "recorded with"},
        {{.kernel = "matmul", .device = "sim:" MATMUL, .dtype = "bf16"}, AK_INVALID, "dtype"},
        {{.kernel = "matmul", .device = "sim:" AK_TEST_DATA "/recordings/derive.py"},
         AK_INVALID,
         "derive.py"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_refused(ak_task_open(&task, &rows[i].spec, err), rows[i].status, rows[i].part);
    }
}

/* If the kernel of a recording is known, the task has its sizes, work, defaults and rank. */
static void test_kernel(void **state)
{
    (void)state;
    ak_task *task = open_task("matmul", "sim:" MATMUL, 1);
    assert_string_equal(ak_task_size(task), "M=128,N=128,K=128");
    assert_string_equal(ak_task_implementation(task), "host");
    assert_int_equal(ak_space_count(ak_task_space(task)), 256);
    assert_true(ak_task_flops(task) == 2.0 * 128 * 128 * 128);
    assert_non_null(task->rank);
    ak_task_close(task);
}

/* ---- agreement --------------------------------------------------------------------------------
 */

static void test_every_configuration(void **state)
{
    (void)state;
    ak_recording *recording = open_recording();
    ak_task *task = open_task(TINY, "sim", 1);
    ak_tester *tester = NULL;
    assert_ok(ak_tester_open(&tester, task, err));
    for (uint64_t i = 0; i < recording->count; i++) {
        ak_config config;
        ak_trial trial = {0};
        const ak_record *record = &recording->records[i];
        ak_space_at(&config, ak_task_space(task), i);
        assert_ok(ak_tester_run(&trial, tester, &config, err));
        assert_int_equal(trial.status, record->status);
        assert_true(fabs((double)trial.measure_ns / 1e9 - record->seconds) < 1e-8);
        if (record->status == AK_TRIAL_OK) {
            assert_true(trial.median_ms == ak_recording_time(recording, record));
            assert_int_equal(trial.sample_count, 1);
        } else {
            assert_non_null(trial.reason);
        }
        assert_int_equal(trial.compile_ns + trial.propose_ns + trial.overhead_ns, 0);
        ak_trial_clear(&trial);
    }
    ak_tester_close(tester);
    ak_task_close(task);
    ak_recording_close(recording);
}

/* Tuning on the recording gives the same cost for the whole space, and the same best, as a
   simulation. */
static void test_agrees_with_simulation(void **state)
{
    (void)state;
    ak_recording *recording = open_recording();
    ak_simulation s = {0};
    ak_simulate_options whole = {
        .strategy = "exhaustive", .repeats = 1, .evaluations = 36, .seconds = 1e6};
    assert_ok(ak_simulate(&s, recording, &whole, err));
    ak_task *task = open_task(TINY, "sim", 3);
    ak_tune_result result = {0};
    ak_tune_options options = {.strategy = "exhaustive", .evaluations = 36};
    assert_ok(ak_tune(&result, task, NULL, &options, err));
    assert_int_equal(result.evaluated, s.repeats[0].evaluations);
    assert_true(fabs(result.seconds - s.repeats[0].seconds) < 1e-6);
    assert_true(result.best.median_ms == s.repeats[0].best_value);
    assert_int_equal(result.failed[AK_TRIAL_LAUNCH_ERROR] + result.failed[AK_TRIAL_COMPILE_ERROR],
                     s.repeats[0].failed);
    ak_tune_result_clear(&result);
    /* a budget of time is one of recorded time: it ends with the trial that exceeds it */
    options = (ak_tune_options){.strategy = "random", .evaluations = 36, .seconds = 5};
    assert_ok(ak_tune(&result, task, NULL, &options, err));
    assert_string_equal(result.stopped_by, "time");
    assert_true(result.seconds >= 5 && result.seconds < 6);
    ak_tune_result_clear(&result);
    /* whatever the limit, by less than one trial; the default is always tried */
    double longest = 0;
    for (uint64_t i = 0; i < recording->count; i++) {
        const double each = recording->records[i].seconds;
        longest = each > longest ? each : longest;
    }
    for (int i = 1; i <= 40; i++) {
        options.seconds = 0.1 * i;
        assert_ok(ak_tune(&result, task, NULL, &options, err));
        assert_string_equal(result.stopped_by, "time");
        assert_true(result.evaluated >= 1);
        assert_true(result.seconds >= options.seconds &&
                    result.seconds < options.seconds + longest + 1e-6);
        ak_tune_result_clear(&result);
    }
    ak_simulation_clear(&s);
    ak_task_close(task);
    ak_recording_close(recording);
}

/* ---- the same bytes ---------------------------------------------------------------------------
 */

static void keep(void *context, const char *event, const char *json)
{
    (void)event;
    ak_buf_puts(context, json);
    ak_buf_putc(context, '\n');
}

static bool keep_trial(void *context, const ak_trial *trial)
{
    char *text = NULL;
    assert_ok(ak_trial_json(&text, trial, err));
    ak_buf_puts(context, text);
    ak_text_free(text);
    return true;
}

/* Returns the events and the archived trials of a run as one text, and its id. */
static char *run_of(char id[17], fixture *f, const char *strategy, uint64_t seed,
                    const ak_llm_options *llm, bool fresh)
{
    ak_buf text = AK_BUF(1 << 22);
    ak_tune_result result = {0};
    ak_archive *archive = f->archive;
    ak_tune_options options = {.strategy = strategy,
                               .evaluations = 25,
                               .llm = llm,
                               .generations = llm == NULL ? 0 : 1,
                               .sink = keep,
                               .sink_context = &text};
    if (fresh) {
        (void)unlink(f->file);
        assert_ok(ak_archive_open(&archive, f->file, err));
    }
    ak_task *task = open_task(TINY, "sim", seed);
    assert_ok(ak_tune(&result, task, archive, &options, err));
    (void)snprintf(id, 17, "%s", result.run);
    ak_archive_filter filter = {.run = result.run};
    assert_ok(ak_archive_each(archive, &filter, keep_trial, &text, err));
    char *conversation = NULL;
    if (llm != NULL) {
        assert_ok(ak_llm_conversation(&conversation, archive, result.run, err));
        ak_buf_puts(&text, conversation);
        ak_text_free(conversation);
    }
    if (fresh) {
        ak_archive_close(archive);
    }
    ak_tune_result_clear(&result);
    ak_task_close(task);
    char *out = NULL;
    assert_ok(ak_buf_take(&out, &text, err));
    return out;
}

static void test_same_bytes(void **state)
{
    fixture *f = fixture_of(state);
    static const char *const strategies[] = {"random", "evolve", "portfolio", "anneal"};
    for (size_t i = 0; i < sizeof strategies / sizeof strategies[0]; i++) {
        char id[17], same[17], other[17], later[17], last[17];
        char *first = run_of(id, f, strategies[i], 7, NULL, true);
        char *again = run_of(same, f, strategies[i], 7, NULL, true);
        char *seed = run_of(other, f, strategies[i], 8, NULL, true);
        assert_string_equal(first, again);
        assert_string_not_equal(first, seed);
        /* an archive that has the run gets another, not the same twice */
        char *third = run_of(later, f, strategies[i], 7, NULL, false);
        char *fourth = run_of(last, f, strategies[i], 7, NULL, false);
        assert_string_equal(id, later);
        assert_string_not_equal(later, last);
        ak_free(first);
        ak_free(again);
        ak_free(seed);
        ak_free(third);
        ak_free(fourth);
    }
}

/* Recorded replies of a model take their recorded time on the virtual clock. */
static void test_replies(void **state)
{
    fixture *f = fixture_of(state);
    char answers[AK_PATH_MAX], id[17];
    static const char text[] =
        "{\"text\": {\"proposals\": [{\"hypothesis\": \"wider\", \"expected_gain_pct\": 9, "
        "\"parent\": null, \"changes\": {\"x\": 4, \"y\": 3}}]}, \"elapsed_ms\": 90000}\n";
    assert_ok(ak_fs_join(answers, f->folder, "answers.jsonl", err));
    assert_ok(ak_fs_write(answers, text, strlen(text), err));
    ak_llm_options llm = {.replay = answers};
    char *first = run_of(id, f, "hybrid", 7, &llm, true);
    char *again = run_of(id, f, "hybrid", 7, &llm, true);
    assert_string_equal(first, again);
    assert_non_null(strstr(first, "wider"));
    /* the search waited for the reply: the second trial ends after it */
    assert_non_null(strstr(first, "1970-01-01T00:01:3"));
    (void)unlink(answers);
    ak_free(first);
    ak_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stated_rank),
        cmocka_unit_test(test_contract),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_kernel),
        cmocka_unit_test(test_every_configuration),
        cmocka_unit_test(test_agrees_with_simulation),
        cmocka_unit_test_setup_teardown(test_same_bytes, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(test_replies, fixture_open, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
