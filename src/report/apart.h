/*
 * apart.h: compares the best of two runs that were not measured beside each other.
 *
 * Each run's finish measured its own error: one candidate took part twice, and disturbed rounds
 * were counted ("noise" in its result). A ratio between runs can be no surer than either of them,
 * so it is judged by the worse of both controls, and as clean only if both were.
 */
#ifndef AK_REPORT_APART_H
#define AK_REPORT_APART_H

#include "base/value_json.h"

/* The best of a run. The interval is 0, 0 if there is none, as of recorded times. */
typedef struct ak_apart {
    double ms, low_ms, high_ms;
    const json_t *noise; /* of the run's result; NULL or null: nothing is known of its error */
} ak_apart;

/* Returns the speed of `after` relative to `before`; ratio 0 if either has no time, and neither
   interval nor verdict if either has no interval. */
ak_speed ak_apart_speed(const ak_apart *before, const ak_apart *after);

#endif
