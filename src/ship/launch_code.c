/* launch_code.c: translates the "Launch" of a space file, for one configuration, to what a runtime
   can evaluate: programs over the sizes, `resident_clusters` and the values of "Let"
   (docs/formats.md, Bundles). */
#include "ship/bundle.h"

#include <string.h>

#include "backend/launch/launch.h"
#include "base/alloc.h"
#include "space/let.h"
#include "space/portable.h"

#define RESIDENT "resident_clusters"
#define OPEN_MAX (AK_SIZES_MAX + 1 + AK_LET_MAX)
#define EXTENTS  3

typedef struct writer {
    const ak_task *task;
    ak_scope *scope;
    const char *open[OPEN_MAX]; /* names that get their values at a launch; programs keep them */
    size_t open_count;
    bool folds; /* for one size: values of "Let" are computed here */
    char where[300];
    ak_error *err;
} writer;

/* Gives the program of an expression or, if `value` is NULL, of the number `fallback`. */
static ak_status program_of(json_t **out, const json_t *value, int fallback, const writer *w)
{
    char buffer[AK_WRITTEN_BYTES];
    const ak_program_names names = {w->scope, w->open, w->open_count, w->where, false};
    if (value == NULL) {
        *out = json_pack("[i]", fallback);
        return ak_made(*out, w->err);
    }
    return ak_program_of(out, ak_written_text(buffer, value), &names, w->err);
}

/* Sets a member to the program that program_of gives. */
static ak_status set(json_t *object, const char *key, const json_t *value, int fallback, writer *w)
{
    json_t *program = NULL;
    AK_DO(program_of(&program, value, fallback, w));
    return ak_stored(ak_json_set(object, key, program), w->err);
}

/* Sets a member to the list of the programs for `array`, padded with 1 to `least` programs. */
static ak_status set_list(json_t *object, const char *key, const json_t *array, size_t least,
                          writer *w)
{
    json_auto_t *list = json_array();
    size_t count = json_array_size(array);
    for (size_t i = 0; i < (count > least ? count : least); i++) {
        json_t *program = NULL;
        AK_DO(program_of(&program, json_array_get(array, i), 1, w));
        AK_DO(ak_stored(ak_json_append(list, program), w->err));
    }
    return ak_stored(ak_json_set(object, key, json_incref(list)), w->err);
}

static ak_status write_let(json_t *list, const json_t *let, writer *w)
{
    const char *name = ak_json_text_at(let, "Name");
    const json_t *value = json_object_get(let, "Value");
    char buffer[AK_WRITTEN_BYTES];
    if (w->folds) {
        double real;
        AK_DO(ak_expr_real(&real, ak_written_text(buffer, value), w->scope, w->where, w->err));
        return (double)(int64_t)real == real
                   ? ak_scope_set_int(w->scope, name, (int64_t)real, w->err)
                   : ak_scope_set_real(w->scope, name, real, w->err);
    }
    json_auto_t *one = json_object();
    AK_DO(ak_stored(ak_json_set_text(one, "name", name), w->err));
    AK_DO(set(one, "value", value, 0, w));
    AK_DO(ak_stored(json_array_append(list, one) == 0, w->err));
    w->open[w->open_count++] = name;
    return AK_OK;
}

static size_t argument_of(const ak_problem *problem, const char *name)
{
    size_t i = 0;
    while (i + 1 < problem->argument_count && strcmp(problem->arguments[i].name, name) != 0) {
        i++;
    }
    return i; /* the space file was checked when it was loaded */
}

static ak_status write_map(json_t *list, const json_t *map, writer *w)
{
    const size_t argument = argument_of(w->task->problem, ak_json_text_at(map, "Buffer"));
    json_auto_t *one = json_object();
    AK_DO(ak_stored(ak_json_set_count(one, "argument", argument), w->err));
    AK_DO(set(one, "use", json_object_get(map, "Use"), 1, w));
    AK_DO(set(one, "workspace", json_object_get(map, "Workspace"), -1, w));
    AK_DO(set(one, "swizzle", json_object_get(map, "Swizzle"), 0, w));
    AK_DO(set(one, "promotion", json_object_get(map, "Promotion"), 0, w));
    AK_DO(set_list(one, "sizes", json_object_get(map, "Sizes"), 0, w));
    AK_DO(set_list(one, "box", json_object_get(map, "Box"), 0, w));
    if (json_array_size(json_object_get(map, "Strides")) > 0) {
        AK_DO(set_list(one, "strides", json_object_get(map, "Strides"), 0, w));
    } else if (!ak_json_set(one, "strides", json_array())) {
        return ak_fail_memory(w->err);
    }
    return ak_stored(json_array_append(list, one) == 0, w->err);
}

/* Returns AK_INVALID if the expression reads a name that gets its value only at a launch. */
static ak_status is_constant(const char *text, writer *w)
{
    AK_AT_END(ak_expr_free_at) ak_expr *expr = NULL;
    const char *const *names;
    AK_DO(ak_expr_parse(&expr, text, w->where, w->err));
    size_t count = ak_expr_names(&names, expr);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < w->open_count; k++) {
            AK_FAIL_IF(strcmp(names[i], w->open[k]) == 0, w->err, AK_INVALID,
                       "%s: \"%.160s\": a real number that depends on %s", w->where, text,
                       w->open[k]);
        }
    }
    return AK_OK;
}

/* Writes a real number as the bits of a double. */
static ak_status set_real(json_t *object, const char *key, const json_t *value, writer *w)
{
    char buffer[AK_WRITTEN_BYTES], bits[17];
    double real;
    uint64_t raw;
    const char *text = ak_written_text(buffer, value);
    AK_DO(is_constant(text, w));
    AK_DO(ak_expr_real(&real, text, w->scope, w->where, w->err));
    memcpy(&raw, &real, sizeof raw);
    (void)snprintf(bits, sizeof bits, "%016llx", (unsigned long long)raw);
    return ak_stored(ak_json_set_text(object, key, bits), w->err);
}

static ak_status write_pass(json_t *list, const json_t *pass, const json_t *maps, writer *w)
{
    json_auto_t *one = json_object();
    const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)pass));
    const json_t *value = json_object_get(pass, key);
    ak_dtype dtype;
    bool good = one != NULL;
    if (strcmp(key, "Buffer") == 0) {
        size_t argument = argument_of(w->task->problem, json_string_value(value));
        good = ak_json_set_count(one, "buffer", argument);
    } else if (strcmp(key, "TensorMap") == 0) {
        size_t i = 0;
        while (i + 1 < json_array_size(maps) &&
               !ak_json_text_is(json_array_get(maps, i), "Name", json_string_value(value))) {
            i++;
        }
        good = ak_json_set_count(one, "map", i);
    } else if (strcmp(key, "Workspace") == 0 || strcmp(key, "Null") == 0) {
        good = ak_json_set(one, key[0] == 'W' ? "workspace" : "null", json_true());
    } else if (!ak_dtype_parse_scalar(&dtype, key)) {
        return ak_fail(w->err, AK_INTERNAL, "%s: an argument is \"%.40s\"", w->where, key);
    } else if (ak_dtype_is_float(dtype)) {
        AK_DO(set_real(one, ak_dtype_text(dtype), value, w));
    } else {
        AK_DO(set(one, ak_dtype_text(dtype), value, 0, w));
    }
    return ak_stored(good && json_array_append(list, one) == 0, w->err);
}

static bool is_never_used(const json_t *program)
{
    return json_array_size(program) == 1 && json_is_integer(json_array_get(program, 0)) &&
           json_integer_value(json_array_get(program, 0)) == 0;
}

static ak_status check_constants(const json_t *launch, const writer *w)
{
    AK_FAIL_IF(json_object_get(launch, "Constants") != NULL, w->err, AK_INVALID,
               "%s: \"Constants\" cannot be exported: the runtime copies nothing to constant "
               "memory; pass these arguments as \"Buffer\"",
               w->where);
    return AK_OK;
}

static ak_status write_kernel(json_t *out, const json_t *launch, const ak_config *config, writer *w)
{
    const ak_task *task = w->task;
    const char *specialised = ak_json_text_at(launch, "SizedKernelName");
    const char *entry = ak_json_text_at(launch, "KernelName");
    const json_t *lets = json_object_get(launch, "Let"),
                 *maps = json_object_get(launch, "TensorMaps"),
                 *passes = json_object_get(launch, "Arguments");
    json_auto_t *one = json_object(), *let = json_array(), *map = json_array(),
                *pass = json_array();
    ak_status status = AK_OK;
    AK_TRY(ak_stored(one != NULL && let != NULL && map != NULL && pass != NULL, w->err));
    AK_TRY(ak_task_scope(&w->scope, task, &task->shape, config, w->err));
    w->open_count = 0;
    for (size_t i = 0; i < task->problem->size_count && !w->folds; i++) {
        w->open[w->open_count++] = task->problem->sizes[i].name;
    }
    w->open[w->open_count++] = RESIDENT;
    AK_TRY(ak_stored(
        ak_json_set_text(one, "entry", entry[0] != 0 ? entry : task->implementation->kernel_name) &&
            ak_json_set_text(one, "specialised", specialised[0] == 0 ? NULL : specialised),
        w->err));
    AK_TRY(set(one, "use", json_object_get(launch, "Use"), 1, w));
    if (is_never_used(json_object_get(one, "use"))) {
        goto out; /* the kernel is not launched with this configuration, and may be compiled out */
    }
    for (size_t i = 0; i < json_array_size(lets); i++) {
        AK_TRY(write_let(let, json_array_get(lets, i), w));
    }
    AK_TRY(set_list(one, "block", json_object_get(launch, "Block"), EXTENTS, w));
    AK_TRY(set_list(one, "cluster", json_object_get(launch, "Cluster"), EXTENTS, w));
    AK_TRY(set_list(one, "grid", json_object_get(launch, "Grid"), EXTENTS, w));
    AK_TRY(set(one, "shared", json_object_get(launch, "SharedMemory"), 0, w));
    AK_TRY(set(one, "early", json_object_get(launch, "LaunchEarly"), 0, w));
    for (size_t i = 0; i < json_array_size(maps); i++) {
        AK_TRY(write_map(map, json_array_get(maps, i), w));
    }
    for (size_t i = 0; i < json_array_size(passes); i++) {
        AK_TRY(write_pass(pass, json_array_get(passes, i), maps, w));
    }
    AK_TRY(ak_stored(
        ak_json_set(one, "let", json_incref(let)) && ak_json_set(one, "maps", json_incref(map)) &&
            ak_json_set(one, "arguments", json_incref(pass)) && json_array_append(out, one) == 0,
        w->err));
out:
    ak_scope_free(w->scope);
    w->scope = NULL;
    return status;
}

ak_status ak_bundle_launch(json_t **out, const ak_bundle_case *one, bool one_size, ak_error *err)
{
    const ak_implementation_spec *implementation = one->task->implementation;
    const json_t *launch = implementation->launch;
    json_auto_t *list = json_array();
    size_t count = json_is_array(launch) ? json_array_size(launch) : 1;
    writer w = {.task = one->task, .folds = one_size, .err = err};
    AK_DO(ak_made(list, err));
    (void)snprintf(w.where, sizeof w.where, "%.200s: Launch", implementation->where);
    for (size_t i = 0; i < count; i++) {
        const json_t *kernel = json_is_array(launch) ? json_array_get(launch, i) : launch;
        AK_DO(check_constants(kernel, &w));
        AK_DO(write_kernel(list, kernel, &one->config, &w));
    }
    *out = json_incref(list);
    return AK_OK;
}
