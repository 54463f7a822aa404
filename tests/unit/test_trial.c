/* test_trial.c: tests the trial as a value and as JSON, configurations as text and as JSON, and
   UTF-8. */
#include "archive_fixture.h"

#include "archive/config_text.h"
#include "formats/format.h"
#include "base/utf8.h"

static void test_status(void **state)
{
    (void)state;
    ak_trial_status status;
    for (int i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        assert_true(ak_trial_status_parse(&status, ak_trial_status_text((ak_trial_status)i)));
        assert_int_equal(status, i);
    }
    assert_string_equal(ak_trial_status_text(AK_TRIAL_WRONG_RESULT), "wrong_result");
    assert_string_equal(ak_trial_status_text((ak_trial_status)99), "unknown status");
    assert_false(ak_trial_status_parse(&status, "fine"));
    assert_false(ak_trial_status_parse(&status, ""));
    assert_false(ak_trial_status_parse(&status, "OK"));
}

static void test_copy(void **state)
{
    (void)state;
    double samples[3];
    ak_trial trial = full_trial(samples), copy;
    trial.id = 7;
    trial.parent = 5;
    assert_ok(ak_trial_copy(&copy, &trial, err));
    assert_same_trial(&copy, &trial);
    assert_int_equal(copy.id, 7);
    assert_int_equal(copy.parent, 5);
    assert_ptr_not_equal(copy.config, trial.config);
    assert_ptr_not_equal(copy.samples_ms, trial.samples_ms);
    ak_trial_clear(&copy);
    assert_null(copy.config);
    ak_trial_clear(&copy);
    ak_trial_clear(NULL);
    ak_trial empty = {0};
    assert_ok(ak_trial_copy(&copy, &empty, err));
    assert_null(copy.kernel);
}

static void test_json_round_trip(void **state)
{
    (void)state;
    double samples[3];
    ak_trial trials[] = {full_trial(samples), literal_trial("", 0), literal_trial("A=1", 2.5)};
    trials[0].parent = 9;
    trials[0].id = 11;
    for (size_t i = 0; i < 3; i++) {
        json_t *object;
        ak_trial back;
        assert_ok(ak_trial_to_json(&object, &trials[i], err));
        /* Through text, as in a file. */
        char *text;
        assert_ok(ak_json_text(&text, object, err));
        json_decref(object);
        assert_ok(ak_json_parse(&object, text, strlen(text), "text", err));
        assert_ok(ak_trial_from_json(&back, object, "here", err));
        ak_trial_set_range(&back);
        trials[i].timestamp = trials[i].timestamp == NULL ? (char *)"" : trials[i].timestamp;
        assert_same_trial(&back, &trials[i]);
        assert_int_equal(back.id, trials[i].id);
        assert_int_equal(back.parent, trials[i].parent);
        ak_trial_clear(&back);
        json_decref(object);
        ak_free(text);
    }
}

/* The range of three samples covers their median with 75 %, that of six with 97 %. The times of a
   finish have their own interval. */
static void test_few_samples_have_no_interval(void **state)
{
    (void)state;
    static double samples[6] = {1, 1.1, 1.2, 1.3, 1.4, 1.5};
    ak_trial trial = {.samples_ms = samples, .ci_low_ms = 1, .ci_high_ms = 1.5};
    for (trial.sample_count = 1; trial.sample_count <= 6; trial.sample_count++) {
        json_t *interval = ak_trial_interval(&trial);
        assert_int_equal(json_is_null(interval), trial.sample_count < 6);
        json_decref(interval);
    }
    trial.sample_count = 3;
    trial.search_ms = 1;
    assert_int_equal(ak_trial_few_samples(&trial), 0);
}

/* What is written names no interval, and what reads it knows the range again. */
static void test_few_samples_in_json(void **state)
{
    (void)state;
    double samples[3];
    ak_trial trial = full_trial(samples), back;
    json_t *object;
    assert_ok(ak_trial_to_json(&object, &trial, err));
    assert_true(json_is_null(json_object_get(object, "ci_ms")));
    assert_ok(ak_trial_from_json(&back, object, "here", err));
    ak_trial_set_range(&back);
    assert_true(back.ci_low_ms == samples[2] && back.ci_high_ms == samples[1]);
    json_decref(object);
    ak_trial_clear(&back);
}

static void test_json_members(void **state)
{
    (void)state;
    ak_trial failed = literal_trial("A=1", 0), fine = literal_trial("A=1", 2.0);
    json_t *object;
    assert_ok(ak_trial_to_json(&object, &failed, err));
    assert_true(json_is_null(json_object_get(object, "ms"))); /* not measured */
    assert_true(json_is_null(json_object_get(object, "ci_ms")));
    assert_true(json_is_null(json_object_get(object, "id")));
    assert_string_equal(json_string_value(json_object_get(object, "status")), "compile_error");
    json_decref(object);
    assert_ok(ak_trial_to_json(&object, &fine, err));
    assert_true(json_real_value(json_object_get(object, "ms")) == 2.0);
    assert_true(json_real_value(json_array_get(json_object_get(object, "ci_ms"), 1)) == 2.02);
    assert_true(json_is_null(json_object_get(object, "reason")));
    json_decref(object);
    failed.reason = (char *)"caf\xe9";
    assert_ok(ak_trial_to_json(&object, &failed, err));
    assert_string_equal(json_string_value(json_object_get(object, "reason")), "caf\xef\xbf\xbd");
    json_decref(object);
    failed.config = (char *)"A=\xff";
    assert_refused(ak_trial_to_json(&object, &failed, err), AK_INVALID, "config");
}

static void test_json_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"[]", "object"},
        {"{}", "status"},
        {"{\"kernel\":\"k\",\"config\":\"\"}", "status"},
        {"{\"config\":\"\",\"status\":\"ok\"}", "kernel"},
        {"{\"kernel\":\"\",\"config\":\"\",\"status\":\"ok\"}", "kernel"},
        {"{\"kernel\":1,\"config\":\"\",\"status\":\"ok\"}", "kernel"},
        {"{\"kernel\":\"k\",\"config\":{},\"status\":\"ok\"}", "config"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"fine\"}", "fine"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":3}", "status"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"mss\":1}", "did you mean \"ms\""},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"ms\":\"1\"}", "ms"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"ms\":-1}", "negative"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"ci_ms\":[1]}", "ci_ms"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"ci_ms\":[1,true]}", "ci_ms"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"samples_ms\":[\"a\"]}", "samples"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"ms\":1,\"samples_ms\":[-1]}",
         "sample 1"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"samples_ms\":{}}", "samples"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"registers\":3000000000}",
         "registers"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"generation\":1.5}", "generation"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"compile_ns\":-5}", "compile_ns"},
        {"{\"kernel\":\"k\",\"config\":\"\",\"status\":\"ok\",\"id\":\"x\"}", "id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *object = json_loads(cases[i].text, 0, NULL);
        ak_trial trial;
        assert_non_null(object);
        assert_refused(ak_trial_from_json(&trial, object, "here", err), AK_INVALID, cases[i].part);
        assert_refused(ak_trial_from_json(&trial, object, "here", err), AK_INVALID, "here");
        json_decref(object);
    }
}

static void test_config_text(void **state)
{
    (void)state;
    json_t *object;
    char *back;
    const char *text = "MR=6,alpha=0.5,fast=True,slow=False,cc=gcc,opt=-O3 -Wl,-z,now,n=-3,e=,"
                       "plus=+5,octal=007,big=99999999999999999999,two=2.0,half=0.50,one=1e0,"
                       "tiny=1e-07,zero=-0,many=1E3,hex=0x10";
    assert_ok(ak_config_text_to_json(&object, text, "here", err));
    assert_int_equal(json_integer_value(json_object_get(object, "MR")), 6);
    assert_true(json_real_value(json_object_get(object, "alpha")) == 0.5);
    assert_true(json_is_true(json_object_get(object, "fast")));
    assert_true(json_is_false(json_object_get(object, "slow")));
    assert_string_equal(json_string_value(json_object_get(object, "opt")), "-O3 -Wl,-z,now");
    assert_int_equal(json_integer_value(json_object_get(object, "n")), -3);
    assert_string_equal(json_string_value(json_object_get(object, "e")), "");
    assert_string_equal(json_string_value(json_object_get(object, "plus")), "+5");
    assert_string_equal(json_string_value(json_object_get(object, "octal")), "007");
    assert_true(json_is_real(json_object_get(object, "two")));
    assert_true(json_real_value(json_object_get(object, "tiny")) == 1e-7);
    /* What is no number as it is written stays a text. */
    static const char *const texts[] = {"big", "half", "one", "zero", "many", "hex"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_true(json_is_string(json_object_get(object, texts[i])));
    }
    assert_ok(ak_config_text_from_json(&back, object, NULL, "here", err));
    assert_string_equal(back,
                        "MR=6,alpha=0.5,fast=True,slow=False,cc=gcc,opt=-O3 -Wl,-z,now,n=-3,"
                        "e=,plus=+5,octal=007,big=99999999999999999999,two=2.0,half=0.50,one=1e0,"
                        "tiny=1e-07,zero=-0,many=1E3,hex=0x10");
    ak_free(back);
    json_decref(object);
    assert_ok(ak_config_text_to_json(&object, "", "here", err));
    assert_int_equal(json_object_size(object), 0);
    assert_ok(ak_config_text_from_json(&back, object, NULL, "here", err));
    assert_string_equal(back, "");
    ak_free(back);
    json_decref(object);
    assert_refused(ak_config_text_to_json(&object, "MR", "here", err), AK_INVALID, "here");
    assert_refused(ak_config_text_to_json(&object, "=3", "here", err), AK_INVALID, "here");
    assert_refused(ak_config_text_to_json(&object, "a=1,a=2", "here", err), AK_INVALID, "twice");
    assert_refused(ak_config_text_to_json(&object, "a=\xff", "here", err), AK_INVALID, "UTF-8");
    static const char *const bad[] = {
        "{\"a b\": 1}",  "{\"\": 1}",          "{\"a\": []}",
        "{\"a\": null}", "{\"a\": \"x,b=1\"}", "{\"1a\": 1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        object = json_loads(bad[i], 0, NULL);
        assert_refused(ak_config_text_from_json(&back, object, NULL, "here", err), AK_INVALID,
                       "here");
        json_decref(object);
    }
}

static void test_real(void **state)
{
    (void)state;
    static const double values[] = {0.1, 1.0 / 3.0, 1e300, 5e-324, 123456789.0, 46.072413, 1e22};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        ak_buf text = AK_BUF(64);
        double back;
        ak_buf_real(&text, values[i]);
        assert_true(ak_text_real(&back, text.data));
        assert_true(back == values[i]);
        ak_buf_free(&text);
    }
    ak_buf text = AK_BUF(64);
    ak_buf_real(&text, 0.1);
    assert_string_equal(text.data, "0.1"); /* not 0.10000000000000001 */
    ak_buf_free(&text);
}

static void test_timestamp(void **state)
{
    (void)state;
    static const char *const good[][2] = {
        {"2023-02-15 02:00:02.984915+00:00", "2023-02-15T02:00:02.984Z"},
        {"2026-11-21T10:54:22.123Z", "2026-11-21T10:54:22.123Z"},
        {"2026-11-21T10:54:22", "2026-11-21T10:54:22.000Z"},
        {"2024-01-01 00:30:00.5+01:00", "2023-12-31T23:30:00.500Z"},
        {"2024-02-29T23:59:59-0230", "2024-03-01T02:29:59.000Z"},
    };
    static const char *const bad[] = {
        "",
        "yesterday",
        "2023-02-15",
        "2023-13-15T02:00:02Z",
        "2023-02-15T25:00:02Z",
        "2023-02-15T02:00:02X",
        "2023-02-15T02:00:02+1",
        "2023-02-15T02:00:02+99:00",
        "0023-02-15T02:00:02Z",
        "2023-02-15T02:00:02Zjunk",
    };
    char out[AK_TIMESTAMP_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(ak_format_timestamp(out, good[i][0]));
        assert_string_equal(out, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(ak_format_timestamp(out, bad[i]));
    }
}

static void test_utf8(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "abc",
                                       "\xc3\xa9",
                                       "\xe2\x82\xac",
                                       "\xf0\x9f\x98\x80",
                                       "\xed\x9f\xbf",
                                       "\xf4\x8f\xbf\xbf",
                                       "\xef\xbf\xbf"};
    static const char *const bad[] = {
        "\x80",
        "\xc3",
        "\xc0\xaf",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xe2\x82",
        "\xff",
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(ak_utf8_valid(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(ak_utf8_valid(bad[i]));
        char *clean = ak_utf8_clean(bad[i]);
        assert_true(ak_utf8_valid(clean));
        assert_true(clean[0] == '\xef');
        ak_free(clean);
    }
    char *clean = ak_utf8_clean("a\xff"
                                "b\xc3\xa9");
    assert_string_equal(clean, "a\xef\xbf\xbd"
                               "b\xc3\xa9");
    ak_free(clean);
}

static void test_no_memory(void **state)
{
    (void)state;
    double samples[3];
    ak_trial trial = full_trial(samples);
    trial.reason = (char *)"\xff";
    ak_status status = AK_NO_MEMORY;
    size_t nth;
    for (nth = 1; status == AK_NO_MEMORY; nth++) {
        ak_trial copy = {0}, back = {0};
        json_t *object = NULL, *config = NULL;
        char *text = NULL;
        ak_alloc_fail_at(nth);
        status = ak_trial_copy(&copy, &trial, NULL);
        status = status == AK_OK ? ak_trial_to_json(&object, &copy, NULL) : status;
        status = status == AK_OK ? ak_trial_from_json(&back, object, "here", NULL) : status;
        status = status == AK_OK ? ak_config_text_to_json(&config, copy.config, "x", NULL) : status;
        status =
            status == AK_OK ? ak_config_text_from_json(&text, config, NULL, "x", NULL) : status;
        ak_alloc_fail_at(0);
        ak_trial_clear(&copy);
        ak_trial_clear(&back);
        json_decref(object);
        json_decref(config);
        ak_free(text);
    }
    assert_int_equal(status, AK_OK);
    assert_true(nth > 20);
}

int main(void)
{
    fixture_fail_json_too();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status),
        cmocka_unit_test(test_copy),
        cmocka_unit_test(test_json_round_trip),
        cmocka_unit_test(test_few_samples_have_no_interval),
        cmocka_unit_test(test_few_samples_in_json),
        cmocka_unit_test(test_json_members),
        cmocka_unit_test(test_json_refusals),
        cmocka_unit_test(test_config_text),
        cmocka_unit_test(test_real),
        cmocka_unit_test(test_timestamp),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
