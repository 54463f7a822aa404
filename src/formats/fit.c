/*
 * fit.c: fits a kernel's space file to a recording, see ak_draft_fit.
 *
 * A space file reads sizes and facts of the device; a recording was made elsewhere and may not
 * contain them. That does no harm, because the recorded configurations are the space, whatever
 * their conditions read. A space file that reads nothing but its parameters is used as it is. Any
 * other adds only the defaults, if a recorded value serves for each of them, and the conditions
 * that read nothing but parameters.
 */
#include "formats/draft.h"

#include <math.h>

#include "problem/problem.h"

#define SIZE_TEXT_MAX 1024

/* ---- what the recording says ----------------------------------------------------------------- */

/* Adds sizes such as "M=128,N=64"; what has another form ("128x64") is left out. */
static ak_status add_sizes(ak_scope *scope, const char *size, ak_error *err)
{
    char copy[SIZE_TEXT_MAX];
    if (size == NULL || strlen(size) >= sizeof copy) {
        return AK_OK;
    }
    memcpy(copy, size, strlen(size) + 1);
    for (char *item = copy, *next; item != NULL; item = next) {
        char *comma = strchr(item, ','), *equals;
        int64_t value;
        next = comma == NULL ? NULL : comma + 1;
        if (comma != NULL) {
            *comma = 0;
        }
        equals = strchr(item, '=');
        if (equals != NULL && ak_text_int(&value, equals + 1)) {
            *equals = 0;
            AK_DO(ak_expr_is_name(item) ? ak_scope_set_int(scope, item, value, err) : AK_OK);
        }
    }
    return AK_OK;
}

static ak_status add_dtype(ak_scope *scope, const char *text, ak_error *err)
{
    ak_dtype dtype;
    if (text == NULL || !ak_dtype_parse(&dtype, text)) {
        return AK_OK;
    }
    AK_DO(ak_scope_set_text(scope, "dtype", text, err));
    return ak_scope_set_int(scope, "dtype_bytes", (int64_t)ak_dtype_bytes(dtype), err);
}

ak_status ak_draft_facts(ak_scope **out, const ak_draft *draft, ak_error *err)
{
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(NULL);
    AK_DO(ak_made(scope, err));
    AK_EACH_MEMBER(name, value, draft->facts) {
        AK_FAIL_IF(!json_is_integer(value) || !ak_expr_is_name(name), err, AK_INVALID,
                   "%s: the fact \"%.60s\" must be a whole number", draft->where, name);
        AK_DO(ak_scope_set_int(scope, name, json_integer_value(value), err));
    }
    *out = scope;
    scope = NULL;
    return AK_OK;
}

ak_status ak_draft_constants(ak_scope **out, const ak_draft *draft, const ak_scope *facts,
                             ak_error *err)
{
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(facts);
    AK_DO(scope == NULL ? ak_fail_memory(err) : add_sizes(scope, draft->recording->size, err));
    AK_DO(add_dtype(scope, draft->recording->dtype, err));
    *out = scope;
    scope = NULL;
    return AK_OK;
}

/* ---- what the space file reads --------------------------------------------------------------- */

static bool is_parameter(const json_t *definition, const char *name)
{
    return ak_json_find(json_object_get(definition, "TuningParameters"), "Name", name) != NULL;
}

/* Returns whether an expression reads only parameters. Returns true if it is not a text or does not
   parse, because building the space reports that better. */
static bool reads_parameters_only(const json_t *definition, const json_t *text)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    const char *const *names;
    if (!json_is_string(text) || ak_expr_parse(&expr, json_string_value(text), "", NULL) != AK_OK) {
        return true;
    }
    size_t count = ak_expr_names(&names, expr);
    bool only = true;
    for (size_t i = 0; i < count; i++) {
        only = only && is_parameter(definition, names[i]);
    }
    return only;
}

static bool is_text(const json_t *parameter)
{
    const char *type = ak_json_text_or_null(parameter, "Type");
    return type != NULL && strcmp(type, "string") == 0;
}

static bool is_closed(const json_t *definition)
{
    AK_EACH(entry, json_object_get(definition, "TuningParameters")) {
        if (!is_text(entry) &&
            (!reads_parameters_only(definition, json_object_get(entry, "Values")) ||
             !reads_parameters_only(definition, json_object_get(entry, "Default")))) {
            return false;
        }
    }
    AK_EACH(entry, json_object_get(definition, "Conditions")) {
        if (!reads_parameters_only(definition, json_object_get(entry, "Expression"))) {
            return false;
        }
    }
    return true;
}

/* ---- the one that fits ----------------------------------------------------------------------- */

static const ak_draft_parameter *recorded(const ak_draft *draft, const char *name)
{
    size_t p = AK_FIND(draft->parameters, draft->parameter_count, name, name);
    return p < draft->parameter_count ? &draft->parameters[p] : NULL;
}

/* Returns the recorded value that serves as the default: the only one if there is only one;
   otherwise one that equals the default or, if the default is a number, the nearest number, of two
   equally near ones the first. Returns NULL if the default is not known or no recorded value
   serves. */
static json_t *default_of(const json_t *parameter, const json_t *values, const ak_scope *constants)
{
    const json_t *given = json_object_get(parameter, "Default");
    if (json_array_size(values) == 1) {
        return json_array_get(values, 0);
    }
    int64_t number = 0;
    bool computed = json_is_string(given) && !is_text(parameter);
    if (given == NULL || (computed && ak_expr_int(&number, json_string_value(given), constants,
                                                  "Default", NULL) != AK_OK)) {
        return NULL;
    }
    json_t *nearest = NULL;
    double wish = computed ? (double)number : json_number_value(given), least = HUGE_VAL;
    AK_EACH(value, values) {
        double apart = fabs(json_number_value(value) - wish);
        if (!computed && json_equal(value, given)) {
            return value;
        }
        if ((computed || json_is_number(given)) && json_is_number(value) && apart < least) {
            least = apart;
            nearest = value;
        }
    }
    return nearest;
}

/* A recording, and the space file that is fitted to it. */
typedef struct fitting {
    const ak_draft *draft;
    const json_t *definition;
    const ak_scope *constants;
    const char *where; /* the space file */
} fitting;

/* Adds a parameter with the recorded values to a list. *lost becomes true if default_of finds no
   default for it. */
static ak_status fit_parameter(json_t *list, bool *lost, const fitting *f, const json_t *parameter,
                               ak_error *err)
{
    const char *name = NULL;
    AK_DO(json_is_object(parameter)
              ? ak_json_string(&name, parameter, "Name", f->where, err)
              : ak_fail(err, AK_INVALID, "%s: a parameter must be an object", f->where));
    const ak_draft_parameter *known = recorded(f->draft, name);
    AK_FAIL_IF(known == NULL, err, AK_INVALID,
               "%s does not fit %s: parameter \"%.60s\" was not recorded", f->draft->where,
               f->where, name);
    json_auto_t *fitted = json_pack("{s:s, s:O}", "Name", name, "Values", known->values);
    json_t *fallback = default_of(parameter, known->values, f->constants);
    *lost = *lost || fallback == NULL;
    const char *description = ak_json_text_or_null(parameter, "Description");
    bool good = fitted != NULL &&
                (fallback == NULL || ak_json_set(fitted, "Default", json_incref(fallback))) &&
                (description == NULL || ak_json_set_text(fitted, "Description", description)) &&
                json_array_append(list, fitted) == 0;
    return ak_stored(good, err);
}

static ak_status fit(json_t *out, const fitting *f, ak_error *err)
{
    const ak_draft *draft = f->draft;
    const json_t *definition = f->definition;
    const json_t *parameters = json_object_get(definition, "TuningParameters");
    json_auto_t *list = json_array(), *conditions = json_array();
    bool lost = false;
    AK_DO(ak_stored(list != NULL && conditions != NULL, err));
    AK_EACH(entry, parameters) {
        AK_DO(fit_parameter(list, &lost, f, entry, err));
    }
    /* A configuration of which only some values are known cannot be the default. */
    AK_EACH(parameter, lost ? list : NULL) {
        (void)json_object_del(parameter, "Default");
    }
    for (size_t p = 0; p < draft->parameter_count; p++) {
        AK_FAIL_IF(!is_parameter(definition, draft->parameters[p].name), err, AK_INVALID,
                   "%s does not fit %s, which has no parameter \"%.60s\"", draft->where, f->where,
                   draft->parameters[p].name);
    }
    AK_EACH(entry, json_object_get(definition, "Conditions")) {
        if (reads_parameters_only(definition, json_object_get(entry, "Expression")) &&
            json_array_append(conditions, (json_t *)(uintptr_t)entry) != 0) {
            return ak_fail_memory(err);
        }
    }
    bool good = json_object_set(out, "TuningParameters", list) == 0 &&
                json_object_set(out, "Conditions", conditions) == 0;
    return ak_stored(good, err);
}

ak_status ak_draft_fit(json_t **out, const ak_draft *draft, const json_t *definition,
                       const ak_scope *constants, const char *where, ak_error *err)
{
    if (is_closed(definition)) {
        *out = json_incref((json_t *)(uintptr_t)definition);
        return AK_OK;
    }
    json_auto_t *fitted = json_object();
    const fitting f = {draft, definition, constants, where};
    AK_DO(ak_made(fitted, err));
    AK_DO(fit(fitted, &f, err));
    *out = json_incref(fitted);
    return AK_OK;
}
