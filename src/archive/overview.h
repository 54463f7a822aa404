/*
 * overview.h: reads short descriptions of runs and counts of trials from an archive, for a program
 * that watches the archive while others write to it. The caller asks only for what is newer than
 * the last run or trial that it has seen, so that what did not change costs nothing. A visitor that
 * returns false ends the visit.
 */
#ifndef AK_ARCHIVE_OVERVIEW_H
#define AK_ARCHIVE_OVERVIEW_H

#include "archive/archive.h"

/* A run, as its row and the result from its end describe it. The visitor may use the texts only
   during its call. NULL and 0 mean "not known". If the run has no result, only the fields of its
   row are set, and the caller counts the trials itself (ak_archive_count_trials). */
typedef struct ak_overview_run {
    int64_t number; /* order in which runs were added to the archive */
    const char *id, *started, *ended, *kernel, *implementation, *device, *size, *dtype, *choices;
    const char *strategy, *summary, *stopped_by;
    bool imported, has_result, many_sizes;
    int64_t evaluated, failed; /* as the result says */
    double best_ms, tflops, efficiency, seconds;
    int64_t evaluations; /* number that the run was asked for */
} ak_overview_run;
/* Returns a new object with what is known of a run, except its trials; NULL: no memory. */
json_t *ak_overview_json(const ak_overview_run *run);
typedef bool (*ak_overview_visitor)(void *context, const ak_overview_run *run);

/* Visits all runs, oldest first, or, if `number` is not 0, those that were added after the run with
   this number, in the order in which they were added. */
ak_status ak_archive_runs_since(ak_archive *archive, int64_t number, ak_overview_visitor visit,
                                void *context, ak_error *err);
/* Visits the run with this id, or nothing if there is no such run. */
ak_status ak_archive_overview(ak_archive *archive, const char *id, ak_overview_visitor visit,
                              void *context, ak_error *err);

/* The number of trials of a run, and the best time among them. */
typedef struct ak_overview_trials {
    const char *run;
    int64_t count, ok, last_id;
    double best_ms; /* 0: none was ok, or none of these has a time */
} ak_overview_trials;
typedef bool (*ak_overview_trials_visitor)(void *context, const ak_overview_trials *trials);

/* Counts the trials with ids above `id` and visits each run that has some. */
ak_status ak_archive_trials_since(ak_archive *archive, int64_t id, ak_overview_trials_visitor visit,
                                  void *context, ak_error *err);
/* Counts all trials of a run and visits the run, unless it has no trials. */
ak_status ak_archive_count_trials(ak_archive *archive, const char *run,
                                  ak_overview_trials_visitor visit, void *context, ak_error *err);

/* A device that measures the trials of a run: what it has done so far, and its latest trial
   (`trial`, `ended`, `config`, `status` and `ms`). NULL and 0 mean "not known". */
typedef struct ak_overview_device {
    const char *name, *uuid; /* "cuda:0@node3"; NULL: the trials do not say which device it was */
    int64_t count, ok, trial;
    double busy_seconds; /* checking and measuring */
    const char *ended, *config, *status;
    double ms;
} ak_overview_device;
typedef bool (*ak_overview_device_visitor)(void *context, const ak_overview_device *device);
ak_status ak_archive_run_devices(ak_archive *archive, const char *run,
                                 ak_overview_device_visitor visit, void *context, ak_error *err);

/* The result of a study or of simulations; its kind is one of these words. */
#define AK_STUDY      "study"
#define AK_SIMULATION "simulate"
typedef struct ak_overview_study {
    int64_t id;
    const char *ended, *kind, *result_json;
} ak_overview_study;
typedef bool (*ak_overview_study_visitor)(void *context, const ak_overview_study *study);
/* Visits the results with a higher id than this one, oldest first. */
ak_status ak_archive_studies_since(ak_archive *archive, int64_t id, ak_overview_study_visitor visit,
                                   void *context, ak_error *err);

/* The latest report of a tuner about its workers on other machines. */
typedef struct ak_overview_fleet {
    const char *id;           /* of the tuner */
    const char *run;          /* NULL: the run is not in the archive yet */
    const char *about;        /* "matmul M=64 on cuda:0" */
    const char *workers_json; /* an array, see docs/formats.md */
    const char *seen;         /* UTC; set by reading */
} ak_overview_fleet;
typedef bool (*ak_overview_fleet_visitor)(void *context, const ak_overview_fleet *fleet);
ak_status ak_archive_fleets(ak_archive *archive, ak_overview_fleet_visitor visit, void *context,
                            ak_error *err);
/* Replaces the tuner's report or, if `workers_json` is NULL, removes it and the reports of tuners
   that were killed long ago. A failure is not reported to the caller: the next report replaces this
   one, and no result depends on reports. */
void ak_archive_note_fleet(ak_archive *archive, const ak_overview_fleet *fleet);

/* Notes that this process (base/alive.h) makes a run, and which files the options name: `paths`
   maps names of options to absolute paths. A failure is not reported, because no result depends on
   this. */
void ak_archive_note_whereabouts(ak_archive *archive, const char *run, const json_t *paths);
/* Gives the process and the paths that ak_archive_note_whereabouts has noted, or NULL if nothing is
   known, for example of a run that began in another archive. The caller frees *process with ak_free
   and *paths with json_decref. */
ak_status ak_archive_whereabouts(char **process, json_t **paths, ak_archive *archive,
                                 const char *run, ak_error *err);

/* Gives the highest id among the trials, or 0 if there are none. */
ak_status ak_archive_last_trial(int64_t *out, ak_archive *archive, ak_error *err);
/* Gives a number that changes whenever another connection has written to the archive. */
ak_status ak_archive_version(int64_t *out, ak_archive *archive, ak_error *err);
/* Makes this connection refuse to write from now on. */
ak_status ak_archive_only_read(ak_archive *archive, ak_error *err);

#endif
