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
