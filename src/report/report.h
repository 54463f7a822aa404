/*
 * report.h: the model of a run, gathered once (run_model.c) and shown in several formats.
 *
 * json shows the model itself; text, md and csv show it as sections (section.h), html both, with
 * the trials and the questions to a language model (page.h). A format is one file report_NAME.c
 * with a table ak_report_NAME, and a line in reports.def.
 */
#ifndef AK_REPORT_REPORT_H
#define AK_REPORT_REPORT_H

#include "archive/archive.h"
#include "base/alive.h"
#include "report/changes.h"
#include "report/importance.h"

/* Trials that failed with the same status and message. Texts are borrowed from the trials. */
typedef struct ak_report_failure {
    ak_trial_status status;
    const char *reason; /* "" if none was given */
    const char *config; /* configuration of the first such trial */
    size_t count;
} ak_report_failure;

/* A trial that was better, by the objective, than all before it. */
typedef struct ak_report_step {
    size_t evaluation; /* from 1 */
    const ak_trial *trial;
} ak_report_step;

/* Trials of one author or of one device. Texts are borrowed from the trials. */
typedef struct ak_report_group {
    const char *name;   /* the strategy, or the device's name */
    const char *detail; /* the language model, or the device's uuid; "" if there is none */
    size_t trials, ok;
    double best_ms; /* 0: none was ok */
    double mhz;     /* sum of the clocks of trials that recorded one */
    size_t clocked; /* number of these trials */
} ak_report_group;

/* How often a parameter has a value among the best trials (ak_report_model.top_count) and among all
   successful ones. Texts are borrowed from the matrix. */
typedef struct ak_report_value {
    const char *name, *value;
    size_t in_top, in_all;
} ak_report_value;

typedef struct ak_report_best {
    bool found;
    const char *config;
    const ak_trial *trial; /* NULL: none of `ranking` has the configuration */
    size_t evaluation;     /* from 1; 0: `trial` is NULL */
    double ms, low_ms, high_ms, tflops, gbs, efficiency;
    double value;   /* value under the objective; 0: the objective is the time */
    double speedup; /* over the baseline or, without one, the default; 0: not known */
    ak_placement placement;
    bool from_finish; /* the finish measured it again beside the other candidates */
    bool again;       /* without a finish: the search measured it again */
} ak_report_best;

typedef struct ak_report_model {
    ak_run run;
    char objective[AK_OBJECTIVE_NAME_BYTES]; /* such as "time" */
    json_t *options, *result, *environment;  /* NULL if not recorded */
    ak_trial *trials;                        /* in the order of evaluation */
    size_t count, capacity;
    /* The first `resumed` of `trials` are from earlier runs, and this run took them over. They are
       in `count`, are ranked and drawn with the others, and count for parameter importance.
       `by_status`, times, failures, proposers and devices are those of this run alone. */
    size_t resumed;
    /* For a run over many sizes, how many trials the runs of its single sizes made, in all and by
       status. These are not in `trials`. */
    size_t elsewhere, elsewhere_by_status[AK_TRIAL_STATUS_COUNT];
    const ak_trial **ranking; /* the successful trials, the best by the objective first */
    size_t ok_count;
    size_t top_count; /* how many of `ranking` count as the best in `values` */
    size_t by_status[AK_TRIAL_STATUS_COUNT];
    ak_report_failure *failures; /* most frequent first */
    size_t failure_count;
    ak_report_step *steps;
    size_t step_count;
    size_t within_5, within_1; /* evaluations until the best so far was within 5 % and 1 % of the
                                  best of all; 0: none was ok */
    ak_importance importance;
    ak_report_group *authors; /* who proposed, in the order of their first trials */
    size_t author_count;
    ak_report_group *devices; /* which devices measured, in the same order */
    size_t device_count;
    ak_report_value *values; /* by parameter, in alphabetical order, the value most frequent among
                                the best first; only parameters with several values */
    size_t value_count;
    /* Sums over the run's own trials. An imported trial may name any time, so no integer would hold
       them. */
    double propose_ns, compile_ns, check_ns, measure_ns, overhead_ns;
    double seconds;                          /* wall time; 0: not recorded */
    const char *baseline, *baseline_version; /* NULL: none */
    double baseline_ms;
    ak_report_best best;
    const char *default_config;     /* NULL: not known */
    const ak_trial *default_trial;  /* its first successful one of `trials`; NULL: none */
    const ak_trial *default_failed; /* its first failed one, if it has no successful one; NULL:
                                       none */
    ak_matrix matrix;               /* the configurations of the trials */
    ak_report_change *changes;      /* changes of the best from the default */
    size_t change_count;
    json_t *conversation, *worth; /* the JSON of ak_llm_conversation and ak_llm_worth; NULL: the run
                                     has no questions to a language model; `worth` is NULL also if
                                     limits refused all of them */
    json_t *paths;                /* where the files lie that the options name; NULL: not known */
    char *command;                /* command that repeats the run */
    const char *missing; /* the recording in the command if its folder is not known; NULL: none */
    ak_alive alive;      /* whether a run that has not ended still runs */
    char *changed; /* place of the kernel, if the kernel has changed since the run; NULL: it has
                      not, or that is not known */
    char *refuted; /* says which check refuted the best; NULL: none */
} ak_report_model;

/* Gathers the model of a run, which the caller clears. After a failure *out is unchanged. */
ak_status ak_report_gather(ak_report_model *out, ak_archive *archive, const char *run,
                           ak_error *err);
void ak_report_model_clear(ak_report_model *model);
/* Sets model->command to the command that was typed or, if it was not recorded, to an equivalent
   one. The model's run, options and paths must be set. */
ak_status ak_report_command(ak_report_model *model, ak_error *err);

/* Return how many trials the run made, and how many of them ended with each status, as an array of
   AK_TRIAL_STATUS_COUNT numbers, which the model owns. For a run over many sizes, the trials of the
   runs of its single sizes are counted. */
size_t ak_report_tried(const ak_report_model *model);
const size_t *ak_report_by_status(const ak_report_model *model);
/* Returns the best trial of a configuration; NULL if there is none, as for NULL. */
const ak_trial *ak_report_trial_of(const ak_report_model *model, const char *config);
/* Returns whether the run resumed this trial, one of model->trials. */
bool ak_report_is_resumed(const ak_report_model *model, const ak_trial *trial);
/* Returns the seconds of the run that belong to no stage of a trial: starting, making the
   reference, the finish. 0 if stages overlap so much that their sum reaches the wall time; negative
   if the wall time is not known, as for a run that was killed. */
double ak_report_rest(const ak_report_model *model);
/* Returns a new object, the json report; NULL if memory ran out. */
json_t *ak_report_object(const ak_report_model *model);

struct ak_section; /* section.h */

/* A format has either `render` or `print_section`, and then perhaps `print_head`. `width` is the
   number of columns of a screen, for the formats that people read; with 0, lines are not folded. */
typedef struct ak_report_ops {
    const char *name;
    ak_status (*render)(ak_buf *out, const ak_report_model *model, size_t width, ak_error *err);
    void (*print_head)(ak_buf *out, const char *title);
    void (*print_section)(ak_buf *out, const struct ak_section *section, size_t width);
} ak_report_ops;

#define X(name) extern const ak_report_ops ak_report_##name;
#include "report/reports.def"
#undef X

#define AK_REPORT_WIDTH     100 /* columns, unless the format has its own: "text:80" */
#define AK_REPORT_BYTES_MAX (64u << 20)
/* Limit on the rows of some tables for people, such as that of failures. json limits the fastest
   configurations only. */
#define AK_REPORT_ROWS_MAX 10

#endif
