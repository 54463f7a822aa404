#include "base/utf8.h"

#include <string.h>

#include "base/alloc.h"
#include "base/character.h"

bool ak_utf8_valid(const char *text)
{
    const char *p = text;
    while (*p != 0) {
        size_t length = ak_character_bytes(p);
        if (length == 0) {
            return false;
        }
        p += length;
    }
    return true;
}

size_t ak_utf8_mark(const char *text)
{
    return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

size_t ak_utf8_cut(const char *text, size_t max)
{
    size_t length = strnlen(text, max);
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
        length--;
    }
    return length;
}

char *ak_utf8_clean(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    /* Each byte is replaced by at most three bytes. */
    char *out = ak_alloc(strlen(text) + 1, sizeof replacement - 1);
    if (out == NULL) {
        return NULL;
    }
    const char *p = text;
    char *to = out;
    while (*p != 0) {
        size_t length = ak_character_bytes(p);
        if (length == 0) {
            memcpy(to, replacement, sizeof replacement - 1);
            to += sizeof replacement - 1;
            p++;
        } else {
            memcpy(to, p, length);
            to += length;
            p += length;
        }
    }
    *to = 0;
    return out;
}
