/*
 * opencl.h: what the files of the OpenCL backend offer each other. backend.h describes the
 * functions that the table of the backend has.
 *
 *   opencl_api.c        loads libOpenCL.so.1 and finds devices
 *   opencl_inventory.c  knows devices without opening them, through a child process
 *   opencl_compile.c    builds programs, in a child process per compilation
 *   opencl_rules.c      the rules for space files
 *   opencl_device.c     an open device: memory, the workspace, what errors mean
 *   opencl_launch.c     loads candidates, runs one measured batch
 *   opencl_contents.c   copies what the arguments of a candidate hold (launch/contents.h)
 *
 * An ICD (installable client driver) is a vendor's implementation, which libOpenCL.so.1 loads. The
 * declarations are written here after the OpenCL 1.2 specification
 * (https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf); the numbers are those of its header.
 */
#ifndef AK_BACKEND_OPENCL_OPENCL_H
#define AK_BACKEND_OPENCL_OPENCL_H

#include "backend/backend.h"

/* ---- the library (opencl_api.c) -------------------------------------------------------------- */

typedef struct ak_opencl {
#define X(member, symbol, result, arguments) result(*member) arguments;
#include "backend/opencl/opencl_driver.def"
#undef X
} ak_opencl;

enum {
    AK_CL_BUFFER_FAILURE = -4,
    AK_CL_OUT_OF_RESOURCES = -5,
    AK_CL_OUT_OF_HOST_MEMORY = -6,
    AK_CL_BUILD_FAILURE = -11,
    AK_CL_INVALID_VALUE = -30,
    AK_CL_INVALID_BUFFER_SIZE = -61,
    /* These are not from the specification. AK_CL_HANGS: the work did not end in time.
       AK_CL_REFUSED: the outcome has already been written. AK_CL_NEVER_RAN: the first launch did
       not begin in time. */
    AK_CL_HANGS = -20001,
    AK_CL_REFUSED = -20002,
    AK_CL_NEVER_RAN = -20003
};

/* The state of an event; 0: its command has ended. */
enum { AK_CL_RUNNING = 1, AK_CL_SUBMITTED, AK_CL_QUEUED };

enum {
    AK_CL_PLATFORM_VERSION = 0x0901,
    AK_CL_PLATFORM_NAME = 0x0902,
    AK_CL_DEVICE_TYPE = 0x1000,
    AK_CL_DEVICE_COMPUTE_UNITS = 0x1002,
    AK_CL_DEVICE_WORK_GROUP_MAX = 0x1004,
    AK_CL_DEVICE_CLOCK_MHZ = 0x100C,
    AK_CL_DEVICE_CACHE_BYTES = 0x101E,
    AK_CL_DEVICE_MEMORY_BYTES = 0x101F,
    AK_CL_DEVICE_LOCAL_BYTES = 0x1023,
    AK_CL_DEVICE_AVAILABLE = 0x1027,
    AK_CL_DEVICE_COMPILER = 0x1028,
    AK_CL_DEVICE_NAME = 0x102B,
    AK_CL_DEVICE_DRIVER = 0x102D,
    AK_CL_DEVICE_VECTOR_FLOATS = 0x103A,
    AK_CL_CONTEXT_PLATFORM = 0x1084,
    AK_CL_PROGRAM_BINARY_SIZES = 0x1165,
    AK_CL_PROGRAM_BINARIES = 0x1166,
    AK_CL_BUILD_LOG = 0x1183,
    AK_CL_KERNEL_WORK_GROUP = 0x11B0,
    AK_CL_KERNEL_LOCAL_BYTES = 0x11B2,
    AK_CL_EVENT_STATUS = 0x11D3,
    AK_CL_PART_REGION = 0x1220,
    AK_CL_EVENT_START = 0x1282,
    AK_CL_EVENT_END = 0x1283
};
#define AK_CL_DEVICE_ALL      UINT64_C(0xFFFFFFFF)
#define AK_CL_DEVICE_IS_CPU   UINT64_C(2)
#define AK_CL_QUEUE_PROFILING UINT64_C(2)
#define AK_CL_READ_WRITE      UINT64_C(1)

/* A device and the platform that it belongs to. Both live as long as the process. */
typedef struct ak_opencl_place {
    void *platform, *device;
} ak_opencl_place;

#define AK_OPENCL_DEVICES_MAX 32
#define AK_OPENCL_PREFIX      "opencl:"

/* Loads the library, or returns AK_UNAVAILABLE with a line that says what to install. */
ak_status ak_opencl_open(const ak_opencl **out, ak_error *err);
/* Lists the devices that can compile, of the first 16 platforms and at most AK_OPENCL_DEVICES_MAX,
   in the order of the ICD loader, and returns how many there are. Their index is the number in
   "opencl:0". */
size_t ak_opencl_devices(ak_opencl_place out[AK_OPENCL_DEVICES_MAX], const ak_opencl *cl);
/* Finds the device "opencl:N". */
ak_status ak_opencl_find(ak_opencl_place *out, const ak_opencl *cl, const char *device,
                         ak_error *err);
/* Writes the name of an error, "CL_OUT_OF_RESOURCES", or "OpenCL error -9999" if it has none
   here. */
void ak_opencl_error_text(char *out, size_t bytes, int32_t code);
/* Writes "NAME=FOLDER" for PoCL's cache and creates the folder. PoCL crashes if it cannot create
   one itself, so every process of autokernel that loads PoCL names one. Writes "" if no folder can
   be created. */
void ak_opencl_pocl_cache(char *out, size_t bytes);
/* Creates a context of one device, which the caller releases; returns NULL and sets *code on
   failure. */
void *ak_opencl_context(const ak_opencl *cl, const ak_opencl_place *place, int32_t *code);

/* ---- knowing devices (opencl_inventory.c) ---------------------------------------------------- */

ak_status ak_opencl_probe(ak_device_visitor visit, void *context, ak_error *err);
ak_status ak_opencl_missing(const char *device, ak_error *err);
ak_status ak_opencl_facts(ak_scope *out, const char *device, int threads, ak_error *err);
ak_status ak_opencl_environment(json_t **out, const char *device, ak_error *err);
/* Gives a number that tells a device from those of other names, drivers or platforms; the task has
   it as the fact "identity". */
int64_t ak_opencl_identity(const ak_opencl *cl, const ak_opencl_place *place);
/* Adds "opencl": {"opencl:0": "VERSION, driver VERSION", ...}, or {"missing": WHY}. */
ak_status ak_opencl_describe(json_t *object, ak_error *err);
/* Runs the child `autokernel worker --opencl-inventory`, which writes one line of JSON. */
int ak_opencl_inventory_main(int argc, char **argv);

/* ---- compiling (opencl_compile.c) ------------------------------------------------------------ */

#define AK_OPENCL_BINARY_MAX (64u << 20)
/* Two options of a job that the OpenCL compiler does not get: name and identity of the device to
   compile for. */
#define AK_OPENCL_DEVICE_OPTION   "--device="
#define AK_OPENCL_IDENTITY_OPTION "--identity="

ak_status ak_opencl_compile(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
ak_status ak_opencl_folders(ak_compile_folders *out, const char *const *compilers, size_t count,
                            ak_error *err);
/* Runs the child `autokernel worker --opencl-compile SOURCE ARTIFACT DEVICE IDENTITY OPTIONS`; its
   log goes to stdout. */
int ak_opencl_compile_main(int argc, char **argv);
/* The device that a program is for. */
typedef struct ak_opencl_target {
    const ak_opencl *cl;
    void *context, *device;
} ak_opencl_target;
/* Creates and builds the program of an artifact; a 0 follows its `length` bytes. Returns 0 or the
   OpenCL error code; `why` then gets the first error of the build log, or the name of the error.
   *program may be set even after a failure; the caller releases it unless it is NULL. */
int32_t ak_opencl_load(void **program, char *why, size_t bytes, const ak_opencl_target *target,
                       const char *artifact, size_t length);

/* ---- rules (opencl_rules.c) ------------------------------------------------------------------ */

extern const ak_backend_rules ak_opencl_rules;

extern const ak_backend_ops ak_opencl_ops;

#endif
