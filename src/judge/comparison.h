/*
 * comparison.h: the plan and the result of a comparison: several candidates and libraries that are
 * measured in turns on the same buffers. ak_evaluate_comparison (evaluate.h) runs one.
 */
#ifndef AK_JUDGE_COMPARISON_H
#define AK_JUDGE_COMPARISON_H

#include "judge/candidate.h"
#include "measure/conditions.h"
#include "measure/overlap.h"
#include "measure/protocol.h"
#include "measure/pressure.h"

/* Every comparison has this many groups of rounds, however little time it is given, because a
   verdict compares groups (measure/verdict.h). On a busy machine it may get up to as many again. */
#define AK_COMPARISON_GROUPS 9
/* Every comparison has at least one round in each group. */
#define AK_COMPARISON_ROUNDS_MIN AK_COMPARISON_GROUPS
typedef struct ak_comparison_plan {
    double seconds;              /* planned for loading, first checks and rounds; what follows
                                    the last group comes on top */
    double extra;                /* seconds that may be added on a busy machine */
    const ak_protocol *protocol; /* NULL: interleaved; not NULL in the worker */
} ak_comparison_plan;

/* What the compiler reported about a configuration. */
typedef struct ak_code_facts {
    bool known;
    int registers, shared_bytes, spill_bytes, code_bytes;
} ak_code_facts;

/* The result of one candidate. samples_ms[r] of all candidates belong to the same round. */
typedef struct ak_comparison_entry {
    ak_trial_status status;
    char *reason;
    bool culprit; /* this candidate lost the device, so the others have no result; the tuner also
                     sets it for one that ended the worker */
    /* The version that a library reports once it has run; NULL if it reports none, and for a
       configuration. */
    char *version;
    double *samples_ms;
    size_t sample_count;
    /* For each sample: the share of the batch's time in which its threads waited for a processor, 0
       if that is not known. NULL: not known for any. */
    double *waited;
    /* For each sample: joules of one call. NULL: the task's objective does not need the energy, or
       the candidate failed. */
    double *joules;
    double *costs; /* set by the tuner, for each sample, under the objective; NULL: the cost is the
                      time */
    ak_code_facts code; /* of a configuration; all 0 for a library */
    ak_conditions conditions;
    ak_overlap overlap;
} ak_comparison_entry;
void ak_comparison_entry_clear(ak_comparison_entry *entry);

/* The course of a comparison. measure/pressure.h defines the pressures. */
typedef struct ak_comparison_course {
    size_t group; /* rounds in each group */
    bool extended;
    /* So many candidates took much longer on unseen inputs than in batches, and therefore all times
       are those of calls on unseen inputs; 0: all are those of batches. */
    size_t unseen;
    double before, during, after;
} ak_comparison_course;

/* Who takes part in a comparison, and how it is run. */
typedef struct ak_comparison_request {
    const ak_judge_candidate *candidates;
    size_t count;
    const ak_comparison_plan *plan;
    int64_t timeout_ns; /* for a launch */
} ak_comparison_request;

/* Runs a comparison for ak_evaluate_comparison. The names of libraries must be exact here, without
   ":BEST". */
ak_status ak_compare_candidates(ak_comparison_entry *out, ak_comparison_course *course,
                                ak_evaluator *e, const ak_comparison_request *request,
                                ak_error *err);
/* A library that candidates can be compared with. */
typedef struct ak_baseline_info {
    char *name, *title, *version, *note;
    bool installed;
} ak_baseline_info;
void ak_baseline_info_clear(ak_baseline_info *info);
/* Frees a list with what it holds. NULL is accepted. */
void ak_baseline_info_free(ak_baseline_info *list, size_t count);

#endif
