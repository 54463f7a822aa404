/*
 * recording_t4.c: reads T4 results as recordings. T4 has no member for the time that benchmarking
 * took, though some writers add one. If a file has no such member, the runtimes of the launches are
 * added to the cost instead; they are most of that time.
 */
#include "formats/draft.h"

#include <string.h>

static const char *const stages[] = {"compilation",      "benchmark",  "framework",
                                     "search_algorithm", "validation", NULL};

const ak_draft_word ak_t4_words[] = {{"correct", AK_TRIAL_OK},
                                     {"constraints", AK_TRIAL_INVALID},
                                     {"compile", AK_TRIAL_COMPILE_ERROR},
                                     {"runtime", AK_TRIAL_LAUNCH_ERROR},
                                     {"correctness", AK_TRIAL_WRONG_RESULT},
                                     {"timeout", AK_TRIAL_TIMED_OUT},
                                     {NULL, AK_TRIAL_OK}};

static bool recognise(const json_t *file)
{
    return json_is_array(json_object_get(file, "results"));
}

static ak_status take_seconds(ak_record *record, const json_t *result, const char *where,
                              ak_error *err)
{
    json_t *times = NULL, *runtimes = NULL;
    AK_DO(ak_json_object_or_null(&times, result, "times", where, err));
    AK_DO(ak_json_array_or_null(&runtimes, times, "runtimes", where, err));
    double ms = ak_draft_sum(times, stages);
    if (!json_is_number(json_object_get(times, "benchmark"))) {
        for (size_t i = 0; i < json_array_size(runtimes); i++) {
            double one = json_number_value(json_array_get(runtimes, i));
            ms += one > 0 ? one : 0;
        }
    }
    record->seconds = ms / 1000.0;
    return AK_OK;
}

static ak_status take_value(ak_record *record, const ak_draft *draft, const json_t *result,
                            const char *where, ak_error *err)
{
    json_t *measurements = NULL;
    bool failed = false;
    AK_DO(ak_json_array_or_null(&measurements, result, "measurements", where, err));
    for (size_t i = 0; i < json_array_size(measurements); i++) {
        const json_t *one = json_array_get(measurements, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name != NULL && strcmp(name, draft->objective) == 0) {
            const json_t *value = json_object_get(one, "value");
            record->value = json_number_value(value);
            failed = failed || json_is_null(value); /* Python wrote NaN */
        }
    }
    if (failed && record->status == AK_TRIAL_OK) {
        record->status = AK_TRIAL_LAUNCH_ERROR;
    }
    return AK_OK;
}

/* Reads the "objectives" of the first result that has them; the first of several counts. */
static ak_status take_objective(ak_draft *draft, const json_t *results, ak_error *err)
{
    const char *name = NULL;
    for (size_t i = 0; i < json_array_size(results) && name == NULL; i++) {
        const json_t *list = json_object_get(json_array_get(results, i), "objectives");
        name = json_string_value(json_array_get(list, 0));
    }
    return ak_draft_objective(draft, name == NULL ? "time" : name, err);
}

static ak_status take_head(ak_draft *draft, const json_t *file, ak_error *err)
{
    json_t *metadata = NULL;
    const char *kernel = NULL, *device = NULL, *size = NULL, *where = draft->where;
    AK_DO(ak_json_object_or_null(&metadata, file, "metadata", where, err));
    AK_DO(ak_json_string_or(&kernel, metadata, "kernel_name", "", where, err));
    AK_DO(ak_json_string_or(&device, metadata, "device", "", where, err));
    AK_DO(ak_json_string_or(&size, metadata, "size", "", where, err));
    AK_DO(ak_draft_text(&draft->kernel, kernel, err));
    AK_DO(ak_draft_text(&draft->device, device, err));
    return ak_draft_text(&draft->size, size, err);
}

static ak_status read(ak_draft *draft, const json_t *file, ak_error *err)
{
    const json_t *results = json_object_get(file, "results");
    AK_DO(take_head(draft, file, err));
    AK_DO(take_objective(draft, results, err));
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        char where[512];
        json_t *config = NULL;
        ak_record record = {0};
        (void)snprintf(where, sizeof where, "%.400s: result %zu", draft->where, i + 1);
        AK_DO(json_is_object(result)
                  ? ak_draft_status(&record.status, result, "invalidity", ak_t4_words, where, err)
                  : ak_fail(err, AK_INVALID, "%s must be an object", where));
        AK_DO(ak_json_object_or_null(&config, result, "configuration", where, err));
        if (config == NULL) {
            return ak_fail(err, AK_INVALID, "%s: \"configuration\" is missing", where);
        }
        AK_DO(take_seconds(&record, result, where, err));
        AK_DO(take_value(&record, draft, result, where, err));
        AK_DO(ak_draft_add(draft, config, &record, where, err));
    }
    return AK_OK;
}

const ak_recording_format ak_recording_t4 = {
    .name = "T4 results",
    .recognise = recognise,
    .read = read,
};
