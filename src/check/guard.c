/*
 * guard.c: see guard.h.
 *
 * Between two arrays lie the zone after the first, a gap, and the zone before the second. The gap
 * aligns the second array and shifts it by GAP_BYTES, so that arrays of whole pages begin at
 * different places in a page. It is painted as a part of the zone after the first.
 */
#include "check/guard.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    ALIGN = 256,     /* alignment that kernels may rely on; a GPU's own allocator gives as much */
    GAP_BYTES = 256, /* sixteen arrays of whole pages begin at sixteen places in a page */
    PAGE = 4096,
    WORD = 8 /* bytes of a stream that are computed together */
};

/* Poison is a signalling NaN (the top bit of the fraction is 0) except in 8-bit floats. The last
   four bits differ between rounds. */
#define POISON_F16  UINT16_C(0x7D50)
#define POISON_BF16 UINT16_C(0x7F90)
#define POISON_F32  UINT32_C(0x7FA5C3D0)
#define POISON_F64  UINT64_C(0x7FF5A5C3D2E1F0B0)
#define POISON_BYTE 0x7F /* the same in all rounds: e4m3 has no other NaN */
/* Every whole number of a byte may be a right result, but not in two rounds. This one is far from
   the ends and the middle of the range, the most frequent numbers in masks and images. */
#define POISON_WHOLE_BYTE 0xA0
#define ROUND_BITS        (AK_GUARD_ROUNDS - 1)
/* Large floats. Their last four bits differ between rounds, except in 8-bit floats. */
#define HIGH_F16  UINT16_C(0x7850)
#define HIGH_BF16 UINT16_C(0x7E10)
#define HIGH_F32  UINT32_C(0x7E25C3D0)
#define HIGH_F64  UINT64_C(0x7FD5A5C3D2E1F0B0)
#define HIGH_BYTE 0x78 /* 256 in e4m3, 32768 in e5m2 */

/* ---- places ---------------------------------------------------------------------------------- */

static bool round_up(size_t *to, size_t unit)
{
    if (*to > SIZE_MAX - unit) {
        return false;
    }
    *to = (*to + unit - 1) / unit * unit;
    return true;
}

bool ak_guard_layout(ak_guard_arrays *arrays)
{
    size_t end = 0;
    for (size_t i = 0; i < arrays->count; i++) {
        size_t room = AK_GUARD_BYTES + GAP_BYTES + ALIGN;
        if (end > SIZE_MAX - room || arrays->bytes[i] > SIZE_MAX - AK_GUARD_BYTES - (end + room)) {
            return false;
        }
        arrays->offset[i] = end + AK_GUARD_BYTES + (i > 0 ? GAP_BYTES : 0);
        (void)round_up(&arrays->offset[i], ALIGN);
        end = arrays->offset[i] + arrays->bytes[i] + AK_GUARD_BYTES;
    }
    arrays->total = end;
    return round_up(&arrays->total, PAGE);
}

/* Returns where the zone before array i begins; for i = count, where the zone after the last
   array ends. */
static size_t boundary(const ak_guard_arrays *arrays, size_t i)
{
    return i < arrays->count ? arrays->offset[i] - AK_GUARD_BYTES : arrays->total;
}

static size_t end_of(const ak_guard_arrays *arrays, size_t i)
{
    return arrays->offset[i] + arrays->bytes[i];
}

void ak_guard_zone(size_t *begin, size_t *end, const ak_guard_arrays *arrays, size_t zone)
{
    assert(zone <= arrays->count);
    *begin = zone == 0 ? 0 : end_of(arrays, zone - 1);
    *end = zone < arrays->count ? arrays->offset[zone] : arrays->total;
}

/* ---- contents -------------------------------------------------------------------------------- */

/* Tells which bits of each 8 bytes are random (`keep`) and which of the others are 1 (`set`). For
   NaN the exponent is all ones and, except in e4m3, the fraction's top bit is 0 and its last bit 1.
   For numbers the exponents are so large that clamping to a usual range changes most of the
   numbers. In whole numbers all bits are random or, for numbers of one sign, all but the highest.
 */
typedef struct shape {
    uint64_t keep, set;
} shape;

#define BOTH(x) (UINT64_C(0x0000000100000001) * (x)) /* both words of a double word */
#define ALL(x)  (UINT64_C(0x0001000100010001) * (x)) /* all four half words */
#define EACH(x) (UINT64_C(0x0101010101010101) * (x)) /* all eight bytes */

/* Returns the sign bits in 8 bytes of elements of this size. */
static uint64_t sign_of(size_t bytes)
{
    return bytes == 1   ? EACH(0x80)
           : bytes == 2 ? ALL(0x8000)
           : bytes == 4 ? BOTH(0x80000000)
                        : UINT64_C(0x8000000000000000);
}

static shape shape_of(ak_dtype dtype, ak_guard_content content)
{
    shape nan = {UINT64_MAX, 0}, number = {0};
    uint64_t sign = sign_of(ak_dtype_bytes(dtype));
    number.keep = ~sign; /* this stays for whole numbers: the cases below are floats */
    switch (dtype) {
    case AK_DTYPE_F16:
        nan = (shape){ALL(0x81FF), ALL(0x7C01)};
        number = (shape){ALL(0x33FF), ALL(0x4000)};
        break;
    case AK_DTYPE_BF16:
        nan = (shape){ALL(0x803F), ALL(0x7F81)};
        number = (shape){ALL(0x0FFF), ALL(0x4000)};
        break;
    case AK_DTYPE_F32:
        nan = (shape){BOTH(0x803FFFFF), BOTH(0x7F800001)};
        number = (shape){BOTH(0x0FFFFFFF), BOTH(0x40000000)};
        break;
    case AK_DTYPE_F64:
        nan = (shape){UINT64_C(0x8007FFFFFFFFFFFF), UINT64_C(0x7FF0000000000001)};
        number = (shape){UINT64_C(0x01FFFFFFFFFFFFFF), UINT64_C(0x4000000000000000)};
        break;
    case AK_DTYPE_E4M3:
        nan = (shape){EACH(0x80), EACH(0x7F)};
        number = (shape){EACH(0x37), EACH(0x40)};
        break;
    case AK_DTYPE_E5M2:
        nan = (shape){EACH(0x80), EACH(0x7D)};
        number = (shape){EACH(0x33), EACH(0x40)};
        break;
    default: /* whole numbers: any number for NaN, else one sign */
        break;
    }
    if (content == AK_GUARD_NAN) {
        return nan;
    }
    number.set |= content == AK_GUARD_NEGATIVE ? sign : 0;
    return number;
}

ak_guard_content ak_guard_content_of(unsigned round)
{
    static const ak_guard_content turns[] = {AK_GUARD_NAN, AK_GUARD_POSITIVE, AK_GUARD_NAN,
                                             AK_GUARD_NEGATIVE};
    return turns[round % AK_COUNT(turns)];
}

uint64_t ak_guard_word(uint64_t key, uint64_t i)
{
    uint64_t z = key + (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

ak_guard_stream ak_guard_stream_of(const ak_guard_pattern *pattern, size_t argument,
                                   ak_guard_side side, ak_dtype dtype)
{
    enum { SIDES = AK_GUARD_BETWEEN + 1 };
    shape of = shape_of(dtype, pattern->content);
    uint64_t place = (uint64_t)argument * SIDES + (uint64_t)side;
    return (ak_guard_stream){
        .key = ak_guard_word(~pattern->key, place), .keep = of.keep, .set = of.set};
}

static uint64_t word_of(const ak_guard_stream *stream, size_t i)
{
    return (ak_guard_word(stream->key, i) & stream->keep) | stream->set;
}

/* Returns how many of the bytes from `first` on are in one word, at most `bytes`. */
static size_t piece(size_t first, size_t bytes)
{
    size_t rest = WORD - first % WORD;
    return rest < bytes ? rest : bytes;
}

void ak_guard_write(void *place, size_t first, size_t bytes, const ak_guard_stream *stream)
{
    unsigned char *to = place;
    for (size_t done = 0, length; done < bytes; done += length) {
        uint64_t word = word_of(stream, (first + done) / WORD);
        length = piece(first + done, bytes - done);
        memcpy(to + done, (unsigned char *)&word + (first + done) % WORD, length);
    }
}

bool ak_guard_holds(const void *place, size_t first, size_t bytes, const ak_guard_stream *stream)
{
    const unsigned char *at = place;
    for (size_t done = 0, length; done < bytes; done += length) {
        uint64_t word = word_of(stream, (first + done) / WORD);
        length = piece(first + done, bytes - done);
        if (memcmp(at + done, (unsigned char *)&word + (first + done) % WORD, length) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- zones ----------------------------------------------------------------------------------- */

/* Gives the bytes of an argument's zone on one side, where it begins, and the stream that it
   holds. */
static size_t side_of(size_t *begin, ak_guard_stream *stream, const ak_guard_arrays *arrays,
                      const ak_guard_pattern *pattern, size_t i, ak_guard_side side)
{
    size_t end = side == AK_GUARD_BEFORE ? arrays->offset[i] : boundary(arrays, i + 1);
    *begin = side == AK_GUARD_BEFORE ? boundary(arrays, i) : end_of(arrays, i);
    *stream = ak_guard_stream_of(pattern, i, side, arrays->dtype[i]);
    return end - *begin;
}

void ak_guard_paint(void *memory, const ak_guard_arrays *arrays, const ak_guard_pattern *pattern)
{
    for (size_t i = 0; i < arrays->count; i++) {
        for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_AFTER; side++) {
            ak_guard_stream stream;
            size_t begin, bytes = side_of(&begin, &stream, arrays, pattern, i, side);
            ak_guard_write((unsigned char *)memory + begin, 0, bytes, &stream);
        }
    }
}

size_t ak_guard_damaged(bool *after, const void *memory, const ak_guard_arrays *arrays,
                        const ak_guard_pattern *pattern)
{
    for (size_t i = 0; i < arrays->count; i++) {
        for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_AFTER; side++) {
            ak_guard_stream stream;
            size_t begin, bytes = side_of(&begin, &stream, arrays, pattern, i, side);
            if (!ak_guard_holds((const unsigned char *)memory + begin, 0, bytes, &stream)) {
                if (after != NULL) {
                    *after = side == AK_GUARD_AFTER;
                }
                return i;
            }
        }
    }
    return arrays->count;
}

/* ---- between rows ---------------------------------------------------------------------------- */

void ak_guard_paint_gaps(void *array, const ak_guard_rows *rows, const ak_guard_stream *stream)
{
    for (size_t r = 0; r + 1 < rows->rows; r++) {
        size_t first = r * rows->pitch + rows->row;
        ak_guard_write((unsigned char *)array + first, first, rows->pitch - rows->row, stream);
    }
}

bool ak_guard_gaps_whole(const void *array, const ak_guard_rows *rows,
                         const ak_guard_stream *stream)
{
    for (size_t r = 0; r + 1 < rows->rows; r++) {
        size_t first = r * rows->pitch + rows->row;
        if (!ak_guard_holds((const unsigned char *)array + first, first, rows->pitch - rows->row,
                            stream)) {
            return false;
        }
    }
    return true;
}

/* ---- poison ---------------------------------------------------------------------------------- */

/* Returns the poison of a dtype in its lowest bytes, and gives the bits that differ between rounds.
   Whole numbers of 2 to 8 bytes have the same poison as a float of their width. */
static uint64_t poison_of(uint64_t *round_bits, ak_dtype dtype)
{
    const size_t bytes = ak_dtype_bytes(dtype);
    const bool byte_float = bytes == 1 && ak_dtype_is_float(dtype);
    *round_bits = byte_float ? 0 : ROUND_BITS;
    return byte_float               ? POISON_BYTE
           : bytes == 1             ? POISON_WHOLE_BYTE
           : bytes == 4             ? POISON_F32
           : bytes == 8             ? POISON_F64
           : dtype == AK_DTYPE_BF16 ? POISON_BF16
                                    : POISON_F16;
}

static void fill(void *array, size_t bytes, size_t element, uint64_t with)
{
    size_t count = bytes / element;
    switch (element) {
    case 1:
        memset(array, (int)(with & 0xff), count);
        break;
    case 2:
        for (size_t i = 0; i < count; i++) {
            ((uint16_t *)array)[i] = (uint16_t)with;
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            ((uint32_t *)array)[i] = (uint32_t)with;
        }
        break;
    default:
        for (size_t i = 0; i < count; i++) {
            ((uint64_t *)array)[i] = with;
        }
        break;
    }
}

void ak_guard_poison(void *array, size_t bytes, ak_dtype dtype, unsigned round)
{
    uint64_t round_bits, poison = poison_of(&round_bits, dtype);
    fill(array, bytes, ak_dtype_bytes(dtype), poison | (round & round_bits));
}

bool ak_guard_is_poison(const void *element, ak_dtype dtype)
{
    uint64_t round_bits, poison = poison_of(&round_bits, dtype), word = 0;
    memcpy(&word, element, ak_dtype_bytes(dtype)); /* every host is little endian */
    return (word & ~round_bits) == poison;
}

/* ---- old contents ---------------------------------------------------------------------------- */

ak_guard_old ak_guard_old_of(unsigned round)
{
    static const ak_guard_old turns[] = {
        AK_GUARD_OLD_POISON, AK_GUARD_OLD_HIGH,   AK_GUARD_OLD_LOW, AK_GUARD_OLD_RESULTS,
        AK_GUARD_OLD_ZERO,   AK_GUARD_OLD_POISON, AK_GUARD_OLD_LOW, AK_GUARD_OLD_HIGH,
        AK_GUARD_OLD_ZERO,   AK_GUARD_OLD_RESULTS};
    return turns[round % AK_COUNT(turns)];
}

unsigned ak_guard_first_round(unsigned round)
{
    return (round + AK_GUARD_OLDS - 1) / AK_GUARD_OLDS * AK_GUARD_OLDS;
}

/* Returns the high number of a dtype, or the low one. */
static uint64_t extreme(ak_dtype dtype, bool low, unsigned round)
{
    const size_t bytes = ak_dtype_bytes(dtype);
    const uint64_t ones = bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
    const uint64_t sign = (ones >> 1) + 1, differs = round & ROUND_BITS;
    ak_dtype_range holds;
    if (ak_dtype_is_float(dtype)) {
        uint64_t high = bytes == 1               ? HIGH_BYTE
                        : bytes == 4             ? HIGH_F32 | differs
                        : bytes == 8             ? HIGH_F64 | differs
                        : dtype == AK_DTYPE_BF16 ? HIGH_BF16 | differs
                                                 : HIGH_F16 | differs;
        return low ? high | sign : high;
    }
    const bool is_signed = ak_dtype_holds(&holds, dtype) && holds.low < 0;
    const uint64_t high = (is_signed ? sign - 1 : ones) & ~(uint64_t)ROUND_BITS;
    return (low ? (is_signed ? sign : 0) : high) | differs;
}

void ak_guard_fill_old(void *array, size_t bytes, ak_dtype dtype, unsigned round)
{
    const ak_guard_old old = ak_guard_old_of(round);
    if (old == AK_GUARD_OLD_POISON) {
        ak_guard_poison(array, bytes, dtype, round);
    } else {
        fill(array, bytes, ak_dtype_bytes(dtype),
             old == AK_GUARD_OLD_ZERO ? 0 : extreme(dtype, old == AK_GUARD_OLD_LOW, round));
    }
}

uint32_t ak_guard_fraction(ak_dtype dtype)
{
    return ak_dtype_is_float(dtype) ? (uint32_t)-ilogb(ak_dtype_epsilon(dtype)) : 0;
}

uint64_t ak_guard_altered(uint64_t element, size_t bytes, uint32_t fraction, uint64_t random)
{
    /* The highest changed bit is at one of PLACES_* places; each PLACES_* is a power of two. In
       narrow numbers no other bit changes, because lower bits could offset the change. */
    enum { BYTE = 3, NARROW = 10, PLACES_NARROW = 2, PLACES_WIDE = 8, NEAR = 7 };
    if (fraction == 0) {
        return element ^ ((random & NEAR) == 0 ? 1 : random & NEAR);
    }
    const uint64_t exponents = (UINT64_C(1) << (8 * bytes - 1 - fraction)) - 1;
    const uint64_t exponent = element >> fraction & exponents;
    if (exponent == exponents) {
        /* In e4m3 only the largest fraction is NaN, and no element is infinite. The next bit is
           flipped where the highest would make it NaN. */
        const uint64_t nan = (UINT64_C(1) << BYTE) - 1, high = (nan + 1) / 2;
        const bool is_number = bytes == 1 && fraction == BYTE && (element & nan) != nan;
        const uint64_t flipped = ((element ^ high) & nan) == nan ? high / 2 : high;
        return is_number ? element ^ flipped : element;
    }
    element = exponent == 0 ? exponents >> 1 << fraction : element;
    const uint64_t places = fraction > NARROW ? PLACES_WIDE : fraction > BYTE ? PLACES_NARROW : 1;
    const uint64_t top = UINT64_C(1) << (fraction - 1 - (random & (places - 1)));
    return element ^ (fraction > NARROW ? top | (random >> 3 & (top - 1)) : top);
}
