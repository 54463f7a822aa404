/* open.c: ak_task_open: where a task meets its device. problem/ does not know backends and backends
   do not choose devices; here the two are put together. */
#include <string.h>

#include "backend/backend.h"
#include "base/alloc.h"
#include "measure/pace.h"
#include "problem/task.h"
#include "recording/recording.h"

/* Where the task is to be: a backend, its devices, and why, where that needs saying. */
typedef struct place {
    const ak_backend_ops *backend;
    ak_device_list list;
    ak_error why; /* "" if there is nothing to say */
} place;

static ak_status open_problem(ak_problem **out, const char *kernel, ak_error *err)
{
    ak_recording *recording = NULL;
    ak_status status = ak_problem_open(out, kernel, err);
    /* Neither is a T1 file a recording nor a recording a T1 file. */
    if (status == AK_OK || kernel == NULL || !ak_fs_is_file(kernel) ||
        ak_recording_open(&recording, kernel, NULL) != AK_OK) {
        return status;
    }
    ak_recording_close(recording);
    return ak_fail(err, AK_INVALID,
                   "%.300s: is a recording, not a kernel; --device sim searches on it", kernel);
}

/* "auto", with an implementation that is named: the first device that it is for. */
static ak_status place_of_implementation(place *out, const ak_problem *problem,
                                         const ak_task_spec *spec, ak_error *err)
{
    const ak_implementation_spec *implementation;
    ak_error why = AK_ERROR_INIT;
    ak_status status = ak_problem_find(&implementation, problem, spec->implementation, err);
    if (status != AK_OK) {
        return status;
    }
    status = ak_backend_devices(&out->backend, &out->list, implementation->backend, &why);
    if (status == AK_OK) {
        return AK_OK;
    }
    const ak_backend_ops *backend = NULL;
    (void)ak_backend_find(&backend, implementation->backend, NULL);
    const char *sheet = backend == NULL || backend->sheets == NULL ? NULL : backend->sheets[0];
    if (spec->look && sheet != NULL) {
        (void)ak_fail(&out->why, status, "shown by the data sheet of %s: %.300s", sheet, why.text);
        return ak_backend_devices(&out->backend, &out->list, sheet, err);
    }
    return ak_fail(err, status, "%s: implementation \"%s\" is for %s devices: %.300s",
                   problem->name, implementation->name, implementation->backend, why.text);
}

static ak_status find_place(place *out, ak_problem **problem, const ak_task_spec *spec,
                            ak_error *err)
{
    const char *device = spec->device == NULL ? "auto" : spec->device;
    if (strcmp(device, "auto") == 0 && spec->implementation != NULL) {
        ak_status status = open_problem(problem, spec->kernel, err);
        if (status != AK_OK) {
            return status;
        }
        if (ak_problem_runnable(*problem, NULL) == AK_OK) {
            return place_of_implementation(out, *problem, spec, err);
        }
    }
    return ak_backend_devices(&out->backend, &out->list, device, err);
}

/* Takes the problem. */
static ak_status bind(ak_task **out, const ak_task_spec *spec, const place *at, ak_problem *problem,
                      ak_error *err)
{
    const ak_backend_ops *backend = at->backend;
    ak_task *task = NULL;
    ak_scope *facts = ak_scope_new(NULL);
    ak_status status = facts == NULL    ? ak_fail_memory(err)
                       : at->list.sheet ? backend->sheet_facts(facts, at->list.first, err)
                                        : backend->facts(facts, at->list.first, spec->threads, err);
    if (status != AK_OK) {
        ak_problem_close(problem);
    } else {
        ak_device_facts known = {.backend = backend->name,
                                 .device = at->list.first,
                                 .devices = at->list.all,
                                 .facts = facts,
                                 .sheet = at->list.sheet,
                                 .available = backend->available,
                                 .problem = problem};
        status = ak_task_bind(&task, spec, &known, err);
    }
    if (status == AK_OK && at->why.text[0] != 0) {
        task->reason = ak_strdup(at->why.text);
        status = task->reason == NULL ? ak_fail_memory(err) : AK_OK;
    }
    ak_scope_free(facts);
    if (status != AK_OK) {
        ak_task_close(task);
        return status;
    }
    *out = task;
    return AK_OK;
}

ak_status ak_task_open(ak_task **out, const ak_task_spec *spec, ak_error *err)
{
    const ak_pace *pace;
    place at = {.why = AK_ERROR_INIT};
    ak_problem *problem = NULL;
    ak_status status = ak_pace_find(&pace, spec->protocol, err);
    if (status == AK_OK) {
        status = find_place(&at, &problem, spec, err);
    }
    bool recalls = status == AK_OK && at.backend->bind != NULL;
    if (status == AK_OK && !recalls && problem == NULL) {
        status = open_problem(&problem, spec->kernel, err);
    }
    if (status != AK_OK || recalls) {
        ak_problem_close(problem);
        return status == AK_OK ? at.backend->bind(out, spec, at.list.first, err) : status;
    }
    return bind(out, spec, &at, problem, err);
}
