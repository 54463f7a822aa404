/*
 * genetic.c: a steady-state genetic algorithm (Whitley, "The GENITOR algorithm and selection
 * pressure", 1989): children come one at a time and replace the worst member if they are better;
 * while members are missing, any configuration that worked becomes one.
 *
 * Parents are chosen by tournament. A child takes each parameter from one or the other (uniform
 * crossover, Syswerda 1989), is mutated and, if it is then invalid, is replaced by the nearest
 * valid configuration that is found. No generation has to be complete, so children can be measured
 * in any number and order.
 */
#include "strategy/frame.h"

#define HYPERS(X)                                                                                  \
    X(population, 20, 2, 1000, true, "configurations that may be parents",                         \
      "fewer lose variety; more delay the descent")                                                \
    X(tournament, 4, 1, 100, true,                                                                 \
      "configurations drawn for each parent, of which the best is taken",                          \
      "more than the usual 2, because budgets are small")                                          \
    X(crossover, 1, 0, 1, false, "share of children that have two parents",                        \
      "parents are often alike, and then the child is a mutant anyway")                            \
    X(mutation, 0.3, 0, 64, false, "parameters of a child that are changed, on average",           \
      "a child that was tried already is replaced, so that most children have one change")         \
    X(near, 0.9, 0, 1, false, "share of changes that are to the next value up or down",            \
      "times mostly differ little between neighbouring values")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

enum { TRIES = 20 }; /* attempts at an unseen child before a random one is drawn */

typedef struct genetic {
    ak_frame frame;
    HYPERS(AK_HYPER_MEMBER)
    size_t *member; /* indices of the best trials in frame.known, the best first */
    size_t member_count;
    size_t initial; /* random configurations left to propose */
} genetic;

static const ak_known *choose_parent(genetic *self)
{
    size_t chosen = self->member_count;
    for (size_t i = 0; i < self->tournament; i++) {
        size_t drawn = (size_t)ak_rng_below(&self->frame.rng, self->member_count);
        chosen = drawn < chosen ? drawn : chosen;
    }
    return &self->frame.known[self->member[chosen]];
}

static bool next_genetic(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    (void)tag;
    genetic *self = (genetic *)frame;
    if (self->initial > 0 || self->member_count < 2) {
        self->initial -= self->initial > 0;
        return ak_frame_random(&out->config, frame);
    }
    double rate = self->mutation / (double)frame->vary;
    for (size_t i = 0; i < TRIES; i++) {
        const ak_known *mother = choose_parent(self);
        ak_config child = mother->config;
        if (ak_rng_real(&frame->rng) < self->crossover) {
            ak_frame_cross(&child, frame, &choose_parent(self)->config);
        }
        ak_frame_mutate(&child, frame, rate, self->near);
        if (!ak_walk_seen(&frame->walk, &child)) {
            out->config = child;
            ak_frame_derive(out, mother);
            return true;
        }
    }
    return ak_frame_random(&out->config, frame);
}

static void take_genetic(ak_frame *frame, size_t place, size_t tag)
{
    (void)tag;
    genetic *self = (genetic *)frame;
    ak_frame_rank(self->member, &self->member_count, self->population, frame, place);
}

static ak_status open_genetic(ak_strategy *strategy, const ak_strategy_context *context,
                              ak_error *err)
{
    genetic *self = (genetic *)strategy;
    AK_DO(ak_frame_open(&self->frame, next_genetic, take_genetic, context, err));
    HYPERS(AK_HYPER_READ)
    self->initial = self->population;
    return AK_ARENA_NEW(self->member, self->frame.arena, self->population, err);
}

const ak_strategy_ops ak_strategy_genetic = {
    .name = "genetic",
    .description = "crosses and mutants of the best, which take the place of the worst",
    .bytes = sizeof(genetic),
    .open = open_genetic,
    AK_FRAME_OPS,
};
