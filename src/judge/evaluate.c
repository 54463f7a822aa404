#include "judge/evaluate.h"

#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"
#include "judge/loaded.h"

/* The device judges the task's own shape if the shape is at least this large and there is a referee
   for it; smaller ones take the host less than 50 ms. */
#define REFEREE_ELEMENTS ((size_t)1 << 20)
#define REFEREE_FLOPS    1e9
/* Tasks up to this size have AK_FRESH_MAX fresh sets of inputs; larger ones have one, or none if
   they have a single set of inputs (SECOND_SET_FLOPS). */
#define FRESH_FEW_FLOPS 2.5e8
#define FRESH_FEW_BYTES ((size_t)4 << 20)
/* plan_many explains these two numbers. */
#define MANY_BYTES ((size_t)1 << 20)
#define MANY_LEAST 4
/* ak_evaluate_limit (evaluate.h) explains these two numbers. */
#define HUNG_TIMES    200.0
#define HUNG_LEAST_NS (2 * AK_SECOND_NS)
/* If this variable is set, it is the largest number of samples of a trial, and all batches are
   SHORTER times shorter. Tests that are not about times set it: on a busy machine no interval is
   narrow enough before the last sample, so most of the processor time of a short run would go into
   batches. */
#define SAMPLES_VARIABLE "AUTOKERNEL_SAMPLES"
#define SHORTER          10
#define PLACES_ALIGN     4096
/* A task that exceeds one of these has a single set of inputs, because a second set costs a second
   reference (a second or two of a processor) and a second block of memory. */
#define SECOND_SET_FLOPS 2.5e9
#define SECOND_SET_BYTES ((size_t)256 << 20)

/* Random streams below this number belong to edge-case shapes. */
#define SECRET_STREAMS 65536

/* ---- opening ------------------------------------------------------------------------------- */

/* Returns the number of input sets. There is one if the task is large, or if the block is not
   mapped, because copying inputs to the device takes longer than running on them. */
static size_t sets_of(const ak_evaluator *e)
{
    bool cheap = e->backend->map != NULL && e->task->shape.flops <= SECOND_SET_FLOPS &&
                 e->own[0].arrays.total <= SECOND_SET_BYTES;
    return cheap ? AK_STAGE_SETS : 1;
}

/* Returns whether all inputs are constant and other numbers may replace them. They may not if right
   results come from files, which belong to these inputs, or if no input is a float, because whole
   numbers may be lengths and indices. */
bool ak_evaluator_constants_vary(const ak_task *task)
{
    bool floats = false;
    for (size_t i = 0; i < task->problem->argument_count; i++) {
        const ak_argument_spec *argument = &task->problem->arguments[i];
        if (argument->access != AK_ACCESS_OUT && argument->fill != AK_FILL_CONSTANT) {
            return false;
        }
        if (task->problem->reference.array[i] != NULL) {
            return false;
        }
        floats = floats || (argument->access != AK_ACCESS_OUT &&
                            ak_dtype_is_float(ak_task_argument_dtype(task, i)));
    }
    return floats;
}

static ak_status plan_own(size_t *end, ak_evaluator *e, ak_error *err)
{
    const int64_t *size = e->task->shape.size;
    AK_DO(ak_stage_plan(&e->own[0], &e->memory, e->task, size, 0, 0, err));
    e->sets = 1;
    *end = e->own[0].arrays.total;
    while (e->sets < sets_of(e)) {
        size_t base = (*end + PLACES_ALIGN - 1) / PLACES_ALIGN * PLACES_ALIGN;
        AK_DO(ak_stage_plan(&e->own[e->sets], &e->memory, e->task, size, (int)e->sets, base, err));
        *end = base + e->own[e->sets].arrays.total;
        e->sets++;
    }
    const ak_fill_habit varied =
        ak_evaluator_constants_vary(e->task) ? AK_HABIT_VARIED : AK_HABIT_USUAL;
    bool few = e->task->shape.flops <= FRESH_FEW_FLOPS && e->own[0].arrays.total <= FRESH_FEW_BYTES;
    size_t wanted = e->sets < AK_STAGE_SETS ? 0 : few ? AK_FRESH_MAX : 1;
    for (; e->fresh_count < wanted; e->fresh_count++) {
        ak_stage *fresh = &e->fresh[e->fresh_count];
        AK_DO(ak_stage_plan(fresh, &e->memory, e->task, size, 0, 0, err));
        fresh->other = &e->own[0];
        fresh->habit = varied;
    }
    if (e->sets == AK_STAGE_SETS) {
        e->own[0].other = &e->own[1];
        e->own[1].other = &e->own[0];
        e->own[1].habit = varied;
    }
    return AK_OK;
}

/* Plans the arguments for a batch on many inputs, from *end on: as many as MANY_BYTES hold, so that
   a call finds them in the caches if a call in an ordinary batch does. Plans none if only a few
   fit, if the device is not a CPU, or if there are no fresh inputs. */
static ak_status plan_many(size_t *end, ak_evaluator *e, ak_error *err)
{
    const ak_shape *shape = &e->task->shape;
    size_t bytes = 1;
    for (size_t i = 0; i < e->task->problem->argument_count; i++) {
        bytes += shape->bytes[i];
    }
    const size_t fit = MANY_BYTES / bytes, wanted = fit < AK_PLACES_MAX ? fit : AK_PLACES_MAX;
    if (!e->backend->is_cpu || e->fresh_count == 0 || wanted < MANY_LEAST) {
        return AK_OK;
    }
    for (; e->many_count < wanted; e->many_count++) {
        ak_stage *stage = &e->many[e->many_count];
        const size_t base = (*end + PLACES_ALIGN - 1) / PLACES_ALIGN * PLACES_ALIGN;
        AK_DO(ak_stage_plan(stage, &e->memory, e->task, shape->size, AK_STAGE_SETS, base, err));
        stage->other = &e->own[0];
        stage->habit = e->fresh[0].habit;
        *end = base + stage->arrays.total;
    }
    return AK_OK;
}

/* Returns by how many bytes the arrays at other sizes than the task's own are shifted within their
   place. On a CPU they begin at 64 modulo 128, and so does their workspace (host_ops.c), because 64
   bytes are all the alignment that a host's caller promises. A GPU's own allocator gives 256. */
static size_t shift_apart(const ak_evaluator *e)
{
    return e->backend->is_cpu ? AK_GUARD_SHIFT : 0;
}

/* Plans a stage that shares the place at `base` with others. */
ak_status ak_evaluator_plan_apart(ak_stage *stage, size_t *end, ak_evaluator *e,
                                  const int64_t *size, size_t base, ak_error *err)
{
    const size_t begin = base + shift_apart(e);
    AK_DO(ak_stage_plan(stage, &e->memory, e->task, size, AK_STAGE_SETS, begin, err));
    *end = begin + stage->arrays.total > *end ? begin + stage->arrays.total : *end;
    return AK_OK;
}

static ak_status plan_stages(ak_evaluator *e, ak_error *err)
{
    size_t end = 0;
    const ak_problem *problem = e->task->problem;
    AK_DO(AK_NEW(e->edge_cases, problem->edge_case_count + 1, err));
    AK_DO(plan_own(&end, e, err));
    AK_DO(ak_few_plan(e, err));
    const size_t base = (end + PLACES_ALIGN - 1) / PLACES_ALIGN * PLACES_ALIGN;
    end = base;
    for (size_t i = 0; i < problem->edge_case_count; i++) {
        e->edge_case_count = i + 1;
        AK_DO(
            ak_evaluator_plan_apart(&e->edge_cases[i], &end, e, problem->edge_cases[i], base, err));
    }
    AK_DO(ak_hidden_plan(&end, e, base, err));
    /* A shape that is drawn for a candidate may be as large as the task's own, up to
       AK_HIDDEN_BYTES. */
    const double own = (double)e->own[0].arrays.total;
    const size_t room = shift_apart(e) + (size_t)(own < AK_HIDDEN_BYTES ? own : AK_HIDDEN_BYTES);
    end = end < base + room ? base + room : end;
    e->apart = base;
    e->apart_bytes = end - base;
    AK_DO(plan_many(&end, e, err));
    end = (end + PLACES_ALIGN - 1) / PLACES_ALIGN * PLACES_ALIGN; /* all that can be mapped */
    AK_DO(e->backend->reserve(e->device, end, err));
    e->block_bytes = end;
    if (e->backend->map != NULL) {
        e->memory.bytes = e->backend->map(e->device);
    } else {
        e->memory.copy = ak_alloc(end, 1);
        e->memory.bytes = e->memory.copy;
    }
    return ak_made(e->memory.bytes, err);
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
    if (is_large(e, &e->own[0]) && e->backend->referee != NULL) {
        AK_DO(ak_split_find(e, err));
        e->own[0].split = &e->split;
        status = ak_stage_prepare_referee(&e->own[0], e->reference, e->secret, selftest,
                                          &e->preparation, &why);
    }
    if (status == AK_UNAVAILABLE) {
        int64_t begin = ak_clock_ns();
        status = ak_stage_prepare(&e->own[0], e->reference, e->secret, selftest, err);
        e->preparation.reference_ns += ak_clock_ns() - begin;
        return status;
    }
    return status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text);
}

static ak_status witness_all(ak_evaluator *e, ak_error *err)
{
    int64_t begin = ak_clock_ns();
    for (size_t i = 0; i < e->edge_case_count; i++) {
        AK_DO(ak_stage_prepare(&e->edge_cases[i], e->reference, i + 1, false, err));
        AK_DO(ak_stage_witness(&e->edge_cases[i], err));
    }
    e->preparation.witness_ns += ak_clock_ns() - begin;
    return AK_OK;
}

size_t ak_evaluator_largest_edge_case(const ak_evaluator *e)
{
    size_t largest = e->edge_case_count;
    for (size_t i = 0; i < e->edge_case_count; i++) {
        bool trivial = false;
        for (size_t k = 0; k < e->task->problem->size_count; k++) {
            trivial = trivial || e->edge_cases[i].shape.size[k] == 1;
        }
        if (!trivial &&
            (largest == e->edge_case_count ||
             outputs_of(e, &e->edge_cases[i]) > outputs_of(e, &e->edge_cases[largest]))) {
            largest = i;
        }
    }
    return largest;
}

/* Prepares the task's own shape, and edge-case shapes only as the self-test or a referee needs
   them. The self-test of the tolerance needs enough outputs to tell them from their mean: it uses
   the task's own shape or, if an output there is tiny, an edge-case shape; audit.c tries what can
   be tried of tiny outputs. */
static ak_status prepare_stages(ak_evaluator *e, ak_error *err)
{
    bool own = outputs_of(e, &e->own[0]) >= AK_SELFTEST_ELEMENTS;
    AK_DO(prepare_own(e, own, err));
    for (size_t i = 1; i < e->sets; i++) {
        AK_DO(ak_stage_prepare(&e->own[i], e->reference, e->secret + i, false, err));
    }
    AK_DO(own ? AK_OK : ak_audit(e, err));
    size_t largest = ak_evaluator_largest_edge_case(e);
    if (!own && largest < e->edge_case_count) {
        ak_stage *stage = &e->edge_cases[largest];
        AK_DO(ak_stage_prepare(stage, e->reference, largest + 1,
                               outputs_of(e, stage) >= AK_SELFTEST_ELEMENTS, err));
    }
    AK_DO(ak_exchange_inputs(e, err));
    return e->own[0].referee != NULL ? witness_all(e, err) : AK_OK;
}

ak_status ak_evaluator_open(ak_evaluator **out, const ak_backend_ops *backend, const ak_task *task,
                            const char *folder, ak_error *err)
{
    ak_evaluator *e;
    AK_DO(AK_NEW(e, 1, err));
    e->backend = backend;
    e->task = task;
    uint64_t drawn = 0;
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn) {
        drawn = (uint64_t)ak_clock_ns(); /* this happens only early in the start of a machine */
    }
    ak_rng_seed(&e->rng, task->seed ^ drawn);
    e->secret = (ak_rng_next(&e->rng) >> 16) + SECRET_STREAMS;
    int64_t begin = ak_clock_ns();
    ak_status status = AK_OK;
    AK_TRY(backend->open(&e->device, task, err));
    e->preparation.device_ns = ak_clock_ns() - begin;
    e->memory.backend = backend;
    e->memory.device = e->device;
    AK_TRY(ak_objective_weighs(task->objective) ? ak_weigh_ready(e, err) : AK_OK);
    AK_TRY(plan_stages(e, err));
    AK_TRY(ak_reference_open(&e->reference, task, folder, err));
    AK_TRY(prepare_stages(e, err));
    *out = e;
    return AK_OK;
out:
    ak_evaluator_close(e);
    return status;
}

void ak_evaluator_each_stage(ak_evaluator *e, void (*visit)(ak_stage *stage))
{
    const struct {
        ak_stage *stages;
        size_t count;
    } all[] = {{e->own, e->sets},
               {e->fresh, e->fresh_count},
               {e->many, e->many_count},
               {&e->few, e->few_count},
               {e->edge_cases, e->edge_case_count},
               {e->hidden, e->hidden_count},
               {&e->fitting, e->fitting_count}};
    for (size_t k = 0; k < AK_COUNT(all); k++) {
        for (size_t i = 0; i < all[k].count; i++) {
            visit(&all[k].stages[i]);
        }
    }
}

void ak_evaluator_close(ak_evaluator *e)
{
    if (e == NULL) {
        return;
    }
    ak_reference_close(e->reference);
    ak_evaluator_each_stage(e, ak_stage_free);
    for (size_t i = 0; i < e->choice_count; i++) {
        AK_FREE_ALL(e->choices[i].base, e->choices[i].best);
    }
    AK_FREE_ALL(e->choices, e->edge_cases, e->memory.copy);
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

bool ak_evaluator_unjudged(const ak_evaluator *e)
{
    return e->unjudged;
}

bool ak_evaluator_waited(const ak_evaluator *e)
{
    return e->waited;
}

void ak_evaluator_uuid(char *out, size_t bytes, const ak_evaluator *e)
{
    out[0] = 0;
    if (e->backend->uuid != NULL) {
        e->backend->uuid(out, bytes, e->device);
    }
}

/* ---- trial and check ----------------------------------------------------------------------- */

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

/* Runs batches until the timer is done. Adds to *judging_ns the time spent on judging results. */
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
        ak_stage *stage = batch == 0 ? ak_evaluator_unseen(e) : ak_evaluator_draw(e);
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
    if (r.outcome.status == AK_TRIAL_OK && ak_evaluator_unseen(e)->habit == AK_HABIT_VARIED) {
        AK_TRY(ak_loaded_check_at(&r, ak_evaluator_unseen(e), 0, 1, err));
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
