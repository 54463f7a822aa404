/* earlier.h: finds the result of an earlier run of a task, so that a resumed run over many sizes
   does not repeat what was done. */
#ifndef AK_TUNER_EARLIER_H
#define AK_TUNER_EARLIER_H

#include "problem/task.h"

/* Finds the latest run of this task, with the same --fix, in the present environment that ended
   with a winner and either has at least `evaluations` evaluations, or was exhausted or had
   converged. With `sanitize` it must have run sanitizers. A run whose winner was refuted later does
   not count. Fills in `run`, `resumed` (its evaluations), `found`, and the configurations of `best`
   and of the candidates; the caller clears *out with ak_tune_result_clear. out->found is false if
   there is no such run. */
ak_status ak_earlier_result(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                            size_t evaluations, bool sanitize, ak_error *err);

#endif
