/*
 * softmax, host implementation. Rows are divided among the threads. A thread takes ROWS of them at
 * a time and makes three passes, of which only the first reads from memory and only the last writes
 * to it; what lies between stays in cache:
 *
 *     1. the maximum of each row
 *     2. exp(x - max), summed, and kept: in Y itself (KEEP = 1) or in scratch rows (KEEP = 2)
 *     3. times 1 / sum, into Y
 *
 * A reduction to one number has a long chain of dependent steps. With short rows, several rows per
 * pass let the processor overlap these chains; with long rows one row at a time is enough, and
 * leaves the most cache.
 *
 * Where memory is the limit, two things count. An ordinary store first reads the line that it
 * overwrites, a third of all traffic; a streaming store (STREAM) does not. And pass 1 waits for
 * memory while 2 and 3 leave it idle, so pass 2 prefetches the rows after these (PREFETCH).
 *
 * KEEP = 0 computes the exponentials a second time in pass 3 instead of keeping them, which
 * saves the scratch rows: for rows too long for the cache.
 */
enum {
    KEEP_NOWHERE = KEEP == 0,
    KEEP_IN_SCRATCH = KEEP == 2,
};

typedef struct softmax {
    int64_t rows, cols;
    const float *x;
    float *y, *scratch;
    int64_t scratch_stride;
} softmax;

/* Loads the last vector of a row, filled up with -inf, whose exponential is 0. */
AK_INLINE vec load_rest(const float *from, int64_t count)
{
    return vec_load_part(from, count, -__builtin_inff());
}

AK_INLINE float row_max(const float *x, int64_t cols)
{
    vec max[UNROLL];
    for (int u = 0; u < UNROLL; ++u) {
        max[u] = vec_splat(-__builtin_inff());
    }
    int64_t j = 0;
    for (; j + UNROLL * VL <= cols; j += UNROLL * VL) {
        AK_UNROLL_FULLY
        for (int u = 0; u < UNROLL; ++u) {
            max[u] = vec_max(max[u], vec_load(x + j + u * VL));
        }
    }
    for (; j + VL <= cols; j += VL) {
        max[0] = vec_max(max[0], vec_load(x + j));
    }
    if (j < cols) {
        max[0] = vec_max(max[0], load_rest(x + j, cols - j));
    }
    for (int u = 1; u < UNROLL; ++u) {
        max[0] = vec_max(max[0], max[u]);
    }
    return vec_largest(max[0]);
}

/* Returns the sum of exp(x - max). The terms are stored in `keep` unless it is NULL; `keep_whole`
   says that it has room for whole vectors. `ahead` is what to prefetch, as long as a row. */
AK_INLINE float row_exp(float *keep, const int keep_whole, const float *x, int64_t cols, float max,
                        const float *ahead)
{
    /* Chunks are summed separately, because a million terms added one by one would lose several
       digits. */
    const int64_t chunk = 64 * UNROLL * VL;
    const vec top = vec_splat(max);
    vec total = (vec){0};
    int64_t j = 0;
    while (j + UNROLL * VL <= cols) {
        const int64_t end = cols - j < chunk ? cols : j + chunk;
        vec sum[UNROLL];
        for (int u = 0; u < UNROLL; ++u) {
            sum[u] = (vec){0};
        }
        for (; j + UNROLL * VL <= end; j += UNROLL * VL) {
#if PREFETCH
            AK_UNROLL_FULLY
            for (int u = 0; u < UNROLL * VL; u += 16) {
                __builtin_prefetch(ahead + j + u);
            }
#endif
            AK_UNROLL_FULLY
            for (int u = 0; u < UNROLL; ++u) {
                vec e = vec_exp_bounded(vec_load(x + j + u * VL) - top);
                if (keep) {
                    vec_store(keep + j + u * VL, e);
                }
                sum[u] += e;
            }
        }
        for (int u = 0; u < UNROLL; ++u) {
            total += sum[u];
        }
    }
    for (; j + VL <= cols; j += VL) {
        vec e = vec_exp_bounded(vec_load(x + j) - top);
        if (keep) {
            vec_store(keep + j, e);
        }
        total += e;
    }
    if (j < cols) {
        vec e = vec_exp_bounded(load_rest(x + j, cols - j) - top);
        if (keep && keep_whole) {
            vec_store(keep + j, e);
        } else if (keep) {
            store_rest(keep + j, cols - j, e);
        }
        total += e;
    }
    (void)ahead;
    return vec_sum(total);
}

/* Returns one vector of the result, from the kept exponential or from x. */
AK_INLINE vec result(vec from, vec scale, vec top)
{
    return (KEEP_NOWHERE ? vec_exp_bounded(from - top) : from) * scale;
}

AK_INLINE void row_scale(float *y, const float *from, int64_t cols, float scale_by, float max)
{
    const vec scale = vec_splat(scale_by);
    const vec top = vec_splat(max);
    int64_t j = 0;
#if STREAM && HAVE_STREAM
    /* The elements before the first aligned vector of y. */
    const int64_t ahead = (int64_t)((-(uintptr_t)y / sizeof(float)) % VL);
    if (ahead && ahead < cols) {
        store_rest(y, ahead, result(load_rest(from, ahead), scale, top));
        j = ahead;
    }
    for (; j + UNROLL * VL <= cols; j += UNROLL * VL) {
        AK_UNROLL_FULLY
        for (int u = 0; u < UNROLL; ++u) {
            vec_stream(y + j + u * VL, result(vec_load(from + j + u * VL), scale, top));
        }
    }
#else
    for (; j + UNROLL * VL <= cols; j += UNROLL * VL) {
        AK_UNROLL_FULLY
        for (int u = 0; u < UNROLL; ++u) {
            vec_store(y + j + u * VL, result(vec_load(from + j + u * VL), scale, top));
        }
    }
#endif
    for (; j + VL <= cols; j += VL) {
        vec_store(y + j, result(vec_load(from + j), scale, top));
    }
    if (j < cols) {
        store_rest(y + j, cols - j, result(load_rest(from + j, cols - j), scale, top));
    }
}

static void softmax_rows(void *context, int thread, int threads)
{
    const softmax *s = context;
    const int64_t cols = s->cols;
    const int64_t end = s->rows * (thread + 1) / threads;
    float *scratch = s->scratch + thread * ROWS * s->scratch_stride;
    float max[ROWS], sum[ROWS];
    for (int64_t row = s->rows * thread / threads; row < end; row += ROWS) {
        const int64_t count = end - row < ROWS ? end - row : ROWS;
        const float *x = s->x + row * cols;
        float *y = s->y + row * cols;
        float *keep = KEEP_NOWHERE ? NULL : KEEP_IN_SCRATCH ? scratch : y;
        const int64_t keep_stride = KEEP_IN_SCRATCH ? s->scratch_stride : cols;
        /* must not point beyond the end of X */
        const int64_t ahead = row + 2 * ROWS <= end ? ROWS * cols : 0;
        for (int64_t r = 0; r < count; ++r) {
            max[r] = row_max(x + r * cols, cols);
        }
        for (int64_t r = 0; r < count; ++r) {
            sum[r] = row_exp(keep ? keep + r * keep_stride : NULL, KEEP_IN_SCRATCH, x + r * cols,
                             cols, max[r], x + r * cols + ahead);
        }
        for (int64_t r = 0; r < count; ++r) {
            row_scale(y + r * cols, keep ? keep + r * keep_stride : x + r * cols, cols,
                      1.0f / sum[r], max[r]);
        }
    }
    stream_end();
}

void ak_kernel(const ak_host_call *call)
{
    softmax s = {
        .rows = call->size[0],
        .cols = call->size[1],
        .x = call->arg[0],
        .y = call->arg[1],
        .scratch = call->workspace,
        .scratch_stride = (call->size[1] + VL + 15) / 16 * 16, /* whole cache lines, which avoid
                                                                  false sharing */
    };
    int threads = THREADS < call->threads ? THREADS : call->threads;
    if (threads > s.rows) {
        threads = (int)s.rows;
    }
    call->parallel(call->pool, threads, softmax_rows, &s);
}
