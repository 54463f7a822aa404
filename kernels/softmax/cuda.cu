/*
 * cuda.cu: softmax of rows; fp16, bf16 or fp32. Comes after cuda_rows.cu, which has the parameters.
 *
 *   ONLINE  0: the largest element of the row first, then the sum: two reductions.
 *           1: each thread takes the largest and the sum of its own part, and one reduction brings
 *              both together: half the barriers for two more exponentials in each of its steps, and
 *              one reading less of vectors that were not kept.
 *
 * exp(x - max) is 2^(x log2(e) - max log2(e)): one multiply-add and one ex2. The rounding of the
 * second product is the same in the sum and in the result, and cancels. Exponentials are computed
 * again for the result instead of being kept: ex2 is far from its limit here.
 */
#define LOG2_E 1.4426950408889634f
#define LOWEST __uint_as_float(0xff800000u) /* -inf: the maximum of nothing, exp of which is 0 */

/* The largest of a vector, times log2(e). */
DEVICE float vector_max(const vector *v)
{
    float max = element(v, 0);
    UNROLL for (int j = 1; j < V; j++)
    {
        max = fmaxf(max, element(v, j));
    }
    return max * LOG2_E;
}

DEVICE float vector_sum(const vector *v, float max)
{
    float sum = 0;
    UNROLL for (int j = 0; j < V; j++)
    {
        sum += exp2_fast(fmaf(element(v, j), LOG2_E, -max));
    }
    return sum;
}

/* Takes another vector into a largest and a sum. */
DEVICE part part_and(part p, const vector *v)
{
    part q;
    q.a = fmaxf(p.a, vector_max(v));
    q.b = p.b * exp2_difference(p.a, q.a) + vector_sum(v, q.a == LOWEST ? 0.0f : q.a);
    q.c = 0;
    return q;
}

DEVICE void store_result(const place *p, const row *r, void *y, int i, const vector *v, part whole)
{
    float x[V];
    UNROLL for (int j = 0; j < V; j++)
    {
        x[j] = exp2_fast(fmaf(element(v, j), LOG2_E, -whole.a)) * whole.b;
    }
    store_vector(p, r, y, i, x);
}

KERNEL ak_kernel(const void *x, void *y, i64 rows, int cols)
{
    place p = place_begin();
    vector keep[KEEP_ARRAY];
#if PREFETCH
    vector next[KEEP_ARRAY];
#endif
    i64 index = row_first(&p);
    if (index < rows) {
        const row r = row_at(&p, x, index, cols);
        row_load(keep, &p, &r, LOWEST);
    }
    while (index < rows) {
        const row r = row_at(&p, x, index, cols);
        unsigned char *to = (unsigned char *)y + index * cols * ELEMENT;
        part all = {LOWEST, 0, 0};
        index += row_step();
#if PREFETCH
        if (index < rows) {
            const row after = row_at(&p, x, index, cols);
            row_load(next, &p, &after, LOWEST);
        }
#endif
        row_arrive(&r);
        EACH_KEPT(i, &r)
        {
            all.a = fmaxf(all.a, vector_max(&keep[i]));
        }
#if ONLINE
        {
            const float top = all.a == LOWEST ? 0.0f : all.a; /* -inf - -inf would be NaN */
            EACH_KEPT(i, &r)
            {
                all.b += vector_sum(&keep[i], top);
            }
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            all = part_and(all, &v);
        }
        all = row_reduce(&p, all, REDUCE_SOFTMAX);
#else
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            all.a = fmaxf(all.a, vector_max(&v));
        }
        all.a = row_reduce(&p, all, REDUCE_MAX).a;
        EACH_KEPT(i, &r)
        {
            all.b += vector_sum(&keep[i], all.a);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            all.b += vector_sum(&v, all.a);
        }
        {
            const part sum = {all.b, 0, 0};
            all.b = row_reduce(&p, sum, REDUCE_SUM).a;
        }
#endif
        all.b = 1.0f / all.b;
        EACH_KEPT(i, &r)
        {
            store_result(&p, &r, to, i, &keep[i], all);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            store_result(&p, &r, to, i, &v, all);
        }
        if (index < rows) {
#if PREFETCH
            UNROLL for (int i = 0; i < KEEP; i++)
            {
                keep[i] = next[i];
            }
#else
            const row after = row_at(&p, x, index, cols);
            row_load(keep, &p, &after, LOWEST);
#endif
        }
    }
    place_end(&p);
}
