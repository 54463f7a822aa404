#include "base/code_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/plain.h"

void ak_code_comment(ak_buf *out, const char *text)
{
    char *line = ak_strdup(text);
    if (line == NULL) {
        out->failed = out->failed == AK_OK ? AK_NO_MEMORY : out->failed;
        return;
    }
    ak_plain_line(line);
    for (const char *p = line; *p != 0; p++) {
        const bool mark = (p[0] == '*' && p[1] == '/') || (p[0] == '/' && p[1] == '*');
        ak_buf_putc(out, *p);
        ak_buf_puts(out, mark ? " " : "");
    }
    ak_free(line);
}

void ak_code_string(ak_buf *out, const char *text)
{
    ak_json_quote(out, text, strlen(text));
}
