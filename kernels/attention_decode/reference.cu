/* attention_decode, reference on a device: computes what reference.c does, one block for each row
   of O. */
typedef struct keys_of {
    const int *table;
    i64 sequence, head, heads, room, columns;
} keys_of;

/* Returns where a key's row starts in K and in V. */
DEVICE i64 row_of_key(const keys_of *s, i64 key)
{
    const i64 page = (i64)choice_page;
    const i64 extent = page > 0 ? page : s->room, pages = (s->room + extent - 1) / extent;
    const i64 outer = page > 0 ? s->table[s->sequence * pages + key / extent] : s->sequence;
    key %= extent;
#if layout_is_nhd
    return ((outer * extent + key) * s->heads + s->head) * s->columns;
#else
    return ((outer * s->heads + s->head) * extent + key) * s->columns;
#endif
}

/* An element of K or V. */
DEVICE double kv_value(const void *x, i64 i)
{
#if kv_is_e4m3
    return value_of_bits(bits_at(x, i, KIND_E4M3), KIND_E4M3);
#else
    return value(x, i);
#endif
}

/* Returns the factor of a head of K or V. */
DEVICE double factor_of(const void *scales, i64 head)
{
#if kv_is_e4m3
    return (double)((const float *)scales)[head];
#else
    (void)scales;
    (void)head;
    return 1;
#endif
}

DEVICE double score(const void *q, i64 row, const void *k, const void *scale_k, const keys_of *s,
                    i64 key)
{
    const double scale = choice_scale == 0 ? 1 / sqrt((double)s->columns) : choice_scale;
    const i64 from = row_of_key(s, key);
    double dot = 0;
    for (i64 d = 0; d < s->columns; d++) {
        dot += value(q, row * s->columns + d) * kv_value(k, from + d);
    }
    return dot * scale * factor_of(scale_k, s->head);
}

KERNEL ak_reference(const void *q, const void *k, const void *v, const void *length,
                    const void *table, const void *scale_k, const void *scale_v, double *o,
                    i64 batch, i64 queries, i64 heads, i64 kv_heads, i64 keys, i64 head_dim)
{
    double *weights = (double *)dynamic_shared() + THREADS; /* after the words of block_sum */
    for (i64 row = blockIdx.x; row < batch * queries * heads; row += gridDim.x) {
        const i64 sequence = row / heads / queries;
        const keys_of s = {(const int *)table, sequence, row % heads * kv_heads / heads,
                           kv_heads,           keys,     head_dim};
        const i64 count = ((const int *)length)[sequence] - queries + 1 + row / heads % queries;
        double max = -INFINITE, sum = 0;
        for (i64 j = threadIdx.x; j < count; j += THREADS) {
            const double x = score(q, row, k, scale_k, &s, j);
            max = x > max ? x : max;
        }
        max = block_max(max);
        for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
            o[row * head_dim + d] = 0;
        }
        for (i64 first = 0; first < count; first += THREADS) {
            const i64 own = first + threadIdx.x;
            block_sync(); /* the previous weights have been read */
            weights[threadIdx.x] = own < count ? exp(score(q, row, k, scale_k, &s, own) - max) : 0;
            sum += weights[threadIdx.x];
            block_sync();
            for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
                double part = 0;
                for (i64 j = 0; j < THREADS && first + j < count; j++) {
                    part += weights[j] * kv_value(v, row_of_key(&s, first + j) + d);
                }
                o[row * head_dim + d] += part;
            }
        }
        sum = block_sum(sum);
        for (i64 d = threadIdx.x; d < head_dim && count > 0; d += THREADS) {
            o[row * head_dim + d] *= factor_of(scale_v, s.head) / sum;
        }
    }
}
