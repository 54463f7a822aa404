/*
 * guided.h: a search guided by a model of the trials; bayes, forest and heuristic share it.
 *
 *     1. A design comes first: the declared default, the starts of the space (ak_space_starts),
 *        then random configurations that lie far apart. The design takes one trial in six, within
 *        limits (ak_guided_options.start, guided.c); its members after the fifth take turns with
 *        step 2. With `expert` and a rank (rank.h), some of the best-ranked configurations, again
 *        far apart, replace the random ones, and all of the design precedes step 2. The results of
 *        other tasks (like.h) guide the model once they are trusted (transfer.h).
 *     2. Then a pool of untried candidates is kept: neighbours of the best trial, changes of two or
 *        three parameters, crosses of the best few, and random ones. With each proposal some of the
 *        least promising make room for new ones. The model predicts each candidate, and the one
 *        with the largest expected improvement is next (Jones, Schonlau, Welch, "Efficient global
 *        optimization of expensive black-box functions", 1998).
 *
 * The space is never listed. Every candidate is a valid configuration, so no trial is spent on
 * invalid ones. Trials under way, 32 of them at most, are assumed to take their predicted times
 * ("kriging believer", Ginsbourger, Le Riche, Carraro, "Kriging is well-suited to parallelize
 * optimization", 2010), so that the next proposal differs. A forest learns of them only when it is
 * grown anew.
 */
#ifndef AK_STRATEGY_GUIDED_H
#define AK_STRATEGY_GUIDED_H

#include "strategy/strategy.h"

typedef struct ak_guided_options {
    size_t start; /* largest design without a rank, or size of the design with a rank if the budget
                     is unknown; the starts of the space come on top */
    size_t pool;  /* size of the pool */
    size_t fresh; /* candidates replaced with each proposal */
    size_t rows;  /* most trials that the model learns from */
    /* The order among bad trials hardly matters. The model sees the logarithm of a time or cost
       relative to the best. Above `knee` only `share` of the excess counts, and `ceiling` is the
       largest level. A failure counts as `ceiling`. */
    double knee, share, ceiling;
    double steepness, noise; /* parameters of the Gaussian process (gp.h) */
    size_t trees;            /* number of trees of a forest; 0: a Gaussian process */
    /* start with the default, even if it is arbitrary, and use the rank for the design and as the
       prior */
    bool expert;
} ak_guided_options;

/* Rows of hyper-parameters (strategy.h) that several of these strategies have. */
#define AK_GUIDED_START_HYPER(X)                                                                   \
    X(start, 12, 2, 1000, true, "configurations tried before the model is asked",                  \
      "fewer mislead the model, and the model would choose better trials than more random ones "   \
      "are")
#define AK_GUIDED_POOL_HYPER(X)                                                                    \
    X(pool, 1024, 16, 8192, true, "candidates that the model predicts",                            \
      "more candidates cost more time and find nothing better")
#define AK_GUIDED_LEVEL_HYPERS(X)                                                                  \
    X(knee, 0.4, 0.01, 10, false, "log time over the best above which it counts less",             \
      "exact times do not matter of configurations that take 1.5 times as long as the best")       \
    X(share, 0.25, 0, 1, false, "weight of log time above the knee",                               \
      "slower ones still count as worse")                                                          \
    X(ceiling, 1.4, 0.02, 20, false, "largest log time; failures have it",                         \
      "a failure counts as a configuration that takes e^4.4 times as long as the best")

/* The defaults; the rows above and bayes.c give the reasons. */
#define AK_GUIDED_DEFAULT                                                                          \
    {                                                                                              \
        .start = 12, .pool = 1024, .fresh = 24, .rows = 500, .knee = 0.4, .share = 0.25,           \
        .ceiling = 1.4, .steepness = 5.0, .noise = 3e-3                                            \
    }

/* The state of a strategy that uses this search. */
typedef struct ak_guided {
    ak_strategy base;
    struct guided *search;
} ak_guided;

ak_status ak_guided_open(ak_strategy *strategy, const ak_strategy_context *context,
                         const ak_guided_options *options, ak_error *err);
#define AK_GUIDED_BATCH_MAX 16 /* value of batch_max */
ak_status ak_guided_propose(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err);
ak_status ak_guided_observe(ak_strategy *strategy, const ak_observation *observation,
                            ak_error *err);
void ak_guided_close(ak_strategy *strategy);
/* These are the members of ak_strategy_ops that strategies with this search have in common. */
#define AK_GUIDED_OPS                                                                              \
    .bytes = sizeof(ak_guided), .propose = ak_guided_propose, .observe = ak_guided_observe,        \
    .close = ak_guided_close, .hypers = hypers, .batch_max = AK_GUIDED_BATCH_MAX

#endif
