#include "serve/watch.h"

#include "base/alloc.h"
#include "base/utf8.h"

json_t *ak_shown_arms(const json_t *result, bool simulated)
{
    json_t *list = json_array();
    AK_EACH(one, json_object_get(result, simulated ? "strategies" : "arms")) {
        const json_t *curve = json_object_get(json_object_get(one, "quality"), "evaluations");
        const json_t *last = json_array_get(curve, json_array_size(curve) - 1);
        const json_t *value =
            json_object_get(simulated ? one : last, simulated ? "score" : "quality");
        json_t *arm =
            json_pack("{s:s, s:O?}", "name", ak_json_text_at(one, simulated ? "strategy" : "arm"),
                      "value", value);
        ak_json_add(&list, arm);
    }
    return list;
}

json_t *ak_shown_subject(const json_t *result, bool simulated)
{
    const json_t *recordings =
        json_object_get(json_array_get(json_object_get(result, "strategies"), 0), "recordings");
    const json_t *about = simulated ? json_array_get(recordings, 0) : result;
    size_t more = json_array_size(recordings) > 1 ? json_array_size(recordings) - 1 : 0;
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4096);
    const char *size = ak_json_text_at(about, "size");
    ak_buf_print(&text, "%.1000s%s%.1000s on %.1000s", ak_json_text_at(about, "kernel"),
                 size[0] == 0 ? "" : " ", size, ak_json_text_at(about, "device"));
    if (more > 0) {
        ak_buf_print(&text, " and %zu more", more);
    }
    /* %.1000s may cut a name within a character. */
    AK_FREED char *clean = text.failed == AK_OK ? ak_utf8_clean(text.data) : NULL;
    return clean == NULL ? NULL : json_string(clean);
}

json_t *ak_shown_workers(const json_t *said)
{
    static const char *const texts[] = {"name", "state", "since", "host", "why"};
    json_t *workers = json_array();
    AK_EACH(worker, said) {
        json_t *one = json_object();
        const json_t *seat = json_object_get(worker, "seat");
        json_int_t number =
            json_is_integer(seat) ? json_integer_value(seat) : (json_int_t)worker_at;
        const json_t *share = json_object_get(worker, "compile_workers");
        json_int_t compilers = json_is_integer(share) ? json_integer_value(share) : 0;
        bool good = ak_json_set(one, "seat", json_integer(number)) &&
                    ak_json_set(one, "compile_workers", json_integer(compilers));
        for (size_t k = 0; good && k < AK_COUNT(texts); k++) {
            good = ak_json_set_text(one, texts[k], ak_json_text_at(worker, texts[k]));
        }
        ak_json_add(&workers, ak_json_whole(one, good));
    }
    return workers;
}
