/* Honest kernels that append rows to a large cache: in a batch these lie in the processor's caches,
   in a call alone in memory. They go over the rows forwards (0), backwards (1), in steps (2), and
   over the numbers of all rows in turn (3). */
static void row(const ak_host_call *call, int64_t i)
{
    const int64_t s = call->size[1], d = call->size[2];
    const int32_t *p = call->arg[1];
    const float *x = (const float *)call->arg[0] + i * d;
    float *cache = (float *)call->arg[2] + (i * s + p[i]) * d;
    for (int64_t k = 0; k < d; k++) {
        cache[k] = 2 * x[k];
    }
}

void ak_kernel(const ak_host_call *call)
{
    const int64_t b = call->size[0];
#if VARIANT == 3
    const int64_t s = call->size[1], d = call->size[2];
    const int32_t *p = call->arg[1];
    const float *x = call->arg[0];
    float *cache = call->arg[2];
    for (int64_t k = 0; k < d; k++) {
        for (int64_t i = 0; i < b; i++) {
            cache[(i * s + p[i]) * d + k] = 2 * x[i * d + k];
        }
    }
#else
    const int64_t step = VARIANT == 2 ? 3 : 1;
    for (int64_t first = 0; first < step; first++) {
        for (int64_t i = first; i < b; i += step) {
            row(call, VARIANT == 1 ? b - 1 - i : i);
        }
    }
#endif
}
