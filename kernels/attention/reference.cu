/* attention, reference on a device: computes what reference.c does, one block for each row of O. */

/* Returns where a row starts, in arrays with so many heads and rows. */
DEVICE i64 row_at(i64 array, i64 head, i64 row, i64 heads, i64 rows, i64 columns)
{
#if layout_is_nhd
    return ((array * rows + row) * heads + head) * columns;
#else
    return ((array * heads + head) * rows + row) * columns;
#endif
}

/* The rows of a sequence: `queries` of Q and O, `keys` of K and V, from the first of an array on.
   Packed sequences are all in array 0. */
typedef struct rows {
    i64 of, first_query, queries, first_key, keys;
} rows;

/* Finds the sequence that row `row` of array `array` of Q belongs to. */
DEVICE rows rows_of(i64 array, i64 row, const int *query_offsets, const int *key_offsets, i64 batch,
                    i64 queries, i64 keys)
{
#if sequences_is_packed
    i64 low = 0, high = batch; /* query_offsets[low] <= row < query_offsets[high] */
    while (high - low > 1) {
        const i64 middle = (low + high) / 2;
        if (query_offsets[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (void)array;
    const rows r = {0, query_offsets[low], query_offsets[low + 1] - query_offsets[low],
                    key_offsets[low], key_offsets[low + 1] - key_offsets[low]};
#else
    (void)row;
    (void)query_offsets;
    (void)key_offsets;
    (void)batch;
    const rows r = {array, 0, queries, 0, keys};
#endif
    return r;
}

DEVICE double score(const void *q, i64 at, const void *k, i64 from, i64 columns)
{
    const double scale = choice_scale == 0 ? 1 / sqrt((double)columns) : choice_scale;
    double dot = 0;
    for (i64 d = 0; d < columns; d++) {
        dot += value(q, at + d) * value(k, from + d);
    }
    dot *= scale;
    return choice_soft_cap == 0 ? dot : choice_soft_cap * tanh(dot / choice_soft_cap);
}

KERNEL ak_reference(const void *q, const void *k, const void *v, double *o, double *lse,
                    const void *query_offsets, const void *key_offsets, i64 batch, i64 heads,
                    i64 kv_heads, i64 queries, i64 keys, i64 head_dim)
{
    double *weights = (double *)dynamic_shared() + THREADS; /* after the words of block_sum */
#if sequences_is_packed
    const i64 arrays = 1;
#else
    const i64 arrays = batch;
#endif
    for (i64 row = blockIdx.x; row < arrays * heads * queries; row += gridDim.x) {
        const i64 query = row % queries, head = row / queries % heads;
        const i64 of = head * kv_heads / heads;
        const rows r = rows_of(row / queries / heads, query, (const int *)query_offsets,
                               (const int *)key_offsets, batch, queries, keys);
        const i64 at = row_at(r.of, head, query, heads, queries, head_dim);
        i64 begin = r.first_key, end = begin + r.keys;
#if mask_is_causal
        const i64 window = (i64)choice_window, own = query - r.first_query + r.keys - r.queries;
        end = own < 0 ? begin : begin + own + 1;
        begin += window > 0 && own >= window ? own - window + 1 : 0;
#endif
        double max = -INFINITE, sum = 0;
        for (i64 j = begin + threadIdx.x; j < end; j += THREADS) {
            const i64 from = row_at(r.of, of, j, kv_heads, keys, head_dim);
            const double x = score(q, at, k, from, head_dim);
            max = x > max ? x : max;
        }
        max = block_max(max);
        for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
            o[at + d] = 0;
        }
        for (i64 first = begin; first < end; first += THREADS) {
            const i64 key = first + threadIdx.x;
            const i64 from =
                row_at(r.of, of, key < end ? key : first, kv_heads, keys, head_dim);
            block_sync(); /* the previous weights have been read */
            weights[threadIdx.x] = key < end ? exp(score(q, at, k, from, head_dim) - max) : 0;
            sum += weights[threadIdx.x];
            block_sync();
            for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
                double part = 0;
                for (i64 j = 0; j < THREADS && first + j < end; j++) {
                    part += weights[j] *
                            value(v, row_at(r.of, of, first + j, kv_heads, keys, head_dim) + d);
                }
                o[at + d] += part;
            }
        }
        sum = block_sum(sum);
        for (i64 d = threadIdx.x; d < head_dim && begin < end; d += THREADS) {
            o[at + d] /= sum;
        }
        if (threadIdx.x == 0) {
            lse[row] = begin < end ? max + log(sum) : -INFINITE;
        }
    }
}
