/* message.c: see message.h. Each kind of message has its writer and its reader here. */
#include "worker/message.h"

#include <string.h>

#include "archive/field.h"
#include "base/alloc.h"
#include "measure/ceilings.h"

#define WHERE     AK_PART_WHERE
#define TEXTS_MAX 4096

json_t *ak_message_failure(int64_t id, ak_status status, const char *text)
{
    return json_pack("{s:I, s:b, s:i, s:s}", "id", (json_int_t)id, "ok", 0, "status", (int)status,
                     "error", text);
}

ak_status ak_message_fault(const json_t *reply, ak_error *err)
{
    bool ok;
    int64_t status;
    const char *text;
    if (ak_json_bool_or(&ok, reply, "ok", false, WHERE, err) != AK_OK ||
        ak_json_int_or(&status, reply, "status", AK_INTERNAL, WHERE, err) != AK_OK ||
        ak_json_string_or(&text, reply, "error", "no reason given", WHERE, err) != AK_OK) {
        return AK_INVALID;
    }
    if (ok) {
        return AK_OK;
    }
    status = status <= AK_OK || status > AK_INTERNAL ? AK_INTERNAL : status;
    return ak_fail(err, (ak_status)status, "%s", text);
}

ak_status ak_message_send(int fd, json_t *message, ak_error *err)
{
    ak_status status = message == NULL ? ak_fail_memory(err) : ak_wire_send(fd, message, err);
    json_decref(message);
    return status;
}

#define SAID (AK_FIELD_BY_JUDGE | AK_FIELD_BY_CLOCK)

static bool set_field(json_t *object, const ak_trial *trial, const ak_field *field)
{
    if (field->kind == AK_FIELD_MEASURED) { /* 0: not measured */
        return ak_json_set_real(object, field->member, *ak_field_real(trial, field));
    }
    const char *name = field->kind == AK_FIELD_STATUS ? "outcome" : field->member;
    return ak_json_set(object, name, ak_field_json(trial, field));
}

json_t *ak_message_from_trial(const ak_trial *trial, const ak_conditions *conditions)
{
    json_t *object = json_object();
    bool good = object != NULL;
    for (size_t i = 0; i < AK_FIELD_COUNT && good; i++) {
        good = (ak_fields[i].by & SAID) == 0 || set_field(object, trial, &ak_fields[i]);
    }
    good = good && ak_part_set_conditions(object, conditions);
    return ak_json_whole(object, good);
}

static ak_status get_field(ak_trial *out, const json_t *object, const ak_field *field,
                           ak_error *err)
{
    switch (field->kind) {
    case AK_FIELD_STATUS:
        return ak_part_get_status(&out->status, object, err);
    case AK_FIELD_SAMPLES:
        return ak_part_get_samples(&out->samples_ms, &out->sample_count, object, err);
    case AK_FIELD_TEXT:
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN:
        return ak_part_get_text(ak_field_text(out, field), object, field->member, err);
    case AK_FIELD_LONG:
        return ak_part_get_time(ak_field_long(out, field), object, field->member, err);
    case AK_FIELD_REAL:
    case AK_FIELD_MEASURED:
    case AK_FIELD_UNBOUNDED:
        return ak_part_get_amount(ak_field_real(out, field), object, field->member, err);
    case AK_FIELD_INT:
    case AK_FIELD_LINK: /* a device worker sends no such field */
        break;
    }
    return ak_fail(err, AK_INTERNAL, WHERE ": \"%s\" is not a field of a reply", field->member);
}

/* Computes the median and its interval from the samples, because the worker's own figures are not
   trusted. A failed trial has neither samples nor times. */
static void set_times(ak_trial *trial)
{
    ak_stats stats = {0};
    if (trial->status != AK_TRIAL_OK) {
        ak_free(trial->samples_ms);
        trial->samples_ms = NULL;
        trial->sample_count = 0;
    }
    if (trial->sample_count > 0) {
        ak_stats_of(&stats, trial->samples_ms, trial->sample_count);
    }
    trial->median_ms = stats.median;
    trial->ci_low_ms = stats.low;
    trial->ci_high_ms = stats.high;
}

ak_status ak_message_to_trial(ak_trial *out, ak_conditions *conditions, const json_t *object,
                              ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    *conditions = (ak_conditions){0};
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        if ((ak_fields[i].by & SAID) != 0) {
            AK_DO(get_field(&trial, object, &ak_fields[i], err));
        }
    }
    AK_DO(ak_part_get_conditions(conditions, object, err));
    set_times(&trial);
    AK_GIVE(out, trial);
    return AK_OK;
}

ak_status ak_message_check_trial(const json_t *object, bool timed, ak_error *err)
{
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    ak_conditions conditions;
    AK_DO(ak_message_to_trial(&trial, &conditions, object, err));
    ak_status status = AK_OK;
    if (timed && trial.status == AK_TRIAL_OK && trial.sample_count == 0) {
        status = ak_fail(err, AK_INVALID, WHERE ": a trial that is ok has no times");
    }
    return status;
}

json_t *ak_message_from_plan(const ak_timer_plan *plan)
{
    return json_pack("{s:I, s:I, s:o, s:I, s:I, s:o}", "batch_ns", (json_int_t)plan->batch_ns,
                     "budget_ns", (json_int_t)plan->budget_ns, "precision",
                     ak_json_real(plan->precision), "samples_min", (json_int_t)plan->samples_min,
                     "samples_max", (json_int_t)plan->samples_max, "give_up_ms",
                     ak_json_real(plan->give_up_ms));
}

ak_status ak_message_to_plan(ak_timer_plan *out, const json_t *object, ak_error *err)
{
    ak_timer_plan plan = {0};
    int64_t least = 0, most = 0;
    json_t *inner;
    *out = plan;
    AK_DO(ak_json_object_or_null(&inner, object, "timer", WHERE, err));
    if (inner == NULL) {
        return AK_OK;
    }
    AK_DO(ak_part_get_time(&plan.batch_ns, inner, "batch_ns", err));
    AK_DO(ak_part_get_time(&plan.budget_ns, inner, "budget_ns", err));
    AK_DO(ak_part_get_real(&plan.precision, inner, "precision", err));
    AK_DO(ak_part_get_time(&least, inner, "samples_min", err));
    AK_DO(ak_part_get_time(&most, inner, "samples_max", err));
    AK_DO(ak_part_get_real(&plan.give_up_ms, inner, "give_up_ms", err));
    plan.samples_min = (size_t)least;
    plan.samples_max = (size_t)most;
    *out = plan;
    return AK_OK;
}

json_t *ak_message_from_compile(const ak_compile_result *result)
{
    return json_pack("{s:s, s:o, s:o, s:I, s:i, s:i, s:i, s:i, s:s, s:s}", "outcome",
                     ak_trial_status_text(result->status), "reason", ak_json_shown(result->reason),
                     "log", ak_json_shown(result->log), "compile_ns",
                     (json_int_t)result->compile_ns, "registers", result->registers, "shared_bytes",
                     result->shared_bytes, "spill_bytes", result->spill_bytes, "code_bytes",
                     result->code_bytes, "artifact_hash", result->artifact_hash, "file_hash",
                     result->file_hash);
}

ak_status ak_message_to_compile(ak_compile_result *out, const json_t *object, ak_error *err)
{
    AK_AT_END(ak_compile_result_clear) ak_compile_result result = {0};
    const char *hash = NULL, *file = NULL;
    AK_DO(ak_part_get_status(&result.status, object, err));
    AK_DO(ak_part_get_text(&result.reason, object, "reason", err));
    AK_DO(ak_part_get_text(&result.log, object, "log", err));
    AK_DO(ak_part_get_time(&result.compile_ns, object, "compile_ns", err));
    AK_DO(ak_part_get_int(&result.registers, object, "registers", err));
    AK_DO(ak_part_get_int(&result.shared_bytes, object, "shared_bytes", err));
    AK_DO(ak_part_get_int(&result.spill_bytes, object, "spill_bytes", err));
    AK_DO(ak_part_get_int(&result.code_bytes, object, "code_bytes", err));
    AK_DO(ak_json_string_or(&hash, object, "artifact_hash", "", WHERE, err));
    AK_DO(ak_json_string_or(&file, object, "file_hash", "", WHERE, err));
    AK_FAIL_IF(strlen(hash) >= sizeof result.artifact_hash ||
                   strlen(file) >= sizeof result.file_hash,
               err, AK_INVALID, WHERE ": \"artifact_hash\" or \"file_hash\" is too long");
    (void)snprintf(result.artifact_hash, sizeof result.artifact_hash, "%s", hash);
    (void)snprintf(result.file_hash, sizeof result.file_hash, "%s", file);
    AK_GIVE(out, result);
    return AK_OK;
}

json_t *ak_message_from_comparison(const ak_comparison_entry *entry)
{
    const size_t count = entry->sample_count;
    json_t *object =
        json_pack("{s:s, s:o, s:o, s:o}", "outcome", ak_trial_status_text(entry->status), "reason",
                  ak_json_shown(entry->reason), "version", ak_json_shown(entry->version),
                  "samples_ms", ak_json_reals(entry->samples_ms, count));
    bool good = object != NULL &&
                (!entry->culprit || ak_json_set(object, "culprit", json_true())) &&
                (entry->waited == NULL ||
                 ak_json_set(object, "waited", ak_json_reals(entry->waited, count))) &&
                (entry->joules == NULL ||
                 ak_json_set(object, "joules", ak_json_reals(entry->joules, count))) &&
                ak_part_set_conditions(object, &entry->conditions) &&
                ak_json_set_text(object, "overlap", ak_overlap_text(entry->overlap));
    return ak_json_whole(object, good);
}

/* Reads whether the kernels of a batch may overlap (measure/overlap.h). Leaves *out unchanged if
   the member is missing or null, which means unknown. */
static ak_status get_overlap(ak_overlap *out, const json_t *object, ak_error *err)
{
    const json_t *value = json_object_get(object, "overlap");
    const char *text = json_string_value(value);
    if (value == NULL || json_is_null(value) || (text != NULL && ak_overlap_parse(out, text))) {
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID, WHERE ": unknown overlap \"%.40s\"", ak_or_empty(text));
}

ak_status ak_message_to_comparison(ak_comparison_entry *out, const json_t *object, ak_error *err)
{
    AK_AT_END(ak_comparison_entry_clear) ak_comparison_entry entry = {0};
    AK_DO(ak_part_get_status(&entry.status, object, err));
    AK_DO(ak_part_get_text(&entry.reason, object, "reason", err));
    AK_DO(ak_json_bool_or(&entry.culprit, object, "culprit", false, WHERE, err));
    AK_DO(ak_part_get_text(&entry.version, object, "version", err));
    AK_DO(ak_part_get_conditions(&entry.conditions, object, err));
    AK_DO(get_overlap(&entry.overlap, object, err));
    size_t waits = 0, weighed = 0;
    AK_DO(ak_part_get_samples(&entry.samples_ms, &entry.sample_count, object, err));
    AK_DO(ak_part_get_numbers(&entry.waited, &waits, object, "waited", 0, err));
    AK_FAIL_IF(waits != 0 && waits != entry.sample_count, err, AK_INVALID,
               WHERE ": %zu waits for %zu samples", waits, entry.sample_count);
    AK_DO(ak_part_get_numbers(&entry.joules, &weighed, object, "joules", 0, err));
    AK_FAIL_IF(weighed != 0 && weighed != entry.sample_count, err, AK_INVALID,
               WHERE ": %zu energies for %zu samples", weighed, entry.sample_count);
    AK_GIVE(out, entry);
    return AK_OK;
}

ak_status ak_message_check_comparison(const json_t *reply, size_t count, ak_error *err)
{
    json_t *list = NULL;
    ak_comparison_course course;
    AK_DO(ak_json_array_or_null(&list, reply, "entries", WHERE, err));
    AK_DO(ak_message_to_course(&course, reply, err));
    AK_FAIL_IF(json_array_size(list) != count, err, AK_INVALID,
               WHERE ": a comparison of %zu candidates has %zu entries", count,
               json_array_size(list));
    for (size_t i = 0; i < count; i++) {
        ak_comparison_entry entry = {0};
        AK_DO(ak_message_to_comparison(&entry, json_array_get(list, i), err));
        bool empty = entry.status == AK_TRIAL_OK && entry.sample_count == 0;
        ak_comparison_entry_clear(&entry);
        AK_FAIL_IF(empty, err, AK_INVALID, WHERE ": a candidate that is ok has no times");
    }
    return AK_OK;
}

bool ak_message_set_course(json_t *reply, const ak_comparison_course *course)
{
    return ak_json_set_count(reply, "group", course->group) &&
           ak_json_set(reply, "extended", json_boolean(course->extended)) &&
           ak_json_set_count(reply, "unseen", course->unseen) &&
           ak_json_set(reply, "pressure",
                       json_pack("[f,f,f]", course->before, course->during, course->after));
}

/* Reads the course of a comparison. If the reply lacks its members, each round is a group of its
   own and the pressure is unknown (-1). */
ak_status ak_message_to_course(ak_comparison_course *out, const json_t *reply, ak_error *err)
{
    ak_comparison_course course = {.group = 1, .before = -1, .during = -1, .after = -1};
    double *const parts[] = {&course.before, &course.during, &course.after};
    int64_t group = 1, unseen = 0;
    json_t *list = NULL;
    AK_DO(ak_json_int_or(&group, reply, "group", 1, WHERE, err));
    AK_DO(ak_json_bool_or(&course.extended, reply, "extended", false, WHERE, err));
    AK_DO(ak_json_int_or(&unseen, reply, "unseen", 0, WHERE, err));
    AK_DO(ak_json_array_or_null(&list, reply, "pressure", WHERE, err));
    AK_FAIL_IF(unseen < 0 || unseen > AK_JUDGED_MAX, err, AK_INVALID,
               WHERE ": \"unseen\" is %lld candidates, out of range", (long long)unseen);
    AK_FAIL_IF(group < 1 || group > AK_PART_SAMPLES_MAX, err, AK_INVALID,
               WHERE ": \"group\" is %lld rounds, out of range", (long long)group);
    for (size_t i = 0; list != NULL && i < AK_COUNT(parts); i++) {
        const json_t *part = json_array_get(list, i);
        *parts[i] = json_number_value(part);
        AK_FAIL_IF(!json_is_number(part) || *parts[i] > 1, err, AK_INVALID,
                   WHERE ": \"pressure\" must be three numbers of at most 1");
    }
    course.group = (size_t)group;
    course.unseen = (size_t)unseen;
    *out = course;
    return AK_OK;
}

json_t *ak_message_from_ceilings(const ak_ceilings *ceilings)
{
    json_t *object = ak_ceilings_json(ceilings);
    bool good = ak_json_set(object, "measured", json_boolean(ceilings->measured));
    return ak_json_whole(object, good);
}

ak_status ak_message_to_ceilings(ak_ceilings *out, const json_t *object, ak_error *err)
{
    ak_ceilings c = {0};
#define GET(figure) AK_DO(ak_part_get_real(&c.figure, object, #figure, err));
    AK_CEILINGS_FIGURES(GET)
#undef GET
    AK_DO(ak_json_bool_or(&c.measured, object, "measured", false, WHERE, err));
    *out = c;
    return AK_OK;
}

json_t *ak_message_from_baseline(const ak_baseline_info *info)
{
    return json_pack("{s:s?, s:s?, s:o, s:b, s:o}", "name", info->name, "title", info->title,
                     "version", ak_json_shown(info->version), "installed", (int)info->installed,
                     "note", ak_json_shown(info->note));
}

ak_status ak_message_to_baseline(ak_baseline_info *out, const json_t *object, ak_error *err)
{
    AK_AT_END(ak_baseline_info_clear) ak_baseline_info info = {0};
    AK_DO(ak_part_get_text(&info.name, object, "name", err));
    AK_DO(ak_part_get_text(&info.title, object, "title", err));
    AK_DO(ak_part_get_text(&info.version, object, "version", err));
    AK_DO(ak_part_get_text(&info.note, object, "note", err));
    AK_DO(ak_json_bool_or(&info.installed, object, "installed", false, WHERE, err));
    AK_FAIL_IF(info.name == NULL, err, AK_INVALID, WHERE ": a baseline has no name");
    AK_GIVE(out, info);
    return AK_OK;
}

ak_status ak_message_texts(const char ***out, size_t *count, const json_t *object, const char *key,
                           ak_error *err)
{
    json_t *array;
    const char **texts;
    AK_DO(ak_json_array_or_null(&array, object, key, WHERE, err));
    const size_t length = json_array_size(array);
    AK_FAIL_IF(length > TEXTS_MAX, err, AK_LIMIT, WHERE ": \"%s\" is too long", key);
    AK_DO(AK_NEW(texts, length + 1, err));
    for (size_t i = 0; i < length; i++) {
        texts[i] = json_string_value(json_array_get(array, i));
        if (texts[i] == NULL) {
            ak_free(texts);
            return ak_fail(err, AK_INVALID, WHERE ": \"%s\" must hold strings", key);
        }
    }
    *out = texts;
    *count = length;
    return AK_OK;
}
