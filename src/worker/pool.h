/*
 * pool.h: the processes of a run, seen from the tuner: compile workers (one per core) and one
 * device worker per device, all children that may crash or hang without hurting anybody.
 *
 * Single-threaded: submit jobs, wait for outcomes. A job is compiled, then queued for a device;
 * compiling of later jobs overlaps measuring of earlier ones. A device does not start its next
 * job until ak_pool_wait is called again after it gave out the last outcome of that device, so the
 * caller can make a trial durable first; other devices go on meanwhile. Protocol: protocol.h.
 *
 * Several devices share trials: each goes to one that is free, and trials begin when all are ready.
 * Checks, duels and questions go to the first device only. A device whose worker dies is started
 * again, and its job is reported as crashed, while the others go on. One that dies again and again,
 * with no job that finished between, is given up; if it is the first, waiting fails: AK_CRASHED.
 *
 * A backend that recalls (backend.h) has no processes: a job is answered when it is waited for, one
 * after the other, and the pool's clock goes by what trials cost.
 */
#ifndef AK_WORKER_POOL_H
#define AK_WORKER_POOL_H

#include "backend/backend.h"
#include "measure/conditions.h"
#include "measure/overlap.h"
#include "measure/pace.h"
#include "measure/timer.h"

typedef struct ak_pool ak_pool;

typedef struct ak_pool_options {
    int compile_workers;        /* 0: one per core */
    int64_t compile_timeout_ns; /* 0: 60 s */
    int64_t launch_timeout_ns;  /* 0: 30 s, for one batch */
    size_t memory_max;          /* of one compiler process; 0: 4 GiB */
    bool no_device;             /* compile only */
    bool every_device;          /* all of the task's devices; default: the first */
    const volatile int *cancel;
} ak_pool_options;

ak_status ak_pool_open(ak_pool **out, const ak_task *task, const ak_pool_options *options,
                       ak_error *err);
void ak_pool_close(ak_pool *pool); /* kills every child, removes the run's temporary folder */

typedef enum ak_job_kind {
    AK_JOB_TRIAL, /* compile, check on the task's shape and, unless own_size, an awkward one;
                     measure */
    AK_JOB_CHECK, /* compile, check on every awkward size and the task's own; no timing */
    AK_JOB_DUEL /* measure contestants interleaved; those with a config are checked before and after
                 */
} ak_job_kind;

typedef struct ak_duelist {
    const char *baseline;    /* or NULL: config */
    const ak_config *config; /* already compiled in this pool, or compiled now */
} ak_duelist;

/* Rounds that every duel has, however little time it is given. */
#define AK_DUEL_ROUNDS_MIN 9
typedef struct ak_duel_plan {
    double seconds;      /* for the whole duel */
    const ak_pace *pace; /* NULL: interleaved */
} ak_duel_plan;

typedef struct ak_job {
    ak_job_kind kind;
    uint64_t id; /* the caller's; comes back in the result */
    ak_config config;
    ak_timer_plan timer; /* of a trial */
    /* Of a trial or duel: where the implementation has an entry for the task's own sizes, nothing
       else is compiled and no awkward shape is run. For a search, which times that entry; whoever
       claims something of a configuration has it checked as a whole. */
    bool own_size;
    /* of a duel */
    const ak_duelist *duelists;
    size_t duelist_count;
    ak_duel_plan plan;
} ak_job;

/* One contestant of a duel. samples_ms[r] of all contestants belong to the same round. */
typedef struct ak_duel_entry {
    ak_trial_status status;
    char *reason;
    char *version; /* of a library that knows more of itself once it has run; else NULL */
    double *samples_ms;
    size_t sample_count;
    ak_conditions conditions;
    ak_overlap overlap;
} ak_duel_entry;

typedef struct ak_result {
    uint64_t id;
    ak_job_kind kind;
    size_t device; /* the place among the task's of that which did it; SIZE_MAX: none of them */
    ak_trial
        trial; /* status, reason, times, samples, errors; texts of the task are not filled in */
    char *log; /* of the compiler; NULL if empty */
    char artifact_hash[33];
    bool repeated; /* compiled to the same code as an earlier job: samples are those of that one */
    ak_duel_entry *entries;
    size_t entry_count;
} ak_result;
void ak_result_clear(ak_result *result);

ak_status ak_pool_submit(ak_pool *pool, const ak_job *job, ak_error *err);
/* Are results recalled? Then only one job at a time makes sense: nothing overlaps. */
bool ak_pool_recalls(const ak_pool *pool);
/* The clock of the run: the machine's or, if results are recalled, one that starts at 0 and goes by
   what trials cost and by what is added for others, such as replies that were recorded too. */
int64_t ak_pool_now_ns(const ak_pool *pool);
void ak_pool_pass_ns(ak_pool *pool, int64_t ns); /* of the machine's clock: nothing */

/* Takes back what has been submitted and not begun: jobs that the device is not at and of which
   nothing is being compiled. There will be no result for them. */
void ak_pool_withdraw(ak_pool *pool);
size_t ak_pool_pending(const ak_pool *pool); /* submitted, no result yet */
/* Devices whose workers died too often in a row, and that get no more jobs. Never the first:
   without it the run ends. */
size_t ak_pool_given_up(const ak_pool *pool);
size_t ak_pool_compiling(const ak_pool *pool); /* of these, not compiled yet */
/* AK_TIMED_OUT if nothing finished in time, AK_CANCELLED if the cancel flag was set, AK_NOT_FOUND
   if nothing is pending. A worker that died is restarted and its job is reported as crashed. */
ak_status ak_pool_wait(ak_result *out, ak_pool *pool, int64_t timeout_ns, ak_error *err);

/* What the device worker needed to open the task, as in docs/protocol.md: {"judge": "device",
   "inputs_ns": ...}; NULL before it has, or if there is no memory. The caller's. */
json_t *ak_pool_preparation(const ak_pool *pool);
/* Asked of the device worker; each blocks. */
ak_status ak_pool_ceilings(ak_ceilings *out, ak_pool *pool, ak_error *err);
typedef struct ak_baseline_info {
    char *name, *title, *version, *note;
    bool installed;
} ak_baseline_info;
ak_status ak_pool_baselines(ak_baseline_info **out, size_t *count, ak_pool *pool, ak_error *err);
void ak_baseline_info_free(ak_baseline_info *list, size_t count);
/* Host loads libraries only in a child: devices, versions and so on for doctor, as JSON. */
ak_status ak_pool_probe(json_t **out, ak_error *err);

#endif
