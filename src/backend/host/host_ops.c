/*
 * host_ops.c: the CPU as a device, seen from its worker process. Arguments live in one block of
 * shared memory; each candidate or library lives in a confined child of its own (host_child.h),
 * which maps the block; host_batch.c runs and times it.
 */
#include "backend/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/host/host_child.h"
#include "backend/host/host_pool.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/number.h"
#include "check/guard.h"
#include "measure/ceilings.h"

/* A workspace up to this size is overwritten before every batch; a larger one before a single call,
   and otherwise before about one batch in REFILL_EVERY. */
#define REFILL_BYTES (UINT64_C(1) << 20)
#define REFILL_EVERY 4

static void host_close(ak_device *device)
{
    if (device != NULL) {
        ak_host_child_free(device->spare);
        ak_host_child_reap(device, true);
        if (device->block != NULL) {
            (void)munmap(device->block, device->block_bytes);
        }
        if (device->block_fd >= 0) {
            (void)close(device->block_fd);
        }
        if (device->own.path[0] != 0) {
            ak_fs_owned_close(&device->own);
        }
        AK_FREE_ALL(device->held, device);
    }
}

AK_END_AT(host_close, ak_device)

static ak_status host_open(ak_device **out, const ak_task *task, ak_error *err)
{
    AK_AT_END(host_close_at) ak_device *device = NULL;
    AK_DO(AK_NEW(device, 1, err));
    device->task = task;
    device->threads = task->threads > 0 ? task->threads : ak_host_cpus();
    device->salt = task->seed;
    device->block_fd = ak_host_child_memory("autokernel-arguments");
    /* The seal keeps a candidate from shortening the block, which would crash this process. */
    AK_FAIL_IF(device->block_fd < 0 || fcntl(device->block_fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0,
               err, AK_IO, "no shared memory: %s%s", strerror(errno), ak_fs_advice(errno));
    AK_DO(ak_host_batch_calibrate(device, err));
    AK_DO(ak_host_child_start(&device->spare, device, err));
    device->watch = true;
    AK_GIVE(out, device);
    return AK_OK;
}

static ak_status host_reserve(ak_device *device, size_t bytes, ak_error *err)
{
    if (bytes <= device->block_bytes) {
        return AK_OK; /* the block is large enough */
    }
    if (device->block != NULL) {
        (void)munmap(device->block, device->block_bytes);
        device->block = NULL;
        device->block_bytes = 0;
    }
    /* posix_fallocate reports at once that memory is short; otherwise a SIGBUS would, later. */
    int why = posix_fallocate(device->block_fd, 0, (off_t)bytes);
    void *memory = MAP_FAILED;
    if (why == 0) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      device->block_fd, 0);
        why = memory == MAP_FAILED ? errno : 0;
    }
    if (why != 0) {
        char size[AK_REAL_BYTES];
        return ak_fail(err, AK_NO_MEMORY, "cannot reserve %s for the arguments: %s%s",
                       ak_number_size(size, bytes), strerror(why), ak_fs_advice(why));
    }
    device->block = memory;
    device->block_bytes = bytes;
    return AK_OK;
}

static void *host_map(ak_device *device)
{
    return device->block;
}

static ak_status host_upload(ak_device *device, size_t offset, const void *data, size_t bytes,
                             ak_error *err)
{
    AK_DO(ak_backend_in_block(device->block_bytes, offset, bytes, err));
    memcpy(device->block + offset, data, bytes);
    return AK_OK;
}

static ak_status host_download(void *data, ak_device *device, size_t offset, size_t bytes,
                               ak_error *err)
{
    AK_DO(ak_backend_in_block(device->block_bytes, offset, bytes, err));
    memcpy(data, device->block + offset, bytes);
    return AK_OK;
}

static void set_text(char *out, size_t bytes, const char *text)
{
    (void)snprintf(out, bytes, "%s", ak_or_empty(text));
}

/* Prepares a baseline that the problem brings, and writes into the page what the runner loads. */
static ak_status point_at_own(ak_runner_page *page, ak_device *device, const ak_own_baseline *own,
                              ak_error *err)
{
    char artifact[AK_PATH_MAX], library[AK_PATH_MAX];
    AK_DO(ak_host_own_library(library, device->task->problem, own, err));
    AK_DO(device->own.path[0] == 0 ? ak_fs_owned_open(&device->own, err) : AK_OK);
    AK_DO(ak_host_own_prepare(artifact, device->task, own, device->own.path, err));
    set_text(page->artifact, sizeof page->artifact, artifact);
    set_text(page->library, sizeof page->library, library);
    ak_host_own_folder(page->folder, device->task->problem);
    set_text(page->symbol, sizeof page->symbol, own->function);
    page->own = own->python != NULL ? AK_OWN_PYTHON : AK_OWN_CODE;
    return AK_OK;
}

static ak_status host_load(ak_runnable **out, ak_device *device, const ak_load *load,
                           ak_outcome *outcome, ak_error *err)
{
    const ak_own_baseline *own = ak_host_own_find(device->task->problem, load->baseline);
    ak_runnable *runner = NULL;
    AK_DO(ak_host_child_take(&runner, device, err));
    ak_runner_page *page = runner->page;
    memset(page, 0, sizeof *page);
    set_text(page->artifact, sizeof page->artifact, load->artifact);
    set_text(page->symbol, sizeof page->symbol, load->symbol == NULL ? "ak_kernel" : load->symbol);
    set_text(page->baseline, sizeof page->baseline, load->baseline);
    set_text(page->problem, sizeof page->problem, device->task->problem->name);
    set_text(page->choices, sizeof page->choices, device->task->choices_text);
    page->dtype = (int32_t)device->task->dtype;
    page->threads_max = device->threads;
    page->library_threads = device->task->threads;
    ak_status status = own == NULL ? AK_OK : point_at_own(page, device, own, err);
    if (status != AK_OK) {
        ak_host_child_free(runner);
        return status;
    }
    runner->is_candidate = load->baseline == NULL;
    *outcome = (ak_outcome){.status = AK_TRIAL_OK};
    if (load->artifact == NULL && load->baseline == NULL) { /* such a child only reads */
        *out = runner;
        return AK_OK;
    }
    const bool python = own != NULL && own->python != NULL;
    bool sent = ak_host_child_command(outcome, runner, AK_RUNNER_LOAD);
    /* The next child is started meanwhile; if that fails, it is tried again when it is needed. */
    (void)ak_host_child_start(&device->spare, device, NULL);
    if (sent && ak_host_child_await_byte(
                    outcome, AK_RUNNER_END, runner,
                    ak_host_limit_of(python ? AK_HOST_LOAD_PYTHON_NS : AK_HOST_LOAD_NS))) {
        ak_host_child_reply(outcome, page);
        (void)kill(runner->proc.pid, SIGSTOP);
        memcpy(runner->title, page->title, sizeof runner->title);
        runner->title[sizeof runner->title - 1] = 0;
        memcpy(runner->version, page->version, sizeof runner->version);
        runner->version[sizeof runner->version - 1] = 0;
    }
    *out = runner;
    return AK_OK;
}

/* Chooses the part of the block that the child maps, in whole pages: the arguments from `first` to
   `end` with their red zones (guard.h). */
static void place_arguments(ak_runner_page *page, const ak_launch *launch, size_t block_bytes,
                            size_t first, size_t end)
{
    const size_t system_page = ak_page_bytes();
    size_t before = first < AK_GUARD_BYTES ? first : AK_GUARD_BYTES;
    size_t after = block_bytes - end < AK_GUARD_BYTES ? block_bytes - end : AK_GUARD_BYTES;
    page->first = (first - before) / system_page * system_page;
    page->stride = launch->stride;
    /* The workspace gets the alignment of the arrays (AK_GUARD_SHIFT). */
    page->workspace_shift = launch->offset[0] & AK_GUARD_SHIFT;
    end = (end + after + system_page - 1) / system_page * system_page;
    page->span = (end < block_bytes ? end : block_bytes) - page->first;
    for (size_t i = 0; i < launch->task->problem->argument_count; i++) {
        page->offset[i] = launch->offset[i] - page->first;
        page->bytes[i] = launch->shape->bytes[i];
        for (size_t d = 0; d < AK_RANK_MAX; d++) {
            page->extent[i][d] = launch->shape->extent[i][d];
        }
    }
}

static void set_sizes(ak_runner_page *page, const ak_launch *launch)
{
    const ak_task *task = launch->task;
    page->reads = launch->reads;
    for (size_t i = 0; i < task->problem->size_count; i++) {
        page->size[i] = launch->shape->size[i];
    }
    for (size_t i = 0; i < task->problem->choice_count; i++) {
        page->choice[i] = task->choice[i];
        page->number[i] = task->number[i];
    }
}

/* Says which elements of an argument are changed before a call: those of an output, unless the
   launch is plain. */
static void set_stain(ak_runner_page *page, const ak_launch *launch, size_t i)
{
    const ak_shape *shape = launch->shape;
    const ak_dtype dtype = ak_task_argument_dtype(launch->task, i);
    const bool adjoin = shape->pitch[i] == shape->row[i];
    const bool kept = launch->task->problem->arguments[i].access != AK_ACCESS_OUT || launch->plain;
    page->stain.bytes[i] = (uint32_t)ak_dtype_bytes(dtype);
    page->stain.fraction[i] = ak_guard_fraction(dtype);
    page->stain.count[i] = kept ? 0 : adjoin ? shape->elements[i] : shape->row[i];
    page->stain.more_rows[i] = adjoin ? 0 : shape->elements[i] / shape->row[i] - 1;
    page->stain.pitch[i] = shape->pitch[i];
    page->pitch[i] = (int64_t)shape->pitch[i];
}

static ak_status host_launch(ak_outcome *out, ak_runnable *runner, const ak_launch *launch,
                             ak_error *err)
{
    const ak_problem *problem = launch->task->problem;
    ak_runner_page *page = runner->page;
    ak_device *device = runner->device;
    if (launch->workspace_bytes > AK_RUNNER_WORKSPACE_MAX) {
        char size[AK_REAL_BYTES], most[AK_REAL_BYTES];
        ak_outcome_refuse(out, AK_TRIAL_OUT_OF_MEMORY,
                          "its workspace of %s exceeds the limit of %s",
                          ak_number_size(size, launch->workspace_bytes),
                          ak_number_size(most, AK_RUNNER_WORKSPACE_MAX));
        return AK_OK;
    }
    bool in_place = false;
    size_t first = SIZE_MAX, end = 0;
    const size_t last = launch->stride * (launch->iterations - 1); /* to the last iteration's */
    page->argument_count = page->stain.arguments = (uint32_t)problem->argument_count;
    for (size_t i = 0; i < problem->argument_count; i++) {
        AK_DO(ak_backend_in_block(device->block_bytes, launch->offset[i] + last,
                                  launch->shape->bytes[i], err));
        first = launch->offset[i] < first ? launch->offset[i] : first;
        size_t past = launch->offset[i] + last + launch->shape->bytes[i];
        end = past > end ? past : end;
        set_stain(page, launch, i);
        in_place = in_place || problem->arguments[i].access == AK_ACCESS_INOUT;
    }
    set_sizes(page, launch);
    place_arguments(page, launch, device->block_bytes, first, end);
    page->workspace_bytes = launch->workspace_bytes;
    page->threads = launch->threads < 1                 ? 1
                    : launch->threads > device->threads ? device->threads
                                                        : launch->threads;
    page->threads_max = device->threads;
    page->iterations = launch->iterations;
    /* A warm-up run brings caches and threads into the state of the middle of a batch. There is
       none if arguments are changed in place, whatever is asked for. A single run, or runs on
       separate arguments, have one only if the launch asks for it, or if a baseline's inputs are
       unseen, because only a run wakes the threads of a library. */
    const bool once = launch->iterations == 1 || launch->stride > 0;
    page->warm =
        !in_place && (!once || launch->warmed || (launch->unseen && !runner->is_candidate));
    page->refill = page->workspace_bytes <= REFILL_BYTES || launch->iterations == 1 ||
                   (uint64_t)ak_clock_ns() / 1000 % REFILL_EVERY == 0;
    page->scatter = launch->unpredicted ? 1 : 0;
    page->unseen = launch->unseen && once ? 1 : 0;
    page->salt = ++device->salt * UINT64_C(0x9e3779b97f4a7c15);
    ak_host_batch(out, runner, launch);
    return AK_OK;
}

static void host_unload(ak_runnable *runner)
{
    if (runner != NULL) {
        ak_host_child_drop(runner);
    }
}

/* Measures the ceilings again on each call and returns the best ever seen, because other load on
   the machine can only make a ceiling look lower than it is. */
static ak_status host_ceilings(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err)
{
    ak_ceilings now;
    AK_DO(ak_host_ceilings(&now, dtype, device->threads, err));
    (void)ak_ceilings_raise(&device->ceilings, &now);
    device->ceilings.measured = true;
    *out = device->ceilings;
    return AK_OK;
}

static ak_status host_joules(double *out, ak_device *device, ak_error *err)
{
    return ak_host_energy_read(out, &device->energy, err);
}

static const ak_backend_role roles[] = {{"--runner", ak_runner_main}, {NULL, NULL}};

const ak_backend_ops ak_host_ops = {
    .name = "host",
    .description = "C kernels on the CPU, compiled with gcc or clang",
    .roles = roles,
    .rules = &ak_host_rules,
    .probe = ak_host_probe,
    .facts = ak_host_facts,
    .environment = ak_host_environment,
    .available = ak_host_available,
    .shown_facts = ak_host_shown_facts,
    .quick_ceilings = ak_host_quick_ceilings,
    .describe = ak_host_describe,
    .source = ak_host_source,
    .compile = ak_host_compile,
    .folders = ak_host_folders,
    .artifact_suffix = ".so",
    .requires = ak_host_requires,
    .sanitize = ak_host_sanitize,
    .is_cpu = true,
    .open = host_open,
    .reserve = host_reserve,
    .map = host_map,
    .upload = host_upload,
    .download = host_download,
    .load = host_load,
    .launch = host_launch,
    .joules = host_joules,
    .unload = host_unload,
    .ceilings = host_ceilings,
    .baselines = ak_host_baselines,
    .close = host_close,
};
