/*
 * adviser.h: the language model of a run: opened from the options, handed to the strategy as its
 * counsel; what is said goes to the archive and, in short, to the events.
 */
#ifndef AK_TUNER_ADVISER_H
#define AK_TUNER_ADVISER_H

#include "strategy/strategy.h"
#include "tuner/session.h"

typedef struct ak_adviser {
    ak_counsel counsel;
    ak_model model; /* name NULL: there is none */
    ak_llm *llm;
    const ak_session *session;
    const ak_events *events;
    ak_archive *archive;
    size_t calls, failed;
    ak_error missing; /* why there is none */
    ak_error fault;   /* of the archive, where a call could not be kept */
} ak_adviser;

/* Opens the client if the strategy asks anybody (it can wait) and a model is configured. A model
   that this machine cannot ask (AK_UNAVAILABLE: no key, no libcurl) is no error but told to the
   strategy; what is wrong with the question itself (an unpriced model with a budget, a recording
   that is not there) is refused. The session may be opened later. What it is given must outlive it.
 */
ak_status ak_adviser_open(ak_adviser *out, const ak_tune_options *options, const ak_task *task,
                          const ak_session *session, const ak_strategy_ops *ops,
                          const ak_events *events, ak_archive *archive, ak_error *err);
/* Once the session is open: trials of a recording are asked for one by one, and never again. */
void ak_adviser_join(ak_adviser *adviser);
void ak_adviser_close(ak_adviser *adviser); /* after the strategy */

/* `llm` with what is left of its budget after `spent_usd`, where several runs share it. */
ak_llm_options ak_adviser_left(const ak_llm_options *llm, double spent_usd);

/* For the record of a run: what makes the same questions be asked again. No address or key. */
bool ak_adviser_record(json_t *object, const ak_tune_options *options);

/* Has everything that was said been kept? */
ak_status ak_adviser_status(const ak_adviser *adviser, ak_error *err);
/* Fills in model, calls, tokens and cost: after the strategy was closed, which may give up a call.
 */
ak_status ak_adviser_total(ak_tune_result *result, const ak_adviser *adviser, ak_error *err);

#endif
