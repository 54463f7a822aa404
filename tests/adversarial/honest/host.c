/* C = A B in ways that authors of kernels have: each is to be accepted. */
#include <fenv.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const float *a, *b;
    float *c, *space;
    int64_t m, n, k;
    const ak_host_call *call;
} job;

#define A(i, p) j->a[(i)*j->k + (p)]
#define B(p, q) j->b[(p)*j->n + (q)]
#define C(i, q) j->c[(i)*j->n + (q)]

/* A table that is computed by nobody, and one of addresses. */
static const float ones[4] = {1, 1, 1, 1};
static const float *const tables[2] = {ones, ones + 2};

static float dot(const job *j, int64_t i, int64_t q, int64_t from, int64_t to, int64_t step)
{
    float sum = 0;
    for (int64_t p = from; p != to; p += step) {
        sum += A(i, p) * B(p, q);
    }
    return sum;
}

__attribute__((unused)) static float pairwise(const job *j, int64_t i, int64_t q, int64_t from,
                                              int64_t to)
{
    return to - from < 8
               ? dot(j, i, q, from, to, 1)
               : pairwise(j, i, q, from, (from + to) / 2) + pairwise(j, i, q, (from + to) / 2, to);
}

__attribute__((unused)) static float kahan(const job *j, int64_t i, int64_t q)
{
    volatile float sum = 0, rest = 0;
    for (int64_t p = 0; p < j->k; p++) {
        volatile float y = A(i, p) * B(p, q) - rest, t = sum + y;
        rest = (t - sum) - y;
        sum = t;
    }
    return sum;
}

__attribute__((unused)) static void rows(const job *j, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        memset(&C(i, 0), 0, (size_t)j->n * 4);
        for (int64_t p = 0; p < j->k; p++) {
            float x = A(i, p);
            for (int64_t q = 0; q < j->n; q++) {
                C(i, q) += x * B(p, q);
            }
        }
    }
}

__attribute__((unused)) static void my_rows(void *context, int thread, int n)
{
    const job *j = context;
    rows(j, j->m * thread / n, j->m * (thread + 1) / n);
}

/* Each thread has a part of the terms and a sum of its own; thread 0 adds them up. */
__attribute__((unused)) static void my_terms(void *context, int thread, int n)
{
    const job *j = context;
    float *mine = j->space + thread * j->m * j->n;
    for (int64_t i = 0; i < j->m; i++) {
        for (int64_t q = 0; q < j->n; q++) {
            mine[i * j->n + q] = dot(j, i, q, j->k * thread / n, j->k * (thread + 1) / n, 1);
        }
    }
    j->call->barrier(j->call->pool);
    for (int64_t e = 0; thread == 0 && e < j->m * j->n; e++) {
        float sum = 0;
        for (int t = 0; t < n; t++) {
            sum += j->space[t * j->m * j->n + e];
        }
        j->c[e] = sum;
    }
}

__attribute__((unused)) static void plain(const float *a, int64_t la, const float *b, int64_t lb,
                                          float *c, int64_t lc, int64_t h)
{
    for (int64_t i = 0; i < h; i++) {
        for (int64_t q = 0; q < h; q++) {
            float sum = 0;
            for (int64_t p = 0; p < h; p++) {
                sum += a[i * la + p] * b[p * lb + q];
            }
            c[i * lc + q] = sum;
        }
    }
}

__attribute__((unused)) static void sum_of(float *out, const float *x, const float *y, float sign,
                                           int64_t l, int64_t h)
{
    for (int64_t i = 0; i < h; i++) {
        for (int64_t q = 0; q < h; q++) {
            out[i * h + q] = x[i * l + q] + sign * y[i * l + q];
        }
    }
}

/* One level of Strassen's products where the matrices are square and even. */
__attribute__((unused)) static void strassen(const job *j)
{
    int64_t h = j->n / 2, l = j->n;
    const float *a = j->a, *b = j->b, *a12 = a + h, *a21 = a + h * l, *a22 = a21 + h;
    const float *b12 = b + h, *b21 = b + h * l, *b22 = b21 + h;
    float *s = j->space, *t = s + h * h, *m = t + h * h;
    float *c11 = j->c, *c12 = c11 + h, *c21 = c11 + h * l, *c22 = c21 + h;
#define PRODUCT(i, x, lx, y, ly) plain(x, lx, y, ly, m + (i)*h * h, h, h)
    sum_of(s, a, a22, 1, l, h), sum_of(t, b, b22, 1, l, h), PRODUCT(0, s, h, t, h);
    sum_of(s, a21, a22, 1, l, h), PRODUCT(1, s, h, b, l);
    sum_of(t, b12, b22, -1, l, h), PRODUCT(2, a, l, t, h);
    sum_of(t, b21, b, -1, l, h), PRODUCT(3, a22, l, t, h);
    sum_of(s, a, a12, 1, l, h), PRODUCT(4, s, h, b22, l);
    sum_of(s, a21, a, -1, l, h), sum_of(t, b, b12, 1, l, h), PRODUCT(5, s, h, t, h);
    sum_of(s, a12, a22, -1, l, h), sum_of(t, b21, b22, 1, l, h), PRODUCT(6, s, h, t, h);
    for (int64_t i = 0; i < h; i++) {
        for (int64_t q = 0; q < h; q++) {
            int64_t e = i * h + q, g = h * h;
            c11[i * l + q] = m[e] + m[3 * g + e] - m[4 * g + e] + m[6 * g + e];
            c12[i * l + q] = m[2 * g + e] + m[4 * g + e];
            c21[i * l + q] = m[g + e] + m[3 * g + e];
            c22[i * l + q] = m[e] - m[g + e] + m[2 * g + e] + m[5 * g + e];
        }
    }
}

/* The shares of stream-K: each thread takes as many terms, whichever elements they belong to; what
   it has of an element that it shares goes into the workspace. */
__attribute__((unused)) static void my_share(void *context, int thread, int n)
{
    const job *j = context;
    int64_t all = j->m * j->n * j->k, from = all * thread / n, to = all * (thread + 1) / n;
    float *first = j->space + 2 * thread, *last = first + 1;
    first[0] = last[0] = 0;
    for (int64_t at = from; at < to;) {
        int64_t e = at / j->k, p = at % j->k;
        int64_t end = (e + 1) * j->k < to ? j->k : to - e * j->k;
        float sum = dot(j, e / j->n, e % j->n, p, end, 1);
        if (p == 0 && end == j->k) {
            j->c[e] = sum;
        } else if (p > 0) {
            *first += sum;
        } else {
            *last += sum;
        }
        at = e * j->k + end;
    }
    j->call->barrier(j->call->pool);
    for (int t = 0; thread == 0 && t + 1 < n; t++) {
        int64_t cut = all * (t + 1) / n;
        if (cut % j->k != 0) {
            j->c[cut / j->k] = j->space[2 * t + 1] + j->space[2 * t + 2];
        }
    }
}

__attribute__((unused)) static void add_atomically(float *to, float value)
{
    uint32_t old = __atomic_load_n((uint32_t *)to, __ATOMIC_RELAXED), new;
    do {
        float sum;
        memcpy(&sum, &old, 4);
        sum += value;
        memcpy(&new, &sum, 4);
    } while (!__atomic_compare_exchange_n((uint32_t *)to, &old, new, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

/* Each thread adds what it has to what is there, in whatever order. */
__attribute__((unused)) static void my_atomics(void *context, int thread, int n)
{
    const job *j = context;
    for (int64_t e = thread; e < j->m * j->n; e += n) {
        j->c[e] = 0;
    }
    j->call->barrier(j->call->pool);
    for (int64_t p = 0; p < j->k; p += 8) {
        if (p / 8 % n == thread) {
            for (int64_t e = 0; e < j->m * j->n; e++) {
                add_atomically(&j->c[e],
                               dot(j, e / j->n, e % j->n, p, p + 8 < j->k ? p + 8 : j->k, 1));
            }
        }
    }
}

/* Rows go to whichever thread is free; the counter lies in the workspace. */
__attribute__((unused)) static void any_rows(void *context, int thread, int n)
{
    const job *j = context;
    int64_t *next = (int64_t *)j->space;
    (void)n;
    if (thread == 0) {
        __atomic_store_n(next, 0, __ATOMIC_RELAXED);
    }
    j->call->barrier(j->call->pool);
    for (;;) {
        int64_t i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
        if (i >= j->m) {
            return;
        }
        rows(j, i, i + 1);
    }
}

__attribute__((unused)) static void my_columns(void *context, int thread, int n)
{
    const job *j = context;
    for (int64_t q = j->n * thread / n; q < j->n * (thread + 1) / n; q++) {
        for (int64_t i = 0; i < j->m; i++) {
            C(i, q) = dot(j, i, q, 0, j->k, 1);
        }
    }
}

/* B is turned by all threads, then each computes its rows. */
__attribute__((unused)) static void my_turned(void *context, int thread, int n)
{
    const job *j = context;
    for (int64_t q = j->n * thread / n; q < j->n * (thread + 1) / n; q++) {
        for (int64_t p = 0; p < j->k; p++) {
            j->space[q * j->k + p] = B(p, q);
        }
    }
    j->call->barrier(j->call->pool);
    for (int64_t i = j->m * thread / n; i < j->m * (thread + 1) / n; i++) {
        for (int64_t q = 0; q < j->n; q++) {
            float sum = 0;
            for (int64_t p = 0; p < j->k; p++) {
                sum += A(i, p) * j->space[q * j->k + p];
            }
            C(i, q) = sum;
        }
    }
}

/* Halves of the longest side, until it is short. */
__attribute__((unused)) static void halves(const job *j, int64_t i, int64_t q, int64_t p, int64_t m,
                                           int64_t n, int64_t k)
{
    if (m <= 8 && n <= 8 && k <= 8) {
        for (int64_t a = i; a < i + m; a++) {
            for (int64_t b = q; b < q + n; b++) {
                C(a, b) += dot(j, a, b, p, p + k, 1);
            }
        }
    } else if (k >= m && k >= n) {
        halves(j, i, q, p, m, n, k / 2), halves(j, i, q, p + k / 2, m, n, k - k / 2);
    } else if (m >= n) {
        halves(j, i, q, p, m / 2, n, k), halves(j, i + m / 2, q, p, m - m / 2, n, k);
    } else {
        halves(j, i, q, p, m, n / 2, k), halves(j, i, q + n / 2, p, m, n - n / 2, k);
    }
}

static float element(const job *j, int64_t i, int64_t q)
{
#if VARIANT == 1 /* backwards */
    return dot(j, i, q, j->k - 1, -1, -1);
#elif VARIANT == 2
    return kahan(j, i, q);
#elif VARIANT == 3
    return pairwise(j, i, q, 0, j->k);
#elif VARIANT == 4 /* in double */
    double sum = 0;
    for (int64_t p = 0; p < j->k; p++) {
        sum += (double)A(i, p) * (double)B(p, q);
    }
    return (float)sum;
#elif VARIANT == 5 /* fused */
    float sum = 0;
    for (int64_t p = 0; p < j->k; p++) {
        sum = fmaf(A(i, p), B(p, q), sum);
    }
    return sum;
#elif VARIANT == 6 /* four sums, even terms before odd ones */
    float sum[4] = {0};
    for (int64_t p = 0; p < j->k; p++) {
        sum[p % 4] += A(i, p) * B(p, q);
    }
    return (sum[0] + sum[2]) + (sum[1] + sum[3]);
#elif VARIANT == 7 /* what comes next is fetched early */
    __builtin_prefetch(&B(0, q + 1 < j->n ? q + 1 : q));
    return dot(j, i, q, 0, j->k, 1);
#elif VARIANT == 8
    return dot(j, i, q, 0, j->k, 1) * tables[(i ^ q) & 1][0];
#elif VARIANT == 20 /* Neumaier's sum */
    volatile float sum = 0, rest = 0;
    for (int64_t p = 0; p < j->k; p++) {
        volatile float x = A(i, p) * B(p, q), t = sum + x;
        rest += fabsf(sum) >= fabsf(x) ? (sum - t) + x : (x - t) + sum;
        sum = t;
    }
    return sum + rest;
#elif VARIANT == 21 /* a product of twice the precision, by a fused operation */
    float sum = 0, rest = 0;
    for (int64_t p = 0; p < j->k; p++) {
        float h = A(i, p) * B(p, q), low = fmaf(A(i, p), B(p, q), -h), t = sum + h;
        float z = t - sum;
        rest += ((sum - (t - z)) + (h - z)) + low;
        sum = t;
    }
    return sum + rest;
#elif VARIANT == 22 /* blocks of 16 terms */
    float sum = 0;
    for (int64_t p = 0; p < j->k; p += 16) {
        sum += dot(j, i, q, p, p + 16 < j->k ? p + 16 : j->k, 1);
    }
    return sum;
#elif VARIANT == 23
    long double sum = 0;
    for (int64_t p = 0; p < j->k; p++) {
        sum += (long double)A(i, p) * (long double)B(p, q);
    }
    return (float)sum;
#elif VARIANT == 24 /* positive and negative terms apart */
    float up = 0, down = 0;
    for (int64_t p = 0; p < j->k; p++) {
        float x = A(i, p) * B(p, q);
        up += x > 0 ? x : 0;
        down += x > 0 ? 0 : x;
    }
    return up + down;
#elif VARIANT == 25 /* from both ends */
    float left = 0, right = 0;
    for (int64_t p = 0, z = j->k - 1; p <= z; p++, z--) {
        left += A(i, p) * B(p, q);
        right += p < z ? A(i, z) * B(z, q) : 0;
    }
    return left + right;
#elif VARIANT == 26 /* Winograd's inner product of 1968: half of the products */
    float sum = 0, xi = 0, eta = 0;
    for (int64_t p = 0; p + 1 < j->k; p += 2) {
        sum += (A(i, p) + B(p + 1, q)) * (A(i, p + 1) + B(p, q));
        xi += A(i, p) * A(i, p + 1);
        eta += B(p, q) * B(p + 1, q);
    }
    return sum - xi - eta + (j->k % 2 != 0 ? A(i, j->k - 1) * B(j->k - 1, q) : 0);
#elif VARIANT == 27 /* three products of halves of a number */
    float sum = 0;
    for (int64_t p = 0; p < j->k; p++) {
        volatile float a = A(i, p) * 4097, b = B(p, q) * 4097;
        float ah = a - (a - A(i, p)), al = A(i, p) - ah, bh = b - (b - B(p, q)), bl = B(p, q) - bh;
        sum += ah * bh + (ah * bl + al * bh);
    }
    return sum;
#else
    return dot(j, i, q, 0, j->k, 1);
#endif
}

void ak_kernel(const ak_host_call *call)
{
    job own = {call->arg[0],  call->arg[1],  call->arg[2],  call->workspace,
               call->size[0], call->size[1], call->size[2], call};
    const job *j = &own;
#if VARIANT == 45 /* for one width, which its condition demands */
    own.n = 96;
    rows(j, 0, j->m);
#elif VARIANT == 9
    rows(j, 0, j->m);
#elif VARIANT == 10
    call->parallel(call->pool, call->threads < 2 ? call->threads : 2, my_rows, &own);
#elif VARIANT == 11
    call->parallel(call->pool, call->threads < 2 ? call->threads : 2, my_terms, &own);
#elif VARIANT == 12 /* packed: B in columns */
    for (int64_t p = 0; p < j->k; p++) {
        for (int64_t q = 0; q < j->n; q++) {
            j->space[q * j->k + p] = B(p, q);
        }
    }
    for (int64_t i = 0; i < j->m; i++) {
        for (int64_t q = 0; q < j->n; q++) {
            float sum = 0;
            for (int64_t p = 0; p < j->k; p++) {
                sum += A(i, p) * j->space[q * j->k + p];
            }
            C(i, q) = sum;
        }
    }
#elif VARIANT == 13
    if (j->m == j->n && j->n == j->k && j->n % 2 == 0) {
        strassen(j);
    } else {
        rows(j, 0, j->m);
    }
#elif VARIANT == 14 /* blocks of terms, added to what is there */
    memset(j->c, 0, (size_t)(j->m * j->n) * 4);
    for (int64_t p = 0; p < j->k; p += 32) {
        for (int64_t i = 0; i < j->m; i++) {
            for (int64_t q = 0; q < j->n; q++) {
                C(i, q) += dot(j, i, q, p, p + 32 < j->k ? p + 32 : j->k, 1);
            }
        }
    }
#elif VARIANT == 15 /* scratch of its own */
    float *mine = malloc((size_t)(j->m * j->n) * 4);
    own.c = mine;
    rows(j, 0, j->m);
    memcpy(call->arg[2], mine, (size_t)(j->m * j->n) * 4);
    free(mine);
#elif VARIANT == 16 /* scratch on the stack */
    float row[j->n];
    for (int64_t i = 0; i < j->m; i++) {
        for (int64_t q = 0; q < j->n; q++) {
            row[q] = dot(j, i, q, 0, j->k, 1);
        }
        memcpy(&C(i, 0), row, (size_t)j->n * 4);
    }
#elif VARIANT == 17 /* columns first, from the end */
    for (int64_t q = j->n; q-- > 0;) {
        for (int64_t i = j->m; i-- > 0;) {
            C(i, q) = dot(j, i, q, 0, j->k, 1);
        }
    }
#elif VARIANT == 18 /* the result in the workspace first */
    own.c = j->space;
    rows(j, 0, j->m);
    memcpy(call->arg[2], j->space, (size_t)(j->m * j->n) * 4);
#elif VARIANT == 19 /* vectors */
    typedef float vector __attribute__((vector_size(32), aligned(4)));
    for (int64_t i = 0; i < j->m; i++) {
        int64_t q = 0;
        for (; q + 8 <= j->n; q += 8) {
            vector sum = {0};
            for (int64_t p = 0; p < j->k; p++) {
                sum += A(i, p) * *(const vector *)&B(p, q);
            }
            *(vector *)&C(i, q) = sum;
        }
        for (; q < j->n; q++) {
            C(i, q) = dot(j, i, q, 0, j->k, 1);
        }
    }
#elif VARIANT == 28
    call->parallel(call->pool, call->threads < 2 ? call->threads : 2, my_share, &own);
#elif VARIANT == 29
    call->parallel(call->pool, call->threads < 2 ? call->threads : 2, my_atomics, &own);
#elif VARIANT == 30
    call->parallel(call->pool, call->threads, any_rows, &own);
#elif VARIANT == 31
    call->parallel(call->pool, call->threads < 2 ? call->threads : 2, my_columns, &own);
#elif VARIANT == 32
    call->parallel(call->pool, call->threads < 2 ? call->threads : 2, my_turned, &own);
#elif VARIANT == 33 /* knows nothing of caches */
    memset(j->c, 0, (size_t)(j->m * j->n) * 4);
    halves(j, 0, 0, 0, j->m, j->n, j->k);
#elif VARIANT == 34 /* one term at a time, for all elements */
    memset(j->c, 0, (size_t)(j->m * j->n) * 4);
    for (int64_t p = 0; p < j->k; p++) {
        for (int64_t e = 0; e < j->m * j->n; e++) {
            j->c[e] += A(e / j->n, p) * B(p, e % j->n);
        }
    }
#elif VARIANT == 35 /* four sums in the workspace, added up at the end */
    for (int64_t s = 0; s < 4; s++) {
        for (int64_t e = 0; e < j->m * j->n; e++) {
            j->space[s * j->m * j->n + e] =
                dot(j, e / j->n, e % j->n, j->k * s / 4, j->k * (s + 1) / 4, 1);
        }
    }
    for (int64_t e = 0, all = j->m * j->n; e < all; e++) {
        j->c[e] =
            (j->space[e] + j->space[all + e]) + (j->space[2 * all + e] + j->space[3 * all + e]);
    }
#elif VARIANT == 36 /* denormals flushed, and what was set before put back */
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040);
    rows(j, 0, j->m);
    __builtin_ia32_ldmxcsr(before);
#elif VARIANT == 37 /* another rounding mode, and what was set before put back */
    int before = fegetround();
    (void)fesetround(FE_UPWARD);
    for (int64_t e = 0; e < j->m * j->n; e++) {
        j->c[e] = dot(j, e / j->n, e % j->n, 0, j->k, 1);
    }
    (void)fesetround(before);
#elif VARIANT == 38 /* stores that leave the caches alone */
    for (int64_t e = 0; e < j->m * j->n; e++) {
        float sum = dot(j, e / j->n, e % j->n, 0, j->k, 1);
        int bits;
        memcpy(&bits, &sum, 4);
        __builtin_ia32_movnti((int *)&j->c[e], bits);
    }
    __builtin_ia32_sfence();
#elif VARIANT == 39 /* a mebibyte of the stack */
    float deep[1 << 18];
    for (int64_t e = 0; e < j->m * j->n; e++) {
        deep[e] = dot(j, e / j->n, e % j->n, 0, j->k, 1);
    }
    __asm__ volatile("" : : "r"(deep) : "memory");
    memcpy(j->c, deep, (size_t)(j->m * j->n) * 4);
#elif VARIANT == 40 /* memory that grows, a block that is a mapping of its own */
    float *mine = calloc((size_t)j->n, 4);
    for (int64_t i = 0; i < j->m; i++) {
        mine = realloc(mine, (1 << 20) + (size_t)((i + 1) * j->n) * 4);
        own.c = mine;
        rows(j, i, i + 1);
    }
    memcpy(call->arg[2], mine, (size_t)(j->m * j->n) * 4);
    free(mine);
#elif VARIANT == 41 /* 8 MiB of its own, of which it uses little */
    char *big = aligned_alloc(64, 8 << 20);
    own.c = (float *)(big + (1 << 20));
    rows(j, 0, j->m);
    memcpy(call->arg[2], own.c, (size_t)(j->m * j->n) * 4);
    free(big);
#elif VARIANT == 42 /* every element twice: wrong at first */
    for (int64_t e = 0; e < j->m * j->n; e++) {
        j->c[e] = -1;
    }
    __asm__ volatile("" : : : "memory");
    rows(j, 0, j->m);
#elif VARIANT == 43 /* tiles of 4 x 4, from the last to the first */
    for (int64_t t = (j->m + 3) / 4 * ((j->n + 3) / 4); t-- > 0;) {
        int64_t i0 = t / ((j->n + 3) / 4) * 4, q0 = t % ((j->n + 3) / 4) * 4;
        float sum[16] = {0};
        for (int64_t p = 0; p < j->k; p++) {
            for (int e = 0; e < 16; e++) {
                bool there = i0 + e / 4 < j->m && q0 + e % 4 < j->n;
                sum[e] += there ? A(i0 + e / 4, p) * B(p, q0 + e % 4) : 0;
            }
        }
        for (int e = 0; e < 16; e++) {
            if (i0 + e / 4 < j->m && q0 + e % 4 < j->n) {
                C(i0 + e / 4, q0 + e % 4) = sum[e];
            }
        }
    }
#elif VARIANT == 44 /* whole numbers: products of 2 x 28 bits after the point */
    double most = 1e-30;
    for (int64_t e = 0; e < j->m * j->k; e++) {
        most = fmax(most, fabs((double)j->a[e]));
    }
    for (int64_t e = 0; e < j->k * j->n; e++) {
        most = fmax(most, fabs((double)j->b[e]));
    }
    for (int64_t e = 0; e < j->m * j->n; e++) {
        int64_t sum = 0;
        for (int64_t p = 0; p < j->k; p++) {
            sum += llrint((double)A(e / j->n, p) / most * 268435456) *
                       llrint((double)B(p, e % j->n) / most * 268435456) >>
                   10;
        }
        j->c[e] = (float)((double)sum * 1024 / 268435456 / 268435456 * most * most);
    }
#else
    for (int64_t i = 0; i < j->m; i++) {
        for (int64_t q = 0; q < j->n; q++) {
            C(i, q) = element(j, i, q);
        }
    }
#endif
    (void)element;
}
