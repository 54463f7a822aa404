/*
 * opencl_contents.c: the copies between the sets and the two spare ones after them, which
 * launch/contents.c asks for while a candidate is timed, and the kernel that mixes contents
 * (launch/mixed.h).
 */
#include "backend/opencl/opencl_device.h"
#include "base/asset.h"

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

int32_t ak_opencl_contents_open(ak_device *device)
{
    static const char *const names[] = {"ak_mix_1", "ak_mix_2", "ak_mix_4", "ak_mix_8"};
    const ak_asset *source = ak_asset_find("src/backend/launch/mixed.h");
    const ak_opencl *cl = device->cl;
    int32_t code = 0;
    if (device->mixing.program != NULL || source == NULL) {
        return source == NULL ? AK_CL_INVALID_VALUE : 0;
    }
    void *program =
        cl->program_source(device->context, 1, (const char *[]){source->data}, NULL, &code);
    device->mixing.program = code == 0 ? program : NULL;
    code = code == 0 ? cl->program_build(program, 1, &device->place.device, "", NULL, NULL) : code;
    for (size_t i = 0; i < AK_COUNT(names) && code == 0; i++) {
        void *kernel = cl->kernel_create(program, names[i], &code);
        device->mixing.kernels[i] = code == 0 ? kernel : NULL;
    }
    if (code != 0) {
        ak_opencl_contents_close(device);
    }
    return code;
}

void ak_opencl_contents_close(ak_device *device)
{
    for (size_t i = 0; i < AK_COUNT(device->mixing.kernels); i++) {
        if (device->mixing.kernels[i] != NULL) {
            (void)device->cl->kernel_release(device->mixing.kernels[i]);
            device->mixing.kernels[i] = NULL;
        }
    }
    if (device->mixing.program != NULL) {
        (void)device->cl->program_release(device->mixing.program);
        device->mixing.program = NULL;
    }
}

static int32_t rotate(const ak_runnable *runnable, const size_t sets[2], size_t argument,
                      size_t bytes, const ak_mixed *mixed)
{
    const size_t turn = (size_t)mixed->turn[0] * bytes, span = (size_t)mixed->span * bytes;
    const size_t gap = (size_t)mixed->wrap * bytes - span, rest = span - turn;
    int32_t code = copy(runnable, sets, argument, AK_GUARD_BYTES, AK_GUARD_BYTES + turn, rest);
    return code == 0 ? copy(runnable, sets, argument, AK_GUARD_BYTES + rest + gap, AK_GUARD_BYTES,
                            turn - gap)
                     : code;
}

static int mix(ak_runnable *runnable, size_t argument, const ak_mixed *mixed)
{
    const size_t group = 64; /* PoCL compiles a kernel for each size of work-groups */
    const ak_device *device = runnable->device;
    const size_t sets[] = {spare(runnable, AK_CONTENTS_OTHER), spare(runnable, AK_CONTENTS_OWN)};
    const size_t bytes = ak_dtype_bytes(ak_task_argument_dtype(device->task, argument));
    const size_t global = ((size_t)mixed->span + group - 1) / group * group;
    const bool fits = device->work_group_max <= 0 || device->work_group_max >= (int64_t)group;
    void *kernel = device->mixing.kernels[bytes == 8 ? 3 : bytes / 2];
    int32_t code = 0;
    if (mixed->turn[0] == mixed->turn[1]) {
        return rotate(runnable, sets, argument, bytes, mixed);
    }
    for (uint32_t i = 0; i < AK_COUNT(sets) && code == 0; i++) {
        code = device->cl->kernel_argument(kernel, i, sizeof(void *),
                                           &device->sets[sets[i]].part[argument]);
    }
    code = code == 0 ? device->cl->kernel_argument(kernel, 2, sizeof *mixed, mixed) : code;
    return code == 0 ? device->cl->launch(device->queue, kernel, 1, NULL, &global,
                                          fits ? &group : NULL, 0, NULL, NULL)
                     : code;
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

static int64_t fastest(const ak_runnable *runnable)
{
    return runnable->fastest_ns;
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
    .each_ns = 3000,
    .all_ns = 25000,
    .tries = 8,
    .fresh_bytes = (size_t)64 << 10,
    .repeats = true, /* if the device is the host's processor, other load may slow it down */
    .begin = begin,
    .mix = mix,
    .fill = fill,
    .time = time_runs,
    .fastest = fastest,
    .keep = keep,
    .set_aside = set_aside,
};
