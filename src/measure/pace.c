/* pace.c: see pace.h. */
#include "measure/pace.h"

#include <string.h>

#include "base/clock.h"

const ak_pace ak_paces[AK_PACE_COUNT] = {
#define PACE(id, word, rest, warm, lead_in, least, most, text)                                     \
    [AK_PACE_##id] = {.name = (word),                                                              \
                      .description = (text),                                                       \
                      .rest_ns = (rest)*AK_MS_NS,                                                  \
                      .lead_in_ns = (lead_in)*AK_MS_NS,                                            \
                      .batch_min_ns = (least)*AK_MS_NS,                                            \
                      .batch_max_ns = (most)*AK_MS_NS,                                             \
                      .warm_runs = (warm)},
    AK_PACES(PACE)
#undef PACE
};

ak_status ak_pace_find(const ak_pace **out, const char *name, ak_error *err)
{
    for (size_t i = 0; i < AK_PACE_COUNT; i++) {
        if (name == NULL || strcmp(ak_paces[i].name, name) == 0) {
            *out = &ak_paces[i];
            return AK_OK;
        }
    }
#define WORD(id, word, rest, warm, lead_in, least, most, text) " " word
    static const char known[] = AK_PACES(WORD);
#undef WORD
    return ak_fail(err, AK_INVALID, "there is no protocol \"%.40s\"; there are:%s", name, known);
}

double ak_pace_seconds(const ak_pace *pace, size_t count, size_t rounds)
{
    double each = (double)(pace->rest_ns + pace->batch_min_ns) / 1e9;
    return (double)pace->lead_in_ns / 1e9 + each * (double)(count * rounds);
}
