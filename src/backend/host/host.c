/*
 * host.c: the CPU as a device, seen from its worker process. Arguments live in one block of shared
 * memory; each candidate or library lives in a confined child of its own (host_runner.c) that maps
 * the block. The next child is started while the present one works, so that loading does not wait
 * for a process to start.
 *
 * Time is taken here: from setting `go`, for which the child spins, to the byte that reports the
 * end, minus what an empty batch takes. A child that is not being measured is stopped, so that
 * spinning idle threads of a library do not take cores from others, and so that nothing runs on
 * while a result is checked.
 *
 * This file is long because the child, its memory and the clock of a batch share one protocol of a
 * few futexes and pipes, which is read as a whole.
 */
#include "backend/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/host/host_baseline.h"
#include "backend/host/host_forget.h"
#include "backend/host/host_pool.h"
#include "backend/host/host_runner.h"
#include "backend/host/host_tiles.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "base/number.h"
#include "base/proc.h"
#include "base/rng.h"
#include "check/guard.h"

/* Descriptors start above those that base/proc_launch.c replaces in a child. */
#define LOW_FD 10
/* Limit for loading an artifact or a library, which runs constructors and detects core types. */
#define LOAD_TIMEOUT_NS (20 * AK_SECOND_NS)
/* Limit for checking the red zones after a run. */
#define END_TIMEOUT_NS (10 * AK_SECOND_NS)
/* A child that has closed its pipe must be dead after this; it first gives back its memory. */
#define DEATH_NS     (2 * AK_SECOND_NS)
#define CALIBRATIONS 15
/* So long after a call alone began the worker looks for its end without sleeping. A virtual machine
   may need 40 us to wake a processor that sleeps, which for a short call would look like work. */
#define ALERT_NS INT64_C(100000)
/* A child that waited for a processor gets extra time: at most GRANT_MAX times its limit in all,
   and none if it waited for less than 1/GRANT_PART of it. */
#define GRANT_MAX  3
#define GRANT_PART 10
/* works_on explains these; idle threads of a candidate's pool spin for 100 us. */
#define LOOK_NS  500000
#define LATE_MIN 6
/* A candidate leaks memory if its own memory has grown by GROWN_BYTES since its first batch at this
   shape, and in each of at least GROWN_BATCHES batches but for a fourth of them. Scratch memory
   that the allocator keeps grows a few times and then no more. */
#define GROWN_BYTES   (INT64_C(1) << 20)
#define GROWN_BATCHES 8
/* A workspace up to this size is overwritten before every batch; a larger one before a single call,
   and otherwise before about one batch in REFILL_EVERY. */
#define REFILL_BYTES (UINT64_C(1) << 20)
#define REFILL_EVERY 4
/* At most this many killed children may still be giving back their memory. */
#define DYING_MAX 8
/* Of each input this many elements are withheld from a call alone. */
#define WITHHELD 4

struct ak_device {
    const ak_task *task;
    int threads;
    int block_fd;
    unsigned char *block;
    size_t block_bytes;
    ak_runnable *spare;      /* started, but nothing is loaded */
    int64_t roundtrip_ns[2]; /* what an empty batch takes, the second if the worker is alert */
    double forget_ns;        /* what setting the processor's state back takes before each call */
    bool watch;              /* count waits for a processor; not in empty batches */
    uint64_t salt;
    pid_t dying[DYING_MAX]; /* children that were killed but not reaped; 0: free */
    ak_ceilings ceilings;
    ak_host_energy energy;
    ak_fs_owned own; /* where the problem's own baselines lie; not open before the first */
};

/* An element of an input that is not in the block yet. */
typedef struct withheld {
    size_t at; /* offset in the block */
    size_t bytes;
    unsigned char value[8];
} withheld;

struct ak_runnable {
    ak_device *device;
    ak_proc proc;
    ak_runner_page *page;
    bool is_candidate;
    int batches, late;  /* `batches` that were timed, and the `late` ones after which the candidate
                           kept computing */
    int64_t granted_ns; /* extra time so far, for waiting on a busy machine */
    /* Growth of its memory: for which sizes and workspace, what was in use
       after the first batch there and at most, and in how many of so many batches it grew. */
    int64_t grown_size[AK_SIZES_MAX];
    uint64_t grown_workspace, grown_calls;
    int64_t grown_from, grown_most;
    int grown_batches, grown_times;
    withheld withheld[AK_ARGUMENTS_MAX * WITHHELD];
    size_t withheld_count;
    char title[64], version[96];
};

/* ---- the child ----------------------------------------------------------------------------- */

static void runner_free(ak_runnable *runner)
{
    if (runner != NULL) {
        ak_proc_kill(&runner->proc);
        if (runner->page != NULL) {
            (void)munmap(runner->page, sizeof *runner->page);
        }
        ak_free(runner);
    }
}

/* Reaps children that were killed: all of them, waiting for each, or at least enough for one free
   place. */
static void reap(ak_device *device, bool all)
{
    bool room = false;
    for (int i = 0; i < DYING_MAX; i++) {
        if (device->dying[i] != 0) {
            bool wait = all || (i == DYING_MAX - 1 && !room);
            pid_t done = waitpid(device->dying[i], NULL, wait ? 0 : WNOHANG);
            device->dying[i] = done == 0 ? device->dying[i] : 0;
        }
        room = room || device->dying[i] == 0;
    }
}

/* Frees a runner without waiting until the kernel has taken a big process apart. That takes a
   millisecond, in which the next candidate can be loaded. */
static void runner_drop(ak_runnable *runner)
{
    ak_device *device = runner->device;
    pid_t pid = runner->proc.pid;
    if (pid > 0) {
        (void)kill(-pid, SIGKILL);
        (void)close(runner->proc.to);
        (void)close(runner->proc.from);
        runner->proc.pid = 0;
        reap(device, false);
        for (int i = 0; i < DYING_MAX; i++) {
            if (device->dying[i] == 0) {
                device->dying[i] = pid;
                break;
            }
        }
    }
    runner_free(runner);
}

/* Makes a descriptor that children inherit; they close it before they run anything else. */
static int shared_memory(const char *name)
{
    int fd = memfd_create(name, MFD_ALLOW_SEALING);
    if (fd >= 0 && fd < LOW_FD) {
        int moved = fcntl(fd, F_DUPFD, LOW_FD);
        (void)close(fd);
        fd = moved;
    }
    return fd;
}

static ak_status runner_start(ak_runnable **out, ak_device *device, ak_error *err)
{
    ak_runnable *runner;
    AK_DO(AK_NEW(runner, 1, err));
    runner->device = device;
    ak_status status = AK_OK;
    int fd = shared_memory("autokernel-page");
    if (fd < 0 || ftruncate(fd, sizeof(ak_runner_page)) != 0 ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
        status = ak_fail(err, AK_IO, "no shared memory for a runner: %s", strerror(errno));
    }
    if (status == AK_OK) {
        void *page = mmap(NULL, sizeof(ak_runner_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (page == MAP_FAILED) {
            status = ak_fail(err, AK_IO, "no shared memory for a runner: %s", strerror(errno));
        } else {
            runner->page = page;
        }
    }
    if (status == AK_OK) {
        char block_text[16], page_text[16];
        (void)snprintf(block_text, sizeof block_text, "%d", device->block_fd);
        (void)snprintf(page_text, sizeof page_text, "%d", fd);
        const char *const argv[] = {"/proc/self/exe", "worker",  "--runner",
                                    block_text,       page_text, NULL};
        /* In builds with a sanitizer a crash of a candidate must end it with a signal. */
#define PLAIN_CRASHES                                                                              \
    "detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
        const char *const variables[] = {"ASAN_OPTIONS=" PLAIN_CRASHES,
                                         "TSAN_OPTIONS=" PLAIN_CRASHES, NULL};
        ak_proc_spec spec = {.argv = argv, .setenv = variables, .keep_files = true};
        status = ak_proc_start(&runner->proc, &spec, err);
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (status != AK_OK) {
        runner_free(runner);
        return status;
    }
    *out = runner;
    return AK_OK;
}

static ak_status runner_take(ak_runnable **out, ak_device *device, ak_error *err)
{
    AK_DO(device->spare == NULL ? runner_start(&device->spare, device, err) : AK_OK);
    *out = device->spare;
    device->spare = NULL;
    return AK_OK;
}

static void conclude(ak_outcome *out, ak_trial_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void conclude(ak_outcome *out, ak_trial_status status, const char *format, ...)
{
    va_list args;
    out->status = status;
    out->ns = 0;
    va_start(args, format);
    (void)ak_number_vprint(out->reason, sizeof out->reason, format, args);
    va_end(args);
}

/* Finds the reason why a child has closed its pipe: it has ended or is about to. */
static void post_mortem(ak_outcome *out, ak_runnable *runner)
{
    int how = 0;
    pid_t done = 0;
    int64_t deadline = ak_clock_ns() + DEATH_NS;
    while ((done = waitpid(runner->proc.pid, &how, WNOHANG)) == 0 && ak_clock_ns() < deadline) {
        ak_clock_sleep_ns(AK_MS_NS / 10);
    }
    if (done != runner->proc.pid) {
        conclude(out, AK_TRIAL_REJECTED, "it closed the harness' pipe");
    } else if (!WIFSIGNALED(how)) {
        conclude(out, AK_TRIAL_CRASHED, "it ended the process (exit code %d)", WEXITSTATUS(how));
    } else if (WTERMSIG(how) == SIGSYS) {
        conclude(out, AK_TRIAL_REJECTED,
                 "it made a system call that a kernel must not make (threads, processes, files "
                 "and signals belong to the harness; for threads, also those of OpenMP, use "
                 "call->parallel of ak_host.h)");
    } else if (WTERMSIG(how) == SIGKILL) {
        conclude(out, AK_TRIAL_OUT_OF_MEMORY,
                 "the system killed it, most likely because memory ran out");
    } else if (WTERMSIG(how) == SIGXCPU) {
        conclude(out, AK_TRIAL_TIMED_OUT, "it used up its CPU time");
    } else if (WTERMSIG(how) == SIGILL) {
        conclude(out, AK_TRIAL_CRASHED,
                 "signal %d (%s): the code has an instruction that this processor lacks, or a "
                 "trap: compile with -march=native, or write into \"Needs\" of the space file what "
                 "it needs (vector_bytes == 64)",
                 WTERMSIG(how), strsignal(WTERMSIG(how)));
    } else {
        conclude(out, AK_TRIAL_CRASHED, "signal %d (%s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
    }
    if (done == runner->proc.pid) {
        (void)kill(-runner->proc.pid, SIGKILL);
        runner->proc.pid = 0;
        (void)close(runner->proc.to);
        (void)close(runner->proc.from);
    } else {
        ak_proc_kill(&runner->proc);
    }
}

/* Returns how long the child's threads, added up, have been ready to run without a processor, in
   nanoseconds: the second number in schedstat (Documentation/scheduler/sched-stats.rst). Negative
   if that is not known. */
static int64_t waits_of(const ak_runnable *runner)
{
    char folder[64], path[384], text[96];
    int64_t sum = 0;
    (void)snprintf(folder, sizeof folder, "/proc/%d/task", (int)runner->proc.pid);
    DIR *tasks = opendir(folder);
    if (tasks == NULL) {
        return -1;
    }
    for (const struct dirent *one = readdir(tasks); one != NULL && sum >= 0; one = readdir(tasks)) {
        if (one->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(path, sizeof path, "%s/%s/schedstat", folder, one->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
        text[got < 0 ? 0 : got] = 0;
        char *second = strchr(text, ' ');
        sum = second == NULL ? -1 : sum + strtoll(second, NULL, 10);
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    (void)closedir(tasks);
    return sum;
}

/* Returns the extra time for a child that is out of time but had to wait for a processor. Over all
   batches it gets at most GRANT_MAX times its limit. */
static int64_t more_time(ak_runnable *runner, int64_t limit_ns)
{
    int64_t waits = waits_of(runner), most = GRANT_MAX * limit_ns - runner->granted_ns;
    int64_t more = waits - runner->granted_ns;
    more = more < most ? more : most;
    return waits < 0 || more < limit_ns / GRANT_PART ? 0 : more;
}

/* Waits for one byte. If the child has ended or the deadline has passed, writes the outcome, kills
   the child and returns false. `limit_ns` is for the message. */
static bool await(ak_outcome *out, char *got, ak_runnable *runner, int64_t deadline,
                  int64_t limit_ns)
{
    for (;;) {
        int64_t left = deadline - ak_clock_ns();
        int64_t more = left > 0 ? 0 : more_time(runner, limit_ns);
        if (more > 0) {
            runner->granted_ns += more;
            deadline += more;
            continue;
        }
        if (left <= 0) {
            ak_proc_kill(&runner->proc);
            conclude(out, AK_TRIAL_TIMED_OUT, "no answer within %.3g s", (double)limit_ns / 1e9);
            return false;
        }
        struct pollfd ready = {.fd = runner->proc.from, .events = POLLIN};
        struct timespec wait = {.tv_sec = left / AK_SECOND_NS, .tv_nsec = left % AK_SECOND_NS};
        if (ppoll(&ready, 1, &wait, NULL) <= 0) {
            continue;
        }
        ssize_t count = read(runner->proc.from, got, 1);
        if (count == 1) {
            return true;
        }
        if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
            post_mortem(out, runner);
            return false;
        }
    }
}

static bool await_byte(ak_outcome *out, char want, ak_runnable *runner, int64_t deadline,
                       int64_t limit_ns)
{
    char got = 0;
    if (!await(out, &got, runner, deadline, limit_ns)) {
        return false;
    }
    if (got != want) {
        ak_proc_kill(&runner->proc);
        conclude(out, AK_TRIAL_REJECTED, "it writes to the harness' pipe");
        return false;
    }
    return true;
}

static bool command(ak_outcome *out, ak_runnable *runner, char what)
{
    if (runner->proc.pid > 0) {
        (void)kill(runner->proc.pid, SIGCONT);
        while (write(runner->proc.to, &what, 1) < 0) {
            if (errno != EINTR) {
                post_mortem(out, runner);
                return false;
            }
        }
        return true;
    }
    conclude(out, AK_TRIAL_CRASHED, "its process had already ended");
    return false;
}

/* Reads the reply that the child left in the page, which may hold anything. */
static void reply(ak_outcome *out, const ak_runner_page *page)
{
    int32_t status = page->status;
    char reason[sizeof page->reason];
    memcpy(reason, page->reason, sizeof reason);
    reason[sizeof reason - 1] = 0;
    for (char *c = reason; *c != 0; c++) {
        *c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? ' ' : *c;
    }
    if (status < 0 || status >= AK_TRIAL_STATUS_COUNT) {
        conclude(out, AK_TRIAL_REJECTED, "it changed the harness' memory");
    } else if (status != AK_TRIAL_OK) {
        conclude(out, (ak_trial_status)status, "%s", reason);
    }
}

/* ---- one batch ----------------------------------------------------------------------------- */

/* Returns when the child has written or at the time `until`, without sleeping. */
static void look_out(const ak_runnable *runner, int64_t until)
{
    struct pollfd ready = {.fd = runner->proc.from, .events = POLLIN};
    while (poll(&ready, 1, 0) <= 0 && ak_clock_ns() < until) {
    }
}

/* Replaces some elements of each input by others of it until the child is ready for a call alone.
   What a thread that a candidate kept computes from the inputs before the clock runs is then wrong.
   An honest candidate does not run before. */
static void withhold(ak_runnable *runner, const ak_launch *launch)
{
    const ak_problem *problem = launch->task->problem;
    const ak_shape *shape = launch->shape;
    unsigned char *block = runner->device->block;
    ak_rng rng;
    ak_rng_seed(&rng, runner->device->salt ^ (uint64_t)ak_clock_ns());
    for (size_t i = 0; i < problem->argument_count; i++) {
        const size_t bytes = ak_dtype_bytes(ak_task_argument_dtype(launch->task, i));
        const bool adjoin = shape->pitch[i] == shape->row[i];
        const uint64_t count = adjoin ? shape->elements[i] : shape->row[i];
        for (int k = 0; k < WITHHELD && problem->arguments[i].access == AK_ACCESS_IN; k++) {
            withheld *w = &runner->withheld[runner->withheld_count++];
            w->at = launch->offset[i] + ak_rng_below(&rng, count) * bytes;
            w->bytes = bytes;
            memcpy(w->value, block + w->at, bytes);
            memcpy(block + w->at, block + launch->offset[i] + ak_rng_below(&rng, count) * bytes,
                   bytes);
        }
    }
}

/* Puts them back, in the reverse order, because one element may have been taken twice. */
static void give_back(ak_runnable *runner)
{
    while (runner->withheld_count > 0) {
        const withheld *w = &runner->withheld[--runner->withheld_count];
        memcpy(runner->device->block + w->at, w->value, w->bytes);
    }
}

/* Starts the batch that the child is ready for and waits for its end; *ns is the time by the
   clock. */
static bool timed(ak_outcome *out, int64_t *ns, ak_runnable *runner, bool alert, int64_t deadline,
                  int64_t limit_ns)
{
    int64_t begin = ak_clock_ns();
    atomic_store(&runner->page->go, 1u);
    if (atomic_load(&runner->page->dozing) != 0) {
        (void)syscall(SYS_futex, &runner->page->go, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    if (alert) {
        look_out(runner, begin + ALERT_NS);
    }
    if (!await_byte(out, AK_RUNNER_DONE, runner, deadline, limit_ns)) {
        return false;
    }
    *ns = ak_clock_ns() - begin;
    return true;
}

/* Returns whether a candidate keeps computing after DONE. Between DONE and END a child only looks
   at a red zone; one that computes there in most of its batches has reported the end too early.
   Time spent waiting for a processor does not count. */
static bool works_on(ak_runnable *runner, int64_t between_ns, int64_t waited_ns, int64_t ns)
{
    runner->batches++;
    runner->late += between_ns - waited_ns > LOOK_NS + ns / 4 ? 1 : 0;
    return runner->is_candidate && runner->late >= LATE_MIN && 2 * runner->late > runner->batches;
}

/* Returns the memory in use that belongs to the child alone, without what it shares, in bytes; -1
   if that is not known. The fields of statm are pages (proc(5)). */
static int64_t own_memory(const ak_runnable *runner)
{
    char path[64], text[160];
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)runner->proc.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) {
        (void)close(fd);
    }
    text[got < 0 ? 0 : got] = 0;
    char *end = text;
    long long all = strtoll(text, &end, 10), resident = strtoll(end, &end, 10);
    long long shared = strtoll(end, &end, 10);
    return all <= 0 ? -1 : (resident - shared) * sysconf(_SC_PAGESIZE);
}

/* Returns whether a candidate's memory grows from call to call. */
static bool leaks(ak_runnable *runner, const ak_runner_page *asked)
{
    int64_t now = runner->is_candidate && !AK_INSTRUMENTED ? own_memory(runner) : -1;
    if (now < 0) {
        return false;
    }
    if (memcmp(runner->grown_size, asked->size, sizeof asked->size) != 0 ||
        runner->grown_workspace != asked->workspace_bytes || runner->grown_from == 0) {
        memcpy(runner->grown_size, asked->size, sizeof asked->size);
        runner->grown_workspace = asked->workspace_bytes;
        runner->grown_from = runner->grown_most = now;
        runner->grown_batches = runner->grown_times = 0;
        runner->grown_calls = 0;
        return false;
    }
    runner->grown_batches++;
    runner->grown_calls += asked->iterations + asked->warm;
    runner->grown_times += now > runner->grown_most ? 1 : 0;
    runner->grown_most = now > runner->grown_most ? now : runner->grown_most;
    return now - runner->grown_from >= GROWN_BYTES && runner->grown_batches >= GROWN_BATCHES &&
           4 * runner->grown_times >= 3 * runner->grown_batches;
}

/* Returns whether the fields of a request, which only the worker may write, are unchanged. */
static bool request_whole(const ak_runner_page *page, const ak_runner_page *asked)
{
    enum { BEGIN = offsetof(ak_runner_page, artifact), END = offsetof(ak_runner_page, go) };
    return memcmp((const char *)page + BEGIN, (const char *)asked + BEGIN, END - BEGIN) == 0;
}

/* This function is long because it is one side of the protocol with the child, step by step. */
static void one_batch(ak_outcome *out, ak_runnable *runner, bool alert, int64_t limit_ns)
{
    int64_t deadline = ak_clock_ns() + limit_ns, ns = 0;
    char got = 0;
    const ak_runner_page asked = *runner->page;
    *out = (ak_outcome){.status = AK_TRIAL_OK};
    atomic_store(&runner->page->go, 0u);
    atomic_store(&runner->page->dozing, 0u);
    if (!command(out, runner, AK_RUNNER_RUN) || !await(out, &got, runner, deadline, limit_ns)) {
        return;
    }
    if (got == AK_RUNNER_END) { /* it could not prepare the batch */
        reply(out, runner->page);
        if (out->status == AK_TRIAL_OK) {
            conclude(out, AK_TRIAL_REJECTED, "it writes to the harness' pipe");
        }
        ak_proc_kill(&runner->proc);
        return;
    }
    if (got != AK_RUNNER_READY) {
        ak_proc_kill(&runner->proc);
        conclude(out, AK_TRIAL_REJECTED, "it writes to the harness' pipe");
        return;
    }
    int64_t waits = runner->device->watch ? waits_of(runner) : -1;
    give_back(runner);
    bool done = timed(out, &ns, runner, alert, deadline, limit_ns);
    /* The time of a single call is compared with others (judge/alone.h), so only waits within it
       count. Reading them takes too long for every batch. */
    int64_t within = done && waits >= 0 && asked.iterations == 1 ? waits_of(runner) : -1;
    int64_t at_done = ak_clock_ns();
    if (!done ||
        !await_byte(out, AK_RUNNER_END, runner, at_done + END_TIMEOUT_NS, END_TIMEOUT_NS)) {
        return;
    }
    int64_t at_end = ak_clock_ns();
    (void)kill(runner->proc.pid, SIGSTOP);
    struct pollfd more = {.fd = runner->proc.from, .events = POLLIN};
    if (poll(&more, 1, 0) > 0) {
        ak_proc_kill(&runner->proc);
        conclude(out, AK_TRIAL_REJECTED, "it writes to the harness' pipe");
        return;
    }
    int64_t waited = waits < 0 ? -1 : waits_of(runner) - waits;
    if (!request_whole(runner->page, &asked)) {
        conclude(out, AK_TRIAL_REJECTED, "it changed the harness' request");
    } else if (works_on(runner, at_end - at_done, waited > 0 ? waited : 0, ns)) {
        conclude(out, AK_TRIAL_REJECTED,
                 "it kept computing after it had reported that it was done");
    } else if (leaks(runner, &asked)) {
        conclude(out, AK_TRIAL_REJECTED,
                 "its memory grew by %.3g MiB in %llu calls: it does not free what it allocates",
                 (double)(runner->grown_most - runner->grown_from) / (1 << 20),
                 (unsigned long long)runner->grown_calls);
    } else {
        reply(out, runner->page);
    }
    if (out->status == AK_TRIAL_OK) {
        /* The cost of starting and ending a batch is known only to within some microseconds, so at
           most half of what was measured is subtracted. */
        double each = runner->is_candidate ? runner->device->forget_ns : 0;
        int64_t net = ns - runner->device->roundtrip_ns[alert] - (int64_t)(each * asked.iterations);
        out->ns = net > ns / 2 ? net : ns / 2;
        out->ns = out->ns > 0 ? out->ns : 1;
        out->waited_ns = within >= 0 ? within - waits : waited;
        out->waits_known = waits >= 0 && out->waited_ns >= 0;
    } else {
        ak_proc_kill(&runner->proc);
    }
}

/* Moves this thread away from the processors that the child's threads are pinned to, which are the
   first ones (ak_host_pool_pin). Returns false if there are no others. */
static bool step_aside(cpu_set_t *usual, int threads)
{
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof *usual, usual) != 0) {
        return false;
    }
    others = *usual;
    for (size_t cpu = 0; threads > 0 && cpu < CPU_SETSIZE; cpu++) {
        threads -= CPU_ISSET(cpu, &others) ? 1 : 0;
        CPU_CLR(cpu, &others);
    }
    return CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0;
}

/* Runs the batch that the page asks for. Of a call alone, a worker that is alert sees the end
   at once, if a processor is left for it. */
static void run_batch(ak_outcome *out, ak_runnable *runner, bool alert, int64_t limit_ns)
{
    cpu_set_t usual;
    alert = alert && step_aside(&usual, runner->page->threads);
    one_batch(out, runner, alert, limit_ns);
    if (alert) {
        (void)sched_setaffinity(0, sizeof usual, &usual);
    }
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Measures what an empty batch takes, in a child that has nothing loaded and so no reason to
   cheat. */
static ak_status empty_batches(int64_t *out, ak_runnable *runner, bool alert, ak_error *err)
{
    const ak_device *device = runner->device;
    int64_t ns[CALIBRATIONS];
    for (int i = 0; i < CALIBRATIONS; i++) {
        ak_outcome outcome;
        memset(runner->page, 0, sizeof *runner->page);
        runner->page->threads_max = device->threads;
        runner->page->threads = alert ? 1 : device->threads;
        run_batch(&outcome, runner, alert, LOAD_TIMEOUT_NS);
        if (outcome.status != AK_TRIAL_OK) {
            return ak_fail(err, AK_INTERNAL, "a runner does not start: %s", outcome.reason);
        }
        ns[i] = outcome.ns;
    }
    qsort(ns, CALIBRATIONS, sizeof ns[0], by_time);
    *out = ns[CALIBRATIONS / 2];
    return AK_OK;
}

/* Measures what a call of ak_host_forget takes. */
static double forget_cost(void)
{
    enum { CALLS = 1000 };
    int64_t ns[CALIBRATIONS];
    ak_host_forget_prepare(ak_host_tiles());
    for (int i = 0; i < CALIBRATIONS; i++) {
        const int64_t begin = ak_clock_ns();
        for (int k = 0; k < CALLS; k++) {
            ak_host_forget();
        }
        ns[i] = ak_clock_ns() - begin;
    }
    qsort(ns, CALIBRATIONS, sizeof ns[0], by_time);
    return (double)ns[0] / CALLS;
}

static ak_status calibrate(ak_device *device, ak_error *err)
{
    ak_runnable *runner = NULL;
    int64_t found[2] = {0, 0};
    ak_status status = runner_start(&runner, device, err);
    device->roundtrip_ns[0] = device->roundtrip_ns[1] = 0;
    for (int alert = 0; status == AK_OK && alert < 2; alert++) {
        status = empty_batches(&found[alert], runner, alert == 1, err);
    }
    runner_free(runner);
    memcpy(device->roundtrip_ns, found, sizeof found);
    device->forget_ns = forget_cost();
    return status;
}

/* ---- the operations ------------------------------------------------------------------------ */

static void host_close(ak_device *device)
{
    if (device != NULL) {
        runner_free(device->spare);
        reap(device, true);
        if (device->block != NULL) {
            (void)munmap(device->block, device->block_bytes);
        }
        if (device->block_fd >= 0) {
            (void)close(device->block_fd);
        }
        if (device->own.path[0] != 0) {
            ak_fs_owned_close(&device->own);
        }
        ak_free(device);
    }
}

static ak_status host_open(ak_device **out, const ak_task *task, ak_error *err)
{
    ak_device *device;
    AK_DO(AK_NEW(device, 1, err));
    device->task = task;
    device->threads = task->threads > 0 ? task->threads : ak_host_cpus();
    device->salt = task->seed;
    if (device->threads > AK_HOST_THREADS_MAX) {
        device->threads = AK_HOST_THREADS_MAX;
    }
    device->block_fd = shared_memory("autokernel-arguments");
    ak_status status = AK_OK;
    /* The seal keeps a candidate from shortening the block, which would crash this process. */
    if (device->block_fd < 0 || fcntl(device->block_fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        AK_TRY(ak_fail(err, AK_IO, "no shared memory: %s", strerror(errno)));
    }
    AK_TRY(calibrate(device, err));
    AK_TRY(runner_start(&device->spare, device, err));
out:
    if (status != AK_OK) {
        host_close(device);
        return status;
    }
    device->watch = true;
    *out = device;
    return AK_OK;
}

static ak_status host_reserve(ak_device *device, size_t bytes, ak_error *err)
{
    if (bytes <= device->block_bytes) {
        return AK_OK; /* the block is large enough */
    }
    if (device->block != NULL) {
        (void)munmap(device->block, device->block_bytes);
        device->block = NULL;
        device->block_bytes = 0;
    }
    /* posix_fallocate reports at once that memory is short; otherwise a SIGBUS would, later. */
    int why = posix_fallocate(device->block_fd, 0, (off_t)bytes);
    if (why != 0) {
        return ak_fail(err, AK_NO_MEMORY, "cannot reserve %zu MiB for the arguments: %s",
                       bytes >> 20, strerror(why));
    }
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, device->block_fd, 0);
    if (memory == MAP_FAILED) {
        return ak_fail(err, AK_NO_MEMORY, "cannot reserve %zu MiB for the arguments: %s",
                       bytes >> 20, strerror(errno));
    }
    device->block = memory;
    device->block_bytes = bytes;
    return AK_OK;
}

static void *host_map(ak_device *device)
{
    return device->block;
}

static ak_status host_upload(ak_device *device, size_t offset, const void *data, size_t bytes,
                             ak_error *err)
{
    AK_DO(ak_backend_in_block(device->block_bytes, offset, bytes, err));
    memcpy(device->block + offset, data, bytes);
    return AK_OK;
}

static ak_status host_download(void *data, ak_device *device, size_t offset, size_t bytes,
                               ak_error *err)
{
    AK_DO(ak_backend_in_block(device->block_bytes, offset, bytes, err));
    memcpy(data, device->block + offset, bytes);
    return AK_OK;
}

static void set_text(char *out, size_t bytes, const char *text)
{
    (void)snprintf(out, bytes, "%s", text == NULL ? "" : text);
}

/* Prepares a baseline that the problem brings, and tells the runner of it. */
static ak_status point_at_own(ak_runner_page *page, ak_device *device, const ak_own_baseline *own,
                              ak_error *err)
{
    char artifact[AK_PATH_MAX], library[AK_PATH_MAX];
    AK_DO(ak_host_own_library(library, device->task->problem, own, err));
    AK_DO(device->own.path[0] == 0 ? ak_fs_owned_open(&device->own, err) : AK_OK);
    AK_DO(ak_host_own_prepare(artifact, device->task, own, device->own.path, err));
    set_text(page->artifact, sizeof page->artifact, artifact);
    set_text(page->library, sizeof page->library, library);
    set_text(page->symbol, sizeof page->symbol, own->function);
    page->own = own->python != NULL ? AK_OWN_PYTHON : AK_OWN_CODE;
    return AK_OK;
}

static ak_status host_load(ak_runnable **out, ak_device *device, const ak_load *load,
                           ak_outcome *outcome, ak_error *err)
{
    const ak_own_baseline *own = ak_host_own_find(device->task->problem, load->baseline);
    ak_runnable *runner = NULL;
    AK_DO(runner_take(&runner, device, err));
    ak_runner_page *page = runner->page;
    memset(page, 0, sizeof *page);
    set_text(page->artifact, sizeof page->artifact, load->artifact);
    set_text(page->symbol, sizeof page->symbol, load->symbol == NULL ? "ak_kernel" : load->symbol);
    set_text(page->baseline, sizeof page->baseline, load->baseline);
    set_text(page->problem, sizeof page->problem, device->task->problem->name);
    set_text(page->choices, sizeof page->choices, device->task->choices_text);
    page->dtype = (int32_t)device->task->dtype;
    page->threads_max = device->threads;
    page->library_threads = device->task->threads;
    ak_status status = own == NULL ? AK_OK : point_at_own(page, device, own, err);
    if (status != AK_OK) {
        runner_free(runner);
        return status;
    }
    runner->is_candidate = load->artifact != NULL;
    *outcome = (ak_outcome){.status = AK_TRIAL_OK};
    bool sent = command(outcome, runner, AK_RUNNER_LOAD);
    /* Starts the next child meanwhile; if that fails, it is tried again when needed. */
    (void)runner_start(&device->spare, device, NULL);
    if (sent && await_byte(outcome, AK_RUNNER_END, runner, ak_clock_ns() + LOAD_TIMEOUT_NS,
                           LOAD_TIMEOUT_NS)) {
        reply(outcome, page);
        (void)kill(runner->proc.pid, SIGSTOP);
        memcpy(runner->title, page->title, sizeof runner->title);
        runner->title[sizeof runner->title - 1] = 0;
        memcpy(runner->version, page->version, sizeof runner->version);
        runner->version[sizeof runner->version - 1] = 0;
    }
    *out = runner;
    return AK_OK;
}

/* Chooses the part of the block that the child maps, in whole pages: the arguments from `first` to
   `end` with their red zones (guard.h). */
static void place_arguments(ak_runner_page *page, const ak_launch *launch, size_t block_bytes,
                            size_t first, size_t end)
{
    size_t before = first < AK_GUARD_BYTES ? first : AK_GUARD_BYTES;
    size_t after = block_bytes - end < AK_GUARD_BYTES ? block_bytes - end : AK_GUARD_BYTES;
    page->first = (first - before) / AK_RUNNER_PAGE * AK_RUNNER_PAGE;
    end = (end + after + AK_RUNNER_PAGE - 1) / AK_RUNNER_PAGE * AK_RUNNER_PAGE;
    page->span = (end < block_bytes ? end : block_bytes) - page->first;
    for (size_t i = 0; i < launch->task->problem->argument_count; i++) {
        page->offset[i] = launch->offset[i] - page->first;
        for (size_t d = 0; d < AK_RANK_MAX; d++) {
            page->extent[i][d] = launch->shape->extent[i][d];
        }
    }
}

static void set_sizes(ak_runner_page *page, const ak_launch *launch)
{
    const ak_task *task = launch->task;
    for (size_t i = 0; i < task->problem->size_count; i++) {
        page->size[i] = launch->shape->size[i];
    }
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        page->choice[i] = task->choice[i];
        page->number[i] = task->number[i];
    }
}

static ak_status host_launch(ak_outcome *out, ak_runnable *runner, const ak_launch *launch,
                             ak_error *err)
{
    const ak_task *task = launch->task;
    const ak_problem *problem = task->problem;
    ak_runner_page *page = runner->page;
    ak_device *device = runner->device;
    if (launch->workspace_bytes > AK_RUNNER_WORKSPACE_MAX) {
        conclude(
            out, AK_TRIAL_OUT_OF_MEMORY, "its workspace of %zu MiB exceeds the limit of %llu MiB",
            launch->workspace_bytes >> 20, (unsigned long long)(AK_RUNNER_WORKSPACE_MAX >> 20));
        return AK_OK;
    }
    bool in_place = false;
    size_t first = SIZE_MAX, end = 0;
    page->argument_count = (uint32_t)problem->argument_count;
    for (size_t i = 0; i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        ak_dtype dtype = ak_task_argument_dtype(task, i);
        AK_DO(ak_backend_in_block(device->block_bytes, launch->offset[i], launch->shape->bytes[i],
                                  err));
        first = launch->offset[i] < first ? launch->offset[i] : first;
        size_t past = launch->offset[i] + launch->shape->bytes[i];
        end = past > end ? past : end;
        page->stain_bytes[i] = (uint32_t)ak_dtype_bytes(dtype);
        const ak_shape *shape = launch->shape;
        bool adjoin = shape->pitch[i] == shape->row[i];
        page->stain_count[i] = argument->access != AK_ACCESS_OUT ? 0
                               : adjoin                          ? shape->elements[i]
                                                                 : shape->row[i];
        page->pitch[i] = (int64_t)shape->pitch[i];
        in_place = in_place || argument->access == AK_ACCESS_INOUT;
    }
    set_sizes(page, launch);
    place_arguments(page, launch, device->block_bytes, first, end);
    page->workspace_bytes = launch->workspace_bytes;
    page->threads = launch->threads < 1                 ? 1
                    : launch->threads > device->threads ? device->threads
                                                        : launch->threads;
    page->threads_max = device->threads;
    page->iterations = launch->iterations;
    /* A warm-up run brings caches and threads into the state of the middle of a batch. It is left
       out if a single run was requested, and for arguments that are changed in place. */
    page->warm = launch->iterations > 1 && !in_place ? 1 : 0;
    page->refill = page->workspace_bytes <= REFILL_BYTES || launch->iterations == 1 ||
                           (uint64_t)ak_clock_ns() / 1000 % REFILL_EVERY == 0
                       ? 1
                       : 0;
    page->scatter = launch->unpredicted ? 1 : 0;
    page->salt = ++device->salt * UINT64_C(0x9e3779b97f4a7c15);
    if (launch->iterations == 1 && runner->is_candidate) {
        withhold(runner, launch);
    }
    run_batch(out, runner, launch->iterations == 1, launch->timeout_ns);
    give_back(runner);
    return AK_OK;
}

static void host_unload(ak_runnable *runner)
{
    if (runner != NULL) {
        runner_drop(runner);
    }
}

static double higher(double a, double b)
{
    return a > b ? a : b;
}

/* Measures the ceilings again on each call and returns the best ever seen, because other load on
   the machine can only make a ceiling look lower than it is. */
static ak_status host_ceilings(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err)
{
    ak_ceilings now, *best = &device->ceilings;
    AK_DO(ak_host_ceilings(&now, dtype, device->threads, err));
    best->peak_tflops = higher(best->peak_tflops, now.peak_tflops);
    best->copy_gbs = higher(best->copy_gbs, now.copy_gbs);
    best->triad_gbs = higher(best->triad_gbs, now.triad_gbs);
    best->read_gbs = higher(best->read_gbs, now.read_gbs);
    best->l1_gbs = higher(best->l1_gbs, now.l1_gbs);
    best->cache_gbs = higher(best->cache_gbs, now.cache_gbs);
    best->measured = true;
    *out = *best;
    return AK_OK;
}

/* A library whose variants are visited. `seen` holds the versions visited so far, one per line: a
   core type that a library replaces by another is not a variant. */
typedef struct visited {
    ak_device *device;
    const ak_baseline_ops *ops;
    ak_buf seen;
    ak_baseline_visitor visit;
    void *context;
} visited;

/* Loads one variant and visits it. */
static ak_status visit_baseline(visited *v, const char *variant, ak_error *err)
{
    ak_device *device = v->device;
    const ak_baseline_ops *ops = v->ops;
    char name[64], line[128], note[AK_RUNNER_REASON_MAX + 64];
    ak_runnable *runner = NULL;
    ak_outcome outcome;
    (void)snprintf(name, sizeof name, "%s%s%s", ops->name, variant[0] == 0 ? "" : ":", variant);
    ak_load load = {.baseline = name};
    AK_DO(host_load(&runner, device, &load, &outcome, err));
    if (outcome.status == AK_TRIAL_OK) {
        (void)snprintf(line, sizeof line, "\n%s\n", runner->version);
        if (strstr(v->seen.data, line) == NULL) {
            ak_buf_puts(&v->seen, line);
            (void)snprintf(note, sizeof note, "%d thread%s", device->threads,
                           device->threads == 1 ? "" : "s");
            v->visit(v->context, name, ops->title, runner->version, true, note);
        }
    } else if (variant[0] == 0) {
        v->visit(v->context, name, ops->title, "", false, outcome.reason);
    }
    host_unload(runner);
    return AK_OK;
}

/* Visits a baseline that the problem brings. One that cannot be used is an error, because the user
   asks for it by name. */
static ak_status visit_own(ak_device *device, const ak_own_baseline *own, ak_baseline_visitor visit,
                           void *context, ak_error *err)
{
    ak_runnable *runner = NULL;
    ak_outcome outcome;
    const char *variant;
    if (ak_baseline_find(&variant, own->name) != NULL) {
        return ak_fail(err, AK_INVALID, "%s: the baseline %s has the name of a library",
                       device->task->problem->where, own->name);
    }
    AK_DO(host_load(&runner, device, &(ak_load){.baseline = own->name}, &outcome, err));
    ak_status status = AK_OK;
    if (outcome.status == AK_TRIAL_OK) {
        visit(context, own->name, own->name, runner->version, true, "");
    } else {
        status = ak_fail(err, AK_INVALID,
                         "%s: the baseline %s: %s; --libraries none goes on without baselines",
                         device->task->problem->where, own->name, outcome.reason);
    }
    host_unload(runner);
    return status;
}

static ak_status host_baselines(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                                void *context, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < task->problem->own_count; i++) {
        status = visit_own(device, &task->problem->own[i], visit, context, err);
    }
    for (size_t i = 0; status == AK_OK && ak_baseline_table[i] != NULL; i++) {
        const ak_baseline_ops *ops = ak_baseline_table[i];
        if (!ak_baseline_applies(ops, task->problem->name, task->dtype)) {
            continue;
        }
        visited v = {device, ops, AK_BUF(4096), visit, context};
        status = visit_baseline(&v, "", err);
        for (size_t j = 0; status == AK_OK && ops->variants != NULL && v.seen.length > 0 &&
                           ops->variants[j] != NULL;
             j++) {
            status = visit_baseline(&v, ops->variants[j], err);
        }
        ak_buf_free(&v.seen);
    }
    return status;
}

/* Visits the libraries. Loading needs a problem, so each library gets the first that it can
   compute. */
ak_status ak_host_libraries(ak_baseline_visitor visit, void *context, ak_error *err)
{
    char none[] = "";
    ak_problem problem = {0};
    ak_task task = {.problem = &problem, .choices_text = none, .dtype = AK_DTYPE_F32};
    ak_device *device = NULL;
    ak_status status = host_open(&device, &task, err);
    for (size_t i = 0; status == AK_OK && ak_baseline_table[i] != NULL; i++) {
        visited v = {device, ak_baseline_table[i], AK_BUF(4096), visit, context};
        problem.name = ak_baseline_table[i]->problems[0];
        status = visit_baseline(&v, "", err);
        ak_buf_free(&v.seen);
    }
    host_close(device);
    return status;
}

static ak_status host_joules(double *out, ak_device *device, ak_error *err)
{
    return ak_host_energy_read(out, &device->energy, err);
}

static const ak_backend_role roles[] = {{"--runner", ak_runner_main}, {NULL, NULL}};

const ak_backend_ops ak_host_ops = {
    .name = "host",
    .description = "C kernels on the CPU, compiled with gcc or clang",
    .roles = roles,
    .rules = &ak_host_rules,
    .probe = ak_host_probe,
    .facts = ak_host_facts,
    .environment = ak_host_environment,
    .available = ak_host_available,
    .shown_facts = ak_host_shown_facts,
    .quick_ceilings = ak_host_quick_ceilings,
    .describe = ak_host_describe,
    .source = ak_host_source,
    .compile = ak_host_compile,
    .folders = ak_host_folders,
    .artifact_suffix = ".so",
    .requires = ak_host_requires,
    .sanitize = ak_host_sanitize,
    .is_cpu = true,
    .open = host_open,
    .reserve = host_reserve,
    .map = host_map,
    .upload = host_upload,
    .download = host_download,
    .load = host_load,
    .launch = host_launch,
    .joules = host_joules,
    .unload = host_unload,
    .ceilings = host_ceilings,
    .baselines = host_baselines,
    .close = host_close,
};
