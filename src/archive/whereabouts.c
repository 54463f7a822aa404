/* whereabouts.c: keeps the process and the paths of the files of runs that began on this machine.
   Like the table of fleets.c, this one is not part of the schema: it is true only on this machine,
   and is neither merged nor exported. It shows whether a run was killed, and which command repeats
   the run. */
#include "archive/overview.h"

#include <string.h>

#include "archive/store.h"
#include "base/alive.h"
#include "base/alloc.h"
#include "problem/problem.h"

#define MAKE                                                                                       \
    "CREATE TABLE IF NOT EXISTS whereabouts (\n"                                                   \
    "  run TEXT PRIMARY KEY,\n"                                                                    \
    "  process TEXT NOT NULL,\n" /* base/alive.h */                                                \
    "  paths TEXT NOT NULL\n"    /* JSON: options of the run that name files, as absolute paths */ \
    ") STRICT, WITHOUT ROWID;\n"

/* How long to wait for other writers; after that the run goes on without an entry. */
#define PATIENCE_MS 50

void ak_archive_note_whereabouts(ak_archive *archive, const char *run, const json_t *paths)
{
    char process[AK_ALIVE_BYTES], *text = NULL;
    const int busy_ms = archive->busy_ms;
    ak_status status = AK_OK;
    ak_alive_note(process);
    ak_store_busy(archive, PATIENCE_MS);
    AK_TRY(ak_json_text(&text, paths, NULL));
    AK_TRY(ak_store_execute(archive, MAKE, NULL));
    AK_TRY(ak_store_change(
        archive, "INSERT OR REPLACE INTO whereabouts (run, process, paths) VALUES (?1, ?2, ?3)",
        (const char *const[]){run, process, text}, 3, NULL));
out:
    (void)status; /* a failure is ignored, because no result depends on this row */
    ak_store_busy(archive, busy_ms);
    ak_free(text);
}

ak_status ak_archive_whereabouts(char **process, json_t **paths, ak_archive *archive,
                                 const char *run, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *row = NULL;
    bool there;
    AK_FREED char *text = NULL;
    ak_status status = AK_OK;
    *process = NULL;
    *paths = NULL;
    AK_DO(ak_store_has_table(&there, archive, "whereabouts", err));
    if (!there) {
        return AK_OK;
    }
    AK_DO(ak_store_query(&row, archive, "SELECT paths, process FROM whereabouts WHERE run = ?1",
                         &run, 1, err));
    if (ak_store_next(&status, archive, row, err)) {
        AK_DO(ak_store_text(&text, row, 0, err));
        AK_DO(ak_store_text(process, row, 1, err));
        /* A text that is not JSON, from another program, counts as nothing. */
        (void)ak_json_parse_text(paths, text, "whereabouts", NULL);
    }
    return status;
}

/* ---- where a kernel is ----------------------------------------------------------------------- */

/* Selects the paths of the 100 latest runs of a kernel, the latest first. */
#define OF_KERNEL                                                                                  \
    "SELECT paths FROM whereabouts JOIN runs ON runs.id = whereabouts.run WHERE runs.kernel = ?1 " \
    "ORDER BY runs.number DESC LIMIT 100"

static bool is_at(const char *place, const char *kernel)
{
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    return place != NULL && ak_problem_open(&problem, place, NULL) == AK_OK &&
           strcmp(ak_problem_name(problem), kernel) == 0;
}

/* Gives the kernel's place in one row, if the kernel is still there and the run was not on a
   recording. */
static ak_status place_of_row(char **out, sqlite3_stmt *row, const char *kernel, ak_error *err)
{
    AK_FREED char *text = NULL;
    json_auto_t *paths = NULL;
    AK_DO(ak_store_text(&text, row, 0, err));
    (void)ak_json_parse_text(&paths, text, "whereabouts", NULL);
    const char *place = ak_json_text_or_null(paths, "kernel");
    if (json_object_get(paths, "recording") == NULL && is_at(place, kernel)) {
        AK_DO(ak_copy_text(out, place, err));
    }
    return AK_OK;
}

ak_status ak_archive_kernel_place(char **out, ak_archive *archive, const char *kernel,
                                  const char *operand, ak_error *err)
{
    const char *const places[] = {operand, kernel};
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    bool there;
    ak_status status = AK_OK;
    *out = NULL;
    for (size_t i = 0; i < AK_COUNT(places); i++) {
        if (is_at(places[i], kernel)) {
            return ak_copy_text(out, places[i], err);
        }
    }
    AK_DO(ak_store_has_table(&there, archive, "whereabouts", err));
    if (!there) {
        return AK_OK;
    }
    AK_DO(ak_store_query(&rows, archive, OF_KERNEL, &kernel, 1, err));
    while (*out == NULL && ak_store_next(&status, archive, rows, err)) {
        status = place_of_row(out, rows, kernel, err);
        if (status != AK_OK) {
            break;
        }
    }
    return status;
}
