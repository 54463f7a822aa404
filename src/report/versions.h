/*
 * versions.h: one run's task over the versions of its kernel. A version is a state of the sources:
 * all runs of the task with the same sources belong to one version, except imported ones, which are
 * left out. The sections say what each version reached, how fast the run's best configuration was
 * in each, and which lines changed.
 */
#ifndef AK_REPORT_VERSIONS_H
#define AK_REPORT_VERSIONS_H

#include "base/pack.h"
#include "report/section.h"

typedef struct ak_kernel_version {
    char *hash; /* hash of the sources: the member "source" of an environment */
    char *since, *run,
        *config; /* when its first run began; the run and configuration of its best */
    size_t runs, trials;
    double ms, low_ms, high_ms; /* time of its best, with the interval; 0: no run recorded a best
                                   that counts, or there is no interval */
    json_t *noise;              /* "noise" in the result of `run`: how sure `ms` is */
    double same_ms;      /* time of its fastest trial with the run's best configuration; 0: none */
    json_t *environment; /* of its latest run */
    ak_pack sources;     /* empty: the archive does not have them */
} ak_kernel_version;

typedef struct ak_versions {
    ak_run run;
    char *config;            /* the best of the run; NULL: it found none */
    ak_kernel_version *list; /* oldest first */
    size_t count, capacity;
    size_t at;       /* the version of the run */
    json_t *refuted; /* one object for each run whose best does not count, because a check refuted
                        it: "run", and "refuted", which says why */
} ak_versions;

/* Gathers the versions; the caller clears them. Returns AK_NOT_FOUND if the run does not say which
   sources it was made of, or was imported. After a failure *out is unchanged. */
ak_status ak_versions_gather(ak_versions *out, ak_archive *archive, const char *run, ak_error *err);
void ak_versions_clear(ak_versions *versions);
ak_status ak_versions_sections(ak_sections *out, const ak_versions *versions, ak_error *err);
/* Gives the data for the page, an object of the kind "versions" (docs/formats.md). */
ak_status ak_versions_object(json_t **out, const ak_versions *versions, const ak_sections *sections,
                             ak_error *err);

/* ---- which lines differ between two texts (line_diff.c) -------------------------------------- */

typedef struct ak_line_change {
    char kind;        /* '-' a line of the old text, '+' of the new one */
    size_t line;      /* number of the line in that text, from 1 */
    const char *text; /* borrowed from the text, without the line break */
    size_t length;
} ak_line_change;

/* The lines that both texts begin or end with are unchanged, and so is a longest common subsequence
   of the lines between these. If finding it takes more than this many comparisons, all lines
   between count as changed. */
#define AK_LINE_DIFF_WORK_MAX (4u << 20)

/* Gives the changes in the order of the texts; the caller frees the list with ak_free. */
ak_status ak_line_diff(ak_line_change **out, size_t *count, const char *before, const char *after,
                       ak_error *err);

#endif
