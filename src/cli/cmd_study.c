/* cmd_study.c: compares ways of searching at equal budgets. */

#include "base/device_name.h"
#include "cli/search_args.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/task_args.h"

/* Below this number of seeds the text says how little their intervals show. */
#define SEEDS_FEW 4

typedef struct watch {
    ak_progress progress;
    size_t done, total;
} watch;

/* Counts the runs for the progress line. Of the events within a run, it shows only warnings and
   "waiting", which says that an answer is awaited from the user. */
static void on_event(void *context, const char *event, const char *json)
{
    watch *w = context;
    if (strcmp(event, "run") == 0) {
        w->done++;
        ak_progress_step(&w->progress, "run", w->done, w->total);
    } else if (strcmp(event, "warning") == 0 || strcmp(event, "waiting") == 0) {
        ak_progress_event(&w->progress, event, json);
    }
}

static const char *const axes[] = {"evaluations", "seconds", "usd"};
#define AXES (AK_COUNT(axes))

/* ---- printing -------------------------------------------------------------------------------- */

static void print_csv(const json_t *study)
{
    ak_out("arm,axis,at,quality,low,high\n");
    AK_EACH(arm, json_object_get(study, "arms")) {
        for (size_t axis = 0; axis < AXES; axis++) {
            const json_t *curve = json_object_get(json_object_get(arm, "quality"), axes[axis]);
            AK_EACH(step, curve) {
                /* An arm with hyper-parameters may contain commas, so it is quoted. */
                ak_out("\"%s\",%s,%.6g,%.6g,", ak_json_text_at(arm, "arm"), axes[axis],
                       ak_json_number_at(step, "at"), ak_json_number_at(step, "quality"));
                if (json_is_number(json_object_get(step, "low"))) {
                    ak_out("%.6g,%.6g\n", ak_json_number_at(step, "low"),
                           ak_json_number_at(step, "high"));
                } else {
                    ak_out(",\n"); /* one run has no interval */
                }
            }
        }
    }
}

/* Returns the last step of a curve; NULL if it has none. */
static const json_t *last_of(const json_t *curve)
{
    size_t count = json_array_size(curve);
    return count == 0 ? NULL : json_array_get(curve, count - 1);
}

/* Adds a cell with the number that an object has as `key`, or "-" if it is not known. */
static void number_cell(ak_table *table, const json_t *object, const char *key, int digits)
{
    ak_table_cell_if(table, json_is_number(json_object_get(object, key)), "%.*f", digits,
                     ak_json_number_at(object, key));
}

/* Returns whether a cost is only an upper bound, because the tokens of some questions are not
   known. */
static bool is_bound(const json_t *object, const char *tokens, const char *usd)
{
    return ak_json_number_at(object, usd) > 0 && !json_is_number(json_object_get(object, tokens));
}

static void print_arms(const json_t *study)
{
    ak_table table;
    ak_table_begin(&table, "arm", ">runs", ">quality", "95 % interval", ">as deployed", ">reached",
                   ">evaluations", ">failed", ">seconds", ">questions", ">tokens", ">$ a run",
                   NULL);
    AK_EACH(arm, json_object_get(study, "arms")) {
        const json_t *curves = json_object_get(arm, "quality");
        const json_t *last = last_of(json_object_get(curves, "evaluations"));
        ak_table_cell(&table, "%s", ak_json_text_at(arm, "arm"));
        ak_table_cell(&table, "%.0f", ak_json_number_at(arm, "runs"));
        number_cell(&table, last, "quality", 4);
        ak_table_cell_if(&table, json_is_number(json_object_get(last, "low")), "%.4f .. %.4f",
                         ak_json_number_at(last, "low"), ak_json_number_at(last, "high"));
        number_cell(&table, json_object_get(arm, "deployed"), "quality", 4);
        ak_table_cell(&table, "%.0f", ak_json_number_at(arm, "reached_reference"));
        number_cell(&table, arm, "evaluations_mean", 1);
        number_cell(&table, arm, "failed_mean", 1);
        number_cell(&table, arm, "seconds_mean", 1);
        number_cell(&table, arm, "calls_mean", 1);
        if (last == NULL || json_is_number(json_object_get(arm, "tokens_mean"))) {
            number_cell(&table, arm, "tokens_mean", 0);
        } else {
            ak_table_cell(&table, "not known");
        }
        if (is_bound(arm, "tokens_mean", "usd_mean")) {
            ak_table_cell(&table, "at most %.4f", ak_json_number_at(arm, "usd_mean"));
        } else if (last == NULL || json_is_number(json_object_get(arm, "usd_mean"))) {
            number_cell(&table, arm, "usd_mean", 4);
        } else {
            ak_table_cell(&table, "unpriced");
        }
    }
    ak_table_print(&table);
}

/* Prints quality along one axis, with a column for each arm that has a curve there, as far as a
   table has columns. Prints nothing if no arm has one. */
static void print_axis(const json_t *study, const char *axis)
{
    const json_t *longest = NULL;
    char names[AK_COLUMNS_MAX][40];
    ak_table table;
    ak_table_begin(&table,
                   strcmp(axis, "usd") == 0       ? ">$"
                   : strcmp(axis, "seconds") == 0 ? ">seconds"
                                                  : ">evaluations",
                   NULL);
    const json_t *arms = json_object_get(study, "arms");
    AK_EACH(arm, arms) {
        const json_t *curve = json_object_get(json_object_get(arm, "quality"), axis);
        if (json_array_size(curve) > json_array_size(longest)) {
            longest = curve;
        }
        if (json_array_size(curve) > 0 && table.columns < AK_COLUMNS_MAX) {
            char *name = names[table.columns];
            (void)snprintf(name, sizeof names[0], "%.38s", ak_json_text_at(arm, "arm"));
            table.right[table.columns] = true;
            table.headers[table.columns++] = name;
        }
    }
    if (longest == NULL) {
        return;
    }
    AK_EACH(step, longest) {
        size_t column = 1;
        ak_table_cell(&table, "%.4g", ak_json_number_at(step, "at"));
        AK_EACH(arm, arms) {
            const json_t *curve = json_object_get(json_object_get(arm, "quality"), axis);
            const json_t *at = json_array_get(curve, step_at);
            if (at == NULL || column == table.columns) {
                continue;
            }
            if (json_is_number(json_object_get(at, "low"))) {
                ak_table_cell(&table, "%.3f (%.3f .. %.3f)", ak_json_number_at(at, "quality"),
                              ak_json_number_at(at, "low"), ak_json_number_at(at, "high"));
            } else {
                ak_table_cell(&table, "%.3f", ak_json_number_at(at, "quality"));
            }
            column++;
        }
    }
    ak_out("\n");
    ak_table_print(&table);
}

/* If runs of an arm were left out, says how many and why, and what all runs of the arm asked and
   paid. */
static void print_left_out(const json_t *arm)
{
    const double count = ak_json_number_at(arm, "fell_back");
    const json_t *spent = json_object_get(arm, "spent");
    if (count <= 0) {
        return;
    }
    ak_out("%s: %.0f run%s left out, because the model was not in charge: %s\n",
           ak_json_text_at(arm, "arm"), count, ak_plural((size_t)count),
           ak_json_text_at(arm, "fell_back_because"));
    const double calls = ak_json_number_at(spent, "calls");
    if (calls > 0) {
        const double asked = ak_json_number_at(spent, "asked");
        ak_out("%s: with them %.0f question%s by %.0f run%s, ", ak_json_text_at(arm, "arm"), calls,
               ak_plural((size_t)calls), asked, ak_plural((size_t)asked));
        if (json_is_number(json_object_get(spent, "tokens"))) {
            ak_out("%.0f tokens, ", ak_json_number_at(spent, "tokens"));
        }
        if (json_is_number(json_object_get(spent, "usd"))) {
            ak_out("%s$%.4f\n", is_bound(spent, "tokens", "usd") ? "at most " : "",
                   ak_json_number_at(spent, "usd"));
        } else {
            ak_out("unpriced\n");
        }
    }
}

static void print_text(const json_t *study)
{
    ak_out("%s %s on %s: %.0f evaluation%s, %.0f seed%s; quality 1 is %s\n",
           ak_json_text_at(study, "kernel"), ak_json_text_at(study, "size"),
           ak_json_text_at(study, "device"), ak_json_number_at(study, "evaluations"),
           ak_plural((size_t)ak_json_number_at(study, "evaluations")),
           ak_json_number_at(study, "seeds"), ak_plural((size_t)ak_json_number_at(study, "seeds")),
           ak_json_text_is(study, "reference_is", "optimum") ? "the optimum of the recording"
                                                             : "the best that any run found");
    if (json_is_string(json_object_get(study, "like"))) {
        ak_out("%s\n", ak_json_text_at(study, "like"));
    }
    print_arms(study);
    if (ak_json_number_at(study, "seeds") < SEEDS_FEW) {
        ak_out("of so few seeds the intervals say little, and one run has none: use --seeds 10 or "
               "more\n");
    }
    AK_EACH(arm, json_object_get(study, "arms")) {
        print_left_out(arm);
    }
    for (size_t axis = 0; axis < AXES; axis++) {
        print_axis(study, axes[axis]);
    }
    AK_EACH(warning, json_object_get(study, "warnings")) {
        ak_out("warning: %s\n", json_string_value(warning));
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Options that choose a task or the processes that run it. A recording is of one task, so these
   options are refused with a recording. */
#define OF_A_TASK (AK_O_TASK | AK_O(THREADS) | AK_O(LAUNCHER) | AK_O(WORKERS))

static ak_status do_study(char **out, const ak_args *args, const ak_study_options *options,
                          ak_error *err)
{
    AK_AT_END(ak_recording_close_at) ak_recording *recording = NULL;
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    /* With --device sim:FILE the operand is the kernel or the T1 file of that recording. */
    const char *device = args->text[AK_OPTION_DEVICE];
    bool simulated = ak_args_typed(args, AK_OPTION_DEVICE) && ak_device_is_recorded(device);
    if (!simulated && ak_study_of_file(args)) {
        AK_DO(ak_args_refuse(args, OF_A_TASK, "has no meaning with a recording", err));
        AK_DO(ak_recording_open_t1(&recording, args->operand[0], args->text[AK_OPTION_SPACE], err));
        ak_warn_left_out(args->operand[0], recording);
        AK_DO(ak_study_recording(out, recording, options, err));
    } else {
        AK_DO(ak_args_refuse(args, AK_O(SPACE), "is for a study of a recording", err));
        AK_DO(ak_args_task(&task, args, err));
        AK_DO(ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], err));
        AK_DO(ak_study_task(out, task, archive, options, err));
    }
    return AK_OK;
}

static ak_status print_study(json_t *study, const ak_args *args, ak_error *err)
{
    bool page = ak_study_asks(args, "html");
    if (ak_study_asks(args, "json")) {
        AK_DO(ak_stored(ak_out_json(study), err));
    } else if (ak_study_asks(args, "csv")) {
        print_csv(study);
    } else if (!page) {
        print_text(study);
    }
    ak_keep_study(args, "study", study);
    return page ? ak_study_print_page("study", study, err) : AK_OK;
}

/* Estimates the number of arms, for the progress line, from the number of commas. Hyper-parameters
   have commas too, so the estimate may be too large. */
static size_t arms_of(const ak_study_options *options)
{
    const char *text =
        options->arms == NULL ? (options->llm == NULL ? ",," : ",,,,,") : options->arms;
    size_t count = 1;
    for (; *text != 0; text++) {
        count += *text == ',';
    }
    return count;
}

static int run(const ak_args *args, ak_error *err)
{
    static const char *const formats[] = {"text", "csv", "json", "html", NULL};
    ak_llm_options llm;
    watch w = {0};
    char *text = NULL;
    json_auto_t *study = NULL;
    AK_OR_COMPLAIN(ak_study_format(args, "study", formats, err));
    ak_llm_args(&llm, args, &ak_interrupted);
    bool has_llm = llm.model != NULL || llm.replay != NULL;
    ak_study_options options = {.arms = args->text[AK_OPTION_ARMS],
                                .evaluations = (size_t)args->number[AK_OPTION_EVALS],
                                .seeds = (size_t)args->number[AK_OPTION_SEEDS],
                                .seed = (uint64_t)args->number[AK_OPTION_SEED],
                                .llm = has_llm ? &llm : NULL,
                                .generations = (int)args->number[AK_OPTION_GENERATIONS],
                                .batch = (size_t)args->number[AK_OPTION_BATCH],
                                .sink = on_event,
                                .sink_context = &w,
                                .cancel = &ak_interrupted};
    w.total = arms_of(&options) * (options.seeds == 0 ? 10 : options.seeds);
    AK_AT_END(ak_like_files_close) ak_like_files like = {0};
    AK_OR_COMPLAIN(ak_like_files_open(&like, args, err));
    options.like = (const ak_recording *const *)like.list;
    options.like_count = like.count;
    AK_OR_COMPLAIN(ak_progress_open(&w.progress, args, err));
    ak_catch_interrupts();
    ak_status status = do_study(&text, args, &options, err);
    (void)ak_progress_close(&w.progress, NULL);
    AK_OR_COMPLAIN(ak_out_parse(&study, status, &text, "study", err));
    AK_OR_COMPLAIN(print_study(study, args, err));
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_study = {
    .name = "study",
    .summary = "compare strategies and language models at equal budgets, over several seeds",
    .operands = "KERNEL|RECORDING",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O_LLM | AK_O(ARMS) | AK_O(SEEDS) | AK_O(EVALS) |
               AK_O(SPACE) | AK_O(LIKE) | AK_O(GENERATIONS) | AK_O(BATCH) | AK_O(FORMAT) |
               AK_O(ARCHIVE) | AK_O(JSON) | AK_O(QUIET) | AK_O(HELP),
    .about = "Each arm is a strategy. All arms get the same number of evaluations, begin with the "
             "default configuration and use the same seeds. A file is a recording, unless it is a "
             "kernel in the T1 format. On a recording nothing is run, and the optimum is known. A "
             "kernel is tuned repeatedly on the device or, with --device sim:FILE, on a recording "
             "of it; models are then told all that 'tune' tells them.\n\n"
             "Quality is the speed of the best configuration so far, relative to the optimum or, "
             "on a device, to the best of all runs. It is shown against evaluations, seconds and "
             "money, with 95 % bootstrap intervals over the seeds. Runs in which the model failed "
             "are reported but not counted in the quality; the column 'as deployed' counts them, "
             "with what the fallback search found.\n\n"
             "--like makes all arms try the best configurations of another recording first. "
             "--llm-record keeps the answers; --llm-replay repeats the study from them, without "
             "network or cost.",
    .examples = "  autokernel study gemm.json.gz --seeds 25 --evals 100\n"
                "  autokernel study softmax --device sim:h200/softmax.json.gz --arms "
                "hybrid,llm:history=0 --llm-replay answers\n"
                "  autokernel study matmul --arms random,portfolio --seeds 3 --evals 20\n"
                "  autokernel study gemm.json.gz --llm openai:gpt-5-mini --llm-record answers "
                "--llm-budget 5\n",
    .run = run,
};
