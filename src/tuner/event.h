/* event.h: the one stream of what happens in a run (docs/formats.md lists the events). */
#ifndef AK_TUNER_EVENT_H
#define AK_TUNER_EVENT_H

#include "base/json.h"

typedef struct ak_events {
    ak_event_sink sink;
    void *context;
    const char *run;
    int64_t start_ns;
} ak_events;

/* Sends {"event": name, "run": ..., "t": seconds since the start, ...fields}. Takes `fields`. */
void ak_event_send(const ak_events *events, const char *name, json_t *fields);

#endif
