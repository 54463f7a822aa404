/* json.c: Jansson behind limits and one-line messages. Depth is checked before parsing, by a scan
   that knows strings, so that no parser recursion is ever deeper than AK_JSON_DEPTH_MAX. */
#include "base/json.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"

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
            if (++depth > AK_JSON_DEPTH_MAX) {
                return ak_fail(err, AK_LIMIT, "%s: JSON is nested deeper than %d", origin,
                               AK_JSON_DEPTH_MAX);
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            depth--;
        }
    }
    return AK_OK;
}

ak_status ak_json_parse(json_t **out, const char *text, size_t length, const char *origin,
                        ak_error *err)
{
    if (length > AK_JSON_BYTES_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: JSON is larger than %u bytes", origin,
                       AK_JSON_BYTES_MAX);
    }
    ak_status status = check_depth(text, length, origin, err);
    if (status != AK_OK) {
        return status;
    }
    json_error_t fault;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    if (value == NULL) {
        /* Jansson leaves the text empty in some places where it runs out of memory. */
        if (json_error_code(&fault) == json_error_out_of_memory || fault.text[0] == 0) {
            return ak_fail_memory(err);
        }
        return ak_fail(err, AK_INVALID, "%s:%d:%d: %s", origin, fault.line, fault.column,
                       fault.text);
    }
    *out = value;
    return AK_OK;
}

ak_status ak_json_read(json_t **out, const char *path, ak_error *err)
{
    char *text;
    size_t length;
    ak_status status = ak_fs_read(&text, &length, path, AK_JSON_BYTES_MAX, err);
    if (status == AK_OK) {
        status = ak_json_parse(out, text, length, path, err);
        ak_free(text);
    }
    return status;
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
    if (value == NULL) {
        *out = fallback;
        return AK_OK;
    }
    if (!json_is_string(value)) {
        return mistyped(where, key, "a string", err);
    }
    *out = json_string_value(value);
    return AK_OK;
}

ak_status ak_json_string(const char **out, const json_t *object, const char *key, const char *where,
                         ak_error *err)
{
    if (json_object_get(object, key) == NULL) {
        return missing(where, key, err);
    }
    return ak_json_string_or(out, object, key, NULL, where, err);
}

ak_status ak_json_int_or(int64_t *out, const json_t *object, const char *key, int64_t fallback,
                         const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL) {
        *out = fallback;
        return AK_OK;
    }
    if (!json_is_integer(value)) {
        return mistyped(where, key, "an integer", err);
    }
    *out = json_integer_value(value);
    return AK_OK;
}

ak_status ak_json_int(int64_t *out, const json_t *object, const char *key, const char *where,
                      ak_error *err)
{
    if (json_object_get(object, key) == NULL) {
        return missing(where, key, err);
    }
    return ak_json_int_or(out, object, key, 0, where, err);
}

ak_status ak_json_real_or(double *out, const json_t *object, const char *key, double fallback,
                          const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL) {
        *out = fallback;
        return AK_OK;
    }
    if (!json_is_number(value)) {
        return mistyped(where, key, "a number", err);
    }
    *out = json_number_value(value);
    return AK_OK;
}

ak_status ak_json_bool_or(bool *out, const json_t *object, const char *key, bool fallback,
                          const char *where, ak_error *err)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL) {
        *out = fallback;
        return AK_OK;
    }
    if (!json_is_boolean(value)) {
        return mistyped(where, key, "true or false", err);
    }
    *out = json_is_true(value);
    return AK_OK;
}

ak_status ak_json_array_or_null(json_t **out, const json_t *object, const char *key,
                                const char *where, ak_error *err)
{
    json_t *value = json_object_get(object, key);
    if (value != NULL && !json_is_array(value)) {
        return mistyped(where, key, "an array", err);
    }
    *out = value;
    return AK_OK;
}

ak_status ak_json_object_or_null(json_t **out, const json_t *object, const char *key,
                                 const char *where, ak_error *err)
{
    json_t *value = json_object_get(object, key);
    if (value != NULL && !json_is_object(value)) {
        return mistyped(where, key, "an object", err);
    }
    *out = value;
    return AK_OK;
}

ak_status ak_json_only(const json_t *object, const char *const *keys, const char *where,
                       ak_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        bool known = false;
        for (size_t i = 0; keys[i] != NULL && !known; i++) {
            known = strcmp(keys[i], key) == 0;
        }
        if (!known) {
            const char *near = ak_text_nearest(key, keys);
            return near == NULL
                       ? ak_fail(err, AK_INVALID, "%s: unknown key \"%s\"", where, key)
                       : ak_fail(err, AK_INVALID, "%s: unknown key \"%s\"; did you mean \"%s\"?",
                                 where, key, near);
        }
    }
    return AK_OK;
}

static int append(const char *bytes, size_t count, void *context)
{
    ak_buf *buf = context;
    ak_buf_append(buf, bytes, count);
    return buf->failed == AK_OK ? 0 : -1;
}

void ak_json_print(ak_buf *out, const json_t *value, bool indented)
{
    size_t flags = JSON_ENCODE_ANY | (indented ? JSON_INDENT(2) : JSON_COMPACT);
    if (json_dump_callback(value, append, out, flags) != 0 && out->failed == AK_OK) {
        out->failed = AK_NO_MEMORY;
    }
}

ak_status ak_json_text(char **out, const json_t *value, ak_error *err)
{
    ak_buf buf = AK_BUF(AK_JSON_BYTES_MAX);
    ak_json_print(&buf, value, false);
    return ak_buf_take(out, &buf, err);
}

bool ak_json_set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

bool ak_json_set_real(json_t *object, const char *key, double value)
{
    return ak_json_set(object, key, isfinite(value) ? json_real(value) : json_null());
}

bool ak_json_set_text(json_t *object, const char *key, const char *text)
{
    return ak_json_set(object, key, text == NULL ? json_null() : json_string(text));
}
