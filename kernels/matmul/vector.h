/*
 * vector.h: the vector type of the host kernels.
 *
 * It uses GNU vector extensions instead of intrinsics, so one source serves SSE, AVX2, AVX-512
 * and NEON with gcc and clang, and the vector length is a parameter of the space. VL is the
 * number of floats in a vector. A space never offers more than the machine has, because the
 * compiler would then split every operation and spill.
 */
#ifndef AK_VECTOR_H
#define AK_VECTOR_H

#ifndef VL
#define VL 4
#endif

/* The type of values in registers, and the type of the same values in an array of float. The second
   is aligned like a float only, so that the compiler emits loads and stores that work at any
   address. */
typedef float vec __attribute__((vector_size(VL * 4)));
typedef float vec_in_memory __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef int32_t ivec __attribute__((vector_size(VL * 4)));

#define AK_INLINE static inline __attribute__((always_inline, unused))

#define AK_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define AK_UNROLL(times) AK_PRAGMA(clang loop unroll_count(times))
#define AK_UNROLL_FULLY AK_PRAGMA(clang loop unroll(full))
#else
#define AK_UNROLL(times) AK_PRAGMA(GCC unroll times)
#define AK_UNROLL_FULLY AK_PRAGMA(GCC unroll 64)
#endif

AK_INLINE vec vec_load(const float *from)
{
    return *(const vec_in_memory *)from;
}

AK_INLINE void vec_store(float *to, vec value)
{
    *(vec_in_memory *)to = value;
}

/* Returns x in every lane. Subtracting +0 changes no value, -0 and NaN included, so the compilers
   fold it into a plain broadcast. */
AK_INLINE vec vec_splat(float x)
{
    return x - (vec){0};
}

/* Loads the partial last vector of a row: `count` elements of the array, then `fill`. */
AK_INLINE vec vec_load_part(const float *from, int64_t count, float fill)
{
    float lanes[VL];
    for (int j = 0; j < VL; ++j) {
        lanes[j] = j < count ? from[j] : fill;
    }
    return vec_load(lanes);
}

/* Returns yes where a lane of mask is -1, as a true comparison gives it, and no where it is 0. */
AK_INLINE vec vec_select(ivec mask, vec yes, vec no)
{
    return (vec)((mask & (ivec)yes) | (~mask & (ivec)no));
}

/* Returns the larger (smaller) of each pair, b if one is NaN. clang turns the selection into the
   single x86 instruction; gcc needs the builtin. */
AK_INLINE vec vec_max(vec a, vec b)
{
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__) && VL == 16
    return __builtin_ia32_maxps512_mask(a, b, a, -1, 4);
#elif defined(__GNUC__) && !defined(__clang__) && defined(__AVX__) && VL == 8
    return __builtin_ia32_maxps256(a, b);
#elif defined(__GNUC__) && !defined(__clang__) && defined(__SSE__) && VL == 4
    return __builtin_ia32_maxps(a, b);
#else
    return vec_select(a > b, a, b);
#endif
}

AK_INLINE vec vec_min(vec a, vec b)
{
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__) && VL == 16
    return __builtin_ia32_minps512_mask(a, b, a, -1, 4);
#elif defined(__GNUC__) && !defined(__clang__) && defined(__AVX__) && VL == 8
    return __builtin_ia32_minps256(a, b);
#elif defined(__GNUC__) && !defined(__clang__) && defined(__SSE__) && VL == 4
    return __builtin_ia32_minps(a, b);
#else
    return vec_select(a < b, a, b);
#endif
}

/* Folds a vector in halves: lane i is combined with lane i + half. Only lane 0 of the result
   counts. */
#if VL == 16
#define AK_FOLDS(fold)                                                                             \
    fold(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7)                                     \
    fold(4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11)                                     \
    fold(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)                                     \
    fold(1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14)
#elif VL == 8
#define AK_FOLDS(fold)                                                                             \
    fold(4, 5, 6, 7, 0, 1, 2, 3) fold(2, 3, 0, 1, 6, 7, 4, 5) fold(1, 0, 3, 2, 5, 4, 7, 6)
#elif VL == 4
#define AK_FOLDS(fold) fold(2, 3, 0, 1) fold(1, 0, 3, 2)
#else
#error "VL must be 4, 8 or 16"
#endif

AK_INLINE float vec_sum(vec x)
{
#define AK_FOLD_SUM(...) x += __builtin_shufflevector(x, x, __VA_ARGS__);
    AK_FOLDS(AK_FOLD_SUM)
#undef AK_FOLD_SUM
    return x[0];
}

AK_INLINE float vec_largest(vec x)
{
#define AK_FOLD_MAX(...) x = vec_max(x, __builtin_shufflevector(x, x, __VA_ARGS__));
    AK_FOLDS(AK_FOLD_MAX)
#undef AK_FOLD_MAX
    return x[0];
}

#endif
