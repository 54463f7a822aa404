/* attention, reference on a device: computes what reference.c does, one block for each row of O. */

#if sequences_is_packed /* they share an array */
#define ARRAYS 1
#else
#define ARRAYS batch
#endif

/* Returns where a row starts, in arrays with so many heads and rows. */
DEVICE i64 row_at(i64 array, i64 head, i64 row, i64 heads, i64 rows, i64 columns)
{
#if layout_is_nhd
    return ((array * rows + row) * heads + head) * columns;
#else
    return ((array * heads + head) * rows + row) * columns;
#endif
}

/* Finds the packed sequence that a row of Q belongs to. */
DEVICE i64 sequence_at(i64 row, const int *offsets, i64 batch)
{
    int low = 0, high = (int)batch; /* offsets[low] <= row < offsets[high] */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (offsets[middle] <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
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
    for (i64 row = blockIdx.x; row < ARRAYS * heads * queries; row += gridDim.x) {
        const i64 column = row / queries, query = row - column * queries;
        const i64 array = ARRAYS == 1 ? 0 : column / heads, head = column - array * heads;
        const i64 of = head * kv_heads / heads;
        i64 begin = 0, end = keys; /* of the keys that it attends to */
#if sequences_is_packed
        const i64 sequence = sequence_at(query, (const int *)query_offsets, batch);
        begin = ((const int *)key_offsets)[sequence];
        end = ((const int *)key_offsets)[sequence + 1];
#endif
#if mask_is_causal
#if sequences_is_packed
        const i64 left = ((const int *)query_offsets)[sequence + 1] - query;
#else
        const i64 left = queries - query;
#endif
        const i64 window = (i64)choice_window;
        end = end - left < begin ? begin : end - left + 1;
        begin = window > 0 && end - begin > window ? end - window : begin;
#endif
        const i64 at = row_at(array, head, query, heads, queries, head_dim);
        const i64 base = row_at(array, of, begin, kv_heads, keys, head_dim);
        const i64 step = row_at(0, 0, 1, kv_heads, keys, head_dim), count = end - begin;
        double max = -INFINITE, sum = 0;
        for (i64 j = threadIdx.x; j < count; j += THREADS) {
            const double x = score(q, at, k, base + j * step, head_dim);
            max = x > max ? x : max;
        }
        max = block_max(max);
        for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
            o[at + d] = 0;
        }
        for (i64 first = 0; first < count; first += THREADS) {
            const i64 key = first + threadIdx.x, from = base + (key < count ? key : first) * step;
            block_sync(); /* the previous weights have been read */
            weights[threadIdx.x] = key < count ? exp(score(q, at, k, from, head_dim) - max) : 0;
            sum += weights[threadIdx.x];
            block_sync();
            for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
                double part = 0;
                for (i64 j = 0; j < THREADS && first + j < count; j++) {
                    part += weights[j] * value(v, base + (first + j) * step + d);
                }
                o[at + d] += part;
            }
        }
        sum = block_sum(sum);
        for (i64 d = threadIdx.x; d < head_dim && count > 0; d += THREADS) {
            o[at + d] /= sum;
        }
        if (threadIdx.x == 0) {
            lse[row] = count > 0 ? max + log(sum) : -INFINITE;
        }
    }
}
