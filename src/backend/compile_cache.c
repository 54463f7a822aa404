/* compile_cache.c: see compile_cache.h. */
#include "backend/compile_cache.h"

#include <string.h>

#include "base/alloc.h"

#define LOG_MAX      (64u << 10)
#define ARTIFACT_MAX (64u << 20)
/* The cache has 256 folders of at most this many files each: at most some hundred MB together. */
#define FOLDER_MAX 128

ak_status ak_compile_cache_root(char out[AK_PATH_MAX], const char *backend, ak_error *err)
{
    char cache[AK_PATH_MAX];
    AK_DO(ak_fs_cache_folder(cache, err));
    return ak_fs_join(out, cache, backend, err);
}

void ak_compile_cache_open(char out[AK_PATH_MAX], const char *backend)
{
    if (ak_compile_cache_root(out, backend, NULL) != AK_OK || ak_fs_mkdirs(out, NULL) != AK_OK) {
        out[0] = 0;
    }
}

void ak_compile_cache_find(ak_compile_cache *out, const char *backend, ak_hasher *hasher)
{
    char root[AK_PATH_MAX], hash[AK_HASH_BYTES], name[64];
    ak_hasher_end(hash, hasher);
    out->usable = false;
    (void)snprintf(name, sizeof name, "%.2s", hash);
    if (hash[0] != 0 && ak_compile_cache_root(root, backend, NULL) == AK_OK &&
        ak_fs_join(out->folder, root, name, NULL) == AK_OK) {
        (void)snprintf(name, sizeof name, "%s.log", hash + 2);
        out->usable = ak_fs_join(out->artifact, out->folder, hash + 2, NULL) == AK_OK &&
                      ak_fs_join(out->log, out->folder, name, NULL) == AK_OK;
    }
}

/* The log is written last, so an artifact with a log is complete. */
bool ak_compile_cache_take(char **log, const ak_compile_cache *place, const char *artifact)
{
    char *data = NULL;
    size_t length = 0;
    *log = NULL;
    bool found =
        place->usable && ak_fs_read(log, NULL, place->log, LOG_MAX, NULL) == AK_OK &&
        ak_fs_read(&data, &length, place->artifact, ARTIFACT_MAX, NULL) == AK_OK &&
        ak_fs_write(artifact, data, length, NULL) == AK_OK;
    ak_free(data);
    if (!found) {
        ak_free(*log);
        *log = NULL;
    }
    return found;
}

void ak_compile_cache_keep(const ak_compile_cache *place, const char *artifact, const char *log)
{
    char *data = NULL, **names = NULL;
    size_t length = 0, count = 0;
    if (!place->usable || ak_fs_read(&data, &length, artifact, ARTIFACT_MAX, NULL) != AK_OK) {
        return;
    }
    if (ak_fs_list(&names, &count, place->folder, NULL) == AK_OK) {
        ak_fs_list_free(names, count);
        if (count >= FOLDER_MAX) {
            ak_fs_remove(place->folder);
        }
    }
    log = log == NULL ? "" : log;
    if (ak_fs_mkdirs(place->folder, NULL) == AK_OK &&
        ak_fs_write(place->artifact, data, length, NULL) == AK_OK) {
        (void)ak_fs_write(place->log, log, strlen(log), NULL);
    }
    ak_free(data);
}
