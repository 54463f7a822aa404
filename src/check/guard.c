/*
 * guard.c: red zones and poison.
 *
 * One block of memory, for arguments 0, 1, ...:
 *
 *     | before 0 | array 0 | after 0 | gap | before 1 | array 1 | after 1 | ...
 *
 * The gap aligns the next array and staggers it by GAP_BYTES against the one before.
 */
#include "check/guard.h"

#include <string.h>

enum {
    ALIGN = 256,    /* what kernels are promised, and what a GPU's own allocator gives */
    GAP_BYTES = 256 /* sixteen arrays get sixteen different places in a page */
};

/* Each half, word and double word of it is a NaN in f16, bf16, f32 and f64. */
#define ZONE_PATTERN UINT16_C(0x7FFA)

/* Signalling NaNs: the top bit of the fraction is 0. The last four bits tell the rounds apart. */
#define POISON_F16  UINT16_C(0x7D50)
#define POISON_BF16 UINT16_C(0x7F90)
#define POISON_F32  UINT32_C(0x7FA5C3D0)
#define POISON_F64  UINT64_C(0x7FF5A5C3D2E1F0B0)
#define ROUND_BITS  (AK_GUARD_ROUNDS - 1)

size_t ak_guard_layout(size_t offset[AK_ARGUMENTS_MAX], const size_t *bytes, size_t count)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        size_t room = AK_GUARD_BYTES + GAP_BYTES + ALIGN;
        if (end > SIZE_MAX - room || bytes[i] > SIZE_MAX - AK_GUARD_BYTES - (end + room)) {
            return 0;
        }
        size_t start = end + AK_GUARD_BYTES + (i > 0 ? GAP_BYTES : 0);
        offset[i] = (start + ALIGN - 1) / ALIGN * ALIGN;
        end = offset[i] + bytes[i] + AK_GUARD_BYTES;
    }
    return end;
}

static void paint_zone(unsigned char *zone)
{
    uint16_t pattern[AK_GUARD_BYTES / 2];
    for (size_t i = 0; i < AK_GUARD_BYTES / 2; i++) {
        pattern[i] = ZONE_PATTERN;
    }
    memcpy(zone, pattern, sizeof pattern);
}

static bool zone_is_whole(const unsigned char *zone)
{
    uint16_t first = ZONE_PATTERN;
    /* Begins with the pattern and equals itself moved by one pattern: all of it is the pattern. */
    return memcmp(zone, &first, sizeof first) == 0 &&
           memcmp(zone, zone + sizeof first, AK_GUARD_BYTES - sizeof first) == 0;
}

void ak_guard_paint(void *memory, const size_t *offset, const size_t *bytes, size_t count)
{
    unsigned char *base = memory;
    for (size_t i = 0; i < count; i++) {
        paint_zone(base + offset[i] - AK_GUARD_BYTES);
        paint_zone(base + offset[i] + bytes[i]);
    }
}

size_t ak_guard_damaged(bool *after, const void *memory, const size_t *offset, const size_t *bytes,
                        size_t count)
{
    const unsigned char *base = memory;
    for (size_t i = 0; i < count; i++) {
        bool before_whole = zone_is_whole(base + offset[i] - AK_GUARD_BYTES);
        if (!before_whole || !zone_is_whole(base + offset[i] + bytes[i])) {
            if (after != NULL) {
                *after = before_whole;
            }
            return i;
        }
    }
    return count;
}

void ak_guard_poison(void *array, size_t bytes, ak_dtype dtype, unsigned round)
{
    unsigned tag = round & ROUND_BITS;
    size_t count = bytes / ak_dtype_bytes(dtype);
    switch (dtype) {
    case AK_DTYPE_F16:
    case AK_DTYPE_BF16:
        for (size_t i = 0; i < count; i++) {
            ((uint16_t *)array)[i] =
                (uint16_t)((dtype == AK_DTYPE_F16 ? POISON_F16 : POISON_BF16) | tag);
        }
        break;
    case AK_DTYPE_F32:
    case AK_DTYPE_I32:
        for (size_t i = 0; i < count; i++) {
            ((uint32_t *)array)[i] = POISON_F32 | tag;
        }
        break;
    case AK_DTYPE_F64:
        for (size_t i = 0; i < count; i++) {
            ((uint64_t *)array)[i] = POISON_F64 | tag;
        }
        break;
    }
}

bool ak_guard_is_poison(const void *element, ak_dtype dtype)
{
    uint16_t half;
    uint32_t word;
    uint64_t wide;
    switch (dtype) {
    case AK_DTYPE_F16:
    case AK_DTYPE_BF16:
        memcpy(&half, element, sizeof half);
        return (half & ~ROUND_BITS) == (dtype == AK_DTYPE_F16 ? POISON_F16 : POISON_BF16);
    case AK_DTYPE_F32:
    case AK_DTYPE_I32:
        memcpy(&word, element, sizeof word);
        return (word & ~(uint32_t)ROUND_BITS) == POISON_F32;
    case AK_DTYPE_F64:
        memcpy(&wide, element, sizeof wide);
        return (wide & ~(uint64_t)ROUND_BITS) == POISON_F64;
    }
    return false;
}
