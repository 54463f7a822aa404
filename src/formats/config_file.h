/*
 * config_file.h: reads files that say which configuration to use: best_config.json for one size,
 * dispatch.json for many. docs/formats.md describes both.
 */
#ifndef AK_FORMATS_CONFIG_FILE_H
#define AK_FORMATS_CONFIG_FILE_H

#include "base/json.h"

#define AK_CONFIG_FILE_BYTES_MAX (1u << 20)
#define AK_DISPATCH_SIZES_MAX    4096

/* Reads the configurations of either kind of file as texts: the one of best_config.json, or those
   that the sizes in dispatch.json name, each one once, in the order in which to try them at a size
   such as "M=64,N=64": first the configuration of the nearest size in the table, then the others by
   distance. The distance of two sizes is the sum, over the names in `size`, of the squared
   logarithm of the ratio of the two numbers; of equally near sizes the first in the file comes
   first. Free the list with ak_config_file_free. */
ak_status ak_config_file_read(char ***out, size_t *count, const char *path, const char *size,
                              ak_error *err);
void ak_config_file_free(char **texts, size_t count);

#endif
