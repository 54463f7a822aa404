/*
 * advisor.h: leads the conversation with a language model about one task. It writes prompts from
 * all observations, checks the answers, hands out their proposals and reports every call to the
 * archive.
 *
 *     ak_advisor_open(&advisor, context, &plan, err)
 *     ak_advisor_ask(advisor, err)         the next generation's question is on its way
 *     ak_advisor_poll(advisor, err)        takes the reply when it is there
 *     ak_advisor_next(&proposal, advisor)  its proposals, one by one
 *     ak_advisor_observe(advisor, ...)     every result, whoever proposed it
 *
 * The states are those of ak_advice_state. A failed call, or two answers in a row without a usable
 * proposal, end the advice; the user is told the reason once, in one line. If the model's context
 * is too small, the question is asked again with fewer facts.
 *
 * The model is a table of functions, so that a test or a study can replace it by a script;
 * ak_model_llm makes one from a client. A question is started and its answer is collected later,
 * so that the tuner can measure meanwhile.
 */
#ifndef AK_STRATEGY_ADVISOR_H
#define AK_STRATEGY_ADVISOR_H

#include "archive/archive.h"
#include "llm/llm.h"
#include "llm/prompt.h"
#include "strategy/strategy.h"
#include "strategy/walk.h"

typedef struct ak_model {
    void *context;
    const char *name; /* name that trials store as their model, such as "openai:gpt-5" */
    /* Starts a call. `chat` must live until `end` or `abandon`. */
    ak_status (*start)(ak_llm_call **out, void *context, const ak_llm_chat *chat, ak_error *err);
    bool (*done)(ak_llm_call *call);
    /* Waits if necessary, returns the answer as ak_llm_ask does, and frees the call. */
    ak_status (*end)(ak_llm_answer *out, ak_llm_call *call, ak_error *err);
    /* Cancels the call and frees it, as ak_llm_abandon does. */
    ak_status (*abandon)(ak_llm_answer *out, char lost[AK_LLM_LOST_BYTES], ak_llm_call *call,
                         ak_error *err);
} ak_model;

/* Makes a model that asks through an open client, which must outlive the model. */
void ak_model_llm(ak_model *out, ak_llm *llm);

struct ak_advisor_options {
    const ak_model *model; /* NULL if there is none; then `missing` says why in one line */
    const char *missing;
    const ak_task *task;         /* NULL if only the space is known, as in a study or with a
                                    recording of an unknown kernel */
    const ak_ceilings *ceilings; /* NULL if unknown */
    /* Facts of a recording, which are used if there is no task; NULL or "" if unknown. */
    const char *description, *device, *size, *dtype;
    const json_t *environment;     /* names the device and its software; NULL if unknown */
    ak_share share;                /* how much the model may be told */
    const ak_objective *objective; /* NULL: the time */
    const char *library; /* the best library with its time or cost; NULL if there is none */
    double library_ms;
    int generations; /* number of questions; 0: the strategy's default. llm-oneshot asks one */
    size_t batch;    /* proposals per question; 0: the model's part of the budget, split equally */
    /* Makes the strategy wait for replies, so that the trials do not depend on how long replies
       take. It is set if results come from a recording or if the model is slow (ak_llm_is_slow). */
    bool patient;
    /* Describes the compiled code of a configuration in one line. Returns false if the code is not
       known. NULL: no code is ever known. */
    bool (*look)(void *context, ak_buf *out, const ak_config *config);
    bool rechecks; /* the caller measures what ak_strategy_ops.recheck returns */
    /* Called when a call has ended and when the user should be told something; NULL if nobody
       listens. */
    void (*tell)(void *context, const ak_call *call); /* `run` and `started` are not set */
    void (*notice)(void *context, const char *text);  /* one line for the user */
    void *context;
};

/* Limits of the advice; batch and generations are the strategy's if the user does not set them. */
#define AK_ADVICE_BATCH_MAX 64 /* proposals per answer */
#define AK_ADVICE_ELITES    4  /* best configurations that are measured again */

typedef struct ak_advice_plan {
    int generations;
    size_t batch;
    bool searched;   /* a search proposes as well */
    bool apart;      /* with `searched`: the search is not told the model's trials before the last
                        question */
    bool no_history; /* the model is not told what was tried */
    /* the model is told no facts of device, shape and source, as with --llm-share space */
    bool no_facts;
} ak_advice_plan;

/* Rows of a strategy's hyper-parameters (strategy.h) that every strategy with an advisor has. With
   them a study can compare the strategy with and without history or facts, as in
   "llm:history=0". */
#define AK_ADVICE_HYPERS(X)                                                                        \
    X(history, 1, 0, 1, true, "tell the model what was tried (0: nothing of it)",                  \
      "the model proposes better when it sees results")                                            \
    X(facts, 1, 0, 1, true,                                                                        \
      "tell the model about device, shape and source (0: parameters, conditions and times only)",  \
      "the harness computes what models are bad at")

/* Returns the part of a plan that the user sets: `generations` unless there is only one or the
   options say how many, the batch of the options (0: the strategy chooses it), and what the rows of
   AK_ADVICE_HYPERS say, the first of which has the index `history`. */
ak_advice_plan ak_advice_plan_of(const ak_strategy_context *context, const ak_hyper *hypers,
                                 size_t history, int generations);

typedef enum ak_advice_state {
    AK_ADVICE_IDLE,   /* the next question may be asked */
    AK_ADVICE_ASKED,  /* a reply is under way */
    AK_ADVICE_READY,  /* proposals are waiting */
    AK_ADVICE_ENDED,  /* nothing more to ask; see ak_advisor_ending */
    AK_ADVICE_FAILED, /* no model, a failed call, or no usable proposal */
} ak_advice_state;

typedef struct ak_advisor ak_advisor;

/* Opens an advisor; without a model it starts as FAILED. `walk` belongs to the strategy and says
   what was proposed or observed. The strategy passes each observation to the walk before it calls
   ak_advisor_observe. */
ak_status ak_advisor_open(ak_advisor **out, const ak_strategy_context *context,
                          const ak_advice_plan *plan, const ak_walk *walk, ak_error *err);
/* Frees an advisor; NULL is accepted. Abandons a call under way and reports it with what it may
   have cost. */
void ak_advisor_close(ak_advisor *advisor);
AK_END_AT(ak_advisor_close, ak_advisor)

ak_advice_state ak_advisor_state(const ak_advisor *advisor);
/* Returns why the advice ENDED: "generations" (all questions were asked), "stalled" (two
   generations in a row gained nothing), or "satisfied" (after usable proposals the model gave an
   empty list because it expects nothing better); NULL before it ended. */
const char *ak_advisor_ending(const ak_advisor *advisor);
int ak_advisor_generation(const ak_advisor *advisor); /* number of the latest question; 0 if none */

/* Asks the next question if the state is IDLE. The state becomes ASKED, ENDED if there is nothing
   more to ask, or FAILED, also if there is nothing more to ask and no answer was usable. */
ak_status ak_advisor_ask(ak_advisor *advisor, ak_error *err);
/* Takes the reply if it has arrived. The state then changes from ASKED to READY, to IDLE if no
   proposal was usable, to ENDED or to FAILED. It stays ASKED if the model's context was too small
   and the question could be asked again with fewer facts. */
ak_status ak_advisor_poll(ak_advisor *advisor, ak_error *err);
/* Waits at most timeout_ns for the reply. Returns false if none is under way. */
bool ak_advisor_await(ak_advisor *advisor, int64_t timeout_ns);
/* Hands out the next proposal while READY, and skips those that another strategy has proposed
   meanwhile. After the last one the state is IDLE. Returns false if none is left. */
bool ak_advisor_next(ak_proposal *out, ak_advisor *advisor);
/* Learns a result. That of a recheck replaces the result of its trial unless the recheck failed. A
   trial for which the machine was too busy (ak_trial_not_judged) is ignored. */
ak_status ak_advisor_observe(ak_advisor *advisor, const ak_observation *observation, ak_error *err);

/* Returns true if another question may follow and one of several elites has not been doubted yet
   (ak_advisor_doubts). */
bool ak_advisor_in_doubt(const ak_advisor *advisor);
/* If ak_advisor_in_doubt, writes the elites (at most `max`), to be measured side by side, and no
   longer doubts them. Returns their number. */
size_t ak_advisor_doubts(ak_config *out, ak_advisor *advisor, size_t max);

/* Passes the observations on to another strategy, with configuration and time (or cost) only;
   those that ak_advisor_observe ignored are not among them. */
ak_status ak_advisor_retell(const ak_advisor *advisor, ak_strategy *strategy, ak_error *err);

/* Tells the user, once, that `strategy` carries on without the model. */
void ak_advisor_yield(ak_advisor *advisor, const char *strategy);

#endif
