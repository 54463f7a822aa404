/*
 * versus.h: shows two runs side by side: what each found, where their configurations and
 * environments differ, and the times of configurations that both tried.
 *
 * The runs were measured at different times, so a ratio between them is only as sure as their
 * intervals and environments allow; the sections say so.
 */
#ifndef AK_REPORT_VERSUS_H
#define AK_REPORT_VERSUS_H

#include "base/value_json.h"
#include "report/section.h"

/* A configuration that both runs tried with success. Trials that a run resumed do not count. */
typedef struct ak_versus_common {
    const ak_trial *a, *b; /* the configuration's best trial in each run */
    double ratio; /* cost in A over cost in B, which are times unless the objective is another;
                     above 1, B is better */
} ak_versus_common;

typedef struct ak_versus {
    ak_report_model a, b;
    ak_versus_common *common; /* in the order of the ratio, the greatest first */
    size_t common_count;
    ak_speed speed; /* speed of B's best relative to A's best (see ak_apart_speed) */
    bool same_code; /* both runs found the same best configuration, with the same machine code */
} ak_versus;

/* Gathers two runs, of any tasks; the caller clears them. After a failure *out is unchanged. */
ak_status ak_versus_gather(ak_versus *out, ak_archive *archive, const char *a, const char *b,
                           ak_error *err);
void ak_versus_clear(ak_versus *versus);
ak_status ak_versus_sections(ak_sections *out, const ak_versus *versus, ak_error *err);
/* Gives the data for the page, an object of the kind "versus" (docs/formats.md). */
ak_status ak_versus_object(json_t **out, const ak_versus *versus, const ak_sections *sections,
                           ak_error *err);

/* ---- runs apart ------------------------------------------------------------------------------ */

/* Compares the best of two runs that were not measured beside each other. Each run's finish
   measured its own error: one candidate took part twice, and disturbed rounds were counted ("noise"
   in its result). A ratio between two runs can be no surer than either run. So the ratio is judged
   by the worse of the two controls, and counts as clean only if both runs were clean. */

/* The best of a run. The interval is 0, 0 if there is none, as for recorded times. */
typedef struct ak_apart {
    double ms, low_ms, high_ms;
    const json_t *noise; /* "noise" in the run's result; NULL or null: its error is not known */
} ak_apart;

/* Returns the speed of `after` relative to `before`; ratio 0 if either has no time, and neither
   interval nor verdict if either has no interval. */
ak_speed ak_apart_speed(const ak_apart *before, const ak_apart *after);

#endif
