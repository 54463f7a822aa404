/*
 * region.h: finds one or two conditions on parameters under which trials are fastest or slowest
 * (with an objective other than the time, best or worst): "UNROLL=4 and KC>=256: median 1.9x faster
 * than the rest".
 *
 * Conditions are NAME=value and, for numbers, NAME>=value and NAME<=value. The conditions are
 * chosen so that they maximise the difference of the means of log time inside and outside, weighted
 * by the square root of inside * outside / all. (The square of this score is the variance that a
 * tree would explain by this split.) The weight keeps a few lucky trials, or a small difference
 * that many share, from winning. The reported figure is the ratio of the medians.
 */
#ifndef AK_REPORT_REGION_H
#define AK_REPORT_REGION_H

#include "model/feature.h"

/* How often a value was tried, and how often that worked. */
typedef struct ak_importance_value {
    char *text;
    size_t tried, ok;
} ak_importance_value;

typedef struct ak_importance_parameter {
    char *name;
    ak_importance_value *values; /* numbers in ascending, texts in alphabetical order */
    size_t value_count;
    double share;  /* share of the variance that the parameter explains alone */
    double shared; /* `share` plus the shares of those interactions with single other parameters
                      that were computed */
} ak_importance_parameter;

/* Trials that share one or two conditions: "UNROLL=4 and KC>=256". */
typedef struct ak_importance_region {
    char *text;   /* NULL: nothing stands out */
    double ratio; /* median of the others over the median here: above 1 it is faster here */
    size_t trials, others;
} ak_importance_region;

typedef struct ak_region_data {
    const ak_importance_parameter *parameters; /* indexed by the features' `parameter` */
    const ak_features *features;
    const uint16_t *rows; /* [trial][feature]: levels */
    const double *y;      /* log times or costs, less the mean of the task */
    size_t count;
} ak_region_data;

/* Finds the fastest region or, if not `fastest`, the slowest. `out->text` stays NULL if nothing
   stands out. */
ak_status ak_region_find(ak_importance_region *out, const ak_region_data *data, bool fastest,
                         ak_error *err);

#endif
