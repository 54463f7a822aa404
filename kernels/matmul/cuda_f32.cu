/*
 * cuda_f32.cu: C = epilogue(alpha * A * B + beta * C_in) with factors, products and sums in f32, on
 * the ordinary arithmetic units (one fused multiply-add of a lane at a time) instead of the tensor
 * cores. For compute capability 8.0 and higher. C is row-major, A and B are each in either layout;
 * any size and leading dimension works.
 *
 * A block computes one tile of C, and each thread THREAD_M x THREAD_N of its elements, as groups of
 * 4 x 4 that lie apart: the threads of a warp read consecutive vectors of 16 bytes. Slices of A and
 * B, BLOCK_SIZE_K deep, arrive by cp.async through a ring of num_stages slots in shared memory,
 * where M or N is always the contiguous direction. An operand whose contiguous direction is K is
 * turned on the way, by copies of 4 bytes: a warp copies 8 elements along K of 4 rows, whole
 * sectors of memory, and the padding of 4 elements puts its 32 elements in different banks. The
 * operands of the next step of K are loaded while the current ones are multiplied, also from one
 * slot to the next.
 *
 * Parameters (macros):
 *   BLOCK_SIZE_M, _N, _K  tile of C; depth of a slot (a multiple of 8)
 *   THREAD_M, THREAD_N    tile of a thread, multiples of 4
 *   LANES_N               lanes of a warp that are side by side along N
 *   num_stages            slots of the ring, 2 or more
 *   COPY_A, COPY_B        bytes copied at a time where M or N is contiguous: 16, 8 or 4. Addresses
 *                         and leading dimensions must be multiples of it
 *   GROUP_SIZE_M, SPLIT_K, BLOCKS_PER_SM, A_LAYOUT, B_LAYOUT, SIZE_M, SIZE_N, SIZE_K and
 *   OWN_SIZE_ONLY         as in cuda_sm80.cu
 *
 * Dynamic shared memory: num_stages * STAGE_FLOATS floats. cuda_async.cu, whose text comes first,
 * has the instructions of copies, the epilogue's macros and the workspace.
 *
 * tests/simt/simt.h defines SIMT and every function of the next section, and runs the rest on a
 * CPU.
 */
#define THREADS_N (BLOCK_SIZE_N / THREAD_N) /* threads of a block that are side by side along N */
#define THREADS_M (BLOCK_SIZE_M / THREAD_M)
#define THREADS   (THREADS_M * THREADS_N)
#define WARPS_N   (THREADS_N / LANES_N)
#define LANES_M   (32 / LANES_N)

/* A slot: BLOCK_SIZE_K rows of A, then of B, along M or N. */
#define A_PITCH      (BLOCK_SIZE_M + (A_LAYOUT ? 0 : 4))
#define B_PITCH      (BLOCK_SIZE_N + (B_LAYOUT ? 0 : 4))
#define A_FLOATS     (BLOCK_SIZE_K * A_PITCH)
#define STAGE_FLOATS (BLOCK_SIZE_K * (A_PITCH + B_PITCH))

#if THREAD_M % 4 != 0 || THREAD_N % 4 != 0
#error "a thread multiplies 4 x 4 at a time"
#elif BLOCK_SIZE_M % THREAD_M != 0 || BLOCK_SIZE_N % THREAD_N != 0 || THREADS % 32 != 0
#error "the tiles of whole warps fill the tile of the block"
#elif THREADS_N % LANES_N != 0 || THREADS_M % LANES_M != 0
#error "the lanes of a warp fill a part of the block"
#elif BLOCK_SIZE_K % 8 != 0 || num_stages < 2
#error "a slot is 8 deep or a multiple, and one is filled while another is read"
#endif

/* ---- instructions ---- */

#ifndef SIMT

/* Four elements in memory, at a multiple of 16 bytes. */
DEVICE void load_vector(float v[4], const float *from)
{
    const float4 x = *(const float4 *)from;
    v[0] = x.x;
    v[1] = x.y;
    v[2] = x.z;
    v[3] = x.w;
}

DEVICE void store_vector(float *to, const float v[4])
{
    *(float4 *)to = make_float4(v[0], v[1], v[2], v[3]);
}

#endif

/* ---- slices ---- */

/* The source of a slice: element (k0, at0) of `depth` x `count` elements, of which `count` are
 * along M or N. */
typedef struct slice {
    const float *from;
    i64 pitch;
    int k0, depth, at0, count;
    bool deep,
        whole; /* `depth` and `count` are multiples of those of a slice: nothing is cut off */
} slice;

/* Copies a slice of an operand whose contiguous direction is M or N, `copy` bytes at a time. */
DEVICE void copy_rows(u32 to, const slice *s, int length, int pitch, int copy)
{
    const int width = copy / 4; /* elements of a copy */
    const int per_row = length / width;
    UNROLL for (int i = 0; i < BLOCK_SIZE_K * per_row; i += THREADS)
    {
        const int n = i + (int)threadIdx.x;
        const int row = n / per_row, part = n % per_row * width;
        const int left = s->count - (s->at0 + part);
        const int most = s->whole || left > width ? width : left < 0 ? 0 : left;
        const int bytes = s->deep || s->k0 + row < s->depth ? most * 4 : 0;
        const float *from = s->from + (i64)(s->k0 + row) * s->pitch + s->at0 + part;
        if (BLOCK_SIZE_K * per_row % THREADS == 0 || n < BLOCK_SIZE_K * per_row) {
            copy_async(to + (u32)(row * pitch + part) * 4, bytes > 0 ? from : s->from, copy, bytes);
        }
    }
}

/* Copies a slice of an operand whose contiguous direction is K, and turns it. Each eight lanes have
   eight elements along K. */
DEVICE void copy_turned(u32 to, const slice *s, int length, int pitch)
{
    /* Mostly a thread's copies are at the same place of K and at constant distances. */
    const bool regular = length * 8 % THREADS == 0;
    UNROLL for (int i = 0; i < BLOCK_SIZE_K * length; i += THREADS)
    {
        const int n = i + (int)threadIdx.x;
        const int k = (regular ? i / (8 * length) : n / (8 * length)) * 8 + (int)threadIdx.x % 8;
        const int at = regular ? i / 8 % length + (int)threadIdx.x / 8 : n / 8 % length;
        const bool here = (s->deep || s->k0 + k < s->depth) && (s->whole || s->at0 + at < s->count);
        const float *from = s->from + (i64)(s->at0 + at) * s->pitch + s->k0 + k;
        if (BLOCK_SIZE_K * length % THREADS == 0 || n < BLOCK_SIZE_K * length) {
            copy_async(to + (u32)(k * pitch + at) * 4, here ? from : s->from, 4, here ? 4 : 0);
        }
    }
}

DEVICE void copy_slices(u32 slot, const slice *a, const slice *b)
{
#if A_LAYOUT
    copy_rows(slot, a, BLOCK_SIZE_M, A_PITCH, COPY_A);
#else
    copy_turned(slot, a, BLOCK_SIZE_M, A_PITCH);
#endif
#if B_LAYOUT
    copy_rows(slot + A_FLOATS * 4, b, BLOCK_SIZE_N, B_PITCH, COPY_B);
#else
    copy_turned(slot + A_FLOATS * 4, b, BLOCK_SIZE_N, B_PITCH);
#endif
}

/* ---- products ---- */

/* The operands of one step of K. */
typedef struct operands {
    float a[THREAD_M], b[THREAD_N];
} operands;

/* Loads the operands of a step from a slot. The thread's first elements are m and n. */
DEVICE void load_operands(operands *o, const float *slot, int step, int m, int n)
{
    UNROLL for (int i = 0; i < THREAD_M / 4; i++)
    {
        load_vector(o->a + i * 4, slot + step * A_PITCH + i * (THREADS_M * 4) + m);
    }
    UNROLL for (int j = 0; j < THREAD_N / 4; j++)
    {
        load_vector(o->b + j * 4, slot + A_FLOATS + step * B_PITCH + j * (THREADS_N * 4) + n);
    }
}

/* heart: begin */
DEVICE void multiply(float acc[THREAD_M][THREAD_N], const operands *o)
{
    UNROLL for (int i = 0; i < THREAD_M; i++)
    {
        UNROLL for (int j = 0; j < THREAD_N; j++)
        {
            acc[i][j] = fmaf(o->a[i], o->b[j], acc[i][j]);
        }
    }
}
/* heart: end */

/* Finishes four elements of a row, of which `left` exist, and stores them. */
DEVICE void finish(float v[4], float *c, const float *bias, const float *c_in,
                   const float *residual, int left, bool whole, float alpha, float beta)
{
    UNROLL for (int j = 0; j < 4; j++)
    {
        float x = v[j];
#if HAS_ALPHA
        x *= alpha;
#endif
#if HAS_BETA
        x += beta * (j < left ? c_in[j] : 0.0f);
#endif
#if HAS_BIAS
        x += j < left ? bias[j] : 0.0f;
#endif
        x = EPILOGUE(x);
#if HAS_RESIDUAL
        x += j < left ? residual[j] : 0.0f;
#endif
        v[j] = x;
    }
    if (whole && left >= 4) {
        store_vector(c, v);
    } else {
        UNROLL for (int j = 0; j < 4; j++)
        {
            if (j < left) {
                c[j] = v[j];
            }
        }
    }
    (void)bias;
    (void)c_in;
    (void)residual;
    (void)alpha;
    (void)beta;
}

DEVICE void multiply_tile(const float *a, const float *b, float *c, const float *bias,
                          const float *c_in, const float *residual, unsigned char *workspace, int m,
                          int n, int k, int lda, int ldb, int ldc, float alpha, float beta)
{
    const u32 ring = shared_base();
    const float *values = (const float *)dynamic_shared();
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int thread_m = (warp / WARPS_N * LANES_M + lane / LANES_N) * 4; /* its first elements */
    const int thread_n = (warp % WARPS_N * LANES_N + lane % LANES_N) * 4;

    const place p = place_of_block(m, n, k);
    const int m0 = p.m0, n0 = p.n0, count = p.count;
    const bool deep = k % BLOCK_SIZE_K == 0; /* known to the compiler if the size is */
    slice sa = {a, lda, p.begin * BLOCK_SIZE_K, k, m0, m, deep, m % BLOCK_SIZE_M == 0};
    slice sb = {b, ldb, p.begin * BLOCK_SIZE_K, k, n0, n, deep, n % BLOCK_SIZE_N == 0};
    float acc[THREAD_M][THREAD_N];
    operands o[2];
    UNROLL for (int i = 0; i < THREAD_M * THREAD_N; i++)
    {
        acc[i / THREAD_N][i % THREAD_N] = 0;
    }
    for (int i = 0; i < num_stages - 1; i++) {
        if (i < count) {
            copy_slices(ring + (u32)i * (STAGE_FLOATS * 4), &sa, &sb);
            sa.k0 += BLOCK_SIZE_K;
            sb.k0 += BLOCK_SIZE_K;
        }
        copy_commit();
    }
    COPY_WAIT(num_stages - 2);
    block_sync();
    int slot = 0, free = num_stages - 1;
    load_operands(&o[0], values, 0, thread_m, thread_n);
    for (int i = 0; i < count; i++) {
        if (i + num_stages - 1 < count) {
            /* All have loaded what they need of this slot, before they met last. */
            copy_slices(ring + (u32)free * (STAGE_FLOATS * 4), &sa, &sb);
            sa.k0 += BLOCK_SIZE_K;
            sb.k0 += BLOCK_SIZE_K;
        }
        copy_commit();
        free = slot;
        const float *now = values + slot * STAGE_FLOATS;
        slot = slot == num_stages - 1 ? 0 : slot + 1;
        /* heart: begin */
        UNROLL for (int step = 0; step < BLOCK_SIZE_K; step++)
        {
            if (step + 1 < BLOCK_SIZE_K) {
                load_operands(&o[(step + 1) % 2], now, step + 1, thread_m, thread_n);
            } else {
                COPY_WAIT(num_stages - 2);
                block_sync(); /* the next slice is there for all */
                load_operands(&o[0], values + slot * STAGE_FLOATS, 0, thread_m, thread_n);
            }
            multiply(acc, &o[step % 2]);
        }
        /* heart: end */
    }
#if SPLIT_K > 1
    COPY_WAIT(0);
    block_sync(); /* the ring's memory is used for the flag from here on */
    if (!add_parts((float(*)[4])acc, THREAD_M * THREAD_N / 4, THREADS, workspace, &p, ring)) {
        return;
    }
#endif
    const bool whole = (((size_t)c | (size_t)ldc * 4) & 15) == 0;
    UNROLL for (int i = 0; i < THREAD_M; i++)
    {
        const int row = m0 + i / 4 * (THREADS_M * 4) + thread_m + i % 4;
        UNROLL for (int j = 0; j < THREAD_N / 4; j++)
        {
            const int column = n0 + j * (THREADS_N * 4) + thread_n;
            const i64 at = (i64)row * ldc + column;
            if (row < m && column < n) {
                finish(&acc[i][j * 4], c + at, HAS_BIAS ? bias + column : bias,
                       HAS_BETA ? c_in + at : c_in, HAS_RESIDUAL ? residual + at : residual,
                       n - column, whole, alpha, beta);
            }
        }
    }
}

#if !(defined SIZE_M && defined OWN_SIZE_ONLY)
KERNEL ak_kernel(const float *a, const float *b, float *c, const float *bias, const float *c_in,
                 const float *residual, unsigned char *workspace, int m, int n, int k, int lda,
                 int ldb, int ldc, float alpha, float beta)
{
    multiply_tile(a, b, c, bias, c_in, residual, workspace, m, n, k, lda, ldb, ldc, alpha, beta);
}
#endif

#ifdef SIZE_M
/* The same kernel with sizes that the compiler knows. */
KERNEL ak_kernel_sized(const float *a, const float *b, float *c, const float *bias,
                       const float *c_in, const float *residual, unsigned char *workspace, int m,
                       int n, int k, int lda, int ldb, int ldc, float alpha, float beta)
{
    multiply_tile(a, b, c, bias, c_in, residual, workspace, SIZE_M, SIZE_N, SIZE_K, lda, ldb, ldc,
                  alpha, beta);
}
#endif
