/* wide.c: see wide.h. Each size is tuned by a process of its own, because that is what shares
   nothing with the others but the archive: a fault of one costs only its size. */
#include "cli/wide.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/number.h"
#include "base/proc.h"
#include "cli/output.h"
#include "cli/task_args.h"

/* Share of a time budget for the searches; the measurements side by side take the rest. */
#define SEARCH_SHARE 0.6
#define TEXT_BYTES   32
#define POLL_NS      (20 * AK_MS_NS)

/* Options of the whole run, which the run of one size does not have, and whether they take a
   value. */
static const struct {
    const char *name;
    bool value;
} whole[] = {{"--sizes", true},  {"--dispatch", true},   {"--evals", true}, {"--time", true},
             {"--events", true}, {"--llm-budget", true}, {"--json", false}, {"--quiet", false}};

typedef struct wide {
    const ak_size_list *list;
    const ak_args *args;
    const char *program;
    const char **argv; /* room for the longest command line */
    char evals[TEXT_BYTES], time[TEXT_BYTES], budget[TEXT_BYTES]; /* of each size; "": none */
    ak_proc *procs; /* one for each place; pid 0: free */
    size_t *sizes;  /* of each place */
    size_t places, next, done;
} wide;

/* Returns how many words an option of the whole run takes here; 0 if this is none. */
static int whole_words(const char *word)
{
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++) {
        size_t length = strlen(whole[i].name);
        if (strncmp(word, whole[i].name, length) == 0 &&
            (word[length] == 0 || word[length] == '=')) {
            return whole[i].value && word[length] == 0 ? 2 : 1;
        }
    }
    return 0;
}

/* Makes the command line for a size. */
static void command(wide *w, const char *size)
{
    size_t count = 0;
    w->argv[count++] = w->program;
    w->argv[count++] = "tune";
    for (int i = 0; i < w->args->word_count; i++) {
        int skip = whole_words(w->args->words[i]);
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
    w->argv[count] = NULL;
}

static ak_status start(wide *w, size_t place, ak_error *err)
{
    static const char *const everything[] = {"*", NULL};
    char seat[2 * TEXT_BYTES];
    (void)snprintf(seat, sizeof seat, "AUTOKERNEL_SEAT=%zu", place + 1);
    const char *const added[] = {seat, NULL};
    w->sizes[place] = w->next++;
    command(w, w->list->items[w->sizes[place]]);
    const ak_proc_spec spec = {.argv = w->argv, .setenv = added, .passes = everything};
    return ak_proc_start(&w->procs[place], &spec, err);
}

static void ended(wide *w, size_t place, const char *how)
{
    w->done++;
    if (!ak_args_has(w->args, AK_OPTION_QUIET)) {
        bool good = strcmp(how, "exit code 0") == 0;
        (void)fprintf(stderr, "%zu/%zu %s%s%s\n", w->done, w->list->count,
                      w->list->items[w->sizes[place]], good ? " tuned" : ": ", good ? "" : how);
    }
}

/* Starts what can be started, and reaps what has ended. Returns false if nothing is left to do. */
static bool turn(wide *w, ak_error *err)
{
    char how[128];
    bool busy = false;
    for (size_t i = 0; i < w->places; i++) {
        if (w->procs[i].pid != 0 && ak_proc_ended(how, sizeof how, &w->procs[i])) {
            ended(w, i, how);
        }
        if (w->procs[i].pid == 0 && w->next < w->list->count && ak_interrupted == 0 &&
            start(w, i, err) != AK_OK) {
            return false;
        }
        busy = busy || w->procs[i].pid != 0;
    }
    return busy;
}

static void interrupt(wide *w)
{
    for (size_t i = 0; i < w->places; i++) {
        ak_proc_signal(&w->procs[i], SIGINT);
    }
}

/* Shares the budgets among the sizes. */
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
    w->argv = ak_alloc((size_t)w->args->word_count + 16, sizeof *w->argv);
    w->procs = ak_alloc(w->places, sizeof *w->procs);
    w->sizes = ak_alloc(w->places, sizeof *w->sizes);
    share(w);
    return w->argv == NULL || w->procs == NULL || w->sizes == NULL ? ak_fail_memory(err) : AK_OK;
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
    status = err->status;
    if (status == AK_OK && ak_interrupted != 0) {
        status =
            ak_fail(err, AK_CANCELLED,
                    "%.80s: interrupted after %zu of %zu sizes; what was measured is archived, "
                    "--resume goes on from there",
                    args->operand[0], w.done, list->count);
    }
out:
    for (size_t i = 0; w.procs != NULL && i < w.places; i++) {
        ak_proc_kill(&w.procs[i]);
    }
    ak_free((void *)w.argv);
    ak_free(w.procs);
    ak_free(w.sizes);
    return status;
}
