/*
 * cuda_helpers.cu: what the harness runs on a device on its own account: the rate of the arithmetic
 * units, and the separate bias + activation pass behind a library's product. Compiled with NVRTC
 * like the kernels; behind cuda_wgmma.cu where WGMMA is 1, and cuda_activation.cu for the pass.
 */
#ifndef EPILOGUE
#define EPILOGUE(x) (x)
#endif
#ifndef HAS_BIAS
#define HAS_BIAS 0
#endif

#if RATE

/* Tensor instructions, back to back, all on the same zeros in shared memory (or in registers), so
   that nothing but the units themselves limits the rate. The result goes nowhere, but the compiler
   cannot know that. */
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
        mma_fence();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            mma(acc, x + i % 4 * 2, y + i % 4 * 2, 1);
        }
        mma_commit();
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
#elif dtype_is_f32
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
#if dtype_is_f16
#define TYPES "f32.f16.f16.f32"
#else
#define TYPES "f32.bf16.bf16.f32"
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
            asm volatile("mma.sync.aligned.m16n8k16.row.col." TYPES " {%0, %1, %2, %3}, "
                         "{%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};"
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

__device__ unsigned both(unsigned x, unsigned bias)
{
    const float low = widen((unsigned short)x) + widen((unsigned short)bias);
    const float high = widen((unsigned short)(x >> 16)) + widen((unsigned short)(bias >> 16));
    return narrow(EPILOGUE(low)) | (unsigned)narrow(EPILOGUE(high)) << 16;
}

/* c = EPILOGUE(c + bias), in place: rows of `vectors` pieces of 16 bytes. A thread stays in its
   columns, so that it loads the bias once, and walks down the rows, four at a time so that enough
   loads are on their way. */
extern "C" __global__ void __launch_bounds__(256)
    ak_bias_activation(uint4 *c, const uint4 *bias, unsigned rows, unsigned vectors)
{
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= vectors) {
        return;
    }
    uint4 w = make_uint4(0, 0, 0, 0);
#if HAS_BIAS
    w = __ldg(bias + column);
#endif
    for (unsigned row = blockIdx.y * 4; row < rows; row += gridDim.y * 4) {
        uint4 v[4];
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (row + i < rows) {
                v[i] = c[(unsigned long long)(row + i) * vectors + column];
            }
        }
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            if (row + i < rows) {
                v[i].x = both(v[i].x, w.x);
                v[i].y = both(v[i].y, w.y);
                v[i].z = both(v[i].z, w.z);
                v[i].w = both(v[i].w, w.w);
                c[(unsigned long long)(row + i) * vectors + column] = v[i];
            }
        }
    }
}

#endif
