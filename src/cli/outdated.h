/* outdated.h: says which results come from an earlier version of a kernel. */
#ifndef AK_CLI_OUTDATED_H
#define AK_CLI_OUTDATED_H

#include "cli/task_args.h"

/* Where the sentences go. */
typedef struct ak_outdated_to {
    const char *operand; /* the kernel is looked for here first; NULL: no operand names it */
    bool warning;        /* true: to standard error, as warnings; false: to standard output */
    json_t *list;        /* unless NULL, sentences are added here and not printed, in words for an
                            MCP client, which has tools and no command line */
} ak_outdated_to;
/* Returns where sentences about a command line's kernel go: to standard output or, with `warning`,
   to standard error. */
ak_outdated_to ak_outdated_on(const ak_args *args, bool warning);

/* Says a sentence for each kernel and environment whose trials in the list measured an earlier
   version of the kernel. Trials without an environment are ignored, and so are those of further
   pairs after the first 32. */
ak_status ak_say_changed(ak_archive *archive, const ak_trial *list, size_t count,
                         const ak_outdated_to *to, ak_error *err);
/* Does the same for all trials that match the filter. */
ak_status ak_say_changed_matching(ak_archive *archive, const ak_archive_filter *filter,
                                  const ak_outdated_to *to, ak_error *err);
/* Does the same for the trials of the run whose dispatch table `text` is (dispatch.json). */
ak_status ak_say_changed_table(ak_archive *archive, const char *text, const ak_outdated_to *to,
                               ak_error *err);

#endif
