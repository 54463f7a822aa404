/*
 * rank.h: what the author of a kernel expects: the "Rank" expression of its space file, evaluated.
 *
 * It predicts the time of a configuration up to a factor from its parameters, the sizes and the
 * facts of the device: register and cache models live there, beside the kernel that they describe.
 */
#ifndef AK_STRATEGY_RANK_H
#define AK_STRATEGY_RANK_H

#include "strategy/strategy.h"

typedef struct ak_rank ak_rank;

/* *out is NULL if the context has no rank. A rank that does not parse or names what is not there is
   refused. */
ak_status ak_rank_open(ak_rank **out, const ak_strategy_context *context, ak_error *err);
void ak_rank_close(ak_rank *rank);
/* Logarithm of the expected time; 0 without a rank; infinite where the expression fails (a division
   by zero) or is no positive number. */
double ak_rank_log(ak_rank *rank, const ak_config *config);

#endif
