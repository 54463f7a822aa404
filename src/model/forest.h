/*
 * forest.h: a random forest (Breiman, "Random forests", 2001) over the levels of parameters. It
 * predicts the objective, usually the time, of untried configurations, and says how uncertain each
 * prediction is, and which parameters and pairs of parameters make the difference.
 *
 *     ak_forest *forest;
 *     ak_forest_data data = {&features, rows, y, count};
 *     ak_forest_options options = AK_FOREST_DEFAULT;
 *     status = ak_forest_fit(&forest, &data, &options, err);
 *     ak_forest_predict(&mean, &variance, forest, row);
 *     ak_forest_effects(alone, forest, err);        alone[3]: 0..1 of the variance
 *     ak_forest_interactions(pairs, forest, 3, err);   pairs[5]: what 3 and 5 do beyond that
 *
 * An ordered column is split by a threshold, any other column by one of its levels. Thresholds are
 * drawn between the levels that were seen, so that trees disagree where nothing was measured. The
 * trees' predictions form a mixture: its variance comes from the differences between the trees'
 * means and from the spread within their leaves (Hutter, Xu, Hoos, Leyton-Brown, "Algorithm runtime
 * prediction", 2014, section 4.3).
 *
 * Effects are a functional analysis of variance (Hutter, Hoos, Leyton-Brown, "An efficient approach
 * for assessing hyperparameter importance", 2014). The effect of a parameter is the variance of the
 * prediction averaged over all other parameters, as a share of the whole variance, over the
 * Cartesian product of all levels with equal weights. Effects and interactions of all orders add up
 * to 1. Conditions of the space are ignored: the forest interpolates over what they exclude.
 */
#ifndef AK_MODEL_FOREST_H
#define AK_MODEL_FOREST_H

#include "model/feature.h"

#define AK_FOREST_ROWS_MAX  1000000
#define AK_FOREST_TREES_MAX 1000
/* The interaction of two columns is computed only if they have at most this many pairs of levels
   (64 times 64). A column with more than 64 levels is usually a counter. */
#define AK_FOREST_CELLS_MAX 4096

typedef struct ak_forest ak_forest;

/* The data that a forest learns from. Everything is borrowed during ak_forest_fit, which copies
   what it needs of the columns. */
typedef struct ak_forest_data {
    const ak_features *features;
    const uint16_t *rows; /* count * features->count levels, one row after the other */
    const double *y;      /* finite; logarithms for times */
    size_t count;         /* at least 1 */
} ak_forest_data;

typedef struct ak_forest_options {
    size_t trees;
    size_t leaf_min; /* least number of rows in a leaf, unless the whole tree has fewer */
    double share;    /* share of the columns that are drawn for each split, in (0, 1]; if none of
                        these splits the rows, more are drawn */
    /* true: each tree learns from `count` rows drawn with replacement; false: from all rows */
    bool bootstrap;
    double leaf_spread; /* least standard deviation that a leaf is assumed to have */
    uint64_t seed;
} ak_forest_options;

/* On spaces of kernels the predictions of 32 trees are only a few per cent worse than those of 100,
   at a third of the cost. */
#define AK_FOREST_DEFAULT                                                                          \
    {                                                                                              \
        .trees = 32, .leaf_min = 2, .share = 5.0 / 6.0, .bootstrap = true, .leaf_spread = 1e-3,    \
        .seed = 1                                                                                  \
    }

/* Fits a forest, which the caller frees with ak_forest_free. Returns AK_INVALID if there are no
   rows or trees, or too many, or if a y is not finite. Equal data and options give equal
   forests. */
ak_status ak_forest_fit(ak_forest **out, const ak_forest_data *data,
                        const ak_forest_options *options, ak_error *err);
void ak_forest_free(ak_forest *forest);
AK_END_AT(ak_forest_free, ak_forest)

/* Returns the share of the variance of y that the forest explains, where a row is predicted only by
   the trees that have not seen it (Breiman's out-of-bag estimate): 1 is all of it, 0 or less is
   nothing. It is NAN if every tree has seen every row, as without bootstrap, or if all y of unseen
   rows are equal. */
double ak_forest_out_of_bag(const ak_forest *forest);

/* Predicts y for a row of levels, which need not occur in the data. `variance` may be NULL. */
void ak_forest_predict(double *mean, double *variance, const ak_forest *forest,
                       const uint16_t *row);

/* Write a share of the variance for each column, averaged over the trees that vary:
   ak_forest_effects the share that the column explains alone, ak_forest_interactions the share that
   it explains together with `column` beyond their own effects. The latter is 0 for `column` itself
   and for a column that has more than AK_FOREST_CELLS_MAX pairs of levels with it. All shares are 0
   if no tree varies. */
ak_status ak_forest_effects(double *out, const ak_forest *forest, ak_error *err);
ak_status ak_forest_interactions(double *out, const ak_forest *forest, size_t column,
                                 ak_error *err);

#endif
