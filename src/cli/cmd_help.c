/* cmd_help.c: lists the commands, explains one, or prints the manual page or a completion. */
#include "cli/options.h"
#include "cli/output.h"

static bool print_json(const ak_command *only)
{
    json_auto_t *list = json_array();
    bool good = list != NULL;
    for (size_t i = 0; ak_commands[i] != NULL && good; i++) {
        const ak_command *command = ak_commands[i];
        if (command->hidden || (only != NULL && only != command)) {
            continue;
        }
        json_t *options = json_array();
        for (size_t o = 0; o < AK_OPTION_COUNT && good; o++) {
            good = (command->options & AK_O_AT(o)) == 0 ||
                   ak_json_append(options, json_string(ak_options_all[o].name));
        }
        json_t *row =
            json_pack("{s:s, s:s, s:s, s:o}", "name", command->name, "summary", command->summary,
                      "operands", command->operands, "options", options);
        good = ak_json_append(list, row) && good;
    }
    return good && ak_out_json(list);
}

static const ak_command *find(const char *name, ak_error *err)
{
    char hint[120];
    const ak_command *command = ak_command_find(name);
    if (command != NULL && !command->hidden) {
        return command;
    }
    ak_command_hint(hint, sizeof hint, name);
    (void)ak_fail(err, AK_INVALID, "there is no command '%.80s' to explain; %s", name, hint);
    return NULL;
}

/* Prints the manual page or the completion of a shell. */
static int print_manual(const char *name, ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf out = AK_BUF((size_t)1 << 20);
    const size_t at = AK_FIND(ak_manuals, ak_manual_count, name, name);
    if (at == ak_manual_count) {
        AK_OR_COMPLAIN(ak_fail(err, AK_INVALID,
                               "help: there is no format \"%.40s\"; choose man, bash, zsh or fish",
                               name));
    }
    ak_manuals[at].write(&out);
    AK_OR_COMPLAIN(ak_buf_status(&out, err));
    ak_out_whole(out.data);
    return AK_EXIT_DONE;
}

static int run(const ak_args *args, ak_error *err)
{
    if (ak_args_has(args, AK_OPTION_FORMAT)) {
        return print_manual(args->text[AK_OPTION_FORMAT], err);
    }
    const ak_command *command = NULL;
    if (args->operand_count > 0 && (command = find(args->operand[0], err)) == NULL) {
        return ak_complain_error(err);
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
    .summary = "list the commands, or explain one",
    .operands = "[COMMAND]",
    .most = 1,
    .options = AK_O(FORMAT) | AK_O(JSON) | AK_O(HELP),
    .about =
        "Lists the commands, or explains one as 'autokernel COMMAND --help' does. --format man "
        "prints the manual page; --format bash, zsh or fish prints the completion of commands "
        "and options for that shell. 'make install' installs all of them.",
    .examples = "  autokernel help\n"
                "  autokernel help tune\n"
                "  autokernel help --format bash\n",
    .run = run,
};
