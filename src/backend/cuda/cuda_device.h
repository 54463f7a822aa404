/*
 * cuda_device.h: an open CUDA device and what runs on it; for the files of the backend that need a
 * device.
 *
 *   cuda_device.c    opens the device, reserves memory, loads, runs one measured batch
 *   cuda_kernel.c    turns the launch plans of candidates into launches
 *   cuda_cubin.c     what compiled code may contain
 *   cuda_batch.c     times one batch
 *   cuda_contents.c  copies what the arguments of a candidate's batches hold (launch/contents.h)
 *   cuda_workspace.c the workspace and its red zones
 *   cuda_matmul.c    cuBLASLt, to compare with
 *   cuda_cudnn.c     cuDNN, to compare with
 *   cuda_torch.c     PyTorch in a process of its own, to compare with
 *   cuda_ceilings.c  measures what the device can do at most
 *   cuda_sampler.c   samples clocks, power and temperature through NVML
 *   cuda_referee.c   the reference and the comparison, on the device
 *
 * All work goes into one stream, except that of PyTorch's process. Timed batches rotate over copies
 * of the arguments, so that no run finds its data in the level 2 cache, if AK_CUDA_SETS_MAX copies
 * are enough for that and there is memory for them: there are `sets` places, of which number 0 is
 * the block that the harness fills and reads.
 */
#ifndef AK_BACKEND_CUDA_CUDA_DEVICE_H
#define AK_BACKEND_CUDA_CUDA_DEVICE_H

#include "backend/cuda/cuda.h"
#include "backend/launch/contents.h"
#include "base/clock.h"
#include "base/rng.h"

#define AK_CUDA_SETS_MAX 64
/* Workspace of libraries: NVIDIA recommends 32 MiB for Hopper; more admits further split-K
   algorithms. Candidates get what their space file asks for. */
#define AK_CUDA_LIBRARY_WORKSPACE ((size_t)64 << 20)

typedef struct ak_cublaslt_state ak_cublaslt_state; /* cuda_matmul.c */
typedef struct ak_cudnn_state ak_cudnn_state;       /* cuda_cudnn.c */
typedef struct ak_torch_state ak_torch_state;       /* cuda_torch.c */
typedef struct ak_cuda_referee_code ak_cuda_referee_code;

struct ak_device {
    const ak_task *task;
    const ak_cuda_driver *cuda;
    int handle;
    bool retained; /* the primary context must be released */
    void *stream, *events[2];
    int64_t sm_count, l2_bytes, shared_bytes_max;
    ak_cuda_address block; /* set 0 */
    size_t block_bytes;
    ak_cuda_address copies; /* sets 1, 2, ... */
    size_t copies_bytes;
    ak_cuda_address workspace;
    struct {
        /* The workspace begins AK_GUARD_BYTES after this. */
        ak_cuda_address memory;
        size_t bytes;
        ak_zones of;
    } zones;
    /* Counts how often memory has moved. Launches that were prepared for an earlier generation hold
       old addresses. */
    unsigned generation;
    ak_rng rng;
    bool lost; /* the device had an error that only a new process cures */
    char why[160];
    char uuid[AK_UUID_BYTES]; /* "GPU-..." */
    ak_cuda_sampler sampler;
    /* NULL until the library is loaded or, for PyTorch, while its process does not run. */
    ak_cublaslt_state *lt;
    ak_cudnn_state *dnn;
    ak_torch_state *torch;
    ak_cuda_referee_code *referee; /* NULL until it is needed */
    ak_ceilings ceilings;
    /* cuda_contents.c: the kernel that mixes contents, for elements of 1, 2, 4 and 8 bytes, and the
       one that writes inputs late. */
    struct {
        bool tried, ready;
        void *module, *functions[5];
    } mixing;
};

/* Where the arguments of a launch lie in each set. */
typedef struct ak_cuda_places {
    size_t sets;
    size_t first, span; /* the part of the block that a set copies, red zones included */
    size_t stride;      /* distance between sets 1, 2, ... */
    size_t offset[AK_ARGUMENTS_MAX];
    size_t count;
    bool has_spares; /* the spare places of launch/contents.h follow the sets */
    /* Index of the spare place that keeps the set to be judged: the place of the own contents or,
       if runs change these in place, one more. */
    size_t kept;
} ak_cuda_places;
ak_cuda_address ak_cuda_place(const ak_device *device, const ak_cuda_places *places, size_t set,
                              size_t argument);

#define AK_CUDA_REFUSED (-1)
/* A candidate or a library. `prepare` is called before the first launch at a shape and place, and
   again when the device's memory has moved. `enqueue` puts one run on set `set` into the stream, in
   such a way that a graph can capture it. Both return a CUresult. A function that gets `outcome`
   may write it and return AK_CUDA_REFUSED instead. */
typedef struct ak_cuda_work {
    int (*prepare)(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome);
    int (*enqueue)(ak_runnable *runnable, size_t set);
    /* Copies arguments that the code reads as variables of its module (`Constants`) to these
       variables, from the set that begins at the address `set`. This is not timed. NULL: nothing to
       copy. */
    int (*supply)(ak_runnable *runnable, ak_cuda_address set);
    /* Replaces `enqueue` for work in another process: runs a whole batch, as ak_cuda_time does, and
       leaves the output to be judged in set 0. NULL for all other work. */
    int (*batch)(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns,
                 ak_outcome *outcome);
    /* As in backend.h; NULL: there is only one way. */
    bool (*another)(ak_runnable *runnable);
    /* NULL: nothing to free. */
    void (*unload)(ak_runnable *runnable);
    /* false: the output of this work is not judged. */
    bool computes;
} ak_cuda_work;

typedef struct ak_cuda_kernels ak_cuda_kernels; /* cuda_kernel.c */
typedef struct ak_cuda_product ak_cuda_product; /* cuda_matmul.c */
typedef struct ak_cuda_softmax ak_cuda_softmax; /* cuda_cudnn.c */

/* A graph of `runs` runs; 0: there is none. */
typedef struct ak_cuda_graph {
    void *exec;
    uint32_t runs;
} ak_cuda_graph;

struct ak_runnable {
    ak_device *device;
    const ak_task *task; /* the device's task, or one that differs in the implementation */
    const ak_cuda_work *work;
    ak_outcome refusal; /* result of load, if its status is not OK */
    bool prepared;
    unsigned generation; /* the device's, when this was prepared */
    ak_shape shape;      /* the shape that this is prepared for */
    ak_cuda_places places;
    double run_ns;             /* time of one run in the latest batch; 0: none yet */
    ak_cuda_graph graph, turn; /* turn: for batches of one run on each set; graph: for the latest
                                  other batch of several runs */
    ak_overlap overlap;        /* of the graph that was last recorded */
    ak_contents contents;
    bool has_constants; /* a kernel reads arguments as variables of its module */
    bool begins_early;  /* its first kernel may begin before what precedes it has ended */
    ak_cuda_kernels *kernels;
    ak_cuda_product *product;
    ak_cuda_softmax *softmax;
    size_t torch_way; /* index of a way in cuda_torch.c */
};

/*
 * Libraries to compare with: each has a line in cuda_libraries.def and a file of its own.
 */
typedef struct ak_cuda_library {
    const char *prefix; /* beginning of the names of its baselines */
    bool (*applies)(const ak_task *task);
    /* Lists the baselines of the library as `baselines` of backend.h does. */
    ak_status (*list)(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                      void *context, ak_error *err);
    /* Sets the members of the runnable that the library needs, among them `work`. If the baseline
       cannot be loaded, `refusal` of the runnable says why. Returns AK_NOT_FOUND, without a
       message, if there is none of this name. */
    ak_status (*load)(ak_runnable *runnable, const char *name, ak_error *err);
    /* (optional) Gives the version as `baseline_version` of backend.h does. */
    void (*version)(char *out, size_t bytes, const ak_device *device, const char *name);
    /* Also called if nothing was loaded. */
    void (*close)(ak_device *device);
} ak_cuda_library;
#define X(name) extern const ak_cuda_library ak_cuda_library_##name;
#include "backend/cuda/cuda_libraries.def"
#undef X

/* Writes the outcome of a CUDA call that returned `code`. After an error that makes the context
   unusable, the device is lost. */
void ak_cuda_conclude(ak_outcome *out, ak_device *device, int code, const char *doing);
/* Does the same as ak_cuda_conclude, but returns AK_OK, AK_NO_MEMORY or AK_CRASHED. */
ak_status ak_cuda_fail(ak_device *device, int code, const char *doing, ak_error *err);
/* cuda_sampler.c: these implement `conditions` and `joules` of backend.h. */
void ak_cuda_conditions(ak_conditions *out, ak_device *device);
ak_status ak_cuda_joules(double *out, ak_device *device, ak_error *err);
/* Limit for work that the harness itself has put into the stream. */
#define AK_CUDA_DRAIN_NS (30 * AK_SECOND_NS)
/* Waits for the stream. Returns AK_CUDA_ERROR_LAUNCH_TIMEOUT after timeout_ns; the device is then
   lost. */
int ak_cuda_wait(ak_device *device, int64_t timeout_ns);
/* Makes an allocation at least this large. If it grows, its contents are lost and the device gets a
   new generation. Returns the driver's code; after a failure to grow there is no allocation. */
int ak_cuda_grow(ak_cuda_address *memory, size_t *have, size_t bytes, ak_device *device);
/* Time between two queries of a stream, so that waiting does not take a core. */
#define AK_CUDA_POLL_NS (20 * 1000)

/* cuda_batch.c: times `runs` runs of prepared work on rotating sets, as a graph, or one run on
   `set`. *ns is the time of all runs. */
int ak_cuda_time_runs(int64_t *ns, ak_runnable *runnable, uint32_t runs, size_t set,
                      int64_t timeout_ns);
/* Copies set 0 to the others that the runs use, and times runs on them. */
int ak_cuda_time(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns);
/* Does what ak_cuda_time does. If the work computes, then copies one of the sets that were used,
   drawn at random, to set 0, which the harness judges. */
int ak_cuda_batch(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns);
/* Destroys the recorded graphs. */
void ak_cuda_batch_forget(ak_runnable *runnable);

/* cuda_contents.c: the steps of a batch of a candidate (launch/contents.h). Set 0 gets what is
   judged. */
extern const ak_contents_ops ak_cuda_contents_ops;
/* Compiles the kernels that mix contents and write inputs late, once. If that fails, as without
   NVRTC, there are none: contents change places by whole rows, and no inputs are late. */
void ak_cuda_contents_open(ak_device *device);
ak_status ak_cuda_fetch_aside(void *data, ak_runnable *runnable, size_t argument, size_t offset,
                              size_t bytes, ak_error *err); /* as in backend.h */

/* cuda_workspace.c: makes the workspace at least this large; keeps a larger one. Makes none for 0
   bytes. */
int ak_cuda_workspace(ak_device *device, size_t bytes);
/* The first function paints the red zones around the first `bytes` of the workspace
   (check/guard.h); the second one checks whether they are unchanged. */
int ak_cuda_workspace_paint(ak_device *device, size_t bytes);
int ak_cuda_workspace_check(bool whole[2], ak_device *device, size_t bytes);

/* cuda_kernel.c */
extern const ak_cuda_work ak_cuda_kernel_work;
ak_status ak_cuda_kernel_load(ak_runnable *runnable, const char *artifact, ak_error *err);

/* cuda_cubin.c: refuses code that could keep state from run to run, or calls functions of the
   driver. */
void ak_cuda_cubin_judge(ak_outcome *out, const void *file, size_t length);

/* cuda_ceilings.c */
extern const ak_cuda_work ak_cuda_copy_work;
ak_status ak_cuda_ceilings(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err);
/* The source of a kernel of the harness: the assets named in `parts` (such as cuda_helpers.cu),
   then `text` unless it is NULL. */
typedef struct ak_cuda_source_parts {
    const char *const *parts;
    size_t count;
    const char *text;
    ak_dtype dtype; /* for -Ddtype_is_f16=1 */
    const char
        *architecture_feature;  /* behind the architecture's number: "a" for sm_90a; NULL: none */
    const char *const *options; /* more options, at most AK_CUDA_HELPER_OPTIONS_MAX */
    size_t option_count;
} ak_cuda_source_parts;
#define AK_CUDA_HELPER_OPTIONS_MAX (AK_CHOICES_MAX + 16)
/* Compiles the source for the device and loads the result. The caller unloads the module. */
ak_status ak_cuda_helper(void **module, ak_device *device, const ak_cuda_source_parts *source,
                         ak_error *err);

/* cuda_referee.c */
extern const ak_referee_ops ak_cuda_referee_ops;
void ak_cuda_referee_close(ak_device *device);

#endif
