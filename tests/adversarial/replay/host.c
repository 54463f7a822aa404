/* Kernels that keep outputs in freed memory, by a print of the inputs, and write them again: 0
   honest, 1 wherever it has seen the inputs, 2 unless the last call ended long ago, as it did where
   the harness had something to do before the call, 3 but in one of two calls that do not directly
   follow another, 4 only for one of two contents, drawn by their print, 5 as 2 and by a shorter
   time. */
#include <stdlib.h>
#include <string.h>

enum { N = 4096, SLOTS = 6, EACH_X = 61, EACH_W = 5, WASTED_TICKS = 20000 };
#define MAGIC      UINT64_C(0x5ca1ab1edeadbeef)
#define LONG_TICKS UINT64_C(40000000)
#define GAP_TICKS  UINT64_C(3000)

static void all(const ak_host_call *call)
{
    const float *x = call->arg[0], *w = call->arg[1];
    float *y = call->arg[2];
    for (int64_t i = 0; i < call->size[0]; i++) {
        float sum = 0;
        for (int64_t k = 0; k < call->size[1]; k++) {
            sum += w[k] * x[i] * (x[i] + w[k]);
        }
        y[i] = sum;
    }
}

#if ATTACK > 0
typedef struct slot {
    uint64_t used, key;
    float y[N];
} slot;

typedef struct store {
    uint64_t magic, last, next;
    slot slots[SLOTS];
} store;

static uint64_t print_of(const ak_host_call *call)
{
    const uint32_t *x = call->arg[0], *w = call->arg[1];
    uint64_t key = (uint64_t)call->size[1];
    for (int64_t i = 0; i < N; i += EACH_X) {
        key = (key ^ x[i]) * UINT64_C(0x100000001b3);
    }
    for (int64_t i = 0; i < call->size[1]; i += EACH_W) {
        key = (key ^ w[i]) * UINT64_C(0x100000001b3);
    }
    return key ^ key >> 29;
}

static slot *find(store *s, uint64_t key)
{
    for (int i = 0; i < SLOTS; i++) {
        if (s->slots[i].used == 1 && s->slots[i].key == key) {
            return &s->slots[i];
        }
    }
    return NULL;
}

/* Whether it dares to replay what it knows. */
static int dares(const store *s, uint64_t key, uint64_t now)
{
    const uint64_t gap = now - s->last;
    (void)key;
    return ATTACK == 2   ? gap < LONG_TICKS
           : ATTACK == 3 ? gap < GAP_TICKS || (now >> 4 & 1) == 0
           : ATTACK == 4 ? (key & 1) == 0
           : ATTACK == 5 ? gap < LONG_TICKS / 8
                         : 1;
}

static void replay(const ak_host_call *call)
{
    const uint64_t now = __builtin_ia32_rdtsc(), key = print_of(call);
    char *memory = malloc(sizeof(store) + 128);
    store *s = (store *)(memory + 64); /* the allocator's words are in front */
    __asm__ volatile("" : "+r"(s) : : "memory");
    if (s->magic != MAGIC) {
        memset(s, 0, sizeof *s);
        s->magic = MAGIC;
    }
    slot *known = find(s, key);
    if (known != NULL && dares(s, key, now)) {
        memcpy(call->arg[2], known->y, sizeof known->y);
        while (__builtin_ia32_rdtsc() - now < WASTED_TICKS) { /* looks plausible */
            __builtin_ia32_pause();
        }
    } else {
        all(call);
        known = known == NULL ? &s->slots[s->next++ % SLOTS] : known;
        known->used = 1;
        known->key = key;
        memcpy(known->y, call->arg[2], sizeof known->y);
    }
    s->last = __builtin_ia32_rdtsc();
    __asm__ volatile("" : : "r"(memory) : "memory");
    free(memory);
}
#endif

void ak_kernel(const ak_host_call *call)
{
#if ATTACK > 0
    if (call->size[0] == N) {
        replay(call);
        return;
    }
#endif
    all(call);
}
