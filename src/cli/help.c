/* help.c: see help.h. */
#include "cli/help.h"

#include "cli/output.h"

void ak_help_overview(void)
{
    ak_out("autokernel %s finds fast, correct configurations of compute kernels.\n\n"
           "usage: autokernel COMMAND [options]\n\n",
           ak_version());
    for (size_t i = 0; ak_commands[i] != NULL; i++) {
        if (!ak_commands[i]->hidden) {
            ak_out("  %-9s %s\n", ak_commands[i]->name, ak_commands[i]->summary);
        }
    }
    ak_out("\nKERNEL is the name of a built-in kernel ('autokernel list') or a path: a kernel "
           "folder or "
           "a\nT1 file. 'autokernel COMMAND --help' explains a command and shows examples.\n"
           "Exit codes: 0 done, 1 failed, 2 wrong usage or input (damaged files too).\n\n"
           "Options marked * may also be set by AUTOKERNEL_NAME in the environment, in\n"
           "autokernel.json here or in the user's config.json; 'autokernel doctor' shows them.\n\n"
           "A good start:\n"
           "  autokernel doctor\n"
           "  autokernel tune matmul\n");
}

void ak_help_command(const ak_command *command)
{
    ak_out("usage: autokernel %s%s%s [options]\n\n%s\n\noptions:\n", command->name,
           command->operands[0] == 0 ? "" : " ", command->operands, command->about);
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        const ak_option *option = &ak_options_all[i];
        if (command->options & (UINT64_C(1) << i)) {
            char left[64];
            (void)snprintf(left, sizeof left, "--%s %s", option->name, option->value);
            ak_out("  %-26s%s %s\n", left, option->setting ? "*" : " ", option->help);
        }
    }
    ak_out("\nexamples:\n%s", command->examples);
}
