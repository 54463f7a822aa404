/*
 * cuda_sm90.cu: attention for Hopper, O = softmax(scale * Q K^T) V, in fp16 or bf16 with sums in
 * fp32.
 *
 * A block has one producer warp, which requests tiles of Q, K and V from the tensor copy engine,
 * and NUM_CONSUMERS consumer warpgroups of 64 queries each. A ring of `num_stages` slots in shared
 * memory connects them; a slot holds TILE_KEYS rows of K or of V, in the order in which they are
 * used: K0, K1, V0, K2, V1, ... A consumer computes the scores S = Q K^T with wgmma into registers,
 * turns them into weights P with an online softmax in base 2, and adds P V, with P as wgmma's
 * operand in registers. The scores of the next tile are requested before the softmax of this one,
 * and the product with V runs beneath it. With PING_PONG the warpgroups take turns, so that one
 * multiplies while another computes exponentials.
 *
 * The tiles of keys are visited from the last to the first, so that those that need a mask come
 * first. Tiles of queries are visited a section of heads at a time, whose K and V stay in the level
 * 2 cache, and in each section those with the most keys first. The producer tells the consumers
 * which tile is next, with Q.
 *
 * Packed sequences lie one behind the other in the same arrays. Their lengths are known on the
 * device only, so each block sorts them, those with the most keys first, and numbers their tiles.
 * Rows of the sequence behind, which a tile of keys or queries may reach into, are hidden or not
 * stored; the weights of hidden keys are 0, so their rows of V must be finite, as all others.
 */
/* clang-format off */
/*
 * Parameters (macros):
 *   HEAD_DIM               elements of a row: 64, 128, 256
 *   TILE_KEYS              keys of a slot, a multiple of 16
 *   NUM_CONSUMERS          consumer warpgroups: 2, 3; a tile has 64 * NUM_CONSUMERS queries
 *   num_stages             slots of the ring
 *   PING_PONG              1: the consumers take turns with the tensor cores
 *   SCHEDULE               0: a block for each tile; 1: resident blocks, which share the tiles in a
 *                          fixed order; 2: resident blocks that draw the next tile from a counter
 *   RESCALE_ABOVE          the sums are scaled to a new maximum once weights could be larger than 2
 *                          to this power: 0 to 8
 *   LAUNCH_EARLY           1: programmatic dependent launch
 *   CAUSAL                 1: query i sees keys up to i + keys - queries
 *   WINDOW                 1: and of these only the last `window`
 *   SOFT_CAP               1: scores are cap * tanh(scale * Q K^T / cap)
 *   PACKED                 1: sequences are packed
 */
/* clang-format on */
#define TILE_QUERIES (64 * NUM_CONSUMERS)
/* Registers of a thread (setmaxnreg): what a block is launched with, moved to the consumers. */
#define PRODUCER_REGISTERS (NUM_CONSUMERS == 2 ? 24 : 32)
#define CONSUMER_REGISTERS (NUM_CONSUMERS == 2 ? 240 : 160)
#define THREADS            (128 * NUM_CONSUMERS + 128)
#define SLOT_BYTES         (TILE_KEYS * HEAD_DIM * 2)
#define Q_BYTES            (TILE_QUERIES * HEAD_DIM * 2)
#define OFFSET_BARS        (Q_BYTES + num_stages * SLOT_BYTES)
#define OFFSET_NUMBERS     (OFFSET_BARS + 16 * num_stages + 40)
#define BARRIER_TURN       1 /* and one more for each further consumer */
#define LOG2_E             1.44269504088896341f
#define LN_2               0.693147180559945309f
#define MINUS_INF          __int_as_float(0xff800000)

static_assert(TILE_KEYS % 16 == 0 && TILE_KEYS <= 256, "columns of a wgmma");

/* ---- instructions; tests/simt/attention.c has its own of these and of cuda_wgmma.cu ---- */

#ifndef SIMT

#define MAP    const __grid_constant__ tensor_map
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, 1)

/* The operands of wgmma behind the sums, for the product with V. */
#define PV_A_64    "{%32, %33, %34, %35}"
#define PV_B_64    "%36"
#define PV_ADD_64  "%37"
#define PV_A_128   "{%64, %65, %66, %67}"
#define PV_B_128   "%68"
#define PV_ADD_128 "%69"
#define PV_A_256   "{%128, %129, %130, %131}"
#define PV_B_256   "%132"
#define PV_ADD_256 "%133"

/* Computes d (+)= a * V for 64 queries and 16 keys; a is in registers, V's keys are not its
   contiguous direction. */
DEVICE void mma_values(float d[HEAD_DIM / 2], const u32 a[4], u64 v, int add)
{
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, " JOIN(
            PV_ADD_, HEAD_DIM) ", 0;\n"
                               "wgmma.mma_async.sync.aligned.m64n" TEXT(
                                   HEAD_DIM) "k16.f32" MMA_TYPE
                                             " {" JOIN(MMA_REGS_, HEAD_DIM) "}, " JOIN(
                                                 PV_A_,
                                                 HEAD_DIM) ", " JOIN(PV_B_,
                                                                     HEAD_DIM) ", p, 1, 1, 1;\n}\n"
        : JOIN(MMA_OUT_, HEAD_DIM)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(v), "r"(add));
}

/* Loads a box of 64 columns x rows x blocks of columns, of one head of one sequence. */
DEVICE void load_rows(u32 to, const tensor_map *map, u32 barrier, int row, int head, int sequence)
{
    asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%3, %4, %3, %5, %6}], [%2];" ::"r"(to),
                 "l"(map), "r"(barrier), "r"(0), "r"(row), "r"(head), "r"(sequence)
                 : "memory");
}

DEVICE float exp2_of(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float log2_of(float x)
{
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Keeps reads of sums behind the wait for them. */
#define KEEP(values, count)                                                                        \
    _Pragma("unroll") for (int keep = 0; keep < (count); keep++)                                   \
    {                                                                                              \
        asm volatile("" : "+f"((values)[keep])::"memory");                                         \
    }

DEVICE unsigned char *dynamic_shared(void)
{
    extern __shared__ __align__(1024) unsigned char memory[];
    return memory;
}

/* Makes barriers visible to the copy engine. */
DEVICE void fence_barriers(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

DEVICE void give_registers(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(PRODUCER_REGISTERS));
}

DEVICE void take_registers(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(CONSUMER_REGISTERS));
}

#endif

typedef struct sizes {
    int queries, keys, heads, group; /* group: heads of Q that share one of K and V */
    int tiles, columns;              /* tiles of queries of a head; heads of all arrays */
    int section;                     /* heads of a section, of all arrays */
    int window;
    float scale, cap;
} sizes;

/* A tile of queries: its number in the head, the head and the array, which is that of a sequence
   unless they are packed. */
typedef struct tile {
    int number, head, array;
} tile;

DEVICE tile tile_at(int id, sizes s)
{
    const int of_section = s.section * s.tiles;
    const int section = id / of_section;
    const int inside = id - section * of_section;
    const int first = section * s.section;
    const int width = s.columns - first < s.section ? s.columns - first : s.section;
    const int number = inside / width;
    const int column = first + inside - number * width;
    tile t;
    t.number = s.tiles - 1 - number;
    t.array = column / s.heads;
    t.head = column - t.array * s.heads;
    return t;
}

/* ---- packed sequences ---- */

/* Where they begin, and what a block finds out about them, in shared memory: `order` has their
   numbers, those with the most keys first, and `first` the number of the first tile of each in this
   order, if there were only one head; first[count] is that of all tiles. */
typedef struct packing {
    const int *query_offsets, *key_offsets;
    int count;
    int *order, *first;
} packing;

/* A sequence in the arrays: so many rows from the first on. */
typedef struct span {
    int first, rows;
} span;

DEVICE span span_of(const int *offsets, int sequence)
{
    span s;
    s.first = offsets[sequence];
    s.rows = offsets[sequence + 1] - s.first;
    return s;
}

DEVICE int tiles_of(int sequence, packing p)
{
    return (span_of(p.query_offsets, sequence).rows + TILE_QUERIES - 1) / TILE_QUERIES;
}

/* Sorts the sequences and numbers their tiles. Each thread counts what comes before its own. */
DEVICE void sort_sequences(packing p)
{
    for (int own = threadIdx.x; own < p.count; own += THREADS) {
        const int keys = span_of(p.key_offsets, own).rows;
        int rank = 0, before = 0;
        for (int i = 0; i < p.count; i++) {
            const int others = span_of(p.key_offsets, i).rows;
            if (others > keys || (others == keys && i < own)) {
                rank++;
                before += tiles_of(i, p);
            }
        }
        p.order[rank] = own;
        p.first[rank] = before;
        if (rank == p.count - 1) {
            p.first[p.count] = before + tiles_of(own, p);
        }
    }
}

/* Finds the sequence of a tile whose number counts from the end of them all, and replaces the
   number by that in the sequence. */
DEVICE int sequence_of(int *number, packing p)
{
    const int id = p.first[p.count] - 1 - *number;
    int low = 0, high = p.count; /* first[low] <= id < first[high] */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (p.first[middle] <= id) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *number = p.first[low + 1] - 1 - id;
    return p.order[low];
}

/* Returns the tiles of keys that a tile of queries needs, at least one: from `first` down to
   `last`. */
DEVICE void keys_of(int *first, int *last, int number, sizes s)
{
    int end = s.keys, begin = 0;
    if (CAUSAL) {
        const int seen = (number + 1) * TILE_QUERIES + s.keys - s.queries;
        end = seen < end ? seen : end;
        if (WINDOW) {
            begin = number * TILE_QUERIES + s.keys - s.queries - s.window + 1;
        }
    }
    *first = end > 0 ? (end - 1) / TILE_KEYS : 0;
    *last = begin > 0 ? begin / TILE_KEYS : 0;
    *last = *last < *first ? *last : *first;
}

/* Addresses in shared memory. */
typedef struct places {
    u32 q, slots, full, empty, q_full, q_empty;
} places;

/* ---- producer ---- */

DEVICE void load_slot(const tensor_map *map, places p, ring *r, int row, int head, int array)
{
    barrier_wait(p.empty + 8 * r->slot, r->parity ^ 1);
    barrier_expect(p.full + 8 * r->slot, SLOT_BYTES);
    load_rows(p.slots + r->slot * SLOT_BYTES, map, p.full + 8 * r->slot, row, head, array);
    ring_next(r);
}

DEVICE int next_tile(int id, u32 *counter)
{
    return SCHEDULE == 2 ? (int)(atomicAdd(counter, 1) + gridDim.x) : id + (int)gridDim.x;
}

DEVICE void produce(const tensor_map *map_q, const tensor_map *map_k, const tensor_map *map_v,
                    volatile int *note, u32 *counter, places p, sizes s, packing packed)
{
    const int items = s.tiles * s.columns;
    ring r = {0, 0};
    u32 q_parity = 1;
    for (int id = (int)blockIdx.x; id < items;) {
        const int next = SCHEDULE ? next_tile(id, counter) : items;
        tile t = tile_at(id, s);
        const int kv_head = t.head / s.group;
        int first, last;
        span queries = {0, 0}, keys = {0, 0};
        if (PACKED) {
            const int sequence = sequence_of(&t.number, packed);
            queries = span_of(packed.query_offsets, sequence);
            keys = span_of(packed.key_offsets, sequence);
            s.queries = queries.rows;
            s.keys = keys.rows;
        }
        keys_of(&first, &last, t.number, s);
        barrier_wait(p.q_empty, q_parity);
        q_parity ^= 1;
        note[0] = t.number;
        note[1] = t.head;
        note[2] = t.array;
        if (PACKED) {
            note[3] = queries.first;
            note[4] = queries.rows;
            note[5] = keys.rows;
        }
        barrier_expect(p.q_full, Q_BYTES);
        load_rows(p.q, map_q, p.q_full, queries.first + t.number * TILE_QUERIES, t.head, t.array);
        load_slot(map_k, p, &r, keys.first + first * TILE_KEYS, kv_head, t.array);
        for (int n = first - 1; n >= last; n--) {
            load_slot(map_k, p, &r, keys.first + n * TILE_KEYS, kv_head, t.array);
            load_slot(map_v, p, &r, keys.first + (n + 1) * TILE_KEYS, kv_head, t.array);
        }
        load_slot(map_v, p, &r, keys.first + last * TILE_KEYS, kv_head, t.array);
        id = next;
    }
    barrier_wait(p.q_empty, q_parity);
    note[0] = -1;
    barrier_arrive(p.q_full);
    if (SCHEDULE == 2) { /* the last block to end leaves the counters as it found them */
        __threadfence();
        if (atomicInc(counter + 1, gridDim.x - 1) == gridDim.x - 1) {
            atomicExch(counter, 0);
        }
    }
}

/* ---- consumers ---- */

/* Starts S = Q K^T. */
DEVICE void start_scores(float s[TILE_KEYS / 2], u64 q, u64 k)
{
#pragma unroll
    for (int step = 0; step < HEAD_DIM / 16; step++) {
        const u32 inside = step % 4 * 32;
        mma(s, q + ((step / 4 * (TILE_QUERIES * 128) + inside) >> 4),
            k + ((step / 4 * (TILE_KEYS * 128) + inside) >> 4), step > 0);
    }
    mma_commit();
}

/* Starts O (+)= P V. */
DEVICE void start_values(float o[HEAD_DIM / 2], const u32 weights[TILE_KEYS / 4], u64 v, int add)
{
#pragma unroll
    for (int step = 0; step < TILE_KEYS / 16; step++) {
        mma_values(o, weights + 4 * step, v + (step * 2048 >> 4), step > 0 || add);
    }
    mma_commit();
}

/* Element i of a thread's scores is of row (i / 2 % 2) * 8 and key i / 4 * 8 + i % 2, from the
   first of the thread on. Hides keys above `upto` and below `from`, relative to the first. */
DEVICE void hide(float s[TILE_KEYS / 2], const int upto[2], const int from[2])
{
#pragma unroll
    for (int i = 0; i < TILE_KEYS / 2; i++) {
        const int key = i / 4 * 8 + i % 2;
        if (key > upto[i / 2 % 2] || (WINDOW && key < from[i / 2 % 2])) {
            s[i] = MINUS_INF;
        }
    }
}

/* cap * tanh(scale * s / cap), without the loss of tanh.approx; factors are 2 * scale * log2(e) /
   cap and 2 * cap. */
DEVICE void soften(float s[TILE_KEYS / 2], float before, float cap)
{
#pragma unroll
    for (int i = 0; i < TILE_KEYS / 2; i++) {
        s[i] = cap - 2 * cap * reciprocal(1 + exp2_of(s[i] * before));
    }
}

/* The softmax so far of a thread's two rows: the maximum that sums are relative to, and the
   thread's share of the sum. */
typedef struct softmax_rows {
    float max[2], sum[2];
} softmax_rows;

/* Turns scores into weights; *less is the factor for what was summed before. */
DEVICE void weigh(float s[TILE_KEYS / 2], softmax_rows *rows, float less[2], float factor)
{
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float even = s[2 * r], odd = s[2 * r + 1];
#pragma unroll
        for (int i = 4 + 2 * r; i < TILE_KEYS / 2; i += 4) {
            even = fmaxf(even, s[i]);
            odd = fmaxf(odd, s[i + 1]);
        }
        float largest = fmaxf(even, odd);
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
        const float before = rows->max[r];
        const float max = (largest - before) * factor > RESCALE_ABOVE ? largest : before;
        const float base = max == MINUS_INF ? 0 : max * factor; /* no key so far */
        less[r] = exp2_of(before * factor - base);
        rows->max[r] = max;
        even = 0;
        odd = 0;
#pragma unroll
        for (int i = 2 * r; i < TILE_KEYS / 2; i += 4) {
            s[i] = exp2_of(s[i] * factor - base);
            s[i + 1] = exp2_of(s[i + 1] * factor - base);
            even += s[i];
            odd += s[i + 1];
        }
        rows->sum[r] = rows->sum[r] * less[r] + (even + odd);
    }
}

DEVICE void pack_weights(u32 weights[TILE_KEYS / 4], const float s[TILE_KEYS / 2])
{
#pragma unroll
    for (int i = 0; i < TILE_KEYS / 4; i++) {
        weights[i] = pack(s[2 * i], s[2 * i + 1]);
    }
}

/* Transposes 4 x 4 words of the 4 threads that share a row: then each has 8 columns of the row in
   one piece. */
DEVICE void gather(u32 w[4], int thread)
{
#pragma unroll
    for (int bit = 1; bit <= 2; bit *= 2) {
        const bool upper = (thread & bit) != 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if ((i & bit) == 0) {
                const u32 give = upper ? w[i] : w[i + bit];
                const u32 take = __shfl_xor_sync(0xffffffff, give, bit);
                w[i] = upper ? take : w[i];
                w[i + bit] = upper ? w[i + bit] : take;
            }
        }
    }
}

/* Distances in O, in elements, and in LSE. */
typedef struct strides {
    long long row, head, array, sums;
} strides;

DEVICE void finish(float o[HEAD_DIM / 2], const softmax_rows *rows, unsigned short *out, float *lse,
                   strides d, tile t, int row0, float factor, sizes s)
{
    const int thread = threadIdx.x % 32;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const int row = row0 + 8 * r;
        float sum = rows->sum[r];
        sum += __shfl_xor_sync(0xffffffff, sum, 1);
        sum += __shfl_xor_sync(0xffffffff, sum, 2);
        const bool any = rows->max[r] > MINUS_INF; /* it attends to a key */
        const float one = any ? 1 / sum : 0;
        if (thread % 4 == 0 && row < s.queries) {
            const float of = any ? (rows->max[r] * factor + log2_of(sum)) * LN_2 : MINUS_INF;
            lse[(t.array * s.heads + t.head) * d.sums + row] = of;
        }
        unsigned short *to =
            out + t.array * d.array + t.head * d.head + row * d.row + thread % 4 * 8;
#pragma unroll
        for (int c = 0; c < HEAD_DIM / 32; c++) {
            u32 w[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const int at = (c * 4 + i) * 4 + 2 * r;
                w[i] = pack(o[at] * one, o[at + 1] * one);
            }
            gather(w, thread);
            if (row < s.queries) {
                *(uint4 *)(to + c * 32) = make_uint4(w[0], w[1], w[2], w[3]);
            }
        }
    }
}

DEVICE void release(u32 barrier, int thread)
{
    if (thread == 0) {
        barrier_arrive(barrier);
    }
}

/* The consumers take turns to start products. */
DEVICE void take_turn(int consumer)
{
    if (PING_PONG) {
        named_sync(BARRIER_TURN + consumer, 256);
    }
}

DEVICE void pass_turn(int consumer)
{
    if (PING_PONG) {
        named_arrive(BARRIER_TURN + (consumer + 1) % NUM_CONSUMERS, 256);
    }
}

/* heart: begin */
DEVICE void consume(volatile int *note, unsigned short *out, float *lse, strides d, places p,
                    sizes s)
{
    const int consumer = (int)threadIdx.x / 128 - 1;
    const int thread = threadIdx.x % 128;
    const u64 q = mma_descriptor(p.q + (u32)consumer * 8192, 0);
    const float factor = SOFT_CAP ? LOG2_E : s.scale * LOG2_E;
    const float before = SOFT_CAP ? 2 * s.scale * LOG2_E / s.cap : 0;
    ring r = {0, 0};
    u32 q_parity = 0;
    if (PING_PONG && consumer == NUM_CONSUMERS - 1) {
        pass_turn(consumer); /* the first goes first */
    }
    for (;;) {
        barrier_wait(p.q_full, q_parity);
        q_parity ^= 1;
        const tile t = {note[0], note[1], note[2]};
        if (t.number < 0) {
            break;
        }
        const int first_query = PACKED ? note[3] : 0;
        if (PACKED) {
            s.queries = note[4];
            s.keys = note[5];
        }
        int n, last;
        keys_of(&n, &last, t.number, s);
        const int first_row = t.number * TILE_QUERIES + consumer * 64; /* of the warpgroup */
        const int row = first_row + thread / 32 * 16 + thread % 32 / 4;
        const int shift = s.keys - s.queries;
        /* Tiles from here on need a mask at their end, and below there at their beginning. */
        const int seen = CAUSAL && first_row + shift < s.keys - 1 ? first_row + shift : s.keys - 1;
        const int lowest = WINDOW ? first_row + 63 + shift - s.window + 1 : 0;
        float scores[TILE_KEYS / 2], o[HEAD_DIM / 2], less[2];
        u32 weights[TILE_KEYS / 4];
        softmax_rows rows = {{MINUS_INF, MINUS_INF}, {0, 0}};

        barrier_wait(p.full + 8 * r.slot, r.parity);
        mma_fence();
        start_scores(scores, q, mma_descriptor(p.slots + r.slot * SLOT_BYTES, 0));
        MMA_WAIT(0);
        KEEP(scores, TILE_KEYS / 2);
        release(p.empty + 8 * r.slot, thread);
        ring_next(&r);
        int add = 0;
        for (;; n--) {
            if (SOFT_CAP) {
                soften(scores, before, s.cap);
            }
            if ((n + 1) * TILE_KEYS - 1 > seen || (WINDOW && n * TILE_KEYS < lowest)) {
                const int at = n * TILE_KEYS + thread % 4 * 2;
                int upto[2], from[2];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const int own = row + 8 * i + shift;
                    upto[i] = (CAUSAL && own < s.keys - 1 ? own : s.keys - 1) - at;
                    from[i] = own - s.window + 1 - at;
                }
                hide(scores, upto, from);
            }
            weigh(scores, &rows, less, factor);
            if (add) {
                MMA_WAIT(0);
                KEEP(o, HEAD_DIM / 2);
                release(p.empty + 8 * (r.slot == 0 ? num_stages - 1 : r.slot - 1), thread);
                if (__any_sync(0xffffffff, less[0] != 1 || less[1] != 1)) {
#pragma unroll
                    for (int i = 0; i < HEAD_DIM / 2; i++) {
                        o[i] *= less[i / 2 % 2];
                    }
                }
            }
            pack_weights(weights, scores);
            if (n == last) {
                break;
            }
            const u32 k = r.slot;
            barrier_wait(p.full + 8 * k, r.parity);
            ring_next(&r);
            take_turn(consumer);
            mma_fence();
            start_scores(scores, q, mma_descriptor(p.slots + k * SLOT_BYTES, 0));
            barrier_wait(p.full + 8 * r.slot, r.parity);
            mma_fence();
            start_values(o, weights, mma_descriptor(p.slots + r.slot * SLOT_BYTES, TILE_KEYS * 128),
                         add);
            ring_next(&r);
            pass_turn(consumer);
            add = 1;
            MMA_WAIT(1);
            KEEP(scores, TILE_KEYS / 2);
            release(p.empty + 8 * k, thread);
        }
        release(p.q_empty, thread);
        barrier_wait(p.full + 8 * r.slot, r.parity);
        mma_fence();
        start_values(o, weights, mma_descriptor(p.slots + r.slot * SLOT_BYTES, TILE_KEYS * 128),
                     add);
        MMA_WAIT(0);
        KEEP(o, HEAD_DIM / 2);
        release(p.empty + 8 * r.slot, thread);
        ring_next(&r);
        finish(o, &rows, out + first_query * d.row, lse + first_query, d, t, row, factor, s);
    }
}
/* heart: end */

KERNEL ak_kernel(MAP map_q, MAP map_k, MAP map_v, unsigned short *out, float *lse, u32 *counter,
                 int sequences, int queries, int keys, int heads, int kv_heads, int section,
                 int window, float scale, float cap, long long row_stride, long long head_stride,
                 long long array_stride, const int *query_offsets, const int *key_offsets)
{
    unsigned char *memory = dynamic_shared();
    const u32 base = shared_address(memory);
    volatile int *note = (volatile int *)(memory + OFFSET_BARS + 16 * num_stages + 16);
    const places p = {base,
                      base + Q_BYTES,
                      base + OFFSET_BARS,
                      base + OFFSET_BARS + 8 * num_stages,
                      base + OFFSET_BARS + 16 * num_stages,
                      base + OFFSET_BARS + 16 * num_stages + 8};
    sizes s = {queries,
               keys,
               heads,
               heads / kv_heads,
               (queries + TILE_QUERIES - 1) / TILE_QUERIES,
               PACKED ? heads : sequences * heads,
               section,
               window,
               scale,
               cap};
    const strides d = {row_stride, head_stride, array_stride, queries};
    int *const numbers = (int *)(memory + OFFSET_NUMBERS);
    const packing packed = {query_offsets, key_offsets, sequences, numbers, numbers + sequences};
    if (threadIdx.x == 0) {
        for (int i = 0; i < num_stages; i++) {
            barrier_init(p.full + 8 * (u32)i, 1);
            barrier_init(p.empty + 8 * (u32)i, NUM_CONSUMERS);
        }
        barrier_init(p.q_full, 1);
        barrier_init(p.q_empty, NUM_CONSUMERS);
        fence_barriers();
        prefetch_map(&map_q);
        prefetch_map(&map_k);
        prefetch_map(&map_v);
    }
    __syncthreads();
#if LAUNCH_EARLY
    let_next_kernel_start();
    wait_for_kernel_before();
#endif
    if (PACKED) {
        sort_sequences(packed);
        __syncthreads();
        s.tiles = packed.first[sequences];
    }
    if (threadIdx.x < 128) {
        give_registers();
        if (threadIdx.x / 32 == 0 && elect_one()) {
            produce(&map_q, &map_k, &map_v, note, counter, p, s, packed);
        }
    } else {
        take_registers();
        consume(note, out, lse, d, p, s);
    }
}
