/*
 * gp.h: a Gaussian process over configurations (Rasmussen and Williams, "Gaussian Processes for
 * Machine Learning", 2006, chapters 2 and 5): what the trials say about others, and how sure that
 * is.
 *
 * Two configurations are alike if their parameters are: with distances d between their levels and
 * weights w,
 *
 *     similarity = 1 + a (1 - sum of w d / sum of w)
 *                    + (exp(-sum of w d) + matern(sqrt(sum of w d^2))) / 2
 *
 * The 1 is the unknown level of all. The next term is what each parameter does by itself, whatever
 * the others are: it carries what was learned to parts of the space where nothing was tried. Of
 * what they do together half is rough: one step of a parameter may change everything, as alignments
 * do; the other half, Matern's with 5/2 degrees of freedom, is smooth, as amounts of work are. A
 * text has one distance, 0 or 1. A number has two, of which the second starts with a smaller
 * weight: how far apart the levels are, 0..1 over their range, and whether they differ at all,
 * since numbers may be names too ("method 0, 1, 2"). How much each matters, w, and a are learned
 * (tune), so a hundred parameters of which five matter are no harder than five.
 *
 * Rows are added one by one at a cost that grows with the square of their number (the Cholesky
 * factor is extended, not made again); the last ones can be taken back (truncate), which is how
 * trials under way are pretended. Candidates that are looked at again and again are watched: each
 * has a slot that is kept up to date at a cost that is linear in the rows.
 */
#ifndef AK_MODEL_GP_H
#define AK_MODEL_GP_H

#include "model/feature.h"

#define AK_GP_ROWS_MAX 1024

/* A configuration as the model sees it: first one place per column, 0..1 if ordered, else the
   level; then once more the level of each ordered column that has more than two. */
typedef struct ak_point {
    float at[2 * AK_PARAMETERS_MAX];
    double prior; /* what is expected beforehand, in the units of y; 0: nothing */
} ak_point;

typedef struct ak_gp_options {
    size_t rows, slots; /* most rows (at most AK_GP_ROWS_MAX) and watched candidates */
    /* What the weights add up to at first. Random pairs are about 2/5 of all ranges apart: at 5
       they start at a similarity of e^-2. */
    double steepness;
    double noise; /* of y at first: variance, relative to that of the joint effect */
} ak_gp_options;

typedef struct ak_gp ak_gp;

/* Borrows the features until it is closed. */
ak_status ak_gp_open(ak_gp **out, const ak_features *features, const ak_gp_options *options,
                     ak_error *err);
void ak_gp_close(ak_gp *gp);

/* Its prior is 0, for the caller to set. */
void ak_gp_point(ak_point *out, const ak_gp *gp, const ak_config *config);
/* Between two points, with the weights of now; without noise. */
double ak_gp_similarity(const ak_gp *gp, const ak_point *a, const ak_point *b);

size_t ak_gp_count(const ak_gp *gp);
/* Adds a row whose y is as predicted until learn says otherwise. Ignored when there are
   options.rows already. */
void ak_gp_add(ak_gp *gp, const ak_point *point);
void ak_gp_truncate(ak_gp *gp, size_t count); /* forgets all rows but the first `count` */
/* The y of every row, all finite. What was watched stays watched. */
void ak_gp_learn(ak_gp *gp, const double *y);
/* Tries up to `tries` changes of one weight at a time and keeps those under which y is more likely.
   Looks at 128 rows at most. Costs a factorisation of all rows at the end. */
void ak_gp_tune(ak_gp *gp, size_t tries);

/* Mean and standard deviation of y without noise. */
void ak_gp_predict(double *mean, double *deviation, const ak_gp *gp, const ak_point *point);

void ak_gp_watch(ak_gp *gp, size_t slot, const ak_point *point); /* replaces what was there */
void ak_gp_unwatch(ak_gp *gp, size_t slot);
void ak_gp_watched(double *mean, double *deviation, const ak_gp *gp, size_t slot);

#endif
