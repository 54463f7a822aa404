/* store.h: the open archive, shared by the files of this folder. */
#ifndef AK_ARCHIVE_STORE_H
#define AK_ARCHIVE_STORE_H

#include <sqlite3.h>

#include "archive/archive.h"

struct ak_archive {
    bool empty; /* opened to read where there is no file: in memory */
    sqlite3 *db;
    char *path;
    sqlite3_stmt *add_trial; /* prepared once: the only statement that a tuning run repeats */
    char *environment;       /* hash that was last seen to be in its table */
};

/* The one line for what SQLite just refused, and its status. `what` completes "PATH: ...". */
ak_status ak_store_fault(const ak_archive *archive, const char *what, ak_error *err);

/* One statement without results or parameters, constant text. */
ak_status ak_store_execute(ak_archive *archive, const char *sql, ak_error *err);
ak_status ak_store_prepare(sqlite3_stmt **out, ak_archive *archive, const char *sql, ak_error *err);
/* Binds a text that outlives the step; NULL binds NULL. */
bool ak_store_bind_text(sqlite3_stmt *statement, int position, const char *text);
/* A copy of a text column: *out NULL for NULL. What some other program wrote into the file without
   being UTF-8 is cleaned. */
ak_status ak_store_text(char **out, sqlite3_stmt *statement, int column, ak_error *err);

/* All or nothing: begin takes the write lock, so that commit cannot be refused by another writer.
 */
ak_status ak_store_begin(ak_archive *archive, ak_error *err);
ak_status ak_store_commit(ak_archive *archive, ak_error *err); /* rolls back if it fails */
void ak_store_rollback(ak_archive *archive);

/* The ids that a run's id stands for, of one parameter ("?"): a run over many sizes has no trials
   of its own, those of its sizes are meant too. Its result says which these are. */
#define AK_STORE_RUNS(parameter)                                                                   \
    "(WITH asked (id) AS (SELECT " parameter                                                       \
    ") SELECT id FROM asked UNION ALL SELECT json_extract (one.value, '$.run') FROM asked JOIN "   \
    "runs USING (id), "                                                                            \
    "json_each(CASE WHEN json_valid(result) THEN result ELSE '{}' END, '$.sizes') AS one)"

/* SELECT what FROM trials WHERE the filter holds, then `tail`; `what` and `tail` are constant
   texts. The filter's texts must outlive the statement; its order and limit are the caller's
   affair. */
ak_status ak_store_select(sqlite3_stmt **out, ak_archive *archive, const char *what,
                          const ak_archive_filter *filter, const char *tail, ak_error *err);
extern const char ak_store_columns[]; /* `what` of a whole trial */
ak_status ak_store_read_trial(ak_trial *out, sqlite3_stmt *row, ak_error *err);

/* As ak_archive_add_trial, within a transaction of the caller: a run that is not in the archive is
   added, marked as imported. */
ak_status ak_store_import_trial(ak_archive *archive, ak_trial *trial, ak_error *err);

#endif
