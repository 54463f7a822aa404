#include "base/plain.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/character.h"

size_t ak_plain_obeyed(unsigned *code, const char *text)
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
        size_t length = ak_plain_obeyed(&code, p);
        if (length == sizeof replacement - 1) {
            memcpy(p, replacement, length);
        } else if (length > 0) {
            memset(p, ' ', length);
        } else {
            const unsigned char c = (unsigned char)*p;
            length = ak_character_bytes(p);
            bool alone = length == 0 && c < 0xa0; /* not UTF-8, but some terminals obey it */
            *p = alone || c < (unsigned char)below ? ' ' : *p;
            length = length == 0 ? 1 : length;
        }
        p += length;
    }
}

void ak_plain_tame(char *text)
{
    replace(text, 0);
}

void ak_plain_line(char *text)
{
    replace(text, 0x20);
}

void ak_plain_screen(char *text)
{
    ak_plain_tame(text);
    for (char *p = text; *p != 0; p++) {
        if ((unsigned char)*p < 0x20 && *p != '\n' && *p != '\t') {
            *p = ' ';
        }
    }
}

void ak_plain_copy(char *out, size_t bytes, const char *text)
{
    unsigned code;
    size_t used = 0;
    while (*text != 0) {
        const size_t length = ak_character_bytes(text), obeyed = ak_plain_obeyed(&code, text);
        const bool bad = length == 0 || obeyed > 0 || (unsigned char)*text < 0x20;
        if (used + (bad ? 1 : length) >= bytes) {
            break;
        }
        memcpy(out + used, bad ? "?" : text, bad ? 1 : length);
        used += bad ? 1 : length;
        text += length == 0 ? 1 : length;
    }
    out[used] = 0;
}

void ak_plain_first_line(char *out, size_t bytes, const char *text)
{
    (void)snprintf(out, bytes, "%.*s", (int)strcspn(text, "\r\n"), text);
    for (char *c = out; *c != 0; c++) {
        *c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? ' ' : *c;
    }
}
