#include "tuner/result.h"

#include "archive/archive.h"
#include "base/value_json.h"
#include "measure/placement.h"
#include "measure/verdict.h"
#include "tuner/side_by_side.h"
#include "tuner/warning.h"

/* Returns the canonical text of a configuration as an object with typed values; as a string if the
   space does not have it, and as JSON's null if `text` is NULL. */
static json_t *config_json(const char *text, const ak_space *space)
{
    ak_config config;
    if (text == NULL) {
        return json_null();
    }
    return ak_config_parse(&config, space, text, NULL) != AK_OK ? json_string(text)
                                                                : ak_config_json(space, &config);
}

static json_t *interval(double low, double high)
{
    return json_pack("[f,f]", low, high);
}

ak_status ak_trial_json(char **out_text, const ak_trial *trial, ak_error *err)
{
    json_auto_t *object = NULL;
    AK_DO(ak_trial_to_json(&object, trial, err));
    return ak_json_text(out_text, object, err);
}

/* Returns the text of a verdict, or JSON's null if there is none. */
static json_t *verdict_json(ak_speed_verdict verdict)
{
    return verdict == AK_SPEED_NONE ? json_null() : json_string(ak_speed_verdict_text(verdict));
}

static json_t *doubt_json(ak_speed_doubt doubt)
{
    return doubt == AK_DOUBT_NONE ? json_null() : json_string(ak_speed_doubt_text(doubt));
}

/* Returns the interval of a ratio: JSON's null if the ratio has none, as that of recorded times,
   and [0, 0] if the ratio itself is unknown (0). */
static json_t *ratio_interval(double ratio, double low, double high)
{
    return ratio > 0 && !(high > 0) ? json_null() : interval(low, high);
}

json_t *ak_speed_json(const ak_speed *speed)
{
    return !(speed->ratio > 0) ? json_null()
                               : json_pack("{s:f,s:o,s:o,s:o}", "ratio", speed->ratio, "ratio_ci",
                                           ratio_interval(speed->ratio, speed->low, speed->high),
                                           "verdict", verdict_json(speed->verdict),
                                           "undecided_because", doubt_json(speed->doubt));
}

static json_t *pressure_json(double part)
{
    return part < 0 ? json_null() : json_real(part);
}

json_t *ak_noise_json(const ak_noise *noise)
{
    const ak_speed *control = &noise->control;
    json_t *pressure = json_object(), *object = json_object();
    bool good = ak_json_set(pressure, "before", pressure_json(noise->pressure_before)) &&
                ak_json_set(pressure, "during", pressure_json(noise->pressure)) &&
                ak_json_set(pressure, "after", pressure_json(noise->pressure_after));
    good = ak_json_set(object, "pressure", pressure) && good;
    good = good && ak_json_set(object, "control", ak_speed_json(control)) &&
           ak_json_set(object, "deviation",
                       control->ratio > 0 ? json_real(ak_verdict_deviation(control->ratio))
                                          : json_null()) &&
           ak_json_set_count(object, "rounds", noise->rounds) &&
           ak_json_set(object, "disturbed",
                       noise->waits_known ? json_integer((json_int_t)noise->disturbed)
                                          : json_null()) &&
           ak_json_set(object, "extended", json_boolean(noise->extended)) &&
           ak_json_set_count(object, "candidates", noise->candidates) &&
           ak_json_set_count(object, "unseen", noise->unseen) &&
           ak_json_set_real(object, "seconds", noise->seconds);
    return ak_json_whole(object, good);
}

/* Returns the verdict on a candidate; JSON's null if it has none or the index is out of range. */
static json_t *verdict_of(const ak_compared *list, size_t count, size_t which)
{
    return which < count ? verdict_json(list[which].verdict) : json_null();
}

/* Adds the energy, if it was measured, and the cost and the value, if there is a cost: without an
   objective other than the time there is none. */
static bool set_costs(json_t *object, double joules, double cost, double low, double high,
                      const ak_task *task)
{
    return (!(joules > 0) || ak_json_set_real(object, "joules", joules)) &&
           (!(cost > 0) ||
            (ak_json_set_real(object, "value", ak_objective_value(task->objective, cost)) &&
             ak_json_set_real(object, "cost", cost) && ak_json_set_real(object, "cost_low", low) &&
             ak_json_set_real(object, "cost_high", high)));
}

static json_t *candidate_json(const ak_compared *c, const ak_task *task)
{
    json_t *object = json_object();
    const ak_task *own = c->task == NULL ? task : c->task;
    bool good =
        ak_json_set_texts(object, "name", c->name, "version", c->version, "implementation",
                          c->config == NULL ? NULL : own->implementation->name) &&
        ak_json_set(object, "config", config_json(c->config, own->space)) &&
        ak_json_set_texts(object, "library", c->library, "reason", c->reason) &&
        ak_json_set_known(object, "ms", c->median_ms) &&
        ak_json_set(object, "ci_ms", interval(c->ci_low_ms, c->ci_high_ms)) &&
        ak_json_set_real(object, "tflops", c->tflops) && ak_json_set_real(object, "gbs", c->gbs) &&
        ak_json_set_real(object, "efficiency", c->efficiency) &&
        ak_json_set_real(object, "ratio", c->ratio) &&
        ak_json_set(object, "ratio_ci", ratio_interval(c->ratio, c->ratio_low, c->ratio_high)) &&
        ak_json_set(object, "tie", json_boolean(c->tie)) &&
        ak_json_set(object, "verdict", verdict_json(c->verdict)) &&
        ak_json_set(object, "undecided_because", doubt_json(c->doubt)) &&
        ak_json_set(object, "over_default", ak_speed_json(&c->over_default)) &&
        ak_json_set_known(object, "sm_clock_mhz", c->sm_clock_mhz) &&
        ak_json_set_known(object, "memory_clock_mhz", c->memory_clock_mhz) &&
        ak_json_set_known(object, "power_watts", c->power_watts) &&
        ak_json_set_known(object, "temperature_celsius", c->temperature_celsius) &&
        ak_json_set_text(object, "throttle", c->throttle) &&
        ak_json_set_known(object, "utilisation", c->utilisation) &&
        ak_json_set_texts(object, "overlap", c->overlap, "note", c->note) &&
        set_costs(object, c->joules, c->cost, c->cost_low, c->cost_high, task);
    return ak_json_whole(object, good);
}

/* Returns the name of a candidate; JSON's null if the index is out of range. */
static json_t *name_of(const ak_compared *list, size_t count, size_t which)
{
    return which < count ? json_string(list[which].name) : json_null();
}

static json_t *candidates_json(const ak_compared *list, size_t count, const ak_task *task)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&array, candidate_json(&list[i], task));
    }
    return array;
}

static bool set_task(json_t *object, const ak_task *task)
{
    return ak_json_set_texts(
               object, "kernel", task->problem->name, "implementation", task->implementation->name,
               "device", task->device, "devices", task->devices, "size", task->size_text, "dtype",
               ak_task_dtype(task), "choices", task->choices_text, "objective",
               ak_objective_text(task->objective), "checked_against", ak_task_reference(task)) &&
           ak_json_set_count(object, "seed", task->seed);
}

/* Returns what the speedup of the best is relative to; NULL if there is no speedup. */
static const char *speedup_over(const ak_tune_result *result)
{
    return !(result->speedup > 0)                       ? NULL
           : result->baseline < result->candidate_count ? result->candidates[result->baseline].name
                                                        : "default";
}

/* Returns the interval of the best configuration's time, from the rounds that measured it again or
   else from its trial's samples (ak_trial_interval). */
static json_t *best_interval(const ak_tune_result *result)
{
    const ak_trial *best = &result->best;
    return result->candidate_count > 0 || result->best_again
               ? interval(best->ci_low_ms, best->ci_high_ms)
               : ak_trial_interval(best);
}

static json_t *best_json(const ak_tune_result *result, const ak_task *task)
{
    static const ak_compared none;
    const ak_trial *best = &result->best;
    if (!result->found) {
        return json_null();
    }
    /* the candidate whose verdict in the finish is that on `speedup` */
    const ak_compared *decided = result->speedup > 0 && result->tuned < result->candidate_count
                                     ? &result->candidates[result->tuned]
                                     : &none;
    json_t *object = json_object();
    bool good = ak_json_set(object, "config", config_json(best->config, task->space)) &&
                ak_json_set_real(object, "ms", best->median_ms) &&
                ak_json_set(object, "ci_ms", best_interval(result)) &&
                ak_json_set_real(object, "tflops", best->tflops) &&
                ak_json_set_real(object, "gbs", best->gbs) &&
                ak_json_set_real(object, "efficiency", best->efficiency) &&
                ak_json_set_text(object, "bound", best->bound) &&
                ak_json_set_known(object, "speedup", result->speedup) &&
                ak_json_set_text(object, "speedup_over", speedup_over(result)) &&
                ak_json_set(object, "verdict", verdict_json(decided->verdict)) &&
                ak_json_set(object, "undecided_because", doubt_json(decided->doubt)) &&
                ak_json_set(object, "trial", json_integer(best->id)) &&
                ak_json_set_text(object, "measured",
                                 result->candidate_count > 0 ? "finish"
                                 : result->best_again        ? "again"
                                                             : "search") &&
                set_costs(object, best->joules, best->cost, best->cost_low, best->cost_high, task);
    return ak_json_whole(object, good);
}

/* Returns the configurations that the search measured again. */
static json_t *again_json(const ak_tune_result *result, const ak_task *task)
{
    json_t *array = json_array();
    for (size_t i = 0; i < result->again_count; i++) {
        const ak_compared *c = &result->again[i];
        json_t *object = json_object();
        const bool good = ak_json_set(object, "config", config_json(c->config, task->space)) &&
                          ak_json_set_real(object, "ms", c->median_ms) &&
                          ak_json_set(object, "ci_ms", interval(c->ci_low_ms, c->ci_high_ms)) &&
                          set_costs(object, c->joules, c->cost, c->cost_low, c->cost_high, task);
        ak_json_add(&array, ak_json_whole(object, good));
    }
    return array;
}

static json_t *baseline_json(const ak_tune_result *result)
{
    if (result->baseline >= result->candidate_count) {
        return json_null();
    }
    const ak_compared *c = &result->candidates[result->baseline];
    return json_pack("{s:s,s:s?,s:f,s:[f,f]}", "name", c->name, "version", c->version, "ms",
                     c->median_ms, "ci_ms", c->ci_low_ms, c->ci_high_ms);
}

json_t *ak_llm_use_json(const ak_llm_use *use)
{
    if (use->model == NULL) {
        return json_null();
    }
    json_t *object = json_object();
    bool known = use->calls == 0 || use->calls > use->uncounted;
    bool good =
        ak_json_set_text(object, "model", use->model) &&
        ak_json_set_count(object, "calls", use->calls) &&
        ak_json_set_count(object, "failed", use->failed) &&
        ak_json_set(object, "input_tokens", ak_json_count_or_null(use->input_tokens, known)) &&
        ak_json_set(object, "output_tokens", ak_json_count_or_null(use->output_tokens, known)) &&
        ak_json_set_count(object, "uncounted", use->uncounted) &&
        ak_json_set(object, "cost_usd", use->priced ? json_real(use->cost_usd) : json_null());
    return ak_json_whole(object, good);
}

ak_status ak_tune_result_json(char **out_text, const ak_tune_result *result, const ak_task *task,
                              ak_error *err)
{
    json_t *object = json_object();
    json_auto_t *failed = json_object();
    bool good = true;
    for (int i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        if (i != AK_TRIAL_OK) {
            good = good && ak_json_set_count(failed, ak_trial_status_text((ak_trial_status)i),
                                             result->failed[i]);
        }
    }
    good =
        good && set_task(object, task) &&
        ak_json_set_count(object, "evaluated", result->evaluated) &&
        ak_json_set_count(object, "resumed", result->resumed) &&
        ak_json_set(object, "failed", json_incref(failed)) &&
        ak_json_set_real(object, "seconds", result->seconds) &&
        ak_json_set_text(object, "stopped_by", result->stopped_by) &&
        ak_json_set(object, "best", best_json(result, task)) &&
        ak_json_set(object, "roofline",
                    result->found ? ak_placement_json(&result->placement) : json_null()) &&
        ak_json_set(object, "baseline", baseline_json(result)) &&
        ak_json_set(object, "contestants",
                    candidates_json(result->candidates, result->candidate_count, task)) &&
        ak_json_set(object, "again", again_json(result, task)) &&
        ak_json_set(object, "reference",
                    name_of(result->candidates, result->candidate_count, result->reference)) &&
        ak_json_set(object, "verdict",
                    verdict_of(result->candidates, result->candidate_count, result->tuned)) &&
        ak_json_set_text(object, "summary", result->summary) &&
        ak_json_set(object, "noise",
                    result->candidate_count > 0 ? ak_noise_json(&result->noise) : json_null()) &&
        ak_json_set(object, "warnings",
                    ak_json_texts((const char *const *)result->warnings, result->warning_count)) &&
        (result->sanitizers == NULL ||
         ak_json_set_text(object, "sanitizers", result->sanitizers)) &&
        ak_json_set(object, "llm", ak_llm_use_json(&result->llm)) &&
        ak_json_set_text(object, "run", result->run);
    return ak_json_give_text(out_text, object, good, err);
}

ak_status ak_comparison_json(char **out_text, const ak_comparison *comparison, const ak_task *task,
                             ak_error *err)
{
    json_t *object = json_object();
    bool good =
        set_task(object, task) &&
        ak_json_set(object, "roofline", ak_placement_json(&comparison->placement)) &&
        ak_json_set(object, "contestants",
                    candidates_json(comparison->candidates, comparison->count, task)) &&
        ak_json_set(object, "reference",
                    name_of(comparison->candidates, comparison->count, comparison->reference)) &&
        ak_json_set_text(object, "summary", comparison->summary) &&
        ak_json_set(object, "noise", ak_noise_json(&comparison->noise)) &&
        ak_json_set(
            object, "warnings",
            ak_json_texts((const char *const *)comparison->warnings, comparison->warning_count));
    return ak_json_give_text(out_text, object, good, err);
}

void ak_tune_result_clear(ak_tune_result *result)
{
    ak_warnings_free(&(ak_warnings){.texts = result->warnings, .count = result->warning_count});
    ak_free(result->sanitizers);
    ak_compared_free(result->candidates, result->candidate_count);
    ak_compared_free(result->again, result->again_count);
    AK_FREE_ALL(result->run, result->summary, result->llm.model);
    ak_trial_clear(&result->best);
    *result = (ak_tune_result){0};
}

void ak_comparison_clear(ak_comparison *comparison)
{
    ak_warnings_free(
        &(ak_warnings){.texts = comparison->warnings, .count = comparison->warning_count});
    ak_compared_free(comparison->candidates, comparison->count);
    ak_free(comparison->summary);
    *comparison = (ak_comparison){0};
}
