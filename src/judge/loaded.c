#include "judge/loaded.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/number.h"
#include "measure/stats.h"
#include "measure/verdict.h"
#include "problem/task_options.h"

/* A trial runs the edge-case shape with the most work below this, which covers as much of the code
   as a tenth of a millisecond can. */
#define EDGE_CASE_FLOPS 2e7
/* The sets of inputs change places before one batch in this many, unless they are larger than
   CHANGE_BYTES. */
#define CHANGE_EVERY 3
#define CHANGE_BYTES ((size_t)4 << 20)
/* Libraries get this many times the tolerance of candidates. A library that does the work in two
   passes rounds twice, and its first rounding may be of a number larger than the result. If a
   library computes a product, a bias and an activation of bf16 in two steps, its error is up to 1.0
   times a candidate's tolerance at K = 64, and up to 1.5 times at K = 8. */
#define BASELINE_SLACK 2.0
#define THREADS_ALL    (1 << 16) /* backends reduce it to the threads that they have */

/* Notes the candidate that was running when the device was lost. */
static void note_loss(ak_evaluator *e, const ak_judge_candidate *candidate)
{
    if (e->culprit == NULL && ak_evaluator_lost(e)) {
        e->culprit = candidate;
    }
}

/* Has what a candidate may have damaged restored before its next use: all red zones, the shared
   place and, if the memory is mapped, all inputs. Damage to inputs that are not mapped shows only
   when they are fetched. */
static void mend_all(ak_evaluator *e)
{
    for (size_t place = 0; place <= AK_STAGE_SETS; place++) {
        ak_stage *stage = e->memory.resident[place];
        if (stage != NULL) {
            stage->launched = false; /* its red zones are painted anew */
        }
    }
    e->memory.resident[AK_STAGE_SETS] = NULL;
    if (e->memory.copy == NULL) {
        ak_stage_spoilt(&e->memory);
    }
}

/* Returns the task with the candidate's implementation. */
static const ak_task *task_of(const ak_loaded *r)
{
    return r->candidate->task != NULL ? r->candidate->task : r->e->task;
}

/* Returns whether the artifact is no longer the file whose code was checked; false if it cannot be
   read, which loading will say, but true if it is too large for an artifact. */
static bool is_exchanged(const ak_judge_candidate *candidate)
{
    char hash[AK_HASH_BYTES], *bytes = NULL;
    size_t length = 0;
    if (candidate->artifact == NULL || candidate->hash == NULL) {
        return false;
    }
    ak_status status = ak_fs_read(&bytes, &length, candidate->artifact, AK_ARTIFACT_MAX, NULL);
    if (status != AK_OK) {
        return status == AK_LIMIT;
    }
    ak_hash_text(hash, bytes, length);
    ak_free(bytes);
    return strcmp(hash, candidate->hash) != 0;
}

ak_status ak_loaded_open(ak_loaded *r, ak_evaluator *e, const ak_judge_candidate *candidate,
                         int64_t timeout_ns, ak_error *err)
{
    assert((candidate->artifact == NULL) != (candidate->baseline == NULL)); /* exactly one is set */
    *r = (ak_loaded){.e = e, .candidate = candidate, .timeout_ns = timeout_ns};
    ak_load load = {.task = candidate->task,
                    .artifact = candidate->artifact,
                    .baseline = candidate->baseline,
                    .symbol = candidate->symbol};
    ak_evaluator_each_stage(e, ak_stage_forget);
    mend_all(e); /* a candidate must not be blamed for what the one before it did */
    ak_evaluator_wipe(e);
    e->unjudged = false;
    e->aside.begin_ns = ak_clock_ns();
    e->aside.spent_ns = 0;
    if (is_exchanged(candidate)) {
        r->outcome.status = AK_TRIAL_REJECTED;
        (void)snprintf(r->outcome.reason, sizeof r->outcome.reason,
                       "its artifact is not the file that was looked at");
        return AK_OK;
    }
    ak_status status = e->backend->load(&r->runnable, e->device, &load, &r->outcome, err);
    note_loss(e, candidate);
    return status;
}

void ak_loaded_close(ak_loaded *r)
{
    if (r->runnable != NULL) {
        r->e->backend->unload(r->runnable);
        r->runnable = NULL;
    }
}

/* Keeps the shortest time of a call in a batch on this set of inputs. */
static void note_time(ak_loaded *r, const ak_stage *stage, uint32_t iterations)
{
    for (size_t i = 0; i < r->e->sets; i++) {
        if (stage == &r->e->own[i]) {
            double each = (double)r->outcome.ns / iterations, *least = &r->each_ns[i];
            *least = *least == 0 || each < *least ? each : *least;
        }
    }
}

ak_status ak_loaded_batch(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err)
{
    assert(r->runnable != NULL && iterations > 0);
    ak_evaluator *e = r->e;
    const ak_task *task = task_of(r);
    ak_launch launch = {.task = task,
                        .shape = &stage->shape,
                        .offset = stage->offset,
                        .threads = THREADS_ALL,
                        .iterations = iterations,
                        .unpredicted = r->unpredicted,
                        .warmed = r->warmed,
                        .unseen = r->unseen || r->many,
                        .stride = r->many ? stage[1].base - stage[0].base : 0,
                        .aside = ak_aside_wanted(r, stage),
                        .last = r->last,
                        .timeout_ns = r->timeout_ns};
    ak_status status = AK_OK;
    double before = 0, after = 0;
    if (r->candidate->artifact != NULL) {
        launch.config = &r->candidate->config;
        ak_error why = AK_ERROR_INIT;
        status = ak_task_workspace(&launch.workspace_bytes, &launch.threads, task, &stage->shape,
                                   launch.config, &why);
        if (status == AK_INVALID || status == AK_LIMIT) { /* this configuration cannot run */
            r->outcome = (ak_outcome){.status = AK_TRIAL_INVALID};
            (void)snprintf(r->outcome.reason, sizeof r->outcome.reason, "%s", why.text);
            return AK_OK;
        }
        AK_TRY(status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text));
    } else if (e->task->threads > 0) {
        launch.threads = e->task->threads;
    }
    r->threads = launch.threads;
    for (uint32_t i = 0; i < (r->many ? iterations : 1); i++) {
        AK_TRY(ak_stage_set(&stage[i], e->round++, err));
    }
    AK_TRY(r->weigh ? ak_weigh_tick(&before, e, err) : AK_OK);
    AK_TRY(e->backend->launch(&r->outcome, r->runnable, &launch, err));
    if (r->weigh && r->outcome.status == AK_TRIAL_OK) {
        AK_TRY(ak_weigh_tick(&after, e, err));
        r->joules = after - before;
    }
    if (r->outcome.status == AK_TRIAL_OK && iterations > 1) {
        note_time(r, stage, iterations);
    }
    if (r->outcome.status == AK_TRIAL_OK && r->outcome.aside) {
        AK_TRY(ak_aside_judge(r, stage, err));
    }
out:
    if (r->outcome.status != AK_TRIAL_OK) {
        ak_stage_spoilt(&e->memory);
    }
    note_loss(e, r->candidate);
    return status;
}

ak_status ak_loaded_watched(ak_loaded *r, ak_stage *stage, uint32_t iterations, ak_error *err)
{
    AK_DO(ak_loaded_batch(r, stage, iterations, err));
    return r->outcome.status == AK_TRIAL_OK ? ak_stage_check_zones(&r->outcome, stage, err) : AK_OK;
}

ak_status ak_loaded_renew(ak_loaded *r, ak_error *err)
{
    const ak_loaded before = *r;
    ak_loaded_close(r);
    AK_DO(ak_loaded_open(r, r->e, r->candidate, r->timeout_ns, err));
    r->max_error = before.max_error;
    memcpy(r->each_ns, before.each_ns, sizeof r->each_ns);
    memcpy(r->unseen_ms, before.unseen_ms, sizeof r->unseen_ms);
    r->unseen_count = before.unseen_count;
    /* The first run is slower than later ones, so it does not count. */
    return r->outcome.status == AK_TRIAL_OK ? ak_loaded_watched(r, ak_evaluator_draw(r->e), 1, err)
                                            : AK_OK;
}

ak_status ak_loaded_check_zones(ak_loaded *r, ak_error *err)
{
    for (size_t i = 0; r->outcome.status == AK_TRIAL_OK && i < r->e->sets; i++) {
        AK_DO(ak_stage_check_zones(&r->outcome, &r->e->own[i], err));
    }
    return AK_OK;
}

/* Finds a stage whose inputs lie in the block and are not what was put there, and the argument that
   was changed; NULL if there is none. */
static ak_stage *damaged(const ak_evaluator *e, size_t *which)
{
    for (size_t place = 0; place <= AK_STAGE_SETS; place++) {
        ak_stage *stage = e->memory.resident[place];
        *which = stage == NULL ? 0 : ak_stage_changed_input(stage);
        if (stage != NULL && *which < ak_stage_arguments(stage)) {
            return stage;
        }
    }
    return NULL;
}

/* Returns whether inputs are checked after every turn: they are if the arguments are small, or if
   an input has integers, because these may be indices, and damaged indices may crash the next
   candidate before they are checked. */
static bool looks_at_inputs(const ak_evaluator *e)
{
    const ak_stage *own = &e->own[0];
    bool integers = false;
    for (size_t i = 0; i < ak_stage_arguments(own); i++) {
        integers =
            integers || (!ak_stage_is_output(own, i) && !ak_dtype_is_float(ak_stage_dtype(own, i)));
    }
    return integers || own->arrays.total <= CHANGE_BYTES;
}

ak_status ak_loaded_end_turn(ak_loaded *r, bool inputs, ak_error *err)
{
    ak_evaluator *e = r->e;
    size_t which;
    if (r->outcome.status == AK_TRIAL_OK) {
        AK_DO(ak_loaded_check_zones(r, err));
    }
    for (size_t place = 0; place <= AK_STAGE_SETS; place++) {
        ak_stage *stage = e->memory.resident[place];
        if (stage != NULL && r->outcome.status == AK_TRIAL_OK) {
            ak_stage_check_outside(&r->outcome, stage);
        }
    }
    if (r->outcome.status == AK_TRIAL_OK && (inputs || looks_at_inputs(e))) {
        ak_stage *stage = damaged(e, &which);
        if (stage != NULL) {
            ak_stage_damages(&r->outcome, stage, AK_STAGE_CHANGES, which);
        }
    }
    if (r->outcome.status != AK_TRIAL_OK) {
        mend_all(e);
    }
    return AK_OK;
}

bool ak_evaluator_mend_inputs(ak_evaluator *e)
{
    size_t which;
    const bool found = damaged(e, &which) != NULL;
    if (found) {
        ak_stage_spoilt(&e->memory);
    }
    return found;
}

bool ak_loaded_unseen_counts(const ak_loaded *r, const double *samples_ms, size_t batches)
{
    ak_stats before, after;
    if (r->unseen_count == 0) {
        return false;
    }
    ak_stats_of(&before, samples_ms, batches);
    ak_stats_of(&after, r->unseen_ms, r->unseen_count);
    return after.median > before.median;
}

ak_status ak_loaded_say_unseen(char **out, const ak_loaded *r, ak_error *err)
{
    char text[160], times[AK_REAL_BYTES];
    if (r->unseen_times == 0) {
        return AK_OK;
    }
    (void)snprintf(text, sizeof text,
                   "the time is that of calls on inputs that it has not seen: %s times "
                   "that in a batch, whose inputs repeat",
                   ak_number_short(times, r->unseen_times, 3));
    return ak_copy_text(out, text, err);
}

ak_status ak_loaded_judge(ak_loaded *r, ak_stage *stage, bool quick, ak_error *err)
{
    const char *baseline = r->candidate->baseline;
    if (baseline != NULL && strcmp(baseline, AK_BASELINE_COPY) == 0) {
        return AK_OK;
    }
    stage->slack = baseline != NULL ? BASELINE_SLACK : 1.0;
    return ak_stage_judge(&r->outcome, &r->max_error, stage, quick, err);
}

/* Adds to the reason of a failure, if there is room. */
static void also(ak_loaded *r, const char *text)
{
    const size_t used = strlen(r->outcome.reason), room = sizeof r->outcome.reason - used;
    if (strlen(text) < room) {
        memcpy(r->outcome.reason + used, text, strlen(text) + 1);
    }
}

/* Adds to the reason of a failure which condition the configuration breaks at the stage's shape:
   without "EverySize" a condition holds at the size that is tuned only. If no condition is broken,
   names a macro of "Defines" that has the value of the tuned size at every size. */
static ak_status say_broken(ak_loaded *r, const ak_stage *stage, ak_error *err)
{
    const char *condition = NULL, *macro = NULL;
    const ak_config *config = &r->candidate->config;
    int64_t value = 0;
    char text[sizeof r->outcome.reason];
    if (r->candidate->artifact == NULL) {
        return AK_OK;
    }
    AK_DO(ak_task_broken_condition(&condition, task_of(r), &stage->shape, config, err));
    if (condition != NULL) {
        (void)snprintf(text, sizeof text,
                       "; \"%s\" does not hold there: if results need it, give this condition "
                       "\"EverySize\": true",
                       condition);
        also(r, text);
        return AK_OK;
    }
    AK_DO(ak_task_fixed_define(&macro, &value, task_of(r), &stage->shape, config, err));
    if (macro != NULL) {
        (void)snprintf(text, sizeof text,
                       "; the macro %.63s of \"Defines\" is %lld there, too, as at the task's own "
                       "size: if results need it, compute it in the source from the sizes",
                       macro, (long long)value);
        also(r, text);
    }
    return AK_OK;
}

ak_status ak_loaded_check_at(ak_loaded *r, ak_stage *stage, uint64_t stream, int rounds,
                             ak_error *err)
{
    ak_status status = ak_stage_prepare(stage, r->e->reference, stream, false, err);
    r->e->round = ak_guard_first_round(r->e->round); /* begins with poison, which shows best what is
                                                        not written */
    r->checks = true;
    for (int i = 0; status == AK_OK && i < rounds && r->outcome.status == AK_TRIAL_OK; i++) {
        status = ak_loaded_batch(r, stage, 1, err);
        if (status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
            status = ak_loaded_judge(r, stage, i > 0, err);
        }
    }
    r->checks = false;
    if (r->outcome.status == AK_TRIAL_CRASHED || r->outcome.status == AK_TRIAL_TIMED_OUT) {
        ak_stage_say(&r->outcome, stage, r->outcome.reason);
    }
    /* The next candidate must not be blamed for whatever else this one damaged. */
    if (r->outcome.status != AK_TRIAL_OK) {
        ak_stage_spoilt(stage->memory);
        return status == AK_OK ? say_broken(r, stage, err) : status;
    }
    return status;
}

ak_status ak_loaded_check_library(ak_loaded *r, ak_error *err)
{
    ak_evaluator *e = r->e;
    AK_DO(ak_loaded_check_at(r, &e->own[0], 0, 1, err));
    while (r->outcome.status == AK_TRIAL_WRONG_RESULT && e->backend->another != NULL &&
           e->backend->another(r->runnable)) {
        r->outcome = (ak_outcome){.status = AK_TRIAL_OK};
        r->max_error = 0.0;
        AK_DO(ak_loaded_check_at(r, &e->own[0], 0, 1, err));
    }
    return AK_OK;
}

ak_status ak_loaded_allowed(bool *out, const ak_loaded *r, const ak_stage *stage, ak_error *err)
{
    const ak_config *config = r->candidate->artifact != NULL ? &r->candidate->config : NULL;
    return ak_task_allows(out, task_of(r), &stage->shape, config, err);
}

/* Finds the edge-case shape of a trial: the one with the most work below EDGE_CASE_FLOPS that the
   candidate supports; edge_case_count if there is none. */
static ak_status usual_for(size_t *out, const ak_loaded *r, ak_error *err)
{
    const ak_evaluator *e = r->e;
    bool fits = false;
    *out = e->edge_case_count;
    for (size_t i = 0; i < e->edge_case_count; i++) {
        double flops = e->edge_cases[i].shape.flops;
        if (flops <= EDGE_CASE_FLOPS &&
            (*out == e->edge_case_count || flops > e->edge_cases[*out].shape.flops)) {
            AK_DO(ak_loaded_allowed(&fits, r, &e->edge_cases[i], err));
            *out = fits ? i : *out;
        }
    }
    return AK_OK;
}

ak_status ak_loaded_check_usual(ak_loaded *r, ak_error *err)
{
    /* One round for each kind of ak_guard_old; meanwhile red zones take every content of
       ak_guard_content_of. */
    enum { USUAL_ROUNDS = AK_GUARD_OLDS };
    ak_evaluator *e = r->e;
    size_t usual = e->edge_case_count;
    AK_DO(r->candidate->specialised ? AK_OK : usual_for(&usual, r, err));
    if (usual < e->edge_case_count) {
        AK_DO(ak_loaded_check_at(r, &e->edge_cases[usual], usual + 1, USUAL_ROUNDS, err));
    }
    return r->outcome.status == AK_TRIAL_OK ? ak_loaded_check_at(r, &e->own[0], 0, 1, err) : AK_OK;
}

bool ak_outcome_waited(const ak_outcome *outcome)
{
    return outcome->waits_known &&
           (double)outcome->waited_ns > AK_VERDICT_DISTURBED * (double)outcome->ns;
}

ak_status ak_loaded_change(ak_loaded *r, bool certain, ak_error *err)
{
    ak_evaluator *e = r->e;
    bool cheap = e->own[0].arrays.total <= CHANGE_BYTES;
    bool now = certain || (cheap && ak_rng_below(&e->rng, CHANGE_EVERY) == 0);
    if (!now || e->sets < AK_STAGE_SETS) {
        return AK_OK;
    }
    AK_DO(ak_loaded_check_zones(r, err));
    ak_stage_swap(&e->own[0], &e->own[1]);
    /* Otherwise a candidate could copy the results of a set of inputs from the place where it lay
       before. */
    ak_stage_wipe(&e->own[0]);
    ak_stage_wipe(&e->own[1]);
    return AK_OK;
}
