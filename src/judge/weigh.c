/*
 * weigh.c: measures the energy of batches by the device's own counter.
 *
 * Such counters move in steps: RAPL's about once a millisecond, NVML's every 20 to 100 ms. A batch
 * is therefore enclosed by two moments at which the counter has just moved, and it lasts at least
 * WEIGH_STEPS steps. The energy that the device takes while this file waits for the second moment,
 * at most one step of idling, is counted with the batch.
 *
 * The energy is that of the whole device (of all processor packages for the host), its idle power
 * included: what else runs there meanwhile is weighed, too.
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
    if (e->backend->joules == NULL) {
        return ak_fail(err, AK_UNAVAILABLE,
                       "--objective %.100s: the energy of %.60s cannot be read (NVIDIA devices and "
                       "processors with RAPL have counters); choose another --objective",
                       ak_objective_text(e->task->objective), e->task->device);
    }
    ak_status status = ak_weigh_tick(&joules, e, &why);
    int64_t begin = ak_clock_ns();
    status = status == AK_OK ? ak_weigh_tick(&joules, e, &why) : status;
    if (status != AK_OK) {
        return ak_fail(err, status, "--objective %.100s: %s", ak_objective_text(e->task->objective),
                       why.text);
    }
    int64_t wanted = WEIGH_STEPS * (ak_clock_ns() - begin);
    e->weighing_ns = wanted < WEIGH_LEAST_NS  ? WEIGH_LEAST_NS
                     : wanted > WEIGH_MOST_NS ? WEIGH_MOST_NS
                                              : wanted;
    return AK_OK;
}

ak_status ak_weigh_trial(ak_trial *out, ak_loaded *r, double each_ms, ak_error *err)
{
    double joules[WEIGH_BATCHES];
    double wanted = (double)r->e->weighing_ns / 1e6 / (each_ms > 1e-9 ? each_ms : 1e-9);
    wanted = wanted < 1 ? 1 : wanted > WEIGH_ITERATIONS ? WEIGH_ITERATIONS : wanted;
    uint32_t iterations = (uint32_t)wanted;
    r->weigh = true;
    ak_status status = AK_OK;
    size_t done = 0;
    while (status == AK_OK && done < WEIGH_BATCHES && r->outcome.status == AK_TRIAL_OK) {
        status = ak_loaded_batch(r, ak_evaluator_draw(r->e), iterations, err);
        joules[done++] = r->joules / iterations;
    }
    r->weigh = false;
    if (status == AK_OK && r->outcome.status == AK_TRIAL_OK) {
        ak_stats stats;
        ak_stats_of(&stats, joules, WEIGH_BATCHES);
        out->joules = stats.median;
        out->joules_low = stats.low;
        out->joules_high = stats.high;
        status = ak_loaded_check_zones(r, err);
    }
    return status;
}
