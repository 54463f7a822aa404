/*
 * test_llm_dialects.c: compares each provider with the transcripts in tests/data/llm: its requests,
 * what it reads from whole and from streamed replies, and how it handles replies with an error in
 * any place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "llm/provider.h"
#include "llm/stream.h"

static json_t *data_json(const char *provider, const char *file)
{
    char path[AK_PATH_MAX];
    json_t *value = NULL;
    ak_error err = AK_ERROR_INIT;
    (void)snprintf(path, sizeof path, AK_TEST_DATA "/llm/%s/%s", provider, file);
    if (ak_json_read(&value, path, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return value;
}

static void check_answer(const ak_reply *reply, const json_t *want)
{
    const ak_llm_usage *usage = &reply->usage;
    assert_string_equal(reply->text.data, json_string_value(json_object_get(want, "text")));
    assert_string_equal(reply->reasoning.data,
                        json_string_value(json_object_get(want, "reasoning")));
    assert_string_equal(ak_llm_finish_text(reply->finish),
                        json_string_value(json_object_get(want, "finish")));
    assert_string_equal(reply->model, json_string_value(json_object_get(want, "model")));
    assert_string_equal(reply->id, json_string_value(json_object_get(want, "id")));
    assert_true(usage->known && reply->ended);
    assert_int_equal(usage->input, json_integer_value(json_object_get(want, "input")));
    assert_int_equal(usage->input_cached, json_integer_value(json_object_get(want, "cached")));
    assert_int_equal(usage->input_written, json_integer_value(json_object_get(want, "written")));
    assert_int_equal(usage->output, json_integer_value(json_object_get(want, "output")));
    assert_int_equal(usage->output_reasoning,
                     json_integer_value(json_object_get(want, "output_reasoning")));
}

static const char schema_text[] =
    "{\"type\":\"object\",\"properties\":{\"proposals\":{\"type\":\"array\",\"maxItems\":8,"
    "\"items\":{\"type\":\"object\",\"properties\":{\"BM\":{\"type\":\"integer\",\"minimum\":1},"
    "\"why\":{\"type\":\"string\",\"maxLength\":80}},\"required\":[\"BM\",\"why\"],"
    "\"additionalProperties\":false}}},\"required\":[\"proposals\"],"
    "\"additionalProperties\":false}";

static void requests_are_as_documented(void **state)
{
    (void)state;
    json_t *schema = NULL;
    assert_int_equal(ak_json_parse(&schema, schema_text, strlen(schema_text), "schema", NULL),
                     AK_OK);
    const ak_llm_message messages[] = {{AK_LLM_USER, "Propose two."},
                                       {AK_LLM_ASSISTANT, "{\"proposals\": []}"},
                                       {AK_LLM_USER, "Those were none."}};
    ak_llm_chat chat = {.system = "You tune kernels.",
                        .messages = messages,
                        .message_count = 3,
                        .schema = schema,
                        .schema_name = "proposals",
                        .array = "proposals",
                        .seed = 7};
    for (size_t i = 0; ak_providers[i] != NULL && ak_providers[i]->ask == NULL; i++) {
        const ak_provider *provider = ak_providers[i];
        json_t *want = data_json(provider->name, "request.json"), *got = NULL;
        ak_request request = {.model = json_string_value(json_object_get(want, "model")),
                              .effort = "low",
                              .chat = &chat,
                              .output_tokens = 4096,
                              .prompt_tokens_max = 1500};
        ak_abilities_find(&request.abilities, provider, request.model);
        assert_int_equal(provider->request(&got, &request, NULL), AK_OK);
        if (!json_equal(want, got)) {
            char *text = json_dumps(got, JSON_INDENT(2));
            fail_msg("%s sends %s", provider->name, text);
        }
        json_decref(got);
        json_decref(want);
    }
    json_decref(schema);
}

static void whole_replies_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; ak_providers[i] != NULL && ak_providers[i]->ask == NULL; i++) {
        json_t *body = data_json(ak_providers[i]->name, "reply.json");
        json_t *want = data_json(ak_providers[i]->name, "answer.json");
        ak_reply reply;
        ak_reply_init(&reply);
        ak_providers[i]->reply(&reply, body);
        check_answer(&reply, want);
        ak_reply_free(&reply);
        json_decref(want);
        json_decref(body);
    }
}

typedef struct reading {
    const ak_provider *provider;
    ak_reply reply;
} reading;

static ak_status on_event(void *context, const char *event, const char *data, size_t length,
                          ak_error *err)
{
    reading *r = context;
    json_t *value = NULL;
    if (strcmp(data, "[DONE]") == 0) {
        return AK_OK;
    }
    ak_status status = ak_json_parse(&value, data, length, "event", err);
    if (status == AK_OK) {
        r->provider->delta(&r->reply, event, value);
    }
    json_decref(value);
    return status;
}

static void streams_are_read_in_any_pieces(void **state)
{
    (void)state;
    static const size_t pieces[] = {1, 7, 64, 1u << 20};
    for (size_t i = 0; ak_providers[i] != NULL && ak_providers[i]->ask == NULL; i++) {
        char path[AK_PATH_MAX], *text;
        size_t length;
        const ak_provider *provider = ak_providers[i];
        (void)snprintf(path, sizeof path, AK_TEST_DATA "/llm/%s/stream.txt", provider->name);
        assert_int_equal(ak_fs_read(&text, &length, path, 1u << 20, NULL), AK_OK);
        json_t *want = data_json(provider->name, "answer.json");
        for (size_t p = 0; p < sizeof pieces / sizeof pieces[0]; p++) {
            reading r = {.provider = provider};
            ak_stream stream;
            ak_reply_init(&r.reply);
            ak_stream_init(&stream, provider->stream, on_event, &r);
            for (size_t at = 0; at < length; at += pieces[p]) {
                size_t count = length - at < pieces[p] ? length - at : pieces[p];
                assert_int_equal(ak_stream_feed(&stream, text + at, count, NULL), AK_OK);
            }
            assert_int_equal(ak_stream_end(&stream, NULL), AK_OK);
            check_answer(&r.reply, want);
            ak_stream_free(&stream);
            ak_reply_free(&r.reply);
        }
        json_decref(want);
        ak_free(text);
    }
}

/* Replaces every member of a JSON value, one after the other, by a value of another type, and calls
   `use` each time. */
static void spoil(json_t *root, json_t *value, void (*use)(json_t *root, void *context),
                  void *context)
{
    static const char *const wrong[] = {"null", "7", "-1e300", "\"text\"", "[]", "{}", "[[1]]"};
    const char *key;
    json_t *member;
    size_t index;
    if (json_is_object(value)) {
        json_t *copy = json_copy(value);
        json_object_foreach(copy, key, member) {
            for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
                (void)json_object_set_new(value, key, json_loads(wrong[i], JSON_DECODE_ANY, NULL));
                use(root, context);
            }
            (void)json_object_set(value, key, member);
            spoil(root, member, use, context);
        }
        json_decref(copy);
    } else if (json_is_array(value)) {
        json_array_foreach(value, index, member) {
            spoil(root, member, use, context);
        }
    }
}

static void read_spoiled(json_t *root, void *context)
{
    const ak_provider *provider = context;
    ak_reply reply;
    ak_reply_init(&reply);
    provider->reply(&reply, root);
    assert_true(reply.usage.input >= 0 && reply.usage.output >= 0);
    ak_reply_free(&reply);
    ak_reply_init(&reply);
    provider->delta(&reply, "", root);
    ak_reply_free(&reply);
    ak_complaint complaint;
    ak_reply_headers headers = {0};
    provider->classify(&complaint, 400, &headers, root, 0);
    assert_int_not_equal(complaint.fault, AK_LLM_FAULT_NONE);
}

static void wrong_types_are_survived(void **state)
{
    (void)state;
    for (size_t i = 0; ak_providers[i] != NULL && ak_providers[i]->ask == NULL; i++) {
        json_t *body = data_json(ak_providers[i]->name, "reply.json");
        spoil(body, body, read_spoiled, (void *)(uintptr_t)ak_providers[i]);
        json_decref(body);
    }
}

/* Has a provider read a whole reply, which the caller frees. */
static void read_reply(ak_reply *out, const char *name, const char *text)
{
    const ak_provider *provider = NULL;
    json_t *body = json_loads(text, 0, NULL);
    ak_reply_init(out);
    assert_int_equal(ak_provider_find(&provider, name, strlen(name), NULL), AK_OK);
    provider->reply(out, body);
    json_decref(body);
}

static void ends_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *body;
        ak_llm_finish finish;
    } cases[] = {
        {"openai",
         "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},"
         "\"output\":[]}",
         AK_LLM_FINISH_LENGTH},
        {"openai",
         "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},"
         "\"output\":[]}",
         AK_LLM_FINISH_FILTER},
        {"openai",
         "{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"type\":"
         "\"refusal\",\"refusal\":\"no\"}]}]}",
         AK_LLM_FINISH_REFUSAL},
        {"openai-chat",
         "{\"choices\":[{\"message\":{\"content\":\"x\"},\"finish_reason\":\"length\"}]}",
         AK_LLM_FINISH_LENGTH},
        {"openai-chat",
         "{\"choices\":[{\"message\":{\"refusal\":\"no\"},\"finish_reason\":\"stop\"}]}",
         AK_LLM_FINISH_REFUSAL},
        {"compatible",
         "{\"choices\":[{\"message\":{\"content\":\"\"},\"finish_reason\":\"content_filter\"}]}",
         AK_LLM_FINISH_FILTER},
        {"anthropic", "{\"content\":[],\"stop_reason\":\"max_tokens\"}", AK_LLM_FINISH_LENGTH},
        {"anthropic", "{\"content\":[],\"stop_reason\":\"refusal\"}", AK_LLM_FINISH_REFUSAL},
        {"ollama", "{\"message\":{},\"done\":true,\"done_reason\":\"length\"}",
         AK_LLM_FINISH_LENGTH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_reply reply;
        read_reply(&reply, cases[i].provider, cases[i].body);
        assert_int_equal(reply.finish, cases[i].finish);
        ak_reply_free(&reply);
    }
}

/* Tokens that a server counts beside those of a reply are added, and numbers that are no counts are
   not known. */
static void counts_that_contradict_each_other_are_not_cheap(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *body;
        ak_llm_usage usage;
    } cases[] = {
        /* reasoning beside the output */
        {"compatible",
         "{\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":3000}}}",
         {true, 1000, 0, 0, 3050, 3000}},
        /* in the total only */
        {"compatible",
         "{\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50,\"total_tokens\":5000}}",
         {true, 1000, 0, 0, 4000, 0}},
        {"openai-chat",
         "{\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50,\"total_tokens\":1050,"
         "\"completion_tokens_details\":{\"reasoning_tokens\":30}}}",
         {true, 1000, 0, 0, 50, 30}},
        /* cached tokens beside the prompt */
        {"compatible",
         "{\"usage\":{\"prompt_tokens\":1000,\"completion_tokens\":50,"
         "\"prompt_tokens_details\":{\"cached_tokens\":5000}}}",
         {true, 6000, 5000, 0, 50, 0}},
        {"compatible", "{\"usage\":{\"prompt_tokens\":1000.5,\"completion_tokens\":\"50\"}}", {0}},
        {"compatible", "{\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":50}}", {0}},
        {"compatible", "{\"usage\":{\"completion_tokens\":50}}", {0}},
        {"openai", "{\"output\":[],\"usage\":{\"input_tokens\":null,\"output_tokens\":5}}", {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_reply reply;
        read_reply(&reply, cases[i].provider, cases[i].body);
        const ak_llm_usage *got = &reply.usage, *want = &cases[i].usage;
        if (got->known != want->known || got->input != want->input ||
            got->input_cached != want->input_cached || got->output != want->output ||
            got->output_reasoning != want->output_reasoning) {
            fail_msg("case %zu: %lld in, %lld out", i, (long long)got->input,
                     (long long)got->output);
        }
        ak_reply_free(&reply);
    }
}

/* For a provider that demands every property, optional properties become nullable. Others get the
   schema unchanged. */
static void optional_properties_become_nullable(void **state)
{
    (void)state;
    static const struct {
        const char *provider, *model, *holds[2];
    } rows[] = {
        {"openai",
         "gpt-5",
         {"\"a\":{\"type\":[\"integer\",\"null\"],\"enum\":[1,2,null]}",
          "\"required\":[\"name\",\"properties\",\"a\"]"}},
        {"openai-chat",
         "gpt-5",
         {"\"a\":{\"type\":[\"integer\",\"null\"],\"enum\":[1,2,null]}", "\"strict\":true"}},
        {"compatible", "x", {"\"a\":{\"type\":\"integer\",\"enum\":[1,2]}", "\"maxLength\":9"}},
        {"ollama", "x", {"\"a\":{\"type\":\"integer\",\"enum\":[1,2]}", "\"maxLength\":9"}},
        {"anthropic",
         "claude-opus-4-6",
         {"\"a\":{\"type\":\"integer\",\"enum\":[1,2]}", "\"required\":[\"name\"]"}},
    };
    json_t *optional = json_loads(
        "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"maxLength\": "
        "9},"
        "\"properties\": {\"type\": \"object\", \"properties\": {}, \"required\": [], "
        "\"additionalProperties\": false}, \"a\": {\"type\": \"integer\", \"enum\": [1, 2]}},"
        "\"required\": [\"name\"], \"additionalProperties\": false}",
        0, NULL);
    assert_non_null(optional);
    const ak_llm_message message = {AK_LLM_USER, "?"};
    ak_llm_chat chat = {.messages = &message, .message_count = 1, .schema = optional};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const ak_provider *provider = NULL;
        json_t *body = NULL;
        char *text = NULL;
        ak_request request = {.model = rows[i].model, .chat = &chat, .output_tokens = 100};
        assert_int_equal(
            ak_provider_find(&provider, rows[i].provider, strlen(rows[i].provider), NULL), AK_OK);
        ak_abilities_find(&request.abilities, provider, request.model);
        assert_int_equal(provider->request(&body, &request, NULL), AK_OK);
        assert_int_equal(ak_json_text(&text, body, NULL), AK_OK);
        for (size_t h = 0; h < 2; h++) {
            if (strstr(text, rows[i].holds[h]) == NULL) {
                fail_msg("%s: no %s in %s", rows[i].provider, rows[i].holds[h], text);
            }
        }
        ak_free(text);
        json_decref(body);
    }
    json_decref(optional);
}

/* A parameter that a model does not take is not sent. A schema then becomes text. */
static void abilities_shape_the_request(void **state)
{
    (void)state;
    json_t *schema = json_pack("{s:s}", "type", "object");
    const ak_llm_message message = {AK_LLM_USER, "x"};
    ak_llm_chat chat = {.messages = &message, .message_count = 1, .schema = schema};
    static const char *const refused[] = {
        "text",      "response_format",  "output_config", "format",
        "reasoning", "reasoning_effort", "thinking",      "think",
        "seed",      "stream_options",   "store"};
    for (size_t i = 0; ak_providers[i] != NULL && ak_providers[i]->ask == NULL; i++) {
        ak_request request = {.model = "m", .effort = "high", .chat = &chat, .output_tokens = 99};
        json_t *body = NULL;
        assert_int_equal(ak_providers[i]->request(&body, &request, NULL), AK_OK);
        for (size_t j = 0; j < sizeof refused / sizeof refused[0]; j++) {
            assert_null(json_object_get(body, refused[j]));
        }
        char *text = json_dumps(body, 0);
        assert_non_null(strstr(text, "JSON schema"));
        ak_free(text);
        json_decref(body);
    }
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_as_documented),
        cmocka_unit_test(whole_replies_are_read),
        cmocka_unit_test(streams_are_read_in_any_pieces),
        cmocka_unit_test(wrong_types_are_survived),
        cmocka_unit_test(ends_are_told_apart),
        cmocka_unit_test(counts_that_contradict_each_other_are_not_cheap),
        cmocka_unit_test(abilities_shape_the_request),
        cmocka_unit_test(optional_properties_become_nullable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
