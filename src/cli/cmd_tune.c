/* cmd_tune.c: searches for the best configuration, and prints what was found. */

#include "base/alloc.h"
#include "base/clock.h"
#include "base/device_name.h"
#include "base/number.h"
#include "base/value_json.h"
#include "cli/search_args.h"
#include "cli/llm_show.h"
#include "cli/compared.h"
#include "cli/task_args.h"
#include "cli/size_list.h"

/* Returns in words why the search ended. */
static const char *ending(const char *stopped_by)
{
    static const struct {
        const char *code, *text;
    } endings[] = {{"evaluations", "all evaluations made"},
                   {"time", "time is up"},
                   {"target", "the target is reached"},
                   {"exhausted", "every configuration was tried"},
                   {"converged", "nothing better was found for long"},
                   {"generations", "all proposals of the model were tried"},
                   {"stalled", "two generations of the model gained nothing"},
                   {"satisfied", "the model expects nothing better"},
                   {"fault", "the machine failed, not the configurations"},
                   {"cancelled", "interrupted"}};
    size_t i = AK_FIND(endings, AK_COUNT(endings), code, stopped_by);
    return i < AK_COUNT(endings) ? endings[i].text : stopped_by;
}

/* Returns in words why the run ended. The search stops at the target by its own measurements, which
   the finish may not confirm. */
static const char *ending_of(const ak_tune_result *result, double target)
{
    if (strcmp(result->stopped_by, "target") == 0 && !(result->speedup >= target)) {
        return "the target was reached in the search but not confirmed in the finish";
    }
    return ending(result->stopped_by);
}

/* Prints the summary of the finish, or why there is none: a recording has no finish, a run that was
   interrupted may stop before it, and in a finish there may be nothing to compare the best with. */
static void print_beside(const ak_tune_result *result, const ak_task *task)
{
    if (ak_device_is_recorded(ak_task_device(task))) {
        ak_out("     as it was recorded: nothing was measured now\n");
        return;
    }
    if (result->candidate_count == 0) {
        ak_out("     stopped before the finish: measured %sduring the search, not beside the "
               "libraries\n",
               result->best_again ? "again " : "");
        if (result->best_again) {
            ak_out("     'best', 'history' and --resume take the first time, that of trial #%lld\n",
                   (long long)result->best.id);
        }
        return;
    }
    size_t measured = 0;
    for (size_t i = 0; i < result->candidate_count; i++) {
        measured += result->candidates[i].median_ms > 0;
    }
    ak_out("     %s\n", result->summary != NULL ? result->summary
                        : measured > 1
                            ? "neither a library nor the default was measured: beside it there "
                              "are other configurations only"
                            : "nothing else worked that it could be compared with");
}

static void print_counts(const ak_tune_result *result, double target)
{
    char a[AK_NUMBER_BYTES];
    size_t failed = 0; /* includes resumed trials that failed the check before the finish */
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        failed += i == AK_TRIAL_OK ? 0 : result->failed[i];
    }
    ak_out("%zu configuration%s in %s: %zu ok", result->evaluated, ak_plural(result->evaluated),
           ak_show_seconds(a, result->seconds),
           result->evaluated > failed ? result->evaluated - failed : 0);
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        if (i != AK_TRIAL_OK && result->failed[i] > 0) {
            ak_out(", %zu %s", result->failed[i], ak_trial_status_text((ak_trial_status)i));
        }
    }
    if (result->resumed > 0) {
        ak_out(" (and %zu of the archive)", result->resumed);
    }
    ak_out("; %s\n", ending_of(result, target));
}

/* Prints a fact on the placement. The roofline has no label, because its text says what it is. */
static void print_fact(void *context, const char *name, const char *text)
{
    (void)context;
    bool roofline = strcmp(name, "roofline") == 0;
    ak_out("     %s%s%s\n", roofline ? "" : name, roofline ? "" : ": ", text);
}

static void print_best(const ak_tune_result *result, const ak_task *task)
{
    const ak_trial *best = &result->best;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    ak_out("\n");
    ak_out_styled(AK_STYLE_GOOD, "best");
    ak_out(" ");
    if (best->cost > 0) {
        double low = ak_task_objective_value(task, best->cost_low);
        double high = ak_task_objective_value(task, best->cost_high);
        const char *unit = ak_task_objective_unit(task);
        ak_out("%s %s%s%s%s, ", ak_task_objective(task),
               ak_show_real(a, ak_task_objective_value(task, best->cost)), unit[0] == 0 ? "" : " ",
               unit, ak_show_spread(b, low < high ? low : high, low < high ? high : low));
    }
    const bool again = result->candidate_count > 0 || result->best_again;
    const size_t few = again ? 0 : ak_trial_few_samples(best);
    ak_out("%s ms%s%s%s", ak_show_real(a, best->median_ms), few > 1 ? " (" : "",
           few > 1 ? ak_number_few(b, few) : ak_show_spread(b, best->ci_low_ms, best->ci_high_ms),
           few > 1 ? ")" : "");
    bool known = best->tflops > 0 || best->gbs > 0;
    ak_out("%s%s\n", known ? ", " : "",
           known ? ak_show_rate(a, best->tflops, best->gbs, best->bound) : "");
    ak_placement_describe(&result->placement, print_fact, NULL);
    print_beside(result, task);
    ak_out("     %s\n", best->config);
}

/* Suggests the next commands. Exports and reports read the archive, so if results could not be
   archived, only their import is suggested. */
static void print_next(const ak_task *task, const ak_archive *archive, const ak_tune_result *result,
                       const ak_args *args)
{
    ak_out("\n");
    if (ak_next_import(archive, args)) {
        return;
    }
    if (strcmp(result->stopped_by, "cancelled") == 0) {
        ak_next_resume(args);
    }
    ak_next_on_task("export", "write best_config.json", args, task, true);
    ak_next_on_archive("report", result->run, "what happened in this run", args);
}

/* Returns the reason of the first configuration that failed in the finish; NULL if none failed. */
static const char *lost_in_finish(const ak_tune_result *result)
{
    const char *reason = NULL;
    for (size_t i = 0; i < result->candidate_count && reason == NULL; i++) {
        reason = result->candidates[i].config == NULL ? NULL : result->candidates[i].reason;
    }
    return reason;
}

/* Reports in one line why no best was found: no configuration worked, or none was measured. Returns
   the exit code. */
static int nothing_found(const ak_tune_result *result, const ak_progress *progress,
                         const ak_args *args, ak_error *err)
{
    if (result->evaluated == 0 && result->resumed == 0) {
        (void)ak_fail(err, AK_CANCELLED, "%.80s: %s before a configuration was measured",
                      args->operand[0], ending(result->stopped_by));
        return ak_complain_error(err);
    }
    size_t most = AK_TRIAL_OK;
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        most = result->failed[i] > (most == AK_TRIAL_OK ? 0 : result->failed[most]) ? i : most;
    }
    size_t tried = result->evaluated + result->resumed;
    const char *lost = lost_in_finish(result);
    if (most == AK_TRIAL_OK && lost != NULL) {
        (void)ak_fail(err, AK_CRASHED,
                      "%.80s: none of %zu configuration%s that worked could be measured again: %s",
                      args->operand[0], tried, ak_plural(tried), lost);
    } else if (most == AK_TRIAL_OK) {
        (void)ak_fail(
            err, AK_CRASHED,
            "%.80s: none of %zu configuration%s worked, in this run or before; 'autokernel "
            "history' says why",
            args->operand[0], tried, ak_plural(tried));
    } else {
        (void)ak_fail(err, AK_CRASHED, "%.80s: none of %zu configuration%s worked; %s: %s",
                      args->operand[0], tried, ak_plural(tried),
                      ak_trial_status_text((ak_trial_status)most),
                      progress->reason[0] != 0 ? progress->reason
                      : lost != NULL           ? lost
                                               : "see 'autokernel history'");
    }
    return ak_complain_error(err);
}

static ak_status print_result(const ak_tune_result *result, const ak_task *task,
                              const ak_archive *archive, const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        char *text = NULL;
        ak_status status = ak_tune_result_json(&text, result, task, err);
        return ak_out_document(status, text);
    }
    ak_task_print(task);
    double target = args->number[AK_OPTION_TARGET_SPEEDUP];
    print_counts(result, target);
    ak_llm_use_print(&result->llm);
    if (result->found) {
        if (result->candidate_count > 0) {
            ak_out("\n");
            ak_compared_print(result->candidates, result->candidate_count, result->reference,
                              &result->placement, task);
        }
        print_best(result, task);
        print_next(task, archive, result, args);
    }
    return AK_OK;
}

/* Returns the options from the arguments. They borrow texts of the arguments, and `progress`, `llm`
   and `like`. */
static ak_tune_options options_of(const ak_args *args, ak_progress *progress,
                                  const ak_llm_options *llm, const ak_like_files *like)
{
    bool has_llm = llm->model != NULL || llm->replay != NULL;
    ak_tune_options options = {.strategy = args->text[AK_OPTION_STRATEGY],
                               .evaluations = (size_t)args->number[AK_OPTION_EVALS],
                               .seconds = args->number[AK_OPTION_TIME],
                               .finish_seconds = args->number[AK_OPTION_FINISH_TIME],
                               .target_speedup = args->number[AK_OPTION_TARGET_SPEEDUP],
                               .resume = ak_args_has(args, AK_OPTION_RESUME),
                               .sanitize = ak_args_has(args, AK_OPTION_SANITIZE),
                               .like = (const ak_recording *const *)like->list,
                               .like_count = like->count,
                               .like_none = like->none,
                               .llm = has_llm ? llm : NULL,
                               .llm_must_ask = ak_args_typed(args, AK_OPTION_LLM) ||
                                               ak_args_typed(args, AK_OPTION_LLM_REPLAY),
                               .generations = (int)args->number[AK_OPTION_GENERATIONS],
                               .batch = (size_t)args->number[AK_OPTION_BATCH],
                               .sink = ak_progress_event,
                               .sink_context = progress,
                               .cancel = &ak_interrupted};
    if (options.evaluations == 0 && options.seconds > 0) {
        options.evaluations = AK_EVALUATIONS_OPEN;
    }
    return options;
}

/* Refuses --finish-time and --sanitize on a recording, which has no finish. A --target-speedup that
   comes from a setting is meant for devices, so it is ignored on a recording. */
static ak_status fit_recording(ak_tune_options *options, const ak_args *args, const ak_task *task,
                               ak_error *err)
{
    if (!ak_device_is_recorded(ak_task_device(task))) {
        return AK_OK;
    }
    if (!ak_args_typed(args, AK_OPTION_TARGET_SPEEDUP)) {
        options->target_speedup = 0;
    }
    return ak_args_refuse(args, AK_O(FINISH_TIME) | AK_O(SANITIZE),
                          "is for the finish, and nothing is measured on a recording", err);
}

/* The configurations of --config, as texts for ak_tune_options.first. */
typedef struct hand_made {
    char *texts[AK_CONFIGS_MAX];
    size_t count;
} hand_made;

static void hand_made_clear(hand_made *hand)
{
    AK_END_EACH(ak_free, hand->texts, hand->count);
}

static ak_status read_hand_made(hand_made *out, const ak_args *args, const ak_task *task,
                                ak_error *err)
{
    size_t count = 0;
    if (args->config_count == 0) {
        return AK_OK;
    }
    AK_FREED ak_candidate *list = NULL;
    AK_DO(AK_NEW(list, AK_CONFIGS_MAX, err));
    AK_DO(ak_args_candidates(list, &count, args, task, err));
    for (size_t i = 0; i < count; i++) {
        AK_DO(ak_config_text(&out->texts[i], ak_task_space(task), &list[i].config, err));
        out->count++;
    }
    return AK_OK;
}

static int run_one(const ak_args *args, const ak_llm_options *llm, const ak_like_files *like,
                   ak_error *err)
{
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    ak_progress progress = {0};
    AK_AT_END(ak_tune_result_clear) ak_tune_result result = {0};
    bool json = ak_args_has(args, AK_OPTION_JSON);
    ak_tune_options options = options_of(args, &progress, llm, like);
    AK_AT_END(hand_made_clear) hand_made hand = {0};
    int64_t begin_ns = ak_clock_ns();
    ak_catch_interrupts();
    AK_OR_COMPLAIN(ak_args_task(&task, args, err));
    AK_OR_COMPLAIN(ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], err));
    AK_OR_COMPLAIN(ak_args_measured_task(&task, args, archive, true, err));
    AK_OR_COMPLAIN(read_hand_made(&hand, args, task, err));
    AK_OR_COMPLAIN(ak_progress_open(&progress, args, err));
    options.first = (const char *const *)hand.texts;
    options.first_count = hand.count;
    options.spent_seconds = (double)(ak_clock_ns() - begin_ns) / 1e9;
    ak_status status = fit_recording(&options, args, task, err);
    status = status != AK_OK ? status : ak_tune(&result, task, archive, &options, err);
    ak_error events_err = AK_ERROR_INIT;
    ak_status events = ak_progress_close(&progress, &events_err);
    if (status == AK_OK) {
        status = print_result(&result, task, archive, args, err);
    }
    if (status == AK_CANCELLED) {
        (void)ak_fail(err, AK_CANCELLED, "%.80s: interrupted before a configuration was measured",
                      args->operand[0]);
        if (!json) {
            ak_next_resume(args);
        }
    }
    if (status != AK_OK) {
        const int code = ak_complain_error(err);
        return status == AK_UNAVAILABLE && ak_wide_part() ? AK_EXIT_NO_WORKER : code;
    }
    if (!result.found) {
        const bool left = !json && ak_next_import(archive, args);
        if (strcmp(result.stopped_by, "cancelled") == 0 && !json && !left) {
            ak_next_resume(args);
        }
        return nothing_found(&result, &progress, args, err);
    }
    const int code = events == AK_OK ? AK_EXIT_DONE : ak_complain_error(&events_err);
    /* a line has told where the trials are that could not be archived */
    return ak_archive_left(archive) != NULL ? AK_EXIT_FAILED : code;
}

static int run(const ak_args *args, ak_error *err)
{
    ak_llm_options llm;
    AK_AT_END(ak_like_files_close) ak_like_files like = {0};
    ak_llm_args(&llm, args, &ak_interrupted);
    AK_OR_COMPLAIN(ak_like_files_open(&like, args, err));
    if (!ak_args_has(args, AK_OPTION_SIZES)) {
        return run_one(args, &llm, &like, err);
    }
    ak_progress progress = {0};
    const ak_tune_options options = options_of(args, &progress, &llm, &like);
    return ak_tune_sizes_run(args, &options, &progress, err);
}

const ak_command ak_cmd_tune = {
    .name = "tune",
    .summary = "find the fastest correct configuration of a kernel",
    .operands = "KERNEL|RECORDING",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O(LIBRARIES) | AK_O(PROTOCOL) | AK_O_LLM |
               AK_O(GENERATIONS) | AK_O(BATCH) | AK_O(CONFIG) | AK_O(SIZES) | AK_O(DISPATCH) |
               AK_O(STRATEGY) | AK_O(EVALS) | AK_O(TIME) | AK_O(TARGET_SPEEDUP) |
               AK_O(FINISH_TIME) | AK_O(RESUME) | AK_O(SANITIZE) | AK_O(LIKE) | AK_O(EVENTS) |
               AK_O(FORCE) | AK_O(ARCHIVE) | AK_O(JSON) | AK_O(QUIET) | AK_O(HELP),
    .about =
        "Tries configurations: compiles each, checks its results, times it and archives the trial. "
        "The finish measures the best few again, interleaved with the installed vendor "
        "libraries.\n\n"
        "Exit code 0 says that a verified best was found and archived, even after Ctrl-C. Ctrl-C "
        "ends the search early and keeps every trial; a second Ctrl-C ends the process at once. "
        "SIGTERM and the end of the terminal (SIGHUP) end the search, too; nohup keeps it going. "
        "The same command with --resume continues.\n\n"
        "--time is a limit for the whole command: the choice of the implementation, the libraries, "
        "the search and the finish. The search ends so early that the finish is expected to end in "
        "time. What has begun is completed: a trial, and the finish, which may take longer on a "
        "busy machine. The default is always tried.\n\n"
        "--config names configurations to try right after the default: written by hand, read from "
        "a file, or taken from a trial.\n\n"
        "--llm names a language model that proposes configurations: alone (--strategy llm or "
        "llm-oneshot), or as the start of a search (hybrid, the default with --llm). If the model "
        "fails, portfolio carries on.\n\n"
        "--like names recordings of the same kernel at other sizes, dtypes or on other devices. "
        "Their best configurations are tried first, as long as that pays. Without --like the "
        "archive is used in the same way; --like none turns this off.\n\n"
        "--device sim:FILE replaces the device by a recording (see 'autokernel simulate --help'). "
        "Nothing is run; the clock advances by the recorded times, and the same seed gives the "
        "same trials. Into a new archive it also writes the same bytes, as events, JSON and "
        "export; in an archive that has this run already, the run and its trials get new ids. "
        "KERNEL is the recorded kernel, or the file itself with --device sim.\n\n"
        "--sizes tunes each size, measures the best configurations of each size at every size, and "
        "chooses the --dispatch K configurations that lose least against tuning each size. --evals "
        "and --time then apply to all sizes together (default: 60 evaluations for each size).",
    .examples = "  autokernel tune matmul\n"
                "  autokernel tune matmul --size M=512,N=512,K=512 --evals 20\n"
                "  autokernel tune matmul_act --set activation=relu --time 2m\n"
                "  autokernel tune matmul --sizes '256;512;M=64,N=2048,K=64' --dispatch 2\n"
                "  autokernel tune matmul --config 'K_UNROLL=1;K_UNROLL=4' --evals 20\n"
                "  autokernel tune softmax --strategy random --seed 7 --json\n"
                "  autokernel tune matmul --like other-machine.json.gz\n"
                "  autokernel tune gemm.json.gz --device sim --evals 200\n",
    .run = run,
};
