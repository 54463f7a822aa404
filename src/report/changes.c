/* changes.c: see changes.h. Trials are sorted by the values of all parameters but one, so that
   trials that agree in them are neighbours. */
#include "report/changes.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "measure/verdict.h"
#include "report/outcome.h"

/* A successful trial, compared without the column `skip`. */
typedef struct view {
    const uint16_t *row;
    size_t width, skip;
    const ak_trial *trial;
} view;

static int without_column(const void *a, const void *b)
{
    const view *x = a, *y = b;
    for (size_t c = 0; c < x->width; c++) {
        if (c != x->skip && x->row[c] != y->row[c]) {
            return x->row[c] < y->row[c] ? -1 : 1;
        }
    }
    return 0;
}

bool ak_report_change_is_open(const ak_report_change *change)
{
    return change->pairs > 0 && change->least < 1 && change->greatest > 1 &&
           !ak_verdict_decides(change->least, change->greatest);
}

static int by_ratio(const void *a, const void *b)
{
    double x = ((const ak_outcome *)a)->cost, y = ((const ak_outcome *)b)->cost;
    return x < y ? -1 : x > y;
}

static void keep_fastest(const ak_trial **fastest, const ak_trial *trial)
{
    if (*fastest == NULL || ak_trial_cost(trial) < ak_trial_cost(*fastest)) {
        *fastest = trial;
    }
}

/* Returns the speed of the trial `to` relative to `from`, by the trials' own times or costs. */
static ak_outcome contrast_of(const ak_trial *from, const ak_trial *to)
{
    const ak_outcome start = ak_outcome_of(NULL, from), end = ak_outcome_of(NULL, to);
    return ak_outcome_speed(&start, &end);
}

/* Returns whether both trials share one measurement, because they have the same code. */
static bool is_same_code(const ak_trial *a, const ak_trial *b)
{
    return (a->same_code || b->same_code) && a->code_hash != NULL && b->code_hash != NULL &&
           strcmp(a->code_hash, b->code_hash) == 0 && a->median_ms == b->median_ms;
}

/* Finds the pairs among `count` views and returns their number; `pairs` has room for as many. The
   pairs whose trials have the same code are counted in *same_code. */
static size_t find_pairs(ak_outcome *pairs, size_t *same_code, view *views, size_t count,
                         uint16_t from, uint16_t to)
{
    size_t found = 0;
    *same_code = 0;
    qsort(views, count, sizeof *views, without_column);
    for (size_t i = 0, end; i < count; i = end) {
        const ak_trial *one = NULL, *other = NULL; /* the best trial of each of the two
                                                      configurations */
        for (end = i; end < count && without_column(&views[i], &views[end]) == 0; end++) {
            uint16_t value = views[end].row[views[end].skip];
            if (value == from) {
                keep_fastest(&one, views[end].trial);
            } else if (value == to) {
                keep_fastest(&other, views[end].trial);
            }
        }
        if (one != NULL && other != NULL) {
            const bool same = is_same_code(one, other);
            pairs[found++] = same ? (ak_outcome){.cost = 1, .low = 1, .high = 1, .ms = 1}
                                  : contrast_of(one, other);
            *same_code += same;
        }
    }
    return found;
}

static void weigh(ak_report_change *change, ak_outcome *pairs, size_t count)
{
    change->pairs = count;
    if (count == 0) {
        return;
    }
    qsort(pairs, count, sizeof *pairs, by_ratio);
    change->speed = (pairs[(count - 1) / 2].cost + pairs[count / 2].cost) / 2;
    change->least = pairs[0].low;
    change->greatest = pairs[0].high;
    for (size_t i = 1; i < count; i++) {
        change->least = pairs[i].low < change->least ? pairs[i].low : change->least;
        change->greatest = pairs[i].high > change->greatest ? pairs[i].high : change->greatest;
    }
}

static size_t view_trials(view *views, const ak_matrix *matrix, size_t skip)
{
    size_t count = 0, width = matrix->column_count;
    for (size_t i = 0; i < matrix->count; i++) {
        const ak_trial *trial = &matrix->trials[i];
        if (trial->status == AK_TRIAL_OK && trial->median_ms > 0) {
            views[count++] = (view){
                .row = &matrix->rows[i * width], .width = width, .skip = skip, .trial = trial};
        }
    }
    return count;
}

ak_status ak_changes_of(ak_report_change **out, size_t *count, const ak_matrix *matrix,
                        const char *from, const char *to, ak_error *err)
{
    const size_t columns = matrix->column_count;
    AK_FREED uint16_t *row_from = ak_alloc(columns, sizeof *row_from);
    AK_FREED uint16_t *row_to = ak_alloc(columns, sizeof *row_to);
    AK_FREED view *views = ak_alloc(matrix->count, sizeof *views);
    AK_FREED ak_outcome *pairs = ak_alloc(matrix->count, sizeof *pairs);
    AK_FREED ak_report_change *changes = ak_alloc(columns, sizeof *changes);
    size_t found = 0;
    bool lost = row_from == NULL || row_to == NULL || views == NULL || pairs == NULL;
    AK_DO(ak_stored(!lost && changes != NULL, err));
    AK_DO(ak_matrix_row(row_from, matrix, from, err));
    AK_DO(ak_matrix_row(row_to, matrix, to, err));
    for (size_t c = 0; c < columns; c++) {
        const ak_matrix_column *column = &matrix->columns[c];
        if (row_from[c] == row_to[c] || row_from[c] == AK_MATRIX_NONE ||
            row_to[c] == AK_MATRIX_NONE) {
            continue;
        }
        ak_report_change *change = &changes[found++];
        *change = (ak_report_change){.name = column->name,
                                     .from = column->values[row_from[c]],
                                     .to = column->values[row_to[c]]};
        size_t seen = view_trials(views, matrix, c);
        weigh(change, pairs,
              find_pairs(pairs, &change->same_code, views, seen, row_from[c], row_to[c]));
    }
    *out = changes;
    *count = found;
    changes = NULL;
    return AK_OK;
}
