/*
 * side_by_side.c: compares candidates, for runs over one size (first_look.c, search.c, finish.c) or
 * many, for compare and for bench. Device workers take the samples in turns, or a recording has
 * them; outlast.c repeats the measurement without a candidate that breaks the device. This file
 * turns the samples into times, costs, rates relative to the roofline, and verdicts.
 */
#include "tuner/side_by_side.h"

#include <assert.h>

#include "base/value_json.h"
#include "measure/contest.h"
#include "measure/verdict.h"
#include "report/candidate_name.h"

double ak_compared_cost(const ak_compared *c)
{
    return c->median_ms > 0 && c->cost > 0 ? c->cost : c->median_ms;
}

static_assert(AK_COMPARED_MAX <= AK_CONTEST_MAX, "an order has room for all");

size_t ak_compared_order(size_t *order, const ak_compared *list, size_t count)
{
    ak_contender all[AK_COMPARED_MAX];
    size_t most = count < AK_COMPARED_MAX ? count : AK_COMPARED_MAX;
    for (size_t i = 0; i < most; i++) {
        const ak_compared *c = &list[i];
        all[i] = (ak_contender){.cost = c->config == NULL ? 0 : ak_compared_cost(c),
                                .over_default = c->over_default,
                                .over_reference = ak_compared_speed(c)};
    }
    return ak_contest_order(order, all, most);
}

void ak_compared_free(ak_compared *list, size_t count)
{
    for (size_t i = 0; list != NULL && i < count; i++) {
        AK_FREE_ALL(list[i].name, list[i].version, list[i].config, list[i].throttle,
                    list[i].overlap, list[i].library, list[i].reason, list[i].note);
    }
    ak_free(list);
}

void ak_comparison_result_clear(ak_comparison_result *comparison)
{
    ak_compared_free(comparison->list, comparison->count);
    *comparison = (ak_comparison_result){0};
}

size_t ak_session_libraries(ak_comparison_candidate *candidates, const char **names,
                            const ak_session *session, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < session->baseline_count && count < most; i++) {
        if (session->baselines[i].installed) {
            candidates[count] = (ak_comparison_candidate){.baseline = session->baselines[i].name};
            names[count++] = session->baselines[i].title;
        }
    }
    return count;
}

static const ak_baseline_info *baseline_of(const ak_session *session, const char *name)
{
    size_t i = AK_FIND(session->baselines, session->baseline_count, name, name);
    return i < session->baseline_count ? &session->baselines[i] : NULL;
}

static ak_status name_library(ak_compared *c, const ak_session *session, const char *library,
                              const char *version, ak_error *err)
{
    const ak_baseline_info *info = baseline_of(session, library);
    const char *installed = info == NULL ? "" : info->version;
    AK_DO(ak_copy_text(&c->name, info == NULL ? library : info->title, err));
    AK_DO(ak_copy_text(&c->version, version == NULL ? installed : version, err));
    return ak_copy_text(&c->library, library, err);
}

static const ak_task *task_of(const ak_comparison_candidate *candidate, const ak_session *session)
{
    return candidate->task != NULL ? candidate->task : session->task;
}

static ak_status name_candidate(ak_compared *c, const ak_session *session,
                                const ak_comparison_candidate *candidate, const char *name,
                                ak_error *err)
{
    const ak_task *task = task_of(candidate, session);
    AK_DO(ak_config_text(&c->config, task->space, candidate->config, err));
    c->task = candidate->task;
    c->ranked = ak_candidate_is_ranked(name);
    return ak_copy_text(&c->name, name, err);
}

static void set_times(ak_compared *c, const ak_session *session, const ak_comparison_entry *entry)
{
    ak_stats stats;
    ak_roofline roof;
    ak_stats_of(&stats, entry->samples_ms, entry->sample_count);
    c->median_ms = stats.median;
    c->ci_low_ms = stats.low;
    c->ci_high_ms = stats.high;
    ak_session_reach(&roof, &c->utilisation, session, stats.median, entry->conditions.sm_clock_mhz);
    c->tflops = roof.tflops;
    c->gbs = roof.gbs;
    c->efficiency = roof.efficiency;
}

/* Computes the cost in each round, with its median and interval. If it cannot be computed, as for a
   library if the objective reads facts of the compiled code, the candidate counts as failed. */
static ak_status set_costs(ak_compared *c, const ak_task *task,
                           const ak_comparison_candidate *candidate, ak_comparison_entry *entry,
                           ak_error *err)
{
    AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
    ak_stats stats;
    ak_error why = AK_ERROR_INIT;
    AK_DO(AK_NEW(entry->costs, entry->sample_count, err));
    AK_DO(ak_task_scope(&scope, task, &task->shape, candidate->config, err));
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < entry->sample_count; i++) {
        const ak_objective_facts facts = {
            .ms = entry->samples_ms[i],
            .joules = entry->joules == NULL ? 0 : entry->joules[i],
            .flops = task->shape.flops,
            .traffic = task->shape.traffic,
            .has_code = entry->code.known,
            .registers = entry->code.registers,
            .shared_bytes = entry->code.shared_bytes,
            .spill_bytes = entry->code.spill_bytes,
            .code_bytes = entry->code.code_bytes,
        };
        status = ak_objective_cost(&entry->costs[i], task->objective, scope, &facts, &why);
    }
    if (status != AK_OK) {
        AK_DO(status == AK_NO_MEMORY ? ak_fail_memory(err) : AK_OK);
        c->median_ms = c->ci_low_ms = c->ci_high_ms = 0;
        return ak_copy_text(&c->reason, why.text, err);
    }
    ak_stats_of(&stats, entry->costs, entry->sample_count);
    c->cost = stats.median;
    c->cost_low = stats.low;
    c->cost_high = stats.high;
    if (entry->joules != NULL) {
        ak_stats_of(&stats, entry->joules, entry->sample_count);
        c->joules = stats.median;
    }
    return AK_OK;
}

static ak_status set_conditions(ak_compared *c, const ak_conditions *conditions, ak_error *err)
{
    char reasons[AK_THROTTLE_BYTES];
    c->sm_clock_mhz = conditions->sm_clock_mhz;
    c->memory_clock_mhz = conditions->memory_clock_mhz;
    c->power_watts = conditions->power_watts;
    c->temperature_celsius = conditions->temperature_celsius;
    ak_throttle_text(reasons, conditions->throttle);
    return ak_copy_text(&c->throttle, reasons, err);
}

static ak_status describe(ak_compared *c, const ak_session *session,
                          const ak_comparison_candidate *candidate, const char *name,
                          ak_comparison_entry *entry, ak_error *err)
{
    AK_DO(candidate->baseline != NULL
              ? name_library(c, session, candidate->baseline, entry->version, err)
              : name_candidate(c, session, candidate, name, err));
    if (entry->status != AK_TRIAL_OK) {
        const char *why =
            entry->reason == NULL ? ak_trial_status_text(entry->status) : entry->reason;
        AK_DO(ak_copy_text(&c->reason, why, err));
    } else if (entry->sample_count > 0) {
        if (entry->reason != NULL) {
            AK_DO(ak_copy_text(&c->note, entry->reason, err));
        }
        set_times(c, session, entry);
        if (session->task->objective != NULL) {
            AK_DO(set_costs(c, task_of(candidate, session), candidate, entry, err));
        }
    }
    if (entry->overlap != AK_OVERLAP_UNKNOWN) {
        AK_DO(ak_copy_text(&c->overlap, ak_overlap_text(entry->overlap), err));
    }
    if (entry->conditions.samples > 0) {
        AK_DO(set_conditions(c, &entry->conditions, err));
    }
    return AK_OK;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static bool disturbed_in(const ak_comparison_entry *entry, size_t round)
{
    return entry->waited != NULL && round < entry->sample_count &&
           entry->waited[round] > AK_VERDICT_DISTURBED;
}

/* Returns what is compared: the costs, or the times if the objective is the time. */
static const double *samples_of(const ak_comparison_entry *entry)
{
    return entry->costs != NULL ? entry->costs : entry->samples_ms;
}

/* Computes the speed of `mine` relative to `theirs`. *clean is false if too few rounds were
   undisturbed (measure/verdict.h). */
static ak_status pair(ak_stats *out, bool *clean, const ak_comparison_entry *theirs,
                      const ak_comparison_entry *mine, size_t group, ak_error *err)
{
    size_t rounds =
        mine->sample_count < theirs->sample_count ? mine->sample_count : theirs->sample_count;
    AK_FREED bool *disturbed = NULL;
    AK_DO(AK_NEW(disturbed, rounds + 1, err));
    for (size_t i = 0; i < rounds; i++) {
        disturbed[i] = disturbed_in(mine, i) || disturbed_in(theirs, i);
    }
    *clean = ak_verdict_ratio(out, samples_of(theirs), samples_of(mine), disturbed, rounds, group);
    return AK_OK;
}

/* Sets the speed unless it is unknown (NaN). */
static void set_speed(ak_speed *out, const ak_stats *ratio)
{
    if (ratio->low > 0) {
        out->ratio = ratio->median;
        out->low = ratio->low;
        out->high = ratio->high;
    }
}

/* The state of one comparison. If there is a control, its entry is the last in `result`. */
typedef struct comparison {
    const ak_comparison_spec *spec;
    ak_result *result;
    ak_comparison_result *out;
    ak_stats control;
    bool recorded; /* times of a recording: nothing was measured in turns */
    size_t twice;  /* index of the candidate that the control copies in the end */
} comparison;

static bool ran(const comparison *d, size_t i)
{
    return i < d->spec->count && d->out->list[i].median_ms > 0;
}

/* With an objective other than the time, computes the control's cost in each round, so that the
   control can be compared with the candidate that it copies. */
static ak_status cost_control(comparison *d, const ak_session *session, ak_error *err)
{
    const ak_comparison_candidate *candidate = &d->spec->candidates[d->twice];
    ak_comparison_entry *entry = &d->result->entries[d->spec->count];
    ak_compared ignored = {0};
    if (!d->spec->control || session->task->objective == NULL || entry->sample_count == 0 ||
        entry->status != AK_TRIAL_OK) {
        return AK_OK;
    }
    ak_status status = set_costs(&ignored, task_of(candidate, session), candidate, entry, err);
    ak_free(ignored.reason);
    return status;
}

static ak_status judge_control(comparison *d, ak_error *err)
{
    const ak_comparison_spec *spec = d->spec;
    ak_noise *noise = &d->out->noise;
    const ak_comparison_entry *second = &d->result->entries[spec->count];
    if (!spec->control || !ran(d, d->twice) || second->sample_count == 0) {
        return AK_OK;
    }
    bool clean = false;
    AK_DO(pair(&d->control, &clean, &d->result->entries[d->twice], second, d->result->course.group,
               err));
    set_speed(&noise->control, &d->control);
    noise->control.verdict = ak_verdict_doubt(&noise->control.doubt, &d->control, NULL, clean);
    return AK_OK;
}

/* Judges candidate i against another one. Of recorded times only the ratio is known: they were not
   taken in the same rounds. */
static ak_status judge_speed(ak_speed *out, const comparison *d, size_t i, size_t other,
                             ak_error *err)
{
    ak_stats ratio;
    bool clean = false;
    *out = (ak_speed){0};
    if (!ran(d, i) || !ran(d, other)) {
        return AK_OK;
    }
    if (i == other) {
        *out = (ak_speed){.ratio = 1, .low = 1, .high = 1};
        return AK_OK;
    }
    if (d->recorded) {
        const ak_compared *list = d->out->list;
        out->ratio = ak_compared_cost(&list[other]) / ak_compared_cost(&list[i]);
        return AK_OK;
    }
    AK_DO(pair(&ratio, &clean, &d->result->entries[other], &d->result->entries[i],
               d->result->course.group, err));
    set_speed(out, &ratio);
    out->verdict =
        ak_verdict_doubt(&out->doubt, &ratio, d->spec->control ? &d->control : NULL, clean);
    return AK_OK;
}

/* Chooses the reference: the best library that does the work of the task (one that only copies
   memory does not), else the default, else the first candidate that ran. */
static void choose_reference(comparison *d)
{
    const ak_comparison_spec *spec = d->spec;
    size_t best = spec->count, first = spec->count;
    for (size_t i = spec->count; i-- > 0;) {
        const char *library = spec->candidates[i].baseline;
        first = ran(d, i) ? i : first;
        if (library != NULL && ran(d, i) && strcmp(library, AK_BASELINE_COPY) != 0 &&
            (best == spec->count ||
             ak_compared_cost(&d->out->list[i]) <= ak_compared_cost(&d->out->list[best]))) {
            best = i;
        }
    }
    d->out->library = best;
    d->out->reference = best < spec->count ? best : ran(d, spec->fallback) ? spec->fallback : first;
}

static void describe_noise(comparison *d)
{
    const ak_comparison_course *course = &d->result->course;
    ak_noise *noise = &d->out->noise;
    if (d->recorded) {
        *noise = (ak_noise){.pressure_before = -1, .pressure = -1, .pressure_after = -1};
        return;
    }
    noise->pressure_before = course->before;
    noise->pressure = course->during;
    noise->pressure_after = course->after;
    noise->extended = course->extended;
    noise->unseen = course->unseen;
    noise->candidates = d->result->entry_count;
    noise->seconds = d->spec->seconds;
    for (size_t i = 0; i < d->result->entry_count; i++) {
        size_t rounds = d->result->entries[i].sample_count;
        noise->rounds = rounds > noise->rounds ? rounds : noise->rounds;
        noise->waits_known = noise->waits_known || d->result->entries[i].waited != NULL;
    }
    for (size_t round = 0; round < noise->rounds; round++) {
        bool disturbed = false;
        for (size_t i = 0; i < d->result->entry_count; i++) {
            disturbed = disturbed || disturbed_in(&d->result->entries[i], round);
        }
        noise->disturbed += disturbed ? 1 : 0;
    }
}

static ak_status judge_candidate(ak_compared *c, const comparison *d, size_t i, ak_error *err)
{
    ak_speed speed;
    AK_DO(judge_speed(&speed, d, i, d->out->reference, err));
    c->ratio = speed.ratio;
    c->ratio_low = speed.low;
    c->ratio_high = speed.high;
    c->verdict = speed.verdict;
    c->doubt = speed.doubt;
    c->tie = speed.verdict == AK_SPEED_TIE;
    return judge_speed(&c->over_default, d, i, d->spec->fallback, err);
}

/* Finds the best configuration and, if that is wanted, judges all candidates against it. */
static ak_status judge_best(comparison *d, ak_error *err)
{
    const size_t count = d->spec->count;
    ak_compared *list = d->out->list;
    size_t order[AK_COMPARED_MAX];
    d->out->best = ak_compared_order(order, list, count) > 0 ? order[0] : count;
    for (size_t i = 0; i < count && d->spec->over_best; i++) {
        AK_DO(judge_speed(&list[i].over_default, d, i, d->out->best, err));
    }
    return AK_OK;
}

static ak_status judge_all(comparison *d, const ak_session *session, ak_error *err)
{
    const ak_comparison_spec *spec = d->spec;
    ak_compared *list = d->out->list;
    for (size_t i = 0; i < spec->count; i++) {
        AK_DO(describe(&list[i], session, &spec->candidates[i], spec->names[i],
                       &d->result->entries[i], err));
    }
    AK_DO(cost_control(d, session, err));
    describe_noise(d);
    choose_reference(d);
    AK_DO(judge_control(d, err));
    for (size_t i = 0; i < spec->count; i++) {
        AK_DO(judge_candidate(&list[i], d, i, err));
    }
    return judge_best(d, err);
}

/* Rejects candidates and libraries that are implausibly fast, as is done for trials. The baseline
   that only copies memory is exempt, because it does not do the work of the task. */
static ak_status reject_implausible(ak_result *result, const ak_session *session,
                                    const ak_comparison_candidate *candidates, size_t count,
                                    ak_error *err)
{
    for (size_t i = 0; i < count && i < result->entry_count; i++) {
        ak_comparison_entry *entry = &result->entries[i];
        const char *library = candidates[i].baseline;
        bool copies = library != NULL && strcmp(library, AK_BASELINE_COPY) == 0;
        char why[AK_IMPLAUSIBLE_BYTES];
        ak_stats stats;
        if (copies || entry->status != AK_TRIAL_OK || entry->sample_count == 0) {
            continue;
        }
        ak_stats_of(&stats, entry->samples_ms, entry->sample_count);
        if (ak_session_implausible(why, session, stats.median)) {
            ak_comparison_entry_clear(entry);
            entry->status = AK_TRIAL_REJECTED;
            AK_DO(ak_copy_text(&entry->reason, why, err));
        }
    }
    return AK_OK;
}

ak_status ak_session_comparison(ak_comparison_result *out, ak_session *session,
                                const ak_comparison_spec *spec, ak_error *err)
{
    size_t all = spec->count + (spec->control ? 1 : 0);
    AK_FREED ak_comparison_candidate *candidates = ak_alloc(all, sizeof *candidates);
    AK_AT_END(ak_result_clear) ak_result result = {0};
    AK_AT_END(ak_comparison_result_clear)
    ak_comparison_result found = {.list = ak_alloc(spec->count, sizeof *found.list),
                                  .count = spec->count,
                                  .fallback = spec->fallback};
    comparison d = {.spec = spec,
                    .result = &result,
                    .out = &found,
                    .recorded = ak_pool_recalls(session->pool),
                    .twice = spec->control ? spec->twice : all};
    AK_DO(ak_stored(candidates != NULL && found.list != NULL, err));
    memcpy(candidates, spec->candidates, spec->count * sizeof *candidates);
    if (spec->control) {
        assert(spec->twice < spec->count);
        candidates[spec->count] = spec->candidates[spec->twice];
    }
    ak_job job = {
        .kind = AK_JOB_COMPARISON,
        .candidates = candidates,
        .candidate_count = all,
        .specialised = spec->specialised,
        .plan = {.seconds = spec->seconds, .extra = spec->extra, .protocol = spec->protocol}};
    AK_DO(ak_comparison_outlast(&result, &d.twice, session, &job, err));
    for (size_t i = 0; i < spec->count && spec->lost != NULL; i++) {
        spec->lost[i] = result.entries[i].culprit;
    }
    AK_DO(reject_implausible(&result, session, candidates, all, err));
    AK_DO(judge_all(&d, session, err));
    AK_GIVE(out, found);
    return AK_OK;
}
