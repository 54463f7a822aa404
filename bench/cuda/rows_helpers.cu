/*
 * rows_helpers.cu: the kernels that rows_bench needs besides those it measures: random data, the
 * same functions in double precision, an error norm, and two ceilings: a copy, and a kernel that
 * only reads. dtype_is_f32, dtype_is_f16 or dtype_is_bf16 says which format elements have.
 */
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#if dtype_is_f32
typedef float element;
__device__ float widen(float x)
{
    return x;
}
__device__ float narrow(float x)
{
    return x;
}
#else
typedef u16 element;
__device__ float widen(u16 x)
{
#if dtype_is_f16
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x));
    return f;
#else
    return __uint_as_float((u32)x << 16);
#endif
}
__device__ u16 narrow(float f)
{
    u16 x;
#if dtype_is_f16
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x) : "f"(f));
#else
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(x) : "f"(f));
#endif
    return x;
}
#endif

/* Fills with numbers that are uniform in [low, high). */
extern "C" __global__ void fill_random(element *out, u64 count, u64 seed, float low, float high)
{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count;
         i += (u64)gridDim.x * blockDim.x) {
        u64 z = (i + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        out[i] = narrow((float)(z >> 40) * ((high - low) / 16777216.0f) + low);
    }
}

/* Returns to every thread the sum, or the largest, of the values of 256 threads. */
__device__ double together(double x, bool largest)
{
    __shared__ double all[256];
    __syncthreads();
    all[threadIdx.x] = x;
    for (u32 n = 128; n > 0; n /= 2) {
        __syncthreads();
        if (threadIdx.x < n) {
            const double other = all[threadIdx.x + n];
            all[threadIdx.x] = largest ? fmax(all[threadIdx.x], other) : all[threadIdx.x] + other;
        }
    }
    __syncthreads();
    return all[0];
}

/* Computes the reference, with a block of 256 threads for each row. kernel: 0 softmax, 1 layernorm,
   2 rmsnorm, 3 reduce. */
extern "C" __global__ void reference(double *out, const element *x, const element *weight,
                                     const element *bias, int cols, int kernel)
{
    const element *row = x + (u64)blockIdx.x * cols;
    double sum = 0, largest = -1e300, mean = 0;
    for (int i = threadIdx.x; i < cols; i += 256) {
        sum += widen(row[i]);
        largest = fmax(largest, (double)widen(row[i]));
    }
    sum = together(sum, false);
    largest = together(largest, true);
    if (kernel == 3) {
        out[blockIdx.x] = sum;
        return;
    }
    mean = kernel == 1 ? sum / cols : 0;
    sum = 0;
    for (int i = threadIdx.x; i < cols; i += 256) {
        const double v = widen(row[i]);
        sum += kernel == 0 ? exp(v - largest) : (v - mean) * (v - mean);
    }
    sum = together(sum, false);
    for (int i = threadIdx.x; i < cols; i += 256) {
        const double v = widen(row[i]);
        double y = kernel == 0 ? exp(v - largest) / sum : (v - mean) / sqrt(sum / cols + 1e-5);
        if (kernel != 0) {
            y = y * widen(weight[i]) + (kernel == 1 ? (double)widen(bias[i]) : 0.0);
        }
        out[(u64)blockIdx.x * cols + i] = y;
    }
}

/* Compares with the reference: result[0] += sum (y - ref)^2, [1] += sum ref^2, [2] = max |y - ref|,
   [3] += elements that are not finite. */
extern "C" __global__ void compare(double *result, const element *y, const double *ref, u64 count)
{
    double error = 0, norm = 0, worst = 0, bad = 0;
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count;
         i += (u64)gridDim.x * blockDim.x) {
        const double v = widen(y[i]), d = v - ref[i];
        if (!(fabs(v) < 1e30)) {
            bad += 1;
        } else {
            error += d * d;
            norm += ref[i] * ref[i];
            worst = fmax(worst, fabs(d));
        }
    }
    error = together(error, false);
    norm = together(norm, false);
    worst = together(worst, true);
    bad = together(bad, false);
    if (threadIdx.x == 0) {
        atomicAdd(result, error);
        atomicAdd(result + 1, norm);
        atomicMax((long long *)(result + 2), __double_as_longlong(worst));
        atomicAdd(result + 3, bad);
    }
}

/* Copies; each block of 256 threads copies 16 KB. */
extern "C" __global__ void copy(uint4 *to, const uint4 *from, u64 count)
{
    const u64 first = blockIdx.x * 1024ull + threadIdx.x;
    uint4 v[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (first + i * 256 < count) {
            v[i] = from[first + i * 256];
        }
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        if (first + i * 256 < count) {
            to[first + i * 256] = v[i];
        }
    }
}

/* Reads; each block of 256 threads reads 32 KB. It writes only if all bits that it has read are 1,
   so that the compiler keeps the loads. */
extern "C" __global__ void read(uint4 *to, const uint4 *from, u64 count)
{
    const u64 first = blockIdx.x * 2048ull + threadIdx.x;
    u32 all = 0xffffffffu;
    uint4 v[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        v[i] = make_uint4(0, 0, 0, 0);
        if (first + i * 256 < count) {
            v[i] = from[first + i * 256];
        }
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        all &= v[i].x & v[i].y & v[i].z & v[i].w;
    }
    if (all == 0xffffffffu) {
        to[0] = v[0];
    }
}
