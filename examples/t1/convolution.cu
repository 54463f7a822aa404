/* Each element of the output is the sum of a window of FILTER x FILTER elements of the input, times
   a filter. The input has FILTER - 1 rows and columns more than the output, width x width. */
#define FILTER 5
__constant__ float filter[FILTER * FILTER];

extern "C" __global__ void convolution(float *output, const float *input, const int width)
{
    const int x = (int)(blockIdx.x * block_size_x + threadIdx.x);
    const int y0 = (int)(blockIdx.y * block_size_y + threadIdx.y) * rows_per_thread;
    for (int r = 0; r < rows_per_thread; r++) {
        const int y = y0 + r;
        float sum = 0.0f;
        if (x >= width || y >= width) {
            return;
        }
        for (int i = 0; i < FILTER; i++) {
            for (int j = 0; j < FILTER; j++) {
                sum += input[(y + i) * (width + FILTER - 1) + x + j] * filter[i * FILTER + j];
            }
        }
        output[y * width + x] = sum;
    }
}
