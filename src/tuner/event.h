/* event.h: the one stream of what happens in a run (docs/formats.md lists the events). */
#ifndef AK_TUNER_EVENT_H
#define AK_TUNER_EVENT_H

#include "worker/pool.h"

typedef struct ak_events {
    ak_event_sink sink;
    void *context;
    const char *run;
    int64_t start_ns;
    const ak_pool *pool; /* whose clock it is; NULL: the machine's */
} ak_events;

/* Sends {"event": name, "run": ..., "t": seconds since the start, ...fields}. Takes `fields`. */
void ak_event_send(const ak_events *events, const char *name, json_t *fields);

#endif
