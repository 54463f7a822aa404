/*
 * http.h: sends one POST request with libcurl, which is loaded when it is first needed (dl.h).
 *
 * A call blocks its thread until the reply is complete, the transfer fails, a limit is reached,
 * `data` returns false or `cancelled` returns true. Any number of threads may call at once.
 * Redirects are not followed, because the key must reach only the address that the user gave.
 * libcurl handles proxies (HTTPS_PROXY, http_proxy, ALL_PROXY, NO_PROXY) unless the job is
 * `direct`. The CA bundle is CURL_CA_BUNDLE or SSL_CERT_FILE if one of them is set.
 */
#ifndef AK_LLM_HTTP_H
#define AK_LLM_HTTP_H

#include "llm/provider.h"

/* The reply without its body. Its status and headers are also valid while `data` is called. */
typedef struct ak_http_reply {
    ak_llm_fault fault; /* NONE, NETWORK, TIMEOUT, TLS, REQUEST (the address), CANCELLED, LOCAL */
    bool sent;          /* at least a part of the request has left */
    bool stopped;       /* `data` returned false */
    int status;         /* 0 until the status is known */
    char content_type[80], retry_after[80], retry_after_ms[32], should_retry[16];
    char request_id[AK_LLM_NAME_MAX];
    char location[200];
    char text[240]; /* description of the fault, one line */
} ak_http_reply;

typedef struct ak_http_job {
    const char *url;
    const char *const *headers; /* "name: value", NULL-terminated */
    const char *body;
    size_t body_bytes;
    bool direct;                            /* bypasses every proxy */
    int64_t connect_ns, stall_ns, total_ns; /* limits on connecting, silence, the transfer */
    int64_t (*now_ns)(void *context);
    bool (*cancelled)(void *context);
    /* Receives a piece of the body. Returns false to end the transfer. */
    bool (*data)(void *context, const ak_http_reply *reply, const char *bytes, size_t count);
    void *context;
} ak_http_job;

/* Loads libcurl. The error of AK_UNAVAILABLE says what to install, or that libcurl could not be
   initialised. */
ak_status ak_http_load(ak_error *err);
/* Writes the version, such as "7.88.1 OpenSSL/3.0.19", or "" if libcurl cannot be loaded. */
void ak_http_version(char *out, size_t bytes);

/* Sends the request and returns when the transfer has ended. out->fault says whether it failed. */
void ak_http_post(ak_http_reply *out, const ak_http_job *job);

#endif
