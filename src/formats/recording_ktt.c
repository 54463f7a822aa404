/*
 * recording_ktt.c: reads results of KTT (its JSON output) as recordings: {"Metadata": {"Device",
 * "TimeUnit"}, "Results": [{"KernelName", "Status", "TotalDuration", "TotalOverhead",
 * "Configuration": [{"Name", "Value"}]}]}. The duration is the objective; duration plus overhead is
 * the cost.
 */

#include "formats/draft.h"

static const char *const spent[] = {"TotalDuration", "TotalOverhead", NULL};

static const ak_draft_word words[] = {{"Ok", AK_TRIAL_OK},
                                      {"ComputationFailed", AK_TRIAL_LAUNCH_ERROR},
                                      {"ValidationFailed", AK_TRIAL_WRONG_RESULT},
                                      {"CompilationFailed", AK_TRIAL_COMPILE_ERROR},
                                      {"DeviceLimitsExceeded", AK_TRIAL_INVALID},
                                      {NULL, AK_TRIAL_OK}};

static ak_status take_head(double *ms, ak_draft *draft, const json_t *file, ak_error *err)
{
    json_t *metadata = NULL;
    const char *device = NULL;
    AK_DO(ak_json_object_or_null(&metadata, file, "Metadata", draft->where, err));
    AK_DO(ak_draft_unit(ms, metadata, "TimeUnit", draft->where, err));
    AK_DO(ak_json_string_or(&device, metadata, "Device", "", draft->where, err));
    AK_DO(ak_draft_text(&draft->recording->device, device, err));
    AK_DO(ak_draft_text(&draft->recording->kernel, "", err));
    return ak_draft_objective(draft, "time", err);
}

/* Converts [{"Name": "X", "Value": 1}] to {"X": 1}. */
static ak_status take_config(json_t **out, const json_t *result, const char *where, ak_error *err)
{
    json_t *list = NULL;
    json_auto_t *config = json_object();
    AK_DO(config == NULL ? ak_fail_memory(err)
                         : ak_json_array(&list, result, "Configuration", where, err));
    AK_EACH(pair, list) {
        const char *name = ak_json_text_or_null(pair, "Name");
        json_t *value = json_object_get(pair, "Value");
        if (name == NULL || value == NULL) {
            return ak_fail(err, AK_INVALID,
                           "%s: \"Configuration\" must hold objects with Name and Value", where);
        } else if (json_object_get(config, name) != NULL) {
            return ak_fail(err, AK_INVALID, "%s: \"Configuration\" has \"%.60s\" twice", where,
                           name);
        } else if (!ak_json_set(config, name, json_incref(value))) {
            return ak_fail_memory(err);
        }
    }
    *out = json_incref(config);
    return AK_OK;
}

static ak_status take_result(ak_record *record, ak_draft *draft, const json_t *result, double ms,
                             const char *where, ak_error *err)
{
    const char *kernel = ak_json_text_at(result, "KernelName");
    const char *known = draft->recording->kernel;
    double duration = 0;
    AK_FAIL_IF(kernel[0] != 0 && known[0] != 0 && strcmp(kernel, known) != 0, err, AK_INVALID,
               "%s is of the kernel \"%.60s\", and one before it of \"%.60s\": a recording "
               "holds results of one kernel; give those of each in a file of its own",
               where, kernel, known);
    AK_DO(known[0] == 0 ? ak_draft_text(&draft->recording->kernel, kernel, err) : AK_OK);
    AK_DO(ak_draft_status(&record->status, result, "Status", words, where, err));
    AK_DO(ak_json_real_or(&duration, result, "TotalDuration", 0, where, err));
    record->value = duration * ms;
    record->seconds = ak_draft_sum(result, spent) * ms / 1000.0;
    return AK_OK;
}

static ak_status read(ak_draft *draft, const json_t *file, ak_error *err)
{
    const json_t *results = json_object_get(file, "Results");
    double ms = 1;
    AK_DO(take_head(&ms, draft, file, err));
    AK_EACH(result, results) {
        char where[512];
        json_auto_t *config = NULL;
        ak_record record = {0};
        (void)snprintf(where, sizeof where, "%.400s: result %zu", draft->where, result_at + 1);
        AK_DO(json_is_object(result) ? take_result(&record, draft, result, ms, where, err)
                                     : ak_fail(err, AK_INVALID, "%s must be an object", where));
        AK_DO(take_config(&config, result, where, err));
        AK_DO(ak_draft_add(draft, config, &record, where, err));
    }
    return AK_OK;
}

const ak_recording_format ak_recording_ktt = {
    .name = "results of KTT",
    .mark = {"Results", JSON_ARRAY},
    .read = read,
};
