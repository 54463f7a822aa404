/* test_timer.c: tests the timer on invented times, each a function of the number of the call. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rng.h"
#include "measure/timer.h"

typedef double (*series)(size_t batch, ak_rng *rng); /* ms per iteration */

/* Runs the timer to its end; *batches counts the batches. */
static void run(ak_timer *timer, size_t *batches, const ak_timer_plan *plan, series cost)
{
    ak_rng rng;
    ak_rng_seed(&rng, 5);
    ak_timer_begin(timer, plan);
    assert_int_equal(timer->iterations, 1);
    size_t n = 0;
    ak_timer_step step;
    do {
        double ms = cost(n, &rng) * timer->iterations;
        step = ak_timer_tell(timer, (int64_t)(ms * 1e6));
        n++;
        assert_true(n < 100000); /* a session ends */
    } while (step == AK_TIMER_RUN);
    *batches = n;
}

static double constant_2ms(size_t batch, ak_rng *rng)
{
    (void)batch, (void)rng;
    return 2.0;
}

static double constant_10us(size_t batch, ak_rng *rng)
{
    (void)batch, (void)rng;
    return 0.010;
}

static double nothing(size_t batch, ak_rng *rng)
{
    (void)batch, (void)rng;
    return 0.0;
}

static double noisy_10_percent(size_t batch, ak_rng *rng)
{
    (void)batch;
    return 2.0 * (1.0 + 0.1 * ak_rng_real(rng));
}

static double drifting(size_t batch, ak_rng *rng)
{
    (void)rng;
    return 2.0 + 0.05 * (double)batch;
}

static double one_in_ten_is_slow(size_t batch, ak_rng *rng)
{
    (void)rng;
    return batch % 10 == 9 ? 40.0 : 2.0;
}

static double cold_start(size_t batch, ak_rng *rng)
{
    (void)rng;
    return batch < 3 ? 10.0 : 1.0;
}

static double very_slow(size_t batch, ak_rng *rng)
{
    (void)batch, (void)rng;
    return 170.0;
}

static double slower_than_the_budget(size_t batch, ak_rng *rng)
{
    (void)batch, (void)rng;
    return 400.0;
}

static double short_after_slow_calls(size_t batch, ak_rng *rng)
{
    (void)rng;
    return batch < 4 ? 25.0 : 0.008;
}

static void test_defaults(void **state)
{
    (void)state;
    ak_timer timer;
    ak_timer_begin(&timer, NULL);
    assert_true(timer.plan.batch_ns == 1000000 && timer.plan.budget_ns == 300000000);
    assert_true(timer.plan.precision == 0.01 && timer.plan.give_up_ms == 0.0);
    assert_true(timer.plan.samples_min == 7 && timer.plan.samples_max == 64);
    ak_timer_begin(&timer, &(ak_timer_plan){.samples_min = 1000, .samples_max = 5000});
    assert_true(timer.plan.samples_max == AK_TIMER_SAMPLES_MAX);
    assert_true(timer.plan.samples_min == AK_TIMER_SAMPLES_MAX);
}

static void test_constant_needs_the_minimum(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, constant_2ms);
    assert_int_equal(timer.iterations, 1); /* 2 ms is longer than a batch has to be */
    assert_int_equal(timer.sample_count, 7);
    assert_int_equal(batches, 1 + 2 + 7); /* probe and two batches warm up: 6 ms of 5 */
    assert_true(timer.spent_ns == 20000000);
    assert_true(timer.samples_ms[0] == 2.0 && timer.samples_ms[6] == 2.0);
    assert_false(timer.hopeless);
}

static void test_short_calls_are_batched(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, constant_10us);
    assert_int_equal(timer.iterations, 128); /* first power of two times 10 us above 1 ms */
    assert_int_equal(timer.sample_count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_true(fabs(timer.samples_ms[i] - 0.010) < 1e-9); /* per iteration */
    }
}

static void test_slow_first_calls_do_not_size_the_batches(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, short_after_slow_calls);
    assert_int_equal(timer.iterations, 128); /* first power of two times 8 us above 1 ms */
    assert_int_equal(timer.sample_count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_true(fabs(timer.samples_ms[i] - 0.008) < 1e-9);
    }
}

static void test_empty_kernel_ends(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, nothing);
    assert_int_equal(timer.iterations, AK_TIMER_ITERATIONS_MAX);
    assert_true(timer.samples_ms[0] == 0.0);
    assert_true(batches < 100);
}

static void test_noise_takes_more_samples(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, noisy_10_percent);
    assert_true(timer.sample_count > 7 && timer.sample_count <= 64);
    ak_stats stats;
    ak_stats_of(&stats, timer.samples_ms, timer.sample_count);
    bool precise = (stats.high - stats.low) / 2.0 <= 0.01 * stats.median;
    assert_true(precise || timer.sample_count == 64);
    ak_timer_plan strict = {.precision = 1e-6, .budget_ns = INT64_C(100000000000)};
    run(&timer, &batches, &strict, noisy_10_percent);
    assert_int_equal(timer.sample_count, 64); /* never that precise: the most samples */
}

static void test_drift_runs_into_the_budget(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, &(ak_timer_plan){.budget_ns = 100000000}, drifting);
    assert_true(timer.spent_ns >= 100000000 && timer.spent_ns < 105000000);
    assert_true(timer.sample_count > 7 && timer.sample_count < 64);
}

static void test_outliers_do_not_matter(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, one_in_ten_is_slow);
    ak_stats stats;
    ak_stats_of(&stats, timer.samples_ms, timer.sample_count);
    assert_true(stats.median == 2.0 && stats.max == 40.0);
    assert_true(timer.sample_count < 64);
}

static void test_warm_up_is_not_counted(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, &(ak_timer_plan){.batch_ns = 10000000}, cold_start);
    for (size_t i = 0; i < timer.sample_count; i++) {
        assert_true(timer.samples_ms[i] == 1.0);
    }
}

static void test_long_calls_get_three_samples(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, very_slow); /* 170 ms each, budget 300 ms */
    assert_int_equal(timer.sample_count, 3);
    assert_int_equal(batches, 4);
    run(&timer, &batches, NULL, slower_than_the_budget);
    assert_int_equal(timer.sample_count, 1);
    assert_int_equal(batches, 2);
}

static void test_hopeless_ends_after_three(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, &(ak_timer_plan){.give_up_ms = 1.9}, constant_2ms);
    assert_true(timer.hopeless);
    assert_int_equal(timer.sample_count, 3);
    run(&timer, &batches, &(ak_timer_plan){.give_up_ms = 2.1}, constant_2ms);
    assert_false(timer.hopeless);
    assert_int_equal(timer.sample_count, 7);
    /* One fast sample is enough to be heard out. */
    run(&timer, &batches, &(ak_timer_plan){.give_up_ms = 2.1}, one_in_ten_is_slow);
    assert_false(timer.hopeless);
    run(&timer, &batches, &(ak_timer_plan){.give_up_ms = 100.0}, slower_than_the_budget);
    assert_true(timer.hopeless);
}

static void test_ended_stays_ended(void **state)
{
    (void)state;
    ak_timer timer;
    size_t batches;
    run(&timer, &batches, NULL, constant_2ms);
    size_t samples = timer.sample_count;
    int64_t spent = timer.spent_ns;
    assert_int_equal(ak_timer_tell(&timer, 2000000), AK_TIMER_DONE);
    assert_true(timer.sample_count == samples && timer.spent_ns == spent);
}

static void test_clock_that_goes_back(void **state)
{
    (void)state;
    ak_timer timer;
    ak_timer_begin(&timer, NULL);
    assert_int_equal(ak_timer_tell(&timer, -5), AK_TIMER_RUN);
    assert_true(timer.spent_ns == 0);
    assert_int_equal(timer.iterations, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_constant_needs_the_minimum),
        cmocka_unit_test(test_short_calls_are_batched),
        cmocka_unit_test(test_slow_first_calls_do_not_size_the_batches),
        cmocka_unit_test(test_empty_kernel_ends),
        cmocka_unit_test(test_noise_takes_more_samples),
        cmocka_unit_test(test_drift_runs_into_the_budget),
        cmocka_unit_test(test_outliers_do_not_matter),
        cmocka_unit_test(test_warm_up_is_not_counted),
        cmocka_unit_test(test_long_calls_get_three_samples),
        cmocka_unit_test(test_hopeless_ends_after_three),
        cmocka_unit_test(test_ended_stays_ended),
        cmocka_unit_test(test_clock_that_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
