/*
 * opencl_contents.c: what the arguments hold while a candidate is timed, so that whoever remembers
 * results is wrong or slow; as cuda_contents.c. Behind the sets there are two spare ones: the *own*
 * contents, which the harness has uploaded and can judge, and the *other* contents: the same
 * numbers, each floating input turned by a number of rows that is drawn anew, so that no run has
 * seen them. Integers are not turned, because a kernel may use them as addresses.
 *
 *   most sets hold other contents during a batch; one set, drawn at random, holds the own ones, or
 *   gets them after the clock has stopped and is run once more. This set is judged.
 *
 *   outputs are poisoned once; after that they hold what this candidate has written there for other
 *   contents, which looks right and is wrong, so whether a run has anything to do cannot be seen.
 *
 *   now and then all sets get contents that nobody has seen, and one run on each is timed. Where
 *   that takes longer than in the batch, the batch is repeated on the same contents, because a
 *   device that is also the host's processor may have become slower in between. A candidate for
 *   which every repetition says the same did not do all of the work in the batch.
 */
#include <assert.h>

#include "backend/opencl/opencl_device.h"

/* A run on unseen contents may take UNSEEN_TIMES as long as a run of a batch, plus UNSEEN_NS. */
#define UNSEEN_TIMES 2.0
#define UNSEEN_NS    25000.0
#define UNSEEN_TRIES 8
/* One batch in this many, and the first, is compared with unseen contents. */
#define UNSEEN_EVERY 4
/* Number of different contents in a batch. */
#define KINDS  8
#define NO_SET SIZE_MAX

static size_t spare(const ak_device *device, size_t which)
{
    return device->set_count + which;
}

static int32_t copy(const ak_device *device, size_t to, size_t from, size_t argument,
                    size_t to_offset, size_t from_offset, size_t bytes)
{
    return bytes == 0 ? 0
                      : device->cl->copy(device->queue, device->sets[from].memory[argument],
                                         device->sets[to].memory[argument], from_offset, to_offset,
                                         bytes, 0, NULL, NULL);
}

/* Copies units `first` to `first + count - 1` of an argument to where unit `to` is. */
static int32_t copy_units(const ak_device *device, size_t argument, size_t to, size_t first,
                          size_t count, size_t unit, size_t distance)
{
    return count == 0 ? 0
                      : copy(device, spare(device, AK_OPENCL_OTHER), spare(device, AK_OPENCL_OWN),
                             argument, AK_GUARD_BYTES + to * distance,
                             AK_GUARD_BYTES + first * distance, (count - 1) * distance + unit);
}

/* Turns the other contents by rows or, if there is one row, by elements. */
static int32_t turn_other(const ak_runnable *runnable)
{
    ak_device *device = runnable->device;
    const ak_shape *shape = &runnable->shape;
    int32_t code = 0;
    for (size_t i = 0; i < device->layout.count && code == 0; i++) {
        const ak_argument_spec *argument = &device->task->problem->arguments[i];
        ak_dtype dtype = argument->dtype_follows ? device->task->dtype : argument->dtype;
        size_t element = ak_dtype_bytes(dtype), rows = shape->elements[i] / shape->row[i];
        bool by_rows = rows > 1;
        size_t count = by_rows ? rows : shape->elements[i];
        size_t unit = by_rows ? shape->row[i] * element : element;
        size_t distance = by_rows ? shape->pitch[i] * element : element;
        if (argument->access == AK_ACCESS_OUT || !ak_dtype_is_float(dtype) || count < 2) {
            continue;
        }
        size_t turn = 1 + ak_rng_below(&device->rng, count - 1);
        code = copy_units(device, i, 0, turn, count - turn, unit, distance);
        code = code == 0 ? copy_units(device, i, count - turn, 0, turn, unit, distance) : code;
    }
    return code;
}

/* Fills a set. Without `outputs`, outputs whose rows adjoin stay as they are, between their
   zones. */
static int32_t fill(const ak_runnable *runnable, size_t set, size_t which, bool outputs)
{
    const ak_device *device = runnable->device;
    const ak_shape *shape = &runnable->shape;
    int32_t code = 0;
    for (size_t i = 0; i < device->layout.count && code == 0; i++) {
        const size_t length = device->layout.length[i], end = AK_GUARD_BYTES + shape->bytes[i];
        const size_t from = spare(device, which);
        bool stays = !outputs && shape->row[i] == shape->pitch[i] &&
                     device->task->problem->arguments[i].access == AK_ACCESS_OUT;
        code = copy(device, set, from, i, 0, 0, stays ? AK_GUARD_BYTES : length);
        code = code == 0 && stays ? copy(device, set, from, i, end, end, length - end) : code;
    }
    return code;
}

/* Fills sets with other contents, of which `kinds` are different. */
static int32_t fill_all(const ak_runnable *runnable, size_t count, size_t kinds, bool outputs)
{
    int32_t code = 0;
    for (size_t kind = 0; kind < kinds && kind < count && code == 0; kind++) {
        code = turn_other(runnable);
        for (size_t set = kind; set < count && code == 0; set += kinds) {
            code = fill(runnable, set, AK_OPENCL_OTHER, outputs);
        }
    }
    return code;
}

/* Compares the time of a run in the batch with that of runs on contents that are all different and
   unseen: one on each set that the batch has used or, if it was a single run, on `set`. Spoils
   these sets. */
static int32_t look_at_unseen(ak_runnable *runnable, uint32_t runs, size_t set, double each_ns,
                              int64_t timeout_ns, ak_outcome *out)
{
    const size_t all = runnable->device->set_count, used = runs < all ? runs : all;
    const size_t first = runs == 1 ? set : 0;
    int64_t unseen = 0, again = 0;
    int32_t code = 0;
    for (int try = 0; try < UNSEEN_TRIES && code == 0; try++) {
        code = runs > 1 ? fill_all(runnable, used, used, false) : turn_other(runnable);
        code = code == 0 && runs == 1 ? fill(runnable, set, AK_OPENCL_OTHER, false) : code;
        code = code == 0 ? ak_opencl_time_runs(&unseen, runnable, (uint32_t)first, (uint32_t)used,
                                               timeout_ns)
                         : code;
        if (code != 0 || (double)unseen <= (double)used * (UNSEEN_TIMES * each_ns + UNSEEN_NS)) {
            return code;
        }
        code = ak_opencl_time_runs(&again, runnable, (uint32_t)first, runs, timeout_ns);
        each_ns = (double)again / runs;
    }
    if (code == 0) {
        ak_opencl_refuse(out, AK_TRIAL_REJECTED,
                         "on inputs that it has not seen a run takes %.3g us, in a batch %.3g us: "
                         "it reuses results of earlier runs",
                         (double)unseen / (double)used / 1e3, each_ns / 1e3);
    }
    return code;
}

/* A single run on the own contents. Mostly a run on other contents at the same place precedes
   it. */
static int32_t single_run(int64_t *ns, ak_runnable *runnable, size_t set, bool first,
                          int64_t timeout_ns)
{
    int64_t ignored = 0;
    bool other = first || ak_rng_below(&runnable->device->rng, 2) == 0;
    int32_t code = 0;
    if (other) {
        code = turn_other(runnable);
        code = code == 0 ? fill(runnable, set, AK_OPENCL_OTHER, first) : code;
        code = code == 0 ? ak_opencl_time_runs(&ignored, runnable, (uint32_t)set, 1, timeout_ns)
                         : code;
    }
    /* Without a run on other contents before it, the set may hold right outputs of an earlier
       batch. */
    code = code == 0 ? fill(runnable, set, AK_OPENCL_OWN, !other) : code;
    return code == 0 ? ak_opencl_time_runs(ns, runnable, (uint32_t)set, 1, timeout_ns) : code;
}

static int32_t many_runs(int64_t *ns, ak_runnable *runnable, uint32_t runs, size_t set, bool first,
                         int64_t timeout_ns)
{
    ak_device *device = runnable->device;
    int64_t ignored = 0;
    /* If arguments are changed in place, only a single run on them can be judged. */
    bool alone =
        ak_problem_works_in_place(device->task->problem) || ak_rng_below(&device->rng, 2) == 0;
    int32_t code =
        fill_all(runnable, runs < device->set_count ? runs : device->set_count, KINDS, first);
    code = code == 0 && !alone ? fill(runnable, set, AK_OPENCL_OWN, first) : code;
    code = code == 0 ? ak_opencl_time_runs(ns, runnable, 0, runs, timeout_ns) : code;
    if (alone) {
        code = code == 0 ? fill(runnable, set, AK_OPENCL_OWN, false) : code;
        code = code == 0 ? ak_opencl_time_runs(&ignored, runnable, (uint32_t)set, 1, timeout_ns)
                         : code;
    }
    return code;
}

int32_t ak_opencl_contents_batch(int64_t *ns, ak_runnable *runnable, const ak_launch *launch,
                                 ak_outcome *out)
{
    ak_device *device = runnable->device;
    const uint32_t runs = launch->iterations;
    const bool first = !runnable->visited;
    int32_t code = ak_opencl_from_block(device, spare(device, AK_OPENCL_OWN));
    code = code == 0 ? ak_opencl_from_block(device, spare(device, AK_OPENCL_OTHER)) : code;
    if (first) {
        /* Results of candidates before this one are wiped out. */
        code = code == 0 ? fill_all(runnable, device->set_count, KINDS, true) : code;
        runnable->right_set = NO_SET;
        runnable->visited = true;
        runnable->looked = false;
    }
    const size_t used = runs > 1 && runs < device->set_count ? runs : device->set_count;
    assert(used > 0); /* a batch has at least one set */
    size_t judged = ak_rng_below(&device->rng, used);
    judged = judged == runnable->right_set ? (judged + 1) % used : judged;
    code = code != 0   ? code
           : runs == 1 ? single_run(ns, runnable, judged, first, launch->timeout_ns)
                       : many_runs(ns, runnable, runs, judged, first, launch->timeout_ns);
    runnable->right_set = judged; /* it still holds the right outputs when the next batch begins */
    out->alone = true;
    code = code == 0 ? ak_opencl_to_block(device, judged) : code;
    if (code == 0 && (!runnable->looked || ak_rng_below(&device->rng, UNSEEN_EVERY) == 0)) {
        runnable->looked = true;
        runnable->right_set = NO_SET;
        code = look_at_unseen(runnable, runs, judged, (double)*ns / runs, launch->timeout_ns, out);
    }
    return code;
}
