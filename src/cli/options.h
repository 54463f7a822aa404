/* options.h: parses the command line into ak_args.
   The parser is table-driven and not GNU argp, because a mistake must cost exactly one line that
   names the command, the option and the nearest right word. */
#ifndef AK_CLI_OPTIONS_H
#define AK_CLI_OPTIONS_H

#include "cli/command.h"

/* Reads the words after the command's name. On a mistake it fails, with the line to print. If
   --help or -h is among the words before a "--", it reads only that and succeeds, whatever the
   other words are. */
ak_status ak_args_parse(ak_args *out, const ak_command *command, int argc, char **argv,
                        ak_error *err);
/* Checks a value as if it had been given on the command line, and stores it. `origin` is the source
   as messages name it and must outlive the arguments. */
ak_status ak_args_set(ak_args *args, ak_option_id id, const char *text, const char *origin,
                      ak_error *err);
/* Returns what an option does in this command, for help. */
const char *ak_option_help(const ak_command *command, ak_option_id id);
/* Returns how many words of the command line an option of `set` takes that begins at `word`: 2 if
   the next word is its value, else 1; 0 if `word` names no option of `set`. */
int ak_option_words(const char *word, ak_option_set set);
/* Returns the index of the first "--", behind which all words are operands; `count` without one. */
int ak_options_end(int count, char *const *words);
bool ak_args_has(const ak_args *args, ak_option_id id);
/* Returns the value of an option that is a number or a time; `otherwise` if it is not given. */
double ak_args_number(const ak_args *args, ak_option_id id, double otherwise);
/* Returns whether the command line itself gives the option, a flag as true. Settings do not count.
 */
bool ak_args_typed(const ak_args *args, ak_option_id id);

/* Fails with AK_INVALID if the command line has an option that needs another one, and neither the
   command line nor a setting gives that one (needs.def). Without this check the option would be
   ignored silently. */
ak_status ak_args_check_needs(const ak_args *args, const ak_command *command, ak_error *err);
/* Fails with AK_INVALID and "--OPTION WHY; leave it out" if the command line has an option of the
   set. Settings are not refused, because they hold for other commands too. */
ak_status ak_args_refuse(const ak_args *args, ak_option_set set, const char *why, ak_error *err);

/* Fails if `path` does not exist, is a folder or cannot be read. The error names the path and says
   what to give instead: `what`, such as "a T1 file", follows the word "give". */
ak_status ak_check_file(const char *path, const char *what, ak_error *err);
/* Calls ak_check_file for every option that names a file to read (files.def). */
ak_status ak_args_check_files(const ak_args *args, ak_error *err);

/* Writes the end of a message about an unknown word: "did you mean X?" if it seems to mean X from
   `known`, which ends with NULL; else the text `otherwise`. */
void ak_hint(char *out, size_t bytes, const char *word, const char *const *known,
             const char *otherwise);

/* What a command does if its first operand is the word `name`. */
typedef struct ak_verb {
    const char *name;
    int (*run)(const ak_args *args, ak_error *err);
} ak_verb;

/* Runs the verb that the first operand names and returns its exit code. If none has that name,
   complains "REFUSAL 'WORD'; HINT", where the hint is the nearest name or `fallback`. At most 15
   verbs. */
int ak_verb_run(const ak_verb *verbs, size_t count, const ak_args *args, const char *refusal,
                const char *fallback, ak_error *err);

/* Finds a format by name, where '-' and '_' are the same; *out is static. Returns AK_INVALID, with
   the nearest name in the error, if there is no such format. */
ak_status ak_format_named(const char **out, const char *name, ak_error *err);

#endif
