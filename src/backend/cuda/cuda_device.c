/*
 * cuda_device.c: a CUDA device, seen from its worker process; see cuda_device.h.
 *
 * One measured batch:
 *
 *     workspace set to zero, arguments copied from set 0 to the others
 *     event | runs, as a graph | event
 *
 * The host queues the copies, the events and the runs at once, so that the device need not wait for
 * the host between the events. Afterwards one of the sets that were used, chosen at random, is
 * copied to set 0, which the harness judges. So a kernel that skips runs may be judged by one that
 * it skipped. At the task's own shape, launch/contents.c decides for candidates what the sets hold
 * and which one is judged, if there is memory for its spare places. At other shapes set 0 is the
 * only one. PyTorch's process times its batches itself (cuda_torch.c).
 *
 * A kernel that hangs cannot be ended, and one that made an illegal access leaves the context
 * unusable. The device is then lost: this batch reports what happened, every later one is refused,
 * and the worker ends and is started again.
 *
 * This file is long because memory, loading, launching and what errors mean share the open device,
 * and are read together.
 */
#include "backend/cuda/cuda_device.h"

#include <string.h>

#include "backend/triton/triton.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/number.h"
#include "check/guard.h"

static const ak_cuda_library *const libraries[] = {
#define X(name) &ak_cuda_library_##name,
#include "backend/cuda/cuda_libraries.def"
#undef X
};
enum { LIBRARIES = AK_COUNT(libraries) };

/* All sets together are at least this many times as large as the level 2 cache, if AK_CUDA_SETS_MAX
   and the free memory allow. */
#define ROTATE_CACHES 2
#define SETS_MIN      2
#define PLACE_ALIGN   1024
#define DEVICE_MAX    64

/* ---- outcomes -------------------------------------------------------------------------------- */

/* Returns whether an error has made the context unusable; CUDA calls such errors sticky. */
static bool is_sticky(int code)
{
    /* 999, 201 and 709 are: unknown, invalid context, context destroyed. */
    return code == AK_CUDA_ERROR_ILLEGAL_ADDRESS || code == AK_CUDA_ERROR_LAUNCH_TIMEOUT ||
           (code >= AK_CUDA_ERROR_ASSERT && code <= AK_CUDA_ERROR_LAUNCH_FAILED) || code == 999 ||
           code == 201 || code == 709;
}

void ak_cuda_conclude(ak_outcome *out, ak_device *device, int code, const char *doing)
{
    char text[160];
    if (code == AK_CUDA_SUCCESS) {
        out->status = AK_TRIAL_OK;
        return;
    }
    ak_cuda_error_text(text, sizeof text, device->cuda, code);
    bool sticky = is_sticky(code);
    ak_outcome_refuse(out,
                      code == AK_CUDA_ERROR_OUT_OF_MEMORY    ? AK_TRIAL_OUT_OF_MEMORY
                      : code == AK_CUDA_ERROR_LAUNCH_TIMEOUT ? AK_TRIAL_TIMED_OUT
                      : sticky                               ? AK_TRIAL_CRASHED
                                                             : AK_TRIAL_LAUNCH_ERROR,
                      "%s: %s", doing, text);
    if (sticky && !device->lost) {
        device->lost = true;
        (void)snprintf(device->why, sizeof device->why, "%.150s", out->reason);
    }
}

ak_status ak_cuda_fail(ak_device *device, int code, const char *doing, ak_error *err)
{
    ak_outcome outcome;
    ak_cuda_conclude(&outcome, device, code, doing);
    return code == AK_CUDA_SUCCESS
               ? AK_OK
               : ak_fail(err, code == AK_CUDA_ERROR_OUT_OF_MEMORY ? AK_NO_MEMORY : AK_CRASHED, "%s",
                         outcome.reason);
}

int ak_cuda_wait(ak_device *device, int64_t timeout_ns)
{
    int64_t deadline = ak_clock_ns() + timeout_ns;
    for (;;) {
        int code = device->cuda->stream_query(device->stream);
        if (code != AK_CUDA_ERROR_NOT_READY) {
            return code;
        }
        if (ak_clock_ns() >= deadline) {
            device->lost = true;
            (void)snprintf(device->why, sizeof device->why, "a kernel did not end");
            return AK_CUDA_ERROR_LAUNCH_TIMEOUT;
        }
        ak_clock_sleep_ns(AK_CUDA_POLL_NS);
    }
}

/* ---- opening and memory ---------------------------------------------------------------------- */

static void cuda_close(ak_device *device)
{
    if (device == NULL) {
        return;
    }
    const ak_cuda_driver *cuda = device->cuda;
    for (size_t i = 0; i < LIBRARIES; i++) {
        libraries[i]->close(device);
    }
    ak_cuda_referee_close(device);
    if (cuda != NULL && device->retained &&
        !device->lost) { /* with a lost device these calls would wait for ever */
        if (device->stream != NULL) {
            (void)ak_cuda_wait(device, AK_CUDA_DRAIN_NS);
            (void)cuda->stream_destroy(device->stream);
        }
        if (device->mixing.module != NULL) {
            (void)cuda->module_unload(device->mixing.module);
        }
        for (size_t i = 0; i < 2; i++) {
            if (device->events[i] != NULL) {
                (void)cuda->event_destroy(device->events[i]);
            }
        }
        const ak_cuda_address memory[] = {device->block, device->copies, device->zones.memory};
        for (size_t i = 0; i < AK_COUNT(memory); i++) {
            if (memory[i] != 0) {
                (void)cuda->memory_free(memory[i]);
            }
        }
        (void)cuda->context_release(device->handle);
    }
    ak_free(device);
}

static int open_context(ak_device *device, int ordinal)
{
    const ak_cuda_driver *cuda = device->cuda;
    void *context = NULL;
    int code = cuda->device_get(&device->handle, ordinal);
    code = code == 0 ? cuda->context_retain(&context, device->handle) : code;
    device->retained = code == 0;
    code = code == 0 ? cuda->context_set(context) : code;
    code = code == 0 ? cuda->stream_create(&device->stream, AK_CUDA_STREAM_NON_BLOCKING) : code;
    for (size_t i = 0; i < 2 && code == 0; i++) {
        code = cuda->event_create(&device->events[i], 0);
    }
    return code;
}

/* Asks for the UUID and opens the sampler of clocks. Without a UUID or NVML there are no conditions
   and no energy, but everything else works. */
static void open_sampler(ak_device *device)
{
    unsigned char uuid[16];
    if (device->cuda->device_uuid(uuid, device->handle) == 0) {
        ak_cuda_uuid_text(device->uuid, uuid);
        ak_cuda_sampler_open(&device->sampler, device->uuid);
    }
}

AK_END_AT(cuda_close, ak_device)

static ak_status cuda_open(ak_device **out, const ak_task *task, ak_error *err)
{
    int64_t ordinal = 0;
    const char *colon = strchr(task->device, ':');
    AK_AT_END(cuda_close_at) ak_device *device = NULL;
    AK_DO(AK_NEW(device, 1, err));
    device->task = task;
    device->sm_count = ak_task_fact(task, "sm_count");
    device->l2_bytes = ak_task_fact(task, "l2_bytes");
    device->shared_bytes_max = ak_task_fact(task, "shared_bytes_max");
    ak_rng_seed(&device->rng, task->seed ^ UINT64_C(0x63756461));
    AK_DO(ak_cuda_driver_open(&device->cuda, err));
    AK_FAIL_IF(colon == NULL || !ak_text_int(&ordinal, colon + 1) || ordinal < 0 ||
                   ordinal >= DEVICE_MAX,
               err, AK_INVALID, "\"%s\" is not a CUDA device", task->device);
    AK_DO(ak_cuda_fail(device, open_context(device, (int)ordinal), "opening the device", err));
    open_sampler(device);
    AK_GIVE(out, device);
    return AK_OK;
}

int ak_cuda_grow(ak_cuda_address *memory, size_t *have, size_t bytes, ak_device *device)
{
    int code = AK_CUDA_SUCCESS;
    if (bytes <= *have) {
        return code;
    }
    if (*memory != 0) {
        code = ak_cuda_wait(device, AK_CUDA_DRAIN_NS);
        code = code == 0 ? device->cuda->memory_free(*memory) : code;
        *memory = 0;
        *have = 0;
    }
    device->generation++;
    code = code == 0 ? device->cuda->memory_alloc(memory, bytes) : code;
    *have = code == 0 ? bytes : 0;
    return code;
}

static ak_status cuda_reserve(ak_device *device, size_t bytes, ak_error *err)
{
    char text[80], size[AK_REAL_BYTES];
    (void)snprintf(text, sizeof text, "reserving %s for the arguments",
                   ak_number_size(size, bytes));
    return ak_cuda_fail(device, ak_cuda_grow(&device->block, &device->block_bytes, bytes, device),
                        text, err);
}

static ak_status check_range(const ak_device *device, size_t offset, size_t bytes, ak_error *err)
{
    AK_FAIL_IF(device->lost, err, AK_CRASHED, "the device is lost: %s", device->why);
    return ak_backend_in_block(device->block_bytes, offset, bytes, err);
}

static ak_status cuda_upload(ak_device *device, size_t offset, const void *data, size_t bytes,
                             ak_error *err)
{
    AK_DO(check_range(device, offset, bytes, err));
    int code = device->cuda->upload(device->block + offset, data, bytes, device->stream);
    code = code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
    return ak_cuda_fail(device, code, "upload", err);
}

static ak_status cuda_download(void *data, ak_device *device, size_t offset, size_t bytes,
                               ak_error *err)
{
    AK_DO(check_range(device, offset, bytes, err));
    int code = device->cuda->download(data, device->block + offset, bytes, device->stream);
    code = code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
    return ak_cuda_fail(device, code, "download", err);
}

static ak_status cuda_fill(ak_device *device, size_t offset, const void *element, size_t bytes,
                           size_t count, ak_error *err)
{
    uint16_t half;
    uint32_t word;
    AK_DO(check_range(device, offset, bytes * count, err));
    int code = AK_CUDA_ERROR_INVALID_VALUE;
    if (bytes == 1) {
        const unsigned char *byte = element;
        code = device->cuda->set8(device->block + offset, *byte, count, device->stream);
    } else if (bytes == sizeof half) {
        memcpy(&half, element, sizeof half);
        code = device->cuda->set16(device->block + offset, half, count, device->stream);
    } else if (bytes == sizeof word) {
        memcpy(&word, element, sizeof word);
        code = device->cuda->set32(device->block + offset, word, count, device->stream);
    }
    return ak_cuda_fail(device, code, "fill", err);
}

static ak_overlap cuda_overlap(const ak_runnable *runnable)
{
    return runnable->overlap;
}

static void cuda_uuid(char *out, size_t bytes, const ak_device *device)
{
    (void)snprintf(out, bytes, "%s", device->uuid);
}

static bool cuda_lost(const ak_device *device)
{
    return device->lost;
}

/* ---- loading --------------------------------------------------------------------------------- */

static void cuda_unload(ak_runnable *runnable)
{
    if (runnable != NULL) {
        ak_cuda_batch_forget(runnable);
        if (runnable->work != NULL && runnable->work->unload != NULL) {
            runnable->work->unload(runnable);
        }
        ak_free(runnable);
    }
}

static bool cuda_another(ak_runnable *runnable)
{
    return !runnable->device->lost && runnable->work->another != NULL &&
           runnable->work->another(runnable);
}

static ak_status load_library(ak_runnable *runnable, const char *name, ak_error *err)
{
    const ak_task *task = runnable->device->task;
    ak_status status = AK_NOT_FOUND;
    for (size_t i = 0; i < LIBRARIES && status == AK_NOT_FOUND; i++) {
        if (strncmp(name, libraries[i]->prefix, strlen(libraries[i]->prefix)) == 0 &&
            libraries[i]->applies(task)) {
            status = libraries[i]->load(runnable, name, err);
        }
    }
    return status != AK_NOT_FOUND
               ? status
               : ak_fail(err, status, "no library \"%.60s\" computes %s on CUDA devices", name,
                         task->problem->name);
}

static ak_status cuda_load(ak_runnable **out, ak_device *device, const ak_load *load,
                           ak_outcome *outcome, ak_error *err)
{
    ak_runnable *runnable;
    AK_DO(AK_NEW(runnable, 1, err));
    runnable->device = device;
    runnable->task = load->task != NULL ? load->task : device->task;
    runnable->refusal.status = AK_TRIAL_OK;
    ak_status status = AK_OK;
    if (device->lost) {
        ak_outcome_refuse(&runnable->refusal, AK_TRIAL_CRASHED, "the device is lost: %s",
                          device->why);
    } else if (load->artifact != NULL) {
        runnable->work = &ak_cuda_kernel_work;
        status = ak_cuda_kernel_load(runnable, load->artifact, err);
    } else if (strcmp(load->baseline, AK_BASELINE_COPY) == 0) {
        runnable->work = &ak_cuda_copy_work;
    } else {
        status = load_library(runnable, load->baseline, err);
    }
    if (status != AK_OK) {
        cuda_unload(runnable);
        return status;
    }
    *outcome = runnable->refusal;
    *out = runnable;
    return AK_OK;
}

/* ---- launching ------------------------------------------------------------------------------- */

ak_cuda_address ak_cuda_place(const ak_device *device, const ak_cuda_places *places, size_t set,
                              size_t argument)
{
    size_t offset = places->offset[argument];
    return set == 0 ? device->block + offset
                    : device->copies + (set - 1) * places->stride + (offset - places->first);
}

/* Finds where the arguments are and, for the task's own shape only, how many copies are needed and
   fit, and allocates these. */
static int plan_places(ak_cuda_places *out, ak_device *device, const ak_launch *launch)
{
    size_t first = SIZE_MAX, end = 0, free_bytes = 0, total = 0;
    *out = (ak_cuda_places){.count = launch->task->problem->argument_count};
    for (size_t i = 0; i < out->count; i++) {
        out->offset[i] = launch->offset[i];
        first = launch->offset[i] < first ? launch->offset[i] : first;
        end = launch->offset[i] + launch->shape->bytes[i] > end
                  ? launch->offset[i] + launch->shape->bytes[i]
                  : end;
    }
    out->first = first - AK_GUARD_BYTES; /* guard.h: a red zone precedes the first argument */
    out->span = end + AK_GUARD_BYTES - out->first;
    out->stride = (out->span + PLACE_ALIGN - 1) / PLACE_ALIGN * PLACE_ALIGN;
    if (!ak_shape_is_same(launch->shape, &device->task->shape)) {
        out->sets = 1; /* other shapes are only checked, and their times are not used */
        return AK_CUDA_SUCCESS;
    }
    size_t wanted = (size_t)device->l2_bytes * ROTATE_CACHES;
    out->sets = (wanted + out->span - 1) / out->span;
    out->sets = out->sets < SETS_MIN ? SETS_MIN : out->sets;
    out->sets = out->sets > AK_CUDA_SETS_MAX ? AK_CUDA_SETS_MAX : out->sets;
    int code = device->cuda->memory_info(&free_bytes, &total);
    size_t room = (free_bytes + device->copies_bytes) / 2 / out->stride + 1;
    out->sets = out->sets > room ? room : out->sets;
    const bool in_place = ak_problem_works_in_place(launch->task->problem);
    const size_t spares = AK_CONTENTS_SPARES + (in_place ? 1 : 0);
    out->kept = in_place ? AK_CONTENTS_SPARES : AK_CONTENTS_OWN;
    out->has_spares = out->sets > 1 && out->sets + spares <= room;
    size_t copies = out->sets - 1 + (out->has_spares ? spares : 0);
    return code == 0
               ? ak_cuda_grow(&device->copies, &device->copies_bytes, copies * out->stride, device)
               : code;
}

static bool prepared_for(const ak_runnable *runnable, const ak_launch *launch)
{
    return runnable->prepared && runnable->generation == runnable->device->generation &&
           ak_shape_is_same(&runnable->shape, launch->shape) &&
           runnable->places.offset[0] == launch->offset[0];
}

static int prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *out)
{
    if (prepared_for(runnable, launch)) {
        return AK_CUDA_SUCCESS;
    }
    runnable->prepared = false;
    ak_cuda_batch_forget(runnable);
    runnable->shape = *launch->shape;
    int code = plan_places(&runnable->places, runnable->device, launch);
    code = code == 0 ? runnable->work->prepare(runnable, launch, out) : code;
    if (code == 0 && runnable->kernels != NULL && runnable->places.has_spares) {
        ak_cuda_contents_open(runnable->device);
    }
    runnable->contents =
        (ak_contents){.ops = &ak_cuda_contents_ops,
                      .runnable = runnable,
                      .rng = &runnable->device->rng,
                      .sets = runnable->places.sets,
                      .shared = runnable->has_constants,
                      .early = runnable->begins_early && runnable->device->mixing.ready,
                      .whole_rows = !runnable->device->mixing.ready};
    runnable->prepared = code == AK_CUDA_SUCCESS;
    runnable->generation = runnable->device->generation;
    return code;
}

static ak_status cuda_launch(ak_outcome *out, ak_runnable *runnable, const ak_launch *launch,
                             ak_error *err)
{
    ak_device *device = runnable->device;
    int64_t ns = 0;
    *out = (ak_outcome){.status = AK_TRIAL_OK};
    (void)err;
    if (device->lost) {
        ak_outcome_refuse(out, AK_TRIAL_CRASHED, "the device is lost: %s", device->why);
        return AK_OK;
    }
    const char *doing = "preparing";
    int code = ak_cuda_workspace(device, launch->workspace_bytes);
    code = code == 0 ? prepare(runnable, launch, out) : code;
    if (code == 0 && launch->workspace_bytes > 0) {
        code = device->cuda->set8(device->workspace, 0, launch->workspace_bytes, device->stream);
        code = code == 0 ? ak_cuda_workspace_paint(device, launch->workspace_bytes) : code;
    }
    if (code == 0 && runnable->work->supply != NULL) {
        code = runnable->work->supply(runnable, device->block + runnable->places.first);
    }
    if (code == 0) {
        doing = "running";
        code =
            runnable->work->batch != NULL
                ? runnable->work->batch(&ns, runnable, launch->iterations, launch->timeout_ns, out)
            : runnable->kernels != NULL && runnable->places.has_spares
                ? ak_contents_batch(&ns, &runnable->contents, launch, out)
                : ak_cuda_batch(&ns, runnable, launch->iterations, launch->timeout_ns);
    }
    bool whole[2] = {true, true};
    if (code == 0 && launch->workspace_bytes > 0) {
        code = ak_cuda_workspace_check(whole, device, launch->workspace_bytes);
    }
    if (code == AK_CUDA_REFUSED) {
        return AK_OK; /* the outcome has the reason already */
    }
    if (code != 0 || out->status == AK_TRIAL_OK) {
        ak_cuda_conclude(out, device, code, doing);
    }
    if (code == 0 && out->status == AK_TRIAL_OK) {
        ak_outcome_whole(out, whole[0], whole[1]);
    }
    if (code == AK_CUDA_ERROR_LAUNCH_TIMEOUT) {
        ak_outcome_endless(out, launch->timeout_ns);
    }
    out->ns = ns;
    return AK_OK;
}

/* ---- libraries ------------------------------------------------------------------------------- */

static ak_status cuda_baselines(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                                void *context, ak_error *err)
{
    bool is_product = false;
    for (size_t i = 0; i < LIBRARIES; i++) {
        if (libraries[i]->applies(task)) {
            AK_DO(libraries[i]->list(device, task, visit, context, err));
            is_product = is_product || libraries[i] == &ak_cuda_library_cublaslt;
        }
    }
    if (!is_product) { /* a copy is no bound for a product */
        visit(context, AK_BASELINE_COPY, "copy of as many bytes", "cuMemcpyDtoDAsync", true, "");
    }
    return AK_OK;
}

static void cuda_baseline_version(char *out, size_t bytes, const ak_device *device,
                                  const char *name)
{
    out[0] = 0;
    for (size_t i = 0; i < LIBRARIES && out[0] == 0; i++) {
        if (libraries[i]->version != NULL) {
            libraries[i]->version(out, bytes, device, name);
        }
    }
}

static const ak_backend_role roles[] = {{"--inventory", ak_cuda_inventory_main},
                                        {"--nvrtc", ak_cuda_nvrtc_main},
                                        {"--sanitized", ak_cuda_sanitized_main},
                                        {NULL, NULL}};

const ak_backend_ops ak_cuda_ops = {
    .name = "cuda",
    .description = "CUDA kernels on NVIDIA devices, compiled with NVRTC",
    .rules = &ak_cuda_rules,
    .roles = roles,
    .probe = ak_cuda_probe,
    .missing = ak_cuda_missing,
    .sheets = ak_cuda_sheets,
    .sheet_facts = ak_cuda_sheet_facts,
    .facts = ak_cuda_facts,
    .environment = ak_cuda_environment,
    .flops_per_clock = ak_cuda_flops_per_clock,
    .describe = ak_cuda_describe,
    .source = ak_backend_source,
    .compile = ak_cuda_compile,
    .folders = ak_cuda_folders,
    .sanitize = ak_cuda_sanitize,
    .compiler_process = ak_triton_process,
    .artifact_suffix = AK_CUDA_SUFFIX,
    .requires = ak_cuda_requires,
    .open = cuda_open,
    .reserve = cuda_reserve,
    .upload = cuda_upload,
    .download = cuda_download,
    .fill = cuda_fill,
    .load = cuda_load,
    .launch = cuda_launch,
    .fetch_aside = ak_cuda_fetch_aside,
    .another = cuda_another,
    .unload = cuda_unload,
    .conditions = ak_cuda_conditions,
    .joules = ak_cuda_joules,
    .overlap = cuda_overlap,
    .uuid = cuda_uuid,
    .lost = cuda_lost,
    .ceilings = ak_cuda_ceilings,
    .baselines = cuda_baselines,
    .baseline_version = cuda_baseline_version,
    .referee = &ak_cuda_referee_ops,
    .close = cuda_close,
};
