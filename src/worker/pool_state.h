/*
 * pool_state.h: the internals of a pool, for the files that share them:
 *
 *   pool_job.c      submits jobs, finds the units they need, makes their results
 *   pool_worker.c   starts worker processes and compiles units
 *   pool_device.c   gives jobs to device workers and handles their replies
 *   pool_outcome.c  keeps the outcomes of code that was measured
 *   pool_fleet.c    manages workers on other machines, chooses the home
 *   pool_core.c     compiles units on those machines
 *   pool_states.c   reports the states of these workers
 *   pool_travel.c   exchanges files with workers that share no folder with the tuner
 *   pool_ask.c      asks a device worker questions
 *   pool_recall.c   answers jobs of a pool without processes
 *   pool_open.c     opens and closes
 *   pool_turn.c     waits, and restarts workers that died
 */
#ifndef AK_WORKER_POOL_STATE_H
#define AK_WORKER_POOL_STATE_H

#include "base/hash.h"
#include "base/map.h"
#include "base/pack.h"
#include "base/proc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "launcher/launcher.h"
#include "worker/message.h"
#include "worker/pool.h"

#define AK_POOL_WORKERS_MAX 256
#define AK_POOL_DEVICES_MAX AK_SEATS_MAX
/* A job whose worker was lost this many times is reported as crashed. */
#define AK_POOL_LOSSES 3
/* A trial that a device worker could not judge, because the machine was too busy, is put behind the
   others; the third time, it fails. */
#define AK_POOL_UNJUDGED 3
/* A compile worker that dies this many times in a row is not started again. */
#define AK_POOL_COMPILER_DEATHS 5
/* The same limit for a device worker, which a candidate may kill. It is higher because of
   spaces in which half of the configurations kill the worker: there, about one in 50,000 random
   searches of 60 trials meets this many deaths in a row, and about one in 2000 random searches
   of 1000 trials. */
#define AK_POOL_DEVICE_DEATHS 20
/* A worker that has not answered this long after its own limit counts as hung. */
#define AK_POOL_SPARE_NS (60 * AK_SECOND_NS)
/* Limit for a question. Ceilings take half a second, but asking for the libraries loads and times
   every version of each to find the fastest; the limit is for a worker that hangs. */
#define AK_POOL_QUESTION_NS (900 * AK_SECOND_NS)
/* A compilation that fails because of the machine is tried this many times in all, with a pause
   that doubles: a full disk may be emptied, a busy machine become idle. */
#define AK_POOL_ATTEMPTS 4
#define AK_POOL_PAUSE_NS (500 * AK_MS_NS)
/* The cancel flag is read this often. */
#define AK_POOL_CANCEL_POLL_NS (100 * AK_MS_NS)
#define AK_POOL_NONE           SIZE_MAX

typedef enum ak_unit_state { AK_UNIT_WAITING, AK_UNIT_COMPILING, AK_UNIT_COMPILED } ak_unit_state;

/* One configuration and what it is compiled to. The artifact lies in the pool's folder. If the
   device that compiled it shares no folder with the pool, it lies in that device's own folder
   (`place`). */
typedef struct ak_pool_unit {
    ak_unit_state state;
    const ak_task *task; /* whose space has the configuration */
    ak_config config;
    bool specialised; /* compile only the entry for the task's sizes */
    char *text;       /* the configuration in canonical form */
    char *artifact;
    ak_compile_result compiled;
    size_t users; /* candidates of jobs that need it; a control counts, too */
    double median_ms;
    bool deleted;       /* the artifact was removed: compile again */
    int attempts;       /* failures because of the machine */
    int64_t not_before; /* earliest time of the next attempt */
    ak_error fault;     /* the latest failure because of the machine */
    size_t place;       /* device whose folder has the artifact; AK_POOL_NONE: the pool's folder */
    int compile_worker; /* the worker that compiled it, from 1; 0: none did */
    int64_t ended_ns;   /* when it was compiled */
    /* hash of how its code is checked and run (pool_outcome.c); "" until it is needed */
    char conduct[AK_HASH_BYTES];
} ak_pool_unit;

typedef struct ak_pool_job {
    ak_job_kind kind;
    uint64_t id;
    ak_timer_plan timer;
    ak_comparison_plan plan;
    size_t count;     /* number of candidates; 1 for a trial or check */
    size_t *units;    /* one per candidate; AK_POOL_NONE: a library */
    char **baselines; /* one per candidate; NULL: a configuration */
    int64_t begin_ns;
    size_t on;    /* device that runs it, or AK_POOL_NONE */
    int losses;   /* number of workers lost while they ran it */
    int unjudged; /* how often it could not be judged */
} ak_pool_job;

typedef struct ak_pool_worker {
    ak_proc proc;
    ak_line_reader reader;
    bool busy;
    size_t at;        /* for compile workers: the current unit; AK_POOL_NONE: none */
    int64_t deadline; /* for the current request */
    int deaths;       /* deaths since a request (for a device worker: a job) was last finished */
    int64_t request;  /* id of the current request */
    int number;       /* of a compile worker, from 1 in the order in which they get their first
                         unit; 0 before that */
    /* Only for a worker on another machine (relay.h): */
    bool linked;
    bool stands;      /* the connection works, also if the device worker has died */
    int64_t begun;    /* number of the device worker on this connection */
    int64_t stale;    /* replies up to this id are of an earlier device worker */
    bool greeted;     /* it has said hello */
    bool lost, final; /* how the worker ended, as in relay.h */
    char why[256];    /* why it ended, as its relay said; "" if it did not */
} ak_pool_worker;

/* A compile worker on the machine of a device worker. It has no process here; its requests and
   replies go over the connection of the device worker. */
typedef struct ak_pool_core {
    bool runs; /* it was told to start and has not ended since */
    bool busy;
    size_t at;        /* its unit while it is busy */
    int64_t deadline; /* for that unit */
    int64_t start;    /* id of its request "start" */
    int64_t request;  /* id of its request "compile" */
    int deaths;       /* in a row, without a finished request between them */
    int number;       /* as in ak_pool_worker */
} ak_pool_core;

/* What a device worker is doing; it does one thing at a time. */
typedef enum ak_device_state {
    AK_DEVICE_CLOSED,
    AK_DEVICE_OPENING,
    AK_DEVICE_FREE,
    AK_DEVICE_JOB,
    AK_DEVICE_ASKED,
    AK_DEVICE_LOST,    /* its last answer said that it ends */
    AK_DEVICE_GIVEN_UP /* it died too often, or could not be opened */
} ak_device_state;

/* What is known about code that was checked and run. */
typedef struct ak_pool_outcome {
    ak_trial trial;
    bool waited; /* as in ak_result */
} ak_pool_outcome;

/* One device and its worker. The home makes the checks and comparisons and answers questions. */
typedef struct ak_pool_device {
    ak_pool_worker worker;
    char name[AK_DEVICE_NAME_BYTES]; /* "cuda:0"; on another machine "cuda:0@node3" */
    char uuid[AK_UUID_BYTES];        /* "" before it is open, or if it has none */
    ak_device_state state;
    ak_pool_job *job;
    size_t given;       /* number of trials so far */
    bool opened;        /* has been ready at least once */
    bool held;          /* gets no job: the caller still handles its last result */
    bool given_out;     /* the caller has this result, but has not waited for another since */
    json_t *prepared;   /* reply to "open"; NULL before the first */
    int failures;       /* starts in a row that failed */
    int64_t not_before; /* earliest time of the next start */
    char gone[200];     /* why it was given up or, with a launcher, its latest worker was lost;
                           else "" */
    const char *told;   /* the state that was reported last (pool_states.c) */
    char since[AK_CLOCK_UTC_BYTES]; /* when that state began */
    /* Only for a worker on another machine: */
    bool away;                /* it does not see the pool's folder, so files are sent */
    char folder[AK_PATH_MAX]; /* for the files of the run, as the worker names it */
    bool *has;                /* by unit: its artifact is there */
    size_t has_capacity;
    bool fit; /* it has opened the task over this connection, so its environment is the tuner's */
    char place[AK_CORES_PLACE_BYTES]; /* where its cores are; devices with equal texts share their
                                         cores */
    ak_pool_core *cores;
    size_t core_count;
    bool cores_ended;       /* by ak_pool_cores_end, until there is another connection */
    size_t share;           /* how many of `cores` may be used now */
    size_t fetching;        /* the unit whose artifact is on its way here; AK_POOL_NONE: none */
    int64_t fetched;        /* offset of the piece that comes next */
    int64_t fetch_deadline; /* the latest time at which its last piece may come */
} ak_pool_device;

struct ak_pool {
    const ak_task *task;
    const ak_backend_ops *backend;
    ak_pool_options options;
    ak_fs_owned folder;
    char source[AK_PATH_MAX], program[AK_PATH_MAX];
    ak_pack kernel; /* with a launcher: the files of a kernel that is not built in */
    ak_pool_worker *compilers;
    size_t compiler_count;
    ak_pool_device *devices;
    size_t device_count;
    size_t home;          /* index of the home (pool.h) */
    size_t least;         /* trials begin when this many devices are ready */
    ak_launcher launcher; /* if its `ops` is NULL, the workers are processes of this machine */
    char gone[320];       /* what ak_pool_given_up_why returns */
    json_t *answer;       /* the reply to the latest question; NULL until it comes and once it is
                             taken */
    int64_t asked;        /* id of the question that is waited for */
    bool ask_again;       /* the worker was lost before it answered, so ask again */
    ak_error fault;       /* why the run cannot go on; AK_OK if it can */
    ak_pool_unit *units;
    size_t unit_count, unit_capacity, next_unit;
    size_t artifacts;   /* number of artifacts on disk */
    size_t fleet_cores; /* compile workers of the fleet that may be used now */
    int numbered;       /* compile workers that have a number */
    int64_t watched_ns; /* when ak_pool_cores_watch looked last */
    ak_map *unit_of;    /* key: see unit_key in pool_job.c */
    ak_pool_job **jobs; /* in order; a job is removed when its result exists */
    size_t job_count, job_capacity;
    ak_result *results; /* not given out yet */
    size_t result_count, result_capacity, result_first;
    ak_pool_outcome *outcomes; /* results for equal code that is checked and run in the same way */
    size_t outcome_count, outcome_capacity;
    ak_map *outcome_of; /* key: outcome_key in pool_outcome.c */
    int64_t next_request;
    ak_device *recorded; /* device of a backend that recalls, which has no workers; else NULL */
    int64_t now_ns;      /* clock of a pool that recalls */
    int64_t relays_ns;   /* when the near relays were looked at last */
    int64_t told_ns;     /* when workers_changed was called last */
};

/* pool_job.c */

/* Queues a result for ak_pool_wait. Leaves *result empty, also on failure. */
ak_status ak_pool_give(ak_pool *pool, ak_result *result, ak_error *err);
/* Queues the result of a job or, if `status` is a failure, clears it; then removes the job. Returns
   `status`, or why the result could not be queued. */
ak_status ak_pool_job_end(ak_pool *pool, ak_pool_job *j, ak_result *result, ak_status status,
                          ak_error *err);
/* Returns whether every configuration of the job is compiled, successfully or not. */
bool ak_pool_job_compiled(const ak_pool *pool, const ak_pool_job *j);
/* Removes a job from the pool and frees it. */
void ak_pool_job_leave(ak_pool *pool, ak_pool_job *j);
void ak_pool_job_free(ak_pool_job *j);
/* Starts a result and, except for a comparison, fills in the device and what the compilation
   reported. The caller clears the result, also on failure. */
ak_status ak_pool_result_begin(ak_result *out, const ak_pool *pool, const ak_pool_job *j,
                               ak_error *err);
/* Ends a job that never reached a device, or whose worker died or hung. In a comparison, candidates
   that did not compile keep their own reason and all others get this one. */
ak_status ak_pool_job_fails(ak_pool *pool, ak_pool_job *j, ak_trial_status trial_status,
                            const char *reason, ak_error *err);

/* pool_worker.c */

/* Ends a worker and frees what belongs to it. A worker on another machine gets some seconds to end
   there. */
void ak_pool_worker_stop(ak_pool_worker *w);
/* Starts a worker with this command line. */
ak_status ak_pool_worker_start(ak_pool_worker *w, const ak_proc_spec *spec, ak_error *err);
/* Reads what a worker has sent. Sets *over if the worker has closed its end of the pipe or cannot
   be read. */
ak_status ak_pool_worker_read(bool *over, ak_pool_worker *w, ak_error *err);
/* Sends {"op": op, "id": ...} with the members of `request`, which it frees. The worker counts as
   busy even if sending fails: reading then notices that it has ended. */
ak_status ak_pool_worker_ask(ak_pool_worker *w, ak_pool *pool, const char *op, json_t *request,
                             int64_t limit_ns, ak_error *err);
ak_status ak_pool_compiler_start(ak_pool *pool, ak_pool_worker *w, ak_error *err);
ak_status ak_pool_device_start(ak_pool *pool, ak_pool_device *d, ak_error *err);
/* Has a device worker open the pool's task. */
ak_status ak_pool_device_open(ak_pool *pool, ak_pool_device *d, ak_error *err);
/* Notes a fault after which the run cannot go on. Only the first such fault is kept. */
void ak_pool_fault(ak_pool *pool, const ak_error *err);
/* Makes the request to compile a unit, here or (`d` is not NULL) on the machine of a device. */
ak_status ak_pool_compile_request(json_t **out, const ak_pool *pool, const ak_pool_device *d,
                                  const ak_pool_unit *u, ak_error *err);
/* Makes the first request to a compile worker that may write into `folder`; NULL: no memory. */
json_t *ak_pool_start_request(const ak_pool *pool, const char *folder);
/* Writes the path of an implementation's source in the pool's folder. */
ak_status ak_pool_source_path(char out[AK_PATH_MAX], const ak_pool *pool, const ak_task *task,
                              ak_error *err);
/* Returns how long a compile worker may take for a unit. */
int64_t ak_pool_compile_limit(const ak_pool *pool);
/* Returns the first unit that may be compiled now, or unit_count if there is none. */
size_t ak_pool_next_waiting(ak_pool *pool);
/* Marks a unit as compiled with this failure. */
void ak_pool_unit_fails(ak_pool_unit *u, ak_trial_status status, const char *reason);
/* Reads the reply to "compile". Returns true if the unit has an artifact now. */
bool ak_pool_unit_compiled(ak_pool *pool, size_t at, int worker, const json_t *reply);
/* Lets a unit be compiled again, because its artifact or its compile worker is lost. */
void ak_pool_unit_lost(ak_pool *pool, size_t at);
/* Gives waiting units to free compile workers: the fleet's or, as long as none of these may be
   used, this machine's. */
void ak_pool_compile(ak_pool *pool);
/* Returns whether something is being compiled at a priority that disturbs timings. */
bool ak_pool_is_loud(const ak_pool *pool);
/* Handles a compilation that failed because of the machine: the unit waits for its next attempt or,
   after the last, fails, and a later job compiles it again. */
void ak_pool_unit_again(ak_pool *pool, size_t at, const ak_error *why);
void ak_pool_compiler_replied(ak_pool *pool, ak_pool_worker *w, const json_t *reply);

/* pool_device.c */

/* Finishes jobs that need no device and gives each free device its next job. Only ak_pool_wait may
   call this: see pool.h. */
ak_status ak_pool_feed_devices(ak_pool *pool, ak_error *err);
ak_status ak_pool_device_replied(ak_pool *pool, ak_pool_device *d, json_t *reply, ak_error *err);
/* Fails if a device worker's reply is not a valid result of its current job: the worker is then
   broken, and nothing that it says may be used. */
ak_status ak_pool_device_check(const ak_pool *pool, const ak_pool_device *d, const json_t *reply,
                               ak_error *err);

/* pool_outcome.c */

/* Returns the outcome of an earlier trial whose code was the same and was checked and run in the
   same way; NULL if there is none. The pointer is valid until the next outcome is kept. */
const ak_pool_outcome *ak_pool_outcome_of(const ak_pool *pool, ak_pool_unit *u);
/* Keeps a copy of a trial's outcome, unless one is kept already or it must not be shared. */
ak_status ak_pool_outcome_keep(ak_pool *pool, ak_pool_unit *u, const ak_result *result,
                               ak_error *err);

/* pool_fleet.c */

/* A seat and what the worker there is told. */
typedef struct ak_link {
    const ak_launcher *launcher;
    size_t seat;
    const char *program;
    const char *folder;  /* for the files of the run */
    const char *backend; /* of the compile workers there; NULL: there are none */
} ak_link;
/* Starts the relay that leads to the device worker of a seat. */
ak_status ak_link_start(ak_pool_worker *w, const ak_link *link, ak_error *err);

/* Opens the launcher and gives the pool a device for each of its seats; without `every_device` for
   the first only, with `no_device` for none. */
ak_status ak_pool_seats(ak_pool *pool, ak_error *err);
/* Starts the device worker of a seat, over the existing connection if there is one. */
ak_status ak_pool_seat_start(ak_pool *pool, ak_pool_device *d, ak_error *err);
/* Starts the workers on other machines that do not run and whose pause, if any, is over. */
void ak_pool_seats_again(ak_pool *pool);
/* Handles the end of a worker on another machine: it is started again, after a pause if it was not
   ready yet (`opening`), or given up. */
void ak_pool_seat_ended(ak_pool *pool, ak_pool_device *d, const char *text, bool opening);
/* Who sent a message that came from a relay, and whether it has been handled. */
typedef enum ak_link_message {
    AK_LINK_WORKERS, /* the device worker: the caller has to handle it */
    AK_LINK_HANDLED, /* the relay or a compile worker: it has been handled */
    AK_LINK_DIED,    /* the device worker has died, the connection stays */
    AK_LINK_OVER     /* the connection ends */
} ak_link_message;
/* Handles a message from a relay unless it is the device worker's. Fails if the message breaks the
   protocol. */
ak_status ak_pool_link_said(ak_link_message *out, ak_pool *pool, ak_pool_device *d,
                            const json_t *message, ak_error *err);
/* If the home cannot work now, makes a device that can work the home. If none can and the home was
   given up, makes one the home that may still come back. Returns false if all were given up. */
bool ak_pool_promote(ak_pool *pool);
/* With a launcher and a deadline: ends the run if no worker is ready at the deadline or later. */
void ak_pool_mind_deadline(ak_pool *pool);
/* Gives a device up. Ends the run if too few are left. */
void ak_pool_give_up(ak_pool *pool, ak_pool_device *d, const char *text);

/* pool_core.c */

/* Notes how many compile workers a machine can have, when its relay says hello. */
ak_status ak_pool_cores_open(ak_pool *pool, ak_pool_device *d, const json_t *hello, ak_error *err);
/* Gives up the compile workers of a machine, such as when its connection ends: units that were
   being compiled or kept there are compiled again, except those that its device is running. */
void ak_pool_cores_lost(ak_pool *pool, ak_pool_device *d);
/* Ends the compile workers of a machine whose artifacts do not arrive, over a connection that
   stays, and gives them up. */
void ak_pool_cores_end(ak_pool *pool, ak_pool_device *d);
/* Counts the compile workers of the fleet that may be used now. */
void ak_pool_cores_recount(ak_pool *pool);
/* Returns whether a unit is being compiled on a machine of the fleet at the usual priority, because
   an earlier attempt failed. */
bool ak_pool_cores_are_loud(const ak_pool *pool);
/* Gives waiting units to free compile workers of the fleet. Returns false if the fleet has no
   compile worker that may be used. */
bool ak_pool_cores_compile(ak_pool *pool);
/* Handles what a compile worker says. */
ak_status ak_pool_core_said(ak_pool *pool, ak_pool_device *d, const json_t *message, ak_error *err);
/* Ends compile workers that hang, and gives up files that do not come. */
void ak_pool_cores_watch(ak_pool *pool);

/* pool_states.c */

/* Calls workers_changed if a state has changed or the last call was ten seconds ago. */
void ak_pool_tell_workers(ak_pool *pool);

/* pool_travel.c */

/* With a launcher: reads the files of a kernel that is not built in, and copies them into the
   pool's folder. */
ak_status ak_pool_travel_open(ak_pool *pool, ak_error *err);
/* Sends a worker that has just said hello and shares no folder with the pool what it needs before
   it opens the task. */
ak_status ak_pool_travel_begin(ak_pool *pool, ak_pool_device *d, ak_error *err);
/* Writes the path of the kernel on the worker's machine, or "" for a built-in kernel and for one
   that is not found here. Returns false if the path is too long. */
bool ak_pool_travel_kernel(char out[AK_PATH_MAX], const ak_pool *pool, const ak_pool_device *d);
/* Writes the path that a file of the pool's folder has on the device's machine (`d` NULL: here). */
void ak_pool_travel_path(char out[AK_PATH_MAX], const ak_pool_device *d, const char *here);
/* Sends the device's machine those artifacts of a job that the machine does not have yet. */
ak_status ak_pool_travel_job(ak_pool *pool, ak_pool_device *d, const ak_pool_job *j, ak_error *err);
/* Returns whether the artifacts of a job are on the device's machine or here. If one is on a third
   machine, asks for it; it arrives in a later turn. */
bool ak_pool_travel_ready(ak_pool *pool, const ak_pool_device *d, const ak_pool_job *j);
/* Asks the machine that compiled a unit for its artifact, unless another file is on its way from
   there. */
void ak_pool_travel_fetch(ak_pool *pool, size_t at);
/* Notes that a machine has the artifact of a unit. */
ak_status ak_pool_travel_has(ak_pool *pool, ak_pool_device *d, size_t at, ak_error *err);
/* Handles a piece of a fetched file, or the line after its last piece. */
ak_status ak_pool_travel_said(ak_pool *pool, ak_pool_device *d, const json_t *message,
                              ak_error *err);
/* Removes an artifact here and wherever it was sent to. */
void ak_pool_travel_remove(ak_pool *pool, const ak_pool_unit *u);

/* pool_recall.c */

/* Answers the first job of a pool that recalls; there must be one. */
ak_status ak_pool_recall(ak_pool *pool, ak_error *err);

/* pool_turn.c */

bool ak_pool_cancelled(const ak_pool *pool);
/* Starts what can be started, waits at most `wait_ns` for events, and handles them. */
ak_status ak_pool_turn(ak_pool *pool, int64_t wait_ns, bool feed_devices, ak_error *err);

#endif
