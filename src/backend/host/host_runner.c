/*
 * host_runner.c: the confined child; see host_runner.h. For a candidate it gives up its rights in
 * this order: descriptors and limits when it starts; capabilities and access to files before the
 * artifact is opened; system calls, for all threads at once, after the threads are started and
 * before the artifact is opened; and once that is loaded, the calls that only loading needs.
 *
 * A library of baselines.def is trusted to start threads and to read files, because it looks at the
 * machine. A baseline that a problem brings may start threads and read what own.c lists. A
 * candidate is trusted with nothing.
 *
 * This file is long because all that the child does is in it: none of it may make a system call
 * that has been taken away.
 */
#include "backend/host/host_runner.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <malloc.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/host/host.h"
#include "backend/host/host_baseline.h"
#include "backend/host/host_openmp.h"
#include "backend/host/host_pool.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/dl.h"
#include "base/proc.h"
#include "base/text.h"
#include "check/guard.h"

/* An idle thread of a candidate's pool spins as long as the serial parts of a kernel usually
   last. */
#define CANDIDATE_SPIN_NS 100000
/* The runner spins this long for `go`, which the worker sets within microseconds unless it was
   interrupted. */
#define GO_SPIN_NS 500000
/* Address space in front of the arguments and behind them, beyond their red zones, that cannot be
   accessed: a write there crashes instead of changing memory that is not checked. */
#define FORBIDDEN_BYTES (UINT64_C(16) << 20)
/* Parts of the block that stay mapped: two sets of inputs at the task's own shape, and an edge-case
   shape. */
#define PLACES     3
#define HUGE_PAGE  (UINT64_C(2) << 20)
#define CACHE_LINE 64
/* leaves_out rejects a kernel that leaves stained elements unwritten. SKIPPED_MIN of them in one
   batch are enough. One or two are not, because a kernel whose results differ in their last bits
   from call to call may by chance write the value that was put there. On a busy machine a batch may
   have a few calls only, so all batches are also judged together: SKIPPED_MIN elements are enough
   if they are at least one in SKIPPED_PART of those looked at. BLANK_MIN are enough if they held a
   NaN, which no kernel writes by chance. One is enough if no element was written so far, because
   the first one holds a NaN. */
#define SKIPPED_MIN  3
#define BLANK_MIN    2
#define SKIPPED_PART 4
/* A runner ends after this much processor time, even if the worker has ended. */
#define CPU_SECONDS_MAX 7200

typedef struct place {
    uint64_t first, span;  /* part of the block; span 0: free */
    unsigned char *memory; /* has FORBIDDEN_BYTES in front of it and behind it */
} place;

/* A call with the arrays that it points to. */
typedef struct whole_call {
    int64_t size[AK_SIZES_MAX];
    int choice[AK_CHOICES_MAX];
    double number[AK_CHOICES_MAX];
    void *arg[AK_ARGUMENTS_MAX];
    int64_t pitch[AK_ARGUMENTS_MAX];
    ak_host_call call;
} whole_call;

typedef struct runner {
    ak_runner_page *page;
    int block_fd;
    place places[PLACES];
    unsigned next_place; /* index of the place to replace next */
    unsigned char *map;  /* mapping that contains the workspace */
    uint64_t map_bytes;
    unsigned char *workspace;
    uint64_t workspace_bytes, red_bytes;
    uint64_t shift;      /* bytes from a page to the workspace, which belong to the red zone */
    ak_guard_stream red; /* content of the red zone: `shift` bytes in front of the workspace, and
                            all behind it up to a page that cannot be accessed */
    unsigned rounds;
    ak_host_pool *pool;
    void (*kernel)(const ak_host_call *call);
    const ak_baseline_ops *ops;
    ak_baseline *baseline;
    bool pinned;              /* the caller was pinned after the first run of a baseline */
    uint64_t looked, skipped; /* stained elements of all batches, and those left unwritten */
    uint64_t blank;           /* the skipped ones into which a NaN was put */
    whole_call given;         /* what a kernel sees of its call, and may have changed */
} runner;

static void answer(ak_runner_page *page, ak_trial_status status, const char *reason)
{
    page->status = (int32_t)status;
    (void)snprintf(page->reason, sizeof page->reason, "%s", reason);
}

static void say(char what)
{
    while (write(AK_PROC_REPLY_FD, &what, 1) < 0 && errno == EINTR) {
    }
}

/* This mode rounds to nearest, keeps denormals and traps no exception. It is set before each batch,
   because a library that was linked with -ffast-math flushes denormals as soon as it is loaded, and
   would be measured with another arithmetic than the candidates. */
#define MXCSR_USUAL 0x1f80u
#define MXCSR_FLAGS 0x3fu
/* The flags of the processor that a call must not change: the direction of string operations (DF),
   nested task (NT), alignment check (AC) and ID, which has no effect but can hold a bit. */
#define FLAGS_KEPT (UINT64_C(1) << 10 | UINT64_C(1) << 14 | UINT64_C(1) << 18 | UINT64_C(1) << 21)
static void usual_arithmetic(void)
{
#if defined(__x86_64__)
    __asm__ volatile("cld; fninit" : : : "cc");
    __builtin_ia32_ldmxcsr(MXCSR_USUAL);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)));
#endif
}

/* The processor's flags that the calls in all batches have left set. */
static uint64_t flags_left;

/* Clears the flags that a call must not leave set, and returns them. This comes first after a call:
   with the alignment check on, any access of the harness may fault. */
static inline uint64_t take_flags(void)
{
#if defined(__x86_64__)
    uint64_t flags = __builtin_ia32_readeflags_u64();
    if ((flags & FLAGS_KEPT) != 0) {
        __builtin_ia32_writeeflags_u64(flags & ~FLAGS_KEPT);
    }
    return flags & FLAGS_KEPT;
#else
    return 0;
#endif
}

/* Returns whether this thread computes in another mode than the usual one. */
static bool is_mode_changed(void)
{
#if defined(__x86_64__)
    uint16_t control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return (__builtin_ia32_stmxcsr() & ~MXCSR_FLAGS) != MXCSR_USUAL || (control & 0xf3f) != 0x33f;
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    return fpcr != 0;
#else
    return false;
#endif
}

/* Whether a call has left another mode, or flags, in a thread of the pool. In a program such a
   thread goes on with other work. */
static atomic_bool thread_left;

/* Returns the reason to reject a kernel that has changed a part of the processor's state which the
   calling convention requires it to restore; NULL if there is none. With a changed state the
   runner, or a program that calls the kernel, would compute other results, and the x87 registers
   could keep a result between calls. */
static const char *left_behind(void)
{
#if defined(__x86_64__)
    struct {
        uint16_t control, unused1, status, unused2, tags, unused3;
        uint32_t rest[4];
    } x87;
    __asm__ volatile("fnstenv %0; fldenv %0" : "=m"(x87));
    if (flags_left != 0) {
        return "it leaves flags of the processor set (direction, alignment check): a kernel "
               "restores them before it returns";
    }
    if (x87.tags != 0xffff) {
        return "it leaves values in x87 or MMX registers: a kernel that uses these ends with emms";
    }
#endif
    if (is_mode_changed()) {
        return "it leaves another rounding mode, denormals flushed to zero or exceptions "
               "unmasked: a kernel restores the floating-point mode before it returns";
    }
    return atomic_load(&thread_left)
               ? "it leaves another rounding mode, denormals flushed to zero or flags of the "
                 "processor set in another thread: each thread restores them at its end"
               : NULL;
}

/* ---- load ---------------------------------------------------------------------------------- */

/* The pages, from `begin` to `end`, at which the loader has put the object that contains
   `inside`. */
typedef struct object_range {
    uint64_t inside, begin, end;
} object_range;

static int find_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
    object_range *range = context;
    uint64_t begin = UINT64_MAX, end = 0;
    (void)bytes;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD) {
            uint64_t at = info->dlpi_addr + p->p_vaddr;
            begin = at < begin ? at : begin;
            end = at + p->p_memsz > end ? at + p->p_memsz : end;
        }
    }
    if (range->inside < begin || range->inside >= end) {
        return 0;
    }
    /* The loader maps whole pages, so there may be code in front of the first byte and behind the
       last one. */
    const uint64_t page = ak_page_bytes();
    range->begin = begin / page * page;
    range->end = (end + page - 1) / page * page;
    return 1;
}

/* Opens the threads of a candidate, or of a runner in which nothing is loaded, and pins them if
   there are enough processors. A worker that polls keeps away from these processors, because on the
   same one its polling would keep a call from beginning. */
static ak_status open_pinned(runner *r, int64_t spin_ns, ak_error *err)
{
    AK_DO(ak_host_pool_open(&r->pool, r->page->threads_max, spin_ns, err));
    ak_host_pool_pin(r->pool);
    return AK_OK;
}

static void load_candidate(runner *r)
{
    ak_runner_page *page = r->page;
    char folder[AK_PATH_MAX];
    memcpy(folder, page->artifact, sizeof folder);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = 0;
    }
    const char *const readable[] = {
        folder, "/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf", "/opt", NULL};
    ak_sandbox_drop(); /* before there are other threads */
    (void)ak_sandbox_files(readable, NULL);
    ak_error err = AK_ERROR_INIT;
    if (open_pinned(r, CANDIDATE_SPIN_NS, &err) != AK_OK) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, err.text);
        return;
    }
#ifdef __GLIBC__
    (void)mallopt(M_ARENA_MAX, 1); /* more arenas need mprotect */
#endif
    (void)ak_sandbox_seal();
    void *library = dlopen(page->artifact, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, ak_dl_error(page->artifact));
        return;
    }
    void *symbol = dlsym(library, page->symbol);
    if (symbol == NULL) {
        char text[96];
        (void)snprintf(text, sizeof text, "it does not define %.31s()", page->symbol);
        answer(page, AK_TRIAL_LAUNCH_ERROR, text);
        return;
    }
    object_range range = {.inside = (uint64_t)(uintptr_t)symbol};
    object_range own = {.inside = (uint64_t)(uintptr_t)&flags_left};
    (void)dl_iterate_phdr(find_object, &range);
    (void)dl_iterate_phdr(find_object, &own);
    /* Where the system loads objects below the executable, the runner maps the arguments there,
       too, so it must stay free to do so. */
    (void)ak_sandbox_seal_loaded(range.begin, range.end, own.end <= range.begin ? own.end : 0);
    /* ISO C allows no cast from void * to a pointer to a function. */
    memcpy(&r->kernel, &symbol, sizeof symbol);
    answer(page, AK_TRIAL_OK, "");
}

static void load_baseline(runner *r)
{
    ak_runner_page *page = r->page;
    static const char *const all[] = {"/", NULL};
    static const char *const devices[] = {"/dev/null", "/dev/shm", NULL};
    /* These variables, set for another program, can make a library several times slower, or less
       precise. */
    static const char *const settings[] = {"OMP_",  "GOMP_", "KMP_",    "OPENBLAS_", "GOTO_",
                                           "BLIS_", "DNNL_", "ONEDNN_", NULL};
    if (page->own == AK_OWN_NOT) {
        ak_proc_unset(settings);
        (void)ak_sandbox_files(all, devices);
    } else if (page->own == AK_OWN_CODE) {
        ak_own_confine(page); /* Python runs in a process that is confined itself */
    }
    const char *variant = "";
    ak_error err = AK_ERROR_INIT;
    r->ops = page->own == AK_OWN_CODE     ? &ak_baseline_own
             : page->own == AK_OWN_PYTHON ? &ak_baseline_own_python
                                          : ak_baseline_find(&variant, page->baseline);
    if (r->ops == NULL) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, "there is no such baseline");
        return;
    }
    if (page->own == AK_OWN_NOT &&
        !ak_baseline_applies(r->ops, page->problem, (ak_dtype)page->dtype)) {
        (void)snprintf(err.text, sizeof err.text, "%s is not used for %s in %s", r->ops->title,
                       page->problem, ak_dtype_text((ak_dtype)page->dtype));
        answer(page, AK_TRIAL_LAUNCH_ERROR, err.text);
        return;
    }
    ak_baseline_setup setup = {.variant = variant,
                               .problem = page->problem,
                               .dtype = (ak_dtype)page->dtype,
                               .choices = page->choices,
                               .library_threads = page->library_threads,
                               .page = page,
                               .block_fd = r->block_fd};
    char version[sizeof page->version] = "";
    /* The runner's own threads, for passes and copies, sleep at once when they are idle, because
       the library's threads run on the same cores. */
    r->baseline = ak_alloc(1, r->ops->bytes);
    if (ak_made(r->baseline, &err) != AK_OK ||
        ak_host_pool_open(&r->pool, page->threads_max, 0, &err) != AK_OK ||
        r->ops->open(r->baseline, version, sizeof version, &setup, &err) != AK_OK) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, err.text);
        return;
    }
    (void)snprintf(page->title, sizeof page->title, "%s",
                   page->own == AK_OWN_NOT ? r->ops->title : page->baseline);
    memcpy(page->version, version, sizeof version);
    answer(page, AK_TRIAL_OK, "");
}

static void load(runner *r)
{
    r->page->title[0] = r->page->version[0] = 0;
    if (r->page->baseline[0] == 0) {
        load_candidate(r);
    } else {
        load_baseline(r);
    }
    say(AK_RUNNER_END);
}

/* ---- run ----------------------------------------------------------------------------------- */

static void unmap_place(place *p)
{
    if (p->span > 0) {
        (void)munmap(p->memory - FORBIDDEN_BYTES, p->span + 2 * FORBIDDEN_BYTES);
        p->span = 0;
    }
}

/* Returns where a part of the block is mapped, and maps it if needed; NULL if there is no
   memory. */
static unsigned char *map_place(runner *r, uint64_t first, uint64_t span)
{
    place *p = &r->places[r->next_place];
    for (size_t i = 0; i < PLACES; i++) {
        if (r->places[i].span == span && r->places[i].first == first) {
            return r->places[i].memory;
        }
        if (r->places[i].span > 0 && r->places[i].first == first) {
            p = &r->places[i]; /* a part of another shape, which is not needed now */
        }
    }
    r->next_place += p == &r->places[r->next_place];
    r->next_place %= PLACES;
    unmap_place(p);
    uint64_t total = span + 2 * FORBIDDEN_BYTES;
    unsigned char *map =
        mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    void *memory = mmap(map + FORBIDDEN_BYTES, span, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE | MAP_FIXED, r->block_fd, (off_t)first);
    if (memory == MAP_FAILED) {
        (void)munmap(map, total);
        return NULL;
    }
    *p = (place){.first = first, .span = span, .memory = memory};
    return memory;
}

static bool make_workspace(runner *r, uint64_t bytes, uint64_t shift)
{
    if (r->map != NULL && r->workspace_bytes == bytes && r->shift == shift) {
        if (r->page->refill != 0) {
            memset(r->workspace, 0xff, bytes);
        }
        return true;
    }
    if (r->map != NULL) {
        (void)munmap(r->map, r->map_bytes);
        r->map = NULL;
    }
    if (bytes > AK_RUNNER_WORKSPACE_MAX) {
        return false;
    }
    uint64_t page = ak_page_bytes();
    uint64_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : page;
    uint64_t body = (shift + bytes + AK_GUARD_BYTES + page - 1) / page * page;
    uint64_t total = body + align + 2 * page;
    unsigned char *map = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    uint64_t start = ((uint64_t)(uintptr_t)map + page + align - 1) / align * align;
    unsigned char *workspace = map + (start - (uint64_t)(uintptr_t)map);
    /* mprotect is forbidden by now, so this maps again. */
    if (mmap(workspace, body, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
             0) == MAP_FAILED) {
        (void)munmap(map, total);
        return false;
    }
    (void)madvise(workspace, body, MADV_HUGEPAGE);
    /* All bits set are a NaN in every floating type, which reveals a kernel that reads before it
       writes. */
    memset(workspace + shift, 0xff, bytes);
    r->red_bytes = body - bytes - shift;
    r->map = map;
    r->map_bytes = total;
    r->workspace = workspace + shift;
    r->workspace_bytes = bytes;
    r->shift = shift;
    return true;
}

/* Paints the workspace's red zone anew before each batch, with the next kind of content, as the red
   zones of arguments are. */
static void paint_red_zone(runner *r)
{
    ak_guard_pattern pattern = {.key = r->page->salt, .content = ak_guard_content_of(r->rounds++)};
    r->red = ak_guard_stream_of(&pattern, AK_ARGUMENTS_MAX, AK_GUARD_AFTER, AK_DTYPE_F32);
    ak_guard_write(r->workspace + r->workspace_bytes, 0, r->red_bytes, &r->red);
    ak_guard_write(r->workspace - r->shift, r->red_bytes, r->shift, &r->red);
}

static bool whole_behind(const runner *r)
{
    return ak_guard_holds(r->workspace + r->workspace_bytes, 0, r->red_bytes, &r->red);
}

static bool whole_before(const runner *r)
{
    return ak_guard_holds(r->workspace - r->shift, r->red_bytes, r->shift, &r->red);
}

/* Stains the outputs before a call by a few stores, too few to be measured. The first call of a
   batch, and one with its own arguments, needs no stain, because the worker or ak_host_scramble has
   changed the outputs. A random word of the workspace, if there is one, is overwritten as well, so
   that a kernel cannot rely on what it kept there. */
static void stain(const runner *r, const ak_runner_page *page, void *const *arg, ak_host_stained *s,
                  uint64_t *state, bool first)
{
    if (!first) {
        ak_host_stain(&page->stain, arg, s, state, r->looked == 0);
    }
    if (page->workspace_bytes >= sizeof(uint64_t)) {
        uint64_t words = page->workspace_bytes / sizeof(uint64_t);
        memset(r->workspace + ((ak_host_drawn(state) >> 32) * words >> 32) * sizeof(uint64_t), 0xff,
               sizeof(uint64_t));
    }
}

/* Clears the general registers on x86-64 but rbp and rsp, so that none of them still holds a place
   that was stained. */
static inline void forget_registers(void)
{
#if defined(__x86_64__)
    __asm__ volatile("xorl %%eax, %%eax; xorl %%ebx, %%ebx; xorl %%ecx, %%ecx; xorl %%edx, %%edx;"
                     "xorl %%esi, %%esi; xorl %%edi, %%edi; xorl %%r8d, %%r8d; xorl %%r9d, %%r9d;"
                     "xorl %%r10d, %%r10d; xorl %%r11d, %%r11d; xorl %%r12d, %%r12d;"
                     "xorl %%r13d, %%r13d; xorl %%r14d, %%r14d; xorl %%r15d, %%r15d"
                     :
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
                       "r13", "r14", "r15", "cc");
#endif
}

static void forget_in_thread(void)
{
    ak_host_forget();
    ak_openmp_forget();
}

/* Looks at what an earlier call has left in a thread of the pool before it is cleared. */
static void forget_in_worker(void)
{
    if (take_flags() != 0 || is_mode_changed()) {
        atomic_store(&thread_left, true);
    }
    forget_in_thread();
}

/* Clears what earlier calls may have left in the processor, in the functions of host_openmp.c, and
   in signgam, the sign of lgamma. There may be two copies of signgam, so lgamma sets it. */
static void forget_calls(runner *r)
{
    static const volatile double one = 1;
    (void)lgamma(one);
    ak_host_pool_begin_call(r->pool, forget_in_worker);
    ak_openmp_forget_team();
    forget_in_thread();
}

/* Returns whether calls leave out work, judged by one batch or by all batches together. */
static bool leaves_out(const runner *r, uint64_t skipped)
{
    return skipped >= SKIPPED_MIN || r->blank >= BLANK_MIN ||
           (r->skipped > 0 && r->skipped == r->looked) ||
           (r->skipped >= SKIPPED_MIN && SKIPPED_PART * r->skipped >= r->looked);
}

static void point_to_arrays(whole_call *c)
{
    c->call.size = c->size;
    c->call.choice = c->choice;
    c->call.number = c->number;
    c->call.arg = c->arg;
    c->call.pitch = c->pitch;
}

/* Copies the call for the kernel, anew each time: a kernel that changed its sizes, or the place of
   its outputs, would have less to do in later calls. */
static void give(runner *r, const whole_call *mine)
{
    r->given = *mine;
    point_to_arrays(&r->given);
}

/* Moves the pointers from one iteration's arguments to the next one's. */
static void next_place(const ak_runner_page *page, void **arg)
{
    for (uint32_t i = 0; i < page->argument_count; i++) {
        arg[i] = (unsigned char *)arg[i] + page->stride;
    }
}

/* What touch_part reads to bring the arguments into the caches, as in the middle of a batch: before
   the calls of a batch that had no warm-up call, and when unseen inputs have appeared. Where
   nothing is loaded, reading the arguments is the work of a call. */
typedef struct touch {
    const unsigned char *memory;
    const ak_runner_page *asked;
    uint64_t step;  /* from a byte that is read to the next */
    uint32_t calls; /* whose arguments are read, if each call has its own */
    int turn;       /* thread t of n reads the part of thread (t + turn) % n */
} touch;

static void touch_bytes(const unsigned char *memory, uint64_t bytes, uint64_t step, int thread,
                        int n)
{
    uint64_t begin = bytes / (uint64_t)n * (uint64_t)thread;
    uint64_t end = thread + 1 == n ? bytes : bytes / (uint64_t)n * (uint64_t)(thread + 1);
    volatile unsigned char sink = 0;
    for (uint64_t i = begin; i < end; i += step) {
        sink = memory[i];
    }
    (void)sink;
}

static void touch_part(void *context, int worker, int n)
{
    const touch *t = context;
    const ak_runner_page *asked = t->asked;
    const int thread = (worker + t->turn) % n;
    if (asked->stride == 0) {
        touch_bytes(t->memory, asked->span, t->step, thread, n);
        return;
    }
    for (uint32_t k = 0; k < t->calls; k++) {
        for (uint32_t i = 0; i < asked->argument_count; i++) {
            touch_bytes(t->memory + k * asked->stride + asked->offset[i], asked->bytes[i], t->step,
                        thread, n);
        }
    }
}

/* Runs the calls of a batch, or its warm-up calls. Returns how many stained elements a candidate's
   calls have left unwritten. The first call is not stained and does not count, nor do calls that
   each have their own arguments. */
static uint64_t repeat(runner *r, const ak_runner_page *page, whole_call *mine, uint32_t iterations,
                       uint64_t *state)
{
    ak_host_stained s = {0};
    uint64_t flags = 0;
    for (uint32_t i = 0; i < iterations; i++) {
        const bool first = i == 0 || page->stride > 0;
        if (i > 0 && page->stride > 0) {
            next_place(page, mine->arg);
        }
        if (r->kernel != NULL) {
            stain(r, page, mine->arg, &s, state, first);
            give(r, mine);
            ak_host_forget_stack(); /* the stack may still hold addresses of stained elements */
            forget_calls(r);
            forget_registers();
            r->kernel(&r->given.call);
            flags |= take_flags();
            if (!first) {
                r->looked += ak_host_stained_look(&page->stain, &s);
            }
        } else if (r->ops != NULL) {
            stain(r, page, mine->arg, &s, state, first);
            r->ops->run(r->baseline, &mine->call);
        } else if (page->span > 0) {
            const uint64_t apart = page->reads == 0 ? 1 : page->span / page->reads;
            /* A candidate's threads may divide the arguments in another way than the threads that
               brought these into their caches. So each reads here what is in another's cache. */
            touch t = {(const unsigned char *)mine->arg[0] - page->offset[0], page,
                       CACHE_LINE * (apart < 1 ? 1 : apart), 1, 1};
            ak_host_pool_parallel(r->pool, page->threads, touch_part, &t);
        }
    }
    flags_left |= flags;
    r->skipped += s.skipped;
    r->blank += s.blank;
    return s.skipped;
}

/* Number of rounds of random branches, which overwrite the branch predictor's tables. The tables
   are indexed by the directions that earlier branches took. */
#define SCATTERED 100000
static void scatter_branches(void *context, int thread, int n)
{
    uint64_t x = *(const uint64_t *)context + (uint64_t)thread * 2 + 1, taken = 0;
    (void)n;
    for (int i = 0; i < SCATTERED; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        /* The loop is unrolled, so that there are 64 branches, each with its own entries. */
#pragma GCC unroll 64
        for (int bit = 0; bit < 64; bit++) {
            if ((x >> bit & 1) != 0) {
                __asm__ volatile("" : "+r"(taken)); /* keeps the branch */
                taken++;
            }
        }
    }
    __asm__ volatile("" : : "r"(taken));
}

/* Outputs that are changed by all threads of a call, in whose caches they then are. */
typedef struct scramble {
    const ak_host_stainable *of;
    void *const *arg;
    uint64_t random;
} scramble;

static void scramble_part(void *context, int thread, int n)
{
    const scramble *s = context;
    ak_host_scramble(s->of, s->arg, s->random, thread, n);
}

static void nothing(void *context, int thread, int n)
{
    (void)context, (void)thread, (void)n;
}

/* Waits until `go` is no longer `last`. */
static void wait_for_go(ak_runner_page *page, uint32_t last)
{
    int64_t end = ak_clock_ns() + GO_SPIN_NS;
    while (atomic_load_explicit(&page->go, memory_order_acquire) == last) {
        if (ak_clock_ns() < end) {
            continue;
        }
        atomic_store(&page->dozing, 1u);
        (void)syscall(SYS_futex, &page->go, FUTEX_WAIT, last, NULL, NULL, 0);
    }
    atomic_store(&page->dozing, 0u);
}

/* Runs one batch. This function is long because it is the child's side of the wire protocol;
   one_batch (host_batch.c) is the worker's. */
static void run(runner *r)
{
    ak_runner_page *page = r->page;
    whole_call mine = {0};
    ak_error err = AK_ERROR_INIT;
    const char *fault = NULL;
    unsigned char *memory = NULL;
    const int64_t spin = page->span > 0 ? CANDIDATE_SPIN_NS : 0;
    if (r->pool == NULL && open_pinned(r, spin, &err) != AK_OK) {
        /* Nothing is loaded: this is an empty batch, for calibration, or one that only reads. */
        fault = err.text;
    } else if (page->span > 0 && (memory = map_place(r, page->first, page->span)) == NULL) {
        fault = "the arguments do not fit into memory";
    } else if (!make_workspace(r, page->workspace_bytes, page->workspace_shift)) {
        fault = "the workspace does not fit into memory";
    }
    memcpy(mine.size, page->size, sizeof mine.size);
    for (int i = 0; i < AK_CHOICES_MAX; i++) {
        mine.choice[i] = page->choice[i];
    }
    memcpy(mine.number, page->number, sizeof mine.number);
    memcpy(mine.pitch, page->pitch, sizeof mine.pitch);
    for (uint32_t i = 0; fault == NULL && i < page->argument_count; i++) {
        mine.arg[i] = memory + page->offset[i];
    }
    mine.call.workspace = r->workspace;
    mine.call.threads = page->threads;
    point_to_arrays(&mine);
    ak_host_pool_give(&mine.call, r->pool);
    if (fault == NULL && r->kernel == NULL && r->ops != NULL && r->ops->prepare != NULL &&
        r->ops->prepare(r->baseline, &mine.call, &err) != AK_OK) {
        fault = err.text;
    }
    if (fault != NULL) {
        answer(page, r->ops != NULL ? AK_TRIAL_LAUNCH_ERROR : AK_TRIAL_OUT_OF_MEMORY, fault);
        say(AK_RUNNER_END);
        return;
    }
    /* This copy of the request counts, whatever happens to the page; the worker checks the page
       afterwards. */
    const ak_runner_page asked = *page;
    uint64_t state = asked.salt;
    (void)ak_host_drawn(&state); /* mixes the time into it */
    paint_red_zone(r);
    ak_host_pool_limit(r->pool, asked.threads); /* this holds even if a kernel asks for more */
    ak_openmp_use(r->pool, asked.threads);
    usual_arithmetic();
    (void)repeat(r, &asked, &mine, asked.warm, &state);
    if (asked.warm > 0) { /* outputs hold results, which the next call must not rely on */
        scramble all = {&asked.stain, mine.arg, ak_host_drawn(&state)};
        ak_host_pool_parallel(r->pool, r->ops == NULL ? asked.threads : 1, scramble_part, &all);
    }
    if (asked.scatter != 0) {
        uint64_t seed = ak_host_drawn(&state);
        ak_host_pool_parallel(r->pool, asked.threads, scatter_branches, &seed);
    }
    touch t = {memory, &asked, CACHE_LINE, asked.iterations, 0};
    if (asked.warm == 0 && memory != NULL && r->ops == NULL) {
        ak_host_pool_parallel(r->pool, asked.threads, touch_part, &t);
    }
    if (r->ops == NULL) {
        /* This wakes the threads. */
        ak_host_pool_parallel(r->pool, page->threads, nothing, NULL);
    }
    say(AK_RUNNER_READY);
    wait_for_go(page, 0);
    if (asked.unseen != 0 && memory != NULL) {
        ak_host_pool_parallel(r->pool, asked.threads, touch_part, &t);
        say(AK_RUNNER_READY);
        wait_for_go(page, 1);
    }
    uint64_t skipped = repeat(r, &asked, &mine, asked.iterations, &state);
    const char *left = r->kernel != NULL ? left_behind() : NULL;
    if (leaves_out(r, skipped)) {
        char text[AK_RUNNER_REASON_MAX];
        (void)snprintf(text, sizeof text,
                       "it left %llu of %llu element%s of its outputs that were changed between "
                       "calls as it had found them: it does not do all of the work in every call",
                       (unsigned long long)r->skipped, (unsigned long long)r->looked,
                       ak_plural((size_t)r->looked));
        answer(page, AK_TRIAL_REJECTED, text);
    } else if (left != NULL) {
        answer(page, AK_TRIAL_REJECTED, left);
    } else if (!whole_before(r)) {
        answer(page, AK_TRIAL_WRONG_RESULT, "it writes before the beginning of its workspace");
    } else if (whole_behind(r)) {
        answer(page, AK_TRIAL_OK, "");
    } else {
        answer(page, AK_TRIAL_WRONG_RESULT,
               "it writes beyond the end of its workspace: the space file asks for too little");
    }
    say(AK_RUNNER_DONE); /* from here on the worker may stop this process at any time */
    /* A library starts its threads at its first call, and they inherit the processors of its
       caller. So the caller is pinned only now, and the library's threads stay free to use the
       other cores. */
    if (r->ops != NULL && r->ops->keeps_threads && !r->pinned && asked.iterations > 0) {
        ak_host_pool_pin(r->pool);
        r->pinned = true;
    }
}

enum { BLOCK_FD = 3, PAGE_FD = 4 }; /* in argv: autokernel worker --runner BLOCK_FD PAGE_FD */

/* Reads the number of an inherited descriptor; returns false if the text is no number below 4096,
   and for a standard or a closed descriptor. */
static bool read_descriptor(int *out, const char *text)
{
    int64_t fd;
    bool fine = ak_text_int(&fd, text) && fd > 2 && fd < 4096;
    *out = fine ? (int)fd : -1;
    return fine && fcntl(*out, F_GETFD) >= 0;
}

/* Opens the block once more in place of the worker's descriptor, whose offset all runners share: it
   could hold a number for the next process of a candidate. */
static void open_anew(int fd)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int own = open(path, O_RDWR | O_CLOEXEC);
    if (own >= 0) {
        (void)dup2(own, fd);
        (void)close(own);
    }
}

int ak_runner_main(int argc, char **argv)
{
    int block_fd, page_fd;
    if (argc != PAGE_FD + 1 || !read_descriptor(&block_fd, argv[BLOCK_FD]) ||
        !read_descriptor(&page_fd, argv[PAGE_FD]) || fcntl(AK_PROC_REQUEST_FD, F_GETFD) < 0 ||
        fcntl(AK_PROC_REPLY_FD, F_GETFD) < 0) {
        return AK_WORKER_EXIT_USAGE;
    }
    (void)fcntl(AK_PROC_REQUEST_FD, F_SETFD, FD_CLOEXEC);
    (void)fcntl(AK_PROC_REPLY_FD, F_SETFD, FD_CLOEXEC);
    ak_proc_own_program();
    open_anew(block_fd);
    runner r = {.block_fd = block_fd};
    void *page = mmap(NULL, sizeof *r.page, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
    if (page == MAP_FAILED) {
        return 1;
    }
    r.page = page;
    int null = open("/dev/null", O_RDWR);
/* The messages of a candidate are dropped, but not those of AddressSanitizer in builds with it. */
#ifndef __SANITIZE_ADDRESS__
    (void)dup2(null, 2);
#endif
    (void)dup2(null, 0);
    const int keep[] = {0, 1, 2, AK_PROC_REQUEST_FD, AK_PROC_REPLY_FD, block_fd};
    ak_sandbox_close_others(keep, AK_COUNT(keep));
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
    /* Libraries reserve address space that they never touch, so the limit is above the machine's
       memory. */
    ak_sandbox_limit(memory == 0 ? 0 : memory + ((size_t)8 << 30), CPU_SECONDS_MAX);
    /* The tile registers are asked for now, because a confined process cannot ask the system. */
    ak_host_forget_prepare(ak_host_tiles());
    for (;;) {
        char command;
        ssize_t got = read(AK_PROC_REQUEST_FD, &command, 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            _exit(0); /* without running a candidate's destructors */
        }
        if (command == AK_RUNNER_LOAD) {
            load(&r);
        } else {
            run(&r);
        }
    }
}
