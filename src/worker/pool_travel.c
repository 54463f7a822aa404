/* pool_travel.c: sends files to workers that share no folder with the tuner; see pool_state.h and
   travel.h. A file is sent when it is first needed, and removed when it is removed here. */
#include "worker/pool_state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "problem/sources.h"
#include "worker/travel.h"

/* Folder of the kernel's files, below the folder of the run. */
#define KERNEL_FOLDER "kernel"

ak_status ak_pool_travel_open(ak_pool *pool, ak_error *err)
{
    char folder[AK_PATH_MAX];
    const ak_problem *problem = pool->task->problem;
    if (pool->launcher.ops == NULL || problem->builtin || problem->file_count == 0) {
        return AK_OK;
    }
    AK_DO(ak_sources_all(&pool->kernel, problem, err));
    AK_DO(ak_fs_join(folder, pool->folder.path, KERNEL_FOLDER, err));
    return ak_pack_write(&pool->kernel, folder, err);
}

ak_status ak_pool_travel_begin(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    ak_free(d->has);
    d->has = NULL;
    d->has_capacity = 0;
    for (size_t i = 0; d->away && i < pool->kernel.count; i++) {
        char name[sizeof KERNEL_FOLDER + AK_PACK_NAME_MAX + 1];
        const ak_pack_file *file = &pool->kernel.files[i];
        (void)snprintf(name, sizeof name, KERNEL_FOLDER "/%.99s", file->name);
        ak_status status = ak_travel_send(d->worker.proc.to, name, file->data, file->length, err);
        if (status != AK_OK && status != AK_CRASHED) { /* the end of a worker will be noticed */
            return status;
        }
    }
    return AK_OK;
}

bool ak_pool_travel_kernel(char out[AK_PATH_MAX], const ak_pool *pool, const ak_pool_device *d)
{
    out[0] = 0;
    if (pool->kernel.count > 0) {
        int length = snprintf(out, AK_PATH_MAX, "%s/" KERNEL_FOLDER "/%s", d->folder,
                              pool->task->problem->name);
        return length < AK_PATH_MAX;
    }
    if (!pool->task->problem->builtin && realpath(pool->task->kernel, out) == NULL) {
        out[0] = 0;
    }
    return true;
}

void ak_pool_travel_path(char out[AK_PATH_MAX], const ak_pool *pool, const ak_pool_device *d,
                         const ak_pool_unit *u)
{
    (void)pool;
    if (d->away) {
        (void)snprintf(out, AK_PATH_MAX, "%.3800s/%.200s", d->folder, ak_fs_base(u->artifact));
    } else {
        (void)snprintf(out, AK_PATH_MAX, "%s", u->artifact);
    }
}

/* Makes room to note which artifacts the worker has. */
static ak_status grow(ak_pool_device *d, size_t count, ak_error *err)
{
    void *has = d->has;
    size_t before = d->has_capacity;
    AK_DO(ak_grow(&has, &d->has_capacity, count, sizeof *d->has, err));
    d->has = has;
    memset(d->has + before, 0, (d->has_capacity - before) * sizeof *d->has);
    return AK_OK;
}

static ak_status send_artifact(ak_pool_device *d, const ak_pool_unit *u, ak_error *err)
{
    char *code = NULL;
    size_t length = 0;
    AK_DO(ak_fs_read(&code, &length, u->artifact, AK_TRAVEL_FILE_MAX, err));
    ak_status status =
        ak_travel_send(d->worker.proc.to, ak_fs_base(u->artifact), code, length, err);
    ak_free(code);
    return status == AK_CRASHED ? AK_OK : status; /* the end of a worker will be noticed */
}

ak_status ak_pool_travel_job(ak_pool *pool, ak_pool_device *d, const ak_pool_job *j, ak_error *err)
{
    if (!d->away) {
        return AK_OK;
    }
    AK_DO(grow(d, pool->unit_count, err));
    for (size_t i = 0; i < j->count; i++) {
        size_t at = j->units[i];
        if (at != AK_POOL_NONE && !d->has[at] && pool->units[at].compiled.status == AK_TRIAL_OK) {
            AK_DO(send_artifact(d, &pool->units[at], err));
            d->has[at] = true;
        }
    }
    return AK_OK;
}

void ak_pool_travel_remove(ak_pool *pool, const ak_pool_unit *u)
{
    size_t at = (size_t)(u - pool->units);
    ak_fs_remove(u->artifact);
    for (size_t i = 0; i < pool->device_count; i++) {
        ak_pool_device *d = &pool->devices[i];
        if (at < d->has_capacity && d->has[at] && d->worker.greeted) {
            json_t *line = ak_travel_removal(ak_fs_base(u->artifact));
            d->has[at] = false;
            if (line != NULL) {
                (void)ak_wire_send(d->worker.proc.to, line, NULL);
            }
            json_decref(line);
        }
    }
}
