/* cmd_best.c: shows the best configuration for each kernel, implementation, device, size, dtype and
   set of options. */

#include "base/device_name.h"
#include "base/fs.h"
#include "base/shell.h"
#include "cli/outdated.h"
#include "cli/options.h"
#include "cli/trial_table.h"

/* Suggests the export of the first row. If other rows have the same kernel and size, the suggested
   command also names dtype, options, implementation and device. Else it names those of the four
   that were typed, because other trials would match without them, and the device if that is a
   recording. Nothing is suggested for a trial without a device, nor for an imported trial without a
   size if its kernel has other rows, because --size cannot select such a trial. */
static void print_next(const ak_trial *list, size_t count, const ak_args *args)
{
    const ak_trial *first = &list[0];
    size_t same = 0;
    for (size_t i = 0; i < count; i++) {
        same += strcmp(ak_or_empty(first->kernel), ak_or_empty(list[i].kernel)) == 0 &&
                (ak_or_empty(first->size)[0] == 0 ||
                 strcmp(ak_or_empty(first->size), ak_or_empty(list[i].size)) == 0);
    }
    const struct {
        const char *option, *value;
        bool wanted;
    } parts[] = {
        {"size", ak_or_empty(first->size), true},
        {"dtype", ak_or_empty(first->dtype), same > 1 || ak_args_typed(args, AK_OPTION_DTYPE)},
        {"set", ak_or_empty(first->choices), same > 1 || ak_args_typed(args, AK_OPTION_SET)},
        {"impl", ak_or_empty(first->implementation),
         same > 1 || ak_args_typed(args, AK_OPTION_IMPL)},
        {"device", ak_or_empty(first->device),
         same > 1 || ak_args_typed(args, AK_OPTION_DEVICE) || ak_device_is_recorded(first->device)},
        {"run", ak_or_empty(args->text[AK_OPTION_RUN]), true}};
    AK_AT_END(ak_buf_free) ak_buf command = AK_BUF(4 * AK_PATH_MAX);
    ak_buf_puts(&command, "export ");
    ak_shell_quote(&command,
                   args->operand_count > 0 ? args->operand[0] : ak_or_empty(first->kernel));
    for (size_t i = 0; i < AK_COUNT(parts); i++) {
        if (parts[i].wanted && parts[i].value[0] != 0) {
            ak_buf_print(&command, " --%s ", parts[i].option);
            ak_shell_quote(&command, parts[i].value);
        }
    }
    bool tellable = ak_or_empty(first->device)[0] != 0 && /* else export refuses it */
                    (same == 1 || ak_or_empty(first->size)[0] != 0);
    if (tellable && ak_buf_status(&command, NULL) == AK_OK) {
        ak_next_on_archive(command.data, NULL, "write best_config.json", args);
    }
}

static ak_status print_table(const ak_trial *list, size_t count, size_t all,
                             const ak_selection *selection, const ak_args *args, ak_error *err)
{
    ak_table table;
    ak_roofline_notes notes = {0};
    ak_best_begin(&table);
    for (size_t i = 0; i < count; i++) {
        ak_best_row(&table, &notes, &list[i]);
    }
    ak_table_print(&table);
    ak_roofline_say(&notes);
    ak_status status = AK_OK;
    for (size_t i = 0; i < count; i++) {
        AK_TRY(ak_trial_say_undecided(selection->archive, &list[i], err));
    }
    for (size_t i = 0; i < count; i++) {
        AK_TRY(ak_say_environment(selection->archive, &list[i], err));
    }
    ak_say_imported(selection->archive, list, count);
    ak_selection_say_hidden(selection);
    const ak_outdated_to to = ak_outdated_on(args, false);
    AK_TRY(ak_say_changed(selection->archive, list, count, &to, err));
out:
    print_next(list, all, args);
    return status;
}

static int run(const ak_args *args, ak_error *err)
{
    AK_AT_END(ak_selection_close) ak_selection selection = {0};
    AK_AT_END(ak_trials_clear) ak_trials best = {0};
    AK_OR_COMPLAIN(ak_selection_open(&selection, args, err));
    AK_OR_COMPLAIN(ak_archive_best_of_tasks(&best, selection.archive, &selection.filter, err));
    const size_t limit = (size_t)ak_args_number(args, AK_OPTION_LIMIT, (double)best.count);
    const size_t shown = limit < best.count ? limit : best.count;
    if (ak_args_has(args, AK_OPTION_JSON)) {
        AK_OR_COMPLAIN(ak_trials_print_json(best.list, shown, selection.archive, err));
    } else if (best.count > 0) {
        AK_OR_COMPLAIN(print_table(best.list, shown, best.count, &selection, args, err));
    }
    if (best.count == 0) {
        ak_trial none = {0};
        (void)ak_archive_best(&none, selection.archive, &selection.filter, err);
        (void)ak_complain_error(err);
        ak_selection_say_settings(&selection, args);
        return AK_EXIT_FAILED;
    }
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_best = {
    .name = "best",
    .summary = "list the fastest configuration of each kernel and size",
    .operands = "[KERNEL]",
    .most = 1,
    .options = AK_O_FILTER | AK_O(LIMIT) | AK_O(JSON) | AK_O(HELP),
    .about = "Prints one row for each kernel, size, type, set of options and device of the "
             "archive. Exit code 1 says that there is none.",
    .examples = "  autokernel best\n"
                "  autokernel best matmul --size M=512,N=512,K=512\n"
                "  autokernel best --json\n",
    .run = run,
};
