/*
 * cuda_gemm_sm90.cu: C = epilogue(alpha * A * B + beta * C_in) for Hopper, the whole tunable
 * GEMM. Input and output are fp16 or bf16, sums are in fp32. C is row-major, A and B are each in
 * either layout. Input of one byte an element (ELEMENT_BYTES) has scales; that is matmul_fp8, whose
 * output may be e4m3, too.
 * Input and output of four bytes are f32, multiplied as tf32. wgmma takes them from shared memory
 * with K contiguous only, so an X of the other layout goes through registers (X_IN_REGISTERS), and a
 * Y of it is turned before. With TERMS, f32 is multiplied as sums of bf16 numbers; C is f32 then,
 * too.
 *
 * A block has one producer warp, which requests tiles of A and B from the tensor copy engine,
 * and one to three consumer warpgroups, which multiply them with wgmma. A ring of `num_stages`
 * slots in shared memory connects them. Each slot has two barriers: `full` (the bytes have
 * arrived) and `empty` (all consumers have read them). Blocks are persistent: each takes tile
 * after tile, and the producer runs ahead into the next tile while the consumers store the last
 * one.
 *
 * In wgmma's terms, X is the operand on the side of the 64 rows and Y the one on the side of the
 * MMA_N columns. Usually X is A and Y is B. With SWAP_AB the product is computed transposed, so
 * that a small M becomes MMA_N (down to 16) instead of being padded to 64.
 */
/* clang-format off */
/*
 * Parameters (macros):
 *   BLOCK_SIZE_M, _N, _K   tile of C, depth of a slot (128 or 256 bytes)
 *   num_stages             slots of the ring
 *   NUM_CONSUMERS          consumer warpgroups: 1, 2, 3
 *   PING_PONG              1: each consumer has its own tile, and the epilogue of one overlaps the
 *                          product of the other; 0: they split the tile
 *   CLUSTER_M, CLUSTER_N   blocks of a cluster along M and N; they share tiles by multicast
 *   EARLY_SLOTS            slots that each block loads alone, before the blocks of a cluster have
 *                          synchronised; at most each slot once
 *   CLUSTER_K              blocks of a cluster along K; they exchange their sums through shared
 *                          memory
 *   SPLIT_K                parts of K, whose sums are added in the workspace
 *   SPLIT_LAST             0: every tile is divided so; 1: only those that are left when each block
 *                          (cluster) has had the same number of undivided ones
 *   SPLIT_WAIT             0: the last block to arrive adds all parts; 1: all wait for each other,
 *                          and each adds and stores its share of the tile (the whole grid must be
 *                          resident at once)
 *   GROUP_SIZE, RASTER     tiles are visited in groups of GROUP_SIZE rows (RASTER 0) or columns (1)
 *   GPC_ORDER              1: the first tiles are numbered by GPC (cuda_gpc.cu)
 *   SWAP_AB                see above
 *   MMA_IN_FLIGHT          slots whose wgmma may be unfinished when the next is started: 0, 1
 *   PRODUCER_WARPS         4, or 1 where no registers are moved
 *   PRODUCER_REGISTERS,
 *   CONSUMER_REGISTERS     for setmaxnreg; 0: leave the registers as launched
 *   EPILOGUE_COLUMNS       columns of C stored at a time: 64, 32, 16
 *   EPILOGUE_BUFFERS       staging buffers of each consumer; 0: a block has one tile, and all of it
 *                          is staged where the ring was
 *   BLOCKS_PER_SM          promised to the compiler
 *   EVICT_A, EVICT_B       eviction from the level 2 cache: 0 as usual, 1 first, 2 last
 *   A_LAYOUT, B_LAYOUT     0: K is the contiguous direction; 1: M or N is
 *   PAD_A, PAD_B           1: the distance of rows of A (B) is not a multiple of 16 bytes, so the
 *                          copy engine cannot address them; ak_pad, which is launched before, copies
 *                          them to rows of the workspace that it can address
 *   TURN_A, TURN_B         1: the same for f32 whose contiguous direction is not K, on the side of
 *                          Y; ak_pad turns it
 *   TERMS                  2, 3: A and B are f32, and ak_split (cuda_split.cu), which is launched
 *                          before, has written each element as the sum of so many bf16 numbers to
 *                          the workspace, which the products are made of; else 1
 *   DIRECT_STORE           1: C is written by ordinary stores, because the distance of its rows is
 *                          not a multiple of 16 bytes
 *   LAUNCH_EARLY           1: programmatic dependent launch: this kernel starts while the previous
 *                          one ends, and waits for that end before it touches memory; 2: before it
 *                          waits, it prefetches slots into the level 2 cache; 3: as 2, but the next
 *                          kernel may start when all blocks have asked for all that they read
 *   PREFETCH_SLOTS         how many slots that is
 *   HAS_BIAS, EPILOGUE(x)  bias[column] is added, then EPILOGUE applied; from cuda_activation.cu
 *   HAS_ALPHA              1: alpha * A * B; with a bias, alpha is not 0
 *   HAS_BETA               1: beta * C_in is added before EPILOGUE; C_in has the layout of C and may
 *                          be C
 *   HAS_RESIDUAL           1: the residual, with the layout of C, is added after EPILOGUE
 *   ELEMENT_BYTES          bytes of an element of A and B: 2 or 4, of C's type (2 with TERMS); 1: e4m3
 *                          or e5m2
 *   c_type_is_e4m3         1: C is e4m3, multiplied by *scale_c before it is rounded
 *   SCALES                 factors of A and B: 0 none; 1 one for each; 2 one for each row of A and
 *                          column of C; 3 one for each 128 elements of a row of A and each block of
 *                          128 x 128 of B
 *   PROMOTE                elements along K whose products the tensor cores add up by themselves,
 *                          before these partial sums are added to sums in fp32; 0: all of K. The
 *                          tensor cores keep about 14 bits of sums of one-byte elements. SCALES 3
 *                          needs 128
 *   PARTIAL_SETS           sets of partial sums: 1; 2: of half the columns each, so that the sums of
 *                          one half are promoted while the other half is multiplied
 *   SIZE_M, SIZE_N, SIZE_K if defined, there is also an entry ak_kernel_sized, specialised for this
 *                          size; worth 1 to 4 % below 2048
 *   OWN_SIZE_ONLY          if defined with these, the specialised entry is the only one
 *
 * Names in the code: M, N and K are sizes in the host's sense; P and Q are the sizes on the
 * sides of X and Y.
 */
/* clang-format on */
#ifndef EPILOGUE
#define EPILOGUE(x) (x)
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef HAS_ALPHA
#define HAS_ALPHA 0
#endif
#ifndef HAS_BETA
#define HAS_BETA 0
#endif
#ifndef HAS_RESIDUAL
#define HAS_RESIDUAL 0
#endif
#ifndef SCALES
#define SCALES 0
#endif
#ifndef PROMOTE
#define PROMOTE 0
#endif
#ifndef TERMS
#define TERMS 1
#endif
#if SCALES == 1
#undef HAS_ALPHA
#define HAS_ALPHA 1
#endif
#define RESULT_F32 (ELEMENT_BYTES == 4 || TERMS > 1)
/* X is loaded into registers and multiplied from there (cuda_registers.cu). */
#define X_IN_REGISTERS (ELEMENT_BYTES == 4 && X_LAYOUT)
/* With scales the bias comes after them, and f32 results get it at the end; else it is what the
 * sums begin with. */
#if (SCALES || RESULT_F32) && HAS_BIAS
#define LATE_BIAS 1
#undef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef EARLY_SLOTS
#define EARLY_SLOTS 0
#endif
#ifndef PREFETCH_SLOTS
#define PREFETCH_SLOTS 1
#endif
#ifndef TURN_A
#define TURN_A 0
#endif
#ifndef TURN_B
#define TURN_B 0
#endif
#ifndef SPLIT_LAST
#define SPLIT_LAST 0
#endif
#ifndef PAD_A
#define PAD_A 0
#endif
#ifndef PAD_B
#define PAD_B 0
#endif

/* Bytes of an element of C. */
#if c_type_is_e4m3
#define RESULT_BYTES 1
#elif ELEMENT_BYTES == 4
#define RESULT_BYTES 4
#else
#define RESULT_BYTES 2
#endif

/* Workspace of a split K: counters, then SPLIT_K x BLOCK_SIZE_M x BLOCK_SIZE_N floats for each
   divided tile. */
#define WORKSPACE_COUNTERS 65536 /* bytes of counters, which are zero between launches */

#define THREADS     (128 * NUM_CONSUMERS + 32 * PRODUCER_WARPS)
#define CLUSTER     (CLUSTER_M * CLUSTER_N * CLUSTER_K)
#define WARPGROUPS  (PING_PONG ? 1 : NUM_CONSUMERS) /* warpgroups that share one tile */
#define MMAS        (BLOCK_P / (64 * WARPGROUPS / BESIDE)) /* wgmmas of one consumer, side by side */
#define K_STEPS     (BLOCK_SIZE_K / MMA_K)
#define LINE        (128 / ELEMENT_BYTES) /* elements of a line of the swizzle */
#define A_LINES     ((BLOCK_SIZE_M + LINE - 1) / LINE)
#define B_LINES     ((BLOCK_SIZE_N + LINE - 1) / LINE)
#define A_BYTES     ((A_LAYOUT ? A_LINES * LINE : BLOCK_SIZE_M) * BLOCK_SIZE_K * ELEMENT_BYTES)
#define B_BYTES     ((B_LAYOUT ? B_LINES * LINE : BLOCK_SIZE_N) * BLOCK_SIZE_K * ELEMENT_BYTES)
#define STAGE_BYTES (A_BYTES + B_BYTES)
/* Rows that each of the blocks that share a tile with K contiguous loads of it; the copy engine
   swizzles by the address in shared memory, so that a share may begin at any row. Where the rows
   cannot be divided evenly the last shares overlap: some bytes arrive twice, and are the same. */
#define SHARE_ROWS(size, sharers) (((size) + (sharers) - 1) / (sharers))
#define SHARE_BYTES(layout, size, sharers, all)                                                    \
    ((layout) ? (all) : SHARE_ROWS(size, sharers) * (sharers) * BLOCK_SIZE_K * ELEMENT_BYTES)
#define LOADED_BYTES /* that arrive in a slot */                                                   \
    (SHARE_BYTES(A_LAYOUT, BLOCK_SIZE_M, CLUSTER_N, A_BYTES) +                                     \
     SHARE_BYTES(B_LAYOUT, BLOCK_SIZE_N, CLUSTER_M, B_BYTES))
/* Products of terms that are computed: those of terms i of A and j of B with i + j < TERMS. Term i
   is about 2^-9i of the element, so that the others are as small as what the terms leave out. */
#define PRODUCTS (TERMS * (TERMS + 1) / 2)
/* Elements of an element of the tensor maps, which have the type of the arguments: of terms, pairs
   are copied as if they were f32. ak_split writes a zero behind a row of odd length. */
#define MAP_UNIT (TERMS > 1 ? 2 : 1)
/* The products that are added up before they are promoted are a group: PROMOTE elements along K of
   one wgmma or of half of its columns, of which a slot has PROMOTIONS. If PROMOTE_SPAN slots belong
   to one group, it is of all wgmmas side by side. In PROMOTE_SLOTS slots no group is awaited, but
   the last, before the next has begun. */
#define PROMOTE_SPAN  (PROMOTE > BLOCK_SIZE_K ? PROMOTE / BLOCK_SIZE_K : 1)
#define GROUP_MMAS    (PROMOTE_SPAN > 1 ? MMAS : 1) /* wgmmas of a group */
#define PROMOTE_STEPS (PROMOTE_SPAN > 1 ? K_STEPS : PROMOTE / MMA_K)
#define PROMOTIONS    (K_STEPS / PROMOTE_STEPS * (MMAS / GROUP_MMAS) * PARTIAL_SETS)
#define PROMOTE_SLOTS (PARTIAL_SETS > 1 ? 4 : 1)
/* The blocks of a cluster along K divide the columns of the accumulators among them, to add and
   store, if there are enough; otherwise the first block does all. OWN_N is the number of the MMA_N
   columns that a block finishes. */
#define SHARES (CLUSTER_K > 1 && MMA_N % (CLUSTER_K * (SWAP_AB ? 16 : EPILOGUE_COLUMNS)) == 0)
#define OWN_N  (SHARES ? MMA_N / CLUSTER_K : MMA_N)
#define PLANE  (CLUSTER_M * CLUSTER_N) /* blocks of a cluster that share tiles */
/* If sums are not exchanged, a consumer needs the other blocks no more when it stores its last
   tile. */
#define EARLY_END (PLANE > 1 && CLUSTER_K == 1)
/* Bytes that one consumer of a block along K sends to another block. */
#define SLAB_BYTES (MMAS * (OWN_N / 8) * 2048)
/* One piece of C on its way to memory: 64 rows x EPILOGUE_COLUMNS or, swapped, OWN_N rows x 64; of an
   odd number of groups of 8 columns one more is staged, but not stored. */
#define PITCH       (RESULT_BYTES * (SWAP_AB ? 64 : EPILOGUE_COLUMNS))
#define PIECE_BYTES (PITCH * (SWAP_AB ? (OWN_N + 15) / 16 * 16 : 64))
#define PIECES                                                                                     \
    (SWAP_AB ? 1 : OWN_N / EPILOGUE_COLUMNS) /* pieces of one wgmma's                              \
                                                accumulator */
#define SWIZZLE_BITS (PITCH == 128 ? 7 : PITCH == 64 ? 3 : PITCH == 32 ? 1 : 0)
#define C_BYTES      (RESULT_F32 ? 0 : NUM_CONSUMERS * EPILOGUE_BUFFERS * PIECE_BYTES)
#define STAGED_BYTES /* of one consumer */                                                         \
    ((EPILOGUE_BUFFERS ? EPILOGUE_BUFFERS : MMAS * PIECES) * PIECE_BYTES)
#define BIAS_BYTES   (HAS_BIAS && !SWAP_AB ? NUM_CONSUMERS * 2 * MMA_N * 2 : 0)
#define OFFSET_C     (num_stages * STAGE_BYTES)
#define OFFSET_BIAS  (OFFSET_C + C_BYTES)
#define OFFSET_BARS  ((OFFSET_BIAS + BIAS_BYTES + 15) / 16 * 16)
/* Scales of blocks lie behind the barriers: for each slot and each 128 elements along K of it,
   those of the tile's rows of A and of B's blocks. A tile of B that is no multiple of 128 may begin
   in the middle of a block and has one for each half. */
#define STAGED_SCALES (SCALES == 3)
#define SPAN_N        (BLOCK_SIZE_N % 128 == 0 ? 128 : 64) /* columns of C with one scale of B */
#define SLOT_SCALES   (BLOCK_SIZE_M + BLOCK_SIZE_N / SPAN_N)
#define OFFSET_SCALES (OFFSET_BARS + 16 * num_stages + 48)
#define SCALE_BYTES   (BLOCK_SIZE_K / 128 * SLOT_SCALES * 4)

static_assert(BLOCK_P % (64 * WARPGROUPS / BESIDE) == 0, "64 rows a wgmma");
static_assert(BESIDE == 1 || (SWAP_AB && Y_LAYOUT == 0 && SCALES != 3), "half of the columns");
static_assert(MMA_N % (SWAP_AB && RESULT_BYTES > 1 ? 8 : 16) == 0 && MMA_N <= 256,
              "columns of a wgmma");
static_assert(SWAP_AB || MMA_N % EPILOGUE_COLUMNS == 0, "whole pieces");
static_assert(ELEMENT_BYTES == 2 || (Y_LAYOUT == 0 && (X_LAYOUT == 0 || X_IN_REGISTERS)),
              "K is contiguous");
#if X_IN_REGISTERS
static_assert(MMAS == X_WGMMAS && (MMAS == 1 || MMAS % 2 == 0), "one wgmma, or pairs of them");
#endif
static_assert(SCALES != 3 || PROMOTE == 128, "scales of 128 elements");
static_assert(SCALES != 3 || SWAP_AB || MMA_N % 64 == 0, "halves of blocks of B");
static_assert(!RESULT_F32 || DIRECT_STORE, "f32 results are not staged");
static_assert(TERMS == 1 || ELEMENT_BYTES == 2, "terms are bf16");
static_assert(!PROMOTE || (!PING_PONG && !HAS_BIAS), "both consumers multiply, sums begin with 0");
static_assert(PARTIAL_SETS == 1 || (PROMOTE && PROMOTE_SPAN == 1), "a group of half the columns");
static_assert(EPILOGUE_BUFFERS || RESULT_F32 ||
                  (!PING_PONG && NUM_CONSUMERS * STAGED_BYTES <= num_stages * STAGE_BYTES),
              "the tile fits the ring");
static_assert(CLUSTER_K == 1 ||
                  (!PING_PONG && BLOCK_SIZE_M * BLOCK_SIZE_N * 4 <= num_stages * STAGE_BYTES),
              "sums fit the ring");

/* Named barriers: from 1 on each consumer's own; then the turns of ping-pong, all consumers, and
   all threads. */
#define BARRIER_OWN  1
#define BARRIER_TURN 4
#define BARRIER_ALL  6
#define BARRIER_INIT 7

#define EVICT_POLICY(how)                                                                          \
    ((how) == 1   ? 0x12F0000000000000ull                                                          \
     : (how) == 2 ? 0x14F0000000000000ull                                                          \
                  : 0x1000000000000000ull)

/* An element of C, as `result`, and of what is added to it, as `number`. */
#if RESULT_F32
typedef float number, result;

DEVICE float value_of(number x)
{
    return x;
}

DEVICE result result_of(float x)
{
    return x;
}
#else
typedef unsigned short number;
#if c_type_is_e4m3
typedef unsigned char result;
#else
typedef unsigned short result;
#endif

DEVICE float value_of(number x)
{
    return unpack(x);
}

DEVICE result result_of(float x)
{
#if c_type_is_e4m3
    return (result)pack_bytes(x, x);
#else
    return (result)pack(x, x);
#endif
}
#endif

typedef struct gemm_sizes {
    int m, n, k, ldc; /* ldc is also that of C_in and the residual */
    float alpha, beta;
    u64 by_group, by_last; /* 2^40 / divisor, rounded up, for the two divisions of work_at */
    bool known;            /* the compiler knows m, n and k */
    int whole;             /* tiles of clusters that are not divided along K */
#if c_type_is_e4m3
    float scale_c;
#endif
} gemm_sizes;

/* What is added to the products besides the bias, and their scales: of A, [M] or [K/128][M]; of B,
   [N] or [N/128][K/128] with rows at a distance of scale_pitch. */
typedef struct addends {
    const number *c_in, *residual;
    const float *scale_a, *scale_b;
    int scale_pitch;
    const number *late_bias;
    const float *scale_c;
} addends;

/* A position in the ring: the slot, and the parity of the round to wait for. */
typedef struct ring {
    u32 slot, parity;
} ring;

DEVICE void ring_next(ring *r)
{
    if (++r->slot == num_stages) {
        r->slot = 0;
        r->parity ^= 1;
    }
}

DEVICE void ring_skip(ring *r, u32 steps)
{
    u32 slot = r->slot + steps;
    r->parity ^= (slot / num_stages) & 1;
    r->slot = slot % num_stages;
}

/* A piece of work: a tile of C, the slots of K to sum, and which part of a split K they are. `tile`
   is its number among the divided tiles. */
typedef struct work {
    int m0, n0, first, count, tile, part;
    bool divided;
} work;

DEVICE int tiles_along(int size, int block)
{
    return (size + block - 1) / block;
}

/* Tiles of clusters. */
DEVICE int all_tiles(gemm_sizes s)
{
    return tiles_along(s.m, BLOCK_SIZE_M * CLUSTER_M) * tiles_along(s.n, BLOCK_SIZE_N * CLUSTER_N);
}

/* Undivided tiles of so many clusters: with SPLIT_LAST, each has as many as each other. */
DEVICE int whole_tiles(gemm_sizes s, int clusters)
{
    const int tiles = all_tiles(s);
    return SPLIT_K == 1 ? tiles : SPLIT_LAST ? tiles - tiles % clusters : 0;
}

DEVICE int work_items(gemm_sizes s)
{
    return s.whole + (all_tiles(s) - s.whole) * SPLIT_K;
}

/* Returns n / divisor, given 2^40 / divisor rounded up; this is exact if n * divisor < 2^40. A
   division by a value that is not known takes some hundred cycles, which the first request to
   memory would wait for. */
DEVICE u32 divide(u32 n, u32 divisor, u64 inverse, bool known)
{
    return known ? n / divisor : (u32)(n * inverse >> 40);
}

/* Returns piece of work number `id` of the cluster that this block belongs to. */
DEVICE work work_at(int id, gemm_sizes s, u32 rank)
{
    const u32 rows = (u32)tiles_along(s.m, BLOCK_SIZE_M * CLUSTER_M);
    const u32 columns = (u32)tiles_along(s.n, BLOCK_SIZE_N * CLUSTER_N);
    const int slots = tiles_along(s.k, BLOCK_SIZE_K) * PRODUCTS;
    const bool divided = SPLIT_K > 1 && (!SPLIT_LAST || id >= s.whole);
    const int parts = divided ? SPLIT_K * CLUSTER_K : CLUSTER_K;
    const int whole = SPLIT_LAST ? s.whole : 0;
    const u32 after = (u32)(id - whole);
    const u32 tile = divided ? (u32)whole + after / SPLIT_K : (u32)id;
    const u32 slow = RASTER ? columns : rows; /* the direction that is cut into groups */
    const u32 fast = RASTER ? rows : columns;
    const u32 group = divide(tile, GROUP_SIZE * fast, s.by_group, s.known);
    const u32 inside = tile - group * (GROUP_SIZE * fast);
    const u32 left = slow - group * GROUP_SIZE;
    const u32 width = left < GROUP_SIZE ? left : GROUP_SIZE;
    const u32 across =
        left < GROUP_SIZE ? divide(inside, left, s.by_last, s.known) : inside / GROUP_SIZE;
    const u32 along = group * GROUP_SIZE + inside - across * width;
    const u32 row = RASTER ? across : along;
    const u32 column = RASTER ? along : across;
    work w;
    w.m0 = (int)((row * CLUSTER_M + rank % CLUSTER_M) * BLOCK_SIZE_M);
    w.n0 = (int)((column * CLUSTER_N + rank / CLUSTER_M % CLUSTER_N) * BLOCK_SIZE_N);
    w.divided = divided;
    w.part = divided ? (int)(after % SPLIT_K) : 0;
    w.tile = (int)(((tile - (u32)whole) * CLUSTER_M + rank % CLUSTER_M) * CLUSTER_N +
                   rank / CLUSTER_M % CLUSTER_N);
    if (parts == 1) {
        w.first = 0;
        w.count = slots;
    } else {
        const int p = w.part * CLUSTER_K + (int)(rank / (CLUSTER_M * CLUSTER_N));
        w.first = (int)((long long)slots * p / parts);
        w.count = (int)((long long)slots * (p + 1) / parts) - w.first;
    }
    return w;
}

/* Where the contents of a slot begin: along K, and along M and N, where the terms of A and B lie
   behind each other, at distances that are multiples of 64. */
typedef struct origin {
    int k, m, n;
} origin;

/* Returns the origin of slot number `slot` of the sums of a tile. Small products come first: the
   tensor cores cut off what does not fit the sums, so that most is added while these are small. */
DEVICE origin origin_of(work w, int slot, gemm_sizes s)
{
    origin o = {0, w.m0, w.n0};
    if (TERMS > 1) {
        const int slots = tiles_along(s.k, BLOCK_SIZE_K);
        int left = PRODUCTS - 1; /* products after this one */
#pragma unroll
        for (int i = 1; i < PRODUCTS; i++) {
            if (slot >= slots) {
                slot -= slots;
                left--;
            }
        }
        const int both = left >= 3 ? 2 : left >= 1 ? 1 : 0; /* the sum of the terms' numbers */
        const int term_a = left - both * (both + 1) / 2;
        o.m += term_a * (tiles_along(s.m, 64) * 64);
        o.n += (both - term_a) * (tiles_along(s.n, 64) * 64);
    }
    o.k = slot * BLOCK_SIZE_K;
    return o;
}

enum { LOAD, MULTICAST, PREFETCH };

/* Loads a share of one operand's tile (1/sharers of it) into a slot of this block (LOAD), of all
   blocks in `mask` (MULTICAST), or into the level 2 cache only (PREFETCH). If K is contiguous, the
   boxes are a LINE along K x the share's rows. Otherwise they are a LINE along the other direction
   x K; the lines are divided among the sharers if possible, else the rows. */
DEVICE void load_operand(const tensor_map *map, u32 slot, u32 full, int layout, int size, int start,
                         int k, int sharers, int share, int how, u32 mask, u64 policy)
{
    const int lines = (size + LINE - 1) / LINE;
    int count = lines, x = start, y = k;
    u32 to = slot, step = BLOCK_SIZE_K * 128;
    if (layout == 0) {
        count = BLOCK_SIZE_K / LINE;
        x = k;
        const int rows = SHARE_ROWS(size, sharers);
        const bool inside = rows * sharers == size || share * rows < size - rows;
        const int first = inside ? share * rows : size - rows;
        y = start + first;
        to += (u32)(first * 128);
        step = (u32)(size * 128);
    } else if (lines % sharers == 0) {
        count = lines / sharers;
        x += share * count * LINE;
        to += (u32)(share * count) * step;
    } else {
        y += share * (BLOCK_SIZE_K / sharers);
        to += (u32)(share * (BLOCK_SIZE_K / sharers) * 128);
    }
#pragma unroll
    for (int i = 0; i < count; i++) {
        if (how == PREFETCH) {
            prefetch_box(map, x / MAP_UNIT, y);
        } else if (how == MULTICAST) {
            load_tile_multicast(to, map, full, x / MAP_UNIT, y, policy, mask);
        } else {
            load_tile(to, map, full, x / MAP_UNIT, y, policy);
        }
        x += LINE;
        to += step;
    }
}

#if SPLIT_K > 1
enum { SUMS = MMAS * OWN_N / 2 * 128 }; /* sums of one consumer */

DEVICE float *parts_of(unsigned char *workspace, int item)
{
    return (float *)(workspace + WORKSPACE_COUNTERS) + (long long)item * SPLIT_K * SUMS;
}

/* Counters go up to COUNTS - 1 and then back to zero. Counting up publishes what the thread, and
   the threads it has synchronised with, have written; a thread that sees the count may read it. No
   thread waits for an answer that it does not need, because an answer takes half a microsecond. */
#define COUNTS (SPLIT_WAIT ? 2 * SPLIT_K : SPLIT_K)

DEVICE u32 count_and_see(u32 *count)
{
    u32 before;
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(count), "r"(COUNTS - 1)
                 : "memory");
    return before;
}

DEVICE void count_up(u32 *count)
{
    asm volatile("red.release.gpu.global.inc.u32 [%0], %1;" ::"l"(count), "r"(COUNTS - 1)
                 : "memory");
}

/* Counts up without publishing anything. */
DEVICE void count_up_alone(u32 *count)
{
    asm volatile("red.relaxed.gpu.global.inc.u32 [%0], %1;" ::"l"(count), "r"(COUNTS - 1)
                 : "memory");
}

DEVICE u32 counted(const u32 *count)
{
    u32 now;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(now) : "l"(count) : "memory");
    return now;
}

/* Writes one part of a split K in the order of the registers, so that the lanes of a warp write
   adjacent words. */
DEVICE void write_part(float acc[MMAS][OWN_N / 2], float *parts, int part, int thread)
{
    float *mine = parts + part * SUMS + thread * 4;
#pragma unroll
    for (int i = 0; i < MMAS; i++) {
#pragma unroll
        for (int j = 0; j < OWN_N / 8; j++) {
            asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(
                             mine + (i * (OWN_N / 8) + j) * 512),
                         "f"(acc[i][4 * j]), "f"(acc[i][4 * j + 1]), "f"(acc[i][4 * j + 2]),
                         "f"(acc[i][4 * j + 3])
                         : "memory");
        }
    }
}

DEVICE float4 load_sums(const float *from)
{
    float4 v;
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                 : "l"(from)
                 : "memory");
    return v;
}
#endif

#if SPLIT_K > 1 && !SPLIT_WAIT
/* Adds the parts of a split K if this consumer is the last to arrive. They are added in order, so
   the result does not depend on which consumer that is. */
DEVICE bool add_parts(float acc[MMAS][OWN_N / 2], unsigned char *workspace, int item, int part,
                      int consumer, u32 flag, int thread)
{
    float *parts = parts_of(workspace, item);
    u32 before = 0;
    write_part(acc, parts, part, thread);
    named_sync(BARRIER_OWN + consumer, 128);
    if (thread == 0) {
        before = count_and_see((u32 *)workspace + item);
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(flag), "r"(before) : "memory");
    }
    named_sync(BARRIER_OWN + consumer, 128);
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(before) : "r"(flag) : "memory");
    if (before < SPLIT_K - 1) {
        return false;
    }
#pragma unroll
    for (int i = 0; i < MMAS; i++) {
#pragma unroll
        for (int j = 0; j < OWN_N / 2; j++) {
            acc[i][j] = 0;
        }
    }
    for (int p = 0; p < SPLIT_K; p++) {
        const float *from = parts + p * SUMS + thread * 4;
#pragma unroll
        for (int i = 0; i < MMAS; i++) {
#pragma unroll
            for (int j = 0; j < OWN_N / 8; j++) {
                const float4 v = load_sums(from + (i * (OWN_N / 8) + j) * 512);
                acc[i][4 * j] += v.x;
                acc[i][4 * j + 1] += v.y;
                acc[i][4 * j + 2] += v.z;
                acc[i][4 * j + 3] += v.w;
            }
        }
    }
    return true;
}
#endif

#if CLUSTER_K > 1 && !SHARES
/* Each of the other blocks that share a tile leaves its sums in its own shared memory, where the
   ring was: groups of four, in the order of the registers. Then the first block adds them in the
   order of the blocks. */
DEVICE void leave_sums(float acc[MMAS][MMA_N / 2], u32 mine)
{
#pragma unroll
    for (int i = 0; i < MMAS; i++) {
#pragma unroll
        for (int j = 0; j < MMA_N / 8; j++) {
            asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(
                             mine + (u32)(i * (MMA_N / 8) + j) * 2048),
                         "f"(acc[i][4 * j]), "f"(acc[i][4 * j + 1]), "f"(acc[i][4 * j + 2]),
                         "f"(acc[i][4 * j + 3])
                         : "memory");
        }
    }
}

DEVICE void collect_sums(float own[MMAS][OWN_N / 2], u32 mine, u32 rank)
{
#pragma unroll
    for (int i = 0; i < MMAS * OWN_N / 2; i++) {
        own[i / (OWN_N / 2)][i % (OWN_N / 2)] = 0;
    }
    for (u32 block = 0; block < CLUSTER_K; block++) {
        u32 there;
        asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                     : "=r"(there)
                     : "r"(mine), "r"(rank % PLANE + block * PLANE));
#pragma unroll
        for (int i = 0; i < MMAS; i++) {
#pragma unroll
            for (int j = 0; j < OWN_N / 8; j++) {
                float a, b, c, d;
                asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                             : "r"(there + (u32)(i * (MMA_N / 8) + j) * 2048)
                             : "memory");
                own[i][4 * j] += a;
                own[i][4 * j + 1] += b;
                own[i][4 * j + 2] += c;
                own[i][4 * j + 3] += d;
            }
        }
    }
}

#endif

#if SHARES
/* Sends each of the other blocks that share the tile its columns of these sums, in the order of the
   registers, to the sender's place where the ring was. `bar` there counts the bytes. Each block
   starts with its successor, so that not all send to the same block. `place` and `bar` are
   addresses in this block; its own columns go to `own`. */
DEVICE void push_sums(float acc[MMAS][MMA_N / 2], float own[MMAS][OWN_N / 2], u32 place, u32 bar,
                      u32 rank)
{
    const u32 depth = rank / PLANE;
#pragma unroll
    for (u32 from = 0; from < CLUSTER_K; from++) {
        if (depth != from) {
            continue;
        }
#pragma unroll
        for (u32 step = 1; step < CLUSTER_K; step++) {
            const u32 to = (from + step) % CLUSTER_K;
            const u32 block = rank % PLANE + to * PLANE;
            const u32 slot = from < to ? from : from - 1;
            u32 there, bar_there;
            asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                         : "=r"(there)
                         : "r"(place + slot * (NUM_CONSUMERS * SLAB_BYTES)), "r"(block));
            asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
                         : "=r"(bar_there)
                         : "r"(bar), "r"(block));
#pragma unroll
            for (int i = 0; i < MMAS; i++) {
#pragma unroll
                for (int j = 0; j < OWN_N / 8; j++) {
                    const float *x = &acc[i][to * (OWN_N / 2) + 4 * j];
                    asm volatile(
                        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
                        "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(there +
                                                              (u32)(i * (OWN_N / 8) + j) * 2048),
                        "f"(x[0]), "f"(x[1]), "f"(x[2]), "f"(x[3]), "r"(bar_there)
                        : "memory");
                }
            }
        }
#pragma unroll
        for (int i = 0; i < MMAS; i++) {
#pragma unroll
            for (int j = 0; j < OWN_N / 2; j++) {
                own[i][j] = acc[i][from * (OWN_N / 2) + j];
            }
        }
    }
}

/* Adds what the other blocks sent, in their order. */
DEVICE void add_pushed(float own[MMAS][OWN_N / 2], u32 place)
{
#pragma unroll
    for (u32 slot = 0; slot < CLUSTER_K - 1; slot++) {
#pragma unroll
        for (int i = 0; i < MMAS; i++) {
#pragma unroll
            for (int j = 0; j < OWN_N / 8; j++) {
                float a, b, c, d;
                asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
                             : "r"(place + slot * (NUM_CONSUMERS * SLAB_BYTES) +
                                   (u32)(i * (OWN_N / 8) + j) * 2048)
                             : "memory");
                own[i][4 * j] += a;
                own[i][4 * j + 1] += b;
                own[i][4 * j + 2] += c;
                own[i][4 * j + 3] += d;
            }
        }
    }
}
#endif

/* Tells every block that writes to this block's slot that one consumer has read it: the blocks of
   its column of the cluster, which share B, and of its row, which share A. */
DEVICE void release_slot(u32 empty_slot, u32 rank, int thread)
{
    if (CLUSTER_M * CLUSTER_N == 1) {
        if (thread == 0) {
            barrier_arrive(empty_slot);
        }
    } else if (thread < CLUSTER_M + CLUSTER_N - 1) {
        const u32 plane = rank / (CLUSTER_M * CLUSTER_N) * (CLUSTER_M * CLUSTER_N);
        const u32 cm = rank % CLUSTER_M, cn = rank / CLUSTER_M % CLUSTER_N;
        const u32 t = (u32)thread;
        const u32 other = t - CLUSTER_M + (t - CLUSTER_M >= cn ? 1 : 0);
        barrier_arrive_remote(
            empty_slot, plane + (t < CLUSTER_M ? cn * CLUSTER_M + t : other * CLUSTER_M + cm));
    }
}

/* Keeps the compiler from moving operations on the sums across this point, because wgmma reads and
   writes them without its knowledge. */
DEVICE void keep_sums(float sums[WGMMA_N / 2])
{
#pragma unroll
    for (int j = 0; j < WGMMA_N / 2; j++) {
        asm volatile("" : "+f"(sums[j])::"memory");
    }
}

DEVICE void keep_in_place(float acc[MMAS][MMA_N / 2])
{
#pragma unroll
    for (int i = 0; i < MMAS * PARTIAL_SETS; i++) {
        keep_sums(acc[i / PARTIAL_SETS] + i % PARTIAL_SETS * (WGMMA_N / 2));
    }
}

/* How far, in a descriptor's units of 16 bytes, the operands of a step along K are from the slot's
   first: Y, and X of the j-th of the wgmmas side by side. */
DEVICE u32 y_step(int step)
{
    return (Y_LAYOUT ? step * 2048 : step / 4 * (BLOCK_Q * 128) + step % 4 * 32) >> 4;
}

DEVICE u32 x_step(int step, int j)
{
    return (X_LAYOUT ? j * (BLOCK_SIZE_K * 128) + step * 2048
                     : step / 4 * (BLOCK_P * 128) + step % 4 * 32 + j * 8192) >>
           4;
}

/* Returns which of a consumer's rows of X a lane has in its j-th accumulator: with half 0 the row of
   its first two sums in 8 columns, with 1 that of the other two. */
DEVICE int row_of(int j, int half, int warp, int lane)
{
#if X_IN_REGISTERS
    return row_in_registers(j, half, warp, lane);
#else
    return j * 64 + half * 8 + warp * 16 + lane / 4;
#endif
}

#if PROMOTE
/* The factors of the partial sums of 128 elements along K: of the rows of each wgmma and of its
   columns, in the order of a thread's sums. */
#if SCALES == 3
#define ROW_FACTORS    (SWAP_AB ? 1 : 2)
#define COLUMN_FACTORS (SWAP_AB ? MMA_N / 4 : BLOCK_SIZE_N / SPAN_N)
typedef struct factors {
    float row[MMAS][ROW_FACTORS], column[COLUMN_FACTORS];
} factors;

/* Copies the scales of a slot to shared memory; `full` counts each lane of the warp when its copies
   have arrived. Beyond the matrices, where the products are 0, it takes the scales of the last
   row, column or block along K. */
DEVICE void load_scales(u32 to, u32 full, addends add, origin o, gemm_sizes s, int lane)
{
    const int last = tiles_along(s.n, 128) - 1;
#pragma unroll
    for (int h = 0; h < BLOCK_SIZE_K / 128; h++) {
        const int k_block = min(o.k / 128 + h, (s.k - 1) / 128);
        const float *a = add.scale_a + (long long)k_block * s.m;
#pragma unroll
        for (int i = 0; i < (SLOT_SCALES + 31) / 32; i++) {
            const int at = i * 32 + lane;
            const int block = min((o.n + (at - BLOCK_SIZE_M) * SPAN_N) / 128, last);
            const float *from = at < BLOCK_SIZE_M
                                    ? a + min(o.m + at, s.m - 1)
                                    : add.scale_b + (long long)block * add.scale_pitch + k_block;
            if (at < SLOT_SCALES) {
                copy_word(to + (u32)(h * SLOT_SCALES + at) * 4, from);
            }
        }
    }
    copies_arrive(full);
}

DEVICE float staged_scale(u32 slot, int index)
{
    float x;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(slot + (u32)index * 4) : "memory");
    return x;
}

/* Reads the factors of the wgmmas whose rows begin at row0 of the tile (in terms of X). */
DEVICE void read_factors(factors *f, u32 scales, int row0, int warp, int lane)
{
#pragma unroll
    for (int j = 0; j < MMAS; j++) {
#pragma unroll
        for (int i = 0; i < ROW_FACTORS; i++) {
            f->row[j][i] =
                staged_scale(scales, SWAP_AB ? BLOCK_SIZE_M + (row0 + j * 64) / SPAN_N
                                             : row0 + j * 64 + warp * 16 + lane / 4 + i * 8);
        }
    }
#pragma unroll
    for (int i = 0; i < COLUMN_FACTORS; i++) {
        f->column[i] =
            staged_scale(scales, SWAP_AB ? i / 2 * 8 + lane % 4 * 2 + i % 2 : BLOCK_SIZE_M + i);
    }
}

/* Returns the factor of sum i of wgmma number j. */
DEVICE float factor_of(const factors *f, int j, int i)
{
    return SWAP_AB ? f->row[j][0] * f->column[i / 4 * 2 + i % 2]
                   : f->row[j][i / 2 % ROW_FACTORS] * f->column[i / 4 * 8 / SPAN_N];
}
#else
typedef struct factors {
} factors;

DEVICE float factor_of(const factors *f, int j, int i)
{
    return 1;
}
#endif

/* Multiplies so many slots, and adds their products to the sums. With two sets of partial sums a
   group is promoted while the next is multiplied, up to the last slot: ptxas lets each wgmma wait
   for the one before if a group is unfinished where a loop begins again. `first` slots of the
   tile's `count` are done. */
DEVICE void multiply_slots(const int slots, float acc[MMAS][MMA_N / 2],
                           float part[PARTIAL_SETS * GROUP_MMAS][WGMMA_N / 2], ring *r, u32 base,
                           u32 from_x, u32 from_y, int first, int count, int awaited, int row0,
                           u32 rank, int warp, int thread)
{
    const u32 full = base + OFFSET_BARS, empty = full + 8 * num_stages;
    const bool begins = first % PROMOTE_SPAN == 0;
    const bool ends = (first + 1) % PROMOTE_SPAN == 0 || first + 1 == count;
    factors f[PARTIAL_SETS][K_STEPS / PROMOTE_STEPS];
    u32 slot[PARTIAL_SETS];
#pragma unroll
    for (int g = 0; g < slots * PROMOTIONS + PARTIAL_SETS - 1; g++) {
        if (g < slots * PROMOTIONS) {
            const int turn = g / PROMOTIONS % PARTIAL_SETS, half = g % PARTIAL_SETS;
            const int j = g / PARTIAL_SETS % (MMAS / GROUP_MMAS);
            const int h = g % PROMOTIONS / (PARTIAL_SETS * (MMAS / GROUP_MMAS));
            if (g % PROMOTIONS == 0) {
                slot[turn] = r->slot;
                barrier_wait(full + 8 * r->slot, r->parity);
#if STAGED_SCALES
                /* The scales are read before wgmma begins: then they are read in all warps when it
                   has ended in one, which releases the slot. */
#pragma unroll
                for (int i = 0; i < BLOCK_SIZE_K / PROMOTE; i++) {
                    read_factors(&f[turn][i],
                                 base + OFFSET_SCALES + r->slot * SCALE_BYTES +
                                     (u32)(i * SLOT_SCALES * 4),
                                 row0, warp, thread % 32);
                }
#endif
                ring_next(r);
            }
            const u32 at = base + slot[turn] * STAGE_BYTES;
            const u64 x = mma_descriptor(at + from_x, BLOCK_SIZE_K * 128);
            const u64 y =
                mma_descriptor(at + from_y + (u32)(half * WGMMA_N * 128), BLOCK_SIZE_K * 128);
            mma_fence();
#pragma unroll
            for (int n = 0; n < PROMOTE_STEPS; n++) {
                const int step = h * PROMOTE_STEPS + n;
#pragma unroll
                for (int t = 0; t < GROUP_MMAS; t++) {
                    mma(part[half + t], x + x_step(step, j + t), y + y_step(step),
                        n > 0 || !begins);
                }
            }
            mma_commit();
        }
        if (g < slots * PROMOTIONS) {
            MMA_WAIT(PARTIAL_SETS - 1);
        } else {
            MMA_WAIT(0);
        }
        const int done = g - (PARTIAL_SETS - 1);
        if (done >= 0) {
            const int turn = done / PROMOTIONS % PARTIAL_SETS, half = done % PARTIAL_SETS;
            const int j = done / PARTIAL_SETS % (MMAS / GROUP_MMAS);
            const int h = done % PROMOTIONS / (PARTIAL_SETS * (MMAS / GROUP_MMAS));
#pragma unroll
            for (int t = 0; t < GROUP_MMAS; t++) {
                keep_sums(part[half + t]);
            }
            if (done % PROMOTIONS == PROMOTIONS - 1 && first + done / PROMOTIONS < awaited) {
                release_slot(empty + 8 * slot[turn], rank, thread);
            }
            if (PROMOTE_SPAN == 1 || ends) {
#pragma unroll
                for (int i = 0; i < GROUP_MMAS * (WGMMA_N / 2); i++) {
                    const int t = i / (WGMMA_N / 2), e = i % (WGMMA_N / 2);
                    const int to = half * (WGMMA_N / 2) + e;
                    acc[j + t][to] += part[half + t][e] * factor_of(&f[turn][h], j + t, to);
                }
            }
#pragma unroll
            for (int t = 0; t < GROUP_MMAS; t++) {
                keep_sums(part[half + t]);
            }
        }
    }
}
#endif

#if SCALES == 2
/* Returns the factor of element p, q (in terms of X and Y) along one of the two directions. */
DEVICE float scale_p(addends add, int p, gemm_sizes s)
{
    return __ldg(SWAP_AB ? add.scale_b + min(p, s.n - 1) : add.scale_a + min(p, s.m - 1));
}

DEVICE float scale_q(addends add, int q, gemm_sizes s)
{
    return __ldg(SWAP_AB ? add.scale_a + min(q, s.m - 1) : add.scale_b + min(q, s.n - 1));
}
#endif

#if LATE_BIAS
DEVICE float bias_at(addends add, int column, gemm_sizes s)
{
    return value_of(add.late_bias[min(column, s.n - 1)]);
}
#endif

#if SCALES == 2 || LATE_BIAS
/* Prefetches `bytes` of a vector into the level 2 cache, a line a thread; `last` is its last byte. */
DEVICE void prefetch_bytes(const void *from, int bytes, const void *last, int thread)
{
    const char *line = (const char *)from + thread * 128;
    if (thread * 128 < bytes + 128) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(line < (const char *)last ? line : last));
    }
}

/* Prefetches what the epilogue needs for the columns and rows of a tile, and would wait for. */
DEVICE void prefetch_vectors(addends add, work w, gemm_sizes s, int thread)
{
#if SCALES == 2
    prefetch_bytes(add.scale_a + w.m0, BLOCK_SIZE_M * 4, add.scale_a + s.m - 1, thread);
    prefetch_bytes(add.scale_b + w.n0, BLOCK_SIZE_N * 4, add.scale_b + s.n - 1, thread);
#endif
#if LATE_BIAS
    prefetch_bytes(add.late_bias + w.n0, BLOCK_SIZE_N * (int)sizeof(number),
                   add.late_bias + s.n - 1, thread);
#endif
}
#endif

#if HAS_BETA || HAS_RESIDUAL
/* Prefetches what this block's tile needs of C_in or the residual into the level 2 cache. */
DEVICE void prefetch_tile(const number *from, int m0, int n0, gemm_sizes s)
{
    enum {
        ACROSS = 128 / sizeof(number), /* elements of a line */
        LINES = (BLOCK_SIZE_N + ACROSS - 1) / ACROSS,
        TOGETHER = 128 * WARPGROUPS /* threads that have this tile */
    };
    for (int i = (int)threadIdx.x % TOGETHER; i < BLOCK_SIZE_M * LINES; i += TOGETHER) {
        const int row = m0 + i / LINES;
        const int column = n0 + i % LINES * ACROSS;
        if (row < s.m && column < s.n) {
            asm volatile("prefetch.global.L2 [%0];" ::"l"(from + (long long)row * s.ldc + column));
        }
    }
}

#if !RESULT_F32
/* Loads the elements of C_in or the residual that belong to 16 columns of an accumulator, in its
   order: pairs at (p, q), (p + 8, q), (p, q + 8), (p + 8, q + 8), whose second element is at q + 1.
   Elements beyond the matrix are 0. */
DEVICE void load_pairs(u32 pairs[4], const unsigned short *from, int p, int q, gemm_sizes s)
{
    int row = SWAP_AB ? q : p, column = SWAP_AB ? p : q;
    /* Hides the origin of row and column from the compiler. Otherwise it computes the addresses of
       all columns in advance, which take the registers of the sums. */
    asm volatile("" : "+r"(row), "+r"(column));
    const unsigned short *base = from + (long long)row * s.ldc + column;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const int down = SWAP_AB ? i / 2 * 8 : i % 2 * 8;
        const int right = SWAP_AB ? i % 2 * 8 : i / 2 * 8;
        const unsigned short *first = base + (long long)down * s.ldc + right;
        const bool here = row + down < s.m && column + right < s.n;
        const bool next = row + down + SWAP_AB < s.m && column + right + !SWAP_AB < s.n;
        if (!SWAP_AB && !DIRECT_STORE && next) {
            pairs[i] = *(const u32 *)first; /* rows begin at multiples of 16 bytes */
        } else {
            pairs[i] = (here ? first[0] : 0) | (u32)(next ? first[SWAP_AB ? s.ldc : 1] : 0) << 16;
        }
    }
}

DEVICE void add_pairs(float x[8], const u32 pairs[4], float factor)
{
#pragma unroll
    for (int i = 0; i < 4; i++) {
        x[2 * i] += factor * unpack((unsigned short)pairs[i]);
        x[2 * i + 1] += factor * unpack((unsigned short)(pairs[i] >> 16));
    }
}
#endif
#endif

#if HAS_BIAS
/* The sums of the first part of K begin with the bias divided by alpha, so that it needs nothing at
   the end, when all threads wait. It is fetched while the previous tile is computed. */
DEVICE float bias_scale(bool first_part, gemm_sizes s)
{
    return first_part ? HAS_ALPHA ? 1.0f / s.alpha : 1.0f : 0.0f;
}

#if SWAP_AB
DEVICE void fetch_bias(unsigned short rows[MMAS][2], const unsigned short *bias, int first,
                       int limit)
{
#pragma unroll
    for (int i = 0; i < 2 * MMAS; i++) {
        const int n = first + i / 2 * 64 + i % 2 * 8;
        rows[i / 2][i % 2] = n < limit ? bias[n] : 0;
    }
}

DEVICE void begin_with_bias(float acc[MMAS][MMA_N / 2], const unsigned short rows[MMAS][2],
                            float scale)
{
#pragma unroll
    for (int i = 0; i < MMAS; i++) {
        const float low = scale * unpack(rows[i][0]);
        const float high = scale * unpack(rows[i][1]);
#pragma unroll
        for (int j = 0; j < MMA_N / 2; j++) {
            acc[i][j] = j & 2 ? high : low;
        }
    }
}
#else
/* Loads the bias, two elements for each thread at a time; elements beyond N become 0. */
DEVICE void fetch_bias(u32 to, const unsigned short *bias, int first, int limit, int thread)
{
    for (int i = thread * 2; i < MMA_N; i += 256) {
        const int left = (limit - (first + i)) * 2;
        const int bytes = left < 0 ? 0 : left > 4 ? 4 : left;
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to + (u32)i * 2),
                     "l"(bias + (bytes > 0 ? first + i : 0)), "r"(bytes)
                     : "memory");
    }
}

DEVICE void begin_with_bias(float acc[MMAS][MMA_N / 2], u32 from, float scale, int lane)
{
#pragma unroll
    for (int j = 0; j < MMA_N / 8; j++) {
        u32 both;
        asm volatile("ld.shared.u32 %0, [%1];"
                     : "=r"(both)
                     : "r"(from + (u32)(j * 8 + lane % 4 * 2) * 2)
                     : "memory");
        const float even = scale * unpack((unsigned short)both);
        const float odd = scale * unpack((unsigned short)(both >> 16));
#pragma unroll
        for (int i = 0; i < MMAS; i++) {
            acc[i][4 * j] = acc[i][4 * j + 2] = even;
            acc[i][4 * j + 1] = acc[i][4 * j + 3] = odd;
        }
    }
}
#endif
#endif

#if RESULT_F32 || (SPLIT_K > 1 && SPLIT_WAIT)
/* Applies the epilogue to one element of C, whose index and column are given. */
DEVICE float finished(float x, addends add, long long at, int column, gemm_sizes s)
{
#if HAS_ALPHA
    x *= s.alpha;
#endif
#if LATE_BIAS
    x += bias_at(add, column, s);
#endif
#if HAS_BETA
    x += s.beta * value_of(add.c_in[at]);
#endif
    x = EPILOGUE(x);
#if HAS_RESIDUAL
    x += value_of(add.residual[at]);
#endif
#if c_type_is_e4m3
    x *= s.scale_c;
#endif
    return x;
}

DEVICE void store_one(result *c, float x, addends add, int p, int q, gemm_sizes s)
{
    const int row = SWAP_AB ? q : p;
    const int column = SWAP_AB ? p : q;
    if (row < s.m && column < s.n) {
        const long long at = (long long)row * s.ldc + column;
#if SCALES == 2
        x *= scale_p(add, p, s) * scale_q(add, q, s);
#endif
        c[at] = result_of(finished(x, add, at, column, s));
    }
}
#endif

#if SPLIT_K > 1 && SPLIT_WAIT
/* Waits for all parts and finishes this part's share of the tile: a contiguous range of the SUMS /
   4 groups of four sums. Several neighbouring threads add the parts of one group, and each thread
   has several groups at once, because everything comes from the level 2 cache. */
DEVICE void share_parts(float acc[MMAS][OWN_N / 2], unsigned char *workspace, result *c,
                        addends add, int item, int part, int p0, int q0, gemm_sizes s, int consumer,
                        int thread)
{
    enum {
        GROUPS = SUMS / 4,
        SHARE = (GROUPS + SPLIT_K - 1) / SPLIT_K,
        WANTED = SHARE > 64   ? 1
                 : SHARE > 32 ? 2
                 : SHARE > 16 ? 4
                              : 8,
        HELPERS = WANTED < SPLIT_K ? WANTED : 1, /* threads for each group */
        ACROSS = 128 / HELPERS,
        TURNS = (SHARE + ACROSS - 1) / ACROSS,
        PARTS = (SPLIT_K + HELPERS - 1) / HELPERS, /* parts that each thread adds */
        FIT = PARTS <= 4 ? 4 : PARTS <= 15 ? 2 : 1, /* in registers, without spills */
        AT_ONCE = TURNS < FIT ? TURNS : FIT
    };
    float *parts = parts_of(workspace, item);
    u32 *count = (u32 *)workspace + item;
    write_part(acc, parts, part, thread);
    named_sync(BARRIER_OWN + consumer, 128);
    if (thread == 0) {
        /* All SPLIT_K parts count up once; the second round counts who has seen that, and ends at
           zero. */
        count_up(count);
        while (counted(count) < SPLIT_K) {
        }
        count_up_alone(count);
    }
    named_sync(BARRIER_OWN + consumer, 128);
    const int first = part * SHARE;
    const int limit = first + SHARE < GROUPS ? first + SHARE : GROUPS;
    for (int base = first; base < limit; base += ACROSS * AT_ONCE) {
        float4 total[AT_ONCE];
        /* Threads without a group load the last one's, so that no load waits for a branch. */
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; turn++) {
            const int group = base + turn * ACROSS + thread / HELPERS;
            const float *from = parts + (group < limit ? group : limit - 1) * 4;
            total[turn] = make_float4(0, 0, 0, 0);
#pragma unroll
            for (int i = 0; i < PARTS; i++) {
                const int p = i * HELPERS + thread % HELPERS;
                if (SPLIT_K % HELPERS == 0 || p < SPLIT_K) {
                    const float4 v = load_sums(from + (long long)p * SUMS);
                    total[turn].x += v.x;
                    total[turn].y += v.y;
                    total[turn].z += v.z;
                    total[turn].w += v.w;
                }
            }
        }
#pragma unroll
        for (int turn = 0; turn < AT_ONCE; turn++) {
            const int group = base + turn * ACROSS + thread / HELPERS;
            float4 sum = total[turn];
#pragma unroll
            for (int i = HELPERS / 2; i > 0; i /= 2) {
                sum.x += __shfl_xor_sync(0xffffffffu, sum.x, i);
                sum.y += __shfl_xor_sync(0xffffffffu, sum.y, i);
                sum.z += __shfl_xor_sync(0xffffffffu, sum.z, i);
                sum.w += __shfl_xor_sync(0xffffffffu, sum.w, i);
            }
            if (group < limit && thread % HELPERS == 0) {
                const int owner = group % 128; /* the thread that had these sums */
                const int block = group / 128;
                const int j = block / (OWN_N / 8);
                const int p = p0 + row_of(j, 0, owner / 32, owner % 32);
                const int p8 = p0 + row_of(j, 1, owner / 32, owner % 32);
                const int q = q0 + block % (OWN_N / 8) * 8 + owner % 4 * 2;
                store_one(c, sum.x, add, p, q, s);
                store_one(c, sum.y, add, p, q + 1, s);
                store_one(c, sum.z, add, p8, q, s);
                store_one(c, sum.w, add, p8, q + 1, s);
            }
        }
    }
}
#endif

#if RESULT_F32
/* Applies the epilogue to `count` sums of neighbours in a row of C and stores them, at once if
   `together`; then either all are in C or none. */
DEVICE void store_run(result *c, const float *x, const int count, bool together, addends add, int p,
                      int q, gemm_sizes s)
{
    const int row = SWAP_AB ? q : p, column = SWAP_AB ? p : q;
    if (together) {
        if (row < s.m && column < s.n) {
            const long long at = (long long)row * s.ldc + column;
            float y[4];
#pragma unroll
            for (int i = 0; i < count; i++) {
                y[i] = finished(x[i], add, at + i, column + i, s);
            }
            if (count == 2) {
                *(float2 *)(c + at) = make_float2(y[0], y[1]);
            } else {
                *(float4 *)(c + at) = make_float4(y[0], y[1], y[2], y[3]);
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < count; i++) {
            store_one(c, x[i], add, p + (SWAP_AB ? i : 0), q + (SWAP_AB ? 0 : i), s);
        }
    }
}

/* Applies the epilogue to a consumer's accumulators and stores them in C. p0 and q0 are its first
   row and column in terms of X and Y. Lanes that are neighbours store 32 neighbouring bytes or,
   with an X in registers that is B, a line. */
DEVICE void finish(float acc[MMAS][OWN_N / 2], result *c, addends add, int p0, int q0, gemm_sizes s,
                   int warp, int lane)
{
    enum { RUN = !X_IN_REGISTERS || !SWAP_AB || MMAS == 1 ? 2 : 4 };
    const bool together =
        (!SWAP_AB || X_IN_REGISTERS) && s.n % RUN == 0 && s.ldc % RUN == 0;
#pragma unroll
    for (int j = 0; j < MMAS; j += RUN / 2) {
#pragma unroll
        for (int i = 0; i < OWN_N / 4; i++) {
            const int q = q0 + i / 2 * 8 + lane % 4 * 2;
            const float *x = &acc[j][i / 2 * 4];
            if (X_IN_REGISTERS && SWAP_AB) {
                const float *z = &acc[j + RUN / 2 - 1][i / 2 * 4];
                const float run[4] = {x[i % 2], x[i % 2 + 2], z[i % 2], z[i % 2 + 2]};
                store_run(c, run, RUN, together, add, p0 + row_of(j, 0, warp, lane), q + i % 2, s);
            } else {
                const int p = p0 + row_of(j, i % 2, warp, lane);
                if (SWAP_AB) {
                    store_one(c, x[i % 2 * 2], add, p, q, s);
                    store_one(c, x[i % 2 * 2 + 1], add, p, q + 1, s);
                } else {
                    store_run(c, x + i % 2 * 2, 2, together, add, p, q, s);
                }
            }
        }
    }
}
#else
/* Returns the address of 16 bytes of a piece. The copy engine expects the bytes of a row
   swizzled. */
DEVICE u32 piece_at(u32 piece, u32 row, u32 chunk)
{
    const u32 to = row * PITCH + chunk * 16;
    return piece + (to ^ (to >> 7 & SWIZZLE_BITS) << 4);
}

/* Stores this warp's part of a piece, 16 rows or (swapped) 16 columns, `unit` bytes at a time: 16,
   4 or those of an element. `row` and `column` are those of C where the part begins or, swapped,
   where the piece begins. */
DEVICE void store_ordinary(const int unit, u32 piece, result *c, int row, int column, gemm_sizes s,
                           int warp, int lane)
{
    enum {
        ROWS = SWAP_AB ? OWN_N : 16,
        COLUMNS = SWAP_AB ? 16 : OWN_N / PIECES,
        CHUNK = 16 / RESULT_BYTES /* elements of 16 bytes */
    };
    const int elements = unit / RESULT_BYTES, across = COLUMNS / elements;
    const int first_row = SWAP_AB ? 0 : warp * 16, first_chunk = SWAP_AB ? warp * 16 / CHUNK : 0;
#pragma unroll 4
    for (int i = lane; i < ROWS * across; i += 32) {
        const int r = i / across, element = i % across * elements;
        const u32 from =
            piece_at(piece, (u32)(first_row + r), (u32)(first_chunk + element / CHUNK)) +
            (u32)(element % CHUNK * RESULT_BYTES);
        const int q = column + (SWAP_AB ? warp * 16 : 0) + element;
        result *to = c + (long long)(row + r) * s.ldc + q;
        if (row + r >= s.m || q >= s.n) {
            continue;
        }
        if (unit == 16) {
            u32 a, b, d, e;
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(a), "=r"(b), "=r"(d), "=r"(e)
                         : "r"(from)
                         : "memory");
            *(uint4 *)to = make_uint4(a, b, d, e);
        } else if (unit == 4) {
            u32 a;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(from) : "memory");
            *(u32 *)to = a;
        } else {
            unsigned short a;
#if c_type_is_e4m3
            asm volatile("ld.shared.u8 %0, [%1];" : "=h"(a) : "r"(from) : "memory");
#else
            asm volatile("ld.shared.u16 %0, [%1];" : "=h"(a) : "r"(from) : "memory");
#endif
            *to = (result)a;
        }
    }
}

#if c_type_is_e4m3
/* Writes the sums of 16 columns of an accumulator to a piece as e4m3, from its row or, swapped, its
   column `first` on. A lane has pairs of neighbours in columns lane % 4 * 2 of two groups of 8.
   Even lanes take the pair of the first group that the lane beside them has, and give it that of
   the second, so that each has four neighbours of its two rows. Transposed, neighbours are in
   lanes of other rows, and each element is written by itself. */
DEVICE void stage_bytes(u32 piece, const float x[8], int first, int warp, int lane)
{
    const u32 at = (u32)(lane / 4), pair = (u32)(lane % 4);
    if (SWAP_AB) {
#pragma unroll
        for (u32 i = 0; i < 8; i++) {
            const u32 to = piece_at(piece, (u32)first + i / 4 * 8 + pair * 2 + i % 2, (u32)warp) +
                           at + i / 2 % 2 * 8;
            asm volatile("st.shared.u8 [%0], %1;" ::"r"(to), "r"(pack_bytes(x[i], x[i]))
                         : "memory");
        }
        return;
    }
    const bool odd = lane % 2 != 0;
    const u32 near = pack_bytes(x[0], x[1]) | pack_bytes(x[2], x[3]) << 16; /* rows at, at + 8 */
    const u32 far = pack_bytes(x[4], x[5]) | pack_bytes(x[6], x[7]) << 16;
    const u32 mine = odd ? far : near;
    const u32 other = __shfl_xor_sync(0xffffffffu, odd ? near : far, 1);
    const u32 low = odd ? other : mine, high = odd ? mine : other;
    const u32 within = (odd ? 8 : 0) + pair / 2 * 4;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(
                         piece_at(piece, (u32)warp * 16 + at + i * 8, (u32)first / 16) + within),
                     "r"(__byte_perm(low, high, i == 0 ? 0x5410 : 0x7632))
                     : "memory");
    }
}
#endif

/* Applies the epilogue to one wgmma's accumulator and sends it to C. p0 and q0 are its first row
   and column in terms of X and Y. `buffer` counts this consumer's staging buffers. */
DEVICE void finish(float acc[OWN_N / 2], const tensor_map *map_c, result *c, addends add,
                   u32 staging, u32 *buffer, int p0, int q0, gemm_sizes s, int consumer, int warp,
                   int lane)
{
#if SCALES == 2
    const float of_p[2] = {scale_p(add, p0 + warp * 16 + lane / 4, s),
                           scale_p(add, p0 + warp * 16 + lane / 4 + 8, s)};
#endif
#pragma unroll
    for (int piece = 0; piece < PIECES; piece++) {
        enum { COLUMNS = OWN_N / PIECES };
#if HAS_BETA || HAS_RESIDUAL
        /* Up to 64 columns are loaded at once, so that their latency is paid once. If the sums
           leave no registers for that, it is 16 columns. Transposed, loading takes more
           instructions. */
        enum {
            AHEAD = SWAP_AB || MMAS * MMA_N > 256 ? 1
                    : COLUMNS % 64 == 0           ? 4
                    : COLUMNS % 32 == 0           ? 2
                                                  : 1
        };
        u32 c_in[AHEAD][4], residual[AHEAD][4];
#endif
        const u32 at = staging + *buffer * PIECE_BYTES;
        if (!DIRECT_STORE && EPILOGUE_BUFFERS) {
            if (warp == 0 && elect_one()) {
                STORE_WAIT(EPILOGUE_BUFFERS - 1);
            }
            named_sync(BARRIER_OWN + consumer, 128);
        }
#pragma unroll
        for (int j = 0; j < (COLUMNS + 15) / 16; j++) {
            const int first = piece * COLUMNS + j * 16;
            float x[8];
#if HAS_BETA || HAS_RESIDUAL
            if (j % AHEAD == 0) {
#pragma unroll
                for (int i = 0; i < AHEAD; i++) {
                    const int p = p0 + warp * 16 + lane / 4;
                    const int q = q0 + first + i * 16 + lane % 4 * 2;
                    if (HAS_BETA) {
                        load_pairs(c_in[i], add.c_in, p, q, s);
                    }
                    if (HAS_RESIDUAL) {
                        load_pairs(residual[i], add.residual, p, q, s);
                    }
                }
            }
#endif
#if SCALES == 2
            float of_q[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                of_q[i] = scale_q(add, q0 + first + lane % 4 * 2 + i / 2 * 8 + i % 2, s);
            }
#endif
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x[i] = first / 2 + i < OWN_N / 2 ? acc[first / 2 + i] : 0;
#if HAS_ALPHA
                x[i] *= s.alpha;
#elif SCALES == 2
                x[i] *= of_p[i / 2 % 2] * of_q[i / 4 * 2 + i % 2];
#endif
            }
#if HAS_BETA
            add_pairs(x, c_in[j % AHEAD], s.beta);
#endif
#if LATE_BIAS
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x[i] += bias_at(add,
                                SWAP_AB ? p0 + warp * 16 + lane / 4 + i / 2 % 2 * 8
                                        : q0 + first + lane % 4 * 2 + i / 4 * 8 + i % 2,
                                s);
            }
#endif
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x[i] = EPILOGUE(x[i]);
            }
#if HAS_RESIDUAL
            add_pairs(x, residual[j % AHEAD], 1.0f);
#endif
#if c_type_is_e4m3
#pragma unroll
            for (int i = 0; i < 8; i++) {
                x[i] *= s.scale_c;
            }
            stage_bytes(at, x, SWAP_AB ? first : j * 16, warp, lane);
#else
            const u32 r0 = pack(x[0], x[1]), r1 = pack(x[2], x[3]);
            const u32 r2 = pack(x[4], x[5]), r3 = pack(x[6], x[7]);
            /* Each lane gives the address of one row of 8: lanes 0-7 those of the first matrix, and
               so on. */
            const int matrix = lane / 8;
            const u32 row = SWAP_AB ? (u32)(first + matrix / 2 * 8 + lane % 8)
                                    : (u32)(warp * 16 + matrix % 2 * 8 + lane % 8);
            const u32 chunk = SWAP_AB ? (u32)(warp * 2 + matrix % 2) : (u32)(j * 2 + matrix / 2);
            const u32 to = piece_at(at, row, chunk);
            if (SWAP_AB) {
                store_matrix_transposed(to, r0, r1, r2, r3);
            } else {
                store_matrix(to, r0, r1, r2, r3);
            }
#endif
        }
        if (DIRECT_STORE) {
            __syncwarp(); /* a warp stores only what it has written itself */
            const int row = SWAP_AB ? q0 : p0 + warp * 16;
            const int column = SWAP_AB ? p0 : q0 + piece * COLUMNS;
            const int aligned = (s.n | s.ldc) * RESULT_BYTES;
            if (aligned % 16 == 0) {
                store_ordinary(16, at, c, row, column, s, warp, lane);
            } else if (aligned % 4 == 0) {
                store_ordinary(4, at, c, row, column, s, warp, lane);
            } else {
                store_ordinary(RESULT_BYTES, at, c, row, column, s, warp, lane);
            }
            __syncwarp();
        } else {
            fence_async();
            named_sync(BARRIER_OWN + consumer, 128);
            if (warp == 0 && elect_one()) {
                if (SWAP_AB) {
                    store_tile(map_c, at, p0, q0);
                } else {
                    store_tile(map_c, at, q0 + piece * COLUMNS, p0);
                }
            }
            *buffer = *buffer + 1 == EPILOGUE_BUFFERS ? 0 : *buffer + 1;
        }
    }
}

#endif

#if (PAD_A || PAD_B) && ELEMENT_BYTES == 4
/* Copies a matrix, turned, to rows of `to` that the copy engine can address, a tile at a time. */
DEVICE void turn_matrix(const float *from, float *to, int rows, int columns, int ld)
{
    __shared__ float tile[32][33];
    const int across = tiles_along(columns, 32), lane = (int)threadIdx.x % 32;
    const long long tiles = (long long)tiles_along(rows, 32) * across;
    const int pitch = tiles_along(rows, 32) * 32;
    for (long long i = blockIdx.x; i < tiles; i += gridDim.x) {
        const int row0 = (int)(i / across) * 32, column0 = (int)(i % across) * 32;
        for (int r = (int)threadIdx.x / 32; r < 32; r += 8) {
            if (row0 + r < rows && column0 + lane < columns) {
                tile[r][lane] = from[(long long)(row0 + r) * ld + column0 + lane];
            }
        }
        __syncthreads();
        for (int r = (int)threadIdx.x / 32; r < 32; r += 8) {
            if (column0 + r < columns && row0 + lane < rows) {
                to[(long long)(column0 + r) * pitch + row0 + lane] = tile[lane][r];
            }
        }
        __syncthreads();
    }
}

/* Copies a matrix to such rows. Each warp has pieces of a row, whose elements it loads at once. */
DEVICE void copy_matrix(const float *from, float *to, int rows, int columns, int ld)
{
    enum { AT_ONCE = 8, PIECE = 32 * AT_ONCE };
    const int across = tiles_along(columns, PIECE), pitch = tiles_along(columns, 32) * 32;
    for (long long i = blockIdx.x * 8 + threadIdx.x / 32; i < (long long)rows * across;
         i += gridDim.x * 8) {
        const long long row = i / across;
        const int column = (int)(i - row * across) * PIECE + (int)threadIdx.x % 32;
        float x[AT_ONCE];
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            if (column + j * 32 < columns) {
                x[j] = from[row * ld + column + j * 32];
            }
        }
#pragma unroll
        for (int j = 0; j < AT_ONCE; j++) {
            if (column + j * 32 < columns) {
                to[row * pitch + column + j * 32] = x[j];
            }
        }
    }
}

DEVICE void copy_or_turn(const float *from, float *to, int rows, int columns, int ld, bool turn)
{
    if (turn) {
        turn_matrix(from, to, rows, columns, ld);
    } else {
        copy_matrix(from, to, rows, columns, ld);
    }
}

/* Copies the operands that the copy engine cannot address, or whose contiguous direction is not K,
   to their places in the workspace, so many bytes from its start. It runs in any number of blocks
   of 256 threads. */
extern "C" __global__ void __launch_bounds__(256)
    ak_pad(const float *a, const float *b, unsigned char *workspace, long long place_a,
           long long place_b, int a_rows, int a_columns, int lda, int b_rows, int b_columns,
           int ldb)
{
#if LAUNCH_EARLY
    let_next_kernel_start();
    wait_for_kernel_before();
#endif
    if (PAD_A) {
        copy_or_turn(a, (float *)(workspace + place_a), a_rows, a_columns, lda, TURN_A);
    }
    if (PAD_B) {
        copy_or_turn(b, (float *)(workspace + place_b), b_rows, b_columns, ldb, TURN_B);
    }
}
#elif PAD_A || PAD_B
/* A matrix whose rows are `ld` elements apart, and its copy whose rows are `pitch` apart, a
   multiple of 8. */
typedef struct padding {
    const unsigned short *from;
    unsigned short *to;
    long long rows;
    int columns, ld, pitch;
} padding;

/* Loads the 16 bytes at an aligned address. Bytes outside of the matrix become 0. */
DEVICE uint4 read_inside(u64 at, u64 begin, u64 end)
{
    uint4 v = {0, 0, 0, 0};
    if (at >= begin && at + 16 <= end) {
        asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(at));
    } else {
        u32 w[4] = {0, 0, 0, 0};
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (at + 2 * i >= begin && at + 2 * i < end) {
                w[i / 2] |= (u32) * (const unsigned short *)(at + 2 * i) << (i % 2 * 16);
            }
        }
        v = make_uint4(w[0], w[1], w[2], w[3]);
    }
    return v;
}

/* Returns four of eight words, from byte `shift` on, which is the same in the whole warp. */
DEVICE uint4 extract(uint4 low, uint4 high, u32 shift)
{
    u32 w[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (shift & 8) {
#pragma unroll
        for (int i = 0; i < 6; i++) {
            w[i] = w[i + 2];
        }
    }
    if (shift & 4) {
#pragma unroll
        for (int i = 0; i < 5; i++) {
            w[i] = w[i + 1];
        }
    }
    const u32 bits = shift % 4 * 8;
    return make_uint4(__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits),
                      __funnelshift_r(w[2], w[3], bits), __funnelshift_r(w[3], w[4], bits));
}

enum { PAD_VECTORS = 4 }; /* vectors that each lane copies at a time */

/* Copies the share of warp `warp` of `warps`, in pieces of PAD_VECTORS * 256 elements of a row. */
DEVICE void copy_rows(padding p, long long warp, long long warps, u32 lane)
{
    const int pieces = tiles_along(p.columns, PAD_VECTORS * 256);
    const u64 begin = (u64)p.from, end = begin + (u64)((p.rows - 1) * p.ld + p.columns) * 2;
    for (long long piece = warp; piece < p.rows * pieces; piece += warps) {
        const long long row = piece / pieces;
        const int first = (int)(piece - row * pieces) * (PAD_VECTORS * 256);
        const u64 source = begin + (u64)(row * p.ld + first) * 2;
        const u32 shift = (u32)source & 15;
        uint4 v[PAD_VECTORS], next[PAD_VECTORS];
#pragma unroll
        for (int i = 0; i < PAD_VECTORS; i++) {
            const u64 at = source - shift + (i * 32 + lane) * 16;
            v[i] = read_inside(at, begin, end);
            next[i] = make_uint4(0, 0, 0, 0);
            if (lane == 31) {
                next[i] = read_inside(at + 16, begin, end);
            }
        }
#pragma unroll
        for (int i = 0; i < PAD_VECTORS; i++) {
            const int column = first + (i * 32 + (int)lane) * 8;
            const uint4 up = make_uint4(
                __shfl_down_sync(0xffffffffu, v[i].x, 1), __shfl_down_sync(0xffffffffu, v[i].y, 1),
                __shfl_down_sync(0xffffffffu, v[i].z, 1), __shfl_down_sync(0xffffffffu, v[i].w, 1));
            const uint4 out = extract(v[i], lane == 31 ? next[i] : up, shift);
            if (column < p.columns) {
                *(uint4 *)(p.to + row * p.pitch + column) = out;
            }
        }
    }
}

/* Copies the operands that the copy engine cannot address to their places in the workspace, so many
   bytes from its start. It runs in any number of blocks of 256 threads. */
extern "C" __global__ void __launch_bounds__(256)
    ak_pad(const unsigned short *a, const unsigned short *b, unsigned char *workspace,
           long long place_a, long long place_b, int a_rows, int a_columns, int lda, int b_rows,
           int b_columns, int ldb)
{
    const long long warp = blockIdx.x * 8 + threadIdx.x / 32, warps = gridDim.x * 8;
    const u32 lane = threadIdx.x % 32;
#if LAUNCH_EARLY
    let_next_kernel_start();
    wait_for_kernel_before();
#endif
    if (PAD_A) {
        const padding p = {a,   (unsigned short *)(workspace + place_a), a_rows, a_columns,
                           lda, tiles_along(a_columns, 64) * 64};
        copy_rows(p, warp, warps, lane);
    }
    if (PAD_B) {
        const padding p = {b,   (unsigned short *)(workspace + place_b), b_rows, b_columns,
                           ldb, tiles_along(b_columns, 64) * 64};
        copy_rows(p, warp, warps, lane);
    }
}
#endif

#if LAUNCH_EARLY >= 2
/* Prefetches the descriptors and the first slots, which also loads the translations of their pages.
   The level 2 cache sees what the previous kernel still writes, so the data may be prefetched
   there. */
DEVICE void prefetch_first(const tensor_map *map_a, const tensor_map *map_b, work w, gemm_sizes s,
                           u32 rank)
{
    prefetch_map(map_a);
    prefetch_map(map_b);
    for (int i = 0; i < PREFETCH_SLOTS && i < w.count; i++) {
        const origin o = origin_of(w, w.first + i, s);
        load_operand(map_a, 0, 0, A_LAYOUT, BLOCK_SIZE_M, o.m, o.k, CLUSTER_N,
                     (int)(rank / CLUSTER_M % CLUSTER_N), PREFETCH, 0, 0);
        load_operand(map_b, 0, 0, B_LAYOUT, BLOCK_SIZE_N, o.n, o.k, CLUSTER_M,
                     (int)(rank % CLUSTER_M), PREFETCH, 0, 0);
    }
}
#endif

DEVICE void multiply_tiles(const tensor_map *map_a, const tensor_map *map_b,
                           const tensor_map *map_c, result *c, const number *bias, addends add,
                           unsigned char *workspace, gemm_sizes s)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    const u32 base = shared_address(shared);
    const u32 full = base + OFFSET_BARS;
    const u32 empty = full + 8 * num_stages;
    const u32 pushed = empty + 8 * num_stages; /* a barrier of 8 bytes for each consumer */
    const u32 rank = CLUSTER > 1 ? cluster_rank() : 0;
    /* the same value in all lanes of a warp */
    const int warp = __shfl_sync(0xffffffffu, (int)threadIdx.x / 32, 0);
    const int group = warp / 4;
    const int stride = (int)(gridDim.x / CLUSTER);
#if GPC_ORDER
    const int first_item = by_gpc((int)(blockIdx.x / CLUSTER), stride);
#else
    const int first_item = (int)(blockIdx.x / CLUSTER);
#endif
    s.whole = whole_tiles(s, stride);
    const int items = work_items(s);

    const bool produces = group == NUM_CONSUMERS;
#if LAUNCH_EARLY == 1 || LAUNCH_EARLY == 2
    let_next_kernel_start();
#endif
    if (threadIdx.x == 128 * NUM_CONSUMERS) {
        for (int i = 0; i < num_stages; i++) {
            barrier_init(full + 8 * i, STAGED_SCALES ? 33 : 1);
            barrier_init(empty + 8 * i, WARPGROUPS * (CLUSTER_M + CLUSTER_N - 1));
        }
        if (SHARES) {
            for (int i = 0; i < NUM_CONSUMERS; i++) {
                barrier_init(pushed + 8 * i, 1);
                barrier_expect(pushed + 8 * i, (CLUSTER_K - 1) * SLAB_BYTES);
            }
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    if (PLANE > 1) {
        __syncwarp();
        cluster_arrive();
        if (!produces) {
            cluster_wait();
        }
    } else if (produces) {
        __syncwarp();
        named_arrive(BARRIER_INIT, THREADS); /* the block starts loading at once */
    } else {
        named_sync(BARRIER_INIT, THREADS);
    }
#if LAUNCH_EARLY >= 2
    if (produces && warp == 4 * NUM_CONSUMERS && first_item < items && elect_one()) {
        prefetch_first(map_a, map_b, work_at(first_item, s, rank), s, rank);
    }
    __syncwarp();
#endif
#if LAUNCH_EARLY
    wait_for_kernel_before();
#endif

    if (produces) {
#if PRODUCER_REGISTERS
        asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
#endif
        /* With scales of blocks all lanes copy scales. */
        if (warp == 4 * NUM_CONSUMERS && (STAGED_SCALES || elect_one())) {
            const int cm = (int)(rank % CLUSTER_M);
            const int cn = (int)(rank / CLUSTER_M % CLUSTER_N);
            const int ck = (int)(rank / (CLUSTER_M * CLUSTER_N));
            u32 mask_a = 0, mask_b = 0;
            ring r = {0, 1};            /* the first round has nothing to wait for */
            bool together = PLANE == 1; /* the barriers of the other blocks exist */
            /* No slot may be loaded alone twice. The signal that a slot is free counts the blocks
               that share its data, and a block that loads alone could be a round ahead of them. */
            int alone = EARLY_SLOTS < num_stages ? EARLY_SLOTS : num_stages;
            for (int i = 0; i < CLUSTER_N; i++) { /* A is shared along N */
                mask_a |= 1u << ((ck * CLUSTER_N + i) * CLUSTER_M + cm);
            }
            for (int i = 0; i < CLUSTER_M; i++) {
                mask_b |= 1u << ((ck * CLUSTER_N + cn) * CLUSTER_M + i);
            }
            /* heart: begin */
            for (int id = first_item; id < items; id += stride) {
                const work w = work_at(id, s, rank);
                for (int i = 0; i < w.count; i++) {
                    const origin o = origin_of(w, w.first + i, s);
                    const u32 slot = base + r.slot * STAGE_BYTES;
                    const u32 bar = full + 8 * r.slot;
                    if (!together && alone-- == 0) {
                        cluster_wait();
                        together = true;
                    }
                    barrier_wait(empty + 8 * r.slot, r.parity);
                    if (!STAGED_SCALES || elect_one()) {
                        barrier_expect(bar, LOADED_BYTES);
                        if (together) {
                            load_operand(map_a, slot, bar, A_LAYOUT, BLOCK_SIZE_M, o.m, o.k,
                                         CLUSTER_N, cn, CLUSTER_N > 1 ? MULTICAST : LOAD, mask_a,
                                         EVICT_POLICY(EVICT_A));
                            load_operand(map_b, slot + A_BYTES, bar, B_LAYOUT, BLOCK_SIZE_N, o.n,
                                         o.k, CLUSTER_M, cm, CLUSTER_M > 1 ? MULTICAST : LOAD,
                                         mask_b, EVICT_POLICY(EVICT_B));
                        } else {
                            for (int j = 0; j < CLUSTER_N; j++) {
                                load_operand(map_a, slot, bar, A_LAYOUT, BLOCK_SIZE_M, o.m, o.k,
                                             CLUSTER_N, j, LOAD, 0, EVICT_POLICY(EVICT_A));
                            }
                            for (int j = 0; j < CLUSTER_M; j++) {
                                load_operand(map_b, slot + A_BYTES, bar, B_LAYOUT, BLOCK_SIZE_N,
                                             o.n, o.k, CLUSTER_M, j, LOAD, 0,
                                             EVICT_POLICY(EVICT_B));
                            }
                        }
                    }
#if STAGED_SCALES
                    load_scales(base + OFFSET_SCALES + r.slot * SCALE_BYTES, bar, add, o, s,
                                (int)threadIdx.x % 32);
#endif
                    ring_next(&r);
                }
            }
            /* heart: end */
#if LAUNCH_EARLY == 3
            let_next_kernel_start();
#endif
            if (!together) {
                cluster_wait();
            }
        } else if (PLANE > 1) {
            cluster_wait();
        }
        __syncwarp();
#if SHARES
        cluster_meet();
#elif CLUSTER_K > 1
        cluster_sync();
#endif
    } else {
#if CONSUMER_REGISTERS
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
#endif
#if SCALES == 1
        s.alpha = __ldg(add.scale_a) * __ldg(add.scale_b);
#endif
#if c_type_is_e4m3
        s.scale_c = __ldg(add.scale_c);
#endif
        const int consumer = group;
        const int thread = threadIdx.x % 128;
#if !RESULT_F32
        const u32 staging =
            base + (EPILOGUE_BUFFERS ? OFFSET_C : 0) + (u32)(consumer * STAGED_BYTES);
        u32 buffer = 0;
#endif
#if SPLIT_K > 1 && !SPLIT_WAIT
        const u32 flag = pushed + 8 * NUM_CONSUMERS + 4 * (u32)consumer;
#endif
        const int row0 = PING_PONG ? 0 : consumer / BESIDE * (MMAS * 64);
        const int column0 = consumer % BESIDE * MMA_N;
        const u32 x_offset = SWAP_AB ? A_BYTES : 0;
        const u32 y_offset = (SWAP_AB ? 0 : A_BYTES) + (u32)(BESIDE > 1 ? column0 * 128 : 0);
        const u32 x_rows = X_LAYOUT ? (u32)(row0 / LINE * BLOCK_SIZE_K * 128) : (u32)(row0 * 128);
        ring r = {0, 0};
        int id = first_item;
        bool leaving = false;
        float acc[MMAS][MMA_N / 2];

        if (PING_PONG) {
            if (consumer == 1) {
                named_arrive(BARRIER_TURN, 256); /* consumer 0 goes first */
                ring_skip(&r, (u32)work_at(id, s, rank).count);
                id += stride;
            }
        }
#if HAS_BIAS && SWAP_AB
        const int bias_row = row0 + warp % 4 * 16 + thread % 32 / 4;
        unsigned short bias_rows[MMAS][2];
        fetch_bias(bias_rows, bias, work_at(id, s, rank).n0 + bias_row, s.n);
#elif HAS_BIAS
        const u32 bias_stage = base + OFFSET_BIAS + (u32)(consumer * (2 * MMA_N * 2));
        u32 bias_turn = 0;
        fetch_bias(bias_stage, bias, work_at(id, s, rank).n0, s.n, thread);
#endif
        while (id < items) {
            const work w = work_at(id, s, rank);
#if HAS_BIAS
            const bool first_part = w.part == 0 && rank / PLANE == 0;
            const int next = id + (PING_PONG ? 2 : 1) * stride;
#if SWAP_AB
            begin_with_bias(acc, bias_rows, bias_scale(first_part, s));
            keep_in_place(acc);
            if (next < items) {
                fetch_bias(bias_rows, bias, work_at(next, s, rank).n0 + bias_row, s.n);
            }
#else
            asm volatile("cp.async.wait_all;" ::: "memory");
            named_sync(BARRIER_OWN + consumer, 128);
            begin_with_bias(acc, bias_stage + bias_turn, bias_scale(first_part, s), thread % 32);
            keep_in_place(acc);
            bias_turn ^= MMA_N * 2;
            if (next < items) {
                fetch_bias(bias_stage + bias_turn, bias, work_at(next, s, rank).n0, s.n, thread);
            }
#endif
#endif
#if SCALES == 2 || LATE_BIAS
            prefetch_vectors(add, w, s, thread);
#endif
#if HAS_BETA
            prefetch_tile(add.c_in, w.m0, w.n0, s);
#endif
#if HAS_RESIDUAL
            prefetch_tile(add.residual, w.m0, w.n0, s);
#endif
            if (PING_PONG) {
                named_sync(BARRIER_TURN + consumer, 256);
            }
#if PROMOTE
#pragma unroll
            for (int j = 0; j < MMAS; j++) {
#pragma unroll
                for (int e = 0; e < MMA_N / 2; e++) {
                    acc[j][e] = 0;
                }
            }
#else
            u32 before = 0;
#endif
            /* Slots that are not filled again need no release and must not have one: nothing tells
               when the signal has reached another block, which might have ended. Another item may
               have one slot more or less. */
            const int later = (items - 1 - id) / stride;
            const int awaited = PLANE > 1 ? w.count + later * (w.count + 1) - num_stages : w.count;
#if PROMOTE
            int i = 0;
            float part[PARTIAL_SETS * GROUP_MMAS][WGMMA_N / 2];
            for (; i + PROMOTE_SLOTS <= w.count; i += PROMOTE_SLOTS) {
                multiply_slots(PROMOTE_SLOTS, acc, part, &r, base, x_offset + x_rows, y_offset, i,
                               w.count, awaited, row0, rank, warp % 4, thread);
            }
            for (; PROMOTE_SLOTS > 1 && i < w.count; i++) {
                multiply_slots(1, acc, part, &r, base, x_offset + x_rows, y_offset, i, w.count,
                               awaited, row0, rank, warp % 4, thread);
            }
#else
#if X_IN_REGISTERS
            /* While one half of a slot is multiplied, the next is loaded. */
            half_slot half[2];
            barrier_wait(full + 8 * r.slot, r.parity);
            load_half(half[0], base + r.slot * STAGE_BYTES + x_offset + x_rows, warp % 4,
                      thread % 32);
#endif
            for (int i = 0; i < w.count; i++) {
                const u32 slot = base + r.slot * STAGE_BYTES;
                const u64 from_x = mma_descriptor(slot + x_offset + x_rows, BLOCK_SIZE_K * 128);
                const u64 from_y = mma_descriptor(slot + y_offset, BLOCK_SIZE_K * 128);
#if X_IN_REGISTERS
                const u32 x = slot + x_offset + x_rows;
#pragma unroll
                for (int h = 0; h < 2; h++) {
                    mma_fence();
#pragma unroll
                    for (int step = 0; step < HALF_STEPS; step++) {
                        const u64 y = from_y + y_step(h * HALF_STEPS + step);
#pragma unroll
                        for (int j = 0; j < MMAS; j++) {
                            mma_registers(acc[j], half[h][step][j], y, h > 0 || step > 0 || i > 0);
                        }
                    }
                    mma_commit();
                    MMA_WAIT(1); /* the half before is multiplied */
                    if (h == 0) {
                        if (i > 0 && i - 1 < awaited) {
                            release_slot(empty + 8 * before, rank, thread);
                        }
                        load_half(half[1], x + HALF_STEPS * 1024, warp % 4, thread % 32);
                        before = r.slot;
                        ring_next(&r);
                    } else if (i + 1 < w.count) {
                        barrier_wait(full + 8 * r.slot, r.parity);
                        load_half(half[0], base + r.slot * STAGE_BYTES + x_offset + x_rows,
                                  warp % 4, thread % 32);
                    }
                }
            }
            if (PING_PONG) {
                named_arrive(BARRIER_TURN + (consumer ^ 1), 256);
            }
            MMA_WAIT(0);
            if (w.count - 1 < awaited) {
                release_slot(empty + 8 * before, rank, thread);
            }
#else
                barrier_wait(full + 8 * r.slot, r.parity);
                mma_fence();
#pragma unroll
                /* heart: begin */
                for (int step = 0; step < K_STEPS; step++) {
                    const u64 y = from_y + y_step(step);
#pragma unroll
                    for (int j = 0; j < MMAS; j++) {
                        const int add = HAS_BIAS || step > 0 || i > 0;
                        mma(acc[j], from_x + x_step(step, j), y, add);
                    }
                }
                mma_commit();
                MMA_WAIT(MMA_IN_FLIGHT);
                /* The slot whose products are now complete may be filled again. */
                const u32 done = MMA_IN_FLIGHT ? before : r.slot;
                if (MMA_IN_FLIGHT ? i > 0 && i - 1 < awaited : i < awaited) {
                    release_slot(empty + 8 * done, rank, thread);
                }
                before = r.slot;
                ring_next(&r);
            }
            if (PING_PONG) {
                named_arrive(BARRIER_TURN + (consumer ^ 1), 256);
            }
            MMA_WAIT(0);
            /* heart: end */
            if (MMA_IN_FLIGHT && w.count - 1 < awaited) {
                release_slot(empty + 8 * before, rank, thread);
            }
#endif
#endif
            if (EARLY_END && id + (PING_PONG ? 2 : 1) * stride >= items) {
                __syncwarp();
                cluster_arrive(); /* it signals no block any more */
                leaving = true;
            }
            keep_in_place(acc); /* the sums must not be read before the wait */
            bool mine = true;
            u32 column = 0; /* first of the columns that this block finishes */
#if SHARES
            const u32 place = base + (u32)(consumer * SLAB_BYTES + thread * 16);
            float own[MMAS][OWN_N / 2];
            cluster_meet(); /* all blocks have read their rings */
            push_sums(acc, own, place, pushed + 8 * (u32)consumer, rank);
            barrier_wait(pushed + 8 * (u32)consumer, 0);
            add_pushed(own, place);
            column = rank / PLANE * OWN_N;
#elif CLUSTER_K > 1
            const u32 depth = rank / (CLUSTER_M * CLUSTER_N);
            const u32 place = base + (u32)(consumer * (MMAS * MMA_N / 2 * 128) + thread * 4) * 4;
            float own[MMAS][OWN_N / 2];
            named_sync(BARRIER_ALL, 128 * NUM_CONSUMERS); /* all consumers have read the ring */
            leave_sums(acc, place);
            cluster_sync();
            mine = depth == 0;
            if (mine) {
                collect_sums(own, place, rank);
            }
#else
            float(&own)[MMAS][OWN_N / 2] = acc;
#endif
#if SPLIT_K > 1
            const int item =
                (w.tile * (SHARES ? CLUSTER_K : 1) + (int)(column / OWN_N)) * WARPGROUPS +
                (PING_PONG ? 0 : consumer);
            if (mine && w.divided) {
#if SPLIT_WAIT
                share_parts(own, workspace, c, add, item, w.part, (SWAP_AB ? w.n0 : w.m0) + row0,
                            (SWAP_AB ? w.m0 : w.n0) + column0 + (int)column, s, consumer, thread);
                mine = false;
#else
                mine = add_parts(own, workspace, item, w.part, consumer, flag, thread);
#endif
            }
#endif
            if (!EPILOGUE_BUFFERS && !RESULT_F32) {
                named_sync(BARRIER_ALL, 128 * NUM_CONSUMERS); /* all have read the ring */
            }
            if (mine) {
#if RESULT_F32
                finish(own, c, add, (SWAP_AB ? w.n0 : w.m0) + row0,
                       (SWAP_AB ? w.m0 : w.n0) + column0 + (int)column, s, warp % 4, thread % 32);
#else
#pragma unroll
                for (int j = 0; j < MMAS; j++) {
                    finish(own[j], map_c, c, add, staging, &buffer,
                           (SWAP_AB ? w.n0 : w.m0) + row0 + j * 64,
                           (SWAP_AB ? w.m0 : w.n0) + column0 + (int)column, s, consumer, warp % 4,
                           thread % 32);
                }
#endif
            }
            id += stride;
            if (PING_PONG) {
                if (id < items) {
                    ring_skip(&r, (u32)work_at(id, s, rank).count);
                }
                id += stride;
            }
        }
        if (EARLY_END && !leaving) {
            __syncwarp();
            cluster_arrive();
        }
        if (!DIRECT_STORE && warp % 4 == 0 && elect_one()) {
            STORE_WAIT(0);
        }
    }
    /* No block may end while others may still signal it or read its memory. */
    if (EARLY_END) {
        if (produces) {
            __syncwarp();
            cluster_arrive();
        }
        cluster_wait();
    } else if (PLANE > 1 || (CLUSTER > 1 && !SHARES)) {
        cluster_meet();
    }
}

#define ENTRY(name)                                                                                \
    extern "C" __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS,          \
                                                                                 BLOCKS_PER_SM)    \
        name(const __grid_constant__ tensor_map map_a, const __grid_constant__ tensor_map map_b,   \
             const __grid_constant__ tensor_map map_c, result *c, const number *bias,              \
             const number *c_in, const number *residual, unsigned char *workspace, int m, int n,   \
             int k, int ldc, float alpha, float beta, u64 by_group, u64 by_last SCALE_PARAMETERS)

#if SCALES
#define SCALE_PARAMETERS                                                                           \
    , const float *scale_a, const float *scale_b, int scale_pitch, const float *scale_c
#define SCALE_ARGUMENTS scale_a, scale_b, scale_pitch, bias, scale_c
#else
#define SCALE_PARAMETERS
#define SCALE_ARGUMENTS nullptr, nullptr, 0, bias, nullptr
#endif

#if !(defined SIZE_M && defined OWN_SIZE_ONLY)
ENTRY(ak_kernel)
{
    const addends add = {c_in, residual, SCALE_ARGUMENTS};
    const gemm_sizes s = {m, n, k, ldc, alpha, beta, by_group, by_last, false, 0};
    multiply_tiles(&map_a, &map_b, &map_c, c, bias, add, workspace, s);
}

#endif

#ifdef SIZE_M
/* The same kernel with sizes that the compiler knows. */
ENTRY(ak_kernel_sized)
{
    const addends add = {c_in, residual, SCALE_ARGUMENTS};
    const gemm_sizes s = {SIZE_M, SIZE_N, SIZE_K, ldc, alpha, beta, by_group, by_last, true, 0};
    multiply_tiles(&map_a, &map_b, &map_c, c, bias, add, workspace, s);
}
#endif
