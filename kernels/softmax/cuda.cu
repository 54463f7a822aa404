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
    vector keep[BATCH][KEEP_ARRAY];
#if PREFETCH
    vector next[1][KEEP_ARRAY];
#endif
    i64 index = row_first(&p);
    launch_begin(&p, x, rows, cols);
#if STAGES
    ring q = ring_begin(&p, x, index, rows, cols);
#else
    if (index < rows) {
        batch_load(keep, &p, x, index, rows, cols, LOWEST);
    }
#endif
    while (index < rows) {
        const row r = row_at(&p, x, index, cols);
        unsigned char *to = (unsigned char *)y + index * cols * ELEMENT;
        const i64 left = rows - index;
        part all[BATCH];
        float e[BATCH][KEEP_ARRAY][V], by[BATCH];
        index += row_step();
#if PREFETCH
        if (index < rows) {
            batch_load(next, &p, x, index, rows, cols, LOWEST);
        }
#endif
#if STAGES
        ring_take(keep[0], &q, &p);
#endif
        row_arrive(&r);
        EACH_ROW(k)
        {
            largest top = largest_none();
            EACH_KEPT(i, &r)
            {
                top = largest_of(top, &keep[k][i]);
            }
#if !ONLINE
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, LOWEST);
                top = largest_of(top, &v);
            }
#endif
            all[k].a = largest_value(top);
            all[k].b = 0;
            all[k].c = 0;
        }
#if ONLINE
        EACH_ROW(k)
        {
            by[k] = all[k].a; /* what the exponentials that are kept refer to */
            EACH_KEPT(i, &r)
            {
                /* -inf - -inf would be NaN */
                all[k].b += vector_exp(e[k][i], &keep[k][i], by[k] == LOWEST ? 0.0f : by[k]);
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, LOWEST);
                all[k] = part_and(all[k], &v);
            }
        }
        row_reduce(all, &p, REDUCE_SOFTMAX);
        EACH_ROW(k)
        {
            all[k].b = reciprocal(all[k].b);
            by[k] = exp2_difference(by[k], all[k].a) * all[k].b;
        }
#else
        row_reduce(all, &p, REDUCE_MAX);
        part sum[BATCH];
        EACH_ROW(k)
        {
            sum[k].a = sum[k].b = sum[k].c = 0;
            EACH_KEPT(i, &r)
            {
                sum[k].a += vector_exp(e[k][i], &keep[k][i], all[k].a);
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, LOWEST);
                float rest[V];
                sum[k].a += vector_exp(rest, &v, all[k].a);
            }
        }
        row_reduce(sum, &p, REDUCE_SUM);
        EACH_ROW(k)
        {
            by[k] = all[k].b = reciprocal(sum[k].a);
        }
#endif
#if STAGES
        ring_next(&q, &p, x, index, rows, cols);
#endif
        EACH_ROW(k)
        {
            if (k == 0 || k < left) {
                EACH_KEPT(i, &r)
                {
                    store_scaled(&p, &r, to, i, e[k][i], by[k]);
                }
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, LOWEST);
                float rest[V];
                (void)vector_exp(rest, &v, all[k].a);
                store_scaled(&p, &r, to, i, rest, all[k].b);
            }
            to += (i64)cols * ELEMENT;
        }
#if PREFETCH
        UNROLL for (int i = 0; i < KEEP && index < rows; i++)
        {
            keep[0][i] = next[0][i];
        }
#elif !STAGES
        if (index < rows) {
            batch_load(keep, &p, x, index, rows, cols, LOWEST);
        }
#endif
    }
    place_end(&p);
}
