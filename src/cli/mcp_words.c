/* mcp_words.c: see ak_mcp_words. Most messages are made for the command line, by code that knows
   nothing of MCP. */

#include "base/ascii.h"
#include "cli/mcp.h"

#define SHELL " in a shell"

/* Commands, and the tools with other names that do their work. */
static const struct {
    const char *command, *tool;
} others[] = {
    {"tune", "measure"}, {"bench", "measure"}, {"check", "measure"}, {"list", "describe_space"}};
/* Options that are arguments of tools, and their names there. */
static const struct {
    const char *option, *argument;
} arguments[] = {{"size", "size"},     {"dtype", "dtype"},         {"device", "device"},
                 {"set", "choices"},   {"impl", "implementation"}, {"config", "config"},
                 {"status", "status"}, {"limit", "limit"},         {"run", "run"},
                 {"format", "format"}};

/* Returns the tool for a command; NULL: there is none. */
static const char *tool_for(const char *command)
{
    const size_t other = AK_FIND(others, AK_COUNT(others), command, command);
    const size_t own = AK_FIND(ak_mcp_tools, ak_mcp_tool_count, name, command);
    return other < AK_COUNT(others)  ? others[other].tool
           : own < ak_mcp_tool_count ? ak_mcp_tools[own].name
                                     : NULL;
}

/* Copies the letters and hyphens at the beginning of a text, at most 31, and returns how many. */
static size_t take_word(char out[32], const char *text)
{
    size_t length = 0;
    while (length < 31 && (ak_ascii_is_letter(text[length]) || text[length] == '-')) {
        out[length] = text[length];
        length++;
    }
    out[length] = 0;
    return length;
}

/* Returns the index in `arguments` of the option at the beginning of a text; AK_COUNT(arguments):
   no tool has it, or there is none. Its bytes without the dashes are `length`. */
static size_t argument_at(size_t *length, const char *text)
{
    char word[32];
    *length = strncmp(text, "--", 2) == 0 ? take_word(word, text + 2) : 0;
    return *length == 0 ? AK_COUNT(arguments)
                        : AK_FIND(arguments, AK_COUNT(arguments), option, word);
}

/* Returns whether the command has an option that no tool has, such as --sizes. */
static bool beyond_tools(const char *text, const char *end)
{
    size_t length;
    for (const char *at = strstr(text, " --"); at != NULL && at < end; at = strstr(at + 1, " --")) {
        if (argument_at(&length, at + 1) == AK_COUNT(arguments)) {
            return true;
        }
    }
    return false;
}

/* Writes the quoted command at the beginning of a text as a tool or, if no tool does its work, as
   it is with " in a shell" behind it. Returns the bytes read; 0: there is no command. */
static size_t add_command(ak_buf *out, const char *text)
{
    static const char program[] = "autokernel ";
    char word[32];
    const char *end = text[0] == '\'' || text[0] == '`' ? strchr(text + 1, text[0]) : NULL;
    if (end == NULL || strncmp(text + 1, program, sizeof program - 1) != 0) {
        return 0;
    }
    (void)take_word(word, text + sizeof program);
    const char *tool = tool_for(word);
    if (tool != NULL && !beyond_tools(text, end)) {
        ak_buf_print(out, "the tool %s", tool);
    } else {
        ak_buf_append(out, text, (size_t)(end + 1 - text));
        ak_buf_puts(out, strncmp(end + 1, SHELL, sizeof SHELL - 1) == 0 ? "" : SHELL);
    }
    return (size_t)(end + 1 - text);
}

/* Writes the option at the beginning of a text as an argument. Returns the bytes read; 0: there is
   no option, or no tool has it. */
static size_t add_option(ak_buf *out, const char *text)
{
    size_t length;
    const size_t at = argument_at(&length, text);
    if (at == AK_COUNT(arguments)) {
        return 0;
    }
    ak_buf_puts(out, arguments[at].argument);
    return 2 + length;
}

void ak_mcp_words(ak_buf *out, const char *text)
{
    while (*text != 0) {
        size_t taken = add_command(out, text);
        taken = taken > 0 ? taken : add_option(out, text);
        if (taken == 0) {
            ak_buf_append(out, text, taken = 1);
        }
        text += taken;
    }
}

void ak_mcp_restate(ak_error *err)
{
    AK_AT_END(ak_buf_free) ak_buf text = AK_BUF(4 * sizeof err->text);
    ak_mcp_words(&text, err->text);
    if (ak_buf_status(&text, NULL) == AK_OK) {
        (void)snprintf(err->text, sizeof err->text, "%s", text.data);
    }
}
