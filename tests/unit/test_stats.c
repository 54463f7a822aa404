/* test_stats.c: tests medians, intervals (against published tables), the bootstrap, and
   geometric means. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "measure/stats.h"

static void test_no_sample(void **state)
{
    (void)state;
    ak_stats stats;
    ak_stats_of(&stats, NULL, 0);
    assert_true(isnan(stats.median) && isnan(stats.low) && isnan(stats.high));
    assert_true(isnan(stats.min) && isnan(stats.max) && isnan(stats.mean));
    assert_int_equal(stats.count, 0);
}

static void test_odd_and_even(void **state)
{
    (void)state;
    const double five[] = {5, 1, 4, 2, 3};
    ak_stats stats;
    ak_stats_of(&stats, five, 5);
    assert_true(stats.median == 3 && stats.min == 1 && stats.max == 5 && stats.mean == 3);
    assert_true(stats.low == 1 && stats.high == 5); /* fewer than 6: min..max */
    assert_true(five[0] == 5 && five[4] == 3);      /* unchanged */
    ak_stats_of(&stats, five, 4);
    assert_true(stats.median == 3 && stats.low == 1 && stats.high == 5 && stats.count == 4);
    ak_stats_of(&stats, five, 1);
    assert_true(stats.median == 5 && stats.low == 5 && stats.high == 5);
}

static void test_nan_spoils_all(void **state)
{
    (void)state;
    const double samples[] = {1, (double)NAN, 3};
    ak_stats stats;
    ak_stats_of(&stats, samples, 3);
    assert_true(isnan(stats.median) && isnan(stats.high));
    assert_int_equal(stats.count, 3);
}

/* The ranks of the 95 % interval of a median equal those in tables of the sign test. */
static void test_rank_table(void **state)
{
    (void)state;
    static const struct {
        size_t count, rank;
    } table[] = {{6, 1},   {7, 1},   {8, 1},   {9, 2},   {10, 2},  {11, 2},  {12, 3},  {13, 3},
                 {14, 3},  {15, 4},  {16, 4},  {17, 5},  {18, 5},  {19, 5},  {20, 6},  {21, 6},
                 {22, 6},  {23, 7},  {24, 7},  {25, 8},  {26, 8},  {27, 8},  {28, 9},  {29, 9},
                 {30, 10}, {35, 12}, {40, 14}, {45, 16}, {50, 18}, {60, 22}, {100, 40}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(ak_stats_interval_rank(table[i].count), table[i].rank);
    }
}

/* Returns P(Binomial(n, 1/2) <= k), summed in logarithms so that n may be large. */
static double binomial_below(size_t n, size_t k)
{
    double sum = 0.0;
    for (size_t i = 0; i <= k; i++) {
        double ways = lgamma((double)n + 1) - lgamma((double)i + 1) - lgamma((double)(n - i) + 1);
        sum += exp(ways - (double)n * log(2.0));
    }
    return sum;
}

static void test_rank_covers_95_percent(void **state)
{
    (void)state;
    for (size_t n = 6; n <= 60; n++) { /* exact: enough, and one rank more would not be */
        size_t rank = ak_stats_interval_rank(n);
        assert_true(binomial_below(n, rank - 1) <= 0.025);
        assert_true(binomial_below(n, rank) > 0.025);
    }
    for (size_t n = 61; n <= 2000; n += 7) { /* approximate: the tail is 2.5 % within 0.5 */
        size_t rank = ak_stats_interval_rank(n);
        assert_true(binomial_below(n, rank - 1) <= 0.030);
        assert_true(binomial_below(n, rank) > 0.0245);
    }
}

static void test_interval_from_ranks(void **state)
{
    (void)state;
    double samples[1000];
    for (size_t i = 0; i < 1000; i++) {
        samples[i] = (double)((i * 7919) % 1000); /* 0..999, each once */
    }
    ak_stats stats;
    ak_stats_of(&stats, samples, 1000); /* more than AK_STATS_INLINE */
    assert_true(stats.median == 499.5 && stats.min == 0 && stats.max == 999);
    assert_true(stats.low == 468 && stats.high == 531); /* 469th smallest and largest */
    for (size_t i = 0; i < 20; i++) {
        samples[i] = (double)(20 - i);
    }
    ak_stats_of(&stats, samples, 20);
    assert_true(stats.median == 10.5 && stats.low == 6 && stats.high == 15);
}

static void test_median_ignores_outliers(void **state)
{
    (void)state;
    const double samples[] = {1.0, 1.01, 0.99, 50.0, 1.0, 1.02, 0.98, 1.0, 1.0};
    ak_stats stats;
    ak_stats_of(&stats, samples, 9);
    assert_true(stats.median == 1.0 && stats.high < 1.03 && stats.mean > 6.0);
}

static void test_no_memory_is_nan(void **state)
{
    (void)state;
    double samples[AK_STATS_INLINE + 1] = {0};
    ak_stats stats;
    ak_alloc_fail_at(1);
    ak_stats_of(&stats, samples, AK_STATS_INLINE + 1);
    assert_true(isnan(stats.median));
    ak_stats_of(&stats, samples, AK_STATS_INLINE); /* needs none */
    ak_alloc_fail_at(0);
    assert_true(stats.median == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_sample),
        cmocka_unit_test(test_odd_and_even),
        cmocka_unit_test(test_nan_spoils_all),
        cmocka_unit_test(test_rank_table),
        cmocka_unit_test(test_rank_covers_95_percent),
        cmocka_unit_test(test_interval_from_ranks),
        cmocka_unit_test(test_median_ignores_outliers),
        cmocka_unit_test(test_no_memory_is_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
