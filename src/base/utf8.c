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
    size_t bytes = 1, length;
    for (const char *p = text; *p != 0; p += length > 0 ? length : 1) {
        length = ak_character_bytes(p);
        bytes += length > 0 ? length : sizeof replacement - 1;
    }
    char *out = ak_alloc(bytes, 1), *to = out;
    for (const char *p = text; out != NULL && *p != 0; p += length > 0 ? length : 1) {
        length = ak_character_bytes(p);
        to = length > 0 ? mempcpy(to, p, length) : mempcpy(to, replacement, sizeof replacement - 1);
    }
    if (out != NULL) {
        *to = 0;
    }
    return out;
}
