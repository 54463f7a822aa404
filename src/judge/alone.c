/*
 * alone.c: see ak_loaded_alone in loaded.h.
 *
 * Calls alone and calls in a batch do the same work. A kernel that skips some calls of a batch is
 * fast only in the batch; a kernel that reuses what an earlier call left behind is fast only on
 * inputs that it has seen. This file finds both. If calls on unseen inputs take much longer than
 * calls in a batch, but neither fault is certain, their times replace those of the batches.
 *
 * Calls alone say little about a short kernel, so each of its calls in one more batch has its own
 * inputs (alone_many.c).
 *
 * A comparison is fair only if all of its times are of one kind. So times of calls on unseen inputs
 * must replace those of the batches only for what the candidate does, not for what memory and other
 * programs do. If other programs push the inputs out of the caches before a call begins, it takes
 * as long as memory needs, a delay that the other candidates' batches do not have. Therefore a call
 * on unseen inputs may also take longer by as much as reading its arguments from the same beginning
 * takes longer than reading them in a batch. A process without a candidate reads them, by turns
 * with the candidate's calls (cold.c). Where the caches hold the arguments, the limit stays as it
 * is.
 *
 * A kernel may also find the results of the call before it in its outputs, test them in less time
 * than computing them takes, as a product is tested with a random vector, and mend what the harness
 * has changed there. It keeps nothing and is right on all inputs, but it is fast only in a batch.
 * So a call is also timed, except in place, after its inputs were seen and all results were then
 * changed. Its caches and branches are as in a batch, so its limit is narrower
 * (AK_ALONE_RESULTS_TIMES). That is less than a processor's speed changes where other programs
 * share its core, so such a call is compared with the batches just before and after it.
 *
 * One fast call of a kind is enough to pass, but after changed results several are needed. Waits
 * for a processor are taken into account (alone.h), so another program's work neither fails an
 * honest kernel nor excuses a dishonest one. If the calls decide nothing, they are made again,
 * later and in a new process; a candidate for which they never decide is not accepted. On other
 * devices than the CPU, clocks and caches change the time of a call by more than skipped work does,
 * so only the results are judged there.
 */
#include "judge/alone.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "archive/archive.h"
#include "base/clock.h"
#include "base/instrumented.h"
#include "base/number.h"
#include "judge/loaded.h"
#include "measure/pressure.h"

/* What a call alone may take longer, however long a call in a batch is. */
#define ALONE_NS 25000.0
/* This time is added if there are several threads, because they sleep between calls and must be
   woken. */
#define ALONE_THREADS_NS 50000.0
/* Where a call is behind another on the same inputs and there are several threads, these get the
   arguments from each other's caches at this rate. */
#define MOVED_BYTES_PER_NS 5.0
/* A call on unseen inputs may take FRESH_TIMES as long as one on seen inputs or, if there is only
   one set of unseen inputs, FRESH_ONE_TIMES as long, plus ALONE_NS. */
#define FRESH_TIMES     2.0
#define FRESH_ONE_TIMES 4.0
/* If calls in a batch on one set of inputs take longer than the fastest by more than this factor,
   that set is timed again. */
#define SET_TIMES 1.3

/* If tasks waited for a processor for more than this share of the time, the data of other programs
   fill the caches when a call alone begins. The limit of a call alone then grows by the time in
   which its arguments come from memory at COLD_BYTES_PER_NS. */
#define BUSY              0.5
#define COLD_BYTES_PER_NS 1.0

/* A candidate is rejected for its times, or gets its times of single calls on unseen contents, only
   after this many suspicious looks. */
#define SUSPICIONS 2
/* Which times count is decided by at least AK_ALONE_LEAST calls on unseen contents; more, up to
   UNSEEN_MOST, are made until UNSEEN_NS have passed. */
#define UNSEEN_MOST 15
#define UNSEEN_NS   AK_SECOND_NS

/* Makes one call, whose time is that of r->outcome. */
static ak_status one_call(ak_loaded *r, ak_stage *stage, bool judged, ak_error *err)
{
    AK_LOADED_DO(r, ak_loaded_batch(r, stage, 1, err));
    return judged ? ak_loaded_judge(r, stage, true, err)
                  : ak_stage_check_zones(&r->outcome, stage, err);
}

/* Makes and judges one call on contents that this process has never seen. */
static ak_status unseen_call(ak_alone_calls *c, ak_loaded *r, ak_stage *stage, ak_error *err)
{
    AK_LOADED_DO(r, ak_unseen_call(r, stage, err));
    ak_alone_add(c, &r->outcome);
    return AK_OK;
}

/* Alternates between calls on contents that this process has never seen, each of which is judged,
   and calls on seen contents, of which the first is judged. The seen contents stay the same; their
   address changes now and then (ak_loaded_change). After a call on unseen contents, the next call
   on the seen ones does not count, so that a candidate which remembers only its latest result finds
   it in the one that counts. Ends once all unseen contents were used and one of those calls took at
   most full_ns, once enough on seen contents were made and one took at most call_ns, or after
   AK_ALONE_CALLS turns. */
static ak_status call_in_turns(ak_alone_calls *fresh, ak_alone_calls *again, ak_loaded *r,
                               ak_stage *seen, const ak_alone_limits *limits, ak_error *err)
{
    ak_evaluator *e = r->e;
    const size_t least = e->fresh_count > 0 ? AK_ALONE_AGAIN_CALLS : 1;
    *fresh = *again = (ak_alone_calls){0};
    for (size_t i = 0; i < AK_ALONE_CALLS; i++) {
        bool more_fresh = fresh->count < e->fresh_count;
        if (more_fresh) {
            ak_stage *stage = &e->fresh[fresh->count];
            AK_DO(ak_unseen_prepare(e, stage, e->secret + AK_STAGE_SETS + fresh->count, err));
            AK_LOADED_DO(r, unseen_call(fresh, r, stage, err));
        }
        if (fresh->count > 0 && fresh->count == e->fresh_count && fresh->least <= limits->full_ns) {
            return AK_OK;
        }
        AK_LOADED_DO(r, ak_loaded_change(r, i == 0, err));
        AK_LOADED_DO(r, more_fresh || i == 0 ? ak_loaded_watched(r, seen, 1, err) : AK_OK);
        AK_LOADED_DO(r, one_call(r, seen, i == 0, err));
        ak_alone_add(again, &r->outcome);
        if (again->count >= least && again->least <= limits->call_ns && !more_fresh) {
            return AK_OK;
        }
    }
    return AK_OK;
}

/* Gives the time of a call in a batch on the set `seen`, which exceeds `least_ns`, the least on any
   set, if the time depends on the contents. If it is much longer, up to BATCHES more batches rule
   out that the set was only timed too rarely. */
static ak_status time_in_batch(double *each_ns, ak_loaded *r, ak_stage *seen, double least_ns,
                               uint32_t iterations, ak_error *err)
{
    enum { BATCHES = 3 };
    const double *on_seen = &r->each_ns[seen - r->e->own];
    for (int i = 0; i < BATCHES && iterations > 1 && *on_seen > least_ns * SET_TIMES &&
                    r->outcome.status == AK_TRIAL_OK;
         i++) {
        AK_DO(ak_loaded_watched(r, seen, iterations, err));
    }
    *each_ns = *on_seen > least_ns ? *on_seen : least_ns;
    return AK_OK;
}

/* Tests whether a candidate that is slow on unseen contents is as slow on the same contents after
   LEARNING batches, if branch predictors have forgotten the kernel. If so, it reuses nothing there:
   its time depends on the contents (a search, a test of each element) or on predicted branches, and
   the finding becomes SLOWER. It stays REUSES if the candidate certainly became faster on most
   fresh contents. SLOWER only spares a candidate the rejection: a kernel that reuses results can be
   slow here on purpose, but its time is then that on unseen contents. The process must be
   new: it has then seen each set of the task's own contents in one batch only. */
static ak_status excuse(ak_alone_finding *finding, ak_loaded *r, uint32_t iterations,
                        const ak_alone_limits *limits, ak_error *err)
{
    enum { LEARNING = 2, CALLS = 8 };
    ak_evaluator *e = r->e;
    size_t reused = 0; /* contents on which the candidate was faster once it had seen them */
    for (size_t i = 0; i < e->fresh_count; i++) {
        ak_alone_calls first = {0}, later = {0};
        ak_stage *stage = &e->fresh[i];
        AK_DO(ak_unseen_refresh(e, stage, err));
        r->unpredicted = true;
        AK_DO(unseen_call(&first, r, stage, err));
        r->unpredicted = false;
        for (int k = 0; k < LEARNING && r->outcome.status == AK_TRIAL_OK; k++) {
            AK_DO(ak_loaded_watched(r, stage, iterations, err));
        }
        r->unpredicted = true;
        for (int k = 0; k < CALLS && r->outcome.status == AK_TRIAL_OK; k++) {
            AK_DO(one_call(r, stage, k == 0, err));
            ak_alone_add(&later, &r->outcome);
        }
        r->unpredicted = false;
        if (r->outcome.status != AK_TRIAL_OK) {
            return AK_OK;
        }
        const double limit = limits->times * later.least + limits->more_ns;
        reused += first.certain[0] > limit ? 1 : 0;
    }
    *finding = 2 * reused > e->fresh_count ? AK_ALONE_REUSES : AK_ALONE_SLOWER;
    return AK_OK;
}

/* Keeps the undisturbed times of calls on unseen contents; all times if these are few. */
static void keep_unseen(ak_loaded *r, const ak_alone_calls *calls)
{
    const bool quiet =
        calls->quiet_count >= AK_ALONE_LEAST && 2 * calls->quiet_count >= calls->count;
    const size_t count = quiet ? calls->quiet_count : calls->count;
    const double *ns = quiet ? calls->quiet : calls->ns;
    for (size_t i = 0; i < count && r->unseen_count < AK_UNSEEN_MAX; i++) {
        r->unseen_ms[r->unseen_count++] = ns[i] / 1e6;
    }
}

double ak_alone_slack(const ak_loaded *r)
{
    return ALONE_NS + (r->threads > 1 ? ALONE_THREADS_NS : 0.0);
}

/* Raises the limits of calls on unseen inputs by what `reads` took longer than in a batch. */
static void allow_for_memory(ak_alone_limits *limits, ak_alone_calls *reads, const ak_cold *c)
{
    const double cold_ns =
        ak_alone_delay(reads, c->batch_ns, ak_alone_slack(c->r), limits->each_ns);
    limits->full_ns += cold_ns;
    limits->more_ns += cold_ns;
}

/* Gives the n-th stage new contents and brings the processor into the state in which each call on
   unseen contents begins: a call of the candidate on seen contents has just ended. */
static ak_status begin_unseen(ak_stage **out, ak_loaded *r, ak_stage *seen, size_t n, ak_error *err)
{
    *out = &r->e->fresh[n % r->e->fresh_count];
    AK_DO(ak_unseen_refresh(r->e, *out, err));
    return ak_loaded_watched(r, seen, 1, err);
}

/* Reads arguments once, as a call on unseen contents would; does nothing without a reader. */
static ak_status read_unseen(ak_alone_calls *reads, ak_cold *c, ak_stage *seen, ak_error *err)
{
    ak_stage *stage;
    ak_outcome outcome;
    if (c->reader == NULL) {
        return AK_OK;
    }
    AK_LOADED_DO(c->r, begin_unseen(&stage, c->r, seen, reads->count, err));
    AK_DO(ak_cold_call(&outcome, c, stage, err));
    if (c->reader != NULL) {
        ak_alone_add(reads, &outcome);
    }
    return AK_OK;
}

/* Reads arguments as often as is enough for a decision, unless the reader fails or a call of the
   candidate does. */
static ak_status read_least(ak_alone_calls *reads, ak_cold *c, ak_stage *seen, ak_error *err)
{
    while (c->reader != NULL && reads->count < AK_ALONE_LEAST &&
           c->r->outcome.status == AK_TRIAL_OK) {
        AK_DO(read_unseen(reads, c, seen, err));
    }
    return AK_OK;
}

/* Makes calls, each on contents that the process has never seen, so that a candidate can reuse
   nothing that it has kept, by turns with readings of such contents. A call on seen contents before
   each wakes the processor. Decides only by the calls on unseen contents, and keeps their times if
   the finding is SLOWER. */
static ak_status judge_unseen(ak_alone_finding *finding, ak_loaded *r, ak_cold *cold,
                              ak_stage *seen, const ak_alone_limits *limits, ak_error *err)
{
    ak_alone_calls calls = {0}, reads = {0};
    ak_alone_limits raised = *limits;
    const int64_t begin = ak_clock_ns();
    while (calls.count < AK_ALONE_LEAST ||
           (calls.count < UNSEEN_MOST && ak_clock_ns() - begin < UNSEEN_NS)) {
        ak_stage *stage;
        AK_LOADED_DO(r, begin_unseen(&stage, r, seen, calls.count, err));
        AK_LOADED_DO(r, unseen_call(&calls, r, stage, err));
        if (calls.least <= limits->full_ns) {
            break;
        }
        AK_LOADED_DO(r, read_unseen(&reads, cold, seen, err));
    }
    allow_for_memory(&raised, &reads, cold);
    *finding = ak_alone_decide_unseen(&calls, &raised);
    if (*finding == AK_ALONE_SLOWER) {
        keep_unseen(r, &calls);
    }
    return AK_OK;
}

/* The calls of one look, and by what they are judged. */
typedef struct turns {
    ak_alone_calls fresh, again;
    ak_alone_limits limits;
    ak_alone_evidence found;
    ak_stage *seen;
    uint32_t iterations;
    bool renewed; /* the process has seen each set of inputs in one batch only */
} turns;

/* Looks closer at a candidate whose calls on unseen inputs seem slow. Drops the suspicion if it no
   longer holds once the time that memory takes is allowed for. */
static ak_status look_closer(ak_alone_finding *finding, ak_loaded *r, turns *t, ak_cold *cold,
                             ak_error *err)
{
    AK_DO(ak_cold_open(cold, r, t->seen, t->iterations, 0, err));
    if (*finding == AK_ALONE_REUSES) {
        ak_alone_limits raised = t->limits;
        ak_alone_calls reads = {0};
        AK_LOADED_DO(r, read_least(&reads, cold, t->seen, err));
        allow_for_memory(&raised, &reads, cold);
        *finding = ak_alone_decide(&t->found, &t->fresh, &t->again, &raised);
        if (*finding == AK_ALONE_REUSES && t->renewed) {
            AK_DO(excuse(finding, r, t->iterations, &raised, err));
        }
    }
    return *finding == AK_ALONE_SLOWER && r->outcome.status == AK_TRIAL_OK
               ? judge_unseen(finding, r, cold, t->seen, &t->limits, err)
               : AK_OK;
}

/* Looks closer at a candidate whose calls alone are slow, if the kernel touches little of large
   arguments (ak_alone_touches_little). */
static ak_status look_at_memory(ak_alone_finding *finding, ak_loaded *r, turns *t, ak_error *err)
{
    const double touched = t->seen->shape.traffic;
    AK_AT_END(ak_cold_close) ak_cold cold = {0};
    ak_alone_calls reads = {0};
    if (r->e->fresh_count == 0 || !ak_alone_touches_little(touched, ak_stage_bytes(t->seen))) {
        return AK_OK;
    }
    AK_DO(ak_cold_open(&cold, r, t->seen, t->iterations, (size_t)touched, err));
    AK_LOADED_DO(r, read_least(&reads, &cold, t->seen, err));
    *finding =
        ak_alone_decide_little(&t->found, &reads, cold.batch_ns + ak_alone_slack(r), &t->limits);
    ak_cold_close(&cold);
    return *finding == AK_ALONE_SLOWER ? judge_unseen(finding, r, &cold, t->seen, &t->limits, err)
                                       : AK_OK;
}

/* Runs a batch on seen inputs. */
static ak_status batch_beside(ak_alone_batch *out, ak_loaded *r, turns *t, ak_error *err)
{
    AK_LOADED_DO(r, ak_loaded_watched(r, t->seen, t->iterations, err));
    *out = ak_alone_batch_of(&r->outcome, t->iterations);
    return AK_OK;
}

/* Times calls that find no results of an earlier call. If most are not about as fast as a call in a
   batch (each_ns), the candidate spares itself work by such results. From the first slow call on,
   each is made between two batches. Does nothing if the problem works in place, because its outputs
   hold inputs then. */
static ak_status look_at_results(ak_alone_finding *finding, ak_loaded *r, turns *t, double each_ns,
                                 ak_error *err)
{
    const double moved = r->threads > 1 ? ak_stage_bytes(&r->e->own[0]) / MOVED_BYTES_PER_NS : 0.0;
    const double more_ns = ak_alone_slack(r) + moved;
    ak_alone_results results = {0};
    ak_alone_batch before = {0}, after = {0};
    if (r->outcome.status != AK_TRIAL_OK || t->iterations == 1 ||
        ak_problem_works_in_place(r->e->task->problem)) {
        return AK_OK;
    }
    do {
        const bool between = results.fast < results.calls.count;
        if (between && before.ns == 0) {
            AK_LOADED_DO(r, batch_beside(&before, r, t, err));
        }
        r->warmed = true;
        ak_status status = one_call(r, t->seen, results.calls.count == 0, err);
        r->warmed = false;
        AK_LOADED_DO(r, status);
        const ak_outcome call = r->outcome;
        AK_LOADED_DO(r, between ? batch_beside(&after, r, t, err) : AK_OK);
        ak_alone_add_result(&results, &call, before, after, each_ns, more_ns);
        *finding = ak_alone_decide_results(&t->found, &results);
        before = after;
    } while (*finding == AK_ALONE_UNKNOWN && results.calls.count < AK_ALONE_CALLS);
    return AK_OK;
}

/* A finding, and in words what the candidate is suspected of. */
typedef struct suspicion {
    ak_alone_finding finding;
    char reason[sizeof((ak_outcome *)NULL)->reason];
} suspicion;

/* Writes what the candidate is suspected of. */
static void accuse(suspicion *s, const ak_alone_evidence *found, double each_ns)
{
    char alone[AK_REAL_BYTES], rest[AK_REAL_BYTES];
    const bool idles = s->finding == AK_ALONE_IDLES;
    const char *format =
        idles ? "a call alone takes %s us, but a call in a batch %s us: in a batch it does "
                "not do all of the work"
              : "on inputs that it has not seen a call takes %s us, on others %s us: it reuses "
                "results of earlier calls";
    (void)ak_number_print(s->reason, sizeof s->reason, format,
                          ak_number_short(alone, found->alone_ns / 1e3, 3),
                          ak_number_short(rest, (idles ? each_ns : found->other_ns) / 1e3, 3));
}

/* Makes the calls of one look and decides by their times. */
static ak_status look(suspicion *s, ak_loaded *r, double each_ms, uint32_t iterations, bool renewed,
                      ak_error *err)
{
    bool timed = r->e->backend->is_cpu && !AK_INSTRUMENTED;
    const double slack = ak_alone_slack(r);
    double each_ns = 0;
    turns t = {.seen = ak_evaluator_draw(r->e), .iterations = iterations, .renewed = renewed};
    AK_LOADED_DO(r, time_in_batch(&each_ns, r, t.seen, each_ms * 1e6, iterations, err));
    /* A call on unseen inputs must confirm the reported time, on whichever inputs that was
       measured. */
    t.limits =
        (ak_alone_limits){.call_ns = timed ? AK_ALONE_TIMES * each_ns + slack : HUGE_VAL,
                          .full_ns = timed ? AK_ALONE_TIMES * each_ms * 1e6 + slack : HUGE_VAL,
                          .times = r->e->fresh_count > 1 ? FRESH_TIMES : FRESH_ONE_TIMES,
                          .more_ns = ALONE_NS,
                          .each_ns = each_ms * 1e6,
                          .batches = iterations > 1};
    ak_pressure_mark from, to;
    ak_pressure_take(&from);
    AK_LOADED_DO(r, call_in_turns(&t.fresh, &t.again, r, t.seen, &t.limits, err));
    if (!timed) {
        return AK_OK;
    }
    ak_pressure_take(&to);
    if (ak_pressure_between(&from, &to) > BUSY) {
        t.limits.call_ns += ak_stage_bytes(&r->e->own[0]) / COLD_BYTES_PER_NS;
    }
    s->finding = ak_alone_decide(&t.found, &t.fresh, &t.again, &t.limits);
    if (s->finding == AK_ALONE_IDLES) {
        AK_DO(look_at_memory(&s->finding, r, &t, err));
    } else if (s->finding == AK_ALONE_REUSES || s->finding == AK_ALONE_SLOWER) {
        AK_AT_END(ak_cold_close) ak_cold cold = {0};
        AK_DO(look_closer(&s->finding, r, &t, &cold, err));
    }
    AK_DO(s->finding == AK_ALONE_FINE ? look_at_results(&s->finding, r, &t, each_ns, err) : AK_OK);
    accuse(s, &t.found, each_ns);
    return AK_OK;
}

ak_status ak_alone_again(ak_alone_looks *looks, ak_loaded *r, bool told, ak_error *err)
{
    const int64_t spent_ns = ak_clock_ns() - looks->begin_ns;
    const int64_t pause_ns = ak_alone_pause(++looks->count, looks->many, spent_ns);
    if (pause_ns == 0) {
        r->e->unjudged = true;
        r->unseen_count = 0;
        r->outcome.status = AK_TRIAL_TIMED_OUT;
        (void)snprintf(r->outcome.reason, sizeof r->outcome.reason,
                       AK_NOT_JUDGED "the machine was too busy to tell calls alone from calls in a "
                                     "batch; measure again when it is quieter");
        return AK_OK;
    }
    if (!told) {
        ak_clock_sleep_ns(pause_ns);
    }
    AK_DO(ak_loaded_renew(r, err));
    for (size_t i = 0; r->outcome.status == AK_TRIAL_OK && i < r->e->sets; i++) {
        AK_DO(ak_loaded_watched(r, &r->e->own[i], looks->iterations, err));
    }
    return AK_OK;
}

static ak_status calls_alone(ak_loaded *r, double each_ms, uint32_t iterations, ak_error *err)
{
    ak_alone_looks looks = {.begin_ns = ak_clock_ns(), .iterations = iterations};
    int suspicions = 0;
    for (;;) {
        suspicion s = {.finding = AK_ALONE_FINE};
        AK_DO(look(&s, r, each_ms, iterations, looks.count > 0, err));
        if (r->outcome.status != AK_TRIAL_OK || s.finding == AK_ALONE_FINE) {
            r->unseen_count = 0;
            return AK_OK;
        }
        suspicions += s.finding == AK_ALONE_UNKNOWN ? 0 : 1;
        if (suspicions == SUSPICIONS && s.finding == AK_ALONE_SLOWER) {
            return AK_OK; /* the times in r->unseen_ms count */
        }
        if (suspicions == SUSPICIONS) {
            r->outcome.status = AK_TRIAL_REJECTED;
            memcpy(r->outcome.reason, s.reason, sizeof s.reason);
            return AK_OK;
        }
        AK_LOADED_DO(r, ak_alone_again(&looks, r, s.finding != AK_ALONE_UNKNOWN, err));
    }
}

ak_status ak_loaded_alone(ak_loaded *r, double each_ms, uint32_t iterations, ak_error *err)
{
    AK_DO(calls_alone(r, each_ms, iterations, err));
    return r->outcome.status == AK_TRIAL_OK && r->unseen_count == 0
               ? ak_alone_many(r, each_ms, iterations, err)
               : AK_OK;
}
