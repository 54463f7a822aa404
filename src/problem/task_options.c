#include "problem/task_options.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/map.h"
#include "problem/backend_rules.h"
#include "problem/kernel_files.h"
#include "problem/source_text.h"

#define ORIGIN_BYTES 360 /* a name of 63 bytes and a value of 255, in words */

/* ---- checks ---------------------------------------------------------------------------------- */

static ak_status check_added(const ak_task *task, ak_error *err)
{
    for (size_t p = 0; p < ak_space_parameter_count(task->space); p++) {
        for (size_t v = 0; v < ak_space_parameter(task->space, p)->value_count; v++) {
            const char *const *added = ak_space_added(task->space, p, v);
            for (; added != NULL && *added != NULL; added++) {
                AK_DO(ak_implementation_check_option(task->implementation, *added, err));
            }
        }
    }
    return AK_OK;
}

/* What becomes a macro: a member of "Defines", a parameter, or a value of a parameter. */
typedef struct origin {
    const ak_parameter *parameter; /* NULL: a member of "Defines" */
    const ak_value *value;         /* NULL: the parameter itself */
} origin;

typedef struct macros {
    ak_map *places; /* indices into `origins` by names of macros */
    origin *origins;
    size_t count, capacity;
} macros;

static void macros_clear(macros *m)
{
    ak_map_free(m->places);
    ak_free(m->origins);
}

static void print_origin(char out[ORIGIN_BYTES], const origin *from)
{
    char text[AK_SPACE_MACRO_BYTES];
    if (from->parameter == NULL) {
        (void)snprintf(out, ORIGIN_BYTES, "a member of \"Defines\"");
    } else if (from->value == NULL) {
        (void)snprintf(out, ORIGIN_BYTES, "the parameter \"%s\"", from->parameter->name);
    } else {
        (void)ak_value_format(text, sizeof text, from->value);
        (void)snprintf(out, ORIGIN_BYTES, "the value \"%.255s\" of \"%s\"", text,
                       from->parameter->name);
    }
}

/* Adds a macro. Returns AK_INVALID if there is one of this name already and the source reads it. */
static ak_status add_macro(macros *m, const char *name, origin from, const ak_task *task,
                           ak_error *err)
{
    char one[ORIGIN_BYTES], other[ORIGIN_BYTES];
    size_t place;
    if (ak_map_get(&place, m->places, name)) {
        assert(m->origins != NULL);
        if (!ak_source_has(ak_or_empty(task->implementation->source), name)) {
            return AK_OK;
        }
        print_origin(one, &m->origins[place]);
        print_origin(other, &from);
        return ak_fail(err, AK_INVALID,
                       "%.200s: %s and %s both become the macro %s, which the source reads: rename "
                       "one of the two",
                       task->implementation->where, one, other, name);
    }
    AK_DO(AK_GROW(m->origins, &m->capacity, m->count + 1, err));
    m->origins[m->count] = from;
    return ak_map_put(m->places, name, m->count++, err);
}

/* Returns AK_INVALID if two of "Defines", the parameters and their values become one macro that the
   source reads: it could not tell them apart. A source that does not read the macro, because it has
   the value itself (-DOP=+ and -DOP=-), needs no difference. */
static ak_status check_macros(const ak_task *task, ak_error *err)
{
    AK_AT_END(macros_clear) macros m = {.places = ak_map_new()};
    char name[AK_SPACE_MACRO_BYTES];
    AK_DO(ak_made(m.places, err));
    AK_EACH_MEMBER(define, text, task->implementation->defines) {
        AK_DO(add_macro(&m, define, (origin){0}, task, err));
    }
    for (size_t p = 0; p < ak_space_parameter_count(task->space); p++) {
        const ak_parameter *parameter = ak_space_parameter(task->space, p);
        if (parameter->use == AK_USE_DEFINE) {
            AK_DO(add_macro(&m, parameter->name, (origin){parameter, NULL}, task, err));
        }
        for (size_t v = 0; v < parameter->value_count; v++) {
            if (ak_space_macro(name, task->space, p, v)) {
                const origin from = {parameter, &parameter->values[v]};
                AK_DO(add_macro(&m, name, from, task, err));
            }
        }
    }
    return AK_OK;
}

ak_status ak_task_check_options(const ak_task *task, ak_error *err)
{
    AK_DO(check_added(task, err));
    const bool as_macros = ak_problem_runnable(task->problem, NULL) == AK_OK &&
                           !ak_implementation_is_triton(task->implementation);
    return as_macros ? check_macros(task, err) : AK_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Adds the macros of "Defines". Their values are whole numbers; true is 1 and false 0. */
static ak_status add_defines(ak_options *out, const ak_task *task, const ak_config *config,
                             ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    AK_AT_END(ak_scope_free_at) ak_scope *scope = NULL;
    AK_DO(ak_task_scope(&scope, task, &task->shape, config, err));
    AK_EACH_MEMBER(name, text, implementation->defines) {
        char line[160];
        int64_t value = 0;
        AK_DO(ak_expr_int(&value, json_string_value(text), scope, implementation->where, err));
        (void)snprintf(line, sizeof line, "-D%.63s=%lld", name, (long long)value);
        AK_DO(ak_options_add(out, line, err));
    }
    return AK_OK;
}

/* Returns whether a "Launch" has an entry of its own for the task's sizes: then another entry runs
   at other sizes, which need not read the macros of "Defines". */
static bool is_specialised(const json_t *launch)
{
    bool found = json_object_get(launch, "SizedKernelName") != NULL;
    for (size_t i = 0; i < json_array_size(launch); i++) {
        found |= json_object_get(json_array_get(launch, i), "SizedKernelName") != NULL;
    }
    return found;
}

ak_status ak_task_fixed_define(const char **out, int64_t *value, const ak_task *task,
                               const ak_shape *shape, const ak_config *config, ak_error *err)
{
    const ak_implementation_spec *implementation = task->implementation;
    AK_AT_END(ak_scope_free_at) ak_scope *own = NULL;
    AK_AT_END(ak_scope_free_at) ak_scope *there = NULL;
    *out = NULL;
    if (is_specialised(implementation->launch)) {
        return AK_OK;
    }
    AK_DO(ak_task_scope(&own, task, &task->shape, config, err));
    AK_DO(ak_task_scope(&there, task, shape, config, err));
    AK_EACH_MEMBER(name, text, implementation->defines) {
        const char *expression = json_string_value(text), *where = implementation->where;
        int64_t other = 0;
        AK_DO(ak_expr_int(value, expression, own, where, err));
        if (ak_expr_int(&other, expression, there, where, NULL) != AK_OK || other != *value) {
            *out = name;
            break;
        }
    }
    return AK_OK;
}

ak_status ak_task_options(ak_options *out, const ak_task *task, const ak_config *config,
                          ak_error *err)
{
    char line[160];
    const ak_problem *problem = task->problem;
    (void)snprintf(line, sizeof line, "-Ddtype_is_%s=1", ak_dtype_text(task->dtype));
    AK_DO(ak_options_add(out, line, err));
    for (size_t i = 0; i < problem->choice_count; i++) {
        if (problem->choices[i].kind == AK_CHOICE_TEXT) {
            (void)snprintf(line, sizeof line, "-D%.63s_is_%.63s=1", problem->choices[i].name,
                           problem->choices[i].values[task->choice[i]]);
            AK_DO(ak_options_add(out, line, err));
        }
    }
    AK_DO(add_defines(out, task, config, err));
    const ak_backend_rules *rules = ak_backend_rules_find(task->implementation->backend);
    if (rules != NULL && rules->add_options != NULL) {
        AK_DO(rules->add_options(out, task, config, err));
    }
    for (size_t i = 0; i < task->implementation->option_count; i++) {
        AK_DO(ak_options_add(out, task->implementation->options[i], err));
    }
    return ak_config_options(out, task->space, config, err);
}
