#include "base/shell.h"

#include <string.h>

void ak_shell_within(ak_buf *out, const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\'') {
            ak_buf_puts(out, "'\\''");
        } else {
            ak_buf_putc(out, *text);
        }
    }
}

void ak_shell_quote(ak_buf *out, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "_-./,:=+@%";
    if (word[0] != 0 && word[strspn(word, plain)] == 0) {
        ak_buf_puts(out, word);
        return;
    }
    ak_buf_putc(out, '\'');
    ak_shell_within(out, word);
    ak_buf_putc(out, '\'');
}
