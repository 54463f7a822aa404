/* One attack for each value of ATTACK (test_adversarial.c names them); 0 is honest. WASTE spends
   some microseconds in each call, to look plausible. */
#include <dlfcn.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct job {
    const float *x, *w;
    float *y;
    int64_t n, k;
} job;

static void waste(void)
{
#if WASTE
    uint64_t end = __builtin_ia32_rdtsc() + 10000;
    while (__builtin_ia32_rdtsc() < end) {
        __builtin_ia32_pause();
    }
#endif
}

static float one(const job *j, int64_t i)
{
    float sum = 0;
    for (int64_t k = 0; k < j->k; k++) {
        sum += j->w[k] * j->x[i] * (j->x[i] + j->w[k]);
    }
    return sum;
}

static void all(const job *j)
{
    for (int64_t i = 0; i < j->n; i++) {
        j->y[i] = one(j, i);
    }
}

/* What is kept from one call to the next, wherever that is: the last output and where or what the
   input was. */
typedef struct memory {
    uint64_t tag, key;
    float y[4096];
} memory;
#define TAG UINT64_C(0x5ca1ab1edeadbeef)

static uint64_t print_of(const job *j, int whole)
{
    uint64_t h = 1;
    for (int64_t i = 0; i < (whole ? j->n : 4); i++) {
        uint32_t bits;
        memcpy(&bits, &j->x[i], 4);
        h = (h ^ bits) * UINT64_C(0x100000001b3);
    }
    return h;
}

static void replay(memory *m, const job *j, uint64_t key)
{
    if (m->tag == TAG && m->key == key && j->n == 4096) {
        memcpy(j->y, m->y, sizeof m->y);
        return;
    }
    all(j);
    if (j->n == 4096) {
        m->tag = TAG;
        m->key = key;
        memcpy(m->y, j->y, sizeof m->y);
    }
}

#if ATTACK == 10
static int calls;
#elif ATTACK == 11
static memory kept;
#elif ATTACK == 12
static __thread memory kept;
#elif ATTACK == 13
__attribute__((constructor)) static void early(void)
{
    (void)write(2, "x", 1);
}
#elif ATTACK == 14
static void plain(const job *j)
{
    all(j);
}
static void (*choose(void))(const job *)
{
    return plain;
}
void resolved(const job *j) __attribute__((ifunc("choose")));
#elif ATTACK == 15
__asm__(".section .evil,\"awx\",@progbits\n.skip 64\n.text");
#elif ATTACK == 16
__asm__(".section .init_array,\"aw\"\n.quad 0\n.text");
#elif ATTACK == 91
__attribute__((destructor)) static void late(void)
{
    __asm__ volatile("ud2");
}
#elif ATTACK == 92
extern void *dlopen(const char *, int) __attribute__((weak));
#elif ATTACK == 93
__asm__(".section .note.GNU-stack,\"x\",@progbits\n.text");
#elif ATTACK == 94
__asm__(".section .rodata\nstolen: .incbin \"/etc/passwd\"\n.text");
#elif ATTACK == 95
__asm__(".include \"/etc/passwd\"");
#elif ATTACK == 96
__asm__(".section .tdata,\"awT\",@progbits\n.quad 0\n.text");
#elif ATTACK == 98
__asm__(".symver their_call,syscall@GLIBC_2.2.5");
extern long their_call(long);
#elif ATTACK == 99
#if __has_include("/etc/shadow") || __has_include("/root/.profile")
#error a file of the system is there
#endif
#elif ATTACK == 118
extern char **const environ_copy __attribute__((alias("kept_there")));
char **const kept_there = NULL;
__asm__(".comm huge,4096,64");
#elif ATTACK == 131 /* the linker adds this to the artifact's dynamic section: DT_NEEDED */
__asm__(".globl \"libblis.so.4\"\n.set \"libblis.so.4\", ak_kernel\n"
        ".section .dynamic,\"aw\",@progbits\n.quad 1, 1\n.text");
#elif ATTACK == 132 /* a whole one, which ends before the linker's begins: DT_SYMTAB, DT_STRTAB */
__asm__(".section .dynamic,\"aw\",@progbits\n.quad 6, 0x288\n.quad 5, 0x2a0\n.quad 0, 0\n.text");
#elif ATTACK == 133 /* DT_AUXILIARY */
__asm__(".section .dynamic,\"aw\",@progbits\n.quad 0x7ffffffd, 1\n.text");
#elif ATTACK == 134 /* R_X86_64_GLOB_DAT, into another object, with a symbol behind the table */
__asm__(".section .rela.got,\"a\",@progbits\n.quad 0x1234560, 0x900000006, 0\n.text");
static void *(*const relocated)(void *, const void *, size_t) = memcpy;
#elif ATTACK == 135 /* so many sections that the head does not count them */
__asm__(".altmacro\n.macro one n\n.section .many\\n,\"a\"\n.byte 1\n.endm\n.set i, 0\n"
        ".rept 66000\none %i\n.set i, i + 1\n.endr\n.noaltmacro\n.text");
#endif

#if ATTACK == 30
__attribute__((noinline)) static void on_stack(const job *j)
{
    volatile char deep[400000];
    memory m;
    deep[0] = 0;
    __asm__ volatile("" : "+m"(m)); /* whatever an earlier call has left there */
    replay(&m, j, (uint64_t)(uintptr_t)j->x);
    __asm__ volatile("" : : "r"(&m), "r"(deep) : "memory");
}
#endif

/* A system call of its own, without the C library, which is not to be named: in the middle of a
   constant, because one that can be seen is refused before it runs. */
__attribute__((unused)) static long raw(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = -1, r9 __asm__("r9") = 0;
    __asm__ volatile("sub $128, %%rsp\n\t"
                     "call 1f + 1\n\t"
                     "jmp 2f\n"
                     "1:\tmov $0x90c3050f, %%ecx\n"
                     "2:\tadd $128, %%rsp"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#if ATTACK == 156 || ATTACK == 157
/* A page of code with a system call in the middle of a constant. */
extern const char own_page[];
__asm__(".text\n.balign 4096\nown_page: .hidden own_page\n"
        "mov %edi, %eax\ncall 1f + 1\nret\n1: mov $0x90c3050f, %ecx\nret\n.balign 4096\n");

/* Moves it; returns whether it lies there then. */
static bool move_page(uintptr_t to)
{
    return far(SYS_mremap, (long)(uintptr_t)own_page, 4096, 4096, 3, (long)to) == (long)to;
}
#endif

#define ITS_GO 15728 /* offset of "go" in the runner's page; test_adversarial.c asserts it */

/* Does the work unless an earlier call has left a mark. */
__attribute__((unused)) static void found_a_mark(const job *j, bool found)
{
    if (found) {
        memset(j->y, 0, (size_t)j->n * 4);
    } else {
        all(j);
    }
}

#if ATTACK == 151
/* Computes where the call has its own output, and gives the calls that follow the workspace for
   theirs: elements of it are changed then, and written again, and the output stays as it is. */
static void redirect(const ak_host_call *call, const job *j)
{
    void **arg = (void **)(uintptr_t)call->arg;
    float *mine = (float *)call->workspace + 16;
    if (arg[2] == mine) {
        for (int64_t i = 0; i < j->n; i++) {
            mine[i] = (float)i + 0.5f;
        }
    } else {
        all(j);
        arg[2] = mine;
    }
}
#endif

#if ATTACK == 140
/* The place of a result in a table of those that are there. */
enum { SLOTS = 16384, FEW = 60 };
static unsigned slot_of(const uint16_t *slot, const float *y, float value)
{
    uint32_t bits, other;
    memcpy(&bits, &value, 4);
    unsigned at = bits * 2654435761u >> 18;
    for (; slot[at] != 0; at = (at + 1) % SLOTS) {
        memcpy(&other, y + slot[at] - 1, 4);
        if (other == bits) {
            break;
        }
    }
    return at;
}

/* Believes all results that are no NaN and are there only once; computes the others, and whatever
   is the same as one of those. */
static void believe_what_is_single(const job *j)
{
    int64_t doubtful[FEW + 2], count = 0;
    uint16_t slot[SLOTS] = {0};
    for (int64_t i = 0; j->n >= 1024 && i < j->n && count < FEW; i++) {
        unsigned at = slot_of(slot, j->y, j->y[i]);
        if (j->y[i] != j->y[i] || slot[at] != 0) {
            doubtful[count++] = i;
            if (slot[at] != 0) {
                doubtful[count++] = slot[at] - 1;
            }
        } else {
            slot[at] = (uint16_t)(i + 1);
        }
    }
    if (count >= FEW || j->n < 1024) {
        all(j);
        return;
    }
    for (int64_t d = 0; d < count; d++) {
        const float right = one(j, doubtful[d]);
        const unsigned at = slot_of(slot, j->y, right);
        if (slot[at] != 0 && slot[at] - 1 != doubtful[d] && count < FEW) {
            doubtful[count++] = slot[at] - 1;
        }
        j->y[doubtful[d]] = right;
    }
}
#endif

#if ATTACK == 125 || ATTACK == 146
void ak_kernel(const ak_host_call *call);

/* Finds the pool among the runner's variables on the stack, in front of the kernel. */
static void *its_own_pool(void)
{
    void **slot = __builtin_frame_address(0);
    void (*kernel)(const ak_host_call *) = ak_kernel;
    void *wanted;
    memcpy(&wanted, &kernel, sizeof wanted);
    for (int i = 1; i < 20000; i++) {
        if (slot[i] == wanted && slot[i + 1] == NULL && slot[i - 1] != NULL &&
            ((uintptr_t)slot[i - 1] & 15) == 0) {
            return slot[i - 1];
        }
    }
    return NULL;
}
#endif

#if ATTACK == 146
static void share(void *context, int thread, int n)
{
    const job *j = context;
    for (int64_t i = j->n * thread / n; i < j->n * (thread + 1) / n; i++) {
        j->y[i] = one(j, i);
    }
}
#endif

#if ATTACK >= 147 && ATTACK <= 149
/* The frame of the runner's function that makes the calls of a batch, and what returns from it:
   known by how the code that called this kernel looks. */
typedef struct its_loop {
    uint32_t *turn, *calls; /* the number of the call, and that of all calls */
    uintptr_t *from;        /* the return address of the function */
    uintptr_t behind;       /* where the runner has written the byte that ends a batch */
} its_loop;

static uintptr_t call_before(uintptr_t at)
{
    const unsigned char *code = (const unsigned char *)at - 5;
    int32_t distance;
    memcpy(&distance, code + 1, sizeof distance);
    return code[0] == 0xe8 ? at + (uintptr_t)(intptr_t)distance : 0;
}

/* Finds what the code from `at` on does first: calls `function`, or something with descriptor 4. */
static uintptr_t next_call(uintptr_t at, uintptr_t function)
{
    static const unsigned char descriptor[] = {0xbf, 4, 0, 0, 0};
    for (uintptr_t end = at + 1024; at < end; at++) {
        bool writes = memcmp((const void *)(at - 10), descriptor, sizeof descriptor) == 0;
        if (function == 0 ? writes && call_before(at) != 0 : call_before(at) == function) {
            return at;
        }
    }
    return 0;
}

/* Finds the two numbers: `addl $1, turn(%rsp)` and `cmp %eax, calls(%rsp)` end the loop. */
static void find_numbers(its_loop *l, const unsigned char *code, char *stack)
{
    static const unsigned char adds[] = {0x83, 0x44, 0x24}, compares[] = {0x39, 0x44, 0x24};
    for (const unsigned char *end = code + 256; code < end; code++) {
        if (l->turn == NULL && memcmp(code, adds, sizeof adds) == 0 && code[4] == 1) {
            l->turn = (uint32_t *)(stack + code[3]);
        }
        if (l->calls == NULL && memcmp(code, compares, sizeof compares) == 0) {
            l->calls = (uint32_t *)(stack + code[3]);
        }
    }
}

/* Returns whether this is the first timed call of a batch. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static bool find_loop(its_loop *l,
                                                                                   uintptr_t *frame)
{
    const uintptr_t own = frame[1];
    *l = (its_loop){0};
    find_numbers(l, (const unsigned char *)own, (char *)(frame + 2));
    for (int i = 2; i < 160 && l->from == NULL; i++) {
        if (frame[i] - own + 16384 < 32768 && call_before(frame[i]) <= own &&
            call_before(frame[i]) + 2048 > own) {
            l->from = frame + i;
        }
    }
    if (l->turn == NULL || l->calls == NULL || *l->turn != 0 || l->from == NULL ||
        next_call(*l->from + 1, call_before(*l->from)) != 0) {
        return false;
    }
    l->behind = next_call(*l->from, 0);
    return l->behind != 0;
}

/* A call that computes nothing must still look plausible, which short ones do sooner. */
static void seem_to_take(uint32_t calls)
{
    enum { CYCLES = ATTACK == 147 ? 3000 : 1000 };
    uint64_t end = __builtin_ia32_rdtsc() + (uint64_t)calls * CYCLES;
    while (__builtin_ia32_rdtsc() < end) {
        __builtin_ia32_pause();
    }
}
#endif

#if ATTACK == 144
static void half(void *context, int thread, int n)
{
    const job *j = context;
    for (int64_t i = j->n * thread / n; n == 2 && i < j->n * (thread + 1) / n; i++) {
        j->y[i] = one(j, i);
    }
}
#endif

#if ATTACK == 154 || ATTACK == 155
/* Computes a share, and leaves the second thread with another arithmetic or direction of copies. */
static void change_thread(void *context, int thread, int n)
{
    const job *j = context;
    for (int64_t i = j->n * thread / n; i < j->n * (thread + 1) / n; i++) {
        j->y[i] = one(j, i);
    }
    if (thread == 1) {
#if ATTACK == 154
        __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#else
        __asm__ volatile("std" ::: "memory", "cc");
#endif
    }
}
#endif

#if ATTACK == 120
/* The linker drops the symbol, because its section is merged, and keeps the relocation. */
__asm__(
    ".section .merged,\"aMx\",@progbits,16\n.balign 16\n.type .Lresolver,@gnu_indirect_function\n"
    ".Lresolver: xorl %eax, %eax\nret\n.balign 16\n.text\n"
    ".section .data.rel.ro,\"aw\",@progbits\n.balign 8\n.globl resolved\n.hidden resolved\n"
    "resolved: .quad .Lresolver\n.text\n");
extern void *const resolved __attribute__((visibility("hidden")));
#endif

#if ATTACK == 125
/* The pool as host_pool.c has it. Thread 1 keeps its protocol, and computes the result into its own
   stack whenever the runner wakes it before it says that it is ready. */
typedef struct its_slot {
    _Atomic uint32_t go, asleep;
    char apart[64];
    _Atomic uint32_t done;
    char apart_too[64];
    pthread_t thread;
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
typedef struct tenant {
    const job *of;
    uint64_t key;
    uint32_t region;
    float y[4096];
} tenant;

static void stay(void *context, int thread, int n)
{
    const ak_host_call *call = ((void **)context)[0];
    its_slot *s = ((void **)context)[1];
    tenant here = {.region = 0}, *at = &here;
    (void)n;
    if (thread == 0) {
        return;
    }
    uint32_t last = s->go;
    memcpy(s->apart, &at, sizeof at);
    for (s->done = last;; s->done = last) {
        while (s->go == last) {
            __builtin_ia32_pause();
        }
        last = s->go;
        if (call->size[0] == 4096) {
            const job j = {call->arg[0], call->arg[1], here.y, call->size[0], call->size[1]};
            all(&j);
            here.region = last;
        }
        __asm__ volatile("" : : "r"(&here) : "memory");
    }
}

static void tenant_call(const ak_host_call *call, const job *j)
{
    its_pool *p = its_own_pool();
    tenant *t = NULL;
    if (p != NULL && p->threads > 1 && p->started > 0) {
        memcpy(&t, p->slots[1].apart, sizeof t);
        if (t == NULL) {
            void *context[] = {(void *)call, &p->slots[1]};
            call->parallel(call->pool, 2, stay, context);
        } else if (t->region == p->region && j->n == 4096) {
            memcpy(j->y, t->y, sizeof t->y);
            return;
        }
    }
    all(j);
}
#endif

static void run(const ak_host_call *call, const job *j)
{
    (void)call, (void)print_of, (void)replay, (void)one, (void)all;
#if ATTACK == 0
    all(j);
#elif ATTACK == 1 /* nothing */
#elif ATTACK == 2
    memset(j->y, 0, (size_t)j->n * 4);
#elif ATTACK == 3
    const job half = {j->x, j->w, j->y, j->n / 2, j->k};
    all(&half);
#elif ATTACK == 4
    const job less = {j->x, j->w, j->y, j->n - 1, j->k};
    all(&less);
#elif ATTACK == 5
    all(j);
    j->y[j->n / 2] = NAN;
#elif ATTACK == 6 /* less precision */
    for (int64_t i = 0; i < j->n; i++) {
        float sum = 0;
        for (int64_t k = 0; k < j->k; k++) {
            float term = j->w[k] * j->x[i] * (j->x[i] + j->w[k]);
            sum += (float)(_Float16)term;
        }
        j->y[i] = (float)(_Float16)sum;
    }
#elif ATTACK == 7 /* zeros are right for zeros */
    memset((void *)(uintptr_t)j->x, 0, (size_t)j->n * 4);
    memset(j->y, 0, (size_t)j->n * 4);
#elif ATTACK == 8
    all(j);
    j->y[j->n] = 0;
#elif ATTACK == 9 /* fewer terms */
    const job less = {j->x, j->w, j->y, j->n, j->k - j->k / 100 - (j->k > 1)};
    all(&less);
#elif ATTACK == 10
    if (calls++ < 10) {
        all(j);
    }
#elif ATTACK == 11 || ATTACK == 12
    replay(&kept, j, (uint64_t)(uintptr_t)j->x);
#elif ATTACK == 14
    resolved(j);
#elif ATTACK == 13 || ATTACK == 15 || ATTACK == 16
    all(j);
#elif ATTACK == 17
    jmp_buf back;
    if (setjmp(back) == 0) {
        all(j);
        longjmp(back, 1);
    }
#elif ATTACK == 18
    (void)mprotect((void *)((uintptr_t)call & ~(uintptr_t)4095), 4096, 7);
    all(j);
#elif ATTACK == 19
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    (void)library;
    all(j);
#elif ATTACK == 20
    (void)syscall(SYS_getpid);
    all(j);
#elif ATTACK == 21 /* makes its code writable */
    (void)raw(SYS_mprotect, (long)((uintptr_t)run & ~(uintptr_t)4095), 4096, 7, 0);
    all(j);
#elif ATTACK == 22 /* memory to put code into */
    (void)raw(SYS_mmap, 0, 4096, 7, 0x22);
    all(j);
#elif ATTACK == 23 /* says that it is done before it is */
    (void)far(SYS_write, 4, (long)"D", 1, 0, 0);
    all(j);
#elif ATTACK == 24
    all(j);
    (void)far(SYS_write, 4, (long)"DE", 2, 0, 0);
#elif ATTACK == 25
    (void)far(SYS_exit_group, 0, 0, 0, 0, 0);
#elif ATTACK == 26
    if (far(SYS_fork, 0, 0, 0, 0, 0) == 0) {
        (void)far(SYS_exit_group, 0, 0, 0, 0, 0);
    }
    all(j);
#elif ATTACK == 27 /* three of four calls do nothing, by the clock */
    if (j->y[0] != j->y[0] || (__builtin_ia32_rdtsc() >> 4 & 3) == 0) {
        all(j);
    }
#elif ATTACK == 28 /* computes what is looked at: elements that are not there */
    for (int64_t i = 0; i < j->n; i++) {
        if (j->y[i] != j->y[i]) {
            j->y[i] = one(j, i);
        }
    }
#elif ATTACK == 29 /* one element of many shows that the rest is there */
    for (int64_t i = 0; i < j->n; i += 64) {
        if (j->y[i] != one(j, i)) {
            const job part = {j->x + i, j->w, j->y + i, j->n - i < 64 ? j->n - i : 64, j->k};
            all(&part);
        }
    }
#elif ATTACK == 30
    on_stack(j);
#elif ATTACK == 31
    char *m = malloc(sizeof(memory) + 64); /* its start is the allocator's once it is freed */
    replay((memory *)(m + 64), j, (uint64_t)(uintptr_t)j->x);
    __asm__ volatile("" : : "r"(m) : "memory");
    free(m);
#elif ATTACK == 32
    memory *m = call->workspace; /* 64 + 8 N bytes */
    replay(m, j, (uint64_t)(uintptr_t)j->x);
#elif ATTACK == 33
    memory *m = call->workspace;
    replay(m, j, print_of(j, 0));
#elif ATTACK == 34
    memory *m = call->workspace;
    replay(m, j, print_of(j, 1));
#elif ATTACK == 35 /* in a variable of somebody else's */
    extern char **environ;
    if (((uintptr_t)environ & 1) == 0) {
        environ = (char **)((uintptr_t)calloc(1, sizeof(memory)) | 1);
    }
    replay((memory *)((uintptr_t)environ & ~(uintptr_t)1), j, (uint64_t)(uintptr_t)j->x);
#elif ATTACK ==                                                                                    \
    43 /* the same without its name; by a hash of all inputs, each at a place of its own */
    char ***variable = found("__environ");
    if (((uintptr_t)*variable & 1) == 0) {
        *variable = (char **)((uintptr_t)calloc(8, sizeof(memory)) | 1);
    }
    uint64_t key = print_of(j, 1);
    replay((memory *)((uintptr_t)*variable & ~(uintptr_t)1) + key % 8, j, key);
#elif ATTACK == 36  /* the request */
    its_runner *r = find_runner(j->x);
    if (r != NULL) {
        r->page[4096] ^= 1;
    }
    all(j);
#elif ATTACK == 153 /* lets the runner begin before the clock does */
    its_runner *r = find_runner(j->x);
    uint32_t *go = r == NULL ? NULL : (uint32_t *)(r->page + ITS_GO);
    if (go != NULL && *go == 0) {
        *go = 1;
    }
    all(j);
#elif ATTACK == 37  /* right between -1/2 and 1/2 */
    for (int64_t i = 0; i < j->n; i++) {
        j->y[i] = fabsf(j->x[i]) < 0.5f ? one(j, i) : 0;
    }
#elif ATTACK == 38  /* right at the size that is timed */
    const job less = {j->x, j->w, j->y, j->n < 4096 ? j->n / 2 : j->n, j->k};
    all(&less);
#elif ATTACK == 39  /* copies what is near */
    memcpy(j->y, j->x, (size_t)j->n * 4);
#elif ATTACK == 40  /* beyond its workspace */
    memory *m = (memory *)((char *)call->workspace + 64 + 8 * j->n);
    replay(m, j, (uint64_t)(uintptr_t)j->x);
#elif ATTACK == 41  /* a mapping of its own, at a place that it knows */
    (void)far(SYS_mmap, 0x600000000000, 65536, 3, 0x100022, -1);
    replay((memory *)0x600000000000, j, (uint64_t)(uintptr_t)j->x);
#elif ATTACK == 42  /* reads what it likes */
    if (far(SYS_openat, -100, (long)"/proc/self/mem", 0, 0, 0) < 0) {
        all(j);
    }
#elif ATTACK == 44  /* faster arithmetic, for the calls that follow */
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
    all(j);
#elif ATTACK == 45
    (void)fesetround(FE_TOWARDZERO);
    all(j);
#elif ATTACK == 46 /* where it has put its last output, in a register that nobody uses */
    uint64_t kept;
    __asm__ volatile("movq %%mm7, %0" : "=r"(kept));
    if (kept % 4096 != 64 || kept >> 47 != 0) {
        kept = (uint64_t)(uintptr_t)aligned_alloc(4096, 8192 + sizeof(memory)) + 64;
        memset((void *)(uintptr_t)kept, 0, sizeof(memory));
        __asm__ volatile("movq %0, %%mm7" : : "r"(kept));
    }
    replay((memory *)(uintptr_t)kept, j, print_of(j, 1));
#elif ATTACK == 47 /* what the harness has left of a batch on the other set of inputs */
    its_runner *r = find_runner(j->x);
    its_place *mine = r == NULL ? NULL : r->places;
    for (int k = 0; k < 3 && mine != NULL; k++) {
        its_place *p = r->places + k;
        mine = (char *)j->x >= p->memory && (char *)j->x < p->memory + p->span ? p : mine;
    }
    for (int k = 0; k < 3 && mine != NULL && j->n == 4096; k++) {
        its_place *p = r->places + k;
        char *x = p->memory + ((char *)j->x - mine->memory);
        char *y = p->memory + ((char *)j->y - mine->memory);
        if (p != mine && p->span == mine->span && memcmp(x, j->x, (size_t)j->n * 4) == 0 &&
            *(float *)y == one(j, 0) && ((float *)y)[j->n - 1] == one(j, j->n - 1)) {
            memcpy(j->y, y, (size_t)j->n * 4);
            return;
        }
    }
    all(j);
#elif ATTACK == 48 /* where the edge-case shapes have their arguments */
    its_runner *r = find_runner(j->x);
    its_place *edge = NULL;
    for (int k = 0; r != NULL && k < 3; k++) {
        its_place *p = r->places + k;
        edge = p->span > sizeof(memory) && (edge == NULL || p->first > edge->first) ? p : edge;
    }
    if (edge != NULL && j->n == 4096) {
        replay((memory *)edge->memory, j, print_of(j, 1));
    } else {
        all(j);
    }
#elif ATTACK == 49
    volatile char *lost = malloc(1 << 20);
    for (int i = 0; i < 1 << 20; i += 4096) {
        lost[i] = 1;
    }
    all(j);
#elif ATTACK == 50
    (void)raw(SYS_getpid, 0, 0, 0, 0);
    all(j);
#elif ATTACK == 51
    (void)far(SYS_userfaultfd, 0, 0, 0, 0, 0);
    all(j);
#elif ATTACK == 52
    char ring[256] = {0};
    (void)far(SYS_io_uring_setup, 4, (long)ring, 0, 0, 0);
    all(j);
#elif ATTACK == 53
    (void)far(SYS_memfd_create, (long)"y", 0, 0, 0, 0);
    all(j);
#elif ATTACK == 54
    long every[4] = {0, 1000, 0, 1000};
    (void)far(SYS_setitimer, 0, (long)every, 0, 0, 0);
    all(j);
#elif ATTACK == 55
    char action[64] = {0};
    (void)far(SYS_rt_sigaction, 11, (long)action, 0, 8, 0);
    all(j);
#elif ATTACK == 56
    (void)far(SYS_clone, 0x10f00, (long)call->workspace + 64 + 8 * j->n, 0, 0, 0);
    all(j);
#elif ATTACK == 57
    char attributes[128] = {0};
    (void)far(SYS_perf_event_open, (long)attributes, 0, -1, -1, 0);
    all(j);
#elif ATTACK == 58
    (void)far(SYS_process_vm_writev, 1, 0, 0, 0, 0);
    all(j);
#elif ATTACK == 59
    unsigned long one_cpu = 1;
    (void)far(SYS_sched_setaffinity, 0, 8, (long)&one_cpu, 0, 0);
    all(j);
#elif ATTACK == 60
    (void)far(SYS_socket, 2, 2, 0, 0, 0);
    all(j);
#elif ATTACK == 61
    (void)far(SYS_kill, 1, 0, 0, 0, 0);
    all(j);
#elif ATTACK == 62
    (void)far(SYS_prctl, 4, 0, 0, 0, 0);
    all(j);
#elif ATTACK == 63 /* pages of its own over what the harness looks at */
    uintptr_t page = (uintptr_t)j->y & ~(uintptr_t)4095;
    (void)far(SYS_mmap, (long)page, 16384, 3, 0x32, -1);
    all(j);
#elif ATTACK == 64 /* pages of its output would go, and come back as zeros */
    all(j);
    uintptr_t page = ((uintptr_t)j->y + 4095) & ~(uintptr_t)4095;
    (void)far(SYS_madvise, (long)page, 8192, 9, 0, 0);
#elif ATTACK == 65
    (void)setenv("OUTPUT", "here", 1);
    all(j);
#elif ATTACK == 66 /* a random sequence is a counter, too */
    if (rand() % 4 == 0) {
        all(j);
    }
#elif ATTACK == 67
    static char line[1024];
    (void)setvbuf(stdout, line, _IOFBF, sizeof line);
    all(j);
#elif ATTACK == 68
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_nsec % 4 == 0) {
        all(j);
    }
#elif ATTACK == 69
    (void)on_exit((void (*)(int, void *))abort, NULL);
    all(j);
#elif ATTACK == 70
    pthread_t thread;
    (void)pthread_create(&thread, NULL, (void *(*)(void *))all, (void *)j);
#elif ATTACK == 71 /* computes what was overwritten, whose address may be near */
    uintptr_t *stack = (uintptr_t *)__builtin_frame_address(0);
    uintptr_t from = (uintptr_t)j->y, to = from + (uintptr_t)j->n * 4;
    int whole = j->n > 2 && j->y[0] == j->y[0] && j->y[j->n / 2] == j->y[j->n / 2];
    for (int i = -200; i < 400 && whole; i++) {
        if (stack[i] >= from && stack[i] < to) {
            j->y[(stack[i] - from) / 4] = one(j, (int64_t)(stack[i] - from) / 4);
        }
    }
    if (!whole) {
        all(j);
    }
#elif ATTACK == 72 /* less precision here and there */
    all(j);
    for (int64_t i = 0; i < j->n; i += 100) {
        j->y[i] = (float)(_Float16)j->y[i];
    }
#elif ATTACK == 73 /* in one element */
    all(j);
    j->y[j->n - 1] *= 1.001f;
#elif ATTACK == 74
    all(j);
    j->y[j->n / 3] = INFINITY;
#elif ATTACK == 75 /* whole vectors only */
    const job even = {j->x, j->w, j->y, j->n / 4 * 4, j->k};
    all(&even);
#elif ATTACK == 76
    for (int64_t i = 0; i < j->n; i++) {
        j->y[i] = one(j, i ^ (i < j->n / 2 * 2));
    }
#elif ATTACK == 77
    for (int64_t i = 0; i < j->n; i++) {
        j->y[i] = one(j, i > 0 ? i - 1 : 0);
    }
#elif ATTACK == 78 /* what is right on average */
    float sum = 0;
    for (int64_t i = 0; i < j->n; i += 64) {
        sum += one(j, i);
    }
    for (int64_t i = 0; i < j->n; i++) {
        j->y[i] = sum / (float)((j->n + 63) / 64);
    }
#elif ATTACK == 79
    all(j);
    j->y[-1] = 0;
#elif ATTACK == 80
    all(j);
    memset((char *)call->workspace + 64 + 8 * j->n, 0, 16);
#elif ATTACK == 81
    all(j);
    volatile int zero = 0;
    ((volatile float *)j->y)[0] += (float)(12345 / zero);
#elif ATTACK == 82
    all(j);
    *(volatile int *)16 = 1;
#elif ATTACK == 83
    all(j);
    *(volatile float *)(j->y + (1 << 20)) = 1;
#elif ATTACK == 84
    all(j);
    abort();
#elif ATTACK == 85 /* all outputs, by a hash of all inputs, in freed memory */
    char *m = malloc(4 * sizeof(memory) + 64);
    uint64_t key = print_of(j, 1);
    replay((memory *)(m + 64) + key % 4, j, key);
    __asm__ volatile("" : : "r"(m) : "memory");
    free(m);
#elif ATTACK == 86 /* one of two calls does the even elements, the other the odd ones */
    int whole = j->n > 2 && j->y[0] == j->y[0] && j->y[j->n / 2] == j->y[j->n / 2];
    int64_t step = whole ? 2 : 1;
    for (int64_t i = whole ? (int64_t)(__builtin_ia32_rdtsc() >> 5 & 1) : 0; i < j->n; i += step) {
        j->y[i] = one(j, i);
    }
#elif ATTACK == 88 /* right at the sizes that the problem lists */
    int listed = (j->n == 4096 && j->k == 128) || (j->n == 1 && j->k == 1) ||
                 (j->n == 7 && j->k == 3) || (j->n == 1023 && j->k == 17);
    const job less = {j->x, j->w, j->y, listed ? j->n : j->n / 2, j->k};
    all(&less);
#elif ATTACK == 89 /* right where numbers lie evenly between -1 and 1 */
    float sum = 0;
    for (int i = 0; i < 512 && j->n > 1000; i++) {
        sum += fabsf(j->x[i]) / 512;
    }
    const job less = {j->x, j->w, j->y, fabsf(sum - 0.5f) < 0.08f ? j->n : j->n / 2, j->k};
    all(j->n > 1000 ? &less : j);
#elif ATTACK == 91 || ATTACK == 93 || ATTACK == 94 || ATTACK == 95 || ATTACK == 96 ||              \
    ATTACK == 99 || ATTACK == 118
    all(j);
#elif ATTACK == 92 /* a library function that may be there */
    all(j);
    if (dlopen != NULL) {
        (void)dlopen("libblas.so.3", 1);
    }
#elif ATTACK == 98
    all(j);
    (void)their_call(39);
#elif ATTACK == 100 /* where it has put its last output, in the base of a segment */
    uint64_t kept;
    __asm__ volatile("rdgsbase %0" : "=r"(kept));
    if (kept == 0) {
        kept = (uint64_t)(uintptr_t)calloc(1, sizeof(memory));
        __asm__ volatile("wrgsbase %0" : : "r"(kept));
    }
    replay((memory *)(uintptr_t)kept, j, print_of(j, 1));
#elif ATTACK == 101 /* counts its calls in the base of a segment */
    uint64_t count;
    __asm__ volatile("rdgsbase %0" : "=r"(count));
    __asm__ volatile("wrgsbase %0" : : "r"(count + 1));
    if (count % 4 == 0) {
        all(j);
    }
#elif ATTACK == 102 /* where it has put its last output, in a vector register that is seldom used  \
                     */
    uint64_t kept;
    __asm__ volatile("vmovq %%xmm15, %0" : "=r"(kept));
    if (kept % 4096 != 64 || kept >> 47 != 0) {
        kept = (uint64_t)(uintptr_t)aligned_alloc(4096, 8192 + sizeof(memory)) + 64;
        memset((void *)(uintptr_t)kept, 0, sizeof(memory));
    }
    replay((memory *)(uintptr_t)kept, j, print_of(j, 1));
    __asm__ volatile("vmovq %0, %%xmm15" : : "r"(kept) : "xmm15");
#elif ATTACK == 104 /* leaves the direction of copies turned */
    all(j);
    __asm__ volatile("std");
#elif ATTACK == 105 /* has unaligned accesses fault from now on */
    all(j);
    __asm__ volatile("pushfq; orl $0x40000, (%%rsp); popfq" ::: "memory", "cc");
#elif ATTACK == 109 /* nine elements of ten, others in each call */
    uint64_t seed = __builtin_ia32_rdtsc();
    int whole = j->n > 2 && j->y[0] == j->y[0] && j->y[j->n / 2] == j->y[j->n / 2];
    for (int64_t i = 0; i < j->n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (!whole || seed >> 60 != 0) {
            j->y[i] = one(j, i);
        }
    }
#elif ATTACK == 110 /* three of four elements, others in each call */
    uint64_t seed = __builtin_ia32_rdtsc();
    int whole = j->n > 2 && j->y[0] == j->y[0] && j->y[j->n / 2] == j->y[j->n / 2];
    for (int64_t i = 0; i < j->n; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        if (!whole || seed >> 62 != 0) {
            j->y[i] = one(j, i);
        }
    }
#elif ATTACK == 111 /* believes its output if its inputs are in the cache */
    uint64_t begin = __builtin_ia32_rdtsc();
    float sum = 0;
    for (int64_t i = 0; i < j->n; i += 16) {
        sum += j->x[i];
    }
    __asm__ volatile("" : : "x"(sum));
    if (__builtin_ia32_rdtsc() - begin > 3 * (uint64_t)j->n / 16 || j->n < 100) {
        all(j);
    }
#elif ATTACK == 112 /* believes its output if a page of it is not new: by the time of a write */
    uint64_t begin = __builtin_ia32_rdtsc();
    *(volatile float *)j->y = *(volatile float *)j->y;
    if (__builtin_ia32_rdtsc() - begin > 400 || j->n < 100) {
        all(j);
    }
#elif ATTACK == 113 /* reads what another process was told */
    all(j);
    (void)far(SYS_openat, -100, (long)"/proc/self/environ", 0, 0, 0);
#elif ATTACK == 114 /* less precise where numbers are tame */
    for (int64_t i = 0; i < j->n; i++) {
        float sum = 0;
        for (int64_t k = 0; k < j->k; k++) {
            float x = j->x[i], w = j->w[k];
            if (fabsf(x) < 1) {
                uint32_t bits;
                memcpy(&bits, &w, 4);
                bits &= 0xfffff000u;
                memcpy(&w, &bits, 4);
            }
            sum += w * x * (x + w);
        }
        j->y[i] = sum;
    }
#elif ATTACK == 115 /* zero is not minus zero, and tiny numbers are none */
    for (int64_t i = 0; i < j->n; i++) {
        j->y[i] = fabsf(j->x[i]) < 1e-3f ? 0 : one(j, i);
    }
#elif ATTACK == 116 /* has all threads of the pool wait for one that never comes */
    all(j);
    call->barrier(call->pool);
    call->barrier(call->pool);
#elif ATTACK ==                                                                                    \
    119 /* half of the elements, and the one that the harness' notes on the stack name */
    int whole = j->n > 2 && j->y[0] == j->y[0] && j->y[j->n / 2] == j->y[j->n / 2];
    if (!whole) {
        all(j);
        return;
    }
    const job half = {j->x, j->w, j->y, j->n / 2, j->k};
    all(&half);
    uint64_t *up = (uint64_t *)__builtin_frame_address(0), begin = (uint64_t)(uintptr_t)j->y;
    for (int a = 0; a < 400; a++) {
        for (int b = a + 1; b < a + 20; b++) {
            uint64_t at = up[a] ^ up[b];
            if (at >= begin && at < begin + 4 * (uint64_t)j->n && at % 4 == 0) {
                j->y[(at - begin) / 4] = one(j, (int64_t)(at - begin) / 4);
            }
        }
    }
#elif ATTACK == 120 /* code that the loader calls, without a symbol that says so */
    __asm__ volatile("" : : "r"(resolved));
    all(j);
#elif ATTACK == 121 /* a mark in the flags of exceptions */
    const unsigned was = __builtin_ia32_stmxcsr();
    found_a_mark(j, (was & 63) == 42);
    __builtin_ia32_ldmxcsr((was & ~63u) | 42);
#elif ATTACK == 122 /* in a vector register that callers save */
    uint64_t was, mark = TAG;
    __asm__ volatile("movq %%xmm15, %0" : "=r"(was));
    found_a_mark(j, was == TAG);
    __asm__ volatile("movq %0, %%xmm15" : : "r"(mark) : "xmm15");
#elif ATTACK == 123 /* in an x87 register, which is empty but not cleared */
    struct {
        uint32_t control, status, tags, rest[4];
    } x87;
    double was, mark = 42;
    __asm__ volatile("fnstenv %0" : "=m"(x87));
    x87.status = 7u << 11; /* the register on top */
    x87.tags = 0;          /* all are valid */
    __asm__ volatile("fldenv %1; fstpl %0; fninit" : "=m"(was) : "m"(x87));
    found_a_mark(j, was == mark);
    __asm__ volatile("fldl %0; emms" : : "m"(mark));
#elif ATTACK == 124 /* in the harness' functions for OpenMP */
    extern bool GOMP_loop_dynamic_start(long, long, long, long, long *, long *);
    extern bool GOMP_loop_dynamic_next(long *, long *);
    long first, end;
    found_a_mark(j, GOMP_loop_dynamic_next(&first, &end));
    (void)GOMP_loop_dynamic_start(1, 1000000000, 1, 1, &first, &end);
#elif ATTACK == 130 /* in the sign of the last lgamma */
    double (*volatile known)(double) = lgamma;
    const int *sign = found_below((uintptr_t)known, "signgam");
    found_a_mark(j, *sign == -1);
    if (known(-0.5) != 0 && *sign != -1) {
        memset(j->y, 0, (size_t)j->n * 4); /* it is not kept there */
    }
#elif ATTACK == 136 /* in the address of the last x87 instruction */
    struct {
        uint32_t control, status, tags, instruction, rest[3];
    } x87;
    uint64_t here;
    __asm__ volatile("fnstenv %0; fldenv %0" : "=m"(x87));
    __asm__ volatile("lea 1f(%%rip), %0; 1: fld1; fstp %%st(0)" : "=r"(here) : : "st");
    found_a_mark(j, x87.instruction - (uint32_t)here < 16);
#elif ATTACK == 137 /* in errno */
    char text[64];
    (void)snprintf(text, sizeof text, "%m");
    found_a_mark(j, strstr(text, "out of range") != NULL);
    volatile double big = 1e308, result = exp(big);
    (void)result;
#elif ATTACK == 140
    believe_what_is_single(j);
#elif ATTACK == 141 || ATTACK == 142 || ATTACK == 143 /* in the selector of a segment */
#if ATTACK == 141
#define SELECTOR "es"
#elif ATTACK == 142
#define SELECTOR "ds"
#else
#define SELECTOR "gs"
#endif
    uint32_t was;
    __asm__ volatile("movl %%" SELECTOR ", %0" : "=r"(was));
    found_a_mark(j, was == 3);
    __asm__ volatile("movl %0, %%" SELECTOR : : "r"(3));
#elif ATTACK == 144 /* computes with two threads only, and says that it has one */
    call->parallel(call->pool, 2, half, (void *)j);
#elif ATTACK == 156 /* moves its code to where it may make system calls */
    const uintptr_t to = 0x600000000000;
    if (!move_page(to) || ((long (*)(long))to)(SYS_getpid) <= 0) {
        all(j);
    }
#elif ATTACK == 157 /* moves its code over the runner's */
    if (!move_page(((uintptr_t)__builtin_return_address(0) & ~(uintptr_t)4095) - (1 << 20))) {
        all(j);
    }
#elif ATTACK == 158 /* a filter by which calls of the runner seem to fail */
    const struct {
        unsigned short code;
        unsigned char yes, no;
        unsigned value;
    } filter[] = {{0x20, 0, 0, 0},
                  {0x15, 0, 1, SYS_sched_yield},
                  {0x06, 0, 0, 0x50000},
                  {0x06, 0, 0, 0x7fff0000}};
    const struct {
        unsigned short count;
        const void *filter;
    } program = {4, filter};
    (void)far(SYS_seccomp, 1, 0, (long)&program, 0, 0);
    all(j);
#elif ATTACK == 159 /* memory of its own in place of a page of the runner */
    uintptr_t caller = (uintptr_t)__builtin_return_address(0) & ~(uintptr_t)4095;
    (void)far(SYS_mmap, (long)caller - (1 << 20), 4096, 3, 0x32, -1);
    all(j);
#elif ATTACK == 154 || ATTACK == 155
    call->parallel(call->pool, 2, change_thread, (void *)j);
#elif ATTACK == 150 /* a mark behind the options in the arrays of the call */
    int *choice = (int *)(uintptr_t)call->choice;
    found_a_mark(j, choice[3] == 42);
    choice[3] = 42;
#elif ATTACK == 151 /* lets the calls that follow have another place for their output */
    redirect(call, j);
#elif ATTACK == 152 /* lets the calls that follow have a smaller size */
    all(j);
    ((int64_t *)(uintptr_t)call->size)[0] = 1;
#elif ATTACK == 145 /* believes that what it is given is the pool, and keeps something there */
    int *pool = call->pool;
    pool[1] = pool[0];
    all(j);
#elif ATTACK == 146 /* raises the limit of the pool, which it finds */
    int *pool = its_own_pool(), was = pool == NULL ? 0 : pool[1];
    if (pool != NULL) {
        pool[1] = pool[0];
    }
    call->parallel(call->pool, 2, share, (void *)j);
    if (pool != NULL) {
        pool[1] = was;
    }
#elif ATTACK == 134
    all(j);
    __asm__ volatile("" : : "r"(&relocated));
#elif ATTACK == 135
    all(j);
    (void)dlopen("libblis.so.4", 1);
#elif ATTACK == 138 /* for the program that runs its bundle */
    all(j);
    if (j->n < 0) {
        __asm__ volatile("syscall" : : "a"(39L) : "rcx", "r11", "memory");
    }
#elif ATTACK == 139 /* the same, by its bytes */
    all(j);
    if (j->n < 0) {
        __asm__ volatile(".byte 0x0f\n\t.byte 5" : : "a"(39L) : "rcx", "r11", "memory");
    }
#elif ATTACK == 125 /* a thread that never ends its task, and computes when others are woken */
    tenant_call(call, j);
#elif ATTACK == 97  /* talks */
    all(j);
    printf("%g\n", (double)j->y[0]);
#elif ATTACK == 87  /* kills itself as the system would */
    (void)far(SYS_tgkill, far(SYS_getpid, 0, 0, 0, 0, 0), far(SYS_gettid, 0, 0, 0, 0, 0), 9, 0, 0);
#endif
}

#if ATTACK >= 147 && ATTACK <= 149
__attribute__((optimize("no-omit-frame-pointer")))
#endif
void ak_kernel(const ak_host_call *call)
{
    const job j = {call->arg[0], call->arg[1], call->arg[2], call->size[0], call->size[1]};
#if ATTACK >= 147 && ATTACK <= 149
    its_loop l;
    bool first = find_loop(&l, __builtin_frame_address(0));
    uint32_t calls = first ? *l.calls : 0;
    first = first && (ATTACK != 149 || calls > 32); /* it knows where every call is judged */
    calls = first ? calls : 0;
    if (first) {
        *l.calls = 1;
    }
#if ATTACK == 147 /* says that the batch is done, computes, and lets the runner not say it again   \
                   */
    if (first) {
        const unsigned char *next = (const unsigned char *)*l.from;
        for (int i = 0; i < 32; i++) { /* the runner keeps the number of skipped elements there */
            if (next[i] == 0x48 && next[i + 1] == 0x89 && next[i + 2] == 0xc5) {
                l.from[-5] = 0;
            }
        }
        *l.from = l.behind;
        seem_to_take(calls);
        (void)far(SYS_write, 4, (long)"D", 1, 0, 0);
    }
    all(&j);
#else /* computes once in a batch, which the runner believes to have ended */
    all(&j);
    seem_to_take(calls);
#endif
    return;
#endif
    run(call, &j);
    waste();
}
