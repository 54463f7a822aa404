/* Units. Each expected number was computed by hand from flop, byte and second. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "measure/roofline.h"

static void assert_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want))) {
        fail_msg("got %.9g, expected %.9g", got, want);
    }
}

static const ak_ceilings a100 = {.peak_tflops = 312, .copy_gbs = 1939};
static const ak_ceilings h200 = {.peak_tflops = 989, .copy_gbs = 4200, .triad_gbs = 4300};

/* 2 * 4096^3 flop over 3 * 4096^2 * 2 byte = 4096 / 3 flop/byte. At 1.939e12 byte/s the memory
   could feed 1365.33 * 1.939 = 2647.4 TFLOP/s; the tensor cores stop at 312. */
static void test_matmul_on_a100(void **state)
{
    (void)state;
    double flops = 2.0 * 4096 * 4096 * 4096;
    double bytes = 3.0 * 4096 * 4096 * 2;
    ak_roofline r;
    ak_roofline_of(&r, &a100, flops, bytes, 0.5);
    assert_near(r.intensity, 1365.33, 1e-5);
    assert_near(r.memory_tflops, 2647.4, 1e-4);
    assert_near(r.attainable_tflops, 312, 1e-12);
    assert_false(r.memory_bound);
    /* 137.4e9 flop in 0.5 ms is 274.9 TFLOP/s, 88.1 % of 312; 100.7e6 byte is 201.3 GB/s. */
    assert_near(r.tflops, 274.877906944, 1e-12);
    assert_near(r.gbs, 201.326592, 1e-12);
    assert_near(r.efficiency, 0.881018932, 1e-8);
}

/* 8192^3 bf16: 8192 / 3 flop/byte, memory limit 2730.67 * 4.3 = 11741.9 TFLOP/s. */
static void test_matmul_on_h200(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 2.0 * 8192 * 8192 * 8192, 3.0 * 8192 * 8192 * 2, 1.4);
    assert_near(r.memory_tflops, 11741.87, 1e-6);
    assert_near(r.attainable_tflops, 989, 1e-12);
    assert_near(r.tflops, 785.365, 1e-5);
    assert_near(r.efficiency, 0.794100, 1e-5);
    assert_false(r.memory_bound);
}

/* Softmax 16384 x 4096 f32: 5 flop per 8 byte. 536.9e6 byte at 4300 GB/s take 0.12486 ms; the
   limit is 0.625 * 4.3 = 2.6875 TFLOP/s. */
static void test_softmax_is_memory_bound(void **state)
{
    (void)state;
    double elements = 16384.0 * 4096;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 5 * elements, 8 * elements, 0.25);
    assert_near(r.intensity, 0.625, 1e-12);
    assert_near(r.memory_tflops, 2.6875, 1e-12);
    assert_near(r.attainable_tflops, 2.6875, 1e-12);
    assert_true(r.memory_bound);
    assert_near(r.gbs, 2147.483648, 1e-12);
    assert_near(r.efficiency, 0.499414802, 1e-8);
}

/* At the ridge both limits are equal. */
static void test_ridge(void **state)
{
    (void)state;
    const ak_ceilings c = {.peak_tflops = 1, .copy_gbs = 100};
    ak_roofline r;
    ak_roofline_of(&r, &c, 10e9, 1e9, 10.0); /* 10 flop/byte * 100 GB/s = 1 TFLOP/s */
    assert_near(r.memory_tflops, 1.0, 1e-12);
    assert_near(r.attainable_tflops, 1.0, 1e-12);
    assert_near(r.efficiency, 1.0, 1e-12);
    ak_roofline_of(&r, &c, 9e9, 1e9, 10.0);
    assert_true(r.memory_bound);
    assert_near(r.attainable_tflops, 0.9, 1e-12);
    ak_roofline_of(&r, &c, 11e9, 1e9, 10.0);
    assert_false(r.memory_bound);
    assert_near(r.attainable_tflops, 1.0, 1e-12);
}

static void test_copy_has_no_flops(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 0, 8.6e9, 4.0); /* 2 ms at 4300 GB/s */
    assert_true(r.memory_bound);
    assert_true(r.intensity == 0 && r.tflops == 0 && r.attainable_tflops == 0);
    assert_near(r.gbs, 2150, 1e-12);
    assert_near(r.efficiency, 0.5, 1e-12);
}

static void test_no_traffic(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &a100, 312e9, 0, 2.0); /* 1 ms at 312 TFLOP/s */
    assert_false(r.memory_bound);
    assert_true(isinf(r.intensity) && isinf(r.memory_tflops));
    assert_near(r.attainable_tflops, 312, 1e-12);
    assert_near(r.efficiency, 0.5, 1e-12);
    assert_true(r.gbs == 0);
}

static void test_unknown_ceilings(void **state)
{
    (void)state;
    const ak_ceilings none = {0};
    ak_roofline r;
    ak_roofline_of(&r, &none, 1e12, 1e9, 1000.0);
    assert_near(r.tflops, 1.0, 1e-12);
    assert_near(r.gbs, 1.0, 1e-12);
    assert_true(r.efficiency == 0 && r.attainable_tflops == 0 && r.memory_tflops == 0);
    const ak_ceilings only_read = {.read_gbs = 2};
    ak_roofline_of(&r, &only_read, 1e12, 1e9, 1000.0);
    assert_true(r.memory_bound);
    assert_near(r.efficiency, 0.5, 1e-12);
    const ak_ceilings only_peak = {.peak_tflops = 4};
    ak_roofline_of(&r, &only_peak, 1e12, 1e9, 1000.0);
    assert_false(r.memory_bound);
    assert_near(r.efficiency, 0.25, 1e-12);
}

static void test_not_measured(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &a100, 1e12, 1e9, 0.0);
    assert_true(r.tflops == 0 && r.gbs == 0 && r.efficiency == 0);
    assert_near(r.attainable_tflops, 312, 1e-12);
}

/* Twice the speed of memory is possible when the working set stays in a cache, and is shown as is.
 */
static void test_cached_exceeds_one(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 0, 8.6e9, 1.0);
    assert_near(r.efficiency, 2.0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul_on_a100),          cmocka_unit_test(test_matmul_on_h200),
        cmocka_unit_test(test_softmax_is_memory_bound), cmocka_unit_test(test_ridge),
        cmocka_unit_test(test_copy_has_no_flops),       cmocka_unit_test(test_no_traffic),
        cmocka_unit_test(test_unknown_ceilings),        cmocka_unit_test(test_not_measured),
        cmocka_unit_test(test_cached_exceeds_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
