/*
 * walk.h: the memory that most strategies need, and a walk through the whole space in random
 * order.
 *
 * A configuration is seen if it was proposed or observed; it is not proposed again. It is
 * outstanding if this strategy proposed it and has not observed its result yet.
 */
#ifndef AK_STRATEGY_WALK_H
#define AK_STRATEGY_WALK_H

#include "base/map.h"
#include "strategy/strategy.h"

typedef struct ak_walk {
    const ak_space *space;
    ak_set *proposed, *observed;
    size_t outstanding;
    uint64_t count, position; /* size of the space; next position in the random order */
    unsigned half_bits;
    uint64_t key[4];
} ak_walk;

ak_status ak_walk_open(ak_walk *walk, const ak_space *space, uint64_t seed, ak_error *err);
void ak_walk_close(ak_walk *walk); /* also after a failed open */

bool ak_walk_seen(const ak_walk *walk, const ak_config *config);
/* The strategy must call ak_walk_propose for each configuration that it hands out, and
   ak_walk_observe for each observation. */
ak_status ak_walk_propose(ak_walk *walk, const ak_config *config, ak_error *err);
ak_status ak_walk_observe(ak_walk *walk, const ak_config *config, ak_error *err);

/* Gives the next unseen configuration of the random order. Returns false if all were seen. Each
   unseen configuration is equally likely to be next. The order itself takes no memory, whatever the
   size of the space. */
bool ak_walk_next(ak_config *out, ak_walk *walk);

/* Inserts the index of a row into a list of at most `max` indices, the best row first. `ms` points
   to the time or cost of row 0, and the rows are `row` bytes apart. A failure, which has HUGE_VAL,
   is left out. */
void ak_rank_insert(size_t *list, size_t *count, size_t max, size_t index, const double *ms,
                    size_t row);

#endif
