/*
 * guard.h: buffers that tell on a kernel. Each array sits between two red zones of a known pattern;
 * outputs are poisoned before every launch with a NaN pattern that differs between rounds; inputs
 * are hashed.
 *
 * The zones' pattern reads as NaN in every floating dtype: a kernel that reads beyond an array
 * spoils its own result. A zone reaches from the last byte of its array, not from the next aligned
 * one.
 */
#ifndef AK_CHECK_GUARD_H
#define AK_CHECK_GUARD_H

#include "problem/problem.h"

#define AK_GUARD_BYTES 4096 /* a page on either side: catches strides of a row or less */

/* Layout of arguments in one block of memory: offset of each array, 256-byte aligned,
   red zones before and after each. Returns the bytes of the whole, 0 if they exceed size_t. Offsets
   differ modulo a page, so that arrays of a power of two do not compete for the same cache sets. */
size_t ak_guard_layout(size_t offset[AK_ARGUMENTS_MAX], const size_t *bytes, size_t count);
/* Writes all red zones. */
void ak_guard_paint(void *memory, const size_t *offset, const size_t *bytes, size_t count);
/* Index of the first argument with a damaged zone, or `count`. `after`: which side. */
size_t ak_guard_damaged(bool *after, const void *memory, const size_t *offset, const size_t *bytes,
                        size_t count);
/* A signalling pattern that reads as NaN in every floating dtype (as a wild integer in i32). There
   are AK_GUARD_ROUNDS of them; rounds wrap. */
#define AK_GUARD_ROUNDS 16
void ak_guard_poison(void *array, size_t bytes, ak_dtype dtype, unsigned round);
bool ak_guard_is_poison(const void *element, ak_dtype dtype);

#endif
