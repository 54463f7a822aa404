/*
 * cuda_contents.c: what the arguments hold while a candidate is timed, so that whoever remembers
 * results is wrong or slow. Behind the sets there are two spare places: the *own* contents, which
 * the harness has uploaded and can judge, and the *other* contents: the same numbers, each floating
 * input turned by a number of rows that is drawn anew, so that no run has seen them.
 *
 *   most sets hold other contents during a batch; one set, drawn at random, holds the own ones, or
 *   gets them after the clock has stopped and is run once more. This set is judged.
 *
 *   outputs are poisoned once; after that they hold what this candidate has written there for other
 *   contents, which looks right and is wrong, so whether a run has anything to do cannot be seen.
 *
 *   now and then all sets get contents that nobody has seen, and one run on each is timed. If such
 *   runs take longer than those of a batch, again and again, the batch did not do all of the work.
 *
 * Integers are not turned, because a kernel may use them as addresses.
 */
#include <assert.h>

#include "backend/cuda/cuda_device.h"

/* A run on unseen contents may take UNSEEN_TIMES as long as a run of a batch, plus UNSEEN_NS, and
   all runs together UNSEEN_ALL_NS more, because they begin while copies are still on their way from
   the level 2 cache to memory. A candidate is rejected if it takes longer UNSEEN_TRIES times in a
   row. */
#define UNSEEN_TIMES  1.5
#define UNSEEN_NS     2000.0
#define UNSEEN_ALL_NS 30000.0
#define UNSEEN_TRIES  3
/* One batch in this many, and the first, is compared with unseen contents. */
#define UNSEEN_EVERY 4
/* The first run loads the code, and its time says nothing. */
#define COLD_LAUNCHES 2
/* Shorter batches are not compared: a few microseconds decide there. */
#define UNSEEN_LEAST_NS 200000
/* Number of different contents in a batch; as many as there are sets would take a millisecond to
   make where there are many. */
#define KINDS 8

enum { OWN, OTHER }; /* the spare places */
#define NO_SET SIZE_MAX

static ak_cuda_address spare(const ak_runnable *runnable, size_t which)
{
    const ak_cuda_places *places = &runnable->places;
    return runnable->device->copies + (places->sets - 1 + which) * places->stride;
}

static ak_cuda_address set_at(const ak_runnable *runnable, size_t set)
{
    const ak_cuda_places *places = &runnable->places;
    return set == 0 ? runnable->device->block + places->first
                    : runnable->device->copies + (set - 1) * places->stride;
}

static int copy(const ak_runnable *runnable, ak_cuda_address to, ak_cuda_address from, size_t at,
                size_t bytes)
{
    const ak_device *device = runnable->device;
    return bytes == 0 ? AK_CUDA_SUCCESS
                      : device->cuda->copy(to + at, from + at, bytes, device->stream);
}

/* Copies rows `first` to `last` of an argument to where row `to` is. Gaps behind the last of them
   are left out. */
static int copy_rows(const ak_runnable *runnable, size_t argument, size_t to, size_t first,
                     size_t count, size_t unit, size_t distance)
{
    const ak_device *device = runnable->device;
    size_t at = runnable->places.offset[argument] - runnable->places.first;
    return count == 0 ? AK_CUDA_SUCCESS
                      : device->cuda->copy(spare(runnable, OTHER) + at + to * distance,
                                           spare(runnable, OWN) + at + first * distance,
                                           (count - 1) * distance + unit, device->stream);
}

/* Turns the other contents by rows or, if there is one row, by elements. */
static int turn_other(ak_runnable *runnable)
{
    ak_device *device = runnable->device;
    const ak_shape *shape = &runnable->shape;
    int code = AK_CUDA_SUCCESS;
    for (size_t i = 0; i < runnable->places.count && code == 0; i++) {
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
        code = copy_rows(runnable, i, 0, turn, count - turn, unit, distance);
        code = code == 0 ? copy_rows(runnable, i, count - turn, 0, turn, unit, distance) : code;
    }
    return code;
}

/* Fills a set. Without `outputs`, outputs whose rows adjoin stay as they are. */
static int fill(ak_runnable *runnable, size_t set, size_t which, bool outputs)
{
    const ak_cuda_places *places = &runnable->places;
    const ak_shape *shape = &runnable->shape;
    size_t at = 0;
    int code = AK_CUDA_SUCCESS;
    for (size_t i = 0; i < places->count && !outputs && code == 0; i++) {
        bool stays = runnable->device->task->problem->arguments[i].access == AK_ACCESS_OUT &&
                     shape->row[i] == shape->pitch[i];
        if (stays) {
            size_t output = places->offset[i] - places->first;
            code = copy(runnable, set_at(runnable, set), spare(runnable, which), at, output - at);
            at = output + shape->bytes[i];
        }
    }
    return code == 0 ? copy(runnable, set_at(runnable, set), spare(runnable, which), at,
                            places->span - at)
                     : code;
}

/* Fills sets with other contents, of which `kinds` are different. */
static int fill_all(ak_runnable *runnable, size_t count, size_t kinds, bool outputs)
{
    int code = AK_CUDA_SUCCESS;
    for (size_t kind = 0; kind < kinds && kind < count && code == 0; kind++) {
        code = turn_other(runnable);
        for (size_t set = kind; set < count && code == 0; set += kinds) {
            code = fill(runnable, set, OTHER, outputs);
        }
    }
    return code;
}

/* Draws the set that is judged: not the one that still holds the right outputs. */
static size_t draw_set(ak_runnable *runnable, size_t count)
{
    assert(count > 0); /* a batch has at least one set */
    size_t set = ak_rng_below(&runnable->device->rng, count);
    return set == runnable->right_set ? (set + 1) % count : set;
}

/* Compares the time of a run in the batch, `each_ns`, with that of runs on unseen contents, all of
   them different: one run on each set that the batch has used or, if it was a single run, on `set`.
   Spoils these sets. */
static int look_at_unseen(ak_runnable *runnable, uint32_t runs, size_t set, double each_ns,
                          int64_t timeout_ns, ak_outcome *out)
{
    int64_t ns = 0;
    int code = AK_CUDA_SUCCESS;
    size_t sets = runs < runnable->places.sets ? runs : runnable->places.sets;
    double limit = (double)sets * (UNSEEN_TIMES * each_ns + UNSEEN_NS) + UNSEEN_ALL_NS;
    for (int try = 0; try < UNSEEN_TRIES && code == 0; try++) {
        code = runs > 1 ? fill_all(runnable, sets, sets, false) : turn_other(runnable);
        code = code == 0 && runs == 1 ? fill(runnable, set, OTHER, false) : code;
        code = code == 0 ? ak_cuda_time_runs(&ns, runnable, (uint32_t)sets, set, timeout_ns) : code;
        if (code != 0 || (double)ns <= limit) {
            return code;
        }
    }
    if (code == 0) {
        ak_cuda_refuse(out, AK_TRIAL_REJECTED,
                       "on inputs that it has not seen a run takes %.3g us, in a batch %.3g us: it "
                       "reuses results of earlier runs",
                       (double)ns / (double)sets / 1e3, each_ns / 1e3);
    }
    return code;
}

/* A single run on the own contents. Mostly a run on other contents at the same place precedes
   it. */
static int single_run(int64_t *ns, ak_runnable *runnable, size_t set, bool first,
                      int64_t timeout_ns)
{
    int64_t ignored = 0;
    bool other = first || ak_rng_below(&runnable->device->rng, 2) == 0;
    int code = AK_CUDA_SUCCESS;
    if (other) {
        code = turn_other(runnable);
        code = code == 0 ? fill(runnable, set, OTHER, first) : code;
        code = code == 0 ? ak_cuda_time_runs(&ignored, runnable, 1, set, timeout_ns) : code;
    }
    /* Without a run on other contents before it, the set may hold right outputs of an earlier
       batch. */
    code = code == 0 ? fill(runnable, set, OWN, !other) : code;
    return code == 0 ? ak_cuda_time_runs(ns, runnable, 1, set, timeout_ns) : code;
}

static int many_runs(int64_t *ns, ak_runnable *runnable, uint32_t runs, size_t set, bool first,
                     bool in_place, int64_t timeout_ns)
{
    size_t used = runs < runnable->places.sets ? runs : runnable->places.sets;
    int64_t ignored = 0;
    /* If arguments are changed in place, only a single run on them can be judged. */
    bool alone = in_place || ak_rng_below(&runnable->device->rng, 2) == 0;
    int code = fill_all(runnable, used, KINDS, first);
    code = code == 0 && !alone ? fill(runnable, set, OWN, first) : code;
    code = code == 0 ? ak_cuda_time_runs(ns, runnable, runs, 0, timeout_ns) : code;
    if (alone) {
        code = code == 0 ? fill(runnable, set, OWN, false) : code;
        code = code == 0 ? ak_cuda_time_runs(&ignored, runnable, 1, set, timeout_ns) : code;
    }
    return code;
}

int ak_cuda_contents_batch(int64_t *ns, ak_runnable *runnable, const ak_launch *launch,
                           ak_outcome *out)
{
    ak_device *device = runnable->device;
    const ak_cuda_places *places = &runnable->places;
    uint32_t runs = launch->iterations;
    bool first = !runnable->visited;
    int code = copy(runnable, spare(runnable, OWN), set_at(runnable, 0), 0, places->span);
    code = code == 0 ? copy(runnable, spare(runnable, OTHER), spare(runnable, OWN), 0, places->span)
                     : code;
    if (first) {
        /* Results of candidates before this one are wiped out. */
        code = code == 0 ? fill_all(runnable, places->sets, KINDS, true) : code;
        runnable->right_set = NO_SET;
        runnable->launches = 0;
        runnable->looked = false;
        runnable->visited = true;
    }
    size_t judged = draw_set(runnable, runs > 1 && runs < places->sets ? runs : places->sets);
    code = code != 0 ? code
           : runs == 1
               ? single_run(ns, runnable, judged, first, launch->timeout_ns)
               : many_runs(ns, runnable, runs, judged, first,
                           ak_problem_works_in_place(launch->task->problem), launch->timeout_ns);
    runnable->run_ns = (double)*ns / runs;
    runnable->right_set = judged;
    out->alone = true;
    /* What is judged is kept while unseen contents are looked at. */
    code = code == 0
               ? copy(runnable, spare(runnable, OWN), set_at(runnable, judged), 0, places->span)
               : code;
    bool long_enough = *ns >= UNSEEN_LEAST_NS && runnable->launches++ >= COLD_LAUNCHES;
    if (code == 0 && long_enough &&
        (!runnable->looked || ak_rng_below(&device->rng, UNSEEN_EVERY) == 0)) {
        runnable->looked = true;
        runnable->right_set = NO_SET;
        code = look_at_unseen(runnable, runs, judged, runnable->run_ns, launch->timeout_ns, out);
    }
    return code == 0 ? copy(runnable, set_at(runnable, 0), spare(runnable, OWN), 0, places->span)
                     : code;
}
