/* kept.c: stores the sources of kernels in the archive under their hash, so that a measured kernel
   can still be shown, compiled and shipped after its files have changed or are gone. */
#include "archive/archive.h"

#include <string.h>

#include "archive/store.h"
#include "base/alloc.h"
#include "base/clock.h"

#define SQUEEZED_MAX (8u << 20)
#define SOURCES_MAX  (64u << 20)

ak_status ak_archive_keep_sources(ak_archive *archive, const char *hash, const ak_pack *sources,
                                  ak_error *err)
{
    sqlite3_stmt *statement = NULL;
    char now[AK_CLOCK_UTC_BYTES];
    ak_buf files = AK_BUF(SQUEEZED_MAX);
    ak_status status = AK_OK;
    AK_TRY(ak_pack_squeeze(&files, sources, err));
    AK_TRY(ak_store_prepare(&statement, archive,
                            "INSERT OR IGNORE INTO sources (hash, files, first_seen) "
                            "VALUES (?1, ?2, ?3)",
                            err));
    ak_clock_utc(now);
    bool bound = ak_store_bind_text(statement, 1, hash) &&
                 sqlite3_bind_blob(statement, 2, files.data, (int)files.length, SQLITE_STATIC) ==
                     SQLITE_OK &&
                 ak_store_bind_text(statement, 3, now);
    AK_TRY(bound ? AK_OK : ak_fail_memory(err));
    if (sqlite3_step(statement) != SQLITE_DONE) {
        status = ak_store_fault(archive, "sources cannot be added", err);
    }
out:
    (void)sqlite3_finalize(statement);
    ak_buf_free(&files);
    return status;
}

ak_status ak_archive_get_sources(ak_pack *out, ak_archive *archive, const char *hash, ak_error *err)
{
    sqlite3_stmt *statement = NULL;
    ak_status status = ak_store_query(&statement, archive,
                                      "SELECT files FROM sources WHERE hash = ?1", &hash, 1, err);
    int code = status == AK_OK ? sqlite3_step(statement) : SQLITE_OK;
    if (status == AK_OK && code == SQLITE_DONE) {
        status = ak_fail(err, AK_NOT_FOUND, "%.200s has no sources with the hash %.40s",
                         archive->path, hash);
    } else if (status == AK_OK && code != SQLITE_ROW) {
        status = ak_store_fault(archive, "cannot be read", err);
    } else if (status == AK_OK) {
        const void *files = sqlite3_column_blob(statement, 0);
        int bytes = sqlite3_column_bytes(statement, 0);
        status = ak_pack_unsqueeze(out, files, (size_t)bytes, SOURCES_MAX, archive->path, err);
    }
    (void)sqlite3_finalize(statement);
    return status;
}

/* ---- of a trial -------------------------------------------------------------------------------
 */

typedef struct found {
    char *environment;
    bool found, lost;
} found;

static bool take_environment(void *context, const ak_trial *trial)
{
    found *f = context;
    f->found = true;
    f->environment = ak_strdup(trial->environment);
    f->lost = trial->environment != NULL && f->environment == NULL;
    return false;
}

ak_status ak_archive_source(ak_archive *archive, int64_t trial, ak_source_visitor visit,
                            void *context, ak_error *err)
{
    found f = {NULL, false, false};
    char *words = NULL;
    json_t *known = NULL;
    ak_pack pack = {0};
    ak_status status = AK_OK;
    const ak_archive_filter filter = {.id = trial, .simulated = true, .limit = 1};
    AK_TRY(ak_archive_each(archive, &filter, take_environment, &f, err));
    AK_TRY(f.lost ? ak_fail_memory(err) : AK_OK);
    AK_TRY(f.found ? AK_OK
                   : ak_fail(err, AK_NOT_FOUND, "%.200s has no trial #%lld", archive->path,
                             (long long)trial));
    AK_TRY(f.environment == NULL ? AK_OK
                                 : ak_archive_environment(&words, archive, f.environment, err));
    AK_TRY(words == NULL ? AK_OK : ak_json_parse(&known, words, strlen(words), "words", err));
    const char *hash = json_string_value(json_object_get(known, "source"));
    AK_TRY(hash != NULL
               ? AK_OK
               : ak_fail(err, AK_NOT_FOUND, "%.200s: nobody knows the source of trial #%lld",
                         archive->path, (long long)trial));
    AK_TRY(ak_archive_get_sources(&pack, archive, hash, err));
    for (size_t i = 0; i < pack.count; i++) {
        visit(context, pack.files[i].name, pack.files[i].data, pack.files[i].length);
    }
out:
    ak_pack_clear(&pack);
    json_decref(known);
    ak_free(words);
    ak_free(f.environment);
    return status;
}
