/* reported.h: prints reports, or writes them to the file of --output: of one run (report) and of
   two (compare). */
#ifndef AK_CLI_REPORTED_H
#define AK_CLI_REPORTED_H

#include "cli/command.h"

/* Prints the report of the run `a` (NULL: the latest) or, if `b` is given, of both runs or, with
   `versions`, of the versions of the kernel of `a`; returns the exit code. Reads --format,
   --output,
   --archive and --json. */
int ak_reported(const ak_args *args, const char *a, const char *b, bool versions);

#endif
