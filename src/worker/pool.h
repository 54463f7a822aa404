/*
 * pool.h: manages the processes of a run for the tuner: compile workers (by default one per core)
 * and one device worker per device. Each is a process of its own, so that a crash or a hang of one
 * does not harm the tuner.
 *
 * A pool is used from one thread, which submits jobs and waits for results. A job is compiled, then
 * queued for a device; later jobs compile while earlier ones are measured. After the caller has
 * received a device's result, that device starts its next job only when ak_pool_wait is called
 * again, so that the caller can store a trial durably first; other devices continue meanwhile.
 * wire.h describes the protocol.
 *
 * Several devices share trials: each trial goes to a free device, and trials begin when all devices
 * are ready. Checks, comparisons and questions go to one device only, the home: the first, or with
 * a launcher the first that is ready. A device worker that dies or hangs is started again and its
 * job is reported as crashed or timed out, while the other devices continue. What a compile worker
 * was compiling when it died is compiled again, a few times at most. A device whose worker dies
 * repeatedly without finishing a job is given up. If it was the home, another device becomes the
 * home; if none is left, or too few for trials to begin, waiting fails with AK_CRASHED
 * (AK_UNAVAILABLE with a launcher).
 *
 * With a launcher the device workers run on other machines. Trials begin when the number of workers
 * that `workers` demands is ready; others join later. If the connection to a worker breaks, its job
 * goes to the next free worker, twice at most, because the break says nothing about the
 * configuration. The machines of the workers also compile, each with the cores that it has for its
 * device; the tuner's machine compiles while none of them is ready. Artifacts that only a lost
 * machine had are compiled again.
 *
 * A backend that recalls (backend.h) has no processes: its pool answers jobs one after the other
 * when they are waited for, and the pool's clock advances by the recorded cost of each trial.
 */
#ifndef AK_WORKER_POOL_H
#define AK_WORKER_POOL_H

#include "backend/backend.h"
#include "base/fs.h"
#include "base/hash.h"
#include "judge/comparison.h"
#include "measure/timer.h"

typedef struct ak_pool ak_pool;

typedef struct ak_pool_options {
    int compile_workers; /* 0: one per core */
    /* Tasks for other implementations, whose configurations take part in comparisons or are tried.
       They must outlive the pool. Not for a pool with a launcher. */
    const ak_task *const *others;
    size_t other_count;
    int64_t compile_timeout_ns; /* 0: 60 s */
    int64_t launch_timeout_ns;  /* limit for one batch; 0: 30 s */
    size_t memory_max;          /* bytes for one compiler process; 0: 4 GiB */
    bool no_device;             /* compile only */
    bool every_device;          /* use all of the task's devices, not only the first */
    /* A compiled file and its entry `symbol`, which the pool uses for every configuration instead
       of compiling; NULL: the pool compiles. Both must outlive the pool. */
    const char *artifact, *symbol;
    /* The file `artifact` serves only the task's own sizes, so it is checked at no others. */
    bool own_sizes;
    /* As in ak_task_spec; NULL: the workers are processes of this machine. Both must outlive the
       pool. */
    const char *launcher, *workers;
    /* An environment as JSON. Workers on other machines are refused unless theirs is the same;
       NULL: any environment will do. */
    const char *environment;
    /* With a launcher: from this time of ak_clock_ns on, waiting fails with AK_UNAVAILABLE while no
       worker is ready, because a queued worker may never start. 0: no such limit. */
    int64_t deadline_ns;
    /* With a launcher: called when a worker's state has changed, and every ten seconds. It may
       call only ak_pool_workers. NULL: not called. */
    void (*workers_changed)(void *context, const ak_pool *pool);
    void *workers_context;
    const volatile int *cancel;
} ak_pool_options;

/* Opens a pool and starts its processes. `task` must outlive the pool; `options` NULL: all zero. */
ak_status ak_pool_open(ak_pool **out, const ak_task *task, const ak_pool_options *options,
                       ak_error *err);
/* Ends every worker and removes the run's temporary folder. */
void ak_pool_close(ak_pool *pool);
AK_END_AT(ak_pool_close, ak_pool)

typedef enum ak_job_kind {
    /* Compiles, checks on the task's shape and, unless specialised, on one edge-case shape of
       little work where the configuration is valid, and measures. */
    AK_JOB_TRIAL,
    /* Compiles and checks on the task's shape and, where the configuration is valid, on every
       edge-case shape and on hidden shapes (not with `own_sizes`); measures nothing. */
    AK_JOB_CHECK,
    /* Measures candidates in turns. Each configuration or library, except the one that only copies,
       is checked before and after. */
    AK_JOB_COMPARISON
} ak_job_kind;

typedef struct ak_comparison_candidate {
    const ak_task *task;     /* one of `others` in ak_pool_options; NULL: the pool's task */
    const char *baseline;    /* NULL: the candidate is `config` */
    const ak_config *config; /* compiled now unless this pool has compiled it already */
} ak_comparison_candidate;

typedef struct ak_job {
    ak_job_kind kind;
    uint64_t id; /* chosen by the caller; the result repeats it */
    ak_config config;
    const ak_task *task; /* whose space has `config`: one of `others`; NULL: the pool's task */
    ak_timer_plan timer; /* for AK_JOB_TRIAL */
    /* For trials and comparisons of an implementation that is in Triton or has an entry for the
       task's own sizes (`specialised` in problem.h): only the code for these sizes is compiled, and
       no edge-case shape is checked. A search uses this because it times that code; a configuration
       whose result is to be reported must be checked without it. */
    bool specialised;
    /* The rest is for AK_JOB_COMPARISON. */
    const ak_comparison_candidate *candidates;
    size_t candidate_count;
    ak_comparison_plan plan;
} ak_job;

typedef struct ak_result {
    uint64_t id;
    ak_job_kind kind;
    /* Index of the pool's device that did the job; SIZE_MAX: none did. 0 if it was recalled. */
    size_t device;
    /* Of a trial or check: status, reason, times, samples, errors, and what the compiler reported.
       The texts of the task are not filled in. */
    ak_trial trial;
    char *log; /* the compiler's output; NULL if empty */
    char artifact_hash[AK_HASH_BYTES];
    ak_comparison_entry *entries;
    size_t entry_count;
    ak_comparison_course course;
    bool waited; /* a trial's time has waits for a processor (ak_evaluator_waited) */
    /* The worker died or hung during a comparison; which candidate caused it is not known. */
    bool died;
} ak_result;
void ak_result_clear(ak_result *result);

/* Adds a job; `candidates` and what they point to, except tasks, need not outlive the call. After a
   failure the job is not in the pool. */
ak_status ak_pool_submit(ak_pool *pool, const ak_job *job, ak_error *err);
/* Returns whether results are recalled. Jobs do not overlap then, so that submitting more than one
   at a time gains nothing. */
bool ak_pool_recalls(const ak_pool *pool);
/* Returns the time of the run's clock. If results are recalled, that clock starts at 0 and advances
   by the cost of each trial and by what ak_pool_pass_ns adds, such as the time of recorded replies;
   otherwise it is the machine's. */
int64_t ak_pool_now_ns(const ak_pool *pool);
/* Advances the clock of a pool that recalls; has no effect on any other pool. */
void ak_pool_pass_ns(ak_pool *pool, int64_t ns);

/* Removes the submitted jobs that have not begun: no device runs them and none of their
   configurations is being compiled. They give no result. */
void ak_pool_withdraw(ak_pool *pool);
size_t ak_pool_pending(const ak_pool *pool); /* submitted, but without a result yet */
/* Returns how many devices get no more jobs because their workers died too often in a row, or could
   not be started or made ready. */
size_t ak_pool_given_up(const ak_pool *pool);
/* Returns why a device was given up last or, with a launcher, lost; "" if none was. */
const char *ak_pool_given_up_why(const ak_pool *pool);
/* Return the number of devices, and the index of the device with this name (0 if none has it). */
size_t ak_pool_devices(const ak_pool *pool);
size_t ak_pool_device_named(const ak_pool *pool, const char *name);
/* Returns how many configurations can be compiled at the same time now: by the compile workers of
   the fleet or, as long as none of its machines is ready, by those of this machine; 0 if results
   are recalled. */
size_t ak_pool_compile_workers(const ak_pool *pool);
/* Waits for a result. Returns AK_TIMED_OUT if nothing finished in time, AK_CANCELLED if the cancel
   flag was set, AK_NOT_FOUND if nothing is pending, and another error if the pool cannot continue
   or a job has ended without a result because the machine or the harness failed. The death of a
   worker is not an error (see the top of this file). */
ak_status ak_pool_wait(ak_result *out, ak_pool *pool, int64_t timeout_ns, ak_error *err);
/* Takes another result if one is queued, so that the caller can make several durable at once: none
   of their devices starts its next job before the next call of ak_pool_wait. Returns false if the
   queue is empty. */
bool ak_pool_take(ak_result *out, ak_pool *pool);

/* Writes the path of the artifact of a configuration of the pool's task: of the one for all sizes
   if there is one, else of the specialised one. Returns false if the configuration was not
   compiled, if its artifact was deleted or lies only on another machine that compiled it, or if
   results are recalled. Artifacts are deleted after failed trials and, for slow configurations, to
   save disk space. */
bool ak_pool_artifact(char out[AK_PATH_MAX], const ak_pool *pool, const ak_config *config);
/* Returns how long the parts of opening the task took on the home, as in docs/protocol.md:
   {"judge": "device", "inputs_ns": ...}; NULL before the home is ready, without a device (as when
   results are recalled) or without memory. The caller owns the object. */
json_t *ak_pool_preparation(const ak_pool *pool);
/* Returns what the workers of a pool with a launcher do, as docs/formats.md lists it; NULL: no
   memory. The caller owns the array. */
json_t *ak_pool_workers(const ak_pool *pool);
/* Ask the home's worker for its ceilings and its baselines, and block until it answers. If results
   are recalled, they give zeros and an empty list at once. The caller frees the baselines with
   ak_baseline_info_free. */
ak_status ak_pool_ceilings(ak_ceilings *out, ak_pool *pool, ak_error *err);
ak_status ak_pool_baselines(ak_baseline_info **out, size_t *count, ak_pool *pool, ak_error *err);
/* Gives devices, versions and so on for `autokernel doctor`, as JSON that the caller owns. A child
   process collects them, because libraries are loaded only in children. The ceilings, which take
   the most time, are measured only if `ceilings`. */
ak_status ak_pool_probe(json_t **out, bool ceilings, ak_error *err);

#endif
