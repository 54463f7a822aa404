/*
 * test_llm_client.c: tests the client against a server that makes every mistake, for every
 * provider. Each call ends within its limits and with the right fault and message, and no
 * complete reply is lost. Time is a counter; no test waits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/fs.h"
#include "llm/provider.h"
#include "llm_server.h"
#include "llm_worst_case.h"

#define KEY "sk-test-0123456789abcdefghijklmn"

/* ---- time ---------------------------------------------------------------------------------- */

typedef struct fake_time {
    atomic_llong now_ns, slept_ns;
    server *server;
    int64_t step_ns; /* how far each look at the clock moves it once the server is silent; below 0:
                        always, by -step_ns */
} fake_time;

static int64_t fake_now(void *context)
{
    fake_time *time = context;
    bool silent = time->step_ns > 0 && atomic_load(&time->server->silent) != 0;
    int64_t step = time->step_ns < 0 ? -time->step_ns : silent ? time->step_ns : 0;
    return atomic_fetch_add(&time->now_ns, step);
}

static int64_t fake_utc(void *context)
{
    (void)context;
    return 784111770;
}

static void fake_sleep(void *context, int64_t ns)
{
    fake_time *time = context;
    (void)atomic_fetch_add(&time->now_ns, ns);
    (void)atomic_fetch_add(&time->slept_ns, ns);
}

/* ---- dialects ------------------------------------------------------------------------------ */

typedef struct dialect {
    const char *spec, *error; /* error: a body whose %s is code or type and message */
    char *reply, *stream;
    bool ndjson;
} dialect;

static dialect dialects[] = {
    {.spec = "openai:gpt-5"},
    {.spec = "openai-chat:gpt-5"},
    {.spec = "anthropic:claude-opus-4-6"},
    {.spec = "ollama:qwen3:8b", .ndjson = true},
    {.spec = "compatible:qwen3-32b"},
};
#define DIALECTS (sizeof dialects / sizeof dialects[0])

static const dialect *chat_dialect = &dialects[4];

static const char sse[] = "Content-Type: text/event-stream\r\n";
static const char ndjson[] = "Content-Type: application/x-ndjson\r\n";

static char *data_text(const char *spec, const char *file)
{
    char path[AK_PATH_MAX], *text = NULL;
    size_t length;
    (void)snprintf(path, sizeof path, AK_TEST_DATA "/llm/%.*s/%s", (int)strcspn(spec, ":"), spec,
                   file);
    assert_int_equal(ak_fs_read(&text, &length, path, 1u << 20, NULL), AK_OK);
    return text;
}

static int load_dialects(void **state)
{
    (void)state;
    (void)setenv("OPENAI_API_KEY", KEY, 1);
    (void)setenv("ANTHROPIC_API_KEY", KEY, 1);
    for (size_t i = 0; i < DIALECTS; i++) {
        dialects[i].reply = data_text(dialects[i].spec, "reply.json");
        dialects[i].stream = data_text(dialects[i].spec, "stream.txt");
    }
    return 0;
}

static int free_dialects(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIALECTS; i++) {
        ak_free(dialects[i].reply);
        ak_free(dialects[i].stream);
    }
    return 0;
}

/* ---- one call ------------------------------------------------------------------------------ */

static int elements_max; /* of the next question */

typedef struct outcome {
    ak_status status;
    ak_error err;
    ak_llm_answer answer;
    ak_llm_totals totals;
    size_t asked;
    double slept_seconds;
    char sent[2][16384]; /* the first and the last request */
} outcome;

static const ak_llm_message question = {AK_LLM_USER, "Propose two."};
static json_t *schema;

static ak_llm_chat chat_of(void)
{
    return (ak_llm_chat){.system = "You tune kernels.",
                         .messages = &question,
                         .message_count = 1,
                         .schema = schema,
                         .schema_name = "proposals",
                         .array = "proposals",
                         .elements_max = elements_max,
                         .max_output_tokens = 2000};
}

static void call_with(outcome *out, const ak_llm_options *given, const server_reply *replies,
                      size_t count, int64_t step_ns)
{
    server s;
    fake_time time = {.server = &s, .step_ns = step_ns};
    ak_llm_seam seam = {&time, fake_now, fake_utc, fake_sleep};
    ak_llm_options options = *given;
    ak_llm *llm = NULL;
    ak_llm_chat chat = chat_of();
    *out = (outcome){.err = AK_ERROR_INIT};
    assert_true(server_start(&s, replies, count));
    options.url = s.url;
    if (ak_llm_open(&llm, &options, &seam, &out->err) != AK_OK) {
        fail_msg("%s", out->err.text);
    }
    out->status = ak_llm_ask(&out->answer, llm, &chat, &out->err);
    ak_llm_total(&out->totals, llm);
    ak_llm_close(llm);
    out->asked = server_asked(&s);
    out->slept_seconds = (double)atomic_load(&time.slept_ns) / 1e9;
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(out->sent[i], sizeof out->sent[i], "%s",
                       server_request(&s, i == 0 || out->asked == 0 ? 0 : out->asked - 1));
    }
    server_stop(&s);
    assert_null(strstr(out->err.text, KEY));
}

static void call(outcome *out, const dialect *d, const server_reply *replies, size_t count)
{
    ak_llm_options options = {.model = d->spec};
    call_with(out, &options, replies, count, 0);
}

static void expect_two(const outcome *out, const char *what)
{
    if (out->status != AK_OK || json_array_size(out->answer.elements) != 2) {
        fail_msg("%s: %zu elements, %s", what, json_array_size(out->answer.elements),
                 out->err.text);
    }
}

static void expect_fault(const outcome *out, ak_llm_fault fault, size_t asked, const char *words)
{
    if (out->answer.fault != fault || out->asked != asked || out->status == AK_OK ||
        strstr(out->err.text, words) == NULL) {
        fail_msg("fault %s, %zu requests: %s", ak_llm_fault_text(out->answer.fault), out->asked,
                 out->err.text);
    }
    assert_null(out->answer.text);
}

static server_reply good_stream(const dialect *d)
{
    return (server_reply){200, d->ndjson ? ndjson : sse, d->stream, SERVER_WHOLE, 0};
}

/* ---- what goes well ------------------------------------------------------------------------ */

static void every_dialect_answers_whole_and_streamed(void **state)
{
    (void)state;
    for (size_t i = 0; i < DIALECTS; i++) {
        const dialect *d = &dialects[i];
        server_reply replies[] = {good_stream(d),
                                  {200, NULL, d->reply, SERVER_WHOLE, 0},
                                  good_stream(d),
                                  {200, "", d->stream, SERVER_WHOLE, 0}};
        replies[2].end = SERVER_BYTEWISE;
        for (size_t r = 0; r < sizeof replies / sizeof replies[0]; r++) {
            outcome out;
            call(&out, d, &replies[r], 1);
            expect_two(&out, d->spec);
            assert_int_equal(out.asked, 1);
            assert_int_equal(out.answer.usage.input, 210);
            assert_int_equal(out.answer.usage.output, 96);
            assert_int_equal(out.totals.usage.output, 96);
            assert_string_equal(out.answer.reasoning, "Two tiles.");
            assert_true(out.answer.finish == AK_LLM_FINISH_STOP && !out.answer.cut);
            assert_true(out.answer.priced == (strncmp(d->spec, "comp", 4) != 0));
            assert_true(out.totals.cost_usd == out.answer.cost_usd);
            bool paid = strncmp(d->spec, "o", 1) != 0 || strncmp(d->spec, "openai", 6) == 0;
            assert_true(!out.answer.priced || (out.answer.cost_usd > 0) == paid);
            ak_llm_answer_clear(&out.answer);
        }
    }
}

static void keys_go_where_they_belong(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "Authorization: Bearer " KEY, "Authorization: Bearer " KEY, "x-api-key: " KEY, NULL, NULL};
    static const char *const paths[] = {"POST /v1/responses ", "POST /v1/chat/completions ",
                                        "POST /v1/messages ", "POST /api/chat ",
                                        "POST /v1/chat/completions "};
    for (size_t i = 0; i < DIALECTS; i++) {
        outcome out;
        server_reply reply = good_stream(&dialects[i]);
        call(&out, &dialects[i], &reply, 1);
        assert_memory_equal(out.sent[0], paths[i], strlen(paths[i]));
        if (headers[i] != NULL) {
            assert_non_null(strstr(out.sent[0], headers[i]));
        } else {
            assert_null(strstr(out.sent[0], KEY)); /* OpenAI's key is not for other servers */
        }
        ak_llm_answer_clear(&out.answer);
    }
}

/* If a server repeats the user's key, or another key, anywhere in a reply, no key appears in
   answers or messages. */
static void keys_in_replies_are_blanked(void **state)
{
    (void)state;
    static const struct {
        size_t dialect;
        const char *id;
    } cases[] = {
        {1, "x-request-id: " KEY "\r\n"}, {1, ""}, {4, "x-request-id: " KEY "\r\n"}, {4, ""}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        outcome out;
        const server_reply reply = {
            200, cases[c].id,
            "{\"id\":\"" KEY "\",\"model\":\"" KEY
            "\",\"choices\":[{\"message\":{\"content\":\"{\\\"proposals\\\": "
            "[{\\\"a\\\": \\\"" KEY "\\\"}]}\",\"reasoning\":\"" KEY
            "\"},\"finish_reason\":\"stop\"}]}",
            SERVER_WHOLE, 0};
        call(&out, &dialects[cases[c].dialect], &reply, 1);
        assert_int_equal(out.status, AK_OK);
        assert_int_equal(json_array_size(out.answer.elements), 1);
        const char *const texts[] = {out.answer.text, out.answer.reasoning, out.answer.model,
                                     out.answer.request_id};
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            assert_non_null(strstr(texts[i], "****"));
            assert_null(strstr(texts[i], KEY));
        }
        ak_llm_answer_clear(&out.answer);
    }
}

/* ---- what passes --------------------------------------------------------------------------- */

static void what_may_pass_is_tried_again(void **state)
{
    (void)state;
    static const struct {
        server_reply reply;
        double least, most; /* seconds waited */
    } faults[] = {
        {{429, "Retry-After: 7\r\n", "{\"error\":{\"message\":\"slow\"}}", SERVER_WHOLE, 0}, 7, 7},
        {{429, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "{}", SERVER_WHOLE, 0}, 7, 7},
        {{429, "retry-after-ms: 250\r\nRetry-After: 9\r\n", "{}", SERVER_WHOLE, 0}, 0.25, 0.25},
        {{500, NULL, "oops", SERVER_WHOLE, 0}, 0.375, 0.5},
        {{503, NULL, "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}", SERVER_WHOLE, 0},
         2,
         2},
        {{529, NULL, "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}", SERVER_WHOLE,
          0},
         0.375,
         0.5},
        {{400, "x-should-retry: true\r\n", "{}", SERVER_WHOLE, 0}, 0.375, 0.5},
        {{0, NULL, NULL, SERVER_CLOSE, 0}, 0.375, 0.5},
        {{200, NULL, "{\"cut", SERVER_WHOLE, 0}, 0.375, 0.5},
        {{200, NULL, "", SERVER_WHOLE, 0}, 0.375, 0.5},
        {{200, NULL, "<html>proxy</html>", SERVER_WHOLE, 0}, 0.375, 0.5},
        {{200, sse, "data: {\"type\": \"ping\"}\n\n", SERVER_CUT, 0}, 0.375, 0.5},
        {{200, sse, "data: {\"trunc\n\n", SERVER_WHOLE, 0}, 0.375, 0.5},
        {{200, NULL, "{\"error\": {\"type\": \"overloaded_error\", \"message\": \"x\"}}",
          SERVER_WHOLE, 0},
         0.375,
         0.5},
    };
    for (size_t i = 0; i < DIALECTS; i++) {
        for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++) {
            outcome out;
            server_reply replies[] = {faults[f].reply, good_stream(&dialects[i])};
            call(&out, &dialects[i], replies, 2);
            expect_two(&out, dialects[i].spec);
            assert_int_equal(out.asked, 2);
            assert_int_equal(out.answer.attempts, 2);
            if (out.slept_seconds < faults[f].least - 1e-3 ||
                out.slept_seconds > faults[f].most + 1e-3) {
                fail_msg("fault %zu: waited %g s", f, out.slept_seconds);
            }
            ak_llm_answer_clear(&out.answer);
        }
    }
}

static void patience_ends(void **state)
{
    (void)state;
    outcome out;
    server_reply always = {503, NULL, "{\"error\": {\"message\": \"down\"}}", SERVER_WHOLE, 0};
    call(&out, &dialects[0], &always, 1);
    expect_fault(&out, AK_LLM_FAULT_SERVER, 5, "HTTP 503: down (5 attempts)");
    assert_true(out.slept_seconds > 5.6 &&
                out.slept_seconds <= 7.5); /* 0.5 + 1 + 2 + 4, less a quarter */
    assert_true(out.totals.cost_usd == 0);
    server_reply later = {429, "Retry-After: 3600\r\n", "{}", SERVER_WHOLE, 0};
    call(&out, &dialects[0], &later, 1);
    expect_fault(&out, AK_LLM_FAULT_RATE_LIMIT, 1, "asks to wait 3600 s");
    server_reply never = {500, "x-should-retry: false\r\n", "{}", SERVER_WHOLE, 0};
    call(&out, &dialects[0], &never, 1);
    expect_fault(&out, AK_LLM_FAULT_SERVER, 1, "HTTP 500");
    /* Loading takes as long as it takes. */
    server_reply loading[9];
    for (int i = 0; i < 8; i++) {
        loading[i] = (server_reply){503, NULL, "{\"error\":{\"message\":\"Loading model\"}}",
                                    SERVER_WHOLE, 0};
    }
    loading[8] = good_stream(&dialects[4]);
    call(&out, &dialects[4], loading, 9);
    expect_two(&out, "loading");
    ak_llm_answer_clear(&out.answer);
    /* But not for ever, however long the waits are that it asks for. */
    loading[0].headers = "Retry-After: 110\r\n";
    call(&out, &dialects[4], loading, 1);
    expect_fault(&out, AK_LLM_FAULT_LOADING, 4, "Loading model");
    assert_true(out.slept_seconds > 299.9 && out.slept_seconds < 300.1);
    loading[0].headers = "Retry-After: 0\r\n";
    call(&out, &dialects[4], loading, 1);
    expect_fault(&out, AK_LLM_FAULT_LOADING, 151, "Loading model");
}

/* ---- what does not pass -------------------------------------------------------------------- */

static void lasting_faults_are_loud_and_not_tried_again(void **state)
{
    (void)state;
    static const struct {
        server_reply reply;
        ak_llm_fault fault;
        const char *words;
    } cases[] = {
        {{401, "x-request-id: req_9\r\n",
          "{\"error\":{\"message\":\"Incorrect API key provided: " KEY
          "\",\"code\":\"invalid_api_key\"}}",
          SERVER_WHOLE, 0},
         AK_LLM_FAULT_KEY,
         "(request req_9)"},
        {{401, NULL, "{}", SERVER_WHOLE, 0}, AK_LLM_FAULT_KEY, "HTTP 401"},
        {{429, "Retry-After: 1\r\n",
          "{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"You exceeded your current "
          "quota\"}}",
          SERVER_WHOLE, 0},
         AK_LLM_FAULT_QUOTA,
         "no credit left"},
        {{404, NULL, "{\"error\":{\"message\":\"The model does not exist\"}}", SERVER_WHOLE, 0},
         AK_LLM_FAULT_MODEL,
         "check the name of the model"},
        {{404, NULL, "<html>\n<h1>No <b>such</b> page</h1> " KEY, SERVER_WHOLE, 0},
         AK_LLM_FAULT_MODEL,
         "HTTP 404: No such page"},
        {{413, NULL, "too big", SERVER_WHOLE, 0}, AK_LLM_FAULT_CONTEXT, "HTTP 413: too big"},
        {{400, NULL,
          "{\"error\":{\"code\":400,\"message\":\"the request exceeds the available context size, "
          "try increasing it\",\"type\":\"exceed_context_size_error\"}}",
          SERVER_WHOLE, 0},
         AK_LLM_FAULT_CONTEXT,
         "tell it less with --llm-share"},
        {{400, NULL,
          "{\"error\":{\"message\":\"This model's maximum context length is 4096 tokens.\"}}",
          SERVER_WHOLE, 0},
         AK_LLM_FAULT_CONTEXT,
         "maximum context length"},
        {{302, "Location: https://elsewhere/v1\r\n", "", SERVER_WHOLE, 0},
         AK_LLM_FAULT_REQUEST,
         "it redirects to https://elsewhere/v1"},
        {{400, NULL, "{\"error\":{\"message\":\"this makes no sense\"}}", SERVER_WHOLE, 0},
         AK_LLM_FAULT_REQUEST,
         "this makes no sense"},
    };
    for (size_t i = 0; i < DIALECTS; i++) {
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            outcome out;
            call(&out, &dialects[i], &cases[c].reply, 1);
            expect_fault(&out, cases[c].fault, 1, cases[c].words);
            assert_true(ak_llm_fault_lasting(out.answer.fault));
            assert_true(out.totals.cost_usd == 0 && out.slept_seconds == 0);
            assert_int_equal(out.totals.failed, 1);
        }
    }
}

/* Answers each request with an error page that has zero bytes in it. */
static void *zero_main(void *context)
{
    static const char page[] =
        "HTTP/1.1 500 Words\r\nConnection: close\r\nContent-Length: 41\r\n\r\n"
        "{\"error\": {\0\"message\": \"out of \0 order\"}}";
    server *s = context;
    while (atomic_load(&s->stop) == 0) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            break;
        }
        char *text = server_read(fd);
        (void)(text != NULL && server_send(fd, page, sizeof page - 1, sizeof page));
        ak_free(text);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

static void zero_bytes_in_error_pages_are_blanks(void **state)
{
    (void)state;
    server s;
    ak_llm *llm = NULL;
    ak_llm_chat chat = chat_of();
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    assert_true(server_start_as(&s, NULL, 0, zero_main, &s));
    ak_llm_options options = {.model = chat_dialect->spec, .url = s.url, .retries = -1};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_UNAVAILABLE);
    assert_int_equal(answer.fault, AK_LLM_FAULT_SERVER);
    assert_non_null(strstr(err.text, "HTTP 500: out of   order"));
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    server_stop(&s);
}

static void parameters_are_corrected_once(void **state)
{
    (void)state;
    static const struct {
        size_t dialect;
        const char *body, *gone, *comes;
    } cases[] = {
        {0, "{\"error\":{\"message\":\"no\",\"param\":\"text.format\"}}", "json_schema",
         "JSON schema"},
        {0, "{\"error\":{\"message\":\"Unsupported parameter: 'reasoning.effort'\"}}",
         "\"reasoning\"", "gpt-5"},
        {1, "{\"error\":{\"message\":\"'max_completion_tokens' is unknown, use 'max_tokens'\"}}",
         "max_completion_tokens", "\"max_tokens\":2000"},
        {1,
         "{\"error\":{\"message\":\"max_completion_tokens is too large: 2000. This model supports "
         "at most 1024 completion tokens\"}}",
         ":2000", "\"max_completion_tokens\":1024"},
        {2,
         "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"output_config.format: "
         "Extra inputs are not permitted\"}}",
         "json_schema", "JSON schema"},
        {2,
         "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"adaptive thinking is not "
         "supported on this model\"}}",
         "adaptive", "claude"},
        {3, "{\"error\":\"\\\"qwen3:8b\\\" does not support thinking\"}", "\"think\"", "qwen3"},
        {3, "{\"error\":\"json: unknown field \\\"think\\\"\"}", "\"think\"", "qwen3"},
        {4, "{\"object\":\"error\",\"message\":\"stream_options is not allowed\"}",
         "stream_options", "\"stream\":true"},
        {4,
         "{\"detail\":[{\"type\":\"extra_forbidden\",\"loc\":[\"body\",\"stream_options\"],"
         "\"msg\":\"Extra inputs are not permitted\"}]}",
         "stream_options", "\"stream\":true"},
        {4, "{\"detail\":\"response_format: not supported by this server\"}", "response_format",
         "JSON schema"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        outcome out;
        const dialect *d = &dialects[cases[c].dialect];
        server_reply replies[] = {{400, NULL, cases[c].body, SERVER_WHOLE, 0}, good_stream(d)};
        ak_llm_options options = {.model = d->spec, .effort = "high"};
        call_with(&out, &options, replies, 2, 0);
        expect_two(&out, cases[c].body);
        assert_int_equal(out.asked, 2);
        if (strstr(out.sent[0], cases[c].gone) == NULL ||
            strstr(out.sent[1], cases[c].gone) != NULL ||
            strstr(out.sent[1], cases[c].comes) == NULL) {
            fail_msg("case %zu: second request: %s", c, out.sent[1]);
        }
        assert_true(out.slept_seconds == 0);
        ak_llm_answer_clear(&out.answer);
        /* The same again is a fault, not a loop. */
        call_with(&out, &options, replies, 1, 0);
        assert_int_equal(out.answer.fault, AK_LLM_FAULT_REQUEST);
        assert_true(out.asked <= 3);
    }
}

/* ---- what is cut, too long, or odd --------------------------------------------------------- */

/* An event of a chat stream with `text`, in which the caller has escaped characters for JSON. */
#define CHUNK(text) "data: {\"choices\":[{\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define DONE                                                                                       \
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"                          \
    "data: [DONE]\n\n"

static void lost_streams_keep_complete_elements(void **state)
{
    (void)state;
    static const char part[] =
        CHUNK("{\\\"proposals\\\": [{\\\"BM\\\": 1}, {\\\"BM\\\"") CHUNK(": 2}, {\\\"BM\\\": 12");
    const server_reply replies[] = {{200, sse, part, SERVER_CUT, 0}};
    outcome out;
    call(&out, chat_dialect, replies, 1);
    expect_two(&out, "cut");
    assert_true(out.answer.cut && out.answer.finish == AK_LLM_FINISH_LOST);
    ak_llm_answer_clear(&out.answer);
    /* Without a complete element it is asked again. */
    const server_reply early[] = {{200, sse, CHUNK("{\\\"proposals\\\": [{"), SERVER_CUT, 0},
                                  good_stream(chat_dialect)};
    call(&out, chat_dialect, early, 2);
    expect_two(&out, "early");
    assert_int_equal(out.asked, 2);
    ak_llm_answer_clear(&out.answer);
}

/* The client does not wait for long for text that follows the elements it has asked for. It then
   does not know the tokens, which it does if the stream ends soon. */
#define STOPPED                                                                                    \
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],"                              \
    "\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":20}}\n\n"
static void streams_end_when_enough_is_said(void **state)
{
    (void)state;
    static const char two[] = CHUNK("{\\\"proposals\\\": [{\\\"BM\\\": 1}, {\\\"BM\\\": 2}");
    static const char more[] = CHUNK(", {\\\"BM\\\": 64}"), words[] = CHUNK(" because it is ");
    static const struct {
        const char *begin, *again;
        int wanted;
        size_t least, most; /* elements of the answer */
    } cases[] = {
        {two, more, 2, 3, 200}, /* it goes on with elements */
        {CHUNK("{\\\"proposals\\\": [{\\\"BM\\\": 1}]}"), words, 1, 1, 1}, /* with words */
        {two, more, 0, 10002, 10002},  /* no limit: all of them */
        {two, more, -2, 10002, 10002}, /* a stream that has ended soon: all of them, too */
        {CHUNK("Let me think. {\\\"proposals\\\": []} ") CHUNK("{\\\"proposals\\\": [{}"), more, 2,
         10001, 10001}, /* a draft, and then the answer */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[4096];
        outcome out;
        const bool cut = cases[i].most <= 200;
        const ak_llm_options options = {.model = chat_dialect->spec};
        (void)snprintf(body, sizeof body, "%s\1%s\1%s" STOPPED DONE, cases[i].begin, cases[i].again,
                       strcmp(cases[i].again, words) == 0 ? CHUNK(".") : CHUNK("]}"));
        const server_reply reply = {200, sse, body, SERVER_WHOLE, 10000};
        elements_max = abs(cases[i].wanted);
        call_with(&out, &options, &reply, 1, cases[i].wanted > 0 ? -AK_SECOND_NS : 0);
        elements_max = 0;
        size_t count = json_array_size(out.answer.elements);
        if (out.status != AK_OK || count < cases[i].least || count > cases[i].most ||
            out.answer.cut || out.answer.usage.known == cut ||
            out.answer.finish != (cut ? AK_LLM_FINISH_ENOUGH : AK_LLM_FINISH_STOP)) {
            fail_msg("case %zu: %zu elements, %s", i, count, out.err.text);
        }
        ak_llm_answer_clear(&out.answer);
    }
}

static void silence_ends_at_its_limit(void **state)
{
    (void)state;
    ak_llm_options options = {.model = chat_dialect->spec, .stall_seconds = 4, .retries = -1};
    outcome out;
    const server_reply silent = {200, sse, ": nothing yet\n\n", SERVER_STALL, 0};
    call_with(&out, &options, &silent, 1, AK_SECOND_NS); /* a look at the clock, a second */
    expect_fault(&out, AK_LLM_FAULT_TIMEOUT, 1, "silent for 4 s");
    const server_reply half = {
        200, sse, CHUNK("{\\\"proposals\\\": [{\\\"a\\\": 1}, {\\\"a\\\": 2}"), SERVER_STALL, 0};
    call_with(&out, &options, &half, 1, AK_SECOND_NS);
    expect_two(&out, "half");
    ak_llm_answer_clear(&out.answer);
    options = (ak_llm_options){.model = chat_dialect->spec, .timeout_seconds = 3, .retries = -1};
    call_with(&out, &options, &silent, 1, AK_SECOND_NS);
    expect_fault(&out, AK_LLM_FAULT_TIMEOUT, 1, "no complete reply after 3 s; raise --llm-timeout");
}

static void a_web_page_is_no_reply(void **state)
{
    (void)state;
    ak_llm_options options = {.model = chat_dialect->spec};
    outcome out;
    const server_reply pages[] = {
        {200, "Content-Type: text/html\r\n", "<html><h1>Please log in</h1></html>", SERVER_WHOLE,
         0},
        {200, "Content-Type: text/plain\r\n", " <!DOCTYPE html><p>Please log in", SERVER_WHOLE, 0}};
    for (size_t i = 0; i < 2; i++) {
        call_with(&out, &options, &pages[i], 1, 0);
        expect_fault(
            &out, AK_LLM_FAULT_DAMAGED, 5,
            "a web page came in place of a reply, so check the address: \"Please log in\"");
    }
}

static void cancel_ends_at_once(void **state)
{
    (void)state;
    static const volatile int cancel = 1;
    ak_llm_options options = {.model = chat_dialect->spec, .cancel = &cancel};
    const server_reply silent = {200, sse, "", SERVER_STALL, 0};
    outcome out;
    call_with(&out, &options, &silent, 1, 0);
    expect_fault(&out, AK_LLM_FAULT_CANCELLED, 0, "cancelled");
    /* A call that is under way is given up with its thread. */
    server s;
    ak_llm *llm = NULL;
    ak_llm_call *pending = NULL;
    ak_llm_chat chat = chat_of();
    fake_time time = {0};
    ak_llm_seam seam = {&time, fake_now, fake_utc, fake_sleep};
    assert_true(server_start(&s, &silent, 1));
    options = (ak_llm_options){.model = chat_dialect->spec, .url = s.url};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    assert_int_equal(ak_llm_start(&pending, llm, &chat, NULL), AK_OK);
    assert_false(ak_llm_done(pending));
    char lost[AK_LLM_LOST_BYTES];
    ak_llm_answer given_up;
    assert_int_equal(ak_llm_abandon(&given_up, lost, pending, NULL), AK_CANCELLED);
    assert_int_equal(given_up.fault, AK_LLM_FAULT_CANCELLED);
    ak_llm_answer_clear(&given_up);
    assert_string_equal(lost, ""); /* no request was lost */
    ak_llm_totals totals;
    ak_llm_total(&totals, llm);
    assert_int_equal(totals.failed, 1);
    ak_llm_close(llm);
    server_stop(&s);
}

static void calls_run_side_by_side(void **state)
{
    (void)state;
    server s;
    ak_llm *llm = NULL;
    ak_llm_call *calls[4];
    ak_llm_chat chat = chat_of();
    fake_time time = {0};
    ak_llm_seam seam = {&time, fake_now, fake_utc, fake_sleep};
    const server_reply replies[] = {good_stream(&dialects[0])};
    assert_true(server_start(&s, replies, 1));
    ak_llm_options options = {.model = "openai:gpt-5", .url = s.url, .budget_usd = 1};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ak_llm_start(&calls[i], llm, &chat, NULL), AK_OK);
    }
    for (int i = 0; i < 4; i++) {
        ak_llm_answer answer;
        assert_int_equal(ak_llm_end(&answer, calls[i], NULL), AK_OK);
        assert_int_equal(json_array_size(answer.elements), 2);
        ak_llm_answer_clear(&answer);
    }
    ak_llm_totals totals;
    ak_llm_total(&totals, llm);
    assert_int_equal(totals.calls, 4);
    assert_int_equal(totals.usage.output, 4 * 96);
    ak_llm_close(llm);
    server_stop(&s);
}

static void large_replies_are_bounded(void **state)
{
    (void)state;
    outcome out;
    /* 50,000 proposals in one reply. */
    const server_reply many = {200, sse,
                               CHUNK("{\\\"proposals\\\": [{\\\"BM\\\": 0}") "\1" CHUNK(
                                   ", {\\\"BM\\\": 64}") "\1" CHUNK("]}") DONE,
                               SERVER_WHOLE, 49999};
    call(&out, chat_dialect, &many, 1);
    assert_int_equal(out.status, AK_OK);
    assert_int_equal(json_array_size(out.answer.elements), 50000);
    assert_false(out.answer.cut);
    ak_llm_answer_clear(&out.answer);
    /* 100 MB of stream: what fits is used. */
    static const char proposal[] = ", {\\\"BM\\\": 64, \\\"why\\\": "
                                   "\\\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                   "aaaaaaaaaaaaaaaaaaaaaaaaaaa\\\"}";
    ak_buf body = AK_BUF(1u << 20);
    ak_buf_puts(
        &body,
        CHUNK("{\\\"proposals\\\": [{\\\"BM\\\": 0}") "\1"
                                                      "data: "
                                                      "{\"choices\":[{\"delta\":{\"content\":\"");
    for (int i = 0; i < 64; i++) {
        ak_buf_puts(&body, proposal);
    }
    ak_buf_puts(&body, "\"}}]}\n\n\1" CHUNK("]}") DONE);
    const server_reply huge = {200, sse, body.data, SERVER_WHOLE, 100000000 / (64 * 190)};
    call(&out, chat_dialect, &huge, 1);
    assert_int_equal(out.status, AK_OK);
    assert_true(out.answer.cut && out.answer.finish == AK_LLM_FINISH_TOO_LONG);
    assert_true(json_array_size(out.answer.elements) > 80000);
    ak_llm_answer_clear(&out.answer);
    ak_buf_free(&body);
    /* 100 MB that are not a stream have no part that could be used. */
    const server_reply blob = {200, NULL, "{\"choices\": \"\1xxxxxxxxxxxxxxxx\1\"}", SERVER_WHOLE,
                               100000000 / 16};
    call(&out, chat_dialect, &blob, 1);
    expect_fault(&out, AK_LLM_FAULT_DAMAGED, 1, "larger than 16777216 bytes");
    /* An error page without end. */
    const server_reply page = {500, NULL, "\1xxxxxxxxxxxxxxxx\1", SERVER_WHOLE, 1000000};
    ak_llm_options options = {.model = chat_dialect->spec, .retries = -1};
    call_with(&out, &options, &page, 1, 0);
    expect_fault(&out, AK_LLM_FAULT_SERVER, 1, "HTTP 500");
}

static void odd_texts_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        size_t elements;
        ak_llm_found found;
        bool repaired;
    } cases[] = {
        /* the schema ignored: words and a fence */
        {CHUNK("Sure!\\n```json\\n{\\\"proposals\\\": [{\\\"a\\\": 1},]}\\n```\\nEnjoy.") DONE, 1,
         AK_LLM_FOUND_EMBEDDED, true},
        /* the JSON in the reasoning */
        {"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"so: {\\\"proposals\\\": "
         "[{\\\"a\\\":"
         " 1}]}\"}}]}\n\n" DONE,
         1, AK_LLM_FOUND_REASONING, true},
        {"data: {\"choices\":[{\"delta\":{\"reasoning\":\"{'proposals': [{'a': "
         "None}]}\"}}]}\n\n" DONE,
         1, AK_LLM_FOUND_REASONING, true},
        /* invalid UTF-8, a zero byte */
        {CHUNK("{\\\"proposals\\\": [{\\\"a\\\": \\\"\xff\xc3\\\"}]}") DONE, 1,
         AK_LLM_FOUND_CONTENT, false},
        {CHUNK("{\\\"proposals\\\": [{\\\"a\\\": \\\"\\u0000\\\"}]}") DONE, 1, AK_LLM_FOUND_CONTENT,
         false},
        /* wrong types */
        {CHUNK("{\\\"proposals\\\": 7}") DONE, 0, AK_LLM_FOUND_CONTENT, false},
        {CHUNK("I cannot help with numbers.") DONE, 0, AK_LLM_FOUND_NOTHING, false},
        {"data: {\"choices\":[{\"delta\":{\"content\":{\"proposals\":[{\"a\":1}]}}}]}\n\n" DONE, 1,
         AK_LLM_FOUND_CONTENT, false},
        {"data: {\"choices\":{\"delta\":7}}\n\ndata: "
         "{\"choices\":[7,[]],\"usage\":\"x\"}\n\n" CHUNK("{\\\"proposals\\\": []}") DONE,
         0, AK_LLM_FOUND_CONTENT, false},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        outcome out;
        server_reply reply = {200, sse, cases[c].body, SERVER_WHOLE, 0};
        call(&out, chat_dialect, &reply, 1);
        if (out.status != AK_OK || json_array_size(out.answer.elements) != cases[c].elements ||
            out.answer.found != cases[c].found || out.answer.repaired != cases[c].repaired) {
            fail_msg("case %zu: %zu elements, %s, %s", c, json_array_size(out.answer.elements),
                     ak_llm_found_text(out.answer.found), out.err.text);
        }
        ak_llm_answer_clear(&out.answer);
    }
}

static void empty_and_refused_answers_say_why(void **state)
{
    (void)state;
    outcome out;
    const server_reply length = {
        200, sse,
        "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\"},\"finish_reason\":\"length\"}]}\n\n"
        "data: [DONE]\n\n",
        SERVER_WHOLE, 0};
    call(&out, chat_dialect, &length, 1);
    expect_fault(&out, AK_LLM_FAULT_EMPTY, 1, "lower --llm-effort");
    const server_reply empty = {200, sse, DONE, SERVER_WHOLE, 0};
    call(&out, chat_dialect, &empty, 1);
    expect_fault(&out, AK_LLM_FAULT_EMPTY, 5, "said nothing");
    const server_reply refused = {
        200, sse, "data: {\"choices\":[{\"delta\":{\"refusal\":\"I will not.\"}}]}\n\n" DONE,
        SERVER_WHOLE, 0};
    call(&out, chat_dialect, &refused, 1);
    expect_fault(&out, AK_LLM_FAULT_REFUSED, 1, "I will not.");
}

/* ---- money --------------------------------------------------------------------------------- */

static void budgets_are_never_exceeded(void **state)
{
    (void)state;
    server s;
    ak_llm *llm = NULL;
    ak_llm_chat chat = chat_of();
    fake_time time = {0};
    ak_llm_seam seam = {&time, fake_now, fake_utc, fake_sleep};
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    /* Attempts that are lost after they were sent may have cost everything that they could. */
    const server_reply replies[] = {good_stream(&dialects[0]), {0, NULL, NULL, SERVER_CLOSE, 0}};
    assert_true(server_start(&s, replies, 2));
    ak_llm_options options = {.model = "openai:gpt-5", .url = s.url, .budget_usd = 0.1};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    const double first = llm_worst_case(llm, &chat);
    assert_true(first > 0.02 && first < 0.03); /* 2000 output tokens at $10 a million */
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
    /* The input is known better now: 210 tokens and half as much again at $1.25 a million. */
    const double worst = llm_worst_case(llm, &chat);
    assert_true(worst < first && worst > 0.020393 && worst < 0.020396);
    /* 82 plain and 128 cached of 210 in, 96 out */
    assert_true(answer.cost_usd > 0.0010784 && answer.cost_usd < 0.0010786);
    ak_llm_answer_clear(&answer);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_LIMIT);
    assert_int_equal(answer.fault, AK_LLM_FAULT_BUDGET);
    assert_non_null(strstr(err.text, "raise --llm-budget"));
    ak_llm_answer_clear(&answer);
    ak_llm_totals totals;
    ak_llm_total(&totals, llm);
    assert_true(totals.uncertain_usd > 3.9 * worst && totals.uncertain_usd < 4.1 * worst);
    assert_true(totals.cost_usd <= 0.1 && totals.cost_usd + worst > 0.1);
    assert_int_equal(server_asked(&s), 5);
    ak_llm_close(llm);
    server_stop(&s);
}

/* The cost of a question that was lost once and then answered is a bound, and its tokens are not
   all known. A rate limit costs nothing. */
static void a_lost_attempt_makes_the_cost_a_bound(void **state)
{
    (void)state;
    static const int first[] = {500, 429};
    for (size_t i = 0; i < sizeof first / sizeof first[0]; i++) {
        outcome out;
        const server_reply replies[] = {{first[i], NULL, "{}", SERVER_WHOLE, 0},
                                        good_stream(&dialects[0])};
        call(&out, &dialects[0], replies, 2);
        assert_int_equal(out.answer.fault, AK_LLM_FAULT_NONE);
        assert_int_equal(out.answer.usage.known, first[i] == 429);
        assert_int_equal(out.answer.cost_usd > 0.02, first[i] == 500);
        ak_llm_answer_clear(&out.answer);
    }
}

static void keep_warning(void *context, const char *text)
{
    (void)snprintf(context, 400, "%s", text);
}

/* A server that counts more tokens than a question can have exceeds a budget. The user is told, and
   the next question is expected to cost as much. */
static void more_tokens_than_bytes_are_told(void **state)
{
    (void)state;
    server s;
    ak_llm *llm = NULL;
    ak_llm_chat chat = chat_of();
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    char said[400] = "";
    const server_reply reply = {
        200, NULL,
        "{\"choices\":[{\"message\":{\"content\":\"{}\"},\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":600000,\"completion_tokens\":50}}",
        SERVER_WHOLE, 0};
    assert_true(server_start(&s, &reply, 1));
    ak_llm_options options = {.model = "openai-chat:gpt-5",
                              .url = s.url,
                              .budget_usd = 0.5,
                              .warning = keep_warning,
                              .notice_context = said};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
    assert_non_null(strstr(said, "counts 600000 tokens in and 50 out ($0.7505)"));
    assert_non_null(strstr(said, "the budget of $0.5 is exceeded"));
    assert_true(llm_worst_case(llm, &chat) > 0.75);
    ak_llm_answer_clear(&answer);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_LIMIT);
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    server_stop(&s);
}

/* A call that does not fit into the rest of the budget gets a lower output limit, once answers are
   known to be much shorter. The budget and the limit on calls are never exceeded. */
static void limits_are_kept(void **state)
{
    (void)state;
    server s;
    ak_llm *llm = NULL;
    ak_llm_chat chat = chat_of();
    fake_time time = {0};
    ak_llm_seam seam = {&time, fake_now, fake_utc, fake_sleep};
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    const server_reply reply = good_stream(&dialects[0]);
    assert_true(server_start(&s, &reply, 1));
    ak_llm_options options = {
        .model = "openai:gpt-5", .url = s.url, .budget_usd = 0.0225, .output_tokens = 1800};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    for (int i = 0; i < 15; i++) {
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_OK);
        ak_llm_answer_clear(&answer);
    }
    assert_non_null(strstr(server_request(&s, 0), "\"max_output_tokens\":1800"));
    assert_null(strstr(server_request(&s, 14), "\"max_output_tokens\":1800"));
    ak_llm_totals totals;
    int made = 15;
    while (ak_llm_ask(&answer, llm, &chat, &err) == AK_OK) {
        ak_llm_answer_clear(&answer);
        made++;
    }
    assert_int_equal(answer.fault, AK_LLM_FAULT_BUDGET);
    ak_llm_answer_clear(&answer);
    ak_llm_total(&totals, llm);
    assert_true(totals.cost_usd <= 0.0225);
    assert_true(totals.calls == (size_t)made && totals.failed == 0);
    assert_in_range(made, 17, 20); /* 20 answers cost less than a tenth of a cent too little */
    ak_llm_close(llm);
    options = (ak_llm_options){.model = "openai:gpt-5", .url = s.url, .calls = 2};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
        ak_llm_answer_clear(&answer);
    }
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_LIMIT);
    assert_non_null(strstr(err.text, "2 calls were made, as many as --llm-calls allows"));
    ak_llm_answer_clear(&answer);
    assert_int_equal(server_asked(&s), (size_t)made + 2);
    ak_llm_total(&totals, llm);
    assert_true(totals.calls == 2 && totals.failed == 0);
    ak_llm_close(llm);
    /* The first call could use 1,100 tokens of input and 1,000 of output, and uses 306. */
    options = (ak_llm_options){
        .model = "openai:gpt-5", .url = s.url, .output_tokens = 1000, .tokens = 2500};
    assert_int_equal(ak_llm_open(&llm, &options, &seam, NULL), AK_OK);
    for (made = 0; ak_llm_ask(&answer, llm, &chat, &err) == AK_OK; made++) {
        ak_llm_answer_clear(&answer);
    }
    assert_int_equal(answer.fault, AK_LLM_FAULT_BUDGET);
    assert_non_null(
        strstr(err.text, "of the 2500 that the run may use are left: raise --llm-tokens"));
    ak_llm_answer_clear(&answer);
    ak_llm_total(&totals, llm);
    assert_true(totals.usage.input + totals.usage.output <= 2500);
    assert_in_range(made, 5, 8);
    ak_llm_close(llm);
    server_stop(&s);
}

/* A call whose usage is not reported is charged at its worst case. */
static void lost_work_costs_its_worst_case(void **state)
{
    (void)state;
    static const char counted[] =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"proposals\\\": [{\\\"a\\\": 1}\"}}],"
        "\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1}}\n\n";
    static const char impossible[] =
        "data: {\"choices\":[{\"delta\":{\"content\":\"{\\\"proposals\\\": []}\"},"
        "\"finish_reason\":\"stop\"}],"
        "\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":1e15}}\n\ndata: [DONE]\n\n";
    static const struct {
        server_reply reply;
        bool uncertain;
    } cases[] = {
        {{408, NULL, "{}", SERVER_WHOLE, 0}, true},
        {{500, NULL, "{}", SERVER_WHOLE, 0}, true},
        {{502, NULL, "<html>", SERVER_WHOLE, 0}, true},
        {{504, NULL, "upstream request timeout", SERVER_WHOLE, 0}, true},
        {{524, NULL, "a timeout occurred", SERVER_WHOLE, 0}, true},
        {{503, NULL, "{}", SERVER_WHOLE, 0}, false},
        {{529, NULL, "{}", SERVER_WHOLE, 0}, false},
        {{429, NULL, "{}", SERVER_WHOLE, 0}, false},
        {{400, NULL, "{}", SERVER_WHOLE, 0}, false},
        /* No question has less than one token. */
        {{200, sse, impossible, SERVER_WHOLE, 0}, true},
        /* The tokens of the first piece are not those of the reply. */
        {{200, sse, counted, SERVER_CUT, 0}, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        outcome out;
        ak_llm_options options = {.model = dialects[1].spec, .retries = -1};
        call_with(&out, &options, &cases[c].reply, 1, 0);
        bool worst = out.totals.uncertain_usd > 0.02; /* 2000 output tokens at $10 a million */
        if (worst != cases[c].uncertain || out.totals.cost_usd != out.totals.uncertain_usd) {
            fail_msg("case %zu: $%g, $%g of it uncertain", c, out.totals.cost_usd,
                     out.totals.uncertain_usd);
        }
        assert_int_equal(out.asked, 1);
        ak_llm_answer_clear(&out.answer);
    }
}

static void specifications_are_checked(void **state)
{
    (void)state;
    static const struct {
        ak_llm_options options;
        const char *words;
    } cases[] = {
        {{.model = NULL}, "no language model is named"},
        {{.model = "gpt-5"}, "PROVIDER:MODEL"},
        {{.model = "openai:"}, "PROVIDER:MODEL"},
        {{.model = "opnai:gpt-5"}, "choose one of: openai"},
        {{.model = "compatible:x"}, "--llm-url"},
        {{.model = "openai:a b"}, "name of the model"},
        {{.model = "openai:gpt-5", .effort = "heroic"}, "choose one of: none"},
        {{.model = "openai:gpt-5", .url = "ftp://x"}, "begins with https://"},
        {{.model = "openai:gpt-5", .url = "http://10.0.0.1/v1"}, "unencrypted"},
        {{.model = "openai:gpt-5", .url = "http://localhost.evil.org"}, "unencrypted"},
        {{.model = "openai:gpt-5", .url = "https://me:pw@host/"}, "key-file"},
        {{.model = "openai:unheard-of", .budget_usd = 1}, "--llm-prices"},
        {{.model = "openai:gpt-5", .record = "a", .replay = "b"}, "either recorded or replayed"},
        {{.model = "openai:gpt-5", .replay = "/nonexistent"}, "no folder of recorded"},
        {{.model = "openai:gpt-5", .key_file = "/nonexistent"}, "/nonexistent"},
        {{.model = "openai:gpt-5", .timeout_seconds = -1}, "time limit"},
        {{.model = "openai:gpt-5", .budget_usd = -1}, "budget"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ak_llm *llm = NULL;
        ak_error err = AK_ERROR_INIT;
        if (ak_llm_open(&llm, &cases[c].options, NULL, &err) == AK_OK ||
            strstr(err.text, cases[c].words) == NULL) {
            fail_msg("case %zu: %s", c, err.text);
        }
        assert_null(llm);
    }
    (void)unsetenv("OPENAI_API_KEY");
    ak_llm *llm = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_llm_options options = {.model = "openai:gpt-5"};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, &err), AK_UNAVAILABLE);
    assert_non_null(strstr(err.text, "set OPENAI_API_KEY"));
    (void)setenv("OPENAI_API_KEY", KEY, 1);
}

static void addresses_are_completed(void **state)
{
    (void)state;
    static const struct {
        const char *tail, *path;
    } cases[] = {{"", "POST /v1/chat/completions "},
                 {"/", "POST /v1/chat/completions "},
                 {"/v1", "POST /v1/chat/completions "},
                 {"/v1/", "POST /v1/chat/completions "},
                 {"/openai/v1beta/x", "POST /openai/v1beta/x/chat/completions "},
                 {"/gateway", "POST /gateway/v1/chat/completions "},
                 {"/v1/chat/completions", "POST /v1/chat/completions "}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        server s;
        ak_llm *llm = NULL;
        ak_llm_chat chat = chat_of();
        ak_llm_answer answer;
        char url[200];
        const server_reply reply = good_stream(chat_dialect);
        assert_true(server_start(&s, &reply, 1));
        (void)snprintf(url, sizeof url, "%s%s", s.url, cases[c].tail);
        ak_llm_options options = {.model = chat_dialect->spec, .url = url};
        assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
        assert_memory_equal(server_request(&s, 0), cases[c].path, strlen(cases[c].path));
        ak_llm_answer_clear(&answer);
        ak_llm_close(llm);
        server_stop(&s);
    }
}

static void proxies_and_certificates_are_the_users(void **state)
{
    (void)state;
    server s;
    ak_llm *llm = NULL;
    ak_llm_chat chat = chat_of();
    ak_llm_answer answer;
    ak_error err = AK_ERROR_INIT;
    char url[64];
    const server_reply replies[] = {good_stream(chat_dialect)};
    const server_reply own[] = {good_stream(&dialects[0])};
    const server_reply hangup[] = {{0, NULL, NULL, SERVER_CLOSE, 0}};
    assert_true(server_start(&s, replies, 1));
    (void)setenv("http_proxy", s.url, 1);
    ak_llm_options options = {.model = chat_dialect->spec, .url = "http://192.0.2.1:8000"};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
    const char *line = "POST http://192.0.2.1:8000/v1/chat/completions ";
    assert_memory_equal(server_request(&s, 0), line, strlen(line));
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    (void)unsetenv("http_proxy");
    server_stop(&s);

    /* What goes to this machine in clear, keys included, goes past every proxy. */
    server proxy;
    assert_true(server_start(&s, own, 1));
    assert_true(server_start(&proxy, own, 1));
    (void)setenv("http_proxy", proxy.url, 1);
    (void)setenv("all_proxy", proxy.url, 1);
    (void)snprintf(url, sizeof url, "http://localhost:%u", s.port);
    options = (ak_llm_options){.model = dialects[0].spec, .url = url, .retries = -1};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
    assert_int_equal(server_asked(&s), 1);
    assert_int_equal(server_asked(&proxy), 0);
    assert_non_null(strstr(server_request(&s, 0), KEY));
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    server_stop(&proxy);
    server_stop(&s);
    assert_true(server_start(&s, hangup, 1));

    (void)setenv("CURL_CA_BUNDLE", "/nonexistent/ca.pem", 1);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", s.port);
    options = (ak_llm_options){.model = chat_dialect->spec, .url = url};
    assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
    assert_int_equal(ak_llm_ask(&answer, llm, &chat, &err), AK_UNAVAILABLE);
    assert_int_equal(answer.fault, AK_LLM_FAULT_TLS);
    assert_int_equal(answer.attempts, 1);
    assert_non_null(strstr(err.text, "CURL_CA_BUNDLE"));
    ak_llm_answer_clear(&answer);
    ak_llm_close(llm);
    (void)unsetenv("CURL_CA_BUNDLE");
    server_stop(&s);
}

static void recordings_replay_byte_for_byte(void **state)
{
    (void)state;
    char folder[AK_PATH_MAX], *texts[2] = {NULL, NULL};
    assert_int_equal(ak_fs_temp(folder, NULL), AK_OK);
    double costs[3] = {0, 0, 0};
    for (int run = 0; run < 3; run++) {
        server s;
        ak_llm *llm = NULL;
        ak_llm_chat chat = chat_of();
        ak_llm_answer answer;
        const server_reply reply = good_stream(&dialects[0]);
        assert_true(server_start(&s, &reply, 1));
        ak_llm_options options = {.model = "openai:gpt-5",
                                  .url = s.url,
                                  .record = run < 2 ? folder : NULL,
                                  .replay = run < 2 ? NULL : folder};
        assert_int_equal(ak_llm_open(&llm, &options, NULL, NULL), AK_OK);
        assert_int_equal(ak_llm_ask(&answer, llm, &chat, NULL), AK_OK);
        assert_true(answer.replayed == (run > 0));
        assert_int_equal(server_asked(&s), run == 0 ? 1 : 0); /* what is there is not asked again */
        costs[run] = answer.cost_usd;
        if (run != 1) {
            texts[run / 2] = json_dumps(answer.elements, 0);
        }
        ak_llm_answer_clear(&answer);
        ak_llm_close(llm);
        server_stop(&s);
    }
    assert_string_equal(texts[0], texts[1]);
    assert_true(costs[0] > 0 && costs[0] == costs[1] && costs[0] == costs[2]);
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    assert_int_equal(ak_fs_list(&names, folder, NULL), AK_OK);
    assert_int_equal(names.count, 2);
    for (size_t i = 0; i < names.count; i++) {
        char path[AK_PATH_MAX], *text = NULL;
        size_t length;
        assert_int_equal(ak_fs_join(path, folder, names.list[i], NULL), AK_OK);
        assert_int_equal(ak_fs_read(&text, &length, path, 1u << 20, NULL), AK_OK);
        assert_null(strstr(text, KEY));
        ak_free(text);
    }
    ak_free(texts[0]);
    ak_free(texts[1]);
    ak_fs_remove(folder);
}

static int setup(void **state)
{
    schema = json_pack("{s:s,s:{s:{s:s,s:{s:s}}},s:[s],s:b}", "type", "object", "properties",
                       "proposals", "type", "array", "items", "type", "object", "required",
                       "proposals", "additionalProperties", 0);
    return schema == NULL ? -1 : load_dialects(state);
}

static int teardown(void **state)
{
    json_decref(schema);
    return free_dialects(state);
}

int main(void)
{
    server_clean_environment();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dialect_answers_whole_and_streamed),
        cmocka_unit_test(keys_go_where_they_belong),
        cmocka_unit_test(keys_in_replies_are_blanked),
        cmocka_unit_test(what_may_pass_is_tried_again),
        cmocka_unit_test(patience_ends),
        cmocka_unit_test(lasting_faults_are_loud_and_not_tried_again),
        cmocka_unit_test(zero_bytes_in_error_pages_are_blanks),
        cmocka_unit_test(parameters_are_corrected_once),
        cmocka_unit_test(lost_streams_keep_complete_elements),
        cmocka_unit_test(streams_end_when_enough_is_said),
        cmocka_unit_test(silence_ends_at_its_limit),
        cmocka_unit_test(a_web_page_is_no_reply),
        cmocka_unit_test(cancel_ends_at_once),
        cmocka_unit_test(calls_run_side_by_side),
        cmocka_unit_test(large_replies_are_bounded),
        cmocka_unit_test(odd_texts_are_read),
        cmocka_unit_test(empty_and_refused_answers_say_why),
        cmocka_unit_test(budgets_are_never_exceeded),
        cmocka_unit_test(a_lost_attempt_makes_the_cost_a_bound),
        cmocka_unit_test(more_tokens_than_bytes_are_told),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(lost_work_costs_its_worst_case),
        cmocka_unit_test(specifications_are_checked),
        cmocka_unit_test(addresses_are_completed),
        cmocka_unit_test(proxies_and_certificates_are_the_users),
        cmocka_unit_test(recordings_replay_byte_for_byte),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
