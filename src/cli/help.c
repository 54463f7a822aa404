#include "cli/options.h"
#include "cli/table.h"

#define WIDTH_ELSEWHERE 80  /* columns in a pipe or a file: help is folded there too */
#define WIDTH_MOST      100 /* longer lines are hard to read */

static size_t width_of_help(void)
{
    size_t width = ak_columns(stdout);
    return width == 0 ? WIDTH_ELSEWHERE : width < WIDTH_MOST ? width : WIDTH_MOST;
}

static void print_prose(const char *text)
{
    AK_AT_END(ak_buf_free) ak_buf filled = AK_BUF(1 << 16);
    ak_layout_paragraphs(&filled, text, width_of_help());
    ak_out_whole(filled.data);
}

/* Prints the examples, one command a line. A command that is too wide is folded so that it can
   still be copied. */
static void print_examples(const char *examples)
{
    AK_AT_END(ak_buf_free) ak_buf out = AK_BUF(1 << 16);
    while (*examples != 0) {
        char line[512];
        size_t length = strcspn(examples, "\n"), indent = strspn(examples, " ");
        (void)snprintf(line, sizeof line, "%.*s", (int)(length - indent), examples + indent);
        ak_buf_print(&out, "%*s", (int)indent, "");
        ak_layout_command(&out, line, width_of_help(), indent, 2 * indent + 2);
        ak_buf_putc(&out, '\n');
        examples += length + (examples[length] == '\n' ? 1 : 0);
    }
    ak_out_whole(out.data);
}

void ak_help_overview(void)
{
    ak_table table;
    ak_out("autokernel %s finds fast, correct configurations of compute kernels.\n\n"
           "usage: autokernel COMMAND [options]\n\n",
           ak_version());
    ak_table_begin(&table, "", "", NULL);
    table.width = WIDTH_ELSEWHERE;
    for (size_t i = 0; ak_commands[i] != NULL; i++) {
        if (!ak_commands[i]->hidden) {
            ak_table_cell(&table, "  %s", ak_commands[i]->name);
            ak_table_cell(&table, "%s", ak_commands[i]->summary);
        }
    }
    ak_table_print(&table);
    print_prose("\nKERNEL is the name of a built-in kernel ('autokernel list') or a path: a kernel "
                "folder or a space file in the T1 format. 'autokernel COMMAND --help' explains a "
                "command and shows examples.\n\n"
                "Exit codes: 0 done, 1 failed, 2 wrong usage or input (damaged files too).\n\n"
                "Options marked * may also be set by AUTOKERNEL_NAME in the environment, in "
                "autokernel.json here or in the user's config.json; 'autokernel doctor' shows "
                "them.\n\n"
                "A good start:\n"
                "  autokernel doctor\n"
                "  autokernel tune matmul\n");
}

void ak_help_command(const ak_command *command)
{
    ak_table table;
    ak_out("usage: autokernel %s%s%s [options]\n\n", command->name,
           command->operands[0] == 0 ? "" : " ", command->operands);
    print_prose(command->about);
    ak_out("\noptions:\n");
    ak_table_begin(&table, "", "", "", NULL);
    table.width = WIDTH_ELSEWHERE;
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        const ak_option *option = &ak_options_all[i];
        if (command->options & AK_O_AT(i)) {
            ak_table_cell(&table, "  --%s %s", option->name, option->value);
            ak_table_cell(&table, "%s", option->setting ? "*" : "");
            ak_table_cell(&table, "%s", ak_option_help(command, (ak_option_id)i));
        }
    }
    ak_table_print(&table);
    ak_out("\nexamples:\n");
    print_examples(command->examples);
}
