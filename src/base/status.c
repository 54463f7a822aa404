/* status.c: see status.h. Every message is one line that is safe to print on a terminal. */
#include "base/status.h"

#include <stdarg.h>
#include <string.h>

#include "base/number.h"
#include "base/plain.h"

const char *ak_version(void)
{
    return AK_VERSION;
}

const char *ak_status_text(ak_status status)
{
    static const char *const texts[] = {
#define AK_STATUS_TEXT(name, text) [AK_##name] = text,
        AK_STATUS_MAP(AK_STATUS_TEXT)
#undef AK_STATUS_TEXT
    };
    return (size_t)status >= AK_COUNT(texts) ? "unknown status" : texts[status];
}

ak_status(ak_fail)(ak_error *err, ak_status status, const char *format, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, format);
        (void)ak_number_vprint(err->text, sizeof err->text, format, args);
        va_end(args);
        ak_plain_line(err->text); /* the message may quote files and compilers */
        err->status = status;
    }
    return status;
}

ak_status ak_fail_unpacked(ak_error *err, ak_status status, const char *folder, const char *what)
{
    const size_t length = strlen(folder);
    if (err == NULL || length == 0 || strncmp(err->text, folder, length) != 0 ||
        err->text[length] != '/') {
        return status;
    }
    memmove(err->text, err->text + length + 1, strlen(err->text + length + 1) + 1);
    (void)ak_fail_within(err, "%s", what);
    return status;
}

ak_status ak_fail_within(ak_error *err, const char *format, ...)
{
    if (err == NULL) {
        return AK_INTERNAL;
    }
    char inner[sizeof err->text];
    memcpy(inner, err->text, sizeof inner);
    va_list args;
    va_start(args, format);
    int length = ak_number_vprint(err->text, sizeof err->text, format, args);
    va_end(args);
    size_t room = length < 0 ? 0 : sizeof err->text - 1;
    room = (size_t)length < room ? room - (size_t)length : 0;
    if (room > 2) {
        /* The end of a message that does not fit is cut off: only people read it. */
        (void)snprintf(err->text + length, room + 1, ": %.*s", (int)room - 2, inner);
    }
    ak_plain_line(err->text);
    return err->status;
}

ak_status(ak_fail_memory)(ak_error *err)
{
    return ak_fail(err, AK_NO_MEMORY, "out of memory");
}
