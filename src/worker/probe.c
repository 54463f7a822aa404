#include "worker/environment.h"

#include "backend/sandbox.h"
#include "worker/message.h"

typedef struct collector {
    const ak_backend_ops *backend;
    json_t *list;
    bool ceilings, good;
} collector;

static bool add_facts(json_t *object, const ak_backend_ops *backend, const char *device)
{
    const char *const *name = backend->shown_facts;
    AK_AT_END(ak_scope_free_at) ak_scope *scope = ak_scope_new(NULL);
    bool good = scope != NULL;
    for (bool known = good && name != NULL && backend->facts(scope, device, 0, NULL) == AK_OK;
         known && good && *name != NULL; name++) {
        ak_value value;
        if (ak_scope_get(&value, scope, *name) && value.type == AK_VALUE_INT) {
            good = ak_json_set(object, *name, json_integer(value.as.integer));
        }
    }
    return good;
}

static bool add_ceilings(json_t *object, const ak_backend_ops *backend, const char *device)
{
    ak_ceilings ceilings;
    if (backend->quick_ceilings == NULL ||
        backend->quick_ceilings(&ceilings, device, NULL) != AK_OK) {
        return true; /* a device without known ceilings is still a device */
    }
    return ak_json_set(object, "ceilings", ak_message_from_ceilings(&ceilings));
}

static void add_device(void *context, const char *device, const char *description)
{
    collector *c = context;
    json_t *object = json_pack("{s:s, s:s}", "device", device, "description", description);
    c->good = c->good && object != NULL && add_facts(object, c->backend, device) &&
              (!c->ceilings || add_ceilings(object, c->backend, device));
    c->good = ak_json_append(c->list, object) && c->good;
}

static bool add_layer(json_t *list, const char *layer, bool offered, const char *by,
                      const char *keeps)
{
    return ak_json_append(list, json_pack("{s:s, s:b, s:s, s:s}", "layer", layer, "here",
                                          (int)offered, "by", by, "keeps", keeps));
}

/* Adds the layers of confinement that this operating system offers, and what each protects from
   candidates and compilers. */
static bool add_layers(json_t *object)
{
    int abi = ak_sandbox_landlock_abi();
    bool filter = ak_sandbox_seccomp();
    json_t *list = json_array();
    bool good = list != NULL &&
                add_layer(list, "environment", true, "autokernel", "keys and tokens") &&
                add_layer(list, "limits", true, "rlimits", "the memory, time and disk of others") &&
                add_layer(list, "files", abi >= 1, "Landlock 1", "the user's files") &&
                add_layer(list, "ports", abi >= 4, "Landlock 4", "TCP") &&
                add_layer(list, "signals", abi >= 6, "Landlock 6", "other processes") &&
                add_layer(list, "calls", filter, "seccomp", "sockets, sessions, all but computing");
    return ak_json_set(object, "confinement", list) && good;
}

ak_status ak_probe(json_t **out, bool ceilings, ak_error *err)
{
    json_t *object = json_object(), *devices = json_array();
    bool good = object != NULL && devices != NULL;
    ak_status status = AK_OK;
    for (size_t i = 0; good && status == AK_OK && ak_backends[i] != NULL; i++) {
        collector c = {
            .backend = ak_backends[i], .list = devices, .ceilings = ceilings, .good = true};
        status = ak_backends[i]->probe(add_device, &c, err);
        good = c.good;
        if (good && status == AK_OK && ak_backends[i]->describe != NULL) {
            status = ak_backends[i]->describe(object, err);
        }
    }
    /* ak_json_set takes the list even if it fails. */
    good = ak_json_set(object, "devices", devices) && good;
    good = good && ak_json_set(object, "landlock", json_integer(ak_sandbox_landlock_abi()));
    good = good && ak_json_set(object, "seccomp", json_boolean(ak_sandbox_seccomp()));
    good = good && add_layers(object);
    if (status != AK_OK) {
        json_decref(object);
        return status;
    }
    return ak_json_give(out, object, good, err);
}
