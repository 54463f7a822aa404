/*
 * evaluate.h: the policy of a trial, a check and a duel, on any backend. Lives in the device's
 * worker process; knows nothing of messages.
 *
 * A trial. The candidate first runs once at an awkward shape, unless it was compiled for the task's
 * own alone, and once at that, outputs poisoned, everything judged (stage.h). Then it is timed,
 * batch after batch (timer.h), with outputs poisoned anew before each batch; the first, randomly
 * chosen others and the last are judged. So there is no warm-up during which a kernel could be
 * right, and later wrong and fast.
 *
 * A duel. All contestants are loaded at once, each in its own process on the same buffers; in each
 * round each runs one batch, in random order, so that what disturbs the machine disturbs all alike.
 */
#ifndef AK_WORKER_EVALUATE_H
#define AK_WORKER_EVALUATE_H

#include "backend/backend.h"
#include "measure/timer.h"
#include "worker/pool.h"
#include "worker/stage.h"

#define AK_CONTESTANTS_MAX 32

typedef struct ak_evaluator ak_evaluator;

/* Opens the device and prepares the task's shape; refuses a problem whose tolerance would accept
   wrong results. The task must outlive it. `folder` is for temporary files. */
ak_status ak_evaluator_open(ak_evaluator **out, const ak_backend_ops *backend, const ak_task *task,
                            const char *folder, ak_error *err);
void ak_evaluator_close(ak_evaluator *evaluator);
/* Where results are judged, on the device or on the host, and what opening took. */
bool ak_evaluator_preparation(ak_stage_times *out, const ak_evaluator *evaluator);
/* Has the device had an error that only a new process cures? */
bool ak_evaluator_lost(const ak_evaluator *evaluator);

typedef struct ak_entrant {
    const char *artifact; /* or NULL: a baseline */
    ak_config config;
    bool own_size;        /* the artifact is for the task's own sizes only */
    const char *baseline; /* "openblas", "openblas:Haswell", "openblas:BEST" */
} ak_entrant;

/* Fills status, reason, times, samples and statistics of `out`, which the caller clears. */
ak_status ak_evaluate_trial(ak_trial *out, ak_conditions *conditions, ak_evaluator *evaluator,
                            const ak_entrant *entrant, const ak_timer_plan *plan,
                            int64_t timeout_ns, ak_error *err);
ak_status ak_evaluate_check(ak_trial *out, ak_evaluator *evaluator, const ak_entrant *entrant,
                            int64_t timeout_ns, ak_error *err);
/* `out` has one entry for each entrant; the caller frees reasons, versions and samples, also on
   failure. */
ak_status ak_evaluate_duel(ak_duel_entry *out, ak_evaluator *evaluator, const ak_entrant *entrants,
                           size_t count, const ak_duel_plan *plan, int64_t timeout_ns,
                           ak_error *err);

/* "" if the device has none. */
void ak_evaluator_uuid(char *out, size_t bytes, const ak_evaluator *evaluator);

ak_status ak_evaluate_ceilings(ak_ceilings *out, ak_evaluator *evaluator, ak_error *err);
/* Of each library as it dispatches by itself and, where another of its versions is faster at the
   task's shape, that one. Free with ak_baseline_info_free. */
ak_status ak_evaluate_baselines(ak_baseline_info **out, size_t *count, ak_evaluator *evaluator,
                                ak_error *err);

#endif
