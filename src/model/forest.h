/*
 * forest.h: a random forest (Breiman, "Random forests", 2001) over the levels of parameters: what
 * the trials say about configurations that were not tried, how sure that is, and which parameters
 * and pairs of parameters make the difference.
 *
 *     ak_forest *forest;
 *     ak_forest_data data = {&features, rows, y, count};
 *     ak_forest_options options = AK_FOREST_DEFAULT;
 *     status = ak_forest_fit(&forest, &data, &options, err);
 *     ak_forest_predict(&mean, &variance, forest, row);
 *     share = ak_forest_effect(forest, 3);            parameter 3 alone: 0..1 of the variance
 *     share = ak_forest_interaction(forest, 3, 5);    what 3 and 5 do together beyond that
 *
 * A number is split by a threshold, a text by one of its values. Thresholds are drawn between the
 * levels that were seen, so that trees disagree where nothing was measured. Mean and variance are
 * those of a mixture: the trees' means and the spread within their leaves (Hutter, Xu, Hoos,
 * Leyton-Brown, "Algorithm runtime prediction", 2014, section 4.3).
 *
 * Effects are a functional analysis of variance (Hutter, Hoos, Leyton-Brown, "An efficient approach
 * for assessing hyperparameter importance", 2014): the variance, over the Cartesian product of all
 * levels with equal weights, of the prediction averaged over all other parameters, as a share of
 * the whole variance. Effects and interactions of all orders add up to 1. Conditions of the space
 * are not looked at: where they leave holes, the forest interpolates.
 */
#ifndef AK_MODEL_FOREST_H
#define AK_MODEL_FOREST_H

#include "model/feature.h"

#define AK_FOREST_ROWS_MAX  1000000
#define AK_FOREST_TREES_MAX 1000

typedef struct ak_forest ak_forest;

/* All borrowed for the call of fit; of the features, columns and levels are copied. */
typedef struct ak_forest_data {
    const ak_features *features;
    const uint16_t *rows; /* count * features->count levels, one row after the other */
    const double *y;      /* finite; take the logarithm of times */
    size_t count;         /* at least 1 */
} ak_forest_data;

typedef struct ak_forest_options {
    size_t trees;
    size_t leaf_min;    /* fewest rows of a leaf */
    double share;       /* of the columns that each split may choose from, (0, 1] */
    bool bootstrap;     /* each tree sees as many rows, drawn with replacement; else all of them */
    double leaf_spread; /* smallest standard deviation that a leaf is believed to have */
    uint64_t seed;
} ak_forest_options;

/* The shares and leaves of the paper on runtime prediction; 32 trees predict as well as 100 within
   a few per cent on spaces of kernels and cost a third. */
#define AK_FOREST_DEFAULT                                                                          \
    {                                                                                              \
        .trees = 32, .leaf_min = 2, .share = 5.0 / 6.0, .bootstrap = true, .leaf_spread = 1e-3,    \
        .seed = 1                                                                                  \
    }

/* AK_INVALID if there are no rows, or a y is not finite. The same data, options and seed give the
   same forest. */
ak_status ak_forest_fit(ak_forest **out, const ak_forest_data *data,
                        const ak_forest_options *options, ak_error *err);
void ak_forest_free(ak_forest *forest);

/* How much of the variance of y the forest explains, each row predicted only by the trees that did
   not see it (Breiman's out-of-bag estimate): 1 all of it, 0 or less nothing. NAN without
   bootstrap, if all y are equal, or if every tree saw every row. */
double ak_forest_out_of_bag(const ak_forest *forest);

/* `variance` may be NULL. The row need not have been seen, nor any of its levels. */
void ak_forest_predict(double *mean, double *variance, const ak_forest *forest,
                       const uint16_t *row);

/* The prediction for each level of one column, averaged over the levels of all others: writes
   features->column[column].levels values. */
void ak_forest_marginal(double *out, const ak_forest *forest, size_t column);
/* Shares of the variance, averaged over the trees: 0 if all y are equal. */
double ak_forest_effect(const ak_forest *forest, size_t column);
double ak_forest_interaction(const ak_forest *forest, size_t a, size_t b); /* a != b */

#endif
