/* keep_study.h: what the commands study and simulate share: the choice of a format, the HTML page,
   and the entry in the archive that the dashboard shows. */
#ifndef AK_CLI_KEEP_STUDY_H
#define AK_CLI_KEEP_STUDY_H

#include "cli/command.h"

/* Returns whether the operand is a file with a recording, not one with a kernel in the T1 format.
 */
bool ak_study_of_file(const ak_args *args);
/* Adds the command line to `result` as "command", and `result` to the archive; `kind` is "study" or
   "simulate". A failure is only a warning, because the result is printed in any case. */
void ak_keep_study(const ak_args *args, const char *kind, json_t *result);

/* Refuses a --format that is not among `formats`, which ends with NULL. */
ak_status ak_study_format(const ak_args *args, const char *kind, const char *const *formats,
                          ak_error *err);
/* Returns whether --format, or --json for "json", asks for this format. */
bool ak_study_asks(const ak_args *args, const char *format);
/* Prints the page of a result to which ak_keep_study has added the command line. */
ak_status ak_study_print_page(const char *kind, const json_t *result, ak_error *err);

#endif
