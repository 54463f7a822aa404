/* open.c: implements ak_task_open, which binds a task to its device. problem/ does not know
   backends and backends do not choose devices, so this file brings the two together. */

#include "backend/backend.h"
#include "measure/protocol.h"

/* Where a task will run: a backend and its devices. `why` tells the user if a data sheet stands in
   for a device. */
typedef struct place {
    const ak_backend_ops *backend;
    ak_device_list list;
    ak_error why; /* "" if there is none */
} place;

static ak_status open_problem(ak_problem **out, const ak_task_spec *spec, ak_error *err)
{
    const char *kernel = spec->kernel;
    ak_recording *recording = NULL;
    ak_status status = ak_problem_open_spec(out, spec, err);
    /* A file cannot be both a T1 file and a recording, so opening it as a recording tells which one
       it is. */
    if (status == AK_OK || kernel == NULL || !ak_fs_is_file(kernel) ||
        ak_recording_open(&recording, kernel, NULL) != AK_OK) {
        return status;
    }
    ak_recording_close(recording);
    return ak_fail(err, AK_INVALID,
                   "%.300s: this is a recording, not a kernel; --device sim searches on it",
                   kernel);
}

/* Finds the first device for a named implementation when the device is "auto". If there is none and
   the caller only looks (spec->look), takes a data sheet. */
static ak_status place_of_implementation(place *out, const ak_problem *problem,
                                         const ak_task_spec *spec, ak_error *err)
{
    const ak_implementation_spec *implementation;
    ak_error why = AK_ERROR_INIT;
    AK_DO(ak_problem_find(&implementation, problem, spec->implementation, err));
    ak_status status = ak_backend_devices(&out->backend, &out->list, implementation->backend, &why);
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

/* Finds where a kernel runs when neither device nor implementation is named: on the usual device if
   the kernel has an implementation for it, else on the first device that one of its implementations
   can use. If there is no such device, the error is about the first implementation. */
static ak_status place_of_kernel(place *out, const ak_problem *problem, const ak_task_spec *spec,
                                 ak_error *err)
{
    ak_status first = ak_backend_devices(&out->backend, &out->list, "auto", err);
    if (first != AK_OK || AK_HAS(problem->implementations, problem->implementation_count, backend,
                                 out->backend->name)) {
        return first;
    }
    for (size_t i = 0; i < problem->implementation_count; i++) {
        ak_task_spec named = *spec;
        ak_error why = AK_ERROR_INIT;
        named.implementation = problem->implementations[i].name;
        ak_status status = place_of_implementation(out, problem, &named, &why);
        if (status == AK_OK) {
            return AK_OK;
        }
        first = i == 0 ? ak_fail(err, status, "%s", why.text) : first;
    }
    return first;
}

static ak_status find_place(place *out, ak_problem **problem, const ak_task_spec *spec,
                            ak_error *err)
{
    const char *device = spec->device == NULL ? "auto" : spec->device;
    if (strcmp(device, "auto") == 0) {
        AK_DO(open_problem(problem, spec, err));
        if (ak_problem_runnable(*problem, NULL) == AK_OK) {
            return spec->implementation == NULL ? place_of_kernel(out, *problem, spec, err)
                                                : place_of_implementation(out, *problem, spec, err);
        }
    }
    return ak_backend_devices(&out->backend, &out->list, device, err);
}

/* Binds the task. Takes ownership of the problem. */
static ak_status bind(ak_task **out, const ak_task_spec *spec, const place *at, ak_problem *problem,
                      ak_error *err)
{
    const ak_backend_ops *backend = at->backend;
    const char *device = at->list.first;
    AK_AT_END(ak_problem_close_at) ak_problem *own = problem;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_scope_free_at) ak_scope *facts = ak_scope_new(NULL);
    AK_DO(ak_made(facts, err));
    AK_DO(at->list.sheet ? backend->sheet_facts(facts, device, err)
                         : backend->facts(facts, device, spec->threads, err));
    const ak_device_facts known = {.backend = backend->name,
                                   .device = at->list.first,
                                   .devices = at->list.all,
                                   .facts = facts,
                                   .sheet = at->list.sheet,
                                   .available = backend->available,
                                   .problem = problem};
    own = NULL; /* now owned by ak_task_bind, even if it fails */
    AK_DO(ak_task_bind(&task, spec, &known, err));
    if (at->why.text[0] != 0) {
        AK_DO(ak_copy_text(&task->reason, at->why.text, err));
    }
    *out = task;
    task = NULL;
    return AK_OK;
}

ak_status ak_task_open(ak_task **out, const ak_task_spec *spec, ak_error *err)
{
    const ak_protocol *protocol;
    place at = {.why = AK_ERROR_INIT};
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    AK_DO(spec == NULL ? ak_fail(err, AK_INVALID, "ak_task_open: spec is NULL") : AK_OK);
    AK_DO(ak_protocol_find(&protocol, spec->protocol, err));
    AK_DO(find_place(&at, &problem, spec, err));
    if (at.backend->bind != NULL) { /* a recording brings its own problem */
        AK_DO(at.backend->bind(out, spec, at.list.first, err));
    } else {
        AK_DO(problem == NULL ? open_problem(&problem, spec, err) : AK_OK);
        ak_problem *taken = problem;
        problem = NULL;
        AK_DO(bind(out, spec, &at, taken, err));
    }
    return AK_OK;
}
