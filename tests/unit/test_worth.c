/* test_worth.c: tests the figures of what language models contributed, and the outcome of each
   prediction in conversations. Times come from the finish or, without one, from the repeated
   measurements of the search, so that one trial on a busy machine does not distort them. */
#include "archive_fixture.h"

#include "base/json.h"

static const char run_id[] = "00000000000000aa";

/* The default took 1463 ms in the search, because of a disturbance, and 1.5 ms in the finish. */
static const char result[] =
    "{\"contestants\": ["
    "{\"name\": \"tuned\", \"config\": {\"A\": 2}, \"ms\": 1.0, \"ci_ms\": [0.99, 1.01]},"
    "{\"name\": \"default\", \"config\": {\"A\": 1}, \"ms\": 1.5, \"ci_ms\": [1.48, 1.52]},"
    "{\"name\": \"OpenBLAS\", \"config\": null, \"ms\": 1.2, \"ci_ms\": [1.1, 1.3]}]}";

/* The result of a run that was interrupted after the search had measured the default again. */
static const char interrupted[] =
    "{\"contestants\": [], \"again\": ["
    "{\"config\": {\"A\": 1}, \"ms\": 1.02, \"ci_ms\": [1.01, 1.03]}]}";

static int64_t add(fixture *f, const char *config, const char *strategy, const char *model,
                   int64_t parent, double predicted, double ms, double spread)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%s", config);
    ak_trial trial = {.run = (char *)(uintptr_t)run_id,
                      .kernel = (char[]){"k"},
                      .implementation = (char[]){"host"},
                      .device = (char[]){"host"},
                      .size = (char[]){"n=1"},
                      .dtype = (char[]){"f32"},
                      .choices = (char[]){""},
                      .config = text,
                      .strategy = (char *)(uintptr_t)strategy,
                      .model = (char *)(uintptr_t)model,
                      .generation = model == NULL ? 0 : 1,
                      .parent = parent,
                      .predicted_gain = predicted,
                      .status = AK_TRIAL_OK,
                      .median_ms = ms,
                      .ci_low_ms = ms / spread,
                      .ci_high_ms = ms * spread};
    assert_ok(ak_archive_add_trial(f->archive, &trial, err));
    ak_free(trial.timestamp);
    return trial.id;
}

static const char proposals[] = "[{\"verdict\": \"accepted\", \"config\": \"A=2\"},"
                                "{\"verdict\": \"accepted\", \"config\": \"A=3\"}]";

static json_t *worth_now(fixture *f)
{
    char *text = NULL;
    json_t *worth = NULL;
    ak_archive_filter all = {0};
    assert_ok(ak_llm_worth(&text, f->archive, &all, err));
    assert_ok(ak_json_parse(&worth, text, strlen(text), "worth", err));
    ak_text_free(text);
    return worth;
}

static json_t *worth_with(fixture *f, const char *finish, double default_ms)
{
    ak_run run = {.id = (char *)(uintptr_t)run_id,
                  .started = (char[]){"2026-11-21T10:00:00.000Z"},
                  .kernel = (char[]){"k"},
                  .implementation = (char[]){"host"},
                  .device = (char[]){"host"},
                  .size = (char[]){"n=1"},
                  .dtype = (char[]){"f32"},
                  .choices = (char[]){""}};
    ak_call call = {.run = (char *)(uintptr_t)run_id,
                    .generation = 1,
                    .started = (char[]){"2026-11-21T10:00:00.000Z"},
                    .model = (char[]){"m"},
                    .system = (char[]){"s"},
                    .brief = (char[]){"b"},
                    .state = (char[]){"t"},
                    .proposals = (char *)(uintptr_t)proposals,
                    .input_tokens = 1000,
                    .output_tokens = 50};
    assert_ok(ak_archive_add_run(f->archive, &run, err));
    assert_ok(ak_archive_add_call(f->archive, &call, err));
    int64_t first = add(f, "A=1", "default", NULL, 0, 0, default_ms, 1.02);
    add(f, "A=2", "llm", "m", first, 0.1, 1.0, 1.02);
    add(f, "A=3", "llm", "m", first, 0.1, 1.4, 1.3); /* in no finish, and measured badly */
    if (finish != NULL) {
        assert_ok(ak_archive_end_run(f->archive, run_id, "2026-11-21T10:01:00.000Z", finish, err));
    }
    return worth_now(f);
}

static json_t *worth_of(fixture *f, const char *finish)
{
    return worth_with(f, finish, 1463);
}

static void the_finish_counts(void **state)
{
    json_t *worth = worth_of(fixture_of(state), result);
    const json_t *model = json_array_get(json_object_get(worth, "proposers"), 1);
    const json_t *interval = json_object_get(model, "best_speed_ci");
    const json_t *calibration = json_object_get(worth, "calibration");
    assert_string_equal(ak_json_text_at(model, "strategy"), "llm");
    assert_true(fabs(ak_json_number_at(model, "best_speed") - 1.5) < 1e-9);
    assert_true(fabs(json_number_value(json_array_get(interval, 0)) - 1.48 / 1.01) < 1e-9);
    assert_true(fabs(json_number_value(json_array_get(interval, 1)) - 1.52 / 0.99) < 1e-9);
    /* One prediction is judged, by the finish; of the other nothing can be said. */
    assert_true(ak_json_number_at(calibration, "predicted") == 2);
    assert_true(ak_json_number_at(calibration, "judged") == 1);
    assert_true(ak_json_number_at(calibration, "undecided") == 1);
    assert_true(ak_json_number_at(calibration, "faster") == 1);
    assert_true(fabs(ak_json_number_at(calibration, "mean_error") - (0.5 - 0.1 / 0.9)) < 1e-9);
    json_decref(worth);
}

/* The finish had a busy machine, in which the default took twice its time of the search. A
   configuration that was measured in the search alone is not twice as fast for that. */
static void a_busy_finish_makes_nothing_fast(void **state)
{
    static const char busy[] = "{\"contestants\": ["
                               "{\"config\": {\"A\": 2}, \"ms\": 3.1, \"ci_ms\": [3.0, 3.2]},"
                               "{\"config\": {\"A\": 1}, \"ms\": 3.0, \"ci_ms\": [2.9, 3.1]}]}";
    json_t *worth = worth_with(fixture_of(state), busy, 1.5);
    const json_t *model = json_array_get(json_object_get(worth, "proposers"), 1);
    const json_t *interval = json_object_get(model, "best_speed_ci");
    assert_true(fabs(ak_json_number_at(model, "best_speed") - 1.5 / 1.4) < 1e-9);
    assert_true(json_number_value(json_array_get(interval, 0)) < 1);
    assert_true(fabs(json_number_value(json_array_get(interval, 1)) - 3.1 / (1.4 / 1.3)) < 1e-9);
    json_decref(worth);
}

/* Trials of an older archive that is merged later, with higher ids and earlier times, change no
   figure. */
static void older_trials_change_nothing(void **state)
{
    fixture *f = fixture_of(state);
    json_decref(worth_of(f, result));
    ak_trial older = literal_trial("A=1", 1);
    older.timestamp = (char[]){"2020-01-01T00:00:00.000Z"};
    (void)add_trial(f->archive, older);
    json_t *worth = worth_now(f);
    assert_true(ak_json_number_at(json_object_get(worth, "calibration"), "judged") == 1);
    json_decref(worth);
}

/* Only a file that was imported can promise to save all of the time or more. Such a promise counts
   as none, and is not judged as one of no gain. */
static void impossible_gains_are_no_predictions(void **state)
{
    fixture *f = fixture_of(state);
    json_decref(worth_of(f, result));
    add(f, "A=2", "llm", "m", 1, 1.5, 1.0, 1.02);
    json_t *worth = worth_now(f);
    const json_t *calibration = json_object_get(worth, "calibration");
    assert_true(ak_json_number_at(calibration, "predicted") == 2);
    assert_true(ak_json_number_at(calibration, "judged") == 1);
    assert_true(fabs(ak_json_number_at(calibration, "mean_error") - (0.5 - 0.1 / 0.9)) < 1e-9);
    json_decref(worth);
}

/* For a run without a finish, the times and intervals of its trials count. */
static void without_a_finish_trials_count(void **state)
{
    json_t *worth = worth_of(fixture_of(state), NULL);
    const json_t *model = json_array_get(json_object_get(worth, "proposers"), 1);
    assert_true(fabs(ak_json_number_at(model, "best_speed") - 1463) < 1e-6);
    assert_true(ak_json_number_at(json_object_get(worth, "calibration"), "undecided") == 1);
    json_decref(worth);
}

/* Nothing is paid for a gain whose interval reaches 1, because it may be none. */
static void undecided_gains_have_no_price(void **state)
{
    (void)state;
    static const struct {
        const char *finish;
        double gained, tokens; /* 0 tokens: null */
    } cases[] = {{result, 50, 21}, {interrupted, 0, 0}};
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        void *own = NULL;
        assert_int_equal(fixture_open_archive(&own), 0);
        json_t *worth = worth_of(fixture_of(&own), cases[i].finish);
        const json_t *calls = json_object_get(worth, "calls");
        assert_true(fabs(ak_json_number_at(calls, "gained_pct") - cases[i].gained) < 1e-6);
        assert_int_equal(json_is_null(json_object_get(calls, "tokens_per_pct")),
                         cases[i].tokens == 0);
        assert_true(fabs(ak_json_number_at(calls, "tokens_per_pct") - cases[i].tokens) < 1e-6);
        json_decref(worth);
        assert_int_equal(fixture_close(&own), 0);
    }
}

/* `llm show` uses the same times as `stats`. It says where they come from and what is not
   decided. */
static void conversations_say_the_same(void **state)
{
    static const struct {
        const char *finish;
        struct {
            const char *measured;
            double ms, gain;
            bool decided;
        } of[2];
    } cases[] = {
        {result, {{"finish", 1.0, 0.5, true}, {"search", 1.4, 1.5 / 1.4 - 1, false}}},
        {interrupted, {{"search", 1.0, 0.02, false}, {"search", 1.4, 1.02 / 1.4 - 1, true}}},
        {NULL, {{"search", 1.0, 1462, true}, {"search", 1.4, 1463 / 1.4 - 1, true}}}};
    (void)state;
    for (size_t i = 0; i < AK_COUNT(cases); i++) {
        void *own = NULL;
        char *text = NULL;
        json_t *talk = NULL;
        assert_int_equal(fixture_open_archive(&own), 0);
        fixture *f = fixture_of(&own);
        json_decref(worth_of(f, cases[i].finish));
        assert_ok(ak_llm_conversation(&text, f->archive, NULL, err));
        assert_ok(ak_json_parse(&talk, text, strlen(text), "talk", err));
        ak_text_free(text);
        const json_t *call = json_array_get(json_object_get(talk, "calls"), 0);
        for (size_t p = 0; p < 2; p++) {
            const json_t *outcome =
                json_object_get(json_array_get(json_object_get(call, "proposals"), p), "outcome");
            assert_string_equal(ak_json_text_at(outcome, "measured"), cases[i].of[p].measured);
            assert_true(fabs(ak_json_number_at(outcome, "ms") - cases[i].of[p].ms) < 1e-9);
            assert_true(fabs(ak_json_number_at(outcome, "gain") - cases[i].of[p].gain) < 1e-9);
            assert_int_equal(json_is_true(json_object_get(outcome, "decided")),
                             cases[i].of[p].decided);
        }
        json_decref(talk);
        assert_int_equal(fixture_close(&own), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_finish_counts, fixture_open_archive, fixture_close),
        cmocka_unit_test_setup_teardown(without_a_finish_trials_count, fixture_open_archive,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(a_busy_finish_makes_nothing_fast, fixture_open_archive,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(older_trials_change_nothing, fixture_open_archive,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(impossible_gains_are_no_predictions, fixture_open_archive,
                                        fixture_close),
        cmocka_unit_test(undecided_gains_have_no_price),
        cmocka_unit_test(conversations_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
