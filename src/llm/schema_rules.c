/*
 * schema_rules.c: the subset of JSON schema that each vendor enforces.
 *
 * Sources: developers.openai.com "Structured outputs", supported schemas; platform.claude.com
 * "Structured outputs", JSON schema limitations.
 */
#include "llm/dialect.h"

#include <string.h>

const char *const ak_schema_not_openai[] = {"minLength", "maxLength", "uniqueItems", "default",
                                            NULL};
const char *const ak_schema_not_anthropic[] = {
    "minLength",        "maxLength",        "minimum",    "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems",         "uniqueItems",      NULL};

static bool listed(const char *word, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strcmp(word, *words) == 0) {
            return true;
        }
    }
    return false;
}

/* Values of these are maps from names to schemas. */
static const char *const maps[] = {"properties", "$defs", "definitions", NULL};
/* Values of these are values, not schemas. */
static const char *const values[] = {"enum", "const", "required", NULL};

static json_t *copy(const json_t *schema, const char *const *keywords, bool map)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_array(schema)) {
        json_t *list = json_array();
        json_array_foreach(schema, i, member)
        {
            if (json_array_append_new(list, copy(member, keywords, false)) != 0) {
                json_decref(list);
                return NULL;
            }
        }
        return list;
    }
    if (!json_is_object(schema)) {
        return json_deep_copy(schema);
    }
    json_t *object = json_object();
    json_object_foreach((json_t *)(uintptr_t)schema, key, member)
    {
        if (!map && listed(key, keywords)) {
            continue;
        }
        json_t *value = !map && listed(key, values)
                            ? json_deep_copy(member)
                            : copy(member, keywords, !map && listed(key, maps));
        if (json_object_set_new(object, key, value) != 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

json_t *ak_schema_without(const json_t *schema, const char *const *keywords)
{
    return copy(schema, keywords, false);
}

static bool all_required(const json_t *properties, const json_t *required)
{
    const char *key;
    json_t *value, *name;
    size_t i;
    json_object_foreach((json_t *)(uintptr_t)properties, key, value)
    {
        bool found = false;
        json_array_foreach(required, i, name)
        {
            found = found || (json_is_string(name) && strcmp(json_string_value(name), key) == 0);
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

bool ak_schema_strict(const json_t *schema)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_array(schema)) {
        json_array_foreach(schema, i, member)
        {
            if (!ak_schema_strict(member)) {
                return false;
            }
        }
        return true;
    }
    const json_t *properties = json_object_get(schema, "properties");
    if (json_is_object(properties) &&
        (!json_is_false(json_object_get(schema, "additionalProperties")) ||
         !all_required(properties, json_object_get(schema, "required")))) {
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)schema, key, member)
    {
        if (!listed(key, values) && !ak_schema_strict(member)) {
            return false;
        }
    }
    return true;
}
