/*
 * outlast.c: repeats a comparison without a candidate that broke it. On some devices candidates and
 * libraries run in the worker's own process, so one of them can end the worker or leave the device
 * in an error, which destroys the measurements of all. The worker usually reports which candidate
 * it was. If the worker died without a report, candidates run alone for a moment, one after the
 * other; the first that ends the worker again or loses the device is the culprit.
 */

#include "tuner/side_by_side.h"

/* Seconds for which a candidate runs alone: as few as possible, because only whether it fails
   matters. */
#define ALONE_SECONDS 0.02

typedef struct rest {
    ak_session *session;
    const ak_job *job;
    ak_comparison_candidate *candidates; /* candidates still in the comparison */
    size_t *left;                        /* the indices that these candidates have in the job */
    size_t count;
} rest;

static void rest_clear(rest *c)
{
    AK_FREE_ALL(c->candidates, c->left);
}

static ak_status run(ak_result *out, const rest *c, const ak_comparison_candidate *candidates,
                     size_t count, double seconds, ak_error *err)
{
    ak_job job = *c->job;
    job.id = c->session->next_job++;
    job.candidates = candidates;
    job.candidate_count = count;
    job.plan.seconds = seconds;
    AK_DO(ak_pool_submit(c->session->pool, &job, err));
    AK_DO(ak_session_wait(out, c->session, job.id, 1, err));
    ak_status status = AK_OK;
    if (out->entry_count != count) {
        status = ak_fail(err, AK_INTERNAL, "the device worker measured %zu of %zu candidates: %s",
                         out->entry_count, count,
                         out->trial.reason == NULL ? "no reason given" : out->trial.reason);
        ak_result_clear(out);
    }
    return status;
}

/* Finds the first candidate that ends the worker or loses the device when it runs alone. *who is
   c->count if none does. */
static ak_status find_culprit(size_t *who, const rest *c, ak_error *err)
{
    for (*who = 0; *who < c->count; (*who)++) {
        ak_result result = {0};
        ak_status status = run(&result, c, &c->candidates[*who], 1, ALONE_SECONDS, err);
        bool found = status == AK_OK && (result.died || result.entries[0].culprit);
        ak_result_clear(&result);
        if (found || status != AK_OK) {
            return status;
        }
    }
    return AK_OK;
}

static ak_status name_culprit(size_t *who, const rest *c, const ak_result *result, ak_error *err)
{
    *who = c->count;
    for (size_t i = 0; i < c->count; i++) {
        *who = result->entries[i].culprit ? i : *who;
    }
    return *who == c->count && result->died && c->count > 1 ? find_culprit(who, c, err) : AK_OK;
}

static void leave_out(rest *c, size_t who)
{
    c->count--;
    memmove(c->left + who, c->left + who + 1, (c->count - who) * sizeof *c->left);
    memmove(c->candidates + who, c->candidates + who + 1, (c->count - who) * sizeof *c->candidates);
}

/* Replaces the control if its original was left out. The control is the last candidate of the job
   and a copy of another one; here it becomes a copy of the first remaining candidate. */
static void mend_control(rest *c, size_t *twice, size_t last)
{
    bool has_control = *twice < last && c->count > 0 && c->left[c->count - 1] == last;
    bool whole = false;
    for (size_t i = 0; i < c->count; i++) {
        whole = whole || c->left[i] == *twice;
    }
    if (has_control && !whole && c->count > 1) {
        *twice = c->left[0];
        c->candidates[c->count - 1] = c->candidates[0];
    }
}

/* Moves the measurements in `result` to the indices that their candidates have in the job. */
static void keep(ak_comparison_entry *entries, const rest *c, ak_result *result)
{
    for (size_t i = 0; i < c->count; i++) {
        ak_comparison_entry_clear(&entries[c->left[i]]);
        entries[c->left[i]] = result->entries[i];
        result->entries[i] = (ak_comparison_entry){0};
    }
}

static ak_status compare_rest(ak_result *out, ak_comparison_entry *entries, size_t *twice, rest *c,
                              ak_error *err)
{
    ak_status status = AK_OK;
    const size_t last = c->count - 1;
    for (;;) {
        size_t who;
        AK_TRY(run(out, c, c->candidates, c->count, c->job->plan.seconds, err));
        AK_TRY(name_culprit(&who, c, out, err));
        keep(entries, c, out);
        if (who == c->count) {
            return AK_OK;
        }
        entries[c->left[who]].culprit = true;
        leave_out(c, who);
        if (c->count == 0) {
            return AK_OK;
        }
        mend_control(c, twice, last);
        ak_result_clear(out);
    }
out:
    ak_result_clear(out);
    return status;
}

ak_status ak_comparison_outlast(ak_result *out, size_t *twice, ak_session *session,
                                const ak_job *job, ak_error *err)
{
    const size_t count = job->candidate_count;
    AK_AT_END(rest_clear) rest c = {.session = session, .job = job, .count = count};
    ak_comparison_entry *entries;
    AK_DO(AK_NEW(c.candidates, count, err));
    AK_DO(AK_NEW(c.left, count, err));
    AK_DO(AK_NEW(entries, count, err));
    memcpy(c.candidates, job->candidates, count * sizeof *c.candidates);
    for (size_t i = 0; i < count; i++) {
        c.left[i] = i;
    }
    ak_status status = compare_rest(out, entries, twice, &c, err);
    if (status != AK_OK) {
        AK_CLEAR_EACH(ak_comparison_entry_clear, entries, count);
        ak_free(entries);
        return status;
    }
    ak_free(out->entries);
    out->entries = entries;
    out->entry_count = count;
    return AK_OK;
}
