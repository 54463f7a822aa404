/* event.c: see event.h. An event that is longer than EVENT_BYTES_MAX, or for which there is no
   memory, is dropped: events only serve to watch a run; what must not be lost is in the archive. */
#include "tuner/event.h"

#include "base/clock.h"

#define EVENT_BYTES_MAX (1u << 20)

void ak_event_send(const ak_events *events, const char *name, json_t *fields)
{
    if (events->sink != NULL) {
        json_auto_t *event = json_object();
        int64_t now = events->pool == NULL ? ak_clock_ns() : ak_pool_now_ns(events->pool);
        bool good = ak_json_set_text(event, "event", name) &&
                    ak_json_set_text(event, "run", events->run) &&
                    ak_json_set_real(event, "t", (double)(now - events->start_ns) / 1e9) &&
                    (fields == NULL || json_object_update(event, fields) == 0);
        AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(EVENT_BYTES_MAX);
        if (good) {
            ak_json_print(&text, event, false);
        }
        if (good && ak_buf_status(&text, NULL) == AK_OK) {
            events->sink(events->context, name, text.data);
        }
    }
    json_decref(fields);
}
