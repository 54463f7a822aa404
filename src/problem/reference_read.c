/* reference_read.c: reads "reference" of problem.json, which says what results are compared with.
   judge/ runs the reference (judge/references.def). */
#include "problem/problem_read.h"

#include <string.h>

#include "base/utf8.h"
#include "problem/kernel_files.h"
#include "base/alloc.h"
#include "base/fs.h"
#include "base/hash.h"

#define DEVICE_REFERENCE "reference.cu"

ak_status ak_problem_read_data(const char **out, const char *name, ak_problem_reader *r)
{
    AK_FREED char *bytes = NULL;
    char path[AK_PATH_MAX], hash[AK_HASH_QUICK_BYTES];
    size_t length = 0;
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(AK_SOURCE_BYTES_MAX);
    AK_DO(ak_kernel_locate(path, r->files, name, r->err));
    AK_DO(ak_fs_read(&bytes, &length, path, AK_DATA_BYTES_MAX, r->err));
    ak_hash_quick(hash, bytes, length);
    /* Results depend on the file's content, so its hash is part of their identity. */
    ak_buf_print(&known, "%s%s %s\n", r->problem->data, name, hash);
    AK_DO(ak_buf_status(&known, r->err));
    AK_DO(ak_problem_text(&r->problem->data, r->problem, known.data, r->err));
    return ak_problem_text(out, r->problem, path, r->err);
}

/* Sets how outputs name the reference. */
static ak_status name_it(ak_problem_reader *r, const char *before, const char *name,
                         const char *after)
{
    char text[3 * AK_KERNEL_NAME_MAX + 64];
    (void)snprintf(text, sizeof text, "%s%.120s%s", before, name, after);
    return ak_problem_text(&r->problem->reference.text, r->problem, text, r->err);
}

/* Reads a source file: "reference.c", "reference.py" or "reference.py:function". */
static ak_status read_file(const char *name, const ak_kernel_files *files, ak_problem_reader *r)
{
    ak_problem *problem = r->problem;
    ak_reference_spec *out = &problem->reference;
    char file[AK_PATH_MAX];
    const char *colon = strrchr(name, ':');
    size_t length = colon == NULL ? strlen(name) : (size_t)(colon - name);
    (void)snprintf(file, sizeof file, "%.*s", (int)length, name);
    bool python = ak_fs_has_suffix(file, ".py");
    AK_FAIL_IF(colon != NULL && !python, r->err, AK_INVALID,
               "%s: \"reference\": only a Python file is followed by a function", r->path);
    out->kind = python ? "python" : "c";
    out->function = python ? (colon == NULL ? "reference" : colon + 1) : "ak_reference";
    AK_DO(ak_problem_text(&out->name, problem, file, r->err));
    if (ak_kernel_read(&problem->reference_source, problem, files, file, r->err) != AK_OK) {
        return ak_fail_within(r->err, "%s: \"reference\"", r->path);
    }
    problem->reference_source += ak_utf8_mark(problem->reference_source);
    AK_FAIL_IF(problem->reference_source[0] == 0, r->err, AK_INVALID,
               "%s: the reference \"%s\" is empty", r->path, file);
    AK_DO(python ? ak_modules_read(problem, files, r->err) : AK_OK);
    AK_DO(python ? name_it(r, "Python function ", name, colon == NULL ? ":reference" : "")
                 : name_it(r, "C function in ", name, ""));
    return ak_kernel_has(files, DEVICE_REFERENCE)
               ? ak_kernel_read(&problem->device_reference, problem, files, DEVICE_REFERENCE,
                                r->err)
               : AK_OK;
}

/* Reads the arrays that hold the right results, one for each argument that is written. What a
   kernel reads must come from files or be constant, because the results are right for one set of
   inputs only. */
static ak_status read_arrays(const json_t *arrays, ak_problem_reader *r)
{
    ak_problem *problem = r->problem;
    const char *names[AK_ARGUMENTS_MAX + 1] = {NULL}, *first = NULL;
    (void)snprintf(r->where, sizeof r->where, "%s: \"reference\": \"arrays\"", r->path);
    for (size_t i = 0; i < problem->argument_count; i++) {
        names[i] = problem->arguments[i].name;
    }
    AK_DO(ak_problem_check_object(arrays, names, r));
    for (size_t i = 0; i < problem->argument_count; i++) {
        const ak_argument_spec *argument = &problem->arguments[i];
        const char *name = NULL;
        AK_DO(ak_json_string_or(&name, arrays, argument->name, NULL, r->where, r->err));
        bool fixed = argument->fill == AK_FILL_FILE || argument->fill == AK_FILL_CONSTANT;
        AK_FAIL_IF(argument->access != AK_ACCESS_OUT && !fixed, r->err, AK_INVALID,
                   "%s: %s is filled at random, so no array can be right: give it \"fill\": "
                   "\"file(NAME.npy)\" or \"constant(...)\"",
                   r->where, argument->name);
        AK_FAIL_IF((argument->access == AK_ACCESS_IN) != (name == NULL), r->err, AK_INVALID,
                   name == NULL ? "%s: the right result of %s is missing"
                                : "%s: %s is an input; its file belongs to its \"fill\"",
                   r->where, argument->name);
        if (name != NULL) {
            first = first == NULL ? name : first;
            AK_DO(ak_problem_read_data(&problem->reference.array[i], name, r));
        }
    }
    AK_FAIL_IF(problem->edge_case_count > 0, r->err, AK_INVALID,
               "%s hold the results of one size, so \"awkward\" must be empty", r->where);
    problem->reference.kind = "arrays";
    problem->reference_source = "arrays";
    return name_it(r, "arrays in files (", first, "), one size only");
}

ak_status ak_problem_read_reference(const ak_kernel_files *files, ak_problem_reader *r)
{
    static const char *const kinds[] = {"arrays", "implementation", NULL};
    ak_problem *problem = r->problem;
    const json_t *json = json_object_get(r->json, "reference");
    const char *name = json_string_value(json);
    if (name != NULL && strcmp(name, "default") == 0) {
        problem->reference.kind = problem->reference_source = "default";
        return name_it(r, "agrees with the default configuration", "", " (the weakest reference)");
    }
    if (name != NULL) {
        return read_file(name, files, r);
    }
    AK_FAIL_IF(json == NULL, r->err, AK_INVALID, "%s: \"reference\" is missing", r->path);
    AK_FAIL_IF(!json_is_object(json) || json_object_size(json) != 1, r->err, AK_INVALID,
               "%s: \"reference\" must be a C file, a Python file with or without \":function\", "
               "{\"arrays\": {...}}, {\"implementation\": \"...\"} or \"default\"",
               r->path);
    (void)snprintf(r->where, sizeof r->where, "%s: \"reference\"", r->path);
    AK_DO(ak_json_only(json, kinds, r->where, r->err));
    if (json_object_get(json, "arrays") != NULL) {
        return read_arrays(json_object_get(json, "arrays"), r);
    }
    AK_DO(ak_json_string(&name, json, "implementation", r->where, r->err));
    problem->reference.kind = problem->reference_source = "kernel";
    problem->reference.name = name;
    return name_it(r, "implementation ", name, " of the same problem");
}
