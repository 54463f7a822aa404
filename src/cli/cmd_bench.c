/* cmd_bench.c: how fast are these configurations, and the libraries? */
#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/task_args.h"

/* Seconds of interleaved measuring for each contestant. */
#define SECONDS_EACH 0.7

typedef struct bench {
    const ak_args *args;
    ak_task *task;
    ak_tester *tester;
    ak_progress progress;
    ak_candidate list[AK_CONFIGS_MAX];
    ak_trial trials[AK_CONFIGS_MAX];
    size_t count, done, failed;
    ak_comparison comparison;
} bench;

static void add_row(ak_table *table, const ak_candidate *candidate, const ak_trial *trial)
{
    char a[AK_NUMBER_BYTES];
    ak_table_cell(table, "%s", candidate->name);
    ak_table_cell(table, "%s", ak_trial_status_text(trial->status));
    ak_table_cell(table, "%s", ak_show_real(a, trial->median_ms));
    ak_table_cell(table, "%s", ak_show_interval(a, trial->ci_low_ms, trial->ci_high_ms));
    ak_table_cell(table, "%s", ak_show_real(a, trial->tflops));
    ak_table_cell(table, "%s", ak_show_real(a, trial->gbs));
    ak_table_cell(table, "%s", ak_show_percent(a, trial->efficiency));
    ak_table_cell(table, "%s",
                  trial->reason != NULL   ? trial->reason
                  : trial->config == NULL ? ""
                                          : trial->config);
}

static void print(const bench *b)
{
    ak_table table;
    ak_table_begin(&table, "configuration", "status", ">ms", "95 % interval", ">TFLOP/s", ">GB/s",
                   ">roofline", "", NULL);
    for (size_t i = 0; i < b->done; i++) {
        add_row(&table, &b->list[i], &b->trials[i]);
    }
    ak_task_print(b->task);
    ak_table_print(&table);
    if (b->comparison.count > 0) {
        ak_out("\ninterleaved:\n");
        ak_contestants_print(b->comparison.contestants, b->comparison.count);
        ak_warnings_print(b->comparison.warnings, b->comparison.warning_count);
    }
    ak_out("\n");
    ak_next_on_task("compare", "libraries, default and best, interleaved", b->args, b->task, false);
}

static json_t *trials_json(const bench *b)
{
    json_t *rows = json_array();
    for (size_t i = 0; rows != NULL && i < b->done; i++) {
        char *text = NULL;
        json_t *row = NULL;
        bool good = ak_trial_json(&text, &b->trials[i], NULL) == AK_OK &&
                    ak_json_parse(&row, text, strlen(text), "trial", NULL) == AK_OK &&
                    ak_json_set_text(row, "name", b->list[i].name);
        ak_text_free(text);
        if (json_array_append_new(rows, row) != 0 || !good) {
            json_decref(rows);
            rows = NULL;
        }
    }
    return rows;
}

static json_t *comparison_json(const bench *b)
{
    char *text = NULL;
    json_t *object = NULL, *contestants = NULL;
    if (ak_comparison_json(&text, &b->comparison, b->task, NULL) == AK_OK &&
        ak_json_parse(&object, text, strlen(text), "comparison", NULL) == AK_OK) {
        contestants = json_incref(json_object_get(object, "contestants"));
    }
    json_decref(object);
    ak_text_free(text);
    return contestants;
}

static ak_status print_json(const bench *b, ak_error *err)
{
    json_t *object = json_object();
    bool good =
        object != NULL && ak_task_json(object, b->task) &&
        ak_json_set(object, "configurations", trials_json(b)) &&
        (b->comparison.count == 0 || ak_json_set(object, "contestants", comparison_json(b))) &&
        ak_out_json(object);
    json_decref(object);
    return good ? AK_OK : ak_fail_memory(err);
}

static ak_status measure(bench *b, ak_error *err)
{
    ak_status status = AK_OK;
    while (status == AK_OK && b->done < b->count) {
        ak_progress_step(&b->progress, "measuring", b->done, b->count);
        status = ak_tester_run(&b->trials[b->done], b->tester, &b->list[b->done].config, err);
        b->failed += status == AK_OK && b->trials[b->done].status != AK_TRIAL_OK;
        b->done += status == AK_OK ? 1 : 0;
    }
    ak_progress_step(&b->progress, "", 1, 1);
    return status == AK_CANCELLED ? AK_OK : status; /* what was measured until then is shown */
}

/* What worked, against the libraries, in one interleaved measurement. */
static ak_status compare(bench *b, ak_error *err)
{
    ak_config configs[AK_CONFIGS_MAX];
    const char *names[AK_CONFIGS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < b->done; i++) {
        if (b->trials[i].status == AK_TRIAL_OK) {
            configs[count] = b->list[i].config;
            names[count++] = b->list[i].name;
        }
    }
    if (!ak_args_has(b->args, AK_OPTION_BASELINES) || b->done < b->count) {
        return AK_OK;
    }
    double seconds = ak_args_has(b->args, AK_OPTION_TIME) ? b->args->number[AK_OPTION_TIME]
                                                          : SECONDS_EACH * (double)(count + 2);
    return ak_compare(&b->comparison, b->task, configs, names, count, true, seconds, err);
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    bool json = ak_args_has(args, AK_OPTION_JSON);
    bench *b = ak_alloc(1, sizeof *b);
    if (b == NULL) {
        (void)ak_fail_memory(&err);
        return ak_complain_error(&err);
    }
    b->args = args;
    ak_status status = ak_args_known_task(&b->task, args, &err);
    if (status == AK_OK) {
        status = ak_args_candidates(b->list, &b->count, args, b->task, &err);
    }
    if (status == AK_OK) {
        status =
            ak_progress_open(&b->progress, NULL, ak_args_has(args, AK_OPTION_QUIET), json, &err);
    }
    ak_catch_interrupts();
    if (status == AK_OK) {
        ak_task_set_cancel(b->task, &ak_interrupted);
        status = ak_tester_open(&b->tester, b->task, &err);
    }
    if (status == AK_OK) {
        status = measure(b, &err);
    }
    if (status == AK_OK) {
        ak_tester_close(b->tester); /* its processes must not run beside the comparison */
        b->tester = NULL;
        status = compare(b, &err);
    }
    if (status == AK_OK && json) {
        status = print_json(b, &err);
    } else if (status == AK_OK) {
        print(b);
    }
    int code = AK_EXIT_DONE;
    if (status != AK_OK && status != AK_CANCELLED) {
        code = ak_complain_error(&err);
    } else if (b->done == b->count && status == AK_CANCELLED) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted before the libraries were measured",
                      args->operand[0]);
        code = ak_complain_error(&err);
    } else if (b->done < b->count) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted after %zu of %zu configuration%s",
                      args->operand[0], b->done, b->count, ak_plural(b->count));
        code = ak_complain_error(&err);
    } else if (b->failed > 0) {
        (void)ak_fail(&err, AK_CRASHED, "%.80s: %zu of %zu configuration%s failed",
                      args->operand[0], b->failed, b->done, ak_plural(b->done));
        code = ak_complain_error(&err);
    }
    for (size_t i = 0; i < AK_CONFIGS_MAX; i++) {
        ak_trial_clear(&b->trials[i]);
    }
    ak_comparison_clear(&b->comparison);
    ak_tester_close(b->tester);
    ak_task_close(b->task);
    ak_free(b);
    return code;
}

const ak_command ak_cmd_bench = {
    .name = "bench",
    .summary = "measure configurations and libraries",
    .operands = "KERNEL",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O(LIBRARIES) | AK_O(PROTOCOL) | AK_O(CONFIG) |
               AK_O(BASELINES) | AK_O(TIME) | AK_O(ARCHIVE) | AK_O(JSON) | AK_O(QUIET) | AK_O(HELP),
    .about =
        "Checks and measures each --config (the default configuration if there is none). A file\n"
        "written by 'autokernel export' also gives the size, type and choices that are not given\n"
        "here. Nothing is archived; of several implementations it is the one that the archive has "
        "the\n"
        "best result of. --time is for the interleaved part of --baselines.",
    .examples = "  autokernel bench matmul --size 64\n"
                "  autokernel bench matmul --size 64 --config default --config KC=128 --baselines\n"
                "  autokernel bench matmul --config @best_config.json\n",
    .run = run,
};
