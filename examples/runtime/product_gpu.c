/* product_gpu.c: C = A*B on an NVIDIA GPU with a bundle, and a look at whether it is right.
 *     autokernel tune matmul --device cuda:0 --dtype bf16 --size 4096
 *     autokernel export matmul --device cuda:0 --dtype bf16 --size 4096 --format bundle
 *     cc product_gpu.c ak_runtime.c -I/usr/local/cuda/include -lcuda -ldl -lm -pthread -o product
 *     ./product matmul_bf16.akb 4096 4096 4096 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include "ak_runtime.h"
static uint16_t bf16(int64_t x) {
    union { float value; uint32_t bits; } f = {(float)x};
    return (uint16_t)((f.bits + 0x7fff + (f.bits >> 16 & 1)) >> 16);
}
static int failed(const akr_error *err) { return fprintf(stderr, "%s\n", err->text), 1; }
int main(int argc, char **argv) {
    akr_bundle *bundle;
    akr_plan plan;
    akr_error err;
    if (argc != 5) return fprintf(stderr, "product_gpu BUNDLE M N K\n"), 1;
    int64_t size[3] = {atoll(argv[2]), atoll(argv[3]), atoll(argv[4])}, wrong = 0;
    if (akr_open(&bundle, argv[1], 0, &err) != AKR_OK) return failed(&err);
    if (akr_query(&plan, bundle, size, &err) != AKR_OK) return failed(&err);
    CUcontext context;
    CUdeviceptr at[3], workspace;
    uint16_t *host[3]; /* A, B, C */
    cuDevicePrimaryCtxRetain(&context, 0), cuCtxSetCurrent(context);
    cuMemAlloc(&workspace, plan.workspace_bytes + 4); /* zero before the first run */
    cuMemsetD32Async(workspace, 0, plan.workspace_bytes / 4 + 1, NULL);
    for (int i = 0; i < 3; i++) cuMemAlloc(&at[i], plan.bytes[i]), host[i] = malloc(plan.bytes[i]);
    for (int64_t i = 0; i < size[0] * size[2]; i++) host[0][i] = bf16(i / size[2] % 3 + i % 2);
    for (int64_t i = 0; i < size[2] * size[1]; i++) host[1][i] = bf16(i % size[1] % 5 - 2);
    for (int i = 0; i < 2; i++) cuMemcpyHtoDAsync(at[i], host[i], plan.bytes[i], NULL);
    void *arg[] = {(void *)at[0], (void *)at[1], (void *)at[2], NULL}, *room = (void *)workspace;
    if (akr_run_stream(bundle, &plan, arg, room, plan.workspace_bytes, NULL, &err) != AKR_OK) {
        return failed(&err);
    }
    cuMemcpyDtoHAsync(host[2], at[2], plan.bytes[2], NULL);
    cuCtxSynchronize();
    for (int64_t i = 0, k = size[2]; i < size[0] * size[1]; i++) {
        int64_t row = i / size[1] % 3 * k + (k + (i / size[1] * k & 1)) / 2; /* of A: its sum */
        wrong += host[2][i] != bf16(row * (i % size[1] % 5 - 2));
    }
    printf("%s, %s size: %lld elements are wrong\n", akr_describe(bundle)->name,
           plan.measured ? "a measured" : "another", (long long)wrong);
    return akr_close(bundle), wrong > 0;
}
