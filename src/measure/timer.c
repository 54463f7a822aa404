/* timer.c: see timer.h. A session is a state machine with three phases and one end. */
#include "measure/timer.h"

#include <assert.h>

enum { SIZING, WARMING, SAMPLING, ENDED };

/* Number of samples that suffice to judge a candidate: the median of 3 survives one outlier. */
enum { SAMPLES_FEW = 3 };

#define BUDGET_NS   INT64_C(300000000)
#define PRECISION   0.01
#define SAMPLES_MIN 7
#define SAMPLES_MAX 64

void ak_timer_begin(ak_timer *timer, const ak_timer_plan *plan)
{
    *timer = (ak_timer){.iterations = 1, .phase = SIZING};
    ak_timer_plan *p = &timer->plan;
    if (plan != NULL) {
        *p = *plan;
    }
    p->batch_ns = p->batch_ns > 0 ? p->batch_ns : AK_TIMER_BATCH_NS;
    p->budget_ns = p->budget_ns > 0 ? p->budget_ns : BUDGET_NS;
    p->precision = p->precision > 0.0 ? p->precision : PRECISION;
    p->samples_min = p->samples_min > 0 ? p->samples_min : SAMPLES_MIN;
    p->samples_max = p->samples_max > 0 ? p->samples_max : SAMPLES_MAX;
    if (p->samples_max > AK_TIMER_SAMPLES_MAX) {
        p->samples_max = AK_TIMER_SAMPLES_MAX;
    }
    if (p->samples_min > p->samples_max) {
        p->samples_min = p->samples_max;
    }
}

static ak_timer_step end(ak_timer *timer)
{
    timer->phase = ENDED;
    return AK_TIMER_DONE;
}

static ak_timer_step take_sample(ak_timer *timer, int64_t batch_ns)
{
    assert(timer->iterations >= 1 && timer->sample_count < timer->plan.samples_max);
    const ak_timer_plan *plan = &timer->plan;
    timer->samples_ms[timer->sample_count++] = (double)batch_ns / 1e6 / timer->iterations;
    bool spent = timer->spent_ns >= plan->budget_ns &&
                 (timer->sample_count >= SAMPLES_FEW || batch_ns >= plan->budget_ns);
    bool full = timer->sample_count >= plan->samples_max;
    if (timer->sample_count < SAMPLES_FEW && !spent && !full) {
        return AK_TIMER_RUN;
    }
    ak_stats stats;
    ak_stats_of(&stats, timer->samples_ms, timer->sample_count);
    /* The fastest sample is the best evidence for the candidate, so that a disturbance cannot
       cause its rejection. */
    timer->hopeless = plan->give_up_ms > 0.0 && stats.min > plan->give_up_ms;
    bool precise = timer->sample_count >= plan->samples_min &&
                   (stats.high - stats.low) / 2.0 <= plan->precision * stats.median;
    return timer->hopeless || spent || full || precise ? end(timer) : AK_TIMER_RUN;
}

/* Returns whether the kernel has become so much faster that its batches are far too short. */
static bool is_too_short(const ak_timer *timer, int64_t batch_ns)
{
    return timer->phase != SIZING && batch_ns < timer->plan.batch_ns / AK_TIMER_SHORT &&
           timer->iterations < AK_TIMER_ITERATIONS_MAX;
}

ak_timer_step ak_timer_tell(ak_timer *timer, int64_t batch_ns)
{
    assert(timer->phase >= SIZING && timer->phase <= ENDED);
    if (timer->phase == ENDED) {
        return AK_TIMER_DONE;
    }
    batch_ns = batch_ns > 0 ? batch_ns : 0;
    timer->spent_ns += batch_ns;
    if (is_too_short(timer, batch_ns)) {
        timer->phase = SIZING;
        timer->sample_count = 0;
    }
    if (timer->phase == SAMPLING) {
        return take_sample(timer, batch_ns);
    }
    if (timer->phase == SIZING) {
        if (batch_ns < timer->plan.batch_ns && timer->iterations < AK_TIMER_ITERATIONS_MAX) {
            timer->iterations *= 2;
            return AK_TIMER_RUN;
        }
        timer->phase = WARMING;
    }
    if (timer->spent_ns >= AK_TIMER_WARM_UP * timer->plan.batch_ns || batch_ns == 0) {
        timer->phase = SAMPLING;
    }
    return AK_TIMER_RUN;
}
