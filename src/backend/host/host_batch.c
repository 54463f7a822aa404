/*
 * host_batch.c: one batch of a confined child and its time. Time is taken here, in the worker: from
 * setting `go`, for which the child spins, to the byte that reports the end, minus what an empty
 * batch and, for candidates, setting the processor's state back (host_forget.c) take. The child is
 * stopped as soon as it has reported the end, and the batch has ended only when the system says
 * that all of its threads have stopped. What that takes beyond the usual and beyond waits for a
 * processor counts as time, and the outputs are judged as they are then. So a child that reports
 * the end too early gains only the time that stopping usually takes. A stopped child also takes no
 * cores from others by idle threads that spin.
 */
#include "backend/host/host_child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "backend/host/host_runner.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "base/rng.h"

/* A child is expected to read unseen inputs, which are in the worker's cache, at SHOW_BYTES_PER_NS
   or more, and to need at most SHOW_NS more to start its threads and to report. What it takes
   beyond that counts as time of the call (`show`). */
#define SHOW_BYTES_PER_NS 5
#define SHOW_NS           50000
#define CALIBRATIONS      15
/* Stopping a child may take STOP_TIMES times the median of what it takes after empty batches, but
   at most STOP_NS; only what goes beyond counts as time of the batch. */
#define STOP_TIMES 2
#define STOP_NS    60000
/* For this long after a single call, or calls with a stride, began, the worker polls for their end
   without sleeping, and then for this long again until the child has stopped. A virtual machine may
   need 40 us to wake a sleeping processor, which would look like work of the call. */
#define ALERT_NS INT64_C(100000)
/* `meter` looks at batches of METERED_NS or more. Threads may spin for METER_NS after a parallel
   region. CROWDED_MIN crowded batches reject a candidate, if they are more than half. */
#define METERED_NS  400000
#define METER_NS    100000
#define CROWDED_MIN 4
/* A candidate leaks memory if its own memory has grown by GROWN_BYTES since its first batch at this
   shape, and grew in three quarters of the batches since then. There must have been GROWN_BATCHES
   of these. Scratch memory that the allocator keeps grows a few times and then no more. */
#define GROWN_BYTES   (INT64_C(1) << 20)
#define GROWN_BATCHES 8

/* Polls without sleeping until the child has written, or until the time `until`. */
static void look_out(const ak_runnable *runner, int64_t until)
{
    struct pollfd ready = {.fd = runner->proc.from, .events = POLLIN};
    while (poll(&ready, 1, 0) <= 0 && ak_clock_ns() < until) {
    }
}

/* Saves a part of the block before the caller overwrites it; give_back restores it. */
static void take_away(ak_runnable *runner, size_t at, size_t bytes)
{
    ak_device *device = runner->device;
    const ak_host_withheld *last =
        runner->withheld_count == 0 ? NULL : &runner->withheld[runner->withheld_count - 1];
    const size_t from = last == NULL ? 0 : last->from + last->bytes;
    assert(from + bytes <= device->held_bytes);
    memcpy(device->held + from, device->block + at, bytes);
    runner->withheld[runner->withheld_count++] = (ak_host_withheld){at, from, bytes};
}

static bool is_read(const ak_launch *launch, size_t argument)
{
    return launch->task->problem->arguments[argument].access != AK_ACCESS_OUT;
}

/* Returns how many sets of arguments a launch has: one for each iteration if it has a stride, else
   1. */
static size_t places_of(const ak_launch *launch)
{
    return launch->stride > 0 ? launch->iterations : 1;
}

/* Makes room for what will be withheld. Returns false if there is no memory. */
static bool make_room(ak_device *device, const ak_launch *launch)
{
    size_t bytes = AK_ARGUMENTS_MAX * AK_HOST_WITHHELD * sizeof(double);
    for (size_t i = 0; i < launch->task->problem->argument_count; i++) {
        bytes += launch->unseen && is_read(launch, i) ? launch->shape->bytes[i] : 0;
    }
    bytes *= places_of(launch);
    if (bytes > device->held_bytes) {
        unsigned char *held = ak_resize(device->held, bytes, 1);
        device->held = held == NULL ? device->held : held;
        device->held_bytes = held == NULL ? device->held_bytes : bytes;
    }
    return bytes <= device->held_bytes;
}

/* Replaces random elements in the input at `offset` by other random elements of that input; only in
   its first row if its rows do not adjoin. */
static void withhold_some(ak_runnable *runner, const ak_launch *launch, size_t i, size_t offset,
                          ak_rng *rng)
{
    const ak_shape *shape = launch->shape;
    unsigned char *of = runner->device->block + offset;
    const size_t bytes = ak_dtype_bytes(ak_task_argument_dtype(launch->task, i));
    const bool adjoin = shape->pitch[i] == shape->row[i];
    const uint64_t count = adjoin ? shape->elements[i] : shape->row[i];
    for (int k = 0; k < AK_HOST_WITHHELD; k++) {
        const size_t at = ak_rng_below(rng, count) * bytes;
        take_away(runner, offset + at, bytes);
        memcpy(of + at, of + ak_rng_below(rng, count) * bytes, bytes);
    }
}

/* Replaces some elements of each input that is only read, until the clock starts. With `unseen`
   does so for all arguments that are read, and clears them until the child is ready. Whatever a
   candidate computes before the clock starts, in code that it has smuggled in or in a warm-up call,
   is then wrong, and only the timed calls can give the right results. Returns false if there is no
   memory. */
static bool withhold(ak_runnable *runner, const ak_launch *launch)
{
    const size_t arguments = launch->task->problem->argument_count;
    const size_t all = arguments * places_of(launch);
    ak_rng rng;
    assert(places_of(launch) <= AK_PLACES_MAX);
    ak_rng_seed(&rng, runner->device->salt ^ (uint64_t)ak_clock_ns());
    if (!make_room(runner->device, launch)) {
        return false;
    }
    for (size_t k = 0; k < all; k++) {
        const size_t i = k % arguments;
        if (launch->task->problem->arguments[i].access == AK_ACCESS_IN ||
            (launch->unseen && is_read(launch, i))) {
            withhold_some(runner, launch, i, launch->offset[i] + k / arguments * launch->stride,
                          &rng);
        }
    }
    runner->withheld_last = runner->withheld_count;
    for (size_t k = 0; k < all && launch->unseen; k++) {
        const size_t i = k % arguments, at = launch->offset[i] + k / arguments * launch->stride;
        if (is_read(launch, i)) {
            take_away(runner, at, launch->shape->bytes[i]);
            memset(runner->device->block + at, 0, launch->shape->bytes[i]);
        }
    }
    return true;
}

/* Puts all but the first `left` parts back, in the reverse order, because one element may have been
   taken twice. */
static void give_back(ak_runnable *runner, size_t left)
{
    const ak_device *device = runner->device;
    while (runner->withheld_count > left) {
        const ak_host_withheld *w = &runner->withheld[--runner->withheld_count];
        memcpy(device->block + w->at, device->held + w->from, w->bytes);
    }
}

/* Adds how long this thread, which reads the clock, has waited for a processor, because its waits
   lengthen the time that it measures. Returns -1 if they are not known, or if `sum` is negative. */
static int64_t with_own_waits(int64_t sum)
{
    const int64_t own = sum < 0 ? -1 : ak_host_waits("/proc/thread-self/schedstat");
    return own < 0 ? -1 : sum + own;
}

/* Lets a child that is ready continue, in this batch for the `go`-th time. Refuses a child that has
   let itself go, because it began before the clock; returns false then. */
static bool let_go(ak_outcome *out, ak_runnable *runner, uint32_t go)
{
    if (atomic_exchange(&runner->page->go, go) != go - 1) {
        ak_proc_kill(&runner->proc);
        ak_outcome_refuse(out, AK_TRIAL_REJECTED, "it begins a batch before the clock does");
        return false;
    }
    if (atomic_load(&runner->page->dozing) != 0) {
        (void)syscall(SYS_futex, &runner->page->go, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
    return true;
}

/* Returns how many bytes the child reads when it is shown its inputs. */
static int64_t shown_bytes(const ak_runner_page *asked)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < asked->argument_count; i++) {
        bytes += asked->bytes[i];
    }
    return (int64_t)(asked->stride > 0 ? bytes * asked->iterations : asked->span);
}

/* Restores unseen inputs except for some elements and has the child read them, so that a call finds
   its data in the same caches as a call in the middle of a batch. *late_ns is by how much this
   exceeded its time limit: the child may have done work of the call in that time. */
static bool show(ak_outcome *out, int64_t *late_ns, ak_runnable *runner,
                 const ak_runner_page *asked, bool alert, ak_host_limit limit)
{
    give_back(runner, runner->withheld_last);
    const int64_t begin = ak_clock_ns();
    const int64_t end = begin + SHOW_NS + shown_bytes(asked) / SHOW_BYTES_PER_NS;
    if (!let_go(out, runner, 1)) {
        return false;
    }
    if (alert) {
        look_out(runner, end);
    }
    if (!ak_host_child_await_byte(out, AK_RUNNER_READY, runner, limit)) {
        return false;
    }
    const int64_t late = ak_clock_ns() - end;
    *late_ns = late > 0 ? late : 0;
    return true;
}

/* Starts the batch that the child is ready for (let_go explains `go`) and waits for its end; *ns is
   the elapsed time. */
static bool timed(ak_outcome *out, int64_t *ns, ak_runnable *runner, uint32_t go, bool alert,
                  ak_host_limit limit)
{
    int64_t begin = ak_clock_ns();
    if (!let_go(out, runner, go)) {
        return false;
    }
    if (alert) {
        look_out(runner, begin + ALERT_NS);
    }
    if (!ak_host_child_await_byte(out, AK_RUNNER_DONE, runner, limit)) {
        return false;
    }
    *ns = ak_clock_ns() - begin;
    return true;
}

/* Stops the child and waits until all of its threads have stopped; if `alert`, it waits without
   sleeping at first. Returns false if the child has ended instead, or has written once more.
   WNOWAIT leaves a child that has ended for others to reap. */
static bool stop(ak_outcome *out, ak_runnable *runner, bool alert, ak_host_limit limit)
{
    const int64_t until = alert ? ak_clock_ns() + ALERT_NS : 0;
    siginfo_t info;
    int got;
    (void)kill(runner->proc.pid, SIGSTOP);
    do {
        const int options = WSTOPPED | WEXITED | WNOWAIT | (ak_clock_ns() < until ? WNOHANG : 0);
        info.si_pid = 0;
        got = waitid(P_PID, (id_t)runner->proc.pid, &info, options);
    } while ((got == 0 && info.si_pid == 0) || (got != 0 && errno == EINTR));
    struct pollfd more = {.fd = runner->proc.from, .events = POLLIN};
    if (got == 0 && info.si_code == CLD_STOPPED && poll(&more, 1, 0) == 0) {
        return true;
    }
    return ak_host_child_await_byte(out, AK_RUNNER_NOTHING, runner, limit); /* says why not */
}

/* Returns for how many nanoseconds the child may have computed after it had reported the end: what
   stopping it took beyond the usual, less what its threads and this one have waited for a
   processor. */
static int64_t worked_on(const ak_runnable *runner, bool single, int64_t waited_ns)
{
    const int64_t usual = runner->device->stop_ns[single] + (waited_ns > 0 ? waited_ns : 0);
    return runner->stop_ns > usual ? runner->stop_ns - usual : 0;
}

/* Returns how much processor time all threads of the child have had, in nanoseconds; -1 if that is
   not known. It is exact only for sleeping threads: for others the last few ms may be missing. */
static int64_t processor_time(const ak_runnable *runner)
{
    clockid_t clock;
    struct timespec t;
    if (clock_getcpuclockid(runner->proc.pid, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        return -1;
    }
    return (int64_t)t.tv_sec * AK_SECOND_NS + t.tv_nsec;
}

/* Before a batch, reads how much processor time the previous batch took. That batch was crowded if
   it took more than its threads can have had since its command, and METER_NS and a quarter of its
   time on top. */
static void meter(ak_runnable *runner)
{
    const int64_t has = processor_time(runner), cpu_ns = has - runner->meter_cpu_ns;
    if (runner->is_candidate && runner->meter_ns >= METERED_NS && runner->meter_cpu_ns >= 0 &&
        has >= 0) {
        runner->metered++;
        runner->crowded += cpu_ns - runner->meter_most_ns > METER_NS + runner->meter_ns / 4 ? 1 : 0;
    }
    runner->meter_cpu_ns = has;
    runner->meter_ns = 0;
}

/* Returns whether most of the batches that `meter` has looked at were crowded: the candidate then
   computes with more threads than "Threads" of its space file says. It can, because the limit of
   its thread pool lies in memory that it may write. */
static bool overcrowds(const ak_runnable *runner)
{
    return runner->crowded >= CROWDED_MIN && 2 * runner->crowded > runner->metered;
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
    return all <= 0 ? -1 : (resident - shared) * (int64_t)ak_page_bytes();
}

/* Returns whether a candidate's memory grows from call to call, as GROWN_BYTES says. Baselines are
   not looked at, nor is anything in an instrumented build, where memory says nothing about a
   candidate (instrumented.h). */
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

/* Runs and times one batch. This function is long because it is the worker's side of the wire
   protocol with the child. */
static void one_batch(ak_outcome *out, ak_runnable *runner, bool alert, int64_t limit_ns)
{
    const ak_host_limit limit = ak_host_limit_of(limit_ns);
    int64_t ns = 0, late = 0;
    char got = 0;
    const ak_runner_page asked = *runner->page;
    *out = (ak_outcome){.status = AK_TRIAL_OK};
    atomic_store(&runner->page->go, 0u);
    atomic_store(&runner->page->dozing, 0u);
    meter(runner);
    const int64_t from = ak_clock_ns();
    if (!ak_host_child_command(out, runner, AK_RUNNER_RUN) ||
        !ak_host_child_await(out, &got, runner, limit)) {
        return;
    }
    if (got == AK_RUNNER_END) { /* the child could not prepare the batch */
        ak_host_child_reply(out, runner->page);
        if (out->status == AK_TRIAL_OK) {
            ak_outcome_refuse(out, AK_TRIAL_REJECTED, "it writes to the harness' pipe");
        }
        ak_proc_kill(&runner->proc);
        return;
    }
    if (got != AK_RUNNER_READY || !request_whole(runner->page, &asked)) {
        ak_proc_kill(&runner->proc);
        ak_outcome_refuse(out, AK_TRIAL_REJECTED,
                          got != AK_RUNNER_READY ? "it writes to the harness' pipe"
                                                 : "it changed the harness' request");
        return;
    }
    if (asked.unseen != 0 && !show(out, &late, runner, &asked, alert, limit)) {
        return;
    }
    int64_t waits = runner->device->watch ? ak_host_child_waits(runner) : -1;
    give_back(runner, 0);
    waits = with_own_waits(waits); /* only now: give_back may take long */
    if (!timed(out, &ns, runner, 1 + asked.unseen, alert, limit)) {
        return;
    }
    const int64_t at_done = ak_clock_ns();
    /* The time of a single call is compared with others (judge/alone.h), so only waits within it
       count. Reading them takes too long for every batch. */
    const bool single = asked.iterations == 1;
    const int64_t within = single ? with_own_waits(ak_host_child_waits(runner)) : -1;
    if (!stop(out, runner, alert, limit)) {
        return;
    }
    runner->stop_ns = ak_clock_ns() - at_done;
    runner->meter_ns = ns;
    runner->meter_most_ns = asked.threads * (ak_clock_ns() - from);
    int64_t waited = waits < 0 ? -1 : with_own_waits(ak_host_child_waits(runner));
    waited = waited < 0 ? -1 : waited - waits;
    late += worked_on(runner, single, waited);
    if (!request_whole(runner->page, &asked)) {
        ak_outcome_refuse(out, AK_TRIAL_REJECTED, "it changed the harness' request");
    } else if (overcrowds(runner)) {
        ak_outcome_refuse(out, AK_TRIAL_REJECTED,
                          "it computes with more threads than its Threads says, which is %d",
                          (int)asked.threads);
    } else if (leaks(runner, &asked)) {
        ak_outcome_refuse(
            out, AK_TRIAL_REJECTED,
            "its memory grew by %.3g MiB in %llu calls: it does not free what it allocates",
            (double)(runner->grown_most - runner->grown_from) / (1 << 20),
            (unsigned long long)runner->grown_calls);
    } else {
        ak_host_child_reply(out, runner->page);
    }
    if (out->status == AK_TRIAL_OK) {
        /* The cost of starting and ending a batch is known only to within some microseconds, so at
           most half of what was measured is subtracted. */
        double each = runner->is_candidate ? runner->device->forget_ns : 0;
        int64_t net = ns - runner->device->roundtrip_ns[alert] - (int64_t)(each * asked.iterations);
        out->ns = net > ns / 2 ? net : ns / 2;
        out->ns = out->ns > 0 ? out->ns : 1;
        out->waited_ns = single && within >= 0 ? within - waits : waited;
        out->waits_known = waited >= 0 && out->waited_ns >= 0;
        out->ns += late; /* an upper bound: the calls need not have taken it */
        out->waited_ns += late;
    } else {
        ak_proc_kill(&runner->proc);
    }
}

/* Moves this thread away from the processors that the child's threads are pinned to, which are the
   first ones (ak_host_pool_pin); *usual gets those that it has had. Returns false, and moves
   nothing, if there are no others. */
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

/* Runs the batch that the page asks for. If `alert`, and if a processor is left for it, the worker
   polls for the end of the batch for a while (ALERT_NS) and so sees it at once. */
static void run_batch(ak_outcome *out, ak_runnable *runner, bool alert, int64_t limit_ns)
{
    cpu_set_t usual;
    alert = alert && step_aside(&usual, runner->page->threads);
    one_batch(out, runner, alert, limit_ns);
    if (alert) {
        (void)sched_setaffinity(0, sizeof usual, &usual);
    }
}

void ak_host_batch(ak_outcome *out, ak_runnable *runner, const ak_launch *launch)
{
    const bool alone = launch->iterations == 1 || launch->stride > 0;
    if (alone && (runner->is_candidate || launch->unseen) && !withhold(runner, launch)) {
        ak_outcome_refuse(out, AK_TRIAL_OUT_OF_MEMORY, "no memory to withhold its inputs");
        return;
    }
    run_batch(out, runner, alone, launch->timeout_ns);
    give_back(runner, 0); /* does nothing unless the child failed before the clock started */
}

static int by_time(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void sort(int64_t ns[CALIBRATIONS])
{
    qsort(ns, CALIBRATIONS, sizeof ns[0], by_time);
}

/* Measures the least time of an empty batch, in a child that has nothing loaded and so no reason to
   cheat. The least counts because other programs can make most empty batches longer, by
   milliseconds, and because work of a call would be hidden if more than the cost of a batch were
   subtracted. *stop_ns is how long a stop may take (STOP_TIMES). `single`: as for a single call. */
static ak_status empty_batches(int64_t *out, int64_t *stop_ns, ak_runnable *runner, bool single,
                               ak_error *err)
{
    const ak_device *device = runner->device;
    int64_t ns[CALIBRATIONS], stops[CALIBRATIONS];
    for (int i = 0; i < CALIBRATIONS; i++) {
        ak_outcome outcome;
        memset(runner->page, 0, sizeof *runner->page);
        runner->page->threads_max = device->threads;
        runner->page->threads = single ? 1 : device->threads;
        runner->page->iterations = single ? 1 : 0;
        run_batch(&outcome, runner, single, AK_HOST_LOAD_NS);
        AK_FAIL_IF(outcome.status != AK_TRIAL_OK, err, AK_INTERNAL, "a runner does not start: %s",
                   outcome.reason);
        ns[i] = outcome.ns;
        stops[i] = runner->stop_ns;
    }
    sort(ns);
    sort(stops);
    const int64_t most = STOP_TIMES * stops[CALIBRATIONS / 2];
    *stop_ns = most < STOP_NS ? most : STOP_NS;
    *out = ns[0];
    return AK_OK;
}

/* Measures how many nanoseconds it takes to set the processor's state back before a call. */
static double forget_cost(void)
{
    enum { CALLS = 1000 };
    int64_t ns[CALIBRATIONS];
    ak_host_forget_prepare(ak_host_tiles());
    for (int i = 0; i < CALIBRATIONS; i++) {
        const int64_t begin = ak_clock_ns();
        for (int k = 0; k < CALLS; k++) {
            ak_host_forget_stack();
            ak_host_forget();
        }
        ns[i] = ak_clock_ns() - begin;
    }
    sort(ns);
    return (double)ns[0] / CALLS;
}

ak_status ak_host_batch_calibrate(ak_device *device, ak_error *err)
{
    ak_runnable *runner = NULL;
    int64_t found[2] = {0, 0}, stops[2] = {0, 0};
    ak_status status = ak_host_child_start(&runner, device, err);
    device->roundtrip_ns[0] = device->roundtrip_ns[1] = 0;
    device->stop_ns[0] = device->stop_ns[1] = INT64_MAX / 2;
    for (int i = 0; status == AK_OK && i < 2; i++) {
        status = empty_batches(&found[i], &stops[i], runner, i == 1, err);
    }
    ak_host_child_free(runner);
    memcpy(device->roundtrip_ns, found, sizeof found);
    memcpy(device->stop_ns, stops, sizeof stops);
    device->forget_ns = forget_cost();
    return status;
}
