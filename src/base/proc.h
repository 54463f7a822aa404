/*
 * proc.h: starts, runs and ends child processes. They are started from an argv, never through a
 * shell. Each is in a process group of its own, which is killed as a whole. Unless its spec says
 * otherwise, a child is killed when the thread that started it ends (PR_SET_PDEATHSIG). It inherits
 * no open files, except stderr if ak_proc_start starts it, and no ignored or blocked signals,
 * except an ignored SIGHUP (nohup).
 */
#ifndef AK_BASE_PROC_H
#define AK_BASE_PROC_H

#include <sys/types.h>

#include "base/buf.h"

typedef enum ak_proc_priority {
    AK_PROC_USUAL,
    AK_PROC_BATCH, /* SCHED_BATCH: for long computations that need no quick response */
    /* SCHED_BATCH and the highest nice value: the smallest share of a processor that is not zero */
    AK_PROC_LOW,
    AK_PROC_IDLE /* SCHED_IDLE: runs only when nothing else runs, on a busy machine perhaps never */
} ak_proc_priority;

typedef struct ak_proc_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    /* For ak_proc_run only, instead of a program: runs `call` in a copy of this process and ends
       with its result, which saves starting a program and loading its libraries. This process must
       have a single thread. Unless `keep_files`, descriptors above stderr are closed in the copy.
       argv[0] names the copy in messages. */
    int (*call)(void *context);
    void *context;
    /* "NAME=value" texts to add to the environment, NULL-terminated, or NULL. From our own
       environment the child gets only the variables that proc_env.c or `passes` names. */
    const char *const *setenv;
    const char *folder; /* working folder of the child; NULL: that of this process */
    int64_t timeout_ns; /* for ak_proc_run only; 0: none */
    /* For ak_proc_run only: bytes of stdout and stderr that are kept; 0: 65536. The rest is
       dropped. */
    size_t output_max;
    size_t memory_max;   /* RLIMIT_AS in bytes; 0: none. Not set for a `call` in an instrumented
                            build (instrumented.h) */
    int cpu_seconds_max; /* RLIMIT_CPU; 0: none */
    ak_proc_priority priority;
    /* If not NULL, called in the child right before the program or `call` starts. A child that
       starts a program still shares the memory of this process, so `confine` may make system calls
       and nothing else. */
    void (*confine)(void *context);
    void *confine_context;
    bool keep_files;  /* the child inherits descriptors without close-on-exec */
    bool only_stdout; /* what it writes to stderr is dropped */
    /* For ak_proc_start only: the child lives as long as this process, not only as long as the
       thread that starts it. The child must call ak_proc_end_with_parent. */
    bool any_thread;
    /* For ak_proc_start only: the program is a launcher (ssh, srun), which starts a worker on
       another machine. Its standard input and output take the place of descriptors 3 and 4, its
       stderr becomes a third pipe. It has a session of its own, so that it cannot ask for a
       password on the terminal. When the thread that started the launcher ends, the launcher gets
       SIGTERM, so that it can end what it has started. */
    bool stdio;
    /* More variables that the child gets: whole names, or prefixes that end in '_'; NULL: none. A
       variable that sounds secret needs its whole name here. {"*"}: all. */
    const char *const *passes;
} ak_proc_spec;

typedef struct ak_proc_result {
    int exit_code; /* -1 if a signal ended it */
    int signal;    /* 0 if it exited */
    bool timed_out;
    bool cut;     /* there was more output than output_max */
    char *output; /* stdout and, unless `only_stdout`, stderr as they came; ends in a 0 */
    size_t output_length;
    int64_t wall_ns;
    int64_t cpu_ns; /* processor time of the child and of the children that it waited for */
} ak_proc_result;

/* Runs a child to its end, or kills it at the timeout. Fails only if the process cannot be started,
   its exit status cannot be known, or there is no memory. The caller frees the result with
   ak_proc_result_clear. */
ak_status ak_proc_run(ak_proc_result *out, const ak_proc_spec *spec, ak_error *err);
void ak_proc_result_clear(ak_proc_result *result);

/* Prepares a program that consists of this library alone, at the start of its main: unblocks
   signals (SIGUSR2 only in ak_proc_end_with_parent), resets those that are ignored to their default
   unless a terminal or nohup uses them, raises a low limit on open files as far as allowed, and
   declares that nobody else waits for children. A write into a pipe without a reader, or beyond the
   limit on a file's size, then fails with an error and does not end the process by a signal. */
void ak_proc_own_program(void);
/* Makes a child that was started with `any_thread` end with the process that started it,
   together with the child that it runs itself. */
void ak_proc_end_with_parent(void);

/* Unsets variables of this process, which must have one thread. An entry that ends in '_' is a
   prefix of names. A variable with a name of more than 127 bytes stays. */
void ak_proc_unset(const char *const *names);

/* Numbers up to this one are for the descriptors that a child gets. Those that are copied to these
   numbers must be above it, so that none is overwritten before it is copied. */
#define AK_PROC_LOW_MAX 9
/* Moves a descriptor to a number above AK_PROC_LOW_MAX, with close-on-exec, and returns the new
   one. Returns a descriptor that is negative or already above it unchanged. If the move fails,
   closes the descriptor and returns -1 with errno set. */
int ak_proc_above_low(int fd);
/* Closes all open descriptors from `first` to `last`. */
void ak_proc_close_range(unsigned first, unsigned last);

/* A long-lived child that receives requests on its descriptor 3 and sends replies on its descriptor
   4. Its stdin and stdout are /dev/null, its stderr is that of this process. `stdio` in
   ak_proc_spec changes all of this. */
typedef struct ak_proc {
    pid_t pid;      /* 0 if it is not running */
    int to;         /* pipe to the child, for writing */
    int from;       /* pipe from the child, for reading; non-blocking */
    int descriptor; /* with `any_thread`: pidfd of the child; 0: none */
    int errors;     /* with `stdio`: pipe from its stderr; non-blocking; 0: none */
} ak_proc;
#define AK_PROC_REQUEST_FD 3
#define AK_PROC_REPLY_FD   4

/* Starts a long-lived child. The caller ends it with ak_proc_kill. */
ak_status ak_proc_start(ak_proc *out, const ak_proc_spec *spec, ak_error *err);
/* Closes the pipe to the child, which tells the child to end. */
void ak_proc_hang_up(ak_proc *proc);
/* Sends a signal to the child's group. */
void ak_proc_signal(const ak_proc *proc, int number);
/* Kills the child's group, reaps the child and closes the pipes. Does nothing if the child is not
   running or was reaped already. */
void ak_proc_kill(ak_proc *proc);
/* Returns true if the child has ended, without waiting for it. `how` then says how ("exit code 3",
   "signal 11 (Segmentation fault)", or that this is unknown), the rest of its group is killed, and
   the pipes are closed. A child that is not running or was reaped already has ended: `how` is "not
   running". */
bool ak_proc_ended(char *how, size_t bytes, ak_proc *proc);
/* Does what ak_proc_ended does, but first waits at most timeout_ns for the child to end by
   itself. */
bool ak_proc_wait(char *how, size_t bytes, ak_proc *proc, int64_t timeout_ns);

#endif
