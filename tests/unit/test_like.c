/* test_like.c: tests lists of what was best elsewhere (like.h), and how long a search trusts
   them (transfer.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "archive/config_text.h"
#include "space_fixture.h"
#include "strategy/like.h"
#include "strategy/strategy.h"
#include "strategy/transfer.h"

#define SPACE                                                                                      \
    "{\"TuningParameters\": ["                                                                     \
    "{\"Name\": \"a\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 16]},"                          \
    "{\"Name\": \"b\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6]},"                        \
    "{\"Name\": \"c\", \"Type\": \"string\", \"Values\": [\"x\", \"y\"]},"                         \
    "{\"Name\": \"d\", \"Type\": \"int\", \"Values\": [0, 1]}],"                                   \
    "\"Conditions\": [{\"Parameters\": [\"a\", \"b\"], \"Expression\": \"a * b <= 64\"}]}"

static ak_error lost;

static void add(ak_like *like, int a, int b, const char *c, int d, double time)
{
    json_t *values = json_pack("{s:i, s:i, s:s, s:i}", "a", a, "b", b, "c", c, "d", d);
    assert_int_equal(ak_like_add(like, values, time, &lost), AK_OK);
    json_decref(values);
}

static ak_like *open_list(const ak_space *space)
{
    ak_like *like = ak_like_new(space);
    assert_non_null(like);
    assert_int_equal(ak_like_begin(like, "there", &lost), AK_OK);
    return like;
}

static const char *shown(const ak_space *space, const ak_config *config)
{
    static char text[128];
    (void)ak_config_format(text, sizeof text, space, config);
    return text;
}

/* The first candidate is the best of the list. The next ones differ from it in at least two
   parameters. */
static void candidates_differ(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_list(space);
    const ak_config *list;
    double time = 1;
    add(like, 8, 4, "x", 0, time++);
    add(like, 8, 5, "x", 0, time++); /* neighbours of the best */
    add(like, 4, 4, "x", 0, time++);
    add(like, 2, 5, "x", 0, time++);
    for (int i = 0; i < 40; i++) {
        add(like, 1, 1 + i % 6, i % 2 == 0 ? "x" : "y", 1, time++);
    }
    assert_int_equal(ak_like_finish(like, 1, &lost), AK_OK);
    assert_int_equal(ak_like_candidates(&list, like), 2);
    assert_string_equal(shown(space, &list[0]), "a=8,b=4,c=x,d=0");
    assert_string_equal(shown(space, &list[1]), "a=2,b=5,c=x,d=0");
    assert_true(ak_like_expects(like, &list[0]) < ak_like_expects(like, &list[1]) + 0.2);
    ak_config slow = list[0];
    assert_int_equal(ak_config_parse(&slow, space, "a=1,b=6,c=y,d=1", &lost), AK_OK);
    assert_true(ak_like_expects(like, &slow) > ak_like_expects(like, &list[0]) + 0.3);
    ak_like_free(like);
    ak_space_free(space);
}

/* A value that this space lacks becomes the nearest number, and an invalid configuration the
   nearest valid one. A configuration that names too few parameters or would change too much is
   counted and skipped. */
static void candidates_fit(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_list(space);
    const ak_config *list;
    json_t *foreign = json_pack("{s:i, s:i}", "a", 4, "other", 1);
    assert_int_equal(ak_like_add(like, foreign, 0.5, &lost), AK_OK);
    json_decref(foreign);
    add(like, 7, 4, "x", 0, 1);   /* 7 is nearest to 8 */
    add(like, 16, 6, "y", 1, 2);  /* 96 > 64: b=4 */
    add(like, 100, 6, "x", 1, 3); /* two changes of four parameters: too many */
    assert_int_equal(ak_like_finish(like, 1, &lost), AK_OK);
    assert_int_equal(ak_like_candidates(&list, like), 2);
    assert_string_equal(shown(space, &list[0]), "a=8,b=4,c=x,d=0");
    ak_config second = list[1];
    assert_true(ak_space_has(space, &second));
    assert_string_equal(ak_like_text(like),
                        "tried first, while it pays: the best 2 of there (4); 2 of them became the "
                        "nearest valid one; 2 have no place in this space");
    ak_like_free(like);
    ak_space_free(space);
}

/* Names of places may be paths of thousands of bytes. The line counts those that it cannot name. */
static void long_names_are_counted(void **state)
{
    (void)state;
    static char name[4000];
    ak_space *space = fixture_space(SPACE);
    ak_like *like = ak_like_new(space);
    assert_non_null(like);
    memset(name, 'n', sizeof name - 1);
    for (int i = 0; i < 16; i++) {
        assert_int_equal(ak_like_begin(like, i == 3 ? "short" : name, &lost), AK_OK);
        add(like, 8, 4, "x", 0, 1);
    }
    assert_int_equal(ak_like_finish(like, 1, &lost), AK_OK);
    assert_null(strstr(strstr(ak_like_text(like), name) + sizeof name, name));
    assert_non_null(strstr(ak_like_text(like), ", short (1) and 14 more places (14)"));
    ak_like_free(like);
    ak_space_free(space);
}

/* Times of different places (recordings or tasks) are not compared with each other, and the
   candidates of the places take turns. */
static void places_take_turns(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_list(space);
    const ak_config *list;
    add(like, 8, 4, "x", 0, 100);
    add(like, 1, 1, "y", 1, 200);
    assert_int_equal(ak_like_begin(like, "elsewhere", &lost), AK_OK);
    add(like, 2, 6, "y", 0, 1);
    add(like, 1, 2, "x", 1, HUGE_VAL);
    assert_int_equal(ak_like_finish(like, 1, &lost), AK_OK);
    assert_int_equal(ak_like_candidates(&list, like), 3); /* what failed is none */
    assert_string_equal(shown(space, &list[0]), "a=8,b=4,c=x,d=0");
    assert_string_equal(shown(space, &list[1]), "a=2,b=6,c=y,d=0");
    assert_string_equal(shown(space, &list[2]), "a=1,b=1,c=y,d=1");
    ak_like_free(like);
    ak_space_free(space);
}

/* Opens a list with five candidates. */
static ak_like *open_five(const ak_space *space)
{
    static const int b[] = {2, 3, 5, 1, 4};
    ak_like *like = ak_like_new(space);
    const ak_config *list;
    assert_non_null(like);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(ak_like_begin(like, "there", &lost), AK_OK);
        add(like, 1 << i, b[i], i % 2 == 0 ? "x" : "y", 0, 1);
    }
    assert_int_equal(ak_like_finish(like, 1, &lost), AK_OK);
    assert_int_equal(ak_like_candidates(&list, like), 5);
    return like;
}

static void observe(ak_transfer *transfer, const ak_config *config, double ms)
{
    ak_observation seen = {.config = config, .ok = ms > 0, .ms = ms};
    ak_transfer_observe(transfer, &seen);
}

/* Observes trials of configurations that are no candidates: all candidates have d=0. */
static void observe_others(ak_transfer *transfer, const ak_space *space, size_t count, double ms)
{
    ak_config config;
    for (size_t i = 0; i < count; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "a=1,b=%zu,c=x,d=1", i + 1);
        assert_int_equal(ak_config_parse(&config, space, text, &lost), AK_OK);
        observe(transfer, &config, ms);
    }
}

/* No candidate is proposed before there are trials to compare it with. A candidate that is slower
   than two of five trials ends the list. The list has one configuration for each place, so its
   order cannot be judged. */
static void what_misleads_costs_one_trial(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_five(space);
    ak_transfer transfer;
    ak_config config, other;
    assert_true(ak_like_reliability(like) == 0);
    ak_transfer_open(&transfer, like);
    observe_others(&transfer, space, 4, 7);
    assert_false(ak_transfer_next(&config, &transfer, 60));
    assert_true(ak_transfer_next(&config, &transfer, 24)); /* one trial in six of a short run */
    ak_transfer_open(&transfer, like);
    observe_others(&transfer, space, 2, 5);
    observe_others(&transfer, space, 3, 7);
    assert_true(ak_transfer_next(&config, &transfer, 60));
    assert_false(ak_transfer_next(&other, &transfer, 60)); /* one at a time */
    observe(&transfer, &config, 6);
    assert_true(ak_transfer_tried(&transfer, &config));
    assert_false(transfer.trusted);
    observe_others(&transfer, space, 2, 8);
    assert_false(ak_transfer_next(&config, &transfer, 60));
    ak_transfer_open(&transfer, NULL);
    observe_others(&transfer, space, 5, 5);
    assert_false(ak_transfer_next(&config, &transfer, 60));
    ak_like_free(like);
    ak_space_free(space);
}

/* Candidates are proposed as long as enough of them are better. A failed one counts as a miss. */
static void what_pays_goes_on(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_five(space);
    ak_transfer transfer;
    ak_config config;
    ak_transfer_open(&transfer, like);
    observe_others(&transfer, space, 5, 50);
    for (int i = 0; i < 3; i++) { /* a tenth of 20 is two: each hit allows as many again */
        assert_true(ak_transfer_next(&config, &transfer, 20));
        observe(&transfer, &config, 40 - i);
    }
    assert_true(ak_transfer_next(&config, &transfer, 20));
    observe(&transfer, &config, 0);
    assert_true(ak_transfer_next(&config, &transfer, 20)); /* three hits forgive one miss */
    observe(&transfer, &config, 45);
    assert_false(ak_transfer_next(&config, &transfer, 20)); /* the list is at its end */
    ak_like_free(like);
    ak_space_free(space);
}

/* A candidate that was already tried is skipped. */
static void what_was_tried_is_passed_over(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_five(space);
    const ak_config *list;
    ak_transfer transfer;
    ak_config config;
    ak_transfer_open(&transfer, like);
    (void)ak_like_candidates(&list, like);
    observe(&transfer, &list[0], 5);
    observe_others(&transfer, space, 3, 5);
    assert_false(ak_transfer_next(&config, &transfer, 0)); /* the budget is not known */
    observe_others(&transfer, space, 1, 5);
    assert_true(ak_transfer_next(&config, &transfer, 0));
    assert_false(ak_transfer_tried(&transfer, &list[0]));
    assert_memory_equal(&config, &list[1], sizeof config);
    ak_like_free(like);
    ak_space_free(space);
}

enum { FOLLOWED = 15 };

/* Returns the time of a configuration in this task. The fastest is a=8, b=5, d=1. */
static double time_of(const ak_config *config)
{
    double a = fabs(config->at[0] - 3.0), b = fabs(config->at[1] - 4.0);
    return 20.0 + 6.0 * a + 3.0 * b + 9.0 * (1.0 - config->at[3]);
}

/* Writes the proposals of bayes in a run of 30 trials with a list, which may be NULL. Returns the
   best time of these proposals; *tried is how many candidates of the list were tried. */
static double follow(ak_config *out, size_t *tried, const ak_space *space, const ak_like *like)
{
    ak_transfer transfer;
    ak_strategy_context context = {
        .space = space, .transfer = &transfer, .seed = 3, .evaluations = 30};
    ak_strategy *strategy = NULL;
    double best = HUGE_VAL;
    ak_transfer_open(&transfer, like);
    *tried = 0;
    assert_int_equal(ak_strategy_open(&strategy, &ak_strategy_bayes, &context, &lost), AK_OK);
    for (size_t i = 0; i < FOLLOWED;) {
        ak_proposal next = {0};
        bool found = true;
        if (ak_transfer_next(&next.config, &transfer, 30)) {
            ++*tried;
        } else {
            assert_int_equal(ak_strategy_bayes.propose(&next, &found, strategy, &lost), AK_OK);
            assert_true(found);
            out[i++] = next.config;
            best = fmin(best, time_of(&next.config));
        }
        ak_observation seen = {
            .config = &next.config, .ok = true, .ms = time_of(&next.config), .expected = 30};
        ak_transfer_observe(&transfer, &seen);
        assert_int_equal(ak_strategy_bayes.observe(strategy, &seen, &lost), AK_OK);
    }
    ak_strategy_close(strategy);
    return best;
}

/* Opens a list of every second configuration that is no faster than `fastest`. With `sign` 1, its
   times have the same order as in this task, with -1 the reverse order. */
static ak_like *open_all(const ak_space *space, double fastest, int sign)
{
    ak_like *like = open_list(space);
    for (uint64_t i = 1; i < ak_space_count(space); i += 2) { /* not the default, which is 0 */
        ak_config config;
        char text[128];
        json_t *values = NULL;
        ak_space_at(&config, space, i);
        double time = time_of(&config);
        if (time >= fastest) {
            (void)ak_config_format(text, sizeof text, space, &config);
            assert_int_equal(ak_config_text_to_json(&values, text, "list", &lost), AK_OK);
            assert_int_equal(ak_like_add(like, values, 100 + sign * time, &lost), AK_OK);
            json_decref(values);
        }
    }
    assert_int_equal(ak_like_finish(like, 1, &lost), AK_OK);
    return like;
}

/* A list in reverse order is recognised by its order, and no trial is wasted on it. */
static void a_wrong_order_costs_nothing(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_all(space, 0, -1);
    ak_config alone[FOLLOWED], told[FOLLOWED];
    size_t tried;
    assert_true(ak_like_reliability(like) > 0.5 && ak_like_reliability(like) <= 1);
    (void)follow(alone, &tried, space, NULL);
    assert_int_equal(tried, 0);
    (void)follow(told, &tried, space, like);
    assert_int_equal(tried, 0);
    assert_memory_equal(alone, told, sizeof alone);
    ak_like_free(like);
    ak_space_free(space);
}

/* A list of slow configurations has the right order, but its best is not good. After that one trial
   the search continues as if there were no list. */
static void a_miss_is_forgotten(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_all(space, 42, 1);
    ak_config alone[FOLLOWED], told[FOLLOWED];
    size_t tried;
    (void)follow(alone, &tried, space, NULL);
    (void)follow(told, &tried, space, like);
    assert_int_equal(tried, 1);
    assert_memory_equal(alone, told, sizeof alone);
    ak_like_free(like);
    ak_space_free(space);
}

/* If the order is right and the first candidate is fast, the model follows the list. */
static void a_fast_candidate_is_proof(void **state)
{
    (void)state;
    ak_space *space = fixture_space(SPACE);
    ak_like *like = open_all(space, 0, 1);
    ak_config alone[FOLLOWED], told[FOLLOWED];
    size_t tried;
    double without = follow(alone, &tried, space, NULL);
    double with = follow(told, &tried, space, like);
    assert_true(tried >= 1);
    assert_memory_equal(alone, told, 5 * sizeof *alone); /* the design */
    assert_memory_not_equal(alone, told, sizeof alone);
    assert_true(with <= without);
    ak_like_free(like);
    ak_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_differ),
        cmocka_unit_test(candidates_fit),
        cmocka_unit_test(long_names_are_counted),
        cmocka_unit_test(places_take_turns),
        cmocka_unit_test(what_misleads_costs_one_trial),
        cmocka_unit_test(what_pays_goes_on),
        cmocka_unit_test(what_was_tried_is_passed_over),
        cmocka_unit_test(a_wrong_order_costs_nothing),
        cmocka_unit_test(a_miss_is_forgotten),
        cmocka_unit_test(a_fast_candidate_is_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
