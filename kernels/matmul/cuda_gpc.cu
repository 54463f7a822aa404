/*
 * cuda_gpc.cu: numbers the tiles that the blocks of a launch begin with by GPC (group of SMs).
 *
 * Blocks of one GPC that ask for the same line at the same time get it by one request to the level 2
 * cache, so tiles beside each other, which share rows of A or columns of B, belong in one GPC. The
 * source is what cuBLASLt does, as bench/cuda/tile_order.cu prints it (docs/kernel-log.md, step 121).
 *
 * The order is right on any chip, because it only renumbers the clusters of a grid. It is fast where
 * the GPCs are those of GPC_PAIRS and no SM was busy when the launch began.
 */
#if GPC_ORDER
#ifndef GPC_PAIRS
#define GPC_PAIRS 1, 1, 1, 1, 4, 8, 8, 8, 8, 8, 9, 9
#endif
enum { GPC_BLOCKS = CLUSTER_M * CLUSTER_N * CLUSTER_K, GPC_PAIRS_MAX = 9 };

/* The hardware begins clusters by turns, one on each GPC that has room, those of the least room
   first. So a cluster's number tells its GPC, if no SM was busy before. gpc_pairs are the pairs of
   SMs of each GPC (pairs in no GPC count as one); on a chip with others the order is another one. */
static constexpr int gpc_pairs[] = {GPC_PAIRS};
enum { GPCS = sizeof gpc_pairs / sizeof *gpc_pairs };

/* Returns for how many clusters a GPC has room. */
DEVICE constexpr int room_of(int gpc)
{
    return gpc_pairs[gpc] * 2 / GPC_BLOCKS;
}

/* Returns how many GPCs have no room after so many turns. */
DEVICE constexpr int full_after(int turns)
{
    int n = 0;
    for (int i = 0; i < GPCS; i++) {
        n += room_of(i) <= turns;
    }
    return n;
}

/* Returns how many clusters begin in the first turns. */
DEVICE constexpr int begun_in(int turns)
{
    int n = 0;
    for (int i = 0; i < GPCS; i++) {
        n += room_of(i) < turns ? room_of(i) : turns;
    }
    return n;
}

/* A cluster's place: so many turns were over when it began, `full` GPCs had no room any more, and in
   its own turn so many clusters began before it. */
typedef struct place {
    int turns, full, before;
} place;

DEVICE place place_of(int cluster)
{
    place p = {0, full_after(0), cluster};
#pragma unroll
    for (int i = 1; i < GPC_PAIRS_MAX * 2 / GPC_BLOCKS; i++) {
        if (cluster >= begun_in(i)) {
            p.turns = i;
            p.full = full_after(i);
            p.before = cluster - begun_in(i);
        }
    }
    return p;
}

/* Returns the number of a cluster's first tile, so that the clusters of one GPC have tiles beside
   each other: requests of one GPC for the same line, at the same time, go to level 2 as one. */
DEVICE int by_gpc(int cluster, int clusters)
{
    if (cluster >= begun_in(GPC_PAIRS_MAX * 2 / GPC_BLOCKS)) {
        return cluster;
    }
    const place own = place_of(cluster), end = place_of(clusters);
    const int gpc = own.full + own.before;
    int first = own.turns;
#pragma unroll
    for (int i = 0; i < GPCS - 1; i++) { /* what the GPCs before this one have */
        const int most = end.turns + (i - end.full < end.before);
        first += i < gpc ? (room_of(i) < most ? room_of(i) : most) : 0;
    }
    return first;
}
#endif
