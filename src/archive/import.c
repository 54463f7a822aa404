/*
 * import.c: adding the trials of a file, all or none: one transaction around the whole of it. What
 * the archive had before is not added again.
 *
 * Ids are given anew. A trial's parent is another trial of the same file, so the old ids are kept
 * in a map until the end.
 */
#include "archive/format.h"

#include <string.h>

#include "archive/store.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/map.h"

struct ak_import {
    ak_archive *archive;
    ak_map *ids; /* id in the file, as text -> id in the archive */
    sqlite3_stmt *same;
    int64_t before; /* ids up to this one were there when the import began */
    size_t added, known;
};

static void id_key(char out[24], int64_t id)
{
    (void)snprintf(out, 24, "%lld", (long long)id);
}

/* Success says: this configuration takes so long. Without the time it says nothing. */
static ak_status check_success(const ak_trial *trial, const char *where, ak_error *err)
{
    if (trial->status != AK_TRIAL_OK) {
        return AK_OK;
    }
    if (trial->config == NULL) {
        return ak_fail(err, AK_INVALID, "%s: the status is ok, but \"config\" is missing", where);
    }
    if (trial->median_ms <= 0) {
        return ak_fail(err, AK_INVALID, "%s: the status is ok, but there is no time (\"ms\")",
                       where);
    }
    return AK_OK;
}

/* ---- what is there already ------------------------------------------------------------------- */

/* By the configuration, of which an archive has few trials; of a task it may have all. */
static const char same_sql[] =
    "SELECT id FROM trials INDEXED BY trials_by_config WHERE config = ?1 AND id <= ?2 AND kernel = "
    "?3 AND implementation = ?4 AND device = ?5 AND size = ?6 AND dtype = ?7 AND choices = ?8 AND "
    "status = ?9 AND run IS ?10 AND environment IS ?11 AND ms IS ?12 AND (?13 IS NULL OR timestamp "
    "= ?13) LIMIT 1";

static ak_status prepare_same(ak_import *import, ak_error *err)
{
    sqlite3_stmt *last = NULL;
    ak_status status = ak_store_prepare(&import->same, import->archive, same_sql, err);
    if (status == AK_OK) {
        status = ak_store_prepare(&last, import->archive, "SELECT coalesce(max(id), 0) FROM trials",
                                  err);
    }
    if (status == AK_OK) {
        status = sqlite3_step(last) == SQLITE_ROW
                     ? AK_OK
                     : ak_store_fault(import->archive, "cannot be read", err);
        import->before = sqlite3_column_int64(last, 0);
    }
    (void)sqlite3_finalize(last);
    return status;
}

/* *id is 0 if there is none. A file without times says less: there the time may be any. */
static ak_status find_same(int64_t *id, const ak_import *import, const ak_trial *trial,
                           ak_error *err)
{
    sqlite3_stmt *s = import->same;
    const char *const texts[] = {trial->kernel, trial->implementation, trial->device,
                                 trial->size,   trial->dtype,          trial->choices};
    const char *config = trial->config == NULL ? "" : trial->config;
    bool bound =
        ak_store_bind_text(s, 1, config) && sqlite3_bind_int64(s, 2, import->before) == SQLITE_OK;
    for (int i = 0; i < 6 && bound; i++) {
        bound = ak_store_bind_text(s, 3 + i, texts[i] == NULL ? "" : texts[i]);
    }
    bound = bound && ak_store_bind_text(s, 9, ak_trial_status_text(trial->status)) &&
            ak_store_bind_text(s, 10, trial->run) &&
            ak_store_bind_text(s, 11, trial->environment) &&
            (trial->median_ms > 0 ? sqlite3_bind_double(s, 12, trial->median_ms)
                                  : sqlite3_bind_null(s, 12)) == SQLITE_OK &&
            ak_store_bind_text(s, 13, trial->timestamp);
    int code = bound ? sqlite3_step(s) : SQLITE_NOMEM;
    *id = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    ak_status status = !bound ? ak_fail_memory(err)
                       : code == SQLITE_ROW || code == SQLITE_DONE
                           ? AK_OK
                           : ak_store_fault(import->archive, "cannot be read", err);
    (void)sqlite3_reset(s);
    (void)sqlite3_clear_bindings(s);
    return status;
}

/* Adds it unless it is there; trial->id is that in the archive then. */
static ak_status add_new(ak_import *import, ak_trial *trial, ak_error *err)
{
    int64_t known = 0;
    ak_status status = find_same(&known, import, trial, err);
    if (status == AK_OK && known != 0) {
        trial->id = known;
        import->known++;
    } else if (status == AK_OK) {
        status = ak_store_import_trial(import->archive, trial, err);
        import->added += status == AK_OK ? 1 : 0;
    }
    return status;
}

ak_status ak_import_add(ak_import *import, ak_trial *trial, const char *where, ak_error *err)
{
    char key[24];
    size_t parent = 0;
    int64_t old_id = trial->id;
    id_key(key, trial->parent);
    trial->parent =
        trial->parent != 0 && ak_map_get(&parent, import->ids, key) ? (int64_t)parent : 0;
    ak_status status = AK_OK;
    if (trial->timestamp != NULL) {
        char utc[AK_TIMESTAMP_BYTES];
        status =
            ak_format_timestamp(utc, trial->timestamp)
                ? ak_trial_set(&trial->timestamp, utc, err)
                : ak_fail(err, AK_INVALID, "%s: \"%.60s\" is no time like 2026-11-21T10:54:22Z",
                          where, trial->timestamp);
    }
    if (status == AK_OK && trial->strategy == NULL) {
        status = ak_trial_set(&trial->strategy, "import", err);
    }
    if (status == AK_OK) {
        status = ak_trial_validate(trial, where, err);
    }
    if (status == AK_OK) {
        status = check_success(trial, where, err);
    }
    if (status == AK_OK) {
        status = add_new(import, trial, err);
    }
    if (status == AK_OK && old_id != 0) {
        id_key(key, old_id);
        status = ak_map_put(import->ids, key, (size_t)trial->id, err);
    }
    return status;
}

ak_status ak_archive_import(size_t *added, size_t *known, ak_archive *archive, const char *format,
                            const char *path, ak_error *err)
{
    const ak_format_ops *ops;
    ak_status status = ak_format_find(&ops, format, err);
    if (status != AK_OK) {
        return status;
    }
    if (ops->read == NULL) {
        return ak_fail(err, AK_INVALID, "format %s can only be exported", format);
    }
    char *text;
    size_t length;
    status = ak_fs_read(&text, &length, path, AK_IMPORT_BYTES_MAX, err);
    if (status != AK_OK) {
        return status;
    }
    ak_import import = {.archive = archive, .ids = ak_map_new()};
    bool begun = false;
    if (import.ids == NULL) {
        status = ak_fail_memory(err);
    } else if (strlen(text) != length) {
        status = ak_fail(err, AK_INVALID,
                         "%s: holds a 0 byte: it is no text file; unpack it first "
                         "if it is compressed",
                         path);
    } else {
        status = ak_store_begin(archive, err);
        begun = status == AK_OK;
    }
    if (begun) {
        status = prepare_same(&import, err);
        status = status == AK_OK ? ops->read(&import, text, length, path, err) : status;
        (void)sqlite3_finalize(import.same);
        if (status == AK_OK) {
            status = ak_store_commit(archive, err);
        } else {
            ak_store_rollback(archive);
        }
    }
    ak_map_free(import.ids);
    ak_free(text);
    if (status == AK_OK) {
        *added = import.added;
        if (known != NULL) {
            *known = import.known;
        }
    }
    return status;
}
