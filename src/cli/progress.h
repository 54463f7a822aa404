/*
 * progress.h: a run as it is watched: the event stream of ak_tune as one redrawn line on a
 * terminal, as plain lines elsewhere, and as JSON lines in a file. All on standard error: standard
 * output is for results.
 */
#ifndef AK_CLI_PROGRESS_H
#define AK_CLI_PROGRESS_H

#include "cli/output.h"

typedef struct ak_progress {
    bool bar, lines; /* how it is shown, if at all */
    FILE *events;    /* NULL: not written */
    const char *events_path;
    int events_error; /* errno of the first write that failed */
    /* what has been seen */
    char baseline[64]; /* name of the fastest library */
    double baseline_ms;
    size_t total, done, failed;
    double best_ms, best_tflops, default_ms, seconds_budget;
    int64_t begin_ns; /* of the search */
    char reason[240]; /* of the first failure */
    bool drawn;
    char warned[320]; /* the latest warning: one that several runs repeat is said once */
} ak_progress;

/* Shown if asked for: not with --quiet; with --json on a terminal only. */
ak_status ak_progress_open(ak_progress *out, const char *events_path, bool quiet, bool json,
                           ak_error *err);
/* An ak_event_sink; the context is the ak_progress. */
void ak_progress_event(void *progress, const char *event, const char *json);
/* Ends the line. AK_IO if the events could not all be written. */
ak_status ak_progress_close(ak_progress *progress, ak_error *err);

/* For loops that are not ak_tune: shows "word 3/10" while a terminal is there. */
void ak_progress_step(ak_progress *progress, const char *word, size_t done, size_t total);

#endif
