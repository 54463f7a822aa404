/* tester.c: runs or checks one configuration at a time, and compares configurations with
   libraries. */
#include <math.h>

#include "archive/store.h"
#include "tuner/side_by_side.h"
#include "tuner/warning.h"

/* Seconds of a comparison for each candidate if the caller sets none. */
#define SECONDS_EACH 1.0

#define WAIT_NS (2 * AK_SECOND_NS)

#define CODE_BYTES_MAX 4096 /* for a line about compiled code */

struct ak_tester {
    ak_session session;
    void (*waiting)(void *context, double seconds); /* may be NULL */
    void *waiting_context;
    bool ceilings_known; /* measured before the first run; a check needs no ceilings */
    /* Holds the highest pressures beside the trials (measure/pressure.h). `rounds` counts trials
       and checks, `disturbed` the trials that waited for a processor while they were timed. */
    ak_noise noise;
    double late; /* the highest pressure beside a check that timed out; negative: none did */
};

ak_status ak_tester_open(ak_tester **out, const ak_task *task, ak_error *err)
{
    const ak_pool_options options = {.compile_workers = 1};
    AK_AT_END(ak_tester_close_at) ak_tester *tester = NULL;
    AK_DO(AK_NEW(tester, 1, err));
    tester->noise = (ak_noise){.pressure_before = -1, .pressure = -1, .pressure_after = -1};
    tester->late = -1;
    AK_DO(ak_session_open(&tester->session, task, &options, err));
    AK_FAIL_IF(task->cancel != NULL && *task->cancel != 0, err, AK_CANCELLED, "cancelled");
    AK_GIVE(out, tester);
    return AK_OK;
}

void ak_tester_close(ak_tester *tester)
{
    if (tester != NULL) {
        ak_session_close(&tester->session);
        ak_free(tester);
    }
}

void ak_tester_on_wait(ak_tester *tester, void (*waiting)(void *context, double seconds),
                       void *context)
{
    tester->waiting = waiting;
    tester->waiting_context = context;
}

bool ak_tester_ready(const ak_tester *tester)
{
    json_auto_t *preparation = ak_pool_preparation(tester->session.pool);
    return preparation != NULL;
}

/* Waits for the result for up to an hour, and calls `waiting`, if it is set, every WAIT_NS, so that
   the caller can show progress. A timeout that comes before WAIT_NS have passed is not that of this
   wait and is returned as an error. */
static ak_status await_result(ak_result *out, ak_tester *tester, ak_error *err)
{
    int64_t begin = ak_clock_ns(), end = begin + 3600 * AK_SECOND_NS;
    for (;;) {
        int64_t slice = ak_clock_ns() + WAIT_NS, left = end - ak_clock_ns();
        bool last = tester->waiting == NULL || left <= WAIT_NS;
        ak_error why = AK_ERROR_INIT;
        ak_status status =
            ak_pool_wait(out, tester->session.pool, last ? left : WAIT_NS, last ? err : &why);
        if (status != AK_TIMED_OUT || last || ak_clock_ns() < slice) {
            return status == AK_OK || last ? status : ak_fail(err, status, "%s", why.text);
        }
        tester->waiting(tester->waiting_context, (double)(ak_clock_ns() - begin) / 1e9);
    }
}

void ak_tester_sanitize(ak_tester *tester, bool on)
{
    tester->session.sanitize = on;
}

void ak_tester_sanitizing(char *out, size_t bytes, const ak_tester *tester)
{
    ak_sanitizing_text(out, bytes, &tester->session);
}

static ak_status run_job(ak_trial *out, ak_tester *tester, const ak_config *config,
                         ak_job_kind kind, ak_error *err)
{
    ak_session *session = &tester->session;
    AK_FAIL_IF(!ak_space_has(session->task->space, config), err, AK_INVALID,
               "the configuration is not in the space of %s", session->task->implementation->where);
    ak_job job = {.kind = kind, .id = session->next_job++, .config = *config};
    AK_AT_END(ak_result_clear) ak_result result = {0};
    AK_DO(ak_pool_submit(session->pool, &job, err));
    AK_DO(await_result(&result, tester, err));
    AK_DO(kind == AK_JOB_CHECK ? ak_session_sanitize(&result.trial, session, config, err) : AK_OK);
    AK_DO(ak_session_complete_trial(&result.trial, session, config, NULL, err));
    tester->noise.rounds++;
    tester->noise.disturbed += result.waited ? 1 : 0;
    *out = result.trial;
    result.trial = (ak_trial){0};
    return AK_OK;
}

ak_status ak_tester_archive(const ak_tester *tester, ak_archive *archive, ak_error *err)
{
    const ak_session *session = &tester->session;
    AK_DO(ak_store_need_environment(archive, session->environment, session->environment_json, err));
    ak_session_keep_sources(session->task, archive);
    return AK_OK;
}

/* Returns whether jobs run on this machine, so that its pressure says something about them. */
static bool is_here(const ak_tester *tester)
{
    return !ak_pool_recalls(tester->session.pool) && tester->session.task->launcher == NULL;
}

ak_status ak_tester_run(ak_trial *out, ak_tester *tester, const ak_config *config, ak_error *err)
{
    if (!tester->ceilings_known) {
        AK_DO(ak_session_ceilings(&tester->session, err));
        tester->ceilings_known = true;
    }
    if (!is_here(tester)) {
        return run_job(out, tester, config, AK_JOB_TRIAL, err);
    }
    ak_noise *noise = &tester->noise;
    ak_pressure_mark from, to;
    noise->pressure_before = fmax(noise->pressure_before, ak_pressure_look());
    ak_pressure_take(&from);
    AK_DO(run_job(out, tester, config, AK_JOB_TRIAL, err));
    ak_pressure_take(&to);
    noise->pressure = fmax(noise->pressure, ak_pressure_between(&from, &to));
    noise->pressure_after = fmax(noise->pressure_after, ak_pressure_look());
    return AK_OK;
}

double ak_tester_pressure(char *warning, size_t bytes, const ak_tester *tester)
{
    AK_AT_END(ak_warnings_free) ak_warnings list = {0};
    double beside = fmax(tester->noise.pressure_before, tester->noise.pressure_after);
    ak_status status = ak_warn_trials(&list, &tester->noise, NULL);
    status = status == AK_OK ? ak_warn_timed_out(&list, tester->late, NULL) : status;
    bool warned = status == AK_OK && list.count > 0;
    (void)snprintf(warning, bytes, "%s", warned ? list.texts[0] : "");
    return fmax(fmax(beside, tester->noise.pressure), tester->late);
}

ak_status ak_tester_check(ak_trial *out, ak_tester *tester, const ak_config *config, ak_error *err)
{
    ak_pressure_mark from, to;
    ak_pressure_take(&from);
    AK_DO(run_job(out, tester, config, AK_JOB_CHECK, err));
    ak_pressure_take(&to);
    if (out->status == AK_TRIAL_TIMED_OUT && is_here(tester)) {
        tester->late = fmax(tester->late, ak_pressure_between(&from, &to));
    }
    return AK_OK;
}

bool ak_tester_code(char *out, size_t bytes, const ak_tester *tester, const ak_config *config)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(CODE_BYTES_MAX);
    const bool known =
        ak_session_look(&text, &tester->session, config) && ak_buf_status(&text, NULL) == AK_OK;
    (void)snprintf(out, bytes, "%s", known ? text.data : "");
    return known;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static ak_status warn(ak_comparison *out, ak_error *err)
{
    ak_warnings warnings = {0};
    ak_status status = ak_warn_comparison(&warnings, &out->noise, out->candidates, out->count, err);
    out->warnings = warnings.texts;
    out->warning_count = warnings.count;
    return status;
}

static ak_status take_comparison(ak_comparison *out, ak_session *session,
                                 const ak_comparison_spec *spec, ak_error *err)
{
    ak_comparison_result comparison;
    AK_DO(ak_session_comparison(&comparison, session, spec, err));
    AK_AT_END(ak_comparison_clear)
    ak_comparison found = {.candidates = comparison.list,
                           .count = spec->count,
                           .reference = comparison.reference,
                           .noise = comparison.noise};
    ak_session_place(&found.placement, session, 0);
    AK_DO(warn(&found, err));
    size_t last = spec->count - 1;
    if (spec->candidates[last].config != NULL && comparison.list[last].median_ms > 0) {
        /* The first configuration serves as the default. If it is the only one, nothing was
           searched, and the summary leaves the default out. */
        comparison.fallback = last == spec->fallback ? spec->count : spec->fallback;
        AK_DO(ak_summary(&found.summary, &comparison, last, session->task->objective, err));
    }
    AK_GIVE(out, found);
    return AK_OK;
}

/* The candidates of the comparison: the libraries, then `count` configurations. */
typedef struct lineup {
    ak_comparison_candidate *candidates;
    const char **names;
    size_t libraries, all;
} lineup;

static void clear_lineup(lineup *l)
{
    AK_FREE_ALL(l->candidates, (void *)l->names);
}

static ak_status line_up(lineup *out, const ak_session *session, const ak_compare_options *options,
                         ak_error *err)
{
    size_t most = session->baseline_count + options->count;
    *out = (lineup){.candidates = ak_alloc(most, sizeof *out->candidates),
                    .names = ak_alloc(most, sizeof *out->names)};
    AK_DO(ak_stored(out->candidates != NULL && out->names != NULL, err));
    if (options->baselines) {
        out->libraries = ak_session_libraries(out->candidates, out->names, session, most);
    }
    out->all = out->libraries;
    for (size_t i = 0; i < options->count; i++) {
        out->candidates[out->all] = (ak_comparison_candidate){
            .config = &options->configs[i],
            .task = options->tasks == NULL ? NULL : options->tasks[i],
        };
        out->names[out->all++] = options->names[i];
    }
    return out->all > 0
               ? AK_OK
               : ak_fail(err, AK_NOT_FOUND,
                         "nothing to measure: no configuration was given and no library that "
                         "applies is installed (see autokernel doctor)");
}

/* Lists the tasks in options->tasks, each once. Refuses one of another kernel, device, size, dtype
   or option than `task`, and any on a recording or with a launcher. */
static ak_status find_others(const ak_task **out, size_t *count, const ak_task *task,
                             const ak_compare_options *options, ak_error *err)
{
    for (size_t i = 0; options->tasks != NULL && i < options->count; i++) {
        const ak_task *other = options->tasks[i];
        bool known = other == NULL;
        for (size_t k = 0; !known && k < *count; k++) {
            known = out[k] == other;
        }
        if (known) {
            continue;
        }
        const char *name = other->implementation->name;
        const struct {
            const char *what, *mine, *its;
        } same[] = {{"kernel", task->problem->name, other->problem->name},
                    {"device", task->device, other->device},
                    {"size", task->size_text, other->size_text},
                    {"dtype", ak_dtype_text(task->dtype), ak_dtype_text(other->dtype)},
                    {"options", task->choices_text, other->choices_text}};
        for (size_t k = 0; k < AK_COUNT(same); k++) {
            AK_FAIL_IF(strcmp(same[k].mine, same[k].its) != 0, err, AK_INVALID,
                       "implementations are compared for one task, but %s has the %s "
                       "\"%.80s\" and %s \"%.80s\"",
                       name, same[k].what, same[k].its, task->implementation->name, same[k].mine);
        }
        AK_FAIL_IF(task->recorded || task->launcher != NULL, err, AK_INVALID,
                   "several implementations are compared on this machine's own devices: "
                   "leave %s out",
                   task->recorded ? "the recording" : "--launcher");
        out[(*count)++] = other;
    }
    return AK_OK;
}

ak_status ak_compare_each(const ak_task *task, const ak_compare_options *options, size_t times,
                          ak_comparison_visitor visit, void *context, ak_error *err)
{
    AK_FREED const ak_task **others = ak_alloc(options->count + 1, sizeof *others);
    AK_AT_END(ak_session_close) ak_session session = {0};
    AK_AT_END(clear_lineup) lineup l = {.all = 0};
    ak_pool_options own = {.compile_workers = 0};
    AK_DO(ak_made(others, err));
    AK_DO(find_others(others, &own.other_count, task, options, err));
    own.others = others;
    AK_DO(ak_session_open(&session, task, &own, err));
    AK_DO(ak_session_survey(&session, err));
    AK_DO(line_up(&l, &session, options, err));
    const double seconds = SECONDS_EACH * (double)l.all;
    const ak_comparison_spec spec = {.candidates = l.candidates,
                                     .names = l.names,
                                     .count = l.all,
                                     .protocol = ak_session_protocol(&session),
                                     .control = !ak_pool_recalls(session.pool),
                                     .twice = l.all - 1,
                                     .fallback = l.libraries,
                                     .seconds = options->seconds > 0 ? options->seconds : seconds,
                                     .extra = options->seconds > 0 ? 0 : seconds};
    bool more = true;
    for (size_t i = 0; more && i < times; i++) {
        AK_AT_END(ak_comparison_clear) ak_comparison comparison = {0};
        AK_DO(take_comparison(&comparison, &session, &spec, err));
        more = visit(context, &comparison);
    }
    return AK_OK;
}

static bool take(void *context, ak_comparison *comparison)
{
    *(ak_comparison *)context = *comparison;
    *comparison = (ak_comparison){0};
    return true;
}

ak_status ak_compare(ak_comparison *out, const ak_task *task, const ak_compare_options *options,
                     ak_error *err)
{
    return ak_compare_each(task, options, 1, take, out, err);
}
