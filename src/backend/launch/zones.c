#include "backend/launch/contents.h"

#include "base/clock.h"

int ak_zones_paint(ak_zones *zones, ak_dtype dtype, ak_device *device, size_t workspace,
                   ak_zone_copy send)
{
    const unsigned round = zones->rounds++;
    const ak_guard_pattern pattern = {.key = ak_guard_word((uint64_t)ak_clock_ns(), round),
                                      .content = ak_guard_content_of(round)};
    int code = 0;
    for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_AFTER && code == 0; side++) {
        zones->streams[side] = ak_guard_stream_of(&pattern, AK_ARGUMENTS_MAX, side, dtype);
        ak_guard_write(zones->bytes, 0, AK_GUARD_BYTES, &zones->streams[side]);
        code = send(device, side, workspace);
    }
    return code;
}

int ak_zones_check(bool whole[2], ak_zones *zones, ak_device *device, size_t workspace,
                   ak_zone_copy fetch)
{
    int code = 0;
    for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_AFTER && code == 0; side++) {
        code = fetch(device, side, workspace);
        whole[side] =
            code != 0 || ak_guard_holds(zones->bytes, 0, AK_GUARD_BYTES, &zones->streams[side]);
    }
    return code;
}
