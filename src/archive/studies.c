/* studies.c: keeps the results of studies and simulations, and reads them. */
#include "archive/overview.h"

#include <string.h>

#include "archive/store.h"
#include "base/clock.h"

static bool is_kind(const char *kind)
{
    return kind != NULL && (strcmp(kind, AK_STUDY) == 0 || strcmp(kind, AK_SIMULATION) == 0);
}

ak_status ak_archive_add_study(ak_archive *archive, const char *kind, const char *json,
                               ak_error *err)
{
    json_auto_t *object = NULL;
    char now[AK_CLOCK_UTC_BYTES];
    const char *const texts[] = {now, kind, json};
    AK_FAIL_IF(!is_kind(kind), err, AK_INVALID,
               "a result of a study has the kind study or simulate");
    AK_DO(ak_json_parse_text(&object, json, kind, err));
    AK_FAIL_IF(!json_is_array(
                   json_object_get(object, strcmp(kind, AK_STUDY) == 0 ? "arms" : "strategies")),
               err, AK_INVALID, "%s: this is not a result of %s", kind, kind);
    ak_clock_utc(now);
    return ak_store_change(archive, "INSERT INTO studies (ended, kind, result) VALUES (?1, ?2, ?3)",
                           texts, 3, err);
}

ak_status ak_archive_studies_since(ak_archive *archive, int64_t id, ak_overview_study_visitor visit,
                                   void *context, ak_error *err)
{
    sqlite3_stmt *rows;
    char *texts[3] = {NULL};
    ak_status status = AK_OK;
    bool more = true;
    AK_DO(ak_store_prepare(&rows, archive,
                           "SELECT ended, kind, result, id FROM studies WHERE id > ?1 ORDER BY id",
                           err));
    (void)sqlite3_bind_int64(rows, 1, id);
    while (more && ak_store_next_texts(&status, texts, 3, archive, rows, err)) {
        const ak_overview_study study = {.id = sqlite3_column_int64(rows, 3),
                                         .ended = texts[0],
                                         .kind = texts[1],
                                         .result_json = texts[2]};
        more = visit(context, &study);
    }
    return ak_store_end(status, texts, 3, rows);
}
