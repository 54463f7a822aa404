#include "base/rng.h"

#include <assert.h>
#include <math.h>

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void ak_rng_seed(ak_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        rng->state[i] = splitmix(&seed);
    }
}

uint64_t ak_rng_next(ak_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

uint64_t ak_rng_below(ak_rng *rng, uint64_t bound)
{
    assert(bound >= 1);
    /* Numbers below 2^64 mod `bound` are drawn again, because low results would otherwise be more
       likely. */
    uint64_t threshold = (0 - bound) % bound;
    uint64_t x;
    do {
        x = ak_rng_next(rng);
    } while (x < threshold);
    return x % bound;
}

double ak_rng_real(ak_rng *rng)
{
    return (double)(ak_rng_next(rng) >> 11) * 0x1p-53;
}

double ak_rng_normal(ak_rng *rng)
{
    /* This is the method of Box and Muller (1958). Its second value is dropped, so that `state`
       stays the generator's only state. */
    double u = 1.0 - ak_rng_real(rng);
    double v = ak_rng_real(rng);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
