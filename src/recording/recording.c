/*
 * recording.c: opens recordings, and what can be said of one without searching it.
 *
 * The statistics, the cut-off and the expected random search are the method of Willemsen et al., "A
 * methodology for comparing optimization algorithms for auto-tuning", Future Generation Computer
 * Systems, 2024, doi 10.1016/j.future.2024.05.021, in its simple form.
 */
#include "recording/recording.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "archive/format.h"
#include "base/alloc.h"
#include "base/unpack.h"
#include "problem/task.h"
#include "recording/draft.h"

/* The fractions between which the score is taken (section 3.3 of the paper uses the same). */
#define CUTOFF_FIRST 0.01
#define CUTOFF_LAST  0.95

static const ak_recording_format *const formats[] = {
#define X(name) &ak_recording_##name,
#include "recording/recordings.def"
#undef X
    NULL,
};

/* ---- opening --------------------------------------------------------------------------------- */

static const char sqlite_magic[] = "SQLite format 3"; /* and the 0 that ends it */

static ak_status refuse(const char *path, ak_error *err)
{
    ak_buf known = AK_BUF(256);
    for (size_t i = 0; formats[i] != NULL; i++) {
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", formats[i]->name);
    }
    ak_status status =
        ak_fail(err, AK_INVALID, "%s: is no recording: neither %s nor an archive of ours", path,
                known.data);
    ak_buf_free(&known);
    return status;
}

static ak_status read_json(ak_draft *draft, const char *text, size_t length, const char *path,
                           ak_error *err)
{
    json_t *file = NULL;
    if (strlen(text) != length) {
        return ak_fail(err, AK_INVALID, "%s: holds a 0 byte: it is neither text nor an archive",
                       path);
    }
    ak_status status = ak_kernel_tuner_parse(&file, text, length, path, err);
    if (status != AK_OK) {
        return status;
    }
    const ak_recording_format *const *format = formats;
    while (*format != NULL && !(json_is_object(file) && (*format)->recognise(file))) {
        format++;
    }
    if (*format != NULL) {
        status = (*format)->read(draft, file, err);
    } else {
        status = refuse(path, err);
    }
    json_decref(file);
    return status;
}

static ak_status read_file(ak_draft *draft, const char *path, ak_error *err)
{
    char *text = NULL;
    size_t length = 0;
    if (ak_fs_begins(path, sqlite_magic, sizeof sqlite_magic)) {
        return ak_recording_read_archive(draft, path, err);
    }
    ak_status status = ak_unpack_read(&text, &length, path, AK_JSON_BYTES_MAX, err);
    if (status == AK_OK) {
        status = read_json(draft, text, length, path, err);
        ak_free(text);
    }
    return status;
}

ak_status ak_recording_space_new(ak_space **out, const ak_recording *recording, ak_error *err)
{
    ak_space_spec spec = {.definition = recording->definition,
                          .allow_numerics = true,
                          .where = recording->path,
                          .listed = recording->configs,
                          .listed_count = recording->count};
    return ak_space_build(out, &spec, err);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const double *sorted, size_t count)
{
    return count % 2 == 1 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

static ak_status describe(ak_recording *recording, ak_error *err)
{
    size_t count = recording->count, ok = 0;
    long double spent_ok = 0, spent_failed = 0;
    double *seconds = ak_alloc(count, sizeof *seconds);
    recording->ascending = ak_alloc(count, sizeof *recording->ascending);
    if (seconds == NULL || recording->ascending == NULL) {
        ak_free(seconds);
        return ak_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        const ak_record *record = &recording->records[i];
        seconds[i] = record->seconds;
        if (record->status == AK_TRIAL_OK) {
            recording->ascending[ok++] = ak_recording_minimised(recording, record);
            spent_ok += record->seconds;
        } else {
            spent_failed += record->seconds;
        }
    }
    qsort(seconds, count, sizeof *seconds, ascending);
    ak_recording_facts *facts = &recording->facts;
    *facts = (ak_recording_facts){.kernel = recording->kernel,
                                  .device = recording->device,
                                  .size = recording->size,
                                  .objective = recording->objective,
                                  .maximise = recording->maximise,
                                  .configurations = count,
                                  .ok = ok,
                                  .seconds_median = median_of(seconds, count)};
    ak_free(seconds);
    if (ok == 0) {
        return ak_fail(err, AK_INVALID, "%s: no configuration worked when it was recorded",
                       recording->path);
    }
    qsort(recording->ascending, ok, sizeof *recording->ascending, ascending);
    double sign = recording->maximise ? -1 : 1;
    size_t failed = count - ok;
    facts->optimum = sign * recording->ascending[0];
    facts->median = sign * median_of(recording->ascending, ok);
    /* The mean of those that worked, and what the failures met on the way cost besides. */
    recording->seconds_each = (double)(spent_ok / (long double)ok);
    if (failed > 0) {
        recording->seconds_each +=
            (double)failed / (double)count * (double)(spent_failed / (long double)failed);
    }
    facts->seconds_each = recording->seconds_each;
    ak_cutoff cutoff;
    ak_recording_cutoff(&cutoff, recording, CUTOFF_FIRST);
    facts->first_seconds = cutoff.seconds;
    ak_recording_cutoff(&cutoff, recording, CUTOFF_LAST);
    facts->target = sign * cutoff.target;
    facts->evaluations = cutoff.evaluations;
    facts->last_seconds = cutoff.seconds;
    return AK_OK;
}

/* The space file's ConfigurationSpace, as far as it can be used here. */
static ak_status read_space(json_t **fitted, const ak_recording *recording, const ak_draft *draft,
                            const json_t *space, const char *where, ak_error *err)
{
    json_t *definition = NULL;
    ak_status status =
        json_is_object(space)
            ? ak_json_object_or_null(&definition, space, "ConfigurationSpace", where, err)
            : ak_fail(err, AK_INVALID, "%s: must be a JSON object", where);
    if (status == AK_OK && definition == NULL) {
        status = ak_fail(err, AK_INVALID, "%s: \"ConfigurationSpace\" is missing: it is no T1 file",
                         where);
    }
    return status == AK_OK
               ? ak_draft_fit(fitted, draft, definition, recording->constants, where, err)
               : status;
}

/* The rank, if there is one and everything that it reads is known. */
static ak_status read_rank(ak_recording *recording, const json_t *space, ak_error *err)
{
    const char *text = json_string_value(json_object_get(space, "Rank"));
    const char *const *names;
    ak_expr *expr = NULL;
    if (text == NULL) {
        return AK_OK;
    }
    ak_status status = ak_expr_parse(&expr, text, "\"Rank\"", err);
    size_t count = status == AK_OK ? ak_expr_names(&names, expr) : 0, known = 0;
    for (size_t i = 0; i < count; i++) {
        size_t parameter;
        ak_value value;
        known += ak_space_parameter_find(&parameter, recording->space, names[i]) ||
                 ak_scope_get(&value, recording->constants, names[i]);
    }
    ak_expr_free(expr);
    if (status == AK_OK && known == count) {
        recording->rank = ak_strdup(text);
        status = recording->rank == NULL ? ak_fail_memory(err) : AK_OK;
    }
    return status;
}

/* What the space file may read: `constants` or, if NULL, what the recording has, with the choices
   of the problem (or NULL). */
static ak_status set_constants(ak_recording *recording, const ak_draft *draft,
                               const ak_scope *constants, ak_problem *problem, ak_error *err)
{
    ak_status status = ak_draft_facts(&recording->device_facts, draft, err);
    if (status == AK_OK && constants == NULL) {
        status = ak_draft_constants(&recording->constants, draft, recording->device_facts, err);
        if (status == AK_OK && problem != NULL) {
            status = ak_task_choices_scope(recording->constants, problem, draft->choices, err);
        }
    } else if (status == AK_OK) {
        recording->constants = ak_scope_new(NULL);
        status = recording->constants == NULL ? ak_fail_memory(err)
                                              : ak_scope_copy(recording->constants, constants, err);
    }
    return status;
}

static ak_status open_with(ak_recording **out, const char *path, const json_t *space,
                           const char *where, const ak_scope *constants, ak_problem *problem,
                           ak_error *err)
{
    json_t *fitted = NULL;
    ak_draft draft = {.where = path};
    ak_recording *recording = ak_alloc(1, sizeof *recording);
    if (recording == NULL) {
        return ak_fail_memory(err);
    }
    recording->path = ak_strdup(path);
    ak_status status = recording->path == NULL ? ak_fail_memory(err) : read_file(&draft, path, err);
    if (status == AK_OK) {
        status = set_constants(recording, &draft, constants, problem, err);
    }
    if (status == AK_OK && space != NULL) {
        status = read_space(&fitted, recording, &draft, space, where, err);
    }
    if (status == AK_OK) {
        status = ak_draft_finish(recording, &draft, fitted, where, err);
    }
    if (status == AK_OK && space != NULL) {
        status = read_rank(recording, space, err);
    }
    if (status == AK_OK) {
        status = describe(recording, err);
    }
    ak_draft_clear(&draft);
    json_decref(fitted);
    if (status != AK_OK) {
        ak_recording_close(recording);
        return status;
    }
    *out = recording;
    return AK_OK;
}

ak_status ak_recording_open_space(ak_recording **out, const char *path, const json_t *space,
                                  const char *where, const ak_scope *constants, ak_error *err)
{
    return open_with(out, path, space, where, constants, NULL, err);
}

/* The kernel that a space file belongs to, as there is a problem.json beside it; else left alone.
 */
static ak_status problem_beside(ak_problem **out, const char *t1, ak_error *err)
{
    char path[AK_PATH_MAX];
    const char *slash = strrchr(t1, '/');
    int folder = slash == NULL ? 0 : (int)(slash - t1 + 1);
    int length = snprintf(path, sizeof path, "%.*sproblem.json", folder, t1);
    return length < (int)sizeof path && ak_fs_is_file(path) ? ak_problem_open(out, path, err)
                                                            : AK_OK;
}

ak_status ak_recording_open_t1(ak_recording **out, const char *path, const char *t1, ak_error *err)
{
    json_t *document = NULL;
    ak_problem *problem = NULL;
    ak_status status = t1 == NULL ? AK_OK : ak_json_read(&document, t1, err);
    if (status == AK_OK && t1 != NULL) {
        status = problem_beside(&problem, t1, err);
    }
    if (status == AK_OK) {
        status = open_with(out, path, document, t1, NULL, problem, err);
    }
    ak_problem_close(problem);
    json_decref(document);
    return status;
}

ak_status ak_recording_open(ak_recording **out, const char *path, ak_error *err)
{
    return ak_recording_open_space(out, path, NULL, path, NULL, err);
}

void ak_recording_close(ak_recording *recording)
{
    if (recording != NULL) {
        ak_space_free(recording->space);
        json_decref(recording->definition);
        ak_free(recording->configs);
        ak_free(recording->records);
        ak_free(recording->ascending);
        ak_free(recording->path);
        ak_free(recording->kernel);
        ak_free(recording->device);
        ak_free(recording->size);
        ak_free(recording->objective);
        ak_free(recording->implementation);
        ak_free(recording->dtype);
        ak_free(recording->choices);
        ak_free(recording->rank);
        ak_scope_free(recording->constants);
        ak_scope_free(recording->device_facts);
        ak_free(recording);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

const ak_space *ak_recording_space(const ak_recording *recording)
{
    return recording->space;
}

const ak_recording_facts *ak_recording_describe(const ak_recording *recording)
{
    return &recording->facts;
}

void ak_recording_at(ak_recorded *out, const ak_recording *recording, uint64_t index)
{
    const ak_record *record = &recording->records[index];
    *out = (ak_recorded){.config = recording->configs[index],
                         .status = record->status,
                         .value = record->value,
                         .seconds = record->seconds};
}

double ak_recording_minimised(const ak_recording *recording, const ak_record *record)
{
    return recording->maximise ? -record->value : record->value;
}

double ak_recording_time(const ak_recording *recording, const ak_record *record)
{
    return recording->maximise ? 1 / record->value : record->value;
}

/* ---- random search, as it is expected to go -------------------------------------------------- */

void ak_recording_cutoff(ak_cutoff *out, const ak_recording *recording, double p)
{
    const double *values = recording->ascending;
    size_t ok = recording->facts.ok, good = 0;
    double optimum = values[0], median = median_of(values, ok);
    out->target = optimum + (median - optimum) * (1 - p);
    while (good < ok && values[good] <= out->target) {
        good++;
    }
    /* Of `ok` values drawn without replacement, the first of the `good` best comes after this many
       draws: ceil(worse / (good + 1)). */
    size_t worse = ok - good;
    out->evaluations = (worse + good) / (good + 1);
    out->seconds = (double)out->evaluations * recording->facts.seconds_median;
}

double ak_recording_baseline(const ak_recording *recording, double seconds)
{
    double n = (double)recording->facts.ok;
    double draws = nearbyint(seconds / recording->seconds_each);
    draws = draws < 1 ? 1 : draws;
    double place = nearbyint(draws * (n + 1) / (draws + 1)); /* expected rank of the best of them */
    place = place > n - 1 ? n - 1 : place;
    return recording->ascending[(size_t)(n - 1 - place)];
}
