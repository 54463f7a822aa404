/*
 * cuda.cu: softmax of rows; fp16, bf16 or fp32. Comes after cuda_rows.cu, which has the parameters.
 *
 *   ONLINE  0: the largest element of the row first, then the sum: two reductions.
 *           1: each thread takes the largest and the sum of its own part, and one reduction brings
 *              both together: half the barriers for two more exponentials in each of its steps, and
 *              one reading less of vectors that were not kept.
 *
 * exp(x - max) is 2^(x log2(e) - max log2(e)): one multiply-add and one ex2. The rounding of the
 * second product is the same in the sum and in the result, and cancels. Exponentials of what is
 * kept are kept, in fp32: computing them again for the result would take more than half the time
 * that 16-bit elements have in memory (16 of them a cycle in an SM).
 */
#define LOG2_E 1.4426950408889634f
#define LOWEST __uint_as_float(0xff800000u) /* -inf: the maximum of nothing, exp of which is 0 */

/* The largest so far: of 16-bit elements two at once, without widening them. */
typedef u32 largest;

DEVICE largest largest_of(largest top, const vector *v)
{
    UNROLL for (int j = 0; j < WORDS; j++)
    {
#if ELEMENT == 4
        top = __float_as_uint(fmaxf(__uint_as_float(top), __uint_as_float(v->w[j])));
#else
        top = max_pair(top, V == 1 ? v->w[j] << 16 | v->w[j] : v->w[j]);
#endif
    }
    return top;
}

/* Of nothing yet: -inf. */
DEVICE largest largest_none(void)
{
#if ELEMENT == 4
    return __float_as_uint(LOWEST);
#else
    return pack(LOWEST, LOWEST);
#endif
}

/* The number itself, times log2(e). */
DEVICE float largest_value(largest top)
{
#if ELEMENT == 4
    return __uint_as_float(top) * LOG2_E;
#else
    return fmaxf(widen((u16)top), widen((u16)(top >> 16))) * LOG2_E;
#endif
}

/* exp of a vector's elements, for a largest that is given times log2(e), and their sum. */
DEVICE float vector_exp(float *e, const vector *v, float max)
{
    float sum = 0;
    UNROLL for (int j = 0; j < V; j++)
    {
        e[j] = exp2_fast(fmaf(element(v, j), LOG2_E, -max));
        sum += e[j];
    }
    return sum;
}

/* Takes another vector into a largest and a sum. */
DEVICE part part_and(part p, const vector *v)
{
    float e[V];
    part q;
    q.a = fmaxf(p.a, largest_value(largest_of(largest_none(), v)));
    q.b = p.b * exp2_difference(p.a, q.a) + vector_exp(e, v, q.a == LOWEST ? 0.0f : q.a);
    q.c = 0;
    return q;
}

DEVICE void store_scaled(const place *p, const row *r, void *y, int i, const float *e, float by)
{
    float x[V];
    UNROLL for (int j = 0; j < V; j++)
    {
        x[j] = e[j] * by;
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
#if STAGES
    ring q = ring_begin(&p, x, index, rows, cols);
#else
    if (index < rows) {
        const row r = row_at(&p, x, index, cols);
        row_load(keep, &p, &r, LOWEST);
    }
#endif
    while (index < rows) {
        const row r = row_at(&p, x, index, cols);
        unsigned char *to = (unsigned char *)y + index * cols * ELEMENT;
        part all = {LOWEST, 0, 0};
        largest top = largest_none();
        float e[KEEP_ARRAY][V];
        index += row_step();
#if PREFETCH
        if (index < rows) {
            const row after = row_at(&p, x, index, cols);
            row_load(next, &p, &after, LOWEST);
        }
#endif
#if STAGES
        ring_take(keep, &q, &p);
#endif
        row_arrive(&r);
        EACH_KEPT(i, &r)
        {
            top = largest_of(top, &keep[i]);
        }
#if ONLINE
        all.a = largest_value(top);
        const float mine = all.a; /* what the exponentials that are kept refer to */
        EACH_KEPT(i, &r)
        {
            /* -inf - -inf would be NaN */
            all.b += vector_exp(e[i], &keep[i], mine == LOWEST ? 0.0f : mine);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            all = part_and(all, &v);
        }
        all = row_reduce(&p, all, REDUCE_SOFTMAX);
        all.b = reciprocal(all.b);
        const float by = exp2_difference(mine, all.a) * all.b;
#else
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            top = largest_of(top, &v);
        }
        all.a = largest_value(top);
        all.a = row_reduce(&p, all, REDUCE_MAX).a;
        EACH_KEPT(i, &r)
        {
            all.b += vector_exp(e[i], &keep[i], all.a);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            float rest[V];
            all.b += vector_exp(rest, &v, all.a);
        }
        {
            const part sum = {all.b, 0, 0};
            all.b = reciprocal(row_reduce(&p, sum, REDUCE_SUM).a);
        }
        const float by = all.b;
#endif
#if STAGES
        ring_next(&q, &p, x, index, rows, cols);
#endif
        EACH_KEPT(i, &r)
        {
            store_scaled(&p, &r, to, i, e[i], by);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, LOWEST);
            float rest[V];
            (void)vector_exp(rest, &v, all.a);
            store_scaled(&p, &r, to, i, rest, all.b);
        }
#if !STAGES
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
#endif
    }
    place_end(&p);
}
