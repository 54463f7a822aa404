/* kernel_files.c: reads a kernel's files, wherever they are, and never outside its surroundings. */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/asset.h"

ak_status ak_problem_text(const char **out, ak_problem *problem, const char *text, ak_error *err)
{
    *out = ak_arena_strndup(problem->arena, text, strlen(text));
    return *out == NULL ? ak_fail_memory(err) : AK_OK;
}

ak_status ak_problem_keep(ak_problem *problem, json_t *document, ak_error *err)
{
    ak_status status = ak_grow((void **)&problem->documents, &problem->document_capacity,
                               problem->document_count + 1, sizeof(json_t *), err);
    if (status != AK_OK) {
        json_decref(document);
        return status;
    }
    problem->documents[problem->document_count++] = document;
    return AK_OK;
}

/* A relative name that leaves the folder at most to a folder beside it, and can stand in a #line.
 */
static ak_status check_name(const char *name, const char *folder, ak_error *err)
{
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
        fine = fine && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\' && *p != 0x7f;
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

/* "kernels/a" and "../b/c.h" are "kernels/b/c.h". The name has been checked. */
static ak_status normalise(char out[AK_PATH_MAX], const char *folder, const char *name,
                           ak_error *err)
{
    ak_status status = ak_fs_join(out, folder, "", err);
    size_t length = strlen(folder);
    if (status != AK_OK || length + strlen(name) + 2 > AK_PATH_MAX) {
        return ak_fail(err, AK_LIMIT, "%s: the path to \"%.100s\" is too long", folder, name);
    }
    memcpy(out, folder, length + 1);
    while (*name != 0) {
        size_t n = strcspn(name, "/");
        if (n == 2 && name[0] == '.' && name[1] == '.') {
            while (length > 0 && out[length] != '/') {
                length--;
            }
        } else if (n > 0 && !(n == 1 && name[0] == '.')) {
            out[length++] = '/';
            memcpy(out + length, name, n);
            length += n;
        }
        out[length] = 0;
        name += n;
        name += *name == '/' ? 1 : 0;
    }
    return AK_OK;
}

/* The text is the caller's (`owned`) or the executable's. */
static ak_status find_text(const char **out, size_t *length, char **owned, char path[AK_PATH_MAX],
                           const ak_kernel_files *files, const char *name, ak_error *err)
{
    *owned = NULL;
    ak_status status = check_name(name, files->folder, err);
    if (status != AK_OK) {
        return status;
    }
    if (!files->builtin) {
        status = ak_fs_join(path, files->folder, name, err);
        if (status == AK_OK) {
            status = ak_fs_read(owned, length, path, AK_SOURCE_BYTES_MAX, err);
        }
        *out = *owned;
        return status;
    }
    status = normalise(path, files->folder, name, err);
    if (status != AK_OK) {
        return status;
    }
    const ak_asset *asset = ak_asset_find(path);
    if (asset == NULL) {
        return ak_fail(err, AK_NOT_FOUND, "%s: there is no built-in file \"%s\"", files->folder,
                       path);
    }
    *out = asset->data;
    *length = asset->length;
    return AK_OK;
}

bool ak_kernel_has(const ak_kernel_files *files, const char *name)
{
    char path[AK_PATH_MAX];
    if (ak_fs_join(path, files->folder, name, NULL) != AK_OK) {
        return false;
    }
    return files->builtin ? ak_asset_find(path) != NULL : ak_fs_is_file(path);
}

ak_status ak_kernel_read(const char **out, ak_problem *problem, const ak_kernel_files *files,
                         const char *name, ak_error *err)
{
    char path[AK_PATH_MAX], *owned;
    const char *text;
    size_t length;
    ak_status status = find_text(&text, &length, &owned, path, files, name, err);
    if (status != AK_OK) {
        return status;
    }
    if (memchr(text, 0, length) != NULL) {
        status = ak_fail(err, AK_INVALID, "%s: not a text: it contains a 0 byte", path);
    } else {
        *out = ak_arena_strndup(problem->arena, text, length);
        status = *out == NULL ? ak_fail_memory(err) : AK_OK;
    }
    ak_free(owned);
    return status;
}

ak_status ak_kernel_read_json(json_t **out, const char **where, ak_problem *problem,
                              const ak_kernel_files *files, const char *name, ak_error *err)
{
    char path[AK_PATH_MAX], *owned;
    const char *text;
    size_t length;
    json_t *document = NULL;
    ak_status status = find_text(&text, &length, &owned, path, files, name, err);
    if (status == AK_OK) {
        status = ak_json_parse(&document, text, length, path, err);
        ak_free(owned);
    }
    if (status == AK_OK) {
        status = ak_problem_keep(problem, document, err);
    }
    if (status == AK_OK) {
        status = ak_problem_text(where, problem, path, err);
    }
    if (status == AK_OK && !json_is_object(document)) {
        status = ak_fail(err, AK_INVALID, "%s: must be a JSON object", path);
    }
    if (status == AK_OK) {
        *out = document;
    }
    return status;
}
