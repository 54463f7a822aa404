/* refute.c: notes in the archive that a configuration which has results there failed a later check,
   so that no result of it is taken for the best (best.c). */
#include "archive/archive.h"

#include "archive/field.h"
#include "archive/store.h"

ak_status ak_archive_refute(bool *out, ak_archive *archive, ak_trial *trial, ak_error *err)
{
    ak_trial result = {0};
    const ak_archive_filter same = {.kernel = trial->kernel,
                                    .implementation = trial->implementation,
                                    .device = trial->device,
                                    .size = trial->size,
                                    .dtype = trial->dtype,
                                    .choices = trial->choices,
                                    .environment = trial->environment,
                                    .config = trial->config,
                                    .ok_only = true};
    *out = false;
    AK_DO(ak_trial_set_text(&trial->strategy, AK_FINALISTS, err));
    if (!ak_trial_refutes(trial)) {
        return AK_OK;
    }
    AK_DO(ak_archive_first(out, &result, archive, &same, err));
    ak_trial_clear(&result);
    if (*out && archive->copied) {
        return ak_fail(err, AK_IO, "%.200s is not writable", archive->path);
    }
    return *out ? ak_archive_add_trial(archive, trial, err) : AK_OK;
}
