#include "cli/mcp_link.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/task_args.h"

#define POLL_MS      100 /* ms between two checks of the clock and of signals */
#define CHUNK        65536
#define REPLY_MAX    (64u << 20)
#define TICK_SECONDS 1.0

struct ak_mcp_link {
    int out;
    pthread_t reader;
    ak_rpc_lines lines;
    /* `writing` guards `out`. `lock` guards all members below; `stop` is also read without it. */
    pthread_mutex_t lock, writing;
    pthread_cond_t ready;
    json_t *queue[AK_MCP_WAITING_MAX];
    size_t queued;
    bool ended;
    json_t *taken;           /* the message that was taken last */
    const json_t *under_way; /* id of the request under way, in `taken`; NULL: none */
    volatile int stop;
    int64_t deadline_ns;
    const json_t *tick_token;
    const char *tick_text;
    int64_t tick_begin_ns, tick_next_ns;
};

/* ---- standard output ------------------------------------------------------------------------- */

void ak_mcp_link_send(ak_mcp_link *link, json_t *message)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(REPLY_MAX);
    if (message == NULL) {
        return;
    }
    ak_json_print(&text, message, false);
    if (ak_buf_status(&text, NULL) != AK_OK) {
        json_auto_t *error = ak_rpc_error(json_object_get(message, "id"), AK_RPC_INTERNAL,
                                          "the reply is too large; ask for less");
        ak_buf_clear(&text);
        ak_json_print(&text, error, false);
    }
    json_decref(message);
    ak_buf_putc(&text, '\n');
    (void)pthread_mutex_lock(&link->writing);
    /* A client that does not read must not keep a signal from ending this process, so no write may
       block: if poll reports a pipe as writable, PIPE_BUF bytes can be written without blocking. */
    for (size_t at = 0; at < text.length && ak_interrupted == 0;) {
        struct pollfd mouth = {.fd = link->out, .events = POLLOUT};
        size_t left = text.length - at;
        if (poll(&mouth, 1, POLL_MS) <= 0) {
            continue;
        }
        ssize_t count = write(link->out, text.data + at, left < PIPE_BUF ? left : PIPE_BUF);
        if (count < 0 && errno != EINTR && errno != EAGAIN) {
            break; /* the client has ended, which the reader of standard input notices too */
        }
        at += count > 0 ? (size_t)count : 0;
    }
    (void)pthread_mutex_unlock(&link->writing);
}

static void send_progress(ak_mcp_link *link, const json_t *token, double done, double total,
                          const char *text)
{
    json_t *params = json_pack("{s:o, s:o, s:o*, s:s?}", "progressToken", json_deep_copy(token),
                               "progress", ak_json_real(done), "total",
                               total > 0 ? ak_json_real(total) : NULL, "message", text);
    ak_mcp_link_send(link, ak_rpc_notice("notifications/progress", params));
}

void ak_mcp_link_progress(ak_mcp_link *link, const json_t *token, double done, double total,
                          const char *text)
{
    if (token != NULL && ak_mcp_link_stopped(link) != AK_MCP_CANCELLED) {
        send_progress(link, token, done, total, text);
    }
}

/* ---- the reader ------------------------------------------------------------------------------ */

/* Sets why the request under way must end; AK_MCP_GO: it need not. The caller holds `lock`. */
static void stop(ak_mcp_link *link, ak_mcp_stop why)
{
    __atomic_store_n(&link->stop, (int)why, __ATOMIC_RELAXED);
}

/* Cancels a request that is under way or in the queue. The id of a finished request is ignored. */
static void cancel_request(ak_mcp_link *link, const json_t *id)
{
    (void)pthread_mutex_lock(&link->lock);
    if (id != NULL && link->under_way != NULL && json_equal(link->under_way, id)) {
        stop(link, AK_MCP_CANCELLED);
    }
    for (size_t i = 0; id != NULL && i < link->queued; i++) {
        if (json_equal(json_object_get(link->queue[i], "id"), id)) {
            json_decref(link->queue[i]);
            link->queued--;
            memmove(link->queue + i, link->queue + i + 1,
                    (link->queued - i) * sizeof link->queue[0]);
            break;
        }
    }
    (void)pthread_mutex_unlock(&link->lock);
}

/* Queues the message and takes it over, because both threads must not count its references at the
   same time. Returns false and leaves the message if there is no room. */
static bool enqueue(ak_mcp_link *link, json_t **value)
{
    (void)pthread_mutex_lock(&link->lock);
    bool room = link->queued < AK_MCP_WAITING_MAX;
    if (room) {
        link->queue[link->queued++] = *value;
        *value = NULL;
        (void)pthread_cond_signal(&link->ready);
    }
    (void)pthread_mutex_unlock(&link->lock);
    return room;
}

static void take_line(void *context, const char *line, size_t length)
{
    ak_mcp_link *link = context;
    ak_error err = AK_ERROR_INIT;
    ak_rpc_message message;
    json_auto_t *value = NULL;
    ak_rpc_code code = ak_rpc_parse(&value, line, length, &err);
    if (code != AK_RPC_OK) {
        ak_mcp_link_send(link, ak_rpc_error(NULL, code, err.text));
        return;
    }
    bool good = ak_rpc_read(&message, value, NULL) == AK_RPC_OK;
    if (good && message.id == NULL && strcmp(message.method, "notifications/cancelled") == 0) {
        cancel_request(link, json_object_get(message.params, "requestId"));
    } else if (good && message.id != NULL && strcmp(message.method, "ping") == 0) {
        ak_mcp_link_send(link, ak_rpc_result(message.id, json_object()));
    } else if (!enqueue(link, &value) && good && message.id != NULL) {
        ak_mcp_link_send(link, ak_rpc_error(message.id, AK_RPC_BUSY,
                                            "64 requests wait already; await their replies"));
    }
}

static void look_at_clock(ak_mcp_link *link)
{
    const json_t *token = NULL;
    const char *text = NULL;
    int64_t now = ak_clock_ns(), begin = 0;
    (void)pthread_mutex_lock(&link->lock);
    if (link->deadline_ns != 0 && now > link->deadline_ns && link->stop == AK_MCP_GO) {
        stop(link, AK_MCP_TIME);
    }
    if (link->tick_token != NULL && now > link->tick_next_ns && link->stop == AK_MCP_GO) {
        token = link->tick_token;
        text = link->tick_text;
        begin = link->tick_begin_ns;
        link->tick_next_ns = now + (int64_t)(TICK_SECONDS * (double)AK_SECOND_NS);
    }
    if (token != NULL) {
        const int64_t ms = (now - begin) / AK_MS_NS;
        send_progress(link, token, (double)ms / 1e3, 0, text);
    }
    (void)pthread_mutex_unlock(&link->lock);
}

static void *read_all(void *context)
{
    ak_mcp_link *link = context;
    char bytes[CHUNK];
    bool open = true;
    while (open && ak_interrupted == 0) {
        struct pollfd ear = {.fd = STDIN_FILENO, .events = POLLIN};
        int heard = poll(&ear, 1, POLL_MS);
        look_at_clock(link);
        if (heard > 0) {
            ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
            open = count > 0 || (count < 0 && (errno == EINTR || errno == EAGAIN));
            ak_rpc_feed(&link->lines, bytes, count > 0 ? (size_t)count : 0, take_line, link);
        }
    }
    ak_rpc_feed_end(&link->lines, take_line, link);
    (void)pthread_mutex_lock(&link->lock);
    link->ended = true;
    stop(link, link->stop == AK_MCP_GO ? AK_MCP_END : (ak_mcp_stop)link->stop);
    (void)pthread_cond_signal(&link->ready);
    (void)pthread_mutex_unlock(&link->lock);
    return NULL;
}

/* ---- for the caller -------------------------------------------------------------------------- */

/* Puts a request under way. The caller holds the lock. */
static void begin(ak_mcp_link *link, const json_t *id)
{
    link->under_way = id;
    stop(link, link->ended ? AK_MCP_END : AK_MCP_GO);
    link->deadline_ns = 0;
    link->tick_token = NULL;
}

void ak_mcp_link_begin(ak_mcp_link *link, const json_t *id)
{
    (void)pthread_mutex_lock(&link->lock);
    begin(link, id);
    (void)pthread_mutex_unlock(&link->lock);
}

const json_t *ak_mcp_link_take(ak_mcp_link *link)
{
    (void)pthread_mutex_lock(&link->lock);
    begin(link, NULL);
    json_decref(link->taken); /* only now, because the reader looked into it until here */
    link->taken = NULL;
    while (link->queued == 0 && !link->ended) {
        (void)pthread_cond_wait(&link->ready, &link->lock);
    }
    if (link->queued > 0 && ak_interrupted == 0) {
        link->taken = link->queue[0];
        link->queued--;
        memmove(link->queue, link->queue + 1, link->queued * sizeof link->queue[0]);
        begin(link, json_object_get(link->taken, "id"));
    }
    (void)pthread_mutex_unlock(&link->lock);
    return link->taken;
}

ak_mcp_stop ak_mcp_link_stopped(const ak_mcp_link *link)
{
    return (ak_mcp_stop)__atomic_load_n(&link->stop, __ATOMIC_RELAXED);
}

const volatile int *ak_mcp_link_cancel(const ak_mcp_link *link)
{
    return &link->stop;
}

void ak_mcp_link_deadline(ak_mcp_link *link, int64_t at_ns)
{
    (void)pthread_mutex_lock(&link->lock);
    link->deadline_ns = at_ns;
    (void)pthread_mutex_unlock(&link->lock);
}

void ak_mcp_link_tick(ak_mcp_link *link, const json_t *token, const char *text)
{
    (void)pthread_mutex_lock(&link->lock);
    link->tick_token = token;
    link->tick_text = text;
    link->tick_begin_ns = link->tick_next_ns = ak_clock_ns();
    (void)pthread_mutex_unlock(&link->lock);
}

ak_status ak_mcp_link_open(ak_mcp_link **out, ak_error *err)
{
    ak_mcp_link *link;
    AK_DO(AK_NEW(link, 1, err));
    *link = (ak_mcp_link){.lines = AK_RPC_LINES_INIT};
    link->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (link->out < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        ak_free(link);
        return ak_fail(err, AK_IO, "standard output: %s", strerror(errno));
    }
    (void)pthread_mutex_init(&link->lock, NULL);
    (void)pthread_mutex_init(&link->writing, NULL);
    (void)pthread_cond_init(&link->ready, NULL);
    int fault = pthread_create(&link->reader, NULL, read_all, link);
    if (fault != 0) {
        (void)close(link->out);
        ak_free(link);
        return ak_fail(err, AK_IO, "no thread can be started to read standard input: %s",
                       strerror(fault));
    }
    *out = link;
    return AK_OK;
}

void ak_mcp_link_close(ak_mcp_link *link)
{
    if (link == NULL) {
        return;
    }
    (void)pthread_join(link->reader, NULL);
    AK_END_EACH(json_decref, link->queue, link->queued);
    json_decref(link->taken);
    (void)pthread_cond_destroy(&link->ready);
    (void)pthread_mutex_destroy(&link->writing);
    (void)pthread_mutex_destroy(&link->lock);
    (void)close(link->out);
    ak_free(link);
}
