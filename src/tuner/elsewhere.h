/* elsewhere.h: collects results from which a run may learn: recordings that the caller names, or
   else the archive's trials of the same implementation at other sizes, in other dtypes, with other
   options and on other devices. */
#ifndef AK_TUNER_ELSEWHERE_H
#define AK_TUNER_ELSEWHERE_H

#include "problem/task.h"
#include "strategy/like.h"

/* Collects results from which this run may learn. *out is NULL if there are none or the options
   rule learning out; the caller frees it with ak_like_free. From the archive it takes trials of the
   same kernel and implementation but of other tasks: the nearest few at which a configuration
   worked, the nearest first. Trials on recordings serve only recordings, trials on devices only
   devices; distances between sizes are counted in doublings. */
ak_status ak_elsewhere(ak_like **out, const ak_task *task, ak_archive *archive,
                       const ak_tune_options *options, ak_error *err);

/* Adds to a run's record the files of the recordings that the options name, or ["none"] if they
   rule learning out; adds nothing if they say nothing. Returns false without memory. */
bool ak_elsewhere_record(json_t *object, const ak_tune_options *options);

/* Returns the distance of two sizes such as "M=512,N=64": the sum of |log2(x / y)| over the extents
   x and y with equal names; infinity if the names or their order differ, or if an extent is less
   than 1. Unless it is infinite, *alike (may be NULL) says whether each extent is a multiple of 8
   in both sizes or in neither: rows that are not aligned to vectors may favour another
   implementation. */
double ak_near_sizes(bool *alike, const char *a, const char *b);

#endif
