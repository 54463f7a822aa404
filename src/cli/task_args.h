/*
 * task_args.h: what commands on a kernel share.
 *
 *   task_args.c     turns options into a task and its configurations
 *   selection.c     turns options into a selection of the archive's trials
 *   next_command.c  suggests the next command
 *   interrupts.c    catches Ctrl-C, SIGTERM and SIGHUP
 */
#ifndef AK_CLI_TASK_ARGS_H
#define AK_CLI_TASK_ARGS_H

#include "cli/command.h"
#include "cli/output.h"

/* Copies the operand and the options about a task into *spec; texts are borrowed. A text whose
   option is not given stays as it is. */
void ak_args_spec(ak_task_spec *spec, const ak_args *args);
/* Opens the task that the options describe. If --config names a best_config.json or, without one, a
   trial, the device, implementation, size, dtype and options of the first such are used where no
   other option gives them. The NAME: before a configuration gives the implementation if --impl does
   not. Warns if --size leaves out sizes. */
ak_status ak_args_task(ak_task **out, const ak_args *args, ak_error *err);
/* Opens the task for a command that will not run it: a data sheet replaces a device that this
   machine lacks, and --config is not read. */
ak_status ak_args_look(ak_task **out, const ak_args *args, ak_error *err);

/* If the kernel has several implementations and --impl names none, replaces *task by that of the
   implementation which ak_task_choose finds: the one measured fastest in the archive or, with
   `race`, now; else that of *task. */
ak_status ak_args_measured_task(ak_task **task, const ak_args *args, ak_archive *archive, bool race,
                                ak_error *err);
/* Calls ak_args_task and then ak_args_measured_task without `race`, for commands that measure or
   check given configurations. */
ak_status ak_args_known_task(ak_task **out, const ak_args *args, ak_error *err);

/* Writes a warning if --size, which may also be set to an element of --sizes, names some sizes of
   the task and leaves out others, which is most often an oversight. */
void ak_default_sizes(ak_buf *out, const ak_task *task, const ak_args *args);
/* Warns of the items of --sizes that name some sizes and leave out others. Items that are wrong are
   left to whoever opens them. */
void ak_warn_listed_sizes(const ak_args *args, const char *const *items, size_t count);
/* Warns of what ak_task_ignored and ak_task_unused find. */
void ak_warn_ignored(const ak_task *task);

/* ak_config_prefix returns the length of the "NAME:" by which a configuration names its
   implementation, 0 without one. ak_config_length returns the length of the first configuration of
   a --config: up to a ';' or, for "@FILE", to the end. */
size_t ak_config_prefix(const char *text);
size_t ak_config_length(const char *text);

/* A configuration to measure or check, with the name that tables show. */
typedef struct ak_candidate {
    ak_config config;
    char name[64];
    char invalid[400]; /* why the task's space does not have it; "" if it does */
} ak_candidate;
/* Reads the configurations of --config, at most AK_CONFIGS_MAX, or without --config the default. */
ak_status ak_args_candidates(ak_candidate *out, size_t *count, const ak_args *args,
                             const ak_task *task, ak_error *err);
/* Does the same as ak_args_candidates for a command with several sizes: a configuration that is not
   valid for this task is no error, and its `invalid` says why. */
ak_status ak_args_candidates_marked(ak_candidate *out, size_t *count, const ak_args *args,
                                    const ak_task *task, ak_error *err);
/* Returns AK_INVALID; the error has the reason in the candidate's `invalid`. */
ak_status ak_candidate_refuse(const ak_candidate *candidate, const ak_task *task, ak_error *err);
/* Writes a value as tables show it: "true", "64", "0.5", "[1 2]". */
void ak_value_show(char *out, size_t bytes, const ak_value *value);

/* Prints "matmul  M=64,N=64,K=64  f32  on host (implementation host)", the reference, and why this
   implementation or the device's data sheet was chosen (ak_task_reason). */
void ak_task_print(const ak_task *task);
/* Sets kernel, implementation, device, size, dtype, options ("choices"), the reason for the
   implementation and the reference as members of `object`. Returns false if memory is out. */
bool ak_task_json(json_t *object, const ak_task *task);
/* Returns the same members with parameters, conditions and counts: the object of `autokernel list
   KERNEL --json` (cmd_list.c). NULL: no memory. */
json_t *ak_space_json(const ak_task *task);
/* Returns the names of a kernel's implementations (cmd_list.c). NULL: no memory. */
json_t *ak_implementations_json(const ak_problem *problem);

/* Suggests the command `verb`, perhaps with flags ("check --sanitize"), on the same task. The
   kernel is repeated as it was given, except for `export` on a recording, which takes the kernel's
   name. The options that were typed to choose the task are repeated too, as far as the other
   command takes them. If a best_config.json or a trial gave parts of the task, these are repeated
   too, and with `with_size` the size. */
void ak_next_on_task(const char *verb, const char *why, const ak_args *args, const ak_task *task,
                     bool with_size);
/* Suggests importing the file with the results that the archive could not take. Returns false, and
   prints nothing, if there is none. */
bool ak_next_import(const ak_archive *archive, const ak_args *args);
/* Suggests the present command line of `tune` with --resume added. */
void ak_next_resume(const ak_args *args);
/* Suggests a command: `words` with `name`, in quotes if it needs them, in place of "%s" or, if they
   have none, behind them (NULL: no name). */
void ak_next(const char *words, const char *name, const char *why);
/* Does the same as ak_next for a command on the same archive. */
void ak_next_on_archive(const char *words, const char *name, const char *why, const ak_args *args);
/* Does the same as ak_next_on_archive for a command on the trials that were shown. It repeats a
   --device that names a recording, without which the command would leave out trials on
   recordings. */
void ak_next_on_shown(const char *words, const char *name, const char *why, const ak_args *args);

/* Opens the archive without creating it. An archive that --archive names must exist; the default
   archive, or that of a setting, counts as empty if it does not exist. */
ak_status ak_args_archive(ak_archive **out, const ak_args *args, ak_error *err);
/* If the archive has ok trials from several environments (machines, compilers, sources) for the
   task of `taken`, prints from which one `taken` is. */
ak_status ak_say_environment(ak_archive *archive, const ak_trial *taken, ak_error *err);
/* Says which trials of a list have times that another machine may have measured, because they were
   imported. Names at most 8, and none on recordings. Prints nothing if there are none. */
void ak_say_imported(ak_archive *archive, const ak_trial *list, size_t count);

/* The archive, and the filter that the options and the optional operand KERNEL describe. */
typedef struct ak_selection {
    ak_archive *archive;
    ak_archive_filter filter; /* its texts belong to the arguments and to the members below */
    char *kernel;             /* NULL: all kernels */
    ak_problem *problem;      /* NULL: there is no operand, or the archive knows its name and no
                                 folder here of that name is a kernel */
    char *place;              /* operand with which commands find the kernel; NULL: not known */
    char *named;              /* `place`, quoted if needed, or "KERNEL" if that is NULL; NULL: all
                                 kernels */
    char *run;                /* the whole id of --run; NULL: all runs */
    ak_task *task;            /* NULL unless sizes or options had to be parsed */
    ak_task *recorded;        /* NULL unless the device is a recording's file */
} ak_selection;
/* If the filter's device is sim:FILE and the file exists, replaces it by the device name that
   trials on this recording have, a text which *recorded owns. */
ak_status ak_selection_device(ak_task **recorded, ak_archive_filter *filter, ak_error *err);
/* Opens the archive and fills the filter. KERNEL need not be found here if the archive has trials
   of a kernel of this name. */
ak_status ak_selection_open(ak_selection *out, const ak_args *args, ak_error *err);
void ak_selection_close(ak_selection *selection);
/* For a selection that matches nothing: returns how to see the trials on recordings if some of
   these would match, else "". */
const char *ak_selection_hint(const ak_selection *selection);
/* For a selection that matches nothing: names each setting, of the environment or of a file, that
   hides trials, and says how many. */
void ak_selection_say_settings(const ak_selection *selection, const ak_args *args);
/* Prints how many trials on recordings are left out; nothing if there are none, or if the options
   name a device or a run. */
void ak_selection_say_hidden(const ak_selection *selection);
/* Suggests the command that makes trials of the selected kernel, or of matmul if none is selected;
   nothing if the kernel is not found. */
void ak_next_make_some(const ak_selection *selection, const ak_args *args);

/* Set by Ctrl-C, by SIGTERM and, unless that is ignored, by SIGHUP. A Ctrl-C more than a second
   later ends the process at once with exit code 130. */
extern volatile int ak_interrupted;
void ak_catch_interrupts(void);

#endif
