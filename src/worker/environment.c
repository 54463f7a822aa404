#include "worker/environment.h"

#include <string.h>

#include "backend/backend.h"
#include "backend/sandbox.h"
#include "backend/triton/triton.h"
#include "base/alloc.h"
#include "base/value_json.h"

/* If the reference is the tuned implementation's default configuration, adds that configuration,
   because `fix` can change the default; a recording runs no reference. The reference of another
   implementation is part of the source hash. */
static ak_status add_reference(json_t *facts, const ak_task *task, ak_error *err)
{
    const ak_reference_spec *reference = &task->problem->reference;
    ak_config config;
    AK_FREED char *text = NULL;
    if (task->recorded || reference->kind == NULL ||
        !(strcmp(reference->kind, "default") == 0 ||
          (strcmp(reference->kind, "kernel") == 0 &&
           strcmp(reference->name, task->implementation->name) == 0))) {
        return AK_OK;
    }
    ak_space_default(&config, task->space);
    AK_DO(ak_config_text(&text, task->space, &config, err));
    return ak_stored(ak_json_set_text(facts, "reference", text), err);
}

/* Adds the facts on which the task's results depend, other than the backend's. */
static bool add_facts(json_t *facts, const ak_task *task)
{
    bool good = ak_json_set_text(facts, "source", task->source_hash) &&
                ak_json_set_text(facts, "autokernel", AK_VERSION) &&
                ak_json_set(facts, "threads", json_integer(task->threads)) &&
                ak_json_set(facts, "numerics", json_boolean(task->allow_numerics));
    /* nothing runs on a recording, so the sandbox does not matter */
    return good && (task->recorded ||
                    ak_json_set(facts, "sandbox",
                                json_pack("{s:b,s:b}", "landlock", ak_sandbox_landlock_abi() > 0,
                                          "seccomp", ak_sandbox_seccomp())));
}

ak_status ak_environment_facts(json_t **out, const ak_task *task, ak_error *err)
{
    const ak_backend_ops *backend;
    json_t *facts = NULL;
    char version[32] = "";
    AK_DO(ak_backend_find(&backend, task->backend, err));
    if (ak_implementation_is_triton(task->implementation)) {
        AK_DO(ak_triton_version(version, sizeof version, err));
    }
    AK_DO(backend->environment(&facts, task->opens, err));
    bool good =
        (version[0] == 0 || ak_json_set_text(facts, "triton", version)) && add_facts(facts, task);
    ak_status status = good ? add_reference(facts, task, err) : AK_OK;
    if (status != AK_OK) {
        json_decref(facts);
        return status;
    }
    return ak_json_give(out, facts, good, err);
}

static void show(char out[80], const json_t *value)
{
    AK_FREED char *text = NULL;
    (void)snprintf(out, 80, "nothing");
    if (value != NULL && ak_json_text(&text, value, NULL) == AK_OK) {
        (void)snprintf(out, 80, "%.72s", text);
    }
}

static bool differs_below(char *out, size_t bytes, const char *path, const json_t *there,
                          const json_t *here)
{
    char name[120], theirs[80], ours[80];
    if (json_equal(there, here)) {
        return false;
    }
    if (json_is_object(there) && json_is_object(here)) {
        const json_t *sides[] = {here, there};
        for (size_t i = 0; i < 2; i++) {
            AK_EACH_MEMBER(key, value, sides[i]) {
                (void)snprintf(name, sizeof name, "%.60s%s%.50s", path, *path == 0 ? "" : ".", key);
                if (differs_below(out, bytes, name, json_object_get(there, key),
                                  json_object_get(here, key))) {
                    return true;
                }
            }
        }
    }
    show(theirs, there);
    show(ours, here);
    (void)snprintf(out, bytes, "%s: %s there, %s here", path, theirs, ours);
    return true;
}

bool ak_environment_differs(char *out, size_t bytes, const json_t *there, const json_t *here)
{
    return differs_below(out, bytes, "", there, here);
}
