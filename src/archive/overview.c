#include "archive/overview.h"

#include "archive/store.h"

/* A result or an options text that is not valid JSON counts as an empty object. Sums use total(),
   because sum() fails on the huge numbers that an import may bring. */
#define SELECT_OVERVIEW SELECT_FROM("runs")
#define SELECT_FROM(runs)                                                                          \
    "SELECT id, started, ended, kernel, implementation, device, size, dtype, choices, "            \
    "strategy, json_extract(r, '$.summary'), json_extract(r, '$.stopped_by'), number, imported, "  \
    "result IS NOT NULL AND (ended IS NOT NULL OR imported), "                                     \
    "json_extract(r, '$.sizes') IS NOT NULL, json_extract(r, '$.evaluated'), "                     \
    "(SELECT total(value) FROM json_each(r, '$.failed')), json_extract(r, '$.best.ms'), "          \
    "json_extract(r, '$.best.tflops'), json_extract(r, '$.best.efficiency'), "                     \
    "json_extract(r, '$.seconds'), json_extract(o, '$.evaluations'), " AK_STORE_CHANGED            \
    " FROM (SELECT *, "                                                                            \
    "CASE WHEN json_valid(result) THEN result ELSE '{}' END AS r, "                                \
    "CASE WHEN json_valid(options) THEN options ELSE '{}' END AS o FROM " runs ") "

enum { TEXTS = 12 }; /* number of columns with texts, which come first in a row */

/* Visits the rows and ends the statement. */
static ak_status visit_runs(ak_archive *archive, sqlite3_stmt *rows, ak_overview_visitor visit,
                            void *context, ak_error *err)
{
    ak_status status = AK_OK;
    char *texts[TEXTS] = {NULL};
    bool more = true;
    while (more && ak_store_next_texts(&status, texts, TEXTS, archive, rows, err)) {
        const ak_overview_run run = {.id = texts[0],
                                     .started = texts[1],
                                     .ended = texts[2],
                                     .kernel = texts[3],
                                     .implementation = texts[4],
                                     .device = texts[5],
                                     .size = texts[6],
                                     .dtype = texts[7],
                                     .choices = texts[8],
                                     .strategy = texts[9],
                                     .summary = texts[10],
                                     .stopped_by = texts[11],
                                     .number = sqlite3_column_int64(rows, TEXTS),
                                     .imported = sqlite3_column_int(rows, TEXTS + 1) != 0,
                                     .has_result = sqlite3_column_int(rows, TEXTS + 2) != 0,
                                     .many_sizes = sqlite3_column_int(rows, TEXTS + 3) != 0,
                                     .evaluated = sqlite3_column_int64(rows, TEXTS + 4),
                                     .failed = sqlite3_column_int64(rows, TEXTS + 5),
                                     .best_ms = sqlite3_column_double(rows, TEXTS + 6),
                                     .tflops = sqlite3_column_double(rows, TEXTS + 7),
                                     .efficiency = sqlite3_column_double(rows, TEXTS + 8),
                                     .seconds = sqlite3_column_double(rows, TEXTS + 9),
                                     .evaluations = sqlite3_column_int64(rows, TEXTS + 10)};
        status = ak_store_unchanged(rows, TEXTS + 11, run.id, err);
        more = status == AK_OK && visit(context, &run);
    }
    return ak_store_end(status, texts, TEXTS, rows);
}

ak_status ak_archive_runs_since(ak_archive *archive, int64_t number, ak_overview_visitor visit,
                                void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    AK_DO(ak_store_prepare(&rows, archive,
                           number == 0 ? SELECT_FROM(AK_STORE_RUNS_MADE) "ORDER BY made, number"
                                       : SELECT_OVERVIEW "WHERE number > ?1 ORDER BY number",
                           err));
    if (number != 0) {
        (void)sqlite3_bind_int64(rows, 1, number);
    }
    return visit_runs(archive, rows, visit, context, err);
}

ak_status ak_archive_overview(ak_archive *archive, const char *id, ak_overview_visitor visit,
                              void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    AK_DO(ak_store_query(&rows, archive, SELECT_OVERVIEW "WHERE id = ?1", &id, 1, err));
    return visit_runs(archive, rows, visit, context, err);
}

json_t *ak_overview_json(const ak_overview_run *run)
{
    json_t *object = json_object();
    bool good = ak_json_set_texts(
                    object, "id", run->id, "started", run->started, "ended", run->ended, "kernel",
                    run->kernel, "implementation", run->implementation, "device", run->device,
                    "size", run->size, "dtype", run->dtype, "choices", run->choices, "strategy",
                    run->strategy, "summary", run->summary, "stopped_by", run->stopped_by) &&
                ak_json_set(object, "imported", json_boolean(run->imported)) &&
                ak_json_set(object, "many_sizes", json_boolean(run->many_sizes)) &&
                ak_json_set(object, "asked_for", json_integer(run->evaluations)) &&
                ak_json_set_known(object, "tflops", run->tflops) &&
                ak_json_set_known(object, "efficiency", run->efficiency) &&
                ak_json_set_known(object, "seconds", run->seconds);
    return ak_json_whole(object, good);
}

/* ---- trials ---------------------------------------------------------------------------------- */

#define SELECT_TRIALS                                                                              \
    "SELECT run, count(*), count(CASE WHEN status = 'ok' THEN 1 END), max(id), "                   \
    "min(CASE WHEN status = 'ok' THEN ms END) FROM trials WHERE run IS NOT NULL AND "

static ak_status visit_trials(ak_archive *archive, sqlite3_stmt *rows,
                              ak_overview_trials_visitor visit, void *context, ak_error *err)
{
    ak_status status = AK_OK;
    char *run = NULL;
    bool more = true;
    while (more && ak_store_next_texts(&status, &run, 1, archive, rows, err)) {
        const ak_overview_trials trials = {.run = run,
                                           .count = sqlite3_column_int64(rows, 1),
                                           .ok = sqlite3_column_int64(rows, 2),
                                           .last_id = sqlite3_column_int64(rows, 3),
                                           .best_ms = sqlite3_column_double(rows, 4)};
        more = visit(context, &trials);
    }
    return ak_store_end(status, &run, 1, rows);
}

ak_status ak_archive_trials_since(ak_archive *archive, int64_t id, ak_overview_trials_visitor visit,
                                  void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    AK_DO(ak_store_prepare(&rows, archive, SELECT_TRIALS "id > ?1 GROUP BY run", err));
    (void)sqlite3_bind_int64(rows, 1, id);
    return visit_trials(archive, rows, visit, context, err);
}

ak_status ak_archive_count_trials(ak_archive *archive, const char *run,
                                  ak_overview_trials_visitor visit, void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    AK_DO(ak_store_query(&rows, archive, SELECT_TRIALS "run = ?1 GROUP BY run", &run, 1, err));
    return visit_trials(archive, rows, visit, context, err);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* SQLite takes bare columns from the row that has the maximum of a group: from the latest trial. */
#define SELECT_DEVICES                                                                             \
    "SELECT measured_on, device_uuid, timestamp, config, status, count(*), "                       \
    "count(CASE WHEN status = 'ok' THEN 1 END), max(id), total(check_ns + measure_ns) / 1e9, ms "  \
    "FROM trials WHERE run = ?1 GROUP BY measured_on ORDER BY measured_on"

ak_status ak_archive_run_devices(ak_archive *archive, const char *run,
                                 ak_overview_device_visitor visit, void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    char *texts[5] = {NULL};
    ak_status status = AK_OK;
    bool more = true;
    AK_DO(ak_store_query(&rows, archive, SELECT_DEVICES, &run, 1, err));
    while (more && ak_store_next_texts(&status, texts, 5, archive, rows, err)) {
        const ak_overview_device device = {.name = texts[0],
                                           .uuid = texts[1],
                                           .ended = texts[2],
                                           .config = texts[3],
                                           .status = texts[4],
                                           .count = sqlite3_column_int64(rows, 5),
                                           .ok = sqlite3_column_int64(rows, 6),
                                           .trial = sqlite3_column_int64(rows, 7),
                                           .busy_seconds = sqlite3_column_double(rows, 8),
                                           .ms = sqlite3_column_double(rows, 9)};
        more = visit(context, &device);
    }
    return ak_store_end(status, texts, 5, rows);
}

/* ---- what has changed, and a connection that only reads -------------------------------------- */

ak_status ak_archive_last_trial(int64_t *out, ak_archive *archive, ak_error *err)
{
    return ak_store_ask(out, archive, "SELECT coalesce(max(id), 0) FROM trials", err);
}

ak_status ak_archive_version(int64_t *out, ak_archive *archive, ak_error *err)
{
    return ak_store_ask(out, archive, "PRAGMA data_version", err);
}

ak_status ak_archive_only_read(ak_archive *archive, ak_error *err)
{
    return ak_store_execute(archive, "PRAGMA query_only = ON", err);
}
