/*
 * cuda_inventory.c: finds the CUDA devices, and what a result depends on besides the source.
 *
 * A child opens the driver, the compiler and the libraries, and writes one line. This process keeps
 * the first answer, because drivers and devices do not change while a program runs.
 */
#include <string.h>

#include "backend/cuda/cuda.h"
#include "backend/inventory.h"
#include "base/number.h"

/* Part of the device's name, dense fp16 TFLOP/s, GB/s: values of NVIDIA's data sheets, which the
   descriptions of devices show. The longest matching name counts. */
static const struct {
    const char *name;
    int tflops, gbs;
} sheets[] = {
    {"A100-PCIE-40GB", 312, 1555}, {"A100-SXM4-40GB", 312, 1555}, {"A100 80GB PCIe", 312, 1935},
    {"A100-SXM4-80GB", 312, 2039}, {"H100 PCIe", 756, 2000},      {"H100 80GB HBM3", 989, 3350},
    {"H200", 989, 4800},
};

/* ---- the child ------------------------------------------------------------------------------- */

static bool add_attributes(json_t *object, const ak_cuda_driver *cuda, int device)
{
    static const struct {
        const char *name;
        int attribute;
    } facts[] = {
#define FACT(name, constant, value) {#name, value},
        AK_CUDA_FACTS(FACT)
#undef FACT
    };
    int value = 0, minor = 0;
    bool good = true;
    for (size_t i = 0; i < AK_COUNT(facts); i++) {
        good = good && cuda->device_attribute(&value, facts[i].attribute, device) == 0 &&
               ak_json_set(object, facts[i].name, json_integer(value));
    }
    good = good && cuda->device_attribute(&value, AK_CUDA_ATTRIBUTE_MAJOR, device) == 0 &&
           cuda->device_attribute(&minor, AK_CUDA_ATTRIBUTE_MINOR, device) == 0 &&
           ak_json_set(object, "compute_capability", json_integer(10 * value + minor));
    value = 0; /* newer drivers may not report the clocks */
    (void)cuda->device_attribute(&value, AK_CUDA_ATTRIBUTE_CLOCK, device);
    good = good && ak_json_set(object, "clock_mhz", json_integer(value / 1000));
    value = 0;
    (void)cuda->device_attribute(&value, AK_CUDA_ATTRIBUTE_MEMORY_CLOCK, device);
    return good && ak_json_set(object, "memory_clock_mhz", json_integer(value / 1000));
}

/* Adds the UUID and the limits. The limits form a separate object, so that expressions do not see
   them as facts, because they may change at any time. */
static bool add_limits(json_t *object, const ak_cuda_driver *cuda, int handle)
{
    unsigned char bytes[16];
    char uuid[AK_UUID_BYTES];
    ak_cuda_sampler sampler;
    if (cuda->device_uuid(bytes, handle) != 0) {
        return true;
    }
    ak_cuda_uuid_text(uuid, bytes);
    ak_cuda_sampler_open(&sampler, uuid);
    return ak_json_set_text(object, "uuid", uuid) &&
           ak_json_set(object, "limits", ak_cuda_sampler_limits(&sampler));
}

static bool add_device(json_t *list, const ak_cuda_driver *cuda, int ordinal)
{
    char name[128] = "", device[32];
    int handle = 0;
    size_t bytes = 0;
    (void)snprintf(device, sizeof device, "cuda:%d", ordinal);
    bool good = cuda->device_get(&handle, ordinal) == 0 &&
                cuda->device_name(name, sizeof name - 1, handle) == 0 &&
                cuda->device_memory(&bytes, handle) == 0;
    json_t *object = json_pack("{s:s, s:s, s:I}", "device", device, "name", name, "memory_bytes",
                               (json_int_t)bytes);
    good = object != NULL && good && add_attributes(object, cuda, handle) &&
           add_limits(object, cuda, handle);
    return ak_json_append(list, object) && good;
}

static bool add_driver(json_t *object)
{
    const ak_cuda_driver *cuda;
    ak_error err = AK_ERROR_INIT;
    int version = 0, count = 0;
    char text[64];
    json_t *list = json_array();
    bool good = list != NULL;
    if (ak_cuda_driver_open(&cuda, &err) != AK_OK) {
        good = good && ak_json_set_text(object, "driver_missing", err.text);
    } else {
        (void)cuda->driver_version(&version);
        (void)cuda->device_count(&count);
        (void)snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
        good = good && ak_json_set_text(object, "driver_api", text);
        for (int i = 0; good && i < count; i++) {
            good = add_device(list, cuda, i);
        }
    }
    const ak_cuda_nvml *nvml;
    if (good && json_array_size(list) > 0 && ak_cuda_nvml_open(&nvml, NULL) == AK_OK) {
        char driver[96] = "";
        (void)nvml->driver(driver, sizeof driver - 1);
        good = ak_json_set_text(object, "driver", driver);
    }
    return ak_json_set(object, "devices", list) && good;
}

static bool add_nvrtc(json_t *object)
{
    const ak_cuda_nvrtc *nvrtc;
    ak_error err = AK_ERROR_INIT;
    int version[2] = {0, 0};
    char text[64];
    if (ak_cuda_nvrtc_open(&nvrtc, &err) != AK_OK) {
        return ak_json_set_text(object, "nvrtc_missing", err.text);
    }
    (void)nvrtc->version(&version[0], &version[1]);
    (void)snprintf(text, sizeof text, "%d.%d", version[0], version[1]);
    return ak_json_set_texts(object, "nvrtc", text, "nvrtc_path", nvrtc->path);
}

static bool add_cublaslt(json_t *object)
{
    const ak_cublaslt *lt;
    ak_error err = AK_ERROR_INIT;
    char text[64];
    if (ak_cublaslt_open(&lt, &err) != AK_OK) {
        return ak_json_set_text(object, "cublaslt_missing", err.text);
    }
    (void)snprintf(text, sizeof text, "%zu", lt->version());
    return ak_json_set_texts(object, "cublaslt", text, "cublaslt_path", lt->path);
}

static bool add_cudnn(json_t *object)
{
    const ak_cudnn *dnn;
    ak_error err = AK_ERROR_INIT;
    char text[64];
    if (ak_cudnn_open(&dnn, &err) != AK_OK) {
        return ak_json_set_text(object, "cudnn_missing", err.text);
    }
    (void)snprintf(text, sizeof text, "%zu", dnn->version());
    return ak_json_set_text(object, "cudnn", text);
}

int ak_cuda_inventory_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    json_auto_t *object = json_object();
    bool good = object != NULL && add_driver(object) && add_nvrtc(object) && add_cublaslt(object) &&
                add_cudnn(object) && ak_inventory_write(object);
    return good ? 0 : 1;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static ak_inventory inventory = {.who = "CUDA",
                                 .where = "cuda inventory",
                                 .arguments = {"worker", "--inventory", "cuda"},
                                 .missing = "driver_missing",
                                 .prefix = "cuda:"};

static void describe(char *out, size_t bytes, const json_t *device)
{
    const char *name = ak_json_text_or_null(device, "name");
    size_t best = 0, known = AK_COUNT(sheets);
    size_t sheet = known;
    char l2[AK_REAL_BYTES];
    for (size_t i = 0; i < known; i++) {
        if (strstr(name, sheets[i].name) != NULL && strlen(sheets[i].name) > best) {
            best = strlen(sheets[i].name);
            sheet = i;
        }
    }
    int used = snprintf(
        out, bytes, "%s, sm_%lld, %lld SMs, L2 %s, %lld GiB", name,
        (long long)json_integer_value(json_object_get(device, "compute_capability")),
        (long long)json_integer_value(json_object_get(device, "sm_count")),
        ak_number_size(l2, (size_t)json_integer_value(json_object_get(device, "l2_bytes"))),
        (long long)json_integer_value(json_object_get(device, "memory_bytes")) >> 30);
    if (sheet < known && used > 0 && (size_t)used < bytes) {
        used += snprintf(out + used, bytes - (size_t)used, "; data sheet: %d TFLOP/s fp16, %d GB/s",
                         sheets[sheet].tflops, sheets[sheet].gbs);
    }
    const struct {
        const char *key, *format;
    } limits[] = {{"sm_clock_mhz", "; SM clock up to %lld MHz"},
                  {"memory_clock_mhz", "; memory clock up to %lld MHz"},
                  {"power_watts", "; power up to %lld W"}};
    for (size_t i = 0; i < AK_COUNT(limits); i++) {
        const json_t *value = json_object_get(json_object_get(device, "limits"), limits[i].key);
        if (json_is_integer(value) && used > 0 && (size_t)used < bytes) {
            used += ak_number_print(out + used, bytes - (size_t)used, limits[i].format,
                                    (long long)json_integer_value(value));
        }
    }
}

ak_status ak_cuda_probe(ak_device_visitor visit, void *context, ak_error *err)
{
    const json_t *found;
    /* If anything keeps CUDA from working, the machine counts as one without CUDA devices; doctor
       says why. */
    if (!ak_cuda_expected() || ak_inventory_get(&found, &inventory, err) != AK_OK) {
        return AK_OK;
    }
    AK_EACH(device, json_object_get(found, "devices")) {
        char text[400];
        describe(text, sizeof text, device);
        visit(context, ak_json_text_or_null(device, "device"), text);
    }
    return AK_OK;
}

ak_status ak_cuda_missing(const char *device, ak_error *err)
{
    return ak_inventory_missing(&inventory, device, err);
}

ak_status ak_cuda_facts(ak_scope *out, const char *device, int threads, ak_error *err)
{
    (void)threads;
    return ak_inventory_facts(out, &inventory, device, err);
}

/* Leaves out the ordinal, because equal devices of one machine give equal results and share a run's
   trials. Includes the libraries, because a run records how fast a kernel is compared with them,
   and another cuBLASLt makes another comparison. Leaves out PyTorch, which is started only on
   request and whose version is part of its result. */
ak_status ak_cuda_environment(json_t **out, const char *device, ak_error *err)
{
    static const char *const of_device[] = {"name",     "compute_capability", "sm_count",
                                            "l2_bytes", "memory_bytes",       NULL};
    static const char *const of_machine[] = {"driver",   "driver_api", "nvrtc",
                                             "cublaslt", "cudnn",      NULL};
    const json_t *found = NULL;
    AK_DO(ak_inventory_device(&found, &inventory, device, err));
    json_t *object = json_pack("{s:s}", "backend", "cuda");
    bool good = object != NULL && ak_json_copy(object, found, of_device) &&
                ak_json_copy(object, inventory.known, of_machine);
    return ak_json_give(out, object, good, err);
}

ak_status ak_cuda_describe(json_t *object, ak_error *err)
{
    const json_t *all = NULL;
    ak_error why = AK_ERROR_INIT;
    json_t *state = json_object();
    bool good = state != NULL;
    if (ak_inventory_get(&all, &inventory, &why) != AK_OK) {
        good = good && ak_json_set_text(state, "driver_missing", why.text);
    } else {
        AK_EACH_MEMBER(key, value, all) {
            good = good && (strcmp(key, "devices") == 0 || json_object_set(state, key, value) == 0);
        }
    }
    good = ak_json_set(object, "cuda", state) && good;
    return ak_stored(good, err);
}
