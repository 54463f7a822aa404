/* proc_child.h: how the files proc_*.c create a child and prepare it before its program starts.
   Internal to base/. */
#ifndef AK_BASE_PROC_CHILD_H
#define AK_BASE_PROC_CHILD_H

#include <sys/resource.h>

#include "base/proc.h"

/* All that a child needs, prepared before it is created. The descriptors are above 9. */
typedef struct ak_proc_launch {
    int (*call)(void *context); /* run instead of a program; NULL: none */
    void *context;
    const char *path;
    char *const *argv;
    char *const *envp;
    const char *folder;
    /* becomes stdout and stderr, with `only_stdout` only stdout (stderr becomes /dev/null), with
       `stdio` only stderr; -1: stderr stays, stdout becomes /dev/null */
    int out;
    int request; /* becomes AK_PROC_REQUEST_FD, with `stdio` stdin; -1: none */
    int reply;   /* becomes AK_PROC_REPLY_FD, with `stdio` stdout */
    int null;    /* /dev/null, open for reading and writing */
    pid_t parent;
    rlim_t memory, cpu;                              /* bytes and seconds; 0: no limit */
    bool keep_files, only_stdout, any_thread, stdio; /* as in ak_proc_spec */
    bool guarded; /* its exit status must be known; has no effect on a call or in our own program */
    bool grouped; /* it stays in its parent's process group */
    ak_proc_priority priority;
    void (*confine)(void *context); /* as in ak_proc_spec */
    void *confine_context;
} ak_proc_launch;

/* Returns true if a child may see this "NAME=value" of our environment; `more` is `passes` of
   ak_proc_spec. */
bool ak_proc_passes(const char *variable, const char *const *more);
/* Creates the process and returns its pid, or -1 with errno set. The caller has blocked all
   signals. */
pid_t ak_proc_spawn(const ak_proc_launch *l);
/* Pid of the child that ak_proc_run is running, which must not outlive a worker; 0: none. */
extern volatile pid_t ak_proc_running;

/* ---- proc_launch (proc_launch.c) ------------------------------------------------------------- */

/* The functions with which proc_run.c and proc_start.c start a child and wait for it. */

/* Makes a pipe whose ends are above 9 and close on exec. On failure it returns false with errno
   set, and both ends can be passed to ak_proc_close. */
bool ak_proc_pipe(int ends[2]);
/* Returns AK_IO with a message for the errno `why` of a pipe that cannot be made. */
ak_status ak_proc_fail_pipe(const ak_proc_spec *spec, int why, ak_error *err);
/* Closes *fd unless it is negative, and sets it to -1. */
void ak_proc_close(int *fd);

/* Starts the child of the spec in a process group of its own, with `stdio` in a session of its own.
   ak_proc_launch says what `output` (its `out`), `request` and `reply` become in the child. This
   function does not close these descriptors; the caller does. */
ak_status ak_proc_launch_with(pid_t *out, const ak_proc_spec *spec, int output, int request,
                              int reply, ak_error *err);
/* Waits as waitpid does, and also gives the processor time of the child and of the children that
   it waited for. */
pid_t ak_proc_reap(pid_t pid, int *how, int64_t *cpu_ns, int options);

#endif
