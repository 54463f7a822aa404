/*
 * protocol.c: see protocol.h. The reader never looks at a byte twice and never holds more than one
 * line beyond AK_LINE_MAX; what is not a JSON object ends the conversation, because a peer that
 * sends it is broken and cannot be trusted with the next message.
 */
#include "worker/protocol.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

void ak_line_reader_init(ak_line_reader *reader)
{
    *reader = (ak_line_reader){.buf = AK_BUF(2 * (size_t)AK_LINE_MAX)};
}

void ak_line_reader_free(ak_line_reader *reader)
{
    ak_buf_free(&reader->buf);
    reader->scanned = 0;
}

/* Length of the unfinished line at the end of what is held. */
static size_t unfinished(const ak_line_reader *reader)
{
    const char *data = reader->buf.data;
    const char *last = memrchr(data, '\n', reader->buf.length);
    return last == NULL ? reader->buf.length : reader->buf.length - (size_t)(last + 1 - data);
}

ak_status ak_line_reader_feed(ak_line_reader *reader, const char *bytes, size_t count,
                              ak_error *err)
{
    ak_buf_append(&reader->buf, bytes, count);
    if (reader->buf.failed == AK_NO_MEMORY) {
        return ak_fail_memory(err);
    }
    if (reader->buf.failed != AK_OK || unfinished(reader) > AK_LINE_MAX) {
        return ak_fail(err, AK_LIMIT, "worker protocol: a line is longer than %u bytes",
                       AK_LINE_MAX);
    }
    return AK_OK;
}

ak_status ak_line_reader_next(json_t **out, ak_line_reader *reader, ak_error *err)
{
    ak_buf *buf = &reader->buf;
    const char *end = memchr(buf->data + reader->scanned, '\n', buf->length - reader->scanned);
    *out = NULL;
    if (end == NULL) {
        reader->scanned = buf->length;
        return AK_OK;
    }
    size_t length = (size_t)(end - buf->data);
    if (length > AK_LINE_MAX) {
        return ak_fail(err, AK_LIMIT, "worker protocol: a line is longer than %u bytes",
                       AK_LINE_MAX);
    }
    json_t *value = NULL;
    ak_status status = ak_json_parse(&value, buf->data, length, "worker protocol", err);
    size_t rest = buf->length - length - 1;
    memmove(buf->data, buf->data + length + 1, rest + 1); /* with the final 0 */
    buf->length = rest;
    reader->scanned = 0;
    if (status == AK_OK && !json_is_object(value)) {
        json_decref(value);
        return ak_fail(err, AK_INVALID, "worker protocol: a message is not an object");
    }
    if (status == AK_OK) {
        *out = value;
    }
    return status;
}

/* Writing to a process that has ended raises SIGPIPE, which would end ours. A library must not
   change the signals of the program that it is part of, so it is held back during the write and
   taken off the queue, unless one was waiting there before. */
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

ak_status ak_protocol_send(int fd, const json_t *message, ak_error *err)
{
    ak_buf line = AK_BUF((size_t)AK_LINE_MAX + 1);
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
            (void)poll(&ready, 1, -1);
        } else if (wrote == 0 || errno != EINTR) {
            status = ak_fail(err, AK_CRASHED, "the other process has gone: %s",
                             wrote == 0 ? "nothing could be written" : strerror(errno));
        }
    }
    guard_end(&guard);
    ak_buf_free(&line);
    return status;
}

ak_status ak_protocol_receive(json_t **out, int fd, ak_line_reader *reader, ak_error *err)
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
        if (got < 0) {
            return ak_fail(err, AK_IO, "worker protocol: cannot be read: %s", strerror(errno));
        }
        if (got == 0) {
            return reader->buf.length == 0
                       ? AK_OK
                       : ak_fail(err, AK_CRASHED, "worker protocol: ended within a message");
        }
        status = ak_line_reader_feed(reader, chunk, (size_t)got, err);
        if (status != AK_OK) {
            return status;
        }
    }
}
