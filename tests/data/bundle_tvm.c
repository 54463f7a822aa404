/* bundle_tvm.c: calls the entry for TVM FFI in the C file of a bundle for a GPU as TVM FFI does. It
   uses the current stream, two shapes may follow each other, and a call whose shapes were seen
   before allocates nothing and looks no symbol up. This program stands in for TVM FFI's library.
   Compiled and run by tests/cli/bundle_cuda.sh. */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    void *data;
    int32_t device, id, rank;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t offset;
} tensor;
typedef struct {
    int32_t type;
    uint32_t zero;
    union {
        int64_t integer;
        void *pointer;
    } as;
} any;
int __tvm_ffi_ak_matmul_bf16(void *self, const any *args, int32_t count, any *result);

static CUstream current;
void *TVMFFIEnvGetStream(int32_t type, int32_t id);
void *TVMFFIEnvGetStream(int32_t type, int32_t id)
{
    return type == 2 && id == 0 ? current : NULL;
}
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text);
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text)
{
    printf("%s: %s\n", kind, text);
}

static long lookups, allocations;
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
    lookups++;
    return __real_dlsym(library, name);
}
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

static tensor given[3];
static int64_t shape[3][2];

/* Calls with matrices of ones, whose product is K in every element. */
static int call(int64_t m, int64_t n, int64_t k)
{
    any args[4], result;
    const int64_t extents[3][2] = {{m, k}, {k, n}, {m, n}};
    memset(args, 0, sizeof args);
    memcpy(shape, extents, sizeof shape);
    for (int i = 0; i < 3; i++) {
        args[i].type = 7;
        args[i].as.pointer = &given[i];
    }
    cuMemsetD32Async((CUdeviceptr)given[2].data, 0, 64, NULL);
    return __tvm_ffi_ak_matmul_bf16(NULL, args, 4, &result);
}

static float element(void)
{
    uint16_t got[64];
    float value;
    cuMemcpyDtoHAsync(got, (CUdeviceptr)given[2].data, sizeof got, NULL);
    uint32_t bits = (uint32_t)got[9] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

int main(void)
{
    CUcontext context;
    CUgraph graph;
    CUgraphExec exec;
    CUdeviceptr at;
    int status;
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    for (int i = 0; i < 3; i++) {
        cuMemAlloc(&at, 1 << 18);
        cuMemsetD32Async(at, 0x3f803f80, 1 << 16, NULL);
        given[i] = (tensor){(void *)at, 2, 0, 2, 4, 16, 1, shape[i], NULL, 0};
    }
    status = call(256, 256, 256);
    printf("a size: %d, %g\n", status, element());
    status = call(64, 128, 256);
    printf("another: %d, %g\n", status, element());
    status = call(64, 64, 256);
    printf("one that was not measured: %d, %g\n", status, element());
    lookups = allocations = 0;
    status = call(64, 64, 256);
    printf("the same again: %d, %g, %ld lookups, %ld allocations\n", status, element(), lookups,
           allocations);
    cuStreamCreate(&current, 0);
    cuStreamBeginCapture(current, 2);
    status = call(64, 64, 256);
    cuStreamEndCapture(current, &graph);
    printf("captured in the current stream: %d, %g", status, element());
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphLaunch(exec, current);
    printf(", and launched: %g\n", element());
    given[1].device = 1;
    (void)call(64, 64, 256);
    given[1].device = 2;
    given[1].bits = 32;
    (void)call(64, 64, 256);
    return 0;
}
