// reduction.cu: sums the rows of a matrix. One block sums one row.
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
