/*
 * run.h: the state of one run of ak_tune, shared by the files that carry it out. A run passes
 * through them in about this order; history.c, budget.c, record.c and announce.c serve several
 * parts:
 *
 *     tuner.c       opens the run, leads it through the parts below and closes it
 *     resume.c      reads what the archive already has of the task
 *     first_look.c  measures the libraries, so that progress can be compared with them
 *     search.c      runs the loop: propose, submit, take, observe
 *     history.c     keeps the result of each configuration and the best so far
 *     budget.c      decides when the search ends, and estimates how long the finish will take
 *     candidates.c  chooses the configurations of the finish: the best that pass all checks
 *     finish.c      measures the candidates and the libraries and chooses the best candidate
 *     record.c      writes the run's entry in the archive
 *     announce.c    sends the run's events
 *
 * One thread leads a run from its beginning to its end.
 */
#ifndef AK_TUNER_RUN_H
#define AK_TUNER_RUN_H

#include "base/map.h"
#include "strategy/transfer.h"
#include "tuner/run_advisor.h"
#include "tuner/side_by_side.h"

/* Most libraries that the first look and the finish measure; further ones are left out. */
#define AK_LIBRARIES_MAX 16
/* Most configurations in the finish, without the default. */
#define AK_CANDIDATES_MAX 16
/* Seconds for which the finish measures each candidate or library, unless
   ak_tune_options.finish_seconds is set or a time budget leaves less. On a busy machine it may take
   longer. */
#define AK_FINISH_SECONDS 0.7

/* An evaluated configuration. */
typedef struct ak_seen {
    ak_config config;
    double cost;            /* what the objective minimises, by default the time in ms; 0 if it
                               failed */
    double low_ms, high_ms; /* 95 % interval of the time; means nothing if it failed */
    double ms;              /* time; 0 if it failed */
    double joules;          /* of one call; 0: not measured */
    int64_t trial;          /* id in the archive, perhaps a provisional one
                               (ak_archive_trial_id); 0: none */
    size_t device;          /* the device that measured it, as an index into the pool's devices;
                               0 if the pool does not have it */
} ak_seen;

/* A job in flight and its proposal. The slot is free again (`used` is false) once the result was
   observed. */
typedef struct ak_flight {
    uint64_t job;
    ak_proposal proposal;
    int64_t propose_ns;
    const char *strategy; /* what proposed it */
    bool used;
} ak_flight;

typedef struct ak_tuning {
    /* Set when tuner.c opens the run; constant afterwards, except for again_capacity (search.c). */
    const ak_task *task;
    ak_archive *archive; /* NULL if nothing is stored */
    const ak_tune_options *options;
    const ak_strategy_ops *ops;
    char asked[AK_STRATEGY_TEXT_MAX]; /* strategy with the hyper-parameters that were set */
    ak_events events;
    int64_t begin_ns;
    size_t devices;        /* number of devices that share the trials */
    size_t evaluations;    /* most trials of this run, without the resumed ones, which resume.c
                              subtracts */
    size_t known;          /* archived evaluations that this run resumes */
    size_t again_capacity; /* allocated entries of result->again */
    ak_like *like;         /* results measured elsewhere; NULL if there are none */

    /* Opened and closed by tuner.c; the other parts use them. */
    ak_session session;
    ak_strategy *strategy;
    ak_run_advisor advisor;
    ak_set *submitted;  /* keys of submitted and resumed configurations */
    ak_flight *flights; /* slots for jobs in flight; more are added as the pool takes more jobs */
    size_t flight_count, flight_capacity;

    /* Set by resume.c: numbers of archived trials that are not resumed, because the kernel's source
       has changed since (outdated) or because their environment differs in more (elsewhere). */
    size_t outdated, elsewhere;

    /* Set by record.c. */
    char id[AK_RUN_ID_BYTES];
    char fleet[AK_RUN_ID_BYTES]; /* id under which the archive lists the workers that this tuner
                                    has on other machines; "" if it has none */
    bool deferred; /* the archive may delay writes while it is locked or the disk is full */

    /* Set by first_look.c. */
    double library_ms, library_cost;    /* of the best library; 0 if there is none */
    double survey_ms[AK_LIBRARIES_MAX]; /* times of the libraries that take part, in their order */

    /* Changed by history.c with each trial and each corrected time; candidates.c sorts the history
       when the search is over. */
    ak_seen *history;
    size_t history_count, history_capacity;
    double best_cost; /* 0 until a configuration works */
    double best_ms;   /* time of the configuration with that cost */
    size_t last_gain; /* result->evaluated when the best cost last improved by more than noise */

    /* Changed by search.c, except for `pressure` (announce.c) and `began` (announce.c, finish.c).
       `transfer` is also changed by history.c, which has it observe the trials. */
    ak_transfer transfer; /* chooses the next candidate of `like` */
    size_t next_first;    /* index into the configurations that the caller wants tried first */
    size_t sent;          /* number of jobs submitted in this run */
    size_t lost;          /* number of devices given up, as last warned of */
    bool default_ended; /* the default has been tried, here or in a resumed run, with any outcome */
    double default_ms, default_cost;
    double pressure;        /* of the machine when the run began (measure/pressure.h) */
    const char *began;      /* warning in the result about that pressure, dropped once the finish
                               has measured; NULL if there is none */
    double check_seconds;   /* seconds that the check of the latest correct trial took, reused
                               ones left out */
    double compile_seconds; /* seconds of the longest compilation of a correct trial that was not
                               reused */
    bool exhausted;         /* the strategy has no more proposals */
    const char *ended;      /* why it has no more; NULL if it gave no reason */
    ak_error fault;         /* latest failure of the machine during the search; AK_OK: none */

    /* Set by finish.c. */
    ak_ceilings ceilings_before; /* ceilings known when the finish began */

    ak_tune_result *result; /* every part adds its results */
} ak_tuning;

/* ---- budget.c -------------------------------------------------------------------------------- */

/* Returns the strategy that the options name, with its hyper-parameters, or else the default:
   "hybrid" if a language model is configured, AK_STRATEGY_DEFAULT if not (tuner.c). */
const char *ak_tuning_strategy(const ak_tune_options *options);
/* Returns how many evaluations the caller asked for, including resumed ones, or
   AK_EVALUATIONS_DEFAULT if the options do not say. */
size_t ak_tuning_budget(const ak_tuning *r);
bool ak_tuning_cancelled(const ak_tuning *r);
/* Returns for how many seconds the finish measures each candidate or library if the time budget
   leaves that much. */
double ak_tuning_finish_each(const ak_tune_options *options);
/* Returns how many seconds of the time budget are left; negative once it is used up. Means nothing
   without a time budget. */
double ak_tuning_seconds_left(const ak_tuning *r);
/* Estimates from the mean duration of a trial so far how many trials the budgets allow. Before the
   first trial, and without a time budget, returns r->evaluations. */
size_t ak_tuning_expected_trials(const ak_tuning *r);
/* Returns how many candidates each device contributes to the finish at most. */
size_t ak_tuning_candidates_of_each(const ak_tuning *r);
/* Returns why the search must stop, in the words of ak_tune_result.stopped_by, or NULL if it
   continues. */
const char *ak_tuning_stop_reason(const ak_tuning *r);

/* ---- resume.c -------------------------------------------------------------------------------- */

/* If the options ask to resume, subtracts from r->evaluations the number of archived trials that
   will be resumed, so that the run ends where it would have ended without the interruption. */
ak_status ak_tuning_reduce_budget(ak_tuning *r, ak_error *err);
/* If the options ask to resume, adds the archived results of the task to the history, tells them to
   the open strategy, and counts the trials from other environments, which are not resumed. */
ak_status ak_tuning_resume(ak_tuning *r, ak_error *err);

/* ---- record.c -------------------------------------------------------------------------------- */

/* ak_tuning_defer lets writes wait in memory while the archive is locked or the disk is full, so
   that the run goes on. ak_tuning_settle writes what still waits and ends this mode. */
ak_status ak_tuning_defer(ak_tuning *r, ak_error *err);
ak_status ak_tuning_settle(ak_tuning *r, ak_error *err);
/* Gives the run its id and adds it to the archive, if there is one. */
ak_status ak_tuning_begin_record(ak_tuning *r, ak_error *err);
/* Adds to the record of a run, over one size or many, the options that say when it ends and what it
   checks and learns from. Returns false without memory. */
bool ak_run_note_options(json_t *object, const ak_task *task, const ak_tune_options *options);
/* Notes in the archive what is valid on this machine only: the process of a run, the address of its
   language model, and the paths of the files that its options name. `archive` may be NULL. */
void ak_run_note_whereabouts(ak_archive *archive, const char *run, const ak_task *task,
                             const ak_tune_options *options);
/* Writes the states of the workers on other machines into the archive, if there is one; `context`
   is the run. At the end of the run, `pool` is NULL and the states are removed. */
void ak_tuning_note_workers(void *context, const ak_pool *pool);
/* Adds the result to the run's entry and sends it as the event "end". */
ak_status ak_tuning_end_record(ak_tuning *r, ak_error *err);

/* ---- announce.c ------------------------------------------------------------------------------ */

/* Notes how the default configuration did in this run or in an archived trial that is resumed
   (search.c). */
void ak_tuning_note_default(ak_tuning *r, const ak_trial *trial);
/* Sends the events "start", "prepared" and, if there are results to learn from, "like"; then warns
   of options that are ignored. Unless a recording replaces the machine, also measures how busy it
   is, and warns if it is busy, of layers that the sandbox lacks and of settings that are not
   used. */
void ak_tuning_announce(ak_tuning *r);
void ak_tuning_announce_phase(const ak_tuning *r, const char *name);
void ak_tuning_announce_library(const ak_tuning *r, const ak_compared *library);
void ak_tuning_announce_trial(const ak_tuning *r, const ak_trial *trial, bool is_default);
void ak_tuning_warn(const ak_tuning *r, const char *text);
/* Sends a warning about what the run found, and keeps it in the result and, if there is an archive,
   in the run's record (ak_warn_keep). */
void ak_tuning_keep_warning(ak_tuning *r, const char *text);

/* ---- first_look.c ---------------------------------------------------------------------------- */

ak_status ak_tuning_first_look(ak_tuning *r, ak_error *err);

/* ---- search.c, history.c --------------------------------------------------------------------- */

ak_status ak_tuning_search(ak_tuning *r, ak_error *err);

/* Adds a trial to the history, which must not have its configuration yet, and lets the strategy
   observe it. */
ak_status ak_tuning_remember(ak_tuning *r, const ak_config *config, const ak_trial *trial,
                             ak_error *err);
/* Replaces the time and cost of a configuration that was measured again, finds the best anew, and
   lets the strategy observe the new cost. */
ak_status ak_tuning_correct(ak_tuning *r, const ak_config *config, const ak_compared *measured,
                            ak_error *err);
/* Returns the configuration's entry, which is valid until the history changes, or NULL if it was
   not evaluated. */
const ak_seen *ak_tuning_find(const ak_tuning *r, const ak_config *config);

/* ---- candidates.c, finish.c ------------------------------------------------------------------ */

typedef struct ak_candidates {
    /* best first; the default, if it works, comes last unless it is among the best */
    ak_seen list[AK_CANDIDATES_MAX + 1];
    size_t count;
} ak_candidates;

/* Collects, without checking them, the best configurations of the history and, if it worked, the
   default. Reorders the history. */
void ak_candidates_rank(ak_candidates *out, ak_tuning *r);
/* Collects the best configurations of the search that pass their checks, and the default if it
   does. One that fails is archived as a failure and replaced by the next best. If one has passed,
   very many failures or the end of the time stop the checks; if none has, only both together do.
   *out then holds only those that have passed, perhaps none. After AK_CANCELLED the unchecked
   configurations count as correct. After another error *out holds those that are not known to be
   wrong. */
ak_status ak_candidates_choose(ak_candidates *out, ak_tuning *r, ak_error *err);

/* Checks the candidates, measures them next to the libraries, and makes the best candidate
   (measure/contest.h) the result. On a recording, after a cancel or if the measurement fails, the
   best of the search becomes the result. There is no result if no configuration worked, no
   candidate passes its checks or none could be timed. */
ak_status ak_tuning_finish(ak_tuning *r, ak_error *err);

#endif
