/*
 * impact.c: see impact.h. Trials become rows of levels: the values that were seen of each
 * parameter, in order. Neither the kernel nor its space is needed, so that imported trials of
 * kernels that are not here can be looked at too.
 */
#include "report/impact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/map.h"
#include "model/forest.h"
#include "report/region.h"

/* Enough that their mean does not depend on the seed in the second digit. */
#define TREES 64
/* Of more trials every nth is looked at: shares do not get better, only slower. */
#define LEARNED_MAX 2000
/* Pairs are looked for among the parameters with the greatest effects; a pair of parameters that do
   nothing by themselves is found if one of them is among these. */
#define PARTNERS_MAX 12
/* Cells of a pair that is looked at: 64 * 64, beyond which parameters are not tuned but counted. */
#define CELLS_MAX 4096
/* Weaker interactions are not worth a line. */
#define PAIR_MIN 0.005

typedef struct reader {
    const ak_trial *trials;
    size_t count;
    ak_impact *impact;
    bool *usable;    /* has the parameters of the first one */
    char **texts;    /* [trial][parameter]; owned */
    uint16_t *level; /* [trial][parameter] */
    size_t columns;
} reader;

/* ---- reading ----------------------------------------------------------------------------------
 */

static ak_status value_text(char **out, const json_t *value, ak_error *err)
{
    ak_buf text = AK_BUF(1u << 16);
    if (json_is_string(value)) {
        ak_buf_puts(&text, json_string_value(value));
    } else {
        ak_json_print(&text, value, false);
    }
    return ak_buf_take(out, &text, err);
}

static ak_status add_parameter(ak_impact *impact, const char *name, ak_error *err)
{
    impact->parameters[impact->parameter_count].name = ak_strdup(name);
    if (impact->parameters[impact->parameter_count].name == NULL) {
        return ak_fail_memory(err);
    }
    impact->parameter_count++;
    return AK_OK;
}

/* The parameters are those of the first configuration that can be read. */
static ak_status begin_parameters(reader *r, const json_t *config, ak_error *err)
{
    size_t count = json_object_size(config);
    const char *name;
    json_t *value;
    ak_status status = AK_OK;
    if (count > AK_PARAMETERS_MAX) {
        return AK_OK;
    }
    r->impact->parameters = ak_alloc(count, sizeof *r->impact->parameters);
    r->texts = ak_alloc(r->count * count, sizeof *r->texts);
    r->level = ak_alloc(r->count * count, sizeof *r->level);
    if (r->impact->parameters == NULL || r->texts == NULL || r->level == NULL) {
        return ak_fail_memory(err);
    }
    r->columns = count;
    json_object_foreach((json_t *)(uintptr_t)config, name, value)
    {
        status = status == AK_OK ? add_parameter(r->impact, name, err) : status;
    }
    return status;
}

static ak_status read_trial(reader *r, size_t at, ak_error *err)
{
    json_t *config = NULL;
    const char *text = r->trials[at].config;
    ak_status status = ak_config_text_to_json(&config, text == NULL ? "" : text, "trial", NULL);
    if (status != AK_OK || json_object_size(config) == 0) {
        json_decref(config);
        r->impact->left_out++; /* of a foreign file */
        return status == AK_NO_MEMORY ? ak_fail_memory(err) : AK_OK;
    }
    status = r->columns == 0 ? begin_parameters(r, config, err) : AK_OK;
    bool same = r->columns > 0 && json_object_size(config) == r->columns;
    for (size_t c = 0; c < r->columns && same && status == AK_OK; c++) {
        const json_t *value = json_object_get(config, r->impact->parameters[c].name);
        same = value != NULL;
        if (same) {
            status = value_text(&r->texts[at * r->columns + c], value, err);
        }
    }
    r->usable[at] = same;
    r->impact->left_out += same ? 0 : 1;
    json_decref(config);
    return status;
}

/* ---- levels -----------------------------------------------------------------------------------
 */

static bool number_of(double *out, const char *text)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == 0;
}

static int by_value(const void *a, const void *b)
{
    const ak_impact_value *x = a, *y = b;
    double p, q;
    bool first = number_of(&p, x->text), second = number_of(&q, y->text);
    if (first && second && p != q) {
        return p < q ? -1 : 1;
    }
    return first != second ? (first ? -1 : 1) : strcmp(x->text, y->text);
}

static ak_status count_values(reader *r, size_t c, ak_map *known, ak_error *err)
{
    ak_impact_parameter *parameter = &r->impact->parameters[c];
    size_t capacity = 0;
    ak_status status = AK_OK;
    for (size_t i = 0; i < r->count && status == AK_OK; i++) {
        const char *text = r->texts[i * r->columns + c];
        size_t at;
        if (!r->usable[i] || ak_map_get(&at, known, text)) {
            continue;
        }
        void *values = parameter->values;
        status =
            ak_grow(&values, &capacity, parameter->value_count + 1, sizeof(ak_impact_value), err);
        parameter->values = values;
        if (status == AK_OK) {
            ak_impact_value *fresh = &parameter->values[parameter->value_count];
            *fresh = (ak_impact_value){.text = ak_strdup(text)};
            status = fresh->text == NULL ? ak_fail_memory(err)
                                         : ak_map_put(known, text, parameter->value_count, err);
            parameter->value_count += fresh->text == NULL ? 0 : 1;
        }
        if (status == AK_OK && parameter->value_count >= UINT16_MAX) {
            status = ak_fail(err, AK_LIMIT, "parameter %s has more than %d values", parameter->name,
                             UINT16_MAX - 1);
        }
    }
    if (status != AK_OK || parameter->value_count == 0) {
        return status;
    }
    qsort(parameter->values, parameter->value_count, sizeof *parameter->values, by_value);
    for (size_t v = 0; v < parameter->value_count && status == AK_OK; v++) {
        status = ak_map_put(known, parameter->values[v].text, v, err);
    }
    for (size_t i = 0; i < r->count && status == AK_OK; i++) {
        size_t at = 0;
        if (r->usable[i] && ak_map_get(&at, known, r->texts[i * r->columns + c])) {
            r->level[i * r->columns + c] = (uint16_t)at;
            parameter->values[at].tried++;
            parameter->values[at].ok += r->trials[i].status == AK_TRIAL_OK ? 1 : 0;
        }
    }
    return status;
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

/* ---- times ------------------------------------------------------------------------------------
 */

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static ak_status task_of(size_t *out, ak_map *tasks, const ak_trial *t, ak_error *err)
{
    ak_buf key = AK_BUF(1u << 18);
    ak_buf_print(&key, "%s\n%s\n%s\n%s\n%s\n%s\n%s", or_empty(t->kernel),
                 or_empty(t->implementation), or_empty(t->device), or_empty(t->size),
                 or_empty(t->dtype), or_empty(t->choices), or_empty(t->environment));
    ak_status status = ak_buf_status(&key, err);
    if (status == AK_OK && !ak_map_get(out, tasks, key.data)) {
        *out = ak_map_count(tasks);
        status = ak_map_put(tasks, key.data, *out, err);
    }
    ak_buf_free(&key);
    return status;
}

/* Logarithms of times, less the mean of the trial's task. */
static ak_status centre(double *y, size_t *tasks_seen, const ak_trial *const *trials, size_t count,
                        ak_error *err)
{
    ak_map *tasks = ak_map_new();
    size_t *task = ak_alloc(count, sizeof *task), *members = ak_alloc(count, sizeof *members);
    double *sum = ak_alloc(count, sizeof *sum);
    ak_status status = tasks == NULL || task == NULL || members == NULL || sum == NULL
                           ? ak_fail_memory(err)
                           : AK_OK;
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        status = task_of(&task[i], tasks, trials[i], err);
        if (status == AK_OK) {
            y[i] = log(trials[i]->median_ms);
            sum[task[i]] += y[i];
            members[task[i]]++;
        }
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        y[i] -= sum[task[i]] / (double)members[task[i]];
    }
    *tasks_seen = tasks == NULL ? 0 : ak_map_count(tasks);
    ak_map_free(tasks);
    ak_free(sum);
    ak_free(members);
    ak_free(task);
    return status;
}

/* ---- the model --------------------------------------------------------------------------------
 */

/* The successful trials that could be read, as the forest takes them. */
typedef struct table {
    const ak_trial **trials;
    uint16_t *rows; /* [trial][feature] */
    double *y;
    size_t count;
    ak_features features; /* levels of values are not used: rows hold levels already */
} table;

static void table_free(table *t)
{
    ak_free((void *)t->trials);
    ak_free(t->rows);
    ak_free(t->y);
}

static bool ordered(const ak_impact_parameter *parameter)
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
        const ak_impact_parameter *p = &r->impact->parameters[c];
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
    r->impact->trials = out->count;
    ak_status status = centre(out->y, &r->impact->tasks, out->trials, out->count, err);
    thin(out);
    r->impact->learned = out->count;
    return status;
}

static ak_status learn(ak_forest **out, const table *t, ak_error *err)
{
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.trees = TREES;
    ak_forest_data data = {.features = &t->features, .rows = t->rows, .y = t->y, .count = t->count};
    return ak_forest_fit(out, &data, &options, err);
}

/* Features by falling effect: `order` is sorted by insertion. */
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

static void keep_pair(ak_impact *impact, const ak_impact_pair *pair)
{
    size_t at =
        impact->pair_count < AK_IMPACT_PAIRS_MAX ? impact->pair_count++ : AK_IMPACT_PAIRS_MAX;
    for (; at > 0 && impact->pairs[at - 1].share < pair->share; at--) {
        if (at < AK_IMPACT_PAIRS_MAX) {
            impact->pairs[at] = impact->pairs[at - 1];
        }
    }
    if (at < AK_IMPACT_PAIRS_MAX) {
        impact->pairs[at] = *pair;
    }
}

static void weigh(ak_impact *impact, const table *t, const ak_forest *forest)
{
    double effect[AK_PARAMETERS_MAX];
    size_t order[AK_PARAMETERS_MAX], count = t->features.count;
    for (size_t f = 0; f < count; f++) {
        effect[f] = ak_forest_effect(forest, f);
        impact->parameters[t->features.column[f].parameter].share = effect[f];
        impact->parameters[t->features.column[f].parameter].shared = effect[f];
    }
    by_effect(order, effect, count);
    for (size_t i = 0; i < count && i < PARTNERS_MAX; i++) {
        for (size_t j = i + 1; j < count; j++) {
            const ak_column *a = &t->features.column[order[i]];
            const ak_column *b = &t->features.column[order[j]];
            if (a->levels * b->levels > CELLS_MAX) {
                continue;
            }
            ak_impact_pair pair = {.a = a->parameter, .b = b->parameter};
            pair.share = ak_forest_interaction(forest, order[i], order[j]);
            impact->parameters[pair.a].shared += pair.share;
            impact->parameters[pair.b].shared += pair.share;
            if (pair.share >= PAIR_MIN) {
                keep_pair(impact, &pair);
            }
        }
    }
}

/* The most important parameter first; the pairs follow. */
static ak_status sort_parameters(ak_impact *impact, ak_error *err)
{
    size_t count = impact->parameter_count, order[AK_PARAMETERS_MAX], place[AK_PARAMETERS_MAX];
    double shared[AK_PARAMETERS_MAX];
    ak_impact_parameter *sorted = ak_alloc(count, sizeof *sorted);
    if (sorted == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        shared[i] = impact->parameters[i].shared;
    }
    by_effect(order, shared, count);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = impact->parameters[order[i]];
        place[order[i]] = i;
    }
    for (size_t i = 0; i < impact->pair_count; i++) {
        impact->pairs[i].a = place[impact->pairs[i].a];
        impact->pairs[i].b = place[impact->pairs[i].b];
    }
    ak_free(impact->parameters);
    impact->parameters = sorted;
    return AK_OK;
}

static ak_status find_regions(ak_impact *impact, const table *t, ak_error *err)
{
    ak_region_data data = {.parameters = impact->parameters,
                           .features = &t->features,
                           .rows = t->rows,
                           .y = t->y,
                           .count = t->count};
    ak_status status = ak_region_find(&impact->best, &data, true, err);
    return status == AK_OK ? ak_region_find(&impact->worst, &data, false, err) : status;
}

static ak_status model(ak_impact *impact, const table *t, ak_error *err)
{
    ak_forest *forest = NULL;
    if (t->count < AK_IMPACT_TRIALS_MIN) {
        impact->why = "not enough trials to tell";
        return AK_OK;
    }
    if (t->features.count == 0) {
        impact->why = "no parameter had two values";
        return AK_OK;
    }
    ak_status status = learn(&forest, t, err);
    if (status != AK_OK) {
        return status;
    }
    impact->r2 = ak_forest_out_of_bag(forest);
    if (!(impact->r2 >= AK_IMPACT_R2_MIN)) {
        impact->why = "not enough trials to tell: a model of them predicts nothing";
    } else {
        weigh(impact, t, forest);
        status = find_regions(impact, t, err);
        status = status == AK_OK ? sort_parameters(impact, err) : status;
    }
    ak_forest_free(forest);
    return status;
}

ak_status ak_impact_of(ak_impact *out, const ak_trial *trials, size_t count, ak_error *err)
{
    ak_impact impact = {.r2 = (double)NAN};
    reader r = {.trials = trials, .count = count, .impact = &impact};
    table t = {0};
    r.usable = ak_alloc(count, sizeof *r.usable);
    ak_status status = r.usable == NULL ? ak_fail_memory(err) : read_all(&r, err);
    if (status == AK_OK) {
        status = make_table(&t, &r, err);
    }
    if (status == AK_OK) {
        status = model(&impact, &t, err);
    }
    table_free(&t);
    for (size_t i = 0; r.texts != NULL && i < count * r.columns; i++) {
        ak_free(r.texts[i]);
    }
    ak_free((void *)r.texts);
    ak_free(r.level);
    ak_free(r.usable);
    if (status != AK_OK) {
        ak_impact_clear(&impact);
        return status;
    }
    *out = impact;
    return AK_OK;
}

void ak_impact_clear(ak_impact *impact)
{
    for (size_t i = 0; i < impact->parameter_count; i++) {
        ak_impact_parameter *p = &impact->parameters[i];
        for (size_t v = 0; v < p->value_count; v++) {
            ak_free(p->values[v].text);
        }
        ak_free(p->values);
        ak_free(p->name);
    }
    ak_free(impact->parameters);
    ak_free(impact->best.text);
    ak_free(impact->worst.text);
    *impact = (ak_impact){0};
}
