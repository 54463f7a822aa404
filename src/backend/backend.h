/*
 * backend.h: what a kind of device must offer, split by lifetime:
 *
 *   probe, facts, environment   know the device without opening it     any process
 *   compile                     source + options -> artifact file      a compile worker; no device
 *   open .. close               memory, load, launch                   the device's worker process
 *
 * A backend without a machine (sim/) has `recall` instead of all that compiles, loads and launches:
 * what a configuration comes to is known, and so is what it costs, by which the pool's clock goes.
 *
 * The harness owns every buffer, thread and clock. A backend is one folder and one line in
 * backends.def. Members marked (optional) may be NULL.
 */
#ifndef AK_BACKEND_BACKEND_H
#define AK_BACKEND_BACKEND_H

#include "base/fs.h"
#include "check/compare.h"
#include "measure/conditions.h"
#include "measure/overlap.h"
#include "measure/roofline.h"
#include "problem/task.h"

typedef void (*ak_device_visitor)(void *context, const char *device, const char *description);

/* One compilation. Everything is text or a path, so that it travels to a compile worker. */
typedef struct ak_compile_job {
    const char *source_path; /* whole source, written once a run */
    const char *compiler;    /* NULL: the backend's default */
    const char *const *argv; /* options */
    size_t argc;
    const char *folder;   /* artifacts go here */
    const char *artifact; /* the path to write */
    int64_t timeout_ns;
    size_t memory_max; /* of the compiler and its children each */
} ak_compile_job;

typedef struct ak_compile_result {
    ak_trial_status status; /* OK, COMPILE_ERROR, TIMED_OUT, REJECTED, OUT_OF_MEMORY */
    char *reason;           /* one line: the first error of the log; NULL when ok */
    char *log;              /* bounded and without control characters; NULL if empty */
    int64_t compile_ns;
    int registers, shared_bytes, spill_bytes; /* 0 where they mean nothing */
    char artifact_hash[33]; /* of the code: equal for configurations that compile to the same */
} ak_compile_result;
void ak_compile_result_clear(ak_compile_result *result);

#define AK_UUID_BYTES 64

typedef struct ak_device ak_device;     /* an open device with one block of argument memory */
typedef struct ak_runnable ak_runnable; /* a loaded candidate or a baseline */

/* A baseline of this name moves as many bytes as the problem must, and computes nothing: a bound to
   hold results against, never a competitor. Its output is not judged. */
#define AK_BASELINE_COPY "copy"

/* Baselines whose names begin so take seconds to start; they take part where they are asked for. */
#define AK_BASELINE_ON_DEMAND "torch-"

/* What to load: either an artifact or a baseline. */
typedef struct ak_load {
    const char *artifact;
    const char *baseline; /* "openblas", "openblas:Haswell" */
    const char *symbol;   /* entry of the artifact; NULL: "ak_kernel" */
} ak_load;

/* One launch. The block holds the arguments at `offset`; see check/guard.h. */
typedef struct ak_launch {
    const ak_task *task;
    const ak_shape *shape;
    const size_t *offset;
    const ak_config *config; /* NULL for a baseline */
    size_t workspace_bytes;
    int threads;
    uint32_t iterations;
    int64_t timeout_ns; /* for all of them */
} ak_launch;

/* What became of a launch. Not an ak_error: a failed candidate is data. */
typedef struct ak_outcome {
    ak_trial_status status;
    char reason[240];
    int64_t ns; /* for all iterations, by the harness' clock, its own cost subtracted */
} ak_outcome;

/*
 * A referee: the reference and the comparison on the device itself, for arrays so large that
 * computing, fetching and comparing them on the host would take longer than the tuning. It computes
 * in double what reference.c computes, from the inputs in the block, for one shape; every element
 * of every output is held against it there. Who uses one holds it against reference.c first
 * (worker/stage.c).
 */
typedef struct ak_referee ak_referee;

typedef struct ak_referee_ops {
    /* For arguments at `offset` of the block. AK_UNAVAILABLE if the problem has no reference for
       such devices, or its dtypes or the device's memory do not allow it: the host does it then. */
    ak_status (*open)(ak_referee **out, ak_device *device, const ak_shape *shape,
                      const size_t *offset, ak_error *err);
    /* From what is in the block now. Also after compare has found the reference damaged. */
    ak_status (*compute)(ak_referee *referee, ak_error *err);
    /* Elements of the reference of an output that are NaN, and its root mean square. */
    void (*describe)(size_t *nans, double *rms, const ak_referee *referee, size_t argument);
    /* Elements of it. */
    ak_status (*values)(double *out, ak_referee *referee, size_t argument, size_t first,
                        size_t count, ak_error *err);
    /* As ak_compare_output. `intact`: the reference is as it was computed; if not, something has
       written to the harness' own memory and the comparison says nothing. */
    ak_status (*compare)(ak_compare_result *out, bool *intact, ak_referee *referee, size_t argument,
                         double relative, double rms, ak_error *err);
    /* Of the bytes of an argument in the block: equal only for equal bytes, for all that a
       candidate can know. */
    ak_status (*fingerprint)(uint64_t *out, ak_referee *referee, size_t argument, ak_error *err);
    void (*close)(ak_referee *referee);
} ak_referee_ops;

typedef struct ak_backend_ops {
    const char *name, *description;

    ak_status (*probe)(ak_device_visitor visit, void *context, ak_error *err);
    /* (optional) Why there is no device of this name: always fails, with a line that says what this
       machine has, or why it has none. */
    ak_status (*missing)(const char *device, ak_error *err);
    /* (optional) Names of devices whose facts are known by their data sheets, NULL-terminated, and
       these: their spaces can be looked at on any machine, nothing can be run on them. */
    const char *const *sheets;
    ak_status (*sheet_facts)(ak_scope *out, const char *device, ak_error *err);
    /* (optional) For devices that probe cannot list: is there one of this name? */
    ak_status (*find)(const char *device, ak_error *err);
    /* Facts for expressions. Host: cpu_threads, vector_bytes, vector_registers, l1d_bytes,
       l2_bytes, l3_bytes. `threads` as in ak_task_spec. */
    ak_status (*facts)(ak_scope *out, const char *device, int threads, ak_error *err);
    /* What a result depends on besides the source: device name, compilers and versions, kernel,
       libraries; hashed into every trial's key. */
    ak_status (*environment)(json_t **out, const char *device, ak_error *err);
    bool (*available)(void *context, const char *compiler); /* (optional) as in ak_space_spec */
    /* (optional) Where the device decides more of a task than facts can say: instead of them. */
    ak_status (*bind)(ak_task **out, const ak_task_spec *spec, const char *device, ak_error *err);

    /* (optional) Status, reason, samples and statistics of a configuration, and as measure_ns what
       it cost in all. With it there are no worker processes: `open` and `close` are called where
       the pool is, and of the other members only those above. */
    ak_status (*recall)(ak_trial *out, ak_device *device, const ak_config *config, ak_error *err);

    /* The whole text that the compiler gets: what every kernel of this backend sees of the harness,
       then `text`, which is called `name` in messages. */
    ak_status (*source)(ak_buf *out, const char *text, const char *name, ak_error *err);
    ak_status (*compile)(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
    const char *artifact_suffix; /* ".so" */
    /* The device is the CPU itself: compilers run only where nothing else wants to (SCHED_IDLE).
       Elsewhere they have the lowest usual priority: Linux takes a processor on which only such
       tasks run for idle, and starts the next one there even if another is free
       (find_idlest_group_cpu in kernel/sched/fair.c, from 5.4 on). */
    bool is_cpu;
    /* (optional) Folders that `compile` reads beyond those of the system and the compilers, and
       writes beyond the job's: "" for none. Called before a compile worker is confined, and only
       there. */
    void (*folders)(char readable[AK_PATH_MAX], char writable[AK_PATH_MAX]);

    ak_status (*open)(ak_device **out, const ak_task *task, ak_error *err);
    /* One block for all arguments; a second call replaces it. `map` gives its address where the
       harness can touch it directly (NULL: not mapped, use upload and download). */
    ak_status (*reserve)(ak_device *device, size_t bytes, ak_error *err);
    void *(*map)(ak_device *device); /* (optional) */
    ak_status (*upload)(ak_device *device, size_t offset, const void *data, size_t bytes,
                        ak_error *err);
    ak_status (*download)(void *data, ak_device *device, size_t offset, size_t bytes,
                          ak_error *err);
    /* (optional) `count` times the same element of 2 or 4 bytes, without sending them all. */
    ak_status (*fill)(ak_device *device, size_t offset, const void *element, size_t bytes,
                      size_t count, ak_error *err);
    /* Fails only if the harness fails; a candidate that cannot be loaded is in `outcome`. */
    ak_status (*load)(ak_runnable **out, ak_device *device, const ak_load *load,
                      ak_outcome *outcome, ak_error *err);
    /* After any outcome but OK the runnable is dead: only unload is allowed. */
    ak_status (*launch)(ak_outcome *out, ak_runnable *runnable, const ak_launch *launch,
                        ak_error *err);
    /* (optional) Of a baseline of which the latest result was wrong: can its library do the work in
       another way? Then that is what the next launch does, and the wrong one is not done again on
       this device, whoever loads the baseline. */
    bool (*another)(ak_runnable *runnable);
    void (*unload)(ak_runnable *runnable);
    /* (optional) What the device did in the timed batches since it was last asked. */
    void (*conditions)(ak_conditions *out, ak_device *device);
    /* (optional) May kernels of its batches begin early? UNKNOWN until a batch of several runs has
       been timed. */
    ak_overlap (*overlap)(const ak_runnable *runnable);
    /* (optional) Which of several equal devices this is: "GPU-5fd4f087-86f3-...". */
    void (*uuid)(char *out, size_t bytes, const ak_device *device);
    /* (optional) Has the device had an error that only a new process cures? Every launch is refused
       from then on; the worker ends once it has answered, and is started again. */
    bool (*lost)(const ak_device *device);
    ak_status (*ceilings)(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err);
    /* Names and versions of the baselines that apply to the task and are installed. `note` says
       what is missing and how to install it where installed is false. */
    ak_status (*baselines)(ak_device *device, const ak_task *task,
                           void (*visit)(void *context, const char *name, const char *title,
                                         const char *version, bool installed, const char *note),
                           void *context, ak_error *err);
    /* (optional) The version of a baseline where more is known once it has run: which of its
       algorithms was chosen. "" if nothing is. */
    void (*baseline_version)(char *out, size_t bytes, const ak_device *device, const char *name);
    const ak_referee_ops *referee; /* (optional) */
    void (*close)(ak_device *device);
} ak_backend_ops;

/* The table: backends.def; NULL-terminated. */
extern const ak_backend_ops *const ak_backends[];
ak_status ak_backend_find(const ak_backend_ops **out, const char *name, ak_error *err);
/* "auto" is the first device of the last backend that has one; "host" is host. Splits "cuda:0". */
ak_status ak_backend_device(const ak_backend_ops **out, char *device, size_t bytes,
                            const char *wanted, ak_error *err);

/* Devices that share the trials of a run, in the order in which they were named. */
#define AK_DEVICES_MAX       16
#define AK_DEVICE_NAME_BYTES 64                /* of one that can share: "cuda:0" */
#define AK_DEVICE_LIST_BYTES (AK_PATH_MAX + 8) /* "sim:FILE" */
typedef struct ak_device_list {
    bool sheet; /* there is none: its data sheet is what is known of it */
    char first[AK_DEVICE_LIST_BYTES];
    char all[AK_DEVICE_LIST_BYTES]; /* with commas, if there are several */
    size_t count;
} ak_device_list;
/* One device as ak_backend_device has it; all of a backend, "cuda:all"; or several, "cuda:0,cuda:1"
   or "cuda:0,1" for short. Several must be of one backend and equal: what a result depends on
   (`environment`) is the same for all of them. What a backend with `find` is given is one name,
   whatever is in it. A name of `sheets` is one device, too. */
ak_status ak_backend_devices(const ak_backend_ops **out, ak_device_list *list, const char *wanted,
                             ak_error *err);

#endif
