/* unpack.h: files that may be compressed with gzip (RFC 1952): recorded spaces mostly are. */
#ifndef AK_BASE_UNPACK_H
#define AK_BASE_UNPACK_H

#include "base/fs.h"

/* Reads a whole file, unpacking it if it begins as gzip does, else as it is. `max` bounds the bytes
   in the file and the bytes that come out of it: AK_LIMIT beyond. A packed file that is damaged or
   ends too early is AK_CORRUPT. *out ends in a 0 that *length does not count (ak_free). */
ak_status ak_unpack_read(char **out, size_t *length, const char *path, size_t max, ak_error *err);

#endif
