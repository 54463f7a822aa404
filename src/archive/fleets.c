/* fleets.c: keeps the state of remote workers, one row for each running tuner that has workers on
   other machines. The table is not part of the schema, because nothing in it lasts: the first such
   tuner makes it, and each removes its row when it ends. A row that has not been renewed for long
   belongs to a tuner that was killed. */
#include "archive/overview.h"

#include "archive/store.h"
#include "base/clock.h"

#define MAKE                                                                                       \
    "CREATE TABLE IF NOT EXISTS fleets (\n"                                                        \
    "  id TEXT PRIMARY KEY,\n"                                                                     \
    "  seen TEXT NOT NULL,\n"                                                                      \
    "  run TEXT,\n" /* NULL: the run is not in the archive yet */                                  \
    "  about TEXT NOT NULL,\n"                                                                     \
    "  workers TEXT NOT NULL\n" /* JSON */                                                         \
    ") STRICT, WITHOUT ROWID;\n"

/* A tuner that ends also removes rows older than this, which killed tuners left behind. */
#define LONG_AGO "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days')"
/* How long to wait for other writers. A row that is not written now is written at the next
   change. */
#define PATIENCE_MS 50

void ak_archive_note_fleet(ak_archive *archive, const ak_overview_fleet *fleet)
{
    char now[AK_CLOCK_UTC_BYTES];
    const char *const texts[] = {fleet->id, now, fleet->run, fleet->about, fleet->workers_json};
    const int busy_ms = archive->busy_ms;
    ak_status status = AK_OK;
    ak_clock_utc(now);
    ak_store_busy(archive, PATIENCE_MS);
    if (fleet->workers_json == NULL) {
        AK_TRY(ak_store_change(archive, "DELETE FROM fleets WHERE id = ?1 OR seen < " LONG_AGO,
                               texts, 1, NULL));
    } else {
        AK_TRY(ak_store_execute(archive, MAKE, NULL));
        AK_TRY(ak_store_change(archive,
                               "INSERT OR REPLACE INTO fleets (id, seen, run, about, workers) "
                               "VALUES (?1, ?2, ?3, ?4, ?5)",
                               texts, 5, NULL));
    }
out:
    /* A failure does not matter: the next report writes the row again, and a row that was not
       removed is removed when it is old (LONG_AGO). */
    (void)status;
    ak_store_busy(archive, busy_ms);
}

ak_status ak_archive_fleets(ak_archive *archive, ak_overview_fleet_visitor visit, void *context,
                            ak_error *err)
{
    sqlite3_stmt *rows;
    char *texts[5] = {NULL};
    ak_status status = AK_OK;
    bool more = true, there;
    AK_DO(ak_store_has_table(&there, archive, "fleets", err));
    if (!there) {
        return AK_OK;
    }
    AK_DO(ak_store_prepare(&rows, archive,
                           "SELECT id, seen, run, about, workers FROM fleets ORDER BY id", err));
    while (more && ak_store_next_texts(&status, texts, 5, archive, rows, err)) {
        const ak_overview_fleet fleet = {.id = texts[0],
                                         .seen = texts[1],
                                         .run = texts[2],
                                         .about = texts[3],
                                         .workers_json = texts[4]};
        more = visit(context, &fleet);
    }
    return ak_store_end(status, texts, 5, rows);
}
