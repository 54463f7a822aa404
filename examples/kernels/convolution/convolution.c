/* A convolution: each element of the result is the sum of a window of 5 x 5 elements of the source,
   times a filter. The source has 4 rows and columns more than the result. It is an ordinary C
   function with two macros.
       gcc -O3 -march=native -DSTRIP=64 -DROWS=2 -c convolution.c */
#include <stdint.h>

#define FILTER 5

void convolution(float *restrict to, const float *restrict from, const float *restrict filter,
                 int64_t height, int64_t width)
{
    const int64_t pitch = width + FILTER - 1;
    for (int64_t y0 = 0; y0 < height; y0 += ROWS) {
        const int64_t rows = height - y0 < ROWS ? height - y0 : ROWS;
        for (int64_t x0 = 0; x0 < width; x0 += STRIP) {
            const int64_t strip = width - x0 < STRIP ? width - x0 : STRIP;
            float sum[ROWS][STRIP] = {{0}};
            for (int64_t y = 0; y < rows; y++) {
                for (int i = 0; i < FILTER; i++) {
                    for (int j = 0; j < FILTER; j++) {
                        const float f = filter[i * FILTER + j];
                        const float *row = from + (y0 + y + i) * pitch + x0 + j;
                        for (int64_t x = 0; x < strip; x++) {
                            sum[y][x] += row[x] * f;
                        }
                    }
                }
            }
            for (int64_t y = 0; y < rows; y++) {
                for (int64_t x = 0; x < strip; x++) {
                    to[(y0 + y) * width + x0 + x] = sum[y][x];
                }
            }
        }
    }
}
