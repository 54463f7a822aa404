/*
 * sizes_run.h: the state of a run over many sizes, shared by the files that carry it out:
 *
 *     sizes.c          leads the run from the request to the result
 *     sizes_open.c     opens a task for each size, all with one implementation
 *     sizes_tune.c     tunes each size by itself
 *     earlier.c        finds the result of an earlier run of a size
 *     sizes_measure.c  measures the best of all sizes at every size
 *     scale.c          makes the results of several comparisons at one size comparable
 *     sizes_choose.c   chooses the few that lose least, and measures their loss once more
 *     sizes_record.c   writes the run's entry in the archive and sends its events
 *     sizes_json.c     writes the result as JSON
 */
#ifndef AK_TUNER_SIZES_RUN_H
#define AK_TUNER_SIZES_RUN_H

#include "tuner/side_by_side.h"
#include "tuner/warning.h"

/* Most winners of earlier sizes that a later size tries first. */
#define AK_MANY_GIVEN_MAX 4
/* AK_MANY_SECONDS: seconds for which each candidate is measured at one size, unless the options say
   something else. AK_MANY_OPEN_SECONDS: approximate seconds for opening a session. */
#define AK_MANY_SECONDS      0.5
#define AK_MANY_OPEN_SECONDS 2.0

typedef struct ak_many {
    /* Set by sizes.c; constant afterwards. */
    const ak_sizes_request *request;
    const ak_tune_options *options;
    ak_archive *archive; /* NULL if nothing is stored */
    ak_events events;
    char id[AK_RUN_ID_BYTES], started[AK_CLOCK_UTC_BYTES];
    int64_t begin_ns;

    ak_task **tasks; /* one for each size, opened by sizes_open.c and closed by sizes.c */

    /* Filled by sizes_tune.c. */
    ak_tune_result *tuned; /* result of each size */
    size_t used;           /* evaluations used so far, including resumed ones; each size counts
                              at most its share, so that this stays 0 without a budget */
    const char **given;    /* what the next size tries first; borrowed from `tuned` */
    size_t given_count;

    bool recorded; /* the run is in the archive (sizes_record.c) */

    ak_warnings warnings; /* the result owns its texts (sizes_record.c) */

    double *low_ms, *high_ms; /* 95 % intervals of result->ms; filled by sizes_measure.c */

    ak_sizes_result *result; /* every part adds its results */
} ak_many;

bool ak_many_cancelled(const ak_many *m);
double ak_many_elapsed(const ak_many *m);
/* Returns for how many seconds each candidate is measured at one size, if the time budget allows;
   the losses are measured twice as long. */
double ak_many_each(const ak_many *m);

ak_status ak_many_open_tasks(ak_many *m, ak_error *err);
ak_status ak_many_tune_each(ak_many *m, ak_error *err);

/* ak_many_gather_elites collects the elites, and ak_many_measure measures them at every size. */
ak_status ak_many_gather_elites(ak_many *m, ak_error *err);
ak_status ak_many_measure(ak_many *m, ak_error *err);
/* Makes a configuration the winner of a size; both are indices. */
void ak_many_set_winner(ak_many *m, size_t size, size_t config);
/* Archives a size's winner unless it is the configuration that the size's own run found best. Does
   nothing without an archive or a winner. */
ak_status ak_many_keep_winner(const ak_many *m, size_t size, ak_session *session, ak_error *err);
/* Converts a configuration's speed relative to a size's old winner into one relative to the new
   winner. `over_old` is the new winner's speed relative to the old one. The verdict "slower" stays;
   any other becomes "undecided". Unknown speeds (ratio 0) stay unknown. If `over_old` is unknown,
   nothing changes. */
void ak_many_rebase(ak_speed *speed, const ak_speed *over_old);
/* Sets the seconds of a comparison to `per` for each candidate, and the extra seconds for a busy
   machine to as many. Both are fewer if the time budget does not allow that for all of `left` such
   comparisons, but each candidate gets at least 0.05 s. */
void ak_many_plan(ak_comparison_spec *spec, const ak_many *m, double per, size_t left);
/* Warns, as the finish of a run does, of what makes a comparison at a size less certain: sends the
   warnings as events and keeps them in the result. */
ak_status ak_many_warn(ak_many *m, size_t size, const ak_comparison_result *comparison,
                       ak_error *err);

/* Chooses the table. Returns AK_OK with an empty table if no choice serves every size. */
ak_status ak_many_choose(ak_many *m, ak_error *err);
/* Measures each size's chosen configuration next to the size's winner, which shows what the size
   loses with it. Sizes whose winner was chosen lose nothing and are not measured again. */
ak_status ak_many_confirm(ak_many *m, ak_error *err);

/* Adds the run to the archive, if there is one and the run is not in it yet. This happens after the
   runs of its sizes were added, so that this run is the latest in the archive. */
ak_status ak_many_begin_record(ak_many *m, const ak_session *session, ak_error *err);
ak_status ak_many_end_record(ak_many *m, ak_error *err);
void ak_many_announce(const ak_many *m);
void ak_many_announce_phase(const ak_many *m, const char *name, size_t size);

/* Takes the result of the task's latest ended run in the present environment that had the same
   --fix, found a winner, and has at least `evaluations` evaluations or was exhausted or had
   converged. With `sanitize` it must also have been asked to run sanitizers. Fills in `run`,
   `resumed` (its evaluations), `stopped_by` ("resumed"), `found`, and the configurations of `best`
   and the candidates, NULL for libraries and for what was refuted later; out->found is false if no
   run qualifies, or if the winner of that run was refuted later. *out must be zero; the caller
   clears it with ak_tune_result_clear. */
ak_status ak_earlier_result(ak_tune_result *out, const ak_task *task, ak_archive *archive,
                            size_t evaluations, bool sanitize, ak_error *err);

/* The next functions (scale.c) make times or costs from several comparisons at one size
   comparable. A comparison takes a limited number of candidates, so more of them need several, and
   the machine may be slower in one than in another. Therefore the best configuration so far, the
   anchor, takes part in each later comparison; the ratio of its known to its new time or cost
   scales the new ones to those of the first comparison. */

/* Lists the configurations of the next comparison: at most `most`, beginning with *next, and then
   the anchor. Advances *next. `anchor` is `count` if nothing has worked so far. `list` has room for
   most + 1 indices. Returns the number of indices; 0 if all configurations were listed before. */
size_t ak_scale_next(size_t *list, size_t *next, size_t anchor, size_t count, size_t most);
/* Stores the times or costs of one comparison, scaled by the anchor, for configurations that have
   none yet. measured[i] is that of list[i], 0 if it failed. If the anchor failed, or there was
   none, nothing is scaled. */
void ak_scale_take(double *ms, const size_t *list, const double *measured, size_t count);
/* The speeds of all configurations at one size, relative to the winner so far; the ratio of one
   that failed or was not measured is 0. `costs` are those that ak_scale_take has stored. `winner`
   is `count` if nothing has worked so far. */
typedef struct ak_scale_speeds {
    ak_speed *speeds;
    const double *costs;
    size_t count, winner;
} ak_scale_speeds;
/* Stores the speeds of one comparison, for configurations that have none yet. measured[i] is that
   of list[i] relative to list[best], which becomes the winner. If that is a new one, converts the
   known speeds with the old winner's speed in this comparison. If the old winner failed there,
   converts them with the costs of both; these speeds have no interval and are undecided. */
void ak_scale_take_speeds(ak_scale_speeds *known, const size_t *list, const ak_speed *measured,
                          size_t count, size_t best);

#endif
