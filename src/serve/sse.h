/*
 * sse.h: writes server-sent events (HTML Living Standard, section 9.2).
 *
 * A line break in a field would begin a field of its own, and an empty line an event. So each field
 * is one line by construction, whatever its text comes from.
 */
#ifndef AK_SERVE_SSE_H
#define AK_SERVE_SSE_H

#include "base/json.h"

/* Appends an event. `id` may be NULL: the event has no place. */
void ak_sse_put(ak_buf *out, const char *id, const char *event, const json_t *data);

#endif
