/*
 * read_t4.c: T4 results as recordings. T4 has no place for the time that benchmarking took, though
 * some writers add one; without it the launches themselves are counted, which is most of it.
 */
#include "recording/draft.h"

#include <string.h>

static const char *const stages[] = {"compilation",      "benchmark",  "framework",
                                     "search_algorithm", "validation", NULL};

static const ak_draft_word words[] = {{"correct", AK_TRIAL_OK},
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
    ak_status status = ak_json_object_or_null(&times, result, "times", where, err);
    if (status == AK_OK) {
        status = ak_json_array_or_null(&runtimes, times, "runtimes", where, err);
    }
    double ms = ak_draft_sum(times, stages);
    if (!json_is_number(json_object_get(times, "benchmark"))) {
        for (size_t i = 0; i < json_array_size(runtimes); i++) {
            double one = json_number_value(json_array_get(runtimes, i));
            ms += one > 0 ? one : 0;
        }
    }
    record->seconds = ms / 1000.0;
    return status;
}

static ak_status take_value(ak_record *record, const ak_draft *draft, const json_t *result,
                            const char *where, ak_error *err)
{
    json_t *measurements = NULL;
    ak_status status = ak_json_array_or_null(&measurements, result, "measurements", where, err);
    for (size_t i = 0; i < json_array_size(measurements) && status == AK_OK; i++) {
        const json_t *one = json_array_get(measurements, i);
        const char *name = json_string_value(json_object_get(one, "name"));
        if (name != NULL && strcmp(name, draft->objective) == 0) {
            record->value = json_number_value(json_object_get(one, "value"));
        }
    }
    return status;
}

/* "objectives" of the first result that has one; the first of several counts. */
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
    ak_status status = ak_json_object_or_null(&metadata, file, "metadata", where, err);
    if (status == AK_OK) {
        status = ak_json_string_or(&kernel, metadata, "kernel_name", "", where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&device, metadata, "device", "", where, err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&size, metadata, "size", "", where, err);
    }
    if (status == AK_OK) {
        status = ak_draft_text(&draft->kernel, kernel, err);
    }
    if (status == AK_OK) {
        status = ak_draft_text(&draft->device, device, err);
    }
    return status == AK_OK ? ak_draft_text(&draft->size, size, err) : status;
}

static ak_status read(ak_draft *draft, const json_t *file, ak_error *err)
{
    const json_t *results = json_object_get(file, "results");
    ak_status status = take_head(draft, file, err);
    if (status == AK_OK) {
        status = take_objective(draft, results, err);
    }
    for (size_t i = 0; i < json_array_size(results) && status == AK_OK; i++) {
        const json_t *result = json_array_get(results, i);
        char where[512];
        json_t *config = NULL;
        ak_record record = {0};
        (void)snprintf(where, sizeof where, "%.400s: result %zu", draft->where, i + 1);
        status = json_is_object(result)
                     ? ak_draft_status(&record, result, "invalidity", words, where, err)
                     : ak_fail(err, AK_INVALID, "%s: must be an object", where);
        if (status == AK_OK) {
            status = ak_json_object_or_null(&config, result, "configuration", where, err);
        }
        if (status == AK_OK && config == NULL) {
            status = ak_fail(err, AK_INVALID, "%s: \"configuration\" is missing", where);
        }
        if (status == AK_OK) {
            status = take_seconds(&record, result, where, err);
        }
        if (status == AK_OK) {
            status = take_value(&record, draft, result, where, err);
        }
        if (status == AK_OK) {
            status = ak_draft_add(draft, config, &record, where, err);
        }
    }
    return status;
}

const ak_recording_format ak_recording_t4 = {
    .name = "T4 results",
    .recognise = recognise,
    .read = read,
};
