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
 *   VEC_BYTES        16, 8, 4, 2 (not below an element)
 *   KEEP, REST       see above
 *   PREFETCH         1: the next row is loaded before this one is worked on (not with REST = 1)
 *   BLOCKS_PER_SM    promised to the compiler, which limits registers accordingly
 *   LOAD_HINT        0 as usual, 1 past the level 1 cache, 2 first out of all caches
 *   STORE_HINT       0 as usual, 1 first out
 *
 * Dynamic shared memory: SCRATCH_BYTES, then for REST = 1 one vector for each thread and each of
 * its vectors beyond KEEP.
 *
 * tests/simt/simt.h defines SIMT and every function of the next section, and runs the rest on a
 * CPU.
 */
typedef unsigned int u32;
typedef unsigned short u16;
typedef long long i64;

#define THREADS       (THREADS_PER_ROW * ROWS)
#define LANES         (THREADS_PER_ROW < 32 ? THREADS_PER_ROW : 32) /* of a warp, for one row */
#define WARPS         (THREADS_PER_ROW / LANES)                     /* of a row in one block */
#define KEEP_ARRAY    (KEEP > 0 ? KEEP : 1)
#define WORDS         (VEC_BYTES < 4 ? 1 : VEC_BYTES / 4)
#define PARTS_MAX     3
#define MEETS         (WARPS * CLUSTER > 1)
#define SCRATCH       (MEETS ? 2 * ROWS * WARPS * CLUSTER * PARTS_MAX : 0) /* floats */
#define SCRATCH_BYTES ((SCRATCH * 4 + 15) / 16 * 16)

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
#elif PREFETCH && REST
#error "the next row has no place of its own in shared memory"
#endif

typedef struct vector {
    u32 w[WORDS];
} vector;

/* ---- instructions ---- */

#ifndef SIMT

#define DEVICE __device__ __forceinline__
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM)
#define UNROLL _Pragma("unroll")

#if LOAD_HINT == 2
#define LOAD_OP "ld.global.cs"
#elif LOAD_HINT == 1
#define LOAD_OP "ld.global.L1::no_allocate"
#else
#define LOAD_OP "ld.global"
#endif
#if STORE_HINT
#define STORE_OP "st.global.cs"
#else
#define STORE_OP "st.global"
#endif

DEVICE vector load_global(const void *from)
{
    vector v;
#if VEC_BYTES == 16
    asm volatile(LOAD_OP ".v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
                 : "l"(from));
#elif VEC_BYTES == 8
    asm volatile(LOAD_OP ".v2.u32 {%0, %1}, [%2];" : "=r"(v.w[0]), "=r"(v.w[1]) : "l"(from));
#elif VEC_BYTES == 4
    asm volatile(LOAD_OP ".u32 %0, [%1];" : "=r"(v.w[0]) : "l"(from));
#else
    asm volatile(LOAD_OP ".u16 %0, [%1];" : "=r"(v.w[0]) : "l"(from));
#endif
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

DEVICE void cluster_arrive(void)
{
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

DEVICE void cluster_wait(void)
{
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

DEVICE int cluster_rank(void)
{
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return (int)rank;
}

/* Stores to the same place of another block's shared memory. */
DEVICE void store_remote(float *to, int rank, float x)
{
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "st.shared::cluster.f32 [there], %2;\n}\n" ::"r"((u32)__cvta_generic_to_shared(to)),
        "r"(rank), "f"(x)
        : "memory");
}

DEVICE float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float half_to_float(u16 x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
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

/* The elements lo to hi - 1 of a vector at `from`, `fill` in the place of the others. */
DEVICE vector load_part(const unsigned char *from, int lo, int hi, float fill)
{
    float x[V];
    UNROLL for (int j = 0; j < V; j++)
    {
        x[j] = fill;
        if (j >= lo && j < hi) {
#if ELEMENT == 4
            x[j] = ((const float *)from)[j];
#else
            x[j] = widen(((const u16 *)from)[j]);
#endif
        }
    }
    return vector_of(x);
}

DEVICE void store_part(unsigned char *to, int lo, int hi, const vector *v)
{
    UNROLL for (int j = 0; j < V; j++)
    {
        if (j >= lo && j < hi) {
#if ELEMENT == 4
            ((u32 *)to)[j] = v->w[j];
#else
            ((u16 *)to)[j] = (u16)(v->w[j / 2] >> (j % 2 * 16));
#endif
        }
    }
}

DEVICE bool aligned(const void *p)
{
    return ((size_t)p & (VEC_BYTES - 1)) == 0;
}

/* ---- a row ---- */

/* Where a thread stands; the same for all of its rows. */
typedef struct place {
    int thread;          /* of the row, over all blocks that share it */
    int group;           /* which of the block's rows */
    int rank;            /* of the block in its cluster */
    u32 lanes;           /* of this row in this warp */
    int turn;            /* of the two halves of the scratch memory */
    float *scratch;      /* of this row's group: [2][WARPS * CLUSTER][PARTS_MAX] */
    unsigned char *held; /* this thread's first vector in shared memory */
} place;

/* A row, seen by one of its threads. Vector c begins at element c * V - shift. */
typedef struct row {
    const unsigned char *x; /* vector 0: at or before the first element */
    int cols, shift;
    int count; /* vectors of this thread: c = thread, thread + stride, ... */
} row;

#define STRIDE (THREADS_PER_ROW * CLUSTER)

DEVICE place place_begin(void)
{
    place p;
    const int t = (int)threadIdx.x;
    unsigned char *shared = dynamic_shared();
    p.rank = 0;
#if CLUSTER > 1
    p.rank = cluster_rank();
    cluster_arrive(); /* nobody writes to a block that has not started: see row_reduce */
#endif
    p.thread = p.rank * THREADS_PER_ROW + t % THREADS_PER_ROW;
    p.group = t / THREADS_PER_ROW;
    p.lanes = LANES == 32 ? 0xffffffffu : ((1u << (LANES % 32)) - 1) << (t % 32 / LANES * LANES);
    p.turn = CLUSTER > 1 ? 2 : 0;
    p.scratch = (float *)shared + p.group * (2 * WARPS * CLUSTER * PARTS_MAX);
    p.held = shared + SCRATCH_BYTES + t * VEC_BYTES;
    return p;
}

/* Nobody leaves while others of its cluster may still wait to write to it. */
DEVICE void place_end(const place *p)
{
#if CLUSTER > 1
    if (p->turn == 2) {
        cluster_wait();
    }
#endif
}

/* First row of this thread's group, and the step to its next one. */
DEVICE i64 row_first(const place *p)
{
    return (i64)(blockIdx.x / CLUSTER) * ROWS + p->group;
}

DEVICE i64 row_step(void)
{
    return (i64)(gridDim.x / CLUSTER) * ROWS;
}

DEVICE row row_at(const place *p, const void *x, i64 index, int cols)
{
    row r;
    const unsigned char *first = (const unsigned char *)x + index * cols * ELEMENT;
    const int bytes = (int)((size_t)first & (VEC_BYTES - 1));
    r.x = first - bytes;
    r.cols = cols;
    r.shift = bytes / ELEMENT;
    const int vectors = (int)(((i64)cols + r.shift + V - 1) / V);
    r.count = vectors > p->thread ? (vectors - p->thread - 1) / STRIDE + 1 : 0;
    return r;
}

/* The element of the row that this thread's vector i begins with: it may be before the row. */
DEVICE int first_of(const place *p, const row *r, int i)
{
    return (p->thread + i * STRIDE) * V - r->shift;
}

/* Is the element j of the vector that begins with element e inside the row? */
DEVICE bool inside(const row *r, int e, int j)
{
    return e + j >= 0 && e + j < r->cols;
}

DEVICE bool whole(const row *r, int e)
{
    return e >= 0 && e + V <= r->cols;
}

/* Vector i of any array that has the row's length: x itself, or weights, given where the array
   begins. */
DEVICE vector load_vector(const place *p, const row *r, const void *array, int i, float fill)
{
    const int e = first_of(p, r, i);
    const unsigned char *from = (const unsigned char *)array + (i64)e * ELEMENT;
    if (whole(r, e) && aligned(from)) {
        return load_global(from);
    }
    return load_part(from, -e, r->cols - e, fill);
}

DEVICE void store_vector(const place *p, const row *r, void *y, int i, const float x[V])
{
    const int e = first_of(p, r, i);
    unsigned char *to = (unsigned char *)y + (i64)e * ELEMENT;
    const vector v = vector_of(x);
    if (whole(r, e) && aligned(to)) {
        store_global(to, v);
    } else {
        store_part(to, -e, r->cols - e, &v);
    }
}

#define ROW_START(r) ((r)->x + (r)->shift * ELEMENT)

/* Asks for all of the row at once: what is kept in registers, and what waits in shared memory. The
   second arrives with row_arrive. */
DEVICE void row_load(vector keep[KEEP_ARRAY], const place *p, const row *r, float fill)
{
    UNROLL for (int i = 0; i < KEEP; i++)
    {
        if (i < r->count) {
            keep[i] = load_vector(p, r, ROW_START(r), i, fill);
        }
    }
#if REST
    for (int i = KEEP; i < r->count; i++) {
        const int e = first_of(p, r, i);
        vector *to = (vector *)(p->held + (i64)(i - KEEP) * THREADS * VEC_BYTES);
        if (VEC_BYTES >= 4 && whole(r, e)) {
            copy_async(to, r->x + (i64)(p->thread + i * STRIDE) * VEC_BYTES);
        } else {
            const vector v = load_vector(p, r, ROW_START(r), i, fill);
#if VEC_BYTES >= 4
            *to = v;
#else
            *(u16 *)to = (u16)v.w[0];
#endif
        }
    }
#endif
}

DEVICE void row_arrive(const row *r)
{
#if REST
    if (r->count > KEEP) {
        copy_wait(); /* every thread reads only what it has copied itself */
    }
#endif
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
    return load_vector(p, r, ROW_START(r), i, fill);
#endif
}

/* One pass over a row: a statement for each vector in registers, then the same for the rest. */
#define EACH_KEPT(i, r) UNROLL for (int i = 0; i < KEEP; i++) if (i < (r)->count)
#define EACH_REST(i, r) for (int i = KEEP; i < (r)->count; i++)

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
        r.c = p.c + q.c;
        const float share = r.c > 0 ? q.c / r.c : 0.0f;
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
    if (how == REDUCE_MOMENTS) {
        q.c = shuffle_xor(lanes, p.c, distance);
    }
    return q;
}

/* Brings the parts of all threads of a row together; every thread gets the whole.
   The two halves of the scratch memory are used in turn. Who writes to a half has passed the
   barrier of the last reduction, at which everyone had read that of the one before: so there is
   one barrier for each reduction, and none at the end. */
DEVICE part row_reduce(place *p, part mine, int how)
{
    UNROLL for (int distance = LANES / 2; distance > 0; distance /= 2)
    {
        mine = combine(mine, shuffle_part(p->lanes, mine, distance, how), how);
    }
#if MEETS
    const int lane = (int)threadIdx.x % 32;
    const int warp = p->rank * WARPS + p->thread % THREADS_PER_ROW / 32;
    float *scratch = p->scratch + (p->turn & 1) * (WARPS * CLUSTER * PARTS_MAX);
#if CLUSTER > 1
    if (p->turn == 2) {
        cluster_wait(); /* all blocks have started */
    }
    if (lane < CLUSTER) {
        float *to = scratch + warp * PARTS_MAX;
        store_remote(to, lane, mine.a);
        if (how >= REDUCE_SOFTMAX) {
            store_remote(to + 1, lane, mine.b);
        }
        if (how == REDUCE_MOMENTS) {
            store_remote(to + 2, lane, mine.c);
        }
    }
    cluster_arrive();
    cluster_wait();
#else
    if (lane == 0) {
        scratch[warp * PARTS_MAX] = mine.a;
        scratch[warp * PARTS_MAX + 1] = mine.b;
        scratch[warp * PARTS_MAX + 2] = mine.c;
    }
    barrier(p->group, THREADS_PER_ROW);
#endif
    p->turn = (p->turn & 1) ^ 1;
    enum { ALL = WARPS * CLUSTER, ONCE = ALL < 32 ? ALL : 32 };
    for (int i = lane % ONCE; i < ALL; i += 32) {
        part q;
        q.a = scratch[i * PARTS_MAX];
        q.b = scratch[i * PARTS_MAX + 1];
        q.c = scratch[i * PARTS_MAX + 2];
        mine = i < 32 ? q : combine(mine, q, how);
    }
    UNROLL for (int distance = ONCE / 2; distance > 0; distance /= 2)
    {
        mine = combine(mine, shuffle_part(0xffffffffu, mine, distance, how), how);
    }
#endif
    return mine;
}
