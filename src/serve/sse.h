/*
 * sse.h: writes server-sent events (HTML Living Standard, section 9.2).
 *
 * A line break in a field would begin another field, and an empty line would end the event. So line
 * breaks are replaced by blanks, whatever the source of the text.
 */
#ifndef AK_SERVE_SSE_H
#define AK_SERVE_SSE_H

#include "base/json.h"

/* Appends an event. `id` is its place (watch.h); NULL: it has none. A failure is kept in `out`. */
void ak_sse_put(ak_buf *out, const char *id, const char *event, const json_t *data);

#endif
