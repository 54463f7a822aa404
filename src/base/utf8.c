/* utf8.c: see utf8.h. Only character() knows the encoding. */
#include "base/utf8.h"

#include <string.h>

#include "base/alloc.h"

/* Returns the bytes of the character at `text`, or 0 if it is not UTF-8. The 0 that ends the
   text is not a continuation byte, so that nothing after it is read. */
static size_t character(const unsigned char *text)
{
    unsigned char first = text[0];
    if (first < 0x80) {
        return 1;
    }
    size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                    : first >= 0xe0 && first <= 0xef ? 3
                    : first >= 0xf0 && first <= 0xf4 ? 4
                                                     : 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (first == 0xe0 && text[1] < 0xa0) || (first == 0xf0 && text[1] < 0x90);
    bool surrogate = first == 0xed && text[1] > 0x9f;
    bool beyond = first == 0xf4 && text[1] > 0x8f;
    return overlong || surrogate || beyond ? 0 : length;
}

bool ak_utf8_valid(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    while (*p != 0) {
        size_t length = character(p);
        if (length == 0) {
            return false;
        }
        p += length;
    }
    return true;
}

char *ak_utf8_clean(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    /* Each byte is replaced by at most three bytes. */
    char *out = ak_alloc(strlen(text) + 1, sizeof replacement - 1);
    if (out == NULL) {
        return NULL;
    }
    const unsigned char *p = (const unsigned char *)text;
    char *to = out;
    while (*p != 0) {
        size_t length = character(p);
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

/* Returns the bytes of an escape sequence that sets a style, or 0. */
static size_t style(const char *text, size_t bytes)
{
    size_t length = 2;
    if (bytes < 3 || text[0] != '\033' || text[1] != '[') {
        return 0;
    }
    while (length < bytes && strchr("0123456789;", text[length]) != NULL && text[length] != 0) {
        length++;
    }
    return length < bytes && text[length] == 'm' ? length + 1 : 0;
}

void ak_utf8_tame(char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        const unsigned char *p = (const unsigned char *)text + at;
        size_t left = bytes - at, length = p[0] < 0x80 ? 1 : left < 4 ? 0 : character(p);
        if (p[0] >= 0x80 && left < 4) { /* a copy that ends here: nothing behind it is read */
            unsigned char rest[4] = {0};
            memcpy(rest, p, left);
            length = character(rest);
        }
        size_t styled = style(text + at, left);
        bool control = (p[0] < 0x20 && p[0] != '\n' && p[0] != '\t') || p[0] == 0x7f ||
                       (length == 0 && p[0] < 0xa0) || (length == 2 && p[0] == 0xc2 && p[1] < 0xa0);
        length = length == 0 ? 1 : length;
        if (control && styled == 0) {
            memset(text + at, '?', length);
        }
        at += styled > 0 ? styled : length;
    }
}
