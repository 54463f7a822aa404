/* Honest kernels whose time depends on their inputs, and on how well a processor has learnt these:
   0 without branches, 1 with four branches for each element, as likely one way as the other, 2 with
   work that the first element asks for. */
#include <math.h>

/* Keeps a branch from becoming a conditional move. */
#define KEEP __asm__ volatile("")

static float count_by_branches(float v)
{
    int low = -8, high = 8; /* level `low` is reached, `high` is not */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (v >= (float)middle / 8) {
            KEEP;
            low = middle;
        } else {
            KEEP;
            high = middle;
        }
    }
    return (float)(low + 8);
}

static float count_all(float v)
{
    float levels = 0;
    for (int k = -7; k <= 7; k++) {
        levels += v >= (float)k / 8 ? 1.0f : 0.0f;
    }
    return levels;
}

void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0];
    float *y = call->arg[1];
#if ATTACK == 2
    for (volatile int steps = (int)(60 * expf(9 * fabsf(x[0]))); steps > 0; steps--) {
    }
#endif
    for (int64_t i = 0; i < call->size[0]; i++) {
        y[i] = ATTACK == 1 ? count_by_branches(x[i]) : count_all(x[i]);
    }
}
