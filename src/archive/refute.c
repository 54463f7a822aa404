/* refute.c: adds a failed check of a configuration to the archive if the archive has successful
   trials of that configuration, so that these are neither taken for the best (best.c) nor exported;
   and tells which results are refuted. */
#include "archive/archive.h"

#include <string.h>

#include "archive/config_text.h"
#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/text.h"

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
    AK_FAIL_IF(*out && archive->copied, err, AK_IO, "%.200s is not writable", archive->path);
    return *out ? ak_archive_add_trial(archive, trial, err) : AK_OK;
}

/* Length in bytes to which ak_stage_say cuts the size in a trial's reason. */
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
    AK_FAIL_IF(
        ak_trial_refutes(trial) && is_at_own_size(trial), err, AK_INVALID,
        "%.160s is not exported: trial #%lld of it ended as %s at %.160s; tune this size again",
        ak_or_empty(trial->config), (long long)trial->id, ak_trial_status_text(trial->status),
        ak_or_empty(trial->size));
    return AK_OK;
}

ak_status ak_archive_refuse_refuted(ak_archive *archive, const ak_archive_filter *config,
                                    ak_error *err)
{
    return ak_archive_take(archive, config, refuse, NULL, err);
}

/* A search for the first trial that refutes a configuration. */
typedef struct refuting {
    char **line; /* receives the sentence about it, for ak_free */
    const char *at;
    ak_status status;
    ak_error *err;
} refuting;

static bool find_refuting(void *context, const ak_trial *trial)
{
    refuting *r = context;
    char line[700];
    if (!ak_trial_refutes(trial)) {
        return true;
    }
    (void)snprintf(line, sizeof line,
                   "a check refuted the best configuration%s%.160s, which 'best' and 'export' "
                   "therefore do not give: trial #%lld ended as %s: %.400s",
                   r->at[0] == 0 ? "" : " at ", r->at, (long long)trial->id,
                   ak_trial_status_text(trial->status), ak_or_empty(trial->reason));
    *r->line = ak_strdup(line);
    r->status = ak_made(*r->line, r->err);
    return false;
}

/* Sets *out to the sentence of ak_archive_refuted for `config` at `size`, or to NULL. The sentence
   names the size `at` unless that is empty. */
static ak_status refuted_at(char **out, ak_archive *archive, const ak_run *run, const char *config,
                            const char *size, const char *at, ak_error *err)
{
    ak_archive_filter filter = ak_run_filter(run);
    refuting r = {.line = out, .at = at, .err = err};
    *out = NULL;
    filter.size = size;
    filter.config = config;
    AK_DO(ak_archive_each(archive, &filter, find_refuting, &r, err));
    return r.status;
}

ak_status ak_archive_refuted(char **out, ak_archive *archive, const ak_run *run,
                             const json_t *result, ak_error *err)
{
    const char *config = ak_json_text_or_null(json_object_get(result, "best"), "config");
    *out = NULL;
    return config == NULL ? AK_OK : refuted_at(out, archive, run, config, run->size, "", err);
}

static ak_status add_warning(json_t *list, char *line, ak_error *err)
{
    return line == NULL ? AK_OK : ak_stored(ak_json_append(list, ak_json_shown(line)), err);
}

/* Adds a warning for each size at which a trial refutes the winner of a run over many sizes. */
static ak_status warn_of_sizes(json_t *list, ak_archive *archive, const ak_run *run,
                               const json_t *result, ak_error *err)
{
    const json_t *configs = json_object_get(result, "configs");
    AK_EACH(one, json_object_get(result, "sizes")) {
        AK_FREED char *config = NULL, *line = NULL;
        const char *size = ak_json_text_or_null(one, "size");
        const json_t *winner = json_object_get(one, "winner");
        const json_t *values = json_array_get(configs, (size_t)json_integer_value(winner));
        if (size != NULL && json_is_integer(winner) && json_is_object(values)) {
            AK_DO(ak_config_text_from_json(&config, values, NULL, "result: configuration", err));
            AK_DO(refuted_at(&line, archive, run, config, size, size, err));
            AK_DO(add_warning(list, line, err));
        }
    }
    return AK_OK;
}

ak_status ak_archive_warn_refuted(json_t *result, ak_archive *archive, const ak_run *run,
                                  ak_error *err)
{
    AK_FREED char *line = NULL;
    json_auto_t *list = json_incref(json_object_get(result, "warnings"));
    if (list == NULL) {
        list = json_array();
    }
    AK_DO(ak_made(list, err));
    AK_DO(ak_archive_refuted(&line, archive, run, result, err));
    AK_DO(add_warning(list, line, err));
    AK_DO(warn_of_sizes(list, archive, run, result, err));
    return json_array_size(list) == 0
               ? AK_OK
               : ak_stored(json_object_set(result, "warnings", list) == 0, err);
}
