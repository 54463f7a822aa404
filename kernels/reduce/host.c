/*
 * reduce, host implementation: the sum of each row of X.
 *
 * With enough rows, each thread sums its share of them (SPLIT = 0). With few long rows, all
 * threads share each row and leave their parts in the workspace; the first thread then adds them
 * in order, so the result does not depend on the timing (SPLIT = 1).
 *
 * Chunks of 64 turns are summed separately, because a million terms added one by one would lose
 * two to three digits. UNROLL vectors are summed side by side, because an addition takes several
 * cycles. One core must keep many loads in flight to use its share of the memory bandwidth, so
 * PREFETCH requests lines that many vectors ahead.
 */
typedef struct reduce {
    int64_t rows, cols;
    const float *x;
    float *y, *parts;
} reduce;

enum { LINE = 16 }; /* floats of a cache line: parts of two threads never share one */

AK_INLINE float sum_of(const float *x, int64_t count)
{
    const int64_t chunk = 64 * UNROLL * VL;
    vec total = (vec){0};
    int64_t j = 0;
    while (j + UNROLL * VL <= count) {
        const int64_t end = count - j < chunk ? count : j + chunk;
        vec sum[UNROLL];
        for (int u = 0; u < UNROLL; ++u) {
            sum[u] = (vec){0};
        }
        for (; j + UNROLL * VL <= end; j += UNROLL * VL) {
#if PREFETCH
            AK_UNROLL_FULLY
            for (int u = 0; u < UNROLL * VL; u += LINE) {
                /* A prefetch of an address beyond the end does nothing. */
                __builtin_prefetch((const void *)((uintptr_t)(x + j + u) + PREFETCH * VL * 4));
            }
#endif
            AK_UNROLL_FULLY
            for (int u = 0; u < UNROLL; ++u) {
                sum[u] += vec_load(x + j + u * VL);
            }
        }
        for (int u = 0; u < UNROLL; ++u) {
            total += sum[u];
        }
    }
    for (; j + VL <= count; j += VL) {
        total += vec_load(x + j);
    }
    if (j < count) {
        total += vec_load_part(x + j, count - j, 0);
    }
    return vec_sum(total);
}

static void reduce_rows(void *context, int thread, int threads)
{
    const reduce *s = context;
    const int64_t end = s->rows * (thread + 1) / threads;
    for (int64_t row = s->rows * thread / threads; row < end; ++row) {
        s->y[row] = sum_of(s->x + row * s->cols, s->cols);
    }
}

static void reduce_parts(void *context, int thread, int threads)
{
    const reduce *s = context;
    const int64_t begin = s->cols * thread / threads;
    const int64_t end = s->cols * (thread + 1) / threads;
    float *parts = s->parts + thread * ((s->rows + LINE - 1) / LINE * LINE);
    for (int64_t row = 0; row < s->rows; ++row) {
        parts[row] = sum_of(s->x + row * s->cols + begin, end - begin);
    }
}

void ak_kernel(const ak_host_call *call)
{
    reduce s = {
        .rows = call->size[0],
        .cols = call->size[1],
        .x = call->arg[0],
        .y = call->arg[1],
        .parts = call->workspace,
    };
    int threads = THREADS < call->threads ? THREADS : call->threads;
#if SPLIT
    const int64_t stride = (s.rows + LINE - 1) / LINE * LINE;
    call->parallel(call->pool, threads, reduce_parts, &s);
    for (int64_t row = 0; row < s.rows; ++row) {
        float sum = s.parts[row];
        for (int t = 1; t < threads; ++t) {
            sum += s.parts[t * stride + row];
        }
        s.y[row] = sum;
    }
#else
    if (threads > s.rows) {
        threads = (int)s.rows;
    }
    call->parallel(call->pool, threads, reduce_rows, &s);
#endif
}
