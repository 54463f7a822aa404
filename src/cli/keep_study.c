/* keep_study.c: see keep_study.h. */
#include "cli/keep_study.h"

#include "cli/output.h"
#include "cli/task_args.h"

#define COMMAND_BYTES_MAX (64u << 10)

void ak_keep_study(const ak_args *args, const char *kind, json_t *result)
{
    ak_error err = AK_ERROR_INIT;
    ak_archive *archive = NULL;
    char *text = NULL;
    ak_buf command = AK_BUF(COMMAND_BYTES_MAX);
    ak_status status = AK_OK;
    ak_buf_print(&command, "autokernel %s", kind);
    for (int i = 0; i < args->word_count; i++) {
        ak_buf_putc(&command, ' ');
        ak_quote(&command, args->words[i]);
    }
    AK_TRY(ak_buf_status(&command, &err));
    AK_TRY(ak_json_set_text(result, "command", command.data) ? AK_OK : ak_fail_memory(&err));
    AK_TRY(ak_json_text(&text, result, &err));
    AK_TRY(ak_archive_open(&archive, args->text[AK_OPTION_ARCHIVE], &err));
    AK_TRY(ak_archive_add_study(archive, kind, text, &err));
out:
    if (status != AK_OK) {
        ak_warn("the dashboard will not show this %s: %s", kind, err.text);
    }
    ak_archive_close(archive);
    ak_text_free(text);
    ak_buf_free(&command);
}
