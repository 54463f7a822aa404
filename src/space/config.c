/* config.c: configurations as texts, keys, scopes and compiler options. */
#include "space/space_body.h"

#include <assert.h>
#include <string.h>

#include "base/ascii.h"
#include "base/hash.h"
#include "base/text.h"

#define CONFIG_TEXT_MAX 32768 /* 64 parameters with the longest names and values need less */

uint64_t ak_config_key(const ak_space *space, const ak_config *config)
{
    if (space->cartesian >= 0x1p63) {
        return ak_hash64(config->at, space->count * sizeof config->at[0]);
    }
    uint64_t key = 0;
    for (size_t p = 0; p < space->count; p++) {
        key = key * space->parameters[p].value_count + config->at[p];
    }
    return key;
}

ak_value ak_config_value(const ak_space *space, const ak_config *config, size_t parameter)
{
    assert(parameter < space->count);
    return space->parameters[parameter].values[config->at[parameter]];
}

/* ---- text ------------------------------------------------------------------------------------ */

size_t ak_config_format(char *out, size_t bytes, const ak_space *space, const ak_config *config)
{
    size_t length = ak_text_put(out, bytes, 0, "");
    for (size_t p = 0; p < space->count; p++) {
        length = ak_text_put(out, bytes, length, p == 0 ? "" : ",");
        length = ak_text_put(out, bytes, length, space->parameters[p].name);
        length = ak_text_put(out, bytes, length, "=");
        length = ak_text_put(out, bytes, length, space->bodies[p].text[config->at[p]]);
    }
    return length;
}

static ak_status unknown_parameter(const ak_space *space, const char *name, ak_error *err)
{
    const char *names[AK_PARAMETERS_MAX + 1] = {NULL};
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(320);
    for (size_t p = 0; p < space->count; p++) {
        names[p] = space->parameters[p].name;
        ak_buf_print(&list, "%s%s", p == 0 ? "" : ", ", names[p]);
    }
    const char *near = ak_text_nearest(name, names);
    return near != NULL
               ? ak_fail(err, AK_INVALID, "there is no parameter \"%.60s\"; did you mean \"%s\"?",
                         name, near)
               : ak_fail(err, AK_INVALID, "there is no parameter \"%.60s\"; there are %.300s", name,
                         list.data);
}

static ak_status unknown_value(const ak_space *space, size_t p, const char *text, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(512);
    size_t count = space->parameters[p].value_count;
    for (size_t v = 0; v < count && list.length < 240; v++) {
        ak_buf_print(&list, "%s%s", v == 0 ? "" : ", ", space->bodies[p].text[v]);
        if (list.length >= 240 && v + 1 < count) {
            ak_buf_print(&list, ", ... (%zu values)", count);
        }
    }
    const ak_parameter_body *body = &space->bodies[p];
    const char *absent = AK_HAS_TEXT(body->absent, body->absent_count, text)
                             ? ", because this compiler was not found"
                             : "";
    return ak_fail(err, AK_INVALID, "%s has no value \"%.60s\"%s; it can be %.300s",
                   space->parameters[p].name, text, absent, list.data);
}

bool ak_space_value_is(const ak_value *value, const char *canonical, const char *text)
{
    int64_t whole;
    double real;
    switch (value->type) {
    case AK_VALUE_INT:
        return ak_text_int(&whole, text) && whole == value->as.integer;
    case AK_VALUE_REAL:
        return ak_text_real(&real, text) && real == value->as.real;
    case AK_VALUE_BOOL:
        return strcmp(text, canonical) == 0 ||
               strcmp(text, value->as.boolean ? "true" : "false") == 0 ||
               strcmp(text, value->as.boolean ? "1" : "0") == 0;
    default:
        return strcmp(text, canonical) == 0;
    }
}

/* Returns the index of the value that the text means; the number of values if there is none. */
static size_t find_value(const ak_space *space, size_t p, const char *text)
{
    const ak_parameter *parameter = &space->parameters[p];
    size_t v = 0;
    while (v < parameter->value_count &&
           !ak_space_value_is(&parameter->values[v], space->bodies[p].text[v], text)) {
        v++;
    }
    return v;
}

ak_status ak_space_value_of_json(size_t *index, const ak_space *space, size_t parameter,
                                 const json_t *json, ak_error *err)
{
    AK_FREED char *made = NULL;
    AK_DO(json_is_string(json) ? AK_OK : ak_json_text(&made, json, err));
    *index = find_value(space, parameter, made == NULL ? json_string_value(json) : made);
    return AK_OK;
}

static ak_status set_one(ak_config *config, bool *given, const ak_space *space, char *item,
                         ak_error *err)
{
    char *equals = strchr(item, '=');
    AK_FAIL_IF(equals == NULL, err, AK_INVALID, "\"%.60s\" is not of the form parameter=value",
               item);
    *equals = 0;
    const char *name = ak_text_trim(item), *text = ak_text_trim(equals + 1);
    size_t p;
    if (!ak_space_parameter_find(&p, space, name)) {
        return unknown_parameter(space, name, err);
    }
    AK_FAIL_IF(given[p], err, AK_INVALID, "%s is given twice", name);
    const size_t v = find_value(space, p, text);
    if (v == space->parameters[p].value_count) {
        return unknown_value(space, p, text, err);
    }
    config->at[p] = (uint16_t)v;
    given[p] = true;
    return AK_OK;
}

/* Returns AK_INVALID with the condition that the configuration breaks, the values that the
   condition reads, and the author's reason. In an outline, returns AK_OK if it breaks none; in a
   listed space, AK_INVALID without a condition. */
static ak_status explain_invalid(const ak_space *space, const ak_config *config, ak_error *err)
{
    size_t broken;
    AK_FAIL_IF(space->listed, err, AK_INVALID, "this configuration was not recorded");
    AK_DO(ak_space_broken(&broken, space, config, err));
    if (broken == space->condition_count) {
        AK_FAIL_IF(!space->outline, err, AK_INTERNAL,
                   "a configuration that breaks no condition is not in the space");
        return AK_OK;
    }
    AK_AT_END(ak_buf_free) ak_buf values = AK_BUF(512);
    const char *const *names;
    size_t count = ak_expr_names(&names, space->conditions[broken]), p;
    for (size_t i = 0; i < count && values.length < 120; i++) {
        if (ak_space_parameter_find(&p, space, names[i])) {
            ak_buf_print(&values, "%s%s=%s", values.length == 0 ? "" : ", ", names[i],
                         space->bodies[p].text[config->at[p]]);
        }
    }
    const char *reason = space->reasons[broken];
    return ak_fail(err, AK_INVALID,
                   "this configuration is not valid: %.160s breaks condition %zu, %.120s%s%.120s%s",
                   values.data, broken + 1, space->texts[broken], *reason == 0 ? "" : " (", reason,
                   *reason == 0 ? "" : ")");
}

ak_status ak_config_explain(const ak_space *space, const ak_config *config, ak_error *err)
{
    return !space->outline && ak_space_has(space, config) ? AK_OK
                                                          : explain_invalid(space, config, err);
}

ak_status ak_config_parse(ak_config *out, const ak_space *space, const char *text, ak_error *err)
{
    AK_FAIL_IF(strlen(text) > CONFIG_TEXT_MAX, err, AK_LIMIT,
               "a configuration is longer than %d bytes", CONFIG_TEXT_MAX);
    ak_config config = space->fallback;
    bool given[AK_PARAMETERS_MAX] = {false};
    AK_FREED char *copy = NULL;
    char *item;
    AK_DO(ak_copy_text(&copy, text, err));
    char *rest = *ak_text_trim(copy) == 0 ? NULL : copy; /* "" means the default */
    while ((item = strsep(&rest, ",")) != NULL) {
        AK_DO(set_one(&config, given, space, item, err));
    }
    AK_DO(ak_config_explain(space, &config, err));
    *out = config;
    return AK_OK;
}

ak_status ak_config_scope(ak_scope *scope, const ak_space *space, const ak_config *config,
                          ak_error *err)
{
    for (size_t p = 0; p < space->count; p++) {
        AK_DO(
            ak_scope_set(scope, space->parameters[p].name, ak_config_value(space, config, p), err));
    }
    return AK_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

ak_status ak_options_add(ak_options *options, const char *text, ak_error *err)
{
    AK_DO(AK_GROW(options->argv, &options->capacity, options->count + 2, err));
    AK_DO(ak_copy_text(&options->argv[options->count], text, err));
    options->count++;
    options->argv[options->count] = NULL; /* so that the list can be passed on as an argv */
    return AK_OK;
}

void ak_options_clear(ak_options *options)
{
    AK_END_EACH(ak_free, options->argv, options->count);
    ak_free(options->argv);
    *options = (ak_options){0};
}

bool ak_space_macro(char out[AK_SPACE_MACRO_BYTES], const ak_space *space, size_t parameter,
                    size_t value)
{
    const ak_parameter *p = &space->parameters[parameter];
    const ak_value_type type = p->values[value].type;
    const bool named =
        p->use == AK_USE_DEFINE && (type == AK_VALUE_BOOL || type == AK_VALUE_STRING);
    if (named) {
        (void)snprintf(out, AK_SPACE_MACRO_BYTES, "%s_is_%s", p->name,
                       space->bodies[parameter].text[value]);
        for (char *c = out; *c != 0; c++) {
            *c = ak_ascii_is_word(*c) ? *c : '_';
        }
    }
    return named;
}

static ak_status add_define(ak_options *out, const ak_space *space, size_t parameter, size_t value,
                            ak_error *err)
{
    char line[16 + AK_SPACE_MACRO_BYTES], macro[AK_SPACE_MACRO_BYTES];
    const ak_parameter *p = &space->parameters[parameter];
    const ak_value *v = &p->values[value];
    (void)snprintf(line, sizeof line, "-D%s=%s", p->name,
                   v->type != AK_VALUE_BOOL ? space->bodies[parameter].text[value]
                   : v->as.boolean          ? "1"
                                            : "0");
    AK_DO(ak_options_add(out, line, err));
    if (!ak_space_macro(macro, space, parameter, value)) {
        return AK_OK;
    }
    (void)snprintf(line, sizeof line, "-D%s=1", macro);
    return ak_options_add(out, line, err);
}

const char *const *ak_space_added(const ak_space *space, size_t parameter, size_t value)
{
    return space->parameters[parameter].use == AK_USE_OPTION ? space->bodies[parameter].added[value]
                                                             : NULL;
}

ak_status ak_config_options(ak_options *out, const ak_space *space, const ak_config *config,
                            ak_error *err)
{
    for (size_t p = 0; p < space->count; p++) {
        const ak_parameter *parameter = &space->parameters[p];
        const ak_parameter_body *body = &space->bodies[p];
        size_t v = config->at[p];
        switch (parameter->use) {
        case AK_USE_DEFINE:
            AK_DO(add_define(out, space, p, v, err));
            break;
        case AK_USE_OPTION:
            for (const char *const *a = body->added[v]; *a != NULL; a++) {
                AK_DO(ak_options_add(out, *a, err));
            }
            break;
        case AK_USE_COMPILER:
            out->compiler = body->text[v];
            break;
        }
    }
    return AK_OK;
}
