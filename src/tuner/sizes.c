/*
 * sizes.c: tunes one kernel for many sizes.
 *
 *     tune each size by itself (sizes_tune.c)
 *     measure the best of all sizes at every size, in turns (sizes_measure.c)
 *     choose the few that lose least, and measure their loss once more (sizes_choose.c)
 */

#include "archive/archive.h"
#include "tuner/sizes_run.h"

bool ak_many_cancelled(const ak_many *m)
{
    return m->options->cancel != NULL && *m->options->cancel != 0;
}

double ak_many_each(const ak_many *m)
{
    return m->options->finish_seconds > 0 ? m->options->finish_seconds : AK_MANY_SECONDS;
}

double ak_many_elapsed(const ak_many *m)
{
    return (double)(ak_clock_ns() - m->begin_ns) / 1e9;
}

/* Runs the steps, each of which uses the results of the one before. Once the run is cancelled, no
   further step begins and AK_CANCELLED is returned. */
static ak_status find_table(ak_many *m, ak_error *err)
{
    const ak_sizes_result *result = m->result;
    AK_DO(ak_many_tune_each(m, err));
    AK_DO(ak_many_cancelled(m) ? AK_CANCELLED : ak_many_gather_elites(m, err));
    if (result->config_count == 0) {
        return AK_OK; /* no configuration works at any size */
    }
    AK_DO(ak_many_cancelled(m) ? AK_CANCELLED : ak_many_measure(m, err));
    AK_DO(ak_many_cancelled(m) ? AK_CANCELLED : ak_many_choose(m, err));
    if (result->table_count == 0) {
        return AK_OK; /* no configuration serves every size */
    }
    return ak_many_cancelled(m) ? AK_CANCELLED : ak_many_confirm(m, err);
}

static ak_status run_all(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    AK_DO(ak_many_open_tasks(m, err));
    ak_many_announce(m);
    ak_status status = find_table(m, err);
    if (status == AK_CANCELLED || (status == AK_OK && ak_many_cancelled(m))) {
        result->stopped_by = "cancelled";
        result->table_count = 0; /* perhaps not all losses of the table were measured */
        status = AK_OK;
    } else {
        result->stopped_by = result->table_count > 0 ? "done" : "nothing";
    }
    return status == AK_OK ? ak_many_end_record(m, err) : status;
}

static void tell_of_archive(void *context, const char *line)
{
    const ak_many *m = context;
    ak_event_send(&m->events, "warning", json_pack("{s:s}", "text", line));
}

/* Carries out the run. A lock on the archive delays writes but not the run. */
static ak_status run_and_settle(ak_many *m, ak_error *err)
{
    const ak_archive_patience patience = {
        .tell = tell_of_archive, .context = m, .cancel = m->options->cancel};
    if (m->archive == NULL) {
        return run_all(m, err);
    }
    AK_DO(ak_archive_defer(m->archive, &patience, err));
    ak_status status = run_all(m, err);
    ak_status settled = ak_archive_settle(m->archive, status == AK_OK ? err : NULL);
    return status == AK_OK ? settled : status;
}

static ak_status check_request(const ak_many *m, ak_error *err)
{
    size_t count = m->result->size_count;
    AK_FAIL_IF(count == 0 || count > AK_TUNE_SIZES_MAX, err, AK_INVALID,
               "%zu sizes are given; 1 to %d can be tuned together", count, AK_TUNE_SIZES_MAX);
    AK_FAIL_IF(m->request->table == 0 || m->request->table > count, err, AK_INVALID,
               "a table of %zu configurations is larger than the %zu size%s that it serves: "
               "give --dispatch %s%zu, or more sizes",
               m->request->table, count, ak_plural(count), count == 1 ? "" : "1 to ", count);
    AK_FAIL_IF(m->options->evaluations > 0 && m->options->evaluations < count, err, AK_INVALID,
               "%zu evaluation%s for %zu sizes: each size needs at least one",
               m->options->evaluations, ak_plural(m->options->evaluations), count);
    return AK_OK;
}

static ak_status open_run(ak_many *m, ak_error *err)
{
    size_t count = m->result->size_count;
    ak_run_id(m->id);
    ak_clock_utc(m->started);
    m->events = (ak_events){.sink = m->options->sink,
                            .context = m->options->sink_context,
                            .run = m->id,
                            .start_ns = m->begin_ns};
    AK_DO(ak_copy_text(&m->result->run, m->id, err));
    AK_DO(AK_NEW(m->result->sizes, count, err));
    AK_DO(AK_NEW(m->tasks, count, err));
    AK_DO(AK_NEW(m->tuned, count, err));
    return AK_NEW(m->given, AK_MANY_GIVEN_MAX + 1, err);
}

static void close_run(ak_many *m)
{
    for (size_t i = 0; i < m->result->size_count; i++) {
        if (m->tuned != NULL) {
            ak_tune_result_clear(&m->tuned[i]);
        }
        if (m->tasks != NULL) {
            ak_task_close(m->tasks[i]);
        }
    }
    AK_FREE_ALL((void *)m->given, m->tuned, m->low_ms, m->high_ms, (void *)m->tasks);
}

ak_status ak_tune_sizes(ak_sizes_result *out, const ak_sizes_request *request, ak_archive *archive,
                        const ak_tune_options *options, ak_error *err)
{
    static const ak_tune_options defaults = {0};
    AK_AT_END(ak_sizes_result_clear)
    ak_sizes_result result = {.size_count = request->size_count};
    AK_AT_END(close_run)
    ak_many m = {.request = request,
                 .options = options == NULL ? &defaults : options,
                 .archive = archive,
                 .result = &result,
                 .begin_ns = ak_clock_ns()};
    AK_DO(check_request(&m, err));
    AK_DO(open_run(&m, err));
    AK_DO(run_and_settle(&m, err));
    *out = result;
    result = (ak_sizes_result){.size_count = result.size_count}; /* now owned by the caller */
    return AK_OK;
}

void ak_sizes_result_clear(ak_sizes_result *result)
{
    for (size_t i = 0; i < result->size_count && result->sizes != NULL; i++) {
        AK_FREE_ALL(result->sizes[i].size, result->sizes[i].run, result->sizes[i].library,
                    result->sizes[i].library_name);
    }
    AK_END_EACH(ak_free, result->configs, result->config_count);
    AK_FREE_ALL(result->run, result->kernel, result->implementation, result->device, result->dtype,
                result->choices, result->llm.model, result->sizes, (void *)result->configs,
                result->ms, result->costs, result->speeds, result->alone);
    ak_warnings_free(&(ak_warnings){.texts = result->warnings, .count = result->warning_count});
    AK_FREE_ALL(result->objective, result->unit, result->table, result->tradeoff);
    *result = (ak_sizes_result){0};
}
