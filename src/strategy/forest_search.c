/*
 * forest_search.c: the strategy `forest`: a random forest (forest.h) and the expected improvement,
 * over valid configurations only (guided.h). It is sequential model-based optimisation after
 * Hutter, Hoos, Leyton-Brown, "Sequential model-based optimization for general algorithm
 * configuration", 2011.
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    X(start, 12, 2, 1000, true, "configurations tried before the model is asked",                  \
      "fewer mislead the model, and the model would choose better trials than more random ones "   \
      "are")                                                                                       \
    X(trees, 32, 2, 1000, true, "number of trees of the forest",                                   \
      "this is enough to estimate a variance; the cost grows in proportion")                       \
    X(pool, 1024, 16, 8192, true, "candidates that the model predicts",                            \
      "more candidates cost more time and find nothing better")                                    \
    X(fresh, 64, 1, 8192, true, "candidates replaced with each proposal",                          \
      "predicting new candidates is cheap")                                                        \
    X(knee, 0.4, 0.01, 10, false, "log time over the best above which it counts less",             \
      "exact times do not matter of configurations that take 1.5 times as long as the best")       \
    X(share, 0.25, 0, 1, false, "weight of log time above the knee",                               \
      "slower ones still count as worse")                                                          \
    X(ceiling, 1.4, 0.02, 20, false, "largest log time; failures have it",                         \
      "a failure counts as a configuration that takes e^4.4 times as long as the best")
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
    .bytes = sizeof(ak_guided),
    .open = open_forest,
    .propose = ak_guided_propose,
    .observe = ak_guided_observe,
    .close = ak_guided_close,
    .hypers = hypers,
    .batch_max = AK_GUIDED_BATCH_MAX,
};
