/*
 * host_runner.c: the confined child, see host_runner.h. It gives up its rights before it loads
 * anything, in an order that each step allows: descriptors and limits at the start; files before
 * the artifact is opened; threads; then the system calls, for all threads at once.
 *
 * A library that we compare with is trusted with threads and files to read (it starts threads and
 * looks at the machine); a candidate is trusted with nothing.
 */
#include "backend/host/host_runner.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/host/host_baseline.h"
#include "backend/host/host_pool.h"
#include "backend/sandbox.h"
#include "base/clock.h"
#include "base/proc.h"

/* An idle thread of a candidate's pool spins as long as the serial parts of a kernel usually last.
 */
#define CANDIDATE_SPIN_NS 100000
/* Waiting for `go`: the worker sets it within microseconds, unless it was interrupted. */
#define GO_SPIN_NS 500000
/* Behind the workspace: bytes of a known pattern, then a page that cannot be touched. */
#define RED_ZONE_BYTES 4096
#define RED_ZONE       0xa5
#define HUGE_PAGE      (UINT64_C(2) << 20)
/* Candidates may run for long, but not for ever even if the worker is gone. */
#define CPU_SECONDS_MAX 7200

typedef struct runner {
    ak_runner_page *page;
    int block_fd;
    unsigned char *block;
    uint64_t block_bytes;
    unsigned char *map; /* that the workspace lies in */
    uint64_t map_bytes;
    unsigned char *workspace;
    uint64_t workspace_bytes, red_bytes;
    ak_host_pool *pool;
    void (*kernel)(const ak_host_call *call);
    const ak_baseline_ops *ops;
    ak_baseline *baseline;
    bool pinned; /* a baseline: after its first run */
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

/* Denormals are kept and no exception is trapped: an artifact linked with -ffast-math would switch
   the first while it is loaded, and be measured with another arithmetic than the rest. */
static void usual_arithmetic(void)
{
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(0x1f80);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(UINT64_C(0)));
#endif
}

/* ---- load ---------------------------------------------------------------------------------- */

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
    (void)ak_sandbox_files(readable, NULL);
    ak_error err = AK_ERROR_INIT;
    if (ak_host_pool_open(&r->pool, page->threads_max, CANDIDATE_SPIN_NS, &err) != AK_OK) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, err.text);
        return;
    }
    ak_host_pool_pin(r->pool);
    (void)ak_sandbox_seal();
    void *library = dlopen(page->artifact, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        answer(page, AK_TRIAL_LAUNCH_ERROR, why == NULL ? "it cannot be loaded" : why);
        return;
    }
    void *symbol = dlsym(library, page->symbol);
    if (symbol == NULL) {
        char text[96];
        (void)snprintf(text, sizeof text, "it does not define %.31s()", page->symbol);
        answer(page, AK_TRIAL_LAUNCH_ERROR, text);
        return;
    }
    memcpy(&r->kernel, &symbol, sizeof symbol); /* ISO C has no cast from object to function */
    answer(page, AK_TRIAL_OK, "");
}

static void load_baseline(runner *r)
{
    ak_runner_page *page = r->page;
    static const char *const all[] = {"/", NULL};
    static const char *const devices[] = {"/dev/null", "/dev/shm", NULL};
    (void)ak_sandbox_files(all, devices);
    const char *variant;
    ak_error err = AK_ERROR_INIT;
    r->ops = ak_baseline_find(&variant, page->baseline);
    if (r->ops == NULL) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, "there is no such baseline");
        return;
    }
    ak_baseline_setup setup = {.variant = variant,
                               .problem = page->problem,
                               .choices = page->choices,
                               .library_threads = page->library_threads};
    char version[sizeof page->version] = "";
    /* Our own threads, for passes and copies, sleep at once: the library's run on the same cores.
     */
    if (ak_host_pool_open(&r->pool, page->threads_max, 0, &err) != AK_OK ||
        r->ops->open(&r->baseline, version, sizeof version, &setup, &err) != AK_OK) {
        answer(page, AK_TRIAL_LAUNCH_ERROR, err.text);
        return;
    }
    (void)snprintf(page->title, sizeof page->title, "%s", r->ops->title);
    memcpy(page->version, version, sizeof version);
    answer(page, AK_TRIAL_OK, "");
}

static void load(runner *r)
{
    r->page->title[0] = r->page->version[0] = 0;
    if (r->page->artifact[0] != 0) {
        load_candidate(r);
    } else {
        load_baseline(r);
    }
    say(AK_RUNNER_END);
}

/* ---- run ----------------------------------------------------------------------------------- */

static bool map_block(runner *r, uint64_t bytes)
{
    if (r->block_bytes == bytes) {
        return true;
    }
    if (r->block_bytes > 0) {
        (void)munmap(r->block, r->block_bytes);
        r->block_bytes = 0;
    }
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->block_fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    r->block = memory;
    r->block_bytes = bytes;
    return true;
}

static bool make_workspace(runner *r, uint64_t bytes)
{
    if (r->map != NULL && r->workspace_bytes == bytes) {
        return true;
    }
    if (r->map != NULL) {
        (void)munmap(r->map, r->map_bytes);
        r->map = NULL;
    }
    if (bytes > AK_RUNNER_WORKSPACE_MAX) {
        return false;
    }
    uint64_t page = 4096;
    uint64_t align = bytes >= HUGE_PAGE ? HUGE_PAGE : page;
    uint64_t body = (bytes + RED_ZONE_BYTES + page - 1) / page * page;
    uint64_t total = body + align + 2 * page;
    unsigned char *map = mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    uint64_t start = ((uint64_t)(uintptr_t)map + page + align - 1) / align * align;
    unsigned char *workspace = map + (start - (uint64_t)(uintptr_t)map);
    if (mprotect(workspace, body, PROT_READ | PROT_WRITE) != 0) {
        (void)munmap(map, total);
        return false;
    }
    (void)madvise(workspace, body, MADV_HUGEPAGE);
    /* All bits set are a NaN in every floating type: who reads before writing is found out. */
    memset(workspace, 0xff, bytes);
    r->red_bytes = body - bytes;
    memset(workspace + bytes, RED_ZONE, r->red_bytes);
    r->map = map;
    r->map_bytes = total;
    r->workspace = workspace;
    r->workspace_bytes = bytes;
    return true;
}

static bool red_zone_whole(const runner *r)
{
    for (uint64_t i = 0; i < r->red_bytes; i++) {
        if (r->workspace[r->workspace_bytes + i] != RED_ZONE) {
            return false;
        }
    }
    return true;
}

/* One element of each output becomes NaN again before each iteration: a kernel that remembers that
   it has already been here leaves it so. One store, no load: nothing that could be measured. */
static void stain(const ak_runner_page *page, unsigned char *block, uint64_t *state)
{
    for (uint32_t i = 0; i < page->argument_count; i++) {
        if (page->stain_count[i] == 0) {
            continue;
        }
        *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t index = (*state >> 32) * page->stain_count[i] >> 32;
        unsigned char *at = block + page->offset[i] + index * page->stain_bytes[i];
        switch (page->stain_bytes[i]) { /* constants: a call would cost more than the store */
        case 8:
            memset(at, 0xff, 8);
            break;
        case 4:
            memset(at, 0xff, 4);
            break;
        default:
            memset(at, 0xff, 2);
            break;
        }
    }
}

static void repeat(runner *r, const ak_host_call *call, uint32_t iterations, uint64_t *salt)
{
    for (uint32_t i = 0; i < iterations; i++) {
        stain(r->page, r->block, salt);
        if (r->kernel != NULL) {
            r->kernel(call);
        } else if (r->ops != NULL) {
            r->ops->run(r->baseline, call);
        }
    }
}

static void nothing(void *context, int thread, int n)
{
    (void)context, (void)thread, (void)n;
}

static void wait_for_go(ak_runner_page *page)
{
    int64_t end = ak_clock_ns() + GO_SPIN_NS;
    while (atomic_load_explicit(&page->go, memory_order_acquire) == 0) {
        if (ak_clock_ns() < end) {
            continue;
        }
        atomic_store(&page->dozing, 1u);
        (void)syscall(SYS_futex, &page->go, FUTEX_WAIT, 0, NULL, NULL, 0);
    }
}

static void run(runner *r)
{
    ak_runner_page *page = r->page;
    void *arg[AK_ARGUMENTS_MAX] = {NULL};
    int64_t size[AK_SIZES_MAX];
    int choice[AK_CHOICES_MAX];
    double number[AK_CHOICES_MAX];
    int64_t pitch[AK_ARGUMENTS_MAX];
    ak_error err = AK_ERROR_INIT;
    const char *fault = NULL;
    if (r->pool == NULL && ak_host_pool_open(&r->pool, page->threads_max, 0, &err) != AK_OK) {
        fault = err.text; /* nothing is loaded: an empty batch, for calibration */
    } else if (!map_block(r, page->block_bytes)) {
        fault = "the arguments do not fit into memory";
    } else if (!make_workspace(r, page->workspace_bytes)) {
        fault = "the workspace does not fit into memory";
    }
    for (int i = 0; i < AK_SIZES_MAX; i++) {
        size[i] = page->size[i];
    }
    for (int i = 0; i < AK_CHOICES_MAX; i++) {
        choice[i] = page->choice[i];
        number[i] = page->number[i];
    }
    memcpy(pitch, page->pitch, sizeof pitch);
    for (uint32_t i = 0; fault == NULL && i < page->argument_count; i++) {
        arg[i] = r->block + page->offset[i];
    }
    ak_host_call call = {.size = size,
                         .choice = choice,
                         .number = number,
                         .arg = arg,
                         .pitch = pitch,
                         .workspace = r->workspace,
                         .threads = page->threads,
                         .parallel = ak_host_pool_parallel,
                         .barrier = ak_host_pool_barrier,
                         .pool = r->pool};
    if (fault == NULL && r->ops != NULL && r->ops->prepare != NULL &&
        r->ops->prepare(r->baseline, &call, &err) != AK_OK) {
        fault = err.text;
    }
    if (fault != NULL) {
        answer(page, r->ops != NULL ? AK_TRIAL_LAUNCH_ERROR : AK_TRIAL_OUT_OF_MEMORY, fault);
        say(AK_RUNNER_END);
        return;
    }
    uint64_t salt = page->salt;
    uint32_t iterations = page->iterations;
    usual_arithmetic();
    repeat(r, &call, page->warm, &salt);
    if (r->ops == NULL) {
        ak_host_pool_parallel(r->pool, page->threads, nothing, NULL); /* wakes the threads */
    }
    say(AK_RUNNER_READY);
    wait_for_go(page);
    repeat(r, &call, iterations, &salt);
    say(AK_RUNNER_DONE);
    /* A library starts its threads at its first call, and they inherit what its caller is tied to:
       so its caller is tied down only now, and its threads stay free to use the other cores. */
    if (r->ops != NULL && r->ops->keeps_threads && !r->pinned && iterations > 0) {
        ak_host_pool_pin(r->pool);
        r->pinned = true;
    }
    if (red_zone_whole(r)) {
        answer(page, AK_TRIAL_OK, "");
    } else {
        answer(page, AK_TRIAL_WRONG_RESULT,
               "it writes beyond the end of its workspace: the space file asks for too little");
    }
    say(AK_RUNNER_END);
}

int ak_runner_main(int block_fd, int page_fd)
{
    runner r = {.block_fd = block_fd};
    void *page = mmap(NULL, sizeof *r.page, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
    if (page == MAP_FAILED) {
        return 1;
    }
    r.page = page;
    int null = open("/dev/null", O_RDWR);
#ifndef __SANITIZE_ADDRESS__
    (void)dup2(null, 2); /* what a candidate prints is nobody's business */
#endif
    (void)dup2(null, 0);
    const int keep[] = {0, 1, 2, AK_PROC_REQUEST_FD, AK_PROC_REPLY_FD, block_fd};
    ak_sandbox_close_others(keep, sizeof keep / sizeof keep[0]);
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : 0;
    /* Libraries reserve address space that they never touch; so leave some beyond what there is. */
    ak_sandbox_limits limits = {.memory_max = memory == 0 ? 0 : memory + ((size_t)8 << 30),
                                .cpu_seconds_max = CPU_SECONDS_MAX};
    ak_sandbox_limit(&limits);
    for (;;) {
        char command;
        ssize_t got = read(AK_PROC_REQUEST_FD, &command, 1);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            _exit(0); /* destructors of a candidate are not run */
        }
        if (command == AK_RUNNER_LOAD) {
            load(&r);
        } else {
            run(&r);
        }
    }
}
