/*
 * strategy.h: who proposes. Ask and tell, in batches.
 *
 * propose gives 0..max valid configurations that this strategy has not proposed before; 0 means
 * that it has nothing to propose now: for ever if no trial is outstanding, else until the next
 * observe. observe tells what became of one, in any order, failures included, also trials that the
 * strategy did not propose (resumed ones, the default). So any strategy works with any number of
 * devices and with slow proposers. A strategy sees a space and trials, never a backend.
 */
#ifndef AK_STRATEGY_STRATEGY_H
#define AK_STRATEGY_STRATEGY_H

#include "problem/space.h"

/* What is known about the task beyond its space, for strategies with expert rules. */
typedef struct ak_strategy_context {
    const ak_space *space;
    const ak_scope *constants; /* sizes, dtype_bytes, device facts */
    const char *kernel, *implementation;
    /* The space file's "Rank", or NULL: an expression over parameters and constants that predicts
       the time of a configuration up to a factor. */
    const char *rank;
    uint64_t seed;
    size_t evaluations; /* the whole budget, 0 if open-ended */
} ak_strategy_context;

typedef struct ak_proposal {
    ak_config config;
    ak_config parent; /* what it was derived from */
    bool has_parent;
    int generation;
    double predicted_gain; /* of time over the parent, 0 if none */
} ak_proposal;

typedef struct ak_observation {
    const ak_config *config;
    bool ok;
    double ms; /* median if ok */
} ak_observation;

typedef struct ak_strategy ak_strategy;

typedef struct ak_strategy_ops {
    const char *name, *description;
    ak_status (*open)(ak_strategy **out, const ak_strategy_context *context, ak_error *err);
    ak_status (*propose)(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                         ak_error *err);
    ak_status (*observe)(ak_strategy *strategy, const ak_observation *observation, ak_error *err);
    void (*close)(ak_strategy *strategy);
} ak_strategy_ops;

/* Every strategy starts with this. */
struct ak_strategy {
    const ak_strategy_ops *ops;
};

#define X(name) extern const ak_strategy_ops ak_strategy_##name;
#include "strategy/strategies.def"
#undef X

/* The table: strategies.def, in its order; NULL-terminated. */
extern const ak_strategy_ops *const ak_strategies[];
/* Names the known ones when there is none of this name. */
ak_status ak_strategy_find(const ak_strategy_ops **out, const char *name, ak_error *err);

#endif
