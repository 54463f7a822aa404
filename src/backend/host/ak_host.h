/*
 * ak_host.h: what a host (CPU) kernel sees of the harness.
 *
 * This text is put in front of every host.c and reference.c before it is compiled, so a kernel file
 * includes nothing to use it. A candidate defines
 *
 *     void ak_kernel(const ak_host_call *call);
 *
 * and a reference, compiled from reference.c without tuning, defines
 *
 *     void ak_reference(const ak_host_call *call);
 *
 * A reference gets every array as double, whatever the dtype under test, and scalars as double,
 * too.
 *
 * Parameters of the space arrive as macros (-DMR=6). The dtype, and each value of a parameter or
 * option that is not a number, arrive as `NAME_is_VALUE` (-Dactivation_is_relu=1,
 * -Ddtype_is_f32=1).
 *
 * Every option, number or text, is in the call, at its position in problem.json. The rows of an
 * array may be further apart than they are long (the problem's "pitch"); a kernel must neither read
 * nor write the gaps between them. A reference's rows adjoin.
 *
 * The harness owns every thread and clock: a kernel starts no thread and keeps no state between
 * calls. Its scratch memory is the workspace; what it allocates itself it frees before it returns.
 */
#ifndef AK_HOST_H
#define AK_HOST_H

#include <stddef.h>
#include <stdint.h>

/* A function that no header declares is an error, as newer compilers have it: its arguments and its
   result would be those that the compiler guesses. */
#ifndef __cplusplus
#pragma GCC diagnostic error "-Wimplicit-function-declaration"
#endif

typedef struct ak_host_call {
    const int64_t *size;  /* the problem's sizes, in the order of problem.json */
    const int *choice;    /* index of each option's value, in that order; 0 for a number */
    const double *number; /* the value of each option that is a number */
    /* The problem's arguments, in that order. Arrays never overlap and are aligned to 64 bytes, or
       at least to their element. */
    void *const *arg;
    const int64_t *pitch; /* elements from one row to the next of each argument */
    /* Scratch memory, aligned to 64 bytes, as large as the space file's Workspace says. Its
       contents are undefined at entry. */
    void *workspace;
    int threads; /* number of threads that `parallel` may use, at least 1 */

    /* Runs task(context, 0..n-1, n) on n <= threads threads (a larger n is cut to it), of which the
       caller is number 0, and returns when all have ended. n = 1 is a plain call. Calls must not be
       nested. */
    void (*parallel)(void *pool, int n, void (*task)(void *context, int thread, int n),
                     void *context);
    /* Waits until all n threads of the running `parallel` have arrived. */
    void (*barrier)(void *pool);
    void *pool; /* first argument of both functions */
} ak_host_call;

#ifdef __cplusplus
extern "C" void ak_kernel(const ak_host_call *call); /* a kernel in C++ is called like one in C */
#endif

#endif
