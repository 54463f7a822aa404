#include <string.h>

#include "backend/opencl/opencl.h"
#include "base/dl.h"

#define PLATFORMS_MAX 16

static const struct {
    size_t offset;
    const char *symbol;
} entries[] = {
#define X(member, symbol, result, arguments) {offsetof(ak_opencl, member), symbol},
#include "backend/opencl/opencl_driver.def"
#undef X
};

ak_status ak_opencl_open(const ak_opencl **out, ak_error *err)
{
    static ak_opencl table;
    static bool ready;
    const char *const own[] = {ak_env("AUTOKERNEL_LIBOPENCL"), NULL};
    static const char *const usual[] = {"libOpenCL.so.1", NULL};
    void *library = NULL;
    if (ready) {
        *out = &table;
        return AK_OK;
    }
    ak_status status = ak_dl_open(&library, own[0] != NULL ? own : usual, err);
    AK_FAIL_IF(status != AK_OK, err, AK_UNAVAILABLE,
               "libOpenCL.so.1 could not be loaded: install the driver's OpenCL part, or `apt-get "
               "install ocl-icd-libopencl1 pocl-opencl-icd` for the processor");
    for (size_t i = 0; i < AK_COUNT(entries); i++) {
        if (!ak_dl_bind((char *)&table + entries[i].offset, library, entries[i].symbol)) {
            ak_dl_close(library);
            return ak_fail(err, AK_UNAVAILABLE, "libOpenCL.so.1 is too old: it has no %s",
                           entries[i].symbol);
        }
    }
    ready = true;
    *out = &table;
    return AK_OK;
}

static bool can_compile(const ak_opencl *cl, void *device)
{
    uint32_t available = 0, compiler = 0;
    return cl->device_info(device, AK_CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) ==
               0 &&
           cl->device_info(device, AK_CL_DEVICE_COMPILER, sizeof compiler, &compiler, NULL) == 0 &&
           available != 0 && compiler != 0;
}

size_t ak_opencl_devices(ak_opencl_place out[AK_OPENCL_DEVICES_MAX], const ak_opencl *cl)
{
    void *platforms[PLATFORMS_MAX], *devices[AK_OPENCL_DEVICES_MAX];
    uint32_t platform_count = 0, device_count = 0;
    size_t count = 0;
    if (cl->platforms(PLATFORMS_MAX, platforms, &platform_count) != 0) {
        return 0; /* a loader without platforms reports an error of its own */
    }
    for (uint32_t p = 0; p < platform_count && p < PLATFORMS_MAX; p++) {
        if (cl->devices(platforms[p], AK_CL_DEVICE_ALL, AK_OPENCL_DEVICES_MAX, devices,
                        &device_count) != 0) {
            continue;
        }
        for (uint32_t d = 0; d < device_count && d < AK_OPENCL_DEVICES_MAX; d++) {
            if (count < AK_OPENCL_DEVICES_MAX && can_compile(cl, devices[d])) {
                out[count++] = (ak_opencl_place){.platform = platforms[p], .device = devices[d]};
            }
        }
    }
    return count;
}

ak_status ak_opencl_find(ak_opencl_place *out, const ak_opencl *cl, const char *device,
                         ak_error *err)
{
    ak_opencl_place places[AK_OPENCL_DEVICES_MAX];
    const size_t prefix = strlen(AK_OPENCL_PREFIX);
    int64_t ordinal = -1;
    bool named =
        strncmp(device, AK_OPENCL_PREFIX, prefix) == 0 && ak_text_int(&ordinal, device + prefix);
    size_t count = named ? ak_opencl_devices(places, cl) : 0;
    AK_FAIL_IF(!named || ordinal < 0 || (uint64_t)ordinal >= count, err, AK_NOT_FOUND,
               "there is no OpenCL device \"%.40s\"", device);
    *out = places[ordinal];
    return AK_OK;
}

/* The errors that a program can meet, by the specification. */
static const struct {
    int32_t code;
    const char *name;
} errors[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-2, "CL_DEVICE_NOT_AVAILABLE"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-30, "CL_INVALID_VALUE"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-49, "CL_INVALID_ARG_INDEX"},
    {-50, "CL_INVALID_ARG_VALUE"},
    {-51, "CL_INVALID_ARG_SIZE"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
};

void ak_opencl_error_text(char *out, size_t bytes, int32_t code)
{
    for (size_t i = 0; i < AK_COUNT(errors); i++) {
        if (errors[i].code == code) {
            (void)snprintf(out, bytes, "%s", errors[i].name);
            return;
        }
    }
    (void)snprintf(out, bytes, "OpenCL error %d", (int)code);
}

void ak_opencl_pocl_cache(char *out, size_t bytes)
{
    /* A folder of this process alone, because anybody may have put something under a name in /tmp
       that is known beforehand. A later process removes it. */
    static ak_fs_owned temporary = {.lock = -1};
    char cache[AK_PATH_MAX], folder[AK_PATH_MAX];
    const char *own = ak_env("POCL_CACHE_DIR");
    bool found = own != NULL && ak_fs_mkdirs(own, NULL) == AK_OK;
    if (found) {
        (void)snprintf(folder, sizeof folder, "%s", own);
    } else {
        found = ak_fs_cache_folder(cache, NULL) == AK_OK &&
                ak_fs_join(folder, cache, "opencl", NULL) == AK_OK &&
                ak_fs_mkdirs(folder, NULL) == AK_OK;
    }
    if (!found) {
        found = temporary.path[0] != 0 || ak_fs_owned_open(&temporary, NULL) == AK_OK;
        (void)snprintf(folder, sizeof folder, "%s", temporary.path);
    }
    (void)snprintf(out, bytes, "%s%s", found ? "POCL_CACHE_DIR=" : "", found ? folder : "");
}

void *ak_opencl_context(const ak_opencl *cl, const ak_opencl_place *place, int32_t *code)
{
    const intptr_t properties[] = {AK_CL_CONTEXT_PLATFORM, (intptr_t)place->platform, 0};
    return cl->context_create(properties, 1, &place->device, NULL, NULL, code);
}
