/*
 * streams.h: the browsers that wait for events. A stream whose other end is gone is noticed at the
 * next turn of the server's loop, though nothing is written to it.
 */
#ifndef AK_SERVE_STREAMS_H
#define AK_SERVE_STREAMS_H

#include "serve/guests.h"
#include "serve/mhd.h"
#include "serve/watch.h"

typedef struct ak_stream ak_stream;

typedef struct ak_streams {
    const ak_mhd *mhd;
    ak_watch *watch;
    ak_stream *first;
    bool closing;
} ak_streams;

/* Makes a stream that begins with what changed since a place of watch.h; NULL or no place: with
   all. Returns what to send, or NULL if there is no memory. */
struct MHD_Response *ak_streams_add(ak_streams *streams, struct MHD_Connection *connection,
                                    const ak_guest *guest, const char *since);
/* Sends every browser what changed since a place. */
void ak_streams_tell(ak_streams *streams, const char *since);
/* Sends every browser a comment, which it ignores, so that nothing between takes it for dead. */
void ak_streams_pulse(ak_streams *streams);
/* Ends the streams whose browsers are gone, and that of a guest who has to go. */
void ak_streams_sweep(ak_streams *streams);
/* Ends all streams, once what is pending was sent. */
void ak_streams_close(ak_streams *streams);

#endif
