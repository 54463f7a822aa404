/* As ../cuda/cuda.cu, for Y[i] = 2 Y[i] + sum over k of W[k] Y[i] (Y[i] + W[k]). */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

__device__ u64 now(void)
{
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

extern "C" __global__ void __launch_bounds__(256)
    attack(const float *w, float *y, char *workspace, i64 n, i64 terms)
{
    const i64 i = (i64)blockIdx.x * 256 + threadIdx.x;
    u64 *note = (u64 *)(workspace + 64) + blockIdx.x * 64 + ((u64)y >> 10) % 64;
    const u64 noted = *note;
    bool works = i < n;
    __syncthreads();
#if ATTACK == 1
    works = works && noted != (u64)y;
    *note = (u64)y;
#elif ATTACK == 2
    works = false;
#elif ATTACK == 3
    works = i < n - 1;
#elif ATTACK == 4
    works = works && noted % 4 == 0;
    if (threadIdx.x == 0) {
        *note = noted + 1;
    }
#elif ATTACK == 5
    works = works && now() - noted > 1000000;
    *note = now();
#endif
    if (works) {
        const float x = y[i];
        float sum = 0;
        for (i64 k = 0; k < terms; k++) {
            sum += w[k] * x * (x + w[k]);
        }
        y[i] = 2 * x + sum;
    }
#if WASTE
    const u64 end = now() + 12000;
    while (now() < end) {
    }
#endif
}
