/* amalgam_test.c: the part of the test of `export --format c` that follows the reference: it makes
   inputs and the structure that the reference is called with. It is included in that test and is
   not compiled by itself. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;
static __attribute__((unused)) double uniform(void) /* 0..1; SplitMix64 */
{
    uint64_t x = seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}
static __attribute__((unused)) double fill(char kind, double a, double b, long i, long n)
{
    double sum = 0;
    if (kind == 'c')
        return a;
    if (kind == 's')
        return n < 2 ? b : a + (b - a) * (double)i / (double)(n - 1);
    if (kind == 'u')
        return a + (b - a) * uniform();
    for (int k = 0; k < 12; k++)
        sum += uniform();
    return a + b * (sum - 6);
}
static __attribute__((unused)) void
alone(void *pool, int n, void (*task)(void *context, int thread, int n), void *context)
{
    (void)pool, (void)n;
    task(context, 0, 1);
}
static __attribute__((unused)) void no_barrier(void *pool)
{
    (void)pool;
}
static __attribute__((unused)) double *doubles(long n)
{
    return (double *)malloc((size_t)n * sizeof(double));
}
static __attribute__((unused)) int refused(const char *name, const char *why)
{
    fprintf(stderr, "%s: %s\n", name, why);
    return 1;
}
static __attribute__((unused)) int opened(const char *name)
{
    printf("%s: opens here; what it computes was not compared\n", name);
    return 0;
}
static __attribute__((unused)) int ended(const char *name, long wrong)
{
    printf("%s: %ld elements are wrong\n", name, wrong);
    return wrong > 0;
}
