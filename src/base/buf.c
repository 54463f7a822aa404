/* buf.c: see buf.h. A failed buffer ignores further appends, so that a chain of them is checked
   once. */
#include "base/buf.h"

#include <string.h>

#include "base/alloc.h"
#include "base/number.h"

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
    int length = ak_number_vprint(NULL, 0, format, args);
    if (length < 0) {
        buf->failed = buf->failed == AK_OK ? AK_INTERNAL : buf->failed;
    } else if (make_room(buf, (size_t)length)) {
        (void)ak_number_vprint(buf->data + buf->length, (size_t)length + 1, format, again);
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
    buf->deep = false;
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
    buf->deep = false;
}

ak_status ak_buf_status(const ak_buf *buf, ak_error *err)
{
    AK_FAIL_IF(buf->failed == AK_LIMIT && buf->deep, err, AK_LIMIT,
               "what is to be written is nested deeper than JSON may be here");
    AK_FAIL_IF(buf->failed == AK_LIMIT, err, AK_LIMIT, "the text is longer than %zu bytes",
               buf->max);
    if (buf->failed == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    AK_FAIL_IF(buf->failed != AK_OK, err, buf->failed, "the text could not be formatted");
    return AK_OK;
}

ak_status ak_buf_take(char **out, ak_buf *buf, ak_error *err)
{
    ak_status status = ak_buf_status(buf, err);
    if (status == AK_OK && buf->capacity == 0) {
        char *empty = ak_strdup("");
        AK_DO(ak_made(empty, err));
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
    char text[AK_REAL_BYTES];
    ak_number_shortest(text, value);
    ak_buf_puts(buf, text);
}

void ak_buf_ratio(ak_buf *buf, double ratio)
{
    char text[AK_REAL_BYTES];
    ak_buf_puts(buf, ak_number_ratio(text, ratio));
}

void ak_buf_unshared(ak_buf *out, const char *list, const char *base)
{
    while (*list != 0) {
        size_t length = strcspn(list, ",");
        bool shared = false;
        for (const char *p = base; *p != 0 && !shared;) {
            size_t other = strcspn(p, ",");
            shared = other == length && memcmp(p, list, length) == 0;
            p += other + (p[other] == ',' ? 1 : 0);
        }
        if (!shared) {
            ak_buf_puts(out, out->length == 0 ? "" : ",");
            ak_buf_append(out, list, length);
        }
        list += length + (list[length] == ',' ? 1 : 0);
    }
}
