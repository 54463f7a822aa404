/* cmd_report.c: what happened in a run. */
#include <string.h>

#include "base/fs.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/task_args.h"

static const char *const formats[] = {"text", "md", "csv", "json", NULL};

static ak_status choose_format(const char **out, const ak_args *args, ak_error *err)
{
    const char *wanted = args->text[AK_OPTION_FORMAT];
    if (wanted == NULL) {
        *out = ak_args_has(args, AK_OPTION_JSON) ? "json" : "text";
        return AK_OK;
    }
    if (ak_args_has(args, AK_OPTION_JSON) && strcmp(wanted, "json") != 0) {
        return ak_fail(err, AK_INVALID, "--json and --format %.40s contradict each other", wanted);
    }
    for (size_t i = 0; formats[i] != NULL; i++) {
        if (strcmp(formats[i], wanted) == 0) {
            *out = formats[i];
            return AK_OK;
        }
    }
    char hint[120];
    ak_hint(hint, sizeof hint, wanted, formats, "reports are text, md, csv or json");
    return ak_fail(err, AK_INVALID, "there is no report format '%.60s'; %s", wanted, hint);
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    char *text = NULL;
    const char *format = "text", *path = args->text[AK_OPTION_OUTPUT];
    const char *id = args->operand_count > 0 ? args->operand[0] : args->text[AK_OPTION_RUN];
    ak_status status = choose_format(&format, args, &err);
    if (status == AK_OK && args->operand_count > 0 && ak_args_has(args, AK_OPTION_RUN)) {
        status = ak_fail(&err, AK_INVALID, "report is of one run: '%.60s' or --run %.60s, not both",
                         args->operand[0], args->text[AK_OPTION_RUN]);
    }
    if (status == AK_OK) {
        status = ak_args_archive(&archive, args, &err);
    }
    if (status == AK_OK) {
        status = ak_report(&text, archive, id, format, &err);
    }
    bool to_file = path != NULL && strcmp(path, "-") != 0;
    if (status == AK_OK && to_file) {
        status = ak_fs_write(path, text, strlen(text), &err);
    }
    int code = AK_EXIT_DONE;
    if (status != AK_OK) {
        code = ak_complain_error(&err);
        /* An empty archive is no mistake of the user; a run that is not there is. */
        code = err.status == AK_NOT_FOUND && id == NULL ? AK_EXIT_FAILED : code;
    } else if (to_file) {
        ak_out("wrote %s\n", path);
    } else {
        size_t length = strlen(text);
        ak_out("%s%s", text, length > 0 && text[length - 1] == '\n' ? "" : "\n");
    }
    ak_text_free(text);
    ak_archive_close(archive);
    return code;
}

const ak_command ak_cmd_report = {
    .name = "report",
    .summary = "what happened in a run, as text, Markdown, CSV or JSON",
    .operands = "[RUN]",
    .most = 1,
    .options = AK_O(FORMAT) | AK_O(OUTPUT) | AK_O(RUN) | AK_O(ARCHIVE) | AK_O(JSON) | AK_O(HELP),
    .about = "RUN is the identity that 'autokernel tune' prints; without it, the latest run.\n"
             "Formats: text (the default), md, csv, json.",
    .examples = "  autokernel report\n"
                "  autokernel report --format md --output report.md\n"
                "  autokernel report --json\n",
    .run = run,
};
