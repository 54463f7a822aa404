/*
 * host_runner.h: how the device worker and a runner talk. A runner is the confined child process
 * (`autokernel worker --runner`) that loads one candidate or library and runs it on command.
 *
 * Commands are single bytes on its request pipe, answers single bytes on its reply pipe; what they
 * are about lies in a shared page. The runner's memory, this page included, belongs to the
 * candidate: the worker writes every field of a request anew, reads only the reply, and believes
 * none of it without looking (bounded texts, known numbers). Time is taken by the worker.
 *
 *   LOAD  -> END                      status and reason; title and version of a library
 *   RUN   -> READY, (go) DONE, END    DONE right behind the last iteration; END after the runner
 * has looked at the red zones of the workspace
 */
#ifndef AK_BACKEND_HOST_RUNNER_H
#define AK_BACKEND_HOST_RUNNER_H

#include <stdatomic.h>

#include "base/fs.h"
#include "problem/problem.h"

enum { AK_RUNNER_LOAD = 'L', AK_RUNNER_RUN = 'X' };
enum { AK_RUNNER_READY = 'R', AK_RUNNER_DONE = 'D', AK_RUNNER_END = 'E' };

#define AK_RUNNER_TEXT_MAX      512
#define AK_RUNNER_REASON_MAX    240
#define AK_RUNNER_WORKSPACE_MAX (UINT64_C(1) << 36)

typedef struct ak_runner_page {
    /* LOAD */
    char artifact[AK_PATH_MAX]; /* "" for a baseline */
    char symbol[32];            /* "ak_kernel" */
    char baseline[64];          /* "openblas:Haswell" */
    char problem[64];
    char choices[AK_RUNNER_TEXT_MAX]; /* "bias=add,activation=relu" */
    int32_t threads_max;              /* of the pool */
    int32_t library_threads;          /* 0: as the library decides */
    /* RUN */
    uint64_t block_bytes;
    uint64_t offset[AK_ARGUMENTS_MAX];
    uint64_t stain_count[AK_ARGUMENTS_MAX]; /* elements that may be stained: of the first row where
                                               rows do not adjoin, 0 where none may */
    uint32_t stain_bytes[AK_ARGUMENTS_MAX]; /* of one element */
    uint32_t argument_count;
    int64_t size[AK_SIZES_MAX];
    int32_t choice[AK_CHOICES_MAX];
    double number[AK_CHOICES_MAX];
    int64_t pitch[AK_ARGUMENTS_MAX];
    uint64_t workspace_bytes;
    int32_t threads;
    uint32_t iterations; /* timed */
    uint32_t warm;       /* before READY */
    uint64_t salt;       /* where outputs are stained */
    /* both sides */
    _Atomic uint32_t go;     /* the worker sets it to 1, the runner waits for that */
    _Atomic uint32_t dozing; /* the runner sleeps on `go` */
    /* reply */
    int32_t status; /* ak_trial_status */
    char reason[AK_RUNNER_REASON_MAX];
    char title[64];
    char version[96];
} ak_runner_page;

/* The body of `worker --runner BLOCK_FD PAGE_FD`. */
int ak_runner_main(int block_fd, int page_fd);

#endif
