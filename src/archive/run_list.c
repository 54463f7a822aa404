/* run_list.c: lists the runs of an archive that a filter matches, as JSON, newest first. */
#include <string.h>

#include "archive/config_text.h"
#include "archive/field.h"
#include "archive/overview.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/device_name.h"

typedef struct listing {
    const ak_archive_filter *filter;
    json_t *runs; /* those that match, oldest first */
    bool lost;    /* there was no memory */
} listing;

static bool same(const char *wanted, const char *text)
{
    return wanted == NULL || (text != NULL && strcmp(wanted, text) == 0);
}

static bool matches(const ak_archive_filter *filter, const ak_overview_run *run)
{
    bool sim = filter->device != NULL && strcmp(filter->device, "sim") == 0;
    return same(filter->kernel, run->kernel) && same(filter->implementation, run->implementation) &&
           (sim ? ak_device_is_recorded(run->device) : same(filter->device, run->device)) &&
           same(filter->size, run->size) && same(filter->dtype, run->dtype) &&
           same(filter->choices, run->choices) && same(filter->run, run->id);
}

static bool set_trials(json_t *object, int64_t trials, int64_t ok, double best_ms)
{
    return ak_json_set(object, "trials", json_integer(trials)) &&
           ak_json_set(object, "ok", json_integer(ok)) &&
           ak_json_set_known(object, "best_ms", best_ms);
}

static bool add_run(void *context, const ak_overview_run *run)
{
    listing *l = context;
    if (!matches(l->filter, run)) {
        return true;
    }
    json_auto_t *object = ak_overview_json(run);
    int64_t evaluated = run->has_result ? run->evaluated : 0;
    bool good =
        set_trials(object, evaluated, run->has_result ? evaluated - run->failed : 0, run->best_ms);
    l->lost = !good || json_array_append(l->runs, object) != 0;
    return !l->lost;
}

static bool note_trials(void *context, const ak_overview_trials *trials)
{
    return set_trials(context, trials->count, trials->ok, trials->best_ms);
}

/* Sets "refuted" to the sentence about the trial that refutes a run's best configuration, or to
   null. If the result names no best, "best_ms" becomes the time of the best trial that nothing
   refutes, or null. */
static ak_status add_refuted(json_t *run, ak_archive *archive, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run whole = {0};
    AK_AT_END(ak_trial_clear) ak_trial best = {0};
    AK_FREED char *line = NULL;
    json_auto_t *result = NULL;
    AK_DO(ak_archive_get_run(&whole, archive, ak_json_text_at(run, "id"), err));
    AK_DO(ak_json_parse_text(&result, whole.result_json, "result of the run", err));
    AK_DO(ak_config_text_in_result(result, err));
    AK_DO(ak_archive_refuted(&line, archive, &whole, result, err));
    if (json_object_get(result, "best") == NULL && ak_json_number_at(run, "best_ms") > 0) {
        const ak_archive_filter filter = {.run = whole.id, .ok_only = true, .simulated = true};
        ak_status status = ak_store_first(&best, archive, &filter, AK_STORE_FASTEST_RIGHT, err);
        AK_DO(status == AK_NOT_FOUND ? AK_OK : status);
        AK_DO(ak_stored(ak_json_set_known(run, "best_ms", best.median_ms), err));
    }
    return ak_stored(ak_json_set_text(run, "refuted", line), err);
}

ak_status ak_archive_runs_json(char **out_text, size_t *matched, ak_archive *archive,
                               const ak_archive_filter *filter, ak_error *err)
{
    json_auto_t *runs = json_array(), *newest = json_array();
    listing l = {.filter = filter, .runs = runs};
    AK_DO(ak_made(newest, err));
    AK_DO(ak_archive_runs_since(archive, 0, add_run, &l, err));
    AK_DO(ak_stored(!l.lost, err));
    *matched = json_array_size(runs);
    size_t count = filter->limit > 0 && filter->limit < *matched ? filter->limit : *matched;
    for (size_t i = 0; i < count; i++) {
        json_t *run = json_array_get(runs, *matched - 1 - i);
        if (!(ak_json_number_at(run, "trials") > 0)) {
            /* The run has not ended, was killed or imported, or evaluated nothing. */
            AK_DO(ak_archive_count_trials(archive, ak_json_text_at(run, "id"), note_trials, run,
                                          err));
        }
        AK_DO(add_refuted(run, archive, err));
        AK_DO(ak_stored(json_array_append(newest, run) == 0, err));
    }
    return ak_json_text(out_text, newest, err);
}
