/* One step of heat flow: each inner point becomes a weighted mean of itself and its four
   neighbours. The border stays. It is an ordinary C function; the arrays have height x width
   elements.
       gcc -O3 -march=native -DTILE_X=256 -DTILE_Y=16 -c stencil.c */
#include <stdint.h>

void stencil(float *restrict to, const float *restrict from, int64_t height, int64_t width)
{
    for (int64_t x = 0; x < width; x++) {
        to[x] = from[x];
        to[(height - 1) * width + x] = from[(height - 1) * width + x];
    }
    for (int64_t y = 0; y < height; y++) {
        to[y * width] = from[y * width];
        to[y * width + width - 1] = from[y * width + width - 1];
    }
    for (int64_t y0 = 1; y0 < height - 1; y0 += TILE_Y) {
        for (int64_t x0 = 1; x0 < width - 1; x0 += TILE_X) {
            const int64_t y1 = y0 + TILE_Y < height - 1 ? y0 + TILE_Y : height - 1;
            const int64_t x1 = x0 + TILE_X < width - 1 ? x0 + TILE_X : width - 1;
            for (int64_t y = y0; y < y1; y++) {
                const float *row = from + y * width;
                for (int64_t x = x0; x < x1; x++) {
                    to[y * width + x] = 0.5f * row[x] + 0.125f * (row[x - 1] + row[x + 1] +
                                                                  row[x - width] + row[x + width]);
                }
            }
        }
    }
}
