/*
 * cuda_device.h: an open CUDA device and what runs on it; shared by the files of the backend that
 * need a device.
 *
 *   cuda.c           opening, memory, loading, one measured batch
 *   cuda_kernel.c    candidates: launch plans into launches
 *   cuda_matmul.c    cuBLASLt, to compare with
 *   cuda_cudnn.c     cuDNN, likewise
 *   cuda_torch.c     PyTorch in a process of its own, likewise
 *   cuda_ceilings.c  what the device can do at most
 *   cuda_gauge.c     its clocks, power and temperature, by NVML
 *   cuda_referee.c   the reference and the comparison, on the device
 *
 * All work goes into one stream. Timed batches rotate over copies of the arguments, so that no run
 * finds its data in the level 2 cache: `sets` places, of which number 0 is the block that the
 * harness fills and reads.
 */
#ifndef AK_BACKEND_CUDA_CUDA_DEVICE_H
#define AK_BACKEND_CUDA_CUDA_DEVICE_H

#include "backend/cuda/cuda.h"
#include "base/rng.h"

#define AK_CUDA_SETS_MAX 64
/* What NVIDIA recommends for Hopper is 32 MiB; more lets split-K algorithms in. The same for
   candidates is whatever their space file asks for. */
#define AK_CUDA_LIBRARY_WORKSPACE ((size_t)64 << 20)

typedef struct ak_cublaslt_state ak_cublaslt_state; /* cuda_matmul.c */
typedef struct ak_cudnn_state ak_cudnn_state;       /* cuda_cudnn.c */
typedef struct ak_torch_state ak_torch_state;       /* cuda_torch.c */
typedef struct ak_cuda_referee_code ak_cuda_referee_code;

struct ak_device {
    const ak_task *task;
    const ak_cuda_driver *cuda;
    int handle;
    bool retained; /* the context */
    void *stream, *events[2];
    int64_t sm_count, l2_bytes, shared_bytes_max;
    ak_cuda_address block; /* set 0 */
    size_t block_bytes;
    ak_cuda_address copies; /* sets 1.. */
    size_t copies_bytes;
    ak_cuda_address workspace;
    size_t workspace_bytes;
    unsigned generation; /* grows when memory moves: what was prepared before holds old addresses */
    ak_rng rng;
    bool lost; /* an error that only a new process cures */
    char why[160];
    char uuid[AK_UUID_BYTES]; /* "GPU-..." */
    ak_cuda_gauge gauge;
    ak_cublaslt_state *lt; /* NULL until the library is loaded; likewise: */
    ak_cudnn_state *dnn;
    ak_torch_state *torch;
    ak_cuda_referee_code *referee; /* NULL until one is needed */
    ak_ceilings ceilings;
};

/* Where the arguments of a launch are in each set. */
typedef struct ak_cuda_places {
    size_t sets;
    size_t first, span; /* of the block: what a set copies, red zones included */
    size_t stride;      /* between sets 1, 2, ... */
    size_t offset[AK_ARGUMENTS_MAX];
    size_t count;
} ak_cuda_places;
ak_cuda_address ak_cuda_place(const ak_device *device, const ak_cuda_places *places, size_t set,
                              size_t argument);

/* A candidate or a library. `prepare` is called before the first launch at a shape and place;
   `enqueue` puts one run on set `set` into the stream, and must be fit to be captured in a graph.
   Both return a CUresult, or write the outcome themselves and return AK_CUDA_REFUSED. */
#define AK_CUDA_REFUSED (-1)
typedef struct ak_cuda_work {
    int (*prepare)(ak_runnable *runnable, const ak_launch *launch, ak_outcome *outcome);
    int (*enqueue)(ak_runnable *runnable, size_t set);
    /* Instead of enqueue, for what runs in another process: a whole batch, as ak_cuda_time, with
       the output that is to be judged in set 0. Else NULL. */
    int (*batch)(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns,
                 ak_outcome *outcome);
    bool (*another)(ak_runnable *runnable); /* as in backend.h; NULL: there is only one way */
    void (*unload)(ak_runnable *runnable);  /* NULL: nothing to do */
    bool computes;                          /* false: its output is nothing to be judged */
} ak_cuda_work;

typedef struct ak_cuda_kernels ak_cuda_kernels; /* cuda_kernel.c */
typedef struct ak_cuda_product ak_cuda_product; /* cuda_matmul.c */
typedef struct ak_cuda_softmax ak_cuda_softmax; /* cuda_cudnn.c */

struct ak_runnable {
    ak_device *device;
    const ak_cuda_work *work;
    ak_outcome refusal; /* of load: status is not OK */
    bool prepared;
    unsigned generation; /* of the device, when it was prepared */
    ak_shape shape;      /* prepared for */
    ak_cuda_places places;
    double run_ns; /* of one run, in the latest batch; 0: none yet */
    void *graph;   /* of `graph_runs` runs, or NULL */
    uint32_t graph_runs;
    ak_overlap overlap; /* of what was last recorded */
    ak_cuda_kernels *kernels;
    ak_cuda_product *product;
    ak_cuda_softmax *softmax;
    size_t torch_way; /* cuda_torch.c */
};

/*
 * Libraries to compare with: one line each in cuda_libraries.def, one file each.
 */
typedef void (*ak_cuda_visitor)(void *context, const char *name, const char *title,
                                const char *version, bool installed, const char *note);
typedef struct ak_cuda_library {
    const char *prefix; /* what its names begin with */
    bool (*applies)(const ak_task *task);
    /* As `baselines` of backend.h. */
    ak_status (*list)(ak_device *device, const ak_task *task, ak_cuda_visitor visit, void *context,
                      ak_error *err);
    /* Sets what the runnable needs, its work among it; what cannot be loaded is in its refusal. */
    ak_status (*load)(ak_runnable *runnable, const char *name, ak_error *err);
    /* (optional) As `baseline_version` of backend.h. */
    void (*version)(char *out, size_t bytes, const ak_device *device, const char *name);
    void (*close)(ak_device *device); /* also where nothing was loaded */
} ak_cuda_library;
#define X(name) extern const ak_cuda_library ak_cuda_library_##name;
#include "backend/cuda/cuda_libraries.def"
#undef X

/* Writes an outcome; after an error that poisons the context the device is lost. */
void ak_cuda_conclude(ak_outcome *out, ak_device *device, int code, const char *doing);
void ak_cuda_refuse(ak_outcome *out, ak_trial_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same as an error: AK_NO_MEMORY or AK_CRASHED. */
ak_status ak_cuda_fail(ak_device *device, int code, const char *doing, ak_error *err);
/* Waits for the stream; AK_CUDA_ERROR_LAUNCH_TIMEOUT (and the device is lost) after timeout_ns. */
int ak_cuda_wait(ak_device *device, int64_t timeout_ns);
/* At least this much workspace; existing is kept. */
int ak_cuda_workspace(ak_device *device, size_t bytes);
/* Times `runs` runs of prepared work on rotating sets, graph included: nanoseconds in *ns. */
int ak_cuda_time(int64_t *ns, ak_runnable *runnable, uint32_t runs, int64_t timeout_ns);

/* cuda_kernel.c */
extern const ak_cuda_work ak_cuda_kernel_work;
ak_status ak_cuda_kernel_load(ak_runnable *runnable, const char *artifact, ak_error *err);

/* cuda_ceilings.c */
extern const ak_cuda_work ak_cuda_copy_work;
ak_status ak_cuda_ceilings(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err);
/* Compiles what this program carries (cuda_helpers.cu), and `text` behind it unless NULL, for the
   device and loads it. */
ak_status ak_cuda_helper(void **module, ak_device *device, const char *const *parts, size_t count,
                         const char *text, const char *const *options, size_t option_count,
                         ak_error *err);

/* cuda_referee.c */
extern const ak_referee_ops ak_cuda_referee_ops;
void ak_cuda_referee_close(ak_device *device);

#endif
