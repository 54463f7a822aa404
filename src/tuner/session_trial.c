/* session_trial.c: completes trials from results of the pool, and checks configurations; see
   session.h. */
#include <assert.h>

#include "archive/field.h"
#include "base/value_json.h"
#include "tuner/session.h"

/* Places a trial on the roofline and rejects it if it is implausibly fast. */
static ak_status place_trial(ak_trial *trial, const ak_session *session, ak_error *err)
{
    ak_roofline roof;
    ak_session_reach(&roof, &trial->utilisation, session, trial->median_ms, trial->sm_clock_mhz);
    trial->tflops = roof.tflops;
    trial->gbs = roof.gbs;
    trial->efficiency = roof.efficiency;
    AK_DO(ak_trial_set_text(&trial->bound, roof.memory_bound ? "memory" : "compute", err));
    char why[AK_IMPLAUSIBLE_BYTES];
    if (ak_session_implausible(why, session, trial->median_ms)) {
        trial->status = AK_TRIAL_REJECTED;
        return ak_trial_set_text(&trial->reason, why, err);
    }
    return AK_OK;
}

/* Computes the cost from the median time and energy. The interval of the cost spans the costs at
   the ends of the intervals of time and energy. A trial whose cost cannot be computed is
   rejected. */
static ak_status set_cost(ak_trial *trial, const ak_session *session, const ak_config *config,
                          ak_error *err)
{
    const ak_task *task = session->task;
    ak_scope *scope = NULL;
    ak_error why = AK_ERROR_INIT;
    ak_objective_facts facts = {.ms = trial->median_ms,
                                .joules = trial->joules,
                                .flops = task->shape.flops,
                                .traffic = task->shape.traffic,
                                .has_code = true,
                                .registers = trial->registers,
                                .shared_bytes = trial->shared_bytes,
                                .spill_bytes = trial->spill_bytes,
                                .code_bytes = trial->code_bytes};
    AK_DO(ak_task_scope(&scope, task, &task->shape, config, err));
    ak_status status = ak_objective_cost(&trial->cost, task->objective, scope, &facts, &why);
    trial->cost_low = trial->cost_high = trial->cost;
    const double times[] = {trial->ci_low_ms, trial->ci_high_ms};
    const double energies[] = {trial->joules_low, trial->joules_high};
    for (int i = 0; status == AK_OK && i < 4; i++) {
        double cost;
        facts.ms = times[i / 2] > 0 ? times[i / 2] : trial->median_ms;
        facts.joules = energies[i % 2] > 0 ? energies[i % 2] : trial->joules;
        if (ak_objective_cost(&cost, task->objective, scope, &facts, NULL) == AK_OK) {
            trial->cost_low = cost < trial->cost_low ? cost : trial->cost_low;
            trial->cost_high = cost > trial->cost_high ? cost : trial->cost_high;
        }
    }
    ak_scope_free(scope);
    if (status != AK_OK && status != AK_NO_MEMORY) {
        trial->status = AK_TRIAL_REJECTED;
        trial->cost = trial->cost_low = trial->cost_high = 0;
        return ak_trial_set_text(&trial->reason, why.text, err);
    }
    return ak_stored(status == AK_OK, err);
}

ak_status ak_session_complete_trial(ak_trial *trial, const ak_session *session,
                                    const ak_config *config, const char *run, ak_error *err)
{
    const ak_task *task = session->task;
    char now[AK_CLOCK_UTC_BYTES];
    ak_session_utc(now, session);
    char *text = NULL;
    AK_DO(ak_config_text(&text, task->space, config, err));
    ak_free(trial->config);
    trial->config = text;
    AK_DO(ak_trial_set_text(&trial->run, run, err));
    AK_DO(ak_trial_set_text(&trial->timestamp, now, err));
    AK_DO(ak_trial_set_text(&trial->kernel, task->problem->name, err));
    AK_DO(ak_trial_set_text(&trial->implementation, task->implementation->name, err));
    AK_DO(ak_trial_set_text(&trial->device, task->device, err));
    AK_DO(ak_trial_set_text(&trial->size, task->size_text, err));
    AK_DO(ak_trial_set_text(&trial->dtype, ak_task_dtype(task), err));
    AK_DO(ak_trial_set_text(&trial->choices, task->choices_text, err));
    AK_DO(ak_trial_set_text(&trial->environment, session->environment, err));
    if (trial->status == AK_TRIAL_OK && trial->median_ms > 0) {
        AK_DO(place_trial(trial, session, err));
        if (task->objective != NULL && trial->status == AK_TRIAL_OK && trial->cost <= 0) {
            return set_cost(trial, session, config, err);
        }
    }
    return AK_OK;
}

ak_status ak_session_wait(ak_result *out, ak_session *session, uint64_t first, size_t count,
                          ak_error *err)
{
    for (;;) {
        ak_status status = ak_pool_wait(out, session->pool, 3600 * AK_SECOND_NS, err);
        if (status != AK_OK || (out->id >= first && out->id - first < count)) {
            return status;
        }
        ak_result_clear(out);
    }
}

ak_status ak_session_check(ak_trial *out, ak_session *session, const ak_config *configs,
                           size_t count, const char *run, ak_error *err)
{
    ak_status status = AK_OK;
    ak_result result = {0};
    uint64_t first = session->next_job;
    for (size_t i = 0; i < count; i++) {
        out[i] = (ak_trial){0};
    }
    for (size_t i = 0; i < count; i++) {
        ak_job job = {.kind = AK_JOB_CHECK, .id = session->next_job++, .config = configs[i]};
        AK_TRY(ak_pool_submit(session->pool, &job, err));
    }
    for (size_t i = 0; i < count; i++) {
        AK_TRY(ak_session_wait(&result, session, first, count, err));
        size_t at = (size_t)(result.id - first);
        assert(at < count);
        out[at] = result.trial;
        result.trial = (ak_trial){0};
        AK_TRY(ak_session_sanitize(&out[at], session, &configs[at], err));
        AK_TRY(ak_session_complete_trial(&out[at], session, &configs[at], run, err));
        ak_result_clear(&result);
    }
out:
    ak_result_clear(&result);
    for (size_t i = 0; status != AK_OK && status != AK_CANCELLED && i < count; i++) {
        ak_trial_clear(&out[i]);
    }
    return status;
}
