/* probe.h: what this machine offers, for `autokernel doctor` and `list`. Runs in a device worker,
   because finding out about libraries means loading them. */
#ifndef AK_WORKER_PROBE_H
#define AK_WORKER_PROBE_H

#include "base/json.h"

/* {"devices": [...], "compilers": [...], "libraries": [...], "landlock": 4, "seccomp": true}: see
   docs/protocol.md. */
ak_status ak_probe(json_t **out, ak_error *err);

#endif
