/*
 * host_batch.h: one batch of a confined child and its time. Time is taken here, in the worker: from
 * setting `go`, for which the child spins, to the byte that reports the end, minus what an empty
 * batch and setting the processor's state back (host_forget.h) take. A child that is not being
 * measured is stopped, so that spinning idle threads of a library do not take cores from others,
 * and so that nothing runs on while a result is checked.
 */
#ifndef AK_BACKEND_HOST_BATCH_H
#define AK_BACKEND_HOST_BATCH_H

#include "backend/host/host_child.h"

/* Runs the batch that runner->page asks for. Before a single call of a candidate, some elements of
   the inputs of `launch` are withheld until the child is ready. */
void ak_host_batch(ak_outcome *out, ak_runnable *runner, const ak_launch *launch);
/* Measures what every batch takes besides its calls: device->roundtrip_ns and forget_ns. */
ak_status ak_host_batch_calibrate(ak_device *device, ak_error *err);

#endif
