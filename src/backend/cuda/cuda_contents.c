/*
 * cuda_contents.c: the copies between the sets and the spare places after them, which
 * launch/contents.c asks for while a candidate is timed, the kernel that mixes contents
 * (launch/mixed.h), and the one that writes inputs late (cuda_late.cu).
 */
#include "backend/cuda/cuda_device.h"

static ak_cuda_address spare(const ak_runnable *runnable, size_t which)
{
    const ak_cuda_places *places = &runnable->places;
    return runnable->device->copies + (places->sets - 1 + which) * places->stride;
}

static ak_cuda_address set_at(const ak_runnable *runnable, size_t set)
{
    const ak_cuda_places *places = &runnable->places;
    return set == 0 ? runnable->device->block + places->first
                    : runnable->device->copies + (set - 1) * places->stride;
}

static int copy(const ak_runnable *runnable, ak_cuda_address to, ak_cuda_address from, size_t bytes)
{
    const ak_device *device = runnable->device;
    return bytes == 0 ? AK_CUDA_SUCCESS : device->cuda->copy(to, from, bytes, device->stream);
}

static int begin(ak_runnable *runnable)
{
    const size_t span = runnable->places.span;
    ak_cuda_address own = spare(runnable, AK_CONTENTS_OWN);
    int code = copy(runnable, own, set_at(runnable, 0), span);
    return code == 0 ? copy(runnable, spare(runnable, AK_CONTENTS_OTHER), own, span) : code;
}

void ak_cuda_contents_open(ak_device *device)
{
    static const char *const parts[] = {"src/backend/launch/mixed.h",
                                        "src/backend/cuda/cuda_late.cu"};
    static const char *const names[] = {"ak_mix_1", "ak_mix_2", "ak_mix_4", "ak_mix_8",
                                        "ak_copy_late"};
    char most[40];
    const char *const options[] = {most};
    const ak_cuda_source_parts source = {.parts = parts,
                                         .count = AK_COUNT(parts),
                                         .dtype = device->task->dtype,
                                         .options = options,
                                         .option_count = AK_COUNT(options)};
    (void)snprintf(most, sizeof most, "-DAK_ARGUMENTS_MAX=%d", AK_ARGUMENTS_MAX);
    if (device->mixing.tried) {
        return;
    }
    device->mixing.tried = true;
    int code = ak_cuda_helper(&device->mixing.module, device, &source, NULL) == AK_OK ? 0 : -1;
    for (size_t i = 0; i < AK_COUNT(names) && code == 0; i++) {
        code = device->cuda->module_function(&device->mixing.functions[i], device->mixing.module,
                                             names[i]);
    }
    device->mixing.ready = code == 0;
}

static int rotate(const ak_runnable *runnable, const ak_cuda_address places[2], size_t bytes,
                  const ak_mixed *mixed)
{
    const size_t turn = (size_t)mixed->turn[0] * bytes, span = (size_t)mixed->span * bytes;
    const size_t gap = (size_t)mixed->wrap * bytes - span, rest = span - turn;
    int code = copy(runnable, places[0], places[1] + turn, rest);
    return code == 0 ? copy(runnable, places[0] + rest + gap, places[1], turn - gap) : code;
}

/* Makes an argument's other contents. The copies that fill a set follow the kernel that mixes in
   the stream, so no run can begin early behind this kernel. */
static int mix(ak_runnable *runnable, size_t argument, const ak_mixed *mixed)
{
    enum { THREADS = 256, BLOCKS_PER_SM = 16 };
    const ak_device *device = runnable->device;
    const size_t at = runnable->places.offset[argument] - runnable->places.first;
    const size_t bytes = ak_dtype_bytes(ak_task_argument_dtype(device->task, argument));
    ak_cuda_address places[] = {spare(runnable, AK_CONTENTS_OTHER) + at,
                                spare(runnable, AK_CONTENTS_OWN) + at};
    if (mixed->turn[0] == mixed->turn[1]) {
        return rotate(runnable, places, bytes, mixed);
    }
    const uint64_t blocks = (mixed->span + THREADS - 1) / THREADS;
    const uint64_t most = (uint64_t)device->sm_count * BLOCKS_PER_SM;
    const ak_cuda_launch_config config = {.grid = {(uint32_t)(blocks < most ? blocks : most), 1, 1},
                                          .block = {THREADS, 1, 1},
                                          .stream = device->stream};
    ak_mixed how = *mixed;
    void *arguments[] = {&places[0], &places[1], &how};
    const size_t which = bytes == 8 ? 3 : bytes / 2;
    return device->cuda->launch(&config, device->mixing.functions[which], arguments, NULL);
}

/* Fills a set as contents.h says. Each copy is as large as possible: all that lies between two
   outputs that stay. Also fills the module's variables (`Constants`), which all sets share. */
static int fill(ak_runnable *runnable, size_t set, ak_contents_spare which, bool outputs)
{
    const ak_cuda_places *places = &runnable->places;
    const ak_shape *shape = &runnable->shape;
    const ak_cuda_address to = set_at(runnable, set), from = spare(runnable, which);
    size_t at = 0;
    int code = AK_CUDA_SUCCESS;
    for (size_t i = 0; i < places->count && !outputs && code == 0; i++) {
        bool stays = runnable->device->task->problem->arguments[i].access == AK_ACCESS_OUT &&
                     shape->row[i] == shape->pitch[i];
        if (stays) {
            size_t output = places->offset[i] - places->first;
            code = copy(runnable, to + at, from + at, output - at);
            at = output + shape->bytes[i];
        }
    }
    code = code == 0 ? copy(runnable, to + at, from + at, places->span - at) : code;
    return code == 0 ? runnable->work->supply(runnable, from) : code;
}

/* As in cuda_late.cu. */
typedef struct late_pieces {
    uint64_t to, from;
    uint32_t count;
    uint64_t offset[AK_ARGUMENTS_MAX], bytes[AK_ARGUMENTS_MAX];
} late_pieces;

/* Runs on a set whose inputs a kernel writes after a delay that is longer than the host usually
   takes to launch the run. No event stands between the two kernels, because a run may begin early
   only directly behind a kernel. */
static int late(ak_runnable *runnable, size_t set, int64_t timeout_ns)
{
    enum { THREADS = 256, BLOCKS = 8, DELAY_NS = 50000 };
    ak_device *device = runnable->device;
    const ak_cuda_places *places = &runnable->places;
    late_pieces pieces = {.to = set_at(runnable, set), .from = spare(runnable, AK_CONTENTS_OWN)};
    for (size_t i = 0; i < places->count; i++) {
        if (device->task->problem->arguments[i].access != AK_ACCESS_OUT) {
            pieces.offset[pieces.count] = places->offset[i] - places->first;
            pieces.bytes[pieces.count++] = runnable->shape.bytes[i];
        }
    }
    uint32_t delay = DELAY_NS;
    void *arguments[] = {&pieces, &delay};
    const ak_cuda_launch_config config = {
        .grid = {BLOCKS, 1, 1}, .block = {THREADS, 1, 1}, .stream = device->stream};
    int code = device->cuda->launch(&config, device->mixing.functions[4], arguments, NULL);
    code = code == 0 ? runnable->work->enqueue(runnable, set) : code;
    return code == 0 ? ak_cuda_wait(device, timeout_ns) : code;
}

static int keep(ak_runnable *runnable, size_t set, double run_ns)
{
    runnable->run_ns = run_ns;
    return copy(runnable, spare(runnable, runnable->places.kept), set_at(runnable, set),
                runnable->places.span);
}

static int set_aside(ak_runnable *runnable, size_t set)
{
    return copy(runnable, spare(runnable, AK_CONTENTS_OTHER), set_at(runnable, set),
                runnable->places.span);
}

ak_status ak_cuda_fetch_aside(void *data, ak_runnable *runnable, size_t argument, size_t offset,
                              size_t bytes, ak_error *err)
{
    ak_device *device = runnable->device;
    const size_t at = runnable->places.offset[argument] - runnable->places.first + offset;
    int code = device->cuda->download(data, spare(runnable, AK_CONTENTS_OTHER) + at, bytes,
                                      device->stream);
    code = code == 0 ? ak_cuda_wait(device, AK_CUDA_DRAIN_NS) : code;
    return ak_cuda_fail(device, code, "download", err);
}

static int end(ak_runnable *runnable)
{
    return copy(runnable, set_at(runnable, 0), spare(runnable, runnable->places.kept),
                runnable->places.span);
}

const ak_contents_ops ak_cuda_contents_ops = {
    .times = 1.5,
    .each_ns = 2000,
    .all_ns = 30000, /* the runs begin while copies are on their way from the cache to memory */
    .tries = 3,
    .least_ns = 200000, /* in shorter batches a few microseconds would decide */
    .cold = 2,          /* the first runs load the code, so their times say nothing */
    .begin = begin,
    .mix = mix,
    .fill = fill,
    .time = ak_cuda_time_runs,
    .late = late,
    .keep = keep,
    .set_aside = set_aside,
    .end = end,
};
