/* referee_bits.h: defines what cuda_referee.cu needs when the emulator runs it: numbers as bits
   and back. It includes simt.h. */
#ifndef AK_TESTS_SIMT_REFEREE_BITS_H
#define AK_TESTS_SIMT_REFEREE_BITS_H

#include "simt.h"

static inline uint64_t bits_of(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    return u;
}

static inline double from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, 8);
    return x;
}

#define from_bits_f32 __uint_as_float

#endif
