/*
 * report.c: gathering the model of a run: everything is computed here, nothing is formatted.
 *
 * The run's record may be incomplete (it was killed, or imported): then its result and options are
 * missing and the trials alone speak.
 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/map.h"

/* The top is a tenth of the successful trials, but at least this many: shares of fewer say nothing.
 */
#define TOP_MIN 3

static const ak_report_ops *const formats[] = {
#define X(name) &ak_report_##name,
#include "report/reports.def"
#undef X
};

/* ---- the trials -------------------------------------------------------------------------------
 */

typedef struct gatherer {
    ak_report_model *model;
    ak_status status;
    ak_error *err;
} gatherer;

static bool keep_trial(void *context, const ak_trial *trial)
{
    gatherer *g = context;
    ak_report_model *model = g->model;
    if (strcmp(trial->run, model->run.id) != 0) {
        model->elsewhere++; /* of one of many sizes, which has a report of its own */
        model->elsewhere_ok += trial->status == AK_TRIAL_OK ? 1 : 0;
        return true;
    }
    void *trials = model->trials;
    g->status = ak_grow(&trials, &model->capacity, model->count + 1, sizeof(ak_trial), g->err);
    model->trials = trials;
    if (g->status == AK_OK) {
        g->status = ak_trial_copy(&model->trials[model->count], trial, g->err);
        model->count += g->status == AK_OK ? 1 : 0;
    }
    return g->status == AK_OK;
}

static int by_time(const void *a, const void *b)
{
    const ak_trial *x = *(const ak_trial *const *)a, *y = *(const ak_trial *const *)b;
    if (x->median_ms != y->median_ms) {
        return x->median_ms < y->median_ms ? -1 : 1;
    }
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Sums, counts, the ranking and the steps of the search. */
static ak_status rank(ak_report_model *model, ak_error *err)
{
    model->ranking = ak_alloc(model->count, sizeof *model->ranking);
    model->steps = ak_alloc(model->count, sizeof *model->steps);
    if (model->ranking == NULL || model->steps == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t i = 0; i < model->count; i++) {
        const ak_trial *trial = &model->trials[i];
        model->by_status[trial->status]++;
        model->propose_ns += trial->propose_ns;
        model->compile_ns += trial->compile_ns;
        model->check_ns += trial->check_ns;
        model->measure_ns += trial->measure_ns;
        model->overhead_ns += trial->overhead_ns;
        if (trial->status != AK_TRIAL_OK || trial->median_ms <= 0) {
            continue;
        }
        model->ranking[model->ok_count++] = trial;
        if (model->step_count == 0 ||
            trial->median_ms < model->steps[model->step_count - 1].trial->median_ms) {
            model->steps[model->step_count++] = (ak_report_step){i + 1, trial};
        }
    }
    for (size_t i = model->step_count; i > 0; i--) {
        double best_ms = model->steps[model->step_count - 1].trial->median_ms;
        const ak_report_step *step = &model->steps[i - 1];
        model->within_5 =
            step->trial->median_ms <= 1.05 * best_ms ? step->evaluation : model->within_5;
        model->within_1 =
            step->trial->median_ms <= 1.01 * best_ms ? step->evaluation : model->within_1;
    }
    if (model->ok_count > 0) {
        qsort(model->ranking, model->ok_count, sizeof *model->ranking, by_time);
    }
    model->top_count = model->ok_count / 10 < TOP_MIN ? TOP_MIN : model->ok_count / 10;
    model->top_count = model->top_count < model->ok_count ? model->top_count : model->ok_count;
    return AK_OK;
}

/* ---- groups -----------------------------------------------------------------------------------
 */

/* Index of the group of two texts, and whether it is a new one. */
static ak_status find_group(size_t *index, bool *fresh, ak_map *groups, const char *a,
                            const char *b, ak_error *err)
{
    ak_buf key = AK_BUF(1 << 20);
    ak_buf_print(&key, "%s\n%s", a, b);
    ak_status status = ak_buf_status(&key, err);
    *fresh = status == AK_OK && !ak_map_get(index, groups, key.data);
    if (*fresh) {
        *index = ak_map_count(groups);
        status = ak_map_put(groups, key.data, *index, err);
    }
    ak_buf_free(&key);
    return status;
}

static int by_count(const void *a, const void *b)
{
    const ak_report_failure *x = a, *y = b;
    return x->count == y->count ? strcmp(x->reason, y->reason) : x->count > y->count ? -1 : 1;
}

static ak_status group_failures(ak_report_model *model, ak_map *groups, ak_error *err)
{
    model->failures = ak_alloc(model->count, sizeof *model->failures);
    ak_status status = model->failures == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t i = 0; i < model->count && status == AK_OK; i++) {
        const ak_trial *trial = &model->trials[i];
        const char *reason = trial->reason == NULL ? "" : trial->reason;
        size_t at;
        bool fresh;
        if (trial->status == AK_TRIAL_OK) {
            continue;
        }
        status = find_group(&at, &fresh, groups, ak_trial_status_text(trial->status), reason, err);
        if (status == AK_OK && fresh) {
            model->failures[at] = (ak_report_failure){trial->status, reason, trial->config, 0};
            model->failure_count++;
        }
        if (status == AK_OK) {
            model->failures[at].count++;
        }
    }
    if (status == AK_OK && model->failure_count > 0) {
        qsort(model->failures, model->failure_count, sizeof *model->failures, by_count);
    }
    return status;
}

static ak_status group_authors(ak_report_model *model, ak_map *groups, ak_error *err)
{
    model->authors = ak_alloc(model->count, sizeof *model->authors);
    ak_status status = model->authors == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t i = 0; i < model->count && status == AK_OK; i++) {
        const ak_trial *trial = &model->trials[i];
        const char *strategy = trial->strategy == NULL ? "" : trial->strategy;
        const char *name = trial->model == NULL ? "" : trial->model;
        size_t at;
        bool fresh;
        status = find_group(&at, &fresh, groups, strategy, name, err);
        if (status != AK_OK) {
            break;
        }
        ak_report_author *author = &model->authors[at];
        if (fresh) {
            *author = (ak_report_author){.strategy = strategy, .model = name};
            model->author_count++;
        }
        author->proposed++;
        if (trial->status == AK_TRIAL_OK) {
            author->ok++;
            bool better = author->best_ms <= 0 || trial->median_ms < author->best_ms;
            author->best_ms = better ? trial->median_ms : author->best_ms;
        }
    }
    return status;
}

static ak_status group_devices(ak_report_model *model, ak_map *groups, ak_error *err)
{
    model->devices = ak_alloc(model->count, sizeof *model->devices);
    ak_status status = model->devices == NULL ? ak_fail_memory(err) : AK_OK;
    for (size_t i = 0; i < model->count && status == AK_OK; i++) {
        const ak_trial *trial = &model->trials[i];
        const char *uuid = trial->device_uuid == NULL ? "" : trial->device_uuid;
        size_t at;
        bool fresh;
        if (trial->measured_on == NULL) {
            continue; /* it got to no device, or its program did not say */
        }
        status = find_group(&at, &fresh, groups, trial->measured_on, uuid, err);
        if (status != AK_OK) {
            break;
        }
        ak_report_device *device = &model->devices[at];
        if (fresh) {
            *device = (ak_report_device){.name = trial->measured_on, .uuid = uuid};
            model->device_count++;
        }
        device->trials++;
        device->mhz += trial->sm_clock_mhz;
        device->clocked += trial->sm_clock_mhz > 0 ? 1 : 0;
        if (trial->status == AK_TRIAL_OK) {
            device->ok++;
            bool better = device->best_ms <= 0 || trial->median_ms < device->best_ms;
            device->best_ms = better ? trial->median_ms : device->best_ms;
        }
    }
    return status;
}

/* ---- values of parameters ---------------------------------------------------------------------
 */

static ak_status add_value(ak_report_model *model, size_t *capacity, const char *name,
                           const char *value, ak_error *err)
{
    void *values = model->values;
    ak_status status =
        ak_grow(&values, capacity, model->value_count + 1, sizeof(ak_report_value), err);
    model->values = values;
    if (status != AK_OK) {
        return status;
    }
    ak_report_value fresh = {.name = ak_strdup(name), .value = ak_strdup(value)};
    if (fresh.name == NULL || fresh.value == NULL) {
        ak_free(fresh.name);
        ak_free(fresh.value);
        return ak_fail_memory(err);
    }
    model->values[model->value_count++] = fresh;
    return AK_OK;
}

static ak_status count_values(ak_report_model *model, size_t *capacity, ak_map *groups,
                              const ak_trial *trial, bool top, ak_error *err)
{
    json_t *config;
    const char *name;
    json_t *value;
    /* A configuration that cannot be taken apart (from a foreign file) is left out. */
    ak_status status = ak_config_text_to_json(&config, trial->config, "trial", err);
    if (status != AK_OK) {
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    json_object_foreach(config, name, value)
    {
        size_t at;
        bool fresh;
        ak_buf text = AK_BUF(1 << 16);
        if (json_is_string(value)) {
            ak_buf_puts(&text, json_string_value(value));
        } else {
            ak_json_print(&text, value, false);
        }
        status = ak_buf_status(&text, err);
        if (status == AK_OK) {
            status = find_group(&at, &fresh, groups, name, text.data, err);
        }
        if (status == AK_OK && fresh) {
            status = add_value(model, capacity, name, text.data, err);
        }
        ak_buf_free(&text);
        if (status != AK_OK) {
            break;
        }
        model->values[at].in_all++;
        model->values[at].in_top += top ? 1 : 0;
    }
    json_decref(config);
    return status;
}

static int by_parameter(const void *a, const void *b)
{
    const ak_report_value *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0) {
        order = x->in_top == y->in_top ? 0 : x->in_top > y->in_top ? -1 : 1;
    }
    if (order == 0) { /* of two as frequent at the top the rarer one says more */
        order = x->in_all == y->in_all ? 0 : x->in_all < y->in_all ? -1 : 1;
    }
    return order == 0 ? strcmp(x->value, y->value) : order;
}

static void free_value(ak_report_value *value)
{
    ak_free(value->name);
    ak_free(value->value);
}

static ak_status compare_values(ak_report_model *model, ak_map *groups, ak_error *err)
{
    size_t capacity = 0;
    ak_status status = AK_OK;
    for (size_t i = 0; i < model->ok_count && status == AK_OK; i++) {
        status =
            count_values(model, &capacity, groups, model->ranking[i], i < model->top_count, err);
    }
    if (status != AK_OK || model->value_count == 0) {
        return status;
    }
    qsort(model->values, model->value_count, sizeof *model->values, by_parameter);
    /* A parameter that never changed tells nothing. */
    size_t kept = 0;
    for (size_t i = 0; i < model->value_count;) {
        size_t end = i + 1;
        while (end < model->value_count &&
               strcmp(model->values[end].name, model->values[i].name) == 0) {
            end++;
        }
        for (size_t j = i; j < end; j++) {
            if (end - i > 1) {
                model->values[kept++] = model->values[j];
            } else {
                free_value(&model->values[j]);
            }
        }
        i = end;
    }
    model->value_count = kept;
    return AK_OK;
}

/* ---- what the run's record says ---------------------------------------------------------------
 */

static double number(const json_t *object, const char *key)
{
    double value = json_number_value(json_object_get(object, key));
    return value > 0 ? value : 0;
}

static const char *text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static ak_status parse(json_t **out, const char *document, const char *name, ak_error *err)
{
    return document == NULL ? AK_OK : ak_json_parse(out, document, strlen(document), name, err);
}

static void take_trial(ak_report_best *best, const ak_trial *trial)
{
    best->found = true;
    best->trial = trial;
    best->config = trial->config;
    best->ms = trial->median_ms;
    best->low_ms = trial->ci_low_ms;
    best->high_ms = trial->ci_high_ms;
    best->tflops = trial->tflops;
    best->gbs = trial->gbs;
    best->efficiency = trial->efficiency;
}

/* What the record names, else the lowest median. A run that was stopped names the best of its
   search: only one with contestants had a finish, which measured the winner again. */
static void choose_best(ak_report_model *model)
{
    ak_report_best *best = &model->best;
    const json_t *won = json_object_get(model->result, "best");
    const char *config = text(won, "config");
    if (model->ok_count > 0) {
        take_trial(best, model->ranking[0]);
    }
    if (config != NULL && number(won, "ms") > 0) {
        const json_t *interval = json_object_get(won, "ci_ms");
        const ak_trial *trial = NULL;
        for (size_t i = 0; i < model->ok_count && trial == NULL; i++) {
            trial = strcmp(model->ranking[i]->config, config) == 0 ? model->ranking[i] : NULL;
        }
        *best = (ak_report_best){
            .found = true,
            .config = config,
            .trial = trial,
            .ms = number(won, "ms"),
            .low_ms = json_number_value(json_array_get(interval, 0)),
            .high_ms = json_number_value(json_array_get(interval, 1)),
            .tflops = number(won, "tflops"),
            .gbs = number(won, "gbs"),
            .efficiency = number(won, "efficiency"),
            .speedup = number(won, "speedup"),
            .from_finish = json_array_size(json_object_get(model->result, "contestants")) > 0,
        };
    }
    if (best->trial != NULL) {
        best->evaluation = (size_t)(best->trial - model->trials) + 1;
    }
    if (best->found && best->speedup <= 0 && model->baseline_ms > 0) {
        best->speedup = model->baseline_ms / best->ms;
    }
}

static void option(ak_buf *out, const char *flag, const char *value)
{
    if (value == NULL || *value == 0) {
        return;
    }
    /* For a shell: quoted unless it is plainly harmless. */
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-=,.:/+";
    ak_buf_print(out, "%s%s", flag, *flag == 0 ? "" : " ");
    if (strspn(value, plain) == strlen(value)) {
        ak_buf_puts(out, value);
    } else {
        ak_buf_putc(out, '\'');
        for (const char *p = value; *p != 0; p++) {
            if (*p == '\'') {
                ak_buf_puts(out, "'\\''");
            } else {
                ak_buf_putc(out, *p);
            }
        }
        ak_buf_putc(out, '\'');
    }
    ak_buf_putc(out, ' ');
}

static void number_option(ak_buf *out, const char *flag, const json_t *options, const char *key)
{
    const json_t *value = json_object_get(options, key);
    ak_buf digits = AK_BUF(64);
    if (json_is_integer(value)) {
        ak_buf_print(&digits, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        ak_buf_real(&digits, json_real_value(value));
    }
    /* 0 means "the default" for all of these but the seed, which settings may have changed. */
    if (json_number_value(value) > 0 || (json_is_integer(value) && strcmp(key, "seed") == 0)) {
        option(out, flag, digits.data);
    }
    ak_buf_free(&digits);
}

/* What was typed, else what amounts to it. */
static ak_status make_command(ak_report_model *model, ak_error *err)
{
    ak_buf out = AK_BUF(1 << 16);
    const ak_run *run = &model->run;
    const char *typed = text(model->options, "command");
    if (typed != NULL) {
        ak_buf_puts(&out, typed);
    } else {
        ak_buf_puts(&out, "autokernel tune ");
        const char *devices = text(model->options, "device"); /* all that shared the trials */
        const char *device = devices == NULL ? run->device : devices;
        /* Of a recording by itself only the space is known, which has the kernel's name. */
        bool alone = device != NULL && strncmp(device, "sim:", 4) == 0 && run->kernel != NULL &&
                     run->implementation != NULL && strcmp(run->kernel, run->implementation) == 0;
        option(&out, "", alone ? device + 4 : run->kernel);
        option(&out, "--impl", alone ? NULL : run->implementation);
        option(&out, "--device", alone ? "sim" : device);
        const char *sizes = text(model->options, "sizes");
        option(&out, sizes == NULL ? "--size" : "--sizes", sizes == NULL ? run->size : sizes);
        number_option(&out, "--dispatch", model->options, "dispatch");
        option(&out, "--dtype", run->dtype);
        option(&out, "--set", run->choices);
        option(&out, "--fix", text(model->options, "fix"));
        /* Files of other programs do not say how they searched. */
        bool imported = run->strategy != NULL && strcmp(run->strategy, "import") == 0;
        const char *asked = text(model->options, "strategy"); /* with its hyper-parameters */
        option(&out, "--strategy", imported ? NULL : asked != NULL ? asked : run->strategy);
        number_option(&out, "--evals", model->options, "evaluations");
        number_option(&out, "--time", model->options, "seconds");
        number_option(&out, "--target-speedup", model->options, "target_speedup");
        number_option(&out, "--seed", model->options, "seed");
        option(&out, "--libraries", text(model->options, "libraries"));
        option(&out, "--protocol", text(model->options, "protocol"));
        number_option(&out, "--threads", model->options, "threads");
        option(&out, "--llm", text(model->options, "llm"));
        option(&out, "--llm-replay", text(model->options, "llm_replay"));
        option(&out, "--llm-effort", text(model->options, "llm_effort"));
        number_option(&out, "--llm-budget", model->options, "llm_budget");
        number_option(&out, "--generations", model->options, "generations");
        number_option(&out, "--batch", model->options, "batch");
        if (json_is_true(json_object_get(model->options, "allow_numerics"))) {
            ak_buf_puts(&out, "--allow-numerics ");
        }
        if (out.length > 0 && out.failed == AK_OK) {
            out.data[--out.length] = 0; /* the last blank */
        }
    }
    return ak_buf_take(&model->command, &out, err);
}

static ak_status read_record(ak_report_model *model, ak_error *err)
{
    ak_status status = parse(&model->options, model->run.options_json, "options of the run", err);
    if (status == AK_OK) {
        status = parse(&model->result, model->run.result_json, "result of the run", err);
        status = status == AK_OK && model->result != NULL
                     ? ak_config_text_in_result(model->result, err)
                     : status;
    }
    if (status == AK_OK) {
        status =
            parse(&model->environment, model->run.environment_json, "environment of the run", err);
    }
    if (status == AK_OK) {
        const json_t *baseline = json_object_get(model->result, "baseline");
        model->seconds = number(model->result, "seconds");
        model->baseline = text(baseline, "name");
        model->baseline_version = text(baseline, "version");
        model->baseline_ms = number(baseline, "ms");
        status = make_command(model, err);
    }
    return status;
}

/* Runs one of the groupings with a map of its own. */
static ak_status with_map(ak_status (*group)(ak_report_model *, ak_map *, ak_error *),
                          ak_report_model *model, ak_error *err)
{
    ak_map *groups = ak_map_new();
    ak_status status = groups == NULL ? ak_fail_memory(err) : group(model, groups, err);
    ak_map_free(groups);
    return status;
}

ak_status ak_report_gather(ak_report_model *out, ak_archive *archive, const char *run,
                           ak_error *err)
{
    ak_report_model model = {0};
    gatherer g = {&model, AK_OK, err};
    ak_status status = ak_archive_get_run(&model.run, archive, run, err);
    if (status == AK_OK) {
        ak_archive_filter filter = {.run = model.run.id};
        status = ak_archive_each(archive, &filter, keep_trial, &g, err);
        status = status == AK_OK ? g.status : status;
    }
    if (status == AK_OK) {
        status = rank(&model, err);
    }
    if (status == AK_OK) {
        status = with_map(group_failures, &model, err);
    }
    if (status == AK_OK) {
        status = with_map(group_authors, &model, err);
    }
    if (status == AK_OK) {
        status = with_map(group_devices, &model, err);
    }
    if (status == AK_OK) {
        status = with_map(compare_values, &model, err);
    }
    if (status == AK_OK) {
        status = ak_impact_of(&model.impact, model.trials, model.count, err);
    }
    if (status == AK_OK) {
        status = read_record(&model, err);
    }
    if (status != AK_OK) {
        ak_report_model_clear(&model);
        return status;
    }
    choose_best(&model);
    *out = model;
    return AK_OK;
}

void ak_report_model_clear(ak_report_model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        ak_trial_clear(&model->trials[i]);
    }
    for (size_t i = 0; i < model->value_count; i++) {
        free_value(&model->values[i]);
    }
    ak_impact_clear(&model->impact);
    ak_run_clear(&model->run);
    json_decref(model->options);
    json_decref(model->result);
    json_decref(model->environment);
    ak_free(model->trials);
    ak_free(model->ranking);
    ak_free(model->failures);
    ak_free(model->steps);
    ak_free(model->authors);
    ak_free(model->devices);
    ak_free(model->values);
    ak_free(model->command);
    *model = (ak_report_model){0};
}

ak_status ak_report(char **out_text, ak_archive *archive, const char *run, const char *format,
                    ak_error *err)
{
    const ak_report_ops *ops = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        ops = strcmp(formats[i]->name, format) == 0 ? formats[i] : ops;
    }
    if (ops == NULL) {
#define X(name) " " #name
        static const char known[] =
#include "report/reports.def"
            ;
#undef X
        return ak_fail(err, AK_INVALID, "there is no report format \"%.60s\"; the formats are:%s",
                       format, known);
    }
    ak_report_model model;
    ak_buf text_out = AK_BUF(AK_REPORT_BYTES_MAX);
    ak_status status = ak_report_gather(&model, archive, run, err);
    if (status == AK_OK) {
        status = ops->render(&text_out, &model, err);
        ak_report_model_clear(&model);
    }
    if (status != AK_OK) {
        ak_buf_free(&text_out);
        return status;
    }
    return ak_buf_take(out_text, &text_out, err);
}

void ak_text_free(char *text_to_free)
{
    ak_free(text_to_free);
}
