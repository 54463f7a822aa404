/*
 * cuda_norm.cu: layernorm (CENTRED = 1) and rmsnorm (CENTRED = 0) of rows; fp16, bf16 or fp32,
 * statistics in fp32. Comes after cuda_rows.cu of softmax, which has the parameters.
 *
 *   MOMENTS       layernorm. 0: the mean first, then the squares of the centred elements: two
 *                 reductions. 1: each thread takes mean and squares of its own part, and one
 *                 reduction brings them together by the formula of Chan, Golub and LeVeque, which
 *                 centres too.
 *   WEIGHT_EARLY  1: weight and bias are loaded before the reduction, which hides their latency
 *                 and costs registers. 2: once, before the first row of a block (only with WHOLE)
 */
#if WEIGHT_EARLY == 2 && !WHOLE
#error "weights stay where rows do not begin inside a vector"
#endif

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
        sum += element(v, j); /* 0 outside the row */
    }
    return sum;
}

/* The sum of (x - mean)^2. The vector begins with element e of the row. */
DEVICE float vector_squares(const row *r, int e, const vector *v, float mean)
{
    const bool all = !CENTRED || whole(r, e); /* without a mean, what is outside counts 0 */
    float sum = 0;
    UNROLL for (int j = 0; j < V; j++)
    {
        const float d = element(v, j) - mean;
        sum += all || inside(r, e, j) ? d * d : 0.0f;
    }
    return sum;
}

/* How many of its elements are inside the row. */
DEVICE float vector_count(const row *r, int e)
{
    const int before = e < 0 ? -e : 0;
    const int after = e + V > r->cols ? e + V - r->cols : 0;
    return (float)(whole(r, e) ? V : V - before - after);
}

/* Takes another vector into mean, squares and count. */
DEVICE part moments_and(part p, const row *r, int e, const vector *v)
{
    part q;
    q.c = vector_count(r, e);
    q.a = divide_fast(vector_sum(v), q.c);
    q.b = vector_squares(r, e, v, q.a);
    return combine(p, q, REDUCE_MOMENTS);
}

/* What belongs to vector i of a row. */
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

/* (x - mean) * scale * weight + bias; mean and scale are all.a and all.b. */
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

KERNEL ak_kernel(const void *x, const void *weight, const void *bias, void *y, i64 rows, int cols,
                 float epsilon)
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
        row_load(keep, &p, &r, 0);
    }
#endif
#if WEIGHT_EARLY == 2
    vector w[KEEP_ARRAY], b[KEEP_ARRAY];
    {
        const row r = row_at(&p, x, 0, cols);
        EACH_KEPT(i, &r)
        {
            load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
        }
    }
#endif
    while (index < rows) {
        const row r = row_at(&p, x, index, cols);
        unsigned char *to = (unsigned char *)y + index * cols * ELEMENT;
        part all = {0, 0, 0};
#if WEIGHT_EARLY != 2
        vector w[KEEP_ARRAY], b[KEEP_ARRAY];
#endif
        index += row_step();
#if PREFETCH
        if (index < rows) {
            const row after = row_at(&p, x, index, cols);
            row_load(next, &p, &after, 0);
        }
#endif
#if WEIGHT_EARLY == 1
        EACH_KEPT(i, &r)
        {
            load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
        }
#endif
#if STAGES
        ring_take(keep, &q, &p);
#endif
        row_arrive(&r);
#if CENTRED && MOMENTS
        /* What is in registers needs no division for each vector: its mean first. */
        EACH_KEPT(i, &r)
        {
            all.a += vector_sum(&keep[i]);
            all.c += vector_count(&r, first_of(&p, &r, i));
        }
        all.a = all.c > 0 ? divide_fast(all.a, all.c) : 0.0f;
        EACH_KEPT(i, &r)
        {
            all.b += vector_squares(&r, first_of(&p, &r, i), &keep[i], all.a);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, 0);
            all = moments_and(all, &r, first_of(&p, &r, i), &v);
        }
        all = row_reduce(&p, all, REDUCE_MOMENTS);
#if STAGES
        ring_next(&q, &p, x, index, rows, cols);
#endif
#else
#if CENTRED
        EACH_KEPT(i, &r)
        {
            all.a += vector_sum(&keep[i]);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, 0);
            all.a += vector_sum(&v);
        }
        all.a = row_reduce(&p, all, REDUCE_SUM).a / (float)cols;
#if STAGES
        ring_next(&q, &p, x, index, rows, cols);
#endif
#endif
        EACH_KEPT(i, &r)
        {
            all.b += vector_squares(&r, first_of(&p, &r, i), &keep[i], all.a);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, 0);
            all.b += vector_squares(&r, first_of(&p, &r, i), &v, all.a);
        }
        {
            const part sum = {all.b, 0, 0};
            all.b = row_reduce(&p, sum, REDUCE_SUM).a;
#if STAGES && !CENTRED
            ring_next(&q, &p, x, index, rows, cols);
#endif
        }
#endif
        all.b = reciprocal_root(all.b / (float)cols + epsilon);
        EACH_KEPT(i, &r)
        {
#if !WEIGHT_EARLY
            load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
#endif
            store_result(&p, &r, to, i, &keep[i], &w[i], &b[i], all);
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, 0);
            vector more_w, more_b;
            load_weights(&more_w, &more_b, &p, &r, weight, bias, i);
            store_result(&p, &r, to, i, &v, &more_w, &more_b, all);
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
            row_load(keep, &p, &after, 0);
#endif
        }
#endif
    }
    place_end(&p);
}
