#include "archive/config_text.h"

#include <string.h>

#include "archive/field.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "base/alloc.h"

/* Parameters of other programs may have names with letters that are not ASCII. */
static bool name_starts(char c)
{
    return ak_ascii_is_letter(c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool name_goes_on(char c)
{
    return name_starts(c) || ak_ascii_is_word(c) || c == '.';
}

/* Returns the length of NAME if a "NAME=" starts here, otherwise 0. */
static size_t name_length(const char *text)
{
    size_t length = name_starts(text[0]) ? 1 : 0;
    while (length > 0 && name_goes_on(text[length])) {
        length++;
    }
    return text[length] == '=' ? length : 0;
}

/* Returns the comma before the next "NAME=", or the end of the text. */
static const char *value_end(const char *text)
{
    const char *comma = strchr(text, ',');
    while (comma != NULL && name_length(comma + 1) == 0) {
        comma = strchr(comma + 1, ',');
    }
    return comma == NULL ? text + strlen(text) : comma;
}

/* Writes a real so that it is read as a real again: 2.0, not 2. */
static void put_real(ak_buf *out, double value)
{
    const size_t before = out->length;
    ak_buf_real(out, value);
    if (out->failed == AK_OK && strpbrk(out->data + before, ".e") == NULL) {
        ak_buf_puts(out, ".0");
    }
}

/* Converts a value: "6" to 6, "0.5" to 0.5, "True" to true, any other text to a string. "+5",
   "007", "-0", "0.50" and "1e0" stay texts, too, because as numbers they would come back different,
   and texts of a space, such as "0.5" and "0.50", would become one. Returns NULL if there is no
   memory or the text is not UTF-8. */
static json_t *value_of_text(const char *text)
{
    int64_t integer;
    double real;
    AK_AT_END(ak_buf_free) ak_buf again = AK_BUF(64);
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        return json_boolean(text[0] == 'T');
    }
    const bool whole = ak_text_int(&integer, text);
    if (whole) {
        ak_buf_print(&again, "%lld", (long long)integer);
    } else if (ak_text_real(&real, text)) {
        put_real(&again, real);
    }
    if (again.failed == AK_NO_MEMORY) {
        return NULL;
    }
    if (again.length == 0 || strcmp(again.data, text) != 0) {
        return json_string(text);
    }
    return whole ? json_integer(integer) : json_real(real);
}

/* Adds a parameter: its name goes up to the '=' at `equals`, its value up to `end`. */
static ak_status add_pair(json_t *object, const char *name, const char *equals, const char *end,
                          const char *where, ak_error *err)
{
    AK_FREED char *key = ak_strndup(name, (size_t)(equals - name));
    AK_FREED char *text = ak_strndup(equals + 1, (size_t)(end - equals - 1));
    ak_status status = AK_OK;
    if (key == NULL || text == NULL) {
        status = ak_fail_memory(err);
    } else if (json_object_get(object, key) != NULL) {
        status = ak_fail(err, AK_INVALID, "%s: parameter \"%s\" occurs twice", where, key);
    } else if (!ak_json_set(object, key, value_of_text(text))) {
        status = ak_fail_memory(err);
    }
    return status;
}

ak_status ak_config_text_to_json(json_t **out, const char *text, const char *where, ak_error *err)
{
    AK_FAIL_IF(!ak_utf8_valid(text), err, AK_INVALID, "%s: the configuration is not UTF-8 text",
               where);
    json_auto_t *object = json_object();
    AK_DO(ak_made(object, err));
    while (*text != 0) {
        size_t length = name_length(text);
        AK_FAIL_IF(length == 0, err, AK_INVALID, "%s: \"%.60s\" is not of the form name=value,...",
                   where, text);
        const char *end = value_end(text + length + 1);
        AK_DO(add_pair(object, text, text + length, end, where, err));
        text = *end == ',' ? end + 1 : end;
    }
    *out = json_incref(object);
    return AK_OK;
}

ak_status ak_config_of_trial(json_t **out, const ak_trial *trial, ak_error *err)
{
    char where[32];
    (void)snprintf(where, sizeof where, "trial #%lld", (long long)trial->id);
    return ak_config_text_to_json(out, ak_or_empty(trial->config), where, err);
}

static ak_status print_value(ak_buf *out, const json_t *value, const char *name, const char *where,
                             ak_error *err)
{
    if (json_is_integer(value)) {
        ak_buf_print(out, "%lld", (long long)json_integer_value(value));
    } else if (json_is_real(value)) {
        put_real(out, json_real_value(value));
    } else if (json_is_boolean(value)) {
        ak_buf_puts(out, json_is_true(value) ? "True" : "False");
    } else if (json_is_string(value)) {
        const char *text = json_string_value(value);
        AK_FAIL_IF(
            *value_end(text) != 0, err, AK_INVALID,
            "%s: parameter \"%s\" has the value \"%.60s\", which reads like several parameters",
            where, name, text);
        ak_buf_puts(out, text);
    } else {
        return ak_fail(err, AK_INVALID,
                       "%s: parameter \"%s\" must be a number, a string, true or false", where,
                       name);
    }
    return AK_OK;
}

static ak_status print_pair(ak_buf *out, const char *name, const json_t *value, const char *where,
                            ak_error *err)
{
    size_t length = strlen(name);
    bool good = name_starts(name[0]);
    for (size_t i = 1; i < length && good; i++) {
        good = name_goes_on(name[i]);
    }
    AK_FAIL_IF(!good, err, AK_INVALID,
               "%s: \"%.60s\" is not a parameter name: use only letters, digits, _ and .", where,
               name);
    AK_FAIL_IF(value == NULL, err, AK_INVALID, "%s: parameter \"%s\" is missing", where, name);
    ak_buf_print(out, "%s%s=", out->length == 0 ? "" : ",", name);
    return print_value(out, value, name, where, err);
}

ak_status ak_config_text_from_json(char **out, const json_t *object, const json_t *order,
                                   const char *where, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_TRIAL_TEXT_BYTES_MAX);
    AK_EACH(item, order) {
        const char *name = json_string_value(item);
        AK_DO(name == NULL ? ak_fail(err, AK_INVALID, "%s: a parameter name is not a string", where)
                           : print_pair(&text, name, json_object_get(object, name), where, err));
    }
    AK_EACH_MEMBER(name, value, order == NULL ? object : NULL) {
        AK_DO(print_pair(&text, name, value, where, err));
    }
    ak_status status = ak_buf_take(out, &text, err);
    return status == AK_LIMIT ? ak_fail_within(err, "%s: the configuration", where) : status;
}

static ak_status config_to_text(json_t *holder, ak_error *err)
{
    const json_t *config = json_object_get(holder, "config");
    if (!json_is_object(config)) {
        return AK_OK;
    }
    AK_FREED char *text = NULL;
    ak_status status = ak_config_text_from_json(&text, config, NULL, "result", err);
    if (status == AK_NO_MEMORY) {
        return status;
    }
    bool set = ak_json_set_text(holder, "config", status == AK_OK ? text : NULL);
    return ak_stored(set, err);
}

ak_status ak_config_text_in_result(json_t *result, ak_error *err)
{
    ak_status status = config_to_text(json_object_get(result, "best"), err);
    AK_EACH(candidate, json_object_get(result, "contestants")) {
        status = status == AK_OK ? config_to_text(candidate, err) : status;
    }
    return status;
}
