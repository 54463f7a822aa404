/*
 * merge.c: adds what another archive has: environments, sources, studies, runs, trials and calls,
 * in one transaction. It leaves out the tables of fleets.c and whereabouts.c, which are true only
 * on one machine. Merging the same archive again adds nothing.
 *
 * A run keeps its id. If the id belongs to another run here, the run gets a hash of its id and
 * fields as id, so that it gets the same id when it is merged again. Trials get new ids; parents
 * and the ids in results are translated. A run that is here already gets the trials and calls that
 * it lacks, and its end and result if one of them is missing.
 */
#include "archive/archive.h"

#include <string.h>
#include <sys/stat.h>

#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/map.h"

#define RUN_ID_DIGITS 16

typedef struct merged_run {
    char old[64], id[64]; /* in the other archive and in this one */
    bool fresh;           /* it was not in this archive */
} merged_run;

typedef struct merge {
    ak_archive *archive, *other;
    merged_run *runs;
    size_t run_count, run_capacity;
    ak_map *run_of;   /* key: id in the other archive; value: index in `runs` */
    ak_map *trial_of; /* key: id in the other archive, as text; value: id here */
    sqlite3_stmt *same_trial, *same_call, *unsum;
    int64_t before; /* ids of trials up to this one existed before */
    size_t added, known;
    ak_status status; /* of a visitor */
    ak_error *err;
} merge;

/* ---- environments and sources ---------------------------------------------------------------- */

/* Returns whether the words of two environments are known and differ at most in the hash of the
   source. */
static bool agree(const char *words, const char *others)
{
    json_auto_t *one = NULL, *other = NULL;
    bool same = words != NULL && others != NULL &&
                ak_json_parse_text(&one, words, "environment", NULL) == AK_OK &&
                ak_json_parse_text(&other, others, "environment", NULL) == AK_OK;
    (void)json_object_del(one, "source");
    (void)json_object_del(other, "source");
    return same && json_equal(one, other);
}

/* Copies the note that two hashes stand for the same environment (`same_as`) if it leads from a
   hash of the former form (ak_hash_is_quick) to one of today's, if the words of both agree except
   for the source's hash, and if this archive has no such note yet. Other notes are not believed:
   they could pass results of other sources off as results of an environment of this archive. */
static ak_status copy_same(merge *m, sqlite3_stmt *row, ak_error *err)
{
    const char *const texts[] = {(const char *)sqlite3_column_text(row, 0),
                                 (const char *)sqlite3_column_text(row, 2)};
    if (texts[0] == NULL || texts[1] == NULL || !ak_hash_is_quick(texts[0]) ||
        ak_hash_is_quick(texts[1]) ||
        !agree((const char *)sqlite3_column_text(row, 1),
               (const char *)sqlite3_column_text(row, 3))) {
        return AK_OK;
    }
    return ak_store_change(m->archive,
                           "UPDATE environments SET same_as = ?2 WHERE hash = ?1 AND same_as IS "
                           "NULL",
                           texts, 2, err);
}

static ak_status copy_environments(merge *m, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    AK_DO(ak_store_prepare(&rows, m->other,
                           "SELECT e.hash, e.words, today.hash, today.words FROM environments AS "
                           "e LEFT JOIN environments AS today ON today.hash = e.same_as ORDER BY "
                           "e.same_as IS NOT NULL",
                           err));
    while (ak_store_next(&status, m->other, rows, err)) {
        const char *hash = (const char *)sqlite3_column_text(rows, 0);
        const char *words = (const char *)sqlite3_column_text(rows, 1);
        AK_DO(ak_store_check_words(hash, words, err) == AK_OK
                  ? AK_OK
                  : ak_fail_within(err, "%s", m->other->path));
        AK_DO(ak_store_need_environment(m->archive, hash, words, err));
        AK_DO(copy_same(m, rows, err));
    }
    return status;
}

/* Copies rows of three columns, which refer to no other table. `insert` must leave out rows that
   are here already. */
static ak_status copy_rows(merge *m, const char *select, const char *insert, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL, *add = NULL;
    AK_DO(ak_store_prepare(&rows, m->other, select, err));
    AK_DO(ak_store_prepare(&add, m->archive, insert, err));
    while (ak_store_next(&status, m->other, rows, err)) {
        bool good = true;
        for (int i = 0; i < 3; i++) {
            good =
                good && sqlite3_bind_value(add, i + 1, sqlite3_column_value(rows, i)) == SQLITE_OK;
        }
        AK_DO(ak_stored(good, err));
        AK_DO(sqlite3_step(add) == SQLITE_DONE
                  ? AK_OK
                  : ak_store_fault(m->archive, "cannot be written", err));
        (void)sqlite3_reset(add);
    }
    return status;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Returns whether two rows are the same run. If one of them was made from imported trials, starts
   and ends are not compared, because such a row starts with the first of these trials. Otherwise
   ends are compared if both are known: two runs on a recording with the same options have the same
   id and start, but different ends if a language model took part. */
static bool is_same_run(const ak_run *a, const ak_run *b)
{
    return ak_text_same(a->kernel, b->kernel) &&
           ak_text_same(a->implementation, b->implementation) &&
           ak_text_same(a->device, b->device) && ak_text_same(a->size, b->size) &&
           ak_text_same(a->dtype, b->dtype) && ak_text_same(a->choices, b->choices) &&
           ak_text_same(a->environment, b->environment) &&
           (a->imported || b->imported ||
            (ak_text_same(a->started, b->started) &&
             (a->ended == NULL || b->ended == NULL || ak_text_same(a->ended, b->ended))));
}

/* Gives the run with this id; *found is false if there is none. */
static ak_status look_up(bool *found, ak_run *out, ak_archive *archive, const char *id,
                         ak_error *err)
{
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_archive_get_run(out, archive, id, &why);
    *found = status == AK_OK;
    return status == AK_OK || status == AK_NOT_FOUND ? AK_OK : ak_fail(err, status, "%s", why.text);
}

/* Replaces an id that belongs to another run here by a hash of the id and the run's fields. */
static void make_id(char id[64], const ak_run *run)
{
    char hash[AK_HASH_BYTES];
    ak_hasher *hasher = ak_hasher_new_quick(); /* as in older versions: a later import must
                                                  make the same id */
    const char *const parts[] = {
        id,        run->started, run->kernel,  run->implementation, run->device,
        run->size, run->dtype,   run->choices, run->environment};
    for (size_t i = 0; i < AK_COUNT(parts); i++) {
        ak_hasher_add_text(hasher, parts[i]);
    }
    ak_hasher_end(hash, hasher);
    (void)snprintf(id, 64, "%.*s", RUN_ID_DIGITS, hash);
}

/* Completes the row of a run that is here only because of imported trials, if the other archive has
   the run itself. The result is set later. */
static ak_status complete_run(merge *m, const ak_run *here, const ak_run *there, ak_error *err)
{
    if (!here->imported || there->imported) {
        return AK_OK;
    }
    return ak_store_change(
        m->archive,
        "UPDATE runs SET started = ?2, strategy = ?3, options = ?4, imported = 0 WHERE id = ?1",
        (const char *const[]){here->id, there->started, there->strategy, there->options_json}, 4,
        err);
}

/* Finds the id that a run has or gets here, and adds the run, without its result, if it is new. */
static ak_status place_run(merged_run *one, merge *m, ak_run *run, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_run_clear) ak_run here = {0};
    bool found = false;
    char *const old = run->id, *const result = run->result_json;
    (void)snprintf(one->old, sizeof one->old, "%s", old);
    (void)snprintf(one->id, sizeof one->id, "%s", old);
    AK_DO(look_up(&found, &here, m->archive, one->id, err));
    while (found && !is_same_run(&here, run)) {
        ak_run_clear(&here);
        make_id(one->id, run);
        AK_DO(look_up(&found, &here, m->archive, one->id, err));
    }
    one->fresh = !found;
    if (found) {
        status = complete_run(m, &here, run, err);
    } else {
        run->id = one->id;
        run->result_json = NULL; /* it names trials, which are not here yet */
        status = ak_store_insert_run(m->archive, run, run->imported, err);
        run->id = old;
        run->result_json = result;
    }
    return status;
}

static ak_status copy_run(merge *m, const char *id, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run run = {0};
    AK_FAIL_IF(strlen(id) >= sizeof m->runs->old, err, AK_LIMIT, "%s: the id of a run is too long",
               m->other->path);
    AK_DO(AK_GROW(m->runs, &m->run_capacity, m->run_count + 1, err));
    AK_DO(ak_archive_get_run(&run, m->other, id, err));
    AK_DO(place_run(&m->runs[m->run_count], m, &run, err));
    return ak_map_put(m->run_of, id, m->run_count++, err);
}

static ak_status copy_runs(merge *m, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    AK_DO(ak_store_prepare(&rows, m->other, "SELECT id FROM runs ORDER BY number", err));
    while (ak_store_next(&status, m->other, rows, err)) {
        status = copy_run(m, (const char *)sqlite3_column_text(rows, 0), err);
    }
    return status;
}

static const merged_run *find_run(const merge *m, const char *id)
{
    size_t at;
    return id != NULL && ak_map_get(&at, m->run_of, id) ? &m->runs[at] : NULL;
}

/* ---- trials ---------------------------------------------------------------------------------- */

static void trial_key(char out[24], int64_t id)
{
    (void)snprintf(out, 24, "%lld", (long long)id);
}

/* Returns the id that a trial of the other archive has here, or 0. */
static int64_t trial_here(const merge *m, int64_t id)
{
    char key[24];
    size_t here;
    trial_key(key, id);
    return ak_map_get(&here, m->trial_of, key) ? (int64_t)here : 0;
}

static const char same_trial_sql[] =
    "SELECT id FROM trials INDEXED BY trials_by_config WHERE config = ?1 AND id <= ?2 AND run IS "
    "?3 AND timestamp = ?4 AND status = ?5 AND ms IS ?6 AND kernel = ?7 AND implementation = ?8 "
    "AND device = ?9 AND size = ?10 AND dtype = ?11 AND choices = ?12 LIMIT 1";

static ak_status find_trial(int64_t *id, const merge *m, const ak_trial *trial, ak_error *err)
{
    sqlite3_stmt *s = m->same_trial;
    const char *const texts[] = {trial->kernel, trial->implementation, trial->device,
                                 trial->size,   trial->dtype,          trial->choices};
    bool bound = ak_store_bind_text(s, 1, ak_or_empty(trial->config)) &&
                 sqlite3_bind_int64(s, 2, m->before) == SQLITE_OK &&
                 ak_store_bind_text(s, 3, trial->run) &&
                 ak_store_bind_text(s, 4, trial->timestamp) &&
                 ak_store_bind_text(s, 5, ak_trial_status_text(trial->status)) &&
                 (trial->median_ms > 0 ? sqlite3_bind_double(s, 6, trial->median_ms)
                                       : sqlite3_bind_null(s, 6)) == SQLITE_OK;
    for (int i = 0; i < 6 && bound; i++) {
        bound = ak_store_bind_text(s, 7 + i, ak_or_empty(texts[i]));
    }
    return ak_store_ask_bound(id, m->archive, s, bound, err);
}

/* Refuses a trial that could not have been added here. Its checksum says only that nobody changed
   it since somebody wrote it. */
static ak_status check_trial(const merge *m, const ak_trial *trial, ak_error *err)
{
    char where[AK_PATH_MAX + 32];
    (void)snprintf(where, sizeof where, "%s: trial %lld", m->other->path, (long long)trial->id);
    return ak_trial_validate(trial, where, err);
}

/* Removes the checksum of a trial that was just added, because it had none in the other archive:
   whether it was changed is not known here either. */
static ak_status leave_unsummed(merge *m, int64_t id, ak_error *err)
{
    if (m->unsum == NULL) {
        AK_DO(ak_store_prepare(&m->unsum, m->archive,
                               "UPDATE trials SET checksum = NULL WHERE id = ?1", err));
    }
    bool good =
        sqlite3_bind_int64(m->unsum, 1, id) == SQLITE_OK && sqlite3_step(m->unsum) == SQLITE_DONE;
    (void)sqlite3_reset(m->unsum);
    return good ? AK_OK : ak_store_fault(m->archive, "cannot be written", err);
}

static ak_status copy_trial(merge *m, ak_trial *trial, bool summed, ak_error *err)
{
    char key[24];
    int64_t known = 0;
    const merged_run *run = find_run(m, trial->run);
    trial_key(key, trial->id);
    trial->parent = trial_here(m, trial->parent);
    if (run != NULL) {
        AK_DO(ak_trial_set_text(&trial->run, run->id, err));
    }
    if (run == NULL || !run->fresh) {
        AK_DO(find_trial(&known, m, trial, err));
    }
    if (known == 0) {
        trial->imported = 1;
        AK_DO(ak_store_add_trial(m->archive, trial, err));
        AK_DO(summed ? AK_OK : leave_unsummed(m, trial->id, err));
        m->added++;
    } else {
        trial->id = known;
        m->known++;
    }
    return ak_map_put(m->trial_of, key, (size_t)trial->id, err);
}

static ak_status copy_trials(merge *m, ak_error *err)
{
    ak_status status = AK_OK;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    const ak_archive_filter all = {.simulated = true};
    AK_DO(ak_store_ask(&m->before, m->archive, "SELECT coalesce(max(id), 0) FROM trials", err));
    AK_DO(ak_store_prepare(&m->same_trial, m->archive, same_trial_sql, err));
    AK_DO(ak_store_select(&rows, m->other, ak_store_columns, &all, " ORDER BY id", err));
    while (ak_store_next(&status, m->other, rows, err)) {
        AK_AT_END(ak_trial_clear) ak_trial trial = {0};
        status = ak_store_read_trial(&trial, rows, err);
        const bool summed = sqlite3_column_type(rows, AK_FIELD_COUNT + 1) != SQLITE_NULL;
        status = status == AK_OK ? check_trial(m, &trial, err) : status;
        status = status == AK_OK ? copy_trial(m, &trial, summed, err) : status;
    }
    return status;
}

/* ---- results --------------------------------------------------------------------------------- */

/* Translates the ids of runs and trials in a document that was parsed, and so is nested at most
   AK_JSON_DEPTH_MAX deep: members "run" and "trial". Returns false without memory. */
static bool translate(json_t *value, const merge *m)
{
    bool good = true;
    if (json_is_object(value)) {
        AK_EACH_MEMBER(key, part, value) {
            const merged_run *run =
                strcmp(key, "run") == 0 ? find_run(m, json_string_value(part)) : NULL;
            int64_t trial = strcmp(key, "trial") == 0 && json_is_integer(part)
                                ? trial_here(m, json_integer_value(part))
                                : 0;
            good = good && (run == NULL || json_string_set(part, run->id) == 0) &&
                   (trial == 0 || json_integer_set(part, trial) == 0) && translate(part, m);
        }
    }
    AK_EACH(part, value) {
        good = good && translate(part, m);
    }
    return good;
}

/* If a run here lacks its end or its result, sets the end that is missing, and the result to that
   of the other archive if there is one. */
static ak_status copy_result(merge *m, const merged_run *one, ak_error *err)
{
    AK_AT_END(ak_run_clear) ak_run run = {0};
    json_auto_t *result = NULL;
    AK_FREED char *text = NULL;
    AK_DO(ak_archive_get_run(&run, m->other, one->old, err));
    if (run.ended == NULL && run.result_json == NULL) {
        return AK_OK;
    }
    if (run.result_json != NULL) {
        AK_DO(ak_json_parse_text(&result, run.result_json, m->other->path, err));
        AK_DO(translate(result, m) ? ak_json_text(&text, result, err) : ak_fail_memory(err));
    }
    return ak_store_change(
        m->archive,
        "UPDATE runs SET ended = coalesce(ended, ?2), result = coalesce(?3, result), "
        "result_checksum = CASE WHEN ?3 IS NULL THEN result_checksum ELSE " AK_STORE_CHECKSUM(
            "?3") " END WHERE id = ?1 AND (ended IS NULL OR result IS NULL)",
        (const char *const[]){one->id, run.ended, text}, 3, err);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static ak_status has_call(bool *out, const merge *m, const ak_call *call, ak_error *err)
{
    sqlite3_stmt *s = m->same_call;
    bool bound = ak_store_bind_text(s, 1, call->run) && ak_store_bind_text(s, 2, call->started) &&
                 ak_store_bind_text(s, 3, call->model) &&
                 sqlite3_bind_int(s, 4, call->generation) == SQLITE_OK;
    int64_t id = 0;
    AK_DO(ak_store_ask_bound(&id, m->archive, s, bound, err));
    *out = id != 0;
    return AK_OK;
}

static bool copy_call(void *context, const ak_call *call)
{
    merge *m = context;
    const merged_run *run = find_run(m, call->run);
    ak_call copy = *call;
    bool known = false;
    if (run == NULL) {
        return true; /* a call without a run cannot be read */
    }
    copy.run = (char *)(uintptr_t)run->id;
    m->status = run->fresh ? AK_OK : has_call(&known, m, &copy, m->err);
    if (m->status == AK_OK && !known) {
        m->status = ak_store_add_call(m->archive, &copy, m->err);
    }
    return m->status == AK_OK;
}

static ak_status copy_calls(merge *m, ak_error *err)
{
    AK_DO(ak_store_prepare(&m->same_call, m->archive,
                           "SELECT 1 FROM calls WHERE run = ?1 AND started = ?2 AND model = ?3 AND "
                           "generation = ?4",
                           err));
    m->err = err;
    AK_DO(ak_archive_each_call(m->other, NULL, copy_call, m, err));
    return m->status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static ak_status copy_all(merge *m, ak_error *err)
{
    AK_DO(copy_environments(m, err));
    AK_DO(copy_rows(m, "SELECT hash, files, first_seen FROM sources",
                    "INSERT OR IGNORE INTO sources (hash, files, first_seen) VALUES (?1, ?2, ?3)",
                    err));
    AK_DO(copy_rows(m, "SELECT ended, kind, result FROM studies ORDER BY id",
                    "INSERT INTO studies (ended, kind, result) SELECT ?1, ?2, ?3 WHERE NOT EXISTS "
                    "(SELECT 1 FROM studies WHERE ended = ?1 AND kind = ?2 AND result = ?3)",
                    err));
    AK_DO(copy_runs(m, err));
    AK_DO(copy_trials(m, err));
    for (size_t i = 0; i < m->run_count; i++) {
        AK_DO(copy_result(m, &m->runs[i], err));
    }
    return copy_calls(m, err);
}

/* Opens a copy of the other archive. Refuses the archive that is merged into. */
static ak_status open_other(merge *m, const char *path, ak_error *err)
{
    struct stat here, there;
    AK_FAIL_IF(stat(path, &there) == 0 && stat(m->archive->path, &here) == 0 &&
                   here.st_dev == there.st_dev && here.st_ino == there.st_ino,
               err, AK_INVALID, "%s is the archive itself; name another one", path);
    return ak_archive_open_copy(&m->other, path, err);
}

ak_status ak_archive_merge(size_t *added, size_t *known, ak_archive *archive, const char *path,
                           ak_error *err)
{
    merge m = {.archive = archive, .run_of = ak_map_new(), .trial_of = ak_map_new()};
    ak_status status = AK_OK;
    AK_TRY(ak_stored(m.run_of != NULL && m.trial_of != NULL, err));
    AK_TRY(open_other(&m, path, err));
    AK_TRY(ak_store_begin(archive, err));
    AK_TRY(ak_store_end_transaction(archive, copy_all(&m, err), err));
    *added = m.added;
    *known = m.known;
out:
    (void)sqlite3_finalize(m.same_trial);
    (void)sqlite3_finalize(m.same_call);
    (void)sqlite3_finalize(m.unsum);
    ak_archive_close(m.other);
    ak_map_free(m.run_of);
    ak_map_free(m.trial_of);
    ak_free(m.runs);
    return status;
}
