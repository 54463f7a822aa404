/*
 * buf.h: a growing text with a stated maximum.
 *
 *     ak_buf text = AK_BUF(AK_BUF_LINE_MAX);
 *     ak_buf_print(&text, "%d rows\n", rows);
 *     if (!ak_buf_ok(&text, err)) ...        // any append failed: too large, or no memory
 *     ak_buf_free(&text);
 *
 * `data` always ends in a 0 that `length` does not count, and is "" before the first append.
 */
#ifndef AK_BASE_BUF_H
#define AK_BASE_BUF_H

#include <stdarg.h>

#include "base/status.h"

typedef struct ak_buf {
    char *data;
    size_t length, capacity, max;
    ak_status failed;
} ak_buf;

extern char ak_buf_empty[1];
#define AK_BUF(max_bytes)                                                                          \
    {                                                                                              \
        ak_buf_empty, 0, 0, (max_bytes), AK_OK                                                     \
    }

void ak_buf_append(ak_buf *buf, const void *bytes, size_t count);
void ak_buf_puts(ak_buf *buf, const char *text);
void ak_buf_putc(ak_buf *buf, char c);
void ak_buf_print(ak_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ak_buf_vprint(ak_buf *buf, const char *format, va_list args);
/* A finite number with the fewest digits that read back as the same one (15 to 17 are needed at
   most), and a point whatever the locale. */
void ak_buf_real(ak_buf *buf, double value);
void ak_buf_clear(ak_buf *buf); /* empties, keeps the memory */
void ak_buf_free(ak_buf *buf);
ak_status ak_buf_status(const ak_buf *buf, ak_error *err); /* AK_OK, AK_LIMIT or AK_NO_MEMORY */
/* Gives the text to the caller (ak_free) and leaves the buffer empty. */
ak_status ak_buf_take(char **out, ak_buf *buf, ak_error *err);

#endif
