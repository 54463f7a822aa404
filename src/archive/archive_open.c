/*
 * archive_open.c: opens and closes the archive.
 *
 * Nothing is written to an existing file before it is known to be empty or an archive with a known
 * schema and, up to CHECK_BYTES_MAX, without damage. Until then, closing the connection does not
 * fold an existing write-ahead log into the file either. An archive that is open is read and
 * written only through SQLite, because POSIX advisory locks belong to the process: opening and
 * closing the file in any other way, as ak_archive_is_at does, drops the locks of the connection.
 *
 * Tables are created in rollback mode and the file is switched to WAL afterwards, so that schema
 * version and application id are in the file itself, not in a log beside it.
 */
#include "archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"

#define BUSY_TIMEOUT_MS 10000
/* Larger archives are not checked as a whole when they are opened, because that takes 1 ms per MiB;
   damage is then found where it is read. */
#define CHECK_BYTES_MAX (64 << 20)

/* Writes the path of the archive: `path`, AUTOKERNEL_ARCHIVE if `path` is NULL, or the default
   place if that is not set either. *usual says whether it is the default place. */
static ak_status resolve(char out[AK_PATH_MAX], bool *usual, const char *path, ak_error *err)
{
    char folder[AK_PATH_MAX];
    if (path == NULL) {
        path = ak_env("AUTOKERNEL_ARCHIVE");
    }
    *usual = path == NULL;
    if (path == NULL) {
        ak_status status = ak_fs_data_folder(folder, err);
        return status == AK_OK ? ak_fs_join(out, folder, "archive.db", err) : status;
    }
    AK_FAIL_IF(path[0] == 0, err, AK_INVALID, "the path of the archive is empty");
    /* SQLite gives names like ":memory:" and "file:..." a meaning, but not paths with a slash. */
    return path[0] == '/' ? ak_fs_join(out, "/", path + 1, err) : ak_fs_join(out, ".", path, err);
}

/* Creates the folder of the archive at its default place. Any other folder must exist already: if
   it does not, the path is most likely mistyped. */
static ak_status make_folder(const char *path, bool usual, ak_error *err)
{
    char folder[AK_PATH_MAX];
    size_t length = (size_t)(strrchr(path, '/') - path);
    if (length == 0) {
        return AK_OK;
    }
    memcpy(folder, path, length);
    folder[length] = 0;
    ak_error why = AK_ERROR_INIT;
    AK_FAIL_IF(!usual && access(folder, F_OK) != 0 && errno == ENOENT, err, AK_NOT_FOUND,
               "%s: the folder %s does not exist; create it, or correct the path of the archive",
               path, folder);
    ak_status status = ak_fs_mkdirs(folder, &why);
    const int reason = errno;
    AK_FAIL_IF(status != AK_OK, err, status, "%s%s give another path for the archive", why.text,
               strchr(ak_fs_advice(reason), ';') == NULL ? ";" : ", and");
    return AK_OK;
}

/* Reads application id, version and number of objects in one snapshot, because another process may
   create the tables between two questions. */
static ak_status ask_version(int64_t *application, int64_t *version, int64_t *objects,
                             ak_archive *archive, ak_error *err)
{
    bool alone = sqlite3_get_autocommit(archive->db) != 0;
    ak_status status = AK_OK;
    AK_TRY(alone ? ak_store_execute(archive, "BEGIN", err) : AK_OK);
    AK_TRY(ak_store_ask(application, archive, "PRAGMA application_id", err));
    AK_TRY(ak_store_ask(version, archive, "PRAGMA user_version", err));
    AK_TRY(ak_store_ask(objects, archive, "SELECT count(*) FROM sqlite_schema", err));
out:
    if (alone) {
        ak_store_rollback(archive); /* nothing was written */
    }
    return status;
}

static ak_status check_version(int64_t *version, ak_archive *archive, ak_error *err)
{
    int64_t application, objects;
    AK_DO(ask_version(&application, version, &objects, archive, err));
    bool fresh = application == 0 && *version == 0 && objects == 0;
    AK_FAIL_IF(!fresh && application != AK_SCHEMA_APPLICATION, err, AK_INVALID,
               "%s is a database of another program; nothing was changed: give another path for "
               "the archive",
               archive->path);
    AK_FAIL_IF(*version > AK_SCHEMA_VERSION, err, AK_INVALID,
               "%s has schema %lld, newer than the %d that this autokernel %s knows; nothing was "
               "changed: use a newer autokernel or another archive",
               archive->path, (long long)*version, AK_SCHEMA_VERSION, AK_VERSION);
    AK_FAIL_IF(!fresh && *version < 1, err, AK_CORRUPT,
               "%s has no schema version; nothing was changed: move it away or give another path",
               archive->path);
    return AK_OK;
}

static ak_status check_pages(ak_archive *archive, ak_error *err)
{
    int64_t pages, page_bytes;
    AK_DO(ak_store_ask(&pages, archive, "PRAGMA page_count", err));
    AK_DO(ak_store_ask(&page_bytes, archive, "PRAGMA page_size", err));
    if (pages > CHECK_BYTES_MAX / page_bytes) {
        return AK_OK;
    }
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    AK_DO(ak_store_prepare(&statement, archive, "PRAGMA quick_check(1)", err));
    if (sqlite3_step(statement) != SQLITE_ROW) {
        AK_DO(ak_store_fault(archive, "cannot be read", err));
    }
    const char *verdict = (const char *)sqlite3_column_text(statement, 0);
    AK_DO(ak_made(verdict, err));
    if (strcmp(verdict, "ok") != 0) {
        AK_DO(ak_store_damaged(archive, verdict, err));
    }
    return AK_OK;
}

/* Reports a statement that failed. SQLITE_ERROR means that the archive lacks a table or a column.
   `what` completes "PATH: ..." for other errors. */
static ak_status misfit(const ak_archive *archive, const char *what, ak_error *err)
{
    return (sqlite3_errcode(archive->db) & 0xff) == SQLITE_ERROR
               ? ak_fail(err, AK_CORRUPT,
                         "%s: the archive is damaged (%s); nothing was changed: move it away or "
                         "give another path",
                         archive->path, sqlite3_errmsg(archive->db))
               : ak_store_fault(archive, what, err);
}

/* Creates the tables, or migrates them from an older schema step by step, all or nothing. Reads the
   version again under the lock, because another process may be doing the same. */
static ak_status bring_up_to_date(ak_archive *archive, ak_error *err)
{
    char pragmas[96];
    int64_t version;
    ak_status status = AK_OK;
    AK_DO(ak_store_begin(archive, err));
    AK_TRY(check_version(&version, archive, err));
    if (version == 0) {
        AK_TRY(ak_store_execute(archive, ak_schema_sql, err));
        version = AK_SCHEMA_VERSION;
    }
    for (; version < AK_SCHEMA_VERSION; version++) {
        AK_TRY(sqlite3_exec(archive->db, ak_schema_steps[version - 1], NULL, NULL, NULL) ==
                       SQLITE_OK
                   ? AK_OK
                   : misfit(archive, "cannot be brought up to date", err));
    }
    (void)snprintf(pragmas, sizeof pragmas, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                   AK_SCHEMA_APPLICATION, AK_SCHEMA_VERSION);
    AK_TRY(ak_store_execute(archive, pragmas, err));
out:
    return ak_store_end_transaction(archive, status, err);
}

/* Switches to a write-ahead log. SQLite switches only while no other connection uses the file, and
   does not wait for that moment, so this function waits, for at most BUSY_TIMEOUT_MS. */
static ak_status use_wal(ak_archive *archive, ak_error *err)
{
    int64_t end_ns = ak_clock_ns() + BUSY_TIMEOUT_MS * AK_MS_NS;
    for (;;) {
        sqlite3_stmt *statement;
        AK_DO(ak_store_prepare(&statement, archive, "PRAGMA journal_mode = WAL", err));
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
        AK_FAIL_IF(ak_clock_ns() > end_ns, err, AK_IO,
                   "%s: cannot be used: SQLite refuses a write-ahead log here; put the archive on "
                   "a local disk",
                   archive->path);
        ak_clock_sleep_ns(AK_MS_NS);
    }
}

/* Sets the options of every connection. No code that a crafted file might hold is run: triggers,
   views, and unsafe functions in expressions. */
static ak_status configure(ak_archive *archive, ak_error *err)
{
    sqlite3 *db = archive->db;
    int off = 0;
    (void)sqlite3_extended_result_codes(db, 1);
    (void)sqlite3_limit(db, SQLITE_LIMIT_LENGTH, AK_STORE_VALUE_MAX);
    ak_store_busy(archive, BUSY_TIMEOUT_MS);
    bool good = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, &off) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &off) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, &off) == SQLITE_OK &&
                sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, &off) == SQLITE_OK &&
                ak_store_add_functions(db);
    if (!good) {
        return ak_store_fault(archive, "cannot be used", err);
    }
    return ak_store_execute(archive,
                            "PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON; "
                            "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY",
                            err);
}

/* Returns whether a write-ahead log that is not empty lies beside the file. Closing must not fold
   the log into the file before the file is known to be an archive. */
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
    AK_DO(configure(archive, err));
    AK_DO(check_version(&version, archive, err));
    AK_DO(check_pages(archive, err));
    AK_FAIL_IF(sqlite3_db_readonly(archive->db, "main") == 1, err, AK_IO,
               "%s is not writable; check its permissions or give another path", archive->path);
    if (version < AK_SCHEMA_VERSION) {
        AK_DO(bring_up_to_date(archive, err));
    }
    if (!archive->empty && !archive->copied) {
        AK_DO(use_wal(archive, err));
    }
    return AK_OK;
}

#define COLUMN(name, kind, member, by)    "," #name
#define PARAMETER(name, kind, member, by) ",?"
static const char add_trial_sql[] = "INSERT INTO trials (id" AK_FIELD_MAP(
    COLUMN) ",checksum) VALUES (NULL" AK_FIELD_MAP(PARAMETER) ",?)";
#undef COLUMN
#undef PARAMETER

/* ---- archives that are only read ------------------------------------------------------------- */

/* Returns whether this process may read a file, but may not write it or may not create the files
   that SQLite puts beside it. */
static bool only_readable(const char *path)
{
    char folder[AK_PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        slash[slash == folder ? 1 : 0] = 0;
    }
    return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0 &&
           (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 ||
            faccessat(AT_FDCWD, slash == NULL ? "." : folder, W_OK, AT_EACCESS) != 0);
}

/* Opens a file beside which SQLite cannot create the files that it needs. It cannot lock such a
   file, so it has to be told that the file does not change. */
static int open_immutable(sqlite3 **out, const char *path)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
    AK_AT_END(ak_buf_free) ak_buf uri = AK_BUF(4 * AK_PATH_MAX);
    ak_buf_puts(&uri, "file:");
    for (const char *c = path; *c != 0; c++) {
        if (strchr(plain, *c) != NULL) {
            ak_buf_putc(&uri, *c);
        } else {
            ak_buf_print(&uri, "%%%02x", (unsigned char)*c);
        }
    }
    ak_buf_puts(&uri, "?immutable=1");
    return ak_buf_status(&uri, NULL) == AK_OK
               ? sqlite3_open_v2(uri.data, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL)
               : SQLITE_NOMEM;
}

static int copy_from(sqlite3 *to, sqlite3 *from)
{
    sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");
    if (backup == NULL) {
        return sqlite3_errcode(to);
    }
    (void)sqlite3_backup_step(backup, -1);
    return sqlite3_backup_finish(backup);
}

/* Copies an archive into memory, where an older schema can be brought up to date. */
static ak_status copy_into_memory(ak_archive *archive, bool log_waits, ak_error *err)
{
    sqlite3 *from = NULL;
    int code = sqlite3_open_v2(archive->path, &from, SQLITE_OPEN_READONLY, NULL);
    code = code == SQLITE_OK ? copy_from(archive->db, from) : code;
    bool no_lock = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY ||
                   (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR;
    if (no_lock && !log_waits) {
        (void)sqlite3_close(from);
        from = NULL;
        code = open_immutable(&from, archive->path);
        code = code == SQLITE_OK ? copy_from(archive->db, from) : code;
    }
    (void)sqlite3_close(from);
    if (code == SQLITE_OK) {
        return AK_OK;
    }
    if (code == SQLITE_NOMEM) {
        return ak_fail_memory(err);
    }
    if ((code & 0xff) == SQLITE_CORRUPT) {
        return ak_store_damaged(archive, sqlite3_errstr(code), err);
    }
    return (code & 0xff) == SQLITE_NOTADB
               ? ak_fail(err, AK_CORRUPT, "%s is not an archive (not a SQLite file)", archive->path)
               : ak_fail(err, AK_IO,
                         "%s: cannot be read (%s); copy it%s to a place that is writable",
                         archive->path, sqlite3_errstr(code),
                         log_waits ? " and the -wal file beside it" : "");
}

static ak_status open_at(ak_archive *archive, bool usual, ak_error *err)
{
    struct stat info;
    AK_FAIL_IF(stat(archive->path, &info) == 0 && !S_ISREG(info.st_mode), err, AK_INVALID,
               "%s is not a file; give another path for the archive", archive->path);
    bool in_memory = archive->empty || archive->copied;
    AK_DO(in_memory ? AK_OK : make_folder(archive->path, usual, err));
    bool log_waits = has_log(archive->path);
    int flags =
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    /* The file is created here because SQLite would not say why it cannot be created. SQLite gives
       its other files the same private mode. */
    if (!in_memory && !ak_fs_create_private(archive->path) && errno != EEXIST) {
        int why = errno;
        AK_FAIL_IF(access(archive->path, F_OK) != 0, err, AK_IO,
                   "%s: cannot be created: %s; give another path for the archive", archive->path,
                   strerror(why));
    }
    if (sqlite3_open_v2(in_memory ? ":memory:" : archive->path, &archive->db, flags, NULL) !=
        SQLITE_OK) {
        return archive->db == NULL ? ak_fail_memory(err)
                                   : ak_store_fault(archive, "cannot be opened", err);
    }
    AK_DO(archive->copied ? copy_into_memory(archive, log_waits, err) : AK_OK);
    AK_DO(accept_file(archive, log_waits, err));
    if (sqlite3_prepare_v3(archive->db, add_trial_sql, -1, SQLITE_PREPARE_PERSISTENT,
                           &archive->add_trial, NULL) != SQLITE_OK) {
        return misfit(archive, "cannot be read", err);
    }
    int ignored;
    (void)sqlite3_db_config(archive->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, &ignored);
    return AK_OK;
}

/* Returns whether there is no file, or an empty one without a log. Opening such a path for reading
   gives an empty archive in memory and makes no file. */
static bool has_nothing(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 ? errno == ENOENT
                                  : S_ISREG(info.st_mode) && info.st_size == 0 && !has_log(path);
}

typedef enum purpose { TO_WRITE, TO_READ, TO_COPY } purpose;

static ak_status open_archive(ak_archive **out, const char *path, purpose why, ak_error *err)
{
    char resolved[AK_PATH_MAX];
    bool usual;
    AK_DO(resolve(resolved, &usual, path, err));
    ak_archive *archive = ak_alloc(1, sizeof *archive);
    if (archive != NULL) {
        archive->path = ak_strdup(resolved);
        archive->empty = why != TO_WRITE && has_nothing(resolved);
        archive->copied =
            !archive->empty && (why == TO_COPY || (why == TO_READ && only_readable(resolved)));
    }
    ak_error first = AK_ERROR_INIT;
    ak_status status = archive == NULL || archive->path == NULL ? ak_fail_memory(&first)
                                                                : open_at(archive, usual, &first);
    if (status == AK_IO && why == TO_READ && !archive->empty && !archive->copied) {
        /* On a full disk SQLite cannot make its files beside the archive, but a copy in memory
           needs none. */
        (void)sqlite3_close(archive->db);
        archive->db = NULL;
        archive->copied = true;
        status = open_at(archive, usual, NULL) == AK_OK ? AK_OK : AK_IO;
    }
    if (status != AK_OK) {
        ak_archive_close(archive);
        return ak_fail(err, status, "%s", first.text);
    }
    *out = archive;
    return AK_OK;
}

ak_status ak_archive_open(ak_archive **out, const char *path, ak_error *err)
{
    return open_archive(out, path, TO_WRITE, err);
}

ak_status ak_archive_open_existing(ak_archive **out, const char *path, ak_error *err)
{
    return open_archive(out, path, TO_READ, err);
}

ak_status ak_archive_open_copy(ak_archive **out, const char *path, ak_error *err)
{
    return open_archive(out, path, TO_COPY, err);
}

bool ak_archive_is_at(const char *path)
{
    static const char begin[] = "SQLite format 3"; /* the final 0 belongs to it */
    return ak_fs_begins(path, begin, sizeof begin);
}

void ak_archive_close(ak_archive *archive)
{
    if (archive == NULL) {
        return;
    }
    ak_waiting_free(archive);
    (void)sqlite3_finalize(archive->add_trial);
    (void)sqlite3_close(archive->db);
    AK_FREE_ALL(archive->environment, archive->path, archive);
}

const char *ak_archive_path(const ak_archive *archive)
{
    return archive->path;
}
