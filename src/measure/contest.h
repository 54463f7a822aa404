/*
 * contest.h: decides which candidate of a comparison is the best, and in which order they stand.
 *
 * Speeds are paired by rounds and leave out disturbed rounds; costs (times) are medians of all
 * rounds. On a busy machine the two can disagree, so what the speeds have decided comes first:
 * candidate A beats B if, against the same opponent, the verdict on A is better than that on B
 * (faster, then a tie or the opponent itself, then slower), or if the whole interval of A lies
 * above that of B. A candidate that is faster also beats one whose verdict is undecided, unless the
 * whole interval of that one lies above its own. An undecided verdict beats nobody. The opponents
 * are the default and the reference; if they contradict each other, the default counts.
 *
 * The best is the one with the lowest cost among those that nobody beats.
 */
#ifndef AK_MEASURE_CONTEST_H
#define AK_MEASURE_CONTEST_H

#include "base/status.h"

/* Most candidates of an order: a comparison has fewer. */
#define AK_CONTEST_MAX 64

typedef struct ak_contender {
    double cost;           /* at most 0 if it was not measured; it then takes no part */
    ak_speed over_default; /* ratio 0: not known, here and below */
    ak_speed over_reference;
} ak_contender;

/* Returns true if the speeds have decided that `a` is better than `b`. */
bool ak_contest_beats(const ak_contender *a, const ak_contender *b);
/* Returns the index of the best; `count` if none was measured. */
size_t ak_contest_best(const ak_contender *list, size_t count);
/* Writes the indices of those that were measured, at most AK_CONTEST_MAX, the best first: each is
   the best of those after it. Returns how many there are. */
size_t ak_contest_order(size_t *order, const ak_contender *list, size_t count);

#endif
