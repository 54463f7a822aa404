/* formats.h: names of export and import formats as the command line takes them. */
#ifndef AK_CLI_FORMATS_H
#define AK_CLI_FORMATS_H

#include "base/json.h"

/* The library's name of a format ('-' and '_' are the same), static, or AK_INVALID with the nearest
 * one. */
ak_status ak_format_named(const char **out, const char *name, ak_error *err);

#endif
