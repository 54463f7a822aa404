/*
 * host_ceilings.c: measures how fast this machine can be at best. A data sheet knows neither the
 * clock under load nor what a virtual machine is given.
 *
 *   peak    a dozen independent chains of multiply-adds on full registers: enough to fill two pipes
 *           with a latency of four cycles. For bf16 and for whole numbers of 8 and 16 bits also
 *           what the processor has for them, if that is faster: chains of dot products (AVX-512)
 *           or, with AMX, products of tiles with four independent sums
 *   copy    memcpy far beyond the caches of all threads;  triad  a[i] = b[i] + s c[i];  read  a sum
 *   cache   a vector copy within half of the level 2 cache;  l1  the same for the level 1 cache
 *
 * Each is the best of several runs over all threads of the task, about 0.3 s together. Peak and
 * caches, which every core has for itself, are timed by the threads' own processor time, so that
 * other load on the machine does not hide them; memory, which cores share, is timed by the clock.
 * The vector loops are compiled once per instruction set and chosen at run time. Sanitizer builds
 * do not instrument this file (CMakeLists.txt), because they would measure the sanitizer.
 */
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <string.h>
#include <sys/mman.h>

#include "backend/host/host.h"
#include "backend/host/host_pool.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/text.h"

#pragma GCC diagnostic ignored "-Wpsabi"

#define SPIN_NS 100000
#define REPEATS 5
/* Repeats of runs that take 1 ms and are timed by processor time (`rate`). */
#define OWN_REPEATS 16
/* One run of the peak is long enough for its start not to matter; clocks settle within the first
   runs, and the fastest counts. */
#define PEAK_ROUNDS 500000
#define PEAK_CHAINS 12
/* A run of the peak with tiles makes four products of tiles in place of so many rounds of
   multiply-adds, so that it does not take much longer. */
#define TILE_ROUNDS 20
/* Operations in four tile products, for 16-bit numbers and for bytes. */
#define TILE_FLOPS (4.0 * 2 * 16 * 16 * 32)
#define TILE_OPS   (2 * TILE_FLOPS)
/* Limits for each of three arrays, which are twice as large as the caches of all threads together.
   Many threads get longer arrays: THREAD_BYTES_MAX for each is twice what a core has of the largest
   last-level cache so far, 96 MiB for 8 cores, and takes a thread some milliseconds. */
#define ARRAY_BYTES_MIN  ((int64_t)32 << 20)
#define ARRAY_BYTES_MAX  ((int64_t)256 << 20)
#define THREAD_BYTES_MAX ((int64_t)24 << 20)
/* Each array takes at most 1/MEMORY_PART of the memory, or ARRAY_BYTES_MIN if that is more. */
#define MEMORY_PART 16
/* Parts of the threads are multiples of so many floats, so that no two share a cache line. */
#define PART_FLOATS 32
/* The environment variable that gives the length of these arrays instead, in MiB; a value is
   ignored unless it is a whole number of at least 1 and within ARRAY_BYTES_MAX. Tests of other
   things set it, because such arrays take a second of processor time per run if the last-level
   cache is large. Runs of the peak and of the caches are then shorter, too, by the factor SHORTER.
 */
#define ARRAY_VARIABLE "AUTOKERNEL_CEILING_MIB"
#define SHORTER        5
/* Bytes that a thread copies in one run of a cache ceiling. */
#define CACHE_BYTES ((size_t)16 << 20)

/* ---- the loops, once per instruction set ---------------------------------------------------- */

#if defined(__x86_64__)
#define IN_REGISTER "+v"
#elif defined(__aarch64__)
#define IN_REGISTER "+w"
#else
#define IN_REGISTER "+m"
#endif

/* The empty assembly keeps the compiler from merging equal chains and from computing loops
   beforehand. The result depends on every operation, so that none can be left out. */
#define DEFINE_PEAK(name, target, type, scalar)                                                    \
    target static double name(long rounds)                                                         \
    {                                                                                              \
        type m = (scalar)0.999 - (type){0}, s = (scalar)0.001 - (type){0};                         \
        type a0 = s, a1 = s, a2 = s, a3 = s, a4 = s, a5 = s;                                       \
        type a6 = s, a7 = s, a8 = s, a9 = s, a10 = s, a11 = s;                                     \
        for (long i = 0; i < rounds; i++) {                                                        \
            a0 = a0 * m + s, a1 = a1 * m + s, a2 = a2 * m + s, a3 = a3 * m + s;                    \
            a4 = a4 * m + s, a5 = a5 * m + s, a6 = a6 * m + s, a7 = a7 * m + s;                    \
            a8 = a8 * m + s, a9 = a9 * m + s, a10 = a10 * m + s, a11 = a11 * m + s;                \
            __asm__ volatile(""                                                                    \
                             : IN_REGISTER(a0), IN_REGISTER(a1), IN_REGISTER(a2), IN_REGISTER(a3), \
                               IN_REGISTER(a4), IN_REGISTER(a5));                                  \
            __asm__ volatile(""                                                                    \
                             : IN_REGISTER(a6), IN_REGISTER(a7), IN_REGISTER(a8), IN_REGISTER(a9), \
                               IN_REGISTER(a10), IN_REGISTER(a11));                                \
        }                                                                                          \
        type sum = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;                    \
        return (double)sum[0];                                                                     \
    }

#define DEFINE_STREAMS(level, target, type)                                                        \
    target static void copy_##level(float *restrict a, const float *restrict b, size_t count)      \
    {                                                                                              \
        enum { LANES = sizeof(type) / sizeof(float) };                                             \
        type x, y;                                                                                 \
        for (size_t i = 0; i + 2 * LANES <= count; i += 2 * LANES) {                               \
            memcpy(&x, b + i, sizeof x);                                                           \
            memcpy(&y, b + i + LANES, sizeof y);                                                   \
            __asm__ volatile(""                                                                    \
                             : IN_REGISTER(x),                                                     \
                               IN_REGISTER(y)); /* keeps the compiler from calling memcpy */       \
            memcpy(a + i, &x, sizeof x);                                                           \
            memcpy(a + i + LANES, &y, sizeof y);                                                   \
        }                                                                                          \
    }                                                                                              \
    target static void triad_##level(float *a, const float *b, const float *c, size_t count)       \
    {                                                                                              \
        enum { LANES = sizeof(type) / sizeof(float) };                                             \
        type s = 3.0f - (type){0}, x, y;                                                           \
        for (size_t i = 0; i + LANES <= count; i += LANES) {                                       \
            memcpy(&x, b + i, sizeof x);                                                           \
            memcpy(&y, c + i, sizeof y);                                                           \
            x += s * y;                                                                            \
            memcpy(a + i, &x, sizeof x);                                                           \
        }                                                                                          \
    }                                                                                              \
    target static double read_##level(const float *a, size_t count)                                \
    {                                                                                              \
        enum { LANES = sizeof(type) / sizeof(float) };                                             \
        type x, s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};                                            \
        for (size_t i = 0; i + 4 * LANES <= count; i += 4 * LANES) {                               \
            memcpy(&x, a + i, sizeof x);                                                           \
            s0 += x;                                                                               \
            memcpy(&x, a + i + LANES, sizeof x);                                                   \
            s1 += x;                                                                               \
            memcpy(&x, a + i + 2 * LANES, sizeof x);                                               \
            s2 += x;                                                                               \
            memcpy(&x, a + i + 3 * LANES, sizeof x);                                               \
            s3 += x;                                                                               \
        }                                                                                          \
        s0 += s1 + s2 + s3;                                                                        \
        return (double)s0[0];                                                                      \
    }

#define DEFINE_LEVEL(level, target, bits)                                                          \
    typedef float f32_##level __attribute__((vector_size(bits / 8)));                              \
    typedef double f64_##level __attribute__((vector_size(bits / 8)));                             \
    DEFINE_PEAK(peak_f32_##level, target, f32_##level, float)                                      \
    DEFINE_PEAK(peak_f64_##level, target, f64_##level, double)                                     \
    DEFINE_STREAMS(level, target, f32_##level)

typedef struct level {
    int bits;
    double (*peak_f32)(long rounds);
    double (*peak_f64)(long rounds);
    void (*copy)(float *restrict a, const float *restrict b, size_t count);
    void (*triad)(float *a, const float *b, const float *c, size_t count);
    double (*read)(const float *a, size_t count);
} level;

#define LEVEL(name, bits)                                                                          \
    {                                                                                              \
        bits, peak_f32_##name, peak_f64_##name, copy_##name, triad_##name, read_##name             \
    }

DEFINE_LEVEL(plain, , 128)
#if defined(__x86_64__)
DEFINE_LEVEL(avx2, __attribute__((target("avx2,fma"))), 256)
DEFINE_LEVEL(avx512, __attribute__((target("avx512f,avx512vl,avx512dq,fma"))), 512)
#endif

static level choose(void)
{
#if defined(__x86_64__)
    const int bytes = ak_host_vector_bytes();
    if (bytes > 16) {
        return bytes == 64 ? (level)LEVEL(avx512, 512) : (level)LEVEL(avx2, 256);
    }
#endif
    return (level)LEVEL(plain, 128);
}

/* What a thread runs as its peak, and the operations of each of its rounds. */
typedef struct peak {
    double (*run)(long rounds);
    double operations;
} peak;

#if defined(__x86_64__)
/* Chains of dot products: each adds two or four products of narrow numbers to sums of 32 bits. */
#define DOT(instruction, n) instruction " %6, %6, %" #n "\n\t"
#define SIX(instruction)                                                                           \
    DOT(instruction, 0)                                                                            \
    DOT(instruction, 1)                                                                            \
    DOT(instruction, 2) DOT(instruction, 3) DOT(instruction, 4) DOT(instruction, 5)
#define DEFINE_DOTS(name, instruction)                                                             \
    __attribute__((target("avx512f"))) static double name(long rounds)                             \
    {                                                                                              \
        f32_avx512 a0 = {0}, a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, x = a0;                  \
        f32_avx512 a6 = a0, a7 = a0, a8 = a0, a9 = a0, a10 = a0, a11 = a0;                         \
        for (long i = 0; i < rounds; i++) {                                                        \
            __asm__ volatile(SIX(instruction)                                                      \
                             : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5)          \
                             : "v"(x));                                                            \
            __asm__ volatile(SIX(instruction)                                                      \
                             : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11)        \
                             : "v"(x));                                                            \
        }                                                                                          \
        a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;                              \
        return (double)a0[0];                                                                      \
    }
DEFINE_DOTS(dots_i8, "vpdpbusd")
DEFINE_DOTS(dots_i16, "vpdpwssd")
DEFINE_DOTS(dots_bf16, "vdpbf16ps")

/* Multiplies tiles of zeros, of 16 rows of 64 bytes: four sums from two tiles of a and two of b. */
#define DEFINE_TILES(name, instruction)                                                            \
    static double name(long rounds)                                                                \
    {                                                                                              \
        __asm__ volatile("ldtilecfg %0" ::"m"(tile_shapes));                                       \
        for (long i = 0; i < rounds / TILE_ROUNDS; i++) {                                          \
            __asm__ volatile(instruction " %tmm6, %tmm4, %tmm0\n\t" instruction                    \
                                         " %tmm7, %tmm4, %tmm1\n\t" instruction                    \
                                         " %tmm6, %tmm5, %tmm2\n\t" instruction                    \
                                         " %tmm7, %tmm5, %tmm3");                                  \
        }                                                                                          \
        __asm__ volatile("tilerelease");                                                           \
        return 0.0;                                                                                \
    }
static const unsigned char tile_shapes[64] __attribute__((aligned(64))) = {
    [0] = 1, /* the palette; [16..]: bytes of a tile's row; [48..]: its rows */
    [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64, [28] = 64, [30] = 64,
    [48] = 16, [49] = 16, [50] = 16, [51] = 16, [52] = 16, [53] = 16, [54] = 16, [55] = 16};
DEFINE_TILES(tiles_bf16, "tdpbf16ps")
DEFINE_TILES(tiles_i8, "tdpbssd")

static bool has_byte_tiles(void)
{
    enum { AMX_INT8 = 1 << 25 }; /* a bit of register edx of CPUID's leaf 7 */
    unsigned eax, ebx, ecx, edx;
    return ak_host_tiles() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
           (edx & AMX_INT8) != 0;
}
#endif

/* Chooses what the processor has for products of a narrow type besides multiply-adds of f32; `run`
   is NULL if there is nothing. */
static peak choose_narrow(ak_dtype dtype)
{
#if defined(__x86_64__)
    const double sums = 512.0 / 32 * PEAK_CHAINS; /* of a round of dot products */
    const bool vnni = __builtin_cpu_supports("avx512vnni") != 0;
    switch (dtype) {
    case AK_DTYPE_BF16:
        return ak_host_tiles()
                   ? (peak){tiles_bf16, TILE_FLOPS / TILE_ROUNDS}
                   : (peak){__builtin_cpu_supports("avx512bf16") ? dots_bf16 : NULL, 2 * 2 * sums};
    case AK_DTYPE_U8:
    case AK_DTYPE_I8:
        return has_byte_tiles() ? (peak){tiles_i8, TILE_OPS / TILE_ROUNDS}
                                : (peak){vnni ? dots_i8 : NULL, 2 * 4 * sums};
    case AK_DTYPE_U16:
    case AK_DTYPE_I16:
        return (peak){vnni ? dots_i16 : NULL, 2 * 2 * sums};
    default:
        break;
    }
#else
    (void)dtype;
#endif
    return (peak){NULL, 0};
}

/* ---- running them by all threads ----------------------------------------------------------- */

typedef enum what { PEAK, COPY, TRIAD, READ, CACHE, L1, TOUCH } what;

typedef struct bench {
    what kind;
    level loops;
    peak peak; /* what PEAK runs */
    float *a, *b, *c;
    size_t part;                         /* number of floats of each array that a thread has */
    size_t in_cache;                     /* floats that a thread copies at a time in CACHE */
    size_t in_l1;                        /* floats that a thread copies at a time in L1 */
    int64_t own_ns[AK_HOST_THREADS_MAX]; /* processor time of each thread's fastest run */
    int shorter;                         /* divides the rounds of PEAK, CACHE, L1 */
    volatile double sink;
} bench;

static size_t cache_rounds(const bench *m, size_t count)
{
    return CACHE_BYTES / (size_t)m->shorter / (count * sizeof(float)) + 1;
}

static long peak_rounds(const bench *m)
{
    return PEAK_ROUNDS / m->shorter;
}

/* Copies `count` floats many times, the first ones of this thread's part. */
static void copy_again(bench *m, size_t begin, size_t count)
{
    for (size_t i = 0; i < cache_rounds(m, count); i++) {
        m->loops.copy(m->a + begin, m->b + begin, count);
        __asm__ volatile("" : : "r"(m->a) : "memory");
    }
}

static void run_part(bench *m, int thread)
{
    const size_t count = m->part, begin = count * (size_t)thread;
    double sink = 0.0;
    switch (m->kind) {
    case PEAK:
        sink = m->peak.run(peak_rounds(m));
        break;
    case COPY:
        memcpy(m->a + begin, m->b + begin, count * sizeof(float));
        break;
    case TRIAD:
        m->loops.triad(m->a + begin, m->b + begin, m->c + begin, count);
        break;
    case READ:
        sink = m->loops.read(m->a + begin, count);
        break;
    case CACHE:
        copy_again(m, begin, m->in_cache);
        break;
    case L1:
        copy_again(m, begin, m->in_l1);
        break;
    case TOUCH:
        memset(m->a + begin, 0, count * sizeof(float));
        memset(m->b + begin, 0, count * sizeof(float));
        memset(m->c + begin, 0, count * sizeof(float));
        break;
    }
    if (thread == 0) {
        m->sink = sink;
    }
}

static void part(void *context, int thread, int n)
{
    bench *m = context;
    (void)n; /* all threads take part */
    int64_t begin = ak_clock_thread_ns();
    run_part(m, thread);
    int64_t ns = ak_clock_thread_ns() - begin;
    if (m->own_ns[thread] == 0 || ns < m->own_ns[thread]) {
        m->own_ns[thread] = ns > 0 ? ns : 1;
    }
}

/* Returns the time of the fastest of several runs by the clock, in seconds. */
static double fastest(bench *m, what kind, ak_host_pool *pool)
{
    double best = 0.0;
    m->kind = kind;
    for (int i = 0; i < REPEATS; i++) {
        int64_t begin = ak_clock_ns();
        ak_host_pool_parallel(pool, ak_host_pool_threads(pool), part, m);
        double seconds = (double)(ak_clock_ns() - begin) / 1e9;
        best = i == 0 || seconds < best ? seconds : best;
    }
    return best > 0.0 ? best : 1e-9;
}

/* Adds up the runs per second of all threads, each by the processor time of its own fastest run,
   which other load cannot lengthen. This is for what cores do not share; `fastest` is for memory,
   which they share. */
static double rate(bench *m, what kind, ak_host_pool *pool)
{
    int threads = ak_host_pool_threads(pool);
    double runs = 0.0;
    m->kind = kind;
    memset(m->own_ns, 0, sizeof m->own_ns);
    for (int i = 0; i < OWN_REPEATS; i++) {
        ak_host_pool_parallel(pool, threads, part, m);
    }
    for (int i = 0; i < threads; i++) {
        runs += 1e9 / (double)m->own_ns[i];
    }
    return runs;
}

/* Returns the bytes that a thread reads and writes in one run of copy_again. */
static double copied(const bench *m, size_t count)
{
    return 2.0 * (double)(cache_rounds(m, count) * count) * sizeof(float);
}

/* Returns the number of floats, a multiple of PART_FLOATS, in each of two arrays that together fill
   half of a cache. */
static size_t half_of(int64_t cache_bytes)
{
    return (size_t)cache_bytes / 4 / sizeof(float) / PART_FLOATS * PART_FLOATS;
}

/* Returns the operations per second of all threads; 0 if there is nothing to run. */
static double measure_peak(bench *m, peak which, ak_host_pool *pool)
{
    m->peak = which;
    return which.run == NULL ? 0.0
                             : which.operations * (double)peak_rounds(m) * rate(m, PEAK, pool);
}

static void measure(ak_ceilings *out, bench *m, ak_dtype dtype, ak_host_pool *pool)
{
    int threads = ak_host_pool_threads(pool);
    double bytes = (double)m->part * threads * sizeof(float);
    /* Each thread first touches its own part, so that a NUMA machine puts it near the thread. */
    m->kind = TOUCH;
    ak_host_pool_parallel(pool, threads, part, m);
    const bool wide = dtype == AK_DTYPE_F64;
    const peak plain = {wide ? m->loops.peak_f64 : m->loops.peak_f32,
                        2.0 * PEAK_CHAINS * m->loops.bits / (wide ? 64 : 32)};
    const double operations = measure_peak(m, plain, pool);
    const double narrow = measure_peak(m, choose_narrow(dtype), pool);
    *out = (ak_ceilings){
        .peak_tflops = (narrow > operations ? narrow : operations) / 1e12,
        .copy_gbs = 2.0 * bytes / fastest(m, COPY, pool) / 1e9,
        .triad_gbs = 3.0 * bytes / fastest(m, TRIAD, pool) / 1e9,
        .read_gbs = bytes / fastest(m, READ, pool) / 1e9,
        .l1_gbs = copied(m, m->in_l1) * rate(m, L1, pool) / 1e9,
        .cache_gbs = copied(m, m->in_cache) * rate(m, CACHE, pool) / 1e9,
        .measured = true,
    };
}

size_t ak_host_ceiling_part(const ak_host_caches *caches, int threads, int64_t given_bytes)
{
    const int64_t last = caches->last_count < threads ? caches->last_count : threads;
    const int64_t shared = caches->bytes[3] * last, own = caches->bytes[2] * threads;
    const int64_t room = caches->memory_bytes / MEMORY_PART;
    const int64_t most = threads * THREAD_BYTES_MAX;
    int64_t bytes = 2 * (shared > own ? shared : own);
    int64_t limit = most > ARRAY_BYTES_MAX ? most : ARRAY_BYTES_MAX;
    limit = room > 0 && room < limit ? room : limit;
    bytes = bytes < limit ? bytes : limit;
    bytes = bytes > ARRAY_BYTES_MIN ? bytes : ARRAY_BYTES_MIN;
    bytes = given_bytes > 0 ? given_bytes : bytes;
    const size_t part = (size_t)bytes / (size_t)threads / sizeof(float) / PART_FLOATS * PART_FLOATS;
    const size_t least =
        half_of(caches->bytes[1] > caches->bytes[2] ? caches->bytes[1] : caches->bytes[2]);
    return part > least ? part : least;
}

/* Returns the bytes of each array that ARRAY_VARIABLE asks for; 0: none. */
static int64_t array_bytes(void)
{
    const char *text = ak_env(ARRAY_VARIABLE);
    int64_t mib;
    return text != NULL && ak_text_int(&mib, text) && mib >= 1 && mib <= ARRAY_BYTES_MAX >> 20
               ? mib << 20
               : 0;
}

ak_status ak_host_ceilings(ak_ceilings *out, ak_dtype dtype, int threads, ak_error *err)
{
    ak_host_pool *pool = NULL;
    ak_host_caches caches;
    ak_host_caches_find(&caches);
    const int64_t given = array_bytes();
    const size_t part = ak_host_ceiling_part(&caches, threads, given);
    /* bytes of each array, in whole pages */
    const size_t each = (part * (size_t)threads * sizeof(float) + 4095) / 4096 * 4096;
    AK_DO(ak_host_pool_open(&pool, threads, SPIN_NS, err));
    unsigned char *memory =
        mmap(NULL, 3 * each, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        ak_host_pool_close(pool);
        return ak_fail_memory(err);
    }
    (void)madvise(memory, 3 * each, MADV_HUGEPAGE);
    bench m = {.loops = choose(),
               .shorter = given > 0 ? SHORTER : 1,
               .a = (float *)(void *)memory,
               .b = (float *)(void *)(memory + each),
               .c = (float *)(void *)(memory + 2 * each),
               .part = part,
               .in_l1 = half_of(caches.bytes[1]),
               .in_cache = half_of(caches.bytes[2])};
    measure(out, &m, dtype, pool);
    (void)munmap(memory, 3 * each);
    ak_host_pool_close(pool);
    return AK_OK;
}
