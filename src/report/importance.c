/* importance.c: see importance.h. The matrix of the trials becomes one of levels: the indices of
   the values that occur for each parameter, in order. Neither the kernel nor its space is needed,
   so imported trials of unknown kernels can be analysed too. */
#include "report/importance.h"

#include <math.h>
#include <stdlib.h>

#include "archive/field.h"
#include "base/number.h"
#include "model/forest.h"
#include "report/matrix.h"

/* With this many trees, the seed does not change the second digit of the results. */
#define TREES 64
/* If there are more trials, every nth is used, because more take longer and make the shares no
   better. */
#define LEARNED_MAX 2000
/* Only pairs with one of this many parameters, those with the greatest effects, are considered. So
   a pair may be missed if neither of its parameters has an effect alone. */
#define PARTNERS_MAX 12
/* A weaker interaction is not reported. */
#define PAIR_MIN 0.005

typedef struct reader {
    ak_importance *importance;
    ak_matrix matrix; /* of the trials; add_parameter() makes levels of its cells */
    bool *usable;     /* true: the trial has the parameters of the first that can
                         be read */
    size_t columns[AK_PARAMETERS_MAX]; /* the column of each parameter in the matrix */
} reader;

static void reader_clear(reader *r)
{
    ak_matrix_clear(&r->matrix);
    ak_free(r->usable);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static uint16_t *cell(const reader *r, size_t trial, size_t column)
{
    return &r->matrix.rows[trial * r->matrix.column_count + column];
}

static bool number_of(double *out, const char *text)
{
    char *end;
    *out = ak_number_read(text, &end);
    return end != text && *end == 0 && isfinite(*out);
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

/* Adds a parameter with the values that usable trials have, sorted, and replaces the values in the
   column of the matrix by their levels. */
static ak_status add_parameter(reader *r, size_t column, ak_error *err)
{
    const ak_matrix_column *from = &r->matrix.columns[column];
    ak_importance_parameter *p = &r->importance->parameters[r->importance->parameter_count];
    AK_FREED uint16_t *level = NULL;
    r->columns[r->importance->parameter_count++] = column;
    AK_DO(ak_copy_text(&p->name, from->name, err));
    AK_DO(AK_NEW(p->values, from->count, err));
    AK_DO(AK_NEW(level, from->count, err));
    for (size_t i = 0; i < r->matrix.count; i++) {
        if (r->usable[i]) {
            ak_importance_value *value = &p->values[*cell(r, i, column)];
            value->tried++;
            value->ok += r->matrix.trials[i].status == AK_TRIAL_OK ? 1 : 0;
        }
    }
    for (size_t v = 0; v < from->count; v++) {
        if (p->values[v].tried > 0) {
            ak_importance_value *value = &p->values[p->value_count];
            *value = p->values[v];
            AK_DO(ak_copy_text(&value->text, from->values[v], err));
            p->value_count++;
        }
    }
    qsort(p->values, p->value_count, sizeof *p->values, by_value);
    for (size_t v = 0; v < from->count; v++) {
        const ak_importance_value key = {.text = from->values[v]};
        const ak_importance_value *found =
            bsearch(&key, p->values, p->value_count, sizeof key, by_value);
        level[v] = (uint16_t)(found == NULL ? 0 : found - p->values);
    }
    for (size_t i = 0; i < r->matrix.count; i++) {
        *cell(r, i, column) = r->usable[i] ? level[*cell(r, i, column)] : AK_MATRIX_NONE;
    }
    return AK_OK;
}

/* Returns how many parameters a trial has and, in *same, whether `first` has the same ones. */
static size_t parameters_of(bool *same, const reader *r, size_t trial, size_t first)
{
    size_t count = 0;
    *same = true;
    for (size_t c = 0; c < r->matrix.column_count; c++) {
        bool has = *cell(r, trial, c) != AK_MATRIX_NONE;
        count += has ? 1 : 0;
        *same = *same && has == (*cell(r, first, c) != AK_MATRIX_NONE);
    }
    return count;
}

/* Takes the parameters of the first configuration that can be read and has at most
   AK_PARAMETERS_MAX of them, and finds the later trials that have the same parameters. */
static ak_status read_all(reader *r, const ak_trial *trials, size_t count, ak_error *err)
{
    size_t first = 0, width = 0;
    bool same;
    AK_DO(ak_matrix_of(&r->matrix, trials, count, err));
    AK_DO(AK_NEW(r->usable, count, err));
    for (size_t i = 0; i < count; i++) {
        size_t has = parameters_of(&same, r, i, first);
        if (width == 0 && has > 0 && has <= AK_PARAMETERS_MAX) {
            first = i;
            width = has;
            same = true;
        }
        r->usable[i] = width > 0 && same;
        r->importance->left_out += r->usable[i] ? 0 : 1; /* it has other parameters, or cannot be
                                                            read */
    }
    AK_DO(AK_NEW(r->importance->parameters, width, err));
    for (size_t c = 0; width > 0 && c < r->matrix.column_count; c++) {
        if (*cell(r, first, c) != AK_MATRIX_NONE) {
            AK_DO(add_parameter(r, c, err));
        }
    }
    return AK_OK;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Computes the logarithm of each trial's time, or cost under another objective, less the mean of
   the logarithms of its task. */
static ak_status centre(double *y, size_t *tasks_seen, const ak_trial *const *trials, size_t count,
                        ak_error *err)
{
    AK_AT_END(ak_map_free_at) ak_map *tasks = ak_map_new();
    AK_FREED size_t *task = ak_alloc(count, sizeof *task),
                    *members = ak_alloc(count, sizeof *members);
    AK_FREED double *sum = ak_alloc(count, sizeof *sum);
    AK_DO(ak_stored(tasks != NULL && task != NULL && members != NULL && sum != NULL, err));
    for (size_t i = 0; i < count; i++) {
        AK_DO(ak_trial_task_number(&task[i], tasks, trials[i], trials[i]->environment, err));
        y[i] = log(ak_trial_cost(trials[i]));
        sum[task[i]] += y[i];
        members[task[i]]++;
    }
    for (size_t i = 0; i < count; i++) {
        y[i] -= sum[task[i]] / (double)members[task[i]];
    }
    *tasks_seen = ak_map_count(tasks);
    return AK_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The successful trials that could be read, in the form that the forest takes. */
typedef struct table {
    const ak_trial **trials;
    uint16_t *rows; /* [trial][feature] */
    double *y;
    size_t count;
    ak_features features; /* has no levels of values, because `rows` holds levels already */
} table;

static void table_clear(table *t)
{
    AK_FREE_ALL((void *)t->trials, t->rows, t->y);
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
    const size_t count = r->matrix.count, parameters = r->importance->parameter_count;
    AK_DO(AK_NEW(out->trials, count, err));
    AK_DO(AK_NEW(out->rows, count * parameters, err));
    AK_DO(AK_NEW(out->y, count, err));
    for (size_t c = 0; c < parameters; c++) {
        const ak_importance_parameter *p = &r->importance->parameters[c];
        if (p->value_count > 1) {
            out->features.column[out->features.count++] =
                (ak_column){.parameter = c, .levels = p->value_count, .ordered = ordered(p)};
        }
    }
    size_t columns = out->features.count;
    for (size_t i = 0; i < count; i++) {
        const ak_trial *trial = &r->matrix.trials[i];
        if (!r->usable[i] || trial->status != AK_TRIAL_OK || !(trial->median_ms > 0)) {
            continue;
        }
        for (size_t f = 0; f < columns; f++) {
            out->rows[out->count * columns + f] =
                *cell(r, i, r->columns[out->features.column[f].parameter]);
        }
        out->trials[out->count++] = trial;
    }
    r->importance->trials = out->count;
    ak_status status = centre(out->y, &r->importance->tasks, out->trials, out->count, err);
    thin(out);
    r->importance->learned = out->count;
    return status;
}

/* Fills `order` with the indices 0 to count - 1 in the order of falling effect. */
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
    AK_AT_END(ak_forest_free_at) ak_forest *forest = NULL;
    if (t->count < AK_IMPORTANCE_TRIALS_MIN) {
        importance->why = "not enough trials to tell";
        return AK_OK;
    }
    if (t->features.count == 0) {
        importance->why = "no parameter had two values";
        return AK_OK;
    }
    ak_forest_options options = AK_FOREST_DEFAULT;
    options.trees = TREES;
    ak_forest_data data = {.features = &t->features, .rows = t->rows, .y = t->y, .count = t->count};
    AK_DO(ak_forest_fit(&forest, &data, &options, err));
    importance->r2 = ak_forest_out_of_bag(forest);
    if (!(importance->r2 >= AK_IMPORTANCE_R2_MIN)) {
        importance->why = "not enough trials to tell: a model of them predicts nothing";
        return AK_OK;
    }
    AK_DO(weigh(importance, t, forest, err));
    AK_DO(find_regions(importance, t, err));
    return sort_parameters(importance, err);
}

ak_status ak_importance_of(ak_importance *out, const ak_trial *trials, size_t count, ak_error *err)
{
    AK_AT_END(ak_importance_clear) ak_importance importance = {.r2 = (double)NAN};
    AK_AT_END(reader_clear) reader r = {.importance = &importance};
    AK_AT_END(table_clear) table t = {0};
    AK_DO(read_all(&r, trials, count, err));
    AK_DO(make_table(&t, &r, err));
    AK_DO(model(&importance, &t, err));
    AK_GIVE(out, importance);
    return AK_OK;
}

void ak_importance_clear(ak_importance *importance)
{
    for (size_t i = 0; i < importance->parameter_count; i++) {
        ak_importance_parameter *p = &importance->parameters[i];
        for (size_t v = 0; v < p->value_count; v++) {
            ak_free(p->values[v].text);
        }
        AK_FREE_ALL(p->values, p->name);
    }
    AK_FREE_ALL(importance->parameters, importance->best.text, importance->worst.text);
    *importance = (ak_importance){0};
}
