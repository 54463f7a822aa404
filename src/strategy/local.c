/*
 * local.c: iterated local search (Lourenco, Martin, Stutzle, "Iterated local search", 2003).
 *
 * The search starts at the best of a few configurations. It tries the neighbours, which differ in
 * one parameter, adjacent values first, and moves as soon as a neighbour is better. If no neighbour
 * is better it restarts: mostly at a mutant of the best so far, because good configurations lie
 * near others, and sometimes at random.
 */
#include "strategy/frame.h"

#include <math.h>

#define HYPERS(X)                                                                                  \
    X(starts, 5, 1, 1000, true,                                                                    \
      "configurations tried before a descent, which leaves from the best of them",                 \
      "with 1 all depends on the default; 10 delay the descent")                                   \
    X(jump, 0.8, 0, 1, false, "share of restarts that are mutants of the best",                    \
      "good configurations are often near each other, but not always")                             \
    X(strength, 2, 1, 64, false, "parameters that such a mutant changes, on average",              \
      "the descent undoes 1 change; 5 are as good as a random configuration")                      \
    X(wide, 1, 0, 1, false, "probability that a descent goes on to values that are not adjacent",  \
      "values that are names have no order")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

/* Most neighbours listed for one centre; enough if every parameter has a few dozen values.
   Neighbours beyond this number are not tried unless the centre moves. */
enum { NEIGHBOURS_MAX = 1024 };

typedef struct local {
    ak_frame frame;
    HYPERS(AK_HYPER_MEMBER)
    size_t starts_left; /* starts of this descent that are not proposed yet */
    bool started;       /* the default was proposed */
    bool jumping;       /* the starts of this descent are mutants of the best */
    size_t centre;      /* index in frame.known; SIZE_MAX if there is none yet */
    /* untried neighbours of the centre in random order, taken from the end */
    ak_config *neighbours;
    size_t neighbour_count;
    ak_neighbourhood widest; /* widest kind of neighbours listed for this centre */
    bool listed;
} local;

static void list_neighbours(local *self, ak_neighbourhood kind)
{
    size_t count = ak_space_neighbours(self->neighbours, NEIGHBOURS_MAX, self->frame.space,
                                       &self->frame.known[self->centre].config, kind);
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)ak_rng_below(&self->frame.rng, i);
        ak_config moved = self->neighbours[i - 1];
        self->neighbours[i - 1] = self->neighbours[j];
        self->neighbours[j] = moved;
    }
    self->neighbour_count = count;
    self->widest = kind;
    self->listed = true;
}

/* Gives the next untried neighbour of the centre. Returns false if none is left. */
static bool next_neighbour(ak_config *out, local *self)
{
    for (;;) {
        while (self->neighbour_count > 0) {
            *out = self->neighbours[--self->neighbour_count];
            if (!ak_walk_seen(&self->frame.walk, out)) {
                return true;
            }
        }
        if (!self->listed) {
            list_neighbours(self, AK_NEIGHBOUR_ADJACENT);
        } else if (self->widest == AK_NEIGHBOUR_ADJACENT &&
                   ak_rng_real(&self->frame.rng) < self->wide) {
            list_neighbours(self, AK_NEIGHBOUR_ANY);
        } else {
            return false;
        }
    }
}

enum { TRIES = 20 }; /* attempts at an unseen mutant before a random configuration is taken */

static bool next_start(ak_proposal *out, local *self)
{
    ak_frame *frame = &self->frame;
    self->starts_left -= self->starts_left > 0;
    if (!self->started) {
        self->started = true;
        ak_space_default(&out->config, frame->space);
        if (!ak_walk_seen(&frame->walk, &out->config)) {
            return true;
        }
    }
    for (size_t i = 0; self->jumping && i < TRIES; i++) {
        out->config = frame->known[frame->best].config;
        ak_frame_mutate(&out->config, frame, self->strength / (double)frame->vary, 0.5);
        if (!ak_walk_seen(&frame->walk, &out->config)) {
            ak_frame_derive(out, &frame->known[frame->best]);
            return true;
        }
    }
    return ak_frame_random(&out->config, frame);
}

static bool next_local(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    (void)tag;
    local *self = (local *)frame;
    if (self->centre != SIZE_MAX && self->starts_left == 0) {
        if (next_neighbour(&out->config, self)) {
            ak_frame_derive(out, &frame->known[self->centre]);
            return true;
        }
        if (frame->walk.outstanding > 0) {
            return false; /* a trial under way may be better than the centre */
        }
        self->centre = SIZE_MAX;
        self->jumping = ak_rng_real(&frame->rng) < self->jump;
        self->starts_left = self->jumping ? 1 : self->starts;
    }
    /* Starts do not depend on each other, so a batch may hold several. */
    return next_start(out, self);
}

static void take_local(ak_frame *frame, size_t place, size_t tag)
{
    (void)tag;
    local *self = (local *)frame;
    if (frame->known[place].ms < HUGE_VAL &&
        (self->centre == SIZE_MAX || frame->known[place].ms < frame->known[self->centre].ms)) {
        self->centre = place;
        self->listed = false;
        self->neighbour_count = 0;
    }
}

static ak_status open_local(ak_strategy *strategy, const ak_strategy_context *context,
                            ak_error *err)
{
    local *self = (local *)strategy;
    AK_DO(ak_frame_open(&self->frame, next_local, take_local, context, err));
    HYPERS(AK_HYPER_READ)
    self->starts_left = self->starts;
    self->centre = SIZE_MAX;
    return AK_ARENA_NEW(self->neighbours, self->frame.arena, NEIGHBOURS_MAX, err);
}

const ak_strategy_ops ak_strategy_local = {
    .name = "local",
    .description = "descents over neighbours, from the default, then from mutants of the best",
    .bytes = sizeof(local),
    .open = open_local,
    AK_FRAME_OPS,
};
