/* Kernels that do all of their work and damage what other candidates will run on and be blamed for.
   They know the addresses from earlier calls, which left them deep in the stack.

   1 damages the inputs of the set that is not in use, and mends them before it runs on that set.

   2 damages the red zone in front of X, and 3 that behind Y, of the sets that are not in use, once:
   in the third call on contents that it has not seen since those of the timed batches. In the first
   two of these it is slow, so that the harness makes calls on seen contents to see why. */
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
#if ATTACK
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
}
