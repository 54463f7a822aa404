/* space_values.c: reads the values of a parameter ("Values" is a list or an expression; all values
   are of one type and differ), finds its default, and orders its values. */
#include "space/space_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ----------------------------------------------------------------------------------- */

/* The types that "Type" may name. */
typedef enum declared_type {
    TYPE_ANY,
    TYPE_INT,
    TYPE_UINT,
    TYPE_REAL,
    TYPE_BOOL,
    TYPE_STRING
} declared_type;

static const struct {
    const char *name;
    declared_type type;
} type_names[] = {{"int", TYPE_INT},     {"uint", TYPE_UINT}, {"float", TYPE_REAL},
                  {"double", TYPE_REAL}, {"bool", TYPE_BOOL}, {"string", TYPE_STRING}};

/* Converts a value to the declared type: an int to a real, a whole real to an int, 0 and 1 to
   booleans. Returns false if it then has another type, or is negative for uint. */
static bool convert(ak_value *value, declared_type type)
{
    int64_t whole;
    switch (type) {
    case TYPE_ANY:
        return value->type != AK_VALUE_LIST;
    case TYPE_INT:
    case TYPE_UINT:
        if (value->type == AK_VALUE_REAL && value->as.real == trunc(value->as.real) &&
            ak_real_to_int(&whole, value->as.real)) {
            *value = (ak_value){.type = AK_VALUE_INT, .as.integer = whole};
        }
        return value->type == AK_VALUE_INT && (type == TYPE_INT || value->as.integer >= 0);
    case TYPE_REAL:
        if (value->type == AK_VALUE_INT) {
            *value = (ak_value){.type = AK_VALUE_REAL, .as.real = (double)value->as.integer};
        }
        return value->type == AK_VALUE_REAL && isfinite(value->as.real);
    case TYPE_BOOL:
        if (value->type == AK_VALUE_INT && (value->as.integer == 0 || value->as.integer == 1)) {
            *value = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = value->as.integer == 1};
        }
        return value->type == AK_VALUE_BOOL;
    case TYPE_STRING:
        return value->type == AK_VALUE_STRING;
    }
    return false;
}

/* Returns the type of values that have no declared type: the type of the first value, but real if
   ints and reals are mixed. */
static declared_type guess_type(const ak_value *values, size_t count)
{
    bool real = false, whole = true;
    for (size_t i = 0; i < count; i++) {
        real = real || values[i].type == AK_VALUE_REAL;
        whole = whole && (values[i].type == AK_VALUE_INT || values[i].type == AK_VALUE_REAL);
    }
    if (real && whole) {
        return TYPE_REAL;
    }
    return values[0].type == AK_VALUE_INT      ? TYPE_INT
           : values[0].type == AK_VALUE_BOOL   ? TYPE_BOOL
           : values[0].type == AK_VALUE_STRING ? TYPE_STRING
                                               : TYPE_REAL;
}

static ak_status read_type(declared_type *out, const json_t *json, ak_space_reader *r)
{
    const char *name;
    *out = TYPE_ANY;
    AK_DO(ak_json_string_or(&name, json, "Type", NULL, r->where, r->err));
    if (name == NULL) {
        return AK_OK;
    }
    const size_t i = AK_FIND(type_names, AK_COUNT(type_names), name, name);
    if (i < AK_COUNT(type_names)) {
        *out = type_names[i].type;
        return AK_OK;
    }
    return ak_fail(r->err, AK_INVALID,
                   "%s: Type \"%.40s\" is unknown; it must be int, uint, float, bool or string",
                   r->where, name);
}

/* ---- values ---------------------------------------------------------------------------------- */

static ak_status from_json(ak_value *out, const json_t *json, ak_space_reader *r)
{
    switch (json_typeof(json)) {
    case JSON_INTEGER:
        *out = (ak_value){.type = AK_VALUE_INT, .as.integer = json_integer_value(json)};
        return AK_OK;
    case JSON_REAL:
        *out = (ak_value){.type = AK_VALUE_REAL, .as.real = json_real_value(json)};
        return AK_OK;
    case JSON_TRUE:
    case JSON_FALSE:
        *out = (ak_value){.type = AK_VALUE_BOOL, .as.boolean = json_is_true(json)};
        return AK_OK;
    case JSON_STRING:
        *out = (ak_value){.type = AK_VALUE_STRING, .as.string = json_string_value(json)};
        return AK_OK;
    default:
        return ak_fail(r->err, AK_INVALID, "%s: a value must be a number, text, true or false",
                       r->where);
    }
}

static ak_status evaluate(ak_value *out, const char *text, ak_space_reader *r)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    ak_value value;
    AK_DO(ak_expr_parse(&expr, text, r->where, r->err));
    AK_DO(ak_expr_eval(&value, expr, r->spec->constants, r->scratch, r->err));
    /* Texts in the result may be literals of the expression, so they are copied. */
    return ak_stored(ak_value_copy(out, &value, r->space->arena), r->err);
}

static ak_status check_text(const char *text, ak_space_reader *r)
{
    size_t length = strlen(text);
    AK_FAIL_IF(length > AK_VALUE_TEXT_MAX, r->err, AK_LIMIT,
               "%s: the value \"%.40s...\" is longer than %d bytes", r->where, text,
               AK_VALUE_TEXT_MAX);
    for (size_t i = 0; i < length; i++) {
        AK_FAIL_IF(text[i] == ',' || (unsigned char)text[i] < 0x20 || text[i] == 0x7f, r->err,
                   AK_INVALID,
                   "%s: the value \"%.60s\" contains a comma or a control character, which the "
                   "text of a configuration cannot hold",
                   r->where, text);
    }
    AK_FAIL_IF(length > 0 && (text[0] == ' ' || text[length - 1] == ' '), r->err, AK_INVALID,
               "%s: the value \"%.60s\" begins or ends with a blank", r->where, text);
    return AK_OK;
}

/* Converts and formats the values. Afterwards all are of one type and different. */
static ak_status finish_values(ak_value *values, const char ***text, size_t count,
                               declared_type *type, ak_space_reader *r)
{
    if (*type == TYPE_ANY && count > 0) {
        *type = guess_type(values, count);
    }
    *text = ak_arena_alloc(r->space->arena, (count + 1) * sizeof **text);
    AK_AT_END(ak_map_free_at) ak_map *seen = ak_map_new();
    AK_DO(ak_stored(*text != NULL && seen != NULL, r->err));
    for (size_t i = 0; i < count; i++) {
        char line[AK_VALUE_TEXT_MAX + 2];
        if (!convert(&values[i], *type)) {
            (void)ak_value_format(line, 60, &values[i]);
            return ak_fail(r->err, AK_INVALID, "%s: the value %s is not of the parameter's type",
                           r->where, line);
        }
        (void)ak_value_format(line, sizeof line, &values[i]);
        AK_DO(check_text(line, r));
        AK_FAIL_IF(ak_map_get(NULL, seen, line), r->err, AK_INVALID,
                   "%s: the value \"%.60s\" is there twice", r->where, line);
        AK_DO(ak_map_put(seen, line, i, r->err));
        AK_DO(ak_arena_text(&(*text)[i], r->space->arena, line, r->err));
        if (values[i].type == AK_VALUE_STRING) {
            values[i].as.string = (*text)[i]; /* owned by the space, not by the file */
        }
    }
    return AK_OK;
}

ak_status ak_space_read_values(ak_parameter *parameter, ak_parameter_body *body, const json_t *json,
                               ak_space_reader *r)
{
    const json_t *list = json_object_get(json, "Values");
    ak_value value = {.type = AK_VALUE_LIST};
    size_t count = 0;
    declared_type type;
    AK_DO(read_type(&type, json, r));
    if (json_is_array(list)) {
        count = json_array_size(list);
    } else if (json_is_string(list)) {
        AK_DO(evaluate(&value, json_string_value(list), r));
        AK_FAIL_IF(value.type != AK_VALUE_LIST, r->err, AK_INVALID, "%s: Values must be a list",
                   r->where);
        count = value.as.list.count;
    } else {
        return ak_fail(r->err, AK_INVALID,
                       list == NULL ? "%s: \"Values\" is missing"
                                    : "%s: Values must be a list or an expression that gives one",
                       r->where);
    }
    AK_FAIL_IF(count == 0, r->err, AK_INVALID, "%s has no values", r->where);
    AK_FAIL_IF(count > AK_VALUES_MAX, r->err, AK_LIMIT,
               "%s has %zu values; at most %d are possible", r->where, count, AK_VALUES_MAX);
    ak_value *values;
    AK_DO(AK_ARENA_NEW(values, r->space->arena, count, r->err));
    for (size_t i = 0; i < count; i++) {
        if (json_is_array(list)) {
            AK_DO(from_json(&values[i], json_array_get(list, i), r));
        } else {
            values[i] = value.as.list.items[i];
        }
    }
    AK_DO(finish_values(values, &body->text, count, &type, r));
    parameter->values = values;
    parameter->value_count = count;
    return AK_OK;
}

/* ---- the default ----------------------------------------------------------------------------- */

static double as_real(const ak_value *value)
{
    return value->type == AK_VALUE_REAL  ? value->as.real
           : value->type == AK_VALUE_INT ? (double)value->as.integer
                                         : (double)value->as.boolean;
}

static bool find_value(size_t *index, const ak_parameter *parameter, const ak_value *value)
{
    for (size_t i = 0; i < parameter->value_count; i++) {
        if (ak_value_equal(&parameter->values[i], value)) {
            *index = i;
            return true;
        }
    }
    return false;
}

/* Sets the default. A number that is not one of the values means the nearest one, because
   published files have such defaults. */
static ak_status place_default(ak_parameter *parameter, ak_value value, ak_space_reader *r)
{
    if (value.type == AK_VALUE_LIST && value.as.list.count == 1) {
        value = value.as.list.items[0];
    }
    if (find_value(&parameter->default_index, parameter, &value)) {
        return AK_OK;
    }
    bool text = value.type == AK_VALUE_STRING || value.type == AK_VALUE_LIST;
    if (text || parameter->values[0].type == AK_VALUE_STRING) {
        char line[64];
        (void)ak_value_format(line, sizeof line, &value);
        return ak_fail(r->err, AK_INVALID, "%s: the default \"%s\" is not one of its values",
                       r->where, line);
    }
    double wanted = as_real(&value), nearest = INFINITY;
    for (size_t i = 0; i < parameter->value_count; i++) {
        double distance = fabs(as_real(&parameter->values[i]) - wanted);
        if (distance < nearest) {
            nearest = distance;
            parameter->default_index = i;
        }
    }
    return AK_OK;
}

ak_status ak_space_read_default(ak_parameter *parameter, const json_t *json, ak_space_reader *r)
{
    const json_t *given = json_object_get(json, "Default");
    ak_value value;
    ak_status status;
    if (given == NULL || json_is_null(given)) {
        return AK_OK; /* default_index is 0, the first value */
    }
    if (json_is_array(given) && json_array_size(given) == 1) {
        given = json_array_get(given, 0);
    }
    status = from_json(&value, given, r);
    if (status == AK_OK && value.type == AK_VALUE_STRING &&
        !find_value(&parameter->default_index, parameter, &value)) {
        status = evaluate(&value, value.as.string, r);
        AK_FAIL_IF(status == AK_INVALID && parameter->values[0].type == AK_VALUE_STRING, r->err,
                   AK_INVALID,
                   "%s: the default \"%.60s\" is neither one of its values nor an expression that "
                   "gives one",
                   r->where, json_string_value(given));
    }
    return status == AK_OK ? place_default(parameter, value, r) : status;
}

/* ---- the order ------------------------------------------------------------------------------- */

typedef struct ranked {
    double number;
    int64_t integer;
    uint16_t index;
} ranked;

static int compare_ranked(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->number != y->number) {
        return x->number < y->number ? -1 : 1;
    }
    /* integers beyond 2^53 may be equal as reals */
    return (x->integer > y->integer) - (x->integer < y->integer);
}

ak_status ak_space_rank_values(const ak_parameter *parameter, ak_parameter_body *body,
                               ak_space_reader *r)
{
    size_t count = parameter->value_count;
    if (parameter->values[0].type == AK_VALUE_STRING) {
        return AK_OK;
    }
    AK_FREED ranked *order = ak_alloc(count, sizeof *order);
    body->rank = ak_arena_alloc(r->space->arena, count * sizeof *body->rank);
    body->by_rank = ak_arena_alloc(r->space->arena, count * sizeof *body->by_rank);
    AK_DO(ak_stored(order != NULL && body->rank != NULL && body->by_rank != NULL, r->err));
    for (size_t i = 0; i < count; i++) {
        const ak_value *value = &parameter->values[i];
        order[i] = (ranked){as_real(value), value->type == AK_VALUE_INT ? value->as.integer : 0,
                            (uint16_t)i};
    }
    qsort(order, count, sizeof *order, compare_ranked);
    for (size_t i = 0; i < count; i++) {
        body->by_rank[i] = order[i].index;
        body->rank[order[i].index] = (uint16_t)i;
    }
    return AK_OK;
}
