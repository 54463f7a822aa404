/*
 * schema_rules.c: the subsets of JSON schema that OpenAI and Anthropic enforce.
 *
 * Sources: developers.openai.com "Structured outputs", supported schemas; platform.claude.com
 * "Structured outputs", JSON schema limitations.
 */
#include "llm/dialect.h"

static const char *const not_openai[] = {"minLength", "maxLength", "uniqueItems", "default", NULL};
const char *const ak_schema_not_anthropic[] = {
    "minLength",        "maxLength",        "minimum",    "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems",
    "maxItems",         "uniqueItems",      NULL};

/* Keywords whose values map names to schemas. */
static const char *const maps[] = {"properties", "$defs", "definitions", NULL};
/* Keywords whose values are plain values, not schemas. */
static const char *const values[] = {"enum", "const", "required", NULL};

static json_t *copy(const json_t *schema, const char *const *keywords, bool map)
{
    if (json_is_array(schema)) {
        json_t *list = json_array();
        AK_EACH(member, schema) {
            ak_json_add(&list, copy(member, keywords, false));
        }
        return list;
    }
    if (!json_is_object(schema)) {
        return json_deep_copy(schema);
    }
    json_t *object = json_object();
    AK_EACH_MEMBER(key, member, schema) {
        if (!map && ak_text_is_one_of(key, keywords)) {
            continue;
        }
        json_t *value = !map && ak_text_is_one_of(key, values)
                            ? json_deep_copy(member)
                            : copy(member, keywords, !map && ak_text_is_one_of(key, maps));
        if (!ak_json_set(object, key, value)) {
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

static bool is_listed(const json_t *list, const char *text)
{
    AK_EACH(entry, list) {
        if (json_is_string(entry) && strcmp(json_string_value(entry), text) == 0) {
            return true;
        }
    }
    return false;
}

static bool all_required(const json_t *properties, const json_t *required)
{
    AK_EACH_MEMBER(key, value, properties) {
        if (!is_listed(required, key)) {
            return false;
        }
    }
    return true;
}

/* Adds null to the type of a property, if that is a single one, and to its values. */
static bool allow_null(json_t *property)
{
    json_t *type = json_object_get(property, "type"), *legal = json_object_get(property, "enum");
    bool good = true;
    if (json_is_string(type)) {
        good = ak_json_set(property, "type", json_pack("[O,s]", type, "null"));
    }
    return good && (legal == NULL || ak_json_append(legal, json_null()));
}

/* Makes every property of a schema required, as OpenAI's strict mode demands. A property that was
   optional may then be null instead. Returns false without memory. */
static bool strict_form(json_t *schema)
{
    json_t *properties = json_object_get(schema, "properties");
    json_t *required = json_object_get(schema, "required");
    bool good = true;
    AK_EACH(member, schema) {
        good = good && strict_form(member);
    }
    if (json_is_object(properties) && required == NULL) {
        required = json_array();
        good = ak_json_set(schema, "required", required);
    }
    AK_EACH_MEMBER(key, member, properties) {
        good = good && (is_listed(required, key) ||
                        (allow_null(member) && ak_json_append(required, json_string(key))));
    }
    AK_EACH_MEMBER(key, member, schema) {
        good = good && (ak_text_is_one_of(key, values) || ak_text_is_one_of(key, maps) ||
                        strict_form(member));
        AK_EACH_MEMBER(name, named, ak_text_is_one_of(key, maps) ? member : NULL) {
            good = good && strict_form(named);
        }
    }
    return good;
}

json_t *ak_schema_openai(const ak_request *request)
{
    const json_t *schema = request->chat->schema;
    if (!ak_can(request, AK_ABILITY_STRICT)) {
        return json_deep_copy(schema);
    }
    json_t *result = ak_schema_without(schema, not_openai);
    if (result != NULL && !strict_form(result)) {
        json_decref(result);
        return NULL;
    }
    return result;
}

bool ak_schema_strict(const json_t *schema)
{
    if (json_is_array(schema)) {
        AK_EACH(member, schema) {
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
    AK_EACH_MEMBER(key, member, schema) {
        if (!ak_text_is_one_of(key, values) && !ak_text_is_one_of(key, maps) &&
            !ak_schema_strict(member)) {
            return false;
        }
        AK_EACH_MEMBER(name, named, ak_text_is_one_of(key, maps) ? member : NULL) {
            if (!ak_schema_strict(named)) {
                return false;
            }
        }
    }
    return true;
}
