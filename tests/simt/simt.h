/*
 * simt.h: runs the CUDA templates on a CPU, to show that their indexing and their barriers are
 * right where there is no GPU.
 *
 * A template is compiled as C after this file. Every thread of a cluster is a coroutine
 * (simt_context); it runs until it must wait for others: at a barrier, a shuffle or a matrix
 * instruction. Who runs next is drawn at random (seeded), so an order that happens to work is not
 * the only one tried. What is checked on the way:
 *
 *   * all lanes of a mask meet at the same instruction; nobody leaves while others wait for it
 *   * asynchronous copies take effect when they are started or not before they are waited for, at
 *     random: a missing wait or a slot that is overwritten too early gives wrong numbers
 *   * shared memory begins as NaN
 *   * buffers end at pages that cannot be touched: simt_buffer
 *   * a kernel that starts early touches no memory before it has waited (simt.early)
 *
 * What it does not show: races between threads that run concurrently without a barrier on a memory
 * that is less ordered than this one, bank conflicts, anything about speed.
 *
 * Instructions are those of PTX ISA 8, in the form that the templates wrap them in.
 */
#ifndef AK_SIMT_H
#define AK_SIMT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#include <unistd.h>

#define SIMT   1
#define DEVICE static inline __attribute__((unused))
#define __device__
#define __forceinline__ static inline __attribute__((unused))
#define KERNEL          static void
#define UNROLL
#define LOOP

typedef struct simt_dim {
    unsigned x, y, z;
} simt_dim;

enum {
    SIMT_STACK = 256 * 1024,
    SIMT_SHARED_MAX = 240 * 1024,
    SIMT_THREADS_MAX = 4096, /* of a cluster */
    SIMT_CLUSTER_MAX = 16,
    SIMT_BARRIERS = 16,
    SIMT_ARRIVALS = 256, /* of a cluster */
    SIMT_COPIES_MAX = 256,
    SIMT_OPERANDS = 16
};

typedef struct simt_copy {
    void *to;
    const void *from;
    int bytes, zeros; /* then that many zeros */
    int group;
    bool done;
} simt_copy;

/* ---- contexts: what a coroutine goes on with ---- */

#if defined(__x86_64__)
typedef void *simt_context; /* the top of its stack, where its registers are */

/* gcc must not conclude from what it sees which registers stay as they are. */
#if defined(__clang__)
#define SIMT_OPAQUE noinline
#else
#define SIMT_OPAQUE noipa
#endif

/* Saves what a call must keep, goes over to the stack of `to`, and returns there. swapcontext would
   also save the mask of signals, by a system call each time, which took most of the time. */
__attribute__((naked, SIMT_OPAQUE, unused)) static void simt_switch(simt_context *from,
                                                                    const simt_context *to)
{
    __asm__("push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
            "mov %rsp, (%rdi)\n\tmov (%rsi), %rsp\n\t"
            "pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret");
}

/* The first switch pops six registers and returns to `entry`, which sees the stack as after a call;
   it never returns. */
static inline void simt_begin(simt_context *out, char *stack, void (*entry)(void))
{
    void **top = (void **)(void *)(stack + SIMT_STACK) - 8;
    memset(top, 0, 8 * sizeof *top);
    top[6] = (void *)(uintptr_t)entry;
    *out = top;
}
#else
typedef ucontext_t simt_context;

static inline void simt_switch(simt_context *from, const simt_context *to)
{
    if (swapcontext(from, to) != 0) {
        abort();
    }
}

static inline void simt_begin(simt_context *out, char *stack, void (*entry)(void))
{
    (void)getcontext(out);
    out->uc_stack.ss_sp = stack;
    out->uc_stack.ss_size = SIMT_STACK;
    out->uc_link = NULL;
    makecontext(out, entry, 0);
}
#endif

typedef struct simt_thread {
    simt_context context;
    char *stack;
    bool alive, waiting;
    bool launched; /* has waited for the kernel before */
    int index;     /* in the block */
    int block;     /* in the cluster */
    uint32_t in[SIMT_OPERANDS], out[SIMT_OPERANDS];
    simt_copy copy[SIMT_COPIES_MAX];
    int copies, groups;
} simt_thread;

/* A barrier in memory: how often it was completed, the bytes it expects (0: it has not been told)
   and has, and a copy that is under way to it. */
typedef struct simt_arrival {
    const void *at;
    unsigned completed;
    uint32_t expected, received;
    simt_copy copy;
} simt_arrival;

/* A place where threads wait for each other. */
typedef struct simt_meeting {
    const char *what;
    int arrived;
    uint32_t lanes;
    simt_thread *who[SIMT_THREADS_MAX];
} simt_meeting;

static struct simt {
    int threads, cluster, shared_bytes;
    simt_dim grid;
    uint64_t random;
    simt_context scheduler;
    simt_thread *thread; /* [cluster * threads] */
    simt_thread *self;
    unsigned first_block;
    unsigned char *shared[SIMT_CLUSTER_MAX];
    simt_meeting barrier[SIMT_CLUSTER_MAX][SIMT_BARRIERS], all, warp[SIMT_THREADS_MAX];
    simt_meeting whole_warp[SIMT_THREADS_MAX / 32];
    bool cluster_arrived[SIMT_THREADS_MAX];
    bool early; /* the kernel before may still be running */
    simt_arrival arrival[SIMT_ARRIVALS];
    int arrivals;
    void (*kernel)(void);
} simt;

static simt_dim threadIdx, blockIdx, gridDim;

#define SIMT_FAIL(...)                                                                             \
    do {                                                                                           \
        (void)fprintf(stderr,                                                                      \
                      "simt: block %u thread %d: ", simt.first_block + (unsigned)simt.self->block, \
                      simt.self->index);                                                           \
        (void)fprintf(stderr, __VA_ARGS__);                                                        \
        (void)fprintf(stderr, "\n");                                                               \
        exit(1);                                                                                   \
    } while (0)

/* SplitMix64 (Steele, Lea, Flood 2014). */
static inline uint32_t simt_random(void)
{
    uint64_t z = simt.random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

/* ---- scheduling ---- */

static inline void simt_wait(void)
{
    simt_thread *self = simt.self;
    self->waiting = true;
    simt_switch(&self->context, &simt.scheduler);
}

static inline void simt_release(simt_meeting *m)
{
    for (int i = 0; i < m->arrived; i++) {
        m->who[i]->waiting = false;
    }
    m->arrived = 0;
    m->lanes = 0;
    m->what = NULL;
}

/* Joins a meeting. True for the last of `wanted`: it does what is to be done and releases all. */
static inline bool simt_arrive(simt_meeting *m, const char *what, int wanted)
{
    if (m->what != NULL && strcmp(m->what, what) != 0) {
        SIMT_FAIL("is at %s while others are at %s", what, m->what);
    }
    m->what = what;
    m->who[m->arrived++] = simt.self;
    return m->arrived == wanted;
}

static inline void barrier(int id, int threads)
{
    simt_meeting *m = &simt.barrier[simt.self->block][id];
    if (id < 0 || id >= SIMT_BARRIERS || threads % 32 != 0 || threads > simt.threads) {
        SIMT_FAIL("no such barrier: %d of %d threads", id, threads);
    }
    if (simt_arrive(m, "a barrier", threads)) {
        simt_release(m);
    } else {
        simt_wait();
    }
}

static inline void block_sync(void)
{
    barrier(0, simt.threads);
}

static inline int simt_number(void)
{
    return simt.self->block * simt.threads + simt.self->index;
}

/* Starting a kernel before the one before it has ended. */
static inline void launch_next(void)
{
}

static inline void launch_wait(void)
{
    simt.self->launched = true;
}

static inline uint32_t sm_count(void)
{
    return 4;
}

static inline void prefetch_line(const void *at)
{
    (void)at;
}

/* Called where memory that is shared between kernels is accessed. */
static inline void simt_access(void)
{
    if (simt.early && !simt.self->launched) {
        SIMT_FAIL("touches memory while the kernel before may be running");
    }
}

/* Arriving does not wait, so waiting is a meeting of its own that ends when all have arrived. */
static inline void cluster_arrive(void)
{
    if (simt.cluster_arrived[simt_number()]) {
        SIMT_FAIL("arrives at the cluster's barrier twice");
    }
    simt.cluster_arrived[simt_number()] = true;
}

static inline void cluster_wait(void)
{
    if (!simt.cluster_arrived[simt_number()]) {
        SIMT_FAIL("waits for the cluster without having arrived");
    }
    if (simt_arrive(&simt.all, "the cluster's barrier", simt.cluster * simt.threads)) {
        memset(simt.cluster_arrived, 0, sizeof simt.cluster_arrived);
        simt_release(&simt.all);
    } else {
        simt_wait();
    }
}

static inline int cluster_rank(void)
{
    return simt.self->block;
}

/* All lanes of a mask bring their operands; the last to come computes every lane's result. */
static inline void simt_collective(const char *what, uint32_t lanes,
                                   void (*compute)(simt_thread *lane[32], uint32_t lanes, int how),
                                   int how)
{
    const int lane = simt.self->index % 32;
    const int warp = simt_number() / 32;
    simt_meeting *m = &simt.warp[warp * 32 + __builtin_ctz(lanes)];
    if ((lanes >> lane & 1) == 0) {
        SIMT_FAIL("%s without itself", what);
    }
    m->lanes |= 1u << lane;
    if (simt_arrive(m, what, __builtin_popcount(lanes))) {
        simt_thread *all[32] = {0};
        if (m->lanes != lanes) {
            SIMT_FAIL("%s of lanes %08x met %08x", what, lanes, m->lanes);
        }
        for (int i = 0; i < m->arrived; i++) {
            all[m->who[i]->index % 32] = m->who[i];
        }
        compute(all, lanes, how);
        simt_release(m);
    } else {
        simt_wait();
    }
}

static void simt_entry(void)
{
    simt.kernel();
    for (int i = 0; i < simt.self->copies; i++) {
        if (!simt.self->copy[i].done) {
            SIMT_FAIL("leaves with a copy under way");
        }
    }
    simt.self->alive = false;
    simt_switch(&simt.self->context, &simt.scheduler);
}

static inline void simt_run_cluster(unsigned first_block)
{
    const int count = simt.cluster * simt.threads;
    simt.first_block = first_block;
    simt.arrivals = 0;
    for (int b = 0; b < simt.cluster; b++) {
        memset(simt.shared[b], 0xff, SIMT_SHARED_MAX);
    }
    for (int i = 0; i < count; i++) {
        simt_thread *t = &simt.thread[i];
        t->alive = true;
        t->waiting = t->launched = false;
        t->copies = t->groups = 0;
        t->index = i % simt.threads;
        t->block = i / simt.threads;
        simt_begin(&t->context, t->stack, simt_entry);
    }
    /* One warp is held back for a while, then another: those that run ahead of it show what lacks
       a barrier. */
    int held = 0, until = 0;
    for (int left = count, sweep = 0; left > 0; sweep++) {
        const int start = (int)(simt_random() % (unsigned)count);
        bool moved = false;
        if (sweep >= until) {
            held = (int)(simt_random() % (unsigned)((count + 31) / 32));
            until = sweep + (int)(simt_random() % 64);
        }
        for (int i = 0; i < count; i++) {
            const int n = (start + i) % count;
            simt_thread *t = &simt.thread[n];
            if (!t->alive || t->waiting || n / 32 == held) {
                continue;
            }
            simt.self = t;
            threadIdx.x = (unsigned)t->index;
            blockIdx.x = first_block + (unsigned)t->block;
            gridDim = simt.grid;
            simt_switch(&simt.scheduler, &t->context);
            moved = true;
            left -= !t->alive;
        }
        if (!moved && held < 0) {
            for (int i = 0; i < count; i++) {
                simt.self = &simt.thread[i];
                if (simt.self->alive) {
                    SIMT_FAIL("waits for ever: %d of %d threads are left", left, count);
                }
            }
        }
        if (!moved) {
            held = -1; /* nobody can do without it */
            until = sweep + 2;
        }
    }
    for (int i = 0; i < simt.arrivals; i++) {
        if (!simt.arrival[i].copy.done || simt.arrival[i].expected || simt.arrival[i].received) {
            (void)fprintf(stderr, "simt: block %u leaves before all has come\n", first_block);
            exit(1);
        }
    }
}

/* Runs `kernel`, a function that calls the template's with its arguments, for a whole grid. */
static inline void simt_launch(void (*kernel)(void), unsigned blocks, int threads, int cluster,
                               int shared_bytes, uint64_t seed)
{
    const int count = threads * cluster;
    if (shared_bytes > SIMT_SHARED_MAX || count > SIMT_THREADS_MAX || blocks % (unsigned)cluster) {
        (void)fprintf(stderr, "simt: impossible launch\n");
        exit(1);
    }
    simt.threads = threads;
    simt.cluster = cluster;
    simt.shared_bytes = shared_bytes;
    simt.grid = (simt_dim){blocks, 1, 1};
    simt.random = seed;
    simt.kernel = kernel;
    simt.thread = calloc((size_t)count, sizeof *simt.thread);
    char *stacks = mmap(NULL, (size_t)count * SIMT_STACK, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (simt.thread == NULL || stacks == MAP_FAILED) {
        (void)fprintf(stderr, "simt: no memory\n");
        exit(1);
    }
    for (int i = 0; i < count; i++) {
        simt.thread[i].stack = stacks + (size_t)i * SIMT_STACK;
    }
    for (int b = 0; b < cluster; b++) {
        /* Ends at the bytes asked for, give or take the alignment to 1024. */
        simt.shared[b] = aligned_alloc(1024, SIMT_SHARED_MAX);
    }
    for (unsigned b = 0; b < blocks; b += (unsigned)cluster) {
        simt_run_cluster(b);
    }
    for (int b = 0; b < cluster; b++) {
        for (int i = shared_bytes; i < SIMT_SHARED_MAX; i++) {
            if (simt.shared[b][i] != 0xff) {
                (void)fprintf(stderr, "simt: writes beyond its %d bytes of shared memory\n",
                              shared_bytes);
                exit(1);
            }
        }
        free(simt.shared[b]);
    }
    (void)munmap(stacks, (size_t)count * SIMT_STACK);
    free(simt.thread);
}

/* Memory of `bytes` that ends where no page is, `offset` (a multiple of the element) further back
   or not: an access beyond its end, or of a page before it, is a fault. */
static inline void *simt_buffer(size_t bytes, size_t align, size_t offset)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t size = (bytes + align + offset + page - 1) / page * page;
    char *all = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + page, size, PROT_READ | PROT_WRITE) != 0) {
        (void)fprintf(stderr, "simt: no memory\n");
        exit(1);
    }
    /* The last byte is as near to the end as the alignment allows. */
    size_t start = (size - bytes) / align * align;
    start += start + offset + bytes <= size ? offset : offset - align;
    return all + page + start;
}

/* ---- instructions ---- */

static inline unsigned char *dynamic_shared(void)
{
    return simt.shared[simt.self->block];
}

static inline uint32_t __float_as_uint(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static inline float __uint_as_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

static inline void simt_shuffle_all(simt_thread *lane[32], uint32_t lanes, int distance)
{
    for (int i = 0; i < 32; i++) {
        if (lanes >> i & 1) {
            const int from = i ^ distance;
            /* PTX leaves the value of a lane outside the mask open. */
            lane[i]->out[0] = lanes >> from & 1 ? lane[from]->in[0] : 0x7fc00000u;
        }
    }
}

static inline float shuffle_xor(uint32_t lanes, float x, int distance)
{
    simt.self->in[0] = __float_as_uint(x);
    simt_collective("a shuffle", lanes, simt_shuffle_all, distance);
    return __uint_as_float(simt.self->out[0]);
}

static inline void simt_shift_all(simt_thread *lane[32], uint32_t lanes, int distance)
{
    (void)lanes;
    for (int i = 0; i < 32; i++) {
        lane[i]->out[0] = lane[i < distance ? i : i - distance]->in[0];
    }
}

static inline int shuffle_up(int x, int distance)
{
    simt.self->in[0] = (uint32_t)x;
    simt_collective("a shuffle upwards", 0xffffffffu, simt_shift_all, distance);
    return (int)simt.self->out[0];
}

static inline void simt_copy_now(simt_copy *c)
{
    if (!c->done) {
        memcpy(c->to, c->from, (size_t)c->bytes);
        memset((char *)c->to + c->bytes, 0, (size_t)c->zeros);
        c->done = true;
    }
}

/* cp.async of `bytes` and then `zeros` bytes of zeros; both addresses aligned to their sum. */
static inline void simt_copy_start(void *to, const void *from, int bytes, int zeros)
{
    simt_thread *t = simt.self;
    const uintptr_t width = (uintptr_t)(bytes + zeros);
    if (t->copies == SIMT_COPIES_MAX) {
        int left = 0;
        for (int i = 0; i < t->copies; i++) {
            if (!t->copy[i].done) {
                t->copy[left++] = t->copy[i];
            }
        }
        t->copies = left;
        if (left == SIMT_COPIES_MAX) {
            SIMT_FAIL("too many copies under way");
        }
    }
    simt_access();
    if ((uintptr_t)to % width || (uintptr_t)from % width ||
        (width != 4 && width != 8 && width != 16)) {
        SIMT_FAIL("copies %d bytes from %p to %p", (int)width, from, to);
    }
    simt_copy *c = &t->copy[t->copies++];
    *c = (simt_copy){to, from, bytes, zeros, t->groups, false};
    if (simt_random() & 1) {
        simt_copy_now(c);
    }
}

static inline void copy_commit(void)
{
    simt.self->groups++;
}

/* Waits until at most `pending` of the latest groups are unfinished. */
static inline void simt_copy_wait_groups(int pending)
{
    simt_thread *t = simt.self;
    int left = 0;
    for (int i = 0; i < t->copies; i++) {
        if (t->copy[i].group < t->groups - pending) {
            simt_copy_now(&t->copy[i]);
        } else {
            t->copy[left++] = t->copy[i];
        }
    }
    t->copies = left;
}

static inline void copy_wait(void)
{
    copy_commit();
    simt_copy_wait_groups(0);
}

#define NOT_HOISTED(x) (void)(x) /* a matter of registers */

/* Of its own: some lanes may already wait here while others still shuffle among themselves. */
static inline void warp_sync(void)
{
    simt_meeting *m = &simt.whole_warp[simt_number() / 32];
    if (simt_arrive(m, "a warp's barrier", 32)) {
        simt_release(m);
    } else {
        simt_wait();
    }
}

/* ---- the copy engine ---- */

static inline simt_arrival *simt_find_arrival(const void *at)
{
    for (int i = 0; i < simt.arrivals; i++) {
        if (simt.arrival[i].at == at) {
            return &simt.arrival[i];
        }
    }
    SIMT_FAIL("no barrier in memory at %p", at);
}

static inline void arrival_begin(void *at)
{
    if (simt.arrivals == SIMT_ARRIVALS || (uintptr_t)at % 8 != 0) {
        SIMT_FAIL("cannot have a barrier at %p", at);
    }
    memset(at, 0, 8);
    simt.arrival[simt.arrivals++] = (simt_arrival){.at = at, .copy.done = true};
}

static inline void simt_receive(simt_arrival *a, uint32_t bytes)
{
    a->received += bytes;
    if (a->expected > 0 && a->received == a->expected) {
        a->expected = a->received = 0;
        a->completed++;
    }
}

static inline void arrival_expect(void *at, uint32_t bytes)
{
    simt_arrival *a = simt_find_arrival(at);
    if (a->expected > 0) {
        SIMT_FAIL("expects more before what it expected has come");
    }
    a->expected = bytes;
    simt_receive(a, 0);
}

static inline void simt_arrive_now(simt_arrival *a)
{
    if (!a->copy.done) {
        simt_copy_now(&a->copy);
        simt_receive(a, (uint32_t)a->copy.bytes);
    }
}

static inline void copy_bulk(void *to, const void *from, uint32_t bytes, void *at)
{
    simt_arrival *a = simt_find_arrival(at);
    simt_access();
    if ((uintptr_t)to % 16 || (uintptr_t)from % 16 || bytes % 16 || bytes == 0) {
        SIMT_FAIL("copies %u bytes from %p to %p", bytes, from, to);
    }
    arrival_expect(at, bytes);
    a->copy = (simt_copy){to, from, (int)bytes, 0, 0, false};
    if (simt_random() & 1) {
        simt_arrive_now(a);
    }
}

static inline void store_remote(float *to, int rank, void *at, int count, float x, float y, float z)
{
    const ptrdiff_t place = (unsigned char *)to - dynamic_shared();
    const ptrdiff_t counter = (unsigned char *)at - dynamic_shared();
    const float all[4] = {x, y, z, z};
    if (rank < 0 || rank >= simt.cluster || place < 0 || place + 4 * count > simt.shared_bytes ||
        place % (4 * count) != 0) {
        SIMT_FAIL("stores to block %d at %td", rank, place);
    }
    memcpy(simt.shared[rank] + place, all, (size_t)count * 4);
    simt_receive(simt_find_arrival(simt.shared[rank] + counter), (uint32_t)count * 4);
}

static inline void arrival_wait(void *at, uint32_t parity)
{
    simt_arrival *a = simt_find_arrival(at);
    for (int turns = 0; (a->completed & 1u) == parity; turns++) {
        if (turns > 100000) {
            SIMT_FAIL("waits for ever for a copy");
        }
        if (simt_random() % 4 == 0) {
            simt_arrive_now(a);
        } else {
            simt_switch(&simt.self->context, &simt.scheduler); /* and is asked again */
        }
    }
}

/* ---- arithmetic ---- */

static inline float divide_fast(float x, float y)
{
    return x / y;
}

static inline float reciprocal(float x)
{
    return 1 / x;
}

static inline float reciprocal_root(float x)
{
    return 1 / sqrtf(x);
}

static inline float exp2_fast(float x)
{
    return exp2f(x);
}

static inline float tanh_fast(float x)
{
    return tanhf(x);
}

static inline float reciprocal_fast(float x)
{
    return 1.0f / x;
}

static inline uint32_t atomicAdd(uint32_t *at, uint32_t x)
{
    const uint32_t before = *at;
    *at += x;
    return before;
}

static inline void __threadfence(void)
{
}

/* ---- formats ---- */

static inline float simt_from_half(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const int exponent = h >> 10 & 31;
    const uint32_t mantissa = h & 1023u;
    if (exponent == 31) {
        return __uint_as_float(sign | 0x7f800000u | mantissa << 13);
    }
    if (exponent == 0) {
        const float x = ldexpf((float)mantissa, -24);
        return sign ? -x : x;
    }
    return __uint_as_float(sign | (uint32_t)(exponent + 112) << 23 | mantissa << 13);
}

static inline float half_to_float(uint16_t h)
{
    return simt_from_half(h);
}

static inline uint16_t simt_to_half(float f)
{
    const uint32_t u = __float_as_uint(f);
    const uint16_t sign = (uint16_t)(u >> 16 & 0x8000u);
    const float a = fabsf(f);
    if (f != f) {
        return 0x7fff;
    }
    if (a >= 65520.0f) {
        return sign | 0x7c00u;
    }
    if (a < 6.103515625e-5f) { /* rintf rounds to nearest even */
        return (uint16_t)(sign | (uint16_t)rintf(ldexpf(a, 24)));
    }
    const uint32_t m = __float_as_uint(a);
    return (uint16_t)(sign | (((m + 0xfffu + (m >> 13 & 1)) >> 13) - (112u << 10)));
}

static inline uint16_t simt_to_bfloat(float f)
{
    const uint32_t u = __float_as_uint(f);
    return f != f ? 0x7fff : (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static inline float simt_from_16(uint16_t x)
{
#if dtype_is_f16
    return simt_from_half(x);
#else
    return __uint_as_float((uint32_t)x << 16);
#endif
}

static inline uint16_t simt_to_16(float x)
{
#if dtype_is_f16
    return simt_to_half(x);
#else
    return simt_to_bfloat(x);
#endif
}

static inline float widen_16(uint16_t x)
{
    return simt_from_16(x);
}

static inline uint32_t max_pair(uint32_t x, uint32_t y)
{
    const float low = fmaxf(simt_from_16((uint16_t)x), simt_from_16((uint16_t)y));
    const float high = fmaxf(simt_from_16((uint16_t)(x >> 16)), simt_from_16((uint16_t)(y >> 16)));
    return (uint32_t)simt_to_16(low) | (uint32_t)simt_to_16(high) << 16;
}

/* Operands of products have the type of the arrays, or f16 where K and V are e4m3. */
static inline float simt_from_operand(uint16_t x)
{
#if kv_is_e4m3
    return simt_from_half(x);
#else
    return simt_from_16(x);
#endif
}

static inline uint32_t pack(float low, float high)
{
#if kv_is_e4m3
    return (uint32_t)simt_to_half(low) | (uint32_t)simt_to_half(high) << 16;
#else
    return (uint32_t)simt_to_16(low) | (uint32_t)simt_to_16(high) << 16;
#endif
}

static inline uint32_t pack_out(float low, float high)
{
    return (uint32_t)simt_to_16(low) | (uint32_t)simt_to_16(high) << 16;
}

/* e4m3 has the exponent of an f16 less 8, in 4 bits, and no infinity. */
static inline float simt_from_e4m3(uint8_t x)
{
    const uint16_t sign = (uint16_t)((x & 0x80u) << 8);
    return (x & 0x7f) == 0x7f
               ? NAN
               : 256 * simt_from_half((uint16_t)(sign | (uint16_t)((x & 0x7fu) << 7)));
}

static inline uint32_t widen_bytes(uint32_t bytes)
{
    return (uint32_t)simt_to_half(simt_from_e4m3((uint8_t)bytes)) |
           (uint32_t)simt_to_half(simt_from_e4m3((uint8_t)(bytes >> 8))) << 16;
}

static inline uint32_t exchange_bytes(uint32_t x)
{
    return (x & 0xff0000ffu) | (x >> 8 & 0xff00u) | (x << 8 & 0xff0000u);
}

/* ---- matrices ---- */

/* Addresses in shared memory are places in the block's own. */
static inline uint32_t shared_base(void)
{
    return 0;
}

static inline unsigned char *simt_at(uint32_t address, uint32_t bytes)
{
    if (address % bytes != 0 || address + bytes > (uint32_t)simt.shared_bytes) {
        SIMT_FAIL("%u bytes at %u of %d bytes of shared memory", bytes, address, simt.shared_bytes);
    }
    return dynamic_shared() + address;
}

static inline void copy_async_16(uint32_t to, const void *from, int width, int bytes)
{
    if (bytes < 0 || bytes > width) {
        SIMT_FAIL("copies %d of %d bytes", bytes, width);
    }
    simt_copy_start(simt_at(to, (uint32_t)width), from, bytes, width - bytes);
}

static inline void store_shared(uint32_t to, const uint32_t v[4])
{
    memcpy(simt_at(to, 16), v, 16);
}

static inline void load_shared(uint32_t v[4], uint32_t from)
{
    memcpy(v, simt_at(from, 16), 16);
}

static inline void store_shared_one(uint32_t to, uint32_t v)
{
    memcpy(simt_at(to, 4), &v, 4);
}

static inline uint32_t load_shared_one(uint32_t from)
{
    uint32_t v;
    memcpy(&v, simt_at(from, 4), 4);
    return v;
}

static long simt_conflicts; /* times that two rows of a matrix were in the same banks */

static inline void simt_load_matrices(simt_thread *lane[32], uint32_t lanes, int transposed)
{
    (void)lanes;
    for (int i = 0; i < 4; i++) {
        uint16_t m[8][8];
        uint32_t banks = 0;
        for (int row = 0; row < 8; row++) {
            const uint32_t at = lane[i * 8 + row]->in[0];
            memcpy(m[row], simt_at(at, 16), 16);
            simt_conflicts += banks >> (at / 16 % 8) & 1;
            banks |= 1u << (at / 16 % 8);
        }
        for (int t = 0; t < 32; t++) {
            const int r = t / 4, c = t % 4 * 2;
            const uint16_t low = transposed ? m[c][r] : m[r][c];
            const uint16_t high = transposed ? m[c + 1][r] : m[r][c + 1];
            lane[t]->out[i] = (uint32_t)low | (uint32_t)high << 16;
        }
    }
}

static inline void load_matrix(uint32_t v[4], uint32_t row, int transposed)
{
    simt.self->in[0] = row;
    simt_collective(transposed ? "ldmatrix.trans" : "ldmatrix", 0xffffffffu, simt_load_matrices,
                    transposed);
    memcpy(v, simt.self->out, 16);
}

/* A matrix of 8 x 8 that lies among the lanes as load_matrix leaves it. */
static inline void simt_transpose(simt_thread *lane[32], uint32_t lanes, int how)
{
    uint16_t m[8][8];
    (void)lanes;
    (void)how;
    for (int t = 0; t < 32; t++) {
        m[t / 4][t % 4 * 2] = (uint16_t)lane[t]->in[0];
        m[t / 4][t % 4 * 2 + 1] = (uint16_t)(lane[t]->in[0] >> 16);
    }
    for (int t = 0; t < 32; t++) {
        const int r = t / 4, c = t % 4 * 2;
        lane[t]->out[0] = (uint32_t)m[c][r] | (uint32_t)m[c + 1][r] << 16;
    }
}

static inline uint32_t transpose(uint32_t v)
{
    simt.self->in[0] = v;
    simt_collective("movmatrix", 0xffffffffu, simt_transpose, 0);
    return simt.self->out[0];
}

/* m16n8k16: lane t has of A rows t / 4 and 8 more, columns 2 (t % 4) and the next, and 8 more; of B
   the same columns as rows, and column t / 4; of D rows as of A, columns 2 (t % 4) and the next.
   Operands: 0-3 A, 4-5 B, 6-9 D. */
static inline void simt_multiply(simt_thread *lane[32], uint32_t lanes, int how)
{
    float a[16][16], b[16][8];
    (void)lanes;
    (void)how;
    for (int t = 0; t < 32; t++) {
        for (int i = 0; i < 6; i++) {
            for (int h = 0; h < 2; h++) {
                const float x = simt_from_operand((uint16_t)(lane[t]->in[i] >> (16 * h)));
                const int k = t % 4 * 2 + h;
                if (i < 4) {
                    a[t / 4 + i % 2 * 8][k + i / 2 * 8] = x;
                } else {
                    b[k + (i - 4) * 8][t / 4] = x;
                }
            }
        }
    }
    for (int t = 0; t < 32; t++) {
        for (int i = 0; i < 4; i++) {
            float sum = __uint_as_float(lane[t]->in[6 + i]);
            for (int k = 0; k < 16; k++) {
                sum += a[t / 4 + i / 2 * 8][k] * b[k][t % 4 * 2 + i % 2];
            }
            lane[t]->out[i] = __float_as_uint(sum);
        }
    }
}

static inline void mma(float d[4], const uint32_t a[4], const uint32_t b[2])
{
    memcpy(simt.self->in, a, 16);
    memcpy(simt.self->in + 4, b, 8);
    memcpy(simt.self->in + 6, d, 16);
    simt_collective("mma", 0xffffffffu, simt_multiply, 0);
    memcpy(d, simt.self->out, 16);
}

static inline void simt_vector(void *to, const void *from, size_t bytes, const void *address)
{
    if ((uintptr_t)address % bytes != 0) {
        SIMT_FAIL("%zu bytes at %p", bytes, address);
    }
    memcpy(to, from, bytes);
}

static inline void load_parts(float v[4], const float *from)
{
    simt_vector(v, from, 16, from);
}

static inline void store_parts(float *to, const float v[4])
{
    simt_vector(to, v, 16, to);
}

/* Words that blocks hand over without a barrier. */
static inline void load_four(uint32_t v[4], const uint32_t *from)
{
    simt_vector(v, from, 16, from);
}

static inline void load_couple(uint32_t v[2], const uint32_t *from)
{
    simt_vector(v, from, 8, from);
}

static inline void store_four(uint32_t *to, const uint32_t v[4])
{
    simt_vector(to, v, 16, to);
}

static inline void store_couple(uint32_t *to, const uint32_t v[2])
{
    simt_vector(to, v, 8, to);
}

/* Others go on, and it is asked again. Blocks that wait for each other are run as one cluster. */
static inline void wait_a_little(void)
{
    static unsigned long turns;
    if (turns++ > 10000000) {
        SIMT_FAIL("waits for ever for another block");
    }
    simt_switch(&simt.self->context, &simt.scheduler);
}

static inline void store_pair(void *to, uint32_t low, uint32_t high)
{
    const uint32_t both[2] = {low, high};
    simt_vector(to, both, 8, to);
}

static inline uint32_t load_two(const uint16_t *from)
{
    uint32_t v;
    simt_access();
    simt_vector(&v, from, 4, from);
    return v;
}

static inline void store_line(void *to, const uint32_t v[4])
{
    simt_vector(to, v, 16, to);
}

static inline void store_two(void *to, uint32_t v)
{
    simt_vector(to, &v, 4, to);
}

#endif
