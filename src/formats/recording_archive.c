/* recording_archive.c: reads an archive as a recording, in three passes: the first finds the task
   and the environment of the latest trial, the second which configurations a trial of that
   environment refutes, and the third reads the trials of this environment, except those that passed
   with such a configuration. */
#include "formats/draft.h"

#include "archive/config_text.h"

typedef struct reader {
    ak_draft *draft;
    ak_trial first; /* the earliest trial; all others must have its task */
    char *environment;
    size_t seen;
    ak_map *refuted; /* the configurations that a trial refutes: their times do not count */
} reader;

static void reader_clear(reader *r)
{
    ak_map_free(r->refuted);
    ak_trial_clear(&r->first);
    ak_free(r->environment);
}

/* Returns whether a trial belongs to r->environment. Unless that is "", the filter has selected
   such trials already. */
static bool is_of(const reader *r, const ak_trial *trial)
{
    return r->environment[0] != 0 || trial->environment == NULL;
}

static ak_status note_refuted(void *context, const ak_trial *trial, ak_error *err)
{
    reader *r = context;
    return is_of(r, trial) && ak_trial_refutes(trial)
               ? ak_map_put(r->refuted, trial->config, 0, err)
               : AK_OK;
}

static ak_status look(void *context, const ak_trial *trial, ak_error *err)
{
    reader *r = context;
    if (r->seen++ == 0) {
        AK_DO(ak_trial_copy(&r->first, trial, err));
    }
    AK_FAIL_IF(ak_trial_task_difference(&r->first, trial) != NULL, err, AK_INVALID,
               "%.240s holds trials of several tasks, but a recording has only one; "
               "export one of them: autokernel export KERNEL --size .. --format "
               "kernel-tuner --output FILE",
               r->draft->where);
    return ak_draft_text(&r->environment, trial->environment, err);
}

static ak_status take(void *context, const ak_trial *trial, ak_error *err)
{
    reader *r = context;
    json_auto_t *config = NULL;
    char where[512];
    if (!is_of(r, trial) ||
        (trial->status == AK_TRIAL_OK && ak_map_get(NULL, r->refuted, trial->config))) {
        return AK_OK;
    }
    (void)snprintf(where, sizeof where, "%.400s: trial %lld", r->draft->where,
                   (long long)trial->id);
    ak_record record = {.status = trial->status,
                        .value = trial->median_ms,
                        .joules = trial->joules,
                        .seconds = ((double)trial->compile_ns + (double)trial->measure_ns +
                                    (double)trial->overhead_ns + (double)trial->propose_ns +
                                    (double)trial->check_ns) /
                                   1e9};
    AK_DO(ak_config_text_to_json(&config, trial->config, where, err));
    return ak_draft_add(r->draft, config, &record, where, err);
}

ak_status ak_recording_read_archive(ak_draft *draft, const char *path, ak_error *err)
{
    AK_AT_END(reader_clear) reader r = {.draft = draft, .refuted = ak_map_new()};
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    ak_archive_filter all = {0};
    AK_DO(ak_made(r.refuted, err));
    AK_DO(ak_archive_open_copy(&archive, path, err));
    AK_DO(ak_archive_take(archive, &all, look, &r, err));
    /* The archive may hold only searches on a recording. */
    if (r.first.kernel == NULL) {
        all.simulated = true;
        AK_DO(ak_archive_take(archive, &all, look, &r, err));
    }
    for (const char *const *name = ak_task_texts; *name != NULL; name++) {
        AK_DO(ak_draft_text(ak_draft_member(draft, *name), *ak_trial_text(&r.first, *name), err));
    }
    AK_DO(ak_draft_objective(draft, "time", err));
    all.device = r.first.device;
    all.environment = r.environment == NULL || r.environment[0] == 0 ? NULL : r.environment;
    AK_DO(ak_archive_take(archive, &all, note_refuted, &r, err));
    return ak_archive_take(archive, &all, take, &r, err);
}
