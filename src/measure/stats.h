/* stats.h: computes medians and their confidence intervals. The intervals assume no distribution,
   because run times are skewed. */
#ifndef AK_MEASURE_STATS_H
#define AK_MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ak_stats {
    /* the median and its 95 % interval, from order statistics; from ak_verdict_ratio, the mean of
       groups, trimmed if there are six or more, and its interval (verdict.h) */
    double median, low, high;
    double min, max, mean;
    size_t count;
} ak_stats;

/* Computes the statistics of samples, which are not changed. With fewer than AK_STATS_INTERVAL_MIN
   samples, whose range covers the median with a probability below 95 %, the interval is min..max.
   All members but `count` are NaN if there is no sample, if one is NaN, or if there is no memory,
   which only more than AK_STATS_INLINE samples need. */
#define AK_STATS_INLINE       512
#define AK_STATS_INTERVAL_MIN 6 /* from 6 samples on 2 * 2^-n is below 5 % */
void ak_stats_of(ak_stats *out, const double *samples, size_t count);

/* Sorts values, the smallest first. */
void ak_stats_sort(double *values, size_t count);
/* Returns the median of sorted values, of which there is at least one. */
double ak_stats_median(const double *sorted, size_t count);

/* Returns the rank r of the ends of the interval, which runs from the r-th smallest to the r-th
   largest sample, counted from 1. The function is public so that tests and people can check it. */
size_t ak_stats_interval_rank(size_t count);

#endif
