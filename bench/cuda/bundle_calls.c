/* bundle_calls.c: measures the host time of a call of a bundle. For comparison it measures the
 * driver's share of it (the same launches with arguments that were bound before) and, for products,
 * a call of cuBLASLt. It also measures the device time of one run, in a graph of 200 runs on
 * rotating copies of the arguments. Prints one line for each size. With a second argument it
 * measures the host time only.
 *
 *     cc -O2 -Iruntime bench/cuda/bundle_calls.c -I/usr/local/cuda/include -lcuda -lcublasLt -ldl \
 *        -lm -pthread -o bundle_calls                (-DNO_CUBLASLT leaves cuBLASLt out)
 *     ./bundle_calls matmul_bf16.akb
 *
 * The runtime is included as source, because its interface does not offer single launches.
 */
#include "ak_runtime.c"

#ifndef NO_CUBLASLT
#include <cublasLt.h>
#endif
#include <cuda.h>

#define BATCH  20
#define GRAPH  200
#define ROUNDS 300
#define SETS   24

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int less(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, less);
    return values[count / 2];
}

typedef struct state {
    akr_bundle *bundle;
    akr_plan plan;
    void *arg[SETS][AKR_ARGUMENTS_MAX], *workspace;
    int sets;
    CUstream stream;
    void *room;
#ifndef NO_CUBLASLT
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t product;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algo;
#endif
} state;

static int run_bundle(state *s, int set)
{
    return akr_run_stream(s->bundle, &s->plan, s->arg[set], s->workspace, s->plan.workspace_bytes,
                          s->stream, NULL) != AKR_OK;
}

/* The launches that run_bundle made on the set that was bound last, to repeat them alone. */
static struct {
    launch_config config;
    launch_attribute attributes[2];
    launch_frame frame;
    void *pointers[PASSES_MAX];
    void *function;
} bound[KERNELS_MAX];

static void bind_all(state *s)
{
    const planned_kernel *k = (const planned_kernel *)(const void *)s->plan.launch;
    for (int i = 0; i < s->plan.kernels; i++) {
        bind_kernel(&bound[i].frame, bound[i].pointers, s->bundle->gpu, &k[i], s->arg[0],
                    s->workspace);
        set_attributes(&bound[i].config, bound[i].attributes, &k[i]);
        bound[i].config.stream = s->stream;
        bound[i].function = k[i].function;
    }
}

static int run_bare(state *s, int set)
{
    int code = 0;
    (void)set;
    for (int i = 0; i < s->plan.kernels && code == 0; i++) {
        code = s->bundle->gpu->launch(&bound[i].config, bound[i].function, bound[i].pointers, NULL);
    }
    return code;
}

#ifndef NO_CUBLASLT
/* Calls cuBLASLt. Row-major C = A*B is column-major C^T = B^T * A^T, so A and B are exchanged. */
static int run_cublaslt(state *s, int set)
{
    const float one = 1, zero = 0;
    void **p = s->arg[set];
    return cublasLtMatmul(s->lt, s->product, &one, p[1], s->b, p[0], s->a, &zero, p[2], s->c, p[2],
                          s->c, &s->algo, s->room, (size_t)32 << 20,
                          (cudaStream_t)s->stream) != CUBLAS_STATUS_SUCCESS;
}

static int open_cublaslt(state *s)
{
    cublasLtMatmulPreference_t wish;
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    size_t room = (size_t)32 << 20;
    uint64_t m = (uint64_t)s->plan.size[0], n = (uint64_t)s->plan.size[1],
             k = (uint64_t)s->plan.size[2];
    return cublasLtCreate(&s->lt) ||
           cublasLtMatmulDescCreate(&s->product, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
           cublasLtMatrixLayoutCreate(&s->b, CUDA_R_16BF, n, k, (int64_t)n) ||
           cublasLtMatrixLayoutCreate(&s->a, CUDA_R_16BF, k, m, (int64_t)k) ||
           cublasLtMatrixLayoutCreate(&s->c, CUDA_R_16BF, n, m, (int64_t)n) ||
           cublasLtMatmulPreferenceCreate(&wish) ||
           cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                &room, sizeof room) ||
           cublasLtMatmulAlgoGetHeuristic(s->lt, s->product, s->b, s->a, s->c, s->c, wish, 1,
                                          &found, &count) ||
           count == 0 || (s->algo = found.algo, 0);
}
#endif

/* Gives the median host time of a call of each function. They take turns, in batches small enough
   for the device's queue. */
static void host_us(double *out, state *s, int (*const *run)(state *, int), int count)
{
    static double times[4][ROUNDS];
    for (int r = 0; r < ROUNDS; r++) {
        for (int k = 0; k < count; k++) {
            double begin = now_us();
            for (int i = 0; i < BATCH; i++) {
                if (run[k](s, i % s->sets)) {
                    fprintf(stderr, "a call failed\n");
                    exit(1);
                }
            }
            times[k][r] = (now_us() - begin) / BATCH;
            cuStreamSynchronize(s->stream);
        }
    }
    for (int k = 0; k < count; k++)
        out[k] = median(times[k], ROUNDS);
}

static double device_us(state *s, int (*run)(state *, int))
{
    static double times[60];
    CUgraph graph;
    CUgraphExec exec;
    CUevent begin, end;
    cuStreamBeginCapture(s->stream, CU_STREAM_CAPTURE_MODE_RELAXED);
    for (int i = 0; i < GRAPH; i++) {
        if (run(s, i % s->sets))
            return -1;
    }
    if (cuStreamEndCapture(s->stream, &graph) || cuGraphInstantiate(&exec, graph, 0))
        return -1;
    cuEventCreate(&begin, 0);
    cuEventCreate(&end, 0);
    for (int r = -5; r < 60; r++) {
        float ms = 0;
        cuEventRecord(begin, s->stream);
        cuGraphLaunch(exec, s->stream);
        cuEventRecord(end, s->stream);
        cuStreamSynchronize(s->stream);
        cuEventElapsedTime(&ms, begin, end);
        if (r >= 0)
            times[r] = (double)ms * 1e3 / GRAPH;
    }
    cuGraphExecDestroy(exec);
    cuGraphDestroy(graph);
    return median(times, 60);
}

static void fill(state *s, size_t total)
{
    const akr_info *info = akr_describe(s->bundle);
    CUdeviceptr at;
    s->sets = total == 0 ? 1 : (int)(((size_t)200 << 20) / total) + 1;
    s->sets = s->sets > SETS ? SETS : s->sets < 2 ? 2 : s->sets;
    for (int k = 0; k < s->sets; k++) {
        for (int i = 0; i < info->argument_count; i++) {
            size_t count = s->plan.bytes[i] / 2;
            uint16_t *values = malloc(2 * count + 2);
            for (size_t j = 0; j < count; j++) { /* bf16: 0.5 to 1, and -1 to -0.5 */
                values[j] =
                    (uint16_t)(0x3f00 | (uint32_t)j * 2654435761u >> 25 | ((j * 40503u) & 0x8000));
            }
            cuMemAlloc(&at, s->plan.bytes[i]);
            cuMemcpyHtoD(at, values, 2 * count);
            s->arg[k][i] = (void *)(uintptr_t)at;
            free(values);
        }
    }
    cuMemAlloc(&at, s->plan.workspace_bytes + 256);
    cuMemsetD8(at, 0, s->plan.workspace_bytes + 256);
    s->workspace = (void *)(uintptr_t)at;
    cuMemAlloc(&at, (size_t)32 << 20);
    s->room = (void *)(uintptr_t)at;
    cuCtxSynchronize();
}

static void drop(state *s)
{
    const akr_info *info = akr_describe(s->bundle);
    for (int k = 0; k < s->sets; k++) {
        for (int i = 0; i < info->argument_count; i++) {
            cuMemFree((CUdeviceptr)(uintptr_t)s->arg[k][i]);
        }
    }
    cuMemFree((CUdeviceptr)(uintptr_t)s->workspace);
    cuMemFree((CUdeviceptr)(uintptr_t)s->room);
}

int main(int argc, char **argv)
{
    static state s;
    akr_error err;
    CUcontext context;
    CUdevice device;
    if (argc != 2 && argc != 3)
        return fprintf(stderr, "bundle_calls BUNDLE [host]\n"), 2;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
        cuCtxSetCurrent(context) || cuStreamCreate(&s.stream, CU_STREAM_NON_BLOCKING)) {
        return fprintf(stderr, "no device\n"), 1;
    }
    if (akr_open(&s.bundle, argv[1], 0, &err) != AKR_OK)
        return fprintf(stderr, "%s\n", err.text), 1;
    const akr_info *info = akr_describe(s.bundle);
    printf("%-22s  %8s  %7s  %7s  %8s  %7s  %9s  %9s\n", info->name, "query us", "kernels",
           "host us", "its bare", "Lt host", "device us", "Lt device");
    for (int i = 0; i < info->measured_count; i++) {
        const int64_t *size = akr_measured_size(s.bundle, i);
        char text[80] = "";
        size_t total = 0, length = 0;
        double begin = now_us();
        if (akr_query(&s.plan, s.bundle, size, &err) != AKR_OK)
            return fprintf(stderr, "%s\n", err.text), 1;
        double query = now_us() - begin;
        for (int k = 0; k < info->size_count; k++) {
            length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld",
                                       k == 0 ? "" : "x", (long long)size[k]);
        }
        for (int k = 0; k < info->argument_count; k++)
            total += s.plan.bytes[k];
        fill(&s, total);
        int (*const run[])(state *, int) = {run_bundle, run_bare,
#ifndef NO_CUBLASLT
                                            run_cublaslt
#endif
        };
        int library = sizeof run / sizeof run[0] > 2 && strcmp(info->kernel, "matmul") == 0;
#ifndef NO_CUBLASLT
        library = library && open_cublaslt(&s) == 0;
#endif
        double host[3] = {0};
        bind_all(&s);
        host_us(host, &s, run, 2 + library);
        printf("%-22s  %8.1f  %7d  %7.2f  %8.2f  %7.2f", text, query, s.plan.kernels, host[0],
               host[1], host[2]);
        for (int k = 0; k < 1 + library && argc == 2; k++)
            printf("  %9.2f", device_us(&s, run[2 * k]));
        printf("\n");
        fflush(stdout);
        drop(&s);
    }
    akr_close(s.bundle);
    return 0;
}
