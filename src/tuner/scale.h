/*
 * scale.h: compares the times (or costs) of many configurations at one size over several
 * comparisons.
 *
 * A comparison takes a limited number of candidates, so more of them are measured in several
 * comparisons, and the machine may be slower in one than in another. Therefore the best
 * configuration so far, the anchor, takes part in each later comparison; the ratio of its known to
 * its new time scales the new times to those of the first comparison.
 */
#ifndef AK_TUNER_SCALE_H
#define AK_TUNER_SCALE_H

#include <stddef.h>

/* Lists the configurations of the next comparison: at most `most`, beginning with *next, and then
   the anchor. Advances *next. `anchor` is `count` if nothing has worked so far. `list` has room for
   most + 1 indices. Returns the number of indices. */
size_t ak_scale_next(size_t *list, size_t *next, size_t anchor, size_t count, size_t most);
/* Stores the times of one comparison, scaled by the anchor, for configurations that have no time
   yet. measured[i] is the time of list[i], 0 if it failed. */
void ak_scale_take(double *ms, const size_t *list, const double *measured, size_t count);

#endif
