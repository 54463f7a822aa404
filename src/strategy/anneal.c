/*
 * anneal.c: simulated annealing (Kirkpatrick, Gelatt, Vecchi, "Optimization by simulated
 * annealing", 1983) over neighbours, with reheating.
 *
 * A step to a time (or cost) that is higher by the factor f is accepted with probability f^(-1/T),
 * one to an equal or lower time always, and one to a failure never. The temperature T has the unit
 * of the logarithm of time, so it means the same for every kernel. It falls with each step that is
 * tried. When it is cold, or no neighbour is left, the walk starts again from the best of a few
 * random configurations.
 */
#include "strategy/frame.h"

#include <math.h>

#define HYPERS(X)                                                                                  \
    X(starts, 10, 1, 1000, true, "random configurations from the best of which a walk starts",     \
      "a walk from a good start needs half as many steps")                                         \
    X(hot, 0.02, 0, 10, false, "temperature of the start, in logarithms of time",                  \
      "steps to a time 2 % longer are often taken at first, steps to one 20 % longer never")       \
    X(cold, 0.0003, 1e-9, 1, false, "temperature at which the walk starts again",                  \
      "differences that small cannot be measured")                                                 \
    X(cooling, 0.98, 0.01, 0.9999, false, "factor of the temperature at each trial",               \
      "the walk cools from hot to cold in 200 trials")                                             \
    X(near, 0.7, 0, 1, false, "share of steps that are to the next value up or down",              \
      "times mostly differ little between neighbouring values")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

typedef struct anneal {
    ak_frame frame;
    HYPERS(AK_HYPER_MEMBER)
    size_t starts_left;
    size_t current; /* index of the walk's position in frame.known; SIZE_MAX if none */
    double temperature;
} anneal;

static void restart(anneal *self)
{
    self->starts_left = self->starts;
    self->current = SIZE_MAX;
    self->temperature = self->hot;
}

static bool next_anneal(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    anneal *self = (anneal *)frame;
    if (self->starts_left == 0 && self->current != SIZE_MAX) {
        const ak_known *from = &frame->known[self->current];
        if (self->temperature >= self->cold &&
            ak_frame_step_near(&out->config, frame, &from->config, self->near)) {
            ak_frame_derive(out, from);
            *tag = 1;
            return true;
        }
        if (frame->walk.outstanding > 0) {
            return false;
        }
        restart(self);
    }
    self->starts_left -= self->starts_left > 0;
    *tag = 0;
    return ak_frame_random(&out->config, frame);
}

static bool accept(anneal *self, size_t place)
{
    const ak_known *known = self->frame.known;
    if (!(known[place].ms < HUGE_VAL)) {
        return false;
    }
    if (self->current == SIZE_MAX || known[place].ms <= known[self->current].ms) {
        return true;
    }
    double slower = log(known[place].ms / known[self->current].ms);
    return self->starts_left == 0 &&
           ak_rng_real(&self->frame.rng) < exp(-slower / self->temperature);
}

static void take_anneal(ak_frame *frame, size_t place, size_t tag)
{
    anneal *self = (anneal *)frame;
    if (tag == 1) {
        self->temperature *= self->cooling;
    }
    if (accept(self, place)) {
        self->current = place;
    }
}

static ak_status open_anneal(ak_strategy *strategy, const ak_strategy_context *context,
                             ak_error *err)
{
    anneal *self = (anneal *)strategy;
    AK_DO(ak_frame_open(&self->frame, next_anneal, take_anneal, context, err));
    HYPERS(AK_HYPER_READ)
    restart(self);
    return AK_OK;
}

const ak_strategy_ops ak_strategy_anneal = {
    .name = "anneal",
    .description = "a walk over neighbours that takes slower steps ever more rarely",
    .bytes = sizeof(anneal),
    .open = open_anneal,
    AK_FRAME_OPS,
};
