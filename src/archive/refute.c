/* refute.c: notes in the archive that a configuration which has results there failed a later check,
   so that no result of it is taken for the best (best.c) or exported. */
#include "archive/archive.h"

#include <string.h>

#include "archive/field.h"
#include "archive/store.h"

ak_status ak_archive_refute(bool *out, ak_archive *archive, ak_trial *trial, ak_error *err)
{
    ak_trial result = {0};
    ak_archive_filter same = ak_trial_filter(trial);
    same.ok_only = true;
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

/* Limit for the size in the reason of a trial, in bytes (ak_stage_say). */
#define SIZE_BYTES 63

/* Returns whether a trial failed at its own size: its reason names this size ("at N=1: ...") or
   none, because the candidate ended before it was judged. */
static bool is_at_own_size(const ak_trial *trial)
{
    const char *reason = ak_or_empty(trial->reason), *size = ak_or_empty(trial->size);
    const size_t length = strncmp(reason, "at ", 3) == 0 ? strcspn(reason + 3, ": ") : 0;
    return length == 0 ||
           (strncmp(reason + 3, size, length) == 0 && (size[length] == 0 || length == SIZE_BYTES));
}

static ak_status refuse(void *context, const ak_trial *trial, ak_error *err)
{
    (void)context;
    return !ak_trial_refutes(trial) || !is_at_own_size(trial)
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "%.160s is not exported: trial #%lld of it ended as %s at %.160s; tune "
                         "this size again",
                         ak_or_empty(trial->config), (long long)trial->id,
                         ak_trial_status_text(trial->status), ak_or_empty(trial->size));
}

ak_status ak_archive_refuse_refuted(ak_archive *archive, const ak_archive_filter *config,
                                    ak_error *err)
{
    return ak_archive_take(archive, config, refuse, NULL, err);
}

/* Appends the trial to a list of warnings if it refutes its configuration. The first is enough. */
static bool warn(void *context, const ak_trial *trial)
{
    char line[700];
    if (!ak_trial_refutes(trial)) {
        return true;
    }
    (void)snprintf(line, sizeof line,
                   "a check refuted the best configuration, which 'best' and 'export' therefore do "
                   "not give: trial #%lld ended as %s: %.400s",
                   (long long)trial->id, ak_trial_status_text(trial->status),
                   ak_or_empty(trial->reason));
    ak_json_add(context, ak_json_shown(line));
    return false;
}

ak_status ak_archive_warn_refuted(json_t *result, ak_archive *archive, const ak_run *run,
                                  const char *best, ak_error *err)
{
    ak_archive_filter config = ak_run_filter(run);
    config.config = best;
    json_auto_t *list = json_incref(json_object_get(result, "warnings"));
    list = list == NULL ? json_array() : list;
    ak_status status = ak_archive_each(archive, &config, warn, &list, err);
    status = status == AK_OK && list == NULL ? ak_fail_memory(err) : status;
    if (status == AK_OK && json_array_size(list) > 0) {
        status = ak_stored(json_object_set(result, "warnings", list) == 0, err);
    }
    return status;
}
