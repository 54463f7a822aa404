/* test_gp.c: compares a Gaussian process with the textbook formulas, solved by another algorithm,
   also for data from which nothing can be learned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/gp.h"
#include "space_fixture.h"

static const char mixed_text[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 16, 32, 64, 128]},"
    "{\"Name\": \"B\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8]},"
    "{\"Name\": \"C\", \"Type\": \"string\", \"Values\": [\"x\", \"y\", \"z\"]},"
    "{\"Name\": \"D\", \"Type\": \"bool\", \"Values\": [true, false]},"
    "{\"Name\": \"E\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8]}]}";

enum { ROWS = 150, SLOTS = 4 };
#define NOISE 0.01

static ak_space *space;
static ak_features features;
static ak_gp *gp;
static ak_point points[ROWS], others[200];
static double y[ROWS], truth[200];

/* A function in which A has the largest effect, E has none, and B counts only with C. */
static double formula(const ak_point *p)
{
    return 2.0 * (p->at[0] - 0.4) * (p->at[0] - 0.4) + (p->at[2] == 1.0F ? p->at[1] : 0.3) +
           0.1 * p->at[3];
}

static int set_up(void **state)
{
    (void)state;
    space = fixture_space(mixed_text);
    static const ak_gp_options options = {ROWS, SLOTS, 5.0, NOISE};
    if (ak_features_open(&features, space, NULL) != AK_OK ||
        ak_gp_open(&gp, &features, &options, NULL) != AK_OK) {
        return -1;
    }
    ak_rng rng;
    ak_rng_seed(&rng, 3);
    for (size_t i = 0; i < ROWS + 200; i++) {
        ak_config config;
        ak_space_sample(&config, space, &rng);
        ak_point *point = i < ROWS ? &points[i] : &others[i - ROWS];
        ak_gp_point(point, gp, &config);
        *(i < ROWS ? &y[i] : &truth[i - ROWS]) = formula(point);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ak_gp_close(gp);
    ak_gp_close(NULL);
    ak_features_close(&features);
    ak_space_free(space);
    return 0;
}

static void add(size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++) {
        ak_gp_add(gp, &points[i]);
    }
}

/* Compares the posterior with mean = k K^-1 y and variance = scale (k(x,x) - k K^-1 k), solved by
   Gaussian elimination. */
static void expect_posterior(size_t n, const ak_point *at)
{
    enum { MOST = 12 };
    double a[MOST][MOST + 2];
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i][j] = ak_gp_similarity(gp, &points[i], &points[j]) + (i == j ? NOISE : 0.0);
        }
        a[i][n] = y[i] - points[i].prior;
        a[i][n + 1] = ak_gp_similarity(gp, &points[i], at);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < n; r++) {
            double factor = r == i ? 0.0 : a[r][i] / a[i][i];
            for (size_t j = i; r != i && j < n + 2; j++) {
                a[r][j] -= factor * a[i][j];
            }
        }
    }
    double mean = at->prior;
    double variance = ak_gp_similarity(gp, at, at);
    double scale = 0.0;
    for (size_t i = 0; i < n; i++) {
        double k = ak_gp_similarity(gp, &points[i], at);
        mean += k * a[i][n] / a[i][i];
        variance -= k * a[i][n + 1] / a[i][i];
        scale += (y[i] - points[i].prior) * a[i][n] / a[i][i] / (double)n;
    }
    double got, deviation;
    ak_gp_predict(&got, &deviation, gp, at);
    assert_true(fabs(got - mean) < 1e-8);
    assert_true(fabs(deviation - sqrt(scale * variance)) < 1e-6);
    ak_gp_watch(gp, 1, at);
    ak_gp_watched(&got, &deviation, gp, 1);
    assert_true(fabs(got - mean) < 1e-8);
    assert_true(fabs(deviation - sqrt(scale * variance)) < 1e-6);
}

static void test_posterior(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 12; n += n < 3 ? 1 : 3) {
        ak_gp_truncate(gp, 0);
        add(0, n);
        ak_gp_learn(gp, y);
        assert_int_equal(ak_gp_count(gp), n);
        expect_posterior(n, &others[0]);
        expect_posterior(n, &others[1]);
        expect_posterior(n, &points[0]);
    }
}

static void test_prior(void **state)
{
    (void)state;
    ak_point before[6];
    memcpy(before, points, sizeof before);
    ak_gp_truncate(gp, 0);
    for (size_t i = 0; i < 6; i++) {
        points[i].prior = 0.2 * (double)i;
    }
    others[2].prior = 0.7;
    add(0, 6);
    ak_gp_learn(gp, y);
    expect_posterior(6, &others[2]);
    others[2].prior = 0.0;
    memcpy(points, before, sizeof before);
}

/* The prediction of a watched point follows every change, and removing rows restores the state
   before they were added. */
static void test_incremental(void **state)
{
    (void)state;
    ak_gp_truncate(gp, 0);
    add(0, 20);
    ak_gp_learn(gp, y);
    ak_gp_watch(gp, 0, &others[0]);
    double mean[4], deviation[4];
    ak_gp_predict(&mean[0], &deviation[0], gp, &others[0]);
    for (size_t i = 0; i < 5; i++) {
        ak_gp_add(gp, &others[i]); /* pretended: its y is the prediction */
        ak_gp_predict(&mean[1], &deviation[1], gp, &others[0]);
        ak_gp_watched(&mean[2], &deviation[2], gp, 0);
        assert_true(fabs(mean[1] - mean[0]) < 1e-9 && fabs(mean[2] - mean[0]) < 1e-9);
        assert_true(deviation[1] < 0.5 * deviation[0]);
        assert_true(fabs(deviation[2] - deviation[1]) < 1e-6);
    }
    ak_gp_truncate(gp, 20);
    ak_gp_watched(&mean[2], &deviation[2], gp, 0);
    assert_true(mean[2] == mean[0] && fabs(deviation[2] - deviation[0]) < 1e-9);
    add(20, 30);
    ak_gp_learn(gp, y);
    ak_gp_tune(gp, 10);
    ak_gp_predict(&mean[1], &deviation[1], gp, &others[0]);
    ak_gp_watched(&mean[2], &deviation[2], gp, 0);
    assert_true(fabs(mean[2] - mean[1]) < 1e-9 && fabs(deviation[2] - deviation[1]) < 1e-6);
    ak_gp_unwatch(gp, 0);
}

/* With more rows than are used for tuning, the process learns the function. */
static void test_learns(void **state)
{
    (void)state;
    ak_gp_truncate(gp, 0);
    add(0, ROWS);
    ak_gp_add(gp, &points[0]); /* full: ignored */
    assert_int_equal(ak_gp_count(gp), ROWS);
    ak_gp_learn(gp, y);
    ak_gp_tune(gp, 40);
    double error = 0.0, spread = 0.0, outside = 0.0, middle = 0.0;
    for (size_t i = 0; i < ROWS; i++) {
        middle += y[i] / ROWS;
    }
    for (size_t i = 0; i < 200; i++) {
        double mean, deviation;
        ak_gp_predict(&mean, &deviation, gp, &others[i]);
        error += (mean - truth[i]) * (mean - truth[i]);
        spread += (middle - truth[i]) * (middle - truth[i]);
        outside += fabs(mean - truth[i]) > 3.0 * deviation;
    }
    assert_true(error < 0.05 * spread); /* explains most of what it never saw */
    assert_true(outside < 20);          /* and knows how much it does not know */
    /* E does not matter, A does. */
    ak_point base = points[0];
    double like[2];
    for (size_t i = 0; i < 2; i++) {
        ak_point moved = base;
        moved.at[i == 0 ? 0 : 4] += 0.5F; /* the level itself stays: how far, not whether */
        like[i] = ak_gp_similarity(gp, &base, &moved);
    }
    assert_true(like[0] < like[1]);
}

/* Equal y, equal points, no rows or no columns must not lead to a division by zero. */
static void test_nothing_to_learn(void **state)
{
    (void)state;
    static const double zero[ROWS];
    double mean, deviation;
    ak_gp_truncate(gp, 0);
    ak_gp_learn(gp, zero);
    ak_gp_tune(gp, 5);
    ak_gp_predict(&mean, &deviation, gp, &points[0]);
    assert_true(mean == 0.0 && isfinite(deviation) && deviation > 0.0);
    for (size_t i = 0; i < 50; i++) {
        ak_gp_add(gp, &points[0]);
    }
    ak_gp_learn(gp, zero);
    ak_gp_tune(gp, 20);
    ak_gp_predict(&mean, &deviation, gp, &points[0]);
    assert_true(fabs(mean) < 1e-9 && isfinite(deviation));
    ak_gp_predict(&mean, &deviation, gp, &points[1]);
    assert_true(fabs(mean) < 1e-9 && isfinite(deviation));
    double ones[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        ones[i] = 1.0; /* all failed */
    }
    ak_gp_learn(gp, ones);
    ak_gp_predict(&mean, &deviation, gp, &points[1]);
    assert_true(mean > 0.3 && mean < 1.1 && isfinite(deviation));
    ak_features none = {0};
    static const ak_gp_options options = {4, 0, 5.0, 0.0}; /* no noise either */
    ak_gp *empty = NULL;
    assert_int_equal(ak_gp_open(&empty, &none, &options, NULL), AK_OK);
    for (size_t i = 0; i < 4; i++) {
        ak_gp_add(empty, &points[0]);
    }
    ak_gp_learn(empty, ones);
    ak_gp_tune(empty, 5);
    ak_gp_predict(&mean, &deviation, empty, &points[0]);
    assert_true(fabs(mean - 1.0) < 1e-6 && isfinite(deviation));
    ak_gp_close(empty);
}

/* Returns the weight of a hint: how far the prediction moves if only the hint changes. */
static double weight_of_hint(void)
{
    double low, high, deviation;
    ak_point at = others[0];
    ak_gp_truncate(gp, 0);
    add(0, 20);
    ak_gp_learn(gp, y);
    ak_gp_tune(gp, 200);
    at.hint = 0.0;
    ak_gp_predict(&low, &deviation, gp, &at);
    at.hint = 1.0;
    ak_gp_predict(&high, &deviation, gp, &at);
    return fabs(high - low);
}

/* A hint that explains y is used, and one that does not has no weight. This may change with new
   data. */
static void test_hint(void **state)
{
    (void)state;
    ak_rng rng;
    ak_rng_seed(&rng, 5);
    for (size_t right = 0; right < 3; right++) {
        for (size_t i = 0; i < 20; i++) {
            points[i].hint = right != 1 ? y[i] : (double)ak_rng_below(&rng, 1000) / 1000.0;
        }
        double weight = weight_of_hint();
        assert_true(right != 1 ? weight > 0.3 : weight == 0.0);
    }
    for (size_t i = 0; i < 20; i++) {
        points[i].hint = 0.0;
    }
}

static void test_refuses(void **state)
{
    (void)state;
    ak_gp *none = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_gp_options options = {AK_GP_ROWS_MAX + 1, 1, 5.0, NOISE};
    assert_int_equal(ak_gp_open(&none, &features, &options, &err), AK_INVALID);
    options.rows = 0;
    assert_int_equal(ak_gp_open(&none, &features, &options, &err), AK_INVALID);
    options.rows = 8;
    ak_status status = AK_NO_MEMORY;
    for (size_t nth = 1; status != AK_OK && nth < 30; nth++) {
        ak_alloc_fail_at(nth);
        status = ak_gp_open(&none, &features, &options, &err);
        ak_alloc_fail_at(0);
        assert_true(status == AK_OK || (status == AK_NO_MEMORY && none == NULL));
    }
    assert_int_equal(status, AK_OK);
    ak_gp_close(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_posterior),        cmocka_unit_test(test_prior),
        cmocka_unit_test(test_incremental),      cmocka_unit_test(test_learns),
        cmocka_unit_test(test_nothing_to_learn), cmocka_unit_test(test_hint),
        cmocka_unit_test(test_refuses),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
