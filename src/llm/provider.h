/*
 * provider.h: a provider implements one dialect of the language-model APIs, as pure functions from
 * JSON to JSON.
 *
 * A provider that uses HTTP does no input or output, keeps no state and reads no clock. The client
 * (client.c) owns the connection, time, money and retries, so tests of a provider need only texts.
 * A new provider takes one file and one line in providers.def; docs/howto-provider.md walks through
 * it.
 *
 *     request    a chat, as the body of a POST
 *     reply      the body of a whole reply, into ak_reply
 *     delta      one event of a streamed reply, into the same ak_reply
 *     classify   what a reply that is not 2xx means: retry, give up, or drop a parameter
 *
 * A model that is reached by other means than HTTP has one function instead, `ask` (file.c).
 */
#ifndef AK_LLM_PROVIDER_H
#define AK_LLM_PROVIDER_H

#include "llm/llm.h"

/* ---- abilities ------------------------------------------------------------------------------- */

/* Parameters and features that a model takes. X(NAME, words): models.def gives the initial set. If
   a reply with status 400 or 422 names one of the words, in the error's "param" or in its message,
   the ability is dropped, or toggled if it is COMPLETION_TOKENS, once per client, and the request
   is sent again. If several match, the first one that was sent is dropped. Each word ends in a
   comma. */
#define AK_ABILITY_MAP(X)                                                                          \
    X(STRICT, "strict,") /* the server enforces a schema without optional properties */            \
    X(SCHEMA, "response_format,output_format,json_schema,schema,format,structured_outputs,")       \
    X(ADAPTIVE, "adaptive,thinking,")      /* the model decides how long it thinks */              \
    X(THINKING, "budget_tokens,thinking,") /* the request sets the thinking budget */              \
    X(EFFORT, "reasoning_effort,effort,reasoning,think,thinking,")                                 \
    X(COMPLETION_TOKENS, "max_completion_tokens,max_tokens,") /* sent in place of max_tokens */    \
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
    unsigned set;          /* bits of AK_ABILITY_... */
    int output_tokens_max; /* 0 if unknown */
} ak_abilities;

/* ---- request --------------------------------------------------------------------------------- */

/* A chat with all settings that the request needs. */
typedef struct ak_request {
    const char *model;  /* name of the model without its provider */
    const char *effort; /* NULL for the model's default */
    const ak_llm_chat *chat;
    ak_abilities abilities;
    int output_tokens; /* the lowest of the limits of chat, model, user and budget */
    /* upper bound: bytes of prompt and schema, and allowances for what providers add */
    size_t prompt_tokens_max;
} ak_request;

/* ---- reply ----------------------------------------------------------------------------------- */

/* The content of a reply. `reply` fills it at once, `delta` piece by piece. */
typedef struct ak_reply {
    ak_buf text, reasoning;
    char model[AK_LLM_NAME_MAX], id[AK_LLM_NAME_MAX];
    ak_llm_finish finish;
    ak_llm_usage usage;
    bool ended;         /* the reply said that it is complete, or the client has ended it */
    ak_llm_fault fault; /* error inside a reply that began normally, or why `ask` failed */
    char fault_text[240];
} ak_reply;
void ak_reply_init(ak_reply *reply);
void ak_reply_free(ak_reply *reply);

/* ---- errors ---------------------------------------------------------------------------------- */

typedef enum ak_complaint_action {
    AK_COMPLAINT_RETRY,
    AK_COMPLAINT_FATAL,
    AK_COMPLAINT_CAPABILITY /* drop `ability` or lower the output limit, then send again */
} ak_complaint_action;

/* Header fields that matter; NULL if the server did not send them. */
typedef struct ak_reply_headers {
    const char *retry_after, *retry_after_ms, *should_retry;
} ak_reply_headers;

typedef struct ak_complaint {
    ak_complaint_action action;
    ak_llm_fault fault;
    /* bits of AK_ABILITY_...; the first one that was sent is dropped, and COMPLETION_TOKENS is
       toggled; 0 for none */
    unsigned ability;
    int output_tokens_max; /* limit that the server named; 0 if none */
    int64_t wait_ms;       /* wait that the server asks for; -1 if it asks for none */
    char text[240];        /* the server's own words, one line */
} ak_complaint;

/* Classifies an error reply by its status and by the words of all dialects. Every provider so far
   that uses HTTP calls it. `now` is in seconds since 1970. */
void ak_classify(ak_complaint *out, int status, const ak_reply_headers *headers, const json_t *body,
                 int64_t now);
/* Classifies an error by its code or type and its message; AK_LLM_FAULT_SERVER if neither says
   anything known. */
ak_llm_fault ak_classify_words(const char *code, const char *message);
/* Finds the code (or else the type) and the message of an error in any dialect. Missing ones are
   "". Both are borrowed from `body`. */
void ak_error_words(const char **code, const char **message, const json_t *body);

/* ---- provider -------------------------------------------------------------------------------- */

/* What the client passes to a provider that reaches its model without HTTP. */
typedef struct ak_errand {
    const char *place; /* text after the provider's name in the specification: a folder */
    int64_t timeout_ns;
    int64_t (*now_ns)(void *context); /* monotonic */
    /* Waits. Returns false if the call was cancelled meanwhile. */
    bool (*wait)(void *context, int64_t ns);
    /* Receives, before `ask` waits, the paths of the question and of the expected reply. */
    void (*posted)(void *context, const char *question, const char *reply);
    void *context;
} ak_errand;

typedef enum ak_stream_kind { AK_STREAM_SSE, AK_STREAM_NDJSON } ak_stream_kind;

#define AK_PROVIDER_HEADERS_MAX 4

typedef struct ak_provider {
    const char *name, *description;
    const char *url;  /* default address; NULL if --llm-url is required */
    const char *path; /* appended to the address: "/v1/responses" */
    /* environment variable of the key; NULL if none is read. --llm-key-file works for all that use
       HTTP */
    const char *key_variable;
    bool key_needed;
    /* true if it runs on the user's machine at no cost */
    bool free;
    const char *key_header;                       /* "Authorization: Bearer " or "x-api-key: " */
    const char *headers[AK_PROVIDER_HEADERS_MAX]; /* sent with every request; NULL-terminated */
    ak_stream_kind stream;
    ak_status (*request)(json_t **out, const ak_request *request, ak_error *err);
    /* `reply` and `delta` read the members that they know and ignore others. If memory is out, a
       buffer in *out has failed. `event` is the name of a server-sent event, "" if it has none. */
    void (*reply)(ak_reply *out, const json_t *body);
    void (*delta)(ak_reply *out, const char *event, const json_t *data);
    /* `body` is NULL if it was not a JSON object. `now` is in seconds since 1970 and is used for
       dates in headers. */
    void (*classify)(ak_complaint *out, int status, const ak_reply_headers *headers,
                     const json_t *body, int64_t now);
    /* Passes the question to the model and waits for its reply. A provider with this function has
       none of the four above and no address. It is asked only once: if no reply comes, `ask` says
       so in `fault` and `fault_text` of the reply. NULL for all providers that use HTTP. */
    ak_status (*ask)(ak_reply *out, const ak_request *request, const ak_errand *errand,
                     ak_error *err);
    double timeout_seconds; /* time limit of `ask`, unless the user sets another */
} ak_provider;

#define X(name) extern const ak_provider ak_provider_##name;
#include "llm/providers.def"
#undef X

/* The providers in the order of providers.def, those with `ask` last; NULL-terminated. */
extern const ak_provider *const ak_providers[];
/* Looks up what models.def says about a model; all 0 if it has no row for it. */
void ak_abilities_find(ak_abilities *out, const ak_provider *provider, const char *model);
/* Finds a provider by the first `length` characters of `name`. If there is none, the error lists
   the known names. */
ak_status ak_provider_find(const ak_provider **out, const char *name, size_t length, ak_error *err);
/* Returns true if the text matches the pattern, in which '*' stands for any text. */
bool ak_llm_glob(const char *pattern, const char *text);

/* ---- answer (answer.c) ----------------------------------------------------------------------- */

/* These turn the reply of a provider into the answer that the caller gets. */

/* Finds the reason for the end of a reply that the text names, such as "stop". Returns false if
   there is no such reason. */
bool ak_llm_finish_parse(ak_llm_finish *out, const char *text);

/* Reads text, reasoning, elements, usage and names of a reply into `out`, which holds no texts or
   values yet. An empty reply, or a refusal without elements, sets out->fault and fails. Messages
   begin with `who`. */
ak_status ak_answer_read(ak_llm_answer *out, ak_reply *reply, const ak_llm_chat *chat,
                         const char *who, ak_error *err);

/* Returns what the user can do about the fault, or "". */
const char *ak_llm_fault_advice(ak_llm_fault fault);

/* Sets the fault, writes the message to `err` and returns the status of the fault. */
ak_status ak_answer_fail(ak_llm_answer *out, ak_llm_fault fault, ak_error *err, const char *format,
                         ...) __attribute__((format(printf, 4, 5)));

/* Adds the usage of one attempt or call to a sum. */
void ak_usage_add(ak_llm_usage *sum, const ak_llm_usage *more);

/* ---- price (price.c) ------------------------------------------------------------------------- */

/* What tokens cost: the list prices of prices.def, which the user's own file overrides. */

/* Above this many prompt tokens some models cost more than their list price. */
#define AK_PRICE_PROMPT_TOKENS_MAX 200000

/* Prices in dollars per million tokens. */
typedef struct ak_price {
    bool known;
    double input, cached_input, cache_write, output;
    char date[12]; /* date of the list price; "" for the user's own and for local models */
} ak_price;

/* Finds the price of a model: that of the file, else 0 for a provider that is `free`, else the list
   price. out->known is false if there is none. `file` may be NULL; it holds {"openai:gpt-5":
   {"input": 1.25, "cached_input": 0.125, "output": 10}, ...} in dollars per million tokens. '*' in
   a name stands for any text, and the first match counts. "cached_input" and "cache_write" may be
   left out; then they are the price of the input. Fails if any entry of the file is wrong. */
ak_status ak_price_find(ak_price *out, const ak_provider *provider, const char *model,
                        const char *file, ak_error *err);
/* Returns the cost of this usage in dollars. */
double ak_price_of(const ak_price *price, const ak_llm_usage *usage);
/* Returns the most dollars that a call with these numbers of prompt and output tokens can cost at
   the list price. */
double ak_price_worst(const ak_price *price, size_t prompt_tokens, int output_tokens);

#endif
