/*
 * transfer.h: decides how many of the best configurations of other places (like.h) are tried
 * before the strategy's own proposals, and whether the strategy's model may use the order of the
 * list.
 *
 * Trust is earned in three steps, because a list may mislead:
 *
 *     1. The order. A few trials of the strategy come first, one in six and at most five, as a
 *        control. The first candidate is tried if the list orders these trials about as well as its
 *        own configurations. So most unrelated lists cost nothing. A short unrelated list may pass,
 *        because it predicts even its own order badly, and five trials cannot expose it.
 *     2. The candidate. If it is faster than three of four other trials, of which five or more are
 *        needed, the list is trusted. This step is needed because the order may be right among slow
 *        configurations and say nothing about fast ones; then the best of the list is no better
 *        than a random configuration.
 *     3. The next candidates. They are tried while misses (slower than the best so far) do not
 *        outnumber hits (a new best). Each hit allows another tenth of the budget.
 *
 * A list whose first candidate sets no new best costs only that trial.
 */
#ifndef AK_STRATEGY_TRANSFER_H
#define AK_STRATEGY_TRANSFER_H

#include "strategy/strategy.h"

#define AK_TRANSFER_OTHERS_MAX                                                                     \
    64 /* most trials that a list is compared with; later ones do not count */

struct ak_transfer {
    const ak_like *like; /* NULL if nothing is known of other places */
    /* number of candidates that began, that ended, and that were the best so far when they ended */
    size_t begun, ended, hits;
    enum {
        AK_TRANSFER_OPEN,
        AK_TRANSFER_BEGUN,
        AK_TRANSFER_ENDED,
        AK_TRANSFER_TAKEN /* tried, but not as a candidate */
    } state[AK_LIKE_CANDIDATES_MAX];
    double ms[AK_LIKE_CANDIDATES_MAX]; /* times or costs of ended candidates; HUGE_VAL if failed */
    double best_ms, candidate_ms;      /* best time or cost of all trials, and of the candidates */
    /* the trials that are not candidates: their number, expected ranks by the list, and times or
       costs */
    size_t others;
    double expected[AK_TRANSFER_OTHERS_MAX], others_ms[AK_TRANSFER_OTHERS_MAX];
    bool trusted; /* the model may use the order of the list */
};

static inline size_t ak_within(size_t value, size_t least, size_t most)
{
    return value < least ? least : value > most ? most : value;
}

void ak_transfer_open(ak_transfer *transfer, const ak_like *like);
/* Returns the next candidate to try, or false if there is none now. `budget` is the expected number
   of trials of the whole run; 0 if unknown. */
bool ak_transfer_next(ak_config *out, ak_transfer *transfer, size_t budget);
/* Records a trial; does nothing if there is no list. Must be called once with every trial, whoever
   proposed it, and before the strategy is told; not with the results of rechecks. */
void ak_transfer_observe(ak_transfer *transfer, const ak_observation *observation);
/* Returns true if the configuration was tried as a candidate and has ended. */
bool ak_transfer_tried(const ak_transfer *transfer, const ak_config *config);

#endif
