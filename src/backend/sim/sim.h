/*
 * sim.h: a recording in place of a device: `--device sim:FILE`, where FILE is anything that
 * `simulate` reads (recording.h).
 *
 * Nothing is compiled, checked or run. A configuration gives the result that was recorded for it,
 * failures included, and the run's clock advances by the recorded time. So a run takes a moment,
 * and the same seed gives the same events and the same record in the archive, byte for byte. The
 * loop, the archive, the events and the strategies, including those with a language model, are the
 * same as in a real run.
 *
 * The task's kernel is one of three. It may be the recorded kernel, with all that is known of it:
 * its rank, its defaults, its sources for prompts. It may be a file in the format T1
 * (docs/formats.md). Or it may be the recording itself, of which only the space is known; the
 * recorded name of a kernel that is not installed stands for it, too. "sim" alone means the
 * recording that is named as the kernel. The space is exactly what was recorded. The only known
 * facts of the machine are those in the file; a default or rank that needs others is left out.
 */
#ifndef AK_BACKEND_SIM_H
#define AK_BACKEND_SIM_H

#include "backend/backend.h"
#include "recording/recording.h"

extern const ak_backend_ops ak_sim_ops;

/* Returns the file in a device's name; "" for "sim" alone. */
const char *ak_sim_path(const char *device);
/* Implements `bind` of the backend (sim_task.c). */
ak_status ak_sim_bind(ak_task **out, const ak_task_spec *spec, const char *device, ak_error *err);

#endif
