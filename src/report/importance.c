/* importance.c: see importance.h. Trials become rows of levels: the indices of the values that
   occur for each parameter, in order. Neither the kernel nor its space is needed, so imported
   trials of unknown kernels can be analysed too. */
#include "report/importance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/number.h"
#include "model/forest.h"

/* Enough trees that the seed does not change the second digit of the results. */
#define TREES 64
/* With more trials every nth is used: more would make the shares slower, not better. */
#define LEARNED_MAX 2000
/* Pairs are searched among the parameters with the greatest effects. A pair whose members have no
   effect alone is found if one of them is in this set. */
#define PARTNERS_MAX 12
/* A weaker interaction is not reported. */
#define PAIR_MIN 0.005

typedef struct reader {
    const ak_trial *trials;
    size_t count;
    ak_importance *importance;
    bool *usable;    /* true: the trial has the parameters of the first one */
    char **texts;    /* [trial][parameter]; owned */
    uint16_t *level; /* [trial][parameter] */
    size_t columns;
} reader;

/* ---- reading --------------------------------------------------------------------------------- */

static ak_status value_text(char **out, const json_t *value, ak_error *err)
{
    ak_buf text = AK_BUF(1u << 16);
    ak_json_print_plain(&text, value);
    return ak_buf_take(out, &text, err);
}

static ak_status add_parameter(ak_importance *importance, const char *name, ak_error *err)
{
    AK_DO(ak_copy_text(&importance->parameters[importance->parameter_count].name, name, err));
    importance->parameter_count++;
    return AK_OK;
}

/* Takes the parameters of the first configuration that can be read. */
static ak_status begin_parameters(reader *r, const json_t *config, ak_error *err)
{
    size_t count = json_object_size(config);
    const char *name;
    json_t *value;
    ak_status status = AK_OK;
    if (count > AK_PARAMETERS_MAX) {
        return AK_OK;
    }
    r->importance->parameters = ak_alloc(count, sizeof *r->importance->parameters);
    r->texts = ak_alloc(r->count * count, sizeof *r->texts);
    r->level = ak_alloc(r->count * count, sizeof *r->level);
    if (r->importance->parameters == NULL || r->texts == NULL || r->level == NULL) {
        return ak_fail_memory(err);
    }
    r->columns = count;
    json_object_foreach((json_t *)(uintptr_t)config, name, value)
    {
        status = status == AK_OK ? add_parameter(r->importance, name, err) : status;
    }
    return status;
}

static ak_status read_trial(reader *r, size_t at, ak_error *err)
{
    json_t *config = NULL;
    const char *text = r->trials[at].config;
    ak_status status = ak_config_text_to_json(&config, ak_or_empty(text), "trial", NULL);
    if (status != AK_OK || json_object_size(config) == 0) {
        json_decref(config);
        r->importance->left_out++; /* it has other parameters */
        return status == AK_NO_MEMORY ? ak_fail_memory(err) : AK_OK;
    }
    status = r->columns == 0 ? begin_parameters(r, config, err) : AK_OK;
    bool same = r->columns > 0 && json_object_size(config) == r->columns;
    for (size_t c = 0; c < r->columns && same && status == AK_OK; c++) {
        const json_t *value = json_object_get(config, r->importance->parameters[c].name);
        same = value != NULL;
        if (same) {
            status = value_text(&r->texts[at * r->columns + c], value, err);
        }
    }
    r->usable[at] = same;
    r->importance->left_out += same ? 0 : 1;
    json_decref(config);
    return status;
}

/* ---- levels ---------------------------------------------------------------------------------- */

static bool number_of(double *out, const char *text)
{
    char *end;
    *out = ak_number_read(text, &end);
    return end != text && *end == 0;
}

static int by_value(const void *a, const void *b)
{
    const ak_importance_value *x = a, *y = b;
    double p, q;
    bool first = number_of(&p, x->text), second = number_of(&q, y->text);
    if (first && second && p != q) {
        return p < q ? -1 : 1;
    }
    return first != second ? (first ? -1 : 1) : strcmp(x->text, y->text);
}

static ak_status count_values(reader *r, size_t c, ak_map *known, ak_error *err)
{
    ak_importance_parameter *parameter = &r->importance->parameters[c];
    size_t capacity = 0;
    for (size_t i = 0; i < r->count; i++) {
        const char *text = r->texts[i * r->columns + c];
        size_t at;
        if (!r->usable[i] || ak_map_get(&at, known, text)) {
            continue;
        }
        AK_DO(AK_GROW(parameter->values, &capacity, parameter->value_count + 1, err));
        ak_importance_value *fresh = &parameter->values[parameter->value_count];
        *fresh = (ak_importance_value){.text = ak_strdup(text)};
        AK_DO(ak_made(fresh->text, err));
        AK_DO(ak_map_put(known, text, parameter->value_count++, err));
        if (parameter->value_count >= UINT16_MAX) {
            return ak_fail(err, AK_LIMIT, "parameter %s has more than %d values", parameter->name,
                           UINT16_MAX - 1);
        }
    }
    if (parameter->value_count == 0) {
        return AK_OK;
    }
    qsort(parameter->values, parameter->value_count, sizeof *parameter->values, by_value);
    for (size_t v = 0; v < parameter->value_count; v++) {
        AK_DO(ak_map_put(known, parameter->values[v].text, v, err));
    }
    for (size_t i = 0; i < r->count; i++) {
        size_t at = 0;
        if (r->usable[i] && ak_map_get(&at, known, r->texts[i * r->columns + c])) {
            r->level[i * r->columns + c] = (uint16_t)at;
            parameter->values[at].tried++;
            parameter->values[at].ok += r->trials[i].status == AK_TRIAL_OK ? 1 : 0;
        }
    }
    return AK_OK;
}

static ak_status read_all(reader *r, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < r->count && status == AK_OK; i++) {
        status = read_trial(r, i, err);
    }
    for (size_t c = 0; c < r->columns && status == AK_OK; c++) {
        ak_map *known = ak_map_new();
        status = known == NULL ? ak_fail_memory(err) : count_values(r, c, known, err);
        ak_map_free(known);
    }
    return status;
}

/* ---- times ----------------------------------------------------------------------------------- */

static ak_status task_of(size_t *out, ak_map *tasks, const ak_trial *t, ak_error *err)
{
    ak_buf key = AK_BUF(1u << 18);
    ak_buf_print(&key, "%s\n%s\n%s\n%s\n%s\n%s\n%s", ak_or_empty(t->kernel),
                 ak_or_empty(t->implementation), ak_or_empty(t->device), ak_or_empty(t->size),
                 ak_or_empty(t->dtype), ak_or_empty(t->choices), ak_or_empty(t->environment));
    ak_status status = ak_buf_status(&key, err);
    if (status == AK_OK && !ak_map_get(out, tasks, key.data)) {
        *out = ak_map_count(tasks);
        status = ak_map_put(tasks, key.data, *out, err);
    }
    ak_buf_free(&key);
    return status;
}

/* Computes the logarithms of the times, less the mean of the trial's task. */
static ak_status centre(double *y, size_t *tasks_seen, const ak_trial *const *trials, size_t count,
                        ak_error *err)
{
    ak_map *tasks = ak_map_new();
    size_t *task = ak_alloc(count, sizeof *task), *members = ak_alloc(count, sizeof *members);
    double *sum = ak_alloc(count, sizeof *sum);
    ak_status status = AK_OK;
    AK_TRY(tasks == NULL || task == NULL || members == NULL || sum == NULL ? ak_fail_memory(err)
                                                                           : AK_OK);
    for (size_t i = 0; i < count; i++) {
        AK_TRY(task_of(&task[i], tasks, trials[i], err));
        y[i] = log(ak_trial_cost(trials[i]));
        sum[task[i]] += y[i];
        members[task[i]]++;
    }
    for (size_t i = 0; i < count; i++) {
        y[i] -= sum[task[i]] / (double)members[task[i]];
    }
out:
    *tasks_seen = tasks == NULL ? 0 : ak_map_count(tasks);
    ak_map_free(tasks);
    ak_free(sum);
    ak_free(members);
    ak_free(task);
    return status;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The successful trials that could be read, in the form that the forest takes. */
typedef struct table {
    const ak_trial **trials;
    uint16_t *rows; /* [trial][feature] */
    double *y;
    size_t count;
    ak_features features; /* without the levels of its values, since rows already hold levels */
} table;

static void table_free(table *t)
{
    ak_free((void *)t->trials);
    ak_free(t->rows);
    ak_free(t->y);
}

static bool ordered(const ak_importance_parameter *parameter)
{
    double number;
    bool all = true;
    for (size_t v = 0; v < parameter->value_count; v++) {
        all = all && number_of(&number, parameter->values[v].text);
    }
    return all;
}

static void thin(table *t)
{
    size_t columns = t->features.count, step = (t->count + LEARNED_MAX - 1) / LEARNED_MAX, kept = 0;
    for (size_t i = 0; i < t->count && step > 1; i += step) {
        memmove(t->rows + kept * columns, t->rows + i * columns, columns * sizeof *t->rows);
        t->y[kept++] = t->y[i];
    }
    t->count = step > 1 ? kept : t->count;
}

static ak_status make_table(table *out, const reader *r, ak_error *err)
{
    out->trials = ak_alloc(r->count, sizeof *out->trials);
    out->rows = ak_alloc(r->count * r->columns, sizeof *out->rows);
    out->y = ak_alloc(r->count, sizeof *out->y);
    if (out->trials == NULL || out->rows == NULL || out->y == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t c = 0; c < r->columns; c++) {
        const ak_importance_parameter *p = &r->importance->parameters[c];
        if (p->value_count > 1) {
            out->features.column[out->features.count++] =
                (ak_column){.parameter = c, .levels = p->value_count, .ordered = ordered(p)};
        }
    }
    size_t columns = out->features.count;
    for (size_t i = 0; i < r->count; i++) {
        const ak_trial *trial = &r->trials[i];
        if (!r->usable[i] || trial->status != AK_TRIAL_OK || !(trial->median_ms > 0)) {
            continue;
        }
        for (size_t f = 0; f < columns; f++) {
            out->rows[out->count * columns + f] =
                r->level[i * r->columns + out->features.column[f].parameter];
        }
        out->trials[out->count++] = trial;
    }
    r->importance->trials = out->count;
    ak_status status = centre(out->y, &r->importance->tasks, out->trials, out->count, err);
    thin(out);
    r->importance->learned = out->count;
    return status;
}

static ak_status learn(ak_forest **out, const table *t, ak_error *err)
{
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.trees = TREES;
    ak_forest_data data = {.features = &t->features, .rows = t->rows, .y = t->y, .count = t->count};
    return ak_forest_fit(out, &data, &options, err);
}

/* Sorts features by falling effect, by insertion into `order`. */
static void by_effect(size_t *order, const double *effect, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && effect[order[at - 1]] < effect[i]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

static void keep_pair(ak_importance *importance, const ak_importance_pair *pair)
{
    size_t at = importance->pair_count < AK_IMPORTANCE_PAIRS_MAX ? importance->pair_count++
                                                                 : AK_IMPORTANCE_PAIRS_MAX;
    for (; at > 0 && importance->pairs[at - 1].share < pair->share; at--) {
        if (at < AK_IMPORTANCE_PAIRS_MAX) {
            importance->pairs[at] = importance->pairs[at - 1];
        }
    }
    if (at < AK_IMPORTANCE_PAIRS_MAX) {
        importance->pairs[at] = *pair;
    }
}

static ak_status weigh(ak_importance *importance, const table *t, const ak_forest *forest,
                       ak_error *err)
{
    double effect[AK_PARAMETERS_MAX], together[AK_PARAMETERS_MAX];
    size_t order[AK_PARAMETERS_MAX], count = t->features.count;
    AK_DO(ak_forest_effects(effect, forest, err));
    for (size_t f = 0; f < count; f++) {
        importance->parameters[t->features.column[f].parameter].share = effect[f];
        importance->parameters[t->features.column[f].parameter].shared = effect[f];
    }
    by_effect(order, effect, count);
    for (size_t i = 0; i < count && i < PARTNERS_MAX; i++) {
        AK_DO(ak_forest_interactions(together, forest, order[i], err));
        for (size_t j = i + 1; j < count; j++) {
            ak_importance_pair pair = {.a = t->features.column[order[i]].parameter,
                                       .b = t->features.column[order[j]].parameter,
                                       .share = together[order[j]]};
            importance->parameters[pair.a].shared += pair.share;
            importance->parameters[pair.b].shared += pair.share;
            if (pair.share >= PAIR_MIN) {
                keep_pair(importance, &pair);
            }
        }
    }
    return AK_OK;
}

/* Sorts the parameters, most important first, and renumbers the pairs. */
static ak_status sort_parameters(ak_importance *importance, ak_error *err)
{
    size_t count = importance->parameter_count, order[AK_PARAMETERS_MAX], place[AK_PARAMETERS_MAX];
    double shared[AK_PARAMETERS_MAX];
    ak_importance_parameter *sorted;
    AK_DO(AK_NEW(sorted, count, err));
    for (size_t i = 0; i < count; i++) {
        shared[i] = importance->parameters[i].shared;
    }
    by_effect(order, shared, count);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = importance->parameters[order[i]];
        place[order[i]] = i;
    }
    for (size_t i = 0; i < importance->pair_count; i++) {
        importance->pairs[i].a = place[importance->pairs[i].a];
        importance->pairs[i].b = place[importance->pairs[i].b];
    }
    ak_free(importance->parameters);
    importance->parameters = sorted;
    return AK_OK;
}

static ak_status find_regions(ak_importance *importance, const table *t, ak_error *err)
{
    ak_region_data data = {.parameters = importance->parameters,
                           .features = &t->features,
                           .rows = t->rows,
                           .y = t->y,
                           .count = t->count};
    AK_DO(ak_region_find(&importance->best, &data, true, err));
    return ak_region_find(&importance->worst, &data, false, err);
}

static ak_status model(ak_importance *importance, const table *t, ak_error *err)
{
    ak_forest *forest = NULL;
    if (t->count < AK_IMPORTANCE_TRIALS_MIN) {
        importance->why = "not enough trials to tell";
        return AK_OK;
    }
    if (t->features.count == 0) {
        importance->why = "no parameter had two values";
        return AK_OK;
    }
    ak_status status = AK_OK;
    AK_TRY(learn(&forest, t, err));
    importance->r2 = ak_forest_out_of_bag(forest);
    if (!(importance->r2 >= AK_IMPORTANCE_R2_MIN)) {
        importance->why = "not enough trials to tell: a model of them predicts nothing";
        goto out;
    }
    AK_TRY(weigh(importance, t, forest, err));
    AK_TRY(find_regions(importance, t, err));
    AK_TRY(sort_parameters(importance, err));
out:
    ak_forest_free(forest);
    return status;
}

ak_status ak_importance_of(ak_importance *out, const ak_trial *trials, size_t count, ak_error *err)
{
    ak_importance importance = {.r2 = (double)NAN};
    reader r = {.trials = trials, .count = count, .importance = &importance};
    table t = {0};
    r.usable = ak_alloc(count, sizeof *r.usable);
    ak_status status = AK_OK;
    AK_TRY(r.usable == NULL ? ak_fail_memory(err) : read_all(&r, err));
    AK_TRY(make_table(&t, &r, err));
    AK_TRY(model(&importance, &t, err));
    *out = importance;
    importance = (ak_importance){0};
out:
    table_free(&t);
    for (size_t i = 0; r.texts != NULL && i < count * r.columns; i++) {
        ak_free(r.texts[i]);
    }
    ak_free((void *)r.texts);
    ak_free(r.level);
    ak_free(r.usable);
    ak_importance_clear(&importance);
    return status;
}

void ak_importance_clear(ak_importance *importance)
{
    for (size_t i = 0; i < importance->parameter_count; i++) {
        ak_importance_parameter *p = &importance->parameters[i];
        for (size_t v = 0; v < p->value_count; v++) {
            ak_free(p->values[v].text);
        }
        ak_free(p->values);
        ak_free(p->name);
    }
    ak_free(importance->parameters);
    ak_free(importance->best.text);
    ak_free(importance->worst.text);
    *importance = (ak_importance){0};
}
