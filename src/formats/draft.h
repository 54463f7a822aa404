/*
 * draft.h: a draft is a recording while a reader fills it from a file. The reader sets the texts of
 * the recording, names the parameters, if the file names them, and then adds one configuration
 * after the other; ak_draft_finish sorts the configurations and builds the space.
 *
 * Internal to formats/. A format in JSON is one file recording_<name>.c with a table
 * ak_recording_<name>, and one line in recordings.def.
 */
#ifndef AK_FORMATS_DRAFT_H
#define AK_FORMATS_DRAFT_H

#include "base/map.h"
#include "formats/format.h"
#include "recording/recording.h"

/* Limit for the configurations of a recording: a few times the size of the largest published space
   that was measured in full. */
#define AK_RECORDING_CONFIGS_MAX 1000000

typedef struct ak_draft_parameter {
    char *name;
    json_t *values; /* as in the file, each once */
    ak_map *places; /* index of each value in `values`, by its key */
    bool ordered;   /* the file gave the order of the values; otherwise numbers are sorted */
} ak_draft_parameter;

typedef struct ak_draft {
    ak_recording *recording; /* the texts that the file does not have are NULL */
    const char *where;       /* the file, for messages */
    json_t *facts;           /* device facts: an object of whole numbers; NULL: none */
    ak_draft_parameter parameters[AK_PARAMETERS_MAX];
    size_t parameter_count;
    size_t config_capacity, record_capacity;
} ak_draft;

typedef struct ak_recording_format {
    const char *name; /* for messages: "a cache file of Kernel Tuner" */
    ak_format_mark mark;
    ak_status (*read)(ak_draft *draft, const json_t *file, ak_error *err);
} ak_recording_format;

#define X(name) extern const ak_recording_format ak_recording_##name;
#include "formats/recordings.def"
#undef X

/* Reads the trials of an archive, which must be of one task: those in the environment of its latest
   trial, less those that passed with a configuration that another trial refutes. Trials on
   recordings count only if the archive has no others. The objective is always the time. */
ak_status ak_recording_read_archive(ak_draft *draft, const char *path, ak_error *err);

/* Frees all but the recording. */
void ak_draft_clear(ak_draft *draft);
/* Replaces *member by a copy of `text`; NULL becomes "". */
ak_status ak_draft_text(char **member, const char *text, ak_error *err);
/* Returns the text of the recording that has this name among those of a task (ak_task_texts). */
char **ak_draft_member(const ak_draft *draft, const char *name);
/* Copies those texts that `names` lists (NULL-terminated) from members of the same names; a text
   whose member is missing stays as it is. */
ak_status ak_draft_take_texts(ak_draft *draft, const json_t *object, const char *const *names,
                              ak_error *err);
/* Returns the name that files of other tools give the objective in a trial's `choices`: "energy",
   "GFLOP/s" for "max:GFLOP/s"; "time" if they could not tell whether more is better. The name may
   lie in `out`. */
const char *ak_draft_objective_of(char out[AK_OBJECTIVE_NAME_BYTES], const char *choices);
/* Sets the name of the objective and whether a higher value is better, which is so only for names
   that draft.c lists, such as "GB/s". If such a name has a slash, it is also the unit. */
ak_status ak_draft_objective(ak_draft *draft, const char *name, ak_error *err);
/* Adds a parameter. `values` lists its values in their order; values that only occur in
   configurations follow them. If `values` is NULL, the values are those that occur in the
   configurations; if all of them are numbers, they are sorted. */
ak_status ak_draft_parameter_add(ak_draft *draft, const char *name, const json_t *values,
                                 ak_error *err);
/* Adds a configuration: an object with a member for each parameter; other members are ignored. If
   no parameter has been named yet, the members of this object become the parameters. Refuses a
   record with status OK whose value is not above 0, or is not finite or has no finite reciprocal,
   and a cost of more than a month. The value of any other record becomes 0. If a configuration has
   several records, the last with status OK counts, or else the last. */
ak_status ak_draft_add(ak_draft *draft, const json_t *config, const ak_record *record,
                       const char *where, ak_error *err);
/* Make the scopes of names that expressions may read; the caller frees them. ak_draft_facts gives
   the device facts of the file. ak_draft_constants gives the sizes, if the recording states them as
   "M=128,N=64", and the dtype; the parent of its scope is `facts`, which must outlive it. */
ak_status ak_draft_facts(ak_scope **out, const ak_draft *draft, ak_error *err);
ak_status ak_draft_constants(ak_scope **out, const ak_draft *draft, const ak_scope *facts,
                             ak_error *err);
/* Makes a ConfigurationSpace that reads only its own parameters (fit.c). If `definition` does so,
   it is taken unchanged. Otherwise the new one has the recorded values, the defaults if a recorded
   value serves for each of them (`constants` may be needed to compute it), and the conditions that
   read only parameters. */
ak_status ak_draft_fit(json_t **out, const ak_draft *draft, const json_t *definition,
                       const ak_scope *constants, const char *where, ak_error *err);
/* Completes the recording and builds its space. `definition` is the ConfigurationSpace of the space
   file `where`, as ak_draft_fit gives it, or NULL. */
ak_status ak_draft_finish(ak_draft *draft, const json_t *definition, const char *where,
                          ak_error *err);

/* A file's word for a status; a row without a word ends the list. */
typedef struct ak_draft_word {
    const char *word;
    ak_trial_status status;
} ak_draft_word;
/* Gives the status that the word in a result's member `key` stands for. Returns AK_INVALID, with a
   list of the known words, for another word. */
ak_status ak_draft_status(ak_trial_status *out, const json_t *result, const char *key,
                          const ak_draft_word *words, const char *where, ak_error *err);
/* Reads the status of a T4 result. Refuses a result that says "correct" and has the correctness 0
   or false. */
ak_status ak_t4_status(ak_trial_status *out, const json_t *result, const char *where,
                       ak_error *err);
/* Refuses a time in ms that is far outside the range of the runtimes of the same result: one of the
   two then has another unit than the file says, or was written by hand. The runtimes are in units
   of `unit_ms` ms. A time or runtime that is not above 0 is not known. */
ak_status ak_draft_check_time(double ms, const json_t *runtimes, double unit_ms, const char *where,
                              ak_error *err);
/* Makes a name, which the caller frees, for the kernel of a file that names none, from the name of
   the file up to the first dot: "folder/A100_T4.json" becomes "A100_T4", ".json" becomes
   "unnamed". */
ak_status ak_t4_name_of_file(char **out, const char *path, ak_error *err);
/* Sets *ms to the milliseconds in the unit of time that the member `key` names. Without that
   member, or if it is "", *ms is unchanged. Unknown units are refused. */
ak_status ak_draft_unit(double *ms, const json_t *object, const char *key, const char *where,
                        ak_error *err);

/* Returns the sum of the members of an object that `keys` names (NULL-terminated). A member that is
   not a number or is negative counts as 0. */
double ak_draft_sum(const json_t *object, const char *const *keys);

#endif
