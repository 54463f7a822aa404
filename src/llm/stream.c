/* stream.c: see stream.h. Both kinds consist of lines, which they interpret differently. */
#include "llm/stream.h"

#include "base/utf8.h"

void ak_stream_init(ak_stream *stream, ak_stream_kind kind, ak_stream_sink sink, void *context)
{
    *stream = (ak_stream){.kind = kind,
                          .line = AK_BUF(AK_STREAM_EVENT_MAX),
                          .data = AK_BUF(AK_STREAM_EVENT_MAX),
                          .sink = sink,
                          .context = context};
}

void ak_stream_free(ak_stream *stream)
{
    ak_buf_free(&stream->line);
    ak_buf_free(&stream->data);
}

static ak_status dispatch(ak_stream *stream, ak_error *err)
{
    ak_status status = ak_buf_status(&stream->data, err);
    if (status == AK_OK && stream->data.length > 0) {
        size_t length = stream->data.length - 1; /* without the final line break */
        stream->data.data[length] = 0;
        status = stream->sink(stream->context, stream->event, stream->data.data, length, err);
    }
    ak_buf_clear(&stream->data);
    stream->event[0] = 0;
    return status;
}

static ak_status event_line(ak_stream *stream, const char *line, ak_error *err)
{
    if (line[0] == 0) {
        return dispatch(stream, err);
    }
    size_t name = strcspn(line, ":");
    const char *value = line + name + (line[name] == ':');
    value += *value == ' ';
    if (name == 4 && memcmp(line, "data", 4) == 0) {
        ak_buf_puts(&stream->data, value);
        ak_buf_putc(&stream->data, '\n');
        return ak_buf_status(&stream->data, err);
    }
    if (name == 5 && memcmp(line, "event", 5) == 0) {
        (void)snprintf(stream->event, sizeof stream->event, "%s", value);
    }
    return AK_OK; /* a comment, an id, a retry, or an unknown field */
}

static ak_status end_line(ak_stream *stream, ak_error *err)
{
    ak_status status = ak_buf_status(&stream->line, err);
    const char *line = stream->line.data;
    if (status == AK_OK && !stream->begun) {
        line += ak_utf8_mark(line);
    }
    stream->begun = true;
    if (status == AK_OK && stream->kind == AK_STREAM_SSE) {
        status = event_line(stream, line, err);
    } else if (status == AK_OK && line[strspn(line, " \t")] != 0) {
        status = stream->sink(stream->context, "", line, strlen(line), err);
    }
    ak_buf_clear(&stream->line);
    return status;
}

/* Appends bytes to a line. A zero byte becomes a blank, because it would end a C string; neither
   JSON nor event fields contain one. */
static void append(ak_buf *line, const char *bytes, size_t count)
{
    size_t from = line->length;
    ak_buf_append(line, bytes, count);
    for (char *p = line->data + from;
         from < line->length && (p = memchr(p, 0, line->length - (size_t)(p - line->data))) != NULL;
         p++) {
        *p = ' ';
    }
}

ak_status ak_stream_feed(ak_stream *stream, const char *bytes, size_t count, ak_error *err)
{
    const char *end = bytes + count;
    ak_status status = AK_OK;
    while (bytes < end && status == AK_OK) {
        if (stream->after_cr && *bytes == '\n') {
            bytes++;
        }
        stream->after_cr = false;
        const char *p = bytes;
        while (p < end && *p != '\n' && *p != '\r') {
            p++;
        }
        append(&stream->line, bytes, (size_t)(p - bytes));
        status = ak_buf_status(&stream->line, err);
        if (p < end && status == AK_OK) {
            stream->after_cr = *p == '\r';
            status = end_line(stream, err);
            p++;
        }
        bytes = p;
    }
    return status;
}

ak_status ak_stream_end(ak_stream *stream, ak_error *err)
{
    AK_DO(stream->line.length > 0 ? end_line(stream, err) : AK_OK);
    if (stream->kind == AK_STREAM_SSE) {
        AK_DO(dispatch(stream, err));
    }
    return AK_OK;
}
