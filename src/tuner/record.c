/* record.c: writes a run's entry in the archive: the options when it begins, the result when it
   ends. */
#include <stdlib.h>

#include "archive/overview.h"
#include "backend/sim/sim.h"
#include "tuner/elsewhere.h"
#include "tuner/run.h"

static void tell_of_archive(void *context, const char *line)
{
    ak_tuning_warn(context, line);
}

ak_status ak_tuning_defer(ak_tuning *r, ak_error *err)
{
    const ak_archive_patience patience = {
        .tell = tell_of_archive, .context = r, .cancel = r->options->cancel};
    ak_status status = r->archive == NULL ? AK_OK : ak_archive_defer(r->archive, &patience, err);
    r->deferred = status == AK_OK && r->archive != NULL;
    return status;
}

ak_status ak_tuning_settle(ak_tuning *r, ak_error *err)
{
    if (!r->deferred) {
        return AK_OK;
    }
    ak_status status = ak_archive_settle(r->archive, err);
    r->result->best.id = ak_archive_trial_id(r->archive, r->result->best.id);
    return status;
}

/* Replaces a path by the name of its file or folder: "file:/tmp/answers" becomes "file:answers". */
static bool shorten(json_t *object, const char *key)
{
    const char *path = ak_json_text_or_null(object, key);
    if (path == NULL || strchr(path, '/') == NULL) {
        return true;
    }
    AK_AT_END(ak_buf_free) ak_buf name = AK_BUF(AK_PATH_MAX);
    size_t provider = strncmp(path, "file:", 5) == 0 ? 5 : strncmp(path, "replay:", 7) == 0 ? 7 : 0;
    ak_buf_print(&name, "%.*s%s", (int)provider, path, ak_fs_base(path));
    return name.failed == AK_OK && ak_json_set_text(object, key, name.data);
}

/* Replaces each path of a list by the name of its file. */
static bool shorten_each(json_t *object, const char *key)
{
    json_t *list = json_object_get(object, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *path = json_string_value(json_array_get(list, i));
        if (json_array_set_new(list, i, json_string(ak_fs_base(path))) != 0) {
            return false;
        }
    }
    return true;
}

/* Adds the file or folder that an option names, as an absolute path after `prefix`. Adds nothing if
   `path` is NULL, does not begin with `prefix` or does not exist. */
static bool note_path(json_t *paths, const char *key, const char *prefix, const char *path)
{
    char whole[AK_PATH_MAX];
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(2 * AK_PATH_MAX);
    bool good = true;
    if (path != NULL && strncmp(path, prefix, strlen(prefix)) == 0 &&
        realpath(path + strlen(prefix), whole) != NULL) {
        ak_buf_print(&text, "%s%s", prefix, whole);
        good = text.failed == AK_OK && ak_json_set_text(paths, key, text.data);
    }
    return good;
}

/* Adds a list, of which it takes ownership, unless it is empty. NULL is a lack of memory. */
static bool set_filled(json_t *object, const char *key, json_t *list)
{
    if (list != NULL && json_array_size(list) == 0) {
        json_decref(list);
        return true;
    }
    return ak_json_set(object, key, list);
}

/* Adds the recordings from which the run learns (`like`), as absolute paths if the files exist. */
static bool note_like(json_t *paths, const ak_tune_options *options)
{
    json_t *list = json_array();
    for (size_t i = 0; i < options->like_count; i++) {
        char whole[AK_PATH_MAX];
        const char *path = options->like[i]->path;
        ak_json_add(&list, json_string(realpath(path, whole) == NULL ? path : whole));
    }
    return set_filled(paths, "like", list);
}

void ak_run_note_whereabouts(ak_archive *archive, const char *run, const ak_task *task,
                             const ak_tune_options *options)
{
    json_auto_t *paths = json_object();
    static const ak_llm_options none = {0};
    const ak_llm_options *llm = options->llm == NULL ? &none : options->llm;
    if (archive != NULL &&
        note_path(paths, "recording", "", task->recorded ? ak_sim_path(task->opens) : NULL) &&
        note_path(paths, "kernel", "", task->problem->builtin ? NULL : task->kernel) &&
        note_path(paths, "llm", "file:", llm->model) &&
        note_path(paths, "llm", "replay:", llm->model) &&
        note_path(paths, "llm_replay", "", llm->replay) &&
        note_path(paths, "llm_prices", "", llm->prices) &&
        (llm->url == NULL || ak_json_set_text(paths, "llm_url", llm->url)) &&
        note_like(paths, options)) {
        ak_archive_note_whereabouts(archive, run, paths);
    }
}

/* For a run on a recording, adds the recording, and replaces the paths of the kernel, of the files
   of the language model and of the recordings to learn from (`like`) by names of files. So the run
   gives the same bytes on every machine and discloses no path. Does nothing for other runs. */
static bool name_recording(json_t *options, const ak_task *task)
{
    return !task->recorded || (ak_json_set_text(options, "recording", ak_sim_path(task->opens)) &&
                               shorten(options, "recording") && shorten(options, "kernel") &&
                               shorten(options, "llm_replay") && shorten(options, "llm") &&
                               shorten_each(options, "like"));
}

void ak_tuning_note_workers(void *context, const ak_pool *pool)
{
    ak_tuning *r = context;
    AK_AT_END(ak_buf_free) ak_buf about = AK_BUF(4096);
    json_auto_t *list = pool == NULL ? NULL : ak_pool_workers(pool);
    AK_AT_END(ak_text_free_at) char *text = NULL;
    bool removes = pool == NULL && r->fleet[0] != 0;
    if (r->archive != NULL && r->fleet[0] == 0 && list != NULL) {
        ak_run_id(r->fleet);
    }
    ak_buf_print(&about, "%.1000s %.1000s on %.1000s", r->task->problem->name, r->task->size_text,
                 r->task->device);
    if (r->archive != NULL && about.failed == AK_OK &&
        (removes || (list != NULL && ak_json_text(&text, list, NULL) == AK_OK))) {
        const ak_overview_fleet fleet = {.id = r->fleet,
                                         .run = r->id[0] == 0 ? NULL : r->id,
                                         .about = about.data,
                                         .workers_json = text};
        ak_archive_note_fleet(r->archive, &fleet);
    }
}

/* Adds the configurations that the caller gave and the space has, as `--config` takes them. */
static bool note_first(json_t *object, const ak_task *task, const ak_tune_options *options)
{
    json_t *list = json_array();
    for (size_t i = 0; i < options->first_count; i++) {
        ak_config config;
        if (ak_config_parse(&config, task->space, options->first[i], NULL) == AK_OK) {
            ak_json_add(&list, json_string(options->first[i]));
        }
    }
    return set_filled(object, "config", list);
}

bool ak_run_note_options(json_t *object, const ak_task *task, const ak_tune_options *options)
{
    return ak_json_set_real(object, "seconds", options->seconds) &&
           ak_json_set_real(object, "target_speedup", options->target_speedup) &&
           (options->finish_seconds <= 0 || task->recorded ||
            ak_json_set_real(object, "finish_seconds", options->finish_seconds)) &&
           ak_elsewhere_record(object, options) && note_first(object, task, options) &&
           (!options->sanitize || ak_json_set(object, "sanitize", json_true())) &&
           ak_json_set(object, "resume", json_boolean(options->resume));
}

/* Returns the options of the run as JSON, which the caller frees with ak_free. */
static ak_status describe_options(char **out, const ak_tuning *r, ak_error *err)
{
    const ak_task *task = r->task;
    json_t *options = NULL;
    AK_DO(ak_task_spec_to_json(&options, task, err));
    bool good = (task->reason == NULL || ak_json_set_text(options, "reason", task->reason)) &&
                ak_json_set_text(options, "strategy", r->asked) &&
                ak_json_set_count(options, "evaluations", ak_tuning_budget(r)) &&
                ak_run_note_options(options, task, r->options) &&
                (r->advisor.model.name == NULL || ak_run_advisor_record(options, r->options)) &&
                name_recording(options, task);
    return ak_json_give_text(out, options, good, err);
}

/* Adds the run to the archive, which copies the strings. */
static ak_status add_run(const ak_tuning *r, char *started, char *options, ak_error *err)
{
    const ak_task *task = r->task;
    ak_run record = {.id = (char *)(uintptr_t)r->id,
                     .started = started,
                     .kernel = (char *)(uintptr_t)task->problem->name,
                     .implementation = (char *)(uintptr_t)task->implementation->name,
                     .device = task->device,
                     .size = task->size_text,
                     .dtype = (char *)(uintptr_t)ak_task_dtype(task),
                     .choices = task->choices_text,
                     .strategy = (char *)(uintptr_t)r->ops->name,
                     .environment = (char *)(uintptr_t)r->session.environment,
                     .environment_json = r->session.environment_json,
                     .options_json = options};
    return ak_archive_add_run(r->archive, &record, err);
}

ak_status ak_tuning_begin_record(ak_tuning *r, ak_error *err)
{
    AK_FREED char *options = NULL;
    char started[AK_CLOCK_UTC_BYTES];
    /* The run began when `seconds` began to count: before its task and its device were prepared. */
    ak_session_utc_of(started, &r->session, r->begin_ns);
    AK_DO(describe_options(&options, r, err));
    AK_DO(ak_session_run_id(r->id, &r->session, options, r->archive, err));
    AK_DO(ak_copy_text(&r->result->run, r->id, err));
    AK_DO(r->archive == NULL ? AK_OK : add_run(r, started, options, err));
    ak_run_note_whereabouts(r->archive, r->id, r->task, r->options);
    ak_session_keep_sources(r->task, r->archive);
    return AK_OK;
}

/* Prints the result with the id that its best trial has in the archive. A trial that waits for the
   archive has no id yet, so *r->result keeps a provisional id until the archive has settled. */
static ak_status print_result(char **out, const ak_tuning *r, ak_error *err)
{
    ak_tune_result shown = *r->result; /* borrows the strings of the result */
    if (r->archive != NULL) {
        ak_archive_retry(r->archive);
        shown.best.id = ak_archive_trial_id(r->archive, shown.best.id);
    }
    return ak_tune_result_json(out, &shown, r->task, err);
}

ak_status ak_tuning_end_record(ak_tuning *r, ak_error *err)
{
    AK_FREED char *json = NULL;
    char ended[AK_CLOCK_UTC_BYTES];
    json_t *fields = NULL;
    ak_session_utc(ended, &r->session);
    r->result->seconds = (double)(ak_session_now_ns(&r->session) - r->begin_ns) / 1e9;
    AK_DO(print_result(&json, r, err));
    AK_DO(r->archive == NULL ? AK_OK : ak_archive_end_run(r->archive, r->id, ended, json, err));
    if (ak_json_parse(&fields, json, strlen(json), "result", NULL) == AK_OK) {
        ak_event_send(&r->events, "end", fields);
    }
    return AK_OK;
}
