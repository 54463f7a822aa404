/* pool_travel.c: sends files to workers that share no folder with the tuner, and fetches artifacts
   from them; see pool_state.h and travel.h. The kernel's files are sent when the worker says hello,
   artifacts when they are first needed; an artifact is removed there when it is removed here. */
#include "worker/pool_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "problem/sources.h"
#include "worker/travel.h"

/* Folder of the kernel's files, below the folder of the run. */
#define KERNEL_FOLDER "kernel"
/* A file that was asked for must arrive within this time. */
#define FETCH_NS (60 * AK_SECOND_NS)

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

static ak_status send_bytes(const ak_pool_device *d, const char *name, const void *bytes,
                            size_t length, ak_error *err)
{
    ak_status status = ak_travel_send(d->worker.proc.to, name, bytes, length, err);
    return status == AK_CRASHED ? AK_OK : status; /* reading notices the end of a worker */
}

static ak_status send_file(const ak_pool_device *d, const char *path, ak_error *err)
{
    AK_FREED char *bytes = NULL;
    size_t length = 0;
    AK_DO(ak_fs_read(&bytes, &length, path, AK_TRAVEL_FILE_MAX, err));
    return send_bytes(d, ak_fs_base(path), bytes, length, err);
}

ak_status ak_pool_travel_begin(ak_pool *pool, ak_pool_device *d, ak_error *err)
{
    ak_free(d->has);
    d->has = NULL;
    d->has_capacity = 0;
    d->fetching = AK_POOL_NONE;
    for (size_t i = 0; d->away && i < pool->kernel.count; i++) {
        char name[sizeof KERNEL_FOLDER + AK_PACK_NAME_MAX + 1];
        const ak_pack_file *file = &pool->kernel.files[i];
        (void)snprintf(name, sizeof name, KERNEL_FOLDER "/%.99s", file->name);
        AK_FAIL_IF(file->length > AK_TRAVEL_FILE_MAX, err, AK_LIMIT,
                   "%s is larger than %u bytes, so it is not sent to %s: let TMPDIR name a folder "
                   "that the tuner and its workers share",
                   file->name, AK_TRAVEL_FILE_MAX, d->name);
        AK_DO(send_bytes(d, name, file->data, file->length, err));
    }
    return d->away ? send_file(d, pool->source, err) : AK_OK;
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

void ak_pool_travel_path(char out[AK_PATH_MAX], const ak_pool_device *d, const char *here)
{
    if (d != NULL && d->away) {
        (void)snprintf(out, AK_PATH_MAX, "%.3800s/%.200s", d->folder, ak_fs_base(here));
    } else {
        (void)snprintf(out, AK_PATH_MAX, "%s", here);
    }
}

/* Makes room to note for `count` units whether the worker has their artifacts. */
static ak_status grow(ak_pool_device *d, size_t count, ak_error *err)
{
    const size_t before = d->has_capacity;
    AK_DO(AK_GROW(d->has, &d->has_capacity, count, err));
    memset(d->has + before, 0, (d->has_capacity - before) * sizeof *d->has);
    return AK_OK;
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
            AK_DO(send_file(d, pool->units[at].artifact, err));
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
            (void)ak_message_send(d->worker.proc.to, line, NULL);
        }
    }
}

/* ---- from there to here ---------------------------------------------------------------------- */

ak_status ak_pool_travel_has(ak_pool *pool, ak_pool_device *d, size_t at, ak_error *err)
{
    AK_DO(grow(d, pool->unit_count, err));
    d->has[at] = true;
    return AK_OK;
}

void ak_pool_travel_fetch(ak_pool *pool, size_t at)
{
    ak_pool_device *d = &pool->devices[pool->units[at].place];
    if (d->fetching != AK_POOL_NONE) {
        return; /* another file is on its way */
    }
    json_t *line = json_pack("{s:s}", "fetch", ak_fs_base(pool->units[at].artifact));
    if (ak_message_send(d->worker.proc.to, line, NULL) != AK_NO_MEMORY) {
        d->fetching = at;
        d->fetched = 0;
        d->fetch_deadline = ak_clock_ns() + FETCH_NS;
    }
}

bool ak_pool_travel_ready(ak_pool *pool, const ak_pool_device *d, const ak_pool_job *j)
{
    const size_t seat = (size_t)(d - pool->devices);
    bool ready = true;
    for (size_t i = 0; i < j->count; i++) {
        size_t at = j->units[i];
        if (at == AK_POOL_NONE || pool->units[at].place == AK_POOL_NONE ||
            pool->units[at].place == seat || (at < d->has_capacity && d->has[at])) {
            continue;
        }
        ready = false;
        ak_pool_travel_fetch(pool, at);
    }
    return ready;
}

/* Handles {"fetched": NAME, "why": ...}: the artifact has arrived, or the machine's compile workers
   and artifacts are given up. */
static void fetched(ak_pool *pool, ak_pool_device *d, const json_t *message)
{
    size_t at = d->fetching;
    d->fetching = AK_POOL_NONE;
    if (d->fetched > 0 && !json_is_string(json_object_get(message, "why"))) {
        pool->units[at].place = AK_POOL_NONE;
    } else {
        ak_pool_cores_end(pool, d);
    }
}

ak_status ak_pool_travel_said(ak_pool *pool, ak_pool_device *d, const json_t *message,
                              ak_error *err)
{
    const char *piece = ak_json_text_at(message, "file");
    const char *name = *piece == 0 ? ak_json_text_at(message, "fetched") : piece;
    if (d->fetching == AK_POOL_NONE ||
        strcmp(name, ak_fs_base(pool->units[d->fetching].artifact)) != 0) {
        return AK_OK; /* the file was given up, because it did not come in time */
    }
    if (*piece == 0) {
        fetched(pool, d, message);
        return AK_OK;
    }
    AK_FAIL_IF(json_object_get(message, "data") == NULL ||
                   json_integer_value(json_object_get(message, "at")) != d->fetched,
               err, AK_CORRUPT, "it sent a piece of a file that nobody had asked for");
    d->fetched += AK_TRAVEL_PIECE_MAX;
    return ak_travel_take_object(message, pool->folder.path, err);
}
