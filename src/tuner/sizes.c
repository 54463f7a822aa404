/*
 * sizes.c: one kernel, many sizes.
 *
 *     tune each size by itself; what won at earlier sizes is tried early at the later ones
 *     measure the leaders of all sizes at every size, interleaved
 *     choose the few that lose least (measure/cover.h)
 *     measure what they lose once more, beside each size's own winner
 *
 * The last step is there because the fastest of many measurements is partly luck, and so is the
 * smallest loss: what is stated comes from a measurement that decided nothing.
 */
#include "tuner/sizes.h"

#include <math.h>
#include <string.h>

#include "archive/archive.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "measure/cover.h"
#include "tuner/adviser.h"
#include "tuner/earlier.h"
#include "tuner/session.h"

/* The winner of every size is a leader; the finalists beside them, up to this many in all. */
#define LEADERS_MIN 24
/* Contestants of one duel: a device worker takes 32, libraries included. */
#define CHUNK         22
#define LIBRARIES_MAX 8
/* Winners of earlier sizes that a later one tries early. */
#define GIVEN_MAX 4
/* Seconds of interleaved measuring a contestant gets, and what opening a session takes, about. */
#define CROSS_SECONDS 0.5
#define OPEN_SECONDS  2.0
/* Of a time budget, what measuring the leaders and the losses may take. */
#define CROSS_SHARE 0.4
/* Numbers of configurations whose loss is worked out. */
#define TRADEOFF_MAX 8

typedef struct many {
    const ak_task_spec *spec;
    const ak_tune_options *options;
    ak_archive *archive;
    size_t wanted; /* configurations of the table */
    size_t used;   /* of the evaluations, by the sizes so far; what was resumed counts */
    ak_task **tasks;
    ak_tune_result *tuned;
    const char **given; /* borrowed from `tuned` */
    size_t given_count;
    ak_sizes_result *result;
    ak_events events;
    char id[AK_RUN_ID_BYTES], started[AK_CLOCK_UTC_BYTES];
    int64_t begin_ns;
    bool recorded;
} many;

static bool cancelled(const many *m)
{
    return m->options->cancel != NULL && *m->options->cancel != 0;
}

static double elapsed(const many *m)
{
    return (double)(ak_clock_ns() - m->begin_ns) / 1e9;
}

/* ---- the sizes --------------------------------------------------------------------------------
 */

static ak_status keep(char **out, const char *text, ak_error *err)
{
    *out = ak_strdup(text);
    return *out == NULL ? ak_fail_memory(err) : AK_OK;
}

/* How many sizes chose this task's implementation. */
static size_t votes_for(const many *m, const ak_task *task)
{
    size_t votes = 0;
    for (size_t i = 0; i < m->result->size_count; i++) {
        votes += strcmp(m->tasks[i]->implementation->name, task->implementation->name) == 0;
    }
    return votes;
}

/* One implementation for all sizes: the one that most of them choose by what was measured of it
   (ak_task_choose), of equals that of the earlier size. */
static ak_status agree_on_implementation(many *m, const char *const *sizes, ak_error *err)
{
    size_t count = m->result->size_count, most = 0;
    const ak_task *chosen = m->tasks[0];
    for (size_t i = 0; i < count; i++) {
        size_t votes = votes_for(m, m->tasks[i]);
        chosen = votes > most ? m->tasks[i] : chosen;
        most = votes > most ? votes : most;
    }
    char *name = ak_strdup(chosen->implementation->name);
    ak_status status = name == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        ak_task *other = NULL;
        if (strcmp(m->tasks[i]->implementation->name, name) == 0) {
            continue;
        }
        char reason[80];
        ak_task_spec spec = *m->spec;
        spec.size = sizes[i];
        spec.implementation = name;
        status = ak_task_open(&other, &spec, err);
        if (status != AK_OK) {
            break;
        }
        ak_task_close(m->tasks[i]);
        m->tasks[i] = other;
        (void)snprintf(reason, sizeof reason, "%zu of the %zu sizes choose it", most, count);
        status = keep(&other->reason, reason, err);
    }
    ak_free(name);
    return status;
}

static ak_status open_tasks(many *m, const char *const *sizes, ak_error *err)
{
    ak_sizes_result *result = m->result;
    ak_status status = AK_OK;
    for (size_t i = 0; i < result->size_count && status == AK_OK; i++) {
        ak_task *task = NULL;
        ak_task_spec spec = *m->spec;
        spec.size = sizes[i];
        status = ak_task_open(&task, &spec, err);
        if (status == AK_OK) {
            m->tasks[i] = task;
            status = keep(&result->sizes[i].size, task->size_text, err);
        }
        for (size_t j = 0; j < i && status == AK_OK; j++) {
            if (strcmp(result->sizes[j].size, result->sizes[i].size) == 0) {
                status = ak_fail(err, AK_INVALID, "size %s is given twice", result->sizes[i].size);
            }
        }
    }
    /* Only now, as it may measure: mistakes in the sizes have been found. */
    for (size_t i = 0; i < result->size_count && status == AK_OK; i++) {
        ak_task_spec spec = *m->spec;
        spec.size = sizes[i];
        ak_task *task = NULL;
        status = ak_task_choose(&task, &spec, m->archive, true, m->options->cancel, err);
        if (status == AK_OK) {
            ak_task_close(m->tasks[i]);
            m->tasks[i] = task;
        }
    }
    if (status == AK_OK) {
        status = agree_on_implementation(m, sizes, err);
    }
    const ak_task *first = m->tasks[0];
    if (status == AK_OK) {
        status = keep(&result->kernel, first->problem->name, err);
    }
    if (status == AK_OK) {
        status = keep(&result->implementation, first->implementation->name, err);
    }
    if (status == AK_OK) {
        status = keep(&result->device, first->device, err);
    }
    if (status == AK_OK) {
        status = keep(&result->dtype, ak_dtype_text(first->dtype), err);
    }
    return status == AK_OK ? keep(&result->choices, first->choices_text, err) : status;
}

static void announce(const many *m)
{
    json_t *sizes = json_array(), *fields = json_object();
    bool good = sizes != NULL;
    for (size_t i = 0; i < m->result->size_count && good; i++) {
        good = json_array_append_new(sizes, json_string(m->result->sizes[i].size)) == 0;
    }
    (void)(good && ak_json_set_text(fields, "kernel", m->result->kernel) &&
           ak_json_set(fields, "sizes", json_incref(sizes)) &&
           ak_json_set(fields, "table", json_integer((json_int_t)m->wanted)));
    json_decref(sizes);
    ak_event_send(&m->events, "sizes", fields);
}

static void announce_phase(const many *m, const char *name, size_t size)
{
    json_t *fields = json_object();
    (void)(ak_json_set_text(fields, "name", name) &&
           ak_json_set_text(fields, "size", m->result->sizes[size].size) &&
           ak_json_set(fields, "n", json_integer((json_int_t)size + 1)) &&
           ak_json_set(fields, "of", json_integer((json_int_t)m->result->size_count)));
    ak_event_send(&m->events, "phase", fields);
}

/* ---- each size by itself ----------------------------------------------------------------------
 */

/* What is left, shared by the sizes that are left; time for the measurements afterwards is kept. */
static void share(ak_tune_options *out, const many *m, size_t at)
{
    size_t left = m->result->size_count - at;
    *out = *m->options;
    out->first = m->given;
    out->first_count = m->given_count;
    if (out->evaluations > 0) {
        size_t rest = m->used < out->evaluations ? out->evaluations - m->used : 0;
        out->evaluations = rest / left > 0 ? rest / left : 1;
    }
    if (out->seconds > 0) {
        double kept = (OPEN_SECONDS + CROSS_SECONDS * 8) * (double)m->result->size_count;
        kept = kept < CROSS_SHARE * out->seconds ? kept : CROSS_SHARE * out->seconds;
        double rest = (out->seconds - kept - elapsed(m)) / (double)left;
        out->seconds = rest > 0.1 ? rest : 0.1; /* at the least the default is measured */
    }
}

/* What the language model was asked for one size, to what it was for those before. */
static ak_status add_llm(ak_sizes_result *sum, const ak_tune_result *one, ak_error *err)
{
    if (one->model == NULL) {
        return AK_OK;
    }
    bool first = sum->model == NULL;
    sum->llm_calls += one->llm_calls;
    sum->llm_failed += one->llm_failed;
    sum->llm_input_tokens += one->llm_input_tokens;
    sum->llm_output_tokens += one->llm_output_tokens;
    sum->llm_priced = one->llm_priced && (first || sum->llm_priced);
    sum->llm_cost_usd += one->llm_cost_usd;
    return first ? keep(&sum->model, one->model, err) : AK_OK;
}

/* The next size tries the winner first that is not known to it already. */
static void give(many *m, const char *config)
{
    size_t at = 0;
    while (at < m->given_count && strcmp(m->given[at], config) != 0) {
        at++;
    }
    if (at == m->given_count && m->given_count < GIVEN_MAX) {
        m->given_count++;
    } else if (at == m->given_count) {
        at--; /* the oldest has had its turns */
    }
    memmove(m->given + 1, m->given, at * sizeof *m->given);
    m->given[0] = config;
}

static ak_status tune_each(many *m, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < m->result->size_count && status == AK_OK && !cancelled(m); i++) {
        ak_tune_options options;
        share(&options, m, i);
        ak_llm_options llm;
        if (options.llm != NULL) {
            llm = ak_adviser_left(options.llm, m->result->llm_cost_usd);
            options.llm = &llm;
        }
        announce_phase(m, "size", i);
        bool known = false;
        if (options.resume && m->archive != NULL && !m->tasks[i]->recorded) {
            status = ak_earlier_result(
                &known, &m->tuned[i], m->tasks[i], m->archive,
                options.evaluations == 0 ? AK_EVALUATIONS_DEFAULT : options.evaluations, err);
        }
        if (status == AK_OK && !known) {
            status = ak_tune(&m->tuned[i], m->tasks[i], m->archive, &options, err);
        }
        if (status == AK_OK) {
            size_t used = m->tuned[i].evaluated + m->tuned[i].resumed;
            m->used += used < options.evaluations ? used : options.evaluations;
            m->result->evaluated += m->tuned[i].evaluated;
            m->result->sizes[i].evaluated = m->tuned[i].evaluated;
            status = keep(&m->result->sizes[i].run, m->tuned[i].run, err);
        }
        if (status == AK_OK) {
            status = add_llm(m->result, &m->tuned[i], err);
        }
        if (status == AK_OK && m->tuned[i].found) {
            give(m, m->tuned[i].best.config);
        }
    }
    return status;
}

/* ---- the leaders at every size ----------------------------------------------------------------
 */

static ak_status add_leader(many *m, const char *config, ak_error *err)
{
    ak_sizes_result *result = m->result;
    for (size_t i = 0; i < result->config_count; i++) {
        if (strcmp(result->configs[i], config) == 0) {
            return AK_OK;
        }
    }
    ak_status status = keep(&result->configs[result->config_count], config, err);
    result->config_count += status == AK_OK ? 1 : 0;
    return status;
}

/* Every winner, then the finalists rank by rank. */
static ak_status gather_leaders(many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    size_t most = result->size_count < LEADERS_MIN ? LEADERS_MIN : result->size_count;
    result->configs = ak_alloc(most, sizeof *result->configs);
    ak_status status = result->configs == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t i = 0; i < result->size_count && status == AK_OK; i++) {
        status = m->tuned[i].found ? add_leader(m, m->tuned[i].best.config, err) : AK_OK;
    }
    bool more = true;
    for (size_t rank = 0; more; rank++) {
        more = false;
        for (size_t i = 0; i < result->size_count && status == AK_OK; i++) {
            if (rank < m->tuned[i].contestant_count && result->config_count < most) {
                const char *config = m->tuned[i].contestants[rank].config;
                status = config == NULL ? AK_OK : add_leader(m, config, err);
                more = true;
            }
        }
    }
    return status;
}

/* The run is recorded after those of its sizes, so that it is the latest. */
static ak_status record(many *m, const ak_session *session, ak_error *err)
{
    const ak_sizes_result *result = m->result;
    json_t *options = NULL;
    char *options_text = NULL;
    ak_buf sizes = AK_BUF(1u << 16);
    if (m->archive == NULL || m->recorded) {
        return AK_OK;
    }
    for (size_t i = 0; i < result->size_count; i++) {
        ak_buf_print(&sizes, "%s%s", i == 0 ? "" : ";", result->sizes[i].size);
    }
    ak_status status = ak_buf_status(&sizes, err);
    if (status == AK_OK) {
        status = ak_task_spec_to_json(&options, m->tasks[0], err);
    }
    if (status == AK_OK) {
        (void)json_object_del(options, "size");
        bool good = ak_json_set_text(options, "sizes", sizes.data) &&
                    ak_json_set(options, "dispatch", json_integer((json_int_t)m->wanted)) &&
                    ak_json_set_text(options, "strategy", m->options->strategy) &&
                    ak_json_set(options, "evaluations",
                                json_integer((json_int_t)m->options->evaluations)) &&
                    ak_json_set_real(options, "seconds", m->options->seconds) &&
                    (m->options->llm == NULL || ak_adviser_record(options, m->options));
        status = good ? ak_json_text(&options_text, options, err) : ak_fail_memory(err);
    }
    if (status == AK_OK) {
        ak_run run = {.id = m->id,
                      .started = m->started,
                      .kernel = result->kernel,
                      .implementation = result->implementation,
                      .device = result->device,
                      .size = sizes.data,
                      .dtype = result->dtype,
                      .choices = result->choices,
                      .strategy = (char *)(uintptr_t)m->options->strategy,
                      .environment = (char *)(uintptr_t)session->environment,
                      .environment_json = session->environment_json,
                      .options_json = options_text};
        status = ak_archive_add_run(m->archive, &run, err);
        m->recorded = status == AK_OK;
    }
    ak_free(options_text);
    json_decref(options);
    ak_buf_free(&sizes);
    return status;
}

/* Seconds for the contestants of one size, of the two measurements together `parts`. */
static double duel_seconds(const many *m, size_t contestants, double per, size_t left)
{
    double wanted = per * (double)contestants;
    if (m->options->seconds > 0) {
        double rest = (m->options->seconds - elapsed(m)) / (double)left - OPEN_SECONDS / 2;
        rest = rest > 0.05 * (double)contestants ? rest : 0.05 * (double)contestants;
        wanted = wanted < rest ? wanted : rest;
    }
    return wanted;
}

/* One duel of up to CHUNK leaders at one size, beside the size's own winner (`anchor`, an index,
   or none) and, in the first, the libraries. */
typedef struct chunk {
    ak_config configs[CHUNK + 1];
    size_t leader[CHUNK + 1];
    ak_duelist duelists[CHUNK + 1 + LIBRARIES_MAX];
    const char *names[CHUNK + 1 + LIBRARIES_MAX];
    size_t count, libraries;
} chunk;

static void enter(chunk *c, const ak_task *task, const char *config, size_t leader)
{
    /* One that this size excludes cannot be used there; that is what its time of 0 says. */
    if (ak_config_parse(&c->configs[c->count], task->space, config, NULL) == AK_OK) {
        c->duelists[c->count] = (ak_duelist){.config = &c->configs[c->count]};
        c->names[c->count] = "leader";
        c->leader[c->count++] = leader;
    }
}

static void enter_libraries(chunk *c, const ak_session *session)
{
    for (size_t i = 0; i < session->baseline_count && c->libraries < LIBRARIES_MAX; i++) {
        if (session->baselines[i].installed) {
            size_t at = c->count + c->libraries++;
            c->duelists[at] = (ak_duelist){.baseline = session->baselines[i].name};
            c->names[at] = session->baselines[i].title;
        }
    }
}

/* Times of one duel into the table. Duels after the first are brought to its scale by what both
   have in common. */
static ak_status take_times(many *m, size_t size, const chunk *c, const ak_contestant *list,
                            size_t reference, ak_error *err)
{
    ak_sizes_result *result = m->result;
    double scale = 1;
    for (size_t i = 0; i < c->count; i++) {
        double known = result->ms[c->leader[i] * result->size_count + size];
        scale = known > 0 && list[i].median_ms > 0 ? known / list[i].median_ms : scale;
    }
    for (size_t i = 0; i < c->count; i++) {
        result->ms[c->leader[i] * result->size_count + size] = list[i].median_ms * scale;
    }
    if (reference < c->count + c->libraries) {
        result->sizes[size].library_ms = list[reference].median_ms;
        return keep(&result->sizes[size].library, list[reference].name, err);
    }
    return AK_OK;
}

static ak_status cross_one(many *m, size_t size, ak_error *err)
{
    ak_sizes_result *result = m->result;
    ak_session session;
    ak_session_options options = {.cancel = m->options->cancel};
    chunk *c = ak_alloc(1, sizeof *c);
    if (c == NULL) {
        return ak_fail_memory(err);
    }
    announce_phase(m, "cross", size);
    ak_status status = ak_session_open(&session, m->tasks[size], &options, err);
    if (status != AK_OK) {
        ak_free(c);
        return status;
    }
    status = ak_session_survey(&session, err);
    if (status == AK_OK) {
        status = record(m, &session, err);
    }
    const char *own = m->tuned[size].found ? m->tuned[size].best.config : NULL;
    for (size_t next = 0; next < result->config_count && status == AK_OK;) {
        *c = (chunk){0};
        bool first = next == 0;
        for (; next < result->config_count && c->count < CHUNK; next++) {
            enter(c, m->tasks[size], result->configs[next], next);
        }
        for (size_t i = 0; i < result->config_count && own != NULL && !first; i++) {
            bool here = false;
            for (size_t j = 0; j < c->count; j++) {
                here = here || c->leader[j] == i;
            }
            if (!here && strcmp(result->configs[i], own) == 0) {
                enter(c, m->tasks[size], own, i);
            }
        }
        if (first) {
            enter_libraries(c, &session);
        }
        if (c->count == 0) {
            continue;
        }
        ak_duel_spec spec = {
            .duelists = c->duelists, .names = c->names, .count = c->count + c->libraries};
        spec.seconds = duel_seconds(m, spec.count, CROSS_SECONDS, 2 * (result->size_count - size));
        ak_contestant *list;
        size_t reference;
        status = ak_session_duel(&list, &reference, &session, &spec, err);
        if (status == AK_OK) {
            status = take_times(m, size, c, list, reference, err);
            ak_contestants_free(list, spec.count);
        }
    }
    ak_session_close(&session);
    ak_free(c);
    return status;
}

static ak_status cross(many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    result->ms = ak_alloc(result->config_count * result->size_count, sizeof *result->ms);
    ak_status status = result->ms == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t i = 0; i < result->size_count && status == AK_OK; i++) {
        status = cross_one(m, i, err);
    }
    for (size_t s = 0; s < result->size_count && status == AK_OK; s++) {
        ak_size_result *one = &result->sizes[s];
        for (size_t c = 0; c < result->config_count; c++) {
            double ms = result->ms[c * result->size_count + s];
            if (ms > 0 && (!one->measured || ms < one->ms)) {
                one->measured = true;
                one->ms = ms;
                one->winner = c;
            }
        }
    }
    return status;
}

/* ---- the choice, and what it loses ------------------------------------------------------------
 */

static ak_status work_out_tradeoff(many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    size_t most = result->config_count < TRADEOFF_MAX ? result->config_count : TRADEOFF_MAX;
    most = most < result->size_count ? most : result->size_count;
    result->tradeoff = ak_alloc(most, sizeof *result->tradeoff);
    if (result->tradeoff == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t k = 1; k <= most; k++) {
        ak_cover p = {0};
        ak_status status =
            ak_cover_choose(&p, result->ms, result->config_count, result->size_count, k, err);
        if (status != AK_OK && status != AK_NOT_FOUND) {
            return status;
        }
        if (status == AK_OK && p.count < k) {
            ak_cover_clear(&p);
            break; /* more would not help */
        }
        result->tradeoff[result->tradeoff_count++] = (ak_sizes_loss){.configs = k,
                                                                     .geomean = p.loss.geomean,
                                                                     .worst = p.loss.worst,
                                                                     .worst_size = p.loss.worst_at};
        ak_cover_clear(&p);
    }
    return AK_OK;
}

/* AK_OK with an empty table if no choice serves every size. */
static ak_status choose(many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    ak_cover p = {0};
    ak_status status = work_out_tradeoff(m, err);
    if (status == AK_OK) {
        status = ak_cover_choose(&p, result->ms, result->config_count, result->size_count,
                                 m->wanted, err);
    }
    if (status != AK_OK) {
        return status == AK_NOT_FOUND ? AK_OK : status;
    }
    for (size_t s = 0; s < result->size_count; s++) {
        ak_size_result *one = &result->sizes[s];
        one->config = p.chosen[p.serves[s]];
        one->loss = result->ms[one->config * result->size_count + s] / one->ms;
        one->loss_low = one->loss_high = one->loss;
    }
    result->exact = p.exact;
    result->table = p.chosen;
    result->table_count = p.count;
    p.chosen = NULL;
    ak_cover_clear(&p);
    return AK_OK;
}

static ak_status confirm_one(many *m, size_t size, ak_error *err)
{
    ak_size_result *one = &m->result->sizes[size];
    ak_session session;
    ak_session_options options = {.cancel = m->options->cancel};
    ak_config configs[2];
    const char *const names[] = {"winner", "chosen"};
    ak_duelist duelists[] = {{.config = &configs[0]}, {.config = &configs[1]}};
    ak_contestant *list;
    size_t reference;
    announce_phase(m, "confirm", size);
    ak_status status = ak_session_open(&session, m->tasks[size], &options, err);
    if (status != AK_OK) {
        return status;
    }
    status =
        ak_config_parse(&configs[0], m->tasks[size]->space, m->result->configs[one->winner], err);
    if (status == AK_OK) {
        status = ak_config_parse(&configs[1], m->tasks[size]->space,
                                 m->result->configs[one->config], err);
    }
    if (status == AK_OK) {
        ak_duel_spec spec = {.duelists = duelists, .names = names, .count = 2};
        spec.seconds = duel_seconds(m, 2, 2 * CROSS_SECONDS, m->result->size_count - size);
        status = ak_session_duel(&list, &reference, &session, &spec, err);
    }
    if (status == AK_OK) {
        if (list[0].median_ms > 0 && list[1].ratio_low > 0) {
            one->loss = 1 / list[1].ratio;
            one->loss_low = 1 / list[1].ratio_high;
            one->loss_high = 1 / list[1].ratio_low;
        }
        ak_contestants_free(list, 2);
    }
    ak_session_close(&session);
    return status;
}

static ak_status confirm(many *m, ak_error *err)
{
    ak_sizes_result *result = m->result;
    double sum = 0;
    ak_status status = AK_OK;
    result->loss = (ak_sizes_loss){.configs = result->table_count};
    for (size_t s = 0; s < result->size_count && status == AK_OK; s++) {
        ak_size_result *one = &result->sizes[s];
        if (one->config != one->winner) {
            status = confirm_one(m, s, err);
        }
        sum += log(one->loss);
        if (one->loss > result->loss.worst) {
            result->loss.worst = one->loss;
            result->loss.worst_size = s;
        }
    }
    result->loss.geomean = exp(sum / (double)result->size_count);
    return status;
}

/* ---- the whole --------------------------------------------------------------------------------
 */

static ak_status end_run(many *m, ak_error *err)
{
    char *json = NULL, ended[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(ended);
    m->result->seconds = elapsed(m);
    ak_status status = ak_sizes_result_json(&json, m->result, err);
    if (status == AK_OK && m->recorded) {
        status = ak_archive_end_run(m->archive, m->id, ended, json, err);
    }
    if (status == AK_OK && m->events.sink != NULL) {
        ak_event_send(&m->events, "table", ak_sizes_to_json(m->result));
    }
    ak_free(json);
    return status;
}

static ak_status run_all(many *m, const char *const *sizes, ak_error *err)
{
    ak_sizes_result *result = m->result;
    ak_status status = open_tasks(m, sizes, err);
    if (status != AK_OK) {
        return status;
    }
    announce(m);
    status = tune_each(m, err);
    if (status == AK_OK && !cancelled(m)) {
        status = gather_leaders(m, err);
    }
    if (status == AK_OK && !cancelled(m) && result->config_count > 0) {
        status = cross(m, err);
    }
    if (status == AK_OK && !cancelled(m) && result->config_count > 0) {
        status = choose(m, err);
    }
    if (status == AK_OK && !cancelled(m) && result->table_count > 0) {
        status = confirm(m, err);
    }
    if (status == AK_CANCELLED || (status == AK_OK && cancelled(m))) {
        result->stopped_by = "cancelled";
        result->table_count = 0; /* what it loses was not measured */
        status = AK_OK;
    } else {
        result->stopped_by = result->table_count > 0 ? "done" : "nothing";
    }
    return status == AK_OK ? end_run(m, err) : status;
}

static ak_status check_request(const many *m, ak_error *err)
{
    size_t count = m->result->size_count;
    if (count == 0 || count > AK_TUNE_SIZES_MAX) {
        return ak_fail(err, AK_INVALID, "%zu sizes are given; 1 to %d can be tuned together", count,
                       AK_TUNE_SIZES_MAX);
    }
    if (m->wanted == 0 || m->wanted > count) {
        return ak_fail(err, AK_INVALID, "a table of %zu configurations for %zu sizes: 1 to %zu",
                       m->wanted, count, count);
    }
    if (m->options->evaluations > 0 && m->options->evaluations < count) {
        return ak_fail(err, AK_INVALID, "%zu evaluations for %zu sizes: each needs one at least",
                       m->options->evaluations, count);
    }
    return AK_OK;
}

ak_status ak_tune_sizes(ak_sizes_result *out, const ak_task_spec *spec, const char *const *sizes,
                        size_t size_count, size_t table, ak_archive *archive,
                        const ak_tune_options *options, ak_error *err)
{
    static const ak_tune_options defaults = {0};
    ak_sizes_result result = {.size_count = size_count};
    many m = {.spec = spec,
              .options = options == NULL ? &defaults : options,
              .archive = archive,
              .wanted = table,
              .result = &result,
              .begin_ns = ak_clock_ns()};
    ak_status status = check_request(&m, err);
    if (status != AK_OK) {
        return status;
    }
    ak_run_id(m.id);
    ak_clock_utc(m.started);
    m.events = (ak_events){.sink = m.options->sink,
                           .context = m.options->sink_context,
                           .run = m.id,
                           .start_ns = m.begin_ns};
    result.run = ak_strdup(m.id);
    result.sizes = ak_alloc(size_count, sizeof *result.sizes);
    m.tasks = ak_alloc(size_count, sizeof *m.tasks);
    m.tuned = ak_alloc(size_count, sizeof *m.tuned);
    m.given = ak_alloc(GIVEN_MAX + 1, sizeof *m.given);
    if (result.run == NULL || result.sizes == NULL || m.tasks == NULL || m.tuned == NULL ||
        m.given == NULL) {
        status = ak_fail_memory(err);
    } else {
        status = run_all(&m, sizes, err);
    }
    for (size_t i = 0; i < size_count; i++) {
        if (m.tuned != NULL) {
            ak_tune_result_clear(&m.tuned[i]);
        }
        if (m.tasks != NULL) {
            ak_task_close(m.tasks[i]);
        }
    }
    ak_free(m.given);
    ak_free(m.tuned);
    ak_free(m.tasks);
    if (status != AK_OK) {
        ak_sizes_result_clear(&result);
        return status;
    }
    *out = result;
    return AK_OK;
}

void ak_sizes_result_clear(ak_sizes_result *result)
{
    for (size_t i = 0; i < result->size_count && result->sizes != NULL; i++) {
        ak_free(result->sizes[i].size);
        ak_free(result->sizes[i].run);
        ak_free(result->sizes[i].library);
    }
    for (size_t i = 0; i < result->config_count; i++) {
        ak_free(result->configs[i]);
    }
    ak_free(result->run);
    ak_free(result->kernel);
    ak_free(result->implementation);
    ak_free(result->device);
    ak_free(result->dtype);
    ak_free(result->choices);
    ak_free(result->model);
    ak_free(result->sizes);
    ak_free((void *)result->configs);
    ak_free(result->ms);
    ak_free(result->table);
    ak_free(result->tradeoff);
    *result = (ak_sizes_result){0};
}
