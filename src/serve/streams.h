/*
 * streams.h: sends events to the browsers that wait on /events. At its next turn, the server's loop
 * notices that a browser is gone, even if nothing is written to its stream.
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

/* Adds a stream that begins with the changes since the place `since` (watch.h) or, if that is NULL
   or not a place, with everything, and with the present states. Returns the response to queue;
   NULL: no memory. */
struct MHD_Response *ak_streams_add(ak_streams *streams, struct MHD_Connection *connection,
                                    const ak_guest *guest, const char *since);
/* Sends every browser what changed since the place `since`. */
void ak_streams_tell(ak_streams *streams, const char *since);
/* Sends every browser a comment, which it ignores, so that no proxy closes an idle stream. */
void ak_streams_pulse(ak_streams *streams);
/* Ends the streams whose browsers are gone or whose connections are dismissed (guests.h). */
void ak_streams_sweep(ak_streams *streams);
/* Ends all streams as soon as their pending bytes are sent. */
void ak_streams_close(ak_streams *streams);

/* ---- sse (sse.c) ----------------------------------------------------------------------------- */

/* Writes server-sent events (HTML Living Standard, section 9.2).

   A line break in a field would begin another field, and an empty line would end the event. So line
   breaks are replaced by blanks, whatever the source of the text. */

/* Appends an event. `id` is its place (watch.h); NULL: it has none. A failure is kept in `out`. */
void ak_sse_put(ak_buf *out, const char *id, const char *event, const json_t *data);

#endif
