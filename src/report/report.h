/*
 * report.h: what is to be said about a run, gathered once (report.c) and shown in several ways.
 *
 * json shows the model itself; text, md and csv show it as sheets (sheet.h). A format is one file
 * report_NAME.c with a table ak_report_NAME, and a line in reports.def.
 */
#ifndef AK_REPORT_REPORT_H
#define AK_REPORT_REPORT_H

#include "archive/archive.h"
#include "report/impact.h"

/* Trials that failed in the same way, with the same message. Texts are borrowed from the trials. */
typedef struct ak_report_failure {
    ak_trial_status status;
    const char *reason; /* "" if none was given */
    const char *config; /* of the first one */
    size_t count;
} ak_report_failure;

/* A trial that was faster than all before it. */
typedef struct ak_report_step {
    size_t evaluation; /* from 1 */
    const ak_trial *trial;
} ak_report_step;

typedef struct ak_report_author {
    const char *strategy, *model; /* model "" if none */
    size_t proposed, ok;
    double best_ms; /* 0: none was ok */
} ak_report_author;

/* A device that measured some of the trials. Texts are borrowed from the trials. */
typedef struct ak_report_device {
    const char *name, *uuid; /* uuid "" if it has none */
    size_t trials, ok;
    double best_ms; /* 0: none was ok */
    double mhz;     /* sum of the clocks of trials that know it */
    size_t clocked; /* how many these are */
} ak_report_device;

/* How often a parameter has a value among the fastest and among all successful trials. */
typedef struct ak_report_value {
    char *name, *value;
    size_t in_top, in_all;
} ak_report_value;

typedef struct ak_report_best {
    bool found;
    const char *config;
    const ak_trial *trial; /* NULL if it was resumed from another run */
    size_t evaluation;     /* 0 likewise */
    double ms, low_ms, high_ms, tflops, gbs, efficiency;
    double speedup;   /* over the baseline; 0: no baseline */
    bool from_finish; /* measured again beside the baseline, at the end of the run */
} ak_report_best;

typedef struct ak_report_model {
    ak_run run;
    json_t *options, *result, *environment; /* NULL if not recorded */
    ak_trial *trials;                       /* in the order of evaluation */
    size_t count, capacity;
    size_t elsewhere, elsewhere_ok; /* of a run over many sizes: trials of its sizes' own runs */
    const ak_trial **ranking; /* the successful ones, fastest first */
    size_t ok_count;
    size_t top_count; /* of these, that the comparison of values calls the top */
    size_t by_status[AK_TRIAL_STATUS_COUNT];
    ak_report_failure *failures; /* most frequent first */
    size_t failure_count;
    ak_report_step *steps;
    size_t step_count;
    size_t within_5, within_1; /* evaluations until the best so far was within 5 % and 1 % of the
                                  best of the run; 0: none was ok */
    ak_impact impact;
    ak_report_author *authors;
    size_t author_count;
    ak_report_device *devices; /* in the order of their first trials */
    size_t device_count;
    ak_report_value *values; /* in order of parameters; only parameters with several values */
    size_t value_count;
    int64_t propose_ns, compile_ns, check_ns, measure_ns, overhead_ns;
    double seconds;                          /* wall time; 0: not recorded */
    const char *baseline, *baseline_version; /* NULL: none */
    double baseline_ms;
    ak_report_best best;
    char *command; /* that makes the run again */
} ak_report_model;

ak_status ak_report_gather(ak_report_model *out, ak_archive *archive, const char *run,
                           ak_error *err);
void ak_report_model_clear(ak_report_model *model);

typedef struct ak_report_ops {
    const char *name;
    ak_status (*render)(ak_buf *out, const ak_report_model *model, ak_error *err);
} ak_report_ops;

#define X(name) extern const ak_report_ops ak_report_##name;
#include "report/reports.def"
#undef X

#define AK_REPORT_BYTES_MAX (64u << 20)
#define AK_REPORT_ROWS_MAX  10 /* of a table for people; json has all of them */

#endif
