#include "archive/config_text.h"
#include "archive/finish_order.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "formats/format.h"

/* The members that ak_archive_best takes from the result of a run: from "best", from the best's
   entry among the candidates, and from "noise". */
static const char *const of_best[] = {"ms",     "ci_ms", "tflops",   "gbs",       "efficiency",
                                      "joules", "cost",  "cost_low", "cost_high", NULL};
static const char *const of_candidate[] = {
    "sm_clock_mhz", "memory_clock_mhz", "power_watts", "temperature_celsius",
    "throttle",     "over_default",     NULL};
static const char *const of_noise[] = {"candidates", "seconds", NULL};

/* ---- export ---------------------------------------------------------------------------------- */

/* A run whose result is read. */
typedef struct ended {
    const char *id, *started, *size;
    ak_archive_filter task; /* selects the run's task at any size */
} ended;

/* Adds what the finish of `run` found for the trial with this id. */
static ak_status add(json_t *finishes, int64_t id, const ended *run, const json_t *result,
                     ak_error *err)
{
    char key[24];
    const json_t *best = json_object_get(result, "best");
    json_t *finish = json_pack("{s:s, s:s}", "run", run->id, "started", run->started);
    bool good = finish != NULL && ak_json_copy(finish, best, of_best) &&
                ak_json_copy(finish, ak_finish_winner(result), of_candidate) &&
                ak_json_copy(finish, json_object_get(result, "noise"), of_noise);
    (void)snprintf(key, sizeof key, "%lld", (long long)id);
    json_t *list = json_object_get(finishes, key);
    if (list == NULL) {
        list = json_array();
        good = ak_json_set(finishes, key, list) && good;
    }
    return ak_stored(ak_json_append(list, ak_json_whole(finish, good)), err);
}

/* Adds what a run over many sizes found for its winner at one size. These figures replace those of
   the run at this size alone, which the result names as "beside": they are added under its id, and
   the id is noted in `judged`. Adds nothing if the archive lacks that run, has no right trial of
   the winner, or has a trial that refutes it. */
static ak_status add_size(json_t *finishes, json_t *judged, const ended *many, json_t *result,
                          ak_archive *archive, ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    AK_AT_END(ak_run_clear) ak_run one = {0};
    ak_archive_filter same = many->task;
    const char *id = ak_json_text_or_null(result, "beside");
    AK_DO(ak_config_text_in_result(result, err));
    same.config = ak_json_text_or_null(json_object_get(result, "best"), "config");
    same.size = many->size;
    same.run = id;
    if (id == NULL || same.config == NULL || ak_archive_get_run(&one, archive, id, NULL) != AK_OK) {
        return AK_OK;
    }
    const ak_status status = ak_store_fastest_right(&trial, archive, &same, err);
    if (status == AK_OK) {
        const ended run = {.id = id, .started = one.started};
        AK_DO(ak_stored(ak_json_set(judged, id, json_true()), err));
        AK_DO(add(finishes, trial.id, &run, result, err));
    }
    return status == AK_NOT_FOUND ? AK_OK : status;
}

static ak_status add_run(json_t *finishes, json_t *judged, ended *run, const json_t *result,
                         ak_archive *archive, ak_error *err)
{
    const json_t *sizes = json_object_get(result, "sizes");
    const json_int_t trial =
        json_integer_value(json_object_get(json_object_get(result, "best"), "trial"));
    if (sizes == NULL) {
        const bool counts = json_array_size(json_object_get(result, "contestants")) > 0 &&
                            json_object_get(judged, run->id) == NULL && trial > 0;
        return counts ? add(finishes, trial, run, result, err) : AK_OK;
    }
    AK_EACH(one, sizes) {
        run->size = ak_json_text_or_null(one, "size");
        json_auto_t *at = run->size == NULL ? NULL : ak_result_at_size(result, run->size);
        AK_DO(at == NULL ? AK_OK : add_size(finishes, judged, run, at, archive, err));
    }
    return AK_OK;
}

/* Reads a row: id, started, kernel, device, dtype, choices, environment, result,
   AK_STORE_CHANGED. */
static ak_status add_row(json_t *finishes, json_t *judged, sqlite3_stmt *row, ak_archive *archive,
                         ak_error *err)
{
    const char *texts[8];
    for (int i = 0; i < 8; i++) {
        texts[i] = (const char *)sqlite3_column_text(row, i);
    }
    ended run = {.id = texts[0],
                 .started = texts[1],
                 .task = {.kernel = texts[2],
                          .device = texts[3],
                          .dtype = texts[4],
                          .choices = texts[5],
                          .environment = texts[6],
                          .ok_only = true}};
    json_auto_t *result = NULL;
    AK_DO(ak_store_unchanged(row, 8, run.id, err));
    ak_status status = ak_json_parse_text(&result, texts[7], "result", err);
    if (status != AK_OK) { /* a result that is not JSON names no winner */
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    return add_run(finishes, judged, &run, result, archive, err);
}

ak_status ak_finishes_read(json_t **out, ak_archive *archive, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    json_auto_t *finishes = json_object(), *judged = json_object();
    ak_status status = AK_OK;
    AK_DO(ak_stored(finishes != NULL && judged != NULL, err));
    AK_DO(ak_store_prepare(&rows, archive,
                           "SELECT id, started, kernel, device, dtype, choices, environment, "
                           "result, " AK_STORE_CHANGED " FROM runs WHERE result IS NOT NULL "
                           "ORDER BY instr(size, ';') = 0, number",
                           err));
    while (ak_store_next(&status, archive, rows, err)) {
        status = add_row(finishes, judged, rows, archive, err);
    }
    AK_DO(status);
    *out = json_incref(finishes);
    return AK_OK;
}

ak_status ak_finishes_set(json_t *object, const json_t *finishes, const ak_trial *trial,
                          ak_error *err)
{
    char key[24];
    json_auto_t *others = NULL;
    bool good = true;
    (void)snprintf(key, sizeof key, "%lld", (long long)trial->id);
    if (trial->run == NULL || trial->status != AK_TRIAL_OK) {
        return AK_OK;
    }
    AK_EACH(one, json_object_get(finishes, key)) {
        if (ak_json_text_is(one, "run", trial->run)) {
            json_t *own = json_copy(one);
            (void)json_object_del(own, "run");
            (void)json_object_del(own, "started");
            good = good && ak_json_set(object, "finish", own);
        } else {
            others = others == NULL ? json_array() : others;
            good = good && ak_json_append(others, json_incref(one));
        }
    }
    good = good && (others == NULL || ak_json_set(object, "finishes", json_incref(others)));
    return ak_stored(good, err);
}

/* ---- import ---------------------------------------------------------------------------------- */

/* Makes the result of a run from the figures that its finish found for its winner. Returns NULL if
   memory ran out. */
static json_t *result_of(const ak_trial *trial, const json_t *finish, json_t *config)
{
    json_auto_t *best = json_pack("{s:I, s:O}", "trial", (json_int_t)trial->id, "config", config);
    json_auto_t *candidate = json_pack("{s:s, s:O}", "name", "tuned", "config", config);
    json_auto_t *noise = json_object();
    bool good = best != NULL && candidate != NULL && noise != NULL &&
                ak_json_copy(best, finish, of_best) && ak_json_copy(noise, finish, of_noise) &&
                ak_json_copy(candidate, finish, (const char *const[]){"ms", "ci_ms", NULL}) &&
                ak_json_copy(candidate, finish, of_candidate);
    return good ? json_pack("{s:O, s:[O], s:O}", "best", best, "contestants", candidate, "noise",
                            noise)
                : NULL;
}

static ak_status store(ak_archive *archive, const char *run, const ak_trial *trial,
                       const json_t *finish, ak_error *err)
{
    json_auto_t *config = NULL, *result = NULL;
    AK_FREED char *text = NULL;
    AK_DO(ak_config_text_to_json(&config, trial->config, "configuration", err));
    result = result_of(trial, finish, config);
    AK_DO(result == NULL ? ak_fail_memory(err) : ak_json_text(&text, result, err));
    return ak_store_change(archive,
                           "UPDATE runs SET result = ?2, result_checksum = " AK_STORE_CHECKSUM(
                               "?2") " WHERE id = ?1 AND imported <> 0 AND result IS NULL",
                           (const char *const[]){run, text}, 2, err);
}

/* Adds the run that an element of "finishes" names, unless it exists, and stores its result if it
   was imported and has none. */
static ak_status import_later(ak_archive *archive, const ak_trial *trial, const json_t *finish,
                              const char *where, ak_error *err)
{
    char started[AK_TIMESTAMP_BYTES];
    const char *begun;
    ak_trial of_run = *trial; /* borrows the texts */
    AK_DO(ak_json_string(&begun, finish, "run", where, err));
    of_run.run = (char *)(uintptr_t)begun;
    AK_DO(ak_json_string(&begun, finish, "started", where, err));
    AK_FAIL_IF(!ak_format_timestamp(started, begun), err, AK_INVALID,
               "%s: \"%.60s\" is not a time like 2026-11-21T10:54:22Z", where, begun);
    of_run.timestamp = started;
    AK_DO(ak_trial_validate(&of_run, where, err));
    AK_DO(ak_store_need_run(archive, &of_run, err));
    return store(archive, of_run.run, trial, finish, err);
}

ak_status ak_finishes_import(ak_archive *archive, const ak_trial *trial, const json_t *entry,
                             const char *where, ak_error *err)
{
    const json_t *own = json_object_get(entry, "finish");
    if (trial->run != NULL && ak_json_number_at(own, "ms") > 0) {
        AK_DO(store(archive, trial->run, trial, own, err));
    }
    AK_EACH(one, json_object_get(entry, "finishes")) {
        if (ak_json_number_at(one, "ms") > 0) {
            AK_DO(import_later(archive, trial, one, where, err));
        }
    }
    return AK_OK;
}
