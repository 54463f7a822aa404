/* probe.h: finds out what this machine offers, for `autokernel doctor` and `list`. It runs in a
   device worker, because finding out about libraries means loading them. */
#ifndef AK_WORKER_PROBE_H
#define AK_WORKER_PROBE_H

#include "base/json.h"

/* Returns {"devices": [...], "compilers": [...], "libraries": [...], "landlock": 4, "seccomp":
   true}; docs/protocol.md describes it. Measures the ceilings of the devices only if `ceilings`. */
ak_status ak_probe(json_t **out, bool ceilings, ak_error *err);

#endif
