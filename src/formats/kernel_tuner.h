/*
 * kernel_tuner.h: helps to read and write Kernel Tuner's files. It parses JSON as Python writes it
 * and caches of stopped runs, checks entries against their keys, and translates the names of
 * errors, objectives and processors.
 */
#ifndef AK_FORMATS_KERNEL_TUNER_H
#define AK_FORMATS_KERNEL_TUNER_H

#include "base/json.h"

/* Parses JSON as Python writes it: NaN, Infinity and -Infinity, which JSON does not allow, become
   null. */
ak_status ak_python_json_parse(json_t **out, const char *text, size_t length, const char *path,
                               ak_error *err);

/* Parses a cache file and closes it if its run was stopped: Kernel Tuner appends entries as it goes
   and closes the file at the end of a run. An incomplete entry is left out; *left_out, which is
   else unchanged, becomes a constant text that says so. */
ak_status ak_kernel_tuner_parse(json_t **out, const char **left_out, const char *text,
                                size_t length, const char *path, ak_error *err);

/* Fails with AK_INVALID, "WHERE: ...", if an entry of a cache contradicts its key, or if its time
   is far outside its times. A value that "tune_params" does not list is no contradiction: there are
   files whose head lacks some. A key that has more or fewer parts than there are parameters is not
   compared. */
ak_status ak_kernel_tuner_agrees(const json_t *file, const char *key, const json_t *entry,
                                 const char *where, ak_error *err);

/* Returns Kernel Tuner's name for the status of a trial; NULL for AK_TRIAL_OK. */
const char *ak_kernel_tuner_fault_name(ak_trial_status status);

/* Gives the status of a cache entry and the name of its error, borrowed from `entry`: AK_TRIAL_OK
   and NULL if no member names one. Kernel Tuner 1.5.0 writes a member "__error__"; older files have
   the name in place of the time or of the objective. Returns AK_INVALID for an unknown error. */
ak_status ak_kernel_tuner_fault(ak_trial_status *out, const char **name, const json_t *entry,
                                const char *where, ak_error *err);

/* Gives the objective of a file: a text or, in 1.5.0, a list, whose first entry counts; "time" if
   the file names none. */
ak_status ak_kernel_tuner_objective(const char **out, const json_t *file, const char *where,
                                    ak_error *err);

/* Gives the name that Kernel Tuner uses for this machine's processor, which is also its name for
   the device of its C backend. As in Python's platform.processor(), this is what `uname -p` prints,
   or "" if that fails, takes more than 10 s, or prints "unknown" or a name that is too long. */
#define AK_KERNEL_TUNER_NAME_BYTES 128
void ak_kernel_tuner_processor(char out[AK_KERNEL_TUNER_NAME_BYTES]);

#endif
