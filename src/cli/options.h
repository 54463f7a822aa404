/* options.h: the command line as ak_args. Table-driven and not GNU argp, because a mistake must
   cost exactly one line that names the command, the option and the nearest right word. */
#ifndef AK_CLI_OPTIONS_H
#define AK_CLI_OPTIONS_H

#include "cli/command.h"

/* Reads what follows the command's name. AK_INVALID with the one line to print. --help ends the
   reading successfully, whatever else is wrong. */
ak_status ak_args_parse(ak_args *out, const ak_command *command, int argc, char **argv,
                        ak_error *err);
/* Checks a value as if it had been given on the command line and takes it. `origin` is what
   messages call its source and must outlive the arguments. */
ak_status ak_args_set(ak_args *args, ak_option_id id, const char *text, const char *origin,
                      ak_error *err);
bool ak_args_has(const ak_args *args, ak_option_id id);
/* The same of the command line alone: settings do not count. */
bool ak_args_typed(const ak_args *args, ak_option_id id);

/* "did you mean X?" or where to find the right words: the end of a message about an unknown word.
 */
void ak_hint(char *out, size_t bytes, const char *word, const char *const *known,
             const char *otherwise);

#endif
