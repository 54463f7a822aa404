/*
 * helpers.cu: the kernels that gemm_bench needs besides the one it measures: random data, poison, a
 * reference in double precision, an error norm, and the separate pass for bias and activation after
 * an unfused library call. NVRTC compiles them like the measured kernels. dtype_is_f16 or
 * dtype_is_bf16 says which format the 16-bit elements have.
 */
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if dtype_is_f16
__device__ float widen(u16 x)
{
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
}
__device__ u16 narrow(float f)
{
    u16 x;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
}
#else
__device__ float widen(u16 x)
{
    return __uint_as_float((u32)x << 16);
}
__device__ u16 narrow(float f)
{
    u16 x;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(f));
    return x;
}
#endif

extern "C" __global__ void fill_random(u16 *out, u64 count, u64 seed)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count;
         i += (u64)gridDim.x * blockDim.x) {
        u64 z = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        out[i] = narrow((float)(z >> 40) * (2.0f / 16777216.0f) - 1.0f);
    }
}

__device__ double activate(double x, int activation)
{
    switch (activation) {
    case 1:
        return x > 0 ? x : 0;
    case 2:
        return x > 0 ? x : 0.01 * x;
    case 3:
        return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case 4:
        return 0.5 * x * (1 + erf(x * 0.7071067811865476));
    case 5:
        return x / (1 + exp(-x));
    default:
        return x;
    }
}

/* Computes the rows first, first + step, ... of the product, with one thread for each element. a_t,
   b_t: stored transposed. */
extern "C" __global__ void reference(double *out, const u16 *a, const u16 *b, const u16 *bias,
                                     int m, int n, int k, int a_t, int b_t, int first, int step,
                                     int rows, int activation)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int r = blockIdx.y;
    const int row = first + r * step;
    if (column >= n || r >= rows || row >= m) {
        return;
    }
    double sum = 0;
    for (int i = 0; i < k; i++) {
        const double x = widen(a_t ? a[(u64)i * m + row] : a[(u64)row * k + i]);
        const double y = widen(b_t ? b[(u64)i * n + column] : b[(u64)column * k + i]);
        sum += x * y;
    }
    if (bias) {
        sum += widen(bias[column]);
    }
    out[(u64)r * n + column] = activate(sum, activation);
}

/* Compares rows with the reference: result[0] += sum (c - ref)^2, [1] += sum ref^2, [2] = max |c -
   ref|, [3] += elements that are not finite. */
extern "C" __global__ void compare_rows(double *result, const u16 *c, const double *ref, int m,
                                        int n, int first, int step, int rows)
{
    double error = 0, norm = 0, worst = 0, bad = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < (u64)rows * n;
         i += (u64)gridDim.x * blockDim.x) {
        const u64 row = first + (i / n) * step;
        if (row < m) {
            const double x = widen(c[row * n + i % n]), y = ref[i];
            const double d = x - y;
            if (!(fabs(x) < 1e30)) {
                bad += 1;
            } else {
                error += d * d;
                norm += y * y;
                worst = fmax(worst, fabs(d));
            }
        }
    }
    atomicAdd(result, error);
    atomicAdd(result + 1, norm);
    atomicMax((long long *)(result + 2), __double_as_longlong(worst));
    atomicAdd(result + 3, bad);
}

/* Compares all elements with another 16-bit result, in the same way. */
extern "C" __global__ void compare_all(double *result, const u16 *c, const u16 *ref, u64 count)
{
    double error = 0, norm = 0, worst = 0, bad = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count;
         i += (u64)gridDim.x * blockDim.x) {
        const double x = widen(c[i]), y = widen(ref[i]);
        const double d = x - y;
        if (!(fabs(x) < 1e30)) {
            bad += 1;
        } else {
            error += d * d;
            norm += y * y;
            worst = fmax(worst, fabs(d));
        }
    }
    atomicAdd(result, error);
    atomicAdd(result + 1, norm);
    atomicMax((long long *)(result + 2), __double_as_longlong(worst));
    atomicAdd(result + 3, bad);
}

__device__ float activate_fast(float x, int activation)
{
    float t;
    switch (activation) {
    case 1:
        return fmaxf(x, 0.0f);
    case 2:
        return fmaxf(x, 0.01f * x);
    case 3:
        t = 0.7978845608f * (x + 0.044715f * x * x * x);
        asm("tanh.approx.f32 %0, %0;" : "+f"(t));
        return 0.5f * x * (1 + t);
    case 4:
        return 0.5f * x * (1 + erff(x * 0.70710678f));
    case 5:
        t = 0.5f * x;
        asm("tanh.approx.f32 %0, %0;" : "+f"(t));
        return 0.5f * x * (1 + t);
    default:
        return x;
    }
}

/* Sets c = activation(c + bias) in place, 8 elements at a time; the number of columns is a multiple
   of 8. A thread keeps its columns for all rows, so that it loads the bias once. */
extern "C" __global__ void bias_activation(uint4 *c, const uint4 *bias, u32 rows, u32 row_vectors,
                                           int activation)
{
    const u32 column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= row_vectors) {
        return;
    }
    uint4 w = make_uint4(0, 0, 0, 0);
    if (bias) {
        w = __ldg(bias + column);
    }
    for (u32 row = blockIdx.y; row < rows; row += gridDim.y) {
        uint4 v = c[(u64)row * row_vectors + column];
        u32 *x = &v.x;
        const u32 *y = &w.x;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const float low = widen((u16)x[j]) + widen((u16)y[j]);
            const float high = widen((u16)(x[j] >> 16)) + widen((u16)(y[j] >> 16));
            x[j] = narrow(activate_fast(low, activation)) |
                   (u32)narrow(activate_fast(high, activation)) << 16;
        }
        c[(u64)row * row_vectors + column] = v;
    }
}
