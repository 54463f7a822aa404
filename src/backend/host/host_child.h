/*
 * host_child.h: the confined children of the CPU's worker, and what the worker knows of each. A
 * child (`autokernel worker --runner`, host_runner.h) loads one candidate or library and maps the
 * block of the arguments. While a child loads something, the next one is started, so that loading
 * rarely waits for a process to start.
 *
 * The functions below that return bool return false if the child has failed; they have then written
 * its outcome and killed it. A message about a time-out names the limit without the extra time that
 * a child gets on a busy machine.
 */
#ifndef AK_BACKEND_HOST_CHILD_H
#define AK_BACKEND_HOST_CHILD_H

#include <sys/types.h>

#include "backend/host/host.h"
#include "backend/host/host_runner.h"
#include "backend/script.h"
#include "base/proc.h"

/* Limit for loading an artifact or a library, which runs constructors and detects core types, and
   for an empty batch. */
#define AK_HOST_LOAD_NS (20 * AK_SECOND_NS)
/* Limit for loading a baseline in Python, which also starts Python and imports modules: script.h
   has limits of its own for them, which end first and with a better message. */
#define AK_HOST_LOAD_PYTHON_NS (AK_HOST_LOAD_NS + AK_SCRIPT_FIND_NS + AK_SCRIPT_OPEN_NS)
/* How many killed children the system may still be taking apart. */
#define AK_HOST_DYING_MAX 8
/* Number of elements of each input that are withheld until the clock starts, in a single call and
   in calls with a stride: of a candidate's inputs that are only read, and of all unseen inputs.
   Unseen inputs are also withheld as a whole until the child is ready. */
#define AK_HOST_WITHHELD 4

struct ak_device {
    const ak_task *task;
    int threads;
    int block_fd;
    unsigned char *block;
    size_t block_bytes;
    ak_runnable *spare;      /* a child that is started but has loaded nothing; NULL: none */
    int64_t roundtrip_ns[2]; /* the least that an empty batch takes; [1]: if the worker polls */
    int64_t stop_ns[2];      /* stopping a child may take this; [1]: after a single call */
    double forget_ns;        /* what setting the processor's state back takes before each call */
    bool watch;              /* count waits for a processor: in all but the empty batches */
    uint64_t salt;           /* changes with each launch; seed of what is stained and withheld */
    pid_t dying[AK_HOST_DYING_MAX]; /* children that were killed but not reaped; 0: free */
    unsigned char *held;            /* the withheld parts of inputs */
    size_t held_bytes;
    ak_ceilings ceilings;
    ak_host_energy energy;
    ak_fs_owned own; /* folder of the problem's own baselines; opened for the first of them */
};

/* A part of an input that is not in the block yet. */
typedef struct ak_host_withheld {
    size_t at;   /* offset in the block */
    size_t from; /* in device->held */
    size_t bytes;
} ak_host_withheld;

struct ak_runnable {
    ak_device *device;
    ak_proc proc;
    ak_runner_page *page;
    bool is_candidate;    /* false only for a baseline: a reference, and what only reads the
                             arguments, run in the same conditions as a candidate */
    int metered, crowded; /* batches whose processor time was looked at, and those that took more of
                             it than their threads can have had */
    /* For the latest batch: processor time before it (-1: not known), the time of its calls, and
       the most processor time that its threads can have had. */
    int64_t meter_cpu_ns, meter_ns, meter_most_ns;
    int64_t stop_ns;    /* from the end of the latest batch until all threads had stopped */
    int64_t granted_ns; /* extra time so far, for waiting on a busy machine */
    /* How the child's memory has grown at these sizes and with this workspace: bytes in use after
       the first batch (from) and at most (most), batches and calls since then, and batches in which
       the memory grew (times). */
    int64_t grown_size[AK_SIZES_MAX];
    uint64_t grown_workspace, grown_calls;
    int64_t grown_from, grown_most;
    int grown_batches, grown_times;
    ak_host_withheld withheld[AK_PLACES_MAX * AK_ARGUMENTS_MAX * (AK_HOST_WITHHELD + 1)];
    /* The first `withheld_last` are restored when the clock starts, the others before. */
    size_t withheld_count, withheld_last;
    char title[64], version[96];
};

/* Makes shared memory of size 0. Returns its descriptor, or a negative number. Children inherit the
   descriptor; a runner closes all descriptors of shared memory but that of the block before it
   loads anything. */
int ak_host_child_memory(const char *name);

/* Starts a child in which nothing is loaded. */
ak_status ak_host_child_start(ak_runnable **out, ak_device *device, ak_error *err);
/* Gives the spare child, or a new one. */
ak_status ak_host_child_take(ak_runnable **out, ak_device *device, ak_error *err);
/* Kills a child, waits for its end and frees it; NULL is allowed. */
void ak_host_child_free(ak_runnable *runner);
/* Kills and frees a child without waiting until the system has taken a big process apart. That
   takes a millisecond, in which the next candidate can be loaded. Waits for one if
   AK_HOST_DYING_MAX are still being taken apart. */
void ak_host_child_drop(ak_runnable *runner);
/* Reaps children that were dropped: all of them, waiting for each, or at least enough for one free
   place. */
void ak_host_child_reap(ak_device *device, bool all);

/* Wakes the child and sends it an AK_RUNNER_LOAD or AK_RUNNER_RUN. */
bool ak_host_child_command(ak_outcome *out, ak_runnable *runner, char what);
/* A time limit, and the moment by ak_clock_ns when it ends. */
typedef struct ak_host_limit {
    int64_t ns, deadline;
} ak_host_limit;
/* Returns a limit that begins now. */
ak_host_limit ak_host_limit_of(int64_t ns);
/* Waits for a byte, until the deadline; a child that had to wait for a processor gets more time. */
bool ak_host_child_await(ak_outcome *out, char *got, ak_runnable *runner, ak_host_limit limit);
/* Waits like ak_host_child_await; any byte other than `want` is a failure. */
bool ak_host_child_await_byte(ak_outcome *out, char want, ak_runnable *runner, ak_host_limit limit);
/* Takes status and reason from the reply in the page; leaves `out` as it is if the status is OK.
   The page may hold anything, so both are checked. */
void ak_host_child_reply(ak_outcome *out, const ak_runner_page *page);
/* Returns how long a thread has been ready to run without a processor, in nanoseconds: the second
   number in its file schedstat (Documentation/scheduler/sched-stats.rst). Negative if that is not
   known. */
int64_t ak_host_waits(const char *schedstat);
/* Returns the sum of these waits over the child's threads; negative if one is not known. */
int64_t ak_host_child_waits(const ak_runnable *runner);

/* host_batch.c. Runs the batch that runner->page asks for. If the launch has one iteration or a
   stride, some elements of the inputs are withheld until the clock starts, from candidates and
   wherever inputs are to be unseen. */
void ak_host_batch(ak_outcome *out, ak_runnable *runner, const ak_launch *launch);
/* Measures the harness' own cost: of each batch (device->roundtrip_ns, stop_ns) and of each call
   (forget_ns). */
ak_status ak_host_batch_calibrate(ak_device *device, ak_error *err);

#endif
