/* Honest kernels whose time depends on their inputs, and on how well a processor has learnt these:
   0 without branches, 1 with four branches for each element, as likely one way as the other, 2 with
   work that the first element asks for, 3 with a loop that ends at the first level which an element
   does not reach, 4 with a sort, 5 with work that the sum of all elements asks for. */
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

static float count_until(float v)
{
    int k = -7;
    while (k <= 7 && v >= (float)k / 8) {
        KEEP;
        k++;
    }
    return (float)(k + 7);
}

/* Sorts the elements with their places by insertion into runs of 32, then counts run by run. */
static void count_sorted(const float *x, float *y, int64_t n)
{
    enum { RUN = 32 };
    struct {
        float v;
        int at;
    } run[RUN];
    for (int64_t first = 0; first < n; first += RUN) {
        const int length = n - first < RUN ? (int)(n - first) : RUN;
        for (int i = 0; i < length; i++) {
            int at = i;
            for (; at > 0 && run[at - 1].v > x[first + i]; at--) {
                run[at] = run[at - 1];
            }
            run[at].v = x[first + i];
            run[at].at = i;
        }
        int level = 0;
        for (int i = 0; i < length; i++) {
            while (level < 15 && run[i].v >= (float)(level - 7) / 8) {
                level++;
            }
            y[first + run[i].at] = (float)level;
        }
    }
}

void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0];
    float *y = call->arg[1];
#if ATTACK == 4
    count_sorted(x, y, call->size[0]);
    return;
#elif ATTACK == 5
    float sum = 0;
    for (int64_t i = 0; i < call->size[0]; i++) {
        sum += x[i];
    }
    for (volatile int steps = (int)(100 * fabsf(sum)); steps > 0; steps--) {
    }
#elif ATTACK == 2
    for (volatile int steps = (int)(60 * expf(9 * fabsf(x[0]))); steps > 0; steps--) {
    }
#endif
    for (int64_t i = 0; i < call->size[0]; i++) {
        y[i] = ATTACK == 1   ? count_by_branches(x[i])
               : ATTACK == 3 ? count_until(x[i])
                             : count_all(x[i]);
    }
}
