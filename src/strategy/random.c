/* random.c: draws configurations uniformly, each once. The other strategies are compared with
   it. */
#include "strategy/walk.h"

typedef struct uniform {
    ak_strategy base;
    ak_walk walk;
} uniform;

static void close_random(ak_strategy *strategy)
{
    ak_walk_close(&((uniform *)strategy)->walk);
}

static ak_status open_random(ak_strategy *strategy, const ak_strategy_context *context,
                             ak_error *err)
{
    return ak_walk_open(&((uniform *)strategy)->walk, context->space, context->seed, err);
}

static ak_status propose_random(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err)
{
    ak_walk *walk = &((uniform *)strategy)->walk;
    *out = (ak_proposal){0};
    *found = ak_walk_next(&out->config, walk);
    return *found ? ak_walk_propose(walk, &out->config, err) : AK_OK;
}

static ak_status observe_random(ak_strategy *strategy, const ak_observation *observation,
                                ak_error *err)
{
    return ak_walk_observe(&((uniform *)strategy)->walk, observation->config, err);
}

const ak_strategy_ops ak_strategy_random = {
    .name = "random",
    .description = "uniformly random, without repeats",
    .bytes = sizeof(uniform),
    .open = open_random,
    .propose = propose_random,
    .observe = observe_random,
    .close = close_random,
};
