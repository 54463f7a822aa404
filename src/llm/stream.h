/*
 * stream.h: replies that come in pieces: server-sent events (WHATWG HTML, 9.2) and JSON lines.
 * Pure: bytes in, in pieces of any size, whole events out.
 */
#ifndef AK_LLM_STREAM_H
#define AK_LLM_STREAM_H

#include "llm/provider.h"

/* One event; a server that does not stream may put a whole reply into it. */
#define AK_STREAM_EVENT_MAX AK_LLM_REPLY_BYTES_MAX
#define AK_STREAM_NAME_MAX  64

/* `data` ends in a 0, which `length` does not count, and holds no other. Not AK_OK ends the feed.
 */
typedef ak_status (*ak_stream_sink)(void *context, const char *event, const char *data,
                                    size_t length, ak_error *err);

typedef struct ak_stream {
    ak_stream_kind kind;
    ak_buf line, data;
    char event[AK_STREAM_NAME_MAX];
    bool after_cr; /* a line feed now belongs to the carriage return before */
    bool begun;    /* past the place where a byte order mark may be */
    ak_stream_sink sink;
    void *context;
} ak_stream;

void ak_stream_init(ak_stream *stream, ak_stream_kind kind, ak_stream_sink sink, void *context);
void ak_stream_free(ak_stream *stream);
/* AK_LIMIT: an event is too large. */
ak_status ak_stream_feed(ak_stream *stream, const char *bytes, size_t count, ak_error *err);
/* No more bytes will come: gives the last event even if the line break behind it is missing. */
ak_status ak_stream_end(ak_stream *stream, ak_error *err);

#endif
