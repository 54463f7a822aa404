/*
 * search.c: the search loop of a run.
 *
 *     the default, the caller's configurations, then the strategy's, until a budget ends:
 *         propose -> compile | check, time -> archive -> observe
 *         (results that finish together share one flush of the archive to the disk)
 *         (with nothing in flight, a strategy may wait for a reply or have its best measured again)
 *
 * The next configurations are compiled while this one is measured (worker/pool.h). A trial is given
 * to the archive before its device starts the next; while the archive is locked, the trial waits in
 * memory.
 */

#include "tuner/run.h"

/* If the objective is the time, a configuration that takes this many times as long as the best is
   dropped after few samples. */
#define HOPELESS 1.25
/* Most configurations that a strategy may have measured again at once, and seconds for each. */
#define DOUBTS_MAX    8
#define DOUBT_SECONDS 0.25
/* Most results that are archived together: more than devices usually finish during one flush. */
#define GROUP_MAX 64
/* Jobs in flight for each device after the first. */
#define FLIGHTS_A_DEVICE 2
/* Longest wait, after which the budgets are checked again. */
#define WAIT_NS (AK_SECOND_NS / 4)

/* Names of proposers: of the default, which is tried first unless it is resumed; of configurations
   that the caller wants tried first; of the best ones of another size, dtype or device. */
static const char proposed_first[] = "default";
static const char proposed_by_caller[] = "given";
static const char proposed_elsewhere[] = "like";

/* ---- proposals ------------------------------------------------------------------------------- */

/* Returns how many jobs may be in flight. One more than can be compiled at a time keeps the compile
   workers busy. Each further device adds one job to be measured and one that is ready. On a
   recording jobs do not overlap. */
static size_t most_in_flight(const ak_tuning *r)
{
    const ak_pool *pool = r->session.pool;
    return ak_pool_recalls(pool)
               ? 1
               : ak_pool_compile_workers(pool) + 1 + FLIGHTS_A_DEVICE * (r->devices - 1);
}

/* Returns a free slot, or NULL without memory. The other slots may move. */
static ak_flight *free_flight(ak_tuning *r, ak_error *err)
{
    for (size_t i = 0; i < r->flight_count; i++) {
        if (!r->flights[i].used) {
            return &r->flights[i];
        }
    }
    return AK_GROW(r->flights, &r->flight_capacity, r->flight_count + 1, err) == AK_OK
               ? &r->flights[r->flight_count++]
               : NULL;
}

/* Submits a proposal unless its configuration was submitted or resumed before. */
static ak_status submit(ak_tuning *r, const ak_proposal *proposal, const char *strategy,
                        int64_t propose_ns, ak_error *err)
{
    bool fresh = false;
    AK_DO(ak_set_add(&fresh, r->submitted, ak_config_key(r->task->space, &proposal->config), err));
    if (!fresh) {
        return AK_OK;
    }
    ak_flight *flight = free_flight(r, err);
    if (flight == NULL) {
        return AK_NO_MEMORY;
    }
    *flight = (ak_flight){.job = r->session.next_job++,
                          .proposal = *proposal,
                          .propose_ns = propose_ns,
                          .strategy = strategy,
                          .used = true};
    ak_job job = {
        .kind = AK_JOB_TRIAL, .id = flight->job, .config = proposal->config, .specialised = true};
    /* A slower configuration may be the better one if the objective is not the time, so none is
       given up early. */
    bool timed = r->task->objective == NULL && r->best_ms > 0;
    job.timer.give_up_ms = timed ? r->best_ms * HOPELESS : 0;
    r->sent++;
    return ak_pool_submit(r->session.pool, &job, err);
}

/* Keeps for the result the latest measurement of a configuration that was measured again. */
static ak_status keep_again(ak_tuning *r, ak_compared *measured, ak_error *err)
{
    ak_tune_result *result = r->result;
    const size_t at = AK_FIND(result->again, result->again_count, config, measured->config);
    AK_DO(AK_GROW(result->again, &r->again_capacity, at + 1, err));
    if (at == result->again_count) {
        result->again[result->again_count++] = (ak_compared){0};
    }
    ak_compared before = result->again[at];
    result->again[at] = *measured;
    *measured = before; /* the caller frees it */
    return AK_OK;
}

/* Measures configurations side by side while nothing else runs. A configuration that fails now
   keeps its earlier time and cost; if it gets into the finish, its check there will find the
   failure. */
static ak_status measure_again(ak_tuning *r, const ak_config *doubts, size_t count, ak_error *err)
{
    ak_comparison_candidate candidates[DOUBTS_MAX];
    const char *names[DOUBTS_MAX];
    for (size_t i = 0; i < count; i++) {
        candidates[i] = (ak_comparison_candidate){.config = &doubts[i]};
        names[i] = "elite";
    }
    ak_comparison_spec spec = {.candidates = candidates,
                               .names = names,
                               .count = count,
                               .fallback = count,
                               .seconds = DOUBT_SECONDS * (double)count,
                               .specialised = true};
    AK_AT_END(ak_comparison_result_clear) ak_comparison_result comparison = {0};
    ak_status status = ak_session_comparison(&comparison, &r->session, &spec, err);
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        if (ak_compared_cost(&comparison.list[i]) > 0) {
            AK_DO(ak_tuning_correct(r, &doubts[i], &comparison.list[i], err));
            AK_DO(keep_again(r, &comparison.list[i], err));
        }
    }
    return status == AK_CANCELLED ? AK_OK : status;
}

/* Handles a strategy that has nothing to propose while nothing is in flight: measures its best
   again, waits for a reply of its language model, or notes that it is exhausted. */
static ak_status consult(ak_tuning *r, ak_error *err)
{
    ak_config doubts[DOUBTS_MAX];
    size_t count = 0;
    if (r->ops->recheck != NULL) {
        count = r->ops->recheck(doubts, r->strategy, DOUBTS_MAX);
    }
    if (count > 0) {
        return measure_again(r, doubts, count, err);
    }
    if (r->ops->await != NULL && r->ops->await(r->strategy, WAIT_NS)) {
        return AK_OK;
    }
    r->exhausted = true;
    r->ended = r->ops->ended == NULL ? NULL : r->ops->ended(r->strategy);
    return AK_OK;
}

static ak_status submit_given(ak_tuning *r, ak_error *err)
{
    ak_proposal proposal = {0};
    const char *text = r->options->first[r->next_first++];
    if (ak_config_parse(&proposal.config, r->task->space, text, NULL) != AK_OK) {
        return AK_OK;
    }
    return submit(r, &proposal, proposed_by_caller, 0, err);
}

/* Submits the strategy's next proposal. *idle is true if it has none now. */
static ak_status submit_proposed(bool *idle, ak_tuning *r, ak_error *err)
{
    bool found = false;
    ak_proposal proposal = {0};
    int64_t begin = ak_session_now_ns(&r->session);
    AK_DO(r->ops->propose(&proposal, &found, r->strategy, err));
    *idle = !found;
    if (*idle) {
        return AK_OK;
    }
    const char *name = proposal.strategy == NULL ? r->ops->name : proposal.strategy;
    return submit(r, &proposal, name, ak_session_now_ns(&r->session) - begin, err);
}

/* Submits the next configuration: from the caller, else one that was good elsewhere, else from the
   strategy. *idle is true if there is none now. */
static ak_status submit_next(bool *idle, ak_tuning *r, ak_error *err)
{
    ak_proposal proposal = {0};
    *idle = false;
    if (r->next_first < r->options->first_count) {
        return submit_given(r, err);
    }
    if (ak_transfer_next(&proposal.config, &r->transfer, ak_tuning_expected_trials(r))) {
        return submit(r, &proposal, proposed_elsewhere, 0, err);
    }
    return submit_proposed(idle, r, err);
}

/* Keeps the pool supplied with jobs within the budget. */
static ak_status feed(ak_tuning *r, ak_error *err)
{
    bool idle = false;
    while (!r->exhausted && r->sent < r->evaluations &&
           ak_pool_pending(r->session.pool) < most_in_flight(r)) {
        AK_DO(submit_next(&idle, r, err));
        if (idle) {
            return ak_pool_pending(r->session.pool) == 0 ? consult(r, err) : AK_OK;
        }
    }
    return AK_OK;
}

/* ---- results --------------------------------------------------------------------------------- */

static ak_flight *flight_of(ak_tuning *r, uint64_t job)
{
    for (size_t i = 0; i < r->flight_count; i++) {
        if (r->flights[i].used && r->flights[i].job == job) {
            return &r->flights[i];
        }
    }
    return NULL;
}

/* Adds the proposal's data, and everything else that the pool does not know, to a trial. */
static ak_status complete(ak_trial *trial, const ak_tuning *r, const ak_flight *flight,
                          ak_error *err)
{
    int64_t begin = ak_session_now_ns(&r->session);
    const ak_proposal *p = &flight->proposal;
    trial->propose_ns = flight->propose_ns;
    trial->generation = p->generation;
    trial->predicted_gain = p->predicted_gain;
    AK_DO(ak_copy_text(&trial->strategy, flight->strategy, err));
    AK_DO(ak_copy_text(&trial->model, p->model, err));
    AK_DO(ak_copy_text(&trial->hypothesis, p->hypothesis, err));
    ak_status status = ak_session_complete_trial(trial, &r->session, &p->config, r->id, err);
    const ak_seen *parent = p->has_parent ? ak_tuning_find(r, &p->parent) : NULL;
    if (parent != NULL) {
        trial->parent = parent->trial;
    }
    trial->overhead_ns += ak_session_now_ns(&r->session) - begin;
    return status;
}

void ak_tuning_note_default(ak_tuning *r, const ak_trial *trial)
{
    const bool ok = trial->status == AK_TRIAL_OK;
    r->default_ended = true;
    r->default_ms = ok ? trial->median_ms : 0;
    r->default_cost = ok ? ak_trial_cost(trial) : 0;
}

static void count_trial(ak_tuning *r, const ak_trial *trial, bool is_default)
{
    bool ok = trial->status == AK_TRIAL_OK;
    r->result->evaluated++;
    if (!ok) {
        r->result->failed[trial->status]++;
    }
    if (is_default) {
        ak_tuning_note_default(r, trial);
    }
    if (ok && !trial->same_code) {
        double compile = (double)trial->compile_ns / 1e9;
        r->check_seconds = (double)trial->check_ns / 1e9;
        r->compile_seconds = compile > r->compile_seconds ? compile : r->compile_seconds;
    }
}

/* Results that are archived together. */
typedef struct group {
    ak_result results[GROUP_MAX];
    ak_flight *flights[GROUP_MAX];
    size_t count;
} group;

/* Turns finished jobs into trials and archives them, with one flush to the disk for all. */
static ak_status keep(ak_tuning *r, group *g, ak_error *err)
{
    ak_trial *trials[GROUP_MAX];
    for (size_t i = 0; i < g->count; i++) {
        g->flights[i] = flight_of(r, g->results[i].id);
        AK_FAIL_IF(g->flights[i] == NULL, err, AK_INTERNAL,
                   "a result came for job %llu, which was not submitted",
                   (unsigned long long)g->results[i].id);
        trials[i] = &g->results[i].trial;
        AK_DO(complete(trials[i], r, g->flights[i], err));
    }
    return r->archive == NULL ? AK_OK : ak_archive_add_trials(r->archive, trials, g->count, err);
}

/* Lets history and strategy observe a trial, and announces it. If there is an archive, the trial
   was given to it before. */
static ak_status observe(ak_tuning *r, ak_flight *flight, const ak_result *result, ak_error *err)
{
    bool is_default = flight->strategy == proposed_first;
    count_trial(r, &result->trial, is_default);
    ak_status status = ak_tuning_remember(r, &flight->proposal.config, &result->trial, err);
    flight->used = false;
    ak_tuning_announce_trial(r, &result->trial, is_default);
    return status;
}

/* Waits up to WAIT_NS for a job to finish, then archives, observes and announces all that have
   finished. The devices that did them get their next jobs afterwards. */
static ak_status take_next(ak_tuning *r, ak_error *err)
{
    group g = {.count = 0};
    if (r->archive != NULL) {
        ak_archive_retry(r->archive);
    }
    ak_status status = ak_pool_wait(&g.results[0], r->session.pool, WAIT_NS, err);
    if (status != AK_OK) {
        return status == AK_TIMED_OUT || status == AK_CANCELLED ? AK_OK : status;
    }
    for (g.count = 1; g.count < GROUP_MAX && ak_pool_take(&g.results[g.count], r->session.pool);) {
        g.count++;
    }
    status = keep(r, &g, err);
    for (size_t i = 0; i < g.count; i++) {
        status = status == AK_OK ? observe(r, g.flights[i], &g.results[i], err) : status;
        ak_result_clear(&g.results[i]);
    }
    return status;
}

/* Returns true if the status is a fault of the machine (no room for files, no process, no device),
   which says nothing about the configuration. */
static bool of_the_machine(ak_status status)
{
    return status == AK_IO || status == AK_TIMED_OUT || status == AK_NOT_FOUND ||
           status == AK_UNAVAILABLE || status == AK_CRASHED;
}

/* Does what take_next does. If the machine fails, *fault is true and the run keeps the fault and
   goes on, because the finish may still be possible. */
static ak_status take_next_or_fault(bool *fault, ak_tuning *r, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = take_next(r, &why);
    *fault = of_the_machine(status);
    if (*fault) {
        r->fault = why;
        return AK_OK;
    }
    return status == AK_OK ? AK_OK : ak_fail(err, status, "%s", why.text);
}

/* ---- loop ------------------------------------------------------------------------------------ */

/* Searches until there is a reason to stop. *why is that reason, or NULL after an error. */
static ak_status search_until_stopped(const char **why, ak_tuning *r, ak_error *err)
{
    ak_proposal first = {0};
    ak_space_default(&first.config, r->task->space);
    AK_DO(submit(r, &first, proposed_first, 0, err));
    while ((*why = ak_tuning_stop_reason(r)) == NULL) {
        bool fault = false;
        AK_DO(feed(r, err));
        AK_DO(ak_run_advisor_status(&r->advisor, err));
        if (ak_pool_pending(r->session.pool) == 0) {
            continue;
        }
        AK_DO(take_next_or_fault(&fault, r, err));
        if (fault) {
            ak_pool_withdraw(r->session.pool);
            *why = "fault";
            break;
        }
    }
    return AK_OK;
}

/* Takes the jobs that are still in flight as trials. If time is up (`late`), a configuration works
   and the default has been tried, jobs that have not begun are withdrawn. Until then they are
   waited for: configurations that compile faster may have overtaken the default, without which a
   short run would have nothing to compare with. Stops at once if the run is cancelled. */
static ak_status drain(ak_tuning *r, bool late, ak_error *err)
{
    while (!ak_tuning_cancelled(r)) {
        bool fault = false;
        size_t waiting = ak_pool_pending(r->session.pool);
        if (late && r->best_cost > 0 && r->default_ended) {
            ak_pool_withdraw(r->session.pool);
        }
        if (ak_pool_pending(r->session.pool) == 0) {
            break;
        }
        AK_DO(take_next_or_fault(&fault, r, err));
        if (fault && ak_pool_pending(r->session.pool) >= waiting) {
            break; /* no further result will come */
        }
    }
    return AK_OK;
}

/* Warns if devices were given up, because their workers could not be kept alive. */
static void warn_of_lost_devices(ak_tuning *r)
{
    size_t lost = ak_pool_given_up(r->session.pool);
    if (lost > r->lost) {
        char text[500];
        const char *why = ak_pool_given_up_why(r->session.pool);
        (void)snprintf(
            text, sizeof text,
            "%zu of the %zu device%s of this run kept failing and %s no longer used%s%s%s", lost,
            r->devices, r->devices == 1 ? "" : "s", lost == 1 ? "is" : "are",
            lost < r->devices ? "; the others continue" : "", *why == 0 ? "" : ": ", why);
        ak_tuning_keep_warning(r, text);
        r->lost = lost;
    }
}

ak_status ak_tuning_search(ak_tuning *r, ak_error *err)
{
    const char *why = NULL;
    ak_tuning_announce_phase(r, "search");
    ak_status status = AK_OK;
    AK_TRY(search_until_stopped(&why, r, err));
    AK_TRY(drain(r, why != NULL && strcmp(why, "time") == 0, err));
out:
    r->result->stopped_by = why == NULL ? "error" : why;
    warn_of_lost_devices(r);
    return status;
}
