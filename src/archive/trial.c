/*
 * trial.c: copies, clears and validates trials and converts them to JSON and back.
 *
 * The functions walk the table of fields (field.h). JSON differs from the table in two places: it
 * has the trial's id, and the two ends of the interval are one member, ci_ms: [low, high], as in
 * `tune --json` and best_config.json.
 */
#include "archive/archive.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "archive/field.h"
#include "base/alloc.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "measure/stats.h"

static const char *const status_texts[AK_TRIAL_STATUS_COUNT] = {
#define TEXT(name, text) [AK_TRIAL_##name] = text,
    AK_TRIAL_MAP(TEXT)
#undef TEXT
};

const char *ak_trial_status_text(ak_trial_status status)
{
    return (unsigned)status < AK_TRIAL_STATUS_COUNT ? status_texts[status] : "unknown status";
}

bool ak_trial_status_parse(ak_trial_status *out, const char *text)
{
    const size_t i = AK_FIND_TEXT(status_texts, AK_TRIAL_STATUS_COUNT, text);
    if (i < AK_TRIAL_STATUS_COUNT) {
        *out = (ak_trial_status)i;
    }
    return i < AK_TRIAL_STATUS_COUNT;
}

double ak_trial_cost(const ak_trial *trial)
{
    return trial->status != AK_TRIAL_OK ? 0 : trial->cost > 0 ? trial->cost : trial->median_ms;
}

void ak_trial_clear(ak_trial *trial)
{
    if (trial == NULL) {
        return;
    }
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        if (ak_field_is_text(ak_fields[i].kind)) {
            ak_free(*ak_field_text(trial, &ak_fields[i]));
        }
    }
    ak_free(trial->samples_ms);
    *trial = (ak_trial){0};
}

ak_status ak_trial_copy(ak_trial *out, const ak_trial *trial, ak_error *err)
{
    ak_trial copy = {.id = trial->id};
    ak_status status = ak_trial_copy_fields(&copy, trial, UINT_MAX, err);
    if (status != AK_OK) {
        ak_trial_clear(&copy);
        return status;
    }
    *out = copy;
    return AK_OK;
}

static ak_status validate_text(const ak_field *field, const char *text, const char *where,
                               ak_error *err)
{
    if (text == NULL) {
        return AK_OK;
    }
    AK_FAIL_IF(strnlen(text, AK_TRIAL_TEXT_BYTES_MAX + 1) > AK_TRIAL_TEXT_BYTES_MAX, err, AK_LIMIT,
               "%s: \"%s\" is longer than %d bytes", where, field->name, AK_TRIAL_TEXT_BYTES_MAX);
    AK_FAIL_IF(field->kind != AK_FIELD_FOREIGN && !ak_utf8_valid(text), err, AK_INVALID,
               "%s: \"%s\" is not UTF-8 text", where, field->name);
    return AK_OK;
}

ak_status ak_trial_validate(const ak_trial *trial, const char *where, ak_error *err)
{
    AK_FAIL_IF(trial->kernel == NULL || trial->kernel[0] == 0, err, AK_INVALID,
               "%s: \"kernel\" is missing", where);
    AK_FAIL_IF((unsigned)trial->status >= AK_TRIAL_STATUS_COUNT, err, AK_INVALID,
               "%s: status %d is unknown", where, (int)trial->status);
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        const ak_field *field = &ak_fields[i];
        if (ak_field_is_text(field->kind)) {
            AK_DO(validate_text(field, *ak_field_text(trial, field), where, err));
        }
        bool real = field->kind == AK_FIELD_REAL || field->kind == AK_FIELD_MEASURED;
        AK_FAIL_IF(real && !isfinite(*ak_field_real(trial, field)), err, AK_INVALID,
                   "%s: \"%s\" is not a finite number", where, field->name);
        bool negative = (field->kind == AK_FIELD_MEASURED && *ak_field_real(trial, field) < 0) ||
                        ((field->kind == AK_FIELD_LONG || field->kind == AK_FIELD_LINK) &&
                         *ak_field_long(trial, field) < 0);
        AK_FAIL_IF(negative, err, AK_INVALID, "%s: \"%s\" is negative", where, field->name);
    }
    AK_FAIL_IF(trial->status == AK_TRIAL_OK && trial->median_ms <= 0 && trial->cost == 0, err,
               AK_INVALID, "%s: the status is ok, but there is no time (\"ms\")", where);
    AK_FAIL_IF(trial->sample_count > AK_TRIAL_SAMPLES_MAX, err, AK_LIMIT,
               "%s: more than %d samples", where, AK_TRIAL_SAMPLES_MAX);
    for (size_t i = 0; i < trial->sample_count; i++) {
        AK_FAIL_IF(!isfinite(trial->samples_ms[i]) || trial->samples_ms[i] < 0, err, AK_INVALID,
                   "%s: sample %zu must be a time in ms, 0 or more", where, i + 1);
    }
    return AK_OK;
}

/* ---- the checksum ---------------------------------------------------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t length)
{
    const uint64_t pair[2] = {hash, ak_hash64(data, length)};
    return ak_hash64(pair, sizeof pair);
}

static uint64_t hash_real(uint64_t hash, double value)
{
    value = isnan(value) || value == 0 ? 0 : value; /* NaN and -0 count as 0 */
    return hash_bytes(hash, &value, sizeof value);
}

static uint64_t hash_field(uint64_t hash, const ak_trial *trial, const ak_field *field)
{
    switch (field->kind) {
    case AK_FIELD_TEXT:
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN: {
        const char *text = *ak_field_text(trial, field);
        const char *none = field->kind == AK_FIELD_TEXT ? "" : "\xff";
        return hash_bytes(hash, text == NULL ? none : text, strlen(text == NULL ? none : text));
    }
    case AK_FIELD_INT:
    case AK_FIELD_LONG:
    case AK_FIELD_LINK:
        return hash_bytes(hash, (const char *)trial + field->offset, field->bytes);
    case AK_FIELD_REAL:
    case AK_FIELD_MEASURED:
    case AK_FIELD_UNBOUNDED:
        return hash_real(hash, *ak_field_real(trial, field));
    case AK_FIELD_STATUS: {
        const char *text = ak_trial_status_text(trial->status);
        return hash_bytes(hash, text, strlen(text));
    }
    case AK_FIELD_SAMPLES:
        return hash_bytes(hash, trial->samples_ms == NULL ? (const void *)"" : trial->samples_ms,
                          trial->sample_count * sizeof(double));
    }
    return hash;
}

/* Returns whether a field is set: a text is not NULL, a measurement is positive, an integer is not
   0. Fields that came later than the checksum are hashed only if they are set, so that checksums of
   older trials stay valid. Such fields have none of the other kinds, which are not handled here. */
static bool has_value(const ak_trial *trial, const ak_field *field)
{
    return ak_field_is_text(field->kind)      ? *ak_field_text(trial, field) != NULL
           : field->kind == AK_FIELD_INT      ? *ak_field_int(trial, field) != 0
           : field->kind == AK_FIELD_MEASURED ? *ak_field_real(trial, field) > 0
                                              : *ak_field_long(trial, field) != 0;
}

int64_t ak_trial_checksum(const ak_trial *trial)
{
    uint64_t hash = 0;
    bool later = false; /* compile_worker and the fields after it came later than the checksum */
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        size_t at = ak_fields[i].offset;
        bool placed = at == offsetof(ak_trial, efficiency) || at == offsetof(ak_trial, bound);
        later = later || at == offsetof(ak_trial, compile_worker);
        bool counts = !placed && (!later || has_value(trial, &ak_fields[i]));
        hash = counts ? hash_field(hash, trial, &ak_fields[i]) : hash;
    }
    return (int64_t)hash;
}

/* ---- to JSON --------------------------------------------------------------------------------- */

json_t *ak_field_json(const ak_trial *trial, const ak_field *field)
{
    switch (field->kind) {
    case AK_FIELD_TEXT:
        return ak_json_shown(ak_or_empty(*ak_field_text(trial, field)));
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN:
        return ak_json_shown(*ak_field_text(trial, field));
    case AK_FIELD_INT:
        return json_integer(*ak_field_int(trial, field));
    case AK_FIELD_LONG:
        return json_integer(*ak_field_long(trial, field));
    case AK_FIELD_LINK: {
        int64_t id = *ak_field_long(trial, field);
        return id == 0 ? json_null() : json_integer(id);
    }
    case AK_FIELD_MEASURED:
        return ak_json_known(*ak_field_real(trial, field));
    case AK_FIELD_REAL:
    case AK_FIELD_UNBOUNDED:
        return ak_json_real(*ak_field_real(trial, field));
    case AK_FIELD_STATUS:
        return json_string(ak_trial_status_text(trial->status));
    case AK_FIELD_SAMPLES:
        return ak_json_reals(trial->samples_ms, trial->sample_count);
    }
    return NULL;
}

size_t ak_trial_few_samples(const ak_trial *trial)
{
    bool few = trial->sample_count < AK_STATS_INTERVAL_MIN && !(trial->search_ms > 0);
    return few ? trial->sample_count : 0;
}

json_t *ak_trial_interval(const ak_trial *trial)
{
    return trial->ci_high_ms > 0 && ak_trial_few_samples(trial) == 0
               ? json_pack("[f, f]", trial->ci_low_ms, trial->ci_high_ms)
               : json_null();
}

void ak_trial_set_range(ak_trial *trial)
{
    ak_stats stats;
    if (trial->status == AK_TRIAL_OK && trial->ci_high_ms <= 0 && ak_trial_few_samples(trial) > 0) {
        ak_stats_of(&stats, trial->samples_ms, trial->sample_count);
        trial->ci_low_ms = stats.low;
        trial->ci_high_ms = stats.high;
    }
}

bool ak_field_is_interval(const ak_field *field)
{
    return field->offset == offsetof(ak_trial, ci_low_ms) ||
           field->offset == offsetof(ak_trial, ci_high_ms);
}

ak_status ak_trial_to_json(json_t **out, const ak_trial *trial, ak_error *err)
{
    AK_DO(ak_trial_validate(trial, "trial", err));
    json_t *object = json_object();
    bool good = object != NULL &&
                ak_json_set(object, "id", trial->id == 0 ? json_null() : json_integer(trial->id));
    for (size_t i = 0; i < AK_FIELD_COUNT && good; i++) {
        const ak_field *field = &ak_fields[i];
        if (!ak_field_is_interval(field)) {
            good = ak_json_set(object, field->name, ak_field_json(trial, field));
        } else if (field->offset == offsetof(ak_trial, ci_low_ms)) {
            good = ak_json_set(object, "ci_ms", ak_trial_interval(trial));
        }
    }
    return ak_json_give(out, object, good, err);
}

/* ---- from JSON ------------------------------------------------------------------------------- */

/* Refuses a member that is not of its type, which `type` names. */
static ak_status check_type(bool good, const char *where, const char *name, const char *type,
                            ak_error *err)
{
    AK_FAIL_IF(!good, err, AK_INVALID, "%s: \"%s\" must be %s", where, name, type);
    return AK_OK;
}

static ak_status get_real(double *out, const json_t *value, const char *name, const char *where,
                          ak_error *err)
{
    AK_DO(check_type(json_is_number(value), where, name, "a number", err));
    *out = json_number_value(value);
    return AK_OK;
}

static ak_status get_long(int64_t *out, const json_t *value, const char *name, const char *where,
                          ak_error *err)
{
    const bool good = json_is_integer(value) && json_integer_value(value) >= 0;
    AK_DO(check_type(good, where, name, "an integer of 0 or more", err));
    *out = json_integer_value(value);
    return AK_OK;
}

ak_status ak_trial_samples(ak_trial *trial, const json_t *value, const char *name,
                           const char *where, ak_error *err)
{
    size_t count = json_array_size(value);
    AK_DO(check_type(json_is_array(value), where, name, "an array", err));
    AK_FAIL_IF(count > AK_TRIAL_SAMPLES_MAX, err, AK_LIMIT, "%s: \"%s\" has more than %d items",
               where, name, AK_TRIAL_SAMPLES_MAX);
    if (count == 0) {
        return AK_OK;
    }
    AK_DO(AK_NEW(trial->samples_ms, count, err));
    trial->sample_count = count;
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(value, i);
        AK_DO(check_type(json_is_number(item), where, name, "an array of numbers", err));
        trial->samples_ms[i] = json_number_value(item);
    }
    return AK_OK;
}

static ak_status get_status(ak_trial_status *out, const json_t *value, const char *where,
                            ak_error *err)
{
    AK_DO(check_type(json_is_string(value), where, "status", "a string", err));
    AK_FAIL_IF(!ak_trial_status_parse(out, json_string_value(value)), err, AK_INVALID,
               "%s: \"status\" is \"%s\", which is not one of: ok, invalid, compile_error, "
               "launch_error, wrong_result, crashed, timed_out, out_of_memory, rejected",
               where, json_string_value(value));
    return AK_OK;
}

static ak_status get_field(ak_trial *trial, const ak_field *field, const json_t *value,
                           const char *where, ak_error *err)
{
    switch (field->kind) {
    case AK_FIELD_TEXT:
    case AK_FIELD_NULLABLE:
    case AK_FIELD_FOREIGN:
        AK_DO(check_type(json_is_string(value), where, field->name, "a string", err));
        return ak_trial_set_text(ak_field_text(trial, field), json_string_value(value), err);
    case AK_FIELD_INT: {
        const json_int_t number = json_integer_value(value);
        const bool good = json_is_integer(value) && number >= 0 && number <= INT_MAX;
        AK_DO(check_type(good, where, field->name, "an integer from 0 to 2147483647", err));
        *ak_field_int(trial, field) = (int)number;
        return AK_OK;
    }
    case AK_FIELD_LONG:
    case AK_FIELD_LINK:
        return get_long(ak_field_long(trial, field), value, field->name, where, err);
    case AK_FIELD_REAL:
    case AK_FIELD_MEASURED:
    case AK_FIELD_UNBOUNDED:
        return get_real(ak_field_real(trial, field), value, field->name, where, err);
    case AK_FIELD_STATUS:
        return get_status(&trial->status, value, where, err);
    case AK_FIELD_SAMPLES:
        return ak_trial_samples(trial, value, field->name, where, err);
    }
    return AK_INTERNAL;
}

static ak_status get_interval(ak_trial *trial, const json_t *value, const char *where,
                              ak_error *err)
{
    AK_DO(check_type(json_array_size(value) == 2, where, "ci_ms", "an array of two numbers", err));
    AK_DO(get_real(&trial->ci_low_ms, json_array_get(value, 0), "ci_ms", where, err));
    return get_real(&trial->ci_high_ms, json_array_get(value, 1), "ci_ms", where, err);
}

static ak_status only_known(const json_t *object, const char *where, ak_error *err)
{
    const char *keys[AK_FIELD_COUNT + 3];
    size_t count = 0;
    keys[count++] = "id";
    keys[count++] = "ci_ms";
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        if (!ak_field_is_interval(&ak_fields[i])) {
            keys[count++] = ak_fields[i].name;
        }
    }
    keys[count] = NULL;
    return ak_json_only(object, keys, where, err);
}

/* Returns a member that exists and is not null, or NULL. */
static const json_t *present(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

ak_status ak_trial_from_json(ak_trial *out, const json_t *object, const char *where, ak_error *err)
{
    AK_FAIL_IF(!json_is_object(object), err, AK_INVALID, "%s: a trial must be an object", where);
    AK_DO(only_known(object, where, err));
    AK_FAIL_IF(present(object, "status") == NULL || present(object, "config") == NULL, err,
               AK_INVALID, "%s: a trial needs at least \"kernel\", \"config\" and \"status\"",
               where);
    AK_AT_END(ak_trial_clear) ak_trial trial = {0};
    const json_t *id = present(object, "id"), *interval = present(object, "ci_ms");
    AK_DO(id == NULL ? AK_OK : get_long(&trial.id, id, "id", where, err));
    AK_DO(interval == NULL ? AK_OK : get_interval(&trial, interval, where, err));
    for (size_t i = 0; i < AK_FIELD_COUNT; i++) {
        const ak_field *field = &ak_fields[i];
        const json_t *value = ak_field_is_interval(field) ? NULL : present(object, field->name);
        AK_DO(value == NULL ? AK_OK : get_field(&trial, field, value, where, err));
    }
    if (json_is_null(json_object_get(object, "max_error"))) {
        trial.max_error = (double)INFINITY;
    }
    AK_DO(ak_trial_validate(&trial, where, err));
    AK_GIVE(out, trial);
    return AK_OK;
}

ak_archive_filter ak_archive_narrow(ak_archive_filter filter, const ak_trial *trial)
{
    filter.kernel = trial->kernel;
    filter.implementation = trial->implementation;
    filter.device = trial->device;
    filter.size = trial->size;
    filter.dtype = trial->dtype;
    filter.choices = trial->choices;
    return filter;
}

ak_archive_filter ak_trial_filter(const ak_trial *trial)
{
    return ak_archive_narrow(
        (ak_archive_filter){.environment = trial->environment, .config = trial->config}, trial);
}
