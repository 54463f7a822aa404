/*
 * cuda_async.cu: what the products for compute capability 8.0 and higher share, on tensor cores
 * (cuda_sm80.cu) and in f32 (cuda_f32.cu): copies to shared memory that run beside the arithmetic
 * (cp.async), which tile a block computes, and how the parts of a split K are added up. The harness
 * puts this text in front of theirs, behind the epilogue's (cuda_activation.cu).
 *
 * BLOCK_SIZE_M, BLOCK_SIZE_N, BLOCK_SIZE_K, GROUP_SIZE_M and SPLIT_K must be defined, and THREADS
 * and BLOCKS_PER_SM before KERNEL is used. Macros, which are 0 by default:
 *   HAS_BIAS, EPILOGUE(x) bias[column] is added, then EPILOGUE applied; from cuda_activation.cu
 *   HAS_ALPHA             1: alpha * A * B
 *   HAS_BETA              1: beta * C_in is added before the bias; C_in has the layout of C and may
 *                         be C
 *   HAS_RESIDUAL          1: the residual, with the layout of C, is added after EPILOGUE
 *   LAUNCH_EARLY          1: the kernel begins while the one before it still runs
 *
 * Workspace for SPLIT_K > 1: a counter for each tile, rounded up together to 128 bytes, zero
 * between launches; then SPLIT_K x BLOCK_SIZE_M x BLOCK_SIZE_N floats for each tile.
 *
 * tests/simt/simt.h defines SIMT and every function of the next section.
 */
typedef unsigned int u32;
typedef long long i64;

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
#ifndef LAUNCH_EARLY
#define LAUNCH_EARLY 0
#endif

/* ---- instructions ---- */

#ifndef SIMT

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
#define UNROLL _Pragma("unroll")

DEVICE unsigned char *dynamic_shared(void)
{
    extern __shared__ __align__(128) unsigned char shared[];
    return shared;
}

/* Addresses in shared memory are 32 bits. */
DEVICE u32 shared_base(void)
{
    return (u32)__cvta_generic_to_shared(dynamic_shared());
}

/* Starts a copy of `width` bytes (a constant), of which the first `bytes` exist; the others become
   zeros. */
DEVICE void copy_async(u32 to, const void *from, int width, int bytes)
{
    if (width == 16) {
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from),
                     "r"(bytes)
                     : "memory");
    } else if (width == 8) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
    } else {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
                     : "memory");
    }
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

#if LAUNCH_EARLY
/* Let the next kernel begin, and wait until what the one before has written can be seen (compute
   capability 9.0 and higher, by the launch attribute). */
DEVICE void launch_next(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

DEVICE void launch_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
#endif

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

/* Loads four sums of another block. */
DEVICE void load_parts(float v[4], const float *from)
{
    asm volatile("ld.global.cg.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                 : "l"(from)
                 : "memory");
}

DEVICE void store_parts(float *to, const float v[4])
{
    asm volatile("st.global.cg.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v[0]), "f"(v[1]),
                 "f"(v[2]), "f"(v[3])
                 : "memory");
}

#endif

/* ---- tiles ---- */

/* What a block computes: the tile of C that begins at (m0, n0), of `tiles` in all, and of K `count`
   slices from slice `begin` on: part `part` of the tile. */
typedef struct place {
    int tile, tiles, part, m0, n0, begin, count;
} place;

/* Tiles are visited in groups of GROUP_SIZE_M rows, column after column inside a group. */
DEVICE place place_of_block(int m, int n, int k)
{
    place p;
    const int rows = (m + BLOCK_SIZE_M - 1) / BLOCK_SIZE_M;
    const int columns = (n + BLOCK_SIZE_N - 1) / BLOCK_SIZE_N;
    const int slices = (k + BLOCK_SIZE_K - 1) / BLOCK_SIZE_K;
    p.tile = (int)blockIdx.x / SPLIT_K;
    p.tiles = rows * columns;
    p.part = (int)blockIdx.x % SPLIT_K;
    const int first = p.tile / (GROUP_SIZE_M * columns) * GROUP_SIZE_M;
    const int height = rows - first < GROUP_SIZE_M ? rows - first : GROUP_SIZE_M;
    const int inside = p.tile % (GROUP_SIZE_M * columns);
    p.m0 = (first + inside % height) * BLOCK_SIZE_M;
    p.n0 = inside / height * BLOCK_SIZE_N;
    p.begin = (int)((i64)slices * p.part / SPLIT_K);
    p.count = (int)((i64)slices * (p.part + 1) / SPLIT_K) - p.begin;
    return p;
}

#if SPLIT_K > 1
/* Leaves the sums of this block, `vectors` of four in each of `threads` threads (both constants),
   in the workspace. The last block of a tile gets the sum of all parts in `acc`, and true. `flag`
   is the address of four bytes of shared memory that nobody uses. */
DEVICE bool add_parts(float (*acc)[4], int vectors, int threads, unsigned char *workspace,
                      const place *p, u32 flag)
{
    const int all = BLOCK_SIZE_M * BLOCK_SIZE_N;
    u32 *count = (u32 *)workspace + p->tile;
    float *parts = (float *)(workspace + (p->tiles + 31) / 32 * 128) +
                   (i64)p->tile * SPLIT_K * all + threadIdx.x * 4;
    UNROLL for (int i = 0; i < vectors; i++)
    {
        store_parts(parts + (i64)p->part * all + i * (threads * 4), acc[i]);
    }
    __threadfence();
    block_sync();
    if (threadIdx.x == 0) {
        const u32 before = atomicAdd(count, 1u);
        store_shared_one(flag, before);
        if (before == SPLIT_K - 1) {
            *count = 0; /* zero again, for the next launch */
        }
    }
    block_sync();
    if (load_shared_one(flag) != SPLIT_K - 1) {
        return false;
    }
    __threadfence();
    UNROLL for (int i = 0; i < vectors; i++)
    {
        acc[i][0] = acc[i][1] = acc[i][2] = acc[i][3] = 0;
    }
    for (int part = 0; part < SPLIT_K; part++) {
        UNROLL for (int i = 0; i < vectors; i++)
        {
            float v[4];
            load_parts(v, parts + (i64)part * all + i * (threads * 4));
            UNROLL for (int j = 0; j < 4; j++)
            {
                acc[i][j] += v[j];
            }
        }
    }
    return true;
}
#endif
