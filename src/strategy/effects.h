/*
 * effects.h: a very cheap model of log time: the sum of one effect for each parameter's value (an
 * additive model fitted by backfitting: Friedman, Stuetzle, "Projection pursuit regression",
 * 1981). It tells which of a few configurations is the most promising.
 *
 * Fast trials weigh more than slow ones, so the effects describe the neighbourhood of the best.
 * Effects that were seen in few trials are shrunk towards 0. Learning takes time in proportion to
 * the number of trials; the caller does it when ak_effects_stale returns true.
 */
#ifndef AK_STRATEGY_EFFECTS_H
#define AK_STRATEGY_EFFECTS_H

#include "strategy/frame.h"

typedef struct ak_effects ak_effects;

ak_status ak_effects_new(ak_effects **out, const ak_space *space, ak_error *err);
void ak_effects_free(ak_effects *effects);

/* Returns true if at least a 64th of the trials are new since the last learning. Learning at this
   rate keeps its cost per trial constant in the long run. */
bool ak_effects_stale(const ak_effects *effects, const ak_frame *frame);
ak_status ak_effects_learn(ak_effects *effects, const ak_frame *frame, ak_error *err);
/* Returns a number that can be compared between configurations; smaller is faster. Returns 0 before
   anything was learned. */
double ak_effects_predict(const ak_effects *effects, const ak_config *config);

#endif
