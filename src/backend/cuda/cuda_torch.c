/*
 * cuda_torch.c: PyTorch, in a Python process of its own on the same device.
 *
 *   torch-eager     one call of the framework after the other: a product or a row operation; an
 *                   activation is a kernel of its own after the product
 *   torch-compile   the same through torch.compile
 *   torch-cudnn, torch-flash   for attention: PyTorch's call with one backend, cuDNN's kernels or
 *                   FlashAttention's; torch-eager leaves the choice to PyTorch
 *   torch-fast      for products of 8-bit floats: with use_fast_accum
 *   torch-loop      for grouped products: one product after the other
 *
 * The process runs torch_worker.py, which this program contains. The process is started when one of
 * these baselines is first loaded, and again after it has failed. Importing torch takes seconds,
 * and so does compiling. Through CUDA IPC it reads the inputs from the harness' block and writes
 * the output there, so that both are the same as for every candidate. It times its batches with
 * events over rotating copies, and as graphs if they can be recorded, as this program does. Nothing
 * else runs on the device meanwhile.
 */
#include "backend/cuda/cuda_device.h"

#include <string.h>

#include "backend/script.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/number.h"

#define PREFIX AK_BASELINE_ON_DEMAND
#define SCRIPT "src/backend/cuda/torch_worker.py"
#define WHERE  "PyTorch's process"
/* Time limit of `prepare`, in which torch.compile does its work. */
#define PREPARE_NS   (300 * AK_SECOND_NS)
#define HANDLE_BYTES 64

static const struct way {
    const char *name, *title, *way;
    /* The way computes the problems whose names begin with this; NULL: all of torch_applies. */
    const char *kernels;
} ways[] = {{PREFIX "eager", "PyTorch, eager", "eager", NULL},
            {PREFIX "compile", "PyTorch, compiled", "compile", NULL},
            {PREFIX "cudnn", "PyTorch, cuDNN", "cudnn", "attention"},
            {PREFIX "flash", "PyTorch, FlashAttention", "flash", "attention"},
            {PREFIX "fast", "PyTorch, fast accumulation", "fast", "matmul_fp8"},
            {PREFIX "loop", "PyTorch, a product for each group", "loop", "matmul_grouped"}};
enum { WAYS = AK_COUNT(ways) };

struct ak_torch_state {
    ak_script script;
    char version[64];
    bool no_graph[WAYS];
};

static bool torch_applies(const ak_task *task)
{
    static const char *const kernels[] = {
        "matmul",    "matmul_act", "matmul_fp8", "matmul_grouped",   "softmax",
        "layernorm", "rmsnorm",    "reduce",     "attention_decode", "attention"};
    return task->problem->builtin && AK_HAS_TEXT(kernels, AK_COUNT(kernels), task->problem->name);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void torch_close(ak_device *device)
{
    if (device->torch != NULL) {
        ak_script_end(&device->torch->script);
        ak_free(device->torch);
        device->torch = NULL;
    }
}

/* Sends a message; *out is a reply that reports success. AK_INVALID means that the process answered
   with an error; after any other failure the process has been ended, and its state is freed, so
   that the next baseline starts it again. */
static ak_status ask(json_t **out, ak_device *device, json_t *message, int64_t timeout_ns,
                     ak_error *err)
{
    ak_status status = ak_script_ask(out, &device->torch->script, message, timeout_ns, err);
    if (status != AK_OK && status != AK_INVALID) {
        torch_close(device);
    }
    return status;
}

static ak_status open_state(ak_device *device, ak_error *err)
{
    json_auto_t *reply = NULL;
    ak_status status = AK_OK;
    if (device->torch != NULL) {
        return AK_OK;
    }
    AK_DO(AK_NEW(device->torch, 1, err));
    ak_script *script = &device->torch->script;
    AK_TRY(ak_script_start(script, &(ak_script_spec){.asset = SCRIPT, .who = WHERE}, NULL, err));
    const char *colon = strchr(device->task->device, ':');
    int64_t ordinal = 0;
    (void)(colon != NULL && ak_text_int(&ordinal, colon + 1)); /* cuda_open has checked it */
    json_t *message = json_pack("{s:s,s:I}", "op", "open", "device", (json_int_t)ordinal);
    AK_TRY(ak_script_ask(&reply, script, message, AK_SCRIPT_OPEN_NS, err));
    (void)snprintf(device->torch->version, sizeof device->torch->version, "%s",
                   ak_json_text_at(reply, "version"));
out:
    if (status != AK_OK) {
        torch_close(device);
    }
    return status;
}

/* ---- as a candidate ------------------------------------------------------------------------- */

static json_t *sizes_json(const ak_launch *launch)
{
    json_t *object = json_object();
    for (size_t i = 0; i < launch->task->problem->size_count; i++) {
        (void)ak_json_set(object, launch->task->problem->sizes[i].name,
                          json_integer(launch->shape->size[i]));
    }
    return object;
}

static json_t *choices_json(const ak_task *task)
{
    json_t *object = json_object();
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        const char *name = task->problem->choices[i].name;
        char text[40];
        ak_value value;
        if (!ak_scope_get(&value, task->constants, name)) {
            continue;
        }
        (void)ak_number_print(text, sizeof text, "%.17g",
                              value.type == AK_VALUE_INT ? (double)value.as.integer
                                                         : value.as.real);
        (void)ak_json_set_text(object, name,
                               value.type == AK_VALUE_STRING ? value.as.string : text);
    }
    return object;
}

static json_t *arguments_json(const ak_launch *launch)
{
    json_t *list = json_array();
    for (size_t i = 0; i < launch->task->problem->argument_count; i++) {
        const ak_argument_spec *spec = &launch->task->problem->arguments[i];
        ak_dtype dtype = ak_task_argument_dtype(launch->task, i);
        ak_json_add(&list, json_pack("{s:s,s:s,s:I,s:I}", "name", spec->name, "dtype",
                                     ak_dtype_numpy(dtype), "offset", (json_int_t)launch->offset[i],
                                     "bytes", (json_int_t)launch->shape->bytes[i]));
    }
    return list;
}

static int refuse(ak_outcome *outcome, const ak_error *why, ak_status status)
{
    ak_outcome_refuse(outcome,
                      status == AK_CRASHED     ? AK_TRIAL_CRASHED
                      : status == AK_TIMED_OUT ? AK_TRIAL_TIMED_OUT
                                               : AK_TRIAL_LAUNCH_ERROR,
                      "%.230s", why->text);
    return AK_CUDA_REFUSED;
}

static int torch_prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome)
{
    ak_device *device = runnable->device;
    ak_error why = AK_ERROR_INIT;
    json_auto_t *reply = NULL;
    unsigned char handle[HANDLE_BYTES] = {0};
    char hex[2 * HANDLE_BYTES + 1];
    int code = device->cuda->ipc_handle(handle, device->block);
    if (code != AK_CUDA_SUCCESS) {
        ak_outcome_refuse(outcome, AK_TRIAL_LAUNCH_ERROR,
                          "memory cannot be shared between processes here (CUDA error %d)", code);
        return AK_CUDA_REFUSED;
    }
    for (size_t i = 0; i < HANDLE_BYTES; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", handle[i]);
    }
    const struct way *way = &ways[runnable->torch_way];
    ak_status status = AK_OK;
    AK_TRY(open_state(device, &why));
    AK_TRY(ask(&reply, device,
               json_pack("{s:s,s:s,s:s,s:s,s:s,s:o,s:o,s:s,s:I,s:I,s:o}", "op", "prepare", "key",
                         way->name, "way", way->way, "kernel", launch->task->problem->name, "dtype",
                         ak_dtype_numpy(launch->task->dtype), "size", sizes_json(launch), "choices",
                         choices_json(launch->task), "handle", hex, "bytes",
                         (json_int_t)device->block_bytes, "sets", (json_int_t)runnable->places.sets,
                         "arguments", arguments_json(launch)),
               PREPARE_NS, &why));
out:
    return status == AK_OK ? AK_CUDA_SUCCESS : refuse(outcome, &why, status);
}

static int torch_batch(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns,
                       ak_outcome *outcome)
{
    ak_device *device = runnable->device;
    const struct way *way = &ways[runnable->torch_way];
    ak_error why = AK_ERROR_INIT;
    json_auto_t *reply = NULL;
    bool captured = true;
    if (device->torch == NULL) {
        ak_outcome_refuse(outcome, AK_TRIAL_CRASHED, WHERE " has ended");
        return AK_CUDA_REFUSED;
    }
    int code = ak_cuda_wait(device, timeout_ns); /* the other process must find the block filled */
    if (code != AK_CUDA_SUCCESS) {
        return code;
    }
    ak_status status = AK_OK;
    AK_TRY(ask(&reply, device,
               json_pack("{s:s,s:s,s:I}", "op", "run", "key", way->name, "runs", (json_int_t)runs),
               timeout_ns, &why));
    AK_TRY(ak_json_int(ns, reply, "ns", WHERE, &why));
    AK_TRY(ak_json_bool_or(&captured, reply, "captured", true, WHERE, &why));
out:
    if (status != AK_OK) {
        return refuse(outcome, &why, status);
    }
    device->torch->no_graph[runnable->torch_way] = !captured;
    *ns = *ns > 0 ? *ns : 1;
    return AK_CUDA_SUCCESS;
}

static const ak_cuda_work torch_work = {
    .prepare = torch_prepare, .batch = torch_batch, .computes = true};

static size_t way_of(const char *name)
{
    return AK_FIND(ways, WAYS, name, name);
}

static ak_status torch_load(ak_runnable *runnable, const char *name, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    runnable->torch_way = way_of(name);
    if (runnable->torch_way == WAYS) {
        return AK_NOT_FOUND;
    }
    runnable->work = &torch_work;
    ak_status status = open_state(runnable->device, &why);
    if (status == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (status != AK_OK) {
        ak_outcome_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR,
                          "%.120s (Python is %.60s; AUTOKERNEL_PYTHON names another)", why.text,
                          ak_script_python());
    }
    return AK_OK;
}

/* Lists the ways for this problem as installed, because it takes seconds to find out whether
   PyTorch is. If it is missing, loading one of them says so. */
static ak_status torch_list(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                            void *context, ak_error *err)
{
    (void)device, (void)err;
    for (size_t i = 0; i < WAYS; i++) {
        const char *kernels = ways[i].kernels;
        if (kernels == NULL || strncmp(kernels, task->problem->name, strlen(kernels)) == 0) {
            visit(context, ways[i].name, ways[i].title, "", true, "");
        }
    }
    return AK_OK;
}

static void torch_version(char *out, size_t bytes, const ak_device *device, const char *name)
{
    size_t way = way_of(name);
    out[0] = 0;
    if (way < WAYS && device->torch != NULL) {
        (void)snprintf(out, bytes, "%s%s", device->torch->version,
                       device->torch->no_graph[way] ? ", without a graph" : "");
    }
}

const ak_cuda_library ak_cuda_library_torch = {.prefix = PREFIX,
                                               .applies = torch_applies,
                                               .list = torch_list,
                                               .load = torch_load,
                                               .version = torch_version,
                                               .close = torch_close};
