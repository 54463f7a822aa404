/* test_llm_text.c: tests the functions that read texts of models and servers: faulty JSON, JSON
   within prose, streams, errors, dates, prices, keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "llm/extract.h"
#include "llm/key.h"
#include "llm/provider.h"
#include "llm/relaxed.h"
#include "llm/stream.h"

/* ---- relaxed ------------------------------------------------------------------------------- */

static void json_with_faults_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
        bool cut, repaired;
    } cases[] = {
        {"{\"a\": [1, 2.5, \"x\\n\", true, null]}", "{\"a\":[1,2.5,\"x\\n\",true,null]}", 0, 0},
        {"\xef\xbb\xbf [1, 2]", "[1,2]", 0, 0},
        {"{\"a\": 1,}", "{\"a\":1}", 0, 1},
        {"[1, 2,]", "[1,2]", 0, 1},
        {"{'a': True, 'b': None, 'c': False}", "{\"a\":true,\"b\":null,\"c\":false}", 0, 1},
        {"{a: 1, b_2: NaN}", "{\"a\":1,\"b_2\":null}", 0, 1},
        {"{\"a\": 1 // one\n, /* two */ \"b\": 2}", "{\"a\":1,\"b\":2}", 0, 1},
        {"[{\"a\": 1} {\"a\": 2}]", "[{\"a\":1},{\"a\":2}]", 0, 1},
        {"'it\\'s'", "\"it's\"", 0, 1},
        {"\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"", 0, 0},
        {"\"\\ud83d\\u0000\"", "\"\xef\xbf\xbd\xef\xbf\xbd\"", 0, 1},
        {"\"a\nb\"", "\"a\\nb\"", 0, 1},
        {"[-Infinity, +1, .5, 1e999]", "[null,1,0.5,null]", 0, 1},
        {"[99999999999999999999]", "[1e20]", 0, 0},
        /* cut: complete elements stay */
        {"{\"p\": [{\"a\": 1}, {\"a\": 2}, {\"a\":", "{\"p\":[{\"a\":1},{\"a\":2}]}", 1, 0},
        {"{\"p\": [{\"a\": 1}, {\"a\": 2", "{\"p\":[{\"a\":1}]}", 1, 0},
        {"{\"p\": [12, 34", "{\"p\":[12]}", 1, 0},
        {"{\"p\": [true, fal", "{\"p\":[true]}", 1, 0},
        {"{\"x\": \"abc\", \"y\": \"de", "{\"x\":\"abc\"}", 1, 0},
        {"{\"p\": [[1, 2], [3", "{\"p\":[[1,2]]}", 1, 0},
        {"{\"p\": [{\"a\": 1}, {\"b\": oops}]}", "{\"p\":[{\"a\":1}]}", 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_relaxed read;
        assert_int_equal(ak_relaxed_read(&read, cases[i].text, strlen(cases[i].text), NULL), AK_OK);
        json_t *want = json_loads(cases[i].want, JSON_DECODE_ANY, NULL);
        if (!json_equal(want, read.value) || read.cut != cases[i].cut ||
            read.repaired != cases[i].repaired) {
            char *got = read.value == NULL ? NULL : json_dumps(read.value, JSON_ENCODE_ANY);
            fail_msg("%s gives %s cut %d repaired %d", cases[i].text, got == NULL ? "-" : got,
                     read.cut, read.repaired);
        }
        json_decref(want);
        json_decref(read.value);
    }
}

static void what_is_no_json_gives_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "  ", "hello", "\"abc", "{", "-", "}", "tru"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ak_relaxed read;
        assert_int_equal(ak_relaxed_read(&read, texts[i], strlen(texts[i]), NULL), AK_OK);
        assert_true(read.cut);
        assert_true(read.value == NULL || json_object_size(read.value) == 0);
        json_decref(read.value);
    }
}

static void nesting_is_limited(void **state)
{
    (void)state;
    char text[4096];
    ak_relaxed read;
    memset(text, '[', sizeof text);
    assert_int_equal(ak_relaxed_read(&read, text, sizeof text, NULL), AK_OK);
    assert_true(read.cut);
    json_decref(read.value);
}

/* ---- extract ------------------------------------------------------------------------------- */

static void elements_are_found_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *elements;
        bool cut, whole;
    } cases[] = {
        {"{\"proposals\": [{\"a\": 1}]}", "[{\"a\":1}]", 0, 1},
        {"Here:\n```json\n{\"proposals\": [{\"a\": 1}, {\"a\": 2}]}\n```\nGood luck!",
         "[{\"a\":1},{\"a\":2}]", 0, 0},
        {"```\n[{\"a\": 1}]\n```", "[{\"a\":1}]", 0, 0},
        {"I use {BM: 64} first. {\"proposals\": [{\"a\": 3}]}", "[{\"a\":3}]", 0, 0},
        {"Draft: {\"proposals\": [{\"a\": 1}]} Final: {\"proposals\": [{\"a\": 2}]}", "[{\"a\":2}]",
         0, 0},
        {"{\"result\": {\"proposals\": [{\"a\": 1}]}}", "[{\"a\":1}]", 0, 1},
        {"{\"proposals\": \"[{\\\"a\\\": 1}]\"}", "[{\"a\":1}]", 0, 1},
        {"{\"proposals\": {\"a\": 1}}", "[{\"a\":1}]", 0, 1},
        {"{\"a\": 1}\n{\"a\": 2}\n", "[{\"a\":1},{\"a\":2}]", 0, 1},
        {"{\"proposals\": [{\"a\": 1}, {\"a\": 2}, {\"a", "[{\"a\":1},{\"a\":2}]", 1, 1},
        {"{\"proposals\": [{\"a\": 1}, {\"b\": oops}, {\"a\": 3}]}", "[{\"a\":1},{\"a\":3}]", 1, 0},
        {"<think>[1, 2]</think>{'proposals': [{'a': None},]}", "[{\"a\":null}]", 0, 0},
        {"f(x) = {x | x > 0}, a[i], nothing more", "[]", 0, 0},
        {"{\"proposals\": 7}", "[]", 0, 1},
        {"", "[]", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_extract found;
        assert_int_equal(
            ak_extract_read(&found, cases[i].text, strlen(cases[i].text), "proposals", NULL),
            AK_OK);
        json_t *want = json_loads(cases[i].elements, 0, NULL);
        if (!json_equal(want, found.elements) || found.cut != cases[i].cut ||
            found.whole != cases[i].whole) {
            char *got = json_dumps(found.elements, 0);
            fail_msg("%s gives %s cut %d whole %d", cases[i].text, got, found.cut, found.whole);
        }
        json_decref(want);
        json_decref(found.value);
        json_decref(found.elements);
    }
}

static void many_elements_and_many_braces_take_one_pass(void **state)
{
    (void)state;
    ak_buf text = AK_BUF(1u << 24);
    ak_extract found;
    ak_buf_puts(&text, "{\"proposals\": [");
    for (int i = 0; i < 50000; i++) {
        ak_buf_print(&text, "%s{\"BM\": %d, \"why\": \"because\"}", i == 0 ? "" : ", ", i);
    }
    ak_buf_puts(&text, "]}");
    assert_int_equal(ak_extract_read(&found, text.data, text.length, "proposals", NULL), AK_OK);
    assert_int_equal(json_array_size(found.elements), 50000);
    json_decref(found.value);
    json_decref(found.elements);
    ak_buf_clear(&text);
    for (int i = 0; i < 300000; i++) {
        ak_buf_puts(&text, "{\"a\": [");
    }
    assert_int_equal(ak_extract_read(&found, text.data, text.length, "proposals", NULL), AK_OK);
    json_decref(found.value);
    json_decref(found.elements);
    ak_buf_free(&text);
}

/* ---- streams ------------------------------------------------------------------------------- */

static ak_status collect(void *context, const char *event, const char *data, size_t length,
                         ak_error *err)
{
    (void)err;
    assert_int_equal(strlen(data), length);
    ak_buf_print(context, "<%s|%s>", event, data);
    return AK_OK;
}

static void streams_are_decoded(void **state)
{
    (void)state;
    static const struct {
        ak_stream_kind kind;
        const char *bytes, *want;
    } cases[] = {
        {AK_STREAM_SSE, "data: a\n\ndata: b\n\n", "<|a><|b>"},
        {AK_STREAM_SSE,
         "\xef\xbb\xbf"
         "data: a\r\n\r\n",
         "<|a>"},
        {AK_STREAM_SSE, "event: x\rdata: a\r\rdata:b\r\r", "<x|a><|b>"},
        {AK_STREAM_SSE, "data: a\ndata: b\n\n", "<|a\nb>"},
        {AK_STREAM_SSE, ": keep-alive\n\nid: 4\nretry: 10\nevent: y\n\ndata: c", "<|c>"},
        {AK_STREAM_SSE, "event: x\n\ndata:  two\n\n", "<| two>"},
        {AK_STREAM_SSE, "data\n\ndatax: no\n\n", "<|>"},
        {AK_STREAM_NDJSON, "{\"a\":1}\n\n  \n{\"b\":2}\r\n{\"c\":3}",
         "<|{\"a\":1}><|{\"b\":2}><|{\"c\":3}>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t piece = 1; piece < 40; piece += 6) {
            ak_buf out = AK_BUF(4096);
            ak_stream stream;
            size_t length = strlen(cases[i].bytes);
            ak_stream_init(&stream, cases[i].kind, collect, &out);
            for (size_t at = 0; at < length; at += piece) {
                size_t count = length - at < piece ? length - at : piece;
                assert_int_equal(ak_stream_feed(&stream, cases[i].bytes + at, count, NULL), AK_OK);
            }
            assert_int_equal(ak_stream_end(&stream, NULL), AK_OK);
            assert_string_equal(out.data, cases[i].want);
            ak_stream_free(&stream);
            ak_buf_free(&out);
        }
    }
}

static void zero_bytes_and_endless_events(void **state)
{
    (void)state;
    ak_buf out = AK_BUF(4096);
    ak_stream stream;
    ak_error err = AK_ERROR_INIT;
    ak_stream_init(&stream, AK_STREAM_SSE, collect, &out);
    assert_int_equal(ak_stream_feed(&stream, "data: a\0b\n\n", 11, NULL), AK_OK);
    assert_string_equal(out.data, "<|a b>");
    char *block = ak_alloc(1u << 20, 1);
    memset(block, 'x', 1u << 20);
    ak_status status = AK_OK;
    for (int i = 0; i < 20 && status == AK_OK; i++) {
        status = ak_stream_feed(&stream, block, 1u << 20, &err);
    }
    assert_int_equal(status, AK_LIMIT);
    ak_free(block);
    ak_stream_free(&stream);
    ak_buf_free(&out);
}

/* ---- errors -------------------------------------------------------------------------------- */

static void errors_are_classified(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *should_retry;
        ak_complaint_action action;
        ak_llm_fault fault;
        unsigned ability;
        int limit;
    } cases[] = {
        {429, "{\"error\":{\"message\":\"Rate limit reached\",\"code\":\"rate_limit_exceeded\"}}",
         NULL, AK_COMPLAINT_RETRY, AK_LLM_FAULT_RATE_LIMIT, 0, 0},
        {429,
         "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan and "
         "billing details.\",\"type\":\"insufficient_quota\",\"code\":\"insufficient_quota\"}}",
         "true", AK_COMPLAINT_FATAL, AK_LLM_FAULT_QUOTA, 0, 0},
        {400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Your "
         "credit balance is too low to access the Anthropic API.\"}}",
         NULL, AK_COMPLAINT_FATAL, AK_LLM_FAULT_QUOTA, 0, 0},
        {401,
         "{\"error\":{\"message\":\"Incorrect API key provided\",\"code\":\"invalid_api_key\"}}",
         NULL, AK_COMPLAINT_FATAL, AK_LLM_FAULT_KEY, 0, 0},
        {403, "{}", NULL, AK_COMPLAINT_FATAL, AK_LLM_FAULT_KEY, 0, 0},
        {404, "{\"error\":\"model \\\"qwen9\\\" not found, try pulling it first\"}", NULL,
         AK_COMPLAINT_FATAL, AK_LLM_FAULT_MODEL, 0, 0},
        {500, NULL, NULL, AK_COMPLAINT_RETRY, AK_LLM_FAULT_SERVER, 0, 0},
        {500, NULL, "false", AK_COMPLAINT_FATAL, AK_LLM_FAULT_SERVER, 0, 0},
        {503,
         "{\"error\":{\"code\":503,\"message\":\"Loading model\",\"type\":\"unavailable_error\"}}",
         NULL, AK_COMPLAINT_RETRY, AK_LLM_FAULT_LOADING, 0, 0},
        {529,
         "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"
         "}",
         NULL, AK_COMPLAINT_RETRY, AK_LLM_FAULT_OVERLOADED, 0, 0},
        {408, NULL, NULL, AK_COMPLAINT_RETRY, AK_LLM_FAULT_TIMEOUT, 0, 0},
        {409, NULL, NULL, AK_COMPLAINT_RETRY, AK_LLM_FAULT_SERVER, 0, 0},
        {413, NULL, NULL, AK_COMPLAINT_FATAL, AK_LLM_FAULT_CONTEXT, 0, 0},
        {400, NULL, "true", AK_COMPLAINT_RETRY, AK_LLM_FAULT_REQUEST, 0, 0},
        {400,
         "{\"error\":{\"message\":\"Unsupported value: 'reasoning_effort' does not support 'max' "
         "with this model.\",\"type\":\"invalid_request_error\","
         "\"param\":\"reasoning_effort\",\"code\":\"unsupported_value\"}}",
         NULL, AK_COMPLAINT_CAPABILITY, AK_LLM_FAULT_REQUEST, AK_ABILITY_EFFORT, 0},
        {400,
         "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this "
         "model. Use 'max_completion_tokens' instead.\",\"param\":\"max_tokens\"}}",
         NULL, AK_COMPLAINT_CAPABILITY, AK_LLM_FAULT_REQUEST, AK_ABILITY_COMPLETION_TOKENS, 0},
        {400,
         "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
         "\"max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for "
         "claude-3-5-sonnet-20241022\"}}",
         NULL, AK_COMPLAINT_CAPABILITY, AK_LLM_FAULT_REQUEST, 0, 8192},
        {400,
         "{\"error\":{\"message\":\"max_tokens is too large: 32768. This model supports at most "
         "16384 completion tokens\",\"param\":\"max_tokens\"}}",
         NULL, AK_COMPLAINT_CAPABILITY, AK_LLM_FAULT_REQUEST, 0, 16384},
        {422, "{\"detail\":\"Extra inputs are not permitted: response_format\"}", NULL,
         AK_COMPLAINT_CAPABILITY, AK_LLM_FAULT_REQUEST, AK_ABILITY_SCHEMA, 0},
        {400,
         "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens\",\"code\":"
         "\"context_length_exceeded\"}}",
         NULL, AK_COMPLAINT_FATAL, AK_LLM_FAULT_CONTEXT, 0, 0},
        {400, "{\"error\":\"\\\"llama3\\\" does not support thinking\"}", NULL,
         AK_COMPLAINT_CAPABILITY, AK_LLM_FAULT_REQUEST, AK_ABILITY_ADAPTIVE | AK_ABILITY_THINKING,
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *body = cases[i].body == NULL ? NULL : json_loads(cases[i].body, 0, NULL);
        ak_reply_headers headers = {.should_retry = cases[i].should_retry};
        ak_complaint complaint;
        assert_true(cases[i].body == NULL || body != NULL);
        ak_classify(&complaint, cases[i].status, &headers, body, 0);
        if (complaint.action != cases[i].action || complaint.fault != cases[i].fault ||
            (complaint.ability & cases[i].ability) != cases[i].ability ||
            (cases[i].ability == 0 && complaint.ability != 0) ||
            complaint.output_tokens_max != cases[i].limit) {
            fail_msg("case %zu: action %d fault %s ability %x limit %d", i, (int)complaint.action,
                     ak_llm_fault_text(complaint.fault), complaint.ability,
                     complaint.output_tokens_max);
        }
        json_decref(body);
    }
    json_t *lines = json_loads("{\"error\": \"no\\nsuch\\u001b[31m model\"}", 0, NULL);
    const ak_reply_headers headers = {.should_retry = NULL};
    ak_complaint complaint;
    ak_classify(&complaint, 404, &headers, lines, 0);
    assert_null(strpbrk(complaint.text, "\n\033"));
    json_decref(lines);
}

static void waits_are_read(void **state)
{
    (void)state;
    const int64_t now = 784111770; /* seven seconds before the date of RFC 9110 */
    static const struct {
        const char *after, *after_ms;
        int64_t ms;
    } cases[] = {
        {NULL, NULL, -1},
        {"2", NULL, 2000},
        {"0.5", NULL, 500},
        {"2", "150", 150},
        {"Sun, 06 Nov 1994 08:49:37 GMT", NULL, 7000},
        {"Sunday, 06-Nov-94 08:49:37 GMT", NULL, 7000},
        {"Sun Nov  6 08:49:37 1994", NULL, 7000},
        {"Sun, 06 Nov 1994 08:49:00 GMT", NULL, 0},
        {"99999999999", NULL, 86400000},
        {"-5", NULL, -1},
        {"soon", NULL, -1},
        {"", "", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_reply_headers headers = {.retry_after = cases[i].after,
                                    .retry_after_ms = cases[i].after_ms};
        ak_complaint complaint;
        ak_classify(&complaint, 429, &headers, NULL, now);
        assert_int_equal(complaint.wait_ms, cases[i].ms);
    }
}

/* ---- prices and keys ----------------------------------------------------------------------- */

static void price_of(ak_price *out, const char *spec, const char *file)
{
    const ak_provider *provider = NULL;
    size_t length = strcspn(spec, ":");
    assert_int_equal(ak_provider_find(&provider, spec, length, NULL), AK_OK);
    assert_int_equal(ak_price_find(out, provider, spec + length + 1, file, NULL), AK_OK);
}

static void prices_are_of_a_model_and_its_snapshots(void **state)
{
    (void)state;
    ak_price price;
    price_of(&price, "openai:gpt-5", NULL);
    assert_true(price.known && price.input == 1.25 && price.output == 10);
    price_of(&price, "openai-chat:gpt-5-2025-08-07", NULL);
    assert_true(price.known && price.input == 1.25);
    price_of(&price, "anthropic:claude-opus-4-5-20251101", NULL);
    assert_true(price.known && price.input == 5 && price.cache_write == 6.25);
    price_of(&price, "openai:gpt-4o-2024-05-13", NULL);
    assert_true(price.input == 5);
    static const char *const unknown[] = {"openai:gpt-5-pro", "openai:gpt-50", "anthropic:gpt-5",
                                          "compatible:gpt-5", "anthropic:claude-opus-4-9"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        price_of(&price, unknown[i], NULL);
        assert_false(price.known);
    }
    price_of(&price, "ollama:qwen3:8b", NULL);
    assert_true(price.known && price.output == 0);
    /* 70 plain, 128 cached, 12 written; 96 out */
    price_of(&price, "anthropic:claude-opus-4-6", NULL);
    ak_llm_usage usage = {true, 210, 128, 12, 96, 0};
    assert_true(ak_price_of(&price, &usage) > 0.0028889 && ak_price_of(&price, &usage) < 0.0028891);
}

static void the_user_overrides_prices(void **state)
{
    (void)state;
    char folder[AK_PATH_MAX], path[AK_PATH_MAX];
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    assert_int_equal(ak_fs_join(path, folder, "prices.json", NULL), AK_OK);
    const char *text = "{\"openai:gpt-5\": {\"input\": 2, \"output\": 20}, \"compatible:*\": "
                       "{\"input\": 0, \"output\": 0}}";
    assert_int_equal(ak_fs_write(path, text, strlen(text), NULL), AK_OK);
    ak_price price;
    price_of(&price, "openai:gpt-5", path);
    assert_true(price.input == 2 && price.cached_input == 2 && price.output == 20);
    price_of(&price, "openai:gpt-5-mini", path);
    assert_true(price.input == 0.25);
    price_of(&price, "compatible:whatever", path);
    assert_true(price.known && price.output == 0);
    static const char *const bad[] = {"[]",
                                      "{\"a\": 1}",
                                      "{\"a\": {\"input\": 1}}",
                                      "{\"a\": {\"input\": -1, \"output\": 2}}",
                                      "{\"a\": {\"input\": 1, \"output\": 2, \"x\": 3}}",
                                      "{"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ak_error err = AK_ERROR_INIT;
        assert_int_equal(ak_fs_write(path, bad[i], strlen(bad[i]), NULL), AK_OK);
        assert_int_equal(ak_price_find(&price, ak_providers[0], "m", path, &err), AK_INVALID);
        assert_non_null(strstr(err.text, "prices.json"));
    }
    ak_fs_remove(folder);
}

static void keys_come_from_private_files_and_go_nowhere(void **state)
{
    (void)state;
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], *key = NULL;
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    assert_int_equal(ak_fs_join(path, folder, "key", NULL), AK_OK);
    assert_int_equal(ak_fs_write(path, "secret-key-1\nrest\n", 18, NULL), AK_OK);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(ak_key_read(&key, ak_providers[0], path, &err), AK_INVALID);
    assert_non_null(strstr(err.text, "chmod 600"));
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(ak_key_read(&key, ak_providers[0], path, &err), AK_OK);
    assert_string_equal(key, "secret-key-1");
    char text[] = "bad key secret-key-1 or sk-proj-abcdefghijklmnopqrst, see task-list sk-...";
    ak_key_redact(text, key);
    assert_string_equal(
        text, "bad key ************ or sk-*************************, see task-list sk-...");
    char cut[] = "secret-key secret-keys-2 secret-key-1secret-key-";
    ak_key_redact(cut, key);
    assert_string_equal(cut, "********** **********s-2 ***********************");
    ak_key_free(key);
    assert_int_equal(ak_fs_write(path, "two words\n", 10, NULL), AK_OK);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(ak_key_read(&key, ak_providers[0], path, &err), AK_INVALID);
    assert_null(strstr(err.text, "two words"));
    ak_fs_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_with_faults_is_read),
        cmocka_unit_test(what_is_no_json_gives_nothing),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(elements_are_found_in_words),
        cmocka_unit_test(many_elements_and_many_braces_take_one_pass),
        cmocka_unit_test(streams_are_decoded),
        cmocka_unit_test(zero_bytes_and_endless_events),
        cmocka_unit_test(errors_are_classified),
        cmocka_unit_test(waits_are_read),
        cmocka_unit_test(prices_are_of_a_model_and_its_snapshots),
        cmocka_unit_test(the_user_overrides_prices),
        cmocka_unit_test(keys_come_from_private_files_and_go_nowhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
