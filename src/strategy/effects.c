/* effects.c: prototype */
#include "strategy/frame.h"

#include <math.h>
#include <string.h>

#define HYPERS(X)                                                                                  \
    X(STARTS, "starts", 20, 1, 1000, true, "random configurations first", "xxxxxxxxxxxxxx")        \
    X(ELITES, "elites", 6, 1, 64, true, "configurations whose neighbours are looked at", "xxxxxxxxxxxx")  \
    X(TAU, "tau", 0.3, 0.001, 100, false, "weight", "xxxxxxxxxxxxxxxx")                            \
    X(NOISE, "noise", 0.3, 0, 100, false, "exploration", "xxxxxxxxxxxxxxx")                        \
    X(LAMBDA, "lambda", 1, 0.0001, 100, false, "shrinkage", "xxxxxxxxxxxx")                        \
    X(CROSS, "cross", 0, 0, 200, true, "crosses", "xxxxxxxxxxxxxxxxx")                            \
    X(MUT, "mut", 16, 0, 200, true, "mutants", "xxxxxxxxxxxxxxxx")                                 \
    X(RANDOM, "random", 0.02, 0, 1, false, "share random", "xxxxxxxxxxxxxxxx")                     \
    X(KNEE, "knee", 0.4, 0.01, 10, false, "knee", "xxxxxxxxxxxxxxxxxx")                            \
    X(BLIND, "blind", 0, 0, 1, false, "share blind", "xxxxxxxxxxxxxxxxxx")                            \
    X(ADJ, "adj", 0.5, 0, 1, false, "share adjacent", "xxxxxxxxxxxxxxxxxx")                            \
    X(KERNEL, "kernel", 1, 0, 10, false, "share of residual kernel", "xxxxxxxxxxxxxxxxxx")                            \
    X(GAMMA, "gamma", 1.5, 0, 10, false, "kernel decay per param", "xxxxxxxxxxxxxxxxxx")                            \
    X(STALL, "stall", 0, 0, 10, false, "elites per stalled trial", "xxxxxxxxxxxxxxxxxx")                            \
    X(PICK, "pick", 0.5, 0, 1, false, "prob of going on", "xxxxxxxxxxxxxxxxx")                     \
    X(SWEEPS, "sweeps", 2, 0, 20, true, "sweeps", "xxxxxxxxxxxxxxxxxx")
enum { HYPERS(AK_HYPER_INDEX) };
static const ak_hyper hypers[] = {HYPERS(AK_HYPER_ROW){0}};

enum { NEIGHBOURS_MAX = 512, ELITES_MAX = 64 };

typedef struct effects {
    ak_frame frame;
    double h[AK_HYPERS_MAX];
    size_t initial;
    double *y; size_t y_capacity, y_count, y_best;
    double sw, sy;
    double kern[AK_PARAMETERS_MAX+1];
    size_t stall;
    size_t elite[ELITES_MAX], elite_count;
    size_t offset[AK_PARAMETERS_MAX + 1];
    double *effect, *weight;
    double mean;
    double *fit; /* by place */
    double *w;
    size_t fit_capacity, w_capacity;
    double sigma2;
    bool stale;
    ak_config neighbours[NEIGHBOURS_MAX];
} effects;

static void close_effects(ak_strategy *strategy)
{
    effects *self = (effects *)strategy;
    if (self != NULL) {
        ak_frame_close(&self->frame);
        ak_free(self->effect);
        ak_free(self->weight);
        ak_free(self->fit);
        ak_free(self->w);
        ak_free(self->y);
        ak_free(self);
    }
}

static ak_status open_effects(ak_strategy **out, const ak_strategy_context *context, ak_error *err)
{
    effects *self = ak_alloc(1, sizeof *self);
    if (self == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status = ak_frame_open(&self->frame, &ak_strategy_effects, context, err);
    for (size_t i = 0; hypers[i].name != NULL; i++) {
        self->h[i] = ak_strategy_hyper(context, hypers, i);
    }
    self->initial = (size_t)self->h[HYPER_STARTS];
    self->y_best = SIZE_MAX;
    for (size_t d = 0; d <= AK_PARAMETERS_MAX; d++) {
        self->kern[d] = exp(-self->h[HYPER_GAMMA] * (double)d);
    }
    for (size_t p = 0; p < self->frame.parameters; p++) {
        self->offset[p + 1] =
            self->offset[p] + ak_space_parameter(context->space, p)->value_count;
    }
    self->effect = ak_alloc(self->offset[self->frame.parameters], sizeof *self->effect);
    self->weight = ak_alloc(self->offset[self->frame.parameters], sizeof *self->weight);
    if (status == AK_OK && (self->effect == NULL || self->weight == NULL)) {
        status = ak_fail_memory(err);
    }
    if (status != AK_OK) {
        close_effects(&self->frame.base);
        return status;
    }
    *out = &self->frame.base;
    return AK_OK;
}

static double level(const effects *self, double ms)
{
    const ak_frame *f = &self->frame;
    double best = f->best == SIZE_MAX ? 1.0 : f->known[f->best].ms;
    double knee = self->h[HYPER_KNEE];
    double y = ms < HUGE_VAL ? log(ms / best) : 100.0;
    y = y <= knee ? y : knee + 0.25 * (y - knee);
    return y < knee + 1.0 ? y : knee + 1.0;
}

static void learn(effects *self)
{
    ak_frame *f = &self->frame;
    size_t n = f->known_count;
    if (self->y_best != f->best) {
        self->y_best = f->best;
        self->y_count = 0;
        self->sw = self->sy = 0;
    }
    for (; self->y_count < n; self->y_count++) {
        size_t i = self->y_count;
        self->y[i] = level(self, f->known[i].ms);
        self->w[i] = exp(-self->y[i] / self->h[HYPER_TAU]) + 0.01;
        self->sw += self->w[i];
        self->sy += self->w[i] * self->y[i];
    }
    double sw = self->sw, sy = self->sy;
    self->mean = sy / sw;
    /* residual in fit */
    for (size_t i = 0; i < n; i++) {
        double sum = self->mean;
        for (size_t p = 0; p < f->parameters; p++) {
            sum += self->effect[self->offset[p] + f->known[i].config.at[p]];
        }
        self->fit[i] = self->y[i] - sum;
    }
    static double num[4096];
    for (size_t s = 0; s < (size_t)self->h[HYPER_SWEEPS]; s++) {
        for (size_t p = 0; p < f->parameters; p++) {
            size_t values = self->offset[p + 1] - self->offset[p];
            if (values < 2 || values > 4096) {
                continue;
            }
            double *e = self->effect + self->offset[p], *w = self->weight + self->offset[p];
            memset(num, 0, values * sizeof *num);
            memset(w, 0, values * sizeof *w);
            for (size_t i = 0; i < n; i++) {
                size_t v = f->known[i].config.at[p];
                num[v] += self->w[i] * (self->fit[i] + e[v]);
                w[v] += self->w[i];
            }
            double delta[4096];
            for (size_t v = 0; v < values; v++) {
                double fresh = num[v] / (w[v] + self->h[HYPER_LAMBDA]);
                delta[v] = fresh - e[v];
                e[v] = fresh;
            }
            for (size_t i = 0; i < n; i++) {
                self->fit[i] -= delta[f->known[i].config.at[p]];
            }
        }
    }
    double r2 = 0;
    for (size_t i = 0; i < n; i++) {
        r2 += self->w[i] * self->fit[i] * self->fit[i];
    }
    self->sigma2 = r2 / sw + 1e-8;
    self->stale = false;
}

static double residual(effects *self, const ak_config *c)
{
    double num = 0, den = 0.1;
    size_t parameters = self->frame.parameters;
    for (size_t i = 0; i < self->elite_count; i++) {
        size_t place = self->elite[i];
        const ak_config *o = &self->frame.known[place].config;
        size_t d = 0;
        for (size_t p = 0; p < parameters; p++) {
            d += c->at[p] != o->at[p];
        }
        num += self->kern[d] * self->fit[place];
        den += self->kern[d];
    }
    return num / den;
}

static double predict(effects *self, const ak_config *c, double carried)
{
    double sum = self->mean + carried;
    for (size_t p = 0; p < self->frame.parameters; p++) {
        sum += self->effect[self->offset[p] + c->at[p]];
    }
    return sum;
}

static double uncertainty(effects *self, const ak_config *c, const ak_config *from)
{
    double var = 0;
    for (size_t p = 0; p < self->frame.parameters; p++) {
        if (c->at[p] != from->at[p]) {
            var += 1.0 / (self->weight[self->offset[p] + c->at[p]] + self->h[HYPER_LAMBDA]) + 0.2;
        }
    }
    return sqrt(self->sigma2 * var);
}

static size_t pick(effects *self)
{
    size_t i = 0;
    double e = self->h[HYPER_ELITES] + self->h[HYPER_STALL] * (double)self->stall;
    if (self->h[HYPER_STALL] > 0) {
        size_t m = e > (double)self->elite_count ? self->elite_count : (size_t)e;
        double u = ak_rng_real(&self->frame.rng);
        return (size_t)((double)m * u * u);
    }
    while (i + 1 < self->elite_count && i < (size_t)e && ak_rng_real(&self->frame.rng) < self->h[HYPER_PICK]) {
        i++;
    }
    return i;
}

typedef struct choice {
    ak_config config;
    double value;
    size_t parent;
    bool has;
} choice;

static void consider(choice *best, effects *self, const ak_config *c, size_t parent, double carried)
{
    if (ak_walk_seen(&self->frame.walk, c)) {
        return;
    }
    double v = predict(self, c, carried);
    if (self->h[HYPER_KERNEL] > 0) v += self->h[HYPER_KERNEL] * residual(self, c);
    v += self->h[HYPER_NOISE] * uncertainty(self, c, &self->frame.known[parent].config) *
         ak_rng_normal(&self->frame.rng);
    if (!best->has || v < best->value) {
        *best = (choice){*c, v, parent, true};
    }
}

static bool next_effects(ak_proposal *out, size_t *tag, ak_frame *frame)
{
    effects *self = (effects *)frame;
    *tag = 0;
    if (self->initial > 0 || self->elite_count < 1 ||
        ak_rng_real(&frame->rng) < self->h[HYPER_RANDOM]) {
        self->initial -= self->initial > 0;
        return ak_frame_random(&out->config, frame);
    }
    if (self->stale) {
        learn(self);
    }
    if (ak_rng_real(&frame->rng) < self->h[HYPER_BLIND]) {
        size_t at = self->elite[pick(self)];
        if ((ak_rng_real(&frame->rng) < self->h[HYPER_ADJ] && ak_frame_step(&out->config, frame, &frame->known[at].config, AK_NEIGHBOUR_ADJACENT)) ||
            ak_frame_step(&out->config, frame, &frame->known[at].config, AK_NEIGHBOUR_ANY)) {
            ak_frame_derive(out, &frame->known[at]);
            return true;
        }
    }
    choice best = {.has = false};
    size_t place = self->elite[pick(self)];
    size_t count = ak_space_neighbours(self->neighbours, NEIGHBOURS_MAX, frame->space,
                                       &frame->known[place].config, AK_NEIGHBOUR_ANY);
    for (size_t i = 0; i < count; i++) {
        consider(&best, self, &self->neighbours[i], place, 0);
    }
    for (size_t i = 0; i < (size_t)self->h[HYPER_MUT]; i++) {
        size_t from = self->elite[pick(self)];
        ak_config c = frame->known[from].config;
        ak_frame_mutate(&c, frame, 2.0 / (double)frame->vary, 0.5);
        consider(&best, self, &c, from, 0);
    }
    for (size_t i = 0; i < (size_t)self->h[HYPER_CROSS] && self->elite_count > 1; i++) {
        size_t a = self->elite[pick(self)], b = self->elite[ak_rng_below(&frame->rng, self->elite_count)];
        ak_config c = frame->known[a].config;
        double share = 0;
        for (size_t p = 0; p < frame->parameters; p++) {
            if (ak_rng_below(&frame->rng, 2)) {
                c.at[p] = frame->known[b].config.at[p];
                share += 1;
            }
        }
        share /= (double)frame->parameters;
        ak_frame_mutate(&c, frame, 0, 0);
        consider(&best, self, &c, a, 0);
    }
    if (!best.has) {
        return ak_frame_random(&out->config, frame);
    }
    out->config = best.config;
    ak_frame_derive(out, &frame->known[best.parent]);
    return true;
}

static ak_status propose_effects(ak_proposal *out, size_t *count, ak_strategy *strategy, size_t max,
                                 ak_error *err)
{
    return ak_frame_propose(out, count, (ak_frame *)strategy, max, next_effects, err);
}

static ak_status observe_effects(ak_strategy *strategy, const ak_observation *observation,
                                 ak_error *err)
{
    effects *self = (effects *)strategy;
    ak_frame *frame = &self->frame;
    size_t place, tag;
    ak_status status = ak_grow((void **)&self->fit, &self->fit_capacity, frame->known_count + 1,
                               sizeof *self->fit, err);
    if (status == AK_OK) {
        status = ak_grow((void **)&self->w, &self->w_capacity, frame->known_count + 1,
                         sizeof *self->w, err);
    }
    if (status == AK_OK) {
        status = ak_grow((void **)&self->y, &self->y_capacity, frame->known_count + 1,
                         sizeof *self->y, err);
    }
    if (status == AK_OK) {
        status = ak_frame_observe(&place, &tag, frame, observation, err);
    }
    if (status == AK_OK && place != SIZE_MAX) {
        ak_frame_rank(self->elite, &self->elite_count, ELITES_MAX, frame, place);
        self->stall = frame->best == place ? 0 : self->stall + 1;
        self->stale = true;
    }
    return status;
}

const ak_strategy_ops ak_strategy_effects = {
    .name = "effects",
    .description = "neighbours and crosses of the best, by the learned effects of single values",
    .open = open_effects,
    .propose = propose_effects,
    .observe = observe_effects,
    .close = close_effects,
    .hypers = hypers,
};
