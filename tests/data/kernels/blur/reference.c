void ak_reference(const ak_host_call *call)
{
    const double *src = call->arg[0];
    double *dst = call->arg[1];
    const int64_t height = call->size[0], width = call->size[1];
    for (int64_t y = 0; y < height; y++) {
        for (int64_t x = 0; x < width; x++) {
            int64_t sum = 0, count = 0;
            for (int64_t j = y - 1; j <= y + 1; j++) {
                for (int64_t i = x - 1; i <= x + 1; i++) {
                    if (j >= 0 && j < height && i >= 0 && i < width) {
                        sum += (int64_t)src[j * width + i];
                        count++;
                    }
                }
            }
            dst[y * width + x] = (double)((sum + count / 2) / count);
        }
    }
}
