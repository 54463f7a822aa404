/* cmd_import.c: adds the trials of files, and other archives, to the archive. */
#include "cli/options.h"
#include "cli/task_args.h"

typedef struct tally {
    size_t added, known, files; /* files: number of files that could be added */
    size_t results;             /* runs of the archive that got their result from the files */
    int code;                   /* exit code */
} tally;

/* Adds all files. Complains about each that cannot be added and goes on with the next. */
static void add_files(tally *out, ak_archive *archive, const char *format, const ak_args *args)
{
    for (size_t i = 0; i < args->operand_count; i++) {
        ak_error err = AK_ERROR_INIT;
        size_t added = 0, known = 0;
        ak_status status = ak_check_file(args->operand[i], "a file of trials or an archive", &err);
        if (status == AK_OK) {
            status = ak_archive_import(&added, &known, archive, format, args->operand[i], &err);
        }
        if (status == AK_OK && ak_archive_left_out(archive) != NULL) {
            ak_warn("%s: %s", args->operand[i], ak_archive_left_out(archive));
        }
        const size_t unplaced = status == AK_OK ? ak_archive_unplaced(archive) : 0;
        if (unplaced > 0) {
            ak_warn("%s: %zu trial%s no device, so it is not known where the times hold: 'export' "
                    "refuses a best_config.json of them",
                    args->operand[i], unplaced, unplaced == 1 ? " names" : "s name");
        }
        if (status == AK_OK) {
            out->added += added;
            out->known += known;
            out->results += ak_archive_results_added(archive);
            out->files++;
        } else {
            out->code = ak_complain_error(&err);
        }
    }
}

static bool print_json(const tally *t, const ak_archive *archive)
{
    json_auto_t *object =
        json_pack("{s:I, s:I, s:I, s:I, s:o}", "added", (json_int_t)t->added, "known",
                  (json_int_t)t->known, "results", (json_int_t)t->results, "files",
                  (json_int_t)t->files, "archive", ak_json_shown(ak_archive_path(archive)));
    return ak_out_json(object);
}

static int run(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    const char *format = NULL; /* NULL: the contents of the file decide */
    tally t = {0};
    if (ak_args_has(args, AK_OPTION_FORMAT)) {
        AK_OR_COMPLAIN(ak_format_named(&format, args->text[AK_OPTION_FORMAT], err));
    }
    AK_OR_COMPLAIN(ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], err));
    add_files(&t, archive, format, args);
    if (t.files > 0 && ak_args_has(args, AK_OPTION_JSON)) {
        t.code = print_json(&t, archive) ? t.code : AK_EXIT_FAILED;
    } else if (t.files > 0) {
        ak_out("added %zu trial%s", t.added, ak_plural(t.added));
        if (t.results > 0) {
            ak_out(" and the result%s of %zu run%s", ak_plural(t.results), t.results,
                   ak_plural(t.results));
        }
        ak_out(" to %s", ak_archive_path(archive));
        if (t.known > 0) {
            ak_out("; %zu w%s there already", t.known, t.known == 1 ? "as" : "ere");
        }
        ak_out("\n");
        ak_next_on_archive("stats", NULL, "what is there now", args);
    }
    return t.code;
}

const ak_command ak_cmd_import = {
    .name = "import",
    .summary = "add the trials of files, or other archives, to the archive",
    .operands = "FILE..",
    .least = 1,
    .most = AK_FILES_MAX,
    .options = AK_O(FORMAT) | AK_O(ARCHIVE) | AK_O(JSON) | AK_O(HELP),
    .about =
        "Reads one of the formats csv, json, kernels, kernel-tuner and t4; the file may be "
        "compressed with gzip. Its contents decide on the format, unless --format names one. All "
        "trials of a file are added or none; trials that the archive already has are skipped. A "
        "trial of a Kernel Tuner cache has the median of its \"times\", where 'simulate' takes the "
        "cache's mean \"time\": the two may name different bests.\n\n"
        "A file may also be another archive, as the jobs of a cluster leave them. Then its runs, "
        "environments, sources and conversations are added too. Adding it again adds only what has "
        "come since.",
    .examples = "  autokernel export matmul --format csv --output matmul.csv\n"
                "  autokernel import matmul.csv --archive copy.db\n"
                "  autokernel export matmul --format json --output matmul.json\n"
                "  autokernel import matmul.json --archive copy2.db\n"
                "  autokernel import copy.db copy2.db --archive all.db\n",
    .run = run,
};
