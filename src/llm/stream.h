/*
 * stream.h: splits replies that arrive in pieces into events: server-sent events (WHATWG HTML,
 * 9.2) or JSON lines. The pieces may have any size.
 */
#ifndef AK_LLM_STREAM_H
#define AK_LLM_STREAM_H

#include "llm/provider.h"

/* Longest event in bytes. A server that does not stream may put a whole reply into one event. */
#define AK_STREAM_EVENT_MAX AK_LLM_REPLY_BYTES_MAX
#define AK_STREAM_NAME_MAX  64

/* Receives an event. `data` ends in a zero byte, which `length` does not count, and holds no other.
   A status other than AK_OK ends the feed. */
typedef ak_status (*ak_stream_sink)(void *context, const char *event, const char *data,
                                    size_t length, ak_error *err);

typedef struct ak_stream {
    ak_stream_kind kind;
    ak_buf line, data;
    char event[AK_STREAM_NAME_MAX];
    bool after_cr; /* the last byte was a carriage return; a line feed after it adds no line */
    bool begun;    /* the first line, which may begin with a byte order mark, was read */
    ak_stream_sink sink;
    void *context;
} ak_stream;

void ak_stream_init(ak_stream *stream, ak_stream_kind kind, ak_stream_sink sink, void *context);
void ak_stream_free(ak_stream *stream);
/* Feeds bytes to the stream. Returns AK_LIMIT if an event is too large. */
ak_status ak_stream_feed(ak_stream *stream, const char *bytes, size_t count, ak_error *err);
/* Ends the stream and delivers the last event, even if its final line break is missing. */
ak_status ak_stream_end(ak_stream *stream, ak_error *err);

#endif
