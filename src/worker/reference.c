/* reference.c: see reference.h. */
#include "worker/reference.h"

#include <string.h>
#include <unistd.h>

#include "backend/host/host.h"
#include "backend/host/host_pool.h"
#include "base/alloc.h"
#include "base/clock.h"

#define COMPILE_TIMEOUT_NS (120 * AK_SECOND_NS)
#define COMPILE_MEMORY_MAX ((size_t)4 << 30)
/* A plain triple loop over 4096^3 in double takes a minute or two. */
#define RUN_TIMEOUT_NS (600 * AK_SECOND_NS)
#define SPIN_NS        50000
#define ALIGN          64

struct ak_reference {
    const ak_task *task;
    ak_host_pool *pool;
    ak_reference_fn run; /* built in; else compiled: */
    ak_device *device;
    ak_runnable *runnable;
};

static ak_reference_fn builtin(const ak_task *task)
{
    for (size_t i = 0; task->problem->builtin && ak_references[i].kernel != NULL; i++) {
        if (strcmp(ak_references[i].kernel, task->problem->name) == 0) {
            return ak_references[i].choose();
        }
    }
    return NULL;
}

/* Plain optimisation, nothing that changes results. */
static ak_status compile(const char *artifact, const char *name, const ak_task *task,
                         const char *folder, ak_error *err)
{
    static const char *const options[] = {"-std=gnu17", "-O3", "-ffp-contract=off"};
    char path[AK_PATH_MAX];
    ak_buf text = AK_BUF(2 * (size_t)AK_SOURCE_BYTES_MAX);
    ak_compile_result result = {0};
    ak_status status = ak_fs_join(path, folder, name, err);
    if (status == AK_OK) {
        status = ak_host_source(&text, task->problem->reference_source, "reference.c", err);
    }
    if (status == AK_OK) {
        status = ak_fs_write(path, text.data, text.length, err);
    }
    ak_buf_free(&text);
    if (status == AK_OK) {
        ak_compile_job job = {.source_path = path,
                              .argv = options,
                              .argc = sizeof options / sizeof options[0],
                              .folder = folder,
                              .artifact = artifact,
                              .timeout_ns = COMPILE_TIMEOUT_NS,
                              .memory_max = COMPILE_MEMORY_MAX};
        status = ak_host_compile(&result, &job, err);
    }
    if (status == AK_OK && result.status != AK_TRIAL_OK) {
        status = ak_fail(err, AK_INVALID, "%s: reference.c does not compile: %s",
                         task->problem->name, result.reason);
    }
    ak_compile_result_clear(&result);
    return status;
}

static ak_status load(ak_reference *reference, const char *folder, ak_error *err)
{
    char artifact[AK_PATH_MAX], source[64], library[64];
    ak_outcome outcome;
    /* Device workers share the folder. */
    (void)snprintf(source, sizeof source, "reference-%ld.c", (long)getpid());
    (void)snprintf(library, sizeof library, "reference-%ld.so", (long)getpid());
    ak_status status = ak_fs_join(artifact, folder, library, err);
    if (status == AK_OK) {
        status = compile(artifact, source, reference->task, folder, err);
    }
    if (status == AK_OK) {
        status = ak_host_ops.open(&reference->device, reference->task, err);
    }
    if (status == AK_OK) {
        ak_load what = {.artifact = artifact, .symbol = "ak_reference"};
        status = ak_host_ops.load(&reference->runnable, reference->device, &what, &outcome, err);
    }
    if (status == AK_OK && outcome.status != AK_TRIAL_OK) {
        status = ak_fail(err, AK_INVALID, "%s: reference.c cannot be used: %s",
                         reference->task->problem->name, outcome.reason);
    }
    return status;
}

ak_status ak_reference_open(ak_reference **out, const ak_task *task, const char *folder,
                            ak_error *err)
{
    if (task->problem->reference_source == NULL || task->problem->reference_source[0] == 0) {
        return ak_fail(err, AK_INVALID,
                       "%s: the problem has no reference, so results cannot be checked",
                       task->problem->name);
    }
    ak_reference *reference = ak_alloc(1, sizeof *reference);
    if (reference == NULL) {
        return ak_fail_memory(err);
    }
    reference->task = task;
    reference->run = builtin(task);
    int threads = task->threads > 0 ? task->threads : ak_host_cpus();
    ak_status status = ak_host_pool_open(&reference->pool, threads, SPIN_NS, err);
    if (status == AK_OK && reference->run == NULL) {
        status = load(reference, folder, err);
    }
    if (status != AK_OK) {
        ak_reference_close(reference);
        return status;
    }
    *out = reference;
    return AK_OK;
}

void ak_reference_close(ak_reference *reference)
{
    if (reference != NULL) {
        ak_host_pool_close(reference->pool);
        if (reference->runnable != NULL) {
            ak_host_ops.unload(reference->runnable);
        }
        ak_host_ops.close(reference->device);
        ak_free(reference);
    }
}

static void run_here(ak_reference *reference, const ak_shape *shape, double *const *arrays)
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
    reference->run(&call);
}

static ak_status run_there(ak_reference *reference, const ak_shape *shape, double *const *arrays,
                           ak_error *err)
{
    const ak_task *task = reference->task;
    size_t count = task->problem->argument_count, offset[AK_ARGUMENTS_MAX], end = 0;
    ak_shape wide = *shape;
    for (size_t i = 0; i < count; i++) {
        offset[i] = end;
        wide.bytes[i] = shape->elements[i] * sizeof(double);
        wide.pitch[i] = shape->row[i];
        end += (wide.bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
    }
    ak_status status = ak_host_ops.reserve(reference->device, end, err);
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        status = ak_host_ops.upload(reference->device, offset[i], arrays[i], wide.bytes[i], err);
    }
    ak_outcome outcome = {.status = AK_TRIAL_OK};
    if (status == AK_OK) {
        ak_launch launch = {.task = task,
                            .shape = &wide,
                            .offset = offset,
                            .threads = AK_HOST_THREADS_MAX,
                            .iterations = 1,
                            .timeout_ns = RUN_TIMEOUT_NS};
        status = ak_host_ops.launch(&outcome, reference->runnable, &launch, err);
    }
    if (status == AK_OK && outcome.status != AK_TRIAL_OK) {
        status = ak_fail(err, AK_INVALID, "%s: reference.c failed: %s", task->problem->name,
                         outcome.reason);
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        if (task->problem->arguments[i].access != AK_ACCESS_IN) {
            status =
                ak_host_ops.download(arrays[i], reference->device, offset[i], wide.bytes[i], err);
        }
    }
    return status;
}

ak_status ak_reference_run(ak_reference *reference, const ak_shape *shape, double *const *arrays,
                           ak_error *err)
{
    if (reference->run != NULL) {
        run_here(reference, shape, arrays);
        return AK_OK;
    }
    return run_there(reference, shape, arrays, err);
}

void ak_reference_parallel(ak_reference *reference, void (*task)(void *context, int thread, int n),
                           void *context)
{
    ak_host_pool_parallel(reference->pool, ak_host_pool_threads(reference->pool), task, context);
}
