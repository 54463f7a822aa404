/* formats.h: names of export and import formats on the command line. */
#ifndef AK_CLI_FORMATS_H
#define AK_CLI_FORMATS_H

#include "base/json.h"

/* Finds a format by name, where '-' and '_' are the same; *out is static. Returns AK_INVALID, with
   the nearest name in the error, if there is no such format. */
ak_status ak_format_named(const char **out, const char *name, ak_error *err);

#endif
