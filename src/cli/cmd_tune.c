/* cmd_tune.c: the main job: search, and say what was found. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "cli/llm_args.h"
#include "cli/llm_show.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/task_args.h"
#include "cli/tune_sizes.h"

/* With a time budget and no --evals, evaluations are no limit of their own. */
#define EVALUATIONS_OPEN 1000000

/* Why the search ended, in words. */
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
                   {"cancelled", "interrupted"}};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strcmp(endings[i].code, stopped_by) == 0) {
            return endings[i].text;
        }
    }
    return stopped_by;
}

/* The search stops at the target by its own measurements; only the finish can confirm it. */
static const char *ending_of(const ak_tune_result *result, double target)
{
    if (strcmp(result->stopped_by, "target") == 0 && !(result->speedup >= target)) {
        return "the target was reached in the search but not confirmed in the finish";
    }
    return ending(result->stopped_by);
}

/* Without a library at the end: was there none, or was there no finish? Every finish has
   contestants, the finalists at least; a recording has no finish. */
static void print_alone(const ak_tune_result *result, const ak_task *task, double target)
{
    if (strncmp(ak_task_device(task), "sim:", 4) == 0) {
        ak_out("     as it was recorded: nothing was measured now\n");
        return;
    }
    if (result->contestant_count == 0) {
        ak_out("     stopped before the finish: measured during the search, not beside the "
               "libraries\n");
        return;
    }
    ak_out("     no library to compare with%s; 'autokernel doctor' says what to install\n",
           target > 0 ? ", so --target-speedup had no effect" : "");
}

static void print_counts(const ak_tune_result *result, double target)
{
    char a[AK_NUMBER_BYTES];
    size_t failed = 0;
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        failed += i == AK_TRIAL_OK ? 0 : result->failed[i];
    }
    ak_out("%zu configuration%s in %s: %zu ok", result->evaluated, ak_plural(result->evaluated),
           ak_show_seconds(a, result->seconds), result->evaluated - failed);
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

static void print_best(const ak_tune_result *result, const ak_task *task, double target)
{
    const ak_trial *best = &result->best;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES], c[AK_NUMBER_BYTES];
    ak_out("\n%sbest%s %s ms (%s)", ak_style_on(stdout, AK_STYLE_GOOD),
           ak_style_on(stdout, AK_STYLE_PLAIN), ak_show_real(a, best->median_ms),
           ak_show_interval(b, best->ci_low_ms, best->ci_high_ms));
    if (best->tflops > 0) {
        ak_out(", %s TFLOP/s", ak_show_real(a, best->tflops));
    }
    if (best->gbs > 0) {
        ak_out(", %s GB/s", ak_show_real(a, best->gbs));
    }
    if (best->efficiency > 1 && best->bound != NULL && strcmp(best->bound, "memory") == 0) {
        ak_out("; %s of the memory's bandwidth, as the data stay in a cache",
               ak_show_percent(b, best->efficiency));
    } else if (best->efficiency > 0) {
        ak_out("; %s of what this device can do, bound by %s", ak_show_percent(b, best->efficiency),
               best->bound == NULL ? "?" : best->bound);
    }
    ak_out("\n");
    if (result->baseline < result->contestant_count) {
        const ak_contestant *library = &result->contestants[result->baseline];
        const ak_contestant *tuned = NULL;
        for (size_t i = 0; i < result->contestant_count; i++) {
            if (strcmp(result->contestants[i].name, "tuned") == 0) {
                tuned = &result->contestants[i];
            }
        }
        bool brief = library->version != NULL && strlen(library->version) <= AK_VERSION_BESIDE;
        ak_out("     %s the speed of %s%s%s", ak_show_ratio(a, result->speedup), library->name,
               brief ? " " : "", brief ? library->version : "");
        if (tuned != NULL) {
            ak_out(" (%s .. %s%s)", ak_show_ratio(b, tuned->ratio_low),
                   ak_show_ratio(c, tuned->ratio_high), tuned->tie ? ": a tie" : "");
        }
        ak_out("\n");
    } else {
        print_alone(result, task, target);
    }
    ak_out("     %s\n", best->config);
}

static void print_next(const ak_task *task, const ak_tune_result *result, const ak_args *args)
{
    char command[80];
    ak_out("\n");
    ak_next_on_task("export", "write best_config.json", args, task, true);
    (void)snprintf(command, sizeof command, "report %s", result->run);
    ak_next_on_archive(command, "what happened in this run", args);
}

/* Nothing worked: says why in one line. */
static int nothing_found(const ak_tune_result *result, const ak_progress *progress,
                         const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    if (result->evaluated == 0 && result->resumed == 0) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: %s before a configuration was measured",
                      args->operand[0], ending(result->stopped_by));
        return ak_complain_error(&err);
    }
    size_t most = AK_TRIAL_OK;
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        most = result->failed[i] > (most == AK_TRIAL_OK ? 0 : result->failed[most]) ? i : most;
    }
    (void)ak_fail(&err, AK_CRASHED, "%.80s: none of %zu configuration%s worked; %s: %s",
                  args->operand[0], result->evaluated, ak_plural(result->evaluated),
                  ak_trial_status_text((ak_trial_status)most),
                  progress->reason[0] == 0 ? "see 'autokernel history'" : progress->reason);
    return ak_complain_error(&err);
}

static ak_status print_result(const ak_tune_result *result, const ak_task *task,
                              const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        char *text = NULL;
        ak_status status = ak_tune_result_json(&text, result, task, err);
        if (status == AK_OK) {
            ak_out("%s\n", text);
        }
        ak_text_free(text);
        return status;
    }
    ak_task_print(task);
    double target = args->number[AK_OPTION_TARGET_SPEEDUP];
    print_counts(result, target);
    if (result->model != NULL) {
        ak_llm_use_print(result->model, result->llm_calls, result->llm_failed,
                         result->llm_input_tokens, result->llm_output_tokens,
                         result->llm_priced ? &result->llm_cost_usd : NULL);
    }
    if (result->found) {
        if (result->contestant_count > 0) {
            ak_out("\n");
            ak_contestants_print(result->contestants, result->contestant_count);
        }
        print_best(result, task, target);
        print_next(task, result, args);
    }
    return AK_OK;
}

/* `llm` must live as long as the options. */
static ak_tune_options options_of(const ak_args *args, ak_progress *progress,
                                  const ak_llm_options *llm)
{
    bool has_llm = llm->model != NULL || llm->replay != NULL;
    ak_tune_options options = {.strategy = args->text[AK_OPTION_STRATEGY],
                               .evaluations = (size_t)args->number[AK_OPTION_EVALS],
                               .seconds = args->number[AK_OPTION_TIME],
                               .target_speedup = args->number[AK_OPTION_TARGET_SPEEDUP],
                               .resume = ak_args_has(args, AK_OPTION_RESUME),
                               .llm = has_llm ? llm : NULL,
                               .generations = (int)args->number[AK_OPTION_GENERATIONS],
                               .batch = (size_t)args->number[AK_OPTION_BATCH],
                               .sink = ak_progress_event,
                               .sink_context = progress,
                               .cancel = &ak_interrupted};
    if (options.evaluations == 0 && options.seconds > 0) {
        options.evaluations = EVALUATIONS_OPEN;
    }
    return options;
}

static int run_one(const ak_args *args, const ak_llm_options *llm)
{
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_archive *archive = NULL;
    ak_progress progress = {0};
    ak_tune_result result = {0};
    int code = AK_EXIT_FAILED;
    bool json = ak_args_has(args, AK_OPTION_JSON);
    ak_tune_options options = options_of(args, &progress, llm);
    int64_t begin_ns = ak_clock_ns();
    ak_catch_interrupts();
    if (ak_args_task(&task, args, &err) != AK_OK ||
        ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], &err) != AK_OK ||
        ak_args_measured_task(&task, args, archive, true, &err) != AK_OK ||
        ak_progress_open(&progress, args->text[AK_OPTION_EVENTS],
                         ak_args_has(args, AK_OPTION_QUIET), json, &err) != AK_OK) {
        code = ak_complain_error(&err);
        goto out;
    }
    options.spent_seconds = (double)(ak_clock_ns() - begin_ns) / 1e9;
    /* One of the settings is for devices. */
    if (strncmp(ak_task_device(task), "sim:", 4) == 0 &&
        !ak_args_typed(args, AK_OPTION_TARGET_SPEEDUP)) {
        options.target_speedup = 0;
    }
    ak_status status = ak_tune(&result, task, archive, &options, &err);
    ak_error events_err = AK_ERROR_INIT;
    ak_status events = ak_progress_close(&progress, &events_err);
    if (status == AK_OK) {
        status = print_result(&result, task, args, &err);
    }
    if (status == AK_CANCELLED) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted before a configuration was measured",
                      args->operand[0]);
    }
    if (status != AK_OK) {
        code = ak_complain_error(&err);
    } else if (!result.found) {
        code = nothing_found(&result, &progress, args);
    } else {
        code = events == AK_OK ? AK_EXIT_DONE : ak_complain_error(&events_err);
    }
out:
    ak_tune_result_clear(&result);
    ak_archive_close(archive);
    ak_task_close(task);
    return code;
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_llm_options llm;
    if (ak_llm_args(&llm, args, &ak_interrupted, &err) != AK_OK) {
        return ak_complain_error(&err);
    }
    if (!ak_args_has(args, AK_OPTION_SIZES) && !ak_args_has(args, AK_OPTION_DISPATCH)) {
        return run_one(args, &llm);
    }
    ak_progress progress = {0};
    ak_tune_options options = options_of(args, &progress, &llm);
    return ak_tune_sizes_run(args, &options, &progress);
}

const ak_command ak_cmd_tune = {
    .name = "tune",
    .summary = "find the fastest correct configuration of a kernel",
    .operands = "KERNEL|RECORDING",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O(LIBRARIES) | AK_O(PROTOCOL) | AK_O_LLM |
               AK_O(GENERATIONS) | AK_O(BATCH) | AK_O(SIZES) | AK_O(DISPATCH) | AK_O(STRATEGY) |
               AK_O(EVALS) | AK_O(TIME) | AK_O(TARGET_SPEEDUP) | AK_O(RESUME) | AK_O(EVENTS) |
               AK_O(ARCHIVE) | AK_O(JSON) | AK_O(QUIET) | AK_O(HELP),
    .about = "Tries configurations: compiles each, checks its results, times it and archives it. "
             "The best\n"
             "few are measured again, interleaved with the vendor libraries that are installed.\n"
             "With --llm a language model proposes: alone (--strategy llm, llm-oneshot) or seeding "
             "a search\n"
             "(hybrid, then the default). Without it, or when it fails, portfolio searches.\n"
             "--time is for all of it: the choice of the implementation, the libraries, the search "
             "and the\n"
             "last measurement.\n"
             "Ctrl-C ends the search early and keeps everything; a second one ends at once.\n"
             "Exit code 0 says that a verified best was found, also after Ctrl-C. The same command "
             "with\n"
             "--resume goes on where it was.\n"
             "With --device sim:FILE a recording (see 'autokernel simulate --help') stands for the "
             "device: nothing\n"
             "runs, time is what was recorded, and the same seed gives the same events and "
             "trials. KERNEL is what\n"
             "was recorded, or the file itself, with --device sim.\n"
             "\n"
             "With --sizes, each size is tuned, the leaders of all are measured at every size, and "
             "--dispatch\n"
             "K configurations are chosen that lose least against tuning each size. --evals and "
             "--time are\n"
             "then for all sizes together (without them, 60 evaluations each).",
    .examples = "  autokernel tune matmul\n"
                "  autokernel tune matmul --size M=512,N=512,K=512 --evals 20\n"
                "  autokernel tune matmul_act --set activation=relu --time 2m\n"
                "  autokernel tune matmul --sizes '256;512;M=64,N=2048,K=64' --dispatch 2\n"
                "  autokernel tune softmax --strategy random --seed 7 --json\n"
                "  autokernel tune gemm.json.gz --device sim --evals 200\n",
    .run = run,
};
