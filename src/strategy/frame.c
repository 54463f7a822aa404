/* frame.c: the memory and the moves of the classical strategies. */
#include "strategy/frame.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/text.h"

enum { NEIGHBOURS_MAX = 512, SLOTS_MIN = 256 };

/* ---- memory ---------------------------------------------------------------------------------- */

ak_status ak_frame_open(ak_frame *frame, ak_frame_next next, ak_frame_take take,
                        const ak_strategy_context *context, ak_error *err)
{
    frame->next = next;
    frame->take = take;
    frame->space = context->space;
    frame->parameters = ak_space_parameter_count(context->space);
    for (size_t p = 0; p < frame->parameters; p++) {
        frame->vary += ak_space_parameter(frame->space, p)->value_count > 1;
    }
    frame->vary += frame->vary == 0;
    frame->best = SIZE_MAX;
    ak_rng_seed(&frame->rng, context->seed);
    frame->arena = ak_arena_new();
    AK_DO(ak_made(frame->arena, err));
    return ak_walk_open(&frame->walk, context->space, ak_rng_next(&frame->rng), err);
}

void ak_frame_end(ak_strategy *strategy)
{
    ak_frame *frame = (ak_frame *)strategy;
    ak_walk_close(&frame->walk);
    AK_FREE_ALL(frame->known, frame->slots, frame->errands);
    ak_arena_free(frame->arena);
}

/* Returns the slot that holds a configuration, or the empty slot where it belongs. */
static size_t slot_of(const ak_frame *frame, const ak_config *config)
{
    size_t mask = frame->slot_count - 1;
    size_t slot = (size_t)ak_config_key(frame->space, config) & mask;
    while (frame->slots[slot] != 0 &&
           memcmp(&frame->known[frame->slots[slot] - 1].config, config, sizeof *config) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

/* Makes room for one more configuration. The hash table stays at most half full. */
static ak_status make_room(ak_frame *frame, ak_error *err)
{
    AK_DO(AK_GROW(frame->known, &frame->known_capacity, frame->known_count + 1, err));
    if (2 * (frame->known_count + 1) <= frame->slot_count) {
        return AK_OK;
    }
    size_t count = frame->slot_count == 0 ? SLOTS_MIN : 2 * frame->slot_count;
    uint32_t *slots;
    AK_DO(AK_NEW(slots, count, err));
    ak_free(frame->slots);
    frame->slots = slots;
    frame->slot_count = count;
    for (size_t i = 0; i < frame->known_count; i++) {
        frame->slots[slot_of(frame, &frame->known[i].config)] = (uint32_t)i + 1;
    }
    return AK_OK;
}

ak_status ak_frame_observe(ak_strategy *strategy, const ak_observation *observation, ak_error *err)
{
    ak_frame *frame = (ak_frame *)strategy;
    size_t tag = AK_FRAME_NO_TAG;
    AK_DO(make_room(frame, err));
    AK_DO(ak_walk_observe(&frame->walk, observation->config, err));
    size_t slot = slot_of(frame, observation->config);
    if (frame->slots[slot] != 0) {
        return AK_OK;
    }
    ak_known *known = &frame->known[frame->known_count];
    *known = (ak_known){.config = *observation->config, .ms = HUGE_VAL};
    if (observation->ok && observation->ms > 0.0) {
        known->ms = observation->ms;
    }
    size_t i = AK_FIND_SAME(frame->errands, frame->errand_count, config, observation->config);
    if (i < frame->errand_count) {
        tag = frame->errands[i].tag;
        known->generation = frame->errands[i].generation;
        frame->errands[i] = frame->errands[--frame->errand_count];
    }
    const size_t place = frame->known_count++;
    frame->slots[slot] = (uint32_t)frame->known_count;
    assert(2 * frame->known_count <= frame->slot_count); /* slot_of always finds an empty slot */
    if (known->ms < HUGE_VAL &&
        (frame->best == SIZE_MAX || known->ms < frame->known[frame->best].ms)) {
        frame->best = place;
    }
    frame->take(frame, place, tag);
    return AK_OK;
}

/* ---- loop ------------------------------------------------------------------------------------ */

bool ak_frame_random(ak_config *out, ak_frame *frame)
{
    return ak_walk_next(out, &frame->walk);
}

void ak_frame_derive(ak_proposal *out, const ak_known *parent)
{
    if (memcmp(&out->config, &parent->config, sizeof out->config) != 0) {
        out->parent = parent->config;
        out->has_parent = true;
        out->generation = parent->generation + 1;
    }
}

void ak_frame_rank(size_t *list, size_t *count, size_t max, const ak_frame *frame, size_t place)
{
    ak_rank_insert(list, count, max, place, &frame->known[0].ms, sizeof *frame->known);
}

ak_status ak_frame_propose(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err)
{
    ak_frame *frame = (ak_frame *)strategy;
    size_t tag = AK_FRAME_NO_TAG;
    *out = (ak_proposal){0};
    *found = frame->next(out, &tag, frame);
    if (!*found && frame->walk.outstanding == 0) {
        *out = (ak_proposal){0};
        tag = AK_FRAME_NO_TAG;
        *found = ak_frame_random(&out->config, frame);
    }
    if (!*found) {
        return AK_OK;
    }
    AK_DO(AK_GROW(frame->errands, &frame->errand_capacity, frame->errand_count + 1, err));
    assert(!ak_walk_seen(&frame->walk, &out->config));
    AK_DO(ak_walk_propose(&frame->walk, &out->config, err));
    frame->errands[frame->errand_count++] =
        (ak_errand){.config = out->config, .tag = tag, .generation = out->generation};
    return AK_OK;
}

/* ---- moves ----------------------------------------------------------------------------------- */

static double scale_of(const ak_space *space, size_t p)
{
    size_t values = ak_space_parameter(space, p)->value_count;
    return values > 1 ? 1.0 / (double)(values - 1) : 0.0;
}

void ak_frame_spot(ak_spot *out, const ak_frame *frame, const ak_config *config)
{
    for (size_t p = 0; p < frame->parameters; p++) {
        out->at[p] =
            (double)ak_space_rank(frame->space, p, config->at[p]) * scale_of(frame->space, p);
    }
}

typedef struct target {
    const ak_space *space;
    const ak_spot *spot;
} target;

static double distance_to_spot(const void *context, size_t p, uint16_t value)
{
    const target *t = context;
    double d = (double)ak_space_rank(t->space, p, value) * scale_of(t->space, p) - t->spot->at[p];
    return d * d;
}

void ak_frame_snap(ak_config *out, const ak_frame *frame, const ak_spot *spot)
{
    target t = {frame->space, spot};
    ak_space_cheapest(out, frame->space, distance_to_spot, &t);
}

bool ak_frame_step(ak_config *out, ak_frame *frame, const ak_config *from, ak_neighbourhood kind)
{
    ak_config neighbours[NEIGHBOURS_MAX];
    size_t count = ak_space_neighbours(neighbours, NEIGHBOURS_MAX, frame->space, from, kind);
    while (count > 0) {
        size_t i = (size_t)ak_rng_below(&frame->rng, count);
        if (!ak_walk_seen(&frame->walk, &neighbours[i])) {
            *out = neighbours[i];
            return true;
        }
        neighbours[i] = neighbours[--count];
    }
    return false;
}

bool ak_frame_step_near(ak_config *out, ak_frame *frame, const ak_config *from, double near)
{
    return (ak_rng_real(&frame->rng) < near &&
            ak_frame_step(out, frame, from, AK_NEIGHBOUR_ADJACENT)) ||
           ak_frame_step(out, frame, from, AK_NEIGHBOUR_ANY);
}

void ak_frame_cross(ak_config *config, ak_frame *frame, const ak_config *other)
{
    for (size_t p = 0; p < frame->parameters; p++) {
        if (ak_rng_below(&frame->rng, 2) == 0) {
            config->at[p] = other->at[p];
        }
    }
}

/* What distance_to_mutant needs. When an invalid mutant is repaired, changed parameters should keep
   their values, and as few others as possible should change. */
typedef struct mutant {
    const ak_space *space;
    const ak_config *config;
    double keep[AK_PARAMETERS_MAX]; /* cost of giving this parameter another value */
} mutant;

static double distance_to_mutant(const void *context, size_t p, uint16_t value)
{
    const mutant *m = context;
    if (value == m->config->at[p]) {
        return 0.0;
    }
    double steps = (double)ak_space_rank(m->space, p, value) -
                   (double)ak_space_rank(m->space, p, m->config->at[p]);
    return m->keep[p] + fabs(steps) * scale_of(m->space, p);
}

void ak_frame_mutate(ak_config *config, ak_frame *frame, double probability, double near)
{
    mutant m = {.space = frame->space, .config = config};
    for (size_t p = 0; p < frame->parameters; p++) {
        size_t values = ak_space_parameter(frame->space, p)->value_count;
        m.keep[p] = 1.0;
        if (values < 2 || ak_rng_real(&frame->rng) >= probability) {
            continue;
        }
        m.keep[p] = 2.0;
        if (ak_space_ordered(frame->space, p) && ak_rng_real(&frame->rng) < near) {
            size_t rank = ak_space_rank(frame->space, p, config->at[p]);
            bool up = rank == 0 || (rank + 1 < values && ak_rng_below(&frame->rng, 2) == 0);
            config->at[p] = ak_space_by_rank(frame->space, p, up ? rank + 1 : rank - 1);
        } else {
            size_t other = (size_t)ak_rng_below(&frame->rng, values - 1);
            config->at[p] = (uint16_t)(other + (other >= config->at[p]));
        }
    }
    if (!ak_space_has(frame->space, config)) {
        ak_config wish = *config;
        m.config = &wish;
        ak_space_cheapest(config, frame->space, distance_to_mutant, &m);
    }
}
