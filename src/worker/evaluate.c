/* evaluate.c: see evaluate.h. */
#include "worker/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"

/* The awkward shape that every trial runs: the one with the most work below this, so that it covers
   as much of the code as a tenth of a millisecond can. */
#define AWKWARD_FLOPS 2e7
/* Of the shape at which the tolerance is tried: a mean over fewer is too close to the values. */
#define SELFTEST_ELEMENTS 64
/* From so much on a shape is judged on the device, where that can be: below, the host has prepared
   it in some hundredths of a second and compares it in some milliseconds. */
#define REFEREE_ELEMENTS ((size_t)1 << 20)
#define REFEREE_FLOPS    1e9
/* One timed batch in this many is judged, besides the first and the last. */
#define JUDGE_EVERY         8
#define DUEL_ROUNDS_MAX     200
#define DUEL_ITERATIONS_MAX 1000000
/* For each version of a library, when the fastest is looked for. */
#define VARIANT_SECONDS     0.15
#define BASELINE_TIMEOUT_NS (60 * AK_SECOND_NS)
#define VERSION_BYTES       200
/* A library that does the work in two passes rounds its result twice, and the first rounding may be
   of something larger than what comes out: a product, a bias and an activation of bf16 in two steps
   need up to 1.0 of a candidate's tolerance at K = 64, and 1.5 at 8. */
#define BASELINE_SLACK 2.0
#define THREADS_ALL    (1 << 16) /* backends cut it to what they have */
#define PLACES_ALIGN   4096
/* A second set of inputs costs a second reference and a second block: where that is more than a
   second or two of a processor, or than this of memory, there is only one. */
#define SECOND_SET_FLOPS 2.5e9
#define SECOND_SET_BYTES ((size_t)256 << 20)

typedef struct choice { /* which version of a library is the fastest */
    char *base, *best;
} choice;

struct ak_evaluator {
    const ak_backend_ops *backend;
    const ak_task *task;
    ak_device *device;
    ak_reference *reference;
    ak_stage_memory memory;
    ak_stage own[AK_STAGE_SETS];
    size_t sets;
    ak_stage *awkward;
    size_t awkward_count;
    ak_stage_times preparation;
    ak_rng rng;
    unsigned round;
    choice *choices;
    size_t choice_count, choice_capacity;
};

/* ---- opening ------------------------------------------------------------------------------- */

/* Where the block is not mapped, moving inputs in takes longer than running on them. */
static size_t sets_of(const ak_evaluator *e)
{
    bool cheap = e->backend->map != NULL && e->task->shape.flops <= SECOND_SET_FLOPS &&
                 e->own[0].total <= SECOND_SET_BYTES;
    return cheap ? AK_STAGE_SETS : 1;
}

static ak_status plan_own(size_t *end, ak_evaluator *e, ak_error *err)
{
    const int64_t *size = e->task->shape.size;
    ak_status status = ak_stage_plan(&e->own[0], &e->memory, e->task, size, 0, 0, err);
    e->sets = 1;
    *end = e->own[0].total;
    while (status == AK_OK && e->sets < sets_of(e)) {
        size_t base = (*end + PLACES_ALIGN - 1) / PLACES_ALIGN * PLACES_ALIGN;
        status =
            ak_stage_plan(&e->own[e->sets], &e->memory, e->task, size, (int)e->sets, base, err);
        *end = base + e->own[e->sets].total;
        e->sets++;
    }
    return status;
}

static ak_status plan_stages(ak_evaluator *e, ak_error *err)
{
    size_t end = 0;
    const ak_problem *problem = e->task->problem;
    e->awkward = ak_alloc(problem->awkward_count + 1, sizeof *e->awkward);
    if (e->awkward == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status = plan_own(&end, e, err);
    size_t base = (end + PLACES_ALIGN - 1) / PLACES_ALIGN * PLACES_ALIGN;
    end = base;
    for (size_t i = 0; status == AK_OK && i < problem->awkward_count; i++) {
        ak_stage *stage = &e->awkward[i];
        status = ak_stage_plan(stage, &e->memory, e->task, problem->awkward[i], AK_STAGE_SETS, base,
                               err);
        e->awkward_count = i + 1;
        if (status == AK_OK) {
            end = base + stage->total > end ? base + stage->total : end;
        }
    }
    if (status == AK_OK) {
        status = e->backend->reserve(e->device, end, err);
    }
    if (status != AK_OK) {
        return status;
    }
    if (e->backend->map != NULL) {
        e->memory.bytes = e->backend->map(e->device);
    } else {
        e->memory.copy = ak_alloc(end, 1);
        e->memory.bytes = e->memory.copy;
    }
    return e->memory.bytes == NULL ? ak_fail_memory(err) : AK_OK;
}

static size_t outputs_of(const ak_evaluator *e, const ak_stage *stage)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < e->task->problem->argument_count; i++) {
        if (e->task->problem->arguments[i].access != AK_ACCESS_IN &&
            stage->shape.elements[i] < least) {
            least = stage->shape.elements[i];
        }
    }
    return least;
}

static bool is_large(const ak_evaluator *e, const ak_stage *stage)
{
    size_t elements = 0;
    for (size_t i = 0; i < e->task->problem->argument_count; i++) {
        elements += stage->shape.elements[i];
    }
    return elements >= REFEREE_ELEMENTS || stage->shape.flops >= REFEREE_FLOPS;
}

static ak_status prepare_own(ak_evaluator *e, bool selftest, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = AK_UNAVAILABLE;
    if (is_large(e, &e->own[0])) {
        status =
            ak_stage_prepare_referee(&e->own[0], e->reference, 0, selftest, &e->preparation, &why);
    }
    if (status == AK_UNAVAILABLE) {
        int64_t begin = ak_clock_ns();
        status = ak_stage_prepare(&e->own[0], e->reference, 0, selftest, err);
        e->preparation.reference_ns += ak_clock_ns() - begin;
        return status;
    }
    return status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text);
}

static ak_status witness_all(ak_evaluator *e, ak_error *err)
{
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < e->awkward_count; i++) {
        status = ak_stage_prepare(&e->awkward[i], e->reference, i + 1, false, err);
        status = status == AK_OK ? ak_stage_witness(&e->awkward[i], err) : status;
    }
    e->preparation.witness_ns += ak_clock_ns() - begin;
    return status;
}

/* The tolerance is tried where outputs are long enough to be told from their mean: at the task's
   own shape or, if that is tiny, at the awkward shape with the most outputs. */
static ak_status prepare_stages(ak_evaluator *e, ak_error *err)
{
    bool own = outputs_of(e, &e->own[0]) >= SELFTEST_ELEMENTS;
    ak_status status = prepare_own(e, own, err);
    for (size_t i = 1; status == AK_OK && i < e->sets; i++) {
        status = ak_stage_prepare(&e->own[i], e->reference, e->awkward_count + i, false, err);
    }
    size_t largest = e->awkward_count;
    for (size_t i = 0; i < e->awkward_count; i++) {
        if (largest == e->awkward_count ||
            outputs_of(e, &e->awkward[i]) > outputs_of(e, &e->awkward[largest])) {
            largest = i;
        }
    }
    if (status == AK_OK && !own && largest < e->awkward_count) {
        status = ak_stage_prepare(&e->awkward[largest], e->reference, largest + 1,
                                  outputs_of(e, &e->awkward[largest]) >= SELFTEST_ELEMENTS, err);
    }
    if (status == AK_OK && e->own[0].referee != NULL) {
        status = witness_all(e, err);
    }
    return status;
}

ak_status ak_evaluator_open(ak_evaluator **out, const ak_backend_ops *backend, const ak_task *task,
                            const char *folder, ak_error *err)
{
    ak_evaluator *e = ak_alloc(1, sizeof *e);
    if (e == NULL) {
        return ak_fail_memory(err);
    }
    e->backend = backend;
    e->task = task;
    ak_rng_seed(&e->rng, task->seed ^ UINT64_C(0x6576616c75617465));
    int64_t begin = ak_clock_ns();
    ak_status status = backend->open(&e->device, task, err);
    e->preparation.device_ns = ak_clock_ns() - begin;
    e->memory.backend = backend;
    e->memory.device = e->device;
    if (status == AK_OK) {
        status = plan_stages(e, err);
    }
    if (status == AK_OK) {
        status = ak_reference_open(&e->reference, task, folder, err);
    }
    if (status == AK_OK) {
        status = prepare_stages(e, err);
    }
    if (status != AK_OK) {
        ak_evaluator_close(e);
        return status;
    }
    *out = e;
    return AK_OK;
}

void ak_evaluator_close(ak_evaluator *e)
{
    if (e == NULL) {
        return;
    }
    ak_reference_close(e->reference);
    for (size_t i = 0; i < e->sets; i++) {
        ak_stage_free(&e->own[i]);
    }
    for (size_t i = 0; i < e->awkward_count; i++) {
        ak_stage_free(&e->awkward[i]);
    }
    for (size_t i = 0; i < e->choice_count; i++) {
        ak_free(e->choices[i].base);
        ak_free(e->choices[i].best);
    }
    ak_free(e->choices);
    ak_free(e->awkward);
    ak_free(e->memory.copy);
    if (e->device != NULL) {
        e->backend->close(e->device);
    }
    ak_free(e);
}

bool ak_evaluator_preparation(ak_stage_times *out, const ak_evaluator *e)
{
    *out = e->preparation;
    return e->own[0].referee != NULL;
}

bool ak_evaluator_lost(const ak_evaluator *e)
{
    return e->backend->lost != NULL && e->backend->lost(e->device);
}

void ak_evaluator_uuid(char *out, size_t bytes, const ak_evaluator *e)
{
    out[0] = 0;
    if (e->backend->uuid != NULL) {
        e->backend->uuid(out, bytes, e->device);
    }
}

/* What the device did since this was last asked. */
static void take_conditions(ak_conditions *to, ak_evaluator *e)
{
    ak_conditions latest = {0};
    if (e->backend->conditions != NULL) {
        e->backend->conditions(&latest, e->device);
        ak_conditions_add(to, &latest);
    }
}

/* ---- running one thing --------------------------------------------------------------------- */

typedef struct runner {
    ak_evaluator *e;
    const ak_entrant *entrant;
    ak_runnable *runnable;
    int64_t timeout_ns;
    ak_outcome outcome; /* the latest */
    double max_error;
} runner;

static ak_status run_load(runner *r, ak_evaluator *e, const ak_entrant *entrant, int64_t timeout_ns,
                          ak_error *err)
{
    *r = (runner){.e = e, .entrant = entrant, .timeout_ns = timeout_ns};
    ak_load load = {.artifact = entrant->artifact, .baseline = entrant->baseline};
    for (size_t i = 0; i < e->sets; i++) {
        ak_stage_forget(&e->own[i]);
    }
    for (size_t i = 0; i < e->awkward_count; i++) {
        ak_stage_forget(&e->awkward[i]);
    }
    return e->backend->load(&r->runnable, e->device, &load, &r->outcome, err);
}

static void run_unload(runner *r)
{
    if (r->runnable != NULL) {
        r->e->backend->unload(r->runnable);
        r->runnable = NULL;
    }
}

/* Inputs in place, outputs poisoned, `iterations` runs. */
static ak_status run_batch(runner *r, ak_stage *stage, uint32_t iterations, ak_error *err)
{
    ak_evaluator *e = r->e;
    ak_launch launch = {.task = e->task,
                        .shape = &stage->shape,
                        .offset = stage->offset,
                        .threads = THREADS_ALL,
                        .iterations = iterations,
                        .timeout_ns = r->timeout_ns};
    ak_status status = AK_OK;
    if (r->entrant->artifact != NULL) {
        launch.config = &r->entrant->config;
        status = ak_task_workspace(&launch.workspace_bytes, &launch.threads, e->task, &stage->shape,
                                   launch.config, err);
    } else if (e->task->threads > 0) {
        launch.threads = e->task->threads;
    }
    if (status == AK_OK) {
        status = ak_stage_set(stage, e->round++, err);
    }
    if (status == AK_OK) {
        status = e->backend->launch(&r->outcome, r->runnable, &launch, err);
    }
    return status;
}

static ak_status judge(runner *r, ak_stage *stage, bool quick, ak_error *err)
{
    const char *baseline = r->entrant->baseline;
    if (baseline != NULL && strcmp(baseline, AK_BASELINE_COPY) == 0) {
        return AK_OK;
    }
    stage->slack = baseline != NULL ? BASELINE_SLACK : 1.0;
    return ak_stage_judge(&r->outcome, &r->max_error, stage, quick, err);
}

static ak_status check_at(runner *r, ak_stage *stage, size_t stream, int rounds, ak_error *err)
{
    ak_status status = ak_stage_prepare(stage, r->e->reference, stream, false, err);
    for (int i = 0; status == AK_OK && i < rounds && r->outcome.status == AK_TRIAL_OK; i++) {
        status = run_batch(r, stage, 1, err);
        if (status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
            status = judge(r, stage, i > 0, err);
        }
    }
    if (r->outcome.status !=
        AK_TRIAL_OK) { /* whatever else it did is not to be the next one's fault */
        ak_stage_spoilt(stage->memory);
    }
    return status;
}

/* Of a library at the task's size. One that has several ways to do the work is held to each in its
   turn: what is not right is no competitor, and what is right does not fall with it. */
static ak_status check_library(runner *r, ak_error *err)
{
    ak_evaluator *e = r->e;
    ak_status status = check_at(r, &e->own[0], 0, 1, err);
    while (status == AK_OK && r->outcome.status == AK_TRIAL_WRONG_RESULT &&
           e->backend->another != NULL && e->backend->another(r->runnable)) {
        r->outcome = (ak_outcome){.status = AK_TRIAL_OK};
        r->max_error = 0.0;
        status = check_at(r, &e->own[0], 0, 1, err);
    }
    return status;
}

/* May this candidate be run there? */
static ak_status allowed(bool *out, const runner *r, const ak_stage *stage, ak_error *err)
{
    const ak_config *config = r->entrant->artifact != NULL ? &r->entrant->config : NULL;
    return ak_task_allows(out, r->e->task, &stage->shape, config, err);
}

/* The awkward shape of a trial: that with the most work below AWKWARD_FLOPS at which the candidate
   may be run; awkward_count if there is none. */
static ak_status usual_for(size_t *out, const runner *r, ak_error *err)
{
    const ak_evaluator *e = r->e;
    ak_status status = AK_OK;
    bool fits = false;
    *out = e->awkward_count;
    for (size_t i = 0; status == AK_OK && i < e->awkward_count; i++) {
        double flops = e->awkward[i].shape.flops;
        if (flops <= AWKWARD_FLOPS &&
            (*out == e->awkward_count || flops > e->awkward[*out].shape.flops)) {
            status = allowed(&fits, r, &e->awkward[i], err);
            *out = fits ? i : *out;
        }
    }
    return status;
}

static ak_status check_usual(runner *r, ak_error *err)
{
    ak_evaluator *e = r->e;
    size_t usual = e->awkward_count;
    ak_status status = r->entrant->own_size ? AK_OK : usual_for(&usual, r, err);
    if (status == AK_OK && usual < e->awkward_count) {
        status = check_at(r, &e->awkward[usual], usual + 1, 1, err);
    }
    return status == AK_OK && r->outcome.status == AK_TRIAL_OK ? check_at(r, &e->own[0], 0, 1, err)
                                                               : status;
}

/* ---- trial and check ----------------------------------------------------------------------- */

static ak_status conclude(ak_trial *out, const runner *r, ak_error *err)
{
    out->status = r->outcome.status;
    out->max_error = r->max_error;
    if (out->status != AK_TRIAL_OK) {
        out->reason = ak_strdup(r->outcome.reason);
        return out->reason == NULL ? ak_fail_memory(err) : AK_OK;
    }
    return AK_OK;
}

static ak_status keep_samples(ak_trial *out, const ak_timer *timer, ak_error *err)
{
    ak_stats stats;
    ak_stats_of(&stats, timer->samples_ms, timer->sample_count);
    out->samples_ms = ak_alloc(timer->sample_count, sizeof(double));
    if (out->samples_ms == NULL) {
        return ak_fail_memory(err);
    }
    memcpy(out->samples_ms, timer->samples_ms, timer->sample_count * sizeof(double));
    out->sample_count = timer->sample_count;
    out->median_ms = stats.median;
    out->ci_low_ms = stats.low;
    out->ci_high_ms = stats.high;
    return AK_OK;
}

/* Which inputs a batch gets: drawn, so that what comes next cannot be known. */
static ak_stage *draw(ak_evaluator *e)
{
    return &e->own[ak_rng_below(&e->rng, e->sets)];
}

/* Of a batch that will certainly be judged: inputs that no check before the timing has used. */
static ak_stage *unseen(ak_evaluator *e)
{
    return &e->own[e->sets - 1];
}

/* Runs batches until the timer is content. *judging_ns is what was spent on looking at results. */
static ak_status measure(ak_timer *timer, int64_t *judging_ns, runner *r, const ak_timer_plan *plan,
                         ak_error *err)
{
    ak_evaluator *e = r->e;
    bool in_place = ak_stage_in_place(&e->own[0]);
    ak_status status = AK_OK;
    ak_timer_begin(timer, plan);
    for (size_t batch = 0;; batch++) {
        ak_stage *stage = batch == 0 ? unseen(e) : draw(e);
        status = run_batch(r, stage, timer->iterations, err);
        if (status != AK_OK || r->outcome.status != AK_TRIAL_OK) {
            return status;
        }
        bool last = ak_timer_tell(timer, r->outcome.ns) == AK_TIMER_DONE;
        int64_t begin = ak_clock_ns();
        if (last && in_place) { /* only the result of a single run can be judged */
            stage = unseen(e);
            status = run_batch(r, stage, 1, err);
        }
        bool chosen = last || batch == 0 || ak_rng_below(&e->rng, JUDGE_EVERY) == 0;
        if (status == AK_OK && r->outcome.status == AK_TRIAL_OK && chosen && (last || !in_place)) {
            status = judge(r, stage, true, err);
        }
        *judging_ns += ak_clock_ns() - begin;
        if (last || status != AK_OK || r->outcome.status != AK_TRIAL_OK) {
            return status;
        }
    }
}

ak_status ak_evaluate_trial(ak_trial *out, ak_conditions *conditions, ak_evaluator *e,
                            const ak_entrant *entrant, const ak_timer_plan *plan,
                            int64_t timeout_ns, ak_error *err)
{
    runner r;
    ak_timer timer;
    ak_conditions before = {0};
    int64_t begin = ak_clock_ns(), judging = 0;
    ak_status status = run_load(&r, e, entrant, timeout_ns, err);
    int64_t loaded = ak_clock_ns();
    if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
        status = check_usual(&r, err);
    }
    int64_t checked = ak_clock_ns();
    take_conditions(&before, e); /* of others, or of the check */
    *conditions = (ak_conditions){0};
    if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
        status = measure(&timer, &judging, &r, plan, err);
        take_conditions(conditions, e);
        if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
            status = keep_samples(out, &timer, err);
        }
    }
    int64_t measured = ak_clock_ns();
    if (status == AK_OK) {
        status = conclude(out, &r, err);
    }
    run_unload(&r);
    out->check_ns = checked - loaded + judging;
    out->measure_ns = measured - checked - judging;
    out->overhead_ns = loaded - begin + (ak_clock_ns() - measured);
    return status;
}

ak_status ak_evaluate_check(ak_trial *out, ak_evaluator *e, const ak_entrant *entrant,
                            int64_t timeout_ns, ak_error *err)
{
    enum { ROUNDS = 3 }; /* with different poison: a race shows itself in one of them, perhaps */
    runner r;
    int64_t begin = ak_clock_ns();
    ak_status status = run_load(&r, e, entrant, timeout_ns, err);
    for (size_t i = 0; status == AK_OK && i < e->awkward_count && r.outcome.status == AK_TRIAL_OK;
         i++) {
        bool fits = false;
        status = allowed(&fits, &r, &e->awkward[i], err);
        if (status == AK_OK && fits) {
            status = check_at(&r, &e->awkward[i], i + 1, ROUNDS, err);
        }
    }
    if (status == AK_OK && r.outcome.status == AK_TRIAL_OK) {
        status = check_at(&r, &e->own[0], 0, ROUNDS, err);
    }
    if (status == AK_OK) {
        status = conclude(out, &r, err);
    }
    run_unload(&r);
    out->check_ns = ak_clock_ns() - begin;
    return status;
}

/* ---- duel ---------------------------------------------------------------------------------- */

typedef struct duel {
    ak_evaluator *e;
    runner runners[AK_CONTESTANTS_MAX];
    uint32_t iterations[AK_CONTESTANTS_MAX];
    double *samples[AK_CONTESTANTS_MAX]; /* DUEL_ROUNDS_MAX each */
    ak_conditions conditions[AK_CONTESTANTS_MAX];
    const ak_pace *pace;
    size_t count, rounds;
} duel;

static bool alive(const duel *d, size_t i)
{
    return d->runners[i].outcome.status == AK_TRIAL_OK;
}

/* Loads, checks and finds how many iterations make a batch. */
static ak_status enter(duel *d, size_t i, const ak_entrant *entrant, int64_t batch_ns,
                       int64_t timeout_ns, ak_error *err)
{
    runner *r = &d->runners[i];
    ak_stage *own = &d->e->own[0];
    ak_status status = run_load(r, d->e, entrant, timeout_ns, err);
    if (status == AK_OK && alive(d, i)) {
        status = entrant->artifact != NULL ? check_usual(r, err) : check_library(r, err);
    }
    d->iterations[i] = 1;
    /* Twice: the first estimate is from a cold run. */
    for (int pass = 0; status == AK_OK && alive(d, i) && pass < 2; pass++) {
        status = run_batch(r, own, d->iterations[i], err);
        if (status == AK_OK && alive(d, i)) {
            double each = (double)r->outcome.ns / d->iterations[i];
            double wanted = (double)batch_ns / (each > 1.0 ? each : 1.0);
            wanted = wanted > DUEL_ITERATIONS_MAX ? DUEL_ITERATIONS_MAX : wanted;
            d->iterations[i] = wanted < 1.0 ? 1 : (uint32_t)wanted;
        }
    }
    return status;
}

/* What the pace wants before a batch that counts. */
static ak_status rest_and_warm_up(duel *d, size_t i, ak_error *err)
{
    if (d->pace->rest_ns > 0) {
        ak_clock_sleep_ns(d->pace->rest_ns);
    }
    return d->pace->warm_runs == 0 ? AK_OK
                                   : run_batch(&d->runners[i], draw(d->e), d->pace->warm_runs, err);
}

/* Contestants in turns until the device has worked for long enough; nothing of it counts. */
static ak_status lead_in(duel *d, ak_error *err)
{
    int64_t end = ak_clock_ns() + d->pace->lead_in_ns;
    ak_status status = AK_OK;
    for (size_t i = 0, idle = 0;
         status == AK_OK && d->pace->lead_in_ns > 0 && idle < d->count && ak_clock_ns() < end;
         i = (i + 1) % d->count) {
        idle = alive(d, i) ? 0 : idle + 1;
        if (alive(d, i)) {
            status = run_batch(&d->runners[i], draw(d->e), d->iterations[i], err);
        }
    }
    return status;
}

static ak_status one_round(duel *d, ak_error *err)
{
    size_t order[AK_CONTESTANTS_MAX];
    ak_conditions before = {0};
    take_conditions(&before, d->e); /* of entering */
    for (size_t i = 0; i < d->count; i++) {
        size_t j = ak_rng_below(&d->e->rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t k = 0; k < d->count; k++) {
        size_t i = order[k];
        if (!alive(d, i)) {
            continue;
        }
        ak_status status = rest_and_warm_up(d, i, err);
        if (status == AK_OK && alive(d, i)) {
            take_conditions(&before, d->e); /* of warming up */
            status = run_batch(&d->runners[i], draw(d->e), d->iterations[i], err);
        }
        if (status != AK_OK) {
            return status;
        }
        take_conditions(&d->conditions[i], d->e);
        d->samples[i][d->rounds] =
            (double)d->runners[i].outcome.ns / 1e6 / (double)d->iterations[i];
    }
    d->rounds++;
    return AK_OK;
}

/* What a library tells of itself once it has run; NULL if nothing. */
static ak_status tell_version(char **out, const runner *r, ak_error *err)
{
    const ak_backend_ops *backend = r->e->backend;
    char text[VERSION_BYTES] = "";
    if (r->entrant->baseline != NULL && backend->baseline_version != NULL) {
        backend->baseline_version(text, sizeof text, r->e->device, r->entrant->baseline);
    }
    *out = text[0] == 0 ? NULL : ak_strdup(text);
    return text[0] != 0 && *out == NULL ? ak_fail_memory(err) : AK_OK;
}

/* After the last round: still right? */
static ak_status leave(ak_duel_entry *out, duel *d, size_t i, ak_error *err)
{
    runner *r = &d->runners[i];
    ak_stage *own = unseen(d->e);
    ak_status status = AK_OK;
    if (alive(d, i)) {
        status = run_batch(r, own, ak_stage_in_place(own) ? 1 : d->iterations[i], err);
        if (status == AK_OK && alive(d, i)) {
            status = judge(r, own, false, err);
        }
    }
    status = status == AK_OK ? tell_version(&out->version, r, err) : status;
    if (status != AK_OK) {
        return status;
    }
    out->status = r->outcome.status;
    if (out->status == AK_TRIAL_OK) {
        out->samples_ms = d->samples[i];
        out->sample_count = d->rounds;
        out->conditions = d->conditions[i];
        out->overlap = d->e->backend->overlap == NULL ? AK_OVERLAP_UNKNOWN
                                                      : d->e->backend->overlap(r->runnable);
        d->samples[i] = NULL;
        return AK_OK;
    }
    out->reason = ak_strdup(r->outcome.reason);
    return out->reason == NULL ? ak_fail_memory(err) : AK_OK;
}

static ak_status fight(ak_duel_entry *out, ak_evaluator *e, const ak_entrant *entrants,
                       size_t count, const ak_duel_plan *plan, int64_t timeout_ns, ak_error *err)
{
    duel *d = ak_alloc(1, sizeof *d);
    if (d == NULL) {
        return ak_fail_memory(err);
    }
    const ak_pace *pace = plan->pace;
    int64_t begin = ak_clock_ns();
    int64_t batch = (int64_t)(plan->seconds * 1e9 / (double)(count * 4 * AK_DUEL_ROUNDS_MIN));
    batch = batch < pace->batch_min_ns   ? pace->batch_min_ns
            : batch > pace->batch_max_ns ? pace->batch_max_ns
                                         : batch;
    ak_status status = AK_OK;
    d->e = e;
    d->pace = pace;
    d->count = count;
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        d->samples[i] = ak_alloc(DUEL_ROUNDS_MAX, sizeof(double));
        status = d->samples[i] == NULL ? ak_fail_memory(err)
                                       : enter(d, i, &entrants[i], batch, timeout_ns, err);
    }
    status = status == AK_OK ? lead_in(d, err) : status;
    while (
        status == AK_OK && d->rounds < DUEL_ROUNDS_MAX &&
        (d->rounds < AK_DUEL_ROUNDS_MIN || (double)(ak_clock_ns() - begin) / 1e9 < plan->seconds)) {
        status = one_round(d, err);
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        status = leave(&out[i], d, i, err);
    }
    for (size_t i = 0; i < count; i++) {
        run_unload(&d->runners[i]);
        ak_free(d->samples[i]);
    }
    ak_free(d);
    return status;
}

/* ---- libraries ----------------------------------------------------------------------------- */

typedef struct listing {
    ak_baseline_info *items;
    size_t count, capacity;
    const char *wanted; /* ak_task_spec.libraries */
    ak_buf left_out;    /* names of the others, for a message */
    ak_status status;
} listing;

static bool same_library(const char *name, const char *base)
{
    size_t length = strcspn(base, ":");
    return strcspn(name, ":") == length && strncmp(name, base, length) == 0;
}

/* The next word of a comma list, from *at on; false if there is none. */
static bool next_word(char out[64], const char **at)
{
    while (**at == ',') {
        (*at)++;
    }
    size_t length = strcspn(*at, ",");
    (void)snprintf(out, 64, "%.*s", (int)(length < 63 ? length : 63), *at);
    *at += length;
    return length > 0;
}

static bool is_wanted(const char *wanted, const char *name)
{
    char word[64];
    bool slow = strncmp(name, AK_BASELINE_ON_DEMAND, strlen(AK_BASELINE_ON_DEMAND)) == 0;
    for (const char *at = wanted; next_word(word, &at);) {
        if (strcmp(word, "all") == 0 || (strcmp(word, "default") == 0 && !slow) ||
            same_library(name, word)) {
            return true;
        }
    }
    return false;
}

/* A name that no library has is a mistake. */
static ak_status check_wanted(const listing *list, ak_error *err)
{
    char word[64];
    for (const char *at = list->wanted; next_word(word, &at);) {
        bool known =
            strcmp(word, "all") == 0 || strcmp(word, "default") == 0 || strcmp(word, "none") == 0;
        for (size_t i = 0; !known && i < list->count; i++) {
            known = same_library(list->items[i].name, word);
        }
        if (!known) {
            ak_buf names = AK_BUF(400);
            for (size_t i = 0; i < list->count; i++) {
                ak_buf_print(&names, ", %s", list->items[i].name);
            }
            ak_status status =
                ak_fail(err, AK_INVALID,
                        "libraries: \"%s\" is none for this kernel and device; there "
                        "are default, all, none%s%s",
                        word, names.data, list->left_out.data);
            ak_buf_free(&names);
            return status;
        }
    }
    return AK_OK;
}

static void list_one(void *context, const char *name, const char *title, const char *version,
                     bool installed, const char *note)
{
    listing *list = context;
    if (!is_wanted(list->wanted, name)) {
        ak_buf_print(&list->left_out, ", %s", name);
        return;
    }
    if (list->status == AK_OK) {
        void *items = list->items;
        list->status = ak_grow(&items, &list->capacity, list->count + 1, sizeof *list->items, NULL);
        list->items = items;
    }
    if (list->status != AK_OK) {
        return;
    }
    ak_baseline_info *item = &list->items[list->count++];
    *item = (ak_baseline_info){.name = ak_strdup(name),
                               .title = ak_strdup(title),
                               .version = ak_strdup(version),
                               .note = ak_strdup(note),
                               .installed = installed};
    if (item->name == NULL || item->title == NULL || item->version == NULL || item->note == NULL) {
        list->status = AK_NO_MEMORY;
    }
}

static void info_clear(ak_baseline_info *info)
{
    ak_free(info->name);
    ak_free(info->title);
    ak_free(info->version);
    ak_free(info->note);
}

/* Times the versions items[first..last) of one library; *best is the index of the fastest, `first`
   if it cannot be told. */
static ak_status fastest(size_t *best, ak_evaluator *e, const listing *list, size_t first,
                         size_t last, ak_error *err)
{
    ak_entrant entrants[AK_CONTESTANTS_MAX] = {0};
    ak_duel_entry entries[AK_CONTESTANTS_MAX] = {0};
    size_t count = last - first < AK_CONTESTANTS_MAX ? last - first : AK_CONTESTANTS_MAX;
    double least = 0.0;
    *best = first;
    for (size_t i = 0; i < count; i++) {
        entrants[i].baseline = list->items[first + i].name;
    }
    ak_duel_plan plan = {.seconds = VARIANT_SECONDS * (double)count,
                         .pace = &ak_paces[AK_PACE_INTERLEAVED]};
    ak_status status = fight(entries, e, entrants, count, &plan, BASELINE_TIMEOUT_NS, err);
    for (size_t i = 0; i < count; i++) {
        ak_stats stats;
        ak_stats_of(&stats, entries[i].samples_ms, entries[i].sample_count);
        if (entries[i].sample_count > 0 && (least == 0.0 || stats.median < least)) {
            least = stats.median;
            *best = first + i;
        }
        ak_free(entries[i].reason);
        ak_free(entries[i].version);
        ak_free(entries[i].samples_ms);
    }
    return status;
}

static ak_status remember(ak_evaluator *e, const char *base, const char *best, ak_error *err)
{
    void *choices = e->choices;
    ak_status status =
        ak_grow(&choices, &e->choice_capacity, e->choice_count + 1, sizeof *e->choices, err);
    e->choices = choices;
    if (status != AK_OK) {
        return status;
    }
    choice made = {.base = ak_strdup(base), .best = ak_strdup(best)};
    if (made.base == NULL || made.best == NULL) {
        ak_free(made.base);
        ak_free(made.best);
        return ak_fail_memory(err);
    }
    e->choices[e->choice_count++] = made;
    return AK_OK;
}

static const char *remembered(const ak_evaluator *e, const char *name)
{
    for (size_t i = 0; i < e->choice_count; i++) {
        if (same_library(name, e->choices[i].base)) {
            return e->choices[i].best;
        }
    }
    return NULL;
}

/* Of the versions items[first..last), the first being the library's own choice, keeps that and the
   fastest, moved to *kept and behind. */
static ak_status reduce(listing *list, size_t *kept, size_t first, size_t last, ak_evaluator *e,
                        ak_error *err)
{
    size_t best = first;
    ak_status status = AK_OK;
    const char *known = remembered(e, list->items[first].name);
    if (known == NULL) {
        if (last - first > 1) {
            status = fastest(&best, e, list, first, last, err);
        }
        if (status == AK_OK) {
            status = remember(e, list->items[first].name, list->items[best].name, err);
        }
    }
    for (size_t i = first; known != NULL && i < last; i++) {
        best = strcmp(list->items[i].name, known) == 0 ? i : best;
    }
    for (size_t i = first; i < last; i++) {
        if (i == first || i == best) {
            ak_baseline_info item = list->items[i];
            list->items[i] = (ak_baseline_info){0};
            list->items[(*kept)++] = item;
        } else {
            info_clear(&list->items[i]);
            list->items[i] = (ak_baseline_info){0};
        }
    }
    return status;
}

ak_status ak_evaluate_baselines(ak_baseline_info **out, size_t *count, ak_evaluator *e,
                                ak_error *err)
{
    const char *wanted = e->task->libraries;
    listing list = {.wanted = wanted == NULL ? "default" : wanted, .left_out = AK_BUF(400)};
    ak_status status = e->backend->baselines(e->device, e->task, list_one, &list, err);
    if (status == AK_OK && list.status != AK_OK) {
        status = ak_fail_memory(err);
    }
    status = status == AK_OK ? check_wanted(&list, err) : status;
    ak_buf_free(&list.left_out);
    size_t kept = 0;
    for (size_t first = 0; status == AK_OK && first < list.count;) {
        size_t last = first + 1;
        while (last < list.count && same_library(list.items[last].name, list.items[first].name)) {
            last++;
        }
        status = reduce(&list, &kept, first, last, e, err);
        first = last;
    }
    for (size_t i = 0; status == AK_OK && e->backend->baseline_version != NULL && i < kept; i++) {
        char version[VERSION_BYTES];
        e->backend->baseline_version(version, sizeof version, e->device, list.items[i].name);
        char *text = version[0] == 0 ? NULL : ak_strdup(version);
        if (text != NULL) {
            ak_free(list.items[i].version);
            list.items[i].version = text;
        }
    }
    if (status != AK_OK) {
        ak_baseline_info_free(list.items, list.count);
        return status;
    }
    *out = list.items;
    *count = kept;
    return AK_OK;
}

ak_status ak_evaluate_duel(ak_duel_entry *out, ak_evaluator *e, const ak_entrant *entrants,
                           size_t count, const ak_duel_plan *plan, int64_t timeout_ns,
                           ak_error *err)
{
    ak_entrant resolved[AK_CONTESTANTS_MAX];
    if (count == 0 || count > AK_CONTESTANTS_MAX) {
        return ak_fail(err, AK_INVALID, "a comparison of %zu contestants: must be 1..%d", count,
                       AK_CONTESTANTS_MAX);
    }
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        resolved[i] = entrants[i];
        const char *colon = entrants[i].baseline == NULL ? NULL : strchr(entrants[i].baseline, ':');
        if (colon == NULL || strcmp(colon, ":BEST") != 0) {
            continue;
        }
        if (remembered(e, entrants[i].baseline) == NULL) {
            ak_baseline_info *infos = NULL;
            size_t info_count = 0;
            status = ak_evaluate_baselines(&infos, &info_count, e, err);
            if (status == AK_OK) {
                ak_baseline_info_free(infos, info_count);
            }
        }
        const char *best = remembered(e, entrants[i].baseline);
        resolved[i].baseline = best == NULL ? entrants[i].baseline : best;
    }
    return status == AK_OK ? fight(out, e, resolved, count, plan, timeout_ns, err) : status;
}

ak_status ak_evaluate_ceilings(ak_ceilings *out, ak_evaluator *e, ak_error *err)
{
    return e->backend->ceilings(out, e->device, e->task->dtype, err);
}
