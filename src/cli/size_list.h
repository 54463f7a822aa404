/* size_list.h: reads --sizes, "256;512;M=64,N=2048,K=64" or "@FILE" with one size a line, and tunes
   all of them one after the other (tune_sizes.c) or side by side on workers (wide.c). */
#ifndef AK_CLI_SIZE_LIST_H
#define AK_CLI_SIZE_LIST_H

#include "cli/progress.h"

typedef struct ak_size_list {
    char *text; /* owns the items */
    const char *items[AK_TUNE_SIZES_MAX];
    size_t count;
} ak_size_list;

/* Reads the value of --sizes. *out is {0} at first, and is freed also after a failure. */
ak_status ak_size_list_read(ak_size_list *out, const char *text, ak_error *err);
void ak_size_list_free(ak_size_list *list);

/* Returns whether ak_wide_tune has started this process, to tune one of its sizes. */
bool ak_wide_part(void);
/* Runs `autokernel tune --size` for each size, with one worker each and as many at once as the
   launcher has places or --workers allows. All of them write into the archive of the arguments. The
   run over many sizes then takes their results from there, and itself tunes the sizes that failed.
   If there are several places, a size whose worker does not start or is lost is queued again, up to
   twice, and its place rests for a while, so that a node where no worker starts does not take all
   sizes. If all places fail again and again, the sizes that are left are not started. Returns
   AK_CANCELLED after an interrupt (ak_catch_interrupts). */
ak_status ak_wide_tune(const ak_size_list *list, const ak_args *args, ak_error *err);

/* Tunes all sizes and returns the exit code. Opens and closes `progress`, to which the event sink
   in `options` must report. */
int ak_tune_sizes_run(const ak_args *args, const ak_tune_options *options, ak_progress *progress,
                      ak_error *err);

#endif
