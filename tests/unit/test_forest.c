/* test_forest.c: compares a random forest with results computed by hand, also for data from which
   nothing can be learned. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "model/forest.h"
#include "space_fixture.h"

/* A space with numbers out of order, a constant, texts, and a switch. */
static const char mixed_text[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [64, 8, 32, 16]},"
    "{\"Name\": \"K\", \"Type\": \"int\", \"Values\": [5]},"
    "{\"Name\": \"C\", \"Type\": \"string\", \"Values\": [\"x\", \"y\", \"z\"]},"
    "{\"Name\": \"D\", \"Type\": \"bool\", \"Values\": [true, false]}]}";

enum { A, C, D, COLUMNS, ALL = 4 * 3 * 2 };

static ak_space *space, *single;
static ak_features features;
static uint16_t rows[ALL * COLUMNS]; /* the whole product */

static int set_up(void **state)
{
    (void)state;
    space = fixture_space(mixed_text);
    single = fixture_space("{\"TuningParameters\": [{\"Name\": \"A\", \"Type\": \"int\", "
                           "\"Values\": [3]}]}");
    if (ak_features_open(&features, space, NULL) != AK_OK || ak_space_count(space) != ALL) {
        return -1;
    }
    for (size_t i = 0; i < ALL; i++) {
        ak_config config;
        ak_space_at(&config, space, i);
        ak_features_row(rows + i * COLUMNS, &features, &config);
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    ak_features_close(&features);
    ak_space_free(space);
    ak_space_free(single);
    return 0;
}

static void test_features(void **state)
{
    (void)state;
    assert_int_equal(features.count, COLUMNS);
    assert_true(features.column[A].ordered && !features.column[C].ordered);
    assert_true(features.column[D].ordered);
    assert_int_equal(features.column[A].levels, 4);
    assert_int_equal(features.column[C].parameter, 2);
    static const uint16_t ranks[] = {3, 0, 2, 1};
    assert_memory_equal(features.column[A].level, ranks, sizeof ranks);
    ak_features none;
    assert_int_equal(ak_features_open(&none, single, NULL), AK_OK);
    assert_int_equal(none.count, 0);
    ak_features_close(&none);
}

/* Options of a forest that reproduces its data exactly, so that its effects can be computed by
   hand. */
static const ak_forest_options exact = {
    .trees = 3, .leaf_min = 1, .share = 1.0, .leaf_spread = 1e-3, .seed = 1};

static ak_forest *fit(const double *y, size_t count, const ak_forest_options *options)
{
    ak_forest *forest = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_forest_data data = {&features, rows, y, count};
    if (ak_forest_fit(&forest, &data, options, &err) != AK_OK) {
        fail_msg("%s", err.text);
    }
    return forest;
}

static void test_remembers(void **state)
{
    (void)state;
    double y[ALL];
    for (size_t i = 0; i < ALL; i++) {
        y[i] = (double)((i * 7) % 11);
    }
    ak_forest *forest = fit(y, ALL, &exact);
    for (size_t i = 0; i < ALL; i++) {
        double mean, variance;
        ak_forest_predict(&mean, &variance, forest, rows + i * COLUMNS);
        assert_true(fabs(mean - y[i]) < 1e-12);
        assert_true(fabs(variance - 1e-6) < 1e-12); /* the leaf's spread at least */
    }
    ak_forest_free(forest);
}

static double effect(const ak_forest *forest, size_t column)
{
    double shares[COLUMNS];
    assert_int_equal(ak_forest_effects(shares, forest, NULL), AK_OK);
    return shares[column];
}

static double interaction(const ak_forest *forest, size_t a, size_t b)
{
    double shares[COLUMNS];
    assert_int_equal(ak_forest_interactions(shares, forest, a, NULL), AK_OK);
    assert_true(shares[a] == 0.0);
    return shares[b];
}

/* For y = a + 2 [c = z] + 0.5 d the variances 15/12 = 1.25, 4 * 2/9 and 1/16 add up. */
static void test_effects_add_up(void **state)
{
    (void)state;
    double y[ALL];
    for (size_t i = 0; i < ALL; i++) {
        const uint16_t *row = rows + i * COLUMNS;
        y[i] = row[A] + 2.0 * (row[C] == 2) + 0.5 * row[D];
    }
    ak_forest *forest = fit(y, ALL, &exact);
    double total = 1.25 + 8.0 / 9.0 + 0.0625;
    assert_true(fabs(effect(forest, A) - 1.25 / total) < 1e-9);
    assert_true(fabs(effect(forest, C) - 8.0 / 9.0 / total) < 1e-9);
    assert_true(fabs(effect(forest, D) - 0.0625 / total) < 1e-9);
    assert_true(interaction(forest, A, C) < 1e-9);
    ak_forest_free(forest);
}

/* If y depends on A and D only together, all variance is in their interaction. */
static void test_interaction(void **state)
{
    (void)state;
    double y[ALL];
    for (size_t i = 0; i < ALL; i++) {
        const uint16_t *row = rows + i * COLUMNS;
        y[i] = (row[A] < 2) != (row[D] == 1);
    }
    ak_forest *forest = fit(y, ALL, &exact);
    assert_true(effect(forest, A) < 1e-9);
    assert_true(effect(forest, D) < 1e-9);
    assert_true(fabs(interaction(forest, A, D) - 1.0) < 1e-9);
    assert_true(fabs(interaction(forest, D, A) - 1.0) < 1e-9);
    assert_true(interaction(forest, A, C) < 1e-9);
    ak_forest_free(forest);
}

/* Returns the variance of the predictions, averaged over all columns but `a` and `b`, which may be
   the same. This is the definition; the forest computes the variance in another way. */
static double variance_by_definition(const double *predicted, size_t a, size_t b)
{
    double squares = 0.0, mean = 0.0;
    for (size_t i = 0; i < ALL; i++) {
        double sum = 0.0, alike = 0.0;
        for (size_t j = 0; j < ALL; j++) {
            const uint16_t *one = rows + i * COLUMNS, *other = rows + j * COLUMNS;
            if (one[a] == other[a] && one[b] == other[b]) {
                sum += predicted[j];
                alike += 1.0;
            }
        }
        squares += sum / alike * (sum / alike) / ALL;
        mean += predicted[i] / ALL;
    }
    return squares - mean * mean;
}

static void test_shares_by_definition(void **state)
{
    (void)state;
    double y[ALL], predicted[ALL];
    ak_rng rng;
    ak_rng_seed(&rng, 7);
    for (size_t i = 0; i < ALL; i++) {
        y[i] = rows[i * COLUMNS + A] * (rows[i * COLUMNS + C] == 1) + ak_rng_real(&rng);
    }
    ak_forest_options one_tree = {.trees = 1, .leaf_min = 1, .share = 0.7, .bootstrap = true};
    for (one_tree.seed = 1; one_tree.seed <= 8; one_tree.seed++) {
        ak_forest *forest = fit(y, ALL, &one_tree);
        double squares = 0.0, mean = 0.0, alone[COLUMNS];
        for (size_t i = 0; i < ALL; i++) {
            ak_forest_predict(&predicted[i], NULL, forest, rows + i * COLUMNS);
            squares += predicted[i] * predicted[i] / ALL;
            mean += predicted[i] / ALL;
        }
        double all = squares - mean * mean;
        for (size_t c = 0; c < COLUMNS; c++) {
            alone[c] = variance_by_definition(predicted, c, c);
            assert_true(fabs(effect(forest, c) - alone[c] / all) < 1e-12);
        }
        for (size_t a = 0; a < COLUMNS; a++) {
            for (size_t b = 0; b < COLUMNS; b++) {
                double both = variance_by_definition(predicted, a, b) - alone[a] - alone[b];
                both = a == b ? 0.0 : both / all;
                assert_true(fabs(interaction(forest, a, b) - both) < 1e-12);
            }
        }
        ak_forest_free(forest);
    }
}

/* Trees that were fitted to different halves of the rows disagree about rows that neither has
   seen. */
static void test_knows_what_it_does_not_know(void **state)
{
    (void)state;
    enum { SEEN = 12 };
    double y[ALL];
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.leaf_min = 1;
    for (size_t i = 0; i < ALL; i++) { /* A comes first: of its four values two are seen */
        const uint16_t *row = rows + i * COLUMNS;
        y[i] = 3.0 * row[A] + row[D];
    }
    ak_forest *forest = fit(y, SEEN, &options);
    double seen = 0.0, unseen = 0.0, error = 0.0;
    for (size_t i = 0; i < ALL; i++) {
        double mean, variance;
        ak_forest_predict(&mean, &variance, forest, rows + i * COLUMNS);
        assert_true(isfinite(mean) && variance > 0.0);
        *(i < SEEN ? &seen : &unseen) += variance / SEEN;
        error += i < SEEN ? fabs(mean - y[i]) / SEEN : 0.0;
    }
    assert_true(unseen > seen);
    assert_true(error < 1.0);
    ak_forest_free(forest);
}

/* The out-of-bag R2 is high for data that can be learned and low for noise. */
static void test_out_of_bag(void **state)
{
    (void)state;
    double y[ALL], noise[ALL], same[ALL];
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.trees = 200;
    ak_rng rng;
    ak_rng_seed(&rng, 3);
    for (size_t i = 0; i < ALL; i++) {
        y[i] = 3.0 * rows[i * COLUMNS + A] + rows[i * COLUMNS + D];
        noise[i] = ak_rng_real(&rng);
        same[i] = 2.0;
    }
    ak_forest *forest = fit(y, ALL, &options);
    assert_true(ak_forest_out_of_bag(forest) > 0.9 && ak_forest_out_of_bag(forest) < 1.0);
    ak_forest_free(forest);
    forest = fit(noise, ALL, &options);
    assert_true(ak_forest_out_of_bag(forest) < 0.2);
    ak_forest_free(forest);
    forest = fit(same, ALL, &options);
    assert_true(isnan(ak_forest_out_of_bag(forest)));
    ak_forest_free(forest);
    forest = fit(y, ALL, &exact);
    assert_true(isnan(ak_forest_out_of_bag(forest)));
    ak_forest_free(forest);
}

static void test_seeded(void **state)
{
    (void)state;
    double y[ALL];
    for (size_t i = 0; i < ALL; i++) {
        y[i] = sin((double)i);
    }
    ak_forest_options options = AK_FOREST_DEFAULT;
    ak_forest *forest[3];
    for (size_t i = 0; i < 3; i++) {
        options.seed = i == 2 ? 9 : 4;
        forest[i] = fit(y, ALL, &options);
    }
    double differ = 0.0;
    for (size_t i = 0; i < ALL; i++) {
        double mean[3];
        for (size_t j = 0; j < 3; j++) {
            ak_forest_predict(&mean[j], NULL, forest[j], rows + i * COLUMNS);
        }
        assert_true(mean[0] == mean[1]);
        differ += fabs(mean[0] - mean[2]);
    }
    assert_true(differ > 0.0);
    for (size_t i = 0; i < 3; i++) {
        ak_forest_free(forest[i]);
    }
}

static void test_nothing_to_learn(void **state)
{
    (void)state;
    static const ak_forest_options usual = AK_FOREST_DEFAULT;
    double mean, variance;
    double y[ALL] = {0};
    for (size_t count = 1; count <= ALL; count += ALL - 1) { /* one trial; all alike */
        for (size_t i = 0; i < count; i++) {
            y[i] = 1e6;
        }
        ak_forest *forest = fit(y, count, &usual);
        ak_forest_predict(&mean, &variance, forest, rows + COLUMNS);
        assert_true(mean == 1e6 && fabs(variance - 1e-6) < 1e-12);
        assert_true(effect(forest, A) == 0.0);
        assert_true(interaction(forest, A, C) == 0.0);
        ak_forest_free(forest);
    }
    /* One configuration, measured often: no column can tell the trials apart. */
    uint16_t same[8 * COLUMNS] = {0};
    double times[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    ak_forest *forest = NULL;
    ak_forest_data data = {&features, same, times, 8};
    assert_int_equal(ak_forest_fit(&forest, &data, &exact, NULL), AK_OK);
    ak_forest_predict(&mean, &variance, forest, same);
    assert_true(fabs(mean - 4.5) < 1e-12 && fabs(variance - 5.25) < 1e-12);
    ak_forest_free(forest);
    /* Not even a column. */
    ak_features none = {0};
    data.features = &none;
    assert_int_equal(ak_forest_fit(&forest, &data, &usual, NULL), AK_OK);
    ak_forest_predict(&mean, &variance, forest, same);
    assert_true(mean > 1.0 && mean < 8.0);
    ak_forest_free(forest);
    ak_forest_free(NULL);
}

static void test_refuses(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, INFINITY, -INFINITY};
    ak_error err = AK_ERROR_INIT;
    ak_forest *forest = NULL;
    double y[2] = {1.0, 2.0};
    ak_forest_data data = {&features, rows, y, 2};
    for (size_t i = 0; i < 3; i++) {
        y[1] = wrong[i];
        assert_int_equal(ak_forest_fit(&forest, &data, &exact, &err), AK_INVALID);
        assert_non_null(strstr(err.text, "trial 1"));
    }
    data.count = 0;
    assert_int_equal(ak_forest_fit(&forest, &data, &exact, &err), AK_INVALID);
    data.count = 1;
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.trees = AK_FOREST_TREES_MAX + 1;
    assert_int_equal(ak_forest_fit(&forest, &data, &options, &err), AK_INVALID);
    assert_null(forest);
}

static void test_no_memory(void **state)
{
    (void)state;
    double y[ALL];
    for (size_t i = 0; i < ALL; i++) {
        y[i] = (double)i;
    }
    static const ak_forest_options usual = AK_FOREST_DEFAULT;
    ak_forest_data data = {&features, rows, y, ALL};
    double shares[COLUMNS];
    ak_status status = AK_NO_MEMORY;
    for (size_t nth = 1; status != AK_OK && nth < 100; nth++) {
        ak_forest *forest = NULL;
        ak_features other;
        ak_alloc_fail_at(nth);
        status = ak_features_open(&other, space, NULL);
        if (status == AK_OK) {
            status = ak_forest_fit(&forest, &data, &usual, NULL);
            assert_true((status == AK_OK) == (forest != NULL));
        }
        status = status == AK_OK ? ak_forest_effects(shares, forest, NULL) : status;
        status = status == AK_OK ? ak_forest_interactions(shares, forest, A, NULL) : status;
        ak_alloc_fail_at(0);
        assert_true(status == AK_OK || status == AK_NO_MEMORY);
        ak_forest_free(forest);
        ak_features_close(&other);
    }
    assert_int_equal(status, AK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_features),
        cmocka_unit_test(test_remembers),
        cmocka_unit_test(test_effects_add_up),
        cmocka_unit_test(test_interaction),
        cmocka_unit_test(test_shares_by_definition),
        cmocka_unit_test(test_knows_what_it_does_not_know),
        cmocka_unit_test(test_out_of_bag),
        cmocka_unit_test(test_seeded),
        cmocka_unit_test(test_nothing_to_learn),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
