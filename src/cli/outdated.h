/* outdated.h: says which results are of kernels that have changed since, and keeps an export from
   replacing another kernel's file. */
#ifndef AK_CLI_OUTDATED_H
#define AK_CLI_OUTDATED_H

#include "cli/task_args.h"

/* Prints a sentence for each kernel that has changed since some of these trials measured it:
   between the results or, with `warning`, as a warning on standard error. */
ak_status ak_say_changed(ak_archive *archive, const ak_trial *list, size_t count,
                         const ak_args *args, bool warning, ak_error *err);
/* Does the same for all trials that match. */
ak_status ak_say_changed_matching(ak_archive *archive, const ak_archive_filter *filter,
                                  const ak_args *args, bool warning, ak_error *err);

/* Refuses, without --force, to replace a file that export did not write for the same kernel:
   production code may be using it. `path` "-" is standard output. */
ak_status ak_check_target(const char *path, const char *kernel, const ak_args *args, ak_error *err);

#endif
