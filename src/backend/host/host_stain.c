#include "backend/host/host_runner.h"

#include <string.h>

#include "base/clock.h"
#include "check/guard.h"

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t now;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
    return now;
#else
    return (uint64_t)ak_clock_ns();
#endif
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t ak_host_drawn(uint64_t *state)
{
    uint64_t x = *state ^ ticks();
    *state = *state * UINT64_C(6364136223846793005) + ticks();
    return mixed(x);
}

static uint64_t get(const unsigned char *at, uint32_t bytes)
{
    uint64_t value = 0;
    switch (bytes) { /* memcpy of a constant size is a load, cheaper than a call */
    case 8:
        memcpy(&value, at, 8);
        break;
    case 4:
        memcpy(&value, at, 4);
        break;
    case 2:
        memcpy(&value, at, 2);
        break;
    default:
        value = *at;
        break;
    }
    return value;
}

static void put(unsigned char *at, uint64_t value, uint32_t bytes)
{
    switch (bytes) { /* the supported processors are little endian */
    case 8:
        memcpy(at, &value, 8);
        break;
    case 4:
        memcpy(at, &value, 4);
        break;
    case 2:
        memcpy(at, &value, 2);
        break;
    default:
        *at = (unsigned char)value;
        break;
    }
}

/* One output whose elements are changed. */
typedef struct output {
    unsigned char *first;
    uint64_t count, more_rows, pitch;
    uint32_t bytes, fraction;
} output;

static output output_of(const ak_host_stainable *of, void *const *arg, uint32_t i)
{
    return (output){arg[i],       of->count[i], of->more_rows[i],
                    of->pitch[i], of->bytes[i], of->fraction[i]};
}

/* Returns the address of an element that the lower 32 bits of a random number choose. */
static unsigned char *pick(const output *o, uint64_t random)
{
    uint64_t k = (random & UINT32_MAX) * (o->count * (o->more_rows + 1)) >> 32;
    if (o->more_rows > 0) {
        k = k / o->count * o->pitch + k % o->count;
    }
    return o->first + k * o->bytes;
}

/* Returns a plausible number for the place `at`: a copy of the element `other`, or either element
   as ak_guard_altered changes it, which leaves NaN and infinities as they are. */
static uint64_t plausible(const output *o, const unsigned char *at, const unsigned char *other,
                          uint64_t random)
{
    enum { COPY, OTHER, OWN, KINDS };
    const uint64_t was = get(at, o->bytes), of_other = get(other, o->bytes);
    const uint64_t kind = random % KINDS;
    if (kind == COPY && of_other != was) {
        return of_other;
    }
    return ak_guard_altered(kind == OTHER ? of_other : was, o->bytes, o->fraction, random >> 8);
}

void ak_host_stain(const ak_host_stainable *of, void *const *arg, ak_host_stained *s,
                   uint64_t *state, bool blank)
{
    enum { BLANK_EVERY = 4 };
    s->mask = ak_host_drawn(state);
    s->blanks = 0;
    for (uint32_t i = 0; i < of->arguments; i++) {
        if (of->count[i] == 0) {
            continue;
        }
        const output o = output_of(of, arg, i);
        const uint64_t x = ak_host_drawn(state), y = ak_host_drawn(state), z = mixed(x + y);
        unsigned char *at = pick(&o, x), *unnoted = pick(&o, y);
        s->at[i] = (uint64_t)(uintptr_t)at ^ s->mask;
        /* Both may be the same element, so the noted one is written last. */
        s->was[i] = get(at, o.bytes);
        const bool poisoned = blank || z % BLANK_EVERY == 0;
        const uint64_t nan = o.bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * o.bytes) - 1;
        s->put[i] = poisoned ? nan : plausible(&o, at, pick(&o, x >> 32), z >> 2);
        s->blanks |= poisoned ? 1u << i : 0;
        put(unnoted, plausible(&o, unnoted, pick(&o, y >> 32), mixed(z)), o.bytes);
        put(at, s->put[i], o.bytes);
    }
}

uint64_t ak_host_stained_look(const ak_host_stainable *of, ak_host_stained *s)
{
    uint64_t looked = 0;
    for (uint32_t i = 0; i < of->arguments; i++) {
        if (of->count[i] > 0 && s->put[i] != s->was[i]) {
            const unsigned char *at = (const unsigned char *)(uintptr_t)(s->at[i] ^ s->mask);
            const bool skipped = get(at, of->bytes[i]) == s->put[i];
            s->skipped += skipped ? 1 : 0;
            s->blank += skipped && (s->blanks >> i & 1) != 0 ? 1 : 0;
            looked++;
        }
    }
    return looked;
}

/* Changes the elements of one row from `begin` to `end`. */
static void scramble_row(const output *o, unsigned char *row, uint64_t begin, uint64_t end,
                         uint64_t random)
{
    for (uint64_t k = begin; k < end; k++) {
        unsigned char *at = row + k * o->bytes;
        put(at, ak_guard_altered(get(at, o->bytes), o->bytes, o->fraction, mixed(random + k)),
            o->bytes);
    }
}

void ak_host_scramble(const ak_host_stainable *of, void *const *arg, uint64_t random, int part,
                      int parts)
{
    for (uint32_t i = 0; i < of->arguments; i++) {
        const output o = output_of(of, arg, i);
        const uint64_t each = o.count / (uint64_t)parts, begin = each * (uint64_t)part;
        const uint64_t end = part + 1 == parts ? o.count : begin + each;
        for (uint64_t row = 0; row <= o.more_rows; row++) {
            random = mixed(random);
            scramble_row(&o, o.first + row * o.pitch * o.bytes, begin, end, random);
        }
    }
}
