/*
 * opencl_device.c: an OpenCL device, seen from its worker process: opening, memory, the workspace,
 * and what errors mean. opencl_launch.c runs candidates on it.
 *
 * A kernel that hangs cannot be ended. The device is then lost: every later batch is refused, and
 * the worker ends and is started again. If the device is the host's processor, a kernel that makes
 * an illegal access crashes the worker.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/opencl/opencl_device.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/number.h"

#define POLL_NS  (20 * 1000)
#define DRAIN_NS (30 * AK_SECOND_NS)

/* ---- outcomes -------------------------------------------------------------------------------- */

bool ak_opencl_is_memory(int32_t code)
{
    return code == AK_CL_BUFFER_FAILURE || code == AK_CL_OUT_OF_HOST_MEMORY ||
           code == AK_CL_INVALID_BUFFER_SIZE;
}

static void lose(ak_device *device, const char *why)
{
    if (!device->lost) {
        device->lost = true;
        (void)snprintf(device->why, sizeof device->why, "%.150s", why);
    }
}

void ak_opencl_conclude(ak_outcome *out, const ak_device *device, int32_t code, const char *doing)
{
    char text[64];
    ak_opencl_error_text(text, sizeof text, code);
    if (code == AK_CL_REFUSED) {
        return; /* the outcome is written */
    }
    if (code == 0) {
        out->status = AK_TRIAL_OK;
    } else {
        ak_outcome_refuse(out,
                          device->lost                ? AK_TRIAL_CRASHED
                          : ak_opencl_is_memory(code) ? AK_TRIAL_OUT_OF_MEMORY
                                                      : AK_TRIAL_LAUNCH_ERROR,
                          "%s: %s", doing, text);
    }
}

ak_status ak_opencl_fail(const ak_device *device, int32_t code, const char *doing, ak_error *err)
{
    char text[64];
    if (code == 0) {
        return AK_OK;
    }
    ak_opencl_error_text(text, sizeof text, code);
    return ak_fail(err, ak_opencl_is_memory(code) ? AK_NO_MEMORY : AK_CRASHED, "%s: %s", doing,
                   device->lost ? device->why : text);
}

/* Waits for an event and releases it. The command must end within `timeout_ns` after it has begun
   to run, and within `begin_ns` + `timeout_ns` from now; the device is lost if it does not. */
static int32_t wait_for(ak_device *device, void *event, int64_t begin_ns, int64_t timeout_ns)
{
    int64_t deadline = ak_clock_ns() + begin_ns + timeout_ns;
    int32_t state = AK_CL_QUEUED, code = device->cl->flush(device->queue);
    bool running = false;
    while (code == 0) {
        code = device->cl->event_info(event, AK_CL_EVENT_STATUS, sizeof state, &state, NULL);
        if (code != 0 || state <= 0) {
            break;
        }
        if (state == AK_CL_RUNNING && !running) {
            const int64_t limit = ak_clock_ns() + timeout_ns;
            running = true;
            deadline = limit < deadline ? limit : deadline;
        }
        if (ak_clock_ns() >= deadline) {
            code = begin_ns == 0 || running ? AK_CL_HANGS : AK_CL_NEVER_RAN;
            lose(device, code == AK_CL_HANGS ? "a kernel did not end" : "a kernel never ran");
            break;
        }
        ak_clock_sleep_ns(POLL_NS);
    }
    if (code == 0 && state < 0) {
        code = state;
        lose(device, "a kernel failed");
    }
    (void)device->cl->event_release(event);
    return code;
}

int32_t ak_opencl_wait(ak_device *device, void *event, int64_t timeout_ns)
{
    return wait_for(device, event, 0, timeout_ns);
}

int32_t ak_opencl_wait_first(ak_device *device, void *event, int64_t timeout_ns)
{
    return wait_for(device, event, AK_OPENCL_BEGIN_NS, timeout_ns);
}

int32_t ak_opencl_drain(ak_device *device)
{
    void *event = NULL;
    int32_t code = device->cl->marker(device->queue, 0, NULL, &event);
    return code == 0 ? ak_opencl_wait(device, event, DRAIN_NS) : code;
}

/* ---- opening and memory ---------------------------------------------------------------------- */

static void release(void **buffer, const ak_device *device)
{
    if (*buffer != NULL && !device->lost) {
        (void)device->cl->buffer_release(*buffer);
    }
    *buffer = NULL;
}

void ak_opencl_release_sets(ak_device *device)
{
    for (size_t s = 0; s < AK_OPENCL_SETS_MAX + AK_CONTENTS_SPARES; s++) {
        for (size_t i = 0; i < AK_ARGUMENTS_MAX; i++) {
            release(&device->sets[s].part[i], device);
            release(&device->sets[s].memory[i], device);
        }
    }
    device->set_count = 0;
    device->layout.count = 0;
    device->generation++;
}

static void close_device(ak_device *device)
{
    if (device == NULL) {
        return;
    }
    /* on a lost device any of these calls could wait for ever */
    if (device->cl != NULL && !device->lost) {
        if (device->queue != NULL) {
            (void)ak_opencl_drain(device);
        }
        ak_opencl_release_sets(device);
        ak_opencl_contents_close(device);
        release(&device->workspace.part, device);
        release(&device->workspace.memory, device);
        release(&device->block, device);
        if (device->queue != NULL && !device->lost) {
            (void)device->cl->queue_release(device->queue);
        }
        if (device->context != NULL && !device->lost) {
            (void)device->cl->context_release(device->context);
        }
    }
    ak_free(device);
}

AK_END_AT(close_device, ak_device)

static ak_status open_device(ak_device **out, const ak_task *task, ak_error *err)
{
    char cache[AK_PATH_MAX + 32];
    int32_t code = 0;
    AK_AT_END(close_device_at) ak_device *device = NULL;
    AK_DO(AK_NEW(device, 1, err));
    device->task = task;
    device->cache_bytes = ak_task_fact(task, "cache_bytes");
    device->memory_bytes = ak_task_fact(task, "memory_bytes");
    device->work_group_max = ak_task_fact(task, "work_group_max");
    device->local_bytes = ak_task_fact(task, "local_bytes");
    ak_rng_seed(&device->rng, task->seed ^ UINT64_C(0x6f70656e636c));
    ak_opencl_pocl_cache(cache, sizeof cache);
    if (cache[0] != 0) { /* before the ICD is loaded; this process has one thread */
        char *value = strchr(cache, '=');
        *value = 0;
        (void)setenv(cache, value + 1, 1);
    }
    AK_DO(ak_opencl_open(&device->cl, err));
    AK_DO(ak_opencl_find(&device->place, device->cl, task->device, err));
    device->context = ak_opencl_context(device->cl, &device->place, &code);
    AK_DO(ak_opencl_fail(device, code, "opening the device", err));
    device->queue = device->cl->queue_create(device->context, device->place.device,
                                             AK_CL_QUEUE_PROFILING, &code);
    AK_DO(ak_opencl_fail(device, code, "opening the device", err));
    AK_GIVE(out, device);
    return AK_OK;
}

static ak_status reserve(ak_device *device, size_t bytes, ak_error *err)
{
    char text[80], size[AK_REAL_BYTES];
    int32_t code = 0;
    if (bytes <= device->block_bytes) {
        return AK_OK;
    }
    release(&device->block, device);
    device->block_bytes = 0;
    device->block =
        device->cl->buffer_create(device->context, AK_CL_READ_WRITE, bytes, NULL, &code);
    device->block_bytes = code == 0 ? bytes : 0;
    (void)snprintf(text, sizeof text, "reserving %s for the arguments",
                   ak_number_size(size, bytes));
    return ak_opencl_fail(device, code, text, err);
}

static ak_status check_range(const ak_device *device, size_t offset, size_t bytes, ak_error *err)
{
    AK_FAIL_IF(device->lost, err, AK_CRASHED, "the device is lost: %s", device->why);
    return ak_backend_in_block(device->block_bytes, offset, bytes, err);
}

static ak_status upload(ak_device *device, size_t offset, const void *data, size_t bytes,
                        ak_error *err)
{
    AK_DO(check_range(device, offset, bytes, err));
    const int32_t code = bytes == 0 ? 0
                                    : device->cl->write(device->queue, device->block, 1, offset,
                                                        bytes, data, 0, NULL, NULL);
    return ak_opencl_fail(device, code, "upload", err);
}

static ak_status download(void *data, ak_device *device, size_t offset, size_t bytes, ak_error *err)
{
    AK_DO(check_range(device, offset, bytes, err));
    const int32_t code = bytes == 0 ? 0
                                    : device->cl->read(device->queue, device->block, 1, offset,
                                                       bytes, data, 0, NULL, NULL);
    return ak_opencl_fail(device, code, "download", err);
}

static ak_status fill(ak_device *device, size_t offset, const void *element, size_t bytes,
                      size_t count, ak_error *err)
{
    AK_DO(check_range(device, offset, bytes * count, err));
    if (count == 0) {
        return AK_OK;
    }
    int32_t code = device->cl->fill(device->queue, device->block, element, bytes, offset,
                                    bytes * count, 0, NULL, NULL);
    code = code == 0 ? ak_opencl_drain(device) : code;
    return ak_opencl_fail(device, code, "fill", err);
}

int32_t ak_opencl_make_buffer(void **memory, void **part, ak_device *device, size_t bytes)
{
    const size_t region[2] = {AK_GUARD_BYTES, bytes - AK_GUARD_BYTES};
    int32_t code = 0;
    *memory = device->cl->buffer_create(device->context, AK_CL_READ_WRITE, bytes, NULL, &code);
    if (code == 0) {
        *part =
            device->cl->buffer_part(*memory, AK_CL_READ_WRITE, AK_CL_PART_REGION, region, &code);
    }
    return code;
}

/* ---- the workspace --------------------------------------------------------------------------- */

static size_t zone_at(ak_guard_side side, size_t bytes)
{
    return side == AK_GUARD_BEFORE ? 0 : AK_GUARD_BYTES + bytes;
}

static int send_zone(ak_device *device, ak_guard_side side, size_t bytes)
{
    return device->cl->write(device->queue, device->workspace.memory, 1, zone_at(side, bytes),
                             AK_GUARD_BYTES, device->workspace.zones.bytes, 0, NULL, NULL);
}

static int fetch_zone(ak_device *device, ak_guard_side side, size_t bytes)
{
    return device->cl->read(device->queue, device->workspace.memory, 1, zone_at(side, bytes),
                            AK_GUARD_BYTES, device->workspace.zones.bytes, 0, NULL, NULL);
}

int32_t ak_opencl_clear_workspace(ak_device *device, size_t bytes)
{
    const unsigned char zero = 0;
    int32_t code = 0;
    if (bytes > SIZE_MAX - 2 * AK_GUARD_BYTES) {
        return AK_CL_BUFFER_FAILURE;
    }
    if (bytes > device->workspace.bytes) {
        release(&device->workspace.part, device);
        release(&device->workspace.memory, device);
        device->workspace.bytes = 0;
        device->generation++;
        code = ak_opencl_make_buffer(&device->workspace.memory, &device->workspace.part, device,
                                     bytes + 2 * AK_GUARD_BYTES);
        device->workspace.bytes = code == 0 ? bytes : 0;
    }
    code = code == 0 ? device->cl->fill(device->queue, device->workspace.memory, &zero, 1,
                                        AK_GUARD_BYTES, bytes, 0, NULL, NULL)
                     : code;
    return code == 0 ? ak_zones_paint(&device->workspace.zones, device->task->dtype, device, bytes,
                                      send_zone)
                     : code;
}

int32_t ak_opencl_check_workspace(bool whole[2], ak_device *device, size_t bytes)
{
    return ak_zones_check(whole, &device->workspace.zones, device, bytes, fetch_zone);
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool lost(const ak_device *device)
{
    return device->lost;
}

static const char *const shown_facts[] = {
    "compute_units", "work_group_max", "vector_floats", "local_bytes",
    "cache_bytes",   "memory_bytes",   "clock_mhz",     NULL};
static const ak_backend_role roles[] = {{"--opencl-inventory", ak_opencl_inventory_main},
                                        {"--opencl-compile", ak_opencl_compile_main},
                                        {NULL, NULL}};

const ak_backend_ops ak_opencl_ops = {
    .name = "opencl",
    .description = "OpenCL C kernels on any OpenCL device",
    .rules = &ak_opencl_rules,
    .roles = roles,
    .probe = ak_opencl_probe,
    .missing = ak_opencl_missing,
    .facts = ak_opencl_facts,
    .environment = ak_opencl_environment,
    .shown_facts = shown_facts,
    .describe = ak_opencl_describe,
    .source = ak_backend_source,
    .compile = ak_opencl_compile,
    .folders = ak_opencl_folders,
    .artifact_suffix = ".clbin",
    .open = open_device,
    .reserve = reserve,
    .upload = upload,
    .download = download,
    .fill = fill,
    .load = ak_opencl_load_candidate,
    .launch = ak_opencl_launch,
    .fetch_aside = ak_opencl_fetch_aside,
    .unload = ak_opencl_unload,
    .lost = lost,
    .close = close_device,
};
