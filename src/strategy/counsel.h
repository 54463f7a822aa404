/*
 * counsel.h: what a strategy that asks a language model gets besides the space: the model, the task
 * in detail, and somebody to tell.
 *
 * The model is a table of functions, so that a test or a study can put a script in its place; see
 * ak_counsel_llm for the real one. A question is started and looked at later: the tuner measures
 * meanwhile.
 */
#ifndef AK_STRATEGY_COUNSEL_H
#define AK_STRATEGY_COUNSEL_H

#include "archive/archive.h"
#include "llm/llm.h"
#include "llm/prompt.h"

typedef struct ak_model {
    void *context;
    const char *name; /* "openai:gpt-5": what trials name as their model */
    /* `chat` lives until `end` or `abandon`. */
    ak_status (*start)(void **out_call, void *context, const ak_llm_chat *chat, ak_error *err);
    bool (*done)(void *call);
    /* Waits if need be and frees the call; as ak_llm_ask. */
    ak_status (*end)(ak_llm_answer *out, void *call, ak_error *err);
    /* Gives the call up and frees it. *out is what is known of it, as after a failure: what it
       cost, and the fault. */
    void (*abandon)(ak_llm_answer *out, void *context, void *call);
} ak_model;

/* An open client as a model; it must outlive it. */
void ak_counsel_llm(ak_model *out, ak_llm *llm);

typedef struct ak_counsel {
    const ak_model *model; /* NULL: none, and `missing` says why in one line */
    const char *missing;
    const ak_task *task;         /* NULL: only the space is known (a recording) */
    const ak_ceilings *ceilings; /* NULL: unknown */
    const char *library;         /* the fastest one, NULL: none; with its time */
    double library_ms;
    int generations; /* questions to ask; 0: the strategy's own default */
    size_t batch;    /* proposals a question; 0: what the budget leaves for each generation */
    /* Replies are waited for, so that what is tried does not depend on how long they take: for
       simulations and studies. */
    bool patient;
    bool rechecks; /* the caller answers ak_strategy_ops.recheck */
    /* Each is told when it happens; NULL: nobody listens. */
    void (*tell)(void *context, const ak_call *call); /* run and started are not filled in */
    void (*notice)(void *context, const char *text);  /* one line for the user */
    void *context;
} ak_counsel;

#endif
