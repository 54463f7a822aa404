/*
 * importance.h: parameter importance: which parameters explain the times of trials.
 *
 * A random forest (model/forest.h) learns the logarithm of the times (or costs, if the objective is
 * not the time) of the successful trials. A functional analysis of variance of the forest (Hutter,
 * Hoos, Leyton-Brown 2014) splits the variance of log time, over the product of all values that
 * occur, into shares of parameters and of pairs. The out-of-bag R2 is the fraction of the variance
 * that the forest explains on trials that it did not learn from. If it is less than
 * AK_IMPORTANCE_R2_MIN, or there are fewer than AK_IMPORTANCE_TRIALS_MIN trials, shares would
 * describe noise and are not given; nor are they if no parameter has two values.
 *
 * Times of several tasks (sizes, devices, environments) are compared by their ratio to the
 * geometric mean of their own task. A search tries more configurations where times are short, so
 * the shares describe that part of the space.
 */
#ifndef AK_REPORT_IMPORTANCE_H
#define AK_REPORT_IMPORTANCE_H

#include "report/region.h"

#define AK_IMPORTANCE_TRIALS_MIN 20
#define AK_IMPORTANCE_R2_MIN     0.1
#define AK_IMPORTANCE_PAIRS_MAX  5

typedef struct ak_importance_pair {
    size_t a, b;  /* indices of parameters */
    double share; /* share of their interaction: what both explain together beyond what each
                     explains alone */
} ak_importance_pair;

typedef struct ak_importance {
    size_t trials;   /* successful trials with a time, except those left out */
    size_t learned;  /* trials that the forest learned from: all of them, or every nth if there are
                        more than 2000 */
    size_t left_out; /* trials without a configuration that can be read, or with other parameters
                        than the first that has one with at most AK_PARAMETERS_MAX parameters */
    size_t tasks;
    const char *why; /* why shares and regions are not given; NULL: they are */
    double r2;       /* NAN: not known */
    ak_importance_parameter
        *parameters; /* the most important first; if `why` is set, as they appear in the trials */
    size_t parameter_count;
    ak_importance_pair pairs[AK_IMPORTANCE_PAIRS_MAX]; /* strongest first */
    size_t pair_count;
    ak_importance_region best, worst;
} ak_importance;

/* Computes the importance from trials of any status. The same trials in the same order give the
   same result. */
ak_status ak_importance_of(ak_importance *out, const ak_trial *trials, size_t count, ak_error *err);
void ak_importance_clear(ak_importance *importance);
/* Returns the JSON of the report and of `stats --json` (docs/formats.md); NULL if memory is out. */
json_t *ak_importance_to_json(const ak_importance *importance);

#endif
