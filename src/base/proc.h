/*
 * proc.h: child processes. Always from an argv, never through a shell; each in a process group of
 * its own, which is what is killed; killed with its parent (PR_SET_PDEATHSIG).
 */
#ifndef AK_BASE_PROC_H
#define AK_BASE_PROC_H

#include <sys/types.h>

#include "base/buf.h"

typedef struct ak_proc_spec {
    const char *const *argv; /* NULL-terminated; argv[0] is looked up in PATH */
    /* (ak_proc_run) Instead of the program: runs in a copy of this process, which saves starting
       one and loading its libraries, and ends with what it returns. Only for processes with a
       single thread. What is open above stderr is closed there. argv[0] is its name in messages. */
    int (*call)(void *context);
    void *context;
    const char *const *setenv; /* "NAME=value" added to the environment, NULL-terminated, or NULL */
    const char *folder;        /* to run in; NULL: here */
    int64_t timeout_ns;        /* 0: none */
    size_t output_max;         /* bytes of stdout + stderr that are kept; the rest is dropped */
    size_t memory_max;         /* RLIMIT_AS, 0: none */
    int cpu_seconds_max;       /* RLIMIT_CPU, 0: none */
} ak_proc_spec;

typedef struct ak_proc_result {
    int exit_code; /* or -1 if it ended by a signal */
    int signal;    /* 0 if it exited */
    bool timed_out;
    bool cut;     /* more output than output_max */
    char *output; /* stdout and stderr together, ak_free */
    size_t output_length;
    int64_t wall_ns;
} ak_proc_result;

/* Runs to the end. Fails only if the process could not be started. */
ak_status ak_proc_run(ak_proc_result *out, const ak_proc_spec *spec, ak_error *err);
void ak_proc_result_clear(ak_proc_result *result);

/* Closes what is open of the descriptors from `first` to `last`. */
void ak_proc_close_range(unsigned first, unsigned last);

/* A long-lived child that is spoken to over two pipes: it reads requests on descriptor 3 and writes
   replies on descriptor 4; its stdin is /dev/null, its stderr ours. */
typedef struct ak_proc {
    pid_t pid; /* 0: not running */
    int to;    /* we write here */
    int from;  /* we read here; non-blocking */
} ak_proc;
#define AK_PROC_REQUEST_FD 3
#define AK_PROC_REPLY_FD   4

ak_status ak_proc_start(ak_proc *out, const ak_proc_spec *spec, ak_error *err);
/* Kills the group, reaps it and closes the pipes. Safe to call on an ended one. */
void ak_proc_kill(ak_proc *proc);
/* Reaps without waiting. True if it has ended; then "exit code 3" or "signal 11 (Segmentation
   fault)" is in `how`. */
bool ak_proc_ended(char *how, size_t bytes, ak_proc *proc);
/* Waits at most timeout_ns for the child to end by itself. */
bool ak_proc_wait(ak_proc *proc, int64_t timeout_ns);

#endif
