/* backend.c: the table of backends and how a device's name finds its backend. */
#include "backend/backend.h"

#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/host/host.h"
#include "backend/sim/sim.h"

const ak_backend_ops *const ak_backends[] = {
#define X(name) &ak_##name##_ops,
#include "backend/backends.def"
#undef X
    NULL,
};

ak_status ak_backend_find(const ak_backend_ops **out, const char *name, ak_error *err)
{
    ak_buf known = AK_BUF(256);
    for (size_t i = 0; ak_backends[i] != NULL; i++) {
        if (strcmp(ak_backends[i]->name, name) == 0) {
            ak_buf_free(&known);
            *out = ak_backends[i];
            return AK_OK;
        }
        ak_buf_print(&known, "%s%s", i == 0 ? "" : ", ", ak_backends[i]->name);
    }
    ak_status status =
        ak_fail(err, AK_NOT_FOUND, "unknown backend \"%.64s\"; there are: %s", name, known.data);
    ak_buf_free(&known);
    return status;
}

typedef struct first_device {
    char *out;
    size_t bytes;
    bool found;
} first_device;

static void take_first(void *context, const char *device, const char *description)
{
    first_device *first = context;
    (void)description;
    if (!first->found) {
        first->found = true;
        (void)snprintf(first->out, first->bytes, "%s", device);
    }
}

typedef struct wanted_device {
    const char *name;
    bool found;
} wanted_device;

static void look_for(void *context, const char *device, const char *description)
{
    wanted_device *wanted = context;
    (void)description;
    wanted->found = wanted->found || strcmp(device, wanted->name) == 0;
}

static ak_status best_device(const ak_backend_ops **out, char *device, size_t bytes, ak_error *err)
{
    size_t count = 0;
    while (ak_backends[count] != NULL) {
        count++;
    }
    while (count-- > 0) {
        first_device first = {.out = device, .bytes = bytes, .found = false};
        if (ak_backends[count]->probe(take_first, &first, NULL) == AK_OK && first.found) {
            *out = ak_backends[count];
            return AK_OK;
        }
    }
    return ak_fail(err, AK_UNAVAILABLE, "no device found");
}

ak_status ak_backend_device(const ak_backend_ops **out, char *device, size_t bytes,
                            const char *wanted, ak_error *err)
{
    if (wanted == NULL || strcmp(wanted, "auto") == 0) {
        return best_device(out, device, bytes, err);
    }
    char name[64];
    const ak_backend_ops *backend = NULL;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(wanted, ":"), wanted);
    if (ak_backend_find(&backend, name, NULL) == AK_OK) {
        wanted_device look = {.name = wanted, .found = false};
        ak_status status = backend->probe(look_for, &look, err);
        if (status != AK_OK) {
            return status;
        }
        if (look.found && strlen(wanted) < bytes) {
            *out = backend;
            (void)snprintf(device, bytes, "%s", wanted);
            return AK_OK;
        }
        if (backend->find != NULL) {
            status = backend->find(wanted, err);
            if (status == AK_OK && strlen(wanted) >= bytes) {
                status = ak_fail(err, AK_LIMIT, "the name of the device is too long");
            }
            if (status == AK_OK) {
                *out = backend;
                (void)snprintf(device, bytes, "%s", wanted);
            }
            return status;
        }
        first_device first = {.out = name, .bytes = sizeof name, .found = false};
        if (strchr(wanted, ':') == NULL && backend->probe(take_first, &first, NULL) == AK_OK &&
            first.found && strlen(name) < bytes) {
            *out = backend;
            (void)snprintf(device, bytes, "%s", name);
            return AK_OK;
        }
    }
    return ak_fail(
        err, AK_NOT_FOUND,
        "unknown device \"%.64s\"; `autokernel doctor` lists the devices of this machine", wanted);
}
