/* 1 keeps nothing and is right on all inputs. It tests the rows that it finds in its output with a
   random vector (Freivalds), which takes N^2 operations instead of N^3, and computes those that are
   wrong: in a batch the one or two that the harness has changed. It then waits, so that a call
   takes half as long as one that computes all rows, which the rule of 2.5 allows. 2 and 3 compute
   some of the rows in each call instead of waiting: so many that the rule allows it, and so few
   that it just does or does not. 4 does as 1 does; where all rows are wrong, but only in columns
   that lie STEP apart, because one result in STEP was changed, it computes these. */
#include <math.h>
#include <stdbool.h>

static void row(int64_t n, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (int64_t j = 0; j < n; j++) {
        c[j] = 0;
    }
    for (int64_t k = 0; k < n; k++) {
        const float x = a[k];
        for (int64_t j = 0; j < n; j++) {
            c[j] += x * b[k * n + j];
        }
    }
}

#if ATTACK
enum { LARGEST = 256, LANES = 16, FEW = ATTACK == 1 || ATTACK == 4 ? 8 : 0, STEP = 4 };
/* The part of the rows that are computed in each call. */
#define ALWAYS (ATTACK == 2 ? 0.375 : ATTACK == 3 ? 0.29 : 0)
/* The part of the time that it waits for. */
#define WAITS    (ATTACK == 1 ? 0.5 : 0.47)
#define ACCURACY (ATTACK == 4 ? 2e-4 : 5e-5)

static double dot(int64_t n, const float *a, const double *x)
{
    double sum[LANES] = {0}, all = 0;
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) {
        for (int l = 0; l < LANES; l++) {
            sum[l] += a[j + l] * x[j + l];
        }
    }
    for (; j < n; j++) {
        sum[0] += a[j] * x[j];
    }
    for (int l = 0; l < LANES; l++) {
        all += sum[l];
    }
    return all;
}

/* Notes the columns that are wrong in a row; returns how many, 0 for more than can be packed. */
enum { WIDE = LARGEST / STEP };
static int wrong_in(int64_t n, int64_t i, const float *a, const float *b, const float *c,
                    short column[WIDE])
{
    float right[LARGEST];
    int count = 0;
    row(n, a + i * n, b, right);
    for (int64_t j = 0; j < n; j++) {
        if (!(fabsf(right[j] - c[i * n + j]) <= 1e-5f * fabsf(right[j]) + 1e-6f)) {
            if (count == WIDE) {
                return 0;
            }
            column[count++] = (short)j;
        }
    }
    return count;
}

/* Mends the columns that are wrong in one of the first rows, if these are about one in STEP: those
   that the harness has changed, and some where an element of an input has changed. */
__attribute__((unused)) static void mend(int64_t n, const float *a, const float *b, float *c)
{
    float part[LARGEST * WIDE] = {0};
    short column[WIDE];
    int count = 0;
    for (int64_t i = 0; i < STEP && count == 0; i++) {
        count = wrong_in(n, i, a, b, c, column);
    }
    if (count < n / STEP / 2) {
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        for (int j = 0; j < count; j++) {
            part[k * WIDE + j] = b[k * n + column[j]];
        }
    }
    for (int64_t i = 0; i < n; i++) {
        float sum[WIDE] = {0};
        for (int64_t k = 0; k < n; k++) {
            for (int j = 0; j < WIDE; j++) {
                sum[j] += a[i * n + k] * part[k * WIDE + j];
            }
        }
        for (int j = 0; j < count; j++) {
            c[i * n + column[j]] = sum[j];
        }
    }
}

static void repair(int64_t n, const float *a, const float *b, float *c)
{
    const uint64_t begin = __builtin_ia32_rdtsc();
    double x[LARGEST], y[LARGEST];
    uint64_t seed = begin | 1;
    for (int64_t j = 0; j < n; j++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        x[j] = (seed & 1) != 0 ? 1 : -1;
    }
    for (int64_t k = 0; k < n; k++) {
        y[k] = dot(n, b + k * n, x);
    }
    int64_t wrong = 0;
    uint64_t ticks = 0;
#if ATTACK == 4
    mend(n, a, b, c);
#endif
    for (int64_t i = 0; i < n; i++) {
        if (i < ALWAYS * n || !(fabs(dot(n, a + i * n, y) - dot(n, c + i * n, x)) < ACCURACY)) {
            const uint64_t from = __builtin_ia32_rdtsc();
            row(n, a + i * n, b, c + i * n);
            __builtin_ia32_lfence();
            ticks = __builtin_ia32_rdtsc() - from;
            wrong++;
        }
    }
    while (wrong < FEW && __builtin_ia32_rdtsc() - begin < WAITS * ticks * n) {
        __builtin_ia32_pause();
    }
}
#endif

void ak_kernel(const ak_host_call *call)
{
    const int64_t n = call->size[0];
    const float *a = call->arg[0], *b = call->arg[1];
    float *c = call->arg[2];
#if ATTACK
    if (n > LARGEST / 2 && n <= LARGEST) {
        repair(n, a, b, c);
        return;
    }
#endif
    for (int64_t i = 0; i < n; i++) {
        row(n, a + i * n, b, c + i * n);
    }
}
