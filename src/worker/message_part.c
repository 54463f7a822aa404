#include "worker/message.h"

#include <float.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"

#define TEXT_MAX    4096 /* bytes of a text; the rest is cut off, except in a log */
#define TIME_MAX_NS (INT64_C(366) * 24 * 3600 * AK_SECOND_NS)
#define NUMBER_MAX  1e15 /* larger than any time in ms, energy or share */

ak_status ak_part_get_numbers(double **out, size_t *count, const json_t *object, const char *key,
                              double least, ak_error *err)
{
    json_t *array;
    AK_DO(ak_json_array_or_null(&array, object, key, AK_PART_WHERE, err));
    const size_t length = json_array_size(array);
    if (length == 0) {
        return AK_OK;
    }
    AK_FAIL_IF(length > AK_PART_SAMPLES_MAX, err, AK_LIMIT,
               AK_PART_WHERE ": %zu samples are too many", length);
    double *samples;
    AK_DO(AK_NEW(samples, length, err));
    for (size_t i = 0; i < length; i++) {
        const json_t *item = json_array_get(array, i);
        samples[i] = json_number_value(item);
        if (!json_is_number(item) || samples[i] < least || samples[i] > NUMBER_MAX) {
            ak_free(samples);
            return ak_fail(err, AK_INVALID,
                           AK_PART_WHERE ": \"%s\" has an element that is not a number %s", key,
                           least > 0 ? "above 0" : "of 0 or more");
        }
    }
    *out = samples;
    *count = length;
    return AK_OK;
}

ak_status ak_part_get_samples(double **out, size_t *count, const json_t *object, ak_error *err)
{
    return ak_part_get_numbers(out, count, object, "samples_ms", DBL_MIN, err);
}

ak_status ak_part_get_status(ak_trial_status *out, const json_t *object, ak_error *err)
{
    const char *text;
    AK_DO(ak_json_string(&text, object, "outcome", AK_PART_WHERE, err));
    AK_FAIL_IF(!ak_trial_status_parse(out, text), err, AK_INVALID,
               AK_PART_WHERE ": unknown outcome \"%.40s\"", text);
    return AK_OK;
}

/* Replaces control characters, which must reach neither a terminal nor a prompt; with `lines`, line
   breaks and tabs stay. */
static void clean(char *text, bool lines)
{
    for (char *c = text; *c != 0; c++) {
        bool layout = *c == '\n' || *c == '\t';
        *c = ((unsigned char)*c < 0x20 || *c == 0x7f) && !(lines && layout) ? ' ' : *c;
    }
}

ak_status ak_part_get_text(char **out, const json_t *object, const char *key, ak_error *err)
{
    const bool log = strcmp(key, "log") == 0;
    const json_t *value = json_object_get(object, key);
    if (value == NULL || json_is_null(value)) {
        return AK_OK;
    }
    AK_FAIL_IF(!json_is_string(value), err, AK_INVALID, AK_PART_WHERE ": \"%s\" must be a string",
               key);
    AK_FREED char *copy = NULL;
    AK_DO(ak_copy_text(&copy, json_string_value(value), err));
    if (!log && strlen(copy) > TEXT_MAX) {
        copy[TEXT_MAX] = 0;
    }
    clean(copy, log);
    *out = ak_utf8_clean(copy);
    return ak_made(*out, err);
}

ak_status ak_part_get_real(double *out, const json_t *object, const char *key, ak_error *err)
{
    if (json_is_null(json_object_get(object, key))) {
        *out = 0.0;
        return AK_OK;
    }
    return ak_json_real_or(out, object, key, 0.0, AK_PART_WHERE, err);
}

bool ak_part_set_conditions(json_t *object, const ak_conditions *c)
{
    if (c->samples == 0) {
        return true;
    }
    return ak_json_set(
        object, "conditions",
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:I}", "samples", (json_int_t)c->samples,
                  "sm_clock_mhz", ak_json_real(c->sm_clock_mhz), "memory_clock_mhz",
                  ak_json_real(c->memory_clock_mhz), "power_watts", ak_json_real(c->power_watts),
                  "temperature_celsius", ak_json_real(c->temperature_celsius), "throttle",
                  (json_int_t)c->throttle));
}

ak_status ak_part_get_amount(double *out, const json_t *object, const char *key, ak_error *err)
{
    ak_status status = ak_part_get_real(out, object, key, err);
    return status == AK_OK && *out < 0.0
               ? ak_fail(err, AK_INVALID, AK_PART_WHERE ": \"%s\" is negative", key)
               : status;
}

ak_status ak_part_get_conditions(ak_conditions *out, const json_t *object, ak_error *err)
{
    ak_conditions c = {0};
    int64_t samples = 0, throttle = 0;
    json_t *inner;
    AK_DO(ak_json_object_or_null(&inner, object, "conditions", AK_PART_WHERE, err));
    if (inner == NULL) {
        return AK_OK;
    }
    AK_DO(ak_json_int_or(&samples, inner, "samples", 0, AK_PART_WHERE, err));
    AK_DO(ak_part_get_amount(&c.sm_clock_mhz, inner, "sm_clock_mhz", err));
    AK_DO(ak_part_get_amount(&c.memory_clock_mhz, inner, "memory_clock_mhz", err));
    AK_DO(ak_part_get_amount(&c.power_watts, inner, "power_watts", err));
    AK_DO(ak_part_get_amount(&c.temperature_celsius, inner, "temperature_celsius", err));
    AK_DO(ak_json_int_or(&throttle, inner, "throttle", 0, AK_PART_WHERE, err));
    AK_FAIL_IF(samples < 0 || samples > UINT32_MAX || throttle < 0 || throttle > UINT32_MAX, err,
               AK_INVALID, AK_PART_WHERE ": \"conditions\" is out of range");
    c.samples = (uint32_t)samples;
    c.throttle = (uint32_t)throttle;
    *out = c;
    return AK_OK;
}

ak_status ak_part_get_time(int64_t *out, const json_t *object, const char *key, ak_error *err)
{
    ak_status status = ak_json_int_or(out, object, key, 0, AK_PART_WHERE, err);
    return status == AK_OK && (*out < 0 || *out > TIME_MAX_NS)
               ? ak_fail(err, AK_INVALID,
                         AK_PART_WHERE ": \"%s\" is negative or longer than a year", key)
               : status;
}

ak_status ak_part_get_int(int *out, const json_t *object, const char *key, ak_error *err)
{
    int64_t value;
    ak_status status = ak_json_int_or(&value, object, key, 0, AK_PART_WHERE, err);
    AK_FAIL_IF(status == AK_OK && (value < 0 || value > INT32_MAX), err, AK_INVALID,
               AK_PART_WHERE ": \"%s\" is out of range", key);
    *out = status == AK_OK ? (int)value : 0;
    return status;
}
