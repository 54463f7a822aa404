/* cmd_stats.c: shows how the archive's trials ended, and where their time went. */

#include "base/number.h"
#include "cli/llm_show.h"
#include "cli/options.h"
#include "cli/task_args.h"
#include "cli/trial_table.h"

static const char *const stages[] = {"propose", "compile", "check", "measure", "overhead"};
#define STAGE_COUNT AK_COUNT(stages)

typedef struct tally {
    size_t trials, by_status[AK_TRIAL_STATUS_COUNT];
    double seconds[STAGE_COUNT];
} tally;

static bool count_trial(void *context, const ak_trial *trial)
{
    tally *t = context;
    const int64_t ns[STAGE_COUNT] = {trial->propose_ns, trial->compile_ns, trial->check_ns,
                                     trial->measure_ns, trial->overhead_ns};
    t->trials++;
    t->by_status[trial->status]++;
    for (size_t i = 0; i < STAGE_COUNT; i++) {
        t->seconds[i] += (double)ns[i] / 1e9;
    }
    return true;
}

static double success_rate(const tally *t)
{
    return t->trials == 0 ? 0 : (double)t->by_status[AK_TRIAL_OK] / (double)t->trials;
}

/* Reads the parameter importance in the selected trials, or the reason why there is none. */
static ak_status read_importance(json_t **out, const ak_selection *selection, ak_error *err)
{
    char *text = NULL;
    ak_status status = ak_archive_importance(&text, selection->archive, &selection->filter, err);
    return ak_out_parse(out, status, &text, "impact", err);
}

static json_t *best_json(const ak_trial *list, size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        const ak_trial *t = &list[i];
        json_t *row =
            json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:s?}", "kernel", t->kernel,
                      "implementation", t->implementation, "device", t->device, "size", t->size,
                      "dtype", t->dtype, "choices", t->choices, "ms", ak_json_real(t->median_ms),
                      "tflops", ak_json_real(t->tflops), "config", t->config);
        ak_json_add(&rows, row);
    }
    return rows;
}

/* What the command shows. */
typedef struct findings {
    tally tally;
    ak_trials best;             /* the best trial of each task */
    json_t *importance, *worth; /* NULL: `importance` was not read, or no model took part */
    const char *path;           /* path of the archive */
} findings;

static bool print_json(const findings *f)
{
    const tally *t = &f->tally;
    json_t *status = json_object(), *seconds = json_object();
    bool good = true;
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        good = good &&
               ak_json_set_count(status, ak_trial_status_text((ak_trial_status)i), t->by_status[i]);
    }
    for (size_t i = 0; i < STAGE_COUNT; i++) {
        good = good && ak_json_set_real(seconds, stages[i], t->seconds[i]);
    }
    json_auto_t *object =
        json_pack("{s:o, s:I, s:o, s:o, s:o, s:o, s:O*, s:O*}", "archive", ak_json_shown(f->path),
                  "trials", (json_int_t)t->trials, "by_status", status, "success_rate",
                  ak_json_real(success_rate(t)), "seconds", seconds, "best",
                  best_json(f->best.list, f->best.count), "impact", f->importance, "llm", f->worth);
    return good && ak_out_json(object);
}

static void print_region(const char *label, const json_t *region)
{
    char times[AK_REAL_BYTES];
    double ratio = ak_json_number_at(region, "ratio");
    if (ratio > 0) {
        ak_out("%s: %s: median %sx %s than the rest, %.0f trial%s\n", label,
               ak_json_text_or_null(region, "where"),
               ak_number_short(times, ratio > 1 ? ratio : 1 / ratio, 2),
               ratio > 1 ? "faster" : "slower", ak_json_number_at(region, "trials"),
               ak_plural((size_t)ak_json_number_at(region, "trials")));
    }
}

/* Prints the parameter importance, and how well the model that it comes from fits (R2), or why
   there is none. */
static void print_importance(const json_t *importance)
{
    const char *why = ak_json_text_or_null(importance, "why_not");
    const json_t *list = json_object_get(importance, "parameters");
    const json_t *pairs = json_object_get(importance, "pairs");
    ak_table table;
    ak_out("\nparameter importance: ");
    if (why != NULL) {
        double others = ak_json_number_at(importance, "left_out");
        ak_out("%s (%.0f successful)\n", why, ak_json_number_at(importance, "trials"));
        if (others > 0) {
            ak_out("%.0f trial%s with other parameters %s left out; --impl or --device narrows it "
                   "down\n",
                   others, ak_plural((size_t)others), others == 1 ? "is" : "are");
        }
        return;
    }
    ak_out(
        "shares of the variance of log time, of which a model\nexplains %.0f %% on trials that it "
        "did not see (out-of-bag R2 %.2f, %.0f trials)\n",
        ak_json_number_at(importance, "r2") * 100, ak_json_number_at(importance, "r2"),
        ak_json_number_at(importance, "learned"));
    ak_table_begin(&table, "parameter", ">alone", ">with its pairs", NULL);
    AK_EACH(p, list) {
        if (json_array_size(json_object_get(p, "values")) > 1) {
            ak_table_cell(&table, "%s", ak_json_text_or_null(p, "parameter"));
            ak_table_cell(&table, "%.1f %%", ak_json_number_at(p, "share") * 100);
            ak_table_cell(&table, "%.1f %%", ak_json_number_at(p, "with_pairs") * 100);
        }
    }
    AK_EACH(pair, pairs) {
        const json_t *names = json_object_get(pair, "parameters");
        ak_table_cell(&table, "%s with %s", json_string_value(json_array_get(names, 0)),
                      json_string_value(json_array_get(names, 1)));
        ak_table_cell(&table, "%.1f %%", ak_json_number_at(pair, "share") * 100);
        ak_table_cell(&table, "%s", "");
    }
    ak_table_print(&table);
    print_region("fastest", json_object_get(importance, "best_region"));
    print_region("slowest", json_object_get(importance, "worst_region"));
}

static void print_text(const findings *f, const ak_selection *selection, const ak_args *args)
{
    const tally *t = &f->tally;
    const char *kernel = args->operand_count > 0 ? args->operand[0] : NULL;
    ak_table table;
    char a[AK_NUMBER_BYTES];
    double total = 0;
    ak_out("%s: %zu trial%s, %s of them ok%s\n", f->path, t->trials, ak_plural(t->trials),
           t->by_status[AK_TRIAL_OK] == 0 ? "none" : ak_show_percent(a, success_rate(t)),
           t->trials == 0 ? ak_selection_hint(selection) : "");
    if (t->trials == 0) {
        ak_next_make_some(selection, args);
        return;
    }
    ak_table_begin(&table, "status", ">trials", NULL);
    for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
        if (t->by_status[i] > 0) {
            ak_table_cell(&table, "%s", ak_trial_status_text((ak_trial_status)i));
            ak_table_cell(&table, "%zu", t->by_status[i]);
        }
    }
    ak_table_print(&table);
    for (size_t i = 0; i < STAGE_COUNT; i++) {
        total += t->seconds[i];
    }
    ak_table_begin(&table, "stage", ">seconds", ">share", ">ms a trial", NULL);
    for (size_t i = 0; i < STAGE_COUNT; i++) {
        ak_table_cell(&table, "%s", stages[i]);
        ak_table_cell(&table, "%.3f", t->seconds[i]);
        ak_table_cell(&table, "%s", ak_show_percent(a, total > 0 ? t->seconds[i] / total : 0));
        ak_table_cell(&table, "%.3f", t->seconds[i] * 1e3 / (double)t->trials);
    }
    ak_out("\n");
    ak_table_print(&table);
    ak_roofline_notes notes = {0};
    ak_best_begin(&table);
    for (size_t i = 0; i < f->best.count; i++) {
        ak_best_row(&table, &notes, &f->best.list[i]);
    }
    ak_out("\n");
    ak_table_print(&table);
    ak_roofline_say(&notes);
    if (f->importance != NULL) {
        print_importance(f->importance);
    }
    if (f->worth != NULL) {
        ak_llm_worth_print(f->worth);
    }
    ak_selection_say_hidden(selection);
    ak_next_on_shown("history", kernel, "the trials themselves", args);
}

/* Reads what language models contributed; *out is NULL if none took part. */
static ak_status get_worth(json_t **out, const ak_selection *selection, ak_error *err)
{
    AK_AT_END(ak_text_free_at) char *text = NULL;
    *out = NULL;
    AK_DO(ak_llm_worth(&text, selection->archive, &selection->filter, err));
    return strcmp(text, "null") != 0 ? ak_json_parse_text(out, text, "worth", err) : AK_OK;
}

static void findings_clear(findings *f)
{
    json_decref(f->importance);
    json_decref(f->worth);
    ak_trials_clear(&f->best);
}

static int run(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_selection_close) ak_selection selection = {0};
    AK_AT_END(findings_clear) findings f = {.path = NULL};
    AK_OR_COMPLAIN(ak_selection_open(&selection, args, err));
    AK_OR_COMPLAIN(
        ak_archive_each(selection.archive, &selection.filter, count_trial, &f.tally, err));
    AK_OR_COMPLAIN(ak_archive_best_of_tasks(&f.best, selection.archive, &selection.filter, err));
    /* Parameter importance is shown for one kernel or one run only. */
    if (args->operand_count > 0 || ak_args_has(args, AK_OPTION_RUN)) {
        AK_OR_COMPLAIN(read_importance(&f.importance, &selection, err));
    }
    AK_OR_COMPLAIN(get_worth(&f.worth, &selection, err));
    f.path = ak_archive_path(selection.archive);
    if (!ak_args_has(args, AK_OPTION_JSON)) {
        print_text(&f, &selection, args);
    } else if (!print_json(&f)) {
        AK_OR_COMPLAIN(ak_fail_memory(err));
    }
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_stats = {
    .name = "stats",
    .summary = "show how trials ended, where their time went, and parameter importance",
    .operands = "[KERNEL]",
    .most = 1,
    .options = AK_O_FILTER | AK_O(JSON) | AK_O(HELP),
    .about = "Counts the trials by status, shows the time of each stage, and lists the best of "
             "each kernel, size, type, set of options and device.\n\n"
             "With a KERNEL or --run it also shows parameter importance, by a random forest over "
             "the trials; times are compared within their size. If a language model took part, it "
             "shows success by proposer, the best of each generation, predictions against "
             "outcomes, and tokens and cost for each percent gained.",
    .examples = "  autokernel stats\n"
                "  autokernel stats matmul --json\n",
    .run = run,
};
