/* environment.h: computes and compares environments: everything besides the configuration on which
   the results of a task depend (docs/glossary.md). */
#ifndef AK_WORKER_ENVIRONMENT_H
#define AK_WORKER_ENVIRONMENT_H

#include "problem/task.h"

/* Computes the environment's facts, which the caller owns: the backend's, the version of
   autokernel, the hash of the sources, the threads, whether options that change numerics are
   allowed and, where results depend on them, Triton's version, what confines candidates, and the
   configuration that is the reference. */
ak_status ak_environment_facts(json_t **out, const ak_task *task, ak_error *err);
/* Returns whether two environments differ. If so, writes their first difference, such as
   `compilers.gcc: "12.2" there, "13.1" here`. */
bool ak_environment_differs(char *out, size_t bytes, const json_t *there, const json_t *here);

/* ---- probe (probe.c) ------------------------------------------------------------------------- */

/* Collects what this machine offers, for `autokernel doctor` and `list`. It runs in a
   device worker, because asking libraries for their versions means loading them. */

/* Returns {"devices": [...], "compilers": [...], "libraries": [...], "landlock": 4, ...}, as
   docs/protocol.md describes it. Measures the ceilings of the devices only if `ceilings`. */
ak_status ak_probe(json_t **out, bool ceilings, ak_error *err);

#endif
