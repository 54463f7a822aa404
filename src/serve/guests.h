/*
 * guests.h: keeps the dashboard's open connections and decides which one a newcomer replaces.
 *
 * Anyone who can connect may hold connections open with no request or half of one, or open event
 * streams by the dozen. So a new connection gets a place even if all are taken: it replaces the
 * connection whose last whole request (or, without one, whose start) is the oldest; event streams
 * are replaced last. A new one has to wait only while AK_SERVE_LEAVING_MAX replaced connections are
 * not closed yet (server.h). A browser whose stream ends reconnects by itself.
 */
#ifndef AK_SERVE_GUESTS_H
#define AK_SERVE_GUESTS_H

#include <stdint.h>

#include "base/status.h"

/* Limit on connections, dismissed ones not counted. A browser opens up to six to one server. */
#define AK_GUESTS_MAX 64

typedef struct ak_guest {
    int fd;
    bool streams, dismissed; /* streams: it gets events; dismissed: it is being closed */
    uint64_t order;          /* ak_guests.clock at its last request or, without one, its start */
    struct ak_guest *next;
} ak_guest;

typedef struct ak_guests {
    ak_guest *first;
    size_t count; /* connections that are not dismissed */
    uint64_t clock;
} ak_guests;

/* Adds a connection and returns it; NULL: no memory. *leaver is the connection that the caller must
   dismiss in exchange; NULL: none. */
ak_guest *ak_guests_enter(ak_guest **leaver, ak_guests *guests, int fd);
/* Notes a whole request; `streams` says whether its reply is an event stream. */
void ak_guests_asked(ak_guests *guests, ak_guest *guest, bool streams);
/* Notes that a connection is being closed, which frees its place. */
void ak_guests_dismiss(ak_guests *guests, ak_guest *guest);
/* Removes and frees a connection that has ended. */
void ak_guests_leave(ak_guests *guests, ak_guest *guest);
/* Returns whether the connection has failed or the other end has closed it. */
bool ak_guest_is_gone(const ak_guest *guest);

/* ---- gate (gate.c) --------------------------------------------------------------------------- */

/* Decides which requests the dashboard answers.

   A page of a foreign site that runs in the user's browser can send requests to this machine. Three
   rules keep such a page out. The Host of a request must be localhost, 127.0.0.1, [::1] or the
   address that the server listens at, each with the server's port, so a name that an attacker
   points at this machine is refused. The Origin, if the request has one, must be the dashboard
   itself. The header Sec-Fetch-Site must not name another site, unless the browser navigates
   (Sec-Fetch-Mode), as it does when the user follows a link. With a token, any Host is accepted,
   but a request without the token is refused. Requests other than GET and HEAD are refused in any
   case. */

/* The parts of a request that the decision depends on. NULL: the request has no such part; `method`
   is never NULL. */
typedef struct ak_gate_request {
    const char *method, *host, *origin, *site, *mode; /* site, mode: the Sec-Fetch headers */
    const char *authorization, *cookie, *argument;    /* where a token may be */
} ak_gate_request;

typedef struct ak_gate {
    const char *address; /* the server's own address, accepted as a Host; NULL: none */
    unsigned port;
    const char *token; /* NULL: no token is needed */
} ak_gate;

/* Returns 200, or the HTTP status of a refusal. *why is the reason in one line, a constant text; it
   is empty for 200. */
unsigned ak_gate_check(const char **why, const ak_gate *gate, const ak_gate_request *request);

#endif
