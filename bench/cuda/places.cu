/*
 * places.cu: on which GPCs (groups of SMs) do the blocks of a launch begin?
 *
 * Blocks of one cluster are in one GPC, so launches of clusters show which SMs belong together. Then
 * the GPC of each cluster is printed, a letter for each, in the order of the clusters' numbers.
 * Blocks of one GPC that ask for a line at the same time get it by one request to level 2
 * (docs/kernel-log.md, step 114), so this decides what an order of tiles is worth.
 *
 *     nvcc -O2 -std=c++17 -arch=sm_90a bench/cuda/places.cu -o places && ./places
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

enum { SMS_MAX = 256, SHARED = 200000 }; /* so much shared memory that an SM has one block */

template <int CLUSTER>
__global__ void __cluster_dims__(CLUSTER, 1, 1) begin(unsigned *sm)
{
    const long long start = clock64();
    if (threadIdx.x == 0) {
        asm volatile("mov.u32 %0, %%smid;" : "=r"(sm[blockIdx.x]));
        while (clock64() - start < 60000) { /* until all blocks have begun */
        }
    }
}

static int parent[SMS_MAX];

static int root_of(int sm)
{
    return parent[sm] == sm ? sm : parent[sm] = root_of(parent[sm]);
}

/* Returns the SM of each block. */
template <int CLUSTER>
static std::vector<unsigned> launch(int clusters)
{
    static unsigned *sm;
    std::vector<unsigned> found(clusters * CLUSTER);
    bool ok = sm != nullptr || cudaMalloc(&sm, SMS_MAX * sizeof *sm) == cudaSuccess;
    cudaFuncSetAttribute(begin<CLUSTER>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
    cudaFuncSetAttribute(begin<CLUSTER>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
    begin<CLUSTER><<<clusters * CLUSTER, 32, SHARED>>>(sm);
    ok = ok && cudaPeekAtLastError() == cudaSuccess;
    ok = ok && cudaMemcpy(found.data(), sm, found.size() * sizeof *sm, cudaMemcpyDeviceToHost) == cudaSuccess;
    if (!ok) {
        fprintf(stderr, "places: %s\n", cudaGetErrorString(cudaGetLastError()));
        exit(1);
    }
    return found;
}

template <int CLUSTER>
static void learn(int clusters)
{
    const std::vector<unsigned> found = launch<CLUSTER>(clusters);
    for (size_t i = 0; i < found.size(); i++) {
        parent[root_of(found[i])] = root_of(found[i / CLUSTER * CLUSTER]);
    }
}

template <int CLUSTER>
static void show(int clusters, std::map<int, char> &names)
{
    const std::vector<unsigned> found = launch<CLUSTER>(clusters);
    printf("%d clusters of %d: ", clusters, CLUSTER);
    for (size_t i = 0; i < found.size(); i += CLUSTER) {
        putchar(names[root_of(found[i])]);
    }
    putchar('\n');
}

int main()
{
    cudaDeviceProp device;
    if (cudaGetDeviceProperties(&device, 0) != cudaSuccess || device.major != 9) {
        fprintf(stderr, "places: no Hopper device\n");
        return 1;
    }
    const int sms = device.multiProcessorCount;
    for (int i = 0; i < SMS_MAX; i++) {
        parent[i] = i;
    }
    for (int round = 0; round < 40; round++) {
        learn<16>(1 + round % 6);
        learn<8>(1 + round % 15);
        learn<4>(1 + round % 30);
        learn<2>(1 + round % (sms / 2));
    }
    std::map<int, char> names;
    for (int sm = 0; sm < sms; sm++) {
        if (names.count(root_of(sm)) == 0) {
            const char name = (char)('A' + names.size());
            names[root_of(sm)] = name;
            printf("%c:", name);
            for (int other = 0; other < sms; other++) {
                root_of(other) == root_of(sm) ? printf(" %d", other) : 0;
            }
            putchar('\n');
        }
    }
    for (int again = 0; again < 2; again++) {
        show<1>(sms, names);
        show<2>(sms / 2, names);
        show<4>(30, names);
        show<8>(15, names);
    }
}
