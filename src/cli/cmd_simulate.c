/* cmd_simulate.c: replays strategies on recordings, without a device. */
#include <sys/stat.h>

#include "base/alloc.h"
#include "cli/search_args.h"
#include "cli/table.h"
#include "cli/task_args.h"

#define STRATEGIES_MAX 32

/* The results of one strategy on all recordings. */
typedef struct entry {
    char *strategy;
    ak_simulation results[AK_OPERANDS_MAX];
    bool scored;                   /* true if it has a score on every recording */
    double score, ms_per_proposal; /* means over the recordings */
} entry;

typedef struct board {
    ak_recording *recordings[AK_OPERANDS_MAX];
    size_t recording_count;
    ak_like_files like;
    entry entries[STRATEGIES_MAX];
    size_t entry_count;
    double control[AK_OPERANDS_MAX]; /* the score of random search; 0 without --score, or if there
                                        is none */
} board;

/* Returns whether this part of a comma-separated list continues the strategy before it. It does if
   it has a '=' and no ':' before the '='. So "genetic:population=20,mutation=0.1,random" names two
   strategies. */
static bool belongs_to_previous(const char *part, size_t length)
{
    const char *equals = memchr(part, '=', length), *colon = memchr(part, ':', length);
    return equals != NULL && (colon == NULL || colon > equals);
}

static ak_status split_strategies(board *b, const char *text, ak_error *err)
{
    while (*text != 0) {
        size_t length = strcspn(text, ",");
        while (text[length] == ',' &&
               belongs_to_previous(text + length + 1, strcspn(text + length + 1, ","))) {
            length += 1 + strcspn(text + length + 1, ",");
        }
        AK_FAIL_IF(length == 0 || (text[length] == ',' && text[length + 1] == 0), err, AK_INVALID,
                   "--strategy: a name is missing beside a comma");
        AK_FAIL_IF(b->entry_count == STRATEGIES_MAX, err, AK_LIMIT,
                   "--strategy: at most %d at once", STRATEGIES_MAX);
        char *name = ak_strndup(text, length);
        AK_DO(ak_made(name, err));
        b->entries[b->entry_count++].strategy = name;
        text += text[length] == ',' ? length + 1 : length;
    }
    return AK_OK;
}

static ak_status simulate(board *b, const ak_args *args, ak_error *err)
{
    ak_simulate_options options = {
        .repeats = (size_t)args->number[AK_OPTION_REPEATS],
        .seed = (uint64_t)args->number[AK_OPTION_SEED],
        .batch = (size_t)args->number[AK_OPTION_BATCH],
        .evaluations = (size_t)args->number[AK_OPTION_EVALS],
        .seconds = args->number[AK_OPTION_TIME],
        .jobs = (int)args->number[AK_OPTION_JOBS],
        .like = (const ak_recording *const *)b->like.list,
        .like_count = b->like.count,
        .cancel = &ak_interrupted,
    };
    for (size_t e = 0; e < b->entry_count; e++) {
        entry *at = &b->entries[e];
        at->scored = true;
        options.strategy = at->strategy;
        for (size_t i = 0; i < b->recording_count; i++) {
            ak_simulation *result = &at->results[i];
            AK_DO(ak_simulate(result, b->recordings[i], &options, err));
            at->scored = at->scored && result->scored;
            at->score += result->score / (double)b->recording_count;
            at->ms_per_proposal += result->ms_per_proposal / (double)b->recording_count;
        }
    }
    return AK_OK;
}

/* The score is defined so that random search gets 0, but on some recordings it does not: ranks are
   whole numbers, which are coarse if there are few configurations, and the score assumes that all
   configurations take the same time to try. So with --score, random search is simulated
   CONTROL_REPEATS times on each recording, and its score is reported if that is further than
   CONTROL_FAR from 0. If fewer than FEW_CONFIGURATIONS were ok, their number is given as the
   reason. */
#define FEW_CONFIGURATIONS 1000
#define CONTROL_REPEATS    100
#define CONTROL_FAR        0.1

static bool is_far(double score)
{
    return score > CONTROL_FAR || score < -CONTROL_FAR;
}

static ak_status control(board *b, const ak_args *args, ak_error *err)
{
    const ak_simulate_options options = {
        .strategy = "random",
        .repeats = CONTROL_REPEATS,
        .seed = (uint64_t)args->number[AK_OPTION_SEED],
        .jobs = (int)args->number[AK_OPTION_JOBS],
        .cancel = &ak_interrupted,
    };
    for (size_t i = 0; i < b->recording_count; i++) {
        AK_AT_END(ak_simulation_clear) ak_simulation result = {0};
        AK_DO(ak_simulate(&result, b->recordings[i], &options, err));
        b->control[i] = result.scored ? result.score : 0;
    }
    return AK_OK;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Means over the repeats; that of best_seconds is over the repeats that found a configuration. */
typedef struct means {
    double evaluations, failed, seconds, best_seconds;
} means;

static means means_of(const ak_simulation *result)
{
    means m = {0};
    double count = (double)result->count;
    size_t found = 0;
    for (size_t i = 0; i < result->count; i++) {
        m.evaluations += (double)result->repeats[i].evaluations;
        m.failed += (double)result->repeats[i].failed;
        m.seconds += result->repeats[i].seconds;
        m.best_seconds += result->repeats[i].best_seconds;
        found += result->repeats[i].found ? 1 : 0;
    }
    m.evaluations /= count;
    m.failed /= count;
    m.seconds /= count;
    m.best_seconds = found > 0 ? m.best_seconds / (double)found : 0;
    return m;
}

static json_t *facts_json(const char *path, const ak_recording_facts *f)
{
    return json_pack(
        "{s:o, s:s?, s:s?, s:s?, s:s?, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:o}",
        "recording", ak_json_shown(path), "kernel", f->kernel, "device", f->device, "size", f->size,
        "objective", f->objective, "maximise", f->maximise, "configurations",
        (json_int_t)f->configurations, "ok", (json_int_t)f->ok, "optimum", ak_json_real(f->optimum),
        "median", ak_json_real(f->median), "seconds_median", ak_json_real(f->seconds_median),
        "seconds_each", ak_json_real(f->seconds_each), "target", ak_json_real(f->target),
        "cutoff_evaluations", (json_int_t)f->evaluations, "cutoff_seconds",
        ak_json_real(f->last_seconds));
}

static json_t *result_json(const board *b, const entry *e, size_t i, const ak_args *args)
{
    const ak_simulation *result = &e->results[i];
    means m = means_of(result);
    json_t *object = facts_json(args->operand[i], ak_recording_describe(b->recordings[i]));
    bool good = (result->like == NULL || ak_json_set_text(object, "like", result->like)) &&
                ak_json_set_count(object, "repeats", result->count) &&
                ak_json_set_real(object, "best", result->median_best) &&
                ak_json_set_real(object, "best_seconds", m.best_seconds) &&
                ak_json_set_real(object, "evaluations", m.evaluations) &&
                ak_json_set_real(object, "failed", m.failed) &&
                ak_json_set_real(object, "seconds", m.seconds) &&
                ak_json_set_real(object, "ms_per_proposal", result->ms_per_proposal);
    if (good && ak_args_has(args, AK_OPTION_SCORE)) {
        good =
            ak_json_set(object, "score", result->scored ? json_real(result->score) : json_null()) &&
            (!is_far(b->control[i]) || ak_json_set_real(object, "random_scores", b->control[i]));
    }
    return ak_json_whole(object, good);
}

static json_t *entry_json(const board *b, const entry *e, const ak_args *args)
{
    json_t *object = json_object(), *list = json_array();
    bool good = ak_json_set_text(object, "strategy", e->strategy);
    good = good && (!ak_args_has(args, AK_OPTION_SCORE) ||
                    ak_json_set(object, "score", e->scored ? json_real(e->score) : json_null()));
    good = good && ak_json_set_real(object, "ms_per_proposal", e->ms_per_proposal);
    for (size_t i = 0; i < b->recording_count; i++) {
        ak_json_add(&list, result_json(b, e, i, args));
    }
    /* ak_json_set releases the list even on failure. */
    good = ak_json_set(object, "recordings", list) && good;
    return ak_json_whole(object, good);
}

/* Returns {"strategies": [...]}; NULL: no memory. */
static json_t *board_json(const board *b, const ak_args *args)
{
    json_t *object = json_object(), *list = json_array();
    for (size_t e = 0; e < b->entry_count; e++) {
        ak_json_add(&list, entry_json(b, &b->entries[e], args));
    }
    return ak_json_whole(object, ak_json_set(object, "strategies", list));
}

/* Prints the object of a single strategy, or {"strategies": [...]} for several. */
static bool print_json(const json_t *all)
{
    const json_t *list = json_object_get(all, "strategies");
    return ak_out_json(json_array_size(list) == 1 ? json_array_get(list, 0) : all);
}

/* Writes a time as "1:05" or "7 s", or as "0.05 s" below a second. */
static const char *show_time(char out[AK_NUMBER_BYTES], double seconds)
{
    char number[AK_NUMBER_BYTES];
    if (!(seconds > 0) || seconds >= 1) {
        return ak_show_seconds(out, seconds);
    }
    (void)snprintf(out, AK_NUMBER_BYTES, "%.20s s", ak_show_real(number, seconds));
    return out;
}

static void print_recordings(const board *b, const ak_args *args)
{
    ak_table table;
    char a[AK_NUMBER_BYTES], c[AK_NUMBER_BYTES];
    ak_table_begin(&table, "recording", "kernel", "device", ">configurations", ">ok", "objective",
                   ">optimum", ">median", ">cut-off", NULL);
    for (size_t i = 0; i < b->recording_count; i++) {
        const ak_recording_facts *f = ak_recording_describe(b->recordings[i]);
        ak_table_cell(&table, "%s", args->operand[i]);
        ak_table_cell(&table, "%s", f->kernel);
        ak_table_cell(&table, "%s", f->device);
        ak_table_cell(&table, "%s", ak_show_count(a, (double)f->configurations));
        ak_table_cell(&table, "%s", ak_show_count(a, (double)f->ok));
        ak_table_cell(&table, "%s%s", f->objective, f->maximise ? " (more is better)" : "");
        ak_table_cell(&table, "%s", ak_show_real(a, f->optimum));
        ak_table_cell(&table, "%s", ak_show_real(a, f->median));
        ak_table_cell(&table, "%s, %s evaluation%s", show_time(a, f->last_seconds),
                      ak_show_count(c, (double)f->evaluations), ak_plural(f->evaluations));
    }
    ak_table_print(&table);
    for (size_t i = 0; i < b->recording_count; i++) {
        const char *like = b->entries[0].results[i].like;
        if (like != NULL) {
            ak_out("%s: %s\n", args->operand[i], like);
        }
    }
}

static void print_results(const board *b, const ak_args *args)
{
    ak_table table;
    char a[AK_NUMBER_BYTES];
    bool score = ak_args_has(args, AK_OPTION_SCORE);
    ak_table_begin(&table, "recording", "strategy", ">repeats", score ? ">score" : ">best",
                   score ? ">best" : ">best found after",
                   score ? ">best found after" : ">evaluations", score ? ">evaluations" : ">failed",
                   score ? ">failed" : ">simulated", score ? ">simulated" : ">ms a proposal",
                   score ? ">ms a proposal" : NULL, NULL);
    for (size_t i = 0; i < b->recording_count; i++) {
        for (size_t e = 0; e < b->entry_count; e++) {
            const ak_simulation *result = &b->entries[e].results[i];
            means m = means_of(result);
            ak_table_cell(&table, "%s", args->operand[i]);
            ak_table_cell(&table, "%s", b->entries[e].strategy);
            ak_table_cell(&table, "%zu", result->count);
            if (score) {
                ak_table_cell_if(&table, result->scored, "%.3f", result->score);
            }
            ak_table_cell(&table, "%s", ak_show_real(a, result->median_best));
            ak_table_cell(&table, "%s", show_time(a, m.best_seconds));
            ak_table_cell(&table, "%.1f", m.evaluations);
            ak_table_cell(&table, "%.1f", m.failed);
            ak_table_cell(&table, "%s", show_time(a, m.seconds));
            ak_table_cell(&table, "%.4f", result->ms_per_proposal);
        }
    }
    ak_table_print(&table);
}

/* Says why recordings have no score. */
static void print_unscored(const board *b, const ak_args *args)
{
    for (size_t i = 0; i < b->recording_count; i++) {
        const ak_recording_facts *f = ak_recording_describe(b->recordings[i]);
        if (b->entry_count == 0 || b->entries[0].results[i].scored) {
            continue;
        }
        ak_out(
            "%s: has no score, because %s\n", args->operand[i],
            f->seconds_each > 0
                ? "random search is expected to find the optimum before the first time that would "
                  "count, as the configurations are too few"
                : "it records no times of compiling and measuring");
    }
}

static void print_text(const board *b, const ak_args *args)
{
    print_recordings(b, args);
    ak_out("\n");
    print_results(b, args);
    if (!ak_args_has(args, AK_OPTION_SCORE)) {
        return;
    }
    ak_table table;
    char count[AK_NUMBER_BYTES];
    ak_out("\n");
    ak_table_begin(&table, "strategy", ">score", ">ms a proposal", NULL);
    for (size_t e = 0; e < b->entry_count; e++) {
        ak_table_cell(&table, "%s", b->entries[e].strategy);
        ak_table_cell_if(&table, b->entries[e].scored, "%.3f", b->entries[e].score);
        ak_table_cell(&table, "%.4f", b->entries[e].ms_per_proposal);
    }
    ak_table_print(&table);
    ak_out("1 is the optimum at once, 0 as good as random search, below 0 worse than that\n");
    print_unscored(b, args);
    for (size_t i = 0; i < b->recording_count; i++) {
        const ak_recording_facts *f = ak_recording_describe(b->recordings[i]);
        if (is_far(b->control[i])) {
            ak_out("%s: random search itself scores %.2f there, not 0, as ", args->operand[i],
                   b->control[i]);
            if (f->ok < FEW_CONFIGURATIONS) {
                ak_out("%s configurations are too few for this score",
                       ak_show_count(count, (double)f->ok));
            } else {
                ak_out("the score assumes that all configurations take the same time to try");
            }
            ak_out(": compare strategies with that\n");
        }
    }
}

/* Refuses a path that is no file. For a kernel, the error names the commands that take one. */
static ak_status check_recording(const char *path, ak_error *err)
{
    AK_AT_END(ak_problem_close_at) ak_problem *problem = NULL;
    struct stat there;
    if ((stat(path, &there) == 0 && !S_ISDIR(there.st_mode)) ||
        ak_problem_open(&problem, path, NULL) != AK_OK) {
        return ak_check_file(path, "a recording (docs/formats.md)", err);
    }
    return ak_fail(
        err, AK_INVALID,
        "%.200s is a kernel, and simulate searches recordings (docs/formats.md): give an "
        "archive or a file of measured configurations; 'autokernel study' compares "
        "strategies on a kernel, and 'autokernel tune' searches it",
        path);
}

static int run(const ak_args *args, ak_error *err)
{
    static const char *const formats[] = {"text", "json", "html", NULL};
    const char *strategies = args->text[AK_OPTION_STRATEGY];
    AK_OR_COMPLAIN(ak_study_format(args, "simulate", formats, err));
    board *b = NULL;
    json_t *all = NULL;
    const bool page = ak_study_asks(args, "html"), json = ak_study_asks(args, "json");
    ak_status status = AK_OK;
    AK_TRY(AK_NEW(b, 1, err));
    AK_TRY(split_strategies(b, strategies == NULL ? "portfolio" : strategies, err));
    ak_catch_interrupts();
    for (size_t i = 0; i < args->operand_count; i++) {
        AK_TRY(check_recording(args->operand[i], err));
        AK_TRY(ak_recording_open_t1(&b->recordings[i], args->operand[i],
                                    args->text[AK_OPTION_SPACE], err));
        ak_warn_left_out(args->operand[i], b->recordings[i]);
        b->recording_count++;
    }
    AK_TRY(ak_like_files_open(&b->like, args, err));
    AK_TRY(simulate(b, args, err));
    AK_TRY(ak_args_has(args, AK_OPTION_SCORE) ? control(b, args, err) : AK_OK);
    all = board_json(b, args);
    AK_TRY(ak_stored(all != NULL && (!json || print_json(all)), err));
    if (!json && !page) {
        print_text(b, args);
    }
    ak_keep_study(args, "simulate", all);
    if (page) {
        AK_TRY(ak_study_print_page("simulate", all, err));
    }
out:
    json_decref(all);
    for (size_t e = 0; b != NULL && e < b->entry_count; e++) {
        AK_CLEAR_EACH(ak_simulation_clear, b->entries[e].results, b->recording_count);
        ak_free(b->entries[e].strategy);
    }
    for (size_t i = 0; b != NULL && i < b->recording_count; i++) {
        ak_recording_close(b->recordings[i]);
    }
    if (b != NULL) {
        ak_like_files_close(&b->like);
    }
    ak_free(b);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
}

const ak_command ak_cmd_simulate = {
    .name = "simulate",
    .summary = "replay searches on recorded spaces, and score strategies",
    .operands = "RECORDING...",
    .least = 1,
    .most = AK_OPERANDS_MAX,
    .options = AK_O(STRATEGY) | AK_O(REPEATS) | AK_O(SEED) | AK_O(SCORE) | AK_O(SPACE) |
               AK_O(LIKE) | AK_O(EVALS) | AK_O(TIME) | AK_O(BATCH) | AK_O(JOBS) | AK_O(FORMAT) |
               AK_O(ARCHIVE) | AK_O(JSON) | AK_O(HELP),
    .about = "A RECORDING has the measured time of each configuration of a space, or of a part of "
             "it: a cache file of Kernel Tuner, T4 results, results of KTT (each also compressed "
             "with gzip), or an "
             "archive of one task. A search on it takes seconds: its clock advances by what each "
             "configuration cost when it was recorded. The same seed gives the same result. Of a "
             "Kernel Tuner cache it takes the mean \"time\", as published searches did, where "
             "'import' takes the median of \"times\": the two may name different bests.\n\n"
             "A search ends at the optimum, or at 1.1 times the time at which random search is "
             "expected to be 95 % of the way from the median to the optimum. --time sets another "
             "limit, in simulated time, and --evals bounds each repeat.\n\n"
             "--strategy takes several names with commas between them; hyper-parameters follow a "
             "colon. --score compares each strategy with random search over that time: 1 means the "
             "optimum at once, 0 as good as random search (Willemsen et al. 2024, doi "
             "10.1016/j.future.2024.05.021).\n\n"
             "--space names the T1 file of the space, which gives the default configuration; "
             "without it each repeat draws one at random.\n\n"
             "--like names another recording of the kernel, at another size, dtype or on another "
             "device; it may be repeated. Its best configurations are tried first, as long as that "
             "pays, and its order guides the strategies with a model.\n\n"
             "--format html prints a page with charts, which needs no network. The dashboard "
             "(serve) shows the same.",
    .examples = "  autokernel simulate cache.json.gz --strategy random,local --score\n"
                "  autokernel simulate a.json.gz b.json --strategy evolve --repeats 10 --json\n"
                "  autokernel simulate a.json.gz b.json --strategy evolve,local --score "
                "--format html > page.html\n"
                "  autokernel simulate cache.json.gz --space t1.json --strategy local --score\n"
                "  autokernel simulate here.json.gz --like there.json.gz --evals 40\n"
                "  autokernel simulate autokernel.db --strategy local --evals 50 --seed 7\n",
    .run = run,
};
