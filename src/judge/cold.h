/*
 * cold.h: measures what it takes to bring the arguments of a call alone from where they are.
 *
 * Before a call on unseen inputs the harness reads the arguments, so that they lie in the caches as
 * in a batch. Other programs can push them out again before the call begins, or leave no room for
 * them. Then the call takes longer than in a batch, although the kernel leaves nothing out there.
 *
 * A process in which nothing is loaded tells: its calls only read the arguments, with as many
 * threads as the candidate and from the same beginning, by turns with the candidate's calls. It has
 * no reason to be slow, so its calls can acquit a candidate, which the candidate's own calls on
 * seen inputs cannot.
 */
#ifndef AK_JUDGE_COLD_H
#define AK_JUDGE_COLD_H

#include "judge/loaded.h"

typedef struct ak_cold {
    ak_loaded *r;
    ak_runnable *reader; /* NULL: none, because it failed or was not opened */
    double batch_ns;     /* what a call takes in a batch */
    size_t bytes;        /* that a call reads; 0: all of the arguments */
} ak_cold;

/* Starts the process and measures its calls in batches on the set `seen`. Its calls read `bytes`
   bytes, in lines at equal distances across all arguments; 0: all bytes. */
ak_status ak_cold_open(ak_cold *out, ak_loaded *r, ak_stage *seen, uint32_t iterations,
                       size_t bytes, ak_error *err);
/* Makes one call that begins as a call on the unseen contents of a stage does. Closes a reader that
   fails, which says nothing of the candidate: `out` then has no time. */
ak_status ak_cold_call(ak_outcome *out, ak_cold *c, ak_stage *fresh, ak_error *err);
/* Does nothing if it was not opened. */
void ak_cold_close(ak_cold *c);

#endif
