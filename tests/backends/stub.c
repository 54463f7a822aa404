/*
 * stub.c: the smallest whole backend, written from docs/howto-backend.md: nothing outside this file
 * and the line in backends.def is touched (tests/cli/stub_backend.sh).
 *
 * Its device is a calculator with memory of its own. A kernel for it is one line of text,
 *
 *     scale FROM TO FACTOR        argument TO = FACTOR * argument FROM, in f32
 *
 * and its compiler checks the line and keeps it with the options. STEP elements are worked on at a
 * time, which changes nothing but how long it takes.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/compile.h"
#include "base/alloc.h"
#include "base/clock.h"

#define DEVICE     "stub:0"
#define MEMORY_MAX ((size_t)1 << 30)

struct ak_device {
    unsigned char *memory;
    size_t bytes;
};

struct ak_runnable {
    ak_device *device;
    size_t from, to, step;
    float factor;
    unsigned launches;
};

/* ---- knowing the device ---------------------------------------------------------------------- */

static ak_status probe(ak_device_visitor visit, void *context, ak_error *err)
{
    (void)err;
    visit(context, DEVICE, "a calculator for tests");
    return AK_OK;
}

static ak_status facts(ak_scope *out, const char *device, int threads, ak_error *err)
{
    (void)device;
    (void)threads;
    return ak_scope_set_int(out, "steps_max", 64, err);
}

static ak_status environment(json_t **out, const char *device, ak_error *err)
{
    json_t *object = json_object();
    if (object == NULL || !ak_json_set_text(object, "backend", "stub") ||
        !ak_json_set_text(object, "device", device) || !ak_json_set_text(object, "version", "1")) {
        json_decref(object);
        return ak_fail_memory(err);
    }
    *out = object;
    return AK_OK;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static ak_status source(ak_buf *out, const char *text, const char *name, ak_error *err)
{
    (void)name;
    ak_buf_puts(out, text);
    return ak_buf_status(out, err);
}

/* The text of a kernel is its files, each after a line `#line 1 "stub.txt"`, which C needs and we
   do not. */
static bool read_kernel(ak_runnable *out, const char *text)
{
    while (*text == '#') {
        text += strcspn(text, "\n");
        text += *text == 0 ? 0 : 1;
    }
    const char *step = strstr(text, "-DSTEP=");
    char *end = NULL;
    if (strncmp(text, "scale ", 6) != 0 || step == NULL) {
        return false;
    }
    out->from = (size_t)strtoul(text + 6, &end, 10);
    out->to = (size_t)strtoul(end, &end, 10);
    out->factor = (float)strtol(end, NULL, 10);
    out->step = (size_t)strtoul(step + strlen("-DSTEP="), NULL, 10);
    return out->from < AK_ARGUMENTS_MAX && out->to < AK_ARGUMENTS_MAX && out->step > 0;
}

static ak_status compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err)
{
    ak_compile_result result = {.status = AK_TRIAL_OK};
    ak_runnable kernel;
    ak_buf text = AK_BUF(AK_SOURCE_BYTES_MAX);
    char *lines = NULL;
    int64_t begin = ak_clock_ns();
    ak_status status = ak_fs_read(&lines, NULL, job->source_path, AK_SOURCE_BYTES_MAX, err);
    if (status == AK_OK) {
        ak_buf_puts(&text, lines);
        for (size_t i = 0; i < job->argc; i++) {
            ak_buf_print(&text, "%s\n", job->argv[i]);
        }
        status = ak_buf_status(&text, err);
    }
    if (status == AK_OK && !read_kernel(&kernel, text.data)) {
        result.status = AK_TRIAL_COMPILE_ERROR;
        result.reason = ak_strdup("the kernel is not: scale FROM TO FACTOR");
    } else if (status == AK_OK) {
        status = ak_fs_write(job->artifact, text.data, text.length, err);
        status = status == AK_OK ? ak_compile_hash(&result, job, NULL, err) : status;
    }
    result.compile_ns = ak_clock_ns() - begin;
    ak_free(lines);
    ak_buf_free(&text);
    return ak_compile_end(out, &result, status, err);
}

/* ---- the device ------------------------------------------------------------------------------ */

static ak_status open_device(ak_device **out, const ak_task *task, ak_error *err)
{
    (void)task;
    *out = ak_alloc(1, sizeof **out);
    return *out == NULL ? ak_fail_memory(err) : AK_OK;
}

static void close_device(ak_device *device)
{
    if (device != NULL) {
        ak_free(device->memory);
        ak_free(device);
    }
}

static ak_status reserve(ak_device *device, size_t bytes, ak_error *err)
{
    if (bytes > MEMORY_MAX) {
        return ak_fail(err, AK_LIMIT, DEVICE " has %zu MiB of memory", MEMORY_MAX >> 20);
    }
    ak_free(device->memory);
    device->memory = ak_alloc(bytes, 1);
    device->bytes = bytes;
    return device->memory == NULL ? ak_fail_memory(err) : AK_OK;
}

static ak_status upload(ak_device *device, size_t offset, const void *data, size_t bytes,
                        ak_error *err)
{
    if (bytes > device->bytes || offset > device->bytes - bytes) {
        return ak_fail(err, AK_INTERNAL, DEVICE ": beyond its memory");
    }
    memcpy(device->memory + offset, data, bytes);
    return AK_OK;
}

static ak_status download(void *data, ak_device *device, size_t offset, size_t bytes, ak_error *err)
{
    if (bytes > device->bytes || offset > device->bytes - bytes) {
        return ak_fail(err, AK_INTERNAL, DEVICE ": beyond its memory");
    }
    memcpy(data, device->memory + offset, bytes);
    return AK_OK;
}

static ak_status load(ak_runnable **out, ak_device *device, const ak_load *what,
                      ak_outcome *outcome, ak_error *err)
{
    char *text = NULL;
    ak_status status = ak_fs_read(&text, NULL, what->artifact, 2 * AK_SOURCE_BYTES_MAX, err);
    ak_runnable *runnable = status == AK_OK ? ak_alloc(1, sizeof *runnable) : NULL;
    if (status == AK_OK && runnable == NULL) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        *outcome = (ak_outcome){.status = read_kernel(runnable, text) ? AK_TRIAL_OK
                                                                      : AK_TRIAL_LAUNCH_ERROR};
        runnable->device = device;
        *out = runnable;
    }
    ak_free(text);
    return status;
}

static ak_status launch(ak_outcome *out, ak_runnable *runnable, const ak_launch *what,
                        ak_error *err)
{
    (void)err;
    const float *from = (const void *)(runnable->device->memory + what->offset[runnable->from]);
    float *to = (void *)(runnable->device->memory + what->offset[runnable->to]);
    size_t count = what->shape->elements[runnable->to];
    int64_t begin = ak_clock_ns();
    for (uint32_t i = 0; i < what->iterations; i++) {
        for (size_t at = 0; at < count; at += runnable->step) {
            size_t end = at + runnable->step < count ? at + runnable->step : count;
            for (size_t element = at; element < end; element++) {
                to[element] = runnable->factor * from[element];
            }
            __asm__ volatile("" : : : "memory"); /* each step is a step */
        }
    }
    /* In turns it knows for how long it waited, and does not. */
    bool known = runnable->launches++ % 3 != 1;
    *out = (ak_outcome){.status = AK_TRIAL_OK,
                        .ns = ak_clock_ns() - begin,
                        .waited_ns = known ? 0 : -1,
                        .waits_known = known};
    return AK_OK;
}

static void unload(ak_runnable *runnable)
{
    ak_free(runnable);
}

const ak_backend_ops ak_stub_ops = {
    .name = "stub",
    .description = "a calculator for tests",
    .probe = probe,
    .facts = facts,
    .environment = environment,
    .source = source,
    .compile = compile,
    .artifact_suffix = ".stub",
    .open = open_device,
    .reserve = reserve,
    .upload = upload,
    .download = download,
    .load = load,
    .launch = launch,
    .unload = unload,
    .close = close_device,
};
