#include "problem/kernel_files.h"

#include <string.h>

#include "base/ascii.h"

enum {
    MODULES_MAX = 256, /* far more than a reference needs; stops the search where a name means
                          unrelated folders */
    DEPTH_MAX = 8      /* nested folders; links may form a circle */
};
#define SUFFIX ".py"

typedef struct search {
    ak_problem *problem;
    const ak_kernel_files *files;
    const char *name, *text; /* of the file that imports */
    bool beside;             /* the importing file is a baseline */
    size_t count;
} search;

static bool is_found(const search *s, const ak_kernel_file *file)
{
    return file->module || (s->beside && file->beside);
}

static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        if ((at == text || !ak_ascii_is_word(at[-1])) && !ak_ascii_is_word(at[length])) {
            return true;
        }
    }
    return false;
}

/* Returns whether the importing file, or a module that was found, has the name as a word. */
static bool is_mentioned(const search *s, const char *name)
{
    const size_t length = strlen(name);
    bool found = has_word(s->text, name, length);
    for (size_t i = 0; !found && i < s->problem->file_count; i++) {
        const ak_kernel_file *file = &s->problem->files[i];
        found = is_found(s, file) && has_word(file->text, name, length);
    }
    return found;
}

static bool is_known(const search *s, const char *path)
{
    bool known = strcmp(path, s->name) == 0;
    for (size_t i = 0; !known && i < s->problem->file_count; i++) {
        const ak_kernel_file *file = &s->problem->files[i];
        known = is_found(s, file) && strcmp(file->name, path) == 0;
    }
    return known;
}

/* Reads a file if its name is mentioned. __init__.py is read with its folder. */
static ak_status visit_file(search *s, const char *path, ak_error *err)
{
    char stem[AK_PATH_MAX];
    const char *text, *name = ak_fs_base(path);
    (void)snprintf(stem, sizeof stem, "%.*s", (int)(strlen(name) - strlen(SUFFIX)), name);
    const bool counts = is_mentioned(s, stem) || (name != path && strcmp(stem, "__init__") == 0);
    if (!counts || is_known(s, path)) {
        return AK_OK;
    }
    AK_FAIL_IF(++s->count > MODULES_MAX, err, AK_LIMIT,
               "%s: %s mentions more than %d Python modules of this folder: keep only those there "
               "that it imports",
               s->files->folder, s->name, MODULES_MAX);
    AK_DO(ak_kernel_read(&text, s->problem, s->files, path, err));
    ak_kernel_file *file = &s->problem->files[s->problem->file_count - 1];
    *(s->beside ? &file->beside : &file->module) = true;
    return AK_OK;
}

/* Visits the files in a folder, and in those of its folders whose names are mentioned. `path` is
   relative to the kernel's folder, and "" for the kernel's folder itself. */
static ak_status visit(search *s, const char *path, int depth, ak_error *err)
{
    char folder[AK_PATH_MAX], inner[AK_PATH_MAX], place[AK_PATH_MAX];
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    AK_DO(ak_fs_join(folder, s->files->folder, path, err));
    AK_DO(ak_fs_list(&names, folder, err));
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.list[i];
        AK_DO(ak_fs_join(place, folder, name, err));
        (void)snprintf(inner, sizeof inner, "%s%s%s", path, path[0] == 0 ? "" : "/", name);
        if (ak_fs_has_suffix(name, SUFFIX) && ak_fs_is_file(place)) {
            AK_DO(visit_file(s, inner, err));
        } else if (depth < DEPTH_MAX && ak_fs_is_folder(place) && is_mentioned(s, name)) {
            AK_DO(visit(s, inner, depth + 1, err));
        }
    }
    return AK_OK;
}

static ak_status read_all(search *s, ak_error *err)
{
    size_t before;
    if (s->files->builtin) {
        return AK_OK;
    }
    do { /* a module may mention one that was passed over */
        before = s->count;
        AK_DO(visit(s, "", 0, err));
    } while (s->count > before);
    return AK_OK;
}

ak_status ak_modules_read(ak_problem *problem, const ak_kernel_files *files, ak_error *err)
{
    search s = {.problem = problem,
                .files = files,
                .name = problem->reference.name,
                .text = problem->reference_source};
    return read_all(&s, err);
}

ak_status ak_modules_read_beside(ak_problem *problem, const ak_kernel_files *files,
                                 const ak_own_baseline *own, ak_error *err)
{
    search s = {
        .problem = problem, .files = files, .name = own->python, .text = own->text, .beside = true};
    return read_all(&s, err);
}
