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
 * which sees every array as double, whatever the dtype under test, and scalars as double too.
 *
 * Parameters of the space arrive as macros (-DMR=6). A value that is not a number, the dtype and
 * the problem's choices arrive as `NAME_is_VALUE` (-Dactivation_is_relu=1, -Ddtype_is_f32=1).
 *
 * Whether they were numbers or texts, choices are also in the call, at the place that they have in
 * problem.json. The rows of an array may be further apart than they are long (the problem's
 * "pitch"): what is between them is neither to be read nor written. A reference's rows adjoin.
 *
 * The harness owns every buffer, thread and clock: a kernel allocates nothing, starts no thread and
 * keeps no state between calls.
 */
#ifndef AK_HOST_H
#define AK_HOST_H

#include <stddef.h>
#include <stdint.h>

typedef struct ak_host_call {
    const int64_t *size;  /* the problem's sizes, in the order of problem.json */
    const int *choice;    /* index of each choice's value, in that order; of a number 0 */
    const double *number; /* the value of each choice that is a number */
    void *const *arg;     /* the problem's arguments, in that order; arrays 64-byte aligned at least
                             to their element, never overlapping */
    const int64_t *pitch; /* of each argument, elements from one row to the next */
    void *workspace;      /* scratch, 64-byte aligned, of the bytes that the space file's Workspace
                             asks for; contents undefined at entry */
    int threads;          /* threads that `parallel` may use, 1 or more */

    /* Runs task(context, 0..n-1, n) on n <= threads threads, the caller being number 0, and returns
       when all have ended. n = 1 is a plain call. Not to be nested. */
    void (*parallel)(void *pool, int n, void (*task)(void *context, int thread, int n),
                     void *context);
    /* Waits until all n threads of the running `parallel` have arrived. */
    void (*barrier)(void *pool);
    void *pool; /* to be handed to both */
} ak_host_call;

#endif
