/* candidates.c: chooses the configurations that take part in the finish: the best of the search,
   and the default, as far as they pass every check. */
#include <stdlib.h>

#include "launcher/launcher.h"
#include "tuner/run.h"
#include "tuner/warning.h"

/* A candidate that fails its check is replaced by the next best. Once one has passed, no further
   ones are checked if there could be more failures than this or if the time is up; those that have
   passed are measured. As long as none has passed, the next ones are checked unless both hold,
   because without a candidate there is no best. */
#define WRONG_MAX 64

/* Candidates whose check failed. */
typedef struct wrong {
    ak_seen *list;
    size_t count, capacity;
} wrong;

static void wrong_clear(wrong *w)
{
    ak_free(w->list);
}

static int by_cost(const void *a, const void *b)
{
    double x = ((const ak_seen *)a)->cost, y = ((const ak_seen *)b)->cost;
    return (x > y) - (x < y);
}

/* Returns whether two trials are known to have run the same machine code. Such trials share one
   measurement, so their times agree to the last bit, unless one was measured again later. */
static bool same_code(const ak_seen *a, const ak_seen *b)
{
    return a->device == b->device && a->ms == b->ms && a->low_ms == b->low_ms &&
           a->high_ms == b->high_ms;
}

static bool has_code(const ak_seen *list, size_t count, const ak_seen *one)
{
    for (size_t i = 0; i < count; i++) {
        if (same_code(&list[i], one)) {
            return true;
        }
    }
    return false;
}

/* Returns whether the check has failed for this configuration, or for one with the same code and
   needs (ak_task_needs_alike). Equal code is not enough: at shapes that only the check runs,
   conditions may exclude one of the two configurations, or their workspace may differ. */
static bool has_failed(const wrong *failed, const ak_task *task, const ak_seen *one)
{
    for (size_t i = 0; i < failed->count; i++) {
        const ak_seen *other = &failed->list[i];
        if (memcmp(&other->config, &one->config, sizeof one->config) == 0 ||
            (same_code(other, one) && ak_task_needs_alike(task, &other->config, &one->config))) {
            return true;
        }
    }
    return false;
}

static bool has_config(const ak_seen *list, size_t count, const ak_config *config)
{
    return AK_FIND_SAME(list, count, config, config) < count;
}

/* Sorts the history: trials that worked come first, by their costs. Returns their number. */
static size_t sort_history(ak_tuning *r)
{
    size_t ok = 0;
    for (size_t i = 0; i < r->history_count; i++) {
        if (r->history[i].cost > 0) {
            ak_seen kept = r->history[i];
            r->history[i] = r->history[ok];
            r->history[ok++] = kept;
        }
    }
    if (ok > 0) {
        qsort(r->history, ok, sizeof *r->history, by_cost);
    }
    return ok;
}

/* Collects the best few of each device, by their costs, without those that share code with a better
   one or whose check failed, and the default, unless it failed or was not tried. The default takes
   part so that no configuration is exported that the finish finds worse than the default. */
static void rank(ak_candidates *out, ak_tuning *r, const wrong *failed)
{
    size_t ok = sort_history(r), each = ak_tuning_candidates_of_each(r);
    size_t taken[AK_SEATS_MAX] = {0};
    ak_config fallback;
    ak_space_default(&fallback, r->task->space);
    out->count = 0;
    for (size_t i = 0; i < ok; i++) {
        const ak_seen *one = &r->history[i];
        if (out->count < AK_CANDIDATES_MAX && taken[one->device] < each &&
            !has_code(out->list, out->count, one) && !has_failed(failed, r->task, one)) {
            taken[one->device]++;
            out->list[out->count++] = *one;
        }
    }
    const ak_seen *plain = ak_tuning_find(r, &fallback);
    if (plain != NULL && plain->cost > 0 && !has_config(out->list, out->count, &fallback) &&
        !has_config(failed->list, failed->count, &fallback)) {
        out->list[out->count++] = *plain;
    }
}

void ak_candidates_rank(ak_candidates *out, ak_tuning *r)
{
    const wrong none = {.count = 0};
    rank(out, r, &none);
}

static ak_status archive_wrong(ak_tuning *r, ak_trial *trial, ak_error *err)
{
    r->result->failed[trial->status]++;
    ak_status status = ak_copy_text(&trial->strategy, AK_FINALISTS, err);
    if (status == AK_OK && r->archive != NULL) {
        status = ak_archive_add_trial(r->archive, trial, err);
    }
    ak_tuning_announce_trial(r, trial, false);
    return status;
}

/* Warns if `one` is the best of the search and its check could not be judged. */
static void warn_of_fastest(ak_tuning *r, const ak_seen *one, const ak_trial *checked)
{
    AK_AT_END(ak_warnings_free) ak_warnings list = {0};
    const ak_compared fastest = {.config = checked->config, .reason = checked->reason};
    if (memcmp(&one->config, &r->history[0].config, sizeof one->config) == 0 &&
        ak_warn_not_judged(&list, &fastest, NULL) == AK_OK && list.count > 0) {
        ak_tuning_keep_warning(r, list.texts[0]);
    }
}

/* Stores with a candidate's archived trial the hash of the code that its check compiled for all
   sizes: the search may have compiled it for one size only, and a bundle is compared with this
   hash. If the archive cannot be written just now, the trial stays without it, and `export` says
   so. */
static ak_status keep_code(ak_tuning *r, const ak_seen *one, const ak_trial *checked, ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    if (r->archive == NULL || one->trial == 0 || checked->code_hash == NULL) {
        return AK_OK;
    }
    ak_status status = ak_archive_keep_code(r->archive, one->trial, checked->code_hash, &why);
    return status == AK_NO_MEMORY ? ak_fail_memory(err) : AK_OK;
}

/* Checks each candidate on every edge-case shape and on hidden shapes, as far as its conditions
   allow them; the search has checked only the task's own size and at most one other. After
   AK_CANCELLED, candidates that were not checked are in neither list. */
static ak_status check(ak_candidates *right, wrong *failed, const ak_candidates *fresh,
                       ak_tuning *r, ak_error *err)
{
    ak_config configs[AK_CANDIDATES_MAX + 1];
    ak_trial trials[AK_CANDIDATES_MAX + 1];
    for (size_t i = 0; i < fresh->count; i++) {
        configs[i] = fresh->list[i].config;
    }
    ak_status checked = ak_session_check(trials, &r->session, configs, fresh->count, r->id, err);
    AK_DO(checked == AK_CANCELLED ? AK_OK : checked);
    ak_status status = AK_GROW(failed->list, &failed->capacity, failed->count + fresh->count, err);
    if (status != AK_OK) {
        AK_CLEAR_EACH(ak_trial_clear, trials, fresh->count);
        return status;
    }
    for (size_t i = 0; i < fresh->count; i++) {
        bool reached = trials[i].config != NULL;
        if (reached && trials[i].status == AK_TRIAL_OK) {
            right->list[right->count++] = fresh->list[i];
            status = status == AK_OK ? keep_code(r, &fresh->list[i], &trials[i], err) : status;
        } else if (reached) {
            failed->list[failed->count++] = fresh->list[i];
            warn_of_fastest(r, &fresh->list[i], &trials[i]);
            status = status == AK_OK ? archive_wrong(r, &trials[i], err) : status;
        }
        ak_trial_clear(&trials[i]);
    }
    return status == AK_OK ? checked : status;
}

ak_status ak_candidates_choose(ak_candidates *out, ak_tuning *r, ak_error *err)
{
    AK_AT_END(wrong_clear) wrong failed = {.count = 0};
    ak_candidates right = {.count = 0};
    ak_status status = AK_OK;
    for (;;) {
        ak_candidates fresh = {.count = 0};
        rank(out, r, &failed);
        for (size_t i = 0; i < out->count; i++) {
            if (!has_config(right.list, right.count, &out->list[i].config)) {
                fresh.list[fresh.count++] = out->list[i];
            }
        }
        if (status != AK_OK || fresh.count == 0) {
            return status;
        }
        const bool late = r->options->seconds > 0 && ak_tuning_seconds_left(r) <= 0;
        const bool many = failed.count + fresh.count > WRONG_MAX;
        if (right.count > 0 ? late || many : late && many) {
            *out = right;
            return AK_OK;
        }
        status = check(&right, &failed, &fresh, r, err);
        if (status != AK_OK && status != AK_CANCELLED) {
            /* This leaves out the candidates that were refuted before the error. */
            rank(out, r, &failed);
            return status;
        }
    }
}
