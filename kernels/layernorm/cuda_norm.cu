/*
 * cuda_norm.cu: layernorm (CENTRED = 1) and rmsnorm (CENTRED = 0) of rows in fp16, bf16 or fp32,
 * with statistics in fp32. It follows cuda_rows.cu of softmax, which explains the shared
 * parameters.
 *
 *   MOMENTS       for layernorm. 0: two reductions, of the elements and then of the squares of the
 *                 centred elements. 1: each thread computes mean and squares of its own part, and
 *                 one reduction combines them by the formula of Chan, Golub and LeVeque, which also
 *                 uses centred squares.
 *   WEIGHT_EARLY  1: loads weight and bias before the reduction, which hides their latency and
 *                 costs registers. 2: loads them once, before the first row of a block. 3: as 2,
 *                 but keeps them in shared memory, once for all rows of the block. For 2 and 3 all
 *                 rows of a block begin at the same place of a vector (TOGETHER in cuda_rows.cu),
 *                 so that weights are brought there once
 */

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

DEVICE float vector_sum(const vector *v)
{
    float sum = 0;
    UNROLL for (int j = 0; j < V; j++)
    {
        sum += element(v, j);
    }
    return sum;
}

/* Returns the sum of (x - mean)^2 over a vector. */
DEVICE float vector_squares(const vector *v, float mean)
{
    float sum = 0;
    UNROLL for (int j = 0; j < V; j++)
    {
        const float d = element(v, j) - mean;
        sum += d * d;
    }
    return sum;
}

/* Returns the same sum over this thread's elements of the edges. */
DEVICE float edge_squares(const place *p, const row *r, const float edge[EDGES + 1], float mean)
{
    float sum = 0;
    EACH_EDGE(j)
    {
        const float d = edge_of(p, r, j) >= 0 ? edge[j] - mean : 0.0f;
        sum += d * d;
    }
    return sum;
}

/* Returns how many elements this thread keeps; the rest are not counted. */
DEVICE float kept_count(const place *p, const row *r)
{
    int count = (r->count < KEEP ? r->count : KEEP) * V;
    EACH_EDGE(j)
    {
        count += edge_of(p, r, j) >= 0;
    }
    return (float)count;
}

/* Adds a vector to mean, squares and count. */
DEVICE part moments_and(part so_far, const vector *v)
{
    part q;
    q.c = V;
    q.a = vector_sum(v) / V;
    q.b = vector_squares(v, q.a);
    return combine(so_far, q, REDUCE_MOMENTS);
}

/* Loads the weights and biases of vector i of a row. */
DEVICE void load_weights(vector *w, vector *b, const place *p, const row *r, const void *weight,
                         const void *bias, int i)
{
#if HAS_WEIGHT
    *w = load_weight(p, r, weight, i);
#endif
#if HAS_BIAS
    *b = load_weight(p, r, bias, i);
#endif
}

/* Returns the place in shared memory of vector i of weight (which = 0) or bias (which = 1). */
DEVICE vector *place_of_weight(const place *p, int i, int which)
{
    return (vector *)(p->stay + (which * KEEP + i) * (THREADS_PER_ROW * VEC_BYTES));
}

/* Brings weight and bias to shared memory; the rows of the block take turns. */
DEVICE void leave_weights(const place *p, const row *r, const void *weight, const void *bias)
{
    UNROLL for (int i = 0; i < KEEP; i++)
    {
        if (i % ROWS == p->group && i < r->count) {
            vector w, b;
            load_weights(&w, &b, p, r, weight, bias, i);
#if HAS_WEIGHT
            *place_of_weight(p, i, 0) = w;
#endif
#if HAS_BIAS
            *place_of_weight(p, i, 1) = b;
#endif
        }
    }
    if (ROWS > 1) { /* else each thread reads what it has brought itself */
        barrier(THREADS_PER_ROW > 32 ? ROWS : 0, THREADS);
    }
}

DEVICE void find_weights(vector *w, vector *b, const place *p, int i)
{
#if HAS_WEIGHT
    *w = *place_of_weight(p, i, 0);
#endif
#if HAS_BIAS
    *b = *place_of_weight(p, i, 1);
#endif
}

/* Loads weight and bias for this thread's elements of the edges. */
DEVICE void load_edge_weights(u32 w[EDGES + 1], u32 b[EDGES + 1], const place *p, const row *r)
{
    EACH_EDGE(j)
    {
        const int at = edge_of(p, r, j);
        if (at >= 0) {
#if HAS_WEIGHT
            w[j] = load_element((const unsigned char *)p->weight + (i64)at * ELEMENT);
#endif
#if HAS_BIAS
            b[j] = load_element((const unsigned char *)p->bias + (i64)at * ELEMENT);
#endif
        }
    }
}

/* heart: begin */
/* Stores (x - mean) * scale * weight + bias; mean and scale are all.a and all.b. */
DEVICE void store_result(const place *p, const row *r, void *y, int i, const vector *v,
                         const vector *weight, const vector *bias, part all)
{
    float x[V];
    UNROLL for (int j = 0; j < V; j++)
    {
        x[j] = (element(v, j) - all.a) * all.b;
#if HAS_WEIGHT
        x[j] *= element(weight, j);
#endif
#if HAS_BIAS
        x[j] += element(bias, j);
#endif
    }
    store_vector(p, r, y, i, x);
}
/* heart: end */

/* Does the same for this thread's elements of the edges. */
DEVICE void store_edges(const place *p, const row *r, unsigned char *to,
                        const float edge[EDGES + 1], const u32 w[EDGES + 1], const u32 b[EDGES + 1],
                        part all)
{
    EACH_EDGE(j)
    {
        const int at = edge_of(p, r, j);
        if (at >= 0) {
            float x = (edge[j] - all.a) * all.b;
#if HAS_WEIGHT
            x *= element_of(w[j]);
#endif
#if HAS_BIAS
            x += element_of(b[j]);
#endif
            store_element(to + (i64)at * ELEMENT, x);
        }
    }
}

KERNEL ak_kernel(const void *x, const void *weight, const void *bias, void *y, i64 rows, int cols,
                 float epsilon)
{
    place p = place_begin();
    vector keep[BATCH][KEEP_ARRAY], w[KEEP_ARRAY], b[KEEP_ARRAY];
    u32 bits[BATCH][EDGES + 1], edge_w[EDGES + 1], edge_b[EDGES + 1];
#if PREFETCH
    vector next[1][KEEP_ARRAY];
    u32 next_bits[1][EDGES + 1];
#endif
    p.weight = HAS_WEIGHT ? weight : NULL;
    p.bias = HAS_BIAS ? bias : NULL;
    i64 index = row_first(&p);
    row r = row_at(&p, x, index, cols); /* there may be no such row, only its shape */
    const u32 zero = (u32)(rows >> 62);
    launch_begin(&p, x, y, rows, cols, (i64)cols * (ROWS * BATCH * ELEMENT));
#if STAGES
    ring q = ring_begin(&p, x, index, rows, cols);
#else
    if (index < rows) {
        batch_load(keep, bits, &p, &r, rows - index);
    }
#endif
#if WEIGHT_EARLY >= 2
    load_edge_weights(edge_w, edge_b, &p, &r);
#if WEIGHT_EARLY == 3
    leave_weights(&p, &r, weight, bias);
#else
    EACH_KEPT(i, &r)
    {
        load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
    }
#endif
#endif
    /* heart: begin */
    while (index < rows) {
        unsigned char *to = (unsigned char *)y + index * cols * ELEMENT;
        const i64 now = index, left = rows - index;
        part all[BATCH]; /* first mean and squares, then mean and scale */
        float edge[BATCH][EDGES + 1];
        index = row_next(index);
#if PREFETCH
        const row then = row_after(&r, now, &p, x, index, cols);
        if (index < rows) {
            batch_load(next, next_bits, &p, &then, 1);
        }
#endif
#if WEIGHT_EARLY == 1
        load_edge_weights(edge_w, edge_b, &p, &r);
        EACH_KEPT(i, &r)
        {
            load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
        }
#endif
#if STAGES
        ring_take(keep[0], &q, &p);
#endif
        row_arrive(&r);
        EACH_ROW(k)
        {
            edges_arrive(edge[k], bits[k], &p, &r, 0);
            all[k].a = all[k].b = all[k].c = 0;
#if CENTRED
            EACH_KEPT(i, &r)
            {
                all[k].a += vector_sum(&keep[k][i]);
            }
            EACH_EDGE(j)
            {
                all[k].a += edge[k][j]; /* 0 if this thread has no such element */
            }
#endif
        }
#if CENTRED && MOMENTS
        /* For elements in registers the mean is computed first: no division for each vector. */
        EACH_ROW(k)
        {
            all[k].c = kept_count(&p, &r);
            all[k].a = all[k].c > 0 ? divide_fast(all[k].a, all[k].c) : 0.0f;
            row_narrow(keep[k], all[k].a, zero);
            EACH_KEPT(i, &r)
            {
                all[k].b += vector_squares(&keep[k][i], all[k].a);
            }
            all[k].b += edge_squares(&p, &r, edge[k], all[k].a);
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
                all[k] = moments_and(all[k], &v);
            }
        }
        row_reduce(all, &p, REDUCE_MOMENTS);
#else
    /* heart: end */
        part sum[BATCH];
#if CENTRED
        EACH_ROW(k)
        {
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
                all[k].a += vector_sum(&v);
            }
        }
        row_reduce(all, &p, REDUCE_SUM);
        EACH_ROW(k)
        {
            all[k].a /= (float)cols;
            row_narrow(keep[k], all[k].a, zero);
        }
#endif
        EACH_ROW(k)
        {
            sum[k].a = sum[k].b = sum[k].c = 0;
            EACH_KEPT(i, &r)
            {
                sum[k].a += vector_squares(&keep[k][i], all[k].a);
            }
            sum[k].a += edge_squares(&p, &r, edge[k], all[k].a);
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i);
                sum[k].a += vector_squares(&v, all[k].a);
            }
        }
        row_reduce(sum, &p, REDUCE_SUM);
        EACH_ROW(k)
        {
            all[k].b = sum[k].a;
        }
#endif
#if STAGES
        ring_next(&q, &p, x, index, rows, cols);
#endif
        EACH_ROW(k)
        {
            all[k].b = reciprocal_root(all[k].b / (float)cols + epsilon);
            row_narrow(keep[k], all[k].b, zero);
        }
#if WEIGHT_EARLY == 0
        load_edge_weights(edge_w, edge_b, &p, &r);
#endif
        EACH_KEPT(i, &r)
        {
#if WEIGHT_EARLY == 3
            find_weights(&w[i], &b[i], &p, i);
#elif !WEIGHT_EARLY
            load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
#endif
            EACH_ROW(k)
            {
                if (k == 0 || k * APART < left) {
                    store_result(&p, &r, to + k * (i64)APART * cols * ELEMENT, i, &keep[k][i],
                                 &w[i], &b[i], all[k]);
                }
            }
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i);
            vector more_w, more_b;
            load_weights(&more_w, &more_b, &p, &r, weight, bias, i);
            store_result(&p, &r, to, i, &v, &more_w, &more_b, all[0]);
        }
        EACH_ROW(k)
        {
            if (k == 0 || k * APART < left) {
                store_edges(&p, &r, to + k * (i64)APART * cols * ELEMENT, edge[k], edge_w, edge_b,
                            all[k]);
            }
        }
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
