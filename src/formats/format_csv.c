/*
 * format_csv.c: writes and reads one row per trial (RFC 4180), for spreadsheets and data frames.
 *
 * The first six columns are the usual ones (timestamp, name, ms, tflops, status, config). All other
 * fields of a trial follow, so that a file can be read back, except for the figures of finishes and
 * the control characters in texts (csv.h). On import the header names the columns, in any order;
 * name, config and status must be among them.
 */
#include "formats/format.h"

#include <limits.h>
#include <math.h>

#include "base/alloc.h"
#include "base/csv.h"
#include "base/utf8.h"

/* Limits of a file. A cell has room for all samples of a trial, which take up to 25 bytes each. */
#define COLUMNS_MAX    128
#define CELL_BYTES_MAX (2u << 20)

/* Columns are numbered as the fields are; the id follows them. */
enum { ID_COLUMN = AK_FIELD_COUNT, COLUMN_COUNT };

static const char *column_name(int column)
{
    if (column == ID_COLUMN) {
        return "id";
    }
    return ak_fields[column].offset == offsetof(ak_trial, kernel) ? "name" : ak_fields[column].name;
}

static int column_find(const char *name)
{
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (strcmp(column_name(i), name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Sets the order of the columns: the usual six first, then the id and the other fields. */
static void column_order(int order[COLUMN_COUNT])
{
    static const char *const usual[] = {"timestamp", "name", "ms", "tflops", "status", "config"};
    bool taken[COLUMN_COUNT] = {false};
    int count = 0;
    for (size_t i = 0; i < AK_COUNT(usual); i++) {
        order[count] = column_find(usual[i]);
        taken[order[count++]] = true;
    }
    order[count++] = ID_COLUMN;
    taken[ID_COLUMN] = true;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (!taken[i]) {
            order[count++] = i;
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_samples(ak_buf *out, const ak_trial *trial)
{
    for (size_t i = 0; i < trial->sample_count; i++) {
        if (i > 0) {
            ak_buf_putc(out, ' ');
        }
        ak_buf_real(out, trial->samples_ms[i]);
    }
}

static ak_status put_field(ak_buf *out, const ak_trial *trial, const ak_field *field, ak_error *err)
{
    json_auto_t *value = ak_field_json(trial, field);
    const char *text = json_string_value(value);
    AK_DO(ak_made(value, err));
    if (field->kind == AK_FIELD_SAMPLES) {
        put_samples(out, trial);
    } else if (field->offset == offsetof(ak_trial, config) && ak_or_empty(text)[0] == 0) {
        ak_buf_puts(out, "\"\""); /* an empty configuration is known, not missing */
    } else if (text != NULL) {
        ak_csv_text(out, text);
    } else if (json_is_integer(value)) {
        ak_buf_print(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        /* the ends of an interval for which the trial has too few samples stay empty */
        if (!ak_field_is_interval(field) || ak_trial_few_samples(trial) == 0) {
            ak_buf_real(out, json_real_value(value));
        }
    } else if (field->kind == AK_FIELD_UNBOUNDED) {
        ak_buf_puts(out, "inf");
    }
    return AK_OK;
}

static ak_status write_row(void *context, const ak_trial *trial, ak_error *err)
{
    ak_buf *out = context;
    int order[COLUMN_COUNT];
    column_order(order);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (i > 0) {
            ak_buf_putc(out, ',');
        }
        if (order[i] != ID_COLUMN) {
            AK_DO(put_field(out, trial, &ak_fields[order[i]], err));
        } else if (trial->id != 0) {
            ak_buf_print(out, "%lld", (long long)trial->id);
        }
    }
    ak_buf_putc(out, '\n');
    return ak_buf_status(out, err);
}

static ak_status write_csv(ak_buf *out, ak_archive *archive, const ak_archive_filter *filter,
                           ak_error *err)
{
    int order[COLUMN_COUNT];
    column_order(order);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        ak_buf_print(out, "%s%s", i == 0 ? "" : ",", column_name(order[i]));
    }
    ak_buf_putc(out, '\n');
    return ak_archive_take(archive, filter, write_row, out, err);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct csv_reader {
    const char *at; /* the rest of the text, whose only zero byte is at its end */
    size_t line;    /* the line that `at` is in */
    const char *path;
    bool row_ended;
    bool quoted; /* whether the last cell was quoted */
    ak_buf cell;
} csv_reader;

static void line_break(csv_reader *csv)
{
    csv->at += csv->at[0] == '\r' && csv->at[1] == '\n' ? 2 : 1;
    csv->line++;
}

static bool at_break(const csv_reader *csv)
{
    return *csv->at == '\n' || *csv->at == '\r';
}

static ak_status read_quoted(csv_reader *csv, ak_error *err)
{
    size_t start = csv->line;
    for (csv->at++; csv->at[0] != '"' || csv->at[1] == '"'; csv->at++) {
        AK_FAIL_IF(*csv->at == 0, err, AK_INVALID, "%s:%zu: a quote is not closed", csv->path,
                   start);
        csv->line += *csv->at == '\n' ? 1 : 0;
        ak_buf_putc(&csv->cell, *csv->at);
        csv->at += *csv->at == '"' ? 1 : 0;
    }
    csv->at++;
    AK_FAIL_IF(*csv->at != ',' && *csv->at != 0 && !at_break(csv), err, AK_INVALID,
               "%s:%zu: there is text after a closing quote", csv->path, csv->line);
    return AK_OK;
}

/* Reads a cell into csv->cell and skips the comma or line break behind it. */
static ak_status read_cell(csv_reader *csv, ak_error *err)
{
    ak_status status = AK_OK;
    size_t line = csv->line;
    ak_buf_clear(&csv->cell);
    csv->quoted = *csv->at == '"';
    if (csv->quoted) {
        status = read_quoted(csv, err);
    } else {
        size_t length = strcspn(csv->at, ",\r\n");
        ak_buf_append(&csv->cell, csv->at, length);
        csv->at += length;
    }
    if (status == AK_OK && csv->cell.failed == AK_LIMIT) {
        status = ak_fail(err, AK_LIMIT, "%s:%zu: a cell is larger than %u bytes", csv->path, line,
                         CELL_BYTES_MAX);
    } else if (status == AK_OK) {
        status = ak_buf_status(&csv->cell, err);
    }
    csv->row_ended = *csv->at != ',';
    if (*csv->at == ',') {
        csv->at++;
    } else if (*csv->at != 0) {
        line_break(csv);
    }
    return status;
}

/* Refuses a cell that could not be read as its type, which `type` names. */
static ak_status check_cell(bool good, const char *where, int column, const char *type,
                            const char *cell, ak_error *err)
{
    AK_FAIL_IF(!good, err, AK_INVALID, "%s: column \"%s\" must be %s, not \"%.60s\"", where,
               column_name(column), type, cell);
    return AK_OK;
}

static ak_status get_samples(ak_trial *trial, char *cell, const char *where, int column,
                             ak_error *err)
{
    size_t capacity = 0;
    for (char *p = cell; *p != 0;) {
        char *end = p + strcspn(p, " ");
        bool last = *end == 0;
        double value = 0;
        *end = 0;
        AK_DO(check_cell(ak_text_real(&value, p), where, column, "numbers with blanks between them",
                         p, err));
        AK_FAIL_IF(trial->sample_count == AK_TRIAL_SAMPLES_MAX, err, AK_LIMIT,
                   "%s: more than %d samples", where, AK_TRIAL_SAMPLES_MAX);
        AK_DO(AK_GROW(trial->samples_ms, &capacity, trial->sample_count + 1, err));
        trial->samples_ms[trial->sample_count++] = value;
        p = last ? end : end + 1;
    }
    return AK_OK;
}

/* Reads a cell into a field; only the configuration's cell may be empty. */
static ak_status get_field(ak_trial *trial, int column, char *cell, const char *where,
                           ak_error *err)
{
    int64_t integer;
    bool good;
    const ak_field *field = &ak_fields[column];
    switch (field->kind) {
    case AK_FIELD_TEXT:
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN:
        return ak_trial_set_text(ak_field_text(trial, field), ak_csv_read(cell), err);
    case AK_FIELD_INT:
        good = ak_text_int(&integer, cell) && integer >= 0 && integer <= INT_MAX;
        AK_DO(check_cell(good, where, column, "an integer from 0 to 2147483647", cell, err));
        *ak_field_int(trial, field) = (int)integer;
        return AK_OK;
    case AK_FIELD_LONG:
    case AK_FIELD_LINK:
        good = ak_text_int(ak_field_long(trial, field), cell);
        return check_cell(good, where, column, "an integer", cell, err);
    case AK_FIELD_UNBOUNDED:
        if (strcmp(cell, "inf") == 0) {
            *ak_field_real(trial, field) = (double)INFINITY;
            return AK_OK;
        }
        __attribute__((fallthrough));
    case AK_FIELD_REAL:
    case AK_FIELD_MEASURED:
        good = ak_text_real(ak_field_real(trial, field), cell);
        return check_cell(good, where, column, "a number", cell, err);
    case AK_FIELD_STATUS:
        good = ak_trial_status_parse(&trial->status, cell);
        return check_cell(good, where, column, "a status (ok, compile_error, ...)", cell, err);
    case AK_FIELD_SAMPLES:
        return get_samples(trial, cell, where, column, err);
    }
    return AK_INTERNAL;
}

static ak_status get_cell(ak_trial *trial, int column, char *cell, const char *where, ak_error *err)
{
    if (column == ID_COLUMN) {
        const bool good = cell[0] == 0 || (ak_text_int(&trial->id, cell) && trial->id >= 0);
        return check_cell(good, where, column, "an integer", cell, err);
    }
    /* A configuration without parameters is an empty text (see read_row). In all other columns
       empty means unknown. */
    if (cell[0] == 0 && ak_fields[column].offset != offsetof(ak_trial, config)) {
        return AK_OK;
    }
    return get_field(trial, column, cell, where, err);
}

/* Reads the header. columns[i] becomes the number, as column_name takes it, of the file's column
   i. */
static ak_status read_header(int *columns, size_t *count, csv_reader *csv, ak_error *err)
{
    const char *names[COLUMN_COUNT + 1] = {NULL};
    bool seen[COLUMN_COUNT] = {false};
    for (int i = 0; i < COLUMN_COUNT; i++) {
        names[i] = column_name(i);
    }
    csv->at += ak_utf8_mark(csv->at);
    *count = 0;
    do {
        AK_DO(read_cell(csv, err));
        const char *name = csv->cell.data;
        int column = column_find(name);
        if (column < 0) {
            const char *near = ak_text_nearest(name, names);
            return ak_fail(err, AK_INVALID, "%s:1: unknown column \"%.60s\"%s%s%s", csv->path, name,
                           near == NULL ? "; the first line of a CSV of trials names columns, such "
                                          "as name,config,ms,status"
                                        : "; did you mean \"",
                           ak_or_empty(near), near == NULL ? "" : "\"?");
        }
        AK_FAIL_IF(seen[column] || *count == COLUMNS_MAX, err, AK_INVALID,
                   "%s:1: column \"%s\" occurs twice", csv->path, name);
        seen[column] = true;
        columns[(*count)++] = column;
    } while (!csv->row_ended);
    static const char *const needed[] = {"name", "config", "status"};
    for (size_t i = 0; i < AK_COUNT(needed); i++) {
        AK_FAIL_IF(!seen[column_find(needed[i])], err, AK_INVALID, "%s:1: column \"%s\" is missing",
                   csv->path, needed[i]);
    }
    return AK_OK;
}

static ak_status read_row(ak_trial *trial, csv_reader *csv, const int *columns, size_t count,
                          const char *where, ak_error *err)
{
    bool has_status = false, has_config = false;
    for (size_t i = 0; i < count; i++) {
        AK_DO(read_cell(csv, err));
        AK_FAIL_IF(csv->row_ended != (i + 1 == count), err, AK_INVALID,
                   "%s: the row has %s cells than the header", where,
                   csv->row_ended ? "fewer" : "more");
        has_status = has_status || (columns[i] == column_find("status") && csv->cell.length > 0);
        has_config = has_config ||
                     (columns[i] == column_find("config") && (csv->cell.length > 0 || csv->quoted));
        AK_DO(get_cell(trial, columns[i], csv->cell.data, where, err));
    }
    AK_FAIL_IF(!has_status, err, AK_INVALID, "%s: column \"status\" is empty", where);
    AK_FAIL_IF(trial->status == AK_TRIAL_OK && !has_config, err, AK_INVALID,
               "%s: the status is ok, but \"config\" is empty; write \"\" if the kernel "
               "has no parameters",
               where);
    return AK_OK;
}

static ak_status read_csv(ak_import *import, const char *text, size_t length, const char *path,
                          ak_error *err)
{
    (void)length;
    int columns[COLUMNS_MAX];
    size_t count;
    csv_reader csv = {.at = text, .line = 1, .path = path, .cell = AK_BUF(CELL_BYTES_MAX)};
    ak_status status = read_header(columns, &count, &csv, err);
    while (status == AK_OK && *csv.at != 0) {
        if (at_break(&csv)) {
            line_break(&csv); /* an empty line */
            continue;
        }
        char where[512];
        AK_AT_END(ak_trial_clear) ak_trial trial = {0};
        (void)snprintf(where, sizeof where, "%.400s:%zu", path, csv.line);
        status = read_row(&trial, &csv, columns, count, where, err);
        if (status == AK_OK) {
            status = ak_import_add(import, &trial, where, err);
        }
    }
    ak_buf_free(&csv.cell);
    return status;
}

const ak_format_ops ak_format_csv = {
    .name = "csv",
    .description = "one row per trial: timestamp, name, ms, tflops, status, config, and the rest",
    .write = write_csv,
    .read = read_csv,
};
