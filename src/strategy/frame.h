/*
 * frame.h: holds what the classical strategies share: the memory of trials, the proposals under
 * way, and a loop that calls the functions `next` and `take` of the strategy.
 *
 * The state of a strategy starts with an ak_frame. `next` proposes one unseen configuration with a
 * tag of its choice (a particle, a place in the population); `take` gets that tag back. `next`
 * may return false. If nothing is under way then, an unseen random configuration is proposed, so
 * that every strategy covers a small space in the end.
 */
#ifndef AK_STRATEGY_FRAME_H
#define AK_STRATEGY_FRAME_H

#include "strategy/walk.h"

#define AK_FRAME_NO_TAG SIZE_MAX /* `next` did not propose it or gave no tag */

typedef struct ak_frame ak_frame;
/* Proposes a configuration, with parent and generation if it was derived from another. Returns
   false if it has none to propose now. */
typedef bool (*ak_frame_next)(ak_proposal *out, size_t *tag, ak_frame *frame);
/* Takes the trial that is now frame->known[place]; each configuration is taken once. `tag` is that
   of its proposal, or AK_FRAME_NO_TAG. */
typedef void (*ak_frame_take)(ak_frame *frame, size_t place, size_t tag);

/* A configuration that was observed. */
typedef struct ak_known {
    ak_config config;
    double ms; /* time or cost; HUGE_VAL if it failed */
    int generation;
} ak_known;

typedef struct ak_errand {
    ak_config config;
    size_t tag;
    int generation;
} ak_errand;

struct ak_frame {
    ak_strategy base;
    ak_frame_next next;
    ak_frame_take take;
    const ak_space *space;
    /* number of parameters, and number of parameters with several values (at least 1) */
    size_t parameters, vary;
    ak_walk walk;
    ak_rng rng;
    ak_known *known; /* in the order of observation */
    size_t known_count, known_capacity;
    uint32_t *slots; /* hash table of indices into `known` plus 1; 0 is empty */
    size_t slot_count;
    ak_errand *errands; /* proposals under way */
    size_t errand_count, errand_capacity;
    size_t best;     /* index into `known`; SIZE_MAX if none is ok */
    ak_arena *arena; /* holds the lists of the strategy; freed with the frame */
};

ak_status ak_frame_open(ak_frame *frame, ak_frame_next next, ak_frame_take take,
                        const ak_strategy_context *context, ak_error *err);

/* These are `propose`, `observe` and `close` for a strategy that adds nothing to them. */
ak_status ak_frame_propose(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err);
ak_status ak_frame_observe(ak_strategy *strategy, const ak_observation *observation, ak_error *err);
void ak_frame_end(ak_strategy *strategy);
#define AK_FRAME_OPS                                                                               \
    .propose = ak_frame_propose, .observe = ak_frame_observe, .close = ak_frame_end,               \
    .hypers = hypers

/* Draws an unseen configuration uniformly at random. Returns false if there is none. */
bool ak_frame_random(ak_config *out, ak_frame *frame);
/* Sets parent and generation of a proposal that was derived from `parent`, unless the two
   configurations are equal. */
void ak_frame_derive(ak_proposal *out, const ak_known *parent);

/* Inserts an index into a list of at most `max` entries, the best first. Failures are left out. */
void ak_frame_rank(size_t *list, size_t *count, size_t max, const ak_frame *frame, size_t place);

/* ---- moves ----------------------------------------------------------------------------------- */

/* A configuration as coordinates: for each parameter the rank of its value, scaled to 0..1. */
typedef struct ak_spot {
    double at[AK_PARAMETERS_MAX];
} ak_spot;
void ak_frame_spot(ak_spot *out, const ak_frame *frame, const ak_config *config);
/* Finds a valid configuration near a point, mostly the nearest (ak_space_cheapest with squared
   distances). */
void ak_frame_snap(ak_config *out, const ak_frame *frame, const ak_spot *spot);

/* Draws an unseen one of the first 512 valid neighbours of the given kind. Returns false if there
   is none. */
bool ak_frame_step(ak_config *out, ak_frame *frame, const ak_config *from, ak_neighbourhood kind);
/* Draws an unseen valid neighbour: with probability `near` a neighbour with an adjacent value, if
   there is one, else any neighbour. Returns false if there is none. */
bool ak_frame_step_near(ak_config *out, ak_frame *frame, const ak_config *from, double near);
/* Crosses `config` with `other`: takes each parameter from one of the two at random. The result may
   be invalid; ak_frame_mutate repairs it. */
void ak_frame_cross(ak_config *config, ak_frame *frame, const ak_config *other);
/* Changes each parameter that has several values with this probability, and makes the result valid.
   An ordered parameter moves to an adjacent value with probability `near`, else to any other
   value. */
void ak_frame_mutate(ak_config *config, ak_frame *frame, double probability, double near);

/* ---- effects (effects.c) --------------------------------------------------------------------- */

/* A cheap model of the logarithm of time or cost: the sum of one effect for each parameter's value
   (an additive model fitted by backfitting: Friedman, Stuetzle, "Projection pursuit regression",
   1981). It tells which of a few configurations is the most promising.

   Good trials weigh more than bad ones, so the effects describe the neighbourhood of the best.
   Effects that were seen in few trials are shrunk towards 0. Learning takes time in proportion to
   the number of trials; the caller does it when ak_effects_stale returns true. */

typedef struct ak_effects ak_effects;

ak_status ak_effects_new(ak_effects **out, const ak_space *space, ak_error *err);
void ak_effects_free(ak_effects *effects);
AK_END_AT(ak_effects_free, ak_effects)

/* Returns true if at least a 64th of the trials are new since the last learning. Learning at this
   rate keeps its cost per trial constant in the long run. */
bool ak_effects_stale(const ak_effects *effects, const ak_frame *frame);
ak_status ak_effects_learn(ak_effects *effects, const ak_frame *frame, ak_error *err);
/* Returns a number that can be compared between configurations; smaller is better. Returns 0 before
   anything was learned. */
double ak_effects_predict(const ak_effects *effects, const ak_config *config);

#endif
