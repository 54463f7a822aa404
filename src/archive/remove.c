/*
 * remove.c: removes a run, with its trials and conversations, or one trial. It also removes the
 * environments and sources that nothing in the archive refers to any more. All of it is one
 * transaction, which is undone if the caller only asks what would be removed.
 *
 * What remains is adjusted: a trial loses a parent that is removed, and a result no longer names a
 * removed trial as its best (a winner that --resume took over), because the id may be used again. A
 * run over many sizes is removed together with the runs of its sizes, except those that another run
 * over many sizes names.
 */
#include "archive/archive.h"

#include "archive/field.h"
#include "archive/overview.h"
#include "archive/store.h"
#include "base/alive.h"
#include "base/alloc.h"
#include "base/text.h"

static ak_status is_idle(ak_archive *archive, const char *run, ak_error *err)
{
    AK_FREED char *process = NULL;
    json_auto_t *paths = NULL;
    AK_DO(ak_archive_whereabouts(&process, &paths, archive, run, err));
    bool alive = process != NULL && ak_alive_check(process) == AK_ALIVE_YES;
    return alive ? ak_fail(err, AK_INVALID, "run %.40s goes on; end it first", run) : AK_OK;
}

/* Refuses if a run that is removed or loses a trial has not ended and its process is alive. */
static ak_status check_idle(ak_archive *archive, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    AK_DO(ak_store_prepare(&rows, archive,
                           "SELECT id FROM runs WHERE ended IS NULL AND (id IN gone_runs OR id IN "
                           "(SELECT run FROM trials WHERE id IN gone_trials))",
                           err));
    while (ak_store_next(&status, archive, rows, err)) {
        const char *run = (const char *)sqlite3_column_text(rows, 0);
        status = run == NULL ? ak_fail_memory(err) : is_idle(archive, run, err);
    }
    return status;
}

static const char tables[] = "DROP TABLE IF EXISTS temp.gone_runs;"
                             "DROP TABLE IF EXISTS temp.gone_trials;"
                             "CREATE TEMP TABLE gone_runs (id TEXT PRIMARY KEY);"
                             "CREATE TEMP TABLE gone_trials (id INTEGER PRIMARY KEY);";

/* Chooses a run and the runs over single sizes that its result lists, except those that another run
   over many sizes lists. */
static const char take_runs[] =
    "INSERT INTO gone_runs SELECT DISTINCT id FROM runs WHERE id IN " AK_STORE_RUNS(
        "?1") " AND (id = ?1 OR id NOT IN (SELECT json_extract(one.value, '$.run') FROM "
              "runs, " AK_STORE_SIZES " AS one WHERE runs.id <> ?1 AND "
              "json_extract(one.value, '$.run') IS NOT NULL))";

/* Fills the temporary tables with the runs and trials that `what` names. */
static ak_status list_gone(ak_archive *archive, const char *what, ak_error *err)
{
    AK_FREED char *run = NULL;
    int64_t trial = 0;
    AK_DO(ak_store_execute(archive, tables, err));
    if (what[0] == '#') {
        AK_FAIL_IF(!ak_text_int(&trial, what + 1) || trial <= 0, err, AK_INVALID,
                   "%.60s: a trial is named by its id, such as '#5'", what);
        AK_DO(ak_store_change(archive,
                              "INSERT INTO gone_trials SELECT id FROM trials WHERE id = "
                              "CAST(?1 AS INTEGER)",
                              (const char *const[]){what + 1}, 1, err));
        AK_FAIL_IF(sqlite3_changes(archive->db) != 1, err, AK_NOT_FOUND,
                   "%.200s has no trial %.40s; 'autokernel history' shows them", archive->path,
                   what);
    } else {
        AK_DO(ak_archive_find_run(&run, archive, what, err));
        AK_DO(ak_store_change(archive, take_runs, (const char *const[]){run}, 1, err));
        AK_DO(ak_store_execute(
            archive, "INSERT INTO gone_trials SELECT id FROM trials WHERE run IN gone_runs", err));
    }
    return AK_OK;
}

/* Clears the parent of each remaining trial whose parent is removed, and renews the checksum, which
   covers the parent. */
static ak_status orphan(ak_archive *archive, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL, *set = NULL;
    AK_DO(ak_store_select(&rows, archive, ak_store_columns, &(ak_archive_filter){.simulated = true},
                          " AND parent IN gone_trials AND id NOT IN gone_trials", err));
    AK_DO(ak_store_prepare(
        &set, archive,
        "UPDATE trials SET parent = NULL, checksum = " AK_STORE_RENEWED " WHERE id = ?1", err));
    while (ak_store_next(&status, archive, rows, err)) {
        ak_trial trial = {0};
        AK_DO(ak_store_read_trial(&trial, rows, err));
        trial.parent = 0;
        bool good = sqlite3_bind_int64(set, 1, trial.id) == SQLITE_OK &&
                    sqlite3_bind_int64(set, 2, ak_trial_checksum(&trial)) == SQLITE_OK;
        ak_trial_clear(&trial);
        AK_DO(ak_stored(good, err));
        AK_DO(sqlite3_step(set) == SQLITE_DONE ? AK_OK
                                               : ak_store_fault(archive, "cannot be written", err));
        (void)sqlite3_reset(set);
    }
    return status;
}

static ak_status drop(size_t *count, ak_archive *archive, const char *sql, ak_error *err)
{
    AK_DO(ak_store_execute(archive, sql, err));
    *count = (size_t)sqlite3_changes(archive->db);
    return AK_OK;
}

/* An environment in use under a former hash also needs the row of today's hash, which has its
   words. */
static const char drop_environments[] =
    "DELETE FROM environments WHERE hash NOT IN (WITH used (hash) AS (SELECT environment FROM "
    "trials WHERE environment IS NOT NULL UNION SELECT environment FROM runs WHERE environment IS "
    "NOT NULL) SELECT hash FROM used UNION SELECT same_as FROM used JOIN environments USING (hash) "
    "WHERE same_as IS NOT NULL)";

/* Counts the remaining runs to which --resume may have given trials that are removed. Runs are
   ordered by number, because those on recordings begin in 1970; a trial without a run, by its time
   stamp. */
static ak_status count_resumed(size_t *count, ak_archive *archive, ak_error *err)
{
    static const char sql[] =
        "SELECT count(*) FROM runs AS r WHERE r.id NOT IN gone_runs AND json_valid(r.options) AND "
        "json_extract(r.options, '$.resume') AND EXISTS (SELECT 1 FROM trials AS t WHERE t.id IN "
        "gone_trials AND t.run IS NOT r.id AND t.kernel = r.kernel AND t.implementation = "
        "r.implementation AND t.device = r.device AND t.size = r.size AND t.dtype = r.dtype AND "
        "t.choices = r.choices AND t.status NOT IN ('timed_out', 'crashed', 'out_of_memory') "
        "AND " AK_STORE_IDENTITY("t.environment") " IS " AK_STORE_IDENTITY(
            "r.environment") " AND "
                             "coalesce((SELECT number FROM runs WHERE id = t.run) < r.number, "
                             "t.timestamp < r.started))";
    int64_t found = 0;
    AK_DO(ak_store_ask(&found, archive, sql, err));
    *count = (size_t)found;
    return AK_OK;
}

#define WITHOUT_TRIAL "json_set(result, '$.best.trial', NULL)"

static ak_status drop_all(ak_removal *out, ak_archive *archive, ak_error *err)
{
    bool notes = false;
    AK_DO(count_resumed(&out->resumed_by, archive, err));
    AK_DO(orphan(archive, err));
    AK_DO(ak_store_execute(
        archive,
        "UPDATE runs SET result = " WITHOUT_TRIAL ", result_checksum = "
        "iif(" AK_STORE_CHANGED ", result_checksum, " AK_STORE_CHECKSUM(
            WITHOUT_TRIAL) ") WHERE "
                           "json_valid(result) AND json_extract(result, '$.best.trial') IN "
                           "gone_trials AND id NOT IN gone_runs",
        err));
    AK_DO(drop(&out->calls, archive, "DELETE FROM calls WHERE run IN gone_runs", err));
    AK_DO(drop(&out->trials, archive, "DELETE FROM trials WHERE id IN gone_trials", err));
    AK_DO(drop(&out->runs, archive, "DELETE FROM runs WHERE id IN gone_runs", err));
    AK_DO(ak_store_execute(archive, drop_environments, err));
    AK_DO(drop(&out->sources, archive,
               "DELETE FROM sources WHERE hash NOT IN (SELECT json_extract(words, '$.source') FROM "
               "environments WHERE json_valid(words) AND json_extract(words, '$.source') IS NOT "
               "NULL)",
               err));
    AK_DO(ak_store_has_table(&notes, archive, "whereabouts", err));
    return notes ? ak_store_execute(archive, "DELETE FROM whereabouts WHERE run IN gone_runs", err)
                 : AK_OK;
}

ak_status ak_archive_remove(ak_removal *out, ak_archive *archive, const char *what, bool really,
                            ak_error *err)
{
    ak_removal gone = {0};
    ak_status status = AK_OK;
    AK_FAIL_IF(really && archive->copied, err, AK_IO, "%.300s cannot be written", archive->path);
    AK_DO(ak_store_begin(archive, err));
    AK_TRY(list_gone(archive, what, err));
    AK_TRY(check_idle(archive, err));
    AK_TRY(drop_all(&gone, archive, err));
out:
    status = status == AK_OK && really ? ak_store_commit(archive, err) : status;
    ak_store_rollback(archive); /* undoes what is not committed, and forgets archive->environment */
    *out = gone;
    return status;
}
