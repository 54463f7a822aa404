/*
 * import.c: adds the trials of a file to the archive in one transaction: all of them or none.
 * Trials that the archive has already are not added again. A file that is an archive is merged
 * (archive/merge.c) if no format is named.
 *
 * Trials get new ids. A trial's parent is an earlier trial of the same file, so a map of the old
 * ids is kept until the end; any other parent is left out.
 */
#include "formats/format.h"

#include "archive/config_text.h"
#include "archive/store.h"
#include "base/alloc.h"
#include "base/map.h"
#include "base/unpack.h"
#include "base/utf8.h"
#include "formats/kernel_tuner.h"
#include "measure/roofline.h"

struct ak_import {
    ak_archive *archive;
    ak_map *ids; /* key: id in the file, as text; value: id in the archive */
    sqlite3_stmt *same, *like;
    int64_t before; /* ids up to this one existed before the import */
    size_t added, known;
};

static void id_key(char out[24], int64_t id)
{
    (void)snprintf(out, 24, "%lld", (long long)id);
}

/* Limit for the rounding of numbers that a person or another program wrote: a file contradicts
   itself if a value is outside of what it says elsewhere by more than this share. */
#define ROUNDING 0.01

/* Refuses a value outside its own interval; an end that is 0 is not known. */
static ak_status check_interval(const char *name, double value, double low, double high,
                                const char *where, ak_error *err)
{
    if (value <= 0 ||
        (value >= low * (1 - ROUNDING) && (high <= 0 || value <= high * (1 + ROUNDING)))) {
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   "%s contradicts itself: \"%s\" is %.6g, which its interval, %.6g to %.6g, does "
                   "not contain",
                   where, name, value, low, high);
}

/* Returns whether the time of a trial lies in the range of its samples; *least and *most are the
   ends of the range, or the time if there are no samples. */
static bool fits_samples(double *least, double *most, const ak_trial *t)
{
    *least = *most = t->median_ms;
    for (size_t i = 0; i < t->sample_count; i++) {
        const double one = t->samples_ms[i];
        *least = i == 0 || one < *least ? one : *least;
        *most = i == 0 || one > *most ? one : *most;
    }
    return t->median_ms >= *least * (1 - ROUNDING) && t->median_ms <= *most * (1 + ROUNDING);
}

/* Refuses a successful trial whose time, energy or cost is not in its interval, or whose time,
   without an interval, is outside the range of its samples. With an interval, the time may be that
   of a finish, for which `best --json` gives the samples of the search. If the time does not fit
   such samples, and they are so few that exports would leave out the interval
   (ak_trial_few_samples), the samples are forgotten. */
static ak_status check_consistent(ak_trial *t, const char *where, ak_error *err)
{
    double least, most;
    if (t->status != AK_TRIAL_OK) {
        return AK_OK;
    }
    AK_DO(check_interval("ms", t->median_ms, t->ci_low_ms, t->ci_high_ms, where, err));
    AK_DO(check_interval("joules", t->joules, t->joules_low, t->joules_high, where, err));
    AK_DO(check_interval("cost", t->cost, t->cost_low, t->cost_high, where, err));
    const bool fits = fits_samples(&least, &most, t);
    AK_FAIL_IF(!fits && t->ci_high_ms <= 0, err, AK_INVALID,
               "%s contradicts itself: \"ms\" is %.6g, and its samples are %.6g to %.6g", where,
               t->median_ms, least, most);
    t->sample_count = !fits && ak_trial_few_samples(t) > 0 ? 0 : t->sample_count;
    return AK_OK;
}

/* ---- rates and efficiency ------------------------------------------------------------------- */

/* The efficiency of a kernel that is bound by memory is a share of the bandwidth of memory, even if
   its data stay in a cache that all cores share. Such a cache is up to CACHED times as fast. */
#define CACHED 16.0
/* No device does more than this: tens of times what the largest did in 2026, from its first cache
   and with its narrowest type. */
#define TFLOPS_MAX 1e6
#define GBS_MAX    1e6

/* Finds a trial of the same task and environment that has rates, among the first that there are. It
   may be one of the same file. */
static const char like_sql[] =
    "SELECT ms, tflops, gbs, efficiency FROM (SELECT * FROM trials INDEXED BY trials_by_task WHERE "
    "kernel = ?1 AND device = ?2 AND size = ?3 AND dtype = ?4 AND choices = ?5 AND implementation "
    "= ?6 AND environment = ?7 LIMIT 32) WHERE status = 'ok' AND ms > 0 AND coalesce(tflops, gbs, "
    "0) > 0 LIMIT 1";

/* Refuses a rate of a trial (index 0) if the work, which is rate times time, differs from that of
   another trial of the same task (index 1). */
static ak_status check_work(const char *name, const double rate[2], const double ms[2],
                            const char *where, ak_error *err)
{
    const double times = rate[1] > 0 ? rate[0] * ms[0] / (rate[1] * ms[1]) : 1;
    return rate[0] <= 0 || (times > 1 - 2 * ROUNDING && times < 1 + 2 * ROUNDING)
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "%s contradicts itself or another trial: by its \"%s\" and \"ms\" it does "
                         "%.3g times the work of one of the same kernel, size and environment",
                         where, name, times);
}

static ak_status check_roofline(double efficiency, const ak_trial *t, const char *where,
                                ak_error *err)
{
    const bool computes = t->bound != NULL && strcmp(t->bound, "compute") == 0;
    return efficiency <= AK_IMPLAUSIBLE * (computes ? 1 : CACHED)
               ? AK_OK
               : ak_fail(err, AK_INVALID,
                         "%s is implausible: %.3g times as fast as the roofline of its device, by "
                         "its own figures or those of a trial of the same kernel, size and "
                         "environment",
                         where, efficiency);
}

/* Refuses a trial that is faster than a device can be, or whose rates contradict its time. How much
   work it did is known from a trial of the same task and environment, if there is one. */
static ak_status check_plausible(const ak_import *import, const ak_trial *t, const char *where,
                                 ak_error *err)
{
    sqlite3_stmt *s = import->like;
    const char *const texts[] = {t->kernel,  t->device,         t->size,       t->dtype,
                                 t->choices, t->implementation, t->environment};
    if (t->status != AK_TRIAL_OK || t->median_ms <= 0) {
        return AK_OK;
    }
    AK_FAIL_IF(t->tflops > TFLOPS_MAX || t->gbs > GBS_MAX, err, AK_INVALID,
               "%s is implausible: no device does %.3g %s", where,
               t->tflops > TFLOPS_MAX ? t->tflops : t->gbs,
               t->tflops > TFLOPS_MAX ? "TFLOP/s" : "GB/s");
    AK_DO(check_roofline(t->efficiency, t, where, err));
    bool bound = t->environment != NULL;
    for (int i = 0; i < (int)AK_COUNT(texts) && bound; i++) {
        bound = ak_store_bind_text(s, 1 + i, ak_or_empty(texts[i]));
    }
    ak_status status = AK_OK;
    if (bound && sqlite3_step(s) == SQLITE_ROW) {
        const double ms[] = {t->median_ms, sqlite3_column_double(s, 0)};
        const double tflops[] = {t->tflops, sqlite3_column_double(s, 1)};
        const double gbs[] = {t->gbs, sqlite3_column_double(s, 2)};
        const double efficiency = sqlite3_column_double(s, 3) * ms[1] / ms[0];
        status = check_work("tflops", tflops, ms, where, err);
        status = status == AK_OK ? check_work("gbs", gbs, ms, where, err) : status;
        status = status == AK_OK ? check_roofline(efficiency, t, where, err) : status;
    }
    (void)sqlite3_reset(s);
    return status;
}

/* ---- what is there already ------------------------------------------------------------------- */

/* Searches by configuration, because an archive has few trials of one configuration but may have
   all trials of one task. Files of other tools have neither run nor environment, and perhaps no
   device: a field that the file does not give matches anything, but missing options match only no
   options. A trial with a timestamp is recognised by the timestamp and by whether it was
   successful. Its exact status and its time are not compared, because other tools have fewer words
   for failures, and `best --json` writes the time of the finish. */
static const char same_sql[] =
    "SELECT id FROM trials INDEXED BY trials_by_config WHERE config = ?1 AND id <= ?2 AND kernel = "
    "?3 AND (?4 = '' OR implementation = ?4) AND (?5 = '' OR device = ?5) AND (?6 = '' OR size = "
    "?6) AND (?7 = '' OR dtype = ?7) AND choices = ?8 AND (?10 IS NULL OR run IS ?10) AND (?11 IS "
    "NULL OR environment IS ?11) AND CASE WHEN ?13 IS NULL THEN status = ?9 AND ms IS ?12 ELSE "
    "timestamp = ?13 AND (status = 'ok') = (?9 = 'ok') END LIMIT 1";

static ak_status prepare_same(ak_import *import, ak_error *err)
{
    AK_DO(ak_store_prepare(&import->same, import->archive, same_sql, err));
    AK_DO(ak_store_prepare(&import->like, import->archive, like_sql, err));
    return ak_store_ask(&import->before, import->archive, "SELECT coalesce(max(id), 0) FROM trials",
                        err);
}

/* Finds an equal trial among those that the archive had before the import; *id is 0 if there is
   none. If the file gives no timestamp, any timestamp matches, but status and time must be
   equal. */
static ak_status find_same(int64_t *id, const ak_import *import, const ak_trial *trial,
                           ak_error *err)
{
    sqlite3_stmt *s = import->same;
    const char *const texts[] = {trial->kernel, trial->implementation, trial->device,
                                 trial->size,   trial->dtype,          trial->choices};
    const char *config = ak_or_empty(trial->config);
    bool bound =
        ak_store_bind_text(s, 1, config) && sqlite3_bind_int64(s, 2, import->before) == SQLITE_OK;
    for (int i = 0; i < 6 && bound; i++) {
        bound = ak_store_bind_text(s, 3 + i, ak_or_empty(texts[i]));
    }
    bound = bound && ak_store_bind_text(s, 9, ak_trial_status_text(trial->status)) &&
            ak_store_bind_text(s, 10, trial->run) &&
            ak_store_bind_text(s, 11, trial->environment) &&
            (trial->median_ms > 0 ? sqlite3_bind_double(s, 12, trial->median_ms)
                                  : sqlite3_bind_null(s, 12)) == SQLITE_OK &&
            ak_store_bind_text(s, 13, trial->timestamp);
    return ak_store_ask_bound(id, import->archive, s, bound, err);
}

/* Adds a trial unless the archive had it before the import; trial->id becomes its id in the
   archive. */
static ak_status add_new(ak_import *import, ak_trial *trial, ak_error *err)
{
    int64_t known = 0;
    ak_status status = find_same(&known, import, trial, err);
    if (status == AK_OK && known != 0) {
        trial->id = known;
        import->known++;
    } else if (status == AK_OK) {
        status = ak_store_import_trial(import->archive, trial, err);
        import->added += status == AK_OK ? 1 : 0;
    }
    return status;
}

const char **ak_import_left_out(ak_import *import)
{
    return &import->archive->left_out;
}

const char *ak_archive_left_out(const ak_archive *archive)
{
    return archive->left_out;
}

size_t ak_archive_unplaced(const ak_archive *archive)
{
    return archive->unplaced;
}

size_t ak_archive_results_added(const ak_archive *archive)
{
    return archive->results_added;
}

ak_status ak_import_add(ak_import *import, ak_trial *trial, const char *where, ak_error *err)
{
    char key[24];
    size_t parent = 0;
    int64_t old_id = trial->id;
    json_auto_t *config = NULL;
    id_key(key, trial->parent);
    trial->parent =
        trial->parent != 0 && ak_map_get(&parent, import->ids, key) ? (int64_t)parent : 0;
    if (trial->timestamp != NULL) {
        char utc[AK_TIMESTAMP_BYTES];
        AK_DO(ak_format_timestamp(utc, trial->timestamp)
                  ? ak_trial_set_text(&trial->timestamp, utc, err)
                  : ak_fail(err, AK_INVALID,
                            "%s: \"%.60s\" is not a time like 2026-11-21T10:54:22Z", where,
                            trial->timestamp));
    }
    if (trial->strategy == NULL) {
        AK_DO(ak_trial_set_text(&trial->strategy, "import", err));
    }
    AK_DO(ak_trial_validate(trial, where, err));
    /* No command could use a trial later whose text is no configuration, and a successful one
       without a configuration would say nothing. */
    AK_DO(ak_config_text_to_json(&config, ak_or_empty(trial->config), where, err));
    AK_FAIL_IF(trial->status == AK_TRIAL_OK && trial->config == NULL, err, AK_INVALID,
               "%s: the status is ok, but \"config\" is missing", where);
    AK_DO(check_consistent(trial, where, err));
    AK_DO(check_plausible(import, trial, where, err));
    ak_trial_set_range(trial);
    const size_t before = import->added;
    AK_DO(add_new(import, trial, err));
    import->archive->unplaced +=
        import->added > before && trial->status == AK_TRIAL_OK && ak_or_empty(trial->device)[0] == 0
            ? 1
            : 0;
    if (old_id != 0) {
        id_key(key, old_id);
        AK_DO(ak_map_put(import->ids, key, (size_t)trial->id, err));
    }
    return AK_OK;
}

static ak_status add_entry(ak_import *import, const json_t *entry, const ak_entries *entries,
                           const char *where, ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    const json_t *run = entries->finish ? json_object_get(entry, "run") : NULL;
    if (json_is_object(run)) { /* a run that waited for the archive (archive/waiting.c) */
        return ak_store_import_run(import->archive, run, err) == AK_OK
                   ? AK_OK
                   : ak_fail_within(err, "%s", where);
    }
    AK_DO(entries->read(&trial, entry, entries->context, where, err));
    AK_DO(ak_import_add(import, &trial, where, err));
    if (entries->finish) {
        AK_DO(ak_finishes_import(import->archive, &trial, entry, where, err));
    }
    return AK_OK;
}

ak_status ak_import_each(ak_import *import, const json_t *list, const ak_entries *entries,
                         ak_error *err)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        char where[512];
        (void)snprintf(where, sizeof where, "%.400s: %s %zu", entries->path, entries->what, i + 1);
        AK_DO(add_entry(import, json_array_get(list, i), entries, where, err));
    }
    return AK_OK;
}

/* ---- which format ---------------------------------------------------------------------------- */

/* Finds the format of a text. A text that does not begin like JSON is taken for CSV. What
   ak_kernel_tuner_parse leaves out is ignored here, because the format's reader reports it. */
static ak_status recognise(const ak_format_ops **out, const char *text, size_t length,
                           const char *path, ak_error *err)
{
    const char *begin = text + ak_utf8_mark(text), *left_out;
    begin += strspn(begin, " \t\r\n");
    json_auto_t *file = NULL;
    if (*begin != '{' && *begin != '[') {
        *out = &ak_format_csv;
        return AK_OK;
    }
    AK_DO(ak_kernel_tuner_parse(&file, &left_out, text, length, path, err));
    *out = json_is_array(file) ? &ak_format_json : NULL;
    for (size_t i = 0; ak_formats[i] != NULL && *out == NULL; i++) {
        *out = ak_format_has_mark(file, &ak_formats[i]->mark) ? ak_formats[i] : NULL;
    }
    return *out != NULL ? AK_OK
                        : ak_fail(err, AK_INVALID,
                                  "%s holds no trials: it is neither an export of autokernel "
                                  "(json, kernels) nor a cache of Kernel Tuner nor T4 results",
                                  path);
}

static ak_status find_importable(const ak_format_ops **out, const char *name, ak_error *err)
{
    ak_status status = ak_format_find(out, name, err);
    return status == AK_OK && (*out)->read == NULL
               ? ak_fail(err, AK_INVALID,
                         "format %s can be exported but not imported; 'autokernel import --help' "
                         "names the others",
                         name)
               : status;
}

ak_status ak_archive_import(size_t *added, size_t *known, ak_archive *archive, const char *format,
                            const char *path, ak_error *err)
{
    const ak_format_ops *ops = NULL;
    char *text = NULL;
    size_t length = 0;
    ak_import import = {.archive = archive, .ids = ak_map_new()};
    ak_status status = AK_OK;
    archive->left_out = NULL;
    archive->results_added = archive->unplaced = 0;
    AK_TRY(ak_made(import.ids, err));
    if (format != NULL) {
        AK_TRY(find_importable(&ops, format, err));
    }
    if (format == NULL && ak_archive_is_at(path)) {
        AK_TRY(ak_archive_merge(&import.added, &import.known, archive, path, err));
        goto out;
    }
    AK_TRY(ak_unpack_read(&text, &length, path, AK_IMPORT_BYTES_MAX, err));
    if (strlen(text) != length) {
        AK_TRY(ak_fail(err, AK_INVALID, "%s holds a 0 byte: it is not a text file", path));
    }
    if (text[strspn(text, " \t\r\n")] == 0) {
        AK_TRY(ak_fail(err, AK_INVALID, "%s is empty", path));
    }
    if (ops == NULL) {
        AK_TRY(recognise(&ops, text, length, path, err));
    }
    AK_TRY(ak_store_begin(archive, err));
    status = prepare_same(&import, err);
    status = status == AK_OK ? ops->read(&import, text, length, path, err) : status;
    (void)sqlite3_finalize(import.same);
    (void)sqlite3_finalize(import.like);
    status = ak_store_end_transaction(archive, status, err);
out:
    ak_map_free(import.ids);
    ak_free(text);
    if (status == AK_OK) {
        *added = import.added;
        if (known != NULL) {
            *known = import.known;
        }
    }
    return status;
}
