#include "llm/key.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/ascii.h"
#include "base/fs.h"
#include "base/utf8.h"

/* "sk-" with at least this many characters after it is taken for a key. Servers repeat keys in a
   masked form, which is shorter. */
#define LOOKS_LIKE_KEY 16
#define SHORTEST_KEY   8 /* redacting a shorter string would hit ordinary text */

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
        AK_FAIL_IF(key[i] <= 0x20 || key[i] >= 0x7f, err, AK_INVALID,
                   "%s: the key has a character that no key has", where);
    }
    return length >= SHORTEST_KEY
               ? AK_OK
               : ak_fail(err, AK_INVALID, "%s: holds no key: one has at least %d characters", where,
                         SHORTEST_KEY);
}

static ak_status read_file(char **out, const char *path, ak_error *err)
{
    struct stat info;
    char *text = NULL;
    size_t length;
    AK_FAIL_IF(stat(path, &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0, err, AK_INVALID,
               "%s: others may read this key file; chmod 600 %s", path, path);
    AK_DO(ak_fs_read(&text, &length, path, AK_KEY_MAX, err));
    text[strcspn(text, "\r\n")] = 0;
    ak_status status = AK_OK;
    const char *key = text + ak_utf8_mark(text);
    AK_TRY(check_key(key, path, err));
    AK_TRY(ak_copy_text(out, key, err));
out:
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
    AK_DO(check_key(key, provider->key_variable, err));
    return ak_copy_text(out, key, err);
}

static bool key_character(char c)
{
    return ak_ascii_is_word(c) || c == '-';
}

void ak_key_redact(char *text, const char *key)
{
    size_t shown = key == NULL ? 0 : strlen(key);
    shown = shown < SHORTEST_KEY ? shown : SHORTEST_KEY;
    for (char *p = text; shown > 0 && *p != 0; p++) {
        if (strncmp(p, key, shown) == 0) { /* the text may end inside the key */
            for (const char *k = key; *k != 0 && *p == *k; k++) {
                *p++ = '*';
            }
            p--;
        }
    }
    for (char *p = strstr(text, "sk-"); p != NULL; p = strstr(p + 1, "sk-")) {
        size_t count = 3;
        if (p > text && key_character(p[-1])) {
            continue; /* "task-..." is not a key: the match lies inside a word */
        }
        while (key_character(p[count])) {
            count++;
        }
        if (count >= 3 + LOOKS_LIKE_KEY) {
            memset(p + 3, '*', count - 3);
        }
    }
}
