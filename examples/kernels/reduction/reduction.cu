// reduction.cu: sums of the rows of a matrix, a block a row, with a program around it that runs it once.
//   nvcc -O3 -DTHREADS=256 reduction.cu && ./a.out
#ifndef THREADS
#define THREADS 256
#endif
#ifndef UNROLL
#define UNROLL 4
#endif

extern "C" __global__ void reduction(const float *x, float *sums, int cols)
{
    __shared__ float parts[THREADS];
    const float *row = x + (size_t)blockIdx.x * cols;
    float sum[UNROLL] = {};
    for (int begin = 0; begin < cols; begin += THREADS * UNROLL) {
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            const int i = begin + u * THREADS + threadIdx.x;
            sum[u] += i < cols ? row[i] : 0.0f;
        }
    }
    for (int u = 1; u < UNROLL; u++) {
        sum[0] += sum[u];
    }
    parts[threadIdx.x] = sum[0];
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            parts[threadIdx.x] += parts[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = parts[0];
    }
}

#ifndef __CUDACC_RTC__ // NVRTC, with which autokernel compiles, takes device code only
#include <cstdio>
#include <cuda_runtime.h>
#include <vector>

int main()
{
    const int rows = 1024, cols = 4096;
    std::vector<float> x((size_t)rows * cols, 0.5f), sums(rows);
    float *on_device, *results;
    cudaMalloc(&on_device, x.size() * sizeof(float));
    cudaMalloc(&results, rows * sizeof(float));
    cudaMemcpy(on_device, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
    reduction<<<rows, THREADS>>>(on_device, results, cols);
    cudaMemcpy(sums.data(), results, rows * sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%g\n", sums[0]);
    return 0;
}
#endif
