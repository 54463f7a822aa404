/*
 * reference_kernel.c: references that are kernels: another implementation of the same problem, or
 * the default configuration of the one that is tuned. Both compute in the task's own dtype, so
 * their rounding errors count against the candidates, and the errors of such a kernel are taken for
 * right. The kernel is compiled when the evaluator is opened, and runs like a candidate, on a block
 * of memory of its own.
 */
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "backend/compile.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "check/guard.h"
#include "check/inputs.h"
#include "judge/reference.h"
#include "problem/task_options.h"

#define COMPILE_TIMEOUT_NS (120 * AK_SECOND_NS)
#define COMPILE_MEMORY_MAX ((size_t)8 << 30)
#define RUN_TIMEOUT_NS     (120 * AK_SECOND_NS)

typedef struct kernel_state {
    ak_task *own; /* the task of another implementation, owned; else NULL */
    const ak_task *task;
    const ak_backend_ops *backend;
    ak_config config;
    ak_device *device;
    ak_runnable *runnable;
} kernel_state;

/* Returns whether the reference is the default configuration of what is tuned. */
static bool is_default(const ak_task *task)
{
    return strcmp(task->problem->reference.kind, "default") == 0;
}

/* Opens the task of the implementation that is the reference, on the same device if the device can
   run it. */
static ak_status open_task(kernel_state *s, const ak_task *task, ak_error *err)
{
    const char *name = task->problem->reference.name;
    const ak_implementation_spec *implementation;
    ak_task_spec spec;
    json_auto_t *json = NULL;
    ak_status status = AK_OK;
    AK_TRY(ak_problem_find(&implementation, task->problem, name, err));
    if (strcmp(name, task->implementation->name) == 0) {
        s->task = task;
        goto out;
    }
    AK_TRY(ak_task_spec_to_json(&json, task, err));
    AK_TRY(ak_task_spec_from_json(&spec, json, err));
    spec.implementation = name;
    spec.fix = NULL;
    spec.device = strcmp(implementation->backend, task->backend) == 0 ? task->device : "auto";
    AK_TRY(ak_task_open(&s->own, &spec, err));
    s->task = s->own;
out:
    return status == AK_OK || status == AK_NO_MEMORY
               ? status
               : ak_fail_within(err, "%s: the reference", task->problem->name);
}

static ak_status compile(const char *artifact, const char *source, const kernel_state *s,
                         const char *folder, ak_error *err)
{
    AK_AT_END(ak_options_clear) ak_options options = {0};
    AK_AT_END(ak_compile_result_clear) ak_compile_result result = {0};
    AK_DO(ak_backend_write_source(source, s->backend, s->task->implementation, err));
    AK_DO(ak_task_options(&options, s->task, &s->config, err));
    const ak_compile_job job = {.source_path = source,
                                .compiler = options.compiler,
                                .argv = (const char *const *)options.argv,
                                .argc = options.count,
                                .folder = folder,
                                .artifact = artifact,
                                .timeout_ns = COMPILE_TIMEOUT_NS,
                                .memory_max = COMPILE_MEMORY_MAX};
    AK_DO(ak_compile_apart(&result, s->backend, &job, err));
    return result.status == AK_TRIAL_OK
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s: the reference, %s, cannot be compiled: %.300s",
                         s->task->problem->name, s->task->implementation->name, result.reason);
}

static void close_kernel(void *opened)
{
    kernel_state *s = opened;
    if (s->runnable != NULL) {
        s->backend->unload(s->runnable);
    }
    if (s->device != NULL) {
        s->backend->close(s->device);
    }
    ak_task_close(s->own);
}

static ak_status load(kernel_state *s, const char *folder, ak_error *err)
{
    char source[AK_PATH_MAX], artifact[AK_PATH_MAX], name[80];
    ak_outcome outcome = {.status = AK_TRIAL_OK};
    AK_DO(ak_backend_find(&s->backend, s->task->backend, err));
    ak_space_default(&s->config, s->task->space);
    /* The names contain the process because device workers share the folder. */
    (void)snprintf(name, sizeof name, "reference-%ld.c", (long)getpid());
    AK_DO(ak_fs_join(source, folder, name, err));
    (void)snprintf(name, sizeof name, "reference-%ld%s", (long)getpid(),
                   s->backend->artifact_suffix);
    AK_DO(ak_fs_join(artifact, folder, name, err));
    AK_DO(compile(artifact, source, s, folder, err));
    AK_DO(s->backend->open(&s->device, s->task, err));
    const ak_load what = {.artifact = artifact};
    AK_DO(s->backend->load(&s->runnable, s->device, &what, &outcome, err));
    return outcome.status == AK_TRIAL_OK
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s: the reference, %s, cannot be loaded: %s",
                         s->task->problem->name, s->task->implementation->name, outcome.reason);
}

static ak_status open_kernel(void *state, const ak_reference *reference, const char *folder,
                             ak_error *err)
{
    kernel_state *s = state;
    s->task = reference->task;
    AK_DO(is_default(s->task) ? AK_OK : open_task(s, s->task, err));
    return load(s, folder, err);
}

/* ---- running ------------------------------------------------------------------------------- */

/* Copies an argument between contiguous doubles and the kernel's elements, row by row. */
static void copy_rows(unsigned char *bytes, double *values, const ak_shape *shape, size_t i,
                      ak_dtype dtype, bool encode)
{
    size_t element = ak_dtype_bytes(dtype), row = shape->row[i];
    for (size_t r = 0; r < shape->elements[i] / row; r++) {
        unsigned char *at = bytes + r * shape->pitch[i] * element;
        if (encode) {
            ak_inputs_encode(at, values + r * row, row, dtype);
        } else {
            ak_inputs_decode(values + r * row, at, row, dtype);
        }
    }
}

/* Puts an argument into the device's memory: the input, or poison. */
static ak_status put(const kernel_state *s, const ak_shape *shape, size_t i, size_t offset,
                     double *values, ak_error *err)
{
    ak_dtype dtype = ak_task_argument_dtype(s->task, i);
    unsigned char *bytes;
    AK_DO(AK_NEW(bytes, shape->bytes[i], err));
    ak_guard_poison(bytes, shape->bytes[i], dtype, 0);
    if (s->task->problem->arguments[i].access != AK_ACCESS_OUT) {
        copy_rows(bytes, values, shape, i, dtype, true);
    }
    ak_status status = s->backend->upload(s->device, offset, bytes, shape->bytes[i], err);
    ak_free(bytes);
    return status;
}

static ak_status get(const kernel_state *s, const ak_shape *shape, size_t i, size_t offset,
                     double *values, ak_error *err)
{
    AK_FREED unsigned char *bytes = NULL;
    AK_DO(AK_NEW(bytes, shape->bytes[i], err));
    AK_DO(s->backend->download(bytes, s->device, offset, shape->bytes[i], err));
    copy_rows(bytes, values, shape, i, ak_task_argument_dtype(s->task, i), false);
    return AK_OK;
}

static ak_status run_kernel(const ak_reference *reference, const ak_shape *shape,
                            double *const *arrays, ak_error *err)
{
    const kernel_state *s = reference->state;
    ak_guard_arrays place = {.count = s->task->problem->argument_count};
    const size_t count = place.count, *offset = place.offset;
    ak_outcome outcome = {.status = AK_TRIAL_OK};
    for (size_t i = 0; i < count; i++) {
        place.bytes[i] = shape->bytes[i];
        place.dtype[i] = ak_task_argument_dtype(s->task, i);
    }
    AK_FAIL_IF(!ak_guard_layout(&place), err, AK_LIMIT,
               "%s: the arguments are too large for one block of memory: choose a smaller --size",
               s->task->problem->name);
    AK_DO(s->backend->reserve(s->device, place.total, err));
    for (size_t i = 0; i < count; i++) {
        AK_DO(put(s, shape, i, offset[i], arrays[i], err));
    }
    ak_launch launch = {.task = s->task,
                        .shape = shape,
                        .offset = offset,
                        .config = &s->config,
                        .iterations = 1,
                        .timeout_ns = RUN_TIMEOUT_NS};
    AK_DO(ak_task_workspace(&launch.workspace_bytes, &launch.threads, s->task, shape, &s->config,
                            err));
    AK_DO(s->backend->launch(&outcome, s->runnable, &launch, err));
    if (outcome.status != AK_TRIAL_OK) {
        char size[128];
        ak_task_size_text(size, sizeof size, s->task->problem, shape->size);
        return ak_fail(
            err, AK_INVALID, "%s: the reference, %s%s, failed at %s: %s%s", s->task->problem->name,
            is_default(s->task) ? "the default configuration of " : "",
            s->task->implementation->name, size, outcome.reason,
            outcome.status == AK_TRIAL_CRASHED
                ? "; compare its parameters with \"Launch\", or \"Arguments\" of a T1 "
                  "file, and its indices, also those that a \"fill\" draws, with the shapes of "
                  "the arrays"
                : "");
    }
    for (size_t i = 0; i < count; i++) {
        if (s->task->problem->arguments[i].access != AK_ACCESS_IN) {
            AK_DO(get(s, shape, i, offset[i], arrays[i], err));
        }
    }
    return AK_OK;
}

#define OPS(name)                                                                                  \
    {                                                                                              \
        .kind = (name), .state_bytes = sizeof(kernel_state), .open = open_kernel,                  \
        .run = run_kernel, .close = close_kernel                                                   \
    }
const ak_reference_ops ak_reference_kernel_ops = OPS("kernel");
const ak_reference_ops ak_reference_default_ops = OPS("default");
