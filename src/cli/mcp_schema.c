/* mcp_schema.c: checks a value against a JSON Schema. Only the keywords that the schemas of tools
   have (mcp_tools.json) are supported. */

#include "cli/mcp.h"
#include "cli/options.h"

#define NAMES_MAX 64
#define WHERE_MAX 200

static bool is_type(const json_t *value, const char *type)
{
    return strcmp(type, "object") == 0    ? json_is_object(value)
           : strcmp(type, "array") == 0   ? json_is_array(value)
           : strcmp(type, "string") == 0  ? json_is_string(value)
           : strcmp(type, "integer") == 0 ? json_is_integer(value)
           : strcmp(type, "number") == 0  ? json_is_number(value)
           : strcmp(type, "boolean") == 0 ? json_is_boolean(value)
                                          : json_is_null(value);
}

/* Checks "type", which is the name of a type or a list of names. */
static ak_status check_type(const json_t *schema, const json_t *value, const char *where,
                            ak_error *err)
{
    const json_t *type = json_object_get(schema, "type");
    char names[WHERE_MAX] = "";
    if (type == NULL || (json_is_string(type) && is_type(value, json_string_value(type)))) {
        return AK_OK;
    }
    AK_FAIL_IF(json_is_string(type), err, AK_INVALID, "%s must be of type %s", where,
               json_string_value(type));
    AK_EACH(each, type) {
        size_t used = strlen(names);
        if (is_type(value, json_string_value(each))) {
            return AK_OK;
        }
        (void)snprintf(names + used, sizeof names - used, "%s%s", each_at == 0 ? "" : " or ",
                       json_string_value(each));
    }
    return ak_fail(err, AK_INVALID, "%s must be of type %s", where, names);
}

static ak_status check_word(const json_t *words, const json_t *value, const char *where,
                            ak_error *err)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    char hint[WHERE_MAX], all[WHERE_MAX] = "it can be ";
    AK_EACH(each, words) {
        size_t used = strlen(all);
        if (json_equal(each, value)) {
            return AK_OK;
        }
        if (each_at < NAMES_MAX) {
            names[each_at] = json_string_value(each);
        }
        (void)snprintf(all + used, sizeof all - used, "%s%s", each_at == 0 ? "" : ", ",
                       json_string_value(each));
    }
    ak_hint(hint, sizeof hint, json_string_value(value), names, all);
    return ak_fail(err, AK_INVALID, "%s: there is no '%.60s'; %s", where, json_string_value(value),
                   hint);
}

static ak_status check_bounds(const json_t *schema, const json_t *value, const char *where,
                              ak_error *err)
{
    const json_t *least = json_object_get(schema, "minimum");
    const json_t *most = json_object_get(schema, "maximum");
    const json_t *length = json_object_get(schema, "maxLength");
    const json_t *words = json_object_get(schema, "enum");
    const json_t *few = json_object_get(schema, "minItems");
    const json_t *many = json_object_get(schema, "maxItems");
    AK_FAIL_IF(json_is_number(value) &&
                   ((least != NULL && json_number_value(value) < json_number_value(least)) ||
                    (most != NULL && json_number_value(value) > json_number_value(most))),
               err, AK_INVALID, "%s must be between %g and %g", where, json_number_value(least),
               json_number_value(most));
    AK_FAIL_IF(json_is_string(value) && length != NULL &&
                   json_string_length(value) > (size_t)json_integer_value(length),
               err, AK_INVALID, "%s is longer than %lld bytes", where,
               (long long)json_integer_value(length));
    AK_FAIL_IF(json_is_array(value) && few != NULL &&
                   (json_array_size(value) < (size_t)json_integer_value(few) ||
                    json_array_size(value) > (size_t)json_integer_value(many)),
               err, AK_INVALID, "%s must have %lld to %lld elements", where,
               (long long)json_integer_value(few), (long long)json_integer_value(many));
    return words == NULL ? AK_OK : check_word(words, value, where, err);
}

static ak_status check_members(const json_t *schema, const json_t *value, const char *where,
                               ak_error *err)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *required = json_object_get(schema, "required");
    const char *names[NAMES_MAX + 1] = {NULL};
    size_t count = 0;
    char inner[WHERE_MAX], hint[WHERE_MAX];
    AK_EACH_MEMBER(name, property, properties) {
        if (count < NAMES_MAX) {
            names[count++] = name;
        }
    }
    AK_EACH(each, required) {
        AK_FAIL_IF(json_object_get(value, json_string_value(each)) == NULL, err, AK_INVALID,
                   "%s: \"%s\" is missing", where, json_string_value(each));
    }
    AK_EACH_MEMBER(key, member, value) {
        const json_t *inside = json_object_get(properties, key);
        inside = inside == NULL && json_is_object(others) ? others : inside;
        if (inside == NULL) {
            ak_hint(hint, sizeof hint, key, names, "tools/list shows which there are");
            return ak_fail(err, AK_INVALID, "%s: there is no field \"%.60s\"; %s", where, key,
                           hint);
        }
        (void)snprintf(inner, sizeof inner, "%.100s: \"%.60s\"", where, key);
        AK_DO(ak_mcp_check(inside, member, inner, err));
    }
    return AK_OK;
}

ak_status ak_mcp_check(const json_t *schema, const json_t *value, const char *where, ak_error *err)
{
    char inner[WHERE_MAX];
    const json_t *items = json_object_get(schema, "items");
    AK_DO(check_type(schema, value, where, err));
    AK_DO(check_bounds(schema, value, where, err));
    AK_DO(json_is_object(value) ? check_members(schema, value, where, err) : AK_OK);
    AK_EACH(each, value) {
        (void)snprintf(inner, sizeof inner, "%.150s[%zu]", where, each_at);
        AK_DO(items == NULL ? AK_OK : ak_mcp_check(items, each, inner, err));
    }
    return AK_OK;
}
