/*
 * advisor.h: the conversation with a language model about one task, for the strategies that have
 * one: prompts from all that was observed, answers checked, proposals handed out, and everything
 * told to the archive.
 *
 *     ak_advisor_open(&advisor, context, &plan, err)
 *     ak_advisor_ask(advisor, err)         the next generation's question is on its way
 *     ak_advisor_poll(advisor, err)        takes the reply when it is there
 *     ak_advisor_next(&proposal, advisor)  its proposals, one by one
 *     ak_advisor_observe(advisor, ...)     every result, whoever proposed it
 *
 * Its states: see ak_advisor_state. A call that fails, or two answers in a row without a usable
 * proposal, end the advice; the reason is one line that is told to the user once.
 */
#ifndef AK_STRATEGY_ADVISOR_H
#define AK_STRATEGY_ADVISOR_H

#include "strategy/strategy.h"
#include "strategy/walk.h"

/* What is asked for, when neither the user nor the budget says. */
#define AK_ADVICE_BATCH_MAX 64 /* proposals of one answer: about 6,000 output tokens */
#define AK_ADVICE_LEADERS   4  /* measured again before they are shown as the best */

typedef struct ak_advice_plan {
    int generations;
    size_t batch;
} ak_advice_plan;

typedef enum ak_advice_state {
    AK_ADVICE_IDLE,   /* the next question may be asked */
    AK_ADVICE_ASKED,  /* a reply is on its way */
    AK_ADVICE_READY,  /* there are proposals to hand out */
    AK_ADVICE_ENDED,  /* no more to ask: see ak_advisor_ending */
    AK_ADVICE_FAILED, /* no model, a call that failed, or nothing usable in what it said */
} ak_advice_state;

typedef struct ak_advisor ak_advisor;

/* Opens in the state FAILED if there is no model. `walk` says what was proposed or observed; it is
   the strategy's, which must observe with it first. */
ak_status ak_advisor_open(ak_advisor **out, const ak_strategy_context *context,
                          const ak_advice_plan *plan, const ak_walk *walk, ak_error *err);
/* Gives up what is on its way, and tells that it did and what that may have cost. */
void ak_advisor_close(ak_advisor *advisor);

ak_advice_state ak_advisor_state(const ak_advisor *advisor);
/* Why it ENDED: "generations", "stalled" (two in a row gained nothing) or "satisfied" (after
   proposals that were used, the model gave an empty list: it expects nothing better). */
const char *ak_advisor_ending(const ak_advisor *advisor);
int ak_advisor_generation(const ak_advisor *advisor); /* of the latest question; 0: none yet */

/* From IDLE to ASKED, ENDED if there is nothing more to ask for, or FAILED. */
ak_status ak_advisor_ask(ak_advisor *advisor, ak_error *err);
/* From ASKED to READY, IDLE (nothing usable: ask again), ENDED or FAILED when the reply is there.
 */
ak_status ak_advisor_poll(ak_advisor *advisor, ak_error *err);
/* Waits at most timeout_ns for the reply. False: none is on its way. */
bool ak_advisor_await(ak_advisor *advisor, int64_t timeout_ns);
/* From READY, the last one leads to IDLE. False: there is none. */
bool ak_advisor_next(ak_proposal *out, ak_advisor *advisor);
ak_status ak_advisor_observe(ak_advisor *advisor, const ak_observation *observation, ak_error *err);

/* Is there a leader that was measured only once, and another question to come? */
bool ak_advisor_in_doubt(const ak_advisor *advisor);
/* The leaders, if it is: all of them, so that they are measured side by side. */
size_t ak_advisor_doubts(ak_config *out, ak_advisor *advisor, size_t max);

/* Tells another strategy all that was observed, as far as a time and a configuration say it. */
ak_status ak_advisor_retell(const ak_advisor *advisor, ak_strategy *strategy, ak_error *err);

/* Tells the user, once, that `strategy` carries on without the model. */
void ak_advisor_yield(ak_advisor *advisor, const char *strategy);

#endif
