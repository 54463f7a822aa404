/*
 * recording_kernel_tuner.c: reads cache files of Kernel Tuner as recordings. The value is the
 * objective as the file gives it (`time` is a mean that includes the first launch), because
 * published searches were compared by that. format_kernel_tuner.c imports the same files as trials
 * and takes medians.
 */
#include "formats/draft.h"

#include "formats/kernel_tuner.h"
#include "space/rank.h"

/* The stages of a trial's cost, in the order in which the reference implementation of the method
   adds them, so that sums agree to the bit. */
static const char *const stages[] = {"compile_time",  "benchmark_time",    "framework_time",
                                     "strategy_time", "verification_time", NULL};

/* Old files, from before errors had names, give a failed configuration a time of 1e20 ms. A time or
   value of this limit or more counts as a failure. */
#define FAILED_TIME 1e19

/* The names for the energy in joules that Kernel Tuner's observers (NVML, PowerSensor) and its
   models of energy use. */
static const char *const energies[] = {"nvml_energy", "ps_energy", "energy", "joules"};

/* Returns the energy in joules; 0 if there is none. */
static double energy_of(const json_t *entry)
{
    for (size_t i = 0; i < AK_COUNT(energies); i++) {
        double value = ak_json_number_at(entry, energies[i]);
        if (value > 0) {
            return value;
        }
    }
    return 0;
}

static ak_status take_result(ak_record *record, const ak_draft *draft, const json_t *entry,
                             const char *where, ak_error *err)
{
    const json_t *time = json_object_get(entry, "time");
    const json_t *value = json_object_get(entry, draft->recording->objective);
    const char *name;
    ak_status status = ak_kernel_tuner_fault(&record->status, &name, entry, where, err);
    if (status != AK_OK || name != NULL) {
        return status;
    }
    if (json_is_null(value)) { /* Python wrote NaN */
        record->status = AK_TRIAL_LAUNCH_ERROR;
        return AK_OK;
    }
    AK_FAIL_IF(!json_is_number(value), err, AK_INVALID,
               value == NULL ? "%s: the objective \"%.60s\" is missing"
                             : "%s: \"%.60s\" must be a number or the name of an error",
               where, draft->recording->objective);
    record->value = json_number_value(value);
    record->joules = energy_of(entry);
    record->ms = ak_recording_is_timed(draft->recording) ? 0 : json_number_value(time);
    bool failed = json_number_value(time) >= FAILED_TIME || record->value >= FAILED_TIME;
    record->status = failed ? AK_TRIAL_LAUNCH_ERROR : AK_TRIAL_OK;
    return AK_OK;
}

static ak_status take_size(ak_draft *draft, const json_t *size, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(256);
    size_t count = json_is_array(size) ? json_array_size(size) : size == NULL ? 0 : 1;
    for (size_t i = 0; i < count; i++) {
        const json_t *one = json_is_array(size) ? json_array_get(size, i) : size;
        ak_buf_puts(&text, i == 0 ? "" : "x");
        ak_json_print_plain(&text, one); /* a text is an expression, or "callable" */
    }
    AK_DO(ak_buf_status(&text, err));
    return ak_draft_text(&draft->recording->size, text.data, err);
}

/* Reads the task, which autokernel's export adds to such a file, and the environment, whose device
   name replaces the file's. The members "facts", about the device, and "rank" are only in files
   whose author added them. */
static ak_status take_own(ak_draft *draft, const json_t *file, ak_error *err)
{
    json_t *own = NULL, *facts = NULL, *environment = NULL;
    const char *where = draft->where;
    AK_DO(ak_json_object_or_null(&own, file, "autokernel", where, err));
    if (own == NULL) {
        return AK_OK;
    }
    static const char *const texts[] = {"implementation", "size", "dtype", "choices", NULL};
    AK_DO(ak_draft_take_texts(draft, own, texts, err));
    AK_DO(ak_rank_text(&draft->recording->stated_rank, own, "rank", where, err));
    AK_DO(ak_json_object_or_null(&facts, own, "facts", where, err));
    draft->facts = json_incref(facts);
    AK_DO(ak_json_object_or_null(&environment, own, "environment", where, err));
    draft->recording->environment = json_incref(environment);
    const char *name = ak_json_text_or_null(environment, "name");
    return name == NULL ? AK_OK : ak_draft_text(&draft->recording->device, name, err);
}

static ak_status take_head(ak_draft *draft, const json_t *file, ak_error *err)
{
    const char *kernel, *device, *objective, *where = draft->where;
    json_t *keys = NULL, *params = NULL;
    AK_DO(ak_json_string_or(&kernel, file, "kernel_name", "", where, err));
    AK_DO(ak_json_string_or(&device, file, "device_name", "", where, err));
    AK_DO(ak_kernel_tuner_objective(&objective, file, where, err));
    AK_DO(ak_json_array_or_null(&keys, file, "tune_params_keys", where, err));
    AK_DO(ak_json_object_or_null(&params, file, "tune_params", where, err));
    AK_FAIL_IF(json_array_size(keys) == 0, err, AK_INVALID,
               "%s: \"tune_params_keys\" is missing or empty", where);
    AK_DO(ak_draft_text(&draft->recording->kernel, kernel, err));
    AK_DO(ak_draft_text(&draft->recording->device, device, err));
    AK_DO(ak_draft_objective(draft, objective, err));
    if (AK_HAS_TEXT(energies, AK_COUNT(energies), objective)) {
        AK_DO(ak_draft_text(&draft->recording->unit, "J", err));
    }
    AK_DO(take_size(draft, json_object_get(file, "problem_size"), err));
    AK_DO(take_own(draft, file, err));
    AK_EACH(key, keys) {
        const char *name = json_string_value(key);
        json_t *values = NULL;
        AK_FAIL_IF(name == NULL, err, AK_INVALID, "%s: \"tune_params_keys\" must hold names",
                   where);
        AK_DO(ak_json_array_or_null(&values, params, name, where, err));
        AK_DO(ak_draft_parameter_add(draft, name, values, err));
    }
    return AK_OK;
}

static ak_status read(ak_draft *draft, const json_t *file, ak_error *err)
{
    AK_DO(take_head(draft, file, err));
    AK_EACH_MEMBER(key, entry, json_object_get(file, "cache")) {
        char where[512];
        ak_record record = {.seconds = ak_draft_sum(entry, stages) / 1000.0};
        (void)snprintf(where, sizeof where, "%.240s: cache \"%.200s\"", draft->where, key);
        AK_DO(json_is_object(entry) ? take_result(&record, draft, entry, where, err)
                                    : ak_fail(err, AK_INVALID, "%s must be an object", where));
        AK_DO(ak_kernel_tuner_agrees(file, key, entry, where, err));
        AK_DO(ak_draft_add(draft, entry, &record, where, err));
    }
    return AK_OK;
}

const ak_recording_format ak_recording_kernel_tuner = {
    .name = "a cache file of Kernel Tuner",
    .mark = {"cache", JSON_OBJECT},
    .read = read,
};
