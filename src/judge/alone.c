/*
 * alone.c: see ak_loaded_alone in loaded.h.
 *
 * Calls alone and calls in a batch do the same work. A kernel that skips some calls of a batch is
 * fast only in the batch; a kernel that reuses what an earlier call left behind is fast only on
 * inputs that it has seen. This file finds both. Several calls of each kind are made; one fast call
 * is enough to pass. A call took at most its time by the clock, and at least that time minus the
 * time for which its threads waited for a processor. A candidate passes by the upper bound and is
 * rejected only by the lower one, so that another program's work neither fails an honest kernel nor
 * excuses a dishonest one. On a device, clocks and caches change the time by more than the work
 * does, so only the results are judged there, not the times.
 */
#include "judge/loaded.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/instrumented.h"
#include "base/number.h"
#include "measure/pressure.h"

/* A call alone may take ALONE_TIMES as long as a call in a batch, plus ALONE_NS, because it begins
   with its data in other caches and its time is measured less exactly. */
#define ALONE_TIMES 2.5
#define ALONE_NS    25000.0
/* This time is added if there are several threads, because they sleep between calls and must be
   woken. */
#define ALONE_THREADS_NS 50000.0
/* At most ALONE_CALLS calls are made on inputs that were seen before, and at least AGAIN_CALLS if
   calls on unseen inputs are compared with them. At least QUIET_CALLS of these calls must be
   undisturbed to give the usual time. */
#define ALONE_CALLS 48
#define AGAIN_CALLS 24
#define QUIET_CALLS 8
/* A call on inputs that were never seen may take FRESH_TIMES as long as one on seen inputs or, if
   there is only one set of them, FRESH_ONE_TIMES as long. */
#define FRESH_TIMES     2.0
#define FRESH_ONE_TIMES 4.0

/* If tasks waited for a processor for more than BUSY of the time, the data of other programs fill
   the caches when a call alone begins. It may then take as long as its arguments need to come from
   memory at COLD_BYTES_PER_NS. */
#define BUSY              0.5
#define COLD_BYTES_PER_NS 1.0

/* The times of some calls, in nanoseconds. */
typedef struct calls {
    size_t count, quiet_count;
    double least; /* by the clock */
    double ns[ALONE_CALLS];
    double certain[ALONE_CALLS]; /* without the time for which threads waited */
    double quiet[ALONE_CALLS];   /* calls during which no thread waited */
} calls;

static ak_status one_call(calls *c, ak_loaded *r, ak_stage *stage, bool judged, ak_error *err)
{
    AK_DO(ak_loaded_batch(r, stage, 1, err));
    if (r->outcome.status != AK_TRIAL_OK) {
        return AK_OK;
    }
    assert(c->count < ALONE_CALLS);
    double ns = (double)r->outcome.ns;
    double certain = r->outcome.waits_known ? ns - (double)r->outcome.waited_ns : ns;
    c->least = c->count == 0 || ns < c->least ? ns : c->least;
    c->certain[c->count] = certain;
    c->ns[c->count++] = ns;
    if (!ak_outcome_waited(&r->outcome)) {
        c->quiet[c->quiet_count++] = ns;
    }
    return judged ? ak_loaded_judge(r, stage, true, err) : AK_OK;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* Returns a time that all calls certainly took, after the shortest tenth is left out or, if there
   are few calls, the shorter half. The shortest times may be too short, because waits just before
   and after a call are subtracted, too. */
static double certainly(calls *c)
{
    qsort(c->certain, c->count, sizeof c->certain[0], by_size);
    return c->certain[c->count < AGAIN_CALLS ? c->count / 2 : c->count / 10];
}

/* Returns the longest time of the undisturbed calls, after their slowest quarter is left out. If
   too few calls were undisturbed, returns the median of all calls, most of which waited only for a
   moment. */
static double usual_most(calls *c)
{
    if (c->quiet_count >= QUIET_CALLS) {
        qsort(c->quiet, c->quiet_count, sizeof c->quiet[0], by_size);
        return c->quiet[c->quiet_count - 1 - c->quiet_count / 4];
    }
    qsort(c->ns, c->count, sizeof c->ns[0], by_size);
    return c->count == 0 ? HUGE_VAL : c->ns[c->count / 2];
}

/* Alternates between calls on contents that this process has never seen, each of which is judged,
   and calls on seen contents at other addresses than before, of which the first is judged. The seen
   contents are always the same. After a call on unseen contents, the next call on the seen ones
   does not count, so that a candidate which remembers only its latest result finds it in the call
   that counts. Ends when all unseen contents were used, if one of those calls took at most `limit`,
   or after `least` calls on seen contents, if one of these took at most `limit`. */
static ak_status call_in_turns(calls *fresh, calls *again, ak_loaded *r, double limit, size_t least,
                               ak_error *err)
{
    ak_evaluator *e = r->e;
    ak_stage *seen = ak_evaluator_draw(e);
    *fresh = *again = (calls){0};
    for (size_t i = 0; i < ALONE_CALLS; i++) {
        bool more_fresh = fresh->count < e->fresh_count;
        ak_status status = AK_OK;
        if (more_fresh) {
            ak_stage *stage = &e->fresh[fresh->count];
            uint64_t stream = e->secret + AK_STAGE_SETS + fresh->count;
            status = ak_stage_prepare(stage, e->reference, stream, false, err);
            status = status == AK_OK ? one_call(fresh, r, stage, true, err) : status;
        }
        bool done = fresh->count > 0 && fresh->count == e->fresh_count && fresh->least <= limit;
        if (status != AK_OK || r->outcome.status != AK_TRIAL_OK || done) {
            return status;
        }
        status = ak_loaded_change(r, i == 0, err);
        if (status == AK_OK && r->outcome.status == AK_TRIAL_OK && (more_fresh || i == 0)) {
            status = ak_loaded_watched(r, seen, 1, err);
        }
        if (status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
            status = one_call(again, r, seen, i == 0, err);
        }
        bool enough = again->count >= least && again->least <= limit && !more_fresh;
        if (status != AK_OK || r->outcome.status != AK_TRIAL_OK || enough) {
            return status;
        }
    }
    return AK_OK;
}

/* Says in words what a candidate is suspected of; "" if nothing is suspect. */
typedef struct suspicion {
    char reason[sizeof((ak_outcome *)NULL)->reason];
} suspicion;

static void suspect(suspicion *s, const char *format, double alone_us, double other_us)
    __attribute__((format(printf, 2, 0)));
static void suspect(suspicion *s, const char *format, double alone_us, double other_us)
{
    (void)ak_number_print(s->reason, sizeof s->reason, format, alone_us, other_us);
}

static ak_status look(suspicion *s, ak_loaded *r, double each_ms, uint32_t iterations,
                      ak_error *err)
{
    calls fresh, again;
    bool timed = r->e->backend->is_cpu && !AK_INSTRUMENTED;
    double slack = ALONE_NS + (r->threads > 1 ? ALONE_THREADS_NS : 0.0);
    double limit = timed ? ALONE_TIMES * each_ms * 1e6 + slack : HUGE_VAL;
    double times = r->e->fresh_count > 1 ? FRESH_TIMES : FRESH_ONE_TIMES;
    size_t least = r->e->fresh_count > 0 ? AGAIN_CALLS : 1;
    ak_pressure_mark from, to;
    s->reason[0] = 0;
    ak_pressure_take(&from);
    AK_DO(call_in_turns(&fresh, &again, r, limit, least, err));
    if (r->outcome.status != AK_TRIAL_OK || !timed || (fresh.count > 0 && fresh.least <= limit)) {
        return AK_OK;
    }
    ak_pressure_take(&to);
    if (ak_pressure_between(&from, &to) > BUSY) {
        limit += (double)r->e->own[0].arrays.total / COLD_BYTES_PER_NS;
    }
    if (iterations > 1 && certainly(&again) > limit) {
        suspect(s,
                "a call alone takes %.3g us, but a call in a batch %.3g us: in a batch it does "
                "not do all of the work",
                certainly(&again) / 1e3, each_ms * 1e3);
    } else if (fresh.count > 0 && certainly(&fresh) > times * usual_most(&again) + ALONE_NS) {
        suspect(s,
                "on inputs that it has not seen a call takes %.3g us, on others %.3g us: it reuses "
                "results of earlier calls",
                certainly(&fresh) / 1e3, usual_most(&again) / 1e3);
    }
    return AK_OK;
}

ak_status ak_loaded_alone(ak_loaded *r, double each_ms, uint32_t iterations, ak_error *err)
{
    suspicion s;
    AK_DO(look(&s, r, each_ms, iterations, err));
    /* A candidate is rejected for its times only if they are suspect twice. The second time it runs
       in a new process, to which all inputs are new, after a batch on each set of inputs in which
       the candidate can do what it is suspected of. */
    if (r->outcome.status == AK_TRIAL_OK && s.reason[0] != 0) {
        AK_DO(ak_loaded_renew(r, err));
        for (size_t i = 0; r->outcome.status == AK_TRIAL_OK && i < r->e->sets; i++) {
            AK_DO(ak_loaded_watched(r, &r->e->own[i], iterations, err));
        }
        if (r->outcome.status == AK_TRIAL_OK) {
            AK_DO(look(&s, r, each_ms, iterations, err));
        }
        if (r->outcome.status == AK_TRIAL_OK && s.reason[0] != 0) {
            r->outcome.status = AK_TRIAL_REJECTED;
            memcpy(r->outcome.reason, s.reason, sizeof s.reason);
        }
    }
    return AK_OK;
}
