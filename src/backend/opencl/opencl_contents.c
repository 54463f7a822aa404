/*
 * opencl_contents.c: the copies between the sets and the two spare ones after them, which
 * launch/contents.c asks for while a candidate is timed.
 */
#include "backend/opencl/opencl_device.h"

static size_t spare(const ak_runnable *runnable, ak_contents_spare which)
{
    return runnable->device->set_count + which;
}

/* Copies a part of an argument from sets[1] to sets[0]. */
static int32_t copy(const ak_runnable *runnable, const size_t sets[2], size_t argument, size_t to,
                    size_t from, size_t bytes)
{
    const ak_device *device = runnable->device;
    return bytes == 0 ? 0
                      : device->cl->copy(device->queue, device->sets[sets[1]].memory[argument],
                                         device->sets[sets[0]].memory[argument], from, to, bytes, 0,
                                         NULL, NULL);
}

static int begin(ak_runnable *runnable)
{
    int32_t code = ak_opencl_from_block(runnable->device, spare(runnable, AK_CONTENTS_OWN));
    return code == 0 ? ak_opencl_from_block(runnable->device, spare(runnable, AK_CONTENTS_OTHER))
                     : code;
}

static int turn(ak_runnable *runnable, size_t argument, size_t to, size_t from, size_t bytes)
{
    const size_t sets[] = {spare(runnable, AK_CONTENTS_OTHER), spare(runnable, AK_CONTENTS_OWN)};
    return copy(runnable, sets, argument, AK_GUARD_BYTES + to, AK_GUARD_BYTES + from, bytes);
}

static int fill(ak_runnable *runnable, size_t set, ak_contents_spare which, bool outputs)
{
    const ak_device *device = runnable->device;
    const ak_shape *shape = &runnable->shape;
    const size_t sets[] = {set, spare(runnable, which)};
    int32_t code = 0;
    for (size_t i = 0; i < device->layout.count && code == 0; i++) {
        const size_t length = device->layout.length[i], end = AK_GUARD_BYTES + shape->bytes[i];
        bool stays = !outputs && shape->row[i] == shape->pitch[i] &&
                     device->task->problem->arguments[i].access == AK_ACCESS_OUT;
        code = copy(runnable, sets, i, 0, 0, stays ? AK_GUARD_BYTES : length);
        code = code == 0 && stays ? copy(runnable, sets, i, end, end, length - end) : code;
    }
    return code;
}

static int time_runs(int64_t *ns, ak_runnable *runnable, uint32_t runs, size_t set,
                     int64_t timeout_ns)
{
    return ak_opencl_time_runs(ns, runnable, runs == 1 ? (uint32_t)set : 0, runs, timeout_ns);
}

/* Copies the set to the block, which no run changes, because it is no set. */
static int keep(ak_runnable *runnable, size_t set, double run_ns)
{
    (void)run_ns;
    return ak_opencl_to_block(runnable->device, set);
}

static int set_aside(ak_runnable *runnable, size_t set)
{
    const size_t sets[] = {spare(runnable, AK_CONTENTS_OTHER), set};
    const ak_opencl_layout *layout = &runnable->device->layout;
    int32_t code = 0;
    for (size_t i = 0; i < layout->count && code == 0; i++) {
        code = copy(runnable, sets, i, 0, 0, layout->length[i]);
    }
    return code;
}

ak_status ak_opencl_fetch_aside(void *data, ak_runnable *runnable, size_t argument, size_t offset,
                                size_t bytes, ak_error *err)
{
    ak_device *device = runnable->device;
    const ak_opencl_set *set = &device->sets[spare(runnable, AK_CONTENTS_OTHER)];
    return ak_opencl_fail(device,
                          device->cl->read(device->queue, set->memory[argument], 1,
                                           AK_GUARD_BYTES + offset, bytes, data, 0, NULL, NULL),
                          "download", err);
}

const ak_contents_ops ak_opencl_contents_ops = {
    .times = 2,
    .each_ns = 25000,
    .tries = 8,
    .repeats = true, /* if the device is the host's processor, other load may slow it down */
    .begin = begin,
    .turn = turn,
    .fill = fill,
    .time = time_runs,
    .keep = keep,
    .set_aside = set_aside,
};
