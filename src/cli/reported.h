/* reported.h: prints reports, or writes them to the file of --output: of one run (report) and of
   two (compare). */
#ifndef AK_CLI_REPORTED_H
#define AK_CLI_REPORTED_H

#include "cli/command.h"

/* Prints the report of the run `a` (NULL: the latest), of both runs if `b` is given, or of the
   versions of the kernel of `a` with `versions`. Reads --format, --output, --archive and --json.
   Returns the exit code. */
int ak_reported(const ak_args *args, const char *a, const char *b, bool versions);

#endif
