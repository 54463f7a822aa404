/* space_use.c: reads how a parameter reaches the compiler ("Use"): as a macro, as arguments
   ("Option", "Options") or as the compiler itself. */
#include "space/space_read.h"

#include <string.h>

#include "base/fs.h"

/* Makes the argument that "Option" adds for one value: the value replaces the first {}, and an
   empty value adds nothing. If the pattern has no {}, the option is added for true and 1 only. */
static ak_status add_option(const char *const **out, const char *pattern, const char *text,
                            ak_space_reader *r)
{
    const char *hole = strstr(pattern, "{}");
    const char **list;
    AK_DO(AK_ARENA_NEW(list, r->space->arena, 2, r->err));
    *out = list;
    bool on = hole != NULL ? *text != 0 : strcmp(text, "True") == 0 || strcmp(text, "1") == 0;
    if (!on) {
        return AK_OK;
    }
    size_t before = hole == NULL ? strlen(pattern) : (size_t)(hole - pattern);
    const char *after = hole == NULL ? "" : hole + 2;
    const char *middle = hole == NULL ? "" : text;
    size_t m = strlen(middle), n = strlen(after);
    char *argument;
    AK_DO(AK_ARENA_NEW(argument, r->space->arena, before + m + n + 1, r->err));
    (void)snprintf(argument, before + m + n + 1, "%.*s%s%s", (int)before, pattern, middle, after);
    list[0] = argument;
    return AK_OK;
}

/* Copies the arguments that "Options" lists for one value. "true" and "false" may stand for True
   and False. */
static ak_status add_listed(const char *const **out, const json_t *options, const char *text,
                            ak_space_reader *r)
{
    const json_t *entry = json_object_get(options, text);
    if (entry == NULL && strcmp(text, "True") == 0) {
        entry = json_object_get(options, "true");
    }
    if (entry == NULL && strcmp(text, "False") == 0) {
        entry = json_object_get(options, "false");
    }
    AK_FAIL_IF(!json_is_array(entry), r->err, AK_INVALID,
               "%s: Options must have a list of arguments for the value \"%s\"", r->where, text);
    size_t count = json_array_size(entry);
    AK_FAIL_IF(count > AK_OPTIONS_MAX, r->err, AK_LIMIT,
               "%s: Options of \"%s\" has more than %d arguments", r->where, text, AK_OPTIONS_MAX);
    const char **list;
    AK_DO(AK_ARENA_NEW(list, r->space->arena, count + 1, r->err));
    for (size_t i = 0; i < count; i++) {
        const char *argument = json_string_value(json_array_get(entry, i));
        AK_FAIL_IF(argument == NULL || *argument == 0, r->err, AK_INVALID,
                   "%s: Options of \"%s\" must be a list of texts that are not empty", r->where,
                   text);
        AK_DO(ak_arena_text(&list[i], r->space->arena, argument, r->err));
    }
    *out = list;
    return AK_OK;
}

static ak_status check_option_names(const json_t *options, const ak_parameter_body *body,
                                    size_t count, ak_space_reader *r)
{
    AK_EACH_MEMBER(key, value, options) {
        AK_FAIL_IF(strcmp(key, "true") != 0 && strcmp(key, "false") != 0 &&
                       !AK_HAS_TEXT(body->text, count, key),
                   r->err, AK_INVALID, "%s: Options has \"%.60s\", which is not one of the values",
                   r->where, key);
    }
    return AK_OK;
}

/* Returns whether every value is true, false, 0 or 1. */
static bool is_switch(const ak_parameter *parameter)
{
    bool all = true;
    for (size_t i = 0; i < parameter->value_count; i++) {
        const ak_value *value = &parameter->values[i];
        all = all &&
              (value->type == AK_VALUE_BOOL ||
               (value->type == AK_VALUE_INT && (value->as.integer == 0 || value->as.integer == 1)));
    }
    return all;
}

static ak_status read_option(const ak_parameter *parameter, ak_parameter_body *body,
                             const json_t *json, ak_space_reader *r)
{
    const char *pattern;
    json_t *options;
    AK_DO(ak_json_string_or(&pattern, json, "Option", NULL, r->where, r->err));
    AK_DO(ak_json_object_or_null(&options, json, "Options", r->where, r->err));
    AK_FAIL_IF((pattern == NULL) == (options == NULL) || (pattern != NULL && *pattern == 0), r->err,
               AK_INVALID, "%s: Use \"option\" needs either Option, such as \"-O{}\", or Options",
               r->where);
    AK_FAIL_IF(pattern != NULL && strstr(pattern, "{}") == NULL && !is_switch(parameter), r->err,
               AK_INVALID,
               "%s: Option \"%.60s\" has no {} for the value, so the values must be true and false "
               "or 0 and 1",
               r->where, pattern);
    if (options != NULL) {
        AK_DO(check_option_names(options, body, parameter->value_count, r));
    }
    AK_DO(AK_ARENA_NEW(body->added, r->space->arena, parameter->value_count, r->err));
    for (size_t i = 0; i < parameter->value_count; i++) {
        AK_DO(pattern != NULL ? add_option(&body->added[i], pattern, body->text[i], r)
                              : add_listed(&body->added[i], options, body->text[i], r));
    }
    return AK_OK;
}

/* Returns whether a list of names, separated by colons, has this one. */
static bool is_listed(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = list; at != NULL && length > 0; at = strchr(at, ':')) {
        at += *at == ':' ? 1 : 0;
        if (strcspn(at, ":") == length && strncmp(at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns whether a kernel's file may name this compiler. The file may come from a stranger, and
   the program that it names is run. So only known compilers in PATH are allowed, perhaps with a
   version (gcc-13, clang-17.0), and those that the user lists in AUTOKERNEL_COMPILERS. */
static bool may_name(const char *name)
{
    static const char *const known[] = {
        "cc",         "c++",      "gcc",      "g++",        "clang",    "clang++",
        "icx",        "icpx",     "icc",      "icpc",       "gfortran", "flang",
        "flang-new",  "ifx",      "ifort",    "nvc",        "nvc++",    "nvfortran",
        "nvcc",       "hipcc",    "armclang", "armclang++", "armflang", "amdclang",
        "amdclang++", "amdflang", "xlc",      "ibm-clang",  "craycc",   "tcc"};
    for (size_t i = 0; i < AK_COUNT(known); i++) {
        const size_t n = strlen(known[i]);
        const char *rest = name + n;
        if (strncmp(name, known[i], n) == 0 &&
            (*rest == 0 ||
             (*rest == '-' && rest[1] != 0 && rest[1 + strspn(rest + 1, "0123456789.")] == 0))) {
            return true;
        }
    }
    return is_listed(ak_env("AUTOKERNEL_COMPILERS"), name);
}

static ak_status check_compilers(const ak_parameter *parameter, ak_space_reader *r)
{
    for (size_t i = 0; i < parameter->value_count; i++) {
        const char *name = parameter->values[i].as.string;
        AK_FAIL_IF(!may_name(name), r->err, AK_INVALID,
                   "%s: a kernel's file must not have \"%.80s\" run: name a compiler as PATH has "
                   "it (gcc, clang-17), or set AUTOKERNEL_COMPILERS=%.80s to allow this one",
                   r->where, name, name);
    }
    return AK_OK;
}

ak_status ak_space_read_use(ak_parameter *parameter, ak_parameter_body *body, const json_t *json,
                            ak_space_reader *r)
{
    const char *use;
    AK_DO(ak_json_string_or(&use, json, "Use", "define", r->where, r->err));
    AK_DO(ak_json_bool_or(&parameter->numerics, json, "Numerics", false, r->where, r->err));
    if (strcmp(use, "option") == 0) {
        parameter->use = AK_USE_OPTION;
        return read_option(parameter, body, json, r);
    }
    const bool define = strcmp(use, "define") == 0;
    AK_FAIL_IF(!define && strcmp(use, "compiler") != 0, r->err, AK_INVALID,
               "%s: Use \"%.40s\" is unknown; it must be define, option or compiler", r->where,
               use);
    AK_FAIL_IF(json_object_get(json, "Option") != NULL || json_object_get(json, "Options") != NULL,
               r->err, AK_INVALID, "%s: Option and Options need Use \"option\"", r->where);
    if (define) {
        parameter->use = AK_USE_DEFINE;
        return AK_OK;
    }
    parameter->use = AK_USE_COMPILER;
    AK_FAIL_IF(parameter->values[0].type != AK_VALUE_STRING, r->err, AK_INVALID,
               "%s: Use \"compiler\" needs names of compilers as values", r->where);
    for (size_t i = 0; i < r->space->count; i++) {
        AK_FAIL_IF(r->space->parameters[i].use == AK_USE_COMPILER, r->err, AK_INVALID,
                   "%s: \"%s\" has Use \"compiler\" already", r->where,
                   r->space->parameters[i].name);
    }
    return check_compilers(parameter, r);
}
