/* mcp_resources.c: the resources that a client can read: the files of the allowed kernels, and
   documents. A name that the client sends is only compared with the names of resources. No path is
   made from it. */

#include "base/alloc.h"
#include "base/asset.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "cli/mcp.h"

#define FILE_MAX (1u << 20)
#define SCHEME   "autokernel://"

/* Takes a resource, whose text is in `asset` or, if that is NULL, in the file `path`. Returns false
   to stop. */
typedef bool (*resource_visitor)(void *context, const char *uri, const ak_asset *asset,
                                 const char *path);

static const char *type_of(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {{".json", "application/json"},
                 {".md", "text/markdown"},
                 {".c", "text/x-c"},
                 {".h", "text/x-c"},
                 {".cu", "text/x-cuda"},
                 {".py", "text/x-python"},
                 {".cl", "text/x-opencl-src"}};
    const size_t count = AK_COUNT(types);
    const char *end = strrchr(name, '.');
    const size_t at = end == NULL ? count : AK_FIND(types, count, suffix, end);
    return at < count ? types[at].type : NULL;
}

static bool each_asset(const char *folder, const char *uri, resource_visitor visit, void *context)
{
    size_t length = strlen(folder);
    for (size_t i = 0; i < ak_asset_count; i++) {
        char name[AK_PATH_MAX];
        if (strncmp(ak_assets[i].path, folder, length) == 0 && type_of(ak_assets[i].path) != NULL) {
            (void)snprintf(name, sizeof name, "%s%s", uri, ak_assets[i].path + length);
            if (!visit(context, name, &ak_assets[i], NULL)) {
                return false;
            }
        }
    }
    return true;
}

/* Visits each file of a known type in the folder, except links that lead out of the folder and
   names that are not UTF-8. Returns false if the visitor stopped. */
static bool each_file(const char *folder, const char *uri, resource_visitor visit, void *context)
{
    AK_AT_END(ak_fs_names_free) ak_fs_names names = {0};
    bool more = true;
    (void)ak_fs_list(&names, folder, NULL);
    for (size_t i = 0; i < names.count && more; i++) {
        const char *file = names.list[i];
        char path[AK_PATH_MAX], name[AK_PATH_MAX];
        if (type_of(file) != NULL && ak_utf8_valid(file) &&
            ak_fs_join(path, folder, file, NULL) == AK_OK && ak_fs_is_file(path) &&
            ak_fs_is_within(path, folder)) {
            (void)snprintf(name, sizeof name, "%s%s", uri, file);
            more = visit(context, name, NULL, path);
        }
    }
    return more;
}

static void each_resource(const ak_mcp *mcp, resource_visitor visit, void *context)
{
    bool more = true;
    for (size_t i = 0; i < mcp->kernel_count && more; i++) {
        const ak_mcp_kernel *kernel = &mcp->kernels[i];
        char uri[AK_PATH_MAX], folder[256], problem[512];
        (void)snprintf(uri, sizeof uri, SCHEME "kernels/%.200s/", kernel->name);
        (void)snprintf(folder, sizeof folder, "kernels/%.200s/", kernel->operand);
        (void)snprintf(problem, sizeof problem, "%.300sproblem.json", folder);
        more = ak_asset_find(problem) != NULL ? each_asset(folder, uri, visit, context)
                                              : each_file(kernel->operand, uri, visit, context);
    }
    if (more) {
        (void)each_asset("docs/", SCHEME "docs/", visit, context);
    }
}

static bool list_one(void *context, const char *uri, const ak_asset *asset, const char *path)
{
    (void)asset, (void)path;
    const char *name = uri + strlen(SCHEME);
    return ak_json_append(
        context, json_pack("{s:s, s:s, s:s}", "uri", uri, "name", name, "mimeType", type_of(name)));
}

json_t *ak_mcp_resources(const ak_mcp *mcp)
{
    json_t *list = json_array();
    each_resource(mcp, list_one, list);
    return json_pack("{s:o}", "resources", list);
}

typedef struct wanted {
    const char *uri;
    bool found;
    char *text;
    ak_status status;
    ak_error *err;
} wanted;

static bool read_one(void *context, const char *uri, const ak_asset *asset, const char *path)
{
    wanted *w = context;
    if (strcmp(uri, w->uri) != 0) {
        return true;
    }
    w->found = true;
    if (asset == NULL) {
        w->status = ak_fs_read(&w->text, NULL, path, FILE_MAX, w->err);
        return false;
    }
    w->text = ak_strndup(asset->data, asset->length);
    w->status = ak_made(w->text, w->err);
    return false;
}

ak_status ak_mcp_resource(json_t **out, const ak_mcp *mcp, const char *uri, ak_error *err)
{
    wanted w = {.uri = uri, .status = AK_OK, .err = err};
    each_resource(mcp, read_one, &w);
    AK_FAIL_IF(!w.found, err, AK_NOT_FOUND,
               "there is no resource '%.200s'; resources/list has them", uri);
    if (w.status == AK_OK) {
        *out = json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType", type_of(uri),
                         "text", ak_json_shown(w.text));
        w.status = ak_made(*out, err);
    }
    ak_free(w.text);
    return w.status;
}
