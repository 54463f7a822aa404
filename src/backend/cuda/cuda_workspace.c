/*
 * cuda_workspace.c: the workspace, which candidates and libraries share, between two red zones:
 *
 *     | AK_GUARD_BYTES | workspace, as much as is asked for | AK_GUARD_BYTES | rest |
 *
 * Each candidate uses a part of its own size, so the zone after that part moves and is painted
 * before each batch (launch/zones.c).
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

static int send(ak_device *device, ak_guard_side side, size_t bytes)
{
    int code = device->cuda->upload(zone_at(device, side, bytes), device->zones.of.bytes,
                                    AK_GUARD_BYTES, device->stream);
    return code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
}

static int fetch(ak_device *device, ak_guard_side side, size_t bytes)
{
    int code = device->cuda->download(device->zones.of.bytes, zone_at(device, side, bytes),
                                      AK_GUARD_BYTES, device->stream);
    return code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
}

int ak_cuda_workspace_paint(ak_device *device, size_t bytes)
{
    return ak_zones_paint(&device->zones.of, device->task->dtype, device, bytes, send);
}

int ak_cuda_workspace_check(bool whole[2], ak_device *device, size_t bytes)
{
    return ak_zones_check(whole, &device->zones.of, device, bytes, fetch);
}
