/* side_by_side.h: compares configurations and libraries, which are measured in turns; on a
   recording, configurations by their recorded times. */
#ifndef AK_TUNER_SIDE_BY_SIDE_H
#define AK_TUNER_SIDE_BY_SIDE_H

#include "tuner/session.h"

/* A comparison to be made. names[i] belongs to candidates[i]. Ratios are speeds, by the objective,
   relative to the best library that does the work of the task (one that only copies memory does
   not). Without such a library they are relative to `fallback`, the default, or, if that failed, to
   the first candidate that worked. */
typedef struct ak_comparison_spec {
    const ak_comparison_candidate *candidates;
    const char *const *names;
    size_t count;
    double seconds;              /* for all candidates together */
    double extra;                /* seconds that may be added on a busy machine */
    const ak_protocol *protocol; /* NULL for interleaved */
    bool specialised;            /* as in ak_job */
    bool control;                /* one candidate takes part twice, so that the verdicts allow
                                    for the comparison's own error */
    size_t twice;                /* index of the candidate that takes part twice */
    size_t fallback;             /* index of the default or of what stands for it; `count` if it
                                    does not take part */
    bool over_best;              /* in the result, over_default is the speed relative to the best
                                    configuration */
    /* (out) lost[i] is true if candidate i lost the device or ended the worker, and was left out;
       may be NULL */
    bool *lost;
} ak_comparison_spec;
typedef struct ak_comparison_result {
    ak_compared *list; /* freed by ak_comparison_result_clear, if the caller does not keep it */
    size_t count;
    size_t fallback;  /* index of the default; `count` if it did not take part */
    size_t library;   /* index of the best library, as above; `count` if none worked */
    size_t reference; /* index of the reference of ratios; `count` if nothing worked */
    size_t best;      /* index of the best configuration; `count` if none worked */
    ak_noise noise;
} ak_comparison_result;
/* Lists the installed libraries, at most `most`, and returns their number. The names are borrowed
   from the session. */
size_t ak_session_libraries(ak_comparison_candidate *candidates, const char **names,
                            const ak_session *session, size_t most);
/* Measures and judges the candidates. The caller frees *out with ak_comparison_result_clear; a
   failure leaves it unchanged. */
ak_status ak_session_comparison(ak_comparison_result *out, ak_session *session,
                                const ak_comparison_spec *spec, ak_error *err);
/* Measures a comparison job (outlast.c). Repeats it without each candidate that lost the device or
   ended its worker until the others finish, and returns entries for all candidates. If no candidate
   can be blamed, the entries keep the failure. If the one that takes part twice is left out, sets
   *twice to the index of the candidate that replaces it. */
ak_status ak_comparison_outlast(ak_result *out, size_t *twice, ak_session *session,
                                const ak_job *job, ak_error *err);
/* Returns the speed relative to the reference. */
static inline ak_speed ak_compared_speed(const ak_compared *c)
{
    return (ak_speed){c->ratio, c->ratio_low, c->ratio_high, c->verdict, c->doubt};
}
void ak_compared_free(ak_compared *list, size_t count);
void ak_comparison_result_clear(ak_comparison_result *comparison);

/* Summarises a comparison (summary.c): writes a line such as "2.10 times the default (2.04 ..
   2.15); a tie with OpenBLAS 0.3.21" about candidate `which`. `objective` is NULL if the objective
   is the time. If there is nothing to compare with, *out is NULL, or, if `which` is the default,
   says whether anything better was found. The caller frees *out with ak_free. */
ak_status ak_summary(char **out, const ak_comparison_result *comparison, size_t which,
                     const ak_objective *objective, ak_error *err);

#endif
