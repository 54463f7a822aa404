/*
 * walk.h: what every strategy has to remember, and a way through all of a space in random order.
 *
 * Seen are the configurations that were proposed or observed; none of them is proposed again.
 * Outstanding are those that this strategy proposed and nobody has reported on yet.
 */
#ifndef AK_STRATEGY_WALK_H
#define AK_STRATEGY_WALK_H

#include "base/map.h"
#include "strategy/strategy.h"

typedef struct ak_walk {
    const ak_space *space;
    ak_set *proposed, *observed;
    size_t outstanding;
    uint64_t count, position; /* of the random order: the next place */
    unsigned half_bits;
    uint64_t key[4];
} ak_walk;

ak_status ak_walk_open(ak_walk *walk, const ak_space *space, uint64_t seed, ak_error *err);
void ak_walk_close(ak_walk *walk); /* also after a failed open */

bool ak_walk_seen(const ak_walk *walk, const ak_config *config);
/* To be called for each configuration that is handed out, and for each observation. */
ak_status ak_walk_propose(ak_walk *walk, const ak_config *config, ak_error *err);
ak_status ak_walk_observe(ak_walk *walk, const ak_config *config, ak_error *err);

/* The next configuration of the random order that was not seen; false when all were. Each is
   equally likely to be next. Needs no memory, whatever the size of the space. */
bool ak_walk_next(ak_config *out, ak_walk *walk);

#endif
