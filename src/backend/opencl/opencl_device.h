/* opencl_device.h: an open device and a loaded candidate, for the files that run them:
   opencl_device.c, opencl_launch.c and opencl_contents.c. */
#ifndef AK_BACKEND_OPENCL_OPENCL_DEVICE_H
#define AK_BACKEND_OPENCL_OPENCL_DEVICE_H

#include "backend/launch/contents.h"
#include "backend/launch/launch.h"
#include "backend/opencl/opencl.h"
#include "base/rng.h"

#define AK_OPENCL_SETS_MAX 64
/* An ICD may compile for this long before the first launch of a kernel runs, as long as a
   compilation may by default (worker/pool_open.c). */
#define AK_OPENCL_BEGIN_NS INT64_C(60000000000)

/* Where the arguments of a shape lie: argument i, with its red zones, is `length` bytes of the
   block from `begin` on. */
typedef struct ak_opencl_layout {
    size_t count;
    size_t begin[AK_ARGUMENTS_MAX], length[AK_ARGUMENTS_MAX];
} ak_opencl_layout;

typedef struct ak_opencl_set {
    void *memory[AK_ARGUMENTS_MAX]; /* with the red zones */
    void *part[AK_ARGUMENTS_MAX];   /* from the first element on */
} ak_opencl_set;

struct ak_device {
    const ak_task *task;
    const ak_opencl *cl;
    ak_opencl_place place;
    void *context, *queue;
    int64_t cache_bytes, memory_bytes, work_group_max, local_bytes;
    void *block;
    size_t block_bytes;
    ak_opencl_layout layout;
    /* If there are several sets, the spare sets of launch/contents.h follow them. */
    ak_opencl_set sets[AK_OPENCL_SETS_MAX + AK_CONTENTS_SPARES];
    size_t set_count;
    /* Counts how often buffers of the sets or of the workspace were replaced. A kernel that was
       prepared with an earlier generation may refer to buffers that no longer exist. */
    unsigned generation;
    struct {
        void *memory, *part; /* `part` is `memory` from AK_GUARD_BYTES on */
        size_t bytes;
        ak_zones zones;
    } workspace;
    /* opencl_contents.c: the kernel that mixes contents, for elements of 1, 2, 4 and 8 bytes. */
    struct {
        void *program, *kernels[4];
    } mixing;
    ak_rng rng;
    bool lost;
    char why[160];
};

struct ak_runnable {
    ak_device *device;
    void *program;
    bool prepared;
    unsigned generation; /* generation of the device when the kernel was prepared */
    ak_shape shape;      /* the shape that this is prepared for */
    ak_launch_plan plan;
    void **kernels; /* index: set * plan.count + kernel; with their arguments */
    size_t kernel_count;
    int64_t fastest_ns; /* shortest time of the runs that were timed last; 0: unknown */
    ak_contents contents;
};

/* Times runs on rotating sets, from set `first` on, and waits for them. */
int32_t ak_opencl_time_runs(int64_t *ns, ak_runnable *runnable, uint32_t first, uint32_t runs,
                            int64_t timeout_ns);
/* The first function copies all arguments with their red zones from the block to a set, the second
   one back. */
int32_t ak_opencl_from_block(ak_device *device, size_t set);
int32_t ak_opencl_to_block(ak_device *device, size_t set);
/* opencl_device.c: waits for everything that is queued. */
int32_t ak_opencl_drain(ak_device *device);
/* Waits for an event and releases it. The device is lost if the command does not end in time, or if
   it failed (it then has a negative status), because what it left behind is unknown. */
int32_t ak_opencl_wait(ak_device *device, void *event, int64_t timeout_ns);
/* Does the same for the first launch of a kernel, before which an ICD may compile it for
   AK_OPENCL_BEGIN_NS: the limit counts from when the device says that the kernel runs, if it
   does. */
int32_t ak_opencl_wait_first(ak_device *device, void *event, int64_t timeout_ns);
/* Returns whether a code says that there is no memory. */
bool ak_opencl_is_memory(int32_t code);
/* Returns AK_OK if `code` is 0; else reports the call's error as AK_NO_MEMORY or AK_CRASHED. */
ak_status ak_opencl_fail(const ak_device *device, int32_t code, const char *doing, ak_error *err);
/* Writes the outcome of calls that returned `code`, unless it is AK_CL_REFUSED. */
void ak_opencl_conclude(ak_outcome *out, const ak_device *device, int32_t code, const char *doing);
/* Makes a buffer of `bytes` bytes, red zones included, and the part of it that begins after the
   first red zone. Returns 0 or the OpenCL error code; *memory may then be set, and is released with
   the others. */
int32_t ak_opencl_make_buffer(void **memory, void **part, ak_device *device, size_t bytes);
void ak_opencl_release_sets(ak_device *device);
/* The first function makes the workspace at least this large, sets its first `bytes` bytes to zero
   and paints the red zones around these. The second one checks whether these zones are
   unchanged. */
int32_t ak_opencl_clear_workspace(ak_device *device, size_t bytes);
int32_t ak_opencl_check_workspace(bool whole[2], ak_device *device, size_t bytes);

/* opencl_launch.c; as in backend.h */
ak_status ak_opencl_load_candidate(ak_runnable **out, ak_device *device, const ak_load *what,
                                   ak_outcome *outcome, ak_error *err);
ak_status ak_opencl_launch(ak_outcome *out, ak_runnable *runnable, const ak_launch *what,
                           ak_error *err);
void ak_opencl_unload(ak_runnable *runnable);

/* opencl_contents.c: the steps of a batch on several sets (launch/contents.h). The block gets what
   is judged. */
extern const ak_contents_ops ak_opencl_contents_ops;
/* Compiles the kernels that mix contents, unless they are there. Returns 0 or the OpenCL error
   code; after an error there is none of them, and the next call compiles them again. */
int32_t ak_opencl_contents_open(ak_device *device);
void ak_opencl_contents_close(ak_device *device);
ak_status ak_opencl_fetch_aside(void *data, ak_runnable *runnable, size_t argument, size_t offset,
                                size_t bytes, ak_error *err); /* as in backend.h */

#endif
