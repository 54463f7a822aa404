/* keep_study.h: keeps what study and simulate found in the archive, for the dashboard. */
#ifndef AK_CLI_KEEP_STUDY_H
#define AK_CLI_KEEP_STUDY_H

#include "base/json.h"
#include "cli/command.h"

/* Adds the result of the command (`kind`, "study" or "simulate") with the command line. The result
   was printed already, so a failure is only warned of. */
void ak_keep_study(const ak_args *args, const char *kind, json_t *result);

#endif
