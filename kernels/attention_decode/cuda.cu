/*
 * cuda.cu: attention of one to a few queries of each sequence to long keys, for compute
 * capability 8.0 and higher, with mma.sync, ldmatrix and cp.async. Input and output are bf16 or
 * f16, sums are in f32. K and V may be e4m3 (8.9 and higher), each head with scales of its own.
 *
 * The time is that of reading K and V once. The query heads that share a head of K and V, and
 * the queries of the sequence, form the rows of one small matrix, so every key is read once for
 * all of them.
 *
 * Work. An item is a sequence and a head of K and V (and a part of the rows, if there are more
 * than 8 * ROW_TILES). Its keys are cut into tiles of TILE_KEYS. The tiles of all items form one
 * line, which the blocks that the device holds at once share evenly, whatever the lengths are:
 * each block has one stretch of it. For this, each item counts as ITEM_COST tiles more than it has,
 * since its end takes time too: else a block with many short items would be the last to end. A
 * stretch begins and ends within items; its part of one item is a segment. The warps of a block
 * take the tiles of a segment in turn. Each warp fills its own ring of STAGES tiles in shared
 * memory, across the ends of segments, so no warp waits for a barrier of the block while tiles
 * stream in.
 *
 * A tile. Rows are the narrow side: S^T = K Q^T and O^T = V^T P^T. The 16 rows of an mma are
 * keys in the first product and columns of V in the second; its 8 columns are rows of Q. A
 * transposition of 8 x 8 matrices among lanes turns the result of the first product into an
 * operand of the second. Maxima are running maxima over tiles (online softmax). Each lane sums
 * the weights of its own keys, and the lanes combine these sums at the segment's end.
 *
 * Bytes. ldmatrix moves pairs of bytes where it else moves elements, so that a lane gets four
 * neighbours of a row of K, and of V two columns of two keys. They become f16, and what the lane's
 * operands then are is another order of the elements of a product: Q is loaded in the order of K,
 * and O is left in the order of V. The scale of K joins that of the scores, and the scale of V the
 * division at the end.
 *
 * The end of a segment. The warps combine their sums in the slots of the ring that were used
 * last. A block writes the result of an item that it has alone. Of an item that it shares, it
 * leaves its sums in the workspace. The last of the blocks that share an item, or each of them a
 * share of it, then adds the sums of all, always in the same order; this is the last step of a
 * block. No flag and no fence announces the sums: a word whose bits are zero has not been
 * written yet. A sum of zero is stored as -0, and the reader of sums sets them back to zero.
 * Blocks thus wait for each other, so all of them must be on the device at once.
 *
 * Parameters (macros):
 *   HEAD_DIM       64, 128, 256: elements of a row of Q, K, V and O
 *   TILE_KEYS      16, 32, 64: keys of a tile
 *   ROW_TILES      rows of Q at a time, in eights; the rest are other items. A slot must have room
 *                  for their sums: 8 * ROW_TILES <= TILE_KEYS
 *   WARPS, STAGES  warps of a block; tiles of a warp's ring, 2 or more
 *   BLOCKS_PER_SM  promised to the compiler
 *   LEAST_TILES    least number of tiles of a block: fewer blocks share a short line
 *   ITEM_COST      tiles that the end of an item counts as
 *   PREFETCH       bytes that a copy brings to the level 2 cache: 0 (its own), 128 or 256
 *   TAKE_SHARES    who adds the sums of an item that several blocks share. 0: the last of them adds
 *                  all; 1: each adds a share
 *   EVICT_FIRST    1: K and V leave the level 2 cache first, so that other things stay: the code of
 *                  a launch's beginning and end, which each SM fetches anew
 *   LAUNCH_EARLY   1: the kernel may begin while the previous one ends
 *   PAGE           keys of a page, a multiple of 16; 0: the keys of a sequence are contiguous
 *   layout_is_nhd  1: the heads of a key are adjacent; else the keys of a head are
 *   kv_is_e4m3     1: K and V are e4m3; else they have the type of Q
 *
 * Dynamic shared memory: SLOTS_BYTES + STATS_BYTES + 4 * (WARPS + batch + 1) bytes.
 * Workspace: zero between launches. Each block has two times 8 * ROW_TILES rows of HEAD_DIM
 * sums, one for the first of its segments and one for the last of several. Four sums are in 32
 * bytes with their maximum and their sum of weights.
 *
 * tests/simt/simt.h defines SIMT and every function of the next section, and runs the rest on a
 * CPU.
 */
typedef unsigned int u32;
typedef unsigned short u16;
typedef long long i64;

/* Elements of K and V; DEPTHS_AT_ONCE: how many steps of 16 elements one load_matrix has. */
#if kv_is_e4m3
typedef unsigned char kv_number;
#define KV_BYTES       1
#define DEPTHS_AT_ONCE 2
#else
typedef u16 kv_number;
#define KV_BYTES       2
#define DEPTHS_AT_ONCE 1
#endif

#define THREADS     (32 * WARPS)
#define ROWS        (8 * ROW_TILES)
#define DEPTHS      (HEAD_DIM / 16)
#define KEY_STEPS   (TILE_KEYS / 16)
#define ROW_BYTES   (KV_BYTES * HEAD_DIM)
#define TILE_BYTES  (TILE_KEYS * ROW_BYTES) /* of K; V has as many */
#define SLOT_BYTES  (2 * TILE_BYTES)
#define SLOTS_BYTES (WARPS * STAGES * SLOT_BYTES)
#define STATS_BYTES (WARPS * ROWS * 8)
#define PIECES      (ROW_BYTES / 16) /* 16-byte pieces of a row */
#define PIECE       (16 / KV_BYTES)  /* elements of a piece */

/* Page numbers of a tile: one if no tile crosses the end of a page. */
#define PAGES_OF_TILE (PAGE == 0 || PAGE % TILE_KEYS == 0 ? 1 : KEY_STEPS)

#define LOWEST (-__uint_as_float(0x7f800000u))

#define MINUS_ZERO 0x80000000u

#ifndef layout_is_nhd
#define layout_is_nhd 0
#endif

#if HEAD_DIM % 64 != 0 || TILE_KEYS % 16 != 0 || PAGE % 16 != 0
#error "rows are multiples of 128 bytes, tiles and pages of 16 keys"
#elif 4 * ROWS > 2 * KV_BYTES * TILE_KEYS
#error "the sums of a warp must fit a slot"
#endif

/* ---- instructions ---- */

#ifndef SIMT

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
#define UNROLL _Pragma("unroll")
#define LOOP   _Pragma("unroll 1")

/* Addresses in shared memory are 32 bits. */
DEVICE u32 shared_base(void)
{
    extern __shared__ __align__(128) unsigned char shared[];
    return (u32)__cvta_generic_to_shared(shared);
}

#if EVICT_FIRST
#define COPY_OP "cp.async.cg.shared.global.L2::cache_hint"
#else
#define COPY_OP "cp.async.cg.shared.global"
#endif
#if PREFETCH == 256
#define COPY_AHEAD ".L2::256B"
#elif PREFETCH == 128
#define COPY_AHEAD ".L2::128B"
#else
#define COPY_AHEAD
#endif

/* Returns the cache policy of data that leave the level 2 cache first. */
DEVICE i64 copy_policy(void)
{
    i64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

/* Starts a copy of 16 bytes, of which the first `bytes` exist; the others become zeros. */
DEVICE void copy_async(u32 to, const void *from, int bytes, i64 policy)
{
#if EVICT_FIRST
    asm volatile(COPY_OP COPY_AHEAD " [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes),
                 "l"(policy)
                 : "memory");
#else
    asm volatile(COPY_OP COPY_AHEAD " [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
#endif
}

DEVICE void copy_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until at most `pending` groups (a constant) are unfinished. */
#define COPY_WAIT(pending) asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory")

DEVICE void block_sync(void)
{
    __syncthreads();
}

DEVICE void warp_sync(void)
{
    __syncwarp();
}

DEVICE void launch_next(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Waits until the previous kernel has ended and its writes can be seen. */
DEVICE void launch_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

DEVICE void store_shared(u32 to, const u32 v[4])
{
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
}

DEVICE void load_shared(u32 v[4], u32 from)
{
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "r"(from)
                 : "memory");
}

DEVICE void store_shared_one(u32 to, u32 v)
{
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(to), "r"(v) : "memory");
}

DEVICE u32 load_shared_one(u32 from)
{
    u32 v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(from) : "memory");
    return v;
}

/* Loads four matrices of 8 x 8. Lanes 0-7 give the addresses of the rows of the first, the next
   eight lanes those of the second, and so on. Lane t gets elements 2 (t % 4) and the next of row t
   / 4 of each matrix; if transposed, of column t / 4. */
DEVICE void load_matrix(u32 v[4], u32 row, int transposed)
{
    if (transposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(row));
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(row));
    }
}

/* Transposes a matrix of 8 x 8 that is distributed over the lanes as by load_matrix. */
DEVICE u32 transpose(u32 v)
{
    u32 t;
    asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(v));
    return t;
}

#if dtype_is_f16
#define PACK_OUT_OP "cvt.rn.f16x2.f32"
#else
#define PACK_OUT_OP "cvt.rn.bf16x2.f32"
#endif
#if dtype_is_f16 || kv_is_e4m3
#define MMA_OP  "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#define PACK_OP "cvt.rn.f16x2.f32"
#else
#define MMA_OP  "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#define PACK_OP "cvt.rn.bf16x2.f32"
#endif

/* Computes d += a * b for 16 x 8 x 16. */
DEVICE void mma(float d[4], const u32 a[4], const u32 b[2])
{
    asm(MMA_OP " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Rounds to two operands of a product. */
DEVICE u32 pack(float low, float high)
{
    u32 both;
    asm(PACK_OP " %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

/* Rounds to two elements of O. */
DEVICE u32 pack_out(float low, float high)
{
    u32 both;
    asm(PACK_OUT_OP " %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
}

#if kv_is_e4m3
/* Widens the lower two bytes, which are e4m3, to f16. */
DEVICE u32 widen_bytes(u32 bytes)
{
    u32 both;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"((u16)bytes));
    return both;
}

/* Exchanges the two bytes in the middle. */
DEVICE u32 exchange_bytes(u32 x)
{
    return __byte_perm(x, x, 0x3120);
}
#endif

DEVICE int shuffle_up(int x, int distance)
{
    return __shfl_up_sync(0xffffffffu, x, distance);
}

DEVICE float shuffle_xor(u32 lanes, float x, int distance)
{
    return __shfl_xor_sync(lanes, x, distance);
}

DEVICE float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Words that other blocks read and write at the same time. Each word is read or written as a
   whole. */
DEVICE void load_four(u32 v[4], const u32 *from)
{
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                 : "l"(from)
                 : "memory");
}

DEVICE void load_couple(u32 v[2], const u32 *from)
{
    asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];"
                 : "=r"(v[0]), "=r"(v[1])
                 : "l"(from)
                 : "memory");
}

DEVICE void store_four(u32 *to, const u32 v[4])
{
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v[0]),
                 "r"(v[1]), "r"(v[2]), "r"(v[3])
                 : "memory");
}

DEVICE void store_couple(u32 *to, const u32 v[2])
{
    asm volatile("st.relaxed.gpu.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v[0]), "r"(v[1])
                 : "memory");
}

/* Pauses before words are read again. */
DEVICE void wait_a_little(void)
{
    __nanosleep(20);
}

DEVICE void store_pair(void *to, u32 low, u32 high)
{
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(low), "r"(high) : "memory");
}

/* Loads two elements of Q. */
DEVICE u32 load_two(const u16 *from)
{
    return *(const u32 *)from;
}

#endif

/* ---- what there is to do ---- */

/* The arguments, and where things are in shared memory. */
typedef struct problem {
    const u16 *q;
    const kv_number *k, *v;
    const float *scale_k, *scale_v;
    const int *lengths, *table;
    u16 *out;
    unsigned char *workspace;
    int batch, queries, group, kv_heads, keys, pages; /* group: query heads of each head of K and
                                                         V */
    float scale;                                      /* scale of scores, times log2 e */
    int rows, parts; /* rows of an item over all its parts; number of parts */
    u32 slots, stats, words, prefix;
    int line, blocks; /* tiles of all items and what their ends count as; number of blocks that
                         share them */
    int each, more;   /* a block has `each` of the line, the first `more` blocks have one more */
} problem;

/* The part of an item that a block, or the loader of a warp, has. */
typedef struct segment {
    int sequence, head, part; /* head of K and V; part of its rows */
    int length, tiles;        /* keys and tiles of the item */
    int first, last;          /* tiles of the segment */
    int left;                 /* tiles of the block from the segment's first on */
} segment;

/* Divides numbers that are not negative. */
DEVICE int divide(int x, int y)
{
    return (int)((u32)x / (u32)y);
}

/* Returns the number of tiles of the sequences before `sequence`, one item of each. */
DEVICE int tiles_before(const problem *p, int sequence)
{
    return (int)load_shared_one(p->prefix + 4u * (u32)sequence);
}

DEVICE void segment_of(segment *s, const problem *p, int first)
{
    s->tiles = tiles_before(p, s->sequence + 1) - tiles_before(p, s->sequence);
    s->length = p->lengths[s->sequence];
    s->first = first;
    s->last = s->tiles - first < s->left ? s->tiles : first + s->left;
}

/* Returns the number of the segment's item: items before it. */
DEVICE int item_of(const segment *s, const problem *p)
{
    return (s->sequence * p->kv_heads + s->head) * p->parts + s->part;
}

/* Returns the number of tiles of the items before the segment's. */
DEVICE int item_begin(const segment *s, const problem *p)
{
    const int per = p->kv_heads * p->parts;
    return tiles_before(p, s->sequence) * per + (item_of(s, p) - s->sequence * per) * s->tiles;
}

/* Finds the first tile that is at `place` of the line or behind it: of a segment its item and first
   tile. Each item's end counts in the line before its tiles. Returns the number of tiles before. */
DEVICE int segment_at(segment *s, const problem *p, int place)
{
    const int per = p->kv_heads * p->parts, before = divide(place, per);
    int low = 0, high = p->batch - 1;
    while (low < high) { /* finds the last sequence that begins at `place` or before it */
        const int middle = (low + high + 1) / 2;
        if (tiles_before(p, middle) + ITEM_COST * middle <= before) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    const int begin = tiles_before(p, low);
    s->tiles = tiles_before(p, low + 1) - begin;
    const int rest = place - (begin + ITEM_COST * low) * per;
    const int item = divide(rest, s->tiles + ITEM_COST);
    const int first = rest - item * (s->tiles + ITEM_COST) - ITEM_COST;
    s->sequence = low;
    s->head = p->parts == 1 ? item : divide(item, p->parts);
    s->part = item - s->head * p->parts;
    s->first = first > 0 ? first : 0;
    return begin * per + item * s->tiles + s->first;
}

/* Moves to the next segment; returns false if the block has none. */
DEVICE bool segment_next(segment *s, const problem *p)
{
    s->left -= s->last - s->first;
    if (s->left == 0) {
        return false;
    }
    if (++s->part == p->parts) {
        s->part = 0;
        s->head++;
    }
    if (s->head == p->kv_heads) {
        s->head = 0;
        s->sequence++;
    }
    segment_of(s, p, 0);
    return true;
}

/* Computes prefix sums of the sequences' tiles: prefix[i] is the number of tiles of the first i
   sequences. A sequence without keys has one tile, in which no key counts. */
DEVICE void add_up_tiles(problem *p)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const u32 sums = p->words;
    int before = 0;
    if (threadIdx.x == 0) {
        store_shared_one(p->prefix, 0);
    }
    for (int i = 0; i < p->batch; i += THREADS) {
        const int sequence = i + (int)threadIdx.x;
        const int length = sequence < p->batch ? p->lengths[sequence] : 0;
        int tiles = sequence >= p->batch ? 0
                    : length > 0         ? (length + TILE_KEYS - 1) / TILE_KEYS
                                         : 1;
        LOOP for (int distance = 1; distance < 32; distance *= 2)
        {
            const int other = shuffle_up(tiles, distance);
            tiles += lane >= distance ? other : 0;
        }
        if (lane == 31) {
            store_shared_one(sums + 4u * (u32)warp, (u32)tiles);
        }
        block_sync();
        int all = 0;
        LOOP for (int w = 0; w < WARPS; w++)
        {
            const int sum = (int)load_shared_one(sums + 4u * (u32)w);
            tiles += w < warp ? sum : 0;
            all += sum;
        }
        if (sequence < p->batch) {
            store_shared_one(p->prefix + 4u * (u32)(sequence + 1), (u32)(before + tiles));
        }
        before += all;
        block_sync();
    }
    p->line = (before + ITEM_COST * p->batch) * p->kv_heads * p->parts;
}

/* ---- loading ---- */

/* Returns what the numbers of a row's pieces are combined with, so that eight rows use different
   banks. */
DEVICE int turn_of(int row)
{
    return PIECES < 8 ? row >> 1 & 3 : row & 7;
}

/* Returns where a piece of a row is, from the start of a tile. */
DEVICE u32 piece_at(int row, int piece)
{
    return (u32)(row * ROW_BYTES + ((piece ^ turn_of(row)) << 4));
}

/* The position of a warp in those tiles of its block that are its own. */
typedef struct loader {
    segment s;
    int tile;                /* tile of the item; s.left == 0: there is none */
    int page[PAGES_OF_TILE]; /* page numbers of the tile */
} loader;

/* Moves on until the tile is in the segment, and loads its page numbers. */
DEVICE void loader_settle(loader *l, const problem *p, int warp)
{
    while (l->s.left > 0 && l->tile >= l->s.last) {
        if (segment_next(&l->s, p)) {
            l->tile = l->s.first + warp;
        }
    }
#if PAGE > 0
    UNROLL for (int i = 0; i < PAGES_OF_TILE; i++)
    {
        const int key = l->tile * TILE_KEYS + 16 * i;
        l->page[i] = l->s.left > 0 && key < l->s.length
                         ? p->table[(i64)l->s.sequence * p->pages + key / PAGE]
                         : 0;
    }
#endif
}

/* Returns the distance of a key's row from the start of K or V in elements. `key` is the first of
   16, and i counts from it. */
DEVICE i64 row_of(const loader *l, const problem *p, int key, int i)
{
    const u32 head = (u32)l->s.head, heads = (u32)p->kv_heads;
#if PAGE > 0
    const u32 outer = (u32)l->page[PAGES_OF_TILE == 1 ? 0 : i];
    const u32 within = (u32)key % PAGE, extent = PAGE;
#else
    const u32 outer = (u32)l->s.sequence, within = (u32)key, extent = (u32)p->keys;
#endif
#if layout_is_nhd
    return (i64)((outer * extent + within) * heads + head) * HEAD_DIM;
#else
    return (i64)((outer * heads + head) * extent + within) * HEAD_DIM;
#endif
}

/* Starts the copies of the next tile, if there is one, to a slot; they form one group. Keys beyond
   the length become zeros, so that a NaN in memory there does not count. */
DEVICE void load_tile(loader *l, const problem *p, u32 slot, int warp, int lane)
{
    const i64 policy = copy_policy();
    enum { ROWS_OF_COPY = 32 / PIECES > 0 ? 32 / PIECES : 1 };
    const i64 pitch = layout_is_nhd ? (i64)p->kv_heads * HEAD_DIM : HEAD_DIM;
    if (l->s.left > 0) {
        const int row = lane / PIECES, piece = lane % PIECES;
        UNROLL for (int i = 0; i < KEY_STEPS; i++)
        {
            const int key = l->tile * TILE_KEYS + 16 * i;
            const i64 at = row_of(l, p, key, i) + row * pitch + piece * PIECE;
            UNROLL for (int j = 0; j < 16; j += ROWS_OF_COPY)
            {
                const u32 to = slot + piece_at(16 * i + j + row, piece);
                const int bytes = key + j + row < l->s.length ? 16 : 0;
                copy_async(to, p->k + at + j * pitch, bytes, policy);
                copy_async(to + TILE_BYTES, p->v + at + j * pitch, bytes, policy);
            }
        }
        l->tile += WARPS;
        loader_settle(l, p, warp);
    }
    copy_commit();
}

/* ---- a tile ---- */

/* A warp's sums of a segment. A lane has rows 8 n + 2 (lane % 4) and the next one, and of O columns
   16 d + lane / 4 and 8 more or, where V has bytes, 16 d + 2 (lane / 4) and the next one. */
typedef struct sums {
    u32 q[ROW_TILES][DEPTHS][2];
    float o[ROW_TILES][DEPTHS][4];
    float most[ROW_TILES][2], sum[ROW_TILES][2];
    int limit[ROW_TILES][2]; /* number of keys that the row attends to */
    float scale;             /* scale of scores */
} sums;

/* Returns the index in Q and O of row i of an item, which is head i % group of query i / group. */
DEVICE i64 place_of_row(const segment *s, const problem *p, int row)
{
    const int query = divide(row, p->group);
    const int heads = (s->sequence * p->queries + query) * p->kv_heads + s->head;
    return (i64)(heads * p->group + row - query * p->group) * HEAD_DIM;
}

/* Returns two elements of Q as operands of a product. */
DEVICE u32 operands_of(u32 two)
{
#if kv_is_e4m3 && !dtype_is_f16
    return pack(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
#else
    return two;
#endif
}

/* How far the second pair of a lane's elements of 16 is from the first. */
#define SECOND_PAIR (KV_BYTES == 1 ? 2 : 8)

DEVICE void sums_begin(sums *a, const segment *s, const problem *p, int lane)
{
    const int row0 = s->part * ROWS;
    a->scale = p->scale;
#if kv_is_e4m3
    a->scale *= p->scale_k[s->head];
#endif
    UNROLL for (int n = 0; n < ROW_TILES; n++)
    {
        const int row = row0 + 8 * n + lane / 4;
        const bool there = row < p->rows;
        const u16 *from = p->q + place_of_row(s, p, there ? row : 0) + lane % 4 * (4 / KV_BYTES);
        UNROLL for (int d = 0; d < DEPTHS; d++)
        {
            a->q[n][d][0] = there ? operands_of(load_two(from + 16 * d)) : 0;
            a->q[n][d][1] = there ? operands_of(load_two(from + 16 * d + SECOND_PAIR)) : 0;
            UNROLL for (int i = 0; i < 4; i++)
            {
                a->o[n][d][i] = 0;
            }
        }
        UNROLL for (int i = 0; i < 2; i++)
        {
            const int own = row0 + 8 * n + lane % 4 * 2 + i;
            a->most[n][i] = LOWEST;
            a->sum[n][i] = 0;
            a->limit[n][i] =
                own < p->rows ? s->length - p->queries + 1 + divide(own, p->group) : s->length;
        }
    }
}

/* Turns what a lane has loaded of K, of 16 keys, into operands: one for each DEPTHS_AT_ONCE. */
DEVICE void keys_of_loaded(u32 keys[DEPTHS_AT_ONCE][4], const u32 loaded[4])
{
    UNROLL for (int i = 0; i < 4; i++)
    {
#if kv_is_e4m3
        keys[i / 2][i % 2] = widen_bytes(loaded[i]);
        keys[i / 2][i % 2 + 2] = widen_bytes(loaded[i] >> 16);
#else
        keys[0][i] = loaded[i];
#endif
    }
}

/* The same of V: a pair of bytes has two columns of one key, and an operand two keys of one
   column. */
DEVICE void values_of_loaded(u32 values[DEPTHS_AT_ONCE][4], const u32 loaded[4])
{
    UNROLL for (int i = 0; i < 4; i++)
    {
#if kv_is_e4m3
        const u32 by_column = exchange_bytes(loaded[i]);
        values[i % 2][i / 2 * 2] = widen_bytes(by_column);
        values[i % 2][i / 2 * 2 + 1] = widen_bytes(by_column >> 16);
#else
        values[0][i] = loaded[i];
#endif
    }
}

/* Computes the scores of the tile, times log2 e. Keys that a row does not attend to get
   -infinity. */
DEVICE void scores_of_tile(float x[KEY_STEPS][ROW_TILES][4], const sums *a, const problem *p,
                           u32 slot, int first_key, int length, int lane)
{
    const u32 at = slot + (u32)((lane & 15) * ROW_BYTES);
    const u32 flip = (u32)(((lane >> 4) ^ turn_of(lane & 7)) << 4);
    UNROLL for (int k = 0; k < KEY_STEPS; k++)
    {
        UNROLL for (int n = 0; n < ROW_TILES; n++)
        {
            UNROLL for (int i = 0; i < 4; i++)
            {
                x[k][n][i] = 0;
            }
        }
    }
    UNROLL for (int d = 0; d < DEPTHS / DEPTHS_AT_ONCE; d++)
    {
        UNROLL for (int k = 0; k < KEY_STEPS; k++)
        {
            u32 loaded[4], keys[DEPTHS_AT_ONCE][4];
            load_matrix(loaded, at + (u32)(k * 16 * ROW_BYTES) + (((u32)d << 5) ^ flip), 0);
            keys_of_loaded(keys, loaded);
            UNROLL for (int e = 0; e < DEPTHS_AT_ONCE; e++)
            {
                UNROLL for (int n = 0; n < ROW_TILES; n++)
                {
                    mma(x[k][n], keys[e], a->q[n][d * DEPTHS_AT_ONCE + e]);
                }
            }
        }
    }
    const bool edge = first_key + TILE_KEYS > length - p->queries + 1;
    UNROLL for (int k = 0; k < KEY_STEPS; k++)
    {
        UNROLL for (int n = 0; n < ROW_TILES; n++)
        {
            UNROLL for (int i = 0; i < 4; i++)
            {
                const int key = first_key + 16 * k + lane / 4 + i / 2 * 8;
                x[k][n][i] *= a->scale;
                x[k][n][i] = edge && key >= a->limit[n][i % 2] ? LOWEST : x[k][n][i];
            }
        }
    }
}

/* Turns scores into weights relative to the running maximum, and rescales the sums to it. */
DEVICE void weights_of_tile(float x[KEY_STEPS][ROW_TILES][4], sums *a)
{
    UNROLL for (int n = 0; n < ROW_TILES; n++)
    {
        float less[2];
        UNROLL for (int i = 0; i < 2; i++)
        {
            float most = a->most[n][i], sum = 0;
            UNROLL for (int k = 0; k < KEY_STEPS; k++)
            {
                most = fmaxf(most, fmaxf(x[k][n][i], x[k][n][i + 2]));
            }
            UNROLL for (int distance = 4; distance < 32; distance *= 2)
            {
                most = fmaxf(most, shuffle_xor(0xffffffffu, most, distance));
            }
            const float base = most == LOWEST ? 0 : most;
            less[i] = exp2_fast(a->most[n][i] - base);
            UNROLL for (int k = 0; k < KEY_STEPS; k++)
            {
                x[k][n][i] = exp2_fast(x[k][n][i] - base);
                x[k][n][i + 2] = exp2_fast(x[k][n][i + 2] - base);
                sum += x[k][n][i] + x[k][n][i + 2];
            }
            a->most[n][i] = most;
            a->sum[n][i] = a->sum[n][i] * less[i] + sum;
        }
        UNROLL for (int d = 0; d < DEPTHS; d++)
        {
            UNROLL for (int i = 0; i < 4; i++)
            {
                a->o[n][d][i] *= less[i % 2];
            }
        }
    }
}

DEVICE void add_tile(sums *a, const problem *p, u32 slot, int first_key, int length, int lane)
{
    float x[KEY_STEPS][ROW_TILES][4];
    const u32 at = slot + TILE_BYTES + (u32)(((lane & 7) + (lane >> 4 << 3)) * ROW_BYTES);
    const u32 flip = (u32)(((lane >> 3 & 1) ^ turn_of(lane & 7)) << 4);
    scores_of_tile(x, a, p, slot, first_key, length, lane);
    weights_of_tile(x, a);
    UNROLL for (int k = 0; k < KEY_STEPS; k++)
    {
        u32 weights[ROW_TILES][2];
        UNROLL for (int n = 0; n < ROW_TILES; n++)
        {
            weights[n][0] = transpose(pack(x[k][n][0], x[k][n][1]));
            weights[n][1] = transpose(pack(x[k][n][2], x[k][n][3]));
        }
        UNROLL for (int d = 0; d < DEPTHS / DEPTHS_AT_ONCE; d++)
        {
            u32 loaded[4], values[DEPTHS_AT_ONCE][4];
            load_matrix(loaded, at + (u32)(k * 16 * ROW_BYTES) + (((u32)d << 5) ^ flip), 1);
            values_of_loaded(values, loaded);
            UNROLL for (int e = 0; e < DEPTHS_AT_ONCE; e++)
            {
                UNROLL for (int n = 0; n < ROW_TILES; n++)
                {
                    mma(a->o[n][d * DEPTHS_AT_ONCE + e], values[e], weights[n]);
                }
            }
        }
    }
}

/* ---- a segment's end ---- */

/* Returns where four sums of a row are in a slot. The lanes that write one column use different
   banks. */
DEVICE u32 sums_at(int row, int column)
{
    return (u32)((row * HEAD_DIM + (column ^ (row >> 1 & 3) << 3)) * 4);
}

/* Returns which of 16 columns of O a lane's sum j of a row is. */
DEVICE int column_of(int lane, int j)
{
    return KV_BYTES == 1 ? lane / 4 * 2 + j : lane / 4 + 8 * j;
}

/* Stores a warp's sums to a slot that it does not need now, with maximum and sum of each row beside
   them. */
DEVICE void sums_leave(sums *a, const problem *p, u32 slot, int warp, int lane)
{
    UNROLL for (int n = 0; n < ROW_TILES; n++)
    {
        UNROLL for (int i = 0; i < 2; i++)
        {
            const int row = 8 * n + lane % 4 * 2 + i;
            UNROLL for (int distance = 4; distance < 32; distance *= 2)
            {
                a->sum[n][i] += shuffle_xor(0xffffffffu, a->sum[n][i], distance);
            }
            if (lane < 4) {
                const u32 at = p->stats + (u32)((warp * ROWS + row) * 8);
                store_shared_one(at, __float_as_uint(a->most[n][i]));
                store_shared_one(at + 4, __float_as_uint(a->sum[n][i]));
            }
            UNROLL for (int d = 0; d < DEPTHS; d++)
            {
                UNROLL for (int j = 0; j < 2; j++)
                {
                    store_shared_one(slot + sums_at(row, 16 * d + column_of(lane, j)),
                                     __float_as_uint(a->o[n][d][i + 2 * j]));
                }
            }
        }
    }
}

/* Sums of four columns of a row, relative to `most`. */
typedef struct quad {
    float most, sum, o[4];
} quad;

DEVICE void quad_begin(quad *t)
{
    t->most = LOWEST;
    t->sum = 0;
    UNROLL for (int i = 0; i < 4; i++)
    {
        t->o[i] = 0;
    }
}

/* Adds sums that are relative to another maximum. */
DEVICE void quad_bring(quad *t, float most, float sum, const u32 o[4])
{
    const float top = fmaxf(t->most, most), base = top == LOWEST ? 0 : top;
    const float mine = exp2_fast(t->most - base), its = exp2_fast(most - base);
    t->most = top;
    t->sum = mine * t->sum + its * sum;
    UNROLL for (int i = 0; i < 4; i++)
    {
        t->o[i] = mine * t->o[i] + its * __uint_as_float(o[i]);
    }
}

/* Combines the warps' sums of four columns of a row. */
DEVICE void quad_of_warps(quad *t, const problem *p, int row, int column)
{
    enum { AT_ONCE = WARPS % 4 == 0 ? 4 : WARPS % 3 == 0 ? 3 : WARPS % 2 == 0 ? 2 : 1 };
    LOOP for (int w = 0; w < WARPS; w += AT_ONCE)
    {
        float most[AT_ONCE], sum[AT_ONCE];
        u32 o[AT_ONCE][4];
        UNROLL for (int j = 0; j < AT_ONCE; j++)
        {
            const u32 at = p->stats + (u32)(((w + j) * ROWS + row) * 8);
            most[j] = __uint_as_float(load_shared_one(at));
            sum[j] = __uint_as_float(load_shared_one(at + 4));
            load_shared(o[j], load_shared_one(p->words + 4u * (u32)(w + j)) + sums_at(row, column));
        }
        UNROLL for (int j = 0; j < AT_ONCE; j++)
        {
            quad_bring(t, most[j], sum[j], o[j]);
        }
    }
}

/* Divides by the sum of weights and writes the result; a row without keys becomes zeros. */
DEVICE void quad_write(const quad *t, const segment *s, const problem *p, int row, int column)
{
    float one = t->sum > 0 ? 1.0f / t->sum : 0;
#if kv_is_e4m3
    one *= p->scale_v[s->head];
#endif
    store_pair(p->out + place_of_row(s, p, s->part * ROWS + row) + column,
               pack_out(t->o[0] * one, t->o[1] * one), pack_out(t->o[2] * one, t->o[3] * one));
}

/* Returns where a block leaves four sums of a row: of its first segment or, if `second`, of its
   last. */
DEVICE u32 *place_of(const problem *p, int block, int second, int i)
{
    const i64 place = 2 * (i64)block + second;
    return (u32 *)p->workspace + (place * (ROWS * HEAD_DIM / 4) + i) * 8;
}

/* Leaves sums as words that are never zero. */
DEVICE void quad_leave(const quad *t, u32 *to)
{
    u32 stats[2], o[4];
    UNROLL for (int i = 0; i < 4; i++)
    {
        o[i] = __float_as_uint(t->o[i]);
        o[i] = o[i] == 0 ? MINUS_ZERO : o[i];
    }
    stats[0] = __float_as_uint(t->most);
    stats[1] = __float_as_uint(t->sum);
    stats[0] = stats[0] == 0 ? MINUS_ZERO : stats[0];
    stats[1] = stats[1] == 0 ? MINUS_ZERO : stats[1];
    store_four(to, o);
    store_couple(to + 4, stats);
}

/* Returns the place of the line where a block's stretch begins. */
DEVICE int begin_of(const problem *p, int block)
{
    return block * p->each + (block < p->more ? block : p->more);
}

/* Returns the block that has a place of the line. */
DEVICE int block_of(const problem *p, int place)
{
    const int longer = p->more * (p->each + 1);
    const bool in_longer = place < longer;
    return divide(in_longer ? place : place - longer, in_longer ? p->each + 1 : p->each) +
           (in_longer ? 0 : p->more);
}

/* Returns the number of rows of the item's part. */
DEVICE int rows_of(const segment *s, const problem *p)
{
    const int left = p->rows - s->part * ROWS;
    return left < ROWS ? left : ROWS;
}

/* Waits for four sums that a block leaves, and takes them. */
DEVICE void quad_take(quad *t, u32 *at, u32 o[4], u32 stats[2])
{
    const u32 nothing[4] = {0, 0, 0, 0};
    while (o[0] == 0 || o[1] == 0 || o[2] == 0 || o[3] == 0 || stats[0] == 0 || stats[1] == 0) {
        wait_a_little();
        load_four(o, at);
        load_couple(stats, at + 4);
    }
    store_four(at, nothing);
    store_couple(at + 4, nothing);
    quad_bring(t, __uint_as_float(stats[0]), __uint_as_float(stats[1]), o);
}

/* Combines the sums of `lanes` adjacent lanes, a power of two; each lane gets the result. */
DEVICE void quad_of_lanes(quad *t, int lanes)
{
    for (int distance = 1; distance < lanes; distance *= 2) {
        u32 o[4];
        UNROLL for (int i = 0; i < 4; i++)
        {
            o[i] = __float_as_uint(shuffle_xor(0xffffffffu, t->o[i], distance));
        }
        const float most = shuffle_xor(0xffffffffu, t->most, distance);
        const float sum = shuffle_xor(0xffffffffu, t->sum, distance);
        quad_bring(t, most, sum, o);
    }
}

/* An item that several blocks share, as one of them sees it. */
typedef struct shared_item {
    int from, blocks; /* the first of these blocks, and their number */
    int shift;        /* 1: the first block's part is not its first segment */
} shared_item;

DEVICE void shared_item_at(shared_item *x, const problem *p, const segment *s)
{
    const int place = item_begin(s, p) + item_of(s, p) * ITEM_COST;
    int last = 0;
    LOOP for (int i = 0; i < 2; i++)
    {
        x->from = last;
        last = block_of(p, place + ITEM_COST + (i == 0 ? 0 : s->tiles - 1));
    }
    x->blocks = last - x->from + 1;
    x->shift = begin_of(p, x->from) < place;
}

/* Combines what the item's blocks have left of four sums, with `lanes` adjacent lanes, a power of
   two; each lane gets the result. */
DEVICE void quad_of_blocks(quad *t, const shared_item *x, const problem *p, int i, bool there,
                           int lanes)
{
    enum { AT_ONCE = 2 };
    LOOP for (int b = (int)threadIdx.x & (lanes - 1); b < x->blocks && there; b += AT_ONCE * lanes)
    {
        u32 o[AT_ONCE][4], stats[AT_ONCE][2], *at[AT_ONCE];
        UNROLL for (int j = 0; j < AT_ONCE; j++)
        {
            const int other = b + j * lanes;
            at[j] = place_of(p, x->from + other, other == 0 ? x->shift : 0, i);
            if (other < x->blocks) {
                load_four(o[j], at[j]);
                load_couple(stats[j], at[j] + 4);
            }
        }
        UNROLL for (int j = 0; j < AT_ONCE; j++)
        {
            if (b + j * lanes < x->blocks) {
                quad_take(t, at[j], o[j], stats[j]);
            }
        }
    }
    quad_of_lanes(t, lanes);
}

/* Writes the result of an item that this block has alone, or leaves its part for the others. If all
   have done so (`taking`), it takes its share of the sums and writes it. */
DEVICE void finish(const segment *s, const problem *p, const shared_item *x, bool taking,
                   int second)
{
    enum { COLUMNS = HEAD_DIM / 4 };
    const int all = rows_of(s, p) * COLUMNS;
    int begin = 0, count = all, shift = 0; /* 1 << shift lanes work on each four sums */
    if (taking) {
        const int rank = (int)blockIdx.x - x->from, last = x->blocks - 1;
        const int share = TAKE_SHARES ? divide(all + last, x->blocks) : all;
        begin = TAKE_SHARES ? share * rank : 0;
        count = !TAKE_SHARES && rank < last ? 0 : all - begin < share ? all - begin : share;
        while (shift < 5 && 1 << shift < x->blocks && count << (shift + 1) <= THREADS) {
            shift++;
        }
    }
    LOOP for (int first = 0; first < count; first += THREADS >> shift)
    {
        const int i = begin + first + ((int)threadIdx.x >> shift);
        const bool there = i < begin + count;
        quad t;
        quad_begin(&t);
        if (taking) {
            quad_of_blocks(&t, x, p, i, there, 1 << shift);
        } else if (there) {
            quad_of_warps(&t, p, i / COLUMNS, i % COLUMNS * 4);
        }
        if (there && (taking || (s->first == 0 && s->last == s->tiles))) {
            if (((int)threadIdx.x & ((1 << shift) - 1)) == 0) {
                quad_write(&t, s, p, i / COLUMNS, i % COLUMNS * 4);
            }
        } else if (there) {
            quad_leave(&t, place_of(p, (int)blockIdx.x, second, i));
        }
    }
}

/* ---- the whole ---- */

/* Computes a segment's tiles; afterwards the warps' sums are in their slots. */
DEVICE void run_segment(loader *l, int *now, const segment *s, const problem *p)
{
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const u32 ring = p->slots + (u32)(warp * (STAGES * SLOT_BYTES));
    sums a;
    sums_begin(&a, s, p, lane);
    LOOP for (int tile = s->first + warp; tile < s->last; tile += WARPS)
    {
        const int used = *now == 0 ? STAGES - 1 : *now - 1;
        COPY_WAIT(STAGES - 2);
        warp_sync(); /* all lanes' copies have arrived, and no lane reads the slot used before */
        load_tile(l, p, ring + (u32)(used * SLOT_BYTES), warp, lane);
        add_tile(&a, p, ring + (u32)(*now * SLOT_BYTES), tile * TILE_KEYS, s->length, lane);
        *now = *now + 1 == STAGES ? 0 : *now + 1;
    }
    const int used = *now == 0 ? STAGES - 1 : *now - 1;
    warp_sync();
    sums_leave(&a, p, ring + (u32)(used * SLOT_BYTES), warp, lane);
    if (lane == 0) {
        store_shared_one(p->words + 4u * (u32)warp, ring + (u32)(used * SLOT_BYTES));
    }
    block_sync();
}

/* Computes all segments of the block and then its shares of the items at both ends of its stretch.
   All of this is one loop, because code that exists twice is fetched twice. */
DEVICE void run_stretch(const problem *p)
{
    enum { SEGMENTS, SHARE_OF_FIRST, SHARE_OF_LAST };
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const u32 ring = p->slots + (u32)(warp * (STAGES * SLOT_BYTES));
    loader l;
    segment s, begun; /* begun: the first segment */
    int now = 0;      /* slot of the ring */
    int left = 0;
    LOOP for (int next = 1; next >= 0; next--)
    {
        const int before = segment_at(&s, p, begin_of(p, (int)blockIdx.x + next));
        left = next ? before : left - before;
    }
    if (left == 0) {
        return; /* the stretch has no tiles, only an item's end */
    }
    s.left = left;
    segment_of(&s, p, s.first);
    begun = s;
    l.s = s;
    l.tile = s.first + warp;
    loader_settle(&l, p, warp);
    LOOP for (int i = 0; i < STAGES - 1; i++)
    {
        load_tile(&l, p, ring + (u32)(i * SLOT_BYTES), warp, lane);
    }
    LOOP for (int state = SEGMENTS, second = 0;;)
    {
        shared_item x = {0, 1, 0};
        segment of = s;
        if (state == SEGMENTS) {
            run_segment(&l, &now, &s, p);
        } else {
            of = state == SHARE_OF_FIRST ? begun : s;
            shared_item_at(&x, p, &of);
        }
        finish(&of, p, &x, state != SEGMENTS, second);
        if (state == SEGMENTS && s.left > s.last - s.first) {
            block_sync(); /* the slots may be filled again */
            (void)segment_next(&s, p);
            second = 1;
        } else if (state == SEGMENTS && begun.first > 0) {
            state = SHARE_OF_FIRST;
        } else if (state != SHARE_OF_LAST && s.last < s.tiles && (second || s.first == 0)) {
            state = SHARE_OF_LAST;
        } else {
            break;
        }
    }
    COPY_WAIT(0);
}

KERNEL ak_kernel(const u16 *q, const kv_number *k, const kv_number *v, const int *lengths,
                 const int *table, const float *scale_k, const float *scale_v, u16 *out,
                 unsigned char *workspace, int batch, int queries, int group, int kv_heads,
                 int keys, int pages, int parts, float scale)
{
    problem p;
    p.q = q;
    p.k = k;
    p.v = v;
    p.scale_k = scale_k;
    p.scale_v = scale_v;
    p.lengths = lengths;
    p.table = table;
    p.out = out;
    p.workspace = workspace;
    p.batch = batch;
    p.queries = queries;
    p.group = group;
    p.kv_heads = kv_heads;
    p.keys = keys;
    p.pages = pages;
    p.scale = scale * 1.4426950408889634f;
    p.rows = queries * p.group;
    p.parts = parts;
    p.slots = shared_base();
    p.stats = p.slots + SLOTS_BYTES;
    p.words = p.stats + STATS_BYTES; /* one number for each warp */
    p.prefix = p.words + 4 * WARPS;
#if LAUNCH_EARLY
    launch_next();
    launch_wait();
#endif
    add_up_tiles(&p);
    const int most = (p.line + LEAST_TILES - 1) / LEAST_TILES;
    p.blocks = most < (int)gridDim.x ? most : (int)gridDim.x;
    p.each = divide(p.line, p.blocks);
    p.more = p.line - p.each * p.blocks;
    if ((int)blockIdx.x < p.blocks) {
        run_stretch(&p);
    }
}
