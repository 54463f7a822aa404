/* cmd_export.c: writes best_config.json, trials of the archive in another format, the space of a
   task, or a bundle. */

#include "base/device_name.h"
#include "base/fs.h"
#include "base/shell.h"
#include "cli/outdated.h"
#include "cli/options.h"
#include "cli/target.h"

/* Returns whether the results in a file come from a recording, on which nothing can be measured. */
static bool is_simulated(const char *path)
{
    json_auto_t *document = NULL;
    return ak_json_read(&document, path, NULL) == AK_OK &&
           ak_device_is_recorded(ak_json_text_at(document, "device"));
}

/* Adds the first size of a dispatch table as --size: the kernel's default size may be far from all
   sizes of the table. */
static void add_first_size(ak_buf *command, const char *path)
{
    json_auto_t *document = NULL;
    const char *before = " --size ";
    if (ak_json_read(&document, path, NULL) != AK_OK) {
        return;
    }
    json_t *first = json_array_get(json_object_get(document, "sizes"), 0);
    AK_EACH_MEMBER(name, value, json_object_get(first, "size")) {
        ak_buf_print(command, "%s%s=%lld", before, name, (long long)json_integer_value(value));
        before = ",";
    }
}

/* Says what was written. `notes` is a list of texts; NULL: files of this format have no notes. */
static int tell(const ak_args *args, const char *format, const char *path, json_t *notes)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        json_auto_t *object = json_pack("{s:s, s:o, s:O*}", "format", format, "path",
                                        ak_json_shown(path), "notes", notes);
        return ak_out_json(object) ? AK_EXIT_DONE : AK_EXIT_FAILED;
    }
    ak_out("wrote %s\n", path);
    return AK_EXIT_DONE;
}

/* Suggests measuring an exported best or dispatch file again, unless its times come from a
   recording. `place` is the path or name of the kernel from here; NULL: it cannot be found. */
static void suggest(const ak_args *args, const char *place, const char *format, const char *path)
{
    bool measurable = strcmp(format, "best") == 0 || strcmp(format, "dispatch") == 0;
    if (!measurable || place == NULL || ak_args_has(args, AK_OPTION_JSON) || is_simulated(path)) {
        return;
    }
    AK_AT_END(ak_buf_free) ak_buf command = AK_BUF(4 * AK_PATH_MAX);
    ak_buf_puts(&command, "bench ");
    ak_shell_quote(&command, place);
    ak_buf_puts(&command, " --config @");
    ak_shell_quote(&command, path);
    if (strcmp(format, "dispatch") == 0) {
        add_first_size(&command, path);
    }
    if (ak_buf_status(&command, NULL) == AK_OK) {
        ak_out_next(command.data, "measure it again");
    }
}

/* Writes the description of a task, for which no archive is needed, to a file or, if `path` is "-",
   to standard output. */
static int export_task(const char *format, const char *path, const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_OR_COMPLAIN(ak_args_look(&task, args, err));
    AK_OR_COMPLAIN(ak_target_of_export(path, ak_problem_name(ak_task_problem(task)), args, err));
    AK_OR_COMPLAIN(ak_task_export(task, format, path, err));
    return strcmp(path, "-") == 0 ? AK_EXIT_DONE : tell(args, format, path, NULL);
}

/* Reads the id of the trial in a --config such as "#5"; 0 without --config. */
static ak_status read_trial(int64_t *out, const ak_args *args, ak_error *err)
{
    *out = 0;
    if (args->config_count == 0) {
        return AK_OK;
    }
    AK_FAIL_IF(args->config_count > 1 || args->config[0][0] != '#' ||
                   !ak_text_int(out, args->config[0] + 1) || *out < 1,
               err, AK_INVALID,
               "--config %.60s: a bundle is of one trial, by its id, such as '#5'; "
               "'autokernel history' shows them",
               args->config[0]);
    AK_FAIL_IF(ak_args_has(args, AK_OPTION_TABLE), err, AK_INVALID,
               "--config and --table contradict each other");
    return AK_OK;
}

/* If several tasks of the archive match the options, narrows the filter to the task that
   `autokernel tune KERNEL` works on. *out is the best trial that matches then (ak_trial_clear). The
   filter may borrow texts from *task, which the caller closes; NULL: it was not needed. */
static ak_status narrow(ak_trial *out, ak_task **task, ak_archive_filter *filter,
                        const ak_selection *selection, const ak_args *args, ak_error *err)
{
    *filter = selection->filter;
    ak_status status = ak_archive_best(out, selection->archive, filter, err);
    if (status != AK_INVALID || ak_args_task(task, args, NULL) != AK_OK) {
        return status;
    }
    filter->implementation = ak_task_implementation(*task);
    filter->device = ak_task_device(*task);
    filter->size = ak_task_size(*task);
    filter->dtype = ak_task_dtype(*task);
    filter->choices = ak_task_choices(*task);
    return ak_archive_best(out, selection->archive, filter, NULL) == AK_OK ? AK_OK : err->status;
}

/* Names the settings that hide trials if `status` says that nothing matched. */
static void say_settings(ak_status status, const ak_selection *selection, const ak_args *args)
{
    if (status == AK_NOT_FOUND && selection->archive != NULL) {
        ak_selection_say_settings(selection, args);
    }
}

/* The context of the functions that the export of a bundle calls. */
typedef struct exporting {
    json_t *notes;
    const char *kernel;
    const ak_args *args;
} exporting;

/* Prints a note of the bundle and adds it to a list of texts. */
static void say_note(void *context, const char *line)
{
    const exporting *e = context;
    ak_warn("%s", line);
    (void)ak_json_append(e->notes, json_string(line));
}

static ak_status look_at_target(void *context, const char *folder, const char *name,
                                const void *data, size_t length, ak_error *err)
{
    const exporting *e = context;
    const ak_content content = {data, length};
    return ak_target_in_bundle(folder, name, &content, e->kernel, e->args, err);
}

/* Makes the filter select only the run whose table is shipped. Otherwise a run that ends while the
   bundle is compiled could be taken for that run afterwards. *table owns the filter's text. */
static ak_status choose_table(json_t **table, ak_archive_filter *filter, ak_archive *archive,
                              ak_error *err)
{
    char *text = NULL;
    AK_DO(ak_out_parse(table, ak_archive_export_text(&text, archive, filter, "dispatch", err),
                       &text, "dispatch table", err));
    filter->run = ak_json_text_at(*table, "run");
    return AK_OK;
}

static int export_bundle(const char *format, const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_selection_close) ak_selection selection = {0};
    ak_archive_filter filter = {0};
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_trial_clear) ak_trial best = {0};
    AK_AT_END(ak_text_free_at) char *path = NULL;
    json_auto_t *notes = json_array(), *table = NULL;
    exporting e = {.notes = notes, .args = args};
    const char *target = args->text[AK_OPTION_OUTPUT];
    ak_bundle_request request = {.kernel = args->operand[0],
                                 .filter = &filter,
                                 .table = ak_args_has(args, AK_OPTION_TABLE),
                                 .note = say_note,
                                 .before = look_at_target,
                                 .context = &e};
    const ak_outdated_to to = ak_outdated_on(args, true);
    int code = AK_EXIT_FAILED;
    ak_status status = AK_OK;
    AK_TRY(ak_made(notes, err));
    AK_TRY(read_trial(&request.trial, args, err));
    AK_TRY(ak_selection_open(&selection, args, err));
    filter = selection.filter;
    e.kernel = selection.kernel;
    if (!request.table && request.trial == 0) {
        status = narrow(&best, &task, &filter, &selection, args, err);
        const ak_error one = *err;
        if (status == AK_INVALID && strstr(one.text, "choose one size (--size)") != NULL) {
            (void)ak_fail(err, status, "%s, or those of the latest 'tune --sizes' (--table)",
                          one.text);
        }
        AK_TRY(status);
    }
    AK_TRY(target == NULL ? AK_OK : ak_target_of_export(target, selection.kernel, args, err));
    AK_TRY(request.table ? choose_table(&table, &filter, selection.archive, err) : AK_OK);
    AK_TRY(ak_bundle_export(&path, selection.archive, &request, format, target, err));
    code = strcmp(path, "-") == 0 ? AK_EXIT_DONE : tell(args, format, path, notes);
    const ak_archive_filter shipped = {
        .run = request.table ? filter.run : NULL,
        .id = request.table ? 0
              : best.id > 0 ? best.id
                            : request.trial,
    };
    AK_TRY(ak_say_changed_matching(selection.archive, &shipped, &to, err));
out:
    if (status != AK_OK) {
        code = ak_complain_none(err, selection.archive == NULL || request.trial > 0);
        say_settings(status, &selection, args);
    }
    return code;
}

/* Writes trials, or a choice from them, to a file or to standard output. The text is made first, so
   that a failure leaves an existing file as it is. */
static int export_trials(const char *format, const char *path, const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_selection_close) ak_selection selection = {0};
    ak_archive_filter filter = {0};
    AK_AT_END(ak_task_close_at) ak_task *task = NULL;
    AK_AT_END(ak_trial_clear) ak_trial best = {0};
    AK_AT_END(ak_text_free_at) char *text = NULL;
    const ak_outdated_to to = ak_outdated_on(args, true);
    int code = AK_EXIT_DONE;
    ak_status status = AK_OK;
    const bool one = strcmp(format, "best") == 0, to_file = strcmp(path, "-") != 0;
    const bool table = strcmp(format, "dispatch") == 0;
    AK_TRY(ak_selection_open(&selection, args, err));
    filter = selection.filter;
    if (one) {
        AK_TRY(narrow(&best, &task, &filter, &selection, args, err));
    }
    AK_TRY(ak_archive_export_text(&text, selection.archive, &filter, format, err));
    if (to_file) {
        AK_TRY(ak_target_of_export(path, selection.kernel, args, err));
        AK_TRY(one || table ? ak_target_of_task(path, text, args, err) : AK_OK);
        AK_TRY(ak_fs_write(path, text, strlen(text), err));
        code = tell(args, format, path, NULL);
    } else {
        ak_out_whole(text);
    }
    if (one && to_file && !ak_args_has(args, AK_OPTION_JSON)) {
        AK_TRY(ak_say_environment(selection.archive, &best, err));
        ak_say_imported(selection.archive, &best, 1);
    }
    AK_TRY(one     ? ak_say_changed(selection.archive, &best, 1, &to, err)
           : table ? ak_say_changed_table(selection.archive, text, &to, err)
                   : ak_say_changed_matching(selection.archive, &filter, &to, err));
    if (to_file) {
        suggest(args, selection.place, format, path);
    }
out:
    if (status != AK_OK) {
        code = ak_complain_none(err, selection.archive == NULL);
        say_settings(status, &selection, args);
    }
    return code;
}

/* Returns "bundle" for a file name that ends in ".akb" and "csv" for one that ends in ".csv"; for
   others, and for NULL, "best", because several formats are JSON. */
static const char *format_of_name(const char *path)
{
    const char *end = path == NULL ? NULL : strrchr(path, '.');
    return end != NULL && strcmp(end, ".akb") == 0   ? "bundle"
           : end != NULL && strcmp(end, ".csv") == 0 ? "csv"
                                                     : "best";
}

/* Refuses a file name that stands for another format, as in `--format csv --output best.json`. */
static ak_status check_name(const char *format, const ak_args *args, ak_error *err)
{
    static const ak_ending endings[] = {
        {"akb", {"bundle"}},
        {"csv", {"csv"}},
        {"json", {"best", "dispatch", "json", "kernels", "kernel-tuner", "t4", "t1"}},
        {"py", {"triton"}},
        {"html", {NULL}},
        {"md", {NULL}}};
    return ak_target_of_format(args->text[AK_OPTION_OUTPUT], format,
                               ak_args_has(args, AK_OPTION_FORMAT) ? "--format" : NULL, endings,
                               AK_COUNT(endings), err);
}

static int run(const ak_args *args, ak_error *err)
{
    const char *format = NULL;
    const char *path = args->text[AK_OPTION_OUTPUT];
    const char *wanted = args->text[AK_OPTION_FORMAT];
    AK_OR_COMPLAIN(ak_format_named(&format, wanted == NULL ? format_of_name(path) : wanted, err));
    AK_OR_COMPLAIN(check_name(format, args, err));
    if (path == NULL) {
        path = strcmp(format, "best") == 0       ? "best_config.json"
               : strcmp(format, "dispatch") == 0 ? "dispatch.json"
                                                 : "-";
    }
    ak_format_content holds;
    AK_OR_COMPLAIN(ak_format_holds(&holds, format, err));
    if (holds == AK_FORMAT_BUNDLE) {
        return export_bundle(format, args, err);
    }
    AK_OR_COMPLAIN(
        ak_args_refuse(args, AK_O(TABLE) | AK_O(CONFIG), "is for bundles (--format bundle)", err));
    return holds == AK_FORMAT_TASK ? export_task(format, path, args, err)
                                   : export_trials(format, path, args, err);
}

const ak_command ak_cmd_export = {
    .name = "export",
    .summary = "write the winner as a bundle or best_config.json; trials as CSV, JSON and more",
    .operands = "KERNEL",
    .least = 1,
    .most = 1,
    .options = AK_O_FILTER | AK_O(FORMAT) | AK_O(OUTPUT) | AK_O(CONFIG) | AK_O(TABLE) |
               AK_O(FORCE) | AK_O(JSON) | AK_O(HELP),
    .about = "Writes one of these formats: best (the default, to best_config.json), dispatch (the "
             "choice of 'tune --sizes', to dispatch.json), csv, json, kernels, kernel-tuner, t4, "
             "t1 (the space of a task, for other tuners) and triton (a list of triton.Config). The "
             "last seven go to standard output unless --output names a file. Without --format, a "
             "name in .csv or .akb (bundle) chooses the format.\n\n"
             "A file is written whole or not at all. One that exists and that export did not write "
             "for this kernel (best and dispatch: for this size, type and device) is replaced only "
             "with --force. A kernel that has changed since it "
             "was measured is named in a warning. If the archive has several sizes or types and no "
             "option selects one, best takes the size and type that 'autokernel tune KERNEL' "
             "tunes.\n\n"
             "bundle compiles the winner, the trial that --config '#5' names or, with --table, the "
             "choice of 'tune --sizes', and writes KERNEL_TYPE.akb: one file that runs without "
             "autokernel. It writes a folder if --output is one or ends in '/'. c writes the same "
             "as C source: a .c file, a .h file and a test. docs/shipping.md says how to use them.",
    .examples = "  autokernel export matmul\n"
                "  autokernel export matmul --size M=512,N=512,K=512 --output best512.json\n"
                "  autokernel export matmul --format dispatch\n"
                "  autokernel export matmul --format bundle\n"
                "  autokernel export matmul --format csv --output matmul.csv\n",
    .run = run,
};
