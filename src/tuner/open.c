/* open.c: ak_task_open: where a task meets its device. problem/ does not know backends and backends
   do not choose devices; here the two are put together. */
#include "backend/backend.h"
#include "base/alloc.h"

ak_status ak_task_open(ak_task **out, const ak_task_spec *spec, ak_error *err)
{
    const ak_backend_ops *backend;
    ak_device_list list;
    char names[AK_DEVICES_MAX * (AK_DEVICE_NAME_BYTES + 1)] = "";
    ak_scope *facts = ak_scope_new(NULL);
    if (facts == NULL) {
        return ak_fail_memory(err);
    }
    ak_status status =
        ak_backend_devices(&backend, &list, spec->device == NULL ? "auto" : spec->device, err);
    for (size_t i = 0, used = 0; status == AK_OK && i < list.count; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ",",
                                 list.name[i]);
    }
    if (status == AK_OK) {
        status = backend->facts(facts, list.name[0], spec->threads, err);
    }
    if (status == AK_OK) {
        ak_device_facts known = {.backend = backend->name,
                                 .device = list.name[0],
                                 .devices = names,
                                 .facts = facts,
                                 .available = backend->available};
        status = ak_task_bind(out, spec, &known, err);
    }
    ak_scope_free(facts);
    return status;
}
