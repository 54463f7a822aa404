/* space_read.c: reads the ConfigurationSpace object of a space file (docs/formats.md): checks
   it, makes parameters (with space_values.c, space_use.c, space_offer.c) and parses conditions. */
#include "space/space_read.h"

#include <string.h>

static const char *const parameter_keys[] = {"Name", "Type",   "Values",  "Default",  "Description",
                                             "Use",  "Option", "Options", "Numerics", NULL};
static const char *const condition_keys[] = {"Parameters", "Expression", "Description", "EverySize",
                                             NULL};
static const char *const space_keys[] = {"TuningParameters", "Conditions", "Starts", "StartsNear",
                                         NULL};

static ak_status read_name(ak_parameter *parameter, const json_t *json, size_t number,
                           ak_space_reader *r)
{
    const char *name;
    (void)snprintf(r->where, sizeof r->where, "%.400s: parameter %zu", r->spec->where, number);
    AK_FAIL_IF(!json_is_object(json), r->err, AK_INVALID, "%s must be an object", r->where);
    AK_DO(ak_json_string(&name, json, "Name", r->where, r->err));
    AK_FAIL_IF(!ak_expr_is_name(name) || strlen(name) > AK_NAME_MAX, r->err, AK_INVALID,
               "%s: the name \"%.60s\" must be letters, digits and _, at most %d, not beginning "
               "with a digit and not a keyword of the expression language",
               r->where, name, AK_NAME_MAX);
    (void)snprintf(r->where, sizeof r->where, "%.400s: parameter \"%s\"", r->spec->where, name);
    ak_value constant;
    AK_FAIL_IF(ak_map_get(NULL, r->space->names, name), r->err, AK_INVALID, "%s is declared twice",
               r->where);
    AK_FAIL_IF(ak_scope_get(&constant, r->spec->constants, name), r->err, AK_INVALID,
               "%s has the name of a size, a problem option or a device fact; rename it", r->where);
    AK_DO(ak_arena_text(&parameter->name, r->space->arena, name, r->err));
    return ak_map_put(r->space->names, name, number - 1, r->err);
}

static ak_status read_parameter(const json_t *json, ak_space_reader *r)
{
    ak_space *space = r->space;
    ak_parameter *parameter = &space->parameters[space->count];
    ak_parameter_body *body = &space->bodies[space->count];
    const char *description;
    AK_DO(read_name(parameter, json, space->count + 1, r));
    AK_DO(ak_json_no_typo(json, parameter_keys, r->where, r->err));
    AK_DO(ak_json_string_or(&description, json, "Description", "", r->where, r->err));
    AK_DO(ak_arena_text(&parameter->description, space->arena, description, r->err));
    AK_DO(ak_space_read_values(parameter, body, json, r));
    AK_DO(ak_space_read_default(parameter, json, r));
    AK_DO(ak_space_read_use(parameter, body, json, r));
    AK_DO(ak_space_check_fix(parameter, body, r));
    AK_DO(ak_space_filter_values(parameter, body, r));
    AK_DO(ak_space_rank_values(parameter, body, r));
    ak_arena_reset(r->scratch);
    space->cartesian *= (double)parameter->value_count;
    space->count++;
    return AK_OK;
}

static ak_status read_condition(const json_t *json, ak_space_reader *r)
{
    ak_space *space = r->space;
    size_t index = space->condition_count;
    const char *text = NULL, *reason = "";
    (void)snprintf(r->where, sizeof r->where, "%.400s: condition %zu", r->spec->where, index + 1);
    if (json_is_string(json)) {
        text = json_string_value(json);
    } else if (json_is_object(json)) {
        json_t *names;
        AK_DO(ak_json_no_typo(json, condition_keys, r->where, r->err));
        AK_DO(ak_json_string(&text, json, "Expression", r->where, r->err));
        AK_DO(ak_json_string_or(&reason, json, "Description", "", r->where, r->err));
        /* The list is for other tools: the expression itself says which names it reads. */
        AK_DO(ak_json_array_or_null(&names, json, "Parameters", r->where, r->err));
        bool every; /* only its type is checked here; ak_task_allows uses it */
        AK_DO(ak_json_bool_or(&every, json, "EverySize", false, r->where, r->err));
    } else {
        return ak_fail(r->err, AK_INVALID, "%s must be an object or an expression", r->where);
    }
    AK_DO(ak_arena_text(&space->texts[index], space->arena, text, r->err));
    AK_DO(ak_arena_text(&space->reasons[index], space->arena, reason, r->err));
    AK_DO(ak_expr_parse(&space->conditions[index], text, r->where, r->err));
    space->condition_count++;
    return AK_OK;
}

static ak_status read_all(ak_space_reader *r)
{
    const char *where = r->spec->where;
    json_t *parameters = NULL, *conditions = NULL;
    ak_space *space = r->space;
    AK_FAIL_IF(!json_is_object(r->spec->definition), r->err, AK_INVALID,
               "%s: \"ConfigurationSpace\" must be an object", where);
    AK_DO(ak_json_no_typo(r->spec->definition, space_keys, where, r->err));
    AK_DO(
        ak_json_array_or_null(&parameters, r->spec->definition, "TuningParameters", where, r->err));
    AK_DO(ak_json_array_or_null(&conditions, r->spec->definition, "Conditions", where, r->err));
    AK_FAIL_IF(parameters == NULL, r->err, AK_INVALID, "%s: \"TuningParameters\" is missing",
               where);
    size_t n = json_array_size(parameters), m = json_array_size(conditions);
    AK_FAIL_IF(n > AK_PARAMETERS_MAX, r->err, AK_LIMIT,
               "%s has %zu parameters; at most %d are possible", where, n, AK_PARAMETERS_MAX);
    AK_FAIL_IF(m > AK_CONDITIONS_MAX, r->err, AK_LIMIT,
               "%s has %zu conditions; at most %d are possible", where, m, AK_CONDITIONS_MAX);
    AK_DO(AK_ARENA_NEW(space->conditions, space->arena, m + 1, r->err));
    AK_DO(AK_ARENA_NEW(space->texts, space->arena, m + 1, r->err));
    AK_DO(AK_ARENA_NEW(space->reasons, space->arena, m + 1, r->err));
    for (size_t i = 0; i < n; i++) {
        AK_DO(read_parameter(json_array_get(parameters, i), r));
    }
    AK_DO(ak_space_check_fix_names(space, r));
    for (size_t i = 0; i < m; i++) {
        AK_DO(read_condition(json_array_get(conditions, i), r));
    }
    return AK_OK;
}

ak_status ak_space_read(ak_space *space, const ak_space_spec *spec, ak_error *err)
{
    AK_AT_END(ak_arena_free_at) ak_arena *scratch = ak_arena_new();
    AK_DO(ak_made(scratch, err));
    return read_all(
        &(ak_space_reader){.space = space, .spec = spec, .scratch = scratch, .err = err});
}
