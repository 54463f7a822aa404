#include "tuner/sizes_run.h"

size_t ak_scale_next(size_t *list, size_t *next, size_t anchor, size_t count, size_t most)
{
    size_t taken = 0;
    while (*next < count && taken < most) {
        list[taken++] = (*next)++;
    }
    if (anchor < count && taken > 0) {
        list[taken++] = anchor;
    }
    return taken;
}

void ak_scale_take(double *ms, const size_t *list, const double *measured, size_t count)
{
    double scale = 1;
    for (size_t i = 0; i < count; i++) {
        if (ms[list[i]] > 0 && measured[i] > 0) {
            scale = ms[list[i]] / measured[i];
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!(ms[list[i]] > 0)) {
            ms[list[i]] = measured[i] * scale;
        }
    }
}

void ak_many_rebase(ak_speed *speed, const ak_speed *over_old)
{
    if (speed->ratio > 0 && over_old->ratio > 0) {
        /* What is worse than the old winner is worse than the new one, too. */
        bool slower = speed->verdict == AK_SPEED_SLOWER;
        *speed = (ak_speed){.ratio = speed->ratio / over_old->ratio,
                            .low = over_old->high > 0 ? speed->low / over_old->high : 0,
                            .high = over_old->low > 0 ? speed->high / over_old->low : 0,
                            .verdict = slower ? AK_SPEED_SLOWER : AK_SPEED_UNDECIDED,
                            .doubt = slower ? AK_DOUBT_NONE : AK_DOUBT_VARIES};
    }
}

/* Converts all speeds with that of the old winner, which took part in the comparison. */
static void rebase_by_speed(ak_scale_speeds *known, const ak_speed *old)
{
    const ak_speed over_old = {.ratio = 1 / old->ratio,
                               .low = old->high > 0 ? 1 / old->high : 0,
                               .high = old->low > 0 ? 1 / old->low : 0};
    for (size_t i = 0; i < known->count; i++) {
        ak_many_rebase(&known->speeds[i], &over_old);
    }
    known->speeds[known->winner] = *old;
}

/* Converts all speeds by the costs of both winners, because the old one failed in this comparison.
   Nothing is decided about them then. */
static void rebase_by_cost(ak_scale_speeds *known, size_t winner)
{
    const ak_speed over_old = {.ratio = known->costs[known->winner] / known->costs[winner]};
    for (size_t i = 0; i < known->count; i++) {
        if (known->speeds[i].ratio > 0) {
            ak_many_rebase(&known->speeds[i], &over_old);
            known->speeds[i].verdict = AK_SPEED_UNDECIDED;
            known->speeds[i].doubt = AK_DOUBT_VARIES;
        }
    }
}

void ak_scale_take_speeds(ak_scale_speeds *known, const size_t *list, const ak_speed *measured,
                          size_t count, size_t best)
{
    const size_t winner = list[best];
    if (known->winner < known->count && known->winner != winner) {
        const ak_speed *old = NULL;
        for (size_t i = 0; i < count; i++) {
            old = list[i] == known->winner && measured[i].ratio > 0 ? &measured[i] : old;
        }
        if (old != NULL) {
            rebase_by_speed(known, old);
        } else {
            rebase_by_cost(known, winner);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!(known->speeds[list[i]].ratio > 0)) {
            known->speeds[list[i]] = measured[i];
        }
    }
    known->winner = winner;
}
