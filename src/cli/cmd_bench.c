/* cmd_bench.c: checks and measures configurations at one size or several and, with --baselines,
   compares them with the libraries. */

#include "base/alloc.h"
#include "base/device_name.h"
#include "cli/compared.h"
#include "cli/options.h"
#include "cli/size_list.h"
#include "cli/task_args.h"
#include "cli/trial_table.h"

#define BUSY_BYTES 400

/* Default time of the comparison in seconds for each configuration; the libraries count as two. */
#define SECONDS_EACH 0.7

/* The configurations at one size, their trials and their comparison. */
typedef struct measured {
    ak_task *task;
    ak_candidate list[AK_CONFIGS_MAX];
    ak_trial trials[AK_CONFIGS_MAX];
    size_t count, done, failed;
    size_t invalid;        /* configurations that are not valid at this size */
    double pressure;       /* highest one during the trials; negative: not known */
    char busy[BUSY_BYTES]; /* a warning that the pressure was too high; "": none */
    ak_comparison comparison;
    bool cancelled;
} measured;

typedef struct bench {
    const ak_args *args;
    ak_progress progress;
    ak_archive *archive; /* NULL: nothing is archived */
    char why_not[480];   /* why nothing, or nothing more, is archived; "": all is */
    measured *sizes;
    size_t size_count, begun;
} bench;

/* ---- printing -------------------------------------------------------------------------------- */

static void add_row(ak_table *table, ak_roofline_notes *notes, const measured *m, size_t i,
                    bool many)
{
    char a[AK_NUMBER_BYTES];
    const ak_trial *trial = &m->trials[i];
    if (many) {
        ak_table_cell(table, "%s", ak_task_size(m->task));
    }
    ak_table_cell(table, "%s", m->list[i].name);
    ak_table_cell_if(table, trial->id > 0, "#%lld", (long long)trial->id);
    ak_table_cell(table, "%s", ak_trial_status_text(trial->status));
    ak_table_cell(table, "%s", ak_show_real(a, trial->median_ms));
    ak_table_cell(table, "%s", ak_show_trial_interval(a, trial));
    ak_table_cell(table, "%s", ak_show_rate(a, trial->tflops, trial->gbs, trial->bound));
    ak_roofline_trial_cell(table, notes, trial);
    ak_config_cell(table, trial, many); /* with many sizes, print_config shows the configuration */
}

static void print_comparison(const measured *m, bool many)
{
    if (m->comparison.count > 0) {
        ak_out("\ninterleaved%s%s:\n", many ? ", " : "", many ? ak_task_size(m->task) : "");
        ak_compared_print(m->comparison.candidates, m->comparison.count, m->comparison.reference,
                          &m->comparison.placement, m->task);
        ak_summary_print(&m->comparison);
    }
}

/* Returns the text of configuration i at a size; NULL if it was not measured there. */
static const char *config_at(const bench *b, size_t size, size_t i)
{
    return i < b->sizes[size].done ? b->sizes[size].trials[i].config : NULL;
}

/* Prints configuration i: once if it is the same at all sizes where it was measured, else for each
   of these, because the default may depend on the size. */
static void print_config(const bench *b, size_t i)
{
    const char *first = NULL, *name = b->sizes[0].list[i].name;
    bool same = true;
    for (size_t s = 0; s < b->begun; s++) {
        const char *config = config_at(b, s, i);
        first = first == NULL ? config : first;
        same = same && (config == NULL || strcmp(config, first) == 0);
    }
    if (same) {
        ak_out("%s: %s\n", name, first == NULL ? "" : first);
        return;
    }
    for (size_t s = 0; s < b->begun; s++) {
        if (config_at(b, s, i) != NULL) {
            ak_out("%s at %s: %s\n", name, ak_task_size(b->sizes[s].task), config_at(b, s, i));
        }
    }
}

/* Prints a warning for each size at which the machine was busy during the trials. */
static void warn_busy(const bench *b)
{
    for (size_t s = 0; s < b->begun; s++) {
        if (b->sizes[s].busy[0] != 0 && b->size_count > 1) {
            ak_out("warning: %s: %s\n", ak_task_size(b->sizes[s].task), b->sizes[s].busy);
        } else if (b->sizes[s].busy[0] != 0) {
            ak_out("warning: %s\n", b->sizes[s].busy);
        }
    }
}

static void print(const bench *b)
{
    ak_table table;
    ak_roofline_notes notes = {0};
    bool many = b->size_count > 1;
    if (many) {
        ak_table_begin(&table, "size", "configuration", ">id", "status", ">ms", "95 % interval",
                       ">rate", ">roofline", "_", NULL);
    } else {
        ak_table_begin(&table, "configuration", ">id", "status", ">ms", "95 % interval", ">rate",
                       ">roofline", "_", NULL);
    }
    for (size_t s = 0; s < b->begun; s++) {
        for (size_t i = 0; i < b->sizes[s].done; i++) {
            add_row(&table, &notes, &b->sizes[s], i, many);
        }
    }
    const measured *first = &b->sizes[0];
    if (many) {
        for (size_t i = 0; i < first->done; i++) {
            print_config(b, i);
        }
    } else {
        ak_task_print(first->task);
    }
    ak_table_print(&table);
    ak_roofline_say(&notes);
    warn_busy(b);
    if (b->why_not[0] != 0) {
        ak_out("not archived: %s\n", b->why_not);
    }
    for (size_t s = 0; s < b->begun; s++) {
        print_comparison(&b->sizes[s], many);
    }
    ak_out("\n");
    /* Recordings have no libraries, and if all configurations failed, nothing can be compared. */
    if (first->failed < first->done && !ak_device_is_recorded(ak_task_device(first->task))) {
        ak_next_on_task("compare", "libraries, default and best, interleaved", b->args, first->task,
                        false);
    }
}

static json_t *trials_json(const measured *m)
{
    json_t *rows = json_array();
    bool good = true;
    for (size_t i = 0; i < m->done; i++) {
        char *text = NULL;
        json_t *row = NULL;
        ak_status status = ak_trial_json(&text, &m->trials[i], NULL);
        good = ak_out_parse(&row, status, &text, "trial", NULL) == AK_OK &&
               ak_json_set_text(row, "name", m->list[i].name) && good;
        good = ak_json_append(rows, row) && good;
    }
    return ak_json_whole(rows, good);
}

/* Puts the warning that the machine was busy, if any, before the comparison's warnings. Without a
   comparison, adds a list "warnings" of its own, which may be empty. */
static bool add_busy(json_t *to, const measured *m)
{
    json_t *list = json_object_get(to, "warnings");
    return list == NULL
               ? ak_json_set(to, "warnings",
                             m->busy[0] == 0 ? json_array() : json_pack("[s]", m->busy))
               : m->busy[0] == 0 || json_array_insert_new(list, 0, json_string(m->busy)) == 0;
}

/* Adds the members of the comparison that do not describe the task. */
static bool set_comparison(json_t *to, const measured *m)
{
    static const char *const keys[] = {"roofline", "contestants", "reference",
                                       "summary",  "noise",       "warnings"};
    char *text = NULL;
    json_auto_t *object = NULL;
    ak_status status = ak_comparison_json(&text, &m->comparison, m->task, NULL);
    bool good = ak_out_parse(&object, status, &text, "comparison", NULL) == AK_OK;
    for (size_t i = 0; good && i < AK_COUNT(keys); i++) {
        good = ak_json_set(to, keys[i], json_incref(json_object_get(object, keys[i])));
    }
    return good;
}

static json_t *size_json(const measured *m)
{
    json_t *object = json_object();
    bool good =
        object != NULL && ak_task_json(object, m->task) &&
        ak_json_set(object, "configurations", trials_json(m)) &&
        (m->comparison.count == 0 || set_comparison(object, m)) && add_busy(object, m) &&
        ak_json_set(object, "pressure", m->pressure < 0 ? json_null() : json_real(m->pressure));
    return ak_json_whole(object, good);
}

/* Prints the object for the only size or, with several sizes, an object whose member "sizes" lists
   the objects of the sizes begun. */
static ak_status print_json(const bench *b, ak_error *err)
{
    json_auto_t *object = b->size_count == 1 ? size_json(&b->sizes[0]) : json_object();
    json_auto_t *list = json_array();
    for (size_t s = 0; s < b->begun && b->size_count > 1; s++) {
        ak_json_add(&list, size_json(&b->sizes[s]));
    }
    const bool good =
        object != NULL && (b->size_count == 1 || json_object_set(object, "sizes", list) == 0) &&
        (b->why_not[0] == 0 || ak_json_set_text(object, "not_archived", b->why_not)) &&
        ak_out_json(object);
    return ak_stored(good, err);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Archives a trial, unless why_not is set: there is no archive, the trial is on a recording, or an
   earlier trial could not be archived. A failure sets why_not, which is reported with the results,
   and the measurement goes on. */
static void keep(bench *b, const ak_tester *tester, ak_trial *trial)
{
    ak_error err = AK_ERROR_INIT;
    if (b->archive == NULL || b->why_not[0] != 0) {
        return;
    }
    ak_free(trial->strategy);
    trial->strategy = ak_strdup("bench");
    if (trial->strategy == NULL || ak_archive_add_trial(b->archive, trial, &err) != AK_OK ||
        ak_tester_archive(tester, b->archive, &err) != AK_OK) {
        (void)snprintf(b->why_not, sizeof b->why_not, "%s",
                       trial->strategy == NULL ? "there is no memory" : err.text);
    }
}

static ak_status measure_all(bench *b, measured *m, ak_error *err)
{
    ak_tester *tester = NULL;
    ak_status status = AK_OK;
    if (m->invalid < m->count) {
        AK_TRY(ak_tester_open(&tester, m->task, err));
    }
    while (m->done < m->count) {
        if (m->list[m->done].invalid[0] != 0) {
            m->trials[m->done].status = AK_TRIAL_INVALID;
            AK_TRY(ak_copy_text(&m->trials[m->done].reason, m->list[m->done].invalid, err));
            m->done++;
            continue;
        }
        ak_progress_wait wait = {.progress = &b->progress,
                                 .tester = tester,
                                 .name = m->list[m->done].name,
                                 .reference = ak_task_reference(m->task)};
        ak_tester_on_wait(tester, ak_progress_waiting, &wait);
        ak_progress_step(&b->progress, "measuring", m->done, m->count);
        AK_TRY(ak_tester_run(&m->trials[m->done], tester, &m->list[m->done].config, err));
        keep(b, tester, &m->trials[m->done]);
        m->failed += m->trials[m->done].status != AK_TRIAL_OK ? 1 : 0;
        m->done++;
    }
out:
    ak_progress_step(&b->progress, "", 1, 1);
    m->pressure = -1;
    if (tester != NULL) {
        m->pressure = ak_tester_pressure(m->busy, sizeof m->busy, tester);
    }
    ak_tester_close(tester); /* its processes must not run beside the comparison */
    m->cancelled = status == AK_CANCELLED;
    return m->cancelled ? AK_OK : status; /* the trials before the interrupt are shown */
}

/* With --baselines, measures the libraries and those configurations that worked, interleaved,
   unless an interrupt ended the trials early. */
static ak_status compare(bench *b, measured *m, ak_error *err)
{
    ak_config configs[AK_CONFIGS_MAX];
    const char *names[AK_CONFIGS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < m->done; i++) {
        if (m->trials[i].status == AK_TRIAL_OK) {
            configs[count] = m->list[i].config;
            names[count++] = m->list[i].name;
        }
    }
    if (!ak_args_has(b->args, AK_OPTION_BASELINES) || m->done < m->count) {
        return AK_OK;
    }
    const double seconds =
        ak_args_number(b->args, AK_OPTION_TIME, SECONDS_EACH * (double)(count + 2));
    const ak_compare_options options = {
        .configs = configs, .names = names, .count = count, .baselines = true, .seconds = seconds};
    ak_status status = ak_compare(&m->comparison, m->task, &options, err);
    m->cancelled = status == AK_CANCELLED;
    return m->cancelled ? AK_OK : status;
}

static ak_status open_size(bench *b, measured *m, const char *size, ak_error *err)
{
    ak_args args = *b->args;
    args.text[AK_OPTION_SIZE] = size == NULL ? args.text[AK_OPTION_SIZE] : size;
    AK_DO(ak_args_known_task(&m->task, &args, err));
    AK_DO(ak_args_candidates_marked(m->list, &m->count, &args, m->task, err));
    for (size_t i = 0; i < m->count; i++) {
        m->invalid += m->list[i].invalid[0] != 0 ? 1 : 0;
    }
    return AK_OK;
}

/* Opens the task of every size. Refuses a configuration that is valid at none of them, before
   anything is measured. */
static ak_status open_sizes(bench *b, const ak_size_list *sizes, ak_error *err)
{
    for (size_t s = 0; s < b->size_count; s++) {
        AK_DO(open_size(b, &b->sizes[s], sizes->count == 0 ? NULL : sizes->items[s], err));
    }
    for (size_t i = 0; i < b->sizes[0].count; i++) {
        size_t s = 0;
        while (s < b->size_count && b->sizes[s].list[i].invalid[0] != 0) {
            s++;
        }
        if (s == b->size_count) {
            return ak_candidate_refuse(&b->sizes[0].list[i], b->sizes[0].task, err);
        }
    }
    ak_warn_ignored(b->sizes[0].task);
    return AK_OK;
}

static ak_status measure_size(bench *b, measured *m, ak_error *err)
{
    if (ak_device_is_recorded(ak_task_device(m->task))) {
        (void)snprintf(b->why_not, sizeof b->why_not,
                       "a recording was recalled, nothing was measured");
    }
    ak_task_set_cancel(m->task, &ak_interrupted);
    AK_DO(measure_all(b, m, err));
    return compare(b, m, err);
}

static ak_status measure(bench *b, const ak_size_list *sizes, ak_error *err)
{
    AK_DO(open_sizes(b, sizes, err));
    for (size_t s = 0; s < b->size_count; s++) {
        if (s > 0 && b->sizes[s - 1].cancelled) {
            break;
        }
        AK_DO(measure_size(b, &b->sizes[s], err));
        b->begun++;
    }
    return AK_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static ak_status prepare(bench *b, ak_size_list *sizes, ak_error *err)
{
    const ak_args *args = b->args;
    AK_FAIL_IF(ak_args_has(args, AK_OPTION_SIZES) && ak_args_has(args, AK_OPTION_SIZE), err,
               AK_INVALID, "--size and --sizes contradict each other");
    if (ak_args_has(args, AK_OPTION_SIZES)) {
        AK_DO(ak_size_list_read(sizes, args->text[AK_OPTION_SIZES], err));
    }
    b->size_count = sizes->count == 0 ? 1 : sizes->count;
    AK_DO(AK_NEW(b->sizes, b->size_count, err));
    ak_error why = AK_ERROR_INIT;
    if (ak_archive_open(&b->archive, args->text[AK_OPTION_ARCHIVE], &why) != AK_OK) {
        if (why.status == AK_NOT_FOUND) { /* a mistyped path is refused before measuring */
            return ak_fail(err, why.status, "%s", why.text);
        }
        (void)snprintf(b->why_not, sizeof b->why_not, "%s", why.text);
    }
    return ak_progress_open(&b->progress, args, err);
}

/* Fails if a configuration failed or the user interrupted. The results are printed already. */
static ak_status conclude(const bench *b, ak_error *err)
{
    size_t done = 0, wanted = 0, failed = 0;
    bool cancelled = b->begun < b->size_count;
    for (size_t s = 0; s < b->size_count; s++) {
        done += b->sizes[s].done;
        wanted += b->sizes[s].count;
        failed += b->sizes[s].failed;
        cancelled = cancelled || b->sizes[s].cancelled;
    }
    AK_FAIL_IF(cancelled && done == wanted && b->begun == b->size_count, err, AK_CANCELLED,
               "%.80s: interrupted before the libraries were measured", b->args->operand[0]);
    AK_FAIL_IF(cancelled, err, AK_CANCELLED, "%.80s: interrupted after %zu of %zu configuration%s",
               b->args->operand[0], done, wanted, ak_plural(wanted));
    AK_FAIL_IF(failed > 0, err, AK_CRASHED, "%.80s: %zu of %zu configuration%s failed",
               b->args->operand[0], failed, done, ak_plural(done));
    return AK_OK;
}

static int run(const ak_args *args, ak_error *err)
{
    bench b = {.args = args};
    ak_size_list sizes = {0};
    ak_catch_interrupts();
    ak_status status = AK_OK;
    AK_TRY(prepare(&b, &sizes, err));
    AK_TRY(measure(&b, &sizes, err));
    if (ak_args_has(args, AK_OPTION_JSON)) {
        AK_TRY(print_json(&b, err));
    } else {
        print(&b);
    }
    AK_TRY(conclude(&b, err));
out:
    for (size_t s = 0; b.sizes != NULL && s < b.size_count; s++) {
        AK_CLEAR_EACH(ak_trial_clear, b.sizes[s].trials, AK_CONFIGS_MAX);
        ak_comparison_clear(&b.sizes[s].comparison);
        ak_task_close(b.sizes[s].task);
    }
    ak_free(b.sizes);
    ak_size_list_free(&sizes);
    ak_archive_close(b.archive);
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_error(err);
}

const ak_command ak_cmd_bench = {
    .name = "bench",
    .summary = "measure configurations and libraries, at one size or several",
    .operands = "KERNEL",
    .least = 1,
    .most = 1,
    .options = AK_O_TASK | AK_O_RUN | AK_O(SIZES) | AK_O(LIBRARIES) | AK_O(PROTOCOL) |
               AK_O(CONFIG) | AK_O(BASELINES) | AK_O(TIME) | AK_O(ARCHIVE) | AK_O(JSON) |
               AK_O(QUIET) | AK_O(HELP),
    .about =
        "Checks and measures each --config, or the default configuration without any; with "
        "--sizes, at each size. A file that 'autokernel export' wrote, or a trial ('#5'), also "
        "gives the size, type and options of the problem if they are not given here. If several "
        "implementations exist, the one with the best archived result is used. A configuration "
        "that is not valid at one of several sizes is not measured there, and its row says why.\n\n"
        "The results are archived. --baselines adds an interleaved comparison with the libraries; "
        "--libraries, --protocol and --time say how it is made. It is not archived, because its "
        "ratios hold only within it.",
    .examples = "  autokernel bench matmul --size 64\n"
                "  autokernel bench matmul --size 64 --config default --config KC=128 --baselines\n"
                "  autokernel bench matmul --sizes '64;96;128' --config KC=128\n"
                "  autokernel bench matmul --config @best_config.json\n",
    .run = run,
};
