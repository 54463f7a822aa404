/* kernel_folder.c: reads a kernel's folder: problem.json, then each space file beside it. */
#include "problem/kernel_files.h"

#include <string.h>

#include "base/alloc.h"
#include "base/asset.h"

static bool is_space_file(const char *name)
{
    return ak_fs_has_suffix(name, ".json") && name[0] != '.' && strcmp(name, AK_PROBLEM_FILE) != 0;
}

static ak_status read_space_file(ak_problem *problem, const ak_kernel_files *files,
                                 const char *file, ak_error *err)
{
    json_t *definition;
    ak_space_file space;
    char name[AK_KERNEL_NAME_MAX + 1], backend[AK_KERNEL_NAME_MAX + 1];
    size_t length = strlen(file) - strlen(".json");
    AK_FAIL_IF(problem->implementation_count == AK_IMPLEMENTATIONS_MAX, err, AK_LIMIT,
               "%s has more than %d implementations", files->folder, AK_IMPLEMENTATIONS_MAX);
    AK_FAIL_IF(length > AK_KERNEL_NAME_MAX, err, AK_LIMIT,
               "%s: the name of \"%.80s\" is longer than %d bytes", files->folder, file,
               AK_KERNEL_NAME_MAX);
    memcpy(name, file, length);
    name[length] = 0;
    memcpy(backend, name, length + 1);
    backend[strcspn(backend, "_")] = 0;
    AK_DO(ak_kernel_read_json(&definition, &space.where, problem, files, file, err));
    space.name = name;
    space.backend = backend;
    space.definition = definition;
    return ak_implementation_read(problem, files, &space, err);
}

/* Reads the built-in space files directly in the folder. They are sorted because all assets are. */
static ak_status read_builtin_spaces(ak_problem *problem, const ak_kernel_files *files,
                                     ak_error *err)
{
    size_t prefix = strlen(files->folder);
    for (size_t i = 0; i < ak_asset_count; i++) {
        const char *path = ak_assets[i].path;
        if (strncmp(path, files->folder, prefix) == 0 && path[prefix] == '/' &&
            strchr(path + prefix + 1, '/') == NULL && is_space_file(path + prefix + 1)) {
            AK_DO(read_space_file(problem, files, path + prefix + 1, err));
        }
    }
    return AK_OK;
}

/* Sets *out to whether a file is a space file, which has "ConfigurationSpace" or
   "KernelSpecification". Other JSON files (results, recordings, settings) may lie beside it. If the
   file is not JSON, *damage gets the reason, unless an earlier file set it. */
static ak_status holds_space(bool *out, ak_error *damage, const ak_kernel_files *files,
                             const char *name, ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_FREED char *text = NULL;
    json_auto_t *document = NULL;
    *out = false;
    ak_status status = ak_fs_join(path, files->folder, name, err);
    if (status != AK_OK || !ak_fs_is_file(path)) {
        return status;
    }
    status = ak_fs_read(&text, NULL, path, AK_JSON_BYTES_MAX, err);
    if (status != AK_OK) {
        return status == AK_LIMIT ? AK_OK : status; /* no space file is that large */
    }
    ak_error wrong = AK_ERROR_INIT;
    status = ak_json_parse(&document, text, strlen(text), path, &wrong);
    if (status == AK_OK) {
        *out = json_object_get(document, "ConfigurationSpace") != NULL ||
               json_object_get(document, "KernelSpecification") != NULL;
    } else if (status != AK_NO_MEMORY) {
        /* The file may be a space file with a mistake; the mistake is reported when the file is
           read. */
        *out = strstr(text, "\"ConfigurationSpace\"") != NULL ||
               strstr(text, "\"KernelSpecification\"") != NULL;
        *damage = damage->status == AK_OK ? wrong : *damage;
        status = AK_OK;
    } else {
        (void)ak_fail_memory(err);
    }
    return status;
}

static ak_status read_folder_spaces(ak_problem *problem, const ak_kernel_files *files,
                                    ak_error *err)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    ak_error damage = AK_ERROR_INIT;
    AK_DO(ak_fs_list(&names, files->folder, err));
    for (size_t i = 0; i < names.count; i++) {
        const char *name = names.list[i];
        bool holds = false;
        AK_DO(is_space_file(name) ? holds_space(&holds, &damage, files, name, err) : AK_OK);
        AK_DO(holds ? read_space_file(problem, files, name, err) : AK_OK);
    }
    /* If there is no space file, the damaged file is most likely meant to be one. */
    AK_FAIL_IF(problem->implementation_count == 0 && damage.status != AK_OK, err, damage.status,
               "%s", damage.text);
    return AK_OK;
}

ak_status ak_kernel_open(ak_problem *problem, const ak_kernel_files *files, ak_error *err)
{
    json_t *json;
    AK_DO(ak_kernel_read_json(&json, &problem->where, problem, files, AK_PROBLEM_FILE, err));
    AK_DO(ak_problem_read(problem, files, json, err));
    problem->builtin = files->builtin;
    AK_DO(AK_ARENA_NEW(problem->implementations, problem->arena, AK_IMPLEMENTATIONS_MAX, err));
    AK_DO(files->builtin ? read_builtin_spaces(problem, files, err)
                         : read_folder_spaces(problem, files, err));
    AK_FAIL_IF(problem->implementation_count == 0, err, AK_INVALID,
               "%s has no implementation: a space file such as host.json, with a "
               "\"ConfigurationSpace\", is missing",
               files->folder);
    return AK_OK;
}
