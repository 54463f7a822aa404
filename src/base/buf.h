/*
 * buf.h: a growing text with a stated maximum.
 *
 *     AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4096);
 *     ak_buf_print(&text, "%d rows\n", rows);
 *     AK_DO(ak_buf_status(&text, err));  // fails if any append failed
 *
 * `data` always ends in a 0 that `length` does not count, and is "" before the first append. Once
 * an append has failed (the text would be too long, or there is no memory), later ones are ignored
 * until the buffer is cleared or freed.
 */
#ifndef AK_BASE_BUF_H
#define AK_BASE_BUF_H

#include <stdarg.h>

#include "base/status.h"

typedef struct ak_buf {
    char *data;
    size_t length, capacity, max;
    ak_status failed;
    bool deep; /* it failed because JSON that was to be written is nested too deeply (json.h) */
} ak_buf;

extern char ak_buf_empty[1];
#define AK_BUF(max_bytes)                                                                          \
    {                                                                                              \
        ak_buf_empty, 0, 0, (max_bytes), AK_OK, false                                              \
    }

void ak_buf_append(ak_buf *buf, const void *bytes, size_t count);
void ak_buf_puts(ak_buf *buf, const char *text);
void ak_buf_putc(ak_buf *buf, char c);
void ak_buf_print(ak_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ak_buf_vprint(ak_buf *buf, const char *format, va_list args);
/* Appends a finite number with the fewest digits that read back as the same number (number.h). */
void ak_buf_real(ak_buf *buf, double value);
/* Appends a ratio with the digits that people see (ak_number_ratio). */
void ak_buf_ratio(ak_buf *buf, double ratio);
/* Appends the items of the comma-separated list `list` that are not in the comma-separated list
   `base`. The buffer must be empty. */
void ak_buf_unshared(ak_buf *buf, const char *list, const char *base);
/* Empties the buffer, forgets a failure and keeps the memory. */
void ak_buf_clear(ak_buf *buf);
/* Frees the memory. The buffer is then empty and may be used again. */
void ak_buf_free(ak_buf *buf);
/* Returns AK_OK, or why an append failed: AK_LIMIT (the text would be longer than the maximum, or
   ak_json_print got JSON that is nested too deeply), AK_NO_MEMORY, or AK_INTERNAL (the format is
   wrong). */
ak_status ak_buf_status(const ak_buf *buf, ak_error *err);
/* Gives the text to the caller, who frees it with ak_free, and leaves the buffer empty, also on
   failure. Fails as ak_buf_status does. */
ak_status ak_buf_take(char **out, ak_buf *buf, ak_error *err);

#endif
