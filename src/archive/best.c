/*
 * best.c: which configuration of a task is the best one?
 *
 * The lowest of many noisy medians is partly luck, and its time too good. A run therefore ends with
 * its finalists measured again, interleaved with the baseline; what won there is believed before
 * any single trial. Trials of other tasks or of another environment never compete, and no trial
 * does of a configuration that was found wrong beside it: a search checks less than the end of a
 * run.
 */
#include "archive/archive.h"

#include <string.h>

#include "archive/config_text.h"
#include "archive/field.h"
#include "archive/store.h"
#include "base/alloc.h"

/* Refuses trials of several tasks: their times cannot be compared. */
static ak_status check_one_task(ak_archive *archive, const ak_archive_filter *filter, ak_error *err)
{
    static const char *const names[] = {"kernel", "device", "size", "dtype", "choices"};
    sqlite3_stmt *rows;
    char *first[5] = {NULL};
    ak_status status = ak_store_select(
        &rows, archive, "DISTINCT kernel, device, size, dtype, choices", filter, " LIMIT 2", err);
    for (int row = 0; row < 2 && status == AK_OK; row++) {
        int code = sqlite3_step(rows);
        if (code == SQLITE_DONE) {
            status = row > 0 ? AK_OK
                             : ak_fail(err, AK_NOT_FOUND,
                                       "%s: no successful trial matches; make "
                                       "some with `autokernel tune KERNEL`",
                                       ak_archive_path(archive));
            break;
        }
        if (code != SQLITE_ROW) {
            status = ak_store_fault(archive, "cannot be read", err);
        }
        for (int i = 0; i < 5 && status == AK_OK; i++) {
            const char *text = (const char *)sqlite3_column_text(rows, i);
            if (text == NULL) {
                status = ak_fail_memory(err);
            } else if (row == 0) {
                status = ak_trial_set(&first[i], text, err);
            } else if (strcmp(first[i], text) != 0) {
                status = ak_fail(err, AK_INVALID,
                                 "trials of different tasks match (%s \"%s\" and \"%s\"): choose "
                                 "one %s",
                                 names[i], first[i], text, names[i]);
            }
        }
    }
    (void)sqlite3_finalize(rows);
    for (int i = 0; i < 5; i++) {
        ak_free(first[i]);
    }
    return status;
}

/* The first trial of a selection; AK_NOT_FOUND, without a message, if there is none. */
static ak_status first_trial(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                             const char *tail, ak_error *err)
{
    sqlite3_stmt *rows;
    ak_status status = ak_store_select(&rows, archive, ak_store_columns, filter, tail, err);
    if (status == AK_OK) {
        int code = sqlite3_step(rows);
        status = code == SQLITE_ROW    ? ak_store_read_trial(out, rows, err)
                 : code == SQLITE_DONE ? AK_NOT_FOUND
                                       : ak_store_fault(archive, "cannot be read", err);
    }
    (void)sqlite3_finalize(rows);
    return status;
}

/* What the finish of a run says about its winner. */
typedef struct winner {
    const char *config; /* borrowed from the document */
    double ms, low, high, tflops, gbs, efficiency;
} winner;

static double number(const json_t *object, const char *key)
{
    double value = json_number_value(json_object_get(object, key)); /* 0 unless it is a number */
    return value > 0 ? value : 0;
}

/* False without a winner, and without a finish: a run that was cancelled also names a best, but
   that one was measured only once, as every other trial. */
static bool read_winner(winner *out, const json_t *result)
{
    if (json_array_size(json_object_get(result, "contestants")) == 0) {
        return false;
    }
    const json_t *best = json_object_get(result, "best");
    const json_t *interval = json_object_get(best, "ci_ms");
    *out = (winner){
        .config = json_string_value(json_object_get(best, "config")),
        .ms = number(best, "ms"),
        .low = json_number_value(json_array_get(interval, 0)),
        .high = json_number_value(json_array_get(interval, 1)),
        .tflops = number(best, "tflops"),
        .gbs = number(best, "gbs"),
        .efficiency = number(best, "efficiency"),
    };
    return out->config != NULL && out->ms > 0;
}

/* If the run's winner is faster than the one in `best`, and a trial of it matches, that one is it.
 */
static ak_status consider_run(ak_trial *best, double *best_ms, ak_archive *archive,
                              const ak_archive_filter *filter, const char *result_text,
                              ak_error *err)
{
    json_t *result = NULL;
    winner won;
    ak_status status = ak_json_parse(&result, result_text, strlen(result_text), "result", err);
    if (status != AK_OK) { /* what cannot be read names no winner */
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    status = ak_config_text_in_result(result, err);
    if (status == AK_OK && read_winner(&won, result) && (*best_ms <= 0 || won.ms < *best_ms) &&
        (filter->config == NULL || strcmp(filter->config, won.config) == 0)) {
        ak_archive_filter same = *filter;
        ak_trial trial = {0};
        same.config = won.config;
        status = first_trial(&trial, archive, &same, " ORDER BY ms IS NULL, ms, id LIMIT 1", err);
        if (status == AK_OK) {
            ak_trial_clear(best);
            *best = trial;
            *best_ms = won.ms;
            best->median_ms = won.ms;
            best->ci_low_ms = won.low > 0 ? won.low : 0;
            best->ci_high_ms = won.high > 0 ? won.high : 0;
            best->tflops = won.tflops > 0 ? won.tflops : best->tflops;
            best->gbs = won.gbs > 0 ? won.gbs : best->gbs;
            best->efficiency = won.efficiency > 0 ? won.efficiency : best->efficiency;
        }
        status = status == AK_NOT_FOUND ? AK_OK : status;
    }
    json_decref(result);
    return status;
}

/* The finishes of all runs of the task, as `like` has it. */
static ak_status consider_runs(ak_trial *best, ak_archive *archive, const ak_archive_filter *filter,
                               const ak_trial *like, ak_error *err)
{
    sqlite3_stmt *rows;
    ak_status status = ak_store_prepare(
        &rows, archive,
        "SELECT result FROM runs WHERE kernel = ?1 AND device = ?2 AND size = ?3 AND dtype = ?4 "
        "AND choices = ?5 AND environment IS ?6 AND (?7 IS NULL OR id IN " AK_STORE_RUNS(
            "?7") ") AND result IS NOT NULL",
        err);
    const char *const texts[] = {like->kernel,  like->device,      like->size, like->dtype,
                                 like->choices, like->environment, filter->run};
    for (int i = 0; i < 7 && status == AK_OK; i++) {
        status = ak_store_bind_text(rows, i + 1, texts[i]) ? AK_OK : ak_fail_memory(err);
    }
    double best_ms = 0;
    while (status == AK_OK) {
        int code = sqlite3_step(rows);
        if (code == SQLITE_DONE) {
            break;
        }
        const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(rows, 0) : NULL;
        status = code != SQLITE_ROW ? ak_store_fault(archive, "cannot be read", err)
                 : text == NULL     ? ak_fail_memory(err)
                                    : consider_run(best, &best_ms, archive, filter, text, err);
    }
    (void)sqlite3_finalize(rows);
    return status;
}

/* The fastest trial of a configuration with which nothing is wrong. */
#define FASTEST_RIGHT                                                                              \
    " AND NOT EXISTS (SELECT 1 FROM trials AS w INDEXED BY trials_by_config WHERE w.config = "     \
    "trials.config AND w.kernel = trials.kernel AND w.implementation = trials.implementation AND " \
    "w.device = trials.device AND w.size = trials.size AND w.dtype = trials.dtype AND w.choices "  \
    "= trials.choices AND w.environment IS trials.environment AND w.status IN ('wrong_result', "   \
    "'crashed')) ORDER BY ms IS NULL, ms, id LIMIT 1"

/* Of trials of one implementation: those of its latest environment. AK_NOT_FOUND, without a
   message, if something is wrong with each. */
static ak_status best_of_one(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                             ak_error *err)
{
    ak_archive_filter narrow = *filter;
    ak_trial newest = {0}, best = {0};
    ak_status status = first_trial(&newest, archive, &narrow, " ORDER BY id DESC LIMIT 1", err);
    if (status == AK_OK && newest.environment != NULL) {
        narrow.environment = newest.environment;
    }
    if (status == AK_OK) {
        status = first_trial(&best, archive, &narrow, FASTEST_RIGHT, err);
    }
    if (status == AK_OK || status == AK_NOT_FOUND) {
        ak_status runs = consider_runs(&best, archive, &narrow, &newest, err);
        status = runs != AK_OK || best.config != NULL ? runs : status;
    }
    ak_trial_clear(&newest);
    if (status != AK_OK) {
        ak_trial_clear(&best);
        return status;
    }
    *out = best;
    return AK_OK;
}

static bool faster(const ak_trial *a, const ak_trial *b)
{
    return a->median_ms > 0 && (b->median_ms <= 0 || a->median_ms < b->median_ms);
}

/* An implementation is a part of the environment, so that each has a latest one of its own. */
/* Do two environments differ in nothing but the source of what was measured? */
static ak_status same_but_source(bool *out, ak_archive *archive, const char *one, const char *other,
                                 ak_error *err)
{
    json_t *documents[2] = {NULL};
    const char *const hashes[2] = {one, other};
    ak_status status = AK_OK;
    *out = true;
    if (one == NULL || other == NULL || strcmp(one, other) == 0) {
        return AK_OK;
    }
    for (int i = 0; i < 2 && status == AK_OK; i++) {
        char *text = NULL;
        status = ak_archive_environment(&text, archive, hashes[i], err);
        if (status == AK_OK && text != NULL) {
            status = ak_json_parse(&documents[i], text, strlen(text), "an environment", err);
            (void)json_object_del(documents[i], "source");
        }
        ak_free(text);
    }
    *out = documents[0] != NULL && documents[1] != NULL && json_equal(documents[0], documents[1]);
    json_decref(documents[0]);
    json_decref(documents[1]);
    return status;
}

ak_status ak_archive_best(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                          ak_error *err)
{
    ak_archive_filter narrow = {0};
    if (filter != NULL) {
        narrow = *filter;
    }
    narrow.ok_only = true;
    ak_trial best = {0}, newest = {0};
    bool found = false;
    sqlite3_stmt *rows = NULL;
    ak_status status = check_one_task(archive, &narrow, err);
    if (status == AK_OK) {
        status = first_trial(&newest, archive, &narrow, " ORDER BY id DESC LIMIT 1", err);
    }
    if (status == AK_OK) {
        status = ak_store_select(&rows, archive, "DISTINCT implementation", &narrow,
                                 " ORDER BY implementation", err);
    }
    while (status == AK_OK) {
        int code = sqlite3_step(rows);
        if (code == SQLITE_DONE) {
            break;
        }
        const char *text = code == SQLITE_ROW ? (const char *)sqlite3_column_text(rows, 0) : NULL;
        ak_archive_filter one = narrow;
        ak_trial trial = {0};
        one.implementation = text;
        status = code != SQLITE_ROW ? ak_store_fault(archive, "cannot be read", err)
                 : text == NULL     ? ak_fail_memory(err)
                                    : best_of_one(&trial, archive, &one, err);
        if (status == AK_NOT_FOUND) {
            status = AK_OK;
            continue;
        }
        bool comparable = false; /* one that was measured under another driver may be out of date */
        if (status == AK_OK) {
            status =
                same_but_source(&comparable, archive, newest.environment, trial.environment, err);
        }
        if (status == AK_OK && comparable && (!found || faster(&trial, &best))) {
            ak_trial_clear(&best);
            best = trial;
            found = true;
        } else {
            ak_trial_clear(&trial);
        }
    }
    ak_trial_clear(&newest);
    (void)sqlite3_finalize(rows);
    if (status == AK_OK && !found) {
        status = ak_fail(err, AK_NOT_FOUND,
                         "%s: every configuration that was timed failed a later check; make others "
                         "with `autokernel tune KERNEL`",
                         ak_archive_path(archive));
    }
    if (status != AK_OK) {
        ak_trial_clear(&best);
        return status;
    }
    *out = best;
    return AK_OK;
}
