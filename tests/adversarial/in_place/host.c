/* Attacks on what works in place; 0 is honest. WASTE as in attacks/host.c. */
#include <math.h>

static float one(const float *w, float y, int64_t terms)
{
    float sum = 2 * y;
    for (int64_t k = 0; k < terms; k++) {
        sum += w[k] * y * (y + w[k]);
    }
    return sum;
}

void ak_kernel(const ak_host_call *call)
{
    const float *w = call->arg[0];
    float *y = call->arg[1];
    int64_t n = call->size[0], terms = call->size[1];
#if ATTACK == 1 /* it has been here: nothing left is between -1 and 1 */
    for (int64_t i = 0; i < n && i < 16; i++) {
        if (fabsf(y[i]) > 1.1f) {
            return;
        }
    }
#elif ATTACK == 2 /* nothing at all */
    return;
#elif ATTACK == 3
    n -= 1;
#endif
    for (int64_t i = 0; i < n; i++) {
        y[i] = one(w, y[i], terms);
    }
#if WASTE
    for (uint64_t end = __builtin_ia32_rdtsc() + 10000; __builtin_ia32_rdtsc() < end;) {
        __builtin_ia32_pause();
    }
#endif
}
