/*
 * cover.h: a few configurations for many sizes.
 *
 * Given the times of some configurations at some sizes, which k of them lose least, when each size
 * is served by the fastest of the k, against serving each size by the fastest of all? The loss of a
 * size is a ratio of times, 1 or more; what is minimised is its geometric mean over the sizes, then
 * the worst size.
 *
 * In logarithms this is the k-median problem, which is NP-hard. Up to AK_COVER_SUBSETS_MAX
 * subsets all of them are tried and the answer is exact; beyond, configurations are added one by
 * one and then exchanged as long as an exchange helps (Teitz and Bart, Operations Research 16,
 * 1968), and the answer is good but not proven.
 */
#ifndef AK_MEASURE_COVER_H
#define AK_MEASURE_COVER_H

#include "base/status.h"

/* About a tenth of a second of work at 64 sizes. */
#define AK_COVER_SUBSETS_MAX 200000

/* Of the choice as a whole, or of a single configuration. */
typedef struct ak_loss {
    double geomean, worst; /* ratios, 1: nothing is lost */
    size_t worst_at;       /* a size */
    size_t unserved;       /* sizes that nothing chosen can serve; they are in no figure */
} ak_loss;

typedef struct ak_cover {
    size_t *chosen; /* configurations, ascending; at most k, only those that serve a size */
    size_t count;
    size_t *serves; /* for each size, index in `chosen` */
    bool exact;
    ak_loss loss;
} ak_cover;

/* ms[c * sizes + s] is the time of configuration c at size s, 0 where it cannot be used. AK_INVALID
   if there is nothing to choose from, AK_NOT_FOUND if no k configurations that serve every size
   were found. */
ak_status ak_cover_choose(ak_cover *out, const double *ms, size_t configs, size_t sizes, size_t k,
                          ak_error *err);
void ak_cover_clear(ak_cover *cover);

/* What serving every size by one of these configurations loses. Where nothing is served, the
   figures are 0. */
void ak_cover_loss(ak_loss *out, const double *ms, size_t configs, size_t sizes,
                   const size_t *chosen, size_t count);

#endif
