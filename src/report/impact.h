/*
 * impact.h: which parameters make the difference, as far as the trials tell.
 *
 * A random forest (model/forest.h) learns the logarithm of the times of the successful trials; what
 * it says about parameters and pairs of them is a functional analysis of variance: shares of the
 * variance of log time over the product of all values that were seen, interactions apart. How much
 * of the variance it explains at all, on trials that it did not learn from, stands next to them
 * (out-of-bag R2). Where that is less than AK_IMPACT_R2_MIN, or there are fewer than
 * AK_IMPACT_TRIALS_MIN trials, shares would describe noise and are not given.
 *
 * Times of several tasks (sizes, devices, environments) are compared by their ratio to the mean of
 * their own task. A search looks longer where it is fast, so the shares are of where it looked.
 */
#ifndef AK_REPORT_IMPACT_H
#define AK_REPORT_IMPACT_H

#include "base/json.h"

#define AK_IMPACT_TRIALS_MIN 20
#define AK_IMPACT_R2_MIN     0.1
#define AK_IMPACT_PAIRS_MAX  5

/* How often a value was tried, and how often that worked. */
typedef struct ak_impact_value {
    char *text;
    size_t tried, ok;
} ak_impact_value;

typedef struct ak_impact_parameter {
    char *name;
    ak_impact_value *values; /* numbers in their order, texts by the alphabet */
    size_t value_count;
    double share;  /* of the variance, by itself */
    double shared; /* the same with its part in the interactions of two */
} ak_impact_parameter;

typedef struct ak_impact_pair {
    size_t a, b;  /* parameters */
    double share; /* what both do together beyond what each does */
} ak_impact_pair;

/* Trials that have something in common: "UNROLL=4 and KC>=256". */
typedef struct ak_impact_region {
    char *text;   /* NULL: nothing stands out */
    double ratio; /* median of the others over the median here: above 1 it is faster here */
    size_t trials, others;
} ak_impact_region;

typedef struct ak_impact {
    size_t trials;   /* that were successful and could be read */
    size_t learned;  /* of these, that were looked at: all, or every nth of more than 2000 */
    size_t left_out; /* trials that have other parameters */
    size_t tasks;
    const char *why;                 /* why shares and regions are not given; NULL: they are */
    double r2;                       /* NAN: not known */
    ak_impact_parameter *parameters; /* the most important first; as declared where `why` is set */
    size_t parameter_count;
    ak_impact_pair pairs[AK_IMPACT_PAIRS_MAX]; /* strongest first */
    size_t pair_count;
    ak_impact_region best, worst;
} ak_impact;

/* `trials` of any status, in any order; the same trials give the same answer. */
ak_status ak_impact_of(ak_impact *out, const ak_trial *trials, size_t count, ak_error *err);
void ak_impact_clear(ak_impact *impact);
/* As the report and `stats --json` have it (docs/formats.md). NULL: no memory. */
json_t *ak_impact_to_json(const ak_impact *impact);

#endif
