/* help.h: prints help, made from the tables of commands and options. */
#ifndef AK_CLI_HELP_H
#define AK_CLI_HELP_H

#include "cli/command.h"

void ak_help_overview(void);
void ak_help_command(const ak_command *command);

#endif
