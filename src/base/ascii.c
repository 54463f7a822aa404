#include "base/ascii.h"

#include <string.h>

bool ak_ascii_begins(const char *text, const char *head)
{
    while (*head != 0 && ak_ascii_lower(*text) == ak_ascii_lower(*head)) {
        text++;
        head++;
    }
    return *head == 0;
}

bool ak_ascii_equal(const char *a, const char *b)
{
    return strlen(a) == strlen(b) && ak_ascii_begins(a, b);
}

const char *ak_ascii_find(const char *text, const char *part)
{
    for (; *text != 0; text++) {
        if (ak_ascii_begins(text, part)) {
            return text;
        }
    }
    return *part == 0 ? text : NULL;
}
