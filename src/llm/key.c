/* key.c: see key.h. */
#include "llm/key.h"

#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"

/* "sk-" and so many characters of a key are one; fewer are the masked rest that servers repeat. */
#define LOOKS_LIKE_KEY 16
#define SHORTEST_KEY   8 /* less would redact half of a text */

void ak_key_free(char *key)
{
    if (key != NULL) {
        explicit_bzero(key, strlen(key));
        ak_free(key);
    }
}

static ak_status check_key(const char *key, const char *where, ak_error *err)
{
    size_t length = strlen(key);
    for (size_t i = 0; i < length; i++) {
        if (key[i] <= 0x20 || key[i] >= 0x7f) {
            return ak_fail(err, AK_INVALID, "%s: the key has a character that no key has", where);
        }
    }
    return length >= SHORTEST_KEY ? AK_OK : ak_fail(err, AK_INVALID, "%s: holds no key", where);
}

static ak_status read_file(char **out, const char *path, ak_error *err)
{
    struct stat info;
    char *text = NULL;
    size_t length;
    if (stat(path, &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return ak_fail(err, AK_INVALID, "%s: others may read this key file; chmod 600 %s", path,
                       path);
    }
    ak_status status = ak_fs_read(&text, &length, path, AK_KEY_MAX, err);
    if (status != AK_OK) {
        return status;
    }
    text[strcspn(text, "\r\n")] = 0;
    status = check_key(text, path, err);
    if (status == AK_OK) {
        *out = ak_strdup(text);
        status = *out == NULL ? ak_fail_memory(err) : AK_OK;
    }
    explicit_bzero(text, length);
    ak_free(text);
    return status;
}

ak_status ak_key_read(char **out, const ak_provider *provider, const char *file, ak_error *err)
{
    *out = NULL;
    if (file != NULL) {
        return read_file(out, file, err);
    }
    const char *key = provider->key_variable == NULL ? NULL : ak_env(provider->key_variable);
    if (key == NULL) {
        return AK_OK;
    }
    ak_status status = check_key(key, provider->key_variable, err);
    if (status == AK_OK) {
        *out = ak_strdup(key);
        status = *out == NULL ? ak_fail_memory(err) : AK_OK;
    }
    return status;
}

static bool key_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
}

void ak_key_redact(char *text, const char *key)
{
    size_t length = key == NULL ? 0 : strlen(key);
    for (char *p = length > 0 ? strstr(text, key) : NULL; p != NULL; p = strstr(p, key)) {
        memset(p, '*', length);
        p += length;
    }
    for (char *p = strstr(text, "sk-"); p != NULL; p = strstr(p + 1, "sk-")) {
        size_t count = 3;
        if (p > text && key_character(p[-1])) {
            continue; /* "task-...": the middle of a word */
        }
        while (key_character(p[count])) {
            count++;
        }
        if (count >= 3 + LOOKS_LIKE_KEY) {
            memset(p + 3, '*', count - 3);
        }
    }
}
