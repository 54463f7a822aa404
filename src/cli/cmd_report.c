/* cmd_report.c: prints the report of a run, or writes it to a file. */
#include "cli/options.h"
#include "cli/output.h"

static int run(const ak_args *args, ak_error *err)
{
    const char *id = args->operand_count > 0 ? args->operand[0] : args->text[AK_OPTION_RUN];
    if (args->operand_count > 0 && ak_args_has(args, AK_OPTION_RUN)) {
        AK_OR_COMPLAIN(ak_fail(err, AK_INVALID,
                               "report shows one run; give '%.60s' or --run %.60s, not both",
                               args->operand[0], args->text[AK_OPTION_RUN]));
    }
    return ak_reported(args, id, NULL, false, err);
}

const ak_command ak_cmd_report = {
    .name = "report",
    .summary = "report a run, as text, Markdown, CSV, JSON or a page with charts",
    .operands = "[RUN]",
    .most = 1,
    .options = AK_O(FORMAT) | AK_O(OUTPUT) | AK_O(FORCE) | AK_O(RUN) | AK_O(ARCHIVE) | AK_O(JSON) |
               AK_O(HELP),
    .about =
        "RUN is the id that 'autokernel tune' prints, or its first digits, at least 4; 'autokernel "
        "history --runs' lists the ids. Without it the run that was recorded last is reported, be "
        "it of a device or of a recording. Formats: text (the default), md, csv, json, and html: "
        "one file with charts that opens in a browser without a network. Without --format, the end "
        "of the file's name chooses it, as in -o report.html; a name in .txt or without an end is "
        "text. Text has the width of the terminal; "
        "in a pipe or a file it is folded only if the variable COLUMNS says how wide it is to be. "
        "A file that is not a report is replaced only with --force.",
    .examples = "  autokernel report\n"
                "  autokernel report --output report.md\n"
                "  autokernel report --output report.html\n"
                "  autokernel report --json\n",
    .run = run,
};
