/*
 * mixed.h: how the other contents of an input are made of the own ones (contents.h). Each element
 * comes from one of two rotations; a bit of a hash of a seed and its place says from which. If the
 * two rotations differ, no row of the own contents is left, and only a kernel that reads all
 * elements of a row knows what the row holds.
 *
 * The compilers of CUDA and OpenCL read this file, too: for them it is the kernel that mixes.
 */
#ifndef AK_BACKEND_LAUNCH_MIXED_H
#define AK_BACKEND_LAUNCH_MIXED_H

#if defined(__OPENCL_VERSION__)
typedef uint ak_mixed_half;
typedef ulong ak_mixed_word;
#define AK_MIXED_FUNCTION static
#else
typedef unsigned ak_mixed_half;
typedef unsigned long long ak_mixed_word;
#if defined(__CUDACC__)
#define AK_MIXED_FUNCTION static __device__
#else
#define AK_MIXED_FUNCTION static inline
#endif
#endif

/* Places are counted in elements from the first one on, those between the rows included. */
typedef struct ak_mixed {
    ak_mixed_word span; /* places up to the end of the last row; 0: the contents are the own ones */
    ak_mixed_word wrap; /* the same, with the gap after the last row */
    ak_mixed_word turn[2]; /* the two rotations; equal: each row moves as a whole */
    ak_mixed_word seed;
} ak_mixed;

AK_MIXED_FUNCTION ak_mixed_half ak_mixed_hash(ak_mixed_half x)
{
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

/* Returns which of the two rotations a place gets its element from. */
AK_MIXED_FUNCTION int ak_mixed_which(ak_mixed m, ak_mixed_word place)
{
    ak_mixed_half x = ak_mixed_hash((ak_mixed_half)place ^ (ak_mixed_half)m.seed);
    x = ak_mixed_hash(x + (ak_mixed_half)(m.seed >> 32) +
                      (ak_mixed_half)(place >> 32) * 0x9e3779b1u);
    return (int)(x & 1);
}

/* Returns the place in the own contents from which a place gets its element. */
AK_MIXED_FUNCTION ak_mixed_word ak_mixed_from(ak_mixed m, ak_mixed_word place)
{
    const ak_mixed_word from = place + (ak_mixed_which(m, place) ? m.turn[1] : m.turn[0]);
    return from < m.wrap ? from : from - m.wrap;
}

/* A place between rows keeps its element if the new one would come from behind the last row. */
#define AK_MIXED_LOOP(first, step)                                                                 \
    for (ak_mixed_word i = (first); i < m.span; i += (step)) {                                     \
        const ak_mixed_word from = ak_mixed_from(m, i);                                            \
        if (from < m.span) {                                                                       \
            other[i] = own[from];                                                                  \
        }                                                                                          \
    }

#if defined(__OPENCL_VERSION__)
#define AK_MIXED_KERNEL(bytes, type)                                                               \
    kernel void ak_mix_##bytes(global type *other, global const type *own, const ak_mixed m)       \
    {                                                                                              \
        AK_MIXED_LOOP(get_global_id(0), get_global_size(0))                                        \
    }
AK_MIXED_KERNEL(1, uchar)
AK_MIXED_KERNEL(2, ushort)
AK_MIXED_KERNEL(4, uint)
AK_MIXED_KERNEL(8, ulong)
#elif defined(__CUDACC__)
#define AK_MIXED_KERNEL(bytes, type)                                                               \
    extern "C" __global__ void __launch_bounds__(256)                                              \
        ak_mix_##bytes(type *other, const type *own, const ak_mixed m)                             \
    {                                                                                              \
        const ak_mixed_word step = (ak_mixed_word)gridDim.x * 256;                                 \
        AK_MIXED_LOOP((ak_mixed_word)blockIdx.x * 256 + threadIdx.x, step)                         \
    }
AK_MIXED_KERNEL(1, unsigned char)
AK_MIXED_KERNEL(2, unsigned short)
AK_MIXED_KERNEL(4, unsigned)
AK_MIXED_KERNEL(8, unsigned long long)
#endif

#endif
