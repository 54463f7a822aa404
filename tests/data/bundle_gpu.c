/* bundle_gpu.c: what a call of a bundle for a GPU refuses, that it allocates nothing, and that a
   graph may capture it. Compiled and run by tests/cli/bundle_cuda.sh, with the names of a bundle
   and of one for the CPU. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ak_runtime.h"

static long allocations;
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_malloc(size_t bytes)
{
    allocations++;
    return __real_malloc(bytes);
}
void *__wrap_calloc(size_t count, size_t bytes)
{
    allocations++;
    return __real_calloc(count, bytes);
}

static void say(const char *what, akr_status status, const akr_error *err)
{
    printf("%s: %s%s%s\n", what, akr_status_text(status), status == AKR_OK ? "" : ": ",
           status == AKR_OK ? "" : err->text);
}

int main(int argc, char **argv)
{
    static const int64_t size[] = {64, 128, 512}, odd[] = {64, 127, 512};
    akr_bundle *bundle, *other;
    akr_plan plan;
    akr_error err;
    CUcontext context;
    CUdeviceptr a, b, c, w;
    CUstream stream;
    CUgraph graph;
    CUgraphExec exec;
    uint16_t got[64];
    if (argc != 3 || akr_open(&bundle, argv[1], 0, &err) != AKR_OK) {
        return printf("%s\n", argc == 3 ? err.text : "bundle_gpu BUNDLE HOST_BUNDLE"), 1;
    }
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxSetCurrent(context);
    say("a size that is served", akr_query(&plan, bundle, size, &err), &err);
    printf("workspace: %zu bytes aligned to %zu\n", plan.workspace_bytes,
           akr_describe(bundle)->alignment);
    cuMemAlloc(&a, plan.bytes[0] + 256);
    cuMemAlloc(&b, plan.bytes[1]);
    cuMemAlloc(&c, plan.bytes[2]);
    cuMemAlloc(&w, plan.workspace_bytes + 256);
    cuMemsetD32Async(w, 0, plan.workspace_bytes / 4, NULL);
    cuMemsetD32Async(a, 0x3f803f80, plan.bytes[0] / 4, NULL); /* ones */
    cuMemsetD32Async(b, 0x3f803f80, plan.bytes[1] / 4, NULL);
    void *arg[] = {(void *)a, (void *)b, (void *)c, NULL}, *wrong[4], *at = (void *)w;
    const size_t bytes = plan.workspace_bytes;
#define RUN(what, arguments, workspace, have)                                                      \
    say(what, akr_run_stream(bundle, &plan, arguments, workspace, have, NULL, &err), &err)
#define WITH(what, index, address)                                                                 \
    memcpy(wrong, arg, sizeof arg);                                                                \
    wrong[index] = (void *)(address);                                                              \
    RUN(what, wrong, at, bytes)
    allocations = 0;
    RUN("a run", arg, at, bytes);
    printf("it allocated %ld times\n", allocations);
    RUN("a workspace that is too small", arg, at, bytes - 1);
    RUN("one that is misaligned", arg, (void *)(w + 64), bytes);
    RUN("none", arg, NULL, bytes);
    WITH("a null pointer", 1, 0);
    WITH("a misaligned one", 0, a + 16);
    WITH("an overlap", 2, b);
    say("a size outside the guards", akr_query(&plan, bundle, odd, &err), &err);
    say("the call for the CPU", akr_run(bundle, &plan, arg, at, bytes, NULL, &err), &err);
    cuStreamCreate(&stream, 0);
    cuMemsetD32Async(c, 0, plan.bytes[2] / 4, NULL);
    cuStreamBeginCapture(stream, 2);
    say("a run that is captured", akr_run_stream(bundle, &plan, arg, at, bytes, stream, &err),
        &err);
    cuStreamEndCapture(stream, &graph);
    cuMemcpyDtoHAsync(got, c, sizeof got, stream);
    printf("before the graph is launched %#x, ", got[9]);
    cuGraphInstantiateWithFlags(&exec, graph, 0);
    cuGraphLaunch(exec, stream);
    cuMemcpyDtoHAsync(got, c, sizeof got, stream);
    printf("after it %#x\n", got[9]); /* 512 */
    if (akr_open(&other, argv[2], 0, &err) != AKR_OK) {
        return printf("%s\n", err.text), 1;
    }
    say("a plan of another bundle", akr_run_stream(other, &plan, arg, at, bytes, NULL, &err), &err);
    static const int64_t length[] = {100};
    static float x[100] __attribute__((aligned(64))), y[100] __attribute__((aligned(64)));
    void *host[] = {x, y};
    say("a bundle for the CPU", akr_query(&plan, other, length, &err), &err);
    say("the call for a GPU", akr_run_stream(other, &plan, host, NULL, 0, NULL, &err), &err);
    akr_close(other);
    akr_close(bundle);
    return 0;
}
