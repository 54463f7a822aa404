/* probe.c: see probe.h. */
#include "worker/probe.h"

#include <string.h>
#include <sys/prctl.h>

#include "backend/cuda/cuda.h"
#include "backend/host/host.h"
#include "backend/sandbox.h"
#include "worker/message.h"

typedef struct collector {
    const ak_backend_ops *backend;
    json_t *list;
    bool good;
} collector;

/* Names of the facts that a host device has; other backends add theirs to their description. */
static const char *const fact_names[] = {"cpu_threads", "vector_bytes", "vector_registers",
                                         "l1d_bytes",   "l2_bytes",     "l3_bytes"};

static bool add_facts(json_t *object, const ak_backend_ops *backend, const char *device)
{
    ak_scope *scope = ak_scope_new(NULL);
    bool good = scope != NULL && backend->facts(scope, device, 0, NULL) == AK_OK;
    for (size_t i = 0; good && i < sizeof fact_names / sizeof fact_names[0]; i++) {
        ak_value value;
        if (ak_scope_get(&value, scope, fact_names[i]) && value.type == AK_VALUE_INT) {
            good = ak_json_set(object, fact_names[i], json_integer(value.as.integer));
        }
    }
    ak_scope_free(scope);
    return good;
}

static bool add_ceilings(json_t *object)
{
    ak_ceilings ceilings;
    if (ak_host_ceilings(&ceilings, AK_DTYPE_F32, ak_host_cpus(), NULL) != AK_OK) {
        return true; /* a device without known ceilings is still a device */
    }
    return ak_json_set(object, "ceilings", ak_message_from_ceilings(&ceilings));
}

static void add_device(void *context, const char *device, const char *description)
{
    collector *c = context;
    json_t *object = json_object();
    c->good = c->good && object != NULL && ak_json_set_text(object, "device", device) &&
              ak_json_set_text(object, "description", description) &&
              add_facts(object, c->backend, device);
    if (c->good && strcmp(c->backend->name, "host") == 0) {
        c->good = add_ceilings(object);
    }
    c->good = json_array_append_new(c->list, object) == 0 && c->good;
}

static void add_library(void *context, const char *name, const char *title, const char *version,
                        bool installed, const char *note)
{
    collector *c = context;
    json_t *object = json_object();
    c->good = c->good && object != NULL && ak_json_set_text(object, "name", name) &&
              ak_json_set_text(object, "title", title) &&
              ak_json_set_text(object, "version", version) &&
              ak_json_set(object, "installed", json_boolean(installed)) &&
              ak_json_set_text(object, "note", note);
    c->good = json_array_append_new(c->list, object) == 0 && c->good;
}

static bool add_compilers(json_t *list)
{
    static const char *const names[] = {"gcc", "clang"};
    bool good = true;
    for (size_t i = 0; good && i < sizeof names / sizeof names[0]; i++) {
        char path[AK_PATH_MAX], version[128];
        if (!ak_fs_which(path, names[i])) {
            continue;
        }
        ak_host_compiler_version(version, sizeof version, names[i]);
        json_t *object = json_object();
        good = object != NULL && ak_json_set_text(object, "name", names[i]) &&
               ak_json_set_text(object, "version", version) &&
               ak_json_set_text(object, "path", path);
        good = json_array_append_new(list, object) == 0 && good;
    }
    return good;
}

ak_status ak_probe(json_t **out, ak_error *err)
{
    json_t *object = json_object();
    json_t *devices = json_array(), *compilers = json_array(), *libraries = json_array();
    ak_status status = AK_OK;
    bool good = object != NULL && devices != NULL && compilers != NULL && libraries != NULL;
    for (size_t i = 0; good && status == AK_OK && ak_backends[i] != NULL; i++) {
        collector c = {.backend = ak_backends[i], .list = devices, .good = true};
        status = ak_backends[i]->probe(add_device, &c, err);
        good = c.good;
    }
    if (good && status == AK_OK) {
        collector c = {.list = libraries, .good = true};
        status = ak_host_libraries(add_library, &c, err);
        good = c.good && add_compilers(compilers);
    }
    /* The object takes all three lists, so that they end with it. */
    good = ak_json_set(object, "devices", devices) && good;
    good = ak_json_set(object, "compilers", compilers) && good;
    good = ak_json_set(object, "libraries", libraries) && good;
    json_t *cuda = NULL;
    if (good && status == AK_OK) {
        status = ak_cuda_state(&cuda, err);
        good = status != AK_OK || ak_json_set(object, "cuda", cuda);
    }
    good = good && ak_json_set(object, "landlock", json_integer(ak_sandbox_landlock_abi()));
    good = good &&
           ak_json_set(object, "seccomp", json_boolean(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) >= 0));
    if (status == AK_OK && !good) {
        status = ak_fail_memory(err);
    }
    if (status != AK_OK) {
        json_decref(object);
        return status;
    }
    *out = object;
    return AK_OK;
}
