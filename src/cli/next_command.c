/* next_command.c: suggests what to do next; see task_args.h. */
#include "cli/task_args.h"

#include "base/device_name.h"
#include "base/fs.h"
#include "base/shell.h"
#include "cli/options.h"

#define HINT_BYTES (4 * AK_PATH_MAX)

static void add_option(ak_buf *out, ak_option_id id, const char *value)
{
    ak_buf_print(out, " --%s ", ak_options_all[id].name);
    ak_shell_quote(out, value);
}

/* Adds --archive if it was typed. An archive from a setting is used by the next command anyway. */
static void add_archive(ak_buf *out, const ak_args *args)
{
    if (ak_args_typed(args, AK_OPTION_ARCHIVE)) {
        add_option(out, AK_OPTION_ARCHIVE, args->text[AK_OPTION_ARCHIVE]);
    }
}

/* Prints a suggestion, unless it is too long to be useful or memory is out, and frees it. */
static void suggest(ak_buf *command, const char *why)
{
    if (ak_buf_status(command, NULL) == AK_OK) {
        ak_out_next(command->data, why);
    }
    ak_buf_free(command);
}

/* Appends `words` with `name` in place of "%s", else behind them; NULL: no name. */
static void add_words(ak_buf *out, const char *words, const char *name)
{
    const char *blank = strstr(words, "%s");
    const size_t before = blank == NULL ? strlen(words) : (size_t)(blank - words);
    ak_buf_append(out, words, before);
    if (name != NULL) {
        ak_buf_puts(out, blank == NULL ? " " : "");
        ak_shell_quote(out, name);
    }
    ak_buf_puts(out, blank == NULL ? "" : blank + 2);
}

void ak_next(const char *words, const char *name, const char *why)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    add_words(&command, words, name);
    suggest(&command, why);
}

static void next_on_trials(const char *words, const char *name, bool recorded, const char *why,
                           const ak_args *args)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    add_words(&command, words, name);
    if (recorded) {
        add_option(&command, AK_OPTION_DEVICE, args->text[AK_OPTION_DEVICE]);
    }
    add_archive(&command, args);
    suggest(&command, why);
}

void ak_next_on_archive(const char *words, const char *name, const char *why, const ak_args *args)
{
    next_on_trials(words, name, false, why, args);
}

void ak_next_on_shown(const char *words, const char *name, const char *why, const ak_args *args)
{
    const char *device = ak_or_empty(args->text[AK_OPTION_DEVICE]);
    bool recorded = ak_args_typed(args, AK_OPTION_DEVICE) &&
                    (strcmp(device, "sim") == 0 || ak_device_is_recorded(device));
    next_on_trials(words, name, recorded, why, args);
}

void ak_next_make_some(const ak_selection *selection, const ak_args *args)
{
    const char *place = selection->kernel == NULL ? "matmul" : selection->place;
    if (place != NULL) {
        ak_next_on_archive("tune", place, "make some", args);
    }
}

bool ak_next_import(const ak_archive *archive, const ak_args *args)
{
    const char *left = ak_archive_left(archive);
    if (left != NULL) {
        ak_next_on_archive("import --format json", left, "add what could not be archived", args);
    }
    return left != NULL;
}

void ak_next_resume(const ak_args *args)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    const int end = ak_options_end(args->word_count, args->words);
    ak_buf_puts(&command, "tune");
    for (int i = 0; i <= args->word_count; i++) {
        ak_buf_puts(&command, i == end ? " --resume" : "");
        if (i < args->word_count && (i >= end || strcmp(args->words[i], "--resume") != 0)) {
            ak_buf_putc(&command, ' ');
            ak_shell_quote(&command, args->words[i]);
        }
    }
    suggest(&command, "go on where it was");
}

void ak_next_on_task(const char *verb, const char *why, const ak_args *args, const ak_task *task,
                     bool with_size)
{
    ak_buf command = AK_BUF(HINT_BYTES);
    char command_name[32]; /* the first word of `verb` */
    (void)snprintf(command_name, sizeof command_name, "%.*s", (int)strcspn(verb, " "), verb);
    ak_option_set takes = ak_command_find(command_name)->options;
    bool from_file = false;
    for (size_t i = 0; i < args->config_count; i++) {
        const char *text = args->config[i] + ak_config_prefix(args->config[i]);
        from_file = from_file || text[0] == '@' || text[0] == '#';
    }
    ak_buf_print(&command, "%s ", command_name);
    /* The archive has trials on a recording under the names of the task's kernel and device, so
       export gets these. Other commands open the recording and need operand and --device as
       given. */
    bool recorded = ak_device_is_recorded(ak_task_device(task));
    bool by_name = recorded && strcmp(command_name, "export") == 0;
    const char *device = recorded && !by_name ? args->text[AK_OPTION_DEVICE] : ak_task_device(task);
    ak_shell_quote(&command, by_name ? ak_problem_name(ak_task_problem(task)) : args->operand[0]);
    ak_buf_puts(&command, verb + strlen(command_name));
    const char *fix = args->text[AK_OPTION_FIX];
    const struct {
        ak_option_id id;
        const char *value;
        bool forced;
    } parts[] = {{AK_OPTION_SIZE, ak_task_size(task), with_size || from_file},
                 {AK_OPTION_DTYPE, ak_task_dtype(task), from_file},
                 {AK_OPTION_SET, ak_task_choices(task), from_file},
                 {AK_OPTION_FIX, ak_or_empty(fix), false},
                 {AK_OPTION_IMPL, ak_task_implementation(task), from_file},
                 {AK_OPTION_DEVICE, ak_or_empty(device), from_file},
                 {AK_OPTION_THREADS, args->text[AK_OPTION_THREADS], false}};
    for (size_t i = 0; i < AK_COUNT(parts); i++) {
        bool wanted = parts[i].forced || ak_args_typed(args, parts[i].id);
        if (wanted && parts[i].value[0] != 0 && (takes & AK_O_AT(parts[i].id)) != 0) {
            add_option(&command, parts[i].id, parts[i].value);
        }
    }
    if (ak_args_typed(args, AK_OPTION_ALLOW_NUMERICS) && (takes & AK_O(ALLOW_NUMERICS)) != 0) {
        ak_buf_puts(&command, " --allow-numerics");
    }
    if ((takes & AK_O(ARCHIVE)) != 0) {
        add_archive(&command, args);
    }
    suggest(&command, why);
}
