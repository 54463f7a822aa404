/*
 * sim.h: a recording in place of a device: `--device sim:FILE`, FILE being anything that `simulate`
 * reads (recording.h).
 *
 * Nothing is compiled, checked or run. A configuration comes to what it came to when it was
 * recorded, and costs what it cost, failures included: that is the only clock. So a run takes a
 * moment, and the same seed gives the same events and the same archive, to the byte. The loop, the
 * archive, the events and the strategies, those with a language model too, are those of a real run.
 *
 * The kernel of the task is the one that was recorded, with all that is known of it (its rank,
 * defaults, sources for prompts), or a T1 file, or the recording itself, of which then no more than
 * the space is known (so is one of the recorded name that is no kernel of ours); "sim" alone means
 * the recording that is named as the kernel. The space is what was recorded, nothing else. Facts of
 * the machine are unknown but for those that the file says: what would need others (a default, a
 * rank) is left out.
 */
#ifndef AK_BACKEND_SIM_H
#define AK_BACKEND_SIM_H

#include "backend/backend.h"
#include "recording/recording.h"

extern const ak_backend_ops ak_sim_ops;

/* The file of a device's name: "" of "sim" alone. */
const char *ak_sim_path(const char *device);
/* The `bind` of the backend (sim_task.c). */
ak_status ak_sim_bind(ak_task **out, const ak_task_spec *spec, const char *device, ak_error *err);

#endif
