/* process.h: which program the workers are, and how they are ended. */
#ifndef AK_WORKER_PROCESS_H
#define AK_WORKER_PROCESS_H

#include "base/fs.h"
#include "base/proc.h"

/* The autokernel executable: AUTOKERNEL_WORKER; else this program if it is called autokernel; else
   the one beside this program; else the one in PATH. */
ak_status ak_process_program(char out[AK_PATH_MAX], ak_error *err);

/* Kills a child, its children and theirs, whatever groups they are in, and reaps the child. */
void ak_process_kill_tree(ak_proc *proc);

#endif
