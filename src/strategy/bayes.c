/*
 * bayes.c: Bayesian optimisation with a Gaussian process over numbers and strings (gp.h) and the
 * expected improvement, over valid configurations only (guided.h).
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    X(start, 12, 2, 1000, true, "configurations tried before the model is asked",                  \
      "fewer mislead the model, and the model would choose better trials than more random ones "   \
      "are")                                                                                       \
    X(pool, 1024, 16, 8192, true, "candidates that the model predicts",                            \
      "more candidates cost more time and find nothing better")                                    \
    X(fresh, 24, 1, 8192, true, "candidates replaced with each proposal",                          \
      "one in forty is replaced, so that forty trials renew the whole pool")                       \
    X(rows, 500, 16, 900, true, "most trials that the model learns from",                          \
      "the cost grows with the square; of more trials it keeps the best half and a random "        \
      "quarter")                                                                                   \
    X(knee, 0.4, 0.01, 10, false, "log time over the best above which it counts less",             \
      "exact times do not matter of configurations that take 1.5 times as long as the best")       \
    X(share, 0.25, 0, 1, false, "weight of log time above the knee",                               \
      "slower ones still count as worse")                                                          \
    X(ceiling, 1.4, 0.02, 20, false, "largest log time; failures have it",                         \
      "a failure counts as a configuration that takes e^4.4 times as long as the best")            \
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
    .bytes = sizeof(ak_guided),
    .open = open_bayes,
    .propose = ak_guided_propose,
    .observe = ak_guided_observe,
    .close = ak_guided_close,
    .hypers = hypers,
    .batch_max = AK_GUIDED_BATCH_MAX,
};
