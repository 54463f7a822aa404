/* test_roofline.c: tests the units of the roofline. Each expected number was computed by hand
   from flop, bytes and seconds. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "measure/placement.h"
#include "measure/roofline.h"

static void assert_near(double got, double want, double relative)
{
    if (!(fabs(got - want) <= relative * fabs(want))) {
        fail_msg("got %.9g, expected %.9g", got, want);
    }
}

static const ak_ceilings a100 = {.peak_tflops = 312, .copy_gbs = 1939};
static const ak_ceilings h200 = {.peak_tflops = 989, .copy_gbs = 4200, .triad_gbs = 4300};

/* 2 * 4096^3 flop over 3 * 4096^2 * 2 byte are 4096 / 3 flop/byte. At 1.939e12 byte/s the memory
   allows 1365.33 * 1.939 = 2647.4 TFLOP/s; the tensor cores reach 312. */
static void test_matmul_on_a100(void **state)
{
    (void)state;
    double flops = 2.0 * 4096 * 4096 * 4096;
    double bytes = 3.0 * 4096 * 4096 * 2;
    ak_roofline r;
    ak_roofline_of(&r, &a100, flops, bytes, 0.5);
    assert_false(r.memory_bound);
    /* 137.4e9 flop in 0.5 ms is 274.9 TFLOP/s, 88.1 % of 312; 100.7e6 byte is 201.3 GB/s. */
    assert_near(r.tflops, 274.877906944, 1e-12);
    assert_near(r.gbs, 201.326592, 1e-12);
    assert_near(r.efficiency, 0.881018932, 1e-8);
}

/* A product of 8192^3 in bf16 has 8192 / 3 flop/byte. The memory allows 2730.67 * 4.3 = 11741.9
   TFLOP/s. */
static void test_matmul_on_h200(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 2.0 * 8192 * 8192 * 8192, 3.0 * 8192 * 8192 * 2, 1.4);
    assert_near(r.tflops, 785.365, 1e-5);
    assert_near(r.efficiency, 0.794100, 1e-5);
    assert_false(r.memory_bound);
}

/* A softmax of 16384 x 4096 f32 has 5 flop per 8 byte. 536.9e6 byte at 4300 GB/s take 0.12486 ms,
   and the limit is 0.625 * 4.3 = 2.6875 TFLOP/s. */
static void test_softmax_is_memory_bound(void **state)
{
    (void)state;
    double elements = 16384.0 * 4096;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 5 * elements, 8 * elements, 0.25);
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
    assert_near(r.efficiency, 1.0, 1e-12);
    ak_roofline_of(&r, &c, 9e9, 1e9, 10.0);
    assert_true(r.memory_bound);
    ak_roofline_of(&r, &c, 11e9, 1e9, 10.0);
    assert_false(r.memory_bound);
}

static void test_copy_has_no_flops(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 0, 8.6e9, 4.0); /* 2 ms at 4300 GB/s */
    assert_true(r.memory_bound);
    assert_true(r.tflops == 0);
    assert_near(r.gbs, 2150, 1e-12);
    assert_near(r.efficiency, 0.5, 1e-12);
}

static void test_no_traffic(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &a100, 312e9, 0, 2.0); /* 1 ms at 312 TFLOP/s */
    assert_false(r.memory_bound);
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
    assert_true(r.efficiency == 0);
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
}

/* If the working set stays in a cache, twice the bandwidth of the memory is possible and is
   reported unchanged. */
static void test_cached_exceeds_one(void **state)
{
    (void)state;
    ak_roofline r;
    ak_roofline_of(&r, &h200, 0, 8.6e9, 1.0);
    assert_near(r.efficiency, 2.0, 1e-12);
}

static void collect(void *context, const char *name, const char *text)
{
    char *all = context;
    size_t used = strlen(all);
    (void)snprintf(all + used, 1000 - used, "%s: %s\n", name, text);
}

/* With ceilings of 1 TFLOP/s and 100 GB/s, 2e9 flop take 2 ms and 5e6 byte take 0.05 ms. A product
   that takes 4 ms reaches 50 % of the first ceiling and 1.25 % of the second. */
static void test_placement(void **state)
{
    (void)state;
    static const ak_ceilings machine = {.peak_tflops = 1, .copy_gbs = 100};
    char text[1000] = "";
    ak_placement p, again;
    ak_place(&p, &machine, 2e9, 5e6, 4, false);
    assert_near(p.intensity, 400, 1e-12);
    assert_near(p.compute_ms, 2, 1e-12);
    assert_near(p.memory_ms, 0.05, 1e-12);
    assert_false(p.memory_bound);
    assert_near(p.compute_utilisation, 0.5, 1e-12);
    assert_near(p.bandwidth_utilisation, 0.0125, 1e-12);
    assert_near(p.efficiency, 0.5, 1e-12);
    ak_placement_describe(&p, collect, text);
    assert_string_equal(text,
                        "roofline: 50.0 % of what this device can do, bound by compute\n"
                        "intensity: 400 flop/byte (2e+09 flop, 5 MB of traffic at least)\n"
                        "limits: 1.000 TFLOP/s of arithmetic (2.000 ms), 100.0 GB/s of memory "
                        "(0.05000 ms)\n"
                        "utilisation: 50.0 % of the arithmetic, 1.2 % of the bandwidth\n");
    json_t *object = ak_placement_json(&p);
    ak_placement_read(&again, object);
    json_decref(object);
    assert_memory_equal(&p, &again, sizeof p);
}

/* If more than the memory's bandwidth is reached, the placement says that the data stay in a
   cache. */
static void test_placement_in_cache(void **state)
{
    (void)state;
    static const ak_ceilings machine = {.peak_tflops = 1, .copy_gbs = 100};
    char text[1000] = "";
    ak_placement p;
    ak_place(&p, &machine, 1e6, 1e8, 0.8, false);
    assert_true(p.memory_bound);
    assert_near(p.efficiency, 1.25, 1e-12);
    ak_placement_describe(&p, collect, text);
    assert_non_null(strstr(text, "125.0 % of the memory's bandwidth, as the data stay in a cache"));
    assert_null(strstr(text, "what this device can do"));
}

/* The placement of an archived trial has only what the trial records, and no ceilings or limits. */
static void test_placement_of_trial(void **state)
{
    (void)state;
    char text[1000] = "";
    const ak_trial trial = {
        .median_ms = 2, .tflops = 0.5, .gbs = 10, .efficiency = 0.75, .bound = (char *)"compute"};
    ak_placement p;
    ak_place_trial(&p, &trial);
    assert_near(p.intensity, 50, 1e-12);
    assert_near(p.flops, 1e9, 1e-12);
    assert_near(p.bytes, 2e7, 1e-12);
    ak_placement_describe(&p, collect, text);
    assert_non_null(strstr(text, "75.0 % of what this device can do, bound by compute"));
    assert_null(strstr(text, "limits"));
    /* More than a device can do is not believed without a word. */
    p.efficiency = 3.9;
    text[0] = 0;
    ak_placement_describe(&p, collect, text);
    assert_non_null(strstr(text,
                           "390.0 % of what this device was measured to do, as the device was "
                           "busy when its ceilings were measured, or the time is wrong"));
}

/* Every fraction above 1 has a reason, and no other has. */
static void test_efficiency_doubt(void **state)
{
    (void)state;
    assert_string_equal(ak_efficiency_doubt(0, true), "");
    assert_string_equal(ak_efficiency_doubt(1, false), "");
    assert_string_equal(ak_efficiency_doubt((double)NAN, true), "");
    assert_non_null(strstr(ak_efficiency_doubt(1.94, true), "the data stay in a cache, or"));
    assert_non_null(strstr(ak_efficiency_doubt(1.1, false), "the device was slower when"));
    assert_null(strstr(ak_efficiency_doubt(1.1, false), "wrong"));
    assert_non_null(strstr(ak_efficiency_doubt(2.19, false), "or the time is wrong"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_efficiency_doubt),
        cmocka_unit_test(test_matmul_on_a100),
        cmocka_unit_test(test_matmul_on_h200),
        cmocka_unit_test(test_softmax_is_memory_bound),
        cmocka_unit_test(test_ridge),
        cmocka_unit_test(test_copy_has_no_flops),
        cmocka_unit_test(test_no_traffic),
        cmocka_unit_test(test_unknown_ceilings),
        cmocka_unit_test(test_not_measured),
        cmocka_unit_test(test_cached_exceeds_one),
        cmocka_unit_test(test_placement),
        cmocka_unit_test(test_placement_in_cache),
        cmocka_unit_test(test_placement_of_trial),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
