#include "cli/options.h"

#include "base/asset.h"
#include "base/shell.h"

/* Visits every command, as `c`, that is not hidden. */
#define EACH_COMMAND(c)                                                                            \
    for (const ak_command *const *at = ak_commands, *c; (c = *at) != NULL; at++)                   \
        if (!(c)->hidden)

static bool takes(const ak_command *command, size_t option)
{
    return (command->options & AK_O_AT(option)) != 0;
}

/* ---- the manual page ------------------------------------------------------------------------- */

/* Appends text, escaped for roff: '-' stays ASCII, and no line begins with a control character. */
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
    EACH_COMMAND(c) {
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

/* Behind an option that takes a value, completion offers the option's list of values; elsewhere,
   for a word that begins with '-', the options; and directly behind the command, the command's list
   of first operands. Where there is no list, it offers files. */

static void put_options(ak_buf *out, const ak_command *command, bool valued)
{
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        if (takes(command, i) && (!valued || ak_options_all[i].kind != AK_KIND_FLAG)) {
            ak_buf_print(out, "--%s ", ak_options_all[i].name);
        }
    }
    ak_buf_puts(out, valued && takes(command, AK_OPTION_OUTPUT) ? "-o " : "");
}

static void put_name(void *context, const char *name, const char *description)
{
    (void)description;
    ak_buf_print(context, "%s ", name);
}

static void put_provider(void *context, const char *name, const char *description)
{
    (void)description;
    ak_buf_print(context, "%s: ", name);
}

/* Appends the first word of a list item from a help text, such as "auto (the default)", if nothing
   but a remark in parentheses follows. An "or " before it is skipped. For "sim:FILE", appends
   "sim:". */
static void put_item(ak_buf *out, const char *item, size_t length)
{
    size_t word = 0;
    if (length > 3 && strncmp(item, "or ", 3) == 0) {
        item += 3;
        length -= 3;
    }
    while (word < length && strchr("abcdefghijklmnopqrstuvwxyz0123456789:-", item[word]) != NULL) {
        word++;
    }
    const char after = word < length ? item[word] : 0;
    const bool whole = after == 0 || (after == ' ' && item[word + 1] == '(');
    if (word > 0 && (whole || item[word - 1] == ':')) {
        ak_buf_print(out, "%.*s ", (int)word, item);
    }
}

/* Appends the values that a help text lists: "where to run: auto (the default), host or sim:FILE".
   The list follows ": " or "such as ", or is the whole text. */
static void put_listed(ak_buf *out, const char *help)
{
    const char *as = strstr(help, "such as "), *colon = strstr(help, ": ");
    const char *remark = strchr(help, '(');
    const char *at = as != NULL && colon == NULL                           ? as + strlen("such as ")
                     : colon != NULL && (remark == NULL || colon < remark) ? colon + 2
                                                                           : help;
    while (*at != 0) {
        size_t length = 0, gap = 0;
        for (int depth = 0; at[length] != 0 && gap == 0; length += gap == 0) {
            depth += at[length] == '(' ? 1 : at[length] == ')' ? -1 : 0;
            gap = depth > 0                              ? 0
                  : strncmp(at + length, ", ", 2) == 0   ? 2
                  : strncmp(at + length, "; ", 2) == 0   ? 2
                  : strncmp(at + length, " or ", 4) == 0 ? 4
                                                         : 0;
        }
        put_item(out, at, length);
        at += length + gap;
    }
}

/* Appends the values that an option may have in a command; nothing if they are not a fixed list. */
static void put_values(ak_buf *out, const ak_command *command, size_t option)
{
    ak_status status = AK_OK;
    switch (option) {
    case AK_OPTION_STRATEGY:
        status = ak_list(AK_LIST_STRATEGIES, put_name, out, NULL);
        break;
    case AK_OPTION_LLM:
        status = ak_list(AK_LIST_PROVIDERS, put_provider, out, NULL);
        break;
    case AK_OPTION_STATUS:
        for (size_t i = 0; i < AK_TRIAL_STATUS_COUNT; i++) {
            ak_buf_print(out, "%s ", ak_trial_status_text((ak_trial_status)i));
        }
        break;
    case AK_OPTION_DEVICE:
    case AK_OPTION_FORMAT:
    case AK_OPTION_OBJECTIVE:
    case AK_OPTION_PROTOCOL:
    case AK_OPTION_LIBRARIES:
    case AK_OPTION_LLM_EFFORT:
    case AK_OPTION_LLM_SHARE:
        put_listed(out, ak_option_help(command, (ak_option_id)option));
        break;
    default:
        break;
    }
    out->failed = status == AK_OK ? out->failed : AK_NO_MEMORY;
}

/* Appends a line for each option of a command that has a list of values: `before`, the option,
   `between`, its values, `after`. */
static void put_all_values(ak_buf *out, const ak_command *command, const char *before,
                           const char *between, const char *after)
{
    for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
        AK_AT_END(ak_buf_free) ak_buf values = AK_BUF(4096);
        if (takes(command, i)) {
            put_values(&values, command, i);
        }
        if (values.length > 0) {
            ak_buf_print(out, "%s--%s%s%s%s", before, ak_options_all[i].name, between, values.data,
                         after);
        }
        out->failed = values.failed != AK_OK ? values.failed : out->failed;
    }
}

static bool has_verbs(const ak_command *command)
{
    return command->operands[0] >= 'a' && command->operands[0] <= 'z';
}

/* Appends the words that the first operand of a command may be: its verbs, the commands, or the
   built-in kernels; nothing if it is none of these. */
static void put_operands(ak_buf *out, const ak_command *command)
{
    const char *form = command->operands;
    if (has_verbs(command)) {
        for (size_t i = 0; form[i] != 0 && form[i] != ' '; i++) {
            ak_buf_putc(out, form[i] == '|' ? ' ' : form[i]);
        }
        ak_buf_putc(out, ' ');
    } else if (strstr(form, "COMMAND") != NULL) {
        EACH_COMMAND(c) {
            put_name(out, c->name, c->summary);
        }
    } else if (strstr(form, "KERNEL") != NULL &&
               ak_list(AK_LIST_KERNELS, put_name, out, NULL) != AK_OK) {
        out->failed = AK_NO_MEMORY;
    }
}

static void write_bash(ak_buf *out)
{
    const char *rest = ak_asset_find("src/cli/templates/bash.in")->data;
    ak_asset_part(out, &rest);
    EACH_COMMAND(c) {
        ak_buf_print(out, "        %s)\n            options=\"", c->name);
        put_options(out, c, false);
        ak_buf_puts(out, "\"\n            valued=\" ");
        put_options(out, c, true);
        ak_buf_puts(out, "\"\n            operands=\"");
        put_operands(out, c);
        ak_buf_puts(out, "\"\n            case \"$before\" in\n");
        put_all_values(out, c, "            ", ") values=\"", "\" ;;\n");
        ak_buf_puts(out, "            esac ;;\n");
    }
    ak_asset_part(out, &rest);
    EACH_COMMAND(c) {
        ak_buf_print(out, "%s ", c->name);
    }
    ak_asset_part(out, &rest);
}

static void write_zsh(ak_buf *out)
{
    const char *rest = ak_asset_find("src/cli/templates/zsh.in")->data;
    ak_asset_part(out, &rest);
    EACH_COMMAND(c) {
        ak_buf_print(out, "        '%s:", c->name);
        ak_shell_within(out, c->summary);
        ak_buf_puts(out, "'\n");
    }
    ak_asset_part(out, &rest);
    EACH_COMMAND(c) {
        ak_buf_print(out, "%s)\n    options=(", c->name);
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            if (takes(c, i)) {
                ak_buf_print(out, " '--%s:", ak_options_all[i].name);
                ak_shell_within(out, ak_option_help(c, (ak_option_id)i));
                ak_buf_puts(out, "'");
            }
        }
        ak_buf_puts(out, " )\n    valued=( ");
        put_options(out, c, true);
        ak_buf_puts(out, ")\n    operands=( ");
        put_operands(out, c);
        ak_buf_puts(out, ")\n    case $words[CURRENT-1] in\n");
        put_all_values(out, c, "    ", ") values=( ", ") ;;\n");
        ak_buf_puts(out, "    esac ;;\n");
    }
    ak_asset_part(out, &rest);
}

static void write_fish(ak_buf *out)
{
    const char *rest = ak_asset_find("src/cli/templates/fish.in")->data;
    ak_asset_part(out, &rest);
    EACH_COMMAND(c) {
        ak_buf_print(out, "complete -c autokernel -n __fish_use_subcommand -f -a %s -d '", c->name);
        ak_shell_within(out, c->summary);
        ak_buf_puts(out, "'\n");
        const bool closed = has_verbs(c) || strstr(c->operands, "COMMAND") != NULL;
        if (closed || strstr(c->operands, "KERNEL") != NULL) { /* a kernel may be a path, too */
            ak_buf_print(out, "complete -c autokernel -n '__autokernel_in %s first'%s -a '",
                         c->name, closed ? " -f" : "");
            put_operands(out, c);
            ak_buf_puts(out, "'\n");
        }
        for (size_t i = 0; i < AK_OPTION_COUNT; i++) {
            const ak_option *option = &ak_options_all[i];
            if (takes(c, i)) {
                ak_buf values = AK_BUF(4096);
                put_values(&values, c, i);
                ak_buf_print(out, "complete -c autokernel -n '__autokernel_in %s' -l %s%s", c->name,
                             option->name, option->kind == AK_KIND_FLAG ? "" : " -r");
                if (values.length > 0) {
                    ak_buf_print(out, " -f -a '%s'", values.data);
                }
                out->failed = values.failed != AK_OK ? values.failed : out->failed;
                ak_buf_free(&values);
                ak_buf_puts(out, " -d '");
                ak_shell_within(out, ak_option_help(c, (ak_option_id)i));
                ak_buf_puts(out, "'\n");
            }
        }
    }
}

const ak_manual ak_manuals[] = {
    {"man", write_man}, {"bash", write_bash}, {"zsh", write_zsh}, {"fish", write_fish}};
const size_t ak_manual_count = AK_COUNT(ak_manuals);
