/*
 * python_kernel.c: a Triton kernel in a user's own Python file, "kernel.py" or
 * "kernel.py:function". Its settings are in "kernel.function.json" or "kernel.json" beside it, else
 * in the Python file itself. The Triton backend makes a kernel folder from the file and its
 * settings. The folder is kept in the cache, so that Python runs once and not for every command and
 * worker, under a hash of these files, of the reference's file and of the version of autokernel.
 * Modules that the files import are not hashed, so a change of these makes no new folder.
 */

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "problem/backend_rules.h"
#include "problem/kernel_files.h"

#define SUFFIX        ".py"
#define FUNCTION_MAX  100
#define CACHE_FOLDER  "python"
#define SETTINGS_NEED "see docs/howto-triton.md, or `autokernel new kernel NAME --triton`"

/* Splits "a/kernel.py:function". Returns false if the name is no Python file. */
static bool split(char path[AK_PATH_MAX], char function[FUNCTION_MAX + 1], const char *name)
{
    const size_t whole = strlen(name), suffix = strlen(SUFFIX);
    /* a file's own name may have a colon, too */
    const char *colon = ak_fs_has_suffix(name, SUFFIX) ? NULL : strrchr(name, ':');
    size_t length = colon == NULL ? whole : (size_t)(colon - name);
    function[0] = 0;
    if (length <= suffix || length >= AK_PATH_MAX ||
        strncmp(name + length - suffix, SUFFIX, suffix) != 0) {
        return false;
    }
    memcpy(path, name, length);
    path[length] = 0;
    if (colon != NULL) {
        (void)snprintf(function, FUNCTION_MAX + 1, "%s", colon + 1);
    }
    return true;
}

bool ak_python_kernel_is(const char *name)
{
    char path[AK_PATH_MAX], function[FUNCTION_MAX + 1];
    return split(path, function, name);
}

/* Returns whether a Python file may contain its settings: it mentions autokernel, whose decorator
   autokernel.reference states them. */
static bool has_decorator(const char *path)
{
    AK_FREED char *text = NULL;
    return ak_fs_read(&text, NULL, path, AK_SOURCE_BYTES_MAX, NULL) == AK_OK &&
           strstr(text, "autokernel") != NULL;
}

/* Returns AK_INVALID unless the file `name`, which the Python file `path` needs, is in the same
   folder, in the folder above it or in a folder there, also after links are followed. So no other
   file of the user becomes part of the kernel; check_links in kernel_files.c says why. */
static ak_status stays_beside(const char *path, const char *name, ak_error *err)
{
    char place[AK_PATH_MAX];
    return ak_kernel_beside(place, path, name, err);
}

/* Finds the settings: "kernel.FUNCTION.json" if there is one, else "kernel.json", else the Python
   file itself. */
static ak_status find_settings(char out[AK_PATH_MAX], const char *path, const char *function,
                               ak_error *err)
{
    int stem = (int)(strlen(path) - strlen(SUFFIX));
    char text[AK_PATH_MAX + FUNCTION_MAX + 16];
    (void)snprintf(text, sizeof text, "%.*s.%s.json", stem, path, function);
    if (function[0] == 0 || strlen(text) >= AK_PATH_MAX || !ak_fs_is_file(text)) {
        (void)snprintf(text, sizeof text, "%.*s.json", stem, path);
    }
    if (strlen(text) >= AK_PATH_MAX || !ak_fs_is_file(text)) {
        AK_FAIL_IF(!has_decorator(path), err, AK_NOT_FOUND,
                   "%s: there is no %s beside it with sizes, arguments, grid and reference, and no "
                   "function in it with @autokernel.reference: " SETTINGS_NEED,
                   path, ak_fs_base(text));
        (void)snprintf(text, sizeof text, "%s", path);
    }
    memcpy(out, text, strlen(text) + 1);
    return strcmp(out, path) == 0 ? AK_OK : stays_beside(path, ak_fs_base(out), err);
}

/* Adds a path to the hash, and the bytes of its file if there is one. */
static ak_status add_file(ak_hasher *hasher, const char *path, ak_error *err)
{
    char *bytes = NULL;
    size_t length = 0;
    if (ak_fs_is_file(path)) {
        AK_DO(ak_fs_read(&bytes, &length, path, AK_SOURCE_BYTES_MAX, err));
        ak_hasher_add(hasher, bytes, length);
        ak_free(bytes);
    }
    ak_hasher_add_text(hasher, path);
    return AK_OK;
}

/* Finds the Python file beside the kernel that the settings name as the reference. `out` is "" if
   they name none, or if that is the kernel's own file or no Python file. */
static ak_status find_reference(char out[AK_PATH_MAX], const char *path, const json_t *settings,
                                ak_error *err)
{
    const char *text = ak_json_text_or_null(settings, "reference");
    char name[AK_PATH_MAX], function[FUNCTION_MAX + 1];
    size_t folder = (size_t)(ak_fs_base(path) - path);
    out[0] = 0;
    if (text != NULL && split(name, function, text) && strcmp(name, ak_fs_base(path)) != 0 &&
        folder + strlen(name) < AK_PATH_MAX) {
        AK_DO(stays_beside(path, name, err));
        memcpy(out, path, folder);
        memcpy(out + folder, name, strlen(name) + 1);
    }
    return AK_OK;
}

static ak_status place_of(char out[AK_PATH_MAX], const ak_python_source *source,
                          const char *settings_path, ak_error *err)
{
    char cache[AK_PATH_MAX], root[AK_PATH_MAX], hash[AK_HASH_BYTES];
    ak_hasher *hasher = ak_hasher_new();
    ak_status status = AK_OK;
    AK_DO(ak_made(hasher, err));
    ak_hasher_add_text(hasher, AK_VERSION);
    ak_hasher_add_text(hasher, source->function);
    AK_TRY(add_file(hasher, source->path, err));
    AK_TRY(add_file(hasher, settings_path, err));
    AK_TRY(source->reference[0] != 0 ? add_file(hasher, source->reference, err) : AK_OK);
out:
    ak_hasher_end(hash, hasher);
    AK_DO(status);
    AK_DO(ak_fs_cache_folder(cache, err));
    AK_DO(ak_fs_join(root, cache, CACHE_FOLDER, err));
    return ak_fs_join(out, root, hash, err);
}

/* A Python file with its settings, as find() has found them. */
typedef struct found {
    char path[AK_PATH_MAX], settings_path[AK_PATH_MAX], function[FUNCTION_MAX + 1];
    json_t *settings;
    ak_python_source source;
} found;

/* Finds what `name` means; the caller releases `settings`, also after a failure. */
static ak_status find(found *out, const char *name, ak_error *err)
{
    out->settings = NULL;
    AK_FAIL_IF(!split(out->path, out->function, name) || !ak_fs_is_file(out->path), err,
               AK_NOT_FOUND,
               ak_fs_is_folder(out->path) ? "%s: is a folder; name the Python file in it"
                                          : "%s: there is no such Python file",
               out->path);
    AK_DO(find_settings(out->settings_path, out->path, out->function, err));
    if (strcmp(out->settings_path, out->path) == 0) {
        out->settings = json_object();
        AK_DO(ak_made(out->settings, err));
    } else {
        AK_DO(ak_json_read(&out->settings, out->settings_path, err));
    }
    out->source = (ak_python_source){.path = out->path,
                                     .function = out->function,
                                     .settings = out->settings,
                                     .settings_name = ak_fs_base(out->settings_path)};
    return find_reference(out->source.reference, out->path, out->settings, err);
}

void ak_python_kernel_blame(ak_error *err, const char *folder, const char *name)
{
    char path[AK_PATH_MAX], function[FUNCTION_MAX + 1], settings[AK_PATH_MAX];
    size_t length = strlen(folder);
    if (err == NULL || !split(path, function, name) ||
        find_settings(settings, path, function, NULL) != AK_OK ||
        strncmp(err->text, folder, length) != 0) {
        return;
    }
    ak_error whole = *err;
    const char *at = whole.text + length;
    if (*at == '/') {
        size_t file = strcspn(++at, ":");
        if (file < 5 || strncmp(at + file - 5, ".json", 5) != 0) { /* a copy of the user's file */
            (void)snprintf(err->text, sizeof err->text, "%s", at);
            return;
        }
        at += file;
    }
    if (strncmp(at, ": ", 2) == 0 && strncmp(at + 2, folder, length) == 0) { /* named twice */
        at += 2 + length;
    }
    (void)snprintf(err->text, sizeof err->text, "%.200s%s", settings, at);
}

ak_status ak_python_kernel_make(const char *folder, const char *name, ak_error *err)
{
    found it;
    ak_status status = find(&it, name, err);
    status = status == AK_OK ? ak_backend_adopt_python(folder, &it.source, err) : status;
    json_decref(it.settings);
    return status;
}

ak_status ak_python_kernel_folder(char out[AK_PATH_MAX], const char *name, ak_error *err)
{
    found it;
    char temporary[AK_PATH_MAX + 32], problem[AK_PATH_MAX];
    ak_status status = AK_OK;
    AK_TRY(find(&it, name, err));
    AK_TRY(place_of(out, &it.source, it.settings_path, err));
    AK_TRY(ak_fs_join(problem, out, AK_PROBLEM_FILE, err));
    if (ak_fs_is_file(problem)) {
        goto out;
    }
    (void)snprintf(temporary, sizeof temporary, "%s.%ld", out, (long)getpid());
    AK_TRY(ak_fs_mkdirs(temporary, err));
    status = ak_backend_adopt_python(temporary, &it.source, err);
    if (status == AK_OK && rename(temporary, out) != 0 && !ak_fs_is_file(problem)) {
        status = ak_fail(err, AK_IO, "%s: cannot be written", out);
    }
    ak_fs_remove(temporary); /* another process may have made the folder first */
out:
    json_decref(it.settings);
    return status;
}
