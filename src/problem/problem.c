/* problem.c: finds a kernel, loads its folder, and says what is in it. */
#include "problem/problem.h"

#include <string.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "problem/kernel_files.h"

#define BUILTIN_FOLDER "kernels/"
#define PROBLEM_FILE   "problem.json"
#define DESCRIBE_MAX   65536

/* ---- dtypes ---------------------------------------------------------------------------------- */

static const struct {
    const char *text;
    size_t bytes;
    double epsilon;
} dtypes[] = {
#define DTYPE_ROW(name, text, bytes, eps) {text, bytes, eps},
    AK_DTYPE_MAP(DTYPE_ROW)
#undef DTYPE_ROW
};

size_t ak_dtype_bytes(ak_dtype dtype)
{
    return dtypes[dtype].bytes;
}

double ak_dtype_epsilon(ak_dtype dtype)
{
    return dtypes[dtype].epsilon;
}

const char *ak_dtype_text(ak_dtype dtype)
{
    return dtypes[dtype].text;
}

bool ak_dtype_parse(ak_dtype *out, const char *text)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(dtypes[i].text, text) == 0) {
            *out = (ak_dtype)i;
            return true;
        }
    }
    return false;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool is_space_file(const char *name)
{
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0 && name[0] != '.' &&
           strcmp(name, PROBLEM_FILE) != 0;
}

static ak_status read_space_file(ak_problem *problem, const ak_kernel_files *files,
                                 const char *file, ak_error *err)
{
    json_t *definition;
    const char *where;
    char name[AK_KERNEL_NAME_MAX + 1], backend[AK_KERNEL_NAME_MAX + 1];
    size_t length = strlen(file) - strlen(".json");
    if (problem->implementation_count == AK_IMPLEMENTATIONS_MAX) {
        return ak_fail(err, AK_LIMIT, "%s has more than %d implementations", files->folder,
                       AK_IMPLEMENTATIONS_MAX);
    }
    if (length > AK_KERNEL_NAME_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: the name of \"%.80s\" is longer than %d bytes",
                       files->folder, file, AK_KERNEL_NAME_MAX);
    }
    memcpy(name, file, length);
    name[length] = 0;
    memcpy(backend, name, length + 1);
    backend[strcspn(backend, "_")] = 0;
    ak_status status = ak_kernel_read_json(&definition, &where, problem, files, file, err);
    return status == AK_OK
               ? ak_implementation_read(problem, files, name, backend, definition, where, err)
               : status;
}

/* The built-in files directly in the folder come sorted, because all are. */
static ak_status read_builtin_spaces(ak_problem *problem, const ak_kernel_files *files,
                                     ak_error *err)
{
    size_t prefix = strlen(files->folder);
    ak_status status = AK_OK;
    for (size_t i = 0; i < ak_asset_count && status == AK_OK; i++) {
        const char *path = ak_assets[i].path;
        if (strncmp(path, files->folder, prefix) == 0 && path[prefix] == '/' &&
            strchr(path + prefix + 1, '/') == NULL && is_space_file(path + prefix + 1)) {
            status = read_space_file(problem, files, path + prefix + 1, err);
        }
    }
    return status;
}

static ak_status read_folder_spaces(ak_problem *problem, const ak_kernel_files *files,
                                    ak_error *err)
{
    char **names;
    size_t count;
    ak_status status = ak_fs_list(&names, &count, files->folder, err);
    if (status != AK_OK) {
        return status;
    }
    for (size_t i = 0; i < count && status == AK_OK; i++) {
        if (is_space_file(names[i])) {
            status = read_space_file(problem, files, names[i], err);
        }
    }
    ak_fs_list_free(names, count);
    return status;
}

static ak_status read_kernel(ak_problem *problem, const ak_kernel_files *files, ak_error *err)
{
    json_t *json;
    ak_status status =
        ak_kernel_read_json(&json, &problem->where, problem, files, PROBLEM_FILE, err);
    if (status == AK_OK) {
        status = ak_problem_read(problem, files, json, err);
    }
    if (status != AK_OK) {
        return status;
    }
    problem->builtin = files->builtin;
    problem->implementations =
        ak_arena_alloc(problem->arena, AK_IMPLEMENTATIONS_MAX * sizeof *problem->implementations);
    if (problem->implementations == NULL) {
        return ak_fail_memory(err);
    }
    status = files->builtin ? read_builtin_spaces(problem, files, err)
                            : read_folder_spaces(problem, files, err);
    if (status == AK_OK && problem->implementation_count == 0) {
        status = ak_fail(err, AK_INVALID,
                         "%s has no implementation: a space file such as host.json is missing",
                         files->folder);
    }
    return status;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The name of the built-in kernel that an asset is the problem file of, or "". */
static bool builtin_name(char out[AK_KERNEL_NAME_MAX + 1], const ak_asset *asset)
{
    const char *name = asset->path + strlen(BUILTIN_FOLDER);
    if (strncmp(asset->path, BUILTIN_FOLDER, strlen(BUILTIN_FOLDER)) != 0) {
        return false;
    }
    size_t length = strcspn(name, "/");
    if (length == 0 || length > AK_KERNEL_NAME_MAX ||
        strcmp(name + length, "/" PROBLEM_FILE) != 0) {
        return false;
    }
    memcpy(out, name, length);
    out[length] = 0;
    return true;
}

bool ak_problem_is_builtin(const char *name)
{
    char builtin[AK_KERNEL_NAME_MAX + 1];
    for (size_t i = 0; i < ak_asset_count; i++) {
        if (builtin_name(builtin, &ak_assets[i]) && strcmp(builtin, name) == 0) {
            return true;
        }
    }
    return false;
}

static ak_status unknown_kernel(const char *name, ak_error *err)
{
    char builtin[AK_KERNEL_NAME_MAX + 1], near[AK_KERNEL_NAME_MAX + 1] = "";
    ak_buf list = AK_BUF(256);
    size_t closest = SIZE_MAX;
    for (size_t i = 0; i < ak_asset_count; i++) {
        if (builtin_name(builtin, &ak_assets[i])) {
            const char *const one[] = {builtin, NULL};
            size_t distance = ak_text_distance(name, builtin);
            ak_buf_print(&list, "%s%s", list.length == 0 ? "" : ", ", builtin);
            if (distance < closest && ak_text_nearest(name, one) != NULL) {
                closest = distance;
                memcpy(near, builtin, sizeof near);
            }
        }
    }
    ak_status status =
        *near != 0
            ? ak_fail(err, AK_NOT_FOUND, "unknown kernel \"%.100s\"; did you mean \"%s\"?", name,
                      near)
            : ak_fail(err, AK_NOT_FOUND,
                      "unknown kernel \"%.100s\": it is neither built in (%s) nor a folder with a "
                      "problem.json nor a T1 file",
                      name, list.data);
    ak_buf_free(&list);
    return status;
}

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* A name means one thing: what the archive holds under the names of a built-in kernel and its
   implementations is of these, and a folder that has the same names must hold the same. */
static ak_status check_names(const ak_problem *problem, ak_error *err)
{
    ak_problem *builtin;
    if (problem->builtin || !ak_problem_is_builtin(problem->name)) {
        return AK_OK;
    }
    ak_status status = ak_problem_open(&builtin, problem->name, err);
    if (status != AK_OK) {
        return status;
    }
    if (!json_equal(problem->documents[0], builtin->documents[0]) ||
        !same_text(problem->reference_source, builtin->reference_source) ||
        !same_text(problem->device_reference, builtin->device_reference)) {
        status = ak_fail(err, AK_INVALID,
                         "%s: the built-in kernel \"%s\" computes something else or is checked in "
                         "another way: give this one another name",
                         problem->where, problem->name);
    }
    for (size_t i = 0; status == AK_OK && i < problem->implementation_count; i++) {
        const ak_implementation_spec *mine = &problem->implementations[i], *theirs;
        if (ak_problem_find(&theirs, builtin, mine->name, NULL) == AK_OK &&
            (!json_equal(mine->definition, theirs->definition) ||
             strcmp(mine->source, theirs->source) != 0)) {
            status = ak_fail(err, AK_INVALID,
                             "%s: the built-in kernel \"%s\" has another implementation \"%s\": "
                             "rename this file, to %s_mine.json for example",
                             mine->where, problem->name, mine->name, mine->backend);
        }
    }
    ak_problem_close(builtin);
    return status;
}

static ak_status open_named(ak_problem *problem, const char *name, ak_error *err)
{
    ak_kernel_files *files = ak_alloc(1, sizeof *files);
    if (files == NULL) {
        return ak_fail_memory(err);
    }
    char path[AK_PATH_MAX];
    size_t length = strlen(name);
    const char *slash = strrchr(name, '/'), *base = slash == NULL ? name : slash + 1;
    ak_status status;
    if (ak_problem_is_builtin(name)) {
        files->builtin = true;
        (void)snprintf(files->folder, sizeof files->folder, "%s%s", BUILTIN_FOLDER, name);
        status = read_kernel(problem, files, err);
    } else if (ak_fs_is_folder(name)) {
        while (length > 1 && name[length - 1] == '/') {
            length--;
        }
        memcpy(files->folder, name, length);
        status = ak_fs_join(path, files->folder, PROBLEM_FILE, err);
        if (status == AK_OK && !ak_fs_is_file(path)) {
            status = ak_fail(err, AK_NOT_FOUND, "%s: the folder has no %s, so it is no kernel",
                             files->folder, PROBLEM_FILE);
        }
        status = status == AK_OK ? read_kernel(problem, files, err) : status;
    } else if (!ak_fs_is_file(name)) {
        status = unknown_kernel(name, err);
    } else if (strcmp(base, PROBLEM_FILE) == 0) {
        if (slash == NULL) {
            memcpy(files->folder, ".", 2);
        } else {
            memcpy(files->folder, name, slash == name ? 1 : (size_t)(slash - name));
        }
        status = read_kernel(problem, files, err);
    } else {
        status = ak_t1_open(problem, name, err);
    }
    ak_free(files);
    return status == AK_OK ? check_names(problem, err) : status;
}

ak_status ak_problem_open(ak_problem **out, const char *name, ak_error *err)
{
    if (name == NULL || *name == 0) {
        return ak_fail(err, AK_INVALID, "no kernel is named");
    }
    if (strlen(name) >= AK_PATH_MAX) {
        return ak_fail(err, AK_LIMIT, "the name of the kernel is longer than %d bytes",
                       AK_PATH_MAX);
    }
    ak_problem *problem = ak_alloc(1, sizeof *problem);
    if (problem == NULL) {
        return ak_fail_memory(err);
    }
    problem->arena = ak_arena_new();
    ak_status status =
        problem->arena == NULL ? ak_fail_memory(err) : open_named(problem, name, err);
    if (status != AK_OK) {
        ak_problem_close(problem);
        return status;
    }
    *out = problem;
    return AK_OK;
}

ak_status ak_problem_of_space(ak_problem **out, const char *name, json_t *document,
                              const char *where, ak_error *err)
{
    ak_problem *problem = ak_alloc(1, sizeof *problem);
    if (problem == NULL) {
        json_decref(document);
        return ak_fail_memory(err);
    }
    problem->arena = ak_arena_new();
    ak_status status = ak_problem_keep(problem, document, err);
    if (status == AK_OK) {
        status = problem->arena == NULL ? ak_fail_memory(err)
                                        : ak_t1_fill(problem, name, document, where, err);
    }
    if (status != AK_OK) {
        ak_problem_close(problem);
        return status;
    }
    *out = problem;
    return AK_OK;
}

void ak_problem_close(ak_problem *problem)
{
    if (problem != NULL) {
        for (size_t i = 0; i < problem->document_count; i++) {
            json_decref(problem->documents[i]);
        }
        ak_free(problem->documents);
        ak_arena_free(problem->arena);
        ak_free(problem);
    }
}

/* ---- looking --------------------------------------------------------------------------------- */

const char *ak_problem_name(const ak_problem *problem)
{
    return problem->name;
}

const char *ak_problem_description(const ak_problem *problem)
{
    return problem->description;
}

size_t ak_problem_implementation_count(const ak_problem *problem)
{
    return problem->implementation_count;
}

const char *ak_problem_implementation(const ak_problem *problem, size_t index)
{
    return index < problem->implementation_count ? problem->implementations[index].name : NULL;
}

ak_status ak_problem_runnable(const ak_problem *problem, ak_error *err)
{
    if (problem->reference_source[0] != 0) {
        return AK_OK;
    }
    return ak_fail(
        err, AK_INVALID,
        "%s is a tuning space without a problem: to compile, check and time it, it needs "
        "a kernel folder with a problem.json, a reference and its source",
        problem->where);
}

ak_status ak_problem_find(const ak_implementation_spec **out, const ak_problem *problem,
                          const char *name, ak_error *err)
{
    const char *names[AK_IMPLEMENTATIONS_MAX + 1] = {NULL};
    ak_buf list = AK_BUF(300);
    for (size_t i = 0; i < problem->implementation_count; i++) {
        names[i] = problem->implementations[i].name;
        ak_buf_print(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
        if (strcmp(names[i], name) == 0) {
            ak_buf_free(&list);
            *out = &problem->implementations[i];
            return AK_OK;
        }
    }
    const char *near = ak_text_nearest(name, names);
    ak_status status =
        near != NULL
            ? ak_fail(err, AK_NOT_FOUND, "%s has no implementation \"%.60s\"; did you mean \"%s\"?",
                      problem->name, name, near)
            : ak_fail(err, AK_NOT_FOUND, "%s has no implementation \"%.60s\"; it has %s",
                      problem->name, name, list.data);
    ak_buf_free(&list);
    return status;
}

static void describe_argument(ak_buf *text, const ak_problem *problem, size_t i)
{
    static const char *const accesses[] = {"in", "out", "inout"};
    const ak_argument_spec *argument = &problem->arguments[i];
    ak_buf_print(text, "argument        %s: %s, %s[", argument->name, accesses[argument->access],
                 argument->dtype_follows ? "dtype" : ak_dtype_text(argument->dtype));
    for (size_t d = 0; d < argument->rank; d++) {
        ak_buf_print(text, "%s%s", d == 0 ? "" : ", ", argument->shape[d]);
    }
    ak_buf_print(text, "]%s%s\n", argument->pitch == NULL ? "" : ", rows apart by ",
                 argument->pitch == NULL ? "" : argument->pitch);
}

static void describe_choice(ak_buf *text, const ak_choice_spec *choice)
{
    ak_buf_print(text, "choice          %s = ", choice->name);
    for (size_t v = 0; v < choice->value_count; v++) {
        ak_buf_print(text, "%s%s%s", v == 0 ? "" : " | ", choice->values[v],
                     v == choice->default_index ? " (default)" : "");
    }
    if (choice->kind != AK_CHOICE_TEXT) {
        ak_buf_print(text, "%s", choice->kind == AK_CHOICE_WHOLE ? "a whole number" : "a number");
        if (choice->low > -AK_CHOICE_NUMBER_MAX) {
            ak_buf_print(text, " from %.16g", choice->low);
        }
        if (choice->high < AK_CHOICE_NUMBER_MAX) {
            ak_buf_print(text, " up to %.16g", choice->high);
        }
        ak_buf_print(text, ", %.16g by default", choice->fallback);
    }
    ak_buf_print(text, "%s%s\n", *choice->description == 0 ? "" : ": ", choice->description);
}

ak_status ak_problem_describe(char **out_text, const ak_problem *problem, ak_error *err)
{
    ak_buf text = AK_BUF(DESCRIBE_MAX);
    for (size_t i = 0; i < problem->size_count; i++) {
        const ak_size_spec *size = &problem->sizes[i];
        ak_buf_print(&text, "size            %s = %lld%s%s\n", size->name,
                     (long long)problem->tune_size[i], *size->description == 0 ? "" : ": ",
                     size->description);
    }
    for (size_t i = 0; i < problem->dtype_count && problem->argument_count > 0; i++) {
        ak_buf_print(&text, "dtype           %s\n", ak_dtype_text(problem->dtypes[i]));
    }
    for (size_t i = 0; i < problem->choice_count; i++) {
        describe_choice(&text, &problem->choices[i]);
    }
    for (size_t i = 0; i < problem->argument_count; i++) {
        describe_argument(&text, problem, i);
    }
    for (size_t i = 0; i < problem->implementation_count; i++) {
        const ak_implementation_spec *implementation = &problem->implementations[i];
        ak_buf_print(&text, "implementation  %s (%s)\n", implementation->name,
                     implementation->backend);
    }
    return ak_buf_take(out_text, &text, err);
}

ak_status ak_problem_each_builtin(ak_list_visitor visit, void *context, ak_error *err)
{
    ak_status status = AK_OK;
    for (size_t i = 0; i < ak_asset_count && status == AK_OK; i++) {
        char name[AK_KERNEL_NAME_MAX + 1];
        ak_problem *problem;
        if (!builtin_name(name, &ak_assets[i])) {
            continue;
        }
        status = ak_problem_open(&problem, name, err);
        if (status == AK_OK) {
            visit(context, problem->name, problem->description);
            ak_problem_close(problem);
        }
    }
    return status;
}
