#include "backend/launch/contents.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"

/* Of the batches that are long enough, after the first ops->cold ones, the first one and one in
   this many, at random, are compared with runs on unseen contents. */
#define UNSEEN_EVERY 4
/* The sets of a batch have at most this many different other contents. With many sets, making
   different ones for each would take a millisecond. */
#define KINDS  8
#define NO_SET SIZE_MAX
/* If a batch is timed again, its new time counts up to this many times the first one: the candidate
   may be slow on purpose. */
#define SLOWER_TIMES 1.5
/* The first pause before another comparison; each one is twice as long as that before. Other work
   on the processor passes, and a thread that has slept runs at once. */
#define PAUSE_NS AK_MS_NS

/* A batch: the first `used` sets take part, and the set with index `judged` is judged. The set with
   index `aside`, unless it is NO_SET, is set aside with other contents. */
typedef struct batch {
    ak_contents *contents;
    const ak_launch *launch;
    ak_outcome *out;
    bool first;
    bool fresh; /* each run has contents that no run has seen */
    size_t used, judged, aside;
} batch;

/* Returns whether the numbers of an argument may change places. Integers may be indices in an order
   that matters, unless each is drawn by itself. */
static bool may_turn(const ak_argument_spec *argument, ak_dtype dtype)
{
    return ak_dtype_is_float(dtype) || argument->fill == AK_FILL_UNIFORM ||
           argument->fill == AK_FILL_NORMAL;
}

/* Returns whether the elements of a row may come from two rows. Numbers that are not drawn each by
   itself may belong together in a row. */
static bool may_mix(const ak_argument_spec *argument)
{
    return argument->fill == AK_FILL_UNIFORM || argument->fill == AK_FILL_NORMAL ||
           argument->fill == AK_FILL_CONSTANT;
}

/* Makes an input's other contents from two random rotations of the own ones, or from one rotation
   if its elements may not be mixed or the device has no code for that: by rows or, if there is only
   one row, by elements. Does nothing for outputs, for a single number, and for numbers that may not
   change places. */
static int mix_argument(ak_contents *c, const ak_launch *launch, size_t i)
{
    const ak_argument_spec *argument = &launch->task->problem->arguments[i];
    const ak_shape *shape = launch->shape;
    const size_t rows = shape->elements[i] / shape->row[i];
    const size_t unit = rows > 1 ? shape->pitch[i] : 1;
    const size_t count = rows > 1 ? rows : shape->elements[i];
    ak_mixed *m = &c->mixed[i];
    if (argument->access == AK_ACCESS_OUT || count < 2 ||
        !may_turn(argument, ak_task_argument_dtype(launch->task, i))) {
        return 0;
    }
    const size_t turn = 1 + ak_rng_below(c->rng, count - 1);
    /* If more than two rows (or elements) change places, none stays where it was. */
    size_t other = count == 2 ? 0 : 1 + ak_rng_below(c->rng, count - 2);
    other += count > 2 && other >= turn ? 1 : 0;
    *m = (ak_mixed){.span = (count - 1) * unit + (rows > 1 ? shape->row[i] : 1),
                    .wrap = count * unit,
                    .turn = {turn * unit, turn * unit},
                    .seed = ak_rng_next(c->rng)};
    if (may_mix(argument) && !c->whole_rows) {
        m->turn[1] = other * unit;
    }
    return c->ops->mix(c->runnable, i, m);
}

static int mix_other(const batch *b)
{
    int code = 0;
    for (size_t i = 0; i < b->launch->task->problem->argument_count && code == 0; i++) {
        code = mix_argument(b->contents, b->launch, i);
    }
    return code;
}

static int fill(const batch *b, size_t set, ak_contents_spare from, bool outputs)
{
    if (set == b->aside) {
        memcpy(b->out->mixed, b->contents->mixed, sizeof b->out->mixed);
    }
    return b->contents->ops->fill(b->contents->runnable, set, from, outputs);
}

static int time_runs(int64_t *ns, const batch *b, size_t runs)
{
    return b->contents->ops->time(ns, b->contents->runnable, (uint32_t)runs, b->judged,
                                  b->launch->timeout_ns);
}

static int time_run(int64_t *ns, const batch *b, size_t set)
{
    return b->contents->ops->time(ns, b->contents->runnable, 1, set, b->launch->timeout_ns);
}

/* Fills `count` sets with at most `kinds` different other contents. The set that is set aside gets
   the last of these, which inputs that all sets share then hold, too. */
static int fill_all(const batch *b, size_t count, size_t kinds, bool outputs)
{
    int code = 0;
    kinds = kinds < count ? kinds : count;
    const size_t first = b->aside == NO_SET ? 0 : b->aside + 1;
    for (size_t kind = 0; kind < kinds && code == 0; kind++) {
        code = mix_other(b);
        for (size_t set = (first + kind) % kinds; set < count && code == 0; set += kinds) {
            code = fill(b, set, AK_CONTENTS_OTHER, outputs);
        }
    }
    return code;
}

/* Draws the set that is judged: if there are several, not the one that still holds right
   outputs. */
static size_t draw_set(const ak_contents *c, size_t count)
{
    assert(count > 0); /* a batch has at least one set */
    size_t set = ak_rng_below(c->rng, count);
    return set == c->right_set ? (set + 1) % count : set;
}

static int set_aside(const batch *b)
{
    b->out->aside = b->aside != NO_SET;
    return b->out->aside ? b->contents->ops->set_aside(b->contents->runnable, b->aside) : 0;
}

/* Times one run on each of `count` sets with unseen contents, which all differ, or, if the batch
   was a single run, one run on the set that is judged. Where sets share inputs, each is filled just
   before its run, because the first of many runs would show the others what they share. A run by
   itself takes longer than one of many, so there each is repeated on the same contents; *seen_ns is
   the time of all second runs, 0 if there are none. */
static int time_unseen(int64_t *ns, int64_t *seen_ns, const batch *b, size_t count)
{
    const bool single = b->launch->iterations == 1;
    *ns = *seen_ns = 0;
    if (!single && !b->contents->shared) {
        int code = fill_all(b, count, count, false);
        return code == 0 ? time_runs(ns, b, count) : code;
    }
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        const size_t set = single ? b->judged : i;
        int64_t one = 0, again = 0;
        code = mix_other(b);
        code = code == 0 ? fill(b, set, AK_CONTENTS_OTHER, false) : code;
        code = code == 0 ? time_run(&one, b, set) : code;
        if (code == 0 && !single) {
            code = fill(b, set, AK_CONTENTS_OTHER, false);
            code = code == 0 ? time_run(&again, b, set) : code;
        }
        *ns += one;
        *seen_ns += again;
    }
    return code;
}

/* Runs on unseen contents: on each set that the batch has used or, if it was a single run, on the
   set that is judged. Compares the time of such a run with that of a run in the batch, `batch_ns`,
   unless this is 0. Tries again if the run takes too long, and rejects the candidate after
   ops->tries times; otherwise sets b->aside aside. The sets then no longer hold what the batch has
   written. */
static int look_at_unseen(const batch *b, double batch_ns)
{
    const ak_contents_ops *ops = b->contents->ops;
    const uint32_t runs = b->launch->iterations;
    int64_t ns = 0, again = 0, seen_ns = 0;
    double each_ns = batch_ns;
    int code = 0;
    size_t sets = runs > 1 ? b->used : 1;
    for (int try = 0; try < ops->tries && code == 0; try++) {
        code = time_unseen(&ns, &seen_ns, b, sets);
        const int64_t fastest = ops->fastest == NULL ? 0 : ops->fastest(b->contents->runnable);
        ns = fastest > 0 ? fastest * (int64_t)sets : ns;
        double limit = (double)sets * (ops->times * each_ns + ops->each_ns) + ops->all_ns;
        if (code != 0 || each_ns <= 0 || (double)ns <= limit + (double)seen_ns) {
            return code == 0 ? set_aside(b) : code;
        }
        if (ops->repeats && try + 1 < ops->tries) {
            code = time_runs(&again, b, runs);
            const double each = (double)again / runs, most = SLOWER_TIMES * batch_ns;
            each_ns = each < most ? each : most;
            ak_clock_sleep_ns(PAUSE_NS << try);
        }
    }
    if (code == 0) {
        ak_outcome_refuse(b->out, AK_TRIAL_REJECTED,
                          "on inputs that it has not seen a run takes %.3g us, in a batch %.3g us: "
                          "it reuses results of earlier runs",
                          (double)ns / (double)sets / 1e3, each_ns / 1e3);
    }
    return code;
}

/* Returns whether inputs can be late. Inputs that all sets share are not in the set, so they
   cannot. */
static bool may_be_late(const ak_contents *c)
{
    return c->ops->late != NULL && c->early && !c->shared;
}

/* Returns whether the judged run must have late inputs: where they can be late, the first run that
   is judged alone after a candidate was loaded has them. */
static bool is_late_owed(const ak_contents *c)
{
    return may_be_late(c) && !c->waited;
}

/* Makes a run on the own contents that is judged and not timed. */
static int run_alone(const batch *b)
{
    int64_t ignored = 0;
    if (!may_be_late(b->contents)) {
        int code = fill(b, b->judged, AK_CONTENTS_OWN, false);
        return code == 0 ? time_runs(&ignored, b, 1) : code;
    }
    int code = mix_other(b);
    code = code == 0 ? fill(b, b->judged, AK_CONTENTS_OTHER, false) : code;
    b->contents->waited = true;
    return code == 0
               ? b->contents->ops->late(b->contents->runnable, b->judged, b->launch->timeout_ns)
               : code;
}

/* Makes a single run on the own contents. The first time, and later in half of the batches, which
   are drawn, a run on other contents at the same place precedes it. If inputs are still to be late
   once, the run on other contents is timed, and one with late inputs is judged. */
static int single_run(int64_t *ns, const batch *b)
{
    const bool late = is_late_owed(b->contents);
    bool other = late || b->first || ak_rng_below(b->contents->rng, 2) == 0;
    int code = 0;
    if (other) {
        code = mix_other(b);
        code = code == 0 ? fill(b, b->judged, AK_CONTENTS_OTHER, b->first) : code;
        code = code == 0 ? time_runs(ns, b, 1) : code;
    }
    if (late) {
        return code == 0 ? run_alone(b) : code;
    }
    /* Without a run on other contents before it, the set may hold right outputs of an earlier
       batch. */
    code = code == 0 ? fill(b, b->judged, AK_CONTENTS_OWN, !other) : code;
    return code == 0 ? time_runs(ns, b, 1) : code;
}

/* Times runs that each have contents that no run has seen, in parts of one run per set. The judged
   set gets the own contents for its last run, unless it is run alone. */
static int fresh_runs(int64_t *ns, const batch *b, bool alone)
{
    const ak_contents *c = b->contents;
    int code = 0;
    *ns = 0;
    for (uint32_t left = b->launch->iterations; left > 0 && code == 0;) {
        /* A part with fewer runs than sets comes first, so that the last of several parts runs on
           each set. */
        const uint32_t rest = left % (uint32_t)c->sets, runs = rest > 0 ? rest : (uint32_t)c->sets;
        int64_t part = 0;
        left -= runs;
        code = fill_all(b, runs, runs, b->first);
        code =
            code == 0 && left == 0 && !alone ? fill(b, b->judged, AK_CONTENTS_OWN, b->first) : code;
        code = code == 0 ? c->ops->time(&part, c->runnable, runs, 0, b->launch->timeout_ns) : code;
        *ns += part;
    }
    return code;
}

static int repeated_runs(int64_t *ns, const batch *b, bool alone)
{
    int code = fill_all(b, b->used, KINDS, b->first);
    code = code == 0 && !alone ? fill(b, b->judged, AK_CONTENTS_OWN, b->first) : code;
    return code == 0 ? time_runs(ns, b, b->launch->iterations) : code;
}

static int many_runs(int64_t *ns, const batch *b)
{
    /* If arguments are changed in place, only a single run on them can be judged. If all sets share
       inputs, these cannot hold what is set aside and the own contents in the same batch. The first
       batch has a single run, too, if its inputs can be late. */
    bool alone = ak_problem_works_in_place(b->launch->task->problem) ||
                 (b->contents->shared && b->aside != NO_SET) || is_late_owed(b->contents) ||
                 ak_rng_below(b->contents->rng, 2) == 0;
    int code = b->fresh ? fresh_runs(ns, b, alone) : repeated_runs(ns, b, alone);
    return code == 0 && alone ? run_alone(b) : code;
}

/* Draws whether a set of the batch is set aside, rather than one with unseen contents. Returns
   false if arguments are changed in place: a set may then have had several runs, so that it does
   not hold what a single run gives. */
static bool may_be_of_batch(const batch *b)
{
    return b->used > 1 && b->launch->iterations > 1 &&
           !ak_problem_works_in_place(b->launch->task->problem) &&
           ak_rng_below(b->contents->rng, 2) == 0;
}

static bool is_small(const batch *b)
{
    size_t bytes = 0;
    for (size_t i = 0; i < b->launch->task->problem->argument_count; i++) {
        bytes += b->launch->shape->bytes[i];
    }
    return bytes <= b->contents->ops->fresh_bytes;
}

/* Times the batch again until the first batches, which say nothing, are over. */
static int warm_up(double *run_ns, const batch *b)
{
    int64_t ns = 0;
    int code = 0;
    while (b->contents->long_runs <= b->contents->ops->cold && code == 0) {
        code = time_runs(&ns, b, b->launch->iterations);
        *run_ns = (double)ns / b->launch->iterations;
        b->contents->long_runs++;
    }
    return code;
}

int ak_contents_batch(int64_t *ns, ak_contents *contents, const ak_launch *launch, ak_outcome *out)
{
    const ak_contents_ops *ops = contents->ops;
    const uint32_t runs = launch->iterations;
    batch b = {.contents = contents,
               .launch = launch,
               .out = out,
               .first = !contents->visited,
               .aside = NO_SET};
    int code = ops->begin(contents->runnable);
    if (b.first) {
        /* This overwrites the results of earlier candidates. */
        code = code == 0 ? fill_all(&b, contents->sets, KINDS, true) : code;
        contents->right_set = NO_SET;
        contents->long_runs = 0;
        contents->looked = contents->waited = false;
        contents->visited = true;
    }
    b.fresh = runs > 1 && is_small(&b);
    b.used = runs > 1 && runs < contents->sets ? runs : contents->sets;
    b.judged = draw_set(contents, b.used);
    const bool owed = launch->last && !contents->looked && !b.fresh;
    const bool of_batch = launch->aside && !owed && may_be_of_batch(&b);
    b.aside = of_batch ? (b.judged + 1 + ak_rng_below(contents->rng, b.used - 1)) % b.used : NO_SET;
    code = code != 0 ? code : runs == 1 ? single_run(ns, &b) : many_runs(ns, &b);
    double run_ns = (double)*ns / runs;
    contents->right_set =
        b.judged; /* it still holds the right outputs when the next batch begins */
    out->alone = true;
    code = code == 0 ? ops->keep(contents->runnable, b.judged, run_ns) : code;
    bool long_enough = *ns >= ops->least_ns && !b.fresh;
    contents->long_runs += long_enough ? 1 : 0;
    code = code == 0 && long_enough && owed ? warm_up(&run_ns, &b) : code;
    long_enough = long_enough && contents->long_runs > ops->cold;
    bool compared =
        long_enough && (!contents->looked || ak_rng_below(contents->rng, UNSEEN_EVERY) == 0);
    if (code == 0 && of_batch) {
        code = set_aside(&b);
    } else if (code == 0 && (compared || launch->aside)) {
        contents->looked = contents->looked || long_enough;
        contents->right_set = NO_SET;
        b.aside = !launch->aside ? NO_SET
                  : runs > 1     ? ak_rng_below(contents->rng, b.used)
                                 : b.judged;
        code = look_at_unseen(&b, long_enough ? run_ns : 0);
    }
    return code == 0 && ops->end != NULL ? ops->end(contents->runnable) : code;
}
