/* store.h: the open archive, for the files of this folder and a few others that need its SQL. */
#ifndef AK_ARCHIVE_STORE_H
#define AK_ARCHIVE_STORE_H

#include <sqlite3.h>

#include "archive/archive.h"

/* Limit for one value, in bytes. Environments, options and results take a few KiB. */
#define AK_STORE_VALUE_MAX (16 << 20)

struct ak_archive {
    bool empty;  /* there is no file to read, or an empty one: the database is empty and in
                    memory */
    bool copied; /* `db` is a copy in memory, by ak_archive_open_copy or because the file, or one
                    that SQLite needs beside it, cannot be written */
    sqlite3 *db;
    char *path;
    sqlite3_stmt *add_trial;    /* prepared once, because a tuning run repeats it */
    char *environment;          /* the last hash found in, or added to, the table of environments */
    const char *left_out;       /* see ak_archive_left_out */
    size_t results_added;       /* see ak_archive_results_added */
    size_t unplaced;            /* see ak_archive_unplaced */
    int busy_ms;                /* how long to wait for other programs' locks */
    struct ak_waiting *waiting; /* waiting.c: writes that have to wait, or NULL */
};

/* Do what the functions ak_archive_add_run and so on do, but never defer a write. */
ak_status ak_store_add_run(ak_archive *archive, const ak_run *run, ak_error *err);
ak_status ak_store_end_run(ak_archive *archive, const char *id, const char *ended,
                           const char *result_json, ak_error *err);
ak_status ak_store_add_trial(ak_archive *archive, ak_trial *trial, ak_error *err);
ak_status ak_store_add_call(ak_archive *archive, const ak_call *call, ak_error *err);
/* ak_run_to_json makes an object of the beginning or the end of a run that waits; the end has only
   id, ended and result. ak_store_import_run adds what such an object holds, unless the archive has
   it already or lacks the run to which an end belongs. */
ak_status ak_run_to_json(json_t **out, const ak_run *run, ak_error *err);
ak_status ak_store_import_run(ak_archive *archive, const json_t *object, ak_error *err);
ak_status ak_run_copy(ak_run *out, const ak_run *run, ak_error *err);
ak_status ak_call_copy(ak_call *out, const ak_call *call, ak_error *err);
/* Sets how long SQLite waits for the locks of other programs. */
void ak_store_busy(ak_archive *archive, int ms);
void ak_waiting_free(ak_archive *archive);

/* Fails with AK_CORRUPT: the file is damaged, as `detail` says. */
ak_status ak_store_damaged(const ak_archive *archive, const char *detail, ak_error *err);
/* Reports in one line the error that SQLite has just returned, and returns the matching status.
   `what` completes "PATH: ...". */
ak_status ak_store_fault(const ak_archive *archive, const char *what, ak_error *err);
/* Runs a statement that returns no row, and finalizes it. If `bound` is false, fails instead: there
   was no memory for its values. */
ak_status ak_store_finish(ak_archive *archive, sqlite3_stmt *statement, bool bound, ak_error *err);

/* Finalizes the statement; AK_AT_END can call it. */
void ak_store_finalize(sqlite3_stmt **statement);

/* Runs statements without results or parameters; `sql` is a constant text. */
ak_status ak_store_execute(ak_archive *archive, const char *sql, ak_error *err);
ak_status ak_store_prepare(sqlite3_stmt **out, ak_archive *archive, const char *sql, ak_error *err);
/* Runs a statement, which is a constant text, and gives the first column of its first row; 0 if
   there is no row. */
ak_status ak_store_ask(int64_t *out, ak_archive *archive, const char *sql, ak_error *err);
/* Binds a text that must stay valid until the statement has run; NULL binds NULL. */
bool ak_store_bind_text(sqlite3_stmt *statement, int position, const char *text);
/* Prepares a statement and binds texts to its first parameters, or gives NULL and fails. */
ak_status ak_store_query(sqlite3_stmt **out, ak_archive *archive, const char *sql,
                         const char *const *texts, int count, ak_error *err);
/* Binds texts as ak_store_query does, and runs a statement that returns no row. */
ak_status ak_store_change(ak_archive *archive, const char *sql, const char *const *texts, int count,
                          ak_error *err);
/* Binds texts as ak_store_query does, and finds out whether the statement returns a row. */
ak_status ak_store_has(bool *out, ak_archive *archive, const char *sql, const char *const *texts,
                       int count, ak_error *err);
ak_status ak_store_has_table(bool *out, ak_archive *archive, const char *name, ak_error *err);
/* Takes the next row of a statement. Returns false after the last row, if *status is an error
   already, or if the row cannot be read; *status then says so. */
bool ak_store_next(ak_status *status, const ak_archive *archive, sqlite3_stmt *rows, ak_error *err);
/* Takes the next row in the same way, and copies of its first `count` columns, which are texts. The
   copies of the previous row are freed; all `texts` must be NULL before the first call. */
bool ak_store_next_texts(ak_status *status, char **texts, int count, const ak_archive *archive,
                         sqlite3_stmt *rows, ak_error *err);
/* Ends the use of ak_store_next_texts: frees the texts and the statement, and returns `status`. */
ak_status ak_store_end(ak_status status, char **texts, int count, sqlite3_stmt *rows);
/* Runs a statement and resets it for its next use: *out is the first column of its row, 0 if there
   is none. If `bound` is false, fails instead: there was no memory for its values. */
ak_status ak_store_ask_bound(int64_t *out, const ak_archive *archive, sqlite3_stmt *statement,
                             bool bound, ak_error *err);
/* Copies a text column; *out is NULL for NULL. If another program stored a text that is not UTF-8,
   the copy is cleaned. */
ak_status ak_store_text(char **out, sqlite3_stmt *statement, int column, ak_error *err);

/* Begins a transaction. It takes the write lock at once, so that no other writer can make the
   commit fail. */
ak_status ak_store_begin(ak_archive *archive, ak_error *err);
/* Commits the transaction, or rolls it back if that fails. */
ak_status ak_store_commit(ak_archive *archive, ak_error *err);
void ak_store_rollback(ak_archive *archive);
/* Ends a transaction: commits it if `status` is AK_OK, else rolls it back and returns `status`. */
ak_status ak_store_end_transaction(ak_archive *archive, ak_status status, ak_error *err);

/* Selects the ids of the runs whose trials count as those of a run: its own id and, because a run
   over many sizes has no trials itself, the ids of the runs over single sizes that its result
   lists. The parameter occurs once, so it may be "?". */
#define AK_STORE_RUNS(parameter)                                                                   \
    "(WITH asked (id) AS (SELECT " parameter                                                       \
    ") SELECT id FROM asked UNION ALL SELECT json_extract(one.value, '$.run') FROM asked JOIN "    \
    "runs USING (id), " AK_STORE_SIZES " AS one)"
/* The sizes that a run's result lists. */
#define AK_STORE_SIZES                                                                             \
    "json_each(CASE WHEN json_valid(result) THEN result ELSE '{}' END, '$.sizes')"

/* AK_STORE_CHECKSUM computes the checksum of `result` with the id, task and environment of the run
   in this row. AK_STORE_CHANGED is true if the row's result has another checksum than the one that
   was stored, and false if none was stored. */
#define AK_STORE_CHECKSUM(result)                                                                  \
    "ak_checksum(id, kernel, implementation, device, size, dtype, choices, environment, " result ")"
#define AK_STORE_CHANGED                                                                           \
    "coalesce(result_checksum <> " AK_STORE_CHECKSUM("coalesce(result, '')") ", false)"
/* Sets the end of a run to ?2 and its result to ?3; the caller appends the WHERE clause. */
#define AK_STORE_SET_RESULT                                                                        \
    "UPDATE runs SET ended = ?2, result = ?3, result_checksum = " AK_STORE_CHECKSUM("?3") " "
/* Adds the SQL function ak_checksum to a connection. Expressions in the schema cannot call it. */
bool ak_store_add_functions(sqlite3 *db);
/* Fails with AK_CORRUPT if column `changed` of a row, which is AK_STORE_CHANGED, is true. `run` is
   the id of the run. */
ak_status ak_store_unchanged(sqlite3_stmt *row, int changed, const char *run, ak_error *err);

/* AK_STORE_IDENTITY gives the hash that an environment has today (ak_archive_rename_environment).
   AK_STORE_ENVIRONMENTS selects all hashes of one environment; its parameter occurs once, so it may
   be "?". */
#define AK_STORE_IDENTITY(environment)                                                             \
    "coalesce((SELECT same_as FROM environments WHERE hash = " environment "), " environment ")"
#define AK_STORE_ENVIRONMENTS(parameter)                                                           \
    "(WITH wanted (name) AS (SELECT " parameter "), today (name) AS (SELECT " AK_STORE_IDENTITY(   \
        "name") " FROM wanted) "                                                                   \
                "SELECT hash FROM environments, today WHERE coalesce(same_as, hash) = name)"

/* True if a row's device is a recording. */
#define AK_STORE_SIMULATED "device GLOB 'sim:*'"

/* The time at which a trial was made, for sorting. Ids have that order only among trials that were
   made in this archive, because older ones may be imported later. Trials on recordings have '', so
   that their ids decide: the clock of a recording begins in 1970 with each run. */
#define AK_STORE_MADE "iif(" AK_STORE_SIMULATED ", '', timestamp)"
/* The runs, each with the time of its end, or of its start if the end is not known, as `made`. (The
   end is used because a run over many sizes ends after the runs of its sizes.) A run on a recording
   has the latest `made` among the runs on devices that had been added before it; '' if there is
   none. */
#define AK_STORE_RUNS_MADE                                                                         \
    "(SELECT *, CASE WHEN " AK_STORE_SIMULATED " THEN coalesce(max(iif(" AK_STORE_SIMULATED        \
    ", NULL, coalesce(ended, started))) OVER (ORDER BY number), '') ELSE coalesce(ended, "         \
    "started) END AS made FROM runs)"

/* Prepares SELECT `what` FROM trials WHERE the filter holds, then `tail`; `what` and `tail` are
   constant texts. The filter's texts must outlive the statement. The filter's order and limit are
   ignored here. */
ak_status ak_store_select(sqlite3_stmt **out, ak_archive *archive, const char *what,
                          const ak_archive_filter *filter, const char *tail, ak_error *err);
/* The new checksum of a row: ?2, or NULL if the row had none, because nobody knows whether the row
   had been changed before. */
#define AK_STORE_RENEWED "CASE WHEN checksum IS NULL THEN NULL ELSE ?2 END"
extern const char ak_store_columns[]; /* `what` for a whole trial */
/* Gives the first trial of a selection; `tail` sorts it and limits it to one. Returns AK_NOT_FOUND,
   without a message, if there is none. */
ak_status ak_store_first(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                         const char *tail, ak_error *err);
/* A tail for ak_store_first that chooses the trial with the lowest cost, or the lowest time if the
   objective is the time, among the trials whose configuration no trial in the same task and
   environment refutes (ak_trial_refutes). A trial without a time comes after all that have one. */
#define AK_STORE_FASTEST_RIGHT                                                                     \
    " AND NOT EXISTS (SELECT 1 FROM trials AS w INDEXED BY trials_by_config WHERE w.config = "     \
    "trials.config AND w.kernel = trials.kernel AND w.implementation = trials.implementation AND " \
    "w.device = trials.device AND w.size = trials.size AND w.dtype = trials.dtype AND w.choices "  \
    "= trials.choices AND (w.status IN ('wrong_result', 'crashed') OR (w.status <> 'ok' AND "      \
    "w.strategy = '" AK_FINALISTS "' AND coalesce(w.reason, '') NOT LIKE '" AK_NOT_JUDGED          \
    "%')) AND " AK_STORE_IDENTITY("w.environment") " IS " AK_STORE_IDENTITY(                       \
        "trials.environment") ") ORDER BY ms IS NULL, coalesce(cost, ms), id LIMIT 1"
/* Gives the trial that AK_STORE_FASTEST_RIGHT chooses in the run that the filter names or, because
   a run may take trials over (--resume), else in any run. Returns AK_NOT_FOUND, without a message,
   if there is none. */
ak_status ak_store_fastest_right(ak_trial *out, ak_archive *archive,
                                 const ak_archive_filter *filter, ak_error *err);
ak_status ak_store_read_trial(ak_trial *out, sqlite3_stmt *row, ak_error *err);

/* Returns AK_CORRUPT if an environment's hash has 64 digits (hash.h) but was not made from `words`.
   Shorter hashes, from older archives, and words that are NULL are not checked. */
ak_status ak_store_check_words(const char *hash, const char *words, ak_error *err);
/* Adds the row of an environment, to which trials and runs refer, or completes a row that has no
   words. Does nothing if `hash` is NULL. */
ak_status ak_store_need_environment(ak_archive *archive, const char *hash, const char *words,
                                    ak_error *err);
ak_status ak_store_has_run(bool *out, ak_archive *archive, const char *id, ak_error *err);
ak_status ak_store_insert_run(ak_archive *archive, const ak_run *run, bool imported, ak_error *err);
/* Adds the run that a trial names, with the trial's texts and marked as imported, unless the
   archive has it. */
ak_status ak_store_need_run(ak_archive *archive, const ak_trial *trial, ak_error *err);

/* Adds a trial as ak_archive_add_trial does, but marked as imported and within a transaction of the
   caller. If its run is not in the archive, adds the run, too, marked in the same way. */
ak_status ak_store_import_trial(ak_archive *archive, ak_trial *trial, ak_error *err);

/* ---- schema (schema.c) ----------------------------------------------------------------------- */

/* This part declares the tables of the archive, as SQL. docs/formats.md explains each column. */

/* "AKAR", which tells an archive from any other SQLite file (PRAGMA application_id). */
#define AK_SCHEMA_APPLICATION 0x414b4152
/* The version (PRAGMA user_version). Every change of the tables increments the version and adds a
   step to ak_schema_steps. */
#define AK_SCHEMA_VERSION 12

extern const char ak_schema_sql[];
/* Step i migrates from version i + 1 to i + 2. Existing rows stay as they are. */
extern const char *const ak_schema_steps[AK_SCHEMA_VERSION - 1];

#endif
