/*
 * compare.h: decides whether an output is right.
 *
 * Element i passes if |out - ref| <= relative * |ref| + rms * R, where R is the root mean square of
 * the whole reference. The two factors come from problem.json and may depend on sizes and dtype. An
 * absolute tolerance in problem.json is added to `rms` in units of R (judge/stage.h). An output
 * that is not finite passes only if the reference is the same infinity, or if both are NaN.
 * ak_compare_selftest refuses a reference with NaN. A float that still holds the poison of guard.h
 * never passes. A whole number of up to 4 bytes may be right and equal to the poison; the poison
 * then differs in the next round.
 *
 * Whole numbers are compared as doubles too. This is exact below 2^53; from there on,
 * ak_compare_representable refuses the reference, so that a result of that size is never taken for
 * a right one.
 */
#ifndef AK_CHECK_COMPARE_H
#define AK_CHECK_COMPARE_H

#include "problem/problem.h"

typedef struct ak_compare_result {
    bool ok;
    double max_error; /* largest |out - ref| / allowed; 1 is the limit; infinite for poison (unless
                         it is the right whole number), for a wrong NaN or infinity, and for any
                         error where none is allowed */
    size_t count;     /* elements compared */
    size_t bad;       /* elements that fail */
    /* Elements that still hold the poison, or the NaN of host_runner.c. A whole number counts only
       if it is wrong; if it has fewer than 4 bytes, only if there are several wrong ones and all
       hold the poison. */
    size_t unwritten;
    /* elements between rows that were overwritten, if the caller has checked them */
    size_t strays;
    size_t first;     /* index of the first bad element; `count` if there is none */
    double got, want; /* the output and the reference at `first`; 0 if there is none */
    bool whole;       /* both are whole numbers */
    /* Whole numbers of the reference that hold the poison, because its program left them out;
       counted only if the first bad element is one of them and has 4 bytes or more. */
    size_t missing;
} ak_compare_result;

/* What an output should be, and how far from that it may be. */
typedef struct ak_compare_with {
    ak_dtype dtype; /* of the output */
    const double *reference;
    size_t count;
    double relative, rms;
} ak_compare_with;

/* An argument as messages name it and its elements. */
typedef struct ak_compare_argument {
    const char *name;
    size_t rank;          /* 0: elements are counted from the first */
    const size_t *extent; /* the outermost first */
} ak_compare_argument;

/* Writes the name of an element, such as "C[3,17]", or with its index alone, "C[17]", if it lies
   outside of the argument or `rank` is 0. Returns `out`. */
#define AK_ELEMENT_BYTES (AK_RANK_MAX * 21 + 128)
const char *ak_compare_element(char out[AK_ELEMENT_BYTES], const ak_compare_argument *argument,
                               int64_t index);

/* Returns the root mean square of the finite elements; 0 if there are none. */
double ak_compare_rms(const double *values, size_t count);
/* Compares an output with the reference. */
void ak_compare_output(ak_compare_result *out, const void *output, const ak_compare_with *with);
/* Does the same with a part of an output. with->rms counts in units of `level`, the root mean
   square of the whole reference, or of that of this part if it is larger. */
void ak_compare_part(ak_compare_result *out, const void *output, const ak_compare_with *with,
                     double level);
/* Writes a line such as "C[3,17]: got 3.25, expected 3.5; 120 of 4096 elements wrong, worst 41
   times the tolerance" or, if the output is right, "C: 4096 elements right, worst 0.2 of the
   tolerance". */
void ak_compare_text(char *out, size_t bytes, const ak_compare_result *result,
                     const ak_compare_argument *argument);

/* Returns AK_INVALID if a dtype of whole numbers cannot hold the reference, so that no output could
   equal it, or if the dtype has 8 bytes and the reference is 2^53 or beyond, where doubles do not
   tell neighbours apart. References of floats are not checked. `where` names the size in the
   message. */
ak_status ak_compare_representable(const char *problem, const ak_compare_argument *argument,
                                   const char *where, const ak_compare_with *with, ak_error *err);

/* What a kernel finds in an argument that it reads. */
typedef struct ak_compare_input {
    const char *name; /* of the argument */
    const double *values;
    size_t elements;
    bool written; /* the kernel writes the argument, too */
} ak_compare_input;

typedef struct ak_compare_inputs {
    ak_compare_input list[AK_ARGUMENTS_MAX];
    size_t count;
} ak_compare_inputs;

/* Returns AK_INVALID if the tolerance would let a wrong kernel pass. Zeros, the mean, NaN in
   floats, results that are 1 % too large (unless they round to the reference), a copy of an input
   of the same length, what the output itself holds before a launch, and the reference shifted by
   one must all fail; the reference itself, rounded to the dtype, must pass. Only the old content of
   another output may be exactly the right result: a kernel that moves that content to this output
   does something. The message says which one is at fault. Call it at the size that is tuned: where
   the right result is constant (a softmax of one column), every tolerance accepts the mean. A
   single element has neither a mean nor a neighbour, so the mean and the shifted reference are left
   out for it. */
ak_status ak_compare_selftest(const char *problem, const ak_compare_argument *argument,
                              const ak_compare_with *with, const ak_compare_inputs *inputs,
                              ak_error *err);
/* Writes what a copy of an input is called in messages; `own`: the output itself is that input.
   Returns `out`, which has AK_COMPARE_COPY_BYTES. */
#define AK_COMPARE_COPY_BYTES 100
const char *ak_compare_copy_text(char *out, const char *input, bool own);
/* The self-test needs at least this many elements: it must reject their mean, and the mean of fewer
   is too close to them. */
#define AK_SELFTEST_ELEMENTS 64

/* What trying a wrong output shows: it fails, it is the right output when rounded to the dtype, or
   the tolerance accepts it. */
typedef enum ak_compare_tried {
    AK_TRIED_REFUSED,
    AK_TRIED_RIGHT,
    AK_TRIED_ACCEPTED
} ak_compare_tried;
/* Tries an output of fewer than AK_SELFTEST_ELEMENTS elements. */
ak_compare_tried ak_compare_try(const ak_compare_with *with, const double *values);

#endif
