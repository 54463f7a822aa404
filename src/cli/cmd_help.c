/* cmd_help.c: the list of commands, or one of them. */
#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"

static bool print_json(const ak_command *only)
{
    json_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; ak_commands[i] != NULL && good; i++) {
        const ak_command *command = ak_commands[i];
        if (command->hidden || (only != NULL && only != command)) {
            continue;
        }
        json_t *row = json_object(), *options = json_array();
        for (size_t o = 0; o < AK_OPTION_COUNT && good; o++) {
            good = (command->options & (UINT64_C(1) << o)) == 0 ||
                   json_array_append_new(options, json_string(ak_options_all[o].name)) == 0;
        }
        good = good && ak_json_set_text(row, "name", command->name) &&
               ak_json_set_text(row, "summary", command->summary) &&
               ak_json_set_text(row, "operands", command->operands) &&
               ak_json_set(row, "options", json_incref(options));
        json_decref(options);
        good = json_array_append_new(list, row) == 0 && good;
    }
    good = good && ak_out_json(list);
    json_decref(list);
    return good;
}

static const ak_command *find(const char *name, ak_error *err)
{
    const char *names[64] = {NULL};
    char hint[120];
    const ak_command *command = ak_command_find(name);
    if (command != NULL && !command->hidden) {
        return command;
    }
    for (size_t i = 0, count = 0; ak_commands[i] != NULL && count < 63; i++) {
        if (!ak_commands[i]->hidden) {
            names[count++] = ak_commands[i]->name;
        }
    }
    ak_hint(hint, sizeof hint, name, names, "'autokernel help' lists them");
    (void)ak_fail(err, AK_INVALID, "there is no command '%.80s' to explain; %s", name, hint);
    return NULL;
}

static int run(const ak_args *args)
{
    ak_error err = AK_ERROR_INIT;
    const ak_command *command = NULL;
    if (args->operand_count > 0 && (command = find(args->operand[0], &err)) == NULL) {
        return ak_complain_error(&err);
    }
    if (ak_args_has(args, AK_OPTION_JSON)) {
        return print_json(command) ? AK_EXIT_DONE : AK_EXIT_FAILED;
    }
    if (command != NULL) {
        ak_help_command(command);
    } else {
        ak_help_overview();
    }
    return AK_EXIT_DONE;
}

const ak_command ak_cmd_help = {
    .name = "help",
    .summary = "this list, or help on a command",
    .operands = "[COMMAND]",
    .most = 1,
    .options = AK_O(JSON) | AK_O(HELP),
    .about = "Lists the commands, or explains one: the same as 'autokernel COMMAND --help'.",
    .examples = "  autokernel help\n"
                "  autokernel help tune\n",
    .run = run,
};
