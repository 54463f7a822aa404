/*
 * tile_order.cu: in which order does cuBLASLt compute the tiles of a product?
 *
 * All SMs but a few are kept busy by blocks that watch C, which is poisoned, and note when each
 * element changes. The product (bf16, all row-major: C = A * B) then runs on the SMs that are left, one
 * cluster after the other in the order of their numbers. That order decides which blocks begin in one
 * GPC, and so which requests for the same line meet (docs/kernel-log.md, steps 114 and 120).
 *
 *     nvcc -O2 -std=c++17 -arch=sm_90a bench/cuda/tile_order.cu -lcublasLt -o tile_order
 *     ./tile_order M N K ROWS COLUMNS SM,SM... [HEURISTIC]
 *
 * ROWS and COLUMNS are those of a tile of C (gemm_bench prints the kernel's name). SMs that stay free
 * must hold a cluster, so they are of one GPC (places.cu). Prints the tiles as they are finished:
 * row,column of the tile; a bar where more than 2 us have passed.
 */
#include <cublasLt.h>
#include <cuda_bf16.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

enum { STEP = 8, THREADS = 1024, SHARED = 200000 }; /* so much shared memory that an SM has one block */
static const long long LIMIT = 4000000000; /* cycles */

struct free_sms {
    unsigned count, sm[16];
};

/* C is rows x columns of 16 bits; seen has one time (ns) for each STEP x STEP elements of it. */
__global__ void watch(const volatile unsigned short *c, int rows, int columns, unsigned short poison,
                      unsigned long long *seen, free_sms left, unsigned *arrived, unsigned *unseen,
                      unsigned *watchers)
{
    __shared__ bool leaves;
    __shared__ unsigned mine; /* this block's number among those that watch */
    if (threadIdx.x == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
        leaves = false;
        for (unsigned i = 0; i < left.count; i++) {
            leaves |= left.sm[i] == sm;
        }
        mine = leaves ? 0 : atomicAdd(watchers, 1);
        atomicAdd(arrived, 1);
        while (*(volatile unsigned *)arrived < gridDim.x) { /* else an SM that is left takes another block */
        }
    }
    __syncthreads();
    if (leaves) {
        return;
    }
    const int across = (columns + STEP - 1) / STEP;
    const long points = (long)across * ((rows + STEP - 1) / STEP);
    const long long begin = clock64();
    while (*(volatile unsigned *)unseen > 0 && clock64() - begin < LIMIT) {
        for (long i = (long)mine * THREADS + threadIdx.x; i < points; i += (long)*(volatile unsigned *)watchers * THREADS) {
            if (seen[i] == 0 && c[i / across * STEP * columns + i % across * STEP] != poison) {
                asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(seen[i]));
                atomicSub(unseen, 1);
            }
        }
    }
}

__global__ void fill(__nv_bfloat16 *x, long count, unsigned seed)
{
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < count; i += (long)gridDim.x * blockDim.x) {
        unsigned h = (unsigned)i * 2654435761u + seed;
        h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
        x[i] = __float2bfloat16((h & 0xFFFF) / 32768.0f - 1.0f);
    }
}

static void need(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "tile_order: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 7) {
        fprintf(stderr, "usage: tile_order M N K ROWS COLUMNS SM,SM... [HEURISTIC]\n");
        return 2;
    }
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), tile_m = atoi(argv[4]), tile_n = atoi(argv[5]);
    const int which = argc > 7 ? atoi(argv[7]) : 0;
    free_sms left = {};
    for (char *s = strtok(argv[6], ","); s && left.count < 16; s = strtok(nullptr, ",")) {
        left.sm[left.count++] = (unsigned)atoi(s);
    }
    __nv_bfloat16 *a, *b, *c;
    unsigned long long *seen;
    unsigned *counters;
    void *workspace;
    const size_t scratch = (size_t)64 << 20;
    const int across = (n + STEP - 1) / STEP;
    const long points = (long)across * ((m + STEP - 1) / STEP);
    bool ok = cudaMalloc(&a, 2L * m * k) == 0 && cudaMalloc(&b, 2L * n * k) == 0 && cudaMalloc(&c, 2L * m * n) == 0;
    ok = ok && cudaMalloc(&seen, 8 * points) == 0 && cudaMalloc(&counters, 12) == 0 && cudaMalloc(&workspace, scratch) == 0;
    need(ok, "memory");
    fill<<<1024, 256>>>(a, (long)m * k, 1);
    fill<<<1024, 256>>>(b, (long)n * k, 2);

    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc;
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulHeuristicResult_t found[16];
    int count = 0;
    cublasLtCreate(&lt);
    cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    /* In columns: C' (n x m) = B' (n x k) * A' (k x m) */
    cublasLtMatrixLayoutCreate(&la, CUDA_R_16BF, n, k, n);
    cublasLtMatrixLayoutCreate(&lb, CUDA_R_16BF, k, m, k);
    cublasLtMatrixLayoutCreate(&lc, CUDA_R_16BF, n, m, n);
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &scratch, sizeof scratch);
    cublasLtMatmulAlgoGetHeuristic(lt, desc, la, lb, lc, lc, preference, 16, found, &count);
    if (which >= count) {
        fprintf(stderr, "tile_order: cuBLASLt has %d heuristics\n", count);
        return 1;
    }
    const float one = 1, zero = 0;
    cudaStream_t work, watching;
    cudaStreamCreateWithFlags(&work, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&watching, cudaStreamNonBlocking);
    auto product = [&] {
        return cublasLtMatmul(lt, desc, &one, b, la, a, lb, &zero, c, lc, c, lc, &found[which].algo, workspace, scratch, work);
    };
    need(product() == 0 && cudaStreamSynchronize(work) == 0, "the product"); /* so that its kernel is loaded */

    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    unsigned start[3] = {0, (unsigned)points, 0};
    cudaMemset(c, 0xFF, 2L * m * n);
    cudaMemset(seen, 0, 8 * points);
    cudaMemcpy(counters, start, sizeof start, cudaMemcpyHostToDevice);
    cudaFuncSetAttribute(watch, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    watch<<<device.multiProcessorCount, THREADS, SHARED, watching>>>((unsigned short *)c, m, n, 0xFFFF, seen, left, counters,
                                                                       counters + 1, counters + 2);
    unsigned arrived = 0;
    while (arrived < (unsigned)device.multiProcessorCount) {
        cudaMemcpyAsync(&arrived, counters, 4, cudaMemcpyDeviceToHost, work);
        need(cudaStreamSynchronize(work) == 0, "the watchers");
    }
    need(product() == 0 && cudaDeviceSynchronize() == 0, "the watched product");

    std::vector<unsigned long long> times(points);
    cudaMemcpy(times.data(), seen, 8 * points, cudaMemcpyDeviceToHost);
    struct tile {
        unsigned long long at;
        int row, column;
    };
    std::vector<tile> tiles;
    for (int row = 0; row * tile_m < m; row++) {
        for (int column = 0; column * tile_n < n; column++) {
            unsigned long long last = 0;
            for (int i = row * tile_m; i < m && i < (row + 1) * tile_m; i += STEP) {
                for (int j = (column * tile_n + STEP - 1) / STEP * STEP; j < n && j < (column + 1) * tile_n; j += STEP) {
                    last = std::max(last, times[(long)(i / STEP) * across + j / STEP]);
                }
            }
            tiles.push_back({last, row, column});
        }
    }
    std::stable_sort(tiles.begin(), tiles.end(), [](const tile &x, const tile &y) { return x.at < y.at; });
    for (size_t i = 0; i < tiles.size(); i++) {
        printf("%s%d,%d", i == 0 ? "" : tiles[i].at - tiles[i - 1].at > 2000 ? " | " : " ", tiles[i].row, tiles[i].column);
    }
    printf("\n");
}
