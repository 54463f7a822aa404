#include "cli/search_args.h"

#include "base/device_name.h"
#include "base/fs.h"
#include "base/shell.h"
#include "cli/options.h"
#include "cli/output.h"

#define COMMAND_BYTES_MAX (64u << 10)

/* Adds a word of the command line. If a recording is used, folders are left out ("sim:/tmp/a.json"
   becomes "sim:a.json"), so that the same study gives the same bytes on every machine. */
static void put_word(ak_buf *out, const char *word, bool simulated)
{
    const char *slash = simulated ? strrchr(word, '/') : NULL;
    size_t before = slash == NULL ? 0 : strcspn(word, ":=/");
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(COMMAND_BYTES_MAX);
    if (slash == NULL) {
        before = 0;
        slash = word;
    } else {
        before = word[before] == '/' ? 0 : before + 1;
        slash++;
    }
    ak_buf_print(&text, "%.*s%s", (int)before, word, slash);
    ak_shell_quote(out, text.data);
}

bool ak_study_of_file(const ak_args *args)
{
    json_auto_t *file = NULL;
    if (!ak_fs_is_file(args->operand[0])) {
        return false;
    }
    const bool is_kernel = ak_json_read(&file, args->operand[0], NULL) == AK_OK &&
                           json_is_object(json_object_get(file, "KernelSpecification"));
    return !is_kernel;
}

void ak_keep_study(const ak_args *args, const char *kind, json_t *result)
{
    ak_error err = AK_ERROR_INIT;
    AK_AT_END(ak_archive_close_at) ak_archive *archive = NULL;
    AK_AT_END(ak_text_free_at) char *text = NULL;
    AK_AT_END(ak_buf_free) ak_buf command = AK_BUF(COMMAND_BYTES_MAX);
    ak_status status = AK_OK;
    const char *device = args->text[AK_OPTION_DEVICE];
    bool simulated = ak_study_of_file(args) || ak_device_is_recorded(device);
    ak_buf_print(&command, "autokernel %s", kind);
    for (int i = 0; i < args->word_count; i++) {
        ak_buf_putc(&command, ' ');
        put_word(&command, args->words[i], simulated);
    }
    AK_TRY(ak_buf_status(&command, &err));
    AK_TRY(ak_stored(ak_json_set_text(result, "command", command.data), &err));
    AK_TRY(ak_json_text(&text, result, &err));
    AK_TRY(ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], &err));
    AK_TRY(ak_archive_add_study(archive, kind, text, &err));
out:
    if (status != AK_OK) {
        ak_warn("the dashboard will not show this %s: %s", kind, err.text);
    }
}

ak_status ak_study_format(const ak_args *args, const char *kind, const char *const *formats,
                          ak_error *err)
{
    const char *format = args->text[AK_OPTION_FORMAT];
    AK_AT_END(ak_buf_free) ak_buf known = AK_BUF(256);
    if (format == NULL || ak_text_is_one_of(format, formats)) {
        return AK_OK;
    }
    for (size_t i = 0; formats[i] != NULL; i++) {
        ak_buf_print(&known, "%s%s",
                     i == 0                   ? ""
                     : formats[i + 1] == NULL ? " or "
                                              : ", ",
                     formats[i]);
    }
    return ak_fail(err, AK_INVALID, "%s: there is no format \"%.40s\"; choose %s", kind, format,
                   known.failed == AK_OK ? known.data : "another");
}

bool ak_study_asks(const ak_args *args, const char *format)
{
    const char *asked = args->text[AK_OPTION_FORMAT];
    return (asked != NULL && strcmp(asked, format) == 0) ||
           (strcmp(format, "json") == 0 && ak_args_has(args, AK_OPTION_JSON));
}

ak_status ak_study_print_page(const char *kind, const json_t *result, ak_error *err)
{
    AK_AT_END(ak_text_free_at) char *text = NULL, *page = NULL;
    AK_DO(ak_json_text(&text, result, err));
    AK_DO(ak_study_page(&page, kind, text, err));
    ak_out_whole(page);
    return AK_OK;
}
