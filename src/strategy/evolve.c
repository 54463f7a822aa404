/*
 * evolve.c: a genetic search that widens with time and selects children by a model before it tries
 * them. The combination is ours; its parts are known:
 *
 *     - The parents are the best trials so far. Their number starts small and grows with the square
 *       root of the trials, so that a short run descends at once and a long one does not get stuck.
 *       A population of fixed size suits one budget only, and the budget is seldom known.
 *     - Several children are made, and only one is tried: the child that an additive model of the
 *       values' effects predicts to be the fastest (pre-selection: Jin, "A comprehensive survey
 *       of fitness approximation in evolutionary computation", 2005). The children are few because
 *       the model is simple; a search that trusts it blindly sees only what the model expects.
 */
#include "strategy/frame.h"

#include <math.h>

#define HYPERS(X)                                                                                  \
    X(starts, 10, 2, 1000, true, "random configurations before the first children",                \
      "fewer mislead the model; more delay the descent")                                           \
    X(parents, 3, 2, 256, true, "the best trials, which have children, at the start",              \
      "short runs have to descend at once")                                                        \
    X(growth, 1.5, 0, 20, false, "additional parents per square root of the trials",               \
      "this makes 24 parents after 200 trials and 50 after 1000")                                  \
    X(bias, 2, 1, 10, false, "preference of the better parents: 1 is none",                        \
      "the better half of them has 7 of 10 children")                                              \
    X(children, 3, 1, 100, true, "children of which the model chooses one",                        \
      "with 1 the model chooses nothing; with 8 variety is lost")                                  \
    X(crossover, 0.5, 0, 1, false, "share of children that have two parents",                      \
      "the other half are mutants of one parent")                                                  \
    X(mutation, 0.3, 0, 64, false, "parameters of a child that are changed, on average",           \
      "a child that was tried already is replaced, so that most children have one change")         \
    X(near, 0.8, 0, 1, false, "share of changes that are to the next value up or down",            \
      "times mostly differ little between neighbouring values")                                    \
    X(random, 0.02, 0, 1, false, "share of proposals that are random",                             \
      "regions that have no parents are tried now and then")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

enum {
    PARENTS_MAX = 256,
    TRIES = 20, /* attempts at unseen children, plus three for each child that is wanted */
};

typedef struct evolve {
    ak_frame frame;
    ak_effects *effects;
    HYPERS(AK_HYPER_MEMBER)
    size_t starts_left;
    size_t parent[PARENTS_MAX]; /* indices of the best trials in frame.known, the best first */
    size_t parent_count;
} evolve;

static void close_evolve(ak_strategy *strategy)
{
    evolve *self = (evolve *)strategy;
    ak_effects_free(self->effects);
    ak_frame_end(strategy);
}

static const ak_known *choose_parent(evolve *self)
{
    ak_frame *frame = &self->frame;
    double count = (double)self->parents + self->growth * sqrt((double)frame->known_count);
    count = fmin(count, (double)self->parent_count);
    size_t i = (size_t)(count * pow(ak_rng_real(&frame->rng), self->bias));
    return &frame->known[self->parent[i]];
}

static const ak_known *make_child(ak_config *child, evolve *self)
{
    ak_frame *frame = &self->frame;
    const ak_known *mother = choose_parent(self);
    *child = mother->config;
    if (ak_rng_real(&frame->rng) < self->crossover) {
        ak_frame_cross(child, frame, &choose_parent(self)->config);
    }
    ak_frame_mutate(child, frame, self->mutation / (double)frame->vary, self->near);
    return mother;
}

static bool next_evolve(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    (void)tag;
    evolve *self = (evolve *)frame;
    if (self->starts_left > 0 || self->parent_count == 0 ||
        ak_rng_real(&frame->rng) < self->random) {
        self->starts_left -= self->starts_left > 0;
        return ak_frame_random(&out->config, frame);
    }
    const ak_known *parent = NULL;
    double fastest = 0.0;
    size_t born = 0;
    for (size_t i = 0; i < TRIES + 3 * self->children && born < self->children; i++) {
        ak_config child;
        const ak_known *mother = make_child(&child, self);
        if (!ak_walk_seen(&frame->walk, &child)) {
            double predicted = ak_effects_predict(self->effects, &child);
            if (born == 0 || predicted < fastest) {
                fastest = predicted;
                out->config = child;
                parent = mother;
            }
            born++;
        }
    }
    if (parent == NULL) {
        return ak_frame_random(&out->config, frame);
    }
    ak_frame_derive(out, parent);
    return true;
}

static ak_status propose_evolve(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err)
{
    evolve *self = (evolve *)strategy;
    if (self->children > 1 && ak_effects_stale(self->effects, &self->frame)) {
        AK_DO(ak_effects_learn(self->effects, &self->frame, err));
    }
    return ak_frame_propose(out, found, strategy, err);
}

static void take_evolve(ak_frame *frame, size_t place, size_t tag)
{
    (void)tag;
    evolve *self = (evolve *)frame;
    ak_frame_rank(self->parent, &self->parent_count, PARENTS_MAX, frame, place);
}

static ak_status open_evolve(ak_strategy *strategy, const ak_strategy_context *context,
                             ak_error *err)
{
    evolve *self = (evolve *)strategy;
    HYPERS(AK_HYPER_READ)
    self->starts_left = self->starts;
    AK_DO(ak_frame_open(&self->frame, next_evolve, take_evolve, context, err));
    return ak_effects_new(&self->effects, context->space, err);
}

const ak_strategy_ops ak_strategy_evolve = {
    .name = "evolve",
    .description = "a genetic search that widens as it goes on, with children chosen by a model",
    .bytes = sizeof(evolve),
    .open = open_evolve,
    .propose = propose_evolve,
    .observe = ak_frame_observe,
    .close = close_evolve,
    .hypers = hypers,
};
