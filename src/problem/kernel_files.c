/* kernel_files.c: reads a kernel's files from the executable or from a folder, and refuses names
   and links that lead elsewhere. */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "base/pack.h"
#include "base/plain.h"

ak_status ak_problem_text(const char **out, ak_problem *problem, const char *text, ak_error *err)
{
    return ak_arena_text(out, problem->arena, text, err);
}

ak_status ak_problem_keep(ak_problem *problem, json_t *document, ak_error *err)
{
    ak_status status =
        AK_GROW(problem->documents, &problem->document_capacity, problem->document_count + 1, err);
    if (status != AK_OK) {
        json_decref(document);
        return status;
    }
    problem->documents[problem->document_count++] = document;
    return AK_OK;
}

/* Returns AK_INVALID unless the name is relative, leads no further up than the folder above the
   kernel's, and can stand in a #line. */
static ak_status check_name(const char *name, const char *folder, ak_error *err)
{
    unsigned code;
    int depth = 0;
    bool fine = *name != 0 && *name != '/';
    for (const char *part = name; fine && *part != 0;) {
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            depth--;
        } else if (length > 0 && !(length == 1 && part[0] == '.')) {
            depth++;
        }
        fine = depth >= -1;
        part += length;
        part += *part == '/' ? 1 : 0;
    }
    for (const char *p = name; *p != 0; p++) {
        AK_FAIL_IF((unsigned char)*p < 0x20 || *p == '"' || *p == '\\' ||
                       ak_plain_obeyed(&code, p) > 0,
                   err, AK_INVALID,
                   "%s: the file name \"%.100s\" has a double quote, a backslash or a control "
                   "character, which no source may have: rename the file",
                   folder, name);
    }
    if (fine && strlen(name) < AK_PATH_MAX) {
        return AK_OK;
    }
    return ak_fail(
        err, AK_INVALID,
        "%s: the file name \"%.100s\" must be relative to the kernel's folder and lead no "
        "further than the folder beside it",
        folder, name);
}

ak_status ak_kernel_path(char out[AK_PATH_MAX], const char *folder, const char *name, ak_error *err)
{
    ak_status status = ak_fs_join(out, folder, "", err);
    size_t length = strlen(folder);
    AK_FAIL_IF(status != AK_OK || length + strlen(name) + 2 > AK_PATH_MAX, err, AK_LIMIT,
               "%s: the path to \"%.100s\" is too long", folder, name);
    memcpy(out, folder, length + 1);
    while (*name != 0) {
        size_t n = strcspn(name, "/");
        if (n == 2 && name[0] == '.' && name[1] == '.') {
            while (length > 0 && out[length] != '/') {
                length--;
            }
        } else if (n > 0 && !(n == 1 && name[0] == '.')) {
            if (length > 0 || folder[0] == '/') {
                out[length++] = '/';
            }
            memcpy(out + length, name, n);
            length += n;
        }
        out[length] = 0;
        name += n;
        name += *name == '/' ? 1 : 0;
    }
    return AK_OK;
}

/* Returns AK_INVALID if a link leads out of the kernel's folder or, for a name with a part "..",
   out of the folder above it: the text of another file of the user would get into the archive and
   into prompts. A file that does not exist is reported when it is read. */
static ak_status check_links(const char *path, const char *folder, const char *name, ak_error *err)
{
    char allowed[AK_PATH_MAX];
    bool beside = strncmp(name, "../", 3) == 0 || strstr(name, "/../") != NULL;
    AK_DO(ak_fs_join(allowed, folder, beside ? ".." : ".", err));
    if (!ak_fs_is_file(path) || ak_fs_is_within(path, allowed)) {
        return AK_OK;
    }
    return ak_fail(err, AK_INVALID,
                   "%s is a link out of the kernel's folder: put the file itself there", path);
}

/* The text of a file. It belongs to the caller, who frees `owned`, or to the executable (`owned` is
   NULL). */
typedef struct file_text {
    const char *text;
    size_t length;
    char *owned, path[AK_PATH_MAX];
} file_text;

static void clear_text(file_text *file)
{
    ak_free(file->owned);
}

static ak_status find_text(file_text *out, const ak_kernel_files *files, const char *name,
                           ak_error *err)
{
    AK_DO(check_name(name, files->folder, err));
    if (!files->builtin) {
        AK_DO(ak_fs_join(out->path, files->folder, name, err));
        AK_DO(check_links(out->path, files->folder, name, err));
        AK_DO(ak_fs_read(&out->owned, &out->length, out->path, AK_SOURCE_BYTES_MAX, err));
        out->text = out->owned;
        return AK_OK;
    }
    AK_DO(ak_kernel_path(out->path, files->folder, name, err));
    const ak_asset *asset = ak_asset_find(out->path);
    AK_FAIL_IF(asset == NULL, err, AK_NOT_FOUND, "%s: there is no built-in file \"%s\"",
               files->folder, out->path);
    out->text = asset->data;
    out->length = asset->length;
    return AK_OK;
}

ak_status ak_kernel_locate(char path[AK_PATH_MAX], const ak_kernel_files *files, const char *name,
                           ak_error *err)
{
    AK_FAIL_IF(files == NULL || files->builtin, err, AK_INVALID,
               "a built-in kernel cannot read the data file \"%.100s\": copy the kernel's folder "
               "and tune the copy",
               name);
    AK_DO(check_name(name, files->folder, err));
    AK_DO(ak_fs_join(path, files->folder, name, err));
    return check_links(path, files->folder, name, err);
}

ak_status ak_kernel_beside(char path[AK_PATH_MAX], const char *file, const char *name,
                           ak_error *err)
{
    ak_kernel_files files = {.folder = "."};
    const size_t length = (size_t)(ak_fs_base(file) - file);
    AK_FAIL_IF(length >= AK_PATH_MAX, err, AK_LIMIT, "%.100s...: the path is too long", file);
    if (length > 0) {
        memcpy(files.folder, file, length);
        files.folder[length > 1 ? length - 1 : length] = 0; /* without its last "/" */
    }
    return ak_kernel_locate(path, &files, name, err);
}

bool ak_kernel_has(const ak_kernel_files *files, const char *name)
{
    char path[AK_PATH_MAX];
    if (ak_fs_join(path, files->folder, name, NULL) != AK_OK) {
        return false;
    }
    return files->builtin ? ak_asset_find(path) != NULL : ak_fs_is_file(path);
}

ak_status ak_kernel_note(ak_problem *problem, const char *name, const char *text, size_t length,
                         ak_error *err)
{
    AK_DO(AK_GROW(problem->files, &problem->file_capacity, problem->file_count + 1, err));
    const ak_kernel_file file = {.name = ak_arena_strndup(problem->arena, name, strlen(name)),
                                 .text = ak_arena_strndup(problem->arena, text, length),
                                 .length = length};
    AK_DO(ak_stored(file.name != NULL && file.text != NULL, err));
    problem->files[problem->file_count++] = file;
    return AK_OK;
}

ak_status ak_kernel_read(const char **out, ak_problem *problem, const ak_kernel_files *files,
                         const char *name, ak_error *err)
{
    AK_AT_END(clear_text) file_text file = {0};
    *out = NULL;
    AK_DO(find_text(&file, files, name, err));
    AK_FAIL_IF(!ak_pack_is_text(file.text, file.length), err, AK_INVALID,
               "%s is not a text: it contains a 0 byte", file.path);
    AK_DO(ak_kernel_note(problem, name, file.text, file.length, err));
    *out = problem->files[problem->file_count - 1].text;
    return AK_OK;
}

ak_status ak_kernel_read_json(json_t **out, const char **where, ak_problem *problem,
                              const ak_kernel_files *files, const char *name, ak_error *err)
{
    AK_AT_END(clear_text) file_text file = {0};
    json_t *document = NULL;
    AK_DO(find_text(&file, files, name, err));
    AK_DO(ak_kernel_note(problem, name, file.text, file.length, err));
    AK_DO(ak_json_parse(&document, file.text, file.length, file.path, err));
    AK_DO(ak_problem_keep(problem, document, err));
    AK_DO(ak_problem_text(where, problem, file.path, err));
    if (!json_is_object(document)) {
        AK_DO(ak_fail(err, AK_INVALID, "%s must be a JSON object", file.path));
    }
    *out = document;
    return AK_OK;
}
