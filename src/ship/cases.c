/* cases.c: finds in the archive the trials to ship, and opens their tasks. */
#include "ship/bundle.h"

#include <string.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "formats/format.h"

static ak_status new_case(ak_bundle_case **out, ak_bundle_build *b, ak_error *err)
{
    AK_DO(AK_GROW(b->cases, &b->case_capacity, b->case_count + 1, err));
    b->cases[b->case_count] = (ak_bundle_case){.variant = 0};
    *out = &b->cases[b->case_count++];
    return AK_OK;
}

/* Sets the time of the search if the trial has none: without a finish, the trial's time is the
   search's. */
static void know_search(ak_trial *trial)
{
    if (trial->search_ms <= 0) {
        trial->search_ms = trial->median_ms;
        trial->search_clock_mhz = trial->sm_clock_mhz;
    }
}

/* Drops a code hash that was made before these were SHA-256, because the code that is shipped has
   no such hash to compare it with. */
static void forget_former_hash(ak_bundle_case *one)
{
    ak_trial *trial = &one->trial;
    if (trial->code_hash != NULL && ak_hash_is_quick(trial->code_hash)) {
        ak_free(trial->code_hash);
        trial->code_hash = NULL;
        one->former_hash = true;
    }
}

/* Checks that the filter of the request (the kernel and the options) selects the trial that the
   request names by its number. */
static ak_status check_selected(const ak_bundle_build *b, const ak_bundle_request *request,
                                const ak_trial *trial, ak_error *err)
{
    size_t count = 0;
    ak_archive_filter filter = *request->filter;
    filter.id = request->trial;
    AK_DO(ak_archive_count(&count, NULL, b->archive, &filter, err));
    AK_FAIL_IF(count <= 0, err, AK_INVALID,
               "trial #%lld is of %.60s %.160s in %s on %.60s, which the kernel or the options "
               "named here do not select",
               (long long)request->trial, trial->kernel, trial->size, trial->dtype, trial->device);
    return AK_OK;
}

/* Gives the trial that `same` selects the time of the latest finish that measured its
   configuration, if there is one. */
static ak_status take_finish(ak_bundle_case *one, ak_bundle_build *b, ak_archive_filter *same,
                             ak_error *err)
{
    ak_trial finished = {0};
    ak_error why = AK_ERROR_INIT;
    same->id = one->trial.id;
    const ak_status status = ak_archive_best(&finished, b->archive, same, &why);
    if (status == AK_OK) {
        ak_trial_clear(&one->trial);
        AK_GIVE(&one->trial, finished);
    }
    return status == AK_OK || status == AK_NOT_FOUND ? AK_OK : ak_fail(err, status, "%s", why.text);
}

static ak_status take_one(ak_bundle_build *b, const ak_bundle_request *request, ak_error *err)
{
    ak_bundle_case *one;
    AK_DO(new_case(&one, b, err));
    if (request->trial == 0) {
        AK_DO(ak_archive_best(&one->trial, b->archive, request->filter, err));
        forget_former_hash(one);
        know_search(&one->trial);
        return AK_OK;
    }
    bool found;
    const ak_archive_filter filter = {.id = request->trial};
    AK_DO(ak_archive_first(&found, &one->trial, b->archive, &filter, err));
    AK_FAIL_IF(!found, err, AK_NOT_FOUND, "%.200s has no trial #%lld", ak_archive_path(b->archive),
               (long long)request->trial);
    AK_DO(check_selected(b, request, &one->trial, err));
    AK_FAIL_IF(one->trial.status != AK_TRIAL_OK, err, AK_INVALID,
               "trial #%lld ended as %s: only what worked can be shipped",
               (long long)request->trial, ak_trial_status_text(one->trial.status));
    ak_archive_filter same = ak_trial_filter(&one->trial);
    AK_DO(ak_archive_refuse_refuted(b->archive, &same, err));
    AK_DO(take_finish(one, b, &same, err));
    forget_former_hash(one);
    know_search(&one->trial);
    return AK_OK;
}

/* ---- a dispatch table ------------------------------------------------------------------------ */

/* Makes a trial from the entry of the table, for a size at which the configuration has no trial of
   its own. */
static ak_status trial_of_table(ak_trial *out, const ak_archive_filter *like, const ak_run *run,
                                ak_error *err)
{
    AK_DO(ak_trial_set_text(&out->kernel, like->kernel, err));
    AK_DO(ak_trial_set_text(&out->implementation, like->implementation, err));
    AK_DO(ak_trial_set_text(&out->device, like->device, err));
    AK_DO(ak_trial_set_text(&out->size, like->size, err));
    AK_DO(ak_trial_set_text(&out->dtype, like->dtype, err));
    AK_DO(ak_trial_set_text(&out->choices, like->choices, err));
    AK_DO(ak_trial_set_text(&out->config, like->config, err));
    AK_DO(ak_trial_set_text(&out->environment, like->environment, err));
    AK_DO(ak_trial_set_text(&out->run, run->id, err));
    return ak_trial_set_text(&out->timestamp, run->ended, err);
}

/* Replaces the trial's time, the fastest that a search measured, by the table's time, which comes
   from a comparison. The clock, power and temperature during that comparison are not known. With
   another objective than time, the loss says nothing about the time, so the trial's time stays. */
static void take_time(ak_trial *trial, const char *choices, const json_t *entry)
{
    char objective[AK_OBJECTIVE_NAME_BYTES];
    double best = ak_json_number_at(entry, "best_ms"), loss = ak_json_number_at(entry, "loss");
    double ms = best * (loss > 0 ? loss : 1);
    if (strcmp(ak_choices_objective(objective, choices), "time") == 0 && ms > 0) {
        /* 0 without a trial; then the figures below are 0, too. */
        double faster = trial->median_ms / ms;
        bool sampled = trial->sample_count > 0; /* else the time was archived with the table */
        trial->search_ms = sampled ? trial->median_ms : 0;
        trial->search_clock_mhz = sampled ? trial->sm_clock_mhz : 0;
        trial->tflops *= faster;
        trial->gbs *= faster;
        trial->efficiency *= faster;
        trial->median_ms = ms;
        trial->ci_low_ms = trial->ci_high_ms = trial->sm_clock_mhz = trial->finish_seconds = 0;
        if (ms == best) {
            trial->ci_low_ms = ak_json_number_in(entry, "best_ci_ms", 0);
            trial->ci_high_ms = ak_json_number_in(entry, "best_ci_ms", 1);
        }
    }
}

/* Writes {"M": 64, "N": 32} as "M=64,N=32", to be freed with ak_free. */
static ak_status size_text(char **out, const json_t *entry, ak_error *err)
{
    const json_t *size = json_object_get(entry, "size");
    return json_is_object(size)
               ? ak_config_text_from_json(out, size, NULL, "dispatch table: size", err)
               : ak_fail(err, AK_CORRUPT, "dispatch table: a size is missing");
}

static ak_status take_entry(ak_bundle_build *b, const json_t *file, json_t *entry,
                            const ak_run *run, ak_error *err)
{
    AK_FREED char *size = NULL, *config = NULL;
    bool found = false;
    ak_bundle_case *one;
    const json_t *configs = json_object_get(file, "configs");
    const json_t *chosen =
        json_array_get(configs, (size_t)json_integer_value(json_object_get(entry, "config")));
    AK_DO(chosen == NULL ? ak_fail(err, AK_CORRUPT, "dispatch table: no configuration") : AK_OK);
    AK_DO(size_text(&size, entry, err));
    AK_DO(ak_config_text_from_json(&config, chosen, NULL, "dispatch table: config", err));
    AK_DO(new_case(&one, b, err));
    const ak_archive_filter filter = {.kernel = ak_json_text_at(file, "kernel"),
                                      .implementation = ak_json_text_at(file, "implementation"),
                                      .device = ak_json_text_at(file, "device"),
                                      .size = size,
                                      .dtype = ak_json_text_at(file, "dtype"),
                                      .choices = run->choices,
                                      .environment = run->environment,
                                      .config = config,
                                      .ok_only = true,
                                      .best_first = true};
    one->table = json_incref(entry);
    AK_DO(ak_archive_first(&found, &one->trial, b->archive, &filter, err));
    AK_DO(found ? AK_OK : trial_of_table(&one->trial, &filter, run, err));
    forget_former_hash(one);
    take_time(&one->trial, filter.choices, entry);
    return AK_OK;
}

static ak_status take_table(ak_bundle_build *b, const ak_bundle_request *request, ak_error *err)
{
    json_auto_t *file = NULL;
    AK_AT_END(ak_run_clear) ak_run run = {0};
    AK_DO(ak_format_dispatch_table(&file, b->archive, request->filter, err));
    AK_DO(ak_archive_get_run(&run, b->archive, ak_json_text_at(file, "run"), err));
    const json_t *sizes = json_object_get(file, "sizes");
    b->warnings = json_incref(json_object_get(file, "warnings"));
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        AK_DO(take_entry(b, file, json_array_get(sizes, i), &run, err));
    }
    AK_DO(ak_copy_text(&b->created, run.ended == NULL ? run.started : run.ended, err));
    return b->case_count == 0 ? ak_fail(err, AK_CORRUPT, "dispatch table: it has no sizes") : AK_OK;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* Returns whether the task has the kernel and the sources that the trial was measured with. If the
   bundle's environment does not state the sources, any sources pass. */
static bool is_same(const ak_bundle_build *b, const ak_task *task, const ak_trial *trial)
{
    const char *then = ak_json_text_or_null(b->environment, "source");
    bool same = then == NULL;
    return strcmp(task->problem->name, trial->kernel) == 0 &&
           (same ||
            (ak_sources_are(&same, then, task->problem, task->implementation, NULL) == AK_OK &&
             same));
}

/* Opens the kernel as it was at the time of the trial. Returns AK_NOT_FOUND if the archive did not
   keep it. */
static ak_status open_kept(ak_task **out, ak_bundle_build *b, const ak_task_spec *spec,
                           const ak_trial *trial, ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_AT_END(ak_pack_clear) ak_pack sources = {0};
    ak_task_spec then = *spec;
    const char *hash = ak_json_text_or_null(b->environment, "source");
    AK_DO(hash == NULL ? AK_NOT_FOUND : ak_archive_get_sources(&sources, b->archive, hash, err));
    AK_DO(b->kept.path[0] == 0 ? ak_fs_owned_open(&b->kept, err) : AK_OK);
    AK_DO(ak_pack_write(&sources, b->kept.path, err));
    AK_DO(ak_fs_join(path, b->kept.path, trial->kernel, err));
    then.kernel = path;
    then.kept = true;
    AK_DO(ak_task_open(out, &then, err));
    if (!is_same(b, *out, trial)) {
        ak_task_close(*out);
        *out = NULL;
        return ak_fail(err, AK_CORRUPT,
                       "%.200s: what the archive kept of %.100s is not what was measured: it was "
                       "exchanged, or files outside of the kernel's folder have changed; tune "
                       "the kernel again",
                       ak_archive_path(b->archive), trial->kernel);
    }
    return AK_OK;
}

static ak_status open_task(ak_bundle_case *one, ak_bundle_build *b, const ak_task_spec *spec,
                           ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_task_open(&one->task, spec, err);
    if (status == AK_OK && (one->task->recorded || is_same(b, one->task, &one->trial))) {
        return AK_OK;
    }
    ak_task_close(one->task);
    one->task = NULL;
    ak_status kept = open_kept(&one->task, b, spec, &one->trial, &why);
    if (kept != AK_NOT_FOUND) {
        (void)ak_fail_unpacked(&why, kept, b->kept.path, "the kernel as it was measured");
        return kept == AK_OK ? AK_OK : ak_fail(err, kept, "%s", why.text);
    }
    return status != AK_OK
               ? status
               : ak_fail(err, AK_INVALID,
                         "%.100s has changed since %s was measured, or is another kernel, and the "
                         "archive did not keep its sources: tune it again",
                         b->kernel, one->trial.id > 0 ? "this configuration" : "the table");
}

static ak_status open_case(ak_bundle_build *b, ak_bundle_case *one, ak_error *err)
{
    const ak_trial *trial = &one->trial;
    const ak_task_spec spec = {
        .kernel = b->kernel,
        .implementation = trial->implementation,
        .device = trial->device,
        .size = trial->size,
        .dtype = trial->dtype,
        .choices = trial->choices,
        .fix = b->fix,
        .allow_numerics = json_is_true(json_object_get(b->environment, "numerics")),
        .threads = (int)json_integer_value(json_object_get(b->environment, "threads")),
    };
    AK_DO(open_task(one, b, &spec, err));
    AK_FAIL_IF(
        one->task == NULL || one->task->recorded, err, AK_INVALID,
        "%s is a recording, on which nothing is compiled: tune on a device to ship the result",
        trial->device);
    AK_DO(ak_problem_runnable(one->task->problem, err));
    AK_DO(ak_config_parse(&one->config, one->task->space, trial->config, err));
    return ak_task_workspace(&one->workspace_bytes, &one->threads, one->task, &one->task->shape,
                             &one->config, err);
}

/* Finds the --fix with which the run of the first trial was started. A run that was imported or
   removed has none. */
static ak_status take_fix(ak_bundle_build *b, ak_error *err)
{
    const char *id = b->cases[0].trial.run;
    json_auto_t *options = NULL;
    AK_AT_END(ak_run_clear) ak_run run = {0};
    ak_status status = id == NULL ? AK_NOT_FOUND : ak_archive_get_run(&run, b->archive, id, NULL);
    if (status != AK_OK) {
        return status == AK_NOT_FOUND ? AK_OK
                                      : ak_fail(err, status, "run %.60s cannot be read", id);
    }
    if (ak_json_parse_text(&options, run.options_json, "options", NULL) == AK_OK) {
        status = ak_trial_set_text(&b->fix, ak_json_text_or_null(options, "fix"), err);
    }
    return status;
}

/* Dates the bundle by its latest measurement or, if later, the end of its table's run, and not by
   the clock, so that equal inputs give equal bytes. */
static ak_status date(ak_bundle_build *b, ak_error *err)
{
    for (size_t i = 0; i < b->case_count; i++) {
        const char *at = b->cases[i].trial.timestamp;
        if (at != NULL && (b->created == NULL || strcmp(at, b->created) > 0)) {
            AK_DO(ak_trial_set_text(&b->created, at, err));
        }
    }
    return AK_OK;
}

ak_status ak_bundle_cases(ak_bundle_build *b, const ak_bundle_request *request, ak_error *err)
{
    AK_DO(request->table ? take_table(b, request, err) : take_one(b, request, err));
    AK_DO(date(b, err));
    AK_DO(take_fix(b, err));
    AK_DO(ak_format_environment(&b->environment, b->archive, b->cases[0].trial.environment, err));
    for (size_t i = 0; i < b->case_count; i++) {
        AK_DO(open_case(b, &b->cases[i], err));
    }
    return AK_OK;
}
