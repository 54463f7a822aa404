// program.cu: transposes a matrix by tiles in shared memory, and prints the speed.
//   nvcc -O3 program.cu -o transpose && ./transpose 4096 4096
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                \
    if (cudaError_t error = (call); error != cudaSuccess) {                                        \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                        \
        std::exit(1);                                                                              \
    }

// A block of TILE x ROWS threads moves a tile of TILE x TILE elements.
template <int TILE, int ROWS>
__global__ void transpose(const float *from, float *to, int height, int width)
{
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        if (x < width && y + i < height) {
            tile[threadIdx.y + i][threadIdx.x] = from[(size_t)(y + i) * width + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        if (x < height && y + i < width) {
            to[(size_t)(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}

int main(int argc, char **argv)
{
    const int height = argc > 1 ? std::atoi(argv[1]) : 4096;
    const int width = argc > 2 ? std::atoi(argv[2]) : 4096;
    const size_t bytes = (size_t)height * width * sizeof(float);
    std::vector<float> matrix((size_t)height * width);
    for (size_t i = 0; i < matrix.size(); i++) {
        matrix[i] = (float)(i % 1000);
    }
    float *from, *to, ms;
    cudaEvent_t begin, end;
    CHECK(cudaMalloc(&from, bytes));
    CHECK(cudaMalloc(&to, bytes));
    CHECK(cudaMemcpy(from, matrix.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin));
    const dim3 grid((width + 31) / 32, (height + 31) / 32), block(32, 8);
    transpose<32, 8><<<grid, block>>>(from, to, height, width);
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&ms, begin, end));
    CHECK(cudaMemcpy(matrix.data(), to, bytes, cudaMemcpyDeviceToHost));
    std::printf("%.3f ms, %.0f GB/s, to[1][0] is %g\n", ms, 2e-6 * bytes / ms, matrix[height]);
    return 0;
}
