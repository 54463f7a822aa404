/*
 * effects.h: a model of log time that costs next to nothing: the sum of an effect for each value of
 * each parameter (an additive model, fitted by backfitting: Friedman, Stuetzle, "Projection pursuit
 * regression", 1981). It says which of a few configurations is the most promising.
 *
 * Fast trials count for more than slow ones, so the effects are those around the best. An effect
 * that was seen in few trials is shrunk towards 0. Learning takes time in proportion to the trials;
 * the caller asks for it when it pays (ak_effects_stale).
 */
#ifndef AK_STRATEGY_EFFECTS_H
#define AK_STRATEGY_EFFECTS_H

#include "strategy/frame.h"

typedef struct ak_effects ak_effects;

ak_status ak_effects_new(ak_effects **out, const ak_space *space, ak_error *err);
void ak_effects_free(ak_effects *effects);

/* Have there been enough trials since the last time? One in 64, so that learning costs each trial
   the same in the long run. */
bool ak_effects_stale(const ak_effects *effects, const ak_frame *frame);
ak_status ak_effects_learn(ak_effects *effects, const ak_frame *frame, ak_error *err);
/* Comparable between configurations, smaller is faster; 0 before anything was learned. */
double ak_effects_predict(const ak_effects *effects, const ak_config *config);

#endif
