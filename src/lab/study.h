/*
 * study.h: the arms, seeds and curves of a study. An arm is a strategy, with hyper-parameters, that
 * the study compares with the other arms. study_replay.c runs the searches on a recording,
 * study_live.c on a device.
 *
 * Each run makes a curve, which records after each evaluation the best value so far (smaller is
 * better) and the seconds and money spent so far. Curves are compared by quality, which is
 * reference / best and 1 at the reference. The reference is the optimum of a recording or, where
 * none is known, the best value of any run of the study.
 */
#ifndef AK_LAB_STUDY_H
#define AK_LAB_STUDY_H

#include "llm/brief.h"
#include "strategy/strategy.h"

#define AK_STUDY_ARMS_MAX 32

typedef struct ak_study_point {
    double best; /* the best value so far, minimised; 0 until a configuration works */
    double seconds, usd;
} ak_study_point;

typedef struct ak_study_run {
    uint64_t seed;
    ak_study_point *points; /* one after each evaluation */
    size_t count, capacity;
    size_t failed, calls, uncounted; /* uncounted: calls for which no tokens were reported */
    int64_t tokens;                  /* input and output tokens of the language model */
    double usd;                      /* cost of all calls, including those after the last trial */
    bool unpriced;                   /* at least one call has no known price */
    /* Why the strategy carried on without its model; NULL if it did not. Such a run counts only for
       "deployed", the quality of all runs of its arm, for "spent", what they cost, and for the
       reference. */
    char *fell_back;
} ak_study_run;

typedef struct ak_study_arm {
    char *name;
    ak_strategy_choice choice;
    ak_study_run *runs;
} ak_study_arm;

typedef struct ak_study {
    ak_study_options options;
    ak_study_arm arms[AK_STUDY_ARMS_MAX];
    size_t arm_count;
    double optimum;  /* minimised; 0 if unknown */
    char *model;     /* name of the language model that took part; NULL if there is none */
    char *like;      /* one line, owned, on what options.like contributed; NULL: not known */
    ak_share share;  /* how much the language model is told */
    double pressure; /* highest pressure seen before or after a run on a device
                        (measure/pressure.h); negative: not known, or a recording */
    const char *kernel, *device, *size;
} ak_study;

/* Reads the arms, sets arms, evaluations and seeds to their defaults if they are NULL or 0, and
   derives a seed for each run; the seeds are the same for all arms. After a failure there is
   nothing to close. */
ak_status ak_study_open(ak_study *out, const ak_study_options *options, ak_error *err);
void ak_study_close(ak_study *study);

/* Stores the name of the language model, unless one is stored already or `name` is NULL. */
ak_status ak_study_model(ak_study *study, const char *name, ak_error *err);
/* Appends a point to the curve of a run. */
ak_status ak_study_add(ak_study_run *run, const ak_study_point *point, ak_error *err);
/* Sends the event "run" to the sink when a run has ended. */
void ak_study_announce(const ak_study *study, const ak_study_arm *arm, const ak_study_run *run);
bool ak_study_cancelled(const ak_study *study);

#define AK_STUDY_RESAMPLES 1000
/* Writes the whole study as JSON, which the caller frees with ak_free. Each curve gives the mean
   quality against evaluations, seconds or money, with 95 % bootstrap intervals: percentiles of
   AK_STUDY_RESAMPLES resamples of the runs that count. The ends of an interval are null if only one
   run of the arm counts. An arm has no curve if none of its runs counts, and none against money if
   these runs cost nothing. */
ak_status ak_study_json(char **out, const ak_study *study, ak_error *err);

#endif
