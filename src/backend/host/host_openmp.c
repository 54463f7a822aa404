/*
 * host_openmp.c: see host_openmp.h. The interface is that of libgomp, as gcc calls it since
 * version 4.9 (gcc/omp-builtins.def and libgomp/libgomp_g.h in gcc's sources name it).
 *
 * Each thread counts the loops, sections and single regions ("shares") that it has met in a
 * parallel region. All threads meet them in the same order, so that the same count means the same
 * share. A thread may be some shares ahead of another after `nowait`; SHARES of them can be open at
 * once.
 */
#include "backend/host/host_openmp.h"

#include <stdatomic.h>
#include <string.h>

#include "base/text.h"

#define SHARES 64
#define EXPORT __attribute__((visibility("default")))

typedef struct share {
    uint64_t number; /* of the share that this place holds; 0: none yet */
    int left;        /* threads that have not finished with the share */
    long next, end, step, chunk;
    bool guided;
    int threads;
} share;

typedef struct team {
    atomic_flag lock;
    share shares[SHARES];
} team;

/* One region of several threads runs at a time, because a region within another has one thread. */
static team the_team = {.lock = ATOMIC_FLAG_INIT};
/* There are two locks because an atomic statement may stand in a critical region. */
static atomic_flag critical = ATOMIC_FLAG_INIT, atomic = ATOMIC_FLAG_INIT;
static ak_host_pool *the_pool;
static int the_threads = 1;

static _Thread_local int my_number, my_team = 1; /* number of the thread, and size of its team */
static _Thread_local bool inside;
static _Thread_local uint64_t my_share; /* shares that this thread has met */
static _Thread_local share alone;       /* the share of a team of one */

void ak_openmp_use(ak_host_pool *pool, int threads)
{
    the_pool = pool;
    the_threads = threads < 1 ? 1 : threads;
}

static void lock(atomic_flag *flag)
{
    while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire)) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }
}

static void unlock(atomic_flag *flag)
{
    atomic_flag_clear_explicit(flag, memory_order_release);
}

void ak_openmp_forget(void)
{
    my_number = 0;
    my_team = 1;
    my_share = 0;
    alone = (share){0};
    inside = false;
}

void ak_openmp_forget_team(void)
{
    /* A region clears the shares when it begins. */
    unlock(&the_team.lock);
    unlock(&critical);
    unlock(&atomic);
}

/* ---- regions --------------------------------------------------------------------------------- */

typedef struct region {
    void (*body)(void *data);
    void *data;
} region;

static void enter(void *context, int thread, int n)
{
    const region *r = context;
    my_number = thread;
    my_team = n;
    my_share = 0;
    inside = true;
    r->body(r->data);
    inside = false;
    my_number = 0;
    my_team = 1;
}

EXPORT void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    (void)flags;
    if (inside) { /* a team of one, within the thread that meets it */
        int number = my_number, of = my_team;
        uint64_t met = my_share;
        share kept = alone;
        my_number = 0;
        my_team = 1;
        body(data);
        my_number = number;
        my_team = of;
        my_share = met;
        alone = kept;
        return;
    }
    int n = threads == 0 || (int)threads > the_threads ? the_threads : (int)threads;
    region r = {body, data};
    memset(the_team.shares, 0, sizeof the_team.shares);
    ak_host_pool_parallel(the_pool, n, enter, &r);
}

EXPORT void GOMP_barrier(void)
{
    if (inside && my_team > 1) {
        ak_host_pool_barrier(the_pool);
    }
}

EXPORT int omp_get_thread_num(void)
{
    return my_number;
}

EXPORT int omp_get_num_threads(void)
{
    return my_team;
}

EXPORT int omp_get_max_threads(void)
{
    return inside ? 1 : the_threads;
}

EXPORT int omp_get_num_procs(void)
{
    return the_threads;
}

EXPORT int omp_in_parallel(void)
{
    return inside && my_team > 1;
}

/* ---- critical, atomic ------------------------------------------------------------------------ */

EXPORT void GOMP_critical_start(void)
{
    lock(&critical);
}

EXPORT void GOMP_critical_end(void)
{
    unlock(&critical);
}

EXPORT void GOMP_atomic_start(void)
{
    lock(&atomic);
}

EXPORT void GOMP_atomic_end(void)
{
    unlock(&atomic);
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* Returns the share that this thread meets next, which the first thread to meet it sets up. Waits
   while other threads still use its place. */
static share *meet(const share *asked)
{
    if (my_team == 1) {
        alone = *asked;
        return &alone;
    }
    uint64_t number = ++my_share;
    share *s = &the_team.shares[number % SHARES];
    for (;;) {
        lock(&the_team.lock);
        if (s->number == number) {
            break;
        }
        if (s->left == 0) {
            *s = *asked;
            s->number = number;
            s->left = my_team;
            break;
        }
        unlock(&the_team.lock); /* others still work at the share that had this place */
    }
    unlock(&the_team.lock);
    return s;
}

static share *current(void)
{
    return my_team == 1 ? &alone : &the_team.shares[my_share % SHARES];
}

static void leave(void)
{
    if (my_team > 1) {
        share *s = current();
        lock(&the_team.lock);
        s->left--;
        unlock(&the_team.lock);
    }
}

/* Takes the next chunk of a share; returns false if nothing is left. */
static bool take(share *s, long *begin, long *end)
{
    lock(&the_team.lock);
    bool more = s->step > 0 ? s->next < s->end : s->next > s->end;
    if (more) {
        long count = (s->end - s->next) / s->step + ((s->end - s->next) % s->step != 0);
        long take_now =
            s->guided && count / (2 * s->threads) > s->chunk ? count / (2 * s->threads) : s->chunk;
        take_now = take_now > count ? count : take_now < 1 ? 1 : take_now;
        *begin = s->next;
        *end = take_now == count ? s->end : s->next + take_now * s->step;
        s->next = *end;
    }
    unlock(&the_team.lock);
    return more;
}

static share loop_of(long begin, long end, long step, long chunk, bool guided)
{
    return (share){.next = begin,
                   .end = end,
                   .step = step == 0 ? 1 : step,
                   .chunk = chunk < 1 ? 1 : chunk,
                   .guided = guided,
                   .threads = my_team};
}

EXPORT void GOMP_loop_end_nowait(void)
{
    leave();
}

EXPORT void GOMP_loop_end(void)
{
    leave();
    GOMP_barrier();
}

/* The schedules for which gcc calls libgomp; `static` and `auto` need no calls. X(kind, guided):
   those with a chunk. X(kind): those without one, which are dynamic here. */
#define CHUNKED(X)                                                                                 \
    X(dynamic, false)                                                                              \
    X(guided, true)                                                                                \
    X(nonmonotonic_dynamic, false)                                                                 \
    X(nonmonotonic_guided, true)
#define WITHOUT_CHUNK(X)                                                                           \
    X(runtime)                                                                                     \
    X(nonmonotonic_runtime)                                                                        \
    X(maybe_nonmonotonic_runtime)

#define LOOP(kind, guided)                                                                         \
    EXPORT bool GOMP_loop_##kind##_start(long begin, long end, long step, long chunk, long *from,  \
                                         long *to)                                                 \
    {                                                                                              \
        const share asked = loop_of(begin, end, step, chunk, guided);                              \
        return take(meet(&asked), from, to);                                                       \
    }                                                                                              \
    EXPORT bool GOMP_loop_##kind##_next(long *from, long *to)                                      \
    {                                                                                              \
        return take(current(), from, to);                                                          \
    }
CHUNKED(LOOP)

#define LOOP_WITHOUT_CHUNK(kind)                                                                   \
    EXPORT bool GOMP_loop_##kind##_start(long begin, long end, long step, long *from, long *to)    \
    {                                                                                              \
        const share asked = loop_of(begin, end, step, 1, false);                                   \
        return take(meet(&asked), from, to);                                                       \
    }                                                                                              \
    EXPORT bool GOMP_loop_##kind##_next(long *from, long *to)                                      \
    {                                                                                              \
        return take(current(), from, to);                                                          \
    }
WITHOUT_CHUNK(LOOP_WITHOUT_CHUNK)

/* A parallel region whose only content is a loop or sections. gcc leaves out the call of `start`,
   so enter_combined opens the share in each thread before the body runs. */
typedef struct combined {
    void (*body)(void *data);
    void *data;
    share asked;
} combined;

static void enter_combined(void *context)
{
    const combined *c = context;
    share asked = c->asked;
    asked.threads = my_team;
    (void)meet(&asked);
    c->body(c->data);
}

static void parallel_share(void (*body)(void *), void *data, unsigned threads, const share *asked,
                           unsigned flags)
{
    combined c = {body, data, *asked};
    GOMP_parallel(enter_combined, &c, threads, flags);
}

#define PARALLEL_LOOP(kind, is_guided)                                                             \
    EXPORT void GOMP_parallel_loop_##kind(void (*body)(void *), void *data, unsigned threads,      \
                                          long begin, long end, long step, long chunk,             \
                                          unsigned flags)                                          \
    {                                                                                              \
        const share asked = loop_of(begin, end, step, chunk, is_guided);                           \
        parallel_share(body, data, threads, &asked, flags);                                        \
    }
CHUNKED(PARALLEL_LOOP)

#define PARALLEL_LOOP_WITHOUT_CHUNK(kind)                                                          \
    EXPORT void GOMP_parallel_loop_##kind(void (*body)(void *), void *data, unsigned threads,      \
                                          long begin, long end, long step, unsigned flags)         \
    {                                                                                              \
        const share asked = loop_of(begin, end, step, 1, false);                                   \
        parallel_share(body, data, threads, &asked, flags);                                        \
    }
WITHOUT_CHUNK(PARALLEL_LOOP_WITHOUT_CHUNK)

EXPORT unsigned GOMP_sections_next(void)
{
    long from, to;
    return take(current(), &from, &to) ? (unsigned)from : 0;
}

EXPORT unsigned GOMP_sections_start(unsigned count)
{
    const share asked = loop_of(1, (long)count + 1, 1, 1, false);
    (void)meet(&asked);
    return GOMP_sections_next();
}

EXPORT void GOMP_parallel_sections(void (*body)(void *), void *data, unsigned threads,
                                   unsigned count, unsigned flags)
{
    const share asked = loop_of(1, (long)count + 1, 1, 1, false);
    parallel_share(body, data, threads, &asked, flags);
}

EXPORT void GOMP_sections_end_nowait(void)
{
    leave();
}

EXPORT void GOMP_sections_end(void)
{
    GOMP_loop_end();
}

EXPORT bool GOMP_single_start(void)
{
    const share asked = loop_of(0, 1, 1, 1, false);
    long from, to;
    bool mine = take(meet(&asked), &from, &to);
    leave();
    return mine;
}

/* ---- what the runner has --------------------------------------------------------------------- */

#define NAMES(kind)                                                                                \
    "GOMP_loop_" #kind "_start", "GOMP_loop_" #kind "_next", "GOMP_parallel_loop_" #kind,
#define NAMES_CHUNKED(kind, guided) NAMES(kind)
static const char *const names[] = {
    CHUNKED(NAMES_CHUNKED) WITHOUT_CHUNK(NAMES) "GOMP_parallel",
    "GOMP_barrier",
    "GOMP_critical_start",
    "GOMP_critical_end",
    "GOMP_atomic_start",
    "GOMP_atomic_end",
    "GOMP_loop_end",
    "GOMP_loop_end_nowait",
    "GOMP_parallel_sections",
    "GOMP_sections_start",
    "GOMP_sections_next",
    "GOMP_sections_end",
    "GOMP_sections_end_nowait",
    "GOMP_single_start",
    "omp_get_thread_num",
    "omp_get_num_threads",
    "omp_get_max_threads",
    "omp_get_num_procs",
    "omp_in_parallel",
};

bool ak_openmp_has(const char *name)
{
    return AK_HAS_TEXT(names, AK_COUNT(names), name);
}
