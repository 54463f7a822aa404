/*
 * test_replay.c: tests searches on recordings: the score, compared with an independent computation
 * (tests/data/recordings/derive.py), the virtual clock, budgets, and that equal seeds give equal
 * results. With AUTOKERNEL_SPACES it also tests the published recordings and their statistics.
 */
#include "archive_fixture.h"

#include "lab/score.h"
#include "strategy/strategy.h"

#define TINY AK_TEST_DATA "/recordings/tiny.json"

static ak_recording *tiny;

static int open_tiny(void **state)
{
    (void)state;
    return ak_recording_open(&tiny, TINY, NULL) == AK_OK ? 0 : -1;
}

static int close_tiny(void **state)
{
    (void)state;
    ak_recording_close(tiny);
    return 0;
}

static ak_simulation simulate(const ak_simulate_options *options)
{
    ak_simulation simulation = {0};
    assert_ok(ak_simulate(&simulation, tiny, options, err));
    return simulation;
}

static void near(double got, double wanted)
{
    if (!(fabs(got - wanted) <= 1e-12 * fabs(wanted))) {
        fail_msg("got %.17g, wanted %.17g", got, wanted);
    }
}

/* Makes the trace of one repeat that tries the configurations `first`, `first` + `step`, and so on,
   up to the cut-off. */
static ak_trace trace_of(const ak_recording *recording, int64_t first, int64_t step)
{
    ak_trace trace = {0};
    double spent = 0, best = INFINITY;
    int64_t count = (int64_t)recording->count;
    for (int64_t i = first; i >= 0 && i < count; i += step) {
        if (spent >= 1.1 * recording->facts.last_seconds) {
            break;
        }
        const ak_record *record = &recording->records[i];
        spent += record->seconds;
        if (record->status == AK_TRIAL_OK && record->value < best) {
            best = record->value;
            assert_ok(ak_grow((void **)&trace.items, &trace.capacity, trace.count + 1,
                              sizeof *trace.items, err));
            trace.items[trace.count++] =
                (ak_improvement){spent, ak_score_rank(recording, record->value)};
        }
    }
    return trace;
}

static void test_score(void **state)
{
    (void)state;
    ak_trace traces[3] = {trace_of(tiny, 0, 1), trace_of(tiny, (int64_t)tiny->count - 1, -1),
                          trace_of(tiny, 2, 3)};
    double score = 0;
    assert_true(ak_score(&score, tiny, traces, 1));
    near(score, -2.47119695933553);
    assert_true(ak_score(&score, tiny, traces, 3));
    near(score, -1.4466079009585258);
    /* the optimum at once is 1, and it is the most */
    ak_improvement at_once = {0, 0};
    ak_trace perfect = {&at_once, 1, 1};
    assert_true(ak_score(&score, tiny, &perfect, 1));
    near(score, 1);
    /* nothing found at all is worse than anything */
    ak_trace nothing = {0};
    double worst = 0;
    assert_true(ak_score(&worst, tiny, &nothing, 1));
    assert_true(worst < -2.5);
    for (size_t i = 0; i < 3; i++) {
        ak_free(traces[i].items);
    }
}

/* Exhaustive search tries configurations in the order of their indices, whatever the seed. */
static void test_exhaustive(void **state)
{
    (void)state;
    ak_simulation s = simulate(&(ak_simulate_options){.strategy = "exhaustive", .repeats = 3});
    assert_int_equal(s.count, 3);
    assert_true(s.scored);
    near(s.score, -2.47119695933553);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s.repeats[i].evaluations, 19);
        assert_int_equal(s.repeats[i].failed, 1);
        assert_true(s.repeats[i].found);
        near(s.repeats[i].best_value, 1.72);
        assert_true(s.repeats[i].seconds >= 1.1 * 9.206);
        assert_true(s.repeats[i].seconds < 1.1 * 9.206 + 0.7);
        assert_true(s.repeats[i].best_seconds <= s.repeats[i].seconds);
        ak_recorded best;
        ak_recording_at(&best, tiny, s.repeats[i].best);
        near(best.value, 1.72);
    }
    near(s.median_best, 1.72);
    ak_simulation_clear(&s);
}

static void same(const ak_simulation *a, const ak_simulation *b, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ak_simulated *x = &a->repeats[i], *y = &b->repeats[i];
        assert_int_equal(x->seed, y->seed);
        assert_int_equal(x->evaluations, y->evaluations);
        assert_int_equal(x->best, y->best);
        assert_int_equal(x->best_at, y->best_at);
        assert_true(x->seconds == y->seconds && x->best_seconds == y->best_seconds);
    }
}

/* Equal seeds give equal results with any number of threads, and further repeats do not change the
   first ones. */
static void test_seeds(void **state)
{
    (void)state;
    ak_simulate_options options = {.strategy = "random", .repeats = 12, .seed = 5, .jobs = 1};
    ak_simulation one = simulate(&options);
    options.jobs = 4;
    ak_simulation four = simulate(&options);
    same(&one, &four, 12);
    assert_true(one.score == four.score);
    options.repeats = 7;
    ak_simulation fewer = simulate(&options);
    same(&one, &fewer, 7);
    options.seed = 6;
    ak_simulation other = simulate(&options);
    assert_int_not_equal(one.repeats[0].seed, other.repeats[0].seed);
    assert_int_not_equal(one.repeats[0].seed, one.repeats[1].seed);
    ak_simulation_clear(&one);
    ak_simulation_clear(&four);
    ak_simulation_clear(&fewer);
    ak_simulation_clear(&other);
}

/* Every strategy can try a whole recording, one configuration at a time and in batches, and keeps
   within budgets. */
static void test_every_strategy(void **state)
{
    (void)state;
    for (size_t i = 0; ak_strategies[i] != NULL; i++) {
        ak_simulate_options options = {
            .strategy = ak_strategies[i]->name, .repeats = 2, .seconds = 1e6};
        if (ak_strategies[i]->await != NULL) { /* it would be something else under its name */
            ak_simulation none;
            ak_error err = AK_ERROR_INIT;
            assert_int_equal(ak_simulate(&none, tiny, &options, &err), AK_INVALID);
            assert_non_null(strstr(err.text, "language model"));
            continue;
        }
        ak_simulation all = simulate(&options);
        for (size_t r = 0; r < all.count; r++) {
            assert_int_equal(all.repeats[r].evaluations, 36);
            assert_int_equal(all.repeats[r].failed, 3);
            near(all.repeats[r].best_value, 1.04);
        }
        /* nothing is shared by strategies that work side by side */
        options.repeats = 6;
        options.evaluations = 20;
        options.jobs = 1;
        ak_simulation alone = simulate(&options);
        options.jobs = 3;
        ak_simulation together = simulate(&options);
        same(&alone, &together, 6);
        ak_simulation_clear(&alone);
        ak_simulation_clear(&together);
        options.batch = 5;
        options.evaluations = 12;
        ak_simulation some = simulate(&options);
        assert_int_equal(some.repeats[0].evaluations, 12);
        ak_simulation_clear(&all);
        ak_simulation_clear(&some);
    }
}

static void test_refused(void **state)
{
    fixture *f = fixture_of(state);
    ak_simulation s = {0};
    volatile int cancel = 1;
    assert_refused(ak_simulate(&s, tiny, &(ak_simulate_options){.strategy = "magic"}, err),
                   AK_NOT_FOUND, "there is no strategy \"magic\"");
    assert_refused(ak_simulate(&s, tiny, &(ak_simulate_options){.repeats = 1000000000}, err),
                   AK_LIMIT, "at most 100000 repeats");
    assert_refused(ak_simulate(&s, tiny, &(ak_simulate_options){.cancel = &cancel}, err),
                   AK_CANCELLED, "interrupted");
    static const char free_of_charge[] =
        "{\"tune_params_keys\": [\"n\"], \"cache\": {\"1\": {\"n\": 1, \"time\": 2},"
        "\"2\": {\"n\": 2, \"time\": 3}}}";
    ak_recording *recording = NULL;
    assert_ok(ak_fs_write(f->file, free_of_charge, strlen(free_of_charge), err));
    assert_ok(ak_recording_open(&recording, f->file, err));
    assert_refused(ak_simulate(&s, recording, NULL, err), AK_INVALID, "records no times");
    assert_null(s.repeats);
    /* with a limit of another kind it can be searched, but not scored */
    assert_ok(ak_simulate(&s, recording, &(ak_simulate_options){.seconds = 1, .strategy = "random"},
                          err));
    assert_false(s.scored);
    assert_int_equal(s.repeats[24].evaluations, 2);
    ak_simulation_clear(&s);
    ak_recording_close(recording);
}

static void test_no_memory(void **state)
{
    (void)state;
    ak_simulate_options options = {.strategy = "local", .repeats = 2, .jobs = 1};
    for (size_t nth = 1;; nth++) {
        ak_simulation s = {0};
        ak_error err = AK_ERROR_INIT;
        ak_alloc_fail_at(nth);
        ak_status status = ak_simulate(&s, tiny, &options, &err);
        ak_alloc_fail_at(0);
        bool scored = s.scored; /* without memory for it, there is no score */
        ak_simulation_clear(&s);
        if (status == AK_OK && scored) {
            return;
        }
        if (status != AK_NO_MEMORY && !(status == AK_OK && !scored)) {
            fail_msg("allocation %zu: %s", nth, err.text);
        }
    }
}

/* ---- the published recordings ---------------------------------------------------------------- */

static double member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) {
        fail_msg("no number \"%s\"", key);
    }
    return json_number_value(value);
}

static void check_published(const char *folder, const char *line, size_t length)
{
    json_t *wanted = NULL;
    char path[AK_PATH_MAX];
    ak_recording *recording = NULL;
    assert_ok(ak_json_parse(&wanted, line, length, "expected.jsonl", err));
    assert_ok(ak_fs_join(path, folder, json_string_value(json_object_get(wanted, "file")), err));
    assert_ok(ak_recording_open(&recording, path, err));
    const ak_recording_facts *facts = ak_recording_describe(recording);
    near((double)facts->configurations, member(wanted, "configs"));
    near((double)facts->ok, member(wanted, "valid"));
    near(facts->optimum, member(wanted, "optimum"));
    near(facts->median, member(wanted, "median"));
    near(facts->seconds_median, member(wanted, "cost_median_s"));
    near(facts->seconds_each, member(wanted, "cost_per_eval_s"));
    const json_t *first = json_object_get(wanted, "cutoff01"),
                 *last = json_object_get(wanted, "cutoff95");
    near(facts->maximise ? -facts->target : facts->target,
         json_number_value(json_array_get(last, 0)));
    near((double)facts->evaluations, json_number_value(json_array_get(last, 1)));
    near(facts->last_seconds, json_number_value(json_array_get(last, 2)));
    near(facts->first_seconds, json_number_value(json_array_get(first, 2)));
    for (size_t i = 0; i < 4; i++) {
        double quarter = 0.25 * (double)(i + 1);
        near(ak_recording_baseline(recording, facts->last_seconds * quarter),
             json_number_value(json_array_get(json_object_get(wanted, "baseline_at_quarters"), i)));
    }
    assert_int_equal(ak_space_count(ak_recording_space(recording)), facts->configurations);
    ak_recording_close(recording);
    json_decref(wanted);
}

static void test_published(void **state)
{
    (void)state;
    const char *folder = ak_env("AUTOKERNEL_SPACES");
    char path[AK_PATH_MAX], *text = NULL;
    if (folder == NULL) {
        skip();
    }
    assert_ok(ak_fs_join(path, folder, "expected.jsonl", err));
    assert_ok(ak_fs_read(&text, NULL, path, 1 << 20, err));
    size_t lines = 0;
    for (const char *line = text; *line != 0; lines++) {
        size_t length = strcspn(line, "\n");
        check_published(folder, line, length);
        line += line[length] == '\n' ? length + 1 : length;
    }
    assert_true(lines >= 6);
    ak_free(text);
}

/* Scores of one repeat of exhaustive search equal those of the reference implementation that comes
   with the recordings. */
static void test_published_scores(void **state)
{
    (void)state;
    const char *folder = ak_env("AUTOKERNEL_SPACES");
    static const struct {
        const char *file;
        double score;
    } known[] = {{"pnpoly/RTX_3090.json.gz", 0.018235327249980445},
                 {"convolution_milo/A100.json.gz", -0.8186771975279451},
                 {"convolution_milo/A4000.json.gz", -0.6388896016608171}};
    if (folder == NULL) {
        skip();
    }
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char path[AK_PATH_MAX];
        ak_recording *recording = NULL;
        ak_simulation s = {0};
        ak_simulate_options options = {.strategy = "exhaustive", .repeats = 1};
        assert_ok(ak_fs_join(path, folder, known[i].file, err));
        assert_ok(ak_recording_open(&recording, path, err));
        assert_ok(ak_simulate(&s, recording, &options, err));
        near(s.score, known[i].score);
        ak_simulation_clear(&s);
        ak_recording_close(recording);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_exhaustive),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_every_strategy),
        cmocka_unit_test_setup_teardown(test_refused, fixture_open, fixture_close),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_published_scores),
    };
    fixture_fail_json_too();
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
