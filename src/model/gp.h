/*
 * gp.h: a Gaussian process over configurations (Rasmussen and Williams, "Gaussian Processes for
 * Machine Learning", 2006, chapters 2 and 5). It predicts a number y, such as the logarithm of the
 * time, for untried configurations, and says how uncertain each prediction is.
 *
 * Two configurations are similar if their parameters are. With distances d between their levels and
 * weights w,
 *
 *     similarity = 1 + a (1 - sum of w d / sum of w)
 *                    + (exp(-sum of w d) + matern(sqrt(sum of w d^2))) / 2
 *
 * The 1 stands for the unknown level of all y. The next term is the effect of each parameter by
 * itself, whatever the others are: it carries what was learned to parts of the space where nothing
 * was tried. The last term is the joint effect. One half of it is rough: one step of a parameter
 * may change everything, as alignments do. The other half, Matern's with 5/2 degrees of freedom, is
 * smooth, as amounts of work are. A prior and a hint (ak_point) each add a linear term. A parameter
 * whose levels have no order (feature.h), or with two levels, has one distance, 0 or 1. Any other
 * has two: how far apart the levels are, 0..1 over their range, and, with a smaller weight at
 * first, whether they differ at all, since numbers may also be mere names ("method 0, 1, 2"). The
 * weights w and a are learned (ak_gp_tune), so a hundred parameters of which five matter are no
 * harder than five.
 *
 * Rows are added one by one at a cost that grows with the square of their number, because the
 * Cholesky factor is extended and not computed anew. The last rows can be removed (ak_gp_truncate);
 * so a trial in progress can be added with its predicted y until it ends. Candidates that are
 * predicted repeatedly are watched: each has a slot that is kept up to date at a cost linear in the
 * rows.
 */
#ifndef AK_MODEL_GP_H
#define AK_MODEL_GP_H

#include "model/feature.h"

#define AK_GP_ROWS_MAX 1024

/* A configuration as the model sees it. `at` first has one place per column: for an ordered column
   the position in the range, 0..1, else the level. Then it has a second place, the level, for each
   ordered column with more than two levels. */
typedef struct ak_point {
    float at[2 * AK_PARAMETERS_MAX];
    double prior; /* expected value of y, in the same units; 0: nothing is expected */
    /* a quantity that y may depend on linearly, with a slope that the rows determine; ak_gp_tune
       leaves the hint out unless it makes the rows more likely */
    double hint;
} ak_point;

typedef struct ak_gp_options {
    size_t rows, slots; /* most rows (up to AK_GP_ROWS_MAX) and watched candidates */
    /* Sum of the initial weights of the columns. Random pairs of configurations are about 2/5 of
       all ranges apart, so that a sum of 5 gives them a similarity of e^-2. */
    double steepness;
    double noise; /* initial variance of the noise of y, relative to the joint effect's */
} ak_gp_options;

typedef struct ak_gp ak_gp;

/* Opens a model without rows. It borrows the features until it is closed. Returns AK_INVALID unless
   options->rows is 1 to AK_GP_ROWS_MAX. */
ak_status ak_gp_open(ak_gp **out, const ak_features *features, const ak_gp_options *options,
                     ak_error *err);
void ak_gp_close(ak_gp *gp);
AK_END_AT(ak_gp_close, ak_gp)

/* Makes the point of a configuration. The prior and the hint are 0; the caller may set them. */
void ak_gp_point(ak_point *out, const ak_gp *gp, const ak_config *config);
/* Returns the similarity of two points with the current weights, without noise. */
double ak_gp_similarity(const ak_gp *gp, const ak_point *a, const ak_point *b);

size_t ak_gp_count(const ak_gp *gp);
/* Adds a row, whose y is the prediction until ak_gp_learn sets it. If the model has options.rows
   rows already, the new row is ignored. */
void ak_gp_add(ak_gp *gp, const ak_point *point);
/* Removes all rows but the first `count`. */
void ak_gp_truncate(ak_gp *gp, size_t count);
/* Sets the y of every row: ak_gp_count finite values. Watched candidates stay watched. */
void ak_gp_learn(ak_gp *gp, const double *y);
/* Tries changes of one weight at a time, the noise and the hint's included, on at most 128 rows and
   keeps those that make y more likely, for about `tries` tries or until no change helps any more.
   Then all rows are factored anew. Without rows it does nothing. */
void ak_gp_tune(ak_gp *gp, size_t tries);

/* Predicts the mean and the standard deviation of y, without noise. */
void ak_gp_predict(double *mean, double *deviation, const ak_gp *gp, const ak_point *point);

/* Watches a point in a slot, in place of the point that was there. `slot` is less than
   options.slots. */
void ak_gp_watch(ak_gp *gp, size_t slot, const ak_point *point);
void ak_gp_unwatch(ak_gp *gp, size_t slot);
/* Predicts y at the point in a slot, which must be watched, as ak_gp_predict does but faster. */
void ak_gp_watched(double *mean, double *deviation, const ak_gp *gp, size_t slot);

#endif
