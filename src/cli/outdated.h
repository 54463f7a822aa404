/* outdated.h: says which results come from an earlier version of a kernel. */
#ifndef AK_CLI_OUTDATED_H
#define AK_CLI_OUTDATED_H

#include "cli/task_args.h"

/* Prints a sentence for each kernel, and each environment, in which trials of the list measured an
   earlier version: on standard output or, with `warning`, as a warning on standard error. */
ak_status ak_say_changed(ak_archive *archive, const ak_trial *list, size_t count,
                         const ak_args *args, bool warning, ak_error *err);
/* Does the same as ak_say_changed for all trials that match the filter. */
ak_status ak_say_changed_matching(ak_archive *archive, const ak_archive_filter *filter,
                                  const ak_args *args, bool warning, ak_error *err);
/* Append the sentences of ak_say_changed or ak_say_changed_matching to a list, in words for an MCP
   client, which has tools and no command line. The kernel is looked for at `operand` first. */
ak_status ak_list_changed(json_t *out, ak_archive *archive, const ak_trial *list, size_t count,
                          const char *operand, ak_error *err);
ak_status ak_list_changed_matching(json_t *out, ak_archive *archive,
                                   const ak_archive_filter *filter, const char *operand,
                                   ak_error *err);

#endif
