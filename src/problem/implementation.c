/* implementation.c: the KernelSpecification of a space file: which sources, joined into one text,
   and how they are compiled. The parameters themselves are read when a task is bound
   (space_read.c). */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "problem/expr.h"
#include "problem/launch.h"

static const char *const our_keys[] = {
    "Language", "KernelName", "KernelFile", "Include",        "CompilerOptions",    "Workspace",
    "Threads",  "GlobalSize", "LocalSize",  "GlobalSizeType", "SharedMemory",       "ProblemSize",
    "GridDivX", "GridDivY",   "GridDivZ",   "Arguments",      "ReferenceArguments", "BenchmarkName",
    "Stream",   "Misc",       "Dtypes",     "Needs",          "Architecture",       "Launch",
    "Defines",  NULL};

static ak_status check_keys(const json_t *object, const char *where, ak_error *err)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const char *near = ak_text_nearest(key, our_keys);
        if (near != NULL && strcmp(near, key) != 0) {
            return ak_fail(err, AK_INVALID, "%s: unknown key \"%.60s\"; did you mean \"%s\"?",
                           where, key, near);
        }
    }
    return AK_OK;
}

static ak_status read_strings(const char *const **out, size_t *count, ak_problem *problem,
                              const json_t *object, const char *key, size_t max, const char *where,
                              ak_error *err)
{
    json_t *array;
    ak_status status = ak_json_array_or_null(&array, object, key, where, err);
    if (status != AK_OK) {
        return status;
    }
    *count = json_array_size(array);
    if (*count > max) {
        return ak_fail(err, AK_LIMIT, "%s: \"%s\" has more than %zu entries", where, key, max);
    }
    const char **list = ak_arena_alloc(problem->arena, (*count + 1) * sizeof *list);
    if (list == NULL) {
        return ak_fail_memory(err);
    }
    for (size_t i = 0; i < *count; i++) {
        list[i] = json_string_value(json_array_get(array, i));
        if (list[i] == NULL) {
            return ak_fail(err, AK_INVALID, "%s: \"%s\" must be a list of texts", where, key);
        }
    }
    *out = list;
    return AK_OK;
}

static ak_status add_source(ak_buf *source, ak_problem *problem, const ak_kernel_files *files,
                            const char *name, ak_error *err)
{
    const char *text;
    ak_status status = ak_kernel_read(&text, problem, files, name, err);
    if (status == AK_OK) {
        /* the compiler's messages then name the file that people know */
        ak_buf_print(source, "#line 1 \"%s\"\n", name);
        ak_buf_puts(source, text);
        ak_buf_puts(source, "\n");
        status = ak_buf_status(source, err);
    }
    return status;
}

static ak_status read_source(ak_implementation_spec *implementation, ak_problem *problem,
                             const ak_kernel_files *files, const json_t *kernel, ak_error *err)
{
    const char *where = implementation->where, *file;
    const char *const *includes = NULL;
    size_t count = 0;
    ak_buf source = AK_BUF(AK_SOURCE_BYTES_MAX);
    ak_status status =
        read_strings(&includes, &count, problem, kernel, "Include", AK_INCLUDES_MAX, where, err);
    if (status == AK_OK) {
        status = ak_json_string(&file, kernel, "KernelFile", where, err);
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        status = add_source(&source, problem, files, includes[i], err);
    }
    if (status == AK_OK) {
        status = add_source(&source, problem, files, file, err);
    }
    if (status == AK_OK) {
        status = ak_problem_text(&implementation->source, problem, source.data, err);
    }
    ak_buf_free(&source);
    return status == AK_OK || status == AK_NO_MEMORY ? status : ak_fail_within(err, "%s", where);
}

/* Parsed only to find mistakes early; names are known when a task is bound. */
static ak_status read_expression(const char **out, const json_t *kernel, const char *key,
                                 const char *fallback, const char *where, ak_error *err)
{
    char place[256];
    ak_expr *expr;
    ak_status status = ak_json_string_or(out, kernel, key, fallback, where, err);
    if (status == AK_OK) {
        (void)snprintf(place, sizeof place, "%.200s: %s", where, key);
        status = ak_expr_parse(&expr, *out, place, err);
    }
    if (status == AK_OK) {
        ak_expr_free(expr);
    }
    return status;
}

/* Macros that depend on the task, as expressions. */
static ak_status read_defines(ak_implementation_spec *implementation, const json_t *kernel,
                              ak_error *err)
{
    json_t *defines, *value;
    const char *where = implementation->where, *name, *text;
    ak_status status = ak_json_object_or_null(&defines, kernel, "Defines", where, err);
    if (status != AK_OK) {
        return status;
    }
    json_object_foreach(defines, name, value)
    {
        if (!ak_expr_is_name(name) || strlen(name) > AK_KERNEL_NAME_MAX) {
            status = ak_fail(err, AK_INVALID, "%s: Defines: \"%.60s\" is no name", where, name);
        } else {
            status = read_expression(&text, defines, name, "", where, err);
        }
        if (status != AK_OK) {
            break;
        }
    }
    implementation->defines = defines;
    return status;
}

/* Which dtypes it computes in; each must be one of the problem's. */
static ak_status read_dtypes(ak_implementation_spec *implementation, ak_problem *problem,
                             const json_t *kernel, ak_error *err)
{
    const char *const *names = NULL;
    size_t count = 0;
    unsigned dtypes = 0;
    ak_dtype dtype;
    ak_status status = read_strings(&names, &count, problem, kernel, "Dtypes", AK_INCLUDES_MAX,
                                    implementation->where, err);
    for (size_t i = 0; status == AK_OK && i < count; i++) {
        bool known = ak_dtype_parse(&dtype, names[i]), has = false;
        for (size_t d = 0; known && d < problem->dtype_count; d++) {
            has = has || problem->dtypes[d] == dtype;
        }
        if (!has) {
            return ak_fail(err, AK_INVALID, "%s: Dtypes: \"%.40s\" is no dtype of %s",
                           implementation->where, names[i], problem->name);
        }
        dtypes |= 1u << dtype;
    }
    implementation->dtypes = count == 0 ? ~0u : dtypes;
    return status;
}

static ak_status read_needs(ak_implementation_spec *implementation, const json_t *kernel,
                            ak_error *err)
{
    static const char *const keys[] = {"Expression", "Description", NULL};
    json_t *needs;
    const char *where = implementation->where, *text, *reason;
    ak_status status = ak_json_array_or_null(&needs, kernel, "Needs", where, err);
    for (size_t i = 0; status == AK_OK && i < json_array_size(needs); i++) {
        const json_t *need = json_array_get(needs, i);
        status = ak_json_only(need, keys, where, err);
        status =
            status == AK_OK ? read_expression(&text, need, "Expression", "", where, err) : status;
        status =
            status == AK_OK ? ak_json_string(&reason, need, "Description", where, err) : status;
    }
    implementation->needs = needs;
    return status;
}

static ak_status read_launch(ak_implementation_spec *implementation, const ak_problem *problem,
                             const json_t *kernel, ak_error *err)
{
    const char *where = implementation->where;
    implementation->launch = json_object_get(kernel, "Launch");
    implementation->sized =
        implementation->launch != NULL && ak_launch_is_sized(implementation->launch);
    ak_status status = ak_json_string_or(&implementation->kernel_name, kernel, "KernelName",
                                         "ak_kernel", where, err);
    if (status == AK_OK) {
        status = ak_json_string_or(&implementation->architecture, kernel, "Architecture", NULL,
                                   where, err);
    }
    return status == AK_OK && implementation->launch != NULL
               ? ak_launch_check(implementation->launch, problem, where, err)
               : status;
}

ak_status ak_implementation_read(ak_problem *problem, const ak_kernel_files *files,
                                 const char *name, const char *backend, const json_t *definition,
                                 const char *where, ak_error *err)
{
    ak_implementation_spec *implementation =
        &problem->implementations[problem->implementation_count];
    json_t *space, *kernel;
    *implementation = (ak_implementation_spec){.definition = definition,
                                               .where = where,
                                               .source = "",
                                               .workspace = "0",
                                               .threads = "1",
                                               .kernel_name = "ak_kernel",
                                               .dtypes = ~0u};
    ak_status status = ak_problem_text(&implementation->name, problem, name, err);
    if (status == AK_OK) {
        status = ak_problem_text(&implementation->backend, problem, backend, err);
    }
    if (status == AK_OK) {
        status = ak_json_object_or_null(&space, definition, "ConfigurationSpace", where, err);
    }
    if (status == AK_OK && space == NULL) {
        status = ak_fail(err, AK_INVALID, "%s: \"ConfigurationSpace\" is missing", where);
    }
    if (status == AK_OK) {
        status = ak_json_object_or_null(&kernel, definition, "KernelSpecification", where, err);
    }
    if (status == AK_OK && kernel == NULL && files != NULL) {
        status = ak_fail(err, AK_INVALID, "%s: \"KernelSpecification\" is missing", where);
    }
    if (status == AK_OK && kernel != NULL) {
        status = read_strings(&implementation->options, &implementation->option_count, problem,
                              kernel, "CompilerOptions", AK_INCLUDES_MAX, where, err);
        if (status == AK_OK && files != NULL) {
            status = check_keys(kernel, where, err);
        }
        if (status == AK_OK && files != NULL) {
            status = read_source(implementation, problem, files, kernel, err);
        }
        if (status == AK_OK) {
            status =
                read_expression(&implementation->workspace, kernel, "Workspace", "0", where, err);
        }
        if (status == AK_OK) {
            status = read_expression(&implementation->threads, kernel, "Threads", "1", where, err);
        }
        if (status == AK_OK && files != NULL) {
            status = read_dtypes(implementation, problem, kernel, err);
        }
        if (status == AK_OK && files != NULL) {
            status = read_defines(implementation, kernel, err);
        }
        if (status == AK_OK && files != NULL) {
            status = read_needs(implementation, kernel, err);
        }
        if (status == AK_OK && files != NULL) {
            status = read_launch(implementation, problem, kernel, err);
        }
    }
    problem->implementation_count += status == AK_OK ? 1 : 0;
    return status;
}
