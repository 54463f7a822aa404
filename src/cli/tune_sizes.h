/* tune_sizes.h: runs `tune --sizes`: one kernel, many sizes. */
#ifndef AK_CLI_TUNE_SIZES_H
#define AK_CLI_TUNE_SIZES_H

#include "cli/command.h"
#include "cli/progress.h"

/* Tunes all sizes and returns the exit code. Opens and closes `progress`, to which the event sink
   in `options` must report. */
int ak_tune_sizes_run(const ak_args *args, const ak_tune_options *options, ak_progress *progress);

#endif
