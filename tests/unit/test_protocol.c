/* test_protocol.c: tests lines and messages of the wire protocol: whole, in pieces, too long, or
   not JSON; over a pipe, also a broken one. Every message is read back as it was written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "worker/message.h"

static void feed(ak_line_reader *reader, const char *text)
{
    assert_int_equal(ak_line_reader_feed(reader, text, strlen(text), NULL), AK_OK);
}

static void a_line_comes_in_pieces(void **state)
{
    (void)state;
    ak_line_reader reader;
    json_t *message = NULL;
    ak_line_reader_init(&reader);
    feed(&reader, "{\"id\"");
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_null(message);
    feed(&reader, ": 1}\n{\"id\": 2}\n{\"id");
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_int_equal(json_integer_value(json_object_get(message, "id")), 1);
    json_decref(message);
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_int_equal(json_integer_value(json_object_get(message, "id")), 2);
    json_decref(message);
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_null(message);
    feed(&reader, "\": 3}\n");
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_int_equal(json_integer_value(json_object_get(message, "id")), 3);
    json_decref(message);
    ak_line_reader_free(&reader);
}

static void what_is_not_an_object_is_refused(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "\n", "[1]\n", "7\n", "{\"a\": }\n", "{}x\n", "{\n", "{\"a\": 1, \"a\": 2}\n", "\xff\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        ak_line_reader reader;
        json_t *message = NULL;
        ak_error err = AK_ERROR_INIT;
        ak_line_reader_init(&reader);
        feed(&reader, lines[i]);
        assert_int_equal(ak_line_reader_next(&message, &reader, &err), AK_INVALID);
        assert_null(message);
        assert_non_null(strstr(err.text, "wire protocol"));
        feed(&reader, "{}\n"); /* the reader itself is still sound */
        assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
        assert_non_null(message);
        json_decref(message);
        ak_line_reader_free(&reader);
    }
}

static void a_line_has_a_limit(void **state)
{
    (void)state;
    ak_line_reader reader;
    ak_error err = AK_ERROR_INIT;
    char *piece = ak_alloc(1, 65536);
    ak_status status = AK_OK;
    size_t fed = 0;
    memset(piece, ' ', 65536);
    ak_line_reader_init(&reader);
    while (status == AK_OK && fed < 2 * (size_t)AK_LINE_MAX) {
        status = ak_line_reader_feed(&reader, piece, 65536, &err);
        fed += 65536;
    }
    assert_int_equal(status, AK_LIMIT);
    assert_true(fed > AK_LINE_MAX && fed <= AK_LINE_MAX + 65536u);
    ak_line_reader_free(&reader);
    ak_free(piece);
}

/* A line that is a few bytes too long is refused even if its end comes with its last bytes. A relay
   would otherwise take it for an empty line, which is a beat. The line before it is whole. */
static void a_line_that_ends_is_limited_too(void **state)
{
    (void)state;
    for (size_t beyond = 0; beyond < 2; beyond++) {
        ak_line_reader reader;
        ak_error err = AK_ERROR_INIT;
        ak_buf line = AK_BUF(AK_LINE_MAX);
        const size_t length = AK_LINE_MAX + beyond;
        char *text = ak_alloc(1, length + 1);
        memset(text, 'x', length);
        text[length] = '\n';
        ak_line_reader_init(&reader);
        feed(&reader, "{}\n");
        assert_int_equal(ak_line_reader_feed(&reader, text, length - 10, &err), AK_OK);
        assert_int_equal(ak_line_reader_feed(&reader, text + length - 10, 11, &err),
                         beyond == 0 ? AK_OK : AK_LIMIT);
        assert_true(ak_line_reader_line(&line, &reader));
        assert_int_equal(line.length, 2);
        assert_int_equal(ak_line_reader_line(&line, &reader), beyond == 0);
        assert_int_equal(line.length, beyond == 0 ? length : 0);
        ak_buf_free(&line);
        ak_line_reader_free(&reader);
        ak_free(text);
    }
}

/* The time to read a line grows with its length and not with the square of it, which would take
   minutes here. */
static void a_long_line_arrives_in_small_pieces(void **state)
{
    (void)state;
    static const char begin[] = "{\"text\": \"", end[] = "\"}\n{\"next\": 1}\n";
    ak_line_reader reader;
    json_t *message = NULL;
    ak_line_reader_init(&reader);
    feed(&reader, begin);
    for (size_t i = sizeof begin + 1; i < AK_LINE_MAX; i++) {
        feed(&reader, "x");
        assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
        assert_null(message);
    }
    feed(&reader, end);
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_int_equal(json_string_length(json_object_get(message, "text")),
                     AK_LINE_MAX - sizeof begin - 1);
    json_decref(message);
    assert_int_equal(ak_line_reader_next(&message, &reader, NULL), AK_OK);
    assert_int_equal(json_integer_value(json_object_get(message, "next")), 1);
    json_decref(message);
    ak_line_reader_free(&reader);
}

static void messages_cross_a_pipe(void **state)
{
    (void)state;
    int ends[2];
    ak_line_reader reader;
    json_t *sent = json_pack("{s:s, s:i}", "op", "probe", "id", 5), *got = NULL;
    assert_int_equal(pipe(ends), 0);
    ak_line_reader_init(&reader);
    assert_int_equal(ak_wire_send(ends[1], sent, NULL), AK_OK);
    assert_int_equal(ak_wire_receive(&got, ends[0], &reader, NULL), AK_OK);
    assert_true(json_equal(sent, got));
    json_decref(got);
    (void)close(ends[1]);
    got = sent;
    assert_int_equal(ak_wire_receive(&got, ends[0], &reader, NULL), AK_OK);
    assert_null(got); /* the end of the stream */
    (void)close(ends[0]);
    ak_line_reader_free(&reader);
    json_decref(sent);
}

static void half_a_message_is_a_crash(void **state)
{
    (void)state;
    int ends[2];
    ak_line_reader reader;
    json_t *got = NULL;
    assert_int_equal(pipe(ends), 0);
    ak_line_reader_init(&reader);
    assert_int_equal(write(ends[1], "{\"id\":", 6), 6);
    (void)close(ends[1]);
    assert_int_equal(ak_wire_receive(&got, ends[0], &reader, NULL), AK_CRASHED);
    (void)close(ends[0]);
    ak_line_reader_free(&reader);
}

/* Writing to a worker that has ended gives an error and not SIGPIPE, which would end this test. */
static void writing_to_the_dead_is_an_error(void **state)
{
    (void)state;
    int ends[2];
    json_t *message = json_object();
    assert_int_equal(pipe(ends), 0);
    (void)close(ends[0]);
    assert_int_equal(ak_wire_send(ends[1], message, NULL), AK_CRASHED);
    assert_int_equal(ak_wire_send(ends[1], message, NULL), AK_CRASHED);
    (void)close(ends[1]);
    json_decref(message);
}

static void a_trial_is_read_as_written(void **state)
{
    (void)state;
    double samples[] = {1.5, 2.25, 0.001};
    char reason[] = "signal 11";
    ak_trial trial = {.status = AK_TRIAL_OK,
                      .reason = reason,
                      .check_ns = 7,
                      .measure_ns = INT64_C(1) << 40,
                      .overhead_ns = 3,
                      .samples_ms = samples,
                      .sample_count = 3,
                      .median_ms = 1.5,
                      .ci_low_ms = 0.001,
                      .ci_high_ms = 2.25,
                      .max_error = HUGE_VAL}; /* becomes 0: JSON has no infinity */
    ak_conditions conditions = {.samples = 3,
                                .sm_clock_mhz = 1755,
                                .memory_clock_mhz = 2619,
                                .power_watts = 612.5,
                                .temperature_celsius = 51,
                                .throttle = AK_THROTTLE_POWER_CAP};
    json_t *object = ak_message_from_trial(&trial, &conditions);
    ak_trial back = {0};
    ak_conditions again;
    assert_int_equal(ak_message_to_trial(&back, &again, object, NULL), AK_OK);
    assert_memory_equal(&again, &conditions, sizeof conditions);
    assert_int_equal(back.status, trial.status);
    assert_string_equal(back.reason, "signal 11");
    assert_true(back.measure_ns == trial.measure_ns && back.check_ns == 7);
    assert_int_equal(back.sample_count, 3);
    assert_memory_equal(back.samples_ms, samples, sizeof samples);
    assert_true(back.max_error == 0.0 && back.median_ms == 1.5 && back.ci_high_ms == 2.25);
    ak_trial_clear(&back);
    json_decref(object);
    trial.status = AK_TRIAL_CRASHED; /* a trial that failed has no times */
    object = ak_message_from_trial(&trial, &conditions);
    assert_int_equal(ak_message_to_trial(&back, &again, object, NULL), AK_OK);
    assert_true(back.status == AK_TRIAL_CRASHED && back.sample_count == 0 && back.median_ms == 0);
    ak_trial_clear(&back);
    json_decref(object);
}

static json_t *parsed(const char *text)
{
    json_t *object = json_loads(text, 0, NULL);
    if (object == NULL) {
        fail_msg("no JSON: %s", text);
    }
    return object;
}

/* Of a reply, the times are computed from the samples, and texts become one line without control
   characters. */
static void a_lie_is_not_believed(void **state)
{
    (void)state;
    static const char escape[] = "a\x1b[2Jb\nc\x07";
    ak_trial back = {0};
    ak_conditions conditions;
    json_t *object = parsed("{\"outcome\": \"ok\", \"samples_ms\": [2, 3, 4], "
                            "\"median_ms\": 1e-9, \"ci_low_ms\": 7, \"ci_high_ms\": 0}");
    assert_true(ak_json_set_text(object, "reason", escape));
    assert_int_equal(ak_message_to_trial(&back, &conditions, object, NULL), AK_OK);
    assert_true(back.median_ms == 3 && back.ci_low_ms == 2 && back.ci_high_ms == 4);
    assert_string_equal(back.reason, "a [2Jb c ");
    ak_trial_clear(&back);
    json_decref(object);

    enum { LONG = 100000 };
    char *text = ak_alloc(LONG + 1, 1);
    assert_non_null(text);
    memset(text, 'x', LONG);
    object = parsed("{\"outcome\": \"crashed\"}");
    assert_true(ak_json_set_text(object, "reason", text));
    assert_int_equal(ak_message_to_trial(&back, &conditions, object, NULL), AK_OK);
    assert_int_equal(strlen(back.reason), 4096);
    ak_trial_clear(&back);
    json_decref(object);
    ak_free(text);
}

/* A reply that does not fit the job marks its worker as broken. */
static void replies_are_checked_as_a_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool timed, fine;
    } trials[] = {{"{\"outcome\": \"ok\", \"samples_ms\": [1]}", true, true},
                  {"{\"outcome\": \"ok\"}", true, false},
                  {"{\"outcome\": \"ok\"}", false, true},
                  {"{\"outcome\": \"crashed\"}", true, true},
                  {"{\"outcome\": \"fine\"}", true, false}};
    static const struct {
        const char *text;
        bool fine;
    } comparisons[] = {
        {"{\"entries\": [{\"outcome\": \"ok\", \"samples_ms\": [1]}, {\"outcome\": \"crashed\"}]}",
         true},
        {"{\"entries\": [{\"outcome\": \"ok\", \"samples_ms\": [1]}]}", false},
        {"{\"entries\": [{\"outcome\": \"ok\"}, {\"outcome\": \"crashed\"}]}", false},
        {"{\"entries\": [{\"outcome\": \"ok\", \"samples_ms\": [1]}, 7]}", false},
        {"{\"entries\": {}}", false},
        {"{}", false},
        {"{\"group\": 0, \"entries\": [{\"outcome\": \"crashed\"}, {\"outcome\": \"crashed\"}]}",
         false}};
    for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
        json_t *object = parsed(trials[i].text);
        assert_int_equal(ak_message_check_trial(object, trials[i].timed, NULL) == AK_OK,
                         trials[i].fine);
        json_decref(object);
    }
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        json_t *object = parsed(comparisons[i].text);
        assert_int_equal(ak_message_check_comparison(object, 2, NULL) == AK_OK,
                         comparisons[i].fine);
        json_decref(object);
    }
}

static void bad_trials_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}",
        "{\"outcome\": \"splendid\"}",
        "{\"outcome\": 1}",
        "{\"outcome\": \"ok\", \"check_ns\": -1}",
        "{\"outcome\": \"ok\", \"check_ns\": \"1\"}",
        "{\"outcome\": \"ok\", \"samples_ms\": 3}",
        "{\"outcome\": \"ok\", \"samples_ms\": [1, \"2\"]}",
        "{\"outcome\": \"ok\", \"samples_ms\": [1, -2.0]}",
        "{\"outcome\": \"ok\", \"samples_ms\": [1, 0]}",
        "{\"outcome\": \"ok\", \"samples_ms\": [1e16]}",
        "{\"outcome\": \"ok\", \"check_ns\": 9223372036854775807}",
        "{\"outcome\": \"ok\", \"median_ms\": -1}",
        "{\"outcome\": \"ok\", \"reason\": [1]}",
        "{\"outcome\": \"ok\", \"median_ms\": true}",
        "{\"outcome\": \"ok\", \"conditions\": 7}",
        "{\"outcome\": \"ok\", \"conditions\": {\"samples\": -1}}",
        "{\"outcome\": \"ok\", \"conditions\": {\"samples\": 1, \"power_watts\": -2}}",
        "{\"outcome\": \"ok\", \"conditions\": {\"throttle\": 4294967296}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_t *object = json_loads(texts[i], 0, NULL);
        ak_trial trial = {0};
        ak_conditions conditions;
        assert_non_null(object);
        assert_int_not_equal(ak_message_to_trial(&trial, &conditions, object, NULL), AK_OK);
        assert_null(trial.samples_ms);
        assert_null(trial.reason);
        json_decref(object);
    }
}

/* An unknown word for overlap is read as "not known". */
static void an_overlap_comes_back(void **state)
{
    static const char *const bad[] = {"\"\"", "\"soon\"", "1", "[\"none\"]", "true"};
    (void)state;
    for (int i = AK_OVERLAP_UNKNOWN; i <= AK_OVERLAP_BETWEEN; i++) {
        ak_comparison_entry entry = {.overlap = (ak_overlap)i}, again = {0};
        json_t *object = ak_message_from_comparison(&entry);
        assert_int_equal(ak_message_to_comparison(&again, object, NULL), AK_OK);
        assert_int_equal(again.overlap, i);
        json_decref(object);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[80];
        ak_comparison_entry entry = {0};
        ak_error err = AK_ERROR_INIT;
        (void)snprintf(text, sizeof text, "{\"outcome\": \"ok\", \"overlap\": %s}", bad[i]);
        json_t *object = json_loads(text, 0, NULL);
        assert_int_equal(ak_message_to_comparison(&entry, object, &err), AK_INVALID);
        assert_non_null(strstr(err.text, "unknown overlap"));
        json_decref(object);
    }
}

static void the_other_messages_come_back(void **state)
{
    (void)state;
    ak_timer_plan plan = {.batch_ns = 5, .budget_ns = 6, .precision = 0.5, .samples_max = 9}, again;
    json_t *outer = json_object();
    assert_true(ak_json_set(outer, "timer", ak_message_from_plan(&plan)));
    assert_int_equal(ak_message_to_plan(&again, outer, NULL), AK_OK);
    assert_memory_equal(&plan, &again, sizeof plan);
    json_decref(outer);

    char text[] = "a.c:1: error: no";
    ak_compile_result compiled = {
        .status = AK_TRIAL_COMPILE_ERROR,
        .reason = text,
        .log = text,
        .compile_ns = 12,
        .artifact_hash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        .file_hash = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"};
    ak_compile_result compiled_again = {0};
    json_t *object = ak_message_from_compile(&compiled);
    assert_int_equal(ak_message_to_compile(&compiled_again, object, NULL), AK_OK);
    assert_string_equal(compiled_again.log, text);
    assert_string_equal(compiled_again.artifact_hash, compiled.artifact_hash);
    assert_string_equal(compiled_again.file_hash, compiled.file_hash);
    ak_compile_result_clear(&compiled_again);
    char quoted[] = "a.c:1: error: no \xff";
    ak_compile_result odd = compiled;
    odd.reason = odd.log = quoted;
    json_t *cleaned = ak_message_from_compile(&odd);
    assert_int_equal(ak_message_to_compile(&compiled_again, cleaned, NULL), AK_OK);
    assert_string_equal(compiled_again.log, "a.c:1: error: no \xef\xbf\xbd");
    assert_string_equal(compiled_again.reason, compiled_again.log);
    json_decref(cleaned);
    ak_compile_result_clear(&compiled_again);
    assert_true(
        ak_json_set_text(object, "artifact_hash",
                         "longer than the sixty-four hexadecimal digits of a hash, by a few"));
    assert_int_equal(ak_message_to_compile(&compiled_again, object, NULL), AK_INVALID);
    json_decref(object);

    ak_ceilings ceilings = {.peak_tflops = 1.5,
                            .copy_gbs = 20,
                            .triad_gbs = 21,
                            .read_gbs = 22,
                            .l1_gbs = 200,
                            .cache_gbs = 100,
                            .measured = true};
    ak_ceilings ceilings_again;
    object = ak_message_from_ceilings(&ceilings);
    assert_int_equal(ak_message_to_ceilings(&ceilings_again, object, NULL), AK_OK);
    assert_true(ceilings_again.peak_tflops == 1.5 && ceilings_again.measured);
    assert_true(ceilings_again.l1_gbs == 200 && ceilings_again.cache_gbs == 100);
    json_decref(object);
}

static void a_failure_carries_its_reason(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    json_t *reply = ak_message_failure(3, AK_UNAVAILABLE, "no C compiler found");
    assert_int_equal(ak_message_fault(reply, &err), AK_UNAVAILABLE);
    assert_string_equal(err.text, "no C compiler found");
    assert_true(ak_json_set(reply, "status", json_integer(99)));
    assert_int_equal(ak_message_fault(reply, &err), AK_INTERNAL);
    assert_true(ak_json_set(reply, "ok", json_true()));
    assert_int_equal(ak_message_fault(reply, &err), AK_OK);
    json_decref(reply);
}

static void the_course_of_a_comparison(void **state)
{
    (void)state;
    ak_comparison_course course = {.group = 5,
                                   .extended = true,
                                   .unseen = 2,
                                   .before = 0.25,
                                   .during = 0.5,
                                   .after = -1},
                         again = {0};
    json_t *reply = json_object();
    assert_true(ak_message_set_course(reply, &course));
    assert_int_equal(ak_message_to_course(&again, reply, NULL), AK_OK);
    assert_true(again.group == 5 && again.extended && again.unseen == 2);
    assert_true(again.before == 0.25 && again.during == 0.5 && again.after == -1);
    json_object_clear(reply); /* of a worker that does not say */
    assert_int_equal(ak_message_to_course(&again, reply, NULL), AK_OK);
    assert_true(again.group == 1 && !again.extended && again.unseen == 0 && again.during < 0);
    (void)json_object_set_new(reply, "group", json_integer(0));
    assert_int_equal(ak_message_to_course(&again, reply, NULL), AK_INVALID);
    (void)json_object_set_new(reply, "group", json_integer(1));
    (void)json_object_set_new(reply, "unseen", json_integer(AK_JUDGED_MAX + 1));
    assert_int_equal(ak_message_to_course(&again, reply, NULL), AK_INVALID);
    (void)json_object_set_new(reply, "unseen", json_integer(0));
    (void)json_object_set_new(reply, "pressure", json_pack("[f,f]", 0.1, 0.2));
    assert_int_equal(ak_message_to_course(&again, reply, NULL), AK_INVALID);
    json_decref(reply);
}

static void waits_belong_to_samples(void **state)
{
    (void)state;
    double samples[] = {1, 2}, waits[] = {0, 0.25};
    ak_comparison_entry entry = {.samples_ms = samples, .sample_count = 2, .waited = waits},
                        again = {0};
    json_t *object = ak_message_from_comparison(&entry);
    assert_int_equal(ak_message_to_comparison(&again, object, NULL), AK_OK);
    assert_true(again.sample_count == 2 && again.waited[0] == 0 && again.waited[1] == 0.25);
    ak_comparison_entry_clear(&again);
    (void)json_array_append_new(json_object_get(object, "waited"), json_real(0.5));
    assert_int_equal(ak_message_to_comparison(&again, object, NULL), AK_INVALID);
    json_decref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_course_of_a_comparison),
        cmocka_unit_test(waits_belong_to_samples),
        cmocka_unit_test(a_line_comes_in_pieces),
        cmocka_unit_test(what_is_not_an_object_is_refused),
        cmocka_unit_test(a_line_has_a_limit),
        cmocka_unit_test(a_line_that_ends_is_limited_too),
        cmocka_unit_test(a_long_line_arrives_in_small_pieces),
        cmocka_unit_test(messages_cross_a_pipe),
        cmocka_unit_test(half_a_message_is_a_crash),
        cmocka_unit_test(writing_to_the_dead_is_an_error),
        cmocka_unit_test(a_trial_is_read_as_written),
        cmocka_unit_test(a_lie_is_not_believed),
        cmocka_unit_test(replies_are_checked_as_a_whole),
        cmocka_unit_test(bad_trials_are_refused),
        cmocka_unit_test(an_overlap_comes_back),
        cmocka_unit_test(the_other_messages_come_back),
        cmocka_unit_test(a_failure_carries_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
