/*
 * pso.c: particle swarm optimization (Kennedy, Eberhart 1995; inertia as in Shi, Eberhart 1998).
 *
 * Parameters are coordinates, the places of their values in order. Each particle keeps its
 * velocity and is drawn to the best place where it was itself and to the best of the swarm; the
 * nearest valid configuration to where it is gets tried. Places whose time is known already cost
 * nothing, so a particle flies on until it is over a new one.
 */
#include "strategy/frame.h"

#include <math.h>

#define HYPERS(X)                                                                                  \
    X(PARTICLES, "particles", 15, 1, 1000, true, "particles", "small: budgets are small")          \
    X(INERTIA, "inertia", 0.6, 0, 1, false, "share of its velocity that a particle keeps",         \
      "below the 0.73 of the literature: budgets are small")                                       \
    X(OWN, "own", 1.5, 0, 4, false, "pull of the best place of the particle itself",               \
      "of the literature")                                                                         \
    X(SWARM, "swarm", 1.5, 0, 4, false, "pull of the best place of the swarm", "of the literature")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

enum { FLIGHTS = 20 }; /* over known places, before the particle is moved to a new one */

typedef struct particle {
    ak_spot at, velocity, best_at;
    size_t best; /* place; SIZE_MAX: none */
    bool flying;
} particle;

typedef struct pso {
    ak_frame frame;
    size_t count;
    double inertia, own, swarm;
    particle *particles;
    size_t next;
} pso;

static void close_pso(ak_strategy *strategy)
{
    pso *self = (pso *)strategy;
    if (self != NULL) {
        ak_frame_close(&self->frame);
        ak_free(self->particles);
        ak_free(self);
    }
}

static ak_status open_pso(ak_strategy **out, const ak_strategy_context *context, ak_error *err)
{
    pso *self = ak_alloc(1, sizeof *self);
    if (self == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status = ak_frame_open(&self->frame, &ak_strategy_pso, context, err);
    self->count = (size_t)ak_strategy_hyper(context, hypers, HYPER_PARTICLES);
    self->inertia = ak_strategy_hyper(context, hypers, HYPER_INERTIA);
    self->own = ak_strategy_hyper(context, hypers, HYPER_OWN);
    self->swarm = ak_strategy_hyper(context, hypers, HYPER_SWARM);
    self->particles = ak_alloc(self->count, sizeof *self->particles);
    if (status == AK_OK && self->particles == NULL) {
        status = ak_fail_memory(err);
    }
    if (status != AK_OK) {
        close_pso(&self->frame.base);
        return status;
    }
    for (size_t i = 0; i < self->count; i++) {
        self->particles[i].best = SIZE_MAX;
    }
    *out = &self->frame.base;
    return AK_OK;
}

static void visit(pso *self, particle *p, size_t place)
{
    const ak_known *known = self->frame.known;
    if (known[place].ms < HUGE_VAL &&
        (p->best == SIZE_MAX || known[place].ms < known[p->best].ms)) {
        p->best = place;
        ak_frame_spot(&p->best_at, &self->frame, &known[place].config);
    }
}

static void fly(pso *self, particle *q, const ak_spot *swarm)
{
    ak_rng *rng = &self->frame.rng;
    for (size_t p = 0; p < self->frame.parameters; p++) {
        double v = self->inertia * q->velocity.at[p];
        if (q->best != SIZE_MAX) {
            v += self->own * ak_rng_real(rng) * (q->best_at.at[p] - q->at.at[p]);
        }
        v += self->swarm * ak_rng_real(rng) * (swarm->at[p] - q->at.at[p]);
        v = v > 0.5 ? 0.5 : v < -0.5 ? -0.5 : v; /* half of the range at once is enough */
        double x = q->at.at[p] + v;
        if (x < 0.0 || x > 1.0) {
            x = x < 0.0 ? 0.0 : 1.0;
            v = -0.5 * v;
        }
        q->velocity.at[p] = v;
        q->at.at[p] = x;
    }
}

static bool launch(ak_proposal *out, pso *self, particle *q)
{
    ak_frame *frame = &self->frame;
    q->flying = ak_frame_random(&out->config, frame);
    if (q->flying) {
        ak_spot there;
        ak_frame_spot(&q->at, frame, &out->config);
        ak_config other;
        ak_space_sample(&other, frame->space, &frame->rng);
        ak_frame_spot(&there, frame, &other);
        for (size_t p = 0; p < frame->parameters; p++) {
            q->velocity.at[p] = 0.5 * (there.at[p] - q->at.at[p]);
        }
    }
    return q->flying;
}

static bool next_pso(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    pso *self = (pso *)frame;
    size_t i = self->next;
    self->next = (self->next + 1) % self->count;
    *tag = i;
    particle *q = &self->particles[i];
    if (!q->flying || frame->best == SIZE_MAX) {
        return launch(out, self, q);
    }
    ak_spot swarm;
    ak_frame_spot(&swarm, frame, &frame->known[frame->best].config);
    const ak_known *from = &frame->known[q->best == SIZE_MAX ? frame->best : q->best];
    for (size_t n = 0; n < FLIGHTS; n++) {
        fly(self, q, &swarm);
        ak_frame_snap(&out->config, frame, &q->at);
        if (!ak_walk_seen(&frame->walk, &out->config)) {
            ak_frame_derive(out, from);
            return true;
        }
        const ak_known *known = ak_frame_find(frame, &out->config);
        if (known != NULL) {
            visit(self, q, (size_t)(known - frame->known));
        }
    }
    /* It circles over what is known. */
    if (ak_frame_step(&out->config, frame, &from->config, AK_NEIGHBOUR_ANY)) {
        ak_frame_spot(&q->at, frame, &out->config);
        ak_frame_derive(out, from);
        return true;
    }
    q->best = SIZE_MAX;
    return launch(out, self, q);
}

static ak_status propose_pso(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                             ak_error *err)
{
    return ak_frame_propose(out, count, (ak_frame *)strategy, max, next_pso, err);
}

static ak_status observe_pso(ak_strategy *strategy, const ak_observation *observation,
                             ak_error *err)
{
    pso *self = (pso *)strategy;
    size_t place, tag;
    ak_status status = ak_frame_observe(&place, &tag, &self->frame, observation, err);
    if (status == AK_OK && place != SIZE_MAX && tag != AK_FRAME_NO_TAG) {
        visit(self, &self->particles[tag], place);
    }
    return status;
}

const ak_strategy_ops ak_strategy_pso = {
    .name = "pso",
    .description = "a swarm of particles, drawn to the best places found",
    .open = open_pso,
    .propose = propose_pso,
    .observe = observe_pso,
    .close = close_pso,
    .hypers = hypers,
};
