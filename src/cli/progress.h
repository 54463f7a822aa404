/* progress.h: shows a run while it goes on: the event stream of ak_tune as a redrawn line on a
   terminal, as plain lines elsewhere, and as JSON lines in a file. All of it goes to standard
   error, because standard output is for results. */
#ifndef AK_CLI_PROGRESS_H
#define AK_CLI_PROGRESS_H

#include "cli/output.h"

#define AK_TREND_MAX 64

typedef struct ak_progress {
    bool bar, lines; /* how progress is shown; neither: not at all */
    FILE *events;    /* NULL: events are not written */
    const char *events_path;
    int events_error; /* errno of the first write that failed */
    /* What has been seen so far. */
    char baseline[64]; /* name of the fastest library */
    double baseline_ms;
    size_t total, done, failed;
    size_t before;     /* trials that a resumed run had made, which `total` and `done` leave out */
    double best_value; /* under an objective other than the time; else 0 */
    char unit[64];     /* of that objective, or its text; "" for the time */
    double best_ms, best_tflops, default_ms, seconds_budget;
    double bytes; /* traffic of one run of the kernel */
    bool memory_bound;
    int64_t begin_ns;           /* when the search began */
    char reason[240];           /* reason of the first failure */
    double trend[AK_TREND_MAX]; /* the best after every `trend_step` trials; 0: none yet */
    size_t trend_count, trend_step;
    size_t drawn;     /* columns of the line that is overwritten; 0: there is none */
    char warned[320]; /* the latest warning; repetitions are not shown */
} ak_progress;

/* Opens *out. `quiet` hides progress; with `json` it is shown on a terminal only. AK_IO if the file
   for events cannot be opened. */
ak_status ak_progress_open(ak_progress *out, const char *events_path, bool quiet, bool json,
                           ak_error *err);
/* Shows one event. It is an ak_event_sink whose context is the ak_progress. */
void ak_progress_event(void *progress, const char *event, const char *json);
/* The context of ak_progress_waiting, a callback for ak_tester_on_wait. It says that the run waits
   for the configuration `name`, and that a configuration that does not end is given up: on a
   terminal in the line of the step, elsewhere once. */
typedef struct ak_progress_wait {
    ak_progress *progress;
    const char *name;
    bool said;
} ak_progress_wait;
void ak_progress_waiting(void *wait, double seconds);

/* Ends the line and closes the file. AK_IO if an event could not be written. */
ak_status ak_progress_close(ak_progress *progress, ak_error *err);

/* Shows "word 3/10" on a terminal, for loops that do not run in ak_tune. */
void ak_progress_step(ak_progress *progress, const char *word, size_t done, size_t total);

#endif
