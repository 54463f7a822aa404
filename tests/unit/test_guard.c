/* test_guard.c: tests red zones and poison: a change of any byte of a zone is noticed, and a
   zone never holds a value that wrong kernels are likely to write. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "check/guard.h"
#include "check/inputs.h"

static const ak_dtype every_dtype[] = {AK_DTYPE_F16, AK_DTYPE_BF16, AK_DTYPE_F32, AK_DTYPE_F64,
                                       AK_DTYPE_I32, AK_DTYPE_I64,  AK_DTYPE_U32, AK_DTYPE_U64,
                                       AK_DTYPE_I16, AK_DTYPE_U16,  AK_DTYPE_I8,  AK_DTYPE_U8};
enum { DTYPES = sizeof every_dtype / sizeof every_dtype[0], FLOATS = 4 };
static const ak_guard_content every_content[] = {AK_GUARD_NAN, AK_GUARD_POSITIVE,
                                                 AK_GUARD_NEGATIVE};
enum { CONTENTS = sizeof every_content / sizeof every_content[0] };
#define KEY UINT64_C(0x243f6a8885a308d3)

static ak_guard_arrays lay_out(ak_dtype dtype, const size_t *bytes, size_t count)
{
    ak_guard_arrays arrays = {.count = count};
    for (size_t i = 0; i < count; i++) {
        arrays.bytes[i] = bytes[i];
        arrays.dtype[i] = dtype;
    }
    assert_true(ak_guard_layout(&arrays));
    return arrays;
}

static void test_layout(void **state)
{
    (void)state;
    const size_t bytes[] = {4096, 1, 0, 4194304, 7};
    ak_guard_arrays arrays = lay_out(AK_DTYPE_F32, bytes, 5);
    size_t end = 0, seen = 0;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(arrays.offset[i] % 256, 0);
        assert_true(arrays.offset[i] >= end + AK_GUARD_BYTES); /* zones do not overlap */
        end = arrays.offset[i] + bytes[i] + AK_GUARD_BYTES;
    }
    assert_true(arrays.total >= end && arrays.total % 4096 == 0);
    for (size_t zone = 0; zone <= 5; zone++) { /* between zones is an array, and nothing else */
        size_t first, past;
        ak_guard_zone(&first, &past, &arrays, zone);
        assert_int_equal(first, zone == 0 ? 0 : seen + bytes[zone - 1]);
        assert_true(past - first >= AK_GUARD_BYTES);
        seen = past;
    }
    assert_int_equal(seen, arrays.total);
    assert_int_equal(lay_out(AK_DTYPE_F32, bytes, 0).total, 0);
}

/* Arrays whose size is a power of two do not all begin at the same offset within a page. */
static void test_layout_staggers(void **state)
{
    (void)state;
    size_t bytes[AK_ARGUMENTS_MAX];
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        bytes[i] = 1 << 20;
    }
    ak_guard_arrays arrays = lay_out(AK_DTYPE_F32, bytes, AK_ARGUMENTS_MAX);
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(arrays.offset[i] % 4096, arrays.offset[j] % 4096);
        }
    }
}

static void test_layout_overflow(void **state)
{
    (void)state;
    static const size_t cases[][2] = {
        {SIZE_MAX - 100, 1}, {SIZE_MAX / 2, SIZE_MAX / 2}, {SIZE_MAX - 3 * AK_GUARD_BYTES, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ak_guard_arrays arrays = {.count = 2, .bytes = {cases[i][0], cases[i][1]}};
        assert_false(ak_guard_layout(&arrays));
    }
}

/* A changed byte anywhere in a red zone is found, with its argument and side. Changes within the
   arrays are allowed. */
static void test_damage(void **state)
{
    (void)state;
    const size_t bytes[] = {100, 4, 260};
    ak_guard_arrays arrays = lay_out(AK_DTYPE_F32, bytes, 3);
    unsigned char *memory = ak_alloc(arrays.total, 1);
    assert_non_null(memory);
    for (size_t c = 0; c < CONTENTS; c++) {
        const ak_guard_pattern pattern = {.key = KEY, .content = every_content[c]};
        ak_guard_paint(memory, &arrays, &pattern);
        bool after = true;
        assert_int_equal(ak_guard_damaged(&after, memory, &arrays, &pattern), 3);
        for (size_t i = 0; i < 3; i++) {
            memset(memory + arrays.offset[i], 0x5A, bytes[i]); /* allowed */
            assert_int_equal(ak_guard_damaged(&after, memory, &arrays, &pattern), 3);
        }
        for (size_t zone = 0; zone <= 3; zone++) {
            size_t first, past;
            ak_guard_zone(&first, &past, &arrays, zone);
            for (size_t at = first; at < past; at += at < first + 8 || at >= past - 9 ? 1 : 37) {
                bool behind = zone == 3 || (zone > 0 && at < arrays.offset[zone] - AK_GUARD_BYTES);
                memory[at] ^= at % 2 ? 1 : 0x80;
                assert_int_equal(ak_guard_damaged(&after, memory, &arrays, &pattern),
                                 behind ? zone - 1 : zone);
                assert_int_equal(after, behind);
                assert_int_not_equal(ak_guard_damaged(NULL, memory, &arrays, &pattern), 3);
                memory[at] ^= at % 2 ? 1 : 0x80;
            }
        }
    }
    ak_free(memory);
}

/* For every dtype and offset, a red zone holds contents that spoil the result of a kernel that
   reads them: NaN, or numbers of the requested sign. */
static void test_contents(void **state)
{
    enum { COUNT = 1000 };
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        for (size_t c = 0; c < CONTENTS; c++) {
            const ak_guard_pattern pattern = {.key = KEY + d, .content = every_content[c]};
            const ak_guard_stream stream =
                ak_guard_stream_of(&pattern, 2, AK_GUARD_AFTER, every_dtype[d]);
            unsigned char bytes[COUNT * 8];
            double values[COUNT];
            ak_dtype_range holds;
            const bool has_sign = !ak_dtype_holds(&holds, every_dtype[d]) || holds.low < 0;
            /* without a sign: the upper half of the numbers is the other sign */
            const double middle =
                has_sign ? 0 : ldexp(1, (int)(8 * ak_dtype_bytes(every_dtype[d])) - 1);
            ak_guard_write(bytes, 0, sizeof bytes, &stream);
            ak_inputs_decode(values, bytes, COUNT, every_dtype[d]);
            for (size_t i = 0; i < COUNT; i++) {
                if (every_content[c] != AK_GUARD_NAN) {
                    assert_true(isfinite(values[i]));
                    assert_true((every_content[c] == AK_GUARD_NEGATIVE) ==
                                (has_sign ? values[i] < 0 : values[i] >= middle));
                } else if (d < FLOATS) {
                    assert_true(isnan(values[i]));
                }
            }
        }
    }
    assert_int_equal(ak_guard_content_of(0), AK_GUARD_NAN);
    for (unsigned round = 0; round < 8; round++) { /* NaN in one of any two, either sign in four */
        assert_true((ak_guard_content_of(round) == AK_GUARD_NAN) !=
                    (ak_guard_content_of(round + 1) == AK_GUARD_NAN));
        assert_true(ak_guard_content_of(round) == AK_GUARD_NAN ||
                    ak_guard_content_of(round) != ak_guard_content_of(round + 2));
    }
}

/* Every NaN of a red zone is signalling: the top bit of its fraction is 0, and arithmetic on it
   would set that bit. */
static void test_every_nan_is_signalling(void **state)
{
    static const uint64_t quiet[FLOATS] = {0x0200, 0x0040, 0x00400000, UINT64_C(1) << 51};
    (void)state;
    for (size_t d = 0; d < FLOATS; d++) {
        const ak_guard_pattern pattern = {.key = KEY, .content = AK_GUARD_NAN};
        const ak_guard_stream stream =
            ak_guard_stream_of(&pattern, 0, AK_GUARD_AFTER, every_dtype[d]);
        const size_t size = ak_dtype_bytes(every_dtype[d]);
        unsigned char bytes[4096];
        ak_guard_write(bytes, 0, sizeof bytes, &stream);
        for (size_t at = 0; at < sizeof bytes; at += size) {
            uint64_t element = 0;
            memcpy(&element, bytes + at, size);
            assert_int_equal(element & quiet[d], 0);
        }
    }
}

/* Sums of the elements behind two arrays, as this processor computes them, differ in every element
   from the contents behind a third array. */
static void test_arithmetic_on_zones_shows(void **state)
{
    enum { COUNT = 512 };
    (void)state;
    const ak_guard_pattern pattern = {.key = KEY, .content = AK_GUARD_NAN};
    volatile float x[COUNT], y[COUNT];
    volatile double u[COUNT], v[COUNT];
    float z[COUNT];
    double w[COUNT];
    ak_guard_stream s[3], t[3];
    for (size_t i = 0; i < 3; i++) {
        s[i] = ak_guard_stream_of(&pattern, i, AK_GUARD_AFTER, AK_DTYPE_F32);
        t[i] = ak_guard_stream_of(&pattern, i, AK_GUARD_AFTER, AK_DTYPE_F64);
    }
    ak_guard_write((void *)x, 0, sizeof x, &s[0]);
    ak_guard_write((void *)y, 0, sizeof y, &s[1]);
    ak_guard_write((void *)u, 0, sizeof u, &t[0]);
    ak_guard_write((void *)v, 0, sizeof v, &t[1]);
    for (size_t i = 0; i < COUNT; i++) {
        static const double factors[] = {1, 2, -1, 0};
        const double factor = factors[i % 4];
        z[i] = (float)factor * x[i] + y[i];
        w[i] = factor * u[i] + v[i];
        assert_false(ak_guard_holds(&z[i], i * sizeof z[i], sizeof z[i], &s[2]));
        assert_false(ak_guard_holds(&w[i], i * sizeof w[i], sizeof w[i], &t[2]));
    }
}

/* The stream of a red zone differs from those of other arguments, sides and keys, and from itself
   at an offset. */
static void test_streams_differ(void **state)
{
    enum { BYTES = 4096, STREAMS = 2 * 3 * 3 };
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        static unsigned char bytes[STREAMS][BYTES];
        const size_t size = ak_dtype_bytes(every_dtype[d]);
        size_t count = 0, most = BYTES / size / 16;
        for (uint64_t key = KEY; key < KEY + 2; key++) {
            for (size_t argument = 0; argument < 3; argument++) {
                for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_BETWEEN; side++) {
                    const ak_guard_pattern pattern = {.key = key, .content = AK_GUARD_NAN};
                    ak_guard_stream s =
                        ak_guard_stream_of(&pattern, argument, side, every_dtype[d]);
                    ak_guard_write(bytes[count++], 0, BYTES, &s);
                }
            }
        }
        for (size_t i = 0; i < STREAMS; i++) {
            for (size_t j = 0; j <= i; j++) {
                for (size_t shift = i == j; shift <= 3; shift++) {
                    size_t equal = 0;
                    for (size_t at = 0; at + shift * size < BYTES; at += size) {
                        equal += memcmp(bytes[i] + at, bytes[j] + at + shift * size, size) == 0;
                    }
                    assert_true(equal < most);
                }
            }
        }
    }
}

/* A stream is the same whether it is written at once or in pieces, and nothing beside a piece is
   written. */
static void test_streams_in_pieces(void **state)
{
    (void)state;
    const ak_guard_pattern pattern = {.key = KEY, .content = AK_GUARD_POSITIVE};
    const ak_guard_stream stream = ak_guard_stream_of(&pattern, 1, AK_GUARD_BETWEEN, AK_DTYPE_F64);
    unsigned char whole[99], part[64];
    ak_guard_write(whole, 0, sizeof whole, &stream);
    for (size_t first = 0; first < 20; first++) {
        for (size_t length = 0; length < 40; length++) {
            memset(part, 0x11, sizeof part);
            ak_guard_write(part + 1, first, length, &stream);
            assert_memory_equal(part + 1, whole + first, length);
            assert_true(part[0] == 0x11 && part[1 + length] == 0x11);
            assert_true(ak_guard_holds(part + 1, first, length, &stream));
            if (length > 0) {
                part[length] ^= 4;
                assert_false(ak_guard_holds(part + 1, first, length, &stream));
            }
        }
    }
}

static void test_gaps(void **state)
{
    (void)state;
    const ak_guard_rows rows = {.rows = 5, .row = 6, .pitch = 10};
    const ak_guard_pattern pattern = {.key = KEY, .content = AK_GUARD_NAN};
    const ak_guard_stream stream = ak_guard_stream_of(&pattern, 0, AK_GUARD_BETWEEN, AK_DTYPE_F16);
    unsigned char array[46 + 10];
    memset(array, 0x11, sizeof array);
    ak_guard_paint_gaps(array, &rows, &stream);
    for (size_t i = 0; i < sizeof array; i++) {
        bool gap = i < 40 && i % 10 >= 6;
        if (!gap) {
            assert_int_equal(array[i], 0x11);
        }
        array[i] ^= 1;
        assert_int_equal(ak_guard_gaps_whole(array, &rows, &stream), !gap);
        array[i] ^= 1;
    }
}

static void test_poison(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        ak_dtype dtype = every_dtype[d];
        size_t size = ak_dtype_bytes(dtype);
        unsigned char round0[33 * 8 + 1], round1[33 * 8 + 1];
        memset(round0, 0x11, sizeof round0);
        ak_guard_poison(round0, 33 * size, dtype, 0);
        ak_guard_poison(round1, 33 * size, dtype, 1);
        assert_int_equal(round0[33 * size], 0x11); /* nothing beyond */
        double values[33];
        ak_inputs_decode(values, round0, 33, dtype);
        for (size_t i = 0; i < 33; i++) {
            assert_true(ak_guard_is_poison(round0 + i * size, dtype));
            assert_true(ak_guard_is_poison(round1 + i * size, dtype));
            assert_memory_not_equal(round0 + i * size, round1 + i * size, size);
            assert_true(size == 8 && d >= FLOATS   ? values[i] > 0x1p53
                        : size == 4 && d >= FLOATS ? values[i] > 2e9
                        : d >= FLOATS ? values[i] != 0 && values[i] != 255 && values[i] != -1
                                      : isnan(values[i]));
        }
        for (unsigned round = 0; round < 2 * AK_GUARD_ROUNDS; round++) {
            ak_guard_poison(round1, size, dtype, round);
            assert_true(ak_guard_is_poison(round1, dtype));
        }
    }
}

/* A NaN that arithmetic produces is not taken for poison, because the kernel has written it. */
static void test_other_values_are_not_poison(void **state)
{
    (void)state;
    const double values[] = {0.0, -0.0, 1.0, -1e30, (double)INFINITY, (double)NAN, -(double)NAN};
    for (size_t d = 0; d < DTYPES; d++) {
        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
            unsigned char element[8];
            ak_inputs_encode(element, &values[i], 1, every_dtype[d]);
            assert_false(ak_guard_is_poison(element, every_dtype[d]));
        }
    }
}

/* A turn has a round for each old content: poison first, then, in an order that differs between
   turns, numbers above and below all usual results, zero, and earlier results. */
static void test_old_contents(void **state)
{
    (void)state;
    assert_int_equal(ak_guard_first_round(0), 0);
    assert_int_equal(ak_guard_first_round(1), AK_GUARD_OLDS);
    for (size_t d = 0; d < DTYPES; d++) {
        const ak_dtype dtype = every_dtype[d];
        ak_dtype_range holds = {.low = -1, .high = 1};
        (void)ak_dtype_holds(&holds, dtype);
        for (unsigned turn = 0; turn < 4; turn++) {
            unsigned seen = 0;
            for (unsigned k = 0; k < AK_GUARD_OLDS; k++) {
                const unsigned round = turn * AK_GUARD_OLDS + k;
                const ak_guard_old old = ak_guard_old_of(round);
                unsigned char bytes[3 * 8];
                double values[3];
                seen |= 1u << old;
                assert_int_equal(k == 0, old == AK_GUARD_OLD_POISON);
                ak_guard_fill_old(bytes, 3 * ak_dtype_bytes(dtype), dtype, round);
                ak_inputs_decode(values, bytes, 3, dtype);
                assert_int_equal(old == AK_GUARD_OLD_POISON, ak_guard_is_poison(bytes, dtype));
                const bool is_float = ak_dtype_is_float(dtype);
                if (old == AK_GUARD_OLD_HIGH || old == AK_GUARD_OLD_RESULTS) {
                    assert_true(values[2] > (is_float ? 200 : 0.8 * holds.high));
                } else if (old == AK_GUARD_OLD_LOW) {
                    assert_true(is_float ? values[2] < -200 && isfinite(values[2])
                                         : values[2] <= holds.low + 16);
                } else if (old == AK_GUARD_OLD_ZERO) {
                    assert_true(values[2] == 0);
                }
            }
            assert_int_equal(seen, (1u << AK_GUARD_OLDS) - 1);
        }
        assert_int_not_equal(ak_guard_old_of(1), ak_guard_old_of(1 + AK_GUARD_OLDS));
    }
}

/* An altered element is another number with the same sign and about the same size. */
static void test_altered(void **state)
{
    (void)state;
    for (size_t d = 0; d < DTYPES; d++) {
        const ak_dtype dtype = every_dtype[d];
        const size_t bytes = ak_dtype_bytes(dtype);
        for (uint64_t k = 0; k < 1000; k++) {
            const double value = (double)(1 + k % 100), zero = 0;
            const double rest = ak_dtype_is_float(dtype) ? value / 1024 : 0;
            uint64_t element = 0;
            double got;
            ak_inputs_encode(&element, &value, 1, dtype);
            uint64_t other =
                ak_guard_altered(element, bytes, ak_guard_fraction(dtype), ak_guard_word(5, k));
            ak_inputs_decode(&got, &other, 1, dtype);
            assert_true(other != element && fabs(got - value) > rest / 8);
            assert_true(ak_dtype_is_float(dtype) ? got > value / 3 && got < 3 * value
                                                 : fabs(got - value) < 8);
            element = 0;
            ak_inputs_encode(&element, &zero, 1, dtype);
            other = ak_guard_altered(element, bytes, ak_guard_fraction(dtype), k);
            ak_inputs_decode(&got, &other, 1, dtype);
            assert_true(ak_dtype_is_float(dtype) ? got >= 1 && got < 2 : got != 0 && got < 8);
        }
    }
    for (uint64_t element = 0; element < 256; element++) { /* e4m3 has no infinity */
        const uint64_t other = ak_guard_altered(element, 1, ak_guard_fraction(AK_DTYPE_E4M3), 1);
        double was, is;
        ak_inputs_decode(&was, &element, 1, AK_DTYPE_E4M3);
        ak_inputs_decode(&is, &other, 1, AK_DTYPE_E4M3);
        if (isnan(was)) {
            assert_true(other == element);
        } else if (fabs(was) >= 1) {
            assert_true(is != was && is / was > 0.5 && is / was < 2);
        }
    }
    const uint64_t infinity = 0x7f800000;
    assert_int_equal(ak_guard_altered(infinity, 4, ak_guard_fraction(AK_DTYPE_F32), 7), infinity);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_layout_staggers),
        cmocka_unit_test(test_layout_overflow),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_contents),
        cmocka_unit_test(test_every_nan_is_signalling),
        cmocka_unit_test(test_arithmetic_on_zones_shows),
        cmocka_unit_test(test_streams_differ),
        cmocka_unit_test(test_streams_in_pieces),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_other_values_are_not_poison),
        cmocka_unit_test(test_old_contents),
        cmocka_unit_test(test_altered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
