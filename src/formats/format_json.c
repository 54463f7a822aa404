/* format_json.c: reads and writes an array of trials without loss. Each trial is the object that
   `history --json` shows. A trial that won the finish of its run also has the figures of that
   finish. */
#include "formats/format.h"

typedef struct array_writer {
    ak_buf *out;
    ak_archive *archive;
    size_t count;
} array_writer;

static ak_status write_one(void *context, const ak_trial *trial, ak_error *err)
{
    array_writer *writer = context;
    json_t *object = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_trial_to_json(&object, trial, err));
    AK_TRY(ak_format_add_finish(object, writer->archive, trial, err));
    ak_buf_puts(writer->out, writer->count++ == 0 ? "\n" : ",\n");
    ak_json_print(writer->out, object, false);
    AK_TRY(ak_buf_status(writer->out, err));
out:
    json_decref(object);
    return status;
}

static ak_status write_json(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                            ak_error *err)
{
    array_writer writer = {out, archive, 0};
    ak_buf_putc(out, '[');
    ak_status status = ak_archive_take(archive, filter, write_one, &writer, err);
    ak_buf_puts(out, "\n]\n");
    return status;
}

/* Reads a trial without its member "finish", which ak_trial does not have. */
static ak_status read_one(ak_trial *trial, const json_t *entry, const void *context,
                          const char *where, ak_error *err)
{
    json_t *own = json_copy((json_t *)(uintptr_t)entry);
    (void)context;
    AK_DO(ak_made(own, err));
    (void)json_object_del(own, "finish");
    ak_status status = ak_trial_from_json(trial, own, where, err);
    json_decref(own);
    return status;
}

static ak_status read_json(ak_import *import, const char *text, size_t length, const char *path,
                           ak_error *err)
{
    json_t *array;
    AK_DO(ak_json_parse(&array, text, length, path, err));
    ak_status status =
        json_is_array(array)
            ? ak_import_each(import, array, &(ak_entries){path, "trial", read_one, NULL, true}, err)
            : ak_fail(err, AK_INVALID, "%s must be an array of trials", path);
    json_decref(array);
    return status;
}

static bool recognise(const json_t *file)
{
    return json_is_array(file);
}

const ak_format_ops ak_format_json = {
    .name = "json",
    .description = "array of trials with everything that is known; imports without loss",
    .write = write_json,
    .read = read_json,
    .recognise = recognise,
};
