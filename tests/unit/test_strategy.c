/* test_strategy.c: runs contract tests over every strategy of the table, then tests what is
   special to each. Spaces are real; times come from formulas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/number.h"
#include "strategy/frame.h"
#include "strategy/strategy.h"

/* A space of 7 * 5 * 3 * 2 combinations, some of which conditions exclude. One parameter is a
   text. */
static const char small_text[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [1, 2, 4, 8, 16, 32, 64], \"Default\": 4},"
    "{\"Name\": \"B\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5], \"Default\": 2},"
    "{\"Name\": \"C\", \"Type\": \"string\", \"Values\": [\"x\", \"y\", \"z\"], \"Default\": "
    "\"y\"},"
    "{\"Name\": \"D\", \"Type\": \"int\", \"Values\": [0, 1], \"Default\": 0}],"
    "\"Conditions\": ["
    "{\"Expression\": \"A * B <= 128\"},"
    "{\"Expression\": \"C != 'z' or D == 0\"}]}";

static const char single_text[] =
    "{\"TuningParameters\": [{\"Name\": \"A\", \"Type\": \"int\", \"Values\": [3]}]}";

/* A space with 12 parameters and more than a hundred million configurations. */
static const char large_text[] =
    "{\"TuningParameters\": ["
    "{\"Name\": \"P0\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8], \"Default\": 3},"
    "{\"Name\": \"P1\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8], \"Default\": 3},"
    "{\"Name\": \"P2\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8], \"Default\": 3},"
    "{\"Name\": \"P3\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8], \"Default\": 3},"
    "{\"Name\": \"P4\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4, 5, 6, 7, 8], \"Default\": 3},"
    "{\"Name\": \"P5\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4], \"Default\": 1},"
    "{\"Name\": \"P6\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4], \"Default\": 1},"
    "{\"Name\": \"P7\", \"Type\": \"int\", \"Values\": [1, 2, 3, 4], \"Default\": 1},"
    "{\"Name\": \"P8\", \"Type\": \"int\", \"Values\": [0, 1], \"Default\": 0},"
    "{\"Name\": \"P9\", \"Type\": \"int\", \"Values\": [0, 1], \"Default\": 0},"
    "{\"Name\": \"P10\", \"Type\": \"string\", \"Values\": [\"a\", \"b\", \"c\"], \"Default\": "
    "\"a\"},"
    "{\"Name\": \"P11\", \"Type\": \"string\", \"Values\": [\"u\", \"v\"], \"Default\": \"u\"}],"
    "\"Conditions\": [{\"Expression\": \"P0 * P1 <= 40\"}]}";

static ak_space *small, *single, *large;
static ak_scope *constants;

static ak_space *build(const char *text)
{
    ak_error err = AK_ERROR_INIT;
    json_t *definition = json_loads(text, 0, NULL);
    ak_space *space = NULL;
    ak_space_spec spec = {.definition = definition, .constants = constants, .where = "test"};
    if (ak_space_build(&space, &spec, &err) != AK_OK) {
        print_error("%s\n", err.text);
    }
    json_decref(definition);
    return space;
}

static int set_up(void **state)
{
    (void)state;
    constants = ak_scope_new(NULL);
    if (constants == NULL || ak_scope_set_int(constants, "M", 1000, NULL) != AK_OK) {
        return -1;
    }
    small = build(small_text);
    single = build(single_text);
    large = build(large_text);
    return small == NULL || single == NULL || large == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    ak_space_free(small);
    ak_space_free(single);
    ak_space_free(large);
    ak_scope_free(constants);
    return 0;
}

static ak_strategy_context context_of(const ak_space *space, uint64_t seed)
{
    return (ak_strategy_context){.space = space,
                                 .constants = constants,
                                 .kernel = "test",
                                 .implementation = "host",
                                 .seed = seed,
                                 .evaluations = 60};
}

/* ---- times ---- */

typedef bool (*model)(double *ms, const ak_space *space, const ak_config *config);

static double place(const ak_space *space, const ak_config *config, size_t p)
{
    return (double)config->at[p] / (double)(ak_space_parameter(space, p)->value_count - 1);
}

/* Times with the optimum of five parameters in the middle and weak effects of the others; the best
   is about 1 ms. */
static bool smooth(double *ms, const ak_space *space, const ak_config *config)
{
    double sum = 0.0;
    size_t count = ak_space_parameter_count(space);
    for (size_t p = 0; p < count; p++) {
        double best = p < 5 ? (double)(3 + p % 3) / 7.0 : p % 2 == 0 ? 1.0 : 0.0;
        double weight = p < 5 ? 1.0 : 0.08;
        sum += weight * (place(space, config, p) - best) * (place(space, config, p) - best);
    }
    *ms = exp(sum);
    return true;
}

static bool failure(double *ms, const ak_space *space, const ak_config *config)
{
    (void)space, (void)config;
    *ms = 0.0;
    return false;
}

/* Times of which a third are failures. */
static bool patchy(double *ms, const ak_space *space, const ak_config *config)
{
    smooth(ms, space, config);
    return ak_config_key(space, config) % 3 != 0;
}

/* ---- running one ---- */

enum { RUN_MAX = 2000, BATCH_MAX = 1000 };

typedef struct history {
    ak_proposal proposals[RUN_MAX];
    size_t count;
    double best;
} history;

static history first, second;
static ak_proposal batch[BATCH_MAX];

static void observe(ak_strategy *strategy, const ak_space *space, const ak_config *config,
                    model times, double *best)
{
    ak_error err = AK_ERROR_INIT;
    ak_observation seen = {.config = config};
    seen.ok = times(&seen.ms, space, config);
    if (seen.ok && best != NULL && seen.ms < *best) {
        *best = seen.ms;
    }
    assert_int_equal(strategy->ops->observe(strategy, &seen, &err), AK_OK);
}

static ak_strategy *open_strategy(const ak_strategy_ops *ops, const ak_strategy_context *context)
{
    ak_error err = AK_ERROR_INIT;
    ak_strategy *strategy = NULL;
    if (ak_strategy_open(&strategy, ops, context, &err) != AK_OK) {
        fail_msg("%s: %s", ops->name, err.text);
    }
    assert_ptr_equal(strategy->ops, ops);
    return strategy;
}

/* Asks for up to `max` proposals and checks what all proposals must fulfil. */
static size_t propose(ak_strategy *strategy, const ak_space *space, size_t max)
{
    ak_error err = AK_ERROR_INIT;
    size_t count = 0;
    for (bool found = true; found && count < max; count += found) {
        assert_int_equal(strategy->ops->propose(&batch[count], &found, strategy, &err), AK_OK);
    }
    for (size_t i = 0; i < count; i++) {
        const ak_proposal *p = &batch[i];
        assert_true(ak_space_has(space, &p->config));
        assert_true(p->generation >= 0 && isfinite(p->predicted_gain));
        if (p->has_parent) {
            assert_true(ak_space_has(space, &p->parent));
            assert_memory_not_equal(&p->config, &p->parent, sizeof p->config);
            assert_true(p->generation > 0);
        }
    }
    return count;
}

/* Runs until nothing is left or `limit` configurations are proposed. The strategy observes results
   `delay` proposals late, the latest first. Fails the test if a configuration is proposed twice. */
static void run(history *out, ak_strategy *strategy, const ak_space *space, model times,
                size_t batch_size, size_t delay, size_t limit)
{
    ak_set *seen = ak_set_new();
    assert_non_null(seen);
    out->count = 0;
    out->best = HUGE_VAL;
    size_t told = 0; /* proposals[told..count-1] are outstanding */
    while (out->count < limit) {
        size_t left = limit - out->count;
        size_t count = propose(strategy, space, batch_size < left ? batch_size : left);
        for (size_t i = 0; i < count; i++) {
            bool fresh = false;
            assert_int_equal(ak_set_add(&fresh, seen, ak_config_key(space, &batch[i].config), NULL),
                             AK_OK);
            if (!fresh) {
                fail_msg("%s proposed a configuration twice", strategy->ops->name);
            }
            out->proposals[out->count++] = batch[i];
        }
        if (count == 0 && told == out->count) {
            break; /* nothing outstanding, nothing to propose: the end */
        }
        if (count == 0 || out->count - told > delay) {
            for (size_t i = out->count; i > told; i--) {
                observe(strategy, space, &out->proposals[i - 1].config, times, &out->best);
            }
            told = out->count;
        }
    }
    for (size_t i = told; i < out->count; i++) {
        observe(strategy, space, &out->proposals[i].config, times, &out->best);
    }
    ak_set_free(seen);
}

static void run_fresh(history *out, const ak_strategy_ops *ops, const ak_space *space,
                      uint64_t seed, model times, size_t batch_size, size_t delay, size_t limit)
{
    ak_strategy_context context = context_of(space, seed);
    ak_strategy *strategy = open_strategy(ops, &context);
    run(out, strategy, space, times, batch_size, delay, limit);
    ak_strategy_close(strategy);
}

#define EACH_STRATEGY(ops)                                                                         \
    const ak_strategy_ops *ops = ak_strategies[0];                                                 \
    for (size_t each = 0; (ops = ak_strategies[each]) != NULL; each++)

/* ---- the contract ---- */

static void test_table(void **state)
{
    (void)state;
    ak_error err = AK_ERROR_INIT;
    size_t count = 0;
    EACH_STRATEGY(ops) {
        const ak_strategy_ops *found = NULL;
        assert_int_equal(ak_strategy_find(&found, ops->name, &err), AK_OK);
        assert_ptr_equal(found, ops);
        assert_true(strlen(ops->description) > 10);
        count++;
    }
    assert_true(count >= 4);
    const ak_strategy_ops *none = NULL;
    assert_int_equal(ak_strategy_find(&none, "magic", &err), AK_NOT_FOUND);
    assert_null(none);
    assert_non_null(strstr(err.text, "magic"));
    EACH_STRATEGY(known) {
        assert_non_null(strstr(err.text, known->name));
    }
}

static void test_hypers_are_told(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        size_t count = ak_strategy_hyper_count(ops);
        assert_true(count <= AK_HYPERS_MAX);
        char all[AK_STRATEGY_TEXT_MAX];
        size_t used = (size_t)snprintf(all, sizeof all, "%s", ops->name);
        for (size_t i = 0; i < count; i++) {
            const ak_hyper *h = &ops->hypers[i];
            assert_true(h->low <= h->initial && h->initial <= h->high);
            assert_true(!h->whole || (floor(h->low) == h->low && floor(h->high) == h->high &&
                                      floor(h->initial) == h->initial));
            assert_true(strlen(h->help) > 10 && strlen(h->reason) > 10);
            assert_null(strpbrk(h->name, "=,: "));
            char *text = NULL;
            assert_int_equal(ak_strategy_hyper_text(&text, h, NULL), AK_OK);
            assert_non_null(strstr(text, h->help));
            ak_free(text);
            used += (size_t)ak_number_print(all + used, sizeof all - used, "%c%s=%.10g",
                                            i == 0 ? ':' : ',', h->name, h->high);
            assert_true(used < sizeof all);
        }
        ak_strategy_choice choice;
        assert_int_equal(ak_strategy_choose(&choice, all, NULL), AK_OK);
        assert_ptr_equal(choice.ops, ops);
        for (size_t i = 0; i < count; i++) {
            assert_true(choice.hyper[i] == ops->hypers[i].high);
        }
    }
}

/* Every strategy keeps the contract at both ends of every hyper-parameter. */
static void test_hypers_at_their_limits(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        for (size_t i = 0; i < 2 * ak_strategy_hyper_count(ops); i++) {
            ak_strategy_choice choice;
            assert_int_equal(ak_strategy_choose(&choice, ops->name, NULL), AK_OK);
            const ak_hyper *h = &ops->hypers[i / 2];
            choice.hyper[i / 2] = i % 2 == 0 ? h->low : h->high;
            ak_strategy_context context = context_of(small, 1);
            context.hyper = choice.hyper;
            ak_strategy *strategy = open_strategy(ops, &context);
            run(&first, strategy, small, patchy, 9, 5, RUN_MAX);
            assert_int_equal(first.count, ak_space_count(small));
            ak_strategy_close(strategy);
        }
    }
}

static void test_choosing(void **state)
{
    (void)state;
    ak_strategy_choice choice;
    char text[AK_STRATEGY_TEXT_MAX];
    ak_error err = AK_ERROR_INIT;
    assert_int_equal(ak_strategy_choose(&choice, "local:starts=7", &err), AK_OK);
    assert_string_equal(choice.ops->name, "local");
    assert_true(choice.hyper[0] == 7.0);
    assert_int_equal(ak_strategy_text(text, &choice, &err), AK_OK);
    assert_string_equal(text, "local:starts=7");
    assert_int_equal(ak_strategy_choose(&choice, "local", &err), AK_OK);
    assert_true(choice.hyper[0] == choice.ops->hypers[0].initial);
    assert_int_equal(ak_strategy_text(text, &choice, &err), AK_OK);
    assert_string_equal(text, "local");
    static const struct {
        const char *text, *says;
        ak_status status;
    } wrong[] = {
        {"locl", "there is no strategy \"locl\"", AK_NOT_FOUND},
        {"", "there is no strategy \"\"", AK_NOT_FOUND},
        {"local:", "must be NAME=NUMBER", AK_INVALID},
        {"local:starts", "must be NAME=NUMBER", AK_INVALID},
        {"local:starts=3,", "must be NAME=NUMBER", AK_INVALID},
        {"local:start=3", "it has: starts", AK_NOT_FOUND},
        {"local:=3", "it has: starts", AK_NOT_FOUND},
        {"random:x=3", "has no hyper-parameters", AK_NOT_FOUND},
        {"local:starts=", "whole number from 1 to 1000", AK_INVALID},
        {"local:starts=three", "whole number from 1 to 1000", AK_INVALID},
        {"local:starts=2.5", "whole number from 1 to 1000", AK_INVALID},
        {"local:starts=0", "whole number from 1 to 1000", AK_INVALID},
        {"local:starts=nan", "whole number from 1 to 1000", AK_INVALID},
        {"local:starts=1001", "cannot be \"1001\"", AK_INVALID},
        {"local:starts=2,starts=2", "given twice", AK_INVALID},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ak_strategy_choice untouched = {0};
        assert_int_equal(ak_strategy_choose(&untouched, wrong[i].text, &err), wrong[i].status);
        assert_non_null(strstr(err.text, wrong[i].says));
        assert_null(untouched.ops);
    }
    char longest[AK_STRATEGY_TEXT_MAX + 1];
    memset(longest, 'x', sizeof longest);
    longest[AK_STRATEGY_TEXT_MAX] = 0;
    assert_int_equal(ak_strategy_choose(&choice, longest, &err), AK_LIMIT);
    longest[AK_STRATEGY_TEXT_MAX - 1] = 0;
    assert_int_equal(ak_strategy_choose(&choice, longest, &err), AK_NOT_FOUND);
}

static void test_covers_a_small_space(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 7, BATCH_MAX};
    EACH_STRATEGY(ops) {
        for (size_t i = 0; i < 3; i++) {
            run_fresh(&first, ops, small, 1, smooth, sizes[i], 0, RUN_MAX);
            assert_int_equal(first.count, ak_space_count(small));
        }
    }
}

static void test_ends_for_ever(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        ak_strategy_context context = context_of(small, 1);
        ak_strategy *strategy = open_strategy(ops, &context);
        run(&first, strategy, small, smooth, 10, 0, RUN_MAX);
        assert_int_equal(propose(strategy, small, 10), 0);
        assert_int_equal(propose(strategy, small, 1), 0);
        ak_strategy_close(strategy);
    }
}

static void test_single_configuration(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        run_fresh(&first, ops, single, 3, smooth, 5, 0, RUN_MAX);
        assert_int_equal(first.count, 1);
    }
}

static void test_everything_fails(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        run_fresh(&first, ops, small, 2, failure, 4, 0, RUN_MAX);
        assert_int_equal(first.count, ak_space_count(small));
        run_fresh(&first, ops, large, 2, failure, 1, 0, 150);
        assert_int_equal(first.count, 150);
    }
}

static void test_some_fail(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        run_fresh(&first, ops, small, 2, patchy, 3, 0, RUN_MAX);
        assert_int_equal(first.count, ak_space_count(small));
    }
}

static void test_late_and_out_of_order(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        run_fresh(&first, ops, small, 5, patchy, 3, 11, RUN_MAX);
        assert_int_equal(first.count, ak_space_count(small));
        run_fresh(&first, ops, large, 5, smooth, 7, 20, 80);
        assert_int_equal(first.count, 80);
    }
}

/* If no result is ever observed, no configuration is proposed twice, and the strategy ends. */
static void test_no_answers(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        ak_strategy_context context = context_of(small, 1);
        ak_strategy *strategy = open_strategy(ops, &context);
        ak_set *seen = ak_set_new();
        size_t total = 0, count;
        while ((count = propose(strategy, small, 8)) > 0) {
            for (size_t i = 0; i < count; i++) {
                bool fresh = false;
                assert_int_equal(
                    ak_set_add(&fresh, seen, ak_config_key(small, &batch[i].config), NULL), AK_OK);
                assert_true(fresh);
            }
            total += count;
        }
        assert_true(total >= 1 && total <= ak_space_count(small));
        ak_set_free(seen);
        ak_strategy_close(strategy);
    }
}

static void test_nothing_asked(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        ak_strategy_context context = context_of(small, 1);
        ak_strategy *strategy = open_strategy(ops, &context);
        assert_int_equal(propose(strategy, small, 0), 0);
        run(&first, strategy, small, smooth, 5, 0, RUN_MAX);
        assert_int_equal(first.count, ak_space_count(small));
        ak_strategy_close(strategy);
        ak_strategy_close(NULL);
    }
}

static void test_seeded(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        run_fresh(&first, ops, large, 77, patchy, 4, 0, 60);
        run_fresh(&second, ops, large, 77, patchy, 4, 0, 60);
        assert_int_equal(first.count, second.count);
        for (size_t i = 0; i < first.count; i++) {
            assert_memory_equal(&first.proposals[i].config, &second.proposals[i].config,
                                sizeof(ak_config));
        }
        run_fresh(&second, ops, large, 78, patchy, 4, 0, 60);
        size_t differ = 0;
        for (size_t i = 0; i < first.count; i++) {
            differ += memcmp(&first.proposals[i].config, &second.proposals[i].config,
                             sizeof(ak_config)) != 0;
        }
        assert_true(differ > 0 || strcmp(ops->name, "exhaustive") == 0);
    }
}

/* If the trials of an earlier run are observed first, exactly the other configurations are
   proposed. */
static void test_resumed(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        ak_strategy_context context = context_of(small, 9);
        ak_strategy *strategy = open_strategy(ops, &context);
        ak_set *resumed = ak_set_new();
        for (uint64_t i = 0; i < ak_space_count(small); i += 2) {
            ak_config config;
            ak_space_at(&config, small, i);
            observe(strategy, small, &config, patchy, NULL);
            observe(strategy, small, &config, patchy, NULL); /* twice is no harm */
            assert_int_equal(ak_set_add(NULL, resumed, ak_config_key(small, &config), NULL), AK_OK);
        }
        run(&first, strategy, small, patchy, 3, 0, RUN_MAX);
        assert_int_equal(first.count, ak_space_count(small) / 2);
        for (size_t i = 0; i < first.count; i++) {
            assert_false(ak_set_has(resumed, ak_config_key(small, &first.proposals[i].config)));
        }
        ak_set_free(resumed);
        ak_strategy_close(strategy);
    }
}

/* During a run, results may be observed that the strategy has not proposed, such as the caller's
   default. They are not proposed again. */
static void test_strangers(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        ak_strategy_context context = context_of(small, 4);
        ak_strategy *strategy = open_strategy(ops, &context);
        run(&first, strategy, small, patchy, 2, 0, 10);
        ak_set *told = ak_set_new();
        uint64_t distinct = 0;
        bool added;
        ak_rng rng;
        ak_rng_seed(&rng, 6);
        for (size_t i = 0; i < 40; i++) {
            ak_config config;
            ak_space_sample(&config, small, &rng);
            observe(strategy, small, &config, patchy, NULL);
            assert_int_equal(ak_set_add(&added, told, ak_config_key(small, &config), NULL), AK_OK);
            distinct += added;
        }
        for (size_t i = 0; i < first.count; i++) {
            assert_int_equal(
                ak_set_add(&added, told, ak_config_key(small, &first.proposals[i].config), NULL),
                AK_OK);
            distinct += added;
        }
        run(&second, strategy, small, patchy, 3, 0, RUN_MAX);
        assert_int_equal(second.count, ak_space_count(small) - distinct);
        ak_set_free(told);
        ak_strategy_close(strategy);
    }
}

/* Every allocation of a short run fails once. The sanitizer finds leaks. */
static void test_no_memory(void **state)
{
    (void)state;
    EACH_STRATEGY(ops) {
        bool failed = true;
        for (size_t nth = 1; failed && nth < 2000; nth++) {
            ak_strategy_context context = context_of(small, 1);
            context.rank = "A * B";
            ak_error err = AK_ERROR_INIT;
            ak_strategy *strategy = NULL;
            ak_alloc_fail_at(nth);
            ak_status status = ak_strategy_open(&strategy, ops, &context, &err);
            for (size_t round = 0; status == AK_OK && round < 12; round++) {
                size_t count = 0;
                for (bool found = true; status == AK_OK && found && count < 3; count += found) {
                    found = false;
                    status = ops->propose(&batch[count], &found, strategy, &err);
                }
                for (size_t i = 0; status == AK_OK && i < count; i++) {
                    ak_observation seen = {
                        .config = &batch[i].config, .ok = true, .ms = 1.0 + (double)i};
                    status = ops->observe(strategy, &seen, &err);
                }
            }
            ak_alloc_fail_at(0);
            if (strategy != NULL) {
                ak_strategy_close(strategy);
            }
            assert_true(status == AK_OK || status == AK_NO_MEMORY);
            failed = status != AK_OK;
        }
        assert_false(failed);
    }
}

/* ---- each ---- */

static const ak_strategy_ops *find(const char *name)
{
    const ak_strategy_ops *ops = NULL;
    assert_int_equal(ak_strategy_find(&ops, name, NULL), AK_OK);
    return ops;
}

static void test_exhaustive_is_in_order(void **state)
{
    (void)state;
    run_fresh(&first, find("exhaustive"), small, 1, smooth, 7, 0, RUN_MAX);
    for (size_t i = 0; i < first.count; i++) {
        uint64_t index = UINT64_MAX;
        assert_true(ak_space_find(&index, small, &first.proposals[i].config));
        assert_int_equal(index, i);
    }
}

/* Every configuration is equally often the first proposal, and equally often the tenth. */
static void test_random_is_uniform(void **state)
{
    (void)state;
    enum { RUNS = 20000, SPACE_MAX = 210 };
    static size_t hits[2][SPACE_MAX];
    size_t space_count = (size_t)ak_space_count(small);
    assert_true(space_count <= SPACE_MAX);
    memset(hits, 0, sizeof hits);
    for (uint64_t seed = 0; seed < RUNS; seed++) {
        ak_strategy_context context = context_of(small, seed);
        ak_strategy *strategy = open_strategy(find("random"), &context);
        assert_int_equal(propose(strategy, small, 10), 10);
        for (size_t i = 0; i < 2; i++) {
            uint64_t index = 0;
            assert_true(ak_space_find(&index, small, &batch[i * 9].config));
            hits[i][index]++;
        }
        ak_strategy_close(strategy);
    }
    for (size_t i = 0; i < 2; i++) {
        double expected = (double)RUNS / (double)space_count;
        double chi2 = 0.0;
        for (size_t j = 0; j < space_count; j++) {
            double d = (double)hits[i][j] - expected;
            chi2 += d * d / expected;
        }
        double freedom = (double)(space_count - 1); /* 4 deviations of chi-square above its mean */
        assert_true(chi2 < freedom + 4.0 * sqrt(2.0 * freedom));
    }
}

/* Runs a strategy with hyper-parameters, given as text, on the large space. */
static double run_chosen(history *out, const char *text, uint64_t seed, model times,
                         size_t evaluations)
{
    ak_strategy_choice choice;
    assert_int_equal(ak_strategy_choose(&choice, text, NULL), AK_OK);
    ak_strategy_context context = context_of(large, seed);
    context.hyper = choice.hyper;
    ak_strategy *strategy = open_strategy(choice.ops, &context);
    run(out, strategy, large, times, 1, 0, evaluations);
    ak_strategy_close(strategy);
    return out->best;
}

static size_t changes(const ak_proposal *p)
{
    size_t changed = 0;
    for (size_t j = 0; j < AK_PARAMETERS_MAX; j++) {
        changed += p->config.at[j] != p->parent.at[j];
    }
    return changed;
}

static void test_local_starts_at_the_default_and_descends(void **state)
{
    (void)state;
    assert_true(run_chosen(&first, "local:starts=1,jump=0", 1, smooth, 400) < 1.001);
    ak_config expected;
    ak_space_default(&expected, large);
    assert_memory_equal(&first.proposals[0].config, &expected, sizeof expected);
    assert_false(first.proposals[0].has_parent);
    assert_true(first.proposals[1].has_parent);
    assert_memory_equal(&first.proposals[1].parent, &expected, sizeof expected);
    /* One parameter differs from the parent. */
    for (size_t i = 1; i < 100; i++) {
        assert_true(!first.proposals[i].has_parent || changes(&first.proposals[i]) == 1);
    }
    /* The first parent of a descent is the best of its starts. */
    run_chosen(&first, "local:starts=6", 1, smooth, 7);
    double best = HUGE_VAL, of_parent = 0.0;
    for (size_t i = 0; i < 6; i++) {
        double ms = 0.0;
        smooth(&ms, large, &first.proposals[i].config);
        best = fmin(best, ms);
    }
    smooth(&of_parent, large, &first.proposals[6].parent);
    assert_true(of_parent == best);
}

/* At temperature 0 no step goes to a slower configuration; at a high temperature many do. */
static void test_anneal_accepts_by_temperature(void **state)
{
    (void)state;
    static const char *const texts[] = {"anneal:starts=1,hot=1e-6,cold=1e-9,cooling=0.9999",
                                        "anneal:starts=1,hot=10,cold=1e-9,cooling=0.9999"};
    for (size_t i = 0; i < 2; i++) {
        run_chosen(&first, texts[i], 1, smooth, 60);
        size_t slower = 0;
        double last = HUGE_VAL;
        for (size_t j = 1; j < 60; j++) {
            double ms = 0.0;
            smooth(&ms, large, &first.proposals[j].parent);
            slower += first.proposals[j].has_parent && ms > last;
            last = first.proposals[j].has_parent ? ms : HUGE_VAL;
        }
        assert_true(i == 0 ? slower == 0 : slower > 10);
    }
}

/* After the first generation, each value of a child is that of one of its two parents. */
static void test_genetic_crosses(void **state)
{
    (void)state;
    run_chosen(&first, "genetic:population=2,crossover=1,mutation=0,tournament=1", 3, smooth, 3);
    const ak_proposal *child = &first.proposals[2];
    for (size_t p = 0; child->has_parent && p < ak_space_parameter_count(large); p++) {
        assert_true(child->config.at[p] == first.proposals[0].config.at[p] ||
                    child->config.at[p] == first.proposals[1].config.at[p]);
    }
    assert_true(child->has_parent);
}

static double mean_best(const char *name, size_t evaluations)
{
    double sum = 0.0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run_fresh(&first, find(name), large, seed, smooth, 1, 0, evaluations);
        sum += first.best / 10.0;
    }
    return sum;
}

/* Within 60 trials among a hundred million configurations, the heuristic reaches 98 percent. */
static void test_heuristic_reaches_98_percent(void **state)
{
    (void)state;
    double heuristic = mean_best("heuristic", 60);
    double local = mean_best("local", 60);
    double uniform = mean_best("random", 60);
    if (!(heuristic < 1.0 / 0.98)) {
        fail_msg("heuristic %.4f local %.4f random %.4f", heuristic, local, uniform);
    }
    assert_true(heuristic < local && local < uniform);
}

/* The best of 200 trials, on average over seeds, is better than that of random search, in a space
   of which a run sees only a tiny part. */
static void test_all_beat_random(void **state)
{
    (void)state;
    static const char *const names[] = {"anneal", "genetic", "diffevo", "pso", "evolve", "local"};
    double uniform = mean_best("random", 200);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double best = mean_best(names[i], 200);
        if (!(best - 1.0 < 0.5 * (uniform - 1.0))) {
            fail_msg("%s %.4f random %.4f", names[i], best, uniform);
        }
    }
    assert_true(mean_best("evolve", 200) < 1.01);
}

/* Takes the trials of a frame without a strategy, which have no tag. Each must come once. */
static void take_next(ak_frame *frame, size_t place, size_t tag)
{
    assert_true(place + 1 == frame->known_count && tag == AK_FRAME_NO_TAG);
    frame->known[place].generation = 1;
}

static void test_effects_are_found(void **state)
{
    (void)state;
    ak_strategy_context context = context_of(large, 1);
    ak_frame *frame = ak_alloc(1, sizeof *frame);
    ak_effects *effects = NULL;
    assert_int_equal(ak_frame_open(frame, NULL, take_next, &context, NULL), AK_OK);
    assert_int_equal(ak_effects_new(&effects, large, NULL), AK_OK);
    assert_false(ak_effects_stale(effects, frame));
    assert_int_equal(ak_effects_learn(effects, frame, NULL), AK_OK); /* from nothing */
    ak_rng rng;
    ak_rng_seed(&rng, 5);
    for (size_t i = 0; i < 200; i++) {
        ak_config config;
        ak_space_sample(&config, large, &rng);
        ak_observation seen = {.config = &config, .ok = i % 10 != 9};
        smooth(&seen.ms, large, &config);
        assert_int_equal(ak_frame_observe(&frame->base, &seen, NULL), AK_OK);
        assert_true(frame->known_count == i + 1 && frame->known[i].generation == 1); /* taken */
        frame->known[i].generation = 0;
        assert_true(i >= 127 || ak_effects_stale(effects, frame)); /* later: not for each */
        assert_int_equal(ak_frame_observe(&frame->base, &seen, NULL), AK_OK);
        assert_true(frame->known_count == i + 1 && frame->known[i].generation == 0); /* known */
        assert_true(frame->known[i].ms == (seen.ok ? seen.ms : HUGE_VAL));
        assert_int_equal(ak_effects_learn(effects, frame, NULL), AK_OK);
        assert_false(ak_effects_stale(effects, frame));
    }
    /* Of two that were never seen it mostly knows the faster one. */
    size_t right = 0;
    for (size_t i = 0; i < 500; i++) {
        ak_config a, b;
        double ms_a = 0.0, ms_b = 0.0;
        ak_space_sample(&a, large, &rng);
        ak_space_sample(&b, large, &rng);
        smooth(&ms_a, large, &a);
        smooth(&ms_b, large, &b);
        right +=
            (ms_a < ms_b) == (ak_effects_predict(effects, &a) < ak_effects_predict(effects, &b));
    }
    if (right < 380) {
        fail_msg("%zu of 500", right);
    }
    ak_effects_free(effects);
    ak_effects_free(NULL);
    ak_frame_end((ak_strategy *)frame);
    ak_free(frame);
}

static void test_heuristic_in_batches(void **state)
{
    (void)state;
    double sum = 0.0;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        run_fresh(&first, find("heuristic"), large, seed, smooth, 4, 0, 60);
        sum += first.best / 10.0;
    }
    assert_true(sum < 1.04); /* four at a time know less */
}

static void test_heuristic_starts_at_the_default(void **state)
{
    (void)state;
    run_fresh(&first, find("heuristic"), large, 1, smooth, 1, 0, 1);
    ak_config expected;
    ak_space_default(&expected, large);
    assert_memory_equal(&first.proposals[0].config, &expected, sizeof expected);
}

static double run_ranked(const char *rank, size_t evaluations)
{
    ak_strategy_context context = context_of(large, 3);
    context.rank = rank;
    ak_strategy *strategy = open_strategy(find("heuristic"), &context);
    run(&first, strategy, large, smooth, 1, 0, evaluations);
    ak_strategy_close(strategy);
    return first.best;
}

/* The formula of smooth() as an expression of a space file, for the parameters that matter. */
#define RANK_TERM(p, best) "((" p " - 1)/7 - " best ")**2"
static const char good_rank[] =
    "2.718281828 ** (" RANK_TERM("P0", "3/7") " + " RANK_TERM("P1", "4/7") " + " RANK_TERM(
        "P2", "5/7") " + " RANK_TERM("P3", "3/7") " + " RANK_TERM("P4", "4/7") ")";
static const char bad_rank[] =
    "2.718281828 ** -(" RANK_TERM("P0", "3/7") " + " RANK_TERM("P1", "4/7") " + " RANK_TERM(
        "P2", "5/7") " + " RANK_TERM("P3", "3/7") " + " RANK_TERM("P4", "4/7") ")";

static void test_rank_guides(void **state)
{
    (void)state;
    double without = run_ranked(NULL, 10);
    double with = run_ranked(good_rank, 10);
    assert_true(with < without);
    for (size_t i = 1; i < 10; i++) { /* each of the portfolio is among the better ones */
        double ms;
        smooth(&ms, large, &first.proposals[i].config);
        assert_true(ms < 2.0);
    }
    assert_true(run_ranked(good_rank, 30) < 1.03);
    assert_true(run_ranked("M * P0", 60) < 1.1); /* constants are there; half a truth */
}

static void test_rank_that_misleads_is_overcome(void **state)
{
    (void)state;
    assert_true(run_ranked(bad_rank, 100) < 1.05);
    assert_true(run_ranked("1 / 0", 60) < 1.1);            /* never has a value */
    assert_true(run_ranked("-1", 60) < 1.1);               /* not a time */
    assert_true(run_ranked("'a' if P8 else 2", 60) < 1.1); /* sometimes a text */
}

static void test_rank_is_checked(void **state)
{
    (void)state;
    static const char *const wrong[] = {"P0 +", "NOBODY * 2"};
    for (size_t i = 0; i < 2; i++) {
        ak_strategy_context context = context_of(large, 1);
        context.rank = wrong[i];
        ak_error err = AK_ERROR_INIT;
        ak_strategy *strategy = NULL;
        assert_int_equal(ak_strategy_open(&strategy, find("heuristic"), &context, &err),
                         AK_INVALID);
        assert_null(strategy);
        assert_non_null(strstr(err.text, "Rank"));
        assert_memory_equal(err.text, "kernel ", 7); /* where the rank stands */
    }
}

/* ---- guided by a model ---- */

/* Strategies with models work in a space of 10^12 configurations, which must not be listed. */
static void test_models_in_a_huge_space(void **state)
{
    (void)state;
    static const char *const names[] = {"bayes", "forest", "portfolio", "heuristic"};
    char text[4096];
    size_t length = (size_t)snprintf(text, sizeof text, "{\"TuningParameters\": [");
    for (int p = 0; p < 12; p++) {
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "%s{\"Name\": \"P%d\", \"Type\": \"int\", \"Values\": "
                                   "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]}",
                                   p == 0 ? "" : ", ", p);
    }
    snprintf(text + length, sizeof text - length, "]}");
    ak_space *huge = build(text);
    assert_true(ak_space_count(huge) == 1000000000000u);
    for (size_t i = 0; i < 4; i++) {
        run_fresh(&first, find(names[i]), huge, 1, smooth, 4, 0, 60);
        assert_int_equal(first.count, 60);
        double found = first.best;
        run_fresh(&first, find("random"), huge, 1, smooth, 4, 0, 60);
        if (!(found < first.best)) {
            fail_msg("%s %.3f random %.3f", names[i], found, first.best);
        }
    }
    ak_space_free(huge);
}

/* Times of which all with D = 1 are failures. */
static bool half_fails(double *ms, const ak_space *space, const ak_config *config)
{
    smooth(ms, space, config);
    return config->at[8] == 0;
}

static void test_models_learn_from_failures(void **state)
{
    (void)state;
    static const char *const names[] = {"bayes", "forest", "heuristic"};
    for (size_t i = 0; i < 3; i++) {
        run_fresh(&first, find(names[i]), large, 3, half_fails, 1, 0, 60);
        size_t failed = 0;
        for (size_t j = 30; j < 60; j++) {
            failed += first.proposals[j].config.at[8] != 0;
        }
        assert_true(failed < 8);
    }
}

/* A model with fewer rows than there are trials works, if trials are observed all at once and then
   one by one. */
static void test_models_with_few_rows(void **state)
{
    (void)state;
    ak_strategy_choice choice;
    assert_int_equal(ak_strategy_choose(&choice, "bayes:rows=16,pool=32,start=4", NULL), AK_OK);
    ak_strategy_context context = context_of(large, 5);
    context.hyper = choice.hyper;
    ak_strategy *strategy = open_strategy(choice.ops, &context);
    ak_rng rng;
    ak_rng_seed(&rng, 2);
    for (size_t i = 0; i < 100; i++) {
        ak_config config;
        ak_space_sample(&config, large, &rng);
        observe(strategy, large, &config, patchy, NULL);
    }
    run(&first, strategy, large, patchy, 3, 5, 60);
    assert_int_equal(first.count, 60);
    ak_strategy_close(strategy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_hypers_are_told),
        cmocka_unit_test(test_hypers_at_their_limits),
        cmocka_unit_test(test_choosing),
        cmocka_unit_test(test_covers_a_small_space),
        cmocka_unit_test(test_ends_for_ever),
        cmocka_unit_test(test_single_configuration),
        cmocka_unit_test(test_everything_fails),
        cmocka_unit_test(test_some_fail),
        cmocka_unit_test(test_late_and_out_of_order),
        cmocka_unit_test(test_no_answers),
        cmocka_unit_test(test_nothing_asked),
        cmocka_unit_test(test_seeded),
        cmocka_unit_test(test_resumed),
        cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_exhaustive_is_in_order),
        cmocka_unit_test(test_random_is_uniform),
        cmocka_unit_test(test_local_starts_at_the_default_and_descends),
        cmocka_unit_test(test_heuristic_reaches_98_percent),
        cmocka_unit_test(test_anneal_accepts_by_temperature),
        cmocka_unit_test(test_genetic_crosses),
        cmocka_unit_test(test_all_beat_random),
        cmocka_unit_test(test_effects_are_found),
        cmocka_unit_test(test_heuristic_in_batches),
        cmocka_unit_test(test_heuristic_starts_at_the_default),
        cmocka_unit_test(test_rank_guides),
        cmocka_unit_test(test_rank_that_misleads_is_overcome),
        cmocka_unit_test(test_rank_is_checked),
        cmocka_unit_test(test_models_in_a_huge_space),
        cmocka_unit_test(test_models_learn_from_failures),
        cmocka_unit_test(test_models_with_few_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
