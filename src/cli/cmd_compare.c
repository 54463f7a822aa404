/* cmd_compare.c: compares the libraries with the default and the best archived configuration, or
   with given ones, interleaved; or reports on one or two runs of the archive. */
#include <unistd.h>

#include "base/alloc.h"
#include "cli/compared.h"
#include "cli/options.h"
#include "cli/trial_table.h"
#include "cli/several.h"
#include "cli/size_list.h"

#define SECONDS_DEFAULT 5.0

typedef struct search {
    const ak_space *space;
    ak_config config;
    ak_trial trial;    /* the best archived trial; all 0: there is none */
    bool found, given; /* found: there is a trial, whose configuration the space has; given:
                          --config gave the configurations, and the archive was not read */
} search;

/* Finds the task's best archived configuration, in any environment, because it is measured again.
   `kernel` is the operand, where the kernel as it is now is looked for first. */
static ak_status find_best(search *s, const ak_task *task, const char *kernel, ak_archive *archive,
                           ak_error *err)
{
    ak_archive_filter filter = {.kernel = ak_problem_name(ak_task_problem(task)),
                                .place = kernel,
                                .implementation = ak_task_implementation(task),
                                .device = ak_task_device(task),
                                .size = ak_task_size(task),
                                .dtype = ak_task_dtype(task),
                                .choices = ak_task_choices(task),
                                .ok_only = true};
    const ak_status status = ak_archive_best(&s->trial, archive, &filter, err);
    /* An earlier version of the kernel may have had configurations that the space no longer has. */
    s->found =
        status == AK_OK && ak_config_parse(&s->config, s->space, s->trial.config, NULL) == AK_OK;
    return status == AK_NOT_FOUND ? AK_OK : status;
}

/* The comparison at one size: the implementations that take part, and their configurations. The
   texts of `names` are constants, or belong to `candidates` or `texts`. */
typedef struct compared {
    ak_several several;
    ak_task *task[AK_SEVERAL_MAX];
    search best[AK_SEVERAL_MAX];
    ak_config configs[AK_CONFIGS_MAX];
    const ak_task *of[AK_CONFIGS_MAX]; /* the task of each configuration; NULL: task[0] */
    const char *names[AK_CONFIGS_MAX];
    char texts[AK_CONFIGS_MAX][160];
    ak_candidate candidates[AK_CONFIGS_MAX]; /* the configurations of --config */
    size_t count;
    ak_comparison comparison;
} compared;

static void close_compared(compared *c)
{
    for (size_t i = 0; i < AK_SEVERAL_MAX; i++) {
        ak_trial_clear(&c->best[i].trial);
        ak_task_close(c->task[i]);
    }
    ak_comparison_clear(&c->comparison);
    ak_several_free(&c->several);
}

static ak_status print(const ak_comparison *comparison, const compared *c, ak_error *err)
{
    const ak_args *args = c->several.parts[0].args;
    const ak_task *task = c->task[0];
    const search *best = &c->best[0];
    if (ak_args_has(args, AK_OPTION_JSON)) {
        char *text = NULL;
        ak_status status = ak_comparison_json(&text, comparison, task, err);
        return ak_out_document(status, text);
    }
    ak_task_print(task);
    for (size_t i = 1; i < c->several.count; i++) {
        ak_out("in turns with implementation %s\n", c->several.parts[i].name);
    }
    ak_compared_print(comparison->candidates, comparison->count, comparison->reference,
                      &comparison->placement, task);
    ak_summary_print(comparison);
    ak_out("\n");
    if (c->several.count > 1 || best->given) {
        ak_next_on_task("tune", "find the best", args, task, true);
        return AK_OK;
    }
    if (!best->found && best->trial.config != NULL) {
        ak_out(
            "trial #%lld, the best that is archived, is of an earlier version of the kernel, whose "
            "configurations this one does not have\n",
            (long long)best->trial.id);
    } else if (!best->found) {
        ak_out("nothing is archived for this kernel, size and type on this device\n");
    }
    ak_next_on_task(best->found ? "export" : "tune",
                    best->found ? "write best_config.json" : "find the best", args, task, true);
    return AK_OK;
}

/* Chooses the configurations of an implementation: those from --config or, without any, the default
   and, if there is one, the best archived configuration. */
static ak_status choose_configs(compared *c, size_t part, ak_archive *archive, ak_error *err)
{
    const ak_task *task = c->task[part];
    search *best = &c->best[part];
    const size_t first = c->count;
    size_t count = 0;
    best->space = ak_task_space(task);
    best->given = c->several.parts[part].args->config_count > 0;
    if (best->given) {
        AK_FREED ak_candidate *list = NULL;
        AK_DO(AK_NEW(list, AK_CONFIGS_MAX, err));
        ak_status status = ak_args_candidates(list, &count, c->several.parts[part].args, task, err);
        for (size_t i = 0; status == AK_OK && i < count && c->count < AK_CONFIGS_MAX; i++) {
            c->candidates[c->count] = list[i];
            c->configs[c->count] = list[i].config;
            c->names[c->count] = c->candidates[c->count].name;
            c->count++;
        }
        if (status != AK_OK && c->several.count > 1) {
            status = ak_fail_within(err, "implementation %s", c->several.parts[part].name);
        }
        AK_DO(status);
    } else {
        AK_DO(find_best(best, task, c->several.parts[part].args->operand[0], archive, err));
        ak_config fallback;
        ak_space_default(&fallback, best->space);
        bool same = best->found && memcmp(&fallback, &best->config, sizeof fallback) == 0;
        count = best->found && !same ? 2 : 1;
        for (size_t i = 0; i < count && c->count < AK_CONFIGS_MAX; i++) {
            c->configs[c->count] = i == 0 ? fallback : best->config;
            c->names[c->count++] = i == 1 ? "best" : same ? "best = default" : "default";
        }
    }
    for (size_t i = first; i < c->count && c->several.count > 1; i++) {
        (void)snprintf(c->texts[i], sizeof c->texts[i], "%s %s", c->several.parts[part].name,
                       c->names[i]);
        c->names[i] = c->texts[i];
        c->of[i] = part == 0 ? NULL : task;
    }
    return first + count <= AK_CONFIGS_MAX
               ? AK_OK
               : ak_fail(err, AK_INVALID, "at most %d configurations at once", AK_CONFIGS_MAX);
}

/* Opens the tasks of all implementations at `size` (NULL: the size that the options give) and
   chooses their configurations. With `first`, warns of what the implementations ignore. */
static ak_status open_compared(compared *c, const ak_args *args, ak_archive *archive,
                               const char *size, bool first, ak_error *err)
{
    ak_args all = *args; /* a --config of any implementation may give size and dtype */
    AK_DO(ak_several_split(&c->several, args, err));
    all.text[AK_OPTION_IMPL] = c->several.parts[0].args->text[AK_OPTION_IMPL];
    all.text[AK_OPTION_SIZE] = size == NULL ? args->text[AK_OPTION_SIZE] : size;
    for (size_t i = 0; i < c->several.count; i++) {
        if (i == 0) {
            AK_DO(ak_args_task(&c->task[0], &all, err));
            AK_DO(ak_args_measured_task(&c->task[0], &all, archive, true, err));
        } else {
            AK_DO(ak_several_task(&c->task[i], &c->several.parts[i], c->task[0], err));
        }
        ak_task_set_cancel(c->task[i], &ak_interrupted);
        AK_DO(choose_configs(c, i, archive, err));
        if (first) {
            ak_warn_ignored(c->task[i]);
        }
    }
    return AK_OK;
}

static ak_compare_options options_of(const compared *c)
{
    const ak_args *args = c->several.parts[0].args;
    return (ak_compare_options){.configs = c->configs,
                                .names = c->names,
                                .tasks = c->of,
                                .count = c->count,
                                .baselines = true,
                                .seconds = ak_args_number(args, AK_OPTION_TIME, SECONDS_DEFAULT)};
}

static ak_status compare_size(compared *c, const ak_args *args, ak_archive *archive,
                              const char *size, bool first, ak_error *err)
{
    AK_DO(open_compared(c, args, archive, size, first, err));
    const ak_compare_options options = options_of(c);
    return ak_compare(&c->comparison, c->task[0], &options, err);
}

/* Fails if a configuration failed. The failure of a library is only shown in the table. */
static ak_status check_candidates(const ak_comparison *comparison, const char *kernel,
                                  ak_error *err)
{
    for (size_t i = 0; i < comparison->count; i++) {
        const ak_compared *c = &comparison->candidates[i];
        AK_FAIL_IF(c->median_ms <= 0 && c->library == NULL, err, AK_CRASHED,
                   "%.80s: %.80s failed: %.200s", kernel, c->name,
                   c->reason == NULL ? "no reason given" : c->reason);
    }
    return AK_OK;
}

/* The context of show(). */
typedef struct shown {
    const compared *of;
    size_t count; /* comparisons shown so far */
    ak_status status;
    ak_error *err;
} shown;

/* Returns whether several comparisons are printed, as a list in one JSON object. Each element is a
   line, so that a program can read it while the next comparison is made. */
static bool prints_list(const ak_args *args)
{
    return ak_args_has(args, AK_OPTION_JSON) && args->number[AK_OPTION_REPEATS] > 1;
}

static bool show(void *context, ak_comparison *comparison)
{
    shown *s = context;
    if (prints_list(s->of->several.parts[0].args)) {
        ak_out("%s", s->count == 0 ? "{\"repeats\": [\n" : ", ");
    }
    s->status = print(comparison, s->of, s->err);
    s->count++;
    (void)fflush(stdout); /* the next comparison takes a while */
    if (s->status == AK_OK) {
        s->status = check_candidates(comparison, s->of->several.parts[0].args->operand[0], s->err);
    }
    return s->status == AK_OK;
}

/* ---- many sizes ------------------------------------------------------------------------------ */

/* Returns the library that speeds are relative to; NULL if the reference is no library or was not
   measured. */
static const ak_compared *pick_library(const compared *c)
{
    const size_t reference = c->comparison.reference;
    const ak_compared *at = c->comparison.candidates;
    return reference < c->comparison.count && at[reference].library != NULL &&
                   at[reference].median_ms > 0
               ? &at[reference]
               : NULL;
}

/* Adds the row for `mine`, a candidate of the comparison in `c`. */
static void add_size_row(ak_table *table, ak_roofline_notes *notes, const compared *c,
                         const ak_compared *mine)
{
    char a[AK_NUMBER_BYTES], b[AK_NUMBER_BYTES], words[AK_VERDICT_WORDS];
    const ak_compared *library = pick_library(c);
    ak_table_cell(table, "%s", ak_task_size(c->task[0]));
    ak_table_cell(table, "%s", mine->name);
    ak_table_cell(table, "%s", ak_show_real(a, mine->median_ms));
    ak_roofline_cell(table, notes, mine->efficiency, c->comparison.placement.memory_bound);
    ak_table_cell(table, "%s", library == NULL ? "-" : library->name);
    ak_table_cell(table, "%s", ak_show_real(a, library == NULL ? 0 : library->median_ms));
    bool several = c->several.count > 1; /* then a configuration may be the reference */
    bool known = (library != NULL || several) && mine->ratio_high > 0;
    ak_table_cell(table, "%s", ak_show_ratio(a, known ? mine->ratio : 0));
    if (known && mine == &c->comparison.candidates[c->comparison.reference]) {
        ak_table_cell(table, "reference");
    } else {
        ak_table_cell_if(table, known, "%s .. %s%s", ak_show_ratio(a, mine->ratio_low),
                         ak_show_ratio(b, mine->ratio_high), ak_verdict_words(words, mine));
    }
    ak_table_cell(table, "%s", ak_or_empty(mine->reason));
}

/* Prints a row for each size, about the last configuration there: the last --config, else the best
   archived one, else the default. With several implementations it prints a row for each
   configuration. The libraries come first among the candidates. */
static void print_sizes(const compared *list, size_t count)
{
    ak_table table;
    ak_roofline_notes notes = {0};
    ak_table_begin(&table, "size", "measured", ">ms", ">roofline", "library", ">its ms", ">speed",
                   "95 % interval", "_", NULL);
    for (size_t i = 0; i < count; i++) {
        const ak_comparison *comparison = &list[i].comparison;
        for (size_t k = 0; k < comparison->count; k++) {
            bool last = k + 1 == comparison->count;
            if (last || (list[i].several.count > 1 && comparison->candidates[k].library == NULL)) {
                add_size_row(&table, &notes, &list[i], &comparison->candidates[k]);
            }
        }
    }
    ak_table_print(&table);
    ak_roofline_say(&notes);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < list[i].comparison.warning_count; k++) {
            ak_out("warning: %s: %s\n", ak_task_size(list[i].task[0]),
                   list[i].comparison.warnings[k]);
        }
    }
}

static ak_status print_sizes_json(const compared *list, size_t count, ak_error *err)
{
    json_auto_t *object = json_object(), *rows = json_array();
    bool good = object != NULL && rows != NULL;
    for (size_t i = 0; i < count && good; i++) {
        char *text = NULL;
        json_t *row = NULL;
        ak_status status = ak_comparison_json(&text, &list[i].comparison, list[i].task[0], err);
        good = ak_out_parse(&row, status, &text, "comparison", err) == AK_OK &&
               ak_json_append(rows, row);
    }
    good = good && json_object_set(object, "sizes", rows) == 0 && ak_out_json(object);
    return ak_stored(good, err);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int run_sizes(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_size_list_free) ak_size_list sizes = {0};
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    compared *list = NULL;
    size_t done = 0;
    ak_status status = AK_OK;
    if (ak_args_has(args, AK_OPTION_SIZE) || ak_args_has(args, AK_OPTION_REPEATS)) {
        AK_TRY(ak_fail(err, AK_INVALID, "--%s and --sizes contradict each other",
                       ak_args_has(args, AK_OPTION_SIZE) ? "size" : "repeats"));
    }
    AK_TRY(ak_size_list_read(&sizes, args->text[AK_OPTION_SIZES], err));
    AK_TRY(ak_archive_open_existing(&archive, args->text[AK_OPTION_ARCHIVE], err));
    AK_TRY(AK_NEW(list, sizes.count, err));
    while (status == AK_OK && done < sizes.count) {
        status = compare_size(&list[done], args, archive, sizes.items[done], done == 0, err);
        done += status == AK_OK ? 1 : 0;
    }
    if (done > 0 && (status == AK_OK || status == AK_CANCELLED)) {
        ak_status printed = AK_OK;
        if (ak_args_has(args, AK_OPTION_JSON)) {
            printed = print_sizes_json(list, done, err);
        } else {
            print_sizes(list, done);
        }
        status = status == AK_OK ? printed : status;
    }
    if (status == AK_CANCELLED) {
        (void)ak_fail(err, AK_CANCELLED, "%.80s: interrupted; %s", args->operand[0],
                      done == 0 ? "nothing is known yet" : "the other sizes were not measured");
    }
    AK_TRY(status);
    for (size_t i = 0; i < done; i++) {
        AK_TRY(check_candidates(&list[i].comparison, args->operand[0], err));
    }
out:
    for (size_t i = 0; list != NULL && i < sizes.count; i++) {
        close_compared(&list[i]);
    }
    ak_free(list);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
}

static int run_one(const ak_args *args, ak_error *err)
{
    ak_archive *archive = NULL;
    shown s = {0};
    compared *c = ak_alloc(1, sizeof *c);
    ak_status status = AK_OK;
    AK_TRY(ak_made(c, err));
    AK_TRY(ak_archive_open_existing(&archive, args->text[AK_OPTION_ARCHIVE], err));
    AK_TRY(open_compared(c, args, archive, NULL, true, err));
    for (size_t i = 0; i < c->several.count && !ak_args_has(args, AK_OPTION_JSON); i++) {
        if (c->best[i].found) {
            AK_TRY(ak_say_environment(archive, &c->best[i].trial, err));
        }
    }
    s = (shown){.of = c, .err = err};
    const size_t repeats = (size_t)ak_args_number(args, AK_OPTION_REPEATS, 1);
    const ak_compare_options options = options_of(c);
    AK_TRY(ak_compare_each(c->task[0], &options, repeats, show, &s, err));
    AK_TRY(s.status);
out:
    if (s.count > 0 && prints_list(args)) {
        ak_out("]}\n");
    }
    if (status == AK_CANCELLED) {
        (void)ak_fail(err, AK_CANCELLED, "%.80s: interrupted; %s", args->operand[0],
                      s.count == 0 ? "nothing is known yet" : "what was shown is whole");
    }
    if (c != NULL) {
        close_compared(c);
    }
    ak_archive_close(archive);
    ak_free(c);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
}

/* Reports on one or two runs of the archive; measures nothing. */
static int run_versus(const ak_args *args, ak_error *err)
{
    const ak_option_set measured = AK_O_TASK | AK_O_RUN | AK_O(SIZES) | AK_O(CONFIG) | AK_O(TIME) |
                                   AK_O(REPEATS) | AK_O(LIBRARIES) | AK_O(PROTOCOL);
    AK_OR_COMPLAIN(
        ak_args_refuse(args, measured, "does not go with runs, which are not measured again", err));
    return ak_reported(args, args->operand[0], args->operand[1], args->operand[1] == NULL, err);
}

/* Returns whether the operand names a run: it is no file or folder, and it is a whole id (16
   hexadecimal digits) or 4 digits or more with which the id of a run of the archive begins. */
static bool names_run(const ak_args *args)
{
    const char *operand = args->operand[0];
    const size_t length = strlen(operand);
    ak_archive *archive = NULL;
    char *id = NULL;
    if (strspn(operand, "0123456789abcdef") != length || length > 16 ||
        access(operand, F_OK) == 0) {
        return false;
    }
    ak_status status = length == 16 ? AK_OK : ak_args_archive(&archive, args, NULL);
    if (status == AK_OK && length < 16) {
        status = ak_archive_find_run(&id, archive, operand, NULL);
    }
    ak_text_free(id);
    ak_archive_close(archive);
    /* AK_INVALID says that the ids of several runs begin with the operand. */
    return status == AK_OK || (status == AK_INVALID && length < 16);
}

static int run(const ak_args *args, ak_error *err)
{
    if (args->operand_count == 2 || names_run(args)) {
        return run_versus(args, err);
    }
    AK_OR_COMPLAIN(ak_args_refuse(args, AK_O(FORMAT) | AK_O(OUTPUT),
                                  "goes with runs (compare RUN, compare RUN RUN)", err));
    ak_catch_interrupts();
    return ak_args_has(args, AK_OPTION_SIZES) ? run_sizes(args, err) : run_one(args, err);
}

const ak_command ak_cmd_compare = {
    .name = "compare",
    .summary = "measure libraries, the default and the best in turns, or compare two runs",
    .operands = "KERNEL | RUN | RUN RUN",
    .least = 1,
    .most = 2,
    .options = AK_O_TASK | AK_O_RUN | AK_O(SIZES) | AK_O(CONFIG) | AK_O(LIBRARIES) |
               AK_O(PROTOCOL) | AK_O(TIME) | AK_O(REPEATS) | AK_O(ARCHIVE) | AK_O(JSON) |
               AK_O(FORMAT) | AK_O(OUTPUT) | AK_O(FORCE) | AK_O(HELP),
    .about =
        "Measures the installed libraries, the default configuration and the best archived one for "
        "this kernel, size, type and device in turns, so that a slow phase of the machine affects "
        "all of them alike. With --config, the given configurations take the place of the default "
        "and the best.\n\n"
        "--impl may name several implementations for the same device: triton,cuda_sm90. A "
        "configuration names its implementation before a colon, 'cuda_sm90:default'; one that "
        "names none belongs to the first. An implementation without a configuration takes part "
        "with its default and its best archived one.\n\n"
        "Speeds are relative to the fastest library or, without one, to the first configuration. "
        "The last configuration is measured twice, as a control: a difference that is no larger "
        "than the control's, or below 1 %, is a tie. One within the control's interval is not "
        "decided, and nothing is if that interval, or the ratio's own, is wider than 20 %.\n\n"
        "--sizes prints one line for each size, about the last configuration; with several "
        "implementations, a line for each configuration. --time is the whole time of one size "
        "(default 5s). --repeats repeats the comparison, each time with new processes.\n\n"
        "A run is named by its id, or by its first digits, at least 4 ('autokernel history --runs' "
        "lists them). With two runs nothing is measured: it prints side by side what each found, "
        "and what differs in their configurations and environments, in a format of 'report'. With "
        "one run it lists the versions of the kernel in all runs of its task: what each version "
        "reached, how fast the run's best was in it, and which lines changed.",
    .examples = "  autokernel compare matmul --size 64\n"
                "  autokernel compare matmul --size M=512,N=512,K=512 --time 3s\n"
                "  autokernel compare matmul --size 256 --config default --config KC=128\n"
                "  autokernel compare matmul --sizes '64;96;128' --time 2s\n",
    .run = run,
};
