/*
 * bench.h: what the two harnesses of this folder share: declarations of the driver and NVRTC, and
 * functions that load libraries, compile, open the device, read the clock and files, compute
 * percentiles, and end the program after an error. A harness that needs further functions of the
 * driver defines OWN_DRIVER(X) before it includes this file.
 */
#ifndef AK_BENCH_CUDA_BENCH_H
#define AK_BENCH_CUDA_BENCH_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS_MAX = 101 };

/* ---- driver and NVRTC ---- */

typedef unsigned long long devptr;
typedef struct {
    unsigned id;
    char pad[4];
    unsigned value[16];
} launch_attr;
typedef struct {
    unsigned gx, gy, gz, bx, by, bz, shared;
    void *stream;
    launch_attr *attrs;
    unsigned nattrs;
} launch_config;

#define DRIVER(X)                                                                                  \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGet, (int *, int))                                                                   \
    X(cuDeviceGetName, (char *, int, int))                                                         \
    X(cuDriverGetVersion, (int *))                                                                 \
    X(cuDevicePrimaryCtxRetain, (void **, int))                                                    \
    X(cuCtxSetCurrent, (void *))                                                                   \
    X(cuMemAlloc_v2, (devptr *, size_t))                                                           \
    X(cuMemcpyDtoH_v2, (void *, devptr, size_t))                                                   \
    X(cuMemsetD32Async, (devptr, unsigned, size_t, void *))                                        \
    X(cuModuleLoadData, (void **, const void *))                                                   \
    X(cuModuleUnload, (void *))                                                                    \
    X(cuModuleGetFunction, (void **, void *, const char *))                                        \
    X(cuFuncSetAttribute, (void *, int, int))                                                      \
    X(cuFuncGetAttribute, (int *, int, void *))                                                    \
    X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,         \
                       unsigned, void *, void **, void **))                                        \
    X(cuLaunchKernelEx, (const launch_config *, void *, void **, void **))                         \
    X(cuOccupancyMaxActiveClusters, (int *, void *, const launch_config *))                        \
    X(cuStreamCreate, (void **, unsigned))                                                         \
    X(cuStreamSynchronize, (void *))                                                               \
    X(cuStreamQuery, (void *))                                                                     \
    X(cuStreamBeginCapture_v2, (void *, int))                                                      \
    X(cuStreamEndCapture, (void *, void **))                                                       \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))                          \
    X(cuGraphLaunch, (void *, void *))                                                             \
    X(cuGraphExecDestroy, (void *))                                                                \
    X(cuGraphDestroy, (void *))                                                                    \
    X(cuEventCreate, (void **, unsigned))                                                          \
    X(cuEventRecord, (void *, void *))                                                             \
    X(cuEventElapsedTime, (float *, void *, void *))                                               \
    X(cuGetErrorString, (int, const char **))
#define NVRTC(X)                                                                                   \
    X(nvrtcCreateProgram,                                                                          \
      (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    X(nvrtcCompileProgram, (void *, int, const char *const *))                                     \
    X(nvrtcGetProgramLogSize, (void *, size_t *))                                                  \
    X(nvrtcGetProgramLog, (void *, char *))                                                        \
    X(nvrtcGetCUBINSize, (void *, size_t *))                                                       \
    X(nvrtcGetCUBIN, (void *, char *))                                                             \
    X(nvrtcDestroyProgram, (void **))
#define DECLARE(name, args) static int(*name) args;
DRIVER(DECLARE)
OWN_DRIVER(DECLARE)
NVRTC(DECLARE)

static void die(const char *what, int code)
{
    const char *text = "";
    if (cuGetErrorString != NULL) {
        cuGetErrorString(code, &text);
    }
    printf("FAILED: %s: %d %s\n", what, code, text);
    fflush(NULL);
    _Exit(3);
}

#define OK(call)                                                                                   \
    do {                                                                                           \
        int code_ = (call);                                                                        \
        if (code_ != 0) {                                                                          \
            die(#call, code_);                                                                     \
        }                                                                                          \
    } while (0)

static void *open_library(const char *const *names)
{
    for (; *names != NULL; names++) {
        void *handle = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
        if (handle != NULL) {
            return handle;
        }
    }
    return NULL;
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        printf("no symbol %s\n", name);
        exit(2);
    }
    return found;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Reads the first `max` - 1 bytes of a file and adds a zero byte. The caller frees them. */
static char *read_file(const char *path, size_t max)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        printf("cannot read %s\n", path);
        exit(2);
    }
    char *text = calloc(1, max);
    size_t n = fread(text, 1, max - 1, f);
    text[n] = 0;
    fclose(f);
    return text;
}

/* Opens NVRTC, or ends the program. */
static void open_nvrtc(void)
{
    const char *const names[] = {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13",
                                 "/usr/local/cuda/lib/libnvrtc.so.13", NULL};
    void *nvrtc = open_library(names);
    if (nvrtc == NULL) {
        printf("no NVRTC: %s\n", dlerror());
        exit(2);
    }
#define NV(name, args) *(void **)&name = symbol(nvrtc, #name);
    NVRTC(NV)
}

static int nvrtc_compile(char **cubin, char **log, const char *text, const char *name,
                         const char *const *options, int n)
{
    void *program = NULL;
    size_t size = 0, bytes = 0;
    if (nvrtcCreateProgram(&program, text, name, 0, NULL, NULL)) {
        return 1;
    }
    const int code = nvrtcCompileProgram(program, n, options);
    nvrtcGetProgramLogSize(program, &size);
    *log = calloc(1, size + 1);
    nvrtcGetProgramLog(program, *log);
    if (code == 0) {
        nvrtcGetCUBINSize(program, &bytes);
        *cubin = malloc(bytes);
        nvrtcGetCUBIN(program, *cubin);
    }
    nvrtcDestroyProgram(&program);
    return code;
}

static void *stream, *events[2];
static devptr arena, result;

/* Opens the driver and its first device, and allocates `bytes` of its memory as the arena. Returns
   the handle of the driver's library. */
static void *open_driver(char name[128], int *version, size_t bytes)
{
    const char *const names[] = {"libcuda.so.1", NULL};
    void *cuda = open_library(names), *context;
    int device;
    if (cuda == NULL) {
        printf("no driver: %s\n", dlerror());
        exit(2);
    }
#define CU(name, args) *(void **)&name = symbol(cuda, #name);
    DRIVER(CU)
    OWN_DRIVER(CU)
    OK(cuInit(0));
    OK(cuDeviceGet(&device, 0));
    OK(cuDeviceGetName(name, 128, device));
    OK(cuDriverGetVersion(version));
    OK(cuDevicePrimaryCtxRetain(&context, device));
    OK(cuCtxSetCurrent(context));
    OK(cuStreamCreate(&stream, 1));
    OK(cuEventCreate(&events[0], 0));
    OK(cuEventCreate(&events[1], 0));
    OK(cuMemAlloc_v2(&arena, bytes));
    OK(cuMemAlloc_v2(&result, 64));
    return cuda;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double percentile(const double *x, int n, double p)
{
    double copy[ROUNDS_MAX];
    memcpy(copy, x, (size_t)n * sizeof *x);
    qsort(copy, (size_t)n, sizeof *copy, by_value);
    const double at = p * (n - 1);
    const int i = (int)at;
    return i + 1 < n ? copy[i] + (at - i) * (copy[i + 1] - copy[i]) : copy[i];
}

#endif
