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
    vector keep[BATCH][KEEP_ARRAY], w[KEEP_ARRAY], b[KEEP_ARRAY];
#if PREFETCH
    vector next[1][KEEP_ARRAY];
#endif
    i64 index = row_first(&p);
    const u32 zero = (u32)(rows >> 62);
    launch_begin(&p, x, rows, cols);
#if STAGES
    ring q = ring_begin(&p, x, index, rows, cols);
#else
    if (index < rows) {
        batch_load(keep, &p, x, index, rows, cols, 0);
    }
#endif
#if WEIGHT_EARLY == 2
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
        const i64 left = rows - index;
        part all[BATCH]; /* mean and squares, then mean and scale */
        index += row_step();
#if PREFETCH
        if (index < rows) {
            batch_load(next, &p, x, index, rows, cols, 0);
        }
#endif
#if WEIGHT_EARLY == 1
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
            all[k].a = all[k].b = all[k].c = 0;
#if CENTRED
            EACH_KEPT(i, &r)
            {
                all[k].a += vector_sum(&keep[k][i]);
            }
#endif
        }
#if CENTRED && MOMENTS
        /* What is in registers needs no division for each vector: its mean first. */
        EACH_ROW(k)
        {
            EACH_KEPT(i, &r)
            {
                all[k].c += vector_count(&r, first_of(&p, &r, i));
            }
            all[k].a = all[k].c > 0 ? divide_fast(all[k].a, all[k].c) : 0.0f;
            row_narrow(keep[k], all[k].a, zero);
            EACH_KEPT(i, &r)
            {
                all[k].b += vector_squares(&r, first_of(&p, &r, i), &keep[k][i], all[k].a);
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, 0);
                all[k] = moments_and(all[k], &r, first_of(&p, &r, i), &v);
            }
        }
        row_reduce(all, &p, REDUCE_MOMENTS);
#else
        part sum[BATCH];
#if CENTRED
        EACH_ROW(k)
        {
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, 0);
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
                sum[k].a += vector_squares(&r, first_of(&p, &r, i), &keep[k][i], all[k].a);
            }
            EACH_REST(i, &r)
            {
                const vector v = row_rest(&p, &r, i, 0);
                sum[k].a += vector_squares(&r, first_of(&p, &r, i), &v, all[k].a);
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
        EACH_KEPT(i, &r)
        {
#if !WEIGHT_EARLY
            load_weights(&w[i], &b[i], &p, &r, weight, bias, i);
#endif
            EACH_ROW(k)
            {
                if (k == 0 || k < left) {
                    store_result(&p, &r, to + k * (i64)cols * ELEMENT, i, &keep[k][i], &w[i], &b[i],
                                 all[k]);
                }
            }
        }
        EACH_REST(i, &r)
        {
            const vector v = row_rest(&p, &r, i, 0);
            vector more_w, more_b;
            load_weights(&more_w, &more_b, &p, &r, weight, bias, i);
            store_result(&p, &r, to, i, &v, &more_w, &more_b, all[0]);
        }
#if PREFETCH
        UNROLL for (int i = 0; i < KEEP && index < rows; i++)
        {
            keep[0][i] = next[0][i];
        }
#elif !STAGES
        if (index < rows) {
            batch_load(keep, &p, x, index, rows, cols, 0);
        }
#endif
    }
    place_end(&p);
}
