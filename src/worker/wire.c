/*
 * wire.c: see wire.h. The reader holds complete lines and at most AK_LINE_MAX bytes of an
 * unfinished one. A line that is not a JSON object ends the conversation, because its sender is
 * broken and cannot be trusted with the next message.
 */
#include "worker/wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

void ak_line_reader_init(ak_line_reader *reader)
{
    *reader = (ak_line_reader){.buf = AK_BUF(2 * (size_t)AK_LINE_MAX)};
}

void ak_line_reader_free(ak_line_reader *reader)
{
    ak_buf_free(&reader->buf);
    reader->scanned = reader->unfinished = 0;
}

ak_status ak_line_reader_feed(ak_line_reader *reader, const char *bytes, size_t count,
                              ak_error *err)
{
    bool too_long = false;
    ak_buf_append(&reader->buf, bytes, count);
    AK_DO(ak_stored(reader->buf.failed != AK_NO_MEMORY, err));
    for (size_t i = 0; i < count; i++) {
        too_long = too_long || (bytes[i] != '\n' && reader->unfinished >= AK_LINE_MAX);
        reader->unfinished = bytes[i] == '\n' ? 0 : reader->unfinished + 1;
    }
    AK_FAIL_IF(reader->buf.failed != AK_OK || too_long, err, AK_LIMIT,
               "wire protocol: a line is longer than %u bytes", AK_LINE_MAX);
    return AK_OK;
}

/* Returns whether a line is complete, and its length. One that is too long, which
   ak_line_reader_feed has refused, never is. */
static bool complete(size_t *length, ak_line_reader *reader)
{
    ak_buf *buf = &reader->buf;
    const char *end = memchr(buf->data + reader->scanned, '\n', buf->length - reader->scanned);
    reader->scanned = end == NULL ? buf->length : reader->scanned;
    *length = end == NULL ? 0 : (size_t)(end - buf->data);
    return end != NULL && *length <= AK_LINE_MAX;
}

/* Removes the first line. */
static void drop(ak_line_reader *reader, size_t length)
{
    ak_buf *buf = &reader->buf;
    size_t rest = buf->length - length - 1;
    memmove(buf->data, buf->data + length + 1, rest + 1); /* including the final 0 */
    buf->length = rest;
    reader->scanned = 0;
}

bool ak_line_reader_line(ak_buf *line, ak_line_reader *reader)
{
    size_t length;
    ak_buf_clear(line);
    if (!complete(&length, reader)) {
        return false;
    }
    ak_buf_append(line, reader->buf.data, length);
    drop(reader, length);
    return true;
}

ak_status ak_line_reader_next(json_t **out, ak_line_reader *reader, ak_error *err)
{
    ak_buf *buf = &reader->buf;
    size_t length;
    *out = NULL;
    if (!complete(&length, reader)) {
        return AK_OK;
    }
    json_t *value = NULL;
    ak_status status = ak_json_parse(&value, buf->data, length, "wire protocol", err);
    drop(reader, length);
    if (status == AK_OK && !json_is_object(value)) {
        json_decref(value);
        return ak_fail(err, AK_INVALID, "wire protocol: a message is not an object");
    }
    if (status == AK_OK) {
        *out = value;
    }
    return status;
}

/* A write to a process that has ended raises SIGPIPE, which would end this one. A library must not
   change the signals of its program, so the signal is blocked during the write and then taken off
   the queue, unless one was pending before. */
typedef struct pipe_guard {
    sigset_t before;
    bool was_pending;
} pipe_guard;

static void guard_begin(pipe_guard *guard)
{
    sigset_t pending, pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    guard->was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &guard->before);
}

static void guard_end(const pipe_guard *guard)
{
    sigset_t pipe_only;
    struct timespec at_once = {0};
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    if (!guard->was_pending) {
        (void)sigtimedwait(&pipe_only, NULL, &at_once);
    }
    (void)pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}

ak_status ak_wire_send(int fd, const json_t *message, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf line = AK_BUF((size_t)AK_LINE_MAX + 1);
    ak_json_print(&line, message, false);
    ak_buf_putc(&line, '\n');
    ak_status status = ak_buf_status(&line, err);
    size_t done = 0;
    pipe_guard guard;
    guard_begin(&guard);
    while (status == AK_OK && done < line.length) {
        ssize_t wrote = write(fd, line.data + done, line.length - done);
        if (wrote > 0) {
            done += (size_t)wrote;
        } else if (wrote < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            if (poll(&ready, 1, AK_WIRE_PATIENCE_MS) == 0) {
                status = ak_fail(err, AK_CRASHED, "the other process reads nothing");
            }
        } else if (wrote == 0 || errno != EINTR) {
            status = ak_fail(err, AK_CRASHED, "the other process has ended: %s",
                             wrote == 0 ? "nothing could be written" : strerror(errno));
        }
    }
    guard_end(&guard);
    return status;
}

ak_status ak_wire_receive(json_t **out, int fd, ak_line_reader *reader, ak_error *err)
{
    for (;;) {
        ak_status status = ak_line_reader_next(out, reader, err);
        if (status != AK_OK || *out != NULL) {
            return status;
        }
        char chunk[65536];
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            (void)poll(&ready, 1, -1);
            continue;
        }
        AK_FAIL_IF(got < 0, err, AK_IO, "wire protocol: reading failed: %s", strerror(errno));
        if (got == 0) {
            AK_FAIL_IF(reader->buf.length != 0, err, AK_CRASHED,
                       "wire protocol: the stream ended within a message");
            return AK_OK;
        }
        AK_DO(ak_line_reader_feed(reader, chunk, (size_t)got, err));
    }
}
