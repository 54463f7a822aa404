/* elsewhere.h: collects results from which a run may learn: recordings that the caller names, or
   else the archive's trials of the same kernel at other sizes, in other types and on other
   devices. */
#ifndef AK_TUNER_ELSEWHERE_H
#define AK_TUNER_ELSEWHERE_H

#include "problem/task.h"
#include "strategy/like.h"

/* Collects results from which this run may learn. *out is NULL if there are none; the caller frees
   it with ak_like_free. From the archive it takes trials of the same kernel and implementation but
   of another task. Trials on recordings serve only recordings, trials on devices only devices. The
   nearest places come first; distances between sizes count in doublings. */
ak_status ak_elsewhere(ak_like **out, const ak_task *task, ak_archive *archive,
                       const ak_tune_options *options, ak_error *err);

/* Adds the files of the recordings, or ["none"], to the record of a run. */
bool ak_elsewhere_record(json_t *object, const ak_tune_options *options);

/* Returns the distance of two sizes such as "M=512,N=64": the sum of |log2(x / y)| over their pairs
   of extents x and y; infinity if the sizes are not of one kernel. Unless it is infinite, sets
   *alike (may be NULL) to whether each extent is a multiple of 8 in both sizes or in neither: rows
   that are not aligned to vectors may favour another implementation. */
double ak_near_sizes(bool *alike, const char *a, const char *b);

#endif
