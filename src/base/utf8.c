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

size_t ak_utf8_obeyed(unsigned *code, const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    unsigned found = 0;
    size_t length = 0;
    if (p[0] == 0x7f) {
        found = p[0];
        length = 1;
    } else if ((p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f) || (p[0] == 0xd8 && p[1] == 0x9c)) {
        found = (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
        length = 2;
    } else if (p[0] == 0xe2 && (p[1] == 0x80 || p[1] == 0x81) && (p[2] & 0xc0) == 0x80) {
        found = 0x2000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        bool marks = found == 0x200e || found == 0x200f, lines = found == 0x2028 || found == 0x2029;
        bool turns = (found >= 0x202a && found <= 0x202e) || (found >= 0x2066 && found <= 0x2069);
        length = marks || lines || turns ? 3 : 0;
    }
    *code = found;
    return length;
}

static void replace(char *text, char below)
{
    static const char replacement[] = "\xef\xbf\xbd";
    unsigned code;
    for (char *p = text; *p != 0;) {
        size_t length = ak_utf8_obeyed(&code, p);
        if (length == sizeof replacement - 1) {
            memcpy(p, replacement, length);
        } else if (length > 0) {
            memset(p, ' ', length);
        } else {
            *p = (unsigned char)*p < (unsigned char)below ? ' ' : *p;
            length = 1;
        }
        p += length;
    }
}

void ak_utf8_tame(char *text)
{
    replace(text, 0);
}

void ak_utf8_plain(char *text)
{
    replace(text, 0x20);
}
