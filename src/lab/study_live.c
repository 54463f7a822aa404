/* study_live.c: runs a study on a device. Each run is one ak_tune, and its curve is read from the
   events that every user of the library receives. */
#include <math.h>
#include <string.h>

#include "backend/sim/sim.h"
#include "base/alloc.h"
#include "lab/study.h"
#include "measure/pressure.h"
#include "problem/task.h"
#include "tuner/run_advisor.h"

typedef struct live {
    ak_study *study;
    const ak_task *task;
    ak_archive *archive;
    /* What all runs have spent on the language model so far. The user's limits cover the whole
       study. */
    double spent_usd;
    int64_t used_tokens;
    /* These members belong to one run. */
    ak_study_run *run;
    ak_study_point now;
    double begin; /* seconds of the run at which the search began */
    ak_status status;
    ak_error *err;
} live;

/* Returns the cost that belongs to a value of the task's objective as events show it; for a time
   this is the time. The same function makes a value of a cost. */
static double cost_of(const live *l, double value)
{
    return ak_objective_value(l->task->objective, value);
}

static void on_event(live *l, const char *name, const json_t *event)
{
    double t = ak_json_number_at(event, "t");
    const char *text = ak_json_text_or_null(event, "text");
    if (strcmp(name, "phase") == 0 && ak_json_text_is(event, "name", "search")) {
        l->begin = t;
    } else if (strcmp(name, "llm") == 0) {
        l->now.usd += ak_json_number_at(event, "cost_usd");
        l->run->usd = l->now.usd;
        bool asked = json_is_true(json_object_get(event, "asked"));
        l->run->calls += asked;
        l->run->unpriced =
            l->run->unpriced || (asked && json_is_null(json_object_get(event, "cost_usd")));
        l->run->uncounted += !json_is_integer(json_object_get(event, "input_tokens"));
        l->run->tokens += json_integer_value(json_object_get(event, "input_tokens")) +
                          json_integer_value(json_object_get(event, "output_tokens"));
    } else if (strcmp(name, "like") == 0 && l->study->like == NULL) {
        l->status = ak_copy_text(&l->study->like, text, l->err);
    } else if (strcmp(name, "warning") == 0 && text != NULL && l->run->fell_back == NULL &&
               json_is_true(json_object_get(event, "fell_back"))) {
        l->status = ak_copy_text(&l->run->fell_back, text, l->err);
    } else if (strcmp(name, "trial") == 0 && l->run->count < l->study->options.evaluations) {
        const char *best = l->task->objective == NULL ? "best_ms" : "best_value";
        l->now.best = cost_of(l, ak_json_number_at(event, best));
        l->now.seconds = t - l->begin;
        l->run->failed += !ak_json_text_is(event, "status", "ok");
        l->status = ak_study_add(l->run, &l->now, l->err);
    }
}

static void sink(void *context, const char *name, const char *json)
{
    live *l = context;
    json_t *event = NULL;
    if (l->status == AK_OK) {
        l->status = ak_json_parse(&event, json, strlen(json), "event", l->err);
    }
    if (l->status == AK_OK) {
        on_event(l, name, event);
    }
    json_decref(event);
    if (l->study->options.sink != NULL) {
        l->study->options.sink(l->study->options.sink_context, name, json);
    }
}

/* Raises the study's pressure to the machine's present one if that is higher; does nothing on a
   recording. It is called when no run is under way. */
static void look_at_machine(live *l)
{
    if (!l->task->recorded) {
        l->study->pressure = fmax(l->study->pressure, ak_pressure_look());
    }
}

/* Runs one search of an arm. */
static ak_status live_run(live *l, const ak_study_arm *arm, ak_study_run *run, ak_error *err)
{
    ak_study *study = l->study;
    ak_llm_options llm = {0};
    bool asks = study->options.llm != NULL && arm->choice.ops->await != NULL;
    if (asks) {
        llm = ak_run_advisor_left(study->options.llm, l->spent_usd, l->used_tokens);
    }
    l->run = run;
    l->now = (ak_study_point){0};
    l->begin = 0;
    l->status = AK_OK;
    l->err = err;
    ak_task seeded = *l->task; /* differs from *l->task only in the seed */
    seeded.seed = run->seed;
    ak_tune_result result = {0};
    ak_tune_options options = {.strategy = arm->name,
                               .evaluations = study->options.evaluations,
                               .finalists = 1,
                               .sink = sink,
                               .sink_context = l,
                               .cancel = study->options.cancel,
                               .llm = asks ? &llm : NULL,
                               .generations = study->options.generations,
                               .batch = study->options.batch,
                               .like = study->options.like,
                               .like_count = study->options.like_count,
                               .like_none = true};
    look_at_machine(l);
    ak_status status = ak_tune(&result, &seeded, l->archive, &options, err);
    look_at_machine(l);
    l->spent_usd += result.llm.cost_usd;
    l->used_tokens += result.llm.tokens;
    if (status == AK_OK) {
        status = ak_study_model(study, result.llm.model, err);
    }
    ak_tune_result_clear(&result);
    if (status == AK_CANCELLED || (status == AK_OK && ak_study_cancelled(study))) {
        status = ak_fail(err, AK_CANCELLED, "the study was interrupted");
    }
    return status == AK_OK ? l->status : status;
}

/* Returns the least cost that a recording has by the task's objective, rounded as costs are that
   come from events; 0: not known, because the objective is not the recorded one. */
static double optimum_of(const live *l, const ak_recording *recording)
{
    const ak_objective *objective = l->task->objective;
    double least = objective == NULL ? ak_recording_least(recording, ak_recording_ms)
                   : ak_objective_is_recorded(objective)
                       ? ak_recording_least(recording, ak_recording_time)
                       : 0;
    return cost_of(l, cost_of(l, least));
}

ak_status ak_study_task(char **out_json, const ak_task *task, ak_archive *archive,
                        const ak_study_options *options, ak_error *err)
{
    AK_AT_END(ak_study_close) ak_study study = {0};
    live l = {.study = &study, .task = task, .archive = archive};
    AK_DO(ak_study_open(&study, options, err));
    study.kernel = task->problem->name;
    study.device = task->device;
    study.size = task->size_text;
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    if (task->recorded) {
        AK_DO(ak_recording_open(&recording, ak_sim_path(task->opens), err));
        study.optimum = optimum_of(&l, recording);
    }
    /* The arms take turns seed by seed, so that a slow phase of the machine affects all of them. */
    for (size_t i = 0; i < study.options.seeds; i++) {
        for (size_t a = 0; a < study.arm_count; a++) {
            ak_study_run *run = &study.arms[a].runs[i];
            AK_DO(live_run(&l, &study.arms[a], run, err));
            ak_study_announce(&study, &study.arms[a], run);
        }
    }
    return ak_study_json(out_json, &study, err);
}
