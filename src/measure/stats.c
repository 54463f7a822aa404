/*
 * stats.c: order statistics.
 *
 * Whatever the distribution of run times, each of n independent samples is below the median of that
 * distribution with probability 1/2. So the median lies between the r-th smallest and the r-th
 * largest sample unless fewer than r fall on one side, which has the probability
 * 2 * P(Binomial(n, 1/2) < r). The largest r for which this is at most 5 % gives the interval (Hahn
 * and Meeker, "Statistical Intervals", 1991, chapter 5: distribution-free intervals).
 */
#include "measure/stats.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum {
    EXACT_MAX = 60 /* for more samples the normal approximation differs by at most one rank */
};

size_t ak_stats_interval_rank(size_t count)
{
    if (count < AK_STATS_INTERVAL_MIN) {
        return 1;
    }
    if (count > EXACT_MAX) {
        /* The binomial distribution has mean n/2 and deviation sqrt(n)/2; 0.5 corrects for
           continuity. */
        double rank = 0.5 * ((double)count + 1.0 - 1.959963984540054 * sqrt((double)count));
        return (size_t)rank;
    }
    double tail = 0.0;
    double term = ldexp(1.0, -(int)count); /* P(X = below) */
    size_t below = 0;
    while (tail + term <= 0.025) {
        tail += term;
        term *= (double)(count - below) / (double)(below + 1);
        below++;
    }
    return below;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void ak_stats_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare_doubles);
}

double ak_stats_median(const double *sorted, size_t count)
{
    assert(count > 0);
    double upper = sorted[count / 2];
    return count % 2 == 1 ? upper : 0.5 * (sorted[count / 2 - 1] + upper);
}

static void set_nan(ak_stats *out, size_t count)
{
    double nan = (double)NAN;
    *out = (ak_stats){nan, nan, nan, nan, nan, nan, count};
}

/* Sorts the values and computes their statistics. */
static void describe(ak_stats *out, double *values, size_t count)
{
    double sum = 0.0;
    for (size_t i = 0; i < count; i++) {
        sum += values[i];
    }
    if (count == 0 || isnan(sum)) {
        set_nan(out, count);
        return;
    }
    ak_stats_sort(values, count);
    size_t rank = ak_stats_interval_rank(count);
    assert(rank >= 1 && 2 * rank <= count + 1); /* low is not above high */
    *out = (ak_stats){.median = ak_stats_median(values, count),
                      .low = values[rank - 1],
                      .high = values[count - rank],
                      .min = values[0],
                      .max = values[count - 1],
                      .mean = sum / (double)count,
                      .count = count};
}

void ak_stats_of(ak_stats *out, const double *samples, size_t count)
{
    double room[AK_STATS_INLINE];
    double *values = count <= AK_STATS_INLINE ? room : ak_alloc(count, sizeof *values);
    if (values == NULL) {
        set_nan(out, count);
        return;
    }
    if (count > 0) {
        memcpy(values, samples, count * sizeof *values);
    }
    describe(out, values, count);
    if (values != room) {
        ak_free(values);
    }
}
