#include "measure/protocol.h"

#include <string.h>

#include "base/clock.h"

const ak_protocol ak_protocols[AK_PROTOCOL_COUNT] = {
#define PROTOCOL(id, word, rest, warm, lead_in, least, most, text)                                 \
    [AK_PROTOCOL_##id] = {.name = (word),                                                          \
                          .description = (text),                                                   \
                          .rest_ns = (rest)*AK_MS_NS,                                              \
                          .lead_in_ns = (lead_in)*AK_MS_NS,                                        \
                          .batch_min_ns = (least)*AK_MS_NS,                                        \
                          .batch_max_ns = (most)*AK_MS_NS,                                         \
                          .warm_runs = (warm)},
    AK_PROTOCOLS(PROTOCOL)
#undef PROTOCOL
};

ak_status ak_protocol_find(const ak_protocol **out, const char *name, ak_error *err)
{
    for (size_t i = 0; i < AK_PROTOCOL_COUNT; i++) {
        if (name == NULL || strcmp(ak_protocols[i].name, name) == 0) {
            *out = &ak_protocols[i];
            return AK_OK;
        }
    }
#define WORD(id, word, rest, warm, lead_in, least, most, text) " " word
    static const char known[] = AK_PROTOCOLS(WORD);
#undef WORD
    return ak_fail(err, AK_INVALID, "there is no protocol \"%.40s\"; choose one of:%s", name,
                   known);
}

double ak_protocol_seconds(const ak_protocol *protocol, size_t count, size_t rounds)
{
    double each = (double)(protocol->rest_ns + protocol->batch_min_ns) / 1e9;
    return (double)protocol->lead_in_ns / 1e9 + each * (double)(count * rounds);
}
