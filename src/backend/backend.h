/*
 * backend.h: what a backend must offer, grouped by where it runs:
 *
 *   probe, facts, environment   know the device without opening it     any process
 *   compile                     source + options -> artifact file      a compile worker; no device
 *   open .. close               memory, load, launch                   the device's worker process
 *
 * A backend without a machine (sim/) has `recall` instead of everything that compiles, loads and
 * launches: the result and the cost of each configuration are known, and the pool's clock advances
 * by that cost.
 *
 * References, baselines of a problem and code of the harness may also be compiled where they are
 * used. The harness owns every buffer of arguments and the threads of candidates, and says what is
 * timed; the backend reads the clock. A backend is one folder and one line in backends.def;
 * docs/howto-backend.md says what else a new language of kernels touches. Members of ak_backend_ops
 * that are marked (optional) may be NULL.
 */
#ifndef AK_BACKEND_BACKEND_H
#define AK_BACKEND_BACKEND_H

#include "backend/launch/mixed.h"
#include "backend/reads.h"
#include "base/proc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "check/compare.h"
#include "check/guard.h"
#include "measure/conditions.h"
#include "measure/overlap.h"
#include "measure/roofline.h"
#include "problem/backend_rules.h"
#include "problem/task.h"

typedef void (*ak_device_visitor)(void *context, const char *device, const char *description);

/* One compilation. Every member is a number, a text or a path, so that a job can be sent to a
   compile worker. */
typedef struct ak_compile_job {
    const char *source_path; /* file with the whole source */
    const char *compiler;    /* NULL: the backend's default */
    const char *const *argv; /* options of the compiler */
    size_t argc;
    const char *folder;   /* where the compiler may write */
    const char *artifact; /* path of the file to write */
    /* Limit of processor time; ak_compile_limit derives the limit of elapsed time from it. */
    int64_t timeout_ns;
    size_t memory_max; /* bytes for the compiler and each of its children */
    /* The code may keep state between calls: true for references in C and for baselines that a
       problem brings, false for candidates. */
    bool keeps_state;
    /* NVRTC's code that spills more than a few registers, or is slow for another reason that the
       compiler reports, is REJECTED. Other compilers ignore this. */
    bool reject_slow;
    ak_proc_priority priority;
} ak_compile_job;

/* What a compile worker may read, and one folder that it may write to ("": none), besides the job's
   folder. */
typedef struct ak_compile_folders {
    ak_reads reads;
    char writable[AK_PATH_MAX];
} ak_compile_folders;

typedef struct ak_compile_result {
    ak_trial_status status; /* OK, COMPILE_ERROR, TIMED_OUT, REJECTED, OUT_OF_MEMORY */
    char *reason;           /* one line that says why it failed; NULL when ok */
    char *log;              /* bounded; NULL if empty */
    int64_t compile_ns;
    int registers, shared_bytes, spill_bytes; /* 0 if they have no meaning */
    int code_bytes;                           /* machine code in the artifact; 0: not known */
    char artifact_hash[AK_HASH_BYTES];        /* of the code; of the whole file if none is found */
    char file_hash[AK_HASH_BYTES];            /* of the whole file; shows a later change of it */
} ak_compile_result;
/* An artifact of more bytes is refused. */
#define AK_ARTIFACT_MAX (256u << 20)
void ak_compile_result_clear(ak_compile_result *result);

#define AK_UUID_BYTES 64

/* An open device with one block of memory for the arguments. */
typedef struct ak_device ak_device;
/* A loaded candidate or baseline. */
typedef struct ak_runnable ak_runnable;

/* The baseline of this name moves as many bytes as the problem must and computes nothing. It is a
   bound for other results, so its output is not judged and it wins no comparison. */
#define AK_BASELINE_COPY "copy"

/* Baselines whose names begin with this take seconds to start and take part only if the user asks
   for them. They are listed as installed; only loading one shows whether it is. */
#define AK_BASELINE_ON_DEMAND "torch-"

/* Called with each baseline. `note` says what is missing if the baseline is not installed, and may
   hold a remark, such as the number of threads, if it is. */
typedef void (*ak_baseline_visitor)(void *context, const char *name, const char *title,
                                    const char *version, bool installed, const char *note);

/* What to load: an artifact, a baseline or, on a CPU, neither: a runnable that only reads the
   arguments, with as many threads as the launch says (judge/cold.c). */
typedef struct ak_load {
    const ak_task *task; /* has the artifact's implementation; outlives the runnable; NULL: the task
                            that the device was opened for */
    const char *artifact;
    const char *baseline; /* "openblas", "openblas:Haswell" */
    const char *symbol;   /* the function of an artifact of the host; NULL: "ak_kernel". GPU
                             backends do not read it: the space file names their kernels. */
} ak_load;

/* At most this many iterations may have their own arguments. */
#define AK_PLACES_MAX 32

/* One launch. The block holds the arguments at `offset`; check/guard.h describes its layout. */
typedef struct ak_launch {
    const ak_task *task;
    const ak_shape *shape;
    const size_t *offset;
    const ak_config *config; /* NULL for baselines, references in C and reads */
    size_t workspace_bytes;
    int threads;
    uint32_t iterations;
    bool unpredicted; /* on a CPU: the branch predictors are made to forget the kernel first */
    bool unseen;      /* on a CPU, with one iteration or a stride: the inputs stay hidden until the
                         runner is ready */
    /* On a CPU: distance in bytes between the arguments of successive iterations, of which there
       may then be at most AK_PLACES_MAX; 0: all iterations use the same arguments. */
    size_t stride;
    /* On a CPU, with one iteration or a stride: a call before it, whose results are then changed,
       brings caches and predictors into the state of the middle of a batch. There is no such call
       if an argument is changed in place. */
    bool warmed;
    bool plain; /* on a CPU, for references and reads: outputs are not changed before a call */
    /* On a CPU where nothing is loaded: number of bytes that a call reads, in lines at equal
       distances across all arguments; 0: all bytes. */
    size_t reads;
    bool aside; /* sets aside the outputs of a run on other contents, if the backend can */
    /* CUDA and OpenCL: this is the last batch. If it is long enough, and no batch since the
       candidate was loaded was compared with runs on unseen contents, this one is. */
    bool last;
    int64_t timeout_ns; /* for all iterations together */
} ak_launch;

/* The result of a load or a launch. It is not an ak_error: a failed candidate is data. */
typedef struct ak_outcome {
    ak_trial_status status;
    char reason[240];
    /* Time for all iterations, minus the harness' own cost. It comes from a clock that the
       candidate cannot change: the worker's, or events of the device. */
    int64_t ns;
    /* The sum of two times: how long the candidate's threads and the worker's timing thread were
       ready to run but waited for a processor, and the part of `ns` that the calls may not have
       taken, because `ns` can be an upper bound. */
    int64_t waited_ns;
    bool waits_known; /* if false, waited_ns has no meaning */
    /* The block holds what a single run on the block's earlier contents has written, even if there
       were several iterations. */
    bool alone;
    /* `fetch_aside` has the outputs of a run on contents that are not in the block: input i of that
       run is input i of the block, changed as mixed[i] says. */
    bool aside;
    ak_mixed mixed[AK_ARGUMENTS_MAX];
} ak_outcome;
/* Sets status and reason, and clears the time. */
void ak_outcome_refuse(ak_outcome *out, ak_trial_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Refuses a candidate unless the red zones before and after its workspace are intact. */
void ak_outcome_whole(ak_outcome *out, bool before, bool after);
/* Refuses a candidate that did not end in time. */
void ak_outcome_endless(ak_outcome *out, int64_t timeout_ns);

/*
 * A referee: the reference and the comparison on the device itself, for arrays so large that
 * computing, fetching and comparing them on the host would take longer than the tuning. For one
 * shape it computes in double what reference.c computes, from the inputs in the block, and compares
 * every element of every output with that. The judge first compares the referee itself with
 * reference.c (judge/stage_referee.c).
 */
typedef struct ak_referee ak_referee;

typedef struct ak_referee_ops {
    /* Opens a referee for arguments at `offset` of the block. Returns AK_UNAVAILABLE if the problem
       has no reference for such devices, or if its dtypes, an argument that is read and written, or
       the device's memory do not allow one; the host then judges. */
    ak_status (*open)(ak_referee **out, ak_device *device, const ak_shape *shape,
                      const size_t *offset, ak_error *err);
    /* Computes the reference from what the block holds now. It is also called after `compare` has
       found that the reference was changed. */
    ak_status (*compute)(ak_referee *referee, ak_error *err);
    /* Gives the root mean square of the finite elements of an output's reference, and how many of
       its elements are NaN. */
    void (*describe)(size_t *nans, double *rms, const ak_referee *referee, size_t argument);
    /* Gives `count` elements of an output's reference, from `first` on. */
    ak_status (*values)(double *out, ak_referee *referee, size_t argument, size_t first,
                        size_t count, ak_error *err);
    /* Paints the gaps between the rows of an output (check/guard.h); does nothing if the rows
       adjoin. */
    ak_status (*paint_gaps)(ak_referee *referee, size_t argument, const ak_guard_stream *gaps,
                            ak_error *err);
    /* Compares an output as ak_compare_output does; `strays` counts what differs in the gaps
       between rows from what was last painted there. Clears *intact if the reference itself was
       changed: something has then written to the harness' memory, and the comparison says
       nothing. Of `with`, only `relative` and `rms` are read. */
    ak_status (*compare)(ak_compare_result *out, bool *intact, ak_referee *referee, size_t argument,
                         const ak_compare_with *with, ak_error *err);
    /* Hashes the bytes of an argument in the block, with a key that no candidate knows, so that
       none can find other bytes with the same hash. */
    ak_status (*fingerprint)(uint64_t *out, ak_referee *referee, size_t argument, ak_error *err);
    void (*close)(ak_referee *referee);
} ak_referee_ops;

/* Exit code of a role (ak_backend_role) that was started with arguments that autokernel itself
   never gives. */
#define AK_WORKER_EXIT_USAGE 2
/* Writes a text to the standard output, for roles that run as children. */
void ak_backend_say(const char *text);
/* A role of `autokernel worker` that only this backend has, such as `worker --runner 5 6`. The
   workers of the pool (worker/worker.c) are roles of every backend. */
typedef struct ak_backend_role {
    const char *option; /* "--runner" */
    /* Runs the role and returns the exit code; argv[2] is the option. */
    int (*main)(int argc, char **argv);
} ak_backend_role;

/* What a sanitizer found in a candidate. */
typedef struct ak_sanitized {
    bool ran;         /* false: `found` says why the sanitizer could not run */
    size_t shapes;    /* number of shapes at which it ran, or was to run if it ended early */
    const char *tool; /* name of the sanitizer, for reports */
    char found[320];  /* one line; "" if nothing was found */
} ak_sanitized;

typedef struct ak_backend_ops {
    const char *name, *description;
    const ak_backend_rules *rules; /* (optional) rules for its space files */
    const ak_backend_role *roles;  /* (optional) array of roles; the last has no option */

    ak_status (*probe)(ak_device_visitor visit, void *context, ak_error *err);
    /* (optional) Explains why there is no device of this name. Always fails, with a line that says
       what this machine has or why it has none. */
    ak_status (*missing)(const char *device, ak_error *err);
    /* (optional) Names of devices whose facts come from data sheets, NULL-terminated, and those
       facts. Their spaces can be examined on any machine, but nothing runs on them. */
    const char *const *sheets;
    ak_status (*sheet_facts)(ak_scope *out, const char *device, ak_error *err);
    /* (optional) For devices that `probe` cannot list: returns AK_OK if a device of this name
       exists, or if only the task can tell ("sim" alone). */
    ak_status (*find)(const char *device, ak_error *err);
    /* Gives the facts for expressions. Host: cpu_threads, vector_bytes, vector_registers, amx_bf16,
       l1d_bytes, l2_bytes, l3_bytes. `threads` is as in ak_task_spec. */
    ak_status (*facts)(ak_scope *out, const char *device, int threads, ak_error *err);
    /* Gives what a result depends on besides the source: the device's name, the versions of driver,
       Linux, compilers and libraries. It is hashed into every trial's key. */
    ak_status (*environment)(json_t **out, const char *device, ak_error *err);
    bool (*available)(void *context, const char *compiler); /* (optional) as in ak_space_spec */
    /* (optional) Returns how many dense floating-point operations the device does per clock of its
       arithmetic units, from its facts, by the vendor's tables; 0 if that is not known. */
    double (*flops_per_clock)(const ak_scope *facts, ak_dtype dtype);

    /* (optional) For `doctor`: names of facts to show, NULL-terminated; ceilings that can be
       measured without a task; and anything else, such as compilers and libraries, as members of
       the reply to `probe` (docs/protocol.md). */
    const char *const *shown_facts;
    ak_status (*quick_ceilings)(ak_ceilings *out, const char *device, ak_error *err);
    ak_status (*describe)(json_t *object, ak_error *err);
    /* (optional) Makes the task itself, if the device, such as a recording, brings the problem. */
    ak_status (*bind)(ak_task **out, const ak_task_spec *spec, const char *device, ak_error *err);

    /* (optional) Gives status, reason, samples and statistics of a configuration and, as
       measure_ns, what it cost in all. A backend that has this has no worker processes: `open` and
       `close` are called in the pool's process, and of the other members only those above. */
    ak_status (*recall)(ak_trial *out, ak_device *device, const ak_config *config, ak_error *err);

    /* Writes the whole text that the compiler gets: first what every kernel of this backend sees of
       the harness, then `text`, which messages call `name`. */
    ak_status (*source)(ak_buf *out, const char *text, const char *name, ak_error *err);
    ak_status (*compile)(ak_compile_result *out, const ak_compile_job *job, ak_error *err);
    const char *artifact_suffix; /* ".so" */
    /* (optional) Gives what a machine needs to run the artifact of a job, in the form that bundles
       use: for the host {"os", "architecture", "cpu_features": [...]}, and "tiles" if it uses the
       tile registers of AMX. `version` gets one line that names the compiler. */
    ak_status (*requires)(json_t **out, char *version, size_t bytes, const ak_compile_job *job,
                          ak_error *err);
    /* (optional) Builds a configuration with sanitizers, or for them, and runs it at the edge-case
       shapes, and on the host also at the task's own, that it allows and that are small enough.
       Only the host confines it. Blocks for seconds, at most some minutes; may be called in any
       process. */
    ak_status (*sanitize)(ak_sanitized *out, const ak_task *task, const ak_config *config,
                          ak_error *err);
    /* The device is the CPU itself, so a compiler first runs only on processors that are otherwise
       idle (SCHED_IDLE); the pool repeats at a usual priority what gets no processor. With other
       devices compilers have the lowest usual priority, because Linux treats a processor that runs
       only SCHED_IDLE tasks as idle and starts the next task there even if another processor is
       free (find_idlest_group_cpu in kernel/sched/fair.c, from 5.4 on). */
    bool is_cpu;
    /* (optional) Adds what else `compile` needs with these compilers to `out`, which already lists
       what every compiler reads and the installations of these. It is called in a compile worker,
       before the worker is confined. */
    ak_status (*folders)(ak_compile_folders *out, const char *const *compilers, size_t count,
                         ak_error *err);
    /* (optional) Returns the process that outlives a call of `compile` to serve the next; 0: none.
       After each call the compile worker ends every other process that the call left behind. */
    pid_t (*compiler_process)(void);

    ak_status (*open)(ak_device **out, const ak_task *task, ak_error *err);
    /* Reserves one block for all arguments; a later call for more bytes replaces it. `map` gives
       its address if the harness can access it. If `map` is NULL, `upload` and `download` copy. */
    ak_status (*reserve)(ak_device *device, size_t bytes, ak_error *err);
    void *(*map)(ak_device *device); /* (optional) */
    ak_status (*upload)(ak_device *device, size_t offset, const void *data, size_t bytes,
                        ak_error *err);
    ak_status (*download)(void *data, ak_device *device, size_t offset, size_t bytes,
                          ak_error *err);
    /* (optional) Writes the same element of 1, 2 or 4 bytes `count` times without sending them all.
     */
    ak_status (*fill)(ak_device *device, size_t offset, const void *element, size_t bytes,
                      size_t count, ak_error *err);
    /* Loads a candidate or baseline. `outcome` reports what cannot be loaded; the call fails if the
       harness fails, or if the name or the source of a baseline is wrong. */
    ak_status (*load)(ak_runnable **out, ak_device *device, const ak_load *load,
                      ak_outcome *outcome, ak_error *err);
    /* Runs one batch. After any outcome but OK the runnable is dead: only `unload` is allowed. */
    ak_status (*launch)(ak_outcome *out, ak_runnable *runnable, const ak_launch *launch,
                        ak_error *err);
    /* (optional) Gives a part of an argument that the latest launch has set aside, if its outcome
       says so; `offset` is in bytes from the argument's first element. */
    ak_status (*fetch_aside)(void *data, ak_runnable *runnable, size_t argument, size_t offset,
                             size_t bytes, ak_error *err);
    /* (optional) After a wrong result of a baseline: returns whether its library can do the work in
       another way. If so, the next launch uses that way, and this device never uses the wrong one
       again, even if the baseline is loaded anew. */
    bool (*another)(ak_runnable *runnable);
    void (*unload)(ak_runnable *runnable);
    /* (optional) Gives clocks, power, temperature and the reasons that held the clock back in the
       timed batches since the last call. */
    void (*conditions)(ak_conditions *out, ak_device *device);
    /* (optional) Gives the energy in joules that the device has used since a fixed moment in the
       past. Fails with one line that says why it cannot be read here. */
    ak_status (*joules)(double *out, ak_device *device, ak_error *err);
    /* (optional) Returns whether a kernel of a batch may begin before the previous one has ended;
       UNKNOWN until a batch of several runs has been timed, and if the driver does not tell. */
    ak_overlap (*overlap)(const ak_runnable *runnable);
    /* (optional) Tells equal devices apart: gives "GPU-5fd4f087-86f3-...", or "" if the driver does
       not tell. */
    void (*uuid)(char *out, size_t bytes, const ak_device *device);
    /* (optional) Returns whether the device had an error that only a new process cures. Every load
       and launch is refused from then on; the worker ends after its reply and is started again. */
    bool (*lost)(const ak_device *device);
    /* (optional) Measures what the device can do at most; without ceilings no result is judged too
       fast to be true. */
    ak_status (*ceilings)(ak_ceilings *out, ak_device *device, ak_dtype dtype, ak_error *err);
    /* (optional) Lists the baselines that apply to the task. If one is not installed, `note` says
       what is missing and how to install it. The call fails if one that the problem brings cannot
       be used. */
    ak_status (*baselines)(ak_device *device, const ak_task *task, ak_baseline_visitor visit,
                           void *context, ak_error *err);
    /* (optional) Gives what is known of a baseline's version only after it has run, such as the
       chosen algorithm; "" if there is nothing more to tell. */
    void (*baseline_version)(char *out, size_t bytes, const ak_device *device, const char *name);
    const ak_referee_ops *referee; /* (optional) */
    void (*close)(ak_device *device);
} ak_backend_ops;

/* Implements `source` for backends whose kernels see nothing of the harness: writes a #line
   directive with `name`, then `text`. */
ak_status ak_backend_source(ak_buf *out, const char *text, const char *name, ak_error *err);
/* Writes the file that the compiler gets for an implementation. */
ak_status ak_backend_write_source(const char *path, const ak_backend_ops *backend,
                                  const ak_implementation_spec *implementation, ak_error *err);
/* Refuses bytes that do not lie within the `reserved` bytes of a device's block. */
ak_status ak_backend_in_block(size_t reserved, size_t offset, size_t bytes, ak_error *err);

/* The table of backends.def, NULL-terminated. */
extern const ak_backend_ops *const ak_backends[];
ak_status ak_backend_find(const ak_backend_ops **out, const char *name, ak_error *err);
/* Finds a device and its backend. "auto" or NULL is the first device of the last backend in
   backends.def that has one; "host" is the CPU; "cuda:0" names backend and number, and "cuda" alone
   is the first device of that backend. A backend with `find` decides about the names that its
   `probe` does not list. */
ak_status ak_backend_device(const ak_backend_ops **out, char *device, size_t bytes,
                            const char *wanted, ak_error *err);

/* The largest number of devices that can share a run, and room for the name of one, such as
   "cuda:0". */
#define AK_DEVICES_MAX       16
#define AK_DEVICE_NAME_BYTES 64
/* Room for a list of names, or for one with a path, such as "sim:FILE". */
#define AK_DEVICE_LIST_BYTES (AK_PATH_MAX + 8)
/* The devices that share the trials of a run, in the order in which they were named or found. */
typedef struct ak_device_list {
    /* true: nothing can run on the device, whose facts come from a data sheet */
    bool sheet;
    char first[AK_DEVICE_LIST_BYTES];
    char all[AK_DEVICE_LIST_BYTES]; /* separated by commas */
    size_t count;
} ak_device_list;
/* Finds the devices of a run: one device as for ak_backend_device; all of a backend, "cuda:all"; or
   several, "cuda:0,cuda:1" or "cuda:0,1" for short. Several must be of one backend and have equal
   environments; they are at most AK_DEVICES_MAX, and none may be named twice. A backend with `find`
   gets the whole text as one name. A name from a backend's `sheets` also stands for one device. */
ak_status ak_backend_devices(const ak_backend_ops **out, ak_device_list *list, const char *wanted,
                             ak_error *err);

#endif
