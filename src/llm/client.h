/* client.h: declares what the parts of the client share. client.c opens a client, reserve.c keeps
   its accounts, attempt.c makes one request, and ask.c carries out a call. */
#ifndef AK_LLM_CLIENT_H
#define AK_LLM_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fs.h"
#include "base/rng.h"
#include "llm/http.h"
#include "llm/tape.h"

#define AK_LLM_URL_MAX      2048
#define AK_LLM_PLACE_BYTES  (AK_PATH_MAX + 400)
#define AK_LLM_EXCESS_BYTES (AK_LLM_NAME_MAX + 300)

struct ak_llm {
    char name[2 * AK_LLM_NAME_MAX]; /* "openai:gpt-5" */
    const ak_provider *provider;    /* NULL for a tape that names no model */
    char model[AK_LLM_NAME_MAX];
    char effort[16];          /* "" if not given */
    char url[AK_LLM_URL_MAX]; /* address of the server, or the folder that `ask` uses */
    bool direct; /* unencrypted address on this machine: no proxy may see the traffic */
    char *key;   /* NULL if there is none */
    ak_price price;
    ak_tape *tape; /* NULL if nothing is recorded or replayed */
    int64_t connect_ns, stall_ns, timeout_ns;
    int retries;
    int output_tokens_max; /* the user's limit on the output of a call; 0: none */
    size_t calls_max;      /* 0: no limit */
    int64_t tokens_max;    /* limit on the tokens of all calls; 0: no limit */
    const volatile int *cancel;
    void (*notice)(void *context, const char *text); /* NULL if nobody listens */
    void (*warning)(void *context, const char *text);
    void *notice_context;
    ak_llm_seam seam;
    double budget_usd;
    /* Guards the tape and every field below, because calls of several threads change them. */
    pthread_mutex_t lock;
    ak_abilities abilities;
    unsigned corrected; /* bits of AK_ABILITY_... that were changed because a server refused them */
    ak_rng rng;
    ak_llm_totals totals;
    size_t begun; /* number of calls begun, for calls_max */
    /* Highest values of any call so far; 0 until a call has reported its usage. */
    double tokens_per_byte; /* input tokens / prompt_tokens_max */
    int64_t output_most;    /* output tokens */
    double reserved_usd;    /* sum of the worst-case costs of the attempts under way */
    /* tokens_used: tokens of the attempts that have ended, or their worst case if they are unknown.
       tokens_reserved: worst case of the attempts under way. */
    int64_t tokens_used, tokens_reserved;
};

struct ak_llm_call {
    ak_llm *llm;
    const ak_llm_chat *chat;
    json_t *question;              /* canonical question for the tape; NULL without a tape */
    char name[AK_HASH_BYTES + 16]; /* name of the question on the tape */
    size_t prompt_tokens_max;
    int output_tokens_fit; /* lowered limit with which the call fits into the budget; 0: none */
    bool counted;          /* the call counts against calls_max */
    bool uncertain;        /* an attempt counts with its worst case */
    int64_t start_ns;
    ak_llm_answer answer;
    ak_status status;
    ak_error error;
    bool threaded;
    pthread_t thread;
    /* the latest failure after which the request was to be sent again; "" if there was none */
    char lost[AK_LLM_LOST_BYTES];
    char excess[AK_LLM_EXCESS_BYTES]; /* says that an attempt used more than was reserved, or "" */
    /* A line for the user that says where a question waits for an answer by hand. Valid if `posted`
       is 1 or, after the user was told, 2. */
    char place[AK_LLM_PLACE_BYTES];
    atomic_int posted;
    atomic_int stop; /* set to abandon the call */
    atomic_int done;
};

static inline void ak_llm_lock(ak_llm *llm)
{
    (void)pthread_mutex_lock(&llm->lock);
}

static inline void ak_llm_unlock(ak_llm *llm)
{
    (void)pthread_mutex_unlock(&llm->lock);
}

int64_t ak_llm_now(const ak_llm *llm);
bool ak_call_cancelled(const ak_llm_call *call);
/* Tells the user, once, where a question waits that is answered by hand. Only the thread that uses
   the client calls this. */
void ak_call_tell(ak_llm_call *call);
/* Waits for `ns`. Returns false if the call was cancelled meanwhile. */
bool ak_call_wait(const ak_llm_call *call, int64_t ns);

/* The outcome of one request. */
typedef enum ak_attempt_end {
    AK_ATTEMPT_ANSWERED, /* `answer` is valid */
    AK_ATTEMPT_RETRY,
    AK_ATTEMPT_FATAL,
    AK_ATTEMPT_CORRECT /* the server named a parameter that it does not take, or its output limit */
} ak_attempt_end;

typedef struct ak_attempt {
    ak_attempt_end end;
    ak_llm_fault fault;
    int status; /* HTTP status; 0 if there is none */
    unsigned ability;
    int output_tokens_max;
    int64_t wait_ms;    /* wait that the server asks for; -1 if it asks for none */
    char text[240];     /* the server's words or a description of the fault */
    ak_llm_usage usage; /* reported even if the attempt failed */
    bool uncertain;     /* the request may have been billed without a usage report */
    char request_id[AK_LLM_NAME_MAX];
    ak_llm_answer answer; /* owned by the caller after ANSWERED, else empty */
} ak_attempt;

/* Dollars and tokens set aside for an attempt: its worst case. */
typedef struct ak_reservation {
    double usd;
    int64_t tokens;
} ak_reservation;

/* Checks the question and bounds its tokens by its bytes, because tokenizers work on bytes or
   larger pieces. A server that counts more is handled in reserve.c. */
ak_status ak_call_measure(size_t *out, const ak_llm_chat *chat, ak_error *err);
/* Fills in a request for the call, with the abilities that the client knows now and an output limit
   within those of chat, model, user and budget. */
void ak_call_request(ak_request *out, ak_llm_call *call);
/* Sets the worst case of an attempt aside, if need be after lowering the output limit of the call.
   Fails if the budget or the token limit does not allow it. */
ak_status ak_call_reserve(ak_reservation *out, ak_llm_call *call, ak_error *err);
/* Replaces the reservation of an attempt by what it has used, or charges it in full if the attempt
   may have been billed without a report. */
void ak_call_book(ak_llm_call *call, const ak_attempt *attempt, const ak_reservation *reserved);
/* Replaces the reservation by what an answer from a tape cost when it was recorded. Tokens that
   were not reported then are counted at their worst case. */
void ak_call_book_replay(ak_llm_call *call, const ak_reservation *reserved);

/* Sends one request. Returns AK_OK whatever the server replies. Fails only if memory is out, or if
   `ask` cannot write or read its files. */
ak_status ak_attempt_run(ak_attempt *out, ak_llm_call *call, const ak_request *request,
                         ak_error *err);

#endif
