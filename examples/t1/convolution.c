/* Each element of the output is the sum of a window of FILTER x FILTER elements of the input, times
   a filter. The input has FILTER - 1 rows and columns more than the output, width x width. */
#define FILTER 5

void convolution(float *restrict output, const float *restrict input, const float *restrict filter,
                 int width)
{
    const int pitch = width + FILTER - 1;
    for (int y = 0; y < width; y++) {
        for (int x0 = 0; x0 < width; x0 += STRIP) {
            float sum[STRIP] = {0};
            const int strip = width - x0 < STRIP ? width - x0 : STRIP;
            for (int i = 0; i < FILTER; i++) {
                for (int j = 0; j < FILTER; j++) {
                    const float f = filter[i * FILTER + j];
                    const float *from = input + (y + i) * pitch + x0 + j;
                    for (int x = 0; x < strip; x++) {
                        sum[x] += from[x] * f;
                    }
                }
            }
            for (int x = 0; x < strip; x++) {
                output[y * width + x0 + x] = sum[x];
            }
        }
    }
}
