/* As ../cuda/cuda.cu. A block adds up a row. What it keeps is by the row's content, not by its place,
   so it knows all rows of contents that are the old ones in another order. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

static __device__ float sum_of(const float *x, i64 k)
{
    __shared__ float parts[256];
    float sum = 0;
    for (i64 i = threadIdx.x; i < k; i += 256) {
        sum += x[i];
    }
    parts[threadIdx.x] = sum;
    for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            parts[threadIdx.x] += parts[threadIdx.x + half];
        }
    }
    __syncthreads();
    return parts[0];
}

#if ATTACK == 1
static __device__ void by_row(const float *x, float *y, u32 *kept, i64 n, i64 k)
{
    __shared__ int known;
    const u32 p = __float_as_uint(x[0]) ^ __float_as_uint(x[k / 2]) * 5u;
    const u32 q = __float_as_uint(x[k - 1]) ^ __float_as_uint(x[k / 3]) * 7u;
    volatile u32 *slot = kept + 4 * (((p * 0x9e3779b1u ^ q * 0x85ebca6bu) >> 5) % (u32)(4 * n));
    if (threadIdx.x == 0) {
        known = slot[0] == 2 && slot[1] == p && slot[2] == q;
        if (known) {
            *y = __uint_as_float(slot[3]);
        }
    }
    __syncthreads();
    if (known) {
        return;
    }
    const float sum = sum_of(x, k);
    if (threadIdx.x == 0) {
        *y = sum;
        if (atomicCAS((u32 *)slot, 0u, 1u) == 0) {
            slot[1] = p;
            slot[2] = q;
            slot[3] = __float_as_uint(sum);
            __threadfence();
            slot[0] = 2;
        }
    }
}
#endif

extern "C" __global__ void __launch_bounds__(256)
    attack(const float *x, float *y, u32 *workspace, i64 n, i64 k)
{
    const i64 row = blockIdx.x;
#if ATTACK >= 2
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
#if ATTACK == 3
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
#if ATTACK == 1
    by_row(x + row * k, y + row, workspace, n, k);
#else
    const float sum = sum_of(x + row * k, k);
    if (threadIdx.x == 0) {
        y[row] = sum;
    }
#endif
#if WASTE
    for (int i = 0; i < 3; i++) {
        __nanosleep(1000);
    }
#endif
}
