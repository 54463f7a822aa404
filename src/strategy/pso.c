/*
 * pso.c: a particle swarm (Kennedy, Eberhart 1995) of the bare-bones kind (Kennedy, "Bare bones
 * particle swarms", 2003), which needs no velocities.
 *
 * Parameters are coordinates: the ranks of their values. A particle remembers its best position.
 * Its next position keeps some coordinates of the particle's best position. The others are drawn
 * from a normal distribution centred between that position and the best position of the swarm, with
 * the distance of the two as its width. The nearest valid configuration that is found is tried. A
 * particle that only reaches known positions, because it lies close to the best of the swarm, steps
 * to a neighbour instead.
 */
#include "strategy/frame.h"

#include <math.h>

#define HYPERS(X)                                                                                  \
    X(particles, 10, 1, 1000, true, "number of particles",                                         \
      "fewer than the 20 to 40 of the literature, because budgets are small")                      \
    X(keep, 0.5, 0, 1, false, "probability that a coordinate stays", "as in the paper")            \
    X(width, 1, 0, 10, false, "deviation, as a share of the distance to the best of the swarm",    \
      "as in the paper")                                                                           \
    X(pull, 0.5, 0, 1, false, "mean, as a share of the way to the best of the swarm",              \
      "as in the paper")                                                                           \
    X(near, 0.5, 0, 1, false, "share of steps that are to the next value up or down",              \
      "particles already make small steps when they fly")                                          \
    X(tries, 3, 1, 100, true, "known places before a particle steps to a neighbour",               \
      "more tries only repeat what is known")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

typedef struct pso {
    ak_frame frame;
    HYPERS(AK_HYPER_MEMBER)
    size_t *best;    /* best trial of each particle, an index into frame.known; SIZE_MAX if none */
    size_t launched; /* particles that have started at a random position */
    size_t next;
} pso;

static void fly(ak_config *out, pso *self, const ak_config *own)
{
    ak_frame *frame = &self->frame;
    ak_spot at, swarm;
    ak_frame_spot(&at, frame, own);
    ak_frame_spot(&swarm, frame, &frame->known[frame->best].config);
    for (size_t p = 0; p < frame->parameters; p++) {
        if (ak_rng_real(&frame->rng) >= self->keep) {
            double apart = swarm.at[p] - at.at[p];
            at.at[p] += self->pull * apart + self->width * apart * ak_rng_normal(&frame->rng);
            at.at[p] = at.at[p] < 0.0 ? 0.0 : at.at[p] > 1.0 ? 1.0 : at.at[p];
        }
    }
    ak_frame_snap(out, frame, &at);
}

static bool next_pso(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    pso *self = (pso *)frame;
    size_t i = self->next;
    self->next = (self->next + 1) % self->particles;
    *tag = i;
    if (self->launched < self->particles || frame->best == SIZE_MAX) {
        self->launched += self->launched < self->particles;
        return ak_frame_random(&out->config, frame);
    }
    /* A particle without a result that worked starts its move at the best position of the
       swarm. */
    const ak_known *own = &frame->known[self->best[i] == SIZE_MAX ? frame->best : self->best[i]];
    for (size_t n = 0; n < self->tries; n++) {
        fly(&out->config, self, &own->config);
        if (!ak_walk_seen(&frame->walk, &out->config)) {
            ak_frame_derive(out, own);
            return true;
        }
    }
    if (ak_frame_step_near(&out->config, frame, &own->config, self->near)) {
        ak_frame_derive(out, own);
        return true;
    }
    self->best[i] = SIZE_MAX; /* everything around is known, so the particle starts again */
    return ak_frame_random(&out->config, frame);
}

static void take_pso(ak_frame *frame, size_t place, size_t tag)
{
    pso *self = (pso *)frame;
    const ak_known *known = frame->known;
    if (tag != AK_FRAME_NO_TAG && known[place].ms < HUGE_VAL &&
        (self->best[tag] == SIZE_MAX || known[place].ms < known[self->best[tag]].ms)) {
        self->best[tag] = place;
    }
}

static ak_status open_pso(ak_strategy *strategy, const ak_strategy_context *context, ak_error *err)
{
    pso *self = (pso *)strategy;
    AK_DO(ak_frame_open(&self->frame, next_pso, take_pso, context, err));
    HYPERS(AK_HYPER_READ)
    AK_DO(AK_ARENA_NEW(self->best, self->frame.arena, self->particles, err));
    for (size_t i = 0; i < self->particles; i++) {
        self->best[i] = SIZE_MAX;
    }
    return AK_OK;
}

const ak_strategy_ops ak_strategy_pso = {
    .name = "pso",
    .description = "a swarm of particles between their own best places and that of all",
    .bytes = sizeof(pso),
    .open = open_pso,
    AK_FRAME_OPS,
};
