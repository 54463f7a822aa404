/*
 * study.h: arms, seeds and curves of a study, whatever runs the searches: study_replay.c on a
 * recording, study_live.c on a device.
 *
 * A run is a curve: after each evaluation, the best value so far (smaller is better), the seconds
 * and the money spent. Curves are compared as quality: reference / best, 1 at the reference. The
 * reference is the optimum of a recording, or on a device the best that any run of the study found.
 */
#ifndef AK_TUNER_STUDY_H
#define AK_TUNER_STUDY_H

#include "strategy/strategy.h"

#define AK_STUDY_ARMS_MAX 32

typedef struct ak_study_point {
    double best; /* minimised; 0: nothing that worked yet */
    double seconds, usd;
} ak_study_point;

typedef struct ak_study_run {
    uint64_t seed;
    ak_study_point *points; /* after each evaluation */
    size_t count, capacity;
    size_t failed, calls;
    char *fell_back; /* why the model was not in charge; NULL: it was, or none was needed */
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
    double optimum; /* minimised; 0: unknown */
    char *model;    /* the language model that took part; NULL: none */
    const char *kernel, *device, *size;
} ak_study;

/* Reads the arms and derives the seeds. */
ak_status ak_study_open(ak_study *out, const ak_study_options *options, ak_error *err);
void ak_study_close(ak_study *study);

/* What the language model is called, once it is open; NULL: none is. The first name counts. */
ak_status ak_study_model(ak_study *study, const char *name, ak_error *err);
ak_status ak_study_add(ak_study_run *run, const ak_study_point *point, ak_error *err);
/* Tells the sink that a run ended. */
void ak_study_announce(const ak_study *study, const ak_study_arm *arm, const ak_study_run *run);
bool ak_study_cancelled(const ak_study *study);

/* The whole as JSON: bootstrap intervals of the mean quality against evaluations, seconds and money
   (95 %, percentiles of AK_STUDY_RESAMPLES resamples of the runs). */
#define AK_STUDY_RESAMPLES 1000
ak_status ak_study_json(char **out, const ak_study *study, ak_error *err);

#endif
