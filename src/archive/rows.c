/*
 * rows.c: runs and trials, into the archive and out of it.
 *
 * SQL texts are put together from constants only; every value is bound. Adding a trial is one
 * INSERT in a transaction of its own: with synchronous = FULL it is on the disk when the call
 * returns, at the price of one flush of the write-ahead log.
 */
#include "archive/archive.h"

#include <math.h>
#include <string.h>

#include "archive/field.h"
#include "archive/store.h"
#include "base/utf8.h"
#include "base/alloc.h"
#include "base/clock.h"

#define DOCUMENT_BYTES_MAX (4u << 20) /* options, results, environments: a few KiB each */

/* ---- runs -------------------------------------------------------------------------------------
 */

/* X(column, member): in the order of every statement on runs. */
#define RUN_MAP(X)                                                                                 \
    X(id, id)                                                                                      \
    X(started, started)                                                                            \
    X(ended, ended)                                                                                \
    X(kernel, kernel)                                                                              \
    X(implementation, implementation)                                                              \
    X(device, device)                                                                              \
    X(size, size)                                                                                  \
    X(dtype, dtype)                                                                                \
    X(choices, choices)                                                                            \
    X(strategy, strategy)                                                                          \
    X(environment, environment)                                                                    \
    X(options, options_json)                                                                       \
    X(result, result_json)

void ak_run_clear(ak_run *run)
{
    if (run == NULL) {
        return;
    }
#define CLEAR(column, member) ak_free(run->member);
    RUN_MAP(CLEAR)
#undef CLEAR
    ak_free(run->environment_json);
    *run = (ak_run){0};
}

static ak_status check_document(const char *text, const char *name, ak_error *err)
{
    if (text == NULL) {
        return AK_OK;
    }
    if (strnlen(text, DOCUMENT_BYTES_MAX + 1) > DOCUMENT_BYTES_MAX) {
        return ak_fail(err, AK_LIMIT, "run: %s is larger than %u bytes", name, DOCUMENT_BYTES_MAX);
    }
    json_t *value;
    ak_status status = ak_json_parse(&value, text, strlen(text), name, err);
    if (status == AK_OK) {
        json_decref(value);
    }
    return status;
}

static ak_status check_run(const ak_run *run, ak_error *err)
{
    if (run->id == NULL || run->id[0] == 0 || run->kernel == NULL || run->kernel[0] == 0) {
        return ak_fail(err, AK_INVALID, "run: the id or the kernel is missing");
    }
#define CHECK(column, member)                                                                      \
    if (run->member != NULL && !ak_utf8_valid(run->member)) {                                      \
        return ak_fail(err, AK_INVALID, "run: \"" #column "\" is not UTF-8 text");                 \
    }
    RUN_MAP(CHECK)
#undef CHECK
    ak_status status = check_document(run->options_json, "options", err);
    if (status == AK_OK) {
        status = check_document(run->result_json, "result", err);
    }
    return status == AK_OK ? check_document(run->environment_json, "environment", err) : status;
}

/* Runs a statement to its end and ends it. */
static ak_status finish(ak_archive *archive, sqlite3_stmt *statement, bool bound, ak_error *err)
{
    ak_status status = AK_OK;
    if (!bound) {
        status = ak_fail_memory(err);
    } else if (sqlite3_step(statement) != SQLITE_DONE) {
        status = ak_store_fault(archive, "cannot be written", err);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* Sees to it that the row which trials and runs refer to is there. */
static ak_status need_environment(ak_archive *archive, const char *hash, const char *words,
                                  ak_error *err)
{
    bool known =
        archive->environment != NULL && hash != NULL && strcmp(archive->environment, hash) == 0;
    if (hash == NULL || (known && words == NULL)) {
        return AK_OK;
    }
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    sqlite3_stmt *statement;
    ak_status status =
        ak_store_prepare(&statement, archive,
                         "INSERT INTO environments (hash, words, first_seen) VALUES (?1, ?2, ?3) "
                         "ON CONFLICT (hash) DO UPDATE SET words = excluded.words "
                         "WHERE words IS NULL AND excluded.words IS NOT NULL",
                         err);
    if (status != AK_OK) {
        return status;
    }
    bool bound = ak_store_bind_text(statement, 1, hash) &&
                 ak_store_bind_text(statement, 2, words) && ak_store_bind_text(statement, 3, now);
    status = finish(archive, statement, bound, err);
    return status == AK_OK ? ak_trial_set(&archive->environment, hash, err) : status;
}

static const char *or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static ak_status insert_run(ak_archive *archive, const ak_run *run, bool imported, ak_error *err)
{
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    sqlite3_stmt *statement;
    ak_status status = ak_store_prepare(
        &statement, archive,
        "INSERT INTO runs (id, started, ended, kernel, implementation, device, size, dtype, "
        "choices, strategy, environment, options, result, imported) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        err);
    if (status != AK_OK) {
        return status;
    }
    const char *const texts[] = {
        run->id,
        run->started == NULL ? now : run->started,
        run->ended,
        run->kernel,
        or_empty(run->implementation),
        or_empty(run->device),
        or_empty(run->size),
        or_empty(run->dtype),
        or_empty(run->choices),
        run->strategy,
        run->environment,
        run->options_json,
        run->result_json,
    };
    int count = (int)(sizeof texts / sizeof texts[0]);
    bool bound = sqlite3_bind_int(statement, count + 1, imported ? 1 : 0) == SQLITE_OK;
    for (int i = 0; i < count && bound; i++) {
        bound = ak_store_bind_text(statement, i + 1, texts[i]);
    }
    status = finish(archive, statement, bound, err);
    if (status == AK_INVALID) {
        return ak_fail(err, AK_INVALID, "%s: run %s is already in the archive", archive->path,
                       run->id);
    }
    return status;
}

ak_status ak_archive_add_run(ak_archive *archive, const ak_run *run, ak_error *err)
{
    ak_status status = check_run(run, err);
    if (status == AK_OK) {
        status = ak_store_begin(archive, err);
    }
    if (status != AK_OK) {
        return status;
    }
    status = need_environment(archive, run->environment, run->environment_json, err);
    if (status == AK_OK) {
        status = insert_run(archive, run, false, err);
    }
    if (status != AK_OK) {
        ak_store_rollback(archive);
        return status;
    }
    return ak_store_commit(archive, err);
}

ak_status ak_archive_end_run(ak_archive *archive, const char *id, const char *ended,
                             const char *result_json, ak_error *err)
{
    sqlite3_stmt *statement;
    ak_status status = check_document(result_json, "result", err);
    if (status == AK_OK) {
        status = ak_store_prepare(&statement, archive,
                                  "UPDATE runs SET ended = ?2, result = ?3 WHERE id = ?1", err);
    }
    if (status != AK_OK) {
        return status;
    }
    bool bound = ak_store_bind_text(statement, 1, id) && ak_store_bind_text(statement, 2, ended) &&
                 ak_store_bind_text(statement, 3, result_json);
    status = finish(archive, statement, bound, err);
    if (status == AK_OK && sqlite3_changes(archive->db) == 0) {
        status = ak_fail(err, AK_NOT_FOUND, "%s: has no run %s", archive->path, id);
    }
    return status;
}

#define SELECT_RUN                                                                                 \
    "SELECT r.id, started, ended, kernel, implementation, device, size, dtype, choices, "          \
    "strategy, environment, options, result, words, imported "                                     \
    "FROM runs AS r LEFT JOIN environments ON hash = environment "

/* Of the row at which the statement stands. */
static ak_status read_run(ak_run *out, sqlite3_stmt *statement, ak_error *err)
{
    ak_run run = {0};
    ak_status status = AK_OK;
    int column = 0;
#define READ(name, member)                                                                         \
    if (status == AK_OK) {                                                                         \
        status = ak_store_text(&run.member, statement, column++, err);                             \
    }
    RUN_MAP(READ)
    READ(words, environment_json)
#undef READ
    run.imported = status == AK_OK && sqlite3_column_int(statement, column) != 0;
    if (status != AK_OK) {
        ak_run_clear(&run);
        return status;
    }
    *out = run;
    return AK_OK;
}

ak_status ak_archive_get_run(ak_run *out, ak_archive *archive, const char *id, ak_error *err)
{
    sqlite3_stmt *statement;
    ak_status status = ak_store_prepare(&statement, archive,
                                        SELECT_RUN "WHERE ?1 IS NULL OR r.id = ?1 "
                                                   "ORDER BY imported, number DESC LIMIT 1",
                                        err);
    if (status == AK_OK && !ak_store_bind_text(statement, 1, id)) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        int code = sqlite3_step(statement);
        if (code == SQLITE_DONE) {
            status = id == NULL
                         ? ak_fail(err, AK_NOT_FOUND,
                                   "%s: holds no runs yet; make one with "
                                   "`autokernel tune KERNEL`",
                                   archive->path)
                         : ak_fail(err, AK_NOT_FOUND, "%s: has no run %s", archive->path, id);
        } else if (code != SQLITE_ROW) {
            status = ak_store_fault(archive, "cannot be read", err);
        }
    }
    status = status == AK_OK ? read_run(out, statement, err) : status;
    (void)sqlite3_finalize(statement);
    return status;
}

ak_status ak_archive_ended_run(bool *found, ak_run *out, ak_archive *archive, const ak_run *like,
                               ak_error *err)
{
    sqlite3_stmt *statement;
    const char *const texts[] = {like->kernel, like->implementation, like->size,
                                 like->dtype,  like->choices,        like->environment};
    ak_status status =
        ak_store_prepare(&statement, archive,
                         SELECT_RUN "WHERE kernel = ?1 AND implementation = ?2 AND size = ?3 AND "
                                    "dtype = ?4 AND choices = ?5 AND environment = ?6 AND ended IS "
                                    "NOT NULL AND result IS NOT NULL AND imported = 0 "
                                    "ORDER BY number DESC LIMIT 1",
                         err);
    *found = false;
    for (int i = 0; i < 6 && status == AK_OK; i++) {
        status = ak_store_bind_text(statement, i + 1, texts[i]) ? AK_OK : ak_fail_memory(err);
    }
    if (status == AK_OK) {
        int code = sqlite3_step(statement);
        *found = code == SQLITE_ROW;
        status = code == SQLITE_ROW    ? read_run(out, statement, err)
                 : code == SQLITE_DONE ? AK_OK
                                       : ak_store_fault(archive, "cannot be read", err);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

ak_status ak_archive_check_run(ak_archive *archive, const char *run, ak_error *err)
{
    ak_run found = {0};
    ak_status status = ak_archive_get_run(&found, archive, run, err);
    ak_run_clear(&found);
    return status;
}

ak_status ak_archive_environment(char **out, ak_archive *archive, const char *hash, ak_error *err)
{
    sqlite3_stmt *statement;
    char *words = NULL;
    ak_status status = ak_store_prepare(&statement, archive,
                                        "SELECT words FROM environments WHERE hash = ?1", err);
    if (status == AK_OK && !ak_store_bind_text(statement, 1, hash)) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        int code = sqlite3_step(statement);
        if (code == SQLITE_ROW) {
            status = ak_store_text(&words, statement, 0, err);
        } else if (code != SQLITE_DONE) {
            status = ak_store_fault(archive, "cannot be read", err);
        }
    }
    (void)sqlite3_finalize(statement);
    if (status == AK_OK) {
        *out = words;
    }
    return status;
}

/* ---- trials in --------------------------------------------------------------------------------
 */

/* Samples are kept as little-endian numbers, whatever the machine. On a little-endian one this is a
   copy, which the compiler sees. */
static void swap_samples(unsigned char *out, const unsigned char *in, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        for (size_t b = 0; b < 8; b++) {
            bits |= (uint64_t)in[8 * i + b] << (8 * b);
        }
        memcpy(out + 8 * i, &bits, 8);
    }
}

static bool bind_samples(sqlite3_stmt *statement, int position, const ak_trial *trial)
{
    if (trial->sample_count == 0) {
        return sqlite3_bind_null(statement, position) == SQLITE_OK;
    }
    size_t bytes = trial->sample_count * sizeof(double);
    unsigned char *blob = ak_alloc(bytes, 1);
    if (blob == NULL) {
        return false;
    }
    swap_samples(blob, (const unsigned char *)trial->samples_ms, trial->sample_count);
    bool bound =
        sqlite3_bind_blob64(statement, position, blob, bytes, SQLITE_TRANSIENT) == SQLITE_OK;
    ak_free(blob);
    return bound;
}

/* Foreign texts that are not UTF-8 are stored as a cleaned copy. */
static bool bind_foreign(sqlite3_stmt *statement, int position, const char *text)
{
    if (text == NULL || ak_utf8_valid(text)) {
        return ak_store_bind_text(statement, position, text);
    }
    char *clean = ak_utf8_clean(text);
    bool bound = clean != NULL &&
                 sqlite3_bind_text(statement, position, clean, -1, SQLITE_TRANSIENT) == SQLITE_OK;
    ak_free(clean);
    return bound;
}

static bool bind_field(sqlite3_stmt *statement, int position, const ak_trial *trial,
                       const ak_field *field)
{
    switch (field->kind) {
    case AK_FIELD_TEXT:
        return ak_store_bind_text(statement, position, or_empty(*ak_field_text(trial, field)));
    case AK_FIELD_NULLABLE:
        return ak_store_bind_text(statement, position, *ak_field_text(trial, field));
    case AK_FIELD_FOREIGN:
        return bind_foreign(statement, position, *ak_field_text(trial, field));
    case AK_FIELD_INT:
        return sqlite3_bind_int(statement, position, *ak_field_int(trial, field)) == SQLITE_OK;
    case AK_FIELD_LONG:
        return sqlite3_bind_int64(statement, position, *ak_field_long(trial, field)) == SQLITE_OK;
    case AK_FIELD_LINK: {
        int64_t id = *ak_field_long(trial, field);
        return (id == 0 ? sqlite3_bind_null(statement, position)
                        : sqlite3_bind_int64(statement, position, id)) == SQLITE_OK;
    }
    case AK_FIELD_MEASURED: {
        double value = *ak_field_real(trial, field);
        return (value > 0 ? sqlite3_bind_double(statement, position, value)
                          : sqlite3_bind_null(statement, position)) == SQLITE_OK;
    }
    case AK_FIELD_REAL:
    case AK_FIELD_UNBOUNDED: /* SQLite keeps infinities and makes NULL of NaN */
        return sqlite3_bind_double(statement, position, *ak_field_real(trial, field)) == SQLITE_OK;
    case AK_FIELD_STATUS:
        return ak_store_bind_text(statement, position, ak_trial_status_text(trial->status));
    case AK_FIELD_SAMPLES:
        return bind_samples(statement, position, trial);
    }
    return false;
}

static ak_status insert_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    if (trial->timestamp == NULL) {
        char now[AK_CLOCK_UTC_BYTES];
        ak_clock_utc(now);
        ak_status status = ak_trial_set(&trial->timestamp, now, err);
        if (status != AK_OK) {
            return status;
        }
    }
    sqlite3_stmt *statement = archive->add_trial;
    bool bound = true;
    for (int i = 0; i < AK_FIELD_COUNT && bound; i++) {
        bound = bind_field(statement, i + 1, trial, &ak_fields[i]);
    }
    ak_status status = AK_OK;
    if (!bound) {
        status = ak_fail_memory(err);
    } else if (sqlite3_step(statement) != SQLITE_DONE) {
        bool dangling = sqlite3_extended_errcode(archive->db) == SQLITE_CONSTRAINT_FOREIGNKEY;
        status = dangling ? ak_fail(err, AK_INVALID,
                                    "%s: the trial's run %s or its parent %lld is not in the "
                                    "archive; add them first",
                                    archive->path, trial->run == NULL ? "(none)" : trial->run,
                                    (long long)trial->parent)
                          : ak_store_fault(archive, "the trial cannot be added", err);
    }
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    if (status == AK_OK) {
        trial->id = sqlite3_last_insert_rowid(archive->db);
    }
    return status;
}

ak_status ak_archive_add_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    ak_status status = ak_trial_validate(trial, "trial", err);
    if (status == AK_OK) {
        status = need_environment(archive, trial->environment, NULL, err);
    }
    return status == AK_OK ? insert_trial(archive, trial, err) : status;
}

static ak_status has_run(bool *out, ak_archive *archive, const char *id, ak_error *err)
{
    sqlite3_stmt *statement;
    ak_status status =
        ak_store_prepare(&statement, archive, "SELECT 1 FROM runs WHERE id = ?1", err);
    if (status == AK_OK && !ak_store_bind_text(statement, 1, id)) {
        status = ak_fail_memory(err);
    }
    if (status == AK_OK) {
        int code = sqlite3_step(statement);
        *out = code == SQLITE_ROW;
        if (code != SQLITE_ROW && code != SQLITE_DONE) {
            status = ak_store_fault(archive, "cannot be read", err);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

ak_status ak_store_import_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    ak_status status = ak_trial_validate(trial, "trial", err);
    if (status == AK_OK) {
        status = need_environment(archive, trial->environment, NULL, err);
    }
    bool known = true;
    if (status == AK_OK && trial->run != NULL) {
        status = has_run(&known, archive, trial->run, err);
    }
    if (status == AK_OK && !known) {
        ak_run run = {
            .id = trial->run,
            .started = trial->timestamp,
            .kernel = trial->kernel,
            .implementation = trial->implementation,
            .device = trial->device,
            .size = trial->size,
            .dtype = trial->dtype,
            .choices = trial->choices,
            .strategy = trial->strategy,
            .environment = trial->environment,
        };
        status = insert_run(archive, &run, true, err);
    }
    return status == AK_OK ? insert_trial(archive, trial, err) : status;
}

/* ---- trials out -------------------------------------------------------------------------------
 */

static ak_status read_samples(ak_trial *trial, sqlite3_stmt *row, int column, ak_error *err)
{
    const void *blob = sqlite3_column_blob(row, column);
    int bytes = sqlite3_column_bytes(row, column);
    if (blob == NULL || bytes == 0) {
        return AK_OK;
    }
    size_t count = (size_t)bytes / sizeof(double);
    if ((size_t)bytes % sizeof(double) != 0 || count > AK_TRIAL_SAMPLES_MAX) {
        return ak_fail(err, AK_CORRUPT, "trial %lld: its samples are damaged",
                       (long long)trial->id);
    }
    trial->samples_ms = ak_alloc(count, sizeof(double));
    if (trial->samples_ms == NULL) {
        return ak_fail_memory(err);
    }
    trial->sample_count = count;
    swap_samples((unsigned char *)trial->samples_ms, blob, count);
    return AK_OK;
}

static ak_status read_field(ak_trial *trial, sqlite3_stmt *row, int column, const ak_field *field,
                            ak_error *err)
{
    switch (field->kind) {
    case AK_FIELD_TEXT:
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN:
        return ak_store_text(ak_field_text(trial, field), row, column, err);
    case AK_FIELD_INT:
        *ak_field_int(trial, field) = sqlite3_column_int(row, column);
        return AK_OK;
    case AK_FIELD_LONG:
    case AK_FIELD_LINK:
        *ak_field_long(trial, field) = sqlite3_column_int64(row, column);
        return AK_OK;
    case AK_FIELD_UNBOUNDED:
        *ak_field_real(trial, field) = sqlite3_column_type(row, column) == SQLITE_NULL
                                           ? (double)NAN
                                           : sqlite3_column_double(row, column);
        return AK_OK;
    case AK_FIELD_REAL:
    case AK_FIELD_MEASURED:
        *ak_field_real(trial, field) = sqlite3_column_double(row, column);
        return AK_OK;
    case AK_FIELD_STATUS: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        if (text == NULL) {
            return ak_fail_memory(err);
        }
        return ak_trial_status_parse(&trial->status, text)
                   ? AK_OK
                   : ak_fail(err, AK_CORRUPT, "trial %lld: its status \"%.40s\" is unknown",
                             (long long)trial->id, text);
    }
    case AK_FIELD_SAMPLES:
        return read_samples(trial, row, column, err);
    }
    return AK_INTERNAL;
}

ak_status ak_store_read_trial(ak_trial *out, sqlite3_stmt *row, ak_error *err)
{
    ak_trial trial = {.id = sqlite3_column_int64(row, 0)};
    ak_status status = AK_OK;
    for (int i = 0; i < AK_FIELD_COUNT && status == AK_OK; i++) {
        status = read_field(&trial, row, i + 1, &ak_fields[i], err);
    }
    if (status != AK_OK) {
        ak_trial_clear(&trial);
        return status;
    }
    *out = trial;
    return AK_OK;
}

/* The filter's texts and the conditions that they stand for. */
static const struct {
    const char *condition;
    size_t offset;
} conditions[] = {
#define CONDITION(name)                                                                            \
    {                                                                                              \
        " AND " #name " = ?", offsetof(ak_archive_filter, name)                                    \
    }
    CONDITION(kernel),
    CONDITION(implementation),
    CONDITION(device),
    CONDITION(size),
    CONDITION(dtype),
    CONDITION(choices),
    CONDITION(config),
    CONDITION(environment),
#undef CONDITION
    {" AND run IN " AK_STORE_RUNS("?"), offsetof(ak_archive_filter, run)},
};
#define CONDITION_COUNT (sizeof conditions / sizeof conditions[0])

static const char *filter_text(const ak_archive_filter *filter, size_t i)
{
    return *(const char *const *)((const char *)filter + conditions[i].offset);
}

ak_status ak_store_select(sqlite3_stmt **out, ak_archive *archive, const char *what,
                          const ak_archive_filter *filter, const char *tail, ak_error *err)
{
    static const ak_archive_filter everything;
    ak_buf sql = AK_BUF(4096);
    filter = filter == NULL ? &everything : filter;
    /* The bound keeps a visitor that adds trials from being shown these in turn, for ever. */
    ak_buf_print(&sql, "SELECT %s FROM trials WHERE id <= (SELECT max(id) FROM trials)", what);
    for (size_t i = 0; i < CONDITION_COUNT; i++) {
        if (filter_text(filter, i) != NULL) {
            ak_buf_puts(&sql, conditions[i].condition);
        }
    }
    if (filter->ok_only) {
        ak_buf_puts(&sql, " AND status = 'ok'");
    }
    ak_buf_puts(&sql, tail);
    *out = NULL;
    ak_status status = ak_buf_status(&sql, err);
    if (status == AK_OK) {
        status = ak_store_prepare(out, archive, sql.data, err);
    }
    int position = 1;
    for (size_t i = 0; i < CONDITION_COUNT && status == AK_OK; i++) {
        const char *text = filter_text(filter, i);
        if (text != NULL && !ak_store_bind_text(*out, position++, text)) {
            status = ak_fail_memory(err);
        }
    }
    ak_buf_free(&sql);
    return status;
}

#define COLUMN(name, kind, member) "," #name
const char ak_store_columns[] = "id" AK_FIELD_MAP(COLUMN);
#undef COLUMN

ak_status ak_archive_each(ak_archive *archive, const ak_archive_filter *filter,
                          ak_trial_visitor visit, void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    bool best_first = filter != NULL && filter->best_first;
    size_t limit = filter == NULL ? 0 : filter->limit;
    ak_status status = ak_store_select(
        &rows, archive, ak_store_columns, filter,
        best_first ? " ORDER BY status <> 'ok' OR ms IS NULL, ms, id" : " ORDER BY id", err);
    bool more = true;
    for (size_t seen = 0; status == AK_OK && more && (limit == 0 || seen < limit); seen++) {
        ak_trial trial = {0};
        int code = sqlite3_step(rows);
        if (code == SQLITE_DONE) {
            break;
        }
        status = code == SQLITE_ROW ? ak_store_read_trial(&trial, rows, err)
                                    : ak_store_fault(archive, "cannot be read", err);
        if (status == AK_OK) {
            more = visit(context, &trial);
        }
        ak_trial_clear(&trial);
    }
    (void)sqlite3_finalize(rows);
    return status;
}
