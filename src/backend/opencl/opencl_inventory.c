/*
 * opencl_inventory.c: finds the OpenCL devices, and what a result depends on besides the source.
 *
 * Loading an ICD runs the code of its vendor, which may crash or hang, so a child does it and
 * writes one line. This process keeps the first answer.
 */
#include <unistd.h>

#include "backend/inventory.h"
#include "backend/opencl/opencl.h"
#include "base/hash.h"

#define NAME_MAX_BYTES 256
/* Bits of the hash that are the identity: as many as a double holds exactly. */
#define IDENTITY_BITS 53

/* ---- the child ------------------------------------------------------------------------------- */

/* X(fact, number of clGetDeviceInfo, type of its value) */
#define FACTS(X)                                                                                   \
    X(compute_units, AK_CL_DEVICE_COMPUTE_UNITS, uint32_t)                                         \
    X(work_group_max, AK_CL_DEVICE_WORK_GROUP_MAX, size_t)                                         \
    X(vector_floats, AK_CL_DEVICE_VECTOR_FLOATS, uint32_t)                                         \
    X(local_bytes, AK_CL_DEVICE_LOCAL_BYTES, uint64_t)                                             \
    X(cache_bytes, AK_CL_DEVICE_CACHE_BYTES, uint64_t)                                             \
    X(memory_bytes, AK_CL_DEVICE_MEMORY_BYTES, uint64_t)                                           \
    X(clock_mhz, AK_CL_DEVICE_CLOCK_MHZ, uint32_t)

static bool add_text(json_t *object, const char *key, const ak_opencl *cl, void *device,
                     uint32_t name)
{
    char text[NAME_MAX_BYTES] = "";
    size_t needed = 0;
    /* a longer text is an error and becomes "unknown" */
    bool known = cl->device_info(device, name, sizeof text - 1, text, &needed) == 0;
    return ak_json_set_text(object, key, known ? text : "unknown");
}

int64_t ak_opencl_identity(const ak_opencl *cl, const ak_opencl_place *place)
{
    char text[4][NAME_MAX_BYTES] = {""};
    AK_AT_END(ak_buf_free) ak_buf all = AK_BUF(4 * NAME_MAX_BYTES + 8);
    const size_t room = sizeof text[0] - 1;
    (void)cl->platform_info(place->platform, AK_CL_PLATFORM_NAME, room, text[0], NULL);
    (void)cl->platform_info(place->platform, AK_CL_PLATFORM_VERSION, room, text[1], NULL);
    (void)cl->device_info(place->device, AK_CL_DEVICE_NAME, room, text[2], NULL);
    (void)cl->device_info(place->device, AK_CL_DEVICE_DRIVER, room, text[3], NULL);
    ak_buf_print(&all, "%s\n%s\n%s\n%s", text[0], text[1], text[2], text[3]);
    uint64_t hash = ak_hash64(all.data, all.length);
    return (int64_t)(hash >> (64 - IDENTITY_BITS));
}

static bool add_device(json_t *list, const ak_opencl *cl, const ak_opencl_place *place, size_t i)
{
    char device[32], platform[NAME_MAX_BYTES] = "", version[NAME_MAX_BYTES] = "";
    uint64_t type = 0;
    (void)snprintf(device, sizeof device, AK_OPENCL_PREFIX "%zu", i);
    (void)cl->platform_info(place->platform, AK_CL_PLATFORM_NAME, sizeof platform - 1, platform,
                            NULL);
    (void)cl->platform_info(place->platform, AK_CL_PLATFORM_VERSION, sizeof version - 1, version,
                            NULL);
    (void)cl->device_info(place->device, AK_CL_DEVICE_TYPE, sizeof type, &type, NULL);
    json_t *object =
        json_pack("{s:s, s:s, s:s}", "device", device, "platform", platform, "version", version);
    bool good =
        object != NULL && add_text(object, "name", cl, place->device, AK_CL_DEVICE_NAME) &&
        add_text(object, "driver", cl, place->device, AK_CL_DEVICE_DRIVER) &&
        ak_json_set(object, "is_cpu", json_integer((type & AK_CL_DEVICE_IS_CPU) != 0 ? 1 : 0)) &&
        ak_json_set(object, "identity", json_integer((json_int_t)ak_opencl_identity(cl, place)));
#define FACT(fact, number, value_type)                                                             \
    {                                                                                              \
        value_type value = 0;                                                                      \
        (void)cl->device_info(place->device, number, sizeof value, &value, NULL);                  \
        good = good && ak_json_set_count(object, #fact, value);                                    \
    }
    FACTS(FACT)
#undef FACT
    return ak_json_append(list, object) && good;
}

int ak_opencl_inventory_main(int argc, char **argv)
{
    const ak_opencl *cl;
    ak_opencl_place places[AK_OPENCL_DEVICES_MAX];
    ak_error err = AK_ERROR_INIT;
    json_t *object = json_object(), *list = json_array();
    bool good = object != NULL && list != NULL;
    (void)argc;
    (void)argv;
    if (good && ak_opencl_open(&cl, &err) != AK_OK) {
        good = ak_json_set_text(object, "missing", err.text);
    } else if (good) {
        size_t count = ak_opencl_devices(places, cl);
        for (size_t i = 0; good && i < count; i++) {
            good = add_device(list, cl, &places[i], i);
        }
        if (good && count == 0) {
            good = ak_json_set_text(object, "missing",
                                    "no OpenCL platform is installed (/etc/OpenCL/vendors): "
                                    "install the driver's OpenCL part, or `apt-get install "
                                    "pocl-opencl-icd` for the processor");
        }
    }
    good = ak_json_set(object, "devices", list) && good && ak_inventory_write(object);
    json_decref(object);
    _exit(good ? 0 : 1); /* an ICD may hang or crash while it clears up */
}

/* ---- asking ---------------------------------------------------------------------------------- */

static ak_inventory inventory = {.who = "OpenCL",
                                 .where = "OpenCL inventory",
                                 .arguments = {"worker", "--opencl-inventory"},
                                 .variable = ak_opencl_pocl_cache,
                                 .missing = "missing",
                                 .prefix = AK_OPENCL_PREFIX};

ak_status ak_opencl_probe(ak_device_visitor visit, void *context, ak_error *err)
{
    const json_t *found;
    /* If anything keeps OpenCL from working, the machine counts as one without OpenCL devices;
       doctor says why. */
    if (ak_inventory_get(&found, &inventory, err) != AK_OK) {
        return AK_OK;
    }
    AK_EACH(device, json_object_get(found, "devices")) {
        char text[2 * NAME_MAX_BYTES + 100];
        (void)snprintf(text, sizeof text, "%s, by %s; %lld compute units, %lld KiB of local memory",
                       ak_json_text_at(device, "name"), ak_json_text_at(device, "platform"),
                       (long long)json_integer_value(json_object_get(device, "compute_units")),
                       (long long)json_integer_value(json_object_get(device, "local_bytes")) >> 10);
        visit(context, ak_json_text_at(device, "device"), text);
    }
    return AK_OK;
}

ak_status ak_opencl_missing(const char *device, ak_error *err)
{
    return ak_inventory_missing(&inventory, device, err);
}

ak_status ak_opencl_facts(ak_scope *out, const char *device, int threads, ak_error *err)
{
    (void)threads;
    return ak_inventory_facts(out, &inventory, device, err);
}

/* Leaves out the ordinal, because equal devices of one machine give equal results. */
ak_status ak_opencl_environment(json_t **out, const char *device, ak_error *err)
{
    static const char *const kept[] = {"name",          "platform",    "version",      "driver",
                                       "compute_units", "local_bytes", "memory_bytes", NULL};
    const json_t *found = NULL;
    AK_DO(ak_inventory_device(&found, &inventory, device, err));
    json_t *object = json_pack("{s:s}", "backend", "opencl");
    return ak_json_give(out, object, object != NULL && ak_json_copy(object, found, kept), err);
}

ak_status ak_opencl_describe(json_t *object, ak_error *err)
{
    const json_t *all = NULL;
    ak_error why = AK_ERROR_INIT;
    json_t *state = json_object();
    bool good = state != NULL;
    if (ak_inventory_get(&all, &inventory, &why) != AK_OK) {
        good = good && ak_json_set_text(state, "missing", why.text);
    } else if (json_object_get(all, "missing") != NULL) {
        good = good && ak_json_copy(state, all, (const char *const[]){"missing", NULL});
    } else {
        AK_EACH(device, json_object_get(all, "devices")) {
            char text[2 * NAME_MAX_BYTES + 32];
            (void)snprintf(text, sizeof text, "%s, driver %s", ak_json_text_at(device, "version"),
                           ak_json_text_at(device, "driver"));
            good = good && ak_json_set_text(state, ak_json_text_at(device, "device"), text);
        }
    }
    good = ak_json_set(object, "opencl", state) && good;
    return ak_stored(good, err);
}
