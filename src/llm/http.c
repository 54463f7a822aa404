/*
 * http.c: see http.h. It uses libcurl's multi interface for one transfer, because curl_easy_perform
 * looks at limits only once a second: here the poll returns after POLL_MS at the latest, so that a
 * Ctrl-C, a stall and the time limit are noticed at once. The caller's clock measures stalls and
 * the time limit.
 */
#include "llm/http.h"

#include <pthread.h>

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/dl.h"
#include "base/fs.h"
#include "base/number.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

/* Interval of polls: short enough to seem immediate, long enough to cost nothing. */
#define POLL_MS 50

static struct {
#define X(name) __typeof__(&name) name;
#include "llm/curl.def"
#undef X
} curl;

/* Makes sure that `curl` and `load_error` are written once. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static ak_error load_error;

static void load(void)
{
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", NULL};
    static const char absent[] = "language models need libcurl.so.4, which is not installed: "
                                 "apt-get install libcurl4 (Fedora: libcurl)";
    void *library = NULL;
    const char *missing = NULL;
    load_error = (ak_error)AK_ERROR_INIT;
    if (ak_dl_need(&library, names, absent, &load_error) != AK_OK) {
        return;
    }
#define X(name) missing = ak_dl_bind(&curl.name, library, #name) ? missing : #name;
#include "llm/curl.def"
#undef X
    if (missing != NULL) {
        (void)ak_fail(&load_error, AK_UNAVAILABLE,
                      "libcurl.so.4 has no %s: 7.66 or later is needed", missing);
    } else if (curl.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        (void)ak_fail(&load_error, AK_UNAVAILABLE, "libcurl could not be initialised");
    }
}

ak_status ak_http_load(ak_error *err)
{
    (void)pthread_once(&once, load);
    return load_error.status == AK_OK ? AK_OK
                                      : ak_fail(err, load_error.status, "%s", load_error.text);
}

void ak_http_version(char *out, size_t bytes)
{
    out[0] = 0;
    if (ak_http_load(NULL) == AK_OK) {
        const curl_version_info_data *info = curl.curl_version_info(CURLVERSION_NOW);
        (void)snprintf(out, bytes, "%s %s", info->version,
                       info->ssl_version == NULL ? "without TLS" : info->ssl_version);
    }
}

/* ---- transfer -------------------------------------------------------------------------------- */

typedef struct transfer {
    const ak_http_job *job;
    ak_http_reply *reply;
    CURL *easy;
    int64_t last_ns; /* time of the last activity */
    char error[CURL_ERROR_SIZE];
} transfer;

static void keep(char *out, size_t bytes, const char *line, size_t count, const char *name)
{
    size_t length = strlen(name);
    if (count <= length || !ak_ascii_begins(line, name) || line[length] != ':') {
        return;
    }
    const char *value = line + length + 1, *end = line + count;
    while (value < end && (*value == ' ' || *value == '\t')) {
        value++;
    }
    while (end > value && strchr(" \t\r\n", end[-1]) != NULL) {
        end--;
    }
    size_t used = 0;
    for (; value < end && used + 1 < bytes; value++) {
        out[used++] = (char)(*value >= 0x20 && *value < 0x7f ? *value : '?');
    }
    out[used] = 0;
}

static size_t on_header(char *line, size_t size, size_t count, void *context)
{
    transfer *t = context;
    ak_http_reply *reply = t->reply;
    count *= size;
    /* A status line discards earlier headers, because a proxy's reply precedes the real one. */
    if (count > 5 && memcmp(line, "HTTP/", 5) == 0) {
        reply->content_type[0] = reply->retry_after[0] = reply->retry_after_ms[0] = 0;
        reply->should_retry[0] = reply->request_id[0] = reply->location[0] = 0;
    }
    keep(reply->content_type, sizeof reply->content_type, line, count, "content-type");
    keep(reply->retry_after, sizeof reply->retry_after, line, count, "retry-after");
    keep(reply->retry_after_ms, sizeof reply->retry_after_ms, line, count, "retry-after-ms");
    keep(reply->should_retry, sizeof reply->should_retry, line, count, "x-should-retry");
    keep(reply->request_id, sizeof reply->request_id, line, count, "x-request-id");
    keep(reply->request_id, sizeof reply->request_id, line, count, "request-id");
    keep(reply->location, sizeof reply->location, line, count, "location");
    t->last_ns = t->job->now_ns(t->job->context);
    return count;
}

static void read_status(transfer *t)
{
    long status = 0;
    (void)curl.curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    t->reply->status = (int)status;
}

static size_t on_data(char *bytes, size_t size, size_t count, void *context)
{
    transfer *t = context;
    count *= size;
    read_status(t);
    t->last_ns = t->job->now_ns(t->job->context);
    if (!t->job->data(t->job->context, t->reply, bytes, count)) {
        t->reply->stopped = true;
        return 0; /* makes libcurl end the transfer */
    }
    return count;
}

static bool set_options(transfer *t, struct curl_slist *headers)
{
    const ak_http_job *job = t->job;
    const char *bundle = ak_env("CURL_CA_BUNDLE");
    CURL *e = t->easy;
    if (bundle == NULL) {
        bundle = ak_env("SSL_CERT_FILE");
    }
    return curl.curl_easy_setopt(e, CURLOPT_URL, job->url) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_POST, 1L) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_POSTFIELDS, job->body) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)job->body_bytes) ==
               CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
                                 (long)(job->connect_ns / AK_MS_NS)) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_ERRORBUFFER, t->error) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_HEADERDATA, t) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, on_data) == CURLE_OK &&
           curl.curl_easy_setopt(e, CURLOPT_WRITEDATA, t) == CURLE_OK &&
           (!job->direct || curl.curl_easy_setopt(e, CURLOPT_PROXY, "") == CURLE_OK) &&
           (bundle == NULL || curl.curl_easy_setopt(e, CURLOPT_CAINFO, bundle) == CURLE_OK);
}

static ak_llm_fault fault_of(CURLcode code)
{
    switch (code) {
    case CURLE_OK:
        return AK_LLM_FAULT_NONE;
    case CURLE_OPERATION_TIMEDOUT:
        return AK_LLM_FAULT_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
        return AK_LLM_FAULT_TLS;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return AK_LLM_FAULT_REQUEST;
    case CURLE_OUT_OF_MEMORY:
        return AK_LLM_FAULT_LOCAL;
    default:
        return AK_LLM_FAULT_NETWORK;
    }
}

static void end(ak_http_reply *reply, ak_llm_fault fault, const char *text)
{
    reply->fault = fault;
    (void)snprintf(reply->text, sizeof reply->text, "%.239s", text);
}

/* Returns true if the transfer must end: it was cancelled, or it exceeds a limit that libcurl does
   not check. */
static bool over_limit(transfer *t, int64_t start_ns)
{
    const ak_http_job *job = t->job;
    int64_t now = job->now_ns(job->context);
    char text[96];
    if (job->cancelled(job->context)) {
        end(t->reply, AK_LLM_FAULT_CANCELLED, "cancelled");
        return true;
    }
    if (now - start_ns > job->total_ns) {
        (void)ak_number_print(text, sizeof text, "no complete reply after %g s",
                              (double)job->total_ns / (double)AK_SECOND_NS);
        end(t->reply, AK_LLM_FAULT_TIMEOUT, text);
        return true;
    }
    if (now - t->last_ns > job->stall_ns) {
        (void)ak_number_print(text, sizeof text, "the server was silent for %g s",
                              (double)job->stall_ns / (double)AK_SECOND_NS);
        end(t->reply, AK_LLM_FAULT_TIMEOUT, text);
        return true;
    }
    return false;
}

static void run(transfer *t, CURLM *multi)
{
    int64_t start_ns = t->job->now_ns(t->job->context);
    int running = 1, left = 0, ready = 0;
    t->last_ns = start_ns;
    while (!over_limit(t, start_ns)) {
        if (curl.curl_multi_perform(multi, &running) != CURLM_OK) {
            end(t->reply, AK_LLM_FAULT_LOCAL, "libcurl failed");
            return;
        }
        if (running == 0) {
            const CURLMsg *message = curl.curl_multi_info_read(multi, &left);
            CURLcode code = message == NULL ? CURLE_RECV_ERROR : message->data.result;
            if (!t->reply->stopped) {
                end(t->reply, fault_of(code),
                    code == CURLE_OK   ? ""
                    : t->error[0] != 0 ? t->error
                                       : curl.curl_easy_strerror(code));
            }
            return;
        }
        if (curl.curl_multi_poll(multi, NULL, 0, POLL_MS, &ready) != CURLM_OK) {
            end(t->reply, AK_LLM_FAULT_LOCAL, "libcurl failed");
            return;
        }
    }
}

static struct curl_slist *header_list(const ak_http_job *job)
{
    /* Without this empty header libcurl waits a second for permission to send a large body. */
    struct curl_slist *list = curl.curl_slist_append(NULL, "Expect:");
    for (size_t i = 0; list != NULL && job->headers[i] != NULL; i++) {
        struct curl_slist *longer = curl.curl_slist_append(list, job->headers[i]);
        if (longer == NULL) {
            curl.curl_slist_free_all(list);
        }
        list = longer;
    }
    return list;
}

void ak_http_post(ak_http_reply *out, const ak_http_job *job)
{
    *out = (ak_http_reply){.fault = AK_LLM_FAULT_LOCAL, .text = "out of memory"};
    if (ak_http_load(NULL) != AK_OK) {
        end(out, AK_LLM_FAULT_LOCAL, load_error.text);
        return;
    }
    transfer t = {.job = job, .reply = out, .easy = curl.curl_easy_init()};
    CURLM *multi = curl.curl_multi_init();
    struct curl_slist *headers = header_list(job);
    if (t.easy != NULL && multi != NULL && headers != NULL && set_options(&t, headers) &&
        curl.curl_multi_add_handle(multi, t.easy) == CURLM_OK) {
        end(out, AK_LLM_FAULT_NONE, "");
        run(&t, multi);
        long sent = 0;
        (void)curl.curl_easy_getinfo(t.easy, CURLINFO_REQUEST_SIZE, &sent);
        out->sent = sent > 0;
        read_status(&t);
        (void)curl.curl_multi_remove_handle(multi, t.easy);
    }
    if (t.easy != NULL) {
        curl.curl_easy_cleanup(t.easy);
    }
    if (multi != NULL) {
        (void)curl.curl_multi_cleanup(multi);
    }
    curl.curl_slist_free_all(headers);
}
