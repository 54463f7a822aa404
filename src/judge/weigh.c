/*
 * weigh.c: measures the energy of batches by the device's own counter.
 *
 * Such counters move in steps: RAPL's about once a millisecond, NVML's every 20 to 100 ms. A batch
 * is therefore enclosed by two moments at which the counter has just moved, and is planned to last
 * WEIGH_STEPS steps, but at least WEIGH_LEAST_NS and at most WEIGH_MOST_NS. The energy that the
 * device takes while this file waits for the second moment, at most one step of idling, is counted
 * with the batch.
 *
 * The energy is what the whole device takes (for the host, all processor packages), its idle power
 * included: what else runs there meanwhile is weighed, too.
 *
 * The batches of a trial that are weighed follow all of its checks and last longer than those that
 * were timed, so a candidate can tell them apart and leave out their work. It gains little by that:
 * if its calls are more than WEIGH_TIMES times as fast as they were, it gets the energy of the time
 * that counts.
 */
#include "base/clock.h"
#include "judge/loaded.h"
#include "measure/stats.h"

#define WEIGH_STEPS      10
#define WEIGH_LEAST_NS   (50 * AK_MS_NS)
#define WEIGH_MOST_NS    (1000 * AK_MS_NS)
#define WEIGH_STILL_NS   (2 * AK_SECOND_NS) /* a counter that stands still this long is broken */
#define WEIGH_BATCHES    3
#define WEIGH_ITERATIONS ((double)(1u << 24))
/* A call may be this many times as fast as in the fastest timed batch. */
#define WEIGH_TIMES 1.5

ak_status ak_weigh_tick(double *joules, ak_evaluator *e, ak_error *err)
{
    double first = 0;
    int64_t begin = ak_clock_ns();
    AK_DO(e->backend->joules(&first, e->device, err));
    do {
        AK_DO(e->backend->joules(joules, e->device, err));
        if (*joules > first) {
            return AK_OK;
        }
    } while (ak_clock_ns() - begin < WEIGH_STILL_NS);
    return ak_fail(err, AK_UNAVAILABLE,
                   "the energy counter of %.60s does not move; choose another --objective",
                   e->task->device);
}

ak_status ak_weigh_ready(ak_evaluator *e, ak_error *err)
{
    double joules;
    ak_error why = AK_ERROR_INIT;
    AK_FAIL_IF(e->backend->joules == NULL, err, AK_UNAVAILABLE,
               "--objective %.100s: the energy of %.60s cannot be read (NVIDIA devices and "
               "processors with RAPL have counters); choose another --objective",
               ak_objective_text(e->task->objective), e->task->device);
    ak_status status = ak_weigh_tick(&joules, e, &why);
    int64_t begin = ak_clock_ns();
    status = status == AK_OK ? ak_weigh_tick(&joules, e, &why) : status;
    AK_FAIL_IF(status != AK_OK, err, status, "--objective %.100s: %s",
               ak_objective_text(e->task->objective), why.text);
    int64_t wanted = WEIGH_STEPS * (ak_clock_ns() - begin);
    e->weighing_ns = wanted < WEIGH_LEAST_NS  ? WEIGH_LEAST_NS
                     : wanted > WEIGH_MOST_NS ? WEIGH_MOST_NS
                                              : wanted;
    return AK_OK;
}

/* Runs a batch and gives the energy of one of its calls, if the outcome is ok. If the calls are too
   fast, the energy counts as if each call had drawn the same power for fastest_ms. Judges the
   results of the last batch; of a problem that works in place only a single call can be judged. */
static ak_status weigh_batch(double *joules, ak_loaded *r, double fastest_ms, uint32_t iterations,
                             bool last, ak_error *err)
{
    ak_stage *stage = ak_evaluator_draw(r->e);
    const bool in_place = ak_problem_works_in_place(r->e->task->problem);
    AK_LOADED_DO(r, ak_loaded_batch(r, stage, iterations, err));
    const double each_ms = (double)r->outcome.ns / 1e6 / iterations;
    *joules = r->joules / iterations;
    if (each_ms * WEIGH_TIMES < fastest_ms) {
        *joules *= fastest_ms / each_ms;
    }
    return last && (!in_place || iterations == 1 || r->outcome.alone)
               ? ak_loaded_judge(r, stage, true, err)
               : AK_OK;
}

ak_status ak_weigh_trial(ak_trial *out, ak_loaded *r, double times, ak_error *err)
{
    double joules[WEIGH_BATCHES] = {0};
    const double each_ms = out->median_ms / times;
    double wanted = (double)r->e->weighing_ns / 1e6 / (each_ms > 1e-9 ? each_ms : 1e-9);
    wanted = wanted < 1 ? 1 : wanted > WEIGH_ITERATIONS ? WEIGH_ITERATIONS : wanted;
    uint32_t iterations = (uint32_t)wanted;
    ak_stats stats;
    ak_stats_of(&stats, out->samples_ms, out->sample_count);
    r->weigh = true;
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && r->outcome.status == AK_TRIAL_OK && i < WEIGH_BATCHES;
         i++) {
        const bool last = i + 1 == WEIGH_BATCHES;
        status = weigh_batch(&joules[i], r, stats.min / times, iterations, last, err);
    }
    r->weigh = false;
    if (status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
        ak_stats_of(&stats, joules, WEIGH_BATCHES);
        out->joules = stats.median * times;
        out->joules_low = stats.low * times;
        out->joules_high = stats.high * times;
        status = ak_loaded_check_zones(r, err);
    }
    return status;
}
