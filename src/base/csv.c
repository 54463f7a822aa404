#include "base/csv.h"

#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/plain.h"

/* Returns true for "-", which stands for a missing value, and for a number with or without a
   percent sign. */
static bool is_number(const char *text)
{
    if (strcmp(text, "-") == 0) {
        return true;
    }
    if (strspn(text, "+-.0123456789eE %") != strlen(text)) {
        return false; /* infinities and hexadecimal digits do not count as numbers */
    }
    char *end;
    (void)ak_number_read(text, &end);
    return end != text && (*end == 0 || strcmp(end, " %") == 0);
}

/* Returns true if a spreadsheet could run the text as a formula. Leading apostrophes are ignored,
   so that ak_csv_read can tell the one that ak_csv_text adds from the others. */
static bool needs_guard(const char *text)
{
    const char *begin = text + strspn(text, "'");
    return *begin != 0 && strchr("=+-@\t\r", *begin) != NULL && !is_number(text);
}

static void put_screened(ak_buf *out, const char *text)
{
    const char *guard = needs_guard(text) ? "'" : "";
    if (strpbrk(text, ",\"\r\n") == NULL) {
        ak_buf_puts(out, guard);
        ak_buf_puts(out, text);
        return;
    }
    ak_buf_putc(out, '"');
    ak_buf_puts(out, guard);
    for (; *text != 0; text++) {
        ak_buf_puts(out, *text == '"' ? "\"" : "");
        ak_buf_putc(out, *text);
    }
    ak_buf_putc(out, '"');
}

void ak_csv_text(ak_buf *out, const char *text)
{
    AK_FREED char *screened = ak_strdup(text);
    if (screened == NULL) {
        out->failed = out->failed == AK_OK ? AK_NO_MEMORY : out->failed;
        return;
    }
    ak_plain_screen(screened);
    put_screened(out, screened);
}

const char *ak_csv_read(const char *cell)
{
    return cell[0] == '\'' && needs_guard(cell + 1) ? cell + 1 : cell;
}
