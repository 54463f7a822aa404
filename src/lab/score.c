/* score.c: see score.h. Rounding is half to even, as in Python, and sums are taken in the order in
   which the method states them, so that a plain implementation of the method gives the same
   digits. */
#include "lab/score.h"

#include <math.h>

#define POINTS 1000

size_t ak_score_rank(const ak_recording *recording, double minimised)
{
    size_t low = 0, high = recording->facts.ok;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (recording->ascending[middle] < minimised) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Returns the sum over the repeats of the rank of the best configuration found by `seconds`. A
   repeat that has found nothing counts as `worst`. `at` holds the read position in each trace, so
   `seconds` must not fall from call to call. */
static double sum_ranks(size_t *at, const ak_trace *traces, size_t count, double seconds,
                        size_t worst)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        while (at[i] < traces[i].count && traces[i].items[at[i]].seconds <= seconds) {
            at[i]++;
        }
        sum += (double)(at[i] == 0 ? worst : traces[i].items[at[i] - 1].rank);
    }
    return sum;
}

bool ak_score(double *out, const ak_recording *recording, const ak_trace *traces, size_t count)
{
    const ak_recording_facts *facts = &recording->facts;
    size_t ok = facts->ok, points = 0;
    const double *values = recording->ascending;
    size_t *at = ak_alloc(count, sizeof *at);
    double sum = 0;
    for (size_t k = 0; k < POINTS && at != NULL && facts->seconds_each > 0; k++) {
        double t = facts->first_seconds +
                   (facts->last_seconds - facts->first_seconds) * (double)k / (POINTS - 1);
        double rank = nearbyint(sum_ranks(at, traces, count, t, ok - 1) / (double)count);
        double found = values[rank > (double)(ok - 1) ? ok - 1 : (size_t)rank];
        double base = ak_recording_baseline(recording, t);
        /* Once random search is expected to have reached the optimum, time no longer separates
           searches. Such points do not count; in a small space with a single good configuration,
           these are the last ones. */
        if (base > values[0]) {
            sum += (base - found) / (base - values[0]);
            points++;
        }
    }
    ak_free(at);
    if (points == 0) {
        return false;
    }
    *out = sum / (double)points;
    return true;
}
