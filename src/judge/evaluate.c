/*
 * evaluate.c: a trial and a check of a candidate. In a trial it is judged at one edge-case shape
 * and the task's own (loaded.h), then batches are timed, then calls alone (alone.h). A check judges
 * it at all shapes that it supports, hidden ones included, and times nothing.
 */
#include "judge/evaluate.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "judge/loaded.h"

/* ak_evaluate_limit (evaluate.h) explains these two numbers. */
#define HUNG_TIMES    200.0
#define HUNG_LEAST_NS (2 * AK_SECOND_NS)
/* If this variable is set, it is the largest number of samples of a trial, and batches are SHORTER
   times shorter; a timer plan that sets these numbers itself keeps them. Tests that are not about
   times set it: on a busy machine no interval is narrow enough before the last sample, so most of
   the processor time of a short run would go into batches. */
#define SAMPLES_VARIABLE "AUTOKERNEL_SAMPLES"
#define SHORTER          10

static ak_status conclude(ak_trial *out, const ak_loaded *r, ak_error *err)
{
    out->status = r->outcome.status;
    out->max_error = r->max_error;
    return out->status != AK_TRIAL_OK ? ak_copy_text(&out->reason, r->outcome.reason, err)
                                      : ak_loaded_say_unseen(&out->reason, r, err);
}

static ak_status keep_samples(ak_trial *out, const ak_timer *timer, ak_error *err)
{
    ak_stats stats;
    ak_stats_of(&stats, timer->samples_ms, timer->sample_count);
    AK_DO(AK_NEW(out->samples_ms, timer->sample_count, err));
    memcpy(out->samples_ms, timer->samples_ms, timer->sample_count * sizeof(double));
    out->sample_count = timer->sample_count;
    out->median_ms = stats.median;
    out->ci_low_ms = stats.low;
    out->ci_high_ms = stats.high;
    return AK_OK;
}

/* Removes disturbed samples: a wait for a processor is the scheduler's doing and says nothing about
   how long a batch takes. Returns false, with nothing removed, if some are disturbed and removing
   them would remove more than half or leave fewer than CLEAN_MIN. */
static bool leave_out(ak_timer *timer, const bool *disturbed)
{
    enum { CLEAN_MIN = 3 };
    size_t clean = 0;
    for (size_t i = 0; i < timer->sample_count; i++) {
        clean += disturbed[i] ? 0 : 1;
    }
    if (clean < CLEAN_MIN || 2 * clean < timer->sample_count) {
        return clean == timer->sample_count;
    }
    clean = 0;
    for (size_t i = 0; i < timer->sample_count; i++) {
        if (!disturbed[i]) {
            timer->samples_ms[clean++] = timer->samples_ms[i];
        }
    }
    timer->sample_count = clean;
    return true;
}

/* Returns the value of SAMPLES_VARIABLE, or 0 if it is unset or out of range. */
static size_t fewer_samples(void)
{
    const char *text = ak_env(SAMPLES_VARIABLE);
    int64_t most;
    return text != NULL && ak_text_int(&most, text) && most >= 1 && most <= AK_TIMER_SAMPLES_MAX
               ? (size_t)most
               : 0;
}

int64_t ak_evaluator_batch_ns(int64_t usual_ns)
{
    return fewer_samples() == 0 ? usual_ns : usual_ns / SHORTER;
}

/* Begins the timer with the plan, which SAMPLES_VARIABLE may shorten. */
static void begin_timer(ak_timer *timer, const ak_timer_plan *plan)
{
    ak_timer_plan shorter = *plan;
    shorter.samples_max = plan->samples_max == 0 ? fewer_samples() : plan->samples_max;
    shorter.batch_ns =
        plan->batch_ns == 0 ? ak_evaluator_batch_ns(AK_TIMER_BATCH_NS) : plan->batch_ns;
    ak_timer_begin(timer, &shorter);
}

/* Replaces the times of the batches by those of calls on unseen inputs if these count. */
static void take_unseen(ak_timer *timer, ak_loaded *r)
{
    ak_stats before, after;
    if (ak_loaded_unseen_counts(r, timer->samples_ms, timer->sample_count)) {
        ak_stats_of(&before, timer->samples_ms, timer->sample_count);
        memcpy(timer->samples_ms, r->unseen_ms, r->unseen_count * sizeof(double));
        timer->sample_count = r->unseen_count;
        ak_stats_of(&after, timer->samples_ms, timer->sample_count);
        r->unseen_times = after.median / before.median;
    }
}

/* Runs batches until the timer is done. Adds to *judging_ns the time spent on exchanging contents,
   on judging results and on calls alone. */
static ak_status measure(ak_timer *timer, int64_t *judging_ns, ak_loaded *r,
                         const ak_timer_plan *plan, ak_error *err)
{
    ak_evaluator *e = r->e;
    bool in_place = ak_problem_works_in_place(e->task->problem),
         disturbed[AK_TIMER_SAMPLES_MAX] = {false};
    ak_status status = AK_OK;
    begin_timer(timer, plan);
    for (size_t batch = 0;; batch++) {
        int64_t changing = ak_clock_ns();
        status = ak_loaded_change(r, batch == 0, err);
        *judging_ns += ak_clock_ns() - changing;
        bool fine = status == AK_OK && r->outcome.status == AK_TRIAL_OK;
        ak_stage *stage = batch == 0 ? ak_evaluator_last_set(e) : ak_evaluator_draw(e);
        status = fine ? ak_loaded_batch(r, stage, timer->iterations, err) : status;
        if (status != AK_OK || r->outcome.status != AK_TRIAL_OK) {
            return status;
        }
        uint32_t timed_calls = timer->iterations;
        size_t samples = timer->sample_count;
        bool waited = ak_outcome_waited(&r->outcome);
        bool last = ak_timer_tell(timer, r->outcome.ns) == AK_TIMER_DONE;
        if (timer->sample_count > samples) {
            disturbed[samples] = waited;
        }
        int64_t begin = ak_clock_ns();
        bool chosen = last || batch == 0 || ak_rng_below(&e->rng, AK_JUDGE_EVERY) == 0;
        /* A problem that works in place can be judged only after a single run. */
        if (chosen && (!in_place || timed_calls == 1 || r->outcome.alone)) {
            status = ak_loaded_judge(r, stage, true, err);
        }
        if (last && status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
            status = ak_aside_batch(r, stage, timed_calls, err);
        }
        if (last && status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
            e->waited = !leave_out(timer, disturbed);
            ak_stats stats;
            ak_stats_of(&stats, timer->samples_ms, timer->sample_count);
            status = ak_loaded_alone(r, stats.min, timed_calls, err);
            take_unseen(timer, r);
        }
        status = status == AK_OK && last ? ak_loaded_end_turn(r, true, err) : status;
        *judging_ns += ak_clock_ns() - begin;
        if (last || status != AK_OK || r->outcome.status != AK_TRIAL_OK) {
            return status;
        }
    }
}

int64_t ak_evaluate_limit(const ak_timer_plan *plan, int64_t most)
{
    double limit = HUNG_TIMES * plan->give_up_ms * 1e6 + (double)HUNG_LEAST_NS;
    return plan->give_up_ms > 0 && limit < (double)most ? (int64_t)limit : most;
}

int64_t ak_evaluate_plain_limit(int64_t reference_ns, int64_t most)
{
    double limit = HUNG_TIMES * (double)reference_ns + (double)HUNG_LEAST_NS;
    return reference_ns > 0 && limit < (double)most ? (int64_t)limit : most;
}

ak_status ak_evaluate_trial(ak_trial *out, ak_conditions *conditions, ak_evaluator *e,
                            const ak_judge_candidate *candidate, const ak_timer_plan *plan,
                            int64_t timeout_ns, ak_error *err)
{
    ak_loaded r;
    ak_timer timer;
    ak_conditions before = {0};
    int64_t begin = ak_clock_ns(), judging = 0;
    e->waited = false;
    ak_status status = ak_loaded_open(&r, e, candidate, ak_evaluate_limit(plan, timeout_ns), err);
    int64_t loaded = ak_clock_ns();
    if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
        status = ak_loaded_check_usual(&r, err);
    }
    int64_t checked = ak_clock_ns();
    ak_evaluator_conditions(&before, e); /* drops conditions from before the timing */
    *conditions = (ak_conditions){0};
    if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
        status = measure(&timer, &judging, &r, plan, err);
        ak_evaluator_conditions(conditions, e);
        if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
            status = keep_samples(out, &timer, err);
        }
    }
    if (status == AK_OK && r.outcome.status == AK_TRIAL_OK &&
        ak_objective_weighs(e->task->objective)) {
        status = ak_weigh_trial(out, &r, r.unseen_times > 0 ? r.unseen_times : 1, err);
    }
    int64_t measured = ak_clock_ns();
    if (status == AK_OK) {
        status = conclude(out, &r, err);
    }
    ak_loaded_close(&r);
    out->check_ns = checked - loaded + judging;
    out->measure_ns = measured - checked - judging;
    out->overhead_ns = loaded - begin + (ak_clock_ns() - measured);
    return status;
}

ak_status ak_evaluate_check(ak_trial *out, ak_evaluator *e, const ak_judge_candidate *candidate,
                            int64_t timeout_ns, ak_error *err)
{
    /* In each round outputs begin with something else (ak_guard_old), and red zones have another
       content (ak_guard_content_of). Several rounds also give a race a chance to show. */
    enum { ROUNDS = AK_GUARD_OLDS };
    ak_loaded r;
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    e->waited = false;
    AK_TRY(ak_loaded_open(&r, e, candidate, timeout_ns, err));
    const size_t others = candidate->specialised ? 0 : e->edge_case_count;
    for (size_t i = 0; i < others && r.outcome.status == AK_TRIAL_OK; i++) {
        bool fits = false;
        AK_TRY(ak_loaded_allowed(&fits, &r, &e->edge_cases[i], err));
        if (fits) {
            AK_TRY(ak_loaded_check_at(&r, &e->edge_cases[i], i + 1, ROUNDS, err));
        }
    }
    if (r.outcome.status == AK_TRIAL_OK) {
        AK_TRY(ak_loaded_check_at(&r, &e->own[0], 0, ROUNDS, err));
    }
    if (r.outcome.status == AK_TRIAL_OK && ak_evaluator_last_set(e)->habit == AK_HABIT_VARIED) {
        AK_TRY(ak_loaded_check_at(&r, ak_evaluator_last_set(e), 0, 1, err));
    }
    if (r.outcome.status == AK_TRIAL_OK) {
        AK_TRY(ak_few_check(&r, err));
    }
    if (r.outcome.status == AK_TRIAL_OK) {
        AK_TRY(candidate->specialised ? AK_OK : ak_hidden_check(&r, err));
        AK_TRY(ak_loaded_end_turn(&r, true, err));
    }
    AK_TRY(conclude(out, &r, err));
out:
    ak_loaded_close(&r);
    out->check_ns = ak_clock_ns() - begin;
    return status;
}

ak_status ak_evaluate_ceilings(ak_ceilings *out, ak_evaluator *e, ak_error *err)
{
    *out = (ak_ceilings){.measured = false};
    return e->backend->ceilings == NULL
               ? AK_OK
               : e->backend->ceilings(out, e->device, ak_task_operands(e->task), err);
}
