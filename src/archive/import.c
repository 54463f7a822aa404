/*
 * import.c: adding the trials of a file, all or none: one transaction around the whole of it.
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
    size_t added;
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
        status = ak_store_import_trial(import->archive, trial, err);
    }
    if (status == AK_OK) {
        import->added++;
        if (old_id != 0) {
            id_key(key, old_id);
            status = ak_map_put(import->ids, key, (size_t)trial->id, err);
        }
    }
    return status;
}

ak_status ak_archive_import(size_t *added, ak_archive *archive, const char *format,
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
        status = ops->read(&import, text, length, path, err);
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
    }
    return status;
}
