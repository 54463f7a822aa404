/* space_read.c: the ConfigurationSpace object of a space file (docs/formats.md), checked and turned
   into parameters and parsed conditions. */
#include "problem/space_body.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What "Type" may say. */
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

static const char *const parameter_keys[] = {"Name", "Type",   "Values",  "Default",  "Description",
                                             "Use",  "Option", "Options", "Numerics", NULL};
static const char *const condition_keys[] = {"Parameters", "Expression", "Description", "EverySize",
                                             NULL};
static const char *const space_keys[] = {"TuningParameters", "Conditions", "Starts", NULL};

typedef struct reader {
    ak_space *space;
    const ak_space_spec *spec;
    ak_arena *scratch;
    char where[256]; /* the parameter or condition at hand */
    ak_error *err;
} reader;

/* Files of other tools have keys of their own, which are left alone; but a key that looks like one
   of ours is a slip. */
static ak_status check_keys(const json_t *object, const char *const *keys, const char *where,
                            ak_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const char *near = ak_text_nearest(key, keys);
        if (near != NULL && strcmp(near, key) != 0) {
            return ak_fail(err, AK_INVALID, "%s: unknown key \"%.60s\"; did you mean \"%s\"?",
                           where, key, near);
        }
    }
    return AK_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

static ak_status from_json(ak_value *out, const json_t *json, reader *r)
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

static ak_status evaluate(ak_value *out, const char *text, reader *r)
{
    ak_expr *expr;
    ak_status status = ak_expr_parse(&expr, text, r->where, r->err);
    if (status == AK_OK) {
        status = ak_expr_eval(out, expr, r->spec->constants, r->scratch, r->err);
        /* texts in the result may be literals of the expression */
        if (status == AK_OK && out->type == AK_VALUE_STRING) {
            out->as.string =
                ak_arena_strndup(r->space->arena, out->as.string, strlen(out->as.string));
            status = out->as.string == NULL ? ak_fail_memory(r->err) : AK_OK;
        }
        if (status == AK_OK && out->type == AK_VALUE_LIST) {
            ak_value *items =
                ak_arena_alloc(r->space->arena, (out->as.list.count + 1) * sizeof *items);
            for (size_t i = 0; items != NULL && i < out->as.list.count; i++) {
                items[i] = out->as.list.items[i];
                if (items[i].type == AK_VALUE_STRING) {
                    items[i].as.string = ak_arena_strndup(r->space->arena, items[i].as.string,
                                                          strlen(items[i].as.string));
                    items = items[i].as.string == NULL ? NULL : items;
                }
            }
            out->as.list.items = items;
            status = items == NULL ? ak_fail_memory(r->err) : AK_OK;
        }
        ak_expr_free(expr);
    }
    return status;
}

/* The value as its parameter's type; false if it is not of that type. */
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

/* Without a declared type: that of the first value; ints among reals are reals. */
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

static ak_status read_type(declared_type *out, const json_t *json, reader *r)
{
    const char *name;
    *out = TYPE_ANY;
    ak_status status = ak_json_string_or(&name, json, "Type", NULL, r->where, r->err);
    if (status != AK_OK || name == NULL) {
        return status;
    }
    for (size_t i = 0; i < sizeof type_names / sizeof type_names[0]; i++) {
        if (strcmp(name, type_names[i].name) == 0) {
            *out = type_names[i].type;
            return AK_OK;
        }
    }
    return ak_fail(r->err, AK_INVALID,
                   "%s: Type \"%.40s\" is unknown; it must be int, uint, float, bool or string",
                   r->where, name);
}

static ak_status check_text(const char *text, reader *r)
{
    size_t length = strlen(text);
    if (length > AK_VALUE_TEXT_MAX) {
        return ak_fail(r->err, AK_LIMIT, "%s: the value \"%.40s...\" is longer than %d bytes",
                       r->where, text, AK_VALUE_TEXT_MAX);
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ',' || (unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return ak_fail(r->err, AK_INVALID,
                           "%s: the value \"%.60s\" contains a comma or control character, which a "
                           "configuration cannot be written with",
                           r->where, text);
        }
    }
    if (length > 0 && (text[0] == ' ' || text[length - 1] == ' ')) {
        return ak_fail(r->err, AK_INVALID, "%s: the value \"%.60s\" begins or ends with a blank",
                       r->where, text);
    }
    return AK_OK;
}

/* Converts, formats and compares: afterwards all values are of one type, and differ. */
static ak_status finish_values(ak_value *values, const char ***text, size_t count,
                               declared_type *type, reader *r)
{
    if (*type == TYPE_ANY && count > 0) {
        *type = guess_type(values, count);
    }
    *text = ak_arena_alloc(r->space->arena, (count + 1) * sizeof **text);
    ak_map *seen = ak_map_new();
    ak_status status = *text == NULL || seen == NULL ? ak_fail_memory(r->err) : AK_OK;
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        char line[AK_VALUE_TEXT_MAX + 2];
        if (!convert(&values[i], *type)) {
            (void)ak_value_format(line, 60, &values[i]);
            status = ak_fail(r->err, AK_INVALID, "%s: the value %s is not of the parameter's type",
                             r->where, line);
            break;
        }
        (void)ak_value_format(line, sizeof line, &values[i]);
        status = check_text(line, r);
        if (status == AK_OK && ak_map_get(NULL, seen, line)) {
            status = ak_fail(r->err, AK_INVALID, "%s: the value \"%.60s\" is there twice", r->where,
                             line);
        }
        if (status == AK_OK) {
            status = ak_map_put(seen, line, i, r->err);
        }
        (*text)[i] = ak_arena_strndup(r->space->arena, line, strlen(line));
        if (status == AK_OK && (*text)[i] == NULL) {
            status = ak_fail_memory(r->err);
        }
        if (status == AK_OK && values[i].type == AK_VALUE_STRING) {
            values[i].as.string = (*text)[i]; /* ours, not the file's */
        }
    }
    ak_map_free(seen);
    return status;
}

static ak_status read_values(ak_parameter *parameter, ak_parameter_body *body, declared_type *type,
                             const json_t *json, reader *r)
{
    const json_t *list = json_object_get(json, "Values");
    ak_value value = {.type = AK_VALUE_LIST};
    size_t count = 0;
    ak_status status = read_type(type, json, r);
    if (status != AK_OK) {
        return status;
    }
    if (json_is_array(list)) {
        count = json_array_size(list);
    } else if (json_is_string(list)) {
        status = evaluate(&value, json_string_value(list), r);
        if (status == AK_OK && value.type != AK_VALUE_LIST) {
            status = ak_fail(r->err, AK_INVALID, "%s: Values must be a list", r->where);
        }
        count = status == AK_OK ? value.as.list.count : 0;
    } else {
        status = ak_fail(r->err, AK_INVALID,
                         list == NULL ? "%s: \"Values\" is missing"
                                      : "%s: Values must be a list or an "
                                        "expression that gives one",
                         r->where);
    }
    if (status == AK_OK && count == 0) {
        status = ak_fail(r->err, AK_INVALID, "%s has no values", r->where);
    }
    if (status == AK_OK && count > AK_VALUES_MAX) {
        status = ak_fail(r->err, AK_LIMIT, "%s has %zu values; at most %d are possible", r->where,
                         count, AK_VALUES_MAX);
    }
    if (status != AK_OK) {
        return status;
    }
    ak_value *values = ak_arena_alloc(r->space->arena, count * sizeof *values);
    if (values == NULL) {
        return ak_fail_memory(r->err);
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        if (json_is_array(list)) {
            status = from_json(&values[i], json_array_get(list, i), r);
        } else {
            values[i] = value.as.list.items[i];
        }
    }
    if (status == AK_OK) {
        status = finish_values(values, &body->text, count, type, r);
    }
    parameter->values = values;
    parameter->value_count = count;
    return status;
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

/* Files in the wild have numbers as default that are no value: the nearest value is meant. */
static ak_status place_default(ak_parameter *parameter, ak_value value, reader *r)
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

static ak_status read_default(ak_parameter *parameter, const json_t *json, reader *r)
{
    const json_t *given = json_object_get(json, "Default");
    ak_value value;
    ak_status status;
    if (given == NULL || json_is_null(given)) {
        return AK_OK; /* the first value */
    }
    if (json_is_array(given) && json_array_size(given) == 1) {
        given = json_array_get(given, 0);
    }
    status = from_json(&value, given, r);
    if (status == AK_OK && value.type == AK_VALUE_STRING &&
        !find_value(&parameter->default_index, parameter, &value)) {
        status = evaluate(&value, value.as.string, r);
        if (status != AK_OK && parameter->values[0].type == AK_VALUE_STRING &&
            status == AK_INVALID) {
            return ak_fail(r->err, AK_INVALID,
                           "%s: the default \"%.60s\" is neither one of its values nor an "
                           "expression that gives one",
                           r->where, json_string_value(given));
        }
    }
    return status == AK_OK ? place_default(parameter, value, r) : status;
}

/* ---- use: how it reaches the compiler -------------------------------------------------------- */

static ak_status add_option(const char *const **out, const char *pattern, const char *text,
                            reader *r)
{
    const char *hole = strstr(pattern, "{}");
    const char **list = ak_arena_alloc(r->space->arena, 2 * sizeof *list);
    if (list == NULL) {
        return ak_fail_memory(r->err);
    }
    *out = list;
    bool on = hole != NULL ? *text != 0 : strcmp(text, "True") == 0 || strcmp(text, "1") == 0;
    if (!on) {
        return AK_OK;
    }
    size_t before = hole == NULL ? strlen(pattern) : (size_t)(hole - pattern);
    const char *after = hole == NULL ? "" : hole + 2;
    const char *middle = hole == NULL ? "" : text;
    size_t m = strlen(middle), n = strlen(after);
    char *argument = ak_arena_alloc(r->space->arena, before + m + n + 1);
    if (argument == NULL) {
        return ak_fail_memory(r->err);
    }
    (void)snprintf(argument, before + m + n + 1, "%.*s%s%s", (int)before, pattern, middle, after);
    list[0] = argument;
    return AK_OK;
}

static ak_status add_listed(const char *const **out, const json_t *options, const char *text,
                            reader *r)
{
    const json_t *entry = json_object_get(options, text);
    if (entry == NULL && strcmp(text, "True") == 0) {
        entry = json_object_get(options, "true");
    }
    if (entry == NULL && strcmp(text, "False") == 0) {
        entry = json_object_get(options, "false");
    }
    if (!json_is_array(entry)) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: Options must have a list of arguments for the value \"%s\"", r->where,
                       text);
    }
    size_t count = json_array_size(entry);
    if (count > AK_OPTIONS_MAX) {
        return ak_fail(r->err, AK_LIMIT, "%s: Options of \"%s\" has more than %d arguments",
                       r->where, text, AK_OPTIONS_MAX);
    }
    const char **list = ak_arena_alloc(r->space->arena, (count + 1) * sizeof *list);
    if (list == NULL) {
        return ak_fail_memory(r->err);
    }
    for (size_t i = 0; i < count; i++) {
        const char *argument = json_string_value(json_array_get(entry, i));
        if (argument == NULL || *argument == 0) {
            return ak_fail(r->err, AK_INVALID,
                           "%s: Options of \"%s\" must be a list of texts that are not empty",
                           r->where, text);
        }
        list[i] = ak_arena_strndup(r->space->arena, argument, strlen(argument));
        if (list[i] == NULL) {
            return ak_fail_memory(r->err);
        }
    }
    *out = list;
    return AK_OK;
}

static ak_status check_option_names(const json_t *options, const ak_parameter_body *body,
                                    size_t count, reader *r)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)options, key, value)
    {
        bool known = strcmp(key, "true") == 0 || strcmp(key, "false") == 0;
        for (size_t i = 0; i < count && !known; i++) {
            known = strcmp(key, body->text[i]) == 0;
        }
        if (!known) {
            return ak_fail(r->err, AK_INVALID, "%s: Options has \"%.60s\", which is no value of it",
                           r->where, key);
        }
    }
    return AK_OK;
}

static ak_status read_option(const ak_parameter *parameter, ak_parameter_body *body,
                             const json_t *json, reader *r)
{
    const char *pattern;
    json_t *options;
    ak_status status = ak_json_string_or(&pattern, json, "Option", NULL, r->where, r->err);
    if (status == AK_OK) {
        status = ak_json_object_or_null(&options, json, "Options", r->where, r->err);
    }
    if (status != AK_OK) {
        return status;
    }
    if ((pattern == NULL) == (options == NULL) || (pattern != NULL && *pattern == 0)) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: Use \"option\" needs either Option, such as \"-O{}\", or Options",
                       r->where);
    }
    ak_value_type type = parameter->values[0].type;
    if (pattern != NULL && strstr(pattern, "{}") == NULL && type != AK_VALUE_BOOL &&
        type != AK_VALUE_INT) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: Option \"%.60s\" has no {} for the value, so the values must be true "
                       "and false or 0 and 1",
                       r->where, pattern);
    }
    if (options != NULL) {
        status = check_option_names(options, body, parameter->value_count, r);
    }
    body->added = ak_arena_alloc(r->space->arena, parameter->value_count * sizeof *body->added);
    if (status == AK_OK && body->added == NULL) {
        status = ak_fail_memory(r->err);
    }
    for (size_t i = 0; i < parameter->value_count && status == AK_OK; i++) {
        status = pattern != NULL ? add_option(&body->added[i], pattern, body->text[i], r)
                                 : add_listed(&body->added[i], options, body->text[i], r);
    }
    return status;
}

static ak_status read_use(ak_parameter *parameter, ak_parameter_body *body, const json_t *json,
                          reader *r)
{
    const char *use;
    ak_status status = ak_json_string_or(&use, json, "Use", "define", r->where, r->err);
    if (status == AK_OK) {
        status = ak_json_bool_or(&parameter->numerics, json, "Numerics", false, r->where, r->err);
    }
    if (status != AK_OK) {
        return status;
    }
    if (strcmp(use, "option") == 0) {
        parameter->use = AK_USE_OPTION;
        return read_option(parameter, body, json, r);
    }
    if (json_object_get(json, "Option") != NULL || json_object_get(json, "Options") != NULL) {
        return ak_fail(r->err, AK_INVALID, "%s: Option and Options need Use \"option\"", r->where);
    }
    if (strcmp(use, "define") == 0) {
        parameter->use = AK_USE_DEFINE;
        return AK_OK;
    }
    if (strcmp(use, "compiler") != 0) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: Use \"%.40s\" is unknown; it must be define, option or compiler",
                       r->where, use);
    }
    parameter->use = AK_USE_COMPILER;
    if (parameter->values[0].type != AK_VALUE_STRING) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: Use \"compiler\" needs names of compilers as values", r->where);
    }
    for (size_t i = 0; i < r->space->count; i++) {
        if (r->space->parameters[i].use == AK_USE_COMPILER) {
            return ak_fail(r->err, AK_INVALID, "%s: \"%s\" has Use \"compiler\" already", r->where,
                           r->space->parameters[i].name);
        }
    }
    return AK_OK;
}

/* ---- what is offered ------------------------------------------------------------------------- */

/* The values that `fix` leaves of a parameter: the text after its '=', up to the next ','. False:
   it says nothing of it. */
static bool find_fix(const char **text, size_t *length, const char *fix, const char *name)
{
    size_t bytes = strlen(name);
    while (fix != NULL && *fix != 0) {
        size_t item = strcspn(fix, ",");
        if (item > bytes && fix[bytes] == '=' && memcmp(fix, name, bytes) == 0) {
            *text = fix + bytes + 1;
            *length = item - bytes - 1;
            return true;
        }
        fix += fix[item] == ',' ? item + 1 : item;
    }
    return false;
}

static bool fix_names(const char *text, size_t length, const ak_value *value, const char *canonical)
{
    char one[AK_VALUE_TEXT_MAX + 1];
    for (size_t at = 0; at <= length;) {
        const char *colon = memchr(text + at, ':', length - at);
        size_t bytes = colon == NULL ? length - at : (size_t)(colon - text) - at;
        if (bytes < sizeof one) {
            memcpy(one, text + at, bytes);
            one[bytes] = 0;
            if (ak_space_value_is(value, canonical, one)) {
                return true;
            }
        }
        at += bytes + 1;
    }
    return false;
}

static ak_status refuse_fix(const ak_parameter *parameter, const ak_parameter_body *body,
                            const char *text, size_t bytes, reader *r)
{
    enum { SHOWN = 12 }; /* a parameter may have hundreds of values */
    ak_buf list = AK_BUF(200);
    for (size_t v = 0; v < parameter->value_count && v < SHOWN; v++) {
        ak_buf_print(&list, "%s%s", v == 0 ? "" : ", ", body->text[v]);
    }
    ak_buf_puts(&list, parameter->value_count > SHOWN ? ", ..." : "");
    ak_status status =
        ak_fail(r->err, AK_INVALID, "%s has no value \"%.*s\" to be fixed at; it has %s", r->where,
                (int)(bytes < 60 ? bytes : 60), text, list.data);
    ak_buf_free(&list);
    return status;
}

/* Every value that is asked for must be there, or a slip would go unnoticed. */
static ak_status check_fix(const ak_parameter *parameter, const ak_parameter_body *body, reader *r)
{
    const char *text;
    size_t length;
    if (!find_fix(&text, &length, r->spec->fix, parameter->name)) {
        return AK_OK;
    }
    for (size_t at = 0; at <= length;) {
        const char *colon = memchr(text + at, ':', length - at);
        size_t bytes = colon == NULL ? length - at : (size_t)(colon - text) - at, v = 0;
        while (v < parameter->value_count &&
               !fix_names(text + at, bytes, &parameter->values[v], body->text[v])) {
            v++;
        }
        if (v == parameter->value_count) {
            return refuse_fix(parameter, body, text + at, bytes, r);
        }
        at += bytes + 1;
    }
    return AK_OK;
}

/* After all parameters were read: names in `fix` that are none of theirs. */
static ak_status check_fix_names(const ak_space *space, reader *r)
{
    const char *fix = r->spec->fix;
    while (fix != NULL && *fix != 0) {
        char name[AK_NAME_MAX + 2];
        size_t item = strcspn(fix, ","), bytes = strcspn(fix, "=,");
        (void)snprintf(name, sizeof name, "%.*s", (int)(bytes < sizeof name ? bytes : AK_NAME_MAX),
                       fix);
        if (bytes >= item) {
            return ak_fail(r->err, AK_INVALID,
                           "%s: \"%.*s\" fixes nothing; it must be parameter=value or "
                           "parameter=value:value",
                           r->spec->where, (int)(item < 60 ? item : 60), fix);
        }
        if (!ak_map_get(NULL, space->names, name)) {
            const char *names[AK_PARAMETERS_MAX + 1] = {NULL};
            for (size_t p = 0; p < space->count; p++) {
                names[p] = space->parameters[p].name;
            }
            const char *near = ak_text_nearest(name, names);
            return ak_fail(r->err, AK_INVALID, "%s: there is no parameter \"%s\" to fix%s%s%s",
                           r->spec->where, name, near == NULL ? "" : "; did you mean \"",
                           near == NULL ? "" : near, near == NULL ? "" : "\"?");
        }
        const char *first = NULL;
        size_t length;
        if (find_fix(&first, &length, r->spec->fix, name) && first != fix + bytes + 1) {
            return ak_fail(r->err, AK_INVALID, "%s: \"%s\" is fixed twice; write %s=value:value",
                           r->spec->where, name, name);
        }
        fix += fix[item] == ',' ? item + 1 : item;
    }
    return AK_OK;
}

/* Keeps the values for which the task has a use. */
static ak_status filter_values(ak_parameter *parameter, ak_parameter_body *body, reader *r)
{
    const ak_space_spec *spec = r->spec;
    bool numerics = parameter->numerics && !spec->allow_numerics;
    bool compiler = parameter->use == AK_USE_COMPILER && spec->available != NULL;
    const char *fix = NULL;
    size_t fix_length = 0;
    bool fixed = find_fix(&fix, &fix_length, spec->fix, parameter->name);
    if (!numerics && !compiler && !fixed) {
        return AK_OK;
    }
    ak_value *values = (ak_value *)(uintptr_t)parameter->values; /* our own array */
    size_t kept = 0, fallback = 0;
    for (size_t i = 0; i < parameter->value_count; i++) {
        bool wanted = !numerics || i == parameter->default_index;
        if (wanted && fixed) {
            wanted = fix_names(fix, fix_length, &values[i], body->text[i]);
        }
        if (wanted && compiler) {
            wanted = spec->available(spec->available_context, values[i].as.string);
        }
        if (!wanted) {
            continue;
        }
        if (i == parameter->default_index) {
            fallback = kept;
        }
        values[kept] = values[i];
        body->text[kept] = body->text[i];
        if (body->added != NULL) {
            body->added[kept] = body->added[i];
        }
        kept++;
    }
    if (kept == 0 && !compiler) {
        return ak_fail(r->err, AK_INVALID,
                       "%s is fixed at values that change results; --allow-numerics allows them",
                       r->where);
    }
    if (kept == 0) {
        ak_buf names = AK_BUF(200);
        for (size_t i = 0; i < parameter->value_count; i++) {
            ak_buf_print(&names, "%s%s", i == 0 ? "" : ", ", body->text[i]);
        }
        ak_status status = ak_fail(r->err, AK_UNAVAILABLE,
                                   "%s: none of its compilers (%s) is on this machine; install one",
                                   r->where, names.data);
        ak_buf_free(&names);
        return status;
    }
    parameter->value_count = kept;
    parameter->default_index = fallback;
    return AK_OK;
}

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
    return (x->integer > y->integer) - (x->integer < y->integer); /* beyond 2^53 */
}

static ak_status rank_values(const ak_parameter *parameter, ak_parameter_body *body, reader *r)
{
    size_t count = parameter->value_count;
    if (parameter->values[0].type == AK_VALUE_STRING) {
        return AK_OK;
    }
    ranked *order = ak_alloc(count, sizeof *order);
    body->rank = ak_arena_alloc(r->space->arena, count * sizeof *body->rank);
    body->by_rank = ak_arena_alloc(r->space->arena, count * sizeof *body->by_rank);
    if (order == NULL || body->rank == NULL || body->by_rank == NULL) {
        ak_free(order);
        return ak_fail_memory(r->err);
    }
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
    ak_free(order);
    return AK_OK;
}

/* ---- parameters and conditions --------------------------------------------------------------- */

static ak_status read_name(ak_parameter *parameter, const json_t *json, size_t number, reader *r)
{
    const char *name;
    (void)snprintf(r->where, sizeof r->where, "%.120s: parameter %zu", r->spec->where, number);
    if (!json_is_object(json)) {
        return ak_fail(r->err, AK_INVALID, "%s must be an object", r->where);
    }
    ak_status status = ak_json_string(&name, json, "Name", r->where, r->err);
    if (status != AK_OK) {
        return status;
    }
    if (!ak_expr_is_name(name) || strlen(name) > AK_NAME_MAX) {
        return ak_fail(r->err, AK_INVALID,
                       "%s: the name \"%.60s\" must be letters, digits and _, at most %d, not "
                       "beginning with a digit and no word of the expression language",
                       r->where, name, AK_NAME_MAX);
    }
    (void)snprintf(r->where, sizeof r->where, "%.120s: parameter \"%s\"", r->spec->where, name);
    ak_value constant;
    if (ak_map_get(NULL, r->space->names, name)) {
        return ak_fail(r->err, AK_INVALID, "%s is declared twice", r->where);
    }
    if (ak_scope_get(&constant, r->spec->constants, name)) {
        return ak_fail(r->err, AK_INVALID,
                       "%s has the name of a size, choice or device fact; rename it", r->where);
    }
    parameter->name = ak_arena_strndup(r->space->arena, name, strlen(name));
    return parameter->name == NULL ? ak_fail_memory(r->err)
                                   : ak_map_put(r->space->names, name, number - 1, r->err);
}

static ak_status copy_text(const char **out, const char *text, reader *r)
{
    *out = ak_arena_strndup(r->space->arena, text, strlen(text));
    return *out == NULL ? ak_fail_memory(r->err) : AK_OK;
}

static ak_status read_parameter(const json_t *json, reader *r)
{
    ak_space *space = r->space;
    ak_parameter *parameter = &space->parameters[space->count];
    ak_parameter_body *body = &space->bodies[space->count];
    declared_type type;
    const char *description;
    ak_status status = read_name(parameter, json, space->count + 1, r);
    if (status == AK_OK) {
        status = check_keys(json, parameter_keys, r->where, r->err);
    }
    if (status == AK_OK) {
        status = ak_json_string_or(&description, json, "Description", "", r->where, r->err);
    }
    if (status == AK_OK) {
        status = copy_text(&parameter->description, description, r);
    }
    if (status == AK_OK) {
        status = read_values(parameter, body, &type, json, r);
    }
    if (status == AK_OK) {
        status = read_default(parameter, json, r);
    }
    if (status == AK_OK) {
        status = read_use(parameter, body, json, r);
    }
    if (status == AK_OK) {
        status = check_fix(parameter, body, r);
    }
    if (status == AK_OK) {
        status = filter_values(parameter, body, r);
    }
    if (status == AK_OK) {
        status = rank_values(parameter, body, r);
    }
    ak_arena_reset(r->scratch);
    if (status == AK_OK) {
        space->cartesian *= (double)parameter->value_count;
        space->count++;
    }
    return status;
}

static ak_status read_condition(const json_t *json, reader *r)
{
    ak_space *space = r->space;
    size_t index = space->condition_count;
    const char *text = NULL, *reason = "";
    ak_status status = AK_OK;
    (void)snprintf(r->where, sizeof r->where, "%.120s: condition %zu", r->spec->where, index + 1);
    if (json_is_string(json)) {
        text = json_string_value(json);
    } else if (json_is_object(json)) {
        json_t *names;
        status = check_keys(json, condition_keys, r->where, r->err);
        if (status == AK_OK) {
            status = ak_json_string(&text, json, "Expression", r->where, r->err);
        }
        if (status == AK_OK) {
            status = ak_json_string_or(&reason, json, "Description", "", r->where, r->err);
        }
        if (status == AK_OK) {
            /* which names it has is seen in the expression; the list is for other tools */
            status = ak_json_array_or_null(&names, json, "Parameters", r->where, r->err);
        }
        if (status == AK_OK) { /* read where it is used: ak_task_allows */
            bool every;
            status = ak_json_bool_or(&every, json, "EverySize", false, r->where, r->err);
        }
    } else {
        status = ak_fail(r->err, AK_INVALID, "%s must be an object or an expression", r->where);
    }
    if (status == AK_OK) {
        status = copy_text(&space->texts[index], text, r);
    }
    if (status == AK_OK) {
        status = copy_text(&space->reasons[index], reason, r);
    }
    if (status == AK_OK) {
        status = ak_expr_parse(&space->conditions[index], text, r->where, r->err);
    }
    space->condition_count += status == AK_OK ? 1 : 0;
    return status;
}

static ak_status read_all(reader *r)
{
    const char *where = r->spec->where;
    json_t *parameters = NULL, *conditions = NULL;
    ak_space *space = r->space;
    if (!json_is_object(r->spec->definition)) {
        return ak_fail(r->err, AK_INVALID, "%s: \"ConfigurationSpace\" must be an object", where);
    }
    ak_status status = check_keys(r->spec->definition, space_keys, where, r->err);
    if (status == AK_OK) {
        status = ak_json_array_or_null(&parameters, r->spec->definition, "TuningParameters", where,
                                       r->err);
    }
    if (status == AK_OK) {
        status =
            ak_json_array_or_null(&conditions, r->spec->definition, "Conditions", where, r->err);
    }
    if (status != AK_OK) {
        return status;
    }
    if (parameters == NULL) {
        return ak_fail(r->err, AK_INVALID, "%s: \"TuningParameters\" is missing", where);
    }
    size_t n = json_array_size(parameters), m = json_array_size(conditions);
    if (n > AK_PARAMETERS_MAX) {
        return ak_fail(r->err, AK_LIMIT, "%s: %zu parameters; at most %d are possible", where, n,
                       AK_PARAMETERS_MAX);
    }
    if (m > AK_CONDITIONS_MAX) {
        return ak_fail(r->err, AK_LIMIT, "%s: %zu conditions; at most %d are possible", where, m,
                       AK_CONDITIONS_MAX);
    }
    space->conditions = ak_arena_alloc(space->arena, (m + 1) * sizeof(ak_expr *));
    space->texts = ak_arena_alloc(space->arena, (m + 1) * sizeof *space->texts);
    space->reasons = ak_arena_alloc(space->arena, (m + 1) * sizeof *space->reasons);
    if (space->conditions == NULL || space->texts == NULL || space->reasons == NULL) {
        return ak_fail_memory(r->err);
    }
    for (size_t i = 0; i < n && status == AK_OK; i++) {
        status = read_parameter(json_array_get(parameters, i), r);
    }
    if (status == AK_OK) {
        status = check_fix_names(space, r);
    }
    for (size_t i = 0; i < m && status == AK_OK; i++) {
        status = read_condition(json_array_get(conditions, i), r);
    }
    return status;
}

ak_status ak_space_read(ak_space *space, const ak_space_spec *spec, ak_error *err)
{
    reader r = {.space = space, .spec = spec, .scratch = ak_arena_new(), .err = err};
    if (r.scratch == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status = read_all(&r);
    ak_arena_free(r.scratch);
    return status;
}
