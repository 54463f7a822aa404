/* place.c: computes the efficiency and the bound of archived trials again when higher ceilings were
   measured. */
#include "archive/store.h"

/* The efficiency is the least time that the roofline allows, divided by the measured time. This
   equals the larger of tflops / peak and gbs / bandwidth, so the archived rates suffice to compute
   it. */
static const char update[] =
    "UPDATE trials SET "
    "efficiency = max(CASE WHEN ?1 > 0 THEN tflops / ?1 ELSE 0 END, "
    "CASE WHEN ?2 > 0 THEN gbs / ?2 ELSE 0 END), "
    "bound = CASE WHEN tflops <= 0 OR (?2 > 0 AND (?1 <= 0 OR gbs / ?2 > tflops / ?1)) "
    "THEN 'memory' ELSE 'compute' END "
    "WHERE kernel = ?3 AND implementation = ?4 AND device = ?5 AND size = ?6 AND dtype = ?7 "
    "AND choices = ?8 AND environment IN " AK_STORE_ENVIRONMENTS(
        "?9") " AND status = 'ok' AND tflops IS NOT NULL "
              "AND gbs IS NOT NULL AND (?1 > 0 OR ?2 > 0)";

ak_status ak_archive_place(ak_archive *archive, const ak_archive_filter *task, double peak_tflops,
                           double bandwidth_gbs, ak_error *err)
{
    sqlite3_stmt *statement;
    AK_DO(ak_store_prepare(&statement, archive, update, err));
    const char *const texts[] = {task->kernel, task->implementation, task->device,     task->size,
                                 task->dtype,  task->choices,        task->environment};
    bool bound = sqlite3_bind_double(statement, 1, peak_tflops) == SQLITE_OK &&
                 sqlite3_bind_double(statement, 2, bandwidth_gbs) == SQLITE_OK;
    for (int i = 0; bound && i < (int)(AK_COUNT(texts)); i++) {
        bound = ak_store_bind_text(statement, i + 3, texts[i]);
    }
    return ak_store_finish(archive, statement, bound, err);
}
