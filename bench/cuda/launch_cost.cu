/* launch_cost.cu: measures the host time that the driver itself takes for a launch, below which no
 * call of a bundle can come. It launches kernels that do nothing, with the arguments and attributes
 * of the built-in kernels. It prints medians of 300 batches of 20 launches in a stream of its own,
 * in nanoseconds, and the range of the middle four fifths. The cases take turns.
 *
 *     nvcc -O2 -arch=sm_90 bench/cuda/launch_cost.cu -lcuda -o launch_cost && ./launch_cost
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

#define BATCH  20
#define ROUNDS 300

struct map {
    alignas(64) uint64_t word[16];
};

__global__ void none() {}
__global__ void three(void *, void *, void *) {}
/* A kernel with the arguments of the kernels for products: three tensor maps and thirteen
   others. */
__global__ void product(const __grid_constant__ map, const __grid_constant__ map,
                        const __grid_constant__ map, void *, void *, void *, void *, void *, int,
                        int, int, int, float, float, long long, long long)
{
}
__global__ void slow(long long cycles)
{
    for (long long begin = clock64(); clock64() - begin < cycles;) {
    }
}

static double now_ns()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static CUstream stream;

struct contestant {
    std::string name;
    std::function<void()> call;
    std::vector<double> times;
};
static std::vector<contestant> contestants;

static void add(const std::string &name, std::function<void()> call)
{
    contestants.push_back({name, std::move(call), {}});
}

static void measure()
{
    for (int r = -30; r < ROUNDS; r++) {
        for (contestant &c : contestants) {
            double begin = now_ns();
            for (int i = 0; i < BATCH; i++) {
                c.call();
            }
            if (r >= 0) {
                c.times.push_back((now_ns() - begin) / BATCH);
            }
            cuCtxSynchronize();
        }
    }
    for (contestant &c : contestants) {
        std::sort(c.times.begin(), c.times.end());
        printf("%-64s %8.1f   (%.1f .. %.1f)\n", c.name.c_str(), c.times[ROUNDS / 2],
               c.times[ROUNDS / 10], c.times[ROUNDS - ROUNDS / 10]);
    }
}

template <typename K> static CUfunction function_of(K *kernel)
{
    cudaFunction_t f = nullptr;
    if (cudaGetFuncBySymbol(&f, (const void *)kernel) != cudaSuccess) {
        printf("no function\n");
        exit(1);
    }
    return (CUfunction)f;
}

static map maps[3];
static uint64_t words[16];
static void *arguments[16];

/* A launch with the attributes of a bundle's launches: the extents of a cluster, an early start,
   shared memory. */
struct launch {
    CUlaunchConfig config;
    CUlaunchAttribute attribute[2];
    CUfunction f;
    launch(CUfunction f, unsigned grid, unsigned shared, unsigned cluster, int early,
           CUstream in = stream)
        : f(f)
    {
        memset(&config, 0, sizeof config);
        memset(attribute, 0, sizeof attribute);
        config.gridDimX = grid;
        config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
        config.blockDimX = 384;
        config.sharedMemBytes = shared;
        config.hStream = in;
        config.attrs = attribute;
        if (cluster > 0) {
            CUlaunchAttribute *a = &attribute[config.numAttrs++];
            a->id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            a->value.clusterDim.x = cluster;
            a->value.clusterDim.y = a->value.clusterDim.z = 1;
        }
        if (early) {
            CUlaunchAttribute *a = &attribute[config.numAttrs++];
            a->id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            a->value.programmaticStreamSerializationAllowed = 1;
        }
        if (shared > 0) {
            cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)shared);
        }
    }
    void operator()()
    {
        if (cuLaunchKernelEx(&config, f, arguments, nullptr) != CUDA_SUCCESS) {
            printf("refused\n");
            exit(1);
        }
    }
};

static void add_launch(const char *name, CUfunction f, unsigned grid, unsigned shared,
                       unsigned cluster, int early, CUstream in = stream)
{
    auto one = std::make_shared<launch>(f, grid, shared, cluster, early, in);
    add(name, [one] { (*one)(); });
}

int main()
{
    const unsigned big = 200 << 10;
    cudaFree(nullptr);
    cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 16; i++) {
        arguments[i] = i < 3 ? (void *)&maps[i] : (void *)&words[i];
    }
    CUfunction f = function_of(none), g = function_of(three), p = function_of(product),
               s = function_of(slow);
    add("clock_gettime", [] { now_ns(); });
    add("cuCtxGetCurrent", [] {
        CUcontext c;
        cuCtxGetCurrent(&c);
    });
    CUdeviceptr memory;
    cuMemAlloc(&memory, 1 << 24);
    static CUtensorMap tensor;
    static const cuuint64_t size[] = {1024, 1024}, stride[] = {2048};
    static const cuuint32_t box[] = {64, 64}, one[] = {1, 1};
    auto encode = [=] {
        cuTensorMapEncodeTiled(&tensor, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, (void *)memory, size,
                               stride, box, one, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    };
    add("cuTensorMapEncodeTiled", encode);
    encode();
    add("cuTensorMapReplaceAddress", [=] { cuTensorMapReplaceAddress(&tensor, (void *)memory); });
    add_launch("no arguments, 1 block", f, 1, 0, 0, 0);
    add_launch("no arguments, 132 blocks", f, 132, 0, 0, 0);
    add_launch("3 pointers, 132 blocks", g, 132, 0, 0, 0);
    add_launch("3 pointers, 132 blocks, early", g, 132, 0, 0, 1);
    add_launch("3 maps and 13 others, 132 blocks", p, 132, 0, 0, 0);
    add_launch("3 maps and 13 others, 132 blocks, 200 KiB", p, 132, big, 0, 0);
    add_launch("3 maps and 13 others, 132 blocks, 200 KiB, clusters of 2", p, 132, big, 2, 0);
    add_launch("3 maps and 13 others, 132 blocks, 200 KiB, early", p, 132, big, 0, 1);
    add_launch("3 maps and 13 others, 132 blocks, 200 KiB, clusters of 2, early", p, 132, big, 2,
               1);
    add_launch("the same, in the default stream", p, 132, big, 2, 1, nullptr);
    static char packed[512];
    static size_t bytes = 0;
    for (int i = 0; i < 16; i++) {
        size_t at = 0, wide = 0;
        if (cuFuncGetParamInfo(p, (size_t)i, &at, &wide) != CUDA_SUCCESS) {
            return 1;
        }
        memcpy(packed + at, arguments[i], wide);
        bytes = at + wide;
    }
    static void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed, CU_LAUNCH_PARAM_BUFFER_SIZE,
                            &bytes, CU_LAUNCH_PARAM_END};
    auto full = std::make_shared<launch>(p, 132, big, 2, 1);
    add("the same in a stream of its own, with the arguments in one buffer",
        [=] { cuLaunchKernelEx(&full->config, p, nullptr, extra); });
    static long long cycles[] = {10 * 1700, 100 * 1700};
    for (int i = 0; i < 2; i++) {
        static void *argument[] = {&cycles[0], &cycles[1]};
        for (int early = 0; early < 2; early++) {
            auto busy = std::make_shared<launch>(s, 132, 0, 0, early);
            add(std::string("one number, 132 blocks that run for about ") +
                    (i == 0 ? "10" : "100") + " us" + (early ? ", early" : ""),
                [=] { cuLaunchKernelEx(&busy->config, s, &argument[i], nullptr); });
        }
    }
    measure();
    return 0;
}
