/* C = A * B for square matrices of a multiple of the tile: a block computes block_size_x columns and
   block_size_y * rows_per_thread rows of C, tile by tile of A and B. */
extern "C" __global__ void matmul(float *c, const float *a, const float *b, const int n)
{
    __shared__ float a_tile[block_size_y * rows_per_thread][block_size_x];
    __shared__ float b_tile[block_size_x][block_size_x];
    const int column = (int)blockIdx.x * block_size_x + (int)threadIdx.x;
    const int first = (int)blockIdx.y * block_size_y * rows_per_thread;
    float sum[rows_per_thread];
    for (int r = 0; r < rows_per_thread; r++) {
        sum[r] = 0.0f;
    }
    for (int k = 0; k < n; k += block_size_x) {
        for (int r = (int)threadIdx.y; r < block_size_y * rows_per_thread; r += block_size_y) {
            a_tile[r][threadIdx.x] = a[(first + r) * n + k + (int)threadIdx.x];
        }
        for (int r = (int)threadIdx.y; r < block_size_x; r += block_size_y) {
            b_tile[r][threadIdx.x] = b[(k + r) * n + column];
        }
        __syncthreads();
        for (int kk = 0; kk < block_size_x; kk++) {
            for (int r = 0; r < rows_per_thread; r++) {
                sum[r] += a_tile[threadIdx.y + r * block_size_y][kk] * b_tile[kk][threadIdx.x];
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < rows_per_thread; r++) {
        c[(first + (int)threadIdx.y + r * block_size_y) * n + column] = sum[r];
    }
}
