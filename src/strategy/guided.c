/* guided.c: see guided.h. It is long because the design, the pool and the model share one state. */
#include "strategy/guided.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/forest.h"
#include "model/gp.h"
#include "space/rank.h"
#include "strategy/transfer.h"
#include "strategy/walk.h"

enum {
    ELITES = 8, /* best trials from which mutants and crosses are made */
    /* most neighbours of one configuration; enough if every parameter has a few dozen values */
    NEIGHBOURS_MAX = 1024,
    PRETEND_MAX = 32, /* most trials under way that the model is told about */
    /* random draws for each member of the design; the farthest draw is taken */
    DESIGN_TRIES = 5,
    SAMPLE = 512,     /* configurations from which a ranked design is chosen */
    SAMPLE_BEST = 8,  /* a ranked design is chosen from the best eighth of the sample */
    DESIGN_MAX = 48,  /* largest ranked design */
    DESIGN_MIN = 4,   /* smallest design; with less the model has nothing to say */
    DESIGN_SHARE = 6, /* a design takes one trial in six */
    SPREAD_FIRST = 5, /* members of a design without a rank that come before the model's turn */
    LEARN_MIN = 2     /* fewest trials that a model can learn from */
};

/* TUNE_GROWTH and FOREST_GROWTH are the growth of the number of rows after which the weights are
   tuned again or a forest is grown anew. */
#define TUNE_GROWTH      1.12
#define TUNE_ALWAYS      12 /* from 4 to this many trials, the weights are tuned after each */
#define TUNE_TRIES       40 /* a step up and a step down of each of ten parameters' two weights */
#define TUNE_CHEAP       60 /* up to this many trials, TUNE_TRIES_CHEAP tries are made */
#define TUNE_TRIES_CHEAP 200
#define FOREST_GROWTH    1.03

typedef struct trial {
    ak_config config;
    ak_point point;
    double log_ms; /* logarithm of time or cost; infinite if it failed */
    int generation;
} trial;

typedef struct candidate {
    ak_config config;
    ak_point point;
    uint64_t key;
    bool used;
    bool has_parent;
    size_t parent; /* index of a trial */
    double mean, score;
} candidate;

typedef struct pending {
    candidate candidate;
    int generation;
} pending;

typedef struct ranked {
    double log_ms;
    size_t index;
} ranked;

typedef struct guided {
    ak_guided_options options;
    ak_walk walk;
    ak_rng rng;
    ak_rank *rank;
    const ak_transfer *transfer; /* results of other tasks, or NULL */
    const ak_like *like;         /* the list of `transfer` once it is trusted; else NULL */
    double rank_best;            /* best rank in the sample for the design */
    ak_features features;
    ak_gp *gp;
    ak_forest *forest;
    bool any_default;  /* the space declares no default */
    size_t expected;   /* estimate of the trials that the budget allows; 0 if unknown */
    size_t modelled;   /* number of proposals that the model chose */
    bool stale;        /* the model has not learned of all results and proposals */
    double learned_at; /* number of rows at the last tuning or growth of a forest */

    candidate *design; /* planned part of the design */
    size_t design_count, design_next;

    trial *trials;
    size_t trial_count, trial_capacity;
    pending *pending;
    size_t pending_count, pending_capacity;
    size_t elite[ELITES]; /* indices of the best trials, the best first */
    size_t elite_count;

    size_t *row; /* indices of the trials that the model learns from */
    double *y;
    size_t row_count, told; /* trials before `told` have been considered for a row */
    ranked *order;
    size_t order_capacity;
    uint16_t *levels; /* feature rows of a forest */

    candidate *pool;
    bool filled;
    size_t expanded; /* trial whose neighbours were admitted to the pool */
    ak_config *neighbours;
} guided;

/* ---- training data --------------------------------------------------------------------------- */

static double compress(const guided *self, double log_ratio)
{
    const ak_guided_options *o = &self->options;
    double y = log_ratio <= o->knee ? log_ratio : o->knee + o->share * (log_ratio - o->knee);
    return y < o->ceiling ? y : o->ceiling;
}

/* Computes the model's coordinates of a configuration. A rank is an estimate of time without a
   scale, so the prior is relative to the best rank in the sample of the design. If the rank failed
   for the whole sample, that difference would be infinite minus infinite, so the prior stays 0. */
static void locate(ak_point *out, guided *self, const ak_config *config)
{
    ak_gp_point(out, self->gp, config);
    if (self->rank != NULL && self->rank_best < HUGE_VAL) {
        out->prior = compress(self, ak_rank_log(self->rank, config) - self->rank_best);
    }
    if (self->like != NULL) {
        out->hint = ak_like_expects(self->like, config);
    }
}

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a;
    const ranked *y = b;
    return x->log_ms != y->log_ms ? (x->log_ms > y->log_ms) - (x->log_ms < y->log_ms)
                                  : (x->index > y->index) - (x->index < y->index);
}

/* Selects rows when there are more trials than rows. A quarter of the rows stays free for new
   trials. Half of the rows are the best trials; the other quarter is random, so that the model does
   not forget what is bad. */
static ak_status thin_rows(guided *self, ak_error *err)
{
    AK_DO(AK_GROW(self->order, &self->order_capacity, self->trial_count, err));
    for (size_t i = 0; i < self->trial_count; i++) {
        self->order[i] = (ranked){self->trials[i].log_ms, i};
    }
    qsort(self->order, self->trial_count, sizeof *self->order, compare_ranked);
    size_t best = self->options.rows / 2;
    self->row_count = self->options.rows * 3 / 4;
    for (size_t i = 0; i < self->row_count; i++) {
        if (i >= best) {
            size_t j = i + (size_t)ak_rng_below(&self->rng, self->trial_count - i);
            ranked moved = self->order[i];
            self->order[i] = self->order[j];
            self->order[j] = moved;
        }
        self->row[i] = self->order[i].index;
    }
    ak_gp_truncate(self->gp, 0);
    return AK_OK;
}

static void set_y(guided *self)
{
    double best = self->elite_count > 0 ? self->trials[self->elite[0]].log_ms : 0.0;
    for (size_t i = 0; i < self->row_count; i++) {
        self->y[i] = compress(self, self->trials[self->row[i]].log_ms - best);
    }
}

static ak_status learn_forest(guided *self, ak_error *err)
{
    const double rows = (double)(self->row_count + self->pending_count);
    /* There are fewer rows than before once thin_rows has dropped some. */
    if (self->forest != NULL && rows >= self->learned_at &&
        rows < FOREST_GROWTH * self->learned_at) {
        return AK_OK;
    }
    size_t count = 0;
    for (; count < self->row_count; count++) {
        ak_features_row(self->levels + count * self->features.count, &self->features,
                        &self->trials[self->row[count]].config);
    }
    for (size_t i = 0; i < self->pending_count && i < PRETEND_MAX; i++, count++) {
        ak_features_row(self->levels + count * self->features.count, &self->features,
                        &self->pending[i].candidate.config);
        self->y[count] = self->pending[i].candidate.mean;
    }
    ak_forest_data data = {&self->features, self->levels, self->y, count};
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.trees = self->options.trees;
    options.leaf_min = 1;
    options.share = 0.7; /* more different trees estimate the uncertainty better */
    options.leaf_spread = 0.03;
    options.seed = ak_rng_next(&self->rng);
    ak_forest *grown = NULL;
    AK_DO(ak_forest_fit(&grown, &data, &options, err));
    ak_forest_free(self->forest);
    self->forest = grown;
    self->learned_at = rows;
    return AK_OK;
}

static void learn_gp(guided *self)
{
    for (size_t i = ak_gp_count(self->gp); i < self->row_count; i++) {
        ak_gp_add(self->gp, &self->trials[self->row[i]].point);
    }
    ak_gp_learn(self->gp, self->y);
    double rows = (double)self->row_count;
    if (rows >= 4.0 && (rows <= TUNE_ALWAYS || rows >= TUNE_GROWTH * self->learned_at ||
                        rows < self->learned_at)) {
        ak_gp_tune(self->gp, rows <= TUNE_CHEAP ? TUNE_TRIES_CHEAP : TUNE_TRIES);
        self->learned_at = rows;
    }
    for (size_t i = 0; i < self->pending_count && i < PRETEND_MAX; i++) {
        ak_gp_add(self->gp, &self->pending[i].candidate.point);
    }
}

static ak_status learn(guided *self, ak_error *err)
{
    ak_gp_truncate(self->gp, self->row_count);
    size_t new = self->trial_count - self->told;
    if (self->row_count + new > self->options.rows) {
        AK_DO(thin_rows(self, err));
    } else {
        for (size_t i = self->told; i < self->trial_count; i++) {
            self->row[self->row_count++] = i;
        }
    }
    self->told = self->trial_count;
    self->stale = false;
    set_y(self);
    if (self->options.trees > 0) {
        return learn_forest(self, err);
    }
    learn_gp(self);
    return AK_OK;
}

/* ---- pool ------------------------------------------------------------------------------------ */

static bool in_pool(const guided *self, uint64_t key)
{
    for (size_t i = 0; i < self->options.pool; i++) {
        if (self->pool[i].used && self->pool[i].key == key) {
            return true;
        }
    }
    return false;
}

/* Makes the Gaussian process, if it is the model, keep its prediction for a slot of the pool up to
   date. */
static void watch(guided *self, size_t slot)
{
    if (self->options.trees == 0) {
        ak_gp_watch(self->gp, slot, &self->pool[slot].point);
    }
}

/* Puts a configuration that is new to the run and to the pool into a free slot of the pool, or in
   place of the least promising candidate. */
static void admit(guided *self, const ak_config *config, size_t parent)
{
    uint64_t key = ak_config_key(self->walk.space, config);
    if (ak_walk_seen(&self->walk, config) || in_pool(self, key)) {
        return;
    }
    size_t slot = 0;
    for (size_t i = 0; i < self->options.pool; i++) {
        if (!self->pool[i].used) {
            slot = i;
            break;
        }
        slot = self->pool[i].score < self->pool[slot].score ? i : slot;
    }
    candidate *c = &self->pool[slot];
    *c = (candidate){.config = *config, .key = key, .used = true, .score = HUGE_VAL};
    if (parent != SIZE_MAX) {
        c->parent = parent;
        c->has_parent = true;
    }
    locate(&c->point, self, config);
    watch(self, slot);
}

static void leave(guided *self, size_t slot)
{
    self->pool[slot].used = false;
    if (self->options.trees == 0) {
        ak_gp_unwatch(self->gp, slot);
    }
}

/* Picks an elite; better ones are more likely. */
static size_t pick_elite(guided *self)
{
    size_t i = 0;
    while (i + 1 < self->elite_count && ak_rng_below(&self->rng, 2) == 0) {
        i++;
    }
    return self->elite[i];
}

/* Draws values anew, two or three times, each for a random parameter, because neighbours differ in
   one parameter only. */
static void mutate(ak_config *config, guided *self)
{
    size_t changes = 2 + (size_t)ak_rng_below(&self->rng, 2);
    for (size_t i = 0; i < changes; i++) {
        size_t c = (size_t)ak_rng_below(&self->rng, self->features.count);
        size_t p = self->features.column[c].parameter;
        size_t values = ak_space_parameter(self->walk.space, p)->value_count;
        config->at[p] = (uint16_t)ak_rng_below(&self->rng, values);
    }
}

/* Takes each parameter either from `config` or from an elite, at random. */
static void cross(ak_config *config, guided *self)
{
    size_t other = self->elite[ak_rng_below(&self->rng, self->elite_count)];
    for (size_t c = 0; c < self->features.count; c++) {
        size_t p = self->features.column[c].parameter;
        if (ak_rng_below(&self->rng, 2) == 0) {
            config->at[p] = self->trials[other].config.at[p];
        }
    }
}

static void admit_offspring(guided *self)
{
    size_t parent = pick_elite(self);
    ak_config config = self->trials[parent].config;
    if (ak_rng_below(&self->rng, 3) == 0) {
        cross(&config, self);
    } else {
        mutate(&config, self);
    }
    if (ak_space_has(self->walk.space, &config)) {
        admit(self, &config, parent);
    }
}

static void refresh_pool(guided *self)
{
    if (self->elite_count > 0 && self->expanded != self->elite[0]) {
        self->expanded = self->elite[0];
        size_t count = ak_space_neighbours(self->neighbours, NEIGHBOURS_MAX, self->walk.space,
                                           &self->trials[self->expanded].config, AK_NEIGHBOUR_ANY);
        for (size_t i = 0; i < count; i++) {
            admit(self, &self->neighbours[i], self->expanded);
        }
    }
    size_t fresh = self->filled ? self->options.fresh : self->options.pool;
    for (size_t i = 0; i < fresh; i++) {
        if (self->filled && self->elite_count > 0 && i % 2 == 0) {
            admit_offspring(self);
        } else {
            ak_config config;
            ak_space_sample(&config, self->walk.space, &self->rng);
            admit(self, &config, SIZE_MAX);
        }
    }
    self->filled = true;
}

/* Returns the expected gain over the best trial, whose y is 0, for a normal prediction. If the
   prediction is so much worse that the gain would underflow, a substitute keeps the order right. */
static double expected_improvement(double mean, double deviation)
{
    if (deviation <= 0.0) {
        return mean < 0.0 ? -mean : 0.0;
    }
    double u = -mean / deviation;
    if (u < -8.0) {
        return 1e-18 / -u;
    }
    return -mean * 0.5 * erfc(-u * M_SQRT1_2) + deviation * exp(-0.5 * u * u) * 0.3989422804014327;
}

static void predict(candidate *c, const guided *self, size_t slot)
{
    double deviation;
    if (self->options.trees > 0) {
        uint16_t row[AK_PARAMETERS_MAX];
        ak_features_row(row, &self->features, &c->config);
        double variance;
        ak_forest_predict(&c->mean, &variance, self->forest, row);
        deviation = sqrt(variance);
    } else {
        ak_gp_watched(&c->mean, &deviation, self->gp, slot);
    }
    c->score = expected_improvement(c->mean, deviation);
}

static ak_status add_trial(guided *self, const trial *t, ak_error *err)
{
    AK_DO(AK_GROW(self->trials, &self->trial_capacity, self->trial_count + 1, err));
    self->trials[self->trial_count] = *t;
    ak_rank_insert(self->elite, &self->elite_count, ELITES, self->trial_count++,
                   &self->trials[0].log_ms, sizeof *self->trials);
    self->stale = true;
    return AK_OK;
}

/* Once the results of other tasks are trusted, tells the model of the candidates that were tried,
   and sets the hint of every known point to its expected rank in the list. Before that the model is
   told nothing, so that a misleading list costs one trial and nothing else. */
static ak_status follow_list(guided *self, ak_error *err)
{
    const ak_transfer *t = self->transfer;
    const ak_config *list;
    if (t == NULL || !t->trusted || self->like != NULL) {
        return AK_OK;
    }
    self->like = t->like;
    size_t count = ak_like_candidates(&list, self->like);
    for (size_t i = 0; i < count; i++) {
        if (t->state[i] == AK_TRANSFER_ENDED) {
            trial told = {.config = list[i], .log_ms = log(t->ms[i])};
            AK_DO(add_trial(self, &told, err));
        }
    }
    for (size_t i = 0; i < self->trial_count; i++) {
        locate(&self->trials[i].point, self, &self->trials[i].config);
    }
    for (size_t i = 0; i < self->pending_count; i++) {
        locate(&self->pending[i].candidate.point, self, &self->pending[i].candidate.config);
    }
    ak_gp_truncate(self->gp, 0);
    for (size_t i = 0; i < self->options.pool; i++) {
        if (self->pool[i].used) {
            locate(&self->pool[i].point, self, &self->pool[i].config);
            watch(self, i);
        }
    }
    return AK_OK;
}

/* Chooses the candidate with the largest expected improvement. *found is false if every candidate
   was seen. */
static ak_status choose(candidate *out, bool *found, guided *self, ak_error *err)
{
    AK_DO(follow_list(self, err));
    AK_DO(self->stale ? learn(self, err) : AK_OK);
    refresh_pool(self);
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < self->options.pool; i++) {
        candidate *c = &self->pool[i];
        if (c->used && ak_walk_seen(&self->walk, &c->config)) {
            leave(self, i);
        }
        if (c->used) {
            predict(c, self, i);
            best = best == SIZE_MAX || c->score > self->pool[best].score ? i : best;
        }
    }
    *found = best != SIZE_MAX;
    if (*found) {
        *out = self->pool[best];
        leave(self, best);
    }
    return AK_OK;
}

/* ---- design ---------------------------------------------------------------------------------- */

static double distance(const guided *self, const ak_point *a, const ak_point *b)
{
    double sum = 0.0;
    for (size_t c = 0; c < self->features.count; c++) {
        sum += fmin(fabs((double)a->at[c] - (double)b->at[c]), 1.0);
    }
    return sum;
}

/* Returns the distance of a point to the nearest trial, finished or under way. */
static double nearest(const guided *self, const ak_point *point)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < self->trial_count; i++) {
        least = fmin(least, distance(self, point, &self->trials[i].point));
    }
    for (size_t i = 0; i < self->pending_count; i++) {
        least = fmin(least, distance(self, point, &self->pending[i].candidate.point));
    }
    return least;
}

/* Takes the farthest of a few random configurations. The farthest of the whole space is not taken,
   because it lies in a corner of the space, where configurations are seldom good. */
static bool spread_out(candidate *out, guided *self)
{
    bool found = false;
    double most = -1.0;
    for (size_t i = 0; i < DESIGN_TRIES; i++) {
        candidate c = {0};
        ak_space_sample(&c.config, self->walk.space, &self->rng);
        if (ak_walk_seen(&self->walk, &c.config)) {
            continue;
        }
        locate(&c.point, self, &c.config);
        double apart = nearest(self, &c.point);
        if (apart > most) {
            most = apart;
            *out = c;
            found = true;
        }
    }
    return found;
}

static int compare_scores(const void *a, const void *b)
{
    double x = ((const candidate *)a)->score;
    double y = ((const candidate *)b)->score;
    return (x > y) - (x < y);
}

/* Fills the design from the best-ranked part of a sample; each member is the farthest one from
   those already chosen. */
static void spread_ranked(guided *self, candidate *sample)
{
    double near[SAMPLE / SAMPLE_BEST];
    size_t count = SAMPLE / SAMPLE_BEST;
    for (size_t i = 0; i < count; i++) {
        near[i] = HUGE_VAL;
        for (size_t d = 0; d + 1 < self->design_count; d++) {
            near[i] = fmin(near[i], distance(self, &sample[i].point, &self->design[d].point));
        }
    }
    while (self->design_count < self->options.start) {
        const ak_point *last = &self->design[self->design_count - 1].point;
        size_t farthest = 0;
        for (size_t i = 0; i < count; i++) {
            near[i] = fmin(near[i], distance(self, &sample[i].point, last));
            farthest = near[i] > near[farthest] ? i : farthest;
        }
        if (near[farthest] <= 0.0) {
            return;
        }
        self->design[self->design_count++] = sample[farthest];
    }
}

/* Fills the design with some of the best-ranked configurations of a sample. */
static ak_status plan_ranked(guided *self, ak_error *err)
{
    AK_FREED candidate *sample = NULL;
    AK_DO(AK_NEW(sample, SAMPLE, err));
    for (size_t i = 0; i < SAMPLE; i++) {
        ak_space_sample(&sample[i].config, self->walk.space, &self->rng);
        sample[i].score = ak_rank_log(self->rank, &sample[i].config);
        self->rank_best = fmin(self->rank_best, sample[i].score);
    }
    qsort(sample, SAMPLE, sizeof *sample, compare_scores);
    for (size_t i = 0; i < SAMPLE / SAMPLE_BEST; i++) {
        locate(&sample[i].point, self, &sample[i].config);
    }
    spread_ranked(self, sample);
    return AK_OK;
}

/* Plans the design: first the default, unless it is arbitrary and `expert` is not set; then the
   starts of the space; then, if there is a rank, configurations chosen by it. */
static ak_status plan(guided *self, ak_error *err)
{
    const ak_config *starts;
    size_t start_count = ak_space_starts(&starts, self->walk.space);
    self->options.start += start_count;
    AK_DO(AK_NEW(self->design, self->options.start, err));
    if (self->options.expert || !self->any_default) {
        ak_space_default(&self->design[self->design_count++].config, self->walk.space);
    }
    for (size_t i = 0; i < start_count; i++) {
        if (self->design_count == 0 ||
            memcmp(&starts[i], &self->design[0].config, sizeof starts[i]) != 0) {
            self->design[self->design_count++].config = starts[i];
        }
    }
    for (size_t i = 0; i < self->design_count; i++) {
        locate(&self->design[i].point, self, &self->design[i].config);
    }
    return self->rank != NULL ? plan_ranked(self, err) : AK_OK;
}

/* Returns true if a design without a rank needs another member. This design is not planned but
   drawn during the run: the longer the run, the larger the design. Later members take turns with
   the model. */
static bool wants_spread(const guided *self)
{
    size_t most = self->options.start, least = DESIGN_MIN < most ? DESIGN_MIN : most;
    size_t size =
        self->expected == 0 ? most : ak_within(self->expected / DESIGN_SHARE, least, most);
    size_t spread = self->trial_count + self->pending_count - self->modelled;
    return self->trial_count < LEARN_MIN ||
           (spread < size && (spread < SPREAD_FIRST || self->modelled > spread - SPREAD_FIRST));
}

static bool next_of_design(candidate *out, guided *self)
{
    while (self->design_next < self->design_count) {
        *out = self->design[self->design_next++];
        if (!ak_walk_seen(&self->walk, &out->config)) {
            return true;
        }
    }
    return self->rank == NULL && wants_spread(self) && spread_out(out, self);
}

/* ---- interface ------------------------------------------------------------------------------- */

void ak_guided_close(ak_strategy *strategy)
{
    guided *self = ((ak_guided *)strategy)->search;
    if (self != NULL) {
        ak_walk_close(&self->walk);
        ak_rank_close(self->rank);
        ak_gp_close(self->gp);
        ak_forest_free(self->forest);
        ak_features_close(&self->features);
        AK_FREE_ALL(self->design, self->trials, self->pending, self->row, self->y, self->order,
                    self->levels, self->pool, self->neighbours, self);
    }
}

static ak_status open_arrays(guided *self, ak_error *err)
{
    size_t rows = self->options.rows + PRETEND_MAX;
    AK_DO(AK_NEW(self->row, self->options.rows, err));
    AK_DO(AK_NEW(self->y, rows, err));
    AK_DO(AK_NEW(self->levels, rows * AK_PARAMETERS_MAX, err));
    AK_DO(AK_NEW(self->pool, self->options.pool, err));
    return AK_NEW(self->neighbours, NEIGHBOURS_MAX, err);
}

ak_status ak_guided_open(ak_strategy *strategy, const ak_strategy_context *context,
                         const ak_guided_options *options, ak_error *err)
{
    guided *self;
    AK_DO(AK_NEW(self, 1, err));
    ((ak_guided *)strategy)->search = self;
    self->options = *options;
    self->transfer = context->transfer;
    self->expected = context->evaluations;
    self->any_default = context->any_default;
    self->rank_best = HUGE_VAL;
    self->expanded = SIZE_MAX;
    ak_rng_seed(&self->rng, context->seed);
    AK_DO(ak_walk_open(&self->walk, context->space, ak_rng_next(&self->rng), err));
    AK_DO(ak_features_open(&self->features, context->space, err));
    if (options->expert) {
        char where[256];
        (void)snprintf(where, sizeof where, "kernel %.100s, %.100s", context->kernel,
                       context->implementation);
        AK_DO(ak_rank_open(&self->rank, context->space, context->constants, context->rank, where,
                           err));
    }
    if (context->evaluations > 0 && self->rank != NULL) {
        self->options.start =
            ak_within(context->evaluations / DESIGN_SHARE, DESIGN_MIN, DESIGN_MAX);
    }
    ak_gp_options gp = {.rows = options->rows + PRETEND_MAX,
                        .slots = options->trees > 0 ? 1 : options->pool,
                        .steepness = options->steepness,
                        .noise = options->noise};
    AK_DO(ak_gp_open(&self->gp, &self->features, &gp, err));
    AK_DO(open_arrays(self, err));
    return plan(self, err);
}

ak_status ak_guided_propose(ak_proposal *out, bool *found, ak_strategy *strategy, ak_error *err)
{
    guided *self = ((ak_guided *)strategy)->search;
    candidate chosen = {0};
    *found = next_of_design(&chosen, self);
    if (!*found && self->trial_count >= LEARN_MIN && self->features.count > 0) {
        AK_DO(choose(&chosen, found, self, err));
        self->modelled += *found;
    }
    if (!*found) {
        chosen = (candidate){0};
        *found = ak_walk_next(&chosen.config, &self->walk);
        locate(&chosen.point, self, &chosen.config);
    }
    if (!*found) {
        return AK_OK;
    }
    AK_DO(AK_GROW(self->pending, &self->pending_capacity, self->pending_count + 1, err));
    AK_DO(ak_walk_propose(&self->walk, &chosen.config, err));
    self->stale = true;
    *out = (ak_proposal){.config = chosen.config};
    if (chosen.has_parent) {
        const trial *parent = &self->trials[chosen.parent];
        out->parent = parent->config;
        out->has_parent = true;
        out->generation = parent->generation + 1;
        double best = self->trials[self->elite[0]].log_ms;
        out->predicted_gain = 1.0 - exp(chosen.mean + best - parent->log_ms);
    }
    self->pending[self->pending_count++] = (pending){chosen, out->generation};
    return AK_OK;
}

ak_status ak_guided_observe(ak_strategy *strategy, const ak_observation *observation, ak_error *err)
{
    guided *self = ((ak_guided *)strategy)->search;
    AK_DO(ak_walk_observe(&self->walk, observation->config, err));
    self->expected = observation->expected > 0 ? observation->expected : self->expected;
    trial t = {.config = *observation->config};
    t.log_ms = observation->ok && observation->ms > 0.0 ? log(observation->ms) : HUGE_VAL;
    locate(&t.point, self, &t.config);
    bool foreign = self->transfer != NULL && ak_transfer_tried(self->transfer, &t.config);
    size_t i = AK_FIND_SAME(self->pending, self->pending_count, candidate.config, &t.config);
    if (i < self->pending_count) {
        t.generation = self->pending[i].generation;
        self->pending[i] = self->pending[--self->pending_count];
        foreign = false;
    }
    return foreign && self->like == NULL ? AK_OK : add_trial(self, &t, err);
}
