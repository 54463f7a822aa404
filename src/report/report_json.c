/* report_json.c: writes the model as one JSON object; docs/formats.md lists its members. */
#include "report/report.h"

#include "measure/placement.h"

/* Format characters of json_pack: "s?" takes a text or NULL; "o" takes over a value; "O?" takes a
   value or NULL and keeps a reference of its own. */

/* Returns a word for whether and how the run has ended. */
static const char *state_of(const ak_report_model *model)
{
    return model->run.ended != NULL       ? "ended"
           : model->run.imported          ? "imported"
           : model->alive == AK_ALIVE_YES ? "running"
           : model->alive == AK_ALIVE_NO  ? "killed"
                                          : "unknown";
}

static json_t *run_of(const ak_report_model *model)
{
    const ak_run *run = &model->run;
    return json_pack(
        "{s:s, s:s?, s:s?, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s?, s:s?, s:O?, s:O?, s:b, s:s}",
        "id", run->id, "started", run->started, "ended", run->ended, "kernel", run->kernel,
        "implementation", run->implementation, "device", run->device, "size", run->size, "dtype",
        run->dtype, "choices", run->choices, "objective", model->objective, "strategy",
        run->strategy, "environment", run->environment, "asked", model->options,
        "environment_words", model->environment, "kernel_changed", model->changed != NULL, "state",
        state_of(model));
}

/* Returns the default configuration, its status, why it failed, and its time; JSON's null if the
   default is not known. */
static json_t *default_of(const ak_report_model *model)
{
    const ak_trial *failed = model->default_failed, *trial = model->default_trial;
    const char *status = failed != NULL  ? ak_trial_status_text(failed->status)
                         : trial != NULL ? "ok"
                                         : NULL;
    return model->default_config == NULL
               ? json_null()
               : json_pack("{s:s, s:s?, s:s?, s:o}", "config", model->default_config, "status",
                           status, "reason", failed == NULL ? NULL : failed->reason, "ms",
                           ak_json_known(trial == NULL ? 0 : trial->median_ms));
}

static json_t *counts_of(const ak_report_model *model)
{
    const size_t *by_status = ak_report_by_status(model);
    json_t *failed = json_object();
    bool good = failed != NULL;
    for (int i = 0; i < AK_TRIAL_STATUS_COUNT && good; i++) {
        if (i != AK_TRIAL_OK && by_status[i] > 0) {
            good =
                ak_json_set_count(failed, ak_trial_status_text((ak_trial_status)i), by_status[i]);
        }
    }
    return json_pack("{s:I, s:I, s:o, s:I}", "evaluated", (json_int_t)ak_report_tried(model), "ok",
                     (json_int_t)by_status[AK_TRIAL_OK], "failed", ak_json_whole(failed, good),
                     "resumed", (json_int_t)model->resumed);
}

static json_t *baseline_of(const ak_report_model *model)
{
    return model->baseline == NULL
               ? json_null()
               : json_pack("{s:s, s:s?, s:o}", "name", model->baseline, "version",
                           model->baseline_version, "ms", ak_json_known(model->baseline_ms));
}

/* Returns what limits the best configuration, "compute" or "memory"; NULL if it is not known. Its
   trial says so or, if the model has no trial of it, the record of the run. */
static const char *bound_of(const ak_report_model *model)
{
    const ak_trial *trial = model->best.trial;
    return trial != NULL ? trial->bound
                         : ak_json_text_or_null(json_object_get(model->result, "best"), "bound");
}

static json_t *best_of(const ak_report_model *model)
{
    const ak_report_best *best = &model->best;
    const json_t *recorded = best->speedup > 0 ? json_object_get(model->result, "best") : NULL;
    const ak_trial *trial = best->trial;
    if (!best->found) {
        return json_null();
    }
    json_t *author =
        trial == NULL ? json_null()
                      : json_pack("{s:s?, s:s?, s:i, s:o, s:o, s:I}", "strategy", trial->strategy,
                                  "model", trial->model, "generation", trial->generation, "parent",
                                  trial->parent == 0 ? json_null() : json_integer(trial->parent),
                                  "predicted_gain", ak_json_real(trial->predicted_gain),
                                  "evaluation", (json_int_t)best->evaluation);
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s?, s:s?, s:s?, s:s?, s:s, s:o, s:o}", "config",
        best->config, "ms", ak_json_known(best->ms), "ci_ms",
        ak_json_interval(best->low_ms, best->high_ms), "tflops", ak_json_known(best->tflops), "gbs",
        ak_json_known(best->gbs), "efficiency", ak_json_known(best->efficiency), "speedup",
        ak_json_known(best->speedup), "speedup_over",
        best->speedup <= 0        ? NULL
        : model->baseline != NULL ? model->baseline
                                  : "default",
        "verdict", ak_json_text_or_null(recorded, "verdict"), "undecided_because",
        ak_json_text_or_null(recorded, "undecided_because"), "bound", bound_of(model), "measured",
        best->from_finish ? "finish"
        : best->again     ? "again"
                          : "search",
        "trial", trial == NULL ? json_null() : json_integer(trial->id), "proposed_by", author);
}

/* Returns an array of `count` items; NULL if one of them cannot be made. */
static json_t *array_of(const ak_report_model *model, size_t count,
                        json_t *(*item)(const ak_report_model *, size_t))
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&array, item(model, i));
    }
    return array;
}

static json_t *top_item(const ak_report_model *model, size_t i)
{
    const ak_trial *trial = model->ranking[i];
    return json_pack("{s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:s?, s:b, s:b}", "trial",
                     (json_int_t)trial->id, "config", trial->config, "ms",
                     ak_json_known(trial->median_ms), "ci_ms", ak_trial_interval(trial), "tflops",
                     ak_json_known(trial->tflops), "gbs", ak_json_known(trial->gbs), "efficiency",
                     ak_json_known(trial->efficiency), "strategy", trial->strategy, "same_code",
                     trial->same_code != 0, "resumed", ak_report_is_resumed(model, trial));
}

static json_t *failure_item(const ak_report_model *model, size_t i)
{
    const ak_report_failure *failure = &model->failures[i];
    return json_pack("{s:s, s:s, s:I, s:s}", "status", ak_trial_status_text(failure->status),
                     "reason", failure->reason, "count", (json_int_t)failure->count, "config",
                     failure->config);
}

static json_t *step_item(const ak_report_model *model, size_t i)
{
    const ak_report_step *step = &model->steps[i];
    return json_pack("{s:I, s:o, s:s}", "evaluation", (json_int_t)step->evaluation, "ms",
                     ak_json_known(step->trial->median_ms), "config", step->trial->config);
}

static json_t *author_item(const ak_report_model *model, size_t i)
{
    const ak_report_group *author = &model->authors[i];
    return json_pack("{s:s, s:s?, s:I, s:I, s:o}", "strategy", author->name, "model",
                     *author->detail == 0 ? NULL : author->detail, "proposed",
                     (json_int_t)author->trials, "ok", (json_int_t)author->ok, "best_ms",
                     ak_json_known(author->best_ms));
}

static json_t *device_item(const ak_report_model *model, size_t i)
{
    const ak_report_group *device = &model->devices[i];
    double mhz = device->clocked > 0 ? device->mhz / (double)device->clocked : 0;
    return json_pack("{s:s, s:s?, s:I, s:I, s:o, s:o}", "device", device->name, "uuid",
                     *device->detail == 0 ? NULL : device->detail, "trials",
                     (json_int_t)device->trials, "ok", (json_int_t)device->ok, "best_ms",
                     ak_json_known(device->best_ms), "sm_clock_mhz", ak_json_known(mhz));
}

static json_t *value_item(const ak_report_model *model, size_t i)
{
    const ak_report_value *value = &model->values[i];
    return json_pack("{s:s, s:s, s:I, s:I}", "parameter", value->name, "value", value->value, "top",
                     (json_int_t)value->in_top, "all", (json_int_t)value->in_all);
}

static json_t *seconds_of(const ak_report_model *model)
{
    const double rest = ak_report_rest(model);
    return json_pack("{s:o, s:f, s:f, s:f, s:f, s:f, s:o}", "wall", ak_json_known(model->seconds),
                     "propose", model->propose_ns / 1e9, "compile", model->compile_ns / 1e9,
                     "check", model->check_ns / 1e9, "measure", model->measure_ns / 1e9, "overhead",
                     model->overhead_ns / 1e9, "rest", rest < 0 ? json_null() : json_real(rest));
}

/* Returns the number of an evaluation; null for 0. */
static json_t *evaluation(size_t n)
{
    return ak_json_count_or_null((int64_t)n, n > 0);
}

/* Returns the result of a run over many sizes; null for other runs. */
static json_t *sizes_of(const ak_report_model *model)
{
    return json_is_array(json_object_get(model->result, "sizes")) ? json_deep_copy(model->result)
                                                                  : json_null();
}

static json_t *llm_of(const ak_report_model *model)
{
    const json_t *llm = json_object_get(model->result, "llm");
    return json_is_object(llm) ? json_deep_copy(llm) : json_null();
}

/* Returns those members of the result's list `key` that have this type. Readers rely on the type,
   but a record may hold any JSON. */
static json_t *list_of(const ak_report_model *model, const char *key, json_type type)
{
    json_t *list = json_array();
    AK_EACH(one, json_object_get(model->result, key)) {
        if (json_typeof(one) == type) {
            ak_json_add(&list, json_deep_copy(one));
        }
    }
    return list;
}

json_t *ak_report_object(const ak_report_model *model)
{
    size_t top = model->ok_count < AK_REPORT_ROWS_MAX ? model->ok_count : AK_REPORT_ROWS_MAX;
    json_t *report = json_object();
    bool good =
        report != NULL && ak_json_set(report, "schema", json_integer(1)) &&
        ak_json_set(report, "run", run_of(model)) &&
        ak_json_set(report, "trials", counts_of(model)) &&
        ak_json_set(report, "best", best_of(model)) &&
        ak_json_set(report, "default", default_of(model)) &&
        ak_json_set(report, "roofline",
                    model->best.found ? ak_placement_json(&model->best.placement) : json_null()) &&
        ak_json_set(report, "baseline", baseline_of(model)) &&
        ak_json_set(report, "llm", llm_of(model)) &&
        ak_json_set(report, "finish", list_of(model, "contestants", JSON_OBJECT)) &&
        ak_json_set(report, "warnings", list_of(model, "warnings", JSON_STRING)) &&
        (json_object_get(model->result, "sanitizers") == NULL ||
         ak_json_set(report, "sanitizers",
                     json_deep_copy(json_object_get(model->result, "sanitizers")))) &&
        ak_json_set(report, "devices", array_of(model, model->device_count, device_item)) &&
        ak_json_set(report, "fastest", array_of(model, top, top_item)) &&
        ak_json_set_count(report, "top_count", model->top_count) &&
        ak_json_set(report, "values", array_of(model, model->value_count, value_item)) &&
        ak_json_set(report, "impact", ak_importance_to_json(&model->importance)) &&
        ak_json_set(report, "within_5_percent", evaluation(model->within_5)) &&
        ak_json_set(report, "within_1_percent", evaluation(model->within_1)) &&
        ak_json_set(report, "sizes", sizes_of(model)) &&
        ak_json_set(report, "convergence", array_of(model, model->step_count, step_item)) &&
        ak_json_set(report, "failures", array_of(model, model->failure_count, failure_item)) &&
        ak_json_set(report, "seconds", seconds_of(model)) &&
        ak_json_set(report, "proposers", array_of(model, model->author_count, author_item)) &&
        ak_json_set_text(report, "command", model->command) &&
        ak_json_set_text(report, "command_beside", model->missing) &&
        ak_json_set_text(report, "autokernel", AK_VERSION);
    return ak_json_whole(report, good);
}

static ak_status render(ak_buf *out, const ak_report_model *model, size_t width, ak_error *err)
{
    (void)width;
    json_auto_t *report = ak_report_object(model);
    AK_DO(ak_made(report, err));
    ak_json_print(out, report, true);
    ak_buf_putc(out, '\n');
    return ak_buf_status(out, err);
}

const ak_report_ops ak_report_json = {.name = "json", .render = render};
