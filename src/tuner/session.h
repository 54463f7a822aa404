/*
 * session.h: what tuning, testing and comparing share: a pool of workers for one task, the
 * ceilings and baselines of its device, the environment, and how a raw result becomes a full trial.
 */
#ifndef AK_TUNER_SESSION_H
#define AK_TUNER_SESSION_H

#include "base/clock.h"
#include "tuner/event.h"
#include "worker/pool.h"

#define AK_ENVIRONMENT_BYTES 33
/* Of a run whose options do not say. */
#define AK_EVALUATIONS_DEFAULT 60

typedef struct ak_session {
    const ak_task *task;
    ak_pool *pool;
    ak_ceilings ceilings; /* all 0 until ak_session_survey */
    ak_baseline_info *baselines;
    size_t baseline_count;
    char environment[AK_ENVIRONMENT_BYTES];
    char *environment_json;
    uint64_t next_job;
} ak_session;

typedef struct ak_session_options {
    int compile_workers;
    bool every_device; /* all of the task's devices, for trials; default: the first */
    const volatile int *cancel;
} ak_session_options;

/* What results of the task depend on, hashed, and the same in words (ak_free). */
ak_status ak_session_environment(char hash[AK_ENVIRONMENT_BYTES], char **out_json,
                                 const ak_task *task, ak_error *err);
/* How the task wants to be measured where claims are made. */
const ak_pace *ak_session_pace(const ak_session *session);

/* Starts the workers, hashes the environment. */
ak_status ak_session_open(ak_session *out, const ak_task *task, const ak_session_options *options,
                          ak_error *err);
/* Measures the ceilings and lists the baselines; blocks for about half a second. */
ak_status ak_session_survey(ak_session *session, ak_error *err);
/* Measures the ceilings once more: they rise if the machine was busy the first time. */
ak_status ak_session_ceilings(ak_session *session, ak_error *err);
void ak_session_close(ak_session *session);

/* The clock of the run (pool.h), and what it says in words: if results are recalled, of 1970. */
int64_t ak_session_now_ns(const ak_session *session);
void ak_session_utc(char out[AK_CLOCK_UTC_BYTES], const ak_session *session);

/* A new run's id: 16 hexadecimal digits. */
#define AK_RUN_ID_BYTES 17
void ak_run_id(char out[AK_RUN_ID_BYTES]);
/* If results are recalled, the id of what is asked for (`words`), so that the same gives the same
   bytes: the first of a series that the archive (or NULL) does not have yet. Else as ak_run_id. */
ak_status ak_session_run_id(char out[AK_RUN_ID_BYTES], const ak_session *session, const char *words,
                            ak_archive *archive, ak_error *err);

/* Fills in what the pool does not know: task, environment, time stamp, roofline. `run` may be
   NULL. */
ak_status ak_session_complete(ak_trial *trial, const ak_session *session, const ak_config *config,
                              const char *run, ak_error *err);

/* Checks configurations on every awkward size and the task's own, compiling all at once; out[i] is
   of configs[i]. After AK_CANCELLED those that were not reached are zero, after another failure
   all. `run` may be NULL. */
ak_status ak_session_check(ak_trial *out, ak_session *session, const ak_config *configs,
                           size_t count, const char *run, ak_error *err);

/* An interleaved measurement. Contestants are named, in the order of the duelists; the ratio is the
   speed relative to the fastest library, or to the first contestant where there is none. */
typedef struct ak_duel_spec {
    const ak_duelist *duelists;
    const char *const *names;
    size_t count;
    double seconds;
    const ak_pace *pace; /* NULL: interleaved */
    bool own_size;       /* as in ak_job */
} ak_duel_spec;
ak_status ak_session_duel(ak_contestant **out, size_t *reference, ak_session *session,
                          const ak_duel_spec *spec, ak_error *err);
void ak_contestants_free(ak_contestant *list, size_t count);

#endif
