/*
 * format_t4.c: reads and writes T4 result files, the exchange format of the auto-tuning community.
 *
 * A file is a list of results of one task. T4 has no members that describe the task, so the task is
 * written to the metadata and read from there. If the metadata name no kernel, as in files of other
 * programs, the name of the file becomes the name of the kernel.
 */

#include "archive/config_text.h"
#include "formats/draft.h"
#include "formats/kernel_tuner.h"

/* The word that is written as "invalidity" for each status. ak_t4_status has those that are
   read. */
static const char *const words[AK_TRIAL_STATUS_COUNT] = {
    [AK_TRIAL_OK] = "correct",
    [AK_TRIAL_INVALID] = "constraints",
    [AK_TRIAL_COMPILE_ERROR] = "compile",
    [AK_TRIAL_LAUNCH_ERROR] = "runtime",
    [AK_TRIAL_WRONG_RESULT] = "correctness",
    [AK_TRIAL_CRASHED] = "runtime",
    [AK_TRIAL_TIMED_OUT] = "timeout",
    [AK_TRIAL_OUT_OF_MEMORY] = "runtime",
    [AK_TRIAL_REJECTED] = "constraints",
};

/* Measurements that are added to a successful result. T4 defines neither their names nor their
   units, so one of them is read only if its name and unit are those that are written. */
static const struct {
    const char *name, *unit;
    size_t offset;
} derived[] = {
    {"tflops", "TFLOP/s", offsetof(ak_trial, tflops)},
    {"gbs", "GB/s", offsetof(ak_trial, gbs)},
    {"efficiency", "of the roofline", offsetof(ak_trial, efficiency)},
};
#define DERIVED_COUNT (AK_COUNT(derived))

static double *derived_value(const ak_trial *trial, size_t i)
{
    return (double *)(void *)((char *)(uintptr_t)trial + derived[i].offset);
}

/* ---- writing --------------------------------------------------------------------------------- */

static json_t *measurements_of(const ak_trial *trial, const char *objective)
{
    json_t *array = json_array();
    bool good = array != NULL;
    if (good && trial->status == AK_TRIAL_OK) {
        good = ak_json_append(array, json_pack("{s:s, s:f, s:s}", "name", "time", "value",
                                               trial->median_ms, "unit", "ms"));
        if (good && strcmp(objective, "time") != 0) {
            good = ak_json_append(
                array, json_pack("{s:s, s:f}", "name", objective, "value", ak_trial_value(trial)));
        }
        for (size_t i = 0; i < DERIVED_COUNT && good; i++) {
            double value = *derived_value(trial, i);
            good = value <= 0 ||
                   ak_json_append(array, json_pack("{s:s, s:f, s:s}", "name", derived[i].name,
                                                   "value", value, "unit", derived[i].unit));
        }
    }
    return ak_json_whole(array, good);
}

/* Makes the result of a trial and takes over `config`. Returns NULL if memory ran out. */
static json_t *result_of(const ak_trial *trial, json_t *config)
{
    bool ok = trial->status == AK_TRIAL_OK;
    char name[AK_OBJECTIVE_NAME_BYTES];
    const char *objective =
        ok && !(trial->cost > 0) ? "time" : ak_draft_objective_of(name, trial->choices);
    json_t *times =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:o}", "compilation", ak_format_ms(trial->compile_ns),
                  "framework", ak_format_ms(trial->overhead_ns), "search_algorithm",
                  ak_format_ms(trial->propose_ns), "validation", ak_format_ms(trial->check_ns),
                  "benchmark", ak_format_ms(trial->measure_ns), "runtimes",
                  ak_json_reals(trial->samples_ms, trial->sample_count));
    return json_pack("{s:s?, s:o, s:o, s:s, s:i, s:o, s:[s]}", "timestamp", trial->timestamp,
                     "configuration", config, "times", times, "invalidity", words[trial->status],
                     "correctness", ok ? 1 : 0, "measurements", measurements_of(trial, objective),
                     "objectives", objective);
}

static ak_status print_head(ak_buf *out, const ak_trial *task, ak_error *err)
{
    json_auto_t *metadata = json_object();
    bool good = metadata != NULL && ak_json_set_text(metadata, "timeunit", "milliseconds") &&
                ak_json_set_text(metadata, "generator", "autokernel " AK_VERSION) &&
                ak_json_set_text(metadata, "kernel_name", task->kernel) &&
                ak_format_set_texts(metadata, task, ak_task_texts + 1);
    if (good) {
        ak_buf_puts(out, "{\"schema_version\": \"1.0.0\",\n\"metadata\": ");
        ak_json_print(out, metadata, false);
        ak_buf_puts(out, ",\n\"results\": [");
    }
    return ak_stored(good, err);
}

static ak_status write_one(void *context, const ak_trial *trial, ak_error *err)
{
    ak_entry_writer *writer = context;
    json_t *config;
    AK_DO(ak_format_check_task(&writer->first, "T4", trial, err));
    if (writer->count == 0) {
        AK_DO(print_head(writer->out, trial, err));
    }
    AK_DO(ak_config_of_trial(&config, trial, err));
    return ak_format_add_entry(writer, result_of(trial, config), err);
}

static ak_status write_t4(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                          ak_error *err)
{
    ak_entry_writer writer = {.out = out};
    ak_status status = ak_archive_take(archive, filter, write_one, &writer, err);
    if (status == AK_OK && writer.count == 0) {
        status = ak_fail(err, AK_NOT_FOUND,
                         "no trial matches, and a T4 file needs at least one: 'autokernel history' "
                         "lists the trials");
    }
    ak_buf_puts(out, "\n]}\n");
    ak_trial_clear(&writer.first);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What a file says about all its results. */
typedef struct t4_head {
    ak_trial *task;
    double unit_ms; /* milliseconds in the unit of times that name none */
} t4_head;

static ak_status take_task(t4_head *head, const json_t *file, const char *path, ak_error *err)
{
    json_t *metadata = NULL;
    const char *kernel;
    ak_trial *task = head->task;
    AK_DO(ak_json_object_or_null(&metadata, file, "metadata", path, err));
    AK_DO(ak_draft_unit(&head->unit_ms, metadata, "timeunit", path, err));
    AK_DO(ak_json_string_or(&kernel, metadata, "kernel_name", "", path, err));
    AK_DO(kernel[0] == 0 ? ak_t4_name_of_file(&task->kernel, path, err)
                         : ak_trial_set_text(&task->kernel, kernel, err));
    return ak_format_take_texts(task, metadata, ak_task_texts + 1, path, err);
}

static void take_derived(ak_trial *trial, const json_t *measurement, const char *name)
{
    const char *unit = ak_json_text_or_null(measurement, "unit");
    double value = ak_json_number_at(measurement, "value");
    for (size_t i = 0; i < DERIVED_COUNT && unit != NULL && value > 0; i++) {
        if (strcmp(derived[i].name, name) == 0 && strcmp(derived[i].unit, unit) == 0) {
            *derived_value(trial, i) = value;
        }
    }
}

/* Reads the times of a trial's stages and its "time"; if the file has runtimes, their median
   replaces that. If the trial was successful, also reads the derived measurements. */
static ak_status take_time(ak_trial *trial, const json_t *result, double unit_ms, const char *where,
                           ak_error *err)
{
    json_t *measurements = NULL, *times = NULL, *runtimes = NULL;
    AK_DO(ak_json_array_or_null(&measurements, result, "measurements", where, err));
    AK_DO(ak_json_object_or_null(&times, result, "times", where, err));
    AK_DO(ak_json_array_or_null(&runtimes, times, "runtimes", where, err));
    trial->compile_ns = ak_format_ns(unit_ms * ak_json_number_at(times, "compilation"));
    trial->check_ns = ak_format_ns(unit_ms * ak_json_number_at(times, "validation"));
    trial->measure_ns = ak_format_ns(unit_ms * ak_json_number_at(times, "benchmark"));
    trial->propose_ns = ak_format_ns(unit_ms * ak_json_number_at(times, "search_algorithm"));
    trial->overhead_ns = ak_format_ns(unit_ms * ak_json_number_at(times, "framework"));
    AK_EACH(one, measurements) {
        const char *name = ak_json_text_or_null(one, "name");
        if (name != NULL && strcmp(name, "time") == 0) {
            double ms = unit_ms;
            AK_DO(ak_draft_unit(&ms, one, "unit", where, err));
            trial->median_ms = ms * ak_json_number_at(one, "value");
            AK_DO(ak_draft_check_time(trial->median_ms, runtimes, unit_ms, where, err));
        } else if (name != NULL && trial->status == AK_TRIAL_OK) {
            take_derived(trial, one, name);
        }
    }
    if (runtimes != NULL) {
        AK_DO(ak_trial_samples(trial, runtimes, "runtimes", where, err));
    }
    for (size_t i = 0; i < trial->sample_count; i++) {
        trial->samples_ms[i] *= unit_ms;
    }
    ak_format_summarise(trial);
    return AK_OK;
}

static ak_status read_result(ak_trial *trial, const json_t *result, const void *context,
                             const char *where, ak_error *err)
{
    json_t *config = NULL;
    const t4_head *head = context;
    AK_DO(json_is_object(result) ? ak_trial_copy(trial, head->task, err)
                                 : ak_fail(err, AK_INVALID, "%s must be an object", where));
    AK_DO(ak_json_object(&config, result, "configuration", where, err));
    AK_DO(ak_config_text_from_json(&trial->config, config, NULL, where, err));
    AK_DO(ak_t4_status(&trial->status, result, where, err));
    if (trial->status != AK_TRIAL_OK) {
        AK_DO(ak_trial_set_text(&trial->reason, ak_json_text_at(result, "invalidity"), err));
    }
    AK_DO(take_time(trial, result, head->unit_ms, where, err));
    AK_FAIL_IF(trial->status == AK_TRIAL_OK && trial->median_ms <= 0, err, AK_INVALID,
               "%s is correct, but its time is missing or 0", where);
    return ak_trial_set_text(&trial->timestamp, ak_json_text_or_null(result, "timestamp"), err);
}

static ak_status read_t4(ak_import *import, const char *text, size_t length, const char *path,
                         ak_error *err)
{
    json_auto_t *file = NULL;
    json_t *results = NULL;
    AK_AT_END(ak_trial_clear) ak_trial task = {0};
    t4_head head = {.task = &task, .unit_ms = 1};
    AK_DO(ak_python_json_parse(&file, text, length, path, err));
    AK_DO(ak_json_array_or_null(&results, file, "results", path, err));
    AK_FAIL_IF(results == NULL, err, AK_INVALID,
               "%s: \"results\" is missing: this is not a T4 file", path);
    AK_DO(take_task(&head, file, path, err));
    return ak_import_each(import, results, &(ak_entries){path, "result", read_result, &head, false},
                          err);
}

const ak_format_ops ak_format_t4 = {
    .name = "t4",
    .description = "T4 results, the exchange format of auto-tuners: one task",
    .write = write_t4,
    .read = read_t4,
    .mark = {"results", JSON_ARRAY},
};
