/* wide.h: tunes many sizes side by side on the workers of a launcher. */
#ifndef AK_CLI_WIDE_H
#define AK_CLI_WIDE_H

#include "cli/options.h"
#include "cli/size_list.h"

/* Runs `autokernel tune --size` for each size, with one worker each and as many at once as the
   launcher has places. All of them write into the archive of the arguments, from which the run over
   many sizes takes their results. A size that fails is left to that run. A size
   whose worker does not come or is lost is tuned by another, and the worker rests, so that a node
   where nothing starts does not take all sizes. Returns AK_CANCELLED after
   Ctrl-C. */
/* Returns whether this process tunes one size of such a run. */
bool ak_wide_part(void);
ak_status ak_wide_tune(const ak_size_list *list, const ak_args *args, ak_error *err);

#endif
