/* buf.c: see buf.h. A failure sticks, so that a chain of appends is checked once. */
#include "base/buf.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

char ak_buf_empty[1];

static bool make_room(ak_buf *buf, size_t count)
{
    if (buf->failed != AK_OK) {
        return false;
    }
    if (count > buf->max || buf->length > buf->max - count) {
        buf->failed = AK_LIMIT;
        return false;
    }
    size_t need = buf->length + count + 1;
    if (need > buf->capacity) {
        void *memory = buf->capacity == 0 ? NULL : buf->data;
        if (ak_grow(&memory, &buf->capacity, need, 1, NULL) != AK_OK) {
            buf->failed = AK_NO_MEMORY;
            return false;
        }
        buf->data = memory;
    }
    return true;
}

void ak_buf_append(ak_buf *buf, const void *bytes, size_t count)
{
    if (count == 0 || !make_room(buf, count)) {
        return;
    }
    memcpy(buf->data + buf->length, bytes, count);
    buf->length += count;
    buf->data[buf->length] = 0;
}

void ak_buf_puts(ak_buf *buf, const char *text)
{
    ak_buf_append(buf, text, strlen(text));
}

void ak_buf_putc(ak_buf *buf, char c)
{
    ak_buf_append(buf, &c, 1);
}

void ak_buf_vprint(ak_buf *buf, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        buf->failed = buf->failed == AK_OK ? AK_INTERNAL : buf->failed;
    } else if (make_room(buf, (size_t)length)) {
        (void)vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
}

void ak_buf_print(ak_buf *buf, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    ak_buf_vprint(buf, format, args);
    va_end(args);
}

void ak_buf_clear(ak_buf *buf)
{
    buf->length = 0;
    buf->failed = AK_OK;
    if (buf->capacity > 0) {
        buf->data[0] = 0;
    }
}

void ak_buf_free(ak_buf *buf)
{
    if (buf->capacity > 0) {
        ak_free(buf->data);
    }
    buf->data = ak_buf_empty;
    buf->length = 0;
    buf->capacity = 0;
    buf->failed = AK_OK;
}

ak_status ak_buf_status(const ak_buf *buf, ak_error *err)
{
    if (buf->failed == AK_LIMIT) {
        return ak_fail(err, AK_LIMIT, "text longer than %zu bytes", buf->max);
    }
    if (buf->failed == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (buf->failed != AK_OK) {
        return ak_fail(err, buf->failed, "text could not be formatted");
    }
    return AK_OK;
}

ak_status ak_buf_take(char **out, ak_buf *buf, ak_error *err)
{
    ak_status status = ak_buf_status(buf, err);
    if (status == AK_OK && buf->capacity == 0) {
        char *empty = ak_strdup("");
        if (empty == NULL) {
            return ak_fail_memory(err);
        }
        *out = empty;
        return AK_OK;
    }
    if (status != AK_OK) {
        ak_buf_free(buf);
        return status;
    }
    *out = buf->data;
    buf->capacity = 0;
    ak_buf_free(buf);
    return AK_OK;
}

void ak_buf_real(ak_buf *buf, double value)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") == 0 ? NULL : strstr(text, point);
    if (at == NULL) {
        ak_buf_puts(buf, text);
    } else {
        ak_buf_append(buf, text, (size_t)(at - text));
        ak_buf_putc(buf, '.');
        ak_buf_puts(buf, at + strlen(point));
    }
}
