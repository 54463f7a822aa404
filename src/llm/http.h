/*
 * http.h: one POST over libcurl, which is loaded when first needed (dl.h).
 *
 * Blocks its thread until the reply is complete, a limit is reached or `cancelled` says so; any
 * number of threads may be in it. Redirects are not followed: a key must not travel to where the
 * user did not send it. Proxies are libcurl's own business (HTTPS_PROXY, http_proxy, ALL_PROXY,
 * NO_PROXY) unless the job is `direct`; the CA bundle is CURL_CA_BUNDLE or SSL_CERT_FILE where set.
 */
#ifndef AK_LLM_HTTP_H
#define AK_LLM_HTTP_H

#include "llm/provider.h"

/* What came back, the body apart. Valid while the data is delivered, too. */
typedef struct ak_http_reply {
    ak_llm_fault fault; /* NONE, NETWORK, TIMEOUT, TLS, REQUEST (the address), CANCELLED, LOCAL */
    bool sent;          /* the request, or a part of it, has left */
    bool stopped;       /* `data` had enough */
    int status;         /* 0: none yet */
    char content_type[80], retry_after[80], retry_after_ms[32], should_retry[16];
    char request_id[AK_LLM_NAME_MAX];
    char location[200];
    char text[240]; /* what went wrong, one line */
} ak_http_reply;

typedef struct ak_http_job {
    const char *url;
    const char *const *headers; /* "name: value", NULL-terminated */
    const char *body;
    size_t body_bytes;
    bool direct; /* past every proxy */
    int64_t connect_ns, stall_ns, total_ns;
    int64_t (*now_ns)(void *context);
    bool (*cancelled)(void *context);
    /* A piece of the body. False: enough. */
    bool (*data)(void *context, const ak_http_reply *reply, const char *bytes, size_t count);
    void *context;
} ak_http_job;

/* Loads libcurl; AK_UNAVAILABLE says what to install. */
ak_status ak_http_load(ak_error *err);
/* "7.88.1 OpenSSL/3.0.19"; "" if it cannot be loaded. */
void ak_http_version(char *out, size_t bytes);

void ak_http_post(ak_http_reply *out, const ak_http_job *job);

#endif
