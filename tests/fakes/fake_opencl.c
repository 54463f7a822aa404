/*
 * fake_opencl.c: an OpenCL library, for AUTOKERNEL_LIBOPENCL, with one platform and one device, of
 * which no context can be made: as of a graphics processor in a process that its driver's device
 * files are kept from. Whatever needs a context is refused.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT         __attribute__((visibility("default")))
#define INVALID_VALUE  (-30)
#define INVALID_DEVICE (-33)

static char platform, device;

EXPORT int32_t clGetPlatformIDs(uint32_t entries, void **out, uint32_t *count)
{
    if (entries > 0) {
        out[0] = &platform;
    }
    *count = 1;
    return 0;
}

static int32_t give(size_t bytes, void *value, size_t *needed, const void *from, size_t length)
{
    if (bytes < length) {
        return INVALID_VALUE;
    }
    memcpy(value, from, length);
    if (needed != NULL) {
        *needed = length;
    }
    return 0;
}

EXPORT int32_t clGetPlatformInfo(void *of, uint32_t name, size_t bytes, void *value, size_t *needed)
{
    static const char text[] = "Fake";
    (void)of, (void)name;
    return give(bytes, value, needed, text, sizeof text);
}

EXPORT int32_t clGetDeviceIDs(void *of, uint64_t type, uint32_t entries, void **out,
                              uint32_t *count)
{
    (void)of, (void)type, (void)entries;
    out[0] = &device;
    *count = 1;
    return 0;
}

/* Texts have numbers from 0x102b to 0x102f; all else is a number, 1 or as long as is asked for. */
EXPORT int32_t clGetDeviceInfo(void *of, uint32_t name, size_t bytes, void *value, size_t *needed)
{
    static const char text[] = "Fake device";
    static const uint64_t one = 1;
    (void)of;
    return name >= 0x102b && name <= 0x102f ? give(bytes, value, needed, text, sizeof text)
           : bytes <= sizeof one            ? give(bytes, value, needed, &one, bytes)
                                            : INVALID_VALUE;
}

EXPORT void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *devices,
                             void (*notify)(const char *, const void *, size_t, void *), void *user,
                             int32_t *code)
{
    (void)properties, (void)count, (void)devices, (void)notify, (void)user;
    *code = INVALID_DEVICE;
    return NULL;
}

/* What is never called without a context. */
#define NEVER(name)                                                                                \
    EXPORT int32_t name(void)                                                                      \
    {                                                                                              \
        return INVALID_VALUE;                                                                      \
    }
NEVER(clReleaseContext)
NEVER(clCreateCommandQueue)
NEVER(clReleaseCommandQueue)
NEVER(clFlush)
NEVER(clCreateBuffer)
NEVER(clCreateSubBuffer)
NEVER(clReleaseMemObject)
NEVER(clEnqueueReadBuffer)
NEVER(clEnqueueWriteBuffer)
NEVER(clEnqueueCopyBuffer)
NEVER(clEnqueueFillBuffer)
NEVER(clCreateProgramWithSource)
NEVER(clCreateProgramWithBinary)
NEVER(clBuildProgram)
NEVER(clGetProgramInfo)
NEVER(clGetProgramBuildInfo)
NEVER(clReleaseProgram)
NEVER(clCreateKernel)
NEVER(clReleaseKernel)
NEVER(clSetKernelArg)
NEVER(clGetKernelWorkGroupInfo)
NEVER(clEnqueueNDRangeKernel)
NEVER(clEnqueueMarkerWithWaitList)
NEVER(clGetEventInfo)
NEVER(clGetEventProfilingInfo)
NEVER(clReleaseEvent)
