/* mcp_measure.c: the tools that measure, and their budget. */

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/mcp.h"

#define COMPARED_MAX 16
#define BUSY_BYTES   400
#define CODE_BYTES   400 /* bytes of the text on a trial's compiled code (ak_tester_code) */

/* ---- the budget ------------------------------------------------------------------------------ */

json_t *ak_mcp_budget(const ak_mcp *mcp)
{
    double seconds = (double)(mcp->spend_max_ns - mcp->spent_ns) / (double)AK_SECOND_NS;
    bool counted = mcp->evaluations_max > 0, timed = mcp->spend_max_ns > 0;
    const json_int_t left = (json_int_t)(mcp->evaluations_max - mcp->evaluations);
    return json_pack("{s:o, s:o}", "evaluations_left", ak_json_count_or_null(left, counted),
                     "seconds_left", timed ? json_real(seconds > 0 ? seconds : 0) : json_null());
}

/* Returns the limit that forbids measuring `wanted` more configurations, "evaluations" or "time";
   NULL: they can be measured. */
static const char *spent(const ak_mcp *mcp, size_t wanted)
{
    return mcp->evaluations_max > 0 && mcp->evaluations + wanted > mcp->evaluations_max
               ? "evaluations"
           : mcp->spend_max_ns > 0 && mcp->spent_ns >= mcp->spend_max_ns ? "time"
                                                                         : NULL;
}

static ak_status refuse(const ak_mcp *mcp, const char *why, ak_error *err)
{
    AK_FAIL_IF(strcmp(why, "time") == 0, err, AK_LIMIT,
               "the budget of %g seconds of measuring is spent; only whoever starts this "
               "server can give more (autokernel mcp --time)",
               (double)mcp->spend_max_ns / (double)AK_SECOND_NS);
    const size_t left = mcp->evaluations_max - mcp->evaluations;
    return ak_fail(err, AK_LIMIT,
                   "%zu of the budget of %zu configuration%s %s left; only whoever starts this "
                   "server can give more (autokernel mcp --evals)",
                   left, mcp->evaluations_max, ak_plural(mcp->evaluations_max),
                   mcp->evaluations_max == 1 ? "is" : "are");
}

/* Returns the current time and, if time is limited, sets the deadline to the end of the budget. */
static int64_t start_clock(const ak_mcp *mcp)
{
    int64_t now = ak_clock_ns();
    if (mcp->spend_max_ns > 0) {
        ak_mcp_link_deadline(mcp->link, now + mcp->spend_max_ns - mcp->spent_ns);
    }
    return now;
}

/* Returns what ended a call early, "time" or "cancelled"; NULL if nothing did. */
static const char *stop_text(const ak_mcp *mcp)
{
    ak_mcp_stop stop = ak_mcp_link_stopped(mcp->link);
    return stop == AK_MCP_TIME ? "time" : stop == AK_MCP_GO ? NULL : "cancelled";
}

/* ---- measure --------------------------------------------------------------------------------- */

typedef struct measuring {
    ak_mcp_call *call;
    ak_args args;
    ak_task *task;
    ak_tester *tester;
    json_t *trials;
    const char *stopped_by;
} measuring;

/* Adds a trial, with a line on its compiled code if that is known. */
static ak_status add_trial(measuring *m, const ak_trial *trial, const ak_config *config,
                           ak_error *err)
{
    char code[CODE_BYTES];
    bool known =
        trial->status == AK_TRIAL_OK && ak_tester_code(code, sizeof code, m->tester, config);
    json_auto_t *row = ak_mcp_trial_json(trial);
    ak_mcp_trial_line(&m->call->text, trial);
    if (known) {
        ak_buf_print(&m->call->text, "  %s\n", code);
    }
    bool good = row != NULL && (!known || ak_json_set_text(row, "code", code)) &&
                json_array_append(m->trials, row) == 0;
    return ak_stored(good, err);
}

/* Adds a configuration that is not in the space, as a trial with the status "invalid". */
static ak_status add_invalid(measuring *m, const json_t *config, const char *reason, ak_error *err)
{
    AK_FREED char *text = NULL;
    ak_status status = ak_mcp_config_text(&text, config, err);
    ak_buf_print(&m->call->text, "invalid: %s; %s\n", reason, status == AK_OK ? text : "");
    if (status == AK_OK &&
        !ak_json_append(m->trials,
                        json_pack("{s:n, s:s, s:o, s:o}", "id", "status", "invalid", "reason",
                                  ak_json_shown(reason), "config", ak_json_shown(text)))) {
        status = ak_fail_memory(err);
    }
    return status;
}

static ak_status measure_one(measuring *m, const ak_config *config, ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    if (m->tester == NULL) {
        AK_DO(ak_tester_open(&m->tester, m->task, err));
        AK_DO(ak_tester_archive(m->tester, m->call->mcp->archive, err));
    }
    AK_DO(ak_tester_run(&trial, m->tester, config, err));
    m->call->mcp->evaluations += trial.same_code ? 0 : 1;
    ak_free(trial.strategy);
    AK_DO(ak_copy_text(&trial.strategy, "mcp", err));
    AK_DO(ak_archive_add_trial(m->call->mcp->archive, &trial, err));
    return add_trial(m, &trial, config, err);
}

static ak_status measure_all(measuring *m, ak_error *err)
{
    const json_t *configs = json_object_get(m->call->arguments, "configs");
    const ak_mcp *mcp = m->call->mcp;
    const size_t count = json_array_size(configs);
    ak_status status = AK_OK;
    AK_EACH(each, configs) {
        ak_config config;
        ak_error why = AK_ERROR_INIT;
        char text[80];
        (void)snprintf(text, sizeof text, "%zu of %zu configuration%s measured", each_at, count,
                       ak_plural(count));
        ak_mcp_link_progress(mcp->link, m->call->token, (double)each_at, (double)count, text);
        m->stopped_by = spent(mcp, 1);
        if (m->stopped_by != NULL) {
            return AK_OK;
        }
        status = ak_mcp_config(&config, each, &m->args, m->task, &why) == AK_OK
                     ? measure_one(m, &config, err)
                     : add_invalid(m, each, why.text, err);
        if (status != AK_OK) {
            break;
        }
    }
    if (status == AK_CANCELLED) {
        m->stopped_by = stop_text(mcp);
        return AK_OK;
    }
    return status;
}

/* Adds the highest pressure during the trials, and a warning if it was too high. */
static ak_status add_pressure(const measuring *m, ak_error *err)
{
    char warning[BUSY_BYTES] = "";
    double pressure =
        m->tester == NULL ? -1 : ak_tester_pressure(warning, sizeof warning, m->tester);
    json_t *value = pressure < 0 ? json_null() : json_real(pressure);
    AK_DO(ak_stored(ak_json_set(m->call->result, "pressure", value), err));
    return warning[0] == 0 ? AK_OK : ak_mcp_warn_also(m->call, warning, err);
}

ak_status ak_mcp_measure(ak_mcp_call *call, ak_error *err)
{
    ak_mcp *mcp = call->mcp;
    measuring m = {.call = call, .trials = json_array()};
    json_auto_t *about = json_object();
    ak_status status = AK_OK;
    int64_t begin = start_clock(mcp);
    AK_TRY(spent(mcp, 1) == NULL ? AK_OK : refuse(mcp, spent(mcp, 1), err));
    AK_TRY(ak_mcp_args(&m.args, call, err));
    AK_TRY(ak_args_known_task(&m.task, &m.args, err));
    AK_TRY(ak_mcp_warnings(call, m.task, &m.args, err));
    ak_task_set_cancel(m.task, ak_mcp_link_cancel(mcp->link));
    AK_TRY(measure_all(&m, err));
    if (m.stopped_by != NULL && json_array_size(m.trials) == 0) {
        AK_TRY(strcmp(m.stopped_by, "cancelled") == 0
                   ? ak_fail(err, AK_CANCELLED, "cancelled before a configuration was measured")
                   : refuse(mcp, m.stopped_by, err));
    }
    AK_TRY(add_pressure(&m, err));
    if (m.stopped_by != NULL) {
        ak_buf_print(&call->text, "stopped by: %s\n", m.stopped_by);
    }
    mcp->spent_ns += ak_clock_ns() - begin;
    begin = ak_clock_ns();
    AK_TRY(ak_stored(ak_task_json(about, m.task) &&
                         json_object_set(call->result, "task", about) == 0 &&
                         json_object_set(call->result, "trials", m.trials) == 0 &&
                         ak_json_set_text(call->result, "stopped_by", m.stopped_by) &&
                         ak_json_set(call->result, "budget", ak_mcp_budget(mcp)),
                     err));
out:
    mcp->spent_ns += ak_clock_ns() - begin;
    json_decref(m.trials);
    ak_tester_close(m.tester);
    ak_task_close(m.task);
    return status;
}

/* ---- compare --------------------------------------------------------------------------------- */

/* Adds each candidate to the text, and the warnings to the text and to the result. */
static ak_status describe_comparison(ak_mcp_call *call, const ak_comparison *comparison,
                                     ak_error *err)
{
    ak_buf *out = &call->text;
    char ms[AK_NUMBER_BYTES], ratio[AK_NUMBER_BYTES], interval[AK_NUMBER_BYTES];
    for (size_t i = 0; i < comparison->count; i++) {
        const ak_compared *c = &comparison->candidates[i];
        const char *what = ak_or_empty(c->config != NULL ? c->config : c->version);
        const char *sign = *what == 0 ? "" : "; ";
        if (c->reason != NULL) {
            ak_buf_print(out, "%s failed: %s\n", c->name, c->reason);
        } else if (i == comparison->reference) {
            ak_buf_print(out, "%s %s ms, the reference%s%s\n", c->name,
                         ak_show_real(ms, c->median_ms), sign, what);
        } else {
            ak_buf_print(out, "%s %s ms, ", c->name, ak_show_real(ms, c->median_ms));
            if (c->verdict != AK_SPEED_NONE) { /* none on a recording */
                const char *why = ak_speed_doubt_text(c->doubt);
                ak_buf_print(out, "%s%s%s, ", ak_speed_verdict_text(c->verdict),
                             *why == 0 ? "" : ": ", why);
            }
            ak_buf_print(out, "speed %s (%s)%s%s\n", ak_show_ratio(ratio, c->ratio),
                         ak_show_interval(interval, c->ratio_low, c->ratio_high), sign, what);
        }
    }
    for (size_t i = 0; i < comparison->warning_count; i++) {
        AK_DO(ak_mcp_warn_also(call, comparison->warnings[i], err));
    }
    return AK_OK;
}

ak_status ak_mcp_compare(ak_mcp_call *call, ak_error *err)
{
    ak_mcp *mcp = call->mcp;
    ak_args args;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    ak_config configs[COMPARED_MAX];
    char names[COMPARED_MAX][24];
    const char *texts[COMPARED_MAX];
    AK_AT_END(ak_comparison_clear) ak_comparison comparison = {0};
    char *text = NULL;
    json_auto_t *object = NULL;
    const json_t *list = json_object_get(call->arguments, "configs");
    size_t count = json_array_size(list);
    ak_status status = AK_OK;
    int64_t begin = start_clock(mcp);
    AK_TRY(spent(mcp, count) == NULL ? AK_OK : refuse(mcp, spent(mcp, count), err));
    AK_TRY(ak_mcp_args(&args, call, err));
    AK_TRY(ak_args_known_task(&task, &args, err));
    AK_TRY(ak_mcp_warnings(call, task, &args, err));
    ak_task_set_cancel(task, ak_mcp_link_cancel(mcp->link));
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "config %zu", i + 1);
        texts[i] = names[i];
        if (ak_mcp_config(&configs[i], json_array_get(list, i), &args, task, err) != AK_OK) {
            status = ak_fail_within(err, "configs[%zu]", i);
            goto out;
        }
    }
    const ak_compare_options options = {
        .configs = configs,
        .names = texts,
        .count = count,
        .baselines = json_is_true(json_object_get(call->arguments, "baselines"))};
    if (call->token != NULL) {
        ak_mcp_link_tick(mcp->link, call->token, "measuring in turns; progress is in seconds");
    }
    status = ak_compare(&comparison, task, &options, err);
    ak_mcp_link_tick(mcp->link, NULL, NULL);
    if (status == AK_CANCELLED && ak_mcp_link_stopped(mcp->link) == AK_MCP_TIME) {
        (void)refuse(mcp, "time", err);
    }
    AK_TRY(status);
    mcp->evaluations += count;
    mcp->spent_ns += ak_clock_ns() - begin;
    begin = ak_clock_ns();
    AK_TRY(ak_out_parse(&object, ak_comparison_json(&text, &comparison, task, err), &text,
                        "comparison", err));
    AK_TRY(describe_comparison(call, &comparison, err));
    AK_TRY(ak_stored(json_object_set(call->result, "comparison", object) == 0 &&
                         ak_json_set(call->result, "budget", ak_mcp_budget(mcp)),
                     err));
out:
    mcp->spent_ns += ak_clock_ns() - begin;
    return status;
}
