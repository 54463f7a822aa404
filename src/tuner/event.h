/* event.h: sends the events of a run (docs/formats.md lists them). */
#ifndef AK_TUNER_EVENT_H
#define AK_TUNER_EVENT_H

#include "worker/pool.h"

typedef struct ak_events {
    ak_event_sink sink;
    void *context;
    const char *run;
    int64_t start_ns;
    const ak_pool *pool; /* its clock gives the time; NULL: the machine's clock */
} ak_events;

/* Sends {"event": name, "run": ..., "t": seconds since the start, ...fields}, if there is a sink.
   Takes ownership of `fields`, which may be NULL. */
void ak_event_send(const ak_events *events, const char *name, json_t *fields);

#endif
