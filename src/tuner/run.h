/*
 * run.h: the state of one run of ak_tune, shared by the files that carry it out. A run passes
 * through them in this order:
 *
 *     tuner.c       opens the run, leads it through the parts below and closes it
 *     resume.c      reads what the archive already has of the task
 *     first_look.c  measures the libraries, so that progress can be compared with them
 *     search.c      runs the loop: propose, submit, take, observe
 *     history.c     keeps the result of each configuration and the best so far
 *     budget.c      decides when the search ends and how long the finish will take
 *     candidates.c  chooses the configurations of the finish: the fastest that pass all checks
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

#define AK_LIBRARIES_MAX 16
/* Most configurations in the finish, without the default. */
#define AK_CANDIDATES_MAX 16
/* Seconds of interleaved measurement for each candidate or library of the finish, unless the
   options say something else. */
#define AK_FINISH_SECONDS 0.7

/* An evaluated configuration. */
typedef struct ak_seen {
    ak_config config;
    double cost;            /* what the objective minimises, by default the time in ms; 0 if it
                               failed */
    double low_ms, high_ms; /* 95 % interval of the time */
    double ms;              /* time; 0 if it failed */
    double joules;          /* 0: not measured */
    int64_t trial;          /* id in the archive */
    size_t device;          /* index, in the task's list, of the device that measured it */
} ak_seen;

/* A job in flight with its proposal, kept until the result arrives. */
typedef struct ak_flight {
    uint64_t job;
    ak_proposal proposal;
    int64_t propose_ns;
    const char *strategy;
    bool used;
} ak_flight;

typedef struct ak_tuning {
    /* Set by tuner.c when it opens the run; constant afterwards. */
    const ak_task *task;
    ak_archive *archive; /* NULL if nothing is stored */
    const ak_tune_options *options;
    const ak_strategy_ops *ops;
    char asked[AK_STRATEGY_TEXT_MAX]; /* strategy with the hyper-parameters that were set */
    ak_events events;
    int64_t begin_ns;
    size_t devices;        /* number of devices that share the trials */
    size_t evaluations;    /* evaluations of this run; resume.c subtracts archived ones */
    size_t known;          /* evaluations that the archive has */
    size_t again_capacity; /* allocated entries of result->again */
    ak_like *like;         /* results measured elsewhere; NULL if there are none */

    /* Opened and closed by tuner.c; the other parts use them. */
    ak_session session;
    ak_strategy *strategy;
    ak_run_advisor advisor;
    ak_set *submitted;  /* keys of submitted and resumed configurations */
    ak_flight *flights; /* slots for jobs in flight; grows as the pool takes more */
    size_t flight_count, flight_capacity;

    /* Set by resume.c: numbers of archived trials that do not count, because they are of another
       version of the kernel's source, or of environments that differ in more. */
    size_t outdated, elsewhere;

    /* Set by record.c. */
    char id[AK_RUN_ID_BYTES];
    char fleet[AK_RUN_ID_BYTES]; /* id of this tuner among the tuners with workers on other
                                    machines, or "" */
    bool deferred;               /* the archive may delay writes while it is locked */

    /* Set by first_look.c. */
    double library_ms, library_cost;    /* of the best library; 0 if there is none */
    double survey_ms[AK_LIBRARIES_MAX]; /* times of the libraries that take part, in their order */

    /* Changed by history.c with each trial and each corrected time; candidates.c sorts the history
       when the search is over. */
    ak_seen *history;
    size_t history_count, history_capacity;
    double best_cost; /* 0 until a configuration works */
    double best_ms;   /* time of the best */
    size_t last_gain; /* number of evaluations at the last gain */

    /* Changed by search.c. */
    ak_transfer transfer; /* chooses the next candidate of `like` */
    size_t next_first;    /* index into the configurations that the caller wants tried first */
    size_t sent;          /* number of jobs submitted in this run */
    size_t lost;          /* number of devices given up */
    bool default_ended;   /* the default was tried, with any outcome */
    double default_ms, default_cost;
    double pressure;        /* of the machine when the run began (measure/pressure.h) */
    const char *began;      /* the result's warning of that pressure, which goes when a finish has
                               measured; NULL: none */
    double check_seconds;   /* seconds for the check of the latest correct trial */
    double compile_seconds; /* longest compilation of a correct trial */
    bool exhausted;         /* the strategy has no more proposals */
    const char *ended;      /* why it has no more; NULL if it gave no reason */
    ak_error fault;         /* failure of the machine that ended the search */

    /* Set by finish.c. */
    ak_ceilings ceilings_before; /* ceilings known when the finish began */

    ak_tune_result *result; /* every part adds its results */
} ak_tuning;

/* ---- budget.c -------------------------------------------------------------------------------- */

/* Returns the text of the strategy, with its hyper-parameters, that these options ask for
   (tuner.c). */
const char *ak_tuning_strategy(const ak_tune_options *options);
/* Returns the number of evaluations that the caller asked for, including resumed ones. */
size_t ak_tuning_budget(const ak_tuning *r);
bool ak_tuning_cancelled(const ak_tuning *r);
/* Returns for how many seconds the finish measures each candidate. */
double ak_tuning_finish_each(const ak_tune_options *options);
/* Returns what is left of a time budget in seconds; negative when it is used up. */
double ak_tuning_seconds_left(const ak_tuning *r);
/* Estimates how many trials the budgets allow, from the mean duration of a trial so far. Returns
   all evaluations of the run before the first trial and without a time budget. */
size_t ak_tuning_expected_trials(const ak_tuning *r);
/* Returns how many candidates each device contributes to the finish. */
size_t ak_tuning_candidates_of_each(const ak_tuning *r);
/* Returns why the search must stop, in the words of ak_tune_result.stopped_by, or NULL if it
   continues. */
const char *ak_tuning_stop_reason(const ak_tuning *r);

/* ---- resume.c -------------------------------------------------------------------------------- */

/* Subtracts archived trials from the evaluations, so that a resumed run ends where it would have
   ended without the interruption. */
ak_status ak_tuning_reduce_budget(ak_tuning *r, ak_error *err);
/* Tells the open strategy the archived results of the task. */
ak_status ak_tuning_resume(ak_tuning *r, ak_error *err);

/* ---- record.c -------------------------------------------------------------------------------- */

/* After ak_tuning_defer, writes wait in memory if the archive is locked, and the run goes on.
   ak_tuning_settle writes what still waits and ends this mode. */
ak_status ak_tuning_defer(ak_tuning *r, ak_error *err);
ak_status ak_tuning_settle(ak_tuning *r, ak_error *err);
/* Gives the run its id and adds it to the archive, if there is one. */
ak_status ak_tuning_begin_record(ak_tuning *r, ak_error *err);
/* Adds to the record of a run, over one size or many, the options that say when it ends and what it
   checks and learns from. */
bool ak_run_note_options(json_t *object, const ak_task *task, const ak_tune_options *options);
/* Notes in the archive what is valid on this machine only: the process of a run, and the paths of
   the files that its options name. `archive` may be NULL. */
void ak_run_note_whereabouts(ak_archive *archive, const char *run, const ak_task *task,
                             const ak_tune_options *options);
/* Writes the states of the workers on other machines into the archive; `context` is the run. At the
   end of the run, `pool` is NULL and the states are removed. */
void ak_tuning_note_workers(void *context, const ak_pool *pool);
/* Adds the result to the run's entry and sends it as the event "end". */
ak_status ak_tuning_end_record(ak_tuning *r, ak_error *err);

/* ---- announce.c ------------------------------------------------------------------------------ */

/* Sends the events "start", "prepared" and "like", and warnings about this machine and these
   options. */
void ak_tuning_announce(ak_tuning *r);
void ak_tuning_announce_phase(const ak_tuning *r, const char *name);
void ak_tuning_announce_library(const ak_tuning *r, const ak_compared *library);
void ak_tuning_announce_trial(const ak_tuning *r, const ak_trial *trial, bool is_default);
void ak_tuning_warn(const ak_tuning *r, const char *text);
/* Does the same, and keeps the warning in the run's record (ak_warn_keep): it concerns what
   the run found. */
void ak_tuning_keep_warning(ak_tuning *r, const char *text);

/* ---- first_look.c ---------------------------------------------------------------------------- */

ak_status ak_tuning_first_look(ak_tuning *r, ak_error *err);

/* ---- search.c, history.c --------------------------------------------------------------------- */

ak_status ak_tuning_search(ak_tuning *r, ak_error *err);

/* Adds a trial to the history and lets the strategy observe it. */
ak_status ak_tuning_remember(ak_tuning *r, const ak_config *config, const ak_trial *trial,
                             ak_error *err);
/* Replaces the time of a configuration that was measured again and lets the strategy observe it. */
ak_status ak_tuning_correct(ak_tuning *r, const ak_config *config, const ak_compared *measured,
                            ak_error *err);
/* Returns NULL if the configuration was not evaluated. */
const ak_seen *ak_tuning_find(const ak_tuning *r, const ak_config *config);

/* ---- candidates.c, finish.c ------------------------------------------------------------------ */

typedef struct ak_candidates {
    /* fastest first; the default comes last unless it is among the fastest */
    ak_seen list[AK_CANDIDATES_MAX + 1];
    size_t count;
} ak_candidates;

/* Collects the fastest configurations of the history without checking them. Reorders the
   history. */
void ak_candidates_rank(ak_candidates *out, ak_tuning *r);
/* Collects the fastest configurations that pass their checks. A configuration that fails is
   archived as a failure and replaced by the next best. After AK_CANCELLED the unchecked
   configurations count as correct. After another error *out holds the candidates that are not known
   to be wrong. */
ak_status ak_candidates_choose(ak_candidates *out, ak_tuning *r, ak_error *err);

/* Checks and measures the candidates and the libraries; the best candidate (measure/contest.h)
   becomes the best of the result. */
ak_status ak_tuning_finish(ak_tuning *r, ak_error *err);

#endif
