/* product_gpu.c: computes C = A*B on an NVIDIA GPU with a bundle, as docs/shipping.md describes. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include "ak_runtime.h"
static uint16_t bf16(int64_t x) {
    union { float value; uint32_t bits; } f = {(float)x};
    return (uint16_t)((f.bits + 0x7fff + (f.bits >> 16 & 1)) >> 16);
}
static int failed(const akr_error *err) { return fprintf(stderr, "%s\n", err->text), 1; }
int main(int argc, char **argv) { /* matmul_bf16.akb 4096 4096 4096 */
    akr_bundle *bundle;
    akr_plan plan;
    akr_error err;
    CUcontext context;
    CUdeviceptr at[3], room; /* A, B, C, and the workspace */
    uint16_t *host[3];
    if (argc != 5) return fprintf(stderr, "product_gpu BUNDLE M N K\n"), 1;
    int64_t size[] = {atoll(argv[2]), atoll(argv[3]), atoll(argv[4])}, n = size[1], k = size[2];
    if (akr_open(&bundle, argv[1], 0, &err) != AKR_OK) return failed(&err);
    if (akr_query(&plan, bundle, size, &err) != AKR_OK) return failed(&err);
    cuDevicePrimaryCtxRetain(&context, 0), cuCtxSetCurrent(context);
    cuMemAlloc(&room, plan.workspace_bytes + 4); /* must be zero before the first run */
    cuMemsetD32Async(room, 0, plan.workspace_bytes / 4 + 1, NULL);
    for (int i = 0; i < 3; i++) cuMemAlloc(&at[i], plan.bytes[i]), host[i] = malloc(plan.bytes[i]);
    for (int64_t i = 0; i < size[0] * k; i++) host[0][i] = bf16(i / k % 3 + i % 2);
    for (int64_t i = 0; i < k * n; i++) host[1][i] = bf16(i % n % 5 - 2);
    for (int i = 0; i < 2; i++) cuMemcpyHtoDAsync(at[i], host[i], plan.bytes[i], NULL);
    void *arg[] = {(void *)at[0], (void *)at[1], (void *)at[2], NULL}, *work = (void *)room;
    int status = akr_run_stream(bundle, &plan, arg, work, plan.workspace_bytes, NULL, &err);
    if (status != AKR_OK) return failed(&err);
    cuMemcpyDtoHAsync(host[2], at[2], plan.bytes[2], NULL), cuCtxSynchronize();
    long long wrong = 0; /* an element of C is the sum of a row of A times an element of B */
    for (int64_t i = 0; i < size[0] * n; i++)
        wrong += host[2][i] != bf16((i / n % 3 * k + (k + (i / n * k & 1)) / 2) * (i % n % 5 - 2));
    printf("%s, %s size: %lld elements are wrong\n", akr_describe(bundle)->name,
           plan.measured ? "a measured" : "another", wrong);
    return akr_close(bundle), wrong > 0;
}
