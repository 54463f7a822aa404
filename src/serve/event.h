/*
 * event.h: writes server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
 *
 * A line break in a field would begin a field of its own, and an empty line an event. So each field
 * is one line by construction, whatever its text comes from.
 */
#ifndef AK_SERVE_EVENT_H
#define AK_SERVE_EVENT_H

#include "base/json.h"

/* Appends an event. `id` may be NULL: the event has no place. */
void ak_serve_event(ak_buf *out, const char *id, const char *event, const json_t *data);

#endif
