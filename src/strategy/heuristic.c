/*
 * heuristic.c: what is known beforehand, then what the trials teach.
 *
 * As bayes (guided.h), but the default comes first, then what won at sizes near these
 * (ak_space_starts), and if the kernel's author ranks its configurations (rank.h), some of the best
 * ranked, as different from each other as possible, are the design, and the rank is what the model
 * expects before it learns better.
 */
#include "strategy/guided.h"

#define HYPERS(X)                                                                                  \
    X(START, "start", 12, 2, 1000, true, "configurations tried before the model is asked",         \
      "with a rank and a known budget it is one trial in six")                                     \
    X(POOL, "pool", 1024, 16, 8192, true, "candidates that it weighs",                             \
      "more cost time in proportion and find the same")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

static ak_status open_heuristic(ak_strategy **out, const ak_strategy_context *context,
                                ak_error *err)
{
    ak_guided_options options = AK_GUIDED_DEFAULT;
    options.start = (size_t)ak_strategy_hyper(context, hypers, HYPER_START);
    options.pool = (size_t)ak_strategy_hyper(context, hypers, HYPER_POOL);
    options.expert = true;
    return ak_guided_open(out, &ak_strategy_heuristic, context, &options, err);
}

const ak_strategy_ops ak_strategy_heuristic = {
    .name = "heuristic",
    .description = "expert ranking first, then neighbours of the best, guided by what was learned",
    .open = open_heuristic,
    .propose = ak_guided_propose,
    .observe = ak_guided_observe,
    .close = ak_guided_close,
    .hypers = hypers,
};
