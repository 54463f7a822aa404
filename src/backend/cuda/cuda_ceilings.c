/*
 * cuda_ceilings.c: measures what the device can do at most: the bytes per second of a copy far
 * larger than the caches, and the operations per second of a loop that holds only tensor
 * instructions. For f32 the loop holds fused multiply-adds, unless the task allows tf32 or a split,
 * which tensor cores have since compute capability 8.0. case_for knows the dtypes that have a loop.
 * This file also compiles the device code of the harness (ak_cuda_helper) and runs the copy that
 * results are compared with.
 */
#include "backend/cuda/cuda_device.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "base/clock.h"
#include "measure/ceilings.h"

#define COPY_BYTES     ((size_t)1 << 30)
#define COPY_RUNS      8
#define RATE_TIMEOUT   (20 * AK_SECOND_NS)
#define RATE_TURNS     2000
#define RATE_RUNS      3
#define HELPER_SECONDS (60 * AK_SECOND_NS)
#define HELPER_MEMORY  ((size_t)4 << 30)
#define SOURCE_MAX     (1u << 20)
#define CUBIN_MAX      (64u << 20)

/* ---- the harness' own device code ------------------------------------------------------------ */

#define HARNESS "a kernel of the harness (referee, elementwise pass, or limits of the device)"

static ak_status write_parts(const char *path, const char *const *parts, size_t count,
                             const char *last, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(SOURCE_MAX + AK_SOURCE_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        const ak_asset *asset = ak_asset_find(parts[i]);
        AK_FAIL_IF(asset == NULL, err, AK_INTERNAL, "%s is not part of this build", parts[i]);
        ak_buf_print(&text, "#line 1 \"%s\"\n", parts[i]);
        ak_buf_append(&text, asset->data, asset->length);
    }
    if (last != NULL) {
        ak_buf_puts(&text, "#line 1 \"reference.cu\"\n");
        ak_buf_puts(&text, last);
    }
    AK_DO(ak_buf_status(&text, err));
    return ak_fs_write(path, text.data, text.length, err);
}

static ak_status load_cubin(void **module, ak_device *device, const char *path, ak_error *err)
{
    AK_FREED char *cubin = NULL;
    char text[160];
    AK_DO(ak_fs_read(&cubin, NULL, path, CUBIN_MAX, err));
    int code = device->cuda->module_load(module, cubin);
    ak_cuda_error_text(text, sizeof text, device->cuda, code);
    return code == 0 ? AK_OK
                     : ak_fail(err, AK_CRASHED, "the driver cannot load " HARNESS " (%.160s): %s",
                               path, text);
}

ak_status ak_cuda_helper(void **module, ak_device *device, const ak_cuda_source_parts *source,
                         ak_error *err)
{
    char folder[AK_PATH_MAX], path[AK_PATH_MAX], cubin[AK_PATH_MAX];
    char type[32], architecture[64];
    const char *options[AK_CUDA_HELPER_OPTIONS_MAX + 2] = {architecture, type};
    ak_compile_result result = {0};
    assert(source->option_count <= AK_CUDA_HELPER_OPTIONS_MAX);
    (void)snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%lld%s",
                   (long long)ak_task_fact(device->task, "compute_capability"),
                   ak_or_empty(source->architecture_feature));
    (void)snprintf(type, sizeof type, "-Ddtype_is_%s=1", ak_dtype_text(source->dtype));
    memcpy(options + 2, source->options, source->option_count * sizeof *options);
    AK_DO(ak_fs_temp(folder, err));
    ak_status status = AK_OK;
    AK_TRY(ak_fs_join(path, folder, "helper.cu", err));
    AK_TRY(ak_fs_join(cubin, folder, "helper.cubin", err));
    AK_TRY(write_parts(path, source->parts, source->count, source->text, err));
    ak_compile_job job = {.source_path = path,
                          .argv = options,
                          .argc = source->option_count + 2,
                          .folder = folder,
                          .artifact = cubin,
                          .timeout_ns = HELPER_SECONDS,
                          .memory_max = HELPER_MEMORY};
    AK_TRY(ak_cuda_compile(&result, &job, err));
    if (result.status != AK_TRIAL_OK) {
        AK_TRY(ak_fail(err, AK_INTERNAL, HARNESS " does not compile: %.280s", result.reason));
    }
    AK_TRY(load_cubin(module, device, cubin, err));
out:
    ak_compile_result_clear(&result);
    ak_fs_remove(folder);
    return status;
}

/* ---- copying --------------------------------------------------------------------------------- */

static double rate_of(double work, const ak_device *device)
{
    float ms = 0;
    int code = device->cuda->event_elapsed(&ms, device->events[0], device->events[1]);
    return code == 0 && ms > 0 ? work / ((double)ms * 1e-3) : 0.0;
}

/* Returns the bytes read and written per second by the best of several copies; 0 if there is no
   memory for them. */
static double copy_rate(ak_device *device)
{
    const ak_cuda_driver *cuda = device->cuda;
    ak_cuda_address memory = 0;
    double best = 0;
    if (cuda->memory_alloc(&memory, 2 * COPY_BYTES) != 0) {
        return 0.0;
    }
    for (int i = 0; i <= COPY_RUNS; i++) {
        int code = cuda->event_record(device->events[0], device->stream);
        code =
            code == 0 ? cuda->copy(memory + COPY_BYTES, memory, COPY_BYTES, device->stream) : code;
        code = code == 0 ? cuda->event_record(device->events[1], device->stream) : code;
        code = code == 0 ? ak_cuda_wait(device, RATE_TIMEOUT) : code;
        double rate = code == 0 && i > 0 ? rate_of(2.0 * (double)COPY_BYTES, device) : 0.0;
        best = rate > best ? rate : best;
    }
    (void)cuda->memory_free(memory);
    return best;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The first compute capability whose tensor cores multiply tf32 and bf16. */
#define TF32_CAPABILITY 80

typedef struct rate_case {
    bool wgmma, tf32;
    int blocks_per_sm;
    uint32_t shared_bytes;
    double flops; /* operations of one block in one iteration of the loop */
} rate_case;

static bool case_for(rate_case *out, const ak_device *device, ak_dtype dtype)
{
    int64_t capability = ak_task_fact(device->task, "compute_capability");
    const bool tf32 =
        capability >= TF32_CAPABILITY && ak_cuda_is_tf32(device->task->constants, dtype);
    const bool half = dtype == AK_DTYPE_F16 || dtype == AK_DTYPE_BF16;
    const bool byte = ak_dtype_is_float(dtype) && ak_dtype_bytes(dtype) == 1;
    if (dtype == AK_DTYPE_F32 && !tf32) { /* each of 256 threads executes 64 multiply-adds */
        *out = (rate_case){.blocks_per_sm = 4, .flops = 2.0 * 64 * 256};
    } else if (capability == 90 && (half || byte || tf32)) {
        /* each of two warpgroups issues 16 wgmma */
        *out = (rate_case){.wgmma = true,
                           .tf32 = tf32,
                           .blocks_per_sm = 1,
                           .shared_bytes = (64 + 256) * 128,
                           .flops = 2.0 * 16 * 2 * 64 * 256 * 32 / (double)ak_dtype_bytes(dtype)};
    } else if (half || tf32) { /* each of eight warps issues 16 mma, m16n8k16 or m16n8k8 */
        *out = (rate_case){
            .tf32 = tf32, .blocks_per_sm = 2, .flops = 2.0 * 16 * 8 * 16 * 8 * (tf32 ? 8 : 16)};
    } else {
        return false;
    }
    return true;
}

static ak_status load_rate(void **module, ak_device *device, const rate_case *what, ak_dtype dtype,
                           ak_error *err)
{
    static const char *const parts[] = {"kernels/matmul/cuda_wgmma.cu",
                                        "src/backend/cuda/cuda_helpers.cu"};
    char bytes[32];
    (void)snprintf(bytes, sizeof bytes, "-DELEMENT_BYTES=%zu", ak_dtype_bytes(dtype));
    const char *const options[] = {"-DRATE=1",
                                   bytes,
                                   what->tf32 ? "-DTF32=1" : "-DTF32=0",
                                   "-DWGMMA=1",
                                   "-DBLOCK_SIZE_M=64",
                                   "-DBLOCK_SIZE_N=256",
                                   "-DBLOCK_SIZE_K=64",
                                   "-DSWAP_AB=0",
                                   "-DA_LAYOUT=0",
                                   "-DB_LAYOUT=0"};
    /* Without wgmma only the last part and the first three options are used. */
    const ak_cuda_source_parts source = {.parts = what->wgmma ? parts : parts + 1,
                                         .count = what->wgmma ? 2 : 1,
                                         .dtype = dtype,
                                         .architecture_feature = what->wgmma ? "a" : NULL,
                                         .options = options,
                                         .option_count = what->wgmma ? AK_COUNT(options) : 3};
    return ak_cuda_helper(module, device, &source, err);
}

static double arithmetic_rate(ak_device *device, const rate_case *what, void *module)
{
    const ak_cuda_driver *cuda = device->cuda;
    void *function = NULL;
    ak_cuda_address nowhere = device->block;
    int turns = RATE_TURNS;
    void *arguments[] = {&nowhere, &turns};
    ak_cuda_launch_config config = {
        .grid = {(uint32_t)(device->sm_count * what->blocks_per_sm), 1, 1},
        .block = {256, 1, 1},
        .shared_bytes = what->shared_bytes,
        .stream = device->stream};
    double best = 0;
    int code = cuda->module_function(&function, module, "ak_rate");
    if (code == 0 && what->shared_bytes > 0) {
        code =
            cuda->function_set(function, AK_CUDA_FUNCTION_DYNAMIC_SHARED, (int)what->shared_bytes);
    }
    for (int i = 0; i <= RATE_RUNS && code == 0; i++) {
        code = cuda->event_record(device->events[0], device->stream);
        code = code == 0 ? cuda->launch(&config, function, arguments, NULL) : code;
        code = code == 0 ? cuda->event_record(device->events[1], device->stream) : code;
        code = code == 0 ? ak_cuda_wait(device, RATE_TIMEOUT) : code;
        double rate = code == 0 ? rate_of(what->flops * turns * config.grid[0], device) : 0.0;
        best = rate > best ? rate : best;
    }
    return best;
}

/* Measures the ceilings again on each call and returns the best ever seen: other load, or a limit
   on clock or power, can only make a ceiling look lower than it is. A ceiling of 0 is unknown:
   peak_tflops if there is no loop for the dtype or it does not compile, the others if there is no
   memory for the copies. */
ak_status ak_cuda_ceilings(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err)
{
    const double copy_gbs = copy_rate(device) / 1e9;
    ak_ceilings now = {
        .copy_gbs = copy_gbs, .triad_gbs = copy_gbs, .read_gbs = copy_gbs, .measured = true};
    rate_case what;
    void *module = NULL;
    int products = ak_task_fact(device->task, "compute_capability") >= TF32_CAPABILITY
                       ? ak_cuda_split_products(device->task->constants, dtype)
                       : 0;
    (void)err;
    dtype = products > 0 ? AK_DTYPE_BF16 : dtype;
    if (case_for(&what, device, dtype) && load_rate(&module, device, &what, dtype, NULL) == AK_OK) {
        now.peak_tflops =
            arithmetic_rate(device, &what, module) / 1e12 / (products > 0 ? products : 1);
        (void)device->cuda->module_unload(module);
    }
    (void)ak_ceilings_raise(&device->ceilings, &now);
    *out = device->ceilings;
    return AK_OK;
}

/* ---- the copy as a candidate ---------------------------------------------------------------- */

static int copy_prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome)
{
    (void)launch;
    if (runnable->places.sets < 2) {
        ak_outcome_refuse(outcome, AK_TRIAL_OUT_OF_MEMORY,
                          "the device has no memory for a second set of the arguments");
        return AK_CUDA_REFUSED;
    }
    return AK_CUDA_SUCCESS;
}

/* Aligns the copy's target like its source, and shortens the copy to whole pages if that drops at
   most 1 part in COPY_NOTHING. On an H200 the driver's copy took 50 % longer for 2^27 + 1024, 2^27
   + 2048, 2^28 + 2048 and 2^28 + 4096 bytes than for 2^27 and 2^28 (arguments of norms, weights
   included). */
#define COPY_ALIGN   ((size_t)4096)
#define COPY_PAGE    ((size_t)2 << 20)
#define COPY_NOTHING 512

/* Copies within a set, from its first half to its second; never in set 0, which holds the
   inputs. */
static int copy_enqueue(ak_runnable *runnable, size_t set)
{
    const ak_device *device = runnable->device;
    const ak_cuda_places *places = &runnable->places;
    size_t half = places->span / 2 / COPY_ALIGN * COPY_ALIGN;
    size_t beyond = half % COPY_PAGE;
    half -= beyond <= half / COPY_NOTHING ? beyond : 0;
    size_t bytes = (size_t)(runnable->shape.traffic / 2);
    ak_cuda_address from = device->copies + set % (places->sets - 1) * places->stride;
    return device->cuda->copy(from + half, from, bytes < half ? bytes : half, device->stream);
}

const ak_cuda_work ak_cuda_copy_work = {.prepare = copy_prepare, .enqueue = copy_enqueue};
