/*
 * host_stain.h: what the runner puts into outputs before a call, so that a kernel that believes
 * what it finds there is wrong. Three kinds of changes leave no test by which a kernel could tell
 * changed elements from right ones:
 *
 *   - a NaN deceives a kernel that computes only elements that hold a number;
 *   - an exact copy of another element deceives one that believes values that occur elsewhere, too,
 *     as many do where results have few values;
 *   - a result of this or another element, with other bits in its fraction, deceives one that
 *     believes numbers that occur only once.
 *
 * All of this runs in the confined child, whose system calls have been taken away.
 */
#ifndef AK_BACKEND_HOST_STAIN_H
#define AK_BACKEND_HOST_STAIN_H

#include <stdint.h>

#include "problem/problem.h"

/* The outputs that may be stained. */
typedef struct ak_host_stainable {
    /* Number of elements, in the first row only if rows do not adjoin; 0: not stained. */
    uint64_t count[AK_ARGUMENTS_MAX];
    uint32_t bytes[AK_ARGUMENTS_MAX];    /* of one element */
    uint32_t fraction[AK_ARGUMENTS_MAX]; /* ak_guard_fraction */
    uint32_t arguments;
} ak_host_stainable;

/* What was put into one element of each output before a call, and what was there. The address of
   the element is kept XORed with a random number, so that no register and no word of the stack
   points at it during the call. */
typedef struct ak_host_stained {
    uint64_t mask;
    uint64_t at[AK_ARGUMENTS_MAX];
    uint64_t put[AK_ARGUMENTS_MAX], was[AK_ARGUMENTS_MAX];
    uint64_t skipped; /* stained elements that calls should have written but did not */
    uint64_t blank;   /* the skipped ones into which a NaN was put */
    uint32_t blanks;  /* a bit for each output: whether a NaN was put there */
} ak_host_stained;

/* Draws a number that nobody can predict from the contents of memory. */
uint64_t ak_host_drawn(uint64_t *state);
/* Changes one element of each output before a call and notes it. With `blank` it becomes NaN;
   otherwise NaN or a plausible number. A second element is changed and not noted: a kernel that
   reads these notes on the stack cannot find it, but the comparison of outputs after the batch
   does. */
void ak_host_stain(const ak_host_stainable *of, void *const *arg, ak_host_stained *s,
                   uint64_t *state, bool blank);
/* Counts the noted elements that the call has not written, and returns how many it looked at; an
   element whose stain equals what was there is not looked at. The stain replaced a result of the
   previous call, so a call that does its work writes that result again over the stain. */
uint64_t ak_host_stained_look(const ak_host_stainable *of, ak_host_stained *s);
/* Changes elements all over the outputs, which hold the results of a call, to plausible numbers
   that are not right: all of small outputs, some of large ones. */
void ak_host_scramble(const ak_host_stainable *of, void *const *arg, uint64_t *state);

#endif
