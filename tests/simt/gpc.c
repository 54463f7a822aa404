/* gpc.c: begins clusters as the hardware does, by turns on each GPC that has room, and shows that
   cuda_gpc.cu gives each of them a tile of its own, and those of one GPC tiles beside each other.
   See cases.txt. */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DEVICE static inline __attribute__((unused))
#define constexpr /* C17 has no such functions */
#define GPC_ORDER 1

#include "../../kernels/matmul/cuda_gpc.cu"

enum { CLUSTERS_MAX = 256 };

/* Gives the GPC of each cluster, in the order in which they begin. Returns how many have room. */
static int begin(int *gpc_of)
{
    int left[GPCS], count = 0;
    for (int g = 0; g < GPCS; g++) {
        left[g] = gpc_pairs[g] * 2 / (CLUSTER_M * CLUSTER_N * CLUSTER_K);
    }
    for (bool more = true; more;) {
        more = false;
        for (int g = 0; g < GPCS; g++) {
            if (left[g] > 0) {
                left[g]--;
                gpc_of[count++] = g;
                more = true;
            }
        }
    }
    return count;
}

int main(void)
{
    int gpc_of[CLUSTERS_MAX], least[GPCS], most[GPCS], members[GPCS];
    const int room = begin(gpc_of);
    for (int clusters = 1; clusters <= room + 5; clusters++) {
        bool taken[CLUSTERS_MAX] = {false};
        memset(members, 0, sizeof members);
        for (int i = 0; i < clusters; i++) {
            const int tile = by_gpc(i, clusters), g = i < room ? gpc_of[i] : -1;
            assert(tile >= 0 && tile < clusters && !taken[tile]);
            taken[tile] = true;
            if (g < 0) {
                continue;
            }
            least[g] = members[g] == 0 || tile < least[g] ? tile : least[g];
            most[g] = members[g] == 0 || tile > most[g] ? tile : most[g];
            members[g]++;
        }
        for (int g = 0; g < GPCS; g++) {
            assert(members[g] == 0 || most[g] - least[g] == members[g] - 1);
        }
    }
    printf("%d clusters, each with a tile of its own, in order of GPCs\n", room);
    return 0;
}
