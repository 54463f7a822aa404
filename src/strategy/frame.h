/*
 * frame.h: what the classical strategies share: what is known, what is under way, and the loop
 * around one function that has the idea.
 *
 * A strategy's state starts with an ak_frame. Its `next` proposes one configuration that was not
 * seen, with a tag of its own choice (a particle, a place in the population); its `observe` gets
 * that tag back. `next` may give up: with nothing under way, an unseen random configuration takes
 * its place, so that every strategy covers a small space in the end.
 */
#ifndef AK_STRATEGY_FRAME_H
#define AK_STRATEGY_FRAME_H

#include "strategy/walk.h"

#define AK_FRAME_NO_TAG SIZE_MAX /* of what somebody else proposed */

/* A configuration that was tried. */
typedef struct ak_known {
    ak_config config;
    double ms; /* HUGE_VAL if it failed */
    int generation;
} ak_known;

typedef struct ak_errand {
    ak_config config;
    size_t tag;
    int generation;
} ak_errand;

typedef struct ak_frame {
    ak_strategy base;
    const ak_space *space;
    size_t parameters, vary; /* of them, those with more than one value; at least 1 */
    ak_walk walk;
    ak_rng rng;
    ak_known *known; /* in the order in which they were told */
    size_t known_count, known_capacity;
    uint32_t *slots; /* hash table: places in `known` plus 1, 0 is empty */
    size_t slot_count;
    ak_errand *errands; /* under way */
    size_t errand_count, errand_capacity;
    size_t best; /* place in `known`; SIZE_MAX: none is ok */
} ak_frame;

/* False: no idea now. Fills the configuration and, if it was derived, parent and generation. */
typedef bool (*ak_frame_next)(ak_proposal *out, size_t *tag, ak_frame *frame);

ak_status ak_frame_open(ak_frame *frame, const ak_strategy_ops *ops,
                        const ak_strategy_context *context, ak_error *err);
void ak_frame_close(ak_frame *frame); /* also after a failed open; does not free the frame */

ak_status ak_frame_propose(ak_proposal *out, size_t *count, ak_frame *frame, size_t max,
                           ak_frame_next next, ak_error *err);
/* Remembers it. *place is that in `known`, or SIZE_MAX if it was told before; *tag is what `next`
   gave, or AK_FRAME_NO_TAG. */
ak_status ak_frame_observe(size_t *place, size_t *tag, ak_frame *frame,
                           const ak_observation *observation, ak_error *err);

/* What is known of a configuration, or NULL. */
const ak_known *ak_frame_find(const ak_frame *frame, const ak_config *config);
/* A configuration that nobody saw, uniformly random; false if there is none. */
bool ak_frame_random(ak_config *out, ak_frame *frame);
/* Says what a proposal was derived from. */
void ak_frame_derive(ak_proposal *out, const ak_known *parent);

/* Inserts a place into a list of at most `max`, the fastest first; failures are left out. */
void ak_frame_rank(size_t *list, size_t *count, size_t max, const ak_frame *frame, size_t place);

/* ---- moves ---- */

/* Parameters as coordinates: the place of the value in order, 0..1. */
typedef struct ak_spot {
    double at[AK_PARAMETERS_MAX];
} ak_spot;
void ak_frame_spot(ak_spot *out, const ak_frame *frame, const ak_config *config);
/* The valid configuration nearest to a point (ak_space_cheapest, squares of distances). */
void ak_frame_snap(ak_config *out, const ak_frame *frame, const ak_spot *spot);

/* A random valid neighbour, of the kind given, that was not seen; false if there is none. */
bool ak_frame_step(ak_config *out, ak_frame *frame, const ak_config *from, ak_neighbourhood kind);
/* The same, of an adjacent value with probability `near` as long as there is one, else of any. */
bool ak_frame_step_near(ak_config *out, ak_frame *frame, const ak_config *from, double near);
/* Takes each parameter from one or the other; the result may be invalid, see ak_frame_mutate. */
void ak_frame_cross(ak_config *config, ak_frame *frame, const ak_config *other);
/* Changes each parameter with this probability, numbers by `near` to an adjacent value, else to any
   value, and makes the result valid. */
void ak_frame_mutate(ak_config *config, ak_frame *frame, double probability, double near);

#endif
