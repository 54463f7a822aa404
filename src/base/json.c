/* json.c: see json.h. The depth outside strings is checked before Jansson parses, so that Jansson's
   recursion is never deeper than AK_JSON_DEPTH_MAX. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/number.h"
#include "base/plain.h"
#include "base/utf8.h"

static ak_status check_depth(const char *text, size_t length, const char *origin, ak_error *err)
{
    size_t depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            AK_FAIL_IF(++depth > AK_JSON_DEPTH_MAX, err, AK_LIMIT,
                       "%s: JSON is nested deeper than %d", origin, AK_JSON_DEPTH_MAX);
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return AK_OK;
}

/* Returns advice on a common mistake in JSON that is written by hand, or "". */
static const char *advice(const char *text, size_t length, const json_error_t *fault)
{
    static const struct {
        const char *near, *advice;
    } known[] = {
        {"near '/'", "; JSON has no comments"},
        {"near '#'", "; JSON has no comments"},
        {"near '\''", "; JSON's texts stand in double quotes"},
        {"near 'NaN'", "; JSON has neither NaN nor infinities"},
        {"near 'nan'", "; JSON has neither NaN nor infinities"},
        {"near 'Infinity'", "; JSON has neither NaN nor infinities"},
        {"near '-'", "; JSON has neither NaN nor infinities"},
        {"near 'True'", "; JSON writes true, false and null"},
        {"near 'False'", "; JSON writes true, false and null"},
        {"near 'None'", "; JSON writes true, false and null"},
        {"unable to decode", "; save it as UTF-8"},
    };
    for (size_t i = 0; i < AK_COUNT(known); i++) {
        if (strstr(fault->text, known[i].near) != NULL) {
            return known[i].advice;
        }
    }
    if ((strncmp(fault->text, "'}' expected near '", 19) == 0 ||
         strncmp(fault->text, "']' expected near '", 19) == 0) &&
        strchr("]}", fault->text[19]) == NULL) {
        return "; the comma before it is missing";
    }
    size_t end = fault->position < 0 ? 0 : (size_t)fault->position;
    end = end < length ? end : length;
    bool closing = end > 0 && (text[end - 1] == '}' || text[end - 1] == ']');
    while (closing && end > 1 && strchr(" \t\r\n", text[end - 2]) != NULL) {
        end--;
    }
    return closing && end > 1 && text[end - 2] == ',' ? "; the comma before it is one too many"
                                                      : "";
}

ak_status ak_json_parse(json_t **out, const char *text, size_t length, const char *origin,
                        ak_error *err)
{
    AK_FAIL_IF(length > AK_JSON_BYTES_MAX, err, AK_LIMIT, "%s: JSON is larger than %u bytes",
               origin, AK_JSON_BYTES_MAX);
    size_t mark = length >= 3 ? ak_utf8_mark(text) : 0;
    text += mark;
    length -= mark;
    AK_FAIL_IF(length >= 2 &&
                   (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0),
               err, AK_INVALID, "%s: is UTF-16; save it as UTF-8", origin);
    AK_DO(check_depth(text, length, origin, err));
    json_error_t fault = {0}; /* Jansson does not set it if it runs out of memory */
    locale_t before = ak_number_enter();
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    ak_number_leave(before);
    if (value == NULL) {
        /* Jansson leaves the text empty in some places where it runs out of memory. */
        if (json_error_code(&fault) == json_error_out_of_memory || fault.text[0] == 0) {
            return ak_fail_memory(err);
        }
        return ak_fail(err, AK_INVALID, "%s:%d:%d: %s%s", origin, fault.line, fault.column,
                       fault.text, advice(text, length, &fault));
    }
    *out = value;
    return AK_OK;
}

ak_status ak_json_parse_text(json_t **out, const char *text, const char *origin, ak_error *err)
{
    *out = NULL;
    return text == NULL ? AK_OK : ak_json_parse(out, text, strlen(text), origin, err);
}

ak_status ak_json_read(json_t **out, const char *path, ak_error *err)
{
    AK_FREED char *text = NULL;
    size_t length;
    AK_DO(ak_fs_read(&text, &length, path, AK_JSON_BYTES_MAX, err));
    return ak_json_parse(out, text, length, path, err);
}

static ak_status mistyped(const char *where, const char *key, const char *type, ak_error *err)
{
    return ak_fail(err, AK_INVALID, "%s: \"%s\" must be %s", where, key, type);
}

static ak_status missing(const char *where, const char *key, ak_error *err)
{
    return ak_fail(err, AK_INVALID, "%s: \"%s\" is missing", where, key);
}

ak_status ak_json_string_or(const char **out, const json_t *object, const char *key,
                            const char *fallback, const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    *out = value == NULL ? fallback : json_string_value(value);
    return value == NULL || json_is_string(value) ? AK_OK : mistyped(where, key, "a string", err);
}

ak_status ak_json_string(const char **out, const json_t *object, const char *key, const char *where,
                         ak_error *err)
{
    return json_object_get(object, key) == NULL
               ? missing(where, key, err)
               : ak_json_string_or(out, object, key, NULL, where, err);
}

ak_status ak_json_int_or(int64_t *out, const json_t *object, const char *key, int64_t fallback,
                         const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    *out = value == NULL ? fallback : json_integer_value(value);
    return value == NULL || json_is_integer(value) ? AK_OK
                                                   : mistyped(where, key, "an integer", err);
}

ak_status ak_json_int(int64_t *out, const json_t *object, const char *key, const char *where,
                      ak_error *err)
{
    return json_object_get(object, key) == NULL ? missing(where, key, err)
                                                : ak_json_int_or(out, object, key, 0, where, err);
}

ak_status ak_json_real_or(double *out, const json_t *object, const char *key, double fallback,
                          const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    *out = value == NULL ? fallback : json_number_value(value);
    return value == NULL || json_is_number(value) ? AK_OK : mistyped(where, key, "a number", err);
}

ak_status ak_json_bool_or(bool *out, const json_t *object, const char *key, bool fallback,
                          const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    *out = value == NULL ? fallback : json_is_true(value);
    return value == NULL || json_is_boolean(value) ? AK_OK
                                                   : mistyped(where, key, "true or false", err);
}

ak_status ak_json_array_or_null(json_t **out, const json_t *object, const char *key,
                                const char *where, ak_error *err)
{
    *out = json_object_get(object, key);
    return *out == NULL || json_is_array(*out) ? AK_OK : mistyped(where, key, "an array", err);
}

ak_status ak_json_object_or_null(json_t **out, const json_t *object, const char *key,
                                 const char *where, ak_error *err)
{
    *out = json_object_get(object, key);
    return *out == NULL || json_is_object(*out) ? AK_OK : mistyped(where, key, "an object", err);
}

ak_status ak_json_array(json_t **out, const json_t *object, const char *key, const char *where,
                        ak_error *err)
{
    AK_DO(ak_json_array_or_null(out, object, key, where, err));
    return *out == NULL ? missing(where, key, err) : AK_OK;
}

ak_status ak_json_object(json_t **out, const json_t *object, const char *key, const char *where,
                         ak_error *err)
{
    AK_DO(ak_json_object_or_null(out, object, key, where, err));
    return *out == NULL ? missing(where, key, err) : AK_OK;
}

ak_status ak_json_only(const json_t *object, const char *const *keys, const char *where,
                       ak_error *err)
{
    AK_EACH_MEMBER(key, value, object) {
        if (!ak_text_is_one_of(key, keys)) {
            const char *near = ak_text_meant(key, keys);
            return near == NULL
                       ? ak_fail(err, AK_INVALID, "%s: unknown key \"%s\"", where, key)
                       : ak_fail(err, AK_INVALID, "%s: unknown key \"%s\"; did you mean \"%s\"?",
                                 where, key, near);
        }
    }
    return AK_OK;
}

ak_status ak_json_no_typo(const json_t *object, const char *const *keys, const char *where,
                          ak_error *err)
{
    AK_EACH_MEMBER(key, value, object) {
        const char *near = ak_text_nearest(key, keys);
        AK_FAIL_IF(near != NULL && strcmp(near, key) != 0, err, AK_INVALID,
                   "%s: unknown key \"%.60s\"; did you mean \"%s\"?", where, key, near);
    }
    return AK_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

void ak_json_quote(ak_buf *out, const char *text, size_t length)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
    size_t done = 0; /* bytes appended so far; those without an escape are appended in one piece */
    ak_buf_putc(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        unsigned code = c;
        /* Characters that control a terminal are escaped, too. A 0 ends Jansson's strings, so that
           ak_plain_obeyed reads nothing beyond them. */
        size_t obeyed = c < 0x7f ? 0 : ak_plain_obeyed(&code, text + i);
        if (obeyed == 0 && c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        const char *at = c == 0 || obeyed > 0 ? NULL : strchr(plain, c);
        ak_buf_append(out, text + done, i - done);
        i += obeyed > 0 ? obeyed - 1 : 0;
        done = i + 1;
        if (at != NULL) {
            ak_buf_putc(out, '\\');
            ak_buf_putc(out, escaped[at - plain]);
        } else {
            ak_buf_print(out, "\\u%04x", code);
        }
    }
    ak_buf_append(out, text + done, length - done);
    ak_buf_putc(out, '"');
}

static void print_real(ak_buf *out, double value)
{
    size_t before = out->length;
    ak_buf_real(out, value);
    /* A real without a fraction would be read back as an integer. */
    if (strpbrk(out->data + before, ".eE") == NULL) {
        ak_buf_puts(out, ".0");
    }
}

static void new_line(ak_buf *out, bool indented, size_t depth)
{
    if (indented) {
        ak_buf_print(out, "\n%*s", (int)(2 * depth), "");
    }
}

static void print_value(ak_buf *out, const json_t *value, bool indented, size_t depth);

static void print_object(ak_buf *out, const json_t *object, bool indented, size_t depth)
{
    const char *comma = "";
    ak_buf_putc(out, '{');
    AK_EACH_MEMBER(key, item, object) {
        ak_buf_puts(out, comma);
        new_line(out, indented, depth + 1);
        ak_json_quote(out, key, strlen(key));
        ak_buf_puts(out, indented ? ": " : ":");
        print_value(out, item, indented, depth + 1);
        comma = ",";
    }
    if (*comma != 0) {
        new_line(out, indented, depth);
    }
    ak_buf_putc(out, '}');
}

static void print_array(ak_buf *out, const json_t *array, bool indented, size_t depth)
{
    ak_buf_putc(out, '[');
    for (size_t i = 0; i < json_array_size(array); i++) {
        ak_buf_puts(out, i == 0 ? "" : ",");
        new_line(out, indented, depth + 1);
        print_value(out, json_array_get(array, i), indented, depth + 1);
    }
    if (json_array_size(array) > 0) {
        new_line(out, indented, depth);
    }
    ak_buf_putc(out, ']');
}

static void print_value(ak_buf *out, const json_t *value, bool indented, size_t depth)
{
    if (depth > AK_JSON_DEPTH_MAX) {
        out->deep = out->deep || out->failed == AK_OK;
        out->failed = out->failed == AK_OK ? AK_LIMIT : out->failed;
        return;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        print_object(out, value, indented, depth);
        break;
    case JSON_ARRAY:
        print_array(out, value, indented, depth);
        break;
    case JSON_STRING:
        ak_json_quote(out, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        ak_buf_print(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        print_real(out, json_real_value(value));
        break;
    case JSON_TRUE:
        ak_buf_puts(out, "true");
        break;
    case JSON_FALSE:
        ak_buf_puts(out, "false");
        break;
    case JSON_NULL:
        ak_buf_puts(out, "null");
        break;
    }
}

void ak_json_print(ak_buf *out, const json_t *value, bool indented)
{
    if (value == NULL) { /* the call that should have made the value had no memory */
        out->failed = out->failed == AK_OK ? AK_NO_MEMORY : out->failed;
        return;
    }
    print_value(out, value, indented, 0);
}

void ak_json_print_plain(ak_buf *out, const json_t *value)
{
    if (json_is_string(value)) {
        ak_buf_puts(out, json_string_value(value));
    } else {
        ak_json_print(out, value, false);
    }
}

ak_status ak_json_text(char **out, const json_t *value, ak_error *err)
{
    ak_buf buf = AK_BUF(AK_JSON_BYTES_MAX);
    ak_json_print(&buf, value, false);
    return ak_buf_take(out, &buf, err);
}

json_t *ak_json_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *ak_json_known(double value)
{
    return value > 0 ? ak_json_real(value) : json_null();
}

json_t *ak_json_count_or_null(int64_t count, bool known)
{
    return known ? json_integer(count) : json_null();
}

json_t *ak_json_interval(double low, double high)
{
    bool known = isfinite(low) && isfinite(high) && high > low && high > 0;
    return known ? json_pack("[f, f]", low, high) : json_null();
}

bool ak_json_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

bool ak_json_set_count(json_t *object, const char *key, size_t count)
{
    return ak_json_set(object, key, json_integer((json_int_t)count));
}

bool ak_json_set_known(json_t *object, const char *key, double value)
{
    return ak_json_set(object, key, ak_json_known(value));
}

bool ak_json_set_real(json_t *object, const char *key, double value)
{
    return ak_json_set(object, key, ak_json_real(value));
}

json_t *ak_json_shown(const char *text)
{
    json_t *value = text == NULL ? json_null() : json_string(text);
    if (value == NULL) { /* it is not UTF-8 */
        AK_FREED char *clean = ak_utf8_clean(text);
        value = clean == NULL ? NULL : json_string(clean);
    }
    return value;
}

bool ak_json_set_text(json_t *object, const char *key, const char *text)
{
    return ak_json_set(object, key, ak_json_shown(text));
}

bool ak_json_set_pairs(json_t *object, const char *const *pairs, size_t count)
{
    bool good = true;
    for (size_t i = 0; good && i + 1 < count; i += 2) {
        good = ak_json_set_text(object, pairs[i], pairs[i + 1]);
    }
    return good;
}

bool ak_json_append(json_t *list, json_t *value)
{
    return json_array_append_new(list, value) == 0;
}

void ak_json_add(json_t **list, json_t *value)
{
    *list = ak_json_whole(*list, ak_json_append(*list, value));
}

bool ak_json_copy(json_t *object, const json_t *from, const char *const *keys)
{
    bool good = true;
    for (; good && *keys != NULL; keys++) {
        json_t *value = json_object_get(from, *keys);
        good = value == NULL || json_object_set(object, *keys, value) == 0;
    }
    return good;
}

json_t *ak_json_reals(const double *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, ak_json_real(values[i]));
    }
    return list;
}

json_t *ak_json_integers(const int64_t *values, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, json_integer(values[i]));
    }
    return list;
}

json_t *ak_json_texts(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&list, json_string(texts[i]));
    }
    return list;
}

json_t *ak_json_whole(json_t *value, bool good)
{
    if (!good) {
        json_decref(value);
        return NULL;
    }
    return value;
}

ak_status ak_json_give(json_t **out, json_t *value, bool good, ak_error *err)
{
    AK_DO(ak_stored(ak_json_whole(value, good) != NULL, err));
    *out = value;
    return AK_OK;
}

ak_status ak_json_give_text(char **out, json_t *value, bool good, ak_error *err)
{
    json_auto_t *whole = ak_json_whole(value, good);
    return ak_json_text(out, whole, err);
}

double ak_json_number_at(const json_t *object, const char *key)
{
    /* Jansson returns 0 if the member is missing or not a number. */
    return json_number_value(json_object_get(object, key));
}

double ak_json_positive_at(const json_t *object, const char *key)
{
    double value = ak_json_number_at(object, key);
    return value > 0 ? value : 0;
}

double ak_json_number_in(const json_t *object, const char *key, size_t index)
{
    return json_number_value(json_array_get(json_object_get(object, key), index));
}

const char *ak_json_text_or_null(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

const char *ak_json_text_at(const json_t *object, const char *key)
{
    return ak_or_empty(ak_json_text_or_null(object, key));
}

bool ak_json_text_is(const json_t *object, const char *key, const char *text)
{
    return strcmp(ak_json_text_at(object, key), text) == 0;
}

json_t *ak_json_find(const json_t *list, const char *key, const char *text)
{
    AK_EACH(one, list) {
        if (ak_json_text_is(one, key, text)) {
            return one;
        }
    }
    return NULL;
}
