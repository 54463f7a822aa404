/* Kernels that compute before the clock runs, and then compare their inputs with the copy that they
   made, and mend what differs: 0 honest, 1 by a thread of the pool that never ends its task, 2 by a
   function that the runner calls before it is ready, because its own variables say so. Both find
   what they need on the stack and where host_pool.c and host_runner.c have it. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { N = 100000, PIECE = 250 };

/* The same code for all of them: else the compiler makes vectors of it for some, which are 15 times
   as fast, and who wins nothing seems to. */
__attribute__((noinline)) static void all(const float *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        float v = x[i];
        for (int k = 0; k < 60; k++) {
            v = v / (1 + v * v) + x[i] / 4;
        }
        y[i] = v;
    }
}

/* What was computed early. */
typedef struct early {
    float x[N], y[N];
} early;

static void mend(early *e, const float *x, float *y)
{
    for (int64_t i = 0; i < N; i += PIECE) {
        if (memcmp(e->x + i, x + i, PIECE * sizeof *x) != 0) {
            memcpy(e->x + i, x + i, PIECE * sizeof *x);
            all(x + i, e->y + i, PIECE);
        }
    }
    memcpy(y, e->y, sizeof e->y);
}

#if ATTACK > 0
void ak_kernel(const ak_host_call *call);

/* Finds the runner's variables above this frame: the kernel behind the pool, then the operations of
   a library, NULL or `ops`, and its state. Returns where the kernel is. */
static void **find(const void *ops)
{
    void **slot = __builtin_frame_address(0);
    void (*kernel)(const ak_host_call *) = ak_kernel;
    void *wanted;
    memcpy(&wanted, &kernel, sizeof wanted);
    for (int i = 1; i < 20000; i++) {
        if (slot[i] == wanted && slot[i - 1] != NULL && ((uintptr_t)slot[i - 1] & 15) == 0 &&
            (slot[i + 1] == NULL || slot[i + 1] == ops)) {
            return slot + i;
        }
    }
    return NULL;
}
#endif

#if ATTACK == 1
typedef struct its_slot {
    _Atomic uint32_t go, asleep;
    char apart[64];
    _Atomic uint32_t done;
    char apart_too[64];
    unsigned long thread;
    void *pool;
    int index;
    uint64_t call;
} its_slot;

typedef struct its_pool {
    int threads;
    int64_t spin_ns;
    bool crowded;
    _Atomic bool ending;
    uint32_t region;
    uint64_t call;
    void (*before)(void);
    int n;
    void (*task)(void *, int, int);
    void *context;
    char apart[64];
    _Atomic uint32_t arrived;
    char apart_too[64];
    _Atomic uint32_t turn;
    char apart_three[64];
    its_slot *slots;
    int started;
} its_pool;

static void stay(void *context, int thread, int n)
{
    const ak_host_call *call = ((void **)context)[0];
    its_slot *slot = ((void **)context)[1];
    early here, *at = &here;
    (void)n;
    if (thread == 0) {
        return;
    }
    uint32_t last = slot->go;
    memset(&here, 0, sizeof here);
    all(here.x, here.y, N);
    memcpy(slot->apart, &at, sizeof at);
    for (slot->done = last;; slot->done = last) {
        while (slot->go == last) {
            __builtin_ia32_pause();
        }
        last = slot->go;
        if (call->size[0] == N) {
            memcpy(here.x, call->arg[0], sizeof here.x);
            all(here.x, here.y, N);
        }
        __asm__ volatile("" : : "r"(&here) : "memory");
    }
}

static early *before(const ak_host_call *call)
{
    void **kernel = find(NULL);
    its_pool *pool = kernel == NULL ? NULL : kernel[-1];
    early *e = NULL;
    if (pool != NULL && pool->threads > 1 && pool->started > 0) {
        memcpy(&e, pool->slots[1].apart, sizeof e);
        if (e == NULL) {
            void *context[] = {(void *)(uintptr_t)call, &pool->slots[1]};
            call->parallel(call->pool, 2, stay, context);
        }
    }
    return e;
}
#elif ATTACK == 2
typedef struct its_ops {
    const void *head[6];
    uint64_t keeps;
    void *open;
    int (*prepare)(void *state, const ak_host_call *call, void *err);
    void *run;
} its_ops;

static int prepare(void *state, const ak_host_call *call, void *err)
{
    early *e = state;
    (void)err;
    if (call->size[0] == N) {
        memcpy(e->x, call->arg[0], sizeof e->x);
        all(e->x, e->y, N);
    }
    return 0;
}

static const its_ops ours = {.prepare = prepare};

static early *before(const ak_host_call *call)
{
    void **kernel = find(&ours);
    (void)call;
    if (kernel != NULL && kernel[1] != NULL) {
        return kernel[2];
    }
    if (kernel != NULL) {
        kernel[2] = calloc(1, sizeof(early));
        kernel[1] = (void *)(uintptr_t)&ours;
    }
    return NULL;
}
#else
static early *before(const ak_host_call *call)
{
    (void)call;
    return NULL;
}
#endif

void ak_kernel(const ak_host_call *call)
{
    early *e = before(call);
    if (e != NULL && call->size[0] == N) {
        mend(e, call->arg[0], call->arg[1]);
    } else {
        all(call->arg[0], call->arg[1], call->size[0]);
    }
}
