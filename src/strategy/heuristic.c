/*
 * heuristic.c: a search that starts from prior knowledge and then learns from trials.
 *
 * It works as bayes does (guided.h), with two differences. The default comes first even if the
 * space declares none. If the kernel's author ranks its configurations (rank.h), the random part of
 * the design is replaced by some of the best-ranked ones, as different from each other as possible,
 * and the rank is the model's prior.
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    X(start, 12, 2, 1000, true, "configurations tried before the model is asked",                  \
      "with a rank and a known budget, one trial in six is used instead")                          \
    AK_GUIDED_POOL_HYPER(X)
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

static ak_status open_heuristic(ak_strategy *strategy, const ak_strategy_context *context,
                                ak_error *err)
{
    ak_guided_options options = AK_GUIDED_DEFAULT;
    options.start = (size_t)ak_strategy_hyper(context, hypers, HYPER_start);
    options.pool = (size_t)ak_strategy_hyper(context, hypers, HYPER_pool);
    options.expert = true;
    return ak_guided_open(strategy, context, &options, err);
}

const ak_strategy_ops ak_strategy_heuristic = {
    .name = "heuristic",
    .description = "expert ranking first, then neighbours of the best, guided by what was learned",
    .open = open_heuristic,
    AK_GUIDED_OPS,
};
