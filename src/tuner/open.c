/* open.c: ak_task_open: where a task meets its device. problem/ does not know backends and backends
   do not choose devices; here the two are put together. */
#include "backend/backend.h"
#include "base/alloc.h"
#include "measure/pace.h"

ak_status ak_task_open(ak_task **out, const ak_task_spec *spec, ak_error *err)
{
    const ak_backend_ops *backend;
    ak_device_list list;
    ak_scope *facts = ak_scope_new(NULL);
    if (facts == NULL) {
        return ak_fail_memory(err);
    }
    const ak_pace *pace;
    ak_status status = ak_pace_find(&pace, spec->protocol, err);
    status = status != AK_OK
                 ? status
                 : ak_backend_devices(&backend, &list, spec->device == NULL ? "auto" : spec->device,
                                      err);
    if (status == AK_OK && backend->bind != NULL) {
        status = backend->bind(out, spec, list.first, err);
    } else if (status == AK_OK) {
        status = backend->facts(facts, list.first, spec->threads, err);
    }
    if (status == AK_OK && backend->bind == NULL) {
        ak_device_facts known = {.backend = backend->name,
                                 .device = list.first,
                                 .devices = list.all,
                                 .facts = facts,
                                 .available = backend->available};
        status = ak_task_bind(out, spec, &known, err);
    }
    ak_scope_free(facts);
    return status;
}
