/*
 * worth.c: computes what language models contributed: success by proposer, the learning curve,
 * predictions against outcomes, and the price of a percent gained.
 *
 * Gains are gains of speed: 0.1 means 1.10 times the speed. (The archive's predicted_gain is a
 * reduction of time.) outcome.h says which time of a configuration counts. A prediction is not
 * judged if the interval of the measured speed is wider than WIDEST.
 */
#include <math.h>

#include "base/alloc.h"
#include "measure/verdict.h"
#include "report/gather.h"
#include "report/outcome.h"

/* Trials of further proposers are counted nowhere; those of later generations are left out of the
   learning curve and of the gain. The predictions of both are judged all the same. */
#define PROPOSERS_MAX   64
#define GENERATIONS_MAX 128
/* If the upper end of an interval is more than this many times the lower end, nothing is decided. A
   comparison has the same limit. */
#define WIDEST AK_VERDICT_WIDEST
/* Upper ends of the bins of predictions, as gains of speed. */
static const double bins[] = {0, 0.05, 0.1, 0.25, INFINITY};
#define BINS (AK_COUNT(bins))

typedef struct proposer {
    const char *strategy, *model; /* borrowed from the trials; model NULL: none */
    size_t trials, by_status[AK_TRIAL_STATUS_COUNT];
    double best_ratio;          /* best speed relative to the run's default; 0: none */
    double best_low, best_high; /* interval of best_ratio */
} proposer;

/* Sums over runs of relative speeds, so that kernels with different times count alike. */
typedef struct generation {
    size_t trials, ok, runs;
    double speed; /* sum over runs of the speed of the best so far, relative to the default */
} generation;

typedef struct bin {
    size_t count;
    double expected, measured;
} bin;

typedef struct worth {
    ak_gathered trials;
    proposer proposers[PROPOSERS_MAX];
    size_t proposer_count;
    generation generations[GENERATIONS_MAX];
    size_t generation_count;
    bin bins[BINS];
    size_t predicted, judged, faster, undecided;
    double error; /* sum of |expected - measured| */
    size_t calls, failed_calls, replayed, uncounted;
    int64_t input_tokens, output_tokens;
    bool priced;
    double cost_usd, seconds;
    double gain_pct; /* sum over runs of the gain, in %, of the model's best relative to the
                        default; only trials whose interval is above 1 count */
    size_t runs;     /* runs in which a model took part and the default has a time */
    ak_map *asked;   /* runs with calls of a model; other runs are left out */
    ak_map *run_ids; /* the runs in `asked` of which the filter selects trials */
    ak_status status;
    ak_error *err;
} worth;

/* Finds or adds the proposer of a trial; NULL if there are too many. */
static proposer *proposer_of(worth *w, const ak_trial *trial)
{
    for (size_t i = 0; i < w->proposer_count; i++) {
        if (ak_text_same(w->proposers[i].strategy, trial->strategy) &&
            ak_text_same(w->proposers[i].model, trial->model)) {
            return &w->proposers[i];
        }
    }
    if (w->proposer_count == PROPOSERS_MAX) {
        return NULL;
    }
    proposer *p = &w->proposers[w->proposer_count++];
    *p = (proposer){.strategy = trial->strategy, .model = trial->model};
    return p;
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* Compares the prediction of a trial with its outcome. */
static void judge(worth *w, const json_t *result, const ak_trial *trial)
{
    const ak_trial *parent = ak_gathered_trial(&w->trials, trial->parent);
    double expected = ak_predicted_speed(trial);
    if (expected == 0) {
        return; /* nothing was predicted, or an impossible gain was imported */
    }
    w->predicted++;
    if (trial->status != AK_TRIAL_OK || parent == NULL || parent->status != AK_TRIAL_OK) {
        return;
    }
    const ak_outcome speed = ak_outcome_speed_over(result, parent, trial);
    if (!(speed.low > 0)) {
        return;
    }
    if (speed.high > WIDEST * speed.low) { /* the interval is too wide to judge the prediction */
        w->undecided++;
        return;
    }
    double measured = speed.cost - 1;
    size_t b = 0;
    while (expected > bins[b]) {
        b++;
    }
    w->judged++;
    w->faster += speed.low > 1;
    w->error += fabs(expected - measured);
    w->bins[b].count++;
    w->bins[b].expected += expected;
    w->bins[b].measured += measured;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* Returns the successful trial of the default in a run; NULL if the run has none, for example
   because it was resumed. */
static const ak_trial *default_of(const worth *w, const char *run)
{
    for (size_t i = 0; i < w->trials.count; i++) {
        const ak_trial *t = &w->trials.trials[i];
        if (ak_text_same(t->run, run) && ak_text_same(t->strategy, "default") &&
            t->status == AK_TRIAL_OK) {
            return t;
        }
    }
    return NULL;
}

/* Judges the predictions of a run. */
static void judge_run(worth *w, const json_t *result, const char *run)
{
    for (size_t i = 0; i < w->trials.count; i++) {
        const ak_trial *t = &w->trials.trials[i];
        if (ak_text_same(t->run, run) && t->model != NULL) {
            judge(w, result, t);
        }
    }
}

/* Adds speeds relative to the default: the best of each proposer, and the best so far by
   generation. */
static void count_run(worth *w, const json_t *result, const char *run)
{
    const ak_trial *start = default_of(w, run);
    double best[GENERATIONS_MAX] = {0}, model_best = 0;
    size_t last = 0;
    for (size_t i = 0; i < w->trials.count; i++) {
        const ak_trial *t = &w->trials.trials[i];
        proposer *p = ak_text_same(t->run, run) ? proposer_of(w, t) : NULL;
        ak_outcome over = {0};
        if (start != NULL && p != NULL && t->status == AK_TRIAL_OK) {
            over = ak_outcome_speed_over(result, start, t);
        }
        double speed = over.cost;
        if (p != NULL && speed > p->best_ratio) {
            p->best_ratio = speed;
            p->best_low = over.low;
            p->best_high = over.high;
        }
        if (p == NULL || t->model == NULL || t->generation < 1 ||
            t->generation >= GENERATIONS_MAX) {
            continue;
        }
        size_t g = (size_t)t->generation;
        w->generations[g].trials++;
        w->generations[g].ok += t->status == AK_TRIAL_OK;
        best[g] = fmax(best[g], speed);
        model_best = over.low > 1 ? fmax(model_best, speed) : model_best;
        last = g > last ? g : last;
    }
    double so_far = 0;
    for (size_t g = 1; g <= last && start != NULL; g++) {
        so_far = fmax(so_far, best[g]);
        if (so_far > 0) {
            w->generations[g].runs++;
            w->generations[g].speed += so_far;
        }
    }
    w->generation_count = last > w->generation_count ? last : w->generation_count;
    if (last > 0 && start != NULL) {
        w->runs++;
        w->gain_pct += model_best > 1 ? (model_best - 1) * 100 : 0;
    }
}

static ak_status count_trials(worth *w, ak_archive *archive, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; status == AK_OK && i < w->trials.count; i++) {
        const ak_trial *t = &w->trials.trials[i];
        if (t->run == NULL || !ak_map_get(NULL, w->asked, t->run)) {
            continue;
        }
        proposer *p = proposer_of(w, t);
        if (p != NULL) {
            p->trials++;
            p->by_status[t->status]++;
        }
        if (!ak_map_get(NULL, w->run_ids, t->run)) {
            json_auto_t *result = ak_outcome_result(archive, t->run);
            status = ak_map_put(w->run_ids, t->run, i, err);
            judge_run(w, result, t->run);
            count_run(w, result, t->run);
        }
    }
    return status;
}

static bool note_run(void *context, const ak_call *call)
{
    worth *w = context;
    w->status = ak_map_put(w->asked, call->run, 0, w->err);
    return w->status == AK_OK;
}

static bool count_call(void *context, const ak_call *call)
{
    worth *w = context;
    if (ak_map_get(NULL, w->run_ids, call->run)) {
        bool asked = ak_call_was_asked(call);
        w->calls += asked;
        w->failed_calls += asked && call->error != NULL;
        w->replayed += call->replayed;
        w->uncounted += !ak_call_tokens_known(call);
        w->input_tokens += call->input_tokens;
        w->output_tokens += call->output_tokens;
        w->cost_usd += call->cost_usd;
        w->priced = w->priced || call->priced;
        w->seconds += (double)call->elapsed_ns / 1e9;
    }
    return true;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Returns a number, or null unless it is known. */
static json_t *if_known(double value, bool known)
{
    return known ? ak_json_real(value) : json_null();
}

static json_t *proposers_json(const worth *w)
{
    json_t *list = json_array();
    bool good = true;
    for (size_t i = 0; good && i < w->proposer_count; i++) {
        const proposer *p = &w->proposers[i];
        json_t *failed = json_object();
        for (int s = 0; s < AK_TRIAL_STATUS_COUNT; s++) {
            if (s != AK_TRIAL_OK && p->by_status[s] > 0) {
                good = good && ak_json_set_count(failed, ak_trial_status_text((ak_trial_status)s),
                                                 p->by_status[s]);
            }
        }
        const double rate = (double)p->by_status[AK_TRIAL_OK] / (double)p->trials;
        json_t *object = json_pack(
            "{s:o, s:s?, s:s?, s:I, s:o, s:o, s:o}", "failed", failed, "strategy", p->strategy,
            "model", p->model, "trials", (json_int_t)p->trials, "success_rate", ak_json_real(rate),
            "best_speed", ak_json_known(p->best_ratio), "best_speed_ci",
            p->best_ratio > 0 ? json_pack("[f,f]", p->best_low, p->best_high) : json_null());
        good = ak_json_append(list, object) && good;
    }
    return ak_json_whole(list, good);
}

static json_t *generations_json(const worth *w)
{
    json_t *list = json_array();
    for (size_t g = 1; g <= w->generation_count; g++) {
        const generation *at = &w->generations[g];
        json_t *object = json_pack("{s:I, s:I, s:I, s:o}", "generation", (json_int_t)g, "trials",
                                   (json_int_t)at->trials, "ok", (json_int_t)at->ok, "best_speed",
                                   if_known(at->speed / (double)at->runs, at->runs > 0));
        ak_json_add(&list, object);
    }
    return list;
}

static json_t *calibration_json(const worth *w)
{
    json_t *list = json_array();
    for (size_t b = 0; b < BINS; b++) {
        const bin *at = &w->bins[b];
        if (at->count > 0) {
            const double count = (double)at->count;
            json_t *row =
                json_pack("{s:o, s:I, s:o, s:o}", "up_to", ak_json_real(bins[b]), "count",
                          (json_int_t)at->count, "expected", ak_json_real(at->expected / count),
                          "measured", ak_json_real(at->measured / count));
            ak_json_add(&list, row);
        }
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:o}", "bins", list, "predicted",
                     (json_int_t)w->predicted, "judged", (json_int_t)w->judged, "undecided",
                     (json_int_t)w->undecided, "faster", (json_int_t)w->faster, "mean_error",
                     if_known(w->error / (double)w->judged, w->judged > 0));
}

static json_t *calls_json(const worth *w)
{
    double tokens = (double)(w->input_tokens + w->output_tokens);
    bool gained = w->gain_pct > 0, known = w->calls == 0 || w->calls > w->uncounted;
    return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "calls",
                     (json_int_t)w->calls, "failed", (json_int_t)w->failed_calls, "replayed",
                     (json_int_t)w->replayed, "seconds", ak_json_real(w->seconds), "input_tokens",
                     ak_json_count_or_null(w->input_tokens, known), "output_tokens",
                     ak_json_count_or_null(w->output_tokens, known), "uncounted",
                     (json_int_t)w->uncounted, "cost_usd", if_known(w->cost_usd, w->priced),
                     "gained_pct", ak_json_real(w->gain_pct), "tokens_per_pct",
                     if_known(tokens / w->gain_pct, gained && w->uncounted == 0), "usd_per_pct",
                     if_known(w->cost_usd / w->gain_pct, gained && w->priced));
}

static ak_status write_worth(char **out, const worth *w, ak_error *err)
{
    if (w->calls == 0 && w->predicted == 0) {
        return ak_copy_text(out, "null", err);
    }
    json_t *object = json_pack("{s:I, s:o, s:o, s:o, s:o}", "runs", (json_int_t)w->runs,
                               "proposers", proposers_json(w), "generations", generations_json(w),
                               "calibration", calibration_json(w), "calls", calls_json(w));
    return ak_json_give_text(out, object, true, err);
}

ak_status ak_llm_worth(char **out_json, ak_archive *archive, const ak_archive_filter *filter,
                       ak_error *err)
{
    worth *w;
    AK_DO(AK_NEW(w, 1, err));
    w->run_ids = ak_map_new();
    w->asked = ak_map_new();
    w->err = err;
    ak_status status = AK_OK;
    AK_TRY(w->run_ids == NULL || w->asked == NULL
               ? ak_fail_memory(err)
               : ak_archive_each_call(archive, NULL, note_run, w, err));
    AK_TRY(w->status);
    /* Most archives have no calls; then nothing more is read. */
    if (ak_map_count(w->asked) > 0) {
        AK_TRY(ak_gather(&w->trials, archive, filter, err));
        AK_TRY(count_trials(w, archive, err));
        AK_TRY(ak_archive_each_call(archive, NULL, count_call, w, err));
    }
    AK_TRY(write_worth(out_json, w, err));
out:
    ak_gathered_clear(&w->trials);
    ak_map_free(w->run_ids);
    ak_map_free(w->asked);
    ak_free(w);
    return status;
}
