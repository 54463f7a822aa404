/* history.c: keeps the result of each configuration that a run has evaluated, and the best one by
   the objective. */
#include <assert.h>

#include "tuner/run.h"

/* Smallest relative improvement that counts as a gain; less may be noise. */
#define GAIN 0.005

static size_t index_of(const ak_tuning *r, const ak_config *config)
{
    return AK_FIND_SAME(r->history, r->history_count, config, config);
}

const ak_seen *ak_tuning_find(const ak_tuning *r, const ak_config *config)
{
    size_t i = index_of(r, config);
    return i < r->history_count ? &r->history[i] : NULL;
}

static void note_gain(ak_tuning *r, double cost, double ms)
{
    if (cost > 0 && (r->best_cost <= 0 || cost < r->best_cost)) {
        if (r->best_cost <= 0 || cost < r->best_cost * (1 - GAIN)) {
            r->last_gain = r->result->evaluated;
        }
        r->best_cost = cost;
        r->best_ms = ms;
    }
}

ak_status ak_tuning_remember(ak_tuning *r, const ak_config *config, const ak_trial *trial,
                             ak_error *err)
{
    double ms = trial->status == AK_TRIAL_OK ? trial->median_ms : 0, cost = ak_trial_cost(trial);
    assert(ak_tuning_find(r, config) == NULL); /* resume.c and search.c skip known keys */
    AK_DO(AK_GROW(r->history, &r->history_capacity, r->history_count + 1, err));
    r->history[r->history_count++] =
        (ak_seen){.config = *config,
                  .cost = cost,
                  .ms = ms,
                  .joules = trial->joules,
                  .low_ms = trial->ci_low_ms,
                  .high_ms = trial->ci_high_ms,
                  .trial = trial->id,
                  .device = ak_pool_device_named(r->session.pool, trial->measured_on)};
    note_gain(r, cost, ms);
    ak_observation observation = {.config = config,
                                  .ok = cost > 0,
                                  .ms = cost,
                                  .trial = trial,
                                  .expected = ak_tuning_expected_trials(r)};
    ak_transfer_observe(&r->transfer, &observation);
    return r->ops->observe(r->strategy, &observation, err);
}

ak_status ak_tuning_correct(ak_tuning *r, const ak_config *config, const ak_compared *measured,
                            ak_error *err)
{
    size_t at = index_of(r, config);
    if (at < r->history_count) {
        r->history[at].cost = ak_compared_cost(measured);
        r->history[at].ms = measured->median_ms;
        r->history[at].joules = measured->joules;
        r->history[at].low_ms = measured->ci_low_ms;
        r->history[at].high_ms = measured->ci_high_ms;
    }
    r->best_cost = 0;
    for (size_t i = 0; i < r->history_count; i++) {
        const ak_seen *seen = &r->history[i];
        if (seen->cost > 0 && (r->best_cost <= 0 || seen->cost < r->best_cost)) {
            r->best_cost = seen->cost;
            r->best_ms = seen->ms;
        }
    }
    bool timed = r->task->objective == NULL;
    ak_observation observation = {.config = config,
                                  .ok = true,
                                  .ms = ak_compared_cost(measured),
                                  .low_ms = timed ? measured->ci_low_ms : measured->cost_low,
                                  .high_ms = timed ? measured->ci_high_ms : measured->cost_high,
                                  .again = true};
    return r->ops->observe(r->strategy, &observation, err);
}
