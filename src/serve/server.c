#include "serve/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/asset.h"
#include "archive/overview.h"
#include "base/clock.h"
#include "llm/key.h"
#include "report/page.h"
#include "serve/guests.h"
#include "serve/mhd.h"
#include "serve/streams.h"
#include "base/fs.h"
#include "base/text.h"
#include "serve/watch.h"

#define RUN_ID_MAX       64
#define STUDY_DIGITS_MAX 12

static const char html[] = "text/html; charset=utf-8";
static const char json_kind[] = "application/json";

/* Headers of every reply that queue() sends. They make a browser load only the dashboard's own
   scripts and style, and forbid that a page frames the reply or a cache keeps it. */
static const char *const headers[][2] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

typedef struct server server;

struct server {
    const ak_mhd *mhd;
    struct MHD_Daemon *daemon;
    ak_watch *watch;
    ak_gate gate;
    char *token;
    ak_guests guests;
    ak_streams streams;
    int64_t page_killed; /* ak_watch_killed's version when `page` was made */
    char *page_id, *page, page_place[AK_WATCH_PLACE_BYTES]; /* data of the latest run page */
};

/* ---- replies --------------------------------------------------------------------------------- */

/* Queues `response` and takes ownership of it. Returns AK_MHD_NO, on which the library closes the
   connection, if `response` is NULL or cannot be queued. */
static int queue(server *s, struct MHD_Connection *connection, unsigned status, const char *type,
                 struct MHD_Response *response)
{
    if (response == NULL) {
        return AK_MHD_NO;
    }
    int good = s->mhd->MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < AK_COUNT(headers); i++) {
        good = good && s->mhd->MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    good = good && s->mhd->MHD_queue_response(connection, status, response);
    s->mhd->MHD_destroy_response(response);
    return good;
}

static int reply(server *s, struct MHD_Connection *connection, unsigned status, const char *type,
                 const char *data, size_t bytes)
{
    return queue(
        s, connection, status, type,
        s->mhd->MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, AK_MHD_COPY));
}

static int reply_text(server *s, struct MHD_Connection *connection, unsigned status,
                      const char *text)
{
    char line[600];
    (void)snprintf(line, sizeof line, "%s\n", text);
    return reply(s, connection, status, "text/plain; charset=utf-8", line, strlen(line));
}

static int reply_error(server *s, struct MHD_Connection *connection, const ak_error *err)
{
    return reply_text(s, connection, err->status == AK_NOT_FOUND ? 404 : 500, err->text);
}

static int reply_json(server *s, struct MHD_Connection *connection, json_t *value)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(AK_REPORT_BYTES_MAX);
    int done = AK_MHD_NO;
    if (value != NULL) {
        ak_json_print(&text, value, false);
    }
    if (value != NULL && ak_buf_status(&text, NULL) == AK_OK) {
        done = reply(s, connection, 200, json_kind, text.data, text.length);
    }
    json_decref(value);
    return done;
}

/* ---- pages and data -------------------------------------------------------------------------- */

static const char live_script[] = "src/serve/page/live.js";

static int show_page(server *s, struct MHD_Connection *connection)
{
    AK_AT_END(ak_buf_free) ak_buf page = AK_BUF(1 << 16);
    ak_buf_puts(&page, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                       "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                       "<meta name=\"color-scheme\" content=\"light dark\">\n"
                       "<title>autokernel</title>\n"
                       "<link rel=\"icon\" href=\"data:,\">\n"
                       "<link rel=\"stylesheet\" href=\"/assets/page.css\">\n</head>\n<body>\n"
                       "<main id=\"page\"></main>\n");
    for (size_t i = 0; ak_page_scripts[i] != NULL; i++) {
        ak_buf_print(&page, "<script src=\"/assets/%s\"></script>\n",
                     ak_fs_base(ak_page_scripts[i]));
    }
    ak_buf_puts(&page, "<script src=\"/assets/live.js\"></script>\n</body>\n</html>\n");
    return page.failed != AK_OK ? AK_MHD_NO
                                : reply(s, connection, 200, html, page.data, page.length);
}

/* Sends a script or the style. The name is only compared with the known assets; it never becomes a
   path. */
static int show_asset(server *s, struct MHD_Connection *connection, const char *name)
{
    const char *path = strcmp(name, "page.css") == 0  ? AK_PAGE_STYLE
                       : strcmp(name, "live.js") == 0 ? live_script
                                                      : NULL;
    for (size_t i = 0; path == NULL && ak_page_scripts[i] != NULL; i++) {
        path = strcmp(name, ak_fs_base(ak_page_scripts[i])) == 0 ? ak_page_scripts[i] : NULL;
    }
    const ak_asset *asset = path == NULL ? NULL : ak_asset_find(path);
    if (asset == NULL) {
        return reply_text(s, connection, 404, "there is nothing at this address");
    }
    return queue(s, connection, 200, strcmp(name, "page.css") == 0 ? "text/css" : "text/javascript",
                 s->mhd->MHD_create_response_from_buffer(
                     asset->length, (void *)(uintptr_t)asset->data, AK_MHD_PERSISTENT));
}

/* Builds the data for a run's page, or keeps those built last if they are for the same run and
   neither the place (watch.h) nor the killed runs have changed since. */
static ak_status make_run(server *s, const char *id, ak_error *err)
{
    AK_AT_END(ak_report_model_clear) ak_report_model model = {0};
    json_auto_t *page = NULL;
    char place[AK_WATCH_PLACE_BYTES];
    int64_t killed;
    ak_watch_place(place, s->watch);
    (void)ak_watch_killed(&killed, s->watch);
    if (s->page_id != NULL && strcmp(s->page_id, id) == 0 && strcmp(s->page_place, place) == 0 &&
        s->page_killed == killed) {
        return AK_OK;
    }
    AK_FREE_ALL(s->page_id, s->page);
    s->page_id = s->page = NULL;
    AK_DO(ak_report_gather(&model, ak_watch_archive(s->watch), id, err));
    AK_DO(ak_page_object(&page, &model, err));
    AK_DO(ak_json_text(&s->page, page, err));
    AK_DO(ak_copy_text(&s->page_id, id, err));
    memcpy(s->page_place, place, sizeof place);
    s->page_killed = killed;
    return AK_OK;
}

static bool is_run_id(const char *id)
{
    size_t length = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    return length > 0 && length <= RUN_ID_MAX && id[length] == 0;
}

static int show_run(server *s, struct MHD_Connection *connection, const char *id)
{
    ak_error err = AK_ERROR_INIT;
    if (!is_run_id(id)) {
        return reply_text(s, connection, 404, "there is no such run");
    }
    return make_run(s, id, &err) != AK_OK
               ? reply_error(s, connection, &err)
               : reply(s, connection, 200, json_kind, s->page, strlen(s->page));
}

typedef struct study_page {
    int64_t id;
    json_t *page;
    ak_status status;
    ak_error *err;
} study_page;

static bool take_study(void *context, const ak_overview_study *study)
{
    study_page *p = context;
    if (study->id == p->id) {
        p->status =
            ak_study_object(&p->page, study->kind, study->ended, study->result_json, p->err);
    }
    return false;
}

static int show_study(server *s, struct MHD_Connection *connection, const char *id)
{
    ak_error err = AK_ERROR_INIT;
    int64_t number = 0;
    if (strlen(id) > STUDY_DIGITS_MAX || !ak_text_int(&number, id) || number < 1) {
        return reply_text(s, connection, 404, "there is no such study");
    }
    study_page p = {.id = number, .status = AK_OK, .err = &err};
    ak_status status =
        ak_archive_studies_since(ak_watch_archive(s->watch), number - 1, take_study, &p, &err);
    if (status != AK_OK || p.status != AK_OK) {
        return reply_error(s, connection, &err);
    }
    return p.page == NULL ? reply_text(s, connection, 404, "there is no such study")
                          : reply_json(s, connection, p.page);
}

static int show_runs(server *s, struct MHD_Connection *connection)
{
    char place[AK_WATCH_PLACE_BYTES];
    int64_t version;
    ak_watch_place(place, s->watch);
    return reply_json(
        s, connection,
        json_pack("{s:o, s:s, s:s, s:o, s:o, s:O}", "archive",
                  ak_json_shown(ak_archive_path(ak_watch_archive(s->watch))), "autokernel",
                  AK_VERSION, "place", place, "studies", ak_watch_studies(s->watch, NULL), "runs",
                  ak_watch_runs(s->watch, NULL), "killed", ak_watch_killed(&version, s->watch)));
}

/* ---- events ---------------------------------------------------------------------------------- */

static ak_guest *guest_of(server *s, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        s->mhd->MHD_get_connection_info(connection, AK_MHD_INFO_CONTEXT);
    return info == NULL ? NULL : info->context;
}

static int show_events(server *s, struct MHD_Connection *connection)
{
    ak_guest *guest = guest_of(s, connection);
    const char *last =
        s->mhd->MHD_lookup_connection_value(connection, AK_MHD_HEADER, "Last-Event-ID");
    const char *since = s->mhd->MHD_lookup_connection_value(connection, AK_MHD_ARGUMENT, "since");
    if (guest == NULL) {
        return AK_MHD_NO;
    }
    ak_guests_asked(&s->guests, guest, true);
    return queue(s, connection, 200, "text/event-stream",
                 ak_streams_add(&s->streams, connection, guest, last != NULL ? last : since));
}

/* Notes that a connection begins or ends; the library calls it. If all places are taken, a new
   connection gets the place of another, whose socket is shut down so that the library ends it. */
static void notice(void *context, struct MHD_Connection *connection, void **guest, int what)
{
    server *s = context;
    ak_guest *leaver = NULL;
    if (what == AK_MHD_CONNECTION_STARTED) {
        const union MHD_ConnectionInfo *info =
            s->mhd->MHD_get_connection_info(connection, AK_MHD_INFO_FD);
        *guest = info == NULL ? NULL : ak_guests_enter(&leaver, &s->guests, info->fd);
    } else if (*guest != NULL) {
        ak_guests_leave(&s->guests, *guest);
        *guest = NULL;
    }
    if (leaver != NULL) {
        ak_guests_dismiss(&s->guests, leaver);
        (void)shutdown(leaver->fd, SHUT_RDWR);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

static const char *header_of(server *s, struct MHD_Connection *connection, const char *name)
{
    return s->mhd->MHD_lookup_connection_value(connection, AK_MHD_HEADER, name);
}

/* Stores the token in a cookie and redirects to "/", so that the token does not stay in the
   browser's address bar. */
static int take_token(server *s, struct MHD_Connection *connection)
{
    AK_AT_END(ak_buf_free) ak_buf cookie = AK_BUF(AK_KEY_MAX + 128);
    struct MHD_Response *response =
        s->mhd->MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", AK_MHD_PERSISTENT);
    ak_buf_print(&cookie, "autokernel=%s; HttpOnly; SameSite=Strict; Path=/", s->gate.token);
    bool good = response != NULL && cookie.failed == AK_OK &&
                s->mhd->MHD_add_response_header(response, "Set-Cookie", cookie.data) &&
                s->mhd->MHD_add_response_header(response, "Location", "/");
    return good ? queue(s, connection, 303, html, response) : AK_MHD_NO;
}

static int answer(server *s, struct MHD_Connection *connection, const char *url)
{
    static const char run[] = "/run/", asset[] = "/assets/", api[] = "/api/run/";
    static const char study[] = "/study/", study_api[] = "/api/study/";
    if (strcmp(url, "/") == 0 ||
        (strncmp(url, run, sizeof run - 1) == 0 && is_run_id(url + sizeof run - 1)) ||
        (strncmp(url, study, sizeof study - 1) == 0 && is_run_id(url + sizeof study - 1))) {
        return show_page(s, connection);
    }
    if (strncmp(url, asset, sizeof asset - 1) == 0) {
        return show_asset(s, connection, url + sizeof asset - 1);
    }
    if (strcmp(url, "/api/runs") == 0) {
        return show_runs(s, connection);
    }
    if (strncmp(url, api, sizeof api - 1) == 0) {
        return show_run(s, connection, url + sizeof api - 1);
    }
    if (strncmp(url, study_api, sizeof study_api - 1) == 0) {
        return show_study(s, connection, url + sizeof study_api - 1);
    }
    return strcmp(url, "/events") == 0
               ? show_events(s, connection)
               : reply_text(s, connection, 404, "there is nothing at this address");
}

static int handle(void *context, struct MHD_Connection *connection, const char *url,
                  const char *method, const char *version, const char *upload, size_t *upload_bytes,
                  void **request)
{
    server *s = context;
    const ak_gate_request asked = {
        .method = method,
        .host = header_of(s, connection, "Host"),
        .origin = header_of(s, connection, "Origin"),
        .site = header_of(s, connection, "Sec-Fetch-Site"),
        .mode = header_of(s, connection, "Sec-Fetch-Mode"),
        .authorization = header_of(s, connection, "Authorization"),
        .cookie = s->mhd->MHD_lookup_connection_value(connection, AK_MHD_COOKIE, "autokernel"),
        .argument = s->mhd->MHD_lookup_connection_value(connection, AK_MHD_ARGUMENT, "token"),
    };
    const char *why;
    (void)version;
    (void)upload;
    (void)upload_bytes;
    unsigned status = ak_gate_check(&why, &s->gate, &asked);
    if (status != 200) {
        return reply_text(s, connection, status, why);
    }
    if (*request == NULL) { /* the first call for a request has only the headers */
        *request = s;
        return AK_MHD_YES;
    }
    ak_guest *guest = guest_of(s, connection);
    if (guest != NULL) {
        ak_guests_asked(&s->guests, guest, false);
    }
    return s->gate.token != NULL && asked.argument != NULL && strcmp(url, "/") == 0
               ? take_token(s, connection)
               : answer(s, connection, url);
}

/* ---- the server ------------------------------------------------------------------------------ */

/* Refuses a token that a cookie, in which the browser keeps it, cannot hold by RFC 6265.
   ak_key_read has refused blanks, control characters and bytes beyond ASCII. */
static ak_status check_token(const char *token, const char *file, ak_error *err)
{
    const char *bad = strpbrk(token, "\",;\\");
    return bad == NULL ? AK_OK
                       : ak_fail(err, AK_INVALID,
                                 "%s: the token has a '%c', which no cookie may have; take letters "
                                 "and digits, such as those of 'openssl rand -hex 16'",
                                 file, *bad);
}

/* Opens the listening socket and sets *port to its port (0 asks the system for a free one). Without
   a token, refuses an address that other machines can reach. */
static ak_status listen_at(int *out, unsigned *port, const char *address, bool token, ak_error *err)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)*port)};
    socklen_t bytes = sizeof at;
    const int on = 1;
    AK_FAIL_IF(inet_pton(AF_INET, address, &at.sin_addr) != 1, err, AK_INVALID,
               "%.60s is not an address to listen at: give one such as 127.0.0.1 or 0.0.0.0; the "
               "port is given by --port",
               address);
    AK_FAIL_IF(!token && (ntohl(at.sin_addr.s_addr) >> 24) != 127, err, AK_INVALID,
               "%s can be reached from other machines: give a --token-file, too", address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                bind(fd, (struct sockaddr *)&at, sizeof at) == 0 &&
                listen(fd, AK_GUESTS_MAX) == 0 &&
                getsockname(fd, (struct sockaddr *)&at, &bytes) == 0;
    if (!good) {
        int why = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return ak_fail(err, why == EADDRINUSE || why == EACCES ? AK_INVALID : AK_IO,
                       "%s port %u cannot be listened at: %s; give another --port", address, *port,
                       strerror(why));
    }
    *port = ntohs(at.sin_port);
    *out = fd;
    return AK_OK;
}

static void close_server(server *s)
{
    if (s->daemon != NULL) {
        ak_streams_close(&s->streams);
        (void)s->mhd->MHD_run_wait(s->daemon, 0);
        s->mhd->MHD_stop_daemon(s->daemon);
    }
    ak_watch_close(s->watch);
    ak_key_free(s->token);
    AK_FREE_ALL(s->page_id, s->page);
}

/* Serves until *cancel is set (`cancel` may be NULL) or the library fails. A poll that fails, for
   example because the archive is locked, is repeated at the next interval. */
static ak_status run(server *s, const volatile int *cancel, ak_error *err)
{
    int64_t polled_ns = ak_clock_ns(), pulsed_ns = polled_ns;
    char told[AK_WATCH_PLACE_BYTES]; /* up to where pages know the archive */
    bool missed = false;             /* a poll has failed since they were told */
    ak_watch_place(told, s->watch);
    while (cancel == NULL || *cancel == 0) {
        bool changed;
        AK_FAIL_IF(s->mhd->MHD_run_wait(s->daemon, AK_SERVE_POLL_MS) != AK_MHD_YES, err, AK_IO,
                   "the dashboard cannot wait for requests any more");
        int64_t now = ak_clock_ns();
        ak_streams_sweep(&s->streams);
        if (now - polled_ns >= AK_SERVE_POLL_MS * AK_MS_NS) {
            polled_ns = now;
            const bool good = ak_watch_poll(&changed, s->watch, NULL) == AK_OK;
            missed = missed || !good;
            if (good && (changed || missed)) {
                ak_streams_tell(&s->streams, told);
                missed = false;
                ak_watch_place(told, s->watch);
            }
        }
        if (now - pulsed_ns >= AK_SERVE_PULSE_MS * AK_MS_NS) {
            pulsed_ns = now;
            ak_streams_pulse(&s->streams);
        }
    }
    return AK_OK;
}

ak_status ak_serve(const ak_serve_options *options, ak_error *err)
{
    AK_AT_END(close_server) server s = {.gate = {.port = options->port}};
    const char *address = options->address == NULL ? "127.0.0.1" : options->address;
    int socket_fd = -1;
    char url[120];
    AK_DO(ak_mhd_load(&s.mhd, err));
    if (options->token_file != NULL) {
        AK_DO(ak_key_read(&s.token, NULL, options->token_file, err));
        AK_DO(check_token(s.token, options->token_file, err));
        s.gate.token = s.token;
    }
    AK_DO(ak_watch_open(&s.watch, options->archive, err));
    s.gate.address = address;
    s.streams = (ak_streams){.mhd = s.mhd, .watch = s.watch};
    AK_DO(listen_at(&socket_fd, &s.gate.port, address, s.gate.token != NULL, err));
    s.daemon = s.mhd->MHD_start_daemon(
        AK_MHD_USE_EPOLL | AK_MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, &s,
        AK_MHD_OPTION_LISTEN_SOCKET, socket_fd, AK_MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)(AK_GUESTS_MAX + AK_SERVE_LEAVING_MAX), AK_MHD_OPTION_CONNECTION_TIMEOUT,
        AK_SERVE_IDLE_S, AK_MHD_OPTION_NOTIFY_CONNECTION, notice, &s, AK_MHD_OPTION_END);
    if (s.daemon == NULL) {
        (void)close(socket_fd);
        return ak_fail(err, AK_IO, "the dashboard cannot be started on port %u", s.gate.port);
    }
    (void)snprintf(url, sizeof url, "http://%s:%u/", address, s.gate.port);
    if (options->ready != NULL) {
        options->ready(options->context, url);
    }
    return run(&s, options->cancel, err);
}
