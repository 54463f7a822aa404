/*
 * contest.h: finds the best candidate of a comparison, and ranks the candidates.
 *
 * Speeds are paired by rounds and leave out disturbed rounds if enough others remain (verdict.h);
 * costs (times, unless the objective is another) are medians of all rounds. On a busy machine
 * speeds and costs can disagree, so what the speeds have decided comes first:
 * candidate A beats B if, against the same opponent, the verdict on A is better than that on B
 * (faster, then a tie or the opponent itself, then slower), or if the verdicts are equal and the
 * whole interval of A lies above that of B. If B is undecided, A beats it by such an interval, or
 * by being faster unless the whole interval of B lies above that of A. An undecided candidate beats
 * nobody. The opponents are the default and the reference; if they contradict each other, the
 * default counts.
 *
 * The best is the candidate with the lowest cost among those that nobody beats or, if each is
 * beaten by another, among all.
 */
#ifndef AK_MEASURE_CONTEST_H
#define AK_MEASURE_CONTEST_H

#include "base/status.h"

/* At most this many candidates are ranked; no comparison has more. */
#define AK_CONTEST_MAX 64

typedef struct ak_contender {
    double cost;           /* at most 0 if it was not measured; it then takes no part */
    ak_speed over_default; /* this speed and the next decide nothing if `ratio` or `low` is 0 */
    ak_speed over_reference;
} ak_contender;

/* Writes the indices of the measured candidates among the first AK_CONTEST_MAX, the best first:
   each is the best of those not yet listed. Returns how many there are. */
size_t ak_contest_order(size_t *order, const ak_contender *list, size_t count);

#endif
