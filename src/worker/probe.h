/* probe.h: collects what this machine offers, for `autokernel doctor` and `list`. It runs in a
   device worker, because asking libraries for their versions means loading them. */
#ifndef AK_WORKER_PROBE_H
#define AK_WORKER_PROBE_H

#include "base/json.h"

/* Returns {"devices": [...], "compilers": [...], "libraries": [...], "landlock": 4, ...}, as
   docs/protocol.md describes it. Measures the ceilings of the devices only if `ceilings`. */
ak_status ak_probe(json_t **out, bool ceilings, ak_error *err);

#endif
