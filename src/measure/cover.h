/*
 * cover.h: chooses a few configurations for many sizes.
 *
 * Given the times of some configurations at some sizes, this module chooses at most k
 * configurations. Each size is then served by the fastest of those. The loss of a size is the time
 * of that configuration over the time of the fastest of all configurations, so it is 1 or more. The
 * geometric mean of the losses over the sizes is minimised; of choices with equal means, the one
 * with the lower loss of the worst size wins. Since only ratios at the same size count, other costs
 * can take the place of times, and so can losses.
 *
 * In logarithms this is the k-median problem, which is NP-hard. Up to AK_COVER_SUBSETS_MAX subsets,
 * all are tried and the answer is exact. Beyond that, configurations are added one by one and then
 * exchanged as long as an exchange helps (Teitz and Bart, Operations Research 16, 1968); the answer
 * is then good but not proven to be the best, and it may leave a size unserved although k
 * configurations serve every size.
 *
 * Serving more sizes always counts for more than losing less.
 */
#ifndef AK_MEASURE_COVER_H
#define AK_MEASURE_COVER_H

#include "base/status.h"

/* Trying this number of subsets takes about a tenth of a second at 64 sizes. */
#define AK_COVER_SUBSETS_MAX 200000

/* The loss of a subset as a whole, or of a single configuration. */
typedef struct ak_loss {
    double geomean, worst; /* ratios; 1: nothing is lost */
    size_t worst_at;       /* index of the worst size */
    /* sizes that no chosen configuration can serve; the ratios leave them out */
    size_t unserved;
} ak_loss;

typedef struct ak_cover {
    size_t *chosen; /* configurations, ascending; at most k, only those that serve a size */
    size_t count;
    size_t *serves; /* for each size, the index in `chosen` of its configuration */
    bool exact;     /* all subsets were tried */
    ak_loss loss;
} ak_cover;

/* Chooses at most k configurations. ms[c * sizes + s] is the time of configuration c at size s,
   0 where it cannot be used. Returns AK_INVALID if there is nothing to choose from, and
   AK_NOT_FOUND if it found no k configurations that serve every size; *out then has those that
   serve most sizes, and `serves` means nothing for the others. The caller frees the result with
   ak_cover_clear. */
ak_status ak_cover_choose(ak_cover *out, const double *ms, size_t configs, size_t sizes, size_t k,
                          ak_error *err);
void ak_cover_clear(ak_cover *cover);

/* Computes the loss if every size is served by the best of these configurations. If none serves
   any size, the ratios are 0. */
void ak_cover_loss(ak_loss *out, const double *ms, size_t configs, size_t sizes,
                   const size_t *chosen, size_t count);

#endif
