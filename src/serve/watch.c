/* watch.c: see watch.h. The figures of a run come from its result if it has one. Otherwise its
   trials are counted, and counted again when there are new ones. */
#include "serve/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "archive/overview.h"
#include "base/alive.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/map.h"

/* A run records its process just after it begins. If the record is still missing after this many
   looks at the archive, the run is taken to have none. */
#define ASKS_MAX 20

/* The result of a study may have megabytes. A poll stops reading them after this many ms, so that
   requests do not wait; the next polls read the rest. */
#define STUDIES_MS 200

typedef struct seen {
    json_t *shown; /* members of the run's JSON that do not change while it runs */
    char *id, *ended;
    char *process; /* identifies the run's process (base/alive.h); NULL: not known */
    int asks;      /* how often `process` was looked up */
    bool killed;   /* its process is gone, but the archive has no end of the run */
    int64_t number, trials, ok, last_trial;
    int64_t ends; /* value of ak_watch.ends when the end was seen; 0: it has not ended */
    double best_ms;
    bool has_result, imported, stale; /* stale: `devices` has to be read again */
    json_t *devices;                  /* of a run under way; NULL: not known */
} seen;

struct ak_watch {
    ak_archive *archive;
    char *path; /* as given to ak_watch_open; NULL: the user's archive */
    bool there; /* the archive has a file */
    int64_t version, last_trial, last_number, last_study;
    json_t *studies;  /* the archive's studies, oldest first */
    bool unfinished;  /* the next poll has to read more studies */
    int64_t until_ns; /* when a poll stops reading studies */
    json_t *fleets;   /* what the workers of tuners do */
    int64_t fleets_version;
    int64_t ends;   /* number of runs that have ended */
    json_t *killed; /* ids of the runs that were killed on this machine */
    int64_t killed_version;
    seen *runs;
    size_t count, capacity;
    ak_map *by_id;
    ak_status status; /* failure of the latest visitor, see visited() */
    ak_error *err;
};

/* ---- reading --------------------------------------------------------------------------------- */

/* Updates `s` from the row of the run. */
static ak_status take(seen *s, const ak_overview_run *run, ak_error *err)
{
    json_t *shown = ak_overview_json(run);
    char *ended = ak_strdup(run->ended);
    if (shown == NULL || (run->ended != NULL && ended == NULL)) {
        json_decref(shown);
        ak_free(ended);
        return ak_fail_memory(err);
    }
    json_decref(s->shown);
    ak_free(s->ended);
    s->shown = shown;
    s->ended = ended;
    s->number = run->number;
    s->imported = run->imported;
    s->has_result = run->has_result;
    if (run->has_result) {
        s->trials = run->evaluated;
        s->ok = run->evaluated - run->failed;
        s->best_ms = run->best_ms;
    }
    return AK_OK;
}

static bool count_trials(void *context, const ak_overview_trials *trials)
{
    seen *s = context;
    s->trials = trials->count;
    s->ok = trials->ok;
    s->best_ms = trials->best_ms;
    s->last_trial = trials->last_id;
    return true;
}

/* Numbers the ends of runs in the order in which they are seen. The times in the archive give no
   order, because the clock of a recording begins in 1970. */
static void note_end(ak_watch *w, seen *s, bool ended_before)
{
    if (s->ended != NULL && !ended_before) {
        s->ends = ++w->ends;
    }
}

static bool add_run(void *context, const ak_overview_run *run)
{
    ak_watch *w = context;
    w->status = AK_GROW(w->runs, &w->capacity, w->count + 1, w->err);
    if (w->status != AK_OK) {
        return false;
    }
    seen *s = &w->runs[w->count];
    *s = (seen){.id = ak_strdup(run->id), .stale = true};
    w->status = s->id == NULL ? ak_fail_memory(w->err) : take(s, run, w->err);
    w->status = w->status == AK_OK ? ak_map_put(w->by_id, s->id, w->count, w->err) : w->status;
    if (w->status != AK_OK) {
        AK_FREE_ALL(s->id, s->ended);
        json_decref(s->shown);
        return false;
    }
    w->count++;
    w->last_number = run->number > w->last_number ? run->number : w->last_number;
    note_end(w, s, false);
    return true;
}

static bool update_run(void *context, const ak_overview_run *run)
{
    ak_watch *w = context;
    size_t at;
    if (ak_map_get(&at, w->by_id, run->id)) {
        bool ended_before = w->runs[at].ended != NULL;
        w->status = take(&w->runs[at], run, w->err);
        note_end(w, &w->runs[at], ended_before);
    }
    return w->status == AK_OK;
}

/* ---- studies --------------------------------------------------------------------------------- */

/* Adds a study. A row without a JSON object, which another program may have written, is skipped so
   that the others are still shown. */
static bool add_study(void *context, const ak_overview_study *study)
{
    ak_watch *w = context;
    json_t *result = NULL;
    const bool simulated = strcmp(study->kind, AK_SIMULATION) == 0;
    w->last_study = study->id;
    w->status = ak_json_parse(&result, study->result_json, strlen(study->result_json), study->kind,
                              NULL) == AK_NO_MEMORY
                    ? ak_fail_memory(w->err)
                    : AK_OK;
    if (json_is_object(result)) {
        json_t *shown = json_pack("{s:I, s:s, s:s?, s:o, s:o}", "id", (json_int_t)study->id, "kind",
                                  study->kind, "ended", study->ended, "subject",
                                  ak_shown_subject(result, simulated), "arms",
                                  ak_shown_arms(result, simulated));
        const bool good = ak_json_append(w->studies, shown);
        w->status = ak_stored(good, w->err);
    }
    json_decref(result);
    w->unfinished = w->status == AK_OK && ak_clock_ns() > w->until_ns;
    return w->status == AK_OK && !w->unfinished;
}

/* ---- the devices of runs under way ----------------------------------------------------------- */

static bool add_device(void *context, const ak_overview_device *device)
{
    seen *s = context;
    json_t *object = json_pack(
        "{s:s?, s:s?, s:I, s:I, s:o, s:s?, s:s?, s:s?, s:o}", "name", device->name, "uuid",
        device->uuid, "trials", (json_int_t)device->count, "ok", (json_int_t)device->ok,
        "busy_seconds", ak_json_known(device->busy_seconds), "ended", device->ended, "config",
        device->config, "status", device->status, "ms", ak_json_known(device->ms));
    return ak_json_append(s->devices, object);
}

/* Reads the devices for the runs that have new trials among the latest AK_WATCH_FLEETS_MAX runs
   under way. For earlier runs with new trials, removes the devices, which are out of date. */
static ak_status look_at_devices(ak_watch *w, ak_error *err)
{
    size_t under_way = 0;
    for (size_t i = w->count; i > 0; i--) {
        seen *s = &w->runs[i - 1];
        if (s->ended != NULL || s->imported) {
            continue;
        }
        under_way++;
        if (s->stale) {
            json_decref(s->devices);
            s->devices = NULL;
        }
        if (s->stale && under_way <= AK_WATCH_FLEETS_MAX) {
            s->devices = json_array();
            AK_DO(ak_made(s->devices, err));
            const ak_status status = ak_archive_run_devices(w->archive, s->id, add_device, s, err);
            s->stale = status != AK_OK; /* the next look tries again */
            AK_DO(status);
        }
    }
    return AK_OK;
}

/* ---- workers on other machines --------------------------------------------------------------- */

static bool add_fleet(void *context, const ak_overview_fleet *fleet)
{
    json_auto_t *said = NULL;
    (void)ak_json_parse(&said, fleet->workers_json, strlen(fleet->workers_json), "fleet", NULL);
    json_t *object =
        json_pack("{s:s?, s:s?, s:s?, s:s?, s:o}", "id", fleet->id, "run", fleet->run, "about",
                  fleet->about, "seen", fleet->seen, "workers", ak_shown_workers(said));
    return ak_json_append(context, object);
}

static ak_status look_at_fleets(ak_watch *w, ak_error *err)
{
    json_t *now = json_array();
    ak_status status = ak_made(now, err);
    status = status == AK_OK ? ak_archive_fleets(w->archive, add_fleet, now, err) : status;
    if (status != AK_OK || json_equal(now, w->fleets)) {
        json_decref(now);
        return status;
    }
    json_decref(w->fleets);
    w->fleets = now;
    w->fleets_version++;
    return AK_OK;
}

/* ---- runs that were killed ------------------------------------------------------------------- */

/* Looks up the process of each run under way whose process is not known yet, at most ASKS_MAX times
   for each run. */
static ak_status look_at_processes(ak_watch *w, ak_error *err)
{
    for (size_t i = 0; i < w->count; i++) {
        seen *s = &w->runs[i];
        json_t *paths = NULL;
        if (s->ended == NULL && !s->imported && s->process == NULL && s->asks < ASKS_MAX) {
            s->asks++;
            AK_DO(ak_archive_whereabouts(&s->process, &paths, w->archive, s->id, err));
            json_decref(paths);
        }
    }
    return AK_OK;
}

/* Finds the runs whose process is gone although they have not ended. Once gone, a process is not
   checked again, because it cannot come back. */
static ak_status look_for_killed(ak_watch *w, ak_error *err)
{
    bool changed = false;
    json_t *ids = json_array();
    for (size_t i = 0; i < w->count && ids != NULL; i++) {
        seen *s = &w->runs[i];
        bool before = s->killed;
        if (s->ended != NULL || s->process == NULL) {
            s->killed = false; /* it has ended, or its process is not known */
        } else if (!s->killed) {
            s->killed = ak_alive_check(s->process) == AK_ALIVE_NO;
        }
        changed = changed || s->killed != before;
        if (s->killed) {
            ak_json_add(&ids, json_string(s->id));
        }
    }
    AK_DO(ak_made(ids, err));
    json_decref(changed ? w->killed : ids);
    w->killed = changed ? ids : w->killed;
    w->killed_version += changed ? 1 : 0;
    return AK_OK;
}

/* ---- what is new ----------------------------------------------------------------------------- */

/* Marks a run that has new trials, so that look() reads its devices and, unless it has a result,
   counts its trials again after the visit. */
static bool note_trials(void *context, const ak_overview_trials *trials)
{
    ak_watch *w = context;
    size_t at;
    if (ak_map_get(&at, w->by_id, trials->run)) {
        w->runs[at].last_trial = trials->last_id;
        w->runs[at].trials = w->runs[at].has_result ? w->runs[at].trials : -1;
        w->runs[at].stale = true;
    }
    w->last_trial = trials->last_id > w->last_trial ? trials->last_id : w->last_trial;
    return true;
}

/* Returns the failure of a visit: `status` or, if that is AK_OK, the failure of its visitor. */
static ak_status visited(const ak_watch *w, ak_status status)
{
    return status == AK_OK ? w->status : status;
}

static ak_status look(ak_watch *w, ak_error *err)
{
    const size_t before = w->count;
    w->status = AK_OK;
    w->err = err;
    for (size_t i = 0; i < before; i++) {
        if (w->runs[i].ended == NULL && !w->runs[i].imported) {
            AK_DO(visited(w, ak_archive_overview(w->archive, w->runs[i].id, update_run, w, err)));
        }
    }
    AK_DO(visited(w, ak_archive_runs_since(w->archive, w->last_number, add_run, w, err)));
    for (size_t i = before; i < w->count; i++) {
        w->runs[i].trials = w->runs[i].has_result ? w->runs[i].trials : -1;
        /* The order in which runs ended before they were seen is unknown: all get one number. */
        bool ended_before = before == 0 && w->runs[i].ended != NULL;
        w->runs[i].ends = ended_before ? w->ends : w->runs[i].ends;
    }
    if (before == 0) { /* no run was known, so add_run has just seen them all */
        AK_DO(ak_archive_last_trial(&w->last_trial, w->archive, err));
    } else {
        AK_DO(visited(w, ak_archive_trials_since(w->archive, w->last_trial, note_trials, w, err)));
    }
    for (size_t i = 0; i < w->count; i++) {
        seen *s = &w->runs[i];
        if (s->trials < 0) {
            s->trials = 0;
            const ak_status status =
                ak_archive_count_trials(w->archive, s->id, count_trials, s, err);
            s->trials = status == AK_OK ? s->trials : -1; /* the next look tries again */
            AK_DO(status);
        }
    }
    AK_DO(look_at_devices(w, err));
    AK_DO(look_at_fleets(w, err));
    AK_DO(look_at_processes(w, err));
    w->unfinished = false;
    w->until_ns = ak_clock_ns() + STUDIES_MS * AK_MS_NS;
    return visited(w, ak_archive_studies_since(w->archive, w->last_study, add_study, w, err));
}

/* ---- opening --------------------------------------------------------------------------------- */

static ak_status open_archive(ak_watch *w, ak_error *err)
{
    ak_archive_close(w->archive);
    w->archive = NULL;
    AK_DO(ak_archive_open_existing(&w->archive, w->path, err));
    w->there = ak_fs_is_file(ak_archive_path(w->archive));
    return ak_archive_only_read(w->archive, err);
}

ak_status ak_watch_open(ak_watch **out, const char *path, ak_error *err)
{
    bool changed;
    AK_AT_END(ak_watch_close_at) ak_watch *w = NULL;
    AK_DO(AK_NEW(w, 1, err));
    w->version = -1;
    w->by_id = ak_map_new();
    w->path = ak_strdup(path);
    w->studies = json_array();
    w->fleets = json_array();
    w->killed = json_array();
    AK_DO(ak_stored(w->by_id != NULL && w->studies != NULL && w->fleets != NULL &&
                        w->killed != NULL && (path == NULL || w->path != NULL),
                    err));
    AK_DO(open_archive(w, err));
    AK_DO(ak_watch_poll(&changed, w, err));
    AK_GIVE(out, w);
    return AK_OK;
}

void ak_watch_close(ak_watch *w)
{
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < w->count; i++) {
        json_decref(w->runs[i].shown);
        json_decref(w->runs[i].devices);
        AK_FREE_ALL(w->runs[i].id, w->runs[i].ended, w->runs[i].process);
    }
    json_decref(w->killed);
    json_decref(w->studies);
    json_decref(w->fleets);
    ak_archive_close(w->archive);
    ak_map_free(w->by_id);
    AK_FREE_ALL(w->runs, w->path, w);
}

ak_status ak_watch_poll(bool *changed, ak_watch *w, ak_error *err)
{
    int64_t version;
    *changed = false;
    if (!w->there && ak_fs_is_file(ak_archive_path(w->archive))) {
        AK_DO(open_archive(w, err)); /* the file has been created since */
    }
    char before[AK_WATCH_PLACE_BYTES], after[AK_WATCH_PLACE_BYTES];
    const int64_t fleets = w->fleets_version, killed = w->killed_version;
    ak_watch_place(before, w);
    AK_DO(ak_archive_version(&version, w->archive, err));
    if (version != w->version || w->unfinished) {
        AK_DO(look(w, err));
        w->version = version;
    }
    /* This is done even if the archive has not changed, because a killed process writes nothing. */
    AK_DO(look_for_killed(w, err));
    ak_watch_place(after, w);
    *changed =
        strcmp(before, after) != 0 || fleets != w->fleets_version || killed != w->killed_version;
    return AK_OK;
}

ak_archive *ak_watch_archive(ak_watch *w)
{
    return w->archive;
}

/* ---- what changed ---------------------------------------------------------------------------- */

void ak_watch_place(char out[AK_WATCH_PLACE_BYTES], const ak_watch *w)
{
    (void)snprintf(out, AK_WATCH_PLACE_BYTES, "%" PRId64 ".%" PRId64 ".%" PRId64 ".%" PRId64,
                   w->last_trial, w->last_number, w->last_study, w->ends);
}

typedef struct place {
    int64_t trial, number, study, ends;
} place;

/* Reads a number and the character `end` after it. */
static bool read_number(int64_t *out, const char **text, char end)
{
    const char *p = *text;
    *out = 0;
    while (*p >= '0' && *p <= '9' && *out < INT64_MAX / 10 - 9) {
        *out = *out * 10 + (*p++ - '0');
    }
    bool good = p > *text && *p == end;
    *text = p + (good && end != 0 ? 1 : 0);
    return good;
}

static bool read_place(place *out, const char *text)
{
    return text != NULL && read_number(&out->trial, &text, '.') &&
           read_number(&out->number, &text, '.') && read_number(&out->study, &text, '.') &&
           read_number(&out->ends, &text, 0);
}

bool ak_watch_is_place(const char *text)
{
    place ignored;
    return read_place(&ignored, text);
}

static json_t *show(const seen *s)
{
    json_t *object = json_copy(s->shown);
    bool good = ak_json_set(object, "trials", json_integer(s->trials)) &&
                ak_json_set(object, "ok", json_integer(s->ok)) &&
                ak_json_set_known(object, "best_ms", s->best_ms) &&
                (s->ended != NULL || s->devices == NULL ||
                 ak_json_set(object, "devices", json_incref(s->devices)));
    return ak_json_whole(object, good);
}

json_t *ak_watch_runs(const ak_watch *w, const char *since)
{
    place from;
    bool all = !read_place(&from, since);
    json_t *list = json_array();
    for (size_t i = 0; i < w->count; i++) {
        const seen *s = &w->runs[i];
        if (all || s->number > from.number || s->last_trial > from.trial || s->ends > from.ends) {
            ak_json_add(&list, show(s));
        }
    }
    return list;
}

json_t *ak_watch_studies(const ak_watch *w, const char *since)
{
    place from;
    bool all = !read_place(&from, since);
    json_t *list = json_array();
    bool good = true;
    AK_EACH(one, w->studies) {
        bool fresh = all || ak_json_number_at(one, "id") > (double)from.study;
        good = good && (!fresh || json_array_append(list, one) == 0);
    }
    return ak_json_whole(list, good);
}

const json_t *ak_watch_fleets(int64_t *version, const ak_watch *w)
{
    *version = w->fleets_version;
    return w->fleets;
}

const json_t *ak_watch_killed(int64_t *version, const ak_watch *w)
{
    *version = w->killed_version;
    return w->killed;
}
