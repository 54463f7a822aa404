/* task_args.h: what commands that work on a kernel share: from options to a task and
   configurations, from trials and contestants to tables. */
#ifndef AK_CLI_TASK_ARGS_H
#define AK_CLI_TASK_ARGS_H

#include "base/buf.h"
#include "cli/command.h"
#include "cli/output.h"

/* What the options say about a task; texts are borrowed. */
void ak_args_spec(ak_task_spec *spec, const ak_args *args);
/* The task that the options describe. A best_config.json among the --config gives what they leave
   open: device, implementation, size, dtype, choices. */
ak_status ak_args_task(ak_task **out, const ak_args *args, ak_error *err);

/* Puts another in its place where several implementations can do it and what was measured or, with
   `race`, is measured now, speaks for that one (ak_task_choose). */
ak_status ak_args_measured_task(ak_task **task, const ak_args *args, ak_archive *archive, bool race,
                                ak_error *err);
/* The same for commands that only read the archive. */
ak_status ak_args_known_task(ak_task **out, const ak_args *args, ak_error *err);

/* A configuration to measure or check, with the name that tables show. */
typedef struct ak_candidate {
    ak_config config;
    char name[64];
} ak_candidate;
/* The --config options, or the default where there are none. At most AK_CONFIGS_MAX. */
ak_status ak_args_candidates(ak_candidate *out, size_t *count, const ak_args *args,
                             const ak_task *task, ak_error *err);
/* Canonical text (ak_free). */
ak_status ak_config_text(char **out, const ak_space *space, const ak_config *config, ak_error *err);
/* A value as it is written in a configuration. */
void ak_value_show(char *out, size_t bytes, const ak_value *value);

/* "matmul  M=64,N=64,K=64  f32  on host (host)" */
void ak_task_print(const ak_task *task);
/* kernel, implementation, device, size, dtype, choices as members of `object`. */
bool ak_task_json(json_t *object, const ak_task *task);

/* Libraries and candidates, as re-measured. */
/* A version longer than this stands below the table and not beside the name. */
#define AK_VERSION_BESIDE 32
void ak_contestants_print(const ak_contestant *list, size_t count);
/* What makes a comparison less sure than its intervals say. */
void ak_warnings_print(char *const *texts, size_t count);

/* Suggests the command `verb` on the same kernel and task: the kernel as it was given, and again
   the options of this command line that the other command takes too. The size is repeated where it
   was given, by an option or by a best_config.json, and where `sized` says so. */
void ak_next_on_task(const char *verb, const char *why, const ak_args *args, const ak_task *task,
                     bool sized);
/* Suggests a command on the same archive; `words` is the whole command. */
void ak_next_on_archive(const char *words, const char *why, const ak_args *args);
/* An argument as the shell takes it, in quotes where it needs them. */
void ak_quote(ak_buf *out, const char *word);

/* Opens the archive to read it: one that --archive names must be there already. A configured or the
   default one is created, as it is empty rather than missing before the first run. */
ak_status ak_args_archive(ak_archive **out, const ak_args *args, ak_error *err);
/* "1 trial", "2 trials": the ending of a counted noun. */
const char *ak_plural(size_t count);

/* The archive and what the options and the optional KERNEL select of it. */
typedef struct ak_selection {
    ak_archive *archive;
    ak_archive_filter filter; /* texts belong to the arguments and to the members below */
    char *kernel;             /* NULL: all */
    ak_task *task;            /* NULL unless sizes or choices had to be understood */
} ak_selection;
/* KERNEL is a kernel as everywhere or, if trials of that name are archived, just a name. */
ak_status ak_selection_open(ak_selection *out, const ak_args *args, ak_error *err);
void ak_selection_close(ak_selection *selection);

/* Ctrl-C and SIGTERM set ak_interrupted; the second one ends the process at once with 130. */
extern volatile int ak_interrupted;
void ak_catch_interrupts(void);

#endif
