/*
 * compare.h: is this output right?
 *
 * Element i passes when |out - ref| <= relative * |ref| + rms * R, where R is the root mean square
 * of the whole reference output; the two factors come from problem.json and scale with K and the
 * dtype. A non-finite output passes only where the reference is of the same class (same sign of
 * infinity, NaN for NaN); a reference that is itself NaN is the problem's fault unless the problem
 * allows it. An element that still holds the poison of guard.h never passes.
 */
#ifndef AK_CHECK_COMPARE_H
#define AK_CHECK_COMPARE_H

#include "problem/problem.h"

typedef struct ak_compare_result {
    bool ok;
    double max_error; /* largest |out - ref| / allowed; 1 is the limit; infinity for non-finite */
    size_t count;     /* elements compared */
    size_t bad;       /* elements that fail */
    size_t unwritten; /* elements that still hold the poison */
    size_t strays;    /* elements between rows that do not, where somebody has looked */
    size_t first;     /* index of the first bad element; `count` if none is */
    double got, want; /* there */
} ak_compare_result;

void ak_compare_output(ak_compare_result *out, const void *output, ak_dtype dtype,
                       const double *reference, size_t count, double relative, double rms);
/* "C[17]: got 3.25, expected 3.5; 120 of 4096 elements wrong, worst 41 times the tolerance" */
void ak_compare_text(char *out, size_t bytes, const ak_compare_result *result,
                     const char *argument);

/* Would the tolerance let a wrong kernel pass? Tries zeros, the mean, NaN, 1 % too large, a copy of
   an input of the same length, and the reference shifted by one; all must fail, and the reference
   itself, rounded to the dtype, must pass. `inputs` may hold NULLs. Refusals say which one passed.
   To be called at the size to be tuned: at a size where the right answer is a constant (a softmax
   of one column) every tolerance accepts the mean. A single element has neither mean nor neighbour;
   those two are left out then. */
ak_status ak_compare_selftest(const char *problem, const char *argument, ak_dtype dtype,
                              const double *reference, size_t count, double relative, double rms,
                              const double *const *inputs, const size_t *input_counts,
                              size_t input_count, ak_error *err);

#endif
