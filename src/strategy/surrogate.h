/*
 * surrogate.h: a model of log time, learned from trials: a Gaussian process (Rasmussen and
 * Williams, "Gaussian Processes for Machine Learning", 2006, chapters 2 and 5) over configurations.
 *
 * Two configurations are alike if their parameters are: similarity = exp(-sum of w[p] *
 * distance[p]), where the distance of numbers is that of their places in the list of values, scaled
 * to 0..1, and that of texts is 0 or 1. How much each parameter matters, w[p], is learned, so a
 * hundred parameters of which five matter are no harder than five.
 */
#ifndef AK_STRATEGY_SURROGATE_H
#define AK_STRATEGY_SURROGATE_H

#include "problem/space.h"

#define AK_SURROGATE_MAX 96 /* trials that it looks at; its cost grows with the square */

/* A configuration as the model sees it. */
typedef struct ak_point {
    float at[AK_PARAMETERS_MAX]; /* place of the value, 0..1; of texts their index */
    double prior;                /* log time as expected beforehand, 0 if nothing was */
} ak_point;

typedef struct ak_surrogate ak_surrogate;

ak_status ak_surrogate_new(ak_surrogate **out, const ak_space *space, ak_error *err);
void ak_surrogate_free(ak_surrogate *model);

void ak_surrogate_point(ak_point *out, const ak_surrogate *model, const ak_config *config);

/* Learns from at most AK_SURROGATE_MAX log times. Each call also reconsiders a few weights, so that
   the cost of learning is spread over the run. */
void ak_surrogate_fit(ak_surrogate *model, const ak_point *points, const double *log_ms,
                      size_t count);
/* Adds one more, for trials that are under way: pretend that it came out as predicted. Ignored when
   the model is full. */
void ak_surrogate_pretend(ak_surrogate *model, const ak_point *point);
/* Log time alone, which costs far less. */
double ak_surrogate_mean(const ak_surrogate *model, const ak_point *point);
/* Log time and its standard deviation. */
void ak_surrogate_predict(double *mean, double *deviation, const ak_surrogate *model,
                          const ak_point *point);

#endif
