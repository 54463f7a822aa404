/* matrix.c: see matrix.h. Columns are found while the trials are read. Pairs of column and value
   are kept first; they become rows when the number of columns is known. */
#include "report/matrix.h"

#include "archive/config_text.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/value_json.h"

#define VALUE_BYTES_MAX (64u << 10)

typedef struct pair {
    uint16_t column, value;
} pair;

typedef struct reader {
    ak_matrix *matrix;
    ak_map *names, *values; /* from "NAME", and from "COLUMN VALUE", to an index */
    pair *pairs;
    size_t pair_count, pair_capacity;
} reader;

/* Finds or adds a column. *at is its index; AK_MATRIX_NONE if there is no room for another. */
static ak_status find_column(size_t *at, reader *r, const char *name, ak_error *err)
{
    ak_matrix *m = r->matrix;
    if (ak_map_get(at, r->names, name)) {
        return AK_OK;
    }
    *at = AK_MATRIX_NONE;
    if (m->column_count == AK_MATRIX_COLUMNS_MAX) {
        return AK_OK;
    }
    AK_DO(AK_GROW(m->columns, &m->column_capacity, m->column_count + 1, err));
    ak_matrix_column *column = &m->columns[m->column_count];
    *column = (ak_matrix_column){.name = ak_strdup(name)};
    AK_DO(ak_made(column->name, err));
    *at = m->column_count++;
    return ak_map_put(r->names, name, *at, err);
}

static ak_status find_value(size_t *at, reader *r, size_t column, const json_t *value,
                            ak_error *err)
{
    ak_matrix_column *c = &r->matrix->columns[column];
    AK_AT_END(ak_buf_free) ak_buf key = AK_BUF(VALUE_BYTES_MAX);
    ak_buf_print(&key, "%zu ", column);
    size_t prefix = key.length;
    ak_value_print(&key, value);
    AK_DO(ak_buf_status(&key, err));
    if (ak_map_get(at, r->values, key.data)) {
        return AK_OK;
    }
    *at = AK_MATRIX_NONE;
    if (c->count == AK_MATRIX_NONE) {
        return AK_OK;
    }
    AK_DO(AK_GROW(c->values, &c->capacity, c->count + 1, err));
    AK_DO(ak_copy_text(&c->values[c->count], key.data + prefix, err));
    *at = c->count++;
    return ak_map_put(r->values, key.data, *at, err);
}

/* Adds the pairs of a configuration; adds none if it cannot be parsed. */
static ak_status read_config(reader *r, const char *config, ak_error *err)
{
    json_auto_t *object = NULL;
    ak_status status = ak_config_text_to_json(&object, config, "trial", err);
    if (status != AK_OK) {
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    AK_EACH_MEMBER(name, value, object) {
        size_t column, at = AK_MATRIX_NONE;
        AK_DO(find_column(&column, r, name, err));
        if (column == AK_MATRIX_NONE || r->matrix->columns == NULL) {
            continue;
        }
        AK_DO(find_value(&at, r, column, value, err));
        AK_DO(AK_GROW(r->pairs, &r->pair_capacity, r->pair_count + 1, err));
        r->pairs[r->pair_count++] = (pair){(uint16_t)column, (uint16_t)at};
    }
    return AK_OK;
}

/* Makes the rows from the pairs. `ends[i]` is where the pairs of trial i end. */
static ak_status make_rows(reader *r, const size_t *ends, size_t count, ak_error *err)
{
    ak_matrix *m = r->matrix;
    AK_DO(AK_NEW(m->rows, count * m->column_count, err));
    memset(m->rows, 0xff, count * m->column_count * sizeof *m->rows);
    size_t p = 0;
    for (size_t i = 0; i < count; i++) {
        for (; p < ends[i]; p++) {
            m->rows[i * m->column_count + r->pairs[p].column] = r->pairs[p].value;
        }
    }
    m->count = count;
    return AK_OK;
}

ak_status ak_matrix_of(ak_matrix *out, const ak_trial *trials, size_t count, ak_error *err)
{
    ak_status status = AK_OK;
    ak_matrix matrix = {.trials = trials};
    reader r = {.matrix = &matrix, .names = ak_map_new(), .values = ak_map_new()};
    size_t *ends = ak_alloc(count, sizeof *ends);
    AK_TRY(ak_stored(r.names != NULL && r.values != NULL && ends != NULL, err));
    for (size_t i = 0; i < count; i++) {
        if (trials[i].config != NULL) {
            AK_TRY(read_config(&r, trials[i].config, err));
        }
        ends[i] = r.pair_count;
    }
    AK_TRY(make_rows(&r, ends, count, err));
    AK_GIVE(out, matrix);
out:
    ak_matrix_clear(&matrix);
    AK_FREE_ALL(ends, r.pairs);
    ak_map_free(r.names);
    ak_map_free(r.values);
    return status;
}

void ak_matrix_clear(ak_matrix *matrix)
{
    for (size_t c = 0; c < matrix->column_count; c++) {
        AK_END_EACH(ak_free, matrix->columns[c].values, matrix->columns[c].count);
        AK_FREE_ALL((void *)matrix->columns[c].values, matrix->columns[c].name);
    }
    AK_FREE_ALL(matrix->columns, matrix->rows);
    *matrix = (ak_matrix){0};
}

ak_status ak_matrix_row(uint16_t *row, const ak_matrix *matrix, const char *config, ak_error *err)
{
    json_auto_t *object = NULL;
    ak_status status = ak_config_text_to_json(&object, config, "configuration", err);
    for (size_t c = 0; status == AK_OK && c < matrix->column_count; c++) {
        const ak_matrix_column *column = &matrix->columns[c];
        const json_t *value = json_object_get(object, column->name);
        row[c] = AK_MATRIX_NONE;
        if (value == NULL) {
            continue;
        }
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(VALUE_BYTES_MAX);
        ak_value_print(&text, value);
        status = ak_buf_status(&text, err);
        size_t at = AK_FIND_TEXT(column->values, column->count, text.data);
        row[c] = (uint16_t)(at < column->count ? at : AK_MATRIX_NONE);
    }
    return status;
}
