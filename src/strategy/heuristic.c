/*
 * heuristic.c: the default strategy: what is known beforehand, then what the trials teach.
 *
 *   1. a portfolio: the default; then, if the kernel ranks its configurations (rank.h), some of the
 *      best ranked, as different from each other as possible; without a rank, a random spread
 *   2. then, for each proposal, a few hundred candidates: neighbours of the best trials, crosses
 * and mutations of them, and random ones. The surrogate predicts each; the one with the largest
 *      expected improvement (Jones, Schonlau, Welch, "Efficient global optimization", 1998) is next
 *
 * Trials that are under way are pretended to have come out as predicted, so that the next proposal
 * is a different one. The whole space is never looked at; a proposal costs about a millisecond.
 */
#include "strategy/rank.h"
#include "strategy/surrogate.h"
#include "strategy/walk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PORTFOLIO = 10,      /* if the budget is not known */
    PORTFOLIO_MIN = 4,   /* the model has nothing to say before */
    PORTFOLIO_SHARE = 6, /* one trial in six */
    SAMPLE = 512,        /* configurations that the portfolio is chosen from */
    SAMPLE_BEST = 8,     /* if they are ranked, from the best eighth of them */
    CANDIDATES = 256,
    FROM_BEST = 112,  /* of these, neighbours of the best trial */
    FROM_OTHERS = 16, /* of each other leader */
    MUTANTS = 48,
    CROSSES = 16,
    PROMISING = 128, /* candidates whose deviation is worth calculating */
    LEADERS = 5,
    BATCH_MAX = 16 /* the later ones of a batch know too little to be worth a trial */
};

/* Far from the best, times are all alike: the order among the good ones is what counts. Up to
   e^KNEE times the best the model sees the logarithm itself, then a share of it, then a ceiling,
   which is also what a failure gets. */
#define KNEE    0.4
#define SHARE   0.25
#define CEILING 1.4

typedef struct trial {
    ak_config config;
    ak_point point;
    double log_ms; /* infinite if it failed */
    int generation;
} trial;

/* A configuration that may be proposed or is under way. */
typedef struct candidate {
    ak_config config;
    ak_point point;
    size_t parent; /* index of a trial */
    bool has_parent;
    int generation;
} candidate;

typedef struct heuristic {
    ak_strategy base;
    ak_walk walk;
    ak_rng rng;
    ak_rank *rank;
    double rank_best; /* of all that were ranked so far */
    ak_surrogate *model;
    bool started;
    bool stale; /* the model does not know the last trials */
    candidate portfolio[AK_SURROGATE_MAX];
    size_t portfolio_size, portfolio_count, portfolio_next;
    trial *trials;
    size_t trial_count, trial_capacity;
    candidate *pending; /* proposed, not observed */
    size_t pending_count, pending_capacity;
    size_t leader[LEADERS]; /* best trials, best first */
    size_t leader_count;
    candidate candidates[CANDIDATES]; /* scratch */
    size_t candidate_count;
    ak_config neighbours[CANDIDATES];
} heuristic;

/* ---- times as the model sees them ---- */

static double compress(double log_ratio)
{
    double y = log_ratio <= KNEE ? log_ratio : KNEE + SHARE * (log_ratio - KNEE);
    return y < CEILING ? y : CEILING;
}

static void locate(ak_point *out, heuristic *self, const ak_config *config)
{
    ak_surrogate_point(out, self->model, config);
    out->prior = ak_rank_log(self->rank, config);
    if (out->prior < self->rank_best) {
        self->rank_best = out->prior;
        self->stale = true;
    }
}

/* The rank is a time too, as yet without a scale: the best counts as 0. */
static ak_point as_modelled(const heuristic *self, const ak_point *point)
{
    ak_point modelled = *point;
    /* Infinite less infinite, if the rank never has a value, says nothing. */
    modelled.prior = self->rank_best < HUGE_VAL ? compress(modelled.prior - self->rank_best) : 0.0;
    return modelled;
}

/* ---- portfolio ---- */

static double distance(const ak_point *a, const ak_point *b, size_t parameters)
{
    double sum = 0.0;
    for (size_t p = 0; p < parameters; p++) {
        sum += fmin(fabs((double)a->at[p] - (double)b->at[p]), 1.0);
    }
    return sum;
}

static int compare_priors(const void *a, const void *b)
{
    double x = ((const candidate *)a)->point.prior;
    double y = ((const candidate *)b)->point.prior;
    return (x > y) - (x < y);
}

/* Each next one is the farthest from those already chosen. */
static void spread(heuristic *self, candidate *pool, size_t pool_count, double *nearest)
{
    size_t parameters = ak_space_parameter_count(self->walk.space);
    for (size_t i = 0; i < pool_count; i++) {
        nearest[i] = HUGE_VAL;
    }
    while (self->portfolio_count < self->portfolio_size) {
        const candidate *last = &self->portfolio[self->portfolio_count - 1];
        size_t farthest = 0;
        for (size_t i = 0; i < pool_count; i++) {
            nearest[i] = fmin(nearest[i], distance(&pool[i].point, &last->point, parameters));
            farthest = nearest[i] > nearest[farthest] ? i : farthest;
        }
        if (pool_count == 0 || nearest[farthest] <= 0.0) {
            return;
        }
        self->portfolio[self->portfolio_count++] = pool[farthest];
    }
}

static ak_status plan_portfolio(heuristic *self, ak_error *err)
{
    candidate *first = &self->portfolio[self->portfolio_count++];
    ak_space_default(&first->config, self->walk.space);
    locate(&first->point, self, &first->config);
    candidate *pool = ak_alloc(SAMPLE, sizeof *pool);
    double *nearest = ak_alloc(SAMPLE, sizeof *nearest);
    if (pool == NULL || nearest == NULL) {
        ak_free(pool);
        ak_free(nearest);
        return ak_fail_memory(err);
    }
    size_t count = SAMPLE;
    for (size_t i = 0; i < count; i++) {
        ak_space_sample(&pool[i].config, self->walk.space, &self->rng);
        locate(&pool[i].point, self, &pool[i].config);
    }
    if (self->rank != NULL) {
        qsort(pool, count, sizeof *pool, compare_priors);
        count /= SAMPLE_BEST;
    }
    spread(self, pool, count, nearest);
    ak_free(pool);
    ak_free(nearest);
    return AK_OK;
}

/* ---- candidates ---- */

static void add_candidate(heuristic *self, const ak_config *config, size_t parent)
{
    if (self->candidate_count == CANDIDATES || ak_walk_seen(&self->walk, config)) {
        return;
    }
    candidate *c = &self->candidates[self->candidate_count++];
    *c = (candidate){.config = *config};
    if (parent != SIZE_MAX) {
        c->parent = parent;
        c->has_parent = true;
        c->generation = self->trials[parent].generation + 1;
    }
    locate(&c->point, self, config);
}

/* A random part of the neighbours of a trial. */
static void add_neighbours(heuristic *self, size_t parent, size_t max)
{
    size_t count = ak_space_neighbours(self->neighbours, CANDIDATES, self->walk.space,
                                       &self->trials[parent].config, AK_NEIGHBOUR_ANY);
    for (size_t i = 0; i < count && i < max; i++) {
        size_t j = i + (size_t)ak_rng_below(&self->rng, count - i);
        ak_config chosen = self->neighbours[j];
        self->neighbours[j] = self->neighbours[i];
        add_candidate(self, &chosen, parent);
    }
}

/* A leader; better ones more often. */
static size_t pick_leader(heuristic *self)
{
    size_t i = 0;
    while (i + 1 < self->leader_count && ak_rng_below(&self->rng, 2) == 0) {
        i++;
    }
    return self->leader[i];
}

/* Two or three parameters changed at once: what neighbours cannot reach. */
static void add_mutant(heuristic *self)
{
    const ak_space *space = self->walk.space;
    size_t parent = pick_leader(self);
    ak_config config = self->trials[parent].config;
    size_t changes = 2 + (size_t)ak_rng_below(&self->rng, 2);
    for (size_t i = 0; i < changes; i++) {
        size_t p = (size_t)ak_rng_below(&self->rng, ak_space_parameter_count(space));
        size_t values = ak_space_parameter(space, p)->value_count;
        config.at[p] = (uint16_t)ak_rng_below(&self->rng, values);
    }
    if (ak_space_has(space, &config)) {
        add_candidate(self, &config, parent);
    }
}

/* Each parameter from one of two leaders. */
static void add_cross(heuristic *self)
{
    const ak_space *space = self->walk.space;
    size_t parent = pick_leader(self);
    const ak_config *other =
        &self->trials[self->leader[ak_rng_below(&self->rng, self->leader_count)]].config;
    ak_config config = self->trials[parent].config;
    for (size_t p = 0; p < ak_space_parameter_count(space); p++) {
        if (ak_rng_below(&self->rng, 2) == 0) {
            config.at[p] = other->at[p];
        }
    }
    if (ak_space_has(space, &config)) {
        add_candidate(self, &config, parent);
    }
}

static void gather_candidates(heuristic *self)
{
    self->candidate_count = 0;
    for (size_t i = 0; i < self->leader_count; i++) {
        add_neighbours(self, self->leader[i], i == 0 ? FROM_BEST : FROM_OTHERS);
    }
    for (size_t i = 0; self->leader_count > 0 && i < MUTANTS; i++) {
        add_mutant(self);
    }
    for (size_t i = 0; self->leader_count > 1 && i < CROSSES; i++) {
        add_cross(self);
    }
    /* The rest is random; a small space may have nothing new left. */
    for (size_t tries = self->candidate_count; tries < CANDIDATES; tries++) {
        ak_config config;
        ak_space_sample(&config, self->walk.space, &self->rng);
        add_candidate(self, &config, SIZE_MAX);
    }
}

/* ---- learning ---- */

static void learn(heuristic *self)
{
    ak_point points[AK_SURROGATE_MAX];
    double y[AK_SURROGATE_MAX];
    size_t count = 0;
    double best = self->leader_count > 0 ? self->trials[self->leader[0]].log_ms : 0.0;
    /* If there are too many: the leaders and the latest. */
    size_t first = 0;
    if (self->trial_count > AK_SURROGATE_MAX) {
        first = self->trial_count - (AK_SURROGATE_MAX - LEADERS);
        for (size_t i = 0; i < self->leader_count; i++) {
            if (self->leader[i] < first) {
                points[count] = as_modelled(self, &self->trials[self->leader[i]].point);
                y[count++] = compress(self->trials[self->leader[i]].log_ms - best);
            }
        }
    }
    for (size_t i = first; i < self->trial_count; i++) {
        points[count] = as_modelled(self, &self->trials[i].point);
        y[count++] = compress(self->trials[i].log_ms - best);
    }
    ak_surrogate_fit(self->model, points, y, count);
    for (size_t i = 0; i < self->pending_count; i++) {
        ak_point point = as_modelled(self, &self->pending[i].point);
        ak_surrogate_pretend(self->model, &point);
    }
    self->stale = false;
}

typedef struct prediction {
    double mean;
    size_t index; /* of the candidate */
} prediction;

static int compare_means(const void *a, const void *b)
{
    double x = ((const prediction *)a)->mean;
    double y = ((const prediction *)b)->mean;
    return (x > y) - (x < y);
}

/* Expected gain over the best trial, whose y is 0, for a normal prediction. */
static double expected_improvement(double mean, double deviation)
{
    if (deviation <= 0.0) {
        return mean < 0.0 ? -mean : 0.0;
    }
    double u = -mean / deviation;
    return -mean * 0.5 * erfc(-u * M_SQRT1_2) + deviation * exp(-0.5 * u * u) * 0.3989422804014327;
}

/* False: every candidate was seen. */
static bool choose(candidate *out, double *gain, heuristic *self)
{
    gather_candidates(self);
    if (self->stale) {
        learn(self);
    }
    prediction order[CANDIDATES];
    for (size_t i = 0; i < self->candidate_count; i++) {
        ak_point point = as_modelled(self, &self->candidates[i].point);
        order[i] = (prediction){ak_surrogate_mean(self->model, &point), i};
    }
    qsort(order, self->candidate_count, sizeof *order, compare_means);
    double most = -1.0;
    for (size_t n = 0; n < self->candidate_count && n < PROMISING; n++) {
        size_t i = order[n].index;
        ak_point point = as_modelled(self, &self->candidates[i].point);
        double mean, deviation;
        ak_surrogate_predict(&mean, &deviation, self->model, &point);
        double improvement = expected_improvement(mean, deviation);
        if (improvement > most) {
            most = improvement;
            *out = self->candidates[i];
            *gain = mean;
        }
    }
    return most >= 0.0;
}

/* ---- the interface ---- */

static void close_heuristic(ak_strategy *strategy)
{
    heuristic *self = (heuristic *)strategy;
    if (self != NULL) {
        ak_walk_close(&self->walk);
        ak_rank_close(self->rank);
        ak_surrogate_free(self->model);
        ak_free(self->trials);
        ak_free(self->pending);
        ak_free(self);
    }
}

static ak_status open_heuristic(ak_strategy **out, const ak_strategy_context *context,
                                ak_error *err)
{
    heuristic *self = ak_alloc(1, sizeof *self);
    if (self == NULL) {
        return ak_fail_memory(err);
    }
    self->base.ops = &ak_strategy_heuristic;
    ak_rng_seed(&self->rng, context->seed);
    self->rank_best = HUGE_VAL;
    size_t size = context->evaluations == 0 ? PORTFOLIO : context->evaluations / PORTFOLIO_SHARE;
    self->portfolio_size = size < PORTFOLIO_MIN ? PORTFOLIO_MIN : size;
    if (self->portfolio_size > AK_SURROGATE_MAX / 2) {
        self->portfolio_size = AK_SURROGATE_MAX / 2;
    }
    ak_status status = ak_walk_open(&self->walk, context->space, ak_rng_next(&self->rng), err);
    if (status == AK_OK) {
        status = ak_rank_open(&self->rank, context, err);
    }
    if (status == AK_OK) {
        status = ak_surrogate_new(&self->model, context->space, err);
    }
    if (status == AK_OK) {
        status = plan_portfolio(self, err);
    }
    if (status != AK_OK) {
        close_heuristic(&self->base);
        return status;
    }
    *out = &self->base;
    return AK_OK;
}

/* *found is false if there is nothing to propose. */
static ak_status propose_one(ak_proposal *out, bool *found, heuristic *self, ak_error *err)
{
    candidate chosen = {0};
    double mean = 0.0;
    *found = false;
    while (!*found && self->portfolio_next < self->portfolio_count) {
        chosen = self->portfolio[self->portfolio_next++];
        *found = !ak_walk_seen(&self->walk, &chosen.config);
    }
    if (!*found) {
        *found = choose(&chosen, &mean, self);
    }
    if (!*found) {
        chosen = (candidate){0};
        *found = ak_walk_next(&chosen.config, &self->walk);
        if (!*found) {
            return AK_OK;
        }
        locate(&chosen.point, self, &chosen.config);
    }
    ak_status status = ak_grow((void **)&self->pending, &self->pending_capacity,
                               self->pending_count + 1, sizeof *self->pending, err);
    if (status == AK_OK) {
        status = ak_walk_propose(&self->walk, &chosen.config, err);
    }
    if (status != AK_OK) {
        return status;
    }
    self->pending[self->pending_count++] = chosen;
    self->stale = true;
    *out = (ak_proposal){.config = chosen.config, .generation = chosen.generation};
    if (chosen.has_parent) {
        out->parent = self->trials[chosen.parent].config;
        out->has_parent = true;
        double best = self->trials[self->leader[0]].log_ms;
        out->predicted_gain = 1.0 - exp(mean + best - self->trials[chosen.parent].log_ms);
    }
    return AK_OK;
}

static ak_status propose_heuristic(ak_proposal *out, size_t *count, ak_strategy *strategy,
                                   size_t max, ak_error *err)
{
    heuristic *self = (heuristic *)strategy;
    size_t n = 0;
    bool found = true;
    while (found && n < max && n < BATCH_MAX) {
        ak_status status = propose_one(&out[n], &found, self, err);
        if (status != AK_OK) {
            return status;
        }
        n += found;
    }
    *count = n;
    return AK_OK;
}

static void update_leaders(heuristic *self, size_t index)
{
    double log_ms = self->trials[index].log_ms;
    size_t place = self->leader_count;
    while (place > 0 && log_ms < self->trials[self->leader[place - 1]].log_ms) {
        place--;
    }
    if (place == LEADERS || !(log_ms < HUGE_VAL)) {
        return;
    }
    self->leader_count += self->leader_count < LEADERS;
    for (size_t i = self->leader_count - 1; i > place; i--) {
        self->leader[i] = self->leader[i - 1];
    }
    self->leader[place] = index;
}

static ak_status observe_heuristic(ak_strategy *strategy, const ak_observation *observation,
                                   ak_error *err)
{
    heuristic *self = (heuristic *)strategy;
    ak_status status = ak_grow((void **)&self->trials, &self->trial_capacity, self->trial_count + 1,
                               sizeof *self->trials, err);
    if (status == AK_OK) {
        status = ak_walk_observe(&self->walk, observation->config, err);
    }
    if (status != AK_OK) {
        return status;
    }
    trial *t = &self->trials[self->trial_count++];
    *t = (trial){.config = *observation->config};
    t->log_ms = observation->ok && observation->ms > 0.0 ? log(observation->ms) : HUGE_VAL;
    for (size_t i = 0; i < self->pending_count; i++) {
        if (memcmp(&self->pending[i].config, observation->config, sizeof(ak_config)) == 0) {
            t->generation = self->pending[i].generation;
            self->pending[i] = self->pending[--self->pending_count];
            break;
        }
    }
    locate(&t->point, self, &t->config);
    update_leaders(self, self->trial_count - 1);
    self->stale = true;
    return AK_OK;
}

const ak_strategy_ops ak_strategy_heuristic = {
    .name = "heuristic",
    .description = "expert ranking first, then neighbours of the best, guided by what was learned",
    .open = open_heuristic,
    .propose = propose_heuristic,
    .observe = observe_heuristic,
    .close = close_heuristic,
};
