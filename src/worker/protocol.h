/*
 * protocol.h: what the tuner and its workers say to each other: JSON objects, one a line, over a
 * private pair of pipes (descriptors 3 and 4 of the worker). A line longer than AK_LINE_MAX, or not
 * an object, ends the worker. Requests have "op" and "id"; replies repeat the id. docs/protocol.md
 * lists operations and fields.
 */
#ifndef AK_WORKER_PROTOCOL_H
#define AK_WORKER_PROTOCOL_H

#include "base/json.h"

#define AK_LINE_MAX (4u << 20)

/* Collects bytes until a line is whole. */
typedef struct ak_line_reader {
    ak_buf buf;
    size_t scanned;
} ak_line_reader;
void ak_line_reader_init(ak_line_reader *reader);
void ak_line_reader_free(ak_line_reader *reader);
/* Feeds bytes; AK_LIMIT if a line is too long. */
ak_status ak_line_reader_feed(ak_line_reader *reader, const char *bytes, size_t count,
                              ak_error *err);
/* The next whole line as an object: *out NULL if there is none yet. */
ak_status ak_line_reader_next(json_t **out, ak_line_reader *reader, ak_error *err);

/* Writes one object and a line break, all of it. AK_CRASHED if the other side has gone. */
ak_status ak_protocol_send(int fd, const json_t *message, ak_error *err);
/* Blocks until a whole message; *out NULL at the end of the stream. */
ak_status ak_protocol_receive(json_t **out, int fd, ak_line_reader *reader, ak_error *err);

#endif
