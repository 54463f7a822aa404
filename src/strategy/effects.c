/* effects.c: an additive model, fitted a parameter at a time to what the others leave. */
#include "strategy/effects.h"

#include <math.h>
#include <string.h>

/* Levels are logarithms of the time over the best. Beyond KNEE, half as slow again, differences
   count for a quarter, and beyond CEILING, which failures get too, not at all: how bad the bad are
   is of no use. */
#define KNEE    0.4
#define SHARE   0.25
#define CEILING 1.4
/* A trial that is slower by e^WIDTH counts for 1/e of the best; none for less than FLOOR. */
#define WIDTH 0.3
#define FLOOR 0.01
/* An effect is that of its trials and one more of effect 0. */
#define SHRINK 1.0

enum { RELEARN = 64 };

struct ak_effects {
    size_t parameters;
    size_t first[AK_PARAMETERS_MAX + 1]; /* of each parameter, into the arrays below */
    double *effect, *sum, *weight;       /* one for each value of each parameter */
    double *left, *share;                /* of each trial: what is not explained; its weight */
    size_t left_capacity, share_capacity;
    size_t learned; /* trials */
};

ak_status ak_effects_new(ak_effects **out, const ak_space *space, ak_error *err)
{
    ak_effects *e = ak_alloc(1, sizeof *e);
    if (e == NULL) {
        return ak_fail_memory(err);
    }
    e->parameters = ak_space_parameter_count(space);
    for (size_t p = 0; p < e->parameters; p++) {
        e->first[p + 1] = e->first[p] + ak_space_parameter(space, p)->value_count;
    }
    size_t count = e->first[e->parameters];
    e->effect = ak_alloc(count, sizeof *e->effect);
    e->sum = ak_alloc(count, sizeof *e->sum);
    e->weight = ak_alloc(count, sizeof *e->weight);
    if (e->effect == NULL || e->sum == NULL || e->weight == NULL) {
        ak_effects_free(e);
        return ak_fail_memory(err);
    }
    *out = e;
    return AK_OK;
}

void ak_effects_free(ak_effects *effects)
{
    if (effects != NULL) {
        ak_free(effects->effect);
        ak_free(effects->sum);
        ak_free(effects->weight);
        ak_free(effects->left);
        ak_free(effects->share);
        ak_free(effects);
    }
}

bool ak_effects_stale(const ak_effects *effects, const ak_frame *frame)
{
    size_t fresh = frame->known_count - effects->learned;
    return fresh > 0 && fresh >= frame->known_count / RELEARN;
}

static double level(double ms, double best_ms)
{
    double y = ms < HUGE_VAL ? log(ms / best_ms) : CEILING;
    y = y <= KNEE ? y : KNEE + SHARE * (y - KNEE);
    return y < CEILING ? y : CEILING;
}

/* The effects of one parameter anew, from what the others leave. */
static void refit(ak_effects *e, const ak_frame *frame, size_t p)
{
    size_t first = e->first[p], values = e->first[p + 1] - first;
    memset(e->sum + first, 0, values * sizeof *e->sum);
    memset(e->weight + first, 0, values * sizeof *e->weight);
    for (size_t i = 0; i < e->learned; i++) {
        size_t v = first + frame->known[i].config.at[p];
        e->sum[v] += e->share[i] * (e->left[i] + e->effect[v]);
        e->weight[v] += e->share[i];
    }
    for (size_t v = first; v < first + values; v++) {
        double fresh = e->sum[v] / (e->weight[v] + SHRINK);
        e->sum[v] = fresh - e->effect[v]; /* from here on: the change */
        e->effect[v] = fresh;
    }
    for (size_t i = 0; i < e->learned; i++) {
        e->left[i] -= e->sum[first + frame->known[i].config.at[p]];
    }
}

ak_status ak_effects_learn(ak_effects *effects, const ak_frame *frame, ak_error *err)
{
    ak_effects *e = effects;
    size_t count = frame->known_count;
    ak_status status =
        ak_grow((void **)&e->left, &e->left_capacity, count + 1, sizeof *e->left, err);
    if (status == AK_OK) {
        status = ak_grow((void **)&e->share, &e->share_capacity, count + 1, sizeof *e->share, err);
    }
    if (status != AK_OK || frame->best == SIZE_MAX) {
        return status;
    }
    e->learned = count;
    double best_ms = frame->known[frame->best].ms, sum = 0.0, weight = 0.0;
    for (size_t i = 0; i < count; i++) {
        e->left[i] = level(frame->known[i].ms, best_ms);
        e->share[i] = exp(-e->left[i] / WIDTH) + FLOOR;
        sum += e->share[i] * e->left[i];
        weight += e->share[i];
    }
    /* The effects of the last time are the start: one round of improvement is enough. */
    for (size_t i = 0; i < count; i++) {
        e->left[i] -= sum / weight + ak_effects_predict(e, &frame->known[i].config);
    }
    for (size_t p = 0; p < e->parameters; p++) {
        if (e->first[p + 1] - e->first[p] > 1) {
            refit(e, frame, p);
        }
    }
    return AK_OK;
}

double ak_effects_predict(const ak_effects *effects, const ak_config *config)
{
    double sum = 0.0;
    for (size_t p = 0; p < effects->parameters; p++) {
        sum += effects->effect[effects->first[p] + config->at[p]];
    }
    return sum;
}
