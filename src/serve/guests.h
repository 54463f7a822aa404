/*
 * guests.h: keeps the dashboard's open connections and decides which one a newcomer replaces.
 *
 * Anyone who can connect may hold connections open with no request or half of one, or open event
 * streams by the dozen. So a new connection always gets a place. If all are taken, it replaces the
 * connection whose last whole request (or, without one, whose start) is the oldest; event streams
 * are replaced last. A browser whose stream ends reconnects by itself.
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

#endif
