/*
 * cuda_rows.cu: what the kernels that work on rows of a matrix have in common (softmax, layernorm,
 * rmsnorm, reduce): who works on which part of a row, how it is loaded once and kept, and how the
 * threads of a row bring their sums together. Device code includes nothing; the harness puts this
 * text in front of each kernel's cuda.cu.
 *
 * A row is worked on by THREADS_PER_ROW threads in each of CLUSTER blocks; a block works on ROWS
 * rows at a time and goes on to others if the grid is smaller than the matrix. A row is cut into
 * vectors of VEC_BYTES at aligned addresses. Its first element may lie inside a vector, and so may
 * its last: both vectors are loaded and stored by elements, all others whole. So rows of any length
 * and address work, and aligned ones cost nothing extra.
 *
 * A thread keeps the first KEEP of its vectors in registers. The others, if the row has more, wait
 * in shared memory (REST = 1) or are read from memory again by every pass (REST = 0). Thus a
 * configuration that is too small for a row is slow, but right.
 *
 * Parameters (macros), all powers of two but KEEP:
 *   THREADS_PER_ROW  4 to 1024; up to 32 they are part of a warp and meet without a barrier
 *   ROWS             rows of a block; at most 15 if THREADS_PER_ROW > 32, 1 if CLUSTER > 1
 *   CLUSTER          blocks that share a row and exchange their sums through shared memory
 *   BATCH            rows that a thread works on at the same time: it loads what all rows share
 *                    once for them, and they meet once (WHOLE = 2, no PREFETCH, no STAGES)
 *   VEC_BYTES        16, 8, 4, 2 (not below an element)
 *   KEEP, REST       see above
 *   PREFETCH         1: the next row is loaded before this one is worked on (not with REST = 1)
 *   WHOLE            what is known of rows beforehand. 0: nothing. 1: they consist of whole vectors
 *                    at aligned addresses, so there are no edges. 2: KEEP vectors for each thread,
 *                    neither more nor less, so there is nothing to ask at all (REST = 0).
 *   STAGES           rows that wait in shared memory, each thread group's own, while one is worked
 *                    on: whole rows brought by the copy engine, whose arrival a barrier in memory
 *                    counts (WHOLE = 2, compute capability 9.0). 0: rows come straight to
 * registers. BLOCKS_PER_SM    promised to the compiler, which limits registers accordingly
 *   LOAD_HINT        0 as usual, 1 past the level 1 cache, 2 first out of all caches
 *   STORE_HINT       0 as usual, 1 first out
 *   LAUNCH_EARLY     1: once all blocks have started the next kernel may start, and this one waits
 *                    for the end of the one before it where it first needs memory (programmatic
 *                    dependent launch, compute capability 9.0). 2: while it waits, its first rows
 *                    are on their way to the level 2 cache, where whatever is still written to
 *                    them is seen: a prefetch reads nothing itself.
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

#define THREADS       (THREADS_PER_ROW * ROWS)
#define LANES         (THREADS_PER_ROW < 32 ? THREADS_PER_ROW : 32) /* of a warp, for one row */
#define WARPS         (THREADS_PER_ROW / LANES)                     /* of a row in one block */
#define KEEP_ARRAY    (KEEP > 0 ? KEEP : 1)
#define WORDS         (VEC_BYTES < 4 ? 1 : VEC_BYTES / 4)
#define PARTS_MAX     4 /* one of them for the alignment */
#define MEETS         (WARPS * CLUSTER > 1)
#define EQUAL_PARTS   (WHOLE == 2)                          /* whenever two are brought together */
#define HALF          (BATCH * WARPS * CLUSTER * PARTS_MAX) /* floats for a group's reduction */
#define SCRATCH       (MEETS ? 2 * ROWS * HALF : 0)
#define SCRATCH_BYTES (SCRATCH * 4 + (CLUSTER > 1 ? 16 : 0))

#if dtype_is_f32
#define ELEMENT 4
#else
#define ELEMENT 2
#endif
#define V (VEC_BYTES / ELEMENT) /* elements of a vector */

#if THREADS > 1024 || VEC_BYTES < ELEMENT
#error "no such block"
#elif CLUSTER > 1 && (ROWS > 1 || THREADS_PER_ROW < 32)
#error "a cluster works on one row, with whole warps"
#elif THREADS_PER_ROW > 32 && ROWS > 15
#error "there are 16 barriers"
#elif WHOLE == 2 && (REST || KEEP == 0)
#error "the whole row is kept in registers"
#elif STAGES && (WHOLE != 2 || PREFETCH || VEC_BYTES != 16)
#error "whole rows of whole vectors wait in shared memory, and nowhere else"
#elif BATCH > 1 && (WHOLE != 2 || PREFETCH || STAGES)
#error "rows that are worked on at the same time are in registers, all of them"
#elif PREFETCH && REST
#error "the next row has no place of its own in shared memory"
#endif

typedef struct vector {
    u32 w[WORDS];
} __attribute__((aligned(WORDS * 4))) vector;

/* What stays in shared memory before all else: see cuda_norm.cu. */
#if WEIGHT_EARLY == 3
#define STAY_BYTES ((CENTRED ? 2 : 1) * KEEP * THREADS * VEC_BYTES)
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

/* What all rows need again and again: into the level 1 cache, whatever LOAD_HINT is. */
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

/* The next kernel may start when all blocks have said this or have ended. */
DEVICE void launch_next(void)
{
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

/* Until the kernel before has ended and what it wrote is seen. */
DEVICE void launch_wait(void)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
}

/* Brings the line of 128 bytes that holds an address to the level 2 cache. */
DEVICE void prefetch_line(const void *at)
{
    asm volatile("prefetch.global.L2 [%0];" ::"l"(at));
}

/* A barrier in shared memory that the arrival of `bytes` completes, each time it is told to expect
   them. Waiting is for its first, third... completion with parity 0, for the others with 1. */
DEVICE void arrival_begin(void *arrival)
{
    asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(
                     (u32)__cvta_generic_to_shared(arrival))
                 : "memory");
}

/* Tells a barrier in memory to expect so many bytes, after which it is complete. */
DEVICE void arrival_expect(void *arrival, u32 bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(
                     (u32)__cvta_generic_to_shared(arrival)),
                 "r"(bytes)
                 : "memory");
}

/* Starts a copy to shared memory by the copy engine, multiples of 16 bytes. */
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

/* All lanes of a warp meet. */
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

/* A barrier of `threads` threads of the block; ids 0 to 15. */
DEVICE void barrier(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* Orders only barriers in memory, whose beginning has a fence of its own: more would wait for all
   that has been stored. */
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
   bytes in the same barrier there. Unlike a barrier of the cluster it does not wait for what this
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

/* The larger of each of two elements of 16 bits; of a NaN and a number, the number. */
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

/* Two elements of 16 bits, rounded to nearest even; low first in memory. */
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

/* The elements lo to hi - 1 of a vector at `from`, `fill` in the place of the others. Rare, so a
   loop: the code of every vector has one. */
DEVICE vector load_part(const unsigned char *from, int lo, int hi, float fill)
{
    float x[V];
    vector v;
    UNROLL for (int j = 0; j < V; j++)
    {
        x[j] = fill;
    }
    v = vector_of(x);
    lo = lo < 0 ? 0 : lo;
    hi = hi > V ? V : hi;
    LOOP for (int j = lo; j < hi; j++)
    {
#if ELEMENT == 4
        const u32 bits = ((const u32 *)from)[j];
        const u32 mask = 0xffffffffu;
        const int shift = 0;
#else
        const u32 bits = ((const u16 *)from)[j];
        const u32 mask = 0xffffu;
        const int shift = j % 2 * 16;
#endif
        UNROLL for (int i = 0; i < WORDS; i++) /* registers cannot be indexed */
        {
            if (i == j * ELEMENT / 4) {
                v.w[i] = (v.w[i] & ~(mask << shift)) | bits << shift;
            }
        }
    }
    return v;
}

DEVICE void store_part(unsigned char *to, int lo, int hi, const vector *v)
{
    lo = lo < 0 ? 0 : lo;
    hi = hi > V ? V : hi;
    LOOP for (int j = lo; j < hi; j++)
    {
        u32 word = v->w[0];
        UNROLL for (int i = 1; i < WORDS; i++)
        {
            word = i == j * ELEMENT / 4 ? v->w[i] : word;
        }
#if ELEMENT == 4
        ((u32 *)to)[j] = word;
#else
        ((u16 *)to)[j] = (u16)(word >> (j % 2 * 16));
#endif
    }
}

DEVICE bool aligned(const void *p)
{
    return WHOLE || ((size_t)p & (VEC_BYTES - 1)) == 0;
}

/* ---- a row ---- */

/* Where a thread stands; the same for all of its rows. */
typedef struct place {
    int thread;          /* of the row, in this block */
    int first;           /* of its vectors of a row */
    int group;           /* which of the block's rows, or BATCH of them */
    int rank;            /* of the block in its cluster */
    u32 lanes;           /* of this row in this warp */
    int reductions;      /* so far: the halves of the scratch memory take turns */
    float *scratch;      /* of this group: [2][BATCH][WARPS * CLUSTER][PARTS_MAX] */
    unsigned char *stay; /* this thread's first vector in shared memory that stays there */
    unsigned char *held; /* and of a row */
} place;

/* A row, seen by one of its threads. Vector c begins at element c * V - shift. */
typedef struct row {
    const unsigned char *x; /* this thread's first vector */
    int cols, shift;
    int count; /* vectors of this thread: c = first, first + stride, ... */
} row;

/* Vectors from one of a thread to its next. Blocks of a cluster take turns of THREADS_PER_ROW
   vectors, but one piece each if all is known. */
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
    cluster_arrive(); /* nobody writes to a block that has not started: see row_reduce */
#endif
    p.thread = t % THREADS_PER_ROW;
    p.first = p.rank * PIECE + p.thread;
    p.group = t / THREADS_PER_ROW;
    p.lanes = LANES == 32 ? 0xffffffffu : ((1u << (LANES % 32)) - 1) << (t % 32 / LANES * LANES);
    p.reductions = 0;
    p.scratch = (float *)shared + p.group * (2 * HALF);
    p.stay = shared + SCRATCH_BYTES + t * VEC_BYTES;
    p.held = p.stay + STAY_BYTES;
    return p;
}

/* Blocks that share a row: those of a cluster, or by SPLIT (cuda.cu of reduce). */
#ifdef SPLIT
#define BLOCKS (CLUSTER * SPLIT)
#else
#define BLOCKS CLUSTER
#endif

/* What a block does before its first access to global memory. */
DEVICE void launch_begin(const place *p, const void *x, i64 rows, int cols)
{
#if LAUNCH_EARLY
    launch_next();
#if LAUNCH_EARLY == 2
    const i64 index = (i64)(blockIdx.x / BLOCKS) * (ROWS * BATCH);
    const i64 there = rows - index < ROWS * BATCH ? rows - index : ROWS * BATCH;
    const i64 bytes = there * cols * ELEMENT / BLOCKS; /* each block its share */
    const int share = CLUSTER > 1 ? p->rank : (int)(blockIdx.x % BLOCKS);
    const unsigned char *from = (const unsigned char *)x + index * cols * ELEMENT + share * bytes;
    for (i64 at = (i64)threadIdx.x * 128; at < bytes; at += THREADS * 128) {
        prefetch_line(from + at);
    }
#endif
    launch_wait();
#endif
}

/* Nobody leaves while others of its cluster may still wait to write to it. */
DEVICE void place_end(const place *p)
{
#if CLUSTER > 1
    if (p->reductions == 0) {
        cluster_wait();
    }
#endif
}

/* First row of this thread's group, and the step to its next one. */
DEVICE i64 row_first(const place *p)
{
    return ((i64)(blockIdx.x / CLUSTER) * ROWS + p->group) * BATCH;
}

DEVICE i64 row_step(void)
{
    return (i64)(gridDim.x / CLUSTER) * (ROWS * BATCH);
}

DEVICE row row_at(const place *p, const void *x, i64 index, int cols)
{
    row r;
    const unsigned char *first = (const unsigned char *)x + index * cols * ELEMENT;
    const int bytes = WHOLE ? 0 : (int)((size_t)first & (VEC_BYTES - 1));
    r.x = first - bytes + p->first * VEC_BYTES;
    r.cols = cols;
    r.shift = bytes / ELEMENT;
    const int vectors = (int)(((i64)cols + r.shift + V - 1) / V);
    r.count = vectors > p->first ? (vectors - p->first - 1) / STRIDE + 1 : 0;
#if WHOLE == 2
    r.count = KEEP;
#endif
    return r;
}

/* The element of the row that this thread's vector i begins with: it may be before the row. */
DEVICE int first_of(const place *p, const row *r, int i)
{
    return (p->first + i * STRIDE) * V - r->shift;
}

/* Is the element j of the vector that begins with element e inside the row? */
DEVICE bool inside(const row *r, int e, int j)
{
    return e + j >= 0 && e + j < r->cols;
}

DEVICE bool whole(const row *r, int e)
{
    return WHOLE || (e >= 0 && e + V <= r->cols);
}

/* Where the same elements are in another array of the row's length. The first part does not depend
   on i: one address for all vectors. */
DEVICE unsigned char *vector_of_array(const place *p, const row *r, void *array, int i)
{
    unsigned char *mine = (unsigned char *)array + (p->first * V - r->shift) * (i64)ELEMENT;
    return mine + i * (i64)(STRIDE * VEC_BYTES);
}

/* Vector i of a row. */
DEVICE vector load_vector(const place *p, const row *r, int i, float fill)
{
    const int e = first_of(p, r, i);
    const unsigned char *from = r->x + i * (i64)(STRIDE * VEC_BYTES);
    if (whole(r, e)) {
        return load_global(from);
    }
    return load_part(from, -e, r->cols - e, fill);
}

/* The same elements of an array that all rows share. */
DEVICE vector load_weight(const place *p, const row *r, const void *array, int i)
{
    const int e = first_of(p, r, i);
    const unsigned char *from = vector_of_array(p, r, (void *)array, i);
    if (whole(r, e) && aligned(from)) {
        return load_cached(from);
    }
    return load_part(from, -e, r->cols - e, 0);
}

DEVICE void store_vector(const place *p, const row *r, void *y, int i, const float x[V])
{
    const int e = first_of(p, r, i);
    unsigned char *to = vector_of_array(p, r, y, i);
    const vector v = vector_of(x);
    if (whole(r, e) && aligned(to)) {
        store_global(to, v);
    } else {
        store_part(to, -e, r->cols - e, &v);
    }
}

/* One pass over a row: a statement for each vector in registers, then the same for the rest. Rows
   of a batch are alike: what is said of the first holds for all. */
#define EACH_ROW(k)     UNROLL for (int k = 0; k < BATCH; k++)
#define EACH_KEPT(i, r) UNROLL for (int i = 0; i < KEEP; i++) if (i < (r)->count)
#define EACH_REST(i, r) LOOP for (int i = KEEP; i < (r)->count; i++)

/* Asks for all of the row at once: what is kept in registers, and what waits in shared memory. The
   second arrives with row_arrive. */
DEVICE void row_load(vector keep[KEEP_ARRAY], const place *p, const row *r, float fill)
{
    UNROLL for (int i = 0; i < KEEP; i++)
    {
        if (i < r->count) {
            keep[i] = load_vector(p, r, i, fill);
        }
    }
#if REST
    for (int i = KEEP; i < r->count; i++) {
        const int e = first_of(p, r, i);
        vector *to = (vector *)(p->held + (i64)(i - KEEP) * THREADS * VEC_BYTES);
        if (VEC_BYTES >= 4 && whole(r, e)) {
            copy_async(to, r->x + i * (i64)(STRIDE * VEC_BYTES));
        } else {
            const vector v = load_vector(p, r, i, fill);
#if VEC_BYTES >= 4
            *to = v;
#else
            *(u16 *)to = (u16)v.w[0];
#endif
        }
    }
#endif
}

/* The same for all rows of a batch. Beyond the last row it is loaded again, for nothing. */
DEVICE void batch_load(vector keep[BATCH][KEEP_ARRAY], const place *p, const void *x, i64 index,
                       i64 rows, int cols, float fill)
{
    EACH_ROW(k)
    {
        const row r = row_at(p, x, BATCH > 1 && index + k >= rows ? rows - 1 : index + k, cols);
        row_load(keep[k], p, &r, fill);
    }
}

DEVICE void row_arrive(const row *r)
{
#if REST
    if (r->count > KEEP) {
        copy_wait(); /* every thread reads only what it has copied itself */
    }
#endif
}

#if STAGES
/* Groups of threads that have rows of their own: a warp at least, with all of its rows. */
#define GROUP      (THREADS_PER_ROW < 32 ? 32 : THREADS_PER_ROW)
#define GROUP_ROWS (GROUP / THREADS_PER_ROW)
#define SLOT_BYTES (GROUP * KEEP * VEC_BYTES)

typedef struct ring {
    unsigned char *slots; /* of this group */
    u64 *arrivals;
    int slot; /* that is next */
    u32 parity;
} ring;

/* Asks for the rows that begin with `index`, that of the group's first thread. */
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
        barrier(p->group, THREADS_PER_ROW);
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

/* After a reduction over what was taken: so all threads of a row have taken it. Row `index` is the
   one to come. */
DEVICE void ring_next(ring *q, const place *p, const void *x, i64 index, i64 rows, int cols)
{
    const i64 then = index - p->group % GROUP_ROWS + (STAGES - 1) * row_step();
    if (THREADS_PER_ROW < 32 && then < rows) {
        warp_sync(); /* the warp's other rows; all are there, as they all have less than `then` */
    }
    ring_ask(q, p, q->slot, x, then, rows, cols);
    q->slot++;
    if (q->slot == STAGES) {
        q->slot = 0;
        q->parity ^= 1;
    }
}
#endif

/* Elements of 16 bits are to be widened again after `known` is known, not kept in fp32 until then,
   which would take twice the registers. `zero` is 0, which the compiler must not know: else it
   would find out that nothing has changed. */
DEVICE void row_narrow(vector keep[KEEP_ARRAY], float known, u32 zero)
{
    UNROLL for (int i = 0; ELEMENT == 2 && i < KEEP; i++)
    {
        UNROLL for (int j = 0; j < WORDS; j++)
        {
            keep[i].w[j] ^= __float_as_uint(known) & zero;
        }
    }
}

/* A vector that is not in registers. */
DEVICE vector row_rest(const place *p, const row *r, int i, float fill)
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
    return load_vector(p, r, i, fill);
#endif
}

/* ---- sums over a row ---- */

enum { REDUCE_SUM, REDUCE_MAX, REDUCE_SOFTMAX, REDUCE_MOMENTS };

/* What a thread knows of its part of a row:
   SUM: a; MAX: a; SOFTMAX: a is the largest, times log2(e), b the sum of 2^(x log2(e) - a);
   MOMENTS: a the mean of c elements, b the sum of their squared deviations from it. */
typedef struct part {
    float a, b, c;
} part;

/* 2^(x - y), where two equal infinities are no difference. */
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

/* Brings the parts of all threads of a row together, of each row of a batch; every thread gets the
   whole. The two halves of the scratch memory are used in turn. Who writes to a half has passed the
   barrier of the last reduction, at which everyone had read that of the one before: so there is
   one barrier for each reduction, and none at the end. */
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
    barrier(p->group, THREADS_PER_ROW);
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
