/*
 * diffevo.c: differential evolution (Storn, Price, "Differential evolution", 1997) of the variant
 * current-to-best/1/bin, one member at a time.
 *
 * Parameters are coordinates: the ranks of their values. A member moves towards an elite and along
 * the difference of two members drawn at random, while some coordinates stay. The nearest valid
 * configuration that is found for the resulting point is tried and replaces the member if it is
 * better.
 */
#include "strategy/frame.h"

#include <math.h>

#define HYPERS(X)                                                                                  \
    X(population, 15, 4, 1000, true, "members that evolve",                                        \
      "fewer than the usual ten for each parameter, because budgets are small")                    \
    X(difference, 0.7, 0, 2, false, "share of the difference of two members",                      \
      "the paper recommends 0.5 to 1")                                                             \
    X(lead, 1, 0, 2, false, "share of the way to an elite",                                        \
      "members go the whole way, because budgets are small")                                       \
    X(elites, 0.2, 0, 1, false, "share of the members that lead",                                  \
      "with fewer the members become alike too soon; more would include members that are not "     \
      "good")                                                                                      \
    X(crossover, 0.2, 0, 1, false, "probability that a coordinate moves",                          \
      "a move of all coordinates leaves the narrow regions of good configurations")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

/* attempts at an unseen point before a neighbour or a random configuration is taken */
enum { TRIES = 20 };

typedef struct diffevo {
    ak_frame frame;
    HYPERS(AK_HYPER_MEMBER)
    size_t *member; /* indices into frame.known; SIZE_MAX if empty */
    size_t *order;  /* the members' indices into frame.known, the best first */
    size_t order_count;
    size_t next;
    size_t initial;
} diffevo;

static const ak_config *draw(diffevo *self)
{
    size_t i = (size_t)ak_rng_below(&self->frame.rng, self->order_count);
    return &self->frame.known[self->order[i]].config;
}

static void move(ak_config *out, diffevo *self, const ak_known *from)
{
    ak_frame *frame = &self->frame;
    size_t elites = (size_t)(self->elites * (double)self->order_count);
    size_t elite = self->order[ak_rng_below(&frame->rng, elites < 1 ? 1 : elites)];
    ak_spot at, lead, plus, minus;
    ak_frame_spot(&at, frame, &from->config);
    ak_frame_spot(&lead, frame, &frame->known[elite].config);
    ak_frame_spot(&plus, frame, draw(self));
    ak_frame_spot(&minus, frame, draw(self));
    /* Each move draws a new scale ("dither"), so that few members can reach many points. */
    double f = self->difference * (0.5 + ak_rng_real(&frame->rng));
    size_t sure = (size_t)ak_rng_below(&frame->rng, frame->parameters);
    for (size_t p = 0; p < frame->parameters; p++) {
        if (p == sure || ak_rng_real(&frame->rng) < self->crossover) {
            at.at[p] += self->lead * (lead.at[p] - at.at[p]) + f * (plus.at[p] - minus.at[p]);
            /* reflects the coordinate at the ends of the range, then clamps it */
            at.at[p] = at.at[p] < 0.0 ? -at.at[p] : at.at[p] > 1.0 ? 2.0 - at.at[p] : at.at[p];
            at.at[p] = at.at[p] < 0.0 ? 0.0 : at.at[p] > 1.0 ? 1.0 : at.at[p];
        }
    }
    ak_frame_snap(out, frame, &at);
}

static bool next_diffevo(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    diffevo *self = (diffevo *)frame;
    size_t i = self->next;
    self->next = (self->next + 1) % self->population;
    *tag = i;
    if (self->initial < self->population || self->order_count < 4) {
        self->initial += self->initial < self->population;
        return ak_frame_random(&out->config, frame);
    }
    size_t place = self->member[i] == SIZE_MAX ? self->order[0] : self->member[i];
    const ak_known *from = &frame->known[place];
    for (size_t n = 0; n < TRIES; n++) {
        move(&out->config, self, from);
        if (!ak_walk_seen(&frame->walk, &out->config)) {
            ak_frame_derive(out, from);
            return true;
        }
    }
    if (ak_frame_step(&out->config, frame, &from->config, AK_NEIGHBOUR_ANY)) {
        ak_frame_derive(out, from);
        return true;
    }
    return ak_frame_random(&out->config, frame);
}

static void take_diffevo(ak_frame *frame, size_t place, size_t tag)
{
    diffevo *self = (diffevo *)frame;
    if (!(frame->known[place].ms < HUGE_VAL)) {
        return;
    }
    /* If no member proposed this configuration, it takes an empty place or competes with the worst
       member. */
    if (tag == AK_FRAME_NO_TAG) {
        tag = 0;
        for (size_t i = 1; i < self->population && self->member[tag] != SIZE_MAX; i++) {
            if (self->member[i] == SIZE_MAX ||
                frame->known[self->member[i]].ms > frame->known[self->member[tag]].ms) {
                tag = i;
            }
        }
    }
    size_t before = self->member[tag];
    if (before == SIZE_MAX || frame->known[place].ms < frame->known[before].ms) {
        self->member[tag] = place;
        self->order_count = 0;
        for (size_t i = 0; i < self->population; i++) {
            if (self->member[i] != SIZE_MAX) {
                ak_frame_rank(self->order, &self->order_count, self->population, frame,
                              self->member[i]);
            }
        }
    }
}

static ak_status open_diffevo(ak_strategy *strategy, const ak_strategy_context *context,
                              ak_error *err)
{
    diffevo *self = (diffevo *)strategy;
    AK_DO(ak_frame_open(&self->frame, next_diffevo, take_diffevo, context, err));
    HYPERS(AK_HYPER_READ)
    AK_DO(AK_ARENA_NEW(self->member, self->frame.arena, self->population, err));
    AK_DO(AK_ARENA_NEW(self->order, self->frame.arena, self->population, err));
    for (size_t i = 0; i < self->population; i++) {
        self->member[i] = SIZE_MAX;
    }
    return AK_OK;
}

const ak_strategy_ops ak_strategy_diffevo = {
    .name = "diffevo",
    .description = "differential evolution: members move along differences of others",
    .bytes = sizeof(diffevo),
    .open = open_diffevo,
    AK_FRAME_OPS,
};
