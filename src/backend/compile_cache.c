/* compile_cache.c: see compile_cache.h. */
#include "backend/compile_cache.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"

#define LOG_MAX      (256u << 10)
#define RULE_MAX     (256u << 10)
#define ARTIFACT_MAX (64u << 20)
#define READ_MAX     (4u << 20) /* a longer file counts as having each word */
#define SYSTEM       "/usr/"
/* The cache has 256 folders of at most this many files: some hundred MB if artifacts have 20 KB. */
#define FOLDER_MAX 128

/* Gives the folder of a backend's artifacts. Does not create it. */
static bool find_root(char out[AK_PATH_MAX], const char *backend)
{
    char cache[AK_PATH_MAX];
    return ak_fs_cache_folder(cache, NULL) == AK_OK &&
           ak_fs_join(out, cache, backend, NULL) == AK_OK;
}

void ak_compile_cache_open(char out[AK_PATH_MAX], const char *backend)
{
    if (!find_root(out, backend) || ak_fs_mkdirs(out, NULL) != AK_OK) {
        out[0] = 0;
    }
}

void ak_compile_cache_find(ak_compile_cache *out, const char *backend, ak_hasher *hasher)
{
    char root[AK_PATH_MAX], hash[AK_HASH_BYTES], name[AK_HASH_BYTES + 8];
    ak_hasher_end(hash, hasher);
    out->usable = false;
    (void)snprintf(name, sizeof name, "%.2s", hash);
    if (hash[0] != 0 && find_root(root, backend) &&
        ak_fs_join(out->folder, root, name, NULL) == AK_OK) {
        (void)snprintf(name, sizeof name, "%s.log", hash + 2);
        out->usable = ak_fs_join(out->artifact, out->folder, hash + 2, NULL) == AK_OK &&
                      ak_fs_join(out->log, out->folder, name, NULL) == AK_OK;
    }
}

/* Adds a line with the state of a file: its size, its time of change in ns and its path. */
static bool add_file(ak_buf *out, const char *path)
{
    struct stat file;
    if (stat(path, &file) != 0 || strchr(path, '\n') != NULL) {
        return false;
    }
    ak_buf_print(out, "%lld %lld %s\n", (long long)file.st_size,
                 (long long)file.st_mtim.tv_sec * 1000000000 + (long long)file.st_mtim.tv_nsec,
                 path);
    return true;
}

/* Takes the next path of a rule for make, in which "\ " is a blank within a path and "$$" a dollar;
   returns false at the end. */
static bool next_path(char out[AK_PATH_MAX], const char **at)
{
    size_t length = 0;
    while (**at == ' ' || **at == '\n' || (**at == '\\' && (*at)[1] == '\n')) {
        *at += **at == '\\' ? 2 : 1;
    }
    while (**at != 0 && **at != ' ' && **at != '\n' && length + 1 < AK_PATH_MAX) {
        *at += **at == '\\' && (*at)[1] == ' ' ? 1 : 0;
        *at += **at == '$' && (*at)[1] == '$' ? 1 : 0;
        out[length++] = *(*at)++;
    }
    out[length] = 0;
    return length > 0;
}

/* Adds the state of all files that a rule names, except `source`. */
static bool add_rule(ak_buf *out, const char *rule, const char *source)
{
    char path[AK_PATH_MAX], *text = NULL;
    if (ak_fs_read(&text, NULL, rule, RULE_MAX, NULL) != AK_OK) {
        return false;
    }
    const char *at = strstr(text, ": "); /* behind the target */
    bool good = at != NULL;
    for (at = good ? at + 2 : text; good && next_path(path, &at);) {
        good = strcmp(path, source) == 0 || add_file(out, path);
    }
    ak_free(text);
    return good;
}

static bool has_word(const char *path, const char *const *words)
{
    char *text = NULL;
    size_t length = 0;
    bool has = ak_fs_read(&text, &length, path, READ_MAX, NULL) != AK_OK;
    for (size_t i = 0; !has && words[i] != NULL; i++) {
        has = memmem(text, length, words[i], strlen(words[i])) != NULL;
    }
    ak_free(text);
    return has;
}

bool ak_compile_has_word(const char *rule, const char *source, const char *const *words)
{
    char path[AK_PATH_MAX], *text = NULL;
    bool has = has_word(source, words);
    if (rule != NULL && !has && ak_fs_read(&text, NULL, rule, RULE_MAX, NULL) == AK_OK) {
        const char *at = strstr(text, ": ");
        for (at = at == NULL ? "" : at + 2; !has && next_path(path, &at);) {
            has = strncmp(path, SYSTEM, strlen(SYSTEM)) != 0 && has_word(path, words);
        }
    }
    ak_free(text);
    return has;
}

/* Returns whether a rule names a path. */
static bool names(const char *rule, const char *wanted)
{
    char path[AK_PATH_MAX];
    bool found = false;
    for (const char *at = rule; !found && next_path(path, &at);) {
        found = strcmp(path, wanted) == 0;
    }
    return found;
}

bool ak_compile_reads_more(const char *list, const char *rule)
{
    char path[AK_PATH_MAX], *text = NULL, *known = NULL;
    bool more = ak_fs_read(&text, NULL, list, RULE_MAX, NULL) != AK_OK ||
                ak_fs_read(&known, NULL, rule, RULE_MAX, NULL) != AK_OK;
    const char *at = more ? NULL : strstr(text, ": ");
    for (at = at == NULL ? "" : at + 2; !more && next_path(path, &at);) {
        more = ak_fs_is_file(path) && !names(known, path);
    }
    ak_free(text);
    ak_free(known);
    return more;
}

static bool files_unchanged(const char *lines, size_t length)
{
    ak_buf now = AK_BUF(LOG_MAX);
    bool same = true;
    for (const char *line = lines; same && line < lines + length;) {
        const char *end = strchr(line, '\n'), *path = strchr(line, '/');
        char copy[AK_PATH_MAX];
        const size_t bytes = path == NULL || path > end ? 0 : (size_t)(end - path);
        same = bytes > 0 && bytes < sizeof copy;
        if (same) {
            memcpy(copy, path, bytes);
            copy[bytes] = 0;
            same = add_file(&now, copy);
            line = end + 1;
        }
    }
    same = same && now.length == length && memcmp(now.data, lines, length) == 0;
    ak_buf_free(&now);
    return same;
}

/* Hashes the artifact, the log without its first line, and the path that both belong to. */
static void checksum(char out[AK_HASH_BYTES], const ak_compile_cache *place, const char *artifact,
                     size_t length, const char *rest)
{
    ak_hasher *hasher = ak_hasher_new();
    ak_hasher_add_text(hasher, place->artifact);
    ak_hasher_add(hasher, artifact, length);
    ak_hasher_add_text(hasher, rest);
    ak_hasher_end(out, hasher);
}

/* The log has the checksum, a line for each file that the compiler has read, an empty line, and the
   messages of the compiler. It is written last, so an artifact with a log is complete. */
bool ak_compile_cache_take(char **log, const ak_compile_cache *place, const char *artifact)
{
    char *data = NULL, *text = NULL, hash[AK_HASH_BYTES];
    size_t length = 0;
    *log = NULL;
    bool found = place->usable && ak_fs_read(&text, NULL, place->log, LOG_MAX, NULL) == AK_OK &&
                 ak_fs_read(&data, &length, place->artifact, ARTIFACT_MAX, NULL) == AK_OK &&
                 strlen(text) > sizeof hash && text[sizeof hash - 1] == '\n';
    if (found) {
        const char *files = text + sizeof hash;
        const char *end = files[0] == '\n' ? files : strstr(files, "\n\n");
        checksum(hash, place, data, length, files);
        end = end == NULL || end == files ? end : end + 1;
        found = end != NULL && memcmp(hash, text, sizeof hash - 1) == 0 &&
                files_unchanged(files, (size_t)(end - files)) &&
                (*log = ak_strdup(end + 1)) != NULL &&
                ak_fs_write(artifact, data, length, NULL) == AK_OK;
    }
    ak_free(data);
    ak_free(text);
    if (!found) {
        ak_free(*log);
        *log = NULL;
    }
    return found;
}

/* Removes a folder that is full, to make room. */
static void make_room(const char *folder)
{
    char **names = NULL;
    size_t count = 0;
    if (ak_fs_list(&names, &count, folder, NULL) == AK_OK) {
        ak_fs_list_free(names, count);
        if (count >= FOLDER_MAX) {
            ak_fs_remove(folder);
        }
    }
}

void ak_compile_cache_keep(const ak_compile_cache *place, const char *artifact, const char *log,
                           const char *rule, const char *source)
{
    char *data = NULL, hash[AK_HASH_BYTES];
    size_t length = 0;
    ak_buf rest = AK_BUF(LOG_MAX), all = AK_BUF(LOG_MAX);
    if (place->usable && ak_fs_read(&data, &length, artifact, ARTIFACT_MAX, NULL) == AK_OK &&
        (rule == NULL || add_rule(&rest, rule, source))) {
        make_room(place->folder);
        ak_buf_print(&rest, "\n%s", ak_or_empty(log));
        checksum(hash, place, data, length, rest.data);
        ak_buf_print(&all, "%s\n%s", hash, rest.data);
        if (all.length < LOG_MAX && ak_fs_mkdirs(place->folder, NULL) == AK_OK &&
            ak_fs_write(place->artifact, data, length, NULL) == AK_OK) {
            (void)ak_fs_write(place->log, all.data, all.length, NULL);
        }
    }
    ak_buf_free(&rest);
    ak_buf_free(&all);
    ak_free(data);
}
