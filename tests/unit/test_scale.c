/* test_scale.c: tests that times of more configurations than one comparison can take are brought
   to one scale, and that losses of runs over many sizes count
   what is decided only. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
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

/* The winner of a size is the configuration that the verdicts name, whatever the medians are. */
static void a_winner_is_taken_as_it_was_measured(void **state)
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
    assert_false(sizes[0].measured);
}

/* The first size is decided; at the second a busy machine made the control too uncertain. */
static void what_is_not_decided_is_in_no_loss(void **state)
{
    (void)state;
    double costs[] = {1, 1, 2, 4};
    ak_speed speeds[] = {
        {1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE},
        {1, 1, 1, AK_SPEED_UNDECIDED, AK_DOUBT_CONTROL},
        {0.5, 0.4, 0.6, AK_SPEED_SLOWER, AK_DOUBT_NONE},
        {0.25, 0.1, 2, AK_SPEED_UNDECIDED, AK_DOUBT_CONTROL},
    };
    ak_size_result sizes[] = {{.measured = true, .cost = 1}, {.measured = true, .cost = 1}};
    ak_sizes_result result = {
        .sizes = sizes, .size_count = 2, .config_count = 2, .costs = costs, .speeds = speeds};
    const ak_sizes_request request = {.table = 1};
    ak_many m = {.result = &result, .request = &request};
    assert_int_equal(ak_many_choose(&m, NULL), AK_OK);
    assert_true(result.table_count == 1 && result.table[0] == 0);
    assert_true(result.alone[0].open == 1 && result.alone[0].worst == 1);
    assert_true(result.alone[1].open == 1 && result.alone[1].worst == 2);
    assert_true(fabs(result.alone[1].geomean - 2) < 1e-9 && result.alone[1].worst_size == 0);
    assert_int_equal(result.tradeoff[0].open, 1);
    assert_true(sizes[0].verdict == AK_SPEED_NONE && sizes[0].loss_high == 1);
    assert_true(sizes[1].verdict == AK_SPEED_UNDECIDED && sizes[1].loss_high == 0);
    assert_int_equal(ak_many_confirm(&m, NULL), AK_OK);
    assert_true(result.loss.open == 1 && result.loss.geomean == 1);
    ak_free(result.table);
    ak_free(result.tradeoff);
    ak_free(result.alone);
}

/* A number of configurations that cannot serve every size is listed with those that serve most. */
static void what_serves_most_sizes_is_in_the_tradeoff(void **state)
{
    (void)state;
    enum { CONFIGS = 3, SIZES = 3 };
    /* The first serves no other size, the second two; the third is slower than the second. */
    double costs[CONFIGS * SIZES] = {1, 0, 0, /**/ 0, 2, 2, /**/ 0, 4, 4};
    ak_speed speeds[CONFIGS * SIZES];
    ak_size_result sizes[SIZES] = {{0}};
    for (size_t i = 0; i < CONFIGS * SIZES; i++) {
        const double ratio = costs[i] > 2 ? 0.5 : costs[i] > 0 ? 1 : 0;
        speeds[i] = (ak_speed){ratio, ratio, ratio, ratio == 0.5 ? AK_SPEED_SLOWER : AK_SPEED_NONE,
                               AK_DOUBT_NONE};
    }
    for (size_t s = 0; s < SIZES; s++) {
        sizes[s] = (ak_size_result){.measured = true, .cost = s == 0 ? 1 : 2};
    }
    ak_sizes_result result = {.sizes = sizes,
                              .size_count = SIZES,
                              .config_count = CONFIGS,
                              .costs = costs,
                              .speeds = speeds};
    const ak_sizes_request request = {.table = 1};
    ak_many m = {.result = &result, .request = &request};
    assert_int_equal(ak_many_choose(&m, NULL), AK_OK);
    assert_int_equal(result.table_count, 0);
    assert_int_equal(result.tradeoff_count, 2); /* a third one would not help */
    assert_true(result.tradeoff[0].configs == 1 && result.tradeoff[0].unusable == 1);
    assert_true(result.tradeoff[0].geomean == 1 && result.tradeoff[0].worst == 1);
    assert_true(result.tradeoff[1].configs == 2 && result.tradeoff[1].unusable == 0);
    ak_free(result.tradeoff);
    ak_free(result.alone);
}

/* A new winner is as far from slower ones as the old one was, or farther; about the others nothing
   was decided. */
static void a_new_winner_keeps_what_was_decided(void **state)
{
    (void)state;
    const ak_speed over_old = {2, 1.6, 2.5, AK_SPEED_FASTER, AK_DOUBT_NONE};
    ak_speed slow = {0.8, 0.75, 0.85, AK_SPEED_SLOWER, AK_DOUBT_NONE};
    ak_speed tie = {1, 0.99, 1.01, AK_SPEED_TIE, AK_DOUBT_NONE}, failed = {0};
    ak_many_rebase(&slow, &over_old);
    ak_many_rebase(&tie, &over_old);
    ak_many_rebase(&failed, &over_old);
    assert_true(slow.verdict == AK_SPEED_SLOWER && slow.ratio == 0.4 && slow.low == 0.3);
    assert_true(tie.verdict == AK_SPEED_UNDECIDED && tie.ratio == 0.5 && tie.high < 0.64);
    assert_true(failed.ratio == 0 && failed.verdict == AK_SPEED_NONE);
}

/* Speeds are relative to the new winner also if the old one fails in the comparison that finds the
   new one. */
static void a_winner_that_fails_later_is_no_reference(void **state)
{
    (void)state;
    enum { OLD, SLOW, NEW, OTHER, LATER, ALL };
    ak_speed speeds[ALL] = {{0}};
    const double costs[ALL] = {[OLD] = 2, [SLOW] = 4, [NEW] = 1, [OTHER] = 3, [LATER] = 0};
    ak_scale_speeds known = {.speeds = speeds, .costs = costs, .count = ALL, .winner = ALL};
    const size_t first[] = {OLD, SLOW}, second[] = {NEW, OTHER, OLD};
    const ak_speed at_first[] = {{1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE},
                                 {0.5, 0.4, 0.6, AK_SPEED_SLOWER, AK_DOUBT_NONE}};
    const ak_speed at_second[] = {{1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE},
                                  {0.3, 0.2, 0.4, AK_SPEED_SLOWER, AK_DOUBT_NONE},
                                  {.ratio = 0}};
    ak_scale_take_speeds(&known, first, at_first, 2, 0);
    assert_true(known.winner == OLD && speeds[SLOW].ratio == 0.5);
    ak_scale_take_speeds(&known, second, at_second, 3, 0);
    assert_true(known.winner == NEW && speeds[NEW].ratio == 1 && speeds[OTHER].ratio == 0.3);
    assert_true(speeds[OLD].ratio == 0.5 && speeds[OLD].verdict == AK_SPEED_UNDECIDED);
    assert_true(speeds[SLOW].ratio == 0.25 && speeds[SLOW].verdict == AK_SPEED_UNDECIDED);
    assert_true(speeds[SLOW].low == 0 && speeds[SLOW].high == 0 && speeds[LATER].ratio == 0);
    assert_true(speeds[OTHER].verdict == AK_SPEED_SLOWER);
}

/* An old winner that works takes the known speeds along. */
static void a_winner_that_is_beaten_takes_the_others_along(void **state)
{
    (void)state;
    const double costs[] = {2, 4, 1};
    ak_speed speeds[] = {{1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE},
                         {0.5, 0.4, 0.6, AK_SPEED_SLOWER, AK_DOUBT_NONE},
                         {.ratio = 0}};
    ak_scale_speeds known = {.speeds = speeds, .costs = costs, .count = 3, .winner = 0};
    const size_t list[] = {2, 0};
    const ak_speed measured[] = {{1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE},
                                 {0.5, 0.4, 0.625, AK_SPEED_SLOWER, AK_DOUBT_NONE}};
    ak_scale_take_speeds(&known, list, measured, 2, 0);
    assert_true(known.winner == 2 && speeds[0].ratio == 0.5 && speeds[0].low == 0.4);
    assert_true(speeds[1].ratio == 0.25 && speeds[1].verdict == AK_SPEED_SLOWER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_winner_is_brought_to_one_scale),
        cmocka_unit_test(what_does_not_work_is_no_scale),
        cmocka_unit_test(a_winner_is_taken_as_it_was_measured),
        cmocka_unit_test(what_is_not_decided_is_in_no_loss),
        cmocka_unit_test(what_serves_most_sizes_is_in_the_tradeoff),
        cmocka_unit_test(a_new_winner_keeps_what_was_decided),
        cmocka_unit_test(a_winner_that_fails_later_is_no_reference),
        cmocka_unit_test(a_winner_that_is_beaten_takes_the_others_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
