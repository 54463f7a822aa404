/*
 * walk.c: walks through a space in random order without a list.
 *
 * A Feistel network permutes the numbers of 2b bits, whatever its round function is. Numbers
 * beyond the space are permuted again until they fall inside ("cycle walking", Black and Rogaway,
 * "Ciphers with arbitrary finite domains", 2002). The result is a permutation of 0..count-1 that
 * is evaluated one element at a time.
 */
#include "strategy/walk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"

ak_status ak_walk_open(ak_walk *walk, const ak_space *space, uint64_t seed, ak_error *err)
{
    *walk = (ak_walk){.space = space, .count = ak_space_count(space), .half_bits = 1};
    while (walk->half_bits < 32 && walk->count > UINT64_C(1) << (2 * walk->half_bits)) {
        walk->half_bits++;
    }
    ak_rng rng;
    ak_rng_seed(&rng, seed);
    for (size_t i = 0; i < AK_COUNT(walk->key); i++) {
        walk->key[i] = ak_rng_next(&rng);
    }
    walk->proposed = ak_set_new();
    walk->observed = ak_set_new();
    return ak_stored(walk->proposed != NULL && walk->observed != NULL, err);
}

void ak_walk_close(ak_walk *walk)
{
    ak_set_free(walk->proposed);
    ak_set_free(walk->observed);
    walk->proposed = NULL;
    walk->observed = NULL;
}

bool ak_walk_seen(const ak_walk *walk, const ak_config *config)
{
    uint64_t key = ak_config_key(walk->space, config);
    return ak_set_has(walk->proposed, key) || ak_set_has(walk->observed, key);
}

ak_status ak_walk_propose(ak_walk *walk, const ak_config *config, ak_error *err)
{
    AK_DO(ak_set_add(NULL, walk->proposed, ak_config_key(walk->space, config), err));
    walk->outstanding++;
    return AK_OK;
}

ak_status ak_walk_observe(ak_walk *walk, const ak_config *config, ak_error *err)
{
    bool fresh = false;
    uint64_t key = ak_config_key(walk->space, config);
    AK_DO(ak_set_add(&fresh, walk->observed, key, err));
    if (fresh && ak_set_has(walk->proposed, key)) {
        assert(walk->outstanding > 0);
        walk->outstanding--;
    }
    return AK_OK;
}

static uint64_t permute(const ak_walk *walk, uint64_t index)
{
    uint64_t mask = (UINT64_C(1) << walk->half_bits) - 1;
    do {
        uint64_t left = index >> walk->half_bits;
        uint64_t right = index & mask;
        for (size_t i = 0; i < AK_COUNT(walk->key); i++) {
            uint64_t round[2] = {walk->key[i], right};
            uint64_t mixed = left ^ (ak_hash64(round, sizeof round) & mask);
            left = right;
            right = mixed;
        }
        index = left << walk->half_bits | right;
    } while (index >= walk->count);
    return index;
}

bool ak_walk_next(ak_config *out, ak_walk *walk)
{
    while (walk->position < walk->count) {
        ak_config config;
        ak_space_at(&config, walk->space, permute(walk, walk->position++));
        if (!ak_walk_seen(walk, &config)) {
            *out = config;
            return true;
        }
    }
    return false;
}

static double time_of(const double *ms, size_t row, size_t index)
{
    const void *at = (const char *)ms + index * row;
    return *(const double *)at;
}

void ak_rank_insert(size_t *list, size_t *count, size_t max, size_t index, const double *ms,
                    size_t row)
{
    double mine = time_of(ms, row, index);
    size_t at = *count;
    while (at > 0 && mine < time_of(ms, row, list[at - 1])) {
        at--;
    }
    if (at == max || !(mine < HUGE_VAL)) {
        return;
    }
    *count += *count < max;
    memmove(list + at + 1, list + at, (*count - 1 - at) * sizeof *list);
    list[at] = index;
}
