/* like_args.h: opens the recordings that --like names, whose best configurations are tried
   first. */
#ifndef AK_CLI_LIKE_ARGS_H
#define AK_CLI_LIKE_ARGS_H

#include "cli/command.h"

typedef struct ak_like_files {
    ak_recording *list[AK_LIKES_MAX];
    size_t count;
    bool none; /* --like none: neither recordings nor the archive are used */
} ak_like_files;

/* Warns of what was left out of the file of a recording. */
void ak_warn_left_out(const char *path, const ak_recording *recording);
ak_status ak_like_files_open(ak_like_files *out, const ak_args *args, ak_error *err);
void ak_like_files_close(ak_like_files *files); /* also needed after a failed open */

#endif
