/*
 * test_study.c: tests studies on a recording: arms, curves, intervals. A model behind a server is
 * asked once and recorded, and the study is repeated from the tape without the server. An arm
 * whose model fails has no curve.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/fs.h"
#include "base/json.h"
#include "llm_server.h"

#define TINY AK_TEST_DATA "/recordings/tiny.json"

static ak_recording *recording;
static char folder[AK_PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    return ak_recording_open(&recording, TINY, NULL) == AK_OK && ak_fs_temp(folder, NULL) == AK_OK
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    ak_recording_close(recording);
    ak_fs_remove(folder);
    return 0;
}

static json_t *study(const ak_study_options *options)
{
    char *text = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_study_recording(&text, recording, options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    json_t *result = json_loads(text, 0, NULL);
    ak_text_free(text);
    assert_non_null(result);
    return result;
}

static const json_t *arm_of(const json_t *result, const char *name)
{
    const json_t *arm;
    size_t i;
    json_array_foreach(json_object_get(result, "arms"), i, arm) {
        if (strcmp(json_string_value(json_object_get(arm, "arm")), name) == 0) {
            return arm;
        }
    }
    fail_msg("no arm %s", name);
    return NULL;
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Checks that a curve never falls, that intervals contain the mean, and that all evaluations find
   the optimum. */
static void check_curve(const json_t *arm, const char *axis)
{
    const json_t *step;
    size_t i;
    double before = 0;
    json_array_foreach(json_object_get(json_object_get(arm, "quality"), axis), i, step) {
        double quality = number_of(step, "quality");
        assert_true(quality >= before - 1e-12 && quality <= 1 + 1e-12);
        assert_true(number_of(step, "low") <= quality + 1e-12);
        assert_true(number_of(step, "high") >= quality - 1e-12);
        before = quality;
    }
    assert_int_equal(i, 10);
}

static void test_classical(void **state)
{
    (void)state;
    ak_study_options options = {.arms = "random,local:starts=2,heuristic", .seeds = 5, .seed = 3};
    options.evaluations = ak_recording_describe(recording)->configurations;
    json_t *result = study(&options), *again = study(&options);
    assert_int_equal(json_array_size(json_object_get(result, "arms")), 3);
    assert_string_equal(json_string_value(json_object_get(result, "reference_is")), "optimum");
    const json_t *arm;
    size_t i;
    json_array_foreach(json_object_get(result, "arms"), i, arm) {
        check_curve(arm, "evaluations");
        check_curve(arm, "seconds");
        assert_null(json_object_get(json_object_get(arm, "quality"), "usd"));
        assert_int_equal(number_of(arm, "runs"), 5);
        assert_int_equal(number_of(arm, "reached_reference"), 5); /* everything was tried */
    }
    assert_true(json_equal(result, again));
    json_decref(result);
    json_decref(again);
}

static void assert_refused(const ak_study_options *options, const char *part)
{
    char *text = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_not_equal(ak_study_recording(&text, recording, options, &err), AK_OK);
    if (strstr(err.text, part) == NULL) {
        fail_msg("%s", err.text);
    }
}

static void test_bad_arms(void **state)
{
    (void)state;
    assert_refused(&(ak_study_options){.arms = "random,guess"}, "guess");
    assert_refused(&(ak_study_options){.arms = "random,"}, "beside a comma");
    assert_refused(&(ak_study_options){.arms = ""}, "--arms is empty");
    assert_refused(&(ak_study_options){.arms = "random,llm"}, "none is configured");
    assert_refused(&(ak_study_options){.seeds = 1000000}, "at most");
}

/* ---- with a model -----------------------------------------------------------------------------
 */

/* Proposes, for each parameter of the schema, each of its values. */
static json_t *propose_all(const json_t *question)
{
    const json_t *schema = json_object_get(
        json_object_get(json_object_get(question, "response_format"), "json_schema"), "schema");
    const json_t *items = json_object_get(
        json_object_get(json_object_get(schema, "properties"), "proposals"), "items");
    const json_t *changes = json_object_get(json_object_get(items, "properties"), "changes");
    json_t *list = json_array(), *parameter, *value;
    const char *name;
    size_t i;
    json_object_foreach(json_object_get(changes, "properties"), name, parameter) {
        json_array_foreach(json_object_get(parameter, "enum"), i, value) {
            (void)json_array_append_new(list, json_pack("{s:s,s:i,s:n,s:{s:O}}", "hypothesis",
                                                        "one of all", "expected_gain_pct", 5,
                                                        "parent", "changes", name, value));
        }
    }
    return json_pack("{s:o}", "proposals", list);
}

static void *model_main(void *context)
{
    server *s = context;
    while (atomic_load(&s->stop) == 0) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            break;
        }
        char *text = server_read(fd);
        const char *body = text == NULL ? NULL : strstr(text, "\r\n\r\n");
        json_t *question = body == NULL ? NULL : json_loads(body + 4, 0, NULL);
        json_t *thought = propose_all(question);
        char *content = json_dumps(thought, JSON_COMPACT);
        json_t *reply = json_pack("{s:s,s:[{s:i,s:{s:s,s:s},s:s}],s:{s:i,s:i,s:i}}", "model", "m",
                                  "choices", "index", 0, "message", "role", "assistant", "content",
                                  content, "finish_reason", "stop", "usage", "prompt_tokens", 1000,
                                  "completion_tokens", 100, "total_tokens", 1100);
        char *out = json_dumps(reply, JSON_COMPACT);
        char head[160];
        int count = snprintf(head, sizeof head,
                             "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "
                             "application/json\r\nContent-Length: %zu\r\n\r\n",
                             strlen(out));
        (void)(server_send(fd, head, (size_t)count, 1u << 16) &&
               server_send(fd, out, strlen(out), 1u << 16));
        (void)pthread_mutex_lock(&s->lock);
        bool kept = s->asked < SERVER_REQUESTS_MAX;
        if (kept) {
            s->request[s->asked] = text;
        }
        s->asked++;
        (void)pthread_mutex_unlock(&s->lock);
        free(out);
        free(content);
        json_decref(reply);
        json_decref(thought);
        json_decref(question);
        ak_free(kept ? NULL : text);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

static void test_recorded(void **state)
{
    (void)state;
    server s;
    char answers[AK_PATH_MAX];
    assert_int_equal(ak_fs_join(answers, folder, "answers", NULL), AK_OK);
    assert_true(server_start_as(&s, NULL, 0, model_main, &s));
    ak_llm_options llm = {
        .model = "compatible:scripted", .url = s.url, .record = answers, .retries = -1};
    ak_study_options options = {.arms = "random,llm-oneshot,llm:fill=2,hybrid",
                                .seeds = 3,
                                .evaluations = 16,
                                .generations = 2,
                                .llm = &llm};
    json_t *live = study(&options);
    size_t asked = server_asked(&s);
    assert_true(asked > 0);
    server_stop(&s);
    for (size_t a = 0; a < 3; a++) {
        static const char *const arms[] = {"llm-oneshot", "llm:fill=2", "hybrid"};
        const json_t *asking = arm_of(live, arms[a]);
        assert_int_equal(number_of(asking, "runs"), 3);
        assert_int_equal(number_of(asking, "fell_back"), 0);
        assert_true(number_of(asking, "calls_mean") >= 1);
        assert_true(number_of(asking, "tokens_mean") == 1100 * number_of(asking, "calls_mean"));
        check_curve(asking, "evaluations");
    }
    /* Nobody is there any more: the same study from the recording, but for how long replies took,
       which a recording keeps in fewer digits; and the same again, to the last digit. */
    llm = (ak_llm_options){.model = "compatible:scripted", .url = s.url, .replay = answers};
    json_t *replayed = study(&options), *again = study(&options);
    assert_true(json_equal(replayed, again));
    const json_t *arm;
    size_t i;
    json_array_foreach(json_object_get(live, "arms"), i, arm) {
        const json_t *other = json_array_get(json_object_get(replayed, "arms"), i);
        assert_true(json_equal(json_object_get(json_object_get(arm, "quality"), "evaluations"),
                               json_object_get(json_object_get(other, "quality"), "evaluations")));
        assert_true(number_of(arm, "calls_mean") == number_of(other, "calls_mean"));
        assert_true(number_of(arm, "tokens_mean") == number_of(other, "tokens_mean"));
    }
    /* Prompts that have other words now are found by what they are about: here no question is found
       by its words. */
    char from[AK_PATH_MAX], to[AK_PATH_MAX], name[200];
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    assert_int_equal(ak_fs_list(&names, answers, NULL), AK_OK);
    for (size_t k = 0; k < names.count; k++) {
        if (strcmp(names.list[k], "tape.json") != 0) {
            (void)snprintf(name, sizeof name, "other-words-%.100s", names.list[k]);
            assert_int_equal(ak_fs_join(from, answers, names.list[k], NULL), AK_OK);
            assert_int_equal(ak_fs_join(to, answers, name, NULL), AK_OK);
            assert_int_equal(rename(from, to), 0);
        }
    }
    /* What else lies there, such as questions of file:, is no matter. */
    static const char *const others[] = {"0001.prompt.md", "0001.reply.json"};
    for (size_t k = 0; k < 2; k++) {
        assert_int_equal(ak_fs_join(to, answers, others[k], NULL), AK_OK);
        assert_int_equal(ak_fs_write(to, "words", 5, NULL), AK_OK);
    }
    json_t *reworded = study(&options);
    assert_true(json_equal(reworded, again));
    json_decref(live);
    json_decref(replayed);
    json_decref(again);
    json_decref(reworded);
}

/* Returns whether one of the requests to a server contains this text. */
static bool was_told(const server *s, size_t asked, const char *text)
{
    for (size_t i = 0; i < asked && i < SERVER_REQUESTS_MAX; i++) {
        if (strstr(s->request[i], text) != NULL) {
            return true;
        }
    }
    return false;
}

/* Arms without history tell the model about no trial, so that it can name none as a parent. Arms
   without facts tell it nothing about the device. */
static void test_arms_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *arm;
        bool trials, device;
    } rows[] = {{"llm:fill=2", true, true},
                {"llm:fill=2,history=0", false, true},
                {"llm:fill=2,facts=0", true, false},
                {"hybrid:history=0", false, true},
                {"hybrid:facts=0", true, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        server s;
        assert_true(server_start_as(&s, NULL, 0, model_main, &s));
        ak_llm_options llm = {.model = "compatible:scripted", .url = s.url, .retries = -1};
        json_t *result = study(&(ak_study_options){
            .arms = rows[i].arm, .seeds = 1, .evaluations = 16, .generations = 2, .llm = &llm});
        size_t asked = server_asked(&s);
        assert_int_equal(asked, 2);
        assert_int_equal(was_told(&s, asked, "You are not told what was tried"), !rows[i].trials);
        assert_int_equal(was_told(&s, asked, "## Anchors"), rows[i].trials);
        assert_int_equal(was_told(&s, asked, "\"parent\":{\"type\":[\"integer\",\"null\"]"),
                         rows[i].trials);
        assert_int_equal(was_told(&s, asked, "Device a device"), rows[i].device);
        server_stop(&s);
        json_decref(result);
    }
}

/* One run shows nothing of how much runs differ. */
static void test_one_seed(void **state)
{
    (void)state;
    json_t *result = study(&(ak_study_options){.arms = "random", .seeds = 1, .evaluations = 4});
    const json_t *arm = arm_of(result, "random");
    const json_t *curve = json_object_get(json_object_get(arm, "quality"), "evaluations");
    const json_t *last = json_array_get(curve, json_array_size(curve) - 1);
    assert_true(number_of(last, "quality") > 0);
    assert_true(json_is_null(json_object_get(last, "low")));
    assert_true(json_is_null(json_object_get(last, "high")));
    assert_true(json_is_null(json_object_get(json_object_get(arm, "deployed"), "low")));
    json_decref(result);
}

/* The results of a fallback strategy do not count for an arm whose model fails. */
static void test_dead_model(void **state)
{
    (void)state;
    ak_llm_options llm = {
        .model = "compatible:scripted", .url = "http://127.0.0.1:1", .retries = -1};
    ak_study_options options = {
        .arms = "random,llm,hybrid", .seeds = 2, .evaluations = 10, .llm = &llm};
    json_t *result = study(&options);
    for (size_t i = 0; i < 2; i++) {
        const json_t *arm = arm_of(result, i == 0 ? "llm" : "hybrid");
        assert_int_equal(number_of(arm, "runs"), 0);
        assert_int_equal(number_of(arm, "fell_back"), 2);
        assert_non_null(
            strstr(json_string_value(json_object_get(arm, "fell_back_because")), "carrying on"));
        assert_int_equal(json_object_size(json_object_get(arm, "quality")), 0);
        assert_true(json_is_null(json_object_get(arm, "usd_mean")));
        assert_true(json_is_null(json_object_get(arm, "calls_mean")));
        assert_true(number_of(json_object_get(arm, "spent"), "calls") >= 2);
        assert_int_equal(number_of(json_object_get(arm, "spent"), "asked"), 2);
        assert_true(json_is_null(json_object_get(json_object_get(arm, "spent"), "usd")));
        /* As deployed these runs count, with what the fallback made of them. */
        const json_t *deployed = json_object_get(arm, "deployed");
        assert_true(number_of(deployed, "quality") > 0 && number_of(deployed, "low") > 0);
        assert_true(number_of(deployed, "quality") <= 1 && number_of(deployed, "high") <= 1);
    }
    assert_int_equal(number_of(arm_of(result, "random"), "runs"), 2);
    json_decref(result);
}

int main(void)
{
    server_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classical),     cmocka_unit_test(test_bad_arms),
        cmocka_unit_test(test_recorded),      cmocka_unit_test(test_one_seed),
        cmocka_unit_test(test_arms_are_told), cmocka_unit_test(test_dead_model),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
