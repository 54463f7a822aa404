/*
 * cuda.cu: sums of rows in fp16, bf16 or fp32, added in fp32 and rounded once.
 *
 * It follows cuda_rows.cu of softmax and uses its parameters except CLUSTER, BATCH (both 1),
 * REST and PREFETCH (both 0), because no element is needed twice. KEEP is the number of vectors
 * that a thread loads before it adds the first of them.
 *
 *   SPLIT  blocks that share a row, each with a contiguous part of it, for few long rows. They
 *          leave their sums in the workspace, and the last one adds them in order, so the result
 *          does not depend on which block that is.
 *
 * Workspace for SPLIT > 1: a counter for each row, zero between launches, then SPLIT floats for
 * each row.
 */
#if CLUSTER != 1 || BATCH != 1 || REST != 0 || PREFETCH != 0
#error "a sum keeps nothing"
#elif SPLIT > 1 && ROWS > 1
#error "a split row has blocks of its own"
#endif

/* Returns the sum of a thread's vectors, loaded KEEP at a time, and of its elements of the
   edges. */
DEVICE float row_sum(const place *p, const row *r)
{
    float total = 0, edge[EDGES + 1];
    u32 bits[EDGES + 1];
    edges_load(bits, p, r);
    for (int first = 0; first < r->count; first += KEEP) {
        vector v[KEEP];
        float sum = 0;
        UNROLL for (int i = 0; i < KEEP; i++)
        {
            if (first + i < r->count) {
                v[i] = load_vector(r, first + i);
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
    edges_arrive(edge, bits, p, r, 0);
    EACH_EDGE(j)
    {
        total += edge[j];
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

/* Returns how many bytes a block may prefetch: its share of 20 MB, because what is prefetched waits
   in the level 2 cache, and more than two fifths of it would push out what nobody has read yet. The
   other kernels need no such limit, because their resident blocks hold all that they prefetch. */
DEVICE i64 prefetch_share(void)
{
    const u32 resident = sm_count() * (2048 / THREADS), blocks = (u32)gridDim.x; /* at most */
    const u32 share = 20000000 / (blocks < resident ? blocks : resident);
    return share < 16384 ? 16384 : share;
}

KERNEL ak_kernel(const void *x, void *y, void *workspace, i64 rows, int cols)
{
    place p = place_begin();
    launch_begin(&p, x, y, rows, cols, prefetch_share());
#if SPLIT > 1
    /* Each part gets whole vectors of an aligned row; the boundaries are the same in every row. */
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
            *count = 0; /* zero again, for the next launch */
        }
    }
#else
    (void)workspace;
    for (i64 index = row_first(&p); index < rows; index = row_next(index)) {
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
