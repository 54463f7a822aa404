/*
 * llm.h: asking a language model, whatever speaks behind it.
 *
 *     ak_llm *llm;
 *     ak_llm_options options = {.model = "openai:gpt-5", .budget_usd = 0.5};
 *     ak_llm_open(&llm, &options, NULL, err);
 *     ak_llm_message question = {AK_LLM_USER, "Propose three tile sizes."};
 *     ak_llm_chat chat = {.system = "...", .messages = &question, .message_count = 1,
 *                         .schema = schema, .schema_name = "proposals", .array = "proposals",
 *                         .max_output_tokens = 4096};
 *     ak_llm_answer answer;
 *     if (ak_llm_ask(&answer, llm, &chat, err) == AK_OK)
 *         ... each of answer.elements is one complete proposal
 *     ak_llm_answer_clear(&answer);
 *     ak_llm_close(llm);
 *
 * One call is one question: it retries what may pass (rate limits, overload, lost connections), is
 * corrected once by each refusal of a parameter, and ends in an answer or in a fault that says
 * whether asking again makes sense. It never costs more than the budget allows: the worst case, all
 * bytes of the question as tokens and all output tokens, is reserved before each attempt; an
 * attempt that was lost after it was sent counts as that worst case.
 *
 * ak_llm_start asks in a thread of its own, so that a tuner measures meanwhile. Any number of calls
 * may be under way; an ak_llm is shared by them, all its other use is by one thread at a time.
 */
#ifndef AK_LLM_LLM_H
#define AK_LLM_LLM_H

#include "base/json.h"

/* A question is refused beyond this: no prompt of ours needs it, and it bounds what a call costs.
 */
#define AK_LLM_PROMPT_BYTES_MAX (1u << 20)
/* A reply is cut here, and what came before it is used. 50,000 proposals take about 8 MB. */
#define AK_LLM_REPLY_BYTES_MAX (16u << 20)
/* Asked for when a chat does not say: 60 proposals with their hypotheses, and some reasoning. */
#define AK_LLM_OUTPUT_TOKENS 8192
#define AK_LLM_NAME_MAX      128 /* model names, request ids; longer ones are cut */

/* ---- what is asked ------------------------------------------------------------------------- */

typedef enum ak_llm_role { AK_LLM_USER, AK_LLM_ASSISTANT } ak_llm_role;

typedef struct ak_llm_message {
    ak_llm_role role;
    const char *text; /* UTF-8 */
} ak_llm_message;

/* Everything is borrowed until the call has ended. The first message must be the user's. */
typedef struct ak_llm_chat {
    const char *system; /* NULL: none. Put what never changes here: providers cache it */
    const ak_llm_message *messages;
    size_t message_count;
    /* A JSON schema (the subset that all providers take: objects with additionalProperties false,
       arrays, strings, numbers, booleans, enum, nullable unions; every property required). NULL:
       plain text is wanted. Providers without schemas get it as text in the system message. */
    const json_t *schema;
    const char *schema_name; /* letters, digits, _ and -, at most 64; NULL: "answer" */
    const char *array;       /* the member that holds the wanted elements; NULL: none */
    int max_output_tokens;   /* reasoning included; 0: AK_LLM_OUTPUT_TOKENS */
    bool has_temperature;    /* otherwise the model's own */
    double temperature;      /* dropped where a model does not take it */
    uint64_t seed;           /* tells equal questions apart in recordings; sent where it is taken */
} ak_llm_chat;

/* ---- what comes back ----------------------------------------------------------------------- */

/* Why the model stopped. X(NAME, text) */
#define AK_LLM_FINISH_MAP(X)                                                                       \
    X(UNKNOWN, "unknown")                                                                          \
    X(STOP, "stop")         /* it was done */                                                      \
    X(LENGTH, "length")     /* the output limit: the text is cut */                                \
    X(FILTER, "filter")     /* a content filter: the text may be cut */                            \
    X(REFUSAL, "refusal")   /* the model declines */                                               \
    X(TOO_LONG, "too_long") /* AK_LLM_REPLY_BYTES_MAX: the text is cut */                          \
    X(LOST, "lost")         /* the connection: the text is cut */

typedef enum ak_llm_finish {
#define X(name, text) AK_LLM_FINISH_##name,
    AK_LLM_FINISH_MAP(X)
#undef X
} ak_llm_finish;
const char *ak_llm_finish_text(ak_llm_finish finish);

/* Why a call failed. X(NAME, text, status, lasting, advice): `lasting` faults come again however
   often one asks: stop using the model and say so. The others were retried and may be gone later.
   The advice ends the message, "" if the message has it already. */
#define AK_LLM_FAULT_MAP(X)                                                                        \
    X(NONE, "none", AK_OK, false, "")                                                              \
    X(RATE_LIMIT, "rate_limit", AK_UNAVAILABLE, false,                                             \
      "wait, or ask the provider for a higher limit")                                              \
    X(OVERLOADED, "overloaded", AK_UNAVAILABLE, false, "try again later")                          \
    X(LOADING, "loading", AK_UNAVAILABLE, false, "the model is still being loaded")                \
    X(SERVER, "server", AK_UNAVAILABLE, false, "try again later")                                  \
    X(NETWORK, "network", AK_IO, false, "check the address and the proxy settings")                \
    X(TIMEOUT, "timeout", AK_TIMED_OUT, false, "check the address and the proxy settings")         \
    X(DAMAGED, "damaged", AK_CORRUPT, false, "") /* not what the protocol says */                  \
    X(EMPTY, "empty", AK_CORRUPT, false, "")     /* nothing said */                                \
    X(REFUSED, "refused", AK_INVALID, false, "") /* the model declines this question */            \
    X(QUOTA, "quota", AK_UNAVAILABLE, true,                                                        \
      "the account has no credit left: add some at the provider")                                  \
    X(KEY, "key", AK_UNAVAILABLE, true,                                                            \
      "the key is missing, wrong or expired: see 'autokernel doctor'")                             \
    X(MODEL, "model", AK_NOT_FOUND, true, "check the name of the model and the address")           \
    X(REQUEST, "request", AK_INVALID, true, "") /* the provider does not take the question */      \
    X(TLS, "tls", AK_UNAVAILABLE, true,                                                            \
      "name the file with the right CA certificates in CURL_CA_BUNDLE")                            \
    X(BUDGET, "budget", AK_LIMIT, true, "")           /* it could cost more than is left */        \
    X(RECORDING, "recording", AK_NOT_FOUND, true, "") /* replaying what was never asked */         \
    X(CANCELLED, "cancelled", AK_CANCELLED, true, "")                                              \
    X(LOCAL, "local", AK_INTERNAL, true, "") /* ours: no memory, a file, the library */

typedef enum ak_llm_fault {
#define X(name, text, status, lasting, advice) AK_LLM_FAULT_##name,
    AK_LLM_FAULT_MAP(X)
#undef X
} ak_llm_fault;
const char *ak_llm_fault_text(ak_llm_fault fault);
bool ak_llm_fault_lasting(ak_llm_fault fault);

/* Tokens as all providers count them in the end: cached and cache-written ones are part of the
   input, reasoning is part of the output. */
typedef struct ak_llm_usage {
    bool known;
    int64_t input, input_cached, input_written;
    int64_t output, output_reasoning;
} ak_llm_usage;

/* Where the elements were found. X(NAME, text) */
#define AK_LLM_FOUND_MAP(X)                                                                        \
    X(NOTHING, "nothing")                                                                          \
    X(CONTENT, "content")     /* the text was the JSON value */                                    \
    X(EMBEDDED, "embedded")   /* inside other text: fenced, or between words */                    \
    X(REASONING, "reasoning") /* in the reasoning, the content was empty */

typedef enum ak_llm_found {
#define X(name, text) AK_LLM_FOUND_##name,
    AK_LLM_FOUND_MAP(X)
#undef X
} ak_llm_found;
const char *ak_llm_found_text(ak_llm_found found);

/* An answer, or what is known about a failed call. Owned by the caller: ak_llm_answer_clear. */
typedef struct ak_llm_answer {
    char *text;      /* valid UTF-8, "" if none; NULL after a failure */
    char *reasoning; /* where the provider shows it, else NULL */
    /* With a schema. The schema is a wish that some servers ignore: check every element. */
    json_t *value;    /* the JSON value found, NULL if none; cut if `cut` */
    json_t *elements; /* the complete elements of chat.array: an array, perhaps empty */
    bool cut;      /* the reply ended before it was complete; an unfinished element is left out */
    bool repaired; /* it was not JSON by the letter: fences, trailing commas, True, None */
    ak_llm_found found;
    ak_llm_finish finish;
    ak_llm_usage usage; /* of the attempt that answered */
    bool priced;        /* false: the price of this model is not known, costs are 0 */
    double cost_usd;    /* of all attempts of this call; lost ones at their worst case */
    bool replayed;      /* from a recording: nothing was sent, costs and times are as recorded */
    char model[AK_LLM_NAME_MAX];      /* as the provider names it: "gpt-5-2025-08-07" */
    char request_id[AK_LLM_NAME_MAX]; /* the provider's, "" if it gave none */
    int attempts;                     /* requests that were sent */
    int64_t elapsed_ns;               /* waits included */
    ak_llm_fault fault;               /* NONE if the call returned AK_OK */
} ak_llm_answer;
void ak_llm_answer_clear(ak_llm_answer *answer);

/* ---- the client ---------------------------------------------------------------------------- */

typedef struct ak_llm ak_llm;

/* Time as tests want it. A NULL member is the real thing. */
typedef struct ak_llm_seam {
    void *context;
    int64_t (*now_ns)(void *context);      /* monotonic */
    int64_t (*utc_seconds)(void *context); /* since 1970, for Retry-After with a date */
    void (*sleep_ns)(void *context, int64_t ns);
} ak_llm_seam;

/* Reads the specification (see ak_llm_options in autokernel.h), the key and the prices, and loads
   libcurl; connects to nothing. Refuses an unpriced model if a budget is set, and a key that would
   cross the network in clear. `seam` may be NULL. */
ak_status ak_llm_open(ak_llm **out, const ak_llm_options *options, const ak_llm_seam *seam,
                      ak_error *err);
/* After all its calls have ended. */
void ak_llm_close(ak_llm *llm);

/* "openai:gpt-5": what trials name as their model. Of a replay: the model that was recorded. */
const char *ak_llm_name(const ak_llm *llm);

/* What was spent so far, by all calls. */
typedef struct ak_llm_totals {
    size_t calls, failed, attempts;
    ak_llm_usage usage;
    bool priced;
    double cost_usd;      /* what the replies' token counts cost, and the next line */
    double uncertain_usd; /* worst case of attempts that were lost or given up on the way */
    double budget_usd;    /* 0: none */
} ak_llm_totals;
void ak_llm_total(ak_llm_totals *out, ak_llm *llm);

/* The most that this question can cost, in dollars; 0 if the model is unpriced or free. */
ak_status ak_llm_worst_case(double *out_usd, ak_llm *llm, const ak_llm_chat *chat, ak_error *err);

/* Asks and waits for the end. On failure `out` still says attempts, costs and the fault, and err
   has one line: who said what, and what to do. Clear it in any case. */
ak_status ak_llm_ask(ak_llm_answer *out, ak_llm *llm, const ak_llm_chat *chat, ak_error *err);

/* The same without waiting. What `chat` points to must live until ak_llm_end. */
typedef struct ak_llm_call ak_llm_call;
ak_status ak_llm_start(ak_llm_call **out, ak_llm *llm, const ak_llm_chat *chat, ak_error *err);
bool ak_llm_done(ak_llm_call *call);
/* Waits if need be, gives the answer as ak_llm_ask does, and frees the call. */
ak_status ak_llm_end(ak_llm_answer *out, ak_llm_call *call, ak_error *err);
/* Gives the call up: cancels it at once and frees it. What it may have cost is counted. */
void ak_llm_abandon(ak_llm_call *call);

/* ---- what there is -------------------------------------------------------------------------- */

/* Names and descriptions of the providers. */
void ak_llm_each_provider(ak_list_visitor visit, void *context);
/* [{"provider", "address", "key": "set"|"not set"|"not needed", ...}] and the version of libcurl,
   for doctor: {"curl": "7.88.1 OpenSSL/3.0" or what to install, "providers": [...]}. */
json_t *ak_llm_doctor(void);

#endif
