/*
 * forest_search.c: the strategy `forest`: a random forest (forest.h) and the expected improvement,
 * over valid configurations only (guided.h). It is sequential model-based optimisation after
 * Hutter, Hoos, Leyton-Brown, "Sequential model-based optimization for general algorithm
 * configuration", 2011.
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    AK_GUIDED_START_HYPER(X)                                                                       \
    X(trees, 32, 2, 1000, true, "number of trees of the forest",                                   \
      "this is enough to estimate a variance; the cost grows in proportion")                       \
    AK_GUIDED_POOL_HYPER(X)                                                                        \
    X(fresh, 64, 1, 8192, true, "candidates replaced with each proposal",                          \
      "predicting new candidates is cheap")                                                        \
    AK_GUIDED_LEVEL_HYPERS(X)
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

enum { ROWS = 900 /* most trials used for a fit; 3 % more trials cause a new fit */ };

static ak_status open_forest(ak_strategy *strategy, const ak_strategy_context *context,
                             ak_error *err)
{
    const ak_guided_options options = {
        .rows = ROWS,
        .steepness = 1.0, /* of the Gaussian process, which only computes coordinates here */
        .noise = 1.0,
        HYPERS(AK_HYPER_VALUE)};
    return ak_guided_open(strategy, context, &options, err);
}

const ak_strategy_ops ak_strategy_forest = {
    .name = "forest",
    .description = "a random forest says what is worth a trial",
    .open = open_forest,
    AK_GUIDED_OPS,
};
