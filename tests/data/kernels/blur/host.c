#include <stdint.h>
#if WRONG == 2
typedef uint8_t total; /* wraps around */
#else
typedef uint32_t total;
#endif
void blur(const uint8_t *src, uint8_t *dst, int32_t height, int32_t width, uint8_t half)
{
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            total sum = 0;
            uint32_t count = 0;
            for (int32_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < height; j++) {
                for (int32_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < width; i++) {
                    sum += src[j * width + i];
                    count++;
                }
            }
#if WRONG == 1
            dst[y * width + x] = (uint8_t)(sum / count); /* off by one: not rounded */
#elif WRONG == 3
            dst[y * width + x] = 127;
#elif WRONG == 4
            if (y + 1 < height || x + 1 < width) /* the last is left out */
                dst[y * width + x] = (uint8_t)((sum + count / half) / count);
#elif WRONG == 5
            if (x == 0 && y == 0 && dst[0] == (uint8_t)((sum + count / half) / count))
                return; /* its results are there already */
            dst[y * width + x] = (uint8_t)((sum + count / half) / count);
#else
            dst[y * width + x] = (uint8_t)((sum + count / half) / count);
#endif
        }
    }
}
