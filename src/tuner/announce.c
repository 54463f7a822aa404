/* announce.c: sends the events of a run (docs/formats.md lists them). */

#include "backend/sandbox.h"
#include "tuner/run.h"
#include "tuner/warning.h"

static double best_tflops(const ak_tuning *r)
{
    return r->best_ms > 0 ? r->task->shape.flops / r->best_ms * 1e-9 : 0;
}

void ak_tuning_warn(const ak_tuning *r, const char *text)
{
    ak_event_send(&r->events, "warning", json_pack("{s:s}", "text", text));
}

void ak_tuning_keep_warning(ak_tuning *r, const char *text)
{
    (void)ak_warn_keep(r->result, r->archive, r->id, text);
    ak_tuning_warn(r, text);
}

void ak_tuning_announce_phase(const ak_tuning *r, const char *name)
{
    ak_event_send(&r->events, "phase", json_pack("{s:s}", "name", name));
}

/* Adds the value of a cost under the task's objective. Adds nothing if the objective is the time or
   the cost is unknown. */
static bool set_value(json_t *fields, const char *key, const ak_tuning *r, double cost)
{
    const ak_objective *objective = r->task->objective;
    return objective == NULL || !(cost > 0) ||
           ak_json_set_real(fields, key, ak_objective_value(objective, cost));
}

static bool set_objective(json_t *fields, const ak_tuning *r)
{
    const ak_objective *objective = r->task->objective;
    return objective == NULL ||
           (ak_json_set_texts(fields, "objective", ak_objective_text(objective), "unit",
                              ak_objective_unit(objective)) &&
            set_value(fields, "best_value", r, r->best_cost));
}

static void announce_start(const ak_tuning *r)
{
    const ak_task *task = r->task;
    const ak_ceilings *c = &r->session.ceilings;
    json_t *fields = json_object();
    ak_placement limits;
    ak_session_place(&limits, &r->session, 0);
    (void)(ak_json_set_texts(fields, "kernel", task->problem->name, "implementation",
                             task->implementation->name, "device", task->device, "devices",
                             task->devices, "reason", task->reason, "size", task->size_text,
                             "dtype", ak_task_dtype(task), "choices", task->choices_text) &&
           set_objective(fields, r) &&
           ak_json_set_texts(fields, "checked_against", ak_task_reference(task), "strategy",
                             r->asked) &&
           ak_json_set(fields, "strategy_is_default", json_boolean(r->options->strategy == NULL)) &&
           ak_json_set_text(fields, "model", r->advisor.model.name) &&
           (r->advisor.llm == NULL || ak_llm_replays(r->advisor.llm) ||
            (ak_json_set_texts(fields, "model_share", ak_share_text(r->advisor.options.share),
                               "model_told", ak_share_told(r->advisor.options.share, task)))) &&
           ak_json_set_real(fields, "valid", (double)ak_space_count(task->space)) &&
           ak_json_set_real(fields, "cartesian", ak_space_cartesian(task->space)) &&
           ak_json_set_count(fields, "evaluations", r->evaluations) &&
           ak_json_set_count(fields, "resumed", r->result->resumed) &&
           ak_json_set_count(fields, "outdated", r->outdated) &&
           ak_json_set_count(fields, "elsewhere", r->elsewhere) &&
           ak_json_set_real(fields, "best_ms", r->best_ms) &&
           ak_json_set_real(fields, "best_tflops", best_tflops(r)) &&
           ak_json_set_count(fields, "seed", task->seed) &&
           ak_json_set_real(fields, "seconds", r->options->seconds) &&
           ak_json_set_real(fields, "flops", task->shape.flops) &&
           ak_json_set_real(fields, "bytes", task->shape.traffic) &&
           ak_json_set_text(fields, "bound", limits.memory_bound ? "memory" : "compute") &&
           ak_json_set_real(fields, "peak_tflops", c->peak_tflops) &&
           ak_json_set_real(fields, "copy_gbs", c->copy_gbs) &&
           ak_json_set_real(fields, "triad_gbs", c->triad_gbs));
    ak_event_send(&r->events, "start", fields);
}

static void announce_like(const ak_tuning *r)
{
    json_t *fields = json_object();
    if (r->like != NULL && ak_json_set_text(fields, "text", ak_like_text(r->like))) {
        ak_event_send(&r->events, "like", fields);
    } else {
        json_decref(fields);
    }
}

/* Warns of what is ignored (ak_task_ignored) and, unless a recording replaces the machine, if this
   machine is busy or lacks a layer of the sandbox, if parameters are not used (ak_task_unused), and
   if a language model is configured that the strategy does not ask. */
static void warn_of_setting(ak_tuning *r)
{
    if (ak_task_ignored(r->task) != NULL) {
        ak_tuning_warn(r, ak_task_ignored(r->task));
    }
    if (ak_pool_recalls(r->session.pool)) {
        return; /* a recording replaces the machine, so the state of the machine does not matter */
    }
    ak_warnings busy = {0};
    r->pressure = ak_pressure_look();
    if (ak_warn_start(&busy, r->pressure, NULL) == AK_OK && busy.count > 0) {
        ak_tuning_warn(r, busy.texts[0]);
        if (ak_warn_began(&busy, r->pressure, NULL) == AK_OK) {
            r->began = ak_warn_keep(r->result, r->archive, r->id, busy.texts[1]);
        }
    }
    ak_warnings_free(&busy);
    const char *missing = ak_sandbox_missing(ak_sandbox_landlock_abi() > 0, ak_sandbox_seccomp());
    if (missing != NULL) {
        ak_tuning_warn(r, missing);
    }
    if (ak_task_unused(r->task) != NULL) {
        ak_tuning_warn(r, ak_task_unused(r->task));
    }
    if (r->options->llm != NULL && r->ops->await == NULL) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "the strategy %s asks no language model; the configured one is not used",
                       r->ops->name);
        ak_tuning_warn(r, text);
    }
}

void ak_tuning_announce(ak_tuning *r)
{
    announce_start(r);
    ak_event_send(&r->events, "prepared", ak_pool_preparation(r->session.pool));
    announce_like(r);
    warn_of_setting(r);
}

void ak_tuning_announce_library(const ak_tuning *r, const ak_compared *library)
{
    json_t *fields = json_object();
    (void)(ak_json_set_texts(fields, "name", library->name, "version", library->version) &&
           ak_json_set_real(fields, "ms", library->median_ms) &&
           set_value(fields, "value", r, library->cost) && set_objective(fields, r) &&
           ak_json_set_real(fields, "tflops", library->tflops) &&
           ak_json_set_real(fields, "gbs", library->gbs));
    ak_event_send(&r->events, "baseline", fields);
}

void ak_tuning_announce_trial(const ak_tuning *r, const ak_trial *trial, bool is_default)
{
    json_t *fields = NULL;
    ak_trial shown = *trial;  /* borrows the strings of *trial */
    if (r->archive != NULL) { /* a trial that waits for the archive has no id yet */
        shown.id = ak_archive_trial_id(r->archive, trial->id);
        shown.parent = ak_archive_trial_id(r->archive, trial->parent);
    }
    if (r->events.sink == NULL || ak_trial_to_json(&fields, &shown, NULL) != AK_OK) {
        return;
    }
    (void)(ak_json_set(fields, "default", json_boolean(is_default)) &&
           ak_json_set_count(fields, "n", r->result->evaluated) &&
           ak_json_set_count(fields, "evaluations", r->evaluations) &&
           set_value(fields, "value", r, ak_trial_cost(trial)) && set_objective(fields, r) &&
           set_value(fields, "default_value", r, r->default_cost) &&
           ak_json_set_real(fields, "best_ms", r->best_ms) &&
           ak_json_set_real(fields, "default_ms", r->default_ms) &&
           ak_json_set_real(fields, "baseline_ms", r->library_ms) &&
           ak_json_set_real(fields, "best_tflops", best_tflops(r)));
    ak_event_send(&r->events, "trial", fields);
}
