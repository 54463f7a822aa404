/* opencl_device.h: an open device and a loaded candidate, for the two files that run them:
   opencl_device.c and opencl_contents.c. */
#ifndef AK_BACKEND_OPENCL_OPENCL_DEVICE_H
#define AK_BACKEND_OPENCL_OPENCL_DEVICE_H

#include "backend/launch/launch.h"
#include "backend/opencl/opencl.h"
#include "base/rng.h"

#define AK_OPENCL_SETS_MAX 64
/* What holds no candidate's arguments (opencl_contents.c). */
enum { AK_OPENCL_OWN, AK_OPENCL_OTHER, AK_OPENCL_SPARES };

/* Where the arguments of a shape lie: argument i, with its zones, is `length` bytes of the block
   from `begin` on. */
typedef struct ak_opencl_layout {
    size_t count;
    size_t begin[AK_ARGUMENTS_MAX], length[AK_ARGUMENTS_MAX];
} ak_opencl_layout;

typedef struct ak_opencl_set {
    void *memory[AK_ARGUMENTS_MAX]; /* with the zones */
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
    /* Behind the sets, where there are several, stand the spare ones. */
    ak_opencl_set sets[AK_OPENCL_SETS_MAX + AK_OPENCL_SPARES];
    size_t set_count;
    /* Counts how often the buffers were created. A kernel that was prepared with an earlier
       generation still refers to buffers that no longer exist. */
    unsigned generation;
    struct {
        void *memory, *part; /* `part` begins AK_GUARD_BYTES behind the start */
        size_t bytes;
        ak_guard_stream streams[2]; /* of the zones before and after, as painted */
        unsigned char painted[AK_GUARD_BYTES];
        unsigned rounds;
    } workspace;
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
    bool visited, looked; /* the sets hold what this has written; unseen contents were timed */
    size_t right_set;     /* the set that was judged last */
};

__attribute__((format(printf, 3, 4))) void ak_opencl_refuse(ak_outcome *out, ak_trial_status status,
                                                            const char *format, ...);
/* Times runs on rotating sets, from set `first` on, and waits for them. */
int32_t ak_opencl_time_runs(int64_t *ns, ak_runnable *runnable, uint32_t first, uint32_t runs,
                            int64_t timeout_ns);
/* Copies an argument with its zones between the block and a set. */
int32_t ak_opencl_from_block(ak_device *device, size_t set);
int32_t ak_opencl_to_block(ak_device *device, size_t set);
/* Waits for everything that is queued. */
int32_t ak_opencl_drain(ak_device *device);

/* Runs one batch of a candidate that has several sets, with contents that it cannot know
   (opencl_contents.c). The block gets what is judged. */
int32_t ak_opencl_contents_batch(int64_t *ns, ak_runnable *runnable, const ak_launch *launch,
                                 ak_outcome *out);

#endif
