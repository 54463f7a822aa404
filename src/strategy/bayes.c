/*
 * bayes.c: Bayesian optimisation with a Gaussian process over numbers and strings (gp.h) and the
 * expected improvement, over valid configurations only (guided.h).
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    AK_GUIDED_START_HYPER(X)                                                                       \
    AK_GUIDED_POOL_HYPER(X)                                                                        \
    X(fresh, 24, 1, 8192, true, "candidates replaced with each proposal",                          \
      "one in forty is replaced, so that forty trials renew the whole pool")                       \
    X(rows, 500, 16, 900, true, "most trials that the model learns from",                          \
      "the cost grows with the square; of more trials it keeps the best half and a random "        \
      "quarter")                                                                                   \
    AK_GUIDED_LEVEL_HYPERS(X)                                                                      \
    X(steepness, 5, 0.1, 100, false, "dissimilarity of configurations before learning",            \
      "a random pair then has a similarity of about e^-2")                                         \
    X(noise, 0.003, 1e-6, 1, false, "variance of measurements before learning",                    \
      "repeated runs vary by a few per cent of the differences")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

static ak_status open_bayes(ak_strategy *strategy, const ak_strategy_context *context,
                            ak_error *err)
{
    const ak_guided_options options = {HYPERS(AK_HYPER_VALUE)};
    return ak_guided_open(strategy, context, &options, err);
}

const ak_strategy_ops ak_strategy_bayes = {
    .name = "bayes",
    .description = "Bayesian optimisation: a Gaussian process says what is worth a trial",
    .open = open_bayes,
    AK_GUIDED_OPS,
};
