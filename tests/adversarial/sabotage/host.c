/* Kernels that do all of their work and damage what other candidates will run on and be blamed for.
   They know the addresses from earlier calls, which left them deep in the stack.

   1 damages the inputs of the set that is not in use, and mends them before it runs on that set.

   2 damages the red zone in front of X, and 3 that behind Y, of the sets that are not in use, once:
   in the third call on contents that it has not seen since those of the timed batches. In the first
   two of these it is slow, so that the harness makes calls on seen contents to see why.

   4 puts four other words into X that have the same hash by XXH3 with its usual key, and corrects
   its own results for them. */
#include <string.h>

#define DEEP       (200 * 1024)
#define BIT        0x40000000u /* of an exponent; inputs are between -1 and 1 */
#define MAGIC      UINT64_C(0x5ca1ab1edead)
#define SLOW_TICKS UINT64_C(5000000)

#if ATTACK == 1
static void damage(uint32_t *x, uint32_t *y)
{
    uint32_t *volatile *notes = (uint32_t *volatile *)((char *)__builtin_frame_address(0) - DEEP);
    const int own = notes[0] == NULL || notes[0] == x ? 0 : 1;
    uint32_t *other = notes[1 - own];
    (void)y;
    notes[own] = x;
    x[0] &= ~BIT;
    if (other != NULL) {
        other[0] |= BIT;
    }
}
#elif ATTACK == 4
/* The keys of lane 2 in stripes 1 to 4. */
static const uint64_t keys[4] = {UINT64_C(0x1f67b3b7a4a44072), UINT64_C(0x78e5c0cc4ee679cb),
                                 UINT64_C(0x2172ffcc7dd05a82), UINT64_C(0x8e2443f7744608b8)};
enum { SLOTS = 16, LANE = 4, STRIPE = 16 }; /* in floats */

typedef struct notes {
    uint64_t magic, next;
    struct {
        uint64_t was[4], put[4];
    } slot[SLOTS];
} notes;

static uint64_t product(uint64_t word, uint64_t key)
{
    word ^= key;
    return (word & UINT32_MAX) * (word >> 32);
}

/* Gives other words with the same sum and the same sum of products. */
static void others(uint64_t put[4], const uint64_t was[4])
{
    const uint64_t least = UINT32_MAX;
    uint64_t sum = 0, products = 0;
    for (int i = 0; i < 4; i++) {
        sum += was[i];
        products += product(was[i], keys[i]);
    }
    const uint64_t q = products / least < least ? products / least : least;
    const uint64_t r = products - q * least;
    put[0] = (q << 32 | least) ^ keys[0];
    put[1] = (r << 32 | 1) ^ keys[1];
    const uint64_t rest = sum - put[0] - put[1];
    put[2] = (keys[2] & ~least) | ((rest - (keys[3] & least)) & least);
    put[3] = rest - put[2];
}

static void damage(float *x, const float *w, float *y, int64_t terms)
{
    notes *volatile where = (notes *)((char *)__builtin_frame_address(0) - DEEP);
    notes *n = where;
    uint64_t now[4];
    int s = 0;
    if (n->magic != MAGIC) {
        memset(n, 0, sizeof *n);
        n->magic = MAGIC;
    }
    for (int i = 0; i < 4; i++) {
        memcpy(&now[i], x + STRIPE * (i + 1) + LANE, 8);
    }
    while (s < SLOTS && memcmp(n->slot[s].put, now, sizeof now) != 0) {
        s++;
    }
    if (s == SLOTS) {
        s = (int)(n->next++ % SLOTS);
        memcpy(n->slot[s].was, now, sizeof now);
        others(n->slot[s].put, now);
    }
    for (int i = 0; i < 4; i++) {
        const int at = STRIPE * (i + 1) + LANE;
        float two[2];
        memcpy(x + at, &n->slot[s].put[i], 8);
        memcpy(two, &n->slot[s].was[i], 8);
        for (int e = 0; e < 2; e++) {
            float sum = 0;
            for (int64_t k = 0; k < terms; k++) {
                sum += w[k] * two[e] * (two[e] + w[k]);
            }
            y[at + e] = sum;
        }
    }
    __asm__ volatile("" : : "r"(n) : "memory");
}
#elif ATTACK > 1
enum { PLACES = 4, CONTENTS = 8, TIMED = 2, SLOW = 2, WORD = 7, END = 4096 };

typedef struct notes {
    uint64_t magic;
    uint32_t *x[PLACES], *y[PLACES], seen[CONTENTS];
    int contents, places;
} notes;

/* What it does in its first call on other contents. */
static void at_first_sight(notes *n, const uint32_t *x)
{
    const uint64_t begin = __builtin_ia32_rdtsc();
    if (n->contents > TIMED && n->contents <= TIMED + SLOW) {
        while (__builtin_ia32_rdtsc() - begin < SLOW_TICKS) {
            __builtin_ia32_pause();
        }
    }
    for (int i = 0; n->contents == TIMED + SLOW + 1 && i < n->places; i++) {
        if (n->x[i] != x) {
            *(ATTACK == 2 ? n->x[i] - 1 : n->y[i] + END) ^= 0x5555;
        }
    }
}

static void damage(uint32_t *x, uint32_t *y)
{
    notes *volatile where = (notes *)((char *)__builtin_frame_address(0) - DEEP);
    notes *n = where;
    int known = 0, there = 0;
    if (n->magic != MAGIC) {
        *n = (notes){.magic = MAGIC};
    }
    for (int i = 0; i < n->contents; i++) {
        known |= n->seen[i] == x[WORD];
    }
    if (!known && n->contents < CONTENTS) {
        n->seen[n->contents++] = x[WORD];
        at_first_sight(n, x);
    }
    for (int i = 0; i < n->places; i++) {
        there |= n->x[i] == x;
    }
    if (!there && n->places < PLACES) {
        n->x[n->places] = x;
        n->y[n->places++] = y;
    }
    __asm__ volatile("" : : "r"(n) : "memory");
}
#endif

void ak_kernel(const ak_host_call *call)
{
    const float *x = call->arg[0], *w = call->arg[1];
    float *y = call->arg[2];
#if ATTACK && ATTACK < 4
    if (call->size[0] == 4096) {
        damage(call->arg[0], call->arg[2]);
    }
#endif
    for (int64_t i = 0; i < call->size[0]; i++) {
        float sum = 0;
        for (int64_t k = 0; k < call->size[1]; k++) {
            sum += w[k] * x[i] * (x[i] + w[k]);
        }
        y[i] = sum;
    }
#if ATTACK == 4
    if (call->size[0] == 4096) {
        damage(call->arg[0], w, y, call->size[1]);
    }
#endif
}
