/* cmd_import.c: trials into the archive. */
#include <string.h>

#include "cli/formats.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task_args.h"

/* Without --format the end of the name decides, where it can only mean one. */
static const char *guess(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && strcmp(dot, ".csv") == 0 ? "csv" : NULL;
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    const char *format = NULL;
    const char *path = args->operand[0];
    const char *name =
        ak_args_has(args, AK_OPTION_FORMAT) ? args->text[AK_OPTION_FORMAT] : guess(path);
    size_t added = 0, known = 0;
    ak_status status = name == NULL ? ak_fail(&err, AK_INVALID,
                                              "%.200s: which format? --format csv, json, kernels, "
                                              "kernel-tuner or t4",
                                              path)
                                    : ak_format_named(&format, name, &err);
    if (status == AK_OK) {
        status = ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], &err);
    }
    if (status == AK_OK) {
        status = ak_archive_import(&added, &known, archive, format, path, &err);
    }
    int code = AK_EXIT_DONE;
    if (status != AK_OK) {
        code = ak_complain_error(&err);
    } else if (ak_args_has(args, AK_OPTION_JSON)) {
        json_t *object = json_object();
        bool good = ak_json_set(object, "added", json_integer((json_int_t)added)) &&
                    ak_json_set(object, "known", json_integer((json_int_t)known)) &&
                    ak_json_set_text(object, "archive", ak_archive_path(archive)) &&
                    ak_out_json(object);
        code = good ? AK_EXIT_DONE : AK_EXIT_FAILED;
        json_decref(object);
    } else {
        ak_out("added %zu trial%s to %s", added, ak_plural(added), ak_archive_path(archive));
        if (known > 0) {
            ak_out("; %zu w%s there already", known, known == 1 ? "as" : "ere");
        }
        ak_out("\n");
        ak_next_on_archive("stats", "what is there now", args);
    }
    ak_archive_close(archive);
    return code;
}

const ak_command ak_cmd_import = {
    .name = "import",
    .summary = "add the trials of a file to the archive",
    .operands = "FILE",
    .least = 1,
    .most = 1,
    .options = AK_O(FORMAT) | AK_O(ARCHIVE) | AK_O(JSON) | AK_O(HELP),
    .about = "Formats: csv, json, kernels, kernel-tuner, t4; a name that ends in .csv needs no "
             "--format.\n"
             "All trials of the file are added, or none; those that the archive has already are "
             "passed over.",
    .examples = "  autokernel export matmul --format csv --output matmul.csv\n"
                "  autokernel import matmul.csv --archive copy.db\n"
                "  autokernel export matmul --format json --output matmul.json\n"
                "  autokernel import matmul.json --format json --archive copy2.db\n",
    .run = run,
};
