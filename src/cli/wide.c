/* wide.c: see size_list.h. Each size is tuned by its own process, which shares only the archive
   with the others, so that a crash costs only one size. */
#include "cli/options.h"
#include "cli/size_list.h"

#include <signal.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/number.h"
#include "base/proc.h"
#include "cli/task_args.h"

/* The share of a time budget for the searches. The measurements of all candidates at every size,
   which follow, get the rest. */
#define SEARCH_SHARE 0.6
#define TEXT_BYTES   32
#define POLL_NS      (20 * AK_MS_NS)
/* Limit on the attempts at a size whose worker does not start or is lost. */
#define BEGINNINGS_MAX 3
/* If there are several places, one whose worker did not start or was lost rests for this time,
   which doubles with each further failure in a row, up to FAILURES_MAX - 1 times. When all places
   have failed FAILURES_MAX times in a row, no more sizes are started on workers. */
#define REST_NS      (10 * AK_SECOND_NS)
#define FAILURES_MAX 5

/* Options that concern the whole run, so that the command lines of single sizes do not repeat
   them. */
static const ak_option_set whole = AK_O(SIZES) | AK_O(DISPATCH) | AK_O(EVALS) | AK_O(TIME) |
                                   AK_O(EVENTS) | AK_O(LLM_BUDGET) | AK_O(JSON) | AK_O(QUIET);

typedef struct wide {
    const ak_size_list *list;
    const ak_args *args;
    const char *program;
    const char **argv; /* room for the longest command line */
    char evals[TEXT_BYTES], time[TEXT_BYTES], budget[TEXT_BYTES]; /* for one size; "": the option is
                                                                     left out */
    struct place {
        ak_proc proc; /* pid 0: free */
        size_t size;
        int failures;  /* in a row */
        int64_t rests; /* the time (ak_clock_ns) until which it rests */
    } * at;
    size_t places, done;
    size_t *queue; /* sizes that wait, from `next` to `queued` */
    size_t next, queued;
    int *begun; /* for each size, how often it was started */
} wide;

/* Makes the command line for a size. */
static void command(wide *w, size_t at)
{
    size_t count = 0;
    const char *size = w->list->items[at];
    w->argv[count++] = w->program;
    w->argv[count++] = "tune";
    const int end = ak_options_end(w->args->word_count, w->args->words);
    for (int i = 0; i < end; i++) {
        int skip = ak_option_words(w->args->words[i], whole);
        if (skip == 0) {
            w->argv[count++] = w->args->words[i];
        } else {
            i += skip - 1;
        }
    }
    w->argv[count++] = "--quiet";
    w->argv[count++] = "--size";
    w->argv[count++] = size;
    if (w->evals[0] != 0) {
        w->argv[count++] = "--evals";
        w->argv[count++] = w->evals;
    }
    if (w->time[0] != 0) {
        w->argv[count++] = "--time";
        w->argv[count++] = w->time;
    }
    if (w->budget[0] != 0) {
        w->argv[count++] = "--llm-budget";
        w->argv[count++] = w->budget;
    }
    if (w->begun[at] > 0 && !ak_args_has(w->args, AK_OPTION_RESUME)) {
        w->argv[count++] = "--resume"; /* so that the trials of the lost worker are used */
    }
    for (int i = end; i < w->args->word_count; i++) {
        w->argv[count++] = w->args->words[i]; /* "--" and the operands behind it */
    }
    w->argv[count] = NULL;
}

static ak_status start(wide *w, size_t place, ak_error *err)
{
    static const char *const everything[] = {"*", NULL};
    char seat[2 * TEXT_BYTES];
    (void)snprintf(seat, sizeof seat, "AUTOKERNEL_SEAT=%zu", place + 1);
    const char *const added[] = {seat, NULL};
    struct place *p = &w->at[place];
    p->size = w->queue[w->next++];
    command(w, p->size);
    w->begun[p->size]++;
    const ak_proc_spec spec = {.argv = w->argv, .setenv = added, .passes = everything};
    return ak_proc_start(&p->proc, &spec, err);
}

/* If the worker of a place did not start or was lost, there are other places, and the user has not
   interrupted, lets this place rest and, up to BEGINNINGS_MAX attempts, queues its size again.
   Returns false if the size is not tried again. */
static bool again(wide *w, struct place *p, bool unreached)
{
    p->failures = unreached ? p->failures + 1 : 0;
    if (!unreached || ak_interrupted != 0 || w->places == 1) {
        return false;
    }
    p->rests = ak_clock_ns() +
               (REST_NS << (p->failures < FAILURES_MAX ? p->failures - 1 : FAILURES_MAX - 1));
    if (w->begun[p->size] == BEGINNINGS_MAX) {
        return false;
    }
    w->queue[w->queued++] = p->size;
    return true;
}

static void ended(wide *w, size_t place, const char *how)
{
    char text[TEXT_BYTES];
    struct place *p = &w->at[place];
    bool good = strcmp(how, "exit code 0") == 0;
    (void)snprintf(text, sizeof text, "exit code %d", AK_EXIT_NO_WORKER);
    bool unreached = strcmp(how, text) == 0;
    bool waits = again(w, p, unreached);
    w->done += waits ? 0 : 1;
    if (!ak_args_has(w->args, AK_OPTION_QUIET)) {
        ak_tell("%zu/%zu %s%s%s", w->done, w->list->count, w->list->items[p->size],
                good ? " tuned" : ": ",
                good        ? ""
                : waits     ? "the worker was lost, another takes it"
                : unreached ? "the worker was lost"
                            : how);
    }
}

/* Returns whether every place has failed too often in a row to be tried again. */
static bool hopeless(const wide *w)
{
    for (size_t i = 0; i < w->places; i++) {
        if (w->at[i].failures < FAILURES_MAX) {
            return false;
        }
    }
    return true;
}

/* Returns whether a place takes the next size now. As long as another place works, a place whose
   last worker did not start or was lost takes only sizes that were not started before. */
static bool takes(const wide *w, const struct place *p)
{
    bool others = false;
    if (p->proc.pid != 0 || w->next == w->queued || ak_clock_ns() < p->rests) {
        return false;
    }
    for (size_t i = 0; i < w->places; i++) {
        others = others || w->at[i].failures == 0;
    }
    return p->failures == 0 || !others || w->begun[w->queue[w->next]] == 0;
}

/* Reaps the processes that have ended and starts those that can be started. Returns false if
   nothing is left to do, or if a start failed and set *err. */
static bool turn(wide *w, ak_error *err)
{
    char how[128];
    bool busy = false;
    for (size_t i = 0; i < w->places; i++) {
        struct place *p = &w->at[i];
        if (p->proc.pid != 0 && ak_proc_ended(how, sizeof how, &p->proc)) {
            ended(w, i, how);
        }
    }
    const bool over = ak_interrupted != 0 || hopeless(w);
    for (size_t i = 0; i < w->places; i++) {
        struct place *p = &w->at[i];
        if (!over && takes(w, p) && start(w, i, err) != AK_OK) {
            return false;
        }
        busy = busy || p->proc.pid != 0;
    }
    return busy || (w->next < w->queued && !over);
}

static void interrupt(wide *w)
{
    for (size_t i = 0; i < w->places; i++) {
        ak_proc_signal(&w->at[i].proc, SIGINT);
    }
}

/* Divides the budgets: evaluations and dollars by the number of sizes, SEARCH_SHARE of the time by
   the number of sizes that each place tunes. */
static void share(wide *w)
{
    double dollars = w->args->number[AK_OPTION_LLM_BUDGET];
    double evals = w->args->number[AK_OPTION_EVALS], seconds = w->args->number[AK_OPTION_TIME];
    size_t rounds = (w->list->count + w->places - 1) / w->places;
    if (evals > 0) {
        size_t each = (size_t)evals / w->list->count;
        (void)snprintf(w->evals, sizeof w->evals, "%zu", each == 0 ? 1 : each);
    }
    bool llm = ak_args_has(w->args, AK_OPTION_LLM) || ak_args_has(w->args, AK_OPTION_LLM_REPLAY);
    if (dollars > 0 && llm) {
        (void)ak_number_print(w->budget, sizeof w->budget, "%.6f",
                              dollars / (double)w->list->count);
    }
    if (seconds > 0) {
        (void)ak_number_print(w->time, sizeof w->time, "%.1f",
                              SEARCH_SHARE * seconds / (double)rounds + 0.1);
    }
}

static ak_status open_wide(wide *w, ak_error *err)
{
    AK_DO(ak_fleet_size(&w->places, w->args->text[AK_OPTION_LAUNCHER],
                        w->args->text[AK_OPTION_WORKERS], w->args->text[AK_OPTION_DEVICE], err));
    w->places = w->places < w->list->count ? w->places : w->list->count;
    w->program = ak_env("AUTOKERNEL_WORKER");
    AK_DO(AK_NEW(w->argv, (size_t)w->args->word_count + 16, err));
    AK_DO(AK_NEW(w->at, w->places, err));
    AK_DO(AK_NEW(w->queue, BEGINNINGS_MAX * w->list->count, err));
    AK_DO(AK_NEW(w->begun, w->list->count, err));
    share(w);
    while (w->queued < w->list->count) {
        w->queue[w->queued] = w->queued;
        w->queued++;
    }
    return AK_OK;
}

bool ak_wide_part(void)
{
    return ak_env("AUTOKERNEL_SEAT") != NULL;
}

ak_status ak_wide_tune(const ak_size_list *list, const ak_args *args, ak_error *err)
{
    wide w = {.list = list, .args = args};
    bool told = false;
    ak_status status = AK_OK;
    AK_TRY(open_wide(&w, err));
    while (turn(&w, err)) {
        if (ak_interrupted != 0 && !told) {
            interrupt(&w);
            told = true;
        }
        ak_clock_sleep_ns(POLL_NS);
    }
    AK_TRY(err->status);
    if (ak_interrupted != 0) {
        AK_TRY(ak_fail(err, AK_CANCELLED,
                       "%.80s: interrupted after %zu of %zu size%s; --resume goes on from what is "
                       "archived",
                       args->operand[0], w.done, list->count, ak_plural(list->count)));
    }
out:
    for (size_t i = 0; w.at != NULL && i < w.places; i++) {
        ak_proc_kill(&w.at[i].proc);
    }
    AK_FREE_ALL((void *)w.argv, w.at, w.queue, w.begun);
    return status;
}
