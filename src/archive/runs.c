/* runs.c: writes runs and environments to the archive and reads them; see rows.c. */
#include "archive/archive.h"

#include <string.h>

#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/utf8.h"

/* Limit in bytes for options, results and environments, which take a few KiB each. */
#define DOCUMENT_BYTES_MAX (4u << 20)

/* X(column, member of ak_run, what is stored if the member is NULL): the statements that insert or
   read whole runs have the columns in this order. `now` is the time of the insertion. */
#define RUN_MAP(X)                                                                                 \
    X(id, id, NULL)                                                                                \
    X(started, started, now)                                                                       \
    X(ended, ended, NULL)                                                                          \
    X(kernel, kernel, NULL)                                                                        \
    X(implementation, implementation, "")                                                          \
    X(device, device, "")                                                                          \
    X(size, size, "")                                                                              \
    X(dtype, dtype, "")                                                                            \
    X(choices, choices, "")                                                                        \
    X(strategy, strategy, NULL)                                                                    \
    X(environment, environment, NULL)                                                              \
    X(options, options_json, NULL)                                                                 \
    X(result, result_json, NULL)

void ak_run_clear(ak_run *run)
{
    if (run == NULL) {
        return;
    }
#define CLEAR(column, member, other) ak_free(run->member);
    RUN_MAP(CLEAR)
#undef CLEAR
    ak_free(run->environment_json);
    *run = (ak_run){0};
}

ak_status ak_run_copy(ak_run *out, const ak_run *run, ak_error *err)
{
    bool lost = false;
    *out = (ak_run){.imported = run->imported};
#define COPY(column, member, other)                                                                \
    out->member = ak_strdup(run->member);                                                          \
    lost = lost || (run->member != NULL && out->member == NULL);
    RUN_MAP(COPY)
    COPY(words, environment_json, NULL)
#undef COPY
    if (lost) {
        ak_run_clear(out);
    }
    return ak_stored(!lost, err);
}

static ak_status check_document(const char *text, const char *name, ak_error *err)
{
    if (text == NULL) {
        return AK_OK;
    }
    AK_FAIL_IF(strnlen(text, DOCUMENT_BYTES_MAX + 1) > DOCUMENT_BYTES_MAX, err, AK_LIMIT,
               "run: %s is larger than %u bytes", name, DOCUMENT_BYTES_MAX);
    json_auto_t *value = NULL;
    return ak_json_parse_text(&value, text, name, err);
}

static ak_status check_run(const ak_run *run, ak_error *err)
{
    AK_FAIL_IF(run->id == NULL || run->id[0] == 0 || run->kernel == NULL || run->kernel[0] == 0,
               err, AK_INVALID, "run: the id or the kernel is missing");
#define CHECK(column, member, other)                                                               \
    if (run->member != NULL && !ak_utf8_valid(run->member)) {                                      \
        return ak_fail(err, AK_INVALID, "run: \"" #column "\" is not UTF-8 text");                 \
    }
    RUN_MAP(CHECK)
#undef CHECK
    AK_DO(check_document(run->options_json, "options", err));
    AK_DO(check_document(run->result_json, "result", err));
    return check_document(run->environment_json, "environment", err);
}

ak_status ak_store_check_words(const char *hash, const char *words, ak_error *err)
{
    char own[AK_HASH_BYTES];
    if (words == NULL || hash == NULL || strlen(hash) != AK_HASH_BYTES - 1) {
        return AK_OK;
    }
    ak_hash_text(own, words, strlen(words));
    AK_FAIL_IF(strcmp(own, hash) != 0, err, AK_CORRUPT,
               "what the archive says of environment %.16s was changed after it was archived: "
               "restore the archive from a copy, or remove the runs of this environment "
               "(autokernel history --remove RUN)",
               hash);
    return AK_OK;
}

ak_status ak_store_need_environment(ak_archive *archive, const char *hash, const char *words,
                                    ak_error *err)
{
    bool known =
        archive->environment != NULL && hash != NULL && strcmp(archive->environment, hash) == 0;
    if (hash == NULL || (known && words == NULL)) {
        return AK_OK;
    }
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    const char *const texts[] = {hash, words, now};
    AK_DO(ak_store_change(archive,
                          "INSERT INTO environments (hash, words, first_seen) VALUES (?1, ?2, ?3) "
                          "ON CONFLICT (hash) DO UPDATE SET words = excluded.words "
                          "WHERE words IS NULL AND excluded.words IS NOT NULL",
                          texts, 3, err));
    return ak_trial_set_text(&archive->environment, hash, err);
}

ak_status ak_store_insert_run(ak_archive *archive, const ak_run *run, bool imported, ak_error *err)
{
    char now[AK_CLOCK_UTC_BYTES];
    ak_clock_utc(now);
    sqlite3_stmt *statement;
#define NAME(column, member, other)  #column ", "
#define PLACE(column, member, other) "?, "
#define VALUE(column, member, other) run->member != NULL ? run->member : (other),
    const char *const texts[] = {RUN_MAP(VALUE)};
    const int count = (int)AK_COUNT(texts);
    AK_DO(
        ak_store_query(&statement, archive,
                       "INSERT INTO runs (" RUN_MAP(NAME) "imported) VALUES (" RUN_MAP(PLACE) "?)",
                       texts, count, err));
#undef NAME
#undef PLACE
#undef VALUE
    bool bound = sqlite3_bind_int(statement, count + 1, imported ? 1 : 0) == SQLITE_OK;
    ak_status status = ak_store_finish(archive, statement, bound, err);
    AK_FAIL_IF(status == AK_INVALID, err, AK_INVALID, "%s: run %s is already in the archive",
               archive->path, run->id);
    return status != AK_OK || run->result_json == NULL
               ? status
               : ak_store_change(archive,
                                 "UPDATE runs SET result_checksum = " AK_STORE_CHECKSUM(
                                     "result") " WHERE id = ?1",
                                 (const char *const[]){run->id}, 1, err);
}

ak_status ak_store_add_run(ak_archive *archive, const ak_run *run, ak_error *err)
{
    AK_DO(check_run(run, err));
    AK_DO(ak_store_begin(archive, err));
    ak_status status = AK_OK;
    AK_TRY(ak_store_need_environment(archive, run->environment, run->environment_json, err));
    AK_TRY(ak_store_insert_run(archive, run, false, err));
out:
    return ak_store_end_transaction(archive, status, err);
}

ak_status ak_store_end_run(ak_archive *archive, const char *id, const char *ended,
                           const char *result_json, ak_error *err)
{
    const char *const texts[] = {id, ended, result_json};
    AK_DO(check_document(result_json, "result", err));
    AK_DO(ak_store_change(archive, AK_STORE_SET_RESULT "WHERE id = ?1", texts, 3, err));
    return sqlite3_changes(archive->db) != 0
               ? AK_OK
               : ak_fail(err, AK_NOT_FOUND, "%s has no run %s", archive->path, id);
}

/* ---- runs in a file of items that waited ----------------------------------------------------- */

ak_status ak_run_to_json(json_t **out, const ak_run *run, ak_error *err)
{
    json_t *object = json_object();
    bool good = object != NULL;
#define SET(column, member, other)                                                                 \
    good = good && (run->member == NULL || ak_json_set_text(object, #column, run->member));
    RUN_MAP(SET)
    SET(words, environment_json, NULL)
#undef SET
    return ak_json_give(out, object, good, err);
}

ak_status ak_store_has_run(bool *out, ak_archive *archive, const char *id, ak_error *err)
{
    return ak_store_has(out, archive, "SELECT 1 FROM runs WHERE id = ?1", &id, 1, err);
}

/* Counts the result of a run if it was just added. Otherwise the archive either has the result
   already, or has at most imported trials of the run, because the file belongs to another archive;
   in the second case this function says that the result is left out. */
static ak_status note_result(ak_archive *archive, const char *id, ak_error *err)
{
    bool known;
    if (sqlite3_changes(archive->db) != 0) {
        archive->results_added++;
        return AK_OK;
    }
    AK_DO(ak_store_has(&known, archive, "SELECT 1 FROM runs WHERE id = ?1 AND imported = 0", &id, 1,
                       err));
    if (!known) {
        archive->left_out = "the result of a run is left out, because the beginning of the run is "
                            "in another archive: import the file there";
    }
    return AK_OK;
}

ak_status ak_store_import_run(ak_archive *archive, const json_t *object, ak_error *err)
{
    ak_run run = {0};
#define GET(column, member, other)                                                                 \
    run.member = (char *)(uintptr_t)ak_json_text_or_null(object, #column);
    RUN_MAP(GET)
    GET(words, environment_json, NULL)
#undef GET
    AK_FAIL_IF(run.id == NULL, err, AK_INVALID, "a run needs an \"id\"");
    if (run.kernel == NULL) { /* the item records only how a run ended */
        const char *const texts[] = {run.id, run.ended, run.result_json};
        AK_DO(check_document(run.result_json, "result", err));
        AK_DO(ak_store_change(
            archive, AK_STORE_SET_RESULT "WHERE id = ?1 AND ended IS NULL AND imported = 0", texts,
            3, err));
        return note_result(archive, run.id, err);
    }
    bool here;
    AK_DO(ak_store_has_run(&here, archive, run.id, err));
    if (here) {
        return AK_OK;
    }
    AK_DO(check_run(&run, err));
    AK_DO(ak_store_need_environment(archive, run.environment, run.environment_json, err));
    return ak_store_insert_run(archive, &run, false, err);
}

#define PREFIX_MIN 4 /* with at least this many digits, the beginning of an id names a run */

/* Reports that there is no such run. If the text is the id of a trial, the error names the run of
   that trial. */
static ak_status no_such_run(ak_archive *archive, const char *id, ak_error *err)
{
    int64_t trial = 0;
    AK_FREED char *run = NULL;
    sqlite3_stmt *statement = NULL;
    if (ak_text_int(&trial, id) &&
        ak_store_prepare(&statement, archive, "SELECT run FROM trials WHERE id = ?1", NULL) ==
            AK_OK &&
        sqlite3_bind_int64(statement, 1, trial) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        (void)ak_store_text(&run, statement, 0, NULL);
    }
    (void)sqlite3_finalize(statement);
    return run != NULL
               ? ak_fail(err, AK_NOT_FOUND, "%s has no run %s; trial #%s is of run %s",
                         archive->path, id, id, run)
               : ak_fail(err, AK_NOT_FOUND,
                         "%s has no run %.60s%s; 'autokernel history --runs' lists them, and "
                         "'autokernel report' shows the latest",
                         archive->path, id,
                         strlen(id) < PREFIX_MIN ? " (a run is named by at least 4 digits)" : "");
}

#define SELECTED(column, member, other) "r." #column ", "
#define SELECT_FROM(runs)                                                                          \
    "SELECT " RUN_MAP(SELECTED) "words, imported, " AK_STORE_CHANGED ", hash FROM " runs           \
                                " AS r " WITH_WORDS
#define SELECT_RUN SELECT_FROM("runs")
#define WITH_WORDS "LEFT JOIN environments ON hash = " AK_STORE_IDENTITY("environment") " "

/* Reads the current row of a statement. */
static ak_status read_run(ak_run *out, sqlite3_stmt *statement, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run run = {0};
    int next = 0;
#define READ(column, member, other) AK_DO(ak_store_text(&run.member, statement, next++, err));
    RUN_MAP(READ)
    READ(words, environment_json, NULL)
#undef READ
    run.imported = sqlite3_column_int(statement, next) != 0;
    AK_DO(ak_store_unchanged(statement, next + 1, run.id, err));
    AK_DO(ak_store_check_words((const char *)sqlite3_column_text(statement, next + 2),
                               run.environment_json, err));
    AK_GIVE(out, run);
    return AK_OK;
}

static const char select_latest[] =
    SELECT_FROM(AK_STORE_RUNS_MADE) "ORDER BY imported, made DESC, number DESC LIMIT 1";

ak_status ak_archive_get_run(ak_run *out, ak_archive *archive, const char *id, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    AK_DO(ak_store_query(&statement, archive,
                         id != NULL ? SELECT_RUN "WHERE r.id = ?1" : select_latest, &id,
                         id != NULL ? 1 : 0, err));
    bool found = ak_store_next(&status, archive, statement, err);
    AK_DO(status);
    if (!found) {
        AK_DO(id == NULL ? ak_fail(err, AK_NOT_FOUND,
                                   "%s holds no runs yet; make one with `autokernel tune KERNEL`",
                                   archive->path)
                         : no_such_run(archive, id, err));
    }
    return read_run(out, statement, err);
}

ak_status ak_archive_ended_run(bool *found, ak_run *out, ak_archive *archive, const ak_run *like,
                               size_t later, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    char skipped[24];
    const char *const texts[] = {like->kernel,  like->implementation, like->size, like->dtype,
                                 like->choices, like->environment,    skipped};
    *found = false;
    (void)snprintf(skipped, sizeof skipped, "%zu", later);
    ak_status status = ak_store_query(
        &statement, archive,
        SELECT_RUN "WHERE kernel = ?1 AND implementation = ?2 AND size = ?3 AND "
                   "dtype = ?4 AND choices = ?5 AND environment IN " AK_STORE_ENVIRONMENTS(
                       "?6") " AND ended IS NOT NULL AND result IS NOT NULL AND imported = 0 "
                             "ORDER BY ended DESC, number DESC LIMIT 1 OFFSET CAST(?7 AS INTEGER)",
        texts, 7, err);
    *found = ak_store_next(&status, archive, statement, err);
    if (*found) {
        status = read_run(out, statement, err);
    }
    return status;
}

ak_status ak_archive_runs_like(ak_archive *archive, const ak_run *like, ak_run_taker take,
                               void *context, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    const char *const texts[] = {like->kernel, like->implementation, like->device,
                                 like->size,   like->dtype,          like->choices};
    ak_status status = ak_store_query(
        &rows, archive,
        SELECT_RUN "WHERE kernel = ?1 AND implementation = ?2 AND device = ?3 AND size = ?4 AND "
                   "dtype = ?5 AND choices = ?6 AND imported = 0 "
                   "ORDER BY iif(" AK_STORE_SIMULATED ", '', started), number",
        texts, 6, err);
    while (ak_store_next(&status, archive, rows, err)) {
        AK_AT_END(ak_run_clear) ak_run run = {0};
        status = read_run(&run, rows, err);
        status = status == AK_OK ? take(context, &run, err) : status;
    }
    return status;
}

ak_status ak_archive_find_run(char **out_id, ak_archive *archive, const char *text, ak_error *err)
{
    sqlite3_stmt *rows;
    char *id[2] = {NULL};
    size_t count = 0, length = strlen(text);
    const bool prefix = length >= PREFIX_MIN && strspn(text, "0123456789abcdef") == length;
    ak_status status = AK_OK;
    AK_DO(ak_store_query(&rows, archive,
                         prefix ? "SELECT id FROM runs WHERE substr(id, 1, length(?1)) = ?1 "
                                  "ORDER BY id <> ?1, number DESC LIMIT 2"
                                : "SELECT id FROM runs WHERE id = ?1",
                         &text, 1, err));
    while (count < 2 && ak_store_next(&status, archive, rows, err)) {
        status = ak_store_text(&id[count], rows, 0, err);
        count += status == AK_OK && id[count] != NULL;
    }
    (void)sqlite3_finalize(rows);
    if (status == AK_OK && count == 0) {
        status = no_such_run(archive, text, err);
    } else if (status == AK_OK && count == 2 && strcmp(id[0], text) != 0) {
        status = ak_fail(err, AK_INVALID,
                         "several runs of %s begin with %.60s, such as %s and %s; give more digits",
                         archive->path, text, id[0], id[1]);
    } else if (status == AK_OK) {
        *out_id = id[0];
        id[0] = NULL;
    }
    AK_FREE_ALL(id[0], id[1]);
    return status;
}

ak_status ak_archive_environment(json_t **out, ak_archive *archive, const char *hash, ak_error *err)
{
    static const char select[] =
        "SELECT words, hash FROM environments WHERE hash = " AK_STORE_IDENTITY("?1");
    AK_AT_END(ak_store_finalize) sqlite3_stmt *statement = NULL;
    AK_FREED char *words = NULL;
    ak_status status = ak_store_query(&statement, archive, select, &hash, 1, err);
    *out = NULL;
    if (ak_store_next(&status, archive, statement, err)) {
        const char *its = (const char *)sqlite3_column_text(statement, 1);
        status = ak_store_text(&words, statement, 0, err);
        status = status == AK_OK ? ak_store_check_words(its, words, err) : status;
    }
    return status == AK_OK ? ak_json_parse_text(out, words, "environment", err) : status;
}

ak_status ak_archive_rename_environment(bool *out, ak_archive *archive, const char *former,
                                        const char *hash, const char *words, ak_error *err)
{
    static const char ask[] = "SELECT 1 FROM environments WHERE hash = ?1 AND same_as IS NULL";
    ak_status status = AK_OK;
    AK_DO(ak_store_has(out, archive, ask, &former, 1, err));
    if (!*out || strcmp(former, hash) == 0) {
        return AK_OK;
    }
    AK_DO(ak_store_begin(archive, err));
    AK_TRY(ak_store_need_environment(archive, hash, words, err));
    AK_TRY(ak_store_change(archive,
                           "UPDATE environments SET same_as = ?2 WHERE ?1 IN (hash, same_as)",
                           (const char *const[]){former, hash}, 2, err));
out:
    return ak_store_end_transaction(archive, status, err);
}

ak_status ak_archive_same_environment(bool *out, ak_archive *archive, const char *one,
                                      const char *other, ak_error *err)
{
    return ak_store_has(out, archive,
                        "SELECT 1 WHERE " AK_STORE_IDENTITY("?1") " = " AK_STORE_IDENTITY("?2"),
                        (const char *const[]){one, other}, 2, err);
}

ak_status ak_archive_same_but_source(bool *out, ak_archive *archive, const char *one,
                                     const char *other, ak_error *err)
{
    json_auto_t *mine = NULL, *its = NULL;
    *out = true;
    if (one == NULL || other == NULL || strcmp(one, other) == 0) {
        return AK_OK;
    }
    AK_DO(ak_archive_environment(&mine, archive, one, err));
    AK_DO(ak_archive_environment(&its, archive, other, err));
    (void)json_object_del(mine, "source");
    (void)json_object_del(its, "source");
    *out = mine != NULL && json_equal(mine, its);
    return AK_OK;
}

ak_archive_filter ak_run_filter(const ak_run *run)
{
    return (ak_archive_filter){.kernel = run->kernel,
                               .implementation = run->implementation,
                               .device = run->device,
                               .size = run->size,
                               .dtype = run->dtype,
                               .choices = run->choices,
                               .environment = run->environment};
}
