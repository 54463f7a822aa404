/* earlier.c: finds the result of an earlier run. The archive keeps the result of a run as the JSON
 * that was printed. */

#include "archive/config_text.h"
#include "tuner/session.h"

/* Returns whether the run searched the same part of the space (--fix) and, with `sanitize`, was
   asked to run sanitizers. */
static bool same_part(const json_t *options, const ak_task *task, bool sanitize)
{
    const char *fix = ak_json_text_or_null(options, "fix");
    if (sanitize && !json_is_true(json_object_get(options, "sanitize"))) {
        return false;
    }
    return fix == NULL || task->fix == NULL ? fix == task->fix : strcmp(fix, task->fix) == 0;
}

static bool had_no_more(const json_t *result)
{
    const char *why = ak_json_text_or_null(result, "stopped_by");
    return why != NULL && (strcmp(why, "exhausted") == 0 || strcmp(why, "converged") == 0);
}

/* Copies a configuration's text from the result. *out is NULL if there is none, as for a library,
   or if the space does not have this configuration. */
static ak_status take_config(char **out, const json_t *of, const ak_task *task, ak_error *err)
{
    ak_config config;
    const char *text = ak_json_text_or_null(of, "config");
    *out = NULL;
    if (text == NULL || ak_config_parse(&config, task->space, text, NULL) != AK_OK) {
        return AK_OK;
    }
    return ak_copy_text(out, text, err);
}

static ak_status take_candidates(ak_tune_result *out, const json_t *list, const ak_task *task,
                                 ak_error *err)
{
    size_t count = json_array_size(list);
    if (count == 0) {
        return AK_OK;
    }
    AK_DO(AK_NEW(out->candidates, count, err));
    out->candidate_count = out->baseline = count;
    for (size_t i = 0; i < count; i++) {
        AK_DO(take_config(&out->candidates[i].config, json_array_get(list, i), task, err));
    }
    return AK_OK;
}

/* Reads a run's result. If that does not qualify (ak_earlier_result), out->found stays false. */
static ak_status take(ak_tune_result *out, const ak_run *run, json_t *result, const ak_task *task,
                      size_t evaluations, ak_error *err)
{
    size_t tried = (size_t)json_integer_value(json_object_get(result, "evaluated")) +
                   (size_t)json_integer_value(json_object_get(result, "resumed"));
    const json_t *best = json_object_get(result, "best");
    AK_AT_END(ak_tune_result_clear)
    ak_tune_result found = {.resumed = tried, .stopped_by = "resumed"};
    if (!json_is_object(best) || (tried < evaluations && !had_no_more(result))) {
        return AK_OK;
    }
    AK_DO(ak_config_text_in_result(result, err));
    AK_DO(take_config(&found.best.config, best, task, err));
    if (found.best.config == NULL) {
        return AK_OK;
    }
    found.found = true;
    AK_DO(ak_copy_text(&found.run, run->id, err));
    AK_DO(take_candidates(&found, json_object_get(result, "contestants"), task, err));
    AK_GIVE(out, found);
    return AK_OK;
}

/* ---- refuted configurations ------------------------------------------------------------------ */

static bool find_refuted(void *context, const ak_trial *trial)
{
    bool *refuted = context;
    *refuted = ak_trial_refutes(trial);
    return !*refuted;
}

/* Frees *config (may be NULL) and sets it to NULL if a trial of the run's task refutes it. */
static ak_status forget_refuted(char **config, ak_archive *archive, const ak_run *run,
                                ak_error *err)
{
    bool refuted = false;
    if (*config == NULL) {
        return AK_OK;
    }
    const ak_archive_filter filter = {.kernel = run->kernel,
                                      .implementation = run->implementation,
                                      .size = run->size,
                                      .dtype = run->dtype,
                                      .choices = run->choices,
                                      .environment = run->environment,
                                      .config = *config};
    AK_DO(ak_archive_each(archive, &filter, find_refuted, &refuted, err));
    if (refuted) {
        ak_free(*config);
        *config = NULL;
    }
    return AK_OK;
}

/* Removes refuted configurations from a result. If its best is refuted, out->found becomes
   false. */
static ak_status drop_refuted(ak_tune_result *out, ak_archive *archive, const ak_run *run,
                              ak_error *err)
{
    AK_DO(forget_refuted(&out->best.config, archive, run, err));
    out->found = out->found && out->best.config != NULL;
    for (size_t i = 0; i < out->candidate_count; i++) {
        AK_DO(forget_refuted(&out->candidates[i].config, archive, run, err));
    }
    return AK_OK;
}

/* What is looked for. */
typedef struct wanted {
    const ak_task *task;
    ak_archive *archive;
    const ak_run *like; /* the task's kernel, size, environment and the like */
    size_t evaluations;
    bool sanitize;
} wanted;

/* Reads the run that ended before `later` others of the task. If it qualifies, *done becomes true,
   and *out gets its result without what was refuted since. *done also becomes true if there is no
   such run. */
static ak_status read_run(ak_tune_result *out, bool *done, const wanted *w, size_t later,
                          ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run run = {0};
    json_auto_t *result = NULL, *options = NULL;
    bool there = false;
    AK_DO(ak_archive_ended_run(&there, &run, w->archive, w->like, later, err));
    *done = !there;
    if (!there) {
        return AK_OK;
    }
    const char *text = run.options_json == NULL ? "{}" : run.options_json;
    AK_DO(ak_json_parse(&result, run.result_json, strlen(run.result_json), "result of a run", err));
    AK_DO(ak_json_parse(&options, text, strlen(text), "options of a run", err));
    if (!same_part(options, w->task, w->sanitize)) {
        return AK_OK;
    }
    AK_DO(take(out, &run, result, w->task, w->evaluations, err));
    *done = out->found;
    return out->found ? drop_refuted(out, w->archive, &run, err) : AK_OK;
}

ak_status ak_earlier_result(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                            size_t evaluations, bool sanitize, ak_error *err)
{
    AK_FREED char *words = NULL;
    char hash[AK_ENVIRONMENT_BYTES];
    bool done = false;
    AK_DO(ak_session_environment(hash, &words, task, err));
    ak_session_rename(task, archive, hash, words);
    const ak_run like = {.kernel = (char *)(uintptr_t)task->problem->name,
                         .implementation = (char *)(uintptr_t)task->implementation->name,
                         .size = task->size_text,
                         .dtype = (char *)(uintptr_t)ak_task_dtype(task),
                         .choices = task->choices_text,
                         .environment = hash};
    const wanted w = {task, archive, &like, evaluations, sanitize};
    for (size_t later = 0; !done; later++) {
        AK_DO(read_run(out, &done, &w, later, err));
    }
    if (!out->found) {
        ak_tune_result_clear(out);
    }
    return AK_OK;
}
