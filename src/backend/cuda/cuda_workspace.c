/*
 * cuda_workspace.c: the workspace, which candidates and libraries share, between two red zones:
 *
 *     | AK_GUARD_BYTES | workspace, as much as is asked for | AK_GUARD_BYTES | rest |
 *
 * Libraries use more of it than most candidates, so the zone behind a candidate's part is painted
 * before each of its batches, with another key and content each time (check/guard.h), and checked
 * after the batch.
 */
#include "backend/cuda/cuda_device.h"

int ak_cuda_workspace(ak_device *device, size_t bytes)
{
    if (bytes == 0) {
        return AK_CUDA_SUCCESS;
    }
    if (bytes > SIZE_MAX - 2 * AK_GUARD_BYTES) {
        return AK_CUDA_ERROR_OUT_OF_MEMORY;
    }
    int code = ak_cuda_grow(&device->zones.memory, &device->zones.bytes, bytes + 2 * AK_GUARD_BYTES,
                            device);
    device->workspace = code == 0 ? device->zones.memory + AK_GUARD_BYTES : 0;
    return code;
}

static ak_cuda_address zone_at(const ak_device *device, ak_guard_side side, size_t bytes)
{
    return side == AK_GUARD_BEFORE ? device->workspace - AK_GUARD_BYTES : device->workspace + bytes;
}

int ak_cuda_workspace_paint(ak_device *device, size_t bytes)
{
    const unsigned round = device->zones.rounds++;
    const ak_guard_pattern pattern = {.key = ak_guard_word((uint64_t)ak_clock_ns(), round),
                                      .content = ak_guard_content_of(round)};
    int code = AK_CUDA_SUCCESS;
    for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_AFTER && code == 0; side++) {
        ak_guard_stream *stream = &device->zones.streams[side];
        *stream = ak_guard_stream_of(&pattern, AK_ARGUMENTS_MAX, side, device->task->dtype);
        ak_guard_write(device->zones.painted, 0, AK_GUARD_BYTES, stream);
        code = device->cuda->upload(zone_at(device, side, bytes), device->zones.painted,
                                    AK_GUARD_BYTES, device->stream);
        code = code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
    }
    return code;
}

int ak_cuda_workspace_whole(bool *before, bool *after, ak_device *device, size_t bytes)
{
    bool *const whole[] = {[AK_GUARD_BEFORE] = before, [AK_GUARD_AFTER] = after};
    int code = AK_CUDA_SUCCESS;
    for (ak_guard_side side = AK_GUARD_BEFORE; side <= AK_GUARD_AFTER && code == 0; side++) {
        code = device->cuda->download(device->zones.painted, zone_at(device, side, bytes),
                                      AK_GUARD_BYTES, device->stream);
        code = code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
        *whole[side] =
            ak_guard_holds(device->zones.painted, 0, AK_GUARD_BYTES, &device->zones.streams[side]);
    }
    return code;
}
