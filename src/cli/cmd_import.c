/* cmd_import.c: adds the trials of a file to the archive. */
#include "cli/formats.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task_args.h"

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    const char *format = NULL; /* NULL: the contents of the file decide */
    const char *path = args->operand[0];
    size_t added = 0, known = 0;
    ak_status status = AK_OK;
    if (ak_args_has(args, AK_OPTION_FORMAT)) {
        status = ak_format_named(&format, args->text[AK_OPTION_FORMAT], &err);
    }
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
    .about = "Reads one of the formats csv, json, kernels, kernel-tuner and t4; the file may be "
             "compressed with gzip. Its contents decide on the format, unless --format names one. "
             "All trials of the file are added or none; trials that the archive already has are "
             "skipped.",
    .examples = "  autokernel export matmul --format csv --output matmul.csv\n"
                "  autokernel import matmul.csv --archive copy.db\n"
                "  autokernel export matmul --format json --output matmul.json\n"
                "  autokernel import matmul.json --archive copy2.db\n",
    .run = run,
};
