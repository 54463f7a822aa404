/*
 * replay.c: runs a strategy on a recording against a simulated clock and implements ak_simulate.
 *
 *     ask the strategy -> look up the configuration -> advance the clock by its cost -> tell
 *
 * A replay needs neither the tuner nor a backend; recording.h tells it apart from a recall. The
 * repeats are independent. Threads take them one by one, each thread with its own space. The seed
 * of a repeat alone decides which trials the repeat makes, so the number of threads changes only
 * the duration.
 */
#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/map.h"
#include "lab/score.h"
#include "measure/stats.h"
#include "strategy/like_read.h"
#include "strategy/transfer.h"

#define REPEATS_DEFAULT 25
#define REPEATS_MAX     100000
#define BATCH_MAX       4096
#define JOBS_MAX        256
/* Unless the options set a time, a repeat may take this many times the simulated time of the
   score's last point, as in the experiments of the paper that defines the score (see ak_simulate).
   If the recording has no costs, only the options' evaluations limit a repeat. */
#define BEYOND_CUTOFF 1.1

typedef struct job {
    const ak_recording *recording;
    ak_simulate_options options;
    ak_strategy_choice choice;
    bool to_optimum; /* a repeat ends once it has found the optimum */
    ak_like *like;   /* results of other recordings; NULL if none are given */
    ak_simulated *repeats;
    ak_trace *traces;
    atomic_size_t next; /* index of the next repeat to take */
    atomic_bool failed;
    pthread_mutex_t lock; /* guards status and err */
    ak_status status;
    ak_error *err;
} job;

/* The state of one repeat. */
typedef struct replay {
    const job *job;
    ak_space *space;
    ak_strategy *strategy;
    ak_transfer transfer;
    ak_proposal *proposals;
    ak_set *tried;
    ak_simulated *out;
    ak_trace *trace;
    int64_t thinking_ns;
    double best; /* minimised */
} replay;

static bool cancelled(const job *j)
{
    return j->options.cancel != NULL && *j->options.cancel != 0;
}

/* Finds the index of a proposed configuration. Fails if the strategy broke its contract by
   proposing an invalid configuration or the same one twice. */
static ak_status look_up(uint64_t *index, replay *r, const ak_config *config, ak_error *err)
{
    bool fresh = false;
    const char *name = r->job->choice.ops->name;
    AK_FAIL_IF(!ak_space_find(index, r->space, config), err, AK_INTERNAL,
               "strategy %s proposed a configuration that is not valid", name);
    AK_DO(ak_set_add(&fresh, r->tried, *index, err));
    AK_FAIL_IF(!fresh, err, AK_INTERNAL, "strategy %s proposed the same configuration twice", name);
    return AK_OK;
}

static ak_status note_best(replay *r, uint64_t index, const ak_record *record, ak_error *err)
{
    const ak_recording *recording = r->job->recording;
    ak_simulated *out = r->out;
    double value = ak_recording_minimised(recording, record);
    if (out->found && value >= r->best) {
        return AK_OK;
    }
    AK_DO(AK_GROW(r->trace->items, &r->trace->capacity, r->trace->count + 1, err));
    size_t rank = ak_score_rank(recording, value);
    assert(r->trace->count == 0 || rank < r->trace->items[r->trace->count - 1].rank);
    r->trace->items[r->trace->count++] = (ak_improvement){out->seconds, rank};
    r->best = value;
    out->found = true;
    out->best = index;
    out->best_value = record->value;
    out->best_at = out->evaluations;
    out->best_seconds = out->seconds;
    return AK_OK;
}

/* Estimates how many trials the budget allows: its time over the mean cost so far, but no more than
   its evaluations. Returns 0 if neither is known. */
static size_t expected_trials(const replay *r)
{
    const ak_simulate_options *o = &r->job->options;
    size_t done = r->out->evaluations;
    double by_time = done == 0 ? 0 : (double)done * o->seconds / r->out->seconds;
    bool timed = by_time > 0 && by_time < HUGE_VAL;
    return timed && (o->evaluations == 0 || by_time < (double)o->evaluations) ? (size_t)by_time
                                                                              : o->evaluations;
}

static ak_status try_one(replay *r, const ak_proposal *proposal, ak_error *err)
{
    const ak_recording *recording = r->job->recording;
    uint64_t index = 0;
    AK_DO(look_up(&index, r, &proposal->config, err));
    ak_status status = AK_OK;
    const ak_record *record = &recording->records[index];
    bool ok = record->status == AK_TRIAL_OK;
    r->out->evaluations++;
    r->out->failed += ok ? 0 : 1;
    r->out->seconds += record->seconds;
    if (ok) {
        status = note_best(r, index, record, err);
    }
    if (status == AK_OK) {
        ak_observation seen = {.config = &proposal->config,
                               .ok = ok,
                               .ms = ok ? ak_recording_time(recording, record) : 0,
                               .expected = expected_trials(r)};
        ak_transfer_observe(&r->transfer, &seen);
        int64_t begin = ak_clock_thread_ns();
        status = r->job->choice.ops->observe(r->strategy, &seen, err);
        r->thinking_ns += ak_clock_thread_ns() - begin;
    }
    return status;
}

static bool goes_on(const replay *r)
{
    const ak_simulate_options *o = &r->job->options;
    if (r->job->to_optimum && r->out->found && r->best <= r->job->recording->ascending[0]) {
        return false;
    }
    return r->out->seconds < o->seconds && !cancelled(r->job) &&
           (o->evaluations == 0 || r->out->evaluations < o->evaluations) &&
           r->out->evaluations < r->job->recording->count;
}

/* Sets proposals[0] to the next untried configuration among the best of other recordings, which
   come before the strategy's proposals. Returns false if there is none now. */
static bool transferred(replay *r)
{
    uint64_t index;
    r->proposals[0] = (ak_proposal){0};
    while (ak_transfer_next(&r->proposals[0].config, &r->transfer, expected_trials(r))) {
        if (ak_space_find(&index, r->space, &r->proposals[0].config) &&
            !ak_set_has(r->tried, index)) {
            return true;
        }
    }
    return false;
}

static ak_status search(replay *r, ak_error *err)
{
    const ak_simulate_options *o = &r->job->options;
    const ak_strategy_ops *ops = r->job->choice.ops;
    const size_t most = ops->batch_max > 0 && ops->batch_max < o->batch ? ops->batch_max : o->batch;
    while (goes_on(r)) {
        size_t count = 0, wanted = most;
        if (o->evaluations > 0 && o->evaluations - r->out->evaluations < wanted) {
            wanted = o->evaluations - r->out->evaluations;
        }
        if (transferred(r)) {
            AK_DO(try_one(r, &r->proposals[0], err));
            continue;
        }
        int64_t begin = ak_clock_thread_ns();
        for (bool found = true; found && count < wanted; count += found) {
            AK_DO(ops->propose(&r->proposals[count], &found, r->strategy, err));
        }
        r->thinking_ns += ak_clock_thread_ns() - begin;
        if (count == 0) {
            break; /* no trial is outstanding, so the strategy is exhausted */
        }
        for (size_t i = 0; i < count && goes_on(r); i++) {
            AK_DO(try_one(r, &r->proposals[i], err));
        }
    }
    return AK_OK;
}

static ak_status repeat(const job *j, ak_space *space, size_t number, ak_error *err)
{
    const ak_recording *recording = j->recording;
    replay r = {.job = j,
                .space = space,
                .proposals = ak_alloc(j->options.batch, sizeof *r.proposals),
                .tried = ak_set_new(),
                .out = &j->repeats[number],
                .trace = &j->traces[number]};
    ak_transfer_open(&r.transfer, j->like);
    ak_recording_draw_default(space, recording, r.out->seed);
    ak_status status = AK_OK;
    AK_TRY(ak_stored(r.proposals != NULL && r.tried != NULL, err));
    ak_strategy_context context = {.space = space,
                                   .constants = recording->constants,
                                   .kernel = recording->kernel,
                                   .implementation = recording->implementation,
                                   .rank = recording->rank,
                                   .transfer = &r.transfer,
                                   .any_default = !recording->has_default,
                                   .seed = r.out->seed,
                                   .evaluations = j->options.evaluations,
                                   .hyper = j->choice.hyper};
    int64_t begin = ak_clock_thread_ns();
    AK_TRY(ak_strategy_open(&r.strategy, j->choice.ops, &context, err));
    r.thinking_ns += ak_clock_thread_ns() - begin;
    AK_TRY(search(&r, err));
out:
    ak_strategy_close(r.strategy);
    r.out->thinking_ms = (double)r.thinking_ns / 1e6;
    ak_set_free(r.tried);
    ak_free(r.proposals);
    return status;
}

/* Stores the first failure; later ones are dropped. */
static void fail_job(job *j, ak_status status, const ak_error *err)
{
    (void)pthread_mutex_lock(&j->lock);
    if (j->status == AK_OK) {
        j->status = status;
        if (j->err != NULL) {
            *j->err = *err;
        }
    }
    (void)pthread_mutex_unlock(&j->lock);
    atomic_store(&j->failed, true);
}

static void *work(void *context)
{
    job *j = context;
    ak_error err = AK_ERROR_INIT;
    ak_space *space = NULL;
    ak_status status = ak_recording_space_new(&space, j->recording, &err);
    while (status == AK_OK && !atomic_load(&j->failed) && !cancelled(j)) {
        size_t number = atomic_fetch_add(&j->next, 1);
        if (number >= j->options.repeats) {
            break;
        }
        status = repeat(j, space, number, &err);
    }
    ak_space_free(space);
    if (status != AK_OK) {
        fail_job(j, status, &err);
    }
    return NULL;
}

/* Runs the job on the calling thread and on up to `jobs` - 1 more. If a thread cannot be
   started, the job runs on fewer threads. */
static void run_job(job *j)
{
    pthread_t threads[JOBS_MAX];
    size_t started = 0, wanted = (size_t)j->options.jobs - 1;
    while (started < wanted && pthread_create(&threads[started], NULL, work, j) == 0) {
        started++;
    }
    (void)work(j);
    for (size_t i = 0; i < started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

static ak_status summarise(ak_simulation *out, const job *j, ak_error *err)
{
    AK_FREED double *best = NULL;
    double thinking_ms = 0;
    size_t found = 0, proposals = 0;
    AK_DO(AK_NEW(best, out->count, err));
    for (size_t i = 0; i < out->count; i++) {
        thinking_ms += out->repeats[i].thinking_ms;
        proposals += out->repeats[i].evaluations;
        if (out->repeats[i].found) {
            best[found++] = out->repeats[i].best_value;
        }
    }
    if (found > 0) {
        ak_stats_sort(best, found);
        out->median_best = (best[(found - 1) / 2] + best[found / 2]) / 2;
    }
    out->ms_per_proposal = proposals == 0 ? 0 : thinking_ms / (double)proposals;
    out->scored = ak_score(&out->score, j->recording, j->traces, out->count);
    return AK_OK;
}

static ak_status check_options(job *j, ak_error *err)
{
    ak_simulate_options *o = &j->options;
    const ak_recording *recording = j->recording;
    o->strategy = o->strategy == NULL ? AK_STRATEGY_DEFAULT : o->strategy;
    o->repeats = o->repeats == 0 ? REPEATS_DEFAULT : o->repeats;
    o->batch = o->batch == 0 ? 1 : o->batch;
    o->jobs = o->jobs == 0 ? ak_cores() : o->jobs;
    AK_FAIL_IF(o->repeats > REPEATS_MAX || o->batch > BATCH_MAX || o->jobs < 0, err, AK_LIMIT,
               "a replay has at most %d repeats, in batches of at most %d", REPEATS_MAX, BATCH_MAX);
    o->jobs = o->jobs > JOBS_MAX ? JOBS_MAX : o->jobs;
    o->jobs = (size_t)o->jobs > o->repeats ? (int)o->repeats : o->jobs;
    j->to_optimum = o->evaluations == 0 && !(o->seconds > 0);
    if (!(o->seconds > 0)) {
        o->seconds = BEYOND_CUTOFF * recording->facts.last_seconds;
    }
    if (!(o->seconds > 0) && o->evaluations > 0) {
        o->seconds = INFINITY;
    }
    AK_FAIL_IF(!(o->seconds > 0), err, AK_INVALID,
               recording->facts.seconds_each > 0
                   ? "%s: random search comes near the optimum without any trial, so "
                     "there is nothing to search; set --time or --evals to search anyway"
                   : "%s: it records no times of compiling and measuring, so the clock of a "
                     "replay would not advance; --evals bounds it instead",
               recording->path);
    return AK_OK;
}

ak_status ak_simulate(ak_simulation *out, const ak_recording *recording,
                      const ak_simulate_options *options, ak_error *err)
{
    job j = {.recording = recording,
             .options = options == NULL ? (ak_simulate_options){0} : *options,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .err = err};
    ak_simulation result = {0};
    ak_status status = AK_OK;
    AK_DO(check_options(&j, err));
    AK_DO(ak_strategy_choose(&j.choice, j.options.strategy, err));
    /* Without its model the strategy would replay its fallback under its own name. */
    AK_FAIL_IF(j.choice.ops->await != NULL, err, AK_INVALID,
               "strategy %s asks a language model, which a replay cannot do; compare it with "
               "`autokernel study`",
               j.choice.ops->name);
    ak_rng rng;
    ak_rng_seed(&rng, j.options.seed);
    result.count = j.options.repeats;
    result.repeats = j.repeats = ak_alloc(result.count, sizeof *result.repeats);
    j.traces = ak_alloc(result.count, sizeof *j.traces);
    AK_TRY(ak_stored(j.repeats != NULL && j.traces != NULL, err));
    for (size_t i = 0; i < result.count; i++) {
        result.repeats[i].seed = ak_rng_next(&rng);
    }
    if (j.options.like_count > 0) {
        AK_TRY(ak_like_open(&j.like, recording, j.options.like, j.options.like_count,
                            j.options.seed, err));
    }
    run_job(&j);
    AK_TRY(j.status);
    if (j.like != NULL) {
        AK_TRY(ak_copy_text(&result.like, ak_like_said(j.like), err));
    }
    AK_TRY(cancelled(&j) ? ak_fail(err, AK_CANCELLED, "the replay was interrupted") : AK_OK);
    AK_TRY(summarise(&result, &j, err));
out:
    for (size_t i = 0; i < result.count && j.traces != NULL; i++) {
        ak_free(j.traces[i].items);
    }
    ak_free(j.traces);
    ak_like_free(j.like);
    if (status != AK_OK) {
        ak_simulation_clear(&result);
        return status;
    }
    *out = result;
    return AK_OK;
}

void ak_simulation_clear(ak_simulation *simulation)
{
    AK_FREE_ALL(simulation->repeats, simulation->like);
    *simulation = (ak_simulation){0};
}
