/*
 * search_cost.c: measures the cost of the search itself: of building spaces, and of proposals.
 *
 *     cmake --build build/release --target search_cost
 *     build/release/search_cost [SPACE.json...]
 *
 * For each T1 file it prints the median processor time of several builds. By default these are the
 * files of bench/spaces/, which resemble the ExpDist, MicroHH and PRL 8x8 spaces of arXiv
 * 2509.26253 in parameters, conditions and Cartesian size. If the Cartesian product is small
 * enough, the conditions are evaluated for each of its configurations, which must be valid exactly
 * if the space says so.
 *
 * Then, on the second space, it prints for every strategy that asks no language model the processor
 * time of a proposal: the mean over 500 trials with invented times, and that over the last 50.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "space/space.h"
#include "strategy/strategy.h"

#define BUILDS     9
#define BRUTE_MAX  2e7 /* configurations, which take some ten seconds */
#define TRIALS     500
#define LAST       50
#define CONDITIONS 64
#define SPACES_MAX 16

static const char *const fallback[] = {"bench/spaces/expdist_like.json",
                                       "bench/spaces/microhh_like.json",
                                       "bench/spaces/prl8x8_like.json"};

static void stop(const ak_error *err)
{
    (void)fprintf(stderr, "search_cost: %s\n", err->text);
    exit(1);
}

static ak_space *build(const json_t *document, const char *where)
{
    ak_space *space = NULL;
    ak_error err = AK_ERROR_INIT;
    ak_space_spec spec = {.definition = json_object_get(document, "ConfigurationSpace"),
                          .allow_numerics = true,
                          .where = where};
    if (ak_space_build(&space, &spec, &err) != AK_OK) {
        stop(&err);
    }
    return space;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ---- brute force ----------------------------------------------------------------------------- */

static bool all_hold(ak_expr *const *conditions, size_t count, const ak_scope *scope,
                     ak_arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        ak_value value;
        ak_arena_reset(arena);
        if (ak_expr_eval(&value, conditions[i], scope, arena, NULL) != AK_OK ||
            !ak_value_truth(&value)) {
            return false;
        }
    }
    return true;
}

/* Moves to the next configuration of the Cartesian product; the last parameter changes fastest.
   Returns false after the last one. */
static bool next_of(ak_config *config, ak_scope *scope, const ak_space *space)
{
    for (size_t p = ak_space_parameter_count(space); p-- > 0;) {
        const ak_parameter *parameter = ak_space_parameter(space, p);
        bool more = config->at[p] + 1u < parameter->value_count;
        config->at[p] = (uint16_t)(more ? config->at[p] + 1 : 0);
        (void)ak_scope_set(scope, parameter->name, parameter->values[config->at[p]], NULL);
        if (more) {
            return true;
        }
    }
    return false;
}

static bool agrees(const ak_space *space)
{
    ak_expr *conditions[CONDITIONS] = {NULL};
    ak_scope *scope = ak_scope_new(NULL);
    ak_arena *arena = ak_arena_new();
    ak_config config = {{0}};
    size_t count = ak_space_condition_count(space);
    uint64_t valid = 0;
    ak_error err = AK_ERROR_INIT;
    if (scope == NULL || arena == NULL || count > CONDITIONS) {
        (void)ak_fail(&err, AK_LIMIT, "no memory, or more than %d conditions", CONDITIONS);
        stop(&err);
    }
    for (size_t i = 0; i < count; i++) {
        if (ak_expr_parse(&conditions[i], ak_space_condition(space, i), "condition", &err) !=
            AK_OK) {
            stop(&err);
        }
    }
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        const ak_parameter *parameter = ak_space_parameter(space, p);
        (void)ak_scope_set(scope, parameter->name, parameter->values[0], NULL);
    }
    bool same = true;
    do {
        bool holds = all_hold(conditions, count, scope, arena);
        valid += holds;
        same = same && holds == ak_space_has(space, &config);
    } while (next_of(&config, scope, space));
    for (size_t i = 0; i < count; i++) {
        ak_expr_free(conditions[i]);
    }
    ak_arena_free(arena);
    ak_scope_free(scope);
    return same && valid == ak_space_count(space);
}

/* ---- the two tables -------------------------------------------------------------------------- */

static double measure_space(const char *path)
{
    ak_error err = AK_ERROR_INIT;
    json_t *document = NULL;
    double ms[BUILDS];
    if (ak_json_read(&document, path, &err) != AK_OK) {
        stop(&err);
    }
    for (size_t i = 0; i < BUILDS; i++) {
        int64_t begin = ak_clock_thread_ns();
        ak_space *space = build(document, path);
        ms[i] = (double)(ak_clock_thread_ns() - begin) / 1e6;
        ak_space_free(space);
    }
    qsort(ms, BUILDS, sizeof *ms, ascending);
    ak_space *space = build(document, path);
    double cartesian = ak_space_cartesian(space);
    const char *slash = strrchr(path, '/');
    printf("%-28s %13.0f %10llu %10.2f  %s\n", slash == NULL ? path : slash + 1, cartesian,
           (unsigned long long)ak_space_count(space), ms[BUILDS / 2],
           cartesian > BRUTE_MAX ? "too large"
           : agrees(space)       ? "same"
                                 : "DIFFERS");
    (void)fflush(stdout);
    ak_space_free(space);
    json_decref(document);
    return ms[BUILDS / 2];
}

/* Returns an invented time: smooth in every parameter, with a valley, and with 5 % of noise that
   depends on the configuration. */
static double made_up_ms(const ak_space *space, const ak_config *config)
{
    double sum = 0;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        double range = (double)ak_space_parameter(space, p)->value_count;
        double place = ((double)config->at[p] + 0.5) / range - 0.3 - 0.4 * (double)(p % 2);
        sum += place * place * (double)(1 + p % 3);
    }
    uint64_t key = ak_config_key(space, config);
    double noise = (double)(ak_hash64(&key, sizeof key) >> 11) / 9007199254740992.0;
    return (1 + sum) * (1 + 0.05 * noise);
}

static void measure_strategy(const ak_strategy_ops *ops, const ak_space *space)
{
    ak_error err = AK_ERROR_INIT;
    ak_strategy *strategy = NULL;
    ak_scope *constants = ak_scope_new(NULL);
    ak_strategy_context context = {.space = space,
                                   .constants = constants,
                                   .kernel = "bench",
                                   .implementation = "",
                                   .seed = 1,
                                   .evaluations = TRIALS};
    int64_t all = 0, late = 0;
    if (constants == NULL || ak_strategy_open(&strategy, ops, &context, &err) != AK_OK) {
        stop(&err);
    }
    for (size_t i = 0; i < TRIALS; i++) {
        ak_proposal proposal;
        bool found = false;
        int64_t begin = ak_clock_thread_ns();
        if (ops->propose(&proposal, &found, strategy, &err) != AK_OK || !found) {
            stop(&err);
        }
        int64_t middle = ak_clock_thread_ns();
        ak_observation seen = {
            .config = &proposal.config, .ok = true, .ms = made_up_ms(space, &proposal.config)};
        int64_t told = ak_clock_thread_ns();
        if (ops->observe(strategy, &seen, &err) != AK_OK) {
            stop(&err);
        }
        int64_t spent = middle - begin + (ak_clock_thread_ns() - told);
        all += spent;
        late += i >= TRIALS - LAST ? spent : 0;
    }
    ak_strategy_close(strategy);
    ak_scope_free(constants);
    printf("%-12s %12.4f %14.4f\n", ops->name, (double)all / TRIALS / 1e6,
           (double)late / LAST / 1e6);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    bool given = argc > 1;
    size_t count = given ? (size_t)argc - 1 : sizeof fallback / sizeof fallback[0];
    double total = 0;
    printf("%-28s %13s %10s %10s  %s\n", "space", "Cartesian", "valid", "ms", "by brute force");
    for (size_t i = 0; i < count && i < SPACES_MAX; i++) {
        total += measure_space(given ? argv[i + 1] : fallback[i]);
    }
    printf("%-28s %13s %10s %10.2f\n", "together", "", "", total);
    if (given) {
        return 0;
    }
    json_t *document = NULL;
    ak_error err = AK_ERROR_INIT;
    if (ak_json_read(&document, fallback[1], &err) != AK_OK) {
        stop(&err);
    }
    ak_space *space = build(document, fallback[1]);
    printf("\n%-12s %12s %14s\n", "strategy", "ms a proposal", "of the last 50");
    for (size_t i = 0; ak_strategies[i] != NULL; i++) {
        if (ak_strategies[i]->await == NULL) {
            measure_strategy(ak_strategies[i], space);
        }
    }
    ak_space_free(space);
    json_decref(document);
    return 0;
}
