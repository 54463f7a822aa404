/*
 * rows.c: writes trials to the archive and reads them.
 *
 * SQL texts are composed of constants, the ids of trials and the names of a problem's sizes, which
 * are identifiers; every other text is bound. Unless the caller has begun a transaction, adding a
 * trial is one INSERT in a transaction of its own, after another one if the trial brings a new
 * environment. With synchronous = FULL the trial is on the disk when the call returns, at the cost
 * of one flush of the write-ahead log.
 */
#include "archive/archive.h"

#include <math.h>
#include <string.h>

#include "archive/field.h"
#include "archive/store.h"
#include "base/utf8.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "problem/problem.h"

/* ---- trials in ------------------------------------------------------------------------------- */

/* Converts between memory and little-endian numbers, as the archive keeps samples on every machine.
   On a little-endian machine this is a copy, and the compiler recognises that. */
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
    AK_FREED unsigned char *blob = ak_alloc(bytes, 1);
    if (blob == NULL) {
        return false;
    }
    swap_samples(blob, (const unsigned char *)trial->samples_ms, trial->sample_count);
    return sqlite3_bind_blob64(statement, position, blob, bytes, SQLITE_TRANSIENT) == SQLITE_OK;
}

static bool bind_field(sqlite3_stmt *statement, int position, const ak_trial *trial,
                       const ak_field *field)
{
    const char *text;
    switch (field->kind) {
    case AK_FIELD_TEXT:
        text = *ak_field_text(trial, field);
        return ak_store_bind_text(statement, position, ak_or_empty(text));
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN:
        return ak_store_bind_text(statement, position, *ak_field_text(trial, field));
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
    /* SQLite keeps infinities and turns NaN into NULL. */
    case AK_FIELD_UNBOUNDED:
        return sqlite3_bind_double(statement, position, *ak_field_real(trial, field)) == SQLITE_OK;
    case AK_FIELD_STATUS:
        return ak_store_bind_text(statement, position, ak_trial_status_text(trial->status));
    case AK_FIELD_SAMPLES:
        return bind_samples(statement, position, trial);
    }
    return false;
}

/* A trial as the archive keeps it: cleaned copies replace texts that are not UTF-8. */
typedef struct kept {
    ak_trial trial;
    char *clean[AK_FIELD_COUNT];
} kept;

static ak_status keep(kept *out, const ak_trial *trial, ak_error *err)
{
    *out = (kept){.trial = *trial};
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        if (ak_fields[i].kind != AK_FIELD_FOREIGN) {
            continue;
        }
        char **text = ak_field_text(&out->trial, &ak_fields[i]);
        if (*text != NULL && !ak_utf8_valid(*text)) {
            *text = out->clean[i] = ak_utf8_clean(*text);
            AK_DO(ak_made(*text, err));
        }
    }
    return AK_OK;
}

static void kept_clear(kept *k)
{
    AK_END_EACH(ak_free, k->clean, AK_FIELD_COUNT);
}

static bool bind_trial(sqlite3_stmt *statement, const ak_trial *trial)
{
    bool bound = true;
    for (int i = 0; i < AK_FIELD_COUNT && bound; i++) {
        bound = bind_field(statement, i + 1, trial, &ak_fields[i]);
    }
    return bound &&
           sqlite3_bind_int64(statement, AK_FIELD_COUNT + 1, ak_trial_checksum(trial)) == SQLITE_OK;
}

static ak_status insert_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    if (trial->timestamp == NULL) {
        char now[AK_CLOCK_UTC_BYTES];
        ak_clock_utc(now);
        AK_DO(ak_trial_set_text(&trial->timestamp, now, err));
    }
    sqlite3_stmt *statement = archive->add_trial;
    kept k;
    ak_status status = keep(&k, trial, err);
    if (status == AK_OK && !bind_trial(statement, &k.trial)) {
        status = ak_fail_memory(err);
    } else if (status == AK_OK && sqlite3_step(statement) != SQLITE_DONE) {
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
    kept_clear(&k);
    if (status == AK_OK) {
        trial->id = sqlite3_last_insert_rowid(archive->db);
    }
    return status;
}

ak_status ak_store_add_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    AK_DO(ak_trial_validate(trial, "trial", err));
    AK_DO(ak_store_need_environment(archive, trial->environment, NULL, err));
    return insert_trial(archive, trial, err);
}

ak_status ak_store_need_run(ak_archive *archive, const ak_trial *trial, ak_error *err)
{
    bool known;
    AK_DO(ak_store_has_run(&known, archive, trial->run, err));
    const ak_run run = {
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
    return known ? AK_OK : ak_store_insert_run(archive, &run, true, err);
}

ak_status ak_store_import_trial(ak_archive *archive, ak_trial *trial, ak_error *err)
{
    AK_DO(ak_trial_validate(trial, "trial", err));
    AK_DO(ak_store_need_environment(archive, trial->environment, NULL, err));
    AK_DO(trial->run == NULL ? AK_OK : ak_store_need_run(archive, trial, err));
    trial->imported = 1;
    return insert_trial(archive, trial, err);
}

/* ---- trials out ------------------------------------------------------------------------------ */

static ak_status read_samples(ak_trial *trial, sqlite3_stmt *row, int column, ak_error *err)
{
    const void *blob = sqlite3_column_blob(row, column);
    int bytes = sqlite3_column_bytes(row, column);
    if (blob == NULL || bytes == 0) {
        return AK_OK;
    }
    size_t count = (size_t)bytes / sizeof(double);
    AK_FAIL_IF((size_t)bytes % sizeof(double) != 0 || count > AK_TRIAL_SAMPLES_MAX, err, AK_CORRUPT,
               "trial %lld: its samples are damaged", (long long)trial->id);
    AK_DO(AK_NEW(trial->samples_ms, count, err));
    trial->sample_count = count;
    swap_samples((unsigned char *)trial->samples_ms, blob, count);
    return AK_OK;
}

static ak_status damaged(const ak_trial *trial, const char *how, const ak_field *field,
                         ak_error *err)
{
    return ak_fail(
        err, AK_CORRUPT,
        "trial %lld is damaged: its \"%s\" %s: restore the archive from a copy, or remove "
        "the trial: autokernel history --remove '#%lld' --yes",
        (long long)trial->id, field->name, how, (long long)trial->id);
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
    case AK_FIELD_MEASURED: {
        /* Only another program can have stored a number that is not finite, or a measurement that
           is negative: ak_trial_validate refuses both. */
        const double value = sqlite3_column_double(row, column);
        const bool negative = field->kind == AK_FIELD_MEASURED && value < 0;
        *ak_field_real(trial, field) = value;
        return isfinite(value) && !negative
                   ? AK_OK
                   : damaged(trial, negative ? "is negative" : "is not a finite number", field,
                             err);
    }
    case AK_FIELD_STATUS: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        AK_DO(ak_made(text, err));
        AK_FAIL_IF(!ak_trial_status_parse(&trial->status, text), err, AK_CORRUPT,
                   "trial %lld: its status \"%.40s\" is unknown", (long long)trial->id, text);
        return AK_OK;
    }
    case AK_FIELD_SAMPLES:
        return read_samples(trial, row, column, err);
    }
    return AK_INTERNAL;
}

ak_status ak_store_read_trial(ak_trial *out, sqlite3_stmt *row, ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {.id = sqlite3_column_int64(row, 0)};
    for (int i = 0; i < AK_FIELD_COUNT; i++) {
        AK_DO(read_field(&trial, row, i + 1, &ak_fields[i], err));
    }
    /* Rows from before schema 4, and rows that another program wrote, may lack a checksum. They are
       validated as strictly as a trial that is added. */
    const int last = AK_FIELD_COUNT + 1;
    const bool summed = sqlite3_column_type(row, last) != SQLITE_NULL;
    if (!summed) {
        char where[48];
        ak_error why = AK_ERROR_INIT;
        (void)snprintf(where, sizeof where, "trial %lld is damaged", (long long)trial.id);
        AK_FAIL_IF(ak_trial_validate(&trial, where, &why) != AK_OK, err, AK_CORRUPT, "%s",
                   why.text);
    } else if (sqlite3_column_int64(row, last) != ak_trial_checksum(&trial)) {
        return ak_fail(err, AK_CORRUPT,
                       "trial %lld was changed after it was archived: restore the archive from a "
                       "copy, or remove the trial: autokernel history --remove '#%lld' --yes",
                       (long long)trial.id, (long long)trial.id);
    }
    AK_GIVE(out, trial);
    return AK_OK;
}

/* The texts of a filter and their conditions. */
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
#undef CONDITION
    {" AND environment IN " AK_STORE_ENVIRONMENTS("?"), offsetof(ak_archive_filter, environment)},
    {" AND run IN " AK_STORE_RUNS("?"), offsetof(ak_archive_filter, run)},
};
/* Replaces the last of these conditions if filter->winner is set: this one also selects the trials
   that the results of the runs name as their best. */
static const char run_or_winner[] = " AND id IN (WITH of (run) AS " AK_STORE_RUNS(
    "?") " SELECT id FROM trials WHERE run IN of "
         "UNION ALL SELECT json_extract(result, '$.best.trial') FROM runs WHERE id IN of AND "
         "json_valid(result))";
#define CONDITION_COUNT (AK_COUNT(conditions))

/* Returns the condition that selects or excludes trials on recordings; "" if the filter names
   another device than "sim", a run or an environment, or asks for both kinds of trials. */
static const char *simulated_condition(const ak_archive_filter *filter)
{
    if (filter->device != NULL) {
        return strcmp(filter->device, "sim") == 0 ? " AND " AK_STORE_SIMULATED : "";
    }
    bool asked = filter->simulated || filter->run != NULL || filter->environment != NULL;
    return asked ? "" : " AND NOT " AK_STORE_SIMULATED;
}

static const char *filter_text(const ak_archive_filter *filter, size_t i)
{
    const char *text = *(const char *const *)((const char *)filter + conditions[i].offset);
    bool all = text != NULL && text == filter->device && strcmp(text, "sim") == 0;
    return all ? NULL : text;
}

/* Adds the condition that a size, if it has names, has those of the problem. */
static void add_sizes(ak_buf *sql, const ak_problem *problem)
{
    ak_buf_puts(sql, " AND (instr(size, '=') = 0 OR size GLOB '");
    for (size_t i = 0; i < problem->size_count; i++) {
        ak_buf_print(sql, "%s%s=[0-9]*", i == 0 ? "" : ",", problem->sizes[i].name);
    }
    ak_buf_print(sql, "' AND length(size) - length(replace(size, '=', '')) = %zu)",
                 problem->size_count);
}

ak_status ak_store_select(sqlite3_stmt **out, ak_archive *archive, const char *what,
                          const ak_archive_filter *filter, const char *tail, ak_error *err)
{
    static const ak_archive_filter everything;
    AK_AT_END(ak_buf_free) ak_buf sql = AK_BUF(4096);
    filter = filter == NULL ? &everything : filter;
    ak_buf_print(&sql, "SELECT %s FROM trials WHERE true", what);
    for (size_t i = 0; i < CONDITION_COUNT; i++) {
        const bool run = conditions[i].offset == offsetof(ak_archive_filter, run);
        if (filter_text(filter, i) != NULL) {
            ak_buf_puts(&sql, run && filter->winner ? run_or_winner : conditions[i].condition);
        }
    }
    ak_buf_puts(&sql, simulated_condition(filter));
    if (filter->problem != NULL && filter->problem->size_count > 0) {
        add_sizes(&sql, filter->problem);
    }
    if (filter->id != 0) {
        ak_buf_print(&sql, " AND id = %lld", (long long)filter->id);
    }
    if (filter->ok_only) {
        ak_buf_puts(&sql, " AND status = 'ok'");
    }
    ak_buf_puts(&sql, tail);
    *out = NULL;
    AK_DO(ak_buf_status(&sql, err));
    AK_DO(ak_store_prepare(out, archive, sql.data, err));
    int position = 1;
    for (size_t i = 0; i < CONDITION_COUNT; i++) {
        const char *text = filter_text(filter, i);
        AK_DO(ak_stored(text == NULL || ak_store_bind_text(*out, position++, text), err));
    }
    return AK_OK;
}

#define COLUMN(name, kind, member, by) "," #name
const char ak_store_columns[] = "id" AK_FIELD_MAP(COLUMN) ",checksum";
#undef COLUMN

/* Ids in the order in which trials are visited. */
typedef struct id_list {
    int64_t *ids;
    size_t count, capacity;
} id_list;

static void id_list_clear(id_list *list)
{
    ak_free(list->ids);
}

#define BY_TIME    " ORDER BY " AK_STORE_MADE ", id"
#define BEST_FIRST " ORDER BY status <> 'ok' OR ms IS NULL, coalesce(cost, ms), id"

/* Lists the ids that a filter selects, in its order and up to its limit. Only ids are sorted: the
   rows, with their samples, might not fit in memory. */
static ak_status list_ids(id_list *out, ak_archive *archive, const ak_archive_filter *filter,
                          ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    const size_t limit = filter == NULL ? 0 : filter->limit;
    ak_status status =
        ak_store_select(&rows, archive, "id", filter,
                        filter != NULL && filter->best_first ? BEST_FIRST : BY_TIME, err);
    while ((limit == 0 || out->count < limit) && ak_store_next(&status, archive, rows, err)) {
        status = AK_GROW(out->ids, &out->capacity, out->count + 1, err);
        if (status == AK_OK) {
            out->ids[out->count++] = sqlite3_column_int64(rows, 0);
        }
    }
    return status;
}

ak_status ak_archive_each(ak_archive *archive, const ak_archive_filter *filter,
                          ak_trial_visitor visit, void *context, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *row = NULL;
    AK_AT_END(id_list_clear) id_list list = {0};
    bool more = true;
    AK_DO(list_ids(&list, archive, filter, err));
    AK_DO(ak_store_select(&row, archive, ak_store_columns, &(ak_archive_filter){.simulated = true},
                          " AND id = ?", err));
    for (size_t i = 0; i < list.count && more; i++) {
        AK_AT_END(ak_trial_clear) ak_trial trial = {0};
        ak_status status = AK_OK;
        AK_DO(ak_stored(sqlite3_bind_int64(row, 1, list.ids[i]) == SQLITE_OK, err));
        if (ak_store_next(&status, archive, row, err)) { /* the trial still exists */
            status = ak_store_read_trial(&trial, row, err);
            more = status == AK_OK && visit(context, &trial);
        }
        AK_DO(status);
        (void)sqlite3_reset(row);
    }
    return AK_OK;
}

ak_status ak_store_first(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                         const char *tail, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    AK_DO(ak_store_select(&rows, archive, ak_store_columns, filter, tail, err));
    bool found = ak_store_next(&status, archive, rows, err);
    AK_DO(status);
    return found ? ak_store_read_trial(out, rows, err) : AK_NOT_FOUND;
}

ak_status ak_store_fastest_right(ak_trial *out, ak_archive *archive,
                                 const ak_archive_filter *filter, ak_error *err)
{
    ak_archive_filter any = *filter;
    ak_status status = ak_store_first(out, archive, filter, AK_STORE_FASTEST_RIGHT, err);
    any.run = NULL;
    return status == AK_NOT_FOUND ? ak_store_first(out, archive, &any, AK_STORE_FASTEST_RIGHT, err)
                                  : status;
}

ak_status ak_archive_first(bool *found, ak_trial *out, ak_archive *archive,
                           const ak_archive_filter *filter, ak_error *err)
{
    const bool best_first = filter != NULL && filter->best_first;
    ak_status status = ak_store_first(out, archive, filter,
                                      best_first ? BEST_FIRST " LIMIT 1" : BY_TIME " LIMIT 1", err);
    *found = status == AK_OK;
    return status == AK_NOT_FOUND ? AK_OK : status;
}

ak_status ak_archive_count(size_t *trials, size_t *environments, ak_archive *archive,
                           const ak_archive_filter *filter, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *row = NULL;
    ak_status status = ak_store_select(
        &row, archive,
        environments == NULL ? "count(*)"
                             : "count(*), count(DISTINCT " AK_STORE_IDENTITY("environment") ")",
        filter, "", err);
    if (ak_store_next(&status, archive, row, err)) {
        *trials = (size_t)sqlite3_column_int64(row, 0);
        if (environments != NULL) {
            *environments = (size_t)sqlite3_column_int64(row, 1);
        }
    }
    return status;
}

typedef struct taking {
    ak_trial_taker take;
    void *context;
    ak_status status;
    ak_error *err;
} taking;

static bool take_trial(void *context, const ak_trial *trial)
{
    taking *t = context;
    t->status = t->take(t->context, trial, t->err);
    return t->status == AK_OK;
}

ak_status ak_archive_take(ak_archive *archive, const ak_archive_filter *filter, ak_trial_taker take,
                          void *context, ak_error *err)
{
    taking t = {take, context, AK_OK, err};
    AK_DO(ak_archive_each(archive, filter, take_trial, &t, err));
    return t.status;
}
