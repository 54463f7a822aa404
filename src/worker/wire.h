/*
 * wire.h: the messages between the tuner and its workers: JSON objects, one per line, over a
 * private pair of pipes (descriptors 3 and 4 of the worker). A line that is longer than AK_LINE_MAX
 * or not an object ends the worker. Requests have "op" and "id"; replies repeat the id.
 * docs/protocol.md lists operations and fields.
 */
#ifndef AK_WORKER_WIRE_H
#define AK_WORKER_WIRE_H

#include "base/json.h"

#define AK_LINE_MAX (4u << 20)
/* A process that reads nothing for this long while a message is written counts as ended; only a
   stopped one (SIGSTOP) does that. This applies to non-blocking descriptors. */
#define AK_WIRE_PATIENCE_MS 30000

/* Collects bytes until a line is complete. */
typedef struct ak_line_reader {
    ak_buf buf;
    size_t scanned;    /* bytes at the beginning that hold no end of a line */
    size_t unfinished; /* bytes after the last end of a line */
} ak_line_reader;
void ak_line_reader_init(ak_line_reader *reader);
void ak_line_reader_free(ak_line_reader *reader);
/* Appends bytes. Returns AK_LIMIT if a line is too long, finished or not, or if more than 2 *
   AK_LINE_MAX bytes wait to be taken. The lines before it can still be taken. */
ak_status ak_line_reader_feed(ak_line_reader *reader, const char *bytes, size_t count,
                              ak_error *err);
/* Takes the next complete line as an object; *out is NULL if there is none yet. The caller owns it.
   Fails if the line is not a JSON object. */
ak_status ak_line_reader_next(json_t **out, ak_line_reader *reader, ak_error *err);

/* Takes the next complete line, without its end, into `line`, which it empties first. Returns false
   if there is none yet. */
bool ak_line_reader_line(ak_buf *line, ak_line_reader *reader);

/* Writes one object and a line break completely. Returns AK_LIMIT if the line would be too long,
   and AK_CRASHED if the other side has ended or counts as ended (AK_WIRE_PATIENCE_MS). */
ak_status ak_wire_send(int fd, const json_t *message, ak_error *err);
/* Blocks until a message is complete; *out is NULL at the end of the stream. Returns AK_CRASHED if
   the stream ends within a message. The caller owns *out. */
ak_status ak_wire_receive(json_t **out, int fd, ak_line_reader *reader, ak_error *err);

#endif
