/*
 * format.h: what a format of export and import is: one file format_NAME.c with a table
 * ak_format_NAME, and one line in formats.def. docs/formats.md describes each.
 */
#ifndef AK_ARCHIVE_FORMAT_H
#define AK_ARCHIVE_FORMAT_H

#include "archive/archive.h"
#include "archive/field.h"

/* Of an export, and of an import that is not JSON (JSON has its own, AK_JSON_BYTES_MAX). */
#define AK_EXPORT_BYTES_MAX (1u << 30)
#define AK_IMPORT_BYTES_MAX (256u << 20)

/* An import under way: all in one transaction, which import.c begins and ends. */
typedef struct ak_import ak_import;

/* Adds a trial of the file. Its id is what the file calls it (0: nothing); a parent that refers to
   a trial earlier in the file is translated, any other is dropped. A trial without a strategy is
   marked "import"; its time may be any ISO 8601 text. One that is ok must have a configuration and
   a time. The trial stays the caller's; `where` names
   the place in the file. */
ak_status ak_import_add(ak_import *import, ak_trial *trial, const char *where, ak_error *err);

typedef struct ak_format_ops {
    const char *name, *description;
    /* (optional) Appends the file's text: trials that match the filter. */
    ak_status (*write)(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                       ak_error *err);
    /* (optional) Hands each trial of the text to ak_import_add. `path` is for messages. */
    ak_status (*read)(ak_import *import, const char *text, size_t length, const char *path,
                      ak_error *err);
} ak_format_ops;

/* The table: formats.def; NULL-terminated. */
extern const ak_format_ops *const ak_formats[];
/* Names the known ones when there is none of this name. */
ak_status ak_format_find(const ak_format_ops **out, const char *name, ak_error *err);

#define X(name) extern const ak_format_ops ak_format_##name;
#include "archive/formats.def"
#undef X

/* ---- shared by the formats --------------------------------------------------------------------
 */

/* Calls `write` for each trial that matches and stops at its first failure. */
typedef ak_status (*ak_trial_writer)(void *context, const ak_trial *trial, ak_error *err);
ak_status ak_format_each(ak_archive *archive, const ak_archive_filter *filter,
                         ak_trial_writer write, void *context, ak_error *err);

/* Remembers the first trial's task and refuses a trial of another one: for formats whose files hold
   one task. Start from zero, end with ak_trial_clear(&task->first). */
typedef struct ak_one_task {
    ak_trial first;
} ak_one_task;
ak_status ak_one_task_check(ak_one_task *task, const char *format, const ak_trial *trial,
                            ak_error *err);

/* "2023-02-15 02:00:02.984915+00:00" and other ISO 8601 texts as "2023-02-15T02:00:02.984Z"; a time
   without a zone counts as UTC. False if it is none. */
#define AK_TIMESTAMP_BYTES 32
bool ak_format_timestamp(char out[AK_TIMESTAMP_BYTES], const char *text);

/* Fills median and interval from the samples, if there are any. */
void ak_format_summarise(ak_trial *trial);

/* Milliseconds, as other tools have them, and nanoseconds, as we do; out of range counts as 0. */
int64_t ak_format_ns(double ms);
double ak_format_ms(int64_t ns);

/* A cache file of Kernel Tuner as JSON, closed if the run that wrote it was stopped. */
ak_status ak_kernel_tuner_parse(json_t **out, const char *text, size_t length, const char *path,
                                ak_error *err);
/* {"hash": ..., and the words that the hash stands for, as far as they are known}. */
ak_status ak_format_environment(json_t **out, ak_archive *archive, const char *hash, ak_error *err);

/* A member as a number, a string, or nothing. Numbers other than finite ones cannot occur in JSON.
 */
const char *ak_format_text(const json_t *object, const char *key);

#endif
