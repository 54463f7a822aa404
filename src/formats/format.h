/*
 * format.h: defines a format of export and import: a table ak_format_NAME, which is in
 * format_NAME.c of this folder or in ship/, and a line in formats.def. docs/formats.md describes
 * each format.
 */
#ifndef AK_FORMATS_FORMAT_H
#define AK_FORMATS_FORMAT_H

#include "archive/archive.h"
#include "archive/field.h"
#include "base/pack.h"

/* Limits in bytes for an export in one file and for an import, before and after it is unpacked. An
   import that is JSON must also fit AK_JSON_BYTES_MAX; one that is an archive has no limit. */
#define AK_EXPORT_BYTES_MAX (1u << 30)
#define AK_IMPORT_BYTES_MAX (256u << 20)

/* An import in progress. All of it is one transaction, which import.c begins and ends. */
typedef struct ak_import ak_import;

/* Adds a trial that was read from a file, unless the archive had an equal one before the import. On
   entry its id and its parent are those of the file (0: none). Both become those of the archive;
   the parent becomes 0 if the file has not given it before. A trial without a strategy gets the
   strategy "import". Its timestamp has a form that ak_format_timestamp reads, or is NULL. A trial
   with status OK must have a configuration, and a time that fits its interval or its samples. The
   trial stays the caller's; `where` names the place in the file. */
ak_status ak_import_add(ak_import *import, ak_trial *trial, const char *where, ak_error *err);

/* Returns where a reader stores a constant text about what it leaves out of the file. */
const char **ak_import_left_out(ak_import *import);

/* How ak_import_each adds the entries of a list: `read` makes a trial from each. Messages call them
   "PATH: WHAT I", with I from 1. If `finish` is set, an entry's "finish" and "finishes" are stored,
   too (finishes.c), and an entry that is a run is added as one (archive/waiting.c). */
typedef struct ak_entries {
    const char *path, *what;
    ak_status (*read)(ak_trial *out, const json_t *entry, const void *context, const char *where,
                      ak_error *err);
    const void *context;
    bool finish;
} ak_entries;
ak_status ak_import_each(ak_import *import, const json_t *list, const ak_entries *entries,
                         ak_error *err);

/* The member by which a JSON file of a format is recognised, and its type. */
typedef struct ak_format_mark {
    const char *member;
    json_type type;
} ak_format_mark;
/* Returns whether a file has the member of a mark, with its type. */
bool ak_format_has_mark(const json_t *file, const ak_format_mark *mark);

typedef struct ak_format_ops {
    const char *name, *description;
    /* (optional) Appends the text of a file with the trials that match the filter. */
    ak_status (*write)(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                       ak_error *err);
    /* (instead of `write` and `read`) Appends the text of a file about a task, without
       measurements. */
    ak_status (*write_task)(ak_buf *out, const ak_task *task, ak_error *err);
    /* (instead of these) Compiles a bundle and gives its files. *name is the name of the bundle;
       the caller frees it with ak_free. With `one_file` the files are packed into one tar file. */
    ak_status (*build)(ak_pack *out, char **name, ak_archive *archive,
                       const ak_bundle_request *request, ak_error *err);
    bool one_file;
    /* (optional) Passes each trial of the text to ak_import_add. `path` is for messages. */
    ak_status (*read)(ak_import *import, const char *text, size_t length, const char *path,
                      ak_error *err);
    /* (with `read`) Recognises a file of this format that is a JSON object; all zero: files of this
       format are no JSON objects. */
    ak_format_mark mark;
} ak_format_ops;

/* The table of formats.def, NULL-terminated. */
extern const ak_format_ops *const ak_formats[];
/* Finds a format by name; if there is none, the error lists the known ones. */
ak_status ak_format_find(const ak_format_ops **out, const char *name, ak_error *err);

/* Visits names and descriptions of all formats, in the order of formats.def. */
ak_status ak_formats_each(ak_list_visitor visit, void *context, ak_error *err);

#define X(name) extern const ak_format_ops ak_format_##name;
#include "formats/formats.def"
#undef X

/* ---- shared by the formats ------------------------------------------------------------------- */

/* Writes a text to standard output. Returns AK_IO if that fails. */
ak_status ak_format_standard_output(const char *text, size_t length, ak_error *err);

/* For formats whose files hold one task: copies the first trial to `first`, and refuses later
   trials of another task. `first` begins as zero; free it with ak_trial_clear. */
ak_status ak_format_check_task(ak_trial *first, const char *format, const ak_trial *trial,
                               ak_error *err);

/* Copy texts between the members of an object and the fields of a trial that have the same names.
   `names` is NULL-terminated. A NULL text becomes null; a text whose member is missing stays as it
   is. */
bool ak_format_set_texts(json_t *object, const ak_trial *trial, const char *const *names);
ak_status ak_format_take_texts(ak_trial *trial, const json_t *object, const char *const *names,
                               const char *where, ak_error *err);

/* The state of writing a list in which each trial has one entry, on a line of its own. */
typedef struct ak_entry_writer {
    ak_buf *out;
    json_t *finishes; /* from ak_finishes_read; NULL if the format has none */
    ak_trial first;   /* the first trial, for ak_format_check_task */
    size_t count;     /* entries so far */
} ak_entry_writer;
/* Appends an entry and takes over the reference. NULL stands for an entry that could not be made:
   the function returns AK_NO_MEMORY. */
ak_status ak_format_add_entry(ak_entry_writer *writer, json_t *entry, ak_error *err);

/* Converts YYYY-MM-DD, a T or a blank, and hh:mm:ss, with or without a fraction and a zone (Z, or +
   or - with hh:mm or hhmm), to the form "2023-02-15T02:00:02.984Z". Further digits of the fraction
   are cut off. A time without a zone counts as UTC. Returns false for any other text and for years
   before 1900. */
#define AK_TIMESTAMP_BYTES 32
bool ak_format_timestamp(char out[AK_TIMESTAMP_BYTES], const char *text);
/* Reads such a text as seconds since 1970. Returns false for NULL and for what the function above
   refuses. */
bool ak_format_seconds(double *out, const char *text);

/* Computes median and interval from the samples, if there are any. */
void ak_format_summarise(ak_trial *trial);

/* Convert between the milliseconds of files and the nanoseconds of ak_trial. ak_format_ns makes 0
   of a time that is negative or longer than 30 years. */
int64_t ak_format_ns(double ms);
double ak_format_ms(int64_t ns);

/* Gives an object with "hash" and, if the archive knows them, the facts that were hashed. */
ak_status ak_format_environment(json_t **out, ak_archive *archive, const char *hash, ak_error *err);
/* Gives the result of a trial's run, with configurations as texts; of a run over many sizes, the
   result at the trial's size. *out is NULL if there is none. */
ak_status ak_format_result(json_t **out, ak_archive *archive, const ak_trial *trial, ak_error *err);
/* Returns the entry of a configuration among the candidates of a result. Returns NULL if the result
   is NULL, its best configuration is another one, or no candidate has it. */
const json_t *ak_format_best_entry(const json_t *result, const char *config);
/* Sets what the result of a trial's run says: "baseline", the fastest library with the verdict on
   the trial's configuration, "over_default", the configuration's speed over the default, and
   "warnings"; each null if it is not known. The verdict and "over_default" are also null if the
   configuration is not the run's best. */
ak_status ak_format_set_evidence(json_t *object, ak_archive *archive, const ak_trial *trial,
                                 ak_error *err);

/* Gives the document of dispatch.json: for each size the configuration that the latest matching run
   over many sizes chose. Fails if a trial refutes one of them at the size that it is for. Runs on
   recordings match only if the filter names a device, environment or run. A filter that is NULL
   matches all other runs; one that names a size is refused. */
ak_status ak_format_dispatch_table(json_t **out, ak_archive *archive,
                                   const ak_archive_filter *filter, ak_error *err);

/* Returns the number, from 1, of a configuration in the "table" of such a run; 0 if the table does
   not have it. `config` is the index by which the result names the configuration. */
size_t ak_format_place_in(const json_t *table, const json_t *config);

/* ---- finishes (finishes.c) ------------------------------------------------------------------- */

/* The finish of a run measures the winner again, but the archived trial of the winner has only the
   figures of the search. In files that trial therefore has a member "finish" with the figures from
   the finish of its own run, and a list "finishes" with those from later runs that took the trial
   over (--resume). Each element of the list also has "run" and "started". A run over many sizes
   measures the winners of its sizes side by side; these figures replace those of the runs at one
   size alone. */

/* Gives an object with the figures from the finishes of all runs in an archive. Each key is the id
   of a winner's trial, each value a list like "finishes" that includes the trial's own run. */
ak_status ak_finishes_read(json_t **out, ak_archive *archive, ak_error *err);
/* Sets "finish" and "finishes" in the JSON of a trial, for the finishes that the trial won. */
ak_status ak_finishes_set(json_t *object, const json_t *finishes, const ak_trial *trial,
                          ak_error *err);
/* Stores "finish" and "finishes" of a file's entry as the results of their runs, if these were
   imported and have no result yet. A run of "finishes" that is not in the archive is added, marked
   as imported. `trial` is the one that was imported from the entry. */
ak_status ak_finishes_import(ak_archive *archive, const ak_trial *trial, const json_t *entry,
                             const char *where, ak_error *err);

#endif
