/*
 * tuner.c: THE loop.
 *
 *     survey the device and its libraries
 *     default first, then whatever the strategy proposes, until a budget ends:
 *         propose -> compile | check, time -> archive -> observe
 *         (a strategy that waits for a reply, or doubts its leaders, is served when all is quiet)
 *     re-measure the finalists interleaved with the libraries; the best of these is the answer
 *
 * Compiling of the next configurations overlaps measuring of this one (worker/pool.h). A trial is
 * in the archive before the device starts the next.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/archive.h"
#include "backend/sandbox.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/map.h"
#include "tuner/adviser.h"
#include "tuner/result.h"
#include "tuner/session.h"
#include "tuner/warning.h"

#define FINALISTS_DEFAULT 3
#define FINALISTS_MAX     16
#define BASELINES_MAX     16
/* Jobs in the pool: one is measured and one is ready on each device, while each core compiles. */
#define FLIGHTS_A_DEVICE 2
/* A candidate this much slower than the best is dropped after its first samples. */
#define HOPELESS 1.25
/* A run has converged when this many evaluations in a row, and half of all, gained less than GAIN.
 */
#define PATIENCE 60
#define GAIN     0.005
/* Seconds of interleaved measuring a contestant of the finish gets. */
#define DUEL_SECONDS 0.7
/* At the least, where a time budget has less left. */
#define DUEL_SECONDS_MIN 0.1
/* Leaders that a strategy may have measured again at once, and seconds for each. */
#define DOUBTS_MAX    8
#define DOUBT_SECONDS 0.25
/* The check of a finalist takes as long as so many of a trial, about. */
#define CHECKS_OF_FINALIST 3.0
/* Compiling a finalist for every size takes as long as so many compilations of a trial, about,
   where trials are compiled for their own size only. All are compiled at once. */
#define COMPILES_OF_FINALIST 2.0
/* What measuring the ceilings takes, about. */
#define CEILINGS_SECONDS 0.5

/* Who proposed the default configuration, which every run tries first. */
static const char proposed_first[] = "default";
/* Who proposed what the caller wants tried first. */
static const char proposed_by_caller[] = "given";

/* What the loop knows of one evaluated configuration. */
typedef struct seen {
    ak_config config;
    double ms; /* 0: failed */
    double low_ms, high_ms;
    int64_t trial;
    size_t device; /* of the task's, that measured it */
} seen;

/* A job in flight: what the proposal said, until the result comes back. */
typedef struct pending {
    uint64_t job;
    ak_proposal proposal;
    int64_t propose_ns;
    const char *strategy;
    bool used;
} pending;

typedef struct run {
    const ak_task *task;
    ak_archive *archive;
    const ak_tune_options *options;
    ak_session session;
    const ak_strategy_ops *ops;
    char asked[AK_STRATEGY_TEXT_MAX]; /* the strategy with the hyper-parameters that were set */
    ak_strategy *strategy;
    ak_adviser adviser;
    const char *ended; /* why the strategy proposes no more; NULL: it did not say */
    ak_events events;
    char id[AK_RUN_ID_BYTES];
    int64_t begin_ns;
    ak_set *submitted; /* keys of configurations that were proposed or resumed */
    seen *history;
    size_t history_count, history_capacity;
    pending *flights;
    size_t flight_count; /* slots; as many as may be in flight */
    size_t evaluations;  /* what is left of the budget after the resumed ones */
    size_t sent;         /* submitted in this run */
    size_t next_first;   /* of the configurations that the caller wants tried first */
    double best_ms, default_ms, baseline_ms;
    bool default_ended;              /* it was tried, whatever came of it */
    double survey_ms[BASELINES_MAX]; /* of the libraries that take part, in their order */
    size_t devices;                  /* that share the trials */
    size_t lost;                     /* of these, that were given up */
    double check_seconds;            /* of the latest trial that was right */
    double compile_seconds;          /* the longest of one that was right */
    size_t best;                     /* in history */
    size_t last_gain;                /* evaluations at the last gain */
    bool exhausted;
    ak_tune_result *result;
} run;

static size_t budget(const run *r)
{
    return r->options->evaluations == 0 ? AK_EVALUATIONS_DEFAULT : r->options->evaluations;
}

static bool cancelled(const run *r)
{
    return r->options->cancel != NULL && *r->options->cancel != 0;
}

/* Finalists of one device. Of several each sends its own: what is faster on one of them may owe
   that to the device, and only side by side on the first device can they be told apart. */
static size_t finalists_of_each(const run *r)
{
    size_t wanted = r->options->finalists == 0 ? FINALISTS_DEFAULT : r->options->finalists;
    size_t most = FINALISTS_MAX / r->devices;
    return wanted < most ? wanted : most;
}

/* What the search has left of a time budget; negative once it is spent. */
static double seconds_left(const run *r)
{
    return r->options->seconds - (double)(ak_session_now_ns(&r->session) - r->begin_ns) / 1e9;
}

/* How long the finish will take, so that a time budget covers it: at most half of the budget. A
   finalist is checked on all awkward sizes, and in more rounds than a trial, on one of them. */
static double finish_seconds(const run *r)
{
    if (ak_pool_recalls(r->session.pool)) {
        return 0; /* nothing is measured again */
    }
    size_t finalists = finalists_of_each(r) * r->devices + 1, contestants = finalists;
    for (size_t i = 0; i < r->session.baseline_count; i++) {
        contestants += r->session.baselines[i].installed ? 1 : 0;
    }
    double least = ak_pace_seconds(ak_session_pace(&r->session), contestants, AK_DUEL_ROUNDS_MIN);
    double duel = DUEL_SECONDS * (double)contestants;
    double expected =
        (duel > least ? duel : least) + CEILINGS_SECONDS +
        CHECKS_OF_FINALIST * r->check_seconds * (double)finalists +
        (r->task->implementation->sized ? COMPILES_OF_FINALIST * r->compile_seconds : 0);
    return expected < r->options->seconds / 2 ? expected : r->options->seconds / 2;
}

/* Why the search is over, or NULL. */
static const char *stop_reason(const run *r)
{
    if (cancelled(r)) {
        return "cancelled";
    }
    if (r->result->evaluated >= r->evaluations) {
        return "evaluations";
    }
    if (r->options->seconds > 0 && seconds_left(r) <= finish_seconds(r)) {
        return "time";
    }
    if (r->options->target_speedup > 0 && r->baseline_ms > 0 && r->best_ms > 0 &&
        r->baseline_ms / r->best_ms >= r->options->target_speedup) {
        return "target";
    }
    size_t quiet = r->result->evaluated - r->last_gain;
    if (quiet >= PATIENCE && quiet * 2 >= r->result->evaluated && !r->ops->thorough) {
        return "converged";
    }
    bool over = r->exhausted && ak_pool_pending(r->session.pool) == 0;
    return !over ? NULL : r->ended != NULL ? r->ended : "exhausted";
}

/* The place of a device in a list with commas; 0 if it is not there. */
static size_t device_index(const char *list, const char *name)
{
    size_t index = 0;
    for (const char *at = list; name != NULL && *at != 0; index++) {
        size_t length = strcspn(at, ",");
        if (strlen(name) == length && strncmp(at, name, length) == 0) {
            return index;
        }
        at += length + (at[length] == ',' ? 1 : 0);
    }
    return 0;
}

static size_t device_count(const ak_task *task)
{
    size_t count = 1;
    if (strcmp(task->device, task->devices) != 0) { /* else a comma is part of its name */
        for (const char *at = task->devices; *at != 0; at++) {
            count += *at == ',' ? 1 : 0;
        }
    }
    return count;
}

/* `repeated`: it compiled to the same code as an earlier one. */
static ak_status remember(run *r, const ak_config *config, const ak_trial *trial, bool repeated,
                          ak_error *err)
{
    double ms = trial->status == AK_TRIAL_OK ? trial->median_ms : 0;
    void *list = r->history;
    ak_status status =
        ak_grow(&list, &r->history_capacity, r->history_count + 1, sizeof(seen), err);
    if (status != AK_OK) {
        return status;
    }
    r->history = list;
    r->history[r->history_count] =
        (seen){.config = *config,
               .ms = ms,
               .low_ms = trial->ci_low_ms,
               .high_ms = trial->ci_high_ms,
               .trial = trial->id,
               .device = device_index(r->task->devices, trial->measured_on)};
    if (ms > 0 && (r->best_ms <= 0 || ms < r->best_ms)) {
        if (r->best_ms <= 0 || ms < r->best_ms * (1 - GAIN)) {
            r->last_gain = r->result->evaluated;
        }
        r->best_ms = ms;
        r->best = r->history_count;
    }
    r->history_count++;
    ak_observation seen_now = {
        .config = config, .ok = ms > 0, .ms = ms, .trial = trial, .repeated = repeated};
    return r->ops->observe(r->strategy, &seen_now, err);
}

/* ---- start ------------------------------------------------------------------------------------
 */

typedef struct resume {
    run *r;
    ak_set *known; /* keys of those met so far */
    size_t count;
    bool counting; /* only: there is no strategy yet that could be told */
    ak_status status;
    ak_error *err;
} resume;

static bool resume_one(void *context, const ak_trial *trial)
{
    resume *state = context;
    run *r = state->r;
    ak_config config;
    bool fresh = false;
    if (ak_config_parse(&config, r->task->space, trial->config, NULL) != AK_OK) {
        return true; /* of an earlier form of the space */
    }
    if (trial->status == AK_TRIAL_TIMED_OUT || trial->status == AK_TRIAL_CRASHED ||
        trial->status == AK_TRIAL_OUT_OF_MEMORY) {
        return true; /* perhaps the machine's fault: it may be tried again */
    }
    state->status =
        ak_set_add(&fresh, state->known, ak_config_key(r->task->space, &config), state->err);
    if (state->status == AK_OK && fresh) {
        state->count++;
        state->status = state->counting ? AK_OK : remember(r, &config, trial, false, state->err);
    }
    return state->status == AK_OK;
}

/* The trials of this task and environment that the archive has. */
static ak_status each_known(resume *state, ak_error *err)
{
    const run *r = state->r;
    if (!r->options->resume || r->archive == NULL) {
        return AK_OK;
    }
    const ak_task *task = r->task;
    ak_archive_filter filter = {.kernel = task->problem->name,
                                .implementation = task->implementation->name,
                                .device = task->device,
                                .size = task->size_text,
                                .dtype = ak_dtype_text(task->dtype),
                                .choices = task->choices_text,
                                .environment = r->session.environment};
    state->err = err;
    ak_status status = ak_archive_each(r->archive, &filter, resume_one, state, err);
    return status == AK_OK ? state->status : status;
}

/* What is known counts as evaluated: a run that is resumed ends where it would have ended. */
static ak_status reduce_budget(run *r, ak_error *err)
{
    resume state = {.r = r, .known = ak_set_new(), .counting = true};
    ak_status status = state.known == NULL ? ak_fail_memory(err) : each_known(&state, err);
    r->evaluations -= state.count < r->evaluations ? state.count : r->evaluations;
    ak_set_free(state.known);
    return status;
}

static ak_status resume_trials(run *r, ak_error *err)
{
    resume state = {.r = r, .known = r->submitted};
    ak_status status = each_known(&state, err);
    r->result->resumed = state.count;
    return status;
}

static ak_status start_run(run *r, ak_error *err)
{
    const ak_task *task = r->task;
    char started[AK_CLOCK_UTC_BYTES];
    ak_session_utc(started, &r->session);
    json_t *options = NULL;
    char *options_text = NULL;
    ak_status status = ak_task_spec_to_json(&options, task, err);
    if (status == AK_OK) {
        bool good = (task->reason == NULL || ak_json_set_text(options, "reason", task->reason)) &&
                    ak_json_set_text(options, "strategy", r->asked) &&
                    ak_json_set(options, "evaluations", json_integer((json_int_t)budget(r))) &&
                    ak_json_set_real(options, "seconds", r->options->seconds) &&
                    ak_json_set_real(options, "target_speedup", r->options->target_speedup) &&
                    ak_json_set(options, "resume", json_boolean(r->options->resume)) &&
                    (r->adviser.model.name == NULL || ak_adviser_record(options, r->options));
        status = good ? ak_json_text(&options_text, options, err) : ak_fail_memory(err);
    }
    if (status == AK_OK) {
        status = ak_session_run_id(r->id, &r->session, options_text, r->archive, err);
    }
    if (status == AK_OK) {
        r->result->run = ak_strdup(r->id);
        status = r->result->run == NULL ? ak_fail_memory(err) : AK_OK;
    }
    if (status == AK_OK && r->archive != NULL) {
        /* The archive copies; the texts are only lent. */
        ak_run record = {.id = r->id,
                         .started = started,
                         .kernel = (char *)(uintptr_t)task->problem->name,
                         .implementation = (char *)(uintptr_t)task->implementation->name,
                         .device = task->device,
                         .size = task->size_text,
                         .dtype = (char *)(uintptr_t)ak_dtype_text(task->dtype),
                         .choices = task->choices_text,
                         .strategy = (char *)(uintptr_t)r->ops->name,
                         .environment = r->session.environment,
                         .environment_json = r->session.environment_json,
                         .options_json = options_text};
        status = ak_archive_add_run(r->archive, &record, err);
    }
    ak_free(options_text);
    json_decref(options);
    return status;
}

/* Libraries that take part: every installed baseline. */
static size_t installed_baselines(ak_duelist *duelists, const char **names, const run *r)
{
    size_t count = 0;
    for (size_t i = 0; i < r->session.baseline_count && count < BASELINES_MAX; i++) {
        if (r->session.baselines[i].installed) {
            duelists[count] = (ak_duelist){.baseline = r->session.baselines[i].name};
            names[count++] = r->session.baselines[i].title;
        }
    }
    return count;
}

/* A first look at the libraries, so that progress can be shown against them; the figures that count
   come from the finish. */
static ak_status measure_baselines(run *r, ak_error *err)
{
    ak_duelist duelists[BASELINES_MAX];
    const char *names[BASELINES_MAX];
    size_t count = installed_baselines(duelists, names, r);
    if (count == 0) {
        return AK_OK;
    }
    ak_duel_spec spec = {
        .duelists = duelists, .names = names, .count = count, .seconds = 0.25 * (double)count};
    ak_contestant *list;
    size_t reference;
    ak_status status = ak_session_duel(&list, &reference, &r->session, &spec, err);
    if (status != AK_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        json_t *fields = json_object();
        r->survey_ms[i] = list[i].median_ms;
        (void)(ak_json_set_text(fields, "name", list[i].name) &&
               ak_json_set_text(fields, "version", list[i].version) &&
               ak_json_set_real(fields, "ms", list[i].median_ms) &&
               ak_json_set_real(fields, "tflops", list[i].tflops) &&
               ak_json_set_real(fields, "gbs", list[i].gbs));
        ak_event_send(&r->events, "baseline", fields);
    }
    if (reference < count) {
        r->baseline_ms = list[reference].median_ms;
        r->adviser.counsel.library = names[reference];
        r->adviser.counsel.library_ms = list[reference].median_ms;
    }
    ak_contestants_free(list, count);
    return AK_OK;
}

static double best_tflops(const run *r)
{
    return r->best_ms > 0 ? r->task->shape.flops / r->best_ms * 1e-9 : 0;
}

static void announce(const run *r)
{
    const ak_task *task = r->task;
    const ak_ceilings *c = &r->session.ceilings;
    json_t *fields = json_object();
    (void)(ak_json_set_text(fields, "kernel", task->problem->name) &&
           ak_json_set_text(fields, "implementation", task->implementation->name) &&
           ak_json_set_text(fields, "device", task->device) &&
           ak_json_set_text(fields, "devices", task->devices) &&
           ak_json_set_text(fields, "reason", task->reason) &&
           ak_json_set_text(fields, "size", task->size_text) &&
           ak_json_set_text(fields, "dtype", ak_dtype_text(task->dtype)) &&
           ak_json_set_text(fields, "choices", task->choices_text) &&
           ak_json_set_text(fields, "strategy", r->asked) &&
           ak_json_set(fields, "strategy_is_default", json_boolean(r->options->strategy == NULL)) &&
           ak_json_set_text(fields, "model", r->adviser.model.name) &&
           ak_json_set_real(fields, "valid", (double)ak_space_count(task->space)) &&
           ak_json_set_real(fields, "cartesian", ak_space_cartesian(task->space)) &&
           ak_json_set(fields, "evaluations", json_integer((json_int_t)r->evaluations)) &&
           ak_json_set(fields, "resumed", json_integer((json_int_t)r->result->resumed)) &&
           ak_json_set_real(fields, "best_ms", r->best_ms) &&
           ak_json_set_real(fields, "best_tflops", best_tflops(r)) &&
           ak_json_set(fields, "seed", json_integer((json_int_t)task->seed)) &&
           ak_json_set_real(fields, "seconds", r->options->seconds) &&
           ak_json_set_real(fields, "flops", task->shape.flops) &&
           ak_json_set_real(fields, "bytes", task->shape.traffic) &&
           ak_json_set_real(fields, "peak_tflops", c->peak_tflops) &&
           ak_json_set_real(fields, "copy_gbs", c->copy_gbs) &&
           ak_json_set_real(fields, "triad_gbs", c->triad_gbs));
    ak_event_send(&r->events, "start", fields);
    ak_event_send(&r->events, "prepared", ak_pool_preparation(r->session.pool));
}

/* A layer of protection that this machine cannot give is said in every run, and that a model is
   not asked in every run that could have asked it. */
static void warn(const run *r)
{
    const char *missing = ak_sandbox_missing(ak_sandbox_landlock_abi() > 0, ak_sandbox_seccomp());
    if (ak_pool_recalls(r->session.pool)) {
        return; /* nothing runs */
    }
    if (missing != NULL) {
        ak_event_send(&r->events, "warning", json_pack("{s:s}", "text", missing));
    }
    if (r->options->llm != NULL && r->ops->await == NULL) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "the strategy %s asks no language model; the one that is configured is not "
                       "used",
                       r->ops->name);
        ak_event_send(&r->events, "warning", json_pack("{s:s}", "text", text));
    }
}

/* A device whose worker could not be kept alive: the others go on, and the user has to know. */
static void warn_of_lost_devices(run *r)
{
    size_t lost = ak_pool_given_up(r->session.pool);
    if (lost > r->lost) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "%zu of the %zu devices of this run died again and again and take part no "
                       "more; the others go on",
                       lost, r->devices);
        ak_event_send(&r->events, "warning", json_pack("{s:s}", "text", text));
        r->lost = lost;
    }
}

/* ---- search -----------------------------------------------------------------------------------
 */

static pending *free_flight(run *r)
{
    for (size_t i = 0; i < r->flight_count; i++) {
        if (!r->flights[i].used) {
            return &r->flights[i];
        }
    }
    return NULL;
}

static ak_status submit(run *r, const ak_proposal *proposal, const char *strategy,
                        int64_t propose_ns, ak_error *err)
{
    bool fresh = false;
    ak_status status =
        ak_set_add(&fresh, r->submitted, ak_config_key(r->task->space, &proposal->config), err);
    if (status != AK_OK || !fresh) {
        return status;
    }
    pending *flight = free_flight(r);
    *flight = (pending){.job = r->session.next_job++,
                        .proposal = *proposal,
                        .propose_ns = propose_ns,
                        .strategy = strategy,
                        .used = true};
    ak_job job = {
        .kind = AK_JOB_TRIAL, .id = flight->job, .config = proposal->config, .own_size = true};
    job.timer.give_up_ms = r->best_ms > 0 ? r->best_ms * HOPELESS : 0;
    r->sent++;
    return ak_pool_submit(r->session.pool, &job, err);
}

/* The new time of a configuration that was measured again. */
static ak_status correct(run *r, const ak_config *config, const ak_contestant *measured,
                         ak_error *err)
{
    for (size_t i = 0; i < r->history_count; i++) {
        if (memcmp(&r->history[i].config, config, sizeof *config) == 0) {
            r->history[i].ms = measured->median_ms;
            r->history[i].low_ms = measured->ci_low_ms;
            r->history[i].high_ms = measured->ci_high_ms;
        }
    }
    r->best_ms = 0;
    for (size_t i = 0; i < r->history_count; i++) {
        if (r->history[i].ms > 0 && (r->best_ms <= 0 || r->history[i].ms < r->best_ms)) {
            r->best_ms = r->history[i].ms;
            r->best = i;
        }
    }
    ak_observation seen_now = {
        .config = config, .ok = true, .ms = measured->median_ms, .again = true};
    return r->ops->observe(r->strategy, &seen_now, err);
}

/* Side by side, with nothing else running. One that no longer works keeps its time: its failure
   comes to light in the finish. */
static ak_status measure_again(run *r, const ak_config *doubts, size_t count, ak_error *err)
{
    ak_duelist duelists[DOUBTS_MAX];
    const char *names[DOUBTS_MAX];
    for (size_t i = 0; i < count; i++) {
        duelists[i] = (ak_duelist){.config = &doubts[i]};
        names[i] = "leader";
    }
    ak_duel_spec spec = {.duelists = duelists,
                         .names = names,
                         .count = count,
                         .seconds = DOUBT_SECONDS * (double)count,
                         .own_size = true};
    ak_contestant *list;
    size_t reference;
    ak_status status = ak_session_duel(&list, &reference, &r->session, &spec, err);
    if (status != AK_OK) {
        return status == AK_CANCELLED ? AK_OK : status;
    }
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        if (list[i].median_ms > 0) {
            status = correct(r, &doubts[i], &list[i], err);
        }
    }
    ak_contestants_free(list, count);
    return status;
}

/* Nothing is in flight and the strategy has nothing to propose: it doubts, it waits, or it is done.
   Waits a short while only, so that budgets are seen. */
static ak_status consult(run *r, ak_error *err)
{
    ak_config doubts[DOUBTS_MAX];
    size_t count = 0;
    if (r->ops->recheck != NULL) {
        count = r->ops->recheck(doubts, r->strategy, DOUBTS_MAX);
    }
    if (count > 0) {
        return measure_again(r, doubts, count, err);
    }
    if (r->ops->await != NULL && r->ops->await(r->strategy, AK_SECOND_NS / 4)) {
        return AK_OK;
    }
    r->exhausted = true;
    r->ended = r->ops->ended == NULL ? NULL : r->ops->ended(r->strategy);
    return AK_OK;
}

static ak_status submit_given(run *r, ak_error *err)
{
    ak_proposal proposal = {0};
    const char *text = r->options->first[r->next_first++];
    if (ak_config_parse(&proposal.config, r->task->space, text, NULL) != AK_OK) {
        return AK_OK;
    }
    return submit(r, &proposal, proposed_by_caller, 0, err);
}

/* Keeps the pool fed, never beyond the budget. */
static ak_status feed(run *r, ak_error *err)
{
    ak_status status = AK_OK;
    while (status == AK_OK && !r->exhausted && r->sent < r->evaluations &&
           ak_pool_pending(r->session.pool) < r->flight_count) {
        size_t count = 0;
        ak_proposal proposal;
        int64_t begin = ak_session_now_ns(&r->session);
        if (r->next_first < r->options->first_count) {
            status = submit_given(r, err);
            continue;
        }
        status = r->ops->propose(&proposal, &count, r->strategy, 1, err);
        if (status == AK_OK && count == 0) {
            return ak_pool_pending(r->session.pool) == 0 ? consult(r, err) : AK_OK;
        }
        if (status == AK_OK) {
            const char *name = proposal.strategy == NULL ? r->ops->name : proposal.strategy;
            status = submit(r, &proposal, name, ak_session_now_ns(&r->session) - begin, err);
        }
    }
    return status;
}

static void report_trial(const run *r, const ak_trial *trial, bool is_default)
{
    json_t *fields = NULL;
    if (r->events.sink == NULL || ak_trial_to_json(&fields, trial, NULL) != AK_OK) {
        return;
    }
    (void)(ak_json_set(fields, "default", json_boolean(is_default)) &&
           ak_json_set(fields, "n", json_integer((json_int_t)r->result->evaluated)) &&
           ak_json_set(fields, "evaluations", json_integer((json_int_t)r->evaluations)) &&
           ak_json_set_real(fields, "best_ms", r->best_ms) &&
           ak_json_set_real(fields, "default_ms", r->default_ms) &&
           ak_json_set_real(fields, "baseline_ms", r->baseline_ms) &&
           ak_json_set_real(fields, "best_tflops", best_tflops(r)));
    ak_event_send(&r->events, "trial", fields);
}

/* One finished job becomes a trial: completed, durable, observed, told. */
static ak_status take(run *r, ak_result *result, ak_error *err)
{
    pending *flight = NULL;
    for (size_t i = 0; i < r->flight_count; i++) {
        if (r->flights[i].used && r->flights[i].job == result->id) {
            flight = &r->flights[i];
        }
    }
    if (flight == NULL) {
        return ak_fail(err, AK_INTERNAL, "a result came for job %llu, which was not submitted",
                       (unsigned long long)result->id);
    }
    int64_t begin = ak_session_now_ns(&r->session);
    const ak_proposal *p = &flight->proposal;
    ak_trial *trial = &result->trial;
    trial->propose_ns = flight->propose_ns;
    trial->generation = p->generation;
    trial->predicted_gain = p->predicted_gain;
    trial->strategy = ak_strdup(flight->strategy);
    trial->model = ak_strdup(p->model);
    trial->hypothesis = ak_strdup(p->hypothesis);
    bool lost = trial->strategy == NULL || (p->model != NULL && trial->model == NULL) ||
                (p->hypothesis != NULL && trial->hypothesis == NULL);
    ak_status status = lost ? ak_fail_memory(err)
                            : ak_session_complete(trial, &r->session, &p->config, r->id, err);
    for (size_t i = 0; p->has_parent && i < r->history_count; i++) {
        if (memcmp(&r->history[i].config, &p->parent, sizeof p->parent) == 0) {
            trial->parent = r->history[i].trial;
        }
    }
    trial->overhead_ns += ak_session_now_ns(&r->session) - begin;
    if (status == AK_OK && r->archive != NULL) {
        status = ak_archive_add_trial(r->archive, trial, err);
    }
    if (status != AK_OK) {
        return status;
    }
    bool ok = trial->status == AK_TRIAL_OK;
    r->result->evaluated++;
    if (!ok) {
        r->result->failed[trial->status]++;
    }
    bool is_default = flight->strategy == proposed_first;
    r->default_ended = r->default_ended || is_default;
    if (ok && is_default) {
        r->default_ms = trial->median_ms;
    }
    if (ok && !result->repeated) {
        double compile = (double)trial->compile_ns / 1e9;
        r->check_seconds = (double)trial->check_ns / 1e9;
        r->compile_seconds = compile > r->compile_seconds ? compile : r->compile_seconds;
    }
    status = remember(r, &p->config, trial, result->repeated, err);
    flight->used = false;
    report_trial(r, trial, is_default);
    return status;
}

/* Waits a short while, so that budgets are seen, and takes what has finished. */
static ak_status take_next(run *r, ak_error *err)
{
    ak_result result = {0};
    ak_status status = ak_pool_wait(&result, r->session.pool, AK_SECOND_NS / 4, err);
    if (status == AK_TIMED_OUT || status == AK_CANCELLED) {
        return AK_OK;
    }
    if (status == AK_OK) {
        status = take(r, &result, err);
        ak_result_clear(&result);
    }
    return status;
}

static void announce_phase(const run *r, const char *name)
{
    ak_event_send(&r->events, "phase", json_pack("{s:s}", "name", name));
}

static ak_status search(run *r, ak_error *err)
{
    announce_phase(r, "search");
    ak_proposal first = {0};
    ak_space_default(&first.config, r->task->space);
    ak_status status = submit(r, &first, proposed_first, 0, err);
    const char *why = NULL;
    while (status == AK_OK && (why = stop_reason(r)) == NULL) {
        status = feed(r, err);
        if (status == AK_OK) {
            status = ak_adviser_status(&r->adviser, err);
        }
        if (status != AK_OK || ak_pool_pending(r->session.pool) == 0) {
            continue;
        }
        status = take_next(r, err);
    }
    /* What is in flight is measured in any case: it is taken as trials too. But when time is up and
       there is a result, what has not begun is left; but not the default, which others, that
       compile faster, may have overtaken: without it a run with little time would say nothing. */
    bool late = why != NULL && strcmp(why, "time") == 0;
    while (status == AK_OK && !cancelled(r)) {
        if (late && r->best_ms > 0 && r->default_ended) {
            ak_pool_withdraw(r->session.pool);
        }
        if (ak_pool_pending(r->session.pool) == 0) {
            break;
        }
        status = take_next(r, err);
    }
    r->result->stopped_by = why == NULL ? "error" : why;
    warn_of_lost_devices(r);
    return status;
}

/* ---- finish -----------------------------------------------------------------------------------
 */

static int by_ms(const void *a, const void *b)
{
    double x = ((const seen *)a)->ms, y = ((const seen *)b)->ms;
    return (x > y) - (x < y);
}

/* Is one of them the same machine code? Such trials share one measurement, to the last bit. */
static bool among(const seen *list, size_t count, const seen *one)
{
    for (size_t i = 0; i < count; i++) {
        if (list[i].device == one->device && list[i].ms == one->ms &&
            list[i].low_ms == one->low_ms && list[i].high_ms == one->high_ms) {
            return true;
        }
    }
    return false;
}

/* The fastest few of the search by each device, none of them the code of another, and the default:
   what is exported should never be slower than what there was before. History is reordered. */
static size_t choose_finalists(seen *out, run *r)
{
    size_t ok = 0, taken[AK_DEVICES_MAX] = {0}, each = finalists_of_each(r);
    for (size_t i = 0; i < r->history_count; i++) {
        if (r->history[i].ms > 0) {
            seen kept = r->history[i];
            r->history[i] = r->history[ok];
            r->history[ok++] = kept;
        }
    }
    if (ok > 0) {
        qsort(r->history, ok, sizeof(seen), by_ms);
    }
    size_t count = 0;
    ak_config fallback;
    bool have_default = false;
    ak_space_default(&fallback, r->task->space);
    for (size_t i = 0; i < ok; i++) {
        if (taken[r->history[i].device] < each && !among(out, count, &r->history[i])) {
            taken[r->history[i].device]++;
            out[count++] = r->history[i];
            have_default =
                have_default || memcmp(&r->history[i].config, &fallback, sizeof fallback) == 0;
        }
    }
    for (size_t i = 0; i < ok && !have_default; i++) {
        if (memcmp(&r->history[i].config, &fallback, sizeof fallback) == 0) {
            out[count++] = r->history[i];
            have_default = true;
        }
    }
    return count;
}

static ak_status set_best(run *r, const seen *winner, const ak_contestant *measured, ak_error *err)
{
    ak_trial *best = &r->result->best;
    best->id = winner->trial;
    best->status = AK_TRIAL_OK;
    best->median_ms = measured == NULL ? winner->ms : measured->median_ms;
    best->ci_low_ms = measured == NULL ? winner->low_ms : measured->ci_low_ms;
    best->ci_high_ms = measured == NULL ? winner->high_ms : measured->ci_high_ms;
    ak_status status = ak_session_complete(best, &r->session, &winner->config, r->id, err);
    r->result->found = status == AK_OK;
    return status;
}

/* Each finalist once more, on every awkward size: the search checks its own size and at most one
   other. One that fails is archived as what it is and leaves. After AK_CANCELLED those that were
   not reached are still there. */
static ak_status drop_wrong_finalists(seen *finalists, size_t *count, run *r, ak_error *err)
{
    ak_config configs[FINALISTS_MAX + 1];
    ak_trial trials[FINALISTS_MAX + 1];
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++) {
        configs[i] = finalists[i].config;
    }
    ak_status checked = ak_session_check(trials, &r->session, configs, *count, r->id, err);
    ak_status status = checked == AK_CANCELLED ? AK_OK : checked;
    if (status != AK_OK) {
        return status;
    }
    for (size_t i = 0; i < *count; i++) {
        ak_trial *trial = &trials[i];
        if (trial->status == AK_TRIAL_OK) {
            finalists[kept++] = finalists[i];
        } else if (status == AK_OK) {
            r->result->failed[trial->status]++;
            trial->strategy = ak_strdup("check of the finalists");
            status = trial->strategy == NULL ? ak_fail_memory(err)
                     : r->archive != NULL    ? ak_archive_add_trial(r->archive, trial, err)
                                             : AK_OK;
            report_trial(r, trial, false);
        }
        ak_trial_clear(trial);
    }
    *count = kept;
    return status == AK_OK ? checked : status;
}

/* Said at once, and kept with the result. `libraries`: where they begin among the contestants. */
static ak_status warn_of_finish(run *r, size_t libraries, ak_error *err)
{
    ak_warnings warnings = {0};
    ak_tune_result *result = r->result;
    ak_status status =
        ak_warn_conditions(&warnings, result->contestants, result->contestant_count, err);
    for (size_t i = libraries; status == AK_OK && i < result->contestant_count; i++) {
        status =
            ak_warn_slower(&warnings, &result->contestants[i], r->survey_ms[i - libraries], err);
    }
    for (size_t i = 0; i < warnings.count; i++) {
        ak_event_send(&r->events, "warning", json_pack("{s:s}", "text", warnings.texts[i]));
    }
    result->warnings = warnings.texts;
    result->warning_count = warnings.count;
    return status;
}

/* Finalists and libraries, interleaved, with no compiler running beside them. */
static ak_status finish(run *r, ak_error *err)
{
    seen finalists[FINALISTS_MAX + 1];
    size_t count = choose_finalists(finalists, r);
    if (count == 0) {
        return AK_OK;
    }
    if (cancelled(r) || ak_pool_recalls(r->session.pool)) { /* it would come to the same */
        return set_best(r, &finalists[0], NULL, err);
    }
    ak_status checked = drop_wrong_finalists(finalists, &count, r, err);
    if (count == 0 || (checked != AK_OK && checked != AK_CANCELLED)) {
        return checked == AK_CANCELLED ? AK_OK : checked;
    }
    if (checked == AK_CANCELLED) {
        return set_best(r, &finalists[0], NULL, err);
    }
    ak_duelist duelists[FINALISTS_MAX + 1 + BASELINES_MAX];
    const char *names[FINALISTS_MAX + 1 + BASELINES_MAX];
    static const char *const ranks[] = {"first finalist", "second finalist", "third finalist",
                                        "further finalist"};
    ak_config fallback;
    ak_space_default(&fallback, r->task->space);
    for (size_t i = 0; i < count; i++) {
        bool is_default = memcmp(&finalists[i].config, &fallback, sizeof fallback) == 0;
        duelists[i] = (ak_duelist){.config = &finalists[i].config};
        names[i] = is_default ? "default" : ranks[i < 3 ? i : 3];
    }
    size_t all = count + installed_baselines(duelists + count, names + count, r);
    announce_phase(r, "finish");
    ak_duel_spec spec = {.duelists = duelists,
                         .names = names,
                         .count = all,
                         .seconds = DUEL_SECONDS * (double)all,
                         .pace = ak_session_pace(&r->session)};
    size_t reference;
    ak_status status = ak_session_ceilings(&r->session, err);
    if (r->options->seconds > 0 && spec.seconds > seconds_left(r)) {
        double least = DUEL_SECONDS_MIN * (double)all;
        spec.seconds = seconds_left(r) > least ? seconds_left(r) : least;
    }
    if (status == AK_OK) {
        status = ak_session_duel(&r->result->contestants, &reference, &r->session, &spec, err);
    }
    if (status == AK_CANCELLED) {
        return set_best(r, &finalists[0], NULL, err);
    }
    if (status != AK_OK) {
        return status;
    }
    r->result->contestant_count = all;
    r->result->baseline = reference;
    status = warn_of_finish(r, count, err);
    if (status != AK_OK) {
        return status;
    }
    size_t winner = count;
    for (size_t i = 0; i < count; i++) {
        const ak_contestant *c = &r->result->contestants[i];
        if (c->median_ms > 0 &&
            (winner == count || c->median_ms < r->result->contestants[winner].median_ms)) {
            winner = i;
        }
    }
    if (winner == count) {
        return AK_OK; /* none survived its second check: nothing is verified */
    }
    if (reference < all) {
        r->result->speedup = r->result->contestants[winner].ratio;
    }
    char *tuned = ak_strdup("tuned");
    if (tuned == NULL) {
        return ak_fail_memory(err);
    }
    ak_free(r->result->contestants[winner].name);
    r->result->contestants[winner].name = tuned;
    return set_best(r, &finalists[winner], &r->result->contestants[winner], err);
}

static ak_status end_run(run *r, ak_error *err)
{
    char *json = NULL, ended[AK_CLOCK_UTC_BYTES];
    ak_session_utc(ended, &r->session);
    r->result->seconds = (double)(ak_session_now_ns(&r->session) - r->begin_ns) / 1e9;
    ak_status status = ak_tune_result_json(&json, r->result, r->task, err);
    if (status == AK_OK && r->archive != NULL) {
        status = ak_archive_end_run(r->archive, r->id, ended, json, err);
    }
    if (status == AK_OK) {
        json_t *fields = NULL;
        if (ak_json_parse(&fields, json, strlen(json), "result", NULL) == AK_OK) {
            ak_event_send(&r->events, "end", fields);
        }
    }
    ak_free(json);
    return status;
}

ak_status ak_tune(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                  const ak_tune_options *options, ak_error *err)
{
    static const ak_tune_options defaults = {0};
    ak_tune_result result = {0};
    run r = {.task = task,
             .archive = archive,
             .options = options == NULL ? &defaults : options,
             .result = &result,
             .begin_ns = ak_clock_ns()};
    r.begin_ns -= (int64_t)(1e9 * r.options->spent_seconds);
    r.evaluations = budget(&r);
    r.events = (ak_events){.sink = r.options->sink,
                           .context = r.options->sink_context,
                           .run = r.id,
                           .start_ns = r.begin_ns};
    ak_session_options session = {.cancel = r.options->cancel, .every_device = true};
    ak_strategy_choice choice;
    ak_status status = ak_strategy_choose(&choice,
                                          r.options->strategy != NULL ? r.options->strategy
                                          : r.options->llm != NULL    ? "hybrid"
                                                                      : AK_STRATEGY_DEFAULT,
                                          err);
    if (status == AK_OK) {
        status = ak_strategy_text(r.asked, &choice, err);
    }
    if (status == AK_OK && task->recorded && r.options->target_speedup > 0) {
        status = ak_fail(err, AK_INVALID,
                         "a recording has no library to beat; leave --target-speedup out");
    }
    if (status != AK_OK) {
        return status;
    }
    r.ops = choice.ops;
    r.devices = device_count(task);
    r.flight_count = (size_t)ak_cores() + 1 + FLIGHTS_A_DEVICE * (r.devices - 1);
    r.flights = ak_alloc(r.flight_count, sizeof *r.flights);
    r.submitted = ak_set_new();
    if (r.flights == NULL || r.submitted == NULL) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        status = ak_adviser_open(&r.adviser, r.options, task, &r.session, r.ops, &r.events,
                                 r.archive, err);
    }
    if (status == AK_OK) {
        status = ak_session_open(&r.session, task, &session, err);
    }
    if (status == AK_OK) {
        if (ak_pool_recalls(r.session.pool)) {
            r.begin_ns = r.events.start_ns = 0; /* on its own clock, on which nothing overlaps */
            r.flight_count = 1;
        }
        ak_adviser_join(&r.adviser);
        r.events.pool = r.session.pool;
        status = ak_session_survey(&r.session, err);
    }
    if (status == AK_OK) {
        status = reduce_budget(&r, err);
    }
    if (status == AK_OK) {
        ak_strategy_context context = {.space = task->space,
                                       .constants = task->constants,
                                       .kernel = task->problem->name,
                                       .implementation = task->implementation->name,
                                       .rank = task->rank,
                                       .seed = task->seed,
                                       .evaluations = r.evaluations,
                                       .hyper = choice.hyper,
                                       .counsel = &r.adviser.counsel};
        status = r.ops->open(&r.strategy, &context, err);
    }
    if (status == AK_OK) {
        status = start_run(&r, err);
    }
    if (status == AK_OK) {
        status = resume_trials(&r, err);
    }
    if (status == AK_OK) {
        announce(&r);
        warn(&r);
        if (r.session.baseline_count > 0) {
            announce_phase(&r, "survey");
        }
        status = measure_baselines(&r, err);
    }
    if (status == AK_OK) {
        status = search(&r, err);
    }
    if (status == AK_OK) {
        status = finish(&r, err);
    }
    if (r.strategy != NULL) {
        r.ops->close(r.strategy); /* what it gives up now costs too, and is told */
    }
    if (status == AK_OK) {
        status = ak_adviser_status(&r.adviser, err);
    }
    if (status == AK_OK) {
        status = ak_adviser_total(&result, &r.adviser, err);
    }
    if (status == AK_OK) {
        status = end_run(&r, err);
    }
    ak_adviser_close(&r.adviser);
    ak_session_close(&r.session);
    ak_set_free(r.submitted);
    ak_free(r.history);
    ak_free(r.flights);
    if (status != AK_OK) {
        ak_tune_result_clear(&result);
        return status;
    }
    *out = result;
    return AK_OK;
}
