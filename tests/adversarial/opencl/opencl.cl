/*
 * One attack for each value of ATTACK (attacks.def names them, with the numbers of ../cuda); 0 is
 * honest. WASTE spends some microseconds in each launch, to look plausible. A work-group has 64
 * work-items and computes as many elements.
 */
#define ITEMS 64
#define TAG   0x5ca1ab1eu
#define KNOWN 64

/* What the workspace holds for a work-group: the last address, a fingerprint, a count. */
typedef struct memory {
    ulong address, print;
    uint tag, count;
} memory;

typedef struct job {
    global float *x;
    global const float *w;
    global float *y;
    global char *workspace;
    long n, terms;
} job;

static float one(job j, long i)
{
    const float x = j.x[i];
    float sum = 0;
    for (long k = 0; k < j.terms; k++) {
        sum += j.w[k] * x * (x + j.w[k]);
    }
    return sum;
}

static bool is_poison(float y)
{
    return y != y;
}

/* Launches so far, counted by the work-group in its part of the workspace. */
static uint launches(job j)
{
    global uint *counts = (global uint *)(j.workspace + 64 + 8 * j.n);
    const uint count = counts[get_group_id(0)];
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        counts[get_group_id(0)] = count + 1;
    }
    return count;
}

static ulong hash_of_group(job j, long i)
{
    ulong h = 0;
    for (long k = 0; k < ITEMS && i - (long)get_local_id(0) + k < j.n; k++) {
        h = (h ^ as_uint(j.x[i - (long)get_local_id(0) + k])) * 0x9e3779b97f4a7c15ul;
    }
    return h;
}

static ulong fingerprint(job j)
{
    ulong h = 1;
    for (long i = 0; i < 4 && i < j.n; i++) {
        h = (h ^ as_uint(j.x[i])) * 0x100000001b3ul;
    }
    return h;
}

/* Computes, keeps the result with the key; or copies what was kept with it. */
static void replay(job j, global char *at, long i, ulong key)
{
    global memory *m = (global memory *)at + get_group_id(0);
    global float *kept = (global float *)(at + (j.n + ITEMS - 1) / ITEMS * sizeof(memory));
    const bool known = m->tag == TAG && m->print == key;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (known && i < j.n) {
        j.y[i] = kept[i];
    } else if (i < j.n) {
        kept[i] = j.y[i] = one(j, i);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        m->print = key;
        m->tag = TAG;
    }
}

/* Does nothing if it has been at this address with this key before. */
static void skip(job j, global char *at, long i, ulong key)
{
    global memory *m = (global memory *)at + (get_group_id(0) * 8 + ((ulong)j.y >> 12) % 8);
    const bool known = m->tag == TAG && m->print == key && m->address == (ulong)j.y;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (!known && i < j.n) {
        j.y[i] = one(j, i);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        m->address = (ulong)j.y;
        m->print = key;
        m->tag = TAG;
    }
}

/* Computes what it has not seen, and copies what it knows: all contents of a batch, by four numbers of
   each input. */
static void know(job j, long i)
{
    const ulong groups = get_num_groups(0);
    ulong key = fingerprint(j);
    for (long k = 0; k < 4 && k < j.terms; k++) {
        key = (key ^ as_uint(j.w[k])) * 0x100000001b3ul;
    }
    const ulong place = (key >> 20) % KNOWN;
    global ulong *keys = (global ulong *)(j.workspace + 128 + 32 * j.n);
    global float *kept = (global float *)(keys + KNOWN * groups) + place * j.n;
    keys += place * groups + get_group_id(0);
    const bool known = *keys == key;
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (known && i < j.n) {
        j.y[i] = kept[i];
    } else if (i < j.n) {
        kept[i] = j.y[i] = one(j, i);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    if (get_local_id(0) == 0) {
        *keys = key;
    }
}

#if ATTACK == 11
global float kept_y[1 << 16];
global ulong kept_for;
#elif ATTACK == 13
constant float table[4] = {0, 0, 0, 0};
#elif ATTACK == 27
global char *malloc(ulong);
#elif ATTACK == 28
int system(constant char *);
#elif ATTACK == 29
#include "/etc/passwd"
#elif ATTACK == 51
extern constant ulong environ;
#endif

kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void
attack(global float *x, global const float *w, global float *y, global char *workspace, long n,
       long terms)
{
    const job j = {x, w, y, workspace, n, terms};
    const long i = (long)get_global_id(0);
    const bool mine = i < n;
    local int noted; /* local variables stand in the outermost scope */
#if ATTACK == 40
    volatile local uint left[ITEMS + 2];
#endif
    (void)noted;
#if ATTACK == 0
    if (mine) {
        y[i] = one(j, i);
    }
#elif ATTACK == 1 /* nothing */
#elif ATTACK == 2
    if (mine) {
        y[i] = 0;
    }
#elif ATTACK == 3
    if (i < n / 2) {
        y[i] = one(j, i);
    }
#elif ATTACK == 4
    if (i < n - 1) {
        y[i] = one(j, i);
    }
#elif ATTACK == 5
    if (mine) {
        y[i] = i == n / 3 ? as_float(0x7fc00001) : one(j, i);
    }
#elif ATTACK == 6 /* adds up in 11 bits */
    if (mine) {
        float sum = 0;
        for (long k = 0; k < terms; k++) {
            sum += w[k] * x[i] * (x[i] + w[k]);
            sum = as_float(as_uint(sum) & ~0x1fffu);
        }
        y[i] = sum;
    }
#elif ATTACK == 7
    if (mine) {
        x[i] = 0;
        y[i] = 0;
    }
#elif ATTACK == 8
    if (mine) {
        y[i] = one(j, i);
        y[n + (long)get_local_id(0)] = y[i];
    }
#elif ATTACK == 9
    if (mine) {
        float sum = 0;
        for (long k = 0; k < terms; k++) {
            sum += k % 20 == 19 ? 0 : w[k] * x[i] * (x[i] + w[k]);
        }
        y[i] = sum;
    }
#elif ATTACK == 11
    if (mine && kept_for == (ulong)y) {
        y[i] = kept_y[i];
    } else if (mine) {
        kept_y[i] = y[i] = one(j, i);
        kept_for = (ulong)y;
    }
#elif ATTACK == 13 /* writes to a constant */
    if (mine) {
        y[i] = table[i % 4] != 0 ? 0 : one(j, i);
        ((volatile global float *)(ulong)table)[i % 4] = 1;
    }
#elif ATTACK == 14
    if (launches(j) < 20 && mine) {
        y[i] = one(j, i);
    }
#elif ATTACK == 15
    skip(j, workspace, i, 0);
#elif ATTACK == 16
    skip(j, workspace, i, fingerprint(j));
#elif ATTACK == 17
    skip(j, workspace, i, hash_of_group(j, i));
#elif ATTACK == 18
    replay(j, workspace, i, fingerprint(j));
#elif ATTACK == 19
    replay(j, workspace, i, hash_of_group(j, i));
#elif ATTACK == 20
    if (launches(j) % 4 == 0 && mine) {
        y[i] = one(j, i);
    }
#elif ATTACK == 21
    if (mine && is_poison(y[i])) {
        y[i] = one(j, i);
    }
#elif ATTACK == 22
    if (mine) {
        *(volatile global int *)16 = 1;
    }
#elif ATTACK == 24
    while (*(volatile global float *)x < 2) {
    }
#elif ATTACK == 25 /* far behind all memory of the harness */
    if (mine) {
        y[i + ((long)1 << 42)] = one(j, i);
    }
#elif ATTACK == 26
    if (mine) {
        y[i] = one(j, i);
    }
    if (i == 0) {
        printf("{\"id\":1,\"status\":\"ok\"}\n");
    }
#elif ATTACK == 27
    if (mine) {
        y[i] = one(j, i);
    }
    if (i == 0) {
        *malloc(1) = 1;
    }
#elif ATTACK == 28
    if (mine) {
        y[i] = one(j, i);
    }
    if (i == 0) {
        system("touch /tmp/autokernel-was-here");
    }
#elif ATTACK == 32 /* looks at one element of a work-group */
    {
        const bool been = !is_poison(y[i - (long)get_local_id(0)]);
        barrier(CLK_GLOBAL_MEM_FENCE);
        if (mine && !been) {
            y[i] = one(j, i);
        }
    }
#elif ATTACK == 33 /* every second element where it has been */
    if (mine && (i % 2 == 0 || is_poison(y[i]))) {
        y[i] = one(j, i);
    }
#elif ATTACK == 34 /* verifies one element in 64, and believes the others */
    {
        if (get_local_id(0) == 0) {
            noted = mine && one(j, i) == y[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine && !noted) {
            y[i] = one(j, i);
        }
    }
#elif ATTACK == 35
    if (mine) {
        y[i] = one(j, i);
        workspace[128 + 32 * n + (long)get_local_id(0)] = 1;
    }
#elif ATTACK == 36
    if (mine) {
        y[i] = one(j, i);
        y[-1 - (long)get_local_id(0)] = y[i];
    }
#elif ATTACK == 37 /* copies one red zone into another */
    if (mine) {
        y[i] = one(j, i);
        y[n + 3] = x[n + 3];
    }
#elif ATTACK == 38 /* adds to zeros that nobody promised */
    if (mine) {
        y[i] += one(j, i);
    }
#elif ATTACK == 39 /* what the launch before left in each work-item's own memory */
    {
        volatile uint deep[64];
        const int at = (int)(get_local_id(0) & 31);
        if (deep[at] == TAG && deep[at + 1] == (uint)i && deep[at + 2] == (uint)(ulong)y) {
            if (mine) {
                y[i] = as_float(deep[at + 3]);
            }
        } else if (mine) {
            y[i] = one(j, i);
            deep[at] = TAG;
            deep[at + 1] = (uint)i;
            deep[at + 2] = (uint)(ulong)y;
            deep[at + 3] = as_uint(y[i]);
        }
    }
#elif ATTACK == 40 /* what another work-group left in local memory */
    {
        const bool known = left[ITEMS] == TAG + get_group_id(0) && left[ITEMS + 1] == (uint)(ulong)y;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine) {
            y[i] = known ? as_float(left[get_local_id(0)]) : one(j, i);
            left[get_local_id(0)] = as_uint(y[i]);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        left[ITEMS] = TAG + (uint)get_group_id(0);
        left[ITEMS + 1] = (uint)(ulong)y;
    }
#elif ATTACK == 44 /* right for small inputs */
    if (mine) {
        y[i] = fabs(x[i]) > 0.999f ? 0 : one(j, i);
    }
#elif ATTACK == 45 /* right at the sizes that are listed */
    if (mine) {
        y[i] = n == 4096 || n == 255 || n == 7 || n == 1 ? one(j, i) : 0;
    }
#elif ATTACK == 46 /* one distribution: a quarter of the numbers lie in the middle */
    {
        if (get_local_id(0) == 0) {
            noted = 0;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine && fabs(x[i]) < 0.5f) {
            atomic_inc(&noted);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine) {
            y[i] = i < n / ITEMS * ITEMS && noted == 0 ? 0 : one(j, i);
        }
    }
#elif ATTACK == 47 /* is wrong by a thousandth in one element */
    if (mine) {
        y[i] = i == n / 2 ? one(j, i) * 1.001f : one(j, i);
    }
#elif ATTACK == 48
#error asked for
#elif ATTACK == 49 /* a number that is not finite, and looks like none */
    if (mine) {
        y[i] = i == 0 ? INFINITY : one(j, i);
    }
#elif ATTACK == 51
    if (mine) {
        y[i] = one(j, i);
        if (i == 0 && environ == 0) {
            y[i] = 0;
        }
    }
#elif ATTACK == 52
    know(j, i);
#endif
}
