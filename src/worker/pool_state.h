/*
 * pool_state.h: the insides of a pool, for the files that share them:
 *
 *   pool_job.c      jobs, the units they need compiled, their results
 *   pool_worker.c   worker processes; compiling
 *   pool_device.c   what device workers are given, and what they answer
 *   pool_ask.c      questions to a device worker
 *   pool_recall.c   a pool without processes
 *   pool.c          opening, waiting, closing, and workers that die
 */
#ifndef AK_WORKER_POOL_STATE_H
#define AK_WORKER_POOL_STATE_H

#include "base/map.h"
#include "base/proc.h"
#include "worker/message.h"

#define AK_POOL_WORKERS_MAX 256
/* Beyond its own limits a worker gets this much more before it is taken for hung. */
#define AK_POOL_SPARE_NS (60 * AK_SECOND_NS)
/* A trial makes at most some hundred launches; a check a few for each shape. Each may take its
   time-out, but then the first that does ends the job. This is for a worker that has lost its way.
 */
#define AK_POOL_DEVICE_JOB_NS (3600 * AK_SECOND_NS)
/* How often the cancel flag is looked at. */
#define AK_POOL_CANCEL_POLL_NS (100 * AK_MS_NS)
#define AK_POOL_NONE           SIZE_MAX

typedef enum ak_unit_state { AK_UNIT_WAITING, AK_UNIT_COMPILING, AK_UNIT_COMPILED } ak_unit_state;

typedef struct ak_pool_unit { /* one configuration's way to an artifact */
    ak_unit_state state;
    ak_config config;
    bool own_size; /* without the entry for other sizes: another unit than that with it */
    char *text;    /* canonical */
    char *artifact;
    ak_compile_result compiled;
    size_t users; /* jobs that need it */
    double median_ms;
    bool deleted; /* the artifact is gone: compile again */
} ak_pool_unit;

typedef struct ak_pool_job {
    ak_job_kind kind;
    uint64_t id;
    ak_timer_plan timer;
    ak_duel_plan plan;
    size_t count;     /* contestants; 1 for a trial or check */
    size_t *units;    /* of each; AK_POOL_NONE for a baseline */
    char **baselines; /* of each; NULL for a configuration */
    int64_t begin_ns;
    size_t on; /* device that has it; AK_POOL_NONE: none yet */
} ak_pool_job;

typedef struct ak_pool_worker {
    ak_proc proc;
    ak_line_reader reader;
    bool busy;
    size_t at;        /* unit (compile worker) */
    int64_t deadline; /* of what it is at */
    int deaths;       /* in a row: nothing that it was given has finished between */
} ak_pool_worker;

/* What a device worker is asked; it does one thing at a time. */
typedef enum ak_device_state {
    AK_DEVICE_CLOSED,
    AK_DEVICE_OPENING,
    AK_DEVICE_FREE,
    AK_DEVICE_JOB,
    AK_DEVICE_ASKED,
    AK_DEVICE_LOST,    /* it has answered, and that was its last */
    AK_DEVICE_GIVEN_UP /* it died too often, or could not be opened again: the others go on */
} ak_device_state;

/* One device and its worker. Number 0 is where everything is measured that claims rest on. */
typedef struct ak_pool_device {
    ak_pool_worker worker;
    char name[AK_DEVICE_NAME_BYTES];
    char uuid[AK_UUID_BYTES]; /* "" until it is open, or if it has none */
    ak_device_state state;
    ak_pool_job *job;
    size_t given; /* trials, so far */
    bool opened;  /* has been ready at least once */
    bool held;    /* the caller has not dealt with its last outcome: it gets no job until then */
} ak_pool_device;

typedef struct ak_pool_outcome { /* of code that has been measured */
    ak_trial trial;
} ak_pool_outcome;

struct ak_pool {
    const ak_task *task;
    const ak_backend_ops *backend;
    ak_pool_options options;
    ak_fs_owned folder;
    char source[AK_PATH_MAX], program[AK_PATH_MAX];
    ak_pool_worker *compilers;
    size_t compiler_count;
    ak_pool_device *devices;
    size_t device_count;
    json_t *prepared; /* what the first device's worker said when it was ready */
    json_t *answer;   /* to what was asked */
    int64_t asked;    /* id of the question that somebody still waits for */
    ak_error fault;   /* a device or all compilers are beyond repair */
    ak_pool_unit *units;
    size_t unit_count, unit_capacity, next_unit;
    size_t artifacts;   /* on disk */
    ak_map *unit_of;    /* by text and own_size */
    ak_pool_job **jobs; /* in order; a job leaves when its result is made */
    size_t job_count, job_capacity;
    ak_result *results; /* ready to be given out */
    size_t result_count, result_capacity, result_first;
    size_t given_out; /* device of the result that the caller has now; AK_POOL_NONE */
    ak_pool_outcome *outcomes;
    size_t outcome_count, outcome_capacity;
    ak_map *outcome_of; /* by key */
    int64_t next_request;
    ak_device *recorded; /* of a backend that recalls, which is all there is then; else NULL */
    int64_t now_ns;      /* its clock */
};

/* pool_job.c */

/* Puts a result where ak_pool_wait finds it. Takes its contents, also on failure. */
ak_status ak_pool_give(ak_pool *pool, ak_result *result, ak_error *err);
/* What was measured, without the times that the job itself took. */
ak_status ak_pool_copy_outcome(ak_trial *out, const ak_trial *from, ak_error *err);
bool ak_pool_job_compiled(const ak_pool *pool, const ak_pool_job *j);
/* Removes a job from the pool and frees it. */
void ak_pool_job_leave(ak_pool *pool, ak_pool_job *j);
void ak_pool_job_free(ak_pool_job *j);
/* A result with what compiling found out; the caller clears it, also on failure. */
ak_status ak_pool_result_begin(ak_result *out, const ak_pool *pool, const ak_pool_job *j,
                               ak_error *err);
/* Ends a job that never got to the device, or died there. For a duel, the contestants that could
   not be compiled say so and the rest share the reason. */
ak_status ak_pool_job_fails(ak_pool *pool, ak_pool_job *j, ak_trial_status trial_status,
                            const char *reason, ak_error *err);

/* pool_worker.c */

void ak_pool_worker_stop(ak_pool_worker *w);
/* Sends {"op": op, "id": ...} with the fields of `request`, which is taken. */
ak_status ak_pool_worker_ask(ak_pool_worker *w, ak_pool *pool, const char *op, json_t *request,
                             int64_t limit_ns, ak_error *err);
ak_status ak_pool_compiler_start(ak_pool *pool, ak_pool_worker *w, ak_error *err);
ak_status ak_pool_device_start(ak_pool *pool, ak_pool_device *d, ak_error *err);
/* The run cannot go on; the first reason is kept. */
void ak_pool_fault(ak_pool *pool, const ak_error *err);
/* Gives waiting units to free compile workers. */
void ak_pool_compile(ak_pool *pool);
/* Compiled, with this result. */
void ak_pool_unit_fails(ak_pool_unit *u, ak_trial_status status, const char *reason);
void ak_pool_compiler_replied(ak_pool *pool, ak_pool_worker *w, const json_t *reply);

/* pool_device.c */

/* Settles what needs no device and hands each free device its next job. Only for ak_pool_wait: see
   pool.h. */
ak_status ak_pool_feed_devices(ak_pool *pool, ak_error *err);
ak_status ak_pool_device_replied(ak_pool *pool, ak_pool_device *d, json_t *reply, ak_error *err);

/* pool_recall.c */

/* Answers the first job. */
ak_status ak_pool_recall(ak_pool *pool, ak_error *err);

/* pool.c */

bool ak_pool_cancelled(const ak_pool *pool);
/* Starts what can be started, waits at most `wait_ns` for something to happen, and deals with
   it. */
ak_status ak_pool_turn(ak_pool *pool, int64_t wait_ns, bool feed_devices, ak_error *err);

#endif
