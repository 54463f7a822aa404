/* ffi_empty.c: a function for TVM FFI that does nothing, with which bundle_calls.py measures how
 * long TVM FFI itself takes for a call with the same tensors. `lookup` returns how many nanoseconds
 * it takes to look up a symbol in all libraries of the process.
 *
 *     cc -O2 -shared -fPIC bench/cuda/ffi_empty.c -o ffi_empty.so -ldl
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <time.h>

typedef struct any {
    int32_t type;
    uint32_t padding;
    int64_t value;
} any;

#define ENTRY __attribute__((visibility("default"))) int

ENTRY __tvm_ffi_empty(void *handle, const any *args, int32_t count, any *result)
{
    (void)handle, (void)args, (void)count;
    *result = (any){0, 0, 0};
    return 0;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

ENTRY __tvm_ffi_lookup(void *handle, const any *args, int32_t count, any *result)
{
    double begin = now_ns();
    (void)handle, (void)args, (void)count;
    for (int i = 0; i < 1000; i++) {
        void *volatile found = dlsym(RTLD_DEFAULT, "TVMFFIEnvGetStream");
        (void)found;
    }
    *result = (any){1, 0, (int64_t)((now_ns() - begin) / 1000)};
    return 0;
}
