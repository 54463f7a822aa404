/*
 * attempt.c: makes one request and judges its reply.
 *
 * A server may stream its reply although the request asked for a whole one, or the reverse. Its
 * content type decides which of the two it is. If the content type does not say, the reply is a
 * stream, unless it begins with '{' and the provider streams server-sent events. A web page is read
 * as a whole. A stream that breaks off keeps the complete elements it had, because they were paid
 * for.
 */

#include "base/alloc.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/utf8.h"
#include "llm/client.h"
#include "llm/extract.h"
#include "llm/key.h"
#include "llm/relaxed.h"
#include "llm/stream.h"

#define ERROR_BYTES_MAX (64u << 10) /* bytes kept of an error page */
#define WORDS_BYTES     160         /* bytes shown of an error page that no provider wrote */
#define HEADERS_MAX     16
/* The text is examined again when it has grown by this many bytes plus 1/8 of its length at the
   last look, so that the cost of all looks together grows in proportion to the text. */
#define LOOK_BYTES 512

typedef enum body_kind { UNDECIDED, STREAMED, WHOLE } body_kind;

typedef struct exchange {
    ak_llm_call *call;
    const ak_provider *provider;
    body_kind kind;
    ak_stream stream;
    ak_buf whole; /* a whole reply or an error page */
    ak_reply reply;
    bool last;         /* later events are ignored: after "[DONE]", or if there is enough */
    int64_t enough_ns; /* when the reply had all that was asked for; 0 before */
    size_t looked;     /* length of the text at the last look */
    bool page;         /* the reply is a web page */
    bool damaged;      /* an event was not a complete JSON object */
    bool too_long;
    ak_status failed; /* a failure on this side: out of memory */
} exchange;

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads JSON from a server, whose text may be malformed. *out is NULL if the text is not a complete
   JSON object. */
static ak_status read_json(json_t **out, const char *text, size_t length, ak_error *err)
{
    ak_relaxed read;
    AK_FREED char *clean = NULL;
    *out = NULL;
    if (!ak_utf8_valid(text)) {
        clean = ak_utf8_clean(text);
        AK_DO(ak_made(clean, err));
        text = clean;
        length = strlen(clean);
    }
    ak_status status = ak_relaxed_read(&read, text, length, err);
    if (status == AK_OK && !read.cut && json_is_object(read.value)) {
        *out = read.value;
    } else if (status == AK_OK) {
        json_decref(read.value);
    }
    return status;
}

/* Reads the body of a reply as JSON. A zero byte in it counts as a blank, as in a stream. */
static ak_status read_body(json_t **out, ak_buf *body, ak_error *err)
{
    for (char *p = body->data;
         (p = memchr(p, 0, body->length - (size_t)(p - body->data))) != NULL;) {
        *p = ' ';
    }
    return read_json(out, body->data, body->length, err);
}

/* Ends a stream that goes on for AK_LLM_REST_NS after it has all elements that were asked for. A
   stream that begins with words is not ended, because its elements may be a draft. */
static ak_status end_if_enough(exchange *x, ak_error *err)
{
    const ak_llm_chat *chat = x->call->chat;
    const ak_buf *text = &x->reply.text;
    if (x->enough_ns != 0) {
        if (ak_llm_now(x->call->llm) - x->enough_ns > AK_LLM_REST_NS) {
            x->last = x->reply.ended = true;
            x->reply.finish = AK_LLM_FINISH_ENOUGH;
        }
        return AK_OK;
    }
    if (chat->elements_max <= 0 || chat->array == NULL ||
        text->length < x->looked + x->looked / 8 + LOOK_BYTES ||
        strchr("{[`", text->data[strspn(text->data, " \t\r\n")]) == NULL) {
        return AK_OK;
    }
    ak_extract found;
    AK_DO(ak_extract_read(&found, text->data, text->length, chat->array, err));
    if (json_array_size(found.elements) >= (size_t)chat->elements_max) {
        x->enough_ns = ak_llm_now(x->call->llm);
    }
    json_decref(found.value);
    json_decref(found.elements);
    x->looked = text->length;
    return AK_OK;
}

static ak_status on_event(void *context, const char *event, const char *data, size_t length,
                          ak_error *err)
{
    exchange *x = context;
    json_auto_t *value = NULL;
    if (x->last) {
        return AK_OK;
    }
    if (strcmp(data, "[DONE]") == 0) {
        x->last = x->reply.ended = true;
        return AK_OK;
    }
    AK_DO(read_json(&value, data, length, err));
    if (value == NULL) {
        x->damaged = true;
        return AK_OK;
    }
    x->provider->delta(&x->reply, event, value);
    return end_if_enough(x, err);
}

/* Returns the first byte of a body that is no blank; 0 if there is none yet. */
static char first_of(const char *bytes, size_t count)
{
    size_t at = 0;
    while (at < count && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != 0) {
        at++;
    }
    return at < count ? bytes[at] : 0;
}

static body_kind kind_of(const char *content_type, ak_stream_kind *stream, char first)
{
    if (strstr(content_type, "event-stream") != NULL) {
        *stream = AK_STREAM_SSE;
        return STREAMED;
    }
    if (strstr(content_type, "ndjson") != NULL || strstr(content_type, "jsonl") != NULL) {
        *stream = AK_STREAM_NDJSON;
        return STREAMED;
    }
    const bool json = strstr(content_type, "json") != NULL;
    return json || (first == '{' && *stream == AK_STREAM_SSE) ? WHOLE : STREAMED;
}

static bool on_success(exchange *x, const ak_http_reply *http, const char *bytes, size_t count)
{
    if (x->kind == UNDECIDED) {
        ak_stream_kind stream = x->provider->stream;
        const char first = first_of(bytes, count);
        /* No provider sends a web page: the address is that of another server, or of a gateway
           that asks to log in. */
        x->page = strstr(http->content_type, "text/html") != NULL || first == '<';
        x->kind = x->page ? WHOLE : kind_of(http->content_type, &stream, first);
        ak_stream_init(&x->stream, stream, on_event, x);
    }
    if (x->kind == WHOLE) {
        ak_buf_append(&x->whole, bytes, count);
        x->too_long = x->whole.failed == AK_LIMIT;
        x->failed = x->whole.failed == AK_LIMIT ? AK_OK : x->whole.failed;
        return x->whole.failed == AK_OK;
    }
    ak_status status = ak_stream_feed(&x->stream, bytes, count, NULL);
    x->too_long = status == AK_LIMIT || x->reply.text.failed == AK_LIMIT ||
                  x->reply.reasoning.failed == AK_LIMIT;
    if (status != AK_OK && status != AK_LIMIT) {
        x->failed = status;
    }
    return status == AK_OK && !x->too_long && !x->last && !x->damaged &&
           x->reply.fault == AK_LLM_FAULT_NONE;
}

static bool on_data(void *context, const ak_http_reply *http, const char *bytes, size_t count)
{
    exchange *x = context;
    if (http->status >= 200 && http->status <= 299) {
        return on_success(x, http, bytes, count);
    }
    size_t room = ERROR_BYTES_MAX - x->whole.length;
    ak_buf_append(&x->whole, bytes, count < room ? count : room);
    return x->whole.failed == AK_OK && count < room;
}

static int64_t now_ns(void *context)
{
    return ak_llm_now(((exchange *)context)->call->llm);
}

static bool cancelled(void *context)
{
    return ak_call_cancelled(((exchange *)context)->call);
}

/* ---- sending --------------------------------------------------------------------------------- */

static ak_status post(ak_http_reply *out, exchange *x, const ak_request *request, ak_error *err)
{
    const ak_llm *llm = x->call->llm;
    const char *headers[HEADERS_MAX] = {"Content-Type: application/json",
                                        "User-Agent: autokernel/" AK_VERSION};
    size_t count = 2;
    AK_FREED char *body = NULL;
    AK_AT_END(ak_key_free_at) char *key = NULL;
    json_auto_t *value = NULL;
    AK_DO(x->provider->request(&value, request, err));
    AK_DO(ak_json_text(&body, value, err));
    for (size_t i = 0; i < AK_PROVIDER_HEADERS_MAX && x->provider->headers[i] != NULL; i++) {
        headers[count++] = x->provider->headers[i];
    }
    if (llm->key != NULL) {
        size_t bytes = strlen(x->provider->key_header) + strlen(llm->key) + 1;
        AK_DO(AK_NEW(key, bytes, err));
        (void)snprintf(key, bytes, "%s%s", x->provider->key_header, llm->key);
        headers[count++] = key;
    }
    ak_http_job job = {.url = llm->url,
                       .headers = headers,
                       .body = body,
                       .body_bytes = strlen(body),
                       .direct = llm->direct,
                       .connect_ns = llm->connect_ns,
                       .stall_ns = llm->stall_ns,
                       .total_ns = llm->timeout_ns,
                       .now_ns = now_ns,
                       .cancelled = cancelled,
                       .data = on_data,
                       .context = x};
    ak_http_post(out, &job);
    ak_key_redact(out->text, llm->key);
    ak_key_redact(out->request_id, llm->key);
    return AK_OK;
}

/* ---- judging --------------------------------------------------------------------------------- */

static void end(ak_attempt *out, ak_llm_fault fault, const char *text)
{
    out->fault = fault;
    out->end = ak_llm_fault_lasting(fault) ? AK_ATTEMPT_FATAL : AK_ATTEMPT_RETRY;
    (void)snprintf(out->text, sizeof out->text, "%.239s", text);
}

/* Reads the answer from the reply. If the stream broke off (`lost`) without a complete element,
   leaves *out as it is. */
static ak_status take_answer(ak_attempt *out, exchange *x, bool lost, ak_error *err)
{
    const ak_llm_call *call = x->call;
    ak_error why = AK_ERROR_INIT;
    ak_llm_answer answer = {0};
    char *const said[] = {x->reply.text.data, x->reply.reasoning.data, x->reply.model, x->reply.id};
    for (size_t i = 0; i < AK_COUNT(said); i++) {
        ak_key_redact(said[i], call->llm->key);
    }
    if (x->too_long || lost) {
        x->reply.finish = x->too_long ? AK_LLM_FINISH_TOO_LONG : AK_LLM_FINISH_LOST;
    }
    bool empty = x->reply.text.length == 0;
    ak_status status = ak_answer_read(&answer, &x->reply, call->chat, call->llm->name, &why);
    if (status == AK_NO_MEMORY) {
        ak_llm_answer_clear(&answer);
        return ak_fail_memory(err);
    }
    if (status == AK_OK && lost && json_array_size(answer.elements) == 0) {
        ak_llm_answer_clear(&answer);
        return AK_OK; /* no complete element was received, so the attempt ends as lost */
    }
    if (status != AK_OK) {
        end(out, answer.fault, why.text + strlen(call->llm->name) + 2);
        bool again =
            answer.fault == AK_LLM_FAULT_EMPTY && empty && answer.finish != AK_LLM_FINISH_LENGTH;
        out->end = again ? AK_ATTEMPT_RETRY : AK_ATTEMPT_FATAL;
        ak_llm_answer_clear(&answer);
        return AK_OK;
    }
    answer.cut = answer.cut && answer.finish != AK_LLM_FINISH_ENOUGH;
    out->answer = answer;
    out->end = AK_ATTEMPT_ANSWERED;
    out->fault = AK_LLM_FAULT_NONE;
    return AK_OK;
}

/* Copies the words of a body that no provider writes, such as a proxy's page, as one line without
   tags. */
static void copy_words(char *out, size_t bytes, const char *body)
{
    size_t length = 0;
    bool tag = false;
    for (const char *p = body; *p != 0 && length + 2 < bytes; p++) {
        bool shown = (unsigned char)*p > ' ' && *p < 0x7f;
        tag = tag || *p == '<';
        if (shown && !tag) {
            out[length++] = *p;
        } else if (length > 0 && out[length - 1] != ' ') {
            out[length++] = ' ';
        }
        tag = tag && *p != '>';
    }
    length -= length > 0 && out[length - 1] == ' ' ? 1 : 0;
    out[length] = 0;
}

/* Ends the attempt with words of the web page that came in place of a reply. Another attempt may
   help, because a proxy may send such a page for a short time. */
static void judge_page(ak_attempt *out, const exchange *x)
{
    char words[WORDS_BYTES], text[WORDS_BYTES + 80];
    copy_words(words, sizeof words, x->whole.data == NULL ? "" : x->whole.data);
    (void)snprintf(text, sizeof text,
                   "a web page came in place of a reply, so check the address: \"%.100s\"", words);
    end(out, AK_LLM_FAULT_DAMAGED, text);
}

static ak_status judge_whole(ak_attempt *out, exchange *x, const ak_http_reply *http, ak_error *err)
{
    json_auto_t *body = NULL;
    char text[120];
    if (x->too_long) {
        (void)snprintf(text, sizeof text, "the reply is larger than %u bytes",
                       AK_LLM_REPLY_BYTES_MAX);
        end(out, AK_LLM_FAULT_DAMAGED, text);
        out->end = AK_ATTEMPT_FATAL;
        return AK_OK;
    }
    AK_DO(read_body(&body, &x->whole, err));
    if (body == NULL && x->page && http->fault == AK_LLM_FAULT_NONE) {
        judge_page(out, x);
        return AK_OK;
    }
    if (body == NULL) {
        bool lost = http->fault != AK_LLM_FAULT_NONE;
        end(out, lost ? http->fault : AK_LLM_FAULT_DAMAGED,
            lost                   ? http->text
            : x->whole.length == 0 ? "the reply is empty"
                                   : "the reply is not complete JSON");
        return AK_OK;
    }
    x->provider->reply(&x->reply, body);
    return AK_OK;
}

/* Hands over the usage that the reply reports. Some servers report it in every piece of a stream,
   and only the report of a complete reply counts. Without one the attempt is uncertain. */
static void take_usage(ak_attempt *out, ak_reply *reply)
{
    bool final = reply->usage.known && reply->ended && reply->finish != AK_LLM_FINISH_ENOUGH;
    reply->usage = final ? reply->usage : (ak_llm_usage){0};
    out->usage = reply->usage;
    out->uncertain = !final;
}

static ak_status judge_success(ak_attempt *out, exchange *x, const ak_http_reply *http,
                               ak_error *err)
{
    ak_status status = AK_OK;
    out->fault = AK_LLM_FAULT_NONE;
    if (x->kind == STREAMED && !http->stopped) {
        status = ak_stream_end(&x->stream, err);
    } else if (x->kind != STREAMED) {
        status = judge_whole(out, x, http, err);
    }
    take_usage(out, &x->reply);
    if ((status != AK_OK && status != AK_LIMIT) || out->fault != AK_LLM_FAULT_NONE) {
        return status;
    }
    if (x->reply.fault != AK_LLM_FAULT_NONE) {
        end(out, x->reply.fault, x->reply.fault_text);
        return AK_OK;
    }
    if (x->reply.ended || x->too_long) {
        return take_answer(out, x, false, err);
    }
    bool timed_out = http->fault == AK_LLM_FAULT_TIMEOUT;
    end(out,
        timed_out    ? AK_LLM_FAULT_TIMEOUT
        : x->damaged ? AK_LLM_FAULT_DAMAGED
                     : AK_LLM_FAULT_NETWORK,
        timed_out          ? http->text
        : x->damaged       ? "the stream has an event that is not JSON"
        : x->kind == WHOLE ? "the reply is not what this provider replies"
                           : "the connection was lost in the middle of the reply");
    if (x->kind == WHOLE) {
        out->fault = AK_LLM_FAULT_DAMAGED;
    }
    return x->reply.text.length > 0 && x->call->chat->schema != NULL
               ? take_answer(out, x, true, err)
               : AK_OK;
}

static const char *or_null(const char *text)
{
    return text[0] == 0 ? NULL : text;
}

static int64_t utc_seconds(const ak_llm *llm)
{
    return llm->seam.utc_seconds != NULL ? llm->seam.utc_seconds(llm->seam.context)
                                         : ak_clock_utc_seconds();
}

/* Returns true if a request with this HTTP status may have been billed. A gateway that gives up
   (408, 502, 504) or a server that breaks (500) may have let the model work; a busy or loading one
   (503, 529) has not begun. */
static bool may_have_cost(int status)
{
    return status == 408 || (status >= 500 && status != 503 && status != 529);
}

static ak_status judge_complaint(ak_attempt *out, exchange *x, const ak_http_reply *http,
                                 ak_error *err)
{
    json_auto_t *body = NULL;
    ak_complaint complaint;
    ak_reply_headers headers = {or_null(http->retry_after), or_null(http->retry_after_ms),
                                or_null(http->should_retry)};
    AK_DO(read_body(&body, &x->whole, err));
    x->provider->classify(&complaint, http->status, &headers, body, utc_seconds(x->call->llm));
    if (complaint.text[0] == 0) {
        copy_words(complaint.text, WORDS_BYTES, x->whole.data);
    }
    if (http->status >= 300 && http->status <= 399) {
        (void)snprintf(complaint.text, sizeof complaint.text,
                       "it redirects to %.160s; give that address with --llm-url", http->location);
    }
    ak_key_redact(complaint.text, x->call->llm->key);
    out->end = complaint.action == AK_COMPLAINT_RETRY        ? AK_ATTEMPT_RETRY
               : complaint.action == AK_COMPLAINT_CAPABILITY ? AK_ATTEMPT_CORRECT
                                                             : AK_ATTEMPT_FATAL;
    out->fault = complaint.fault;
    out->uncertain = may_have_cost(http->status);
    out->ability = complaint.ability;
    out->output_tokens_max = complaint.output_tokens_max;
    out->wait_ms = complaint.wait_ms;
    (void)snprintf(out->text, sizeof out->text, "%s", complaint.text);
    return AK_OK;
}

static bool wait_ns(void *context, int64_t ns)
{
    return ak_call_wait(((exchange *)context)->call, ns);
}

/* Notes where the question waits for an answer. A call of ak_llm_start runs in a thread of its own,
   so ak_llm_done tells the user in the caller's thread. */
static void posted(void *context, const char *question, const char *reply)
{
    ak_llm_call *call = ((exchange *)context)->call;
    char limit[AK_REAL_BYTES];
    double seconds = (double)call->llm->timeout_ns / 1e9;
    bool minutes = seconds >= 120;
    (void)ak_number_short(limit, minutes ? seconds / 60 : seconds, AK_DIGITS_DURATION);
    (void)snprintf(call->place, sizeof call->place,
                   "%s: the question is in %s; the reply is expected in %s beside it within %s %s "
                   "(--llm-timeout)",
                   call->llm->name, question, ak_fs_base(reply), limit, minutes ? "min" : "s");
    atomic_store(&call->posted, 1);
    if (!call->threaded) {
        ak_call_tell(call);
    }
}

/* Asks a provider without HTTP. Any failure is final: the call was cancelled, the provider has
   waited for the whole time limit, or the reply or its folder must be mended. */
static ak_status ask_provider(ak_attempt *out, exchange *x, const ak_request *request,
                              ak_error *err)
{
    const ak_llm *llm = x->call->llm;
    const ak_errand errand = {llm->url, llm->timeout_ns, now_ns, wait_ns, posted, x};
    ak_status status = x->provider->ask(&x->reply, request, &errand, err);
    out->usage = x->reply.usage;
    out->uncertain = !out->usage.known; /* the model may already have worked on the question */
    if (status == AK_OK && x->reply.fault == AK_LLM_FAULT_NONE) {
        status = take_answer(out, x, false, err);
    } else if (status == AK_OK) {
        end(out, x->reply.fault, x->reply.fault_text);
    }
    out->end = out->end == AK_ATTEMPT_ANSWERED ? AK_ATTEMPT_ANSWERED : AK_ATTEMPT_FATAL;
    return status;
}

ak_status ak_attempt_run(ak_attempt *out, ak_llm_call *call, const ak_request *request,
                         ak_error *err)
{
    exchange x = {
        .call = call, .provider = call->llm->provider, .whole = AK_BUF(AK_LLM_REPLY_BYTES_MAX)};
    ak_http_reply http;
    *out = (ak_attempt){.wait_ms = -1};
    ak_reply_init(&x.reply);
    if (x.provider->ask != NULL) {
        ak_status asked = ask_provider(out, &x, request, err);
        ak_reply_free(&x.reply);
        return asked;
    }
    ak_status status = post(&http, &x, request, err);
    if (status == AK_OK) {
        out->status = http.status;
        (void)snprintf(out->request_id, sizeof out->request_id, "%s", http.request_id);
        status = ak_stored(x.failed == AK_OK, err);
    }
    if (status != AK_OK) {
        /* err is set already */
    } else if (http.fault == AK_LLM_FAULT_CANCELLED || http.fault == AK_LLM_FAULT_LOCAL ||
               (http.status == 0 && http.fault != AK_LLM_FAULT_NONE)) {
        end(out, http.fault, http.text);
        take_usage(out, &x.reply);
        out->uncertain = out->uncertain && http.sent;
    } else if (http.status >= 200 && http.status <= 299) {
        status = judge_success(out, &x, &http, err);
    } else {
        status = judge_complaint(out, &x, &http, err);
    }
    if (x.kind != UNDECIDED) {
        ak_stream_free(&x.stream);
    }
    ak_reply_free(&x.reply);
    ak_buf_free(&x.whole);
    return status;
}
