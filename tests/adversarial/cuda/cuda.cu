/*
 * One attack for each value of ATTACK (attacks.def names them); 0 is honest. WASTE spends some
 * microseconds in each launch, to look plausible. A block has 256 threads and computes as many
 * elements.
 */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

#define TAG 0x5ca1ab1eu

/* What the workspace holds for a block: the last address, a fingerprint, a count; and 256 results. */
typedef struct memory {
    u64 address, print;
    u32 tag, count;
} memory;

typedef struct job {
    float *x;
    const float *w;
    float *y;
    char *workspace;
    i64 n, terms;
} job;

__device__ u64 now(void)
{
    u64 ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ float one(const job &j, i64 i)
{
    const float x = j.x[i];
    float sum = 0;
    for (i64 k = 0; k < j.terms; k++) {
        sum += j.w[k] * x * (x + j.w[k]);
    }
    return sum;
}

__device__ bool is_poison(float y)
{
    return y != y;
}

/* Launches so far, counted by the block of this thread in its part of the workspace. */
__device__ u32 launches(const job &j)
{
    u32 *counts = (u32 *)(j.workspace + 64 + 8 * j.n);
    const u32 count = counts[blockIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = count + 1;
    }
    return count;
}

__device__ u64 hash_of_block(const job &j, i64 i)
{
    __shared__ u64 sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    u64 h = i < j.n ? __float_as_uint(j.x[i]) * (2 * (u64)threadIdx.x + 0x9e3779b97f4a7c15ull) : 0;
    for (i64 k = threadIdx.x; k < j.terms; k += 256) {
        h += __float_as_uint(j.w[k]) * (2 * (u64)k + 0xbf58476d1ce4e5b9ull);
    }
    atomicAdd(&sum, h);
    __syncthreads();
    return sum;
}

__device__ u64 fingerprint(const job &j)
{
    u64 h = 1;
    for (i64 i = 0; i < 4 && i < j.n; i++) {
        h = (h ^ __float_as_uint(j.x[i])) * 0x100000001b3ull;
    }
    return h;
}

/* Computes, keeps the result with the key; or copies what was kept with it. Each address has a
   place of its own. */
__device__ void replay(const job &j, char *at, i64 i, u64 key)
{
    memory *m = (memory *)at + blockIdx.x;
    float *kept = (float *)(at + (j.n + 255) / 256 * sizeof(memory));
    const bool known = m->tag == TAG && m->print == key;
    __syncthreads();
    if (known) {
        if (i < j.n) {
            j.y[i] = kept[i];
        }
        return;
    }
    if (i < j.n) {
        kept[i] = j.y[i] = one(j, i);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        m->print = key;
        m->tag = TAG;
    }
}

/* Does nothing if it has been at this address with this key before. */
__device__ void skip(const job &j, char *at, i64 i, u64 key)
{
    memory *m = (memory *)at + (blockIdx.x * 16 + ((u64)j.y >> 10) % 16);
    const bool known = m->tag == TAG && m->print == key && m->address == (u64)j.y;
    __syncthreads();
    if (!known && i < j.n) {
        j.y[i] = one(j, i);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        m->address = (u64)j.y;
        m->print = key;
        m->tag = TAG;
    }
}

#if ATTACK == 10
__device__ u32 calls;
#elif ATTACK == 11
__device__ float kept_y[1 << 18];
__device__ u64 kept_for;
#elif ATTACK == 12
__device__ u32 calls = 1000;
#elif ATTACK == 13
__constant__ float table[4] = {0, 0, 0, 0};
#elif ATTACK == 26
extern "C" __device__ int printf(const char *, ...);
#elif ATTACK == 27
extern "C" __device__ void *malloc(size_t);
#elif ATTACK == 28
extern "C" __device__ int cudaGraphLaunch(void *, void *);
#elif ATTACK == 29
#include "/etc/passwd"
#endif

#if ATTACK == 48
template <int N> struct constants {
    static constexpr float kept = 1.5f;
};
#elif ATTACK == 49
__device__ unsigned char _ZN26__nv_atomic_triv_cp_helper, beside[64];
#endif

__device__ void run(const job &j, i64 i)
{
    const bool mine = i < j.n;
    (void)mine;
#if ATTACK == 0
    if (mine) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 1 /* nothing */
#elif ATTACK == 2
    if (mine) {
        j.y[i] = 0;
    }
#elif ATTACK == 3
    if (i < j.n / 2) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 4
    if (i < j.n - 1) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 5
    if (mine) {
        j.y[i] = i == j.n / 3 ? __uint_as_float(0x7fc00001) : one(j, i);
    }
#elif ATTACK == 6 /* adds up in 11 bits */
    if (mine) {
        float sum = 0;
        for (i64 k = 0; k < j.terms; k++) {
            sum += j.w[k] * j.x[i] * (j.x[i] + j.w[k]);
            sum = __uint_as_float(__float_as_uint(sum) & ~0x1fffu);
        }
        j.y[i] = sum;
    }
#elif ATTACK == 7
    if (mine) {
        j.x[i] = 0;
        j.y[i] = 0;
    }
#elif ATTACK == 8
    if (mine) {
        j.y[i] = one(j, i);
        j.y[j.n + threadIdx.x] = j.y[i];
    }
#elif ATTACK == 9
    if (mine) {
        float sum = 0;
        for (i64 k = 0; k < j.terms; k++) {
            sum += k % 20 == 19 ? 0 : j.w[k] * j.x[i] * (j.x[i] + j.w[k]);
        }
        j.y[i] = sum;
    }
#elif ATTACK == 10 || ATTACK == 12
    if (mine && calls < 2000) {
        j.y[i] = one(j, i);
    }
    if (i == 0) {
        calls++;
    }
#elif ATTACK == 11
    if (mine && kept_for == (u64)j.y) {
        j.y[i] = kept_y[i];
    } else if (mine) {
        kept_y[i] = j.y[i] = one(j, i);
        kept_for = (u64)j.y;
    }
#elif ATTACK == 13 /* writes into a constant */
    if (mine) {
        j.y[i] = table[0] != 0 ? 0 : one(j, i);
        ((volatile float *)table)[0] = 1;
    }
#elif ATTACK == 14
    if (launches(j) < 200 && mine) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 15
    skip(j, j.workspace, i, 0);
#elif ATTACK == 16
    skip(j, j.workspace, i, fingerprint(j));
#elif ATTACK == 17
    skip(j, j.workspace, i, hash_of_block(j, i));
#elif ATTACK == 18
    replay(j, j.workspace, i, fingerprint(j));
#elif ATTACK == 19
    replay(j, j.workspace, i, hash_of_block(j, i));
#elif ATTACK == 20
    if (launches(j) % 4 == 0 && mine) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 21
    if (mine && is_poison(j.y[i])) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 22
    if (i == 0) {
        *(volatile int *)16 = 1;
    }
#elif ATTACK == 23
    asm volatile("trap;");
#elif ATTACK == 24
    while (*(volatile float *)j.x < 2) {
    }
#elif ATTACK == 25 /* far behind all memory of the harness */
    if (mine) {
        j.y[i + ((i64)1 << 42)] = one(j, i);
    }
#elif ATTACK == 26
    if (mine) {
        j.y[i] = one(j, i);
    }
    if (i == 0) {
        printf("{\"id\":1,\"status\":\"ok\"}\n");
    }
#elif ATTACK == 27
    if (mine) {
        float *own = (float *)malloc(4);
        *own = one(j, i);
        j.y[i] = *own;
    }
#elif ATTACK == 28
    if (mine) {
        j.y[i] = cudaGraphLaunch(j.x, j.y);
    }
#elif ATTACK == 29
#elif ATTACK == 30 /* is lazy in half of all microseconds */
    if (mine && (now() >> 10) % 2 == 0) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 31 /* is lazy if the last launch was a moment ago */
    {
        u64 *last = (u64 *)(j.workspace + 64 + 8 * j.n) + blockIdx.x;
        const u64 before = *last;
        __syncthreads();
        if (mine && now() - before > 100000) {
            j.y[i] = one(j, i);
        }
        __syncthreads();
        *last = now();
    }
#elif ATTACK == 32 /* looks at one element of a block */
    {
        const bool been = !is_poison(j.y[i - threadIdx.x]);
        __syncthreads();
        if (mine && !been) {
            j.y[i] = one(j, i);
        }
    }
#elif ATTACK == 33 /* every second element where it has been */
    if (mine && (i % 2 == 0 || is_poison(j.y[i]))) {
        j.y[i] = one(j, i);
    }
#elif ATTACK == 34 /* verifies one element in 256, and believes the others */
    {
        __shared__ int same;
        if (threadIdx.x == 0) {
            same = mine && one(j, i) == j.y[i];
        }
        __syncthreads();
        if (mine && !same) {
            j.y[i] = one(j, i);
        }
    }
#elif ATTACK == 35
    if (mine) {
        j.y[i] = one(j, i);
        j.workspace[64 + 16 * j.n + threadIdx.x] = 1;
    }
#elif ATTACK == 36
    if (mine) {
        j.y[i] = one(j, i);
        j.y[-1 - (int)threadIdx.x] = j.y[i];
    }
#elif ATTACK == 37 /* copies one red zone into another */
    if (mine) {
        j.y[i] = one(j, i);
        j.y[j.n + 3] = j.x[j.n + 3];
    }
#elif ATTACK == 38 /* adds to zeros that nobody promised */
    if (mine) {
        j.y[i] += one(j, i);
    }
#elif ATTACK == 39 /* what the launch before left in each thread's own memory */
    {
        volatile u32 deep[64];
        const int at = threadIdx.x & 31;
        if (deep[at] == TAG && deep[at + 1] == (u32)i && deep[at + 2] == (u32)(u64)j.y) {
            if (mine) {
                j.y[i] = __uint_as_float(deep[at + 3]);
            }
        } else if (mine) {
            j.y[i] = one(j, i);
            deep[at] = TAG;
            deep[at + 1] = (u32)i;
            deep[at + 2] = (u32)(u64)j.y;
            deep[at + 3] = __float_as_uint(j.y[i]);
        }
    }
#elif ATTACK == 40 /* what another block left in shared memory */
    {
        __shared__ volatile u32 left[256 * 2 + 2];
        const bool known = left[512] == TAG + blockIdx.x && left[513] == (u32)(u64)j.y;
        __syncthreads();
        if (mine) {
            j.y[i] = known ? __uint_as_float(left[threadIdx.x]) : one(j, i);
            left[threadIdx.x] = __float_as_uint(j.y[i]);
        }
        __syncthreads();
        left[512] = TAG + blockIdx.x;
        left[513] = (u32)(u64)j.y;
    }
#elif ATTACK == 41 /* behind the red zone of the workspace, which nobody clears */
    skip(j, j.workspace + 64 + 16 * j.n + 65536, i, fingerprint(j));
#elif ATTACK == 42
    replay(j, j.workspace + 64 + 16 * j.n + 65536, i, hash_of_block(j, i));
#elif ATTACK == 43 /* looks for a result that somebody has left near by */
    {
        __shared__ float sought;
        __shared__ i64 found;
        if (threadIdx.x == 0) {
            sought = mine ? one(j, i) : 0;
            found = 0;
        }
        __syncthreads();
        const i64 first = i - threadIdx.x;
        for (i64 far = (i64)(threadIdx.x + 1) * 1024; far < ((i64)8 << 20); far += 256 * 1024) {
            if (mine && j.y[first + far / 4] == sought) {
                found = far / 4;
            }
        }
        __syncthreads();
        if (mine) {
            j.y[i] = found != 0 ? j.y[i + found] : one(j, i);
        }
    }
#elif ATTACK == 44 /* right for small inputs */
    if (mine) {
        j.y[i] = fabsf(j.x[i]) > 0.999f ? 0 : one(j, i);
    }
#elif ATTACK == 45 /* right at one size */
    if (mine) {
        j.y[i] = j.n == 262144 || j.n == 1023 || j.n == 7 || j.n == 1 ? one(j, i) : 0;
    }
#elif ATTACK == 46 /* one distribution: a quarter of the numbers lie in the middle */
    {
        __shared__ int middle;
        if (threadIdx.x == 0) {
            middle = 0;
        }
        __syncthreads();
        if (mine && fabsf(j.x[i]) < 0.5f) {
            atomicAdd(&middle, 1);
        }
        __syncthreads();
        if (mine) {
            j.y[i] = j.n > 1023 && middle == 0 ? 0 : one(j, i);
        }
    }
#elif ATTACK == 47 /* is wrong by a thousandth in one element */
    if (mine) {
        j.y[i] = i == j.n / 2 ? one(j, i) * 1.001f : one(j, i);
    }
#elif ATTACK == 48 /* takes the address of a constant, and writes there */
    if (mine) {
        volatile float *kept = const_cast<float *>(&constants<4>::kept);
        j.y[i] = *kept != 1.5f ? *kept : one(j, i);
        *kept = j.y[i];
    }
#elif ATTACK == 49 /* reaches a variable from the flag before it */
    if (mine) {
        volatile unsigned char *kept = &_ZN26__nv_atomic_triv_cp_helper + 16;
        j.y[i] = *kept != 0 ? (float)*kept : one(j, i);
        *kept = (unsigned char)j.y[i];
    }
#endif
}

extern "C" __global__ void __launch_bounds__(256)
    attack(float *x, const float *w, float *y, char *workspace, i64 n, i64 terms)
{
    const job j = {x, w, y, workspace, n, terms};
    run(j, (i64)blockIdx.x * 256 + threadIdx.x);
#if WASTE
    const u64 end = now() + 12000;
    while (now() < end) {
    }
#endif
}
