/*
 * local.c: greedy descent with restarts.
 *
 * From the default, try configurations that differ in one parameter, the adjacent values first, and
 * move as soon as one is faster. When no neighbour is, start again somewhere else.
 */
#include "strategy/walk.h"

/* Of one configuration: every parameter with a few dozen values. What exceeds it waits for a move.
 */
enum { NEIGHBOURS_MAX = 1024 };

#define HYPERS(X)                                                                                  \
    X(STARTS, "starts", 1, 1, 1000, true,                                                          \
      "configurations tried before each descent, which leaves from the best of them",              \
      "neighbours teach more than further starts where times are smooth")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

typedef struct local {
    ak_strategy base;
    ak_walk walk;
    ak_rng rng;
    ak_config centre;
    double centre_ms;
    int generation;
    size_t starts, starts_left; /* of this descent: not proposed yet */
    bool started, settled;      /* settled: the centre was measured, neighbours may be tried */
    ak_config *neighbours; /* of the centre, not tried yet, in random order; taken from the end */
    size_t neighbour_count;
    ak_neighbourhood widest; /* of those that were listed for this centre */
    bool listed;
} local;

static void close_local(ak_strategy *strategy)
{
    local *self = (local *)strategy;
    if (self != NULL) {
        ak_walk_close(&self->walk);
        ak_free(self->neighbours);
        ak_free(self);
    }
}

static ak_status open_local(ak_strategy **out, const ak_strategy_context *context, ak_error *err)
{
    local *self = ak_alloc(1, sizeof *self);
    if (self == NULL) {
        return ak_fail_memory(err);
    }
    self->base.ops = &ak_strategy_local;
    self->starts = (size_t)ak_strategy_hyper(context, hypers, HYPER_STARTS);
    self->starts_left = self->starts;
    ak_rng_seed(&self->rng, context->seed);
    ak_status status = ak_walk_open(&self->walk, context->space, ak_rng_next(&self->rng), err);
    self->neighbours = ak_alloc(NEIGHBOURS_MAX, sizeof *self->neighbours);
    if (status == AK_OK && self->neighbours == NULL) {
        status = ak_fail_memory(err);
    }
    if (status != AK_OK) {
        close_local(&self->base);
        return status;
    }
    *out = &self->base;
    return AK_OK;
}

static void list_neighbours(local *self, ak_neighbourhood kind)
{
    size_t count = ak_space_neighbours(self->neighbours, NEIGHBOURS_MAX, self->walk.space,
                                       &self->centre, kind);
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)ak_rng_below(&self->rng, i);
        ak_config moved = self->neighbours[i - 1];
        self->neighbours[i - 1] = self->neighbours[j];
        self->neighbours[j] = moved;
    }
    self->neighbour_count = count;
    self->widest = kind;
    self->listed = true;
}

/* The next neighbour of the centre that was not tried; false when there is none left. */
static bool next_neighbour(ak_config *out, local *self)
{
    for (;;) {
        while (self->neighbour_count > 0) {
            *out = self->neighbours[--self->neighbour_count];
            if (!ak_walk_seen(&self->walk, out)) {
                return true;
            }
        }
        if (!self->listed) {
            list_neighbours(self, AK_NEIGHBOUR_ADJACENT);
        } else if (self->widest == AK_NEIGHBOUR_ADJACENT) {
            list_neighbours(self, AK_NEIGHBOUR_ANY);
        } else {
            return false;
        }
    }
}

/* False: nothing to propose until something is observed, or ever. */
static bool next_proposal(ak_proposal *out, local *self)
{
    *out = (ak_proposal){0};
    if (self->settled && self->starts_left == 0) {
        if (next_neighbour(&out->config, self)) {
            out->parent = self->centre;
            out->has_parent = true;
            out->generation = self->generation + 1;
            return true;
        }
        if (self->walk.outstanding > 0) {
            return false; /* one of these may be better than the centre */
        }
        self->settled = false;
        self->starts_left = self->starts;
    }
    self->starts_left -= self->starts_left > 0;
    /* Starts are independent of each other: as many as are asked for. */
    if (!self->started) {
        self->started = true;
        ak_space_default(&out->config, self->walk.space);
        if (!ak_walk_seen(&self->walk, &out->config)) {
            return true;
        }
    }
    return ak_walk_next(&out->config, &self->walk);
}

static ak_status propose_local(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                               ak_error *err)
{
    local *self = (local *)strategy;
    size_t n = 0;
    while (n < max && next_proposal(&out[n], self)) {
        ak_status status = ak_walk_propose(&self->walk, &out[n].config, err);
        if (status != AK_OK) {
            return status;
        }
        n++;
    }
    *count = n;
    return AK_OK;
}

static ak_status observe_local(ak_strategy *strategy, const ak_observation *observation,
                               ak_error *err)
{
    local *self = (local *)strategy;
    if (observation->ok && (!self->settled || observation->ms < self->centre_ms)) {
        self->generation = self->settled ? self->generation + 1 : 0;
        self->centre = *observation->config;
        self->centre_ms = observation->ms;
        self->settled = true;
        self->listed = false;
        self->neighbour_count = 0;
    }
    return ak_walk_observe(&self->walk, observation->config, err);
}

const ak_strategy_ops ak_strategy_local = {
    .name = "local",
    .description = "greedy descent over neighbours, from the default, with random restarts",
    .open = open_local,
    .propose = propose_local,
    .observe = observe_local,
    .close = close_local,
    .hypers = hypers,
};
