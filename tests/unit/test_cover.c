/* test_cover.c: compares the choice of a few configurations for many sizes with an exhaustive
   search over all subsets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/cover.h"

#define CONFIGS_MAX 12
#define SIZES_MAX   6

/* Tries all subsets, as bits. Returns infinity if none serves every size. */
static double brute_force(const double *ms, size_t configs, size_t sizes, size_t k)
{
    double best = INFINITY;
    for (unsigned bits = 1; bits < 1u << configs; bits++) {
        double product = 1;
        if ((size_t)__builtin_popcount(bits) > k) {
            continue;
        }
        for (size_t s = 0; s < sizes; s++) {
            double mine = INFINITY, all = INFINITY;
            for (size_t c = 0; c < configs; c++) {
                double t = ms[c * sizes + s] > 0 ? ms[c * sizes + s] : INFINITY;
                all = fmin(all, t);
                mine = (bits >> c & 1) != 0 ? fmin(mine, t) : mine;
            }
            product *= mine / all;
        }
        best = fmin(best, pow(product, 1.0 / (double)sizes));
    }
    return best;
}

static void fill(double *ms, ak_rng *rng, size_t configs, size_t sizes)
{
    for (size_t i = 0; i < configs * sizes; i++) {
        ms[i] = ak_rng_real(rng) < 0.2 ? 0 : 1 + ak_rng_real(rng);
    }
    for (size_t s = 0; s < sizes; s++) { /* every size can be served */
        ms[s % configs * sizes + s] = 1.5;
    }
}

static void test_random_tables_agree_with_brute_force(void **state)
{
    (void)state;
    ak_rng rng;
    ak_rng_seed(&rng, 7);
    for (int round = 0; round < 300; round++) {
        double ms[CONFIGS_MAX * SIZES_MAX];
        size_t configs = 1 + ak_rng_below(&rng, 9), sizes = 1 + ak_rng_below(&rng, SIZES_MAX);
        size_t k = 1 + ak_rng_below(&rng, 4);
        ak_cover p = {0};
        fill(ms, &rng, configs, sizes);
        double want = brute_force(ms, configs, sizes, k);
        ak_status status = ak_cover_choose(&p, ms, configs, sizes, k, NULL);
        if (isinf(want)) {
            assert_int_equal(status, AK_NOT_FOUND);
            assert_true(p.loss.unserved > 0);
            ak_cover_clear(&p);
            continue;
        }
        assert_int_equal(status, AK_OK);
        assert_true(p.exact);
        assert_true(p.count >= 1 && p.count <= k);
        assert_true(fabs(p.loss.geomean - want) < 1e-9);
        assert_int_equal(p.loss.unserved, 0);
        for (size_t i = 0; i < p.count; i++) {
            assert_true(p.chosen[i] < configs);
            assert_true(i == 0 || p.chosen[i - 1] < p.chosen[i]);
        }
        for (size_t s = 0; s < sizes; s++) { /* each size gets the fastest of the chosen */
            double mine = ms[p.chosen[p.serves[s]] * sizes + s];
            assert_true(mine > 0);
            for (size_t i = 0; i < p.count; i++) {
                double other = ms[p.chosen[i] * sizes + s];
                assert_true(other <= 0 || mine <= other);
            }
        }
        ak_cover_clear(&p);
    }
}

static void test_one_for_all_is_not_the_fastest_of_any(void **state)
{
    (void)state;
    /* The third is never the fastest and never bad. */
    const double ms[] = {1, 9, 9, /**/ 9, 1, 1, /**/ 1.1, 1.1, 1.1};
    ak_cover p = {0};
    assert_int_equal(ak_cover_choose(&p, ms, 3, 3, 1, NULL), AK_OK);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.chosen[0], 2);
    assert_true(fabs(p.loss.geomean - 1.1) < 1e-12 && fabs(p.loss.worst - 1.1) < 1e-12);
    ak_cover_clear(&p);
    /* Two do it without loss; a third would serve nothing and is left out. */
    assert_int_equal(ak_cover_choose(&p, ms, 3, 3, 3, NULL), AK_OK);
    assert_int_equal(p.count, 2);
    assert_true(p.loss.geomean == 1 && p.loss.worst == 1);
    assert_int_equal(p.serves[0], 0);
    assert_int_equal(p.serves[1], 1);
    ak_cover_clear(&p);
}

static void test_equal_means_are_decided_by_the_worst_size(void **state)
{
    (void)state;
    const double ms[] = {1, 4, /**/ 2, 2, /**/ 4, 1};
    ak_cover p = {0};
    assert_int_equal(ak_cover_choose(&p, ms, 3, 2, 1, NULL), AK_OK);
    assert_int_equal(p.chosen[0], 1);
    ak_cover_clear(&p);
}

static void test_what_serves_no_size_everywhere_is_said(void **state)
{
    (void)state;
    const double apart[] = {1, 0, /**/ 0, 1};
    const double hole[] = {1, 0, /**/ 2, 0};
    ak_cover p = {0};
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_cover_choose(&p, apart, 2, 2, 1, &err), AK_NOT_FOUND);
    assert_string_equal(err.text, "no 1 of the 2 configurations together serves all 2 sizes");
    assert_true(p.count == 1 && p.chosen[0] == 0 && p.loss.unserved == 1 && p.loss.worst == 1);
    ak_cover_clear(&p);
    assert_int_equal(ak_cover_choose(&p, apart, 2, 2, 2, NULL), AK_OK);
    assert_int_equal(p.count, 2);
    ak_cover_clear(&p);
    assert_int_equal(ak_cover_choose(&p, hole, 2, 2, 2, NULL), AK_NOT_FOUND);
    assert_true(p.count == 1 && p.chosen[0] == 0 && p.serves[0] == 0 && p.loss.unserved == 1);
    ak_cover_clear(&p);
    assert_int_equal(ak_cover_choose(&p, apart, 0, 2, 1, NULL), AK_INVALID);
    size_t first = 0;
    ak_loss loss;
    ak_cover_loss(&loss, apart, 2, 2, &first, 1);
    assert_int_equal(loss.unserved, 1);
    assert_true(loss.geomean == 1 && loss.worst == 1);
}

/* Each group of sizes has one configuration that is best for it. The greedy choice must find these,
   too. */
static void test_large_tables_are_chosen_greedily(void **state)
{
    (void)state;
    enum { CONFIGS = 60, SIZES = 40, GROUPS = 8 };
    ak_rng rng;
    ak_rng_seed(&rng, 11);
    double *ms = ak_alloc(CONFIGS * SIZES, sizeof *ms);
    assert_non_null(ms);
    for (size_t c = 0; c < CONFIGS; c++) {
        for (size_t s = 0; s < SIZES; s++) {
            bool home = c % 7 == 0 && c / 7 == s % GROUPS;
            ms[c * SIZES + s] = home ? 1 : 1.5 + ak_rng_real(&rng);
        }
    }
    ak_cover p = {0};
    assert_int_equal(ak_cover_choose(&p, ms, CONFIGS, SIZES, GROUPS, NULL), AK_OK);
    assert_false(p.exact);
    assert_int_equal(p.count, GROUPS);
    assert_true(p.loss.geomean == 1);
    ak_cover_clear(&p);
    ak_free(ms);
}

static void test_no_memory_is_reported(void **state)
{
    (void)state;
    const double ms[] = {1, 2, /**/ 2, 1};
    for (size_t n = 1; n <= 6; n++) {
        ak_cover p = {0};
        ak_alloc_fail_at(n);
        ak_status status = ak_cover_choose(&p, ms, 2, 2, 1, NULL);
        ak_alloc_fail_at(0);
        assert_int_equal(status, AK_NO_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_tables_agree_with_brute_force),
        cmocka_unit_test(test_one_for_all_is_not_the_fastest_of_any),
        cmocka_unit_test(test_equal_means_are_decided_by_the_worst_size),
        cmocka_unit_test(test_what_serves_no_size_everywhere_is_said),
        cmocka_unit_test(test_large_tables_are_chosen_greedily),
        cmocka_unit_test(test_no_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
