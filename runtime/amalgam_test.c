/* amalgam_test.c: the part of the test of `export --format c` that follows the reference: it makes
   inputs, and compares what the function has written with what the reference has. It is included in
   that test and is not compiled by itself. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum test_dtype {
    TEST_F16,
    TEST_BF16,
    TEST_E4M3,
    TEST_E5M2,
    TEST_F32,
    TEST_F64,
    TEST_SIGNED, /* whole numbers */
    TEST_UNSIGNED
} test_dtype;

/* An array of the function: `count` elements in rows of `row`, which are `pitch` elements apart. */
typedef struct test_array {
    test_dtype dtype;
    size_t width; /* bytes of an element */
    int is_read, is_written;
    char kind; /* how it is filled: the first letter of the fill in problem.json, 'k' for cuts, 'x'
                  if nothing may read it */
    double a, b;
    long count, row, pitch, bytes;
    double relative, rms, absolute; /* the tolerance, as docs/formats.md describes it */
} test_array;

/* The small floats in the order of test_dtype: bits of an element, bits of its fraction, bias of
   its exponent. */
static const struct {
    int bits, fraction, bias;
} test_small[] = {{16, 10, 15}, {16, 7, 127}, {8, 3, 7}, {8, 2, 15}};

static __attribute__((unused)) double test_widen(unsigned bits, test_dtype dtype)
{
    int fraction = test_small[dtype].fraction, top = test_small[dtype].bits - 1;
    int exponent = (int)((bits & ((1u << top) - 1)) >> fraction);
    double x = (double)(bits & ((1u << fraction) - 1));
    int special =
        dtype == TEST_E4M3 ? (bits & 0x7f) == 0x7f : exponent == (1 << (top - fraction)) - 1;
    x = exponent == 0 ? x : x + (double)(1u << fraction);
    x = ldexp(x, (exponent == 0 ? 1 : exponent) - test_small[dtype].bias - fraction);
    x = special ? (double)NAN : x; /* infinity counts as wrong, too */
    return (bits >> top & 1) != 0 ? -x : x;
}

static __attribute__((unused)) unsigned test_narrow(double x, test_dtype dtype)
{
    int fraction = test_small[dtype].fraction, bias = test_small[dtype].bias, exponent;
    (void)frexp(x, &exponent); /* |x| is below 2^exponent */
    exponent = x == 0 || exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    unsigned units = (unsigned)rint(ldexp(fabs(x), fraction - exponent)) - (1u << fraction);
    unsigned bits = ((unsigned)(exponent + bias) << fraction) + units;
    return bits | (x < 0 ? 1u << (test_small[dtype].bits - 1) : 0);
}

static __attribute__((unused)) double test_get(const void *array, const test_array *of, long i)
{
    const unsigned char *at = (const unsigned char *)array + (size_t)i * of->width;
    uint64_t bits = 0, sign = UINT64_C(1) << (8 * of->width - 1);
    float single;
    double wide;
    memcpy(&bits, at, of->width); /* every machine that this runs on is little-endian */
    memcpy(&single, &bits, sizeof single);
    memcpy(&wide, &bits, sizeof wide);
    return of->dtype == TEST_F32        ? (double)single
           : of->dtype == TEST_F64      ? wide
           : of->dtype == TEST_UNSIGNED ? (double)bits
           : of->dtype == TEST_SIGNED   ? (double)(int64_t)((bits ^ sign) - sign)
                                        : test_widen((unsigned)bits, of->dtype);
}

static __attribute__((unused)) void test_put(void *array, const test_array *of, long i, double x)
{
    float single = (float)x;
    uint64_t bits;
    if (of->dtype == TEST_F32)
        memcpy(&bits, &single, sizeof single);
    else if (of->dtype == TEST_F64)
        memcpy(&bits, &x, sizeof x);
    else if (of->dtype == TEST_SIGNED || of->dtype == TEST_UNSIGNED)
        bits = (uint64_t)(int64_t)rint(x);
    else
        bits = test_narrow(x, of->dtype);
    memcpy((unsigned char *)array + (size_t)i * of->width, &bits, of->width);
}

static uint64_t test_seed = 1;
static __attribute__((unused)) double test_uniform(void) /* 0..1; SplitMix64 */
{
    uint64_t x = test_seed += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) / 9007199254740992.0;
}

/* Returns the value of element i, as docs/formats.md describes the fills of problem.json. */
static __attribute__((unused)) double test_fill(const test_array *array, long i)
{
    double a = array->a, wide = array->b - a, n = (double)array->count, at = (double)i, sum = 0;
    switch (array->kind) {
    case 'c': /* constant */
        return a;
    case 's': /* spread: at equal distances */
        return n < 2 ? array->b : a + wide * at / (n - 1);
    case 'k': /* cuts: ascending, the last is b */
        return a + wide * (at + 1) * (at + 1) / (n * n);
    case 'o': /* offsets: from a to b, at distances that grow evenly from 0 */
        return at + 1 < n ? a + wide * at * (at - 1) / ((n - 1) * (n > 2 ? n - 2 : 1)) : array->b;
    case 'u': /* uniform; whole numbers include both ends */
        return array->dtype >= TEST_SIGNED ? floor(a + (wide + 1) * test_uniform())
                                           : a + wide * test_uniform();
    default: /* normal, nearly */
        for (int k = 0; k < 12; k++)
            sum += test_uniform();
        return a + array->b * (sum - 6);
    }
}

/* Makes the arrays of the function, a copy of them, and those of the reference, which are double
   and whose rows adjoin. Elements that are only written, those that nothing may read, and gaps
   between rows hold bytes 0xff, which is NaN in floats. */
static __attribute__((unused)) void test_make(void **arg, void **first, double **right,
                                              int64_t *rows, const test_array *arrays, int count)
{
    for (int k = 0; k < count; k++) {
        const test_array *array = &arrays[k];
        arg[k] = aligned_alloc(64, (size_t)(array->bytes + 127) / 64 * 64);
        first[k] = malloc((size_t)array->bytes);
        right[k] = (double *)calloc((size_t)array->count, sizeof(double));
        rows[k] = array->row;
        memset(arg[k], 0xff, (size_t)array->bytes);
        for (long i = 0; array->is_read && i < array->count; i++) {
            long at = i / array->row * array->pitch + i % array->row;
            if (array->kind != 'x')
                test_put(arg[k], array, at, test_fill(array, i));
            right[k][i] = test_get(arg[k], array, at);
        }
        memcpy(first[k], arg[k], (size_t)array->bytes);
    }
}

/* What outputs hold before a call. Several contents are tried, because a function that reads an
   output before it is written, such as one that starts a maximum from it, is right with some of
   them. */
typedef enum test_old { TEST_NAN, TEST_HIGH, TEST_LOW, TEST_ZERO, TEST_OLDS } test_old;

static __attribute__((unused)) double test_high(const test_array *of)
{
    static const double high[] = {32768, 0x1p125, 256, 32768, 0x1p125, 0x1p1020};
    return of->dtype >= TEST_SIGNED ? ldexp(1, 8 * (int)of->width - 2) : high[of->dtype];
}

/* Restores the arrays that are read, and fills those that are only written. */
static __attribute__((unused)) void test_begin(void *const *arg, void *const *first,
                                               const test_array *arrays, int count, test_old old)
{
    for (int k = 0; k < count; k++) {
        const test_array *array = &arrays[k];
        double low = array->dtype == TEST_UNSIGNED ? 1 : -test_high(array);
        double with = old == TEST_HIGH ? test_high(array) : old == TEST_LOW ? low : 0;
        memcpy(arg[k], first[k], (size_t)array->bytes);
        for (long i = 0; old != TEST_NAN && !array->is_read && i < array->count; i++)
            test_put(arg[k], array, i / array->row * array->pitch + i % array->row, with);
    }
}

/* Returns how many elements differ from the reference by more than the tolerance of their array. */
static __attribute__((unused)) long test_compare(void *const *arg, double *const *right,
                                                 const test_array *arrays, int count)
{
    long wrong = 0;
    for (int k = 0; k < count; k++) {
        const test_array *array = &arrays[k];
        double square = 0;
        for (long i = 0; i < array->count; i++)
            square += right[k][i] * right[k][i];
        square = sqrt(square / (double)array->count);
        double least = square > 0 ? array->rms * square + array->absolute : 0;
        for (long i = 0; array->is_written && i < array->count; i++) {
            double got = test_get(arg[k], array, i / array->row * array->pitch + i % array->row);
            wrong += !(fabs(got - right[k][i]) <= array->relative * fabs(right[k][i]) + least);
        }
    }
    return wrong;
}

static __attribute__((unused)) void
test_alone(void *pool, int n, void (*task)(void *context, int thread, int n), void *context)
{
    (void)pool, (void)n;
    task(context, 0, 1);
}
static __attribute__((unused)) void test_no_barrier(void *pool)
{
    (void)pool;
}
static __attribute__((unused)) int test_refused(const char *name, const char *why)
{
    fprintf(stderr, "%s: %s\n", name, why);
    return 1;
}
static __attribute__((unused)) int test_opened(const char *name, const char *why)
{
    printf("%s: opens here; what it computes was not compared, because %s\n", name, why);
    return 0;
}
static __attribute__((unused)) int test_ended(const char *name, long wrong)
{
    printf("%s: %ld element%s wrong\n", name, wrong, wrong == 1 ? " is" : "s are");
    return wrong > 0;
}
