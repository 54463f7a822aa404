/* wide.h: tunes many sizes side by side on the workers of a launcher. */
#ifndef AK_CLI_WIDE_H
#define AK_CLI_WIDE_H

#include "cli/options.h"
#include "cli/size_list.h"

/* Returns whether ak_wide_tune has started this process, to tune one of its sizes. */
bool ak_wide_part(void);
/* Runs `autokernel tune --size` for each size, with one worker each and as many at once as the
   launcher has places. All of them write into the archive of the arguments. The run over many sizes
   then takes their results from there, and itself tunes the sizes that failed. A size whose worker
   does not start or is lost is queued again, and its place rests for a while, so that a node where
   no worker starts does not take all sizes. Returns AK_CANCELLED after Ctrl-C. */
ak_status ak_wide_tune(const ak_size_list *list, const ak_args *args, ak_error *err);

#endif
