/* streams.c: see streams.h. A stream with nothing to send is suspended. The library does not watch
   suspended connections, so ak_streams_sweep does. */
#include "serve/streams.h"

#include <string.h>

#include "base/alloc.h"

#define EVENT_BYTES_MAX (64u << 20)
#define BLOCK_BYTES     16384

struct ak_stream {
    ak_streams *owner;
    struct MHD_Connection *connection;
    const ak_guest *guest;
    ak_buf pending;
    size_t sent; /* number of bytes of `pending` that were sent */
    bool suspended, over;
    int64_t fleets, killed; /* versions of the states sent last; -1: none was sent */
    ak_stream *next;
};

static void wake(ak_stream *one)
{
    if (one->suspended) {
        one->suspended = false;
        one->owner->mhd->MHD_resume_connection(one->connection);
    }
}

/* Queues a state if the browser has an older version of it. The event has no id, because every new
   stream begins with the present states. */
static void tell_state(ak_stream *one, int64_t *known, int64_t version, const char *event,
                       const json_t *state)
{
    if (version != *known) {
        *known = version;
        ak_sse_put(&one->pending, NULL, event, state);
        wake(one);
    }
}

/* Queues an event whose id is `place`; does nothing if the list is empty. */
static void tell_list(ak_stream *one, const char *event, const json_t *list, const char *place)
{
    if (json_array_size(list) > 0) {
        ak_sse_put(&one->pending, place, event, list);
        wake(one);
    }
}

/* Queues the studies and the runs that changed since the place `since` (NULL: all of them), and the
   states that the browser lacks. If both studies and runs changed, only the second event has the
   new place, so a browser that loses the connection between the two gets both again. */
static void tell(ak_stream *one, const char *since)
{
    char place[AK_WATCH_PLACE_BYTES];
    int64_t version;
    const ak_watch *watch = one->owner->watch;
    json_auto_t *studies = ak_watch_studies(watch, since);
    json_auto_t *runs = ak_watch_runs(watch, since);
    ak_watch_place(place, watch);
    tell_list(one, "studies", studies, json_array_size(runs) > 0 ? since : place);
    tell_list(one, "runs", runs, place);
    const json_t *fleets = ak_watch_fleets(&version, watch);
    tell_state(one, &one->fleets, version, "fleets", fleets);
    const json_t *killed = ak_watch_killed(&version, watch);
    tell_state(one, &one->killed, version, "killed", killed);
}

static ssize_t read_stream(void *context, uint64_t position, char *out, size_t max)
{
    ak_stream *one = context;
    (void)position;
    size_t left = one->pending.length - one->sent;
    if (one->over || one->pending.failed != AK_OK || (left == 0 && one->owner->closing)) {
        return AK_MHD_END_OF_STREAM; /* the browser reconnects with its Last-Event-ID */
    }
    if (left == 0) {
        ak_buf_clear(&one->pending);
        one->sent = 0;
        one->suspended = true;
        one->owner->mhd->MHD_suspend_connection(one->connection);
        return 0;
    }
    size_t bytes = left < max ? left : max;
    memcpy(out, one->pending.data + one->sent, bytes);
    one->sent += bytes;
    return (ssize_t)bytes;
}

static void end_stream(void *context)
{
    ak_stream *one = context;
    for (ak_stream **link = &one->owner->first; *link != NULL; link = &(*link)->next) {
        if (*link == one) {
            *link = one->next;
            break;
        }
    }
    ak_buf_free(&one->pending);
    ak_free(one);
}

struct MHD_Response *ak_streams_add(ak_streams *streams, struct MHD_Connection *connection,
                                    const ak_guest *guest, const char *since)
{
    ak_stream *one = ak_alloc(1, sizeof *one);
    if (one == NULL) {
        return NULL;
    }
    *one = (ak_stream){.owner = streams,
                       .connection = connection,
                       .guest = guest,
                       .pending = AK_BUF(EVENT_BYTES_MAX),
                       /* The browser may have states from an earlier server, whose versions mean
                          nothing here, so all states are sent. */
                       .fleets = -1,
                       .killed = -1,
                       .next = streams->first};
    streams->first = one;
    ak_buf_puts(&one->pending, "retry: 1000\n\n");
    tell(one, ak_watch_is_place(since) ? since : NULL);
    struct MHD_Response *response = streams->mhd->MHD_create_response_from_callback(
        AK_MHD_SIZE_UNKNOWN, BLOCK_BYTES, read_stream, one, end_stream);
    if (response == NULL) {
        end_stream(one);
    }
    return response;
}

void ak_streams_tell(ak_streams *streams, const char *since)
{
    for (ak_stream *one = streams->first; one != NULL; one = one->next) {
        tell(one, since);
    }
}

void ak_streams_pulse(ak_streams *streams)
{
    for (ak_stream *one = streams->first; one != NULL; one = one->next) {
        ak_buf_puts(&one->pending, ":\n\n");
        wake(one);
    }
}

void ak_streams_sweep(ak_streams *streams)
{
    for (ak_stream *one = streams->first; one != NULL; one = one->next) {
        if (!one->over && (one->guest->dismissed || ak_guest_is_gone(one->guest))) {
            one->over = true;
            wake(one);
        }
    }
}

void ak_streams_close(ak_streams *streams)
{
    streams->closing = true;
    for (ak_stream *one = streams->first; one != NULL; one = one->next) {
        wake(one);
    }
}
