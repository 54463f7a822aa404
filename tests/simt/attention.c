/*
 * attention.c: runs one configuration of attention for Hopper on the CPU, over edge-case shapes,
 * and compares it with sums in double. See simt.h and cases.txt.
 *
 * This file has the instructions of cuda_wgmma.cu and those of the kernel itself. Products take
 * effect when they are started or not before they are waited for, and boxes arrive when they are
 * requested or later, at random. Memory between and behind tensors holds NaN.
 */
#include <assert.h>

#include "simt.h"

#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef uint32_t u32;
typedef uint64_t u64;
typedef uint16_t u16;

typedef struct tensor_map {
    const u16 *at;
    long long row, head, array; /* strides */
    int rows, box;
} tensor_map;

/* A product that was started: of the scores (from shared memory) or with V (from registers). */
typedef struct product {
    float *d;
    u64 x, y;
    float a[2][16]; /* the thread's two rows of the weights */
    int add, group;
    bool values;
} product;

static struct pending {
    product all[64];
    int count, groups;
} started[SIMT_THREADS_MAX];

/* ---- barriers ---- */

typedef struct arrivals {
    u32 count, arrived, completed;
    long long bytes; /* still to come */
} arrivals;

/* What a block has: a barrier for each 8 bytes of shared memory, boxes under way, named barriers.
 */
static struct block {
    arrivals at[SIMT_SHARED_MAX / 8];
    struct box {
        const tensor_map *map;
        u32 to, barrier;
        int row, head, array;
    } box[16];
    int boxes;
    int met[16], rounds[16];
} here;

static void yield(void)
{
    simt_switch(&simt.self->context, &simt.scheduler);
}

static u32 shared_address(const void *p)
{
    return (u32)((const unsigned char *)p - dynamic_shared());
}

static void barrier_init(u32 at, u32 count)
{
    if (at ==
        HEAD_DIM * 2 * (64 * NUM_CONSUMERS + num_stages * TILE_KEYS)) { /* the first of a block */
        memset(&here, 0, sizeof here);
        memset(started, 0, sizeof started);
    }
    here.at[at / 8] = (arrivals){count, 0, 0, 0};
}

static void check_phase(arrivals *a)
{
    if (a->arrived == a->count && a->bytes == 0) {
        a->completed++;
        a->arrived = 0;
    }
    if (a->arrived > a->count) {
        SIMT_FAIL("too many arrive at a barrier");
    }
}

static void barrier_arrive(u32 at)
{
    here.at[at / 8].arrived++;
    check_phase(&here.at[at / 8]);
}

static void barrier_expect(u32 at, u32 bytes)
{
    here.at[at / 8].bytes += bytes;
    barrier_arrive(at);
}

static u32 swizzled(u32 address)
{
    return address ^ (address >> 7 & 7) << 4;
}

static void deliver(int i)
{
    const struct box b = here.box[i];
    here.box[i] = here.box[--here.boxes];
    for (int block = 0; block < HEAD_DIM / 64; block++) {
        for (int r = 0; r < b.map->box; r++) {
            for (int c = 0; c < 64; c++) {
                const long long row = b.row + r;
                const u32 to = b.to + (u32)((block * b.map->box + r) * 128 + c * 2);
                u16 x = 0;
                if (row < b.map->rows) {
                    x = b.map->at[row * b.map->row + b.head * b.map->head + b.array * b.map->array +
                                  block * 64 + c];
                }
                memcpy(dynamic_shared() + swizzled(to), &x, 2);
            }
        }
    }
    arrivals *a = &here.at[b.barrier / 8];
    a->bytes -= (long long)HEAD_DIM * b.map->box * 2;
    check_phase(a);
}

static void load_rows(u32 to, const tensor_map *map, u32 barrier_at, int row, int head, int array)
{
    if (to % 1024 != 0 || here.boxes == 16) {
        SIMT_FAIL("a box at %u, %d under way", to, here.boxes);
    }
    here.box[here.boxes++] = (struct box){map, to, barrier_at, row, head, array};
    if (simt_random() & 1) {
        deliver(here.boxes - 1);
    }
}

static void barrier_wait(u32 at, u32 parity)
{
    for (long spins = 0; (here.at[at / 8].completed & 1) == parity; spins++) {
        if (here.boxes > 0 && simt_random() % 64 == 0) {
            deliver((int)(simt_random() % (unsigned)here.boxes));
        }
        if (spins > 100000) {
            SIMT_FAIL("waits for ever at barrier %u", at);
        }
        yield();
    }
}

static void named_arrive(int id, int threads)
{
    if (++here.met[id] == threads) {
        here.met[id] = 0;
        here.rounds[id]++;
    }
}

static void named_sync(int id, int threads)
{
    const int round = here.rounds[id];
    named_arrive(id, threads);
    for (long spins = 0; here.rounds[id] == round; spins++) {
        if (spins > 100000) {
            SIMT_FAIL("waits for ever at named barrier %d", id);
        }
        yield();
    }
}

/* ---- products ---- */

static u64 mma_descriptor(u32 address, u32 block_bytes)
{
    return (u64)((address & 0x3ffffu) >> 4) | (u64)(block_bytes >> 4) << 16;
}

static float shared_number(u32 address)
{
    u16 x;
    memcpy(&x, dynamic_shared() + swizzled(address), 2);
    return simt_from_16(x);
}

/* Adds one step of 16 to the elements of this thread, in wgmma's layout. */
static void multiply(const product *m)
{
    const int lane = simt.self->index % 32, warp = simt.self->index / 32 % 4;
    const int columns = m->values ? HEAD_DIM : TILE_KEYS;
    const u32 x = (u32)(m->x & 0x3fff) << 4, y = (u32)(m->y & 0x3fff) << 4;
    const u32 leading = (u32)(m->y >> 16 & 0x3fff) << 4;
    for (int i = 0; i < columns / 2; i++) {
        const int half = i / 2 % 2, row = warp * 16 + lane / 4 + 8 * half;
        const int n = i / 4 * 8 + lane % 4 * 2 + i % 2;
        double sum = m->add ? m->d[i] : 0;
        for (int k = 0; k < 16; k++) {
            const float a = m->values ? m->a[half][k] : shared_number(x + (u32)(row * 128 + k * 2));
            const float b =
                m->values ? shared_number(y + (u32)(n / 64) * leading + (u32)(k * 128 + n % 64 * 2))
                          : shared_number(y + (u32)(n * 128 + k * 2));
            sum += (double)a * b;
        }
        m->d[i] = (float)sum;
    }
}

static void start(product m)
{
    struct pending *p = &started[simt.self->index];
    if (p->count == 64) {
        SIMT_FAIL("too many products are under way");
    }
    m.group = p->groups;
    p->all[p->count++] = m;
}

/* Returns true once all warps of the warpgroup have started this many groups: they multiply
   together. */
static bool all_started(int groups)
{
    const int first = simt.self->index / 128 * 128;
    for (int i = first; i < first + 128; i++) {
        if (started[i].groups < groups) {
            return false;
        }
    }
    return true;
}

/* Completes all but the latest `pending` groups. */
static void complete(int pending)
{
    struct pending *p = &started[simt.self->index];
    int left = 0;
    while (!all_started(p->groups - pending)) {
        yield();
    }
    for (int i = 0; i < p->count; i++) {
        if (p->all[i].group < p->groups - pending) {
            multiply(&p->all[i]);
        } else {
            p->all[left++] = p->all[i];
        }
    }
    p->count = left;
}

static void mma_fence(void)
{
}

static void mma_commit(void)
{
    started[simt.self->index].groups++;
    if (simt_random() % 4 == 0 && all_started(started[simt.self->index].groups)) {
        complete(0);
    }
}

#define MMA_WAIT(pending)   complete(pending)
#define KEEP(values, count) ((void)(values))

static void start_product(float *d, u64 x, u64 y, int add)
{
    start((product){.d = d, .x = x, .y = y, .add = add});
}

#define mma start_product

/* Each of 4 lanes gets the words of all: of its two rows, 16 weights each. */
static void share_words(simt_thread *lane[32], uint32_t lanes, int how)
{
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 4; j++) {
            memcpy(lane[i]->out + 4 * j, lane[i / 4 * 4 + j]->in, 16);
        }
    }
}

static void mma_values(float d[HEAD_DIM / 2], const u32 a[4], u64 v, int add)
{
    product m = {.d = d, .y = v, .add = add, .values = true};
    memcpy(simt.self->in, a, 16);
    simt_collective("a product with V", 0xffffffffu, share_words, 0);
    for (int half = 0; half < 2; half++) {
        for (int k = 0; k < 16; k++) {
            const u32 word = simt.self->out[k / 2 % 4 * 4 + (k / 8) * 2 + half];
            m.a[half][k] = simt_from_16((u16)(k % 2 ? word >> 16 : word));
        }
    }
    start(m);
}

/* ---- the rest ---- */

typedef struct uint4 {
    u32 x, y, z, w;
} uint4;

static uint4 make_uint4(u32 x, u32 y, u32 z, u32 w)
{
    return (uint4){x, y, z, w};
}

static float __int_as_float(int x)
{
    return __uint_as_float((u32)x);
}

static float shuffle_number(float x, int distance)
{
    return shuffle_xor(0xffffffffu, x, distance);
}

static u32 shuffle_word(u32 x, int distance)
{
    return __float_as_uint(shuffle_number(__uint_as_float(x), distance));
}

#define __shfl_xor_sync(mask, x, distance)                                                         \
    _Generic((x), float : shuffle_number, u32 : shuffle_word)(x, distance)

static void any_of(simt_thread *lane[32], uint32_t lanes, int how)
{
    u32 any = 0;
    for (int i = 0; i < 32; i++) {
        any |= lane[i]->in[0];
    }
    for (int i = 0; i < 32; i++) {
        lane[i]->out[0] = any;
    }
}

static int __any_sync(u32 mask, int x)
{
    simt.self->in[0] = x != 0;
    simt_collective("a vote", mask, any_of, 0);
    return (int)simt.self->out[0];
}

static u32 atomicInc(u32 *at, u32 last)
{
    const u32 old = *at;
    *at = old >= last ? 0 : old + 1;
    return old;
}

static u32 atomicExch(u32 *at, u32 x)
{
    const u32 old = *at;
    *at = x;
    return old;
}

static bool elect_one(void)
{
    return simt.self->index % 32 == 0;
}

static float exp2_of(float x)
{
    return exp2f(x);
}

static float log2_of(float x)
{
    return log2f(x);
}

#define MAP               const tensor_map
#define __syncthreads     block_sync
#define prefetch_map(map) ((void)(map))

static void fence_barriers(void)
{
}
static void give_registers(void)
{
}
static void take_registers(void)
{
}

__attribute__((unused)) static void let_next_kernel_start(void)
{
}

__attribute__((unused)) static void wait_for_kernel_before(void)
{
    launch_wait();
}

#include "../../kernels/matmul/cuda_ring.cu"
#include "../../kernels/attention/cuda_sm90.cu"

/* ---- cases ---- */

/* Elements behind each tensor; most sequences. */
enum { SPARE = 64, BATCH_MAX = 8 };

/* `queries` and `keys` are rows of an array. Sequence i has those from one offset to the next of
   array i; packed sequences are all in array 0. */
static struct call {
    int batch, heads, kv_heads, queries, keys, window, arrays;
    int query_offsets[BATCH_MAX + 1], key_offsets[BATCH_MAX + 1];
    bool nhd;
    u16 *q, *k, *v, *out;
    float *lse, cap;
    u32 counter[2];
} c;

static long long place(int array, int head, int row, int heads, int rows)
{
    return (c.nhd ? ((long long)array * rows + row) * heads + head
                  : ((long long)array * heads + head) * rows + row) *
           HEAD_DIM;
}

static tensor_map map_of(const u16 *at, int heads, int rows, int box)
{
    return (tensor_map){.at = at,
                        .row = place(0, 0, 1, heads, rows),
                        .head = place(0, 1, 0, heads, rows),
                        .array = place(1, 0, 0, heads, rows),
                        .rows = rows,
                        .box = box};
}

static tensor_map maps[3];

static void call_kernel(void)
{
    ak_kernel(maps[0], maps[1], maps[2], c.out, c.lse, c.counter, c.batch, c.queries, c.keys,
              c.heads, c.kv_heads, c.heads / c.kv_heads, c.window, 0.25f, c.cap, maps[0].row,
              maps[0].head, maps[0].array, c.query_offsets, c.key_offsets);
}

static u16 *tensor(int heads, int rows, bool filled)
{
    const size_t count = (size_t)c.arrays * (size_t)heads * (size_t)rows * HEAD_DIM;
    u16 *x = malloc((count + SPARE) * 2);
    for (size_t i = 0; i < count + SPARE; i++) {
        x[i] = filled && i < count ? simt_to_16((float)((double)simt_random() / 2147483648.0 - 1))
                                   : 0xffff;
    }
    return x;
}

/* Divides rows at random places. */
static void cut(int offsets[BATCH_MAX + 1], int rows)
{
    for (int i = 1; i < c.batch; i++) {
        const int at = (int)(simt_random() % (unsigned)(rows + 1));
        int j = i;
        for (; j > 1 && offsets[j - 1] > at; j--) {
            offsets[j] = offsets[j - 1];
        }
        offsets[j] = at;
    }
    offsets[0] = 0;
    offsets[c.batch] = rows;
}

/* `query` is a row of its array. */
static int sequence_at(int array, int query)
{
    int sequence = PACKED ? 0 : array;
    while (PACKED && c.query_offsets[sequence + 1] <= query) {
        sequence++;
    }
    return sequence;
}

static bool seen(int sequence, int query, int key)
{
    const int *q = c.query_offsets + sequence, *k = c.key_offsets + sequence;
    const int own = PACKED ? query - q[1] + k[1] : query + c.keys - c.queries;
    return (!PACKED || (k[0] <= key && key < k[1])) &&
           (!CAUSAL || (key <= own && (!WINDOW || key > own - c.window)));
}

/* Counts what is wrong with a row. */
static int wrong_in(int array, int head, int query)
{
    const u16 *q = c.q + place(array, head, query, c.heads, c.queries);
    const int sequence = sequence_at(array, query);
    const u16 *o = c.out + (q - c.q);
    double all = 0, sums[HEAD_DIM] = {0};
    int wrong = 0;
    for (int j = 0; j < c.keys; j++) {
        const long long at = place(array, head / (c.heads / c.kv_heads), j, c.kv_heads, c.keys);
        double x = 0;
        for (int d = 0; seen(sequence, query, j) && d < HEAD_DIM; d++) {
            x += (double)simt_from_16(q[d]) * simt_from_16(c.k[at + d]);
        }
        x = SOFT_CAP ? c.cap * tanh(0.25 * x / c.cap) : 0.25 * x;
        const double weight = seen(sequence, query, j) ? exp(x) : 0;
        all += weight;
        for (int d = 0; d < HEAD_DIM; d++) {
            sums[d] += weight * simt_from_16(c.v[at + d]);
        }
    }
    for (int d = 0; d < HEAD_DIM; d++) {
        const double want = all > 0 ? sums[d] / all : 0;
        wrong += !(fabs(simt_from_16(o[d]) - want) <= 0.006 * (fabs(want) + 0.5));
    }
    const float lse = c.lse[(array * c.heads + head) * c.queries + query];
    return wrong + (all > 0 ? !(fabs((double)lse - log(all)) <= 2e-4) : lse != MINUS_INF);
}

static int run(int batch, int heads, int kv_heads, int queries, int keys, int layout)
{
    const int arrays = PACKED ? 1 : batch;
    c = (struct call){batch,   heads,        kv_heads,         queries,
                      keys,    .window = 37, .arrays = arrays, .nhd = layout,
                      .cap = 3};
    cut(c.query_offsets, queries);
    cut(c.key_offsets, keys);
    c.q = tensor(heads, queries, true);
    c.k = tensor(kv_heads, keys, true);
    c.v = tensor(kv_heads, keys, true);
    c.out = tensor(heads, queries, false);
    c.lse = malloc((size_t)(arrays * heads * queries) * sizeof *c.lse);
    maps[0] = map_of(c.q, heads, queries, TILE_QUERIES);
    maps[1] = map_of(c.k, kv_heads, keys, TILE_KEYS);
    maps[2] = map_of(c.v, kv_heads, keys, TILE_KEYS);
    const int tiles = PACKED ? heads * (queries / TILE_QUERIES + batch)
                             : (queries + TILE_QUERIES - 1) / TILE_QUERIES * batch * heads;
    const int shared = PACKED ? OFFSET_NUMBERS + 8 * batch + 4 : OFFSET_BARS + 16 * num_stages + 32;
    int wrong = 0;
    for (int again = 0; again < 2; again++) { /* the counters are as they were found */
        const unsigned blocks = SCHEDULE && tiles > 2 ? 2 : (unsigned)tiles;
        simt_launch(call_kernel, blocks, THREADS, 1, shared, (u64)(7 + again));
        wrong += c.counter[0] != 0 || c.counter[1] != 0;
        for (int i = 0; i < arrays * heads * queries; i++) {
            const int bad = wrong_in(i / queries / heads, i / queries % heads, i % queries);
            if (bad > 0 && wrong < 5) {
                (void)fprintf(stderr, "%d x %d/%d heads, %d x %d, layout %d: row %d has %d wrong\n",
                              batch, heads, kv_heads, queries, keys, layout, i, bad);
            }
            wrong += bad;
        }
        for (int i = 0; i < SPARE; i++) {
            wrong += c.out[arrays * heads * queries * HEAD_DIM + i] != 0xffff;
        }
        if (queries * keys > 10000) {
            break;
        }
        memset(c.out, 0xff, (size_t)(arrays * heads * queries) * HEAD_DIM * 2);
    }
    free(c.q);
    free(c.k);
    free(c.v);
    free(c.out);
    free(c.lse);
    return wrong;
}

int main(void)
{
    int wrong = run(1, 1, 1, 1, 1, 0);
    wrong += run(1, 2, 1, 70, 37, 1);
    wrong += run(2, 2, 2, 9, 2 * TILE_KEYS + 5, 0);
    wrong += run(1, 2, 1, TILE_QUERIES + 3, TILE_KEYS, 0);
    if (PACKED) {
        wrong += run(7, 2, 1, TILE_QUERIES + 60, TILE_KEYS + 90, 1);
        wrong += run(8, 1, 1, 12, 9, 0);
    }
    return wrong > 0;
}
