/* search_args.h: what the options of searches ask for: the language model of --llm, and the
   recordings that --like names, whose best configurations are tried first. */
#ifndef AK_CLI_SEARCH_ARGS_H
#define AK_CLI_SEARCH_ARGS_H

#include "cli/options.h"

typedef struct ak_like_files {
    ak_recording *list[AK_LIKES_MAX];
    size_t count;
    bool none; /* --like none: neither recordings nor the archive are used */
} ak_like_files;

/* Warns of what was left out of the file of a recording. */
void ak_warn_left_out(const char *path, const ak_recording *recording);
ak_status ak_like_files_open(ak_like_files *out, const ak_args *args, ak_error *err);
void ak_like_files_close(ak_like_files *files); /* also needed after a failed open */

/* Fills *out from the --llm options. It borrows its texts from `args` and keeps the pointer
 * `cancel`. */
void ak_llm_args(ak_llm_options *out, const ak_args *args, const volatile int *cancel);

#endif
