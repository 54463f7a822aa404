/*
 * llm.h: asks a language model, independently of its provider.
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
 * One call is one question. It retries after rate limits, overload and lost connections. It drops a
 * parameter that the server refuses, or takes its other name, once per parameter and client. It
 * ends with an answer or with a fault that says whether asking again makes sense. Before each
 * attempt its worst-case cost is reserved from the budget. The reservation assumes that all output
 * tokens are used and, until earlier calls have shown the number of tokens per byte, that each byte
 * of the question is one token. The budget can be exceeded only if a server reports more tokens;
 * then the user is told. An attempt that is lost after it was sent is charged at its worst case.
 *
 * ak_llm_start asks in a separate thread, so that the tuner can measure meanwhile. Any number of
 * calls may share an ak_llm; every other use of it is limited to one thread at a time.
 */
#ifndef AK_LLM_LLM_H
#define AK_LLM_LLM_H

#include "base/json.h"

/* Longest question in bytes, which bounds the cost of a call. The prompts of autokernel are
   shorter. */
#define AK_LLM_PROMPT_BYTES_MAX (1u << 20)
/* Longest reply in bytes. A longer stream is cut here, and what came before is used; a longer reply
   that is not streamed is an error. 50,000 proposals take about 8 MB. */
#define AK_LLM_REPLY_BYTES_MAX (16u << 20)
/* Output tokens if a chat does not set them: enough for 20 proposals of 250 tokens, with their
   hypotheses, and some reasoning. */
#define AK_LLM_OUTPUT_TOKENS 8192
#define AK_LLM_REST_NS       (10 * AK_SECOND_NS)
#define AK_LLM_NAME_MAX      128 /* bytes for a model name or request id; replies are cut to fit */

/* ---- question -------------------------------------------------------------------------------- */

typedef enum ak_llm_role { AK_LLM_USER, AK_LLM_ASSISTANT } ak_llm_role;

typedef struct ak_llm_message {
    ak_llm_role role;
    const char *text; /* UTF-8 */
} ak_llm_message;

/* A question. Everything is borrowed until the call has ended. The first message must be the
   user's. */
typedef struct ak_llm_chat {
    const char *system; /* NULL if none. Providers cache it, so it should not change */
    const ak_llm_message *messages;
    size_t message_count;
    /* A JSON schema for the answer, or NULL for plain text. Every object in it must have
       additionalProperties false. A provider leaves out keywords that its API refuses and makes
       optional properties required and nullable if its API demands that. A model that takes no
       schema gets it as text in the system message. */
    const json_t *schema;
    const char *schema_name; /* letters, digits, _ and -, at most 64; NULL: "answer" */
    const char *array;       /* member that holds the wanted elements; NULL if none */
    /* Most elements that are wanted; 0: no limit. The client ends a stream that goes on for
       AK_LLM_REST_NS after them, unless words came before the JSON, because further output costs
       money and is not used. It waits so long because the end of the stream says how many tokens
       were used. */
    int elements_max;
    int max_output_tokens; /* including reasoning; 0: AK_LLM_OUTPUT_TOKENS */
    /* Distinguishes equal questions on a tape. It is sent if the model takes a seed. */
    uint64_t seed;
    /* A hash of what the question is about, independent of its wording; NULL if unknown. If the
       wording has changed since a tape was recorded, the tape finds the answer by this hash. It is
       not sent. */
    const char *situation;
} ak_llm_chat;

/* ---- answer ---------------------------------------------------------------------------------- */

/* Reasons why a model stopped. X(NAME, text) */
#define AK_LLM_FINISH_MAP(X)                                                                       \
    X(UNKNOWN, "unknown")                                                                          \
    X(STOP, "stop")         /* the model was done */                                               \
    X(LENGTH, "length")     /* the output limit was reached; the text is cut */                    \
    X(FILTER, "filter")     /* a content filter acted; the text may be cut */                      \
    X(REFUSAL, "refusal")   /* the model declines */                                               \
    X(TOO_LONG, "too_long") /* over AK_LLM_REPLY_BYTES_MAX; the text is cut */                     \
    X(ENOUGH, "enough")     /* it went on after all that was asked for; the text is cut */         \
    X(LOST, "lost")         /* the connection was lost; the text is cut */

typedef enum ak_llm_finish {
#define X(name, text) AK_LLM_FINISH_##name,
    AK_LLM_FINISH_MAP(X)
#undef X
} ak_llm_finish;
const char *ak_llm_finish_text(ak_llm_finish finish);

/* Reasons why a call failed. X(NAME, text, status, lasting, advice): asking again does not cure a
   `lasting` fault, so the caller should stop using the model and say so. Other faults may be gone
   later. The advice ends the message; it is "" if there is none or the message itself gives it. */
#define AK_LLM_FAULT_MAP(X)                                                                        \
    X(NONE, "none", AK_OK, false, "")                                                              \
    X(RATE_LIMIT, "rate_limit", AK_UNAVAILABLE, false,                                             \
      "wait, or ask the provider for a higher limit")                                              \
    X(OVERLOADED, "overloaded", AK_UNAVAILABLE, false, "try again later")                          \
    X(LOADING, "loading", AK_UNAVAILABLE, false, "the model is still being loaded")                \
    X(SERVER, "server", AK_UNAVAILABLE, false, "try again later")                                  \
    X(NETWORK, "network", AK_IO, false, "check the address and the proxy settings")                \
    X(TIMEOUT, "timeout", AK_TIMED_OUT, false,                                                     \
      "raise --llm-timeout, or check the address and the proxy settings")                          \
    X(DAMAGED, "damaged", AK_UNAVAILABLE, false, "") /* the reply breaks the protocol */           \
    X(EMPTY, "empty", AK_UNAVAILABLE, false, "")     /* the reply was empty */                     \
    X(REFUSED, "refused", AK_UNAVAILABLE, false, "") /* the model declines this question */        \
    X(QUOTA, "quota", AK_UNAVAILABLE, true,                                                        \
      "the account has no credit left: add some at the provider")                                  \
    X(KEY, "key", AK_UNAVAILABLE, true,                                                            \
      "the key is missing, wrong or expired: see 'autokernel doctor'")                             \
    X(MODEL, "model", AK_NOT_FOUND, true, "check the name of the model and the address")           \
    X(REQUEST, "request", AK_INVALID, true, "") /* the question or the address is refused */       \
    X(CONTEXT, "context", AK_LIMIT, true,                                                          \
      "choose a model with a larger context, or tell it less with --llm-share")                    \
    X(TLS, "tls", AK_UNAVAILABLE, true,                                                            \
      "name the file with the right CA certificates in CURL_CA_BUNDLE")                            \
    X(BUDGET, "budget", AK_LIMIT, true, "") /* over a limit of dollars, tokens or calls */         \
    X(RECORDING, "recording", AK_NOT_FOUND, true, "") /* the question is not on the tape */        \
    X(CANCELLED, "cancelled", AK_CANCELLED, true, "")                                              \
    X(LOCAL, "local", AK_INTERNAL, true, "") /* memory, a file or libcurl failed */

typedef enum ak_llm_fault {
#define X(name, text, status, lasting, advice) AK_LLM_FAULT_##name,
    AK_LLM_FAULT_MAP(X)
#undef X
} ak_llm_fault;
const char *ak_llm_fault_text(ak_llm_fault fault);
bool ak_llm_fault_lasting(ak_llm_fault fault);

/* Token counts, normalised across providers: input includes cached and cache-written tokens, output
   includes reasoning. */
typedef struct ak_llm_usage {
    bool known;
    int64_t input, input_cached, input_written;
    int64_t output, output_reasoning;
} ak_llm_usage;

/* Places where the elements were found. X(NAME, text) */
#define AK_LLM_FOUND_MAP(X)                                                                        \
    X(NOTHING, "nothing")                                                                          \
    X(CONTENT, "content")     /* the text was the JSON value */                                    \
    X(EMBEDDED, "embedded")   /* the text had fences or words around it */                         \
    X(REASONING, "reasoning") /* in the reasoning, because the content had none */

typedef enum ak_llm_found {
#define X(name, text) AK_LLM_FOUND_##name,
    AK_LLM_FOUND_MAP(X)
#undef X
} ak_llm_found;
const char *ak_llm_found_text(ak_llm_found found);

/* An answer, or what is known about a failed call. The caller frees it with ak_llm_answer_clear. */
typedef struct ak_llm_answer {
    char *text;      /* valid UTF-8, "" if empty; NULL after a failure */
    char *reasoning; /* NULL if the provider does not show it */
    /* With a schema only. Some servers ignore the schema, so check every element. */
    json_t *value;    /* JSON value, found where `found` says; incomplete if `cut`; NULL if none */
    json_t *elements; /* complete elements of chat.array; the array may be empty */
    bool cut;         /* the reply ended early, not by ENOUGH; an unfinished element is left out */
    bool repaired;    /* the text was not strict JSON: fences, trailing commas, True, None */
    ak_llm_found found;
    ak_llm_finish finish;
    int output_tokens_max; /* limit of the attempt that answered, for finish LENGTH */
    /* Usage of the attempt that answered; after a failure, what all attempts reported. Not known if
       an attempt may have been billed but reported no usage, because it was lost or ended with
       ENOUGH, for instance: then the cost is a bound. */
    ak_llm_usage usage;
    bool priced;     /* false if the price of this model is unknown; then costs are 0 */
    double cost_usd; /* cost of all attempts; at the worst case for those without a report */
    bool reworded;   /* replayed; the recorded question had other words */
    bool replayed;   /* read from a tape: nothing was sent; costs and times are as recorded */
    char model[AK_LLM_NAME_MAX];      /* name that the provider reports: "gpt-5-2025-08-07" */
    char request_id[AK_LLM_NAME_MAX]; /* id that the provider reports; "" if it reports none */
    int attempts;                     /* number of requests tried */
    int64_t elapsed_ns;               /* includes waits */
    ak_llm_fault fault;               /* NONE if the call returned AK_OK */
} ak_llm_answer;
void ak_llm_answer_clear(ak_llm_answer *answer);

/* ---- client ---------------------------------------------------------------------------------- */

typedef struct ak_llm ak_llm;

/* Replaces clock and sleep in tests. A NULL member stands for the real function. */
typedef struct ak_llm_seam {
    void *context;
    int64_t (*now_ns)(void *context);      /* monotonic */
    int64_t (*utc_seconds)(void *context); /* seconds since 1970, for a date in Retry-After */
    void (*sleep_ns)(void *context, int64_t ns);
} ak_llm_seam;

/* Reads the specification (see ak_llm_options in autokernel.h) and the prices. A client that sends
   over HTTP also reads its key and loads libcurl, but opens no connection yet; one that asks
   through files makes their folder. Refuses an unpriced model if a budget is set, and a key that
   would cross the network unencrypted. `seam` may be NULL. */
ak_status ak_llm_open(ak_llm **out, const ak_llm_options *options, const ak_llm_seam *seam,
                      ak_error *err);
/* Closes the client. All its calls must have ended. */
void ak_llm_close(ak_llm *llm);
AK_END_AT(ak_llm_close, ak_llm)

/* Returns the name that trials store as their model, such as "openai:gpt-5". If the options name no
   model, the tape does; the name is "replay" if the tape names none. */
const char *ak_llm_name(const ak_llm *llm);

/* Returns true if all answers come from a tape, so that nothing leaves the machine. */
bool ak_llm_replays(const ak_llm *llm);

/* Returns true if replies may take many minutes because the model is reached by hand. A search
   should then wait for them rather than continue without them. */
bool ak_llm_is_slow(const ak_llm *llm);

/* Sums over all calls so far, without those that a limit refused before their first attempt. */
typedef struct ak_llm_totals {
    size_t calls, failed, attempts;
    ak_llm_usage usage;
    bool priced;
    double cost_usd;      /* priced tokens plus uncertain_usd */
    double uncertain_usd; /* worst-case cost of attempts lost or abandoned after they were sent */
    double budget_usd;    /* 0 if there is none */
    int64_t tokens_used;  /* tokens counted against ak_llm_options.tokens; an attempt that may be
                             billed but reported none counts at its worst case */
} ak_llm_totals;
void ak_llm_total(ak_llm_totals *out, ak_llm *llm);

/* Asks and waits for the answer. After a failure `out` still holds attempts, costs and the fault,
   and err has one line that says who reported what and what to do. The caller clears `out` in any
   case. */
ak_status ak_llm_ask(ak_llm_answer *out, ak_llm *llm, const ak_llm_chat *chat, ak_error *err);

/* Asks without waiting. What `chat` points to must live until ak_llm_end or ak_llm_abandon. */
typedef struct ak_llm_call ak_llm_call;
ak_status ak_llm_start(ak_llm_call **out, ak_llm *llm, const ak_llm_chat *chat, ak_error *err);
/* Returns true once the call has ended. Also passes on a notice of the call, if there is one. */
bool ak_llm_done(ak_llm_call *call);
/* Waits if necessary, returns the answer as ak_llm_ask does, and frees the call. */
ak_status ak_llm_end(ak_llm_answer *out, ak_llm_call *call, ak_error *err);
/* Cancels the call, waits until its thread has ended and frees it. Returns what ak_llm_end does: an
   answer that has come is handed over, and the cost that a lost one may have caused is counted.
   `lost` receives the latest failure after which a request was to be sent again, such as "Failed to
   connect to ..", or "" if there was none. */
#define AK_LLM_LOST_BYTES 240
ak_status ak_llm_abandon(ak_llm_answer *out, char lost[AK_LLM_LOST_BYTES], ak_llm_call *call,
                         ak_error *err);

/* ---- lists ----------------------------------------------------------------------------------- */

/* Visits the names and descriptions of the providers and, as the last, of "replay". */
void ak_llm_each_provider(ak_list_visitor visit, void *context);
/* Returns the report of doctor: {"curl": "7.88.1 OpenSSL/3.0" or why there is none, "providers":
   [{"provider", "address", "key": "set"|"not set"|"none needed", "from"}]}, or NULL without
   memory. */
json_t *ak_llm_doctor(void);

#endif
