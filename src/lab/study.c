#include "lab/study.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "measure/stats.h"
#include "tuner/event.h"
#include "tuner/session.h"
#include "tuner/warning.h"

#define EVALUATIONS_MAX 1000000
#define SEEDS_DEFAULT   10
#define SEEDS_MAX       1000
#define STEPS           10 /* most points that are reported for a curve */
#define CLASSIC_ARMS    "random,local," AK_STRATEGY_DEFAULT
#define MODEL_ARMS      ",llm-oneshot,llm,hybrid"

/* ---- arms ------------------------------------------------------------------------------------ */

/* Returns the length of the first arm of a comma-separated list. A part that has a '='
   without a ':' before the '=' belongs to the previous arm:
   "genetic:population=20,mutation=0.1,random" holds two arms. */
static size_t arm_length(const char *text)
{
    size_t length = strcspn(text, ",");
    while (text[length] == ',') {
        const char *part = text + length + 1;
        size_t more = strcspn(part, ",");
        const char *equals = memchr(part, '=', more), *colon = memchr(part, ':', more);
        if (equals == NULL || (colon != NULL && colon < equals)) {
            break;
        }
        length += 1 + more;
    }
    return length;
}

static ak_status add_arm(ak_study *study, const char *text, size_t length, ak_error *err)
{
    AK_FAIL_IF(study->arm_count == AK_STUDY_ARMS_MAX, err, AK_LIMIT, "a study has at most %d arms",
               AK_STUDY_ARMS_MAX);
    for (size_t a = 0; a < study->arm_count; a++) {
        const char *name = study->arms[a].name;
        AK_FAIL_IF(strlen(name) == length && memcmp(name, text, length) == 0, err, AK_INVALID,
                   "--arms names %.80s twice", name);
    }
    ak_study_arm *arm = &study->arms[study->arm_count];
    arm->name = ak_strndup(text, length);
    arm->runs = ak_alloc(study->options.seeds, sizeof *arm->runs);
    study->arm_count++;
    AK_DO(ak_stored(arm->name != NULL && arm->runs != NULL, err));
    ak_rng rng; /* every arm gets the same seeds */
    ak_rng_seed(&rng, study->options.seed);
    for (size_t i = 0; i < study->options.seeds; i++) {
        /* A seed keeps 53 bits because it travels as a JSON number. */
        arm->runs[i].seed = ak_rng_next(&rng) >> 11;
    }
    AK_DO(ak_strategy_choose(&arm->choice, arm->name, err));
    AK_FAIL_IF(arm->choice.ops->await != NULL && study->options.llm == NULL, err, AK_INVALID,
               "the arm %.80s asks a language model, but none is configured; name a model or "
               "leave out the arm",
               arm->name);
    return AK_OK;
}

ak_status ak_study_open(ak_study *out, const ak_study_options *options, ak_error *err)
{
    *out = (ak_study){.options = *options, .pressure = -1};
    ak_study_options *o = &out->options;
    o->evaluations = o->evaluations == 0 ? AK_EVALUATIONS_DEFAULT : o->evaluations;
    o->seeds = o->seeds == 0 ? SEEDS_DEFAULT : o->seeds;
    o->arms = o->arms != NULL ? o->arms : o->llm == NULL ? CLASSIC_ARMS : CLASSIC_ARMS MODEL_ARMS;
    AK_FAIL_IF(o->evaluations > EVALUATIONS_MAX || o->seeds > SEEDS_MAX, err, AK_LIMIT,
               "a study has at most %d evaluations and %d seeds", EVALUATIONS_MAX, SEEDS_MAX);
    ak_status status = AK_OK;
    for (const char *text = o->arms; status == AK_OK && *text != 0;) {
        size_t length = arm_length(text);
        status = length == 0 || (text[length] == ',' && text[length + 1] == 0)
                     ? ak_fail(err, AK_INVALID, "--arms has an empty name beside a comma")
                     : add_arm(out, text, length, err);
        text += length;
        text += *text == ',';
    }
    if (status == AK_OK && out->arm_count == 0) {
        status =
            ak_fail(err, AK_INVALID, "--arms is empty: name at least one strategy, such as random");
    }
    if (status != AK_OK) {
        ak_study_close(out);
    }
    return status;
}

void ak_study_close(ak_study *study)
{
    for (size_t a = 0; a < study->arm_count; a++) {
        ak_study_arm *arm = &study->arms[a];
        for (size_t i = 0; arm->runs != NULL && i < study->options.seeds; i++) {
            AK_FREE_ALL(arm->runs[i].points, arm->runs[i].fell_back);
        }
        AK_FREE_ALL(arm->runs, arm->name);
    }
    AK_FREE_ALL(study->model, study->like);
    *study = (ak_study){0};
}

ak_status ak_study_model(ak_study *study, const char *name, ak_error *err)
{
    return study->model == NULL ? ak_copy_text(&study->model, name, err) : AK_OK;
}

ak_status ak_study_add(ak_study_run *run, const ak_study_point *point, ak_error *err)
{
    AK_DO(AK_GROW(run->points, &run->capacity, run->count + 1, err));
    run->points[run->count++] = *point;
    return AK_OK;
}

bool ak_study_cancelled(const ak_study *study)
{
    return study->options.cancel != NULL && *study->options.cancel != 0;
}

void ak_study_announce(const ak_study *study, const ak_study_arm *arm, const ak_study_run *run)
{
    ak_events events = {.sink = study->options.sink, .context = study->options.sink_context};
    json_t *fields = json_object();
    (void)(ak_json_set_text(fields, "arm", arm->name) &&
           ak_json_set_count(fields, "seed", run->seed) &&
           ak_json_set_count(fields, "evaluations", run->count) &&
           ak_json_set_text(fields, "fell_back", run->fell_back) &&
           ak_json_set_real(fields, "best", run->count > 0 ? run->points[run->count - 1].best : 0));
    ak_event_send(&events, "run", fields);
}

/* ---- curves ---------------------------------------------------------------------------------- */

typedef enum axis { AXIS_EVALUATIONS, AXIS_SECONDS, AXIS_USD, AXIS_COUNT } axis;
static const char *const axis_names[] = {"evaluations", "seconds", "usd"};

static double place_of(const ak_study_run *run, size_t i, axis along)
{
    return along == AXIS_EVALUATIONS ? (double)(i + 1)
           : along == AXIS_SECONDS   ? run->points[i].seconds
                                     : run->points[i].usd;
}

/* Returns the quality that a run had reached when `at` was spent; 0 if no configuration had worked
   by then. After its end a run keeps its last quality. */
static double quality(const ak_study_run *run, axis along, double at, double reference)
{
    double best = 0;
    for (size_t i = 0; i < run->count && place_of(run, i, along) <= at; i++) {
        best = run->points[i].best;
    }
    return best > 0 ? reference / best : 0;
}

/* Returns true if a run counts in the curves: it has a trial, and it did not have to carry on
   without its language model. */
static bool counts(const ak_study_run *run)
{
    return run->fell_back == NULL && run->count > 0;
}

/* Returns the optimum if it is known, else the best value of any run, also of those that do not
   count; 0 if no configuration worked. */
static double reference_of(const ak_study *study)
{
    double best = study->optimum;
    for (size_t a = 0; a < study->arm_count && study->optimum <= 0; a++) {
        for (size_t i = 0; i < study->options.seeds; i++) {
            const ak_study_run *run = &study->arms[a].runs[i];
            double found = run->count > 0 ? run->points[run->count - 1].best : 0;
            best = found > 0 && (best <= 0 || found < best) ? found : best;
        }
    }
    return best;
}

/* Returns the farthest point along an axis that any run that counts reached, whatever its arm. */
static double extent(const ak_study *study, axis along)
{
    double farthest = 0;
    for (size_t a = 0; a < study->arm_count; a++) {
        for (size_t i = 0; i < study->options.seeds; i++) {
            const ak_study_run *run = &study->arms[a].runs[i];
            if (counts(run)) {
                farthest = fmax(farthest, place_of(run, run->count - 1, along));
            }
        }
    }
    return farthest;
}

typedef struct estimate {
    double mean, low, high;
} estimate;

/* Computes the mean of the values and its 95 % bootstrap interval (Efron 1979): percentiles of the
   means of resamples drawn with replacement. A single value has no interval (NaN). */
static void bootstrap(estimate *out, const double *values, size_t count, uint64_t seed)
{
    double means[AK_STUDY_RESAMPLES];
    ak_rng rng;
    ak_rng_seed(&rng, seed);
    *out = (estimate){0};
    for (size_t i = 0; i < count; i++) {
        out->mean += values[i] / (double)count;
    }
    if (count < 2) {
        out->low = out->high = (double)NAN;
        return;
    }
    for (size_t r = 0; r < AK_STUDY_RESAMPLES; r++) {
        means[r] = 0;
        for (size_t i = 0; i < count; i++) {
            means[r] += values[ak_rng_below(&rng, count)] / (double)count;
        }
    }
    ak_stats_sort(means, AK_STUDY_RESAMPLES);
    out->low = means[AK_STUDY_RESAMPLES / 40];
    out->high = means[AK_STUDY_RESAMPLES - 1 - AK_STUDY_RESAMPLES / 40];
}

/* Returns {"quality", "low", "high"}, with null for what is not known; NULL if memory ran out. */
static json_t *estimate_json(const estimate *e)
{
    return json_pack("{s:o, s:o, s:o}", "quality", ak_json_real(e->mean), "low",
                     ak_json_real(e->low), "high", ak_json_real(e->high));
}

/* Returns one point of a curve: {"at", "quality", "low", "high"}. Returns NULL without memory or if
   no run of the arm counts. */
static json_t *step_json(const ak_study *study, const ak_study_arm *arm, axis along, double at,
                         double reference)
{
    AK_FREED double *values = ak_alloc(study->options.seeds, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; values != NULL && i < study->options.seeds; i++) {
        if (counts(&arm->runs[i])) {
            values[count++] = quality(&arm->runs[i], along, at, reference);
        }
    }
    if (count == 0) {
        return NULL;
    }
    estimate e;
    bootstrap(&e, values, count, study->options.seed);
    json_t *step = estimate_json(&e);
    return ak_json_whole(step, step != NULL && ak_json_set_real(step, "at", at));
}

/* Adds the curve of an arm along an axis. Returns false without memory. The caller leaves out the
   axis of money for arms that spent none. */
static bool add_curve(json_t *object, const ak_study *study, const ak_study_arm *arm, axis along,
                      double reference)
{
    double farthest = extent(study, along);
    json_t *list = json_array();
    /* A curve over evaluations has no more steps than there were evaluations. */
    size_t steps = along == AXIS_EVALUATIONS && farthest < STEPS ? (size_t)farthest : STEPS;
    for (size_t k = 1; farthest > 0 && k <= steps; k++) {
        double at = farthest * (double)k / (double)steps;
        if (along == AXIS_EVALUATIONS) {
            at = ceil(at);
        }
        ak_json_add(&list, step_json(study, arm, along, at, reference));
    }
    return ak_json_set(object, axis_names[along], list);
}

/* Returns the mean quality at the end of the arm's runs that have a trial, including those that
   carried on without their language model: {"quality", "low", "high"}. */
static json_t *deployed_json(const ak_study *study, const ak_study_arm *arm, double reference)
{
    AK_FREED double *values = ak_alloc(study->options.seeds, sizeof *values);
    estimate e = {(double)NAN, (double)NAN, (double)NAN};
    size_t count = 0;
    for (size_t i = 0; values != NULL && i < study->options.seeds; i++) {
        const ak_study_run *run = &arm->runs[i];
        if (run->count > 0) {
            values[count++] = quality(run, AXIS_EVALUATIONS, (double)run->count, reference);
        }
    }
    if (count > 0) {
        bootstrap(&e, values, count, study->options.seed);
    }
    return estimate_json(&e);
}

/* Sums over runs of an arm. */
typedef struct sums {
    size_t runs, evaluations, failed, asked, calls, uncounted, optimal; /* asked: runs with calls */
    double seconds, usd, tokens;
    bool unpriced;
} sums;

static void add_run(sums *to, const ak_study_run *run, double reference)
{
    const ak_study_point *last = run->count == 0 ? NULL : &run->points[run->count - 1];
    to->runs++;
    to->evaluations += run->count;
    to->failed += run->failed;
    to->asked += run->calls > 0;
    to->calls += run->calls;
    to->tokens += (double)run->tokens;
    to->uncounted += run->uncounted;
    to->usd += run->usd;
    to->unpriced = to->unpriced || run->unpriced;
    to->seconds += last == NULL ? 0 : last->seconds;
    to->optimal += last != NULL && last->best > 0 && last->best <= reference;
}

/* Returns the mean over the runs that count; JSON's null if there are none. */
static json_t *mean_json(double sum, const sums *of)
{
    return of->runs == 0 ? json_null() : json_real(sum / (double)of->runs);
}

/* Returns the calls, tokens and cost of all runs of an arm, including those that do not count.
   Tokens or cost are null if they are not known for every call. */
static json_t *spent_json(const sums *all)
{
    return json_pack("{s:I, s:I, s:o, s:o}", "asked", (json_int_t)all->asked, "calls",
                     (json_int_t)all->calls, "tokens",
                     all->uncounted > 0 ? json_null() : json_real(all->tokens), "usd",
                     all->unpriced ? json_null() : json_real(all->usd));
}

static bool add_means(json_t *object, const sums *of, const sums *all)
{
    json_t *tokens = of->uncounted > 0 ? json_null() : mean_json(of->tokens, of);
    return ak_json_set(object, "evaluations_mean", mean_json((double)of->evaluations, of)) &&
           ak_json_set(object, "failed_mean", mean_json((double)of->failed, of)) &&
           ak_json_set(object, "calls_mean", mean_json((double)of->calls, of)) &&
           ak_json_set(object, "tokens_mean", tokens) &&
           ak_json_set(object, "seconds_mean", mean_json(of->seconds, of)) &&
           ak_json_set(object, "usd_mean", of->unpriced ? json_null() : mean_json(of->usd, of)) &&
           ak_json_set(object, "spent", spent_json(all)) &&
           ak_json_set_count(object, "reached_reference", of->optimal);
}

static json_t *arm_json(const ak_study *study, const ak_study_arm *arm, double reference)
{
    json_t *object = json_object();
    size_t fell_back = 0;
    sums counted = {0}, all = {0};
    const char *why = NULL;
    for (size_t i = 0; i < study->options.seeds; i++) {
        const ak_study_run *run = &arm->runs[i];
        if (run->fell_back != NULL) {
            fell_back++;
            why = why == NULL ? run->fell_back : why;
        }
        add_run(&all, run, reference);
        if (counts(run)) {
            add_run(&counted, run, reference);
        }
    }
    bool good = ak_json_set_text(object, "arm", arm->name) &&
                ak_json_set_count(object, "runs", counted.runs) &&
                ak_json_set_count(object, "fell_back", fell_back) &&
                ak_json_set_text(object, "fell_back_because", why) &&
                ak_json_set(object, "deployed", deployed_json(study, arm, reference)) &&
                add_means(object, &counted, &all);
    json_t *curves = json_object();
    for (axis along = 0; along < AXIS_COUNT && good && counted.runs > 0; along++) {
        good = (along == AXIS_USD && !(counted.usd > 0)) ||
               add_curve(curves, study, arm, along, reference);
    }
    good = ak_json_set(object, "quality", curves) && good;
    return ak_json_whole(object, good);
}

/* Returns a list with the warning that the machine was busy; an empty list if the machine was not
   busy; NULL after a failure. */
static json_t *warnings_json(const ak_study *study, ak_error *err)
{
    AK_AT_END(ak_warnings_free) ak_warnings warnings = {0};
    const ak_noise noise = {.pressure_before = study->pressure, .pressure = -1};
    ak_status status = ak_warn_trials(&warnings, &noise, err);
    return status == AK_OK ? ak_json_texts((const char *const *)warnings.texts, warnings.count)
                           : NULL;
}

ak_status ak_study_json(char **out, const ak_study *study, ak_error *err)
{
    double reference = reference_of(study);
    json_t *object = json_object(), *arms = json_array();
    for (size_t a = 0; a < study->arm_count; a++) {
        ak_json_add(&arms, arm_json(study, &study->arms[a], reference));
    }
    const bool good = ak_json_set(object, "arms", arms) &&
                      ak_json_set_text(object, "kernel", study->kernel) &&
                      ak_json_set_text(object, "device", study->device) &&
                      ak_json_set_text(object, "size", study->size) &&
                      ak_json_set_count(object, "evaluations", study->options.evaluations) &&
                      ak_json_set_count(object, "seeds", study->options.seeds) &&
                      ak_json_set_text(object, "model",
                                       study->model != NULL         ? study->model
                                       : study->options.llm == NULL ? NULL
                                                                    : study->options.llm->model) &&
                      ak_json_set_text(object, "like", study->like) &&
                      ak_json_set(object, "pressure",
                                  study->pressure < 0 ? json_null() : json_real(study->pressure)) &&
                      ak_json_set(object, "warnings", warnings_json(study, err)) &&
                      ak_json_set_text(object, "reference_is",
                                       study->optimum > 0 ? "optimum" : "best of the study") &&
                      ak_json_set_real(object, "reference", reference);
    return ak_json_give_text(out, object, good, err);
}
