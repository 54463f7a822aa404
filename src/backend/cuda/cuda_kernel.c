/* cuda_kernel.c: runs candidates: puts addresses into the launch plan of the space file. */
#include "backend/cuda/cuda_device.h"

#include <string.h>

#include "backend/triton/triton.h"
#include "base/alloc.h"

#define CUBIN_MAX        (64u << 20)
#define PORTABLE_CLUSTER 8

/* Arguments of one kernel on one set; cuLaunchKernelEx expects pointers to their values. */
typedef struct bound {
    ak_cuda_tensor_map maps[AK_LAUNCH_MAPS_MAX];
    uint64_t values[AK_LAUNCH_ARGUMENTS_MAX];
    void *arguments[AK_LAUNCH_ARGUMENTS_MAX];
} bound;

struct ak_cuda_kernels {
    void *module;
    /* For a Triton kernel only: the artifact, and the code of the variant that is loaded as
       `module`. */
    char *compiled;
    ak_triton_artifact triton;
    const char *variant;
    ak_launch_plan plan;
    void *functions[AK_LAUNCH_KERNELS_MAX];
    bool cluster_compiled_in[AK_LAUNCH_KERNELS_MAX];
    /* The allocation in which `bound` lies, aligned as a tensor map must be. */
    void *memory;
    bound *bound; /* index: set * plan.count + kernel */
    size_t bound_count;
    ak_cuda_address constants[AK_LAUNCH_KERNELS_MAX][AK_LAUNCH_CONSTANTS_MAX];
    size_t at;                 /* kernel whose occupancy `resident` computes next */
    ak_cuda_address workspace; /* 0: none was requested */
};

/* ---- loading --------------------------------------------------------------------------------- */

ak_status ak_cuda_kernel_load(ak_runnable *runnable, const char *artifact, ak_error *err)
{
    ak_device *device = runnable->device;
    AK_FREED char *cubin = NULL;
    size_t length = 0;
    ak_cuda_kernels *kernels;
    AK_DO(AK_NEW(kernels, 1, err));
    runnable->kernels = kernels;
    AK_DO(ak_fs_read(&cubin, &length, artifact, CUBIN_MAX, err));
    if (ak_implementation_is_triton(runnable->task->implementation)) {
        kernels->compiled = cubin; /* prepare loads the variant for its arguments */
        cubin = NULL;
        return ak_triton_read(&kernels->triton, kernels->compiled, length, err);
    }
    ak_cuda_cubin_judge(&runnable->refusal, cubin, length);
    if (runnable->refusal.status == AK_TRIAL_OK) {
        int code = device->cuda->module_load(&kernels->module, cubin);
        const char *own = runnable->task->implementation->architecture;
        if (code == AK_CUDA_ERROR_NO_BINARY && own != NULL) {
            ak_outcome_refuse(
                &runnable->refusal, AK_TRIAL_LAUNCH_ERROR,
                "the code is for %.40s (\"Architecture\" of the space file), and this device has "
                "compute capability %lld: leave that out, or choose another device",
                own, (long long)ak_task_fact(runnable->task, "compute_capability"));
        } else {
            ak_cuda_conclude(&runnable->refusal, device, code, "loading the compiled code");
        }
    }
    return AK_OK;
}

static void kernels_unload(ak_runnable *runnable)
{
    ak_cuda_kernels *kernels = runnable->kernels;
    if (kernels != NULL) {
        if (kernels->module != NULL && !runnable->device->lost) {
            (void)runnable->device->cuda->module_unload(kernels->module);
        }
        ak_triton_clear(&kernels->triton);
        ak_free(kernels->compiled);
        ak_free(kernels->memory);
        ak_free(kernels);
    }
}

/* ---- preparing ------------------------------------------------------------------------------- */

static ak_cuda_launch_config config_of(const ak_launch_kernel *kernel, void *stream)
{
    ak_cuda_launch_config config = {.stream = stream, .shared_bytes = kernel->shared_bytes};
    memcpy(config.grid, kernel->grid, sizeof config.grid);
    memcpy(config.block, kernel->block, sizeof config.block);
    return config;
}

static uint32_t volume(const uint32_t extents[3])
{
    return extents[0] * extents[1] * extents[2];
}

static void set_cluster(ak_cuda_launch_attribute *attribute, const ak_launch_kernel *kernel)
{
    *attribute = (ak_cuda_launch_attribute){.id = AK_CUDA_LAUNCH_CLUSTER};
    memcpy(attribute->as.dimension, kernel->cluster, sizeof kernel->cluster);
}

/* Finds the entry and checks that the device has what it needs. Returns AK_INVALID if the launch
   asks for too much shared memory, AK_UNAVAILABLE if the compiled code cannot run as asked. */
static ak_status find_function(ak_runnable *runnable, const ak_launch_kernel *kernel, ak_error *err)
{
    ak_device *device = runnable->device;
    const ak_cuda_driver *cuda = device->cuda;
    ak_cuda_kernels *kernels = runnable->kernels;
    void *function = NULL;
    int shared = 0, local = 0, threads = 0, width = 0;
    int code = cuda->module_function(&function, kernels->module, kernel->name);
    AK_FAIL_IF(code != 0, err, AK_UNAVAILABLE, "the compiled code has no entry %.60s",
               kernel->name);
    (void)cuda->function_get(&shared, AK_CUDA_FUNCTION_SHARED, function);
    (void)cuda->function_get(&local, AK_CUDA_FUNCTION_LOCAL, function);
    (void)cuda->function_get(&threads, AK_CUDA_FUNCTION_THREADS, function);
    (void)cuda->function_get(&width, AK_CUDA_FUNCTION_CLUSTER_WIDTH, function);
    AK_FAIL_IF(local > AK_CUDA_SPILLS_FEW && runnable->task->implementation->rejects_spills, err,
               AK_UNAVAILABLE, "each thread uses %d bytes of local memory", local);
    AK_FAIL_IF((int64_t)shared + kernel->shared_bytes > device->shared_bytes_max, err, AK_INVALID,
               "it needs %lld bytes of shared memory, but a block can have %lld",
               (long long)shared + kernel->shared_bytes, (long long)device->shared_bytes_max);
    AK_FAIL_IF(volume(kernel->block) > (uint32_t)threads, err, AK_UNAVAILABLE,
               "its registers allow %d threads in a block, but it asks for %u", threads,
               volume(kernel->block));
    if (kernel->shared_bytes > 0) {
        code = cuda->function_set(function, AK_CUDA_FUNCTION_DYNAMIC_SHARED,
                                  (int)kernel->shared_bytes);
    }
    if (code == 0 && volume(kernel->cluster) > PORTABLE_CLUSTER) {
        code = cuda->function_set(function, AK_CUDA_FUNCTION_LARGE_CLUSTER, 1);
    }
    kernels->functions[kernels->at] = function;
    kernels->cluster_compiled_in[kernels->at] = width > 0;
    return code == 0 ? AK_OK
                     : ak_fail(err, AK_UNAVAILABLE, "its attributes cannot be set (%d)", code);
}

/* Computes `resident_clusters`. It also checks the compiled code, because it is called when block,
   cluster and shared memory are known and before the grid is computed. */
static ak_status resident(int64_t *out, void *context, const ak_launch_kernel *kernel,
                          ak_error *err)
{
    ak_runnable *runnable = context;
    ak_device *device = runnable->device;
    ak_cuda_kernels *kernels = runnable->kernels;
    AK_DO(find_function(runnable, kernel, err));
    void *function = kernels->functions[kernels->at++];
    uint32_t cluster = volume(kernel->cluster);
    int count = 0, code;
    if (cluster == 1) {
        code = device->cuda->blocks_per_sm(&count, function, (int)volume(kernel->block),
                                           kernel->shared_bytes);
        *out = (int64_t)count * device->sm_count;
    } else {
        ak_cuda_launch_attribute attribute;
        ak_cuda_launch_config config = config_of(kernel, NULL);
        /* This grid is large enough to fill any device. */
        config.grid[0] = kernel->cluster[0] * (uint32_t)device->sm_count * 32;
        config.grid[1] = kernel->cluster[1];
        config.grid[2] = kernel->cluster[2];
        set_cluster(&attribute, kernel);
        config.attributes = &attribute;
        config.attribute_count = 1;
        code = device->cuda->active_clusters(&count, function, &config);
        *out = count;
    }
    AK_FAIL_IF(code != 0 || count == 0, err, AK_INVALID,
               "no %s fits the device: %u threads, %u bytes of shared memory, clusters of %u",
               cluster == 1 ? "block" : "cluster", volume(kernel->block), kernel->shared_bytes,
               cluster);
    return AK_OK;
}

static int encode(ak_cuda_tensor_map *out, const ak_launch_map *map, ak_cuda_address address,
                  ak_dtype dtype, const ak_cuda_driver *cuda)
{
    static const uint32_t ones[AK_LAUNCH_RANK_MAX] = {1, 1, 1, 1, 1};
    if (!map->used) {
        return AK_CUDA_SUCCESS;
    }
    int swizzle = map->swizzle == 128  ? AK_CUDA_SWIZZLE_128
                  : map->swizzle == 64 ? AK_CUDA_SWIZZLE_64
                  : map->swizzle == 32 ? AK_CUDA_SWIZZLE_32
                                       : 0;
    int promotion = map->promotion == 256   ? AK_CUDA_PROMOTION_256
                    : map->promotion == 128 ? AK_CUDA_PROMOTION_128
                    : map->promotion == 64  ? AK_CUDA_PROMOTION_64
                                            : 0;
    return cuda->tensor_map(out, ak_dtype_tensor_type(dtype), map->rank, address, map->size,
                            map->stride, map->box, ones, 0, swizzle, promotion, 0);
}

/* Replaces the buffers of the plan by addresses. */
static int bind(bound *out, const ak_launch_kernel *kernel, const ak_runnable *runnable, size_t set)
{
    const ak_device *device = runnable->device;
    const ak_task *task = runnable->task;
    int code = AK_CUDA_SUCCESS;
    for (size_t i = 0; i < kernel->map_count && code == 0; i++) {
        const ak_launch_map *map = &kernel->maps[i];
        const ak_cuda_address at =
            map->in_workspace ? runnable->kernels->workspace + map->offset
                              : ak_cuda_place(device, &runnable->places, set, map->argument);
        code = encode(&out->maps[i], map, at, ak_task_argument_dtype(task, map->argument),
                      device->cuda);
    }
    for (size_t i = 0; i < kernel->pass_count; i++) {
        const ak_pass *pass = &kernel->passes[i];
        out->arguments[i] = &out->values[i];
        switch (pass->kind) {
        case AK_PASS_BUFFER:
            out->values[i] = ak_cuda_place(device, &runnable->places, set, pass->index);
            break;
        case AK_PASS_WORKSPACE:
            out->values[i] = runnable->kernels->workspace;
            break;
        case AK_PASS_NULL:
            break;
        case AK_PASS_MAP:
            out->arguments[i] = &out->maps[pass->index];
            break;
        case AK_PASS_VALUE:
            (void)ak_pass_encode(&out->values[i], pass);
            break;
        }
    }
    return code;
}

/* Finds the addresses of the module's variables that hold arguments (`Constants`). */
static ak_status find_constants(ak_runnable *runnable, ak_error *err)
{
    const ak_device *device = runnable->device;
    ak_cuda_kernels *kernels = runnable->kernels;
    for (size_t k = 0; k < kernels->plan.count; k++) {
        const ak_launch_kernel *kernel = &kernels->plan.kernels[k];
        for (size_t i = 0; i < kernel->constant_count; i++) {
            const size_t argument = kernel->constants[i];
            const char *name = runnable->task->problem->arguments[argument].name;
            size_t bytes = 0;
            AK_FAIL_IF(device->cuda->module_global(&kernels->constants[k][i], &bytes,
                                                   kernels->module, name) != AK_CUDA_SUCCESS,
                       err, AK_UNAVAILABLE,
                       "the compiled code has no variable %.60s that is read (\"Constants\": "
                       "`__constant__ TYPE %.60s[...]`)",
                       name, name);
            AK_FAIL_IF(bytes < runnable->shape.bytes[argument], err, AK_UNAVAILABLE,
                       "its variable %.60s has %zu bytes, but the argument has %zu", name, bytes,
                       runnable->shape.bytes[argument]);
        }
    }
    return AK_OK;
}

/* Loads the variant of a Triton kernel for the arguments of the plan, and completes the plan. */
static ak_status load_variant(ak_runnable *runnable, ak_error *err)
{
    ak_cuda_kernels *kernels = runnable->kernels;
    ak_device *device = runnable->device;
    ak_triton_variant variant;
    AK_DO(ak_triton_apply(&variant, &kernels->plan, &kernels->triton, runnable->task, err));
    if (kernels->variant != variant.code) {
        if (kernels->module != NULL) {
            (void)device->cuda->module_unload(kernels->module);
            kernels->module = NULL;
        }
        char *code = ak_alloc(variant.length, 1); /* aligned, as the driver expects */
        AK_DO(ak_made(code, err));
        memcpy(code, variant.code, variant.length);
        ak_outcome allowed = {.status = AK_TRIAL_OK};
        ak_cuda_cubin_judge(&allowed, code, variant.length);
        if (allowed.status != AK_TRIAL_OK) {
            ak_free(code);
            return ak_fail(err, AK_UNAVAILABLE, "%s", allowed.reason);
        }
        int failed = device->cuda->module_load(&kernels->module, code);
        ak_free(code);
        if (failed != 0) {
            char why[160];
            ak_cuda_error_text(why, sizeof why, device->cuda, failed);
            return ak_fail(err, AK_UNAVAILABLE, "the driver does not load the code: %s", why);
        }
        kernels->variant = variant.code;
    }
    return find_function(runnable, &kernels->plan.kernels[0], err);
}

static int kernels_prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome)
{
    ak_cuda_kernels *kernels = runnable->kernels;
    ak_error err = AK_ERROR_INIT;
    kernels->at = 0;
    kernels->workspace = launch->workspace_bytes > 0 ? runnable->device->workspace : 0;
    bool is_triton = kernels->compiled != NULL;
    const ak_launch_resident known = {resident, runnable};
    ak_status status = ak_launch_evaluate(&kernels->plan, launch->task, launch->shape,
                                          launch->config, is_triton ? NULL : &known, &err);
    status = status == AK_OK && is_triton ? load_variant(runnable, &err) : status;
    status = status == AK_OK ? find_constants(runnable, &err) : status;
    if (status != AK_OK) {
        if (status == AK_NO_MEMORY) {
            return AK_CUDA_ERROR_OUT_OF_MEMORY;
        }
        /* The launch, not the compiled code, asks for something impossible. */
        bool asked = status != AK_UNAVAILABLE;
        ak_outcome_refuse(outcome, asked ? AK_TRIAL_INVALID : AK_TRIAL_REJECTED, "%.230s",
                          err.text);
        return AK_CUDA_REFUSED;
    }
    runnable->has_constants = false;
    runnable->begins_early = kernels->plan.count > 0 && kernels->plan.kernels[0].early;
    for (size_t k = 0; k < kernels->plan.count; k++) {
        runnable->has_constants |= kernels->plan.kernels[k].constant_count > 0;
    }
    ak_free(kernels->memory);
    kernels->bound_count = runnable->places.sets * kernels->plan.count;
    kernels->memory = ak_alloc(kernels->bound_count + 1, sizeof *kernels->bound);
    if (kernels->memory == NULL) {
        return AK_CUDA_ERROR_OUT_OF_MEMORY;
    }
    uintptr_t past = (uintptr_t)kernels->memory % _Alignof(bound);
    kernels->bound = (bound *)((char *)kernels->memory + (past == 0 ? 0 : _Alignof(bound) - past));
    int code = AK_CUDA_SUCCESS;
    for (size_t i = 0; i < kernels->bound_count && code == 0; i++) {
        code = bind(&kernels->bound[i], &kernels->plan.kernels[i % kernels->plan.count], runnable,
                    i / kernels->plan.count);
    }
    if (code != 0) {
        ak_outcome_refuse(outcome, AK_TRIAL_LAUNCH_ERROR,
                          "the driver refuses one of its tensor maps (CUDA error %d)", code);
        return AK_CUDA_REFUSED;
    }
    return AK_CUDA_SUCCESS;
}

static int kernels_supply(ak_runnable *runnable, ak_cuda_address set)
{
    const ak_cuda_kernels *kernels = runnable->kernels;
    const ak_cuda_places *places = &runnable->places;
    const ak_device *device = runnable->device;
    int code = AK_CUDA_SUCCESS;
    for (size_t k = 0; k < kernels->plan.count; k++) {
        const ak_launch_kernel *kernel = &kernels->plan.kernels[k];
        for (size_t i = 0; i < kernel->constant_count && code == 0; i++) {
            const size_t argument = kernel->constants[i];
            code = device->cuda->copy(kernels->constants[k][i],
                                      set + places->offset[argument] - places->first,
                                      runnable->shape.bytes[argument], device->stream);
        }
    }
    return code;
}

static int kernels_enqueue(ak_runnable *runnable, size_t set)
{
    const ak_cuda_kernels *kernels = runnable->kernels;
    const ak_device *device = runnable->device;
    int code = AK_CUDA_SUCCESS;
    for (size_t i = 0; i < kernels->plan.count && code == 0; i++) {
        const ak_launch_kernel *kernel = &kernels->plan.kernels[i];
        ak_cuda_launch_config config = config_of(kernel, device->stream);
        ak_cuda_launch_attribute attributes[2];
        config.attributes = attributes;
        if (volume(kernel->cluster) > 1 && !kernels->cluster_compiled_in[i]) {
            set_cluster(&attributes[config.attribute_count++], kernel);
        }
        if (kernel->early) {
            attributes[config.attribute_count++] =
                (ak_cuda_launch_attribute){.id = AK_CUDA_LAUNCH_EARLY, .as.value = 1};
        }
        code = device->cuda->launch(&config, kernels->functions[i],
                                    kernels->bound[set * kernels->plan.count + i].arguments, NULL);
    }
    return code;
}

const ak_cuda_work ak_cuda_kernel_work = {.prepare = kernels_prepare,
                                          .enqueue = kernels_enqueue,
                                          .supply = kernels_supply,
                                          .unload = kernels_unload,
                                          .computes = true};
