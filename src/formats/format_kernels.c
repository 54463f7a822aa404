/*
 * format_kernels.c: reads and writes kernels.json: one object with "metadata" about the file and
 * "kernels" with one entry per trial, in the vocabulary of kernel collections: the configuration as
 * an object, times in ms.
 *
 * On import an entry needs a name, a configuration (object or text), and a status or a time; with
 * only a time its status is "ok". If it lacks implementation, device, size, dtype, options or
 * environment, that of the metadata is used. Other members are ignored in both, because such files
 * come from many programs.
 */
#include "formats/format.h"

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/clock.h"

/* Members that are texts in ak_trial and may be in the metadata instead. */
static const char *const shared[] = {"implementation", "device",      "size", "dtype",
                                     "choices",        "environment", NULL};

/* Converts the JSON of a trial to an entry: the kernel is called "name", and the configuration is
   an object. */
static json_t *entry_of(json_t *trial, json_t *config)
{
    json_t *entry = json_object();
    bool good = entry != NULL &&
                ak_json_set(entry, "name", json_incref(json_object_get(trial, "kernel"))) &&
                json_object_set(entry, "config", config) == 0;
    static const char *const first[] = {"ms", "tflops", "status"};
    for (size_t i = 0; i < 3 && good; i++) {
        good = json_object_set(entry, first[i], json_object_get(trial, first[i])) == 0;
    }
    AK_EACH_MEMBER(key, value, trial) {
        bool taken = strcmp(key, "kernel") == 0 || json_object_get(entry, key) != NULL;
        good = good && (taken || json_object_set(entry, key, value) == 0);
    }
    return ak_json_whole(entry, good);
}

static ak_status write_one(void *context, const ak_trial *trial, ak_error *err)
{
    ak_entry_writer *writer = context;
    json_auto_t *object = NULL, *config = NULL;
    AK_DO(ak_trial_to_json(&object, trial, err));
    AK_DO(ak_finishes_set(object, writer->finishes, trial, err));
    AK_DO(ak_config_of_trial(&config, trial, err));
    return ak_format_add_entry(writer, entry_of(object, config), err);
}

static ak_status write_kernels(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                               ak_error *err)
{
    ak_entry_writer writer = {.out = out};
    char now[AK_CLOCK_UTC_BYTES];
    AK_DO(ak_finishes_read(&writer.finishes, archive, err));
    ak_clock_utc(now);
    ak_buf_print(out,
                 "{\"metadata\": {\"schema\": 1, \"generator\": \"autokernel\", \"autokernel\": "
                 "\"%s\", \"created\": \"%s\", \"time_unit\": \"ms\"},\n\"kernels\": [",
                 AK_VERSION, now);
    ak_status status = ak_archive_take(archive, filter, write_one, &writer, err);
    ak_buf_puts(out, "\n]}\n");
    json_decref(writer.finishes);
    return status;
}

/* ---- reading --------------------------------------------------------------------------------- */

static ak_status take_config(ak_trial *trial, const json_t *entry, const char *where, ak_error *err)
{
    const json_t *config = json_object_get(entry, "config");
    if (json_is_string(config)) {
        return ak_trial_set_text(&trial->config, json_string_value(config), err);
    }
    AK_FAIL_IF(!json_is_object(config), err, AK_INVALID,
               "%s: \"config\" must be an object or a string", where);
    return ak_config_text_from_json(&trial->config, config, NULL, where, err);
}

static ak_status take_shared(ak_trial *trial, const json_t *entry, const json_t *metadata,
                             const char *where, ak_error *err)
{
    for (size_t i = 0; shared[i] != NULL; i++) {
        const json_t *value = json_object_get(entry, shared[i]);
        if (value == NULL || json_is_null(value)) {
            value = json_object_get(metadata, shared[i]);
        }
        if (value == NULL || json_is_null(value)) {
            continue;
        }
        AK_FAIL_IF(!json_is_string(value), err, AK_INVALID, "%s: \"%s\" must be a string", where,
                   shared[i]);
        AK_DO(ak_trial_set_text(ak_trial_text(trial, shared[i]), json_string_value(value), err));
    }
    return AK_OK;
}

/* Reads the members that have the same meaning in a trial, with the trial's own reader. */
static ak_status take_rest(ak_trial *trial, const json_t *entry, const char *where, ak_error *err)
{
    json_auto_t *object = json_object();
    bool good = object != NULL &&
                json_object_set(object, "kernel", json_object_get(entry, "name")) == 0 &&
                ak_json_set(object, "config", json_string("")) &&
                ak_json_set(object, "status", json_string("ok"));
    if (!good) {
        return json_object_get(entry, "name") == NULL
                   ? ak_fail(err, AK_INVALID, "%s: \"name\" is missing", where)
                   : ak_fail_memory(err);
    }
    AK_FAIL_IF(json_object_get(entry, "status") == NULL && ak_json_number_at(entry, "ms") <= 0, err,
               AK_INVALID, "%s: \"status\" and \"ms\" are missing", where);
    static const char *const others[] = {"id", "ci_ms"};
    static const char *const apart[] = {"kernel", "config", "ci_low_ms", "ci_high_ms", NULL};
    for (size_t i = 0; i < AK_FIELD_COUNT + AK_COUNT(others) && good; i++) {
        const char *name = i < AK_FIELD_COUNT ? ak_fields[i].name : others[i - AK_FIELD_COUNT];
        json_t *value = json_object_get(entry, name);
        if (value != NULL && !ak_text_is_one_of(name, apart) && !ak_text_is_one_of(name, shared)) {
            good = json_object_set(object, name, value) == 0;
        }
    }
    return good ? ak_trial_from_json(trial, object, where, err) : ak_fail_memory(err);
}

static ak_status read_entry(ak_trial *trial, const json_t *entry, const void *metadata,
                            const char *where, ak_error *err)
{
    AK_FAIL_IF(!json_is_object(entry), err, AK_INVALID, "%s must be an object", where);
    AK_DO(take_rest(trial, entry, where, err));
    ak_free(trial->config);
    trial->config = NULL;
    AK_DO(take_config(trial, entry, where, err));
    return take_shared(trial, entry, metadata, where, err);
}

static ak_status read_kernels(ak_import *import, const char *text, size_t length, const char *path,
                              ak_error *err)
{
    json_auto_t *file = NULL;
    json_t *metadata = NULL, *kernels = NULL;
    AK_DO(ak_json_parse(&file, text, length, path, err));
    AK_DO(ak_json_object_or_null(&metadata, file, "metadata", path, err));
    AK_DO(ak_json_array(&kernels, file, "kernels", path, err));
    return ak_import_each(import, kernels,
                          &(ak_entries){path, "kernel", read_entry, metadata, true}, err);
}

const ak_format_ops ak_format_kernels = {
    .name = "kernels",
    .description = "kernels.json: metadata and a list of kernels with configuration and time",
    .write = write_kernels,
    .read = read_kernels,
    .mark = {"kernels", JSON_ARRAY},
};
