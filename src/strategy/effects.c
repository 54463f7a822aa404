/* effects.c: fits an additive model, one parameter at a time, to the residuals of the other
   parameters. */
#include "strategy/frame.h"

#include <math.h>
#include <string.h>

/* Levels are logarithms of the time or cost relative to the best. Above KNEE, which is 1.5 times
   the best, only SHARE of a difference counts. A failure has the level of a trial whose logarithm
   is CEILING. No level is higher than CEILING, because the order among bad configurations hardly
   matters. */
#define KNEE    0.4
#define SHARE   0.25
#define CEILING 1.4
/* The weight of a trial falls by the factor e for each WIDTH of its level, and FLOOR is added to
   every weight. */
#define WIDTH 0.3
#define FLOOR 0.01
/* Number of pseudo-trials with effect 0 that shrink each effect. */
#define SHRINK 1.0

enum { RELEARN = 64 };

struct ak_effects {
    size_t parameters;
    /* index of each parameter's first value in the arrays below */
    size_t first[AK_PARAMETERS_MAX + 1];
    double *effect, *sum, *weight; /* one entry for each value of each parameter */
    double *left, *share;          /* residual and weight of each trial */
    size_t left_capacity, share_capacity;
    size_t learned; /* number of trials that were learned from */
};

ak_status ak_effects_new(ak_effects **out, const ak_space *space, ak_error *err)
{
    AK_AT_END(ak_effects_free_at) ak_effects *e = NULL;
    AK_DO(AK_NEW(e, 1, err));
    e->parameters = ak_space_parameter_count(space);
    for (size_t p = 0; p < e->parameters; p++) {
        e->first[p + 1] = e->first[p] + ak_space_parameter(space, p)->value_count;
    }
    size_t count = e->first[e->parameters];
    AK_DO(AK_NEW(e->effect, count, err));
    AK_DO(AK_NEW(e->sum, count, err));
    AK_DO(AK_NEW(e->weight, count, err));
    AK_GIVE(out, e);
    return AK_OK;
}

void ak_effects_free(ak_effects *effects)
{
    if (effects != NULL) {
        AK_FREE_ALL(effects->effect, effects->sum, effects->weight, effects->left, effects->share,
                    effects);
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

/* Refits the effects of one parameter to the residuals of the other parameters. */
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
        e->sum[v] = fresh - e->effect[v]; /* from here on the change of the effect */
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
    AK_DO(AK_GROW(e->left, &e->left_capacity, count + 1, err));
    AK_DO(AK_GROW(e->share, &e->share_capacity, count + 1, err));
    if (frame->best == SIZE_MAX) {
        return AK_OK;
    }
    e->learned = count;
    double best_ms = frame->known[frame->best].ms, sum = 0.0, weight = 0.0;
    for (size_t i = 0; i < count; i++) {
        e->left[i] = level(frame->known[i].ms, best_ms);
        e->share[i] = exp(-e->left[i] / WIDTH) + FLOOR;
        sum += e->share[i] * e->left[i];
        weight += e->share[i];
    }
    /* The previous effects are the start, so one round of refitting is enough. */
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
