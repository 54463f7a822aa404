/* problem_open.c: finds a kernel by its name and opens it: a built-in kernel, a folder, a T1 file,
   or a function of a Python file. */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/asset.h"
#include "base/text.h"
#include "base/utf8.h"
#include "problem/sources.h"

#define BUILTIN_FOLDER "kernels/"

/* ---- built-in kernels ------------------------------------------------------------------------ */

/* Writes the name of the built-in kernel whose problem.json the asset is. Returns false if the
   asset is another file. */
static bool builtin_name(char out[AK_KERNEL_NAME_MAX + 1], const ak_asset *asset)
{
    const char *name = asset->path + strlen(BUILTIN_FOLDER);
    if (strncmp(asset->path, BUILTIN_FOLDER, strlen(BUILTIN_FOLDER)) != 0) {
        return false;
    }
    size_t length = strcspn(name, "/");
    if (length == 0 || length > AK_KERNEL_NAME_MAX ||
        strcmp(name + length, "/" AK_PROBLEM_FILE) != 0) {
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
    AK_AT_END(ak_buf_free) ak_buf list = AK_BUF(256);
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
    return *near != 0
               ? ak_fail(err, AK_NOT_FOUND, "unknown kernel \"%.100s\"; did you mean \"%s\"?", name,
                         near)
               : ak_fail(
                     err, AK_NOT_FOUND,
                     "unknown kernel \"%.100s\": it is neither built in (%s) nor a folder with a "
                     "problem.json nor a T1 file",
                     name, list.data);
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns whether two documents differ in nothing but their prose. */
static bool same_identity(const json_t *a, const json_t *b,
                          ak_status (*print)(char **out, const json_t *document, ak_error *err))
{
    AK_FREED char *one = NULL, *other = NULL;
    return print(&one, a, NULL) == AK_OK && print(&other, b, NULL) == AK_OK &&
           strcmp(one, other) == 0;
}

ak_status ak_problem_is_as_builtin(bool *same, const ak_problem *problem, ak_error *err)
{
    AK_AT_END(ak_problem_close_at) ak_problem *builtin = NULL;
    AK_DO(ak_problem_open(&builtin, problem->name, err));
    *same = same_identity(problem->documents[0], builtin->documents[0], ak_problem_identity) &&
            ak_text_same(problem->reference_source, builtin->reference_source) &&
            ak_text_same(problem->device_reference, builtin->device_reference);
    return AK_OK;
}

/* Refuses a folder that has the name of a built-in kernel but computes something else, or that has
   another implementation under the name of a built-in one: the archive identifies kernels and
   implementations by name. */
static ak_status check_names(const ak_problem *problem, ak_error *err)
{
    AK_AT_END(ak_problem_close_at) ak_problem *builtin = NULL;
    bool same;
    if (problem->builtin || !ak_problem_is_builtin(problem->name)) {
        return AK_OK;
    }
    AK_DO(ak_problem_is_as_builtin(&same, problem, err));
    AK_DO(ak_problem_open(&builtin, problem->name, err));
    AK_FAIL_IF(!same, err, AK_INVALID,
               "%s: the built-in kernel \"%s\" computes something else or is checked in another "
               "way: give this one another name",
               problem->where, problem->name);
    for (size_t i = 0; i < problem->implementation_count; i++) {
        const ak_implementation_spec *mine = &problem->implementations[i], *theirs;
        AK_FAIL_IF(ak_problem_find(&theirs, builtin, mine->name, NULL) == AK_OK &&
                       (!same_identity(mine->definition, theirs->definition, ak_space_identity) ||
                        strcmp(mine->source, theirs->source) != 0),
                   err, AK_INVALID,
                   "%s: the built-in kernel \"%s\" has another implementation \"%s\": rename this "
                   "file, to %s_mine.json for example",
                   mine->where, problem->name, mine->name, mine->backend);
    }
    return AK_OK;
}

static ak_status refuse_file(const char *name, ak_error *err)
{
    return ak_fail(err, AK_INVALID,
                   "%.200s is not a kernel; a kernel is a folder with problem.json and a space "
                   "file, which 'autokernel new kernel NAME' begins (docs/howto-kernel.md), a T1 "
                   "file (.json), a Triton file (.py) or, with --device sim, a recording",
                   name);
}

/* Returns whether the first bytes show that a file is neither a T1 file nor a recording, so that an
   error about its JSON would mislead. A file that ends in ".json" is never foreign. */
static bool is_foreign(const char *name)
{
    if (ak_fs_has_suffix(name, ".json")) {
        return false;
    }
    FILE *file = fopen(name, "re");
    int first = file == NULL ? EOF : fgetc(file);
    while (first > 0 && first < 0x7f && ak_ascii_is_blank((char)first)) {
        first = fgetc(file);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    /* gzip and the byte order marks of UTF-8 and UTF-16 may begin a T1 file or a recording */
    bool foreign =
        first != EOF && (first == 0 || strchr("{[\x1f\xef\xff\xfe", (char)first) == NULL);
    return foreign && !ak_fs_begins(name, "SQLite", 6);
}

/* Refuses a source, from which 'new kernel --from' must first make a kernel, and any file that is
   neither a T1 file nor a recording. */
static ak_status refuse_source(const char *name, ak_error *err)
{
    static const char *const scanned[] = {".c", ".cpp", ".cc", ".cxx", ".cu", ".cl"};
    static const char *const others[] = {".f90", ".f", ".h", ".hip", ".ptx", ".cubin", ".so"};
    for (size_t i = 0; i < AK_COUNT(scanned); i++) {
        AK_FAIL_IF(
            ak_fs_has_suffix(name, scanned[i]), err, AK_INVALID,
            "%.200s: is a source; 'autokernel new kernel NAME --from %.200s' makes a kernel of it",
            name, name);
    }
    for (size_t i = 0; i < AK_COUNT(others); i++) {
        if (ak_fs_has_suffix(name, others[i])) {
            return refuse_file(name, err);
        }
    }
    return is_foreign(name) ? refuse_file(name, err) : AK_OK;
}

/* Refuses the space file of a kernel folder, which is no kernel by itself: its expressions name the
   sizes of the problem.json beside it. */
static ak_status refuse_space(const char *name, ak_error *err)
{
    char folder[AK_PATH_MAX], beside[AK_PATH_MAX], stem[AK_KERNEL_NAME_MAX + 1];
    const char *base = ak_fs_base(name);
    const ak_implementation_spec *found = NULL;
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    if (!ak_fs_has_suffix(name, ".json") || strlen(base) >= sizeof stem + strlen(".json")) {
        return AK_OK;
    }
    (void)snprintf(stem, sizeof stem, "%.*s", (int)(strlen(base) - strlen(".json")), base);
    (void)snprintf(folder, sizeof folder, "%.*s", (int)(base - name), name);
    while (strlen(folder) > 1 && folder[strlen(folder) - 1] == '/') {
        folder[strlen(folder) - 1] = 0;
    }
    const char *place = folder[0] == 0 ? "." : folder;
    if (ak_fs_join(beside, place, AK_PROBLEM_FILE, NULL) != AK_OK || !ak_fs_is_file(beside) ||
        ak_problem_open(&problem, place, NULL) != AK_OK) {
        return AK_OK;
    }
    bool is_space = ak_problem_find(&found, problem, stem, NULL) == AK_OK;
    return is_space ? ak_fail(err, AK_INVALID,
                              "%.200s: this is a space of the kernel folder %.200s: name the "
                              "folder, as in 'autokernel tune %.200s --impl %s'",
                              name, place, place, stem)
                    : AK_OK;
}

static ak_status open_named(ak_problem *problem, const char *name, bool kept, ak_error *err)
{
    AK_FREED ak_kernel_files *files = NULL;
    AK_DO(AK_NEW(files, 1, err));
    char path[AK_PATH_MAX], script[260];
    size_t length = strlen(name);
    const char *slash = strrchr(name, '/');
    const bool python = ak_python_kernel_is(name);
    bool single = false; /* a T1 file */
    if (ak_problem_is_builtin(name)) {
        files->builtin = true;
        (void)snprintf(files->folder, sizeof files->folder, "%s%s", BUILTIN_FOLDER, name);
    } else if (ak_fs_is_folder(name)) {
        while (length > 1 && name[length - 1] == '/') {
            length--;
        }
        memcpy(files->folder, name, length);
        AK_DO(ak_fs_join(path, files->folder, AK_PROBLEM_FILE, err));
        AK_DO(ak_fs_reachable(path, err));
        if (!ak_fs_is_file(path)) {
            (void)snprintf(script, sizeof script, "%.255s.py", ak_fs_base(files->folder));
            AK_DO(ak_fs_join(path, files->folder, script, err));
            AK_FAIL_IF(ak_fs_is_file(path), err, AK_NOT_FOUND,
                       "%s: name the Triton kernel in this folder, %s", files->folder, path);
            return ak_fail(err, AK_NOT_FOUND, "%s: the folder has no %s, so it is not a kernel",
                           files->folder, AK_PROBLEM_FILE);
        }
    } else if (python) {
        AK_DO(ak_python_kernel_folder(files->folder, name, err));
    } else if (!ak_fs_is_file(name)) {
        AK_DO(ak_fs_reachable(name, err));
        return unknown_kernel(name, err);
    } else if (strcmp(ak_fs_base(name), AK_PROBLEM_FILE) == 0) {
        (void)snprintf(files->folder, sizeof files->folder, "%.*s",
                       slash == NULL || slash == name ? 1 : (int)(slash - name),
                       slash == NULL ? "." : name);
    } else {
        single = true;
        AK_DO(refuse_source(name, err));
        AK_DO(refuse_space(name, err));
    }
    ak_status status =
        single ? ak_t1_open(problem, name, err) : ak_kernel_open(problem, files, err);
    if (status != AK_OK && python) {
        ak_python_kernel_blame(err, files->folder, name);
    }
    return status == AK_OK && !kept ? check_names(problem, err) : status;
}

ak_status ak_problem_open(ak_problem **out, const char *name, ak_error *err)
{
    const ak_task_spec spec = {.kernel = name};
    return ak_problem_open_spec(out, &spec, err);
}

ak_status ak_problem_open_spec(ak_problem **out, const ak_task_spec *spec, ak_error *err)
{
    const char *name = spec->kernel;
    AK_FAIL_IF(name == NULL || *name == 0, err, AK_INVALID, "no kernel is named");
    AK_FAIL_IF(strlen(name) >= AK_PATH_MAX, err, AK_LIMIT,
               "the name of the kernel is longer than %d bytes", AK_PATH_MAX);
    if (!ak_utf8_valid(name)) { /* workers get it as JSON */
        return ak_fail(err, AK_INVALID, "%s: the path of a kernel must be UTF-8; rename the folder",
                       name);
    }
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    AK_DO(AK_NEW(problem, 1, err));
    problem->arena = ak_arena_new();
    AK_DO(ak_made(problem->arena, err));
    AK_DO(open_named(problem, name, spec->kept, err));
    AK_GIVE(out, problem);
    return AK_OK;
}

ak_status ak_problem_of_space(ak_problem **out, const char *name, const char *implementation,
                              json_t *document, const char *where, ak_error *err)
{
    AK_AT_END(ak_problem_close_at) ak_problem *problem = ak_alloc(1, sizeof *problem);
    if (problem == NULL) {
        json_decref(document);
        return ak_fail_memory(err);
    }
    problem->arena = ak_arena_new();
    AK_DO(ak_problem_keep(problem, document, err));
    AK_DO(ak_made(problem->arena, err));
    AK_DO(ak_t1_fill(problem, name, document, where, err));
    if (implementation[0] != 0) {
        AK_DO(ak_problem_text(&problem->implementations[0].name, problem, implementation, err));
    }
    *out = problem;
    problem = NULL;
    return AK_OK;
}

ak_status ak_problem_each_builtin(ak_list_visitor visit, void *context, ak_error *err)
{
    for (size_t i = 0; i < ak_asset_count; i++) {
        char name[AK_KERNEL_NAME_MAX + 1];
        AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
        if (!builtin_name(name, &ak_assets[i])) {
            continue;
        }
        AK_DO(ak_problem_open(&problem, name, err));
        visit(context, problem->name, problem->description);
    }
    return AK_OK;
}
