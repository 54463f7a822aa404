// A block of TILE x ROWS threads moves a tile of TILE x TILE elements.
extern "C" __global__ void transpose(const float *from, float *to, int height, int width)
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
