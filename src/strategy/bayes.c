/*
 * bayes.c: Bayesian optimisation with a Gaussian process over numbers and strings (gp.h) and the
 * expected improvement, over valid configurations only (guided.h).
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    X(START, "start", 12, 2, 1000, true, "configurations tried before the model is asked",         \
      "fewer mislead it, more are trials that it would have placed better")                        \
    X(POOL, "pool", 1024, 16, 8192, true, "candidates that the model predicts",                    \
      "more cost time in proportion and find the same")                                            \
    X(FRESH, "fresh", 24, 1, 8192, true, "candidates replaced with each proposal",                 \
      "one in forty: after forty trials the whole pool is another one")                            \
    X(ROWS, "rows", 500, 16, 900, true, "most trials that the model learns from",                  \
      "its cost grows with the square; beyond, the best half and a random quarter stay")           \
    X(KNEE, "knee", 0.4, 0.01, 10, false, "log time over the best above which it counts less",     \
      "what is half again as slow as the best need not be known exactly")                          \
    X(SHARE, "share", 0.25, 0, 1, false, "weight of log time above the knee",                      \
      "it keeps the direction")                                                                    \
    X(CEILING, "ceiling", 1.4, 0.02, 20, false, "largest log time, which failures get",            \
      "as bad as what is e^4.4 times as slow")                                                     \
    X(STEEPNESS, "steepness", 5, 0.1, 100, false,                                                  \
      "dissimilarity of configurations before learning",                                           \
      "random pairs start at a similarity of about e^-2")                                          \
    X(NOISE, "noise", 0.003, 1e-6, 1, false, "variance of measurements before learning",           \
      "a few per cent of the differences, as repeated runs show")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

static ak_status open_bayes(ak_strategy **out, const ak_strategy_context *context, ak_error *err)
{
    ak_guided_options options = {
        .start = (size_t)ak_strategy_hyper(context, hypers, HYPER_START),
        .pool = (size_t)ak_strategy_hyper(context, hypers, HYPER_POOL),
        .fresh = (size_t)ak_strategy_hyper(context, hypers, HYPER_FRESH),
        .rows = (size_t)ak_strategy_hyper(context, hypers, HYPER_ROWS),
        .knee = ak_strategy_hyper(context, hypers, HYPER_KNEE),
        .share = ak_strategy_hyper(context, hypers, HYPER_SHARE),
        .ceiling = ak_strategy_hyper(context, hypers, HYPER_CEILING),
        .steepness = ak_strategy_hyper(context, hypers, HYPER_STEEPNESS),
        .noise = ak_strategy_hyper(context, hypers, HYPER_NOISE),
    };
    return ak_guided_open(out, &ak_strategy_bayes, context, &options, err);
}

const ak_strategy_ops ak_strategy_bayes = {
    .name = "bayes",
    .description = "Bayesian optimisation: a Gaussian process says what is worth a trial",
    .open = open_bayes,
    .propose = ak_guided_propose,
    .observe = ak_guided_observe,
    .close = ak_guided_close,
    .hypers = hypers,
    .batch_max = AK_GUIDED_BATCH_MAX,
};
