#include "serve/guests.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"

/* Returns whether `a` is to be replaced before `b`. */
static bool goes_before(const ak_guest *a, const ak_guest *b)
{
    return a->streams != b->streams ? b->streams : a->order < b->order;
}

ak_guest *ak_guests_enter(ak_guest **leaver, ak_guests *guests, int fd)
{
    *leaver = NULL;
    ak_guest *fresh = ak_alloc(1, sizeof *fresh);
    if (fresh == NULL) {
        return NULL;
    }
    for (ak_guest *one = guests->first; one != NULL && guests->count >= AK_GUESTS_MAX;
         one = one->next) {
        if (!one->dismissed && (*leaver == NULL || goes_before(one, *leaver))) {
            *leaver = one;
        }
    }
    *fresh = (ak_guest){.fd = fd, .order = ++guests->clock, .next = guests->first};
    guests->first = fresh;
    guests->count++;
    return fresh;
}

void ak_guests_asked(ak_guests *guests, ak_guest *guest, bool streams)
{
    guest->order = ++guests->clock;
    guest->streams = streams;
}

void ak_guests_dismiss(ak_guests *guests, ak_guest *guest)
{
    guests->count -= guest->dismissed ? 0 : 1;
    guest->dismissed = true;
}

void ak_guests_leave(ak_guests *guests, ak_guest *guest)
{
    ak_guests_dismiss(guests, guest);
    for (ak_guest **link = &guests->first; *link != NULL; link = &(*link)->next) {
        if (*link == guest) {
            *link = guest->next;
            break;
        }
    }
    ak_free(guest);
}

bool ak_guest_is_gone(const ak_guest *guest)
{
    char byte;
    ssize_t got = recv(guest->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}
