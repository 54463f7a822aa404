/* test_inputs.c: tests how inputs are filled and how elements are converted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "check/inputs.h"

enum { MANY = 200000, BLOCK = 4096 };
static double first[MANY], second[MANY];

static ak_fill uniform(double low, double high)
{
    return (ak_fill){.kind = AK_FILL_UNIFORM, .a = low, .b = high};
}

static ak_fill normal(double mean, double deviation)
{
    return (ak_fill){.kind = AK_FILL_NORMAL, .a = mean, .b = deviation};
}

static void test_fill_is_seeded(void **state)
{
    (void)state;
    const ak_fill specs[] = {uniform(-1, 1), normal(0, 2)};
    for (size_t i = 0; i < 2; i++) {
        ak_inputs_fill(first, MANY, &specs[i], AK_DTYPE_F32, 42, 0);
        ak_inputs_fill(second, MANY, &specs[i], AK_DTYPE_F32, 42, 0);
        assert_memory_equal(first, second, sizeof first);
        ak_inputs_fill(second, MANY, &specs[i], AK_DTYPE_F32, 43, 0);
        size_t same = 0;
        for (size_t j = 0; j < MANY; j++) {
            same += first[j] == second[j];
        }
        assert_true(same < 100);
        ak_inputs_fill(second, MANY, &specs[i], AK_DTYPE_F32, 42, 1); /* another argument */
        same = 0;
        for (size_t j = 0; j < MANY; j++) {
            same += first[j] == second[j];
        }
        assert_true(same < 100);
    }
}

/* The beginning of a fill does not depend on its length, and no block repeats another. */
static void test_fill_by_blocks(void **state)
{
    (void)state;
    ak_fill spec = normal(0, 1);
    ak_inputs_fill(first, MANY, &spec, AK_DTYPE_F64, 1, 2);
    const size_t lengths[] = {1, 7, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5};
    for (size_t i = 0; i < 6; i++) {
        memset(second, 0, sizeof second);
        ak_inputs_fill(second, lengths[i], &spec, AK_DTYPE_F64, 1, 2);
        assert_memory_equal(first, second, lengths[i] * sizeof(double));
        assert_true(second[lengths[i]] == 0.0); /* nothing beyond */
    }
    assert_memory_not_equal(first, first + BLOCK, BLOCK * sizeof(double));
    /* and parts that are filled on their own make the whole */
    memset(second, 0, sizeof second);
    for (size_t from = 0; from < MANY; from += 2 * BLOCK) {
        size_t length = MANY - from < 2 * BLOCK ? MANY - from : 2 * BLOCK;
        ak_inputs_fill_part(second + from, from, length, &spec, AK_DTYPE_F64, 1, 2);
    }
    assert_memory_equal(first, second, MANY * sizeof(double));
}

static void moments(double *mean, double *deviation, double *kurtosis, const double *values)
{
    double sum = 0, squares = 0, fourth = 0;
    for (size_t i = 0; i < MANY; i++) {
        sum += values[i];
    }
    *mean = sum / MANY;
    for (size_t i = 0; i < MANY; i++) {
        double d = values[i] - *mean;
        squares += d * d;
        fourth += d * d * d * d;
    }
    *deviation = sqrt(squares / MANY);
    *kurtosis = fourth / MANY / pow(*deviation, 4);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void test_uniform_distribution(void **state)
{
    (void)state;
    ak_fill spec = uniform(-1, 3);
    ak_inputs_fill(first, MANY, &spec, AK_DTYPE_F32, 7, 0);
    double mean, deviation, kurtosis;
    moments(&mean, &deviation, &kurtosis, first);
    assert_true(fabs(mean - 1.0) < 0.01);
    assert_true(fabs(deviation - 4.0 / sqrt(12.0)) < 0.01);
    assert_true(fabs(kurtosis - 1.8) < 0.02);
    qsort(first, MANY, sizeof first[0], compare_doubles);
    assert_true(first[0] >= -1 && first[0] < -0.999);
    assert_true(first[MANY - 1] <= 3 && first[MANY - 1] > 2.999);
    for (size_t i = 0; i < MANY; i++) { /* Kolmogorov-Smirnov at 0.1 %: 1.95 / sqrt(n) */
        assert_true(fabs((first[i] + 1) / 4 - (double)i / MANY) < 0.0044);
    }
}

static void test_normal_distribution(void **state)
{
    (void)state;
    ak_fill spec = normal(0, 1);
    ak_inputs_fill(first, MANY, &spec, AK_DTYPE_F64, 9, 0);
    double mean, deviation, kurtosis;
    moments(&mean, &deviation, &kurtosis, first);
    assert_true(fabs(mean) < 0.01 && fabs(deviation - 1.0) < 0.01);
    assert_true(fabs(kurtosis - 3.0) < 0.08);
    qsort(first, MANY, sizeof first[0], compare_doubles);
    for (size_t i = 0; i < MANY; i++) {
        double expected = 0.5 * erfc(-first[i] / sqrt(2.0));
        assert_true(fabs(expected - (double)i / MANY) < 0.0044);
    }
    assert_true(first[0] < -3.8 && first[MANY - 1] > 3.8); /* the tail is there */
    spec = normal(5, 0.5);
    ak_inputs_fill(first, MANY, &spec, AK_DTYPE_F64, 9, 0);
    moments(&mean, &deviation, &kurtosis, first);
    assert_true(fabs(mean - 5) < 0.01 && fabs(deviation - 0.5) < 0.005);
}

static void test_integers_are_not_all_zero(void **state)
{
    (void)state;
    ak_fill spec = uniform(-1, 1);
    ak_inputs_fill(first, MANY, &spec, AK_DTYPE_I32, 3, 0);
    size_t count[3] = {0};
    for (size_t i = 0; i < MANY; i++) {
        assert_true(first[i] == -1 || first[i] == 0 || first[i] == 1);
        count[(size_t)(first[i] + 1)]++;
    }
    for (size_t i = 0; i < 3; i++) {
        assert_true(fabs((double)count[i] / MANY - 1.0 / 3) < 0.01);
    }
}

static void test_constant(void **state)
{
    (void)state;
    ak_fill spec = {.kind = AK_FILL_CONSTANT, .a = 0.1};
    ak_inputs_fill(first, 5000, &spec, AK_DTYPE_F32, 3, 0);
    assert_true(first[0] == (double)0.1f && first[4999] == (double)0.1f);
}

/* Values that are filled in can be represented exactly in the dtype. */
static void test_filled_values_are_exact(void **state)
{
    (void)state;
    static const ak_dtype dtypes[] = {AK_DTYPE_F16, AK_DTYPE_BF16, AK_DTYPE_F32, AK_DTYPE_F64,
                                      AK_DTYPE_I32};
    static uint64_t encoded[10000];
    for (size_t d = 0; d < 5; d++) {
        ak_fill spec = normal(0, 3);
        ak_inputs_fill(first, 10000, &spec, dtypes[d], 1, 1);
        ak_inputs_encode(encoded, first, 10000, dtypes[d]);
        ak_inputs_decode(second, encoded, 10000, dtypes[d]);
        assert_memory_equal(first, second, 10000 * sizeof(double));
    }
}

static uint16_t encode16(double value, ak_dtype dtype)
{
    uint16_t half;
    ak_inputs_encode(&half, &value, 1, dtype);
    return half;
}

static double decode16(uint16_t half, ak_dtype dtype)
{
    double value;
    ak_inputs_decode(&value, &half, 1, dtype);
    return value;
}

/* Returns the value of a 16-bit float by the definition of its format, with ldexp. */
static double define16(uint16_t half, int fraction, int bias)
{
    int exponent = (half & 0x7FFF) >> fraction;
    int digits = half & ((1 << fraction) - 1);
    double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == 2 * bias + 1) {
        return digits != 0 ? (double)NAN : sign * (double)INFINITY;
    }
    if (exponent == 0) {
        return sign * ldexp(digits, 1 - bias - fraction);
    }
    return sign * ldexp(digits + (1 << fraction), exponent - bias - fraction);
}

static void check_every_value(ak_dtype dtype, int fraction, int bias)
{
    for (unsigned i = 0; i < 65536; i++) {
        double want = define16((uint16_t)i, fraction, bias);
        double got = decode16((uint16_t)i, dtype);
        if (isnan(want)) {
            assert_true(isnan(got));
            assert_true(isnan(decode16(encode16(got, dtype), dtype)));
            continue;
        }
        assert_true(got == want && signbit(got) == signbit(want));
        assert_int_equal(encode16(got, dtype), i);
        if (i >= 0x7FFF || isinf(want)) {
            continue;
        }
        /* Between neighbours: to the nearer, in the middle to the even one. Beyond the largest, the
           next is where the format would go on, and stands for infinity. */
        double next = define16((uint16_t)(i + 1), fraction, bias);
        if (isinf(next)) {
            next = ldexp(1.0, bias + 1);
        }
        double middle = want + (next - want) / 2;
        assert_int_equal(encode16(middle, dtype), i % 2 == 0 ? i : i + 1);
        assert_int_equal(encode16(nextafter(middle, 0), dtype), i);
        assert_int_equal(encode16(nextafter(middle, HUGE_VAL), dtype), i + 1);
        assert_int_equal(encode16(-nextafter(middle, 0), dtype), i | 0x8000);
    }
}

static void test_every_f16(void **state)
{
    (void)state;
    check_every_value(AK_DTYPE_F16, 10, 15);
    assert_int_equal(encode16(1.0, AK_DTYPE_F16), 0x3C00);
    assert_int_equal(encode16(65504, AK_DTYPE_F16), 0x7BFF);
    assert_int_equal(encode16(65520, AK_DTYPE_F16), 0x7C00);
    assert_int_equal(encode16(1e300, AK_DTYPE_F16), 0x7C00);
    assert_int_equal(encode16(-1e-300, AK_DTYPE_F16), 0x8000);
    assert_int_equal(encode16((double)INFINITY, AK_DTYPE_F16), 0x7C00);
}

static uint8_t encode8(double value, ak_dtype dtype)
{
    uint8_t byte = 0;
    ak_inputs_encode(&byte, &value, 1, dtype);
    return byte;
}

/* Each number of an 8-bit format converts to double and back without change, values increase with
   their encodings, and the middle of two numbers rounds to the even one. */
static void check_every_byte(ak_dtype dtype, uint8_t largest)
{
    double before = -1;
    for (unsigned i = 0; i <= largest; i++) {
        uint8_t byte = (uint8_t)i, negative = (uint8_t)(i | 0x80);
        double value = 0, opposite = 0;
        ak_inputs_decode(&value, &byte, 1, dtype);
        ak_inputs_decode(&opposite, &negative, 1, dtype);
        assert_true(value > before && opposite == -value);
        assert_int_equal(encode8(value, dtype), byte);
        assert_int_equal(encode8(opposite, dtype), negative);
        if (i > 0) {
            assert_int_equal(encode8((before + value) / 2, dtype), i % 2 == 0 ? i : i - 1);
        }
        before = value;
    }
    assert_int_equal(encode8(1e300, dtype), largest);
    assert_int_equal(encode8(-(double)INFINITY, dtype), largest | 0x80);
    assert_int_equal(encode8((double)NAN, dtype) & 0x7F, 0x7F);
    const uint8_t not_a_number = 0x7F;
    ak_inputs_decode(&before, &not_a_number, 1, dtype);
    assert_true(isnan(before));
}

static void test_every_byte_float(void **state)
{
    (void)state;
    check_every_byte(AK_DTYPE_E4M3, 0x7E);
    check_every_byte(AK_DTYPE_E5M2, 0x7B);
    const struct {
        double value;
        uint8_t e4m3, e5m2;
    } known[] = {{1, 0x38, 0x3C}, {448, 0x7E, 0x5F}, {0x1p-9, 0x01, 0x18}, {57344, 0x7E, 0x7B}};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(encode8(known[i].value, AK_DTYPE_E4M3), known[i].e4m3);
        assert_int_equal(encode8(known[i].value, AK_DTYPE_E5M2), known[i].e5m2);
    }
}

static void test_every_bf16(void **state)
{
    (void)state;
    check_every_value(AK_DTYPE_BF16, 7, 127);
    assert_int_equal(encode16(1.0, AK_DTYPE_BF16), 0x3F80);
    assert_int_equal(encode16(1e300, AK_DTYPE_BF16), 0x7F80);
    /* By way of float this would round up twice: 1 + 2^-8 + 2^-30 is above the middle, but float
       cannot hold the last bit. */
    assert_int_equal(encode16(1.0 + 0x1p-8 + 0x1p-30, AK_DTYPE_BF16), 0x3F81);
    assert_int_equal(encode16(1.0 + 0x1p-8, AK_DTYPE_BF16), 0x3F80);
}

static void test_i32(void **state)
{
    (void)state;
    const double values[] = {0.5,
                             1.5,
                             2.5,
                             -0.5,
                             -1.5,
                             1e10,
                             -1e10,
                             2147483647.0,
                             -2147483648.0,
                             (double)NAN,
                             (double)INFINITY};
    const int32_t want[] = {0,         2,         2,         0, -2,       INT32_MAX,
                            INT32_MIN, INT32_MAX, INT32_MIN, 0, INT32_MAX};
    int32_t got[11];
    ak_inputs_encode(got, values, 11, AK_DTYPE_I32);
    assert_memory_equal(got, want, sizeof want);
    double back[11];
    ak_inputs_decode(back, got, 11, AK_DTYPE_I32);
    assert_true(back[1] == 2 && back[6] == -2147483648.0);
}

/* Numbers outside the range of a whole dtype become its ends, numbers within it stay, and a uniform
   fill reaches both ends. */
static void test_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        ak_dtype dtype;
        double low, high;
    } all[] = {{AK_DTYPE_I8, -128, 127},
               {AK_DTYPE_U8, 0, 255},
               {AK_DTYPE_I16, -32768, 32767},
               {AK_DTYPE_U16, 0, 65535},
               {AK_DTYPE_I32, -2147483648.0, 2147483647.0},
               {AK_DTYPE_U32, 0, 4294967295.0},
               {AK_DTYPE_I64, -0x1p63, 0x1p63},
               {AK_DTYPE_U64, 0, 0x1p64}};
    for (size_t d = 0; d < sizeof all / sizeof all[0]; d++) {
        const double high = all[d].high, low = all[d].low;
        const double values[] = {low, low * 2 - 1, high, high * 2, (double)NAN, 1.5, 77, -1e300};
        const double want[] = {low, low, high, high, 0, 2, 77, low};
        uint64_t bytes[8];
        double back[8];
        ak_dtype_range holds;
        ak_inputs_encode(bytes, values, 8, all[d].dtype);
        ak_inputs_decode(back, bytes, 8, all[d].dtype);
        assert_memory_equal(back, want, sizeof back);
        assert_true(ak_dtype_holds(&holds, all[d].dtype));
        const bool wide = ak_dtype_bytes(all[d].dtype) == 8;
        assert_true(holds.high == (wide ? 0x1p53 : high));
        assert_true(holds.low == (wide && low < 0 ? -0x1p53 : low));
        const ak_fill ends = uniform(holds.high - 1, holds.high);
        ak_inputs_fill(first, 1000, &ends, all[d].dtype, 5, 0);
        size_t highest = 0;
        for (size_t i = 0; i < 1000; i++) {
            assert_true(first[i] == holds.high || first[i] == holds.high - 1);
            highest += first[i] == holds.high;
        }
        assert_true(highest > 400 && highest < 600);
    }
}

/* A shuffled fill has every number of the range once, in whatever parts it is filled, and in an
   order that depends on the seed. */
static void test_spread(void **state)
{
    (void)state;
    static bool seen[MANY];
    const size_t counts[] = {2, 3, 4, 5, 1000, BLOCK + 1, MANY};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t count = counts[c], same = 0;
        ak_fill spec = {.kind = AK_FILL_SPREAD, .a = 10, .b = 9 + (double)count, .elements = count};
        memset(seen, 0, sizeof seen);
        ak_inputs_fill(first, count, &spec, AK_DTYPE_I32, 5, 3);
        for (size_t i = 0; i < count; i++) {
            size_t place = (size_t)(first[i] - 10);
            assert_true(place < count && !seen[place]);
            seen[place] = true;
        }
        for (size_t from = 0; from < count; from += BLOCK) {
            size_t length = count - from < BLOCK ? count - from : BLOCK;
            ak_inputs_fill_part(second + from, from, length, &spec, AK_DTYPE_I32, 5, 3);
        }
        assert_memory_equal(first, second, count * sizeof *first);
        ak_inputs_fill(second, count, &spec, AK_DTYPE_I32, 6, 3);
        for (size_t i = 0; i < count; i++) {
            same += first[i] == second[i];
        }
        assert_true(count < 1000 || same < 10);
    }
}

/* The values of a spread fill have equal distances and include both ends. A single element has the
   higher end. */
static void test_spread_ends(void **state)
{
    (void)state;
    ak_fill spec = {.kind = AK_FILL_SPREAD, .a = 1, .b = 3, .elements = 5};
    double sum = 0, low = 9, high = 0;
    ak_inputs_fill(first, 5, &spec, AK_DTYPE_F64, 1, 1);
    for (size_t i = 0; i < 5; i++) {
        sum += first[i];
        low = first[i] < low ? first[i] : low;
        high = first[i] > high ? first[i] : high;
        assert_true(first[i] * 2 == (double)(int)(first[i] * 2));
    }
    assert_true(sum == 10 && low == 1 && high == 3);
    spec.elements = 1;
    ak_inputs_fill(first, 1, &spec, AK_DTYPE_I32, 1, 1);
    assert_true(first[0] == 3);
}

/* Cuts ascend from low to high and do not depend on the parts in which they are filled. Many cuts
   divide the range about evenly; a few need not. */
static void test_cuts(void **state)
{
    (void)state;
    const size_t counts[] = {1, 2, 8, BLOCK + 1};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        size_t count = counts[c], empty = 0;
        ak_fill spec = {.kind = AK_FILL_CUTS, .a = 0, .b = (double)(3 * count), .elements = count};
        ak_inputs_fill(first, count, &spec, AK_DTYPE_I32, 5, 3);
        assert_true(first[0] >= 0 && first[count - 1] == spec.b);
        for (size_t i = 1; i < count; i++) {
            assert_true(first[i] >= first[i - 1]);
            empty += first[i] == first[i - 1];
        }
        for (size_t from = 0; from < count; from += BLOCK) {
            size_t length = count - from < BLOCK ? count - from : BLOCK;
            ak_inputs_fill_part(second + from, from, length, &spec, AK_DTYPE_I32, 5, 3);
        }
        assert_memory_equal(first, second, count * sizeof *first);
        ak_inputs_fill(second, count, &spec, AK_DTYPE_I32, 6, 3);
        assert_true(count < 8 || memcmp(first, second, count * sizeof *first) != 0);
        assert_true(count < BLOCK || (empty > count / 8 && empty < count / 2));
        assert_true(count < BLOCK || fabs(first[count / 2] / spec.b - 0.5) < 0.05);
    }
}

/* Offsets ascend from low to high. Their distances are evenly spaced from 0 on, in the same order
   for all arrays of the same length. */
static void test_offsets(void **state)
{
    enum { COUNT = BLOCK + 2 };
    (void)state;
    static const size_t counts[] = {1, 2, 3, 10, COUNT};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const size_t count = counts[c], parts = count - 1;
        const double unit = parts > 1 ? 6 : 9,
                     all = parts > 1 ? 3.0 * (double)(parts * (parts - 1)) : 9;
        const ak_fill spec = {.kind = AK_FILL_OFFSETS, .a = 4, .b = 4 + all, .elements = count};
        const ak_fill twice = {.kind = AK_FILL_OFFSETS, .a = 0, .b = 2 * all, .elements = count};
        static unsigned char seen[COUNT];
        memset(seen, 0, sizeof seen);
        ak_inputs_fill(first, count, &spec, AK_DTYPE_I32, 5, 3);
        ak_inputs_fill(second, count, &twice, AK_DTYPE_I32, 5, 4);
        assert_true(first[count - 1] == spec.b && (count == 1 || first[0] == 4));
        for (size_t i = 1; i < count; i++) {
            const double part = (first[i] - first[i - 1]) / unit;
            assert_true(part >= 0 && part <= (double)parts && part == floor(part));
            assert_true(seen[(size_t)part]++ == 0);
            assert_true(second[i] - second[i - 1] == 2 * unit * part);
        }
        for (size_t from = 0; from < count; from += BLOCK) {
            const size_t length = count - from < BLOCK ? count - from : BLOCK;
            ak_inputs_fill_part(second + from, from, length, &spec, AK_DTYPE_I32, 5, 3);
        }
        assert_memory_equal(first, second, count * sizeof *first);
    }
}

/* With AK_HABIT_ENDS, all values lie near the ends of the range and differ from each other.
   Clamping a normal fill to these ends would make a third of its values equal. */
static void test_ends(void **state)
{
    enum { COUNT = 1000 };
    static double values[COUNT];
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        ak_fill fill = {.kind = kind == 0 ? AK_FILL_NORMAL : AK_FILL_UNIFORM,
                        .habit = AK_HABIT_ENDS,
                        .a = kind == 0 ? 2 : 1.5,
                        .b = kind == 0 ? 0.5 : 2.5};
        size_t equal = 0;
        ak_inputs_fill(values, COUNT, &fill, AK_DTYPE_F64, 5, 6);
        for (size_t i = 0; i < COUNT; i++) {
            double t = fabs(values[i] - 2) / 0.5;
            assert_true(t >= 0.75 && t <= 1);
            for (size_t k = 0; k < i; k++) {
                equal += values[k] == values[i] ? 1 : 0;
            }
        }
        assert_int_equal(equal, 0);
    }
}

/* With AK_HABIT_VARIED, a constant fill has eighths of the constant, from 4/8 to 8/8. Whole dtypes
   and other fills do not change. */
static void test_varied_constants(void **state)
{
    enum { COUNT = 1000 };
    static double values[COUNT];
    static const double constants[] = {3, -0.5, 0};
    (void)state;
    for (size_t c = 0; c < 3; c++) {
        const ak_fill fill = {
            .kind = AK_FILL_CONSTANT, .habit = AK_HABIT_VARIED, .a = constants[c]};
        const double of = constants[c] == 0 ? 1 : constants[c];
        size_t seen[9] = {0};
        ak_inputs_fill(values, COUNT, &fill, AK_DTYPE_F32, 5, 6);
        for (size_t i = 0; i < COUNT; i++) {
            const double part = 8 * values[i] / of;
            assert_true(part == floor(part) && part >= 4 && part <= 8);
            seen[(size_t)part]++;
        }
        for (size_t part = 4; part <= 8; part++) {
            assert_true(seen[part] > 100);
        }
        ak_inputs_fill(values, COUNT, &fill, AK_DTYPE_I32, 5, 6);
        assert_true(values[0] == nearbyint(constants[c]) && values[0] == values[COUNT - 1]);
    }
}

/* One in `period` elements stays, in each row and in each column, wherever parts begin; the places
   depend on the stream. */
static void test_few(void **state)
{
    enum { ROWS = 96, COLUMNS = 120, COUNT = ROWS * COLUMNS, PERIOD = 8 };
    static double values[COUNT], all[COUNT], other[COUNT], part[COUNT];
    const ak_fill usual = uniform(-1, 1);
    ak_fill few = usual;
    size_t moved = 0;
    (void)state;
    few.habit = AK_HABIT_FEW;
    few.row = COLUMNS;
    few.period = PERIOD;
    ak_inputs_fill(all, COUNT, &usual, AK_DTYPE_F32, 5, 6);
    ak_inputs_fill(values, COUNT, &few, AK_DTYPE_F32, 5, 6);
    ak_inputs_fill(other, COUNT, &few, AK_DTYPE_F32, 5, 7);
    ak_inputs_fill_part(part, AK_INPUTS_BLOCK, COUNT - AK_INPUTS_BLOCK, &few, AK_DTYPE_F32, 5, 6);
    assert_memory_equal(part, values + AK_INPUTS_BLOCK, (COUNT - AK_INPUTS_BLOCK) * sizeof *values);
    size_t in_row[ROWS] = {0}, in_column[COLUMNS] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(values[i] == 0 || values[i] == all[i]);
        moved += (values[i] != 0) != (other[i] != 0);
        in_row[i / COLUMNS] += values[i] != 0;
        in_column[i % COLUMNS] += values[i] != 0;
    }
    for (size_t i = 0; i < ROWS; i++) {
        assert_int_equal(in_row[i], COLUMNS / PERIOD);
    }
    for (size_t i = 0; i < COLUMNS; i++) {
        assert_int_equal(in_column[i], ROWS / PERIOD);
    }
    assert_true(moved > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill_is_seeded),
        cmocka_unit_test(test_fill_by_blocks),
        cmocka_unit_test(test_uniform_distribution),
        cmocka_unit_test(test_normal_distribution),
        cmocka_unit_test(test_integers_are_not_all_zero),
        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_spread_ends),
        cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_varied_constants),
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_filled_values_are_exact),
        cmocka_unit_test(test_every_f16),
        cmocka_unit_test(test_every_bf16),
        cmocka_unit_test(test_every_byte_float),
        cmocka_unit_test(test_i32),
        cmocka_unit_test(test_whole_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
