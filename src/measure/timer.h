/*
 * timer.h: when is a measurement good enough? A session is told samples and answers what to do
 * next; it measures nothing itself, so it is tested with invented times.
 *
 *   1. one probe call sizes the batch: iterations are doubled until a batch lasts batch_ns, so that
 *      the cost of starting one is below 1 % (the FFTW rule)
 *   2. warm-up batches are not counted: until AK_TIMER_WARM_UP batches' worth of time has passed,
 *      sizing included, so a call that is itself that long warms up for its successors
 *   3. samples are taken until the 95 % interval of the median is within `precision` of it, or
 *      budget_ns is spent, or samples_max is reached
 *   4. hopeless: after 3 samples, if the fastest is slower than `give_up_ms`, it ends
 *
 * The budget ends a session only after 3 samples, unless one batch alone spends all of it: then one
 * sample has to do.
 */
#ifndef AK_MEASURE_TIMER_H
#define AK_MEASURE_TIMER_H

#include "measure/stats.h"

#define AK_TIMER_SAMPLES_MAX    256
#define AK_TIMER_WARM_UP        5
#define AK_TIMER_ITERATIONS_MAX (1u << 24) /* even an empty kernel lasts 1 ms at this many */

typedef struct ak_timer_plan {
    int64_t batch_ns;                /* shortest batch; 0: 1 ms */
    int64_t budget_ns;               /* for the whole session; 0: 300 ms */
    double precision;                /* half width of the interval over the median; 0: 0.01 */
    size_t samples_min, samples_max; /* 0: 7, 64 */
    double give_up_ms;               /* 0: never */
} ak_timer_plan;

typedef enum ak_timer_step { AK_TIMER_RUN, AK_TIMER_DONE } ak_timer_step;

typedef struct ak_timer {
    ak_timer_plan plan;
    uint32_t iterations; /* of the next batch */
    int phase;
    bool hopeless;
    int64_t spent_ns;
    double samples_ms[AK_TIMER_SAMPLES_MAX]; /* per iteration */
    size_t sample_count;
} ak_timer;

void ak_timer_begin(ak_timer *timer,
                    const ak_timer_plan *plan); /* plan may be NULL: all defaults */
/* Told how long a batch of timer->iterations took; says whether to run another. */
ak_timer_step ak_timer_tell(ak_timer *timer, int64_t batch_ns);

#endif
