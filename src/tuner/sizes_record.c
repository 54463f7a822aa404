/* sizes_record.c: writes the archive entry of a run over many sizes and sends its events. */
#include "tuner/run.h"
#include "tuner/result.h"
#include "tuner/sizes_run.h"

void ak_many_announce(const ak_many *m)
{
    json_t *sizes = json_array(), *fields = json_object();
    for (size_t i = 0; i < m->result->size_count; i++) {
        ak_json_add(&sizes, json_string(m->result->sizes[i].size));
    }
    (void)(sizes != NULL && ak_json_set_text(fields, "kernel", m->result->kernel) &&
           ak_json_set(fields, "sizes", json_incref(sizes)) &&
           ak_json_set_count(fields, "table", m->request->table));
    json_decref(sizes);
    ak_event_send(&m->events, "sizes", fields);
}

void ak_many_announce_phase(const ak_many *m, const char *name, size_t size)
{
    json_t *fields = json_object();
    (void)(ak_json_set_text(fields, "name", name) &&
           ak_json_set_text(fields, "size", m->result->sizes[size].size) &&
           ak_json_set_count(fields, "n", size + 1) &&
           ak_json_set_count(fields, "of", m->result->size_count));
    ak_event_send(&m->events, "phase", fields);
}

static ak_status keep_warning(ak_many *m, size_t size, const char *warning, ak_error *err)
{
    ak_sizes_result *result = m->result;
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4096);
    ak_event_send(&m->events, "warning", json_pack("{s:s}", "text", warning));
    ak_buf_print(&text, "%s: %s", result->sizes[size].size, warning);
    AK_DO(ak_buf_status(&text, err));
    ak_status status = ak_warn_text(&m->warnings, text.data, err);
    result->warnings = m->warnings.texts;
    result->warning_count = m->warnings.count;
    return status;
}

ak_status ak_many_warn(ak_many *m, size_t size, const ak_comparison_result *comparison,
                       ak_error *err)
{
    AK_AT_END(ak_warnings_free) ak_warnings warnings = {0};
    AK_DO(ak_warn_comparison(&warnings, &comparison->noise, comparison->list, comparison->count,
                             err));
    for (size_t i = 0; i < warnings.count; i++) {
        AK_DO(keep_warning(m, size, warnings.texts[i], err));
    }
    return AK_OK;
}

/* Returns the options of the run as JSON, which the caller frees with ak_free. */
static ak_status describe_options(char **out, const ak_many *m, const char *sizes, ak_error *err)
{
    json_t *options = NULL;
    AK_DO(ak_task_spec_to_json(&options, m->tasks[0], err));
    (void)json_object_del(options, "size");
    bool good = ak_json_set_text(options, "sizes", sizes) &&
                ak_json_set_count(options, "dispatch", m->request->table) &&
                ak_json_set_text(options, "strategy", m->options->strategy) &&
                ak_json_set_count(options, "evaluations", m->options->evaluations) &&
                ak_run_note_options(options, m->tasks[0], m->options) &&
                (m->options->llm == NULL || ak_run_advisor_record(options, m->options));
    return ak_json_give_text(out, options, good, err);
}

ak_status ak_many_begin_record(ak_many *m, const ak_session *session, ak_error *err)
{
    const ak_sizes_result *result = m->result;
    AK_FREED char *options = NULL;
    AK_AT_END(ak_buf_free) ak_buf sizes = AK_BUF(1u << 16);
    if (m->archive == NULL || m->recorded) {
        return AK_OK;
    }
    for (size_t i = 0; i < result->size_count; i++) {
        ak_buf_print(&sizes, "%s%s", i == 0 ? "" : ";", result->sizes[i].size);
    }
    AK_DO(ak_buf_status(&sizes, err));
    AK_DO(describe_options(&options, m, sizes.data, err));
    /* The archive copies the strings. */
    const ak_run run = {.id = m->id,
                        .started = m->started,
                        .kernel = result->kernel,
                        .implementation = result->implementation,
                        .device = result->device,
                        .size = sizes.data,
                        .dtype = result->dtype,
                        .choices = result->choices,
                        .strategy = (char *)(uintptr_t)ak_tuning_strategy(m->options),
                        .environment = (char *)(uintptr_t)session->environment,
                        .environment_json = session->environment_json,
                        .options_json = options};
    AK_DO(ak_archive_add_run(m->archive, &run, err));
    m->recorded = true;
    ak_run_note_whereabouts(m->archive, m->id, m->tasks[0], m->options);
    return AK_OK;
}

ak_status ak_many_end_record(ak_many *m, ak_error *err)
{
    AK_FREED char *json = NULL;
    char ended[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(ended);
    m->result->seconds = ak_many_elapsed(m);
    AK_DO(ak_sizes_result_json(&json, m->result, err));
    if (m->recorded) {
        AK_DO(ak_archive_end_run(m->archive, m->id, ended, json, err));
    }
    if (m->events.sink != NULL) {
        ak_event_send(&m->events, "table", ak_sizes_to_json(m->result));
    }
    return AK_OK;
}
