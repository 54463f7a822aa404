/* rng.h: all randomness: xoshiro256** (Blackman, Vigna 2018), seeded by splitmix64. */
#ifndef AK_BASE_RNG_H
#define AK_BASE_RNG_H

#include <stdint.h>

typedef struct ak_rng {
    uint64_t state[4];
} ak_rng;

void ak_rng_seed(ak_rng *rng, uint64_t seed);
uint64_t ak_rng_next(ak_rng *rng);
uint64_t ak_rng_below(ak_rng *rng, uint64_t bound); /* 0..bound-1 without bias; bound >= 1 */
double ak_rng_real(ak_rng *rng);                    /* [0, 1) */
double ak_rng_normal(ak_rng *rng);                  /* mean 0, deviation 1 */

#endif
