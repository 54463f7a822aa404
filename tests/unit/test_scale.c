/* test_scale.c: tests that times of more configurations than one comparison can take are brought
   to one scale. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tuner/scale.h"
#include "tuner/sizes_run.h"

enum { COUNT = 70, MOST = 22 };

/* Returns the index of the fastest so far; `count` if there is none. */
static size_t anchor_of(const double *ms, size_t count)
{
    size_t anchor = count;
    for (size_t i = 0; i < count; i++) {
        anchor = ms[i] > 0 && (anchor == count || ms[i] < ms[anchor]) ? i : anchor;
    }
    return anchor;
}

/* Compares all configurations in groups, each on a slower machine than the one before. The fastest
   may be in any group. */
static void compare_all(double *ms, const double *truth, size_t count)
{
    size_t list[MOST + 1], next = 0, of;
    double slower = 1;
    for (size_t i = 0; i < count; i++) {
        ms[i] = 0;
    }
    while ((of = ak_scale_next(list, &next, anchor_of(ms, count), count, MOST)) > 0) {
        double measured[MOST + 1];
        assert_in_range(of, 1, MOST + 1);
        for (size_t i = 0; i < of; i++) {
            measured[i] = truth[list[i]] * slower;
        }
        ak_scale_take(ms, list, measured, of);
        slower *= 1.7;
    }
}

static void every_winner_is_brought_to_one_scale(void **state)
{
    (void)state;
    double truth[COUNT], ms[COUNT];
    for (size_t winner = 0; winner < COUNT; winner++) {
        for (size_t i = 0; i < COUNT; i++) {
            truth[i] = i == winner ? 1 : 2 + (double)(i % 7);
        }
        compare_all(ms, truth, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            assert_true(fabs(ms[i] - truth[i]) < 1e-9);
        }
    }
}

static void what_does_not_work_is_no_scale(void **state)
{
    (void)state;
    double truth[COUNT] = {0}, ms[COUNT];
    truth[40] = 3; /* all of the first comparison fail */
    truth[69] = 6;
    compare_all(ms, truth, COUNT);
    assert_true(ms[0] == 0 && ms[21] == 0);
    assert_true(fabs(ms[69] / ms[40] - 2) < 1e-9);
    size_t list[MOST + 1], next = 3;
    assert_int_equal(ak_scale_next(list, &next, 1, 3, MOST), 0);
}

/* If verdicts make the second configuration the winner of the second size, lower costs of others at
   that size are raised to its cost, so that no table can look faster than the winner. */
static void nothing_costs_less_than_the_winner(void **state)
{
    (void)state;
    double ms[] = {1, 2.0, 1, 2.5, 1, 0}, costs[] = {1, 2.0, 1, 2.5, 1, 0};
    ak_size_result sizes[2] = {{0}, {0}};
    ak_sizes_result result = {
        .sizes = sizes, .size_count = 2, .config_count = 3, .ms = ms, .costs = costs};
    ak_task task = {0}, *tasks[] = {&task, &task};
    double low[] = {1, 1.9, 1, 2.4, 1, 0}, high[] = {1, 2.1, 1, 2.6, 1, 0};
    ak_many m = {.result = &result, .tasks = tasks, .low_ms = low, .high_ms = high};
    ak_many_set_winner(&m, 1, 1);
    assert_true(sizes[1].measured && sizes[1].winner == 1);
    assert_true(sizes[1].ms == 2.5 && sizes[1].cost == 2.5);
    assert_true(sizes[1].low_ms == 2.4 && sizes[1].high_ms == 2.6);
    assert_true(costs[1] == 2.5 && costs[3] == 2.5);
    assert_true(costs[5] == 0); /* what cannot be used stays so */
    assert_true(costs[0] == 1 && ms[1] == 2.0);
    assert_false(sizes[0].measured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_winner_is_brought_to_one_scale),
        cmocka_unit_test(what_does_not_work_is_no_scale),
        cmocka_unit_test(nothing_costs_less_than_the_winner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
