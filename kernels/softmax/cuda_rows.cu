/*
 * cuda_rows.cu: the common part of the kernels on rows of a matrix (softmax, layernorm, rmsnorm,
 * reduce): which thread works on which part of a row, how the part is loaded once and kept, and
 * how the threads of a row combine their sums. Device code includes nothing; the harness puts
 * this text in front of each kernel's cuda.cu.
 *
 * THREADS_PER_ROW threads in each of CLUSTER blocks work on a row. A block works on ROWS rows at
 * a time, and continues with others if the grid is smaller than the matrix. A row is cut into
 * whole vectors of VEC_BYTES at aligned addresses. The elements before the first and after the
 * last vector, fewer than a vector each, are the row's edges; the first threads of the row take
 * one or a few of them each. So rows of any length and address are nearly as fast as aligned
 * ones, nothing outside a row is touched, and aligned rows cost nothing extra.
 *
 * A thread keeps the first KEEP of its vectors in registers. If the row has more, they wait in
 * shared memory (REST = 1), or every pass reads them from memory again (REST = 0). So a
 * configuration that is too small for a row is slow but right.
 *
 * Parameters (macros), all powers of two except KEEP:
 *   THREADS_PER_ROW  4 to 1024; up to 32 threads are part of a warp and need no barrier
 *   ROWS             rows of a block; at most 15 if THREADS_PER_ROW > 32, 1 if CLUSTER > 1
 *   CLUSTER          blocks that share a row and exchange their sums through shared memory
 *   BATCH            rows that a thread works on at the same time: it loads what all rows share
 *                    once for all of them, and needs one reduction for all of them. All are in
 *                    registers (WHOLE = 2, or 0 and KEEP large enough; no REST, PREFETCH, STAGES).
 *                    If rows are not whole vectors, the rows of a batch are V rows apart, so that
 *                    all begin at the same place of a vector, and what all rows share is aligned
 *                    with it once.
 *   VEC_BYTES        16, 8, 4, 2 (not below an element)
 *   KEEP, REST       see above
 *   PREFETCH         1: the next row is loaded before this one is worked on (not with REST = 1)
 *   WHOLE            what is known of rows beforehand. 0: nothing. 1: they consist of whole
 *                    vectors at aligned addresses and have no edges. 2: they also have exactly
 *                    KEEP vectors for each thread, so no test is needed (REST = 0)
 *   STAGES           rows that wait in shared memory, for each thread group, while one is worked
 *                    on. The copy engine brings whole rows, and a barrier in memory counts their
 *                    arrival (WHOLE = 2, compute capability 9.0). 0: rows go to registers directly
 *   BLOCKS_PER_SM    promised to the compiler, which limits registers accordingly
 *   LOAD_HINT        0: as usual, 1: past the level 1 cache, 2: first to leave all caches
 *   STORE_HINT       0: as usual, 1: first to leave the caches
 *   LAUNCH_EARLY     1: the next kernel may start once all blocks of this one have started, and
 *                    this one waits for the end of the previous one before it first needs memory
 *                    (programmatic dependent launch, compute capability 9.0). 2: while it waits,
 *                    its first rows are prefetched into the level 2 cache. What is still written to
 *                    them is seen, because a prefetch returns no data. 3: as 2, but the next kernel
 *                    may start only when all blocks of this one have waited, so that no more than
 *                    two are on their way, however many blocks an SM could hold
 *
 * Dynamic shared memory: SCRATCH_BYTES, STAY_BYTES, then for REST = 1 one vector for each thread
 * and each of its vectors beyond KEEP; for STAGES the rows, then 8 bytes for each of a group's
 * stages.
 *
 * tests/simt/simt.h defines SIMT and every function of the next section, and runs the rest on a
 * CPU.
 */
typedef unsigned int u32;
typedef unsigned short u16;
typedef long long i64;
typedef unsigned long long u64;

#define THREADS (THREADS_PER_ROW * ROWS)
#define LANES                                                                                      \
    (THREADS_PER_ROW < 32 ? THREADS_PER_ROW : 32) /* lanes of a warp for one                       \
                                                     row */
#define WARPS                                                                                      \
    (THREADS_PER_ROW / LANES) /* warps of a row in one                                             \
                                 block */
#define KEEP_ARRAY (KEEP > 0 ? KEEP : 1)
#define WORDS      (VEC_BYTES < 4 ? 1 : VEC_BYTES / 4)
#define PARTS_MAX  4 /* the fourth is for alignment */
#define MEETS      (WARPS * CLUSTER > 1)
#define EQUAL_PARTS                                                                                \
    (WHOLE == 2)                                            /* all threads have equally many       \
                                                               elements whenever two parts are     \
                                                               combined */
#define HALF          (BATCH * WARPS * CLUSTER * PARTS_MAX) /* floats for a group's reduction */
#define SCRATCH       (MEETS ? 2 * ROWS * HALF : 0)
#define SCRATCH_BYTES (SCRATCH * 4 + (CLUSTER > 1 ? 16 : 0))

#if dtype_is_f32
#define ELEMENT 4
#else
#define ELEMENT 2
#endif
#define V (VEC_BYTES / ELEMENT) /* elements of a vector */

/* EDGE: most elements of one edge. EDGES: most elements of both edges for one thread. */
#ifdef CENTRED /* with weights an edge may be longer: see row_at */
#define EDGE (2 * V)
#else
#define EDGE V
#endif
#define EDGES (WHOLE || V == 1 ? 0 : (2 * EDGE + THREADS_PER_ROW - 1) / THREADS_PER_ROW)

#if THREADS > 1024 || VEC_BYTES < ELEMENT
#error "no such block"
#elif CLUSTER > 1 && (ROWS > 1 || THREADS_PER_ROW < 32)
#error "a cluster works on one row, with whole warps"
#elif THREADS_PER_ROW > 32 && ROWS > 15
#error "a block has 16 barriers, of which weights may need one more"
#elif WHOLE == 2 && (REST || KEEP == 0)
#error "the whole row is kept in registers"
#elif STAGES && (WHOLE != 2 || PREFETCH || VEC_BYTES != 16)
#error "whole rows of whole vectors wait in shared memory, and nowhere else"
#elif BATCH > 1 && (WHOLE == 1 || REST || PREFETCH || STAGES)
#error "rows that are worked on at the same time are in registers, all of them"
#elif PREFETCH && REST
#error "the next row has no place of its own in shared memory"
#endif

typedef struct vector {
    u32 w[WORDS];
} __attribute__((aligned(WORDS * 4))) vector;

/* What stays at the start of shared memory for all rows of a block: see cuda_norm.cu. */
#if WEIGHT_EARLY == 3
#define STAY_BYTES ((CENTRED ? 2 : 1) * KEEP * THREADS_PER_ROW * VEC_BYTES)
#else
#define STAY_BYTES 0
#endif

/* ---- instructions ---- */

#ifndef SIMT

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
#define UNROLL _Pragma("unroll")
#define LOOP   _Pragma("unroll 1")

#if LOAD_HINT == 2
#define LOAD_OP "ld.global.cs"
#elif LOAD_HINT == 1
#define LOAD_OP "ld.global.L1::no_allocate"
#else
#define LOAD_OP "ld.global"
#endif
#define CACHED_OP "ld.global.nc"
#if STORE_HINT
#define STORE_OP "st.global.cs"
#else
#define STORE_OP "st.global"
#endif

#if VEC_BYTES == 16
#define LOAD_VECTOR(op, v, from)                                                                   \
    asm volatile(op ".v4.u32 {%0, %1, %2, %3}, [%4];"                                              \
                 : "=r"((v).w[0]), "=r"((v).w[1]), "=r"((v).w[2]), "=r"((v).w[3])                  \
                 : "l"(from))
#elif VEC_BYTES == 8
#define LOAD_VECTOR(op, v, from)                                                                   \
    asm volatile(op ".v2.u32 {%0, %1}, [%2];" : "=r"((v).w[0]), "=r"((v).w[1]) : "l"(from))
#elif VEC_BYTES == 4
#define LOAD_VECTOR(op, v, from) asm volatile(op ".u32 %0, [%1];" : "=r"((v).w[0]) : "l"(from))
#else
#define LOAD_VECTOR(op, v, from) asm volatile(op ".u16 %0, [%1];" : "=r"((v).w[0]) : "l"(from))
#endif

DEVICE vector load_global(const void *from)
{
    vector v;
    LOAD_VECTOR(LOAD_OP, v, from);
    return v;
}

/* Loads what all rows need, into the level 1 cache whatever LOAD_HINT is. */
DEVICE vector load_cached(const void *from)
{
    vector v;
    LOAD_VECTOR(CACHED_OP, v, from);
    return v;
}

DEVICE void store_global(void *to, vector v)
{
#if VEC_BYTES == 16
    asm volatile(STORE_OP ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.w[0]), "r"(v.w[1]),
                 "r"(v.w[2]), "r"(v.w[3])
                 : "memory");
#elif VEC_BYTES == 8
    asm volatile(STORE_OP ".v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(v.w[0]), "r"(v.w[1]) : "memory");
#elif VEC_BYTES == 4
    asm volatile(STORE_OP ".u32 [%0], %1;" ::"l"(to), "r"(v.w[0]) : "memory");
#else
    asm volatile(STORE_OP ".u16 [%0], %1;" ::"l"(to), "h"((u16)v.w[0]) : "memory");
#endif
}

/* Starts a copy of one vector (of 4 bytes or more) to shared memory. */
DEVICE void copy_async(void *to, const void *from)
{
#if VEC_BYTES == 16
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)),
        "l"(from)
        : "memory");
#elif VEC_BYTES >= 4
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((u32)__cvta_generic_to_shared(to)),
        "l"(from), "n"(VEC_BYTES)
        : "memory");
#endif
}

/* Waits for the copies that this thread has started. */
DEVICE void copy_wait(void)
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

/* Lets the next kernel start when all blocks have called this or have ended. */
DEVICE void launch_next(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Waits until the previous kernel has ended and its writes can be seen. */
DEVICE void launch_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* Returns the number of SMs. */
DEVICE u32 sm_count(void)
{
    u32 sms;
    asm("mov.u32 %0, %%nsmid;" : "=r"(sms));
    return sms;
}

/* Prefetches the line of 128 bytes that holds an address into the level 2 cache. */
DEVICE void prefetch_line(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/* Prepares a barrier in shared memory. It completes each time the bytes that it was told to expect
   have arrived. Its first, third, ... completion is waited for with parity 0, the others with
   parity 1. */
DEVICE void arrival_begin(void *arrival)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(
                     (u32)__cvta_generic_to_shared(arrival))
                 : "memory");
}

/* Tells a barrier in memory how many bytes complete it. */
DEVICE void arrival_expect(void *arrival, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                     (u32)__cvta_generic_to_shared(arrival)),
                 "r"(bytes)
                 : "memory");
}

/* Starts a copy to shared memory by the copy engine; `bytes` is a multiple of 16. */
DEVICE void copy_bulk(void *to, const void *from, u32 bytes, void *arrival)
{
    const u32 at = (u32)__cvta_generic_to_shared(arrival);
    arrival_expect(arrival, bytes);
#if LOAD_HINT == 2
    u64 first_out;
    asm("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(first_out));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1], %2, [%3], %4;" ::"r"((u32)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(bytes), "r"(at), "l"(first_out)
                 : "memory");
#else
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"((u32)__cvta_generic_to_shared(to)),
        "l"(from), "r"(bytes), "r"(at)
        : "memory");
#endif
}

DEVICE void arrival_wait(void *arrival, u32 parity)
{
    asm volatile("{\n.reg .pred there;\nagain:\n"
                 "mbarrier.try_wait.parity.shared.b64 there, [%0], %1;\n"
                 "@!there bra again;\n}\n" ::"r"((u32)__cvta_generic_to_shared(arrival)),
                 "r"(parity)
                 : "memory");
}

/* Synchronises all lanes of a warp. */
DEVICE void warp_sync(void)
{
    __syncwarp();
}

DEVICE unsigned char *dynamic_shared(void)
{
    extern __shared__ __align__(16) unsigned char shared[];
    return shared;
}

DEVICE float shuffle_xor(u32 lanes, float x, int distance)
{
    return __shfl_xor_sync(lanes, x, distance);
}

/* Synchronises `threads` threads of the block; ids are 0 to 15. */
DEVICE void barrier(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Orders only barriers in memory, whose preparation has a fence of its own. A stronger order would
   wait for everything that has been stored. */
DEVICE void cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.relaxed;" ::: "memory");
}

DEVICE void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire;" ::: "memory");
}

DEVICE int cluster_rank(void)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}

/* Stores 1, 2 or 4 floats to the same place of another block's shared memory, and counts their
   bytes in the same barrier there. Unlike a barrier of the cluster, it does not wait for what this
   thread has stored elsewhere before. */
DEVICE void store_remote(float *to, int rank, void *arrival, int count, float x, float y, float z)
{
    const u32 here = (u32)__cvta_generic_to_shared(to);
    const u32 counter = (u32)__cvta_generic_to_shared(arrival);
    u32 there, counter_there;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counter_there) : "r"(counter), "r"(rank));
#define REMOTE_OP "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
    if (count == 1) {
        asm volatile(REMOTE_OP ".b32 [%0], %1, [%2];" ::"r"(there), "r"(__float_as_uint(x)),
                     "r"(counter_there)
                     : "memory");
    } else if (count == 2) {
        asm volatile(REMOTE_OP ".v2.b32 [%0], {%1, %2}, [%3];" ::"r"(there),
                     "r"(__float_as_uint(x)), "r"(__float_as_uint(y)), "r"(counter_there)
                     : "memory");
    } else {
        asm volatile(REMOTE_OP ".v4.b32 [%0], {%1, %2, %3, %3}, [%4];" ::"r"(there),
                     "r"(__float_as_uint(x)), "r"(__float_as_uint(y)), "r"(__float_as_uint(z)),
                     "r"(counter_there)
                     : "memory");
    }
}

DEVICE float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float divide_fast(float x, float y)
{
    float z;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
    return z;
}

DEVICE float reciprocal(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float reciprocal_root(float x)
{
    float y;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float half_to_float(u16 x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}

/* Returns the larger of each of two 16-bit elements; if one is NaN, the other. */
DEVICE u32 max_pair(u32 x, u32 y)
{
    u32 z;
#if dtype_is_f16
    asm("max.f16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
#else
    asm("max.bf16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
#endif
    return z;
}

/* Packs two 16-bit elements, rounded to nearest even; the low one is first in memory. */
DEVICE u32 pack(float low, float high)
{
    u32 both;
#if dtype_is_f16
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
#endif
    return both;
}

#endif

/* ---- vectors ---- */

DEVICE float widen(u16 x)
{
#if dtype_is_f16
    return half_to_float(x);
#else
    return __uint_as_float((u32)x << 16);
#endif
}

DEVICE float element(const vector *v, int j)
{
#if ELEMENT == 4
    return __uint_as_float(v->w[j]);
#else
    return widen((u16)(v->w[j / 2] >> (j % 2 * 16)));
#endif
}

DEVICE vector vector_of(const float x[V])
{
    vector v;
#if ELEMENT == 4
    UNROLL for (int j = 0; j < V; j++)
    {
        v.w[j] = __float_as_uint(x[j]);
    }
#elif V == 1
    v.w[0] = pack(x[0], 0.0f);
#else
    UNROLL for (int j = 0; j < V / 2; j++)
    {
        v.w[j] = pack(x[2 * j], x[2 * j + 1]);
    }
#endif
    return v;
}

/* Loads and stores of single elements. A loaded one is its bits until element_of, so that nothing
   waits for it before it is needed. */
DEVICE u32 load_element(const unsigned char *from)
{
#if ELEMENT == 4
    return *(const u32 *)from;
#else
    return *(const u16 *)from;
#endif
}

DEVICE float element_of(u32 bits)
{
#if ELEMENT == 4
    return __uint_as_float(bits);
#else
    return widen((u16)bits);
#endif
}

DEVICE void store_element(unsigned char *to, float x)
{
#if ELEMENT == 4
    *(float *)to = x;
#else
    *(u16 *)to = (u16)pack(x, 0.0f);
#endif
}

/* Returns the VEC_BYTES that begin at byte `skew` (below VEC_BYTES) of one vector and end in the
   next. */
DEVICE vector vector_between(const vector *v, const vector *behind, int skew)
{
    u32 x[2 * WORDS];
    vector between;
    UNROLL for (int j = 0; j < WORDS; j++)
    {
        x[j] = v->w[j];
        x[WORDS + j] = behind->w[j];
    }
    UNROLL for (int by = WORDS / 2; by > 0; by /= 2)
    {
        UNROLL for (int j = 0; j + by < 2 * WORDS; j++)
        {
            x[j] = skew / 4 & by ? x[j + by] : x[j];
        }
    }
    UNROLL for (int j = 0; j < WORDS; j++)
    {
        between.w[j] = (u32)(((u64)x[j + 1] << 32 | x[j]) >> (skew % 4 * 8));
    }
    return between;
}

/* ---- a row ---- */

/* The position of a thread, which is the same for all of its rows. */
typedef struct place {
    int thread;                /* index of the thread among the row's threads in this block */
    int first;                 /* index of its first vector of a row */
    int group;                 /* index among the block's rows, or batches of rows */
    int rank;                  /* rank of the block in its cluster */
    u32 lanes;                 /* the lanes of this warp that share the row */
    int reductions;            /* reductions so far: they use the halves of the scratch memory in
                                  turn */
    float *scratch;            /* scratch of this group: [2][BATCH][WARPS * CLUSTER][PARTS_MAX] */
    unsigned char *stay;       /* this thread's first vector in shared memory that stays for all
                                  rows; threads at the same place of their rows share it */
    unsigned char *held;       /* this thread's first vector in shared memory that changes with the
                                  row */
    const void *weight, *bias; /* arrays that all rows share, or NULL */
    bool apart;                /* vectors of x and of the result lie differently in memory */
} place;

/* A row as one of its threads sees it. Vector c begins at element head + c * V. */
typedef struct row {
    const unsigned char *start; /* the row's first element */
    const unsigned char *x;     /* this thread's first vector */
    int cols;
    int head, tail; /* elements before the first vector of the row and after the last */
    int count;      /* this thread's vectors: c = first, first + stride, ... */
} row;

/* Distance of a thread's vectors. Blocks of a cluster take turns of THREADS_PER_ROW vectors, or one
   contiguous piece each if the length is known. */
#define STRIDE (WHOLE == 2 ? THREADS_PER_ROW : THREADS_PER_ROW * CLUSTER)
#define PIECE  (WHOLE == 2 ? THREADS_PER_ROW * KEEP : THREADS_PER_ROW)

DEVICE place place_begin(void)
{
    place p;
    const int t = (int)threadIdx.x;
    unsigned char *shared = dynamic_shared();
    p.rank = 0;
#if CLUSTER > 1
    p.rank = cluster_rank();
    if (t == 0) {
        arrival_begin(shared + SCRATCH * 4);
        arrival_begin(shared + SCRATCH * 4 + 8);
    }
    cluster_arrive(); /* no block may write to another that has not started: see row_reduce */
#endif
    p.thread = t % THREADS_PER_ROW;
    p.first = p.rank * PIECE + p.thread;
    p.group = t / THREADS_PER_ROW;
    p.lanes = LANES == 32 ? 0xffffffffu : ((1u << (LANES % 32)) - 1) << (t % 32 / LANES * LANES);
    p.reductions = 0;
    p.weight = p.bias = NULL;
    p.apart = false;
    p.scratch = (float *)shared + p.group * (2 * HALF);
    p.stay = shared + SCRATCH_BYTES + p.thread * VEC_BYTES;
    p.held = shared + SCRATCH_BYTES + STAY_BYTES + t * VEC_BYTES;
    return p;
}

/* Number of blocks that share a row: those of a cluster, or SPLIT (cuda.cu of reduce). */
#ifdef SPLIT
#define BLOCKS (CLUSTER * SPLIT)
#else
#define BLOCKS CLUSTER
#endif

/* Does what a block must do before its first access to global memory. Rows of the result have as
   many elements as those of x. A block prefetches at most `most` bytes of its first rows. */
DEVICE void launch_begin(place *p, const void *x, const void *y, i64 rows, int cols, i64 most)
{
    p->apart = (((size_t)x - (size_t)y) & (VEC_BYTES - 1)) != 0;
#if LAUNCH_EARLY
#if LAUNCH_EARLY < 3
    launch_next();
#endif
#if LAUNCH_EARLY >= 2
    const i64 index = (i64)(blockIdx.x / BLOCKS) * (ROWS * BATCH);
    const i64 there = rows - index < ROWS * BATCH ? rows - index : ROWS * BATCH;
    const i64 mine = there * cols * ELEMENT / BLOCKS; /* each block prefetches its share */
    const i64 bytes = mine < most ? mine : most;
    const int share = CLUSTER > 1 ? p->rank : (int)(blockIdx.x % BLOCKS);
    const unsigned char *from = (const unsigned char *)x + index * cols * ELEMENT + share * mine;
    for (i64 at = (i64)threadIdx.x * 128; at < bytes; at += THREADS * 128) {
        prefetch_line(from + at);
    }
#endif
    launch_wait();
#if LAUNCH_EARLY == 3
    launch_next();
#endif
#endif
}

/* Keeps a block from ending while others of its cluster may still write to it. */
DEVICE void place_end(const place *p)
{
#if CLUSTER > 1
    if (p->reductions == 0) {
        cluster_wait();
    }
#endif
}

/* Distance of the rows of a batch. Without APART, batches are consecutive rows. Otherwise a batch
   is rows 0, V, 2V, ..., the next one 1, V + 1, ..., and after V batches it continues at BATCH *
   V. If weights stay, a block's TOGETHER batches follow each other at the same distance, so that
   all rows of a block begin at the same place of a vector, and those of its next turn too if the
   number of clusters is a multiple of V. */
#if WEIGHT_EARLY >= 2 && !WHOLE
#define APART    V
#define TOGETHER ROWS
#else
#define APART    (WHOLE || BATCH == 1 ? 1 : V)
#define TOGETHER 1
#endif
#define ALIKE                                                                                      \
    (WHOLE || WEIGHT_EARLY >= 2) /* all rows of a thread begin at the same place of a              \
                                    vector */

DEVICE i64 row_of_batch(i64 number)
{
    const i64 turn = number / (APART * TOGETHER);
    const int rest = (int)(number % (APART * TOGETHER));
    return (turn * TOGETHER + rest % TOGETHER) * (APART * BATCH) + rest / TOGETHER;
}

/* Synchronises the threads of this row. Each barrier has a constant number: for a number that ptxas
   does not know a block gets all 16, and an SM has 64, so that it would hold four blocks. */
DEVICE void barrier_of_row(const place *p)
{
    UNROLL for (int i = 0; i < ROWS; i++)
    {
        if (ROWS == 1 || p->group == i) {
            barrier(i, THREADS_PER_ROW);
        }
    }
}

/* Returns the first row of this thread's group; row_next and row_step lead to its next ones. */
DEVICE i64 row_first(const place *p)
{
    return row_of_batch((i64)(blockIdx.x / CLUSTER) * ROWS + p->group);
}

DEVICE i64 row_step(void) /* only if all rows of a thread are ALIKE */
{
    return (i64)(gridDim.x / CLUSTER) * (ROWS * BATCH);
}

DEVICE i64 row_next(i64 row)
{
#if ALIKE
    return row + row_step();
#else
    const i64 number = row / (APART * BATCH) * APART + row % APART;
    return row_of_batch(number + (i64)(gridDim.x / CLUSTER) * ROWS);
#endif
}

/* Returns how many elements after the start of a vector an element of an array lies that all rows
   share. */
DEVICE int skew_at(const void *array, int element)
{
    return (int)(((size_t)array + (size_t)element * ELEMENT) & (VEC_BYTES - 1)) / ELEMENT;
}

/* Describes a row. The weights for one vector of x lie in two vectors of their array, and both must
   be inside the array. So with weights an edge may be one vector longer. */
DEVICE row row_at(const place *p, const void *x, i64 index, int cols)
{
    row r;
    const unsigned char *first = (const unsigned char *)x + index * cols * ELEMENT;
    int vectors = cols / V;
    r.start = first;
    r.cols = cols;
    r.head = r.tail = 0;
#if EDGES
    const void *const shared[2] = {p->weight, p->bias};
    int beyond = 0;
    r.head = (int)(-(size_t)first & (VEC_BYTES - 1)) / ELEMENT;
    UNROLL for (int i = 0; i < 2; i++)
    {
        const int skew = shared[i] != NULL ? skew_at(shared[i], r.head) : 0;
        r.head += skew > r.head ? V : 0;
        beyond = skew > 0 && V - skew > beyond ? V - skew : beyond;
    }
    r.head = r.head < cols ? r.head : cols;
    vectors = cols - r.head > beyond ? (cols - r.head - beyond) / V : 0;
    r.tail = cols - r.head - vectors * V;
#endif
    r.x = first + r.head * ELEMENT + p->first * VEC_BYTES;
    r.count = vectors > p->first ? (vectors - p->first - 1) / STRIDE + 1 : 0;
#if WHOLE == 2
    r.count = KEEP;
#endif
    return r;
}

/* Returns a row of the same shape that begins `bytes` behind another. */
DEVICE row row_moved(row r, i64 bytes)
{
    r.start += bytes;
    r.x += bytes;
    return r;
}

/* Describes a later row of this thread. */
DEVICE row row_after(const row *r, i64 at, const place *p, const void *x, i64 index, int cols)
{
#if ALIKE
    return row_moved(*r, (index - at) * cols * ELEMENT);
#else
    return row_at(p, x, index, cols);
#endif
}

/* One pass over a row: a statement for each vector in registers, then for each of the rest. Rows of
   a batch have the same shape, so the first stands for all. */
#define EACH_ROW(k)     UNROLL for (int k = 0; k < BATCH; k++)
#define EACH_KEPT(i, r) UNROLL for (int i = 0; i < KEEP; i++) if (i < (r)->count)
#define EACH_REST(i, r) LOOP for (int i = KEEP; i < (r)->count; i++)
#define EACH_EDGE(k)    UNROLL for (int k = 0; k < EDGES; k++)

/* Returns the element of the row that is this thread's k-th of the edges, or -1. Each edge has EDGE
   places. */
DEVICE int edge_of(const place *p, const row *r, int k)
{
    const int at = p->thread + k * THREADS_PER_ROW, behind = at - EDGE;
    if (p->rank > 0) {
        return -1;
    }
    return at < r->head ? at : behind >= 0 && behind < r->tail ? r->cols - r->tail + behind : -1;
}

/* Starts to load this thread's elements of the edges. */
DEVICE void edges_load(u32 bits[EDGES + 1], const place *p, const row *r)
{
    EACH_EDGE(k)
    {
        const int e = edge_of(p, r, k);
        bits[k] = 0;
        if (e >= 0) {
            bits[k] = load_element(r->start + (i64)e * ELEMENT);
        }
    }
}

/* Returns the elements that edges_load has begun to load, and `fill` in places that have none. */
DEVICE void edges_arrive(float edge[EDGES + 1], const u32 bits[EDGES + 1], const place *p,
                         const row *r, float fill)
{
    EACH_EDGE(k)
    {
        edge[k] = edge_of(p, r, k) >= 0 ? element_of(bits[k]) : fill;
    }
}

/* Returns where the elements of this thread's vector i are in another array with rows of the same
   length. The first part does not depend on i, so all vectors share one address. */
DEVICE unsigned char *vector_of_array(const place *p, const row *r, void *array, int i)
{
    unsigned char *mine = (unsigned char *)array + (p->first * V + r->head) * (i64)ELEMENT;
    return mine + i * (i64)(STRIDE * VEC_BYTES);
}

/* Loads vector i of a row. */
DEVICE vector load_vector(const row *r, int i)
{
    return load_global(r->x + i * (i64)(STRIDE * VEC_BYTES));
}

/* Loads the same elements of an array that all rows share. */
DEVICE vector load_weight(const place *p, const row *r, const void *array, int i)
{
    const unsigned char *from = vector_of_array(p, r, (void *)array, i);
#if EDGES
    const int skew = (int)((size_t)from & (VEC_BYTES - 1)); /* the same for the whole row */
    const vector v = load_cached(from - skew);
    const vector behind = load_cached(from - skew + (skew > 0 ? VEC_BYTES : 0));
    return vector_between(&v, &behind, skew);
#else
    return load_cached(from);
#endif
}

/* Stores a vector. If the result's rows are aligned differently from those of x, it stores single
   elements. */
DEVICE void store_vector(const place *p, const row *r, void *y, int i, const float x[V])
{
    unsigned char *to = vector_of_array(p, r, y, i);
    const vector v = vector_of(x);
    if (WHOLE || V == 1 || !p->apart) {
        store_global(to, v);
    } else {
        UNROLL for (int j = 0; j < V; j++)
        {
            store_element(to + j * ELEMENT, x[j]);
        }
    }
}

/* Starts to load the whole row: what is kept in registers, and what waits in shared memory.
   row_arrive completes the latter. */
DEVICE void row_load(vector keep[KEEP_ARRAY], const place *p, const row *r)
{
    UNROLL for (int i = 0; i < KEEP; i++)
    {
        if (i < r->count) {
            keep[i] = load_vector(r, i);
        }
    }
#if REST
    for (int i = KEEP; i < r->count; i++) {
        vector *to = (vector *)(p->held + (i64)(i - KEEP) * THREADS * VEC_BYTES);
#if VEC_BYTES >= 4
        copy_async(to, r->x + i * (i64)(STRIDE * VEC_BYTES));
#else
        *(u16 *)to = (u16)load_vector(r, i).w[0];
#endif
    }
#else
    (void)p;
#endif
}

/* Does the same for all rows of a batch, which have the shape of the first, `r`, and for their
   edges. Instead of a row beyond the last, the first is loaded again and not used. */
DEVICE void batch_load(vector keep[BATCH][KEEP_ARRAY], u32 bits[BATCH][EDGES + 1], const place *p,
                       const row *r, i64 left)
{
    EACH_ROW(k)
    {
        const i64 ahead = k * APART < left ? k * APART : 0;
        const row q = row_moved(*r, ahead * r->cols * ELEMENT);
        row_load(keep[k], p, &q);
        edges_load(bits[k], p, &q);
    }
}

DEVICE void row_arrive(const row *r)
{
#if REST
    if (r->count > KEEP) {
        copy_wait(); /* each thread reads only what it has copied itself */
    }
#endif
}

#if STAGES
/* Groups of threads with rows of their own: at least a warp with all of its rows. */
#define GROUP      (THREADS_PER_ROW < 32 ? 32 : THREADS_PER_ROW)
#define GROUP_ROWS (GROUP / THREADS_PER_ROW)
#define SLOT_BYTES (GROUP * KEEP * VEC_BYTES)

typedef struct ring {
    unsigned char *slots; /* the slots of this group */
    u64 *arrivals;
    int slot; /* the next slot */
    u32 parity;
} ring;

/* Starts to load the rows from `index`, the row of the group's first thread. */
DEVICE void ring_ask(const ring *q, const place *p, int slot, const void *x, i64 index, i64 rows,
                     int cols)
{
    if ((int)threadIdx.x % GROUP == 0 && index < rows) {
        const u32 there = (u32)(rows - index < GROUP_ROWS ? rows - index : GROUP_ROWS);
        const row r = row_at(p, x, index, cols);
        copy_bulk(q->slots + slot * SLOT_BYTES, r.x, there * (SLOT_BYTES / GROUP_ROWS),
                  q->arrivals + slot);
    }
}

DEVICE ring ring_begin(const place *p, const void *x, i64 index, i64 rows, int cols)
{
    unsigned char *shared = dynamic_shared() + SCRATCH_BYTES + STAY_BYTES;
    const int group = (int)threadIdx.x / GROUP;
    ring q;
    q.slots = shared + group * (STAGES * SLOT_BYTES);
    q.arrivals = (u64 *)(shared + THREADS / GROUP * (STAGES * SLOT_BYTES)) + group * STAGES;
    q.slot = 0;
    q.parity = 0;
    if ((int)threadIdx.x % GROUP == 0) {
        for (int i = 0; i < STAGES; i++) {
            arrival_begin(q.arrivals + i);
        }
        for (int i = 0; i < STAGES; i++) {
            ring_ask(&q, p, i, x, index + i * row_step(), rows, cols);
        }
    }
    if (GROUP == 32) {
        warp_sync();
    } else {
        barrier_of_row(p);
    }
    return q;
}

DEVICE void ring_take(vector keep[KEEP_ARRAY], const ring *q, const place *p)
{
    const unsigned char *slot =
        q->slots + q->slot * SLOT_BYTES + p->group % GROUP_ROWS * (SLOT_BYTES / GROUP_ROWS);
    arrival_wait(q->arrivals + q->slot, q->parity);
    UNROLL for (int i = 0; i < KEEP; i++)
    {
        keep[i] = ((const vector *)slot)[i * THREADS_PER_ROW + p->thread];
    }
}

/* Refills the slot that was just used, and moves on to the next. It must follow a reduction,
   because then all threads of a row have read the slot. `index` is the next row to work on. */
DEVICE void ring_next(ring *q, const place *p, const void *x, i64 index, i64 rows, int cols)
{
    const i64 then = index - p->group % GROUP_ROWS + (STAGES - 1) * row_step();
    if (THREADS_PER_ROW < 32 && then < rows) {
        warp_sync(); /* waits for the warp's other rows; all are here, because all have fewer than
                        `then` */
    }
    ring_ask(q, p, q->slot, x, then, rows, cols);
    q->slot++;
    if (q->slot == STAGES) {
        q->slot = 0;
        q->parity ^= 1;
    }
}
#endif

/* Makes the compiler widen 16-bit elements again after `known` is known. Kept in fp32 until then,
   they would take twice the registers. `zero` is 0 but the compiler must not know it; otherwise it
   would see that nothing has changed. Where a thread has few elements of rows that are not whole
   vectors, registers are left, and instructions are not. */
DEVICE void row_narrow(vector keep[KEEP_ARRAY], float known, u32 zero)
{
    UNROLL for (int i = 0; ELEMENT == 2 && (WHOLE || BATCH * KEEP * VEC_BYTES > 64) && i < KEEP;
                i++)
    {
        UNROLL for (int j = 0; j < WORDS; j++)
        {
            keep[i].w[j] ^= __float_as_uint(known) & zero;
        }
    }
}

/* Loads a vector that is not in registers. */
DEVICE vector row_rest(const place *p, const row *r, int i)
{
#if REST
    const vector *from = (const vector *)(p->held + (i64)(i - KEEP) * THREADS * VEC_BYTES);
#if VEC_BYTES >= 4
    return *from;
#else
    vector v;
    v.w[0] = *(const u16 *)from;
    return v;
#endif
#else
    (void)p;
    return load_vector(r, i);
#endif
}

/* ---- sums over a row ---- */

enum { REDUCE_SUM, REDUCE_MAX, REDUCE_SOFTMAX, REDUCE_MOMENTS };

/* What a thread knows of its part of a row. SUM: a is the sum. MAX: a is the maximum. SOFTMAX: a is
   the maximum times log2(e), b the sum of 2^(x log2(e) - a). MOMENTS: a is the mean of c elements,
   b the sum of their squared deviations from it. */
typedef struct part {
    float a, b, c;
} part;

/* Returns 2^(x - y), where the difference of two equal infinities is 0. */
DEVICE float exp2_difference(float x, float y)
{
    return x == y ? 1.0f : exp2_fast(x - y);
}

DEVICE part combine(part p, part q, int how)
{
    part r = p;
    if (how == REDUCE_SUM) {
        r.a = p.a + q.a;
    } else if (how == REDUCE_MAX) {
        r.a = fmaxf(p.a, q.a);
    } else if (how == REDUCE_SOFTMAX) {
        r.a = fmaxf(p.a, q.a);
        r.b = p.b * exp2_difference(p.a, r.a) + q.b * exp2_difference(q.a, r.a);
    } else { /* Chan, Golub, LeVeque 1979 */
        const float d = q.a - p.a;
        r.c = EQUAL_PARTS ? 2 * p.c : p.c + q.c;
        const float share = EQUAL_PARTS ? 0.5f : r.c > 0 ? divide_fast(q.c, r.c) : 0.0f;
        r.a = p.a + d * share;
        r.b = p.b + q.b + d * d * p.c * share;
    }
    return r;
}

DEVICE part shuffle_part(u32 lanes, part p, int distance, int how)
{
    part q = p;
    q.a = shuffle_xor(lanes, p.a, distance);
    if (how >= REDUCE_SOFTMAX) {
        q.b = shuffle_xor(lanes, p.b, distance);
    }
    if (how == REDUCE_MOMENTS && !EQUAL_PARTS) {
        q.c = shuffle_xor(lanes, p.c, distance);
    }
    return q;
}

/* Combines the parts of all threads of a row, for each row of a batch; every thread gets the
   result. Reductions use the two halves of the scratch memory in turn. A thread that writes to a
   half has passed the barrier of the previous reduction, before which all threads had read that
   half. So each reduction needs one barrier at its start and none at its end. */
DEVICE void row_reduce(part mine[BATCH], place *p, int how)
{
    UNROLL for (int distance = LANES / 2; distance > 0; distance /= 2)
    {
        EACH_ROW(k)
        {
            mine[k] = combine(mine[k], shuffle_part(p->lanes, mine[k], distance, how), how);
        }
    }
#if MEETS
    enum { ALL = WARPS * CLUSTER, ONCE = ALL < 32 ? ALL : 32, EACH = ALL / ONCE };
    const int lane = (int)threadIdx.x % 32;
    const int warp = p->rank * WARPS + p->thread / 32;
    float *scratch = p->scratch + (p->reductions & 1) * HALF;
#if CLUSTER > 1
    unsigned char *arrival = dynamic_shared() + SCRATCH * 4 + (p->reductions & 1) * 8;
    const int count = how < REDUCE_SOFTMAX ? 1 : how == REDUCE_MOMENTS && !EQUAL_PARTS ? 4 : 2;
    if (p->thread == 0) {
        arrival_expect(arrival, (u32)(BATCH * ALL * 4 * count));
    }
    if (p->reductions == 0) {
        cluster_wait(); /* all blocks have started */
    }
    if (lane < CLUSTER) {
        EACH_ROW(k)
        {
            store_remote(scratch + (k * ALL + warp) * PARTS_MAX, lane, arrival, count, mine[k].a,
                         mine[k].b, mine[k].c);
        }
    }
    arrival_wait(arrival, (u32)p->reductions >> 1 & 1);
#else
    if (lane == 0) {
        EACH_ROW(k)
        {
            float *to = scratch + (k * ALL + warp) * PARTS_MAX;
            to[0] = mine[k].a;
            to[1] = mine[k].b;
            to[2] = mine[k].c;
        }
    }
    barrier_of_row(p);
#endif
    p->reductions++;
    EACH_ROW(k)
    {
        part q[EACH];
        UNROLL for (int i = 0; i < EACH; i++)
        {
            const float *from = scratch + (k * ALL + lane % ONCE + i * ONCE) * PARTS_MAX;
            q[i].a = from[0];
            q[i].b = from[1];
            q[i].c = EQUAL_PARTS ? mine[k].c : from[2];
        }
        UNROLL for (int step = 1; step < EACH; step *= 2)
        {
            UNROLL for (int i = 0; i < EACH; i += 2 * step)
            {
                q[i] = combine(q[i], q[i + step], how);
            }
        }
        mine[k] = q[0];
    }
    UNROLL for (int distance = ONCE / 2; distance > 0; distance /= 2)
    {
        EACH_ROW(k)
        {
            mine[k] = combine(mine[k], shuffle_part(0xffffffffu, mine[k], distance, how), how);
        }
    }
#endif
}
