/*
 * region.h: the part of the tried configurations, in words of one or two conditions, in which
 * trials are fastest or slowest: "UNROLL=4 and KC>=256: median 1.9 times as fast as the rest".
 *
 * Conditions are NAME=value and, for numbers, NAME>=value and NAME<=value. Those are chosen that
 * separate best: the difference of the means of log time inside and outside, weighted by the square
 * root of inside * outside / all (its square is the variance that the split of a tree would
 * explain). So a few lucky trials do not make a region, and neither does a trifle that many share.
 * What is reported is the ratio of the medians.
 */
#ifndef AK_REPORT_REGION_H
#define AK_REPORT_REGION_H

#include "model/feature.h"
#include "report/impact.h"

typedef struct ak_region_data {
    const ak_impact_parameter *parameters; /* indexed by the features' `parameter` */
    const ak_features *features;
    const uint16_t *rows; /* [trial][feature]: levels */
    const double *y;      /* log times */
    size_t count;
} ak_region_data;

/* The fastest region, or the slowest. `out->text` stays NULL if nothing stands out. */
ak_status ak_region_find(ak_impact_region *out, const ak_region_data *data, bool fastest,
                         ak_error *err);

#endif
