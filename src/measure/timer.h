/*
 * timer.h: decides when a measurement is good enough. The caller tells a session the time of each
 * batch, and the session answers whether to run another batch. The session reads no clock, so tests
 * use invented times.
 *
 * 1. Sizing: the iterations of a batch are doubled until a batch lasts batch_ns or has
 * AK_TIMER_ITERATIONS_MAX of them, so that the cost of starting a batch is below 1 % (the rule of
 * FFTW).
 *
 * 2. Warm-up: batches are not counted until AK_TIMER_WARM_UP times batch_ns have passed, sizing
 * included, or until a batch takes no time at all. A single call that lasts that long is the
 * warm-up of the calls after it.
 *
 * 3. Sampling: samples are taken until there are at least samples_min and the 95 % interval of
 * their median is within `precision` of the median, until budget_ns is spent, or until samples_max
 * is reached.
 *
 * 4. Giving up: from 3 samples on, or at an earlier end, the session gives up if the fastest sample
 * is slower than `give_up_ms`.
 *
 * After the sizing, a batch that is shorter than batch_ns by the factor AK_TIMER_SHORT begins the
 * sizing again unless it has AK_TIMER_ITERATIONS_MAX iterations, and the samples so far are
 * dropped: the first calls of a kernel can be much slower than later ones.
 *
 * The budget ends a session only after 3 samples. If a single batch takes the whole budget, one
 * sample is enough.
 */
#ifndef AK_MEASURE_TIMER_H
#define AK_MEASURE_TIMER_H

#include "measure/stats.h"

#define AK_TIMER_BATCH_NS       INT64_C(1000000)
#define AK_TIMER_SAMPLES_MAX    256
#define AK_TIMER_WARM_UP        5
#define AK_TIMER_SHORT          4
#define AK_TIMER_ITERATIONS_MAX (1u << 24) /* this many empty kernels take over 1 ms */

typedef struct ak_timer_plan {
    int64_t batch_ns;                /* shortest batch; 0: AK_TIMER_BATCH_NS */
    int64_t budget_ns;               /* for the whole session; 0: 300 ms */
    double precision;                /* half the width of the interval over the median; 0: 0.01 */
    size_t samples_min, samples_max; /* 0: 7, 64; at most AK_TIMER_SAMPLES_MAX; a minimum above the
                                        maximum counts as the maximum */
    double give_up_ms;               /* 0: never */
} ak_timer_plan;

typedef enum ak_timer_step { AK_TIMER_RUN, AK_TIMER_DONE } ak_timer_step;

typedef struct ak_timer {
    ak_timer_plan plan;
    uint32_t iterations; /* iterations of the next batch */
    int phase;           /* internal to timer.c */
    bool hopeless;       /* the session gave up */
    int64_t spent_ns;
    double samples_ms[AK_TIMER_SAMPLES_MAX]; /* per iteration */
    size_t sample_count;
} ak_timer;

/* Begins a session. If `plan` is NULL, all members have their defaults. */
void ak_timer_begin(ak_timer *timer, const ak_timer_plan *plan);
/* Takes the time of a batch of timer->iterations, and says whether to run another. */
ak_timer_step ak_timer_tell(ak_timer *timer, int64_t batch_ns);

#endif
