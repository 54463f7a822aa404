/*
 * evaluate.h: decides how a trial, a check and a comparison run, on any backend. It runs in the
 * device's worker process and knows nothing of messages.
 *
 * A trial first runs the candidate at an edge-case shape of little work, unless it supports no such
 * shape or was compiled only for the task's own shape, and then at the task's own shape, with
 * outputs filled anew and everything judged (stage.h). Then it times the candidate batch after
 * batch (timer.h), with outputs filled again before each batch; the first batch, randomly chosen
 * ones and the last are judged, those of a problem that works in place only if they leave the
 * result of a single call. Batches that warm up (timer.h) are filled and judged like those that
 * count, so that a kernel cannot be right at first and later wrong and fast.
 *
 * A comparison loads all candidates at once, on a CPU each in its own process, on the same buffers.
 * In each round each candidate that has not failed runs one batch, in random order and on the same
 * inputs, so that a disturbance of the machine affects all alike. Rounds come in groups. Before as
 * many groups as a fifth of the time allows, candidates are loaded anew, on a CPU in new processes;
 * libraries are loaded anew only on a CPU. So the luck of one process, such as where its pages lie,
 * is not taken for a property of the code (measure/verdict.h).
 */
#ifndef AK_JUDGE_EVALUATE_H
#define AK_JUDGE_EVALUATE_H

#include "judge/comparison.h"
#include "judge/stage.h"
#include "measure/timer.h"

/* Opens the device and prepares the task's shape. Refuses a problem (AK_INVALID) whose tolerance
   accepts the wrong results that are tried. The task must outlive the evaluator; `folder` takes
   temporary files. */
ak_status ak_evaluator_open(ak_evaluator **out, const ak_backend_ops *backend, const ak_task *task,
                            const char *folder, ak_error *err);
void ak_evaluator_close(ak_evaluator *evaluator);
/* Returns whether the device judges the results at the task's own shape (else the host does) and
   gives the times that opening took. */
bool ak_evaluator_preparation(ak_stage_times *out, const ak_evaluator *evaluator);

/* Returns how long one batch of a trial may take, at most `most`. If the plan has a give_up_ms, a
   batch that takes 200 times that, plus 2 s for new pages and threads, counts as hung. */
int64_t ak_evaluate_limit(const ak_timer_plan *plan, int64_t most);

/* Fills status, reason, largest error, times, samples, statistics and, if the objective needs it,
   energy of `out`, which the caller clears. *conditions gets those of the timing. */
ak_status ak_evaluate_trial(ak_trial *out, ak_conditions *conditions, ak_evaluator *evaluator,
                            const ak_judge_candidate *candidate, const ak_timer_plan *plan,
                            int64_t timeout_ns, ak_error *err);
/* Returns the time limit for a launch of a candidate: a time that no right kernel needs, derived
   from the time in which the host or the device made the reference when the evaluator was opened
   (`reference_ns`; 0: not known), and at most `most`. */
int64_t ak_evaluate_plain_limit(int64_t reference_ns, int64_t most);
/* Judges a candidate at all shapes that it supports, hidden ones included, and times nothing. Fills
   status, reason, largest error and the time of the check of `out`, which the caller clears. */
ak_status ak_evaluate_check(ak_trial *out, ak_evaluator *evaluator,
                            const ak_judge_candidate *candidate, int64_t timeout_ns, ak_error *err);
/* Fills one entry of `out` for each candidate. The caller clears the entries, also on failure. */
ak_status ak_evaluate_comparison(ak_comparison_entry *out, ak_comparison_course *course,
                                 ak_evaluator *evaluator, const ak_comparison_request *request,
                                 ak_error *err);

/* Returns whether the latest candidate got no verdict because the machine was too busy; its status
   is then `timed_out`, and it may be tried again. */
bool ak_evaluator_unjudged(const ak_evaluator *evaluator);
/* Returns whether threads waited for a processor in so many batches of the latest trial that these
   batches count, too. */
bool ak_evaluator_waited(const ak_evaluator *evaluator);
/* Gives the UUID of the device, "" if it has none. */
void ak_evaluator_uuid(char *out, size_t bytes, const ak_evaluator *evaluator);

/* Measures the ceilings; out->measured is false if the backend measures none. */
ak_status ak_evaluate_ceilings(ak_ceilings *out, ak_evaluator *evaluator, ak_error *err);
/* Lists the libraries that the task asks for (ak_task_spec). Each is listed in the version that it
   chooses by itself and, if another version is faster at the task's shape, in that version, too.
   Free the list with ak_baseline_info_free. */
ak_status ak_evaluate_baselines(ak_baseline_info **out, size_t *count, ak_evaluator *evaluator,
                                ak_error *err);

#endif
