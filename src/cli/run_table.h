/* run_table.h: the list of runs that `history --runs` prints. */
#ifndef AK_CLI_RUN_TABLE_H
#define AK_CLI_RUN_TABLE_H

#include "cli/command.h"

/* Prints the runs that the options select, newest first: at most `shown` of them in a table unless
   --limit says otherwise. Returns the exit code. */
int ak_run_table_show(const ak_args *args, size_t shown);

#endif
