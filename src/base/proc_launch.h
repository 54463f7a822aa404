/*
 * proc_launch.h: the functions that start a child and wait for it, which proc_run.c and
 * proc_start.c share. Internal to base/.
 */
#ifndef AK_BASE_PROC_LAUNCH_H
#define AK_BASE_PROC_LAUNCH_H

#include "base/proc.h"

/* Makes a pipe whose ends are above 9 and close on exec. On failure it returns false with errno
   set, and both ends can be passed to ak_proc_close. */
bool ak_proc_pipe(int ends[2]);
/* Returns AK_IO with a message for the errno `why` of a pipe that cannot be made. */
ak_status ak_proc_fail_pipe(const ak_proc_spec *spec, int why, ak_error *err);
/* Closes *fd unless it is negative, and sets it to -1. */
void ak_proc_close(int *fd);

/* Starts the child of the spec in a process group of its own. `output` becomes its stdout and
   stderr (-1: see proc_child.h), `request` and `reply` become its descriptors 3 and 4 (-1: none).
   This function does not close these descriptors; the caller does. */
ak_status ak_proc_launch_with(pid_t *out, const ak_proc_spec *spec, int output, int request,
                              int reply, ak_error *err);
/* Waits as waitpid does, and also gives the processor time of the child and of the children that
   it waited for. */
pid_t ak_proc_reap(pid_t pid, int *how, int64_t *cpu_ns, int options);

#endif
