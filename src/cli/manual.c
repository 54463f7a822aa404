/* manual.c: see manual.h. */
#include "cli/manual.h"
#include "cli/options.h"

#include <string.h>

#include "base/shell.h"
/* Visits every command that users may call. */
#define EACH_COMMAND(c)                                                                            \
    for (const ak_command *const *at = ak_commands, *c; (c = *at) != NULL; at++)                   \
        if (!(c)->hidden)

static bool takes(const ak_command *command, size_t option)
{
    return (command->options & AK_O_AT(option)) != 0;
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Escapes text for roff, so that '-' stays ASCII and no line begins with a control character. */
static void put_roff_part(ak_buf *out, const char *text, size_t length)
{
    bool begin = true;
    for (size_t i = 0; i < length; i++) {
        if (begin && (text[i] == '.' || text[i] == '\'')) {
            ak_buf_puts(out, "\\&");
        }
        if (text[i] == '\\') {
            ak_buf_puts(out, "\\e");
        } else if (text[i] == '-') {
            ak_buf_puts(out, "\\-");
        } else {
            ak_buf_putc(out, text[i]);
        }
        begin = text[i] == '\n';
    }
}

static void put_roff(ak_buf *out, const char *text)
{
    put_roff_part(out, text, strlen(text));
}

static void put_option(ak_buf *out, const ak_command *command, ak_option_id id)
{
    const ak_option *option = &ak_options_all[id];
    ak_buf_puts(out, ".TP\n\\fB");
    put_roff(out, "--");
    put_roff(out, option->name);
    ak_buf_puts(out, "\\fR");
    if (option->value[0] != 0) {
        ak_buf_puts(out, " \\fI");
        put_roff(out, option->value);
        ak_buf_puts(out, "\\fR");
    }
    ak_buf_putc(out, '\n');
    put_roff(out, ak_option_help(command, id));
    ak_buf_puts(out, "\n");
}

/* Writes each paragraph after .PP. Empty lines separate paragraphs in `text`. */
static void put_paragraphs(ak_buf *out, const char *text)
{
    while (*text != 0) {
        const char *end = strstr(text, "\n\n");
        size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
        ak_buf_puts(out, ".PP\n");
        put_roff_part(out, text, length);
        ak_buf_putc(out, '\n');
        text += length + strspn(text + length, "\n");
    }
}

static void write_man(ak_buf *out)
{
    ak_buf_print(out,
                 ".TH AUTOKERNEL 1 \"\" \"autokernel %s\" \"User Commands\"\n.SH NAME\nautokernel "
                 "\\- finds fast, correct configurations of compute kernels\n.SH SYNOPSIS\n"
                 ".B autokernel\n.I COMMAND\n[options]\n.SH COMMANDS\n",
                 ak_version());
    EACH_COMMAND(c)
    {
        ak_buf_print(out, ".SS autokernel %s %s\n", c->name, c->operands);
        put_paragraphs(out, c->about);
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            if (takes(c, i)) {
                put_option(out, c, (ak_option_id)i);
            }
        }
        ak_buf_puts(out, ".PP\nExamples:\n.PP\n.nf\n");
        put_roff(out, c->examples);
        ak_buf_puts(out, ".fi\n");
    }
    ak_buf_puts(out, ".SH EXIT STATUS\n0: done. 1: failed. 2: wrong usage or input.\n");
}

/* ---- completions ----------------------------------------------------------------------------- */

static void write_bash(ak_buf *out)
{
    ak_buf_puts(out, "# bash completion for autokernel\n_autokernel() {\n"
                     "    local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
                     "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words=\"");
    EACH_COMMAND(c)
    {
        ak_buf_print(out, "%s ", c->name);
    }
    ak_buf_puts(out, "\"\n    else\n        case \"${COMP_WORDS[1]}\" in\n");
    EACH_COMMAND(c)
    {
        ak_buf_print(out, "        %s) words=\"", c->name);
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            if (takes(c, i)) {
                ak_buf_print(out, "--%s ", ak_options_all[i].name);
            }
        }
        ak_buf_puts(out, "\" ;;\n");
    }
    ak_buf_puts(out, "        esac\n    fi\n"
                     "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n}\n"
                     "complete -o default -F _autokernel autokernel\n");
}

static void write_zsh(ak_buf *out)
{
    ak_buf_puts(out, "#compdef autokernel\nlocal -a commands options\nif (( CURRENT == 2 )); then\n"
                     "    commands=(\n");
    EACH_COMMAND(c)
    {
        ak_buf_print(out, "        '%s:", c->name);
        ak_shell_within(out, c->summary);
        ak_buf_puts(out, "'\n");
    }
    ak_buf_puts(out, "    )\n    _describe command commands\n    return\nfi\ncase $words[2] in\n");
    EACH_COMMAND(c)
    {
        ak_buf_print(out, "%s) options=(", c->name);
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            if (takes(c, i)) {
                ak_buf_print(out, " '--%s:", ak_options_all[i].name);
                ak_shell_within(out, ak_option_help(c, (ak_option_id)i));
                ak_buf_puts(out, "'");
            }
        }
        ak_buf_puts(out, " ) ;;\n");
    }
    ak_buf_puts(out, "esac\nif [[ $PREFIX == -* ]]; then\n    _describe option options\nelse\n"
                     "    _files\nfi\n");
}

static void write_fish(ak_buf *out)
{
    ak_buf_puts(out, "# fish completion for autokernel\n");
    EACH_COMMAND(c)
    {
        ak_buf_print(out, "complete -c autokernel -n __fish_use_subcommand -f -a %s -d '", c->name);
        ak_shell_within(out, c->summary);
        ak_buf_puts(out, "'\n");
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            const ak_option *option = &ak_options_all[i];
            if (takes(c, i)) {
                ak_buf_print(out,
                             "complete -c autokernel -n '__fish_seen_subcommand_from %s' -l %s%s "
                             "-d '",
                             c->name, option->name, option->kind == AK_KIND_FLAG ? " -f" : " -r");
                ak_shell_within(out, ak_option_help(c, (ak_option_id)i));
                ak_buf_puts(out, "'\n");
            }
        }
    }
}

const ak_manual ak_manuals[] = {
    {"man", write_man}, {"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
const size_t ak_manual_count = AK_COUNT(ak_manuals);
