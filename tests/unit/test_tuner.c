/*
 * test_tuner.c: tests tuning from end to end on a small kernel that the test makes: every trial is
 * archived and reported. It also tests budgets, resume, cancellation, a target, failures of
 * candidates, the tester, and the comparison.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "archive/archive.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/json.h"

/* Seconds for which a finish measures each candidate. No test depends on its precision. */
#define FINISH 0.1

typedef struct fixture {
    char folder[AK_PATH_MAX], kernel[AK_PATH_MAX], archive[AK_PATH_MAX];
    ak_task *task;
    ak_archive *db;
} fixture;

static void open_task(fixture *f)
{
    ak_error err = AK_ERROR_INIT;
    ak_task_spec spec = {.kernel = f->kernel, .device = "host", .size = "5000", .seed = 1};
    ak_status status = ak_task_open(&f->task, &spec, &err);
    if (status != AK_OK) {
        fail_msg("%s", err.text);
    }
}

static int set_up(void **state)
{
    char path[AK_PATH_MAX];
    if (!ak_fs_which(path, "gcc") && !ak_fs_which(path, "clang")) {
        return 0; /* each test skips */
    }
    fixture *f = ak_alloc(1, sizeof *f);
    ak_error err = AK_ERROR_INIT;
    if (ak_fs_temp(f->folder, &err) != AK_OK ||
        ak_fs_join(f->kernel, f->folder, "twice_plus", &err) != AK_OK ||
        ak_fs_join(f->archive, f->folder, "archive.db", &err) != AK_OK ||
        ak_kernel_new(f->kernel, &err) != AK_OK ||
        ak_archive_open(&f->db, f->archive, &err) != AK_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    (void)setenv("XDG_CACHE_HOME", f->folder, 1); /* ceilings are kept there */
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    if (f != NULL) {
        ak_task_close(f->task);
        ak_archive_close(f->db);
        ak_fs_remove(f->folder);
        ak_free(f);
    }
    return 0;
}

/* The events that were received. */
typedef struct heard {
    size_t start, trial, end, phase, warning;
    int64_t seed;      /* in the start event */
    double start_best; /* likewise: of the resumed trials */
    bool in_order;
    char last[32];
    int *cancel; /* set after the second trial */
    int cancel_value;
} heard;

static void hear(void *context, const char *event, const char *json)
{
    heard *h = context;
    json_t *object = NULL;
    assert_int_equal(ak_json_parse(&object, json, strlen(json), "event", NULL), AK_OK);
    assert_string_equal(json_string_value(json_object_get(object, "event")), event);
    assert_true(json_is_real(json_object_get(object, "t")));
    h->start += strcmp(event, "start") == 0;
    h->trial += strcmp(event, "trial") == 0;
    h->phase += strcmp(event, "phase") == 0;
    /* Whether this machine is busy when a run begins is no matter. */
    h->warning += strcmp(event, "warning") == 0 && strstr(json, "the machine is busy") == NULL;
    if (strcmp(event, "start") == 0) {
        h->seed = json_integer_value(json_object_get(object, "seed"));
        h->start_best = json_real_value(json_object_get(object, "best_ms"));
    }
    h->end += strcmp(event, "end") == 0;
    h->in_order = h->start == 1 && (h->end == 0 || strcmp(event, "end") == 0);
    (void)snprintf(h->last, sizeof h->last, "%s", event);
    if (h->cancel != NULL && h->trial == 2) {
        *h->cancel = 1;
    }
    json_decref(object);
}

static bool count_trial(void *context, const ak_trial *trial)
{
    size_t *count = context;
    assert_true(trial->id > 0);
    assert_non_null(trial->config);
    assert_string_equal(trial->kernel, "twice_plus");
    assert_string_equal(trial->size, "n=5000");
    assert_non_null(trial->strategy);
    if (trial->status == AK_TRIAL_OK) {
        assert_true(trial->median_ms > 0 && trial->ci_low_ms <= trial->median_ms &&
                    trial->median_ms <= trial->ci_high_ms);
        assert_true(trial->sample_count > 0 && trial->gbs > 0);
        /* which of the two depends on measured ceilings */
        assert_true(strcmp(trial->bound, "memory") == 0 || strcmp(trial->bound, "compute") == 0);
    } else {
        assert_non_null(trial->reason);
    }
    (*count)++;
    return true;
}

static size_t archived(fixture *f)
{
    size_t count = 0;
    ak_error err = AK_ERROR_INIT;
    ak_archive_filter all = {0};
    assert_int_equal(ak_archive_each(f->db, &all, count_trial, &count, &err), AK_OK);
    return count;
}

static bool take_ms(void *context, const ak_trial *trial)
{
    *(double *)context = trial->median_ms;
    return true;
}

/* Returns the fixture; skips the test if there is no compiler. */
static fixture *need(void **state)
{
    if (*state == NULL) {
        skip();
    }
    return *state;
}

static ak_tune_result tune(const fixture *f, const ak_tune_options *options)
{
    ak_error err = AK_ERROR_INIT;
    ak_tune_result result;
    if (ak_tune(&result, f->task, f->db, options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return result;
}

static void test_a_run_is_archived_told_and_resumed(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    heard h = {0};
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH,
                               .evaluations = 4,
                               .finalists = 2,
                               .sink = hear,
                               .sink_context = &h};
    ak_tune_result result = tune(f, &options);
    assert_int_equal(result.evaluated, 4);
    assert_string_equal(result.stopped_by, "evaluations");
    assert_true(result.found);
    assert_true(result.best.median_ms > 0);
    /* Two finalists, and the default if it is not one of them. */
    assert_in_range(result.candidate_count, 2, 3);
    assert_int_equal(result.baseline, result.candidate_count); /* no library does this kernel */
    /* The default is what there was before: without a library speeds are relative to it. */
    assert_true(result.candidates[result.reference].over_default.ratio == 1);
    assert_true(result.speedup == result.candidates[result.tuned].ratio && result.speedup > 0);
    assert_true(result.speedup == result.candidates[result.tuned].over_default.ratio);
    assert_true(strstr(result.summary, "the default") != NULL ||
                strstr(result.summary, "not decided") != NULL);
    assert_true(result.noise.control.ratio > 0 && result.noise.rounds >= 9);
    assert_int_equal(h.start, 1);
    assert_int_equal(h.trial, 4);
    assert_int_equal(h.end, 1);
    assert_true(h.in_order);
    assert_string_equal(h.last, "end");
    assert_int_equal(archived(f), 4);
    /* The seed is told and kept; so is what this machine's sandbox lacks. */
    assert_int_equal(h.seed, 1);
    assert_true(h.start_best == 0);
    assert_int_equal(
        h.warning,
        (ak_sandbox_missing(ak_sandbox_landlock_abi() > 0, ak_sandbox_seccomp()) == NULL ? 0 : 1) +
            (int)result.warning_count); /* of a machine that is busy */
    ak_run kept = {0};
    assert_int_equal(ak_archive_get_run(&kept, f->db, NULL, &err), AK_OK);
    assert_non_null(strstr(kept.options_json, "\"seed\":1"));
    assert_non_null(strstr(kept.environment_json, "\"sandbox\":{\"landlock\":"));
    ak_run_clear(&kept);
    double first_best = 0; /* of the search */
    ak_archive_filter fastest = {.ok_only = true, .best_first = true, .limit = 1};
    assert_int_equal(ak_archive_each(f->db, &fastest, take_ms, &first_best, &err), AK_OK);

    char *json = NULL;
    assert_int_equal(ak_tune_result_json(&json, &result, f->task, &err), AK_OK);
    json_t *object = NULL;
    assert_int_equal(ak_json_parse(&object, json, strlen(json), "result", &err), AK_OK);
    const json_t *best = json_object_get(object, "best");
    assert_true(json_is_object(json_object_get(best, "config")));
    assert_true(json_is_integer(json_object_get(json_object_get(best, "config"), "UNROLL")));
    assert_int_equal(json_array_size(json_object_get(best, "ci_ms")), 2);
    assert_int_equal(json_integer_value(json_object_get(object, "evaluated")), 4);
    assert_true(json_is_null(json_object_get(object, "baseline")));
    json_decref(object);
    ak_text_free(json);

    /* The archive's best is the winner of the finish, not the luckiest trial of the search. */
    ak_archive_filter mine = {.kernel = "twice_plus"};
    ak_trial known = {0};
    assert_int_equal(ak_archive_best(&known, f->db, &mine, &err), AK_OK);
    assert_string_equal(known.config, result.best.config);
    assert_true(known.median_ms == result.best.median_ms);
    ak_trial_clear(&known);
    ak_tune_result_clear(&result);

    /* Resumed: the four are known and count, and what is tried now is new. */
    h = (heard){0};
    options = (ak_tune_options){.finish_seconds = FINISH,
                                .evaluations = 6,
                                .resume = true,
                                .strategy = "random",
                                .sink = hear,
                                .sink_context = &h};
    if (ak_tune(&result, f->task, f->db, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(result.resumed, 4);
    assert_true(h.start_best == first_best); /* a slower trial is then no new best */
    assert_int_equal(result.evaluated, 2);
    assert_int_equal(archived(f), 6);
    ak_tune_result_clear(&result);

    /* Nothing is left to try: only the finish is measured. */
    h = (heard){0};
    if (ak_tune(&result, f->task, f->db, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(result.resumed, 6);
    assert_int_equal(result.evaluated, 0);
    assert_string_equal(result.stopped_by, "evaluations");
    assert_true(result.found && result.candidate_count > 0);
    assert_int_equal(archived(f), 6);
    ak_tune_result_clear(&result);
}

static void test_cancel_keeps_what_there_is(void **state)
{
    fixture *f = need(state);
    int cancel = 0;
    heard h = {.cancel = &cancel};
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH,
                               .evaluations = 16,
                               .sink = hear,
                               .sink_context = &h,
                               .cancel = &cancel};
    ak_tune_result result = tune(f, &options);
    assert_string_equal(result.stopped_by, "cancelled");
    assert_true(result.evaluated >= 2 && result.evaluated < 16);
    assert_true(result.found);
    assert_int_equal(archived(f), result.evaluated);
    ak_tune_result_clear(&result);
}

/* Seconds that were spent before the call (spent_seconds) count against the time. */
static void test_time_that_is_spent_counts(void **state)
{
    fixture *f = need(state);
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH,
                               .strategy = "random",
                               .evaluations = 30,
                               .seconds = 7200,
                               .spent_seconds = 7200};
    ak_tune_result result = tune(f, &options);
    assert_string_equal(result.stopped_by, "time");
    assert_true(result.evaluated >= 1 && result.evaluated < 30); /* the default, always */
    assert_true(result.seconds >= 7200);
    ak_tune_result_clear(&result);
}

/* If a run over many sizes is cancelled, its trials are kept, but no table is made of a part of the
   sizes. */
static void test_many_sizes_can_be_cancelled(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    int cancel = 0;
    heard h = {.cancel = &cancel};
    static const char *const sizes[] = {"5000", "n=5001"};
    ak_task_spec spec = {.kernel = f->kernel, .device = "host"};
    ak_tune_options options = {.finish_seconds = FINISH,
                               .evaluations = 32,
                               .sink = hear,
                               .sink_context = &h,
                               .cancel = &cancel};
    ak_sizes_result result;
    const ak_sizes_request request = {.spec = &spec, .sizes = sizes, .size_count = 2, .table = 1};
    if (ak_tune_sizes(&result, &request, f->db, &options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(result.stopped_by, "cancelled");
    assert_int_equal(result.table_count, 0);
    assert_int_equal(result.size_count, 2);
    assert_string_equal(result.sizes[1].size, "n=5001");
    assert_non_null(result.sizes[0].run);
    assert_null(result.sizes[1].run);
    assert_int_equal(archived(f), result.evaluated);
    assert_string_equal(h.last, "table");
    char *json = NULL;
    assert_int_equal(ak_sizes_result_json(&json, &result, &err), AK_OK);
    assert_non_null(strstr(json, "\"table\":null"));
    ak_text_free(json);
    ak_sizes_result_clear(&result);
    /* Refused before anything is started. */
    options = (ak_tune_options){.finish_seconds = FINISH, .evaluations = 1};
    assert_int_equal(ak_tune_sizes(&result, &request, NULL, &options, &err), AK_INVALID);
    ak_sizes_request bad = request;
    bad.table = 3;
    assert_int_equal(ak_tune_sizes(&result, &bad, NULL, NULL, &err), AK_INVALID);
    bad = request;
    bad.size_count = 0;
    assert_int_equal(ak_tune_sizes(&result, &bad, NULL, NULL, &err), AK_INVALID);
}

/* A tester ends at once when its task is cancelled. */
static void test_a_tester_can_be_cancelled(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    int cancel = 0;
    ak_tester *tester = NULL;
    ak_config config;
    ak_trial trial = {0};
    ak_comparison comparison = {0};
    const char *const names[] = {"default"};
    open_task(f);
    ak_task_set_cancel(f->task, &cancel);
    ak_space_default(&config, ak_task_space(f->task));
    assert_int_equal(ak_tester_open(&tester, f->task, &err), AK_OK);
    cancel = 1;
    assert_int_equal(ak_tester_run(&trial, tester, &config, &err), AK_CANCELLED);
    ak_tester_close(tester);
    assert_int_equal(ak_tester_open(&tester, f->task, &err), AK_CANCELLED);
    const ak_compare_options options = {
        .configs = &config, .names = names, .count = 1, .baselines = true, .seconds = 3600};
    assert_int_equal(ak_compare(&comparison, f->task, &options, &err), AK_CANCELLED);
}

/* A comparison refuses configurations of tasks with other sizes. The task's default may be given
   again as a configuration of another task of the same implementation. */
static void test_comparisons_are_of_one_task(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    ak_task *other = NULL, *same = NULL;
    ak_comparison comparison = {0};
    ak_config configs[2];
    const char *const names[] = {"mine", "theirs"};
    open_task(f);
    const ak_task_spec spec = {.kernel = f->kernel, .device = "host", .size = "n=4999"};
    const ak_task_spec again = {.kernel = f->kernel, .device = "host", .size = "n=5000"};
    assert_int_equal(ak_task_open(&other, &spec, &err), AK_OK);
    assert_int_equal(ak_task_open(&same, &again, &err), AK_OK);
    ak_space_default(&configs[0], ak_task_space(f->task));
    ak_space_default(&configs[1], ak_task_space(other));
    const ak_task *tasks[] = {NULL, other};
    const ak_compare_options options = {
        .configs = configs, .names = names, .tasks = tasks, .count = 2, .seconds = 0.1};
    assert_int_equal(ak_compare(&comparison, f->task, &options, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "has the size \"n=4999\""));
    tasks[1] = same;
    assert_int_equal(ak_compare(&comparison, f->task, &options, &err), AK_OK);
    assert_int_equal(comparison.count, 2);
    assert_null(comparison.candidates[0].task);
    assert_ptr_equal(comparison.candidates[1].task, same);
    assert_true(comparison.candidates[1].median_ms > 0);
    ak_comparison_clear(&comparison);
    ak_task_close(other);
    ak_task_close(same);
}

static void test_a_small_space_is_exhausted(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    char path[AK_PATH_MAX];
    static const char space[] =
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"UNROLL\", \"Type\": "
        "\"int\", \"Values\": [1, 2, 3]}, {\"Name\": \"THREADS\", \"Type\": \"int\", \"Values\": "
        "[1]}], "
        "\"Conditions\": []}, \"KernelSpecification\": {\"Language\": \"C\", \"KernelFile\": "
        "\"host.c\", \"CompilerOptions\": [\"-O1\", \"-fPIC\"]}}";
    assert_int_equal(ak_fs_join(path, f->kernel, "host.json", &err), AK_OK);
    assert_int_equal(ak_fs_write(path, space, sizeof space - 1, &err), AK_OK);
    open_task(f);
    assert_int_equal(ak_space_count(ak_task_space(f->task)), 3);
    ak_tune_options options = {.finish_seconds = FINISH, .strategy = "exhaustive"};
    ak_tune_result result = tune(f, &options);
    assert_string_equal(result.stopped_by, "exhausted");
    assert_int_equal(result.evaluated, 3);
    ak_tune_result_clear(&result);
}

static void write_kernel(fixture *f, const char *text)
{
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, f->kernel, "host.c", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
}

/* The fastest configuration, by its time in the search, that passed all its checks. Which one it is
   must be read from the archive, because a busy machine stretches times, or leaves a kernel without
   a time. */
typedef struct next_best {
    char config[32];
    double ms;
} next_best;

static bool take_next_best(void *context, const ak_trial *trial)
{
    next_best *next = context;
    if (trial->status == AK_TRIAL_OK && strcmp(trial->config, "SLOW=1") != 0 &&
        (next->ms <= 0 || trial->median_ms < next->ms)) {
        next->ms = trial->median_ms;
        (void)snprintf(next->config, sizeof next->config, "%s", trial->config);
    }
    return true;
}

/* How often SLOW=1 could not be judged, and any outcome of it other than a wrong result. */
typedef struct fates {
    int not_judged;
    char other[256];
} fates;

static bool take_fate(void *context, const ak_trial *trial)
{
    fates *all = context;
    const char *reason = trial->reason == NULL ? "" : trial->reason;
    if (strcmp(trial->config, "SLOW=1") == 0 && trial->status != AK_TRIAL_WRONG_RESULT) {
        all->not_judged += strncmp(reason, AK_NOT_JUDGED, strlen(AK_NOT_JUDGED)) == 0;
        (void)snprintf(all->other, sizeof all->other, "%s: %s", ak_trial_status_text(trial->status),
                       reason);
    }
    return true;
}

/* A finalist that fails the check before the finish is replaced by the next best configuration. */
static void test_a_wrong_finalist_is_replaced(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    next_best next = {.ms = 0};
    const ak_archive_filter all = {0};
    static const char space[] =
        "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"SLOW\", \"Type\": \"int\", "
        "\"Values\": [1, 1000, 16000, 4000], \"Default\": 16000}], \"Conditions\": []}, "
        "\"KernelSpecification\": {\"Language\": \"C\", \"KernelFile\": \"host.c\", "
        "\"CompilerOptions\": [\"-O1\", \"-fPIC\"]}}";
    char path[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(path, f->kernel, "host.json", &err), AK_OK);
    assert_int_equal(ak_fs_write(path, space, sizeof space - 1, &err), AK_OK);
    write_kernel(f, "void ak_kernel(const ak_host_call *call)\n"
                    "{\n"
                    "    float *z = call->arg[2];\n"
                    "    const float *x = call->arg[0], *y = call->arg[1];\n"
                    "    if (SLOW == 1 && call->size[0] < 100) return;\n"
                    "    for (volatile int i = 0; i < 1000 * SLOW; i++) { }\n"
                    "    for (int64_t i = 0; i < call->size[0]; i++)\n"
                    "        z[i] = 2.0f * x[i] + y[i];\n"
                    "}\n");
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH, .strategy = "exhaustive", .finalists = 1};
    ak_tune_result result = tune(f, &options);
    /* A machine that is too busy to judge it is asked again, with an archive that knows nothing. */
    for (int tries = 1; tries < 5 && result.failed[AK_TRIAL_WRONG_RESULT] == 0; tries++) {
        fates found = {0};
        assert_int_equal(ak_archive_each(f->db, &all, take_fate, &found, &err), AK_OK);
        if (found.not_judged == 0) {
            fail_msg("SLOW=1 is not found wrong, but %s", found.other);
        }
        ak_tune_result_clear(&result);
        ak_archive_close(f->db);
        f->db = NULL;
        assert_int_equal(remove(f->archive), 0);
        assert_int_equal(ak_archive_open(&f->db, f->archive, &err), AK_OK);
        result = tune(f, &options);
    }
    assert_int_equal(result.evaluated, 4);
    assert_int_equal(result.failed[AK_TRIAL_WRONG_RESULT], 1);
    assert_int_equal(ak_archive_each(f->db, &all, take_next_best, &next, &err), AK_OK);
    bool is_default = strcmp(next.config, "SLOW=16000") == 0;
    assert_true(result.found && next.ms > 0);
    assert_int_equal(result.candidate_count, is_default ? 1 : 2); /* and the default */
    assert_string_equal(result.candidates[0].config, next.config);
    assert_true(strcmp(result.best.config, next.config) == 0 ||
                strcmp(result.best.config, "SLOW=16000") == 0);
    ak_tune_result_clear(&result);
}

#define MANY_WRONG      70
#define MANY_WRONG_TEXT "70"

/* However many of the fastest fail their check, which tries sizes that the search did not, the run
   ends with a best if another one passes. */
static void test_many_wrong_finalists(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    AK_AT_END(ak_buf_free) ak_buf space = AK_BUF(8192);
    char path[AK_PATH_MAX];
    ak_buf_puts(&space, "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"SLOW\", "
                        "\"Type\": \"int\", \"Values\": [1");
    for (int i = 2; i <= MANY_WRONG + 2; i++) {
        ak_buf_print(&space, ", %d", i);
    }
    ak_buf_puts(&space, "], \"Default\": 1}], \"Conditions\": []}, \"KernelSpecification\": "
                        "{\"Language\": \"C\", \"KernelFile\": \"host.c\", "
                        "\"CompilerOptions\": [\"-O1\", \"-fPIC\"]}}");
    assert_int_equal(ak_fs_join(path, f->kernel, "host.json", &err), AK_OK);
    assert_int_equal(ak_fs_write(path, space.data, space.length, &err), AK_OK);
    write_kernel(f, "void ak_kernel(const ak_host_call *call)\n"
                    "{\n"
                    "    float *z = call->arg[2];\n"
                    "    const float *x = call->arg[0], *y = call->arg[1];\n"
                    "    int64_t n = call->size[0];\n"
                    "    int listed = n == 1 || n == 7 || n == 33 || n == 1023 || n == 1025;\n"
                    "    if (SLOW <= " MANY_WRONG_TEXT " && n != 5000 && !listed) return;\n"
                    "    for (volatile int i = 0; i < (SLOW <= " MANY_WRONG_TEXT
                    " ? 100 : 1000) * SLOW; i++) { "
                    "}\n"
                    "    for (int64_t i = 0; i < call->size[0]; i++)\n"
                    "        z[i] = 2.0f * x[i] + y[i];\n"
                    "}\n");
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH,
                               .strategy = "exhaustive",
                               .evaluations = MANY_WRONG + 2,
                               .finalists = 16};
    ak_tune_result result = tune(f, &options);
    assert_int_equal(result.evaluated, MANY_WRONG + 2);
    assert_true(result.found);
    assert_true(strcmp(result.best.config, "SLOW=71") == 0 ||
                strcmp(result.best.config, "SLOW=72") == 0);
    ak_tune_result_clear(&result);
}

static void test_failures_are_data(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    /* UNROLL decides what goes wrong. */
    write_kernel(f, "#if UNROLL == 1\n"
                    "#error \"no such kernel\"\n"
                    "#endif\n"
                    "void ak_kernel(const ak_host_call *call)\n"
                    "{\n"
                    "    float *z = call->arg[2];\n"
                    "    const float *x = call->arg[0], *y = call->arg[1];\n"
                    "    if (UNROLL == 2) *(volatile int *)8 = 1;\n"
                    "    for (int64_t i = 0; i < call->size[0]; i++)\n"
                    "        z[i] = (UNROLL == 4 ? 2.02f : 2.0f) * x[i] + y[i];\n"
                    "}\n");
    open_task(f);
    ak_tester *tester = NULL;
    if (ak_tester_open(&tester, f->task, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    static const struct {
        const char *config;
        ak_trial_status status;
    } cases[] = {{"UNROLL=1", AK_TRIAL_COMPILE_ERROR},
                 {"UNROLL=2", AK_TRIAL_CRASHED},
                 {"UNROLL=4", AK_TRIAL_WRONG_RESULT},
                 {"UNROLL=8", AK_TRIAL_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_config config;
        ak_trial trial = {0};
        assert_int_equal(ak_config_parse(&config, ak_task_space(f->task), cases[i].config, &err),
                         AK_OK);
        if (ak_tester_run(&trial, tester, &config, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_string_equal(ak_trial_status_text(trial.status),
                            ak_trial_status_text(cases[i].status));
        assert_int_equal(trial.reason == NULL, trial.status == AK_TRIAL_OK);
        ak_trial_clear(&trial);
        if (ak_tester_check(&trial, tester, &config, &err) != AK_OK) {
            fail_msg("%s", err.text);
        }
        assert_int_equal(trial.status, cases[i].status);
        ak_trial_clear(&trial);
    }
    ak_tester_close(tester);

    /* The same through the loop: nothing but UNROLL=8 survives, and the failures are counted. */
    ak_tune_options options = {
        .finish_seconds = FINISH, .strategy = "random", .evaluations = 12, .finalists = 1};
    ak_tune_result result = tune(f, &options);
    assert_int_equal(result.evaluated, 12);
    assert_true(result.failed[AK_TRIAL_COMPILE_ERROR] + result.failed[AK_TRIAL_CRASHED] +
                    result.failed[AK_TRIAL_WRONG_RESULT] >
                0);
    assert_int_equal(archived(f), 12);
    if (result.found) {
        assert_non_null(strstr(result.best.config, "UNROLL=8"));
    }
    ak_tune_result_clear(&result);
}

static void test_a_winner_is_right_on_every_edge_case(void **state)
{
    fixture *f = need(state);
    /* Right on the size tuned and on the edge case that the search looks at. */
    write_kernel(f, "void ak_kernel(const ak_host_call *call)\n"
                    "{\n"
                    "    float *z = call->arg[2];\n"
                    "    const float *x = call->arg[0], *y = call->arg[1];\n"
                    "    if (call->size[0] == 7) return;\n"
                    "    for (int64_t i = 0; i < call->size[0]; i++) z[i] = 2.0f * x[i] + y[i];\n"
                    "}\n");
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH, .strategy = "random", .evaluations = 2};
    ak_tune_result result = tune(f, &options);
    assert_int_equal(result.evaluated, 2);
    assert_false(result.found);
    assert_true(result.failed[AK_TRIAL_WRONG_RESULT] > 0);
    ak_tune_result_clear(&result);
}

static void change_problem(fixture *f, const char *from, const char *to)
{
    char path[AK_PATH_MAX], *text = NULL;
    size_t length = 0;
    assert_int_equal(strlen(from), strlen(to));
    assert_int_equal(ak_fs_join(path, f->kernel, "problem.json", NULL), AK_OK);
    assert_int_equal(ak_fs_read(&text, &length, path, 65536, NULL), AK_OK);
    char *at = strstr(text, from);
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    assert_int_equal(ak_fs_write(path, text, length, NULL), AK_OK);
    ak_free(text);
}

/* Tries the default of the task by itself. */
static void try_default(ak_trial *out, const fixture *f)
{
    ak_error err = AK_ERROR_INIT;
    ak_tester *tester = NULL;
    ak_config config;
    ak_space_default(&config, ak_task_space(f->task));
    if (ak_tester_open(&tester, f->task, &err) != AK_OK ||
        ak_tester_run(out, tester, &config, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    ak_tester_close(tester);
}

static void test_the_impossible_is_rejected(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    change_problem(f, "\"2*n\"", "\"n*n\""); /* work that this kernel does not do */
    ak_task_spec spec = {.kernel = f->kernel, .device = "host", .size = "200000", .seed = 1};
    assert_int_equal(ak_task_open(&f->task, &spec, &err), AK_OK);
    ak_trial trial = {0};
    try_default(&trial, f);
    assert_int_equal(trial.status, AK_TRIAL_REJECTED);
    assert_non_null(strstr(trial.reason, "can do the stated work: if a kernel needs less"));
    ak_trial_clear(&trial);
}

/* Returns the ceiling against which a trial was placed: its rate divided by its efficiency. */
static double limit_of(const ak_trial *trial)
{
    assert_true(trial->efficiency > 0 && trial->bound != NULL);
    return (strcmp(trial->bound, "memory") == 0 ? trial->gbs : trial->tflops) / trial->efficiency;
}

static double measure_limit(fixture *f)
{
    ak_trial trial = {0};
    try_default(&trial, f);
    assert_int_equal(trial.status, AK_TRIAL_OK);
    double limit = limit_of(&trial);
    ak_trial_clear(&trial);
    return limit;
}

/* Multiplies every kept ceiling by `factor`, as if it had been measured on a faster, idle
   machine. */
static void change_kept_ceilings(const fixture *f, double factor)
{
    char path[AK_PATH_MAX], *text = NULL;
    json_t *all = NULL, *one, *figure;
    const char *key, *name;
    size_t length = 0;
    assert_int_equal(ak_fs_join(path, f->folder, "autokernel/ceilings.json", NULL), AK_OK);
    assert_int_equal(ak_fs_read(&text, &length, path, 1u << 20, NULL), AK_OK);
    assert_int_equal(ak_json_parse(&all, text, length, path, NULL), AK_OK);
    assert_int_equal(json_object_size(all), 1);
    json_object_foreach(all, key, one) {
        json_object_foreach(one, name, figure) {
            assert_int_equal(json_real_set(figure, factor * json_number_value(figure)), 0);
        }
    }
    ak_free(text);
    assert_int_equal(ak_json_text(&text, all, NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
    ak_free(text);
    json_decref(all);
}

static bool check_limit(void *context, const ak_trial *trial)
{
    double limit = limit_of(trial), *least = context;
    assert_true(limit >= *least);
    return true;
}

static void test_ceilings_never_sink(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    ak_tune_options options = {
        .finish_seconds = FINISH, .evaluations = 2, .strategy = "random", .finalists = 1};
    ak_tune_result result;
    open_task(f);
    assert_int_equal(ak_tune(&result, f->task, f->db, &options, &err), AK_OK); /* "busy" */
    ak_tune_result_clear(&result);
    double first = measure_limit(f);
    change_kept_ceilings(f, 100);
    double second = measure_limit(f);
    assert_true(second >= 99 * first); /* what is measured now is lower and does not count */
    assert_true(measure_limit(f) >= 0.99 * second);
    /* What was archived against the lower ones is held against these after the next finish. */
    assert_int_equal(ak_tune(&result, f->task, f->db, &options, &err), AK_OK);
    ak_tune_result_clear(&result);
    double least = 50 * first;
    ak_archive_filter all = {.kernel = "twice_plus", .ok_only = true};
    assert_int_equal(ak_archive_each(f->db, &all, check_limit, &least, &err), AK_OK);
}

static void test_what_cannot_be_tuned_is_refused(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    open_task(f);
    ak_tune_options options = {.finish_seconds = FINISH, .strategy = "heuristics"};
    ak_tune_result result;
    assert_int_equal(ak_tune(&result, f->task, f->db, &options, &err), AK_NOT_FOUND);
    assert_non_null(strstr(err.text, "heuristic"));

    /* A tolerance that lets anything pass. */
    change_problem(f, "\"rms\": \"4*eps\"", "\"rms\": \"3.00\" ");
    ak_task_close(f->task);
    f->task = NULL;
    open_task(f);
    options.strategy = "random";
    assert_int_equal(ak_tune(&result, f->task, f->db, &options, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "tolerance"));
}

static void test_new_kernels_are_all_or_nothing(void **state)
{
    fixture *f = need(state);
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_kernel_new(f->kernel, &err), AK_INVALID); /* exists */
    assert_int_equal(ak_kernel_new("/dev/null/x", &err), AK_IO);
    assert_int_equal(ak_kernel_new("no-dashes", &err), AK_INVALID);
    assert_int_equal(ak_kernel_new("", &err), AK_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_is_archived_told_and_resumed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel_keeps_what_there_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time_that_is_spent_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_sizes_can_be_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_tester_can_be_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_comparisons_are_of_one_task, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_small_space_is_exhausted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wrong_finalist_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_wrong_finalists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failures_are_data, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_winner_is_right_on_every_edge_case, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_impossible_is_rejected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ceilings_never_sink, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_tuned_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_new_kernels_are_all_or_nothing, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
