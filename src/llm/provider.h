/*
 * provider.h: a dialect of the language-model APIs, as pure functions: JSON in, JSON out.
 *
 * A provider does no input or output, keeps no state and reads no clock; the client (client.c) owns
 * the connection, time, money and retries, so a provider is tested with texts alone. Adding one is
 * one file and one line in providers.def; docs/howto-provider.md is the walk-through.
 *
 *     request    a chat, as the body of a POST
 *     reply      the body of a whole reply, into ak_reply
 *     delta      one event of a streamed reply, into the same ak_reply
 *     classify   what a reply that is not 2xx means: retry, give up, or drop a parameter
 */
#ifndef AK_LLM_PROVIDER_H
#define AK_LLM_PROVIDER_H

#include "llm/llm.h"

/* ---- abilities ----------------------------------------------------------------------------- */

/* What a model takes. X(NAME, words): the first knowledge comes from models.def; a 400 that names
   one of the words (a "param" of the error, or a word of its message) takes the ability away, once,
   and the request is sent again without. Words end in a comma; all matches count. */
#define AK_ABILITY_MAP(X)                                                                          \
    X(TEMPERATURE, "temperature,")                                                                 \
    X(SCHEMA, "response_format,output_format,json_schema,schema,format,structured_outputs,")       \
    X(ADAPTIVE, "adaptive,thinking,")      /* the model decides how long it thinks */              \
    X(THINKING, "budget_tokens,thinking,") /* it is told how long */                               \
    X(EFFORT, "reasoning_effort,effort,reasoning,think,thinking,")                                 \
    X(COMPLETION_TOKENS, "max_completion_tokens,max_tokens,") /* the first, else the second */     \
    X(SEED, "seed,")                                                                               \
    X(STREAM_USAGE, "stream_options,include_usage,")                                               \
    X(STREAM, "stream,")                                                                           \
    X(STORE, "store,")

enum {
#define X(name, words) AK_ABILITY_AT_##name,
    AK_ABILITY_MAP(X)
#undef X
        AK_ABILITY_COUNT
};
enum {
#define X(name, words) AK_ABILITY_##name = 1 << AK_ABILITY_AT_##name,
    AK_ABILITY_MAP(X)
#undef X
};

typedef struct ak_abilities {
    unsigned set;          /* AK_ABILITY_... */
    int output_tokens_max; /* 0: not known */
    int context_tokens;    /* 0: not known */
} ak_abilities;

/* ---- request ------------------------------------------------------------------------------- */

/* A chat with everything decided. */
typedef struct ak_request {
    const char *model;  /* without the provider */
    const char *effort; /* NULL: the model's own */
    const ak_llm_chat *chat;
    ak_abilities abilities;
    int output_tokens;        /* the chat's, within the model's limit */
    size_t prompt_tokens_max; /* no prompt has more: its bytes, and some for each message */
} ak_request;

/* ---- reply --------------------------------------------------------------------------------- */

/* What a reply says, filled by `reply` at once or by `delta` piece by piece. */
typedef struct ak_reply {
    ak_buf text, reasoning;
    char model[AK_LLM_NAME_MAX], id[AK_LLM_NAME_MAX];
    ak_llm_finish finish;
    ak_llm_usage usage;
    bool ended;         /* the reply said that it is complete */
    ak_llm_fault fault; /* an error inside a stream that began well */
    char fault_text[240];
} ak_reply;
void ak_reply_init(ak_reply *reply);
void ak_reply_free(ak_reply *reply);

/* ---- errors -------------------------------------------------------------------------------- */

typedef enum ak_verdict_action {
    AK_VERDICT_RETRY,
    AK_VERDICT_FATAL,
    AK_VERDICT_CAPABILITY /* drop `ability`, or lower the output limit, and send again */
} ak_verdict_action;

/* Header fields that matter; NULL where the server did not send them. */
typedef struct ak_reply_headers {
    const char *retry_after, *retry_after_ms, *should_retry, *request_id, *content_type;
} ak_reply_headers;

typedef struct ak_verdict {
    ak_verdict_action action;
    ak_llm_fault fault;
    unsigned ability;      /* AK_ABILITY_... the first that was sent is dropped, COMPLETION_TOKENS
                              turned over; 0: none */
    int output_tokens_max; /* the limit that the server named; 0: none */
    int64_t wait_ms;       /* what the server asks for; -1: it does not say */
    char text[240];        /* the server's own words, one line */
} ak_verdict;

/* What the classify of every provider so far is: statuses and the words of all dialects' errors. */
void ak_classify(ak_verdict *out, int status, const ak_reply_headers *headers, const json_t *body,
                 int64_t now);
/* The same for the words of an error inside a stream: its type or code, and its message. */
ak_llm_fault ak_classify_words(const char *code, const char *message);
/* Type or code and message of an error object in any dialect; "" where there is none. Borrowed. */
void ak_error_words(const char **code, const char **message, const json_t *body);
/* Seconds since 1970 of an HTTP date in any of its three forms (RFC 9110, 5.6.7); false: none. */
bool ak_http_date(int64_t *out, const char *text);

/* ---- the provider -------------------------------------------------------------------------- */

typedef enum ak_stream_kind { AK_STREAM_SSE, AK_STREAM_NDJSON } ak_stream_kind;

#define AK_PROVIDER_HEADERS_MAX 4

typedef struct ak_provider {
    const char *name, *description;
    const char *url;          /* where it is when --llm-url does not say; NULL: must be said */
    const char *path;         /* "/v1/responses" */
    const char *key_variable; /* NULL: none is read; --llm-key-file works for all */
    bool key_needed;
    bool free;                                    /* runs on the user's machine: costs nothing */
    const char *key_header;                       /* "Authorization: Bearer " or "x-api-key: " */
    const char *headers[AK_PROVIDER_HEADERS_MAX]; /* sent with every request, NULL-terminated */
    ak_stream_kind stream;
    ak_status (*request)(json_t **out, const ak_request *request, ak_error *err);
    ak_status (*reply)(ak_reply *out, const json_t *body, ak_error *err);
    /* `event` is the name of a server-sent event, "" if it has none. */
    ak_status (*delta)(ak_reply *out, const char *event, const json_t *data, ak_error *err);
    /* `body` is NULL if it was not JSON; `now` in seconds since 1970, for dates in headers. */
    void (*classify)(ak_verdict *out, int status, const ak_reply_headers *headers,
                     const json_t *body, int64_t now);
} ak_provider;

#define X(name) extern const ak_provider ak_provider_##name;
#include "llm/providers.def"
#undef X

/* The table: providers.def, in its order; NULL-terminated. */
extern const ak_provider *const ak_providers[];
/* What models.def knows of a model. */
void ak_abilities_find(ak_abilities *out, const ak_provider *provider, const char *model);
/* `name` need not end: `length` characters count. Names the known ones when there is none. */
ak_status ak_provider_find(const ak_provider **out, const char *name, size_t length, ak_error *err);

#endif
