/*
 * placement.h: computes the place of a task on the roofline of a device. The end of a run, reports,
 * JSON and the prompts of language models show the same figures (ak_placement in the public
 * header).
 */
#ifndef AK_MEASURE_PLACEMENT_H
#define AK_MEASURE_PLACEMENT_H

#include "autokernel/autokernel.h"
#include "measure/roofline.h"
#include "problem/task.h"

/* Computes the placement. `bytes` are the compulsory traffic; `cache` says that the bandwidth in
   `ceilings` belongs to a cache which holds all data, so that out->memory_gbs is 0: not known. If
   `ms` is 0, nothing was measured and only the limits are known. */
void ak_place(ak_placement *out, const ak_ceilings *ceilings, double flops, double bytes, double ms,
              bool cache);
/* Returns the ceilings that apply to the task. The bandwidth is taken from the fastest level of
   private caches that holds all arguments, or from the memory if none does or its bandwidth is not
   known to be higher. A cache that is too small for the arguments may still serve a part of them.
   So with `highest`, arguments that fit the private caches, or these together with the shared one,
   get the bandwidth of the next faster private level, which no correct kernel can exceed. */
ak_ceilings ak_task_ceilings(const ak_task *task, const ak_ceilings *device, bool highest);
/* Computes the placement of a task with the ceilings that apply to it (without `highest`). */
void ak_place_task(ak_placement *out, const ak_task *task, const ak_ceilings *device, double ms);
/* Returns the member "roofline" of a result (docs/formats.md), or NULL if there is no memory. */
json_t *ak_placement_json(const ak_placement *placement);
/* Reads the member "roofline" of a result. What is missing or null becomes 0. */
void ak_placement_read(ak_placement *out, const json_t *object);

#endif
