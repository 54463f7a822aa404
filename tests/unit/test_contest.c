/* test_contest.c: tests which candidate is the best of a comparison, with figures from finishes on
   busy machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "autokernel/autokernel.h"
#include "measure/contest.h"
#include "archive/finish_order.h"

static size_t best_of(const ak_contender *list, size_t count)
{
    size_t order[AK_CONTEST_MAX];
    return ak_contest_order(order, list, count) > 0 ? order[0] : count;
}

#define SELF                                                                                       \
    {                                                                                              \
        1, 1, 1, AK_SPEED_NONE, AK_DOUBT_NONE                                                      \
    }

static ak_contender of(double cost, ak_speed speed)
{
    return (ak_contender){.cost = cost, .over_default = speed, .over_reference = speed};
}

/* A candidate with the verdict "faster" is before the default, although the default has the lower
   median. */
static void the_default_loses_to_what_is_faster(void **state)
{
    (void)state;
    const ak_contender list[] = {
        of(0.6246, (ak_speed){1.302, 1.290, 1.315, AK_SPEED_FASTER, AK_DOUBT_NONE}),
        of(0.7822, (ak_speed){0.980, 0.977, 0.984, AK_SPEED_SLOWER, AK_DOUBT_NONE}),
        of(0.6023, (ak_speed){0.973, 0.967, 0.979, AK_SPEED_SLOWER, AK_DOUBT_NONE}),
        of(0.5921, (ak_speed)SELF),
    };
    size_t order[AK_CONTEST_MAX];
    assert_int_equal(best_of(list, 4), 0);
    assert_int_equal(ak_contest_order(order, list, 4), 4);
    assert_int_equal(order[0], 0);
    assert_int_equal(order[1], 3);
    assert_int_equal(order[2], 2); /* the intervals overlap, so the medians decide */
    assert_int_equal(order[3], 1);
}

static void what_is_not_decided_loses_to_what_is_faster(void **state)
{
    (void)state;
    ak_contender list[] = {
        of(0.6408, (ak_speed){1.225, 1.097, 1.367, AK_SPEED_UNDECIDED, AK_DOUBT_VARIES}),
        of(0.5630, (ak_speed){1.195, 1.114, 1.283, AK_SPEED_UNDECIDED, AK_DOUBT_BUSY}),
        of(0.5948, (ak_speed){1.312, 1.293, 1.331, AK_SPEED_FASTER, AK_DOUBT_NONE}),
        of(0.6300, (ak_speed)SELF),
    };
    assert_int_equal(best_of(list, 4), 2);
    /* Unless all that is known of it is above. */
    list[1].over_default = list[1].over_reference =
        (ak_speed){2.0, 1.7, 2.3, AK_SPEED_UNDECIDED, AK_DOUBT_VARIES};
    assert_int_equal(best_of(list, 4), 1);
}

static void intervals_decide_between_two_that_are_faster(void **state)
{
    (void)state;
    ak_contender list[] = {
        of(0.4650, (ak_speed){1.267, 1.239, 1.296, AK_SPEED_FASTER, AK_DOUBT_NONE}),
        of(0.6550, (ak_speed){1.318, 1.306, 1.331, AK_SPEED_FASTER, AK_DOUBT_NONE}),
        of(0.6124, (ak_speed)SELF),
    };
    assert_int_equal(best_of(list, 3), 1);
    list[0].over_default.high = list[0].over_reference.high = 1.31; /* they overlap */
    assert_int_equal(best_of(list, 3), 0);
}

/* If verdicts are undecided, or candidates were not compared, the medians decide. */
static void without_a_decision_the_medians_count(void **state)
{
    (void)state;
    const ak_speed open = {1.2, 0.9, 1.6, AK_SPEED_UNDECIDED, AK_DOUBT_VARIES}, none = {0};
    const ak_contender list[] = {of(0.9, open), of(0.8, open), of(1, (ak_speed)SELF), of(0, open)};
    const ak_contender unknown[] = {of(3, none), of(2, none), of(0, none)};
    size_t order[AK_CONTEST_MAX];
    assert_int_equal(best_of(list, 4), 1);
    assert_int_equal(ak_contest_order(order, list, 4), 3); /* the last was not measured */
    assert_int_equal(best_of(unknown, 3), 1);
    assert_int_equal(best_of(unknown + 2, 1), 1);
    assert_int_equal(best_of(NULL, 0), 0);
}

/* If the speeds over the default and over the library contradict each other, the default counts. */
static void two_opponents(void **state)
{
    (void)state;
    const ak_speed fast = {1.3, 1.29, 1.31, AK_SPEED_FASTER, AK_DOUBT_NONE};
    const ak_speed slow = {0.7, 0.69, 0.71, AK_SPEED_SLOWER, AK_DOUBT_NONE};
    const ak_speed open = {1.2, 0.9, 1.6, AK_SPEED_UNDECIDED, AK_DOUBT_VARIES};
    const ak_contender list[] = {{.cost = 2, .over_default = fast, .over_reference = slow},
                                 {.cost = 1, .over_default = SELF, .over_reference = fast}};
    const ak_contender library[] = {{.cost = 2, .over_default = open, .over_reference = fast},
                                    {.cost = 1, .over_default = open, .over_reference = slow}};
    assert_int_equal(best_of(list, 2), 0);
    assert_int_equal(best_of(library, 2), 0);
}

/* Tables of a comparison and of an archived finish have the same order. In the latter, libraries
   follow. */
static void the_same_order_everywhere(void **state)
{
    (void)state;
    const ak_compared list[] = {
        {.config = (char *)"A=1", .median_ms = 1, .ratio = 1, .ratio_low = 1, .ratio_high = 1},
        {.name = (char *)"library", .median_ms = 0.5},
        {.config = (char *)"A=2",
         .median_ms = 1.1,
         .ratio = 1.3,
         .ratio_low = 1.29,
         .ratio_high = 1.31,
         .verdict = AK_SPEED_FASTER},
        {.config = (char *)"A=3"}, /* it failed */
    };
    size_t order[AK_COMPARED_MAX];
    assert_int_equal(ak_compared_order(order, list, 4), 2);
    assert_int_equal(order[0], 2);
    assert_int_equal(order[1], 0);
    json_t *record = json_pack(
        "[{s:s,s:f,s:f,s:[f,f],s:n},{s:n,s:f},{s:s,s:f,s:f,s:[f,f],s:s},{s:s,s:n},{s:n,s:f}]",
        "config", "A=1", "ms", 1.0, "ratio", 1.0, "ratio_ci", 1.0, 1.0, "verdict", "config", "ms",
        0.5, "config", "A=2", "ms", 1.1, "ratio", 1.3, "ratio_ci", 1.29, 1.31, "verdict", "faster",
        "config", "A=3", "ms", "config", "ms", 0.4);
    ak_finish_order finish;
    const size_t wanted[] = {2, 0, 4, 1, 3};
    assert_non_null(record);
    ak_finish_order_of(&finish, record);
    assert_int_equal(finish.ranks, 2);
    assert_int_equal(finish.count, 5);
    assert_memory_equal(finish.list, wanted, sizeof wanted);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_default_loses_to_what_is_faster),
        cmocka_unit_test(what_is_not_decided_loses_to_what_is_faster),
        cmocka_unit_test(intervals_decide_between_two_that_are_faster),
        cmocka_unit_test(without_a_decision_the_medians_count),
        cmocka_unit_test(two_opponents),
        cmocka_unit_test(the_same_order_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
