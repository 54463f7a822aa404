/* llm_server.h: a server on 127.0.0.1, in a thread of the test, that answers each connection with
   the next reply of a list, faults included, and keeps the requests. It waits for its client and
   never for a time. */
#ifndef AK_TESTS_LLM_SERVER_H
#define AK_TESTS_LLM_SERVER_H

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"

typedef enum server_end {
    SERVER_WHOLE,   /* a correct reply */
    SERVER_CUT,     /* promises more bytes than it sends */
    SERVER_STALL,   /* sends the body and then nothing, until the client goes away */
    SERVER_CLOSE,   /* reads the request and hangs up */
    SERVER_BYTEWISE /* as WHOLE, one byte in a packet */
} server_end;

typedef struct server_reply {
    int status;
    const char *headers; /* "Name: value\r\n", NULL: JSON */
    const char *body;
    server_end end;
    size_t repeat; /* the part between the two '\1' of the body comes so many times */
} server_reply;

/* Removes the user's settings of proxies and certificates, which must not affect this server. Must
   be called first in main, before any thread is started. */
static inline void server_clean_environment(void)
{
    static const char *const names[] = {
        "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY",    "all_proxy",
        "ALL_PROXY",  "no_proxy",   "NO_PROXY",    "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)unsetenv(names[i]);
    }
}

#define SERVER_REQUESTS_MAX 64

typedef struct server {
    int fd;
    unsigned port;
    char url[64];
    const server_reply *replies;
    size_t count; /* the last one repeats */
    pthread_t thread;
    /* Guards what follows. */
    pthread_mutex_t lock;
    size_t asked;
    char *request[SERVER_REQUESTS_MAX]; /* headers and body */
    atomic_int stop;
    atomic_int silent; /* all is sent, and nothing more will come */
} server;

/* Reads one request. Returns NULL if the client has closed the connection. */
static char *server_read(int fd)
{
    ak_buf in = AK_BUF(8u << 20);
    char piece[8192];
    for (;;) {
        const char *end = strstr(in.data, "\r\n\r\n");
        if (end != NULL) {
            const char *length = strcasestr(in.data, "content-length:");
            size_t body = length == NULL || length > end ? 0 : strtoul(length + 15, NULL, 10);
            if (in.length >= (size_t)(end + 4 - in.data) + body) {
                break;
            }
        }
        ssize_t got = recv(fd, piece, sizeof piece, 0);
        if (got <= 0) {
            ak_buf_free(&in);
            return NULL;
        }
        ak_buf_append(&in, piece, (size_t)got);
    }
    char *text = NULL;
    (void)ak_buf_take(&text, &in, NULL);
    return text;
}

static bool server_send(int fd, const char *bytes, size_t count, size_t piece)
{
    for (size_t at = 0; at < count;) {
        size_t want = count - at < piece ? count - at : piece;
        ssize_t sent = send(fd, bytes + at, want, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        at += (size_t)sent;
    }
    return true;
}

static void server_answer(server *s, int fd, const server_reply *reply)
{
    char head[1024];
    size_t piece = reply->end == SERVER_BYTEWISE ? 1 : 1u << 16;
    const char *body = reply->body == NULL ? "" : reply->body;
    const char *first = strchr(body, 1), *last = first == NULL ? NULL : strchr(first + 1, 1);
    size_t part = last == NULL ? 0 : (size_t)(last - first - 1);
    size_t before = last == NULL ? strlen(body) : (size_t)(first - body);
    const char *after = last == NULL ? "" : last + 1;
    size_t length = before + part * reply->repeat + strlen(after);
    if (reply->end == SERVER_CUT || reply->end == SERVER_STALL) {
        length += 1000;
    }
    int count = snprintf(
        head, sizeof head,
        "HTTP/1.1 %d Words\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n", reply->status,
        length, reply->headers == NULL ? "Content-Type: application/json\r\n" : reply->headers);
    bool good =
        server_send(fd, head, (size_t)count, 1u << 16) && server_send(fd, body, before, piece);
    /* Many at once, so that 100 MB take no time. */
    ak_buf block = AK_BUF(4u << 20);
    size_t per_block = part == 0 ? 0 : 1 + (1u << 18) / part;
    for (size_t i = 0; i < per_block; i++) {
        ak_buf_append(&block, first + 1, part);
    }
    for (size_t done = 0; good && part > 0 && done < reply->repeat;) {
        size_t now = reply->repeat - done < per_block ? reply->repeat - done : per_block;
        good = server_send(fd, block.data, now * part, 1u << 18);
        done += now;
    }
    ak_buf_free(&block);
    good = good && server_send(fd, after, strlen(after), piece);
    char rest;
    if (good && reply->end == SERVER_STALL) {
        atomic_store(&s->silent, 1);
        while (recv(fd, &rest, 1, 0) > 0) {
        }
    }
}

static void *server_main(void *context)
{
    server *s = context;
    while (atomic_load(&s->stop) == 0) {
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0) {
            break;
        }
        char *text = server_read(fd);
        if (text != NULL) {
            (void)pthread_mutex_lock(&s->lock);
            size_t index = s->asked < s->count ? s->asked : s->count - 1;
            if (s->asked < SERVER_REQUESTS_MAX) {
                s->request[s->asked] = text;
            } else {
                ak_free(text);
            }
            s->asked++;
            (void)pthread_mutex_unlock(&s->lock);
            if (s->replies[index].end != SERVER_CLOSE) {
                server_answer(s, fd, &s->replies[index]);
            }
        }
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
    return NULL;
}

/* Starts a server whose thread runs `main`, which must accept connections on s->fd until s->stop is
   set. */
static bool server_start_as(server *s, const server_reply *replies, size_t count,
                            void *(*main)(void *), void *context)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    *s = (server){.replies = replies, .count = count};
    (void)pthread_mutex_init(&s->lock, NULL);
    s->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(s->fd, 16) != 0 || getsockname(s->fd, (struct sockaddr *)&address, &bytes) != 0) {
        return false;
    }
    s->port = ntohs(address.sin_port);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", s->port);
    return pthread_create(&s->thread, NULL, main, context) == 0;
}

static inline bool server_start(server *s, const server_reply *replies, size_t count)
{
    return server_start_as(s, replies, count, server_main, s);
}

static inline size_t server_asked(server *s)
{
    (void)pthread_mutex_lock(&s->lock);
    size_t asked = s->asked;
    (void)pthread_mutex_unlock(&s->lock);
    return asked;
}

/* Returns request number `index`, from 0. The text is valid until the server is stopped. */
static inline const char *server_request(server *s, size_t index)
{
    (void)pthread_mutex_lock(&s->lock);
    const char *text = index < SERVER_REQUESTS_MAX ? s->request[index] : NULL;
    (void)pthread_mutex_unlock(&s->lock);
    return text == NULL ? "" : text;
}

static void server_stop(server *s)
{
    atomic_store(&s->stop, 1);
    (void)shutdown(s->fd, SHUT_RDWR); /* wakes accept */
    (void)pthread_join(s->thread, NULL);
    (void)close(s->fd);
    for (size_t i = 0; i < SERVER_REQUESTS_MAX; i++) {
        ak_free(s->request[i]);
    }
    (void)pthread_mutex_destroy(&s->lock);
}

#endif
