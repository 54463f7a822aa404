/* tune_sizes.h: `tune --sizes`: one kernel for many sizes. */
#ifndef AK_CLI_TUNE_SIZES_H
#define AK_CLI_TUNE_SIZES_H

#include "cli/command.h"
#include "cli/progress.h"

/* Returns the exit code. The options report to the progress, which is opened and closed here. */
int ak_tune_sizes_run(const ak_args *args, const ak_tune_options *options, ak_progress *progress);

#endif
