/*
 * norm.h: layernorm and rmsnorm for the host. Needs vector.h and stream.h, the parameters of the
 * space, EPSILON, and CENTRED: 1 for layernorm, which subtracts the mean, 0 for rmsnorm.
 *
 * Rows are divided among the threads. A thread takes ROWS of them at a time and makes three passes
 * (two without the mean), of which only the first reads from memory and only the last writes:
 *
 *     1. the sum of each row, so the mean
 *     2. the sum of (x - mean)^2: from the centred elements, because the difference of two
 *        large sums, E[x^2] - E[x]^2, loses all digits when the mean is large
 *     3. (x - mean) / sqrt(variance + EPSILON) * weight + bias, into Y
 *
 * As in softmax, several short rows per pass overlap their reductions, STREAM writes past the
 * caches, and PREFETCH fetches the next rows while a pass is busy with these.
 */
#ifndef AK_NORM_H
#define AK_NORM_H

#if weight_is_scale
#define HAS_WEIGHT 1
#else
#define HAS_WEIGHT 0
#endif
#if bias_is_add
#define HAS_BIAS 1
#else
#define HAS_BIAS 0
#endif

typedef struct norm {
    int64_t rows, cols;
    const float *x, *weight, *bias; /* weight and bias are read only if the problem has them */
    float *y;
} norm;

/* Returns the sum over a row of x - mean, or of its square. Chunks are summed separately, because a
   million terms added one by one would lose several digits. `ahead` is the row to prefetch, or
   NULL. */
AK_INLINE float row_sum(const float *x, int64_t cols, float mean, const int square,
                        const float *ahead)
{
    const int64_t chunk = 64 * UNROLL * VL;
    const vec middle = vec_splat(mean);
    vec total = (vec){0};
    int64_t j = 0;
    while (j + UNROLL * VL <= cols) {
        const int64_t end = cols - j < chunk ? cols : j + chunk;
        vec sum[UNROLL];
        for (int u = 0; u < UNROLL; ++u) {
            sum[u] = (vec){0};
        }
        for (; j + UNROLL * VL <= end; j += UNROLL * VL) {
            if (ahead) {
                AK_UNROLL_FULLY
                for (int u = 0; u < UNROLL * VL; u += 16) {
                    __builtin_prefetch(ahead + j + u);
                }
            }
            AK_UNROLL_FULLY
            for (int u = 0; u < UNROLL; ++u) {
                const vec d = vec_load(x + j + u * VL) - middle;
                sum[u] += square ? d * d : d;
            }
        }
        for (int u = 0; u < UNROLL; ++u) {
            total += sum[u];
        }
    }
    for (; j + VL <= cols; j += VL) {
        const vec d = vec_load(x + j) - middle;
        total += square ? d * d : d;
    }
    if (j < cols) {
        const vec d = vec_load_part(x + j, cols - j, mean) - middle;
        total += square ? d * d : d;
    }
    return vec_sum(total);
}

AK_INLINE vec result(const norm *s, int64_t j, vec x, vec mean, vec scale)
{
    vec y = (x - mean) * scale;
    y = HAS_WEIGHT ? y * vec_load(s->weight + j) : y;
    return HAS_BIAS ? y + vec_load(s->bias + j) : y;
}

/* Stores a partial vector: the last of a row, or the first up to an aligned address. */
AK_INLINE void part_result(const norm *s, float *y, const float *x, int64_t j, int64_t count,
                           vec mean, vec scale)
{
    vec r = (vec_load_part(x + j, count, 0) - mean) * scale;
    r = HAS_WEIGHT ? r * vec_load_part(s->weight + j, count, 0) : r;
    r = HAS_BIAS ? r + vec_load_part(s->bias + j, count, 0) : r;
    store_rest(y + j, count, r);
}

AK_INLINE void row_write(const norm *s, float *y, const float *x, float mean_of, float scale_by,
                         const float *ahead)
{
    const int64_t cols = s->cols;
    const vec mean = vec_splat(mean_of);
    const vec scale = vec_splat(scale_by);
    int64_t j = 0;
#if STREAM && HAVE_STREAM
    const int64_t first = (int64_t)((-(uintptr_t)y / sizeof(float)) % VL);
    if (first && first < cols) {
        part_result(s, y, x, 0, first, mean, scale);
        j = first;
    }
#define NORM_STORE vec_stream
#else
#define NORM_STORE vec_store
#endif
    for (; j + UNROLL * VL <= cols; j += UNROLL * VL) {
        if (ahead) {
            AK_UNROLL_FULLY
            for (int u = 0; u < UNROLL * VL; u += 16) {
                __builtin_prefetch(ahead + j + u);
            }
        }
        AK_UNROLL_FULLY
        for (int u = 0; u < UNROLL; ++u) {
            const int64_t at = j + u * VL;
            NORM_STORE(y + at, result(s, at, vec_load(x + at), mean, scale));
        }
    }
#undef NORM_STORE
    for (; j + VL <= cols; j += VL) {
        vec_store(y + j, result(s, j, vec_load(x + j), mean, scale));
    }
    if (j < cols) {
        part_result(s, y, x, j, cols - j, mean, scale);
    }
}

static void norm_rows(void *context, int thread, int threads)
{
    const norm *s = context;
    const int64_t cols = s->cols;
    const int64_t end = s->rows * (thread + 1) / threads;
    float mean[ROWS], scale[ROWS];
    for (int64_t row = s->rows * thread / threads; row < end; row += ROWS) {
        const int64_t count = end - row < ROWS ? end - row : ROWS;
        const float *x = s->x + row * cols;
        float *y = s->y + row * cols;
        /* never past the end of X */
        const float *next = row + 2 * ROWS <= end ? x + ROWS * cols : x;
        for (int64_t r = 0; r < count; ++r) {
            mean[r] = CENTRED ? row_sum(x + r * cols, cols, 0, 0, NULL) / (float)cols : 0;
        }
        for (int64_t r = 0; r < count; ++r) {
            const float squares =
                row_sum(x + r * cols, cols, mean[r], 1, PREFETCH == 1 ? next + r * cols : NULL);
            scale[r] = 1.0f / __builtin_sqrtf(squares / (float)cols + (float)EPSILON);
        }
        for (int64_t r = 0; r < count; ++r) {
            row_write(s, y + r * cols, x + r * cols, mean[r], scale[r],
                      PREFETCH == 2 ? next + r * cols : NULL);
        }
    }
    stream_end();
}

AK_INLINE void norm_run(const ak_host_call *call, norm s)
{
    int threads = THREADS < call->threads ? THREADS : call->threads;
    if (threads > s.rows) {
        threads = (int)s.rows;
    }
    call->parallel(call->pool, threads, norm_rows, &s);
}

#endif
