/*
 * cuda_cudnn.c: cuDNN's softmax, which is one call. Norms and reductions are left out: cuDNN's
 * current interface makes graphs of them, which are assembled from descriptors, planned by
 * heuristics and in part compiled when they are first used.
 *
 *   cudnn   softmax of each row, with the largest element subtracted first, as in our kernels
 */
#include "backend/cuda/cuda_device.h"

#include <string.h>

#include "base/alloc.h"

#define NAME "cudnn"

struct ak_cudnn_state {
    const ak_cudnn *api;
    void *handle;
};

struct ak_cuda_softmax {
    void *tensor; /* describes input and output */
    size_t x, y;  /* indices of the arguments */
};

static bool softmax_applies(const ak_task *task)
{
    return strcmp(task->problem->name, "softmax") == 0;
}

static ak_status open_state(ak_device *device, ak_error *err)
{
    if (device->dnn != NULL) {
        return AK_OK;
    }
    ak_cudnn_state *state;
    AK_DO(AK_NEW(state, 1, err));
    ak_status status = ak_cudnn_open(&state->api, err);
    if (status == AK_OK && state->api->create(&state->handle) != 0) {
        status = ak_fail(err, AK_UNAVAILABLE, "cuDNN does not start on this device");
    }
    if (status == AK_OK && state->api->set_stream(state->handle, device->stream) != 0) {
        (void)state->api->destroy(state->handle);
        status = ak_fail(err, AK_UNAVAILABLE, "cuDNN does not take our stream");
    }
    if (status != AK_OK) {
        ak_free(state);
        return status;
    }
    device->dnn = state;
    return AK_OK;
}

static void softmax_close(ak_device *device)
{
    if (device->dnn != NULL) {
        if (!device->lost) {
            (void)device->dnn->api->destroy(device->dnn->handle);
        }
        ak_free(device->dnn);
        device->dnn = NULL;
    }
}

static int type_of(ak_dtype dtype)
{
    return dtype == AK_DTYPE_F16    ? AK_CUDNN_DATA_F16
           : dtype == AK_DTYPE_BF16 ? AK_CUDNN_DATA_BF16
                                    : AK_CUDNN_DATA_F32;
}

/* ---- as a candidate ------------------------------------------------------------------------- */

static int softmax_prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome)
{
    const ak_cudnn *api = runnable->device->dnn->api;
    ak_cuda_softmax *softmax = runnable->softmax;
    const int64_t *size = launch->shape->size; /* rows and columns, as the problem declares them */
    bool fits = size[0] <= INT32_MAX && size[1] <= INT32_MAX;
    for (size_t i = 0; i < launch->task->problem->argument_count; i++) {
        *(launch->task->problem->arguments[i].access == AK_ACCESS_IN ? &softmax->x : &softmax->y) =
            i;
    }
    if (!fits ||
        api->tensor_set(softmax->tensor, AK_CUDNN_TENSOR_NCHW, type_of(launch->task->dtype),
                        (int)size[0], (int)size[1], 1, 1) != 0) {
        ak_outcome_refuse(outcome, AK_TRIAL_LAUNCH_ERROR, "cuDNN does not take rows of this shape");
        return AK_CUDA_REFUSED;
    }
    return AK_CUDA_SUCCESS;
}

static int softmax_enqueue(ak_runnable *runnable, size_t set)
{
    static const float one = 1, zero = 0;
    const ak_device *device = runnable->device;
    const ak_cuda_softmax *softmax = runnable->softmax;
    void *x = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, softmax->x);
    void *y = (void *)(uintptr_t)ak_cuda_place(device, &runnable->places, set, softmax->y);
    int status = device->dnn->api->softmax(device->dnn->handle, AK_CUDNN_SOFTMAX_ACCURATE,
                                           AK_CUDNN_SOFTMAX_INSTANCE, &one, softmax->tensor, x,
                                           &zero, softmax->tensor, y);
    return status == 0 ? AK_CUDA_SUCCESS : AK_CUDA_ERROR_INVALID_VALUE;
}

static void softmax_unload(ak_runnable *runnable)
{
    if (runnable->softmax != NULL) {
        if (runnable->softmax->tensor != NULL) {
            (void)runnable->device->dnn->api->tensor_destroy(runnable->softmax->tensor);
        }
        ak_free(runnable->softmax);
    }
}

static const ak_cuda_work softmax_work = {.prepare = softmax_prepare,
                                          .enqueue = softmax_enqueue,
                                          .unload = softmax_unload,
                                          .computes = true};

static ak_status softmax_load(ak_runnable *runnable, const char *name, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    if (strcmp(name, NAME) != 0) {
        return AK_NOT_FOUND;
    }
    runnable->work = &softmax_work;
    if (open_state(runnable->device, &why) != AK_OK) {
        ak_outcome_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR, "%.230s", why.text);
        return AK_OK;
    }
    AK_DO(AK_NEW(runnable->softmax, 1, err));
    if (runnable->device->dnn->api->tensor_create(&runnable->softmax->tensor) != 0) {
        ak_outcome_refuse(&runnable->refusal, AK_TRIAL_LAUNCH_ERROR, "cuDNN gives no descriptor");
    }
    return AK_OK;
}

static ak_status softmax_list(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                              void *context, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    char version[32];
    (void)task;
    ak_status status = open_state(device, &why);
    if (status == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (status != AK_OK) {
        visit(context, NAME, "cuDNN", "", false, why.text);
        return AK_OK;
    }
    size_t number = device->dnn->api->version(); /* 91900: 9.19.0 */
    (void)snprintf(version, sizeof version, "%zu.%zu.%zu", number / 10000, number / 100 % 100,
                   number % 100);
    visit(context, NAME, "cuDNN", version, true, "");
    return AK_OK;
}

const ak_cuda_library ak_cuda_library_cudnn = {.prefix = NAME,
                                               .applies = softmax_applies,
                                               .list = softmax_list,
                                               .load = softmax_load,
                                               .close = softmax_close};
