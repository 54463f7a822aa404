/* cmd_compare.c: compares the libraries, the default and the best archived configuration,
   interleaved. */
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "cli/compared.h"
#include "cli/options.h"
#include "cli/reported.h"
#include "cli/size_list.h"
#include "cli/task_args.h"

#define SECONDS_DEFAULT 5.0

typedef struct search {
    const ak_space *space;
    ak_config config;
    ak_trial trial;    /* the trial with the best time */
    bool found, given; /* given: --config gave the configuration, and the archive was not read */
} search;

/* Finds the best archived configuration. It is measured again, so trials of other environments
   count too. */
static ak_status find_best(search *s, const ak_task *task, ak_archive *archive, ak_error *err)
{
    ak_archive_filter filter = {.kernel = ak_problem_name(ak_task_problem(task)),
                                .implementation = ak_task_implementation(task),
                                .device = ak_task_device(task),
                                .size = ak_task_size(task),
                                .dtype = ak_task_dtype(task),
                                .choices = ak_task_choices(task),
                                .ok_only = true};
    ak_status status = AK_OK;
    AK_TRY(ak_archive_best(&s->trial, archive, &filter, err));
    /* A trial of an earlier version of the kernel may no longer be in the space. */
    s->found = ak_config_parse(&s->config, s->space, s->trial.config, NULL) == AK_OK;
out:
    return status == AK_NOT_FOUND ? AK_OK : status;
}

static ak_status print(const ak_comparison *comparison, const ak_task *task, const search *best,
                       const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        char *text = NULL;
        ak_status status = ak_comparison_json(&text, comparison, task, err);
        return ak_out_document(status, text);
    }
    ak_task_print(task);
    ak_compared_print(comparison->candidates, comparison->count, &comparison->placement, task);
    ak_summary_print(comparison);
    ak_out("\n");
    if (best->given) {
        ak_next_on_task("tune", "find the best", args, task, true);
        return AK_OK;
    }
    if (!best->found) {
        ak_out("nothing is archived for this kernel, size and type on this device\n");
    }
    ak_next_on_task(best->found ? "export" : "tune",
                    best->found ? "write best_config.json" : "find the best", args, task, true);
    return AK_OK;
}

/* The comparison at one size. */
typedef struct compared {
    ak_task *task;
    ak_comparison comparison;
    search best;
} compared;

/* The configurations to compare with the libraries. The texts of `names` are constants or belong to
   `candidates`. */
typedef struct entries {
    ak_config configs[AK_CONFIGS_MAX];
    const char *names[AK_CONFIGS_MAX];
    ak_candidate candidates[AK_CONFIGS_MAX]; /* those of --config */
    size_t count;
} entries;

/* Takes the configurations of --config or, without any, the default and the best of the archive. */
static ak_status choose_entries(entries *e, search *best, const ak_args *args, const ak_task *task,
                                ak_archive *archive, ak_error *err)
{
    best->space = ak_task_space(task);
    best->given = args->config_count > 0;
    if (best->given) {
        ak_status status = ak_args_candidates(e->candidates, &e->count, args, task, err);
        for (size_t i = 0; status == AK_OK && i < e->count; i++) {
            e->configs[i] = e->candidates[i].config;
            e->names[i] = e->candidates[i].name;
        }
        return status;
    }
    ak_space_default(&e->configs[0], best->space);
    e->names[0] = "default";
    e->count = 1;
    ak_status status = find_best(best, task, archive, err);
    if (status == AK_OK && best->found) {
        bool same = memcmp(&e->configs[0], &best->config, sizeof best->config) == 0;
        e->configs[1] = best->config;
        e->names[1] = "best";
        e->names[0] = same ? "best = default" : "default";
        e->count = same ? 1 : 2;
    }
    return status;
}

static ak_status compare_size(compared *c, const ak_args *args, ak_archive *archive,
                              const char *size, ak_error *err)
{
    ak_args mine = *args;
    mine.text[AK_OPTION_SIZE] = size == NULL ? mine.text[AK_OPTION_SIZE] : size;
    entries *e = ak_alloc(1, sizeof *e);
    ak_status status = AK_OK;
    AK_TRY(e == NULL ? ak_fail_memory(err) : ak_args_task(&c->task, &mine, err));
    AK_TRY(ak_args_measured_task(&c->task, &mine, archive, true, err));
    AK_TRY(choose_entries(e, &c->best, &mine, c->task, archive, err));
    double seconds =
        ak_args_has(args, AK_OPTION_TIME) ? args->number[AK_OPTION_TIME] : SECONDS_DEFAULT;
    ak_task_set_cancel(c->task, &ak_interrupted);
    const ak_compare_options options = {.configs = e->configs,
                                        .names = e->names,
                                        .count = e->count,
                                        .baselines = true,
                                        .seconds = seconds};
    AK_TRY(ak_compare(&c->comparison, c->task, &options, err));
out:
    ak_free(e);
    return status;
}

/* Fails if a configuration failed. The failure of a library is only shown in the table. */
static ak_status check_candidates(const ak_comparison *comparison, const char *kernel,
                                  ak_error *err)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const ak_compared *c = &comparison->candidates[i];
        if (c->median_ms <= 0 && c->library == NULL) {
            return ak_fail(err, AK_CRASHED, "%.80s: %.80s failed: %.200s", kernel, c->name,
                           c->reason == NULL ? "no reason given" : c->reason);
        }
    }
    return AK_OK;
}

/* What show() needs to print each comparison. */
typedef struct shown {
    const ak_args *args;
    const ak_task *task;
    const search *best;
    size_t count; /* comparisons shown so far */
    ak_status status;
    ak_error *err;
} shown;

static bool show(void *context, ak_comparison *comparison)
{
    shown *s = context;
    s->status = print(comparison, s->task, s->best, s->args, s->err);
    s->count++;
    (void)fflush(stdout); /* the next comparison takes a while */
    if (s->status == AK_OK) {
        s->status = check_candidates(comparison, s->args->operand[0], s->err);
    }
    return s->status == AK_OK;
}

/* ---- many sizes ------------------------------------------------------------------------------ */

/* Finds the fastest library (NULL if none worked) and the configuration, which comes last. */
static void pick(const ak_compared **library, const ak_compared **mine, const compared *c)
{
    *library = NULL;
    *mine = NULL;
    for (size_t i = 0; i < c->comparison.count; i++) {
        const ak_compared *one = &c->comparison.candidates[i];
        if (one->library != NULL && one->ratio_low == 1 && one->ratio_high == 1) {
            *library = one;
        }
        *mine = one->library == NULL ? one : *mine;
    }
}

static void print_sizes(const compared *list, size_t count)
{
    ak_table table;
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES];
    ak_table_begin(&table, "size", "measured", ">ms", ">roofline", "library", ">its ms", ">speed",
                   "95 % interval", "_", NULL);
    for (size_t i = 0; i < count; i++) {
        const ak_compared *library, *mine;
        pick(&library, &mine, &list[i]);
        ak_table_cell(&table, "%s", ak_task_size(list[i].task));
        ak_table_cell(&table, "%s", mine == NULL ? "-" : mine->name);
        ak_table_cell(&table, "%s", ak_show_real(a, mine == NULL ? 0 : mine->median_ms));
        ak_table_cell(&table, "%s", ak_show_percent(a, mine == NULL ? 0 : mine->efficiency));
        ak_table_cell(&table, "%s", library == NULL ? "-" : library->name);
        ak_table_cell(&table, "%s", ak_show_real(a, library == NULL ? 0 : library->median_ms));
        bool known = library != NULL && mine != NULL && mine->ratio_high > 0;
        ak_table_cell(&table, "%s", ak_show_ratio(a, known ? mine->ratio : 0));
        if (known) {
            ak_table_cell(&table, "%s .. %s%s", ak_show_ratio(a, mine->ratio_low),
                          ak_show_ratio(b, mine->ratio_high), ak_verdict_words(mine->verdict));
        } else {
            ak_table_cell(&table, "-");
        }
        ak_table_cell(&table, "%s", mine == NULL || mine->reason == NULL ? "" : mine->reason);
    }
    ak_table_print(&table);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < list[i].comparison.warning_count; k++) {
            ak_out("warning: %s: %s\n", ak_task_size(list[i].task), list[i].comparison.warnings[k]);
        }
    }
}

static ak_status print_sizes_json(const compared *list, size_t count, ak_error *err)
{
    json_t *object = json_object(), *rows = json_array();
    bool good = object != NULL && rows != NULL;
    for (size_t i = 0; i < count && good; i++) {
        char *text = NULL;
        json_t *row = NULL;
        good = ak_comparison_json(&text, &list[i].comparison, list[i].task, err) == AK_OK &&
               ak_json_parse(&row, text, strlen(text), "comparison", err) == AK_OK &&
               json_array_append_new(rows, row) == 0;
        ak_text_free(text);
    }
    good = good && json_object_set(object, "sizes", rows) == 0 && ak_out_json(object);
    json_decref(rows);
    json_decref(object);
    return good ? AK_OK : ak_fail_memory(err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_sizes(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_size_list sizes = {0};
    ak_archive *archive = NULL;
    compared *list = NULL;
    size_t done = 0;
    ak_status status = AK_OK;
    if (ak_args_has(args, AK_OPTION_SIZE) || ak_args_has(args, AK_OPTION_REPEATS)) {
        status = ak_fail(&err, AK_INVALID, "--%s and --sizes contradict each other",
                         ak_args_has(args, AK_OPTION_SIZE) ? "size" : "repeats");
    } else {
        status = ak_size_list_read(&sizes, args->text[AK_OPTION_SIZES], &err);
    }
    if (status == AK_OK) {
        status = ak_archive_open_existing(&archive, args->text[AK_OPTION_ARCHIVE], &err);
    }
    list = status == AK_OK ? ak_alloc(sizes.count, sizeof *list) : NULL;
    if (status == AK_OK && list == NULL) {
        status = ak_fail_memory(&err);
    }
    while (status == AK_OK && done < sizes.count) {
        status = compare_size(&list[done], args, archive, sizes.items[done], &err);
        done += status == AK_OK ? 1 : 0;
    }
    if (done > 0 && (status == AK_OK || status == AK_CANCELLED)) {
        ak_status printed = AK_OK;
        if (ak_args_has(args, AK_OPTION_JSON)) {
            printed = print_sizes_json(list, done, &err);
        } else {
            print_sizes(list, done);
        }
        status = status == AK_OK ? printed : status;
    }
    if (status == AK_CANCELLED) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted; %s", args->operand[0],
                      done == 0 ? "nothing is known yet" : "the other sizes were not measured");
    }
    for (size_t i = 0; i < done && status == AK_OK; i++) {
        status = check_candidates(&list[i].comparison, args->operand[0], &err);
    }
    for (size_t i = 0; list != NULL && i < sizes.count; i++) {
        ak_comparison_clear(&list[i].comparison);
        ak_trial_clear(&list[i].best.trial);
        ak_task_close(list[i].task);
    }
    ak_free(list);
    ak_size_list_free(&sizes);
    ak_archive_close(archive);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}

static int run_one(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_task *task = NULL;
    ak_archive *archive = NULL;
    search best = {0};
    shown s = {0};
    entries *e = ak_alloc(1, sizeof *e);
    ak_status status = AK_OK;
    AK_TRY(e == NULL ? ak_fail_memory(&err) : ak_args_task(&task, args, &err));
    AK_TRY(ak_archive_open_existing(&archive, args->text[AK_OPTION_ARCHIVE], &err));
    AK_TRY(ak_args_measured_task(&task, args, archive, true, &err));
    AK_TRY(choose_entries(e, &best, args, task, archive, &err));
    if (best.trial.config != NULL && !ak_args_has(args, AK_OPTION_JSON)) {
        AK_TRY(ak_say_environment(archive, &best.trial, &err));
    }
    double seconds =
        ak_args_has(args, AK_OPTION_TIME) ? args->number[AK_OPTION_TIME] : SECONDS_DEFAULT;
    double wanted = args->number[AK_OPTION_REPEATS];
    ak_task_set_cancel(task, &ak_interrupted);
    s = (shown){.args = args, .task = task, .best = &best, .err = &err};
    const ak_compare_options options = {.configs = e->configs,
                                        .names = e->names,
                                        .count = e->count,
                                        .baselines = true,
                                        .seconds = seconds};
    AK_TRY(ak_compare_each(task, &options, wanted > 0 ? (size_t)wanted : 1, show, &s, &err));
    AK_TRY(s.status);
out:
    if (status == AK_CANCELLED) {
        (void)ak_fail(&err, AK_CANCELLED, "%.80s: interrupted; %s", args->operand[0],
                      s.count == 0 ? "nothing is known yet" : "what was shown is whole");
    }
    ak_trial_clear(&best.trial);
    ak_task_close(task);
    ak_archive_close(archive);
    ak_free(e);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(&err);
}

/* Runs of the archive: nothing is measured. */
static int run_versus(const ak_args *args)
{
    const ak_option_set measured = AK_O_TASK | AK_O_RUN | AK_O(SIZES) | AK_O(CONFIG) | AK_O(TIME) |
                                   AK_O(REPEATS) | AK_O(LIBRARIES) | AK_O(PROTOCOL);
    ak_error err = AK_ERROR_INIT;
    if (ak_args_refuse(args, measured, "does not go with runs, which are not measured again",
                       &err) != AK_OK) {
        return ak_complain_error(&err);
    }
    return ak_reported(args, args->operand[0], args->operand[1], args->operand[1] == NULL);
}

/* True for the id of a run: 16 hexadecimal digits, and no file of that name. */
static bool names_run(const char *operand)
{
    return strlen(operand) == 16 && strspn(operand, "0123456789abcdef") == 16 &&
           !ak_fs_is_file(operand);
}

static int run(const ak_args *args)
{
    if (args->operand_count == 2 || names_run(args->operand[0])) {
        return run_versus(args);
    }
    ak_error err = AK_ERROR_INIT;
    if (ak_args_refuse(args, AK_O(FORMAT) | AK_O(OUTPUT),
                       "goes with runs (compare RUN, compare RUN RUN)", &err) != AK_OK) {
        return ak_complain_error(&err);
    }
    ak_catch_interrupts();
    return ak_args_has(args, AK_OPTION_SIZES) ? run_sizes(args) : run_one(args);
}

const ak_command ak_cmd_compare = {
    .name = "compare",
    .summary = "measure libraries, the default and the best in turns, or compare two runs",
    .operands = "KERNEL | RUN | RUN RUN",
    .least = 1,
    .most = 2,
    .options = AK_O_TASK | AK_O_RUN | AK_O(SIZES) | AK_O(CONFIG) | AK_O(LIBRARIES) |
               AK_O(PROTOCOL) | AK_O(TIME) | AK_O(REPEATS) | AK_O(ARCHIVE) | AK_O(JSON) |
               AK_O(FORMAT) | AK_O(OUTPUT) | AK_O(HELP),
    .about = "Measures the installed libraries, the default configuration and the best archived "
             "one for this kernel, size, type and device in turns, so that a slow phase of the "
             "machine affects all of them alike. With --config, the given configurations take the "
             "place of the last two.\n\n"
             "Speeds are relative to the fastest library or, without one, to the first "
             "configuration. The last configuration is measured twice, as a control: a difference "
             "that is no larger than the control's, or below 1 %, is a tie. A ratio whose interval "
             "is wider than 20 % is not decided.\n\n"
             "--sizes prints one line for each size, about the last configuration. --time is the "
             "whole time of one size (default 5s). --repeats repeats the comparison, each time "
             "with new processes.\n\n"
             "With two runs nothing is measured: it prints side by side what each found, and what "
             "differs in their configurations and environments, in a format of 'report'. With one "
             "run it lists the versions of the kernel in all runs of its task: what each version "
             "reached, how fast the run's best was in it, and which lines changed.",
    .examples = "  autokernel compare matmul --size 64\n"
                "  autokernel compare matmul --size M=512,N=512,K=512 --time 3s\n"
                "  autokernel compare matmul --size 256 --config default --config KC=128\n"
                "  autokernel compare matmul --sizes '64;96;128' --time 2s\n",
    .run = run,
};
