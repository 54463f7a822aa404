#include "measure/contest.h"

static bool is_known(const ak_speed *speed)
{
    return speed->ratio > 0 && speed->low > 0;
}

/* Verdicts from worse to better. OPEN (undecided) is not part of this order. */
typedef enum standing { OPEN, BEHIND, LEVEL, AHEAD } standing;

static standing standing_of(const ak_speed *speed)
{
    switch (speed->verdict) {
    case AK_SPEED_FASTER:
        return AHEAD;
    case AK_SPEED_SLOWER:
        return BEHIND;
    case AK_SPEED_TIE:
        return LEVEL;
    case AK_SPEED_NONE: /* 1 and 1: the opponent itself; otherwise nothing is known */
        return speed->low == 1 && speed->high == 1 ? LEVEL : OPEN;
    case AK_SPEED_UNDECIDED:
        break;
    }
    return OPEN;
}

static bool better(const ak_speed *a, const ak_speed *b)
{
    if (!is_known(a) || !is_known(b)) {
        return false;
    }
    standing mine = standing_of(a), its = standing_of(b);
    if (mine == OPEN || its == OPEN) {
        return mine != OPEN && (a->low > b->high || (mine == AHEAD && !(b->low > a->high)));
    }
    return mine != its ? mine > its : a->low > b->high;
}

/* Returns whether the speeds have decided that `a` is better than `b`. */
static bool beats(const ak_contender *a, const ak_contender *b)
{
    return better(&a->over_default, &b->over_default) ||
           (!better(&b->over_default, &a->over_default) &&
            better(&a->over_reference, &b->over_reference));
}

static bool is_beaten(const ak_contender *list, size_t count, const bool *out, size_t which)
{
    for (size_t i = 0; i < count; i++) {
        if (i != which && !out[i] && list[i].cost > 0 && beats(&list[i], &list[which])) {
            return true;
        }
    }
    return false;
}

/* Returns the best of those that are not `out`; `count` if there is none. Opponents that contradict
   each other may leave nobody unbeaten; then the lowest cost counts. */
static size_t best_of(const ak_contender *list, size_t count, const bool *out)
{
    size_t best = count;
    for (int unbeaten = 1; unbeaten >= 0 && best == count; unbeaten--) {
        for (size_t i = 0; i < count; i++) {
            if (!out[i] && list[i].cost > 0 && (best == count || list[i].cost < list[best].cost) &&
                (unbeaten == 0 || !is_beaten(list, count, out, i))) {
                best = i;
            }
        }
    }
    return best;
}

size_t ak_contest_order(size_t *order, const ak_contender *list, size_t count)
{
    bool out[AK_CONTEST_MAX] = {false};
    size_t most = count < AK_CONTEST_MAX ? count : AK_CONTEST_MAX, placed = 0;
    for (size_t best; (best = best_of(list, most, out)) < most; placed++) {
        order[placed] = best;
        out[best] = true;
    }
    return placed;
}
