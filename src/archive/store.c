/* store.c: turns errors of SQLite into messages, and has the small SQLite helpers of store.h. */
#include "archive/store.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/utf8.h"

/* Returns what the user should check. If SQLite has lost errno (`why` is 0), a limit on file sizes
   is named, too, if there is one. */
static const char *advice(int why)
{
    struct rlimit file;
    bool limited = getrlimit(RLIMIT_FSIZE, &file) == 0 && file.rlim_cur != RLIM_INFINITY;
    return why == EFBIG          ? "raise the limit with `ulimit -f`"
           : why == 0 && limited ? "check the permissions, the disk and the limit `ulimit -f`"
                                 : "check the permissions and the disk";
}

ak_status ak_store_damaged(const ak_archive *archive, const char *detail, ak_error *err)
{
    return ak_fail(err, AK_CORRUPT,
                   "%s: the archive is damaged (%.200s); nothing was changed: move it away or "
                   "recover it with the sqlite3 shell's .recover",
                   archive->path, detail);
}

ak_status ak_store_fault(const ak_archive *archive, const char *what, ak_error *err)
{
    int code = sqlite3_errcode(archive->db);
    const char *path = archive->path;
    const char *detail = sqlite3_errmsg(archive->db);
    int why = sqlite3_system_errno(archive->db);
    bool io = (code & 0xff) == SQLITE_IOERR;
    /* SQLite reports a full file system also as an I/O error, and from a call that reads. */
    AK_FAIL_IF((code & 0xff) == SQLITE_FULL || (io && (why == ENOSPC || why == EDQUOT)), err, AK_IO,
               "%s: cannot be written: the disk is full; earlier trials are safe; free some space "
               "there, or name another archive",
               path);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return ak_fail_memory(err);
    case SQLITE_NOTADB:
        return ak_fail(
            err, AK_CORRUPT,
            "%s is not an archive (not a SQLite file); nothing was changed: move it away "
            "or give another path",
            path);
    case SQLITE_CORRUPT:
        return ak_store_damaged(archive, detail, err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ak_fail(
            err, AK_TIMED_OUT,
            "%s: %s: another program has kept it locked for %.3g s; try again when it has ended",
            path, what, archive->busy_ms / 1e3);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        if (access(path, W_OK) != 0 && errno == EROFS) { /* SQLite would name another reason */
            return ak_fail(err, AK_IO,
                           "%s: %s: the file system is read-only; copy the archive to a place that "
                           "can be written, or name another one",
                           path, what);
        }
        return ak_fail(err, AK_IO, "%s: %s: %s%s%s; %s", path, what, detail, why == 0 ? "" : ": ",
                       why == 0 ? "" : strerror(why), advice(why));
    case SQLITE_TOOBIG:
        return ak_fail(err, AK_LIMIT, "%s: %s: a value is larger than %d bytes", path, what,
                       AK_STORE_VALUE_MAX);
    case SQLITE_CONSTRAINT:
        return ak_fail(err, AK_INVALID, "%s: %s: %s", path, what, detail);
    default:
        return ak_fail(err, AK_INTERNAL, "%s: %s: %s", path, what, detail);
    }
}

void ak_store_finalize(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement);
}

ak_status ak_store_finish(ak_archive *archive, sqlite3_stmt *statement, bool bound, ak_error *err)
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

void ak_store_busy(ak_archive *archive, int ms)
{
    archive->busy_ms = ms;
    (void)sqlite3_busy_timeout(archive->db, ms);
}

ak_status ak_store_execute(ak_archive *archive, const char *sql, ak_error *err)
{
    return sqlite3_exec(archive->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? AK_OK
               : ak_store_fault(archive, "cannot be used", err);
}

ak_status ak_store_prepare(sqlite3_stmt **out, ak_archive *archive, const char *sql, ak_error *err)
{
    *out = NULL;
    return sqlite3_prepare_v3(archive->db, sql, -1, 0, out, NULL) == SQLITE_OK
               ? AK_OK
               : ak_store_fault(archive, "cannot be read", err);
}

bool ak_store_bind_text(sqlite3_stmt *statement, int position, const char *text)
{
    int code = text == NULL ? sqlite3_bind_null(statement, position)
                            : sqlite3_bind_text(statement, position, text, -1, SQLITE_STATIC);
    return code == SQLITE_OK;
}

ak_status ak_store_query(sqlite3_stmt **out, ak_archive *archive, const char *sql,
                         const char *const *texts, int count, ak_error *err)
{
    AK_DO(ak_store_prepare(out, archive, sql, err));
    for (int i = 0; i < count; i++) {
        if (!ak_store_bind_text(*out, i + 1, texts[i])) {
            (void)sqlite3_finalize(*out);
            *out = NULL;
            return ak_fail_memory(err);
        }
    }
    return AK_OK;
}

ak_status ak_store_change(ak_archive *archive, const char *sql, const char *const *texts, int count,
                          ak_error *err)
{
    sqlite3_stmt *statement;
    AK_DO(ak_store_query(&statement, archive, sql, texts, count, err));
    return ak_store_finish(archive, statement, true, err);
}

bool ak_store_next(ak_status *status, const ak_archive *archive, sqlite3_stmt *rows, ak_error *err)
{
    int code = *status == AK_OK ? sqlite3_step(rows) : SQLITE_DONE;
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
        *status = ak_store_fault(archive, "cannot be read", err);
    }
    return code == SQLITE_ROW;
}

ak_status ak_store_has(bool *out, ak_archive *archive, const char *sql, const char *const *texts,
                       int count, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    ak_status status = ak_store_query(&rows, archive, sql, texts, count, err);
    *out = ak_store_next(&status, archive, rows, err);
    return status;
}

ak_status ak_store_has_table(bool *out, ak_archive *archive, const char *name, ak_error *err)
{
    return ak_store_has(out, archive, "SELECT 1 FROM sqlite_master WHERE name = ?1", &name, 1, err);
}

ak_status ak_store_ask_bound(int64_t *out, const ak_archive *archive, sqlite3_stmt *statement,
                             bool bound, ak_error *err)
{
    ak_status status = ak_stored(bound, err);
    bool found = ak_store_next(&status, archive, statement, err);
    *out = found ? sqlite3_column_int64(statement, 0) : 0;
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    return status;
}

ak_status ak_store_text(char **out, sqlite3_stmt *statement, int column, ak_error *err)
{
    *out = NULL;
    if (sqlite3_column_type(statement, column) == SQLITE_NULL) {
        return AK_OK;
    }
    const char *text = (const char *)sqlite3_column_text(statement, column);
    if (text != NULL) {
        *out = ak_utf8_clean(text);
    }
    return ak_made(*out, err);
}

static void free_texts(char **texts, int count)
{
    for (int i = 0; i < count; i++) {
        ak_free(texts[i]);
        texts[i] = NULL;
    }
}

bool ak_store_next_texts(ak_status *status, char **texts, int count, const ak_archive *archive,
                         sqlite3_stmt *rows, ak_error *err)
{
    free_texts(texts, count);
    bool found = ak_store_next(status, archive, rows, err);
    for (int i = 0; i < count && found; i++) {
        *status = ak_store_text(&texts[i], rows, i, err);
        found = *status == AK_OK;
    }
    return found;
}

ak_status ak_store_end(ak_status status, char **texts, int count, sqlite3_stmt *rows)
{
    free_texts(texts, count);
    (void)sqlite3_finalize(rows);
    return status;
}

ak_status ak_store_begin(ak_archive *archive, ak_error *err)
{
    assert(sqlite3_get_autocommit(archive->db) != 0); /* transactions do not nest */
    return ak_store_execute(archive, "BEGIN IMMEDIATE", err);
}

ak_status ak_store_commit(ak_archive *archive, ak_error *err)
{
    assert(sqlite3_get_autocommit(archive->db) == 0); /* ak_store_begin came before */
    ak_status status = ak_store_execute(archive, "COMMIT", err);
    if (status != AK_OK) {
        ak_store_rollback(archive);
    }
    return status;
}

void ak_store_rollback(ak_archive *archive)
{
    if (sqlite3_get_autocommit(archive->db) == 0) {
        (void)sqlite3_exec(archive->db, "ROLLBACK", NULL, NULL, NULL);
    }
    ak_free(archive->environment); /* its row may have been rolled back */
    archive->environment = NULL;
}

ak_status ak_store_end_transaction(ak_archive *archive, ak_status status, ak_error *err)
{
    if (status == AK_OK) {
        return ak_store_commit(archive, err);
    }
    ak_store_rollback(archive);
    return status;
}

ak_status ak_store_ask(int64_t *out, ak_archive *archive, const char *sql, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    AK_DO(ak_store_prepare(&statement, archive, sql, err));
    return ak_store_ask_bound(out, archive, statement, true, err);
}

/* ---- checksums of results -------------------------------------------------------------------- */

/* Computes ak_checksum(text, ...): NULL if the last text is NULL. */
static void checksum(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint64_t hash = 0;
    if (sqlite3_value_type(values[count - 1]) == SQLITE_NULL) {
        return;
    }
    for (int i = 0; i < count; i++) {
        const void *text = sqlite3_value_text(values[i]);
        const uint64_t pair[2] = {
            hash, ak_hash64(text == NULL ? "" : text, (size_t)sqlite3_value_bytes(values[i]))};
        hash = ak_hash64(pair, sizeof pair);
    }
    sqlite3_result_int64(context, (sqlite3_int64)hash);
}

bool ak_store_add_functions(sqlite3 *db)
{
    return sqlite3_create_function_v2(db, "ak_checksum", -1,
                                      SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
                                      checksum, NULL, NULL, NULL) == SQLITE_OK;
}

ak_status ak_store_unchanged(sqlite3_stmt *row, int changed, const char *run, ak_error *err)
{
    AK_FAIL_IF(sqlite3_column_int(row, changed) != 0, err, AK_CORRUPT,
               "the result of run %s was changed after it was archived: restore the archive from a "
               "copy, or remove the run: autokernel history --remove %s --yes",
               run, run);
    return AK_OK;
}
