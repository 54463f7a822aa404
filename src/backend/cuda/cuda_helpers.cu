/*
 * cuda_helpers.cu: device code of the harness itself: the loops that measure the rate of the
 * arithmetic units (RATE), and the separate pass behind a library's product, which adds bias and
 * residual and computes the activation. NVRTC compiles it like the kernels: behind cuda_wgmma.cu if
 * WGMMA is 1, and behind cuda_activation.cu for the pass.
 */
#ifndef EPILOGUE
#define EPILOGUE(x) (x)
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif
#ifndef HAS_RESIDUAL
#define HAS_RESIDUAL 0
#endif
#ifndef FLAT
#define FLAT 0 /* 0: row and pitch are multiples of 16 bytes; 1: rows adjoin; 2: any */
#endif

#if RATE

/* Runs tensor instructions back to back, all on the same zeros in shared memory (or in registers),
   so that only the units themselves limit the rate; for f32 unless it is multiplied as tf32 (TF32),
   fused multiply-adds on registers. The result is not used, but the compiler cannot know that. */
#if WGMMA
extern "C" __global__ void __launch_bounds__(256, 1) ak_rate(float *out, int turns)
{
    extern __shared__ __align__(1024) unsigned char shared[];
    float acc[MMA_N / 2];
    for (int i = threadIdx.x; i < (64 + MMA_N) * 128 / 4; i += 256) {
        ((u32 *)shared)[i] = 0;
    }
    for (int i = 0; i < MMA_N / 2; i++) {
        acc[i] = 0;
    }
    fence_async();
    __syncthreads();
    const u32 base = shared_address(shared);
    const u64 x = mma_descriptor(base, 8192);
    const u64 y = mma_descriptor(base + 8192, 8192);
    for (int turn = 0; turn < turns; turn++) {
        /* not unrolled, because ptxas would take seconds */
#pragma unroll 1
        for (int part = 0; part < 4; part++) {
            mma_fence();
#pragma unroll
            for (int i = 0; i < 4; i++) {
                mma(acc, x + i * 2, y + i * 2, 1);
            }
            mma_commit();
        }
        MMA_WAIT(0);
    }
    float sum = 0;
    for (int i = 0; i < MMA_N / 2; i++) {
        sum += acc[i];
    }
    if (sum != 0) {
        out[threadIdx.x] = sum;
    }
}
#elif dtype_is_f32 && !TF32
extern "C" __global__ void __launch_bounds__(256, 4) ak_rate(float *out, int turns)
{
    float x[16], y = turns < 0 ? 2.0f : 0.5f;
    for (int i = 0; i < 16; i++) {
        x[i] = turns < -1 ? 1.0f : 0.0f;
    }
    for (int turn = 0; turn < turns; turn++) {
#pragma unroll
        for (int i = 0; i < 64; i++) {
            x[i % 16] = fmaf(x[i % 16], y, y);
        }
    }
    float sum = 0;
    for (int i = 0; i < 16; i++) {
        sum += x[i];
    }
    if (sum == -1.0f) {
        out[threadIdx.x] = sum;
    }
}
#else
#if TF32
#define MMA "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
#elif dtype_is_f16
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
#else
#define MMA "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"
#endif
extern "C" __global__ void __launch_bounds__(256, 2) ak_rate(float *out, int turns)
{
    float d[8][4];
    const unsigned a = turns < 0 ? 1u : 0u;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 4; j++) {
            d[i][j] = 0;
        }
    }
    for (int turn = 0; turn < turns; turn++) {
#pragma unroll
        for (int i = 0; i < 16; i++) {
            asm volatile(MMA " {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
                         : "+f"(d[i % 8][0]), "+f"(d[i % 8][1]), "+f"(d[i % 8][2]),
                           "+f"(d[i % 8][3])
                         : "r"(a));
        }
    }
    float sum = 0;
    for (int i = 0; i < 8; i++) {
        for (int j = 0; j < 4; j++) {
            sum += d[i][j];
        }
    }
    if (sum != 0) {
        out[threadIdx.x] = sum;
    }
}
#endif

#else

#if dtype_is_f16
__device__ float widen(unsigned short x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}
__device__ unsigned short narrow(float f)
{
    unsigned short x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
}
#else
__device__ float widen(unsigned short x)
{
    return __uint_as_float((unsigned)x << 16);
}
__device__ unsigned short narrow(float f)
{
    unsigned short x;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
}
#endif

__device__ unsigned both(unsigned x, unsigned bias, unsigned residual)
{
    float low = widen((unsigned short)x) + widen((unsigned short)bias);
    float high = widen((unsigned short)(x >> 16)) + widen((unsigned short)(bias >> 16));
    low = EPILOGUE(low);
    high = EPILOGUE(high);
#if HAS_RESIDUAL
    low += widen((unsigned short)residual);
    high += widen((unsigned short)(residual >> 16));
#endif
    return narrow(low) | (unsigned)narrow(high) << 16;
}

__device__ uint4 all(uint4 v, uint4 w, uint4 r)
{
    v.x = both(v.x, w.x, r.x);
    v.y = both(v.y, w.y, r.y);
    v.z = both(v.z, w.z, r.z);
    v.w = both(v.w, w.w, r.w);
    return v;
}

/* Computes c = EPILOGUE(c + bias) + residual in place. The residual is laid out as c. */
#if FLAT == 0

/* Rows of `columns` pieces of 16 bytes, `pitch` pieces apart. A thread stays in its column, so that
   it loads the bias once, and takes four rows at a time, so that enough loads are in flight. */
extern "C" __global__ void __launch_bounds__(256)
    ak_bias_activation(uint4 *c, const uint4 *bias, const uint4 *residual, unsigned rows,
                       unsigned columns, unsigned pitch)
{
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned step = gridDim.y * blockDim.y;
    if (column >= columns) {
        return;
    }
    uint4 w = make_uint4(0, 0, 0, 0);
#if HAS_BIAS
    w = __ldg(bias + column);
#endif
    for (unsigned row = blockIdx.y * blockDim.y + threadIdx.y; row < rows; row += 4 * step) {
        const unsigned long long place = (unsigned long long)row * pitch + column;
        uint4 *const at = c + place;
        uint4 v[4], r[4];
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (row + i * step < rows) {
                v[i] = at[(unsigned long long)i * step * pitch];
                r[i] = make_uint4(0, 0, 0, 0);
#if HAS_RESIDUAL
                r[i] = __ldg(residual + place + (unsigned long long)i * step * pitch);
#endif
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (row + i * step < rows) {
                at[(unsigned long long)i * step * pitch] = all(v[i], w, r[i]);
            }
        }
    }
}

#else

__device__ unsigned one(const unsigned short *bias, unsigned column)
{
#if HAS_BIAS
    return __ldg(bias + column);
#else
    return 0;
#endif
}

#endif

#if FLAT == 1

/* Contiguous rows of any length: pieces of 16 bytes, which may cross the end of a row, and a rest
   of less than one piece. */

extern "C" __global__ void __launch_bounds__(256)
    ak_bias_activation(unsigned short *c, const unsigned short *bias,
                       const unsigned short *residual, unsigned rows, unsigned columns,
                       unsigned pitch)
{
    const unsigned long long count = (unsigned long long)rows * columns, vectors = count / 8;
    const unsigned long long first = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    const unsigned turn = (unsigned)(stride * 8 % columns);
    unsigned column = (unsigned)(first * 8 % columns);
    for (unsigned long long i = first; i < vectors; i += stride) {
        unsigned w[8];
#pragma unroll
        for (unsigned k = 0, at = column; k < 8; k++) {
            w[k] = one(bias, at);
            at = at + 1 == columns ? 0 : at + 1;
        }
        uint4 r = make_uint4(0, 0, 0, 0);
#if HAS_RESIDUAL
        r = __ldg((const uint4 *)residual + i);
#endif
        ((uint4 *)c)[i] = all(((const uint4 *)c)[i],
                              make_uint4(w[0] | w[1] << 16, w[2] | w[3] << 16, w[4] | w[5] << 16,
                                         w[6] | w[7] << 16),
                              r);
        column += turn;
        column -= column >= columns ? columns : 0;
    }
    const unsigned long long last = vectors * 8 + first;
    if (last < count) {
        unsigned r = 0;
#if HAS_RESIDUAL
        r = residual[last];
#endif
        c[last] = (unsigned short)both(c[last], one(bias, (unsigned)(last % columns)), r);
    }
}

#elif FLAT == 2

/* Rows of any length at any distance, one element at a time. */
extern "C" __global__ void __launch_bounds__(256)
    ak_bias_activation(unsigned short *c, const unsigned short *bias,
                       const unsigned short *residual, unsigned rows, unsigned columns,
                       unsigned pitch)
{
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned step = gridDim.y * blockDim.y;
    for (unsigned row = blockIdx.y * blockDim.y + threadIdx.y; row < rows && column < columns;
         row += step) {
        const unsigned long long at = (unsigned long long)row * pitch + column;
        unsigned r = 0;
#if HAS_RESIDUAL
        r = residual[at];
#endif
        c[at] = (unsigned short)both(c[at], one(bias, column), r);
    }
}

#endif

#endif
