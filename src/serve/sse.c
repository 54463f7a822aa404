#include "serve/streams.h"

/* Writes one field. Blanks replace CR and LF, each of which would end the line. */
static void put_field(ak_buf *out, const char *name, const char *text)
{
    ak_buf_print(out, "%s: ", name);
    for (; *text != 0; text++) {
        ak_buf_putc(out, *text == '\n' || *text == '\r' ? ' ' : *text);
    }
    ak_buf_putc(out, '\n');
}

void ak_sse_put(ak_buf *out, const char *id, const char *event, const json_t *data)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_JSON_BYTES_MAX);
    ak_json_print(&text, data, false);
    if (id != NULL) {
        put_field(out, "id", id);
    }
    put_field(out, "event", event);
    put_field(out, "data", text.data);
    ak_buf_putc(out, '\n');
    out->failed = out->failed == AK_OK ? text.failed : out->failed;
}
