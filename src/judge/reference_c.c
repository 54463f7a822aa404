/*
 * reference_c.c: references that are C functions. Those of built-in kernels are compiled into the
 * executable; a user's is compiled when the evaluator is opened and runs in a confined child, as a
 * candidate does.
 */
#include "judge/reference.h"

#include <string.h>
#include <unistd.h>

#include "backend/host/host.h"
#include "backend/host/host_pool.h"
#include "base/clock.h"
#include "check/compare.h"

/* A plain triple loop over 4096^3 in double takes a minute or two. */
#define RUN_TIMEOUT_NS (600 * AK_SECOND_NS)
#define ALIGN          8 /* doubles in a cache line of 64 bytes */

typedef struct c_state {
    ak_device *device;
    ak_runnable *runnable; /* NULL after a failure, which may have ended its process */
    char artifact[AK_PATH_MAX];
} c_state;

static ak_reference_fn builtin(const ak_task *task)
{
    for (size_t i = 0; task->problem->builtin && ak_references[i].kernel != NULL; i++) {
        if (strcmp(ak_references[i].kernel, task->problem->name) == 0) {
            return ak_references[i].choose();
        }
    }
    return NULL;
}

/* Compiles the reference with plain optimisation that changes no results. */
static ak_status compile(const char *artifact, const char *name, const ak_task *task,
                         const char *folder, ak_error *err)
{
    static const char *const options[] = {"-std=gnu17", "-O3", "-ffp-contract=off"};
    char path[AK_PATH_MAX], who[AK_PATH_MAX];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX);
    AK_DO(ak_fs_join(path, folder, name, err));
    AK_DO(ak_host_source(&text, task->problem->reference_source, "reference.c", err));
    const ak_compile_job job = {.source_path = path,
                                .argv = options,
                                .argc = AK_COUNT(options),
                                .folder = folder,
                                .artifact = artifact};
    (void)snprintf(who, sizeof who, "%s: reference.c", task->problem->name);
    return ak_host_compile_own(job, &text, who, err);
}

static void unload(c_state *state)
{
    if (state->runnable != NULL) {
        ak_host_ops.unload(state->runnable);
    }
    state->runnable = NULL;
}

static ak_status load(c_state *state, const ak_task *task, ak_error *err)
{
    ak_outcome outcome;
    const ak_load what = {.artifact = state->artifact, .symbol = "ak_reference"};
    AK_DO(ak_host_ops.load(&state->runnable, state->device, &what, &outcome, err));
    AK_FAIL_IF(outcome.status != AK_TRIAL_OK, err, AK_INVALID, "%s: reference.c cannot be used: %s",
               task->problem->name, outcome.reason);
    return AK_OK;
}

static ak_status make(c_state *state, const ak_task *task, const char *folder, ak_error *err)
{
    char source[64], library[64];
    /* The names contain the process because device workers share the folder. */
    (void)snprintf(source, sizeof source, "reference-%ld.c", (long)getpid());
    (void)snprintf(library, sizeof library, "reference-%ld.so", (long)getpid());
    AK_DO(ak_fs_join(state->artifact, folder, library, err));
    AK_DO(compile(state->artifact, source, task, folder, err));
    AK_DO(ak_host_ops.open(&state->device, task, err));
    return load(state, task, err);
}

static void close_c(void *opened)
{
    c_state *state = opened;
    unload(state);
    ak_host_ops.close(state->device);
}

static ak_status open_c(void *state, const ak_reference *reference, const char *folder,
                        ak_error *err)
{
    return builtin(reference->task) != NULL ? AK_OK : make(state, reference->task, folder, err);
}

static void run_here(const ak_reference *reference, const ak_shape *shape, double *const *arrays)
{
    void *arg[AK_ARGUMENTS_MAX] = {NULL};
    int64_t pitch[AK_ARGUMENTS_MAX] = {0};
    for (size_t i = 0; i < reference->task->problem->argument_count; i++) {
        arg[i] = arrays[i];
        pitch[i] = (int64_t)shape->row[i];
    }
    ak_host_call call = {.size = shape->size,
                         .choice = reference->task->choice,
                         .number = reference->task->number,
                         .arg = arg,
                         .pitch = pitch,
                         .threads = ak_host_pool_threads(reference->pool),
                         .parallel = ak_host_pool_parallel,
                         .barrier = ak_host_pool_barrier,
                         .pool = reference->pool};
    builtin(reference->task)(&call);
}

/* ---- a user's reference, between red zones -------------------------------------------------- */

/* The arrays of a reference in one block, each between two zones of NaNs. Arithmetic keeps the
   payload of a NaN, so the payload of a result shows what was read. */
#define ZONE      512                          /* doubles */
#define OUTSIDE   UINT64_C(0x7ff4beef00c0ffee) /* what zones hold; arithmetic makes it quiet */
#define UNWRITTEN UINT64_C(0x7ff4dead00c0ffee) /* what outputs hold before the call */
#define PAYLOAD   UINT64_C(0x7ff7ffff00000000) /* the bits by which the two are known */

typedef struct block {
    const ak_task *task;
    const ak_shape *shape;
    uint64_t *words; /* the whole block */
    size_t at[AK_ARGUMENTS_MAX], end;
} block;

static void fill(uint64_t *words, size_t count, uint64_t with)
{
    for (size_t i = 0; i < count; i++) {
        words[i] = with;
    }
}

static ak_status lay_out(block *b, ak_device *device, double *const *arrays, ak_error *err)
{
    const ak_problem *problem = b->task->problem;
    b->end = ZONE;
    for (size_t i = 0; i < problem->argument_count; i++) {
        b->at[i] = b->end;
        b->end += (b->shape->elements[i] + ALIGN - 1) / ALIGN * ALIGN + ZONE;
    }
    AK_DO(ak_host_ops.reserve(device, b->end * sizeof(double), err));
    b->words = ak_host_ops.map(device);
    fill(b->words, b->end, OUTSIDE);
    for (size_t i = 0; i < problem->argument_count; i++) {
        if (problem->arguments[i].access == AK_ACCESS_OUT) {
            fill(b->words + b->at[i], b->shape->elements[i], UNWRITTEN);
        } else {
            memcpy(b->words + b->at[i], arrays[i], b->shape->elements[i] * sizeof(double));
        }
    }
    return AK_OK;
}

static ak_status blame(const block *b, ak_error *err, const char *what, size_t argument, int64_t at)
{
    const ak_argument_spec *spec = &b->task->problem->arguments[argument];
    const ak_compare_argument named = {spec->name, spec->rank, b->shape->extent[argument]};
    char where[128], element[AK_ELEMENT_BYTES];
    ak_task_size_text(where, sizeof where, b->task->problem, b->shape->size);
    return ak_fail(err, AK_INVALID, "%s: reference.c %s %s at %s", b->task->problem->name, what,
                   ak_compare_element(element, &named, at), where);
}

/* Checks the zone behind an array, or the first zone if `argument` is SIZE_MAX. The error names the
   array that is nearer to the write. */
static ak_status look_at_zone(const block *b, size_t argument, ak_error *err)
{
    const bool first = argument == SIZE_MAX;
    const size_t begin = first ? 0 : b->at[argument] + b->shape->elements[argument];
    const bool last = !first && argument + 1 == b->task->problem->argument_count;
    const size_t end = last ? b->end : b->at[first ? 0 : argument + 1];
    for (size_t k = begin; k < end; k++) {
        if (b->words[k] != OUTSIDE) {
            const bool behind = last || (!first && k - begin < end - k);
            const size_t near = behind ? argument : first ? 0 : argument + 1;
            return blame(b, err, "writes outside of its arrays: to", near,
                         (int64_t)k - (int64_t)b->at[near]);
        }
    }
    return AK_OK;
}

/* Returns an error if the reference wrote outside its outputs, read outside its arrays, read an
   output before writing it, or left out elements of an output. */
static ak_status look_at(const block *b, double *const *arrays, ak_error *err)
{
    const ak_problem *problem = b->task->problem;
    AK_DO(look_at_zone(b, SIZE_MAX, err));
    for (size_t i = 0; i < problem->argument_count; i++) {
        const uint64_t *word = b->words + b->at[i];
        const size_t count = b->shape->elements[i];
        AK_DO(look_at_zone(b, i, err));
        for (size_t k = 0; k < count; k++) {
            const bool input = problem->arguments[i].access == AK_ACCESS_IN;
            const uint64_t payload = word[k] & PAYLOAD;
            uint64_t given;
            memcpy(&given, &arrays[i][k], sizeof given);
            const char *what = input ? word[k] != given ? "changes its input" : NULL
                               : payload == (OUTSIDE & PAYLOAD) ? "reads outside of its arrays, for"
                               : payload == (UNWRITTEN & PAYLOAD)
                                   ? "does not write, or reads before it writes,"
                                   : NULL;
            if (what != NULL) {
                return blame(b, err, what, i, (int64_t)k);
            }
        }
    }
    return AK_OK;
}

static ak_status run_there(c_state *state, const ak_task *task, const ak_shape *shape,
                           double *const *arrays, ak_error *err)
{
    block b = {.task = task, .shape = shape};
    size_t count = task->problem->argument_count, offset[AK_ARGUMENTS_MAX];
    ak_shape wide = *shape;
    AK_DO(state->runnable == NULL ? load(state, task, err) : AK_OK);
    AK_DO(lay_out(&b, state->device, arrays, err));
    for (size_t i = 0; i < count; i++) {
        offset[i] = b.at[i] * sizeof(double);
        wide.bytes[i] = shape->elements[i] * sizeof(double);
        wide.pitch[i] = shape->row[i];
    }
    ak_outcome outcome = {.status = AK_TRIAL_OK};
    ak_launch launch = {.task = task,
                        .shape = &wide,
                        .offset = offset,
                        .threads = AK_HOST_THREADS_MAX,
                        .iterations = 1,
                        .plain = true,
                        .timeout_ns = RUN_TIMEOUT_NS};
    AK_DO(ak_host_ops.launch(&outcome, state->runnable, &launch, err));
    if (outcome.status != AK_TRIAL_OK) {
        char where[128];
        ak_task_size_text(where, sizeof where, task->problem, shape->size);
        const bool lost = strncmp(outcome.reason, "signal 11 ", 10) == 0 || /* SIGSEGV */
                          strncmp(outcome.reason, "signal 7 ", 9) == 0;     /* SIGBUS */
        unload(state);
        return ak_fail(err, AK_INVALID, "%s: reference.c failed at %s: %s%s", task->problem->name,
                       where, outcome.reason,
                       lost ? ": it reads or writes far outside of its arrays, for example because "
                              "a \"shape\" in problem.json is too small"
                            : "");
    }
    AK_DO(look_at(&b, arrays, err));
    for (size_t i = 0; i < count; i++) {
        if (task->problem->arguments[i].access != AK_ACCESS_IN) {
            memcpy(arrays[i], b.words + b.at[i], wide.bytes[i]);
        }
    }
    return AK_OK;
}

static ak_status run_c(const ak_reference *reference, const ak_shape *shape, double *const *arrays,
                       ak_error *err)
{
    if (builtin(reference->task) == NULL) {
        return run_there(reference->state, reference->task, shape, arrays, err);
    }
    run_here(reference, shape, arrays);
    return AK_OK;
}

const ak_reference_ops ak_reference_c_ops = {
    .kind = "c", .state_bytes = sizeof(c_state), .open = open_c, .run = run_c, .close = close_c};
