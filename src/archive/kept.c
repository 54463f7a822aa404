/* kept.c: stores the sources of kernels in the archive under their hash, so that a measured kernel
   can still be shown, compiled and shipped after its files have changed or are gone. It also stores
   the hash of a trial's code if only the check of the finish has found that hash. */
#include "archive/archive.h"

#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/clock.h"

#define SQUEEZED_MAX (8u << 20)
#define SOURCES_MAX  (64u << 20)

ak_status ak_archive_keep_code(ak_archive *archive, int64_t trial, const char *hash, ak_error *err)
{
    sqlite3_stmt *statement = NULL;
    AK_AT_END(ak_trial_clear) ak_trial found = {0};
    bool known = false;
    const ak_archive_filter filter = {.id = trial};
    AK_DO(ak_archive_first(&known, &found, archive, &filter, err));
    if (known && found.code_hash == NULL) {
        AK_DO(ak_copy_text(&found.code_hash, hash, err));
        AK_DO(ak_store_prepare(&statement, archive,
                               "UPDATE trials SET code_hash = ?1, checksum = " AK_STORE_RENEWED
                               " WHERE id = ?3",
                               err));
        bool bound = ak_store_bind_text(statement, 1, hash) &&
                     sqlite3_bind_int64(statement, 2, ak_trial_checksum(&found)) == SQLITE_OK &&
                     sqlite3_bind_int64(statement, 3, trial) == SQLITE_OK;
        return ak_store_finish(archive, statement, bound, err);
    }
    return AK_OK;
}

ak_status ak_archive_keep_sources(ak_archive *archive, const char *hash, const ak_pack *sources,
                                  ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    char now[AK_CLOCK_UTC_BYTES];
    AK_AT_END(ak_buf_free) ak_buf files = AK_BUF(SQUEEZED_MAX);
    AK_DO(ak_pack_squeeze(&files, sources, err));
    AK_DO(ak_store_prepare(&statement, archive,
                           "INSERT INTO sources (hash, files, first_seen) VALUES (?1, ?2, ?3) "
                           "ON CONFLICT (hash) DO UPDATE SET files = excluded.files WHERE files "
                           "<> excluded.files",
                           err));
    ak_clock_utc(now);
    bool bound = ak_store_bind_text(statement, 1, hash) &&
                 sqlite3_bind_blob(statement, 2, files.data, (int)files.length, SQLITE_STATIC) ==
                     SQLITE_OK &&
                 ak_store_bind_text(statement, 3, now);
    AK_DO(ak_stored(bound, err));
    return sqlite3_step(statement) != SQLITE_DONE
               ? ak_store_fault(archive, "sources cannot be added", err)
               : AK_OK;
}

ak_status ak_archive_get_sources(ak_pack *out, ak_archive *archive, const char *hash, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *row = NULL;
    ak_status status = AK_OK;
    AK_DO(
        ak_store_query(&row, archive, "SELECT files FROM sources WHERE hash = ?1", &hash, 1, err));
    if (ak_store_next(&status, archive, row, err)) {
        const void *files = sqlite3_column_blob(row, 0);
        int bytes = sqlite3_column_bytes(row, 0);
        status = ak_pack_unsqueeze(out, files, (size_t)bytes, SOURCES_MAX, archive->path, err);
    } else if (status == AK_OK) {
        status = ak_fail(err, AK_NOT_FOUND, "%.200s has no sources with the hash %.40s",
                         archive->path, hash);
    }
    return status;
}

/* ---- of a trial ------------------------------------------------------------------------------ */

ak_status ak_archive_source(ak_archive *archive, int64_t trial, ak_source_visitor visit,
                            void *context, ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial found = {0};
    json_auto_t *environment = NULL;
    AK_AT_END(ak_pack_clear) ak_pack pack = {0};
    bool there;
    const ak_archive_filter filter = {.id = trial, .simulated = true};
    AK_DO(ak_archive_first(&there, &found, archive, &filter, err));
    AK_FAIL_IF(!there, err, AK_NOT_FOUND, "%.200s has no trial #%lld", archive->path,
               (long long)trial);
    AK_DO(ak_archive_environment(&environment, archive, found.environment, err));
    const char *hash = ak_json_text_or_null(environment, "source");
    AK_FAIL_IF(hash == NULL, err, AK_UNAVAILABLE, "%.200s: nobody knows the source of trial #%lld",
               archive->path, (long long)trial);
    ak_status status = ak_archive_get_sources(&pack, archive, hash, err);
    AK_DO(status != AK_NOT_FOUND
              ? status
              : ak_fail(err, AK_UNAVAILABLE, "%.200s did not keep the source of trial #%lld",
                        archive->path, (long long)trial));
    for (size_t i = 0; i < pack.count; i++) {
        visit(context, pack.files[i].name, pack.files[i].data, pack.files[i].length);
    }
    return status;
}
