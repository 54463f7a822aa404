/* reported.h: prints reports of runs, or writes them to --output, for `report` and `compare`. */
#ifndef AK_CLI_REPORTED_H
#define AK_CLI_REPORTED_H

#include "cli/command.h"

/* Prints the report of the run `a` (NULL: the latest) or, if `b` is given, of both runs or, with
   `versions`, of the versions of the kernel of `a`. Reads --format, --output, --archive and --json.
   Returns the exit code. */
int ak_reported(const ak_args *args, const char *a, const char *b, bool versions);

#endif
