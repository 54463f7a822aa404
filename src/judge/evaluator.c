/*
 * evaluator.c: opens a device for a task, plans the places of all shapes in its memory and prepares
 * them, and answers for the device. evaluate.c tries candidates there, loaded.c loads them.
 */
#include "judge/evaluate.h"

#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/loaded.h"

/* The device judges the task's own shape if the shape is at least this large and there is a referee
   for it whose reference the host can check (stage_referee.c); smaller ones take the host less than
   50 ms. */
#define REFEREE_ELEMENTS ((size_t)1 << 20)
#define REFEREE_FLOPS    1e9
/* A task with two sets of inputs (sets_of) has AK_FRESH_MAX fresh ones up to this size, else one. A
   task with a single set has none. */
#define FRESH_FEW_FLOPS 2.5e8
#define FRESH_FEW_BYTES ((size_t)4 << 20)
/* plan_many explains this number. */
#define MANY_BYTES ((size_t)16 << 20)
/* A task that exceeds one of these has a single set of inputs. Another set would cost another run
   of the reference, one or two seconds of a processor at this limit, and as many bytes of the block
   again. */
#define SECOND_SET_FLOPS 2.5e9
#define SECOND_SET_BYTES ((size_t)256 << 20)

/* Random streams below this number belong to edge-case shapes. */
#define SECRET_STREAMS 65536

/* Returns where a place may begin at or behind `end`: on a page of its own, because a child maps
   the place of its candidate and no other. */
static size_t next_place(size_t end)
{
    const size_t page = ak_page_bytes();
    return (end + page - 1) / page * page;
}

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
        size_t base = next_place(*end);
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

/* Plans the arguments for a batch on many inputs, from *end on: as many as MANY_BYTES hold, which
   most last-level caches do, but at most AK_PLACES_MAX. With fewer calls, what a call alone may
   take longer would hide the work of some (alone_many.c). Plans none if fewer than AK_MANY_LEAST
   fit, if the device is not a CPU, or if there are no fresh inputs. */
static ak_status plan_many(size_t *end, ak_evaluator *e, ak_error *err)
{
    const double fit = (double)MANY_BYTES / (ak_stage_bytes(&e->own[0]) + 1);
    const size_t wanted = fit < AK_PLACES_MAX ? (size_t)fit : AK_PLACES_MAX;
    if (!e->backend->is_cpu || e->fresh_count == 0 || wanted < AK_MANY_LEAST) {
        return AK_OK;
    }
    for (; e->many_count < wanted; e->many_count++) {
        ak_stage *stage = &e->many[e->many_count];
        const size_t base = next_place(*end);
        AK_DO(ak_stage_plan(stage, &e->memory, e->task, e->task->shape.size, AK_STAGE_SETS, base,
                            err));
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
    const size_t base = next_place(end);
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
    end = next_place(end); /* all that can be mapped */
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

size_t ak_evaluator_largest_edge_case(const ak_evaluator *e)
{
    size_t largest = e->edge_case_count;
    for (size_t i = 0; i < e->edge_case_count; i++) {
        bool trivial = false;
        for (size_t k = 0; k < e->task->problem->size_count; k++) {
            trivial = trivial || e->edge_cases[i].shape.size[k] == 1;
        }
        if (!trivial &&
            (largest == e->edge_case_count || ak_stage_least_output(&e->edge_cases[i]) >
                                                  ak_stage_least_output(&e->edge_cases[largest]))) {
            largest = i;
        }
    }
    return largest;
}

/* Prepares the largest edge-case shape, with a self-test if it has enough outputs. */
static ak_status prepare_largest(ak_evaluator *e, ak_error *err)
{
    const size_t largest = ak_evaluator_largest_edge_case(e);
    if (largest == e->edge_case_count) {
        return AK_OK;
    }
    ak_stage *stage = &e->edge_cases[largest];
    return ak_stage_prepare(stage, e->reference, largest + 1,
                            ak_stage_least_output(stage) >= AK_SELFTEST_ELEMENTS, err);
}

static ak_status prepare_own(ak_evaluator *e, bool selftest, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = AK_UNAVAILABLE;
    const ak_stage *own = &e->own[0];
    const bool large =
        ak_stage_elements(own) >= REFEREE_ELEMENTS || own->shape.flops >= REFEREE_FLOPS;
    if (large && e->backend->referee != NULL) {
        /* ak_split_find prepares this shape, too, and without a self-test. */
        AK_DO(selftest ? AK_OK : prepare_largest(e, err));
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

/* Prepares the task's own shape, and edge-case shapes only as the self-test or a referee needs
   them. The self-test of the tolerance needs enough outputs to tell them from their mean: it uses
   the task's own shape or, if an output there is tiny, an edge-case shape; audit.c tries what can
   be tried of tiny outputs. */
static ak_status prepare_stages(ak_evaluator *e, ak_error *err)
{
    bool own = ak_stage_least_output(&e->own[0]) >= AK_SELFTEST_ELEMENTS;
    AK_DO(prepare_own(e, own, err));
    for (size_t i = 1; i < e->sets; i++) {
        AK_DO(ak_stage_prepare(&e->own[i], e->reference, e->secret + i, false, err));
    }
    AK_DO(own ? AK_OK : ak_audit(e, err));
    AK_DO(own ? AK_OK : prepare_largest(e, err));
    AK_DO(ak_exchange_inputs(e, err));
    return e->own[0].referee != NULL ? witness_all(e, err) : AK_OK;
}

AK_END_AT(ak_evaluator_close, ak_evaluator)

ak_status ak_evaluator_open(ak_evaluator **out, const ak_backend_ops *backend, const ak_task *task,
                            const char *folder, ak_error *err)
{
    AK_AT_END(ak_evaluator_close_at) ak_evaluator *e = NULL;
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
    AK_DO(backend->open(&e->device, task, err));
    e->preparation.device_ns = ak_clock_ns() - begin;
    e->memory.backend = backend;
    e->memory.device = e->device;
    AK_DO(ak_objective_weighs(task->objective) ? ak_weigh_ready(e, err) : AK_OK);
    AK_DO(plan_stages(e, err));
    AK_DO(ak_reference_open(&e->reference, task, folder, err));
    AK_DO(prepare_stages(e, err));
    AK_GIVE(out, e);
    return AK_OK;
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

void ak_evaluator_conditions(ak_conditions *to, ak_evaluator *e)
{
    ak_conditions latest = {0};
    if (e->backend->conditions != NULL) {
        e->backend->conditions(&latest, e->device);
        ak_conditions_add(to, &latest);
    }
}

void ak_evaluator_wipe(ak_evaluator *e)
{
    if (e->memory.copy == NULL && e->memory.bytes != NULL) {
        ak_stage_spoilt(&e->memory);
        memset(e->memory.bytes, 0, e->block_bytes);
    }
}

ak_stage *ak_evaluator_draw(ak_evaluator *e)
{
    return &e->own[ak_rng_below(&e->rng, e->sets)];
}

ak_stage *ak_evaluator_last_set(ak_evaluator *e)
{
    return &e->own[e->sets - 1];
}
