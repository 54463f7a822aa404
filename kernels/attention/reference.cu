/* attention, reference on a device: computes what reference.c does, one block for each row of O. */

DEVICE i64 row_at(i64 sequence, i64 head, i64 row, i64 heads, i64 rows, i64 columns)
{
#if layout_is_nhd
    return ((sequence * rows + row) * heads + head) * columns;
#else
    return ((sequence * heads + head) * rows + row) * columns;
#endif
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

KERNEL ak_reference(const void *q, const void *k, const void *v, double *o, double *lse, i64 batch,
                    i64 heads, i64 kv_heads, i64 queries, i64 keys, i64 head_dim)
{
    double *weights = (double *)dynamic_shared() + THREADS; /* after the words of block_sum */
    for (i64 row = blockIdx.x; row < batch * heads * queries; row += gridDim.x) {
        const i64 query = row % queries, head = row / queries % heads;
        const i64 sequence = row / queries / heads, of = head * kv_heads / heads;
        const i64 at = row_at(sequence, head, query, heads, queries, head_dim);
        i64 begin = 0, end = keys;
#if mask_is_causal
        const i64 window = (i64)choice_window, own = query + keys - queries;
        end = own < 0 ? 0 : own + 1;
        begin = window > 0 && own >= window ? own - window + 1 : 0;
#endif
        double max = -INFINITE, sum = 0;
        for (i64 j = begin + threadIdx.x; j < end; j += THREADS) {
            const i64 from = row_at(sequence, of, j, kv_heads, keys, head_dim);
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
                row_at(sequence, of, key < end ? key : first, kv_heads, keys, head_dim);
            block_sync(); /* the previous weights have been read */
            weights[threadIdx.x] = key < end ? exp(score(q, at, k, from, head_dim) - max) : 0;
            sum += weights[threadIdx.x];
            block_sync();
            for (i64 d = threadIdx.x; d < head_dim; d += THREADS) {
                double part = 0;
                for (i64 j = 0; j < THREADS && first + j < end; j++) {
                    part += weights[j] *
                            value(v, row_at(sequence, of, first + j, kv_heads, keys, head_dim) + d);
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
