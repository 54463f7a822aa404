/* Red zones and poison. */
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
                                       AK_DTYPE_I32};
enum { DTYPES = sizeof every_dtype / sizeof every_dtype[0] };

static void test_layout(void **state)
{
    (void)state;
    const size_t bytes[] = {4096, 1, 0, 4194304, 7};
    size_t offset[AK_ARGUMENTS_MAX];
    size_t total = ak_guard_layout(offset, bytes, 5);
    size_t end = 0;
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(offset[i] % 64, 0);
        assert_true(offset[i] >= end + AK_GUARD_BYTES); /* zones do not overlap */
        end = offset[i] + bytes[i] + AK_GUARD_BYTES;
    }
    assert_int_equal(total, end);
    assert_int_equal(ak_guard_layout(offset, bytes, 0), 0);
}

/* Arrays of a power of two must not all begin at the same place of a page. */
static void test_layout_staggers(void **state)
{
    (void)state;
    size_t bytes[AK_ARGUMENTS_MAX];
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        bytes[i] = 1 << 20;
    }
    size_t offset[AK_ARGUMENTS_MAX];
    assert_true(ak_guard_layout(offset, bytes, AK_ARGUMENTS_MAX) > 0);
    for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_not_equal(offset[i] % 4096, offset[j] % 4096);
        }
    }
}

static void test_layout_overflow(void **state)
{
    (void)state;
    size_t offset[AK_ARGUMENTS_MAX];
    const size_t huge[] = {SIZE_MAX - 100};
    assert_int_equal(ak_guard_layout(offset, huge, 1), 0);
    const size_t halves[] = {SIZE_MAX / 2, SIZE_MAX / 2};
    assert_int_equal(ak_guard_layout(offset, halves, 2), 0);
}

/* One changed byte anywhere in a zone is found and its side told; the arrays are the kernel's. */
static void test_damage(void **state)
{
    (void)state;
    const size_t bytes[] = {100, 4, 260};
    size_t offset[AK_ARGUMENTS_MAX];
    size_t total = ak_guard_layout(offset, bytes, 3);
    unsigned char *memory = ak_alloc(total, 1);
    assert_non_null(memory);
    ak_guard_paint(memory, offset, bytes, 3);
    bool after = true;
    assert_int_equal(ak_guard_damaged(&after, memory, offset, bytes, 3), 3);
    for (size_t i = 0; i < 3; i++) {
        memset(memory + offset[i], 0x5A, bytes[i]); /* allowed */
        assert_int_equal(ak_guard_damaged(&after, memory, offset, bytes, 3), 3);
        for (size_t at = 0; at < AK_GUARD_BYTES; at += at < 8 || at > 4080 ? 1 : 37) {
            unsigned char *below = memory + offset[i] - AK_GUARD_BYTES + at;
            *below ^= 1;
            assert_int_equal(ak_guard_damaged(&after, memory, offset, bytes, 3), i);
            assert_false(after);
            *below ^= 1;
            unsigned char *above = memory + offset[i] + bytes[i] + at;
            *above ^= 0x80;
            assert_int_equal(ak_guard_damaged(&after, memory, offset, bytes, 3), i);
            assert_true(after);
            assert_int_equal(ak_guard_damaged(NULL, memory, offset, bytes, 3), i);
            *above ^= 0x80;
        }
    }
    ak_free(memory);
}

/* What a kernel reads beyond its array spoils its result, whatever the dtype and the offset. */
static void test_zones_read_as_nan(void **state)
{
    (void)state;
    const size_t bytes[] = {48};
    size_t offset[AK_ARGUMENTS_MAX];
    size_t total = ak_guard_layout(offset, bytes, 1);
    unsigned char *memory = ak_alloc(total, 1);
    assert_non_null(memory);
    ak_guard_paint(memory, offset, bytes, 1);
    for (size_t d = 0; d < 4; d++) {
        double values[16];
        ak_inputs_decode(values, memory + offset[0] + bytes[0], 16, every_dtype[d]);
        for (size_t i = 0; i < 16; i++) {
            assert_true(isnan(values[i]));
        }
    }
    ak_free(memory);
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
            assert_true(dtype == AK_DTYPE_I32 ? values[i] > 2e9 : isnan(values[i]));
        }
        for (unsigned round = 0; round < 2 * AK_GUARD_ROUNDS; round++) {
            ak_guard_poison(round1, size, dtype, round);
            assert_true(ak_guard_is_poison(round1, dtype));
        }
    }
}

/* The NaN that arithmetic produces is not the poison: it was written by the kernel. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_layout_staggers),
        cmocka_unit_test(test_layout_overflow),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_zones_read_as_nan),
        cmocka_unit_test(test_poison),
        cmocka_unit_test(test_other_values_are_not_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
