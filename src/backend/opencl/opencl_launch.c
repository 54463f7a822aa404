/*
 * opencl_launch.c: loads candidates, and runs batches of them.
 *
 * The harness' block is one buffer, which no kernel sees. Kernels run on sets: each argument with
 * its red zones is a buffer, and the kernel gets the part of it after the first zone, which begins
 * at an offset that every device can align. Timed batches rotate over several sets, so that no run
 * finds its data in the device's cache, if AK_OPENCL_SETS_MAX sets are enough for that and there is
 * memory for them. launch/contents.c decides what the sets hold and which of them is judged; a
 * shape that is only checked has one set. One measured batch:
 *
 *     workspace set to zero, sets filled
 *     runs, each with the device's own times of start and end
 *     the set that is judged copied back to the block
 *
 * An ICD may finish compiling at the first launch, and takes seconds then, so that launch is made
 * when a candidate is prepared and is not timed, and its limit counts from when the kernel runs. If
 * the device reports no times, this process times each part of a batch by its own clock.
 */
#include <string.h>

#include "backend/opencl/opencl_device.h"
#include "base/alloc.h"
#include "base/clock.h"

/* All sets together are at least this many times as large as the device's cache, if
   AK_OPENCL_SETS_MAX and a quarter of the memory allow. */
#define ROTATE_CACHES 2
/* They are at least this large, too, within these limits: small arguments have 64 sets, so that 64
   runs in a row each have their own contents. */
#define ROTATE_BYTES ((size_t)4 << 20)
#define SETS_MIN     2
/* At most this many runs are queued between two waits, because their events are kept until then. */
#define PART_RUNS_MAX 256

/* ---- loading --------------------------------------------------------------------------------- */

static void forget_kernels(ak_runnable *runnable)
{
    for (size_t i = 0; i < runnable->kernel_count && !runnable->device->lost; i++) {
        if (runnable->kernels[i] != NULL) {
            (void)runnable->device->cl->kernel_release(runnable->kernels[i]);
        }
    }
    ak_free(runnable->kernels);
    runnable->kernels = NULL;
    runnable->kernel_count = 0;
    runnable->prepared = false;
}

void ak_opencl_unload(ak_runnable *runnable)
{
    if (runnable != NULL) {
        forget_kernels(runnable);
        if (runnable->program != NULL && !runnable->device->lost) {
            (void)runnable->device->cl->program_release(runnable->program);
        }
        ak_free(runnable);
    }
}

AK_END_AT(ak_opencl_unload, ak_runnable)

ak_status ak_opencl_load_candidate(ak_runnable **out, ak_device *device, const ak_load *what,
                                   ak_outcome *outcome, ak_error *err)
{
    char why[200] = "";
    size_t length = 0;
    AK_FREED char *artifact = NULL;
    AK_AT_END(ak_opencl_unload_at) ak_runnable *runnable = NULL;
    AK_DO(AK_NEW(runnable, 1, err));
    runnable->device = device;
    *outcome = (ak_outcome){.status = AK_TRIAL_OK};
    AK_FAIL_IF(what->artifact == NULL, err, AK_NOT_FOUND,
               "there is no library \"%.60s\" for OpenCL devices", ak_or_empty(what->baseline));
    if (device->lost) {
        ak_outcome_refuse(outcome, AK_TRIAL_CRASHED, "the device is lost: %s", device->why);
    } else {
        AK_DO(ak_fs_read(&artifact, &length, what->artifact,
                         AK_OPENCL_BINARY_MAX + AK_SOURCE_BYTES_MAX, err));
        const ak_opencl_target target = {device->cl, device->context, device->place.device};
        int32_t code =
            ak_opencl_load(&runnable->program, why, sizeof why, &target, artifact, length);
        if (code != 0) {
            ak_outcome_refuse(outcome,
                              ak_opencl_is_memory(code)     ? AK_TRIAL_OUT_OF_MEMORY
                              : code == AK_CL_BUILD_FAILURE ? AK_TRIAL_COMPILE_ERROR
                                                            : AK_TRIAL_LAUNCH_ERROR,
                              "loading the compiled code: %s", why);
        }
    }
    AK_GIVE(out, runnable);
    return AK_OK;
}

/* ---- preparing ------------------------------------------------------------------------------- */

static void plan_layout(ak_opencl_layout *out, const ak_launch *launch)
{
    out->count = launch->task->problem->argument_count;
    for (size_t i = 0; i < out->count; i++) {
        /* guard.h: two red zones lie between arrays; the second one belongs to the next array */
        size_t end = i + 1 < out->count
                         ? launch->offset[i + 1] - AK_GUARD_BYTES
                         : launch->offset[i] + launch->shape->bytes[i] + AK_GUARD_BYTES;
        out->begin[i] = launch->offset[i] - AK_GUARD_BYTES;
        out->length[i] = end - out->begin[i];
    }
}

static bool same_layout(const ak_opencl_layout *a, const ak_opencl_layout *b)
{
    return a->count == b->count && memcmp(a->begin, b->begin, a->count * sizeof a->begin[0]) == 0 &&
           memcmp(a->length, b->length, a->count * sizeof a->length[0]) == 0;
}

/* Allocates the sets for a launch, or keeps the device's existing ones if their layout matches and
   there are enough of them. The task's own shape gets several, over which runs rotate. Other shapes
   are checked, not timed: one set is enough for them. */
static int32_t make_sets(ak_device *device, const ak_launch *launch)
{
    ak_opencl_layout wanted;
    int32_t code = 0;
    const bool own = ak_shape_is_same(launch->shape, &device->task->shape);
    plan_layout(&wanted, launch);
    if (device->set_count > (own ? 1u : 0u) && same_layout(&wanted, &device->layout)) {
        return 0;
    }
    ak_opencl_release_sets(device);
    const size_t last = wanted.count - 1;
    const size_t span = wanted.begin[last] + wanted.length[last] - wanted.begin[0];
    size_t count = 1;
    if (own) {
        size_t bytes = (size_t)device->cache_bytes * ROTATE_CACHES;
        bytes = bytes < ROTATE_BYTES ? ROTATE_BYTES : bytes;
        count = (bytes + span - 1) / span;
        size_t room = (size_t)device->memory_bytes / 4 / span;
        count = count > AK_OPENCL_SETS_MAX ? AK_OPENCL_SETS_MAX : count;
        count = count > room ? room : count;
        count = count < SETS_MIN ? SETS_MIN : count;
    }
    const size_t spares = count > 1 ? AK_CONTENTS_SPARES : 0;
    for (size_t s = 0; s < count + spares && code == 0; s++) {
        for (size_t i = 0; i < wanted.count && code == 0; i++) {
            code = ak_opencl_make_buffer(&device->sets[s].memory[i], &device->sets[s].part[i],
                                         device, wanted.length[i]);
        }
    }
    if (code != 0) {
        ak_opencl_release_sets(device);
        return code;
    }
    device->layout = wanted;
    device->set_count = count;
    return 0;
}

int32_t ak_opencl_from_block(ak_device *device, size_t set)
{
    int32_t code = 0;
    for (size_t i = 0; i < device->layout.count && code == 0; i++) {
        code =
            device->cl->copy(device->queue, device->block, device->sets[set].memory[i],
                             device->layout.begin[i], 0, device->layout.length[i], 0, NULL, NULL);
    }
    return code;
}

int32_t ak_opencl_to_block(ak_device *device, size_t set)
{
    int32_t code = 0;
    for (size_t i = 0; i < device->layout.count && code == 0; i++) {
        code = device->cl->copy(device->queue, device->sets[set].memory[i], device->block, 0,
                                device->layout.begin[i], device->layout.length[i], 0, NULL, NULL);
    }
    return code;
}

static uint64_t volume(const uint32_t extents[3])
{
    return (uint64_t)extents[0] * extents[1] * extents[2];
}

/* Checks that the device can run a kernel in work-groups of this size. */
static int32_t check_kernel(ak_outcome *outcome, const ak_device *device, void *kernel,
                            const ak_launch_kernel *planned)
{
    size_t possible = 0;
    uint64_t local = 0;
    void *where = device->place.device;
    (void)device->cl->kernel_info(kernel, where, AK_CL_KERNEL_WORK_GROUP, sizeof possible,
                                  &possible, NULL);
    (void)device->cl->kernel_info(kernel, where, AK_CL_KERNEL_LOCAL_BYTES, sizeof local, &local,
                                  NULL);
    uint64_t items = volume(planned->block);
    if (device->work_group_max > 0 && items > (uint64_t)device->work_group_max) {
        ak_outcome_refuse(outcome, AK_TRIAL_INVALID,
                          "its work-group has %llu work-items, but the device allows %lld",
                          (unsigned long long)items, (long long)device->work_group_max);
        return AK_CL_REFUSED;
    }
    if (device->local_bytes > 0 && local > (uint64_t)device->local_bytes) {
        ak_outcome_refuse(outcome, AK_TRIAL_INVALID,
                          "it needs %llu bytes of local memory, but a work-group can have %lld",
                          (unsigned long long)local, (long long)device->local_bytes);
        return AK_CL_REFUSED;
    }
    if (possible > 0 && items > possible) {
        ak_outcome_refuse(outcome, AK_TRIAL_REJECTED,
                          "its code allows %zu work-items in a work-group, but it asks for %llu",
                          possible, (unsigned long long)items);
        return AK_CL_REFUSED;
    }
    return 0;
}

static int32_t pass(void *kernel, uint32_t index, const ak_pass *pass, const ak_opencl_set *on,
                    const ak_runnable *runnable)
{
    const ak_device *device = runnable->device;
    int32_t (*give)(void *, uint32_t, size_t, const void *) = device->cl->kernel_argument;
    uint64_t value = 0;
    switch (pass->kind) {
    case AK_PASS_BUFFER:
        return give(kernel, index, sizeof(void *), &on->part[pass->index]);
    case AK_PASS_WORKSPACE:
        return give(kernel, index, sizeof(void *),
                    device->workspace.part == NULL ? NULL : &device->workspace.part);
    case AK_PASS_NULL:
        return give(kernel, index, sizeof(void *), NULL);
    case AK_PASS_VALUE: {
        const size_t bytes = ak_pass_encode(&value, pass);
        return give(kernel, index, bytes, &value);
    }
    case AK_PASS_MAP: /* refused when the space file was loaded */
        break;
    }
    return AK_CL_INVALID_VALUE;
}

/* Makes a kernel object for each set and kernel of the plan, with its arguments, so that a run is
   nothing but launches. */
static int32_t make_kernels(ak_runnable *runnable, ak_outcome *outcome)
{
    const ak_device *device = runnable->device;
    const ak_launch_plan *plan = &runnable->plan;
    int32_t code = 0;
    runnable->kernels = ak_alloc(device->set_count * plan->count, sizeof *runnable->kernels);
    if (runnable->kernels == NULL) {
        return AK_CL_OUT_OF_HOST_MEMORY;
    }
    runnable->kernel_count = device->set_count * plan->count;
    for (size_t at = 0; at < runnable->kernel_count && code == 0; at++) {
        const ak_launch_kernel *planned = &plan->kernels[at % plan->count];
        void *kernel = device->cl->kernel_create(runnable->program, planned->name, &code);
        if (code != 0) {
            ak_outcome_refuse(outcome, AK_TRIAL_REJECTED, "the compiled code has no entry %.60s",
                              planned->name);
            return AK_CL_REFUSED;
        }
        runnable->kernels[at] = kernel;
        code = at < plan->count ? check_kernel(outcome, device, kernel, planned) : 0;
        for (size_t i = 0; i < planned->pass_count && code == 0; i++) {
            code = pass(kernel, (uint32_t)i, &planned->passes[i], &device->sets[at / plan->count],
                        runnable);
            if (code != 0) {
                char text[64];
                ak_opencl_error_text(text, sizeof text, code);
                ak_outcome_refuse(outcome, AK_TRIAL_LAUNCH_ERROR, "argument %zu of %.60s: %s", i,
                                  planned->name, text);
                return AK_CL_REFUSED;
            }
        }
    }
    return code;
}

/* Puts kernel k of a run on a set into the queue. *event gets its event; `event` may be NULL. */
static int32_t enqueue_kernel(ak_runnable *runnable, size_t s, size_t k, void **event)
{
    const ak_device *device = runnable->device;
    const ak_launch_kernel *planned = &runnable->plan.kernels[k];
    size_t global[3], local[3];
    for (size_t d = 0; d < 3; d++) {
        local[d] = planned->block[d];
        global[d] = (size_t)planned->grid[d] * planned->block[d];
    }
    return device->cl->launch(device->queue, runnable->kernels[s * runnable->plan.count + k], 3,
                              NULL, global, local, 0, NULL, event);
}

/* Puts one run on a set into the queue. events[0] and events[1] get the events of its first and its
   last kernel; events[0] stays NULL if the plan has only one kernel. */
static int32_t enqueue(ak_runnable *runnable, size_t s, void *events[2])
{
    const size_t count = runnable->plan.count;
    int32_t code = 0;
    events[0] = events[1] = NULL;
    for (size_t k = 0; k < count && code == 0; k++) {
        void **event = k + 1 == count ? &events[1] : k == 0 ? &events[0] : NULL;
        code = enqueue_kernel(runnable, s, k, event);
    }
    return code;
}

/* Launches each kernel for the first time and waits for it, so that a kernel which an ICD compiles
   now is not taken for one that hangs. */
static int32_t run_first(ak_runnable *runnable, int64_t timeout_ns)
{
    int32_t code = 0;
    for (size_t k = 0; k < runnable->plan.count && code == 0; k++) {
        void *event = NULL;
        code = enqueue_kernel(runnable, 0, k, &event);
        code = code == 0 ? ak_opencl_wait_first(runnable->device, event, timeout_ns) : code;
    }
    return code;
}

static void release_events(void *events[][2], size_t count, const ak_device *device)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < 2; j++) {
            if (events[i][j] != NULL && !device->lost) {
                (void)device->cl->event_release(events[i][j]);
            }
        }
    }
}

/* Adds up how long the runs took by the device's own times, and lowers *fastest (0: no run yet) to
   the shortest of these times. Returns false if the device reports no times; *ns then has no
   meaning. */
static bool device_time(int64_t *ns, int64_t *fastest, void *events[][2], size_t count,
                        const ak_device *device)
{
    *ns = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = 0, end = 0;
        void *first = events[i][0] != NULL ? events[i][0] : events[i][1];
        if (device->cl->event_times(first, AK_CL_EVENT_START, sizeof start, &start, NULL) != 0 ||
            device->cl->event_times(events[i][1], AK_CL_EVENT_END, sizeof end, &end, NULL) != 0 ||
            start == 0 || end <= start) {
            return false;
        }
        const int64_t one = (int64_t)(end - start);
        *ns += one;
        *fastest = *fastest == 0 || one < *fastest ? one : *fastest;
    }
    return true;
}

/* Runs up to PART_RUNS_MAX runs on rotating sets and adds their time to *ns. */
static int32_t run_part(int64_t *ns, ak_runnable *runnable, uint32_t first, uint32_t runs,
                        int64_t timeout_ns)
{
    ak_device *device = runnable->device;
    void *events[PART_RUNS_MAX][2], *last = NULL;
    uint32_t done = 0;
    int64_t begin = ak_clock_ns(), own = 0;
    int32_t code = 0;
    for (; done < runs && code == 0; done++) {
        code = enqueue(runnable, (first + done) % device->set_count, events[done]);
    }
    int32_t marked = device->cl->marker(device->queue, 0, NULL, &last);
    marked = marked == 0 ? ak_opencl_wait(device, last, timeout_ns) : marked;
    code = code == 0 ? marked : code;
    int64_t waited = ak_clock_ns() - begin;
    if (code == 0) {
        *ns += device_time(&own, &runnable->fastest_ns, events, done, device) ? own : waited;
    }
    release_events(events, done, device);
    return code;
}

static bool prepared_for(const ak_runnable *runnable, const ak_launch *launch)
{
    ak_opencl_layout wanted;
    plan_layout(&wanted, launch);
    return runnable->prepared && runnable->generation == runnable->device->generation &&
           ak_shape_is_same(&runnable->shape, launch->shape) &&
           same_layout(&wanted, &runnable->device->layout);
}

/* Prepares a candidate for a shape, and makes the launches at which an ICD may still compile. */
static int32_t prepare(ak_runnable *runnable, const ak_launch *launch, ak_outcome *out)
{
    ak_device *device = runnable->device;
    ak_error err = AK_ERROR_INIT;
    if (prepared_for(runnable, launch)) {
        return 0;
    }
    forget_kernels(runnable);
    runnable->shape = *launch->shape;
    ak_status status = ak_launch_evaluate(&runnable->plan, launch->task, launch->shape,
                                          launch->config, NULL, &err);
    if (status != AK_OK) {
        ak_outcome_refuse(out, status == AK_NO_MEMORY ? AK_TRIAL_OUT_OF_MEMORY : AK_TRIAL_INVALID,
                          "%.230s", err.text);
        return AK_CL_REFUSED;
    }
    int32_t code = make_sets(device, launch);
    code = code == 0 && device->set_count > 1 ? ak_opencl_contents_open(device) : code;
    code = code == 0 ? make_kernels(runnable, out) : code;
    code = code == 0 ? ak_opencl_from_block(device, 0) : code;
    code = code == 0 ? run_first(runnable, launch->timeout_ns) : code;
    runnable->prepared = code == 0;
    runnable->contents = (ak_contents){.ops = &ak_opencl_contents_ops,
                                       .runnable = runnable,
                                       .rng = &device->rng,
                                       .sets = device->set_count};
    runnable->generation = device->generation;
    return code;
}

/* ---- launching ------------------------------------------------------------------------------- */

int32_t ak_opencl_time_runs(int64_t *ns, ak_runnable *runnable, uint32_t first, uint32_t runs,
                            int64_t timeout_ns)
{
    const int64_t deadline = ak_clock_ns() + timeout_ns;
    int32_t code = ak_opencl_drain(runnable->device);
    *ns = runnable->fastest_ns = 0;
    for (uint32_t done = 0; done < runs && code == 0; done += PART_RUNS_MAX) {
        uint32_t left = runs - done;
        int64_t rest = deadline - ak_clock_ns();
        code = run_part(ns, runnable, first + done, left < PART_RUNS_MAX ? left : PART_RUNS_MAX,
                        rest > 0 ? rest : 0);
    }
    return code;
}

/* Runs a batch. A shape that is only checked has a single set, and its time is not used. */
static int32_t run_batch(int64_t *ns, ak_runnable *runnable, const ak_launch *launch,
                         ak_outcome *out)
{
    ak_device *device = runnable->device;
    int32_t code;
    if (device->set_count > 1) {
        code = ak_contents_batch(ns, &runnable->contents, launch, out);
    } else {
        code = ak_opencl_from_block(device, 0);
        code = code == 0
                   ? ak_opencl_time_runs(ns, runnable, 0, launch->iterations, launch->timeout_ns)
                   : code;
        code = code == 0 ? ak_opencl_to_block(device, 0) : code;
    }
    return code == 0 ? ak_opencl_drain(device) : code;
}

ak_status ak_opencl_launch(ak_outcome *out, ak_runnable *runnable, const ak_launch *what,
                           ak_error *err)
{
    ak_device *device = runnable->device;
    int64_t ns = 0;
    bool whole[2] = {true, true};
    const char *doing = "preparing";
    int32_t code = 0;
    (void)err;
    *out = (ak_outcome){.status = AK_TRIAL_OK};
    if (device->lost) {
        ak_outcome_refuse(out, AK_TRIAL_CRASHED, "the device is lost: %s", device->why);
        return AK_OK;
    }
    if (what->workspace_bytes > 0) {
        code = ak_opencl_clear_workspace(device, what->workspace_bytes);
    }
    if (code == 0 && !prepared_for(runnable, what)) {
        code = prepare(runnable, what, out);
        if (code == 0 && what->workspace_bytes > 0) { /* prepare has launched the kernel once */
            code = ak_opencl_clear_workspace(device, what->workspace_bytes);
        }
    }
    if (code == 0) {
        doing = "running";
        code = run_batch(&ns, runnable, what, out);
    }
    if (code == 0 && what->workspace_bytes > 0) {
        code = ak_opencl_check_workspace(whole, device, what->workspace_bytes);
    }
    if (code == AK_CL_HANGS) {
        ak_outcome_endless(out, what->timeout_ns);
    } else if (code == AK_CL_NEVER_RAN) {
        ak_outcome_refuse(out, AK_TRIAL_TIMED_OUT,
                          "the driver, which may compile it at the first launch, did not run it "
                          "within %.3g s",
                          (double)(AK_OPENCL_BEGIN_NS + what->timeout_ns) / 1e9);
    } else if (code != 0 || out->status == AK_TRIAL_OK) {
        ak_opencl_conclude(out, device, code, doing);
    }
    if (code == 0 && out->status == AK_TRIAL_OK) {
        ak_outcome_whole(out, whole[0], whole[1]);
    }
    out->ns = ns > 0 ? ns : 1;
    return AK_OK;
}
