/* cmd_export.c: trials out of the archive, above all the best configuration for production. */
#include <string.h>

#include "base/fs.h"
#include "cli/formats.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task_args.h"

/* A table is for the sizes that it has; the kernel's own default need not be near any of them. */
static void add_first_size(ak_buf *command, const char *path)
{
    json_t *document = NULL, *value;
    const char *name, *before = " --size ";
    if (ak_json_read(&document, path, NULL) != AK_OK) {
        return;
    }
    json_t *first = json_array_get(json_object_get(document, "sizes"), 0);
    json_object_foreach(json_object_get(first, "size"), name, value)
    {
        ak_buf_print(command, "%s%s=%lld", before, name, (long long)json_integer_value(value));
        before = ",";
    }
    json_decref(document);
}

static int tell(const ak_args *args, const char *format, const char *path)
{
    if (ak_args_has(args, AK_OPTION_JSON)) {
        json_t *object = json_object();
        bool good = ak_json_set_text(object, "format", format) &&
                    ak_json_set_text(object, "path", path) && ak_out_json(object);
        json_decref(object);
        return good ? AK_EXIT_DONE : AK_EXIT_FAILED;
    }
    ak_out("wrote %s\n", path);
    /* Trials may be of a kernel that is not here, which cannot be measured. */
    ak_problem *problem = NULL;
    bool measurable = strcmp(format, "best") == 0 || strcmp(format, "dispatch") == 0;
    if (measurable && ak_problem_open(&problem, args->operand[0], NULL) == AK_OK) {
        ak_buf command = AK_BUF(4 * AK_PATH_MAX);
        ak_buf_puts(&command, "bench ");
        ak_quote(&command, args->operand[0]);
        ak_buf_puts(&command, " --config @");
        ak_quote(&command, path);
        if (strcmp(format, "dispatch") == 0) {
            add_first_size(&command, path);
        }
        if (ak_buf_status(&command, NULL) == AK_OK) {
            ak_out_next(command.data, "measure it again");
        }
        ak_buf_free(&command);
        ak_problem_close(problem);
    }
    return AK_EXIT_DONE;
}

/* Where the archive has several tasks of the kernel and the options leave it open, the one that
   `autokernel tune KERNEL` works on is meant. `err` holds the complaint about several tasks and
   keeps it if that one is not among them. */
static ak_status export_default(const ak_selection *selection, const char *format, const char *path,
                                const ak_args *args, ak_error *err)
{
    ak_task *task = NULL;
    ak_error second = AK_ERROR_INIT;
    ak_archive_filter filter = selection->filter;
    if (ak_args_task(&task, args, NULL) != AK_OK) {
        return err->status;
    }
    filter.implementation = ak_task_implementation(task);
    filter.device = ak_task_device(task);
    filter.size = ak_task_size(task);
    filter.dtype = ak_task_dtype(task);
    filter.choices = ak_task_choices(task);
    ak_status status = ak_archive_export(selection->archive, &filter, format, path, &second);
    ak_task_close(task);
    if (status == AK_NOT_FOUND) {
        return err->status;
    }
    *err = second;
    return status;
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_selection selection = {0};
    const char *format = NULL;
    const char *path = args->text[AK_OPTION_OUTPUT];
    ak_status status = ak_format_named(
        &format, ak_args_has(args, AK_OPTION_FORMAT) ? args->text[AK_OPTION_FORMAT] : "best", &err);
    if (status != AK_OK) {
        return ak_complain_error(&err);
    }
    if (path == NULL) {
        path = strcmp(format, "best") == 0       ? "best_config.json"
               : strcmp(format, "dispatch") == 0 ? "dispatch.json"
                                                 : "-";
    }
    int code;
    if (ak_selection_open(&selection, args, &err) != AK_OK) {
        return ak_complain_error(&err);
    }
    status = ak_archive_export(selection.archive, &selection.filter, format, path, &err);
    if (status == AK_INVALID && strcmp(format, "best") == 0) {
        status = export_default(&selection, format, path, args, &err);
    }
    if (status == AK_OK) {
        code = strcmp(path, "-") == 0 ? AK_EXIT_DONE : tell(args, format, path);
    } else {
        code = ak_complain_error(&err);
        /* The question was right; the archive has no answer yet. */
        code = status == AK_NOT_FOUND ? AK_EXIT_FAILED : code;
    }
    ak_selection_close(&selection);
    return code;
}

const ak_command ak_cmd_export = {
    .name = "export",
    .summary = "write best_config.json, or trials as CSV, JSON and more",
    .operands = "KERNEL",
    .least = 1,
    .most = 1,
    .options = AK_O_FILTER | AK_O(FORMAT) | AK_O(OUTPUT) | AK_O(JSON) | AK_O(HELP),
    .about =
        "Formats: best (the default, to best_config.json), dispatch (what 'tune --sizes' chose, "
        "to\n"
        "dispatch.json), csv, json, kernels, kernel-tuner, t4; these go to standard output unless\n"
        "--output names a file. A file is written whole or not at all. Where the archive has "
        "several\n"
        "sizes or types and the options leave it open, best takes the size and type that\n"
        "'autokernel tune KERNEL' works on.",
    .examples = "  autokernel export matmul\n"
                "  autokernel export matmul --size M=512,N=512,K=512 --output best512.json\n"
                "  autokernel export matmul --format dispatch\n"
                "  autokernel export matmul --format csv --output matmul.csv\n",
    .run = run,
};
