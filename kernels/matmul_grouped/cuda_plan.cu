/*
 * cuda_plan.cu: which tiles of which groups each block of matmul_grouped computes.
 *
 * The numbers of rows of the groups are known only on the device, so each block makes a table of
 * them. A strip is the columns of C of one group that a cluster computes, BLOCK_SIZE_N for each of
 * its CLUSTER_N blocks, which have the same rows and do everything together. The tiles of all groups form one list,
 * in which those of the same strip are neighbours, so that other blocks find the strip's weights in
 * the level 2 cache. It has a few strips of each group before the next few of each: tiles of groups
 * with many rows wait for the tensor cores, those of groups with few rows for memory, and side by
 * side they use both. Blocks take tiles in turns; with STREAM they share what is left along K.
 *
 * This text comes before cuda_sm90.cu, whose macros it uses; tests/simt/grouped_plan.c runs it on a
 * CPU.
 */
#define STRIP (BLOCK_SIZE_N * CLUSTER_N) /* columns of C */
/* Blocks of 64 columns of C in a tile. */
#define COLUMN_BLOCKS (BLOCK_SIZE_N / 64)
/* Tokens whose parts are added at a time, and least slots of a part. */
#define UNIT        (BLOCK_SIZE_M < 32 ? BLOCK_SIZE_M : 32)
#define LEAST_SLOTS 4
#define TURN        47 /* places of a round by which a block moves on; prime to most grids */

/* What all tiles share. `ends` has, for each group, the end of its rows or, with places, their
   number; `first` has the number of its first tile, if there were only one strip. Both lie in
   shared memory. */
typedef struct problem {
    int *ends, *first;
    int groups, m, n, k, strips, slots;
    int shift; /* columns between the first of a strip and the block's first */
    const float *scale_a, *scale_b; /* of the rows of A and B, if these are e4m3 */
} problem;

/* Clusters, and which of them the block belongs to. */
DEVICE int clusters(void)
{
    return (int)gridDim.x / CLUSTER_N;
}

DEVICE int own_cluster(void)
{
    return (int)blockIdx.x / CLUSTER_N;
}

/* A tile, or a part of it along K: up to BLOCK_SIZE_M tokens from `row` on, columns from n0 on,
   `count` slots of K from `from` on. `number` is that of a divided tile, `part` which of the
   block's parts it is. */
typedef struct work {
    int group, row, rows, n0, from, count, number, part;
    bool shared; /* other tiles have the same strip */
} work;

DEVICE int row_of(int group, problem p)
{
#if layout_is_masked
    return group * p.m;
#else
    return group == 0 ? 0 : p.ends[group - 1];
#endif
}

DEVICE int rows_of(int group, problem p)
{
#if layout_is_masked
    return min(max(p.ends[group], 0), p.m);
#else
    return max(min(p.ends[group], p.m) - row_of(group, p), 0);
#endif
}

#ifndef SIMT
/* Numbers the tiles of all groups; one warp does. */
DEVICE void number_tiles(problem p, int lane)
{
    int before = 0;
    for (int base = 0; base < p.groups; base += 32) {
        const int group = base + lane;
        int sum = group < p.groups ? (rows_of(group, p) + BLOCK_SIZE_M - 1) / BLOCK_SIZE_M : 0;
#pragma unroll
        for (int distance = 1; distance < 32; distance *= 2) {
            const int other = __shfl_up_sync(0xffffffffu, sum, distance);
            sum += lane >= distance ? other : 0;
        }
        if (group < p.groups) {
            p.first[group + 1] = before + sum;
        }
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
    if (lane == 0) {
        p.first[0] = 0;
    }
}
#endif

/* Returns tile number `id` as a whole. Bundles of STRIPS strips follow each other; in a bundle, the
   groups; in a group's part of it, the strips, whose tiles are neighbours. */
DEVICE work tile_at(int id, problem p)
{
    const int all = p.first[p.groups]; /* tiles of a strip of each group */
    const int bundle = id / (all * STRIPS), strips = min(p.strips - bundle * STRIPS, STRIPS);
    int inside = id - bundle * (all * STRIPS);
    int low = 0, high = p.groups; /* first[low] * strips <= inside < first[high] * strips */
    while (high - low > 1) {
        const int middle = (low + high) / 2;
        if (p.first[middle] * strips <= inside) {
            low = middle;
        } else {
            high = middle;
        }
    }
    inside -= p.first[low] * strips;
    const int down = p.first[low + 1] - p.first[low];
    const int strip = down == 1 ? inside : inside / down;
    const int skipped = (inside - strip * down) * BLOCK_SIZE_M;
    work w;
    w.group = low;
    w.row = row_of(low, p) + skipped;
    w.rows = min(rows_of(low, p) - skipped, BLOCK_SIZE_M);
    w.shared = down > 1;
    w.n0 = (bundle * STRIPS + strip) * STRIP + p.shift;
    w.from = 0;
    w.count = p.slots;
    w.number = 0;
    w.part = 0;
    return w;
}

/* How the tiles are shared. Of the last `divided` tiles, each block has `share` slots: from `begin`
   to `end` of the line that all of their slots form. Of the others it has one of each round of
   all clusters, `next` first. Its place in the round changes, because tiles differ in cost and the
   list repeats itself. */
typedef struct plan {
    int whole, divided, share, begin, end, next, part;
} plan;

DEVICE plan plan_of(problem p)
{
    const int tiles = p.first[p.groups] * p.strips, blocks = clusters();
    plan s;
    s.divided = STREAM ? tiles % blocks : 0;
    s.share = max((s.divided * p.slots + blocks - 1) / blocks, LEAST_SLOTS);
    if (s.divided * 10 > blocks * 9 || s.share >= p.slots) { /* not worth it */
        s.divided = 0;
    }
    s.whole = tiles - s.divided;
    s.begin = min(own_cluster() * s.share, s.divided * p.slots);
    s.end = min(s.begin + s.share, s.divided * p.slots);
    s.next = own_cluster();
    s.part = 0;
    return s;
}

/* Finds what the block does next; returns false if there is nothing left. */
DEVICE bool next_work(work *w, plan *s, problem p)
{
    if (s->begin < s->end) {
        const int number = s->begin / p.slots;
        *w = tile_at(s->whole + number, p);
        w->from = s->begin - number * p.slots;
        w->count = min(s->end - s->begin, p.slots - w->from);
        w->number = number;
        w->part = s->part++;
        s->begin += w->count;
        return true;
    }
    if (s->next >= s->whole) {
        return false;
    }
    *w = tile_at(s->next, p);
    const int blocks = clusters(), place = s->next % blocks;
    s->next += blocks - place + (place + TURN) % blocks;
    return true;
}

/* Divided tile `number` is in the shares of these blocks. */
DEVICE int first_block(int number, plan s, problem p)
{
    return number * p.slots / s.share;
}

DEVICE int last_block(int number, plan s, problem p)
{
    return ((number + 1) * p.slots - 1) / s.share;
}

/* All consumers of these blocks count, and all who add up. */
DEVICE u32 arrivals(int number, plan s, problem p)
{
    return (u32)((last_block(number, s, p) - first_block(number, s, p) + 1) * NUM_CONSUMERS);
}

DEVICE u32 counts_of(int number, int width, plan s, problem p)
{
    return arrivals(number, s, p) + (u32)(COLUMN_BLOCKS * ((width + UNIT - 1) / UNIT));
}
