/* search_args.h: what the options of searches ask for: the language model of --llm, and the
   recordings that --like names, whose best configurations are tried early. */
#ifndef AK_CLI_SEARCH_ARGS_H
#define AK_CLI_SEARCH_ARGS_H

#include "cli/options.h"

typedef struct ak_like_files {
    ak_recording *list[AK_LIKES_MAX];
    size_t count;
    bool none; /* --like none: neither recordings nor the archive are used */
} ak_like_files;

/* Warns if something in a recording's file was left out. */
void ak_warn_left_out(const char *path, const ak_recording *recording);
ak_status ak_like_files_open(ak_like_files *out, const ak_args *args, ak_error *err);
void ak_like_files_close(ak_like_files *files); /* also needed after a failed open */

/* Fills *out from the --llm options and --seed. Its texts are borrowed from `args`; it keeps the
   pointer `cancel`. */
void ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel);

/* ---- what study and simulate share (keep_study.c) -------------------------------------------- */

/* Returns whether the operand is taken as a recording: it is a file, and no kernel in the T1
   format. */
bool ak_study_of_file(const ak_args *args);
/* Adds the command line to `result` as "command", and `result` to the archive; `kind` is "study" or
   "simulate". A failure is only a warning, because the result is printed in any case. */
void ak_keep_study(const ak_args *args, const char *kind, json_t *result);

/* Refuses a --format that is not among `formats`, which ends with NULL. */
ak_status ak_study_format(const ak_args *args, const char *kind, const char *const *formats,
                          ak_error *err);
/* Returns whether --format, or --json for "json", asks for this format. */
bool ak_study_asks(const ak_args *args, const char *format);
/* Prints the page of a result to which ak_keep_study has added the command line. */
ak_status ak_study_print_page(const char *kind, const json_t *result, ak_error *err);

#endif
