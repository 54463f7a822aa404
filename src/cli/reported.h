/* reported.h: prints reports of runs, or writes them to --output, for `report` and `compare`. */
#ifndef AK_CLI_REPORTED_H
#define AK_CLI_REPORTED_H

#include "cli/command.h"

/* Prints the report of the run `a` (NULL: the latest). If `b` is not NULL, the report compares both
   runs. With `versions`, it compares the versions of the kernel of `a`. Reads --format, --output,
   --archive and --json. Returns the exit code. */
int ak_reported(const ak_args *args, const char *a, const char *b, bool versions);

#endif
