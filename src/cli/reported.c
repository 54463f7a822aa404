#include "base/charset.h"
#include "base/fs.h"
#include "cli/options.h"
#include "cli/target.h"
#include "cli/task_args.h"

static const char *const formats[] = {"text", "md", "csv", "json", "html", NULL};
enum { ENDINGS = AK_COUNT(formats) - 1 };

static ak_status refuse_format(const char *what, const char *word, ak_error *err)
{
    char hint[120];
    ak_hint(hint, sizeof hint, word, formats, "reports are text, md, csv, json or html");
    return ak_fail(err, AK_INVALID, "%.200sthere is no report format '%.60s'; %s", what, word,
                   hint);
}

/* Finds the format that a file name's ending names, "html" for report.html; "text" for .txt, a name
   without an ending, and NULL. */
static ak_status format_of_name(const char **out, const char *path, ak_error *err)
{
    const char *base = path == NULL ? "" : ak_fs_base(path), *end = strrchr(base, '.');
    *out = "text";
    if (end == NULL || end == base || end[1] == 0 || strcmp(end, ".txt") == 0) {
        return AK_OK;
    }
    const size_t i = AK_FIND_TEXT(formats, ENDINGS, end + 1);
    if (i == ENDINGS) {
        char what[210];
        (void)snprintf(what, sizeof what, "%.200s: ", base);
        return refuse_format(what, end + 1, err);
    }
    *out = formats[i];
    return AK_OK;
}

/* Refuses a file name that stands for another format, as in `--json --output report.html`. */
static ak_status check_name(const char *format, const ak_args *args, ak_error *err)
{
    static const ak_ending endings[] = {{"text", {"text"}},
                                        {"md", {"md"}},
                                        {"csv", {"csv"}},
                                        {"json", {"json"}},
                                        {"html", {"html"}}};
    return ak_target_of_format(args->text[AK_OPTION_OUTPUT], format,
                               ak_args_has(args, AK_OPTION_JSON) ? "--json" : "--format", endings,
                               AK_COUNT(endings), err);
}

static ak_status choose_format(const char **out, const ak_args *args, ak_error *err)
{
    const char *wanted = args->text[AK_OPTION_FORMAT];
    if (wanted == NULL) {
        *out = "json";
        AK_DO(ak_args_has(args, AK_OPTION_JSON)
                  ? AK_OK
                  : format_of_name(out, args->text[AK_OPTION_OUTPUT], err));
        return check_name(*out, args, err);
    }
    AK_FAIL_IF(ak_args_has(args, AK_OPTION_JSON) && strcmp(wanted, "json") != 0, err, AK_INVALID,
               "--json and --format %.40s contradict each other", wanted);
    *out = wanted;
    if (ak_text_is_one_of(wanted, formats)) {
        return check_name(wanted, args, err);
    }
    return refuse_format("", wanted, err);
}

int ak_reported(const ak_args *args, const char *a, const char *b, bool versions, ak_error *err)
{
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    AK_AT_END(ak_text_free_at) char *text = NULL, *id = NULL, *beside = NULL;
    char with_width[32];
    const char *format = "text", *path = args->text[AK_OPTION_OUTPUT];
    const bool to_file = path != NULL && strcmp(path, "-") != 0;
    ak_status status = AK_OK;
    AK_TRY(choose_format(&format, args, err));
    AK_TRY(ak_args_archive(&archive, args, err));
    if (strcmp(format, "text") == 0) {
        /* In a pipe or a file a report is folded only if COLUMNS sets the width. */
        size_t width = to_file ? 0 : ak_columns(stdout);
        width = width == 0 ? ak_columns_wanted() : width;
        (void)snprintf(with_width, sizeof with_width, "text:%zu", width);
        format = with_width;
    }
    AK_TRY(a == NULL ? AK_OK : ak_archive_find_run(&id, archive, a, err));
    AK_TRY(b == NULL ? AK_OK : ak_archive_find_run(&beside, archive, b, err));
    AK_TRY(versions    ? ak_report_versions(&text, archive, id, format, err)
           : b == NULL ? ak_report(&text, archive, id, format, err)
                       : ak_report_versus(&text, archive, id, beside, format, err));
    if (strncmp(format, "text", 4) == 0 || strcmp(format, "md") == 0) {
        ak_charset_fit(text); /* JSON, CSV and pages are UTF-8 everywhere */
    }
    if (to_file) {
        AK_TRY(ak_target_of_report(path, args, err));
        AK_TRY(ak_fs_write(path, text, strlen(text), err));
        ak_out("wrote %s\n", path);
    } else {
        size_t length = strlen(text);
        ak_out_whole(text);
        ak_out_whole(length > 0 && text[length - 1] == '\n' ? "" : "\n");
    }
out:
    return status == AK_OK ? AK_EXIT_DONE : ak_complain_none(err, archive == NULL || a != NULL);
}
