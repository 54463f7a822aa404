/*
 * guests.h: the open connections of the dashboard, and which of them gives its place to a new one.
 *
 * Whoever can connect may open connections and say nothing, or half a request, or open event
 * streams by the dozen. So a full dashboard does not wait for them to end: the newest always gets a
 * place, and the one that has been without a whole request for longest gives its own; event streams
 * do so last, the oldest first. A browser whose stream ends comes back by itself.
 */
#ifndef AK_SERVE_GUESTS_H
#define AK_SERVE_GUESTS_H

#include <stdint.h>

#include "base/status.h"

/* How many may be connected at once. A browser has up to six connections to one server. */
#define AK_GUESTS_MAX 64

typedef struct ak_guest {
    int fd;
    bool streams, dismissed; /* dismissed: its connection is being ended */
    uint64_t order;          /* of its last request, or of its coming */
    struct ak_guest *next;
} ak_guest;

typedef struct ak_guests {
    ak_guest *first;
    size_t count; /* of those that are not dismissed */
    uint64_t clock;
} ak_guests;

/* Adds a connection; NULL: no memory. *leaver is the one that has to go for it, or NULL. */
ak_guest *ak_guests_enter(ak_guest **leaver, ak_guests *guests, int fd);
/* Notes a whole request. */
void ak_guests_asked(ak_guests *guests, ak_guest *guest, bool streams);
/* Notes that a connection is being ended; its place is free. */
void ak_guests_dismiss(ak_guests *guests, ak_guest *guest);
/* Removes a connection that has ended. */
void ak_guests_leave(ak_guests *guests, ak_guest *guest);
/* Returns true if the other end has closed the connection. */
bool ak_guest_is_gone(const ak_guest *guest);

#endif
