/*
 * run_advisor.h: a run's part of the advisor. It opens the client of the language model from the
 * options, gives the strategy its ak_advisor_options, and reports every call to the archive, if
 * there is one, and, shortened, to the events.
 */
#ifndef AK_TUNER_RUN_ADVISOR_H
#define AK_TUNER_RUN_ADVISOR_H

#include "strategy/advisor.h"
#include "tuner/session.h"

typedef struct ak_run_advisor {
    /* Set by the caller before ak_run_advisor_open; they outlive the advisor. */
    const ak_session *session;
    const ak_events *events;
    ak_archive *archive;    /* NULL if calls are not stored */
    ak_tune_result *result; /* gets the warnings about the model and its costs */

    ak_advisor_options options;
    ak_model model; /* its name is NULL if there is none */
    ak_llm *llm;
    size_t calls, failed, uncounted;     /* as in ak_llm_use */
    int64_t input_tokens, output_tokens; /* sums over the calls of the run */
    ak_error missing;                    /* why the configured model cannot be asked; AK_OK if it
                                            can or none is */
    json_t *environment;
    ak_error fault; /* first failure of the archive to store a call, after which it gets no more;
                       AK_OK: none */
} ak_run_advisor;

/* Opens the client if the strategy asks a model (it has `await`) and a model is configured. A model
   that this machine cannot ask (AK_UNAVAILABLE: no key, no libcurl) is not an error; the strategy
   is told that there is no model. A faulty request (a budget for an unpriced model, a tape that
   does not exist) is refused. The session may be opened later. Options and task must outlive the
   advisor, which ak_run_advisor_close closes, also after a failure. */
ak_status ak_run_advisor_open(ak_run_advisor *advisor, const ak_tune_options *options,
                              const ak_task *task, const ak_strategy_ops *ops, ak_error *err);
/* Takes what the advisor needs of the open session, before the strategy is opened: its environment,
   and whether it recalls results from a recording. If it does, nothing is measured again; then, or
   if the model is slow (ak_llm_is_slow), strategies wait for replies. */
ak_status ak_run_advisor_join(ak_run_advisor *advisor, ak_error *err);
void ak_run_advisor_close(ak_run_advisor *advisor); /* after the strategy was closed */

/* Returns the options with the budget and the token limit reduced by what was spent, so that
   several runs can share them. A limit of 0 (none) stays 0, and one that is used up becomes
   tiny. */
ak_llm_options ak_run_advisor_left(const ak_llm_options *llm, double spent_usd,
                                   int64_t used_tokens);

/* Adds to a run's record the options that make a later run ask the same questions, without the
   provider's address and key. options->llm must be set. Returns false without memory. */
bool ak_run_advisor_record(json_t *object, const ak_tune_options *options);

/* Returns an error if a call could not be stored. */
ak_status ak_run_advisor_status(const ak_run_advisor *advisor, ak_error *err);
/* Fills in model, calls, tokens and cost; leaves *out as it is if no model was opened. The strategy
   must be closed before, because closing it may abandon a call. */
ak_status ak_run_advisor_total(ak_llm_use *out, const ak_run_advisor *advisor, ak_error *err);

#endif
