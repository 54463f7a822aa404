/*
 * cuda.cu: sums of rows; fp16, bf16 or fp32, added in fp32 and rounded once. Comes after
 * cuda_rows.cu of softmax, of which it uses all but CLUSTER, BATCH (1), REST and PREFETCH (0):
 * nothing is needed twice. KEEP is how many vectors a thread asks for before it adds the first of
 * them.
 *
 *   SPLIT  blocks that share a row, each with a contiguous part of it: for few long rows. They
 *          leave their sums in the workspace, and the last one adds them in order, so the result
 *          does not depend on who that is.
 *
 * Workspace, for SPLIT > 1: a counter for each row, zero between launches, then SPLIT floats for
 * each row.
 */
#if CLUSTER != 1 || BATCH != 1 || REST != 0 || PREFETCH != 0
#error "a sum keeps nothing"
#elif SPLIT > 1 && ROWS > 1
#error "a split row has blocks of its own"
#endif

/* The sum of a thread's vectors, KEEP of them asked for at a time. */
DEVICE float row_sum(const place *p, const row *r)
{
    float total = 0;
    for (int first = 0; first < r->count; first += KEEP) {
        vector v[KEEP];
        float sum = 0;
        UNROLL for (int i = 0; i < KEEP; i++)
        {
            if (first + i < r->count) {
                v[i] = load_vector(p, r, first + i, 0);
            }
        }
        UNROLL for (int i = 0; i < KEEP; i++)
        {
            if (first + i < r->count) {
                UNROLL for (int j = 0; j < V; j++)
                {
                    sum += element(&v[i], j);
                }
            }
        }
        total += sum;
    }
    return total;
}

DEVICE void store_sum(void *y, i64 index, float sum)
{
#if ELEMENT == 4
    ((float *)y)[index] = sum;
#else
    ((u16 *)y)[index] = (u16)pack(sum, sum);
#endif
}

KERNEL ak_kernel(const void *x, void *y, void *workspace, i64 rows, int cols)
{
    place p = place_begin();
    launch_begin(&p, x, rows, cols);
#if SPLIT > 1
    /* Whole vectors of an aligned row for each part; the boundaries are the same in every row. */
    const i64 index = blockIdx.x / SPLIT;
    const int part_of = (int)(blockIdx.x % SPLIT);
    const int share = (cols / V + SPLIT - 1) / SPLIT * V;
    const int begin = part_of * share < cols ? part_of * share : cols;
    const int end = part_of == SPLIT - 1 || begin + share > cols ? cols : begin + share;
    const unsigned char *start = (const unsigned char *)x + (index * cols + begin) * ELEMENT;
    const row r = row_at(&p, start, 0, end - begin);
    part all[1] = {{row_sum(&p, &r), 0, 0}};
    row_reduce(all, &p, REDUCE_SUM);
    if (p.thread == 0) {
        u32 *count = (u32 *)workspace + index;
        float *parts = (float *)workspace + rows + index * SPLIT;
        parts[part_of] = all[0].a;
        __threadfence();
        if (atomicAdd(count, 1u) == SPLIT - 1) {
            float sum = 0;
            __threadfence();
            for (int i = 0; i < SPLIT; i++) {
                sum += ((volatile float *)parts)[i];
            }
            store_sum(y, index, sum);
            *count = 0; /* as found */
        }
    }
#else
    (void)workspace;
    for (i64 index = row_first(&p); index < rows; index += row_step()) {
        const row r = row_at(&p, x, index, cols);
        part all[1] = {{row_sum(&p, &r), 0, 0}};
        row_reduce(all, &p, REDUCE_SUM);
        if (p.thread == 0) {
            store_sum(y, index, all[0].a);
        }
    }
#endif
    place_end(&p);
}
