/* earlier.h: what an earlier run found of a task, so that a run over many sizes that is resumed
   does not measure again what was done. */
#ifndef AK_TUNER_EARLIER_H
#define AK_TUNER_EARLIER_H

#include "problem/task.h"

/* The result of the latest run of this task, in the environment of today, that came to its end with
   a winner and has at least so many evaluations or had no more to try. Of the result:
   `run`, `resumed` (its evaluations), `found`, and the configurations of `best` and of the
   contestants; the caller clears it (ak_tune_result_clear). *known is false if there is none. */
ak_status ak_earlier_result(bool *known, ak_tune_result *out, const ak_task *task,
                            ak_archive *archive, size_t evaluations, ak_error *err);

#endif
