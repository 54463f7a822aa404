/*
 * score.h: how good a search was on a recording, as one number: see ak_simulate.
 *
 * A trace holds when in a repeat a better configuration was found. Its times are on the simulated
 * clock, its ranks are places among the values of the recording, best first.
 */
#ifndef AK_REPLAY_SCORE_H
#define AK_REPLAY_SCORE_H

#include "recording/recording.h"

typedef struct ak_improvement {
    double seconds;
    size_t rank; /* of configurations that are better, 0: the optimum */
} ak_improvement;

typedef struct ak_trace {
    ak_improvement *items; /* later ones are better */
    size_t count, capacity;
} ak_trace;

/* Ties have the rank of the first of them. */
size_t ak_score_rank(const ak_recording *recording, double minimised);

/* False, and untouched, if it cannot be scored. */
bool ak_score(double *out, const ak_recording *recording, const ak_trace *traces, size_t count);

#endif
