/*
 * cuda_sm90.cu: products of groups of rows with a weight for each group (mixture of experts), for
 * Hopper: C[row] = A[row] * B[group of row]^T, or silu(gate) * up of two such products.
 *
 * The product is computed transposed: weights are on the side of wgmma's 64 rows, the rows of a
 * group ("tokens") on the side of its columns, which may be as few as 16. So a strip of
 * BLOCK_SIZE_N columns of C meets up to BLOCK_SIZE_M tokens while it is read once, and a group
 * with few tokens costs few columns: the last tile of a group takes the narrowest of the widths
 * that WIDTHS lists, with a tensor map and a loop for each of them.
 *
 * A block has one producer warp, which requests tiles from the tensor copy engine, and consumer
 * warpgroups, which multiply; a ring of `num_stages` slots connects them, as in
 * ../matmul/cuda_gemm_sm90.cu. Blocks are persistent. What each has to do follows from the numbers
 * of rows of the groups, which are known only on the device: cuda_plan.cu, which comes before this
 * file.
 *
 * With STREAM the tiles that do not fill a round of all blocks are divided among all of them along
 * K, and come first. A block leaves its sums of such a part in the workspace. When it has no tiles
 * left it adds up its share of what all have left there, so nobody waits for long.
 *
 * The blocks of a cluster have the same tokens and neighbouring columns of C. They request the
 * tokens in turns, a slot each, for all of them, so that level 2 is asked once.
 *
 * A and B may be e4m3 with a scale for each of their rows. The tensor cores of Hopper add up such
 * products with about 14 bits, so those of each slot, 128 or 256 elements along K, are added to the
 * sums by ordinary instructions. The scales are applied when a tile is stored.
 *
 * Copies may reach over the end of a group, of its weights or of the arrays. What they bring only
 * enters elements that are not stored.
 */
/* clang-format off */
/*
 * Parameters (macros):
 *   BLOCK_SIZE_M       most tokens of a tile: 16, 32, 64, 128, 192, 256
 *   BLOCK_SIZE_N       columns of C of a tile
 *   BLOCK_SIZE_K       depth of a slot: 64 or 128; elements of one byte: 128 or 256
 *   num_stages         slots of the ring
 *   NUM_CONSUMERS      consumer warpgroups: 1, 2, 3
 *   CLUSTER_N          blocks of a cluster along the columns of C: 1, 2, 4; not with STREAM
 *   STREAM             1: blocks share the last tiles evenly (see above); 0: tiles are whole
 *   STRIPS             strips of a group that follow each other in the list of tiles
 *   EVICT_B            eviction of weights from the level 2 cache: 0 as usual, 1 first where only
 *                      one tile needs them
 *   LAUNCH_EARLY       1: programmatic dependent launch
 *   ELEMENT_BYTES      2; 1: A and B are e4m3, with scales
 *   activation_is_swiglu, layout_is_masked   of the problem
 */
/* clang-format on */
#if activation_is_swiglu
#define SWIGLU 1
#else
#define SWIGLU 0
#endif
#define WEIGHT_ROWS  (BLOCK_SIZE_N * (SWIGLU ? 2 : 1)) /* rows of B of a tile */
#define MMAS         (WEIGHT_ROWS / (64 * NUM_CONSUMERS))
#define LINE         (128 / ELEMENT_BYTES) /* elements of 128 bytes */
#define LINES        (BLOCK_SIZE_K / LINE) /* lines of a slot's row */
#define WEIGHT_BYTES (WEIGHT_ROWS * BLOCK_SIZE_K * ELEMENT_BYTES)
#define STAGE_BYTES  ((WEIGHT_ROWS + BLOCK_SIZE_M) * BLOCK_SIZE_K * ELEMENT_BYTES)
/* Rows of a box of weights. With two products, boxes of gate and up alternate, so that a consumer
   has both for the same columns. */
#define BOX_ROWS (SWIGLU ? 64 : WEIGHT_ROWS)
#define WARPS    (4 * NUM_CONSUMERS)
/* With one consumer the registers of a launch are enough, and one warp produces. */
#define PRODUCER_WARPS (NUM_CONSUMERS == 1 ? 1 : 4)
#define THREADS        (32 * (WARPS + PRODUCER_WARPS))
#define STAGING_BYTES  1024 /* of a warp: 16 columns of 32 tokens */
#define OFFSET_STAGING (num_stages * STAGE_BYTES)
#define OFFSET_BARS    (OFFSET_STAGING + WARPS * STAGING_BYTES)
#define OFFSET_ROWS    (OFFSET_BARS + 16 * num_stages)
#define PRODUCTS       (SWIGLU ? 2 : 1)
/* Workspace of STREAM: counters, then the sums of two parts for each block. A part has 64 x
   BLOCK_SIZE_M floats for each wgmma, in the order of the registers. */
#define COUNTER_BYTES 4096
#define MMA_SUMS      (BLOCK_SIZE_M * 64)
#define PART_SUMS     (WEIGHT_ROWS / 64 * MMA_SUMS)

/* Named barriers: from 1 on each consumer's own. */
#define BARRIER_OWN 1

typedef unsigned short number;

/* Widths that a tile of BLOCK_SIZE_M tokens may have: X(width). */
#define WIDTHS_16(X)  X(16)
#define WIDTHS_32(X)  WIDTHS_16(X) X(32)
#define WIDTHS_64(X)  WIDTHS_32(X) X(64)
#define WIDTHS_128(X) WIDTHS_64(X) X(96) X(128)
#define WIDTHS_192(X) WIDTHS_128(X) X(192)
#define WIDTHS_256(X) WIDTHS_192(X) X(256)
#define WIDTHS(X)     JOIN(WIDTHS_, BLOCK_SIZE_M)(X)

DEVICE int width_of(int rows)
{
#define WIDTH(w)                                                                                   \
    if (rows <= (w)) {                                                                             \
        return w;                                                                                  \
    }
    WIDTHS(WIDTH)
#undef WIDTH
    return BLOCK_SIZE_M;
}

/* wgmma with 64 rows of weights and `w` tokens, w known to the compiler. */
#define MMA_OF(w)                                                                                  \
    DEVICE void mma_##w(float d[(w) / 2], u64 x, u64 y, int add)                                   \
    {                                                                                              \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " MMA_ADD_##w                               \
                     ", 0;\n"                                                                      \
                     "wgmma.mma_async.sync.aligned.m64n" #w "k" TEXT(MMA_K) ".f32" MMA_TYPE        \
                     " {" MMA_REGS_##w "}, " MMA_X_##w ", " MMA_Y_##w ", p, 1, 1" MMA_LAYOUTS      \
                     ";\n}\n"                                                                      \
                     : MMA_OUT_##w                                                                 \
                     : "l"(x), "l"(y), "r"(add));                                                  \
    }
WIDTHS(MMA_OF)
#undef MMA_OF

DEVICE void mma_of_width(int width, float d[BLOCK_SIZE_M / 2], u64 x, u64 y, int add)
{
    switch (width) {
#define WIDTH(w)                                                                                   \
    case w:                                                                                        \
        mma_##w(d, x, y, add);                                                                     \
        break;
        WIDTHS(WIDTH)
#undef WIDTH
    default:
        break;
    }
}

/* Keeps operations on sums behind the wait for them. */
DEVICE void keep_sums(float sums[BLOCK_SIZE_M / 2], int width)
{
#pragma unroll
    for (int e = 0; e < width / 2; e++) {
        asm volatile("" : "+f"(sums[e])::"memory");
    }
}

/* Gives a slot back to the producers of all blocks of the cluster, which fill it together: one
   thread for each of them does. */
DEVICE void release(u32 empty, int thread)
{
#if CLUSTER_N > 1
    if (thread < CLUSTER_N) {
        barrier_arrive_remote(empty, (u32)thread);
    }
#else
    if (thread == 0) {
        barrier_arrive(empty);
    }
#endif
}

#if ELEMENT_BYTES == 1
/* Adds up `count` slots of the ring for a tile of `width` tokens, which the compiler knows. The
   tensor cores add up the products of a slot for one wgmma after the other; while a warpgroup adds
   these to its sums, another multiplies. */
DEVICE void multiply(float acc[MMAS][BLOCK_SIZE_M / 2], int width, u32 base, ring *r, int count,
                     int consumer, int thread)
{
    const u32 full = base + OFFSET_BARS, empty = full + 8 * num_stages;
    float part[BLOCK_SIZE_M / 2];
    /* Were it not defined here, ptxas would let each wgmma wait for the one before (C7511). */
#pragma unroll
    for (int e = 0; e < width / 2; e++) {
        part[e] = 0;
    }
#pragma unroll
    for (int j = 0; j < MMAS; j++) {
#pragma unroll
        for (int e = 0; e < width / 2; e++) {
            acc[j][e] = 0;
        }
    }
    for (int i = 0; i < count; i++) {
        const u32 slot = base + r->slot * STAGE_BYTES;
        const u64 x = mma_descriptor(slot + (u32)consumer * (MMAS * 8192), 0);
        const u64 y = mma_descriptor(slot + WEIGHT_BYTES, 0);
        barrier_wait(full + 8 * r->slot, r->parity);
#pragma unroll
        for (int j = 0; j < MMAS; j++) {
            mma_fence();
#pragma unroll
            for (int step = 0; step < BLOCK_SIZE_K / MMA_K; step++) {
                const u32 from_y = step / 4 * (BLOCK_SIZE_M * 128) + step % 4 * 32;
                const u32 from_x = step / 4 * (WEIGHT_ROWS * 128) + step % 4 * 32 + j * 8192;
                mma_of_width(width, part, x + (from_x >> 4), y + (from_y >> 4), step > 0);
            }
            mma_commit();
            MMA_WAIT(0);
            keep_sums(part, width);
            if (j == MMAS - 1) {
                release(empty + 8 * r->slot, thread);
            }
#pragma unroll
            for (int e = 0; e < width / 2; e++) {
                acc[j][e] += part[e];
            }
        }
        ring_next(r);
    }
}
#else
/* Adds up `count` slots of the ring for a tile of `width` tokens, which the compiler knows. The
   products of a slot run while the next is waited for. */
DEVICE void multiply(float acc[MMAS][BLOCK_SIZE_M / 2], int width, u32 base, ring *r, int count,
                     int consumer, int thread)
{
    const u32 full = base + OFFSET_BARS, empty = full + 8 * num_stages;
    u32 before = 0;
    for (int i = 0; i < count; i++) {
        const u32 slot = base + r->slot * STAGE_BYTES;
        const u64 x = mma_descriptor(slot + (u32)consumer * (MMAS * 8192), 0);
        const u64 y = mma_descriptor(slot + WEIGHT_BYTES, 0);
        barrier_wait(full + 8 * r->slot, r->parity);
        mma_fence();
#pragma unroll
        for (int step = 0; step < BLOCK_SIZE_K / MMA_K; step++) {
            const u32 from_y = step / 4 * (BLOCK_SIZE_M * 128) + step % 4 * 32;
#pragma unroll
            for (int j = 0; j < MMAS; j++) {
                const u32 from_x = step / 4 * (WEIGHT_ROWS * 128) + step % 4 * 32 + j * 8192;
                mma_of_width(width, acc[j], x + (from_x >> 4), y + (from_y >> 4),
                             step > 0 || i > 0);
            }
        }
        mma_commit();
        MMA_WAIT(1);
        if (i > 0) {
            release(empty + 8 * before, thread);
        }
        before = r->slot;
        ring_next(r);
    }
    MMA_WAIT(0);
    release(empty + 8 * before, thread);
#pragma unroll
    for (int j = 0; j < MMAS; j++) {
        keep_sums(acc[j], width);
    }
}
#endif

#if SWIGLU
DEVICE float swiglu(float gate, float up)
{
    float e, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(gate * -1.4426950408889634f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + e));
    return gate * inverse * up;
}
#endif

/* The scales of what a thread has of a tile: of two rows of each weight, 8 apart, and of 4 tokens
   of 16. */
typedef struct factors {
    float row[PRODUCTS][2], token[4];
} factors;

#if ELEMENT_BYTES == 1
/* Loads those of two rows of each weight; `column` is the thread's first column of C. */
DEVICE void load_rows(factors *f, int group, int column, problem p)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const int at = min(column + 8 * i, p.n - 1);
#pragma unroll
        for (int j = 0; j < PRODUCTS; j++) {
            f->row[j][i] = __ldg(p.scale_b + (long long)(group * PRODUCTS + j) * p.n + at);
        }
    }
}

/* Loads those of the thread's tokens of 16, whose first is `token` of `rows`. */
DEVICE void load_tokens(factors *f, int row, int token, int rows, int lane, problem p)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int at = token + i / 2 * 8 + lane % 4 * 2 + i % 2;
        f->token[i] = __ldg(p.scale_a + row + min(at, rows - 1));
    }
}

DEVICE float scaled(const float *x, int e, const factors *f, int product)
{
    return x[e] * (f->row[product][e / 2 % 2] * f->token[e / 4 % 2 * 2 + e % 2]);
}
#else
DEVICE float scaled(const float *x, int e, const factors *f, int product)
{
    return x[e];
}
#endif

/* Returns two elements of the result, next to each other along the tokens. */
DEVICE u32 result(const float *x, const float *up, int e, const factors *f)
{
#if SWIGLU
    return pack(swiglu(scaled(x, e, f, 0), scaled(up, e, f, 1)),
                swiglu(scaled(x, e + 1, f, 0), scaled(up, e + 1, f, 1)));
#else
    return pack(scaled(x, e, f, 0), scaled(x, e + 1, f, 0));
#endif
}

/* Stores the sums that a warp has of 64 columns and `width` tokens: 16 columns, transposed through
   shared memory, so that each token gets 32 contiguous bytes. `row` and `rows` are those of C,
   `column` is the first of the warp. */
DEVICE void store(const float *x, const float *up, int width, number *c, int group, int row,
                  int rows, int column, problem p, u32 staging, int lane)
{
    /* Where the lane's row of the matrices of stmatrix goes, and what the lane stores: a half of a
       token's 32 bytes. Halves change places every 4 tokens, so that the rows of a matrix are in
       different banks. */
    const int to = lane % 8 + lane / 16 * 8, half = lane / 8 % 2;
    const u32 put = staging + (u32)(to * 32 + (half ^ (to / 4 % 2)) * 16);
    const int token = lane / 2, part = lane % 2;
    const u32 get = staging + (u32)(token * 32 + (part ^ (token / 4 % 2)) * 16);
    const bool inside = column + part * 8 < p.n;
    number *out = c + (long long)(row + token) * p.n + column + part * 8;
    factors f;
#if ELEMENT_BYTES == 1
    load_rows(&f, group, column + lane / 4, p);
#endif
#pragma unroll
    for (int i = 0; i < width / 16; i++) {
        const u32 piece = (u32)(i % 2 * 512);
        u32 v[4];
#if ELEMENT_BYTES == 1
        load_tokens(&f, row, i * 16, rows, lane, p);
#endif
        store_matrix_transposed(put + piece, result(x, up, 8 * i, &f), result(x, up, 8 * i + 2, &f),
                                result(x, up, 8 * i + 4, &f), result(x, up, 8 * i + 6, &f));
        __syncwarp();
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(get + piece)
                     : "memory");
        if (i * 16 + token < rows && inside) {
            asm volatile(
                "st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + (long long)i * 16 * p.n),
                "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])
                : "memory");
        }
    }
}

DEVICE void store_tile(float acc[MMAS][BLOCK_SIZE_M / 2], int width, number *c, work w, problem p,
                       u32 staging, int consumer, int warp, int lane)
{
#pragma unroll
    for (int j = 0; j < MMAS; j += PRODUCTS) {
        const int column = w.n0 + (consumer * MMAS + j) / PRODUCTS * 64 + warp * 16;
        store(acc[j], acc[j + PRODUCTS - 1], width, c, w.group, w.row, w.rows, column, p, staging,
              lane);
    }
}

#if STREAM
/* Counts up to `counts` - 1 and then back to zero, for the next launch. It publishes what the
   thread, and the threads it has synchronised with, have written. */
DEVICE void count_up(u32 *count, u32 counts)
{
    asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" ::"l"(count), "r"(counts - 1)
                 : "memory");
}

DEVICE u32 counted(const u32 *count)
{
    u32 now;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    return now;
}

DEVICE float *part_of(unsigned char *workspace, int block, int part, int mma)
{
    return (float *)(workspace + COUNTER_BYTES) + (long long)(2 * block + part) * PART_SUMS +
           mma * MMA_SUMS;
}

/* Leaves a consumer's sums of a part, so that the lanes of a warp write adjacent words. */
DEVICE void leave_part(float acc[MMAS][BLOCK_SIZE_M / 2], int width, unsigned char *workspace,
                       work w, plan s, problem p, int consumer, int thread)
{
#pragma unroll
    for (int j = 0; j < MMAS; j++) {
        float *to = part_of(workspace, (int)blockIdx.x, w.part, consumer * MMAS + j) + thread * 4;
#pragma unroll
        for (int i = 0; i < width / 8; i++) {
            asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to + i * 512),
                         "f"(acc[j][4 * i]), "f"(acc[j][4 * i + 1]), "f"(acc[j][4 * i + 2]),
                         "f"(acc[j][4 * i + 3])
                         : "memory");
        }
    }
    named_sync(BARRIER_OWN + consumer, 128);
    if (thread == 0) {
        count_up((u32 *)workspace + w.number, counts_of(w.number, width, s, p));
    }
}

/* Adds up UNIT tokens of 64 columns of a divided tile, in the order of the parts, and stores them.
 */
DEVICE void add_parts(number *c, unsigned char *workspace, int number_of_tile, int columns,
                      int tokens, plan s, problem p, u32 staging, int consumer, int thread)
{
    const work w = tile_at(s.whole + number_of_tile, p);
    const int first = first_block(number_of_tile, s, p), last = last_block(number_of_tile, s, p);
    u32 *count = (u32 *)workspace + number_of_tile;
    float sum[PRODUCTS][UNIT / 2];
    if (tokens >= width_of(w.rows)) {
        return;
    }
    if (thread == 0) {
        const u32 all = arrivals(number_of_tile, s, p);
        while (counted(count) < all) {
        }
    }
    named_sync(BARRIER_OWN + consumer, 128);
#pragma unroll
    for (int j = 0; j < PRODUCTS * UNIT / 2; j++) {
        sum[j / (UNIT / 2)][j % (UNIT / 2)] = 0;
    }
    for (int block = first; block <= last; block++) {
        /* A block's first part is of the tile in which its share begins. */
        const int part = block * s.share / p.slots == number_of_tile ? 0 : 1;
#pragma unroll
        for (int j = 0; j < PRODUCTS; j++) {
            const float *from = part_of(workspace, block, part, columns * PRODUCTS + j) +
                                tokens / 8 * 512 + thread * 4;
#pragma unroll
            for (int i = 0; i < UNIT / 8; i++) {
                float4 v;
                asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                             : "l"(from + i * 512)
                             : "memory");
                sum[j][4 * i] += v.x;
                sum[j][4 * i + 1] += v.y;
                sum[j][4 * i + 2] += v.z;
                sum[j][4 * i + 3] += v.w;
            }
        }
    }
    store(sum[0], sum[PRODUCTS - 1], UNIT, c, w.group, w.row + tokens, w.rows - tokens,
          w.n0 + columns * 64 + thread / 32 * 16, p, staging, thread % 32);
    named_sync(BARRIER_OWN + consumer, 128); /* all have read */
    if (thread == 0) {
        count_up(count, counts_of(number_of_tile, width_of(w.rows), s, p));
    }
}

/* Adds up the block's share of the units of all divided tiles. */
DEVICE void add_divided(number *c, unsigned char *workspace, plan s, problem p, u32 staging,
                        int consumer, int thread)
{
    enum { UNITS = BLOCK_SIZE_M / UNIT * COLUMN_BLOCKS }; /* of a tile */
    for (int i = (int)blockIdx.x * NUM_CONSUMERS + consumer; i < s.divided * UNITS;
         i += (int)gridDim.x * NUM_CONSUMERS) {
        add_parts(c, workspace, i / UNITS, i % COLUMN_BLOCKS, i % UNITS / COLUMN_BLOCKS * UNIT, s,
                  p, staging, consumer, thread);
    }
}
#endif

#if layout_is_masked
/* Sets what a thread of a grid has of the places that are not used to 0, 16 bytes at a time. */
DEVICE void clear_places(number *c, problem p, int thread, int threads)
{
    for (int group = 0; group < p.groups; group++) {
        const int used = min(max(p.ends[group], 0), p.m);
        uint4 *to = (uint4 *)(c + ((long long)group * p.m + used) * p.n);
        const long long count = (long long)(p.m - used) * p.n / 8; /* N is a multiple of 8 */
        for (long long i = thread; i < count; i += threads) {
            to[i] = make_uint4(0, 0, 0, 0);
        }
    }
}
#endif

/* Requests one slot: the weights of the block's columns and, if `brings`, the tokens for all blocks
   of the cluster, in boxes of a line along K. */
DEVICE void load_slot(u32 slot, u32 full, const tensor_map *map_b, const tensor_map *map_a,
                      int width, work t, int at_k, problem p, bool brings)
{
    const int first = (SWIGLU ? 2 * t.group : t.group) * p.n + t.n0;
    const u64 policy = EVICT_B && !t.shared ? 0x12F0000000000000ull : 0x1000000000000000ull;
    barrier_expect(full, (u32)((WEIGHT_ROWS + width) * BLOCK_SIZE_K * ELEMENT_BYTES));
#pragma unroll
    for (int line = 0; line < LINES; line++) {
#pragma unroll
        for (int box = 0; box < WEIGHT_ROWS / BOX_ROWS; box++) {
            const int row = SWIGLU ? first + box / 2 * 64 + box % 2 * p.n : first;
            load_tile(slot + (u32)((line * WEIGHT_ROWS + box * BOX_ROWS) * 128), map_b, full,
                      at_k + line * LINE, row, policy);
        }
        const u32 tokens = slot + WEIGHT_BYTES + (u32)(line * BLOCK_SIZE_M * 128);
        if (CLUSTER_N == 1) {
            load_tile(tokens, map_a, full, at_k + line * LINE, t.row, 0x1000000000000000ull);
        } else if (brings) {
            load_tile_multicast(tokens, map_a, full, at_k + line * LINE, t.row,
                                0x1000000000000000ull, (1u << CLUSTER_N) - 1);
        }
    }
}

#define MAP_PARAMETER(w) const __grid_constant__ tensor_map map_##w,

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    ak_kernel(const __grid_constant__ tensor_map map_b, WIDTHS_256(MAP_PARAMETER) number *c,
              const int *ends, const int *count, unsigned char *workspace, int groups, int m, int n,
              int k, const float *scale_a, const float *scale_b)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const u32 base = shared_address(shared);
    const u32 full = base + OFFSET_BARS, empty = full + 8 * num_stages;
    /* the same value in all lanes of a warp */
    const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0);
    const int lane = (int)threadIdx.x % 32;
    const u32 rank = CLUSTER_N > 1 ? cluster_rank() : 0;
    int *rows = (int *)(shared + OFFSET_ROWS);
    const problem p = {rows,
                       rows + groups,
                       groups,
                       m,
                       n,
                       k,
                       (n + STRIP - 1) / STRIP,
                       (k + BLOCK_SIZE_K - 1) / BLOCK_SIZE_K,
                       (int)rank * BLOCK_SIZE_N,
                       scale_a,
                       scale_b};

#if LAUNCH_EARLY
    let_next_kernel_start();
#endif
    if (threadIdx.x == 0) {
        for (int i = 0; i < num_stages; i++) {
            barrier_init(full + 8 * i, 1);
            barrier_init(empty + 8 * i, NUM_CONSUMERS * CLUSTER_N);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#if LAUNCH_EARLY
    wait_for_kernel_before();
#endif
    for (int i = (int)threadIdx.x; i < groups; i += THREADS) {
#if layout_is_masked
        rows[i] = count[i];
#else
        rows[i] = ends[i];
#endif
    }
    __syncthreads();
    if (warp == WARPS) {
        number_tiles(p, lane);
    }
    __syncthreads();
#if CLUSTER_N > 1
    cluster_meet(); /* the barriers of all blocks are ready */
#endif

    plan s = plan_of(p);
    work w;
    if (warp >= WARPS) {
#if NUM_CONSUMERS > 1
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
#endif
        if (warp == WARPS && elect_one()) {
            ring r = {0, 1}; /* the first round has nothing to wait for */
            while (next_work(&w, &s, p)) {
                const int width = width_of(w.rows);
                const tensor_map *map_a = &map_16;
#define WIDTH(w) map_a = width == (w) ? &map_##w : map_a;
                WIDTHS(WIDTH)
#undef WIDTH
                for (int i = 0; i < w.count; i++) {
                    barrier_wait(empty + 8 * r.slot, r.parity);
                    load_slot(base + r.slot * STAGE_BYTES, full + 8 * r.slot, &map_b, map_a, width,
                              w, (w.from + i) * BLOCK_SIZE_K, p, r.slot % CLUSTER_N == rank);
                    ring_next(&r);
                }
            }
        }
    } else {
#if NUM_CONSUMERS == 2
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
#elif NUM_CONSUMERS == 3
        asm volatile("setmaxnreg.inc.sync.aligned.u32 152;");
#endif
        const int consumer = warp / 4, thread = (int)threadIdx.x % 128;
        const u32 staging = base + OFFSET_STAGING + (u32)(warp * STAGING_BYTES);
        ring r = {0, 0};
        float acc[MMAS][BLOCK_SIZE_M / 2];
        while (next_work(&w, &s, p)) {
            const int width = width_of(w.rows);
            switch (width) {
#define WIDTH(fixed)                                                                               \
    case fixed:                                                                                    \
        multiply(acc, fixed, base, &r, w.count, consumer, thread);                                 \
        if (w.count == p.slots) {                                                                  \
            store_tile(acc, fixed, c, w, p, staging, consumer, warp % 4, lane);                    \
        } else {                                                                                   \
            LEAVE_PART(fixed);                                                                     \
        }                                                                                          \
        break;
#if STREAM
#define LEAVE_PART(fixed) leave_part(acc, fixed, workspace, w, s, p, consumer, thread)
#else
#define LEAVE_PART(fixed)
#endif
                WIDTHS(WIDTH)
#undef WIDTH
            default:
                break;
            }
        }
#if STREAM
        add_divided(c, workspace, s, p, staging, consumer, thread);
#endif
#if layout_is_masked
        clear_places(c, p, (int)(blockIdx.x * (32 * WARPS) + threadIdx.x),
                     (int)(gridDim.x * (32 * WARPS)));
#endif
    }
#if CLUSTER_N > 1
    __syncwarp();
    cluster_meet(); /* no block ends while others may still signal it or bring it tokens */
#endif
}
