/* grouped_plan.c: draws groups, sizes and numbers of blocks, and shows that the blocks of
   matmul_grouped together compute each slot of each tile once (each block of a cluster its columns
   of it), that tiles cover the rows of the groups, and that those who add up wait for as many parts
   as there are. See cases.txt. */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SIMT   1
#define DEVICE static inline __attribute__((unused))
typedef uint32_t u32;

static struct {
    unsigned x;
} blockIdx, gridDim;

static int min(int a, int b)
{
    return a < b ? a : b;
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

#include "../../kernels/matmul_grouped/cuda_plan.cu"

enum { GROUPS = 40, SLOTS = 70, TRIALS = 300 };
static int ends[GROUPS], first[GROUPS + 1];

static int drawn(int low, int high)
{
    return low + rand() % (high - low + 1);
}

#if !layout_is_masked
static int ascending(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
#endif

static problem draw_problem(void)
{
    const int groups = drawn(1, GROUPS), m = drawn(1, 2000), n = 8 * drawn(1, 300);
    problem p = {.ends = ends, .first = first, .groups = groups, .m = m, .n = n, .k = 0};
    p.strips = (n + STRIP - 1) / STRIP;
    p.slots = drawn(1, SLOTS);
    for (int g = 0; g < groups; g++) {
        ends[g] = drawn(0, m);
    }
#if !layout_is_masked
    ends[groups - 1] = m;
    qsort(ends, (size_t)groups, sizeof *ends, ascending);
#endif
    for (int g = 0; g < groups; g++) {
        first[g + 1] = first[g] + (rows_of(g, p) + BLOCK_SIZE_M - 1) / BLOCK_SIZE_M;
    }
    return p;
}

static void check_tiles(problem p)
{
    long covered = 0, rows = 0;
    for (int id = 0; id < first[p.groups] * p.strips; id++) {
        const work w = tile_at(id, p);
        assert(w.rows > 0 && w.rows <= BLOCK_SIZE_M && w.n0 >= 0 && w.n0 < p.n);
        assert(w.row >= row_of(w.group, p) &&
               w.row + w.rows <= row_of(w.group, p) + rows_of(w.group, p));
        covered += w.rows;
    }
    for (int g = 0; g < p.groups; g++) {
        rows += rows_of(g, p);
    }
    assert(covered == rows * p.strips);
}

/* Counts what a block does in `done`, slot by slot, and its parts of each divided tile. */
static void check_block(problem p, plan s, int *done, int *parts)
{
    const plan begin = s;
    const int block = own_cluster();
    work w;
    for (int id = s.next; next_work(&w, &s, p); id = s.next) {
        int tile = id;
        if (w.count < p.slots) {
            assert(w.part == (block * s.share / p.slots == w.number ? 0 : 1));
            assert(block >= first_block(w.number, s, p) && block <= last_block(w.number, s, p));
            tile = begin.whole + w.number;
            parts[w.number]++;
        }
        for (int i = 0; i < w.count; i++) {
            done[tile * p.slots + w.from + i]++;
        }
    }
}

static void check_shares(problem p)
{
    const int tiles = first[p.groups] * p.strips;
    int *done = calloc((size_t)(tiles * p.slots) + 1, sizeof *done);
    int *parts = calloc((size_t)tiles + 1, sizeof *parts);
    plan s = {.whole = 0};
    assert(done != NULL && parts != NULL);
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++) {
        s = plan_of(p);
        check_block(p, s, done, parts);
    }
    for (int i = 0; i < tiles * p.slots; i++) {
        assert(done[i] == CLUSTER_N);
    }
    for (int i = 0; i < s.divided; i++) {
        assert((u32)(parts[i] * NUM_CONSUMERS) == arrivals(i, s, p));
    }
    free(done);
    free(parts);
}

int main(void)
{
    srand(1);
    for (int i = 0; i < TRIALS; i++) {
        const problem p = draw_problem();
        gridDim.x = (unsigned)(CLUSTER_N * drawn(1, 140 / CLUSTER_N));
        check_tiles(p);
        check_shares(p);
    }
    printf("%d problems: each slot of each tile once\n", TRIALS);
    return 0;
}
