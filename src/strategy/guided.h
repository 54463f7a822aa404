/*
 * guided.h: search guided by a model of what was measured; what bayes, forest and heuristic share.
 *
 *   1. a design: the first configurations, spread out; or the best of what the kernel's author
 *      expects (rank.h), spread out
 *   2. then a pool of candidates that were not tried: all neighbours of the best trial, changes of
 *      two or three parameters and crosses of the best few, and random ones. With each proposal
 * some of the least promising make room for new ones. The model predicts each; the one with the
 *      largest expected improvement (Jones, Schonlau, Welch, "Efficient global optimization of
 *      expensive black-box functions", 1998) is next
 *
 * The space is never listed. Every candidate is a valid configuration, so no trial is spent on
 * others. Trials under way are pretended to have come out as predicted ("kriging believer",
 * Ginsbourger, Le Riche, Carraro, "Kriging is well-suited to parallelize optimization", 2010), so
 * that the next proposal is a different one.
 */
#ifndef AK_STRATEGY_GUIDED_H
#define AK_STRATEGY_GUIDED_H

#include "strategy/strategy.h"

typedef struct ak_guided_options {
    size_t start; /* configurations of the design */
    size_t pool;  /* candidates */
    size_t fresh; /* of them, replaced with each proposal */
    size_t rows;  /* most trials that the model looks at */
    /* Far from the best, times are all alike: the order among the good ones is what counts. Up to
       e^knee times the best the model sees the logarithm itself, then `share` of it, then a
       ceiling, which is also what a failure gets. */
    double knee, share, ceiling;
    double steepness, noise; /* of the Gaussian process: gp.h */
    size_t trees;            /* a forest of so many instead; 0: the Gaussian process */
    bool expert;             /* the default first, then as the rank says, which is a prior too */
} ak_guided_options;

/* bayes.c gives the reasons. */
#define AK_GUIDED_DEFAULT                                                                          \
    {                                                                                              \
        .start = 12, .pool = 1024, .fresh = 24, .rows = 500, .knee = 0.4, .share = 0.25,           \
        .ceiling = 1.4, .steepness = 5.0, .noise = 3e-3                                            \
    }

ak_status ak_guided_open(ak_strategy **out, const ak_strategy_ops *ops,
                         const ak_strategy_context *context, const ak_guided_options *options,
                         ak_error *err);
/* The other members of ops. */
ak_status ak_guided_propose(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                            ak_error *err);
ak_status ak_guided_observe(ak_strategy *strategy, const ak_observation *observation,
                            ak_error *err);
void ak_guided_close(ak_strategy *strategy);

#endif
