/* rng.h: makes random numbers that a seed repeats: xoshiro256** (Blackman and Vigna 2018), seeded
   by splitmix64. What a candidate must not foresee comes from getrandom instead. */
#ifndef AK_BASE_RNG_H
#define AK_BASE_RNG_H

#include <stdint.h>

typedef struct ak_rng {
    uint64_t state[4];
} ak_rng;

/* Seeds the generator. Equal seeds give equal sequences of ak_rng_next on every machine. */
void ak_rng_seed(ak_rng *rng, uint64_t seed);
/* Returns 64 random bits. */
uint64_t ak_rng_next(ak_rng *rng);
/* Returns a whole number from 0 to bound - 1, all equally likely. `bound` is 1 or more. */
uint64_t ak_rng_below(ak_rng *rng, uint64_t bound);
/* Returns a number from the uniform distribution over [0, 1), a multiple of 2^-53. */
double ak_rng_real(ak_rng *rng);
/* Returns a number from the normal distribution with mean 0 and standard deviation 1. */
double ak_rng_normal(ak_rng *rng);

#endif
