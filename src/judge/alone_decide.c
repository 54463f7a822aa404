#include "judge/alone.h"

#include <assert.h>
#include <math.h>

#include "base/clock.h"
#include "measure/stats.h"

/* If the times decide nothing, the calls are made again after a pause that doubles at first: at
   most LOOKS_MAX times in all, batches on many inputs MANY_LOOKS_MAX times, and not once LOOKS_NS
   have passed. A look has many calls, any of which may be fast, but only one batch on many inputs.
   With five busy programs on two processors, three of four such batches told nothing. */
#define LOOKS_MAX       6
#define MANY_LOOKS_MAX  24
#define LOOKS_NS        (20 * AK_SECOND_NS)
#define PAUSE_NS        (50 * AK_MS_NS)
#define PAUSE_DOUBLINGS 3

/* At least this many calls on seen inputs must be undisturbed to give the usual time. */
#define QUIET_CALLS 8

/* A kernel touches little of its arguments if that is at most this share of their bytes. A reader
   of all of them would then take at least four times as long as the kernel needs in memory. */
#define LITTLE 0.25

void ak_alone_add(ak_alone_calls *calls, const ak_outcome *outcome)
{
    assert(calls->count < AK_ALONE_CALLS);
    double ns = (double)outcome->ns;
    double certain = outcome->waits_known ? ns - (double)outcome->waited_ns : ns;
    calls->least = calls->count == 0 || ns < calls->least ? ns : calls->least;
    calls->certain[calls->count] = certain;
    calls->ns[calls->count++] = ns;
    if (!ak_outcome_waited(outcome)) {
        calls->quiet[calls->quiet_count++] = ns;
    }
}

/* Returns a time that all calls certainly took, after the shortest tenth is left out or, if there
   are few calls, the shorter half; 0 if there are no calls. The shortest times may be too short,
   because waits just before and after a call are subtracted, too. */
static double certainly(ak_alone_calls *c)
{
    if (c->count == 0) {
        return 0;
    }
    ak_stats_sort(c->certain, c->count);
    return c->certain[c->count < AK_ALONE_AGAIN_CALLS ? c->count / 2 : c->count / 10];
}

/* Returns the longest time of the undisturbed calls, after their slowest quarter is left out. If
   too few calls were undisturbed, returns the median of all calls, most of which waited only for a
   moment; HUGE_VAL if there are no calls. */
static double usual_most(ak_alone_calls *c)
{
    if (c->quiet_count >= QUIET_CALLS) {
        ak_stats_sort(c->quiet, c->quiet_count);
        return c->quiet[c->quiet_count - 1 - c->quiet_count / 4];
    }
    ak_stats_sort(c->ns, c->count);
    return c->count == 0 ? HUGE_VAL : c->ns[c->count / 2];
}

ak_alone_finding ak_alone_decide(ak_alone_evidence *evidence, ak_alone_calls *fresh,
                                 ak_alone_calls *again, const ak_alone_limits *limits)
{
    *evidence = (ak_alone_evidence){0};
    if (fresh->count > 0 && fresh->least <= limits->full_ns) {
        return AK_ALONE_FINE;
    }
    double seen = certainly(again), unseen = certainly(fresh), usual = usual_most(again);
    if (limits->batches && seen > limits->call_ns) {
        evidence->alone_ns = seen;
        return AK_ALONE_IDLES;
    }
    if (fresh->count > 0 && unseen > limits->times * usual + limits->more_ns) {
        *evidence = (ak_alone_evidence){.alone_ns = unseen, .other_ns = usual};
        return AK_ALONE_REUSES;
    }
    /* If waits hide the usual time of calls on seen inputs, the time that they certainly took
       replaces it; else long waits would make a slow call on unseen inputs look as fast as calls on
       seen ones. */
    double base = again->quiet_count >= QUIET_CALLS ? usual : seen > 0 ? seen : 0;
    bool whole = !limits->batches || (again->count > 0 && again->least <= limits->call_ns);
    bool computes = fresh->count == 0 || fresh->least <= limits->times * base + limits->more_ns;
    return !whole || !computes ? AK_ALONE_UNKNOWN
           : fresh->count == 0 ? AK_ALONE_FINE
                               : AK_ALONE_SLOWER;
}

ak_alone_finding ak_alone_decide_unseen(ak_alone_calls *calls, const ak_alone_limits *limits)
{
    if (calls->count == 0 || calls->least <= limits->full_ns) {
        return calls->count == 0 ? AK_ALONE_UNKNOWN : AK_ALONE_FINE;
    }
    return certainly(calls) > limits->full_ns ? AK_ALONE_SLOWER : AK_ALONE_UNKNOWN;
}

ak_alone_batch ak_alone_batch_of(const ak_outcome *outcome, uint32_t calls)
{
    ak_alone_calls batch = {0};
    ak_alone_add(&batch, outcome);
    return (ak_alone_batch){.ns = batch.ns[0] / calls, .certain = batch.certain[0] / calls};
}

void ak_alone_add_result(ak_alone_results *results, const ak_outcome *outcome,
                         ak_alone_batch before, ak_alone_batch after, double each_ns,
                         double more_ns)
{
    const bool between = before.ns > 0 && after.ns > 0;
    const double faster = between ? fmin(before.certain, after.certain) : 0;
    const double slower = between ? fmax(before.ns, after.ns) : HUGE_VAL;
    ak_alone_calls *calls = &results->calls;
    ak_alone_add(calls, outcome);
    const double ns = calls->ns[calls->count - 1], certain = calls->certain[calls->count - 1];
    results->fast += ns <= AK_ALONE_RESULTS_TIMES * fmax(each_ns, faster) + more_ns ? 1 : 0;
    results->slow += certain > AK_ALONE_RESULTS_TIMES * fmax(each_ns, slower) + more_ns ? 1 : 0;
}

ak_alone_finding ak_alone_decide_results(ak_alone_evidence *evidence, ak_alone_results *results)
{
    const size_t count = results->calls.count;
    *evidence = (ak_alone_evidence){0};
    if (results->fast >= AK_ALONE_LEAST && 2 * results->fast >= count) {
        return AK_ALONE_FINE;
    }
    if (count < AK_ALONE_CALLS) {
        return AK_ALONE_UNKNOWN;
    }
    if (results->slow < count - count / 10) {
        return results->fast > 0 ? AK_ALONE_FINE : AK_ALONE_UNKNOWN;
    }
    evidence->alone_ns = certainly(&results->calls);
    return AK_ALONE_IDLES;
}

double ak_alone_cold(ak_alone_calls *reads, double usual_ns)
{
    const double most = certainly(reads);
    return most > usual_ns ? most - usual_ns : 0;
}

double ak_alone_delay(ak_alone_calls *reads, double read_ns, double slack_ns, double each_ns)
{
    const double cold_ns = ak_alone_cold(reads, read_ns + slack_ns);
    return each_ns < read_ns ? cold_ns * each_ns / read_ns : cold_ns;
}

bool ak_alone_touches_little(double touched, double bytes)
{
    return touched > 0 && touched <= LITTLE * bytes;
}

ak_alone_finding ak_alone_decide_little(const ak_alone_evidence *found, ak_alone_calls *reads,
                                        double usual_ns, const ak_alone_limits *limits)
{
    if (reads->count < AK_ALONE_LEAST) {
        return AK_ALONE_UNKNOWN;
    }
    return found->alone_ns > limits->call_ns + ak_alone_cold(reads, usual_ns) ? AK_ALONE_IDLES
                                                                              : AK_ALONE_SLOWER;
}

int64_t ak_alone_pause(int looks, bool many, int64_t spent_ns)
{
    return looks >= (many ? MANY_LOOKS_MAX : LOOKS_MAX) || spent_ns > LOOKS_NS
               ? 0
               : PAUSE_NS << (looks < PAUSE_DOUBLINGS ? looks : PAUSE_DOUBLINGS);
}
