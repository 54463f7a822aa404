/* candidate.h: a candidate or library that is judged, and the evaluator that judges it. An
   evaluator is an open device with the reference results of a task. */
#ifndef AK_JUDGE_CANDIDATE_H
#define AK_JUDGE_CANDIDATE_H

#include "backend/backend.h"

/* Most candidates and libraries in a comparison, the control included. */
#define AK_JUDGED_MAX 32

typedef struct ak_evaluator ak_evaluator; /* loaded.h */
/* Returns whether the device had an error that only a new process cures. */
bool ak_evaluator_lost(const ak_evaluator *evaluator);

typedef struct ak_judge_candidate {
    const ak_task *task;  /* with the implementation of `config`; NULL: the evaluator's task */
    const char *artifact; /* NULL: a baseline */
    const char *hash;     /* of the artifact's bytes when its code was checked; NULL: not known */
    const char *symbol;   /* the function of an artifact of the host; NULL: "ak_kernel". GPU
                             backends do not read it: the space file names their kernels. */
    ak_config config;
    bool specialised; /* the artifact serves only the task's own sizes, so no other is checked */
    const char *baseline; /* "openblas", "openblas:Haswell", "openblas:BEST" */
} ak_judge_candidate;

#endif
