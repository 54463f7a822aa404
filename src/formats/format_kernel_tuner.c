/*
 * format_kernel_tuner.c: reads and writes cache files of Kernel Tuner (CacheKernelTuner, JSON).
 *
 * Such a file holds one task: device, kernel, problem size, the parameters in their order, and
 * under "cache" an entry for each configuration (kernel_tuner.h).
 *
 * Kernel Tuner writes as `time` of an entry the mean of its `times`, including the first launch;
 * import takes the median of `times` if they exist.
 */

#include "archive/config_text.h"
#include "base/value_json.h"
#include "formats/draft.h"
#include "formats/kernel_tuner.h"

/* The file format has no members for these texts of a trial, or has them in other words (device and
   size). They are therefore also put into an additional member, OWN. */
#define OWN "autokernel"

static const char *const own_texts[] = {"device", "implementation", "size",
                                        "dtype",  "choices",        NULL};

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct cache_writer {
    ak_trial first; /* the first trial, for ak_format_check_task */
    json_t *params; /* {name: [values]}, in order of first use */
    json_t *cache;  /* {key: entry} */
    bool no_values; /* a trial that worked has no value under its objective */
} cache_writer;

/* Returns the objective that the file names: that of the trials, or "time" if one of them has no
   value for it, a parameter has the same name, or other tools could not tell whether more is
   better. */
static const char *objective_of(char out[AK_OBJECTIVE_NAME_BYTES], const cache_writer *writer)
{
    const char *name = ak_draft_objective_of(out, writer->first.choices);
    return writer->no_values || json_object_get(writer->params, name) != NULL ? "time" : name;
}

/* Converts "M=1024,N=512" to [1024, 512]. */
static json_t *problem_size(const char *size)
{
    json_auto_t *object = NULL;
    json_t *array = json_array();
    if (array == NULL || ak_config_text_to_json(&object, size, "size", NULL) != AK_OK) {
        json_decref(array);
        return NULL;
    }
    bool good = true;
    AK_EACH_MEMBER(key, value, object) {
        good = good && json_array_append(array, value) == 0;
    }
    return ak_json_whole(array, good);
}

/* Adds the values of a configuration to the lists in writer->params, and writes its key: the values
   with commas between them. The first configuration determines the parameters; one with others is
   refused. */
static ak_status note_values(cache_writer *writer, ak_buf *key, const json_t *config, bool first,
                             ak_error *err)
{
    bool same = first || json_object_size(config) == json_object_size(writer->params);
    AK_EACH_MEMBER(name, value, config) {
        json_t *list = json_object_get(writer->params, name);
        if (list == NULL && first) {
            list = json_array();
            AK_DO(ak_stored(ak_json_set(writer->params, name, list), err));
        }
        if (list == NULL) {
            same = false;
            break;
        }
        bool known = false;
        for (size_t i = 0; i < json_array_size(list) && !known; i++) {
            known = json_equal(json_array_get(list, i), value) == 1;
        }
        AK_DO(ak_stored(known || json_array_append(list, value) == 0, err));
        if (key->length > 0) {
            ak_buf_putc(key, ',');
        }
        ak_value_print(key, value);
    }
    return same ? AK_OK
                : ak_fail(err, AK_INVALID,
                          "the configurations of these trials have different "
                          "parameters; a Kernel Tuner cache holds one list of parameters");
}

static json_t *entry_of(const ak_trial *trial, const json_t *config, const char *objective)
{
    json_t *entry = json_copy((json_t *)(uintptr_t)config);
    bool good = entry != NULL;
    bool ok = trial->status == AK_TRIAL_OK;
    const char *fault = ak_kernel_tuner_fault_name(trial->status);
    good = good && (ok ? ak_json_set_real(entry, "time", trial->median_ms)
                       : ak_json_set_text(entry, "time", fault) &&
                             ak_json_set_text(entry, "__error__", fault));
    good = good && (!ok || ak_json_set(entry, "times",
                                       ak_json_reals(trial->samples_ms, trial->sample_count)));
    good = good && (trial->tflops <= 0 || ak_json_set_real(entry, "GFLOP/s", trial->tflops * 1e3));
    good = good && (trial->gbs <= 0 || ak_json_set_real(entry, "GB/s", trial->gbs));
    good = good && (!ok || strcmp(objective, "time") == 0 ||
                    ak_json_set_real(entry, objective, ak_trial_value(trial)));
    good = good && ak_json_set_real(entry, "compile_time", ak_format_ms(trial->compile_ns)) &&
           ak_json_set_real(entry, "verification_time", ak_format_ms(trial->check_ns)) &&
           ak_json_set_real(entry, "benchmark_time", ak_format_ms(trial->measure_ns)) &&
           ak_json_set_real(entry, "strategy_time", ak_format_ms(trial->propose_ns)) &&
           ak_json_set_real(entry, "framework_time", ak_format_ms(trial->overhead_ns)) &&
           ak_json_set_text(entry, "timestamp", trial->timestamp);
    return ak_json_whole(entry, good);
}

/* Writes a trial. If a configuration has several trials, the latest successful one counts, or the
   latest if none was successful. */
static ak_status write_one(void *context, const ak_trial *trial, ak_error *err)
{
    cache_writer *writer = context;
    bool first = writer->first.kernel == NULL;
    json_auto_t *config = NULL;
    char objective[AK_OBJECTIVE_NAME_BYTES];
    AK_AT_END(ak_buf_free) ak_buf key = AK_BUF(AK_TRIAL_TEXT_BYTES_MAX);
    AK_DO(ak_format_check_task(&writer->first, "Kernel Tuner", trial, err));
    AK_DO(ak_config_of_trial(&config, trial, err));
    AK_DO(note_values(writer, &key, config, first, err));
    AK_DO(ak_buf_status(&key, err));
    const json_t *before = json_object_get(writer->cache, key.data);
    bool keep = trial->status != AK_TRIAL_OK && json_is_number(json_object_get(before, "time"));
    writer->no_values = writer->no_values || (trial->status == AK_TRIAL_OK && !(trial->cost > 0));
    if (!keep) {
        json_t *entry = entry_of(trial, config, objective_of(objective, writer));
        AK_DO(ak_stored(ak_json_set(writer->cache, key.data, entry), err));
    }
    return AK_OK;
}

static void print_member(ak_buf *out, const char *name, const json_t *value)
{
    ak_json_quote(out, name, strlen(name));
    ak_buf_puts(out, ": ");
    ak_json_print(out, value, false);
}

/* Sorts a list of numbers, because readers expect near values to be neighbours and the list is in
   the order of the trials. Other lists stay as they are. Returns false if there is no memory. */
static bool sort_numbers(json_t *values)
{
    size_t count = json_array_size(values);
    for (size_t i = 0; i < count; i++) {
        if (!json_is_number(json_array_get(values, i))) {
            return true;
        }
    }
    for (size_t i = 1; i < count; i++) {
        json_t *value = json_incref(json_array_get(values, i));
        size_t at = i;
        while (at > 0 &&
               json_number_value(json_array_get(values, at - 1)) > json_number_value(value)) {
            at--;
        }
        bool good = json_array_remove(values, i) == 0 && json_array_insert(values, at, value) == 0;
        json_decref(value);
        if (!good) {
            return false;
        }
    }
    return true;
}

/* Returns what the environment of a trial says of the device and the software: {"name", "driver",
   "nvrtc", ...}; NULL if the environment is not known or memory is out. */
static json_t *environment_of(ak_archive *archive, const ak_trial *trial)
{
    static const char *const kept[] = {"backend", "name",   "compute_capability", "driver", "nvrtc",
                                       "version", "triton", "compilers"};
    json_auto_t *all = NULL;
    json_t *object = json_object();
    bool good = object != NULL &&
                ak_archive_environment(&all, archive, trial->environment, NULL) == AK_OK &&
                all != NULL;
    for (size_t i = 0; good && i < AK_COUNT(kept); i++) {
        json_t *value = json_object_get(all, kept[i]);
        good = value == NULL || json_object_set(object, kept[i], value) == 0;
    }
    return ak_json_whole(object, good);
}

static ak_status print_cache(ak_buf *out, const cache_writer *writer, ak_archive *archive,
                             ak_error *err)
{
    const ak_trial *first = &writer->first;
    char name_of_device[AK_KERNEL_TUNER_NAME_BYTES], objective[AK_OBJECTIVE_NAME_BYTES];
    bool on_host = strcmp(first->device, "host") == 0;
    ak_kernel_tuner_processor(name_of_device);
    json_auto_t *environment = environment_of(archive, first);
    const char *named = ak_json_text_at(environment, "name"), *separator = "\n";
    json_t *keys = json_array(), *own = json_object();
    bool good = ak_format_set_texts(own, first, own_texts) &&
                (environment == NULL || json_object_set(own, "environment", environment) == 0);
    AK_EACH_MEMBER(name, value, writer->params) {
        good = good && sort_numbers(value) && ak_json_append(keys, json_string(name));
    }
    json_t *head =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:O, s:[s]}", "device_name",
                  on_host         ? name_of_device
                  : named[0] != 0 ? named
                                  : first->device,
                  "kernel_name", first->kernel, "problem_size", problem_size(first->size), OWN, own,
                  "tune_params_keys", keys, "tune_params", writer->params, "objective",
                  objective_of(objective, writer));
    good = good && head != NULL;
    if (good) {
        ak_buf_puts(out, "{\n");
        AK_EACH_MEMBER(name, value, head) {
            print_member(out, name, value);
            ak_buf_puts(out, ",\n");
        }
        ak_buf_puts(out, "\"cache\": {");
        AK_EACH_MEMBER(name, value, writer->cache) {
            ak_buf_puts(out, separator);
            print_member(out, name, value);
            separator = ",\n";
        }
        ak_buf_puts(out, "}\n}\n");
    }
    json_decref(head);
    return ak_stored(good, err);
}

static ak_status write_kernel_tuner(ak_buf *out, ak_archive *archive,
                                    const ak_archive_filter *filter, ak_error *err)
{
    cache_writer writer = {.params = json_object(), .cache = json_object()};
    ak_status status = AK_OK;
    AK_TRY(ak_stored(writer.params != NULL && writer.cache != NULL, err));
    AK_TRY(ak_archive_take(archive, filter, write_one, &writer, err));
    if (writer.first.kernel == NULL) {
        AK_TRY(ak_fail(err, AK_NOT_FOUND, "no trial matches, and a Kernel Tuner cache needs one"));
    }
    AK_TRY(print_cache(out, &writer, archive, err));
out:
    json_decref(writer.params);
    json_decref(writer.cache);
    ak_trial_clear(&writer.first);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Converts a problem size, such as 4096, [4096, 4096] or ["1000 * UNROLL", 1], to a text such as
   "X=4096,Y=4096": the file does not name its sizes. A size that depends on the configuration is an
   expression, or "callable". */
static ak_status take_size(ak_trial *task, const json_t *size, const char *path, ak_error *err)
{
    static const char *const names[] = {"X", "Y", "Z", "W"};
    size_t count = size == NULL ? 0 : json_is_array(size) ? json_array_size(size) : 1;
    json_auto_t *object = json_object();
    AK_DO(ak_made(object, err));
    for (size_t i = 0; i < count; i++) {
        json_t *value = json_is_array(size) ? json_array_get(size, i) : (json_t *)(uintptr_t)size;
        if (!(json_is_integer(value) || json_is_string(value)) || i >= AK_COUNT(names)) {
            return ak_fail(err, AK_INVALID,
                           "%s: \"problem_size\" must be an integer, a text, or an array of at "
                           "most 4 of them",
                           path);
        } else if (!ak_json_set(object, names[i], json_incref(value))) {
            return ak_fail_memory(err);
        }
    }
    return ak_config_text_from_json(&task->size, object, NULL, path, err);
}

static ak_status take_head(ak_trial *task, const json_t **order, const json_t **cache,
                           const json_t *file, const char *path, ak_error *err)
{
    const char *device, *kernel;
    json_t *keys = NULL, *entries = NULL, *own = NULL;
    AK_DO(ak_json_string(&kernel, file, "kernel_name", path, err));
    AK_DO(ak_json_string_or(&device, file, "device_name", "", path, err));
    AK_DO(ak_json_array_or_null(&keys, file, "tune_params_keys", path, err));
    AK_DO(ak_json_object_or_null(&entries, file, "cache", path, err));
    AK_FAIL_IF(keys == NULL || entries == NULL, err, AK_INVALID,
               "%s: \"%s\" is missing: this is not a Kernel Tuner cache", path,
               keys == NULL ? "tune_params_keys" : "cache");
    AK_DO(ak_trial_set_text(&task->kernel, kernel, err));
    AK_DO(ak_trial_set_text(&task->device, device, err));
    /* OWN has the names of the sizes, too. A text that is missing there, such as the device of some
       recordings, stays as it is. */
    AK_DO(ak_json_object_or_null(&own, file, OWN, path, err));
    AK_DO(ak_format_take_texts(task, own, own_texts, path, err));
    if (task->size == NULL) {
        AK_DO(take_size(task, json_object_get(file, "problem_size"), path, err));
    }
    *order = keys;
    *cache = entries;
    return AK_OK;
}

static ak_status take_times(ak_trial *trial, const json_t *entry, const char *where, ak_error *err)
{
    json_t *times = NULL;
    AK_DO(ak_json_array_or_null(&times, entry, "times", where, err));
    if (times != NULL) {
        AK_DO(ak_trial_samples(trial, times, "times", where, err));
        ak_format_summarise(trial);
    }
    return AK_OK;
}

static ak_status take_result(ak_trial *trial, const json_t *entry, const char *where, ak_error *err)
{
    const json_t *time = json_object_get(entry, "time");
    const char *name;
    ak_status status = ak_kernel_tuner_fault(&trial->status, &name, entry, where, err);
    if (status != AK_OK || name != NULL) {
        return status == AK_OK ? ak_trial_set_text(&trial->reason, name, err) : status;
    }
    if (json_is_null(time)) { /* Python wrote NaN */
        trial->status = AK_TRIAL_LAUNCH_ERROR;
        return ak_trial_set_text(&trial->reason, "its time is not a number", err);
    }
    AK_FAIL_IF(!json_is_number(time), err, AK_INVALID,
               time == NULL ? "%s: \"time\" is missing"
                            : "%s: \"time\" must be a number or the name of an error",
               where);
    trial->median_ms = json_number_value(time);
    return take_times(trial, entry, where, err);
}

static ak_status read_entry(ak_trial *trial, const ak_trial *task, const json_t *order,
                            const json_t *entry, const char *where, ak_error *err)
{
    AK_FAIL_IF(!json_is_object(entry), err, AK_INVALID, "%s must be an object", where);
    AK_DO(ak_trial_copy(trial, task, err));
    AK_DO(ak_config_text_from_json(&trial->config, entry, order, where, err));
    AK_DO(take_result(trial, entry, where, err));
    trial->compile_ns = ak_format_ns(ak_json_number_at(entry, "compile_time"));
    trial->check_ns = ak_format_ns(ak_json_number_at(entry, "verification_time"));
    trial->measure_ns = ak_format_ns(ak_json_number_at(entry, "benchmark_time"));
    trial->propose_ns = ak_format_ns(ak_json_number_at(entry, "strategy_time"));
    trial->overhead_ns = ak_format_ns(ak_json_number_at(entry, "framework_time"));
    if (trial->status == AK_TRIAL_OK) {
        trial->tflops = ak_json_number_at(entry, "GFLOP/s") / 1e3;
        trial->gbs = ak_json_number_at(entry, "GB/s");
    }
    return ak_trial_set_text(&trial->timestamp, ak_json_text_or_null(entry, "timestamp"), err);
}

static ak_status read_kernel_tuner(ak_import *import, const char *text, size_t length,
                                   const char *path, ak_error *err)
{
    json_auto_t *file = NULL;
    const json_t *order = NULL, *cache = NULL;
    AK_AT_END(ak_trial_clear) ak_trial task = {0};
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    AK_DO(ak_kernel_tuner_parse(&file, ak_import_left_out(import), text, length, path, err));
    AK_DO(take_head(&task, &order, &cache, file, path, err));
    AK_EACH_MEMBER(key, entry, cache) {
        char where[512];
        (void)snprintf(where, sizeof where, "%.240s: cache \"%.200s\"", path, key);
        AK_DO(read_entry(&trial, &task, order, entry, where, err));
        AK_DO(ak_kernel_tuner_agrees(file, key, entry, where, err));
        AK_DO(ak_import_add(import, &trial, where, err));
        ak_trial_clear(&trial);
    }
    return AK_OK;
}

const ak_format_ops ak_format_kernel_tuner = {
    .name = "kernel-tuner",
    .description = "cache file of Kernel Tuner: one task, a finished or an interrupted run",
    .write = write_kernel_tuner,
    .read = read_kernel_tuner,
    .mark = {"cache", JSON_OBJECT},
};
