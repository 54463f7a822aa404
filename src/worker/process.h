/* process.h: how workers are ended. */
#ifndef AK_WORKER_PROCESS_H
#define AK_WORKER_PROCESS_H

#include "base/fs.h"
#include "base/proc.h"

/* Kills a child, its children and theirs, whatever groups they are in, and reaps the child. */
void ak_process_kill_tree(ak_proc *proc);

#endif
