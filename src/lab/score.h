/*
 * score.h: rates a search on a recording with one number (see ak_simulate).
 *
 * A trace lists the moments of one repeat at which a better configuration was found. Its times are
 * seconds of the simulated clock; its ranks are positions among the recorded values, best first.
 */
#ifndef AK_LAB_SCORE_H
#define AK_LAB_SCORE_H

#include "recording/recording.h"

typedef struct ak_improvement {
    double seconds;
    size_t rank; /* number of better configurations; 0 is the optimum */
} ak_improvement;

typedef struct ak_trace {
    ak_improvement *items; /* each item is better than the one before it */
    size_t count, capacity;
} ak_trace;

/* Returns the number of recorded values that are better than `minimised`. Equal values share a
   rank. */
size_t ak_score_rank(const ak_recording *recording, double minimised);

/* Computes the score of `count` traces. Returns false and leaves *out unchanged if there is none:
   the recording has no costs, random search is expected at the optimum all the time, or memory ran
   out. */
bool ak_score(double *out, const ak_recording *recording, const ak_trace *traces, size_t count);

#endif
