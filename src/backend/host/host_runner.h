/*
 * host_runner.h: how the device worker and a runner talk. A runner is the confined child process
 * (`autokernel worker --runner`) that loads one candidate or library and runs it on command.
 *
 * Commands are single bytes on its request pipe, answers single bytes on its reply pipe; a shared
 * page holds the details. The candidate can write all of the runner's memory, this page included.
 * So the worker writes what a batch needs anew each time, compares the request after the batch with
 * what it was before, and checks the reply (bounded texts, known numbers). The worker takes the
 * time.
 *
 *   LOAD  -> END                      status and reason; title and version of a library
 *   RUN   -> READY, (go) DONE         DONE after the last iteration, once the runner has checked
 *                                     the red zone of the workspace and written status and reason
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
#include <stdint.h>

#include "base/fs.h"
#include "problem/problem.h"

/* ---- host_stain (host_stain.c) --------------------------------------------------------------- */

/* What the runner puts into outputs before a call, so that a kernel that believes what it finds
   there is wrong. Three kinds of changes leave no test by which a kernel could tell changed
   elements from right ones:

     - a NaN deceives a kernel that computes only elements that hold a number;
     - an exact copy of another element deceives one that believes values that occur elsewhere, too,
       as many do where results have few values;
     - a result of this or another element, with other bits in its fraction, deceives one that
       believes numbers that occur only once.

   None of this makes a system call, because a candidate's child can make few. */

/* The outputs that may be stained. */
typedef struct ak_host_stainable {
    /* Number of elements that may be stained: all, or those of each row if rows do not adjoin; 0:
       none. */
    uint64_t count[AK_ARGUMENTS_MAX];
    /* Rows that do not adjoin: how many follow the first, and the elements from one to the next. */
    uint64_t more_rows[AK_ARGUMENTS_MAX], pitch[AK_ARGUMENTS_MAX];
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
/* Changes one element of each output that may be stained, before a call, and notes it. With `blank`
   it becomes NaN (an integer: all bits set); otherwise that or a plausible number. A second
   element, drawn at random like the first, is changed and not noted: a kernel that reads these
   notes on the stack cannot find it, but the comparison of outputs after the batch does. */
void ak_host_stain(const ak_host_stainable *of, void *const *arg, ak_host_stained *s,
                   uint64_t *state, bool blank);
/* Counts the noted elements that the call has not written, and returns how many it looked at; an
   element whose stain equals what was there is not looked at. The stain replaced a result of the
   previous call, so a call that does its work writes that result again over the stain. */
uint64_t ak_host_stained_look(const ak_host_stainable *of, ak_host_stained *s);
/* Changes all elements that may be stained of a part of the outputs, which hold the results of a
   call, to plausible numbers that are not right. If some stayed, a kernel that finds them could
   compute the others only. NaN and infinities stay as they are. */
void ak_host_scramble(const ak_host_stainable *of, void *const *arg, uint64_t random, int part,
                      int parts);

enum { AK_RUNNER_LOAD = 'L', AK_RUNNER_RUN = 'X' };
enum { AK_RUNNER_READY = 'R', AK_RUNNER_DONE = 'D', AK_RUNNER_END = 'E' };
enum { AK_RUNNER_NOTHING = 0 }; /* no answer is this byte, and one that is gets refused */

/* Whether a baseline is the problem's own (host_own.c). */
typedef enum ak_runner_own { AK_OWN_NOT, AK_OWN_CODE, AK_OWN_PYTHON } ak_runner_own;

#define AK_RUNNER_TEXT_MAX      512
#define AK_RUNNER_REASON_MAX    240
#define AK_RUNNER_WORKSPACE_MAX (UINT64_C(1) << 36)

typedef struct ak_runner_page {
    /* for LOAD */
    char artifact[AK_PATH_MAX]; /* "" for a library of baselines.def */
    /* The function of the artifact, such as "ak_kernel"; of an own baseline, the function that it
       names, or "" */
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
    _Atomic uint32_t go;     /* after each READY the runner waits until the worker adds 1 */
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

/* ---- host_forget (host_forget.c) ------------------------------------------------------------- */

/* Clears what the processor and errno could keep for a candidate between two calls.

   A kernel has no memory of its own, but a call could leave a number where nobody else looks: in
   the registers that a caller saves, in the flags of floating-point exceptions, in x87 or tile
   registers, in the address of the last x87 instruction, in the selectors of segments and the base
   of the unused one, in the rights of memory keys or in errno. The next call would then know that
   it is not the first, and could leave out its work. So on x86-64 and AArch64 each thread that
   takes part in a call sets all of this back beforehand, and on other processors errno only. */

/* Finds out once what the processor has, and notes the rights of memory keys. Call this before any
   candidate is loaded. `tiles`: whether the tile registers may be used. */
void ak_host_forget_prepare(int tiles);
/* Sets this thread's state to that of a call that follows no other. General registers are the
   caller's business (host_runner.c). */
void ak_host_forget(void);
/* Overwrites 1 KiB of the stack below its caller, where functions that have returned may have left
   what a kernel must not know. */
void ak_host_forget_stack(void);

#endif
