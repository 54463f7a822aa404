/*
 * host_runner.h: how the device worker and a runner talk. A runner is the confined child process
 * (`autokernel worker --runner`) that loads one candidate or library and runs it on command.
 *
 * Commands are single bytes on its request pipe, answers single bytes on its reply pipe; a shared
 * page holds the details. The candidate can write all of the runner's memory, this page included.
 * So the worker writes every field of each request anew, compares the request after the batch with
 * what it wrote, and checks the reply (bounded texts, known numbers). The worker takes the time.
 *
 *   LOAD  -> END                      status and reason; title and version of a library
 *   RUN   -> READY, (go) DONE         DONE after the last iteration, once the runner has checked
 * the red zone of the workspace and written status and reason
 *         -> END                      if it cannot prepare the batch
 *
 * The worker stops the runner as soon as it reads DONE, and judges the outputs as they are when it
 * has stopped. A single call, or calls with a stride, on unseen inputs have one step more, READY,
 * (go) READY, (go) DONE: the inputs appear after the first READY, and the runner reads them before
 * it says READY again.
 */
#ifndef AK_BACKEND_HOST_RUNNER_H
#define AK_BACKEND_HOST_RUNNER_H

#include <stdatomic.h>

#include "backend/host/host_stain.h"
#include "base/fs.h"
#include "problem/problem.h"

enum { AK_RUNNER_LOAD = 'L', AK_RUNNER_RUN = 'X' };
enum { AK_RUNNER_READY = 'R', AK_RUNNER_DONE = 'D', AK_RUNNER_END = 'E' };
enum { AK_RUNNER_NOTHING = 0 }; /* no answer is this byte */

/* Whether a baseline is the problem's own (host_own.c). */
typedef enum ak_runner_own { AK_OWN_NOT, AK_OWN_CODE, AK_OWN_PYTHON } ak_runner_own;

#define AK_RUNNER_TEXT_MAX      512
#define AK_RUNNER_REASON_MAX    240
#define AK_RUNNER_WORKSPACE_MAX (UINT64_C(1) << 36)
#define AK_RUNNER_PAGE          4096

typedef struct ak_runner_page {
    /* for LOAD */
    char artifact[AK_PATH_MAX]; /* "" for a library of baselines.def */
    /* "ak_kernel"; of an own baseline, the library's function */
    char symbol[AK_FUNCTION_NAME_MAX + 1];
    char baseline[64];         /* "openblas:Haswell"; "" for a candidate */
    char library[AK_PATH_MAX]; /* of an own baseline; "" if it has none */
    char folder[AK_PATH_MAX];  /* of an own baseline: the kernel's; "" if there is none */
    int32_t own;               /* an ak_runner_own */
    char problem[64];
    char choices[AK_RUNNER_TEXT_MAX]; /* "bias=add,activation=relu" */
    int32_t dtype;                    /* ak_dtype of the task */
    int32_t threads_max;              /* size of the pool */
    int32_t library_threads;          /* 0: the library decides */
    /* for RUN */
    /* Part of the block, in whole pages: the arguments with their red zones. */
    uint64_t first, span;
    uint64_t offset[AK_ARGUMENTS_MAX]; /* relative to `first` */
    uint64_t bytes[AK_ARGUMENTS_MAX];
    uint64_t stride; /* bytes from one iteration's arguments to the next one's; 0: the same */
    ak_host_stainable stain;
    uint32_t argument_count;
    int64_t size[AK_SIZES_MAX];
    int32_t choice[AK_CHOICES_MAX];
    double number[AK_CHOICES_MAX];
    int64_t pitch[AK_ARGUMENTS_MAX];
    uint64_t extent[AK_ARGUMENTS_MAX][AK_RANK_MAX];
    uint64_t workspace_bytes, workspace_shift; /* shift: from a page to the workspace */
    int32_t threads;
    uint32_t iterations; /* number of timed iterations */
    uint32_t warm;       /* number of iterations before READY */
    uint32_t refill;     /* 1: the workspace is overwritten */
    uint64_t reads;      /* bytes that a call reads where nothing is loaded; 0: all */
    uint32_t scatter;    /* 1: before READY branch predictors are made to forget the kernel */
    uint32_t unseen;     /* 1: the inputs appear after READY, are read, and READY comes again */
    uint64_t salt;       /* seed of the stains and of the red zone of the workspace */
    /* written by both sides */
    _Atomic uint32_t go;     /* the worker adds 1 after each READY, for which the runner waits */
    _Atomic uint32_t dozing; /* the runner sleeps on `go` */
    /* the reply */
    int32_t status; /* ak_trial_status */
    char reason[AK_RUNNER_REASON_MAX];
    char title[64];
    char version[96];
} ak_runner_page;

/* Runs the role `worker --runner BLOCK_FD PAGE_FD`, which the device worker starts for one
   candidate or library. */
int ak_runner_main(int argc, char **argv);

#endif
