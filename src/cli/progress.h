/* progress.h: shows the events of ak_tune while a run goes on: in a redrawn line on a terminal, in
   plain lines elsewhere. Both go to standard error, because standard output is for results. With
   --events, a file gets the events as JSON lines. */
#ifndef AK_CLI_PROGRESS_H
#define AK_CLI_PROGRESS_H

#include "cli/command.h"
#include "cli/output.h"

#define AK_TREND_MAX 64
/* From this number on, a limit on evaluations means no limit, and no total is shown. */
#define AK_EVALUATIONS_OPEN 1000000

typedef struct ak_progress {
    bool bar, lines; /* a redrawn line, or plain lines; neither: only warnings are shown */
    FILE *events;    /* NULL: events are not written */
    const char *events_path;
    int events_error; /* errno of the first write that failed */
    /* What has been seen so far. */
    char baseline[64]; /* name of the fastest library */
    double baseline_ms;
    size_t total, done, failed;
    size_t before;     /* resumed trials, which `total` and `done` leave out */
    double best_value; /* value of the best trial if the objective is not the time; else 0 */
    char unit[64];     /* unit of that objective, or its text; "" for the time */
    double best_ms, best_tflops, default_ms, seconds_budget;
    double bytes; /* that one run of the kernel moves to and from memory */
    bool memory_bound;
    int64_t begin_ns;           /* when the search began */
    char reason[240];           /* why the first failed trial failed */
    double trend[AK_TREND_MAX]; /* best_ms after every `trend_step` trials; 0: none yet */
    size_t trend_count, trend_step;
    size_t drawn;     /* columns of the line that is overwritten; 0: there is none */
    char warned[320]; /* the latest warning, which is not shown again */
} ak_progress;

/* Opens *out. --quiet hides progress, except warnings; --json hides it unless it goes to a
   terminal. Fails if the file for --events is "-" or cannot be opened, or if it has other contents,
   which ak_target_of_events protects. */
ak_status ak_progress_open(ak_progress *out, const ak_args *args, ak_error *err);
/* Shows one event and writes it to the --events file. It is an ak_event_sink whose context is the
   ak_progress. */
void ak_progress_event(void *progress, const char *event, const char *json);
/* The context of ak_progress_waiting, a callback for ak_tester_on_wait. The callback says that the
   run waits for the reference's first results or, if `tester` has them, for the configuration
   `name`. On a terminal it says so in the redrawn line, elsewhere once for each of these. */
typedef struct ak_progress_wait {
    ak_progress *progress;
    const ak_tester *tester;
    const char *name, *reference; /* reference: what computes right results; NULL: nothing */
    bool said, said_reference;
} ak_progress_wait;
void ak_progress_waiting(void *wait, double seconds);

/* Erases the redrawn line and closes the file. Returns AK_IO if an event could not be written. */
ak_status ak_progress_close(ak_progress *progress, ak_error *err);

/* Shows "WORD 3/10" on a terminal if `done` is 2 and `total` 10, for loops outside ak_tune; erases
   the line if `done` is not below `total`. */
void ak_progress_step(ak_progress *progress, const char *word, size_t done, size_t total);

#endif
