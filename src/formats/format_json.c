/* format_json.c: reads and writes an array of trials without loss. Each trial is the object that
   `history --json` shows. A trial that won finishes also has the figures of these (finishes.c). */
#include "formats/format.h"

static ak_status write_one(void *context, const ak_trial *trial, ak_error *err)
{
    ak_entry_writer *writer = context;
    json_t *object = NULL;
    AK_DO(ak_trial_to_json(&object, trial, err));
    ak_status status = ak_finishes_set(object, writer->finishes, trial, err);
    if (status != AK_OK) {
        json_decref(object);
        return status;
    }
    return ak_format_add_entry(writer, object, err);
}

static ak_status write_json(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                            ak_error *err)
{
    json_auto_t *finishes = NULL;
    AK_DO(ak_finishes_read(&finishes, archive, err));
    ak_entry_writer writer = {.out = out, .finishes = finishes};
    ak_buf_putc(out, '[');
    AK_DO(ak_archive_take(archive, filter, write_one, &writer, err));
    ak_buf_puts(out, "\n]\n");
    return AK_OK;
}

/* Reads a trial without the members "finish" and "finishes", which ak_trial does not have. */
static ak_status read_one(ak_trial *trial, const json_t *entry, const void *context,
                          const char *where, ak_error *err)
{
    json_auto_t *own = json_copy((json_t *)(uintptr_t)entry);
    (void)context;
    AK_DO(ak_made(own, err));
    (void)json_object_del(own, "finish");
    (void)json_object_del(own, "finishes");
    return ak_trial_from_json(trial, own, where, err);
}

static ak_status read_json(ak_import *import, const char *text, size_t length, const char *path,
                           ak_error *err)
{
    json_auto_t *array = NULL;
    AK_DO(ak_json_parse(&array, text, length, path, err));
    ak_status status =
        json_is_array(array)
            ? ak_import_each(import, array, &(ak_entries){path, "trial", read_one, NULL, true}, err)
            : ak_fail(err, AK_INVALID, "%s must be an array of trials", path);
    return status;
}

const ak_format_ops ak_format_json = {
    .name = "json",
    .description = "array of trials with everything that is known of them; imports without loss",
    .write = write_json,
    .read = read_json,
};
