/*
 * inputs.h: what a kernel is fed: seeded random arrays, rounded to the dtype under test and kept as
 * double beside it, so that the reference sees exactly the numbers that the candidate sees.
 */
#ifndef AK_CHECK_INPUTS_H
#define AK_CHECK_INPUTS_H

#include "problem/problem.h"

/* Fills `count` elements. Each block of 4096 elements has its own stream derived from (seed,
   stream, block), so the content does not depend on how the work is split. */
void ak_inputs_fill(double *out, size_t count, const ak_argument_spec *argument, ak_dtype dtype,
                    uint64_t seed, uint64_t stream);
/* Elements first .. first + count of the same array, for threads that each fill a part; `first` is
   a multiple of AK_INPUTS_BLOCK. */
#define AK_INPUTS_BLOCK 4096
void ak_inputs_fill_part(double *out, size_t first, size_t count, const ak_argument_spec *argument,
                         ak_dtype dtype, uint64_t seed, uint64_t stream);
/* To and from the dtype's bytes, round to nearest even. */
void ak_inputs_encode(void *out, const double *values, size_t count, ak_dtype dtype);
void ak_inputs_decode(double *out, const void *bytes, size_t count, ak_dtype dtype);

#endif
