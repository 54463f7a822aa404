/* finish.c: ends a run with a comparison: it measures the candidates and the libraries in turns,
   while no compiler runs. The best candidate (measure/contest.h) is the result of the run. On a
   recording, and if the checks or the comparison are cancelled or fail, the best of the search is
   the result. */
#include <assert.h>

#include "archive/field.h"
#include "report/candidate_name.h"
#include "tuner/run.h"
#include "tuner/warning.h"

/* Fewest seconds for each candidate or library, even if the time budget leaves less. */
#define FINISH_SECONDS_MIN 0.1

/* The candidates of the comparison: first the configurations, including the default, then the
   libraries. `fallback` is the index of the default; it equals `all` if the default does not take
   part. */
typedef struct lineup {
    ak_candidates chosen;
    size_t fallback, all;
    ak_comparison_candidate candidates[AK_CANDIDATES_MAX + 1 + AK_LIBRARIES_MAX];
    const char *names[AK_CANDIDATES_MAX + 1 + AK_LIBRARIES_MAX];
    /* the candidate lost the device or ended the worker while it ran */
    bool lost[AK_CANDIDATES_MAX + 1 + AK_LIBRARIES_MAX];
} lineup;

static void line_up(lineup *l, const ak_tuning *r)
{
    const ak_candidates *chosen = &l->chosen;
    size_t count = chosen->count, at = count;
    for (size_t i = 0; i < count; i++) {
        const ak_config *config = &chosen->list[i].config;
        bool is_default = ak_space_is_default(r->task->space, config);
        l->candidates[i] = (ak_comparison_candidate){.config = config};
        l->names[i] = is_default ? "default" : ak_candidate_name(i);
        at = is_default ? i : at;
    }
    l->all = count + ak_session_libraries(l->candidates + count, l->names + count, &r->session,
                                          AK_LIBRARIES_MAX);
    l->fallback = at < count ? at : l->all;
}

/* Measures the ceilings again while nothing is compiled, and places the archived results against
   them, because the ceilings may have risen. */
static ak_status raise_ceilings(ak_tuning *r, ak_error *err)
{
    r->ceilings_before = r->session.ceilings;
    ak_status status = ak_session_ceilings(&r->session, err);
    if (status == AK_OK && r->archive != NULL) {
        status = ak_session_place_archived(&r->session, r->archive, err);
    }
    /* These failures do not end the run. A worker that crashed or hung is started again, and the
       run keeps the ceilings of the survey. If the archive cannot be written, its results keep
       their former places. */
    return status == AK_CRASHED || status == AK_TIMED_OUT || status == AK_IO ? AK_OK : status;
}

/* Sets the seconds of the comparison, and the extra ones for a busy machine. A time budget that
   leaves less reduces both: the seconds not below FINISH_SECONDS_MIN for each candidate or library,
   the extra ones down to 0. */
static void plan_seconds(ak_comparison_spec *spec, const ak_tuning *r)
{
    spec->seconds = spec->extra = ak_tuning_finish_each(r->options) * (double)spec->count;
    if (r->options->seconds > 0 && spec->seconds > ak_tuning_seconds_left(r)) {
        double least = FINISH_SECONDS_MIN * (double)spec->count;
        double left = ak_tuning_seconds_left(r);
        spec->seconds = left > least ? left : least;
    }
    if (r->options->seconds > 0) {
        double left = ak_tuning_seconds_left(r) - spec->seconds;
        spec->extra = left < 0 ? 0 : left < spec->extra ? left : spec->extra;
    }
}

/* Runs the comparison. The best of the search that passed its check takes part twice; the
   difference of its two times shows the noise. */
static ak_status compare(ak_comparison_result *out, lineup *l, ak_tuning *r, ak_error *err)
{
    AK_DO(raise_ceilings(r, err));
    ak_comparison_spec spec = {.candidates = l->candidates,
                               .names = l->names,
                               .count = l->all,
                               .fallback = l->fallback,
                               .control = true,
                               .twice = 0,
                               .lost = l->lost,
                               .protocol = ak_session_protocol(&r->session)};
    plan_seconds(&spec, r);
    return ak_session_comparison(out, &r->session, &spec, err);
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void warn_of_lost(ak_tuning *r, const lineup *l, const ak_comparison_result *comparison)
{
    for (size_t i = 0; i < l->all; i++) {
        char text[600];
        const ak_compared *c = &comparison->list[i];
        if (l->lost[i]) {
            (void)snprintf(text, sizeof text,
                           "%.80s%s%.160s%s lost the device in the finish, which was made again "
                           "without it: %.240s",
                           c->name, c->config == NULL ? "" : " (",
                           c->config == NULL ? "" : c->config, c->config == NULL ? "" : ")",
                           c->reason == NULL ? "no reason given" : c->reason);
            ak_tuning_keep_warning(r, text);
        }
    }
}

/* Returns the index of the best measured candidate, or the count if there is none. */
static size_t best_of(const ak_candidates *candidates, const ak_compared *list)
{
    size_t order[AK_COMPARED_MAX];
    return ak_compared_order(order, list, candidates->count) > 0 ? order[0] : candidates->count;
}

/* Adds the warnings about the comparison to the result, and sends them as events. */
static ak_status warn_of_comparison(ak_tuning *r, const ak_candidates *chosen, ak_error *err)
{
    const size_t libraries = chosen->count; /* index of the first library */
    ak_status status = AK_OK;
    ak_tune_result *result = r->result;
    const size_t before = result->warning_count; /* those of the search have been sent */
    ak_warnings warnings = {result->warnings, before, before};
    const ak_compared *list = result->candidates;
    const size_t best = best_of(chosen, list);
    if (best < chosen->count) {
        AK_TRY(ak_warn_unchecked(&warnings, r->task, &chosen->list[best].config, err));
        AK_TRY(ak_warn_apart(&warnings, &list[best], chosen->list[best].ms, err));
    }
    /* The best of the search comes first. */
    AK_TRY(ak_warn_not_judged(&warnings, &list[0], err));
    AK_TRY(ak_warn_comparison(&warnings, &result->noise, list, result->candidate_count, err));
    AK_TRY(ak_warn_ceilings(&warnings, &r->ceilings_before, &r->session.ceilings, err));
    for (size_t i = libraries; i < result->candidate_count; i++) {
        AK_TRY(ak_warn_slower(&warnings, &list[i], r->survey_ms[i - libraries], err));
    }
out:
    for (size_t i = before; i < warnings.count; i++) {
        ak_tuning_warn(r, warnings.texts[i]);
    }
    result->warnings = warnings.texts;
    result->warning_count = warnings.count;
    return status;
}

/* ---- result ---------------------------------------------------------------------------------- */

/* Stores the best configuration. If `measured` is NULL, the times of the search are used. */
static ak_status set_best(ak_tuning *r, const ak_seen *winner, const ak_compared *measured,
                          ak_error *err)
{
    ak_trial *best = &r->result->best;
    best->id = winner->trial;
    best->status = AK_TRIAL_OK;
    best->median_ms = measured == NULL ? winner->ms : measured->median_ms;
    best->ci_low_ms = measured == NULL ? winner->low_ms : measured->ci_low_ms;
    best->ci_high_ms = measured == NULL ? winner->high_ms : measured->ci_high_ms;
    best->joules = measured == NULL ? winner->joules : measured->joules;
    if (r->task->objective != NULL) {
        best->cost = measured == NULL ? winner->cost : measured->cost;
        best->cost_low = measured == NULL ? 0 : measured->cost_low;
        best->cost_high = measured == NULL ? 0 : measured->cost_high;
    }
    ak_status status = ak_session_complete_trial(best, &r->session, &winner->config, r->id, err);
    r->result->found = status == AK_OK;
    for (size_t i = 0; status == AK_OK && measured == NULL && i < r->result->again_count; i++) {
        r->result->best_again |= strcmp(r->result->again[i].config, best->config) == 0;
    }
    ak_session_place(&r->result->placement, &r->session, best->median_ms);
    return status;
}

/* Notes it if the user has cancelled the run, perhaps after the search stopped for another
   reason. */
static void note_cancelled(ak_tuning *r)
{
    r->result->stopped_by = ak_tuning_cancelled(r) ? "cancelled" : r->result->stopped_by;
}

/* Takes the best of the search as the result if the checks or the comparison failed or were
   cancelled; fails if the reason was a lack of memory. That best was not measured in the finish,
   and perhaps not checked there. */
static ak_status settle_for_search(ak_tuning *r, const ak_candidates *candidates, ak_status status,
                                   const ak_error *why, ak_error *err)
{
    assert(candidates->count > 0 && status != AK_OK);
    if (status == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (status != AK_CANCELLED) {
        char text[600];
        (void)snprintf(text, sizeof text, "the best could not be measured again: %.480s",
                       why->text);
        ak_tuning_keep_warning(r, text);
    }
    note_cancelled(r);
    return set_best(r, &candidates->list[0], NULL, err);
}

static ak_status choose_best(ak_tuning *r, const lineup *l, const ak_comparison_result *comparison,
                             ak_error *err)
{
    ak_tune_result *result = r->result;
    size_t winner = best_of(&l->chosen, comparison->list);
    if (winner == l->chosen.count) {
        return AK_OK; /* no candidate was measured */
    }
    ak_compared *measured = &result->candidates[winner];
    result->tuned = winner;
    /* Without a library and without the default the ratios are relative to another candidate, so
       they are no speedup. */
    const bool known = result->baseline < l->all || result->reference == l->fallback;
    result->speedup = known ? measured->ratio : 0;
    AK_DO(ak_summary(&result->summary, comparison, winner, r->task->objective, err));
    AK_DO(ak_trial_set_text(&measured->name, "tuned", err));
    measured->ranked = false;
    return set_best(r, &l->chosen.list[winner], measured, err);
}

/* Returns the id of a candidate's trial; 0 while the trial waits for the archive, and without an
   archive. */
static int64_t trial_of(const ak_tuning *r, const ak_seen *one)
{
    return r->archive == NULL ? 0 : ak_archive_trial_id(r->archive, one->trial);
}

/* Moves the comparison into the result, warns, and chooses the best candidate. */
static ak_status take_comparison(ak_tuning *r, const lineup *l,
                                 const ak_comparison_result *comparison, ak_error *err)
{
    ak_tune_result *result = r->result;
    ak_warn_drop(result, r->began);
    r->began = NULL;
    warn_of_lost(r, l, comparison);
    result->candidates = comparison->list;
    result->candidate_count = result->tuned = l->all;
    result->baseline = comparison->library;
    result->reference = comparison->reference;
    result->noise = comparison->noise;
    for (size_t i = 0; i < l->chosen.count; i++) {
        result->candidates[i].trial = trial_of(r, &l->chosen.list[i]);
    }
    AK_DO(warn_of_comparison(r, &l->chosen, err));
    return choose_best(r, l, comparison, err);
}

/* Stores in the result why no sanitizer ran, if one was asked for. */
static ak_status note_unsanitized(ak_tuning *r, const char *why, ak_error *err)
{
    return r->options->sanitize ? ak_copy_text(&r->result->sanitizers, why, err) : AK_OK;
}

ak_status ak_tuning_finish(ak_tuning *r, ak_error *err)
{
    lineup l = {.all = 0};
    ak_error why = AK_ERROR_INIT;
    ak_comparison_result comparison;
    ak_candidates_rank(&l.chosen, r);
    if (l.chosen.count == 0) {
        return note_unsanitized(r,
                                "no sanitizer ran, because no configuration worked: 'autokernel "
                                "check --sanitize' also runs what gives a wrong result or crashes",
                                err);
    }
    /* A run on a recording has no finish, because the recording would give the same times again. */
    if (ak_tuning_cancelled(r) || ak_pool_recalls(r->session.pool)) {
        note_cancelled(r);
        AK_DO(note_unsanitized(r, "no sanitizer ran, because the run has no finish", err));
        return set_best(r, &l.chosen.list[0], NULL, err);
    }
    r->session.sanitize = r->options->sanitize;
    ak_status status = ak_candidates_choose(&l.chosen, r, &why);
    char sanitizers[800];
    ak_sanitizing_text(sanitizers, sizeof sanitizers, &r->session);
    AK_DO(ak_copy_text(&r->result->sanitizers, sanitizers[0] == 0 ? NULL : sanitizers, err));
    if (l.chosen.count == 0) { /* no configuration passed its checks */
        return status == AK_OK || status == AK_CANCELLED ? AK_OK
                                                         : ak_fail(err, status, "%s", why.text);
    }
    if (status != AK_OK) {
        return settle_for_search(r, &l.chosen, status, &why, err);
    }
    line_up(&l, r);
    ak_tuning_announce_phase(r, "finish");
    status = compare(&comparison, &l, r, &why);
    return status != AK_OK ? settle_for_search(r, &l.chosen, status, &why, err)
                           : take_comparison(r, &l, &comparison, err);
}
