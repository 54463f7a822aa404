/* pool_open.c: opens and closes a pool, see pool.h. */
#include "worker/pool_state.h"

#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/program.h"

#define COMPILE_TIMEOUT_NS (60 * AK_SECOND_NS)
#define LAUNCH_TIMEOUT_NS  (30 * AK_SECOND_NS)
#define MEMORY_MAX         ((size_t)4 << 30)

ak_status ak_pool_source_path(char out[AK_PATH_MAX], const ak_pool *pool, const ak_task *task,
                              ak_error *err)
{
    char name[128] = "source.c";
    if (task != pool->task) {
        (void)snprintf(name, sizeof name, "source-%.100s.c", task->implementation->name);
    }
    return ak_fs_join(out, pool->folder.path, name, err);
}

static ak_status write_source(const ak_pool *pool, const ak_task *task, ak_error *err)
{
    char path[AK_PATH_MAX];
    AK_DO(ak_pool_source_path(path, pool, task, err));
    return ak_backend_write_source(path, pool->backend, task->implementation, err);
}

static ak_status write_sources(ak_pool *pool, ak_error *err)
{
    AK_DO(ak_pool_source_path(pool->source, pool, pool->task, err));
    AK_DO(write_source(pool, pool->task, err));
    for (size_t i = 0; i < pool->options.other_count; i++) {
        AK_DO(write_source(pool, pool->options.others[i], err));
    }
    return AK_OK;
}

static ak_status start_workers(ak_pool *pool, ak_error *err)
{
    /* With a launcher the machines of the fleet compile; compile workers of this machine are
       started when there is work and no other machine is ready. */
    for (size_t i = 0; pool->launcher.ops == NULL && i < pool->compiler_count; i++) {
        AK_DO(ak_pool_compiler_start(pool, &pool->compilers[i], err));
    }
    for (size_t i = 0; pool->launcher.ops == NULL && i < pool->device_count; i++) {
        AK_DO(ak_pool_device_start(pool, &pool->devices[i], err));
    }
    ak_pool_seats_again(pool);
    return AK_OK;
}

/* Names the devices of the pool: those of the launcher's seats or, without a launcher, the first of
   the task's devices, all with `every_device`, none with `no_device`. */
static ak_status name_devices(ak_pool *pool, ak_error *err)
{
    const char *first = pool->task->device, *all = pool->task->devices;
    AK_DO(AK_NEW(pool->devices, AK_POOL_DEVICES_MAX, err));
    if (pool->options.launcher != NULL) {
        return ak_pool_seats(pool, err);
    }
    const char *at = pool->options.no_device ? "" : pool->options.every_device ? all : first;
    while (*at != 0 && pool->device_count < AK_DEVICES_MAX) {
        size_t length = strcspn(at, ",");
        ak_pool_device *d = &pool->devices[pool->device_count++];
        (void)snprintf(d->name, sizeof d->name, "%.*s", (int)length, at);
        at += length + (at[length] == ',' ? 1 : 0);
    }
    pool->least = pool->device_count;
    return AK_OK;
}

static void set_options(ak_pool *pool, const ak_pool_options *options)
{
    pool->options = options == NULL ? (ak_pool_options){0} : *options;
    ak_pool_options *o = &pool->options;
    if (o->compile_workers <= 0) {
        o->compile_workers = ak_cores();
    }
    o->compile_workers =
        o->compile_workers > AK_POOL_WORKERS_MAX ? AK_POOL_WORKERS_MAX : o->compile_workers;
    o->compile_timeout_ns = o->compile_timeout_ns > 0 ? o->compile_timeout_ns : COMPILE_TIMEOUT_NS;
    o->launch_timeout_ns = o->launch_timeout_ns > 0 ? o->launch_timeout_ns : LAUNCH_TIMEOUT_NS;
    o->memory_max = o->memory_max > 0 ? o->memory_max : MEMORY_MAX;
}

ak_status ak_pool_open(ak_pool **out, const ak_task *task, const ak_pool_options *options,
                       ak_error *err)
{
    AK_AT_END(ak_pool_close_at) ak_pool *pool = NULL;
    AK_DO(AK_NEW(pool, 1, err));
    pool->task = task;
    set_options(pool, options);
    pool->compilers = ak_alloc((size_t)pool->options.compile_workers, sizeof *pool->compilers);
    pool->unit_of = ak_map_new();
    pool->outcome_of = ak_map_new();
    AK_DO(ak_stored(pool->compilers != NULL && pool->unit_of != NULL && pool->outcome_of != NULL,
                    err));
    AK_DO(ak_backend_find(&pool->backend, task->backend, err));
    if (pool->backend->recall != NULL) {
        AK_DO(pool->backend->open(&pool->recorded, task, err));
    } else {
        pool->compiler_count = (size_t)pool->options.compile_workers;
        AK_DO(name_devices(pool, err));
        AK_DO(ak_program_find(pool->program, err));
        AK_DO(ak_fs_owned_open(&pool->folder, err));
        AK_DO(write_sources(pool, err));
        AK_DO(ak_pool_travel_open(pool, err));
        AK_DO(start_workers(pool, err));
    }
    AK_GIVE(out, pool);
    return AK_OK;
}

void ak_pool_close(ak_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    AK_CLEAR_EACH(ak_pool_worker_stop, pool->compilers, pool->compiler_count);
    for (size_t i = 0; i < pool->device_count; i++) {
        if (pool->devices[i].worker.linked) { /* does not wait, so that all end in parallel */
            ak_proc_hang_up(&pool->devices[i].worker.proc);
        }
    }
    for (size_t i = 0; i < pool->device_count; i++) {
        ak_pool_worker_stop(&pool->devices[i].worker);
        json_decref(pool->devices[i].prepared);
        AK_FREE_ALL(pool->devices[i].has, pool->devices[i].cores);
    }
    while (pool->job_count > 0) {
        ak_pool_job_free(pool->jobs[--pool->job_count]);
    }
    for (size_t i = pool->result_first; i < pool->result_count; i++) {
        ak_result_clear(&pool->results[i]);
    }
    for (size_t i = 0; i < pool->unit_count; i++) {
        AK_FREE_ALL(pool->units[i].text, pool->units[i].artifact);
        ak_compile_result_clear(&pool->units[i].compiled);
    }
    for (size_t i = 0; i < pool->outcome_count; i++) {
        ak_trial_clear(&pool->outcomes[i].trial);
    }
    if (pool->folder.path[0] != 0) {
        (void)unlink(pool->source); /* without memory, only an empty folder can be removed */
        ak_fs_owned_close(&pool->folder);
    }
    if (pool->recorded != NULL) {
        pool->backend->close(pool->recorded);
    }
    json_decref(pool->answer);
    ak_pack_clear(&pool->kernel);
    ak_launcher_close(&pool->launcher);
    ak_map_free(pool->unit_of);
    ak_map_free(pool->outcome_of);
    AK_FREE_ALL(pool->jobs, pool->results, pool->units, pool->outcomes, pool->compilers,
                pool->devices, pool);
}
