/* keep_study.h: what study and simulate have in common: the choice of a format, the page, and the
   entry in the archive, for the dashboard. */
#ifndef AK_CLI_KEEP_STUDY_H
#define AK_CLI_KEEP_STUDY_H

#include "base/json.h"
#include "cli/command.h"

/* Adds the result of the command (`kind`, "study" or "simulate") with the command line. The result
   was printed already, so a failure is only warned of. */
void ak_keep_study(const ak_args *args, const char *kind, json_t *result);

/* Refuses a --format that is not among `formats`, which ends with NULL. */
ak_status ak_study_format(const ak_args *args, const char *kind, const char *const *formats,
                          ak_error *err);
/* Returns whether --format, or --json for "json", asks for this format. */
bool ak_study_asks(const ak_args *args, const char *format);
/* Prints the page of a result that ak_keep_study has given its command. */
ak_status ak_study_print_page(const char *kind, const json_t *result, ak_error *err);

#endif
