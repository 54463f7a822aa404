/* client.h: what the parts of the client share: client.c opens it and keeps the accounts, attempt.c
   makes one request, ask.c decides what becomes of a call. */
#ifndef AK_LLM_CLIENT_H
#define AK_LLM_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/fs.h"
#include "base/rng.h"
#include "llm/http.h"
#include "llm/price.h"
#include "llm/tape.h"

#define AK_LLM_URL_MAX 2048

struct ak_llm {
    char name[2 * AK_LLM_NAME_MAX]; /* "openai:gpt-5" */
    const ak_provider *provider;    /* NULL: a script that names no model */
    char model[AK_LLM_NAME_MAX];
    char effort[16]; /* "" if not given */
    char url[AK_LLM_URL_MAX];
    bool direct; /* the address is this machine's, in clear: no proxy may see what goes there */
    char *key;   /* NULL: none */
    ak_price price;
    ak_tape *tape; /* NULL: nothing is recorded or replayed */
    int64_t connect_ns, stall_ns, timeout_ns;
    int retries;
    const volatile int *cancel;
    ak_llm_seam seam;
    double budget_usd;
    /* Guards all below, which calls of several threads change, and the tape. */
    pthread_mutex_t lock;
    ak_abilities abilities;
    unsigned corrected; /* AK_ABILITY_... that a server has corrected */
    ak_rng rng;
    ak_llm_totals totals;
    double reserved_usd; /* worst cases of the attempts that are under way */
};

struct ak_llm_call {
    ak_llm *llm;
    const ak_llm_chat *chat;
    json_t *question;              /* for the tape; NULL without one */
    char name[AK_HASH_BYTES + 16]; /* of the question on the tape */
    size_t prompt_tokens_max;
    int64_t start_ns;
    ak_llm_answer answer;
    ak_status status;
    ak_error error;
    bool threaded;
    pthread_t thread;
    atomic_int stop; /* set to give the call up */
    atomic_int done;
};

int64_t ak_llm_now(const ak_llm *llm);
bool ak_call_cancelled(const ak_llm_call *call);

/* What one request led to. */
typedef enum ak_attempt_end {
    AK_ATTEMPT_ANSWERED, /* `answer` is one */
    AK_ATTEMPT_RETRY,
    AK_ATTEMPT_FATAL,
    AK_ATTEMPT_CORRECT /* the server named a parameter that it does not take */
} ak_attempt_end;

typedef struct ak_attempt {
    ak_attempt_end end;
    ak_llm_fault fault;
    int status; /* of HTTP, 0: none */
    unsigned ability;
    int output_tokens_max;
    int64_t wait_ms;    /* -1: the server does not say */
    char text[240];     /* the server's words, or what went wrong */
    ak_llm_usage usage; /* whatever became of it */
    bool uncertain;     /* it may have cost something that nobody told us */
    char request_id[AK_LLM_NAME_MAX];
    ak_llm_answer answer; /* the caller's, if it ANSWERED; else empty */
} ak_attempt;

/* Sends one request. AK_NO_MEMORY is the only status besides AK_OK. */
ak_status ak_attempt_run(ak_attempt *out, const ak_llm_call *call, const ak_request *request,
                         ak_error *err);

/* A request with what the client knows now. */
void ak_llm_request(ak_request *out, ak_llm_call *call);

#endif
