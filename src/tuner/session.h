/*
 * session.h: what tuning, testing and comparing share: a pool of workers for one task, the
 * ceilings and baselines of its device, the environment, and what turns raw results into trials.
 *
 *   session.c           opens and closes a session; its environment, ceilings and baselines
 *   session_run.c       the clock and the id of a run
 *   session_place.c     places times on the roofline; detects those too fast to be true
 *   session_trial.c     completes trials, checks configurations
 *   sanitize.c          runs configurations with sanitizers
 */
#ifndef AK_TUNER_SESSION_H
#define AK_TUNER_SESSION_H

#include "base/clock.h"
#include "base/hash.h"
#include "tuner/event.h"
#include "worker/pool.h"

#define AK_ENVIRONMENT_BYTES AK_HASH_BYTES
/* Evaluations of a run whose options do not set them. */
#define AK_EVALUATIONS_DEFAULT 60

/* What sanitizers reported for the configurations of a session. */
typedef struct ak_sanitizing {
    size_t configs, shapes; /* configurations that ran; most shapes at which one of them ran */
    size_t found;           /* number of configurations with a report */
    size_t not_run;         /* number of configurations that could not be built or run */
    size_t left_out;        /* number of configurations that failed in another way and so did not
                               run */
    char tool[64];
    char missing[320]; /* why the first of `not_run` could not run, or why the backend has no
                          sanitizers; else "" */
} ak_sanitizing;

typedef struct ak_session {
    const ak_task *task;
    ak_pool *pool;
    ak_ceilings ceilings; /* see ak_session_ceilings; all 0 before, and on a recording */
    char *ceilings_key;   /* key of the ceilings (measure/ceilings.h); NULL before they are
                             measured */
    ak_baseline_info *baselines;
    size_t baseline_count;
    char environment[AK_ENVIRONMENT_BYTES];
    char *environment_json;
    uint64_t next_job;
    bool sanitize; /* ak_session_check also runs sanitizers, see ak_session_sanitize */
    ak_sanitizing sanitizing;
} ak_session;

/* Computes the environment of a task as JSON, and the hash of the JSON. The caller frees the JSON
   with ak_free. Returns AK_UNAVAILABLE if only a data sheet of the device is known. */
ak_status ak_session_environment(char hash[AK_ENVIRONMENT_BYTES], char **out_json,
                                 const ak_task *task, ak_error *err);
/* Returns the task's protocol for comparisons. */
const ak_protocol *ak_session_protocol(const ak_session *session);

/* Stores the sources of the task in the archive (NULL: does nothing). A recording and a data sheet
   have none. A failure does not end the run, because the next run tries again. */
void ak_session_keep_sources(const ak_task *task, ak_archive *archive);

/* Assigns results that the archive (NULL: does nothing) has under former hashes to this
   environment, if the task's kernel has not changed since. A failure does not end the run, because
   the next run tries again. */
void ak_session_rename(const ak_task *task, ak_archive *archive, const char *hash,
                       const char *words);

/* Opens a session: starts the workers and computes the environment. The launcher, the workers and
   the environment in the options are ignored: the task determines them. If options->cancel is NULL,
   the task's is used. */
ak_status ak_session_open(ak_session *out, const ak_task *task, const ak_pool_options *options,
                          ak_error *err);
/* Measures the ceilings, in about half a second, and lists the baselines, which may take longer. */
ak_status ak_session_survey(ak_session *session, ak_error *err);
/* Measures the ceilings, except on a recording. The session gets the highest values that this
   session and earlier runs on this machine (measure/ceilings.h) have measured, because a busy
   machine makes them too low. */
ak_status ak_session_ceilings(ak_session *session, ak_error *err);
/* Returns the filter for the archived trials of the task in this environment. Its texts are
   borrowed. */
ak_archive_filter ak_session_filter(const ak_session *session);
/* Computes the roofline figures of the task's archived trials in this environment anew, from the
   present ceilings. */
ak_status ak_session_place_archived(const ak_session *session, ak_archive *archive, ak_error *err);
/* Describes the compiled code of a configuration in one line. Returns false if it is not known. */
bool ak_session_look(ak_buf *out, const ak_session *session, const ak_config *config);
void ak_session_close(ak_session *session);

/* Return the time of the run's clock (pool.h), in nanoseconds and as text. If results are recalled,
   the clock starts in 1970. */
int64_t ak_session_now_ns(const ak_session *session);
void ak_session_utc(char out[AK_CLOCK_UTC_BYTES], const ak_session *session);
/* Writes the date and time at which that clock showed `ns`. */
void ak_session_utc_of(char out[AK_CLOCK_UTC_BYTES], const ak_session *session, int64_t ns);

/* Creates the id of a new run: 16 hexadecimal digits. */
#define AK_RUN_ID_BYTES 17
void ak_run_id(char out[AK_RUN_ID_BYTES]);
/* Creates the id of a run. If results are recalled, it is derived from the environment and the
   options (`words`), so that the same run gives the same bytes: it is the first id of a derived
   series that the archive (NULL if there is none) does not have yet. Otherwise the id is random, as
   from ak_run_id. */
ak_status ak_session_run_id(char out[AK_RUN_ID_BYTES], const ak_session *session, const char *words,
                            ak_archive *archive, ak_error *err);

/* Fills in what the pool does not know: task, environment, time stamp, roofline, cost. Rejects a
   trial that is implausibly fast or whose cost cannot be computed. `run` may be NULL. */
ak_status ak_session_complete_trial(ak_trial *trial, const ak_session *session,
                                    const ak_config *config, const char *run, ak_error *err);

/* Checks configurations as AK_JOB_CHECK does, and then with sanitizers (ak_session_sanitize). The
   checks are submitted all at once. out[i] belongs to configs[i]. After AK_CANCELLED the trials of
   unchecked configurations are zero, after another failure all are. `run` may be NULL. */
ak_status ak_session_check(ak_trial *out, ak_session *session, const ak_config *configs,
                           size_t count, const char *run, ak_error *err);

/* If `sanitize` is set, builds and runs with sanitizers a configuration that has passed its check,
   gave a wrong result or crashed. If they report something, a trial that had passed becomes
   `rejected`; another one keeps its status, and its reason also says what they report. A
   configuration that could not be built or run, or a backend without sanitizers, is only noted in
   session->sanitizing. */
ak_status ak_session_sanitize(ak_trial *trial, ak_session *session, const ak_config *config,
                              ak_error *err);
/* Writes the outcome as a line: "AddressSanitizer and ...: 3 of 3 configurations without a finding,
   at 5 shapes". Then it says what did not run, and why. The line is "" if no sanitizer was asked
   for, if nothing was to be run with one, or without memory. */
void ak_sanitizing_text(char *out, size_t bytes, const ak_session *session);

/* Returns true, with the reason in `why`, if this time is so short, by the roofline, that the
   device cannot have done the work. */
#define AK_IMPLAUSIBLE_BYTES 160
bool ak_session_implausible(char why[AK_IMPLAUSIBLE_BYTES], const ak_session *session, double ms);
/* Places the task, and a time, on the roofline; with ms 0 only the limits are set. */
void ak_session_place(ak_placement *out, const ak_session *session, double ms);
/* Places a time on the roofline. *utilisation is the share of the device's peak rate at the clock
   at which the time was measured; 0 if the peak or the clock (0) is unknown, or if memory limits
   the task. */
void ak_session_reach(ak_roofline *out, double *utilisation, const ak_session *session, double ms,
                      double sm_clock_mhz);

/* Waits until one of the jobs with the ids `first` to first + count - 1 has finished. Returns
   AK_TIMED_OUT if no job finishes within an hour. Results of other jobs, which a cancelled search
   may still have in flight, are dropped. */
ak_status ak_session_wait(ak_result *out, ak_session *session, uint64_t first, size_t count,
                          ak_error *err);

#endif
