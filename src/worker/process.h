/* process.h: ends workers and everything that they have started. */
#ifndef AK_WORKER_PROCESS_H
#define AK_WORKER_PROCESS_H

#include "base/proc.h"

/* Kills a child and its descendants, whatever groups they are in, and reaps the child. Does nothing
   if there is no child. */
void ak_process_kill_tree(ak_proc *proc);
/* Kills the descendants of a process, except its child `spare` (0: none). */
void ak_process_kill_below(pid_t pid, pid_t spare);
/* Returns whether somebody has stopped a child (SIGSTOP). */
bool ak_process_is_stopped(const ak_proc *proc);
/* Kills and reaps every child of this process, and every process that these children have left
   behind, except `spare` (0: none) and its children. Gives up after about a second. Call it only in
   a process that is a subreaper and needs no other child any more. */
void ak_process_end_descendants(pid_t spare);

#endif
