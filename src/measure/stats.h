/* stats.h: medians and their intervals: distribution-free, because run times are skewed. */
#ifndef AK_MEASURE_STATS_H
#define AK_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ak_stats {
    double median, low, high; /* 95 % interval of the median, from order statistics (binomial) */
    double min, max, mean;
    size_t count;
} ak_stats;

/* `samples` is not changed. Fewer than 6 samples: the interval is min..max. Count 0, a NaN among
   the samples, or no memory (needed above AK_STATS_INLINE samples only): all NaN. */
#define AK_STATS_INLINE 512
void ak_stats_of(ak_stats *out, const double *samples, size_t count);

/* Paired ratios a[i]/b[i] (speed of b over a when they are times): median and a 95 % bootstrap
   interval over the pairs. Fewer than 6 pairs: the interval is min..max. The same seed gives the
   same interval. */
void ak_stats_ratio(ak_stats *out, const double *numerator, const double *denominator, size_t count,
                    uint64_t seed);
/* NaN if there is no value or one is not positive. */
double ak_stats_geomean(const double *values, size_t count);

/* The interval runs from the rank-th smallest to the rank-th largest sample; ranks count from 1.
   For tests and for people who want to check. */
size_t ak_stats_interval_rank(size_t count);

#endif
