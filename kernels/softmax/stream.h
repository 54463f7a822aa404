/* stream.h: stores that bypass the caches, for kernels that write more than fits them. It needs
   vector.h, and STREAM, which says whether the kernel uses such stores. */
#ifndef AK_STREAM_H
#define AK_STREAM_H

#if defined(__clang__)
#define HAVE_STREAM 1
#elif defined(__AVX512F__) && VL == 16
#define HAVE_STREAM    1
#define STREAM_BUILTIN __builtin_ia32_movntps512
#elif defined(__AVX__) && VL == 8
#define HAVE_STREAM    1
#define STREAM_BUILTIN __builtin_ia32_movntps256
#elif defined(__SSE__) && VL == 4
#define HAVE_STREAM    1
#define STREAM_BUILTIN __builtin_ia32_movntps
#else
#define HAVE_STREAM 0
#endif

/* Stores a vector past the caches; `to` is aligned to a vector. */
AK_INLINE void vec_stream(float *to, vec value)
{
#if defined(__clang__)
    __builtin_nontemporal_store(value, (vec *)to);
#elif HAVE_STREAM
    STREAM_BUILTIN(to, value);
#else
    vec_store(to, value);
#endif
}

/* Orders the streaming stores of x86, which other threads may otherwise see late. */
AK_INLINE void stream_end(void)
{
#if STREAM && (defined(__x86_64__) || defined(__i386__))
    __builtin_ia32_sfence();
#endif
}

/* Stores the first `count` lanes of a vector. */
AK_INLINE void store_rest(float *to, int64_t count, vec value)
{
    for (int j = 0; j < VL; ++j) {
        if (j < count) {
            to[j] = value[j];
        }
    }
}

#endif
