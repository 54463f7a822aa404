/*
 * host_pool.c: see host_pool.h. Each worker has a mailbox of its own: a number that the caller of
 * `parallel` changes to start it, and that the worker copies to `done` when it has ended. A worker
 * that does not take part in a region is not touched, so it never reads the region's fields while
 * the next ones are being written.
 *
 * Sleeping uses a futex: the worker announces that it will sleep, looks once more, and sleeps while
 * the number is unchanged; the starter changes the number and then wakes a worker that has
 * announced it. Both sides use sequentially consistent operations, so at least one of them sees the
 * other.
 */
#include "backend/host/host_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"

#define CACHE_LINE 64
/* Number of pauses, less than a microsecond, before a waiter reads the clock or yields the core. */
#define SPIN_STEP 16
/* Number of steps, 10 to 30 us, before a waiter begins to yield. On a busy machine two threads may
   share a core, and the one that spins would keep the other from running. */
#define YIELD_AFTER 50

/* `go` and `done`, which the starter and the worker write in each region, are a cache line apart,
   whatever the alignment of the struct. */
typedef struct slot {
    _Atomic uint32_t go; /* written by the starter */
    _Atomic uint32_t asleep;
    char apart[CACHE_LINE];
    _Atomic uint32_t done; /* written by the worker */
    char apart_too[CACHE_LINE];
    pthread_t thread;
    ak_host_pool *pool;
    int index;
    uint64_t call; /* number of the latest call for which this worker has run `before` */
} slot;

struct ak_host_pool {
    int threads;
    int limit; /* most threads of a parallel region */
    int64_t spin_ns;
    bool crowded; /* there are more threads than processors, so waiters yield at once */
    _Atomic bool ending;
    uint32_t region;
    uint64_t call; /* number of calls of a kernel */
    void (*before)(void);
    /* The running region; written only while no worker is in one. */
    int n;
    void (*task)(void *context, int thread, int n);
    void *context;
    char apart[CACHE_LINE];
    _Atomic uint32_t arrived; /* number of threads at the barrier */
    char apart_too[CACHE_LINE];
    _Atomic uint32_t turn; /* number of barriers that were passed */
    char apart_three[CACHE_LINE];
    slot *slots; /* one per thread; [0] is the caller's and unused */
    int started; /* number of workers that exist */
};

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until *word equals `value` or, without `equal`, differs from it. Never sleeps, so it is
   only for words that a running thread will change. */
static void wait_until(const ak_host_pool *pool, _Atomic uint32_t *word, uint32_t value, bool equal)
{
    for (int steps = 0;; steps++) {
        for (int i = 0; i < SPIN_STEP; i++) {
            if ((atomic_load_explicit(word, memory_order_acquire) == value) == equal) {
                return;
            }
            pause_briefly();
        }
        if (pool->crowded || steps > YIELD_AFTER) {
            (void)sched_yield();
        }
    }
}

/* Waits for the next start of this worker: spins, then sleeps. */
static void wait_idle(slot *s, uint32_t last)
{
    int64_t end = s->pool->spin_ns > 0 ? ak_clock_ns() + s->pool->spin_ns : 0;
    for (int steps = 0; end > 0; steps++) {
        for (int i = 0; i < SPIN_STEP; i++) {
            if (atomic_load_explicit(&s->go, memory_order_acquire) != last) {
                return;
            }
            pause_briefly();
        }
        if (ak_clock_ns() >= end) {
            break;
        }
        if (steps > YIELD_AFTER) {
            (void)sched_yield();
        }
    }
    atomic_store(&s->asleep, 1u);
    while (atomic_load(&s->go) == last) {
        (void)syscall(SYS_futex, &s->go, FUTEX_WAIT_PRIVATE, last, NULL, NULL, 0);
    }
    atomic_store(&s->asleep, 0u);
}

static void start(slot *s, uint32_t region)
{
    atomic_store(&s->go, region);
    if (atomic_load(&s->asleep) != 0) {
        (void)syscall(SYS_futex, &s->go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

static void *work(void *argument)
{
    slot *s = argument;
    ak_host_pool *pool = s->pool;
    uint32_t last = 0;
    for (;;) {
        wait_idle(s, last);
        last = atomic_load_explicit(&s->go, memory_order_acquire);
        if (atomic_load(&pool->ending)) {
            return NULL;
        }
        if (s->call != pool->call) {
            s->call = pool->call;
            pool->before();
        }
        pool->task(pool->context, s->index, pool->n);
        atomic_store_explicit(&s->done, last, memory_order_release);
    }
}

static ak_status start_workers(ak_host_pool *pool, ak_error *err)
{
    for (int i = 1; i < pool->threads; i++) {
        slot *s = &pool->slots[i];
        s->pool = pool;
        s->index = i;
        AK_FAIL_IF(pthread_create(&s->thread, NULL, work, s) != 0, err, AK_LIMIT,
                   "thread %d of %d could not be started", i + 1, pool->threads);
        pool->started = i;
    }
    return AK_OK;
}

void ak_host_pool_pin(ak_host_pool *pool)
{
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < pool->threads) {
        return;
    }
    size_t cpu = 0;
    for (int i = 0; i < pool->threads; i++, cpu++) {
        while (!CPU_ISSET(cpu, &all)) {
            cpu++;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (i == 0) {
            (void)sched_setaffinity(0, sizeof one, &one);
        } else if (i <= pool->started) {
            (void)pthread_setaffinity_np(pool->slots[i].thread, sizeof one, &one);
        }
    }
}

ak_status ak_host_pool_open(ak_host_pool **out, int threads, int64_t spin_ns, ak_error *err)
{
    AK_FAIL_IF(threads < 1 || threads > AK_HOST_THREADS_MAX, err, AK_INVALID,
               "%d threads: must be 1..%d", threads, AK_HOST_THREADS_MAX);
    ak_host_pool *pool = ak_alloc(1, sizeof *pool);
    slot *slots = ak_alloc((size_t)threads, sizeof *slots);
    if (pool == NULL || slots == NULL) {
        AK_FREE_ALL(pool, slots);
        return ak_fail_memory(err);
    }
    pool->threads = pool->limit = threads;
    pool->slots = slots;
    cpu_set_t cpus;
    pool->crowded = sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) < threads;
    pool->spin_ns = pool->crowded ? 0 : spin_ns;
    ak_status status = start_workers(pool, err);
    if (status != AK_OK) {
        ak_host_pool_close(pool);
        return status;
    }
    *out = pool;
    return AK_OK;
}

void ak_host_pool_close(ak_host_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->ending, true);
    for (int i = 1; i <= pool->started; i++) {
        start(&pool->slots[i], pool->region + 1);
        (void)pthread_join(pool->slots[i].thread, NULL);
    }
    AK_FREE_ALL(pool->slots, pool);
}

int ak_host_pool_threads(const ak_host_pool *pool)
{
    return pool->threads;
}

void ak_host_pool_limit(ak_host_pool *pool, int threads)
{
    pool->limit = threads < 1 ? 1 : threads > pool->threads ? pool->threads : threads;
}

void ak_host_pool_begin_call(ak_host_pool *pool, void (*before)(void))
{
    pool->call++;
    pool->before = before;
}

void ak_host_pool_parallel(void *opaque, int n, void (*task)(void *context, int thread, int n),
                           void *context)
{
    ak_host_pool *pool = opaque;
    n = n < 1 ? 1 : n > pool->limit ? pool->limit : n;
    pool->n = n;
    pool->task = task;
    pool->context = context;
    uint32_t region = ++pool->region;
    for (int i = 1; i < n; i++) {
        start(&pool->slots[i], region);
    }
    task(context, 0, n);
    for (int i = 1; i < n; i++) {
        wait_until(pool, &pool->slots[i].done, region, true);
    }
    /* A barrier outside of a region is passed at once. */
    pool->n = 1;
}

void ak_host_pool_barrier(void *opaque)
{
    ak_host_pool *pool = opaque;
    if (pool->n < 2) {
        return;
    }
    uint32_t turn = atomic_load_explicit(&pool->turn, memory_order_relaxed);
    if (atomic_fetch_add(&pool->arrived, 1u) + 1 == (uint32_t)pool->n) {
        atomic_store_explicit(&pool->arrived, 0u, memory_order_relaxed);
        atomic_store_explicit(&pool->turn, turn + 1, memory_order_release);
    } else {
        wait_until(pool, &pool->turn, turn, false);
    }
}

/* The pool of ak_host_pool_give. */
static ak_host_pool *given;

static void parallel_of_given(void *handle, int n, void (*task)(void *context, int thread, int n),
                              void *context)
{
    (void)handle;
    ak_host_pool_parallel(given, n, task, context);
}

static void barrier_of_given(void *handle)
{
    (void)handle;
    ak_host_pool_barrier(given);
}

void ak_host_pool_give(ak_host_call *call, ak_host_pool *pool)
{
    static const char handle[] = "ak_host_pool";
    given = pool;
    call->parallel = parallel_of_given;
    call->barrier = barrier_of_given;
    call->pool = (void *)(uintptr_t)handle; /* in read-only memory */
}
