/* run_model.c: computes the model of a run; nothing is formatted here. The record of a run may be
   incomplete: a killed run has no result, and an imported run may have no options either. Then the
   model rests on the trials. */
#include "report/report.h"

#include <stdlib.h>

#include "archive/config_text.h"
#include "archive/field.h"
#include "archive/overview.h"
#include "base/device_name.h"
#include "base/map.h"
#include "measure/placement.h"

/* A tenth of the successful trials, the best by the objective, count as the fastest, but at least
   this many, or all if there are fewer. Their values are compared with those of all successful
   trials; shares of fewer trials would mean little. */
#define TOP_MIN 3

/* ---- the trials ------------------------------------------------------------------------------ */

static ak_status add_trial(ak_report_model *model, const ak_trial *trial, ak_error *err)
{
    AK_DO(AK_GROW(model->trials, &model->capacity, model->count + 1, err));
    AK_DO(ak_trial_copy(&model->trials[model->count], trial, err));
    model->count++;
    return AK_OK;
}

static ak_status keep_trial(void *context, const ak_trial *trial, ak_error *err)
{
    ak_report_model *model = context;
    if (strcmp(trial->run, model->run.id) != 0) {
        model->elsewhere++; /* a trial of one of many sizes, each of which has a run of its own */
        model->elsewhere_by_status[trial->status]++;
        return AK_OK;
    }
    return add_trial(model, trial, err);
}

/* The state while the trials that a run resumed are read from earlier runs. */
typedef struct resuming {
    ak_report_model *model;
    ak_map *known, *refuted; /* configurations that were kept, and those that a check refuted */
    size_t most;             /* how many trials were resumed; SIZE_MAX: not known */
} resuming;

static bool is_earlier(const ak_report_model *model, const ak_trial *trial)
{
    /* The clock of a recording begins anew with each run, so that its time stamps say nothing. Of
       such trials the first resuming.most count as earlier. */
    return !ak_text_same(trial->run, model->run.id) &&
           (ak_device_is_recorded(model->run.device) ||
            strcmp(ak_or_empty(trial->timestamp), ak_or_empty(model->run.started)) < 0);
}

static ak_status note_refuted(void *context, const ak_trial *trial, ak_error *err)
{
    const resuming *state = context;
    return is_earlier(state->model, trial) && ak_trial_refutes(trial) &&
                   !ak_trial_may_be_tried_again(trial)
               ? ak_map_put(state->refuted, trial->config, 0, err)
               : AK_OK;
}

/* Keeps the trials that a run takes over (tuner/resume.c): the first of each configuration.
   Failures after which the configuration may be tried again do not count, nor do successful trials
   of a configuration that a check refuted. */
static ak_status keep_resumed(void *context, const ak_trial *trial, ak_error *err)
{
    resuming *state = context;
    const bool refuted =
        trial->status == AK_TRIAL_OK && ak_map_get(NULL, state->refuted, trial->config);
    if (state->model->resumed >= state->most || !is_earlier(state->model, trial) || refuted ||
        ak_trial_may_be_tried_again(trial) || ak_map_get(NULL, state->known, trial->config)) {
        return AK_OK;
    }
    AK_DO(ak_map_put(state->known, trial->config, 0, err));
    AK_DO(add_trial(state->model, trial, err));
    state->model->resumed++;
    return AK_OK;
}

/* Reads the trials that the run resumed, if it did. */
static ak_status read_resumed(ak_report_model *model, ak_archive *archive, ak_error *err)
{
    const ak_run *run = &model->run;
    const json_t *resumed = json_object_get(model->result, "resumed");
    ak_archive_filter filter = ak_run_filter(run);
    filter.simulated = true;
    if (!json_is_true(json_object_get(model->options, "resume")) || run->environment == NULL) {
        return AK_OK;
    }
    AK_AT_END(ak_map_free_at) ak_map *known = ak_map_new(), *refuted = ak_map_new();
    resuming state = {.model = model,
                      .known = known,
                      .refuted = refuted,
                      .most = json_is_integer(resumed) ? (size_t)json_integer_value(resumed)
                                                       : SIZE_MAX};
    AK_DO(ak_stored(known != NULL && refuted != NULL, err));
    AK_DO(ak_archive_take(archive, &filter, note_refuted, &state, err));
    return ak_archive_take(archive, &filter, keep_resumed, &state, err);
}

static int by_cost(const void *a, const void *b)
{
    const ak_trial *x = *(const ak_trial *const *)a, *y = *(const ak_trial *const *)b;
    double a_cost = ak_trial_cost(x), b_cost = ak_trial_cost(y);
    if (a_cost != b_cost) {
        return a_cost < b_cost ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Computes sums and counts, the ranking, and the steps of the search. */
static ak_status rank(ak_report_model *model, ak_error *err)
{
    AK_DO(AK_NEW(model->ranking, model->count, err));
    AK_DO(AK_NEW(model->steps, model->count, err));
    for (size_t i = 0; i < model->count; i++) {
        const ak_trial *trial = &model->trials[i];
        if (i >= model->resumed) {
            model->by_status[trial->status]++;
            model->propose_ns += (double)trial->propose_ns;
            model->compile_ns += (double)trial->compile_ns;
            model->check_ns += (double)trial->check_ns;
            model->measure_ns += (double)trial->measure_ns;
            model->overhead_ns += (double)trial->overhead_ns;
        }
        if (ak_trial_cost(trial) <= 0) {
            continue;
        }
        model->ranking[model->ok_count++] = trial;
        if (model->step_count == 0 ||
            ak_trial_cost(trial) < ak_trial_cost(model->steps[model->step_count - 1].trial)) {
            model->steps[model->step_count++] = (ak_report_step){i + 1, trial};
        }
    }
    for (size_t i = model->step_count; i > 0; i--) {
        double best = ak_trial_cost(model->steps[model->step_count - 1].trial);
        const ak_report_step *step = &model->steps[i - 1];
        double cost = ak_trial_cost(step->trial);
        model->within_5 = cost <= 1.05 * best ? step->evaluation : model->within_5;
        model->within_1 = cost <= 1.01 * best ? step->evaluation : model->within_1;
    }
    if (model->ok_count > 0) {
        qsort(model->ranking, model->ok_count, sizeof *model->ranking, by_cost);
    }
    model->top_count = model->ok_count / 10 < TOP_MIN ? TOP_MIN : model->ok_count / 10;
    model->top_count = model->top_count < model->ok_count ? model->top_count : model->ok_count;
    return AK_OK;
}

size_t ak_report_tried(const ak_report_model *model)
{
    return model->elsewhere > 0 ? model->elsewhere : model->count - model->resumed;
}

const size_t *ak_report_by_status(const ak_report_model *model)
{
    return model->elsewhere > 0 ? model->elsewhere_by_status : model->by_status;
}

const ak_trial *ak_report_trial_of(const ak_report_model *model, const char *config)
{
    size_t i = 0;
    while (i < model->ok_count &&
           !(config != NULL && strcmp(model->ranking[i]->config, config) == 0)) {
        i++;
    }
    return i < model->ok_count ? model->ranking[i] : NULL;
}

bool ak_report_is_resumed(const ak_report_model *model, const ak_trial *trial)
{
    return (size_t)(trial - model->trials) < model->resumed;
}

double ak_report_rest(const ak_report_model *model)
{
    double stages = model->propose_ns + model->compile_ns + model->check_ns + model->measure_ns +
                    model->overhead_ns;
    double rest = model->seconds - stages / 1e9;
    return model->seconds <= 0 ? -1 : rest > 0 ? rest : 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Finds the index of the group that two texts name. A new group comes behind the others. */
static ak_status find_group(size_t *index, ak_map *groups, const char *a, const char *b,
                            ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf key = AK_BUF(1 << 20);
    ak_buf_print(&key, "%s\n%s", a, b);
    AK_DO(ak_buf_status(&key, err));
    return ak_map_number(index, groups, key.data, err);
}

static int by_count(const void *a, const void *b)
{
    const ak_report_failure *x = a, *y = b;
    return x->count == y->count ? strcmp(x->reason, y->reason) : x->count > y->count ? -1 : 1;
}

static ak_status group_failures(ak_report_model *model, ak_error *err)
{
    AK_AT_END(ak_map_free_at) ak_map *groups = ak_map_new();
    AK_DO(ak_made(groups, err));
    AK_DO(AK_NEW(model->failures, model->count, err));
    for (size_t i = model->resumed; i < model->count; i++) {
        const ak_trial *trial = &model->trials[i];
        const char *reason = ak_or_empty(trial->reason);
        size_t at;
        if (trial->status == AK_TRIAL_OK) {
            continue;
        }
        AK_DO(find_group(&at, groups, ak_trial_status_text(trial->status), reason, err));
        if (at == model->failure_count) {
            model->failures[model->failure_count++] =
                (ak_report_failure){trial->status, reason, trial->config, 0};
        }
        model->failures[at].count++;
    }
    if (model->failure_count > 0) {
        qsort(model->failures, model->failure_count, sizeof *model->failures, by_count);
    }
    return AK_OK;
}

/* Groups the run's own trials by two of their texts. A trial without the first is left out, unless
   `all` are wanted. */
static ak_status group_trials(ak_report_group **out, size_t *count, const ak_report_model *model,
                              const char *const names[2], bool all, ak_error *err)
{
    AK_AT_END(ak_map_free_at) ak_map *groups = ak_map_new();
    AK_DO(ak_made(groups, err));
    AK_DO(AK_NEW(*out, model->count, err));
    for (size_t i = model->resumed; i < model->count; i++) {
        const ak_trial *trial = &model->trials[i];
        const char *name = *ak_trial_text(trial, names[0]);
        const char *detail = ak_or_empty(*ak_trial_text(trial, names[1]));
        size_t at;
        if (name == NULL && !all) {
            continue;
        }
        AK_DO(find_group(&at, groups, ak_or_empty(name), detail, err));
        ak_report_group *group = &(*out)[at];
        group->name = ak_or_empty(name);
        group->detail = detail;
        group->trials++;
        group->mhz += trial->sm_clock_mhz;
        group->clocked += trial->sm_clock_mhz > 0 ? 1 : 0;
        if (trial->status == AK_TRIAL_OK) {
            bool better = group->best_ms <= 0 || trial->median_ms < group->best_ms;
            group->ok++;
            group->best_ms = better ? trial->median_ms : group->best_ms;
        }
    }
    *count = ak_map_count(groups);
    return AK_OK;
}

/* ---- values of parameters -------------------------------------------------------------------- */

static int by_parameter(const void *a, const void *b)
{
    const ak_report_value *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0) {
        order = x->in_top == y->in_top ? 0 : x->in_top > y->in_top ? -1 : 1;
    }
    if (order == 0) { /* of two values equally frequent at the top, the one that is rarer overall
                         comes first */
        order = x->in_all == y->in_all ? 0 : x->in_all < y->in_all ? -1 : 1;
    }
    return order == 0 ? strcmp(x->value, y->value) : order;
}

/* Counts the values of each parameter in the successful trials. A parameter with the same value in
   all of them is left out. */
static ak_status compare_values(ak_report_model *model, ak_error *err)
{
    const ak_matrix *m = &model->matrix;
    size_t all = 0;
    for (size_t c = 0; c < m->column_count; c++) {
        all += m->columns[c].count;
    }
    AK_DO(AK_NEW(model->values, all, err));
    for (size_t c = 0; c < m->column_count; c++) {
        const ak_matrix_column *column = &m->columns[c];
        ak_report_value *values = &model->values[model->value_count];
        size_t kept = 0;
        for (size_t v = 0; v < column->count; v++) {
            values[v] = (ak_report_value){.name = column->name, .value = column->values[v]};
        }
        for (size_t i = 0; i < model->ok_count; i++) {
            const size_t row = (size_t)(model->ranking[i] - model->trials);
            const uint16_t v = m->rows[row * m->column_count + c];
            if (v != AK_MATRIX_NONE) {
                values[v].in_all++;
                values[v].in_top += i < model->top_count ? 1 : 0;
            }
        }
        for (size_t v = 0; v < column->count; v++) {
            if (values[v].in_all > 0) {
                values[kept++] = values[v];
            }
        }
        model->value_count += kept > 1 ? kept : 0;
    }
    qsort(model->values, model->value_count, sizeof *model->values, by_parameter);
    return AK_OK;
}

/* ---- what the run's record says -------------------------------------------------------------- */

static void take_trial(ak_report_best *best, const ak_trial *trial)
{
    best->found = true;
    best->trial = trial;
    best->config = trial->config;
    best->ms = trial->median_ms;
    best->value = ak_trial_value(trial);
    if (ak_trial_few_samples(trial) == 0) {
        best->low_ms = trial->ci_low_ms;
        best->high_ms = trial->ci_high_ms;
    }
    best->tflops = trial->tflops;
    best->gbs = trial->gbs;
    best->efficiency = trial->efficiency;
}

/* Notes the configuration of a trial that refutes it. The trial may come from the check before the
   finish, which tries more sizes than the search, or from a later check. */
static ak_status note_wrong(void *context, const ak_trial *trial, ak_error *err)
{
    return ak_trial_refutes(trial) ? ak_map_put(context, trial->config, 0, err) : AK_OK;
}

/* Takes the first trial in the ranking whose configuration no trial refutes. */
static ak_status take_first_right(ak_report_model *model, ak_archive *archive, ak_error *err)
{
    AK_AT_END(ak_map_free_at) ak_map *wrong = ak_map_new();
    ak_archive_filter filter = ak_run_filter(&model->run);
    filter.simulated = true;
    AK_DO(ak_made(wrong, err));
    AK_DO(ak_archive_take(archive, &filter, note_wrong, wrong, err));
    for (size_t i = 0; i < model->ok_count && !model->best.found; i++) {
        if (!ak_map_get(NULL, wrong, model->ranking[i]->config)) {
            take_trial(&model->best, model->ranking[i]);
        }
    }
    return AK_OK;
}

/* Chooses the best: the configuration that the record names, else the first in the ranking that no
   trial refutes. The record of a stopped run names the best of its search. A record with candidates
   is that of a run with a finish, which measured the winner again. */
static ak_status choose_best(ak_report_model *model, ak_archive *archive, ak_error *err)
{
    ak_report_best *best = &model->best;
    const json_t *won = json_object_get(model->result, "best");
    const char *config = ak_json_text_or_null(won, "config");
    AK_DO(take_first_right(model, archive, err));
    if (config != NULL && ak_json_positive_at(won, "ms") > 0) {
        *best = (ak_report_best){
            .found = true,
            .config = config,
            .trial = ak_report_trial_of(model, config),
            .ms = ak_json_positive_at(won, "ms"),
            .value = ak_json_positive_at(won, "value"),
            .low_ms = ak_json_number_in(won, "ci_ms", 0),
            .high_ms = ak_json_number_in(won, "ci_ms", 1),
            .tflops = ak_json_positive_at(won, "tflops"),
            .gbs = ak_json_positive_at(won, "gbs"),
            .efficiency = ak_json_positive_at(won, "efficiency"),
            .speedup = ak_json_positive_at(won, "speedup"),
            .from_finish = json_array_size(json_object_get(model->result, "contestants")) > 0,
            .again = ak_json_text_is(won, "measured", "again"),
        };
    }
    const json_t *roofline = json_object_get(model->result, "roofline");
    if (json_is_object(roofline)) {
        ak_placement_read(&best->placement, roofline);
    } else { /* the run was stopped, or an earlier version recorded it */
        const ak_trial said = {.median_ms = best->ms,
                               .tflops = best->tflops,
                               .gbs = best->gbs,
                               .efficiency = best->efficiency,
                               .bound = best->trial == NULL ? NULL : best->trial->bound};
        ak_place_trial(&best->placement, &said);
    }
    if (best->trial != NULL) {
        best->evaluation = (size_t)(best->trial - model->trials) + 1;
    }
    (void)ak_choices_objective(model->objective, model->run.choices);
    bool timed = strcmp(model->objective, "time") == 0;
    if (best->found && best->speedup <= 0 && model->baseline_ms > 0 && timed) {
        best->speedup = model->baseline_ms / best->ms;
    }
    return AK_OK;
}

/* Finds the default. It is the candidate of the finish that is called "default" or, without one,
   the configuration of the trial that has the strategy "default". */
static void find_default(ak_report_model *model)
{
    const json_t *candidates = json_object_get(model->result, "contestants");
    model->default_config =
        ak_json_text_or_null(ak_json_find(candidates, "name", "default"), "config");
    for (size_t i = 0; i < model->count && model->default_trial == NULL; i++) {
        const ak_trial *trial = &model->trials[i];
        bool is = model->default_config == NULL
                      ? trial->strategy != NULL && strcmp(trial->strategy, "default") == 0
                      : strcmp(trial->config, model->default_config) == 0;
        model->default_trial = is && trial->status == AK_TRIAL_OK ? trial : NULL;
        model->default_config = is ? trial->config : model->default_config;
        if (is && trial->status != AK_TRIAL_OK && model->default_failed == NULL) {
            model->default_failed = trial;
        }
    }
    model->default_failed = model->default_trial == NULL ? model->default_failed : NULL;
}

static ak_status compare_with_default(ak_report_model *model, ak_error *err)
{
    find_default(model);
    return model->best.found && model->default_config != NULL
               ? ak_changes_of(&model->changes, &model->change_count, &model->matrix,
                               model->default_config, model->best.config, err)
               : AK_OK;
}

static ak_status read_record(ak_report_model *model, ak_error *err)
{
    const ak_run *run = &model->run;
    AK_DO(ak_json_parse_text(&model->options, run->options_json, "options of the run", err));
    AK_DO(ak_json_parse_text(&model->result, run->result_json, "result of the run", err));
    AK_DO(ak_config_text_in_result(model->result, err));
    AK_DO(ak_json_parse_text(&model->environment, run->environment_json, "environment of the run",
                             err));
    const json_t *baseline = json_object_get(model->result, "baseline");
    model->seconds = ak_json_positive_at(model->result, "seconds");
    model->baseline = ak_json_text_or_null(baseline, "name");
    model->baseline_version = ak_json_text_or_null(baseline, "version");
    model->baseline_ms = ak_json_positive_at(baseline, "ms");
    return AK_OK;
}

/* Reads where the files of the run lie on this machine, checks whether the run's process is still
   alive, and makes the command that repeats the run. */
static ak_status read_whereabouts(ak_report_model *model, ak_archive *archive, ak_error *err)
{
    char *process = NULL;
    AK_DO(ak_archive_whereabouts(&process, &model->paths, archive, model->run.id, err));
    model->alive = process == NULL ? AK_ALIVE_UNKNOWN : ak_alive_check(process);
    ak_free(process);
    const char *recording = ak_json_text_or_null(model->options, "recording");
    model->missing = ak_json_text_or_null(model->paths, "recording") == NULL ? recording : NULL;
    return ak_report_command(model, err);
}

static bool stop(void *any, const ak_call *call)
{
    (void)call;
    *(bool *)any = true;
    return false;
}

/* Reads the conversation with language models; most runs have none. */
static ak_status read_calls(ak_report_model *model, ak_archive *archive, ak_error *err)
{
    bool any = false;
    AK_FREED char *conversation = NULL, *worth = NULL;
    ak_archive_filter filter = {.run = model->run.id};
    AK_DO(ak_archive_each_call(archive, model->run.id, stop, &any, err));
    if (!any) {
        return AK_OK;
    }
    AK_DO(ak_llm_conversation(&conversation, archive, model->run.id, err));
    AK_DO(ak_json_parse_text(&model->conversation, conversation, "conversation", err));
    AK_DO(ak_llm_worth(&worth, archive, &filter, err));
    if (strcmp(worth, "null") != 0) { /* it is null if limits refused every question */
        return ak_json_parse_text(&model->worth, worth, "worth", err);
    }
    return AK_OK;
}

static ak_status look_for_changes(ak_report_model *model, ak_archive *archive, ak_error *err)
{
    const ak_run *run = &model->run;
    const ak_trial like = {.run = run->id,
                           .kernel = run->kernel,
                           .implementation = run->implementation,
                           .device = run->device,
                           .environment = run->environment};
    return ak_archive_kernel_changed(&model->changed, archive, &like, NULL, err);
}

ak_status ak_report_gather(ak_report_model *out, ak_archive *archive, const char *run,
                           ak_error *err)
{
    AK_AT_END(ak_report_model_clear) ak_report_model model = {0};
    AK_DO(ak_archive_get_run(&model.run, archive, run, err));
    ak_archive_filter filter = {.run = model.run.id};
    AK_DO(read_record(&model, err));
    AK_DO(read_resumed(&model, archive, err));
    AK_DO(ak_archive_take(archive, &filter, keep_trial, &model, err));
    AK_DO(rank(&model, err));
    AK_DO(group_failures(&model, err));
    AK_DO(group_trials(&model.authors, &model.author_count, &model,
                       (const char *const[]){"strategy", "model"}, true, err));
    /* A trial without a device reached none, or another program did not record it. */
    AK_DO(group_trials(&model.devices, &model.device_count, &model,
                       (const char *const[]){"measured_on", "device_uuid"}, false, err));
    AK_DO(ak_matrix_of(&model.matrix, model.trials, model.count, err));
    AK_DO(compare_values(&model, err));
    AK_DO(ak_importance_of(&model.importance, model.trials, model.count, err));
    AK_DO(read_whereabouts(&model, archive, err));
    AK_DO(read_calls(&model, archive, err));
    AK_DO(look_for_changes(&model, archive, err));
    AK_DO(choose_best(&model, archive, err));
    AK_DO(ak_archive_refuted(&model.refuted, archive, &model.run, model.result, err));
    AK_DO(model.result == NULL ? AK_OK
                               : ak_archive_warn_refuted(model.result, archive, &model.run, err));
    AK_DO(compare_with_default(&model, err));
    AK_GIVE(out, model);
    return AK_OK;
}

void ak_report_model_clear(ak_report_model *model)
{
    AK_CLEAR_EACH(ak_trial_clear, model->trials, model->count);
    ak_importance_clear(&model->importance);
    ak_matrix_clear(&model->matrix);
    ak_free(model->changes);
    json_decref(model->conversation);
    json_decref(model->worth);
    ak_run_clear(&model->run);
    json_decref(model->options);
    json_decref(model->result);
    json_decref(model->environment);
    json_decref(model->paths);
    AK_FREE_ALL(model->trials, model->ranking, model->failures, model->steps, model->authors,
                model->devices, model->values, model->command, model->changed, model->refuted);
    *model = (ak_report_model){0};
}
