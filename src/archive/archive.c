/*
 * archive.c: opening the archive, and what SQLite's refusals mean.
 *
 * Nothing is written before the file is known to be ours, of our schema and sound; until then the
 * connection is also kept from folding an existing write-ahead log into the file when it closes.
 * The file is only ever touched through SQLite: opening and closing it beside an open connection of
 * the same process would drop that connection's locks (POSIX advisory locks belong to the process).
 *
 * Tables are created in rollback mode and the file switched to WAL afterwards, so that schema
 * version and application id are in the file itself, not in a log beside it.
 */
#include "archive/archive.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/field.h"
#include "archive/schema.h"
#include "archive/store.h"
#include "base/utf8.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"

#define BUSY_TIMEOUT_MS 10000
/* Larger archives are not checked as a whole when they are opened (it takes 1 ms a MiB); their
   damage is found where it is read. */
#define CHECK_BYTES_MAX (64 << 20)
/* No row is near this: environments, options and results are a few KiB. */
#define VALUE_BYTES_MAX (16 << 20)

/* ---- what SQLite's refusals mean --------------------------------------------------------------
 */

ak_status ak_store_fault(const ak_archive *archive, const char *what, ak_error *err)
{
    int code = sqlite3_errcode(archive->db);
    const char *path = archive->path;
    const char *detail = sqlite3_errmsg(archive->db);
    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return ak_fail_memory(err);
    case SQLITE_NOTADB:
        return ak_fail(err, AK_CORRUPT,
                       "%s: is not an archive (no SQLite file); nothing was changed: move it away "
                       "or give another path",
                       path);
    case SQLITE_CORRUPT:
        return ak_fail(err, AK_CORRUPT,
                       "%s: the archive is damaged (%s); nothing was changed: move it away or "
                       "recover it with the sqlite3 shell's .recover",
                       path, detail);
    case SQLITE_FULL:
        return ak_fail(err, AK_IO, "%s: %s: the disk is full; earlier trials are safe", path, what);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ak_fail(err, AK_TIMED_OUT,
                       "%s: %s: another process has kept it locked for %d s; try again", path, what,
                       BUSY_TIMEOUT_MS / 1000);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR: {
        int why = sqlite3_system_errno(archive->db);
        return ak_fail(err, AK_IO, "%s: %s: %s%s%s; check the permissions and the disk", path, what,
                       detail, why == 0 ? "" : ": ", why == 0 ? "" : strerror(why));
    }
    case SQLITE_TOOBIG:
        return ak_fail(err, AK_LIMIT, "%s: %s: a value is larger than %d bytes", path, what,
                       VALUE_BYTES_MAX);
    case SQLITE_CONSTRAINT:
        return ak_fail(err, AK_INVALID, "%s: %s: %s", path, what, detail);
    default:
        return ak_fail(err, AK_INTERNAL, "%s: %s: %s", path, what, detail);
    }
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

ak_status ak_store_text(char **out, sqlite3_stmt *statement, int column, ak_error *err)
{
    *out = NULL;
    if (sqlite3_column_type(statement, column) == SQLITE_NULL) {
        return AK_OK;
    }
    const char *text = (const char *)sqlite3_column_text(statement, column);
    if (text != NULL) {
        *out = ak_utf8_valid(text) ? ak_strdup(text) : ak_utf8_clean(text);
    }
    return *out == NULL ? ak_fail_memory(err) : AK_OK;
}

ak_status ak_store_begin(ak_archive *archive, ak_error *err)
{
    return ak_store_execute(archive, "BEGIN IMMEDIATE", err);
}

ak_status ak_store_commit(ak_archive *archive, ak_error *err)
{
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

/* ---- opening ----------------------------------------------------------------------------------
 */

/* The first value of a statement. */
static ak_status ask_int(int64_t *out, ak_archive *archive, const char *sql, ak_error *err)
{
    sqlite3_stmt *statement;
    ak_status status = ak_store_prepare(&statement, archive, sql, err);
    if (status == AK_OK) {
        if (sqlite3_step(statement) == SQLITE_ROW) {
            *out = sqlite3_column_int64(statement, 0);
        } else {
            status = ak_store_fault(archive, "cannot be read", err);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

static ak_status resolve(char out[AK_PATH_MAX], const char *path, ak_error *err)
{
    char folder[AK_PATH_MAX];
    if (path == NULL) {
        path = ak_env("AUTOKERNEL_ARCHIVE");
    }
    if (path == NULL) {
        ak_status status = ak_fs_data_folder(folder, err);
        return status == AK_OK ? ak_fs_join(out, folder, "archive.db", err) : status;
    }
    if (path[0] == 0) {
        return ak_fail(err, AK_INVALID, "the path of the archive is empty");
    }
    /* SQLite gives names like ":memory:" and "file:..." a meaning; a path with a slash has none. */
    return path[0] == '/' ? ak_fs_join(out, "/", path + 1, err) : ak_fs_join(out, ".", path, err);
}

/* Creates the folder that the file is to be in. */
static ak_status make_folder(const char *path, ak_error *err)
{
    char folder[AK_PATH_MAX];
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (length == 0) {
        return AK_OK;
    }
    memcpy(folder, path, length);
    folder[length] = 0;
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_fs_mkdirs(folder, &why);
    return status == AK_OK
               ? AK_OK
               : ak_fail(err, status, "%s; give another path for the archive", why.text);
}

/* In one snapshot: another process may create the tables between one question and the next. */
static ak_status ask_version(int64_t *application, int64_t *version, int64_t *objects,
                             ak_archive *archive, ak_error *err)
{
    bool alone = sqlite3_get_autocommit(archive->db) != 0;
    ak_status status = alone ? ak_store_execute(archive, "BEGIN", err) : AK_OK;
    if (status == AK_OK) {
        status = ask_int(application, archive, "PRAGMA application_id", err);
    }
    if (status == AK_OK) {
        status = ask_int(version, archive, "PRAGMA user_version", err);
    }
    if (status == AK_OK) {
        status = ask_int(objects, archive, "SELECT count(*) FROM sqlite_schema", err);
    }
    if (alone) {
        ak_store_rollback(archive); /* nothing was written */
    }
    return status;
}

static ak_status check_version(int64_t *version, ak_archive *archive, ak_error *err)
{
    int64_t application, objects;
    ak_status status = ask_version(&application, version, &objects, archive, err);
    if (status != AK_OK) {
        return status;
    }
    bool fresh = application == 0 && *version == 0 && objects == 0;
    if (!fresh && application != AK_SCHEMA_APPLICATION) {
        return ak_fail(err, AK_INVALID,
                       "%s: is a database of another program; nothing was changed: give another "
                       "path for the archive",
                       archive->path);
    }
    if (*version > AK_SCHEMA_VERSION) {
        return ak_fail(err, AK_INVALID,
                       "%s: has schema %lld, newer than the %d that this autokernel %s knows; "
                       "nothing was changed: use a newer autokernel or another archive",
                       archive->path, (long long)*version, AK_SCHEMA_VERSION, AK_VERSION);
    }
    if (!fresh && *version < 1) {
        return ak_fail(err, AK_CORRUPT,
                       "%s: has no schema version; nothing was changed: move it "
                       "away or give another path",
                       archive->path);
    }
    return AK_OK;
}

static ak_status check_pages(ak_archive *archive, ak_error *err)
{
    int64_t pages, page_bytes;
    ak_status status = ask_int(&pages, archive, "PRAGMA page_count", err);
    if (status == AK_OK) {
        status = ask_int(&page_bytes, archive, "PRAGMA page_size", err);
    }
    if (status != AK_OK || pages > CHECK_BYTES_MAX / page_bytes) {
        return status;
    }
    sqlite3_stmt *statement;
    status = ak_store_prepare(&statement, archive, "PRAGMA quick_check(1)", err);
    if (status == AK_OK && sqlite3_step(statement) != SQLITE_ROW) {
        status = ak_store_fault(archive, "cannot be read", err);
    }
    if (status == AK_OK) {
        const char *verdict = (const char *)sqlite3_column_text(statement, 0);
        if (verdict == NULL) {
            status = ak_fail_memory(err);
        } else if (strcmp(verdict, "ok") != 0) {
            status = ak_fail(err, AK_CORRUPT,
                             "%s: the archive is damaged (%.200s); nothing was changed: move it "
                             "away or recover it with the sqlite3 shell's .recover",
                             archive->path, verdict);
        }
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* Another process may be doing the same at this moment: the version is looked at again under the
   lock. */
static ak_status create_tables(ak_archive *archive, ak_error *err)
{
    int64_t version;
    ak_status status = ak_store_begin(archive, err);
    if (status == AK_OK) {
        status = check_version(&version, archive, err);
    }
    if (status == AK_OK && version == 0) {
        char pragmas[96];
        (void)snprintf(pragmas, sizeof pragmas,
                       "PRAGMA application_id = %d; PRAGMA user_version = %d",
                       AK_SCHEMA_APPLICATION, AK_SCHEMA_VERSION);
        status = ak_store_execute(archive, ak_schema_sql, err);
        if (status == AK_OK) {
            status = ak_store_execute(archive, pragmas, err);
        }
    }
    if (status != AK_OK) {
        ak_store_rollback(archive);
        return status;
    }
    return ak_store_commit(archive, err);
}

/* From an older schema to this one, step by step, all or nothing. Another process may be doing the
   same: under the lock the version is looked at again. */
static ak_status migrate(ak_archive *archive, ak_error *err)
{
    int64_t version;
    ak_status status = ak_store_begin(archive, err);
    if (status == AK_OK) {
        status = check_version(&version, archive, err);
    }
    for (; status == AK_OK && version < AK_SCHEMA_VERSION; version++) {
        if (sqlite3_exec(archive->db, ak_schema_steps[version - 1], NULL, NULL, NULL) !=
            SQLITE_OK) {
            status = (sqlite3_errcode(archive->db) & 0xff) == SQLITE_ERROR
                         ? ak_fail(err, AK_CORRUPT,
                                   "%s: the archive is damaged (%s); nothing was changed: move it "
                                   "away or give another path",
                                   archive->path, sqlite3_errmsg(archive->db))
                         : ak_store_fault(archive, "cannot be brought up to date", err);
        }
    }
    if (status == AK_OK) {
        char pragma[64];
        (void)snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", AK_SCHEMA_VERSION);
        status = ak_store_execute(archive, pragma, err);
    }
    if (status != AK_OK) {
        ak_store_rollback(archive);
        return status;
    }
    return ak_store_commit(archive, err);
}

/* The switch needs the file for a moment to itself and does not wait for it, so we do. */
static ak_status use_wal(ak_archive *archive, ak_error *err)
{
    int64_t end_ns = ak_clock_ns() + BUSY_TIMEOUT_MS * AK_MS_NS;
    for (;;) {
        sqlite3_stmt *statement;
        ak_status status = ak_store_prepare(&statement, archive, "PRAGMA journal_mode = WAL", err);
        if (status != AK_OK) {
            return status;
        }
        int code = sqlite3_step(statement);
        const char *mode =
            code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        bool switched = mode != NULL && strcmp(mode, "wal") == 0;
        code = sqlite3_finalize(statement);
        if (switched) {
            return AK_OK;
        }
        bool busy = code == SQLITE_OK || (code & 0xff) == SQLITE_BUSY;
        if (!busy) {
            return ak_store_fault(archive, "cannot be used", err);
        }
        if (ak_clock_ns() > end_ns) {
            return ak_fail(err, AK_IO,
                           "%s: cannot be used: SQLite refuses a write-ahead log here; put the "
                           "archive on a local disk",
                           archive->path);
        }
        ak_clock_sleep_ns(AK_MS_NS);
    }
}

/* Set for every connection. Nothing that a crafted file might hold (triggers, views, functions in
   expressions) is run. */
static ak_status configure(ak_archive *archive, ak_error *err)
{
    sqlite3 *db = archive->db;
    int off = 0;
    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX);
    bool good = sqlite3_busy_timeout(db, BUSY_TIMEOUT_MS) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, &off) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &off) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &off) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, &off) == SQLITE_OK;
    if (!good) {
        return ak_store_fault(archive, "cannot be used", err);
    }
    return ak_store_execute(archive,
                            "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; "
                            "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY",
                            err);
}

/* If a log is waiting beside the file, closing must not fold it in before we know the file. */
static bool has_log(const char *path)
{
    char log[AK_PATH_MAX];
    struct stat info;
    int length = snprintf(log, sizeof log, "%s-wal", path);
    return length > 0 && (size_t)length < sizeof log && stat(log, &info) == 0 && info.st_size > 0;
}

static ak_status accept_file(ak_archive *archive, bool log_waits, ak_error *err)
{
    int ignored;
    int64_t version;
    (void)sqlite3_db_config(archive->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, log_waits ? 1 : 0,
                            &ignored);
    ak_status status = configure(archive, err);
    if (status == AK_OK) {
        status = check_version(&version, archive, err);
    }
    if (status == AK_OK) {
        status = check_pages(archive, err);
    }
    if (status == AK_OK && sqlite3_db_readonly(archive->db, "main") == 1) {
        status = ak_fail(err, AK_IO,
                         "%s: is not writable; check its permissions or give another "
                         "path",
                         archive->path);
    }
    if (status == AK_OK && version == 0) {
        status = create_tables(archive, err);
    } else if (status == AK_OK && version < AK_SCHEMA_VERSION) {
        status = migrate(archive, err);
    }
    if (status == AK_OK && !archive->empty) {
        status = use_wal(archive, err);
    }
    return status;
}

#define COLUMN(name, kind, member)    "," #name
#define PARAMETER(name, kind, member) ",?"
static const char add_trial_sql[] =
    "INSERT INTO trials (id" AK_FIELD_MAP(COLUMN) ") VALUES (NULL" AK_FIELD_MAP(PARAMETER) ")";
#undef COLUMN
#undef PARAMETER

static ak_status open_at(ak_archive *archive, ak_error *err)
{
    struct stat info;
    if (stat(archive->path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return ak_fail(err, AK_INVALID, "%s: is not a file; give another path for the archive",
                       archive->path);
    }
    ak_status status = archive->empty ? AK_OK : make_folder(archive->path, err);
    if (status != AK_OK) {
        return status;
    }
    bool log_waits = has_log(archive->path);
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(archive->empty ? ":memory:" : archive->path, &archive->db, flags, NULL) !=
        SQLITE_OK) {
        return archive->db == NULL ? ak_fail_memory(err)
                                   : ak_store_fault(archive, "cannot be opened", err);
    }
    status = accept_file(archive, log_waits, err);
    if (status == AK_OK &&
        sqlite3_prepare_v3(archive->db, add_trial_sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &archive->add_trial, NULL) != SQLITE_OK) {
        status = (sqlite3_errcode(archive->db) & 0xff) == SQLITE_ERROR
                     ? ak_fail(err, AK_CORRUPT,
                               "%s: the archive is damaged (%s); nothing was "
                               "changed: move it away or give another path",
                               archive->path, sqlite3_errmsg(archive->db))
                     : ak_store_fault(archive, "cannot be read", err);
    }
    if (status == AK_OK) {
        int ignored;
        (void)sqlite3_db_config(archive->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, &ignored);
    }
    return status;
}

static ak_status open_archive(ak_archive **out, const char *path, bool to_read, ak_error *err)
{
    char resolved[AK_PATH_MAX];
    ak_status status = resolve(resolved, path, err);
    if (status != AK_OK) {
        return status;
    }
    ak_archive *archive = ak_alloc(1, sizeof *archive);
    if (archive != NULL) {
        archive->path = ak_strdup(resolved);
        archive->empty = to_read && access(resolved, F_OK) != 0 && errno == ENOENT;
    }
    status = archive == NULL || archive->path == NULL ? ak_fail_memory(err) : open_at(archive, err);
    if (status != AK_OK) {
        ak_archive_close(archive);
        return status;
    }
    *out = archive;
    return AK_OK;
}

ak_status ak_archive_open(ak_archive **out, const char *path, ak_error *err)
{
    return open_archive(out, path, false, err);
}

ak_status ak_archive_open_existing(ak_archive **out, const char *path, ak_error *err)
{
    return open_archive(out, path, true, err);
}

void ak_archive_close(ak_archive *archive)
{
    if (archive == NULL) {
        return;
    }
    (void)sqlite3_finalize(archive->add_trial);
    (void)sqlite3_close(archive->db);
    ak_free(archive->environment);
    ak_free(archive->path);
    ak_free(archive);
}

const char *ak_archive_path(const ak_archive *archive)
{
    return archive->path;
}
