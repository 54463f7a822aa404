/*
 * best.c: finds the best configuration of a task.
 *
 * The lowest of many noisy medians is partly luck, so its time is too low. A run therefore ends
 * with a finish, which measures the best candidates again beside the default and the libraries. The
 * winner of that comparison counts more than any single trial. Of an implementation, only the
 * trials in its latest environment compete (all of them if that is not known). If an edit of the
 * source was taken back, the latest environment in which the kernel was as it is now takes that
 * place. Then the best of each implementation compete, if their environments differ from the latest
 * of all only in the source. A configuration that a failed trial refutes (ak_trial_refutes) never
 * competes, even if an earlier trial passed: the finish checks more sizes than the search.
 *
 * The lowest of the times that several finishes measured would be luck again. So what counts for a
 * configuration is the latest finish that measured it: if the configuration lost there, none of its
 * finishes counts, unless the caller asked for this configuration, which then has its time there.
 * The winners that are left are ordered as the candidates of one finish are (measure/contest.h).
 */
#include "archive/archive.h"

#include <string.h>

#include "archive/config_text.h"
#include "archive/field.h"
#include "archive/finish_order.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"

/* Says that no trial matches, and which command makes some. */
static ak_status suggest_tune(const ak_archive *archive, const ak_archive_filter *filter,
                              ak_error *err)
{
    const char *size = ak_or_empty(filter->size);
    const char *kernel = filter->named != NULL    ? filter->named
                         : filter->kernel != NULL ? filter->kernel
                                                  : "KERNEL";
    return ak_fail(
        err, AK_NOT_FOUND, "%s%s; make some with 'autokernel tune %.160s%s%.100s'", archive->path,
        archive->empty ? ": there is no archive yet, so no trial matches" : ": no trial matches",
        kernel, size[0] == 0 ? "" : " --size ", size);
}

static ak_status none_matches(ak_archive *archive, const ak_archive_filter *filter, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *simulated = NULL, *failed = NULL;
    ak_archive_filter all = *filter;
    all.simulated = true;
    AK_DO(ak_store_select(&simulated, archive, "device", &all, " LIMIT 1", err));
    AK_FAIL_IF(sqlite3_step(simulated) == SQLITE_ROW, err, AK_NOT_FOUND,
               "%s: only simulated trials match; --device '%s' shows them",
               ak_archive_path(archive), (const char *)sqlite3_column_text(simulated, 0));
    all.ok_only = false;
    AK_DO(ak_store_select(&failed, archive, "kernel", &all, " LIMIT 1", err));
    AK_FAIL_IF(sqlite3_step(failed) == SQLITE_ROW, err, AK_NOT_FOUND,
               "%s: no trial that matches was successful; 'autokernel history %.60s' shows why",
               ak_archive_path(archive), (const char *)sqlite3_column_text(failed, 0));
    return suggest_tune(archive, filter, err);
}

/* Refuses trials whose tasks differ in more than the implementation, because their times are not
   comparable. */
static ak_status check_one_task(ak_archive *archive, const ak_archive_filter *filter, ak_error *err)
{
    static const char *const names[] = {"kernel", "device", "size", "dtype", "choices"};
    sqlite3_stmt *rows;
    char *first[5] = {NULL};
    ak_status status = ak_store_select(
        &rows, archive, "DISTINCT kernel, device, size, dtype, choices", filter, " LIMIT 2", err);
    int row = 0;
    for (; ak_store_next(&status, archive, rows, err); row++) {
        for (int i = 0; i < 5 && status == AK_OK; i++) {
            const char *text = (const char *)sqlite3_column_text(rows, i);
            if (text == NULL) {
                status = ak_fail_memory(err);
            } else if (first[i] == NULL) {
                status = ak_trial_set_text(&first[i], text, err);
            } else if (strcmp(first[i], text) != 0) {
                status =
                    ak_fail_tasks(err, "trials of different tasks match", names[i], first[i], text);
            }
        }
    }
    if (status == AK_OK && row == 0) {
        status = none_matches(archive, filter, err);
    }
    (void)sqlite3_finalize(rows);
    for (int i = 0; i < 5; i++) {
        ak_free(first[i]);
    }
    return status;
}

#define LATEST " ORDER BY " AK_STORE_MADE " DESC, id DESC LIMIT 1"

/* The winner of a run's finish. */
typedef struct winner {
    const char *config; /* borrowed from the result */
    double ms, low, high, tflops, gbs, efficiency, joules;
    double cost, cost_low, cost_high; /* 0 if the objective is the time */
    const json_t *entry;              /* the winner among the candidates; NULL: not known */
    const json_t *noise;              /* of the finish */
} winner;

/* Returns the candidates that a run over many sizes recorded for one size: the winner, with its
   speed relative to the fastest library, and that library if there was one. */
static json_t *candidates_at(const json_t *one, json_t *config, json_t *ms)
{
    static const char *const speed[] = {"ratio", "ratio_ci", "verdict", "undecided_because", NULL};
    json_t *list = json_array();
    json_t *tuned = json_pack("{s:s,s:O,s:O}", "name", "tuned", "config", config, "ms", ms);
    bool good = ak_json_copy(tuned, json_object_get(one, "over_library"), speed);
    ak_json_add(&list, ak_json_whole(tuned, good));
    const char *library = ak_json_text_or_null(one, "library");
    if (library != NULL) {
        ak_json_add(&list, json_pack("{s:s,s:n,s:O?}", "name", library, "config", "ms",
                                     json_object_get(one, "library_ms")));
    }
    return list;
}

/* Returns the fastest library at one size, in the form of the member "baseline" of a result; NULL
   if there is none. */
static json_t *library_at(const json_t *one)
{
    const char *name = ak_json_text_or_null(one, "library");
    return name == NULL ? NULL
                        : json_pack("{s:s,s:n,s:O?,s:n}", "name", name, "version", "ms",
                                    json_object_get(one, "library_ms"), "ci_ms");
}

json_t *ak_result_at_size(const json_t *result, const char *size)
{
    const json_t *configs = json_object_get(result, "configs");
    AK_EACH(one, json_object_get(result, "sizes")) {
        const char *name = ak_json_text_or_null(one, "size");
        const json_t *which = json_object_get(one, "winner");
        json_t *config = json_is_integer(which)
                             ? json_array_get(configs, (size_t)json_integer_value(which))
                             : NULL;
        json_t *ms = json_object_get(one, "ms");
        if (name != NULL && strcmp(name, size) == 0 && json_is_number(ms) && config != NULL) {
            return json_pack(
                "{s:{s:O,s:O,s:O*,s:O*,s:O*,s:O*},s:o,s:O*,s:o*,s:O*,s:O*}", "best", "config",
                config, "ms", ms, "ci_ms", json_object_get(one, "ci_ms"), "cost",
                json_object_get(one, "cost"), "cost_low", json_object_get(one, "cost"), "cost_high",
                json_object_get(one, "cost"), "contestants", candidates_at(one, config, ms),
                "beside", json_object_get(one, "run"), "baseline", library_at(one), "reference",
                json_object_get(one, "library"), "warnings", json_object_get(result, "warnings"));
        }
    }
    return NULL;
}

static double cost_of(const winner *won)
{
    return won->cost > 0 ? won->cost : won->ms;
}

/* Reads the winner of a run's finish or, if `wanted` is not NULL, the candidate with that
   configuration. Returns false if there is none. A run that was cancelled has no finish: its result
   names a best configuration, too, but only the search has measured that. */
static bool read_winner(winner *out, const json_t *result, const char *wanted)
{
    if (json_array_size(json_object_get(result, "contestants")) == 0) {
        return false;
    }
    const json_t *best = json_object_get(result, "best"), *entry = ak_finish_winner(result);
    if (wanted != NULL && !ak_json_text_is(best, "config", wanted)) {
        best = entry = ak_json_find(json_object_get(result, "contestants"), "config", wanted);
    }
    *out = (winner){
        .config = ak_json_text_or_null(best, "config"),
        .ms = ak_json_positive_at(best, "ms"),
        .low = ak_json_number_in(best, "ci_ms", 0),
        .high = ak_json_number_in(best, "ci_ms", 1),
        .tflops = ak_json_positive_at(best, "tflops"),
        .gbs = ak_json_positive_at(best, "gbs"),
        .efficiency = ak_json_positive_at(best, "efficiency"),
        .joules = ak_json_positive_at(best, "joules"),
        .cost = ak_json_positive_at(best, "cost"),
        .cost_low = ak_json_positive_at(best, "cost_low"),
        .cost_high = ak_json_positive_at(best, "cost_high"),
        .noise = json_object_get(result, "noise"),
        .entry = entry,
    };
    return out->config != NULL && out->ms > 0;
}

/* A finish of a run over one size, or the part of a finish over many sizes that belongs to that
   size. */
typedef struct finish {
    json_t *result; /* owned */
    char *run;      /* owned */
    winner won;     /* borrows from the result */
} finish;

/* The finishes whose winners compete: the latest AK_CONTEST_MAX of them, the latest first. */
typedef struct finishes {
    ak_archive *archive;
    const ak_archive_filter *filter; /* of the trials that may be the best */
    const char *size;
    finish list[AK_CONTEST_MAX];
    size_t count;
    ak_map *measured; /* configurations for which no earlier finish counts any more */
    ak_map *judged;   /* runs over one size whose winner a run over many sizes has measured again */
} finishes;

static void finishes_clear(finishes *f)
{
    for (size_t i = 0; i < f->count; i++) {
        json_decref(f->list[i].result);
        ak_free(f->list[i].run);
    }
    ak_map_free(f->measured);
    ak_map_free(f->judged);
}

/* Copies clocks, power, temperature and throttling of the device from the winner to the trial. */
static ak_status take_conditions(ak_trial *best, const json_t *conditions, ak_error *err)
{
    best->sm_clock_mhz = ak_json_positive_at(conditions, "sm_clock_mhz");
    best->memory_clock_mhz = ak_json_positive_at(conditions, "memory_clock_mhz");
    best->power_watts = ak_json_positive_at(conditions, "power_watts");
    best->temperature_celsius = ak_json_positive_at(conditions, "temperature_celsius");
    return ak_trial_set_text(&best->throttle, ak_json_text_or_null(conditions, "throttle"), err);
}

/* Replaces the best trial by `trial`, whose contents it takes, with the figures that the finish
   measured for the winner. A rate that the result lacks is scaled from the trial's, because the
   work is the same. If the result lacks the energy, the trial's stays. */
static ak_status take_winner(ak_trial *best, const ak_trial *trial, const winner *won,
                             ak_error *err)
{
    const double faster = trial->median_ms > 0 ? trial->median_ms / won->ms : 0;
    ak_trial_clear(best);
    *best = *trial;
    if (won->joules > 0) {
        best->joules = won->joules;
        best->joules_low = best->joules_high = 0; /* they were those of the search */
    }
    best->cost = won->cost;
    best->cost_low = won->cost_low;
    best->cost_high = won->cost_high;
    best->median_ms = won->ms;
    best->ci_low_ms = won->low > 0 ? won->low : 0;
    best->ci_high_ms = won->high > 0 ? won->high : 0;
    best->tflops = won->tflops > 0 ? won->tflops : trial->tflops * faster;
    best->gbs = won->gbs > 0 ? won->gbs : trial->gbs * faster;
    best->efficiency = won->efficiency > 0 ? won->efficiency : trial->efficiency * faster;
    best->finish_candidates = (size_t)ak_json_positive_at(won->noise, "candidates");
    best->finish_seconds = ak_json_positive_at(won->noise, "seconds");
    best->search_ms = trial->median_ms;
    best->search_clock_mhz = trial->sm_clock_mhz;
    return take_conditions(best, won->entry, err);
}

/* Finds the best trial of a configuration that won a run: a trial of that run, or of the run that
   the filter names, or else one of any run. Returns AK_NOT_FOUND, without a message, if there is
   none or another trial refutes the configuration. */
static ak_status trial_of_winner(ak_trial *out, const finishes *f, const char *config,
                                 const char *run, ak_error *err)
{
    ak_archive_filter same = *f->filter;
    same.config = config;
    same.run = f->filter->run == NULL ? run : f->filter->run;
    return ak_store_fastest_right(out, f->archive, &same, err);
}

/* Sets *out to whether trial_of_winner finds a trial. */
static ak_status has_trial(bool *out, const finishes *f, const char *config, const char *run,
                           ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    ak_status status = trial_of_winner(&trial, f, config, run, err);
    *out = status == AK_OK;
    return status == AK_NOT_FOUND ? AK_OK : status;
}

/* Notes which configurations a finish has measured, so that no earlier finish counts for them. */
static ak_status note_measured(finishes *f, const json_t *result, ak_error *err)
{
    AK_EACH(one, json_object_get(result, "contestants")) {
        const char *config = ak_json_text_or_null(one, "config");
        if (config != NULL && ak_json_positive_at(one, "ms") > 0) {
            AK_DO(ak_map_put(f->measured, config, 0, err));
        }
    }
    const char *won = ak_json_text_or_null(json_object_get(result, "best"), "config");
    return won == NULL ? AK_OK : ak_map_put(f->measured, won, 0, err);
}

/* Notes that a run over many sizes has measured the winner of the run `beside` again, so that the
   finish of `beside` no longer counts. */
static ak_status judge(finishes *f, const char *beside, ak_error *err)
{
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->list[i].run, beside) == 0) {
            f->list[i].won.ms = f->list[i].won.cost = 0;
        }
    }
    return ak_map_put(f->judged, beside, 0, err);
}

/* Adds the finish of a run unless a later finish has measured its winner, it has not measured the
   configuration that the caller asked for, or the list is full. If a check has refuted the winner,
   or the archive has no trial of it, the finish is ignored: a candidate that lost to that winner
   may have won an earlier finish. */
static ak_status consider_run(finishes *f, const char *run, const char *result_text, ak_error *err)
{
    const char *wanted = f->filter->config;
    json_auto_t *result = NULL;
    winner won;
    ak_status status = ak_json_parse_text(&result, result_text, "result", err);
    if (status != AK_OK) { /* a result that is not JSON names no winner */
        return status == AK_NO_MEMORY ? status : AK_OK;
    }
    if (json_object_get(result, "sizes") != NULL) {
        json_t *of_size = ak_result_at_size(result, f->size);
        json_decref(result);
        result = of_size;
    }
    AK_DO(ak_config_text_in_result(result, err));
    if (ak_map_get(NULL, f->judged, run) || !read_winner(&won, result, wanted)) {
        return AK_OK;
    }
    const bool known = ak_map_get(NULL, f->measured, won.config);
    bool counts;
    AK_DO(has_trial(&counts, f, won.config, run, err));
    if (!counts) {
        return AK_OK;
    }
    AK_DO(wanted == NULL ? note_measured(f, result, err) : ak_map_put(f->measured, wanted, 0, err));
    const char *beside = ak_json_text_or_null(result, "beside");
    if (beside != NULL) {
        AK_DO(judge(f, beside, err));
    }
    if (!known && f->count < AK_CONTEST_MAX) {
        finish *one = &f->list[f->count++];
        *one = (finish){.result = json_incref(result), .won = won};
        AK_DO(ak_copy_text(&one->run, run, err));
    }
    return AK_OK;
}

/* Returns the default configuration of a finish, which has the speed 1 relative to itself; NULL if
   it did not take part. */
static const char *default_of(const finish *one)
{
    AK_EACH(candidate, json_object_get(one->result, "contestants")) {
        const ak_speed speed = ak_speed_read(json_object_get(candidate, "over_default"));
        if (speed.low == 1 && speed.high == 1) {
            return ak_json_text_or_null(candidate, "config");
        }
    }
    return NULL;
}

/* Replaces the best trial by the best of the winners that have a trial. A winner's speed relative
   to the default configuration counts if its finish had the same default as the latest finish,
   because a default depends on options. */
static ak_status take_best(ak_trial *best, const finishes *f, ak_error *err)
{
    ak_contender list[AK_CONTEST_MAX];
    size_t order[AK_CONTEST_MAX];
    const char *first = f->count == 0 ? NULL : default_of(&f->list[0]);
    for (size_t i = 0; i < f->count; i++) {
        const winner *won = &f->list[i].won;
        const char *its = default_of(&f->list[i]);
        list[i] = (ak_contender){.cost = cost_of(won)};
        if (first != NULL && its != NULL && strcmp(its, first) == 0) {
            list[i].over_default = ak_contender_read(won->entry).over_default;
        }
    }
    const size_t count = ak_contest_order(order, list, f->count);
    for (size_t i = 0; i < count; i++) {
        const finish *one = &f->list[order[i]];
        ak_trial trial = {0};
        ak_status status = trial_of_winner(&trial, f, one->won.config, one->run, err);
        if (status == AK_OK) {
            AK_DO(take_winner(best, &trial, &one->won, err));
            /* The result of this run also has the times of the other candidates. */
            return ak_trial_set_text(&best->run, one->run, err);
        }
        AK_DO(status == AK_NOT_FOUND ? AK_OK : status);
    }
    return AK_OK;
}

/* Replaces the best trial by the best winner among the finishes of the task and environment of
   `like`, if there is one. */
static ak_status consider_runs(ak_trial *best, ak_archive *archive, const ak_archive_filter *filter,
                               const ak_trial *like, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    const char *const texts[] = {like->kernel,  like->device,      like->size, like->dtype,
                                 like->choices, like->environment, filter->run};
    ak_status status = AK_OK;
    AK_AT_END(finishes_clear)
    finishes f = {.archive = archive,
                  .filter = filter,
                  .size = like->size,
                  .measured = ak_map_new(),
                  .judged = ak_map_new()};
    AK_DO(ak_made(f.measured, err));
    AK_DO(ak_made(f.judged, err));
    AK_DO(ak_store_query(
        &rows, archive,
        "SELECT result, id, " AK_STORE_CHANGED
        " FROM runs WHERE kernel = ?1 AND device = ?2 AND (size = ?3 OR "
        "instr(size, ';') > 0) AND dtype = ?4 AND choices = ?5 AND (environment IS ?6 OR "
        "environment IN " AK_STORE_ENVIRONMENTS("?6") ") AND (?7 IS NULL OR id IN " AK_STORE_RUNS(
            "?7") ") AND result IS NOT NULL ORDER BY iif(" AK_STORE_SIMULATED
                  ", '', coalesce(ended, started)) DESC, number DESC",
        texts, 7, err));
    while (ak_store_next(&status, archive, rows, err)) {
        const char *text = (const char *)sqlite3_column_text(rows, 0);
        const char *run = (const char *)sqlite3_column_text(rows, 1);
        status = text == NULL || run == NULL ? ak_fail_memory(err)
                                             : ak_store_unchanged(rows, 2, run, err);
        status = status == AK_OK ? consider_run(&f, run, text, err) : status;
    }
    AK_DO(status);
    return take_best(best, &f, err);
}

bool ak_trial_not_judged(const ak_trial *trial)
{
    return trial->reason != NULL &&
           strncmp(trial->reason, AK_NOT_JUDGED, sizeof AK_NOT_JUDGED - 1) == 0;
}

/* A wrong result or a crash always counts. Other failures count only in the check before a finish,
   which tries more sizes than the search, and not if the machine was too busy. */
bool ak_trial_refutes(const ak_trial *trial)
{
    return trial->status == AK_TRIAL_WRONG_RESULT || trial->status == AK_TRIAL_CRASHED ||
           (trial->status != AK_TRIAL_OK && ak_text_same(trial->strategy, AK_FINALISTS) &&
            !ak_trial_not_judged(trial));
}

bool ak_trial_may_be_tried_again(const ak_trial *trial)
{
    return trial->status == AK_TRIAL_TIMED_OUT || trial->status == AK_TRIAL_CRASHED ||
           trial->status == AK_TRIAL_OUT_OF_MEMORY;
}

/* Replaces *newest, the latest trial of one implementation, by the latest one that measured the
   kernel as it is now, if *newest measured another version, and nothing but the source has changed
   between the two: an edit was taken back. */
static ak_status prefer_present(ak_trial *newest, ak_archive *archive,
                                const ak_archive_filter *filter, ak_error *err)
{
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    AK_FREED char *changed = NULL;
    ak_status status = AK_OK;
    bool asked = false;
    AK_DO(ak_store_select(
        &rows, archive, "environment", filter,
        " GROUP BY environment ORDER BY max(" AK_STORE_MADE ") DESC, max(id) DESC", err));
    while (ak_store_next(&status, archive, rows, err)) {
        AK_AT_END(ak_trial_clear) ak_trial other = {0};
        ak_archive_filter narrow = *filter;
        bool same = true;
        narrow.environment = (const char *)sqlite3_column_text(rows, 0);
        if (narrow.environment == NULL || strcmp(narrow.environment, newest->environment) == 0) {
            continue;
        }
        if (!asked) {
            asked = true;
            AK_DO(ak_archive_kernel_changed(&changed, archive, newest, filter->place, err));
        }
        if (changed == NULL) {
            return AK_OK;
        }
        AK_DO(ak_archive_same_but_source(&same, archive, newest->environment, narrow.environment,
                                         err));
        if (same) {
            AK_DO(ak_store_first(&other, archive, &narrow, LATEST, err));
            AK_DO(ak_archive_kernel_is_present(&same, archive, &other, filter->place, err));
        }
        if (same) {
            ak_trial_clear(newest);
            AK_GIVE(newest, other);
            return AK_OK;
        }
    }
    return status;
}

/* Gives the best trial of one implementation in its latest environment or, unless the filter names
   an environment or a run, in the one that prefer_present chooses. Implementations do not share
   environments, because an environment includes the source. Returns AK_NOT_FOUND, without a
   message, if every configuration is refuted. */
static ak_status best_of_one(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                             ak_error *err)
{
    ak_archive_filter narrow = *filter;
    AK_AT_END(ak_trial_clear) ak_trial newest = {0}, best = {0};
    AK_DO(ak_store_first(&newest, archive, &narrow, LATEST, err));
    if (newest.environment != NULL) {
        if (filter->environment == NULL && filter->run == NULL) {
            AK_DO(prefer_present(&newest, archive, filter, err));
        }
        narrow.environment = newest.environment;
    }
    ak_status status = ak_store_first(&best, archive, &narrow, AK_STORE_FASTEST_RIGHT, err);
    if (status == AK_OK || status == AK_NOT_FOUND) {
        ak_status runs = consider_runs(&best, archive, &narrow, &newest, err);
        status = runs != AK_OK || best.config != NULL ? runs : status;
    }
    if (status == AK_OK) {
        AK_GIVE(out, best);
    }
    return status;
}

static bool faster(const ak_trial *a, const ak_trial *b)
{
    double x = ak_trial_cost(a), y = ak_trial_cost(b);
    return x > 0 && (y <= 0 || x < y);
}

ak_status ak_archive_best(ak_trial *out, ak_archive *archive, const ak_archive_filter *filter,
                          ak_error *err)
{
    ak_status status = AK_OK;
    ak_archive_filter narrow = filter != NULL ? *filter : (ak_archive_filter){0};
    narrow.ok_only = narrow.winner = true;
    AK_AT_END(ak_trial_clear) ak_trial best = {0}, newest = {0};
    bool found = false;
    AK_AT_END(ak_store_finalize) sqlite3_stmt *rows = NULL;
    AK_DO(check_one_task(archive, &narrow, err));
    AK_DO(ak_store_first(&newest, archive, &narrow, LATEST, err));
    AK_DO(ak_store_select(&rows, archive, "DISTINCT implementation", &narrow,
                          " ORDER BY implementation", err));
    while (ak_store_next(&status, archive, rows, err)) {
        ak_archive_filter one = narrow;
        ak_trial trial = {0};
        one.implementation = (const char *)sqlite3_column_text(rows, 0);
        status = one.implementation == NULL ? ak_fail_memory(err)
                                            : best_of_one(&trial, archive, &one, err);
        if (status == AK_NOT_FOUND) {
            status = AK_OK;
            continue;
        }
        /* A trial that was measured with another driver may be out of date. */
        bool comparable = false;
        if (status == AK_OK) {
            status = ak_archive_same_but_source(&comparable, archive, newest.environment,
                                                trial.environment, err);
        }
        if (status == AK_OK && comparable && (!found || faster(&trial, &best))) {
            ak_trial_clear(&best);
            best = trial;
            found = true;
        } else {
            ak_trial_clear(&trial);
        }
    }
    AK_DO(status);
    AK_FAIL_IF(!found, err, AK_NOT_FOUND,
               "%s: every configuration that was timed failed a later check; make others with "
               "'autokernel tune KERNEL'",
               ak_archive_path(archive));
    AK_GIVE(out, best);
    return status;
}
