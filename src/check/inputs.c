/*
 * inputs.c: fills arrays from a seed, and converts between double and the dtypes.
 *
 * The number at an index depends on the fill, the dtype, the seed and the stream only, not on the
 * range that a call fills, so that threads may fill any ranges of whole blocks and get the same
 * numbers. Values are rounded to the dtype before they are kept as double, so that reference and
 * candidate see the same inputs.
 *
 * Uniform values take one random number each. Normal values use the ziggurat (Marsaglia and Tsang,
 * "The ziggurat method for generating random variables", 2000): 99 % of them cost one random
 * number, one multiplication and one comparison, where Box-Muller would cost a logarithm and a
 * cosine.
 */
#include "check/inputs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/rng.h"

enum { BLOCK = AK_INPUTS_BLOCK };

/* ---- conversions ---- */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define DOUBLE_INFINITY (UINT64_C(0x7FF) << 52)
/* Adding 2^52 leaves no room for a fraction, so the hardware rounds to the nearest integer, ties
   to even. */
#define DOUBLE_ROUND 0x1p52

/* Rounds a magnitude that is no NaN to a float with `fraction` bits of fraction, directly from
   double: a step through float would round twice. `bias` is the exponent bias of the small format,
   and `largest` the encoding for larger numbers. */
static uint64_t narrow_magnitude(uint64_t magnitude, int fraction, int bias, uint64_t largest)
{
    uint64_t smallest_normal = (uint64_t)(1023 - bias + 1) << 52;
    uint64_t narrowed;
    if (magnitude < smallest_normal) {
        /* Rounds in units of the smallest subnormal, 2^(1 - bias - fraction). */
        double units =
            from_bits(magnitude) * from_bits((uint64_t)(1023 + bias - 1 + fraction) << 52);
        narrowed = bits_of(units + DOUBLE_ROUND) & 0xFFFF;
    } else {
        int drop = 52 - fraction;
        uint64_t odd = magnitude >> drop & 1;
        magnitude += (UINT64_C(1) << (drop - 1)) - 1 + odd;
        narrowed = (magnitude >> drop) - ((uint64_t)(1023 - bias) << fraction);
        narrowed = narrowed < largest ? narrowed : largest;
    }
    return narrowed;
}

static uint16_t narrow(double value, int fraction, int bias)
{
    uint64_t bits = bits_of(value);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    uint64_t infinity = (uint64_t)(2 * bias + 1) << fraction;
    uint64_t narrowed = magnitude > DOUBLE_INFINITY
                            ? infinity | (UINT64_C(1) << (fraction - 1))
                            : narrow_magnitude(magnitude, fraction, bias, infinity);
    return (uint16_t)(bits >> 63 << 15 | narrowed);
}

/* Widens a 16-bit float to double. Shifted into place, the small format is a double whose
   exponent is too small by the difference of the biases; one multiplication corrects that, also
   for subnormals. */
static inline double widen(uint16_t half, int fraction, int bias)
{
    uint64_t magnitude = (uint64_t)(half & 0x7FFF) << (52 - fraction);
    uint64_t sign = (uint64_t)(half >> 15) << 63;
    uint64_t special = (uint64_t)(2 * bias + 1) << 52;
    double scaled = from_bits(magnitude) * from_bits((uint64_t)(1023 + 1023 - bias) << 52);
    uint64_t bits = magnitude >= special ? magnitude | DOUBLE_INFINITY : bits_of(scaled);
    return from_bits(bits | sign);
}

enum { F16_FRACTION = 10, F16_BIAS = 15, BF16_FRACTION = 7, BF16_BIAS = 127 };

/* ---- 8-bit floats ---- */

enum { E4M3_FRACTION = 3, E4M3_BIAS = 7, E4M3_LARGEST = 0x7E, BYTE_NAN = 0x7F };

/* Rounds to an 8-bit float. Numbers that are too large become the largest, as with cvt.satfinite.
   e5m2 is the upper half of f16. */
static uint8_t narrow_byte(double value, ak_dtype dtype)
{
    enum { E5M2_FRACTION = 2, E5M2_LARGEST = 0x7B };
    uint64_t bits = bits_of(value);
    uint64_t magnitude = bits & (UINT64_MAX >> 1);
    uint64_t narrowed = magnitude > DOUBLE_INFINITY ? BYTE_NAN
                        : dtype == AK_DTYPE_E4M3
                            ? narrow_magnitude(magnitude, E4M3_FRACTION, E4M3_BIAS, E4M3_LARGEST)
                            : narrow_magnitude(magnitude, E5M2_FRACTION, F16_BIAS, E5M2_LARGEST);
    return (uint8_t)(bits >> 63 << 7 | narrowed);
}

static double widen_byte(uint8_t byte, ak_dtype dtype)
{
    if (dtype == AK_DTYPE_E5M2) {
        return widen((uint16_t)(byte << 8), F16_FRACTION, F16_BIAS);
    }
    /* Unlike widen, this scales the largest exponent like the others, because e4m3 has no
       infinity. */
    uint64_t magnitude = (uint64_t)(byte & 0x7F) << (52 - E4M3_FRACTION);
    double scaled = from_bits(magnitude) * from_bits((uint64_t)(1023 + 1023 - E4M3_BIAS) << 52);
    scaled = (byte & 0x7F) == BYTE_NAN ? (double)NAN : scaled;
    return byte & 0x80 ? -scaled : scaled;
}

/* ---- whole numbers ---- */

static int64_t to_signed(double value, size_t bytes)
{
    const int64_t largest = INT64_MAX >> (64 - 8 * bytes);
    if (!(value > (double)(-largest - 1))) {
        return isnan(value) ? 0 : -largest - 1;
    }
    return value >= (double)largest ? largest : (int64_t)nearbyint(value);
}

static uint64_t to_unsigned(double value, size_t bytes)
{
    const uint64_t largest = UINT64_MAX >> (64 - 8 * bytes);
    if (!(value > 0.0)) {
        return 0;
    }
    return value >= (double)largest ? largest : (uint64_t)nearbyint(value);
}

/* The cases of a switch for each kind of dtype in AKR_DTYPE_MAP; floats have cases of their own. */
#define ENCODE_FLOAT(name, type)
#define ENCODE_SIGNED(name, type)                                                                  \
    case AK_DTYPE_##name:                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            ((type *)out)[i] = (type)to_signed(values[i], sizeof(type));                           \
        }                                                                                          \
        break;
#define ENCODE_UNSIGNED(name, type)                                                                \
    case AK_DTYPE_##name:                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            ((type *)out)[i] = (type)to_unsigned(values[i], sizeof(type));                         \
        }                                                                                          \
        break;
#define DECODE_FLOAT(name, type)
#define DECODE_SIGNED(name, type)                                                                  \
    case AK_DTYPE_##name:                                                                          \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i] = (double)((const type *)bytes)[i];                                             \
        }                                                                                          \
        break;
#define DECODE_UNSIGNED DECODE_SIGNED

void ak_inputs_encode(void *out, const double *values, size_t count, ak_dtype dtype)
{
    switch (dtype) {
    case AK_DTYPE_F16:
        for (size_t i = 0; i < count; i++) {
            ((uint16_t *)out)[i] = narrow(values[i], F16_FRACTION, F16_BIAS);
        }
        break;
    case AK_DTYPE_BF16:
        for (size_t i = 0; i < count; i++) {
            ((uint16_t *)out)[i] = narrow(values[i], BF16_FRACTION, BF16_BIAS);
        }
        break;
    case AK_DTYPE_F32:
        for (size_t i = 0; i < count; i++) {
            ((float *)out)[i] = (float)values[i];
        }
        break;
    case AK_DTYPE_F64:
        memcpy(out, values, count * sizeof *values);
        break;
    case AK_DTYPE_E4M3:
    case AK_DTYPE_E5M2:
        for (size_t i = 0; i < count; i++) {
            ((uint8_t *)out)[i] = narrow_byte(values[i], dtype);
        }
        break;
#define ENCODE(name, text, kind, bytes, epsilon, type, ...) ENCODE_##kind(name, type)
        AKR_DTYPE_MAP(ENCODE)
#undef ENCODE
    }
}

void ak_inputs_decode(double *out, const void *bytes, size_t count, ak_dtype dtype)
{
    switch (dtype) {
    case AK_DTYPE_F16:
        for (size_t i = 0; i < count; i++) {
            out[i] = widen(((const uint16_t *)bytes)[i], F16_FRACTION, F16_BIAS);
        }
        break;
    case AK_DTYPE_BF16:
        for (size_t i = 0; i < count; i++) {
            out[i] = widen(((const uint16_t *)bytes)[i], BF16_FRACTION, BF16_BIAS);
        }
        break;
    case AK_DTYPE_F32:
        for (size_t i = 0; i < count; i++) {
            out[i] = (double)((const float *)bytes)[i];
        }
        break;
    case AK_DTYPE_F64:
        memcpy(out, bytes, count * sizeof *out);
        break;
    case AK_DTYPE_E4M3:
    case AK_DTYPE_E5M2:
        for (size_t i = 0; i < count; i++) {
            out[i] = widen_byte(((const uint8_t *)bytes)[i], dtype);
        }
        break;
#define DECODE(name, text, kind, bytes, epsilon, type, ...) DECODE_##kind(name, type)
        AKR_DTYPE_MAP(DECODE)
#undef DECODE
    }
}

static void round_to(double *values, size_t count, ak_dtype dtype)
{
    uint64_t encoded[BLOCK]; /* enough for any dtype */
    if (dtype != AK_DTYPE_F64) {
        ak_inputs_encode(encoded, values, count, dtype);
        ak_inputs_decode(values, encoded, count, dtype);
    }
}

/* ---- the ziggurat ---- */

/* LAYERS regions of equal area cover the right half of exp(-x*x/2): a stack of rectangles and,
   at the bottom, one rectangle with the tail beyond x = TAIL. The constants are those of the
   paper. */
enum { LAYERS = 256 };
#define TAIL 3.6541528853610088
#define AREA 0.00492867323399

typedef struct ziggurat {
    /* right edges, widest first; edge[0] is the virtual width of the bottom */
    double edge[LAYERS + 1];
    double height[LAYERS + 1]; /* exp(-edge^2/2) of each edge */
} ziggurat;

static void ziggurat_build(ziggurat *z)
{
    double height = exp(-0.5 * TAIL * TAIL);
    z->edge[0] = AREA / height;
    z->edge[1] = TAIL;
    for (int i = 2; i < LAYERS; i++) {
        height += AREA / z->edge[i - 1];
        z->edge[i] = sqrt(-2.0 * log(height));
    }
    z->edge[LAYERS] = 0.0;
    for (int i = 0; i <= LAYERS; i++) {
        z->height[i] = exp(-0.5 * z->edge[i] * z->edge[i]);
    }
}

static double draw_tail(ak_rng *rng)
{
    double x, y;
    do {
        x = -log(1.0 - ak_rng_real(rng)) / TAIL;
        y = -log(1.0 - ak_rng_real(rng));
    } while (2.0 * y < x * x);
    return TAIL + x;
}

static double draw_normal(const ziggurat *z, ak_rng *rng)
{
    for (;;) {
        /* One random number gives the layer (bits 0..7), the sign (bit 8) and the position (bits
           11..63). */
        uint64_t random = ak_rng_next(rng);
        size_t layer = random & (LAYERS - 1);
        double sign = random & LAYERS ? -1.0 : 1.0;
        double x = (double)(random >> 11) * 0x1p-53 * z->edge[layer];
        if (x < z->edge[layer + 1]) {
            return sign * x;
        }
        if (layer == 0) {
            return sign * draw_tail(rng);
        }
        double y = z->height[layer] + ak_rng_real(rng) * (z->height[layer + 1] - z->height[layer]);
        if (y < exp(-0.5 * x * x)) {
            return sign * x;
        }
    }
}

/* ---- filling ---- */

static void fill_uniform(double *out, size_t count, const ak_fill *fill, ak_dtype dtype,
                         ak_rng *rng)
{
    double low = fill->a;
    double range = fill->b - low;
    if (!ak_dtype_is_float(dtype)) {
        /* Integers from low to high are equally likely, both ends included. Rounding a real
           would halve the share of the ends. */
        low = ceil(low);
        range = floor(fill->b) - low + 1.0;
        for (size_t i = 0; i < count; i++) {
            out[i] = low + floor(range * ak_rng_real(rng));
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = low + range * ak_rng_real(rng);
    }
}

static void fill_constant(double *out, size_t count, const ak_fill *fill, ak_dtype dtype,
                          ak_rng *rng)
{
    enum { EIGHTHS = 8, LEAST = 4 };
    const bool varied = fill->habit == AK_HABIT_VARIED && ak_dtype_is_float(dtype);
    for (size_t i = 0; i < count; i++) {
        const double part =
            varied ? (double)(LEAST + ak_rng_below(rng, EIGHTHS - LEAST + 1)) / EIGHTHS : 1.0;
        out[i] = varied && fill->a == 0.0 ? part : fill->a * part;
    }
}

/* ---- numbers at equal distances ---- */

/* Returns the place of i in a permutation of 0 .. count - 1 that is computed for each element by
   itself. A Feistel network (Luby and Rackoff, "How to construct pseudorandom permutations from
   pseudorandom functions", 1988) permutes 0 .. 4^half_bits - 1; a result that is too large goes
   through it again. */
static uint64_t permuted(uint64_t i, uint64_t count, uint64_t key)
{
    enum { ROUNDS = 4 };
    unsigned half_bits = 1;
    while (half_bits < 32 && UINT64_C(1) << (2 * half_bits) < count) {
        half_bits++;
    }
    uint64_t mask = (UINT64_C(1) << half_bits) - 1;
    do {
        uint64_t left = i >> half_bits, right = i & mask;
        for (uint64_t round = 0; round < ROUNDS; round++) {
            uint64_t place[3] = {key, round, right};
            uint64_t next = left ^ (ak_hash64(place, sizeof place) & mask);
            left = right;
            right = next;
        }
        i = left << half_bits | right;
    } while (i >= count);
    return i;
}

/* Fills with numbers at equal distances from low to high, both included. A single element is
   high. */
static void fill_spread(double *out, size_t first, size_t count, const ak_fill *fill, uint64_t key)
{
    double steps = fill->elements > 1 ? (double)(fill->elements - 1) : 1.0;
    for (size_t i = 0; i < count; i++) {
        uint64_t place = permuted(first + i, fill->elements, key);
        out[i] =
            fill->elements > 1 ? fill->a + (double)place * ((fill->b - fill->a) / steps) : fill->b;
    }
}

/* Draws from the exponential distribution with mean 1; the number is 0 or more. */
static double draw_gap(ak_rng *rng)
{
    return -log(1.0 - ak_rng_real(rng));
}

/* Fills with numbers in ascending order that cut the range from low to high at random places, each
   place as likely as any other; the last number is high. The distances between sorted uniform
   numbers are exponential numbers divided by their sum, so every part draws the distances of the
   whole array. Such arrays are short, with one number for each group. */
static void fill_cuts(double *out, size_t first, size_t count, const ak_fill *fill, uint64_t key)
{
    ak_rng rng;
    double all = 0.0, sum = 0.0;
    ak_rng_seed(&rng, key);
    for (size_t i = 0; i < fill->elements; i++) {
        all += draw_gap(&rng);
    }
    ak_rng_seed(&rng, key);
    for (size_t i = 0; i < first + count; i++) {
        sum += draw_gap(&rng);
        if (i >= first) {
            out[i - first] =
                i + 1 < fill->elements ? fill->a + sum / all * (fill->b - fill->a) : fill->b;
        }
    }
}

/* Fills with numbers in ascending order from low to high, both included. The distances between them
   are evenly spaced from 0, in an order that depends only on the seed and their number, so that
   arrays of the same length agree: they describe the same groups. */
static void fill_offsets(double *out, size_t first, size_t count, const ak_fill *fill, uint64_t key)
{
    const uint64_t parts = fill->elements - 1;
    const double unit = parts > 1 ? 2.0 / ((double)parts * (double)(parts - 1)) : 1.0;
    double sum = 0.0; /* in units */
    for (uint64_t i = 0; i < first + count; i++) {
        if (i > 0) {
            sum += parts > 1 ? (double)permuted(i - 1, parts, key) : 1.0;
        }
        if (i >= first) {
            out[i - first] = i < parts ? fill->a + sum * unit * (fill->b - fill->a) : fill->b;
        }
    }
}

/* Fills an array that nothing may read, as ak_fill.unused says. */
static void fill_unused(double *out, size_t count, ak_dtype dtype)
{
    ak_dtype_range holds;
    const bool whole = ak_dtype_holds(&holds, dtype);
    for (size_t i = 0; i < count; i++) {
        out[i] = !whole ? (double)NAN : i % 2 == 0 ? holds.low : holds.high;
    }
}

/* Moves numbers drawn with the usual habit towards the ends or the middle of their range. Different
   numbers stay different, because rows of equal numbers are a separate case. */
static void change_habit(double *values, size_t count, const ak_fill *fill)
{
    const bool normal = fill->kind == AK_FILL_NORMAL;
    if ((fill->habit != AK_HABIT_ENDS && fill->habit != AK_HABIT_MIDDLE) ||
        (!normal && fill->kind != AK_FILL_UNIFORM)) {
        return;
    }
    double middle = normal ? fill->a : (fill->a + fill->b) / 2;
    double unit = normal ? fill->b : (fill->b - fill->a) / 2;
    for (size_t i = 0; unit > 0 && i < count; i++) {
        double t = (values[i] - middle) / unit, size = fabs(t);
        if (fill->habit == AK_HABIT_ENDS) {
            t = copysign(0.75 + 0.25 * (normal ? size / (1.0 + size) : size), t);
        } else {
            t *= normal ? fmin(size, 3.0) / sqrt(3.0) : size;
        }
        values[i] = middle + t * unit;
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sets all but one in `period` elements of each row and of each column to zero. Which ones stay
   follows from the key: from one row to the next they move by a step that is coprime to the period,
   so that every column is met equally often. */
static void keep_few(double *values, size_t first, size_t count, const ak_fill *fill, uint64_t key)
{
    const uint64_t period = fill->period;
    if (fill->habit != AK_HABIT_FEW || period < 2) {
        return;
    }
    uint64_t step = 1 + key / period % period;
    while (common_divisor(step, period) != 1) {
        step++;
    }
    uint64_t row = first / fill->row, column = first % fill->row;
    uint64_t phase = (row % period * step + column) % period;
    for (size_t i = 0; i < count; i++) {
        values[i] = phase == key % period ? values[i] : 0.0;
        phase = phase + 1 == period ? 0 : phase + 1;
        if (++column == fill->row) {
            column = 0;
            phase = ++row % period * step % period;
        }
    }
}

void ak_inputs_fill(double *out, size_t count, const ak_fill *fill, ak_dtype dtype, uint64_t seed,
                    uint64_t stream)
{
    ak_inputs_fill_part(out, 0, count, fill, dtype, seed, stream);
}

void ak_inputs_fill_part(double *out, size_t first, size_t count, const ak_fill *fill,
                         ak_dtype dtype, uint64_t seed, uint64_t stream)
{
    ziggurat z;
    assert(first % BLOCK == 0);
    if (fill->kind == AK_FILL_NORMAL) {
        ziggurat_build(&z);
    }
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t length = count - start < BLOCK ? count - start : BLOCK;
        double *block = out + start;
        if (fill->unused) {
            fill_unused(block, length, dtype);
            round_to(block, length, dtype);
            continue;
        }
        uint64_t place[3] = {seed, stream, (first + start) / BLOCK};
        ak_rng rng;
        ak_rng_seed(&rng, ak_hash64(place, sizeof place));
        switch (fill->kind) {
        case AK_FILL_UNIFORM:
            fill_uniform(block, length, fill, dtype, &rng);
            break;
        case AK_FILL_NORMAL:
            for (size_t i = 0; i < length; i++) {
                block[i] = fill->a + fill->b * draw_normal(&z, &rng);
            }
            break;
        case AK_FILL_FILE: /* callers read the file instead (argument.h) */
        case AK_FILL_CONSTANT:
            fill_constant(block, length, fill, dtype, &rng);
            break;
        case AK_FILL_SPREAD:
            fill_spread(block, first + start, length, fill, ak_hash64(place, sizeof *place * 2));
            break;
        case AK_FILL_CUTS:
            fill_cuts(block, first + start, length, fill, ak_hash64(place, sizeof *place * 2));
            break;
        case AK_FILL_OFFSETS:
            fill_offsets(block, first + start, length, fill, ak_hash64(place, sizeof *place));
            break;
        }
        change_habit(block, length, fill);
        keep_few(block, first + start, length, fill, ak_hash64(place, sizeof *place * 2));
        round_to(block, length, dtype);
    }
}
