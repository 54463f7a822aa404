/* prompt_schema.c: writes the JSON schema of the answer. It allows only what can be right, as far
   as the number of values permits. */

#include "base/value_json.h"
#include "llm/prompt.h"

/* Most enum values of all parameters in a schema; those of the parents come on top. */
#define SCHEMA_VALUES_MAX 500

static const char *type_of(const ak_parameter *parameter)
{
    const char *type = "integer";
    for (size_t v = 0; v < parameter->value_count; v++) {
        switch (parameter->values[v].type) {
        case AK_VALUE_BOOL:
            return "boolean";
        case AK_VALUE_STRING:
            return "string";
        case AK_VALUE_REAL:
            type = "number";
            break;
        default:
            break;
        }
    }
    return type;
}

/* Returns {"type": "integer", "enum": [4, 8, 16]} with the values that occur. The enum is left out
   if it has more than AK_PROMPT_VALUES values or more than *room, the number of enum values that
   the parameters may still have. Otherwise *room is reduced. */
static json_t *parameter_schema(const ak_space *space, size_t p, size_t *room)
{
    const ak_parameter *parameter = ak_space_parameter(space, p);
    size_t count = ak_space_occurring(space, p);
    json_t *schema = json_pack("{s:s}", "type", type_of(parameter));
    if (schema == NULL || count > AK_PROMPT_VALUES || count > *room) {
        return schema;
    }
    *room -= count;
    json_t *values = json_array();
    for (size_t v = 0; v < parameter->value_count; v++) {
        if (ak_space_occurs(space, p, v)) {
            ak_json_add(&values, ak_value_json(&parameter->values[v]));
        }
    }
    return ak_json_whole(schema, ak_json_set(schema, "enum", values));
}

static json_t *changes_schema(const ak_space *space)
{
    size_t room = SCHEMA_VALUES_MAX;
    json_t *properties = json_object();
    bool good = properties != NULL;
    for (size_t p = 0; good && p < ak_space_parameter_count(space); p++) {
        good = ak_space_occurring(space, p) < 2 ||
               ak_json_set(properties, ak_space_parameter(space, p)->name,
                           parameter_schema(space, p, &room));
    }
    return json_pack("{s:s,s:o,s:b}", "type", "object", "properties",
                     ak_json_whole(properties, good), "additionalProperties", 0);
}

/* Returns {"type": ["integer", "null"], "enum": [3, 12, null]}, or {"type": "null"} if no trial can
   be a parent. */
static json_t *parent_schema(const ak_brief *brief, const ak_history *history)
{
    size_t parents[AK_PROMPT_PARENTS], count = 0;
    if (ak_prompt_parents(parents, &count, brief, history) != AK_OK) {
        return NULL;
    }
    json_t *values = json_array();
    for (size_t i = 0; i < count; i++) {
        ak_json_add(&values, json_integer((json_int_t)parents[i]));
    }
    ak_json_add(&values, json_null());
    json_t *schema = count == 0
                         ? json_pack("{s:s}", "type", "null")
                         : json_pack("{s:[s,s],s:O}", "type", "integer", "null", "enum", values);
    json_decref(values);
    const bool good = ak_json_set_text(schema, "description",
                                       "number of the configuration that is changed; null: the "
                                       "default");
    return ak_json_whole(schema, good);
}

ak_status ak_prompt_schema(json_t **out, const ak_brief *brief, const ak_history *history,
                           ak_error *err)
{
    char wanted[80];
    (void)snprintf(wanted, sizeof wanted, "at most %zu different configurations to try",
                   history->batch);
    json_t *changes = changes_schema(brief->space), *parent = parent_schema(brief, history);
    /* json_pack fails if `changes` or `parent` is NULL */
    json_t *schema = json_pack(
        "{s:s,s:{s:{s:s,s:s,s:i,s:I,s:{s:s,s:{s:{s:s,s:s,s:i},s:{s:s,s:s},s:O,s:O},"
        "s:[s,s,s,s],s:b}}},s:[s],s:b}",
        "type", "object", "properties", "proposals", "type", "array", "description", wanted,
        "minItems", history->count == 0 ? 1 : 0, "maxItems", (json_int_t)history->batch, "items",
        "type", "object", "properties", "hypothesis", "type", "string", "description",
        "the reason, in one line of at most 200 characters", "maxLength", AK_PROMPT_TEXT_MAX,
        "expected_gain_pct", "type", "number", "description",
        "expected speed over the parent, in percent more", "parent", parent, "changes", changes,
        "required", "hypothesis", "expected_gain_pct", "parent", "changes", "additionalProperties",
        0, "required", "proposals", "additionalProperties", 0);
    json_decref(changes);
    json_decref(parent);
    AK_DO(ak_made(schema, err));
    *out = schema;
    return AK_OK;
}
