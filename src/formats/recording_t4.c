/*
 * recording_t4.c: reads T4 results as recordings. T4 has no member for the time that benchmarking
 * took, though some writers add one. If a result has no such member, the runtimes of its launches
 * are added to the cost instead; they are most of that time.
 */
#include "formats/draft.h"

#include "base/fs.h"

static const char *const stages[] = {"compilation",      "benchmark",  "framework",
                                     "search_algorithm", "validation", NULL};

static const ak_draft_word t4_words[] = {{"correct", AK_TRIAL_OK},
                                         {"constraints", AK_TRIAL_INVALID},
                                         {"compile", AK_TRIAL_COMPILE_ERROR},
                                         {"runtime", AK_TRIAL_LAUNCH_ERROR},
                                         {"correctness", AK_TRIAL_WRONG_RESULT},
                                         {"timeout", AK_TRIAL_TIMED_OUT},
                                         {NULL, AK_TRIAL_OK}};

ak_status ak_t4_status(ak_trial_status *out, const json_t *result, const char *where, ak_error *err)
{
    const json_t *correctness = json_object_get(result, "correctness");
    AK_DO(ak_draft_status(out, result, "invalidity", t4_words, where, err));
    bool wrong = json_is_false(correctness) ||
                 (json_is_number(correctness) && json_number_value(correctness) == 0);
    return *out == AK_TRIAL_OK && wrong
               ? ak_fail(
                     err, AK_INVALID,
                     "%s contradicts itself: its \"invalidity\" is correct, its \"correctness\" 0",
                     where)
               : AK_OK;
}

/* A time may differ from the runtimes, because it may be a mean without the first launch, but not
   by more than this factor. */
#define TIME_FACTOR 10

ak_status ak_draft_check_time(double ms, const json_t *runtimes, double unit_ms, const char *where,
                              ak_error *err)
{
    double least = 0, most = 0;
    AK_EACH(one, runtimes) {
        const double runtime = json_number_value(one) * unit_ms;
        if (runtime > 0) { /* others are no times: with them as the least, any time would pass */
            least = most <= 0 || runtime < least ? runtime : least;
            most = runtime > most ? runtime : most;
        }
    }
    if (ms <= 0 || most <= 0 || (ms * TIME_FACTOR >= least && ms <= most * TIME_FACTOR)) {
        return AK_OK;
    }
    return ak_fail(
        err, AK_INVALID,
        "%s contradicts itself: the measurement \"time\" is %.6g ms, and the runtimes are "
        "%.6g to %.6g ms; check which units they have",
        where, ms, least, most);
}

ak_status ak_t4_name_of_file(char **out, const char *path, ak_error *err)
{
    const char *name = ak_fs_base(path);
    size_t length = strcspn(name, ".");
    *out = length == 0 ? ak_strdup("unnamed") : ak_strndup(name, length);
    return ak_made(*out, err);
}

static ak_status take_seconds(ak_record *record, const json_t *result, double unit_ms,
                              const char *where, ak_error *err)
{
    json_t *times = NULL, *runtimes = NULL;
    AK_DO(ak_json_object_or_null(&times, result, "times", where, err));
    AK_DO(ak_json_array_or_null(&runtimes, times, "runtimes", where, err));
    double ms = ak_draft_sum(times, stages);
    if (!json_is_number(json_object_get(times, "benchmark"))) {
        AK_EACH(time, runtimes) {
            double one = json_number_value(time);
            ms += one > 0 ? one : 0;
        }
    }
    record->seconds = ms * unit_ms / 1000.0;
    return AK_OK;
}

static ak_status take_value(ak_record *record, const ak_draft *draft, const json_t *result,
                            double unit_ms, const char *where, ak_error *err)
{
    json_t *measurements = NULL;
    ak_recording *recording = draft->recording;
    const bool is_timed = ak_recording_is_timed(recording);
    const json_t *runtimes = json_object_get(json_object_get(result, "times"), "runtimes");
    bool failed = false;
    AK_DO(ak_json_array_or_null(&measurements, result, "measurements", where, err));
    AK_EACH(one, measurements) {
        const char *name = ak_json_text_or_null(one, "name");
        const json_t *value = json_object_get(one, "value");
        const bool is_time = name != NULL && strcmp(name, "time") == 0;
        double ms = unit_ms;
        if (name != NULL && strcmp(name, recording->objective) == 0) {
            AK_DO(is_time ? ak_draft_unit(&ms, one, "unit", where, err) : AK_OK);
            record->value = json_number_value(value) * (is_time ? ms : 1);
            failed = failed || json_is_null(value); /* Python wrote NaN */
            const char *unit = ak_json_text_at(one, "unit");
            if (!is_timed && recording->unit == NULL && unit[0] != 0) {
                AK_DO(ak_draft_text(&recording->unit, unit, err));
            }
        } else if (is_time) {
            AK_DO(ak_draft_unit(&ms, one, "unit", where, err));
            record->ms = json_number_value(value) * ms;
        }
        AK_DO(is_time ? ak_draft_check_time(json_number_value(value) * ms, runtimes, unit_ms, where,
                                            err)
                      : AK_OK);
    }
    if (failed && record->status == AK_TRIAL_OK) {
        record->status = AK_TRIAL_LAUNCH_ERROR;
    }
    return AK_OK;
}

/* Reads the "objectives" of the first result that has them; the first of several counts. Without
   any, the objective is the time. */
static ak_status take_objective(ak_draft *draft, const json_t *results, ak_error *err)
{
    const char *name = NULL;
    for (size_t i = 0; i < json_array_size(results) && name == NULL; i++) {
        const json_t *list = json_object_get(json_array_get(results, i), "objectives");
        name = json_string_value(json_array_get(list, 0));
    }
    return ak_draft_objective(draft, name == NULL ? "time" : name, err);
}

static ak_status take_head(double *unit_ms, ak_draft *draft, const json_t *file, ak_error *err)
{
    json_t *metadata = NULL;
    const char *kernel = NULL, *where = draft->where;
    AK_DO(ak_json_object_or_null(&metadata, file, "metadata", where, err));
    AK_DO(ak_draft_unit(unit_ms, metadata, "timeunit", where, err));
    AK_DO(ak_json_string_or(&kernel, metadata, "kernel_name", "", where, err));
    AK_DO(kernel[0] == 0 ? ak_t4_name_of_file(&draft->recording->kernel, where, err)
                         : ak_draft_text(&draft->recording->kernel, kernel, err));
    return ak_draft_take_texts(draft, metadata, ak_task_texts + 1, err);
}

static ak_status read(ak_draft *draft, const json_t *file, ak_error *err)
{
    const json_t *results = json_object_get(file, "results");
    double unit_ms = 1;
    AK_DO(take_head(&unit_ms, draft, file, err));
    AK_DO(take_objective(draft, results, err));
    AK_EACH(result, results) {
        char where[512];
        json_t *config = NULL;
        ak_record record = {0};
        (void)snprintf(where, sizeof where, "%.400s: result %zu", draft->where, result_at + 1);
        AK_DO(json_is_object(result) ? ak_t4_status(&record.status, result, where, err)
                                     : ak_fail(err, AK_INVALID, "%s must be an object", where));
        AK_DO(ak_json_object(&config, result, "configuration", where, err));
        AK_DO(take_seconds(&record, result, unit_ms, where, err));
        AK_DO(take_value(&record, draft, result, unit_ms, where, err));
        AK_DO(ak_draft_add(draft, config, &record, where, err));
    }
    return AK_OK;
}

const ak_recording_format ak_recording_t4 = {
    .name = "T4 results",
    .mark = {"results", JSON_ARRAY},
    .read = read,
};
