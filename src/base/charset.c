#include "base/charset.h"

#include <string.h>

#include "base/ascii.h"
#include "base/fs.h"
#include "base/status.h"

bool ak_charset_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < AK_COUNT(names); i++) {
        const char *value = ak_env(names[i]);
        if (value != NULL) {
            const char *set = strchr(value, '.'); /* "de_DE.UTF-8"; on some systems "UTF-8" */
            set = set == NULL ? value : set + 1;
            return ak_ascii_begins(set, "UTF-8") || ak_ascii_begins(set, "UTF8");
        }
    }
    return false;
}

void ak_charset_fit(char *text)
{
    static const struct {
        const char *shown, *plain;
    } ours[] = {{"\u00b5s", "us"}, {"\u2581", "_"}, {"\u2582", "."},
                {"\u2583", ","},   {"\u2584", "-"}, {"\u2585", "="},
                {"\u2586", "+"},   {"\u2587", "*"}, {"\u2588", "#"}};
    char *to = text;
    if (ak_charset_is_utf8()) {
        return;
    }
    for (const char *from = text; *from != 0;) {
        size_t i = 0, length = 0;
        for (; i < AK_COUNT(ours) && length == 0; i++) {
            size_t bytes = strlen(ours[i].shown);
            length = strncmp(from, ours[i].shown, bytes) == 0 ? bytes : 0;
        }
        if (length == 0) {
            *to++ = *from++;
            continue;
        }
        memcpy(to, ours[i - 1].plain, strlen(ours[i - 1].plain));
        to += strlen(ours[i - 1].plain);
        from += length;
    }
    *to = 0;
}
