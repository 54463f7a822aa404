/*
 * cuda.cu: softmax of rows in fp16, bf16 or fp32. It follows cuda_rows.cu, which explains the
 * shared parameters.
 *
 *   ONLINE  0: two reductions, of the maximum of the row and then of the sum.
 *           1: each thread computes maximum and sum of its own part, and one reduction combines
 *              them. That halves the barriers, costs two more exponentials in each step, and saves
 *              one reading of the vectors that were not kept.
 *
 * exp(x - max) is computed as 2^(x log2(e) - max log2(e)): one multiply-add and one ex2. The
 * rounding of the second product is the same in the sum and in the result, so it cancels. The
 * exponentials of kept elements are kept in fp32, because computing them again for the result
 * would take more than half the time that loading 16-bit elements from memory takes (an SM
 * computes 16 a cycle).
 */
#define LOG2_E 1.4426950408889634f
#define LOWEST                                                                                     \
    __uint_as_float(0xff800000u) /* -inf, the maximum of an empty set; its exponential is          \
                                    0 */

/* A running maximum. For 16-bit elements it holds two, which are compared without widening. */
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

/* Returns the maximum of an empty set, -inf. */
DEVICE largest largest_none(void)
{
#if ELEMENT == 4
    return __float_as_uint(LOWEST);
#else
    return pack(LOWEST, LOWEST);
#endif
}

/* Returns the maximum as a number, times log2(e). */
DEVICE float largest_value(largest top)
{
#if ELEMENT == 4
    return __uint_as_float(top) * LOG2_E;
#else
    return fmaxf(widen((u16)top), widen((u16)(top >> 16))) * LOG2_E;
#endif
}

/* heart: begin */
/* Computes exp of a vector's elements, for a maximum that is given times log2(e), and returns their
   sum. */
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
/* heart: end */

/* Adds a vector to a maximum and a sum. */
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
    u32 bits[BATCH][EDGES + 1];
#if PREFETCH
    vector next[1][KEEP_ARRAY];
    u32 next_bits[1][EDGES + 1];
#endif
    i64 index = row_first(&p);
    row r = row_at(&p, x, index, cols);
    launch_begin(&p, x, y, rows, cols, (i64)cols * (ROWS * BATCH * ELEMENT));
#if STAGES
    ring q = ring_begin(&p, x, index, rows, cols);
#else
    if (index < rows) {
        batch_load(keep, bits, &p, &r, rows - index);
    }
#endif
    /* heart: begin */
    while (index < rows) {
        unsigned char *to = (unsigned char *)y + index * cols * ELEMENT;
        const i64 now = index, left = rows - index;
        part all[BATCH];
        float e[BATCH][KEEP_ARRAY][V], by[BATCH], edge[BATCH][EDGES + 1];
        index = row_next(index);
#if PREFETCH
        const row then = row_after(&r, now, &p, x, index, cols);
        if (index < rows) {
            batch_load(next, next_bits, &p, &then, 1);
        }
#endif
#if STAGES
        ring_take(keep[0], &q, &p);
#endif
        row_arrive(&r);
        EACH_ROW(k)
        {
            edges_arrive(edge[k], bits[k], &p, &r, LOWEST);
            largest top = largest_none();
            EACH_KEPT(i, &r)
            {
                top = largest_of(top, &keep[k][i]);
            }
#if !ONLINE
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
                top = largest_of(top, &v);
            }
#endif
            all[k].a = largest_value(top);
            EACH_EDGE(j)
            {
                all[k].a = fmaxf(all[k].a, edge[k][j] * LOG2_E);
            }
            all[k].b = 0;
            all[k].c = 0;
        }
#if ONLINE
        EACH_ROW(k)
        {
            by[k] = all[k].a; /* the maximum that the kept exponentials refer to */
            EACH_KEPT(i, &r)
            {
                /* because -inf - -inf would be NaN */
                all[k].b += vector_exp(e[k][i], &keep[k][i], by[k] == LOWEST ? 0.0f : by[k]);
            }
            EACH_EDGE(j)
            {
                edge[k][j] = exp2_fast(fmaf(edge[k][j], LOG2_E, by[k] == LOWEST ? 0.0f : -by[k]));
                all[k].b += edge[k][j];
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
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
            EACH_EDGE(j)
            {
                edge[k][j] = exp2_fast(fmaf(edge[k][j], LOG2_E, -all[k].a));
                sum[k].a += edge[k][j];
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
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
            if (k == 0 || k * APART < left) {
                EACH_KEPT(i, &r)
                {
                    store_scaled(&p, &r, to, i, e[k][i], by[k]);
                }
                EACH_EDGE(j)
                {
                    const int at = edge_of(&p, &r, j);
                    if (at >= 0) {
                        store_element(to + (i64)at * ELEMENT, edge[k][j] * by[k]);
                    }
                }
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
                float rest[V];
                (void)vector_exp(rest, &v, all[k].a);
                store_scaled(&p, &r, to, i, rest, all[k].b);
            }
            to += (i64)APART * cols * ELEMENT;
        }
    /* heart: end */
#if PREFETCH
        UNROLL for (int i = 0; i < KEEP && index < rows; i++)
        {
            keep[0][i] = next[0][i];
        }
        EACH_EDGE(j)
        {
            bits[0][j] = next_bits[0][j];
        }
        r = then;
#else
        r = row_after(&r, now, &p, x, index, cols);
#if !STAGES
        if (index < rows) {
            batch_load(keep, bits, &p, &r, rows - index);
        }
#endif
#endif
    }
    place_end(&p);
}
