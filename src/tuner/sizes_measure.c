/* sizes_measure.c: measures the best configurations of all sizes (the elites) at every size, next
   to the libraries. */

#include "measure/verdict.h"
#include "tuner/sizes_run.h"

/* The elites are the winners of all sizes, filled up with further candidates of the finishes, as
   far as there are any, to the number of sizes or to this number, whichever is larger. */
#define ELITES_MIN 24
/* Most elites of one comparison. A device worker takes AK_JUDGED_MAX (32) candidates: these, the
   best so far, the libraries and the control. */
#define CHUNK         22
#define LIBRARIES_MAX 8

/* ---- elites ---------------------------------------------------------------------------------- */

static ak_status add_elite(ak_many *m, const char *config, ak_error *err)
{
    ak_sizes_result *result = m->result;
    if (!AK_HAS_TEXT(result->configs, result->config_count, config)) {
        AK_DO(ak_copy_text(&result->configs[result->config_count], config, err));
        result->config_count++;
    }
    return AK_OK;
}

/* Takes the winner of each size first, then the candidates of the finishes, rank by rank. */
ak_status ak_many_gather_elites(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    size_t most = result->size_count < ELITES_MIN ? ELITES_MIN : result->size_count;
    AK_DO(AK_NEW(result->configs, most, err));
    for (size_t i = 0; i < result->size_count; i++) {
        AK_DO(m->tuned[i].found ? add_elite(m, m->tuned[i].best.config, err) : AK_OK);
    }
    bool more = true;
    for (size_t rank = 0; more; rank++) {
        more = false;
        for (size_t i = 0; i < result->size_count; i++) {
            if (rank < m->tuned[i].candidate_count && result->config_count < most) {
                const char *config = m->tuned[i].candidates[rank].config;
                AK_DO(config == NULL ? AK_OK : add_elite(m, config, err));
                more = true;
            }
        }
    }
    return AK_OK;
}

/* ---- measurement ----------------------------------------------------------------------------- */

void ak_many_plan(ak_comparison_spec *spec, const ak_many *m, double per, size_t left)
{
    spec->seconds = spec->extra = per * (double)spec->count;
    if (m->options->seconds > 0) {
        double least = 0.05 * (double)spec->count;
        double rest =
            (m->options->seconds - ak_many_elapsed(m)) / (double)left - AK_MANY_OPEN_SECONDS / 2;
        rest = rest > least ? rest : least;
        spec->seconds = spec->seconds < rest ? spec->seconds : rest;
        rest -= spec->seconds;
        spec->extra = spec->extra < rest ? spec->extra : rest;
    }
}

/* A comparison at one size: up to CHUNK elites, the best elite of the earlier comparisons, and the
   libraries; once the best library is known, only that one. */
typedef struct chunk {
    ak_config configs[CHUNK + 1];
    size_t elite[CHUNK + 1];
    ak_comparison_candidate candidates[CHUNK + 1 + LIBRARIES_MAX];
    const char *names[CHUNK + 1 + LIBRARIES_MAX];
    size_t count, libraries;
} chunk;

static void enter(chunk *c, const ak_task *task, const char *config, size_t elite)
{
    /* An elite that is not valid at this size is left out. Its time stays 0, which means that it
       cannot be used. */
    if (ak_config_parse(&c->configs[c->count], task->space, config, NULL) == AK_OK) {
        c->candidates[c->count] = (ak_comparison_candidate){.config = &c->configs[c->count]};
        c->names[c->count] = config; /* warnings name it */
        c->elite[c->count++] = elite;
    }
}

/* Enters up to LIBRARIES_MAX libraries or, once the best is known, only that one. */
static void enter_libraries(chunk *c, const ak_session *session, const ak_size_result *one)
{
    if (one->library != NULL) {
        c->candidates[c->count] = (ak_comparison_candidate){.baseline = one->library_name};
        c->names[c->count] = one->library;
        c->libraries = 1;
    } else {
        c->libraries = ak_session_libraries(&c->candidates[c->count], &c->names[c->count], session,
                                            LIBRARIES_MAX);
    }
}

/* The results of all elites at one size; 0 for one that failed or was not measured. */
typedef struct column {
    double *ms, *costs; /* the costs are the times unless there is another objective */
    double *low, *high; /* 95 % intervals of `ms` */
    ak_speed *speeds;   /* relative to the winner */
    size_t winner;      /* the best so far; the number of elites if none has worked */
} column;

static void clear_column(column *c)
{
    AK_FREE_ALL(c->ms, c->costs, c->low, c->high, c->speeds);
}

static ak_status take_library(ak_size_result *one, const ak_task *task, const ak_compared *library,
                              ak_error *err)
{
    one->library_ms = library->median_ms;
    one->library_cost = ak_compared_cost(library);
    one->library_value = ak_task_objective_value(task, one->library_cost);
    AK_DO(ak_copy_text(&one->library_name, library->library, err));
    return ak_copy_text(&one->library, library->name, err);
}

/* Takes the speeds relative to the winner of this comparison. */
static void take_speeds(column *known, const chunk *c, const ak_comparison_result *comparison,
                        size_t elites)
{
    ak_speed measured[CHUNK + 1];
    const ak_speed *control = &comparison->noise.control;
    ak_scale_speeds all = {
        .speeds = known->speeds, .costs = known->costs, .count = elites, .winner = known->winner};
    for (size_t i = 0; i < c->count; i++) {
        measured[i] = comparison->list[i].over_default;
    }
    ak_scale_take_speeds(&all, c->elite, measured, c->count, comparison->best);
    known->winner = all.winner;
    if (c->count > 1 && !ak_verdict_decides(control->low, control->high)) {
        known->speeds[known->winner].verdict = AK_SPEED_UNDECIDED;
        known->speeds[known->winner].doubt = AK_DOUBT_CONTROL;
    }
}

/* Adds the results of one comparison to the known results of this size. */
static ak_status take_results(column *known, ak_many *m, size_t size, const chunk *c,
                              const ak_comparison_result *comparison, ak_error *err)
{
    ak_size_result *one = &m->result->sizes[size];
    double ms[CHUNK + 1], costs[CHUNK + 1];
    for (size_t i = 0; i < c->count; i++) {
        ms[i] = comparison->list[i].median_ms;
        costs[i] = ak_compared_cost(&comparison->list[i]);
    }
    ak_scale_take(known->ms, c->elite, ms, c->count);
    for (size_t i = 0; i < c->count; i++) {
        const size_t e = c->elite[i];
        const double scale = ms[i] > 0 && !(known->low[e] > 0) ? known->ms[e] / ms[i] : 0;
        known->low[e] += scale * comparison->list[i].ci_low_ms;
        known->high[e] += scale * comparison->list[i].ci_high_ms;
    }
    ak_scale_take(known->costs, c->elite, costs, c->count);
    bool library = comparison->library < c->count + c->libraries;
    if (comparison->best < c->count) {
        take_speeds(known, c, comparison, m->result->config_count);
        one->noise = comparison->noise;
        one->over_library =
            library ? ak_compared_speed(&comparison->list[comparison->best]) : one->over_library;
    }
    return library && one->library == NULL
               ? take_library(one, m->tasks[size], &comparison->list[comparison->library], err)
               : AK_OK;
}

/* Returns the index of the candidate that the others must beat, which is the best of the size's own
   run; the number of candidates and libraries if that one does not take part. */
static size_t best_of_run(const ak_many *m, const chunk *c, size_t size)
{
    const ak_tune_result *tuned = &m->tuned[size];
    for (size_t i = 0; i < c->count && tuned->found; i++) {
        if (strcmp(m->result->configs[c->elite[i]], tuned->best.config) == 0) {
            return i;
        }
    }
    return c->count + c->libraries;
}

static ak_status measure_chunk(ak_many *m, column *known, size_t size, ak_session *session,
                               const chunk *c, ak_error *err)
{
    ak_comparison_spec spec = {.candidates = c->candidates,
                               .names = c->names,
                               .count = c->count + c->libraries,
                               .control = true,
                               .twice = 0,
                               .fallback = best_of_run(m, c, size),
                               .over_best = true};
    AK_AT_END(ak_comparison_result_clear) ak_comparison_result comparison = {0};
    ak_many_plan(&spec, m, ak_many_each(m), 2 * (m->result->size_count - size));
    AK_DO(ak_session_comparison(&comparison, session, &spec, err));
    AK_DO(ak_many_warn(m, size, &comparison, err));
    return take_results(known, m, size, c, &comparison, err);
}

/* Measures the elites at one size. `c` is working space. */
static ak_status measure_elites(ak_many *m, column *known, size_t size, ak_session *session,
                                chunk *c, ak_error *err)
{
    ak_sizes_result *result = m->result;
    size_t list[CHUNK + 1], next = 0, count;
    while ((count = ak_scale_next(list, &next, known->winner, result->config_count, CHUNK)) > 0) {
        *c = (chunk){0};
        for (size_t i = 0; i < count; i++) {
            enter(c, m->tasks[size], result->configs[list[i]], list[i]);
        }
        enter_libraries(c, session, &result->sizes[size]);
        if (c->count > 0) {
            AK_DO(measure_chunk(m, known, size, session, c, err));
        }
    }
    return AK_OK;
}

void ak_many_set_winner(ak_many *m, size_t size, size_t config)
{
    const ak_sizes_result *result = m->result;
    ak_size_result *one = &result->sizes[size];
    one->measured = true;
    one->winner = config;
    const size_t at = config * result->size_count + size;
    one->ms = result->ms[at];
    one->low_ms = m->low_ms[at];
    one->high_ms = m->high_ms[at];
    one->cost = result->costs[at];
    one->value = ak_task_objective_value(m->tasks[size], one->cost);
}

/* Measures a configuration as a search does, but with the code for all sizes, so that the trial has
   the code hash with which a bundle is compared. */
static ak_status measure_as_search(ak_trial *out, ak_session *session, const ak_config *config,
                                   ak_error *err)
{
    AK_AT_END(ak_result_clear) ak_result result = {0};
    const ak_job job = {.kind = AK_JOB_TRIAL, .id = session->next_job++, .config = *config};
    AK_DO(ak_pool_submit(session->pool, &job, err));
    AK_DO(ak_session_wait(&result, session, job.id, 1, err));
    *out = result.trial;
    result.trial = (ak_trial){0};
    return AK_OK;
}

/* Archives a trial of the winner, unless the size's own run found it: it may come from another size
   and have no trial at this one. It is measured alone; if it fails then, its time is that of the
   comparison. */
ak_status ak_many_keep_winner(const ak_many *m, size_t size, ak_session *session, ak_error *err)
{
    const ak_size_result *one = &m->result->sizes[size];
    const ak_tune_result *tuned = &m->tuned[size];
    ak_config config;
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    if (m->archive == NULL || !one->measured) {
        return AK_OK;
    }
    const char *text = m->result->configs[one->winner];
    if (tuned->found && strcmp(text, tuned->best.config) == 0) {
        return AK_OK;
    }
    AK_DO(ak_config_parse(&config, m->tasks[size]->space, text, err));
    AK_DO(measure_as_search(&trial, session, &config, err));
    if (trial.status != AK_TRIAL_OK) {
        ak_trial_clear(&trial);
        trial = (ak_trial){.status = AK_TRIAL_OK,
                           .median_ms = one->ms,
                           .ci_low_ms = one->low_ms,
                           .ci_high_ms = one->high_ms};
        if (m->tasks[size]->objective != NULL) {
            trial.cost = trial.cost_low = trial.cost_high = one->cost;
        }
    }
    AK_DO(ak_copy_text(&trial.strategy, "sizes", err));
    AK_DO(ak_session_complete_trial(&trial, session, &config, NULL, err));
    return ak_archive_add_trial(m->archive, &trial, err);
}

static ak_status measure_one(ak_many *m, size_t size, ak_error *err)
{
    ak_sizes_result *result = m->result;
    const size_t count = result->config_count;
    const ak_pool_options options = {.cancel = m->options->cancel};
    AK_AT_END(ak_session_close) ak_session session = {0};
    AK_AT_END(clear_column) column known = {.winner = count};
    AK_FREED chunk *c = NULL;
    ak_many_announce_phase(m, "cross", size);
    AK_DO(AK_NEW(c, 1, err));
    AK_DO(AK_NEW(known.ms, count, err));
    AK_DO(AK_NEW(known.costs, count, err));
    AK_DO(AK_NEW(known.low, count, err));
    AK_DO(AK_NEW(known.high, count, err));
    AK_DO(AK_NEW(known.speeds, count, err));
    AK_DO(ak_session_open(&session, m->tasks[size], &options, err));
    AK_DO(ak_session_survey(&session, err));
    AK_DO(ak_many_begin_record(m, &session, err));
    AK_DO(measure_elites(m, &known, size, &session, c, err));
    for (size_t i = 0; i < count; i++) {
        const size_t at = i * result->size_count + size;
        result->ms[at] = known.ms[i];
        result->costs[at] = known.costs[i];
        result->speeds[at] = known.speeds[i];
        m->low_ms[at] = known.low[i];
        m->high_ms[at] = known.high[i];
    }
    if (known.winner < count) {
        ak_many_set_winner(m, size, known.winner);
    }
    return ak_many_keep_winner(m, size, &session, err);
}

ak_status ak_many_measure(ak_many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    const size_t all = result->config_count * result->size_count;
    AK_DO(AK_NEW(result->ms, all, err));
    AK_DO(AK_NEW(result->costs, all, err));
    AK_DO(AK_NEW(result->speeds, all, err));
    AK_DO(AK_NEW(m->low_ms, all, err));
    AK_DO(AK_NEW(m->high_ms, all, err));
    for (size_t i = 0; i < result->size_count; i++) {
        AK_DO(measure_one(m, i, err));
    }
    return AK_OK;
}
